//! Ready work of a provider that is held waits, before a dispatcher starts it.

use crate::authorship;
use crate::routing::moving::{Scribe, Why, is_ours_to_move};
use crate::routing::router::Router;
use board::{Detail, Event, Rule, Status, Step};
use logs::provider::ledger::Entry;

/// Holds ready work whose provider is held, unless it was released since: see [`let_go`].
pub fn park_ready(router: &Router<'_>, scribe: &Scribe<'_>, d: &Detail) -> Option<Step> {
    let (entry, state) = router.standing_for(&d.task).filter(|(_, s)| s.is_held())?;
    if d.task.status != Status::Ready || !is_ours_to_move(d) || let_go(router, d, entry).is_some() {
        return None;
    }
    let until = entry.until.max(scribe.now.plus(1));
    let why = format!("waits until {}: {}", until.local_moment(scribe.now), entry.said(state));
    let why = Why::new(Rule::ProviderHold, why);
    Some(scribe.held(d, &entry.id, until, why.cause(Some(entry.cause))))
}

/// Who requeued a task or gave it to its profile after its provider began to refuse: they know better. On a board of several hosts that
/// is also a watcher after the newest refusal: on its host it saw the provider answer.
pub fn let_go(router: &Router<'_>, d: &Detail, entry: &Entry) -> Option<&'static str> {
    if d.events.iter().any(|e| e.at >= entry.since && authorship::is_fresh_start(e)) {
        return Some("an operator or agent");
    }
    let sent = |e: &Event| authorship::is_ours(e) && e.trail().is_some_and(|t| t.get("sent").is_some());
    let by_host = router.is_shared() && d.events.iter().any(|e| e.at > entry.bad && sent(e));
    by_host.then_some("a watcher")
}
