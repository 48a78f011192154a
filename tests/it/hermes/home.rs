//! A home of its own for the real Hermes, and helpers that call it.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::python::python_home;
use super::warm;
use crate::support::{Ran, TestBoard, executable, is_gone, program, ran};

/// The longest a real worker may take to do what it was started for.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What keeps a worker's end near: few retries, few turns.
pub const QUICK: &str = "agent: {api_max_retries: 2, max_turns: 6}\n";

/// The API key of every profile. As long as the longest real ones, so that Hermes breaks it over several lines where it
/// draws a box, and made up here, so that no scanner takes it for one.
pub fn key() -> String {
    let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let step = |n: &mut usize| {
        *n = (*n * 1_103 + 12_345) % 65_537;
        Some(char::from(letters[*n % letters.len()]))
    };
    format!("sk-proj-{}", std::iter::repeat_n((), 156).scan(7, |n, ()| step(n)).collect::<String>())
}

/// A private Hermes home whose default board the real Hermes made, with all of [`TestBoard`]'s methods.
pub struct Home {
    board: TestBoard,
    python: PathBuf,
}

impl Deref for Home {
    type Target = TestBoard;
    fn deref(&self) -> &TestBoard {
        &self.board
    }
}

impl Home {
    /// `None` where the real Hermes is to be left out.
    pub fn new() -> Option<Home> {
        let home = Home::bare()?;
        home.hermes(&["init"]).ok();
        home.profile("luna", "http://127.0.0.1:9/nobody/v1");
        Some(home)
    }

    /// The same whose Hermes renames its processes to `hermes`.
    #[cfg(feature = "real")]
    pub fn renaming() -> Option<Home> {
        let home = Home::with(super::python::renaming_home()?);
        home.hermes(&["init"]).ok();
        Some(home)
    }

    /// The same of Hermes 0.22.2, which starts as many workers as there is work for.
    #[cfg(feature = "real")]
    pub fn newer() -> Option<Home> {
        let home = Home::with(super::python::newer_home()?);
        std::fs::write(home.path().join("config.yaml"), "kanban: {max_in_progress: 99}\n").unwrap();
        home.hermes(&["init"]).ok();
        Some(home)
    }

    /// The same without board and profiles yet.
    pub fn bare() -> Option<Home> {
        Some(Home::with(python_home()?))
    }

    /// The same of Hermes 0.22.2.
    #[cfg(feature = "real")]
    pub fn bare_newer() -> Option<Home> {
        Some(Home::with(super::python::newer_home()?))
    }

    fn with(python: PathBuf) -> Home {
        let dir = tempfile::tempdir().unwrap();
        // Hermes' advice on scratch workspaces, once for each home, would bury what a failed test says.
        std::fs::write(dir.path().join(".scratch_tip_shown"), "").unwrap();
        let db = dir.path().join("kanban.db");
        let board = TestBoard { dir, db, config: "[host]\npid_namespace = \"same\"\n".into() };
        Home { board, python }
    }

    /// The real Hermes, as its dispatcher starts workers.
    pub fn real_worker(&self) -> PathBuf {
        self.python.join("bin/hermes")
    }

    /// The real Hermes over a copy of a board that it made.
    #[cfg(feature = "real")]
    pub fn over(board: TestBoard) -> Option<Home> {
        python_home().map(|python| Home { board, python })
    }

    /// The board alone, to be copied.
    #[cfg(feature = "real")]
    pub fn into_board(self) -> TestBoard {
        self.board
    }

    /// Makes or changes a profile that talks to this endpoint. A provider is told by its name and by its host and port, so
    /// each port has a name of its own.
    pub fn profile(&self, name: &str, endpoint: &str) {
        let port = endpoint.split([':', '/']).nth(4).unwrap();
        let provider = format!("{{base_url: '{endpoint}', api_key: {}, default_model: m1}}", key());
        self.configured(
            name,
            &format!(
                "model: {{provider: fake-{port}, default: m1}}\nproviders:\n  fake-{port}: {provider}\n{QUICK}"
            ),
        );
    }

    /// Makes or changes a profile with this text as its configuration.
    pub fn configured(&self, name: &str, text: &str) {
        let folder = self.path().join("profiles").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.yaml"), text).unwrap();
    }

    /// Adds to the configuration of our programs.
    pub fn configure(&mut self, text: &str) {
        self.board.config.push_str(text);
    }

    /// Lets login shells, as which Hermes' terminal tool runs commands, find Hermes and the built programs.
    pub fn login_path(&self) {
        let ours = Path::new(program("board")).parent().unwrap();
        let text = format!("PATH={}:{}:$PATH\n", self.python.join("bin").display(), ours.display());
        std::fs::write(self.path().join(".profile"), text).unwrap();
    }

    /// One tick of the real dispatcher once nothing of what it started before lives any more, and a minute later.
    #[track_caller]
    pub fn tick(&self, args: &[&str]) -> Value {
        self.await_workers();
        self.age(60);
        self.ask(&[&["dispatch"], args].concat())
    }

    /// Waits until the worker of every running task has ended.
    #[track_caller]
    pub fn await_workers(&self) {
        let pids =
            self.value("SELECT coalesce(group_concat(worker_pid), '') FROM tasks WHERE status = 'running'");
        pids.split(',').filter_map(|pid| pid.parse().ok()).for_each(|pid| self.await_end(pid));
    }

    /// A program of Hermes' environment in this home, with nothing of this machine's variables.
    pub fn run(&self, program: &str) -> Command {
        let bin = self.python.join("bin");
        let mut command = Command::new(bin.join(program));
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", self.path())
            .env("HERMES_HOME", self.path())
            // Texts of 0.22 for which the tests' package has no catalogue; 0.19 knows no such variable.
            .env(
                "HERMES_BUNDLED_LOCALES",
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hermes-locales"),
            )
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command line of Hermes, as [`Home::run`] gives it.
    pub fn ran(&self, hermes: &Command) -> Ran {
        warm::ran(&self.python, hermes)
    }

    /// `hermes kanban ...`.
    pub fn hermes(&self, args: &[&str]) -> Ran {
        self.ran(self.run("hermes").arg("kanban").args(args))
    }

    /// `hermes kanban ... --json`.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Value {
        self.ran(self.run("hermes").arg("kanban").args(args).arg("--json")).json()
    }

    /// Makes a task with `hermes kanban create` and returns its id.
    #[track_caller]
    pub fn create(&self, args: &[&str]) -> String {
        let assign: &[&str] = if args.contains(&"--assignee") { &[] } else { &["--assignee", "luna"] };
        let made = self.ask(&[&["create", "Count the lanterns"], args, assign].concat());
        made["id"].as_str().unwrap().to_owned()
    }

    /// A task claimed with `hermes kanban claim`, with `pid` recorded as its worker by Hermes' own code.
    #[track_caller]
    pub fn claimed(&self, args: &[&str], pid: Option<i64>) -> String {
        let task = self.create(args);
        self.hermes(&["claim", &task]).ok();
        if let Some(pid) = pid {
            self.spawned(&task, pid);
        }
        task
    }

    /// Hermes' own code records `pid` as the worker of a claimed task, as its dispatcher does.
    #[track_caller]
    pub fn spawned(&self, task: &str, pid: i64) {
        let code = "import sys; from hermes_cli import kanban_db as kb; c = kb.connect(); \
                    kb._set_worker_pid(c, sys.argv[1], int(sys.argv[2])); c.close()";
        ran(self.run("python").args(["-c", code, task, &pid.to_string()])).ok();
    }

    /// Two attempts by the real dispatcher, each with a worker that dies at once: Hermes' breaker gives the task up.
    #[track_caller]
    pub fn give_up_for_real(&self, task: &str) {
        for _ in 0..3 {
            self.ran(self.run("hermes").args(["kanban", "dispatch"]).env("HERMES_BIN", "/bin/false")).ok();
            self.age(60);
        }
        assert_eq!(self.task(task, "status"), "blocked");
        assert!(self.kinds(task).ends_with("crashed gave_up"), "{}", self.kinds(task));
    }

    /// A worker that ends soon as the log of this fixture says it, at this endpoint, and with this exit code; other
    /// profiles than this one get the real worker.
    pub fn ending(&self, profile: &str, fixture: &str, endpoint: &str, code: u8) -> PathBuf {
        let (script, log) = (self.path().join("ends"), self.path().join("ends.log"));
        std::fs::write(&log, last_words(fixture, endpoint)).unwrap();
        let real = self.real_worker();
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *\"-p {profile} \"*) ;; *) exec {} \"$@\" ;; esac\n\
             echo \"Query: work kanban task $HERMES_KANBAN_TASK\"\ncat {}\n\
             sleep {} # else Python loses its exit code when it starts the next one\nexit {code}\n",
            real.display(),
            log.display(),
            // Where that code is all there is to tell.
            if code == 75 { 8 } else { 1 }
        );
        executable(&script, text);
        script
    }

    /// Ticks of the real dispatcher for the workers of [`Home::ending`], until it gave their tasks up: one by one after the
    /// second attempt, three and more after the first.
    #[track_caller]
    pub fn ends_on(&self, profile: &str, fixture: &str, endpoint: &str) {
        let script = self.ending(profile, fixture, endpoint, 1);
        for _ in 0..4 {
            let mut command = self.run("hermes");
            command.args(["kanban", "dispatch", "--failure-limit", "1"]).env("HERMES_BIN", &script);
            self.ran(&command).ok();
            self.await_workers();
            self.age(60);
            if self.value("SELECT count(*) FROM tasks WHERE status = 'running'") == "0" {
                return;
            }
        }
        panic!("the tasks of {profile} are not given up");
    }

    /// One round of our programs as a timer runs them, and all that they said to a person.
    #[track_caller]
    pub fn round(&self) -> String {
        let mut said = String::new();
        for name in ["heal", "synthesize-distress", "route-blocked"] {
            let ran = ran(&mut self.command(name));
            // 1 is for a finding, 75 for a board that is busy.
            assert!([0, 1, 75].contains(&ran.code), "{name}: {ran:?}");
            said.push_str(&ran.err);
        }
        said
    }

    /// One pass of `route-blocked`, and what it says to a person.
    #[track_caller]
    pub fn route(&self) -> String {
        let ran = ran(&mut self.command("route-blocked"));
        assert!([0, 1].contains(&ran.code), "{ran:?}");
        ran.err
    }

    /// Lets this many seconds pass: everything on the board and in the logs happened that much earlier.
    pub fn age(&self, seconds: i64) {
        let mut sql = String::new();
        for (table, columns) in [
            ("tasks", "created_at started_at completed_at last_heartbeat_at claim_expires"),
            ("task_runs", "started_at ended_at last_heartbeat_at claim_expires"),
            ("task_events", "created_at"),
            ("task_comments", "created_at"),
        ] {
            let set: Vec<_> = columns.split(' ').map(|c| format!("{c} = {c} - {seconds}")).collect();
            sql.push_str(&format!("UPDATE {table} SET {};", set.join(", ")));
        }
        // What our own trail says about time ages with it.
        for path in [
            "$.watchbill.hold.until",
            "$.watchbill.hold.next",
            "$.watchbill.hold.since",
            "$.watchbill.died",
            "$.watchbill.began",
            "$.watchbill.resets",
            "$.watchbill.heard",
            "$.until",
        ] {
            sql.push_str(&format!(
                "UPDATE task_events SET payload = json_set(payload, '{path}', json_extract(payload, '{path}') - {seconds})
                   WHERE json_valid(payload) AND json_extract(payload, '{path}') IS NOT NULL;"
            ));
        }
        self.sql(&sql);
        let logs = std::fs::read_dir(self.path().join("kanban/logs")).into_iter().flatten();
        // A profile's configuration was written that much earlier too.
        let profiles = std::fs::read_dir(self.path().join("profiles")).into_iter().flatten();
        let configs = profiles.map(|p| p.unwrap().path().join("config.yaml")).filter(|p| p.exists());
        for file in logs.map(|l| l.unwrap().path()).chain(configs) {
            let file = File::options().append(true).open(file).unwrap();
            let at: SystemTime = file.metadata().unwrap().modified().unwrap();
            file.set_modified(at - Duration::from_secs(seconds.unsigned_abs())).unwrap();
        }
    }

    /// One pass of `heal` over the default board, and what it says of it. Where that only notes the trees of workers which it
    /// first sees dead, the pass a minute later.
    #[track_caller]
    pub fn pass(&self) -> Said {
        let once = || self.heal(&["--json", "-v"]).json()["boards"][0].clone();
        let said = once();
        let (noted, done): (Vec<Value>, Vec<Value>) = said["steps"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .partition(|s| s["action"] == "note");
        if noted.is_empty() {
            return Said(said);
        }
        self.age(60);
        let mut then = once();
        then["steps"].as_array_mut().unwrap().extend(done);
        Said(then)
    }

    /// Waits until a task has this status.
    #[track_caller]
    pub fn await_status(&self, task: &str, status: &str) {
        self.wait(&format!("{task} to be {status}"), || self.task(task, "status") == status);
    }

    /// Waits until a process has ended, or is a zombie.
    #[track_caller]
    pub fn await_end(&self, pid: i64) {
        self.wait(&format!("process {pid} to end"), || is_gone(pid));
    }

    #[track_caller]
    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let began = Instant::now();
        while !done() {
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// `kill -9` for the worker of a task and everything in its process group.
    #[track_caller]
    pub fn kill_worker(&self, task: &str) -> i64 {
        let pid: i64 = self.task(task, "worker_pid").parse().unwrap();
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(command.contains(&format!("kanban task {task}")), "not our worker: {command}");
        let group = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process_group(group, Signal::KILL).unwrap();
        self.await_end(pid);
        pid
    }

    /// Kinds of a task's events, oldest first, without those that come with every real worker.
    pub fn way(&self, task: &str) -> String {
        let noise = ["tip_scratch_workspace", "heartbeat", "claim_extended"];
        self.kinds(task).split(' ').filter(|k| !noise.contains(k)).collect::<Vec<_>>().join(" ")
    }

    /// Everything the board says of a task, to compare before and after.
    pub fn rows(&self, task: &str) -> String {
        let conn = self.open();
        let mut all = String::new();
        for (table, key) in [
            ("tasks", "id"),
            ("task_runs", "task_id"),
            ("task_events", "task_id"),
            ("task_comments", "task_id"),
        ] {
            let mut statement = conn.prepare(&format!("SELECT * FROM {table} WHERE {key} = ?")).unwrap();
            let n = statement.column_count();
            let mut rows = statement.query([task]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values: Vec<_> =
                    (0..n).map(|i| row.get::<_, rusqlite::types::Value>(i).unwrap()).collect();
                all.push_str(&format!("{table}: {values:?}\n"));
            }
        }
        all
    }

    /// The tasks that the real dispatcher would start now.
    #[track_caller]
    pub fn would_start(&self) -> Vec<String> {
        let plan = self.ask(&["dispatch", "--dry-run"]);
        plan["spawned"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["task_id"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// What the first attempt in this recorded log wrote after its first line, with this endpoint in the place of its own.
pub fn last_words(fixture: &str, endpoint: &str) -> String {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hermes-logs").join(fixture);
    let said = std::fs::read_to_string(fixture).unwrap();
    // Hermes that cannot read its configuration does not come so far.
    let Some(attempt) = said.split("Query: work kanban task ").nth(1) else { return said };
    let (_, attempt) = attempt.split_once('\n').unwrap();
    let Some(mode) = attempt.split("http://127.0.0.1:18471/").nth(1) else { return attempt.to_owned() };
    let mode = mode.split('/').next().unwrap();
    attempt.replace(&format!("http://127.0.0.1:18471/{mode}/v1"), endpoint)
}

/// What `heal` said about one board.
pub struct Said(pub Value);

impl Said {
    /// What became of a task, in one line: `requeue dead-worker: ...`, `left: ...`, `unknown: ...`, or nothing.
    pub fn of(&self, task: &str) -> String {
        let find = |list: &str| self.0[list].as_array().unwrap().iter().find(|s| s["task"] == task).cloned();
        let text = |v: &Value, key: &str| v[key].as_str().unwrap_or("").to_owned();
        if let Some(s) = find("steps") {
            assert_eq!(s["outcome"], "applied", "{s}");
            return format!("{} {}: {}", text(&s, "action"), text(&s, "case"), text(&s, "because"));
        }
        let left = find("skipped").map(|s| format!("left: {}", text(&s, "because")));
        left.or_else(|| find("unknown").map(|s| format!("unknown: {}", text(&s, "because"))))
            .unwrap_or_default()
    }

    /// How many steps were carried out.
    pub fn steps(&self) -> usize {
        self.0["steps"].as_array().unwrap().len()
    }
}
