//! The blocker types of a distress card: what kind of help a stuck task needs.

use serde::{Deserialize, Serialize};

/// What kind of help is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// The work goes on outside the task's scope.
    ScopeBoundary,
    /// Something of the environment is missing or broken.
    EnvBlocker,
    /// A key or an account is refused or missing.
    CredentialFailure,
    /// Another task or a person comes first.
    Dependency,
    /// The task does not fit into the iterations it has.
    IterationBudget,
    /// The provider refuses more work for now.
    RateLimited,
}

impl Blocker {
    /// All six, in the order of the contract.
    pub const ALL: [Blocker; 6] = [
        Blocker::ScopeBoundary,
        Blocker::EnvBlocker,
        Blocker::CredentialFailure,
        Blocker::Dependency,
        Blocker::IterationBudget,
        Blocker::RateLimited,
    ];

    /// The word on the card.
    pub fn as_str(self) -> &'static str {
        match self {
            Blocker::ScopeBoundary => "scope_boundary",
            Blocker::EnvBlocker => "env_blocker",
            Blocker::CredentialFailure => "credential_failure",
            Blocker::Dependency => "dependency",
            Blocker::IterationBudget => "iteration_budget",
            Blocker::RateLimited => "rate_limited",
        }
    }

    /// Reads the word, whatever stands between its parts (`Rate-Limited`, `rate limited`).
    pub fn parse(s: &str) -> Option<Blocker> {
        let plain = |s: &str| -> String {
            s.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
        };
        let said = plain(s);
        Blocker::ALL.into_iter().find(|b| plain(b.as_str()) == said)
    }

    /// Whether it lies with the provider and not with the task: the same work may go on elsewhere, or later.
    pub fn lies_with_provider(self) -> bool {
        matches!(self, Blocker::RateLimited | Blocker::CredentialFailure)
    }
}

impl std::fmt::Display for Blocker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
