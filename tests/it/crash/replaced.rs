//! Another board at its place, or none, in the middle of a pass: nothing is called done that the board does not show.

use std::fs;
use std::time::Duration;

use shared::board::sqlite::{Mode, SqliteBoard};
use shared::board::{Board, BoardId, Change, Step};
use shared::error::Kind;
use shared::time::Time;

use crate::support::TestBoard;

const PATIENCE: Duration = Duration::from_secs(1);

fn id(b: &TestBoard) -> BoardId {
    BoardId { path: b.db.clone(), slug: None, root: None }
}

fn comment() -> Step {
    let change = Change::AddComment { author: "heal".into(), body: "word".into() };
    let step = serde_json::json!({"task": "t_00000001", "action": "comment", "case": "test", "because": "", "changes": [change]});
    serde_json::from_value(step).unwrap()
}

/// What somebody does to the files of a board while it is open.
type Robbery = fn(&TestBoard, &TestBoard);

const ROBBERIES: [(&str, Robbery); 4] = [
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

#[cfg(feature = "real")]
mod held {
    use super::super::killed::{recovers, undisturbed};
    use super::super::scene::{self, told};
    use super::super::strace::{held, may_trace};
    use super::super::{in_parallel, must};
    use super::*;

    /// Held right after each call on the board's files, robbed of them, and let go.
    #[test]
    fn at_every_call_on_the_board() {
        if !may_trace() {
            return;
        }
        let scene = scene::heal();
        let (all, left) = undisturbed(&scene);
        let start = scene.start();
        let (first, last) = (0, all.iter().rposition(|c| c.is_on_board()).unwrap());
        // In the log's frames one call is like the next.
        let dull = |n: usize| all[n].name == "pwrite64" && !n.is_multiple_of(8) && n != last;
        let jobs: Vec<_> = (first..=last)
            .filter(|n| all[*n].is_on_board() && !dull(*n))
            .flat_map(|n| ROBBERIES.map(|(how, rob)| (n, how, rob)))
            .collect();
        let codes = in_parallel(&jobs, |&(n, how, rob)| {
            let (b, other) = (scene.copy(), scene.copy());
            let tell = |e: String| format!("{how} after {}: {e}", all[n].told());
            let ended = held(&scene.command(&b), b.path(), &all[n], || rob(&b, &other));
            let done = ended.code == Some(0);
            must(done || ended.code == Some(65) && ended.err.contains("replaced or removed"), || {
                tell(format!("{ended:?}"))
            })?;
            must(ended.err.lines().count() == usize::from(!done), || {
                tell(format!("not one line: {ended:?}"))
            })?;
            if b.db.exists() {
                let rows = told(&b, b.dump());
                // Said to be done only where it is. Another file that was put beside the old log in the midst of a commit may
                // show it too: SQLite takes the log for its own.
                let fits = if done { rows == left } else { rows == start || rows == left };
                must(fits, || tell(format!("said {:?}, and the board shows something else", ended.code)))?;
                recovers(&scene, &b, &left).map_err(tell)?;
            }
            Ok(ended.code)
        });
        assert!(codes.contains(&Some(65)), "{codes:?}");
    }
}
