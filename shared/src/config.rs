//! What the operator decides: sections of plain values with built-in defaults, and the layers that change
//! them.
//!
//! Lowest first: defaults; `/etc/watchbill/config.toml`; `$XDG_CONFIG_HOME/watchbill/config.toml` (else
//! `~/.config`); a file named by `--config` or `WATCHBILL_CONFIG` in the place of both;
//! `WATCHBILL_<SECTION>_<KEY>` variables (not for the tables by name). Flags come later, in the command line. Layers merge key by key.
//! Every failure is [`Kind::Config`], one line.

mod actions;
mod budget;
pub mod checks;
mod detect;
mod file;
mod keys;
mod layer;
mod matches;
mod named;
pub(crate) mod quiet;
mod routing;
pub mod span;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

pub use self::budget::Budget;
use self::checks::{Action, Check};
pub use self::detect::Detect;
pub use self::keys::{KeyInfo, keys, sample};
pub use self::matches::{MatchKeys, MatchPlace};
pub use self::named::{PriceKeys, ProfileKeys, ProviderKeys};
pub use self::quiet::QuietHours;
pub use self::routing::{RateLimitRoute, Routing};
use crate::error::{Error, Kind, Result};
use crate::host::{HostPolicy, PidNamespace};

/// The configuration file of the whole machine.
pub const SYSTEM_FILE: &str = "/etc/watchbill/config.toml";

/// The environment the configuration is read from, handed in so that nothing here asks the process.
pub type Env = BTreeMap<OsString, OsString>;

/// Every value the programs are run with. Serialised it is the configuration file that would give it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// Which boards, and how they are opened.
    pub board: Board,
    /// What this machine is called and which processes it can see.
    pub host: HostPolicy,
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
    /// What lines of logs mean that nobody else knows. The first that matches a line counts.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<MatchKeys>,
}

/// `[distress]`: when `synthesize-distress` writes a card, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Distress {
    /// The profile that takes the cards; `None` is Hermes' own `kanban.orchestrator_profile`, else `tuesday`.
    pub orchestrator: Option<String>,
    /// Failures of a provider within `window` that count as repeated while a worker still lives.
    pub repeat: u32,
    /// The window repeated failures are counted in.
    #[serde(serialize_with = "span::serialize")]
    pub window: Duration,
    /// Cards for one task within a day, archived ones included.
    pub max_cards: u32,
    /// Cards that may wait for the orchestrator or be worked on at once; further ones queue.
    pub max_open_cards: u32,
    /// How long a worker's own block for want of a capability or a dependency waits before it gets a card.
    #[serde(serialize_with = "span::serialize")]
    pub block_wait: Duration,
    /// Whether many tasks stuck for one reason share one card.
    #[serde(serialize_with = "on_or_off")]
    pub storm: bool,
}

/// `[orchestrator]`: who takes the cards where the profile of `distress.orchestrator` cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Orchestrator {
    /// Profiles in the order they are tried.
    pub fallbacks: Vec<String>,
}

/// `[people]`: who decides what no program may.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct People {
    /// The assignee of a task that needs a person; `None` leaves it as it is.
    pub assignee: Option<String>,
}

/// `[board]`: which boards, and how they are opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Board {
    /// A board that is not found by itself, such as one made by `board init`. Absolute.
    pub db: Option<PathBuf>,
    /// The Hermes root to look for boards in, in the place of the one the environment names. Absolute.
    pub hermes_root: Option<PathBuf>,
    /// How long a claim lasts that `board claim` or `board heartbeat` takes. Hermes 0.19 uses the same 15
    /// min.
    #[serde(serialize_with = "span::serialize")]
    pub claim_ttl: Duration,
    /// How long to wait for a board that somebody else is writing.
    #[serde(serialize_with = "span::serialize")]
    pub busy_timeout: Duration,
}

/// `[heal]`: how long `heal` waits and how often it tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heal {
    /// The head start of a dispatcher that lives, or ticked lately, before a dead worker's task is touched.
    #[serde(serialize_with = "span::serialize")]
    pub grace: Duration,
    /// The same where no dispatcher is: a fresh worker may not be visible yet.
    #[serde(serialize_with = "span::serialize")]
    pub lonely_grace: Duration,
    /// Resets of one task within `decay`, then it is escalated once and left alone. 0 escalates at once.
    pub max_resets: u32,
    /// The wait after the first reset of a task; it doubles with each further one.
    #[serde(serialize_with = "span::serialize")]
    pub backoff: Duration,
    /// Where that doubling ends.
    #[serde(serialize_with = "span::serialize")]
    pub backoff_max: Duration,
    /// Healthy running after which earlier resets are forgotten.
    #[serde(serialize_with = "span::serialize")]
    pub decay: Duration,
    /// Requeues in a row that were proven not the task's fault, before they count after all.
    pub max_uncounted: u32,
    /// So many tasks dying of one cause within `storm_window` are a storm.
    pub storm_tasks: u32,
    /// The window a storm is counted in.
    #[serde(serialize_with = "span::serialize")]
    pub storm_window: Duration,
    /// The time between two probes while a storm lasts; it doubles.
    #[serde(serialize_with = "span::serialize")]
    pub storm_probe: Duration,
    /// Where that doubling ends.
    #[serde(serialize_with = "span::serialize")]
    pub storm_probe_max: Duration,
    /// How long a requeue waits for processes a dead worker left running in its tree.
    #[serde(serialize_with = "span::serialize")]
    pub orphan_wait: Duration,
    /// How long a parked task is held where nothing says when to look again.
    #[serde(serialize_with = "span::serialize")]
    pub hold: Duration,
    /// The longest any hold may last, whatever a provider announces.
    #[serde(serialize_with = "span::serialize")]
    pub hold_max: Duration,
    /// The furthest a claim's expiry may lie ahead before it is cut to this.
    #[serde(serialize_with = "span::serialize")]
    pub claim_ceiling: Duration,
    /// Whether a living worker may ever be stopped, after its identity is proven.
    #[serde(serialize_with = "on_or_off")]
    pub allow_stop: bool,
    /// What becomes of a health check's alert, where that is not what [`Check::default_action`] says. See [`Heal::action`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub health_actions: BTreeMap<Check, Action>,
    /// Attempts that may die since the last success before a person must look.
    pub max_resumes: u32,
    /// What becomes of a task whose working tree others changed since its worker died.
    pub tree_drift: TreeDrift,
}

/// What becomes of a task whose working tree others changed since its worker died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeDrift {
    /// A person looks first.
    #[default]
    Escalate,
    /// It goes on, and the next attempt is warned.
    Warn,
}

fn on_or_off<S: serde::Serializer>(switch: &bool, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(if *switch { "on" } else { "off" })
}

/// The largest `heal.max_resumes`.
pub const MAX_RESUMES: u32 = 25;

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

impl Default for Config {
    fn default() -> Config {
        Config {
            board: Board::default(),
            host: HostPolicy { aliases: Vec::new(), pid_namespace: PidNamespace::Auto },
            heal: Heal::default(),
            distress: Distress::default(),
            orchestrator: Orchestrator::default(),
            people: People::default(),
            routing: Routing::default(),
            budget: Budget::default(),
            detect: Detect::default(),
            profiles: BTreeMap::new(),
            providers: BTreeMap::new(),
            prices: BTreeMap::new(),
            matches: Vec::new(),
        }
    }
}

impl Default for Board {
    fn default() -> Board {
        Board { db: None, hermes_root: None, claim_ttl: minutes(15), busy_timeout: Duration::from_secs(5) }
    }
}

impl Default for Distress {
    fn default() -> Distress {
        Distress {
            orchestrator: None,
            repeat: 3,
            window: minutes(15),
            max_cards: 3,
            max_open_cards: 2,
            block_wait: minutes(15),
            storm: true,
        }
    }
}

impl Default for Heal {
    fn default() -> Heal {
        Heal {
            grace: minutes(3),
            lonely_grace: Duration::from_secs(30),
            max_resets: 3,
            backoff: minutes(10),
            backoff_max: minutes(2 * 60),
            decay: minutes(6 * 60),
            max_uncounted: 5,
            storm_tasks: 5,
            storm_window: minutes(15),
            storm_probe: minutes(10),
            storm_probe_max: minutes(60),
            orphan_wait: minutes(15),
            hold: minutes(15),
            hold_max: minutes(6 * 60),
            claim_ceiling: minutes(24 * 60),
            allow_stop: false,
            health_actions: BTreeMap::new(),
            max_resumes: 8,
            tree_drift: TreeDrift::Escalate,
        }
    }
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
    /// have written, or that is no TOML; an unknown section, key or variable; a value of the wrong type or
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
    let named = given.or_else(|| var(env, "WATCHBILL_CONFIG").map(Path::new));
    if let Some(path) = named {
        let text = file::read(path)?.ok_or_else(|| {
            Error::new(Kind::Config, path.display(), "no such configuration file")
                .hint("give --config or WATCHBILL_CONFIG a file that exists")
        })?;
        layer::toml(&mut loaded, path, &text)?;
    } else {
        for path in [Some(system.to_owned()), user_file(env)].into_iter().flatten() {
            if let Some(text) = file::read(&path)? {
                layer::toml(&mut loaded, &path, &text)?;
            }
        }
    }
    layer::env(&mut loaded, env)?;
    contradictions(&loaded)?;
    named::whole(&loaded)?;
    Ok(loaded)
}

/// A variable that is set to something: an empty one counts as not set, as the XDG base directory
/// specification 0.8 has it.
fn var<'a>(env: &'a Env, name: &str) -> Option<&'a OsStr> {
    env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
}

fn user_file(env: &Env) -> Option<PathBuf> {
    // The same specification: a relative XDG_CONFIG_HOME is invalid and to be ignored.
    let xdg = var(env, "XDG_CONFIG_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || var(env, "HOME").map(PathBuf::from).filter(|p| p.is_absolute()).map(|p| p.join(".config"));
    Some(xdg.or_else(home)?.join("watchbill/config.toml"))
}

/// Pairs that each lie in their own range and still cannot work together.
fn contradictions(loaded: &Loaded) -> Result<()> {
    let Config { board: b, heal: h, budget: g, detect: d, .. } = &loaded.config;
    let pairs = [
        ("heal.backoff", h.backoff, "heal.backoff_max", h.backoff_max),
        ("heal.storm_probe", h.storm_probe, "heal.storm_probe_max", h.storm_probe_max),
        ("heal.hold", h.hold, "heal.hold_max", h.hold_max),
        ("board.claim_ttl", b.claim_ttl, "heal.claim_ceiling", h.claim_ceiling),
        ("budget.tree_limit", g.tree_limit, "budget.trees_limit", g.trees_limit),
        ("detect.session_stall", d.session_stall, "detect.stall", d.stall),
    ];
    for (low, n, high, max) in pairs {
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
