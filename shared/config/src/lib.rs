//! What the operator decides: sections of plain values with built-in defaults, and the layers that change
//! them.
//!
//! Lowest first: defaults; `/etc/watchbill/config.toml`; `$XDG_CONFIG_HOME/watchbill/config.toml` (else
//! `~/.config`); a file named by `--config` or `WATCHBILL_CONFIG` in the place of both;
//! `WATCHBILL_<SECTION>_<KEY>` variables (one for a table by name is refused). Flags come later, in the command line. Layers merge key by key.
//! Every failure is [`Kind::Config`], one line.

mod actions;
pub mod checks;
pub mod edit;
mod file;
mod headers;
mod keys;
mod matches;
mod merge;
mod place;
pub mod quiet_hours;
mod rules;
mod sample;
mod sections;
pub mod since;
pub mod span;
mod tables;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

pub use self::keys::KeyInfo;
pub use self::matches::{MatchKeys, MatchPlace};
pub use self::merge::{ignored, variables};
pub use self::place::without_values;
pub use self::quiet_hours::QuietHours;
pub use self::sample::{keys, sample};
pub use self::sections::{
    Board, Budget, Detect, Distress, Heal, HostGone, HostKeys, MAX_RESUMES, Orchestrator, People,
    RateLimitRoute, Routing, TreeDrift,
};
pub use self::tables::{NotifyFormat, NotifyKeys, PriceKeys, ProfileKeys, ProviderKeys};
use base::error::{Error, Kind, Result};

/// The configuration file of the whole machine.
pub const SYSTEM_FILE: &str = "/etc/watchbill/config.toml";

/// The environment the configuration is read from, handed in so that nothing here asks the process.
pub type Env = BTreeMap<OsString, OsString>;

/// Every value the programs are run with. Serialised it is the configuration file that would give it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// Which boards, and how they are opened.
    pub board: Board,
    /// What this machine is called and which processes it can see.
    pub host: HostKeys,
    /// How long `heal` waits and how often it tries.
    pub heal: Heal,
    /// When `synthesize-distress` writes a card, and how many.
    pub distress: Distress,
    /// Who takes the cards.
    pub orchestrator: Orchestrator,
    /// Who decides what no program may.
    pub people: People,
    /// How work is moved away from a provider that refuses it, and how it comes back.
    pub routing: Routing,
    /// What one task may use where it says nothing itself.
    pub budget: Budget,
    /// From when on a health check finds something.
    pub detect: Detect,
    /// What is said of profiles, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, ProfileKeys>,
    /// What is said of providers, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderKeys>,
    /// What tokens of models cost, by a part of the model's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, PriceKeys>,
    /// Whom `watchbill notify` tells, by name. Not serialised: a target may hold a secret, and no watcher decides by it.
    #[serde(skip)]
    pub notify: BTreeMap<String, NotifyKeys>,
    /// What lines of logs mean that nobody else knows. The first that matches a line counts.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<MatchKeys>,
}

/// A merged configuration, and who said what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loaded {
    /// The values to run with.
    pub config: Config,
    /// For every key (`heal.grace`), for those of the tables by name that are set, and for all tables `match` together: `default`, the path of a file, or the name of a variable.
    pub origin: BTreeMap<String, String>,
}

impl Config {
    /// Merges all layers below the flags. `given` is the file of `--config`.
    ///
    /// # Errors
    /// [`Kind::Config`]: a file that was asked for and is not there, that cannot be read, that others could
    /// have written, or that is not TOML; an unknown section, key or variable; a value of the wrong type or
    /// out of its range; two values that contradict each other.
    pub fn load(given: Option<&Path>, env: &Env) -> Result<Loaded> {
        load_over(Path::new(SYSTEM_FILE), given, env)
    }
}

fn load_over(system: &Path, given: Option<&Path>, env: &Env) -> Result<Loaded> {
    let mut loaded = Loaded {
        config: Config::default(),
        origin: keys().iter().map(|k| (k.name(), "default".to_owned())).collect(),
    };
    if let Some(path) = named(given, env) {
        let text = file::read(path)?.ok_or_else(|| {
            Error::new(Kind::Config, path.display(), "no such configuration file")
                .hint("give --config or WATCHBILL_CONFIG a file that exists")
        })?;
        merge::toml(&mut loaded, path, &text)?;
    } else {
        for path in unnamed(system, env) {
            if let Some(text) = file::read(&path)? {
                merge::toml(&mut loaded, &path, &text)?;
            }
        }
    }
    merge::env(&mut loaded, env)?;
    contradictions(&loaded)?;
    tables::whole(&loaded)?;
    Ok(loaded)
}

/// The one file that was asked for.
fn named<'a>(given: Option<&'a Path>, env: &'a Env) -> Option<&'a Path> {
    given.or_else(|| var(env, "WATCHBILL_CONFIG").map(Path::new))
}

/// The files that are read where none was asked for.
fn unnamed(system: &Path, env: &Env) -> impl Iterator<Item = PathBuf> {
    [Some(system.to_owned()), user_file(env)].into_iter().flatten()
}

/// The tables `[notify.NAME]` alone, for where the configuration as a whole is refused. None where one of them is wrong itself; a file
/// that cannot be read, or is not TOML, has none.
pub fn targets(given: Option<&Path>, env: &Env) -> BTreeMap<String, NotifyKeys> {
    targets_over(Path::new(SYSTEM_FILE), given, env).unwrap_or_default()
}

fn targets_over(system: &Path, given: Option<&Path>, env: &Env) -> Result<BTreeMap<String, NotifyKeys>> {
    let mut loaded = Loaded { config: Config::default(), origin: BTreeMap::new() };
    let named = named(given, env).map(Path::to_path_buf);
    let unnamed = unnamed(system, env).filter(|_| named.is_none());
    for path in named.iter().cloned().chain(unnamed) {
        if let Ok(Some(text)) = file::read(&path) {
            merge::notify(&mut loaded, &path, &text)?;
        }
    }
    tables::whole(&loaded)?;
    Ok(loaded.config.notify)
}

/// A variable that is set to something: an empty one counts as not set, as the XDG base directory
/// specification 0.8 has it.
fn var<'a>(env: &'a Env, name: &str) -> Option<&'a OsStr> {
    env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
}

/// The configuration file of this user; `None` where neither `XDG_CONFIG_HOME` nor `HOME` names a folder.
pub fn user_file(env: &Env) -> Option<PathBuf> {
    // The same specification: a relative XDG_CONFIG_HOME is invalid and to be ignored.
    let xdg = var(env, "XDG_CONFIG_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || var(env, "HOME").map(PathBuf::from).filter(|p| p.is_absolute()).map(|p| p.join(".config"));
    Some(xdg.or_else(home)?.join("watchbill/config.toml"))
}

type Length = fn(&Config) -> Duration;

/// Lengths of time of which the first may not be longer than the second.
const PAIRS: [[(&str, Length); 2]; 6] = [
    [("heal.backoff", |c| c.heal.backoff), ("heal.backoff_max", |c| c.heal.backoff_max)],
    [("heal.storm_probe", |c| c.heal.storm_probe), ("heal.storm_probe_max", |c| c.heal.storm_probe_max)],
    [("heal.hold", |c| c.heal.hold), ("heal.hold_max", |c| c.heal.hold_max)],
    [("board.claim_ttl", |c| c.board.claim_ttl), ("heal.claim_ceiling", |c| c.heal.claim_ceiling)],
    [("budget.tree_limit", |c| c.budget.tree_limit), ("budget.trees_limit", |c| c.budget.trees_limit)],
    [("detect.session_stall", |c| c.detect.session_stall), ("detect.stall", |c| c.detect.stall)],
];

/// Pairs that each lie in their own range and still cannot work together.
fn contradictions(loaded: &Loaded) -> Result<()> {
    for [(low, n), (high, max)] in PAIRS {
        let (n, max) = (n(&loaded.config), max(&loaded.config));
        if n <= max {
            continue;
        }
        let said = |key: &str| loaded.origin.get(key).map_or("default", String::as_str);
        let (from, to) = (said(low), said(high));
        let at = if from == "default" { to } else { from };
        let what = format!("{low} is {}, longer than {high}, which is {}", span::words(n), span::words(max));
        let hint = format!("lower {low} ({from}) or raise {high} ({to})");
        return Err(Error::new(Kind::Config, at, what).hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
