//! What the log of a worker says about its newest attempt. One file per format; a format turns lines into signals and knows
//! how the attempt ended ([`Format`]). [`file::read`] brings it what is new in a file.

use serde::{Deserialize, Serialize};

mod acts;
pub mod claude;
pub mod codex;
pub mod file;
pub(crate) mod handle;
pub mod hermes;
mod lines;
pub mod plain;
pub mod profile;
pub mod reader;
pub mod session;
pub mod signal;
mod tally;
pub mod taught;
pub mod usage;
pub mod when;

pub use hermes::MAX_EARLIER;
pub use reader::Reader;
pub use signal::{Evidence, Format, Line, Reading, Signal, SignalKind};
pub use usage::vitals;

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
    use crate::cause::Cause;

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
