//! Sessions that are commands, with a small script in the place of the agent: the claim, the tree, what is undone, what is
//! stopped. What the real ones do is in `agents::spawned`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::usage::repository;
use crate::support::{Kept, Ran, TestBoard, executable, is_gone, marked, now, program, ran, until};

/// A coordinator that is a command too.
pub(super) const PARENT: &str = "01a20200-bf1b-4e90-8faf-1c042f18d165";

/// Both write what they were given, begin a session as the real ones do, and work until they may stop.
const CLAUDE: &str = r#"echo "$*" > args; cat > told; env > environment
while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done
mkdir -p "$HOME/.claude/projects/-x"; echo '{}' >> "$HOME/.claude/projects/-x/$2.jsonl""#;
const CODEX: &str = r#"echo "$*" > args; cat > told; env > environment; echo 'WARNING: proceeding'
echo '{"type":"thread.started","thread_id":"01a20200-bf1b-7e90-afaf-1c042f18d166"}'"#;
pub(super) const WORKS: &str = "while [ ! -e stop ]; do sleep 0.1; done";

/// A board with one task, a repository, and scripts for agents.
pub(super) struct Yard {
    pub(super) b: TestBoard,
    pub(super) repo: PathBuf,
    pub(super) task: String,
}

impl Yard {
    pub(super) fn new(work: &str) -> Yard {
        let b = TestBoard::own();
        let repo = fs::canonicalize(repository(&b)).unwrap();
        let task =
            b.hand(&["add", "Port the parser", "--body", "Make it read dates."]).ok().trim().to_owned();
        let yard = Yard { b, repo, task };
        yard.script("claude", &format!("{CLAUDE}\n{work}"));
        yard.script("codex", &format!("{CODEX}\n{work}"));
        yard
    }

    pub(super) fn script(&self, name: &str, text: &str) {
        let bin = self.b.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        // Not written over: it may run.
        let file = bin.join(format!("{name}.new"));
        executable(&file, format!("#!/bin/sh\n{text}\n"));
        fs::rename(file, bin.join(name)).unwrap();
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.b.command("coord");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.b.path().join("bin").display()));
        // The caller's own variables, such as those of a coordinator that is a worker itself: not its session's.
        command.env("HERMES_KANBAN_TASK", "t_ffffffff").env("HERMES_KANBAN_RUN_ID", "9");
        command.env("WATCHBILL_TASK", "t_ffffffff").env("WATCHBILL_CLAIM", "t_ffffffff elsewhere:9");
        command.arg("--db").arg(&self.b.db).args(args).current_dir(&self.repo);
        command
    }

    pub(super) fn coord(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    pub(super) fn spawn(&self, runtime: &str, more: &[&str]) -> Ran {
        self.coord(&[&["spawn", "--task", &self.task, "--runtime", runtime, "--json"], more].concat())
    }

    /// The session of a spawn that must succeed.
    pub(super) fn session(&self, runtime: &str) -> String {
        self.spawn(runtime, &[]).json()["session"].as_str().unwrap().to_owned()
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.repo.join(".worktrees").join(&self.task)
    }

    /// What is said of a spawn that failed after its worker began.
    fn left(&self, status: &str) -> String {
        let (task, tree) = (&self.task, self.tree());
        format!(
            "{task} is {status}; left behind: the working tree {} and its branch wt/{task}",
            tree.display()
        )
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.tree().join(name)).unwrap()
    }

    pub(super) fn row(&self) -> Value {
        self.coord(&["status", &self.task, "--json"]).json()["sessions"][0].clone()
    }

    pub(super) fn status(&self) -> String {
        self.b.task(&self.task, "status")
    }

    /// The worker, and what it lives under.
    pub(super) fn processes(&self) -> (i64, i64) {
        let harness = self.b.task(&self.task, "claim_lock");
        (
            self.b.task(&self.task, "worker_pid").parse().unwrap(),
            harness.rsplit(':').next().unwrap().parse().unwrap(),
        )
    }

    pub(super) fn branches(&self) -> String {
        let said =
            ran(Command::new("git").arg("-C").arg(&self.repo).args(["branch", "--format=%(refname:short)"]));
        said.ok().split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        marked(&self.task).into_iter().for_each(kill);
    }
}

pub(super) fn kill(pid: i64) {
    let _ = rustix::process::kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
}

/// The process group and session of a process.
fn group(pid: i64) -> (String, String) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[2].to_owned(), fields[3].to_owned())
}

#[test]
fn a_task_gets_a_tree_a_worker_a_session_and_its_end() {
    for (runtime, args) in
        [("claude", "-p --session-id SESSION --model m"), ("codex", "exec --json --model m -")]
    {
        let y = Yard::new(WORKS);
        let made = y.spawn(runtime, &["--parent", PARENT, "--", "--model", "m"]).json();
        let session = made["session"].as_str().unwrap();
        assert_eq!(
            (&made["runtime"], &made["seen"], &made["again"]),
            (&json!(runtime), &json!(true), &json!(false))
        );
        // The first words are what the runtime asks for, and the caller's variables are not passed on.
        until("its worker begins", || y.tree().join("environment").exists());
        assert_eq!(y.read("args").trim(), args.replace("SESSION", session));
        let told = y.read("told");
        assert!(told.starts_with("Make it read dates.") && told.contains("complete"), "{told}");
        assert!(!told.contains("heartbeat"), "its harness sends them: {told}");
        let environment = y.read("environment");
        let var = |name: &str| environment.lines().find_map(|l| l.strip_prefix(&format!("{name}=")));
        assert_eq!(
            (var("HERMES_KANBAN_TASK"), var("HERMES_KANBAN_RUN_ID")),
            (Some(y.task.as_str()), Some("1"))
        );
        assert_eq!(var("HERMES_KANBAN_WORKSPACE"), y.tree().to_str());
        let claim = y.b.value("SELECT claim_lock FROM tasks WHERE claim_lock IS NOT NULL");
        assert_eq!(var("WATCHBILL_CLAIM"), Some(format!("{} {claim}", y.task).as_str()));
        // The mapping names the runtime, and no server.
        let spawned = y.b.payload(&y.task, "coord.spawned");
        assert_eq!((&spawned["runtime"], spawned.get("server")), (&json!(runtime), None));
        assert_eq!((&spawned["session"], &spawned["parent"]), (&json!(session), &json!(PARENT)));
        assert_eq!(y.b.kinds(&y.task), "created claimed claimed coord.spawned");
        let row = y.row();
        let (worker, harness) = y.processes();
        for (key, want) in [
            ("runtime", json!(runtime)),
            ("server", Value::Null),
            ("state", json!("busy")),
            ("mapping", json!("active")),
            ("pid", json!(worker)),
            ("run", json!(1)),
        ] {
            assert_eq!(row[key], want, "{key}: {row}");
        }
        // In a session of its own, whose first process its harness is.
        assert_eq!(group(harness), (harness.to_string(), harness.to_string()));
        assert_eq!(group(worker).1, harness.to_string());
        // Called again it finds what it made.
        let before = y.b.dump();
        let again = y.spawn(runtime, &[]).json();
        assert_eq!((&again["session"], &again["again"]), (&json!(session), &json!(true)));
        assert!(y.b.later(120, &["-v"]).ok().contains("worker alive"));
        assert_eq!(y.b.dump(), before);
        fs::write(y.tree().join("stop"), "").unwrap();
        until("the task is done", || y.status() == "done");
        let row = y.row();
        assert_eq!((&row["state"], &row["mapping"]), (&json!("ended"), &json!("completed")));
        let all = y.coord(&["events", "--json"]).json();
        assert_eq!(all["events"][0]["kind"], "coord.spawned");
        let said = y.coord(&["abort", &y.task]).ok();
        assert_eq!(said, format!("{session} had ended; its mapping is completed\n"));
        until("its harness ends", || is_gone(harness));
    }
}

#[test]
fn of_spawns_at_once_one_wins() {
    let y = Yard::new(WORKS);
    let start = || {
        let mut command = y.command(&["spawn", "--task", &y.task, "--runtime", "claude"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(|_| start()).collect();
    let codes: Vec<_> = all.into_iter().map(|mut c| c.wait().unwrap().code().unwrap()).collect();
    assert!(codes.contains(&0) && codes.iter().all(|c| [0, 75].contains(c)), "{codes:?}");
    assert_eq!(y.branches(), format!("main wt/{}", y.task));
    assert_eq!(y.b.kinds(&y.task), "created claimed claimed coord.spawned");
    let projects = fs::read_dir(y.b.path().join(".claude/projects/-x")).unwrap();
    assert_eq!(projects.count(), 1, "one session");
}

#[test]
fn what_cannot_be_begun_begins_nothing() {
    let y = Yard::new(WORKS);
    let waits = y.b.hand(&["add", "Second", "--parent", &y.task]).ok().trim().to_owned();
    let before = y.b.dump();
    for (args, code, says) in [
        (vec!["--task", &waits, "--runtime", "claude"], 1, format!("waits for {}", y.task)),
        (vec!["--task", &y.task, "--runtime", "codex", "--agent", "a"], 2, "codex has no agents".into()),
        (vec!["--task", &y.task, "--", "--model", "m"], 2, "opencode takes no arguments".into()),
        (
            vec!["--task", &y.task, "--runtime", "claude", "--parent=-x"],
            2,
            "-x: neither a session id nor a name".into(),
        ),
    ] {
        let said = y.coord(&[&["spawn"], &args[..]].concat()).fails(code);
        assert!(said.contains(&says), "{args:?}: {said}");
    }
    fs::remove_file(y.b.path().join("bin/codex")).unwrap();
    let said = y.spawn("codex", &[]).fails(2);
    assert!(said.contains("command codex: no such program"), "{said}");
    assert_eq!((y.b.dump(), y.branches()), (before, "main".into()));
    assert!(!y.repo.join(".worktrees").exists());
}

/// A user removed the folder of a tree that git still knows.
#[test]
fn a_registered_tree_without_its_folder_is_refused_in_gits_words() {
    let y = Yard::new(WORKS);
    let tree = y.repo.join(".worktrees/gone");
    let git = |args: &[&str]| ran(Command::new("git").arg("-C").arg(&y.repo).args(args)).ok();
    git(&["worktree", "add", "-q", "-b", "gone", tree.to_str().unwrap()]);
    fs::remove_dir_all(&tree).unwrap();
    let said = y.spawn("codex", &["--name", "gone", "--branch", "gone"]).fails(1);
    let why = "is a missing but already registered worktree; use 'add -f' to override";
    assert!(said.contains("git worktree add: '") && said.contains(why), "{said}");
    assert_eq!(y.status(), "ready");
}

/// Without a session there is nothing that could be coordinated: the worker is stopped, and the task is requeued. Tree and branch
/// stay, for the worker was there.
#[test]
fn a_worker_that_names_no_session_loses_its_claim() {
    // It ends, or works on without a word.
    for (script, says) in [
        ("echo broken; exit 3", "codex named no session: worker exited with code 3 (board run)"),
        ("cat > /dev/null; sleep 600", "codex named no session within 30s"),
    ] {
        let y = Yard::new(WORKS);
        y.script("codex", script);
        let said = y.spawn("codex", &[]).fails(1);
        let left = y.left("ready");
        assert!(said.contains(says) && said.contains(&left) && said.contains(".log"), "{said}");
        assert_eq!((y.status(), y.branches()), ("ready".into(), format!("main wt/{}", y.task)));
        assert_eq!(y.b.task(&y.task, "workspace_path"), y.tree().to_str().unwrap());
        assert_eq!(marked(&y.task), Vec::<i64>::new());
        assert!(!y.b.kinds(&y.task).contains("coord.spawned"));
        // The next one begins where it was.
        y.script("codex", &format!("{CODEX}\n{WORKS}"));
        y.session("codex");
        assert_eq!(y.row()["state"], "busy");
    }
}

/// A worker does its work and names no session. What it left is not to be seen by `git status`, and the branch does not lead to it.
#[test]
fn what_a_worker_left_stays_whatever_git_says_of_it() {
    let ignored = "mkdir reports; echo mine > reports/final.md";
    let detached = "git checkout -q --detach; git -c user.name=T -c user.email=t@example.org commit -q --allow-empty -m Work";
    let hidden = "git config status.showUntrackedFiles no; echo mine > new.txt";
    for work in [ignored, detached, hidden] {
        let y = Yard::new(WORKS);
        fs::write(y.repo.join(".git/info/exclude"), "reports/\n").unwrap();
        y.script(
            "codex",
            &format!("cat > /dev/null; {work}; git log -1 --format=%s > \"$HOME/head\"; exit 0"),
        );
        let said = y.spawn("codex", &[]).fails(1);
        assert!(said.contains(&format!("codex named no session: completed; {}", y.left("done"))), "{said}");
        assert_eq!((y.status(), y.branches()), ("done".into(), format!("main wt/{}", y.task)), "{work}");
        let head = ran(Command::new("git").arg("-C").arg(y.tree()).args(["log", "-1", "--format=%s"])).ok();
        assert_eq!(head, fs::read_to_string(y.b.path().join("head")).unwrap(), "{work}");
        for (file, of) in [("reports/final.md", ignored), ("new.txt", hidden)] {
            assert_eq!(y.tree().join(file).exists(), work == of, "{file}: {work}");
        }
    }
}

/// Its worker wrote a file and named no session; a tree that a worker used is never removed, nor given to a second session.
#[test]
fn a_tree_that_is_worked_in_is_neither_shared_nor_taken_away() {
    let y = Yard::new(WORKS);
    y.script("codex", "cat > /dev/null; echo mine > uncommitted.txt; sleep 600");
    let other = y.b.hand(&["add", "Another"]).ok().trim().to_owned();
    let mut first =
        y.command(&["spawn", "--task", &y.task, "--runtime", "codex", "--name", "both", "--branch", "both"]);
    let first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let tree = y.repo.join(".worktrees/both");
    until("it works", || tree.join("uncommitted.txt").exists());
    let before = y.b.task(&other, "status");
    let said = y
        .coord(&["spawn", "--task", &other, "--runtime", "claude", "--name", "both", "--branch", "both"])
        .fails(75);
    assert!(said.contains(&format!("is the working tree of {}", y.task)), "{said}");
    assert_eq!(y.b.task(&other, "status"), before);
    let out = first.wait_with_output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{said}");
    let left = format!("left behind: the working tree {} and its branch both", tree.display());
    assert!(said.contains("named no session within 30s") && said.contains(&left), "{said}");
    assert_eq!(fs::read_to_string(tree.join("uncommitted.txt")).unwrap(), "mine\n");
    assert_eq!((y.status(), y.branches()), ("ready".into(), "both main".into()));
}

/// Another repository than that of the task's folder is not worked in without a word.
#[test]
fn a_task_is_worked_on_in_the_repository_of_its_folder() {
    let y = Yard::new(WORKS);
    let other = fs::canonicalize(y.b.path()).unwrap().join("other");
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
    for args in ["init --quiet -b main", "commit --quiet --allow-empty -m Begin"] {
        fs::create_dir_all(other.join("sub")).unwrap();
        ran(Command::new("git").arg("-C").arg(&other).args(identity).args(args.split(' '))).ok();
    }
    let folder = other.join("sub");
    y.b.sql(&format!("UPDATE tasks SET workspace_kind = 'dir', workspace_path = '{}'", folder.display()));
    let before = y.b.dump();
    let said = y.spawn("claude", &["--repo", y.repo.to_str().unwrap()]).fails(1);
    let wants = format!(
        "{}: the folder of the task is {}, in another repository; nothing was started; leave --repo out",
        y.repo.display(),
        folder.display()
    );
    assert!(said.contains(&wants), "{said}");
    assert_eq!((y.b.dump(), y.branches()), (before, "main".into()));
    let made = y.spawn("claude", &[]).json();
    let tree = other.join(".worktrees").join(&y.task);
    assert_eq!(made["directory"], tree.to_str().unwrap());
    y.coord(&["abort", &y.task]).ok();
    // The tree that was made is its folder from now on.
    let said = y.spawn("claude", &["--repo", y.repo.to_str().unwrap()]).fails(1);
    assert!(said.contains("in another repository"), "{said}");
    assert_eq!(
        y.spawn("claude", &["--repo", other.to_str().unwrap()]).json()["directory"],
        tree.to_str().unwrap()
    );
    y.coord(&["abort", &y.task]).ok();
    // A folder in no repository, and one that Hermes made for one attempt, do not count.
    for (kind, folder) in [("dir", y.b.path()), ("scratch", folder.as_path())] {
        let set =
            format!("UPDATE tasks SET workspace_kind = '{kind}', workspace_path = '{}'", folder.display());
        y.b.sql(&set);
        assert_eq!(y.spawn("claude", &[]).json()["directory"], y.tree().to_str().unwrap(), "{kind}");
        y.coord(&["abort", &y.task]).ok();
    }
}

#[test]
fn a_new_branch_begins_where_it_was_asked_for() {
    let y = Yard::new(WORKS);
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
    let git = |at: &Path, args: &[&str]| {
        ran(Command::new("git").arg("-C").arg(at).args(identity).args(args)).ok().trim().to_owned()
    };
    let dev = y.b.path().join("dev");
    git(&y.repo, &["worktree", "add", "-q", "-b", "dev", dev.to_str().unwrap()]);
    git(&dev, &["commit", "-q", "--allow-empty", "-m", "Of dev"]);
    let begins_at = |branch: &str| git(&y.repo, &["log", "-1", "--format=%s", branch]);
    // The current folder; --repo; the folder of the task.
    let own = format!("UPDATE tasks SET workspace_kind = 'dir', workspace_path = '{}'", dev.display());
    let none = "UPDATE tasks SET workspace_kind = 'scratch', workspace_path = NULL";
    let main = y.repo.to_str().unwrap();
    let table: [(&str, &Path, &str, &[&str], &str); 4] = [
        ("a", &dev, none, &[], "Of dev"),
        ("b", &y.repo, none, &[], "Begin"),
        ("c", &y.repo, &own, &[], "Of dev"),
        ("d", &dev, &own, &["--repo", main], "Begin"),
    ];
    for (name, here, place, more, want) in table {
        y.b.sql(place);
        let args = ["spawn", "--task", &y.task, "--runtime", "claude", "--name", name, "--branch", name];
        ran(y.command(&[&args[..], more].concat()).current_dir(here)).ok();
        assert_eq!(begins_at(name), want, "{name}");
        assert!(y.repo.join(".worktrees").join(name).is_dir(), "{name}: beside the others");
        y.coord(&["abort", &y.task]).ok();
    }
    // The tree of its last session does not say where the next one begins.
    let last = y.repo.join(".worktrees/d");
    git(&last, &["commit", "-q", "--allow-empty", "-m", "Of the session"]);
    y.spawn("claude", &["--name", "e", "--branch", "e"]).json();
    assert_eq!(begins_at("e"), "Begin");
}

#[test]
fn a_tree_that_its_agent_left_on_another_branch_is_gone_on_with() {
    let y = Yard::new(WORKS);
    y.session("claude");
    let told = || y.read("told").lines().find(|l| l.starts_with("You work on task")).unwrap().to_owned();
    for (switch, branch) in [("checkout -q -b better", Some("better")), ("checkout -q --detach", None)] {
        y.coord(&["abort", &y.task]).ok();
        fs::remove_file(y.tree().join("environment")).unwrap();
        ran(Command::new("git").arg("-C").arg(y.tree()).args(switch.split(' '))).ok();
        // A branch that is named must be that of the tree.
        let before = y.b.dump();
        let said = y.spawn("claude", &["--branch", "other"]).fails(1);
        let wants =
            "is a working tree of another branch than other; give its branch with --branch, or another";
        assert!(said.contains(wants), "{said}");
        assert_eq!(y.b.dump(), before);
        let made = y.spawn("claude", &[]).json();
        assert_eq!((&made["directory"], &made["again"]), (&json!(y.tree()), &json!(false)));
        until("its worker begins", || y.tree().join("environment").exists());
        let all = y.coord(&["status", &y.task, "--active", "--json"]).json();
        assert_eq!(all["sessions"][0]["branch"], json!(branch), "{all}");
        let on = branch.map_or(String::new(), |branch| format!(" on branch {branch}"));
        assert!(told().contains(&format!("in {}{on}, and nowhere else", y.tree().display())), "{}", told());
    }
}

/// What another spawn is about to begin in is neither shared nor taken away; of two at once one works.
#[test]
fn two_spawns_at_once_share_no_tree() {
    use rustix::fs::{FlockOperation, flock};
    let y = Yard::new(WORKS);
    let tree = y.repo.join(".worktrees/both");
    let args = |task: &str| {
        ["spawn", "--task", task, "--runtime", "claude", "--name", "both", "--branch", "both"]
            .map(str::to_owned)
    };
    let spawn = |task: &str| y.command(&args(task).each_ref().map(String::as_str));
    // Another one has just made the folder, or works in the tree before its board says so.
    fs::create_dir_all(&tree).unwrap();
    for is_tree in [false, true] {
        if is_tree {
            ran(Command::new("git")
                .arg("-C")
                .arg(&y.repo)
                .args(["worktree", "add", "-q", "-b", "both"])
                .arg(&tree))
            .ok();
        }
        let other = fs::File::open(&tree).unwrap();
        flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
        let before = (y.b.dump(), y.branches());
        let said = ran(&mut spawn(&y.task)).fails(75);
        let wants =
            "another spawn begins work in this tree; nothing was started; try again, or give another --name";
        assert!(said.contains(wants), "{said}");
        assert_eq!((y.b.dump(), y.branches()), before);
        assert!(tree.is_dir());
    }
    // Two at once, where there is no tree yet.
    ran(Command::new("git").arg("-C").arg(&y.repo).args(["worktree", "remove", "--force"]).arg(&tree)).ok();
    ran(Command::new("git").arg("-C").arg(&y.repo).args(["branch", "-q", "-D", "both"])).ok();
    let second = y.b.hand(&["add", "Another"]).ok().trim().to_owned();
    let both = [&y.task, &second]
        .map(|task| spawn(task).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let ended = both.map(|child| child.wait_with_output().unwrap());
    let mut codes = ended.each_ref().map(|out| out.status.code());
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(75)], "{ended:?}");
    assert!(tree.join("environment").exists() || tree.join(".git").exists());
    let states = [&y.task, &second].map(|task| y.b.task(task, "status"));
    fs::write(tree.join("stop"), "").unwrap();
    assert!(states.contains(&"running".to_owned()) && states.contains(&"ready".to_owned()), "{states:?}");
}

#[test]
fn one_that_ends_at_once_is_no_success() {
    let y = Yard::new(WORKS);
    y.script("claude", "cat > /dev/null; echo broken; exit 3");
    let said = y.spawn("claude", &[]).fails(1);
    assert!(said.contains("ended at once: ") && said.contains("worker exited with code 3"), "{said}");
    assert!(said.contains(".log"), "{said}");
    assert_eq!((&y.row()["mapping"], y.status()), (&json!("failed"), "ready".into()));
    // One that asks has not failed.
    let y = Yard::new(WORKS);
    let coord = program("coord");
    let asks = format!("cat > /dev/null; sleep 1; {coord} notify --level blocking 'which one?' >&2");
    y.script("claude", &asks);
    y.spawn("claude", &[]).ok();
    assert_eq!((&y.row()["state"], y.status()), (&json!("waiting"), "blocked".into()));
    // One that is not seen yet is said to be so, and is there.
    let y = Yard::new(WORKS);
    y.script("claude", &format!("cat > /dev/null\n{WORKS}"));
    let out = y.command(&["spawn", "--task", &y.task, "--runtime", "claude", "--json"]).output().unwrap();
    let made: Value = serde_json::from_slice(&out.stdout).unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success() && said.contains("left no transcript yet"), "{said}");
    assert_eq!((&made["seen"], &y.row()["state"]), (&json!(false), &json!("busy")));
}

#[test]
fn an_abort_stops_the_worker_its_tools_and_its_harness() {
    // It does not want to end, and has a tool in a session of its own.
    let stubborn = "trap 'echo no >> asked' TERM; setsid sleep 600 & while :; do sleep 0.1; done";
    for killed in [false, true] {
        let y = Yard::new(stubborn);
        let session = y.session("claude");
        until("its worker begins", || y.tree().join("environment").exists());
        let (worker, harness) = y.processes();
        if killed {
            kill(harness);
            until("its harness is gone", || is_gone(harness));
        }
        let said = y.coord(&["abort", &session, "--reason", "enough"]).ok();
        let free = format!("{session} stopped; its mapping is aborted, and {} is free\n", y.task);
        assert_eq!(said, free);
        assert!(is_gone(worker) && is_gone(harness));
        assert_eq!(y.read("asked").lines().next(), Some("no"), "asked first");
        assert_eq!(marked(&y.task), Vec::<i64>::new());
        assert_eq!((y.status(), y.b.task(&y.task, "consecutive_failures")), ("ready".into(), "0".into()));
        assert_eq!(y.b.payload(&y.task, "coord.aborted")["reason"], "enough");
        let row = y.row();
        assert_eq!((&row["mapping"], &row["state"]), (&json!("aborted"), &json!("ended")));
        let before = y.b.dump();
        assert!(y.coord(&["abort", &session]).ok().contains("had ended"));
        assert_eq!(y.b.dump(), before);
        // The next attempt is another session, in the same tree.
        y.script("claude", &format!("{CLAUDE}\n{WORKS}"));
        assert_ne!(y.session("claude"), session);
        assert_eq!(y.branches(), format!("main wt/{}", y.task));
    }
}

/// A tool without a mark of its run, in a session of its own, outlives a harness that was killed: nothing proves whose it is, and it may
/// still write.
#[test]
fn what_a_killed_harness_left_in_its_tree_is_waited_for() {
    let tool = "env -i setsid /bin/sh -c 'echo $$ > tool; exec sleep 600' < /dev/null > /dev/null 2>&1 &";
    for killed in [false, true] {
        let y = Yard::new(&format!("{tool}\n{WORKS}"));
        let session = y.session("claude");
        let at_work = |name: &str| {
            y.tree().join("tool").exists()
                && y.read("tool").trim().parse::<i64>().is_ok_and(|pid| {
                    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
                })
        };
        until("its tool begins", || at_work("sleep"));
        let tool: i64 = y.read("tool").trim().parse().unwrap();
        if killed {
            let (_, harness) = y.processes();
            kill(harness);
            until("its harness is gone", || is_gone(harness));
            let said = y.coord(&["abort", &session]).fails(1);
            let works = format!("process {tool} (sleep) works in ");
            assert!(said.contains(&works) && said.contains("keeps its claim"), "{said}");
            assert_eq!(y.status(), "running");
            kill(tool);
            y.coord(&["abort", &session]).ok();
        } else {
            y.coord(&["abort", &session]).ok();
            assert!(is_gone(tool), "a harness that is told to stop stops what its command started");
        }
        assert_eq!((&y.row()["mapping"], y.status()), (&json!("aborted"), "ready".into()));
        // Its worker has such a tool as well.
        let session = y.session("codex");
        y.coord(&["abort", &session]).ok();
    }
}

#[test]
fn what_works_in_the_tree_of_the_last_session_is_waited_for() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    let tool = Kept(Command::new("sleep").arg("600").current_dir(y.tree()).spawn().unwrap());
    let works = format!("process {} (sleep) works in ", tool.pid());
    until("it is a sleep", || {
        fs::read_to_string(format!("/proc/{}/comm", tool.pid())).is_ok_and(|comm| comm.trim() == "sleep")
    });
    let said = y.coord(&["abort", &session]);
    assert!(said.code == 0 && said.err.contains(&works), "{said:?}");
    let before = y.b.dump();
    let said = y.spawn("codex", &[]).fails(75);
    assert!(said.contains(&format!("{works}this tree; nothing was started")), "{said}");
    assert_eq!(y.b.dump(), before);
    drop(tool);
    y.spawn("codex", &[]).json();
}

/// The event names a task whose worker the process is not.
#[test]
fn nobody_is_stopped_on_an_events_word() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    let stranger = Kept(Command::new("sleep").arg("600").spawn().unwrap());
    let birth = |pid: i64| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let ticks: u64 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        json!({"boot": {"id": boot.trim()}, "ticks": ticks})
    };
    let (worker, _) = y.processes();
    y.b.sql(&format!(
        "UPDATE tasks SET worker_pid = {pid};
         UPDATE task_events SET payload = json_set(payload, '$.watchbill.pid', {pid}, '$.watchbill.birth', json('{birth}'))
          WHERE kind = 'claimed'",
        pid = stranger.pid(),
        birth = birth(stranger.pid()),
    ));
    let before = y.b.dump();
    let said = y.coord(&["abort", &session]).fails(1);
    assert!(said.contains("nothing was changed on the board"), "{said}");
    assert_eq!(y.b.dump(), before);
    let mut stranger = stranger;
    assert!(stranger.is_running() && !is_gone(worker));
}

/// Killed after its worker began, before the mapping: another spawn finds that worker and starts none.
#[test]
fn what_a_killed_spawn_began_is_gone_on_with() {
    for runtime in ["claude", "codex"] {
        let y = Yard::new(WORKS);
        let session = y.session(runtime);
        let (worker, _) = y.processes();
        y.b.sql("DELETE FROM task_events WHERE kind = 'coord.spawned'");
        let said = y.spawn(runtime, &[]).fails(75);
        assert!(said.contains("another spawn of it is under way"), "{said}");
        let later = (now() + 61).to_string();
        let other = if runtime == "claude" { "codex" } else { "claude" };
        let said = y.spawn(other, &["--now", &later]).fails(2);
        assert!(said.contains(&format!("a spawn began it with {runtime}")), "{said}");
        let again = y.spawn(runtime, &["--now", &later]).json();
        assert_eq!(again["session"], session);
        assert_eq!((y.processes().0, y.row()["state"].clone()), (worker, json!("busy")));
        // Nor is one of another runtime given once it is mapped.
        let before = y.b.dump();
        let said = y.spawn(other, &["--now", &later]).fails(2);
        assert!(said.contains(&format!("--runtime: a spawn began it with {runtime}")), "{said}");
        assert_eq!((&y.spawn(runtime, &[]).json()["session"], y.b.dump()), (&json!(session), before));
    }
}

/// Ended while its agent starts: nobody knows a session yet, and the agent works on.
#[test]
fn the_worker_of_a_spawn_that_was_ended_is_stopped_by_its_task() {
    let y = Yard::new(WORKS);
    y.script("codex", "cat > /dev/null; echo mine > begun; setsid sleep 600 & sleep 600");
    for killed in [false, true] {
        let mut spawn = y.command(&["spawn", "--task", &y.task, "--runtime", "codex"]);
        let mut spawn = Kept(spawn.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("its agent starts", || {
            y.tree().join("begun").exists() && y.b.task(&y.task, "worker_pid") != "NULL"
        });
        spawn.kill();
        let (worker, harness) = y.processes();
        assert!(!is_gone(worker) && !is_gone(harness), "both outlive it");
        if killed {
            kill(harness);
            until("its harness is gone", || is_gone(harness));
        }
        let said = y.coord(&["abort", &y.task, "--reason", "enough", "--json"]).json();
        assert_eq!(
            (&said["session"], &said["task"], &said["stopped"]),
            (&Value::Null, &json!(y.task), &json!(true))
        );
        assert!(is_gone(worker) && is_gone(harness));
        assert_eq!(marked(&y.task), Vec::<i64>::new());
        assert_eq!((y.status(), y.b.task(&y.task, "claim_lock")), ("ready".into(), "NULL".into()));
        assert_eq!(y.b.value("SELECT max(body) FROM task_comments"), "Aborted: enough");
        fs::remove_file(y.tree().join("begun")).unwrap();
    }
    // Then there is nothing that could be stopped.
    let before = y.b.dump();
    let said = y.coord(&["abort", &y.task]).fails(1);
    assert!(said.contains("no session was spawned for it"), "{said}");
    assert_eq!(y.b.dump(), before);
}

#[test]
fn what_a_runtime_lacks_is_said_and_changes_nothing() {
    let y = Yard::new(WORKS);
    y.spawn("codex", &["--parent", PARENT]).json();
    let before = y.b.dump();
    let said = y.coord(&["message", &y.task, "are you there"]).fails(75);
    assert!(said.contains("codex takes no message while it works, and none was queued"), "{said}");
    let said = y.coord(&["detect", "--session", &y.task]).fails(1);
    assert!(said.contains("codex is not looked at here: heal and budget-check"), "{said}");
    assert_eq!(y.coord(&["detect", "--json"]).json(), json!([]));
    let said = y.coord(&["message", PARENT, "hello"]).fails(1);
    assert!(said.contains("was not spawned for a task of this board"), "{said}");
    assert_eq!(y.b.dump(), before);
    // A coordinator that takes no messages has it on the board, once.
    for again in ["", " already"] {
        let said = y.coord(&["notify", "half done", "--from", &y.task, "--wake"]).ok();
        let want = format!(
            "recorded{again} for {PARENT}, which is not a session of a server, so nobody is woken; coord events shows it\n"
        );
        assert_eq!(said, want);
    }
    let events = y.coord(&["events", "--json"]).json();
    let told: Vec<&Value> =
        events["events"].as_array().unwrap().iter().filter(|e| e["kind"] == "coord.notified").collect();
    assert_eq!(told.len(), 1, "{events}");
    assert_eq!(
        (&told[0]["payload"]["text"], &told[0]["payload"]["wake"]),
        (&json!("half done"), &json!(false))
    );
}

#[test]
fn a_worker_that_was_killed_is_gone_and_its_task_comes_back() {
    let y = Yard::new(WORKS);
    let session = y.session("claude");
    let (worker, harness) = y.processes();
    kill(harness);
    kill(worker);
    until("both are gone", || is_gone(worker) && is_gone(harness));
    marked(&y.task).into_iter().for_each(kill);
    until("nothing of it is left", || marked(&y.task).is_empty());
    let row = y.row();
    assert_eq!((&row["state"], &row["mapping"]), (&json!("gone"), &json!("active")), "{row}");
    let said = y.coord(&["message", &session, "go on"]).fails(75);
    assert!(said.contains("its process is gone, and its task is still claimed for it"), "{said}");
    let before = y.b.dump();
    let said = y.spawn("claude", &[]).fails(75);
    assert!(said.contains(&format!("{session}: its process is gone")), "{said}");
    assert!(said.ends_with("nothing was started; try again after the next pass of heal"), "{said}");
    assert_eq!(y.b.dump(), before);
    let why = y.b.later(120, &[]).ok();
    assert!(why.contains("note: worker"), "{why}");
    let said = y.b.later(180, &[]).ok();
    assert!(said.contains("requeue: worker"), "{said}");
    assert_eq!((&y.row()["mapping"], y.status()), (&json!("failed"), "ready".into()));
    let packet = y.b.value("SELECT coalesce(max(body), '') FROM task_comments WHERE author = 'heal'");
    assert!(packet.contains("You are resuming an interrupted task."), "{packet}");
    // What the next one is told.
    assert_ne!(y.session("claude"), session);
    until("its worker begins", || {
        Path::new(&y.tree().join("told")).exists() && y.read("told").contains("resuming")
    });
}
