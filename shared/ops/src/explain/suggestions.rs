//! What a person can run, ready to be copied. Pure.

use serde::{Deserialize, Serialize};

use super::facts::{Facts, Stopped, Take, Verdict, text};
use super::standing::{self, Kind, Stand};
use super::still::Unattended;
use base::cause;
use base::error::Kind as ErrorKind;
use base::registry::{BUDGET_CHECK, HEAL};
use board::hermes::{self, is_sticky};
use board::{Detail, Event, EventKind, HandOver, Status, StepAction};
use card::{flag_of, shell_word, task_word, task_words, with_flags};
use coord::mapping;
use host::Life;
use logs::LogEnd;
use logs::handle::is_denied;
use policy::authorship::{is_ours, our_hold};
use policy::needs_operator;
use policy::remedy::{self, Lacking};
use policy::runtime::Dispatcher;

/// What the command does that makes the profile that takes cards.
pub(crate) const MAKE_ORCHESTRATOR: &str = "make the profile that takes cards";

/// Most characters of a title in what a command is for.
const MAX_TITLE: usize = 60;

/// Most profiles that are named.
const MAX_NAMED: usize = 6;

/// A task of several, as a word of a command that a shell repeats.
const EACH: &str = "\"$id\"";

/// One command, and what it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Command {
    /// What it does.
    pub(crate) to: String,
    /// The whole line.
    pub(crate) run: String,
    /// How one line does the same for others that wait for the same; `None` where it helps this task alone.
    #[serde(skip)]
    pub(crate) together: Option<Together>,
    /// It ends the attempt of a living worker.
    #[serde(skip)]
    pub(crate) stops: Option<Stops>,
}

/// An end that a person makes to an attempt, once they looked at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stops {
    /// In which case.
    pub(crate) when: &'static str,
    /// The command names a process, whose id may belong to another one later.
    pub(crate) is_of_process: bool,
}

/// How one line of a shell does the same for several tasks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Together {
    /// The command takes several tasks: all of it that comes before their ids.
    Several(String),
    /// The command takes one task: the line for a task `$id`.
    Loop(String),
}

impl Together {
    /// The line for these tasks, each as a [`task_word`].
    pub(crate) fn line(&self, ids: &[String]) -> String {
        let all = task_words(ids);
        match (self, all.strip_prefix("-- ")) {
            (Together::Several(command), _) => format!("{command} {all}"),
            (Together::Loop(line), None) => format!("for id in {all}; do {line}; done"),
            (Together::Loop(line), Some(all)) => {
                let line = line.replace(EACH, &format!("-- {EACH}"));
                format!("for id in {all}; do {line}; done")
            }
        }
    }
}

/// The commands so far, each once.
#[derive(Default)]
struct Commands(Vec<Command>);

impl Commands {
    fn add(&mut self, to: &str, run: String) {
        self.push(to, run, None);
    }

    fn push(&mut self, to: &str, run: String, together: Option<Together>) {
        self.put(Command { to: to.to_owned(), run, together, stops: None });
    }

    fn put(&mut self, command: Command) {
        if !self.0.iter().any(|c| c.run == command.run) {
            self.0.push(command);
        }
    }
}

/// How a person looks why a dispatcher passes a task over. Its own dry run is not safe for that: the one of Hermes 0.22.2 moves running tasks.
const NOTED: &str = "see what the dispatcher noted on it (`respawn_guarded` has a reason)";

/// What a person can do about a task, the likeliest first.
pub(crate) fn of(f: &Facts, stand: &Stand) -> Vec<Command> {
    let (id, hand, flags) = (task_word(&f.detail.task.id), &f.hand, &f.flags);
    let heal = |id: &str| remedy::comment(hand, id, "watchbill: heal", f.own_board);
    let mut all = Commands::default();
    if let Some((e, hint)) = f.refused.as_ref().and_then(|e| Some((e, e.hint.as_deref()?))) {
        // Whatever would let a task go on is refused as well. A path may hold the backtick that ends a command.
        let run = match e.kind {
            ErrorKind::Damaged => Some(board::sqlite::reindex(&e.at)),
            _ => hint.split('`').nth(1).map(str::to_owned),
        };
        if let Some(run) = run {
            all.add("repair the board, in the order that is said above", run);
        }
        all.add("see what is wrong with it", format!("watchbill doctor{flags}"));
        return all.0;
    }
    if f.paused.is_some() {
        // Without a name a board that was moved stays paused.
        let named = if flags.is_empty() { " --board default" } else { flags.as_str() };
        all.add("let the watchers change this board again", format!("watchbill unpause{named}"));
    }
    let told = f.told().filter(|_| stand.kind == Kind::NeedsPerson);
    if let Some(run) = told.and_then(needs_operator::goes_on_by) {
        all.add("let the stopped worker go on", run);
    }
    if let Some(pid) = told.and_then(needs_operator::outlives) {
        older_worker(&mut all, pid);
    }
    let asking = mapping::open(&f.detail).filter(|m| m.waits && !f.is_over());
    if asking.is_some() {
        // Whatever else unblocks its task gives it up.
        let answer = format!("{id} '{}'", remedy::YOUR_ANSWER);
        all.add(
            "answer the session that waits, and let it go on",
            with_flags("coord message", &answer, flags),
        );
    }
    let is_left = f.hands_off().is_some() && !f.is_over();
    let lift = |all: &mut Commands| all.add("let the watchers help it again", heal(&id));
    if is_left && is_lift_first(f, stand) {
        lift(&mut all);
    }
    if let Some((to, run)) = unread_log(f) {
        all.add(to, run);
    }
    // Unblocked as it is, it would meet the same refusal.
    let is_stopped = matches!(f.detail.task.status, Status::Blocked | Status::Scheduled);
    let is_tried = |l: &Lacking| matches!(l, Lacking::Endpoint | Lacking::Start);
    let lacking = f.lacking().filter(|l| stand.kind == Kind::NeedsPerson && (is_stopped || !is_tried(l)));
    // What only a person mends comes before what would be tried in vain.
    if let Some(lacking) = lacking.filter(is_tried) {
        lack(&mut all, f, lacking);
    }
    // A note is not an act, and would help nobody.
    let acts = |t: &&Take| matches!(&t.verdict, Verdict::Acts { action, .. } if *action != StepAction::Tell);
    // A pass over this task alone would not see that it is another one's turn, and none gives it to a worker beside an older one.
    let waits = |t: &Take| standing::goes_on_waiting(t) || (t.frees && f.outlived_by.is_some());
    if let Some(take) = f.takes.iter().find(|t| acts(t) && watch::acts(t.watcher) && !waits(t)) {
        all.add(
            "do now what the next pass would do",
            format!("{} {}{flags}", take.watcher, flag_of("--task", &id)),
        );
    }
    if let Some(lacking) = lacking {
        lack(&mut all, f, lacking);
    }
    if let Some((card, _)) = f.skipped_card() {
        let card = task_word(&card.task.id);
        all.add("let the watchers go on with its card", heal(&card));
    }
    if let Some((card, why)) = f.stopped_card() {
        go_on(&mut all, f, card, why);
    }
    if f.untaken_card().is_some() && !f.own_board && f.runtime.dispatcher == Dispatcher::Absent {
        all.add(
            "have a worker started for its card once; a gateway keeps doing that",
            format!("{hand} dispatch"),
        );
    }
    if let Some(card) = f.open_card() {
        let card = task_word(&card.task.id);
        all.add("read the card that asks about it", format!("{hand} show {card}"));
    }
    let nobody = f.runtime.is_nobodys(f.detail.task.assignee.as_deref(), f.own_board);
    // Neither one whose key is refused, nor one that only takes cards.
    let others = f.takers.as_deref().unwrap_or_default();
    let other = others.first().map_or(remedy::PROFILE, String::as_str);
    let to_whom = match others.get(..MAX_NAMED).unwrap_or(others) {
        [] => "assign it to a profile".to_owned(),
        names => format!("assign it to one of {}", names.join(", ")),
    };
    let reassign = format!("{hand} reassign {id} {}", shell_word(other));
    // Neither to reassign it nor Hermes' own `unblock` takes a claim away.
    let is_claimed = f.left_claim().is_some();
    if is_claimed && matches!(f.detail.task.status, Status::Ready | Status::Todo) {
        all.push("release its claim, where no worker is at it", unblock(f, &id), Some(unblocks(f)));
    }
    if stand.in_vain.is_some() {
        all.add("see what its attempts ended on", history(f, &id));
        // Hermes blocks what is ready or runs, and nothing else.
        if !f.own_board && matches!(f.detail.task.status, Status::Ready | Status::Running) {
            all.add("stop it until you unblock it", format!("{hand} block {id} unfinished"));
        }
    }
    let is_known = |_: &i64| !f.own_board || stand.kind == Kind::NeedsPerson;
    if let Some(pid) = f.outlived_by.filter(is_known).filter(|_| f.detail.task.status == Status::Ready) {
        older_worker(&mut all, pid);
    }
    // No worker takes what is assigned to a person.
    let again = |id: &str| match worked_before_person(f) {
        Some(who) => format!("{hand} reassign {id} {} && {}", shell_word(who), unblock(f, id)),
        None => unblock(f, id),
    };
    // Whatever lets it go on starts another worker beside that one.
    let once = f.outlived_by.map_or_else(String::new, |pid| format!(", once process {pid} has ended"));
    match f.detail.task.status {
        Status::Blocked if stand.unattended == Some(Unattended::NotPromoted) => not_promoted(&mut all, f),
        // Whatever else is done with it, `board lend` blocks it again.
        Status::Blocked if has_lost_lease(f) => {
            let archive = |id: &str| format!("{hand} archive {id}");
            all.push("put it away", archive(&id), Some(Together::Loop(archive(EACH))));
        }
        Status::Blocked | Status::Scheduled => {
            if asks(f) && asking.is_none() {
                let say = remedy::comment(hand, &id, remedy::YOUR_ANSWER, f.own_board);
                let run = match is_claimed || worked_before_person(f).is_some() {
                    true => format!("{say} && {}", again(&id)),
                    false => remedy::answer(hand, &id, f.own_board),
                };
                all.add(&format!("answer, and let it go on{once}"), run);
            }
            f.outlived_by.into_iter().for_each(|pid| older_worker(&mut all, pid));
            let is_held = our_hold(&f.detail).is_some();
            let to = match (lacking, stand.until.is_some_and(|until| until > f.now)) {
                _ if asking.is_some() => "give up the session that waits, and start its task anew",
                (Some(lacking), _) => lacking.again(),
                (None, true) if is_held => "not wait for the end of its hold",
                (None, false) if is_held => "not wait any longer",
                _ => "let it go on",
            };
            let together = match worked_before_person(f) {
                Some(_) => Together::Loop(again(EACH)),
                None => unblocks(f),
            };
            all.push(&format!("{to}{once}"), again(&id), Some(together));
            if stand.kind == Kind::NeedsPerson {
                all.add(
                    "see what its next attempt would be told",
                    format!("{HEAL} {}{flags}", flag_of("--print-packet", &id)),
                );
            }
        }
        Status::Triage if f.own_board => {
            all.add(&format!("answer, and let it go on{once}"), remedy::out_of_triage(hand, &id, true));
            f.outlived_by.into_iter().for_each(|pid| older_worker(&mut all, pid));
            all.push(&format!("let it go on{once}"), unblock(f, &id), Some(unblocks(f)));
        }
        Status::Triage => {
            let with_note = |to: &str| format!("{to}{once} ({})", remedy::SPECIFYING);
            if needs_operator::asked_in_triage(&f.detail).is_some() {
                all.add(&with_note("answer, and let it go on"), remedy::answer_in_triage(hand, &id));
            }
            f.outlived_by.into_iter().for_each(|pid| older_worker(&mut all, pid));
            let specify = |id: &str| remedy::out_of_triage(hand, id, false);
            let to = with_note("put it back on its way");
            all.push(&to, specify(&id), Some(Together::Loop(specify(EACH))));
        }
        Status::Review => {
            let show = |id: &str| format!("{hand} show {id}");
            all.push("read what is to be reviewed", show(&id), Some(Together::Loop(show(EACH))));
            all.add("accept it", remedy::accept(&f.hand, &id, f.own_board, &f.flags));
        }
        // No worker takes it before that ends.
        Status::Ready if f.own_board && f.outlived_by.is_some() => {}
        Status::Ready if f.is_passed_over && f.own_board => match f.detail.task.assignee.as_deref() {
            Some(who) => {
                let run = format!("{hand} run --assignee {} -- YOUR_AGENT", shell_word(who));
                all.add("start a worker that takes the next task of this profile", run);
            }
            None => all.add(&to_whom, reassign),
        },
        Status::Ready if f.is_passed_over && f.runtime.dispatcher != Dispatcher::Absent => {
            all.add(NOTED, format!("{hand} show {id}"));
            all.add(&to_whom, reassign);
        }
        Status::Ready if nobody || (stand.kind == Kind::NeedsPerson && !is_claimed) => {
            all.add(&to_whom, reassign)
        }
        Status::Running if stand.kind == Kind::NeedsPerson => at_work(&mut all, f),
        Status::Todo if stand.unattended == Some(Unattended::NotPromoted) => not_promoted(&mut all, f),
        Status::Todo if f.own_board && f.detail.parents.is_empty() && f.endless().is_none() => {
            all.push("make it ready", unblock(f, &id), Some(unblocks(f)));
        }
        Status::Todo => {
            if let Some(why) = f.endless() {
                let ids = task_words(&[task_word(why.parent()), id.clone()]);
                all.add("let it no longer wait for that", format!("{hand} unlink {ids}"));
            }
            for kin in f.detail.parents.iter().filter(|p| !p.status.frees_children()).take(2) {
                let to =
                    format!("ask about what it waits for: {}", base::quote::inline(&kin.title, MAX_TITLE));
                all.add(&to, with_flags("watchbill why", &task_word(&kin.id), flags));
            }
        }
        _ => {}
    }
    all.add("read its whole history", history(f, &id));
    if is_left {
        lift(&mut all);
    }
    all.0
}

/// Whether the watchers, which skip the task, would otherwise do what it needs.
fn is_lift_first(f: &Facts, stand: &Stand) -> bool {
    let is_theirs = match f.detail.task.status {
        Status::Running => f.life != Some(Life::Unknown),
        Status::Blocked => !is_sticky(&f.detail.events) && stand.unattended.is_none(),
        Status::Todo | Status::Scheduled => true,
        _ => false,
    };
    // A worker takes what is ready, whatever the watchers skip.
    let is_unclaimed = f.detail.task.status == Status::Ready && stand.unattended.is_some();
    (f.is_taken_back() && !is_unclaimed) || (is_theirs && f.lacking().is_none())
}

/// What a person does about a process of an ended attempt that still works on the task.
fn older_worker(all: &mut Commands, pid: i64) {
    let when = "it has nothing more to do";
    all.add("see what still works on it", format!("ps -fp {pid}"));
    all.put(Command {
        to: format!("stop that, if {when}"),
        run: format!("kill {pid}"),
        together: None,
        stops: Some(Stops { when, is_of_process: true }),
    });
}

/// What a person does about a living worker: they look, and end its attempt where it makes no progress.
fn at_work(all: &mut Commands, f: &Facts) {
    let when = match needs_operator::told(&f.detail) {
        Some(told) if needs_operator::is_ended_by_its_task(told) => "it makes no progress",
        None if f.is_far_beyond() => "it is not to go on",
        _ => return,
    };
    let id = task_word(&f.detail.task.id);
    all.add(
        "see what it used and changed",
        format!("{BUDGET_CHECK} {} -v{}", flag_of("--task", &id), f.flags),
    );
    if let Some(file) = f.reading.file.as_deref() {
        all.add("see the end of its log", format!("tail {}", shell_word(file)));
    }
    let (d, t) = (&f.detail, &f.detail.task);
    let by_command = match f.own_board {
        _ if mapping::active(d).is_some() => Some(with_flags("coord abort", &id, &f.flags)),
        false => Some(format!("{} reclaim {id}", f.hand)),
        true => None,
    };
    // `board run` ends its command, and makes the task ready.
    let harness = || t.claimer_pid().filter(|_| d.is_beaten_for() && f.harness == Some(Life::Alive));
    let process = || harness().or(t.worker_pid);
    let is_of_process = by_command.is_none();
    if let Some(run) = by_command.or_else(|| process().map(|pid| format!("kill {pid}"))) {
        let stops = Some(Stops { when, is_of_process });
        let to = format!("stop this attempt, if {when}; its task is then ready again");
        all.put(Command { to, run, together: None, stops });
    }
}

/// What lets its card go on.
fn go_on(all: &mut Commands, f: &Facts, card: &Detail, why: Stopped) {
    let (id, hand) = (task_word(&card.task.id), &f.hand);
    match why {
        Stopped::Asks => {
            all.add("answer its card, and let that go on", remedy::answer(hand, &id, f.own_board))
        }
        Stopped::Review => all.add("accept its card", remedy::accept(&f.hand, &id, f.own_board, &f.flags)),
        Stopped::Parked | Stopped::Undone => all.add("let its card go on", format!("{hand} unblock {id}")),
        Stopped::Given => {
            let to = shell_word(f.instead.as_deref().unwrap_or(remedy::PROFILE));
            all.add("let an orchestrator decide instead", format!("{hand} reassign {id} {to}"));
        }
        Stopped::NoOrchestrator => {
            let make = f.no_orchestrator.as_ref().map(|(_, make)| make);
            if let Some(make) = make.filter(|make| make.starts_with("hermes ")) {
                all.add(MAKE_ORCHESTRATOR, make.clone());
            }
        }
        // Its card goes on by itself, once what refuses it is mended.
        Stopped::Refused => {}
        // What ends that state is not known here.
        Stopped::UnknownState => all.add("see what its card waits for", format!("{hand} show {id}")),
        Stopped::Endless => {
            if let Some(why) = f.endless.get(&card.task.id) {
                let ids = task_words(&[task_word(why.parent()), id]);
                all.add("let its card no longer wait for that", format!("{hand} unlink {ids}"));
            }
        }
    }
}

/// What lets its log be read, where nothing can be decided about it because that cannot.
fn unread_log(f: &Facts) -> Option<(&'static str, String)> {
    let LogEnd::Unreadable(why) = &f.reading.end else { return None };
    let file = shell_word(f.reading.file.as_deref().filter(|_| !f.is_over())?);
    // The workers go on writing it as the user they are.
    let of_group = || format!("sudo chgrp \"$(id -g)\" {file} && sudo chmod ug+r {file}");
    Some(match is_denied(why) {
        true => ("let your group read its log, of which nothing is known", of_group()),
        false => ("see what is in the place of its log", format!("ls -ld {file}")),
    })
}

/// What a person does about a dispatcher that leaves what it should make ready.
fn not_promoted(all: &mut Commands, f: &Facts) {
    match f.runtime.dispatcher {
        Dispatcher::Absent => all.add(
            "do what a dispatcher would, once; a gateway keeps doing that",
            format!("{} dispatch", f.hand),
        ),
        _ => all.add(NOTED, format!("{} show {}", f.hand, task_word(&f.detail.task.id))),
    }
}

/// Whether a task was stopped in its review. Hermes' own command makes it ready for its worker: 0.22 looks for the review in events
/// that a hold has not, and not at all at what is scheduled.
fn is_review(f: &Facts) -> bool {
    !f.own_board && hermes::origin(&f.detail) == Status::Review
}

/// Whether `board` unblocks a task of Hermes, whose own command would not do.
fn is_by_board(f: &Facts) -> bool {
    !f.own_board && (is_review(f) || f.left_claim().is_some())
}

/// The profile that worked on a task before it was given to a person.
fn worked_before_person(f: &Facts) -> Option<&str> {
    let is_person = |name: &&str| f.person.as_deref().is_some_and(|person| person.eq_ignore_ascii_case(name));
    f.detail.task.assignee.as_deref().filter(is_person)?;
    f.detail.newest_run()?.profile.as_deref().filter(|name| !is_person(name))
}

/// How a task is unblocked, and a claim that was left on it released.
fn unblock(f: &Facts, id: &str) -> String {
    if is_by_board(f) {
        with_flags("board unblock", id, &f.flags)
    } else {
        format!("{} unblock {id}", f.hand)
    }
}

/// How several tasks are unblocked.
fn unblocks(f: &Facts) -> Together {
    match f.own_board || is_by_board(f) {
        true => Together::Loop(unblock(f, EACH)),
        // Hermes' own takes several tasks.
        false => Together::Several(format!("{} unblock", f.hand)),
    }
}

/// What lets a task go on that lacks something: another profile that may take it, else to unblock it once that is there.
fn lack(all: &mut Commands, f: &Facts, lacking: Lacking) {
    let (id, hand) = (task_word(&f.detail.task.id), &f.hand);
    let unblock = |id: &str| unblock(f, id);
    let assign = |whom: &str| format!("assign it to {whom}");
    let (profile, to) = match f.takers.as_deref() {
        _ if lacking == Lacking::Start => (None, lacking.again().to_owned()),
        None => (Some(remedy::PROFILE.to_owned()), assign(lacking.other())),
        Some([]) => (None, lacking.again().to_owned()),
        Some([first, rest @ ..]) => (Some(shell_word(first)), assign(&who_may(first, rest))),
    };
    if let Some(profile) = profile {
        let line = |id: &str| format!("{hand} reassign {id} {profile} && {}", unblock(id));
        return all.push(&to, line(&id), Some(Together::Loop(line(EACH))));
    }
    let missing = f.unstarted().filter(|error| {
        lacking == Lacking::Start && error.starts_with("workspace: ") && cause::is_absent(error)
    });
    let make = missing.and_then(cause::path_of).map(|path| format!("mkdir -p {} && ", shell_word(path)));
    let make = make.unwrap_or_default();
    let together = match unblocks(f) {
        Together::Several(command) => Together::Several(format!("{make}{command}")),
        Together::Loop(line) => Together::Loop(format!("{make}{line}")),
    };
    all.push(&to, format!("{make}{}", unblock(&id)), Some(together));
}

/// `sol, which may take it now; so may nova`.
fn who_may(first: &str, rest: &[String]) -> String {
    let others = rest.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    let others = if others.is_empty() { String::new() } else { format!("; so may {others}") };
    format!("{first}, which may take it now{others}")
}

/// Whether it waits for a person's answer: its worker or another person blocked it with a question, or its card brought no decision.
fn asks(f: &Facts) -> bool {
    let block = f.newest(EventKind::Blocked).filter(|_| f.detail.task.status == Status::Blocked);
    let kind = f.detail.block_kind(block);
    let by_words = |e: &Event| match is_ours(e) {
        true => text(e, "cause").is_some_and(|cause| HandOver::from(cause).leaves_a_question()),
        false => text(e, "reason").is_some_and(|reason| !reason.trim().is_empty()),
    };
    let is_question = block.filter(|_| is_sticky(&f.detail.events)).is_some_and(by_words);
    f.detail.task.status == Status::Blocked && (kind == Some("needs_input") || is_question)
}

/// Whether `board lend` blocked it: the board that lent it has it again.
fn has_lost_lease(f: &Facts) -> bool {
    let block = f.newest(EventKind::Blocked).and_then(|e| text(e, "cause"));
    block.map(HandOver::from) == Some(HandOver::LeaseLost)
}

fn history(f: &Facts, id: &str) -> String {
    if f.own_board { format!("{} show {id}", f.hand) } else { with_flags("board show", id, &f.flags) }
}
