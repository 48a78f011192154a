//! Stretches of wall-clock time, few enough to be kept however long an attempt lasts.

use serde::{Deserialize, Serialize};

use crate::agents::fact::Used;
use crate::session::Millis;
use crate::vitals::MAX_SLICES;

/// The length of a slice at first, in seconds: claudectl 0.64.0 counts errors in windows of that length.
const SHORTEST: i64 = 10;

/// Slices in which anything happened, oldest first. Where they become too many, each becomes twice as long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slices {
    pub(crate) seconds: i64,
    pub(crate) all: Vec<Counted>,
}

/// What happened in one of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Its start, in seconds since 1970.
    pub(crate) from: i64,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    /// By the number of the model.
    pub(crate) used: Vec<(usize, Used)>,
}

impl Default for Slices {
    fn default() -> Slices {
        Slices { seconds: SHORTEST, all: Vec::new() }
    }
}

impl Counted {
    pub(crate) fn add(&mut self, model: usize, more: Used, less: Used) {
        let at = self.used.iter().position(|(m, _)| *m == model).unwrap_or_else(|| {
            self.used.push((model, Used::default()));
            self.used.len() - 1
        });
        self.used[at].1 = self.used[at].1.plus(more, less);
    }
}

impl Slices {
    /// The slice of a moment. Lines are a little out of order, so it need not be the last one.
    pub(crate) fn at(&mut self, at: Millis) -> &mut Counted {
        let second = at.0.div_euclid(1_000);
        loop {
            let from = second - second.rem_euclid(self.seconds);
            match self.all.binary_search_by_key(&from, |s| s.from) {
                Ok(i) => return &mut self.all[i],
                Err(i) if self.all.len() < MAX_SLICES => {
                    self.all.insert(i, Counted { from, ..Counted::default() });
                    return &mut self.all[i];
                }
                Err(_) => self.widen(),
            }
        }
    }

    /// Adds what others did at the same time.
    pub(crate) fn merge(&mut self, others: &Slices, model: impl Fn(usize) -> usize) {
        while self.seconds < others.seconds {
            self.widen();
        }
        for other in &others.all {
            let slice = self.at(Millis(other.from.saturating_mul(1_000)));
            slice.calls = slice.calls.saturating_add(other.calls);
            slice.errors = slice.errors.saturating_add(other.errors);
            for (of, used) in &other.used {
                slice.add(model(*of), *used, Used::default());
            }
        }
    }

    fn widen(&mut self) {
        self.seconds = self.seconds.saturating_mul(2);
        let narrow = std::mem::take(&mut self.all);
        for one in narrow {
            let from = one.from - one.from.rem_euclid(self.seconds);
            match self.all.last_mut().filter(|last| last.from == from) {
                Some(last) => {
                    last.calls = last.calls.saturating_add(one.calls);
                    last.errors = last.errors.saturating_add(one.errors);
                    one.used.into_iter().for_each(|(model, used)| last.add(model, used, Used::default()));
                }
                None => self.all.push(Counted { from, ..one }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_stay_few_and_lose_nothing() {
        let mut slices = Slices::default();
        let used = Used { input: 3, ..Used::default() };
        // A day of calls, every 7 seconds, some of them out of order.
        for n in 0..12_000_i64 {
            let slice = slices.at(Millis((n ^ 1) * 7_000));
            slice.calls += 1;
            slice.add(usize::from(n % 2 == 0), used, Used::default());
        }
        assert!(slices.all.len() <= MAX_SLICES && slices.all.len() > MAX_SLICES / 3, "{}", slices.all.len());
        assert_eq!(slices.seconds, 1_280);
        assert!(slices.all.is_sorted_by_key(|s| s.from));
        assert_eq!(slices.all.iter().map(|s| s.calls).sum::<u64>(), 12_000);
        assert_eq!(slices.all.iter().flat_map(|s| &s.used).map(|(_, u)| u.input).sum::<u64>(), 36_000);
        let mut fine = Slices::default();
        fine.at(Millis(5_000)).errors = 1;
        fine.merge(&slices, |m| m + 5);
        assert_eq!((fine.seconds, fine.all[0].errors, fine.all[0].calls), (1_280, 1, slices.all[0].calls));
        assert_eq!(fine.all[0].used.iter().map(|(m, _)| *m).sum::<usize>(), 11);
    }

    #[test]
    fn two_moments_far_apart_end_the_widening() {
        let mut slices = Slices::default();
        for n in 0..200 {
            slices.at(Millis(n * 1_000_000_000)).calls = 1;
        }
        assert!(slices.all.len() <= MAX_SLICES);
        slices.at(Millis(i64::MAX));
        slices.at(Millis(i64::MIN));
    }
}
