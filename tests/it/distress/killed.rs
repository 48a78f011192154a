//! `kill -9` inside a pass of `synthesize-distress`: one card afterwards, and a whole one.

use super::{BUDGET, LIMITED, REFUSED_KEY};
use crate::support::{TestBoard, killed_anywhere};

const SOURCES: usize = 6;

fn board() -> TestBoard {
    let b = TestBoard::new();
    for i in 0..SOURCES {
        b.given_up(&format!("t_{i:08x}"), [LIMITED, REFUSED_KEY, BUDGET][i % 3]);
    }
    b
}

/// Every card is there with its link, its event and its comment, or not at all.
fn whole(b: &TestBoard) -> String {
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    for half in [
        "SELECT count(*) FROM tasks c WHERE c.title LIKE '[BLOCKED]%' AND NOT EXISTS
           (SELECT 1 FROM task_links l WHERE l.parent_id = c.id)",
        "SELECT count(*) FROM tasks c WHERE c.title LIKE '[BLOCKED]%' AND NOT EXISTS
           (SELECT 1 FROM task_events e WHERE e.task_id = c.id AND e.kind = 'created')",
        "SELECT count(*) FROM task_links l WHERE NOT EXISTS
           (SELECT 1 FROM task_comments c WHERE c.task_id = l.child_id)",
        "SELECT count(*) FROM task_links l WHERE NOT EXISTS
           (SELECT 1 FROM task_events e WHERE e.task_id = l.child_id AND e.kind = 'linked')",
    ] {
        assert_eq!(b.value(half), "0", "{half}");
    }
    b.value("SELECT count(*) FROM task_links")
}

#[test]
fn killed_anywhere_the_next_pass_leaves_one_whole_card_each() {
    killed_anywhere("synthesize-distress", board, whole, &SOURCES.to_string(), |b| {
        let _ = b.distress(&[]);
        assert_eq!(b.cards().len(), SOURCES, "{:?}", b.cards());
    });
}
