//! Whether time can be trusted in a pass. Nothing is decided by a clock that jumped.

use super::{Pass, World};
use crate::time::Time;

/// Seconds by which an event may lie in the future, or the clock may have moved, before time is not trusted.
pub(crate) const FUTURE: i64 = 120;
const MOVED: i64 = 60;

/// Why time cannot be trusted in this pass, if so: a board from the future, or a wall clock that jumped.
pub(crate) fn fault(world: &mut World<'_>, pass: &Pass, newest: Option<Time>) -> Option<String> {
    // A given clock has nothing to do with this machine's, and must not be remembered as if it had.
    let moved = if pass.clock_given {
        None
    } else {
        let boot = world.host.facts().boot_id;
        world.cache.clock_moved(&boot, world.clock_offset).filter(|by| by.abs() > MOVED)
    };
    if let Some(newest) = newest.filter(|n| n.since(pass.now) > FUTURE) {
        return Some(format!("the board has an event at {newest}, in the future"));
    }
    moved.map(|by| format!("the wall clock moved by {by} s since the last pass"))
}
