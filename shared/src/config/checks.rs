//! The names of the health checks, and what becomes of their alerts where nothing is configured. Their rules are `health`'s.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One check. In the order of claudectl's table, which settles which of two equally bad alerts comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Check {
    /// No progress for long.
    Stalled,
    /// One call fails again and again.
    #[serde(rename = "Loop detected")]
    LoopDetected,
    /// One question is asked again and again.
    Repetition,
    /// A larger and larger part of the calls fails.
    #[serde(rename = "Error acceleration")]
    ErrorAcceleration,
    /// It costs much more than before.
    #[serde(rename = "Cost spike")]
    CostSpike,
    /// The context is nearly full.
    #[serde(rename = "Context saturation")]
    ContextSaturation,
    /// Several signs together.
    #[serde(rename = "Cognitive decay")]
    CognitiveDecay,
    /// Hardly any input comes from the cache.
    #[serde(rename = "Low cache")]
    LowCache,
    /// The context is half full.
    #[serde(rename = "Consider compact")]
    ConsiderCompact,
    /// Edits cost more and more tokens.
    #[serde(rename = "Token efficiency")]
    TokenEfficiency,
    /// The model writes calls that nobody can use.
    #[serde(rename = "MODEL_DEGRADATION")]
    ModelDegradation,
    /// Many calls failed lately.
    #[serde(rename = "HIGH_ERROR_COUNT")]
    HighErrorCount,
    /// No progress for a while. [`Check::Stalled`] is the same, later.
    #[serde(rename = "SESSION_STALL")]
    SessionStall,
}

/// What becomes of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The worker is stopped and its task goes back into the queue; only where stopping is allowed, else as `Escalate`.
    Resume,
    /// The task needs a person.
    Escalate,
    /// It is only told of.
    Ignore,
}

impl Check {
    /// All of them, in their order.
    pub const ALL: [Check; 13] = [
        Check::Stalled,
        Check::LoopDetected,
        Check::Repetition,
        Check::ErrorAcceleration,
        Check::CostSpike,
        Check::ContextSaturation,
        Check::CognitiveDecay,
        Check::LowCache,
        Check::ConsiderCompact,
        Check::TokenEfficiency,
        Check::ModelDegradation,
        Check::HighErrorCount,
        Check::SessionStall,
    ];

    /// Its name, as claudectl and alkdev hub write it.
    pub fn name(self) -> &'static str {
        match self {
            Check::Stalled => "Stalled",
            Check::LoopDetected => "Loop detected",
            Check::Repetition => "Repetition",
            Check::ErrorAcceleration => "Error acceleration",
            Check::CostSpike => "Cost spike",
            Check::ContextSaturation => "Context saturation",
            Check::CognitiveDecay => "Cognitive decay",
            Check::LowCache => "Low cache",
            Check::ConsiderCompact => "Consider compact",
            Check::TokenEfficiency => "Token efficiency",
            Check::ModelDegradation => "MODEL_DEGRADATION",
            Check::HighErrorCount => "HIGH_ERROR_COUNT",
            Check::SessionStall => "SESSION_STALL",
        }
    }

    /// The check of this name.
    pub fn named(name: &str) -> Option<Check> {
        Check::ALL.into_iter().find(|check| check.name() == name)
    }

    /// What is done where the configuration says nothing: claudectl's table, and nothing for checks it does not list.
    pub fn default_action(self) -> Action {
        match self {
            Check::Stalled | Check::ErrorAcceleration => Action::Resume,
            Check::LoopDetected | Check::Repetition => Action::Escalate,
            Check::CostSpike
            | Check::ContextSaturation
            | Check::CognitiveDecay
            | Check::LowCache
            | Check::ConsiderCompact
            | Check::TokenEfficiency
            | Check::ModelDegradation
            | Check::HighErrorCount
            | Check::SessionStall => Action::Ignore,
        }
    }

    /// What stands on a board where it acted: `health:Loop detected`.
    pub fn cause(self) -> String {
        format!("health:{}", self.name())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 3] = [Action::Resume, Action::Escalate, Action::Ignore];

    /// Its word in configuration and reports.
    pub fn name(self) -> &'static str {
        match self {
            Action::Resume => "resume",
            Action::Escalate => "escalate",
            Action::Ignore => "ignore",
        }
    }
}
