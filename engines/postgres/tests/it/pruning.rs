//! What is over for long and what nothing open needs is removed, by the owner of the board alone.

use std::collections::BTreeSet;
use std::time::Instant;

use base::time::Time;
use board::prune::{Sum, prune};
use postgres::Client;
use serde_json::Value;
use testkit::pruning::{GOES, KEPT, REST, ROWS, rows};

use crate::programs::{Machine, made, owner_after};
use crate::server::{PATIENCE, shared};

const NOW: i64 = 1_800_000_000;
const BEFORE: Time = Time(NOW - 90 * 86_400);

fn ids(hand: &mut Client) -> BTreeSet<String> {
    hand.query("SELECT id FROM tasks", &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn count(hand: &mut Client, table: &str) -> i64 {
    hand.query_one(&format!("SELECT count(*) FROM {table}"), &[]).unwrap().get(0)
}

fn all() -> impl Iterator<Item = String> {
    GOES.into_iter().chain(KEPT).chain(REST).map(str::to_owned)
}

#[test]
fn what_is_over_for_long_goes_with_all_that_belongs_to_it_unless_something_open_needs_it() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = place.hand();
    hand.batch_execute(&rows(NOW)).unwrap();
    let mut board = place.open();
    let [comments, events, runs] = ROWS;
    let (tasks, kept) = (GOES.len() as i64, KEPT.len() as i64);
    let sum = Sum { tasks, comments, events, runs, kept };
    assert_eq!(prune(&mut board, BEFORE, true, PATIENCE).unwrap(), sum);
    assert_eq!(ids(&mut hand), all().collect(), "a count removes nothing");
    let tables = ["task_comments", "task_events", "task_runs", "task_links"];
    let before = tables.map(|table| count(&mut hand, table));
    assert_eq!(prune(&mut board, BEFORE, false, PATIENCE).unwrap(), sum);
    assert_eq!(ids(&mut hand), all().skip(GOES.len()).collect());
    let after = tables.map(|table| count(&mut hand, table));
    assert_eq!([0, 1, 2, 3].map(|nth| before[nth] - after[nth]), [comments, events, runs, 3]);
    // The second time nothing is left to remove.
    assert_eq!(prune(&mut board, BEFORE, false, PATIENCE).unwrap(), Sum { kept, ..Sum::default() });
    // What is younger goes later, and with it what it held.
    let sum = prune(&mut board, Time(NOW - 88 * 86_400), false, PATIENCE).unwrap();
    assert_eq!((sum.tasks, sum.kept), (1, kept));
}

#[test]
fn many_tasks_go_part_by_part() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = place.hand();
    let fill = "INSERT INTO tasks (id, title, status, created_at) SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', \
         CASE WHEN n % 100 = 0 THEN 'ready' ELSE 'done' END, 1 FROM generate_series(1, 1000) n; \
         INSERT INTO task_links SELECT 't_' || lpad(to_hex(n - 1), 8, '0'), 't_' || lpad(to_hex(n), 8, '0') \
         FROM generate_series(2, 1000) n";
    hand.batch_execute(fill).unwrap();
    // Each of the open ones keeps what it waited for, and what waits for it.
    let kept = 19;
    let mut board = place.open();
    let sum = prune(&mut board, BEFORE, false, PATIENCE).unwrap();
    assert_eq!((sum.tasks, sum.kept), (1_000 - 10 - kept, kept));
    assert_eq!(count(&mut hand, "tasks"), 10 + kept);
    assert_eq!(count(&mut hand, "task_links"), kept);
}

#[test]
fn who_works_on_a_task_is_not_waited_for_and_the_task_stays() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = place.hand();
    hand.batch_execute("INSERT INTO tasks (id, title, status, created_at) VALUES ('t_1', 'a', 'done', 1), ('t_2', 'b', 'done', 1)")
        .unwrap();
    // As a link does: the row of the task, and what is written with it.
    let mut other = place.hand();
    let mut linking = other.transaction().unwrap();
    linking
        .batch_execute(
            "SELECT id FROM tasks WHERE id = 't_1' FOR NO KEY UPDATE; \
             INSERT INTO tasks (id, title, status, created_at) VALUES ('t_3', 'c', 'todo', 1); \
             INSERT INTO task_links VALUES ('t_1', 't_3')",
        )
        .unwrap();
    let mut board = place.open();
    let began = Instant::now();
    let sum = prune(&mut board, BEFORE, false, PATIENCE).unwrap();
    assert_eq!((sum.tasks, sum.kept), (1, 1));
    assert!(began.elapsed() < PATIENCE / 2, "it waited {:?}", began.elapsed());
    linking.commit().unwrap();
    assert_eq!(prune(&mut board, BEFORE, false, PATIENCE).unwrap().kept, 1, "its child is open now");
    assert_eq!(ids(&mut hand), ["t_1", "t_3"].map(str::to_owned).into());
}

#[test]
fn roles_for_workers_and_watchers_remove_nothing() {
    let Some(server) = shared() else { return };
    let url = made(server, "pruned_roles");
    let owner = Machine::new("h1", &url);
    let logins = "CREATE ROLE wren LOGIN PASSWORD 'geheim'; CREATE ROLE wilma LOGIN PASSWORD 'geheim'";
    let mut hand = owner_after(server, logins);
    owner.said(&["board", "grant", "--worker", "wren", "--watcher", "wilma"]);
    hand.batch_execute(&format!("SET search_path = pruned_roles; {}", rows(NOW))).unwrap();
    for role in ["wren", "wilma"] {
        let machine = Machine::of_role(server, role, "pruned_roles");
        for flags in [&["-n"][..], &[]] {
            let done = machine.call(&[&["board", "prune", "--older-than", "90d"], flags].concat());
            let said = String::from_utf8_lossy(&done.stderr);
            let what = "only the owner of this board removes tasks from it; log in as that: postgres://watchbill@...";
            assert_eq!((done.status.code(), said.contains(what)), (Some(77), true), "{role}: {said}");
        }
    }
    assert_eq!(ids(&mut hand), all().collect());
}

#[test]
fn the_owner_removes_from_the_command_line_by_the_clock_of_the_server() {
    let Some(server) = shared() else { return };
    let url = made(server, "pruned");
    let owner = Machine::new("h1", &url);
    let mut hand = owner_after(server, "SET search_path = pruned");
    let now: i64 = hand.query_one("SELECT now_s()", &[]).unwrap().get(0);
    hand.batch_execute(&rows(now)).unwrap();
    let young = owner.call(&["board", "prune", "--older-than", "6d"]);
    let said = String::from_utf8_lossy(&young.stderr);
    assert!(young.status.code() == Some(2) && said.contains("must be at least 7d"), "{said}");
    let asked = ["board", "--json", "prune", "--older-than", "90d"];
    let told: Value = serde_json::from_str(&owner.said(&[&asked[..], &["-n"]].concat())).unwrap();
    assert_eq!((told["tasks"].as_i64(), told["dry_run"].as_bool()), (Some(9), Some(true)), "{told}");
    let before: Time = serde_json::from_value(told["before"].clone()).unwrap();
    assert!((before.0 - (now - 90 * 86_400)).abs() < 120, "{told}");
    let said = owner.said(&["board", "prune", "--older-than", "90d"]);
    let all = "9 tasks, 2 comments, 8 events, 2 attempts; 9 tasks as old stay";
    assert!(said.starts_with(&format!("removed from {url} ")) && said.ends_with(all), "{said}");
    let said = owner.said(&["board", "prune", "--older-than", "90d", "-n"]);
    assert!(said.starts_with("would remove ") && said.contains(": 0 tasks, 0 comments"), "{said}");
    // What is left is a board as any other.
    assert!(owner.said(&["board", "list"]).contains("t_d0000001"));
    owner.said(&["board", "show", "t_b0000009"]);

    // A worker may not call it, whatever its role.
    let mut command = owner.command(&["board", "prune", "--older-than", "90d"]);
    let done = command.env("WATCHBILL_TASK", "t_d0000001").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("a worker removes no tasks"), "{said}");
}
