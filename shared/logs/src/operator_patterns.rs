//! What the patterns of the operator (`[[match]]`) say about lines of a log. A line they are about means what they say, whatever
//! the log's own reader makes of it.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::OnceLock;

use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::plain::TAIL;
use super::reset_time::reset_time;
use super::session::{push_newest, words};
use super::signal::{MAX_WORDS, kept};
use super::{Evidence, Format, Line, LogEnd, Reader, Signal, SignalKind};
use base::cause::{Cause, stated};
use base::clip::clip;
use base::hash::Fnv;
use base::time::Time;
use config::{MatchKeys, MatchPlace};

/// Only so much of a line is held against the patterns, in bytes.
pub const MAX_TEXT: usize = 4096;

/// Most lines that are remembered: the newest.
const MAX_SAID: usize = 32;

/// No limit lasts longer, in seconds (35 days).
const MAX_WAIT: i64 = 35 * 86_400;

/// The patterns of a configuration, compiled when the first line is held against them.
#[derive(Debug, Default)]
pub struct Patterns {
    keys: Vec<MatchKeys>,
    compiled: OnceLock<Vec<Option<Regex>>>,
}

/// The patterns that count for the log of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    patterns: &'a Patterns,
    /// Whose log it is; `None` where nobody knows: then those count that name no profile.
    profile: Option<&'a str>,
    /// Those count that name a profile, whichever.
    any_profile: bool,
}

/// What the patterns said of a log so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Taught {
    /// Lines so far that are neither blank nor indented.
    lines: u64,
    said: VecDeque<(u64, Said)>,
}

/// A line a pattern is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Which table of the configuration it is, from 1.
    pub rule: usize,
    is_anywhere: bool,
    pub(crate) evidence: Evidence,
}

impl Patterns {
    /// Those of a configuration.
    pub fn of(keys: &[MatchKeys]) -> Patterns {
        Patterns { keys: keys.to_vec(), compiled: OnceLock::new() }
    }

    /// Those that count for a worker of this profile.
    pub fn of_profile<'a>(&'a self, profile: Option<&'a str>) -> Rules<'a> {
        Rules { patterns: self, profile, any_profile: false }
    }

    /// All, whatever profiles they name.
    pub fn of_any_profile(&self) -> Rules<'_> {
        Rules { patterns: self, profile: None, any_profile: true }
    }

    fn compiled(&self) -> &[Option<Regex>] {
        self.compiled.get_or_init(|| {
            // The configuration takes none that cannot be compiled.
            let one = |k: &MatchKeys| RegexBuilder::new(&k.regex).unicode(false).build().ok();
            self.keys.iter().map(one).collect()
        })
    }
}

impl Rules<'_> {
    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.patterns.keys.is_empty()
    }

    /// A number that changes with the patterns that count; 0 where there is none.
    pub(crate) fn mark(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut hash = Fnv::new();
        for (n, keys) in self.patterns.keys.iter().enumerate().filter(|(_, k)| self.counts(k)) {
            (n, keys).hash(&mut hash);
        }
        hash.value()
    }

    fn counts(&self, keys: &MatchKeys) -> bool {
        let is_its = |name: &str| keys.profiles.iter().any(|p| p == name);
        self.any_profile || keys.profiles.is_empty() || self.profile.is_some_and(is_its)
    }
}

impl Said {
    /// The same line with what its own reader knows of it besides.
    fn over(&self, known: &Evidence) -> Evidence {
        let own = &self.evidence;
        Evidence { cause: own.cause, resets: own.resets.or(known.resets), ..known.clone() }
    }
}

impl Taught {
    /// Takes a line; gives what a pattern says of it.
    pub fn line(&mut self, line: &Line<'_>, reader: &Reader, rules: Rules<'_>) -> Option<&Said> {
        if line.text.trim().is_empty() {
            return None;
        }
        // Other sessions write to a profile's log, too.
        let seen = match reader {
            Reader::Profile(r) => r.dated(line)?,
            _ => line.seen,
        };
        // What is indented belongs to what stands above it.
        self.lines += u64::from(!line.text.starts_with([' ', '\t']));
        let said = (!line.is_cut).then(|| rules.say(&Line { seen, ..*line }, reader)).flatten()?;
        push_newest(&mut self.said, (self.lines, said), MAX_SAID);
        self.said.back().map(|(_, said)| said)
    }

    /// What a pattern says of the line that starts there.
    pub fn at(&self, offset: u64) -> Option<&Said> {
        self.said.iter().rev().map(|(_, said)| said).find(|said| said.evidence.offset == offset)
    }

    /// How an attempt ended that starts at this byte, by the patterns and by the log's own reader; and the pattern that says so.
    pub fn end(&self, by_reader: LogEnd, attempt: u64) -> (LogEnd, Option<usize>) {
        let fits = |nth: u64, said: &Said| said.is_anywhere || self.lines - nth < TAIL;
        let newest = self.said.iter().rev().find(|(nth, s)| s.evidence.offset >= attempt && fits(*nth, s));
        let newest = newest.map(|(_, said)| said);
        let ended = |evidence: Evidence, said: &Said| (LogEnd::Ended(evidence), Some(said.rule));
        let same = match &by_reader {
            LogEnd::Ended(e) => self.at(e.offset).map(|said| (said.over(e), said)),
            _ => None,
        };
        if let Some((evidence, said)) = same {
            return ended(evidence, said);
        }
        match (&by_reader, newest) {
            (LogEnd::Ended(e), Some(said)) if said.evidence.offset > e.offset || is_silent(e.cause) => {
                ended(said.evidence.clone(), said)
            }
            (LogEnd::NoEvidence, Some(said)) => ended(said.evidence.clone(), said),
            _ => (by_reader, None),
        }
    }

    /// Gives signals the meaning that the patterns give to their lines.
    pub fn correct(&self, signals: &mut [Signal]) {
        for signal in signals {
            if let Some(said) = self.at(signal.evidence.offset) {
                signal.evidence = said.over(&signal.evidence);
            }
        }
    }

    /// The same, and puts in what the patterns alone say of an attempt that starts at this byte. The first `older` of these stand in
    /// another file.
    pub fn teach(&self, signals: &mut Vec<Signal>, older: usize, attempt: u64) {
        self.correct(signals.get_mut(older..).unwrap_or_default());
        for (_, said) in self.said.iter().filter(|(_, s)| s.evidence.offset >= attempt) {
            let own = signals.get(older..).unwrap_or_default();
            let at = said.evidence.offset;
            if own.iter().any(|s| s.evidence.offset == at) {
                continue;
            }
            let before = own.iter().take_while(|s| s.evidence.offset < at).count();
            let signal = Signal { kind: SignalKind::Terminal, evidence: said.evidence.clone() };
            signals.insert((older + before).min(signals.len()), signal);
        }
    }
}

/// Whether such an end says nothing of what refused the worker: an exit code says only that something failed.
fn is_silent(cause: Cause) -> bool {
    matches!(cause, Cause::ExitCode | Cause::Unknown)
}

impl Rules<'_> {
    /// What the first pattern says that is about a line.
    fn say(&self, line: &Line<'_>, reader: &Reader) -> Option<Said> {
        let escaped;
        let text = clip(line.text, MAX_TEXT);
        let text = if text.contains('\u{1b}') {
            escaped = words(text, MAX_TEXT);
            escaped.as_str()
        } else {
            text
        };
        let counts = |k: &MatchKeys| k.logs.iter().any(|log| log == reader.name()) && self.counts(k);
        let all = self.patterns.keys.iter().zip(self.patterns.compiled()).enumerate();
        let (n, keys, found) = all
            .filter(|(_, (keys, _))| counts(keys))
            .find_map(|(n, (keys, regex))| Some((n, keys, found(regex.as_ref()?, text)?)))?;
        let own = || reset_time(text, line.seen).filter(|_| keys.cause.can_end());
        let evidence = Evidence {
            http: stated(text),
            at: Some(line.seen),
            resets: found.resets(line.seen).or_else(own),
            attempt: reader.attempt(),
            words: kept(&words(text, 4 * MAX_WORDS)),
            ..Evidence::new(keys.cause, line.offset)
        };
        Some(Said { rule: n + 1, is_anywhere: keys.place == MatchPlace::Anywhere, evidence })
    }
}

/// A pattern's groups that say when a limit ends.
#[derive(Debug, Default)]
struct Found {
    seconds: Option<String>,
    time: Option<String>,
    epoch: Option<String>,
}

fn found(regex: &Regex, text: &str) -> Option<Found> {
    // Without a group it is enough to know that there is a match.
    if regex.captures_len() == 1 {
        return regex.is_match(text.as_bytes()).then(Found::default);
    }
    let groups = regex.captures(text.as_bytes())?;
    let group = |name: &str| text_of(&groups, name);
    Some(Found { seconds: group("seconds"), time: group("time"), epoch: group("epoch") })
}

fn text_of(groups: &Captures<'_>, name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(groups.name(name)?.as_bytes()).trim().to_owned())
}

impl Found {
    /// When the limit ends, counted from when the line was seen.
    fn resets(&self, seen: Time) -> Option<Time> {
        let length = |text: &String| text.parse::<f64>().ok().filter(|n| (0.0..=MAX_WAIT as f64).contains(n));
        let later = |n: f64| seen.plus(n.ceil() as i64);
        let moment = |text: &String| {
            let n: i64 = text.parse().ok()?;
            // Thirteen digits are milliseconds.
            let at = if n >= 100_000_000_000 { Time(n.div_euclid(1000)) } else { Time(n) };
            (0..=MAX_WAIT).contains(&at.since(seen)).then_some(at)
        };
        let clock = |text: &String| reset_time(&format!("resets {text}"), seen);
        self.seconds
            .as_ref()
            .and_then(length)
            .map(later)
            .or_else(|| self.epoch.as_ref().and_then(moment))
            .or_else(|| self.time.as_ref().and_then(clock))
    }
}

#[cfg(test)]
mod tests;
