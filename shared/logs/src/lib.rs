//! What the log of a worker says about its newest attempt: how it ended ([`file::read`]), what it used ([`attempt::usage`]) and how it
//! fares ([`attempt::vitals`]). A format turns lines into signals and knows how the attempt ended ([`Format`]); what agents write
//! themselves is in [`agents`], one folder each.

use serde::{Deserialize, Serialize};

pub mod agents;
pub mod attempt;
pub mod cache;
pub mod file;
pub mod handle;
pub mod health;
mod lines;
pub mod operator_patterns;
pub mod plain;
pub mod provider;
pub mod reader;
pub mod reset_time;
pub mod session;
pub mod signal;
mod tally;
pub mod usage;
pub mod vitals;

pub use agents::hermes;
pub use agents::hermes::{MAX_EARLIER, profile};
pub use reader::Reader;
pub use signal::{Evidence, Format, Line, Reading, Signal, SignalKind};

/// What the log of a task says about how its last attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEnd {
    /// There is no log.
    Absent,
    /// There is one, but what it says could not be learnt, and why. Leave the task alone.
    Unreadable(String),
    /// It was read, and the attempt did not end on a line we know.
    NoEvidence,
    /// The attempt ended on this line.
    Ended(Evidence),
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::cause::Cause;

    #[test]
    fn goes_through_json_unchanged() {
        let evidence =
            Evidence { http: Some(402), endpoint_host: Some("h:1".into()), ..Evidence::new(Cause::Quota, 9) };
        for end in
            [LogEnd::Absent, LogEnd::Unreadable("x".into()), LogEnd::NoEvidence, LogEnd::Ended(evidence)]
        {
            let json = serde_json::to_string(&end).unwrap();
            assert_eq!(serde_json::from_str::<LogEnd>(&json).unwrap(), end, "{json}");
        }
    }
}
