//! Providers that refuse for hours, beside a dispatcher that only sees that a pid is gone: `hermes kanban dispatch` from cron is not
//! the parent of its workers, so it books every end as `pid N not alive` and starts the next attempt in the same tick.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::route::{FLEET, LIMITED, REFUSED_KEY};
use crate::support::{TestBoard, dead_pid, hostname, now, ran};
use crate::tools;

/// Failures at which Hermes' breaker blocks.
const FAILURE_LIMIT: i64 = 2;

/// A board whose time passes as we say.
struct Night {
    b: TestBoard,
    at: i64,
    /// Profiles whose provider refuses, and until when.
    refuses: Vec<(&'static str, i64)>,
    pid: i64,
}

impl Night {
    fn new(tasks: usize, config: &str, refuses: &[(&'static str, i64)]) -> Night {
        let mut b = TestBoard::new();
        b.config.push_str(config);
        for n in 1..=tasks {
            b.add(&format!("t_0000010{n}"), "ready");
        }
        let at = now();
        let refuses = refuses.iter().map(|(p, hours)| (*p, at + hours * 3_600)).collect();
        Night { b, at, refuses, pid: dead_pid() }
    }

    fn rows(&self, sql: &str) -> Vec<(String, String, i64)> {
        let conn = self.b.open();
        let mut statement = conn.prepare(sql).unwrap();
        let row = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?, r.get(2)?));
        statement.query_map([], row).unwrap().map(Result::unwrap).collect()
    }

    fn log(&self, id: &str, words: &str) {
        let path = self.b.path().join(format!("kanban/logs/{id}.log"));
        let mut file: File = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(words.as_bytes()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(self.at.unsigned_abs())).unwrap();
    }

    /// One tick of the dispatcher: ends are booked, and what is ready is started at once.
    fn tick(&self) {
        let (at, limit) = (self.at, FAILURE_LIMIT);
        let ended = "SELECT id, assignee, current_run_id FROM tasks WHERE status = 'running' ORDER BY id";
        for (id, profile, run) in self.rows(ended) {
            if !self.refuses.iter().any(|(p, until)| *p == profile && at < *until) {
                self.b.sql(&format!(
                    "UPDATE task_runs SET status = 'done', outcome = 'completed', ended_at = {at} WHERE id = {run};
                     UPDATE tasks SET status = 'done', claim_lock = NULL, worker_pid = NULL, current_run_id = NULL,
                       consecutive_failures = 0 WHERE id = '{id}';
                     INSERT INTO task_events (task_id, run_id, kind, created_at) VALUES ('{id}', {run}, 'completed', {at});"
                ));
                continue;
            }
            let error = format!("pid {} not alive", self.pid);
            let failures = self.b.task(&id, "consecutive_failures").parse::<i64>().unwrap() + 1;
            let status = if failures >= limit { "blocked" } else { "ready" };
            self.b.sql(&format!(
                "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', error = '{error}', ended_at = {at} WHERE id = {run};
                 UPDATE tasks SET status = '{status}', claim_lock = NULL, worker_pid = NULL, current_run_id = NULL,
                   consecutive_failures = {failures}, last_failure_error = '{error}' WHERE id = '{id}';
                 INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
                   VALUES ('{id}', {run}, 'crashed', '{{\"pid\":{}}}', {at});", self.pid
            ));
            if failures >= limit {
                self.b.sql(&format!(
                    "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'gave_up',
                     '{{\"failures\":{failures},\"effective_limit\":{limit},\"limit_source\":\"dispatcher\",\"error\":\"{error}\"}}', {at});"
                ));
            }
        }
        let ready = "SELECT id, assignee, 0 FROM tasks WHERE status = 'ready' AND title NOT LIKE '[BLOCKED]%' ORDER BY id";
        for (id, profile, _) in self.rows(ready) {
            self.start(&id, &profile);
        }
    }

    fn start(&self, id: &str, profile: &str) {
        let (at, pid, lock) = (self.at, self.pid, format!("{}:{}", hostname(), self.pid));
        self.b.sql(&format!(
            "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
               VALUES ('{id}', '{profile}', 'running', '{lock}', {at} + 900, {pid}, {at});
             UPDATE tasks SET status = 'running', claim_lock = '{lock}', claim_expires = {at} + 900, worker_pid = {pid},
               started_at = {at}, current_run_id = (SELECT max(id) FROM task_runs) WHERE id = '{id}';
             INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
               ('{id}', (SELECT max(id) FROM task_runs), 'claimed', '{{\"lock\":\"{lock}\"}}', {at}),
               ('{id}', (SELECT max(id) FROM task_runs), 'spawned', '{{\"pid\":{pid}}}', {at});"
        ));
        self.log(id, &format!("Query: work kanban task {id}\nInitializing agent...\n"));
        if self.refuses.iter().any(|(p, until)| *p == profile && at < *until) {
            self.log(
                id,
                &format!("{LIMITED}\n\nDuration:       8s\nMessages:       1 (1 user, 0 tool calls)\n"),
            );
        }
    }

    fn pass(&self) {
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            let mut command = self.b.command(program);
            let said = ran(command.arg("--db").arg(&self.b.db).args(["--now", &self.at.to_string()]));
            assert!([0, 1].contains(&said.code), "{program}: {said:?}");
        }
    }

    /// Hours of ticks and passes: each minute while something goes on, else every quarter of an hour.
    fn goes_on(&mut self, hours: i64) {
        let until = self.at + hours * 3_600;
        while self.at < until {
            self.tick();
            self.pass();
            let open = "tasks WHERE status IN ('running', 'ready') AND title NOT LIKE '[BLOCKED]%'";
            let busy = self.b.value(&format!("SELECT count(*) FROM {open}")) != "0";
            self.at += if busy { 60 } else { 900 };
        }
    }

    /// Where each task stands: its state, and the cause of its last block.
    #[track_caller]
    fn comes_to(&self, well: &[&str]) {
        let stands = "SELECT t.id, t.status || ' ' || coalesce((SELECT json_extract(e.payload, '$.cause') FROM task_events e
            WHERE e.task_id = t.id AND e.kind = 'blocked' ORDER BY e.id DESC LIMIT 1), '-'),
            (SELECT count(*) FROM task_runs r WHERE r.task_id = t.id) FROM tasks t WHERE t.title NOT LIKE '[BLOCKED]%'";
        let stands = self.rows(stands);
        let ill: Vec<_> = stands.iter().filter(|(_, s, _)| !well.contains(&s.as_str())).collect();
        assert!(ill.is_empty(), "{stands:?}");
    }
}

#[test]
fn work_of_a_provider_that_refuses_for_fourteen_hours_is_done_when_it_answers() {
    let mut n = Night::new(
        4,
        "[profiles.luna]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n",
        &[("luna", 14)],
    );
    n.goes_on(30);
    n.comes_to(&["done -"]);
}

#[test]
fn work_between_two_providers_that_refuse_for_eight_hours_is_done_when_they_answer() {
    let config = format!("{FLEET}fallbacks = [\"luna\"]\n");
    let mut n = Night::new(4, &config, &[("luna", 8), ("sol", 8)]);
    n.goes_on(24);
    n.comes_to(&["done -"]);
}

#[test]
#[cfg(feature = "real")]
fn work_of_providers_that_refuse_for_thirty_hours_never_ends_by_the_count_of_its_attempts() {
    for (config, refuses) in [
        (FLEET.to_owned(), &[("luna", 30_i64)][..]),
        (format!("{FLEET}fallbacks = [\"luna\"]\n"), &[("luna", 30), ("sol", 30)]),
    ] {
        let mut n = Night::new(3, &config, refuses);
        n.goes_on(60);
        n.comes_to(&["done -", "blocked provider-given-up"]);
    }
}

const MOON: &str = "[profiles.luna]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n";

/// A board where luna works with moon and nobody takes her work, with ready work of hers.
fn lunas(ready: &[&str]) -> TestBoard {
    let mut b = TestBoard::new();
    b.config.push_str(MOON);
    ready.iter().for_each(|id| b.add(id, "ready"));
    b
}

// A progress bar writes over its line with `\r` and never ends it.
#[test]
fn the_log_of_a_dead_worker_that_printed_a_progress_bar_is_read() {
    let b = TestBoard::own();
    b.add("t_00000110", "ready");
    b.run_it("t_00000110", Some(dead_pid()), 0);
    b.log("t_00000110", &"\rdownloading 1.9 MB".repeat(100_000));
    assert!(b.later(900, &[]).ok().contains("t_00000110 requeue: "));
    assert_eq!(b.task("t_00000110", "status"), "ready");
}

#[test]
fn a_log_that_stays_unreadable_brings_its_task_to_a_person() {
    for own in [true, false] {
        let b = if own { TestBoard::own() } else { TestBoard::new() };
        for (id, tries) in [("t_00000111", 0), ("t_00000112", 2)] {
            let log = b.path().join(format!("kanban/logs/{id}.log"));
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &log, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            match tries {
                0 => {
                    b.add(id, "ready");
                    b.run_it(id, Some(dead_pid()), 0);
                }
                _ => b.give_up(id, "pid 4242 not alive", 600),
            }
        }
        let before = b.dump();
        for hours in [1, 5] {
            let said = b.later(hours * 3_600, &[]);
            assert_eq!((said.code, said.err.matches("its log cannot be read").count()), (1, 2), "{said:?}");
            assert!(b.dump() == before, "nothing is done about it yet");
        }
        let said = b.later(6 * 3_600 + 60, &[]).ok();
        assert_eq!(said.matches(" hand-over: ").count(), 2, "{said}");
        for id in ["t_00000111", "t_00000112"] {
            assert_eq!(b.task(id, "status"), "blocked");
            assert_eq!(b.payload(id, "blocked")["cause"], "log-unreadable");
        }
        // It is a person's now, and everybody says so.
        let (after, at) = (b.dump(), (now() + 7 * 3_600).to_string());
        assert_eq!(b.later(7 * 3_600, &[]).ok(), "");
        assert!(b.dump() == after, "rows changed");
        let check: Value =
            serde_json::from_str(&tools::run(&b, &["check", "--json", "--now", &at]).out).unwrap();
        assert_eq!(check["needs_person"], json!(["t_00000111", "t_00000112"]), "{check}");
    }
}

// A profile with `display.streaming: false`: an answer stands in the same box as a failure.
#[test]
fn what_a_model_says_of_limits_holds_nobodys_work() {
    let ready = ["t_00000121", "t_00000122", "t_00000123"];
    let boxed =
        |text: &str| format!(" ─  ⚕ Hermes  ──────────── \n\n     {text}     \n\n ──────────────────── \n");
    let ends = |text: &str, before: &str| {
        let b = lunas(&ready);
        b.give_up("t_00000120", "worker exited cleanly (rc=0) without calling kanban_complete", 600);
        let start = "Query: work kanban task t_00000120\nInitializing agent...\n";
        let end = "\nDuration:       8s\nMessages:       1 (1 user, 0 tool calls)\n";
        b.log("t_00000120", &format!("{start}{before}{}{end}", boxed(text)));
        let _ = b.pass_of("synthesize-distress", 0, &[]);
        ready.map(|id| b.task(id, "status"))
    };
    let words = "HTTP 402: Payment Required is what the billing endpoint answers now";
    assert_eq!(ends(words, ""), ["ready"; 3], "an answer");
    let tried = "⚠️  API call failed (attempt 2/2): APIStatusError [HTTP 402]\n";
    assert_eq!(ends(words, tried), ["scheduled"; 3], "a failure, as Hermes announces it");
}

// Time mends no key.
#[test]
fn a_refused_key_is_not_tried_again_by_the_clock_alone() {
    let b = lunas(&["t_00000131"]);
    b.died_of("t_00000130", REFUSED_KEY);
    b.pass_of("synthesize-distress", 0, &[]).ok();
    assert_eq!(b.task("t_00000131", "status"), "scheduled", "ready work of that key waits too");
    let until = b.payload("t_00000131", "scheduled")["until"].as_i64().unwrap() - now();
    assert!((6 * 3_600 - 5..=6 * 3_600 * 6 / 5).contains(&until), "the longest wait: {until}");
    let why = b.payload("t_00000131", "scheduled")["reason"].to_string();
    assert!(
        why.contains("is refused; tried again once its configuration changes or a person unblocks a task"),
        "{why}"
    );
    for later in [1_200, 7_200, 20_000] {
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            let _ = b.pass_of(program, later, &[]);
        }
        assert_eq!(b.task("t_00000131", "status"), "scheduled", "{later}");
    }
    let table = ran(b.command("watchbill").args(["providers", "--db"]).arg(&b.db)).ok();
    assert!(table.contains("tried again once its configuration changes"), "{table}");
    // What is advised helps: an unblocked task is tried, and that counts for the others.
    b.hand(&["unblock", "t_00000131"]).ok();
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        let _ = b.pass_of(program, 60, &[]);
    }
    assert_eq!(b.task("t_00000131", "status"), "ready", "and it stays so");
    // The clock alone: not before the longest wait is over.
    let b = lunas(&["t_00000131"]);
    b.died_of("t_00000130", REFUSED_KEY);
    b.pass_of("synthesize-distress", 0, &[]).ok();
    let _ = b.pass_of("route-blocked", 6 * 3_600 * 6 / 5 + 60, &[]);
    let free = b.value("SELECT count(*) FROM tasks WHERE status = 'ready' AND title NOT LIKE '[BLOCKED]%'");
    assert_eq!(free, "1", "one of them tries");
}

// A mail for each pass would be one every two minutes.
#[test]
fn that_cards_wait_is_said_when_it_begins_and_when_it_ends() {
    let mut b = lunas(&[]);
    let config = b.config.clone();
    b.config.push_str("[profiles.tuesday]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n");
    b.died_of("t_00000150", LIMITED);
    let said = |b: &TestBoard, later: i64| {
        let said = b.pass_of("synthesize-distress", later, &[]);
        (said.code, said.err)
    };
    let mut heard = vec![said(&b, 0), said(&b, 60), said(&b, 120), said(&b, 180)];
    heard.retain(|(code, err)| *code != 0 || !err.is_empty());
    let [(0, once)] = &heard[..] else { panic!("not once, or not with exit 0: {heard:?}") };
    assert!(
        once.contains("cards that wait: 1; the orchestrator works with the provider that refuses"),
        "{once}"
    );
    b.config = config;
    let (code, over) = said(&b, 2_400);
    assert!(
        code == 0 && over.contains("no longer: the orchestrator works with the provider"),
        "{code} {over}"
    );
    assert_eq!(said(&b, 2_460), (0, String::new()));
}

// It books an end and starts the next attempt in one tick: a pass sees a task that runs.
#[test]
fn beside_a_gateway_the_first_refusal_holds_the_other_work_of_its_provider() {
    let b = lunas(&["t_00000141", "t_00000142"]);
    b.add("t_00000140", "ready");
    let first = b.run_it("t_00000140", Some(dead_pid()), 90);
    let (at, error) = (now() - 30, "worker exited cleanly (rc=0) - protocol violation");
    b.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', error = '{error}', ended_at = {at} WHERE id = {first};
         UPDATE tasks SET last_failure_error = '{error}' WHERE id = 't_00000140'"
    ));
    let living = crate::support::worker("t_00000140", first + 1);
    let second = b.run_it("t_00000140", Some(living.pid()), 30);
    b.log_ending_on("t_00000140", LIMITED);
    let log = b.path().join("kanban/logs/t_00000140.log");
    let mut file = OpenOptions::new().append(true).open(log).unwrap();
    file.write_all(b"Query: work kanban task t_00000140\nInitializing agent...\n").unwrap();
    let before = (b.task("t_00000140", "status"), b.task("t_00000140", "current_run_id"));
    assert_eq!(before, ("running".into(), second.to_string()));
    let said = b.pass_of("synthesize-distress", 0, &[]).ok();
    assert!(
        said.contains("t_00000140 note: The attempt of run")
            && said.contains("ended on rate_limit (HTTP 429)"),
        "{said}"
    );
    for id in ["t_00000141", "t_00000142"] {
        assert_eq!(b.task(id, "status"), "scheduled", "{said}");
    }
    assert_eq!(
        (b.task("t_00000140", "status"), b.task("t_00000140", "current_run_id")),
        before,
        "it is skipped"
    );
    assert!(b.kinds("t_00000140").ends_with("claimed spawned watchbill_signal"), "{}", b.kinds("t_00000140"));
    let after = b.dump();
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        assert_eq!(b.pass_of(program, 1, &[]).ok(), "", "{program}");
    }
    assert!(b.dump() == after, "rows changed");
}

// Hermes 0.22 books the attempt as `rate_limited` and tries again by itself; until when, and by what, only the log says.
#[test]
fn a_limit_of_twenty_seconds_that_the_runtime_booked_is_a_hold_of_twenty_seconds() {
    for (line, cause) in [
        (
            "❌ Rate limited after 2 retries — HTTP 429: Rate limit reached. Please try again in 20s.",
            "rate_limit",
        ),
        (
            "❌ Rate limited after 2 retries — HTTP 429: You exceeded your current quota. Please try again in 20s.",
            "quota",
        ),
    ] {
        for program in ["synthesize-distress", "route-blocked"] {
            let b = lunas(&["t_00000151"]);
            b.add("t_00000150", "ready");
            let run = b.run_it("t_00000150", Some(dead_pid()), 60);
            let at = now();
            b.log_ending_on("t_00000150", line);
            b.sql(&format!(
                "UPDATE task_runs SET status = 'rate_limited', outcome = 'rate_limited', ended_at = {at} WHERE id = {run};
                 UPDATE tasks SET status = 'ready', claim_lock = NULL, worker_pid = NULL, current_run_id = NULL
                   WHERE id = 't_00000150';
                 INSERT INTO task_events (task_id, run_id, kind, created_at) VALUES ('t_00000150', {run}, 'rate_limited', {at})"
            ));
            let said = b.pass_of(program, 0, &[]).ok();
            let hold = b.payload("t_00000151", "scheduled");
            let until = hold["until"].as_i64().unwrap() - at;
            assert!((15..=30).contains(&until), "{program} {cause}: {until} s: {said}");
            assert_eq!(hold["cause"], cause, "{program}");
        }
    }
}

// Cron was stopped, or the machine slept: the first pass comes when the limit that ended the attempt is over by its provider's own word.
#[test]
fn a_limit_that_is_over_when_it_is_read_holds_nothing() {
    let b = lunas(&["t_00000160"]);
    b.run_it("t_00000160", Some(dead_pid()), 60);
    b.give_up("t_00000161", "pid 4242 not alive", 60);
    for id in ["t_00000160", "t_00000161"] {
        b.log_ending_on(
            id,
            "❌ Rate limited after 2 retries — HTTP 429: Rate limit reached. Please try again in 20s.",
        );
    }
    let said = b.pass_of("heal", 600, &[]).ok();
    assert!(said.contains("t_00000160 park: ") && said.contains("that was over at "), "{said}");
    for program in ["synthesize-distress", "route-blocked"] {
        b.pass_of(program, 602, &[]).ok();
    }
    // One of them tries whether it is so; the other one's turn comes after it.
    let statuses = ["t_00000160", "t_00000161"].map(|id| b.task(id, "status"));
    assert_eq!(statuses.iter().filter(|s| *s == "ready").count(), 1, "{statuses:?}");
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'"), "0", "nobody is asked");
}
