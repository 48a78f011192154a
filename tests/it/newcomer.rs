//! A fifth watcher, added to a copy of the sources as `docs/dev/adding-a-watcher.md` says: one folder, and one line in the
//! registry. Everything that goes through all watchers knows it. And a further agent, as `docs/dev/adding-an-agent.md` says: one
//! folder, and one entry in the list. Whatever reads logs reads its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use shared::base::time::Time;

use crate::support::{Ran, TestBoard, now, ran};

/// Writes a file of the copy that is made from another one of it. It is as old as that one or as this test: what did not change is
/// not compiled again.
fn write(tree: &Path, file: &str, text: &str, from: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let at = |file: &str| fs::metadata(here.join(file)).unwrap().modified().unwrap();
    let place = tree.join(file);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, text).unwrap();
    let written = fs::File::options().append(true).open(place).unwrap();
    written.set_modified(at(from).max(at("tests/it/newcomer.rs"))).unwrap();
}

/// Puts something behind a line of a file of the copy.
fn add(tree: &Path, file: &str, behind: &str, more: &str) {
    let text = fs::read_to_string(tree.join(file)).unwrap();
    let at = text.find(behind).unwrap_or_else(|| panic!("{file}: {behind}")) + behind.len();
    write(tree, file, &format!("{}{more}{}", &text[..at], &text[at..]), file);
}

/// A file of the newcomer, made from that of `heal`.
fn like_heal(tree: &Path, file: &str) {
    let text = fs::read_to_string(tree.join(file)).unwrap();
    write(tree, &file.replace("heal", "newcomer"), &text.replace("heal", "newcomer"), file);
}

/// The sources with the newcomer in them.
fn tree() -> PathBuf {
    let (here, tree) =
        (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer"));
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir_all(&tree).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-rp").current_dir(here);
    copy.args(["Cargo.toml", "Cargo.lock", "shared", "bins", "contrib", "testkit", "benches", "engines"])
        .arg(&tree);
    assert!(copy.status().unwrap().success());
    write(&tree, "tests/it/main.rs", "", "tests/it/main.rs");
    let watcher = "tests/fixtures/newcomer/watcher.rs";
    let text = fs::read_to_string(here.join(watcher)).unwrap();
    write(&tree, "shared/watch/src/newcomer/mod.rs", &text, watcher);
    add(&tree, "shared/watch/src/lib.rs", "pub mod heal;\n", "pub mod newcomer;\n");
    let registry = "            budget::BudgetCheck, BUDGET_CHECK = \"budget-check\", BudgetArgs;\n";
    let line = "            newcomer::Newcomer, NEWCOMER = \"newcomer\", WatcherArgs;\n";
    add(&tree, "shared/base/src/registry.rs", registry, line);
    let agent = "tests/fixtures/newcomer/agent.rs";
    let text = fs::read_to_string(here.join(agent)).unwrap();
    write(&tree, "shared/logs/src/agents/newcomer/mod.rs", &text, agent);
    let agents = "shared/logs/src/agents/mod.rs";
    add(&tree, agents, "pub mod hermes;\n", "pub mod newcomer;\n");
    add(&tree, agents, "&codex::Codex", ", &newcomer::Newcomer");
    let patterns = fs::read_to_string(tree.join("shared/config/src/matches.rs")).unwrap();
    let more = patterns.replacen("LOGS: [&str; 5] = [", "LOGS: [&str; 6] = [\"newcomer\", ", 1);
    write(&tree, "shared/config/src/matches.rs", &more, "shared/config/src/matches.rs");
    for file in [
        "bins/heal/main.rs",
        "contrib/systemd/watchbill-heal.service",
        "contrib/systemd/watchbill-heal.timer",
    ] {
        like_heal(&tree, file);
    }
    let crontab = "contrib/cron/watchbill";
    let jobs = fs::read_to_string(tree.join(crontab)).unwrap();
    let job = jobs.lines().find(|l| l.starts_with("#*/2 ") && l.contains(" heal ")).unwrap();
    let job = format!("\n{}\n", job.replace("heal", "newcomer"));
    write(&tree, crontab, &(jobs + &job), crontab);

    let program = "[[bin]]\nname = \"newcomer\"\npath = \"bins/newcomer/main.rs\"\n\n";
    let manifest = fs::read_to_string(tree.join("Cargo.toml")).unwrap();
    let manifest = manifest.replacen("[[bin]]\n", &format!("{program}[[bin]]\n"), 1);
    write(&tree, "Cargo.toml", &manifest, "Cargo.toml");
    tree
}

/// The programs of that copy, in a folder of its own: cargo names what it builds by the path inside the workspace, so that beside
/// the real sources one would be taken for the other.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let tree = tree();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer-target");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--locked", "--bin", "newcomer", "--bin", "watchbill", "--target-dir"]);
    let done = cargo.arg(&target).current_dir(tree).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    target.join("debug")
});

/// One of those programs on a board.
fn run(b: &TestBoard, program: &str, args: &[&str]) -> Ran {
    let mut command = Command::new(BUILT.join(program));
    ran(command.env_clear().envs(b.environment()).current_dir(b.path()).stdin(Stdio::null()).args(args))
}

#[test]
fn a_fifth_watcher_is_one_folder_and_one_line() {
    let bin = &*BUILT;
    let b = TestBoard::new();
    b.add("t_0000000a", "ready");
    b.add("t_0000000b", "ready");
    let run = |program: &str, args: &[&str]| run(&b, program, args);
    let watchbill = |args: &[&str]| run("watchbill", args);
    let db = b.db.to_str().unwrap();

    // The command line: a program by itself, a subcommand, and a name under which the one executable can be started.
    assert!(run("newcomer", &["--help"]).ok().starts_with("Look at every open task and do nothing\n"));
    let listed = watchbill(&["--help"]).ok();
    let line = listed.lines().find(|l| l.trim_start().starts_with("newcomer ")).expect(&listed);
    assert!(line.ends_with("Look at every open task and do nothing"), "{line}");
    let link = b.path().join("newcomer");
    std::os::unix::fs::symlink(bin.join("watchbill"), &link).unwrap();
    let mut linked = Command::new(link);
    let said = ran(linked.env_clear().envs(b.environment()).args(["--json", "--db", db])).json();
    assert_eq!((&said["program"], &said["boards"][0]["exit"]), (&json!("newcomer"), &json!(0)));

    // A pass, its metrics, and what it kept for a replay.
    let metrics = b.path().join("state/watchbill/metrics/newcomer.prom");
    let said = run("newcomer", &["-v", "--db", db, "--metrics", metrics.to_str().unwrap()]).ok();
    assert!(said.contains("t_0000000a") && said.contains("a newcomer leaves it alone"), "{said}");
    let kept = fs::read_to_string(metrics).unwrap();
    assert!(kept.contains("watchbill_last_pass_exit_code{program=\"newcomer\"} 0\n"), "{kept}");
    let policy = b.path().join("new.toml");
    fs::write(&policy, &b.config).unwrap();
    let replayed = watchbill(&["replay", "--json", "--db", db, "--config", policy.to_str().unwrap()]).json();
    let board = &replayed["boards"][0];
    assert!(board["passes"].as_i64() >= Some(1), "{replayed:#}");
    assert_eq!((&board["unreadable"], &board["changed"]), (&json!(0), &json!(0)), "{replayed:#}");

    // `why` and `report` ask it.
    let take = |task: &str| -> (Value, Value) {
        let why = watchbill(&["why", task, "--json", "--db", db]).json();
        let all = why["watchers"].as_array().unwrap();
        let its = all.iter().find(|w| w["watcher"] == "newcomer").expect("it is asked");
        (its["verdict"].clone(), its["because"].clone())
    };
    assert_eq!(take("t_0000000a"), (json!("leaves"), json!("a newcomer leaves it alone")));
    assert_eq!(take("t_0000000b"), (json!("nothing"), json!("a newcomer has nothing to say")));
    let report = watchbill(&["report", "--json", "--db", db]).ok();
    assert!(report.contains("a newcomer looked at the board"), "{report}");

    // Timers and `doctor`.
    let units = b.path().join("units");
    let units = units.to_str().unwrap();
    let done = watchbill(&["timers", "install", "--as", "user", "--unit-dir", units]);
    assert!(matches!(done.code, 0 | 1), "{done:?}");
    assert!(Path::new(units).join("watchbill-run.timer").exists());
    let round = watchbill(&["run", "-n", "--json", "--db", db]).json();
    assert_eq!(round["watchers"].as_array().unwrap().last().unwrap()["program"], "newcomer", "{round:#}");
    assert!(watchbill(&["timers", "--help"]).ok().contains("newcomer every 10m"));
    let doctor = watchbill(&["doctor", "--json", "--db", db]);
    let doctor: Value = serde_json::from_str(&doctor.out).unwrap();
    let of_it = doctor["findings"].as_array().unwrap().iter().find(|f| f["about"] == "newcomer");
    let of_it = of_it.expect("doctor tells of it");
    assert_eq!(of_it["id"], "timers-missing", "{of_it:#}");
    assert_eq!(of_it["what"], "not scheduled, nothing is left undone");
}

#[test]
fn a_further_agent_is_one_folder_and_one_entry() {
    // The lines below are of now, and building takes minutes.
    LazyLock::force(&BUILT);
    let b = TestBoard::new();
    let watchbill = |args: &[&str]| run(&b, "watchbill", args);
    let db = b.db.to_str().unwrap();
    let line = |kind: &str, more: Value| {
        let mut line = json!({"newcomer": "s1", "type": kind, "timestamp": Time(now() - 300).to_string()});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let start = line("start", json!({"cwd": "/w"}));
    let call = line("call", json!({"id": "1", "tool": "edit", "file": "/w/a.rs"}));
    let done = line("answer", json!({"id": "1", "failed": true}));
    let spoke =
        line("spoke", json!({"id": "m1", "model": "claude-sonnet-4-5", "input": 1_000, "output": 10}));
    let failed = line("failed", json!({"said": "HTTP 429: slow down"}));
    let works = [start, call, done, spoke].concat();
    let log = b.path().join("newcomer.jsonl");
    fs::write(&log, works.clone() + &failed).unwrap();
    let log = log.to_str().unwrap();

    // `match`: by its lines, by its name, and by a pattern of the operator.
    let told = watchbill(&["match", log, "--json"]).json();
    assert_eq!(
        (&told["format"], &told["end"]["cause"]),
        (&json!("newcomer"), &json!("rate_limit")),
        "{told:#}"
    );
    assert_eq!(told["session"], json!({"session_id": "s1", "lines": 5, "tool_calls": 1}));
    assert_eq!(told["causes"]["tool_error"]["tool"], 1);
    assert!(watchbill(&["match", "--help"]).ok().contains("newcomer"));
    assert_eq!(watchbill(&["match", log, "--json", "--format", "newcomer"]).json()["end"], told["end"]);
    let patterns = b.path().join("patterns.toml");
    fs::write(&patterns, "[[match]]\nregex = 'slow down'\ncause = \"quota\"\nlogs = [\"newcomer\"]\n")
        .unwrap();
    let taught = watchbill(&["match", log, "--json", "--config", patterns.to_str().unwrap()]).json();
    assert_eq!(taught["end"]["cause"], "quota", "{taught:#}");

    // `budget-check`: what a running attempt used.
    b.add("t_0000000a", "ready");
    b.run_it("t_0000000a", None, 600);
    b.log("t_0000000a", &works);
    let checked = watchbill(&["budget-check", "--json", "--db", db]).json();
    let usage = &checked["boards"][0]["overview"]["tasks"][0]["usage"];
    assert_eq!((&usage["format"], &usage["turns"]), (&json!("newcomer"), &json!(1)), "{usage:#}");
    assert_eq!((&usage["tokens"]["input"], &usage["tool_errors"]), (&json!(1_000), &json!(1)), "{usage:#}");
    assert_eq!((&usage["edits"], &usage["cost"]), (&json!(1), &json!(0.00315)), "{usage:#}");

    // `why`: what an attempt died of.
    // Its attempt lasted from before the lines until after them.
    b.give_up("t_0000000b", "pid 4242 not alive", 290);
    b.log("t_0000000b", &(works + &failed));
    let why = watchbill(&["why", "t_0000000b", "--db", db]).ok();
    assert!(why.contains("(rate_limit)") && why.contains("HTTP 429: slow down"), "{why}");
}
