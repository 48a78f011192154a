//! Why a task is stuck, and whether it is ours to say so.

use serde_json::Value;

use super::history::{self, is_loose, meets_a_wall, recorded, told};
use base::cause::{self, Cause, Owner};
use base::registry::{HEAL, ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};
use base::time::{Time, words};
use board::several_hosts::log_is_on;
use board::{Detail, Event, EventKind, HandOver, Rule, Run, Status, Step, hermes};
use card::Blocker;
use config::Config;
use config::span::seconds;
use host::Life;
use logs::{LogEnd, SignalKind};
use policy::attempts::ended;
use policy::authorship::{self, HAND};
use policy::cards::seen::{Seen, SourceSeen};
use policy::cards::writer::Trouble;
use policy::cards::{asked, session};
use policy::needs_operator;
use policy::routing::answered::repeated;
use policy::routing::moving::GOAL;

/// What one task comes to.
pub(super) enum Verdict {
    /// It needs a card.
    Stuck(Box<Trouble>),
    /// Change something else about it.
    Act(Box<Step>),
    /// Leave it, for this reason.
    Leave(String),
    /// Leave it, because something is not known.
    Unknown(String),
    /// The same: its log is on another host.
    Elsewhere(String),
    /// Leave it, and tell the operator in every pass: it could not be looked at.
    Finding(String),
    /// Leave it, and tell the operator as long as that lasts: what matters of it, and the whole line.
    Notice(String, String),
    /// Nothing is wrong with it.
    Fine,
}

/// Kinds of events with which an attempt ends badly.
const FAILURES: [EventKind; 8] = [
    EventKind::GaveUp,
    EventKind::Crashed,
    EventKind::ProtocolViolation,
    EventKind::RateLimited,
    EventKind::TimedOut,
    EventKind::SpawnFailed,
    EventKind::Stale,
    EventKind::Reclaimed,
];

/// Kinds of events after which a task stands differently, besides the failures.
const TURNS: [EventKind; 11] = [
    EventKind::Blocked,
    EventKind::BlockLoopDetected,
    EventKind::DependencyWait,
    EventKind::Unblocked,
    EventKind::Promoted,
    EventKind::PromotedManual,
    EventKind::Claimed,
    EventKind::Scheduled,
    EventKind::Status,
    EventKind::Specified,
    EventKind::Decomposed,
];

/// Seconds that the tries of a worker may take after it waited for its provider by itself, until it says that it waits again.
const NEXT_TRY: i64 = 120;

/// Until when a living worker waits for its provider by itself.
pub(super) fn waits(s: &SourceSeen, now: Time) -> Option<Time> {
    s.reading.waits.filter(|until| now <= until.plus(NEXT_TRY))
}

/// Judges one task that has no open card.
pub(super) fn trouble(s: &SourceSeen, seen: &Seen, config: &Config) -> Verdict {
    if let Some(host) = s.elsewhere.as_ref().filter(|_| !is_taken_back(&s.detail)) {
        return Verdict::Elsewhere(log_is_on(host));
    }
    let case = Case { s, d: &s.detail, seen, config };
    match s.detail.task.status {
        Status::Running => case.running(),
        Status::Ready => case.ready(),
        Status::Blocked => case.blocked(),
        Status::Scheduled => case.scheduled(),
        Status::Todo => case.todo(),
        Status::Triage => case.triage(),
        _ => Verdict::Fine,
    }
}

/// Whether `heal` took the task back from a host that was gone. That is how its newest attempt ended, whatever a log there says.
fn is_taken_back(d: &Detail) -> bool {
    let newest = d.events.iter().rev().find(|e| FAILURES.contains(&e.kind));
    let newest = newest.filter(|e| authorship::is_ours(e) && e.by() == Some(HEAL));
    let case = newest.and_then(|e| e.trail()?.get("case")?.as_str());
    d.task.status != Status::Running && case == Some(Rule::HostGone.as_str())
}

/// For what help a worker's own block asks that an undo told again.
fn told_again(block: &Event) -> Option<Blocker> {
    let trail = block.trail().filter(|_| authorship::is_of_undo(block))?;
    Blocker::named(trail.get("blocker")?.as_str()?)
}

struct Case<'a> {
    s: &'a SourceSeen,
    d: &'a Detail,
    seen: &'a Seen,
    config: &'a Config,
}

impl Case<'_> {
    /// The newest event after which the task stands differently.
    fn newest_turn(&self) -> Option<&Event> {
        self.newest(|kind| TURNS.contains(kind) || FAILURES.contains(kind))
    }

    fn newest(&self, is_wanted: impl Fn(&EventKind) -> bool) -> Option<&Event> {
        self.d.events.iter().rev().find(|e| is_wanted(&e.kind))
    }

    fn run(&self) -> Option<&Run> {
        self.d.newest_run()
    }

    /// A task the failure breaker gave up, or one that was blocked explicitly.
    fn blocked(&self) -> Verdict {
        let turns = [
            EventKind::GaveUp,
            EventKind::Blocked,
            EventKind::Unblocked,
            EventKind::Promoted,
            EventKind::PromotedManual,
            EventKind::Claimed,
            EventKind::Status,
        ];
        match self.newest(|kind| turns.contains(kind)) {
            Some(e) if e.kind == EventKind::GaveUp => self.gave_up(e),
            Some(e) if e.kind == EventKind::Blocked => self.sticky(e),
            _ if self.d.is_truncated => {
                Verdict::Unknown("its history is too long to see why it is blocked".into())
            }
            _ => Verdict::Leave("blocked, but no reason is recorded".into()),
        }
    }

    /// Whether an operator or agent reassigned, unblocked or promoted it since: that decision has not been tried yet.
    fn is_decided_since(&self, event: &Event) -> bool {
        let at = self.d.events.iter().rposition(|e| e == event).unwrap_or(0);
        self.d.events[at..].iter().any(authorship::is_fresh_start)
    }

    fn gave_up(&self, event: &Event) -> Verdict {
        if self.is_decided_since(event) {
            return Verdict::Leave("an operator or agent decided about it since".into());
        }
        if let LogEnd::Unreadable(why) = &self.s.reading.end {
            return self.unreadable(why);
        }
        let said = event.payload.get("error").and_then(Value::as_str);
        let cause = self.cause(said).unwrap_or(Cause::Unknown);
        // What heal never resets: a limit set by hand, and a task that was once blocked explicitly and promoted again.
        let by_hand = event.payload.get("limit_source").and_then(Value::as_str) == Some("task")
            || self.d.task.max_retries.is_some()
            || hermes::is_sticky(&self.d.events);
        if cause.owner() == Owner::Distress {
            return self.stuck(Rule::GaveUp, cause, Blocker::EnvBlocker);
        }
        if self.is_escalated() {
            // Nobody knows why it dies; that it does so again and again says it does not fit into one attempt.
            return self.stuck(Rule::Escalated, cause, Blocker::IterationBudget);
        }
        if by_hand {
            return self.stuck(Rule::HandLimit, cause, Blocker::EnvBlocker);
        }
        Verdict::Leave(format!("gave up on {cause}; heal resets it"))
    }

    fn is_escalated(&self) -> bool {
        let began =
            self.d.events.iter().rposition(|e| authorship::starts_help_anew(self.d, e)).map_or(0, |i| i + 1);
        self.d.events[began..].iter().any(|e| e.kind == EventKind::Escalated && e.by() == Some(HEAL))
    }

    /// An explicit block. Only Hermes' own words, an escalation by a watcher, and what a worker says about its environment get a
    /// card; everything else is a person's decision.
    fn sticky(&self, event: &Event) -> Verdict {
        let reason = event.payload.get("reason").and_then(Value::as_str).unwrap_or_default();
        let kind = event.payload.get("kind").and_then(Value::as_str);
        if self.is_decided_since(event) {
            return Verdict::Leave("an operator or agent decided about it since".into());
        }
        if authorship::is_ours(event) {
            let why = event.payload.get("cause").and_then(Value::as_str).unwrap_or("a watcher");
            let cause = recorded(event).filter(|_| why == HandOver::HoldCap.as_str());
            return match cause {
                Some(cause) => self.stuck(Rule::HandedOver, cause, Blocker::EnvBlocker),
                None => Verdict::Leave(format!("needs a person: {why}")),
            };
        }
        if reason.starts_with(GOAL) {
            let cause = self.cause(Some(reason)).unwrap_or(Cause::IterationBudget);
            return self.stuck(Rule::GoalMode, cause, Blocker::IterationBudget);
        }
        // Its worker asked by a card of its own, and that was closed without an answer to the question.
        let asked = event.trail().and_then(|t| t.get("card")?.as_str()).filter(|_| event.by() == Some(HAND));
        if let Some(card) = asked {
            let status = asked::status_of(self.d, card);
            return match told_again(event).filter(|_| status == Some(&Status::Done)) {
                Some(blocker) => self.asked_anew(blocker, card, reason),
                None => history::closed(self.d, card, status),
            };
        }
        if !self.is_by_worker(event) {
            return Verdict::Leave("blocked by hand; only a person lifts that".into());
        }
        // A reason is prose, and may well speak of limits; only with the log's own word it is evidence.
        if let Some(cause) = self.agreed(reason).filter(|_| kind != Some("needs_input")) {
            return self.stuck(Rule::WorkerBlock, cause, Blocker::EnvBlocker);
        }
        let (blocker, word) = match kind {
            Some("capability") => (Blocker::EnvBlocker, "capability"),
            Some("dependency") => (Blocker::Dependency, "dependency"),
            _ => return Verdict::Leave("blocked by hand; only a person lifts that".into()),
        };
        self.own_block(event, blocker, word, reason)
    }

    /// Hermes makes up a run for a block of a task that is not running, so only one that was claimed is a worker's.
    fn is_by_worker(&self, event: &Event) -> bool {
        let is_claimed = event.run.is_some_and(|run| self.d.claim_of(run).is_some());
        is_claimed && event.by().is_none_or(|by| by == HAND)
    }

    /// A cause that the next attempt would meet again, if both the log and the worker's own words name it.
    fn agreed(&self, reason: &str) -> Option<Cause> {
        let LogEnd::Ended(e) = &self.s.reading.end else { return None };
        let said = cause::of_text(reason)?.blocker_type();
        (meets_a_wall(e.cause) && said == e.cause.blocker_type()).then_some(e.cause)
    }

    /// A worker's own block: an operator or agent has some time to lift it before a card is written.
    fn own_block(&self, event: &Event, blocker: Blocker, word: &'static str, reason: &str) -> Verdict {
        let (waited, most) = (self.seen.now.since(event.at), seconds(self.config.distress.block_wait));
        if waited < most {
            return Verdict::Leave(format!(
                "blocked by its worker {} ago; a card after {}",
                words(waited),
                words(most)
            ));
        }
        let what = format!("Its worker blocked it {} ago for want of a {word}.", words(waited));
        let quotes = if reason.is_empty() { Vec::new() } else { vec![reason.to_owned()] };
        Verdict::Stuck(Box::new(Trouble {
            quotes,
            ..self.trouble(Rule::WorkerBlock, None, word, blocker, what)
        }))
    }

    /// Its worker asked by a card of its own, and what was decided on that was undone.
    fn asked_anew(&self, blocker: Blocker, card: &str, reason: &str) -> Verdict {
        let what =
            format!("Its worker asked for help, and what was done upon card {card} was undone by hand.");
        let quotes = Some(reason.to_owned()).filter(|reason| !reason.is_empty()).into_iter().collect();
        let trouble = self.trouble(Rule::WorkerBlock, None, blocker.as_str(), blocker, what);
        Verdict::Stuck(Box::new(Trouble { quotes, ..trouble }))
    }

    /// A task that waits for its next attempt, although the cause that ended the last one is still there.
    fn ready(&self) -> Verdict {
        if self.is_escalated() && hermes::is_guard_jammed(self.d) {
            return self.jammed();
        }
        let Some(run) = self.run().filter(|r| r.ended_at.is_some()) else { return Verdict::Fine };
        let turn = self.newest_turn();
        let failed = |e: &Event| FAILURES.contains(&e.kind) || e.kind == EventKind::Promoted;
        // Unblocked, reassigned or promoted by hand since: it is to be tried first.
        let tried_again = self.d.events.iter().rposition(|e| FAILURES.contains(&e.kind)).is_some_and(|at| {
            self.d.events[at..]
                .iter()
                .any(|e| authorship::is_fresh_start(e) || e.kind == EventKind::Unblocked)
        });
        let finished = matches!(run.outcome.as_deref(), Some("completed" | "blocked"));
        if !turn.is_some_and(failed) || tried_again || finished {
            return Verdict::Fine;
        }
        if let LogEnd::Unreadable(why) = &self.s.reading.end {
            return self.unreadable(why);
        }
        let limited = |r: &&Run| r.outcome.as_deref() == Some("rate_limited");
        let in_a_row = self.d.runs.iter().take_while(limited).count();
        // Its next attempt tries again: it lacks no more than any other ready task does.
        if limited(&run) && in_a_row < usize::try_from(self.config.distress.repeat).unwrap_or(usize::MAX) {
            return Verdict::Fine;
        }
        let said = run.error.as_deref().or(self.d.task.last_failure_error.as_deref());
        match self.cause(said) {
            Some(cause) if meets_a_wall(cause) => self.stuck(Rule::DiedOfIt, cause, Blocker::EnvBlocker),
            _ => Verdict::Fine,
        }
    }

    /// Held back by the runtime's guard over its failure text, which heal cleared as often as it may. No attempt will ever
    /// end here, so no other rule would ask the orchestrator.
    fn jammed(&self) -> Verdict {
        if let LogEnd::Unreadable(why) = &self.s.reading.end {
            return self.unreadable(why);
        }
        let cause = self.cause(self.d.task.last_failure_error.as_deref()).unwrap_or(Cause::Unknown);
        self.stuck(Rule::Escalated, cause, Blocker::IterationBudget)
    }

    /// Held by a watcher.
    fn scheduled(&self) -> Verdict {
        let Some(event) = authorship::parked(self.d) else {
            return Verdict::Leave("scheduled outside Watchbill".into());
        };
        let hold = event.trail().and_then(|t| t.get("hold"));
        match (event.by(), hold) {
            _ if self.is_decided_since(event) => {
                Verdict::Leave("an operator or agent decided about it since".into())
            }
            (Some(HEAL), Some(_)) => match recorded(event) {
                Some(cause) if cause.owner() == Owner::Distress => {
                    self.stuck(Rule::Parked, cause, Blocker::EnvBlocker)
                }
                _ => Verdict::Leave("held by heal".into()),
            },
            (Some(ROUTE_BLOCKED), Some(_)) => Verdict::Leave("held by route-blocked".into()),
            (Some(SYNTHESIZE_DISTRESS), Some(hold)) => match hold.get("card").and_then(Value::as_str) {
                Some(card) if asked::is_to_be_asked_again(self.d, card) => {
                    let cause = recorded(event).unwrap_or(Cause::Unknown);
                    self.stuck(Rule::Parked, cause, Blocker::EnvBlocker)
                }
                Some(card) => history::closed(self.d, card, asked::status_of(self.d, card)),
                None => Verdict::Leave("its hold is route-blocked's".into()),
            },
            _ => Verdict::Leave("scheduled outside Watchbill".into()),
        }
    }

    /// A worker's wait for something nobody does.
    fn todo(&self) -> Verdict {
        let Some(event) = self.newest_turn().filter(|e| e.kind == EventKind::DependencyWait) else {
            return Verdict::Fine;
        };
        if let Some(parent) = self.d.parents.iter().find(|p| !p.status.frees_children()) {
            return Verdict::Leave(format!("waits for {}", parent.id));
        }
        if !self.is_by_worker(event) {
            return Verdict::Leave("waits because a person said so".into());
        }
        let reason = event.payload.get("reason").and_then(Value::as_str).unwrap_or_default();
        self.own_block(event, Blocker::Dependency, "dependency", reason)
    }

    /// Blocked for the same reason twice: Hermes sends it to triage and says nothing (hermes-agent #75444, #79728).
    fn triage(&self) -> Verdict {
        let Some(event) = self.newest_turn().filter(|e| e.kind == EventKind::BlockLoopDetected) else {
            return Verdict::Fine;
        };
        // As where it is blocked with a question: an orchestrator cannot answer for the person who was asked.
        if needs_operator::asked_in_triage(self.d).is_some() {
            return Verdict::Leave("in triage with a question; only a person answers that".into());
        }
        let blocker = if self.d.block_kind(Some(event)) == Some("dependency") {
            Blocker::Dependency
        } else {
            Blocker::EnvBlocker
        };
        let what =
            "It was blocked twice for the same reason and sent to triage, from where nobody calls it back.";
        let quotes =
            event.payload.get("reason").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
        let trouble = self.trouble(Rule::BlockLoop, None, "block_loop", blocker, what.into());
        Verdict::Stuck(Box::new(Trouble { quotes, ..trouble }))
    }

    /// A living worker whose provider refuses it again and again.
    fn running(&self) -> Verdict {
        if let LogEnd::Unreadable(why) = &self.s.reading.end {
            return Verdict::Unknown(format!("its log cannot be read: {why}"));
        }
        // What an attempt before this one met does not count.
        let since = self.run().map_or(self.seen.now, |r| r.started_at);
        let Some(newest) = repeated(&self.s.reading.signals, since, self.seen.now, self.config) else {
            return self.session();
        };
        match self.s.worker.as_ref() {
            Some(w) if w.life == Life::Alive => {}
            Some(w) if w.life == Life::Gone => {
                return Verdict::Leave("its worker is gone; heal frees it first".into());
            }
            Some(w) => {
                return Verdict::Unknown(format!(
                    "refused again and again, but its worker is unknown: {}",
                    w.because
                ));
            }
            None => return Verdict::Unknown("its worker could not be looked at".into()),
        }
        let cause = newest.evidence.cause;
        if let Some(until) = waits(self.s, self.seen.now) {
            return Verdict::Leave(format!(
                "its provider refuses it ({}), and its worker waits by itself and asks again at {}",
                told(&newest.evidence),
                until.local_moment(self.seen.now)
            ));
        }
        let mut stuck = self.trouble(
            Rule::Repeated,
            Some(cause),
            cause.as_str(),
            cause.blocker_type().unwrap_or(Blocker::RateLimited),
            format!("Its worker still runs, and was refused again and again: {}.", told(&newest.evidence)),
        );
        stuck.evidence = Some(newest.evidence.clone());
        Verdict::Stuck(Box::new(stuck))
    }

    /// A living session of which something was recorded that it does not come out of by itself. It is not touched: its claim
    /// stands, and the orchestrator decides.
    fn session(&self) -> Verdict {
        let Some(found) = session::found(self.d) else { return Verdict::Fine };
        let what = format!("Its session {}: {} since {}.", found.session, found.kind, found.since);
        let stuck = self.trouble(Rule::Session, found.cause, found.word, found.blocker, what);
        let quotes = if found.said.is_empty() { Vec::new() } else { vec![found.said] };
        Verdict::Stuck(Box::new(Trouble { quotes, began: Some(found.since), ..stuck }))
    }

    /// The true cause: the line the log ends on, else what the runtime itself recorded.
    fn cause(&self, said: Option<&str>) -> Option<Cause> {
        ended::cause(self.d, &self.s.reading.end, said)
    }

    fn unreadable(&self, why: &str) -> Verdict {
        Verdict::Finding(format!(
            "{}: its log cannot be read: {why}; nothing is decided about it",
            self.d.task.id
        ))
    }

    /// `otherwise`: the help it needs, where the cause does not say that.
    fn stuck(&self, case: Rule, cause: Cause, otherwise: Blocker) -> Verdict {
        let blocker = cause.blocker_type().unwrap_or(otherwise);
        let evidence = match &self.s.reading.end {
            LogEnd::Ended(e) => Some(e.clone()),
            _ => None,
        };
        let ended = evidence.as_ref().map_or_else(|| cause.to_string(), told);
        let what = match case {
            Rule::Escalated if self.d.is_truncated => {
                format!("Its history is too long to count how often it was helped, and it ended on {ended}.")
            }
            Rule::Escalated => {
                format!("It was reset by heal as often as allowed and ended on {ended} again.")
            }
            Rule::GoalMode => {
                format!("Its goal-mode worker used up all its turns; the last one ended on {ended}.")
            }
            Rule::WorkerBlock => format!("Its worker blocked it: {ended}."),
            _ => format!("The last attempt ended on {ended}."),
        };
        Verdict::Stuck(Box::new(Trouble {
            evidence,
            ..self.trouble(case, Some(cause), cause.as_str(), blocker, what)
        }))
    }

    fn trouble(
        &self,
        case: Rule,
        cause: Option<Cause>,
        word: &'static str,
        blocker: Blocker,
        what: String,
    ) -> Trouble {
        let status = &self.d.task.status;
        let loose = is_loose(self.d, self.seen);
        let signals = self.s.reading.signals.iter().rev().filter(|g| g.kind != SignalKind::Tool);
        let mut quotes: Vec<String> = signals.map(|g| g.evidence.words.clone()).take(3).collect();
        quotes.reverse();
        Trouble {
            cause,
            quotes,
            link: !matches!(status, Status::Running | Status::Triage),
            park: matches!(status, Status::Ready | Status::Todo) || (*status == Status::Blocked && loose),
            ..Trouble::new(case, blocker, word, self.run().map_or(0, |r| r.id), what)
        }
    }
}
