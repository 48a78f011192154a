//! Which profiles work on a board.

use serde::{Deserialize, Serialize};

/// Profiles that exist and that a dispatcher starts. In a packet a list, or the reason as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Profiles {
    /// These; empty where the board has none to name.
    Known(Vec<String>),
    /// Nobody can tell, for this reason. No name is missing then, and none is there.
    Unknown(String),
}

static NONE: Profiles = Profiles::Known(Vec::new());

impl Profiles {
    /// No name is known.
    pub fn none() -> &'static Profiles {
        &NONE
    }

    /// Those that are known.
    pub fn names(&self) -> &[String] {
        match self {
            Profiles::Known(names) => names,
            Profiles::Unknown(_) => &[],
        }
    }

    /// Whether this is one of them; `None` where nobody can tell. `default` always is, and where none is named everybody may be.
    pub fn has(&self, name: &str) -> Option<bool> {
        match self {
            Profiles::Known(names) => {
                Some(names.is_empty() || name == "default" || names.iter().any(|known| known == name))
            }
            Profiles::Unknown(_) => None,
        }
    }

    /// Why they are not known.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Profiles::Known(_) => None,
            Profiles::Unknown(why) => Some(why),
        }
    }
}

impl Default for Profiles {
    fn default() -> Profiles {
        NONE.clone()
    }
}

impl<S: Into<String>> FromIterator<S> for Profiles {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Profiles {
        Profiles::Known(names.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_missing_only_where_the_others_are_known() {
        let known: Profiles = ["luna"].into_iter().collect();
        let unknown = Profiles::Unknown("denied".into());
        for (profiles, name, want) in [
            (&known, "luna", Some(true)),
            (&known, "default", Some(true)),
            (&known, "sol", Some(false)),
            (Profiles::none(), "sol", Some(true)),
            (&unknown, "sol", None),
            (&unknown, "default", None),
        ] {
            assert_eq!(profiles.has(name), want, "{profiles:?} {name}");
        }
    }

    #[test]
    fn a_packet_has_a_list_or_the_reason() {
        for (profiles, text) in [
            (["luna"].into_iter().collect(), r#"["luna"]"#),
            (Profiles::default(), "[]"),
            (Profiles::Unknown("denied".into()), r#""denied""#),
        ] {
            assert_eq!(serde_json::to_string(&profiles).unwrap(), text);
            assert_eq!(serde_json::from_str::<Profiles>(text).unwrap(), profiles);
        }
    }
}
