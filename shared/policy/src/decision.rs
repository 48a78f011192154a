//! A pass, and what a watcher decides in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use crate::said::{Kind, Said};
use base::time::Time;
use board::hermes::Trail;
use board::{Rule, Step};
use config::Config;
use logs::provider::{self, Profile};

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

impl Pass {
    /// What a step of this pass leaves in the events of its task, without a cause and without more facts.
    pub fn trail<'a>(&'a self, case: Rule, because: &'a str) -> Trail<'a> {
        Trail {
            by: self.program,
            pass: &self.id,
            clock_given: self.clock_given,
            case,
            cause: None,
            because,
            more: Map::new(),
        }
    }
}

/// A task that was looked at and not changed, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// Which.
    pub task: String,
    /// The reason in one line.
    pub because: String,
    /// The reason is that we do not know.
    pub unknown: bool,
    /// The same, since what tells it is in a log on another host.
    pub elsewhere: bool,
    /// When the watcher would come to another answer by itself, where it waits for a moment that is known.
    pub next: Option<Time>,
    /// The other host that had it, where nobody goes on with it before a person does something.
    pub stuck: Option<Stuck>,
}

/// Why nobody goes on with a task of another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// That host, as people know it.
    pub host: String,
    /// Since when it does not go on with it.
    pub since: Time,
    /// What a person does, as a sentence.
    pub todo: String,
}

impl Left {
    /// A task that is skipped for this reason.
    pub fn new(task: &str, because: impl Into<String>) -> Left {
        Left {
            task: task.to_owned(),
            because: because.into(),
            unknown: false,
            elsewhere: false,
            next: None,
            stuck: None,
        }
    }

    /// The reason is that something is not known.
    #[must_use]
    pub fn unknown(self) -> Left {
        Left { unknown: true, ..self }
    }

    /// The reason is that its log is on another host.
    #[must_use]
    pub fn elsewhere(self) -> Left {
        Left { elsewhere: true, ..self.unknown() }
    }

    /// Until then.
    #[must_use]
    pub fn until(self, next: Option<Time>) -> Left {
        Left { next, ..self }
    }

    /// Nobody goes on with it, for this reason.
    #[must_use]
    pub fn stuck(self, stuck: Stuck) -> Left {
        Left { stuck: Some(stuck), ..self }
    }
}

/// What is wrong with a running task by its scope and its budget. Nothing is changed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// Which.
    pub task: String,
    /// What, the gravest first: `over time: 3h in this attempt, 10m allowed (task)`.
    pub says: String,
    /// So far beyond a bound that was set that a person decides whether it goes on.
    pub is_far: bool,
}

/// What is said where the clock cannot be trusted.
pub fn broken_clock(fault: &str) -> String {
    format!("{fault}; nothing is done until that is right")
}

/// What a watcher makes of what it saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// What to change, at most one step a task.
    pub steps: Vec<Step>,
    /// What was looked at and skipped.
    pub left: Vec<Left>,
    /// What could not be looked at or changed: said in every pass, which ends with exit 1.
    pub findings: Vec<Said>,
    /// Notices, each by what matters of it, without ages and counts: said when it begins, changes or ends, and no matter for
    /// the exit code.
    pub notices: BTreeMap<String, Said>,
    /// Notices that the board has, each with whether a step of this pass writes it there: that step is all that is said of it.
    pub told: Vec<(Said, bool)>,
    /// Running work that is beyond its bounds, for who looks at it.
    pub beyond: Vec<Beyond>,
    /// Nothing was judged, and so no notice is over.
    pub unjudged: bool,
}

impl Decision {
    /// A finding about one task.
    pub fn find(&mut self, task: &str, said: impl Into<Said>) {
        self.findings.push(said.into().about(task));
    }

    /// Nothing is judged while the clock cannot be trusted. `concerns`: there is something that waits for it.
    pub fn of_broken_clock(fault: &str, concerns: bool) -> Decision {
        Decision {
            findings: concerns.then(|| Said::of(Kind::Clock, broken_clock(fault))).into_iter().collect(),
            unjudged: true,
            ..Decision::default()
        }
    }
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
    pub fn profiles(&self, profiles: &mut BTreeMap<String, Profile>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use config::ProfileKeys;

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
