//! What every watcher finds to do, each on a board of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::distress::BUDGET;
use crate::health::{Work, silent};
use crate::route::{FLEET, LIMITED, REFUSED_KEY};
use crate::support::{Kept, Ran, TestBoard, birth, dead_pid, hostname, now, ran, stranger, worker};

pub(super) const A: &str = "t_0d0000a1";
const B: &str = "t_0d0000b2";
const ALIVE: &str = "t_0d0000f7";

/// What a watcher finds to do.
pub(super) struct Scene {
    pub(super) b: TestBoard,
    pub(super) program: &'static str,
    pub(super) args: &'static [&'static str],
    /// The pass is held so many seconds from now.
    pub(super) later: i64,
    /// What it must do to [`A`], or to the card of it.
    pub(super) action: &'static str,
    #[expect(dead_code, reason = "they live as long as their scene")]
    pub(super) kept: Vec<Kept>,
}

impl Scene {
    pub(super) fn new(b: TestBoard, program: &'static str, later: i64, action: &'static str) -> Scene {
        Scene { b, program, args: &[], later, action, kept: Vec::new() }
    }

    /// The pass; the task of the step that is meant.
    pub(super) fn acts(&self) -> String {
        self.acts_with(&mut BTreeSet::new())
    }

    /// The same; the actions and the cases of all that it did are added, each with the program.
    pub(super) fn acts_with(&self, words: &mut BTreeSet<(String, String)>) -> String {
        let at = (now() + self.later).to_string();
        let mut command = self.b.command(self.program);
        command.env("WATCHBILL_PASS", "p-did").arg("--db").arg(&self.b.db);
        let said = ran(command.args(["--json", "--now", &at]).args(self.args));
        let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let steps = report["boards"][0]["steps"].as_array().unwrap();
        let applied = |s: &&Value| s["outcome"] == "applied";
        for step in steps.iter().filter(applied) {
            let case = step["case"].as_str().unwrap().split(':').next().unwrap();
            for word in [step["action"].as_str().unwrap(), case] {
                words.insert((self.program.to_owned(), word.to_owned()));
            }
        }
        let is_meant = |s: &&Value| s["action"] == self.action && applied(s);
        let step = steps.iter().find(is_meant).unwrap_or_else(|| panic!("no {}: {report:#}", self.action));
        step["task"].as_str().unwrap().to_owned()
    }

    pub(super) fn undo(&self, args: &[&str]) -> Ran {
        let at = (now() + self.later + 5).to_string();
        let mut command = self.b.command("watchbill");
        command.env("USER", "ada").arg("undo").arg("--db").arg(&self.b.db);
        ran(command.args(["--now", &at]).args(args))
    }
}

impl TestBoard {
    pub(super) fn sticky_less(self, id: &str) -> TestBoard {
        self.sql(&format!(
            "UPDATE tasks SET status = 'ready', consecutive_failures = 1, started_at = created_at WHERE id = '{id}';
             DELETE FROM task_events WHERE kind = 'gave_up' AND task_id = '{id}'"
        ));
        self
    }
}

pub(super) fn dying(log: Option<&str>) -> TestBoard {
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    b.sql(&format!(
        "ALTER TABLE tasks ADD COLUMN worker_started_at TEXT; UPDATE tasks SET worker_started_at = '{}'",
        birth("4711")
    ));
    log.into_iter()
        .for_each(|log| b.log(A, &format!("Query: work kanban task {A}\nInitializing agent...\n{log}\n")));
    b
}

fn alone() -> TestBoard {
    let mut b = TestBoard::fleet();
    b.config = b.config.replace("fallbacks = [\"sol\"]", "");
    b
}

/// A card that is open, and who decides about its task.
fn answered(route: &Value) -> TestBoard {
    let b = TestBoard::own();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &card, "--metadata", &json!({"route": route}).to_string()]).ok();
    b
}

fn decided(action: &str) -> TestBoard {
    answered(&json!({"task": A, "action": action, "assignee": "nova"}))
}

/// The card of its first end was put away, and it ended so once more.
fn died_again(b: TestBoard) -> TestBoard {
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    b.give_up("t_0d0000ff", "x", 5_000);
    b.sql(&format!(
        "UPDATE task_events SET task_id = '{A}' WHERE task_id = 't_0d0000ff' AND kind IN ('claimed', 'crashed', 'gave_up');
         UPDATE task_runs SET task_id = '{A}', started_at = started_at + 4500, ended_at = ended_at + 4500 WHERE task_id = 't_0d0000ff';
         DELETE FROM task_events WHERE task_id = 't_0d0000ff'; DELETE FROM tasks WHERE id = 't_0d0000ff'"
    ));
    b
}

/// The card of [`A`].
fn card(b: &TestBoard) -> String {
    b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'")
}

/// Another program's card about a task, in the form of one.
fn foreign(b: &TestBoard, id: &str, source: &str, status: &str) {
    let at = now() - 100;
    b.sql(&format!(
        "INSERT INTO tasks (id, title, body, assignee, status, priority, created_at)
           VALUES ('{id}', '[BLOCKED] {source} env_blocker', 'help', 'tuesday', '{status}', 1, {at});
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'created', '{{}}', {at});"
    ));
}

fn blocked_by_worker(kind: &str, reason: &str) -> TestBoard {
    let b = TestBoard::new();
    b.add(A, "ready");
    b.hand(&["claim", A, "--worker", "luna"]).ok();
    let run = b.task(A, "current_run_id");
    b.sql(&format!(
        "UPDATE tasks SET status = 'blocked', claim_lock = NULL, claim_expires = NULL, current_run_id = NULL;
         UPDATE task_runs SET status = 'blocked', outcome = 'blocked', ended_at = started_at;
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
           VALUES ('{A}', {run}, 'blocked', '{{\"kind\":\"{kind}\",\"reason\":\"{reason}\"}}', {})",
        now()
    ));
    b
}

/// Reset as often as allowed, and given up once more.
fn used_up() -> TestBoard {
    let b = TestBoard::new();
    b.give_up(A, "pid 9 not alive", 4_000);
    let at = now() - 3_900;
    let mut sql = "DELETE FROM task_events WHERE kind = 'gave_up';".to_owned();
    for n in 1..=3 {
        sql.push_str(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'unblocked',
               '{{\"by\":\"heal\",\"watchbill\":{{\"v\":1,\"reset\":{n}}}}}', {at} + {n});"
        ));
    }
    b.sql(&format!(
        "{sql} INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'gave_up',
           '{{\"failures\":2,\"limit_source\":\"dispatcher\",\"error\":\"pid 9 not alive\"}}', {at} + 10)"
    ));
    b
}

/// What changes no row: the pass writes an event or a comment, and there is nothing to undo.
pub(super) fn words() -> Vec<Scene> {
    let mut all = Vec::new();
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    b.works_in_a_tree(A);
    all.push(Scene::new(b, "heal", 60, "note"));
    all.push(Scene::new(used_up(), "heal", 0, "escalate"));
    let work = Work::new(&silent(7_200));
    all.push(Scene { kept: vec![work.worker], ..Scene::new(work.board, "heal", 0, "tell") });
    let b = TestBoard::new();
    b.add(A, "ready");
    b.sql(&format!(
        "UPDATE tasks SET last_failure_error = 'cannot create restart-safe systemd scope for gateway child: no bus';
         INSERT INTO task_events (task_id, kind, payload, created_at)
           VALUES ('{A}', 'spawn_failed', '{{\"failures\":0,\"infrastructure\":true}}', {})",
        now()
    ));
    all.push(Scene::new(b, "heal", 4_000, "tell"));
    let b = TestBoard::own();
    b.died_of(A, BUDGET);
    ran(&mut b.command("synthesize-distress")).ok();
    b.hand(&["claim", &card(&b), "--worker", "tuesday"]).ok();
    b.hand(&["complete", &card(&b)]).ok();
    all.push(Scene::new(b, "route-blocked", 4_000, "ask-again"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.sql("UPDATE tasks SET assignee = NULL");
    all.push(Scene::new(b, "route-blocked", 4_000, "tell"));
    let b = TestBoard::new();
    b.runs(A, "## Scope\n- Time budget: 10m\n", 700);
    all.push(Scene { args: &["--comment"], ..Scene::new(b, "budget-check", 0, "comment") });
    // Held by heal, and those before it took the places of its fallback.
    let mut b = dying(Some(LIMITED));
    b.config.push_str(FLEET);
    b.later(900, &[]).ok();
    b.died_of("t_0d0000c3", LIMITED);
    b.died_of("t_0d0000c4", LIMITED);
    for id in ["t_0d0000c3", "t_0d0000c4"] {
        b.pass_of("synthesize-distress", 910, &["--task", id]).ok();
    }
    all.push(Scene::new(b, "synthesize-distress", 920, "extend"));
    all
}

/// Every kind of action, each on a board of its own.
pub(super) fn scenes() -> Vec<Scene> {
    let mut all = heal();
    all.extend(distress());
    all.extend(route());
    let b = TestBoard::own();
    b.runs(A, "## Scope\n- In scope: `api/**`, `web/**`\n- Time budget: 10m\n", 700);
    all.push(Scene { args: &["--distress", "--comment"], ..Scene::new(b, "budget-check", 0, "card") });
    all
}

/// Ready work that waits for its provider.
pub(super) fn waiting() -> TestBoard {
    let b = alone();
    b.died_of(B, LIMITED);
    for id in [A, "t_0d0000c3", "t_0d0000c4"] {
        b.add(id, "ready");
    }
    ran(&mut b.command("synthesize-distress")).ok();
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    b
}

/// What dead and sick workers leave behind.
fn heal() -> Vec<Scene> {
    let mut all = Vec::new();
    let heal = |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "heal", later, action);
    all.push(heal(dying(None), 900, "requeue"));
    let b = dying(None);
    b.sql("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'was so before'");
    all.push(heal(b, 900, "block"));
    // A lease without a worker.
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, None, 0);
    all.push(heal(b, 9_000, "requeue"));
    all.push(heal(dying(Some(LIMITED)), 900, "park"));
    let mut b = dying(Some(LIMITED));
    b.config.push_str("[heal]\nmax_resets = 0\n[people]\nassignee = \"ada\"\n");
    all.push(heal(b, 900, "hand-over"));
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 900);
    all.push(heal(b, 0, "reset"));
    let b = TestBoard::new();
    b.add(A, "ready");
    let past = now() - 5_000;
    b.sql(&format!("UPDATE tasks SET claim_lock = '{}:1', claim_expires = {past}", hostname()));
    all.push(heal(b, 0, "release"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.sql("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'pid 429 not alive'");
    all.push(heal(b, 4_000, "clear"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.sql(&format!("UPDATE tasks SET last_heartbeat_at = {}", now()));
    all.push(heal(b, 4_000, "clear"));
    let b = TestBoard::own();
    b.add(A, "todo");
    b.add(B, "done");
    b.sql(&format!("INSERT INTO task_links (parent_id, child_id) VALUES ('{B}', '{A}')"));
    all.push(heal(b, 4_000, "promote"));
    let b = TestBoard::new();
    b.add(A, "blocked");
    b.sql("UPDATE tasks SET consecutive_failures = 2");
    all.push(heal(b, 4_000, "hand-over"));
    let b = dying(Some(LIMITED));
    b.later(900, &[]).ok();
    all.push(heal(b, 900 + 2_000, "resume"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    all.push(heal(b, 900, "requeue"));
    let b = TestBoard::new();
    b.add(A, "ready");
    let other = stranger();
    b.run_it(A, Some(other.pid()), 900);
    all.push(Scene { kept: vec![other], ..heal(b, 0, "requeue") });
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    b.sql("UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL");
    all.push(heal(b, 900, "requeue"));
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 900);
    std::fs::write(b.path().join("kanban/.dispatcher.lock"), "").unwrap();
    b.sql(&format!(
        "UPDATE task_events SET payload = '{{\"lock\":\"{}:{}\"}}' WHERE kind = 'claimed'",
        hostname(),
        dead_pid()
    ));
    all.push(heal(b, 0, "reset"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    let tree = b.works_in_a_tree(A);
    b.later(60, &[]).ok();
    std::fs::write(tree.join("a"), "two\n").unwrap();
    all.push(heal(b, 200, "hand-over"));
    let mut b = TestBoard::new();
    b.config.push_str("[heal]\nmax_resumes = 0\n");
    std::fs::write(b.path().join("config.yaml"), "kanban:\n  failure_limit: 9\n").unwrap();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    all.push(heal(b, 900, "hand-over"));
    let b = TestBoard::new();
    b.died_of(A, REFUSED_KEY);
    let b = b.sticky_less(A);
    ran(&mut b.command("synthesize-distress")).ok();
    b.hand(&["complete", &card(&b)]).ok();
    all.push(heal(b, 7_200, "hand-over"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    std::fs::create_dir(b.path().join(format!("kanban/logs/{A}.log"))).unwrap();
    all.push(heal(b, 21_700, "hand-over"));
    let work = Work::new(&silent(7_200)).allow_stop();
    all.push(Scene { kept: vec![work.worker], ..heal(work.board, 0, "resume") });
    all
}

/// What only an orchestrator can help.
fn distress() -> Vec<Scene> {
    let mut all = Vec::new();
    let distress =
        |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "synthesize-distress", later, action);
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    all.push(distress(b, 0, "card"));
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    all.push(distress(b.sticky_less(A), 0, "card+park"));
    let mut b = TestBoard::new();
    b.config.push_str("[people]\nassignee = \"ada\"\n[distress]\nmax_cards = 1\n");
    b.died_of(A, BUDGET);
    ran(&mut b.command("synthesize-distress")).ok();
    all.push(distress(died_again(b), 0, "hand-over"));
    let mut b = TestBoard::new();
    b.config.push_str("[distress]\nmax_cards = 1\n");
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    all.push(distress(died_again(b), 0, "park"));
    let b = TestBoard::fleet();
    b.died_of(A, LIMITED);
    b.sql("UPDATE tasks SET model_override = 'm1'");
    all.push(distress(b, 0, "move"));
    // Ready work of the provider that refused another.
    let b = alone();
    b.died_of(B, LIMITED);
    b.add(A, "ready");
    all.push(distress(b, 0, "park"));
    // Many of one cause: the single card of the first is merged into that of all.
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    for id in ["t_0d0000c3", "t_0d0000c4", "t_0d0000c5"] {
        b.died_of(id, LIMITED);
    }
    all.push(distress(b, 0, "join"));
    // A card about living work, whose worker then died.
    let b = TestBoard::new();
    b.runs(A, "## Scope\n- Time budget: 10m\n", 700);
    ran(b.command("budget-check").arg("--distress")).ok();
    b.sql(&format!(
        "UPDATE tasks SET status = 'blocked', claim_lock = NULL, claim_expires = NULL, current_run_id = NULL WHERE id = '{A}';
         UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = {now};
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'blocked', '{{}}', {now})",
        now = now()
    ));
    all.push(distress(b, 0, "link"));
    let b = TestBoard::new();
    for id in ["t_0d0000c3", "t_0d0000c4", "t_0d0000c5"] {
        b.died_of(id, LIMITED);
    }
    ran(&mut b.command("synthesize-distress")).ok();
    b.died_of(A, LIMITED);
    all.push(distress(b, 0, "card"));
    let mut b = TestBoard::new();
    b.config.push_str("[distress]\nmax_open_cards = 1\n");
    b.died_of(A, REFUSED_KEY);
    b.died_of(B, BUDGET);
    ran(&mut b.command("synthesize-distress")).ok();
    let first = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%' AND status = 'ready'");
    b.hand(&["claim", &first, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &first]).ok();
    all.push(distress(b, 0, "release-card"));
    let b = used_up();
    b.heal(&[]).ok();
    all.push(distress(b, 0, "card"));
    let b = TestBoard::new();
    b.give_up(A, "pid 9 not alive", 900);
    b.sql("UPDATE tasks SET max_retries = 2");
    all.push(distress(b, 0, "card"));
    let mut b = dying(Some(LIMITED));
    b.config.push_str("[heal]\nmax_resets = 0\n");
    b.later(900, &[]).ok();
    all.push(distress(b, 920, "card"));
    let b = dying(Some(LIMITED));
    b.later(900, &[]).ok();
    all.push(distress(b, 920, "card"));
    let b = blocked_by_worker("", "Goal-mode worker exhausted its turn budget (20)");
    all.push(distress(b, 0, "card"));
    all.push(distress(blocked_by_worker("capability", "no lamp"), 1_200, "card"));
    let b = TestBoard::new();
    b.add(A, "triage");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'block_loop_detected', '{{\"reason\":\"x\"}}', {})",
        now() - 60
    ));
    all.push(distress(b, 0, "card"));
    // Of an id of its own: the scenes see each other's processes.
    let b = TestBoard::new();
    b.add(ALIVE, "ready");
    let alive = worker(ALIVE, 1);
    b.run_it(ALIVE, Some(alive.pid()), 0);
    let retry = "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"retry_delay_ms\":500,\"error_status\":529,\"error\":\"overloaded\",\"session_id\":\"s\"}\n";
    let init =
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\",\"model\":\"m\"}\n";
    b.log(ALIVE, init);
    ran(&mut b.command("synthesize-distress")).ok();
    b.log(ALIVE, &format!("{init}{}", retry.repeat(3)));
    all.push(Scene { kept: vec![alive], ..distress(b, 0, "card") });
    all
}

/// What waits for a provider or for an answer.
fn route() -> Vec<Scene> {
    let mut all = Vec::new();
    let route =
        |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "route-blocked", later, action);
    let b = TestBoard::fleet();
    b.died_of(B, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    b.add(A, "ready");
    b.add("t_0d0000c3", "ready");
    all.push(route(b, 10, "move"));
    let b = alone();
    b.died_of(B, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    b.add(A, "ready");
    all.push(route(b, 10, "park"));
    // One tries first, the others wait longer.
    all.push(route(waiting(), 2_000, "probe"));
    let b = TestBoard::new();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    b.hand(&["unblock", A]).ok();
    all.push(route(b, 10, "close-card"));
    all.push(route(decided("human"), 10, "hand-over"));
    all.push(route(decided("reassign"), 10, "move"));
    all.push(route(decided("unblock"), 10, "park"));
    let parts = json!([{"title": "Count the red lanterns"}, {"title": "The blue ones", "assignee": "nova"}]);
    all.push(route(answered(&json!({"task": A, "action": "split", "children": parts})), 10, "split"));
    // Another program's card, brought into form: title, text, folder, priority, assignee, state.
    let b = TestBoard::new();
    b.add(A, "blocked");
    b.sql(&format!(
        "INSERT INTO tasks (id, title, body, assignee, status, priority, created_at, workspace_kind, workspace_path)
           VALUES ('t_0d0000ca', '[BLOCKED] {A}: rate limited', ' my words ' || char(10), NULL, 'triage', 0, {at}, 'dir', '/srv/x');
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_0d0000ca', 'created', '{{}}', {at});",
        at = now() - 100
    ));
    all.push(route(b, 10, "normalise"));
    let b = TestBoard::new();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    foreign(&b, "t_0d0000ca", A, "ready");
    b.sql("UPDATE tasks SET created_at = created_at + 200 WHERE id = 't_0d0000ca'");
    all.push(route(b, 10, "close-card"));
    let b = TestBoard::new();
    b.add(A, "blocked");
    for n in 0..3 {
        foreign(&b, &format!("t_0d0000d{n}"), A, "ready");
        b.add(&format!("t_0d0000e{n}"), "blocked");
        b.sql(&format!(
            "UPDATE tasks SET title = '[BLOCKED] t_0d0000e{n} env_blocker' WHERE id = 't_0d0000d{n}'"
        ));
    }
    ran(&mut b.command("route-blocked")).ok();
    all.push(route(b, 10, "queue-card"));
    let b = TestBoard::new();
    b.add(A, "blocked");
    foreign(&b, "t_0d0000ca", A, "ready");
    b.sql(&format!("INSERT INTO task_links (parent_id, child_id) VALUES ('{A}', 't_0d0000ca')"));
    b.run_it("t_0d0000ca", None, 0);
    all.push(route(b, 10, "normalise"));
    let b = TestBoard::new();
    b.add(A, "blocked");
    foreign(&b, "t_0d0000ca", A, "ready");
    b.sql("UPDATE tasks SET created_by = 'ada' WHERE id = 't_0d0000ca'");
    all.push(route(b, 10, "link"));
    // Its orchestrator gave up.
    let b = TestBoard::new();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    let asks = card(&b);
    b.run_it(&asks, None, 60);
    b.sql(&format!(
        "UPDATE task_runs SET profile = 'tuesday', status = 'crashed', outcome = 'crashed', ended_at = {now} WHERE task_id = '{asks}';
         UPDATE tasks SET status = 'blocked', claim_lock = NULL, claim_expires = NULL, current_run_id = NULL WHERE id = '{asks}';
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{asks}', 'gave_up', '{{\"error\":\"x\"}}', {now})",
        now = now()
    ));
    all.push(route(b, 10, "hand-over"));
    // The orchestrator works with the provider that refuses since: another one stands in, or the card waits.
    for (fallbacks, action) in [("orchestrator.fallbacks = [\"sol\"]\n", "stand-in"), ("", "park-card")] {
        let mut b = TestBoard::new();
        b.config = format!("{fallbacks}{}[distress]\norchestrator = \"mira\"\n", b.config);
        b.config.push_str("[profiles.mira]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n");
        b.config.push_str("[profiles.luna]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\n");
        b.died_of(A, BUDGET);
        ran(&mut b.command("synthesize-distress")).ok();
        b.died_of(B, LIMITED);
        ran(b.command("synthesize-distress").args(["--task", B])).ok();
        all.push(route(b, 10, action));
    }
    // Many of one decision: those beyond the places start in their turn.
    let mut b = TestBoard::own();
    b.config.push_str(&FLEET.replace("fallbacks = [\"sol\"]", ""));
    for id in ["t_0d0000c3", "t_0d0000c4", "t_0d0000c5", A] {
        b.died_of(id, REFUSED_KEY);
    }
    ran(&mut b.command("synthesize-distress")).ok();
    let one = |id: &str| json!({"task": id, "action": "reassign", "assignee": "sol"});
    let all_of = ["t_0d0000c3", "t_0d0000c4", "t_0d0000c5", A].map(one);
    let asks = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%' AND status = 'ready'");
    b.hand(&["claim", &asks, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &asks, "--metadata", &json!({"route": all_of}).to_string()]).ok();
    all.push(route(b, 10, "give"));
    // Its provider answers again.
    let b = waiting();
    ran(b.command("route-blocked").arg("--db").arg(&b.db).args(["--now", &(now() + 2_000).to_string()])).ok();
    let probe = b.value("SELECT id FROM tasks WHERE status = 'ready' AND title LIKE 'Task%'");
    b.sql(&format!(
        "UPDATE tasks SET status = 'done' WHERE id = '{probe}';
         INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
           VALUES ('{probe}', 'luna', 'done', 'completed', {0} + 2200, {0} + 2260);",
        now()
    ));
    all.push(route(b, 2_400, "release"));
    let mut b = waiting();
    b.config.push_str("[routing]\ngive_up = \"1h\"\n");
    all.push(route(b, 9_000, "hand-over"));
    // A fallback is named since: it leaves its card, which is done with.
    let b = alone();
    b.died_of(A, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    let mut b = b;
    b.config = b.config.replace("[profiles.sol]", "fallbacks = [\"sol\"]\n[profiles.sol]");
    all.push(route(b, 10, "close-card"));
    // Nobody decided, and it was asked by hand alone.
    let mut b = TestBoard::own();
    b.config.push_str("[routing]\nmax_asks = 1\n");
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    b.hand(&["claim", &card(&b), "--worker", "tuesday"]).ok();
    b.hand(&["complete", &card(&b)]).ok();
    all.push(route(b, 4_000, "hand-over"));
    all
}
