//! From when on something is told: what `--since` takes.

use chrono::{DateTime, Days, Local, NaiveDate, NaiveTime, TimeZone};

use crate::span;
use base::error::{Error, Kind, Result};
use base::time::Time;

/// Epoch seconds before this one (2001) are a length of time whose unit is missing.
const FIRST: i64 = 1_000_000_000;

/// Reads a length of time before now (`12h`), `yesterday`, `today` and a date (from local midnight on), RFC 3339 or epoch seconds.
///
/// # Errors
/// `Usage` for anything else, for a number without a unit, and for what is not in the past.
pub fn read(text: &str, now: Time) -> Result<Time> {
    since_in(text.trim(), now, &Local)
        .and_then(|at| if at < now { Ok(at) } else { Err("is not in the past".into()) })
        .map_err(|why| {
            let hint = "write 12h, 3d, yesterday, 2026-11-22, 2026-11-22T06:00:00Z or epoch seconds";
            Error::new(Kind::Usage, format!("--since {text}"), why).hint(hint)
        })
}

fn since_in<Z: TimeZone>(text: &str, now: Time, zone: &Z) -> std::result::Result<Time, String> {
    let unclear = || "is neither a length of time nor a time".to_owned();
    let days = match text.to_lowercase().as_str() {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days) = days {
        let today = DateTime::from_timestamp(now.0, 0).map(|now| now.with_timezone(zone).date_naive());
        let day = today.and_then(|today| today.checked_sub_days(Days::new(days)));
        return day.and_then(|day| midnight(day, zone)).ok_or_else(unclear);
    }
    if let Ok(day) = text.parse::<NaiveDate>() {
        return midnight(day, zone).ok_or_else(unclear);
    }
    match Time::parse(text) {
        Some(at) if text.bytes().all(|b| b.is_ascii_digit()) && at.0 < FIRST => Err("has no unit".into()),
        Some(at) => Ok(at),
        // Only what begins as a number is meant as a length.
        None if !text.starts_with(|c: char| c.is_ascii_digit()) => Err(unclear()),
        None => span::read(text).map(|ago| now.plus(-span::seconds(ago))),
    }
}

/// The beginning of a local day. A day that begins with a skipped hour begins after it.
fn midnight<Z: TimeZone>(day: NaiveDate, zone: &Z) -> Option<Time> {
    let begins = day.and_time(NaiveTime::MIN);
    let begins = (0..=3).filter_map(|hours| begins.checked_add_signed(chrono::TimeDelta::hours(hours)));
    begins.filter_map(|at| zone.from_local_datetime(&at).earliest()).map(|at| Time(at.timestamp())).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_days_and_moments_are_read() {
        let berlin = chrono_tz::Europe::Berlin;
        let now = Time::parse("2026-11-25T03:30:00Z").unwrap();
        let at = |text: &str| Ok(Time::parse(text).unwrap());
        let wrong = |text: &str| Err(text.to_owned());
        for (text, want) in [
            ("12h", at("2026-11-24T15:30:00Z")),
            ("1h 30m", at("2026-11-25T02:00:00Z")),
            ("yesterday", at("2026-11-23T23:00:00Z")),
            ("Today", at("2026-11-24T23:00:00Z")),
            ("2026-11-24", at("2026-11-23T23:00:00Z")),
            ("2026-11-25", at("2026-11-24T23:00:00Z")),
            ("2026-11-31", wrong("is not a length of time like 90s, 15m, 2h or 3d")),
            ("2026-11-22T06:00:00Z", at("2026-11-22T06:00:00Z")),
            ("1800000000", Ok(Time(1_800_000_000))),
            ("12", wrong("has no unit")),
            ("0", wrong("has no unit")),
            ("15M", wrong("counts months or years, and minutes are a small `m`")),
            ("5x", wrong("has the unknown unit \"x\"")),
            ("monday", wrong("is neither a length of time nor a time")),
            ("", wrong("is neither a length of time nor a time")),
            ("-3h", wrong("is neither a length of time nor a time")),
        ] {
            assert_eq!(since_in(text, now, &berlin), want, "{text}");
        }
        // Where the clock goes forward at midnight the day begins at one.
        let beirut = chrono_tz::Asia::Beirut;
        let spring = Time::parse("2026-03-29T12:00:00Z").unwrap();
        assert_eq!(since_in("today", spring, &beirut), at("2026-03-28T22:00:00Z"));
        assert_eq!(since_in("2026-03-29", spring, &beirut), at("2026-03-28T22:00:00Z"));
        let e = read("2100-01-01T00:00:00Z", now).unwrap_err();
        assert_eq!((e.kind, e.what.as_str()), (Kind::Usage, "is not in the past"));
        assert!(read("12", now).unwrap_err().to_string().starts_with("--since 12: has no unit; write 12h"));
    }
}
