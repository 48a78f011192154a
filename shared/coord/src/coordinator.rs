//! Who coordinates a session.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SessionId;

/// Most bytes of a name.
const MAX_NAME: usize = 64;

/// Who coordinates a session: another session, or a person or a script, which reads `coord events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Coordinator {
    /// A session, which may be told something.
    Session(SessionId),
    /// `person:NAME` or `script:NAME`, as it is written.
    Named(String),
}

impl Coordinator {
    /// Reads a session id, `person:NAME` or `script:NAME`. A name has 1 to 64 letters, digits, `.`, `_`, `@` or `-`.
    pub fn parse(s: &str) -> Option<Coordinator> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '-');
        let name = s.strip_prefix("person:").or_else(|| s.strip_prefix("script:"));
        let is_good = name.is_some_and(|n| (1..=MAX_NAME).contains(&n.len()) && n.chars().all(plain));
        let named = is_good.then(|| Coordinator::Named(s.to_owned()));
        SessionId::parse(s).map(Coordinator::Session).or(named)
    }

    /// The session; `None` of a person or a script.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Coordinator::Session(id) => Some(id),
            Coordinator::Named(_) => None,
        }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Coordinator::Session(id) => id.as_str(),
            Coordinator::Named(name) => name,
        }
    }
}

impl TryFrom<String> for Coordinator {
    type Error = String;
    fn try_from(s: String) -> Result<Coordinator, String> {
        let why = "neither a session id nor a name; sessions look like ses_3f2a... or like a UUID, a person or a script is \
                   person:NAME or script:NAME";
        Coordinator::parse(&s).ok_or_else(|| why.to_owned())
    }
}

impl From<Coordinator> for String {
    fn from(who: Coordinator) -> String {
        who.as_str().to_owned()
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_a_person_or_a_script_coordinates() {
        for (good, is_session) in
            [("ses_1", true), ("person:anna", false), ("script:nightly.sh", false), ("person:a@h-1_x", false)]
        {
            let who = Coordinator::try_from(good.to_owned()).unwrap();
            assert_eq!((who.as_str(), who.session().is_some()), (good, is_session));
        }
        let long = format!("person:{}", "a".repeat(65));
        for bad in ["", "anna", "person:", "person:a b", "person:a\n", "robot:x", "-x", "none", &long] {
            assert_eq!(Coordinator::parse(bad), None, "{bad}");
        }
    }
}
