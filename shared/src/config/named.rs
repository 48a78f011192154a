//! Tables by name: `[profiles.NAME]`, `[providers.NAME]` and `[prices.MODEL]`, what the operator says of them himself.

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::Loaded;
use super::layer::{ALIKE, Place, kind, likeness, shown};
use crate::endpoint::host;
use crate::error::{Error, Kind, Result};
use crate::names::is_profile;

/// The sections that hold tables by name.
pub(super) const SECTIONS: [&str; 3] = ["profiles", "providers", "prices"];

const PROFILE: [&str; 4] = ["provider", "endpoint", "model", "fallbacks"];
const PROVIDER: [&str; 1] = ["endpoint"];
const PRICE: [&str; 4] = ["input", "cache_write", "cache_read", "output"];

/// The highest price that is taken, in US dollars per million tokens: a dollar a token.
const MAX_PRICE: f64 = 1e6;

/// `[profiles.NAME]`: where a profile's requests go, where its own configuration does not say so, and who may take
/// its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProfileKeys {
    /// The provider's name.
    pub provider: Option<String>,
    /// The URL its requests go to.
    pub endpoint: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Profiles that may take its work, first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// `[providers.NAME]`: what is said of a provider once, for all its profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProviderKeys {
    /// The URL requests go to where a profile names none itself.
    pub endpoint: Option<String>,
}

/// `[prices.MODEL]`: what tokens of the models cost whose names contain this one, in US dollars per million.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PriceKeys {
    /// Input that is not cached. Never `None` in a configuration that was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Input written to the cache; `None` is 1.25 times `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Input read from the cache; `None` is a tenth of `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Output. Never `None` in a configuration that was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
}

/// Holds every table against what it must have, once all layers are laid.
pub(super) fn whole(loaded: &Loaded) -> Result<()> {
    for (model, keys) in &loaded.config.prices {
        for (key, value, other) in [("input", keys.input, "output"), ("output", keys.output, "input")] {
            if value.is_some() {
                continue;
            }
            let at = PRICE.iter().find_map(|k| loaded.origin.get(&format!("prices.{model}.{k}")));
            let what = format!("prices.{} has no {key}", shown(model));
            let hint = format!("name {key} beside {other}, in dollars per million tokens");
            let at = at.map_or("configuration", String::as_str);
            return Err(Error::new(Kind::Config, at, what).hint(hint));
        }
    }
    Ok(())
}

/// Lays the tables of one section over `loaded`.
pub(super) fn toml(
    loaded: &mut Loaded,
    place: &Place<'_>,
    section: &str,
    tables: &Spanned<DeValue<'_>>,
) -> Result<()> {
    let (keys, rule): (&[&str], _) = match section {
        "profiles" => (&PROFILE, "a profile's name is small letters, digits, _ and -, at most 64"),
        "prices" => (&PRICE, "a model's name is printable text, at most 200 bytes"),
        _ => (&PROVIDER, "a provider's name is letters, digits, _ . : and -, at most 64"),
    };
    let as_table = |value: &Spanned<DeValue<'_>>, name: &str| {
        let what = format!("{name} is {}, must be a table", kind(value.get_ref()));
        place.error(Some(value.span()), what).hint(format!("write [{section}.NAME] on its own line"))
    };
    let Some(entries) = tables.get_ref().as_table() else { return Err(as_table(tables, section)) };
    for (name, table) in entries {
        let id = name.get_ref().as_ref();
        let fits = match section {
            "profiles" => is_profile(id),
            "prices" => is_model(id),
            _ => is_provider(id),
        };
        if !fits {
            let what = format!("{section} holds a table {:?}", shown(id));
            return Err(place.error(Some(name.span()), what).hint(rule));
        }
        let full = format!("{section}.{}", shown(id));
        let Some(values) = table.get_ref().as_table() else { return Err(as_table(table, &full)) };
        // A table without a key says already that there is such a one.
        match section {
            "profiles" => _ = loaded.config.profiles.entry(id.into()).or_default(),
            "prices" => _ = loaded.config.prices.entry(id.into()).or_default(),
            _ => _ = loaded.config.providers.entry(id.into()).or_default(),
        }
        for (key, value) in values {
            let key_name = key.get_ref().as_ref();
            if !keys.contains(&key_name) {
                let what = format!("unknown key `{full}.{}`", shown(key_name));
                return Err(place.error(Some(key.span()), what).hint(near(keys, key_name)));
            }
            set(loaded, section, id, key_name, value.get_ref())
                .map_err(|what| place.error(Some(value.span()), format!("{full}.{key_name} {what}")))?;
            loaded.origin.insert(format!("{section}.{id}.{key_name}"), place.path.display().to_string());
        }
    }
    Ok(())
}

fn set(
    loaded: &mut Loaded,
    section: &str,
    id: &str,
    key: &str,
    value: &DeValue<'_>,
) -> std::result::Result<(), String> {
    let config = &mut loaded.config;
    if section == "providers" {
        config.providers.entry(id.into()).or_default().endpoint = Some(url(value)?);
        return Ok(());
    }
    if section == "prices" {
        let row = config.prices.entry(id.into()).or_default();
        let at = match key {
            "input" => &mut row.input,
            "cache_write" => &mut row.cache_write,
            "cache_read" => &mut row.cache_read,
            _ => &mut row.output,
        };
        *at = Some(price(value)?);
        return Ok(());
    }
    let profile = config.profiles.entry(id.into()).or_default();
    match key {
        "provider" => profile.provider = Some(provider(value)?),
        "endpoint" => profile.endpoint = Some(url(value)?),
        "model" => profile.model = Some(model(value)?),
        _ => profile.fallbacks = fallbacks(value, id)?,
    }
    Ok(())
}

fn provider(value: &DeValue<'_>) -> std::result::Result<String, String> {
    let must = "allowed is a name of letters, digits, _ . : and -, at most 64";
    text(value, must, "is no provider's name", is_provider)
}

fn url(value: &DeValue<'_>) -> std::result::Result<String, String> {
    let must = "allowed is a URL like https://api.example/v1";
    text(value, must, "names no host", |t| host(t).is_some())
}

fn model(value: &DeValue<'_>) -> std::result::Result<String, String> {
    text(value, "allowed is the name of a model", "is no model's name", is_model)
}

fn is_model(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

/// Dollars per million tokens.
fn price(value: &DeValue<'_>) -> std::result::Result<f64, String> {
    let must = "allowed is a number of dollars per million tokens from 0 to 1000000";
    let read = match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
        DeValue::Float(n) => n.as_str().parse().ok(),
        _ => return Err(format!("is {}; {must}", kind(value))),
    };
    read.filter(|n| (0.0..=MAX_PRICE).contains(n)).ok_or_else(|| format!("is out of range; {must}"))
}

fn text(
    value: &DeValue<'_>,
    must: &str,
    fault: &str,
    fits: impl Fn(&str) -> bool,
) -> std::result::Result<String, String> {
    let Some(text) = value.as_str() else { return Err(format!("is {}; {must}", kind(value))) };
    if !fits(text) {
        return Err(format!("= {:?} {fault}; {must}", shown(text)));
    }
    Ok(text.to_owned())
}

fn fallbacks(value: &DeValue<'_>, id: &str) -> std::result::Result<Vec<String>, String> {
    let must = "allowed is a list of profile names";
    let Some(names) = value.as_array() else { return Err(format!("is {}; {must}", kind(value))) };
    let mut read = Vec::new();
    for name in names.iter() {
        let Some(name) = name.get_ref().as_str() else {
            return Err(format!("holds more than words; {must}"));
        };
        if !is_profile(name) {
            return Err(format!("holds {:?}, no profile name; {must}", shown(name)));
        }
        if name == id {
            return Err(format!("holds {name:?}, the profile itself; name another one"));
        }
        read.push(name.to_owned());
    }
    Ok(read)
}

/// Whether a name is one for a provider, such as `anthropic` or `custom:moon`.
fn is_provider(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn near(keys: &[&str], name: &str) -> String {
    let scored = keys.iter().map(|k| (likeness(name, k), k)).filter(|(like, _)| *like >= ALIKE);
    match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, key)) => format!("did you mean `{key}`?"),
        None => format!("known keys: {}", keys.join(", ")),
    }
}

/// Their examples at the end of the sample.
pub(super) const SAMPLE: &str = "
# Tables by name. No variable sets them. What stands here goes before what Hermes says of a profile.

# What a profile works with, and which profiles may take its work, first one first.
# Allowed: provider: a name; endpoint: a URL; model: a name; fallbacks: a list of profile names.
#[profiles.luna]
#provider = \"anthropic\"
#endpoint = \"https://api.anthropic.com\"
#model = \"opus\"
#fallbacks = [\"nova\"]

# The endpoint of a provider, for its profiles that name none themselves.
# Allowed: endpoint: a URL.
#[providers.moon]
#endpoint = \"https://api.moon.example/v1\"

# What tokens cost, in US dollars per million, of the models whose names contain this one; of several names
# the longest counts. It goes before the built-in list prices of Claude models. Other models have no price
# until they stand here.
# Allowed: input, cache_write, cache_read, output: a number from 0 on. input and output must be there;
# cache_write is 1.25 times input and cache_read a tenth of it unless they are.
#[prices.\"gpt-5.1-codex\"]
#input = 1.25
#cache_write = 1.25
#cache_read = 0.125
#output = 10.0
";
