//! Whether a living worker is well, by what its own log tells: pure, and without memory between passes.
//!
//! The checks are those of claudectl (0.64.0, `health.rs` and `supervisor.rs`) and of the coordination operations of
//! alkdev hub. The same word stands in check, policy key, report and documentation: [`Check::as_str`]. Where a rule was weak it
//! was mended; each rule says beside its code what it was and what it is now.

use serde::{Deserialize, Serialize};

pub use crate::vitals::Severity;
use crate::vitals::Vitals;
use base::time::Time;
use config::Detect;
pub use config::checks::{Action, Check};

mod rules;
pub use rules::silent;
#[cfg(test)]
mod tests;

/// One check that found something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Which.
    pub check: Check,
    /// How bad.
    pub severity: Severity,
    /// What was found, in words. Untrusted.
    pub said: String,
}

/// The rule of a check in one line, with the thresholds in force.
pub fn rule(check: Check, detect: &Detect) -> String {
    rules::told(check, detect)
}

/// Everything that is wrong, worst first. Of what is hidden nothing is said.
pub fn alerts(vitals: &Vitals, detect: &Detect, now: Time) -> Vec<Alert> {
    if vitals.hidden.is_some() {
        return Vec::new();
    }
    let found = |check: Check| {
        let (severity, said) = rules::find(check, vitals, detect, now)?;
        Some(Alert { check, severity, said })
    };
    let mut all: Vec<Alert> = Check::ALL.into_iter().filter_map(found).collect();
    all.sort_by_key(|alert| (std::cmp::Reverse(alert.severity), alert.check));
    all
}
