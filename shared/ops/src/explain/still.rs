//! What stands still with nobody who goes on with it: a person decides. Pure.

use super::facts::{Facts, Verdict};
use super::standing::{Kind, Stand, is_promoted};
use base::count::things;
use base::quote;
use base::registry::HEAL;
use base::time::{Time, words};
use board::Status;
use card::task_word;
use host::Life;
use policy::attempts::in_vain;
use policy::authorship::{end_in, our_hold};
use policy::clock::WAKING;
use policy::dispatcher::PASSED_OVER;
use policy::endless::Endless;
use policy::runtime::{Dispatcher, TICKED};

/// Seconds for which a worker may be unknown and silent before a person is told, as long as a log that cannot be read stops a task.
const BLIND: i64 = 6 * 3_600;

/// What nobody does with a task, in a state in which many may stand: a person is told once of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unattended {
    /// Nobody reviews it.
    Review,
    /// Nobody says what exactly is to be done.
    Triage,
    /// A living dispatcher does not start it.
    NotStarted,
    /// Nothing starts it, and whether a dispatcher runs cannot be seen.
    Unseen,
    /// It waits for nothing any more, and no dispatcher makes it ready.
    NotPromoted,
    /// It waits for nothing in `todo`, where no dispatcher makes it ready.
    Unlinked,
    /// No worker takes it, where no dispatcher starts any.
    Unclaimed,
    /// What it waits for never happens.
    Endless,
    /// It is in a state that this version does not know.
    UnknownState,
    /// Nobody takes its card: there is no profile that takes cards.
    NoOrchestrator,
}

impl Unattended {
    pub(crate) const ALL: [Unattended; 10] = [
        Unattended::Review,
        Unattended::Triage,
        Unattended::NotStarted,
        Unattended::Unseen,
        Unattended::NotPromoted,
        Unattended::Unlinked,
        Unattended::Unclaimed,
        Unattended::Endless,
        Unattended::UnknownState,
        Unattended::NoOrchestrator,
    ];

    /// What is said of one task.
    pub(crate) fn of_one(self) -> &'static str {
        match self {
            Unattended::Review => "nobody reviews it",
            Unattended::Triage => "nobody specifies it",
            Unattended::NotStarted => "a running dispatcher does not start it",
            Unattended::Unseen => "nothing starts it; whether a dispatcher runs cannot be seen from here",
            Unattended::NotPromoted => "no dispatcher makes it ready",
            Unattended::Unlinked => "nobody makes it ready",
            Unattended::Unclaimed => "nobody claims it",
            Unattended::Endless => "that never happens",
            Unattended::UnknownState => "nobody looks after it",
            Unattended::NoOrchestrator => "nobody takes its card",
        }
    }
}

/// What a watcher did to it was undone, and would be due again: no watcher goes on with it.
pub(super) fn undone(f: &Facts, stand: &Stand) -> Option<Stand> {
    let at = f.undone().filter(|_| f.is_taken_back())?;
    // By its own end: no end of quiet hours lets it go on.
    let hold = our_hold(&f.detail).map(|(_, hold)| end_in(hold));
    let is_held = || hold.is_some_and(|until| until.is_none_or(|until| until <= f.now));
    let is_nobodys = || f.runtime.is_nobodys(f.detail.task.assignee.as_deref(), f.own_board);
    // A dispatcher of Hermes requeues it with its next tick.
    let is_left = || f.own_board || f.runtime.dispatcher == Dispatcher::Absent || f.now.since(at) >= TICKED;
    let stands = match f.detail.task.status {
        Status::Scheduled if is_held() && f.open_card().is_none() => match hold.flatten() {
            Some(until) => format!("held until {} (passed)", until.local_moment(f.now)),
            None => "held without an end".to_owned(),
        },
        Status::Blocked if !is_promoted(f) && f.open_card().is_none() => "blocked".to_owned(),
        Status::Running if f.life == Some(Life::Gone) && is_left() => {
            "running, and its worker is gone".to_owned()
        }
        Status::Running if f.life == Some(Life::Unknown) && is_left() && blind_for(f).is_some() => {
            "running, and whether its worker lives is not known".to_owned()
        }
        Status::Ready if is_nobodys() => "ready for nobody".to_owned(),
        Status::Todo if is_passed_over_in_todo(f, stand) => {
            "in todo, and what it waits for is done".to_owned()
        }
        _ => return None,
    };
    let at = at.local_moment(f.now);
    let says =
        format!("{stands}; a step of the watchers was undone by hand at {at}, so none acts on it: decide");
    Some(instead(stand, says))
}

/// What a watcher would do to it, and may not: it is marked, and nobody else does that.
pub(super) fn marked(f: &Facts, stand: &Stand) -> Option<Stand> {
    let stands = match f.detail.task.status {
        // A dispatcher of Hermes requeues it with its next tick, and who works ends its attempt after that.
        Status::Running if f.life == Some(Life::Gone) && f.now.since(heard(f)) >= TICKED => {
            "running, and its worker is gone"
        }
        Status::Todo if is_passed_over_in_todo(f, stand) => "in todo, and what it waits for is done",
        _ => return None,
    };
    f.is_marked().then(|| instead(stand, by_mark(stands)))
}

/// On a board without a dispatcher heal makes a task ready whose parents are done: it did not for two hours.
fn is_passed_over_in_todo(f: &Facts, stand: &Stand) -> bool {
    let parents = &f.detail.parents;
    let is_free = !parents.is_empty() && parents.iter().all(|p| p.status.frees_children());
    f.own_board && stand.kind == Kind::Fine && is_free && f.now.since(f.since()) >= PASSED_OVER
}

/// How a marked task stands, and that it stays so.
pub(super) fn by_mark(stands: &str) -> String {
    format!("{stands}; it is marked `watchbill: no-heal`, so the watchers skip it")
}

/// When something was last heard of the attempt that runs.
fn heard(f: &Facts) -> Time {
    let t = &f.detail.task;
    let began = f.detail.current_run().map(|run| run.started_at).or(t.started_at).unwrap_or(t.created_at);
    t.last_heartbeat_at.map_or(began, |at| at.max(began))
}

/// What needs a person, with what was said of the task before behind it.
fn instead(stand: &Stand, says: String) -> Stand {
    let before = stand.more.clone().or_else(|| Some(stand.says.clone()));
    Stand::new(Kind::NeedsPerson, says).more(before)
}

/// A process of an ended attempt keeps it from being claimed, for as long as a card may wait.
pub(super) fn outlived(f: &Facts, stand: &Stand) -> Option<Stand> {
    let is_long = f.is_passed_over || (!f.is_shared && f.now.since(f.since()) >= f.patience);
    let says = kept(f).filter(|_| is_long && stand.kind != Kind::Due)?;
    Some(Stand::new(Kind::NeedsPerson, says).more(stand.more.clone()))
}

/// That no worker of the program `board` claims a ready task, and why.
pub(super) fn kept(f: &Facts) -> Option<String> {
    let pid = f.outlived_by.filter(|_| f.own_board && f.detail.task.status == Status::Ready)?;
    let (who, since) = (f.starter().unwrap_or("any worker"), words(f.now.since(f.since())));
    Some(match f.is_shared {
        true => format!(
            "ready for {who} since {since}: a worker must claim it; none of this host does while process {pid} of an earlier attempt still works on it"
        ),
        false => format!(
            "ready for {who} since {since}, and process {pid} of an earlier attempt still works on it: no worker claims it before that ends"
        ),
    })
}

/// It is ready, and a dispatcher that lives or cannot be seen does not start it, whatever the reason; on a board without any, nobody
/// claims it.
pub(super) fn passed_over(f: &Facts, stand: &Stand) -> Option<Stand> {
    let goes_on = stand.kind == Kind::Due || stand.until.is_some_and(|until| until > f.now);
    let is_free = f.detail.parents.iter().all(|p| p.status.frees_children());
    if f.detail.task.status != Status::Ready || !f.is_passed_over || goes_on || !is_free {
        return None;
    }
    let why = match &f.runtime.dispatcher {
        _ if f.own_board || f.runtime.is_lane(f.detail.task.assignee.as_deref()) => Unattended::Unclaimed,
        _ if f.wedged.is_some() => return None,
        Dispatcher::Alive(_) | Dispatcher::Ticked => Unattended::NotStarted,
        Dispatcher::Unknown(_) => Unattended::Unseen,
        // That is told once, of the board.
        Dispatcher::Absent => return None,
    };
    let who = f.starter().unwrap_or("any worker");
    let says = format!("ready for {who} since {}, and {}", words(f.now.since(f.since())), why.of_one());
    Some(Stand { unattended: Some(why), ..instead(stand, says) })
}

/// A dispatcher's tick would have made it ready long ago, whatever the reason why none did.
pub(super) fn not_promoted(f: &Facts, stand: &Stand) -> Option<Stand> {
    let is_free = || f.detail.parents.iter().all(|p| p.status.frees_children());
    let is_below = || stand.kind == Kind::LeftAlone && !f.is_taken_back() && is_promoted(f);
    let stands = match f.detail.task.status {
        Status::Todo if stand.kind == Kind::Fine && is_free() => "in todo, and what it waits for is done",
        Status::Blocked if is_below() => "blocked below the failure limit",
        _ => return None,
    };
    let tells = !f.own_board && f.wedged.is_none();
    let is_todo = f.detail.task.status == Status::Todo;
    if f.is_passed_over && f.own_board && is_todo && f.detail.parents.is_empty() {
        let why = Unattended::Unlinked;
        let says = format!(
            "in todo, and waits for no other task, for {}; {}",
            words(f.now.since(f.since())),
            why.of_one()
        );
        return Some(Stand { unattended: Some(why), ..Stand::new(Kind::NeedsPerson, says) });
    }
    if !f.is_passed_over || !tells {
        return None;
    }
    let why = Unattended::NotPromoted;
    let says = format!("{stands}, for more than {}; {}", words(PASSED_OVER), why.of_one());
    // That a dispatcher promotes what is in todo is what does not happen.
    let before = Some(stand.says.clone()).filter(|_| f.detail.task.status == Status::Blocked);
    Some(Stand {
        unattended: Some(why),
        ..Stand::new(Kind::NeedsPerson, says).more(stand.more.clone().or(before))
    })
}

/// Its attempt goes on far beyond its scope or its budget, and no card asks about that.
pub(super) fn beyond(f: &Facts, stand: &Stand) -> Option<Stand> {
    let beyond = f.beyond.as_ref().filter(|_| f.is_far_beyond() && stand.kind != Kind::Due)?;
    Some(instead(stand, format!("running, and {}", beyond.says)))
}

/// It waits for itself, for what waits for it, or for what is not there: at once, since nothing ends that but a person.
pub(super) fn endless(f: &Facts) -> Option<Stand> {
    let why = f.endless().filter(|_| f.detail.task.status == Status::Todo)?;
    let parent = quote::inline(why.parent(), 80);
    let waits = match why {
        Endless::Missing(_) => format!("it waits for {parent}, which is not on this board"),
        Endless::Circle(_, 1) => "it waits for itself".to_owned(),
        Endless::Circle(_, 2) => format!("it waits for {parent}, which waits for it"),
        Endless::Circle(_, n) => {
            format!("it waits for {parent}, which waits for it in a circle of {n} tasks")
        }
    };
    let says = format!("in todo: {waits}; {}", Unattended::Endless.of_one());
    Some(Stand { unattended: Some(Unattended::Endless), ..Stand::new(Kind::NeedsPerson, says) })
}

/// It is in review or in triage, and nobody has gone on with it for long: at once where Hermes leaves that to people.
pub(super) fn for_people(f: &Facts, stand: &Stand) -> Option<Stand> {
    let (why, state) = match f.detail.task.status {
        Status::Review => (Unattended::Review, "in review"),
        Status::Triage => (Unattended::Triage, "in triage"),
        _ => return None,
    };
    let is_left = f.is_for_people || f.runtime.dispatcher == Dispatcher::Absent;
    let (since, most) = (f.now.since(f.since()), if is_left { f.patience } else { PASSED_OVER });
    let claim =
        f.detail.task.claim_lock.as_deref().map(|lock| (quote::inline(lock, 80), f.claim_ends(f.since())));
    let is_claimed = claim.as_ref().is_some_and(|(_, ends)| *ends > f.now);
    if stand.kind != Kind::Fine || since < most || is_claimed || f.is_taken_back() {
        return None;
    }
    let says = format!("{state} for {}, and {}", words(since), why.of_one());
    let left = claim.map(|(lock, ends)| {
        let over = words(f.now.since(ends));
        format!("A claim by {lock} was left on it and ran out {over} ago: newer Hermes starts only what nobody claims")
    });
    let stand = Stand::new(Kind::NeedsPerson, says).more(left.or_else(|| stand.more.clone()));
    Some(Stand { unattended: Some(why), ..stand })
}

/// A claim was left on it, of which nobody can say whether it still holds: whatever it waits for, nothing starts it then.
pub(super) fn claimed(f: &Facts, stand: Stand) -> Stand {
    let is_open = matches!(stand.kind, Kind::LeftAlone | Kind::Fine);
    let claim = f.left_claim().filter(|_| is_open && f.hands_off().is_none());
    let Some((lock, ends)) = claim else { return stand };
    let over = f.now.since(ends);
    if over < f.patience {
        return stand;
    }
    let lock = quote::inline(lock, 80);
    let says = format!(
        "{}; the claim by {lock} ran out {} ago, and nothing starts what is claimed",
        stand.says,
        words(over)
    );
    let more = "Look there; where no worker is at it, release its claim".to_owned();
    Stand::new(Kind::NeedsPerson, says).more(Some(more))
}

/// Its attempts end again and again in ways that no limit counts, so that nothing else ever ends that.
pub(super) fn in_vain(f: &Facts, stand: &Stand) -> Option<Stand> {
    let state = match f.detail.task.status {
        Status::Ready => "ready",
        Status::Running => "running",
        Status::Review => "in review",
        Status::Todo => "in todo",
        _ => return None,
    };
    // What a watcher does is counted, and who is asked by a card decides.
    if stand.kind == Kind::Due || f.open_card().is_some() {
        return None;
    }
    let ends = in_vain::in_vain(&f.detail)?;
    let (newest, first) = (ends.first()?, ends.last()?);
    let mut ways: Vec<(&str, usize)> = Vec::new();
    for outcome in ends.iter().map(|run| run.outcome.as_deref().unwrap_or("no word")) {
        match ways.iter_mut().find(|(way, _)| *way == outcome) {
            Some((_, n)) => *n += 1,
            None => ways.push((outcome, 1)),
        }
    }
    let ways: Vec<String> = ways.iter().map(|(way, n)| format!("{way} ×{n}")).collect();
    let says = format!(
        "{state}, and its last {} ended without completion ({}, in {}); no limit counts that",
        things(ends.len(), "attempt"),
        ways.join(", "),
        words(newest.ended_at.unwrap_or(f.now).since(first.started_at))
    );
    let said = newest.error.as_deref().or(newest.summary.as_deref()).filter(|said| !said.trim().is_empty());
    let said = said.map_or_else(String::new, |said| format!(". The last one: {}", quote::inline(said, 200)));
    let stop = if matches!(f.detail.task.status, Status::Review) { "accept it" } else { "block it" };
    let more = format!("See why; then {stop}, or assign it to another profile{said}");
    Some(Stand { in_vain: Some(first.started_at), ..Stand::new(Kind::NeedsPerson, says).more(Some(more)) })
}

/// For how many seconds nothing was heard of its attempt once its claim was over, where that is too long.
fn blind_for(f: &Facts) -> Option<i64> {
    let silent = f.now.since(f.detail.good_until(heard(f), f.claim_ceiling));
    let wakes = f.woke.is_some_and(|woke| f.now.since(woke) < WAKING);
    (silent >= BLIND && !wakes).then_some(silent)
}

/// Whether its worker lives has not been known for long, and nothing was heard of it.
pub(super) fn unknown(f: &Facts, _: &Stand) -> Option<Stand> {
    let t = &f.detail.task;
    let is_unknown = f.life == Some(Life::Unknown) && f.is_marked();
    let take = f.take(HEAL).filter(|take| is_unknown || take.verdict == Verdict::Unknown)?;
    if t.status != Status::Running || f.is_taken_back() {
        return None;
    }
    let silent = blind_for(f)?;
    let claim = t.claim_lock.as_deref().map_or_else(|| "nobody".to_owned(), |lock| quote::inline(lock, 80));
    let says = format!(
        "running, and whether its worker lives is not known, for {}: {}",
        words(silent),
        take.because
    );
    let (hand, id) = (&f.hand, task_word(&t.id));
    let release = match t.worker_pid {
        _ if f.own_board => String::new(),
        None => format!(": `{hand} reclaim {id}`"),
        // Hermes' `reclaim` signals the recorded pid, which may be another program's by now. Its `block` is counted.
        Some(pid) => format!(
            ": `{hand} schedule {id} released && {hand} unblock {id}`, which signals nothing; `reclaim` may end process {pid}"
        ),
    };
    let more =
        format!("Claimed by {claim}. Look there; where no worker is at it, release its claim{release}");
    Some(Stand::new(Kind::NeedsPerson, says).more(Some(more)))
}
