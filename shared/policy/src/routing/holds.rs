//! Ready work of a provider that is held waits, before a dispatcher starts it.

use crate::authorship;
use crate::routing::moving::{Scribe, Why, is_ours_to_move};
use crate::routing::router::Router;
use base::time::Time;
use board::{Detail, Rule, Status, Step};

/// Parks ready work whose provider is held, unless somebody set it free since.
pub fn park_ready(router: &Router<'_>, scribe: &Scribe<'_>, d: &Detail) -> Option<Step> {
    let (entry, state) = router.standing_for(&d.task).filter(|(_, s)| s.is_held())?;
    if d.task.status != Status::Ready || !is_ours_to_move(d) || is_decided_since(d, entry.since) {
        return None;
    }
    let until = entry.until.max(scribe.now.plus(1));
    let why = format!("waits until {}: {}", until.local_minute(), entry.said(state));
    let why = Why::new(Rule::ProviderHold, why);
    Some(scribe.held(d, &entry.id, until, why.cause(Some(entry.cause))))
}

/// Whether somebody set a task free or gave it to its profile after its provider began to refuse: they know better.
pub fn is_decided_since(d: &Detail, since: Time) -> bool {
    d.events.iter().any(|e| e.at >= since && authorship::is_fresh_start(e))
}
