//! A zone by its name, from the zone database that is built in: a log names the zone of the account, not of this machine.
//!
//! That database is one block of bytes. One of tables with pointers in it would have each pointer set at every start.

use chrono::{Datelike, FixedOffset, MappedLocalTime, NaiveDateTime, Timelike};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use base::time::Time;

/// The rules of one zone.
pub(super) struct Named(pub(super) TimeZone);

impl Named {
    /// How far its clocks are ahead of UTC at this moment.
    pub(super) fn offset(&self, at: Time) -> Option<FixedOffset> {
        let at = Timestamp::from_second(at.0).ok()?;
        FixedOffset::east_opt(self.0.to_offset(at).seconds())
    }

    /// The moments at which its clocks show this.
    pub(super) fn moments(&self, clock: NaiveDateTime) -> MappedLocalTime<Time> {
        let Some(civil) = civil(clock) else { return MappedLocalTime::None };
        let at = |offset: Offset| Time(clock.and_utc().timestamp() - i64::from(offset.seconds()));
        match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => MappedLocalTime::Single(at(offset)),
            AmbiguousOffset::Fold { before, after } => MappedLocalTime::Ambiguous(at(before), at(after)),
            AmbiguousOffset::Gap { .. } => MappedLocalTime::None,
        }
    }
}

fn civil(clock: NaiveDateTime) -> Option<DateTime> {
    let small = |n: u32| i8::try_from(n).ok();
    let (date, time) = (clock.date(), clock.time());
    let (month, day) = (small(date.month())?, small(date.day())?);
    let (hour, minute, second) = (small(time.hour())?, small(time.minute())?, small(time.second())?);
    DateTime::new(i16::try_from(date.year()).ok()?, month, day, hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use jiff::tz::TimeZoneDatabase;

    use super::*;

    /// Another database, made by other people, read by another library. Of a year that is over, so that no state changes its
    /// clocks in one of the two only.
    #[test]
    fn two_zone_databases_agree() {
        let from = Time::parse("2024-01-01T00:00:00Z").unwrap().0;
        let mut seen = 0;
        for theirs in chrono_tz::TZ_VARIANTS {
            let ours = Named(TimeZoneDatabase::bundled().get(&theirs.name().to_uppercase()).unwrap());
            // A step of 11 hours comes to every hour of the day, and near to every change of the clock.
            for at in (0..800).map(|n| from + n * 39_600) {
                let clock = theirs.timestamp_opt(at, 0).unwrap().naive_local();
                let want = super::super::moments(&theirs, clock);
                assert_eq!(ours.moments(clock), want, "{} {clock}", theirs.name());
                let local = ours.offset(Time(at)).unwrap().timestamp_opt(at, 0).unwrap().naive_local();
                assert_eq!(local, clock, "{} {at}", theirs.name());
                seen += usize::from(!matches!(want, MappedLocalTime::Single(_)));
            }
        }
        assert!(seen > 0, "no clock was ever put back: {seen}");
    }

    #[test]
    fn a_gap_and_a_fold() {
        let berlin = Named(TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap());
        let clock = |s: &str| NaiveDateTime::parse_from_str(s, "%F %T").unwrap();
        assert_eq!(berlin.moments(clock("2026-03-29 02:30:00")), MappedLocalTime::None);
        let twice = MappedLocalTime::Ambiguous(Time(1_792_888_200), Time(1_792_891_800));
        assert_eq!(berlin.moments(clock("2026-10-25 02:30:00")), twice);
    }
}
