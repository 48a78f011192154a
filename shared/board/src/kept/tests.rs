use super::*;
use rusqlite::Connection;

const PATIENCE: Duration = Duration::from_secs(5);

/// A board with these tasks, their states and one event each.
fn board(dir: &tempfile::TempDir, tasks: &[(&str, &str)]) -> BoardId {
    let path = dir.path().join("kanban.db");
    crate::create(&path.clone().into(), PATIENCE).unwrap();
    let conn = Connection::open(&path).unwrap();
    for (id, status) in tasks {
        add(&conn, id, status);
    }
    BoardId { at: path.into(), slug: None, root: None }
}

fn add(conn: &Connection, id: &str, status: &str) {
    let task = "INSERT INTO tasks (id, title, status, created_at) VALUES (?1, 'a task', ?2, 7)";
    conn.execute(task, [id, status]).unwrap();
    let event =
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES (?1, 'created', '{}', 7)";
    conn.execute(event, [id]).unwrap();
    let run = "INSERT INTO task_runs (task_id, profile, status, started_at) VALUES (?1, 'luna', 'done', 7)";
    conn.execute(run, [id]).unwrap();
}

/// All that a board says, in words.
fn told(board: &mut dyn Board) -> String {
    let ids: Vec<String> = ["t_2", "t_9", "t_1", "t_3", "t_2"].map(str::to_owned).to_vec();
    let two = [Status::Ready, Status::Running];
    format!(
        "{:?}",
        (
            board.glance(&Status::OPEN).unwrap(),
            board.glance(&two).unwrap(),
            board.look(&ids[2..3]).unwrap(),
            board.look(&ids).unwrap(),
            board.recent_runs(5).unwrap(),
            board.recent_runs(2).unwrap(),
            board.events(Time(0), 9).unwrap(),
            board.turns(Time(0), 9).unwrap(),
        )
    )
}

#[test]
fn says_what_the_board_says_and_sees_what_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready"), ("t_2", "blocked"), ("t_3", "running")]);
    let kept = Kept::default();
    let (mut a, mut b) = (kept.open(&id, PATIENCE).unwrap(), kept.open(&id, PATIENCE).unwrap());
    let plain = || told(&mut *crate::open(&id, Mode::Look, PATIENCE).unwrap());
    let before = plain();
    assert_eq!(
        [told(&mut *a), told(&mut *b), told(&mut *a)],
        [before.clone(), before.clone(), before.clone()]
    );
    add(&Connection::open(id.file().unwrap()).unwrap(), "t_4", "ready");
    let after = plain();
    assert_ne!(after, before);
    assert_eq!([told(&mut *b), told(&mut *a)], [after.clone(), after]);
}

#[test]
fn what_was_read_is_kept_for_all_and_a_board_is_opened_once() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready"), ("t_2", "blocked")]);
    let kept = Kept::default();
    let (mut a, mut b) = (kept.open(&id, PATIENCE).unwrap(), kept.open(&id, PATIENCE).unwrap());
    // A part is asked for first, and more than that part is read.
    a.glance(&[Status::Ready]).unwrap();
    told(&mut *a);
    told(&mut *b);
    let all = kept.reads.borrow();
    let reads = &all[&id.at].borrow().read;
    assert_eq!(all.len(), 1);
    // One of the whole board answers for its parts, and a task that is not there is not asked for again.
    assert_eq!((reads.glances.len(), reads.runs.len(), reads.stories.len()), (1, 1, 4));
    assert!(reads.stories["t_9"].is_none() && reads.stories["t_1"].is_some());
}

/// Whatever was asked before: a clock that was set back for a part and more, and rows whose types are wrong.
#[test]
fn events_of_several_spans_are_those_of_each_span() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready")]);
    let conn = Connection::open(id.file().unwrap()).unwrap();
    let fill = |times: &str, kind: &str| {
        let rows = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2499)";
        let sql = format!(
            "{rows} INSERT INTO task_events (task_id, kind, payload, created_at) \
             SELECT 't_1', iif(i % 7, 'heartbeat', {kind}), '{{\"n\": ' || i || '}}', {times} FROM n"
        );
        conn.execute_batch(&sql).unwrap();
    };
    let spans = [(9_000, 9_000), (0, 9_000), (2_400, 9_000), (2_000, 200), (5_600, 4_000), (2_000, 4_000)];
    let turned = [(6_000, 9_000), (2_400, 9_000), (5_000, 4_000), (0, 9_000)];
    let check = |what: &str| {
        let kept = Kept::default();
        for skip in 0..spans.len() {
            let mut orders = spans.into_iter().cycle().skip(skip).take(spans.len());
            let mut board = kept.open(&id, PATIENCE).unwrap();
            let mut plain = crate::open(&id, Mode::Look, PATIENCE).unwrap();
            orders.by_ref().for_each(|(since, most)| {
                let asked = (board.events(Time(since), most), plain.events(Time(since), most));
                assert_eq!(asked.0.unwrap(), asked.1.unwrap(), "{what}: {since}, {most}");
            });
            for (since, most) in turned {
                let asked = (board.turns(Time(since), most), plain.turns(Time(since), most));
                assert_eq!(asked.0.unwrap(), asked.1.unwrap(), "{what}: turns {since}, {most}");
            }
            kept.close(&id);
        }
    };
    fill("i", "'claimed'");
    check("an early time");
    fill("2500 + i", "'claimed'");
    check("in order");
    fill("i", "'blocked'");
    check("a clock that was set back");
    fill("5000 + i", "'claimed'");
    check("and set right");
    fill(
        "CASE i % 5 WHEN 0 THEN 'soon' WHEN 1 THEN 5000.5 WHEN 2 THEN x'05' ELSE i END",
        "CAST('claimed' AS BLOB)",
    );
    check("wrong types");
    conn.execute_batch("DELETE FROM task_events WHERE id > 9000").unwrap();
    check("a gap at the end");
}

#[test]
fn what_is_kept_of_events_is_of_this_state_of_the_board() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready"), ("t_2", "ready")]);
    let mut board = Kept::default().open(&id, PATIENCE).unwrap();
    let mut count = |since: i64| board.events(Time(since), 9).unwrap().len();
    assert_eq!((count(0), count(7)), (2, 2));
    let conn = Connection::open(id.file().unwrap()).unwrap();
    conn.execute_batch("UPDATE task_events SET created_at = 3 WHERE task_id = 't_1'").unwrap();
    assert_eq!((count(1), count(5)), (2, 1));
}

#[test]
fn a_board_that_was_closed_is_asked_anew() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready")]);
    let kept = Kept::default();
    told(&mut *kept.open(&id, PATIENCE).unwrap());
    let splits = ["a", "b"].map(|why| Split::Unknown(why.into()));
    let split = |n: usize| kept.split(&id, || splits[n].clone());
    assert_eq!([split(0), split(1)], [splits[0].clone(), splits[0].clone()]);
    kept.close(&id);
    assert!(kept.reads.borrow().is_empty());
    assert_eq!(split(1), splits[1]);
    assert_eq!(kept.open(&id, PATIENCE).unwrap().glance(&Status::OPEN).unwrap().len(), 1);
}

#[test]
fn nothing_is_written_through_it() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready")]);
    let mut board = Kept::default().open(&id, PATIENCE).unwrap();
    let detail = board.look(&["t_1".to_owned()]).unwrap();
    let step = Step::on(&detail[0], crate::StepAction::Note, crate::Rule::DeadWorker, Vec::new());
    assert!(board.apply(Time(9), &[step], PATIENCE).is_err());
}

#[test]
fn looks_share_what_was_read_and_change_it_alone() {
    let dir = tempfile::tempdir().unwrap();
    let id = board(&dir, &[("t_1", "ready"), ("t_2", "blocked")]);
    let kept = Kept::default();
    let (mut a, mut b) = (kept.open(&id, PATIENCE).unwrap(), kept.open(&id, PATIENCE).unwrap());
    let rows = [&mut a, &mut b].map(|board| board.glance(&Status::OPEN).unwrap());
    let runs = [&mut a, &mut b].map(|board| board.recent_runs(5).unwrap());
    assert!(std::ptr::eq(&rows[0][0], &rows[1][0]) && std::ptr::eq(&runs[0][0], &runs[1][0]));
    let mut look = |board: usize| [&mut a, &mut b][board].look(&["t_1".to_owned()]).unwrap().remove(0);
    let (mut one, two) = (look(0), look(1));
    assert!(std::ptr::eq(&*one, &*two));
    one.cards.push("t_9".into());
    assert_eq!([one, two, look(0), look(1)].map(|d| d.cards.len()), [1, 0, 0, 0]);
}
