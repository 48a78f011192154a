//! What a pass saw and decided, kept so that another policy can decide on it again: read-only, and differences only.

use std::collections::BTreeMap;
use std::io::{Error, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::reason::Reason;
use base::registry::NAMES;
use base::time::Time;
use board::{Rule, Step, StepAction};
use config::Config;
use logs::cache::{Did, Stored};
use policy::{Decision, OtherPolicy, Pass};
use watch::{Visit, Watcher, each, spec};

/// Most bytes of what one pass saw that are kept; a pass that saw more is not.
const MAX_SEEN: usize = 1 << 20;

/// A pass as it is kept; `None` where it had nothing to say, or saw too much to be kept.
pub fn stored<W: Watcher>(board: &str, pass: &Pass, seen: &W::Seen, decision: &Decision) -> Option<Stored> {
    let is_silent = decision.findings.is_empty() && decision.notices.is_empty() && decision.told.is_empty();
    let is_idle = is_silent && decision.steps.is_empty() && decision.left.is_empty();
    if is_idle || !W::SPEC.acts {
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

/// What was seen in a pass, ready to be decided on at any moment.
#[derive(Debug)]
pub struct Again {
    /// How often its timer looks, in seconds: so often is asked what would have been done while nothing changed.
    every: i64,
    seen: Value,
    pass: Pass,
}

impl Again {
    /// Reads what a pass saw.
    ///
    /// # Errors
    /// Why it cannot be decided on: it is another version's.
    pub fn of(stored: &Stored) -> Result<Again, Reason> {
        let program = NAMES.iter().copied().find(|name| *name == stored.program);
        let known = program.and_then(|name| Some((name, spec(name)?))).filter(|(_, spec)| spec.acts);
        let (program, spec) = known.ok_or_else(|| format!("{} is not replayed", stored.program))?;
        let seen = serde_json::from_str(&stored.seen)?;
        let (id, only, clock_given) = (stored.pass.clone(), stored.only.clone(), stored.clock_given);
        Ok(Again {
            every: spec.every,
            seen,
            pass: Pass { id, program, now: stored.at, clock_given, only, dry: false },
        })
    }

    /// What a policy decides on it at a moment, where it was seen under another one.
    ///
    /// # Errors
    /// What was seen is another version's.
    pub fn decide(&mut self, at: Time, policy: &Config, seen_under: &Config) -> Result<Vec<Step>, Reason> {
        self.pass.now = at;
        let other = OtherPolicy { at, policy, seen_under };
        let mut redo = Redo { again: self, other, steps: None };
        each(&BTreeMap::new(), &mut redo);
        redo.steps.unwrap_or_else(|| Err(format!("{} is not replayed", self.pass.program).into()))
    }
}

/// Decides again, by the watcher whose pass it was.
struct Redo<'a> {
    again: &'a Again,
    other: OtherPolicy<'a>,
    steps: Option<Result<Vec<Step>, Reason>>,
}

impl Visit for Redo<'_> {
    fn one<W: Watcher>(&mut self, watcher: &W) {
        if W::NAME != self.again.pass.program {
            return;
        }
        let seen = W::Seen::deserialize(&self.again.seen).map(|mut seen| {
            W::under(&mut seen, &self.other);
            watcher.decide(&seen, &self.again.pass, self.other.policy).steps
        });
        self.steps = Some(seen.map_err(Reason::from));
    }
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
    pub action: StepAction,
    /// The rule.
    pub case: Rule,
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
    ) -> Result<(), Reason> {
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
            self.compare(&again, at, &is, &would);
            // After a change of its own the world was another one.
            acted |= !is.is_empty();
            at = at.plus(again.every);
            if acted || at >= until {
                return Ok(());
            }
        }
    }

    fn compare(&mut self, again: &Again, at: Time, is: &[Step], would: &[Step]) {
        let (program, every) = (again.pass.program, again.every);
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
                    && at.since(d.until) <= 2 * every
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
        if self.0.len() + more.len() > MAX_SEEN {
            return Err(Error::other("too long to be kept"));
        }
        self.0.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
