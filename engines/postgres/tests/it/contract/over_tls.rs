//! The story once more, through TLS.

#[allow(clippy::duplicate_mod, reason = "told twice, each time in another way")]
#[path = "../../../../../tests/it/contract/story.rs"]
mod story;

use super::{BEGAN, Foreign, PATIENCE, Teller, kinds, newest, on_memory_and, step, trail};
use crate::tls::secure;

#[track_caller]
fn on_both(chapter: fn(&mut Teller<'_>)) {
    let Some(secure) = secure() else { return };
    on_memory_and(&secure.board(), chapter);
}
