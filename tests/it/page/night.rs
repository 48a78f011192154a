//! A night on a real board: real rows, real transcripts, a real working tree, and passes of the real watchers.

use std::path::Path;

use serde_json::json;

use crate::budget::{git, write};
use crate::support::{TestBoard, hostname, ran};

/// 2026-11-21T09:00:00Z: shortly after the recorded transcripts.
const NOW: i64 = 1_795_251_600;

const FLEET: &str = "
[distress]
orchestrator = \"tuesday\"
[profiles.luna]
provider = \"moon\"
endpoint = \"https://api.moon.example/v1\"
fallbacks = [\"sol\"]
[profiles.sol]
provider = \"star\"
endpoint = \"https://api.star.example/v1\"
[profiles.nova]
provider = \"star\"
endpoint = \"https://api.star.example/v1\"
";

/// The board, with everything on it that the page has a place for.
pub(super) fn night() -> TestBoard {
    let mut b = TestBoard::new();
    b.config.push_str(FLEET);
    let body = "## Scope\n- Concern: the parser reads the new date format\n- In scope: `src/parse/**`\n\
                - Max files: 3\n- Iteration budget: 8\n- Time budget: 45m\n- Cost budget: $0.08\n";
    task(&b, "t_1a2b3c4d", "Port the parser to the new dates", "luna", "running", body);
    attempt(&b, ("t_1a2b3c4d", 11, "luna"), (300, Some(265)), Some("crashed"), None);
    attempt(&b, ("t_1a2b3c4d", 17, "luna"), (200, Some(161)), Some("crashed"), None);
    let log = transcript(&b, "tools_errors_then_compact_resume");
    attempt(&b, ("t_1a2b3c4d", 31, "luna"), (55, None), None, Some(&log));
    works_in(&b, "t_1a2b3c4d");

    task(&b, "t_77d0c3aa", "Fix the flaky login test", "nova", "ready", "");
    for (run, began) in [(12, 420), (15, 330), (21, 240)] {
        attempt(&b, ("t_77d0c3aa", run, "nova"), (began, Some(began - 25)), Some("crashed"), None);
        let error = format!("login timed out after {run}s");
        b.sql(&format!("UPDATE task_runs SET error = '{error}' WHERE id = {run}"));
    }
    for (reset, ago) in [(1, 300), (2, 200)] {
        event(
            &b,
            "t_77d0c3aa",
            "unblocked",
            ago,
            &json!({
                "by": "heal", "watchbill": {"reset": reset, "because": format!("worker gone, reset {reset}")}
            }),
        );
    }
    task(&b, "t_b41f00d2", "Choose a licence for the fixtures", "sol", "blocked", "");
    attempt(&b, ("t_b41f00d2", 16, "sol"), (320, Some(309)), Some("blocked"), None);
    event(
        &b,
        "t_b41f00d2",
        "blocked",
        309,
        &json!({"reason": "two of the fixtures are GPL-3.0", "kind": "needs_input"}),
    );

    let done = [
        ("t_d8c1b2a3", "Translate the docs", "sol", 22, 260),
        ("t_5c2e91b7", "Add an index for the report", "nova", 25, 170),
        ("t_c4a2c4a2", "Write the change log", "sol", 28, 90),
    ];
    for (id, title, who, run, began) in done {
        task(&b, id, title, who, "done", "");
        attempt(&b, (id, run, who), (began, Some(began - 48)), Some("completed"), None);
        event(&b, id, "completed", began - 48, &json!({}));
    }
    for (id, name, run) in
        [("t_e1e2e3e4", "api_429_exhausted", 29), ("t_7e57ab1e", "stream_cut_midmessage", 30)]
    {
        task(
            &b,
            id,
            "Tidy the imports",
            "sol",
            "running",
            "## Scope\n- In scope: `src/**`\n- Cost budget: $1\n",
        );
        attempt(&b, (id, run, "sol"), (56, None), None, Some(&transcript(&b, name)));
    }
    for id in ["t_00000aa1", "t_00000aa2"] {
        task(&b, id, "Queued work", "luna", "ready", "");
    }
    limited(&b);
    b
}

/// A worker whose provider refused it, and what two watchers made of that.
fn limited(b: &TestBoard) {
    task(b, "t_0c9d8e7f", "Write the migration", "luna", "blocked", "");
    attempt(b, ("t_0c9d8e7f", 27, "luna"), (130, Some(121)), Some("crashed"), None);
    event(
        b,
        "t_0c9d8e7f",
        "gave_up",
        121,
        &json!({"failures": 2, "effective_limit": 2, "error": "pid 4242 not alive"}),
    );
    b.sql("UPDATE tasks SET consecutive_failures = 2 WHERE id = 't_0c9d8e7f'");
    b.log(
        "t_0c9d8e7f",
        "Query: work kanban task t_0c9d8e7f\nInitializing agent...\n\
         ⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   \
         🌐 Endpoint: https://api.moon.example/v1\n\
         ❌ Rate limited after 2 retries — HTTP 429: Rate limit reached for requests per min (RPM)\n\n\
         Duration:       8s\nMessages:       1 (1 user, 0 tool calls)\n",
    );
    for (watcher, ago) in [("synthesize-distress", 118), ("route-blocked", 117)] {
        let at = (NOW - ago * 60).to_string();
        // What comes later on the board is left out of what they may see.
        b.sql(&format!("CREATE TABLE later AS SELECT * FROM task_events WHERE created_at > {at}; DELETE FROM task_events WHERE created_at > {at}"));
        let _ = ran(b.command(watcher).arg("--db").arg(&b.db).args(["--now", &at]));
        b.sql("INSERT INTO task_events SELECT * FROM later WHERE id NOT IN (SELECT id FROM task_events); DROP TABLE later");
    }
}

/// Writes the page of the board as it is in the morning.
pub(super) fn write_page(b: &TestBoard, page: &Path) {
    let mut command = b.command("watchbill");
    ran(command.args(["page", "-q", "--now", &NOW.to_string()]).arg(page)).ok();
}

/// A recorded transcript, beside the board.
fn transcript(b: &TestBoard, name: &str) -> String {
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/agents/claude/{name}.jsonl"));
    let to = b.path().join(format!("{name}.jsonl"));
    std::fs::copy(from, &to).unwrap();
    to.to_str().unwrap().to_owned()
}

fn task(b: &TestBoard, id: &str, title: &str, who: &str, status: &str, body: &str) {
    let insert =
        "INSERT INTO tasks (id, title, assignee, status, body, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    b.open().execute(insert, (id, title, who, status, body, NOW - 9 * 3_600)).unwrap();
    event(b, id, "created", 9 * 60, &json!({"status": "ready"}));
}

/// An attempt from so many minutes before now to so many.
fn attempt(
    b: &TestBoard,
    (id, run, who): (&str, i64, &str),
    (from, to): (i64, Option<i64>),
    outcome: Option<&str>,
    log: Option<&str>,
) {
    let conn = b.open();
    let (from_at, to_at) = (NOW - from * 60, to.map(|t| NOW - t * 60));
    let lock = format!("{}:1", hostname());
    conn.execute(
        "INSERT INTO task_runs (id, task_id, profile, status, outcome, started_at, ended_at, claim_lock)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        (run, id, who, outcome.unwrap_or("running"), outcome, from_at, to_at, to.is_none().then_some(&lock)),
    )
    .unwrap();
    if to.is_none() {
        conn.execute(
            "UPDATE tasks SET current_run_id = ?1, claim_lock = ?2, claim_expires = ?3 WHERE id = ?4",
            (run, &lock, NOW + 600, id),
        )
        .unwrap();
    }
    conn.execute(
        "UPDATE tasks SET started_at = min(coalesce(started_at, ?1), ?1) WHERE id = ?2",
        (from_at, id),
    )
    .unwrap();
    let mut payload = json!({"lock": lock});
    if let Some(log) = log {
        payload["watchbill"] = json!({"v": 1, "log": log});
    }
    conn.execute(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES (?1, ?2, 'claimed', ?3, ?4)",
        (id, run, payload.to_string(), from_at),
    )
    .unwrap();
}

fn event(b: &TestBoard, id: &str, kind: &str, minutes_ago: i64, payload: &serde_json::Value) {
    let insert = "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES (?1, ?2, ?3, ?4)";
    b.open().execute(insert, (id, kind, payload.to_string(), NOW - minutes_ago * 60)).unwrap();
}

/// A branch with work within the scope and beside it.
fn works_in(b: &TestBoard, id: &str) {
    let tree = b.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    git(&tree, &["init", "-q"]);
    for file in ["src/parse/date.rs", "src/parse/mod.rs", "src/cli/args.rs", "docs/dates.md"] {
        write(&tree, file, "one\n");
    }
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-qm", "base"]);
    git(&tree, &["checkout", "-qb", "wt/dates"]);
    for file in
        ["src/parse/date.rs", "src/parse/mod.rs", "src/cli/args.rs", "docs/dates.md", "docs/formats.md"]
    {
        write(&tree, file, "two\n");
    }
    let place = "UPDATE tasks SET workspace_kind = 'worktree', workspace_path = ?1 WHERE id = ?2";
    b.open().execute(place, (tree.to_str().unwrap(), id)).unwrap();
}
