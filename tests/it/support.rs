//! A board in a temporary folder, the programs run against it with nothing of this machine's environment, and facts
//! back out.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use rusqlite::Connection;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;

/// The path of a built program.
pub fn program(name: &str) -> &'static str {
    match name {
        "heal" => env!("CARGO_BIN_EXE_heal"),
        "synthesize-distress" => env!("CARGO_BIN_EXE_synthesize-distress"),
        "route-blocked" => env!("CARGO_BIN_EXE_route-blocked"),
        "budget-check" => env!("CARGO_BIN_EXE_budget-check"),
        "board" => env!("CARGO_BIN_EXE_board"),
        "coord" => env!("CARGO_BIN_EXE_coord"),
        "watchbill" => env!("CARGO_BIN_EXE_watchbill"),
        other => panic!("no program {other}"),
    }
}

/// Seconds since the epoch, now.
pub fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// Now, or where this machine was started later than so many seconds ago, the moment from which that excuses nobody.
pub fn settled(seconds: i64) -> i64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let booted: i64 = stat.lines().find_map(|line| line.strip_prefix("btime ")).unwrap().parse().unwrap();
    now().max(booted + seconds + 10)
}

/// This machine's name, as Hermes writes it into claims.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_str().unwrap().to_owned()
}

/// Waits until something is so; a process needs a moment to be what it was started as.
#[track_caller]
pub fn until(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(120), "never became so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes a program with these bytes. A process of its own writes it: a file that is open for writing cannot be started, and
/// what this process has open every child that another thread starts just then has too, for a moment.
#[track_caller]
pub fn executable(path: &Path, bytes: impl AsRef<[u8]>) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut install = install.spawn().unwrap();
    install.stdin.take().unwrap().write_all(bytes.as_ref()).unwrap();
    assert!(install.wait().unwrap().success(), "{}", path.display());
}

/// What a program said and how it ended.
#[must_use = "look at the exit code, or call ok()"]
#[derive(Debug, Clone)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// What can be asserted of it; a failure shows both outputs as they were printed.
    fn assert(&self) -> Assert {
        Assert::new(Output {
            status: ExitStatus::from_raw(self.code << 8),
            stdout: self.out.clone().into_bytes(),
            stderr: self.err.clone().into_bytes(),
        })
    }

    /// Stdout of a program that ended with 0.
    #[track_caller]
    pub fn ok(self) -> String {
        self.assert().success();
        self.out
    }

    /// Stdout of a program that ended with 0, as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        self.assert().success();
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The stderr of a program that ended with this code: exactly one line.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        self.assert().code(code);
        assert_eq!(self.err.trim_end().lines().count(), 1, "one clear line, not: {self:?}");
        self.err.trim_end().to_owned()
    }
}

impl From<Output> for Ran {
    fn from(out: Output) -> Ran {
        Ran {
            code: out.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&out.stdout).into_owned(),
            err: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }
}

/// A process that ends with the test that started it.
pub struct Kept(pub Child);

impl Kept {
    pub fn pid(&self) -> i64 {
        i64::from(self.0.id())
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// `kill -9`, and reaped.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a process has ended as a whole, collected or not: its first thread may be gone while others are still ending.
pub fn is_gone(pid: i64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&at_once)).unwrap() > 0
}

/// A real process that carries the marks of the worker of a run, as Hermes starts them. Ends by itself in ten minutes. All tests see
/// it: a task of its own id and run that is dead elsewhere would not look dead.
pub fn worker(task: &str, run: i64) -> Kept {
    let mut command = Command::new("sleep");
    command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("HERMES_KANBAN_TASK", task).env("HERMES_KANBAN_RUN_ID", run.to_string());
    Kept(command.spawn().unwrap())
}

/// Field 22 of a process' `stat`.
pub fn start_ticks(pid: i64) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(22 - 3).unwrap().to_owned()
}

/// A start in this boot, as Hermes later than 0.21.3 writes it.
pub fn birth(ticks: &str) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    format!("{}:{}|{ticks}", boot.trim(), start_ticks(1))
}

/// A real process that has nothing to do with any task.
pub fn stranger() -> Kept {
    let mut command = Command::new("sleep");
    command.arg("600").env_clear().env("PATH", "/usr/bin:/bin");
    Kept(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A pid that was real and is gone now.
pub fn dead_pid() -> i64 {
    let mut child = stranger();
    child.kill();
    child.pid()
}

/// A Hermes root in a temporary folder, with a board of Hermes' shape (tables of 0.19, no mark of Watchbill).
pub struct TestBoard {
    pub dir: tempfile::TempDir,
    pub db: PathBuf,
    pub config: String,
}

impl TestBoard {
    /// A board as Hermes makes it; no dispatcher is known.
    pub fn new() -> TestBoard {
        let board = TestBoard::own();
        board.sql("PRAGMA application_id = 0");
        board
    }

    /// A board as `board init` makes it, at the place of a Hermes default board.
    pub fn own() -> TestBoard {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("kanban/logs")).unwrap();
        let db = dir.path().join("kanban.db");
        let board = TestBoard { dir, db, config: "[host]\npid_namespace = \"same\"\n".into() };
        board.hand(&["init", board.db.to_str().unwrap()]).ok();
        board
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Gives it the columns in which Hermes later than 0.21.3 keeps when a worker started.
    pub fn keeps_starts(&self) {
        let column = "ADD COLUMN worker_started_at TEXT";
        self.sql(&format!("ALTER TABLE tasks {column}; ALTER TABLE task_runs {column}"));
    }

    /// When the worker of a task started, by its row and by its newest run.
    pub fn starts(&self, task: &str) -> [String; 2] {
        let run = "SELECT worker_started_at FROM task_runs WHERE task_id";
        let run = self.value(&format!("{run} = '{task}' ORDER BY id DESC LIMIT 1"));
        [self.task(task, "worker_started_at"), run]
    }

    /// Runs SQL on the board, as another program that breaks it.
    #[track_caller]
    pub fn sql(&self, sql: &str) {
        self.open().execute_batch(sql).unwrap();
    }

    /// A connection of another process.
    pub fn open(&self) -> Connection {
        let conn = Connection::open(&self.db).unwrap();
        conn.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        conn
    }

    /// One value, as text (`NULL` for none).
    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        self.open().query_row(sql, [], |r| Ok(shown(r.get_ref(0)?))).unwrap()
    }

    /// A column of a task.
    #[track_caller]
    pub fn task(&self, id: &str, column: &str) -> String {
        self.value(&format!("SELECT {column} FROM tasks WHERE id = '{id}'"))
    }

    /// Kinds of a task's events, oldest first, separated by spaces.
    pub fn kinds(&self, id: &str) -> String {
        self.value(&format!(
            "SELECT coalesce(group_concat(kind, ' '), '') FROM (SELECT kind FROM task_events WHERE task_id = '{id}' ORDER BY id)"
        ))
    }

    /// The payload of a task's newest event of a kind.
    #[track_caller]
    pub fn payload(&self, id: &str, kind: &str) -> Value {
        let text = self.value(&format!(
            "SELECT payload FROM task_events WHERE task_id = '{id}' AND kind = '{kind}' ORDER BY id DESC LIMIT 1"
        ));
        serde_json::from_str(&text).unwrap()
    }

    /// Every row of every table, as text: equal before and after where nothing may change.
    pub fn dump(&self) -> String {
        let conn = self.open();
        let mut all = String::new();
        for table in
            ["tasks", "task_runs", "task_events", "task_comments", "task_links", "kanban_notify_subs"]
        {
            let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
            let n = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values: Vec<String> = (0..n).map(|i| shown(row.get_ref(i).unwrap())).collect();
                all.push_str(&format!("{table}: {}\n", values.join(" | ")));
            }
        }
        all
    }

    /// A task in a state, made an hour ago.
    pub fn add(&self, id: &str, status: &str) {
        let at = now() - 3_600;
        self.sql(&format!(
            "INSERT INTO tasks (id, title, assignee, status, created_at) VALUES ('{id}', 'Task {id}', 'luna', '{status}', {at});
             INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'created', '{{\"status\":\"ready\"}}', {at});"
        ));
    }

    /// Puts a task into the state a claim and a spawn leave it in, `ago` seconds ago; returns the run.
    pub fn run_it(&self, id: &str, pid: Option<i64>, ago: i64) -> i64 {
        let at = now() - ago;
        let expires = now() + 600;
        let pid_sql = pid.map_or("NULL".to_owned(), |p| p.to_string());
        let lock = format!("{}:{}", hostname(), std::process::id());
        let conn = self.open();
        conn.execute_batch(&format!(
            "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
               VALUES ('{id}', 'luna', 'running', '{lock}', {expires}, {pid_sql}, {at});
             UPDATE tasks SET status = 'running', claim_lock = '{lock}', claim_expires = {expires}, worker_pid = {pid_sql},
               started_at = coalesce(started_at, {at}), current_run_id = last_insert_rowid() WHERE id = '{id}';"
        ))
        .unwrap();
        let run: i64 = conn.query_row("SELECT max(id) FROM task_runs", [], |r| r.get(0)).unwrap();
        conn.execute_batch(&format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               VALUES ('{id}', {run}, 'claimed', '{{\"lock\":\"{lock}\",\"expires\":{expires},\"run_id\":{run}}}', {at});"
        ))
        .unwrap();
        if let Some(pid) = pid {
            conn.execute_batch(&format!(
                "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
                   VALUES ('{id}', {run}, 'spawned', '{{\"pid\":{pid}}}', {at});"
            ))
            .unwrap();
        }
        run
    }

    /// A task that Hermes' breaker gave up `ago` seconds ago with this error text.
    pub fn give_up(&self, id: &str, error: &str, ago: i64) {
        let at = now() - ago;
        self.add(id, "blocked");
        self.sql(&format!(
            "UPDATE tasks SET consecutive_failures = 2, last_failure_error = '{error}' WHERE id = '{id}';
             INSERT INTO task_runs (task_id, profile, status, outcome, error, started_at, ended_at)
               VALUES ('{id}', 'luna', 'crashed', 'crashed', '{error}', {at} - 60, {at});
             INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
               ('{id}', (SELECT max(id) FROM task_runs), 'claimed', '{{\"lock\":\"{host}:{pid}\"}}', {at} - 60),
               ('{id}', (SELECT max(id) FROM task_runs), 'crashed', '{{\"pid\":1}}', {at}),
               ('{id}', NULL, 'gave_up', '{{\"failures\":2,\"effective_limit\":2,\"limit_source\":\"dispatcher\",\"error\":\"{error}\",\"trigger_outcome\":\"crashed\"}}', {at});",
            host = hostname(),
            pid = std::process::id(),
        ));
    }

    /// Writes a task's worker log.
    pub fn log(&self, id: &str, text: &str) {
        std::fs::write(self.path().join(format!("kanban/logs/{id}.log")), text).unwrap();
    }

    /// A program on this board, in an environment of its own.
    pub fn command(&self, name: &str) -> Command {
        let config = self.path().join("watchbill.toml");
        // Not anew each time: a pass that runs already may read it now, and would find half of it.
        if std::fs::read_to_string(&config).ok().as_ref() != Some(&self.config) {
            std::fs::write(&config, &self.config).unwrap();
        }
        let mut command = Command::new(program(name));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("HERMES_HOME", self.path())
            .env("WATCHBILL_CONFIG", config)
            .env("TZ", "UTC")
            // The home: no folder that a claim would record as the place of work.
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// The environment [`TestBoard::command`] gives, for programs that start ours.
    pub fn environment(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let command = self.command("heal");
        command.get_envs().filter_map(|(k, v)| Some((k.to_owned(), v?.to_owned()))).collect()
    }

    /// What a command line shows on a terminal, run in the root with the environment of our programs.
    pub fn on_a_terminal(&self, line: &str) -> String {
        let mut script = Command::new("script");
        script.args(["-qec", line, "/dev/null"]).current_dir(self.path()).env_clear();
        ran(script.envs(self.environment()).stdin(Stdio::null())).ok()
    }

    /// Runs `heal` on this root.
    pub fn heal(&self, args: &[&str]) -> Ran {
        ran(self.command("heal").args(args))
    }

    /// Runs `heal` on this board as it will be in `seconds`. Processes keep their real starts, so rows made now are old
    /// by then also on a machine that was started a minute ago.
    pub fn later(&self, seconds: i64, args: &[&str]) -> Ran {
        let at = (now() + seconds).to_string();
        ran(self.command("heal").arg("--db").arg(&self.db).args(["--now", &at]).args(args))
    }

    /// As if passes had watched the clock of this machine for a day.
    pub fn watched(&self) {
        let other = TestBoard::new();
        other.add("t_0a7c4ed0", "ready");
        other.run_it("t_0a7c4ed0", Some(i64::from(std::process::id())), 5);
        ran(other.command("heal").env("XDG_STATE_HOME", self.path().join("state"))).ok();
        self.remembers_more(86_400);
    }

    /// As if the memory of the passes, and what they saw of the clock, were older by so many seconds.
    pub fn remembers_more(&self, seconds: i64) {
        self.remembers_less_of("clock-", seconds);
    }

    /// As if the machine had been suspended for so many seconds since the last pass.
    pub fn slept(&self, seconds: i64) {
        self.remembers_less_of("slept:", seconds);
    }

    /// As if the last pass that saw it awake again had been so many seconds earlier.
    pub fn is_awake_for(&self, seconds: i64) {
        self.remembers_less_of("woke:", seconds);
    }

    fn remembers_less_of(&self, what: &str, seconds: i64) {
        let memory = Connection::open(self.path().join("state/watchbill/state.db")).unwrap();
        let less = format!("UPDATE sightings SET since = since - {seconds} WHERE key LIKE '{what}%'");
        assert!(memory.execute(&less, []).unwrap() > 0, "{what}");
    }

    /// Runs `board` on this board.
    pub fn hand(&self, args: &[&str]) -> Ran {
        ran(self.command("board").arg("--db").arg(&self.db).args(args))
    }
}

/// A value as SQLite's own shell would show it, `NULL` for none.
fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef::{Blob, Integer, Null, Real, Text};
    match value {
        Null => "NULL".to_owned(),
        Integer(n) => n.to_string(),
        Real(f) => f.to_string(),
        Text(t) | Blob(t) => String::from_utf8_lossy(t).into_owned(),
    }
}

/// Processes with the mark of this task in their environment.
pub fn marked(task: &str) -> Vec<i64> {
    let mark = format!("HERMES_KANBAN_TASK={task}");
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<i64>().ok());
    let is_ours = |pid: &i64| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|v| v == mark.as_bytes())
    };
    pids.filter(is_ours).collect()
}

/// Runs a command to its end.
pub fn ran(command: &mut Command) -> Ran {
    command.assert().get_output().clone().into()
}

/// Kills a program at 30 moments, each time on a new board, and has it run again: what is there then is all that one pass makes.
pub fn killed_anywhere(
    program: &str,
    board: fn() -> TestBoard,
    whole: fn(&TestBoard) -> String,
    all: &str,
    again: impl Fn(&TestBoard),
) {
    const ROUNDS: u32 = 30;
    let undisturbed = board();
    let began = Instant::now();
    ran(&mut undisturbed.command(program)).ok();
    let mut took = began.elapsed();
    assert_eq!(whole(&undisturbed), all);
    let mut killed = 0;
    for round in 0..ROUNDS {
        let b = board();
        let mut command = b.command(program);
        let mut child = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let began = Instant::now();
        while began.elapsed() * ROUNDS < took * round && child.is_running() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = child.0.kill();
        match child.0.wait().unwrap().signal() {
            Some(9) => killed += 1,
            // The first one was held up, and this is how long it takes.
            _ => took = took.min(began.elapsed()),
        }
        whole(&b);
        again(&b);
        assert_eq!(whole(&b), all, "round {round}");
    }
    assert!(killed >= 8, "only {killed} of {ROUNDS} rounds were killed");
}

impl TestBoard {
    /// Like [`TestBoard::dump`] for boards that have no table of runs.
    pub fn dump_without_runs(&self) -> String {
        let conn = self.open();
        let rows = |sql: &str| -> Vec<String> {
            let mut statement = conn.prepare(sql).unwrap();
            statement.query_map([], |r| r.get::<_, String>(0)).unwrap().map(Result::unwrap).collect()
        };
        let tasks =
            rows("SELECT id || status || ifnull(claim_lock, '-') || ifnull(worker_pid, 0) FROM tasks");
        let events = rows("SELECT id || kind || ifnull(payload, '-') FROM task_events");
        format!("{tasks:?} {events:?}")
    }
}
