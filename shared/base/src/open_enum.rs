//! Enums for text that other programs write as well: known values are variants, any other text is kept as it is.

/// Declares such an enum. Each variant names its text; text that no variant names becomes `Other`, so that a board, a plan or a
/// report of another version is read and written back unchanged.
#[macro_export]
macro_rules! open_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A value that this version does not know.
            Other(String),
        }

        impl $name {
            /// Every known value, in the order of the declaration.
            pub const KNOWN: &'static [$name] = &[$($name::$variant),+];

            /// The text as it is stored.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $text,)+
                    $name::Other(text) => text,
                }
            }

            fn known(text: &str) -> Option<$name> {
                match text {
                    $($text => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $name::known(text).unwrap_or_else(|| $name::Other(text.to_owned()))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                $name::known(&text).unwrap_or($name::Other(text))
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                match value {
                    $name::Other(text) => text,
                    known => known.as_str().to_owned(),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }
    };
}
pub use open_enum;
