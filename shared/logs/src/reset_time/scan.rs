//! Reading numbers, units and clock times off the front of a text in lower case.

use chrono::{NaiveDate, NaiveTime};

/// What is left to read.
#[derive(Clone)]
pub(super) struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    pub(super) fn new(rest: &'a str) -> Scan<'a> {
        Scan { rest }
    }

    /// Behind the first place where `key` stands as a whole.
    pub(super) fn behind(text: &'a str, key: &str) -> Option<Scan<'a>> {
        let place = text.match_indices(key).find(|(i, _)| Scan::is_word(text, *i, i + key.len()))?.0;
        Some(Scan { rest: &text[place + key.len()..] })
    }

    /// Whether the text from `start` to `end` is not part of a longer word.
    pub(super) fn is_word(text: &str, start: usize, end: usize) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        let ends_itself = text[..end].ends_with(|c: char| !is_part(c));
        !before.is_some_and(is_part) && (ends_itself || !after.is_some_and(is_part))
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn skip(&mut self, chars: &[char]) {
        self.rest = self.rest.trim_start_matches(chars);
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest.strip_prefix(text);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// Takes this word, if it stands here as a whole.
    pub(super) fn word_is(&mut self, word: &str) -> bool {
        let is_here = self.letters() == word;
        if is_here {
            self.rest = &self.rest[word.len()..];
        }
        is_here
    }

    fn letters(&self) -> &'a str {
        self.front(|c| c.is_ascii_alphabetic())
    }

    fn front(&self, is_in: impl Fn(char) -> bool) -> &'a str {
        &self.rest[..self.rest.find(|c| !is_in(c)).unwrap_or(self.rest.len())]
    }

    pub(super) fn digits(&mut self) -> &'a str {
        let digits = self.front(|c| c.is_ascii_digit());
        self.rest = &self.rest[digits.len()..];
        digits
    }

    /// `20`, `1.2`.
    pub(super) fn number(&mut self) -> Option<f64> {
        let mut ahead = self.clone();
        let whole = ahead.digits();
        if whole.is_empty() || whole.len() > 15 {
            return None;
        }
        let mut end = whole.len();
        if ahead.eat(".") {
            let part = ahead.digits().len();
            end += if part == 0 { 0 } else { 1 + part };
        }
        let n = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(n)
    }

    /// Whether the number here carries a unit of time.
    pub(super) fn number_has_unit(&mut self) -> bool {
        let found = self.number().is_some();
        self.skip(&[' ']);
        found && self.unit().is_some()
    }

    /// A unit of time, in seconds. `6m0s` has no blank between a unit and the next number.
    pub(super) fn unit(&mut self) -> Option<f64> {
        let name = self.letters();
        let seconds = match name {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            _ => return None,
        };
        self.rest = &self.rest[name.len()..];
        Some(seconds)
    }

    /// `2026-11-21`.
    pub(super) fn iso_date(&mut self) -> Option<NaiveDate> {
        let date = NaiveDate::parse_from_str(self.rest.get(..10)?, "%Y-%m-%d").ok()?;
        self.rest = &self.rest[10..];
        Some(date)
    }

    /// `nov 24`, `november 24th, 2026`, `24 nov`.
    pub(super) fn month_day(&mut self) -> Option<(u32, u32, Option<i32>)> {
        let mut ahead = self.clone();
        let mut day = ahead.day();
        ahead.skip(&[' ']);
        let month = ahead.month()?;
        ahead.skip(&['.', ' ']);
        day = day.or_else(|| ahead.day());
        let mut year = ahead.clone();
        year.skip(&[',', ' ']);
        let digits = year.digits();
        let is_year = digits.len() == 4 && !year.rest.starts_with(':');
        let year = is_year.then(|| {
            ahead = year;
            digits.parse().ok()
        });
        *self = ahead;
        Some((month, day?, year.flatten()))
    }

    /// Whether a day begins here, in whatever form: `24th`, `24.11.`, `24/11`, `2 days`, `nov 31`. What `on` or `the` announces may also
    /// be `november` or `day`.
    pub(super) fn begins_a_day(&self, is_announced: bool) -> bool {
        const SPANS: [&str; 3] = ["day", "week", "month"];
        let starts_with = |scan: &Scan<'_>, words: &[&str]| words.iter().any(|w| scan.rest.starts_with(w));
        let is_digit = |c: char| c.is_ascii_digit();
        let mut ahead = self.clone();
        if ahead.digits().is_empty() {
            let is_month = ahead.month().is_some();
            ahead.skip(&[' ']);
            return is_month && (is_announced || ahead.rest.starts_with(is_digit))
                || is_announced && starts_with(self, &SPANS);
        }
        let behind_mark = ahead.rest.strip_prefix(['.', '/', '-']);
        let is_counted = ["st", "nd", "rd", "th"].iter().any(|word| ahead.clone().word_is(word));
        ahead.skip(&[' ']);
        behind_mark.is_some_and(|rest| rest.starts_with(is_digit))
            || is_counted
            || starts_with(&ahead, &SPANS)
    }

    fn day(&mut self) -> Option<u32> {
        let mut ahead = self.clone();
        let digits = ahead.digits();
        let day = digits.parse().ok().filter(|d| (1..=31).contains(d) && digits.len() <= 2)?;
        let _ = ahead.word_is("st") || ahead.word_is("nd") || ahead.word_is("rd") || ahead.word_is("th");
        if ahead.rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':') {
            return None;
        }
        *self = ahead;
        Some(day)
    }

    fn month(&mut self) -> Option<u32> {
        const NAMES: [&str; 12] = [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ];
        let name = self.letters();
        let found = NAMES
            .iter()
            .position(|full| name == *full || name == &full[..3] || name == "sept" && *full == "september")?;
        self.rest = &self.rest[name.len()..];
        u32::try_from(found + 1).ok()
    }

    /// `mon` or `monday`, as days from Monday.
    pub(super) fn weekday(&mut self) -> Option<u64> {
        const NAMES: [&str; 7] =
            ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        let name = self.letters();
        let found = NAMES.iter().position(|full| name.len() >= 3 && full.starts_with(name))?;
        self.rest = &self.rest[name.len()..];
        u64::try_from(found).ok()
    }

    /// `9:50pm`, `3 am`, `14:05`, `10:00:00.000`, `noon`. A bare number is not a time of day.
    pub(super) fn clock(&mut self) -> Option<NaiveTime> {
        if self.word_is("noon") {
            return NaiveTime::from_hms_opt(12, 0, 0);
        }
        let mut ahead = self.clone();
        let two = |digits: &str| digits.parse::<u32>().ok().filter(|_| digits.len() <= 2);
        let hour = two(ahead.digits())?;
        let has_minutes = ahead.eat(":");
        let minute = if has_minutes { two(ahead.digits())? } else { 0 };
        let mut second = 0;
        if has_minutes && ahead.eat(":") {
            second = two(ahead.digits())?;
            if ahead.eat(".") {
                ahead.digits();
            }
        }
        let mut half = ahead.clone();
        half.skip(&[' ', '\u{202f}', '\u{a0}']);
        let afternoon = if half.word_is("am") || half.eat("a.m.") {
            Some(0)
        } else if half.word_is("pm") || half.eat("p.m.") {
            Some(12)
        } else {
            None
        };
        let hour = match afternoon {
            Some(half_day) if (1..=12).contains(&hour) => {
                ahead = half;
                hour % 12 + half_day
            }
            None if has_minutes => hour,
            _ => return None,
        };
        let clock = NaiveTime::from_hms_opt(hour, minute, second)?;
        *self = ahead;
        Some(clock)
    }

    /// `+02:00`, `-0500`, in seconds east.
    pub(super) fn offset(&mut self) -> Option<i32> {
        self.offset_of(2)
    }

    /// `UTC+2`, `GMT -05:00`, in seconds east.
    pub(super) fn utc_offset(&mut self) -> Option<i32> {
        let mut ahead = self.clone();
        if !ahead.eat("utc") && !ahead.eat("gmt") {
            return None;
        }
        ahead.skip(&[' ']);
        let offset = ahead.offset_of(1)?;
        *self = ahead;
        Some(offset)
    }

    /// The hours have two digits, or at least so many.
    fn offset_of(&mut self, least: usize) -> Option<i32> {
        let mut ahead = self.clone();
        let sign = if ahead.eat("+") {
            1
        } else if ahead.eat("-") {
            -1
        } else {
            return None;
        };
        let (hours, minutes) = match ahead.digits() {
            hm if hm.len() == 4 => (&hm[..2], &hm[2..]),
            h if (least..=2).contains(&h.len()) => (h, if ahead.eat(":") { ahead.digits() } else { "0" }),
            _ => return None,
        };
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        *self = ahead;
        // Only then: the digits may be those of a number that does not fit.
        (hours <= 14 && minutes < 60).then(|| sign * (hours * 3600 + minutes * 60))
    }

    pub(super) fn zone_name(&mut self) -> &'a str {
        let name = self.front(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-'));
        self.rest = &self.rest[name.len()..];
        name
    }
}
