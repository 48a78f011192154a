//! When a limit ends, as the text of a failure states it.
//!
//! The forms are those of Claude Code ("resets 9:50pm (Europe/Berlin)", "usage limit reached|1760000400",
//! claude-code #9046, #25583, #74079), of Codex ("try again at Mar 10th, 2026 3:39 AM.", which is the local time of
//! the machine it runs on), of the OpenAI service ("Please try again in 6m0s"), of Anthropic's ("You will regain
//! access on 2026-12-01 at 00:00 UTC"), of Gemini's (`"retryDelay": "37s"`, `"quotaResetDelay": "3h27m56s"`;
//! gemini-cli #29429) and of HTTP (`Retry-After`).
//!
//! Where no zone is named, the zone of this machine is a guess. Where a zone or a day is named that we do not know,
//! the end is unknown. A time of day that is long past means tomorrow, of two readings the later one is taken, and a date
//! alone means the end of that day: waiting too long costs time, coming too early costs the attempt.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime,
    TimeZone, Utc,
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

/// How far in the past a time of day may lie and still be that of today, in seconds. Who tries again soon after the end may be refused
/// once more in the same words, and a log is read late. It is not the time of tomorrow: so long after it the provider is asked again.
const JUST_PAST: i64 = 1_800;

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
    let text = clip(text, MAX_TEXT);
    let lower = text.to_ascii_lowercase();
    let now = Now { at, local, text };
    let fits = |t: &Time| (-SLACK..=MAX_AHEAD).contains(&t.since(at));
    // What a program wrote for programs says it best, where it is about the limit that was reached.
    now.structured(&lower)
        .filter(fits)
        .or_else(|| now.prose(&lower).filter(fits))
        .or_else(|| now.refill(&lower).filter(fits))
}

/// Keys whose value is a moment.
const MOMENT_KEYS: [&str; 7] = [
    "resets_at",
    "reset_at",
    "resetsat",
    "x-ratelimit-reset",
    "unified-reset",
    "limit reached|",
    "quotaresettimestamp",
];

/// Keys whose value is a number of seconds, or of milliseconds.
const LENGTH_KEYS: [(&str, f64); 8] = [
    ("retry-after-ms", 0.001),
    ("retry_after_ms", 0.001),
    ("retry-after", 1.0),
    ("retry_after", 1.0),
    ("resets_in_seconds", 1.0),
    ("reset_after_seconds", 1.0),
    ("retrydelay", 1.0),
    ("quotaresetdelay", 1.0),
];

/// Keys of OpenAI, Groq and others: when the requests, and when the tokens are back, as a moment or a length. Every answer has them, and
/// which of them ran out they do not say.
const REFILL_KEYS: [&str; 3] =
    ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset"];

/// Words before a moment or a length of time. `retrying in 5s` does not count: that is the next try, not the end.
const OPENINGS: [&str; 8] =
    ["resets", "reset", "try again", "retry", "available again", "regain access", "refill", "renews"];

struct Now<'a, Z> {
    at: Time,
    local: &'a Z,
    /// The text as it was written: what is read is a copy of it in lower case.
    text: &'a str,
}

/// A day beside a time of day.
enum Day {
    Tomorrow,
    /// Days from Monday.
    Weekday(u64),
    /// Of this year, where none is named.
    Date(NaiveDate),
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
        moment.or_else(|| LENGTH_KEYS.iter().find_map(|(key, unit)| self.behind_key(lower, key, *unit)))
    }

    fn refill(&self, lower: &str) -> Option<Time> {
        REFILL_KEYS.iter().filter_map(|key| self.behind_key(lower, key, 1.0)).max()
    }

    /// The value of a key: a number of units, a length with its own units, or a date.
    fn behind_key(&self, lower: &str, key: &str, unit: f64) -> Option<Time> {
        let mut scan = Scan::behind(lower, key)?;
        scan.skip(&['"', '\'', ':', '=', ' ', '\\']);
        if scan.clone().iso_date().is_some() {
            return self.absolute(&mut scan);
        }
        let bare = scan.clone().number().filter(|_| !scan.clone().number_has_unit());
        match bare {
            Some(n) => self.later(n * unit),
            None => self.http_date(scan.rest()).or_else(|| self.length(&mut scan)),
        }
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
        loop {
            let mut ahead = scan.clone();
            let one = ["an", "a", "one"].iter().any(|word| ahead.word_is(word));
            let n = if one { Some(1.0) } else { ahead.number() };
            let Some(n) = n else { break };
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

    /// `9:50pm (Europe/Berlin)`, `Nov 24 at 5pm (UTC)`, `Mar 10th, 2026 3:39 AM`, `tomorrow at 3am`, `Monday 09:00`, `9am on Monday`.
    fn on_a_day(&self, scan: &mut Scan<'_>) -> Option<Time> {
        let mut day = self.day(scan);
        if let Some(Day::Date(date)) = day {
            return self.on_date(date, scan);
        }
        scan.word_is("today");
        scan.skip(&[' ', ',']);
        scan.word_is("at");
        scan.skip(&[' ']);
        let is_midnight = day.is_none() && scan.word_is("midnight");
        let clock = if is_midnight { NaiveTime::MIN } else { scan.clock()? };
        // The day may also stand behind it, before or behind the zone.
        let behind = self.day_behind(scan)?;
        let zone = self.zone(scan)?;
        let behind = if behind.is_some() { behind } else { self.day_behind(scan)? };
        if behind.is_some() && (day.is_some() || is_midnight) {
            return None;
        }
        day = day.or(behind);
        let today = self.today(&zone)?;
        let (ahead, again) = match day {
            Some(Day::Date(date)) => return self.moment(&zone, date.and_time(clock)),
            Some(Day::Weekday(day)) => ((7 + day - u64::from(today.weekday().num_days_from_monday())) % 7, 7),
            Some(Day::Tomorrow) => (1, 1),
            None => (0, 1),
        };
        let date = today.checked_add_days(Days::new(ahead))?;
        let first = self.moment(&zone, date.and_time(clock))?;
        // Just after midnight the last one was yesterday.
        let before = || self.moment(&zone, date.checked_sub_days(Days::new(again))?.and_time(clock));
        let is_ahead = first > self.at;
        let last = if is_ahead && !matches!(day, Some(Day::Tomorrow)) { before() } else { Some(first) };
        if let Some((last, past)) = last.map(|last| (last, self.at.since(last)))
            && (0..=JUST_PAST).contains(&past)
        {
            return Some(if past <= SLACK { last } else { last.plus(JUST_PAST + SLACK) });
        }
        if is_ahead {
            return Some(first);
        }
        self.moment(&zone, date.checked_add_days(Days::new(again))?.and_time(clock))
    }

    /// `tomorrow`, `Monday`, `Nov 24`, `Sunday, November 22`.
    fn day(&self, scan: &mut Scan<'_>) -> Option<Day> {
        if scan.word_is("tomorrow") {
            return Some(Day::Tomorrow);
        }
        let mut ahead = scan.clone();
        let weekday = ahead.weekday();
        let mut dated = ahead.clone();
        dated.skip(&[' ', ',']);
        if let Some(date) = dated.month_day().and_then(|found| self.date(found)) {
            *scan = dated;
            return Some(Day::Date(date));
        }
        let weekday = weekday?;
        *scan = ahead;
        Some(Day::Weekday(weekday))
    }

    /// A day behind a time of day. `Some(None)`: there is none. `None`: there is one that is not understood, and then the time is unknown.
    fn day_behind(&self, scan: &mut Scan<'_>) -> Option<Option<Day>> {
        let mut ahead = scan.clone();
        ahead.skip(&[' ', ',', ')']);
        let in_brackets = ahead.eat("(");
        let mut is_announced = false;
        while ["on", "the", "next", "this", "every"].iter().any(|word| ahead.word_is(word)) {
            is_announced = true;
            ahead.skip(&[' ']);
        }
        let day = ahead.iso_date().map(Day::Date).or_else(|| self.day(&mut ahead));
        if day.is_none() {
            let wants_to_be = if ahead.word_is("in") {
                // `in 6h 38m` says the same once more; `in 2 days` and `in Berlin` do not.
                ahead.skip(&[' ']);
                ahead.number().is_none() || {
                    ahead.skip(&[' ']);
                    ahead.unit().is_none_or(|unit| unit >= 86_400.0)
                }
            } else {
                ahead.begins_a_day(is_announced)
            };
            return (!wants_to_be).then_some(None);
        }
        if in_brackets {
            ahead.skip(&[' ', ',', ')']);
        }
        *scan = ahead;
        Some(day)
    }

    /// A date of this year where none is named, or of the next one where this is long past.
    fn date(&self, (month, day, year): (u32, u32, Option<i32>)) -> Option<NaiveDate> {
        let today = self.today(&Zone::Here)?;
        let year = year.unwrap_or(today.year());
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        let past = today.signed_duration_since(date).num_days() > 180;
        if past { NaiveDate::from_ymd_opt(year + 1, month, day) } else { Some(date) }
    }

    /// The clock time that follows a date; its end where none does.
    fn on_date(&self, date: NaiveDate, scan: &mut Scan<'_>) -> Option<Time> {
        scan.skip(&[' ', ',']);
        scan.word_is("at");
        scan.skip(&[' ']);
        let Some(clock) = scan.clock() else {
            let zone = self.zone(scan)?;
            return self.moment(&zone, date.checked_add_days(Days::new(1))?.and_hms_opt(0, 0, 0)?);
        };
        let zone = self.zone(scan)?;
        self.moment(&zone, date.and_time(clock))
    }

    /// The zone behind a clock time. `None`: one is named that we do not know, and then the time is unknown too.
    fn zone(&self, scan: &mut Scan<'_>) -> Option<Zone> {
        scan.skip(&[' ']);
        if let Some(offset) = scan.offset() {
            return FixedOffset::east_opt(offset).map(Zone::Fixed);
        }
        let mut ahead = scan.clone();
        let in_brackets = ahead.eat("(");
        if let Some(offset) = ahead.utc_offset() {
            *scan = ahead;
            return FixedOffset::east_opt(offset).map(Zone::Fixed);
        }
        // What is left to read is the end of the text, in lower case.
        let written = self.text.get(self.text.len() - ahead.rest().len()..).unwrap_or_default();
        let name = ahead.zone_name();
        if name.is_empty() {
            return Some(Zone::Here);
        }
        let known = ABBREVIATIONS.iter().find(|(short, _)| *short == name);
        let hours = known.and_then(|(_, hours)| FixedOffset::east_opt(hours * 3600)).map(Zone::Fixed);
        let full = AMERICAN.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full);
        let named = || TimeZoneDatabase::bundled().get(full).ok().map(|zone| Zone::Named(Named(zone)));
        if let Some(zone) = hours.or_else(named) {
            *scan = ahead;
            return Some(zone);
        }
        // A word of the sentence that goes on is not a zone; capitals, or something in brackets or with a slash, want to be one.
        let letters = written.bytes().take_while(u8::is_ascii_alphabetic);
        let is_in_capitals =
            (2..=5).contains(&letters.clone().count()) && letters.clone().all(|b| b.is_ascii_uppercase());
        // `Pacific Time`, but not `local time`.
        ahead.skip(&[' ']);
        let is_of_time = name != "local"
            && ["time", "standard", "daylight"].iter().any(|word| ahead.clone().word_is(word));
        let wants_to_be = name.contains('/')
            || is_in_capitals
            || is_of_time
            || AMBIGUOUS.contains(&name)
            || (in_brackets && ahead.rest().starts_with(')'));
        (!wants_to_be).then_some(Zone::Here)
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

/// Names of more than one zone.
const AMBIGUOUS: [&str; 7] = ["cst", "ist", "bst", "eastern", "central", "mountain", "pacific"];

/// Names of a zone that has two offsets.
const AMERICAN: [(&str, &str); 2] = [("et", "america/new_york"), ("pt", "america/los_angeles")];
