//! What is wrong with a session, by what is known of it: pure, and without memory between passes.
//!
//! Three of the detectors are those of the coordination operations of alkdev hub (`MODEL_DEGRADATION`, `HIGH_ERROR_COUNT`,
//! `SESSION_STALL`) with its thresholds, corrected for what a real opencode stores; the others find what was seen to go wrong
//! besides. Each says what it found, that there is nothing, or that it cannot tell. From what cannot be told nothing follows:
//! neither an issue, nor the end of one.

pub mod claim;
mod lost;
pub mod record;
mod refused;
mod rows;
#[cfg(test)]
mod tests;
mod waits;

use serde::{Deserialize, Serialize};

use super::State;
use super::evidence::{Evidence, Message, Rows};
use base::named_enum::named_enum;
use base::quote;
use base::time::Time;
use config::Detect;
use logs::session::Millis;

/// Most bytes of what an agent or a provider said that stand in what a detector says.
const MAX_SAID: usize = 160;

named_enum! {
    /// What can be wrong.
    pub enum Kind {
        /// The model writes calls that nobody can use.
        ModelDegradation = "MODEL_DEGRADATION",
        /// Many tool calls failed lately.
        HighErrorCount = "HIGH_ERROR_COUNT",
        /// It is the model's turn, and nothing comes.
        SessionStall = "SESSION_STALL",
        /// A tool runs for longer than it may.
        ToolLong = "TOOL_LONG",
        /// A person was asked, and did not answer yet.
        WaitingHuman = "WAITING_HUMAN",
        /// The server that answered it is gone: nobody goes on with it.
        SessionOrphaned = "SESSION_ORPHANED",
        /// It was prompted, and nobody took that up.
        PromptUnanswered = "PROMPT_UNANSWERED",
        /// Its provider refuses again and again.
        ProviderPressure = "PROVIDER_PRESSURE",
        /// Its provider does not accept its credential.
        Credential = "CREDENTIAL",
        /// It goes round in circles.
        Runaway = "RUNAWAY",
        /// Not all can be told of it.
        NoVerdict = "NO_VERDICT",
    }
}

impl Kind {
    /// How bad it is; `None` for what is not a fault of the session.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Kind::ModelDegradation
            | Kind::SessionOrphaned
            | Kind::ProviderPressure
            | Kind::Credential
            | Kind::Runaway => Some(Severity::High),
            Kind::HighErrorCount | Kind::SessionStall | Kind::WaitingHuman | Kind::PromptUnanswered => {
                Some(Severity::Medium)
            }
            Kind::ToolLong => Some(Severity::Low),
            Kind::NoVerdict => None,
        }
    }
}

named_enum! {
    /// How bad something is.
    pub enum Severity {
        /// Worth knowing.
        Low = "low",
        /// The operator should look.
        Medium = "medium",
        /// It will not come right by itself.
        High = "high",
    }
}

/// One thing that is wrong with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// What.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// How bad.
    pub severity: Option<Severity>,
    /// Which time it is: the id of the message or part that it hangs on. As long as that is the same, it is the same issue.
    pub episode: String,
    /// What was found, in words. It may hold what an agent or a provider wrote.
    pub said: String,
}

/// What one detector says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This is wrong: the episode, and in words.
    Found {
        /// The id it hangs on.
        episode: String,
        /// What was found.
        said: String,
    },
    /// That is not wrong.
    Clear,
    /// What is known does not tell.
    Unknown,
}

impl Verdict {
    fn found(episode: impl Into<String>, said: impl Into<String>) -> Verdict {
        Verdict::Found { episode: episode.into(), said: said.into() }
    }
}

/// What a session is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// What is known of it.
    pub evidence: &'a Evidence,
    /// From when on something is found.
    pub limits: &'a Detect,
    /// Nothing older than this is counted; `None` counts since the last prompt.
    pub since: Option<Time>,
    /// The moment of the pass.
    pub now: Time,
}

/// Everything that is wrong with a session, in the order of [`Kind::ALL`].
pub fn detect(judge: &Judge<'_>) -> Vec<Issue> {
    let issue = |kind: Kind| match judge.verdict(kind) {
        Verdict::Found { episode, said } => Some(Issue { kind, severity: kind.severity(), episode, said }),
        Verdict::Clear | Verdict::Unknown => None,
    };
    Kind::ALL.into_iter().filter_map(issue).collect()
}

/// The worst of several issues.
pub fn worst(issues: &[Issue]) -> Option<Severity> {
    issues.iter().filter_map(|issue| issue.severity).max()
}

impl<'a> Judge<'a> {
    /// What one detector says.
    pub fn verdict(&self, kind: Kind) -> Verdict {
        match kind {
            Kind::ModelDegradation => rows::degradation(self),
            Kind::HighErrorCount => rows::errors(self),
            Kind::Runaway => rows::runaway(self),
            Kind::SessionStall => waits::stall(self),
            Kind::ToolLong => waits::tool(self),
            Kind::WaitingHuman => waits::person(self),
            Kind::SessionOrphaned => lost::orphaned(self),
            Kind::PromptUnanswered => lost::unanswered(self),
            Kind::ProviderPressure => refused::pressure(self),
            Kind::Credential => refused::credential(self),
            Kind::NoVerdict => self.no_verdict(),
        }
    }

    /// Whether the session is at work, by the word of its server and as far as its stream tells: it is worth waiting for.
    /// `false` where that is not known.
    pub fn is_at_work(&self) -> bool {
        self.evidence.server.is_under_way() && self.verdict(Kind::SessionStall) == Verdict::Clear
    }

    /// Nothing is concluded from a server that cannot be asked, or rows that cannot be read.
    fn no_verdict(&self) -> Verdict {
        let why = match (&self.evidence.server, &self.evidence.rows) {
            (State::Unreachable { why }, _) => format!("its server tells nothing: {why}"),
            (_, Err(why)) => format!("what is stored of it tells nothing: {why}"),
            _ => return Verdict::Clear,
        };
        Verdict::found("", quote::line(&why, MAX_SAID))
    }

    fn rows(&self) -> Option<&'a Rows> {
        self.evidence.rows()
    }

    /// The messages that count.
    fn counted(&self, rows: &'a Rows) -> &'a [Message] {
        let all = rows.since_prompt();
        let Some(since) = self.since else { return all };
        let from = all.partition_point(|m| m.created.time() < since);
        &all[from..]
    }

    /// Seconds since then; 0 where it lies ahead.
    fn age(&self, at: Millis) -> i64 {
        self.now.since(at.time()).max(0)
    }
}
