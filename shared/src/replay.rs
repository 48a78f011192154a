//! What a pass saw and decided, kept so that another policy can decide on it again: read-only, and differences only.

use std::collections::BTreeSet;
use std::io::{Error, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::board::Step;
use crate::config::Config;
use crate::hash::fnv;
use crate::provider::{self, Profile};
use crate::time::Time;
use crate::timers::WATCHED;
use crate::watch::distress::SynthesizeDistress;
use crate::watch::heal::Heal;
use crate::watch::route::RouteBlocked;
use crate::watch::route::facts::quiet;
use crate::watch::{Decision, Pass, Watcher};

/// Most bytes of what one pass saw that are kept; a pass that saw more is not.
const MOST_SEEN: usize = 1 << 20;

/// How often the timers that ship look, in seconds: so often is asked what would have been done while nothing changed.
pub const EVERY: i64 = WATCHED[0].every;

/// The watchers that can be replayed: those that change what work is done, by whom and when.
const REPLAYED: [&str; 3] = [Heal::NAME, SynthesizeDistress::NAME, RouteBlocked::NAME];

/// A pass that had something to say, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The board's file.
    pub board: String,
    /// The watcher.
    pub program: String,
    /// The pass.
    pub pass: String,
    /// When.
    pub at: Time,
    /// Its clock was given, which what it wrote says.
    pub clock_given: bool,
    /// The one task it looked at, if so.
    pub only: Option<String>,
    /// What it did, step by step.
    pub did: Vec<Did>,
    /// What it saw, as JSON.
    pub seen: String,
}

/// A step that was decided, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Did {
    /// The task.
    pub task: String,
    /// The verb.
    pub action: String,
    /// The rule.
    pub case: String,
    /// A hash of the whole step.
    pub hash: String,
}

impl Did {
    /// What a step comes to.
    pub fn of(step: &Step) -> Did {
        let whole = serde_json::to_vec(step).unwrap_or_default();
        Did {
            task: step.task.clone(),
            action: step.action.clone(),
            case: step.case.clone(),
            hash: format!("{:016x}", fnv(whole)),
        }
    }
}

impl Stored {
    /// A pass as it is kept; `None` where it had nothing to say, or saw too much to be kept.
    pub fn of<W: Watcher>(board: &str, pass: &Pass, seen: &W::Seen, decision: &Decision) -> Option<Stored> {
        let is_idle = decision.steps.is_empty() && decision.left.is_empty() && decision.findings.is_empty();
        if is_idle || !REPLAYED.contains(&W::NAME) {
            return None;
        }
        let mut text = Bounded(Vec::new());
        serde_json::to_writer(&mut text, seen).ok()?;
        Some(Stored {
            board: board.to_owned(),
            program: W::NAME.to_owned(),
            pass: pass.id.clone(),
            at: pass.now,
            clock_given: pass.clock_given,
            only: pass.only.clone(),
            did: decision.steps.iter().map(Did::of).collect(),
            seen: String::from_utf8(text.0).ok()?,
        })
    }

    /// What stands for all that was seen but the moment: of two passes that differ in nothing else one is enough.
    pub(crate) fn content(&self) -> i64 {
        // `now` is the first field of what every watcher sees.
        let rest = self.seen.find(',').map_or(self.seen.as_str(), |at| &self.seen[at..]);
        fnv(rest.bytes().chain(self.only.iter().flat_map(|o| o.bytes()))).cast_signed()
    }
}

/// What was seen in a pass, ready to be decided on at any moment.
#[derive(Debug)]
pub struct Again {
    seen: Value,
    pass: Pass,
}

impl Again {
    /// Reads what a pass saw.
    ///
    /// # Errors
    /// Why it cannot be decided on: it is another version's.
    pub fn of(stored: &Stored) -> Result<Again, String> {
        let program = REPLAYED.into_iter().find(|name| *name == stored.program);
        let program = program.ok_or_else(|| format!("{} is not replayed", stored.program))?;
        let seen = serde_json::from_str(&stored.seen).map_err(|e| e.to_string())?;
        let (id, only, clock_given) = (stored.pass.clone(), stored.only.clone(), stored.clock_given);
        Ok(Again { seen, pass: Pass { id, program, now: stored.at, clock_given, only, dry: false } })
    }

    /// What a policy decides on it at a moment, where it was seen under another one.
    ///
    /// # Errors
    /// What was seen is another version's.
    pub fn decide(&mut self, at: Time, policy: &Config, seen_under: &Config) -> Result<Vec<Step>, String> {
        self.pass.now = at;
        let now = serde_json::to_value(at).map_err(|e| e.to_string())?;
        let quiet = serde_json::to_value(quiet(policy, at)).map_err(|e| e.to_string())?;
        let mut seen = self.seen.clone();
        seen["now"] = now;
        for place in ["/quiet_until", "/routing/quiet_until"] {
            if let Some(until) = seen.pointer_mut(place) {
                until.clone_from(&quiet);
            }
        }
        for place in ["/profiles", "/routing/profiles"] {
            if let Some(profiles) = seen.pointer_mut(place).and_then(Value::as_object_mut) {
                under(profiles, policy, seen_under)?;
            }
        }
        match self.pass.program {
            Heal::NAME => self.by(&Heal, &seen, policy),
            SynthesizeDistress::NAME => self.by(&SynthesizeDistress, &seen, policy),
            _ => self.by(&RouteBlocked, &seen, policy),
        }
    }

    fn by<W: Watcher>(&self, watcher: &W, seen: &Value, config: &Config) -> Result<Vec<Step>, String> {
        let seen: W::Seen = W::Seen::deserialize(seen).map_err(|e| e.to_string())?;
        Ok(watcher.decide(&seen, &self.pass, config).steps)
    }
}

/// Profiles as another policy describes them. What both say alike is as it was seen, be it from the profile's own folder.
fn under(profiles: &mut Map<String, Value>, policy: &Config, seen_under: &Config) -> Result<(), String> {
    let names: BTreeSet<&String> = policy.profiles.keys().chain(seen_under.profiles.keys()).collect();
    for name in names {
        let (is, was) = (policy.profiles.get(name), seen_under.profiles.get(name));
        if is == was {
            continue;
        }
        let keys = is.cloned().unwrap_or_default();
        let known = profiles.get(name).map(Profile::deserialize).transpose().map_err(|e| e.to_string())?;
        let known = known.unwrap_or_else(|| Profile { name: name.clone(), ..Profile::default() });
        let profile = Profile { fallbacks: keys.fallbacks.clone(), ..known };
        let profile = provider::as_told(profile, &keys);
        profiles.insert(name.clone(), serde_json::to_value(profile).map_err(|e| e.to_string())?);
    }
    Ok(())
}
/// What one policy does and the other does not, of one watcher about one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The watcher.
    pub program: String,
    /// The task.
    pub task: String,
    /// The first look at which they differ so.
    pub at: Time,
    /// The last one.
    pub until: Time,
    /// How many looks those are.
    pub looks: u32,
    /// What the policy in force does; `None`: nothing.
    pub in_force: Option<Does>,
    /// What the other policy does; `None`: nothing.
    pub other: Option<Does>,
}

/// What a policy does, at the first of the looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Does {
    /// The verb.
    pub action: String,
    /// The rule.
    pub case: String,
    /// The reason.
    pub because: String,
}

impl Does {
    fn of(step: &Step) -> Does {
        Does { action: step.action.clone(), case: step.case.clone(), because: step.because.clone() }
    }

    fn is_same(a: Option<&Does>, b: Option<&Does>) -> bool {
        let verb = |d: Option<&Does>| d.map(|d| (d.action.clone(), d.case.clone()));
        verb(a) == verb(b)
    }
}

/// What a replay came to so far.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Stored passes that were decided on again.
    pub passes: u32,
    /// Moments at which both policies were asked.
    pub looks: u32,
    /// Passes that decided otherwise than the policy in force does now: it was another one, or another version.
    pub changed: u32,
    /// Passes that another version stored.
    pub unreadable: u32,
    /// What differs, in the order of its first look.
    pub differences: Vec<Difference>,
}

impl Replayed {
    /// Replays one stored pass, and the looks after it until the next one of the same watcher on the same board, at `until`
    /// at the latest: what was seen did not change meanwhile, or it would have been stored.
    pub fn add(&mut self, stored: &Stored, until: Time, in_force: &Config, other: &Config) {
        if self.try_add(stored, until, in_force, other).is_err() {
            self.unreadable += 1;
        }
    }

    fn try_add(
        &mut self,
        stored: &Stored,
        until: Time,
        in_force: &Config,
        other: &Config,
    ) -> Result<(), String> {
        let mut again = Again::of(stored)?;
        let mut at = stored.at;
        let mut acted = !stored.did.is_empty();
        loop {
            let is = again.decide(at, in_force, in_force)?;
            let would = again.decide(at, other, in_force)?;
            if at == stored.at {
                self.passes += 1;
                let did: Vec<Did> = is.iter().map(Did::of).collect();
                self.changed += u32::from(did != stored.did);
            }
            self.looks += 1;
            self.compare(&stored.program, at, &is, &would);
            // After a change of its own the world was another one.
            acted |= !is.is_empty();
            at = at.plus(EVERY);
            if acted || at >= until {
                return Ok(());
            }
        }
    }

    fn compare(&mut self, program: &str, at: Time, is: &[Step], would: &[Step]) {
        let of = |steps: &[Step], task: &str| steps.iter().find(|s| s.task == task).cloned();
        let mut tasks: Vec<&str> = is.iter().chain(would).map(|s| s.task.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        for task in tasks {
            let (a, b) = (of(is, task), of(would, task));
            if a == b {
                continue;
            }
            let (in_force, other) = (a.as_ref().map(Does::of), b.as_ref().map(Does::of));
            let open = self.differences.iter_mut().rev().find(|d| d.task == task && d.program == program);
            let goes_on = open.filter(|d| {
                Does::is_same(d.in_force.as_ref(), in_force.as_ref())
                    && Does::is_same(d.other.as_ref(), other.as_ref())
                    && at.since(d.until) <= 2 * EVERY
            });
            match goes_on {
                Some(d) => {
                    d.until = at;
                    d.looks += 1;
                }
                None => self.differences.push(Difference {
                    program: program.to_owned(),
                    task: task.to_owned(),
                    at,
                    until: at,
                    looks: 1,
                    in_force,
                    other,
                }),
            }
        }
    }
}

/// A text that may not get too long.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + more.len() > MOST_SEEN {
            return Err(Error::other("too long to be kept"));
        }
        self.0.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
