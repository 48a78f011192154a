//! Everything that was seen of one task, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use base::cause::Cause;
use base::error::Error;
use base::registry::{HEAL, ROUTE_BLOCKED};
use base::time::{Time, ago};
use board::{Detail, Event, EventKind, HandOver, Rule, Run, Status, StepAction};
use config::QuietHours;
use host::Life;
use logs::Reading;
use logs::provider::Id;
use policy::attempts::ended;
use policy::endless::Endless;
use policy::remedy::Lacking;
use policy::routing::moving::newest_stop;
use policy::routing::reach::Unreached;
use policy::runtime::Runtime;
use policy::{Beyond, Stuck, authorship, needs_operator};

/// What one watcher says of a task now, asked as in a dry run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Take {
    /// The watcher.
    pub(crate) watcher: &'static str,
    /// What it would do.
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    /// Why, in one line; where it says nothing, why there is nothing to say.
    pub because: String,
    /// When it comes to another answer by itself, where it waits for a moment that is known.
    pub next: Option<Time>,
    /// The other host that had the task, where nobody goes on with it before a person does something.
    #[serde(skip)]
    pub(crate) stuck: Option<Stuck>,
    /// What tells it is in a log on another host.
    #[serde(skip)]
    pub(crate) elsewhere: bool,
    /// Its change makes the task available to the next worker.
    #[serde(skip)]
    pub(crate) frees: bool,
}

/// What a watcher would do with a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Change it.
    Acts {
        /// The verb of the change.
        action: StepAction,
        /// The rule.
        case: Rule,
    },
    /// Leave it alone, for that reason.
    Leaves,
    /// Leave it alone, because something is not known.
    Unknown,
    /// It finds nothing wrong with it.
    Nothing,
    /// It could not look.
    Failed,
}

/// Why nobody goes on with an open card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its orchestrator asks a person.
    Asks,
    /// It is in review.
    Review,
    /// Its release was undone.
    Undone,
    /// It was scheduled outside Watchbill.
    Parked,
    /// It is assigned to a person: no worker takes it.
    Given,
    /// None of the profiles that take cards exists.
    NoOrchestrator,
    /// The providers of all profiles that take cards refuse them.
    Refused,
    /// It waits for what never comes.
    Endless,
    /// It is in a state that this version does not know.
    UnknownState,
}

/// The providers of all profiles that take cards refuse what only a person can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// These profiles.
    pub(crate) names: Vec<String>,
    /// How the first one stands.
    pub(crate) why: String,
    /// Its name where its key is refused, else its provider.
    pub(crate) at: String,
    /// What it lacks.
    pub(crate) lacking: Lacking,
}

impl Refused {
    /// What a person does about it.
    pub(crate) fn todo(&self) -> String {
        format!("{}, or name another orchestrator (orchestrator.fallbacks)", self.lacking.look(&self.at))
    }
}

/// So many times as long as a card may wait for an orchestrator, one may work on it before a person hears of it.
const DECIDING: i64 = 4;

/// Everything that was seen of one task.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What to call its board.
    pub board: String,
    /// The program with which a person changes that board.
    pub(crate) hand: String,
    /// The flags with which our own programs find it; empty, or with a blank in front.
    pub(crate) flags: String,
    /// The board was made by `board init`: nobody dispatches on it.
    pub own_board: bool,
    /// Several hosts may share it: workers of others do not see the processes of this one.
    pub(crate) is_shared: bool,
    /// The one reading of the clock.
    pub now: Time,
    /// The board is paused, in the words of who paused it.
    pub(crate) paused: Option<String>,
    /// Why every watcher refuses its board, with what mends that.
    pub(crate) refused: Option<Error>,
    /// The task.
    pub detail: Detail,
    /// What the log of its newest attempt says.
    pub reading: Reading,
    /// Tasks it waits or waited for.
    pub(crate) kin: Vec<Detail>,
    /// Its open distress card, else its newest one.
    pub(crate) card: Option<Detail>,
    /// That card waits for its turn: other work has the places of a dispatcher that works.
    pub(crate) has_turn: bool,
    /// That card is assigned to a person; the orchestrator that may take it instead.
    pub(crate) instead: Option<String>,
    /// The dispatcher and the profiles.
    pub runtime: Runtime,
    /// Who is a person also where a profile has that name: `people.assignee`.
    pub(crate) person: Option<String>,
    /// Whether its worker lives, where it runs and no watcher may act on it.
    pub(crate) life: Option<Life>,
    /// Whether the `board run` that beats for its worker lives, where that was looked at.
    pub(crate) harness: Option<Life>,
    /// The process of an ended attempt that still works on it, where it does not run: no watcher requeues it before that ends.
    pub(crate) outlived_by: Option<i64>,
    /// It is in review or in triage, and Hermes is told to leave that to people.
    pub(crate) is_for_people: bool,
    /// When the machine was awake again after it was suspended.
    pub(crate) woke: Option<Time>,
    /// Why none of the profiles that take cards can take one, and what mends that.
    pub(crate) no_orchestrator: Option<(String, String)>,
    /// None of those that exist is answered by its provider.
    pub(crate) refused_orchestrators: Option<Refused>,
    /// Its dispatcher has passed it over for long, or nobody has claimed it where there is none.
    pub(crate) is_passed_over: bool,
    /// A process sits on the dispatcher's lock.
    pub(crate) wedged: Option<String>,
    /// Since when its running attempt waits for the first answer of its provider, where that takes long.
    pub(crate) unanswered: Option<Time>,
    /// It runs, and is beyond its scope or its budget.
    pub(crate) beyond: Option<Beyond>,
    /// The profiles that may take it now instead of who has it; `None` where that is not known.
    pub(crate) takers: Option<Vec<String>>,
    /// It waits for its turn at a profile that takes it over, and something went on there at that time.
    pub(crate) queued: Option<Time>,
    /// When the hold of its provider, or of the key of its profile, ends.
    pub(crate) retried_at: Option<Time>,
    /// In which hours of the day no hold ends.
    pub(crate) quiet_hours: Option<QuietHours>,
    /// Nobody has answered at its provider's address for long.
    pub(crate) unreached: Option<Unreached>,
    /// The tasks of its board that wait for what never comes.
    pub(crate) endless: Arc<BTreeMap<String, Endless>>,
    /// The profiles of its board, each with its provider.
    pub(crate) providers: Arc<[(String, Id)]>,
    /// Seconds that a card may wait for a claim.
    pub(crate) patience: i64,
    /// Seconds for which a claim counts at most.
    pub(crate) claim_ceiling: i64,
    /// What every watcher says of it now; empty where nobody was asked.
    pub(crate) takes: Vec<Take>,
}

impl Facts {
    /// The same of a task it waits for: as its rows tell it, since nobody was asked about that one.
    pub(crate) fn of_kin(&self, kin: &Detail) -> Facts {
        Facts {
            detail: kin.clone(),
            reading: Reading::of(logs::LogEnd::Absent, None),
            kin: Vec::new(),
            card: None,
            has_turn: false,
            instead: None,
            life: None,
            harness: None,
            outlived_by: None,
            is_for_people: false,
            is_passed_over: false,
            takes: Vec::new(),
            unanswered: None,
            beyond: None,
            takers: None,
            queued: None,
            retried_at: None,
            unreached: None,
            ..self.clone()
        }
    }

    /// What it waits for that only a person can give.
    pub(crate) fn lacking(&self) -> Option<Lacking> {
        let endpoint = || self.unreached.as_ref().map(|_| Lacking::Endpoint);
        let start = || self.unstarted().map(|_| Lacking::Start);
        needs_operator::lacking(&self.detail).or_else(endpoint).or_else(start)
    }

    /// Whether it is held for what no time mends, and route-blocked does not try it when the hold ends; or blocked after so many holds.
    pub(crate) fn lasts(&self) -> bool {
        let is_left = |t: &Take| t.next.is_none() && matches!(t.verdict, Verdict::Leaves);
        match self.detail.task.status {
            // Heal ends the hold of a marked one.
            Status::Scheduled => {
                !self.is_marked()
                    && needs_operator::lacking(&self.detail).is_some()
                    && self.takes.iter().any(|t| t.watcher == ROUTE_BLOCKED && is_left(t))
            }
            // Heal held it as often as it may.
            Status::Blocked => {
                let is_capped = |e: &Event| text(e, "cause") == Some(HandOver::HoldCap.as_str());
                newest_stop(&self.detail).is_some_and(|e| authorship::is_ours(e) && is_capped(e))
            }
            _ => false,
        }
    }

    /// Why it waits for ever, where it does.
    pub(crate) fn endless(&self) -> Option<&Endless> {
        self.endless.get(&self.detail.task.id)
    }

    /// The error with which each start of its worker fails, where another start meets the same.
    pub(crate) fn unstarted(&self) -> Option<&str> {
        needs_operator::unstarted(&self.detail)
    }

    /// Whether it is in a queue that moves: nobody has to help it to another profile.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.queued.is_some_and(|at| self.now.since(at) < self.patience)
    }

    /// When a claim is over that stands on it since then: whatever the row says, none lasts longer than `heal.claim_ceiling`.
    pub(crate) fn claim_ends(&self, since: Time) -> Time {
        let latest = since.plus(self.claim_ceiling);
        self.detail.task.claim_expires.map_or(latest, |at| at.min(latest))
    }

    /// A claim that was left on a task which does not run, and since when it is over: nothing starts it, and `heal` does not know
    /// whether another worker still works on it.
    pub(crate) fn left_claim(&self) -> Option<(&str, Time)> {
        let t = &self.detail.task;
        let lock = t.claim_lock.as_deref()?;
        let stands = matches!(t.status, Status::Ready | Status::Todo | Status::Blocked);
        let is_unknown = self.take(HEAL).is_some_and(|take| take.verdict == Verdict::Unknown);
        let ends = self.claim_ends(self.newest(EventKind::Claimed).map_or(t.created_at, |e| e.at));
        (stands && is_unknown && ends <= self.now).then_some((lock, ends))
    }

    /// What a watcher says of it.
    pub(crate) fn take(&self, watcher: &str) -> Option<&Take> {
        self.takes.iter().find(|t| t.watcher == watcher)
    }

    /// The other host that had it, where nobody goes on with it before a person does something.
    pub(crate) fn stuck(&self) -> Option<&Stuck> {
        self.take(HEAL)?.stuck.as_ref()
    }

    /// Its open distress card.
    pub(crate) fn open_card(&self) -> Option<&Detail> {
        self.card.as_ref().filter(|c| !c.task.status.frees_children())
    }

    /// Its open card, where nobody has taken it for too long, and since when it waits.
    pub(crate) fn untaken_card(&self) -> Option<(&Detail, Time)> {
        let card = self.open_card().filter(|_| !self.has_turn && self.instead.is_none())?;
        Some((card, needs_operator::untaken(card, self.now, self.patience)?))
    }

    /// Its open card, where its orchestrator stopped and no watcher goes on with it, and why none does.
    pub(crate) fn skipped_card(&self) -> Option<(&Detail, String)> {
        let stopped = |card: &&Detail| matches!(card.task.status, Status::Blocked | Status::Triage);
        let card = self.open_card().filter(stopped)?;
        Some((card, authorship::hands_off(card, &self.runtime.profiles, self.person.as_deref(), self.now)?))
    }

    /// Its open card, where nobody goes on with that before a person does, and why.
    pub(crate) fn stopped_card(&self) -> Option<(&Detail, Stopped)> {
        let card = self.open_card()?;
        let is_turn = |e: &&Event| authorship::is_turn(e) && !e.at.is_ahead_of(self.now);
        let turn = || card.events.iter().rev().find(is_turn).map(|e| e.at);
        let is_long = || self.now.since(turn().unwrap_or(card.task.created_at)) >= self.patience;
        // Without a place to work the program `board` schedules what its worker requeued, and releases it in its turn.
        let is_held = || authorship::our_hold(card).is_some();
        let is_parked = || authorship::parked(card).is_some_and(|e| e.by() != Some(authorship::HAND));
        let is_untaken = || needs_operator::untaken(card, self.now, self.patience).is_some();
        let why = match card.task.status {
            Status::Ready if self.instead.is_some() && is_untaken() => Stopped::Given,
            Status::Blocked if needs_operator::is_asking(card) => Stopped::Asks,
            // Hermes may have a reviewer for it.
            Status::Review if is_long() => Stopped::Review,
            // Once its release is undone, no watcher releases it.
            Status::Scheduled if authorship::undone(card).is_some() => Stopped::Undone,
            Status::Scheduled if is_parked() && !is_held() => Stopped::Parked,
            Status::Scheduled if self.no_orchestrator.is_some() => Stopped::NoOrchestrator,
            // While one tries it again, nothing is better yet.
            Status::Scheduled | Status::Ready | Status::Running | Status::Blocked
                if self.is_refused(card) =>
            {
                Stopped::Refused
            }
            Status::Todo if self.endless.contains_key(&card.task.id) => Stopped::Endless,
            Status::Other(_) if is_long() => Stopped::UnknownState,
            _ => return None,
        };
        Some((card, why))
    }

    /// Whether a card waits for a profile whose provider refuses it, and no other one takes it.
    fn is_refused(&self, card: &Detail) -> bool {
        let is_named =
            |refused: &Refused| card.task.assignee.as_ref().is_some_and(|name| refused.names.contains(name));
        self.refused_orchestrators.as_ref().is_some_and(is_named)
    }

    /// The profile that has to start it: its own, or the one that Hermes gives it to.
    pub(crate) fn starter(&self) -> Option<&str> {
        let task = &self.detail.task;
        let default = || self.runtime.default_assignee.as_deref().filter(|_| task.status == Status::Ready);
        task.assignee.as_deref().or_else(default)
    }

    /// When it needs a person anew: asked then, else changed by a person, after which it stands still again.
    pub(crate) fn anew(&self) -> Time {
        let changed =
            || self.detail.events.iter().rev().find(|e| authorship::is_fresh_start(e)).map(|e| e.at);
        // Each attempt that goes too far is another matter.
        let attempt = || self.detail.current_run().filter(|_| self.is_far_beyond()).map(|run| run.started_at);
        self.asked().or_else(attempt).or_else(changed).unwrap_or(self.detail.task.created_at)
    }

    /// When a person gave it a new try last that came to an end like the one before it, by this cause.
    pub(crate) fn retried(&self, cause: Cause) -> Option<Time> {
        let d = &self.detail;
        // Where its provider refused something else before, or nothing, a person tried another thing.
        let refused = ended::ended_on(d, cause);
        let is_like = |run: &Run| !cause.lies_with_provider() || refused.contains(&run.id);
        let is_between = |at: Time| {
            d.runs.iter().any(|run| run.started_at >= at)
                && d.runs.iter().find(|run| run.started_at < at).is_some_and(is_like)
        };
        // Not where a person answered its worker's question.
        let is_stop =
            |e: &&Event| matches!(e.kind, EventKind::Blocked | EventKind::GaveUp | EventKind::Scheduled);
        let is_question = |e: &Event| e.kind == EventKind::Blocked && !authorship::is_ours(e);
        let is_retry = |nth: &usize| {
            let e = &d.events[*nth];
            authorship::starts_anew(d, e)
                && is_between(e.at)
                && !d.events[..*nth].iter().rev().find(is_stop).is_some_and(is_question)
        };
        (0..d.events.len()).rev().find(is_retry).map(|nth| d.events[nth].at)
    }

    /// When a person was asked last, as it stands: it, or its stopped card, was blocked or sent to triage then.
    pub(crate) fn asked(&self) -> Option<Time> {
        let stopped = |d: &Detail| {
            let is_stop = |e: &&Event| matches!(e.kind, EventKind::Blocked | EventKind::GaveUp);
            let newest = d.events.iter().rev().find(is_stop).filter(|_| d.task.status == Status::Blocked);
            newest.or_else(|| needs_operator::asked_in_triage(d)).map(|e| e.at)
        };
        self.stopped_card().and_then(|(card, _)| stopped(card)).max(stopped(&self.detail))
    }

    /// How long ago that was, in words.
    pub(crate) fn ago(&self, at: Time) -> String {
        ago(self.now.since(at))
    }

    /// Its open card, where its orchestrator has worked on it for too long, or a person was told of that worker; and since when it does.
    pub(crate) fn lasting_card(&self) -> Option<(&Detail, Time)> {
        let card = if self.is_card() { Some(&self.detail) } else { self.open_card() };
        let card = card.filter(|card| card.task.status == Status::Running)?;
        let began = card.current_run().map(|run| run.started_at).or(card.task.started_at)?;
        let is_long = self.now.since(began) >= self.patience.saturating_mul(DECIDING);
        (is_long || needs_operator::told(card).is_some()).then_some((card, began))
    }

    /// What a person was told of a living worker, and still stands: its own, else that of its card.
    pub(crate) fn told(&self) -> Option<&Event> {
        let of_card = || needs_operator::told(self.lasting_card()?.0);
        needs_operator::told(&self.detail).or_else(of_card)
    }

    /// Whether it runs so far beyond its bounds that a person decides whether it goes on, unless a card asks about it already.
    pub(crate) fn is_far_beyond(&self) -> bool {
        self.beyond.as_ref().is_some_and(|b| b.is_far)
            && self.open_card().is_none()
            && self.hands_off().is_none()
    }

    /// Whether it waits in `todo` for another task that is open.
    pub(crate) fn waits_in_todo(&self) -> bool {
        let d = &self.detail;
        d.task.status == Status::Todo && d.parents.iter().any(|p| !p.status.frees_children())
    }

    /// The end of the quiet hours that work waits for after the end of its hold.
    pub(crate) fn quiet_end(&self, until: Time) -> Option<Time> {
        self.quiet_hours.and_then(|hours| hours.until(until.max(self.now)))
    }

    /// When work goes on that is held until then.
    pub(crate) fn resumes(&self, until: Time) -> Time {
        self.quiet_end(until).unwrap_or(until)
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.detail.task.status.frees_children()
    }

    /// Why no watcher acts on it whatever is wrong with it, if so: the operator wants that.
    pub(crate) fn hands_off(&self) -> Option<String> {
        if self.is_marked() {
            return Some("skipped on purpose, since it is marked `watchbill: no-heal`".into());
        }
        let at = self.undone()?.local_moment(self.now);
        Some(format!("skipped on purpose, since what a watcher did to it was undone by hand at {at}"))
    }

    /// Whether it is marked `watchbill: no-heal`: no watcher acts on it, and a person must do what it needs.
    pub(crate) fn is_marked(&self) -> bool {
        authorship::is_opted_out(&self.detail, &self.runtime.profiles, self.person.as_deref())
    }

    /// Whether the watchers skip it only since an action on it was undone.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.undone().is_some() && !self.is_marked()
    }

    /// When the operator undid what a watcher did to it, as long as that keeps the watchers from it.
    pub(crate) fn undone(&self) -> Option<Time> {
        authorship::undone(&self.detail).map(|e| e.at)
    }

    /// Whether it is a distress card itself.
    pub(crate) fn is_card(&self) -> bool {
        self.detail.task.is_card()
    }

    /// The newest event of this kind.
    pub(crate) fn newest(&self, kind: EventKind) -> Option<&Event> {
        self.detail.events.iter().rev().find(|e| e.kind == kind)
    }

    /// When it came to stand as it does: the newest event that is not a remark.
    pub(crate) fn since(&self) -> Time {
        let remark =
            |e: &&Event| !matches!(e.kind, EventKind::Commented | EventKind::Detected | EventKind::Edited);
        let newest = self.detail.events.iter().rev().find(remark).map(|e| e.at);
        let began = self.detail.current_run().map(|r| r.started_at);
        let running = began.filter(|_| self.detail.task.status == Status::Running);
        running.or(newest).unwrap_or(self.detail.task.created_at)
    }
}

/// A text out of an event's details.
pub(crate) fn text<'a>(e: &'a Event, key: &str) -> Option<&'a str> {
    e.payload.get(key)?.as_str().map(str::trim).filter(|s| !s.is_empty())
}
