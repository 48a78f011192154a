//! How a task stands and why, in two lines: the answer first, then what is behind it. Pure.

use serde::Serialize;
use serde_json::Value;

use super::diagnosis::{self, named};
use super::facts::{Facts, Stopped, Take, Verdict, text};
use super::session;
use super::still::{self, Unattended};
use base::count::things;
use base::registry::{HEAL, NAMES, ROUTE_BLOCKED, SYNTHESIZE_DISTRESS};
use base::time::{Time, words};
use board::{Comment, Detail, Event, EventKind, Rule, Run, Status, StepAction, hermes};
use policy::authorship::{self, cause_in, end_in, is_ours, our_hold};
use policy::needs_operator;
use policy::remedy::{self, Lacking};
use policy::runtime::Dispatcher;

/// What a task's standing comes to, for a person who may have to act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is over.
    Over,
    /// It goes its way.
    Fine,
    /// It goes on by itself, or by an orchestrator's answer.
    Waits,
    /// A watcher would change it now.
    Due,
    /// Watchbill skips it: the operator said so, or something is not known.
    LeftAlone,
    /// Nothing goes on without a person.
    NeedsPerson,
}

/// How a task stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stand {
    /// What it comes to.
    pub kind: Kind,
    /// Until when it waits, where that is known.
    pub until: Option<Time>,
    /// The answer: its state and the cause.
    pub(crate) says: String,
    /// What is behind it.
    pub(crate) more: Option<String>,
    /// What nobody does with it, where others may wait for the same.
    pub(crate) unattended: Option<Unattended>,
    /// Since when its attempts end without completion, where no limit counts them.
    pub(crate) in_vain: Option<Time>,
}

impl Stand {
    pub(super) fn new(kind: Kind, says: impl Into<String>) -> Stand {
        Stand { kind, until: None, says: says.into(), more: None, unattended: None, in_vain: None }
    }

    fn until(self, until: Option<Time>) -> Stand {
        Stand { until, ..self }
    }

    pub(super) fn more(self, more: Option<String>) -> Stand {
        Stand { more: self.more.or(more), ..self }
    }
}

/// How it stands, and whether a person must go on with it.
pub(crate) fn of(f: &Facts) -> Stand {
    if let Some(e) = f.refused.as_ref().filter(|_| !f.is_over()) {
        let says = format!("{}, and {}", f.detail.task.status, e.what);
        return Stand::new(Kind::NeedsPerson, says).more(e.hint.as_deref().map(upper));
    }
    let stand = found(f);
    match stand.kind {
        Kind::Over | Kind::NeedsPerson => stand,
        _ => {
            let rules = [
                still::undone,
                still::marked,
                still::outlived,
                still::passed_over,
                still::not_promoted,
                still::for_people,
                still::unknown,
                still::in_vain,
                still::beyond,
            ];
            rules.iter().find_map(|rule| rule(f, &stand)).unwrap_or(stand)
        }
    }
}

fn found(f: &Facts) -> Stand {
    if let Some(told) = told(f).filter(|_| !f.is_over()) {
        return told;
    }
    let stand = match &f.detail.task.status {
        Status::Done => over(f, "done"),
        Status::Archived => over(f, "archived"),
        Status::Running => running(f),
        Status::Blocked => blocked(f),
        Status::Scheduled => scheduled(f),
        Status::Ready => ready(f),
        Status::Todo => todo(f),
        Status::Triage => triage(f),
        Status::Review => Stand::new(Kind::Fine, "in review: it waits for a reviewer"),
        Status::Other(word) => Stand::new(
            Kind::LeftAlone,
            format!("in a state this version does not know ({word}), so it is skipped"),
        )
        .more(Some("Nothing here takes it out of that state; a newer version may know it".into())),
    };
    let stand = left_lying(f, still::claimed(f, unmended(f, beyond_waiting(f, stand))));
    let before = || diagnosis::newest(f, None).map(|t| format!("Before that: {}", t.says()));
    if stand.more.is_some() { stand } else { stand.more(before()) }
}

/// What waits, but for something that comes only by a person: a key, money, or a decision on its card.
fn beyond_waiting(f: &Facts, stand: Stand) -> Stand {
    // A hold that is over ends with the next pass, unless no watcher says so: its card is open then.
    let waits = stand.kind == Kind::Waits || (stand.kind == Kind::Due && due(f).is_none());
    // What is skipped since something is unknown still has its card, and what waits for its card in todo goes on by it alone.
    let is_wanted =
        stand.kind == Kind::LeftAlone && (f.is_taken_back() || f.detail.task.status == Status::Scheduled);
    if !waits && (!matches!(stand.kind, Kind::LeftAlone | Kind::Fine) || is_wanted) {
        return stand;
    }
    let lacking = needs_operator::lacking(&f.detail).filter(|_| stand.kind != Kind::Fine);
    // What goes to another profile that works, at once or in its turn, gets there without a person.
    let goes_by_itself = lacking.is_some() && f.hands_off().is_none();
    if goes_by_itself && due(f).is_some_and(|(_, take)| goes(take)) {
        return Stand { kind: Kind::Due, ..stand };
    }
    if let Some(lacking) = lacking.filter(|_| !(goes_by_itself && f.is_in_turn())) {
        let more = mended(f, lacking, stand.more);
        return Stand { kind: Kind::NeedsPerson, more: Some(more), ..stand };
    }
    if let Some((card, why)) = f.skipped_card() {
        let id = &card.task.id;
        let says =
            format!("{}; its card {id} is {}, and the watchers skip that", stand.says, card.task.status);
        let more = std::iter::once(why).chain(stand.more).reduce(|why, more| format!("{why}. {more}"));
        return Stand { kind: Kind::NeedsPerson, says, more, ..stand };
    }
    if let Some((card, why)) = f.stopped_card() {
        return unanswered(f, card, why, stand);
    }
    if let Some((card, since)) = f.lasting_card() {
        return undecided(f, card, since, stand);
    }
    let Some((card, since)) = f.untaken_card() else { return stand };
    let id = &card.task.id;
    let says = format!("{}; nobody has taken card {id} for {}", stand.says, words(f.now.since(since)));
    let unstarted = f.own_board || f.runtime.dispatcher == Dispatcher::Absent;
    let mend = unstarted.then(|| upper(remedy::untaken(f.own_board)));
    let more = mend.into_iter().chain(stand.more).reduce(|mend, more| format!("{mend}. {more}"));
    Stand { kind: Kind::NeedsPerson, says, more, ..stand }
}

/// Its card waits for a person, or for an orchestrator that there is not.
fn unanswered(f: &Facts, card: &Detail, why: Stopped, stand: Stand) -> Stand {
    let id = &card.task.id;
    let reason = || {
        let asked = card.events.iter().rev().find(|e| e.kind == EventKind::Blocked);
        asked.and_then(|e| text(e, "reason")).map_or_else(String::new, |reason| format!(": {reason}"))
    };
    let why_not = match why {
        Stopped::Asks => format!("card {id} waits for a person{}", reason()),
        Stopped::Review => format!("card {id} is in review, and its task waits for that"),
        Stopped::Undone => {
            format!("the release of card {id} was undone by hand, so no watcher releases it")
        }
        Stopped::Parked => {
            format!("card {id} was scheduled outside Watchbill, and nobody takes it before that ends")
        }
        Stopped::Given => {
            let who = card.task.assignee.as_deref().unwrap_or("a person");
            format!("card {id} waits for a decision of {who}; no worker of that name is known")
        }
        Stopped::NoOrchestrator => {
            let why = f.no_orchestrator.as_ref().map_or("no orchestrator is there", |(why, _)| why);
            format!("{why}, so nobody takes card {id}")
        }
        Stopped::Refused => {
            let refused = f.refused_orchestrators.as_ref();
            let why = refused.map_or("no orchestrator is answered", |refused| &refused.why);
            format!("{why}, so nobody takes card {id}")
        }
        Stopped::Endless => format!("card {id} waits for something that never happens"),
        Stopped::UnknownState => {
            format!(
                "card {id} is in a state that this version does not know ({}), and its task waits for that",
                card.task.status
            )
        }
    };
    let is_untaken = matches!(why, Stopped::NoOrchestrator | Stopped::Refused);
    let unattended = is_untaken.then_some(Unattended::NoOrchestrator);
    let says = format!("{}; {why_not}", stand.says);
    Stand { kind: Kind::NeedsPerson, says, unattended, ..stand }
}

/// Its card is at an orchestrator for hours: that may hang, and other cards wait behind it.
fn undecided(f: &Facts, card: &Detail, since: Time, stand: Stand) -> Stand {
    let who = card.task.assignee.as_deref().unwrap_or("an orchestrator");
    let (id, long) = (&card.task.id, words(f.now.since(since)));
    let says = match *id == f.detail.task.id {
        true => format!("running; {who} has worked on it for {long} without a decision"),
        false => format!("{}; {who} has worked on card {id} for {long} without a decision", stand.says),
    };
    let told = needs_operator::told(card).map(|e| (e.trail(), text(e, "mend")));
    let because = told.and_then(|(trail, _)| trail?.get("because")?.as_str().map(upper));
    let mend = told.and_then(|(_, mend)| mend).map(|mend| format!("What a person can do: {mend}"));
    let look = || {
        let pid = card.task.worker_pid?;
        Some(format!("Its worker is process {pid}; once that has ended, the card is worked on anew"))
    };
    let more = because.into_iter().chain(mend.or_else(look)).chain(stand.more);
    let more = more.reduce(|before, more| format!("{before}. {more}"));
    Stand { kind: Kind::NeedsPerson, says, more, ..stand }
}

/// What is tried again by itself, and only a person mends: an address at which nobody answers, a path or a program of this host. While an
/// attempt tries it, nothing is better yet.
fn unmended(f: &Facts, stand: Stand) -> Stand {
    if matches!(stand.kind, Kind::NeedsPerson | Kind::Over) || f.is_taken_back() {
        return stand;
    }
    let (lacking, why) = match (&f.unreached, f.unstarted()) {
        (Some(u), _) => {
            let (at, waited, tries) = (u.at(), words(f.now.since(u.since)), things(u.tries, "attempt"));
            (Lacking::Endpoint, format!("nobody has answered at {at} for {waited}, in {tries}"))
        }
        (None, Some(error)) => (Lacking::Start, format!("the same each time: {error}")),
        (None, None) => return stand,
    };
    let more = mended(f, lacking, stand.more);
    Stand { kind: Kind::NeedsPerson, says: format!("{}; {why}", stand.says), more: Some(more), ..stand }
}

/// What a person does about what a task lacks, before what is said of it besides.
fn mended(f: &Facts, lacking: Lacking, more: Option<String>) -> String {
    let profile = f.detail.task.assignee.as_deref().unwrap_or("its profile");
    let mend = lacking.todo(profile, f.takers.as_deref());
    more.map_or_else(|| mend.clone(), |more| format!("{mend}. {more}"))
}

/// Whether a watcher assigns a held task to another profile, or releases it.
fn goes(take: &Take) -> bool {
    acts(take).is_some_and(|(action, _)| matches!(action, StepAction::Move | StepAction::Release))
}

/// What nobody moves: no watcher acts on it, no card asks about it, nobody wants it so, and a dispatcher would have requeued it
/// long ago. After as long as a card may wait it needs a person. What runs is not meant: it may well go its way.
fn left_lying(f: &Facts, stand: Stand) -> Stand {
    let stands = matches!(f.detail.task.status, Status::Blocked | Status::Ready | Status::Other(_));
    let is_long = f.now.since(f.since()) >= f.patience;
    if stand.kind != Kind::LeftAlone || !stands || !is_long || is_promoted(f) {
        return stand;
    }
    // Who starts what is ready asks for no mark.
    let is_marked = f.detail.task.status != Status::Ready && f.is_marked();
    if !is_marked && f.hands_off().is_some() {
        return stand;
    }
    let is_unknown = matches!(f.detail.task.status, Status::Other(_));
    let unattended = is_unknown.then_some(Unattended::UnknownState).or(stand.unattended);
    let says = match is_marked {
        true => still::by_mark(&format!("{} for {}", f.detail.task.status, words(f.now.since(f.since())))),
        false => stand.says,
    };
    Stand { kind: Kind::NeedsPerson, says, unattended, ..stand }
}

/// Whether a dispatcher sets it free with its next tick.
pub(super) fn is_promoted(f: &Facts) -> bool {
    let d = &f.detail;
    let works = f.runtime.dispatcher != Dispatcher::Absent && f.wedged.is_none() && !f.own_board;
    let limit = d.task.max_retries.or(f.runtime.failure_limit);
    let is_below = limit.is_some_and(|limit| d.task.failures < limit);
    let is_free = d.parents.iter().all(|p| p.status.frees_children());
    d.task.status == Status::Blocked && !hermes::is_sticky(&d.events) && works && is_below && is_free
}

/// A living worker of which a person was told, as long as that stands.
fn told(f: &Facts) -> Option<Stand> {
    let e = needs_operator::told(&f.detail).filter(|_| f.hands_off().is_none())?;
    // A note by `heal`, or one of `route-blocked` about that worker, says that it is over.
    let is_over = |t: &Take, case: &Rule| t.watcher == HEAL || *case == Rule::OlderWorker;
    let goes_on = |t: &Take| acts(t).is_some_and(|(act, case)| *act != StepAction::Tell || is_over(t, case));
    if e.by().and_then(|by| f.take(by)).is_some_and(goes_on) {
        return None;
    }
    let because = e.trail().and_then(|t| t.get("because")?.as_str()).unwrap_or("no reason is recorded");
    let mend = text(e, "mend");
    let because = without(because, mend);
    let says = format!("{}, and needs a person (said {}): {because}", f.detail.task.status, f.ago(e.at));
    Some(Stand::new(Kind::NeedsPerson, says).more(mend.map(|mend| format!("What a person can do: {mend}"))))
}

/// A reason without what mends it, which may be its end, and is a sentence of its own here.
fn without<'t>(because: &'t str, mend: Option<&str>) -> &'t str {
    mend.and_then(|mend| because.strip_suffix(mend)?.strip_suffix("; ")).unwrap_or(because)
}

/// The beginning of a sentence. A program's name stays as it is.
fn upper(text: &str) -> String {
    if NAMES.iter().any(|program| text.starts_with(program)) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// That the worker of an attempt blocked its task, with its reason.
fn stopped_by_worker(d: &Detail) -> Option<String> {
    let run = d.runs.iter().find(|r| r.outcome.as_deref() == Some("blocked"))?;
    let reason = run.summary.as_deref().or(run.error.as_deref()).filter(|s| !s.is_empty());
    let reason = reason.map_or_else(String::new, |s| format!(": {s}"));
    Some(format!("its worker blocked it{reason}"))
}

fn over(f: &Facts, word: &str) -> Stand {
    let d = &f.detail;
    let event = if word == "done" { EventKind::Completed } else { EventKind::Archived };
    let at = f.newest(event).map(|e| e.at).or(d.newest_run().and_then(|r| r.ended_at));
    let when = at.map_or_else(String::new, |at| format!(", {}", f.ago(at)));
    let run = d.runs.iter().find(|r| r.outcome.as_deref() == Some("completed"));
    let by = run.and_then(|r| r.profile.as_deref()).map_or_else(String::new, |p| format!(" by {p}"));
    let nth = match d.runs.len() {
        0 | 1 => String::new(),
        n => format!(" in attempt {n}"),
    };
    let summary = run.and_then(|r| r.summary.as_deref()).filter(|s| !s.is_empty());
    let summary = summary.map_or_else(String::new, |s| format!(": {s}"));
    let (by, nth) = if word == "done" { (by, nth) } else { (String::new(), String::new()) };
    let more = match diagnosis::newest(f, None) {
        Some(trouble) => format!("On the way: {}", trouble.says()),
        None => diagnosis::waited(f).or_else(|| stopped_by_worker(d)).map_or_else(
            || "Nothing went wrong with it, as far as this board tells".into(),
            |w| format!("On the way: {w}"),
        ),
    };
    Stand::new(Kind::Over, format!("{word}{by}{nth}{when}{summary}")).more(Some(more))
}

fn running(f: &Facts) -> Stand {
    let heal = f.take(HEAL);
    // A note on a running task does not mean that something is wrong with it.
    let act = |t: &&Take| acts(t).is_some_and(|(action, _)| *action != StepAction::Tell);
    let due = [ROUTE_BLOCKED, SYNTHESIZE_DISTRESS].into_iter().filter_map(|w| f.take(w)).find(act);
    let ailment = f.detail.task.current_run.and_then(|run| session::ailment(&f.detail, run));
    if let Some(why) = f.hands_off() {
        let t = &f.detail.task;
        let claim = if t.claim_lock.is_none() { "; nobody holds its claim" } else { "" };
        let pid = t
            .worker_pid
            .map_or_else(|| "no worker is recorded".into(), |p| format!("its worker is process {p}"));
        return Stand::new(Kind::LeftAlone, format!("running, and {why}"))
            .more(Some(format!("Its row: {pid}{claim}")));
    }
    match heal.map(|t| (&t.verdict, t)) {
        Some((Verdict::Acts { action, case }, take)) => {
            Stand::new(Kind::Due, format!("running, and something is wrong: {}", take.because))
                .more(Some(format!("heal acts with its next pass: {action} ({case})")))
        }
        Some((Verdict::Unknown, take)) => Stand::new(
            Kind::LeftAlone,
            format!("running, skipped because something is not known: {}", take.because),
        ),
        Some((Verdict::Leaves, take)) if take.next.is_some() => {
            Stand::new(Kind::Waits, format!("running, but {}", take.because)).until(take.next)
        }
        Some((Verdict::Leaves, Take { because, stuck: Some(stuck), .. })) => {
            let says = format!("running, and nobody goes on with it: {because}");
            Stand::new(Kind::NeedsPerson, says).more(Some(stuck.todo.clone()))
        }
        _ if due.is_some() => {
            let because = due.map(|t| t.because.clone()).unwrap_or_default();
            Stand::new(Kind::Due, format!("running, and something is wrong: {because}"))
        }
        Some((Verdict::Leaves, take)) if ailment.is_some() => {
            // The decider of its card may know; what was decided waits for the session's end.
            let kind = if f.open_card().is_some() { Kind::Waits } else { Kind::LeftAlone };
            Stand::new(kind, format!("running, but {}", ailment.unwrap_or_default()))
                .more(asked(f).or_else(|| Some(upper(&take.because))))
        }
        Some((Verdict::Leaves, take)) if f.open_card().is_some() => {
            Stand::new(Kind::Waits, format!("running: {}", take.because)).more(asked(f))
        }
        Some((Verdict::Leaves, take)) if f.beyond.is_some() => {
            let says = f.beyond.as_ref().map_or("", |b| b.says.as_str());
            Stand::new(Kind::Fine, format!("running, and {says}")).more(Some(upper(&take.because)))
        }
        Some((Verdict::Leaves, take)) if f.unanswered.is_some() => {
            let (who, since) = (f.detail.task.assignee.as_deref().unwrap_or("its worker"), f.unanswered);
            let since = since.map_or_else(String::new, |at| words(f.now.since(at)));
            let says = format!(
                "running, and waits for an answer: the provider of {who} has not answered since the attempt began {since} ago"
            );
            Stand::new(Kind::Fine, says).more(Some(upper(&take.because)))
        }
        Some((Verdict::Leaves, take)) => {
            Stand::new(Kind::Fine, format!("running, and nothing is wrong: {}", take.because))
        }
        _ => {
            let run = f.detail.current_run();
            let heard = f.detail.task.last_heartbeat_at.max(run.map(|r| r.started_at));
            let heard = heard.map_or_else(|| "never".into(), |at| f.ago(at));
            Stand::new(Kind::Fine, format!("running, and its worker was last heard from {heard}"))
        }
    }
}

fn acts(t: &Take) -> Option<(&StepAction, &Rule)> {
    match &t.verdict {
        Verdict::Acts { action, case } => Some((action, case)),
        _ => None,
    }
}

/// Who acts on it with the next pass, as a sentence. A note is not an act.
fn due(f: &Facts) -> Option<(String, &Take)> {
    let act =
        |t: &&Take| watch::acts(t.watcher) && acts(t).is_some_and(|(action, _)| *action != StepAction::Tell);
    let take = f.takes.iter().find(act)?;
    let (action, case) = acts(take)?;
    let when = match f.outlived_by.filter(|_| take.frees) {
        Some(pid) => format!("once process {pid} of an earlier attempt has ended"),
        None => "with its next pass".to_owned(),
    };
    Some((format!("{} acts {when}: {action} ({case})", take.watcher), take))
}

/// The same with its reason.
fn due_because(f: &Facts) -> Option<String> {
    due(f).map(|(says, take)| format!("{says}: {}", take.because))
}

fn blocked(f: &Facts) -> Stand {
    let d = &f.detail;
    let sticky = hermes::is_sticky(&d.events);
    let block = f.newest(EventKind::Blocked).filter(|_| sticky);
    if let Some(e) = block.filter(|e| is_ours(e))
        && let Some(cause) = text(e, "cause")
    {
        return with_person(f, e, cause);
    }
    let behind = diagnosis::newest(f, None);
    if let Some(card) = f.open_card() {
        let why = behind.as_ref().and_then(|t| t.cause).map_or_else(|| "stopped".into(), named);
        let why =
            block.and_then(|e| text(e, "reason")).map_or(why, |reason| format!("its worker said: {reason}"));
        let says = format!("blocked: {why}; card {} asks {}", card.task.id, decider(card));
        return Stand::new(Kind::Waits, says).more(behind.map(|t| upper(&t.detail)).or_else(|| asked(f)));
    }
    let due = due(f);
    let kind = if due.is_some() { Kind::Due } else { Kind::LeftAlone };
    // The decision is there; until this is told, nothing else is to be said of it. Once it is told, such a note says that it is over.
    let outlived = |t: &&Take| acts(t).is_some_and(|(_, case)| *case == Rule::OlderWorker);
    let untold = f.take(ROUTE_BLOCKED).filter(|_| needs_operator::told(d).is_none());
    if let Some(take) = untold.filter(outlived) {
        return Stand::new(Kind::Due, format!("blocked: {}", take.because));
    }
    if let Some(e) = block {
        return stopped(f, e, due_because(f));
    }
    if let Some(why) = f.hands_off() {
        return Stand::new(Kind::LeftAlone, format!("blocked, and {why}"));
    }
    let limit = d.task.max_retries.map_or_else(String::new, |n| format!(", its own limit is {n}"));
    if let Some(gave_up) = f.newest(EventKind::GaveUp) {
        let failures = things(d.task.failures, "failure");
        let why = behind.as_ref().and_then(|t| t.cause).map(named);
        let why = why
            .or_else(|| text(gave_up, "error").map(str::to_owned))
            .unwrap_or_else(|| "no reason is recorded".into());
        let says = format!("blocked after {failures}{limit}, {}: {why}", f.ago(gave_up.at));
        let wait = f.takes.iter().find_map(|t| t.next);
        let kind = if wait.is_some() && kind != Kind::Due { Kind::Waits } else { kind };
        let behind = behind.map(|t| upper(&t.detail));
        let more = match (&behind, due) {
            (Some(behind), Some((due, _))) => Some(format!("{behind}; {due}")),
            (Some(behind), None) => Some(behind.clone()),
            (None, _) => due_because(f),
        };
        return Stand::new(kind, says).until(wait).more(more);
    }
    let says = format!("blocked {}, and nothing on the board says why", f.ago(f.since()));
    let promoted = "a dispatcher requeues it by itself while its failures are below the limit".to_owned();
    Stand::new(kind, says).more(due_because(f).or(Some(promoted)))
}

const BY_HAND: &str = "Only the operator unblocks it";

/// It was stopped by its worker or a person, and not by a watcher.
fn stopped(f: &Facts, e: &Event, due: Option<String>) -> Stand {
    let kind = f.detail.block_kind(Some(e));
    let reason = text(e, "reason").unwrap_or("no reason given");
    let when = f.ago(e.at);
    let Some(run) = worked(&f.detail, e, f.now) else {
        // A question is a person's to answer, even if no worker wrote it.
        if kind == Some("needs_input") {
            let says = format!("blocked: {} {when}: {reason}", asks(None));
            return Stand::new(Kind::NeedsPerson, says).more(due.or_else(|| Some(BY_HAND.into())));
        }
        let says = format!("blocked by hand {when}: {reason}");
        let alone = || "Only a person can unblock it; nobody else is asked".to_owned();
        return Stand::new(Kind::NeedsPerson, says).more(due.or_else(|| Some(alone())));
    };
    let who = profile(run);
    let who = match kind {
        Some("needs_input") => asks(Some(run)),
        Some(kind) => format!("its worker {who} stopped it ({kind})"),
        // A person may block work under its worker, and leaves the same.
        None => match &run.profile {
            Some(who) => format!("stopped while {who} worked on it,"),
            None => "stopped while it was worked on,".to_owned(),
        },
    };
    // What an orchestrator may answer gets a card first; see `synthesize-distress`.
    let stand = Stand::new(
        if due.is_some() { Kind::Due } else { Kind::NeedsPerson },
        format!("blocked: {who} {when}: {reason}"),
    );
    stand.more(due.or_else(|| Some(BY_HAND.into())))
}

/// Who asks a person, by the attempt that ended so.
fn asks(run: Option<&Run>) -> String {
    match run {
        Some(run) => format!("its worker {} asks a person (needs_input)", profile(run)),
        None => "a person is asked (needs_input)".to_owned(),
    }
}

fn profile(run: &Run) -> &str {
    run.profile.as_deref().unwrap_or("without a profile")
}

/// The attempt that a block ended. For one that nobody worked on Hermes makes an attempt up, so that the reason is kept.
fn worked<'a>(d: &'a Detail, block: &Event, now: Time) -> Option<&'a Run> {
    let run = d.runs.iter().find(|r| Some(r.id) == block.run)?;
    (d.claim_of(run.id).is_some() || run.seconds(now) > 0).then_some(run)
}

/// We gave it to a person.
fn with_person(f: &Facts, e: &Event, cause: &str) -> Stand {
    let reason = text(e, "reason").unwrap_or("no reason is recorded");
    let pass = e.trail().and_then(|t| t.get("pass")).and_then(Value::as_str);
    let says = format!("blocked {}, and needs a person ({cause}): {reason}", f.ago(e.at));
    let behind = diagnosis::newest(f, pass).map(|t| format!("Behind it: {}", t.says()));
    // Its worker had stopped it, and nobody could help.
    let theirs = |e: &&Event| e.kind == EventKind::Blocked && !is_ours(e) && text(e, "reason").is_some();
    let theirs = f.detail.events.iter().rev().find(theirs);
    let newest = f.detail.newest_run().filter(|r| r.outcome.as_deref() == Some("blocked"));
    let said = theirs.filter(|_| newest.is_some()).and_then(|e| text(e, "reason"));
    let said = said.map(|r| format!("Behind it: it was blocked with the words: {r}"));
    let known = e.trail().and_then(cause_in).map(|c| format!("Behind it: {}", named(c)));
    let alone = || "Nobody but a person lifts that, and nothing else went wrong with it".to_owned();
    Stand::new(Kind::NeedsPerson, says).more(said.or(behind).or(known).or_else(|| Some(alone())))
}

/// Whether a person scheduled it, and it needs nobody until that ends.
pub(super) fn is_by_hand(d: &Detail, now: Time) -> bool {
    let by_worker = || authorship::parked(d).is_some_and(|e| parking(d, e, now).is_some());
    d.task.status == Status::Scheduled
        && our_hold(d).is_none()
        && needs_operator::told(d).is_none()
        && !by_worker()
}

fn scheduled(f: &Facts) -> Stand {
    let Some((e, hold)) = our_hold(&f.detail) else {
        let e = authorship::parked(&f.detail);
        if let Some((e, run)) = e.and_then(|e| Some((e, parking(&f.detail, e, f.now)?))) {
            return parked(f, e, run);
        }
        let when = e.map_or_else(String::new, |e| format!(" {}", f.ago(e.at)));
        let reason = e.and_then(|e| text(e, "reason")).map_or_else(String::new, |r| format!(": {r}"));
        if authorship::is_queued_by_board(&f.detail) && f.undone().is_none() {
            return Stand::new(Kind::Waits, format!("queued{when}{reason}"))
                .more(Some("synthesize-distress releases it in its turn".into()));
        }
        let says = format!("scheduled outside Watchbill{when}{reason}");
        return Stand::new(Kind::LeftAlone, says)
            .more(Some("It was scheduled by hand, and only the operator ends that".into()));
    };
    let until = end_in(hold);
    let why = cause_in(hold).map(named);
    let why =
        why.or_else(|| text(e, "cause").map(str::to_owned)).unwrap_or_else(|| "no cause is noted".into());
    let behind = diagnosis::newest(f, None).map(|t| t.detail);
    let (kind, says) = match until {
        Some(until) if until > f.now => {
            let (at, quiet) = match f.quiet_end(until) {
                Some(end) => (end, ", the end of the quiet hours"),
                None => (until, ""),
            };
            let left = words(at.since(f.now));
            (Kind::Waits, format!("held until {} ({left}){quiet}: {why}", at.local_moment(f.now)))
        }
        Some(until) => beyond(f, &format!("held until {} (passed): {why}", until.local_moment(f.now))),
        None => beyond(f, &format!("held without an end: {why}")),
    };
    // What is over by its own end goes on in the quiet hours where its card decides.
    let is_over = until.is_some_and(|until| until <= f.now);
    let goes_on = kind != Kind::Waits || (is_over && f.open_card().is_some());
    let until = if goes_on { until } else { until.map(|until| f.resumes(until)) };
    let behind = match (f.open_card(), behind) {
        (Some(card), Some(behind)) => Some(format!("Card {} asks {}; {behind}", card.task.id, decider(card))),
        (Some(_), None) => asked(f),
        (None, behind) => behind.map(|b| upper(&b)),
    };
    Stand::new(kind, says).until(until).more(behind)
}

/// The attempt whose worker scheduled its own task with this event, as newer Hermes lets it (`kanban_schedule`). What a person schedules was
/// worked on by no attempt, or has a comment of that person.
fn parking<'a>(d: &'a Detail, e: &Event, now: Time) -> Option<&'a Run> {
    let run = worked(d, e, now).filter(|r| e.by().is_none() && r.outcome.as_deref() == Some("scheduled"))?;
    let is_word = |c: &Comment| c.body.starts_with("SCHEDULED:") && e.at.since(c.at).abs() <= ONE_COMMAND;
    let is_of_run = |c: &Comment| run.profile.as_deref().is_some_and(|p| p.eq_ignore_ascii_case(&c.author));
    let by_hand = d.comments.iter().any(|c| is_word(c) && !is_of_run(c));
    (!by_hand).then_some(run)
}

/// Seconds between the two rows that one command of Hermes writes.
const ONE_COMMAND: i64 = 2;

/// Seconds for which a worker may say that its task waits, before a person is told all the same.
const LONGEST_WAIT: i64 = 7 * 86_400;

/// When its worker says that it may go on: Hermes has no timer for that, and only recommends this mark.
fn wake(reason: &str) -> Option<Time> {
    let (_, rest) = reason.split_once("SCHEDULED_UNTIL=")?;
    Time::parse(rest.split_whitespace().next()?.trim_end_matches(['.', ',', ';', ')', '`']))
}

/// Its worker scheduled it. Nothing ends that but an orchestrator or a person, who has as long for it as for a card.
fn parked(f: &Facts, e: &Event, run: &Run) -> Stand {
    let reason = text(e, "reason");
    let until = reason.and_then(wake).map_or(e.at, |until| until.clamp(e.at, e.at.plus(LONGEST_WAIT)));
    let says = format!(
        "scheduled while {} worked on it, {}: {}",
        profile(run),
        f.ago(e.at),
        reason.unwrap_or("no reason given")
    );
    let is_left = f.now.since(until) >= f.patience;
    let kind = if is_left { Kind::NeedsPerson } else { Kind::LeftAlone };
    Stand::new(kind, says)
        .more(Some("No timer ends that: only an orchestrator or a person lets it go on".into()))
}

/// What a task waits for whose hold has no end to wait for.
fn beyond(f: &Facts, held: &str) -> (Kind, String) {
    if let Some(card) = f.open_card() {
        let kind = if due(f).is_some() { Kind::Due } else { Kind::Waits };
        return (kind, format!("{held}; its card {} decides", card.task.id));
    }
    // The first of them that acts: passes are made in this order.
    match due(f) {
        Some((_, take)) if goes_on_waiting(take) => {
            return (Kind::Waits, format!("{held}; it {}", take.because));
        }
        Some((says, _)) => return (Kind::Due, format!("{held}; {says}")),
        None => {}
    }
    let said =
        |watcher: &str| f.take(watcher).filter(|t| matches!(t.verdict, Verdict::Leaves | Verdict::Unknown));
    match [ROUTE_BLOCKED, HEAL, SYNTHESIZE_DISTRESS].into_iter().find_map(said) {
        Some(take) => (Kind::Waits, format!("{held}; {}", take.because)),
        None => (Kind::Due, held.to_owned()),
    }
}

/// Whether a watcher would hold a held task on, because it is not its turn.
pub(super) fn goes_on_waiting(t: &Take) -> bool {
    acts(t).is_some_and(|(action, _)| *action == StepAction::Extend)
}

fn ready(f: &Facts) -> Stand {
    let d = &f.detail;
    let skipped = f.hands_off().map(|why| Stand::new(Kind::LeftAlone, format!("ready, and {why}")));
    if let Some(skipped) = skipped.clone().filter(|_| f.is_taken_back()) {
        return skipped;
    }
    if let Some(said) = notice(f) {
        return said;
    }
    if f.runtime.is_unlisted(d.task.assignee.as_deref()) {
        let who = d.task.assignee.as_deref().unwrap_or_default();
        // A board that several homes share is dispatched on by others, too.
        let kind = if f.now.since(f.since()) < f.patience { Kind::Fine } else { Kind::NeedsPerson };
        let says =
            format!("ready for {who}, and `kanban.dispatch_profiles` does not list it: nobody starts it");
        return Stand::new(kind, says);
    }
    if f.runtime.is_nobodys(d.task.assignee.as_deref(), f.own_board) {
        let who = match d.task.assignee.as_deref() {
            None => "assigned to nobody".to_owned(),
            Some(name) => format!("for {name}, and there is no such profile"),
        };
        return Stand::new(Kind::NeedsPerson, format!("ready and {who}, so nobody takes it"));
    }
    if let Some(skipped) = skipped {
        return skipped;
    }
    if let Some((says, take)) = due(f) {
        return Stand::new(Kind::Due, format!("ready, and nobody takes it: {}", take.because))
            .more(Some(says));
    }
    if let Some(wedged) = &f.wedged {
        // That is told once, of the board.
        return Stand::new(Kind::Waits, format!("ready, and its dispatcher does nothing: {wedged}"));
    }
    // Where the log of its last attempt is says nothing about the next one, and that no card is written keeps no worker away.
    let keeps = |t: &Take| t.watcher != SYNTHESIZE_DISTRESS || t.next.is_some() || f.open_card().is_some();
    let speaks = |t: &&Take| match t.verdict {
        Verdict::Leaves => watch::acts(t.watcher) && keeps(t),
        Verdict::Unknown => watch::acts(t.watcher) && !t.elsewhere,
        _ => false,
    };
    // A person unblocked it: no watcher has to do anything before it starts. What one did since only carried that out.
    let turn = d.events.iter().rev().find(|e| authorship::is_turn(e) && !is_ours(e));
    let is_freed = turn.is_some_and(|e| e.kind != EventKind::Assigned && authorship::is_fresh_start(e))
        && d.task.claim_lock.is_none();
    if let Some(take) = f.takes.iter().find(speaks).filter(|_| !is_freed) {
        let kind = if take.next.is_some() || f.open_card().is_some() { Kind::Waits } else { Kind::LeftAlone };
        return Stand::new(kind, format!("ready, and nobody takes it: {}", take.because)).until(take.next);
    }
    let who = f.starter().unwrap_or("any worker");
    let since = words(f.now.since(f.since()));
    if f.own_board {
        let claim =
            || Stand::new(Kind::Fine, format!("ready for {who} since {since}: a worker must claim it"));
        return still::kept(f).map_or_else(claim, |says| Stand::new(Kind::Waits, says));
    }
    if f.runtime.is_lane(d.task.assignee.as_deref()) {
        return Stand::new(
            Kind::Fine,
            format!("ready for {who} since {since}: {who} claims its tasks itself"),
        );
    }
    let older = f.outlived_by.map(|pid| {
        format!("Process {pid} of an earlier attempt still works on it, and Hermes starts the next worker beside it")
    });
    let every = words(f.runtime.interval);
    let stand = match &f.runtime.dispatcher {
        Dispatcher::Absent => Stand::new(
            Kind::Waits,
            format!("ready for {who} since {since}, and no dispatcher is seen that would start it"),
        ),
        Dispatcher::Unknown(why) => Stand::new(
            Kind::Fine,
            format!("ready for {who} since {since}; whether a dispatcher runs is not known: {why}"),
        ),
        Dispatcher::Alive(pid) => Stand::new(
            Kind::Fine,
            format!("ready for {who} since {since}: the dispatcher (process {pid}, every {every}) starts it"),
        ),
        Dispatcher::Ticked => Stand::new(
            Kind::Fine,
            format!("ready for {who} since {since}: the dispatcher starts it with its next tick"),
        ),
    };
    stand.more(older)
}

/// What was said on the board of a task that stands still, or would be said now.
fn notice(f: &Facts) -> Option<Stand> {
    let now =
        f.take(ROUTE_BLOCKED).filter(|t| acts(t).is_some_and(|(action, _)| *action == StepAction::Tell));
    let began = |e: &Event| authorship::is_fresh_start(e) || e.kind == EventKind::Claimed;
    let from = f.detail.events.iter().rposition(began).map_or(0, |i| i + 1);
    let told = f.detail.events[from..].iter().rev();
    // What is said of a worker stands as long as that worker does; see `told`.
    // That nobody takes it is over once a dispatcher assigns it, or who has that name takes tasks.
    let is_nobodys = f.runtime.is_nobodys(f.detail.task.assignee.as_deref(), f.own_board);
    let is_over = |e: &Event| match needs_operator::key(e) {
        Some(needs_operator::NO_ASSIGNEE) => !is_nobodys,
        key => key == Some(needs_operator::OLDER_WORKER),
    };
    let is_notice =
        |e: &Event| e.kind == EventKind::Detected && is_ours(e) && e.by() != Some(HEAL) && !is_over(e);
    let told = told.into_iter().find(|e| is_notice(e) && text(e, "mend").is_some());
    let because =
        told.and_then(|e| e.trail()?.get("because")?.as_str()).or(now.map(|t| t.because.as_str()))?;
    // It begins with the task's own name, and so does the line.
    let id = &f.detail.task.id;
    let fronts = [format!("{id} is "), format!("card {id} is "), format!("card {id} ")];
    let says = fronts.iter().find_map(|front| because.strip_prefix(front.as_str())).unwrap_or(because);
    let mend = told.and_then(|e| text(e, "mend"));
    let says = without(says, mend);
    let says = if says.starts_with("was ") { format!("ready: it {says}") } else { says.to_owned() };
    let mend = mend.map(|mend| format!("What mends it: {mend}"));
    let soon = || "route-blocked says so on the board with its next pass, with what mends it".to_owned();
    Some(Stand::new(Kind::NeedsPerson, says).more(mend.or_else(|| Some(soon()))))
}

fn todo(f: &Facts) -> Stand {
    if let Some(endless) = still::endless(f) {
        return endless;
    }
    if let Some((says, take)) = due(f) {
        return Stand::new(Kind::Due, format!("in todo, and something is wrong: {}", take.because))
            .more(Some(says));
    }
    let open: Vec<_> = f.detail.parents.iter().filter(|p| !p.status.frees_children()).collect();
    let Some(first) = open.first() else {
        let is_unlinked = f.detail.parents.is_empty();
        let kin = match is_unlinked {
            true => "it waits for nothing that the board names",
            false => "all it waits for is done",
        };
        let who = match (f.own_board, is_unlinked) {
            (false, _) => "a dispatcher promotes it",
            (true, false) if f.is_marked() || f.is_taken_back() => "no watcher promotes it",
            (true, false) => "heal promotes it",
            (true, true) => "only a person promotes it",
        };
        return Stand::new(Kind::Fine, format!("in todo: {kin}; {who}"));
    };
    let more = match open.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let says = format!("in todo: it waits for {} {} ({}){more}", first.id, first.title, first.status);
    let behind = f.kin.iter().find(|k| k.task.id == first.id).map(|k| of(&f.of_kin(k)));
    let behind = behind.map(|b| format!("{} is {}", first.id, b.says));
    Stand::new(Kind::Fine, says).more(behind)
}

fn triage(f: &Facts) -> Stand {
    let looped = f.newest(EventKind::BlockLoopDetected);
    let why = match looped {
        Some(e) if needs_operator::asked_in_triage(&f.detail) == Some(e) => {
            let reason = text(e, "reason").unwrap_or("no reason given");
            format!(
                "in triage: {} {}, not for the first time: {reason}",
                asks(worked(&f.detail, e, f.now)),
                f.ago(e.at)
            )
        }
        Some(e) => {
            let reason = text(e, "reason").map_or_else(String::new, |r| format!(": {r}"));
            format!("in triage, blocked again and again for one reason{reason}")
        }
        None => "in triage: it waits to be specified".to_owned(),
    };
    if let Some(said) = notice(f) {
        let says = said.says.strip_prefix("still in triage, ").unwrap_or(&said.says);
        return Stand { says: format!("in triage: {says}"), ..said };
    }
    let kind = match (looped, f.open_card()) {
        (None, _) => Kind::Fine,
        (Some(_), Some(_)) => Kind::Waits,
        (Some(_), None) if due(f).is_some() => Kind::Due,
        (Some(_), None) => Kind::NeedsPerson,
    };
    Stand::new(kind, why).more(asked(f)).more(due_because(f))
}

/// Who is asked by the open card.
fn asked(f: &Facts) -> Option<String> {
    let card = f.open_card()?;
    Some(format!("Card {} asks {}", card.task.id, decider(card)))
}

/// Who decides on a card, and how far that is.
pub(super) fn decider(card: &board::Detail) -> String {
    let who = card.task.assignee.as_deref().unwrap_or("nobody");
    match card.task.status {
        Status::Running => format!("{who}, who works on it"),
        Status::Ready => format!("{who}, who has not taken it yet"),
        ref other => format!("{who}; it is {other}"),
    }
}
