//! The story once more, through a pool of connections in transaction mode.

#[allow(clippy::duplicate_mod, reason = "told twice, each time in another way")]
#[path = "../../../../../tests/it/contract/reshape.rs"]
mod reshape;
#[allow(clippy::duplicate_mod, reason = "told twice, each time in another way")]
#[path = "../../../../../tests/it/contract/story.rs"]
mod story;

use super::{BEGAN, Foreign, PATIENCE, Teller, kinds, newest, on_memory_and, step, trail};
use crate::pool::pool;

#[track_caller]
fn on_both(chapter: fn(&mut Teller<'_>)) {
    let Some(pool) = pool() else { return };
    on_memory_and(&pool.board(), chapter);
}
