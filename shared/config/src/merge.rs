//! Lays one source of values over what is there already.

use std::ffi::OsStr;
use std::path::Path;

use toml::de::DeTable;

use super::keys::KeyInfo;
use super::place::{Place, kind, nearest, shown};
use super::rules::Given;
use super::sections::{KEYS, SECTIONS};
use super::{Env, Loaded, actions, headers, matches, tables};
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

/// Lays the `WATCHBILL_<SECTION>_<KEY>` variables of `env` over `loaded`. Others are not ours.
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

/// Takes the name of a variable apart, if the variable is one of Watchbill.
fn split(name: &OsStr) -> Option<(&str, &'static str, &str)> {
    let name = name.to_str()?;
    let rest = name.strip_prefix("WATCHBILL_")?;
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
