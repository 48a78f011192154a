//! One time type: seconds since the epoch inside, RFC 3339 UTC in every machine output.

use std::fmt;
use std::path::Path;

use chrono::Datelike;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment, in whole seconds since 1970-01-01 UTC, as the board stores it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// Seconds of a day.
pub const DAY: i64 = 86_400;
/// Seconds of an hour.
pub const HOUR: i64 = 3_600;

/// Seconds by which a moment may lie in the future before the clock that it was noted by is taken for wrong.
pub const FUTURE: i64 = 120;

const COMPACT: &str = "%Y%m%dT%H%M%SZ";

/// A time above this is not in seconds.
pub const LAST_SECOND: i64 = 100_000_000_000;

impl Time {
    /// When a file was last written; `None` where it cannot be asked.
    pub fn written(file: &Path) -> Option<Time> {
        let modified = std::fs::metadata(file).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok().map(Time)
    }

    /// The wall clock. Only the command line reads it, once; everything else is handed the answer.
    pub fn of_clock() -> Time {
        Time(chrono::Utc::now().timestamp())
    }

    /// The time in a row that others wrote, in seconds. What would be after the year 5000 is in a smaller unit, by mistake.
    pub fn of_row(mut said: i64) -> Time {
        while said > LAST_SECOND {
            said /= 1_000;
        }
        Time(said)
    }

    /// Reads RFC 3339 or epoch seconds.
    pub fn parse(s: &str) -> Option<Time> {
        let s = s.trim();
        if let Ok(n) = s.parse::<i64>() {
            return Some(Time(n));
        }
        chrono::DateTime::parse_from_rfc3339(s).ok().map(|t| Time(t.timestamp()))
    }

    /// Seconds from `earlier` to this moment; negative where this one is the earlier.
    pub fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whether it lies so far in the future that the clock was wrong when it was noted.
    pub fn is_ahead_of(self, now: Time) -> bool {
        self.since(now) > FUTURE
    }

    /// This moment moved by `seconds`.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Time {
        Time(self.0.saturating_add(seconds))
    }

    /// `20261121T031205Z`: the compact UTC form used in pass ids.
    pub fn compact(self) -> String {
        self.utc().map_or_else(|| self.0.to_string(), |t| t.format(COMPACT).to_string())
    }

    /// The moment of what [`Time::compact`] gives.
    pub fn parse_compact(s: &str) -> Option<Time> {
        chrono::NaiveDateTime::parse_from_str(s, COMPACT).ok().map(|t| Time(t.and_utc().timestamp()))
    }

    /// `2026/11/21`: its day in UTC, as folders are named by it; `None` where the calendar does not reach.
    pub fn folder(self) -> Option<String> {
        self.utc().map(|t| t.format("%Y/%m/%d").to_string())
    }

    /// `03:12 +01:00` on the clock of the machine that writes it: every time of day in a sentence, printed or stored, is written so.
    pub fn local_minute(self) -> String {
        self.utc().map_or_else(
            || self.0.to_string(),
            |t| t.with_timezone(&chrono::Local).format("%H:%M %:z").to_string(),
        )
    }

    /// The same with its day before it where that is another one than the day of `now`: `2026-11-23 03:12 +01:00`.
    pub fn local_moment(self, now: Time) -> String {
        let (minute, (day, _)) = (self.local_minute(), self.local_day_and_clock());
        if self.local().is_none() || day == now.local_day_and_clock().0 {
            return minute;
        }
        format!("{day} {minute}")
    }

    /// `2026-11-21` and `03:12` on the local clock; both are the plain number where the calendar does not reach.
    pub fn local_day_and_clock(self) -> (String, String) {
        match self.local() {
            Some(t) => (t.format("%Y-%m-%d").to_string(), t.format("%H:%M").to_string()),
            None => (self.0.to_string(), self.0.to_string()),
        }
    }

    /// Seconds by which that clock is ahead of UTC.
    pub fn local_offset(self) -> i64 {
        self.local().map_or(0, |t| i64::from(t.offset().local_minus_utc()))
    }

    /// `+01:00`: the same for people.
    pub fn local_zone(self) -> String {
        self.local().map_or_else(|| "+00:00".to_owned(), |t| t.format("%:z").to_string())
    }

    fn local(self) -> Option<chrono::DateTime<chrono::Local>> {
        let is_usual = |t: &chrono::DateTime<chrono::Utc>| (0..=9_999).contains(&t.year());
        self.utc().filter(is_usual).map(|t| t.with_timezone(&chrono::Local))
    }

    fn utc(self) -> Option<chrono::DateTime<chrono::Utc>> {
        chrono::DateTime::from_timestamp(self.0, 0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // RFC 3339 has years of four digits.
        match self.utc().filter(|t| (0..=9_999).contains(&t.year())) {
            Some(t) => f.write_str(&t.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)),
            // A board with such a value is still readable, and so is what we write of it.
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Time, D::Error> {
        struct V;
        impl serde::de::Visitor<'_> for V {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time or epoch seconds")
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Time, E> {
                Ok(Time(n))
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Time, E> {
                i64::try_from(n).map(Time).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Time, E> {
                Time::parse(s).ok_or_else(|| E::custom(format!("not a time: {s:?}")))
            }
        }
        d.deserialize_any(V)
    }
}

/// A length of time in words, short and exact to two units: `17m`, `1h 5m`, `3d`, `42s`.
pub fn words(seconds: i64) -> String {
    let s = seconds.max(0);
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let Some(first) = units.iter().position(|(n, _)| s >= *n) else { return "0s".into() };
    let (n, u) = units[first];
    let rest = s % n;
    match units.get(first + 1) {
        // Minutes and seconds together say more than a reader needs.
        Some((m, v)) if *m > 1 && rest >= *m => format!("{}{u} {}{v}", s / n, rest / m),
        _ => format!("{}{u}", s / n),
    }
}

/// How long ago something was, in words: `17m ago`, `just now`.
pub fn ago(seconds: i64) -> String {
    if seconds <= 0 { "just now".to_owned() } else { format!("{} ago", words(seconds)) }
}

/// `base` doubled `n` times, plus up to a fifth of deterministic scatter, at most `most`, all in seconds. The same task
/// gets the same answer in every pass, and sixty tasks do not come back in one second.
pub fn backoff(base: i64, n: i64, most: i64, task: &str) -> i64 {
    let doubled =
        base.saturating_mul(1_i64.checked_shl(u32::try_from(n.clamp(0, 30)).unwrap_or(0)).unwrap_or(1));
    let wait = doubled.min(most);
    let hash = crate::hash::fnv(task.bytes().chain(n.to_le_bytes()));
    let scatter = i64::try_from(hash >> 40).unwrap_or(0) % 20;
    (wait + wait * scatter / 100).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_row_says_in_a_smaller_unit_is_seconds() {
        let last = LAST_SECOND;
        for (said, is) in [
            (0, 0),
            (-7, -7),
            (1_795_000_000, 1_795_000_000),
            (last, last),
            (last + 1, 100_000_000),
            (1_795_000_000_123, 1_795_000_000),
            (1_795_000_000_123_456_789, 1_795_000_000),
        ] {
            assert_eq!(Time::of_row(said), Time(is), "{said}");
        }
    }

    #[test]
    fn words_are_short() {
        for (n, w) in [
            (0, "0s"),
            (42, "42s"),
            (60, "1m"),
            (1_039, "17m"),
            (3_900, "1h 5m"),
            (259_200, "3d"),
            (-4, "0s"),
        ] {
            assert_eq!(words(n), w);
        }
        assert_eq!([ago(61), ago(1), ago(0), ago(-4)], ["1m ago", "1s ago", "just now", "just now"]);
    }

    #[test]
    fn a_time_of_day_has_its_zone() {
        let said = Time(1_800_000_030).local_minute();
        let (clock, zone) = said.split_once(' ').unwrap();
        assert!(clock.len() == 5 && zone.len() == 6 && zone.starts_with(['+', '-']), "{said}");
    }

    #[test]
    fn a_time_of_another_day_has_its_date() {
        // On the clock of this machine.
        let noon = Time(20_833 * 86_400 + 43_200 - Time(1_800_000_000).local_offset());
        for (away, has_date) in
            [(0, false), (-43_200, false), (43_199, false), (-43_201, true), (43_200, true)]
        {
            let at = noon.plus(away);
            let want = if has_date { format!("{} ", at.local_day_and_clock().0) } else { String::new() };
            assert_eq!(at.local_moment(noon), want + &at.local_minute(), "{away}");
        }
        assert_eq!(Time(i64::MAX).local_moment(noon), i64::MAX.to_string());
    }

    #[test]
    fn reads_both_forms_and_writes_utc() {
        let t = Time::parse("2026-11-21T03:12:05+01:00").unwrap();
        assert_eq!(t.to_string(), "2026-11-21T02:12:05Z");
        assert_eq!(Time::parse(&t.0.to_string()), Some(t));
        assert_eq!(t.compact(), "20261121T021205Z");
        assert_eq!(Time::parse("yesterday"), None);
        for far in [262_269_922_699, -99_999_999_999, 253_402_300_800, i64::MAX, i64::MIN].map(Time) {
            assert_eq!(Time::parse(&far.to_string()), Some(far), "{far}");
            assert_eq!(serde_json::from_value::<Time>(serde_json::json!(far)).unwrap(), far);
        }
        let j = serde_json::to_string(&t).unwrap();
        assert_eq!(serde_json::from_str::<Time>(&j).unwrap(), t);
    }
}
