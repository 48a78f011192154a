//! What went wrong with a task last: by its newest log where that says so, else by what our programs found out, else by
//! what the board has of its attempts.

use super::deeds::{self, Deed};
use super::facts::{Facts, text};
use super::session::ailment;
use base::cause::{self, Cause};
use base::registry::HEAL;
use base::time::words;
use board::{Detail, Event, EventKind, Run};
use logs::{Evidence, LogEnd, SignalKind};

/// What went wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trouble {
    /// Why, where that is known.
    pub cause: Option<Cause>,
    /// What shows it, in one line.
    pub(crate) detail: String,
}

impl Trouble {
    /// In one line, the cause first.
    pub(crate) fn says(&self) -> String {
        match self.cause {
            Some(cause) => format!("{}; {}", named(cause), self.detail),
            None => self.detail.clone(),
        }
    }
}

/// Why an attempt ended, for a reader who does not know the names of causes.
pub(crate) fn plain(cause: Cause) -> &'static str {
    match cause {
        Cause::RateLimit => "its provider limited requests",
        Cause::Quota => "a quota or the money at its provider was used up",
        Cause::Overloaded => "its provider was overloaded",
        Cause::ServerError => "its provider failed",
        Cause::Credential => "its key was refused, or there was none",
        Cause::ModelMissing => "its model does not exist at its provider",
        Cause::ConnectionRefused => "nobody answered at its provider's address",
        Cause::Misconfigured => "its configuration allows no start",
        Cause::IterationBudget => "its iterations were used up",
        Cause::ProtocolViolation => "its worker left without closing the task",
        Cause::MalformedCall => "its model sent calls nobody can use",
        Cause::ToolError => "a tool failed",
        Cause::WorkerGone => "its worker died, and nothing says why",
        Cause::SpawnError => "its worker could not be started",
        Cause::ExitCode => "its worker ended with an error",
        Cause::TimedOut => "it ran out of time",
        Cause::Unknown => "its attempt failed in a way we do not know",
    }
}

/// The same with the word that events and `--json` have.
pub(crate) fn named(cause: Cause) -> String {
    format!("{} ({cause})", plain(cause))
}

/// What went wrong with a task last, besides what was done in `but`: that is told already.
pub(crate) fn newest(f: &Facts, but: Option<&str>) -> Option<Trouble> {
    let failed = f.detail.newest_run().filter(|r| is_bad(r));
    if let (Some(run), LogEnd::Ended(e)) = (failed, &f.reading.end) {
        return Some(of_log(f, run, e));
    }
    let deeds = deeds::of(&f.detail.events);
    let tells = |d: &&Deed| Some(d.pass.as_str()) != but && (d.cause.is_some() || d.by == HEAL);
    let deed = deeds.iter().rev().find(tells);
    let run = f.detail.runs.iter().filter(|r| is_bad(r)).max_by_key(|r| (r.ended_at, r.id));
    let ended = run.and_then(|r| r.ended_at);
    match (deed, run) {
        (Some(deed), _) if ended.is_none_or(|at| at <= deed.at) => Some(of_deed(f, deed)),
        (_, Some(run)) => Some(of_run(f, run)),
        (Some(deed), None) => Some(of_deed(f, deed)),
        (None, None) => unspent(f).or_else(|| refused(f)),
    }
}

/// Whether an attempt ended in a way nobody wanted. One that was reclaimed in the second in which it began does not count: it
/// records what happened to a task that nobody works on, and an event of Watchbill tells of it.
pub(super) fn is_bad(r: &Run) -> bool {
    let booked = r.outcome.as_deref() == Some("reclaimed") && r.ended_at == Some(r.started_at);
    let bad = !matches!(r.outcome.as_deref(), None | Some("completed" | "blocked" | "released"));
    r.ended_at.is_some() && bad && !booked
}

fn of_log(f: &Facts, run: &Run, e: &Evidence) -> Trouble {
    let mut detail = attempt(f, run);
    if let Some(status) = e.http {
        detail.push_str(&format!(", HTTP {status}"));
    }
    if let Some(host) = &e.endpoint_host {
        detail.push_str(&format!(" at {host}"));
    }
    if !e.words.is_empty() {
        detail.push_str(&format!("; its log: {}", e.words));
    }
    Trouble { cause: Some(e.cause), detail }
}

fn of_deed(f: &Facts, d: &Deed) -> Trouble {
    let case = if d.case.is_empty() { String::new() } else { format!(" ({})", d.case) };
    let detail = format!("{} {} {}{case}: {}", d.by, d.words(), f.ago(d.at), d.because.found());
    // A worker that we stopped did not just die: what was found of it is in the reason.
    Trouble { cause: d.cause.filter(|_| !d.case.starts_with("health:")), detail }
}

fn of_run(f: &Facts, r: &Run) -> Trouble {
    let outcome = r.outcome.as_deref().unwrap_or(&r.status);
    let error = r.error.as_deref().filter(|e| !e.is_empty());
    // A claim that ran out says nothing of its worker.
    let of_text = error.filter(|_| outcome != "reclaimed").and_then(cause::of_text);
    let known = of_text.or(match outcome {
        "timed_out" => Some(Cause::TimedOut),
        "rate_limited" => Some(Cause::ServerError),
        "protocol_violation" => Some(Cause::ProtocolViolation),
        _ => None,
    });
    let error = error.map_or_else(String::new, |e| format!(": {e}"));
    let outcome = if outcome == "reclaimed" { "reclaimed, its claim was revoked" } else { outcome };
    let ailment = ailment(&f.detail, r.id).map_or_else(String::new, |a| format!("{a}; "));
    Trouble { cause: known, detail: format!("{}: {ailment}{outcome}{error}", attempt(f, r)) }
}

/// A failure that is on the row and in no attempt: a start that came to nothing, or what another process wrote there.
fn unspent(f: &Facts) -> Option<Trouble> {
    let error = f.detail.task.last_failure_error.as_deref()?;
    Some(Trouble { cause: cause::of_text(error), detail: format!("its last failure: {error}") })
}

/// What the newest attempt meets again and again. A log that worked on says no more of what it got over.
fn refused(f: &Facts) -> Option<Trouble> {
    let mut met = f.reading.signals.iter().filter(|s| s.kind != SignalKind::Tool);
    let first = met.next()?;
    let more = met.count();
    let more = if more == 0 { String::new() } else { format!(" and {more} more like it") };
    let detail = format!("its log, and nothing worked since: {}{more}", first.evidence.words);
    Some(Trouble { cause: Some(first.evidence.cause), detail })
}

/// `attempt 2 of luna, 12m ago`.
fn attempt(f: &Facts, r: &Run) -> String {
    let nth = f.detail.runs.iter().filter(|o| o.id <= r.id).count();
    let who = r.profile.as_deref().map_or_else(String::new, |p| format!(" of {p}"));
    format!("attempt {nth}{who}, {}", f.ago(r.ended_at.unwrap_or(r.started_at)))
}

fn titled(d: &Detail) -> String {
    format!("{} {}", d.task.id, d.task.title)
}

/// What it waited for without a word, or with one: only where nothing went wrong with the task itself.
pub(crate) fn waited(f: &Facts) -> Option<String> {
    let promoted = f.newest(EventKind::Promoted)?;
    let when = words(f.now.since(promoted.at));
    for kin in &f.kin {
        let of_kin = f.of_kin(kin);
        if let Some(trouble) = newest(&of_kin, None) {
            return Some(format!("until {when} ago it waited for {}: {}", titled(kin), trouble.says()));
        }
    }
    let told = |e: &&Event| {
        matches!(
            e.kind,
            EventKind::Blocked | EventKind::GaveUp | EventKind::DependencyWait | EventKind::Scheduled
        )
    };
    match (f.kin.first(), f.detail.events.iter().rev().find(told)) {
        (Some(kin), _) => Some(format!("until {when} ago it waited for {}", titled(kin))),
        (None, Some(e)) => {
            let why = text(e, "reason").unwrap_or("no reason given");
            Some(format!("it was promoted {when} ago; before that: {} ({why})", e.kind))
        }
        (None, None) => Some(format!(
            "it was promoted {when} ago, and nothing on the board says why it had stood still before that"
        )),
    }
}
