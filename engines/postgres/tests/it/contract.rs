//! The story of `tests/it/contract.rs`, told to the board in memory and to a server. That one is told to memory and SQLite: so all three say the
//! same. Only the marks of two engines differ, which are opaque: each is counted by the order in which it first appears on its task.

mod over_pool; // the same story through pgbouncer
mod over_tls; // the same story through TLS
#[path = "../../../../tests/it/contract/reshape.rs"]
mod reshape;
#[path = "../../../../tests/it/contract/story.rs"]
mod story;
#[path = "../../../../tests/it/contract/telling.rs"]
mod telling;

use std::cell::RefCell;
use std::collections::BTreeMap;

use testkit::memory::MemoryBoard;

use self::telling::*;
use crate::server::{Place, shared};

/// Tells a chapter to both.
#[track_caller]
fn on_both(chapter: fn(&mut Teller<'_>)) {
    let Some(server) = shared() else { return };
    on_memory_and(&server.board(), chapter);
}

#[track_caller]
fn on_memory_and(place: &Place<'_>, chapter: fn(&mut Teller<'_>)) {
    let memory = MemoryBoard::new(true);
    let mut board = memory.clone();
    let in_memory = told(&mut board, &|does| in_memory(&memory, does), chapter);

    let hand = RefCell::new(place.hand());
    let other = |does: Foreign<'_>| hand.borrow_mut().batch_execute(&in_sql(does)).unwrap();
    let on_server = told(&mut place.open(), &other, chapter);

    let (memory, server) = (counted(&in_memory), counted(&on_server));
    for (memory, server) in memory.iter().zip(&server) {
        assert_eq!(memory, server, "memory above, PostgreSQL below");
    }
    assert_eq!(memory.len(), server.len());
}

/// What was heard, with each mark as its place among those of its task.
fn counted(heard: &[String]) -> Vec<String> {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let one = |line: &String| {
        let mut parts = line.split("Story { task: Task { id: \"");
        let mut all = parts.next().unwrap().to_owned();
        for part in parts {
            let (id, _) = part.split_once('"').unwrap();
            let (front, rest) = part.rsplit_once("mark: \"").unwrap();
            let (mark, rest) = rest.split_once('"').unwrap();
            let marks = known.entry(id.to_owned()).or_default();
            let nth = marks.iter().position(|m| m == mark).unwrap_or_else(|| {
                marks.push(mark.to_owned());
                marks.len() - 1
            });
            all += &format!("Story {{ task: Task {{ id: \"{front}mark: \"{nth}\"{rest}");
        }
        all
    };
    heard.iter().map(one).collect()
}

#[test]
fn marks_are_counted_for_each_task() {
    let line =
        |id: &str, mark: &str| format!("Story {{ task: Task {{ id: \"{id}\", x }}, mark: \"{mark}\" }}");
    let all = [line("a", "e7"), line("b", "e9"), line("a", "e7"), line("a", "e12"), line("a", "e7")];
    let want = [line("a", "0"), line("b", "0"), line("a", "0"), line("a", "1"), line("a", "0")];
    assert_eq!(counted(&all), want);
}
