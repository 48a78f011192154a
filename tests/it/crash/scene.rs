//! Boards on which one pass has many different things to do, and copies of them.

use std::process::Command;

use rusqlite::{Connection, OpenFlags};
use testkit::generate::NO_PID;

use crate::distress::BUDGET;
use crate::route::{FLEET, LIMITED, REFUSED_KEY};
use crate::support::{Kept, TestBoard, hostname, now, ran};

/// A board, what is run on it, and the moment at which: the same in each copy and each run.
pub(super) struct Scene {
    pub(super) name: &'static str,
    template: TestBoard,
    program: &'static str,
    args: Vec<String>,
    now: i64,
    /// How the same call ends once it is done: a watcher has nothing to do then, a `board` command is refused.
    pub(super) again: i32,
    /// More than one transaction: a crash may fall between two.
    pub(super) parts: usize,
    pub(super) tasks: Vec<String>,
    _kept: Vec<Kept>,
}

impl Scene {
    pub(super) fn of(name: &'static str, template: TestBoard, program: &'static str, args: &[&str]) -> Scene {
        let args = args.iter().map(|a| (*a).to_owned()).collect();
        Scene {
            name,
            template,
            program,
            args,
            now: now(),
            again: 0,
            parts: 1,
            tasks: Vec::new(),
            _kept: Vec::new(),
        }
    }

    /// The program on a copy, as in every other run.
    pub(super) fn command(&self, b: &TestBoard) -> Command {
        let mut command = b.command(self.program);
        command.arg("--db").arg(&b.db).args(["--now", &self.now.to_string()]);
        command.args(self.args.iter().map(|a| a.replace("ROOT", b.path().to_str().unwrap())));
        command.env("WATCHBILL_PASS", "20270115T080000Z-crash-0000").env("HERMES_PROFILE", "luna");
        command
    }

    /// A copy in a folder of its own; nobody has the board open.
    pub(super) fn copy(&self) -> TestBoard {
        copy(&self.template)
    }

    /// The rows as they were.
    pub(super) fn start(&self) -> String {
        let b = self.copy();
        told(&b, b.dump())
    }
}

/// A copy of all files of a root that no process uses now.
pub(super) fn copy(of: &TestBoard) -> TestBoard {
    let dir = tempfile::tempdir().unwrap();
    ran(Command::new("cp").arg("-a").arg(of.path().join(".")).arg(dir.path())).ok();
    let db = dir.path().join("kanban.db");
    TestBoard { dir, db, config: of.config.clone() }
}

/// Text about a copy, without the name of its folder.
pub(super) fn told(b: &TestBoard, text: String) -> String {
    text.replace(b.path().to_str().unwrap(), "ROOT")
}

/// Whether our own memory can be gone on with: not there, empty, or whole. What it holds need not be what an undisturbed
/// pass remembers: a pass that died after its commit leaves nothing to be remembered by the next one.
pub(super) fn memory(b: &TestBoard) -> Result<(), String> {
    let file = b.path().join("state/watchbill/state.db");
    if !file.exists() {
        return Ok(());
    }
    let conn = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let ask =
        |sql: &str| conn.query_row(sql, [], |r| r.get::<_, String>(0)).unwrap_or_else(|e| e.to_string());
    let (sound, version) =
        (ask("PRAGMA integrity_check"), ask("SELECT user_version || '' FROM pragma_user_version"));
    let tables = ask("SELECT count(*) || '' FROM sqlite_schema WHERE type = 'table'");
    match (sound.as_str(), version.as_str(), tables.as_str()) {
        ("ok", "0", "0") | ("ok", "5", "5") => Ok(()),
        _ => Err(format!("our memory: {sound}, layout {version} with {tables} tables")),
    }
}

/// Every case of `heal`. The dead have pids that no process can get while the test runs.
pub(super) fn heal() -> Scene {
    let b = TestBoard::new();
    let (_, kept) = crate::dry::every_case(&b);
    let living: Vec<_> = kept.iter().map(|k| k.pid().to_string()).collect();
    let (living, host) = (living.join(", "), hostname());
    b.sql(&format!(
        "UPDATE tasks SET worker_pid = {NO_PID} + rowid WHERE worker_pid NOT IN ({living});
         UPDATE task_runs SET worker_pid = (SELECT worker_pid FROM tasks WHERE id = task_id) WHERE worker_pid NOT IN ({living});
         UPDATE task_events SET payload = json_set(payload, '$.pid', {NO_PID} + id)
           WHERE kind = 'spawned' AND json_extract(payload, '$.pid') NOT IN ({living});
         UPDATE tasks SET claim_lock = '{host}:' || ({NO_PID} + rowid) WHERE id BETWEEN 't_00000021' AND 't_00000023'"
    ));
    Scene { _kept: kept, ..Scene::of("heal", b, "heal", &[]) }
}

/// So many dead workers that a pass takes two transactions.
pub(super) fn many() -> Scene {
    let b = TestBoard::new();
    let (began, host, claimer) = (now() - 1_800, hostname(), std::process::id());
    b.sql(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 101)
         INSERT INTO tasks (id, title, assignee, status, created_at, started_at, claim_lock, claim_expires, worker_pid, current_run_id)
           SELECT printf('t_7e58%04x', n), 'Task ' || n, 'luna', 'running', {began} - 600, {began}, '{host}:{claimer}',
             {began} + 900, {NO_PID} + n, n FROM n;
         INSERT INTO task_runs (id, task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
           SELECT current_run_id, id, assignee, 'running', claim_lock, claim_expires, worker_pid, started_at FROM tasks;"
    ));
    Scene { parts: 2, ..Scene::of("heal, 101 tasks", b, "heal", &[]) }
}

/// Cards, an incident that four sources share, moves at once, and ready work of a limited provider.
pub(super) fn distress() -> Scene {
    let mut b = TestBoard::new();
    for (n, line) in
        [LIMITED, LIMITED, REFUSED_KEY, REFUSED_KEY, REFUSED_KEY, REFUSED_KEY, BUDGET].iter().enumerate()
    {
        b.died_of(&format!("t_{n:08x}"), line);
    }
    b.add("t_000000aa", "ready");
    b.config.push_str(FLEET);
    Scene::of("synthesize-distress", b, "synthesize-distress", &[])
}

/// A decision to carry out, moves to a fallback that was named meanwhile, and a card whose source moved on; on a board of
/// our own, whose log is checkpointed into the board at the end.
pub(super) fn route() -> Scene {
    let mut b = TestBoard::own();
    b.config.push_str("[distress]\nstorm = \"off\"\n[routing]\nat_once = 100\n");
    let settle = |b: &TestBoard| ran(&mut b.command("synthesize-distress")).ok();
    for id in ["t_000000a1", "t_000000a2"] {
        b.died_of(id, REFUSED_KEY);
    }
    settle(&b);
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED] t_000000a1 %'");
    let route =
        serde_json::json!({"route": {"task": "t_000000a1", "action": "reassign", "assignee": "nova"}});
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &card, "--metadata", &route.to_string()]).ok();
    b.sql("UPDATE tasks SET status = 'done' WHERE id = 't_000000a2'");
    for n in 0..4 {
        b.died_of(&format!("t_{n:08x}"), LIMITED);
    }
    settle(&b);
    b.config.push_str(FLEET);
    Scene::of("route-blocked", b, "route-blocked", &[])
}

/// Comments, cards and a page about work that is over its time.
pub(super) fn budget() -> Scene {
    let b = TestBoard::new();
    for n in 0..3 {
        let body = "## Scope\n- In scope: `api/**`, `web/**`\n- Time budget: 10m\n";
        b.runs(&format!("t_{n:08x}"), body, 700);
    }
    let args = ["--comment", "--distress", "--html", "ROOT/page.html"];
    Scene::of("budget-check", b, "budget-check", &args)
}

/// A worker that takes the next task.
pub(super) fn claim() -> Scene {
    let b = TestBoard::new();
    b.add("t_00000001", "ready");
    let worker = crate::support::stranger();
    let args = ["claim", "--worker", "luna", "--pid", &worker.pid().to_string()];
    Scene { _kept: vec![worker], ..Scene::of("board claim", b, "board", &args) }
}

/// A worker's stop with a card.
pub(super) fn block() -> Scene {
    let b = TestBoard::own();
    b.runs("t_00000001", "", 60);
    let args = ["block", "t_00000001", "--type", "rate_limited"];
    Scene::of("board block", b, "board", &args)
}

/// A worker's success, which lets another task go.
pub(super) fn complete() -> Scene {
    let b = TestBoard::own();
    b.runs("t_00000001", "", 60);
    b.add("t_00000002", "todo");
    b.sql("INSERT INTO task_links VALUES ('t_00000001', 't_00000002')");
    let args = ["complete", "t_00000001", "--summary", "done"];
    Scene { again: 1, ..Scene::of("board complete", b, "board", &args) }
}

/// Work of the real Hermes' making whose workers are gone.
pub(super) fn hermes() -> Option<Scene> {
    let home = crate::hermes::home::Home::new()?;
    let tasks: Vec<_> = (0..4).map(|n| home.claimed(&[], Some(NO_PID + n))).collect();
    home.age(3_000);
    let scene = Scene::of("heal, a board of Hermes", home.into_board(), "heal", &[]);
    Some(Scene { tasks, ..scene })
}
