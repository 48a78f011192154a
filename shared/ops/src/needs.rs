//! What needs a person now: one list for `status` and `check`, grouped by cause. Pure.

pub mod gauges;
pub mod remote;
pub mod screen;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};

use crate::doctor::{FAILING, Finding, Severity};
use crate::explain::Unattended;
use crate::explain::summary::{self, Counts, Entry, MAKE_ORCHESTRATOR, Shared, Summary};
use base::cause::Cause;
use base::count::{pick, things_or};
use base::hash;
use base::redact::redact;
use base::registry::NAMES;
use base::time::{DAY, Time};
use board::Status;
use board::pause::Pause;
use policy::remedy::Lacking;
use policy::said::{self, Said};

/// The cause of what watchers found of a board, and a person mends.
const FOUND: &str = "finding";

/// The cause where the configuration is refused, as `doctor` calls it: nothing else was looked at.
pub const REFUSED: &str = "config-invalid";

/// The causes of tasks that wait in one state, and have one need for each profile.
pub const SPLIT: [&str; 4] = ["not-started", "dispatcher-unseen", "not-promoted", "unclaimed"];

/// The finding that another board lies in the place of one that passes saw.
pub(crate) const REPLACED: &str = "board-replaced";
/// The finding that a board cannot be read.
const UNREADABLE: &str = "board-unreadable";
/// What `doctor` finds that keeps a board, or everything, from going on, and that a person can mend. A second timer, or a watcher that only
/// tells and is not started, are for `doctor` alone.
const STOPPERS: [&str; 20] = [
    UNREADABLE,
    "board-unwritable",
    "board-too-old",
    "board-split",
    "board-damaged",
    REPLACED,
    "clock-behind",
    "host-silent",
    "board-unwatched",
    "dispatcher-wedged",
    "dispatcher-stopped",
    "dispatcher-absent",
    "timers-missing",
    "timers-off",
    "pass-never",
    "pass-overdue",
    "pass-failed",
    "disk-low",
    "state-refused",
    FAILING,
];

/// Those among them with a second cause that a person may come upon after the first one is mended.
const DIFFERS: [&str; 3] = [UNREADABLE, "board-unwritable", "pass-failed"];
/// Stands between what a need is about and what is so of that; see [`Need::about`].
pub(crate) const WITH: &str = ": ";

/// Those among them that a board in the making, or one pass without memory or room, makes for a moment: they are told once they last.
pub(crate) const PASSING: [&str; 2] = [UNREADABLE, "pass-failed"];

/// One thing that needs a person, however many tasks wait for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Names the episode: the same text as long as the same thing needs a person, whatever its figures.
    #[serde(serialize_with = "as_shown")]
    pub key: String,
    /// What kind of thing: a cause of ended attempts (`quota`), the name of a finding of `doctor` (`dispatcher-absent`), or `task`.
    pub cause: String,
    /// The board it is about; `None` where it is about all of them.
    pub board: Option<String>,
    /// What is so, in one line.
    pub says: String,
    /// The tasks that wait for it, the longest wait first.
    pub tasks: Vec<Waiting>,
    /// Since when, where that is known.
    pub since: Option<Time>,
    /// When a watcher tries again by itself, where one does.
    pub next: Option<Time>,
    /// The command that fits this cause.
    pub run: Option<String>,
    /// What to do before that command, or where no command does it.
    pub todo: Option<String>,
    /// When a person was asked last, where asking again under the same key is another matter.
    #[serde(skip)]
    pub asked: Option<Time>,
    /// What it is about, where one more of these under the same key is another matter.
    #[serde(skip)]
    pub about: BTreeSet<String>,
}

/// The key of a need as programs get it. Redaction takes what follows `credential:` for a secret, so that all refused keys had one key: such
/// a key has a hash behind its first part.
pub(crate) fn shown(key: &str) -> Cow<'_, str> {
    match key.split_once(':').filter(|_| redact(key) != key) {
        Some((cause, _)) => format!("{cause}#{:016x}", hash::fnv(key.bytes())).into(),
        None => key.into(),
    }
}

fn as_shown<S: Serializer>(key: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&shown(key))
}

/// A task that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// Its title, as one line.
    pub title: String,
}

/// One board, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardNow {
    /// Its name.
    pub board: String,
    /// Nothing is changed on it: the words of who paused it.
    pub(crate) paused: Option<String>,
    /// How many tasks wait for something else than a person, those that run or are ready not counted.
    pub waiting: usize,
    /// How many tasks wait for a pass of a watcher.
    #[serde(skip)]
    pub due: usize,
    /// How many ran again, or are done, by what a watcher did.
    pub healed: usize,
    /// The others.
    pub(crate) counts: Counts,
    /// What the watchers found that is about none of its tasks, beside what `doctor` says of it.
    pub findings: Vec<String>,
    /// What could not be looked at, and why. There may be tasks among it that need a person.
    pub unknown: Vec<String>,
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// When.
    pub now: Time,
    /// From when on finished and healed tasks are counted.
    pub since: Time,
    /// The machine.
    pub host: String,
    /// What needs a person: what stops everything first, then what most tasks wait for.
    pub needs: Vec<Need>,
    /// Every board that could be read.
    pub boards: Vec<BoardNow>,
    /// Why other boards could not be looked at.
    pub unknown: Vec<String>,
    /// It is another machine, which was asked over ssh; `host` is its name there.
    #[serde(skip)]
    pub is_remote: bool,
}

/// Whether a finding of `doctor` is one of those that the operator must hear of without asking: at least a warning, and one that
/// stops something.
pub fn is_stopper(f: &Finding) -> bool {
    let acts = NAMES.iter().all(|name| *name != f.about) || watch::acts(&f.about);
    f.severity >= Severity::Warning
        && STOPPERS.contains(&f.id)
        // It counts only where work waits for a dispatcher.
        && (f.id != "dispatcher-absent" || f.severity == Severity::Error)
        && (f.id != "timers-missing" || acts)
}

/// Several things that are so, as one line: `heal, route-blocked: nothing starts it; default: paused`. What is said of several is said
/// once; what is about nothing has no name in front.
pub fn in_one_line<'t>(all: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
    let mut said: Vec<(String, &str)> = Vec::new();
    for (about, what) in all {
        match said.iter_mut().find(|(names, other)| !names.is_empty() && *other == what) {
            Some((names, _)) => names.push_str(&format!(", {about}")),
            None => said.push((about.to_owned(), what)),
        }
    }
    let one = |(names, what): &(String, &str)| match names.is_empty() {
        true => (*what).to_owned(),
        false => format!("{names}: {what}"),
    };
    said.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What a finding is about: where one fault may follow another one under the same name, with what is so.
fn about(f: &Finding) -> Vec<String> {
    let with = |more: &str| format!("{}{WITH}{more}", f.about);
    match (f.also.as_slice(), DIFFERS.contains(&f.id)) {
        ([], true) => vec![with(&lasting(&f.what))],
        ([], false) => vec![f.about.clone()],
        (also, _) => also.iter().map(|more| with(more)).collect(),
    }
}

/// What findings ask of a person: those that stop something, one need for each kind of finding.
pub fn of_findings(findings: &[Finding], board: Option<&str>) -> Vec<Need> {
    let stops = |f: &&Finding| is_stopper(f) && f.severity == Severity::Error;
    let mut kinds: Vec<Vec<&Finding>> = Vec::new();
    for f in findings.iter().filter(stops) {
        match kinds.iter_mut().find(|kind| kind[0].id == f.id) {
            Some(kind) => kind.push(f),
            None => kinds.push(vec![f]),
        }
    }
    let need = |kind: Vec<&Finding>| Need {
        key: board.map_or_else(|| kind[0].id.to_owned(), |board| format!("{}:{board}", kind[0].id)),
        cause: kind[0].id.to_owned(),
        board: board.map(str::to_owned),
        says: in_one_line(kind.iter().map(|f| (f.about.as_str(), f.what.as_str()))),
        run: kind[0].mends.map(|m| m.run.to_owned()),
        todo: kind[0].mends.map(|m| m.todo.to_owned()).or_else(|| kind[0].todo.clone()),
        about: kind.iter().flat_map(|f| about(f)).collect(),
        ..Need::default()
    };
    kinds.into_iter().map(need).collect()
}

/// Makes one need of what findings say of one gateway on several boards, all of which it dispatches on. `first`: the first board of the root of a
/// board, whether or not anything is found of it.
pub fn join_gateways(needs: Vec<Need>, first: impl Fn(&str) -> String) -> Vec<Need> {
    let mut all: Vec<Need> = Vec::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mut need in needs {
        let of_root = need.board.as_deref().filter(|_| is_of_gateway(&need.cause)).map(&first);
        let Some(root) = of_root else {
            all.push(need);
            continue;
        };
        need.key = format!("{}:{root}", need.cause);
        match all.iter_mut().find(|n| n.key == need.key) {
            Some(joined) => {
                joined.about.append(&mut need.about);
                joined.board = None;
                others.entry(need.key).or_default().extend(need.board);
            }
            None => all.push(need),
        }
    }
    for need in &mut all {
        let Some(boards) = others.get(&need.key) else { continue };
        let more = boards.len().saturating_sub(MAX_BOARDS);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let named: Vec<&str> = boards.iter().take(MAX_BOARDS).map(String::as_str).collect();
        need.says.push_str(&format!("; so it is on {}{more}", named.join(", ")));
    }
    all
}

/// Whether a gateway is the cause: one dispatches on all boards of a root.
pub(crate) fn is_of_gateway(cause: &str) -> bool {
    ["dispatcher-absent", "dispatcher-stopped"].contains(&cause)
}

/// So many boards are named beside the first one.
const MAX_BOARDS: usize = 4;

/// What the tasks of a board ask of a person: those that a provider refuses for one cause as one.
pub fn of_tasks(summary: &Summary) -> Vec<Need> {
    let need = |(shared, entries): (Option<&Shared>, Vec<&Entry>)| {
        let first = entries[0];
        let (cause, at, says) = match shared {
            Some(shared) => {
                (shared.cause.to_string(), &shared.at, summary::heading(shared, &entries, summary.now))
            }
            None => {
                ("task".to_owned(), &first.task, format!("{} {}: {}", first.task, first.title, first.says))
            }
        };
        let (run, named) = summary::command_for(&entries).unzip();
        Need {
            key: format!("{cause}:{}:{at}", summary.board),
            cause,
            board: Some(summary.board.clone()),
            says,
            tasks: entries
                .iter()
                .map(|e| Waiting { id: e.task.clone(), title: e.title.to_string() })
                .collect(),
            since: entries.iter().map(|e| e.since).min(),
            next: summary::next_try(&entries),
            run,
            todo: todo(shared, &entries, named.unwrap_or_default()),
            // One more task is the same matter. A new try by a person that failed is another one: what was mended was not the cause.
            asked: match shared {
                Some(_) => Some(entries.iter().filter_map(|e| e.asked).max().unwrap_or(Time(0))),
                None => first.asked,
            },
            ..Need::default()
        }
    };
    let others = summary.needs_you.iter().filter(|e| e.unattended.is_none());
    let others = summary::by_refusal(others).into_iter().map(need);
    let unattended = Unattended::ALL.into_iter().flat_map(|why| {
        let mut apart: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
        for e in summary.needs_you.iter().filter(|e| e.unattended == Some(why)) {
            apart.entry(place(why, e)).or_default().push(e);
        }
        let is_one = apart.len() == 1;
        let one = |(at, entries): (String, Vec<&Entry>)| {
            of_unattended(&summary.board, why, (&at, is_one), &entries)
        };
        apart.into_iter().filter_map(one).collect::<Vec<_>>()
    });
    others.chain(unattended).collect()
}

/// What a board asks of a person: by its tasks, and beside them.
pub fn of_board(summary: &Summary) -> Vec<Need> {
    let board = &summary.board;
    let one = |cause: &str, at: &str, says: &str| Need {
        key: format!("{cause}:{board}:{at}"),
        cause: cause.to_owned(),
        board: Some(board.clone()),
        says: format!("{board}: {says}"),
        ..Need::default()
    };
    // The same key as where tasks wait for it: one new key mends both.
    let keys = summary.refused_keys.iter().map(|key| Need {
        since: Some(key.since),
        todo: Some(Lacking::Key.look(&key.profile)),
        ..one(&Cause::Credential.to_string(), &key.profile, &key.says())
    });
    let found = summary.to_mend.iter().map(|said| one(FOUND, &lasting(&said.text), &said.text));
    of_tasks(summary).into_iter().chain(keys).chain(found).collect()
}

/// A board that was moved, with tasks that need a person: they go on where it is now, and what is answered here is lost. `address`: where
/// the board was.
pub fn of_move(summary: &Summary, pause: &Pause, address: &str) -> Option<Need> {
    let tasks: Vec<Waiting> = of_board(summary).into_iter().flat_map(|need| need.tasks).collect();
    (!tasks.is_empty()).then(|| Need {
        key: format!("{PAUSED}:{}", summary.board),
        cause: PAUSED.to_owned(),
        board: Some(summary.board.clone()),
        says: format!(
            "{}: {}; {} a person there: answer nothing here",
            summary.board,
            pause.words(summary.now),
            things_or(tasks.len(), "task needs", "tasks need")
        ),
        tasks,
        since: pause.since,
        todo: Some(format!(
            "name the board where it is now: `board.db` in the configuration, or --db; to use this file again: `watchbill unpause --db {}`",
            card::shell_word(address)
        )),
        ..Need::default()
    })
}

/// A pause that nobody ended, and for which work waits: one that ends within a day ends by itself, and a short one is on purpose. That of a
/// board that was moved is [`of_move`]'s. `address`: where the board is.
pub fn of_pause(summary: &Summary, pause: &Pause, address: &str) -> Option<Need> {
    let is_long = |since: Time| summary.now.since(since) >= FORGOTTEN;
    let due: Vec<&Entry> = summary.waiting.iter().filter(|e| e.due && is_long(e.since)).collect();
    let begin = pause.since.unwrap_or(summary.now);
    let is_endless = pause.until.is_none_or(|until| until.since(begin) > DAY);
    let is_on = is_endless && !pause.is_move() && pause.since.is_none_or(is_long);
    if due.is_empty() || !is_on {
        return None;
    }
    let waits = things_or(due.len(), "task waits", "tasks wait");
    Some(Need {
        key: format!("{PAUSED}:{}", summary.board),
        cause: PAUSED.to_owned(),
        board: Some(summary.board.clone()),
        says: format!("{}; {waits} for a pass", pause.words(summary.now)),
        tasks: due.iter().map(|e| Waiting { id: e.task.clone(), title: e.title.to_string() }).collect(),
        since: pause.since.or_else(|| due.iter().map(|e| e.since).min()),
        run: Some(format!("watchbill unpause --db {}", card::shell_word(address))),
        todo: Some("once the reason of the pause is gone; `watchbill pause --until` gives it an end".into()),
        ..Need::default()
    })
}

/// Seconds after which a pause without an end, or of more than a day, is told, where work waits for it.
const FORGOTTEN: i64 = 2 * 3_600;

/// The cause of that, as `doctor` calls the pause.
const PAUSED: &str = "board-paused";

/// What stays the same in a finding while it lasts: a hash of it without its ages, times and counts.
pub fn lasting(said: &str) -> String {
    let is_figure = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.trim_end_matches(|c: char| "smhd".contains(c));
        !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == ':')
    };
    let words: Vec<&str> = said.split_whitespace().filter(|word| !is_figure(word)).collect();
    format!("{:016x}", hash::fnv(words.join(" ").bytes()))
}

/// What tells apart the tasks that wait in one state, at the end of a key: what starts the work of one profile does nothing for another one.
fn place(why: Unattended, e: &Entry) -> String {
    match (why, &e.refused) {
        (
            Unattended::NotStarted | Unattended::Unseen | Unattended::NotPromoted | Unattended::Unclaimed,
            _,
        ) => format!(":{}", e.starter.as_deref().unwrap_or_default()),
        (Unattended::NoOrchestrator, Some(refused)) => format!(":{}:{}", refused.lacking.cause(), refused.at),
        _ => String::new(),
    }
}

/// Tasks that wait in one state for people, as one need.
fn of_unattended(
    board: &str,
    why: Unattended,
    (at, is_one): (&str, bool),
    entries: &[&Entry],
) -> Option<Need> {
    let first = entries.first()?;
    let each = pick(entries.len(), "it", "each");
    let command = entries.iter().find_map(|e| e.command.as_ref());
    let is_made = command.is_some_and(|c| c.to == MAKE_ORCHESTRATOR);
    let refused = first.refused.as_ref();
    let (cause, what, todo) = match why {
        Unattended::Review => (
            "review",
            "in review, and nobody reviews",
            format!("read {each}, then accept it with `complete`, or send it back"),
        ),
        Unattended::Triage => (
            "triage",
            "in triage, and nobody specifies",
            format!("specify {each}: a model does that, which costs tokens; the dispatcher of Hermes does so if `kanban.auto_decompose` is on"),
        ),
        Unattended::NotStarted => (
            "not-started",
            "ready, and a running dispatcher does not start",
            format!("see what the dispatcher noted on {each}"),
        ),
        Unattended::Unseen => (
            "dispatcher-unseen",
            "ready, and nothing starts",
            "see whether a dispatcher runs, which cannot be seen from here".into(),
        ),
        Unattended::NotPromoted => (
            "not-promoted",
            "free to go on, and no dispatcher promotes",
            "start a gateway, or see what the running one does".into(),
        ),
        Unattended::Unlinked => {
            ("unlinked", "in todo without a parent, and nobody promotes", format!("make {each} ready"))
        }
        Unattended::Unclaimed => {
            // A worker of a profile takes nothing that is assigned to nobody.
            let assign = || format!("assign {each} to a profile that a worker works for");
            let todo = first.starter.as_ref().map_or_else(assign, |_| "start a worker".into());
            ("unclaimed", "ready, and nobody claims", todo)
        }
        Unattended::UnknownState => (
            "unknown-state",
            "in a state that this version does not know, and nobody looks after",
            format!("look at {each}; a newer version of watchbill may know that state"),
        ),
        Unattended::NoOrchestrator => (
            "no-orchestrator",
            "",
            match (refused, is_made) {
                (Some(refused), _) => refused.todo(),
                (None, true) => {
                    "make that profile, with the model and the key of the active one, or name another one (distress.orchestrator)".into()
                },
                (None, false) => {
                    "have that profile listed, or name another one (distress.orchestrator)".into()
                }
            },
        ),
        Unattended::Endless => {
            let next = pick(entries.len(), "", "; `watchbill status` then names the next one");
            ("endless-wait", "", format!("take this wait away{next}"))
        }
    };
    let says = match (why, entries.len()) {
        (Unattended::Endless | Unattended::NoOrchestrator, 1) => {
            format!("{} {}: {}", first.task, first.title, first.says)
        }
        (Unattended::Endless, n) => {
            let says = first.says.strip_suffix(&format!("; {}", why.of_one())).unwrap_or(&first.says);
            format!("{n} tasks wait for something that never happens; {}: {says}", first.task)
        }
        (Unattended::NoOrchestrator, n) => {
            format!(
                "{n} tasks wait for their cards, and nobody takes the cards; {}: {}",
                first.task, first.says
            )
        }
        (_, 1) => format!("{} {}: {what} it", first.task, first.title),
        (_, n) => match first.starter.as_deref().filter(|_| !is_one) {
            Some(who) => format!("{n} tasks of {who} are {what} them"),
            None => format!("{n} tasks are {what} them"),
        },
    };
    Some(Need {
        key: format!("{cause}:{board}{at}"),
        cause: cause.to_owned(),
        board: Some(board.to_owned()),
        says,
        tasks: entries.iter().map(|e| Waiting { id: e.task.clone(), title: e.title.to_string() }).collect(),
        since: entries.iter().map(|e| e.since).min(),
        // No command lists a profile, and any other one mends something else.
        run: summary::command_for(entries)
            .map(|(run, _)| run)
            .filter(|_| why != Unattended::NoOrchestrator || is_made),
        todo: Some(todo),
        // Also where the state of the next one is older.
        about: matches!(why, Unattended::Endless | Unattended::UnknownState)
            .then(|| entries.iter().map(|e| e.task.clone()).collect())
            .unwrap_or_default(),
        // One more task of these is another piece of work for a person.
        asked: matches!(
            why,
            Unattended::Review | Unattended::Triage | Unattended::Endless | Unattended::Unlinked
        )
        .then(|| entries.iter().map(|e| e.since).max())
        .flatten(),
        ..Need::default()
    })
}

/// What to do before the command, and which tasks it leaves out.
fn todo(shared: Option<&Shared>, entries: &[&Entry], named: usize) -> Option<String> {
    let all = entries.len();
    let rest = (1..all)
        .contains(&named)
        .then(|| format!("{named} of {all} tasks are named here; `watchbill status` then names the others"));
    let before = match shared {
        Some(shared) => before(shared, entries),
        None => entries.iter().find_map(|e| e.then.clone()),
    };
    before.into_iter().chain(rest).reduce(|before, rest| format!("{before} ({rest})"))
}

/// What comes before the command, where that only unblocks what would be refused again; what to do where there is none.
fn before(shared: &Shared, entries: &[&Entry]) -> Option<String> {
    if shared.cause == Cause::WorkerGone {
        return entries.iter().find_map(|e| e.more.as_ref()).map(ToString::to_string);
    }
    let lacking = Lacking::behind(shared.cause)?;
    match entries.iter().find_map(|e| e.command.as_ref()) {
        Some(command) => (command.to == lacking.again()).then(|| lacking.before(&shared.at)),
        None => Some(lacking.look(&shared.at)),
    }
}

/// What stands below a need: what to do, then the command.
pub fn remedy(need: &Need) -> impl Iterator<Item = String> {
    let todo = need.todo.iter().map(|todo| format!("    do: {todo}"));
    todo.chain(need.run.iter().map(|run| format!("    $ {run}")))
}

impl Summary {
    /// Leaves out of what a person is told what `doctor` says of the board, where that is at least so bad.
    pub fn without(&mut self, doctor: &[Finding], least: Severity) {
        let is_told = |said: &Said| doctor.iter().any(|f| f.severity >= least && says(f, &said.kind));
        self.to_mend.retain(|said| !is_told(said));
        self.beside.retain(|said| !is_told(said));
    }
}

/// Whether a finding of `doctor` says what a watcher found, too.
fn says(f: &Finding, kind: &said::Kind) -> bool {
    match kind {
        said::Kind::Replaced => f.id == "board-replaced",
        // Where it is worse, it says another thing.
        said::Kind::WrongRow => f.id == "clock-behind" && f.severity == Severity::Warning,
        _ => false,
    }
}

/// In the order in which a person wants them: a board that cannot be read, for all the rest may come of that; what stops everything, then what stops a board, then tasks, of these the most first.
pub fn sort(needs: &mut [Need]) {
    needs.sort_by(|a, b| {
        let rank = |n: &Need| {
            (
                n.cause != UNREADABLE,
                !n.tasks.is_empty(),
                n.board.is_some(),
                std::cmp::Reverse(n.tasks.len()),
                n.since,
            )
        };
        (rank(a), &a.key).cmp(&(rank(b), &b.key))
    });
}

impl BoardNow {
    /// What is counted of a board.
    pub fn of(s: &Summary) -> BoardNow {
        let is_counted = |status: &Status| matches!(status, Status::Running | Status::Ready);
        BoardNow {
            board: s.board.clone(),
            paused: s.paused.clone(),
            waiting: s.waiting.iter().filter(|e| !is_counted(&e.status)).count(),
            due: s.waiting.iter().filter(|e| e.due).count(),
            healed: s.helped().0.len(),
            counts: s.counts,
            findings: s.beside.iter().map(|said| said.text.clone()).collect(),
            unknown: s.unknown.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
