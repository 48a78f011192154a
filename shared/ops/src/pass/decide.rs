//! Deciding on what was seen. `watchbill replay` decides again on what is kept of it here.

use super::Tools;
use crate::replay;
use board::BoardId;
use policy::Decision;
use watch::Watcher;

/// What a watcher decides on what it saw.
pub(super) fn decide<W: Watcher>(
    watcher: &W,
    seen: &W::Seen,
    id: &BoardId,
    tools: &mut Tools<'_>,
) -> Decision {
    let decision = match tools.looks {
        Some(_) => watcher.outline(seen, tools.pass, tools.config),
        None => watcher.decide(seen, tools.pass, tools.config),
    };
    debug_assert!(
        decision.steps.iter().all(|step| W::lists(step)),
        "not on the lists of {}: {:?}",
        W::NAME,
        decision.steps
    );
    if !tools.pass.dry {
        let stored = replay::stored::<W>(&id.address(), tools.pass, seen, &decision);
        stored.into_iter().for_each(|stored| tools.cache.keep(stored));
    }
    decision
}
