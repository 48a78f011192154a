//! What runs a session, and which operations each of them has. What one lacks it says itself, in words for a person.

use super::headless::{Claude, Codex, Headless};

use base::named_enum::named_enum;

named_enum! {
    /// What runs a session.
    #[derive(Default)]
    pub enum Runtime {
        /// opencode, by its server.
        #[default]
        Opencode = "opencode",
        /// Claude Code, as a command.
        Claude = "claude",
        /// Codex, as a command.
        Codex = "codex",
    }
}

/// What may be wanted of a session, besides those that every runtime has: to be started, shown, told something and stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Ask a server how it stands, and read what that stores of it.
    Ask,
    /// Be told something as the coordinator of another one.
    Wake,
    /// Be looked at by `coord detect`.
    Detect,
    /// Be started as one of the runtime's own agents.
    Agent,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 4] = [Operation::Ask, Operation::Wake, Operation::Detect, Operation::Agent];
}

impl Runtime {
    /// As a command without a server; `None` of one that has servers.
    pub fn headless(self) -> Option<&'static dyn Headless> {
        match self {
            Runtime::Opencode => None,
            Runtime::Claude => Some(&Claude),
            Runtime::Codex => Some(&Codex),
        }
    }

    /// Why an operation is not to be had; `None`: it is.
    pub fn lacks(self, operation: Operation) -> Option<&'static str> {
        match (self, operation) {
            (Runtime::Opencode, _) | (Runtime::Claude, Operation::Agent) => None,
            (_, Operation::Ask) => Some("has no server to ask"),
            (_, Operation::Wake) => Some("takes no message while it works, so that nobody is woken"),
            (_, Operation::Detect) => {
                Some("is not looked at here: heal and budget-check read its process and its log")
            }
            (Runtime::Codex, Operation::Agent) => Some("has no agents to choose from"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_what() {
        use Operation::{Agent, Ask, Detect, Wake};
        for (runtime, has) in [
            (Runtime::Opencode, &[Ask, Wake, Detect, Agent][..]),
            (Runtime::Claude, &[Agent]),
            (Runtime::Codex, &[]),
        ] {
            let really: Vec<Operation> =
                Operation::ALL.into_iter().filter(|o| runtime.lacks(*o).is_none()).collect();
            assert_eq!(really, has, "{runtime:?}");
            // A runtime without a server is a command, and no other is.
            assert_eq!(runtime.headless().is_some(), runtime.lacks(Ask).is_some(), "{runtime:?}");
            assert_eq!(serde_json::json!(runtime), runtime.as_str());
        }
    }
}
