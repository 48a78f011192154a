//! Hours of the local day in which nothing resumes by itself.

use std::fmt;

use chrono::{DateTime, Local, TimeDelta, TimeZone, Timelike};
use serde::{Serialize, Serializer};

use base::time::Time;

/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// A part of every local day, such as `22:00-07:00`. It may cross midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// The first minute, counted from local midnight.
    start: u32,
    /// The first minute that is no longer part of it.
    end: u32,
}

impl QuietHours {
    /// Reads `HH:MM-HH:MM`; `None` for anything else, and where both times are one.
    pub fn parse(text: &str) -> Option<QuietHours> {
        let (start, end) = text.trim().split_once('-')?;
        let (start, end) = (minute(start)?, minute(end)?);
        (start != end).then_some(QuietHours { start, end })
    }

    /// When they end, if `now` lies within, by the machine's local time zone.
    pub fn until(&self, now: Time) -> Option<Time> {
        self.until_in(now, &Local)
    }

    fn until_in<Z: TimeZone>(&self, now: Time, zone: &Z) -> Option<Time> {
        let here = DateTime::from_timestamp(now.0, 0)?.with_timezone(zone);
        let left = self.left(here.num_seconds_from_midnight())?;
        // The clock may be put forward or back before the end, so the end is looked up by its own name.
        let end = here.naive_local().checked_add_signed(TimeDelta::seconds(left.into()))?;
        let end = zone.from_local_datetime(&end);
        let ends = [end.clone().earliest(), end.latest()].into_iter().flatten().map(|t| Time(t.timestamp()));
        Some(ends.filter(|t| *t > now).min().unwrap_or(now.plus(left.into())))
    }

    /// Seconds that are left of them on the clock, `clock` seconds after local midnight; `None` outside.
    fn left(&self, clock: u32) -> Option<u32> {
        let since = (clock + (DAY - self.start) * 60) % (DAY * 60);
        let length = (self.end + DAY - self.start) % DAY * 60;
        length.checked_sub(since).filter(|left| *left > 0)
    }
}

/// The next time the local clock shows `HH:MM`; `None` for anything else.
pub fn next_clock(text: &str, now: Time) -> Option<Time> {
    let end = minute(text)?;
    // All of the day but that minute itself, in which the next one is a day away.
    let rest = QuietHours { start: (end + 1) % DAY, end };
    Some(rest.until(now).unwrap_or_else(|| now.plus(i64::from(DAY) * 60 - now.0.rem_euclid(60))))
}

/// The minute of the day of `HH:MM`.
fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let part = |text: &str, end: u32| {
        let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|n| digits && *n < end)
    };
    Some(part(hour, 24)? * 60 + part(minute, 60)?)
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start, self.end);
        write!(f, "{:02}:{:02}-{:02}:{:02}", start / 60, start % 60, end / 60, end % 60)
    }
}

impl Serialize for QuietHours {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_two_times_and_nothing_else() {
        for text in ["22:00-07:00", "00:00-23:59", "09:30-09:31"] {
            assert_eq!(QuietHours::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(QuietHours::parse(" 22:00 - 07:00 "), QuietHours::parse("22:00-07:00"));
        for text in
            ["", "22:00", "22-07", "22:00-22:00", "24:00-07:00", "22:60-07:00", "9:00-10:00", "+1:00-02:00"]
        {
            assert_eq!(QuietHours::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_left_on_the_clock() {
        let clock = |text| minute(text).unwrap() * 60;
        for (hours, now, left) in [
            ("22:00-07:00", "22:00", Some(9 * 3_600)),
            ("22:00-07:00", "00:00", Some(7 * 3_600)),
            ("22:00-07:00", "06:59", Some(60)),
            ("22:00-07:00", "07:00", None),
            ("22:00-07:00", "21:59", None),
            ("09:00-17:00", "12:00", Some(5 * 3_600)),
            ("09:00-17:00", "08:59", None),
            ("09:00-17:00", "17:00", None),
            ("00:00-23:59", "23:59", None),
            ("22:00-00:00", "23:00", Some(3_600)),
            ("22:00-00:00", "00:00", None),
        ] {
            assert_eq!(QuietHours::parse(hours).unwrap().left(clock(now)), left, "{hours} {now}");
        }
    }

    #[test]
    fn the_next_time_a_clock_shows_something() {
        let now = Time(1_800_000_030);
        for text in ["06:00", "00:00", "23:59"] {
            let next = next_clock(text, now).unwrap();
            assert_eq!(&next.local_minute()[..5], text);
            assert!(next > now && next.since(now) <= 25 * 3_600, "{text} {next}");
        }
        // In that very minute it is the one of tomorrow.
        let next = next_clock(&now.local_minute()[..5], now).unwrap();
        assert_eq!((&next.local_minute()[..5], next.since(now) > 3_600), (&now.local_minute()[..5], true));
        assert_eq!((next_clock("6:00", now), next_clock("24:00", now)), (None, None));
    }

    #[test]
    fn the_end_is_right_in_the_nights_the_clock_is_changed() {
        let zone = chrono_tz::Europe::Berlin;
        for (hours, now, end) in [
            ("22:00-07:00", "2026-01-10T23:30:00+01:00", Some("2026-01-11T07:00:00+01:00")),
            ("22:00-07:00", "2026-01-10T21:59:59+01:00", None),
            // Put forward: one hour less.
            ("22:00-07:00", "2026-03-28T23:00:00+01:00", Some("2026-03-29T07:00:00+02:00")),
            // 02:30 is not there that night.
            ("22:00-02:30", "2026-03-29T01:00:00+01:00", Some("2026-03-29T03:30:00+02:00")),
            // Put back: one hour more, and 02:30 is there twice.
            ("22:00-07:00", "2026-10-24T23:00:00+02:00", Some("2026-10-25T07:00:00+01:00")),
            ("22:00-02:30", "2026-10-25T02:10:00+02:00", Some("2026-10-25T02:30:00+02:00")),
            ("22:00-02:30", "2026-10-25T02:10:00+01:00", Some("2026-10-25T02:30:00+01:00")),
        ] {
            let ended = QuietHours::parse(hours).unwrap().until_in(Time::parse(now).unwrap(), &zone);
            assert_eq!(ended, end.and_then(Time::parse), "{hours} {now}");
        }
    }
}
