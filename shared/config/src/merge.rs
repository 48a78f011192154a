//! Lays one source of values over what is there already.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use toml::de::DeTable;

use super::keys::KeyInfo;
use super::place::{Place, kind, nearest, shown};
use super::rules::Given;
use super::sections::{KEYS, SECTIONS};
use super::{Config, Env, Loaded, actions, headers, matches, tables};
use base::error::{Error, Kind, Result};

/// Most bytes of a key that a message shows.
const MAX_SHOWN: usize = 64;

/// Lays the TOML `text` of the file `path` over `loaded`.
pub(super) fn toml(loaded: &mut Loaded, path: &Path, text: &str) -> Result<()> {
    let place = Place { path, text };
    let document = DeTable::parse(text).map_err(|e| {
        let at =
            e.span().and_then(|span| text.get(span)).filter(|at| at.len() <= MAX_SHOWN && !at.contains('\n'));
        let what = e.message().trim_end().replace('\n', ", ");
        // It is the one fault that the text at its place says better.
        let what = match at.filter(|_| what == "duplicate key") {
            Some(key) => format!("duplicate key {key}: it is set further up already"),
            None => what,
        };
        place.error(e.span(), what)
    })?;
    for (name, table) in document.get_ref() {
        let section = name.get_ref();
        if headers::BY_NAME.contains(&section.as_ref()) {
            tables::toml(loaded, &place, section, table)?;
            continue;
        }
        if section == headers::MATCH {
            matches::toml(loaded, &place, table)?;
            continue;
        }
        if !SECTIONS.iter().any(|(s, _)| s == section) {
            let what = format!("unknown section or key `{}`", shown(section));
            return Err(place.error(Some(name.span()), what).hint(near_section(section)));
        }
        let Some(entries) = table.get_ref().as_table() else {
            let what = format!("{section} is {}, must be a table", kind(table.get_ref()));
            return Err(place
                .error(Some(table.span()), what)
                .hint(format!("write [{section}] on its own line")));
        };
        for (name, value) in entries {
            if section == "heal" && name.get_ref() == actions::KEY {
                actions::toml(loaded, &place, value)?;
                continue;
            }
            let Some(info) = keys_of(section).find(|k| k.key == name.get_ref()) else {
                let what = format!("unknown key `{section}.{}`", shown(name.get_ref()));
                return Err(place.error(Some(name.span()), what).hint(near_key(section, name.get_ref())));
            };
            (info.set)(&mut loaded.config, Given::Toml(value.get_ref()))
                .map_err(|fault| place.error(Some(value.span()), format!("{} {fault}", info.name())))?;
            loaded.origin.insert(info.name(), path.display().to_string());
        }
    }
    Ok(())
}

/// Lays the tables `[notify.NAME]` of a file over `loaded`, whatever else it says.
pub(super) fn notify(loaded: &mut Loaded, path: &Path, text: &str) -> Result<()> {
    let Ok(document) = DeTable::parse(text) else { return Ok(()) };
    let tables = document.get_ref().iter().find(|(name, _)| name.get_ref() == headers::NOTIFY);
    tables.map_or(Ok(()), |(_, tables)| tables::toml(loaded, &Place { path, text }, headers::NOTIFY, tables))
}

/// How the names of our variables begin.
const PREFIX: &str = "WATCHBILL_";

/// Lays the `WATCHBILL_<SECTION>_<KEY>` variables of `env` over `loaded`. Of others [`ignored`] tells.
pub(super) fn env(loaded: &mut Loaded, env: &Env) -> Result<()> {
    for (name, value) in env {
        let Some((name, section, key)) = split(name) else { continue };
        let Some(info) = keys_of(section).find(|k| k.key.to_uppercase() == key) else {
            let hint = match nearest(&key.to_lowercase(), keys_of(section).map(|k| (k.key, k))) {
                Some(info) => format!("did you mean `{}`?", info.variable()),
                None => known_keys(section),
            };
            return Err(Error::new(Kind::Config, shown(name), "unknown key").hint(hint));
        };
        (info.set)(&mut loaded.config, Given::Variable(value))
            .map_err(|fault| Error::new(Kind::Config, name, format!("{} {fault}", info.name())))?;
        loaded.origin.insert(info.name(), name.to_owned());
    }
    Ok(())
}

/// The variables of `env` that set a key, with their values.
pub fn variables(env: &Env) -> Vec<(String, String)> {
    let set = env.iter().filter_map(|(name, value)| {
        let (name, section, key) = split(name)?;
        let is_key = keys_of(section).any(|k| k.key.to_uppercase() == key);
        is_key.then(|| Some((name.to_owned(), value.to_str()?.to_owned())))?
    });
    set.collect()
}

/// What our programs set and read themselves, without the beginning.
const OWN: [&str; 12] = [
    "CLAIM",
    "CONFIG",
    "DB",
    "HARNESS",
    "PASS",
    "PROFILE",
    "PROMPT_FILE",
    "RUN",
    "TASK",
    "TEXT",
    "TITLE",
    "WORKSPACE",
];
/// How the names begin of those that our tests set.
const TEST: &str = "TEST_";

/// The variables of `env` that are called like ours and set nothing, each with what to do about it where that is known.
pub fn ignored(env: &Env, config: &Config) -> Vec<(String, Option<String>)> {
    let one = |name: &OsString| {
        let name = name.to_str()?;
        let rest = name.strip_prefix(PREFIX)?;
        let is_known = split(OsStr::new(name)).is_some() || OWN.contains(&rest) || rest.starts_with(TEST);
        if is_known || is_named(config, name) {
            return None;
        }
        if let Some(section) = of_table(rest) {
            let todo = match section {
                headers::NOTIFY => {
                    "write the key into the file, or name this variable there as url_env or token_env"
                }
                _ => "write the key into the file",
            };
            return Some((shown(name), Some(format!("no variable sets a key of [{section}.NAME]: {todo}"))));
        }
        let keys: Vec<String> = KEYS.iter().map(|k| format!("{}_{}", k.section, k.key)).collect();
        let near = nearest(&rest.to_lowercase(), keys.iter().map(String::as_str).zip(KEYS));
        Some((shown(name), near.map(|key| format!("did you mean {}? Else unset it", key.variable()))))
    };
    env.keys().filter_map(one).collect()
}

/// Whether a target has its URL or its token in this variable.
fn is_named(config: &Config, name: &str) -> bool {
    config.notify.values().flat_map(|t| [&t.url_env, &t.token_env]).flatten().any(|named| named == name)
}

/// The section of tables by name that a variable is meant for, by the end of its name: `NOTIFY_PHONE_URL`.
fn of_table(rest: &str) -> Option<&'static str> {
    let rest = rest.to_lowercase();
    let is_meant = |section: &&str| {
        let entry = rest.strip_prefix(*section).and_then(|rest| rest.strip_prefix('_'));
        let has = |key: &&str| entry.is_some_and(|e| e.strip_suffix(*key).is_some_and(|e| e.ends_with('_')));
        tables::keys(section).iter().any(has)
    };
    headers::BY_NAME.into_iter().find(is_meant)
}

/// Takes the name of a variable apart, if the variable is one of Watchbill.
fn split(name: &OsStr) -> Option<(&str, &'static str, &str)> {
    let name = name.to_str()?;
    let rest = name.strip_prefix(PREFIX)?;
    SECTIONS.iter().find_map(|(section, _)| {
        let key = rest.strip_prefix(section.to_uppercase().as_str())?.strip_prefix('_')?;
        Some((name, *section, key))
    })
}

/// A key that two places have, of which that of a profile is nearly always meant.
const OF_PROFILES: &str = "fallbacks";
const PROFILES_HINT: &str =
    "did you mean `fallbacks` of [profiles.NAME]? For cards it is that of [orchestrator]";

fn near_section(name: &str) -> String {
    if name == OF_PROFILES {
        return PROFILES_HINT.into();
    }
    // A key above the first [section] is the likelier slip than a section of a key's name.
    if let Some(info) = KEYS.iter().find(|k| k.key == name) {
        return format!("did you mean `{}`?", info.name());
    }
    if let Some(section) = nearest(name, headers::all().map(|s| (s, s))) {
        return format!("did you mean `{section}`?");
    }
    match nearest(name, KEYS.iter().map(|k| (k.key, k))) {
        Some(info) => format!("did you mean `{}`?", info.name()),
        None => format!("known sections: {}", headers::all().collect::<Vec<_>>().join(", ")),
    }
}

fn near_key(section: &str, name: &str) -> String {
    if name == OF_PROFILES {
        return PROFILES_HINT.into();
    }
    if let Some(hint) = headers::misplaced(section, name) {
        return hint;
    }
    if let Some(key) = headers::key_of_section(name) {
        return format!("did you mean {key}?");
    }
    match nearest(name, keys_of(section).map(|k| (k.key, k.key))) {
        Some(key) => format!("did you mean `{key}`?"),
        None => known_keys(section),
    }
}

fn keys_of(section: &str) -> impl Iterator<Item = &'static KeyInfo> {
    KEYS.iter().filter(move |k| k.section == section)
}

fn known_keys(section: &str) -> String {
    let names: Vec<&str> = keys_of(section).map(|k| k.key).collect();
    format!("known keys of [{section}]: {}", names.join(", "))
}
