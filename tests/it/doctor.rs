//! `watchbill doctor`: each finding brought about on a real folder and board, told, and nothing written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::dry::unchanged;
use crate::route::{FLEET, REFUSED_KEY};
use crate::support::{Kept, Ran, TestBoard, dead_pid, executable, now, program, ran, until};
use crate::tools::{self, CRON, watchbill};

/// Every finding there is. Names do not change; new ones may come.
pub const IDS: [&str; 50] = [
    "config-valid",
    "config-invalid",
    "config-shared",
    "config-differs",
    "config-ignored",
    "board-found",
    "board-none",
    "board-unreadable",
    "board-unwritable",
    "board-too-old",
    "board-outdated",
    "board-split",
    "board-damaged",
    "board-replaced",
    "board-paused",
    "board-unwatched",
    "other-user",
    "clock-sane",
    "clock-behind",
    "host-silent",
    "dispatcher-alive",
    "dispatcher-absent",
    "dispatcher-hidden",
    "dispatcher-wedged",
    "dispatcher-stopped",
    "hermes-unreadable",
    "orchestrator-found",
    "orchestrator-missing",
    "orchestrator-refused",
    "key-refused",
    "fallback-missing",
    "auto-decompose-on",
    "person-works",
    "timers-installed",
    "timers-missing",
    "timers-off",
    "timers-twice",
    "linger-off",
    "pass-recent",
    "pass-never",
    "pass-overdue",
    "pass-failed",
    "notify-ready",
    "notify-failing",
    "workers-hidden",
    "state-ready",
    "state-refused",
    "disk-space",
    "disk-low",
    "versions",
];

/// What it says, as JSON, however it ends.
#[track_caller]
fn doctor(b: &TestBoard, args: &[&str]) -> Value {
    told(tools::run(b, &[&["doctor", "--json"], args].concat()))
}

#[track_caller]
fn told(ran: Ran) -> Value {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert_eq!(report["exit"], ran.code, "{report:#}");
    report
}

/// Severities and texts of the findings with this name, each with what to do.
fn find(report: &Value, id: &str) -> Vec<String> {
    assert!(IDS.contains(&id), "{id} is no finding");
    let all = report["findings"].as_array().unwrap().iter().filter(|f| f["id"] == id);
    let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
    all.map(|f| [&f["severity"], &f["about"], &f["what"], &f["todo"]].map(text).join(" | ")).collect()
}

/// Fails unless there is exactly one such finding, and it holds these words.
#[track_caller]
fn has(report: &Value, id: &str, words: &[&str]) {
    let found = find(report, id);
    assert_eq!(found.len(), 1, "{id}: {report:#}");
    for word in words {
        assert!(found[0].contains(word), "{id}: {word:?} is not in {:?}", found[0]);
    }
}

/// A Hermes root in which nothing is wrong: profiles, a dispatcher that ticks, timers that run, recent passes.
fn healthy() -> TestBoard {
    let b = TestBoard::new();
    for profile in ["luna", "tuesday"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    fs::write(b.path().join("config.yaml"), "kanban: {auto_decompose: false}\n").unwrap();
    fs::write(b.path().join("crontab"), CRON).unwrap();
    b.add("t_00000001", "ready");
    tick(&b);
    passed(&b, &[]);
    b
}

#[test]
fn a_board_that_the_timers_do_not_name_is_found() {
    let (b, other) = (healthy(), TestBoard::new());
    other.add("t_00000001", "ready");
    other.sql(&format!("UPDATE tasks SET created_at = {}", now() - 600));
    let report = doctor(&b, &["--db", other.db.to_str().unwrap()]);
    has(&report, "board-unwatched", &["error |", "no pass of ", "names others", "timers status"]);
    assert_eq!(find(&doctor(&b, &[]), "board-unwatched").len(), 0);
}

/// The dispatcher did something just now.
fn tick(b: &TestBoard) {
    let at = now();
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'promoted', NULL, {at})"
    ));
}

/// A pass of every watcher that leaves its record where `doctor` looks for it.
fn passed(b: &TestBoard, args: &[&str]) {
    for name in shared::base::registry::NAMES.iter().copied() {
        let file = b.path().join(format!("state/watchbill/metrics/{name}.prom"));
        let _ = ran(b.command(name).arg("--metrics").arg(file).args(args));
    }
}

#[test]
fn where_all_is_well_it_says_so_and_writes_nothing() {
    let b = healthy();
    let said = tools::run(&b, &["doctor"]).ok();
    assert!(said.ends_with("\nAll is well.\n"), "{said}");
    let report = doctor(&b, &["--fail-on", "warning"]);
    assert_eq!(report["worst"], "info", "{report:#}");
    for id in [
        "config-valid",
        "board-found",
        "clock-sane",
        "dispatcher-alive",
        "orchestrator-found",
        "state-ready",
        "disk-space",
        "versions",
    ] {
        has(&report, id, &[]);
    }
    has(&report, "board-found", &["ok | default", "kanban.db: Hermes 0.18 or 0.19, 1 open task"]);
    has(&report, "orchestrator-found", &["tuesday"]);
    has(&report, "versions", &["Watchbill 0.1.0, SQLite 3.", "no Hermes on the path"]);
    assert_eq!((find(&report, "timers-installed").len(), find(&report, "pass-recent").len()), (4, 4));
    unchanged(&b, "doctor", || {
        doctor(&b, &["-v"]);
        tools::run(&b, &["doctor", "-q"]).ok();
    });
    assert_eq!(tools::run(&b, &["doctor", "-q"]).ok(), "");
}

#[test]
fn every_value_is_told_with_who_said_it() {
    let mut b = healthy();
    b.config.push_str("[heal]\ngrace = \"5m\"\n[profiles.luna]\nfallbacks = [\"tuesday\"]\n");
    let mut command = watchbill(&b, &["doctor", "--json", "--db", b.db.to_str().unwrap()]);
    let report = told(ran(command.env("WATCHBILL_HEAL_HOLD", "20m")));
    let origin = |key: &str| {
        let all = report["config"].as_array().unwrap();
        let one = all.iter().find(|v| v["key"] == key).unwrap_or_else(|| panic!("{key}"));
        [&one["value"], &one["origin"]].map(|v| v.as_str().unwrap_or("-").to_owned())
    };
    let file = b.path().join("watchbill.toml").display().to_string();
    assert_eq!(origin("heal.grace"), ["\"5m\"".to_owned(), file.clone()]);
    assert_eq!(origin("heal.hold"), ["\"20m\"", "WATCHBILL_HEAL_HOLD"]);
    assert_eq!(origin("heal.decay")[1], "default");
    assert_eq!(origin("board.db"), [b.db.display().to_string(), "--db".to_owned()]);
    assert_eq!(origin("profiles.luna.fallbacks")[1], file);
    has(&report, "config-valid", &["ok |", "4 values are set, by ", "WATCHBILL_HEAL_HOLD"]);
    let said = tools::run(&b, &["doctor", "-v"]).out;
    assert!(said.contains(&format!("heal.grace = \"5m\"  ({file})")), "{said}");
    // What stands in a table is told by its key alone.
    assert!(said.contains(&format!("  profiles.luna.fallbacks  ({file})")), "{said}");
}

#[test]
fn a_configuration_that_is_refused_or_shared_is_told() {
    let mut b = healthy();
    b.config = "[heal]\nmax_resetz = 3\n".into();
    let report = doctor(&b, &[]);
    has(&report, "config-invalid", &["error |", "watchbill.toml:2", "max_resetz", "max_resets"]);
    assert_eq!(report["exit"], 1);
    has(&report, "board-found", &[]);
    // It may be the refused file that names the board.
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = b.command("watchbill");
    command.args(["doctor", "--json"]).env("HERMES_HOME", nowhere.path()).env("HOME", nowhere.path());
    let alone = told(ran(&mut command));
    has(&alone, "config-invalid", &[]);
    assert!(!alone.to_string().contains("board-none"), "{alone}");
    b.config = "[heal]\ngrace = \"5m\"\n".into();
    doctor(&b, &[]);
    let file = b.path().join("watchbill.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    has(&doctor(&b, &[]), "config-shared", &["warning |", "its group can write it"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    has(&doctor(&b, &[]), "config-invalid", &["error |", "every user can write it"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(b.path(), fs::Permissions::from_mode(0o777)).unwrap();
    has(&doctor(&b, &[]), "config-shared", &["every user can write its folder"]);
}

#[test]
fn a_variable_that_sets_nothing_is_told() {
    let b = healthy();
    let with = |name: &str| {
        told(ran(tools::watchbill(&b, &["doctor", "--json"])
            .env(name, "5m")
            .env("WATCHBILL_TASK", "t_00000001")))
    };
    has(
        &with("WATCHBILL_HAEL_GRACE"),
        "config-ignored",
        &["warning | WATCHBILL_HAEL_GRACE", "did you mean WATCHBILL_HEAL_GRACE?"],
    );
    has(&with("WATCHBILL_XYZ"), "config-ignored", &["info | WATCHBILL_XYZ | sets nothing"]);
    assert_eq!(find(&doctor(&b, &[]), "config-ignored").len(), 0);
    let table = with("WATCHBILL_NOTIFY_PHONE_URL");
    has(&table, "config-ignored", &["warning | WATCHBILL_NOTIFY_PHONE_URL", "[notify.NAME]", "url_env"]);
}

#[test]
fn a_board_that_is_not_there_or_is_none_is_told() {
    let b = healthy();
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = watchbill(&b, &["doctor", "--json"]);
    let report = told(ran(command.env("HERMES_HOME", nowhere.path())));
    has(
        &report,
        "board-none",
        &["error |", "no board found", "--db", "hermes kanban init", "watchbill demo"],
    );
    has(
        &doctor(&b, &["--db", "/no/such.db"]),
        "board-unreadable",
        &["error |", "no such board", "`watchbill forget --db /no/such.db`"],
    );
    fs::write(b.path().join("text.db"), "no database ".repeat(200)).unwrap();
    let text = b.path().join("text.db");
    has(&doctor(&b, &["--db", text.to_str().unwrap()]), "board-unreadable", &["error |", "text.db"]);
    assert!(tools::run(&b, &["doctor", "--board", "No Slug"]).fails(2).contains("slug"));
    b.sql("DROP TABLE task_runs");
    has(
        &doctor(&b, &[]),
        "board-too-old",
        &["error |", "Hermes 0.12 or earlier", "open it once with a newer"],
    );
}

#[test]
fn another_board_than_passes_saw_is_told_until_it_is_meant() {
    let b = healthy();
    let db = b.db.to_str().unwrap();
    assert_eq!(find(&doctor(&b, &[]), "board-replaced").len(), 0);
    b.sql("DELETE FROM task_events; DELETE FROM tasks; DELETE FROM sqlite_sequence");
    let meant = format!("watchbill forget --db {db}");
    let words = ["error | default", "newest event has the number 0, and they saw number 2", meant.as_str()];
    for _ in 0..2 {
        has(&doctor(&b, &[]), "board-replaced", &words);
        passed(&b, &[]);
    }
    tools::run(&b, &["forget", "--db", db]).ok();
    assert_eq!(find(&doctor(&b, &[]), "board-replaced").len(), 0);
}

#[test]
fn shapes_of_other_versions_are_known() {
    let b = healthy();
    b.sql("ALTER TABLE tasks ADD COLUMN provider_override TEXT");
    has(&doctor(&b, &[]), "board-found", &["Hermes 0.20 to 0.21"]);
    b.sql("ALTER TABLE tasks ADD COLUMN worker_started_at TEXT");
    has(&doctor(&b, &[]), "board-found", &["later than 0.21.3"]);
    let own = TestBoard::own();
    let report = doctor(&own, &[]);
    has(&report, "board-found", &["made by `board init`, 0 open tasks"]);
    has(&report, "clock-sane", &["no event yet"]);
    assert!(find(&report, "dispatcher-absent").is_empty(), "nobody dispatches there");
}

#[test]
fn a_board_this_user_may_not_write_is_told() {
    let b = healthy();
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(&b.db, fs::Permissions::from_mode(0o444)).unwrap();
        has(&doctor(&b, &[]), "board-unwritable", &["error |", "kanban.db"]);
        return;
    }
    // Root may do everything, so another user looks.
    let copy = b.path().join("watchbill-copy");
    executable(&copy, fs::read(program("watchbill")).unwrap());
    for (path, mode) in [(b.path(), 0o777), (&b.db, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let inner = watchbill(&b, &["doctor", "--json"]);
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).args(inner.get_args());
    other.env_clear().envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?)))).stdin(Stdio::null());
    // Its own empty configuration: root's is readable, and its rules do not matter here.
    let report = told(ran(&mut other));
    has(&report, "board-unwritable", &["error |", "kanban.db"]);
    has(&report, "other-user", &["warning |", "user 0"]);
}

#[test]
fn a_split_board_is_told_with_who_writes_into_it() {
    let b = healthy();
    let conn = b.open();
    let _: i64 = conn.query_row("SELECT count(*) FROM tasks", [], |r| r.get(0)).unwrap();
    for end in ["-wal", "-shm"] {
        fs::remove_file(b.path().join(format!("kanban.db{end}"))).unwrap();
    }
    let report = doctor(&b, &[]);
    let me = std::process::id();
    has(
        &report,
        "board-split",
        &["error |", &format!("process {me}"), &format!("`kill -9 {me}` now, not a restart")],
    );
}

#[test]
fn a_pause_and_a_clock_that_is_wrong_are_told() {
    let b = healthy();
    tools::run(&b, &["pause", "--for", "2h", "--reason", "the disk is moved"]).ok();
    has(&doctor(&b, &[]), "board-paused", &["warning |", "paused until ", "the disk is moved", "unpause"]);
    let later = (now() + 7_300).to_string();
    assert!(find(&doctor(&b, &["--now", &later]), "board-paused").is_empty(), "it is over by then");
    let earlier = (now() - 650).to_string();
    let words = ["error |", "10m in the future", "of t_00000001", "it ends by itself at "];
    has(&doctor(&b, &["--now", &earlier]), "clock-behind", &words);
    let check = tools::run(&b, &["check", "--now", &earlier]);
    assert!(check.code == 2 && check.out.contains("nothing is decided by time"), "{check:?}");
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'commented', '{{}}', {})",
        now() * 1_000
    ));
    has(
        &doctor(&b, &[]),
        "clock-behind",
        &["warning |", "as if its time were in milliseconds", "created_at"],
    );
}

#[test]
fn who_dispatches_is_told() {
    let b = healthy();
    let later = (now() + 700).to_string();
    let absent = ["error |", "11m ago", "hermes gateway"];
    has(&doctor(&b, &["--now", &later]), "dispatcher-absent", &absent);
    // What a clock that was ahead noted proves nothing.
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'claimed', '{{}}', {})",
        now() + 4_000
    ));
    has(&doctor(&b, &["--now", &later]), "dispatcher-absent", &absent);
    b.sql(&format!("DELETE FROM task_events WHERE created_at > {}", now() + 1_000));
    let held = fs::File::create(b.path().join("kanban/.dispatcher.lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let me = format!("process {} holds its lock", std::process::id());
    has(&doctor(&b, &["--now", &later]), "dispatcher-alive", &["ok |", &me]);

    // Two passes, five minutes apart, that see the same process in its tick.
    let tick = fs::File::create(b.path().join("kanban.db.dispatch.lock")).unwrap();
    flock(&tick, FlockOperation::LockExclusive).unwrap();
    let me = format!("process {} has held", std::process::id());
    b.heal(&["--db", b.db.to_str().unwrap(), "--now", &now().to_string()]).ok();
    assert!(find(&doctor(&b, &[]), "dispatcher-wedged").is_empty(), "a tick holds it for a moment");
    let later = (now() + 320).to_string();
    has(&doctor(&b, &["--now", &later]), "dispatcher-wedged", &["error |", &me, "kill -9 it"]);
}

#[test]
fn a_gateway_that_is_gone_or_stopped_is_not_alive() {
    let b = healthy();
    let lock = b.path().join("kanban/.dispatcher.lock");
    let mut gateway = Command::new("flock");
    gateway.arg("--no-fork").arg(&lock).args(["sleep", "600"]).stdin(Stdio::null());
    let mut gateway = Kept(gateway.spawn().unwrap());
    let (pid, db) = (gateway.pid(), b.db.to_str().unwrap().to_owned());
    until("the lock is held", || {
        find(&doctor(&b, &[]), "dispatcher-alive").iter().any(|f| f.contains("holds its lock"))
    });
    // Its newest claim, and one that a dispatcher of cron made beside it.
    let claim = |pid: i64| {
        let (lock, at) = (format!("{}:{pid}", crate::support::hostname()), now());
        b.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'claimed', '{{\"lock\":\"{lock}\"}}', {at})"
        ));
    };
    claim(pid);
    // One of a gateway before it, which is gone too.
    b.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_00000001', 'claimed', '{{\"lock\":\"{}:{}\"}}', {})",
        crate::support::hostname(),
        dead_pid(),
        now() - 60
    ));
    b.heal(&["--db", &db, "--now", &now().to_string()]).ok();

    let id = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    let stopped = format!("process {pid} holds its lock and is stopped");
    until("it is stopped", || !find(&doctor(&b, &[]), "dispatcher-stopped").is_empty());
    has(&doctor(&b, &[]), "dispatcher-stopped", &["error |", &stopped, &format!("kill -9 {pid}")]);

    gateway.kill();
    // One that restarts is away for seconds.
    assert!(find(&doctor(&b, &[]), "dispatcher-absent").is_empty());
    let free = now();
    b.heal(&["--db", &db, "--now", &free.to_string()]).ok();
    let at = |seconds: i64| doctor(&b, &["--now", &(free + seconds).to_string()]);
    assert!(find(&at(29), "dispatcher-absent").is_empty());
    has(&at(30), "dispatcher-absent", &["error |", &format!("(process {pid}) is gone")]);
    claim(dead_pid());
    has(&at(30), "dispatcher-alive", &["ok |", "it last did something"]);
}

#[test]
fn a_damaged_board_is_told_with_how_to_repair_it() {
    let b = crate::damaged::with_bad_index();
    let index = "wrong # of entries in index idx_tasks_status";
    has(&doctor(&b, &[]), "board-damaged", &["error |", index, "REINDEX"]);
}

#[test]
fn what_of_hermes_cannot_be_read_is_told() {
    let b = healthy();
    assert_eq!(find(&doctor(&b, &[]), "hermes-unreadable"), [""; 0]);
    let luna = b.path().join("profiles/luna");
    fs::create_dir_all(luna.join("logs/agent.log")).unwrap();
    fs::write(luna.join("config.yaml"), "model: {provider: moon\nkey: [\n").unwrap();
    fs::write(b.path().join("config.yaml"), "kanban: [\n").unwrap();
    let words = [
        "error | default |",
        "profiles/luna/config.yaml: line 2 is not valid YAML",
        "profiles/luna/logs/agent.log: not a regular file",
        "/config.yaml: line 2 is not valid YAML",
        "let the user who runs the watchers read it",
    ];
    let report = doctor(&b, &[]);
    has(&report, "hermes-unreadable", &words);
    // What would stand in the settings is not known.
    for id in ["orchestrator-found", "orchestrator-missing", "fallback-missing", "auto-decompose-on"] {
        assert_eq!(find(&report, id), [""; 0], "{id}");
    }
}

#[test]
fn folders_of_hermes_that_cannot_be_read_are_told() {
    let b = healthy();
    fs::remove_dir_all(b.path().join("profiles")).unwrap();
    fs::remove_dir(b.path().join("kanban/logs")).unwrap();
    // No right keeps root out of a folder.
    for folder in ["profiles", "kanban/logs"] {
        fs::write(b.path().join(folder), "").unwrap();
    }
    let report = doctor(&b, &[]);
    let words = ["error | default |", "/profiles: Not a directory", "/kanban/logs: Not a directory"];
    has(&report, "hermes-unreadable", &words);
    assert_eq!(find(&report, "orchestrator-missing"), [""; 0]);
}

#[test]
fn profiles_that_do_not_exist_are_told() {
    let mut b = healthy();
    fs::remove_dir(b.path().join("profiles/tuesday")).unwrap();
    has(&doctor(&b, &[]), "orchestrator-missing", &["warning | default | no profile tuesday"]);
    let own = b.config.clone();
    b.config = format!("{own}[distress]\norchestrator = \"wednesday\"\n");
    has(&doctor(&b, &[]), "orchestrator-missing", &["error |", "wednesday"]);
    b.config = format!(
        "{own}[orchestrator]\nfallbacks = [\"luna\", \"nobody\"]\n[profiles.luna]\nfallbacks = [\"nova\"]\n"
    );
    let report = doctor(&b, &[]);
    has(&report, "orchestrator-found", &["cards go to luna"]);
    let missing = find(&report, "fallback-missing");
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].contains("orchestrator.fallbacks names nobody"), "{missing:?}");
    assert!(missing[1].contains("profiles.luna.fallbacks names nova"), "{missing:?}");
    // A person whose name a profile has, until that one works.
    b.config = format!("{own}[people]\nassignee = \"luna\"\n");
    assert_eq!(find(&doctor(&b, &[]), "person-works"), [""; 0]);
    b.add("t_0000feed", "ready");
    b.run_it("t_0000feed", None, 600);
    b.sql("UPDATE task_runs SET profile = 'Luna'");
    has(&doctor(&b, &[]), "person-works", &["warning | default | people.assignee names luna, and a worker"]);
    b.sql("UPDATE task_runs SET ended_at = started_at");
    assert_eq!(find(&doctor(&b, &[]), "person-works"), [""; 0], "Hermes made that attempt up");
    fs::remove_file(b.path().join("config.yaml")).unwrap();
    has(&doctor(&b, &[]), "auto-decompose-on", &["warning |", "config.yaml"]);
}

#[test]
fn what_nothing_starts_is_told_and_what_two_start() {
    let b = healthy();
    fs::write(b.path().join("crontab"), "# */2 * * * * heal\n*/2 * * * * synthesize-distress\n").unwrap();
    let report = doctor(&b, &[]);
    let missing = find(&report, "timers-missing");
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert!(missing[0].starts_with("error | heal | not scheduled, held tasks"), "{missing:?}");
    assert!(missing[2].starts_with("warning | budget-check | "), "{missing:?}");
    has(&report, "timers-installed", &["ok | synthesize-distress | crontab"]);

    // The units as they ship, in the folder of the user's systemd.
    let units = b.path().join(".config/systemd/user");
    fs::create_dir_all(&units).unwrap();
    for name in ["heal", "synthesize-distress"] {
        for end in ["service", "timer"] {
            let file = format!("watchbill-{name}.{end}");
            let shipped =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/systemd").join(&file);
            fs::copy(shipped, units.join(file)).unwrap();
        }
    }
    has(
        &doctor(&b, &[]),
        "timers-off",
        &["error | heal |", "systemctl --user enable --now watchbill-heal.timer"],
    );
    fs::create_dir_all(b.path().join("on")).unwrap();
    for name in ["heal", "synthesize-distress"] {
        fs::write(b.path().join(format!("on/watchbill-{name}.timer")), "").unwrap();
    }
    let report = doctor(&b, &[]);
    has(&report, "timers-installed", &["ok | heal |", "watchbill-heal.timer"]);
    has(
        &report,
        "timers-twice",
        &["warning | synthesize-distress |", "watchbill-synthesize-distress.timer, crontab"],
    );
    // What leaves no record is known by systemd's own memory.
    fs::remove_file(b.path().join("state/watchbill/metrics/heal.prom")).unwrap();
    fs::write(b.path().join("last"), (now() - 1_000).to_string()).unwrap();
    has(&doctor(&b, &[]), "pass-overdue", &["error | heal |", "16m ago"]);
    // So is a start that failed: no record is left by a program that could not be started.
    for (result, status, severity, said) in [
        ("exit-code", "203", "error", "could not be started (status 203)"),
        ("timeout", "0", "error", "systemd says: timeout"),
        ("exit-code", "66", "error", "exit 66"),
        ("exit-code", "1", "warning", "exit 1"),
    ] {
        fs::write(b.path().join("last"), (now() - 100).to_string()).unwrap();
        fs::write(b.path().join("result"), result).unwrap();
        fs::write(b.path().join("status"), status).unwrap();
        let log = "journalctl --user -u watchbill-heal.service";
        has(&doctor(&b, &[]), "pass-failed", &[&format!("{severity} | heal |"), said, log]);
    }
    fs::remove_file(b.path().join("result")).unwrap();
    assert!(find(&report, "linger-off").is_empty());
    fs::write(b.path().join("linger"), "no\n").unwrap();
    has(&doctor(&b, &[]), "linger-off", &["warning |", "loginctl enable-linger"]);
    // Where systemd cannot be asked, what is enabled counts.
    fs::write(b.path().join("no-systemd"), "").unwrap();
    has(&doctor(&b, &[]), "timers-off", &["heal"]);
    fs::create_dir(units.join("timers.target.wants")).unwrap();
    std::os::unix::fs::symlink(
        "../watchbill-heal.timer",
        units.join("timers.target.wants/watchbill-heal.timer"),
    )
    .unwrap();
    let installed = find(&doctor(&b, &[]), "timers-installed");
    assert!(
        installed[0].starts_with("ok | heal | ") && installed[0].contains("could not be asked"),
        "{installed:?}"
    );
}

#[test]
fn a_bundle_tells_what_was_done_and_no_text_of_a_task() {
    let b = healthy();
    b.sql("UPDATE tasks SET title = 'the secret plan of Anna'");
    b.add("t_00000002", "running");
    b.run_it("t_00000002", Some(dead_pid()), 600);
    b.heal(&[]).ok();
    let board = b.db.display().to_string();
    let before = b.dump();
    let ran = tools::run(&b, &["doctor", "--bundle", "--db", &board]);
    assert_eq!(before, b.dump(), "nothing is written");
    let whole: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let step = &whole["boards"][0]["steps"][0];
    let said = ["task", "kind", "by"].map(|key| step[key].as_str().unwrap_or_default());
    assert_eq!(said, ["t_00000002", "crashed", "heal"], "{whole:#}");
    assert_eq!(whole["boards"][0]["open"]["ready"], 2, "{whole:#}");
    assert!(whole["findings"].as_array().is_some_and(|all| !all.is_empty()), "{whole:#}");
    assert!(whole["config"].as_array().unwrap().iter().all(|v| v["origin"] != "default"), "{whole:#}");
    assert!(!ran.out.contains("secret plan"), "{}", ran.out);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/doctor.md")).unwrap();
    let fields = whole.as_object().unwrap().keys().chain(whole["boards"][0].as_object().unwrap().keys());
    for field in fields.chain(step.as_object().unwrap().keys()) {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn passes_that_are_missing_late_or_failed_are_told() {
    let b = healthy();
    fs::remove_file(b.path().join("state/watchbill/metrics/heal.prom")).unwrap();
    has(&doctor(&b, &[]), "pass-never", &["warning | heal |", "--metrics"]);
    // Nothing will ever start it: that is an error, and `timers install` says so at once.
    let cron = b.path().join("tools/proc/9/comm");
    fs::write(&cron, "crontab\n").unwrap();
    has(
        &doctor(&b, &[]),
        "pass-never",
        &["error | heal | only cron starts it, no cron daemon runs here", "start cron"],
    );
    let checked = tools::run(&b, &["check"]);
    assert!(checked.code == 2 && checked.out.contains("no cron daemon runs here"), "{checked:?}");
    let listed = tools::run(&b, &["timers", "status"]);
    assert!(
        listed.code == 1 && listed.out.contains("\nno cron daemon runs here: nothing is started"),
        "{listed:?}"
    );
    let installed = tools::run(&b, &["timers", "install", "--as", "cron", "-n"]);
    assert!(installed.code == 0 && installed.err.contains("no cron daemon runs here"), "{installed:?}");
    let installed = tools::run(&b, &["timers", "install", "--as", "cron", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&installed.out).unwrap();
    let warns = said["warnings"][0].as_str().is_some_and(|w| w.starts_with("no cron daemon runs here"));
    assert!(warns && said["exit"] == 1 && installed.code == 1, "{installed:?}");
    tools::run(&b, &["timers", "remove", "--as", "cron"]).ok();
    fs::write(&cron, "cron\n").unwrap();
    let later = (now() + 430).to_string();
    let overdue = find(&doctor(&b, &["--now", &later]), "pass-overdue");
    assert_eq!(overdue.len(), 2, "every 15 minutes is not late yet: {overdue:?}");
    assert!(overdue[0].contains("error | synthesize-distress | last pass 7m ago"), "{overdue:?}");

    passed(&b, &["--db", "/no/such.db"]);
    let failed = find(&doctor(&b, &[]), "pass-failed");
    assert_eq!(failed.len(), 4, "{failed:?}");
    assert!(failed[0].starts_with("error | heal | ") && failed[0].contains("ended with 66"), "{failed:?}");
    // As a wedged dispatcher ends a pass.
    let file = b.path().join("state/watchbill/metrics/heal.prom");
    let text = fs::read_to_string(&file).unwrap();
    let whole = text.replace("exit_code{program=\"heal\"} 66", "exit_code{program=\"heal\"} 1");
    fs::write(&file, &whole).unwrap();
    assert!(find(&doctor(&b, &[]), "pass-failed")[0].contains("ended with 66 on board /no/such.db"));
    fs::write(&file, whole.replace("} 66\n", "} 1\n")).unwrap();
    assert!(find(&doctor(&b, &[]), "pass-failed")[0].contains("warning | heal | "));
    // Wherever they are left.
    let elsewhere = tempfile::tempdir().unwrap();
    ran(b.command("heal").arg("--metrics").arg(elsewhere.path().join("heal.prom"))).ok();
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    ran(b.command("heal").arg("--metrics").arg(elsewhere.path().join("heal.prom"))).ok();
    let report = doctor(&b, &["--metrics", elsewhere.path().to_str().unwrap()]);
    assert!(find(&report, "pass-recent").iter().any(|f| f.contains("| heal |")), "{report:#}");
}

#[test]
fn a_state_folder_that_is_not_ours_is_told() {
    let b = healthy();
    let state = b.path().join("state/watchbill");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    has(&doctor(&b, &[]), "state-refused", &["error |", "every user can write its folder", "0700"]);
    let check = tools::run(&b, &["check"]);
    assert!(check.code == 2 && check.out.contains("every user can write its folder"), "{check:?}");
}

#[test]
#[cfg(feature = "real")]
fn a_full_disk_is_told() {
    let b = healthy();
    let line = format!(
        "mount -t tmpfs -o size=16m tmpfs {state} && exec \"$@\"",
        state = b.path().join("state").display()
    );
    let inner = watchbill(&b, &["doctor", "--json"]);
    let mut small = Command::new("unshare");
    small.args(["--mount", "--map-root-user", "sh", "-c", &line, "sh"]).arg(inner.get_program());
    small.args(inner.get_args()).env_clear().envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let report = told(ran(small.stdin(Stdio::null())));
    has(&report, "disk-low", &["error |", "MiB free", "make room"]);
}

#[test]
#[cfg(feature = "real")]
fn settings_of_the_system_units_alone_are_told() {
    let b = healthy();
    let with = |settings: &str, variable: Option<(&str, &str)>| {
        let line = format!(
            "mount -t tmpfs tmpfs /etc/default && printf '{settings}' > /etc/default/watchbill && exec \"$@\""
        );
        let inner = watchbill(&b, &["doctor", "--json"]);
        let mut alone = Command::new("unshare");
        alone.args(["--mount", "--map-root-user", "sh", "-c", &line, "sh"]).arg(inner.get_program());
        alone.args(inner.get_args()).env_clear().envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
        alone.envs(variable);
        told(ran(alone.stdin(Stdio::null())))
    };
    let settings = "# for the units\\nWATCHBILL_HEAL_GRACE=5m\\nLANG=C\\n";
    let report = with(settings, None);
    has(
        &report,
        "config-differs",
        &["warning | /etc/default/watchbill |", "WATCHBILL_HEAL_GRACE", "config.toml"],
    );
    let same = with(settings, Some(("WATCHBILL_HEAL_GRACE", "5m")));
    assert!(find(&same, "config-differs").is_empty(), "{same:#}");
    assert!(find(&with("LANG=C\\n", None), "config-differs").is_empty());
}

#[test]
#[cfg(feature = "real")]
fn where_processes_do_not_show_it_is_told() {
    let mut b = healthy();
    b.config.clear();
    let held = fs::File::create(b.path().join("kanban/.dispatcher.lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let inner = watchbill(&b, &["doctor", "--json"]);
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    inside.arg(inner.get_program()).args(inner.get_args());
    inside.env_clear().envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let report = told(ran(inside.stdin(Stdio::null())));
    has(&report, "workers-hidden", &["warning |", "pid namespace", "host.pid_namespace"]);
    has(&report, "dispatcher-hidden", &["info |", "pid namespace"]);
}

#[test]
fn a_target_that_cannot_be_told_is_found() {
    let b = TestBoard { config: "[notify.own]\ncommand = ['false']\n".into(), ..TestBoard::new() };
    has(&doctor(&b, &[]), "notify-ready", &["ok |", "notify own"]);
    // That nothing starts the watchers is something to tell.
    for (minutes, severity) in [(0, "warning |"), (2, "warning |"), (10, "error |")] {
        let at = (now() + 60 * minutes).to_string();
        assert_eq!(tools::run(&b, &["notify", "--now", &at]).code, 1);
        has(
            &doctor(&b, &[]),
            "notify-failing",
            &[severity, "false ended with 1", "notify --test --target own"],
        );
    }
    fs::write(b.path().join("state/watchbill/notify/own.json"), "{}").unwrap();
    has(&doctor(&b, &[]), "notify-failing", &["warning |", "what it was told is not known"]);
}

#[test]
fn what_providers_refuse_and_time_does_not_mend_is_told() {
    let mut b = healthy();
    b.config.push_str(FLEET);
    assert!(find(&doctor(&b, &[]), "key-refused").is_empty());
    b.died_of("t_00000002", REFUSED_KEY);
    b.pass_of("synthesize-distress", 0, &[]).ok();
    let words = ["warning |", "the key of luna", " is refused, for ", "put a working key into"];
    has(&doctor(&b, &[]), "key-refused", &words);
    assert!(find(&doctor(&b, &[]), "orchestrator-refused").is_empty());
    b.config.push_str("[distress]\norchestrator = \"luna\"\n");
    let words =
        ["error |", "the key of luna is refused: cards wait, and nobody decides", "orchestrator.fallbacks"];
    has(&doctor(&b, &[]), "orchestrator-refused", &words);
    assert!(find(&doctor(&b, &[]), "key-refused").is_empty(), "it is told once");
    b.config.push_str("[orchestrator]\nfallbacks = [\"sol\"]\n");
    assert!(!find(&doctor(&b, &[]), "orchestrator-refused").is_empty(), "there is no such profile");
    fs::create_dir_all(b.path().join("profiles/sol")).unwrap();
    assert!(find(&doctor(&b, &[]), "orchestrator-refused").is_empty(), "another one decides");
}

#[test]
fn every_finding_is_brought_about_here() {
    // What only a board on a server brings about is found there.
    let tests = [
        include_str!("doctor.rs"),
        include_str!("../../engines/postgres/tests/it/programs.rs"),
        include_str!("../../engines/postgres/tests/it/upgrading.rs"),
    ]
    .concat();
    let missing: Vec<_> = IDS
        .iter()
        .filter(|id| !tests.contains(&format!("\"{id}\"")) && !tests.contains(&format!("  {id}\"")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
