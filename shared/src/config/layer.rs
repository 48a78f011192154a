//! Lays one source of values over what is there already.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeInteger, DeTable, DeValue};

use super::keys::{DRIFTS, KeyInfo, NAMESPACES, ROUTES, SECTIONS, Slot, keys};
use super::{Config, Env, Loaded, QuietHours, actions, matches, named, span};
use crate::error::{Error, Kind, Result};
use crate::money::Money;
use crate::names::is_profile;

/// Lays the TOML `text` of the file `path` over `loaded`.
pub(super) fn toml(loaded: &mut Loaded, path: &Path, text: &str) -> Result<()> {
    let place = Place { path, text };
    let document = DeTable::parse(text)
        .map_err(|e| place.error(e.span(), e.message().trim_end().replace('\n', ", ")))?;
    for (name, table) in document.get_ref() {
        let section = name.get_ref();
        if named::SECTIONS.contains(&section.as_ref()) {
            named::toml(loaded, &place, section, table)?;
            continue;
        }
        if section == matches::SECTION {
            matches::toml(loaded, &place, table)?;
            continue;
        }
        if !SECTIONS.iter().any(|(s, _)| s == section) {
            return Err(place.error(Some(name.span()), unknown_section(section)).hint(near_section(section)));
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
            let Some(info) = keys().iter().find(|k| k.section == section && k.key == name.get_ref()) else {
                let what = format!("unknown key `{section}.{}`", shown(name.get_ref()));
                return Err(place.error(Some(name.span()), what).hint(near_key(section, name.get_ref())));
            };
            from_toml(&mut loaded.config, info, value.get_ref())
                .map_err(|what| place.error(Some(value.span()), what))?;
            loaded.origin.insert(info.name(), path.display().to_string());
        }
    }
    Ok(())
}

/// Lays the `WATCHBILL_<SECTION>_<KEY>` variables of `env` over `loaded`. Others are not ours.
pub(super) fn env(loaded: &mut Loaded, env: &Env) -> Result<()> {
    for (name, value) in env {
        let Some((name, section, key)) = split(name) else { continue };
        let Some(info) = keys().iter().find(|k| k.section == section && k.key.to_uppercase() == key) else {
            let near = nearest(&key.to_lowercase(), keys().iter().filter(|k| k.section == section));
            let hint = match near {
                Some(info) => format!("did you mean `{}`?", info.variable()),
                None => format!("known keys of [{section}]: {}", list(section)),
            };
            return Err(Error::new(Kind::Config, shown(name), "unknown key").hint(hint));
        };
        from_env(&mut loaded.config, info, value).map_err(|what| Error::new(Kind::Config, name, what))?;
        loaded.origin.insert(info.name(), name.to_owned());
    }
    Ok(())
}

/// Takes a variable's name apart, if it is one of ours.
fn split(name: &OsStr) -> Option<(&str, &'static str, &str)> {
    let name = name.to_str()?;
    let rest = name.strip_prefix("WATCHBILL_")?;
    SECTIONS.iter().find_map(|(section, _)| {
        let key = rest.strip_prefix(section.to_uppercase().as_str())?.strip_prefix('_')?;
        Some((name, *section, key))
    })
}

fn from_toml(config: &mut Config, info: &KeyInfo, value: &DeValue<'_>) -> std::result::Result<(), String> {
    match (&info.slot, value) {
        (Slot::Count { .. }, DeValue::Integer(n)) => set_count(config, info, integer(n)),
        (Slot::Switch(at), DeValue::Boolean(on)) => {
            *at(config) = *on;
            Ok(())
        }
        (Slot::Names(at) | Slot::Profiles(at), DeValue::Array(names)) => {
            let names =
                names.iter().map(|v| v.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            let names =
                names.ok_or_else(|| format!("{} holds more than words{}", info.name(), must(info)))?;
            *at(config) = checked(info, names)?;
            Ok(())
        }
        (
            Slot::Path(_)
            | Slot::Span { .. }
            | Slot::Namespace(_)
            | Slot::Profile(_)
            | Slot::Switch(_)
            | Slot::Route(_)
            | Slot::Drift(_)
            | Slot::Money(_)
            | Slot::Quiet(_),
            DeValue::String(text),
        ) => from_text(config, info, text),
        _ => Err(format!("{} is {}{}", info.name(), kind(value), must(info))),
    }
}

fn from_env(config: &mut Config, info: &KeyInfo, value: &OsStr) -> std::result::Result<(), String> {
    if let Slot::Path(at) = info.slot {
        *at(config) = Some(absolute(info, PathBuf::from(value))?);
        return Ok(());
    }
    let text = value.to_str().ok_or_else(|| format!("{} is not UTF-8{}", info.name(), must(info)))?;
    match &info.slot {
        Slot::Count { .. } => set_count(config, info, text.trim().parse().map_err(|_| shown(text))),
        Slot::Names(at) | Slot::Profiles(at) => {
            let names = text.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
            *at(config) = checked(info, names)?;
            Ok(())
        }
        _ => from_text(config, info, text),
    }
}

/// The kinds of value that are a text in TOML and in a variable alike.
fn from_text(config: &mut Config, info: &KeyInfo, text: &str) -> std::result::Result<(), String> {
    let refused = |what: &str| format!("{} = {:?} {what}{}", info.name(), shown(text), must(info));
    match info.slot {
        Slot::Path(at) => *at(config) = Some(absolute(info, PathBuf::from(text))?),
        Slot::Span { at, min, max } => {
            let length = span::read(text).map_err(|what| refused(&what))?;
            if !(min..=max).contains(&length.as_secs()) {
                return Err(refused("is out of range"));
            }
            *at(config) = length;
        }
        Slot::Namespace(at) => {
            let known = NAMESPACES.iter().find(|(name, _)| *name == text);
            *at(config) = known.map(|(_, n)| *n).ok_or_else(|| refused("is unknown"))?;
        }
        Slot::Route(at) => {
            let known = ROUTES.iter().find(|(name, _)| *name == text);
            *at(config) = known.map(|(_, r)| *r).ok_or_else(|| refused("is unknown"))?;
        }
        Slot::Drift(at) => {
            let known = DRIFTS.iter().find(|(name, _)| *name == text);
            *at(config) = known.map(|(_, d)| *d).ok_or_else(|| refused("is unknown"))?;
        }
        Slot::Money(at) => {
            let amount = Money::parse(text).filter(|m| m.0 > 0);
            *at(config) = Some(amount.ok_or_else(|| refused("is no amount"))?);
        }
        Slot::Quiet(at) => {
            *at(config) = Some(QuietHours::parse(text).ok_or_else(|| refused("is no such time"))?);
        }
        Slot::Profile(at) => {
            if !is_profile(text) {
                return Err(refused("is no profile name"));
            }
            *at(config) = Some(text.to_owned());
        }
        Slot::Switch(at) => {
            *at(config) = match text {
                "on" => true,
                "off" => false,
                _ => return Err(refused("is neither")),
            };
        }
        Slot::Count { .. } | Slot::Names(_) | Slot::Profiles(_) => {
            return Err(refused("is of the wrong kind"));
        }
    }
    Ok(())
}

/// Sets a count; `read` is the number, or what stands in its place.
fn set_count(
    config: &mut Config,
    info: &KeyInfo,
    read: std::result::Result<i64, String>,
) -> std::result::Result<(), String> {
    let Slot::Count { at, min, max } = info.slot else {
        return Err(format!("{} is no number{}", info.name(), must(info)));
    };
    let n = read.map_err(|text| format!("{} = {text:?} is no whole number{}", info.name(), must(info)))?;
    match u32::try_from(n) {
        Ok(fits) if (min..=max).contains(&fits) => {
            *at(config) = fits;
            Ok(())
        }
        _ => Err(format!("{} = {n} is out of range{}", info.name(), must(info))),
    }
}

fn integer(n: &DeInteger<'_>) -> std::result::Result<i64, String> {
    i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| shown(n.as_str()))
}

/// A relative path would mean another file for cron than for a shell.
fn absolute(info: &KeyInfo, path: PathBuf) -> std::result::Result<PathBuf, String> {
    if path.is_absolute() {
        return Ok(path);
    }
    Err(format!("{} = {:?} is not absolute{}", info.name(), shown(&path.to_string_lossy()), must(info)))
}

/// Host names as they stand before the colon of a claim (`host:pid`), or profile names.
fn checked(info: &KeyInfo, names: Vec<String>) -> std::result::Result<Vec<String>, String> {
    let profiles = matches!(info.slot, Slot::Profiles(_));
    let bad = |n: &&String| match profiles {
        true => !is_profile(n),
        false => n.is_empty() || n.chars().any(|c| c.is_whitespace() || c.is_control() || ":,".contains(c)),
    };
    let noun = if profiles { "profile name" } else { "host name" };
    match names.iter().find(bad) {
        Some(name) => Err(format!("{} holds {:?}, no {noun}{}", info.name(), shown(name), must(info))),
        None => Ok(names),
    }
}

fn must(info: &KeyInfo) -> String {
    let noun = match info.slot {
        Slot::Span { .. } => "a length of time from ",
        Slot::Count { .. } => "a whole number from ",
        _ => "",
    };
    format!("; allowed is {noun}{}", info.allowed())
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Where in which file.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    text: &'a str,
}

impl Place<'_> {
    /// An error at `path:line:column`, both counted from 1, the column in characters.
    pub(super) fn error(&self, span: Option<Range<usize>>, what: impl std::fmt::Display) -> Error {
        let before = span.and_then(|s| self.text.get(..s.start.min(self.text.len())));
        let at = match before {
            Some(before) => {
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                format!("{}:{line}:{column}", self.path.display())
            }
            None => self.path.display().to_string(),
        };
        Error::new(Kind::Config, at, what)
    }
}

fn unknown_section(name: &str) -> String {
    format!("unknown section or key `{}`", shown(name))
}

fn near_section(name: &str) -> String {
    let sections = || SECTIONS.iter().map(|(s, _)| *s).chain(named::SECTIONS).chain([matches::SECTION]);
    // A key above the first [section] is the likelier slip than a section of a key's name.
    if let Some(info) = keys().iter().find(|k| k.key == name) {
        return format!("did you mean `{}`?", info.name());
    }
    let near = sections().map(|s| (likeness(name, s), s)).filter(|(like, _)| *like >= ALIKE);
    if let Some((_, section)) = near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        return format!("did you mean `{section}`?");
    }
    match nearest(name, keys().iter()) {
        Some(info) => format!("did you mean `{}`?", info.name()),
        None => format!("known sections: {}", sections().collect::<Vec<_>>().join(", ")),
    }
}

fn near_key(section: &str, name: &str) -> String {
    if let Some(info) = keys().iter().find(|k| k.key == name) {
        return format!("did you mean `{}` of [{}]?", info.key, info.section);
    }
    match nearest(name, keys().iter().filter(|k| k.section == section)) {
        Some(info) => format!("did you mean `{}`?", info.key),
        None => format!("known keys of [{section}]: {}", list(section)),
    }
}

fn list(section: &str) -> String {
    keys().iter().filter(|k| k.section == section).map(|k| k.key).collect::<Vec<_>>().join(", ")
}

/// Below this two words have nothing to do with each other.
pub(super) const ALIKE: f64 = 0.6;

fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a KeyInfo>) -> Option<&'a KeyInfo> {
    let scored = among.map(|k| (likeness(name, k.key), k)).filter(|(like, _)| *like >= ALIKE);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, k)| k)
}

pub(super) fn likeness(name: &str, known: &str) -> f64 {
    // The comparison is quadratic, and the name is whatever stands in the file.
    let short: String = name.chars().take(40).collect();
    strsim::normalized_damerau_levenshtein(&short.to_lowercase().replace('-', "_"), known)
}

/// A text from outside on one line, and no longer than a line can bear.
pub(super) fn shown(text: &str) -> String {
    let mut out: String =
        text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push('\u{2026}');
    }
    out
}
