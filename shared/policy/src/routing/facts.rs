//! What routing rests on besides the tasks themselves: who runs where, what was seen of each provider, and what is on its
//! way there. Plain data, so that a pass can be shown, saved and decided again.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attempts::ended;
use crate::authorship;
use crate::routing::answered;
use crate::{OtherPolicy, Profiles, World};
use base::cause::Cause;
use base::error::Result;
use base::time::Time;
use board::{BoardId, Change, Detail, Event, Outcome, Run, Status, Step, Task};
use config::span::seconds;
use config::{Config, Routing as Keys};
use logs::Evidence;
use logs::cache::Cache;
use logs::provider::ledger::{Entry, Ledger, News, Policy, Sighting};
use logs::provider::{self, Id, Profile};

/// How far back among a board's newest events and runs is looked.
const MAX_EVENTS: u32 = 20_000;
const MAX_RUNS: u32 = 500;
/// Most profiles whose configuration is read.
const MAX_PROFILES: usize = 256;
/// Of how many attempts the logs are asked in one pass why they were limited.
const MAX_ASKED: usize = 32;
/// Seconds after which nothing sent counts any more: a night.
pub use logs::provider::ledger::FORGOTTEN as NIGHT;

/// Everything the router is asked about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    /// Every known profile, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// What this board's attempts showed of their providers.
    pub sightings: Vec<Sighting>,
    /// How providers stand as other boards of the same Hermes root see it.
    pub others: Vec<Entry>,
    /// Keys that providers refuse, on any board of the same Hermes root, until they are mended. For people alone: no decision goes by them.
    #[serde(skip)]
    pub refusals: Vec<Refusal>,
    /// What we sent to a provider within a night, on any board of the same Hermes root.
    pub sent: Vec<Sent>,
    /// The owner's quiet hours are now, until then.
    pub quiet_until: Option<Time>,
    /// Other hosts decide about this board, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

impl Routing {
    /// As it would have been seen at another moment under another policy.
    pub fn under(&mut self, other: &OtherPolicy<'_>) {
        self.quiet_until = other.policy.routing.quiet_until(other.at);
        other.profiles(&mut self.profiles);
    }
}

/// A key that a provider refuses: it did not answer since, and no new key was put in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Whose key it is, and since when.
    pub entry: Entry,
    /// Another board tells people of it: that one saw it first.
    pub is_elsewhere: bool,
}

/// One task that we sent to a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The task.
    pub task: String,
    /// The profile.
    pub profile: String,
    /// Its provider.
    pub id: Id,
    /// When.
    pub at: Time,
    /// Another profile had it before; else it was only released.
    pub is_move: bool,
    /// It is still on its way: ready or running, also where the runtime tries it once more by itself.
    pub is_open: bool,
}

/// What one board tells the others of its Hermes root. A profile of the same name under another root is another one, with a key of
/// its own.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Shared {
    /// The root with links resolved; `None` for boards outside any.
    #[serde(default)]
    root: Option<PathBuf>,
    entries: Vec<Entry>,
    /// The keys that are refused, also where no history tells so any more, and those that answered again lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<Entry>,
    sent: Vec<Sent>,
}

impl Shared {
    /// Without what a clock that was ahead noted: it would be newer than all that is seen from now on.
    fn by(mut self, now: Time) -> Shared {
        let is_past = |e: &Entry| !e.bad.max(e.good.unwrap_or(e.bad)).is_ahead_of(now);
        self.entries.retain(is_past);
        self.keys.retain(is_past);
        self.sent.retain(|s| !s.at.is_ahead_of(now));
        self
    }
}

/// The numbers of the ledger, from the configuration.
pub(crate) fn policy(config: &Config) -> Policy {
    let Keys { pace, give_up, max_probes, .. } = &config.routing;
    Policy {
        hold: seconds(config.heal.hold),
        hold_max: seconds(config.heal.hold_max),
        decay: seconds(*pace),
        give_up: seconds(*give_up),
        max_probes: *max_probes,
    }
}

/// What there is to look at closely besides.
pub struct About<'a> {
    /// The open rows of the board.
    pub rows: &'a [Task],
    /// Tasks that were looked at: their own history is never pruned while they live, so it reaches further back than the
    /// newest events of the board.
    pub details: Vec<&'a Detail>,
    /// Profiles that exist.
    pub known: &'a Profiles,
    /// The moment was given, not read: what it looks like then is nobody else's business.
    pub clock_given: bool,
}

/// Looks at who runs where, how providers stand, and what is on its way.
pub fn observe(world: &mut World<'_>, about: &About<'_>, now: Time) -> Result<Routing> {
    let About { rows, details, known, clock_given } = about;
    let mut names: BTreeSet<&str> = known.names().iter().map(String::as_str).collect();
    names.extend(world.config.profiles.keys().map(String::as_str));
    names.extend(rows.iter().filter_map(|t| t.assignee.as_deref()));
    let mut profiles: BTreeMap<String, Profile> = names
        .into_iter()
        .take(MAX_PROFILES)
        .filter_map(|name| Some((name.to_owned(), (world.profile)(name)?)))
        .collect();
    let root = world.board.id().root.clone();
    for profile in profiles.values_mut() {
        profile.changed = provider::changed::seen(root.as_deref(), profile, world.cache, now);
    }
    // A refusal counts until a night after its hold.
    let known_from = now.plus(-NIGHT - seconds(world.config.heal.hold_max));
    let events = world.board.turns(known_from, MAX_EVENTS)?;
    let runs = as_pinned(world.board.recent_runs(MAX_RUNS)?, &events);
    let mut sent = sent(&events, rows);
    sent.retain(|s| now.since(s.at) <= NIGHT);
    sent.iter_mut().for_each(|s| keyed(&mut s.id, Some(&s.profile), &profiles));
    let on_way = on_their_way(world, &sent, details)?;
    let details: Vec<&Detail> = details.iter().copied().chain(&on_way).collect();
    let notes = notes(&events, &details, &profiles);
    let told = told(&notes);
    let said = said_by_logs(world, &runs, &told, known_from, now)?;
    let mut sightings: Vec<Sighting> = runs
        .iter()
        .filter(|(task, run)| is_told_by_end(task, run, &told, known_from))
        .filter_map(|(task, run)| of_run(task, run, &profiles, said.get(&(task.as_str(), run.id))))
        .collect();
    sightings.extend(notes.into_iter().map(|note| note.sighting));
    // What a pass finds out of the tasks it looks at counts at once: the provider of an attempt that did not end well is doubted.
    let ended = details.iter().filter_map(|d| d.newest_run()).filter(|run| run.ended_at.is_some());
    let failed = ended.filter(|run| run.outcome.as_deref() != Some("completed"));
    let doubted: BTreeSet<Id> = failed.map(|run| provider_of(run, &profiles)).collect();
    // Of one that nobody doubts, and that nothing was sent to, nobody asks how its attempts fare.
    let matters = |run: &Run| {
        let id = provider_of(run, &profiles);
        sightings.iter().any(|s| s.news != News::Good && (s.profile == run.profile || s.id.is_same(&id)))
            || sent.iter().map(|s| &s.id).chain(&doubted).any(|doubted| doubted.is_same(&id))
    };
    let lasting = answered::answered(world, &runs, matters, now)?;
    sightings.extend(lasting.into_iter().map(|(task, run)| Sighting {
        at: run.last_heartbeat_at.unwrap_or(run.started_at),
        ..sighting(task, run, &profiles, News::Good)
    }));
    // One of the future would be the newest for as long as a clock was ahead.
    sightings.retain(|s| !s.at.is_ahead_of(now));
    sent.retain(|s| !s.at.is_ahead_of(now));
    sightings.sort_by_cached_key(|s| (s.at, s.began, s.task.clone()));
    sightings.dedup();
    let here = world.board.id().at.to_string();
    let root = world.board.id().real_root();
    // All hosts of a board decide on what this board says. Boards that are on this one alone say more to nobody else.
    let is_shared = world.hosts.is_some();
    let theirs = if is_shared { Vec::new() } else { of_others(world, &here, root.as_ref(), now) };
    let others: Vec<Entry> = theirs.iter().flat_map(|(_, other)| other.entries.iter().cloned()).collect();
    let own = Ledger::fold(&sightings, &policy(world.config));
    let looked = KeysSeen {
        here: &here,
        own: own.entries(),
        before: &shared_of(world.cache, &here).map_or_else(Vec::new, |shared| shared.by(now).keys),
        theirs: &theirs,
        sightings: &sightings,
        profiles: &profiles,
        known,
    };
    let (keys, refusals) = looked.refused(now);
    if !clock_given {
        let mut entries = own.entries().to_vec();
        // Other boards hear of the end of what they saw.
        let all = own.joined(&others, &sightings);
        entries.extend(all.entries()[entries.len()..].iter().filter(|e| e.good.is_some()).cloned());
        share(world.cache, &here, &Shared { root, entries, keys, sent: sent.clone() });
    }
    sent.extend(theirs.into_iter().flat_map(|(_, other)| other.sent));
    let quiet_until = world.config.routing.quiet_until(now);
    Ok(Routing { profiles, sightings, others, refusals, sent, quiet_until, is_shared })
}

/// What tells which keys are refused.
struct KeysSeen<'a> {
    /// The board.
    here: &'a str,
    /// What its history tells now.
    own: &'a [Entry],
    /// What it told before.
    before: &'a [Entry],
    /// What other boards of the root told.
    theirs: &'a [(String, Shared)],
    sightings: &'a [Sighting],
    profiles: &'a BTreeMap<String, Profile>,
    known: &'a Profiles,
}

impl KeysSeen<'_> {
    /// What this board tells the others of keys, and the keys that are refused now. Neither time nor a history that is not read any more
    /// mends a key.
    fn refused(&self, now: Time) -> (Vec<Entry>, Vec<Refusal>) {
        // What is older, and was not known before, was over before it was forgotten.
        let is_news = |e: &&Entry| e.cause == Cause::Credential && e.is_within(NIGHT, now);
        let own: Vec<Entry> = self.own.iter().filter(is_news).cloned().collect();
        let mut ours =
            Ledger::default().joined(&own, &[]).joined(self.before, self.sightings).entries().to_vec();
        let told =
            || self.theirs.iter().flat_map(|(board, other)| other.keys.iter().map(move |e| (board, e)));
        for e in &mut ours {
            let good = |(_, other): (&String, &Entry)| other.good.filter(|_| is_same_key(e, other));
            let good = told().filter_map(good).filter(|good| *good > e.bad).min();
            e.good = e.good.or(good);
        }
        // What was refused on another board, and is answered on this one.
        let others: Vec<Entry> = told().filter(|(_, e)| e.good.is_none()).map(|(_, e)| e.clone()).collect();
        let answered = Ledger::default().joined(&others, self.sightings);
        for e in answered.entries().iter().filter(|e| e.good.is_some()) {
            if !ours.iter().any(|own| is_same_key(own, e)) {
                ours.push(e.clone());
            }
        }
        ours.retain(|e| self.is_unmended(e) && e.good.is_none_or(|good| now.since(good) < 2 * NIGHT));
        let is_over = |e: &Entry| {
            let answers = |own: &Entry| is_same_key(own, e) && own.good.is_some_and(|good| good > e.bad);
            ours.iter().any(answers) || !self.is_unmended(e)
        };
        let theirs: Vec<(&String, &Entry)> =
            told().filter(|(_, e)| e.good.is_none() && !is_over(e)).collect();
        let mut all: Vec<Refusal> = Vec::new();
        for e in ours.iter().filter(|e| e.good.is_none()) {
            let was_first = |(board, other): &(&String, &Entry)| {
                let is_earlier = (other.since, board.as_str()) < (e.since, self.here);
                // A board that is gone tells nothing.
                is_earlier && is_same_key(e, other) && Path::new(board).exists()
            };
            all.push(Refusal { entry: e.clone(), is_elsewhere: theirs.iter().any(was_first) });
        }
        for (_, e) in theirs {
            if !all.iter().any(|r| is_same_key(&r.entry, e)) {
                all.push(Refusal { entry: e.clone(), is_elsewhere: true });
            }
        }
        (ours, all)
    }

    /// Whether its profile is there, and nothing of it was changed since.
    fn is_unmended(&self, e: &Entry) -> bool {
        let Some(name) = e.profile.as_deref() else { return false };
        let is_changed = self.profiles.get(name).is_some_and(|profile| profile.is_changed_since(e.bad));
        self.known.has(name) != Some(false) && !is_changed
    }
}

/// Whether both are about one key.
fn is_same_key(a: &Entry, b: &Entry) -> bool {
    b.profile.as_deref().is_some_and(|name| a.is_key_of(name, &b.id))
}

/// What the other boards of a Hermes root know that is not older than a night: a board that is gone must not hold a provider for ever.
fn of_others(world: &World<'_>, here: &str, root: Option<&PathBuf>, now: Time) -> Vec<(String, Shared)> {
    let all = world.cache.shared().into_iter().filter(|(board, _)| board != here);
    let known = all.filter_map(|(board, body)| Some((board, serde_json::from_str::<Shared>(&body).ok()?)));
    known
        .filter(|(_, other)| other.root.as_ref() == root)
        .map(|(board, other)| {
            let mut other = other.by(now);
            other.entries.retain(|e| e.is_within(NIGHT, now));
            other.sent.retain(|s| now.since(s.at) < NIGHT);
            (board, other)
        })
        .collect()
}

/// Tasks that were sent to a provider and are still on their way. What they say of it reaches further back than the newest events
/// of the board, and counts on as it did while they waited.
fn on_their_way(world: &mut World<'_>, sent: &[Sent], looked_at: &[&Detail]) -> Result<Vec<Detail>> {
    let known: BTreeSet<&str> = looked_at.iter().map(|d| d.task.id.as_str()).collect();
    let open = sent.iter().filter(|s| s.is_open && !known.contains(s.task.as_str()));
    let ids: BTreeSet<String> = open.map(|s| s.task.clone()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    world.board.look(&ids.into_iter().collect::<Vec<_>>())
}

/// Runs with what was set for their tasks alone when they began, as far as these events tell.
fn as_pinned(
    mut runs: board::Shared<(String, Run)>,
    events: &[(String, Event)],
) -> board::Shared<(String, Run)> {
    let mut turns: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for (task, e) in events.iter().filter(|(_, e)| e.turns_pin()) {
        turns.entry(task).or_default().push(e);
    }
    if turns.is_empty() {
        return runs;
    }
    for (task, run) in runs.iter_mut() {
        let Some(turns) = turns.get(task.as_str()) else { continue };
        run.pin = run.pin.at(run.started_at, turns.iter().copied());
    }
    runs
}

fn share(cache: &mut Cache, here: &str, what: &Shared) {
    let nothing = what.entries.is_empty() && what.keys.is_empty() && what.sent.is_empty();
    let body = if nothing { None } else { serde_json::to_string(what).ok() };
    cache.put_shared(here, body);
}

/// What a board told the others of its root before.
fn shared_of(cache: &Cache, board: &str) -> Option<Shared> {
    let (_, body) = cache.shared().into_iter().find(|(other, _)| other == board)?;
    serde_json::from_str(&body).ok()
}

/// Tells the other boards of the root what these steps sent. Their passes may come before the next look at this board.
pub fn share_sent(cache: &mut Cache, board: &BoardId, done: &[(Step, Outcome)], now: Time) {
    let applied = done.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Applied { .. }));
    let events: Vec<(String, Event)> = applied.flat_map(|(step, _)| written(step, now)).collect();
    let sent = sent(&events, &[]);
    if sent.is_empty() {
        return;
    }
    let here = board.at.to_string();
    let mut shared =
        shared_of(cache, &here).unwrap_or_else(|| Shared { root: board.real_root(), ..Shared::default() });
    shared.sent.extend(sent.into_iter().map(|sent| Sent { is_open: true, ..sent }));
    share(cache, &here, &shared);
}

/// The events that a step writes on its task.
fn written(step: &Step, at: Time) -> impl Iterator<Item = (String, Event)> {
    step.changes.iter().filter_map(move |change| {
        let Change::AddEvent { kind, payload, .. } = change else { return None };
        let event = Event { kind: kind.clone(), at, run: None, payload: payload.clone().into() };
        Some((step.task.clone(), event))
    })
}

/// One attempt: its task and its number.
type Attempt<'a> = (&'a str, i64);

/// Whether the runtime itself booked an attempt as limited. That says neither by what (Hermes 0.22 books a used-up quota and an
/// overloaded provider so as well) nor until when.
fn is_booked_limit(run: &Run) -> bool {
    run.outcome.as_deref() == Some("rate_limited")
}

/// An event that tells how a provider stands, and what it tells.
struct Note<'a> {
    task: &'a str,
    event: &'a Event,
    sighting: Sighting,
}

/// What the newest events of the board and the histories of these tasks tell of providers, in that order.
fn notes<'a>(
    events: &'a [(String, Event)],
    details: &[&'a Detail],
    profiles: &BTreeMap<String, Profile>,
) -> Vec<Note<'a>> {
    let of_board = events.iter().map(|(task, e)| (task.as_str(), e));
    let of_tasks = details.iter().flat_map(|d| d.events.iter().map(|e| (d.task.id.as_str(), e)));
    let note = |(task, event)| Some(Note { task, event, sighting: of_event_of(task, event, profiles)? });
    of_board.chain(of_tasks).filter_map(note).collect()
}

/// Attempts of which a watcher wrote down what refused them: with the moment that their log stated, which the booking does not have.
fn told<'a>(notes: &[Note<'a>]) -> BTreeSet<Attempt<'a>> {
    let of = |note: &Note<'a>| {
        let trail = note.event.trail()?;
        let task = trail.get("source").and_then(Value::as_str).unwrap_or(note.task);
        Some((task, trail.get("run")?.as_i64()?))
    };
    notes.iter().filter_map(of).collect()
}

/// Whether an attempt tells of its provider by the way it ended. A booked limit does where no watcher wrote down what limited it, and only
/// as long as such a note would be read: an older limit, whose note is not read, would be taken for another cause.
fn is_told_by_end(task: &str, run: &Run, told: &BTreeSet<Attempt<'_>>, known_from: Time) -> bool {
    let is_recent = run.ended_at.is_none_or(|end| end > known_from);
    !is_booked_limit(run) || (is_recent && !told.contains(&(task, run.id)))
}

/// Whether a watcher wrote down on the task itself what refused an attempt.
pub fn is_told(d: &Detail, run: &Run, profiles: &BTreeMap<String, Profile>) -> bool {
    told(&notes(&[], &[d], profiles)).contains(&(d.task.id.as_str(), run.id))
}

/// What the logs say of attempts that count as the runtime booked them: limited, and of which nobody wrote anything down yet.
fn said_by_logs<'a>(
    world: &mut World<'_>,
    runs: &'a [(String, Run)],
    told: &BTreeSet<Attempt<'_>>,
    known_from: Time,
    now: Time,
) -> Result<BTreeMap<Attempt<'a>, Evidence>> {
    let asked: Vec<&(String, Run)> = runs
        .iter()
        .rev()
        .filter(|(task, run)| is_booked_limit(run) && is_told_by_end(task, run, told, known_from))
        .take(MAX_ASKED)
        .collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: BTreeSet<String> = asked.iter().map(|(task, _)| task.clone()).collect();
    let mut said = BTreeMap::new();
    for d in world.board.look(&ids.into_iter().collect::<Vec<_>>())? {
        if world.abroad(&d).is_some() {
            continue;
        }
        let of_it = || asked.iter().filter(|(task, _)| *task == d.task.id);
        let Some(since) = of_it().map(|(_, run)| run.started_at).min() else { continue };
        let profile = of_it().find_map(|(_, run)| run.profile.as_deref());
        let reading = world.log(&d.task.id, profile, d.words_file(), since, now);
        for (run, evidence) in ended::told(&d, &reading) {
            let known = of_it().find(|(_, asked)| asked.id == run.id && evidence.cause.lies_with_provider());
            said.extend(known.map(|(task, run)| ((task.as_str(), run.id), evidence.clone())));
        }
    }
    Ok(said)
}

/// What an attempt says by the way it ended: in its log, where that was asked, else as its runtime booked it.
fn of_run(
    task: &str,
    run: &Run,
    profiles: &BTreeMap<String, Profile>,
    said: Option<&Evidence>,
) -> Option<Sighting> {
    run.profile.as_deref()?;
    let end = run.ended_at?;
    let news = match run.outcome.as_deref() {
        // A run without length is a note that something was settled, not work.
        Some("completed") if end > run.started_at => News::Good,
        Some("rate_limited") => News::Bad {
            cause: said.map_or(Cause::ServerError, |e| e.cause),
            resets: said.and_then(|e| e.resets),
        },
        _ => return None,
    };
    let at = said.map_or(end, |e| e.refused_at(end));
    let mut seen = sighting(task, run, profiles, news);
    if seen.id.profile.is_some() {
        // What its configuration would say, its log does.
        seen.id.host = seen.id.host.or_else(|| Id::new(None, said?.endpoint_host.as_deref()).host);
    }
    Some(Sighting { at, ..seen })
}

/// Adds to a provider whose it is, where nobody but that profile's unreadable configuration would name it.
pub fn keyed(id: &mut Id, profile: Option<&str>, profiles: &BTreeMap<String, Profile>) {
    let known = profile.and_then(|name| profiles.get(name));
    if id.name.is_none()
        && let Some(blind) = known.filter(|p| p.unreadable.is_some())
    {
        id.profile = Some(blind.name.clone());
    }
}

/// What was seen of an attempt's provider, as of its begin.
fn sighting(task: &str, run: &Run, profiles: &BTreeMap<String, Profile>, news: News) -> Sighting {
    let (id, profile) = (provider_of(run, profiles), run.profile.clone());
    Sighting { id, profile, task: task.to_owned(), at: run.started_at, began: run.started_at, news }
}

/// Whom an attempt asks. What ran before its profile's configuration changed may have gone somewhere else.
pub(super) fn provider_of(run: &Run, profiles: &BTreeMap<String, Profile>) -> Id {
    let known = run.profile.as_deref().and_then(|name| profiles.get(name));
    let then = known.filter(|p| p.changed.is_none_or(|at| at <= run.started_at));
    then.map(|p| p.pinned(&run.pin).id()).unwrap_or_default()
}

/// What a watcher wrote down of a provider. A forged one can only make us more careful.
pub fn of_event(task: &str, e: &Event) -> Option<Sighting> {
    noted(task, e).filter(|_| names_provider(e))
}

/// Whether an event says which provider it was.
fn names_provider(e: &Event) -> bool {
    let says = |key: &str| e.trail().and_then(|t| t.get(key)).is_some_and(Value::is_string);
    says("provider") || says("host")
}

/// The same, with what is known of the profile now.
fn of_event_of(task: &str, e: &Event, profiles: &BTreeMap<String, Profile>) -> Option<Sighting> {
    let mut seen = noted(task, e)?;
    keyed(&mut seen.id, seen.profile.as_deref(), profiles);
    Some(seen).filter(|s| s.id.profile.is_some() || names_provider(e))
}

fn noted(task: &str, e: &Event) -> Option<Sighting> {
    let trail = e.trail().filter(|_| authorship::is_ours(e))?;
    let text = |key: &str| trail.get(key).and_then(Value::as_str);
    let time = |key: &str| trail.get(key).and_then(Value::as_i64).map(Time);
    let cause = authorship::cause_in(trail)?;
    let (name, host) = (text("provider"), text("host"));
    // Without a run the event does not tell of an attempt.
    if !cause.lies_with_provider() || trail.get("run").is_none() {
        return None;
    }
    Some(Sighting {
        id: Id::new(name, host),
        profile: text("profile").map(str::to_owned),
        task: text("source").unwrap_or(task).to_owned(),
        // A watcher may have noted it late.
        at: time("seen").unwrap_or(e.at).min(e.at),
        began: time("began").unwrap_or(e.at).min(e.at),
        news: News::Bad { cause, resets: time("resets") },
    })
}

/// What our events say was sent where, and whether it is still on its way.
fn sent(events: &[(String, Event)], rows: &[Task]) -> Vec<Sent> {
    // On most boards nothing was sent.
    let by_id = OnceCell::new();
    let by_id = || by_id.get_or_init(|| rows.iter().map(|t| (t.id.as_str(), t)).collect::<BTreeMap<_, _>>());
    let mut known = BTreeSet::new();
    let mut all: Vec<Sent> = Vec::new();
    for (task, e) in events.iter().filter(|(_, e)| authorship::is_ours(e)) {
        let Some(sent) = e.trail().and_then(|t| t.get("sent")) else { continue };
        let text = |key: &str| sent.get(key).and_then(Value::as_str);
        let Some(profile) = text("profile") else { continue };
        let id = Id::new(text("provider"), text("host"));
        // A move leaves two events that say so. One that is forged in the same second hides no other.
        if !known.insert((task, e.at, profile, id.clone())) {
            continue;
        }
        let waits = |t: &Task| {
            let on_way = matches!(t.status, Status::Ready | Status::Running | Status::Todo);
            on_way && t.assignee.as_deref() == Some(profile)
        };
        all.push(Sent {
            task: task.clone(),
            profile: profile.to_owned(),
            id,
            at: e.at,
            is_move: sent.get("move").and_then(Value::as_bool).unwrap_or(false),
            is_open: by_id().get(task.as_str()).copied().is_some_and(waits),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use board::EventKind;
    use board::testing::{detail, event};

    /// One look at a board after the other: what it keeps, and whose keys it tells of.
    struct Looks {
        profile: Profile,
        known: Profiles,
        theirs: Vec<(String, Shared)>,
        kept: Vec<Entry>,
    }

    impl Looks {
        fn new() -> Looks {
            let profile = Profile { name: "luna".into(), ..Profile::default() };
            Looks { profile, known: ["luna"].into_iter().collect(), theirs: Vec::new(), kept: Vec::new() }
        }

        fn at(&mut self, now: i64, sightings: &[Sighting]) -> Vec<(String, bool)> {
            let own = Ledger::fold(sightings, &policy(&Config::default()));
            let seen = KeysSeen {
                here: "/b",
                own: own.entries(),
                before: &self.kept,
                theirs: &self.theirs,
                sightings,
                profiles: &[("luna".to_owned(), self.profile.clone())].into(),
                known: &self.known,
            };
            let (kept, told) = seen.refused(Time(now));
            self.kept = kept;
            told.into_iter().map(|r| (r.entry.profile.unwrap(), r.is_elsewhere)).collect()
        }
    }

    fn saw(at: i64, news: News) -> Sighting {
        let (id, profile) = (Id::new(Some("moon"), None), Some("luna".to_owned()));
        Sighting { id, profile, task: "t_00000001".into(), at: Time(at), began: Time(at), news }
    }

    fn refuses(at: i64) -> Sighting {
        saw(at, News::Bad { cause: Cause::Credential, resets: None })
    }

    #[test]
    fn a_refused_key_is_over_by_an_answer_or_a_change_and_never_by_time() {
        let here = || vec![("luna".to_owned(), false)];
        let refused = || {
            let mut looks = Looks::new();
            assert_eq!(looks.at(1_100, &[refuses(1_000)]), here());
            for days in 1..9 {
                assert_eq!(looks.at(days * 86_400, &[]), here(), "{days}");
            }
            looks
        };
        let late = 9 * 86_400;
        let mut looks = refused();
        assert_eq!(looks.at(late, &[saw(late - 9, News::Good)]), []);
        assert_eq!(looks.at(late + 60, &[refuses(1_000)]), [], "an old history is read again");
        assert_eq!(looks.at(late + 120, &[refuses(late + 90)]), here(), "another refusal");
        looks.at(late + 180, &[saw(late + 150, News::Good)]);
        assert_eq!(
            (looks.at(late + 100_000, &[]), looks.kept.len()),
            (vec![], 0),
            "nothing is kept for ever"
        );
        let changes: [fn(&mut Looks); 3] = [
            |looks| looks.profile.changed = Some(Time(86_400)),
            |looks| looks.profile.keyed = Some(Time(86_400)),
            |looks| looks.known = ["nova"].into_iter().collect(),
        ];
        for change in changes {
            let mut looks = refused();
            change(&mut looks);
            assert_eq!((looks.at(late, &[]), looks.kept.len()), (vec![], 0));
        }
        // A file that was written before the refusal holds the old key.
        let mut looks = refused();
        (looks.profile.changed, looks.profile.keyed) = (Some(Time(1_000)), Some(Time(999)));
        assert_eq!(looks.at(late, &[]), here());
        looks.known = Profiles::Unknown("it cannot be listed".into());
        assert_eq!(looks.at(late, &[]), here());
    }

    #[test]
    fn a_refused_key_is_told_by_the_board_that_saw_it_first() {
        let dir = tempfile::tempdir().unwrap();
        let other = |keys: &[Entry]| {
            let shared = Shared { keys: keys.to_vec(), ..Shared::default() };
            vec![(dir.path().display().to_string(), shared)]
        };
        let entry = |at: i64, good: Option<i64>| {
            let entry = Ledger::fold(&[refuses(at)], &policy(&Config::default())).entries()[0].clone();
            [Entry { good: good.map(Time), ..entry }]
        };
        let of = |theirs: Vec<(String, Shared)>, sightings: &[Sighting]| {
            let mut looks = Looks { theirs, ..Looks::new() };
            (looks.at(2_000, sightings), looks.kept.iter().map(|e| e.good.map(|at| at.0)).collect::<Vec<_>>())
        };
        let told = |is_elsewhere: bool| vec![("luna".to_owned(), is_elsewhere)];
        let none = Vec::new;
        // A board that saw nothing of it names nobody, and keeps nothing.
        assert_eq!(of(other(&entry(1_000, None)), &[]), (told(true), vec![]));
        assert_eq!(of(other(&entry(1_000, None)), &[refuses(1_100)]), (told(true), vec![None]));
        assert_eq!(of(other(&entry(1_000, None)), &[refuses(900)]), (told(false), vec![None]));
        // Its end is the end for all, on whichever board that is seen.
        assert_eq!(of(other(&entry(1_000, Some(1_500))), &[refuses(1_100)]), (none(), vec![Some(1_500)]));
        assert_eq!(of(other(&entry(1_000, Some(1_500))), &[refuses(1_600)]), (told(false), vec![None]));
        let answers = saw(1_700, News::Good);
        assert_eq!(of(other(&entry(1_000, None)), &[answers]), (none(), vec![Some(1_700)]));
        // A board that is gone tells nobody.
        let gone = other(&entry(1_000, None)).into_iter().map(|(at, shared)| (format!("{at}/gone"), shared));
        assert_eq!(of(gone.collect(), &[refuses(1_100)]).0, told(false));
    }

    #[test]
    fn what_another_board_saw_by_a_clock_that_was_ahead_tells_nothing() {
        let entry = |bad: i64, good: Option<i64>| {
            let entry = Ledger::fold(&[refuses(bad)], &policy(&Config::default())).entries()[0].clone();
            Entry { good: good.map(Time), ..entry }
        };
        let all = || vec![entry(1_900, None), entry(9_000, None), entry(1_900, Some(9_000))];
        let sent = |at: i64| Sent {
            task: "t_00000001".into(),
            profile: "luna".into(),
            id: Id::default(),
            at: Time(at),
            is_move: false,
            is_open: true,
        };
        let told = Shared { root: None, entries: all(), keys: all(), sent: vec![sent(9_000), sent(2_120)] };
        let kept = told.by(Time(2_000));
        let first = vec![entry(1_900, None)];
        assert_eq!((&kept.entries, &kept.keys, kept.sent), (&first, &first, vec![sent(2_120)]));
    }

    #[test]
    fn a_forged_word_of_the_same_second_hides_nothing_that_was_sent() {
        let mut row = detail("t_00000001", Status::Ready).task.clone();
        row.assignee = Some("luna".into());
        let said = |kind: &str, profile: &str, provider: &str| {
            let sent = json!({"profile": profile, "provider": provider, "move": false});
            let payload = json!({"by": "route-blocked", "watchbill": {"sent": sent}});
            ("t_00000001".to_owned(), event(kind, 60, payload))
        };
        let events = [
            said("assigned", "vega", "sun"),
            said("assigned", "luna", "sun"),
            said("assigned", "luna", "moon"),
            said("unblocked", "luna", "moon"),
        ];
        let all = sent(&events, &[row]);
        let all: Vec<_> = all.iter().map(|s| (s.profile.as_str(), s.id.to_string(), s.is_open)).collect();
        let want = [("vega", "sun", false), ("luna", "sun", true), ("luna", "moon", true)];
        assert_eq!(
            all,
            want.map(|(p, id, open)| (p, id.to_owned(), open)),
            "a move leaves two events and is one"
        );
    }

    #[test]
    fn an_attempt_is_charged_to_whom_it_asked() {
        let luna = Profile { name: "luna".into(), provider: Some("moon".into()), ..Profile::default() };
        let profiles: BTreeMap<String, Profile> = [("luna".to_owned(), luna)].into();
        let star = || board::Pin { model: Some("m2".into()), provider: Some("star".into()) };
        let run = || board::testing::run(7, "luna", Some("rate_limited"));
        let of = |run: &Run| provider_of(run, &profiles).to_string();
        assert_eq!(of(&run()), "moon");
        assert_eq!(of(&Run { pin: star(), ..run() }), "star");
        // Its task names star since: that is the answer to the limit, not its cause.
        let task = || "t_00000001".to_owned();
        let set = |seconds| {
            let keys = json!({"model": "m2", "provider": "star"});
            [(task(), event(EventKind::ModelOverrideSet, seconds, keys))]
        };
        let pinned = |events: &[(String, Event)]| {
            let runs = as_pinned(vec![(task(), Run { pin: star(), ..run() })].into(), events);
            of(&runs[0].1)
        };
        assert_eq!(
            (pinned(&set(60)), pinned(&set(2_000)), pinned(&[])),
            ("moon".into(), "star".into(), "star".into())
        );
    }

    #[test]
    fn a_booked_limit_tells_as_long_as_what_was_written_down_of_it_is_read() {
        let noted = BTreeSet::from([("t_00000001", 7)]);
        for (outcome, seconds, told, want) in [
            ("rate_limited", 60, &BTreeSet::new(), true),
            ("rate_limited", 60, &noted, false),
            // The note is older than the events that are read.
            ("rate_limited", NIGHT, &BTreeSet::new(), false),
            ("completed", NIGHT, &BTreeSet::new(), true),
        ] {
            let ended_at = Some(board::testing::ago(seconds));
            let run = Run { ended_at, ..board::testing::run(7, "luna", Some(outcome)) };
            let from = board::testing::ago(NIGHT);
            assert_eq!(is_told_by_end("t_00000001", &run, told, from), want, "{outcome} {seconds}");
        }
    }

    #[test]
    fn a_refusal_of_a_profile_whose_configuration_cannot_be_read_is_its_own() {
        let blind =
            || Profile { name: "luna".into(), unreadable: Some("denied".into()), ..Profile::default() };
        let profiles: BTreeMap<String, Profile> = [("luna".to_owned(), blind())].into();
        let ended = Some(board::testing::ago(60));
        let run = Run { ended_at: ended, ..board::testing::run(7, "luna", Some("rate_limited")) };
        let said = Evidence { endpoint_host: Some("a:1".into()), ..Evidence::new(Cause::Quota, 1) };
        let by_run = of_run("t_00000001", &run, &profiles, Some(&said)).unwrap();
        let told = |keys: Value| {
            let mut trail = json!({"cause": "quota", "run": 7, "profile": "luna"});
            trail.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
            event(EventKind::Signal, 60, json!({"by": "synthesize-distress", "watchbill": trail}))
        };
        let of = |keys: Value| of_event_of("t_00000001", &told(keys), &profiles).unwrap();
        let policy = policy(&Config::default());
        for seen in [by_run, of(json!({})), of(json!({"host": "a:1"}))] {
            let ledger = Ledger::fold(&[seen], &policy);
            let state = ledger.of(&blind(), board::testing::NOW, &policy).map(|(_, state)| state);
            assert_eq!(state, Some(logs::provider::ledger::State::OutOfQuota), "{ledger:?}");
        }
        // What is written down of it counts in the place of what its runtime booked.
        let mut d = board::testing::detail("t_00000001", board::Status::Ready);
        d.events = vec![told(json!({}))];
        assert!(is_told(&d, &run, &profiles) && !is_told(&d, &run, &BTreeMap::new()));
        // Of a profile without a configuration nobody knows more than before.
        assert_eq!(of_event_of("t_00000001", &told(json!({})), &BTreeMap::new()), None);
        assert_eq!(of(json!({"provider": "star"})).id.profile, None, "pinned to another one");
    }

    #[test]
    fn a_booked_limit_is_what_its_log_or_a_watcher_says_of_it() {
        let run = Run {
            ended_at: Some(board::testing::ago(60)),
            ..board::testing::run(7, "luna", Some("rate_limited"))
        };
        let of = |said: Option<&Evidence>| of_run("t_00000001", &run, &BTreeMap::new(), said).unwrap().news;
        assert_eq!(of(None), News::Bad { cause: Cause::ServerError, resets: None });
        let said = Evidence { resets: Some(Time(9)), ..Evidence::new(Cause::Quota, 1) };
        assert_eq!(of(Some(&said)), News::Bad { cause: Cause::Quota, resets: Some(Time(9)) });
        // It was booked when the limit was over: that is not another limit.
        let ago = board::testing::ago;
        let said =
            Evidence { at: Some(ago(90)), resets: Some(ago(70)), ..Evidence::new(Cause::RateLimit, 1) };
        let mut over = of_run("t_00000001", &run, &BTreeMap::new(), Some(&said)).unwrap();
        assert_eq!(over.at, ago(90));
        over.id = Id::new(Some("moon"), None);
        let policy = policy(&Config::default());
        let ledger = Ledger::fold(&[over], &policy);
        let state = ledger.entries()[0].state(board::testing::NOW, None, &policy);
        assert_eq!(state, logs::provider::ledger::State::HalfOpen);
        let trail = json!({"cause": "rate_limit", "run": 7, "provider": "moon", "source": "t_00000001"});
        let payload = json!({"by": "synthesize-distress", "watchbill": trail});
        let events = [("t_00000009".to_owned(), event(EventKind::Signal, 60, payload))];
        assert_eq!(
            told(&notes(&events, &[], &BTreeMap::new())).into_iter().collect::<Vec<_>>(),
            [("t_00000001", 7)]
        );
    }
}
