//! The agents whose logs and stores are read: one folder each.
//!
//! An agent that writes lines of JSON is an `Agent`. It turns a line into facts, and one fold each makes of the facts how the newest
//! attempt ended ([`Reader`]), and what the session used and did (`Record`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use self::fact::{Begin, Fact, Tell};
use self::record::Record;
use super::Line;
use crate::cache::Cache;
use crate::session::{Millis, Obj, Text};
use crate::usage::Usage;
use crate::vitals::Worker;

mod ask;
pub mod claude;
pub mod codex;
pub(crate) mod fact;
pub mod hermes;
pub(crate) mod newest;
pub(crate) mod opencode;
pub(crate) mod price;
mod reader;
pub(crate) mod record;
pub(crate) mod vitals;

pub use ask::UsageAsk;
use base::reason::Reason;
pub use fact::print;
pub use reader::Reader;

/// Every agent that writes lines of JSON, in the order in which its sessions are looked for.
static AGENTS: &[&dyn Agent] = &[&claude::Claude, &codex::Codex];

/// An agent that writes lines of JSON: how its lines are known and what they say, and where it keeps them.
pub(crate) trait Agent: Sync {
    /// Its name, as configuration and output call the format.
    fn name(&self) -> &'static str;

    /// The variable that names its folder, and the folder below `$HOME` that it uses where that is not set.
    fn home(&self) -> (&'static str, &'static str);

    /// Whether a line, one of the first of a log, is one of its own.
    fn writes(&self, line: &First<'_>) -> bool;

    /// Whether a line of this type and subtype says that the agent starts.
    fn starts(&self, kind: &str, subtype: &str) -> bool;

    /// The head of a line; `None` where it cannot be read.
    fn head(&self, line: &str) -> Option<Head> {
        let Stamp { timestamp, kind, subtype } = serde_json::from_str::<Obj<Stamp<'_>>>(line).ok()?.0?;
        let at = timestamp.get().and_then(Millis::parse);
        Some(Head { at, starts: self.starts(kind.or_empty(), subtype.or_empty()) })
    }

    /// Tells what a line says, [`Fact::Line`] first. `false` where it cannot be read; then nothing is told.
    fn facts(&self, line: &Line<'_>, tell: &mut Tell<'_>) -> bool;

    /// What `watchbill match` shows of a session besides how it ended.
    fn session(&self, record: &Record) -> Value;

    /// Corrects what a session used by what this agent does not tell, or tells in another way.
    fn correct(&self, record: &Record, usage: &mut Usage);

    /// Its lines state sums of the whole session: those before an attempt say what is to be taken off them.
    fn states_sums(&self) -> bool {
        false
    }

    /// A call that names no model is one of the usual model, which has a price.
    fn has_usual_model(&self) -> bool {
        false
    }

    /// The size of a model's context, where its name and the fullest context tell it.
    fn context_window(&self, _model: &str, _context: Option<u64>) -> Option<u64> {
        None
    }

    /// The folder below its home whose files are looked at that a worker holds open.
    fn held_below(&self) -> Option<&'static str> {
        None
    }

    /// The log that is surely the worker's; `None` where nothing leads to one.
    ///
    /// # Errors
    /// What leads to one is broken, or leads to several.
    fn own_log(
        &self,
        ask: &UsageAsk<'_>,
        worker: Option<Worker>,
        cache: &mut Cache,
    ) -> Result<Option<PathBuf>, Reason>;

    /// Logs of sessions that may have worked in this folder during the attempt, the one last written first.
    fn in_folder(&self, ask: &UsageAsk<'_>, real: &Path, cache: &mut Cache) -> Vec<PathBuf>;

    /// Those logs are surely of that folder, so that they need not say so themselves.
    fn is_sure_of_folder(&self) -> bool {
        false
    }

    /// The logs of a session's subagents, the one last written first.
    fn subagents(&self, _path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// One of [`AGENTS`].
#[derive(Clone, Copy)]
pub(crate) struct Known(&'static dyn Agent);

impl Known {
    /// All, in order.
    pub(crate) fn all() -> impl Iterator<Item = Known> {
        AGENTS.iter().map(|agent| Known(*agent))
    }

    /// The agent of this name.
    pub(crate) fn of(name: &str) -> Option<Known> {
        Known::all().find(|agent| agent.name() == name)
    }

    /// The agent that wrote this line, one of the first of a log.
    pub(crate) fn of_line(line: &str) -> Option<Known> {
        let first = First::of(line);
        Known::all().find(|agent| agent.writes(&first))
    }
}

impl std::ops::Deref for Known {
    type Target = dyn Agent;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Known) -> bool {
        self.name() == other.name()
    }
}

impl Serialize for Known {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Known {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Known, D::Error> {
        let name = String::deserialize(d)?;
        Known::of(&name).ok_or_else(|| serde::de::Error::custom(format!("no agent we know: {name:?}")))
    }
}

/// A line by whose keys the agent is known that wrote it. It may be longer than what was read of it.
pub(crate) struct First<'a> {
    line: &'a str,
    whole: Option<Map<String, Value>>,
}

impl<'a> First<'a> {
    fn of(line: &'a str) -> First<'a> {
        let whole = serde_json::from_str::<Map<String, Value>>(line).ok();
        First { line, whole: whole.filter(|all| all.get("type").is_none_or(Value::is_string)) }
    }

    /// Its `type`; empty where it has none.
    fn kind(&self) -> &str {
        match &self.whole {
            Some(whole) => whole.get("type").and_then(Value::as_str).unwrap_or_default(),
            None => self
                .line
                .split_once("\"type\":\"")
                .and_then(|(_, rest)| rest.split_once('"'))
                .map_or("", |(t, _)| t),
        }
    }

    /// Whether it has a key. Inside a string every quote is escaped, so the words stand for a real key even in a line cut short.
    fn has(&self, key: &str) -> bool {
        match &self.whole {
            Some(whole) => whole.get(key).is_some_and(|value| !value.is_null()),
            None => self.line.contains(&format!("\"{key}\":")),
        }
    }
}

/// When a line was written, and whether the agent starts there.
pub(crate) struct Head {
    pub(crate) at: Option<Millis>,
    pub(crate) starts: bool,
}

/// The fields of a line that say so.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stamp<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
}

/// Whether a whole log is a subagent's, so that its sidechain is all there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Side(Option<bool>);

impl Side {
    /// Whether another agent than the log's own did this; `side`: the log says that a subagent did.
    fn of(&mut self, side: bool, fact: &Fact<'_>) -> bool {
        match fact {
            Fact::Line { .. } | Fact::Session { .. } | Fact::Model { .. } => false,
            Fact::Begins(Begin::Start) => false,
            Fact::Refused(_) => side && self.0 != Some(true),
            // Where the first to act is a subagent, the log is its own.
            _ => !*self.0.get_or_insert(side) && side,
        }
    }
}

/// Where the agents of this machine keep their files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes(Vec<(&'static str, PathBuf)>);

impl Homes {
    /// Nowhere: no log is looked for.
    pub const NONE: &'static Homes = &Homes(Vec::new());

    /// As the agents themselves find them in the environment.
    pub fn of(env: impl Fn(&str) -> Option<String>) -> Homes {
        let home = |(named, usual): (&str, &str)| {
            env(named).map(PathBuf::from).or_else(|| Some(PathBuf::from(env("HOME")?).join(usual)))
        };
        Homes(Known::all().filter_map(|agent| Some((agent.name(), home(agent.home())?))).collect())
    }

    /// The variables that name them.
    pub fn variables() -> impl Iterator<Item = &'static str> {
        Known::all().map(|agent| agent.home().0)
    }

    /// That of the agent with this name.
    pub fn get(&self, name: &str) -> Option<&Path> {
        self.0.iter().find(|(of, _)| *of == name).map(|(_, home)| home.as_path())
    }

    /// The folders whose files are looked at that a worker holds open.
    pub fn held(&self) -> impl Iterator<Item = PathBuf> {
        Known::all().filter_map(|agent| Some(self.get(agent.name())?.join(agent.held_below()?)))
    }

    /// The same with another home of one agent.
    #[cfg(test)]
    pub(crate) fn with(&self, name: &str, home: &Path) -> Homes {
        let others = self.0.iter().filter(|(of, _)| *of != name).cloned();
        let agent = Known::of(name).unwrap().name();
        Homes(others.chain([(agent, home.to_owned())]).collect())
    }
}
