//! The whole answer about one task, as `--json` prints it. Pure.

use serde::Serialize;
use serde_json::Value;

use super::deeds::{self, Deed};
use super::diagnosis;
use super::facts::{Facts, Take};
use super::standing::{self, Kind};
use super::suggestions::{self, Command};
use super::summary::Found;
use crate::timers::{WATCHED, Watched};
use base::quote;
use base::time::{Time, words};
use board::{Detail, Status};
use card::{decision, shell_word};
use logs::{LogEnd, SignalKind};
use policy::authorship::{cause_in, end_in, our_hold};
use policy::cards::answer;
use policy::runtime::Dispatcher;

/// Most characters of a line that holds untrusted text.
const MAX_LINE: usize = 400;

/// What is the matter with one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    pub(crate) board: String,
    pub(crate) path: String,
    /// The board is paused, in the words of who paused it.
    pub(crate) paused: Option<String>,
    /// The task that was asked about.
    pub task: String,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) assignee: Option<String>,
    pub(crate) made: Time,
    /// What its standing comes to.
    pub kind: Kind,
    /// The answer.
    pub(crate) says: String,
    /// What is behind it.
    pub(crate) more: Option<String>,
    pub(crate) evidence: Vec<String>,
    pub(crate) watchers: Vec<Take>,
    /// What was found that concerns more than this task.
    pub findings: Vec<String>,
    pub(crate) deeds: Vec<Deed>,
    /// Oldest first.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) hold: Option<Hold>,
    pub(crate) card: Option<Card>,
    pub(crate) next: Vec<Next>,
    pub(crate) commands: Vec<Command>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Attempt {
    pub run: i64,
    pub profile: Option<String>,
    pub from: Time,
    pub to: Option<Time>,
    pub outcome: Option<String>,
    pub(crate) said: Option<String>,
}

/// A hold of a watcher.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Hold {
    pub(crate) by: String,
    pub(crate) cause: Option<String>,
    pub since: Time,
    pub until: Option<Time>,
    /// When the quiet hours end that it ends in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quiet_until: Option<Time>,
}

/// Its distress card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Card {
    pub id: String,
    pub title: String,
    pub status: Status,
    pub assignee: Option<String>,
    pub(crate) made: Time,
    /// What was decided on it, in words.
    pub(crate) decision: Option<String>,
}

/// When a watcher looks again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Next {
    pub(crate) watcher: &'static str,
    /// When it comes to another answer by itself, where that is known.
    pub at: Option<Time>,
    /// How often it is started by the timers and the crontab as shipped, in seconds; whether they run here is not looked at.
    pub(crate) shipped_every: i64,
}

impl Answer {
    /// Puts it together.
    pub fn of(f: &Facts, path: &str, findings: &[Found]) -> Answer {
        let stand = standing::of(f);
        let d = &f.detail;
        let line = |s: &str| quote::line(s, MAX_LINE);
        Answer {
            board: f.board.clone(),
            path: path.to_owned(),
            paused: f.paused.clone(),
            task: d.task.id.clone(),
            title: line(&d.task.title),
            status: d.task.status.clone(),
            assignee: d.task.assignee.clone(),
            made: d.task.created_at,
            kind: stand.kind,
            says: line(&format!("{} is {}", d.task.id, stand.says)),
            more: stand.more.as_deref().map(line),
            evidence: evidence(f).iter().map(|e| line(e)).collect(),
            watchers: f.takes.iter().map(|t| Take { because: line(&t.because), ..t.clone() }).collect(),
            findings: findings.iter().map(|f| line(&f.said.text)).collect(),
            deeds: deeds::of(&d.events),
            attempts: attempts(d),
            hold: hold(f),
            card: f.card.as_ref().map(card),
            next: next(f),
            commands: suggestions::of(f, &stand),
        }
    }
}

fn attempts(d: &Detail) -> Vec<Attempt> {
    let one = |r: &board::Run| Attempt {
        run: r.id,
        profile: r.profile.clone(),
        from: r.started_at,
        to: r.ended_at,
        outcome: r.outcome.clone().or_else(|| r.ended_at.map(|_| r.status.clone())),
        said: r
            .error
            .as_deref()
            .or(r.summary.as_deref())
            .filter(|s| !s.is_empty())
            .map(|s| quote::line(s, MAX_LINE)),
    };
    d.runs.iter().rev().map(one).collect()
}

fn hold(f: &Facts) -> Option<Hold> {
    let (e, hold) = our_hold(&f.detail)?;
    let since = hold.get("since").and_then(Value::as_i64).map(Time);
    let cause = cause_in(hold).map(|c| c.to_string());
    Some(Hold {
        by: e.by().unwrap_or_default().to_owned(),
        cause: cause.or_else(|| hold.get("cause")?.as_str().map(str::to_owned)),
        since: since.unwrap_or(e.at),
        until: end_in(hold),
        quiet_until: end_in(hold).and_then(|until| f.quiet_end(until)),
    })
}

fn card(c: &Detail) -> Card {
    let route = c.runs.iter().find_map(|r| r.route.as_ref());
    // Before `route-blocked` has read it, a finding says so.
    let refused = answer::read_in(c).filter(|e| e.payload.get("refused").and_then(Value::as_i64) > Some(0));
    let refused = refused.and_then(|e| e.trail()?.get("because")?.as_str());
    let decided = route.map(|r| match decision::read(r) {
        Ok(all) => {
            let all = all
                .iter()
                .map(|d| format!("{} {}", d.action.as_str(), d.task))
                .collect::<Vec<_>>()
                .join(", ");
            std::iter::once(all.as_str()).chain(refused).collect::<Vec<_>>().join(". ")
        }
        Err(why) => format!("cannot be read: {why}"),
    });
    Card {
        id: c.task.id.clone(),
        title: quote::line(&c.task.title, MAX_LINE),
        status: c.task.status.clone(),
        assignee: c.task.assignee.clone(),
        made: c.task.created_at,
        decision: decided.map(|d| quote::line(&d, MAX_LINE)),
    }
}

/// What the rows, the log and the runtime show, one line each.
fn evidence(f: &Facts) -> Vec<String> {
    let t = &f.detail.task;
    let mut all = Vec::new();
    let file = f.reading.file.as_deref().map_or_else(|| "log".to_owned(), |p| format!("log {p}"));
    match &f.reading.end {
        LogEnd::Ended(e) => {
            let status = e.http.map_or_else(String::new, |s| format!(" (HTTP {s})"));
            let host = e.endpoint_host.as_deref().map_or_else(String::new, |h| format!(" at {h}"));
            all.push(format!("{file} ends on {}{status}{host}: {}", e.cause, e.words));
        }
        LogEnd::Unreadable(why) => all.push(format!("its log cannot be read: {why}")),
        LogEnd::NoEvidence | LogEnd::Absent => {
            let mut signals = f.reading.signals.iter().filter(|s| s.kind != SignalKind::Tool);
            if let Some(last) = signals.next_back() {
                all.push(format!("{file} shows {}: {}", last.evidence.cause, last.evidence.words));
            } else if let Some(file) = unknown_log(f) {
                all.push(format!(
                    "its log has no line that Watchbill knows; read it: tail {}",
                    shell_word(file)
                ));
            }
        }
    }
    if let Some(words) = f.reading.last_words.last() {
        all.push(format!("last words of its agent: {words}"));
    }
    if !t.pin.is_none() {
        all.push(format!("pinned to {}: that goes before what its profile says", t.pin));
    }
    if let Some(lock) = &t.claim_lock {
        let until = t
            .claim_expires
            .map_or_else(|| "without an end".into(), |e| format!("until {}", e.local_moment(f.now)));
        let worker =
            t.worker_pid.map_or_else(|| "no worker recorded".into(), |p| format!("worker process {p}"));
        all.push(format!("claimed by {lock} {until}, {worker}"));
    }
    if t.failures > 0 || t.last_failure_error.is_some() {
        let limit = t.max_retries.or(f.runtime.failure_limit);
        let limit = limit.map_or_else(|| "a limit that is not known".into(), |n| n.to_string());
        let error = t.last_failure_error.as_deref().map_or_else(String::new, |e| format!("; the last: {e}"));
        all.push(format!("failures: {} of {limit}{error}", t.failures));
    }
    if !f.own_board && !f.is_over() {
        all.push(match &f.runtime.dispatcher {
            Dispatcher::Alive(pid) => format!("dispatcher: process {pid} is alive"),
            Dispatcher::Ticked => {
                "dispatcher: it did something in the last 10 minutes; no process of it is seen".into()
            }
            Dispatcher::Absent => "dispatcher: none is seen".into(),
            Dispatcher::Unknown(why) => format!("dispatcher: not known: {why}"),
        });
    }
    all.extend(f.wedged.clone());
    all
}

/// The log of an attempt that failed, where it does not say on what.
fn unknown_log(f: &Facts) -> Option<&str> {
    let failed = f.detail.newest_run().filter(|run| diagnosis::is_bad(run))?;
    let is_its = f.reading.end == LogEnd::NoEvidence && f.reading.modified >= Some(failed.started_at);
    f.reading.file.as_deref().filter(|_| is_its)
}

fn next(f: &Facts) -> Vec<Next> {
    if f.is_over() {
        return Vec::new();
    }
    // What is held goes on after the quiet hours, however often its hold is made longer until then.
    let is_held = our_hold(&f.detail).is_some();
    let goes_on = |at: Time| if is_held && at > f.now { f.resumes(at) } else { at };
    let one = |w: Watched| Next {
        watcher: w.program,
        at: f.take(w.program).and_then(|t| t.next).map(goes_on),
        shipped_every: w.every,
    };
    WATCHED.into_iter().map(one).collect()
}

impl Attempt {
    /// How long it took, or has taken.
    pub(crate) fn span(&self, now: Time) -> String {
        words(self.to.unwrap_or(now).since(self.from))
    }
}
