//! From when to when a picture reaches, where a moment stands in it, and its hours.

use super::parts::short_stamp;
use base::time::Time;

/// Most times of day that are written under a picture, so that they fit on a telephone.
const MAX_TICKS: i128 = 6;
const HOUR: i128 = 3_600;
/// Ticks are so many seconds apart, and stand at whole multiples of that.
const STEPS: [i128; 14] = [
    60,
    300,
    600,
    900,
    1_800,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    48 * HOUR,
    168 * HOUR,
    720 * HOUR,
];

/// A share of the whole in hundredths of a percent, 0 to 10000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share(i128);

impl Share {
    /// `part` of `whole`, kept between nothing and all.
    pub(super) fn of(part: i128, whole: i128) -> Share {
        let whole = whole.max(1);
        Share(part.clamp(0, whole).saturating_mul(10_000) / whole)
    }

    /// Not less than this many hundredths, so that a short thing can be seen.
    pub(super) fn at_least(self, hundredths: i128) -> Share {
        Share(self.0.max(hundredths))
    }

    /// `12.34`, for an attribute in percent.
    pub(super) fn percent(self) -> String {
        format!("{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// The time that a picture shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    from: i128,
    to: i128,
    now: Time,
}

impl Axis {
    /// From the earliest of these moments to `now`, but from `since` at the earliest.
    pub(super) fn fit(moments: impl Iterator<Item = Time>, since: Time, now: Time) -> Axis {
        Axis::new(moments.min().map_or(since, |first| first.max(since)), now)
    }

    /// A second long at least.
    fn new(since: Time, now: Time) -> Axis {
        let from = i128::from(since.0);
        Axis { from, to: i128::from(now.0).max(from + 1), now }
    }

    fn span(&self) -> i128 {
        self.to - self.from
    }

    /// Where a moment stands.
    pub(super) fn at(&self, t: Time) -> Share {
        Share::of(i128::from(t.0).saturating_sub(self.from), self.span())
    }

    /// Whether any of this time is shown.
    pub(super) fn shows(&self, from: Time, to: Time) -> bool {
        i128::from(to.0) >= self.from && i128::from(from.0) <= self.to
    }

    /// The left end and the width of a time, in percent. What is short is widened, to the left where it ends the picture.
    pub(super) fn bar(&self, from: Time, to: Time) -> (String, String) {
        let (left, right) = (self.at(from), self.at(to));
        let width = Share(right.0 - left.0).at_least(100);
        let left = Share(left.0.min(10_000 - width.0));
        (left.percent(), width.percent())
    }

    /// The times of day that are written, and where they stand. They are round ones on the reader's clock.
    fn ticks(&self) -> Vec<(Share, Time)> {
        let fits = |step: &i128| self.span() / step < MAX_TICKS;
        let step = STEPS.iter().copied().find(fits).unwrap_or(self.span() / MAX_TICKS + 1);
        let ahead = i128::from(self.now.local_offset());
        let first = ((self.from + ahead).div_euclid(step) + 1) * step - ahead;
        (0..MAX_TICKS)
            .map(|n| first + n * step)
            .filter(|t| *t < self.to)
            .filter_map(|t| i64::try_from(t).ok().map(|t| (self.at(Time(t)), Time(t))))
            .collect()
    }

    /// Lines at the hours, to stand behind bars.
    pub(super) fn grid(&self) -> String {
        self.ticks()
            .iter()
            .map(|(x, _)| x.percent())
            .map(|x| format!("<line class=\"grid\" x1=\"{x}%\" x2=\"{x}%\" y1=\"-4\" y2=\"22\"/>"))
            .collect()
    }

    /// The hours as a row of words: text in a picture would shrink with it.
    pub(super) fn hours(&self) -> String {
        let one = |(x, t): &(Share, Time)| {
            let (day, clock) = t.local_day_and_clock();
            let is_day = clock == "00:00";
            let word = if is_day { day.split_once('-').map_or(clock, |d| d.1.to_owned()) } else { clock };
            format!("<span style=\"left:{}%\">{word}</span>", x.percent())
        };
        // A word in the very corner would stand out of the picture.
        let inside = |(x, _): &&(Share, Time)| (400..=9_500).contains(&x.0);
        format!(
            "<div class=\"hours muted\" aria-hidden=\"true\">{}</div>\n",
            self.ticks().iter().filter(inside).map(one).collect::<String>()
        )
    }

    /// `from 11-20 20:00 to 05:30`.
    pub(super) fn words(&self) -> String {
        let from = Time(i64::try_from(self.from).unwrap_or(i64::MIN));
        format!("from {} to {}", short_stamp(from, self.now), short_stamp(self.now, self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stay_in_the_picture() {
        let axis = Axis::new(Time(1_000), Time(11_000));
        for (from, to, want) in [
            (1_000, 11_000, ("0.00", "100.00")),
            (6_000, 8_500, ("50.00", "25.00")),
            (i64::MIN, i64::MAX, ("0.00", "100.00")),
            (11_000, 11_000, ("99.00", "1.00")),
            (8_000, 6_000, ("70.00", "1.00")),
        ] {
            let (x, width) = axis.bar(Time(from), Time(to));
            assert_eq!((x.as_str(), width.as_str()), want, "{from} {to}");
        }
    }

    #[test]
    fn the_picture_begins_where_there_is_something() {
        let axis = |moments: &[i64]| Axis::fit(moments.iter().map(|t| Time(*t)), Time(1_000), Time(11_000));
        for (moments, from) in [(&[][..], 1_000), (&[6_000, 9_000], 6_000), (&[6_000, 10], 1_000)] {
            assert_eq!(axis(moments).from, from, "{moments:?}");
        }
        assert_eq!(axis(&[6_000]).bar(Time(6_000), Time(11_000)).1, "100.00");
    }

    #[test]
    fn ticks_are_few_and_round() {
        for (minutes, apart) in
            [(4, 60), (25, 300), (60, 900), (300, 3_600), (600, 7_200), (1_440, 21_600), (10_080, 172_800)]
        {
            let axis = Axis::new(Time(1_795_203_123), Time(1_795_203_123 + minutes * 60));
            let ticks = axis.ticks();
            assert!((3..=6).contains(&ticks.len()), "{minutes}: {ticks:?}");
            let is_round = |t: &Time| (t.0 + axis.now.local_offset()) % apart == 0;
            assert!(ticks.iter().all(|(_, t)| is_round(t)), "{minutes}: {ticks:?}");
        }
        // A board with absurd times is still drawn.
        assert!(Axis::new(Time(i64::MIN), Time(i64::MAX)).ticks().len() <= 6);
        assert!(Axis::new(Time(9), Time(3)).ticks().is_empty());
    }
}
