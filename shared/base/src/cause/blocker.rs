//! The blocker types of a distress card: what kind of help a stuck task needs.

use crate::named_enum::named_enum;

named_enum! {
    /// What kind of help is needed.
    pub enum Blocker {
        /// The work goes on outside the task's scope.
        ScopeBoundary = "scope_boundary",
        /// Something of the environment is missing or broken.
        EnvBlocker = "env_blocker",
        /// A key or an account is refused or missing.
        CredentialFailure = "credential_failure",
        /// Another task or a person comes first.
        Dependency = "dependency",
        /// The task does not fit into the iterations it has.
        IterationBudget = "iteration_budget",
        /// The provider refuses more work for now.
        RateLimited = "rate_limited",
    }
}

impl Blocker {
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
