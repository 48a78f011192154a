//! Enums whose values have names, on a command line, in a configuration, on a board or in JSON.

/// Declares one: `Variant = "name"`. It is read, written and shown by those names.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        $vis:vis enum $Enum:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        $vis enum $Enum {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        #[allow(dead_code, reason = "not every enum needs each of them")]
        impl $Enum {
            /// All of them, in their order.
            $vis const ALL: [$Enum; [$($name),+].len()] = [$($Enum::$variant),+];

            /// All of them with their names.
            $vis const NAMED: &[(&str, $Enum)] = &[$(($name, $Enum::$variant)),+];

            /// The one of this name.
            $vis fn named(name: &str) -> Option<$Enum> {
                $Enum::ALL.into_iter().find(|one| one.as_str() == name)
            }

            /// Its name.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $($Enum::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub use named_enum;
