//! What a watcher is: it observes through one value, decides purely, and returns steps with their reasons.

pub mod acts;
pub mod budget;
pub(crate) mod clock;
pub mod distress;
pub(crate) mod draft;
pub(crate) mod ended;
pub mod handing;
pub mod heal;
pub(crate) mod people;
pub mod route;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod word;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::board::{Board, Detail, Step};
use crate::cache::Cache;
use crate::config::Config;
use crate::error::Result;
use crate::host::{Ask, Freed, Host, HostFacts, Look, Orphan, Proof, Recheck, Target};
use crate::logs::usage::Usage;
use crate::logs::vitals::{Vitals, Worker};
use crate::overview::Overview;
use crate::provider::{self, Profile};
pub use crate::runtime::{Dispatcher, LogAsk, LogReader, Runtime};
use crate::session::Mapping;
use crate::session::evidence::Evidence;
use crate::time::Time;
use crate::tree::Tree;
use crate::tree::changes::Changes;
use crate::tree::state::TreeState;

/// Who is carrying out which pass, and when. Handed to everything that decides or writes.
#[derive(Debug, Clone)]
pub struct Pass {
    /// `20261121T031205Z-heal-7f3a`.
    pub id: String,
    /// The program.
    pub program: &'static str,
    /// The one reading of the clock.
    pub now: Time,
    /// It came from the command line.
    pub clock_given: bool,
    /// Only this task.
    pub only: Option<String>,
    /// Nothing may be written anywhere.
    pub dry: bool,
}

/// A task that was looked at and not changed, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// Which.
    pub task: String,
    /// The reason in one line.
    pub because: String,
    /// The reason is that we do not know.
    pub unknown: bool,
    /// When the watcher would come to another answer by itself, where it waits for a moment that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Time>,
}

impl Left {
    /// A task that is left alone for this reason.
    pub fn new(task: &str, because: impl Into<String>) -> Left {
        Left { task: task.to_owned(), because: because.into(), unknown: false, next: None }
    }

    /// The reason is that something is not known.
    #[must_use]
    pub fn unknown(self) -> Left {
        Left { unknown: true, ..self }
    }

    /// Until then.
    #[must_use]
    pub fn until(self, next: Option<Time>) -> Left {
        Left { next, ..self }
    }
}

/// What a watcher makes of what it saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What to change, at most one step a task.
    pub steps: Vec<Step>,
    /// What was looked at and left alone.
    pub left: Vec<Left>,
    /// Findings about the board or the host that somebody should see; they make the pass end with exit 1.
    pub findings: Vec<String>,
    /// What lasts and is nobody's fault, by its name: said when it begins and when it ends, and no matter for the exit code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notices: BTreeMap<String, String>,
}

/// Who can be asked about processes; the real one reads `/proc`.
pub trait Witness {
    /// What is known of this machine.
    fn facts(&self) -> HostFacts;
    /// Whether a claim's host is this machine, under its present or a former name.
    fn is_here(&self, host: &str) -> bool;
    /// Looks at the workers of some attempts.
    fn look(&self, asks: &[Ask]) -> Vec<Look>;
    /// Looks once more, just before the board is changed: whether these workers still are gone, and who works on these
    /// tasks.
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck;
    /// Seconds since this machine was started, now; `None` where nobody can tell.
    fn boot_clock(&self) -> Option<i64> {
        None
    }
    /// Processes that work in a folder, as far as we may see them.
    fn inside(&self, _folder: &std::path::Path) -> Vec<Orphan> {
        Vec::new()
    }
    /// A living worker as it may be stopped; `None` where nothing proves who it is.
    fn target(&self, _task: &str, _run: Option<i64>, _pid: i64) -> Option<Target> {
        None
    }
    /// Stops a worker and what it started; gives the proof that they are gone.
    ///
    /// # Errors
    /// Why it was not, in words.
    fn stop(&self, _target: &Target) -> std::result::Result<Proof, String> {
        Err("nobody is stopped here".into())
    }
}

impl Witness for Host {
    fn facts(&self) -> HostFacts {
        Host::facts(self)
    }
    fn is_here(&self, host: &str) -> bool {
        Host::is_here(self, host)
    }
    fn look(&self, asks: &[Ask]) -> Vec<Look> {
        Host::look(self, asks)
    }
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        Host::recheck(self, proofs, freed)
    }
    fn boot_clock(&self) -> Option<i64> {
        Some(Host::boot_clock(self))
    }
    fn inside(&self, folder: &std::path::Path) -> Vec<Orphan> {
        Host::inside(self, folder)
    }
    fn target(&self, task: &str, run: Option<i64>, pid: i64) -> Option<Target> {
        Host::target(self, task, run, pid)
    }
    fn stop(&self, target: &Target) -> std::result::Result<Proof, String> {
        Host::stop(self, target)
    }
}

/// Looks at a working tree.
pub type TreeReader = dyn Fn(&std::path::Path, std::time::Duration) -> std::result::Result<Tree, String>;

/// Says which files changed in a working tree since a moment, within a time limit.
pub type ChangesReader =
    dyn Fn(&std::path::Path, Time, std::time::Duration) -> std::result::Result<Changes, String>;

/// Says what state a working tree is in, within a time limit.
pub type StateReader<'a> =
    dyn Fn(&std::path::Path, std::time::Duration) -> std::result::Result<TreeState, String> + 'a;

/// Which attempt's use is asked for.
#[derive(Debug, Clone, Copy)]
pub struct UseAsk<'a> {
    /// The board was made by `board init`.
    pub own_board: bool,
    /// The task.
    pub task: &'a str,
    /// Who works or worked.
    pub profile: Option<&'a str>,
    /// The file the claim of the attempt names.
    pub file: Option<&'a str>,
    /// The session of this machine that was spawned for the attempt.
    pub session: Option<&'a str>,
    /// Where it works.
    pub workspace: Option<&'a str>,
    /// When the attempt began.
    pub from: Time,
    /// When it ended; `None` while it runs.
    pub to: Option<Time>,
    /// When the next attempt began that may write to the same log.
    pub next: Option<Time>,
    /// The one reading of the clock.
    pub now: Time,
}

/// Says what an attempt used. What was read is remembered in the cache.
pub type UseReader<'a> = dyn Fn(&UseAsk<'_>, &mut Cache) -> Usage + 'a;

/// Says how an attempt fares, of which this may be the worker; `None` where nothing tells of it. What was read is remembered
/// in the cache.
pub type VitalsReader<'a> = dyn Fn(&UseAsk<'_>, Option<Worker>, &mut Cache) -> Option<Vitals> + 'a;

/// Says what is known of sessions that are mapped on this machine, in the order of the mappings. Only asks: nobody is prompted,
/// stopped or listened to.
pub type SessionReader<'a> = dyn Fn(&[Mapping]) -> Vec<Evidence> + 'a;

/// Everything of the world that a watcher may touch while it observes.
pub struct World<'a> {
    /// The board.
    pub board: &'a mut dyn Board,
    /// Processes.
    pub host: &'a dyn Witness,
    /// Logs.
    pub logs: &'a dyn LogReader,
    /// What we remember between passes; never the ground of a bolder action.
    pub cache: &'a mut Cache,
    /// The board's runtime.
    pub runtime: &'a dyn Fn() -> Runtime,
    /// Where a profile's requests go; `None` where nobody knows that profile.
    pub profile: &'a dyn Fn(&str) -> Option<Profile>,
    /// What is true of a working tree, within a time limit; else why that is not known.
    pub tree: &'a TreeReader,
    /// Which files changed in a working tree; else why that is not known.
    pub changes: &'a ChangesReader,
    /// What state a working tree is in, to be compared with a later one; else why that is not known.
    pub state: &'a StateReader<'a>,
    /// What an attempt used.
    pub usage: &'a UseReader<'a>,
    /// How an attempt fares.
    pub vitals: &'a VitalsReader<'a>,
    /// What is known of sessions.
    pub sessions: &'a SessionReader<'a>,
    /// Wall clock minus boot clock, in seconds.
    pub clock_offset: i64,
    /// Configuration.
    pub config: &'a Config,
}

/// One of the four programs that keep a board moving.
pub trait Watcher {
    /// What it sees.
    type Seen: Serialize + DeserializeOwned;
    /// Its program name.
    const NAME: &'static str;
    /// Whether its passes are kept, to be decided again under another policy ([`crate::replay`]): it changes what work is done, by
    /// whom or when.
    const IS_REPLAYED: bool;
    /// The watcher as one look needs it. `origin`: where each value of the configuration comes from.
    fn new(origin: &BTreeMap<String, String>) -> Self;
    /// Looks, and changes nothing on the board.
    ///
    /// # Errors
    /// The board cannot be read.
    fn observe(&self, world: &mut World<'_>, pass: &Pass) -> Result<Self::Seen>;
    /// Decides, touching nothing.
    fn decide(&self, seen: &Self::Seen, pass: &Pass, config: &Config) -> Decision;
    /// Whether nothing will be written, whatever is found.
    fn only_looks(&self) -> bool {
        false
    }
    /// The page for a person, where this watcher makes one.
    fn overview(&self, _seen: &Self::Seen, _pass: &Pass, _config: &Config) -> Option<Overview> {
        None
    }
    /// Why it says nothing about a task that is open: a report names only what was looked at closely. One line.
    fn silence(detail: &Detail, now: Time) -> String;
    /// Turns what was seen into what would have been seen at another moment under another policy.
    fn under(seen: &mut Self::Seen, other: &OtherPolicy<'_>);
    /// How many open tasks the pass glanced at.
    fn glanced(seen: &Self::Seen) -> usize;
    /// When it was seen.
    fn seen_at(seen: &Self::Seen) -> Time;
}

/// Another moment and another policy for what was seen.
#[derive(Debug, Clone, Copy)]
pub struct OtherPolicy<'a> {
    /// The moment.
    pub at: Time,
    /// The policy.
    pub policy: &'a Config,
    /// The policy it was seen under.
    pub seen_under: &'a Config,
}

impl OtherPolicy<'_> {
    /// Profiles as the other policy describes them. What both say alike is as it was seen, be it from the profile's own folder.
    pub(crate) fn profiles(&self, profiles: &mut BTreeMap<String, Profile>) {
        let (is, was) = (&self.policy.profiles, &self.seen_under.profiles);
        for name in is.keys().chain(was.keys()).collect::<BTreeSet<_>>() {
            if is.get(name) == was.get(name) {
                continue;
            }
            let keys = is.get(name).cloned().unwrap_or_default();
            let known = profiles.remove(name);
            let known = known.unwrap_or_else(|| Profile { name: name.clone(), ..Profile::default() });
            let profile = Profile { fallbacks: keys.fallbacks.clone(), ..known };
            profiles.insert(name.clone(), provider::as_told(profile, &keys));
        }
    }
}

/// What is done with every watcher in turn.
pub trait Visit {
    /// Does it with one.
    fn one<W: Watcher>(&mut self, watcher: &W);
}

macro_rules! watchers {
    ($($watcher:ty),* $(,)?) => {
        /// The names of all watchers, in the order of a round.
        pub const NAMES: &[&str] = &[$(<$watcher as Watcher>::NAME),*];

        /// Calls `visit` with every watcher, in the order of a round.
        pub fn each(origin: &BTreeMap<String, String>, visit: &mut impl Visit) {
            $(visit.one(&<$watcher as Watcher>::new(origin));)*
        }
    };
}

// The one list of them. What is done with all of them goes through it.
watchers![heal::Heal, distress::SynthesizeDistress, route::RouteBlocked, budget::BudgetCheck];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ProfileKeys;

    #[test]
    fn every_watcher_has_a_timer_and_a_list_of_its_acts() {
        let timers: Vec<&str> = crate::timers::WATCHED.iter().map(|w| w.program).collect();
        let acts: Vec<&str> = acts::ACTS.iter().map(|a| a.program).collect();
        assert_eq!((timers.as_slice(), acts.as_slice()), (NAMES, NAMES));
    }

    #[test]
    fn another_policy_changes_only_the_profiles_it_says_otherwise_of() {
        let config = |fallbacks: &[&str]| {
            let fallbacks = fallbacks.iter().map(|f| (*f).to_owned()).collect();
            let luna = ProfileKeys { fallbacks, ..ProfileKeys::default() };
            let sol = ProfileKeys { provider: Some("sun".into()), ..ProfileKeys::default() };
            Config {
                profiles: [("luna".to_owned(), luna), ("sol".to_owned(), sol)].into(),
                ..Config::default()
            }
        };
        let (was, is) = (config(&[]), config(&["sol"]));
        let other = OtherPolicy { at: Time(9), policy: &is, seen_under: &was };
        let of = |name: &str, endpoint: &str| Profile {
            name: name.into(),
            provider: Some("seen".into()),
            endpoint: Some(endpoint.into()),
            ..Profile::default()
        };
        let mut profiles: BTreeMap<String, Profile> =
            ["luna", "sol", "vega"].map(|n| (n.to_owned(), of(n, "https://e.example"))).into();
        other.profiles(&mut profiles);
        let fallbacks: Vec<_> = profiles.values().map(|p| (p.name.as_str(), p.fallbacks.len())).collect();
        assert_eq!(fallbacks, [("luna", 1), ("sol", 0), ("vega", 0)]);
        assert_eq!(profiles["sol"], of("sol", "https://e.example"), "said alike: as it was seen");
    }
}
