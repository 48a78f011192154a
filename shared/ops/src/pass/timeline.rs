//! Whether another server took over from that of a board. The board itself cannot tell: so the latest timeline that was seen is remembered.

use std::collections::BTreeSet;
use std::time::Duration;

use base::error::{Kind, Result};
use base::time::Time;
use board::{Board, BoardId, Mode, Timeline};
use logs::cache::Cache;

/// Opens a board, unless [`refuse`] refuses it.
///
/// # Errors
/// See [`board::open`] and [`refuse`].
pub fn open(id: &BoardId, mode: Mode, patience: Duration, cache: &Cache) -> Result<Box<dyn Board>> {
    let mut board = board::open(id, mode, patience)?;
    refuse(&mut *board, cache)?;
    Ok(board)
}

/// Refuses a board on a server of which a later timeline was seen, unless its address names the one that took over as well.
///
/// # Errors
/// `Data`: the server was replaced. See [`Board::skip_behind`].
pub fn refuse(board: &mut dyn Board, cache: &Cache) -> Result<()> {
    match board.timeline().and_then(|here| ahead_of(&here, cache)) {
        Some(known) => board.skip_behind(known),
        None => Ok(()),
    }
}

/// Remembers the timeline of a board that [`refuse`] did not refuse.
pub fn note(board: &dyn Board, cache: &mut Cache, now: Time) {
    if let Some(here) = board.timeline() {
        remember(&here, cache, now);
    }
}

/// Forgets the later timeline for which [`refuse`] refuses a board: a person says that this server is meant. Gives whether there was one.
pub fn forget(board: &mut dyn Board, cache: &mut Cache) -> bool {
    let here = board.timeline();
    let refused = here.filter(|_| refuse(board, cache).is_err_and(|e| e.kind == Kind::Data));
    if let Some(here) = &refused {
        cache.forget(&all_of(here), &BTreeSet::new());
    }
    refused.is_some()
}

/// The latest timeline that was seen, where it is later than this one.
fn ahead_of(here: &Timeline, cache: &Cache) -> Option<u32> {
    let all = all_of(here);
    let known = u32::from_str_radix(cache.last(&all)?.strip_prefix(&all)?, 16).ok()?;
    (here.number < known).then_some(known)
}

fn remember(here: &Timeline, cache: &mut Cache, now: Time) {
    cache.sight(&key(here), now);
    cache.forget(&all_of(here), &BTreeSet::from([key(here)]));
}

fn all_of(here: &Timeline) -> String {
    format!("timeline:{}:", here.history)
}

/// In the order of the numbers.
fn key(here: &Timeline) -> String {
    format!("{}{:08x}", all_of(here), here.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::NOW;

    #[test]
    fn a_server_is_known_by_the_latest_timeline_of_its_board() {
        let mut cache = Cache::in_memory();
        let of = |history: &str, number| Timeline { history: history.into(), number };
        for (history, number, later) in [
            ("one:7", 1, None),
            ("one:7", 9, None),
            ("one:7", 1, Some(9)),
            ("one:7", 16, None),
            ("one:7", 9, Some(16)),
            // Another board there, and a copy of the first one on another server.
            ("two:7", 1, None),
            ("one:70", 1, None),
            ("one:7", 16, None),
            ("one:7", 15, Some(16)),
        ] {
            let here = of(history, number);
            assert_eq!(ahead_of(&here, &cache), later, "{here:?}");
            if later.is_none() {
                remember(&here, &mut cache, NOW);
            }
        }
    }
}
