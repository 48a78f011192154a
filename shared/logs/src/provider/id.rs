//! Which two requests go to one provider.

use serde::{Deserialize, Serialize};

/// A provider, as far as logs and configuration identify it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id {
    /// Its name, lower case, without Hermes' `custom:`; `None` where only the endpoint is known.
    pub name: Option<String>,
    /// Host and port of its endpoint.
    pub host: Option<String>,
    /// Whose provider it is, where the configuration that would name it cannot be read: then it is that profile's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

fn bare(host: &str) -> &str {
    host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host)
}

impl Id {
    /// From a name and a host as configurations and logs write them. `custom` and `auto` name nobody.
    pub fn new(name: Option<&str>, host: Option<&str>) -> Id {
        let clean = |s: &str| s.trim().to_ascii_lowercase();
        let name = name.map(clean).map(|n| n.strip_prefix("custom:").unwrap_or(&n).to_owned());
        Id {
            name: name.filter(|n| !matches!(n.as_str(), "" | "custom" | "auto" | "unknown")),
            // Of the port that says nothing, as in [`base::endpoint::host`].
            host: host.map(clean).map(|h| bare(&h).to_owned()).filter(|h| !h.is_empty()),
            profile: None,
        }
    }

    /// Of one as it is shown: `moon (api.moon.example)`, or only one of both. What stands alone may be its name or its endpoint.
    pub fn of_shown(text: &str) -> Id {
        match text.strip_suffix(')').and_then(|text| text.split_once(" (")) {
            Some((name, host)) => Id::new(Some(name), Some(host)),
            None => Id::new(Some(text), Some(text)),
        }
    }

    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        self.is_named() || self.profile.is_some()
    }

    /// Whether its name or its endpoint is known: only then can it be told from another one.
    pub fn is_named(&self) -> bool {
        self.name.is_some() || self.host.is_some()
    }

    /// Whether both are one provider: two names of one endpoint are, and so are two endpoints of one name, for that is one
    /// account. On this machine each port is another server, whatever its name. What is not known is nobody's.
    pub fn is_same(&self, other: &Id) -> bool {
        let equal = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        let are_two_here = self.port_here().zip(other.port_here()).is_some_and(|(one, two)| one != two);
        equal(&self.host, &other.host)
            || (equal(&self.name, &other.name) && !are_two_here)
            || equal(&self.profile, &other.profile)
    }

    /// The port of an endpoint on this machine, empty where it is the usual one.
    fn port_here(&self) -> Option<&str> {
        let host = self.host.as_deref()?;
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port),
            _ => (host, ""),
        };
        (name == "localhost" || name == "[::1]" || name.starts_with("127.")).then_some(port)
    }

    /// Whether both are surely two providers. Where nothing of them can be compared nobody can tell.
    pub fn is_surely_other(&self, other: &Id) -> bool {
        let both = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some();
        (both(&self.host, &other.host) || both(&self.name, &other.name)) && !self.is_same(other)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.name, &self.host) {
            (Some(name), Some(host)) if name != host => write!(f, "{name} ({host})"),
            (Some(name), _) => f.write_str(name),
            (None, host) => match (&self.profile, host) {
                (Some(profile), Some(host)) => write!(f, "the provider of {profile} ({host})"),
                (Some(profile), None) => write!(f, "the provider of {profile}"),
                (None, Some(host)) => f.write_str(host),
                (None, None) => f.write_str("unknown"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_known_again_by_how_it_is_shown() {
        for (name, host, other) in [
            (Some("moon"), Some("a.example:1"), ("star", "b.example:1")),
            (Some("moon"), None, ("star", "a.example:1")),
            (None, Some("a.example:1"), ("star", "b.example:1")),
        ] {
            let id = Id::new(name, host);
            let shown = Id::of_shown(&id.to_string());
            let other = Id::new(Some(other.0), Some(other.1));
            assert!(shown.is_same(&id) && !shown.is_surely_other(&id), "{id}");
            assert!(shown.is_surely_other(&other), "{id}");
        }
    }

    #[test]
    fn two_names_of_one_endpoint_are_one_provider() {
        let set = |s: &'static str| Some(s).filter(|s| !s.is_empty());
        let id = |name, host| Id::new(set(name), set(host));
        for ((a, b), (same, other)) in [
            ((id("moon", "a:1"), id("star", "A:1")), (true, false)),
            ((id("moon", "a:1"), id("custom:Moon", "b:1")), (true, false)),
            ((id("moon", "a:1"), id("star", "b:1")), (false, true)),
            ((id("moon", "127.0.0.1:1"), id("moon", "localhost:2")), (false, true)),
            ((id("moon", "[::1]:1"), id("moon", "127.0.0.1")), (false, true)),
            ((id("moon", "localhost:1"), id("moon", "127.0.0.1:1")), (true, false)),
            ((id("moon", "localhost:1"), id("moon", "b:2")), (true, false)),
            ((id("moon", "localhost:1"), id("moon", "")), (true, false)),
            ((id("custom", "a:1"), id("custom", "b:1")), (false, true)),
            ((id("moon", ""), id("", "a:1")), (false, false)),
            ((id("moon", ""), id("star", "a:1")), (false, true)),
            ((id("", ""), id("", "")), (false, false)),
            ((id("auto", ""), id("star", "b:1")), (false, false)),
        ] {
            assert_eq!((a.is_same(&b), a.is_surely_other(&b)), (same, other), "{a} {b}");
        }
        assert_eq!(id("Custom:Moon", "A:1").to_string(), "moon (a:1)");
        let of = |profile: &str, host| Id { profile: Some(profile.to_owned()), ..id("", host) };
        assert!(of("luna", "").is_same(&of("luna", "a:1")) && of("sol", "a:1").is_same(&id("moon", "a:1")));
        assert!(
            !of("luna", "").is_same(&of("sol", "")) && !of("luna", "").is_surely_other(&of("sol", "b:1"))
        );
        assert_eq!(of("luna", "").to_string(), "the provider of luna");
        assert_eq!(of("luna", "a:1").to_string(), "the provider of luna (a:1)");
        assert_eq!(id("", "a:1").to_string(), "a:1");
    }
}
