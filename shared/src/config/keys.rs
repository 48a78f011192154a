//! The one table of keys: reading, documentation and the commented sample all come from it.

use std::path::PathBuf;
use std::time::Duration;

use super::{Config, span};
use crate::host::PidNamespace;

/// Where a key's value lives, and what it may be.
pub(super) enum Slot {
    /// An absolute path, or none.
    Path(fn(&mut Config) -> &mut Option<PathBuf>),
    /// A length of time within `min..=max` seconds.
    Span { at: fn(&mut Config) -> &mut Duration, min: u64, max: u64 },
    /// A whole number within `min..=max`.
    Count { at: fn(&mut Config) -> &mut u32, min: u32, max: u32 },
    /// Names of hosts.
    Names(fn(&mut Config) -> &mut Vec<String>),
    /// The name of a profile, or none.
    Profile(fn(&mut Config) -> &mut Option<String>),
    /// Names of profiles.
    Profiles(fn(&mut Config) -> &mut Vec<String>),
    /// On or off.
    Switch(fn(&mut Config) -> &mut bool),
    /// A [`PidNamespace`] by its name.
    Namespace(fn(&mut Config) -> &mut PidNamespace),
}

/// The values of [`PidNamespace`] and their names.
pub(super) const NAMESPACES: [(&str, PidNamespace); 2] =
    [("auto", PidNamespace::Auto), ("same", PidNamespace::Same)];

/// One key of the configuration.
pub struct KeyInfo {
    /// The table it stands in: `heal`.
    pub section: &'static str,
    /// Its name in that table: `grace`.
    pub key: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    pub(super) slot: Slot,
}

impl KeyInfo {
    /// `heal.grace`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// `WATCHBILL_HEAL_GRACE`.
    pub fn variable(&self) -> String {
        format!("WATCHBILL_{}_{}", self.section, self.key).to_uppercase()
    }

    /// The built-in default as TOML text (`"3m"`, `3`, `[]`); `None` for a path nobody set.
    pub fn default(&self) -> Option<String> {
        self.value(&Config::default())
    }

    /// The value in `config` as TOML text; `None` for a path nobody set.
    pub fn value(&self, config: &Config) -> Option<String> {
        // Slots only know how to borrow for writing; a copy is cheaper than a second accessor for each key.
        let mut c = config.clone();
        let quoted = |s: &str| toml::Value::from(s).to_string();
        match self.slot {
            Slot::Path(at) => at(&mut c).as_ref().map(|p| quoted(&p.to_string_lossy())),
            Slot::Span { at, .. } => Some(quoted(&span::words(*at(&mut c)))),
            Slot::Count { at, .. } => Some(at(&mut c).to_string()),
            Slot::Names(at) | Slot::Profiles(at) => Some(toml::Value::from(at(&mut c).clone()).to_string()),
            Slot::Profile(at) => at(&mut c).as_deref().map(quoted),
            Slot::Switch(at) => Some(quoted(if *at(&mut c) { "on" } else { "off" })),
            Slot::Namespace(at) => {
                let value = at(&mut c);
                NAMESPACES.iter().find(|(_, n)| n == value).map(|(name, _)| quoted(name))
            }
        }
    }

    /// What stands in the sample where there is no default.
    fn unset(&self) -> &'static str {
        match self.slot {
            Slot::Profile(_) => "\"name\"",
            _ => "\"/path/to/it\"",
        }
    }

    /// What a value may be, in words: `1m to 6h`.
    pub fn allowed(&self) -> String {
        match self.slot {
            Slot::Path(_) => "an absolute path".into(),
            Slot::Span { min, max, .. } => {
                format!(
                    "{} to {}",
                    span::words(Duration::from_secs(min)),
                    span::words(Duration::from_secs(max))
                )
            }
            Slot::Count { min, max, .. } => format!("{min} to {max}"),
            Slot::Names(_) => "a list of host names".into(),
            Slot::Profile(_) => "the name of a profile".into(),
            Slot::Profiles(_) => "a list of profile names".into(),
            Slot::Switch(_) => "\"on\" or \"off\"".into(),
            Slot::Namespace(_) => NAMESPACES.map(|(name, _)| format!("{name:?}")).join(" or "),
        }
    }
}

/// Every key, section by section, in the order the sample shows them.
pub fn keys() -> &'static [KeyInfo] {
    &KEYS
}

/// The sections in their order, with what they are about.
pub(super) const SECTIONS: [(&str, &str); 6] = [
    ("board", "Which boards, and how they are opened."),
    ("host", "What this machine is called and which processes it can see."),
    ("heal", "How long heal waits and how often it tries."),
    ("distress", "When synthesize-distress writes a card, and how many."),
    ("orchestrator", "Who takes the cards where the profile of distress.orchestrator cannot."),
    ("people", "Who decides what no program may."),
];

const MIN: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

const fn key(section: &'static str, key: &'static str, slot: Slot, meaning: &'static str) -> KeyInfo {
    KeyInfo { section, key, meaning, slot }
}

const fn time(at: fn(&mut Config) -> &mut Duration, min: u64, max: u64) -> Slot {
    Slot::Span { at, min, max }
}

const fn count(at: fn(&mut Config) -> &mut u32, min: u32, max: u32) -> Slot {
    Slot::Count { at, min, max }
}

static KEYS: [KeyInfo; 30] = [
    key(
        "board",
        "db",
        Slot::Path(|c| &mut c.board.db),
        "A board that is not found by itself, such as one made by `board init`",
    ),
    key(
        "board",
        "hermes_root",
        Slot::Path(|c| &mut c.board.hermes_root),
        "The Hermes root to look for boards in, in the place of the one the environment names",
    ),
    key(
        "board",
        "claim_ttl",
        time(|c| &mut c.board.claim_ttl, MIN, DAY),
        "How long a claim lasts that `board claim` or `board heartbeat` takes",
    ),
    key(
        "board",
        "busy_timeout",
        time(|c| &mut c.board.busy_timeout, 1, 2 * MIN),
        "How long to wait for a board that somebody else is writing",
    ),
    key(
        "host",
        "aliases",
        Slot::Names(|c| &mut c.host.aliases),
        "Former names of this very machine; never the name of another one",
    ),
    key(
        "host",
        "pid_namespace",
        Slot::Namespace(|c| &mut c.host.pid_namespace),
        "\"same\" only if all workers of this host name live in one pid namespace with us",
    ),
    key(
        "heal",
        "grace",
        // One tick of a Hermes dispatcher is 60 s: with less we would always come first.
        time(|c| &mut c.heal.grace, MIN, 6 * HOUR),
        "Head start of a dispatcher that lives, or ticked lately, before a dead worker's task is touched",
    ),
    key(
        "heal",
        "lonely_grace",
        time(|c| &mut c.heal.lonely_grace, 10, HOUR),
        "The same where no dispatcher is",
    ),
    key(
        "heal",
        "max_resets",
        count(|c| &mut c.heal.max_resets, 0, 20),
        "Resets of one task, then it is escalated once and left alone; 0 escalates at once",
    ),
    key(
        "heal",
        "backoff",
        time(|c| &mut c.heal.backoff, MIN, 6 * HOUR),
        "Wait after the first reset of a task; it doubles with each further one",
    ),
    key("heal", "backoff_max", time(|c| &mut c.heal.backoff_max, MIN, DAY), "Where that doubling ends"),
    key(
        "heal",
        "decay",
        time(|c| &mut c.heal.decay, 10 * MIN, 7 * DAY),
        "Healthy running after which earlier resets are forgotten",
    ),
    key(
        "heal",
        "max_uncounted",
        count(|c| &mut c.heal.max_uncounted, 1, 100),
        "Requeues in a row that were proven not the task's fault, before they count after all",
    ),
    key(
        "heal",
        "storm_tasks",
        count(|c| &mut c.heal.storm_tasks, 2, 1_000),
        "So many tasks dying of one cause within storm_window are a storm, which slows resets down",
    ),
    key(
        "heal",
        "storm_window",
        time(|c| &mut c.heal.storm_window, MIN, DAY),
        "The window a storm is counted in",
    ),
    key(
        "heal",
        "storm_probe",
        time(|c| &mut c.heal.storm_probe, MIN, 6 * HOUR),
        "Time between two probes while a storm lasts; it doubles",
    ),
    key(
        "heal",
        "storm_probe_max",
        time(|c| &mut c.heal.storm_probe_max, MIN, DAY),
        "Where that doubling ends",
    ),
    key(
        "heal",
        "orphan_wait",
        time(|c| &mut c.heal.orphan_wait, MIN, 6 * HOUR),
        "How long a requeue waits for processes a dead worker left running in its tree",
    ),
    key(
        "heal",
        "hold",
        time(|c| &mut c.heal.hold, MIN, DAY),
        "How long a parked task is held where nothing says when to look again",
    ),
    key(
        "heal",
        "hold_max",
        time(|c| &mut c.heal.hold_max, 10 * MIN, 7 * DAY),
        "The longest any hold may last, whatever a provider announces",
    ),
    key(
        "heal",
        "claim_ceiling",
        time(|c| &mut c.heal.claim_ceiling, HOUR, 7 * DAY),
        "The furthest a claim's expiry may lie ahead before it is cut to this",
    ),
    key(
        "distress",
        "orchestrator",
        Slot::Profile(|c| &mut c.distress.orchestrator),
        "The profile that takes the cards; without it Hermes' own kanban.orchestrator_profile, else tuesday",
    ),
    key(
        "distress",
        "repeat",
        count(|c| &mut c.distress.repeat, 2, 100),
        "So many failures of a provider within distress.window are repeated ones, while the worker lives",
    ),
    key(
        "distress",
        "window",
        time(|c| &mut c.distress.window, MIN, DAY),
        "The window repeated failures are counted in",
    ),
    key(
        "distress",
        "max_cards",
        count(|c| &mut c.distress.max_cards, 1, 20),
        "Cards for one task within a day, archived ones included; then it is left to a person",
    ),
    key(
        "distress",
        "max_open_cards",
        count(|c| &mut c.distress.max_open_cards, 1, 100),
        "Cards that may wait for the orchestrator or be worked on at once; further ones queue",
    ),
    key(
        "distress",
        "block_wait",
        time(|c| &mut c.distress.block_wait, MIN, DAY),
        "How long a worker's own block over a capability or dependency waits before it gets a card",
    ),
    key(
        "distress",
        "storm",
        Slot::Switch(|c| &mut c.distress.storm),
        "Whether three and more tasks that are stuck for one reason share one card",
    ),
    key(
        "orchestrator",
        "fallbacks",
        Slot::Profiles(|c| &mut c.orchestrator.fallbacks),
        "Profiles that take the cards where the orchestrator's own does not exist, first one first",
    ),
    key(
        "people",
        "assignee",
        Slot::Profile(|c| &mut c.people.assignee),
        "Who is assigned a task that needs a person; without it the assignee stays",
    ),
];

/// The commented sample that ships as `contrib/watchbill.toml`: every key with its default, all commented
/// out.
pub fn sample() -> String {
    let mut out = String::from(HEAD);
    for (section, about) in SECTIONS {
        out.push_str(&format!("\n# {about}\n[{section}]\n"));
        for k in KEYS.iter().filter(|k| k.section == section) {
            out.push_str(&format!("\n# {}.\n# Allowed: {}.", k.meaning, k.allowed()));
            match k.default() {
                Some(default) => out.push_str(&format!("\n#{} = {default}\n", k.key)),
                None => out.push_str(&format!(" Not set by default.\n#{} = {}\n", k.key, k.unset())),
            }
        }
    }
    out
}

const HEAD: &str = "\
# Watchbill: every key, what it means, what it may be, and its default.
#
# Copy to /etc/watchbill/config.toml or ~/.config/watchbill/config.toml and remove the # before a key to
# change it. Lengths of time are words, in whole seconds: 90s, 15m, 2h, 3d. Any key can also be set by a
# variable: WATCHBILL_HEAL_GRACE=5m, WATCHBILL_HOST_ALIASES=a,b. A file that every user can write, or that
# belongs to neither you nor root, is refused.
";
