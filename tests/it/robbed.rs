//! Another board at its place, or none, in the middle of a pass: nothing is called done that the board does not show.

use std::fs;
use std::time::Duration;

use shared::base::error::Kind;
use shared::base::time::Time;
use shared::board::Mode;
use shared::board::sqlite::SqliteBoard;
use shared::board::{Board, BoardId, Change, Step};

use crate::support::TestBoard;

const PATIENCE: Duration = Duration::from_secs(1);

fn id(b: &TestBoard) -> BoardId {
    BoardId { at: b.db.clone().into(), slug: None, root: None }
}

fn comment() -> Step {
    let change = Change::AddComment { author: "heal".into(), body: "word".into() };
    let step = serde_json::json!({"task": "t_00000001", "action": "comment", "case": "test", "because": "", "changes": [change]});
    serde_json::from_value(step).unwrap()
}

/// What another process does to the files of a board while it is open.
pub type Robbery = fn(&TestBoard, &TestBoard);

pub const ROBBERIES: [(&str, Robbery); 4] = [
    ("another file under its name", |b, other| fs::rename(&other.db, &b.db).unwrap()),
    ("restored from a copy, without its log", |b, other| {
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", b.db.display()));
        }
        fs::rename(&other.db, &b.db).unwrap();
    }),
    ("removed", |b, _| fs::remove_file(&b.db).unwrap()),
    ("its log removed", |b, _| fs::remove_file(format!("{}-wal", b.db.display())).unwrap()),
];

#[test]
fn a_board_that_went_away_is_not_written_as_if_it_were_there() {
    for (how, rob) in ROBBERIES {
        for own in [false, true] {
            let make = if own { TestBoard::own } else { TestBoard::new };
            let (b, other) = (make(), make());
            for board in [&b, &other] {
                board.add("t_00000001", "ready");
            }
            let mut open = SqliteBoard::open(id(&b), Mode::Change, PATIENCE).unwrap();
            assert_eq!(open.look(&["t_00000001".into()]).unwrap().len(), 1);
            rob(&b, &other);
            let error = open.apply(Time(2_000_000_000), &[comment()], PATIENCE).unwrap_err();
            assert_eq!(error.kind, Kind::Data, "{how}: {error}");
            assert!(error.what.contains("replaced or removed"), "{how}: {error}");
            drop(open);
            if b.db.exists() {
                assert_eq!(b.value("SELECT count(*) FROM task_comments"), "0", "{how}");
                assert_eq!(b.value("PRAGMA integrity_check"), "ok", "{how}");
            }
        }
    }
}
