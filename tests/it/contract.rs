//! One story, told to every board engine: what each change leaves behind, and what a guard refuses.
//!
//! Every chapter is told to the board in memory and to a SQLite file. It asserts what it should find, and afterwards
//! the two transcripts (every outcome, every row ever looked at) must be the same to the letter.

mod killed; // `kill -9` inside a pass
mod reshape; // tasks that are reworded, moved, freed, or born finished; what the newest runs say
mod shapes; // SQLite only: old and new schemas, rows nobody should have written, a busy file
mod story;
mod telling; // what a chapter is told with

use std::path::Path;

use shared::board::sqlite::SqliteBoard;
use shared::board::{BoardId, Mode};
use testkit::memory::MemoryBoard;

use self::telling::*;
use crate::support::TestBoard;

/// Tells a chapter to every engine.
#[track_caller]
fn on_both(chapter: fn(&mut Teller<'_>)) {
    let memory = MemoryBoard::new(false);
    let mut board = memory.clone();
    let in_memory = told(&mut board, &|does| in_memory(&memory, does), chapter);

    let file = TestBoard::new();
    let mut board = open(&file.db, Mode::Change);
    let in_file = told(&mut board, &|does| file.sql(&in_sql(does)), chapter);

    for (memory, file) in in_memory.iter().zip(&in_file) {
        assert_eq!(memory, file, "memory above, SQLite below");
    }
    assert_eq!(in_memory.len(), in_file.len());
}

fn open(path: &Path, mode: Mode) -> SqliteBoard {
    SqliteBoard::open(BoardId { at: path.to_owned().into(), slug: None, root: None }, mode, PATIENCE).unwrap()
}
