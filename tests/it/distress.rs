//! `synthesize-distress` through the real program: one card for one cause, whatever happens around it.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Kept, Ran, TestBoard, dead_pid, now, ran, until, worker};

mod killed; // `kill -9` in the middle of a pass
mod logs; // logs that are no plain files, or too large, or grow
mod quoted; // what a log may put on a card

/// A worker log that ends on this line.
fn ends_on(id: &str, line: &str) -> String {
    format!(
        "Query: work kanban task {id}\nInitializing agent...\n\
         ⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   \
         🌐 Endpoint: https://api.example/v1\n{line}\n\nDuration:       8s\nMessages:       1 (1 user, 0 tool calls)\n"
    )
}

const LIMITED: &str =
    "❌ Rate limited after 2 retries — HTTP 429: Rate limit reached for requests per min (RPM)";
const REFUSED_KEY: &str = "❌ Non-retryable error (HTTP 401): HTTP 401: Incorrect API key provided";
pub(crate) const BUDGET: &str = "⚠ Iteration budget reached (6/6) — response may be incomplete";

impl TestBoard {
    fn distress(&self, args: &[&str]) -> Ran {
        ran(self.command("synthesize-distress").args(args))
    }

    fn route(&self, args: &[&str]) -> Ran {
        ran(self.command("route-blocked").args(args))
    }

    fn distress_later(&self, seconds: i64, args: &[&str]) -> Ran {
        let at = (now() + seconds).to_string();
        ran(self.command("synthesize-distress").arg("--db").arg(&self.db).args(["--now", &at]).args(args))
    }

    /// A task that was given up, and whose log ends on this line.
    fn given_up(&self, id: &str, line: &str) {
        self.give_up(id, "pid 4242 not alive", 600);
        self.log(id, &ends_on(id, line));
    }

    /// Titles of all cards, in order.
    fn cards(&self) -> Vec<String> {
        let conn = self.open();
        let mut statement =
            conn.prepare("SELECT title FROM tasks WHERE title LIKE '[BLOCKED]%' ORDER BY title, id").unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    fn the_card(&self) -> String {
        self.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'")
    }

    fn whole_card_of(&self, source: &str) {
        let card = self.the_card();
        assert_eq!(
            self.value(&format!(
                "SELECT count(*) FROM task_links WHERE parent_id = '{card}' AND child_id = '{source}'"
            )),
            "1"
        );
        assert_eq!(self.value(&format!("SELECT count(*) FROM task_comments WHERE task_id = '{source}' AND author = 'synthesize-distress'")), "1");
        assert!(self.kinds(source).ends_with("linked watchbill_signal commented"), "{}", self.kinds(source));
        assert!(self.kinds(&card).starts_with("created"), "{}", self.kinds(&card));
        assert_eq!(self.value("PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn the_true_cause_gets_one_whole_card() {
    let b = TestBoard::new();
    b.given_up("t_00000001", LIMITED);
    let said = b.distress(&[]).ok();
    let card = b.the_card();
    assert_eq!(
        said,
        format!(
            "t_00000001 card: The last attempt ended on rate_limit (HTTP 429) at api.example. Card {card} for tuesday\n"
        )
    );
    assert_eq!(b.cards(), ["[BLOCKED] t_00000001 rate_limited"]);
    b.whole_card_of("t_00000001");
    let column = |c: &str| b.task(&card, c);
    assert_eq!(
        (column("status"), column("assignee"), column("priority")),
        ("ready".into(), "tuesday".into(), "1".into())
    );
    assert_eq!(
        (column("workspace_kind"), column("workspace_path"), column("created_by")),
        ("scratch".into(), "NULL".into(), "synthesize-distress".into())
    );
    assert_eq!(column("idempotency_key"), "distress:t_00000001:rate_limit:1");
    let created = b.payload(&card, "created");
    for (key, want) in
        [("source_task", "t_00000001"), ("blocker_type", "rate_limited"), ("by", "synthesize-distress")]
    {
        assert_eq!(created[key], want);
    }
    assert!(column("body").contains("> ❌ Rate limited after 2 retries"), "{}", column("body"));
    assert_eq!(b.task("t_00000001", "status"), "blocked");
}

#[test]
fn ten_passes_write_one_card_and_a_second_pass_changes_no_row() {
    let b = TestBoard::new();
    b.given_up("t_00000001", LIMITED);
    b.given_up("t_00000002", REFUSED_KEY);
    b.given_up("t_00000003", BUDGET);
    b.distress(&[]).ok();
    let after = b.dump();
    for i in 1..10 {
        assert_eq!(b.distress_later(i, &[]).ok(), "");
    }
    assert!(b.dump() == after, "a later pass changed something");
    std::fs::remove_dir_all(b.path().join("state")).unwrap();
    assert_eq!(b.distress(&[]).ok(), "");
    assert!(b.dump() == after, "what is remembered decides nothing");
    assert_eq!(b.cards().len(), 3);
    // The third waits for a place, which it gets when one of the others is done.
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE assignee = 'tuesday' AND status = 'ready'"), "2");
    let first = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%' AND status = 'ready' LIMIT 1");
    b.hand(&["claim", &first, "--worker", "tuesday"]).ok();
    assert_eq!(b.distress(&[]).ok(), "");
    b.hand(&["complete", &first]).ok();
    let said = b.distress(&[]);
    assert!(said.out.contains("release-card"), "{said:?}");
    let said = b.route(&[]);
    assert!(said.err.contains("was completed") && said.err.contains("without a decision"), "{said:?}");
    assert_eq!(said.code, 0, "its orchestrator has some minutes to act");
    let again = b.route(&[]);
    assert!(!again.err.contains("without a decision"), "it was said: {again:?}");
}

#[test]
fn two_passes_at_once_write_one_card() {
    for round in 0..5 {
        let b = TestBoard::new();
        for i in 1..=5 {
            b.given_up(&format!("t_0000000{i}"), [LIMITED, REFUSED_KEY, BUDGET][i % 3]);
        }
        let start = || {
            let mut command = b.command("synthesize-distress");
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            Kept(command.spawn().unwrap())
        };
        let mut both = [start(), start(), start()];
        for child in &mut both {
            let code = child.0.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 75)), "{code:?}");
        }
        let _ = b.distress(&[]);
        let mut cards = b.cards();
        cards.dedup();
        assert_eq!(cards.len(), 5, "round {round}: {cards:?}");
        assert_eq!(b.cards().len(), 5, "round {round}: {:?}", b.cards());
        assert_eq!(b.value("SELECT count(*) FROM task_links"), "5");
        assert_eq!(b.value("SELECT count(*) FROM task_comments"), "5");
    }
}

#[test]
fn looking_writes_nothing_and_a_plan_does_what_it_showed() {
    let b = TestBoard::new();
    b.given_up("t_00000001", LIMITED);
    let before = b.dump();
    let report: Value = b.distress(&["--dry-run", "--json", "-v"]).json();
    assert!(b.dump() == before);
    assert!(!b.path().join("state").exists(), "a look remembers nothing");
    let plan = b.path().join("plan.json");
    std::fs::write(&plan, report.to_string()).unwrap();
    let again: Value = b.distress(&["--facts", plan.to_str().unwrap(), "--json"]).json();
    assert_eq!(again["boards"][0]["steps"][0]["task"], "t_00000001");
    assert!(b.dump() == before);
    b.distress(&["--plan", plan.to_str().unwrap()]).ok();
    b.whole_card_of("t_00000001");
    let moved = b.distress(&["--plan", plan.to_str().unwrap()]).ok();
    assert!(moved.contains("changed meanwhile"), "{moved}");
    assert_eq!(b.cards().len(), 1);
}

#[test]
fn what_would_run_again_is_parked_and_set_free_when_its_hold_is_over() {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 600);
    b.sql("UPDATE tasks SET status = 'ready', consecutive_failures = 1, started_at = created_at; DELETE FROM task_events WHERE kind = 'gave_up'");
    b.log("t_00000001", &ends_on("t_00000001", LIMITED));
    b.distress(&[]).ok();
    assert_eq!(b.task("t_00000001", "status"), "scheduled");
    let hold = &b.payload("t_00000001", "scheduled")["watchbill"]["hold"];
    assert_eq!(
        (hold["owner"].as_str(), hold["cause"].as_str()),
        (Some("synthesize-distress"), Some("rate_limit"))
    );
    // heal keeps away while the card is open, and ends the hold when a person put the card away and it is over.
    assert_eq!(b.later(7_200, &[]).ok(), "");
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    assert_eq!(b.later(60, &[]).ok(), "");
    assert_eq!(b.distress(&[]).ok(), "", "archived means that somebody said no");
    assert!(b.later(7_200, &[]).ok().contains("resume"));
    // As Hermes does it: `todo` while a parent is not done, and its next tick makes that `ready`.
    assert_eq!(b.task("t_00000001", "status"), "todo");
}

#[test]
fn a_hold_nobody_decided_is_reported_and_goes_to_a_person_when_it_is_over() {
    for line in [REFUSED_KEY, LIMITED] {
        undecided(line);
    }
}

fn undecided(line: &str) {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 600);
    b.sql("UPDATE tasks SET status = 'ready', consecutive_failures = 1, started_at = created_at; DELETE FROM task_events WHERE kind = 'gave_up'");
    b.log("t_00000001", &ends_on("t_00000001", line));
    b.distress(&[]).ok();
    b.hand(&["complete", &b.the_card()]).ok();
    assert_eq!(b.distress(&[]).ok(), "");
    let told = b.route(&[]);
    assert!(told.code == 0 && told.err.contains("without a decision"), "{told:?}");
    assert_eq!(b.task("t_00000001", "status"), "scheduled");
    assert!(b.later(7_200, &[]).ok().contains("hand-over"));
    assert_eq!(b.task("t_00000001", "status"), "blocked");
    assert_eq!(b.payload("t_00000001", "blocked")["cause"], "no-decision");
    assert_eq!(b.distress_later(7_300, &[]).ok(), "", "and then it is a person's");
    assert_eq!(b.later(90_000, &[]).ok(), "");
}

#[test]
fn a_worker_that_heal_buried_and_parked_gets_its_card_in_the_same_round() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", Some(dead_pid()), 0);
    b.log("t_00000001", &ends_on("t_00000001", LIMITED));
    assert!(b.later(600, &[]).ok().contains("park"));
    assert!(b.distress_later(620, &[]).ok().contains("card:"));
    b.whole_card_of("t_00000001");
    assert_eq!(b.task("t_00000001", "status"), "scheduled");
    // Nobody decides: when the hold ends, the rest is route-blocked's, and a person's where that does not run.
    b.hand(&["complete", &b.the_card()]).ok();
    assert_eq!(b.later(2_400, &[]).ok(), "");
    assert!(b.later(3_600, &[]).ok().contains("hand-over"));
}

#[test]
fn a_living_worker_that_is_refused_again_and_again_is_spoken_of_and_left_alone() {
    let b = TestBoard::new();
    // A name of its own: its process carries it, and tests beside this one look at processes too.
    b.add("t_d1517e55", "ready");
    // Whatever its log's format: this one prints Claude Code's stream.
    let mut alive = worker("t_d1517e55", 1);
    b.run_it("t_d1517e55", Some(alive.pid()), 0);
    let retry = |n: i32| {
        format!(
            "{{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":{n},\"max_retries\":10,\"retry_delay_ms\":500,\
             \"error_status\":529,\"error\":\"overloaded\",\"session_id\":\"s\"}}\n"
        )
    };
    let init =
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\",\"model\":\"m\"}\n";
    let log = b.path().join("kanban/logs/t_d1517e55.log");
    let print = |text: &str| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    // What stood there at the first look may be of any time.
    print(&format!("{}{}{}{init}", retry(1), retry(2), retry(3)));
    assert_eq!(b.distress(&[]).ok(), "");
    print(&format!("{}{}", retry(1), retry(2)));
    assert_eq!(b.distress(&[]).ok(), "");
    print(&retry(3));
    assert!(b.distress(&[]).ok().contains("still runs"));
    let card = b.the_card();
    let body = b.task(&card, "body");
    assert!(body.contains("kanban reclaim t_d1517e55`") && !body.contains("kill "), "{body}");
    assert_eq!(
        (b.task("t_d1517e55", "status"), b.value("SELECT count(*) FROM task_links")),
        ("running".into(), "0".into())
    );
    assert!(alive.is_running());
    assert_eq!(b.distress(&[]).ok(), "");
    // Once it has ended, the card becomes its parent.
    alive.kill();
    until("it is gone", || true);
    b.later(600, &[]).ok();
    assert!(
        b.distress_later(620, &[]).ok().contains("late") || b.value("SELECT count(*) FROM task_links") == "1"
    );
    assert_eq!(b.value("SELECT count(*) FROM task_links"), "1");
    assert_eq!(b.distress_later(640, &[]).ok(), "");
}

#[test]
fn fifty_at_once_share_one_card() {
    let b = TestBoard::new();
    for i in 0..50 {
        b.given_up(&format!("t_{i:08x}"), LIMITED);
    }
    b.distress(&[]).ok();
    assert_eq!(b.cards().len(), 1);
    assert_eq!(b.value("SELECT count(*) FROM task_links"), "50");
    assert_eq!(
        b.value("SELECT idempotency_key FROM tasks WHERE title LIKE '[BLOCKED]%'"),
        "distress:incident:api.example:1"
    );
    let after = b.dump();
    assert_eq!(b.distress(&[]).ok(), "");
    assert!(b.dump() == after);
    b.given_up("t_0000beef", LIMITED);
    assert!(b.distress(&[]).ok().contains("t_0000beef"));
    assert_eq!((b.cards().len(), b.value("SELECT count(*) FROM task_links")), (1, "51".into()));
}

#[test]
fn what_only_the_board_tells_shares_one_card_too() {
    for (n, profile) in
        [(60, ""), (60, "\n[profiles.luna]\nendpoint = \"https://api.example/v1\"\n"), (300, "")]
    {
        let mut b = TestBoard::new();
        b.config.push_str(profile);
        for i in 0..2 {
            b.give_up(&format!("t_{i:08x}"), "HTTP 401: invalid x-api-key", 600);
        }
        b.distress(&[]).ok();
        assert_eq!(b.cards().len(), 2, "two are no incident");
        for i in 2..n {
            b.give_up(&format!("t_{i:08x}"), "HTTP 401: invalid x-api-key", 600);
        }
        b.distress(&[]).ok();
        let open = "SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%' AND status != 'done'";
        assert_eq!((b.value(open).as_str(), b.cards().len()), ("1", 3), "{n} {profile}");
        let after = b.dump();
        assert_eq!(b.distress(&[]).ok(), "");
        assert!(b.dump() == after);
    }
}

#[test]
fn nothing_to_do_says_nothing_and_a_pause_stops_it() {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    assert_eq!(b.distress(&[]).ok(), "");
    b.given_up("t_00000002", LIMITED);
    std::fs::write(b.path().join("watchbill.pause"), "").unwrap();
    assert!(b.distress(&[]).fails(75).contains("paused"));
    assert_eq!(b.cards().len(), 0);
    std::fs::remove_file(b.path().join("watchbill.pause")).unwrap();
    assert!(b.distress(&["--task", "t_00000002"]).ok().contains("t_00000002 card"));
    let told =
        ran(Command::new(crate::support::program("watchbill")).arg("synthesize-distress").arg("--help")).ok();
    assert!(told.contains("Write the distress card"), "{told}");
}

#[test]
fn a_card_closes_into_an_incident_only_with_its_task() {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 600);
    b.sql("UPDATE tasks SET status = 'ready', consecutive_failures = 1, started_at = created_at; DELETE FROM task_events WHERE kind = 'gave_up'");
    b.log("t_00000001", &ends_on("t_00000001", LIMITED));
    b.distress(&[]).ok();
    let single = b.the_card();
    b.given_up("t_00000002", LIMITED);
    b.given_up("t_00000003", LIMITED);
    let plan = b.path().join("plan.json");
    std::fs::write(&plan, b.distress(&["--dry-run", "--json"]).ok()).unwrap();
    // Between look and write the operator comments on the first task.
    b.hand(&["comment", "t_00000001", "wait", "--author", "ada"]).ok();
    let told = b.distress(&["--plan", plan.to_str().unwrap()]).ok();
    assert!(told.contains("does not wait for"), "{told}");
    assert_eq!(b.task(&single, "status"), "ready", "{told}");
    assert_eq!(b.task("t_00000001", "status"), "scheduled", "nobody decided about it");
    // And where the first of them moved, the others say so and wait for the next pass.
    let b = TestBoard::new();
    for id in ["t_00000001", "t_00000002", "t_00000003"] {
        b.given_up(id, LIMITED);
    }
    let plan = b.path().join("plan.json");
    std::fs::write(&plan, b.distress(&["--dry-run", "--json"]).ok()).unwrap();
    b.hand(&["comment", "t_00000001", "wait", "--author", "ada"]).ok();
    let told = b.distress(&["--plan", plan.to_str().unwrap()]).ok();
    assert_eq!(told.matches("was not made").count(), 2, "{told}");
    assert_eq!(b.cards().len(), 0);
    b.distress(&[]).ok();
    assert_eq!(b.cards().len(), 1);
}

#[test]
fn an_incident_that_was_put_away_or_left_undecided_does_not_come_back() {
    for (status, times) in [("archived", 0), ("done", 1)] {
        let b = TestBoard::new();
        for i in 0..4 {
            b.given_up(&format!("t_{i:08x}"), LIMITED);
        }
        b.distress(&[]).ok();
        assert_eq!(b.cards().len(), 1);
        b.sql(&format!("UPDATE tasks SET status = '{status}' WHERE title LIKE '[BLOCKED]%'"));
        let before = b.dump();
        let mut told = 0;
        for _ in 0..3 {
            assert_eq!(b.distress(&[]).code, 0, "{status}");
            let said = b.route(&[]);
            assert_eq!(said.code, 0, "{status}: {said:?}");
            told += usize::from(said.err.contains("without a decision"));
        }
        assert_eq!(told, times, "{status}");
        assert!(b.dump() == before, "{status}");
    }
}
