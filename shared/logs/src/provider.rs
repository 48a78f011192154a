//! Which provider a profile works with: what the operator says in `[profiles]` and `[providers]`, then what Hermes' own
//! profile folders say. Only the keys that say so are read, never a credential.

pub mod changed;
mod folder;
mod hermes;
mod id;
mod known;
pub mod ledger;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use self::folder::{PROFILES, list};
pub use self::hermes::{context_window, home, settings, value};
pub use self::id::Id;
use base::clip::clip;
use base::endpoint::host;
use base::time::Time;
use board::Pin;
use config::{Config, ProfileKeys};

/// What a profile's configuration says about where its requests go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The provider's name; `None` where the runtime chooses by itself.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Host and port of the endpoint. Two providers with one endpoint are one.
    pub endpoint: Option<String>,
    /// The endpoint with its path: what is equal here is surely one and the same service.
    #[serde(default)]
    pub place: Option<String>,
    /// The providers that are named with an endpoint of their own, by host and port: a task may be pinned to one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<String, Option<String>>,
    /// Profiles that may take its work, first one first.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// When what decides in its `config.yaml` changed, as far as passes saw it: see `provider::changed`.
    #[serde(default)]
    pub changed: Option<Time>,
    /// When its `config.yaml` was last written; `None` where it has none.
    #[serde(skip)]
    pub written: Option<Time>,
    /// When a file that may hold its key was last written by a person, as far as times of files tell; `None` where there is none.
    #[serde(skip)]
    pub keyed: Option<Time>,
    /// A hash over what decides in it: provider, model, endpoint and key. It is kept in memory and in our own state file only.
    #[serde(skip)]
    pub says: Option<u64>,
    /// Where our configuration and its own name different providers or endpoints: what both say, in one sentence.
    #[serde(default)]
    pub conflict: Option<String>,
    /// Why its provider is not known: its own `config.yaml` is there, cannot be read, and ours does not say it either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl Profile {
    /// The provider it works with.
    pub fn id(&self) -> Id {
        let id = Id::new(self.provider.as_deref(), self.endpoint.as_deref());
        Id { profile: self.unreadable.as_ref().map(|_| self.name.clone()), ..id }
    }

    /// Whether its settings, or a file that may hold its key, were changed after a moment.
    pub fn is_changed_since(&self, at: Time) -> bool {
        self.changed.max(self.keyed).is_some_and(|changed| changed > at)
    }

    /// That nobody knows which provider it works with, and why.
    pub fn blind(&self) -> Option<String> {
        let why = self.unreadable.as_ref()?;
        Some(format!("the provider of {} is not known: {why}", self.name))
    }

    /// Whom a worker of it asks about a task that has this pin. A model alone is asked of the profile's own provider, unless it
    /// names one: `provider:model`, or `provider/model` where the profile knows that provider.
    pub fn pinned(&self, pin: &Pin) -> Profile {
        let Some(model) = pin.model.as_deref() else { return self.clone() };
        let model = Some(model.to_owned());
        match pin.provider.as_deref().or_else(|| self.named_in(model.as_deref()?)) {
            Some(provider) if bare(Some(provider)) != bare(self.provider.as_deref()) => {
                let named = key(provider).unwrap_or_default();
                let known = || known::host(provider).map(str::to_owned);
                let endpoint = self.listed.get(&named).cloned().unwrap_or_else(known);
                let provider = Some(provider.to_owned());
                Profile { provider, model, endpoint, place: None, unreadable: None, ..self.clone() }
            }
            _ => Profile { model, ..self.clone() },
        }
    }

    /// The provider that a model's name begins with.
    fn named_in<'m>(&self, model: &'m str) -> Option<&'m str> {
        let is_known = |name: &&str| key(name).is_some_and(|name| self.listed.contains_key(&name));
        let colon = model.rsplit_once(':').map(|(name, _)| name);
        let slash = model.split_once('/').map(|(name, _)| name);
        [colon, slash].into_iter().flatten().find(is_known)
    }
}

/// What is known of one profile (`default` is the Hermes root itself): our configuration goes before Hermes' own, which
/// fills in what is missing. `None` where neither knows it.
pub fn of(root: Option<&Path>, name: &str, config: &Config) -> Option<Profile> {
    let ours = config.profiles.get(name);
    let theirs = root.and_then(|root| hermes::read(root, name));
    if ours.is_none() && theirs.is_none() {
        return None;
    }
    let (ours, theirs) = (ours.cloned().unwrap_or_default(), theirs.unwrap_or_default());
    let other = is_other_provider(&ours, &theirs.profile);
    let conflict = conflict(name, &ours, &theirs.profile, other);
    let (written, keyed, says) = (theirs.profile.written, theirs.profile.keyed, theirs.profile.says);
    let unreadable = theirs.profile.unreadable.clone();
    let mut listed = theirs.profile.listed.clone();
    for (name, keys) in &config.providers {
        let host = keys.endpoint.as_deref().and_then(host);
        listed.extend(key(name).filter(|_| host.is_some()).map(|name| (name, host)));
    }
    // What belongs to another provider is not mixed in.
    let theirs = if other { hermes::Said::default() } else { theirs };

    let provider = ours.provider.or(theirs.profile.provider);
    let mut profile = Profile {
        name: name.into(),
        model: ours.model.or(theirs.profile.model),
        fallbacks: ours.fallbacks,
        listed,
        written,
        keyed,
        says,
        conflict,
        ..Profile::default()
    };
    let url = ours.endpoint.or_else(|| match &theirs.profile.endpoint {
        Some(_) => None,
        None => of_provider(provider.as_deref(), config),
    });
    (profile.endpoint, profile.place) = match url {
        Some(url) => (host(&url), place(&url)),
        None => (theirs.profile.endpoint, theirs.profile.place),
    };
    // An endpoint that is named and hidden from us is not the usual one.
    if profile.endpoint.is_none() && !theirs.is_hidden {
        profile.endpoint = provider.as_deref().and_then(known::host).map(str::to_owned);
    }
    profile.provider = provider;
    profile.unreadable = unreadable.filter(|_| !profile.id().is_named());
    Some(profile)
}

/// A profile as the configuration of Watchbill describes it: its keys go before what is known.
pub fn as_told(known: Profile, keys: &ProfileKeys) -> Profile {
    let mut profile = known;
    if let Some(url) = &keys.endpoint {
        (profile.endpoint, profile.place) = (host(url), place(url));
    }
    profile.provider = keys.provider.clone().or(profile.provider);
    profile.model = keys.model.clone().or(profile.model);
    if Id::new(profile.provider.as_deref(), profile.endpoint.as_deref()).is_named() {
        profile.unreadable = None;
    }
    profile
}

/// The URL `[providers.NAME]` gives for a provider.
fn of_provider(name: Option<&str>, config: &Config) -> Option<String> {
    let name = bare(name)?;
    config.providers.iter().find(|(key, _)| bare(Some(key)).as_ref() == Some(&name))?.1.endpoint.clone()
}

/// A provider's name as it is looked up: for Hermes, blanks are hyphens.
fn key(name: &str) -> Option<String> {
    bare(Some(name)).map(|name| name.replace(' ', "-"))
}

/// A provider's name as names are compared.
fn bare(name: Option<&str>) -> Option<String> {
    Id::new(name, None).name
}

/// Whether two configurations of one profile name two providers. Two names of one endpoint are one provider.
fn is_other_provider(ours: &ProfileKeys, theirs: &Profile) -> bool {
    let usual = |name: &Option<String>| name.as_deref().and_then(known::host).map(str::to_owned);
    let our_host = ours.endpoint.as_deref().and_then(host).or_else(|| usual(&ours.provider));
    let their_host = theirs.endpoint.clone().or_else(|| usual(&theirs.provider));
    match (bare(ours.provider.as_deref()), bare(theirs.provider.as_deref())) {
        (Some(a), Some(b)) => a != b && (our_host.is_none() || our_host != their_host),
        _ => false,
    }
}

/// What two configurations of one profile say that cannot both be true.
fn conflict(name: &str, ours: &ProfileKeys, theirs: &Profile, other: bool) -> Option<String> {
    let our_host = ours.endpoint.as_deref().and_then(host);
    let (what, a, b) = if other {
        ("provider", ours.provider.clone()?, theirs.provider.clone()?)
    } else {
        ("endpoint", our_host?, theirs.endpoint.clone()?)
    };
    // Hermes' text may be anything; ours was checked when it was loaded.
    let b: String = clip(&b, 100).chars().filter(|c| !c.is_control()).collect();
    (a != b).then(|| format!("profiles.{name} says {what} {a}, its config.yaml says {b}"))
}

/// Host and path of a URL, without what may hold a secret.
fn place(url: &str) -> Option<String> {
    let path = url
        .trim()
        .split_once("://")?
        .1
        .split(['?', '#'])
        .next()?
        .split_once('/')
        .map_or("", |(_, path)| path);
    Some(format!("{}/{}", host(url)?, path.trim_end_matches('/')))
}

#[cfg(test)]
mod tests;
