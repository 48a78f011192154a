//! What was recorded of the agent session that works on a task, or did. Its events can be written by any process: they are
//! told, and nothing follows from them here.

use base::quote;
use board::Detail;
use coord::detect::record::{Recorded, recorded};
use coord::mapping;

/// Most characters of what was found.
const MAX_FOUND: usize = 160;

/// The worst that was recorded of the sessions of one attempt and has not ended: `its session ses_1: RUNAWAY: 5 equal calls`.
/// What ends with its attempt leaves no event.
pub(crate) fn ailment(d: &Detail, run: i64) -> Option<String> {
    let sessions = mapping::of(d).into_iter().filter(|m| m.run == Some(run)).map(|m| m.session);
    let issues = sessions.flat_map(|s| recorded(&d.events, &s).into_iter().map(move |r| (s.clone(), r)));
    let worst = |(_, r): &(_, Recorded)| (r.severity, r.since);
    let (session, issue) = issues.filter(|(_, r)| !r.has_ended && r.severity.is_some()).max_by_key(worst)?;
    Some(format!("its session {session}: {}: {}", issue.kind, quote::inline(&issue.said, MAX_FOUND)))
}
