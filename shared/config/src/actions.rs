//! `[heal.health_actions]`: what becomes of each health check's alert, by the check's own name.

use toml::Spanned;
use toml::de::DeValue;

use super::checks::{Action, Check};
use super::place::{ALLOWED, Place, kind, nearest, quoted};
use super::{Heal, Loaded};
use base::error::Result;

/// The key of `[heal]` under which they stand.
pub(super) const KEY: &str = "health_actions";

impl Heal {
    /// What becomes of a check's alert.
    pub fn action(&self, check: Check) -> Action {
        self.health_actions.get(&check).copied().unwrap_or_else(|| check.default_action())
    }
}

/// Lays the table over `loaded`.
pub(super) fn toml(loaded: &mut Loaded, place: &Place<'_>, table: &Spanned<DeValue<'_>>) -> Result<()> {
    let full = format!("heal.{KEY}");
    let Some(entries) = table.get_ref().as_table() else {
        let what = format!("{full} is {}, must be a table", kind(table.get_ref()));
        return Err(place.error(Some(table.span()), what).hint(format!("write [{full}] on its own line")));
    };
    for (name, value) in entries {
        let Some(check) = Check::named(name.get_ref()) else {
            let what = format!("unknown health check {}", quoted(name.get_ref()));
            return Err(place.error(Some(name.span()), what).hint(near(name.get_ref())));
        };
        let text = value.get_ref().as_str();
        let Some(action) = text.and_then(Action::named) else {
            let is = text.map_or_else(|| kind(value.get_ref()).to_owned(), quoted);
            let what = format!("{full}.{:?} is {is}{ALLOWED}{}", check.as_str(), allowed());
            return Err(place.error(Some(value.span()), what));
        };
        // Only what differs is kept, so that two ways to say one thing are one configuration.
        loaded.config.heal.health_actions.remove(&check);
        if action != check.default_action() {
            loaded.config.heal.health_actions.insert(check, action);
        }
        loaded.origin.insert(format!("{full}.{}", check.as_str()), place.path.display().to_string());
    }
    Ok(())
}

fn allowed() -> String {
    let [resume, escalate, ignore] = Action::ALL.map(|a| format!("{:?}", a.as_str()));
    format!("{resume}, {escalate} or {ignore}")
}

fn near(name: &str) -> String {
    let names = Check::ALL.map(|check| check.as_str().to_lowercase());
    match nearest(name, names.iter().map(String::as_str).zip(Check::ALL)) {
        Some(check) => format!("did you mean {:?}?", check.as_str()),
        None => "heal --list-checks shows the names".into(),
    }
}

/// The table in the sample: every check with what is done where nothing is said.
pub(super) fn sample() -> String {
    let mut out = format!(
        "\n# What heal does about a living worker that is not well, by the names of heal --list-checks. \"resume\" stops\n\
         # the worker and requeues its task, where allow_stop is on; elsewhere it is \"escalate\", which leaves the task\n\
         # to a person. No variable sets them.\n# Allowed: {}.\n#[heal.{KEY}]\n",
        allowed()
    );
    for check in Check::ALL {
        out.push_str(&format!("#{:?} = {:?}\n", check.as_str(), check.default_action().as_str()));
    }
    out
}
