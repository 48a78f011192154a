//! What a whole session of an agent tells besides why it ended: tokens, money, context, tool calls.
//!
//! Everything here is bounded, whatever the log holds: it is kept between two passes.

use chrono::Datelike;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use base::time::Time;

mod bounded;
mod lenient;
mod price;
#[cfg(test)]
pub(super) mod testing;

pub(super) use bounded::{Marks, Newest, Run, mark, push_newest, words};
pub use lenient::{Flag, Num, Obj, Said, Text};
pub use price::{PRICES, PRICES_ASKED, Price, Prices, price_of};

/// Most tool calls without a result that are remembered; of older ones a result no longer counts.
pub const MAX_OPEN: usize = 256;
/// Most API calls whose tokens may still grow. Lines of one call stand next to each other.
pub const MAX_CALLS: usize = 64;
/// Most files of which edits and reads are counted: those touched last.
pub const MAX_FILES: usize = 200;
/// Most API failures, turn errors and compactions kept one by one: the newest. The counts go on.
pub const MAX_KEPT: usize = 64;

/// A moment in milliseconds since 1970-01-01 UTC: agents state them, and two lines of one second differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub i64);

impl Millis {
    /// Reads RFC 3339. What its offset moves into a year of five digits could not be written again.
    pub fn parse(text: &str) -> Option<Millis> {
        let at = chrono::DateTime::parse_from_rfc3339(text).ok()?.to_utc();
        (0..=9_999).contains(&at.year()).then(|| Millis(at.timestamp_millis()))
    }

    /// The whole second it lies in.
    pub fn time(self) -> Time {
        Time(self.0.div_euclid(1000))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match chrono::DateTime::from_timestamp_millis(self.0) {
            Some(t) => s.collect_str(&t.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)),
            None => s.serialize_i64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Millis, D::Error> {
        let text = String::deserialize(d)?;
        Millis::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("not a time: {text:?}")))
    }
}

/// `100 * part / whole`, with two digits behind the point.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 10_000.0 / whole.max(1) as f64).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_milliseconds() {
        let at = Millis::parse("2026-11-21T08:07:10.019Z").unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-21T08:07:10.019Z\"");
        assert_eq!(serde_json::from_str::<Millis>("\"2026-11-21T09:07:10.019+01:00\"").unwrap(), at);
        assert_eq!(at.time(), Time(1_795_248_430));
        assert_eq!(Millis::parse("yesterday"), None);
        assert_eq!(Millis::parse("9999-12-31T23:59:59-01:00"), None);
        assert!(Millis::parse("9999-12-31T23:59:59+01:00").is_some());
        assert!(serde_json::from_str::<Millis>("\"\"").is_err());
    }

    #[test]
    fn percentages_have_two_digits() {
        for (part, whole, pct) in
            [(12_100, 200_000, 6.05), (1_200, 258_400, 0.46), (0, 0, 0.0), (5, 5, 100.0)]
        {
            assert!((percent(part, whole) - pct).abs() < f64::EPSILON * 100.0, "{part}/{whole}");
        }
    }
}
