//! Where a task may go: the fallback order, who may be chosen, and how many at once. Pure, and the same for every watcher
//! that moves work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::routing::facts::{NIGHT, Routing, Sent, policy};
use crate::{Profiles, authorship};
use base::cause::Cause;
use base::count::{pick, things, times};
use base::time::{DAY, HOUR, Time, words};
use board::{Detail, Event, EventKind, Task};
use card::Blocker;
use config::span::seconds;
use config::{Config, RateLimitRoute};
use logs::provider::ledger::{Entry, Ledger, News, Policy, Sighting, State};
use logs::provider::{Id, Profile};

/// The longest a task waits for a place before it is looked at again, in seconds.
const TURN: i64 = 300;

/// Where a task goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// To this profile.
    Move(Target),
    /// A profile could take it, but not now.
    Wait {
        /// When to look again.
        until: Time,
        /// Why not now.
        why: String,
    },
    /// Nobody may take it.
    Nobody(String),
    /// It was moved as often as allowed: what is left is a narrower task, or a person.
    Spent(String),
}

/// A profile that may take a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its name.
    pub profile: String,
    /// Its provider.
    pub id: Id,
}

/// Whether a held task may go on where it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Release {
    /// Now; as a probe where nobody knows yet.
    Go {
        /// It is the first one since the hold.
        probe: bool,
    },
    /// Not now.
    Wait {
        /// When to look again.
        until: Time,
        /// Why not now.
        why: String,
    },
    /// Its provider was tried often or long enough.
    GiveUp(String),
}

/// What is asked of the router about one task.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The task.
    pub(crate) detail: &'a Detail,
    /// Who had it.
    pub from: &'a str,
    /// What stopped it: a rate limit or a credential.
    pub blocker: Blocker,
    /// Providers it must not go to: those that stopped it.
    pub limiting: Vec<Id>,
}

/// Knows how providers stand and what is on its way to them.
pub struct Router<'a> {
    routing: &'a Routing,
    config: &'a Config,
    ledger: Ledger,
    policy: Policy,
    now: Time,
    known: &'a Profiles,
    /// Who decides, and so never works.
    orchestrators: Vec<String>,
    sent: Vec<Sent>,
    /// Where in `sent` a task stands, as far as it may be on its way.
    sent_of: BTreeMap<String, Vec<usize>>,
}

impl<'a> Router<'a> {
    /// Nobody was moved yet.
    pub fn new(
        routing: &'a Routing,
        config: &'a Config,
        now: Time,
        known: &'a Profiles,
        orchestrators: Vec<String>,
    ) -> Router<'a> {
        let policy = policy(config);
        let ledger = Ledger::fold(&routing.sightings, &policy).joined(&routing.others, &routing.sightings);
        let ledger = ledger.within(now, NIGHT, &policy);
        let mut sent_of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (nth, sent) in routing.sent.iter().enumerate() {
            sent_of.entry(sent.task.clone()).or_default().push(nth);
        }
        let sent = routing.sent.clone();
        Router { routing, config, ledger, policy, now, known, orchestrators, sent, sent_of }
    }

    /// Why it is not known who may take work.
    pub fn unknown(&self) -> Option<String> {
        self.known.unknown().map(|why| format!("which profiles there are is not known: {why}"))
    }

    /// What is known of a profile.
    pub fn profile(&self, name: &str) -> Profile {
        let unknown = || Profile { name: name.to_owned(), ..Profile::default() };
        self.routing.profiles.get(name).cloned().unwrap_or_else(unknown)
    }

    /// Who works on a task, as far as that says whom it asks: its profile, with the provider and the model that are set for the task
    /// alone.
    pub fn worker(&self, task: &Task) -> Profile {
        self.profile(task.assignee.as_deref().unwrap_or_default()).pinned(&task.pin)
    }

    /// How a profile's provider and key stand.
    pub fn state(&self, profile: &str) -> State {
        self.standing(profile).map_or(State::Healthy, |(_, state)| state)
    }

    /// The same of those that a task asks.
    pub fn state_for(&self, task: &Task) -> State {
        self.standing_for(task).map_or(State::Healthy, |(_, state)| state)
    }

    /// The profiles that may take work now, and work with another provider than this task asks.
    pub fn free_instead_of(&self, task: &Task) -> Vec<String> {
        let profile = task.assignee.as_deref();
        let id = profile.map(|_| self.worker(task).id());
        let works =
            |p: &&String| *p != "default" && !self.orchestrators.contains(p) && Some(p.as_str()) != profile;
        let is_other =
            |p: &&String| id.as_ref().is_none_or(|id| !id.is_known() || !self.profile(p).id().is_same(id));
        let all = self.known.names().iter().filter(works).filter(is_other);
        // A provider whose hold is over may still refuse: one task tries it first.
        let is_free = |p: &&String| match self.state(p) {
            State::HalfOpen => self.may_be_tried(&self.profile(p)),
            state => !state.is_held(),
        };
        // Neither time nor a history that is not read any more mends a key.
        let is_refused = |p: &str| {
            let id = self.profile(p).id();
            self.routing.refusals.iter().any(|r| r.entry.is_key_of(p, &id))
        };
        all.filter(is_free).filter(|p| !is_refused(p)).cloned().collect()
    }

    /// The trouble in a profile's way, where there is or was one.
    pub fn standing(&self, profile: &str) -> Option<(&Entry, State)> {
        self.of(&self.profile(profile))
    }

    /// The trouble in a task's way, where there is or was one.
    pub fn standing_for(&self, task: &Task) -> Option<(&Entry, State)> {
        task.assignee.as_ref().and_then(|_| self.of(&self.worker(task)))
    }

    fn of(&self, worker: &Profile) -> Option<(&Entry, State)> {
        self.ledger.of(worker, self.now, &self.policy)
    }

    /// Every provider and key that was in trouble.
    pub fn entries(&self) -> &[Entry] {
        self.ledger.entries()
    }

    /// What one of them means now.
    pub fn state_of(&self, entry: &Entry) -> State {
        let changed = entry.profile.as_deref().and_then(|p| self.profile(p).changed);
        entry.state(self.now, changed, &self.policy)
    }

    /// Who takes a task over, in the fallback order: the task stays as it is; another profile on another provider; another
    /// profile on the same one only where it was no rate limit. What comes after (a narrower card) is an orchestrator's.
    pub fn choose(&self, ask: &Ask<'_>) -> Choice {
        let keys = &self.config.routing;
        if self.is_orchestrators(ask.blocker) {
            return Choice::Nobody("routing.rate_limit_route leaves it to the orchestrator".into());
        }
        let moved = moves(ask.detail, self.now);
        if moved >= usize::try_from(keys.max_moves).unwrap_or(usize::MAX) {
            let are = pick(moved, "is", "are");
            return Choice::Spent(format!("its {} {are} used up", things(moved, "move")));
        }
        let mut wait: Option<(Time, String)> = None;
        let mut held = Vec::new();
        for p in &self.in_turn(ask) {
            match self.way_to(p) {
                Way::Free => {
                    return Choice::Move(Target { profile: p.name.clone(), id: p.id() });
                }
                Way::Later(until, why) if wait.as_ref().is_none_or(|(w, _)| until < *w) => {
                    wait = Some((until, why));
                }
                Way::Later(..) => {}
                Way::Held(said) => held.push(format!("{} cannot take it: {said}", p.name)),
            }
        }
        match wait {
            Some((until, why)) => Choice::Wait { until, why },
            None if !held.is_empty() => Choice::Nobody(held.join("; ")),
            None if self.profile(ask.from).fallbacks.is_empty() && !keys.auto => {
                Choice::Nobody(format!("no fallback is named for {}", ask.from))
            }
            None => {
                if let Some(why) = self.unknown() {
                    return Choice::Nobody(why);
                }
                let all = self.profile(ask.from).fallbacks;
                let blind = all.iter().filter_map(|name| Some(format!("; {}", self.profile(name).blind()?)));
                Choice::Nobody(format!("no fallback of {} would help{}", ask.from, blind.collect::<String>()))
            }
        }
    }

    /// Where a task may go in its turn and only has to wait for a place: when something last went on there. `None` where it goes at once,
    /// and where nobody who works may take it.
    pub fn queue(&self, ask: &Ask<'_>) -> Option<Time> {
        if !matches!(self.choose(ask), Choice::Wait { .. }) {
            return None;
        }
        self.in_turn(ask).iter().filter_map(|p| self.moving_at(p)).max()
    }

    /// Who takes a task over that must wait by [`Router::choose`], to try whether a provider answers after its hold. To be asked once
    /// the work that is held for that provider had its turn: a task that was limited there tries it first. `since`: how long it waits;
    /// for a few minutes that is better than a provider that may refuse.
    pub fn probe(&self, ask: &Ask<'_>, since: Time) -> Option<Target> {
        if self.now.since(since) < self.turn() || !matches!(self.choose(ask), Choice::Wait { .. }) {
            return None;
        }
        let fit = self.in_turn(ask).into_iter().filter(|p| self.may_be_tried(p));
        let profile = fit.min_by_key(|p| self.is_away(&p.name))?;
        Some(Target { id: profile.id(), profile: profile.name })
    }

    /// Whether nobody seems to work for a profile: it is not there, or what was sent to it waits for longer than a probe may. A task that
    /// is sent there tells nothing of its provider.
    pub fn is_away(&self, profile: &str) -> bool {
        let until = self.now.plus(-seconds(self.config.routing.unclaimed));
        let is_untaken = |s: &&Sent| s.is_open && s.profile == profile && s.at < until;
        let tells =
            |s: &Sent| self.routing.sightings.iter().any(|seen| seen.task == s.task && seen.began >= s.at);
        self.known.has(profile) == Some(false) || self.sent.iter().filter(is_untaken).any(|s| !tells(s))
    }

    /// Whether a task of another profile may be the probe of a profile's provider.
    fn may_be_tried(&self, p: &Profile) -> bool {
        let Some((e, State::HalfOpen)) = self.of(p) else { return false };
        // A used-up quota does not come back as soon as a limit does, and nobody would help the task there but a person.
        let is_early = e.cause == Cause::Quota && self.now.since(e.bad) < self.policy.hold_max;
        !is_early && matches!(self.place_at(p), Way::Free)
    }

    /// When something last went on at the provider of a profile that may take work: a task was sent there, or an attempt there was
    /// answered. `None` in quiet hours and while it is tried again: then nothing is in a queue.
    pub fn moving_at(&self, p: &Profile) -> Option<Time> {
        self.moving(p, |_, _| true)
    }

    /// The same of the key of a profile that was refused at this moment: what others meet at its provider tells nothing of it.
    pub fn moving_since(&self, p: &Profile, refused: Time) -> Option<Time> {
        self.moving(p, |profile, at| profile == Some(p.name.as_str()) && at > refused)
    }

    fn moving(&self, p: &Profile, counts: impl Fn(Option<&str>, Time) -> bool) -> Option<Time> {
        let works = self.of(p).is_none_or(|(_, state)| state == State::Healthy);
        if !works || self.routing.quiet_until.is_some() {
            return None;
        }
        let id = p.id();
        let sent = self.sent.iter().filter(|s| s.id.is_same(&id) && counts(Some(&s.profile), s.at));
        let sent = sent.map(|s| s.at);
        let good =
            |s: &&Sighting| s.news == News::Good && s.id.is_same(&id) && counts(s.profile.as_deref(), s.at);
        sent.chain(self.routing.sightings.iter().filter(good).map(|s| s.at)).max()
    }

    /// Whether work may go on with a profile.
    pub fn release(&self, profile: &str) -> Release {
        self.release_to(&self.profile(profile))
    }

    /// Whether a task may go on as it is.
    pub fn release_for(&self, task: &Task) -> Release {
        self.release_to(&self.worker(task))
    }

    fn release_to(&self, p: &Profile) -> Release {
        let standing = self.of(p);
        if let Some((e, State::GivenUp)) = standing {
            let (refused, since) = (times(e.strikes), words(self.now.since(e.since)));
            return Release::GiveUp(format!("{} did not recover: refused {refused} in {since}", e.subject()));
        }
        if let Some(until) = self.routing.quiet_until {
            return Release::Wait { until, why: format!("quiet hours until {}", until.local_minute()) };
        }
        match standing {
            Some((e, state)) if state.is_held() => Release::Wait { until: e.until, why: e.said(state) },
            _ if self.room(p) > 0 => Release::Go { probe: matches!(standing, Some((_, State::HalfOpen))) },
            Some((e, State::HalfOpen)) => {
                let why = format!("another task probes {} first", e.id);
                Release::Wait { until: self.now.plus(self.turn()), why }
            }
            _ => {
                let why = format!("others on their way to {} come first", p.id());
                Release::Wait { until: self.now.plus(self.turn()), why }
            }
        }
    }

    /// Whether a task may be sent to this profile now; else when to look again, and why.
    pub fn is_open(&self, profile: &str) -> std::result::Result<(), (Time, String)> {
        match self.way_to(&self.profile(profile)) {
            Way::Free => Ok(()),
            Way::Later(until, why) => Err((until, why)),
            Way::Held(state) => Err((self.now.plus(self.turn()), format!("{profile} is {}", state.as_str()))),
        }
    }

    /// Who takes new work of a profile whose provider is held, as [`Router::choose`] would say of work that waits there.
    pub fn instead_of(&self, profile: &str) -> Option<String> {
        let (entry, _) = self.standing(profile).filter(|(_, state)| state.is_held())?;
        let blocker = entry.cause.blocker_type()?;
        if self.is_orchestrators(blocker) {
            return None;
        }
        let limiting = [entry.id.clone(), self.profile(profile).id()].into_iter().filter(Id::is_known);
        let candidates = self.candidates(profile, &[]);
        let fit = in_order(candidates, blocker, &limiting.collect::<Vec<_>>());
        fit.into_iter().find(|p| matches!(self.way_to(p), Way::Free)).map(|p| p.name)
    }

    /// Whether other hosts decide about the board, too.
    pub fn is_shared(&self) -> bool {
        self.routing.is_shared
    }

    /// Whether the configuration leaves it to the orchestrator where work goes after this.
    fn is_orchestrators(&self, blocker: Blocker) -> bool {
        blocker == Blocker::RateLimited
            && self.config.routing.rate_limit_route == RateLimitRoute::Orchestrator
    }

    /// Notes that a task is sent, so that the next one of this pass sees it on its way there, and nowhere else any more.
    pub fn send(&mut self, task: &str, worker: &Profile, is_move: bool) -> Value {
        self.withdraw(task);
        let (id, profile) = (worker.id(), worker.name.as_str());
        let said = json!({"profile": profile, "provider": id.name, "host": id.host, "move": is_move});
        let (task, profile) = (task.to_owned(), profile.to_owned());
        self.sent_of.insert(task.clone(), vec![self.sent.len()]);
        self.sent.push(Sent { task, profile, id, at: self.now, is_move, is_open: true });
        said
    }

    /// Notes that a task is on its way nowhere any more.
    pub fn withdraw(&mut self, task: &str) {
        for nth in self.sent_of.remove(task).unwrap_or_default() {
            self.sent[nth].is_open = false;
        }
    }

    /// Listed fallbacks that exist and were not tried, in their order; where it is asked for, then all others.
    fn candidates(&self, from: &str, tried: &[String]) -> Vec<Profile> {
        let fit = |p: &&str| self.known.has(p) == Some(true) && *p != from && !tried.iter().any(|t| t == p);
        let listed = self.profile(from).fallbacks;
        let mut names: Vec<String> =
            listed.iter().map(String::as_str).filter(fit).map(str::to_owned).collect();
        if self.config.routing.auto {
            let decides = |p: &str| p == "default" || self.orchestrators.iter().any(|o| o == p);
            let mut more: Vec<&str> = self.routing.profiles.keys().map(String::as_str).filter(fit).collect();
            more.retain(|p| !decides(p) && !names.iter().any(|n| n == p));
            more.sort_by_cached_key(|p| (self.on_way(&self.profile(p).id()), (*p).to_owned()));
            names.extend(more.into_iter().map(str::to_owned));
        }
        names.iter().map(|n| self.profile(n)).collect()
    }

    /// Those that may take a task, in the fallback order.
    fn in_turn(&self, ask: &Ask<'_>) -> Vec<Profile> {
        let candidates = self.candidates(ask.from, &tried(ask.detail, self.now));
        in_order(candidates, ask.blocker, &ask.limiting)
    }

    fn way_to(&self, p: &Profile) -> Way {
        match (self.place_at(p), self.of(p)) {
            // A task that was limited there probes it; no other is simply moved onto what may still refuse.
            (Way::Free, Some((_, State::HalfOpen))) => {
                Way::Later(self.now.plus(self.turn()), format!("{} has to be probed first", p.id()))
            }
            (way, _) => way,
        }
    }

    /// Whether there is a place for one more, be it for the probe.
    fn place_at(&self, p: &Profile) -> Way {
        let standing = self.of(p);
        if let Some((e, state)) = standing.filter(|(_, state)| state.is_held()) {
            return Way::Held(e.said(state));
        }
        if let Some(until) = self.routing.quiet_until {
            return Way::Later(until, format!("quiet hours until {}", until.local_minute()));
        }
        let turn = self.now.plus(self.turn());
        if self.room(p) == 0 {
            let why = match standing {
                Some((_, State::HalfOpen)) => format!("{} is being probed", p.id()),
                _ => format!("others on their way to {} come first", p.name),
            };
            return Way::Later(turn, why);
        }
        let keys = &self.config.routing;
        for (window, most, word) in
            [(HOUR, keys.moves_per_hour, "an hour"), (NIGHT, keys.moves_per_night, "a night")]
        {
            let recent = |s: &&Sent| s.is_move && s.profile == p.name && self.now.since(s.at) < window;
            let mut times: Vec<Time> = self.sent.iter().filter(recent).map(|s| s.at).collect();
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            if times.len() >= most {
                times.sort_unstable();
                let free = times[times.len() - most].plus(window);
                return Way::Later(free.max(turn), format!("{} took {most} in {word} already", p.name));
            }
        }
        Way::Free
    }

    /// How many more may be sent to a profile's provider now: one as a probe, else a few, twice as many after each healthy
    /// stretch.
    fn room(&self, p: &Profile) -> usize {
        let id = p.id();
        let standing = self.ledger.of(p, self.now, &self.policy);
        match standing {
            Some((_, state)) if state.is_held() => 0,
            Some((e, State::HalfOpen)) => usize::from(self.probing(&id, e).is_none()),
            _ => {
                let pace = seconds(self.config.routing.pace).max(1);
                let good = standing.and_then(|(e, _)| e.good);
                // Time alone does not prove health: it counts from the first attempt that worked since the sending began.
                let since = self.first_good(&id, good).unwrap_or(self.now);
                let steps = u32::try_from((self.now.since(since) / pace).clamp(0, 10)).unwrap_or(0);
                let most = usize::try_from(self.config.routing.at_once).unwrap_or(usize::MAX);
                most.saturating_mul(2_usize.pow(steps)).saturating_sub(self.on_way(&id))
            }
        }
    }

    /// How many tasks are on their way to a provider: ready or running there.
    pub fn on_way(&self, id: &Id) -> usize {
        let here = |s: &&Sent| s.is_open && s.id.is_same(id);
        // However often it was sent, a task takes one place.
        let tasks: BTreeSet<&str> = self.sent.iter().filter(here).map(|s| s.task.as_str()).collect();
        tasks.len()
    }

    /// The task that tries a provider after its hold, as long as it is on its way.
    pub fn probing(&self, id: &Id, entry: &Entry) -> Option<&str> {
        // A probe that nobody takes proves nothing; the next one may go after a while.
        let since = entry.bad.max(self.now.plus(-seconds(self.config.routing.unclaimed)));
        // A refused key is one profile's, and another key of the same provider says nothing of it.
        let tries = |s: &Sent| match &entry.profile {
            Some(_) => entry.is_key_of(&s.profile, &s.id),
            None => s.id.is_same(id),
        };
        let here = |s: &&Sent| s.is_open && tries(s) && s.at >= since;
        self.sent.iter().find(here).map(|s| s.task.as_str())
    }

    /// When the present run of sending began: what was sent before an hour's silence proves nothing of today's load.
    fn first_of_burst(&self, id: &Id) -> Option<Time> {
        let mut times: Vec<Time> =
            self.sent.iter().filter(|s| s.id.is_same(id)).map(|s| s.at).chain([self.now]).collect();
        times.sort_unstable();
        let gap = times.windows(2).rposition(|w| w[1].since(w[0]) > HOUR).map_or(0, |i| i + 1);
        times.get(gap).copied()
    }

    /// The first sign of health of a provider since the present run of sending to it began.
    fn first_good(&self, id: &Id, recovered: Option<Time>) -> Option<Time> {
        let began = self.first_of_burst(id)?;
        let good = |s: &&Sighting| s.news == News::Good && s.id.is_same(id) && s.at >= began;
        let seen = self.routing.sightings.iter().filter(good).map(|s| s.at).min();
        // The attempt that ended the trouble is one.
        seen.into_iter().chain(recovered.filter(|at| *at >= began)).min()
    }

    fn turn(&self) -> i64 {
        seconds(self.config.routing.pace).clamp(1, TURN)
    }
}

/// How it stands with one candidate.
enum Way {
    Free,
    Later(Time, String),
    /// How its provider or its key stands.
    Held(String),
}

/// When a task's present story began: what others decided before any card was written starts it afresh; what is
/// decided upon a card goes on with it, or cards would make the count endless.
fn began(d: &Detail, now: Time) -> Time {
    let day = now.plus(-DAY);
    let card = d.cards_made.iter().map(|c| c.created_at).filter(|at| *at > day).min();
    let before_card = |e: &&Event| card.is_none_or(|c| e.at < c) && !e.at.is_ahead_of(now);
    let fresh =
        d.events.iter().filter(|e| authorship::is_fresh_start(e)).filter(before_card).map(|e| e.at).max();
    fresh.map_or(day, |f| f.max(day))
}

/// How often a task was moved or requeued in its present story, by a watcher or an orchestrator. What a person does uses up nothing.
pub fn moves(d: &Detail, now: Time) -> usize {
    let began = began(d, now);
    let card = d.cards_made.iter().map(|c| c.created_at).min();
    let by_us = |e: &&Event| e.trail().and_then(|t| t.get("sent")?.get("move")?.as_bool()) == Some(true);
    let decided = |e: &&Event| {
        let kind = matches!(e.kind, EventKind::Assigned | EventKind::Unblocked);
        let by_orchestrator = authorship::is_fresh_start(e) && !authorship::starts_anew(d, e);
        kind && by_orchestrator && card.is_some_and(|c| e.at >= c)
    };
    let events = || d.events.iter().filter(|e| e.at >= began);
    // One step leaves several events of one moment; a reassign and an unblock by hand count as one.
    let ours = apart(events().filter(by_us).map(|e| e.at), 0);
    ours + apart(events().filter(decided).map(|e| e.at), 120)
}

/// How many moments lie further apart than `breath` seconds, the first one counted.
fn apart(times: impl Iterator<Item = Time>, breath: i64) -> usize {
    let mut last: Option<Time> = None;
    times
        .filter(|at| {
            let new = last.is_none_or(|l| at.since(l) > breath);
            if new {
                last = Some(*at);
            }
            new
        })
        .count()
}

/// Those on surely another provider first. One that cannot be told apart from the limiting one does not count; it will do
/// where the provider is not what limits.
fn in_order(candidates: Vec<Profile>, blocker: Blocker, limiting: &[Id]) -> Vec<Profile> {
    let elsewhere = |p: &Profile| {
        let id = p.id();
        id.is_named() && limiting.iter().all(|l| id.is_surely_other(l))
    };
    let (mut fit, second): (Vec<Profile>, Vec<Profile>) = candidates.into_iter().partition(elsewhere);
    if blocker != Blocker::RateLimited {
        fit.extend(second);
    }
    fit
}

/// Profiles that tried it in its present story and failed.
fn tried(d: &Detail, now: Time) -> Vec<String> {
    let began = began(d, now);
    let failed = |r: &&board::Run| {
        r.started_at >= began
            && r.ended_at.is_some_and(|end| end > r.started_at)
            && r.outcome.as_deref() != Some("completed")
    };
    d.runs.iter().filter(failed).filter_map(|r| r.profile.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::facts::Refusal;
    use board::testing::{NOW, ago, detail};

    #[test]
    fn a_profile_whose_key_is_refused_is_none_to_assign_work_to() {
        let profile = |(name, provider): (&str, &str)| {
            let of = Profile { name: name.into(), provider: Some(provider.into()), ..Profile::default() };
            (name.to_owned(), of)
        };
        let known = ["luna", "mira", "sol"].into_iter().collect();
        let all = [("luna", "moon"), ("mira", "star"), ("sol", "sun")];
        let mut routing = Routing { profiles: all.into_iter().map(profile).collect(), ..Routing::default() };
        // The ledger has forgotten it.
        let entry = Entry {
            id: Id::new(Some("star"), None),
            profile: Some("mira".into()),
            cause: Cause::Credential,
            since: ago(10 * DAY),
            bad: ago(9 * DAY),
            until: ago(9 * DAY - 21_600),
            strikes: 2,
            task: "t_00000009".into(),
            good: None,
        };
        let task = detail("t_00000001", board::Status::Blocked).task.clone();
        let config = Config::default();
        let free = |routing: &Routing| {
            Router::new(routing, &config, NOW, &known, Vec::new()).free_instead_of(&task).join(" ")
        };
        assert_eq!(free(&routing), "mira sol");
        routing.refusals = vec![Refusal { entry, is_elsewhere: true }];
        assert_eq!(free(&routing), "sol");
    }
}
