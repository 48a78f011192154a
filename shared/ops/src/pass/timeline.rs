//! Whether another server took over from that of a board. The board itself cannot tell: so the latest timeline that was seen is remembered.

use std::collections::BTreeSet;
use std::time::Duration;

use base::error::Result;
use base::time::Time;
use board::{Board, BoardId, Mode, Timeline, several_hosts};
use logs::cache::Cache;

/// Opens a board, unless [`refuse`] refuses it.
///
/// # Errors
/// See [`board::open`] and [`refuse`].
pub fn open(id: &BoardId, mode: Mode, patience: Duration, cache: &Cache) -> Result<Box<dyn Board>> {
    let board = board::open(id, mode, patience)?;
    refuse(&*board, cache)?;
    Ok(board)
}

/// Refuses a board on a server of which a later timeline was seen.
///
/// # Errors
/// `Data`: the server was replaced.
pub fn refuse(board: &dyn Board, cache: &Cache) -> Result<()> {
    match board.timeline() {
        Some(here) if is_behind(&here, cache) => Err(several_hosts::replaced(&board.id().at)),
        _ => Ok(()),
    }
}

/// Remembers the timeline of a board that [`refuse`] did not refuse.
pub fn note(board: &dyn Board, cache: &mut Cache, now: Time) {
    if let Some(here) = board.timeline() {
        remember(&here, cache, now);
    }
}

fn is_behind(here: &Timeline, cache: &Cache) -> bool {
    cache.last(&all_of(here)).is_some_and(|known| key(here).as_str() < known)
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
        for (history, number, is_replaced) in [
            ("one:7", 1, false),
            ("one:7", 9, false),
            ("one:7", 1, true),
            ("one:7", 16, false),
            ("one:7", 9, true),
            // Another board there, and a copy of the first one on another server.
            ("two:7", 1, false),
            ("one:70", 1, false),
            ("one:7", 16, false),
            ("one:7", 15, true),
        ] {
            let here = of(history, number);
            assert_eq!(is_behind(&here, &cache), is_replaced, "{here:?}");
            if !is_replaced {
                remember(&here, &mut cache, NOW);
            }
        }
    }
}
