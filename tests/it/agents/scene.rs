//! A task of two steps in a git tree, real agents that work on it, and what is seen of them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::model::{Answer, FIRST, Model, SECOND};
use super::tongue::{Agent, Tongue};
use crate::support::{Kept, Ran, TestBoard, marked, program, ran};

/// The longest a real agent may take to do what it was started for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The task's own text.
pub const BODY: &str = "Light the lanterns in one.txt, then add a line to two.txt. Then say that it is done.";

/// A task, its tree, and a provider that knows how to do it.
pub struct Scene {
    pub tree: PathBuf,
    pub task: String,
    pub model: Model,
    agent: Agent,
    /// The folder with the agents' programs.
    bin: PathBuf,
    /// The home of the agents.
    home: PathBuf,
}

impl Scene {
    /// Adds the task to a board, with a git tree of its own.
    pub fn new(board: &TestBoard, agent: Agent, bin: PathBuf) -> Scene {
        // As the agents write it: names are compared.
        let home = fs::canonicalize(board.path()).unwrap();
        let tree = home.join("work");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("README"), "lanterns\n").unwrap();
        git(&tree, &["init", "-q"]);
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-qm", "begin"]);
        let added = board.hand(&["add", "Light the lanterns", "--assignee", "luna", "--body", BODY]);
        let task = added.ok().trim().to_owned();
        board.sql(&format!(
            "UPDATE tasks SET workspace_kind = 'dir', workspace_path = '{}' WHERE id = '{task}'",
            tree.display()
        ));
        let model = Model::new(Tongue { agent, tree: tree.clone() });
        Scene { tree, task, model, agent, bin, home }
    }

    /// The same task in no folder yet: `coord spawn` makes its tree, out of the repository that is there.
    pub fn unplaced(board: &TestBoard, agent: Agent, bin: PathBuf) -> Scene {
        let mut scene = Scene::new(board, agent, bin);
        board.sql("UPDATE tasks SET workspace_kind = 'scratch', workspace_path = NULL");
        scene.tree = scene.tree.join(".worktrees").join(&scene.task);
        scene.model = Model::new(Tongue { agent, tree: scene.tree.clone() });
        scene
    }

    /// `coord`, called in the repository, with the agents in its `PATH`.
    pub fn coord(&self, board: &TestBoard, args: &[&str]) -> Ran {
        let mut command = board.command("coord");
        self.environment(&mut command, board);
        command.env_remove("HERMES_KANBAN_TASK").env_remove("HERMES_KANBAN_DB");
        ran(command.arg("--db").arg(&board.db).args(args).current_dir(self.home.join("work")))
    }

    /// Starts a session for the task; its name.
    pub fn spawn(&self, board: &TestBoard) -> String {
        let (runtime, more): (&str, &[&str]) = match self.agent {
            Agent::Claude => {
                ("claude", &["--", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash,Write,Read,Edit"])
            }
            Agent::Codex => ("codex", &[]),
        };
        let args = ["spawn", "--task", &self.task, "--runtime", runtime, "--json"];
        let made = self.coord(board, &[&args[..], more].concat()).json();
        assert_eq!(
            (&made["seen"], &made["again"]),
            (&Value::Bool(true), &Value::Bool(false)),
            "{}",
            self.log()
        );
        made["session"].as_str().unwrap().to_owned()
    }

    /// Files the agents keep of a session, by its name.
    pub fn kept(&self, session: &str) -> usize {
        let places = [".claude/projects", ".codex/sessions"].map(|place| self.home.join(place));
        let all = places.iter().flat_map(|place| files(place));
        all.filter(|f| f.file_stem().is_some_and(|n| n.to_string_lossy().ends_with(session))).count()
    }

    /// A real agent on the task: claimed under its pid, marked as Hermes marks its workers, and given what `prompt` makes of
    /// the answer to that claim.
    pub fn start(&self, board: &TestBoard, prompt: impl FnOnce(&Value) -> String) -> Kept {
        let text = self.home.join("prompt");
        // It has its pid before it has its task, as in any harness; the agent takes its place.
        let wait = "read HERMES_KANBAN_RUN_ID; export HERMES_KANBAN_RUN_ID; prompt=$1; shift; exec \"$@\" <\"$prompt\"";
        let mut command = Command::new("sh");
        command.args(["-c", wait, "sh"]).arg(&text).args(self.line());
        self.environment(&mut command, board);
        let log = File::options().create(true).append(true).open(self.home.join("agent.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::piped());
        let mut worker = Kept(command.current_dir(&self.tree).spawn().unwrap());
        let pid = worker.pid().to_string();
        let claim = ["claim", &self.task, "--worker", "luna", "--pid", &pid, "--json"];
        let claimed = board.hand(&claim).json();
        fs::write(&text, prompt(&claimed)).unwrap();
        writeln!(worker.0.stdin.take().unwrap(), "{}", claimed["run"]).unwrap();
        worker
    }

    /// The same under `board run`.
    pub fn harness(&self, board: &TestBoard) -> Kept {
        let mut command = board.command("board");
        command.arg("--db").arg(&board.db).args(["run", "--assignee", "luna", "--"]).args(self.line());
        self.environment(&mut command, board);
        // It is told by its harness.
        command.env_remove("HERMES_KANBAN_TASK").env_remove("HERMES_KANBAN_DB").current_dir(&self.home);
        Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap())
    }

    /// The same agent at work for a person in the same folder.
    pub fn beside(&self, board: &TestBoard, prompt: &str) -> Kept {
        let line = self.line();
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\"", "sh"]).args(&line).stdin(Stdio::piped());
        self.environment(&mut command, board);
        command.env_remove("HERMES_KANBAN_TASK").env_remove("HERMES_KANBAN_DB");
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&self.tree);
        let mut person = Kept(command.spawn().unwrap());
        person.0.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
        person
    }

    /// The agent's command line; its prompt comes on stdin.
    fn line(&self) -> Vec<&'static str> {
        match self.agent {
            // What it may do without a question. Its switch for all of it is refused to root.
            Agent::Claude => {
                vec!["claude", "-p", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash,Write,Read,Edit"]
            }
            Agent::Codex => vec!["codex", "exec", "-"],
        }
    }

    fn environment(&self, command: &mut Command, board: &TestBoard) {
        let ours = Path::new(program("board")).parent().unwrap();
        let path = format!(
            "{}:{}:{}",
            ours.display(),
            self.bin.display(),
            std::env::var("PATH").unwrap_or("/usr/bin:/bin".into())
        );
        // Codex runs its commands in login shells, which set a PATH of their own.
        fs::write(self.home.join(".profile"), format!("PATH={}:$PATH\n", ours.display())).unwrap();
        command.env_clear().envs(board.environment()).env("PATH", path);
        command.env("HOME", &self.home).env("TMPDIR", &self.home);
        command.env("HERMES_KANBAN_TASK", &self.task).env("HERMES_KANBAN_DB", &board.db);
        match self.agent {
            Agent::Claude => {
                command
                    .env("ANTHROPIC_BASE_URL", self.model.endpoint())
                    .env("ANTHROPIC_API_KEY", "sk-ant-none")
                    .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                    .env("DISABLE_AUTOUPDATER", "1");
            }
            Agent::Codex => {
                let home = self.home.join(".codex");
                fs::create_dir_all(&home).unwrap();
                fs::write(home.join("config.toml"), codex(&self.model.endpoint())).unwrap();
                command.env("LANTERN_KEY", "none");
            }
        }
    }

    /// Waits until the agent is in the middle of the second step's tool.
    #[track_caller]
    pub fn await_tool(&self) {
        let runs_it = |pid: &i64| command_line(*pid).starts_with("sleep\x00300");
        self.wait("the second step to be begun", || self.marked().iter().any(runs_it));
        // An agent writes its transcript while it works on; what it had not written yet, no packet can tell.
        let is_told = |file: &PathBuf| {
            let text = fs::read(file).unwrap_or_default();
            let at_rest = fs::metadata(file)
                .and_then(|m| m.modified())
                .is_ok_and(|at| at.elapsed().is_ok_and(|since| since > Duration::from_millis(1_500)));
            at_rest && text.windows(9).any(|word| word == b"sleep 300")
        };
        self.wait("its transcript to tell of it", || {
            let places = [".claude/projects", ".codex/sessions"].map(|place| self.home.join(place));
            places.iter().flat_map(|place| files(place)).any(|file| is_told(&file))
        });
        assert_eq!(self.model.told(), [Answer::First, Answer::SecondSlowly], "{}", self.log());
        assert!(self.tree.join(FIRST).exists() && !self.tree.join(SECOND).exists(), "{}", self.log());
    }

    /// Waits until a worker has ended by itself, and says how.
    #[track_caller]
    pub fn await_end(&self, worker: &mut Kept) -> Option<i32> {
        let mut code = None;
        self.wait("the agent to end", || {
            code = worker.0.try_wait().unwrap().map(|status| status.code());
            code.is_some()
        });
        code.flatten()
    }

    #[track_caller]
    pub fn wait(&self, what: &str, mut so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !so() {
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the agents printed, for a test that fails.
    pub fn log(&self) -> String {
        format!(
            "{:#?}\n{}",
            self.model.told(),
            fs::read_to_string(self.home.join("agent.log")).unwrap_or_default()
        )
    }

    /// Processes that carry the mark of the task.
    pub fn marked(&self) -> Vec<i64> {
        marked(&self.task)
    }

    /// `kill -9` for whatever the agents left behind, until nothing is left.
    #[track_caller]
    pub fn sweep(&self) {
        let began = Instant::now();
        loop {
            let left = self.marked();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|pid| kill(*pid));
            assert!(began.elapsed() < PATIENCE, "still there: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A pass that first sees the worker gone notes the tree; a later one puts the task back; one more changes nothing.
    #[track_caller]
    pub fn put_back(&self, board: &TestBoard) {
        let id = &self.task;
        let said = board.later(120, &[]).ok();
        assert!(said.starts_with(&format!("{id} note: worker ")), "{said}");
        // Where its children were waited for, its death was noted before its tree.
        let kinds = board.kinds(id).replace("watchbill_ended ", "");
        let kinds = kinds.replace("watchbill_detected watchbill_detected", "watchbill_detected");
        assert_eq!(kinds, "created claimed watchbill_detected");
        let said = board.later(180, &[]).ok();
        assert!(said.starts_with(&format!("{id} requeue: worker ")), "{said}");
        assert_eq!(board.task(id, "status || ifnull(claim_lock, '') || ifnull(worker_pid, '')"), "ready");
        let crashed = board.payload(id, "crashed");
        assert_eq!(crashed["watchbill"]["transitions"][0], "RUNNING>RESUMING:session_died");
        let before = board.dump();
        assert_eq!(board.later(180, &[]).ok(), "");
        assert_eq!(board.dump(), before);
    }

    pub fn packet(&self, board: &TestBoard) -> String {
        board.value("SELECT coalesce(max(body), '') FROM task_comments WHERE author = 'heal'")
    }

    /// What the packet says is what happened: two calls, of which one never answered, one file, nothing committed.
    #[track_caller]
    pub fn is_true(&self, packet: &str, model: &str) {
        assert!(packet.starts_with("You are resuming an interrupted task. "), "{packet}");
        assert!(!packet.contains("WARNING") && !packet.contains("Still running"), "{packet}");
        // How long its tool ran nobody knows, so no time is told.
        let attempt = format!("model {model}, 2 turns, 2 tool calls, 0 errors, 20100 tokens");
        assert_eq!(line(packet, "- Attempt: "), attempt);
        let calls = line(packet, "- Last calls: ");
        assert!(calls.ends_with(&format!("sleep 300 && echo lit >> {SECOND} (no answer)")), "{calls}");
        assert_eq!(line(packet, "- Branch: "), "lamps");
        assert!(git(&self.tree, &["rev-parse", "HEAD"]).starts_with(line(packet, "- Commit: ")), "{packet}");
        assert_eq!(line(packet, "- Changed files: "), FIRST);
    }

    /// The second run was sent all it was to be told, did what was left and nothing else, and ended its task.
    #[track_caller]
    pub fn is_finished(&self, board: &TestBoard, worker: &mut Kept, told: &str) {
        let one = fs::metadata(self.tree.join(FIRST)).unwrap().modified().unwrap();
        assert_eq!(self.await_end(worker), Some(0), "{}", self.log());
        let asked = self.model.asked();
        let second = &asked[2];
        assert_eq!(second.answers, 0, "a session of its own");
        assert!(second.prompt.contains(told), "sent:\n{}\nto be told:\n{told}", second.prompt);
        assert!(!asked[0].prompt.contains("You are resuming"), "{}", asked[0].prompt);
        let all = [Answer::First, Answer::SecondSlowly, Answer::Second, Answer::Complete, Answer::Over];
        assert_eq!(self.model.told(), all, "{}", self.log());
        let read = |name: &str| fs::read_to_string(self.tree.join(name)).unwrap();
        assert_eq!((read(FIRST), read(SECOND)), ("lit\n".into(), "lit\n".into()));
        assert_eq!(
            fs::metadata(self.tree.join(FIRST)).unwrap().modified().unwrap(),
            one,
            "not written again"
        );
        let id = &self.task;
        assert_eq!(board.task(id, "status"), "done", "{}", self.log());
        assert_eq!(board.value("SELECT group_concat(outcome, ' ') FROM task_runs"), "crashed completed");
        assert_eq!(board.task(id, "body"), BODY);
        let before = board.dump();
        assert_eq!(board.later(900, &[]).ok(), "");
        assert_eq!(board.dump(), before);
        assert_eq!(self.marked(), Vec::<i64>::new());
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.marked().into_iter().for_each(kill);
    }
}

pub fn kill(pid: i64) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path()),
            _ => vec![entry.path()],
        })
        .collect()
}

/// Its arguments, each ended by a NUL.
pub fn command_line(pid: i64) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

/// A packet's line.
#[track_caller]
pub fn line<'a>(packet: &'a str, label: &str) -> &'a str {
    packet.lines().find_map(|l| l.strip_prefix(label)).unwrap_or_else(|| panic!("no {label:?} in\n{packet}"))
}

fn codex(endpoint: &str) -> String {
    format!(
        "model = \"gpt-5.1-codex\"\nmodel_provider = \"lantern\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n[model_providers.lantern]\nname = \"lantern\"\n\
         base_url = \"{endpoint}/v1\"\nwire_api = \"responses\"\nenv_key = \"LANTERN_KEY\"\n\
         request_max_retries = 1\nstream_max_retries = 1\nsupports_websockets = false\n"
    )
}

pub fn git(tree: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=lamps"]);
    let out = git.arg("-C").arg(tree).args(args).output().unwrap();
    assert!(out.status.success(), "git {args:?}");
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}
