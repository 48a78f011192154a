//! What the declarations of `sections.rs` and `tables.rs` become: structs with their defaults, and the table of keys.

use toml::Value;

use super::Config;
use super::rules::{Given, Read};

/// Declares sections of the configuration. `[heal] struct Heal { .. }` is the section `[heal]` and declares the
/// struct `Heal`. A key is
///
/// ```text
/// /// What it does; this is its help text, too.
/// name: type = default, rule;
/// ```
///
/// and `+ name: type;` at the end is a field that is not a key.
macro_rules! declare_sections {
    ($(
        #[doc = $about:literal]
        [$section:ident] struct $Section:ident {
            $($(#[doc = $meaning:literal])+ $key:ident: $type:ty = $default:expr, $rule:expr;)*
            $(+ $field:ident: $field_type:ty;)?
        }
    )*) => {
        $(declare_struct! {
            struct ($about) $Section {
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

    /// What it does, in one or two sentences.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim()
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
