//! What the declarations of `sections.rs` and `tables.rs` become: structs with their defaults, the table of keys,
//! and the commented sample.

use toml::Value;

use super::rules::{Given, Read};
use super::sections::{KEYS, SECTIONS};
use super::{Config, actions, matches, tables};

/// Declares sections of the configuration. `[heal] struct Heal { .. }` is the section `[heal]` and declares the
/// struct `Heal`; `use` in the place of `struct` takes a struct that is declared elsewhere. A key is
///
/// ```text
/// /// What it does; this is its help text, too.
/// name: type = default, rule;
/// ```
///
/// and `+ name: type;` at the end is a field that is no key.
macro_rules! declare_sections {
    ($(
        #[doc = $about:literal]
        [$section:ident] $how:tt $Section:ident {
            $($(#[doc = $meaning:literal])+ $key:ident: $type:ty = $default:expr, $rule:expr;)*
            $(+ $field:ident: $field_type:ty;)?
        }
    )*) => {
        $(declare_struct! {
            $how ($about) $Section {
                $($(#[doc = $meaning])+ $key: $type = $default, $rule;)*
                $(+ $field: $field_type;)?
            }
        })*

        /// The sections in their order, with what they are about.
        pub(super) const SECTIONS: &[(&str, &str)] = &[$((stringify!($section), $about)),*];

        /// Every key, section by section.
        pub(super) static KEYS: &[KeyInfo] = &[$($(KeyInfo {
            section: stringify!($section),
            key: stringify!($key),
            meaning: concat!($($meaning),+),
            allowed: || $rule.allowed(),
            example: || $rule.example(),
            value: |config| $rule.write(&config.$section.$key),
            set: |config, given| $rule.set(&mut config.$section.$key, given),
        },)*)*];
    };
}
pub(super) use declare_sections;

/// Declares the struct of a section, its default, and how it is written.
macro_rules! declare_struct {
    (use $($declared_elsewhere:tt)*) => {};
    (struct ($($about:literal)+) $Section:ident {
        $($(#[doc = $meaning:literal])+ $key:ident: $type:ty = $default:expr, $rule:expr;)*
        $(+ $field:ident: $field_type:ty;)?
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $Section {
            $($(#[doc = $meaning])+ pub $key: $type,)*
            $(#[doc = "No key: a table of its own."] pub $field: $field_type,)?
        }

        impl Default for $Section {
            fn default() -> $Section {
                $Section { $($key: $default,)* $($field: <$field_type>::default(),)? }
            }
        }

        impl serde::Serialize for $Section {
            fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = to.serialize_map(None)?;
                $(map.serialize_entry(stringify!($key), &$rule.write(&self.$key))?;)*
                $(if self.$field != <$field_type>::default() {
                    map.serialize_entry(stringify!($field), &self.$field)?;
                })?
                map.end()
            }
        }
    };
}
pub(super) use declare_struct;

/// One key of the configuration.
pub struct KeyInfo {
    /// The table it stands in: `heal`.
    pub section: &'static str,
    /// Its name in that table: `grace`.
    pub key: &'static str,
    pub(super) meaning: &'static str,
    pub(super) allowed: fn() -> String,
    pub(super) example: fn() -> &'static str,
    pub(super) value: fn(&Config) -> Option<Value>,
    pub(super) set: fn(&mut Config, Given<'_>) -> Read<()>,
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
        (self.value)(config).map(|value| value.to_string())
    }

    /// What a value may be, in words: `1m to 6h`.
    pub fn allowed(&self) -> String {
        (self.allowed)()
    }
}

/// Every key, section by section, in the order the sample shows them.
pub fn keys() -> &'static [KeyInfo] {
    KEYS
}

/// The commented sample that ships as `contrib/watchbill.toml`: every key with its default, all commented
/// out.
pub fn sample() -> String {
    let mut out = String::from(HEAD);
    for (section, about) in SECTIONS {
        out.push_str(&format!("\n#{about}\n[{section}]\n"));
        for k in KEYS.iter().filter(|k| k.section == *section) {
            out.push_str(&format!("\n#{}\n# Allowed: {}.", k.meaning, k.allowed()));
            match k.default() {
                Some(default) => out.push_str(&format!("\n#{} = {default}\n", k.key)),
                None => out.push_str(&format!(" Not set by default.\n#{} = {}\n", k.key, (k.example)())),
            }
        }
    }
    out.push_str(&actions::sample());
    out.push_str(tables::SAMPLE);
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
