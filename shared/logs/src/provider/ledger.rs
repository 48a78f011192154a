//! How each provider stands: what was seen of it, folded into one entry, and what that allows. Pure.
//!
//! Nothing here is remembered for its own sake: sightings come from run rows and from events that watchers left on the
//! board, so a lost cache changes no decision.

use serde::{Deserialize, Serialize};

use super::{Id, Profile};
use base::cause::Cause;
use base::named_enum::named_enum;
use base::time::Time;
use base::time::backoff;

/// What one attempt showed of its provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// The provider.
    pub id: Id,
    /// The profile whose attempt it was.
    pub profile: Option<String>,
    /// The task.
    pub task: String,
    /// When it was seen.
    pub at: Time,
    /// When that attempt began: only one that began after a hold says anything about its end.
    pub began: Time,
    /// What was seen.
    pub news: News,
}

/// Good or bad.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// The provider answered: the attempt finished, or was answered and has worked for long enough.
    Good,
    /// The attempt ended on the provider's refusal.
    Bad {
        /// Which.
        cause: Cause,
        /// When the provider says that it will answer again.
        resets: Option<Time>,
    },
}

/// The newest episode of one provider, or of one profile's credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The provider.
    pub id: Id,
    /// Set where only this profile's key is refused: another key of the same provider may well work.
    pub profile: Option<String>,
    /// Why it is held.
    pub cause: Cause,
    /// When the episode began.
    pub since: Time,
    /// The newest refusal.
    pub bad: Time,
    /// Until when nothing is sent there. After that one task probes.
    pub until: Time,
    /// Refusals that count: the first one, and every probe that failed.
    pub strikes: u32,
    /// The task that showed it.
    pub task: String,
    /// The first sign of health after it; the episode is over.
    pub good: Option<Time>,
}

named_enum! {
    /// What an entry means at one moment.
    pub enum State {
        /// Work may be sent there.
        Healthy = "healthy",
        /// Its hold is over, and nobody knows yet: one task probes.
        HalfOpen = "half_open",
        /// It limits requests for now.
        Limited = "limited",
        /// A quota or the money is used up.
        OutOfQuota = "out_of_quota",
        /// It has no capacity, or fails.
        Down = "down",
        /// This key is refused.
        CredentialBroken = "credential_broken",
        /// It was tried as often or as long as allowed; a person decides.
        GivenUp = "given_up",
    }
}

impl State {
    /// The word of lists for people.
    pub fn label(self) -> &'static str {
        match self {
            State::HalfOpen => "trying again",
            State::CredentialBroken => "key refused",
            _ => self.said(),
        }
    }

    /// The same for people, after "is".
    fn said(self) -> &'static str {
        match self {
            State::HalfOpen => "being tried again",
            State::OutOfQuota => "out of quota",
            State::CredentialBroken => "refused",
            State::GivenUp => "given up",
            State::Healthy | State::Limited | State::Down => self.as_str(),
        }
    }

    /// Whether nothing may be sent there.
    pub fn is_held(self) -> bool {
        !matches!(self, State::Healthy | State::HalfOpen)
    }
}

/// What lets a refused key be tried again besides the longest wait.
pub const RETRIED: &str = "tried again once its configuration changes or a person unblocks a task";

/// Seconds in which nothing was sent to a provider, after which its refusals are forgotten.
pub const FORGOTTEN: i64 = 43_200;

/// Numbers of the ledger, in seconds but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The first hold where no reset time is stated; it doubles with every strike.
    pub hold: i64,
    /// The longest hold, whatever a provider says.
    pub hold_max: i64,
    /// Health after which earlier strikes are forgotten.
    pub decay: i64,
    /// The longest an episode may last.
    pub give_up: i64,
    /// Strikes after which nothing is tried any more.
    pub max_probes: u32,
}

impl Entry {
    /// Whether it is younger than so many seconds, counted from its newest refusal or the end of its hold.
    pub fn is_within(&self, seconds: i64, now: Time) -> bool {
        now.since(self.bad.max(self.until)) < seconds
    }

    /// What it means now. A key that was changed since may be tried at once.
    pub fn state(&self, now: Time, changed: Option<Time>, policy: &Policy) -> State {
        if self.good.is_some() {
            return State::Healthy;
        }
        if self.profile.is_some() && changed.is_some_and(|at| at > self.bad) {
            return State::HalfOpen;
        }
        if self.is_given_up(policy) {
            return State::GivenUp;
        }
        if now >= self.until {
            return State::HalfOpen;
        }
        match self.cause {
            Cause::Quota => State::OutOfQuota,
            Cause::Overloaded | Cause::ServerError | Cause::ConnectionRefused => State::Down,
            Cause::Credential => State::CredentialBroken,
            _ => State::Limited,
        }
    }

    /// Whether it was tried as often or as long as allowed. Hours in which nobody tried it do not count.
    fn is_given_up(&self, policy: &Policy) -> bool {
        self.strikes > policy.max_probes || self.bad.since(self.since) > policy.give_up
    }

    /// Whom it is about, for people: a provider, or one profile's key.
    pub fn subject(&self) -> String {
        match &self.profile {
            Some(name) if self.id.is_known() => format!("the key of {name} at {}", self.id),
            Some(name) => format!("the key of {name}"),
            None => self.id.to_string(),
        }
    }

    /// How it stands, for people. Of a refused key also what lets it be tried again.
    pub fn said(&self, state: State) -> String {
        let how = format!("{} is {}", self.subject(), state.said());
        match state {
            State::CredentialBroken => format!("{how}; {RETRIED}"),
            _ => how,
        }
    }

    /// What its waits are scattered by, so that the hosts of one fleet do not all come back in one second.
    fn key(&self) -> String {
        format!("{}/{}", self.id, self.profile.as_deref().unwrap_or_default())
    }

    /// Whether it is about the key that a profile has at a provider. A task that is pinned to another one asks with another key.
    pub fn is_key_of(&self, profile: &str, id: &Id) -> bool {
        self.profile.as_deref() == Some(profile) && !self.id.is_surely_other(id)
    }

    fn is_about(&self, id: &Id, profile: Option<&str>, cause: Cause) -> bool {
        if cause == Cause::Credential {
            return profile.is_some_and(|name| self.is_key_of(name, id));
        }
        // What is one profile's alone, as far as is known, is kept apart from what others know of that endpoint.
        let is_its_own = id.profile.is_none() || id.profile == self.id.profile;
        self.profile.is_none() && self.id.is_same(id) && is_its_own
    }

    fn hold(&mut self, at: Time, resets: Option<Time>, policy: &Policy) {
        self.until = resets
            .filter(|r| *r > at)
            .map(|r| r.min(at.plus(policy.hold_max)))
            .unwrap_or_else(|| self.grown(at, policy));
    }

    /// The end of a hold that nobody stated.
    fn grown(&self, at: Time, policy: &Policy) -> Time {
        let strikes = i64::from(self.strikes.saturating_sub(1));
        // Time mends no key: without a changed configuration or an operator who unblocks a task, only the longest wait tries it again.
        let first = if self.profile.is_some() { policy.hold_max } else { policy.hold };
        at.plus(backoff(first, strikes, policy.hold_max, &self.key()))
    }

    fn refused(&mut self, s: &Sighting, cause: Cause, resets: Option<Time>, policy: &Policy) {
        match self.good {
            // It worked in between. Soon after, it is the same trouble still, but for a limit that ends when it says.
            Some(good) => {
                let is_new = s.at.since(good) > policy.decay || resets.is_some_and(|at| at > s.at);
                self.strikes = if is_new { 1 } else { self.strikes.saturating_add(1) };
                self.since = if is_new { s.at } else { self.since };
                self.hold(s.at, resets, policy);
            }
            // Nothing was sent there for longer than that is remembered, as by a machine that was off: a new trouble.
            None if s.began.since(self.until) >= FORGOTTEN && !self.is_given_up(policy) => {
                (self.strikes, self.since) = (1, s.at);
                self.hold(s.at, resets, policy);
            }
            // A probe that failed. Each waits longer: a limit for each minute says "in 1.2s" all night.
            None if s.began >= self.until => {
                self.strikes = self.strikes.saturating_add(1);
                self.hold(s.at, resets, policy);
                self.until = self.until.max(self.grown(s.at, policy));
            }
            // Who tried a refused key meanwhile showed once more that nobody mended it.
            None if self.profile.is_some() => self.hold(s.at, resets, policy),
            // One of the many that ran into the same limit; a stated time counts, whichever attempt was told it.
            None => {
                let stated = resets.map(|r| r.min(s.at.plus(policy.hold_max)));
                self.until = stated.map_or(self.until, |r| r.max(self.until));
            }
        }
        if self.good.is_some() || cause == Cause::Quota || self.cause != Cause::Quota {
            self.cause = cause;
        }
        self.bad = self.bad.max(s.at);
        self.good = None;
        s.task.clone_into(&mut self.task);
    }

    /// Two accounts of one provider, from two boards.
    fn merged(a: &Entry, b: &Entry) -> Entry {
        let (newer, older) = if a.bad >= b.bad { (a, b) } else { (b, a) };
        let mut one = newer.clone();
        // An end that either board saw is one, unless the trouble is younger.
        let good = [a.good, b.good].into_iter().flatten().filter(|g| *g > newer.bad).min();
        one.good = good;
        if good.is_none() && older.good.is_none() {
            one.since = one.since.min(older.since);
            one.strikes = one.strikes.max(older.strikes);
            one.until = one.until.max(older.until);
        }
        one
    }
}

/// How all providers stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<Entry>,
}

impl Ledger {
    /// Folds what was seen, in the order it was seen.
    pub fn fold(sightings: &[Sighting], policy: &Policy) -> Ledger {
        let mut all: Vec<&Sighting> = sightings.iter().collect();
        all.sort_by_key(|s| (s.at, s.began));
        let mut ledger = Ledger::default();
        for s in all {
            match s.news {
                News::Good => ledger.answered(s),
                News::Bad { cause, resets } => ledger.refused(s, cause, resets, policy),
            }
        }
        ledger
    }

    /// Adds what other boards know. What was seen here ends their trouble too.
    #[must_use]
    pub fn joined(mut self, others: &[Entry], seen: &[Sighting]) -> Ledger {
        for other in others {
            let same = |e: &&mut Entry| match &other.profile {
                Some(name) => e.is_key_of(name, &other.id),
                None => e.profile.is_none() && e.id.is_same(&other.id) && e.id.profile == other.id.profile,
            };
            match self.entries.iter_mut().find(same) {
                Some(mine) => *mine = Entry::merged(mine, other),
                None => self.entries.push(other.clone()),
            }
        }
        seen.iter().filter(|s| s.news == News::Good).for_each(|s| self.answered(s));
        self
    }

    /// Forgets what refused nothing for so many seconds after its hold, but for whom nothing is sent to any more. Older refusals are known only
    /// where a task that they hit happens to be looked at, and a decision must not rest on that.
    #[must_use]
    pub fn within(mut self, now: Time, seconds: i64, policy: &Policy) -> Ledger {
        let is_given_up = |e: &Entry| e.state(now, None, policy) == State::GivenUp;
        self.entries.retain(|e| e.is_within(seconds, now) || is_given_up(e));
        self
    }

    /// Every entry, the newest trouble last.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What stands in a profile's way: its provider's entry or its own key's, whichever is worse.
    pub fn of(&self, profile: &Profile, now: Time, policy: &Policy) -> Option<(&Entry, State)> {
        let id = profile.id();
        let about = |e: &&Entry| match &e.profile {
            // Where its configuration changed since, it may name another provider now, which is tried first.
            Some(name) => {
                let changed = *name == profile.name && profile.changed.is_some_and(|at| at > e.bad);
                changed || e.is_key_of(&profile.name, &id)
            }
            None => e.id.is_same(&id),
        };
        let stands = |e| (e, Entry::state(e, now, profile.changed, policy));
        self.entries.iter().filter(about).map(stands).max_by_key(|(e, state)| (*state, e.until))
    }

    fn refused(&mut self, s: &Sighting, cause: Cause, resets: Option<Time>, policy: &Policy) {
        let own = s.profile.clone().filter(|_| cause == Cause::Credential);
        let nobodys = cause == Cause::Credential && own.is_none();
        if nobodys || (!s.id.is_known() && own.is_none()) {
            return;
        }
        if let Some(e) = self.entries.iter_mut().find(|e| e.is_about(&s.id, own.as_deref(), cause)) {
            e.refused(s, cause, resets, policy);
            // What one said of its name and another of its host is known of both.
            e.id.name = e.id.name.take().or_else(|| s.id.name.clone());
            e.id.host = e.id.host.take().or_else(|| s.id.host.clone());
            return;
        }
        let mut entry = Entry {
            id: s.id.clone(),
            profile: own,
            cause,
            since: s.at,
            bad: s.at,
            until: s.at,
            strikes: 1,
            task: s.task.clone(),
            good: None,
        };
        entry.hold(s.at, resets, policy);
        self.entries.push(entry);
    }

    fn answered(&mut self, s: &Sighting) {
        let about = |e: &&mut Entry| match &e.profile {
            Some(_) => s.profile.as_deref().is_some_and(|name| e.is_key_of(name, &s.id)),
            None => e.id.is_same(&s.id),
        };
        // What began before the newest refusal may only have been luckier.
        for e in self.entries.iter_mut().filter(about).filter(|e| e.good.is_none() && s.began >= e.bad) {
            e.good = Some(s.at);
        }
    }
}

#[cfg(test)]
mod tests;
