//! What every other crate of Watchbill uses: texts, files, time, money, and the words that stand on boards and in logs.

pub mod atomic_file;
pub mod cause;
pub mod clip;
pub mod count;
pub mod endpoint;
pub mod error;
pub mod hash;
pub mod location;
pub mod money;
pub mod named_enum;
pub mod names;
pub mod open_enum;
pub mod quote;
pub mod reason;
pub mod redact;
pub mod registry;
pub mod snapshot;
pub mod time;
pub mod untrusted_file;
pub mod worker_env;
pub mod wrap;
