//! `[routing]`: how work is moved away from a provider that refuses it, and how it comes back.

use std::time::Duration;

use serde::Serialize;

use super::{QuietHours, minutes, on_or_off, span};
use crate::time::Time;

/// `[routing]`: how work is moved away from a provider that refuses it, and how it comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Routing {
    /// Who moves a rate-limited task.
    pub rate_limit_route: RateLimitRoute,
    /// Whether any profile of a surely different provider may be chosen, not only a listed fallback. Never `default`,
    /// never the orchestrator.
    #[serde(serialize_with = "on_or_off")]
    pub auto: bool,
    /// Moves of one task in one episode; then the orchestrator is asked.
    pub max_moves: u32,
    /// Cards for one attempt that were completed without a decision, before a person is asked.
    pub max_asks: u32,
    /// Tasks sent to one provider at once at first, moved or released.
    pub at_once: u32,
    /// Healthy time after which twice as many may be on their way.
    #[serde(serialize_with = "span::serialize")]
    pub pace: Duration,
    /// Most moves onto one profile within an hour.
    pub moves_per_hour: u32,
    /// Most moves onto one profile within twelve hours.
    pub moves_per_night: u32,
    /// Failed probes of a provider in a row, then its work is left to a person.
    pub max_probes: u32,
    /// The longest a provider's work is held before it is left to a person.
    #[serde(serialize_with = "span::serialize")]
    pub give_up: Duration,
    /// How long a card may wait unclaimed, or a ready task be held by the runtime's own guard, before somebody is told.
    #[serde(serialize_with = "span::serialize")]
    pub unclaimed: Duration,
    /// Hours of the local day in which nothing resumes by itself; `None` is never.
    pub quiet_hours: Option<QuietHours>,
}

/// Who moves a task that its provider limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitRoute {
    /// The program, by the listed fallbacks, without asking anybody.
    #[default]
    Mechanical,
    /// The orchestrator, who gets a card.
    Orchestrator,
}

impl Routing {
    /// When the operator's quiet hours end; `None` outside them.
    pub fn quiet_until(&self, now: Time) -> Option<Time> {
        self.quiet_hours.as_ref()?.until(now)
    }
}

impl Default for Routing {
    fn default() -> Routing {
        Routing {
            rate_limit_route: RateLimitRoute::Mechanical,
            auto: false,
            max_moves: 2,
            max_asks: 2,
            at_once: 2,
            pace: minutes(10),
            moves_per_hour: 20,
            moves_per_night: 100,
            max_probes: 12,
            give_up: minutes(3 * 24 * 60),
            unclaimed: minutes(30),
            quiet_hours: None,
        }
    }
}
