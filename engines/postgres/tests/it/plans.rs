//! No statement goes through a whole table: on a board of many tasks, never analysed and analysed.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use base::time::Time;
use board::prune::prune;
use board::{Answer, Attendance, Begin, Board, Change, Duty, NewTask, Status, hermes};
use serde_json::json;
use watchbill_postgres::PostgresBoard;

use crate::distance::Distance;
use crate::programs::Machine;
use crate::races::{NOW, look, step, trail};
use crate::server::{PATIENCE, shared};

/// 20,000 tasks, most of them done, with 100,000 events, 30,000 runs, 20,000 comments and 10,000 links.
const FILL: &str = "
INSERT INTO tasks (id, title, status, assignee, created_at, idempotency_key, priority)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', CASE WHEN n % 50 = 0 THEN 'running' WHEN n % 50 = 1 THEN 'ready'
  WHEN n % 50 = 2 THEN 'todo' ELSE 'done' END, 'luna', 1800000000 + n, CASE WHEN n % 7 = 0 THEN 'key-' || n END, n % 3
  FROM generate_series(1, 20000) n;
INSERT INTO task_events (task_id, kind, payload, created_at)
  SELECT 't_' || lpad(to_hex(1 + n % 20000), 8, '0'), (ARRAY['heartbeat','created','commented','coord.messaged','assigned'])[1 + n % 5],
  '{\"note\":\"x\"}', 1800000000 + n FROM generate_series(1, 100000) n;
INSERT INTO task_runs (task_id, status, outcome, started_at, ended_at)
  SELECT 't_' || lpad(to_hex(1 + n % 20000), 8, '0'), 'done', 'completed', 1800000000 + n, 1800000001 + n
  FROM generate_series(1, 30000) n;
INSERT INTO task_comments (task_id, author, body, created_at)
  SELECT 't_' || lpad(to_hex(1 + n % 20000), 8, '0'), 'rosa', CASE WHEN n % 9 = 0 THEN 'watchbill: no-heal' ELSE 'note' END, n
  FROM generate_series(1, 20000) n;
INSERT INTO task_events (task_id, kind, payload, created_at)
  SELECT 't_00000032', 'commented', '{}', 1800000000 + n FROM generate_series(1, 1200) n;
INSERT INTO task_comments (task_id, author, body, created_at)
  SELECT 't_00000032', 'rosa', 'note', 1800000000 + n FROM generate_series(1, 60) n;
INSERT INTO task_links SELECT 't_' || lpad(to_hex(n - 1), 8, '0'), 't_' || lpad(to_hex(n), 8, '0')
  FROM generate_series(2, 20000) n WHERE n % 2 = 0;
INSERT INTO writes (id, at, host) SELECT gen_random_uuid(), now_s() - 172800 + 10 * n, 'h1' FROM generate_series(1, 17000) n;
INSERT INTO hosts (name, boot_id, program, since, seen_at, lease_until)
  SELECT 'h' || n, 'b', 'heal', 1, 1, 1 FROM generate_series(1, 20) n;
";

/// Every method once, on 100 tasks and on one.
fn everything(board: &mut PostgresBoard) {
    let running: Vec<String> = board.glance(&[Status::Running]).unwrap().into_iter().map(|t| t.id).collect();
    assert_eq!(running.len(), 400);
    assert_eq!(board.glance(&Status::OPEN).unwrap().len(), 1_200);
    assert_eq!(board.links(&[Status::Todo]).unwrap().len(), 400);
    // Each waits for a task that is ready.
    assert_eq!(board.waiting().unwrap().len(), 400);
    assert_eq!(board.assignees().unwrap(), BTreeSet::from(["luna".to_owned()]));
    assert_eq!(board.next_of(&[None, Some("luna")], 50).unwrap().len(), 50);
    assert_eq!(board.look(&running[..100]).unwrap().len(), 100);
    let full = look(board, "t_00000032");
    assert!(full.is_truncated && full.comments.len() >= 50);
    assert_eq!(board.titled(&running[..100]).unwrap().len(), 100);
    assert!(!board.comments("t_00000032").unwrap().is_empty());
    let beat = board.events(Time(0), 100).unwrap();
    assert_eq!(beat.len(), 100);
    board.beat_note("t_00000005").unwrap();
    assert_eq!(board.turns(Time(0), 50).unwrap().len(), 50);
    assert_eq!(board.with_key("key-7").unwrap().as_deref(), Some("t_00000007"));
    assert_eq!(board.recent_runs(40).unwrap().len(), 40);
    assert_eq!(board.ended(Time(0), 40).unwrap().len(), 40);
    board.coordinated(0, 10).unwrap();
    board.writable().unwrap();
    let me = Attendance { host: "h1", boot: "b", uptime: 9, age: 9, program: "heal", duty: Duty::Heals };
    assert_eq!(board.attend(&me).unwrap().unwrap().hosts.len(), 20);
    board.forget_host("h2").unwrap();
    let pause = board.pause().unwrap();
    board.set_pause(pause.as_ref()).unwrap();
    let seen = look(board, "t_00000032");
    let claimed = hermes::claimed(&seen, "h1:7", NOW.plus(900), Some(7), None, &trail());
    let outcomes = board.apply(NOW, &[step("t_00000032", Some(&seen), claimed)], PATIENCE).unwrap();
    assert_eq!(outcomes[0].word(), "applied");
    let seen = look(board, "t_00000032");
    let more = vec![
        Change::Heartbeat { expires: NOW.plus(1_000) },
        Change::PastRun { outcome: "blocked".into(), summary: None, metadata: Some(json!({})) },
        Change::Require { task: "t_00000034".into(), parent: Some("t_00000033".into()) },
        Change::AddComment { author: "rosa".into(), body: "note".into() },
        Change::Link { parent: "t_00000040".into() },
        Change::Unlink { parent: "t_00000040".into() },
    ];
    let done = hermes::completed(&seen, Some("42"), Some("read"), &trail());
    let outcomes =
        board.apply(NOW, &[step("t_00000032", Some(&seen), [more, done].concat())], PATIENCE).unwrap();
    assert_eq!(outcomes[0].word(), "applied", "{outcomes:?}");
    for whose in [&[Some("luna")][..], &[None, Some("luna")]] {
        let mut offers = 0;
        let taken = board.take_next(NOW, whose, Begin::At(0), PATIENCE, &mut |seen| {
            offers += 1;
            let claim = hermes::claimed(seen, "h1:7", NOW.plus(900), Some(7), None, &trail());
            if offers < 3 {
                Answer::Next
            } else {
                Answer::Take(step(&seen.task.id, Some(seen), claim).into())
            }
        });
        assert_eq!(taken.unwrap().map(|(_, outcome)| outcome.word()), Some("applied"));
    }
    let task = NewTask { title: "New".into(), idempotency_key: Some("key-7".into()), ..NewTask::default() };
    let outcomes = board.apply(
        NOW,
        &[step("t_ffffffff", None, hermes::created(Status::Ready, task, &[], &trail()))],
        PATIENCE,
    );
    assert_eq!(outcomes.unwrap()[0].word(), "refused");
    let before = Time(1_900_000_000);
    let sum = prune(board, before, true, PATIENCE).unwrap();
    assert!(sum.tasks > 10_000 && sum.events > 50_000 && sum.kept > 2_000, "{sum:?}");
    assert_eq!(prune(board, before, false, PATIENCE).unwrap(), sum);
}

#[test]
fn no_statement_goes_through_a_table_of_tasks_events_or_runs() {
    let Some(server) = shared() else { return };
    for analysed in [false, true] {
        let place = server.board();
        let mut hand = place.hand();
        // A table that nobody analysed: its statistics must not come from a vacuum that happens to run.
        let tables = ["tasks", "task_events", "task_runs", "task_comments", "task_links", "writes"];
        for table in tables {
            hand.batch_execute(&format!("ALTER TABLE {table} SET (autovacuum_enabled = false)")).unwrap();
        }
        hand.batch_execute(FILL).unwrap();
        if analysed {
            hand.batch_execute("ANALYZE").unwrap();
        }
        let mut board = place.open();
        board.explain();
        everything(&mut board);
        let plans = board.plans();
        let mut statements: Vec<&str> = plans.iter().map(|(sql, _)| sql.as_str()).collect();
        statements.sort_unstable();
        statements.dedup();
        assert!(statements.len() >= 40, "{} statements", statements.len());
        for (sql, plan) in &plans {
            let whole = tables.iter().find(|table| plan.contains(&format!("Seq Scan on {table}")));
            assert_eq!(whole, None, "analysed: {analysed}\n{sql}\n{plan}");
            assert!(!plan.contains("JIT"), "{sql}\n{plan}");
        }
        println!("analysed: {analysed}: {} statements, {} of them different", plans.len(), statements.len());
    }
}

/// What a look costs is what it returns: the number of statements does not grow with the number of tasks.
#[test]
fn a_look_at_many_is_as_many_statements_as_a_look_at_one() {
    let Some(server) = shared() else { return };
    let place = server.board();
    place.hand().batch_execute(FILL).unwrap();
    let mut board = place.open();
    let ids: Vec<String> = board.glance(&Status::OPEN).unwrap().into_iter().map(|t| t.id).collect();
    let mut count = |ids: &[String]| {
        board.explain();
        assert_eq!(board.look(ids).unwrap().len(), ids.len());
        board.plans().len()
    };
    let one = count(&["t_00000032".to_owned()]);
    println!("{one} statements for one task, {} for {}", count(&ids), ids.len());
    assert!(count(&ids) <= one + 1);
}

/// A pass from far away waits for the server as often as one beside it, however many tasks there are.
#[test]
fn a_pass_that_only_looks_takes_twelve_round_trips_on_any_board() {
    let Some(server) = shared() else { return };
    // Far enough that nothing is answered before all of a request is sent.
    let way = Distance::to(&server.folder, Duration::from_millis(40));
    let fill = "INSERT INTO tasks (id, title, status, assignee, created_at, started_at, claim_lock, claim_expires, worker_pid)
        SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', 'running', 'luna', now_s() - 1200, now_s() - 1200, 'h2:7:x', now_s() - 60, 7
        FROM generate_series(1, $1) n; UPDATE tasks SET claim_lock = NULL, status = 'blocked' WHERE id < 't_00000005';
        INSERT INTO hosts (name, boot_id, program, since, seen_at, lease_until, healed_at)
        VALUES ('h2', 'b', 'heal', now_s(), now_s(), now_s() + 9000, now_s())";
    for tasks in ["10", "300"] {
        let place = server.board();
        place.hand().batch_execute(&fill.replace("$1", tasks)).unwrap();
        let machine = Machine::new("h1", &place.url);
        machine.call(&["heal"]);
        _ = way.counted();
        let done = machine.command_on(&way.url(&place), &["heal", "--dry-run"]).output().unwrap();
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(way.counted().0, 12, "{tasks} tasks");
    }
}

/// What other hosts work on under claims that last is not looked at closely: its body, comments and history stay on the server.
#[test]
fn a_pass_reads_closely_only_what_its_own_host_may_decide() {
    let Some(server) = shared() else { return };
    let way = Distance::to(&server.folder, Duration::ZERO);
    let fill = "INSERT INTO tasks (id, title, body, status, assignee, created_at, started_at, claim_lock, claim_expires, worker_pid)
        SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', repeat('word ', 10000), 'running', 'luna', now_s() - 1200, now_s() - 1200,
        'h2:7:x', now_s() + 9000, 7 FROM generate_series(1, 100) n";
    let place = server.board();
    place.hand().batch_execute(fill).unwrap();
    let machine = Machine::new("h1", &place.url);
    let bytes = || {
        _ = way.counted();
        let done = machine.command_on(&way.url(&place), &["heal", "--dry-run"]).output().unwrap();
        (String::from_utf8(done.stderr).unwrap(), way.counted().1)
    };
    // No `heal` ran here yet: what this host left is looked for.
    let (_, first) = bytes();
    assert!(first > 5_000_000, "{first} bytes");
    machine.call(&["heal"]);
    let (said, all) = bytes();
    assert!(all < 100_000, "{all} bytes");
    assert_eq!(said, "");
    // One whose claim ran out is looked at.
    place
        .hand()
        .batch_execute("UPDATE tasks SET claim_expires = now_s() - 1 WHERE id = 't_00000001'")
        .unwrap();
    let (_, one) = bytes();
    assert!((50_000..150_000).contains(&(one - all)), "{one} bytes and {all}");
}

/// A task that waits for an open one stays on the server, too; one whose parent ended is looked at, and freed.
#[test]
fn a_pass_reads_no_task_closely_that_waits_for_an_open_one() {
    let Some(server) = shared() else { return };
    let way = Distance::to(&server.folder, Duration::ZERO);
    let fill = "INSERT INTO tasks (id, title, body, status, assignee, created_at)
        SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', repeat('word ', 10000), CASE WHEN n = 1 THEN 'blocked' ELSE 'todo' END, 'luna',
        now_s() - 1200 FROM generate_series(1, 100) n;
        INSERT INTO task_links SELECT 't_00000001', id FROM tasks WHERE status = 'todo'";
    let place = server.board();
    place.hand().batch_execute(fill).unwrap();
    let machine = Machine::new("h1", &place.url);
    machine.call(&["heal"]);
    _ = way.counted();
    let done = machine.command_on(&way.url(&place), &["heal", "--dry-run"]).output().unwrap();
    let all = way.counted().1;
    assert!(
        all < 100_000 && done.stderr.is_empty(),
        "{all} bytes, {}",
        String::from_utf8_lossy(&done.stderr)
    );
    // Its parent ended, and what ended it did not free it.
    let ended = "UPDATE tasks SET status = 'done' WHERE id = 't_00000001';
        INSERT INTO tasks (id, title, status, created_at) VALUES ('t_000000ff', 'Task', 'ready', now_s());
        INSERT INTO task_links SELECT 't_000000ff', id FROM tasks WHERE status = 'todo' AND id <> 't_00000002'";
    place.hand().batch_execute(ended).unwrap();
    machine.call(&["heal"]);
    assert_eq!(machine.said(&["board", "list", "--status", "ready"]).lines().count(), 2);
}

/// A host that was called gone came back: its worker of before is told of for as long as it lives, though another host has the task.
#[test]
fn a_worker_that_was_left_here_is_told_of_in_every_pass() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    let task = machine.said(&["board", "add", "write the report", "--assignee", "nova"]);
    let mut worker = Command::new("sleep");
    let mut worker = worker.arg("600").env("WATCHBILL_TASK", &task).spawn().unwrap();
    let pid = worker.id().to_string();
    machine.said(&["board", "claim", &task, "--worker", "nova", "--ttl", "24h", "--pid", &pid]);
    machine.said(&["heal"]);
    let given = "UPDATE task_runs SET ended_at = now_s(); UPDATE tasks SET claim_lock = 'h2:7:x', current_run_id = NULL, \
                 started_at = now_s() - 1200, last_heartbeat_at = now_s() - 1200; \
                 INSERT INTO task_runs (task_id, profile, status, claim_lock, started_at) \
                 SELECT id, 'nova', 'running', claim_lock, now_s() - 1200 FROM tasks; \
                 UPDATE tasks SET current_run_id = (SELECT max(id) FROM task_runs)";
    place.hand().batch_execute(given).unwrap();
    let told = format!("process {pid} of the earlier attempt still runs here: kill {pid}");
    for _ in 0..2 {
        let done = machine.call(&["heal"]);
        let said = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert!(done.status.code() == Some(1) && said.contains(&told), "{:?} {said}", done.status);
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    machine.said(&["heal"]);
}
