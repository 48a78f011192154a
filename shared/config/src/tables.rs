//! Tables by name: `[profiles.NAME]`, `[providers.NAME]`, `[prices.MODEL]` and `[notify.NAME]`, what the operator says of them
//! himself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::de::DeValue;
use toml::{Spanned, Value};

use super::QuietHours;
use super::keys::declare_struct;
use super::place::{Place, kind, nearest, quoted, shown};
use super::rules::{
    AbsolutePath, Count, Given, HOURS, Names, OneOf, PROFILE, PROFILES, Read, Rule, Text, wrong_kind,
};
use super::{Loaded, headers};
use base::endpoint::host;
use base::error::{Error, Kind, Result};
use base::named_enum::named_enum;
use base::names::is_profile;

/// What stands in a table by name.
trait Table: Default + 'static {
    /// The section its tables stand in.
    const SECTION: &'static str;
    /// What the name of a table may be.
    const NAMES: &'static str;
    /// Whether it is that.
    const IS_NAME: fn(&str) -> bool;
    /// Its keys, and how each is set.
    const KEYS: &'static [(&'static str, Set<Self>)];
}

type Set<T> = fn(&mut T, Given<'_>) -> Read<()>;

/// Declares a [`Table`]. Its keys are declared as in `declare_sections!`.
macro_rules! declare_table {
    (
        $(#[doc = $about:literal])+
        [$section:ident] where $is_name:ident, $names:literal;
        struct $Table:ident {
            $($(#[doc = $meaning:literal])+ $key:ident: $type:ty = $default:expr, $rule:expr;)*
        }
    ) => {
        declare_struct! {
            struct ($($about)+) $Table { $($(#[doc = $meaning])+ $key: $type = $default, $rule;)* }
        }

        impl Table for $Table {
            const SECTION: &'static str = stringify!($section);
            const NAMES: &'static str = $names;
            const IS_NAME: fn(&str) -> bool = $is_name;
            const KEYS: &'static [(&'static str, Set<$Table>)] =
                &[$((stringify!($key), |table, given| $rule.set(&mut table.$key, given))),*];
        }
    };
}

declare_table! {
    /// `[profiles.NAME]`: where a profile's requests go if its own configuration does not say so, and its
    /// fallbacks.
    [profiles] where is_profile, "a profile's name is small letters, digits, _ and -, at most 64";
    struct ProfileKeys {
        /// The provider's name.
        provider: Option<String> = None, PROVIDER;
        /// The URL its requests go to.
        endpoint: Option<String> = None, URL;
        /// The model.
        model: Option<String> = None, MODEL;
        /// Profiles that may take its work, first one first.
        fallbacks: Vec<String> = Vec::new(), PROFILES;
    }
}

declare_table! {
    /// `[providers.NAME]`: what is said of a provider once, for all its profiles.
    [providers] where is_provider, "a provider's name is letters, digits, _ . : and -, at most 64";
    struct ProviderKeys {
        /// The URL requests go to where a profile names none itself.
        endpoint: Option<String> = None, URL;
    }
}

declare_table! {
    /// `[prices.MODEL]`: what tokens of the models cost whose names contain this one, in US dollars per
    /// million.
    [prices] where is_model, "a model's name is printable text, at most 200 bytes";
    struct PriceKeys {
        /// Input that is not cached. Never `None` in a configuration that was loaded.
        input: Option<f64> = None, Price;
        /// Input written to the cache; `None` is 1.25 times `input`.
        cache_write: Option<f64> = None, Price;
        /// Input read from the cache; `None` is a tenth of `input`.
        cache_read: Option<f64> = None, Price;
        /// Output. Never `None` in a configuration that was loaded.
        output: Option<f64> = None, Price;
    }
}

declare_table! {
    /// `[notify.NAME]`: whom `watchbill notify` tells what needs a person, and how.
    [notify] where is_profile, "the name of a target is small letters, digits, _ and -, at most 64";
    struct NotifyKeys {
        /// The program that tells it, with its arguments. It gets the message as JSON on its standard input.
        command: Vec<String> = Vec::new(), WORDS;
        /// The URL the message is sent to.
        url: Option<String> = None, WEB;
        /// A file whose first line is that URL, where the URL itself is a secret.
        url_file: Option<PathBuf> = None, AbsolutePath;
        /// The name of a variable of the environment that holds that URL.
        url_env: Option<String> = None, VARIABLE;
        /// The form of what is sent to a URL.
        format: NotifyFormat = NotifyFormat::Json, OneOf(NotifyFormat::NAMED);
        /// A file whose first line is the token of the receiver.
        token_file: Option<PathBuf> = None, AbsolutePath;
        /// The name of a variable of the environment that holds that token.
        token_env: Option<String> = None, VARIABLE;
        /// The chat of Telegram to write to.
        chat: Option<String> = None, CHAT;
        /// Hours of the local day in which nothing is sent. What still needs a person then is sent at their end.
        quiet: Option<QuietHours> = None, HOURS;
        /// The most messages in any hour. What is more comes with the next one.
        max_per_hour: u32 = 6, Count(1..=60);
    }
}

named_enum! {
    /// The form in which a message is sent to a URL.
    pub enum NotifyFormat {
        /// The object that a command gets as well.
        Json = "json",
        /// A topic of an ntfy server.
        Ntfy = "ntfy",
        /// An incoming webhook of Slack, or of what understands the same, such as Mattermost.
        Slack = "slack",
        /// A webhook of Discord.
        Discord = "discord",
        /// A bot of Telegram.
        Telegram = "telegram",
    }
}

/// A program and its arguments.
const WORDS: Names = Names { noun: "word", fits: |word| !word.is_empty() && !word.contains('\0') };

const WEB: Text<String> = Text {
    allowed: "a URL like https://ntfy.example/topic",
    example: "\"https://ntfy.example/topic\"",
    read: |url| is_web(url).then(|| url.trim().to_owned()),
    fault: "is not a URL that begins with http:// or https://",
    ..PROFILE
};

const VARIABLE: Text<String> = Text {
    allowed: "the name of a variable",
    example: "\"NAME\"",
    read: |name| is_variable(name).then(|| name.to_owned()),
    fault: "is not the name of a variable",
    ..PROFILE
};

const CHAT: Text<String> = Text {
    allowed: "the id of a chat like -1001234567890, or @channel",
    read: |chat| is_chat(chat).then(|| chat.to_owned()),
    fault: "is not a chat",
    ..PROFILE
};

const PROVIDER: Text<String> = Text {
    allowed: "a name of letters, digits, _ . : and -, at most 64",
    read: |name| is_provider(name).then(|| name.to_owned()),
    fault: "is not the name of a provider",
    ..PROFILE
};

const URL: Text<String> = Text {
    allowed: "a URL like https://api.example/v1",
    read: |url| host(url).map(|_| url.to_owned()),
    fault: "names no host",
    ..PROFILE
};

const MODEL: Text<String> = Text {
    allowed: "the name of a model",
    read: |name| is_model(name).then(|| name.to_owned()),
    fault: "is not the name of a model",
    ..PROFILE
};

/// The highest price that is taken, in US dollars per million tokens: a dollar a token.
const MAX_PRICE: f64 = 1e6;

/// A price in US dollars per million tokens, or none.
struct Price;

impl Rule for Price {
    type Value = Option<f64>;

    fn allowed(&self) -> String {
        format!("a number of dollars per million tokens from 0 to {MAX_PRICE}")
    }

    fn write(&self, price: &Option<f64>) -> Option<Value> {
        price.map(Value::from)
    }

    fn read(&self, _: &str) -> Read<Option<f64>> {
        Err("is a text".into())
    }

    fn read_toml(&self, value: &DeValue<'_>) -> Read<Option<f64>> {
        let read = match value {
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
            DeValue::Float(n) => n.as_str().parse().ok(),
            _ => return wrong_kind(value),
        };
        let fits = read.filter(|n| (0.0..=MAX_PRICE).contains(n));
        fits.map_or_else(|| Err("is out of range".into()), |n| Ok(Some(n)))
    }
}

/// Holds every table against what it must have, once all layers are laid.
pub(super) fn whole(loaded: &Loaded) -> Result<()> {
    for (name, target) in &loaded.config.notify {
        if let Err((what, hint)) = target.check() {
            let section = format!("notify.{}", shown(name));
            let mut keys = NotifyKeys::KEYS.iter();
            let at = keys.find_map(|(k, _)| loaded.origin.get(&format!("notify.{name}.{k}")));
            let at = at.map_or("configuration", String::as_str);
            return Err(Error::new(Kind::Config, at, format!("{section} {what}")).hint(hint));
        }
    }
    for (model, keys) in &loaded.config.prices {
        for (key, value, other) in [("input", keys.input, "output"), ("output", keys.output, "input")] {
            if value.is_some() {
                continue;
            }
            let at =
                PriceKeys::KEYS.iter().find_map(|(k, _)| loaded.origin.get(&format!("prices.{model}.{k}")));
            let what = format!("prices.{} has no {key}", shown(model));
            let hint = format!("name {key} beside {other}, in dollars per million tokens");
            let at = at.map_or("configuration", String::as_str);
            return Err(Error::new(Kind::Config, at, what).hint(hint));
        }
    }
    Ok(())
}

impl NotifyKeys {
    /// What is wrong with a target though each of its values is allowed, and what to do.
    fn check(&self) -> std::result::Result<(), (&'static str, &'static str)> {
        let urls = [self.url.is_some(), self.url_file.is_some(), self.url_env.is_some()];
        let urls = urls.into_iter().filter(|is_set| *is_set).count();
        let has_token = self.token_file.is_some() || self.token_env.is_some();
        let is_telegram = self.format == NotifyFormat::Telegram;
        let is_command = !self.command.is_empty();
        match () {
            () if urls > 1 => Err(("has several URLs", "keep one of url, url_file and url_env")),
            () if self.token_file.is_some() && self.token_env.is_some() => {
                Err(("has two tokens", "keep one of token_file and token_env"))
            }
            () if is_command && (urls > 0 || has_token || self.format != NotifyFormat::Json) => {
                Err(("has a command and something for a URL", "write two targets, or keep one of them"))
            }
            () if is_command && self.chat.is_some() => {
                Err(("has a command and a chat, which is for Telegram alone", "take chat out"))
            }
            () if is_command => Ok(()),
            () if is_telegram && (!has_token || self.chat.is_none()) => {
                Err(("lacks what a bot of Telegram needs", "name chat, and token_file or token_env"))
            }
            () if !is_telegram && self.chat.is_some() => {
                Err(("names a chat and is not for Telegram", "take chat out, or set format = \"telegram\""))
            }
            () if urls == 0 && !is_telegram => {
                Err(("has neither a command nor a URL", "name command, url, url_file or url_env"))
            }
            () => Ok(()),
        }
    }
}

/// The keys of the tables of a section.
pub(super) fn keys(section: &str) -> Vec<&'static str> {
    fn of<T: Table>() -> Vec<&'static str> {
        T::KEYS.iter().map(|(key, _)| *key).collect()
    }
    match section {
        ProfileKeys::SECTION => of::<ProfileKeys>(),
        PriceKeys::SECTION => of::<PriceKeys>(),
        NotifyKeys::SECTION => of::<NotifyKeys>(),
        _ => of::<ProviderKeys>(),
    }
}

/// Lays the tables of one section over `loaded`.
pub(super) fn toml(
    loaded: &mut Loaded,
    place: &Place<'_>,
    section: &str,
    tables: &Spanned<DeValue<'_>>,
) -> Result<()> {
    let Loaded { config, origin } = loaded;
    match section {
        "profiles" => lay(&mut config.profiles, origin, place, tables, |id, profile| {
            let itself = profile.fallbacks.iter().find(|name| *name == id)?;
            Some(format!("holds {}, the profile itself; name another one", quoted(itself)))
        }),
        "prices" => lay(&mut config.prices, origin, place, tables, |_, _| None),
        headers::NOTIFY => lay(&mut config.notify, origin, place, tables, |_, _| None),
        _ => lay(&mut config.providers, origin, place, tables, |_, _| None),
    }
}

/// `fault` says what is wrong with a table though each of its values is allowed.
fn lay<T: Table>(
    over: &mut BTreeMap<String, T>,
    origin: &mut BTreeMap<String, String>,
    place: &Place<'_>,
    tables: &Spanned<DeValue<'_>>,
    fault: fn(&str, &T) -> Option<String>,
) -> Result<()> {
    let section = T::SECTION;
    let as_table = |value: &Spanned<DeValue<'_>>, name: &str| {
        let what = format!("{name} is {}, must be a table", kind(value.get_ref()));
        place.error(Some(value.span()), what).hint(format!("write [{section}.NAME] on its own line"))
    };
    let Some(entries) = tables.get_ref().as_table() else { return Err(as_table(tables, section)) };
    for (name, table) in entries {
        let id = name.get_ref().as_ref();
        if !(T::IS_NAME)(id) {
            let what = format!("{section} holds a table {}", quoted(id));
            return Err(place.error(Some(name.span()), what).hint(T::NAMES));
        }
        let full = format!("{section}.{}", shown(id));
        let Some(values) = table.get_ref().as_table() else { return Err(as_table(table, &full)) };
        // A table without a key says already that there is such a one.
        let row = over.entry(id.into()).or_default();
        for (key, value) in values {
            let key_name = key.get_ref().as_ref();
            let Some((_, set)) = T::KEYS.iter().find(|(known, _)| *known == key_name) else {
                let what = format!("unknown key `{full}.{}`", shown(key_name));
                return Err(place.error(Some(key.span()), what).hint(near::<T>(&full, key_name)));
            };
            set(row, Given::Toml(value.get_ref()))
                .and_then(|()| fault(id, row).map_or(Ok(()), Err))
                .map_err(|what| place.error(Some(value.span()), format!("{full}.{key_name} {what}")))?;
            origin.insert(format!("{section}.{id}.{key_name}"), place.path.display().to_string());
        }
    }
    Ok(())
}

fn near<T: Table>(table: &str, name: &str) -> String {
    let names = || T::KEYS.iter().map(|(key, _)| *key);
    if let Some(hint) = headers::misplaced(table, name) {
        return hint;
    }
    match nearest(name, names().map(|key| (key, key))) {
        Some(key) => format!("did you mean `{key}`?"),
        None => {
            let other =
                headers::key_of_section(name).map(|key| format!("; there is {key}")).unwrap_or_default();
            format!("known keys: {}{other}", names().collect::<Vec<_>>().join(", "))
        }
    }
}

fn is_model(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

/// Whether a name is one for a provider, such as `anthropic` or `custom:moon`.
fn is_provider(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether a text is a URL of the web with a host, and holds no name or password.
fn is_web(url: &str) -> bool {
    let url = url.trim();
    let rest = ["https://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_printable = url.bytes().all(|b| b.is_ascii_graphic());
    authority.is_some_and(|a| !a.is_empty() && !a.contains('@')) && is_printable && host(url).is_some()
}

fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.len() <= 200 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_chat(chat: &str) -> bool {
    let id = chat.strip_prefix(['-', '@']).unwrap_or(chat);
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Their examples at the end of the sample.
pub(super) const SAMPLE: &str = "
# Tables by name. No variable sets them. What stands here goes before what Hermes says of a profile.

# What a profile works with, and which profiles may take its work, first one first.
# Allowed: provider: a name; endpoint: a URL; model: a name; fallbacks: a list of names of other profiles.
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

# Whom `watchbill notify` tells what needs a person. Each target has a command, or a URL.
# Allowed: command: a list of words; url: a URL; url_file, token_file: an absolute path; url_env, token_env:
# the name of a variable; format: \"json\", \"ntfy\", \"slack\", \"discord\" or \"telegram\"; chat: a chat of Telegram;
# quiet: two local times; max_per_hour: 1 to 60. Of url, url_file and url_env only one, as of token_file and
# token_env. A command has none of these, and no format but \"json\". \"telegram\" needs chat and a token, and
# chat is for it alone.
#[notify.phone]
#url = \"https://ntfy.example/my-topic\"
#format = \"ntfy\"
#quiet = \"22:00-07:00\"
#max_per_hour = 6
#[notify.mail]
#command = [\"/usr/share/watchbill/notify/mail\", \"you@example.org\"]
";
