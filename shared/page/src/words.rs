//! Numbers as people say them, the same in the text and on the page.

use super::{Gauge, TaskView, Unit};
use base::money::Money;
use base::time;

/// Stands for what is not known. Never 0, and never left out.
pub(super) const UNKNOWN: &str = "?";

/// `35m`, `12`, `$0.40`.
pub(super) fn amount(unit: Unit, n: u64) -> String {
    match unit {
        Unit::Seconds => time::words(i64::try_from(n).unwrap_or(i64::MAX)),
        Unit::Count => short(n),
        Unit::NanoUsd => Money(n).to_string(),
    }
}

/// What was used: `12`, `>= 12` where it may be more, `?` where it is not known.
pub(super) fn used(gauge: &Gauge) -> String {
    match gauge.used {
        None => UNKNOWN.to_owned(),
        Some(n) => at_least(gauge.is_least, &amount(gauge.unit, n)),
    }
}

/// A number that is shown as what it is: the least there was.
pub(super) fn at_least(is_least: bool, n: &str) -> String {
    if is_least { format!(">= {n}") } else { n.to_owned() }
}

/// The same for what may not be known at all: nobody needs to hear that it is at least unknown.
pub(super) fn known_least(is_least: bool, n: String) -> String {
    if n == UNKNOWN { n } else { at_least(is_least, &n) }
}

/// Whether more was used than may be.
pub(super) fn is_over(gauge: &Gauge) -> bool {
    gauge.used.is_some_and(|used| used > gauge.limit)
}

/// A number of things, or `?`.
pub(super) fn count(n: Option<u64>) -> String {
    n.map_or_else(|| UNKNOWN.to_owned(), short)
}

/// An amount of money, or `?`.
pub(super) fn money(m: Option<Money>) -> String {
    m.map_or_else(|| UNKNOWN.to_owned(), |m| m.to_string())
}

/// `9999`, `12.3k`, `4.5M`, `6.7G`, rounded down: three digits are enough to compare.
pub(super) fn short(n: u64) -> String {
    let (unit, letter) = match n {
        0..10_000 => return n.to_string(),
        10_000..1_000_000 => (1_000, 'k'),
        1_000_000..1_000_000_000 => (1_000_000, 'M'),
        _ => (1_000_000_000, 'G'),
    };
    let (whole, tenths) = (n / unit, n % unit / (unit / 10));
    if whole >= 100 || tenths == 0 { format!("{whole}{letter}") } else { format!("{whole}.{tenths}{letter}") }
}

/// States of tasks in the order of a task's life; what is not among them comes behind.
const STATES: [&str; 9] =
    ["running", "review", "ready", "todo", "triage", "scheduled", "blocked", "done", "archived"];

/// Where a state stands among the others.
pub(super) fn rank(state: &str) -> usize {
    STATES.iter().position(|s| *s == state).unwrap_or(STATES.len())
}

/// How many verdicts these tasks have, and on how many of them.
pub(super) fn verdicts(tasks: &[TaskView]) -> (usize, usize) {
    let with = tasks.iter().filter(|t| !t.verdicts.is_empty()).count();
    (tasks.iter().map(|t| t.verdicts.len()).sum(), with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (n, want) in [
            (0, "0"),
            (9_999, "9999"),
            (12_345, "12.3k"),
            (10_000, "10k"),
            (999_999, "999k"),
            (4_560_000, "4.5M"),
            (123_456_789, "123M"),
            (6_700_000_000, "6.7G"),
        ] {
            assert_eq!(short(n), want);
        }
    }

    #[test]
    fn a_gauge_says_what_is_not_known() {
        let mut gauge = Gauge {
            what: "time".into(),
            used: None,
            is_least: true,
            limit: 3_600,
            unit: Unit::Seconds,
            source: "default".into(),
        };
        assert_eq!((used(&gauge).as_str(), is_over(&gauge)), ("?", false));
        gauge.used = Some(5_700);
        assert_eq!((used(&gauge).as_str(), is_over(&gauge)), (">= 1h 35m", true));
        assert_eq!(amount(Unit::NanoUsd, 400_000_000), "$0.40");
    }
}
