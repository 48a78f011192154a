//! What `watchbill init` asks, and the keys it writes into the configuration: what was found in, keys out. Pure.

mod receiver;

use base::count::first_few;
use base::location::Location;
use std::collections::BTreeMap;
use std::path::Path;

pub use self::receiver::Receiver;
use config::edit::Addition;
use logs::provider::{Id, Profile};

/// Most profiles of one line.
const MAX_NAMES: usize = 24;

/// What was found around the boards.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Every profile, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Who may take the cards, as the configuration and Hermes name them, first one first.
    pub orchestrators: Vec<String>,
}

/// Profiles of one provider that have no fallback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The provider.
    pub provider: String,
    /// Its profiles.
    pub profiles: Vec<String>,
    /// Profiles of other providers that could take their work.
    pub candidates: Vec<String>,
}

/// What a person, or the flags, said.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// A board that nothing but `--db` names.
    pub board: Option<Location>,
    /// Who takes the cards.
    pub orchestrator: Option<String>,
    /// Who takes the work of a profile, first one first.
    pub fallbacks: BTreeMap<String, Vec<String>>,
    /// Whom to tell.
    pub tell: Option<Receiver>,
}

/// Files that what is written into the configuration names.
#[derive(Debug, Clone, Copy)]
pub struct Places<'p> {
    /// The program that mails a message.
    pub mailer: &'p Path,
    /// The file with the URL or the token, where that is a secret.
    pub secret: &'p Path,
}

impl Found {
    /// The profile that takes the cards; `None` where none of those that are named exists.
    pub fn orchestrator(&self) -> Option<&str> {
        self.orchestrators.iter().find(|name| self.is_there(name)).map(String::as_str)
    }

    /// Whether there is such a profile. Where no profile is known at all, as on a board without Hermes, every name may be one.
    fn is_there(&self, name: &str) -> bool {
        self.profiles.is_empty() || name == "default" || self.profiles.contains_key(name)
    }

    /// Profiles of one provider that have no fallback, where another provider could take their work; by provider.
    pub fn gaps(&self, orchestrator: Option<&str>) -> Vec<Gap> {
        let works = |p: &&Profile| Some(p.name.as_str()) != orchestrator && p.id().is_known();
        let mut groups: Vec<(Id, Vec<String>)> = Vec::new();
        for profile in self.profiles.values().filter(works).filter(|p| p.fallbacks.is_empty()) {
            match groups.iter_mut().find(|(id, _)| id.is_same(&profile.id())) {
                Some((_, names)) => names.push(profile.name.clone()),
                None => groups.push((profile.id(), vec![profile.name.clone()])),
            }
        }
        let gap = |(id, profiles): (Id, Vec<String>)| {
            let others = self.profiles.values().filter(works);
            let others = others.filter(|p| p.name != "default" && p.id().is_surely_other(&id));
            let candidates: Vec<String> = others.map(|p| p.name.clone()).collect();
            (!candidates.is_empty()).then(|| Gap { provider: id.to_string(), profiles, candidates })
        };
        groups.into_iter().filter_map(gap).collect()
    }

    /// Why a profile cannot take the cards.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn check_orchestrator(&self, name: &str) -> Result<(), String> {
        match self.is_there(name) {
            true => Ok(()),
            false => Err(format!("there is no profile {name}; there are {}", self.names())),
        }
    }

    /// Why these profiles cannot take the work of another one.
    ///
    /// # Errors
    /// A profile does not exist, decides about cards, or works with the same provider.
    pub fn check_fallbacks(&self, of: &str, to: &[String], orchestrator: Option<&str>) -> Result<(), String> {
        if let Some(name) = [of].into_iter().chain(to.iter().map(String::as_str)).find(|n| !self.is_there(n))
        {
            return Err(format!("there is no profile {name}; there are {}", self.names()));
        }
        let id = |name: &str| self.profiles.get(name).map(Profile::id);
        for name in to {
            let is_same = || id(of).zip(id(name)).is_some_and(|(a, b)| a.is_same(&b));
            if name == of {
                return Err(format!("{name} is the profile itself; name another one"));
            }
            if name == "default" || Some(name.as_str()) == orchestrator {
                return Err(format!("{name} decides about cards and takes no work; name another profile"));
            }
            if is_same() {
                return Err(format!("{name} works with the same provider as {of}; name another profile"));
            }
        }
        Ok(())
    }

    fn names(&self) -> String {
        first_few(MAX_NAMES, self.profiles.keys())
    }
}

impl Answers {
    /// The keys that say these things in the configuration.
    pub fn additions(&self, places: Places<'_>) -> Vec<Addition> {
        let board = self.board.iter().map(|at| Addition::new(&["board"], "db", at.to_string()));
        let orchestrator =
            self.orchestrator.iter().map(|name| Addition::new(&["distress"], "orchestrator", name.as_str()));
        let named = self.fallbacks.iter().filter(|(_, to)| !to.is_empty());
        let fallbacks =
            named.map(|(of, to)| Addition::new(&["profiles", of], "fallbacks", to.as_slice().to_vec()));
        let tell = self.tell.iter().flat_map(|receiver| receiver.additions(places));
        board.chain(orchestrator).chain(fallbacks).chain(tell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, provider: &str, fallbacks: &[&str]) -> (String, Profile) {
        let fallbacks = fallbacks.iter().map(|&f| f.to_owned()).collect();
        let provider = (!provider.is_empty()).then(|| provider.to_owned());
        (name.into(), Profile { name: name.into(), provider, fallbacks, ..Profile::default() })
    }

    fn found() -> Found {
        let profiles = [
            profile("default", "sun", &[]),
            profile("luna", "moon", &[]),
            profile("mona", "moon", &[]),
            profile("nova", "star", &["luna"]),
            profile("quiet", "", &[]),
            profile("tuesday", "sun", &[]),
        ];
        Found {
            profiles: profiles.into_iter().collect(),
            orchestrators: vec!["monday".into(), "tuesday".into()],
        }
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_first_orchestrator_that_exists_takes_the_cards() {
        let mut found = found();
        assert_eq!(found.orchestrator(), Some("tuesday"));
        found.profiles.remove("tuesday");
        assert_eq!(found.orchestrator(), None);
        assert!(found.check_orchestrator("nova").is_ok() && found.check_orchestrator("default").is_ok());
        let why = found.check_orchestrator("ghost").unwrap_err();
        assert_eq!(why, "there is no profile ghost; there are default, luna, mona, nova, quiet");
        // A board without Hermes knows no profiles.
        found.profiles.clear();
        assert_eq!((found.orchestrator(), found.gaps(None)), (Some("monday"), Vec::new()));
    }

    #[test]
    fn fallbacks_are_asked_for_where_another_provider_could_take_the_work() {
        let gap = |provider: &str, profiles: &[&str], candidates: &[&str]| Gap {
            provider: provider.into(),
            profiles: names(profiles),
            candidates: names(candidates),
        };
        let want =
            [gap("sun", &["default"], &["luna", "mona", "nova"]), gap("moon", &["luna", "mona"], &["nova"])];
        assert_eq!(found().gaps(Some("tuesday")), want);
        let mut one = found();
        one.profiles.retain(|name, _| name == "luna" || name == "mona");
        assert_eq!(one.gaps(None), [], "both would be refused together");
    }

    #[test]
    fn who_cannot_take_the_work_is_refused_with_the_reason() {
        let found = found();
        for (of, to, want) in [
            ("luna", vec!["nova"], Ok(())),
            ("luna", vec!["nova", "ghost"], Err("there is no profile ghost")),
            ("ghost", vec!["nova"], Err("there is no profile ghost")),
            ("luna", vec!["luna"], Err("is the profile itself")),
            ("luna", vec!["mona"], Err("works with the same provider")),
            ("luna", vec!["tuesday"], Err("decides about cards")),
            ("luna", vec!["default"], Err("decides about cards")),
            // Whose provider nobody knows may be another one.
            ("luna", vec!["quiet"], Ok(())),
        ] {
            let said = found.check_fallbacks(of, &names(&to), Some("tuesday"));
            match want {
                Ok(()) => assert_eq!(said, Ok(()), "{of} {to:?}"),
                Err(part) => assert!(said.as_ref().is_err_and(|e| e.contains(part)), "{of} {to:?}: {said:?}"),
            }
        }
    }

    #[test]
    fn answers_become_keys_and_no_answer_becomes_none() {
        let places = Places { mailer: Path::new("/m"), secret: Path::new("/s") };
        assert_eq!(Answers::default().additions(places), []);
        let answers = Answers {
            board: Some("/night/board.db".into()),
            orchestrator: Some("tuesday".into()),
            fallbacks: [("luna".to_owned(), names(&["nova"])), ("mona".to_owned(), Vec::new())].into(),
            tell: Some(Receiver::parse("me@example.org").unwrap()),
        };
        let want = "[board]\ndb = \"/night/board.db\"\n\n[distress]\norchestrator = \"tuesday\"\n\n[profiles.luna]\nfallbacks = [\"nova\"]\n\n\
                    [notify.mail]\ncommand = [\"/m\", \"me@example.org\"]\n";
        assert_eq!(config::edit::lines(&answers.additions(places)), want);
    }
}
