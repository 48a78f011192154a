//! A disk without space, and a server whose connections are used up: one line, nothing half written, and the next pass goes on.

use postgres::{Client, NoTls};
use testkit::generate::NO_PID;

use crate::clients::is_sound;
use crate::partitions::may_unshare;
use crate::programs::Machine;
use crate::server::{Server, started};

/// Refused by this code, in one line that says this.
#[track_caller]
fn refused(machine: &Machine, line: &[&str], code: i32, what: &str) {
    let done = machine.call(line);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), said.lines().count()), (Some(code), 1), "{line:?}: {said}");
    assert!(said.contains(what), "{line:?}: {said}");
}

/// Running tasks of which no worker is there any more. No process of another test names one of them.
pub fn dead_workers(hand: &mut Client, host: &str, tasks: i64) {
    let sql = "INSERT INTO tasks (id, title, status, assignee, created_at, started_at, claim_lock, claim_expires, worker_pid, current_run_id) \
           SELECT 't_dead' || lpad(to_hex(n), 4, '0'), 'Task', 'running', 'luna', now_s() - 900, now_s() - 800, $1 || ':1:x', now_s() + 900, \
             {NO_PID} + n, n FROM generate_series(1, $2::bigint) n";
    hand.execute(&sql.replace("{NO_PID}", &NO_PID.to_string()), &[&host, &tasks]).unwrap();
    let runs = "INSERT INTO task_runs (id, task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at) \
         OVERRIDING SYSTEM VALUE SELECT current_run_id, id, assignee, 'running', claim_lock, claim_expires, worker_pid, started_at FROM tasks \
         WHERE status = 'running'; \
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) \
         SELECT id, current_run_id, 'claimed', json_build_object('lock', claim_lock)::text, started_at FROM tasks WHERE status = 'running' UNION ALL \
         SELECT id, current_run_id, 'spawned', json_build_object('pid', worker_pid)::text, started_at FROM tasks WHERE status = 'running'";
    hand.batch_execute(runs).unwrap();
}

const TABLES: [&str; 4] = ["tasks", "task_events", "task_runs", "task_comments"];

/// All that is on the board.
fn rows(hand: &mut Client) -> Vec<String> {
    let all = TABLES.map(|table| format!("SELECT '{table} ' || t::text FROM {table} t")).join(" UNION ALL ");
    hand.query(&format!("{all} ORDER BY 1"), &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn by_status(hand: &mut Client, status: &str) -> i64 {
    hand.query_one("SELECT count(*) FROM tasks WHERE status = $1", &[&status]).unwrap().get(0)
}

#[test]
fn a_full_disk_ends_a_write_with_74_and_nothing_is_half_written() {
    if !may_unshare() {
        return;
    }
    // Only the server sees what is mounted on it.
    let small = tempfile::tempdir().unwrap();
    let at = small.path().to_str().unwrap();
    let mount = "mount -t tmpfs -o size=4m,mode=1777 none \"$0\"; exec \"$@\"";
    let within =
        ["unshare", "--mount", "--propagation", "private", "sh", "-ec", mount, at].map(str::to_owned);
    let Some(server) = Server::start_in(&within, &["fsync=off", "max_connections=20"]) else { return };
    assert!((0..10).any(|_| server.answers()));
    let place = server.board();
    let mut hand = place.hand();
    hand.batch_execute(&format!("COPY (SELECT 1) TO PROGRAM 'mkdir {at}/board; cat'")).unwrap();
    hand.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{at}/board'")).unwrap();
    dead_workers(&mut hand, "h1", 60);
    for table in TABLES {
        hand.batch_execute(&format!("ALTER TABLE {table} SET TABLESPACE small")).unwrap();
    }
    let here = Machine::new("h1", &place.url);
    hand.batch_execute("CREATE TABLE filler (x text) TABLESPACE small").unwrap();
    let fill = "INSERT INTO filler SELECT repeat(n::text, 300) FROM generate_series(1, 100000) n";
    let full = hand.batch_execute(fill).unwrap_err();
    assert_eq!(full.code().unwrap().code(), "53100", "{full}");

    let before = rows(&mut hand);
    refused(&here, &["heal"], 74, "No space left on device");
    assert_eq!(rows(&mut hand), before);
    let body: String =
        (0..6_000_u64).map(|n| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    refused(&here, &["board", "add", "another one", "--body", &body], 74, "No space left on device");
    assert_eq!(rows(&mut hand), before);
    // It can still be looked at.
    assert!(here.said(&["board", "list"]).contains("running"));

    hand.batch_execute("DROP TABLE filler").unwrap();
    here.said(&["heal"]);
    assert_eq!((by_status(&mut hand, "ready"), by_status(&mut hand, "running")), (60, 0));
    is_sound(&mut hand);
}

#[test]
fn a_server_whose_connections_are_used_up_is_busy_and_nothing_is_half_written() {
    let settings = ["fsync=off", "max_connections=6", "superuser_reserved_connections=0"];
    let Some(server) = started(&settings) else { return };
    let place = server.board();
    let mut hand = place.hand();
    dead_workers(&mut hand, "h1", 3);
    let here = Machine::new("h1", &place.url);
    let before = rows(&mut hand);
    let others: Vec<Client> = (0..6).map_while(|_| Client::connect(&server.plain(), NoTls).ok()).collect();
    assert!(others.len() < 6, "there is room for more");
    for line in [&["heal"][..], &["board", "list"], &["board", "add", "another one"]] {
        refused(&here, line, 75, "sorry, too many clients already");
    }
    assert_eq!(rows(&mut hand), before);
    drop(others);
    here.said(&["heal"]);
    assert_eq!(by_status(&mut hand, "ready"), 3);
    is_sound(&mut hand);
}
