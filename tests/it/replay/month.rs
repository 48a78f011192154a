//! A month of passes of the real programs on a board with a past, kept as they keep it, and decided on again.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use shared::base::time::Time;
use testkit::chance::Chance;
use testkit::generate::{Sizes, generate};

use crate::route::{LIMITED, REFUSED_KEY};
use crate::support::{TestBoard, dead_pid, hostname, now, program, ran};

/// In seconds.
const MONTH: i64 = 30 * 86_400;

/// What every watcher did in a pass of that moment: watcher, task, action.
type Done = (String, String, String, i64);

/// A board with a past, and a month in which twice a day something goes wrong on it and the watchers come by.
struct Month {
    b: TestBoard,
    end: i64,
    done: BTreeSet<Done>,
}

impl Month {
    fn lived() -> Month {
        let (b, end) = (TestBoard::fleet(), now());
        for file in ["kanban.db", "kanban.db-wal", "kanban.db-shm"] {
            drop(fs::remove_file(b.path().join(file)));
        }
        let sizes = Sizes { tasks: 400, running: 0, blocked: 0, ready: 0, todo: 0 };
        generate(&b.db, sizes, 7, Time(end - MONTH), 0.5).unwrap();
        let mut month = Month { b, end, done: BTreeSet::new() };
        let mut chance = Chance(7);
        for round in 0..60 {
            let at = end - MONTH + 600 + round * 12 * 3_600;
            month.something_happens(&format!("t_0e01{round:04x}"), chance.below(6), at);
            for (nth, program) in ["heal", "synthesize-distress", "route-blocked"].into_iter().enumerate() {
                month.pass(program, at + 3_600 + 20 * i64::try_from(nth).unwrap());
            }
        }
        month
    }

    fn something_happens(&self, id: &str, what: u64, at: i64) {
        let b = &self.b;
        // What was requeued was done since, what still waits is archived, and nobody answers a card.
        b.sql(&format!(
            "INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
               SELECT id, assignee, 'done', 'completed', {at} - 7200, {at} - 7000 FROM tasks WHERE status = 'ready' AND id LIKE 't_0e01%';
             UPDATE tasks SET status = 'done', completed_at = {at} WHERE status = 'ready' AND id LIKE 't_0e01%';
             UPDATE tasks SET status = 'archived' WHERE status != 'done'"
        ));
        let (host, pid) = (hostname(), dead_pid());
        b.sql(&format!(
            "INSERT INTO tasks (id, title, assignee, status, created_at, started_at) VALUES ('{id}', 'Task {id}', 'luna', 'ready', {at} - 900, {at} - 660);
             INSERT INTO task_runs (task_id, profile, status, claim_lock, worker_pid, started_at)
               VALUES ('{id}', 'luna', 'running', '{host}:{pid}', {pid}, {at} - 660);
             INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
               ('{id}', NULL, 'created', '{{}}', {at} - 900),
               ('{id}', last_insert_rowid(), 'claimed', '{{\"lock\":\"{host}:{pid}\"}}', {at} - 660)"
        ));
        let run = b.value(&format!("SELECT id FROM task_runs WHERE task_id = '{id}'"));
        if what < 2 {
            b.sql(&format!(
                "UPDATE tasks SET status = 'running', claim_lock = '{host}:{pid}', claim_expires = {at} + 900, worker_pid = {pid},
                   current_run_id = {run} WHERE id = '{id}'"
            ));
        } else {
            b.sql(&format!(
                "UPDATE tasks SET status = 'blocked', consecutive_failures = 2, last_failure_error = 'pid {pid} gone' WHERE id = '{id}';
                 UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = {at} - 600 WHERE task_id = '{id}';
                 INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
                   ('{id}', {run}, 'crashed', '{{\"pid\":{pid}}}', {at} - 600),
                   ('{id}', NULL, 'gave_up', '{{\"failures\":2,\"limit_source\":\"dispatcher\",\"error\":\"pid {pid} not alive\"}}', {at} - 600)"
            ));
        }
        match what {
            1 | 3 => b.log_ending_on(id, LIMITED),
            4 => b.log_ending_on(id, REFUSED_KEY),
            _ => {}
        }
    }

    fn pass(&mut self, program: &str, at: i64) {
        let mut command = self.b.command(program);
        command.arg("--db").arg(&self.b.db).args(["--json", "--now", &at.to_string()]);
        let said = ran(&mut command);
        let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        for step in report["boards"][0]["steps"].as_array().unwrap() {
            assert_eq!(step["outcome"], "applied", "{step}");
            let word = |key: &str| step[key].as_str().unwrap().to_owned();
            self.done.insert((program.to_owned(), word("task"), word("action"), at));
        }
    }

    /// What a replay of the month says of its one board.
    fn replayed(&self, policy: &str) -> Value {
        let file = self.b.path().join("new.toml");
        fs::write(&file, policy).unwrap();
        let mut command = self.b.command("watchbill");
        command.args(["replay", "--json", "--since", "30d", "--now", &self.end.to_string(), "--config"]);
        ran(command.arg(&file).arg("--db").arg(&self.b.db)).json()["boards"][0].clone()
    }

    /// What a replay by the same policy shows on a terminal that is its stderr.
    fn on_a_terminal(&self, more: &str) -> String {
        let program = program("watchbill");
        let line = format!(
            "{program} replay --since 30d --now {} --config new.toml --db {} {more} >out",
            self.end,
            self.b.db.display()
        );
        self.b.on_a_terminal(&line)
    }

    fn did(&self, actions: &[&str]) -> BTreeSet<Done> {
        self.done.iter().filter(|(_, _, action, _)| actions.contains(&action.as_str())).cloned().collect()
    }
}

/// What differs: watcher, task, what was done, and when.
fn differences(board: &Value) -> BTreeSet<Done> {
    let one = |d: &Value| {
        let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let at = Time::parse(d["at"].as_str().unwrap()).unwrap().0;
        (word(&d["program"]), word(&d["task"]), word(&d["in_force"]["action"]), at)
    };
    board["differences"].as_array().unwrap().iter().map(one).collect()
}

/// The same through the programs: what they kept in the state file is all there is.
#[test]
fn a_month_of_live_passes_is_decided_the_same_by_the_same_policy_and_otherwise_just_where_another_one_says_so()
 {
    let month = Month::lived();
    let same = month.replayed(&month.b.config);
    assert!(same["passes"].as_u64().unwrap() > 60, "{} passes", same["passes"]);
    assert_eq!(
        (&same["changed"], &same["missing"], &same["unreadable"], &same["differences"]),
        (&json!(0), &json!(0), &json!(0), &json!([]))
    );
    // Without a fallback nothing moves: every move is told, and nothing else.
    let moves = month.did(&["move"]);
    assert!(moves.len() > 5, "{:?}", month.done);
    let alone = month.replayed(&month.b.config.replace("fallbacks = [\"sol\"]", ""));
    assert_eq!(differences(&alone), moves);
    // Nobody is helped a single time: every help of heal's is told, and no task that it would not have helped.
    let never = month.replayed(&format!("{}[heal]\nmax_resets = 0\n", month.b.config));
    let helped = month.did(&["reset", "park", "clear"]);
    assert!(helped.len() > 10, "{:?}", month.done);
    let told = differences(&never);
    assert!(told.is_superset(&helped), "{:?}", helped.difference(&told).collect::<Vec<_>>());
    let tasks: BTreeSet<&String> = helped.iter().map(|(_, task, ..)| task).collect();
    let others: Vec<_> = told.iter().filter(|(by, task, ..)| by != "heal" || !tasks.contains(task)).collect();
    assert_eq!(others, Vec::<&Done>::new());
    // A terminal sees how far it is, on one line that is gone in the end; a log, a pipe and who asks for quiet do not.
    let shown = month.on_a_terminal("");
    assert!(shown.contains("\rreplayed ") && shown.ends_with("\r\u{1b}[K"), "{shown:?}");
    assert!(!shown.contains('\n'), "{shown:?}");
    assert_eq!(["-q", "--json"].map(|flag| month.on_a_terminal(flag)), ["", ""]);
    assert_eq!(month.on_a_terminal("2>err"), "");
    assert_eq!(fs::read_to_string(month.b.path().join("err")).unwrap(), "");
}
