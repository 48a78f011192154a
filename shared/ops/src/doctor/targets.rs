//! Those whom `watchbill notify` tells: whether they can be told.

use serde::{Deserialize, Serialize};

use super::Finding;
use base::reason::Reason;
use base::time::{HOUR, Time, words};

/// The name of the finding that a target cannot be told anything.
pub const FAILING: &str = "notify-failing";
/// Failed tries from which on a target needs a person.
const MAX_FAILED: u32 = 3;

/// Seconds behind the time of its next try after which it is told that there was none.
const UNTRIED: i64 = 2 * HOUR;

/// Tries that failed, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// When the first of them was.
    pub since: Time,
    /// How many, test messages aside.
    pub tries: u32,
    /// When the next one is.
    pub next: Time,
    /// What the last one ended with.
    pub why: String,
    /// Whether a test message was among them. Nothing sends that again by itself.
    #[serde(default)]
    pub tested: bool,
}

/// One target.
pub struct TargetSeen {
    /// Its name in the configuration.
    pub name: String,
    /// The tries that failed since the last message that was accepted; or why nobody knows.
    pub failing: Result<Option<Failing>, Reason>,
}

/// Judges them all.
pub fn targets(all: &[TargetSeen], now: Time) -> Vec<Finding> {
    all.iter().map(|target| one(target, now)).collect()
}

fn one(target: &TargetSeen, now: Time) -> Finding {
    let about = format!("notify {}", target.name);
    let failing = match &target.failing {
        Ok(None) => return Finding::ok("notify-ready", about, "no message to it waits"),
        Ok(Some(failing)) => failing,
        Err(why) => return Finding::warning(FAILING, about, format!("what it was told is not known: {why}")),
    };
    let tries = match failing.tries {
        0 => "a test message".into(),
        1 => "the last try".into(),
        n => format!("the last {n} tries"),
    };
    // Where no message waits any more, and in quiet hours, nothing is tried.
    let untried = now.since(failing.next);
    let rest = match failing.tries > 0 && untried >= UNTRIED {
        true => format!("; not tried again for {}", words(untried)),
        false => String::new(),
    };
    let what = format!("{tries} failed, for {}: {}{rest}", words(now.since(failing.since)), failing.why);
    let make = if failing.tested || failing.tries >= MAX_FAILED { Finding::error } else { Finding::warning };
    make(FAILING, &about, &what).todo(format!("watchbill notify --test --target {}", target.name))
}
