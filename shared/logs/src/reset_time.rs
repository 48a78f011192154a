//! When a limit ends, as the text of a failure states it.
//!
//! The forms are those of Claude Code ("resets 9:50pm (Europe/Berlin)", "usage limit reached|1760000400",
//! claude-code #9046, #25583, #74079), of Codex ("try again at Mar 10th, 2026 3:39 AM.", which is the local time of
//! the machine it runs on), of the OpenAI service ("Please try again in 6m0s"), of Anthropic's ("You will regain access on
//! 2026-12-01 at 00:00 UTC"), of Gemini's (`"retryDelay": "37s"`) and of HTTP (`Retry-After`).
//!
//! Where no zone is named, the zone of this machine is a guess. A time of day that is past means tomorrow, of two
//! readings the later one is taken, and a date alone means the end of that day: waiting too long costs time, coming
//! too early costs the attempt.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime, TimeZone, Utc,
};
use jiff::tz::TimeZoneDatabase;

use self::named::Named;
use self::scan::Scan;
use base::clip::clip;
use base::time::Time;

mod named;
mod scan;
#[cfg(test)]
mod tests;

/// How far in the past a stated end may lie and still be one, in seconds: clocks differ and lines are late.
const SLACK: i64 = 60;

/// No limit we know of lasts longer, in seconds (35 days: a month and its rounding).
const MAX_AHEAD: i64 = 35 * 86_400;

/// Only so much of a text is read, in bytes: the sentence we look for stands in an error message, not in a book.
const MAX_TEXT: usize = 4096;

/// When the limit that `text` speaks of ends, as it says itself. `at` is when the text was written; what would lie
/// more than a minute before it, or more than 35 days behind it, does not count.
pub fn reset_time(text: &str, at: Time) -> Option<Time> {
    of(text, at, &Local)
}

/// The same, with the zone of texts that name none.
fn of<Z: TimeZone>(text: &str, at: Time, local: &Z) -> Option<Time> {
    let lower = clip(text, MAX_TEXT).to_ascii_lowercase();
    let now = Now { at, local };
    let fits = |t: &Time| (-SLACK..=MAX_AHEAD).contains(&t.since(at));
    // What a program wrote for programs says it best.
    now.structured(&lower).filter(fits).or_else(|| now.prose(&lower).filter(fits))
}

/// Keys whose value is a moment.
const MOMENT_KEYS: [&str; 6] =
    ["resets_at", "reset_at", "resetsat", "x-ratelimit-reset", "unified-reset", "limit reached|"];

/// Keys whose value is a number of seconds, or of milliseconds.
const LENGTH_KEYS: [(&str, f64); 7] = [
    ("retry-after-ms", 0.001),
    ("retry_after_ms", 0.001),
    ("retry-after", 1.0),
    ("retry_after", 1.0),
    ("resets_in_seconds", 1.0),
    ("reset_after_seconds", 1.0),
    ("retrydelay", 1.0),
];

/// Words before a moment or a length of time. `retrying in 5s` does not count: that is the next try, not the end.
const OPENINGS: [&str; 8] =
    ["resets", "reset", "try again", "retry", "available again", "regain access", "refill", "renews"];

struct Now<'a, Z> {
    at: Time,
    local: &'a Z,
}

/// Where a clock time was read off.
enum Zone {
    Named(Named),
    Fixed(FixedOffset),
    /// None was named.
    Here,
}

impl<Z: TimeZone> Now<'_, Z> {
    fn structured(&self, lower: &str) -> Option<Time> {
        let moment = MOMENT_KEYS.iter().find_map(|key| {
            let mut scan = Scan::behind(lower, key)?;
            scan.skip(&['"', '\'', ':', '=', ' ', '\\']);
            self.absolute(&mut scan)
        });
        moment.or_else(|| {
            LENGTH_KEYS.iter().find_map(|(key, unit)| {
                let mut scan = Scan::behind(lower, key)?;
                scan.skip(&['"', '\'', ':', '=', ' ', '\\']);
                let bare = scan.clone().number().filter(|_| !scan.clone().number_has_unit());
                match bare {
                    Some(n) => self.later(n * unit),
                    None => self.http_date(scan.rest()).or_else(|| self.length(&mut scan)),
                }
            })
        })
    }

    fn prose(&self, lower: &str) -> Option<Time> {
        let mut found: Vec<(usize, Time)> = OPENINGS
            .iter()
            .flat_map(|opening| lower.match_indices(opening).map(|(i, o)| (i, i + o.len())))
            .filter(|(start, end)| Scan::is_word(lower, *start, *end))
            .filter_map(|(start, end)| Some((start, self.after_opening(&lower[end..])?)))
            .collect();
        found.sort_by_key(|(start, _)| *start);
        found.first().map(|(_, t)| *t)
    }

    fn after_opening(&self, rest: &str) -> Option<Time> {
        let mut scan = Scan::new(rest);
        scan.skip(&[' ', ':', '-', '·', '∙', '"', '*', '`']);
        if scan.word_is("in") || scan.word_is("after") {
            scan.skip(&[' ', ':']);
            for vague in ["about", "approximately", "around", "less than"] {
                scan.eat(vague);
                scan.skip(&[' ', '~']);
            }
            return self.length(&mut scan);
        }
        let _ = scan.word_is("at") || scan.word_is("on") || scan.word_is("by");
        scan.skip(&[' ', ':', '"', '*', '`']);
        self.absolute(&mut scan).or_else(|| self.on_a_day(&mut scan))
    }

    /// An ISO time, or seconds or milliseconds since 1970.
    fn absolute(&self, scan: &mut Scan<'_>) -> Option<Time> {
        if let Some(date) = scan.iso_date() {
            scan.eat("t");
            return self.on_date(date, scan);
        }
        let digits = scan.clone().digits();
        let n: i64 = digits.parse().ok()?;
        match digits.len() {
            10 => Some(Time(n)),
            13 => Some(Time(n.div_euclid(1000) + i64::from(n % 1000 > 0))),
            _ => None,
        }
    }

    /// `Wed, 21 Oct 2026 07:28:00 GMT`, as HTTP writes it.
    fn http_date(&self, rest: &str) -> Option<Time> {
        let end = rest.find(" gmt")?;
        DateTime::parse_from_rfc2822(&format!("{} +0000", rest.get(..end)?)).ok().map(|t| Time(t.timestamp()))
    }

    /// A number of units from now: `6m0s`, `3 days 4 hours`, `1.2s`.
    fn length(&self, scan: &mut Scan<'_>) -> Option<Time> {
        let mut seconds = 0.0;
        let mut found = false;
        while let Some(n) = scan.clone().number() {
            let mut ahead = scan.clone();
            ahead.number();
            ahead.skip(&[' ']);
            let Some(unit) = ahead.unit() else { break };
            seconds += n * unit;
            found = true;
            *scan = ahead;
            scan.skip(&[' ', ',']);
            scan.word_is("and");
            scan.skip(&[' ']);
        }
        found.then(|| self.later(seconds)).flatten()
    }

    fn later(&self, seconds: f64) -> Option<Time> {
        let whole = seconds.ceil();
        // A longer one is refused further up; here it only must fit the number.
        #[expect(clippy::cast_possible_truncation, reason = "checked to be small")]
        (0.0..1e12).contains(&whole).then(|| self.at.plus(whole as i64))
    }

    /// `9:50pm (Europe/Berlin)`, `Nov 24 at 5pm (UTC)`, `Mar 10th, 2026 3:39 AM`, `tomorrow at 3am`, `Monday 09:00`.
    fn on_a_day(&self, scan: &mut Scan<'_>) -> Option<Time> {
        if let Some((month, day, year)) = scan.month_day() {
            let zone_known_later = self.today(&Zone::Here)?;
            let year = year.unwrap_or(zone_known_later.year());
            let date = NaiveDate::from_ymd_opt(year, month, day)?;
            // Without a year, one that is long past is the next year's.
            let past = zone_known_later.signed_duration_since(date).num_days() > 180;
            let date = if past { NaiveDate::from_ymd_opt(year + 1, month, day)? } else { date };
            return self.on_date(date, scan);
        }
        let tomorrow = scan.word_is("tomorrow");
        let weekday = if tomorrow { None } else { scan.weekday() };
        scan.word_is("today");
        scan.skip(&[' ', ',']);
        scan.word_is("at");
        scan.skip(&[' ']);
        let clock = scan.clock()?;
        let zone = zone(scan)?;
        let today = self.today(&zone)?;
        let mut date = match weekday {
            Some(day) => {
                let ahead = (7 + day - u64::from(today.weekday().num_days_from_monday())) % 7;
                today.checked_add_days(Days::new(ahead))?
            }
            None => today.checked_add_days(Days::new(u64::from(tomorrow)))?,
        };
        let first = self.moment(&zone, date.and_time(clock))?;
        if first.since(self.at) >= -SLACK {
            return Some(first);
        }
        date = date.checked_add_days(Days::new(if weekday.is_some() { 7 } else { 1 }))?;
        self.moment(&zone, date.and_time(clock))
    }

    /// The clock time that follows a date; its end where none does.
    fn on_date(&self, date: NaiveDate, scan: &mut Scan<'_>) -> Option<Time> {
        scan.skip(&[' ', ',']);
        scan.word_is("at");
        scan.skip(&[' ']);
        let Some(clock) = scan.clock() else {
            let zone = zone(scan)?;
            return self.moment(&zone, date.checked_add_days(Days::new(1))?.and_hms_opt(0, 0, 0)?);
        };
        let zone = zone(scan)?;
        self.moment(&zone, date.and_time(clock))
    }

    fn today(&self, zone: &Zone) -> Option<NaiveDate> {
        let now = DateTime::<Utc>::from_timestamp(self.at.0, 0)?;
        Some(match zone {
            Zone::Named(named) => now.with_timezone(&named.offset(self.at)?).date_naive(),
            Zone::Fixed(offset) => now.with_timezone(offset).date_naive(),
            Zone::Here => now.with_timezone(self.local).date_naive(),
        })
    }

    fn moment(&self, zone: &Zone, clock: NaiveDateTime) -> Option<Time> {
        match zone {
            Zone::Named(named) => resolve(clock, |clock| named.moments(clock)),
            Zone::Fixed(offset) => resolve(clock, |clock| moments(offset, clock)),
            Zone::Here => resolve(clock, |clock| moments(self.local, clock)),
        }
    }
}

/// Turns a clock time into a moment: of two, the later; of none, the first moment after the gap.
fn resolve(clock: NaiveDateTime, moments: impl Fn(NaiveDateTime) -> MappedLocalTime<Time>) -> Option<Time> {
    // No zone ever left out more than a day; in steps of a minute that is few enough.
    (0..=1440).find_map(|minutes| {
        let shifted = clock.checked_add_signed(chrono::TimeDelta::minutes(minutes))?;
        match moments(shifted) {
            MappedLocalTime::Single(t) => Some(t),
            MappedLocalTime::Ambiguous(a, b) => Some(a.max(b)),
            MappedLocalTime::None => None,
        }
    })
}

/// The moments at which the clocks of a zone show this.
fn moments<Z: TimeZone>(zone: &Z, clock: NaiveDateTime) -> MappedLocalTime<Time> {
    zone.from_local_datetime(&clock).map(|t| Time(t.timestamp()))
}

/// Abbreviations that mean one offset everywhere they are used, in hours.
const ABBREVIATIONS: [(&str, i32); 11] = [
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("est", -5),
    ("edt", -4),
    ("cdt", -5),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("cet", 1),
    ("cest", 2),
];

/// The zone behind a clock time. `None`: one is named that we do not know, and then the time is unknown too.
fn zone(scan: &mut Scan<'_>) -> Option<Zone> {
    scan.skip(&[' ']);
    if let Some(offset) = scan.offset() {
        return FixedOffset::east_opt(offset).map(Zone::Fixed);
    }
    let in_brackets = scan.eat("(");
    let name = scan.zone_name();
    if name.is_empty() {
        return Some(Zone::Here);
    }
    if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(short, _)| *short == name) {
        return FixedOffset::east_opt(hours * 3600).map(Zone::Fixed);
    }
    if let Ok(zone) = TimeZoneDatabase::bundled().get(name) {
        return Some(Zone::Named(Named(zone)));
    }
    // A word of the sentence that goes on is not a zone; something in brackets or with a slash wants to be one.
    let wants_to_be = name.contains('/') || (in_brackets && scan.rest().starts_with(')'));
    (!wants_to_be).then_some(Zone::Here)
}
