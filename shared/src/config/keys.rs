//! The one table of keys: reading, documentation and the commented sample all come from it.

mod table;

use std::path::PathBuf;
use std::time::Duration;

use self::table::KEYS;
use super::{Config, QuietHours, RateLimitRoute, TreeDrift, actions, matches, named, span};
use crate::host::PidNamespace;
use crate::money::Money;

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
    /// A [`RateLimitRoute`] by its name.
    Route(fn(&mut Config) -> &mut RateLimitRoute),
    /// A [`TreeDrift`] by its name.
    Drift(fn(&mut Config) -> &mut TreeDrift),
    /// An amount in US dollars, or none.
    Money(fn(&mut Config) -> &mut Option<Money>),
    /// Hours of the local day, or none.
    Quiet(fn(&mut Config) -> &mut Option<QuietHours>),
}

/// The values of [`PidNamespace`] and their names.
pub(super) const NAMESPACES: [(&str, PidNamespace); 2] =
    [("auto", PidNamespace::Auto), ("same", PidNamespace::Same)];

/// The values of [`RateLimitRoute`] and their names.
pub(super) const ROUTES: [(&str, RateLimitRoute); 2] =
    [("mechanical", RateLimitRoute::Mechanical), ("orchestrator", RateLimitRoute::Orchestrator)];

/// The values of [`TreeDrift`] and their names.
pub(super) const DRIFTS: [(&str, TreeDrift); 2] =
    [("escalate", TreeDrift::Escalate), ("warn", TreeDrift::Warn)];

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
            Slot::Route(at) => {
                let value = at(&mut c);
                ROUTES.iter().find(|(_, r)| r == value).map(|(name, _)| quoted(name))
            }
            Slot::Drift(at) => {
                let value = at(&mut c);
                DRIFTS.iter().find(|(_, d)| d == value).map(|(name, _)| quoted(name))
            }
            Slot::Money(at) => at(&mut c).map(|amount| quoted(&amount.exact())),
            Slot::Quiet(at) => at(&mut c).map(|hours| quoted(&hours.to_string())),
        }
    }

    /// What stands in the sample where there is no default.
    fn unset(&self) -> &'static str {
        match self.slot {
            Slot::Profile(_) => "\"name\"",
            Slot::Money(_) => "\"$5.00\"",
            Slot::Quiet(_) => "\"22:00-07:00\"",
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
            Slot::Route(_) => ROUTES.map(|(name, _)| format!("{name:?}")).join(" or "),
            Slot::Drift(_) => DRIFTS.map(|(name, _)| format!("{name:?}")).join(" or "),
            Slot::Money(_) => "an amount in US dollars like $5.00".into(),
            Slot::Quiet(_) => "two local times like 22:00-07:00".into(),
        }
    }
}

/// Every key, section by section, in the order the sample shows them.
pub fn keys() -> &'static [KeyInfo] {
    &KEYS
}

/// The sections in their order, with what they are about.
pub(super) const SECTIONS: [(&str, &str); 9] = [
    ("board", "Which boards, and how they are opened."),
    ("host", "What this machine is called and which processes it can see."),
    ("heal", "How long heal waits and how often it tries."),
    ("distress", "When synthesize-distress writes a card, and how many."),
    ("orchestrator", "Who takes the cards where the profile of distress.orchestrator cannot."),
    ("people", "Who decides what no program may."),
    ("routing", "How work is moved away from a provider that refuses it, and how it comes back."),
    ("budget", "What one task may use where its scope says nothing, and how closely budget-check looks."),
    ("detect", "From when on a health check of heal, or a detector of coord detect, finds something."),
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
    out.push_str(&actions::sample());
    out.push_str(named::SAMPLE);
    out.push_str(matches::SAMPLE);
    out
}

const HEAD: &str = "\
# Watchbill: every key, what it means, what it may be, and its default.
#
# Copy to /etc/watchbill/config.toml or ~/.config/watchbill/config.toml and remove the # before a key to
# change it. Lengths of time are words, in whole seconds: 90s, 15m, 2h, 3d. Any key but those of [profiles],
# [providers], [prices] and [[match]] can also be set by a variable: WATCHBILL_HEAL_GRACE=5m,
# WATCHBILL_HOST_ALIASES=a,b. A file that every user can write, or that belongs to neither you nor root, is
# refused.
";
