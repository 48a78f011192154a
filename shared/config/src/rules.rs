//! The kinds of values that keys take: how each is read, written and described.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::Value;
use toml::de::DeValue;

use super::place::{ALLOWED, kind, quoted};
use super::{QuietHours, span};
use base::location::Location;
use base::money::Money;
use base::names::is_profile;

/// What was read, or what is wrong with it, as it follows the key's name: `= "3x" is not a whole number`.
pub(super) type Read<T> = std::result::Result<T, String>;

/// What a value is read from.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    /// A file.
    Toml(&'a DeValue<'a>),
    /// A variable of the environment.
    Variable(&'a OsStr),
}

/// A kind of values.
pub(super) trait Rule {
    /// Their type.
    type Value;

    /// What a value may be: `1m to 6h`.
    fn allowed(&self) -> String;

    /// The same in a message: `a length of time from 1m to 6h`.
    fn must(&self) -> String {
        self.allowed()
    }

    /// An example for the sample, where a key of this kind has no default.
    fn example(&self) -> &'static str {
        ""
    }

    /// The value as TOML; `None` where it is not set.
    fn write(&self, value: &Self::Value) -> Option<Value>;

    /// Reads a text.
    fn read(&self, text: &str) -> Read<Self::Value>;

    /// Reads a value of a file.
    fn read_toml(&self, value: &DeValue<'_>) -> Read<Self::Value> {
        value.as_str().map_or_else(|| wrong_kind(value), |text| self.read(text))
    }

    /// Reads a variable of the environment.
    fn read_variable(&self, value: &OsStr) -> Read<Self::Value> {
        self.read(value.to_str().ok_or("is not UTF-8")?)
    }

    /// Reads what is given into `field`.
    fn set(&self, field: &mut Self::Value, given: Given<'_>) -> Read<()> {
        let read = match given {
            Given::Toml(value) => self.read_toml(value),
            Given::Variable(value) => self.read_variable(value),
        };
        *field = read.map_err(|fault| format!("{fault}{ALLOWED}{}", self.must()))?;
        Ok(())
    }
}

/// The fault of a value of a file that is of another kind.
pub(super) fn wrong_kind<T>(value: &DeValue<'_>) -> Read<T> {
    Err(format!("is {}", kind(value)))
}

/// A text that is refused, and why.
fn refused<T>(text: &str, what: &str) -> Read<T> {
    Err(format!("= {} {what}", quoted(text)))
}

/// An absolute path, or none: a relative one would mean another file for cron than for a shell.
pub(super) struct AbsolutePath;

impl AbsolutePath {
    fn absolute(path: PathBuf) -> Read<Option<PathBuf>> {
        if path.is_absolute() { Ok(Some(path)) } else { refused(&path.to_string_lossy(), "is not absolute") }
    }
}

impl Rule for AbsolutePath {
    type Value = Option<PathBuf>;

    fn allowed(&self) -> String {
        "an absolute path".into()
    }

    fn example(&self) -> &'static str {
        "\"/path/to/it\""
    }

    fn write(&self, path: &Option<PathBuf>) -> Option<Value> {
        path.as_ref().map(|p| p.to_string_lossy().into_owned().into())
    }

    fn read(&self, text: &str) -> Read<Option<PathBuf>> {
        Self::absolute(text.into())
    }

    fn read_variable(&self, value: &OsStr) -> Read<Option<PathBuf>> {
        Self::absolute(value.into())
    }
}

/// A board by its absolute path or its address, or none.
pub(super) struct BoardLocation;

impl BoardLocation {
    fn of(text: &OsStr) -> Read<Option<Location>> {
        match Location::read(text)? {
            Location::File(path) => Ok(AbsolutePath::absolute(path)?.map(Location::File)),
            server @ Location::Server(_) => Ok(Some(server)),
        }
    }
}

impl Rule for BoardLocation {
    type Value = Option<Location>;

    fn allowed(&self) -> String {
        "an absolute path or postgres://HOST/DATABASE".into()
    }

    fn example(&self) -> &'static str {
        "\"/path/to/it\""
    }

    fn write(&self, at: &Option<Location>) -> Option<Value> {
        at.as_ref().map(|at| at.to_string().into())
    }

    fn read(&self, text: &str) -> Read<Option<Location>> {
        Self::of(OsStr::new(text))
    }

    fn read_variable(&self, value: &OsStr) -> Read<Option<Location>> {
        Self::of(value)
    }
}

/// A length of time within so many seconds.
pub(super) struct Span(pub(super) RangeInclusive<u64>);

impl Rule for Span {
    type Value = Duration;

    fn allowed(&self) -> String {
        let words = |seconds: &u64| span::words(Duration::from_secs(*seconds));
        format!("{} to {}", words(self.0.start()), words(self.0.end()))
    }

    fn must(&self) -> String {
        format!("a length of time from {}", self.allowed())
    }

    fn write(&self, length: &Duration) -> Option<Value> {
        Some(span::words(*length).into())
    }

    fn read(&self, text: &str) -> Read<Duration> {
        match span::read(text) {
            Ok(length) if self.0.contains(&length.as_secs()) => Ok(length),
            Ok(_) => refused(text, "is out of range"),
            Err(what) => refused(text, &what),
        }
    }
}

/// A whole number within a range.
pub(super) struct Count(pub(super) RangeInclusive<u32>);

impl Count {
    fn within(&self, n: Option<i64>, text: &str) -> Read<u32> {
        let Some(n) = n else { return refused(text, "is not a whole number") };
        let fits = u32::try_from(n).ok().filter(|n| self.0.contains(n));
        fits.ok_or_else(|| format!("= {n} is out of range"))
    }
}

impl Rule for Count {
    type Value = u32;

    fn allowed(&self) -> String {
        format!("{} to {}", self.0.start(), self.0.end())
    }

    fn must(&self) -> String {
        format!("a whole number from {}", self.allowed())
    }

    fn write(&self, n: &u32) -> Option<Value> {
        Some((*n).into())
    }

    fn read(&self, text: &str) -> Read<u32> {
        self.within(text.trim().parse().ok(), text)
    }

    fn read_toml(&self, value: &DeValue<'_>) -> Read<u32> {
        let Some(n) = value.as_integer() else { return wrong_kind(value) };
        self.within(i64::from_str_radix(n.as_str(), n.radix()).ok(), n.as_str())
    }
}

/// On or off.
pub(super) struct Switch;

impl Rule for Switch {
    type Value = bool;

    fn allowed(&self) -> String {
        "\"on\" or \"off\"".into()
    }

    fn write(&self, on: &bool) -> Option<Value> {
        Some(if *on { "on" } else { "off" }.into())
    }

    fn read(&self, text: &str) -> Read<bool> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => refused(text, "is neither"),
        }
    }

    fn read_toml(&self, value: &DeValue<'_>) -> Read<bool> {
        match value {
            DeValue::Boolean(on) => Ok(*on),
            DeValue::String(text) => self.read(text),
            _ => wrong_kind(value),
        }
    }
}

/// One of a few values, by its name.
pub(super) struct OneOf<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq + Sync> Rule for OneOf<T> {
    type Value = T;

    fn allowed(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|(name, _)| format!("{name:?}")).collect();
        names.join(" or ")
    }

    fn write(&self, value: &T) -> Option<Value> {
        self.0.iter().find(|(_, v)| v == value).map(|(name, _)| (*name).into())
    }

    fn read(&self, text: &str) -> Read<T> {
        let known = self.0.iter().find(|(name, _)| *name == text);
        known.map_or_else(|| refused(text, "is unknown"), |(_, value)| Ok(*value))
    }
}

/// A value that has a form of its own as text, or none.
pub(super) struct Text<T> {
    pub(super) allowed: &'static str,
    pub(super) example: &'static str,
    pub(super) read: fn(&str) -> Option<T>,
    /// What is said of a text that cannot be read.
    pub(super) fault: &'static str,
    pub(super) write: fn(&T) -> String,
}

/// The name of a profile.
pub(super) const PROFILE: Text<String> = Text {
    allowed: "the name of a profile",
    example: "\"name\"",
    read: |name| is_profile(name).then(|| name.to_owned()),
    fault: "is not a profile name",
    write: String::clone,
};

/// The name of a host.
pub(super) const HOST: Text<String> = Text {
    allowed: "a host name",
    example: "\"name\"",
    read: |name| (HOSTS.fits)(name).then(|| name.to_owned()),
    fault: "is not a host name",
    write: String::clone,
};

/// An amount of money.
pub(super) const DOLLARS: Text<Money> = Text {
    allowed: "an amount in US dollars like $5.00",
    example: "\"$5.00\"",
    read: |amount| Money::parse(amount).filter(|m| m.0 > 0),
    fault: "is not an amount",
    write: |amount| amount.exact(),
};

/// Hours of the local day.
pub(super) const HOURS: Text<QuietHours> = Text {
    allowed: "two different local times like 22:00-07:00",
    example: "\"22:00-07:00\"",
    read: QuietHours::parse,
    fault: "is not two different local times",
    write: QuietHours::to_string,
};

impl<T> Rule for Text<T> {
    type Value = Option<T>;

    fn allowed(&self) -> String {
        self.allowed.into()
    }

    fn example(&self) -> &'static str {
        self.example
    }

    fn write(&self, value: &Option<T>) -> Option<Value> {
        value.as_ref().map(|value| (self.write)(value).into())
    }

    fn read(&self, text: &str) -> Read<Option<T>> {
        (self.read)(text).map_or_else(|| refused(text, self.fault), |value| Ok(Some(value)))
    }
}

/// A list of names; in a variable with commas between them.
pub(super) struct Names {
    pub(super) noun: &'static str,
    pub(super) fits: fn(&str) -> bool,
}

/// Names of profiles.
pub(super) const PROFILES: Names = Names { noun: "profile name", fits: is_profile };

/// Names of hosts, as they stand before the colon of a claim (`host:pid`).
pub(super) const HOSTS: Names = Names {
    noun: "host name",
    fits: |n| !n.is_empty() && !n.chars().any(|c| c.is_whitespace() || c.is_control() || ":,".contains(c)),
};

impl Names {
    fn checked<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Read<Vec<String>> {
        let checked = names.into_iter().map(|name| match (self.fits)(name) {
            true => Ok(name.to_owned()),
            false => Err(format!("holds {}, not a {}", quoted(name), self.noun)),
        });
        checked.collect()
    }
}

impl Rule for Names {
    type Value = Vec<String>;

    fn allowed(&self) -> String {
        format!("a list of {}s", self.noun)
    }

    fn write(&self, names: &Vec<String>) -> Option<Value> {
        Some(names.clone().into())
    }

    fn read(&self, text: &str) -> Read<Vec<String>> {
        self.checked(text.split(',').map(str::trim).filter(|n| !n.is_empty()))
    }

    fn read_toml(&self, value: &DeValue<'_>) -> Read<Vec<String>> {
        let Some(names) = value.as_array() else { return wrong_kind(value) };
        let names: Option<Vec<&str>> = names.iter().map(|v| v.get_ref().as_str()).collect();
        self.checked(names.ok_or("holds more than words")?)
    }
}
