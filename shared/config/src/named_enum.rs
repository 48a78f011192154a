//! Enums whose values have names.

/// Declares one: `Variant = "name"`. It is read and written by those names.
macro_rules! named_enum {
    (
        $(#[doc = $about:literal])+
        enum $Enum:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $Enum {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl $Enum {
            /// All of them, in their order.
            pub const ALL: [$Enum; [$($name),+].len()] = [$($Enum::$variant),+];

            /// All of them with their names.
            pub const NAMED: &[(&str, $Enum)] = &[$(($name, $Enum::$variant)),+];

            /// The one of this name.
            pub fn named(name: &str) -> Option<$Enum> {
                $Enum::ALL.into_iter().find(|one| one.name() == name)
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Enum::$variant => $name,)+
                }
            }
        }
    };
}
pub(super) use named_enum;
