//! What happened to a board since some hours: who needs a person, what waits and until when, what went on by our help, and
//! what was skipped and why. Pure; the pieces are those of `standing`.

pub mod text;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deeds;
pub(crate) use super::deeds::Deed;
use super::diagnosis;
pub(crate) use super::facts::Refused;
use super::facts::{Facts, Stopped};
use super::line::Line;
use super::standing::{self, Kind};
use super::still::Unattended;
use super::suggestions;
use super::suggestions::Stops;
#[cfg(test)]
pub(crate) use super::suggestions::Together;
pub(crate) use super::suggestions::{Command, MAKE_ORCHESTRATOR};
use base::cause::Cause;
use base::count::things;
use base::quote;
use base::time::{Time, words};
use board::Status;
use card::{task_word, with_flags};
use config::QuietHours;
use logs::LogEnd;
use logs::provider::Id;
use page::Overview;
use policy::needs_operator;
use policy::remedy::Lacking;
use policy::routing::moving::held_provider;
use policy::said::{self, Said};

/// So many tasks that share what they lack are told together.
const TOGETHER: usize = 2;
/// Most tasks that one command names.
const MAX_AT_ONCE: usize = 16;
/// Most characters of a line that holds untrusted text.
pub(crate) const MAX_LINE: usize = 400;

/// What happened to one board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What the board is called.
    pub board: String,
    pub(crate) path: String,
    pub(crate) since: Time,
    #[serde(skip, default = "unread")]
    pub(crate) now: Time,
    /// The board is paused, in the words of who paused it.
    pub(crate) paused: Option<String>,
    /// Nothing goes on with these without a person. The longest wait first, as in all lists.
    pub(crate) needs_you: Vec<Entry>,
    pub(crate) waiting: Vec<Entry>,
    pub(crate) healed: Vec<Entry>,
    pub(crate) left_alone: Vec<Entry>,
    /// What the watchers found that is about none of these tasks.
    pub findings: Vec<String>,
    /// Those among them that a person has to mend.
    #[serde(skip)]
    pub(crate) to_mend: Vec<Said>,
    /// The others, but for what is told of a task, of a key, or by `doctor`.
    #[serde(skip)]
    pub(crate) beside: Vec<Said>,
    /// The keys whose work went to other profiles.
    #[serde(skip)]
    pub(crate) refused_keys: Vec<RefusedKey>,
    /// What could not be looked at, and why.
    pub unknown: Vec<String>,
    pub(crate) counts: Counts,
}

/// Stands for a time that is told beside the board.
fn unread() -> Time {
    Time(0)
}

/// How many tasks there are beside, cards not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Finished since then.
    pub(crate) done: usize,
    /// Running now.
    pub(crate) running: usize,
    /// Ready now.
    pub(crate) ready: usize,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The id of the task.
    pub task: String,
    pub(crate) title: Line,
    pub(crate) status: Status,
    pub(crate) assignee: Option<String>,
    /// Who has to start it: that profile, or the one that Hermes gives it to.
    #[serde(skip)]
    pub(crate) starter: Option<String>,
    /// How it stands, without its name in front.
    pub(crate) says: Line,
    /// What is behind it.
    pub(crate) more: Option<Line>,
    /// Since when it stands so.
    pub since: Time,
    /// When a person was asked last: it, or its stopped card, was blocked then, or it was changed by hand. Of what is told with others: when a
    /// person gave it a new try last that ended in the same way.
    #[serde(skip)]
    pub(crate) asked: Option<Time>,
    /// Until when it waits, where that is known.
    pub until: Option<Time>,
    /// When the hold of its provider or key ends, where that is what it shares with others.
    #[serde(skip)]
    pub(crate) retried_at: Option<Time>,
    /// That is when the quiet hours end.
    #[serde(skip)]
    pub(crate) quiet_until: Option<Time>,
    /// A watcher would change it with its next pass.
    pub(crate) due: bool,
    /// What our programs did with it in that time, oldest first.
    pub(crate) deeds: Vec<Deed>,
    /// The likeliest thing a person would run.
    pub(crate) command: Option<Command>,
    /// What comes after that command, where it only looks.
    #[serde(skip)]
    pub(crate) then: Option<String>,
    /// What it shares with others, which are told together.
    #[serde(default, deserialize_with = "deeds::if_known")]
    pub(crate) shared: Option<Shared>,
    /// What nobody does with it, where others may wait for the same.
    #[serde(skip)]
    pub(crate) unattended: Option<Unattended>,
    /// Why nobody takes its card, where that is so.
    #[serde(skip)]
    pub(crate) refused: Option<Refused>,
}

/// What a provider, or this host, refuses to several tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// The provider or its host; where a key was refused, the profile that has it; where no worker can be started, the error; where
    /// its host is gone, that.
    pub at: String,
    pub(crate) cause: Cause,
}

impl Shared {
    /// By the hold of a task, else by its open card.
    pub(super) fn of(f: &Facts) -> Option<Shared> {
        let d = &f.detail;
        if let Some(stuck) = f.stuck() {
            return Some(Shared { at: quote::line(&stuck.host, 80), cause: Cause::WorkerGone });
        }
        match f.lacking() {
            Some(Lacking::Endpoint) => {
                let at = quote::line(&f.unreached.as_ref()?.at(), 80);
                return Some(Shared { at, cause: Cause::ConnectionRefused });
            }
            Some(Lacking::Start) => {
                let error = f.unstarted()?;
                let error = error.strip_prefix("workspace: ").unwrap_or(error);
                return Some(Shared { at: quote::line(error, 200), cause: Cause::SpawnError });
            }
            _ => {}
        }
        let (trail, cause) = needs_operator::held_for(d)?;
        let text = |key: &str| trail.get(key).and_then(Value::as_str);
        let key = || held_provider(trail.get("hold")?)?.split(" (").next();
        let profile = || text("profile").or(d.task.assignee.as_deref());
        let host = || match &f.reading.end {
            LogEnd::Ended(e) => e.endpoint_host.as_deref(),
            _ => None,
        };
        let own = || {
            f.providers.iter().find(|(name, _)| Some(name.as_str()) == profile()).and_then(|p| name_of(&p.1))
        };
        let at = match cause {
            Cause::Credential => profile()?,
            _ => {
                let said = text("provider").or_else(key).or_else(|| text("place")).or_else(host);
                let at = said.or_else(own).or_else(profile)?;
                account(&f.providers, at).unwrap_or(at)
            }
        };
        Some(Shared { at: quote::line(at, 80), cause }).filter(|s| s.cause.lies_with_provider())
    }
}

/// The one name of a provider's account among these profiles, by any of its names or hosts: as the first profile that has it calls it.
fn account<'p>(profiles: &'p [(String, Id)], at: &str) -> Option<&'p str> {
    let first = |id: &Id| profiles.iter().map(|(_, other)| other).find(|other| other.is_same(id));
    name_of(first(first(&Id::new(Some(at), Some(at)))?)?)
}

fn name_of(id: &Id) -> Option<&str> {
    id.name.as_deref().or(id.host.as_deref())
}

/// Entries that share something beside each other, in the order of their first ones; the others each by itself.
pub(crate) fn by_refusal<'e>(
    all: impl IntoIterator<Item = &'e Entry>,
) -> Vec<(Option<&'e Shared>, Vec<&'e Entry>)> {
    let mut groups: Vec<(Option<&'e Shared>, Vec<&'e Entry>)> = Vec::new();
    for e in all {
        let shared = e.shared.as_ref();
        match groups.iter_mut().find(|(of, _)| of.is_some() && *of == shared) {
            Some((_, entries)) => entries.push(e),
            None => groups.push((shared, vec![e])),
        }
    }
    groups
}

/// The same, where fewer than [`TOGETHER`] that share something are told one by one.
pub(crate) fn together(all: &[Entry]) -> (Vec<(&Shared, Vec<&Entry>)>, Vec<&Entry>) {
    let (mut groups, mut singles) = (Vec::new(), Vec::new());
    for (shared, entries) in by_refusal(all) {
        match shared.filter(|_| entries.len() >= TOGETHER) {
            Some(shared) => groups.push((shared, entries)),
            None => singles.extend(entries),
        }
    }
    (groups, singles)
}

/// When the next of these is tried: when the hold of their provider ends, since the own hold of a task may end before that; else when the first
/// hold of a task ends.
pub(crate) fn next_try(entries: &[&Entry]) -> Option<Time> {
    entries.iter().filter_map(|e| e.retried_at.or(e.until)).min()
}

/// What is said once of all of a group: `moon: a quota or the money at its provider was used up; 11 tasks, next try 02:09 +00:00`.
pub(crate) fn heading(shared: &Shared, entries: &[&Entry], now: Time) -> String {
    let next = next_try(entries).map_or_else(String::new, |at| {
        let is_quiet = entries.iter().any(|e| e.quiet_until == Some(at));
        let quiet = if is_quiet { ", after the quiet hours" } else { "" };
        format!(", next try {}{quiet}", at.local_moment(now))
    });
    let tasks = things(entries.len(), "task");
    let says = match shared.cause {
        Cause::ConnectionRefused => format!("{}: nobody answers at this address", shared.at),
        Cause::WorkerGone => format!("host {} is away, and nobody goes on with its work", shared.at),
        Cause::SpawnError => format!("no worker can be started: {}", shared.at),
        cause => format!("{}: {}", shared.at, diagnosis::plain(cause)),
    };
    format!("{says}; {tasks}{next}")
}

/// The command of the first task that has one, for all of them where one line does it: none of the others ends its wait by itself once the first
/// one runs. With it, how many tasks it names.
pub(crate) fn command_for(entries: &[&Entry]) -> Option<(String, usize)> {
    let command = entries.iter().find_map(|e| e.command.as_ref())?;
    let same = |e: &&&Entry| e.command.as_ref().is_some_and(|c| c.together == command.together);
    let ids = entries.iter().filter(same).take(MAX_AT_ONCE).map(|e| task_word(&e.task));
    let ids: Vec<String> = ids.collect();
    let together = command.together.as_ref().filter(|_| ids.len() > 1);
    Some(together.map_or_else(|| (command.run.clone(), 1), |together| (together.line(&ids), ids.len())))
}

/// What watchers found, or what lasts.
#[derive(Debug, Clone)]
pub struct Found {
    pub(crate) said: Said,
    /// It says what could not be looked at.
    pub(crate) is_blind: bool,
    /// It ends by itself, or is no more than told.
    pub(crate) is_passing: bool,
}

/// What was read of one board.
pub struct Read {
    pub(crate) board: String,
    pub(crate) path: String,
    pub(crate) paused: Option<String>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) findings: Vec<Found>,
    /// Ready work that nobody starts, since nobody dispatches.
    pub(crate) idle: Option<String>,
    /// What could not be looked at, and why: among it may be tasks that need a person.
    pub unknown: Vec<String>,
    /// Said where not all of what was done could be read. It hides no task that is open.
    pub(crate) cut: Option<String>,
    pub(crate) counts: Counts,
    /// What `budget-check` saw of it.
    pub overview: Option<Overview>,
    /// The keys that providers refuse now, whether or not a task waits for them.
    pub(crate) refused_keys: Vec<RefusedKey>,
    /// The providers of all who take cards refuse them.
    pub(crate) refused_orchestrators: Option<Refused>,
}

/// A key that a provider refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedKey {
    /// The profile whose key it is.
    pub(crate) profile: String,
    /// The provider, where it is known.
    pub(crate) at: Option<String>,
    /// Since when.
    pub(crate) since: Time,
}

impl RefusedKey {
    /// What is so.
    pub(crate) fn says(&self) -> String {
        let at = self.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
        quote::line(&format!("the key of {}{at} is refused", self.profile), MAX_LINE)
    }

    /// The same with since when, and what to do.
    fn finding(&self, now: Time) -> String {
        let (since, todo) = (words(now.since(self.since)), Lacking::Key.look(&self.profile));
        let at = self.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
        format!("the key of {}{at} has been refused for {since}; {todo}", self.profile)
    }
}

impl Summary {
    /// Sorts what was read into the lists.
    pub fn of(read: Read, since: Time, now: Time) -> Summary {
        let Read { board, path, paused, facts, findings, idle, unknown, cut, counts, refused_keys, .. } =
            read;
        let mut s = Summary {
            board,
            path,
            since,
            now,
            paused,
            needs_you: Vec::new(),
            waiting: Vec::new(),
            healed: Vec::new(),
            left_alone: Vec::new(),
            findings: Vec::new(),
            to_mend: Vec::new(),
            beside: Vec::new(),
            refused_keys: Vec::new(),
            unknown: unknown.iter().map(|u| quote::line(u, MAX_LINE)).collect(),
            counts,
        };
        let mut told_cards = BTreeSet::new();
        for f in facts.iter().filter(|f| !f.is_card()) {
            let (kind, entry) = entry(f, since);
            match kind {
                Kind::NeedsPerson => {
                    told_cards.extend(f.open_card().map(|card| card.task.id.as_str()));
                    s.needs_you.push(entry);
                }
                // That nobody dispatches is told once, of the board.
                Kind::Waits
                    if entry.status == Status::Ready && entry.until.is_none() && f.open_card().is_none() =>
                {
                    if entry.deeds.iter().any(Deed::helps) {
                        s.healed.push(entry);
                    }
                }
                Kind::Waits | Kind::Due => s.waiting.push(entry),
                Kind::LeftAlone => s.left_alone.push(entry),
                // One that was split, or waits for another task, is not ready.
                Kind::Fine if f.waits_in_todo() => {}
                Kind::Fine | Kind::Over if entry.deeds.iter().any(Deed::helps) => s.healed.push(entry),
                Kind::Fine | Kind::Over => {}
            }
        }
        // A card is told with the task it is about. Where that tells nothing, an orchestrator that does not end keeps a place from other cards.
        let is_left =
            |f: &&Facts| f.detail.task.status == Status::Running && !told_cards.contains(&*f.detail.task.id);
        let cards = facts.iter().filter(|f| f.is_card()).filter(is_left).map(|f| entry(f, since));
        s.needs_you.extend(cards.filter(|(kind, _)| *kind == Kind::NeedsPerson).map(|(_, entry)| entry));
        for list in [&mut s.needs_you, &mut s.waiting, &mut s.healed, &mut s.left_alone] {
            // An entry is large, and moved once so.
            list.sort_by_cached_key(|e| (e.since, e.task.clone()));
        }
        // A task that stands still since something of it is unreadable may need the operator, until the operator is asked.
        let is_asked = |id: &str| s.needs_you.iter().any(|e| e.task == id);
        let stopped = facts.iter().map(|f| f.detail.task.id.as_str()).filter(|id| !is_asked(id));
        let unseen =
            stopped.filter_map(|id| findings.iter().find(|f| f.is_blind && f.said.tasks.contains(id)));
        let unseen: BTreeSet<&String> = unseen.map(|f| &f.said.text).collect();
        s.unknown.extend(unseen.into_iter().map(|what| quote::line(what, MAX_LINE)));
        let away = |e: &Entry, hosts: &[String]| {
            e.shared.as_ref().is_some_and(|s| s.cause == Cause::WorkerGone && hosts.contains(&s.at))
        };
        let told = |said: &Said| {
            let is_of_host = match &said.kind {
                said::Kind::Hosts(hosts) => s.needs_you.iter().any(|e| away(e, hosts)),
                _ => false,
            };
            is_of_host || facts.iter().any(|f| said.tasks.contains(&f.detail.task.id))
        };
        // A key whose work went to other profiles keeps no task, but someone must put a new one in its place.
        let is_kept = |entries: &[Entry], profile: &str| {
            let of_key = |e: &Entry| {
                let of_card =
                    e.refused.as_ref().is_some_and(|r| r.lacking == Lacking::Key && r.at == profile);
                let of_task =
                    e.shared.as_ref().is_some_and(|s| s.cause == Cause::Credential && s.at == profile);
                of_task || of_card
            };
            entries.iter().any(of_key)
        };
        let keys: Vec<RefusedKey> =
            refused_keys.into_iter().filter(|k| !is_kept(&s.needs_you, &k.profile)).collect();
        // What a card asks is told with its task.
        let of_card = |said: &Said| {
            let asks = |f: &&Facts| s.needs_you.iter().any(|e| e.task == f.detail.task.id);
            let mut cards = facts.iter().filter(asks).filter_map(Facts::open_card);
            cards.any(|card| said.tasks.contains(&card.task.id))
        };
        for Found { said, is_passing, .. } in findings.iter().filter(|f| !told(&f.said)) {
            let line = Said { text: quote::line(&said.text, MAX_LINE), ..said.clone() };
            s.findings.push(line.text.clone());
            match is_passing {
                _ if said.kind == said::Kind::CardsWait || of_card(said) => {}
                true => s.beside.push(line),
                false => s.to_mend.push(line),
            }
        }
        let cut = cut.map(|cut| quote::line(&cut, MAX_LINE));
        s.beside.extend(cut.iter().cloned().map(Said::from));
        // A key is a need, and what waits for a dispatcher is told by `doctor`.
        let alone = keys.iter().filter(|k| !is_kept(&s.waiting, &k.profile));
        let of_keys = alone.map(|k| quote::line(&k.finding(now), MAX_LINE));
        let idle = idle.map(|idle| quote::line(&idle, MAX_LINE));
        s.findings.extend(of_keys.chain(cut).chain(idle));
        s.refused_keys = keys;
        s
    }

    /// The tasks that a watcher would change with its next pass.
    pub fn due(&self) -> BTreeSet<String> {
        self.waiting.iter().filter(|e| e.due).map(|e| e.task.clone()).collect()
    }

    /// What our programs helped: first what ran again or is done, then what is ready and was not started yet.
    pub(crate) fn helped(&self) -> (Vec<&Entry>, Vec<&Entry>) {
        self.healed.iter().partition(|e| !e.is_unstarted())
    }

    /// Whether there is nothing to tell the operator: what was skipped before the time asked about is not news.
    pub fn is_quiet(&self) -> bool {
        let lists = self.needs_you.len() + self.waiting.len() + self.healed.len();
        let told = lists + self.findings.len() + self.unknown.len();
        told == 0 && self.paused.is_none() && !self.left_alone.iter().any(|e| self.is_news(e))
    }

    /// Whether it came to stand so in the time asked about.
    pub(crate) fn is_news(&self, e: &Entry) -> bool {
        e.since >= self.since
    }
}

fn entry(f: &Facts, since: Time) -> (Kind, Entry) {
    let stand = standing::of(f);
    let d = &f.detail;
    let deeds = deeds::of(d.events.iter().filter(|e| e.at >= since));
    // The last command only reads, and a task that goes its way needs none.
    let needs = matches!(stand.kind, Kind::NeedsPerson | Kind::LeftAlone | Kind::Waits | Kind::Due);
    // What is tried just now is not unblocked.
    let is_tried = || {
        matches!(d.task.status, Status::Ready | Status::Running)
            && matches!(f.lacking(), Some(Lacking::Endpoint | Lacking::Start))
    };
    // What helps is about its host: see what is behind it.
    let stuck = f.stuck().filter(|_| stand.kind == Kind::NeedsPerson);
    let commands =
        if needs && !is_tried() && stuck.is_none() { suggestions::of(f, &stand) } else { Vec::new() };
    let then = commands.iter().find_map(|c| Some(stopped_by(f, c.stops?, &c.run)));
    let command = commands.into_iter().find(|c| !c.run.starts_with("watchbill unpause"));
    let unreached = f.unreached.as_ref().filter(|_| stand.kind == Kind::NeedsPerson);
    // What its card asks is about this task alone, or about all that share the card.
    let is_stopped = stand.kind == Kind::NeedsPerson && f.lacking().is_none() && f.stopped_card().is_some();
    // What was undone is decided one by one.
    let shared = (matches!(stand.kind, Kind::NeedsPerson | Kind::Waits | Kind::Due) && !is_stopped)
        .then(|| Shared::of(f).filter(|_| f.undone().is_none()))
        .flatten();
    let of_provider = shared.as_ref().filter(|s| s.cause.lies_with_provider());
    let is_tried_again = !(stand.kind == Kind::NeedsPerson && f.lasts());
    let retried_at = of_provider.and(f.retried_at).map(|at| f.resumes(at)).filter(|_| is_tried_again);
    let until = stand.until.filter(|u| *u > f.now && is_tried_again);
    let entry = Entry {
        task: d.task.id.clone(),
        title: Line::of(d.task.title.clone()),
        status: d.task.status.clone(),
        assignee: d.task.assignee.clone(),
        starter: f.starter().map(str::to_owned),
        says: Line::of(stand.says),
        more: stand.more.map(Line::of),
        since: unreached
            .map(|u| u.since)
            .or(stuck.map(|s| s.since))
            .or(stand.in_vain)
            .unwrap_or_else(|| f.since()),
        asked: match &shared {
            Some(shared) => f.retried(shared.cause),
            None => Some(f.anew()),
        }
        .filter(|_| stand.kind == Kind::NeedsPerson),
        until,
        retried_at,
        quiet_until: retried_at.or(until).filter(|at| {
            let last = |hours: QuietHours| hours.until(at.plus(-1));
            f.quiet_hours.and_then(last) == Some(*at)
        }),
        due: stand.kind == Kind::Due,
        deeds,
        command,
        then,
        unattended: stand.unattended,
        refused: (f.stopped_card().is_some_and(|(_, why)| why == Stopped::Refused))
            .then(|| f.refused_orchestrators.clone())
            .flatten()
            .filter(|_| stand.unattended.is_some()),
        shared,
    };
    (stand.kind, entry)
}

/// How a person stops an attempt that they looked at. A message is read hours later, when a process id may belong to another one.
fn stopped_by(f: &Facts, Stops { when, is_of_process }: Stops, run: &str) -> String {
    let why = || with_flags("watchbill why", &task_word(&f.detail.task.id), &f.flags);
    match is_of_process {
        true if f.outlived_by.is_some() && f.detail.task.status != Status::Ready => format!(
            "a process of an earlier attempt still works on it: wait for its end first; if {when}, `{}` names the process to stop",
            why()
        ),
        true => format!("look at it; if {when}, `{}` names the process to stop", why()),
        false => format!("look at it; if {when}, stop it: `{run}`"),
    }
}

impl Entry {
    /// Whether it only became ready by what was done, and nobody took it up since.
    pub(crate) fn is_unstarted(&self) -> bool {
        matches!(self.status, Status::Ready | Status::Todo)
    }

    /// What was done with it, in the order of time: `requeued ×2, moved`.
    pub(crate) fn done(&self) -> String {
        let mut all: Vec<(&str, usize)> = Vec::new();
        for d in self.deeds.iter().filter(|d| d.helps()) {
            match all.last_mut() {
                Some((did, n)) if *did == d.did => *n += 1,
                _ => all.push((d.did, 1)),
            }
        }
        let one = |(did, n): (&str, usize)| if n == 1 { did.to_owned() } else { format!("{did} ×{n}") };
        all.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Why that was done, of what helped last.
    pub(crate) fn because(&self) -> Option<&str> {
        self.deeds.iter().rev().find(|d| d.helps()).map(|d| &*d.because)
    }
}
