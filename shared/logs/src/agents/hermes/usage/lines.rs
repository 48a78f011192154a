//! The lines of a profile's `agent.log` and of a worker log, as far as they tell of an attempt's sessions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{Local, MappedLocalTime, TimeZone};
use serde::{Deserialize, Serialize};

use crate::agents::fact::Used;
use crate::profile::{DISORDER, Entry, one_of};
use crate::session::{Millis, Newest, push_newest};
use crate::usage::scan::Count;
use crate::usage::window::{Clock, When, Window};
use base::clip::clip;

/// Most sessions that are told apart: those that wrote last.
const MAX_SESSIONS: usize = 64;

/// Longest id or name that is kept, in bytes.
const MAX_NAME: usize = 200;

/// Most API calls of one session that are kept one by one: the newest. A pass takes them over, so that more are lost only where
/// nobody looked for as long.
const MAX_CALLS: usize = 128;

/// What one session did within the window, as a profile's log tells it call by call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionLog {
    /// When it was started for the task; `None` where it was not, as far as the log tells.
    begun: Option<Millis>,
    pub(super) calls: u64,
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) output: u64,
    pub(super) tools: u64,
    pub(super) errors: u64,
    pub(super) model: Option<String>,
    /// It worked with more than one model.
    pub(super) is_mixed: bool,
    /// The newest API calls, oldest first.
    asked: VecDeque<ApiCall>,
    /// When its newest line was written: Hermes says so as well when a provider refused it and it tries again.
    last: Option<Millis>,
}

/// One API call that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ApiCall {
    /// When the answer was whole.
    pub(super) at: Millis,
    pub(super) model: String,
    input: u64,
    cache_read: u64,
    output: u64,
}

impl ApiCall {
    pub(super) fn used(&self) -> Used {
        Used { input: self.input, read: self.cache_read, output: self.output, ..Used::default() }
    }
}

impl SessionLog {
    /// Whether it was started for the task within the attempt.
    fn is_mine(&self, window: &Window) -> bool {
        self.begun.is_some_and(|at| at <= window.starts)
    }

    fn add(&mut self, more: &SessionLog) {
        self.begun = self.begun.or(more.begun);
        self.is_mixed |= more.is_mixed
            || self.model.as_ref().zip(more.model.as_ref()).is_some_and(|(ours, theirs)| ours != theirs);
        self.model = more.model.clone().or(self.model.take());
        self.last = self.last.max(more.last);
        more.asked.iter().for_each(|call| push_newest(&mut self.asked, call.clone(), MAX_CALLS));
        for (sum, n) in [
            (&mut self.calls, more.calls),
            (&mut self.input, more.input),
            (&mut self.cache_read, more.cache_read),
            (&mut self.output, more.output),
            (&mut self.tools, more.tools),
            (&mut self.errors, more.errors),
        ] {
            *sum = sum.saturating_add(n);
        }
    }

    fn line(&mut self, entry: &Entry<'_>, at: Option<Millis>) {
        let said = entry.message;
        self.last = self.last.max(at);
        match entry.logger {
            // Hermes 0.19, and 0.22.
            "agent.conversation_loop" | "agent.turn_usage" => {
                if let Some(call) = said.strip_prefix("API call #").and_then(Call::of) {
                    let input = call.input.saturating_sub(call.cache_read);
                    let (cache_read, output) = (call.cache_read, call.output);
                    let model = clip(call.model, MAX_NAME).to_owned();
                    let asked = at.map(|at| ApiCall { at, model: model.clone(), input, cache_read, output });
                    self.add(&SessionLog {
                        calls: 1,
                        input,
                        cache_read,
                        output,
                        model: Some(model),
                        asked: asked.into_iter().collect(),
                        ..SessionLog::default()
                    });
                }
            }
            // Run side by side, a call that failed is told twice: `tool X failed`, then this.
            "agent.tool_executor" => {
                let failed = said.starts_with("Tool ") && said.contains(" returned error (");
                let done = said.starts_with("tool ")
                    && (said.contains(" completed (") || said.contains(" cancelled ("));
                self.tools += u64::from(failed || done);
                self.errors += u64::from(failed);
            }
            _ => {}
        }
    }
}

/// `1: model=m1 provider=custom in=10 out=5 total=15 latency=0.8s cache=4/10 (40%)`. `in` holds what was cached.
struct Call<'a> {
    model: &'a str,
    input: u64,
    cache_read: u64,
    output: u64,
}

impl<'a> Call<'a> {
    fn of(text: &'a str) -> Option<Call<'a>> {
        let (_, rest) = text.split_once(": model=")?;
        let (model, rest) = rest.split_once(" provider=")?;
        let word = |key: &str| rest.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        let cached = word("cache").and_then(|c| c.split_once('/')?.0.parse().ok());
        Some(Call {
            model,
            input: word("in")?.parse().ok()?,
            cache_read: cached.unwrap_or_default(),
            output: word("out")?.parse().ok()?,
        })
    }
}

/// A count of a profile's log, session by session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ProfileLog {
    task: String,
    clock: Clock,
    /// When the line above was written.
    above: Option<Millis>,
    sessions: Newest<SessionLog>,
}

impl ProfileLog {
    pub(super) fn new(task: &str) -> ProfileLog {
        ProfileLog { task: task.to_owned(), ..ProfileLog::default() }
    }

    /// Takes what the file written after this one tells.
    pub(super) fn add(&mut self, more: ProfileLog) {
        for (id, session) in more.sessions.to_map() {
            if let Some(all) = self.sessions.touch(&id, MAX_SESSIONS, SessionLog::default) {
                all.add(&session);
            }
        }
    }

    /// The sessions that were started for the task within the window.
    pub(super) fn mine(&self, window: &Window) -> BTreeSet<String> {
        let all: BTreeMap<String, SessionLog> = self.sessions.to_map();
        all.into_iter().filter(|(_, s)| s.is_mine(window)).map(|(id, _)| id).collect()
    }

    /// The API calls of a session, oldest first.
    pub(super) fn asked(&self, id: &str) -> Vec<ApiCall> {
        self.sessions.get(id).map(|session| session.asked.iter().cloned().collect()).unwrap_or_default()
    }

    /// When any of these sessions wrote its newest line.
    pub(super) fn last(&self, ids: &BTreeSet<String>) -> Option<Millis> {
        ids.iter().filter_map(|id| self.sessions.get(id)?.last).max()
    }

    /// These sessions together; `None` where the log tells of none of them.
    pub(super) fn total(&self, ids: &BTreeSet<String>) -> Option<SessionLog> {
        let all = self.sessions.to_map();
        ids.iter().filter_map(|id| all.get(id)).fold(None, |total: Option<SessionLog>, session| {
            let mut total = total.unwrap_or_default();
            total.add(session);
            Some(total)
        })
    }
}

impl Count for ProfileLog {
    fn line(&mut self, line: &str, window: &Window, _part: bool) {
        let Some(entry) = Entry::of(line) else { return };
        let readings = Local.from_local_datetime(&entry.stated).map(|at| Millis(at.timestamp_millis()));
        let at = moment(readings, self.above, window.from);
        self.above = at.or(self.above);
        if self.clock.judge(at, window) != When::Within {
            return;
        }
        let Some(id) = entry.session else { return };
        let begins = entry.begins(&self.task);
        if !entry.logger.starts_with("agent.") {
            return;
        }
        if let Some(session) = self.sessions.touch(id, MAX_SESSIONS, SessionLog::default) {
            session.begun = session.begun.or(at.filter(|_| begins));
            session.line(&entry, at);
        }
    }

    fn fits(&self, window: &Window) -> bool {
        self.clock.fits(window)
    }
}

/// When a line was written. A local time that comes twice is the first one that is neither before the attempt that is counted nor long
/// before the line above: when the line was seen is not known here.
fn moment(readings: MappedLocalTime<Millis>, above: Option<Millis>, from: Millis) -> Option<Millis> {
    let is_too_old = |first: Millis| above.is_some_and(|above| above.0 - first.0 > DISORDER * 1_000);
    one_of(readings, |first, _| first < from || is_too_old(first))
}

/// The sessions a worker log names, whichever attempt they are of; it states no times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkerLog {
    pub(super) sessions: Vec<String>,
}

impl Count for WorkerLog {
    fn line(&mut self, line: &str, _: &Window, _: bool) {
        let id = line.strip_prefix("Session:").or_else(|| line.strip_prefix("session_id:")).map(str::trim);
        let fits = |id: &&str| !id.is_empty() && id.len() <= MAX_NAME && !id.contains(char::is_whitespace);
        if let Some(id) = id.filter(fits) {
            self.sessions.push(id.to_owned());
            let surplus = self.sessions.len().saturating_sub(MAX_SESSIONS);
            self.sessions.drain(..surplus);
        }
    }

    fn fits(&self, _: &Window) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_its_tokens() {
        let of = |text: &str| Call::of(text).map(|c| (c.model.to_owned(), c.input, c.cache_read, c.output));
        assert_eq!(
            of("2: model=m 1 provider=custom in=30 out=5 total=35 latency=0.8s cache=20/30 (67%)"),
            Some(("m 1".into(), 30, 20, 5))
        );
        assert_eq!(
            of("1: model=m1 provider=x in=10 out=5 total=15 latency=0.1s"),
            Some(("m1".into(), 10, 0, 5))
        );
        assert_eq!(of("1: model=m1 provider=x in=ten out=5"), None);
    }

    #[test]
    fn a_wall_time_that_comes_twice_is_the_one_within_the_attempt() {
        let hour = 3_600_000;
        let twice = |at: i64| MappedLocalTime::Ambiguous(Millis(at), Millis(at + hour));
        for (above, from, want) in [
            (None, 0, 50_000),
            (None, 50_000, 50_000),
            (None, 50_001, 50_000 + hour),
            (Some(50_000), 0, 50_000),
            (Some(60_000), 0, 50_000),
            (Some(60_001), 0, 50_000 + hour),
            (Some(40_000 + hour), 0, 50_000 + hour),
        ] {
            let at = moment(twice(50_000), above.map(Millis), Millis(from));
            assert_eq!(at, Some(Millis(want)), "{above:?} {from}");
        }
        assert_eq!(
            moment(MappedLocalTime::Single(Millis(7)), Some(Millis(hour)), Millis(9)),
            Some(Millis(7))
        );
        assert_eq!(moment(MappedLocalTime::None, None, Millis(0)), None);
    }

    #[test]
    fn a_worker_log_names_its_sessions() {
        let mut log = WorkerLog::default();
        let window = Window::new(base::time::Time(0), None, None, base::time::Time(0));
        for line in
            ["Session:        20261121_1", "session_id: b", "Session: no id", "session_id:", " session_id: c"]
        {
            log.line(line, &window, false);
        }
        assert_eq!(log.sessions, ["20261121_1", "b"]);
    }
}
