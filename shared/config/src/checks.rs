//! The names of the health checks, and what becomes of their alerts where nothing is configured. Their rules are `health`'s.

use base::named_enum::named_enum;

named_enum! {
    /// One check. In the order of claudectl's table, which settles which of two equally bad alerts comes first. The
    /// names are those that claudectl and alkdev hub write.
    pub enum Check {
        /// No progress for long.
        Stalled = "Stalled",
        /// One call fails again and again.
        LoopDetected = "Loop detected",
        /// One question is asked again and again.
        Repetition = "Repetition",
        /// A larger and larger part of the calls fails.
        ErrorAcceleration = "Error acceleration",
        /// It costs much more than before.
        CostSpike = "Cost spike",
        /// The context is nearly full.
        ContextSaturation = "Context saturation",
        /// Several signs together.
        CognitiveDecay = "Cognitive decay",
        /// Hardly any input comes from the cache.
        LowCache = "Low cache",
        /// The context is half full.
        ConsiderCompact = "Consider compact",
        /// Edits cost more and more tokens.
        TokenEfficiency = "Token efficiency",
        /// The model writes calls that nobody can use.
        ModelDegradation = "MODEL_DEGRADATION",
        /// Many calls failed lately.
        HighErrorCount = "HIGH_ERROR_COUNT",
        /// No progress for a while. [`Check::Stalled`] is the same, later.
        SessionStall = "SESSION_STALL",
    }
}

named_enum! {
    /// What becomes of an alert.
    pub enum Action {
        /// The worker is stopped and its task goes back into the queue; only where stopping is allowed, else as
        /// `Escalate`.
        Resume = "resume",
        /// The task needs a person.
        Escalate = "escalate",
        /// It is only told of.
        Ignore = "ignore",
    }
}

impl Check {
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
        format!("health:{}", self.as_str())
    }
}
