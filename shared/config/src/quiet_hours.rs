//! Hours of the local day in which nothing resumes by itself.

use std::fmt;

use chrono::{DateTime, Days, Local, MappedLocalTime, NaiveDate, NaiveTime, TimeDelta, TimeZone};
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
        let today = DateTime::from_timestamp(now.0, 0)?.with_timezone(zone).date_naive();
        let yesterday = today.checked_sub_days(Days::new(1))?;
        let of_day = |day: NaiveDate| {
            let last = day.checked_add_days(Days::new(u64::from(self.end < self.start)))?;
            let (start, _) = shown(day, self.start, zone)?;
            let (_, end) = shown(last, self.end, zone)?;
            (start <= now && now < end).then_some(end)
        };
        of_day(yesterday).max(of_day(today))
    }
}

/// The first and the last time that a local clock shows a minute of a day: the clock may be set back over it. Where it is set forward over it,
/// when it is.
fn shown<Z: TimeZone>(day: NaiveDate, minute: u32, zone: &Z) -> Option<(Time, Time)> {
    let wanted = day.and_time(NaiveTime::MIN).checked_add_signed(TimeDelta::minutes(minute.into()))?;
    (0..=DAY).find_map(|later| {
        let at = zone.from_local_datetime(&wanted.checked_add_signed(TimeDelta::minutes(later.into()))?);
        Some((Time(at.clone().earliest()?.timestamp()), Time(at.latest()?.timestamp())))
    })
}

/// When the local clock shows a minute next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextClock {
    /// Once on that day.
    Once(Time),
    /// Twice on that day, since the clock is set back: the later one.
    Later(Time),
    /// Not at all on that day, the next one: the clock is set forward over it.
    Skipped(NaiveDate),
}

/// The next time the local clock shows `HH:MM`; `None` for anything else.
pub fn next_clock(text: &str, now: Time) -> Option<NextClock> {
    next_clock_in(text, now, &Local)
}

fn next_clock_in<Z: TimeZone>(text: &str, now: Time, zone: &Z) -> Option<NextClock> {
    let minute = minute(text)?;
    let clock = NaiveTime::from_num_seconds_from_midnight_opt(minute * 60, 0)?;
    let here = DateTime::from_timestamp(now.0, 0)?.with_timezone(zone).naive_local();
    (0..=2).find_map(|days| {
        let wanted = here.date().checked_add_days(Days::new(days))?.and_time(clock);
        let next = match zone.from_local_datetime(&wanted).map(|t| Time(t.timestamp())) {
            MappedLocalTime::Single(at) => NextClock::Once(at),
            MappedLocalTime::Ambiguous(one, other) => NextClock::Later(one.max(other)),
            MappedLocalTime::None => NextClock::Skipped(wanted.date()),
        };
        let is_ahead = match next {
            NextClock::Once(at) | NextClock::Later(at) => at > now,
            NextClock::Skipped(_) => wanted > here,
        };
        is_ahead.then_some(next)
    })
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
            let at = Time::parse(&format!("2026-01-10T{now}:00Z")).unwrap();
            let until = QuietHours::parse(hours).unwrap().until_in(at, &chrono::Utc);
            assert_eq!(until.map(|until| until.since(at)), left, "{hours} {now}");
        }
    }

    #[test]
    fn the_next_time_a_clock_shows_something() {
        let now = Time(1_800_000_030);
        let next_clock = |text: &str| match next_clock(text, now)? {
            NextClock::Once(at) | NextClock::Later(at) => Some(at),
            NextClock::Skipped(day) => panic!("{text} is skipped on {day}"),
        };
        for text in ["06:00", "00:00", "23:59"] {
            let next = next_clock(text).unwrap();
            assert_eq!(&next.local_minute()[..5], text);
            assert!(next > now && next.since(now) <= 25 * 3_600, "{text} {next}");
        }
        // In that very minute it is the one of tomorrow.
        let next = next_clock(&now.local_minute()[..5]).unwrap();
        assert_eq!((&next.local_minute()[..5], next.since(now) > 3_600), (&now.local_minute()[..5], true));
        assert_eq!((next_clock("6:00"), next_clock("24:00")), (None, None));
    }

    #[test]
    fn a_minute_that_comes_twice_or_never_is_told() {
        let zone = chrono_tz::Europe::Berlin;
        let later = |text: &str| NextClock::Later(Time::parse(text).unwrap());
        let once = |text: &str| NextClock::Once(Time::parse(text).unwrap());
        let skipped = NextClock::Skipped(NaiveDate::from_ymd_opt(2026, 3, 29).unwrap());
        for (text, now, want) in [
            ("02:30", "2026-10-24T23:00:00+02:00", later("2026-10-25T02:30:00+01:00")),
            ("02:30", "2026-10-25T02:40:00+02:00", later("2026-10-25T02:30:00+01:00")),
            ("02:30", "2026-10-25T02:10:00+01:00", later("2026-10-25T02:30:00+01:00")),
            ("02:30", "2026-10-25T02:30:00+01:00", once("2026-10-26T02:30:00+01:00")),
            ("03:00", "2026-10-25T02:40:00+02:00", once("2026-10-25T03:00:00+01:00")),
            ("02:30", "2026-03-28T23:00:00+01:00", skipped),
            ("02:30", "2026-03-29T01:59:59+01:00", skipped),
            ("02:30", "2026-03-29T03:00:00+02:00", once("2026-03-30T02:30:00+02:00")),
            ("02:30", "2026-03-28T01:00:00+01:00", once("2026-03-28T02:30:00+01:00")),
        ] {
            assert_eq!(next_clock_in(text, Time::parse(now).unwrap(), &zone), Some(want), "{text} {now}");
        }
    }

    #[test]
    fn the_end_is_right_in_the_nights_the_clock_is_changed() {
        let zone = chrono_tz::Europe::Berlin;
        for (hours, now, end) in [
            ("22:00-07:00", "2026-01-10T23:30:00+01:00", Some("2026-01-11T07:00:00+01:00")),
            ("22:00-07:00", "2026-01-10T21:59:59+01:00", None),
            // Put forward: one hour less.
            ("22:00-07:00", "2026-03-28T23:00:00+01:00", Some("2026-03-29T07:00:00+02:00")),
            // 02:30 is not there that night: at 02:00 it is 03:00.
            ("22:00-02:30", "2026-03-29T01:00:00+01:00", Some("2026-03-29T03:00:00+02:00")),
            ("22:00-02:30", "2026-03-29T03:00:00+02:00", None),
            ("02:30-07:00", "2026-03-29T01:59:59+01:00", None),
            ("02:30-07:00", "2026-03-29T03:00:00+02:00", Some("2026-03-29T07:00:00+02:00")),
            ("02:10-02:50", "2026-03-29T01:59:59+01:00", None),
            ("02:10-02:50", "2026-03-29T03:00:00+02:00", None),
            ("02:30-01:00", "2026-03-29T03:00:00+02:00", Some("2026-03-30T01:00:00+02:00")),
            // Set back: one hour more, and 02:30 is there twice. They are over once, at the second time.
            ("22:00-07:00", "2026-10-24T23:00:00+02:00", Some("2026-10-25T07:00:00+01:00")),
            ("22:00-02:30", "2026-10-25T02:10:00+02:00", Some("2026-10-25T02:30:00+01:00")),
            ("22:00-02:30", "2026-10-25T02:40:00+02:00", Some("2026-10-25T02:30:00+01:00")),
            ("22:00-02:30", "2026-10-25T02:10:00+01:00", Some("2026-10-25T02:30:00+01:00")),
            ("22:00-02:30", "2026-10-25T02:30:00+01:00", None),
            // And begin once, at the first one.
            ("02:30-07:00", "2026-10-25T02:29:59+02:00", None),
            ("02:30-07:00", "2026-10-25T02:30:00+02:00", Some("2026-10-25T07:00:00+01:00")),
            ("02:30-07:00", "2026-10-25T02:10:00+01:00", Some("2026-10-25T07:00:00+01:00")),
            ("02:30-02:00", "2026-10-25T02:40:00+02:00", Some("2026-10-26T02:00:00+01:00")),
        ] {
            let ended = QuietHours::parse(hours).unwrap().until_in(Time::parse(now).unwrap(), &zone);
            assert_eq!(ended, end.and_then(Time::parse), "{hours} {now}");
        }
    }
}
