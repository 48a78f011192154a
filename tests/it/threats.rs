//! A worker or another user means harm: `docs/evidence/threat-model.md` says who can write what, and each boundary it names is held by
//! a test, most of them elsewhere, the rest here. All with the built programs on a real board.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Ran, TestBoard, now, ran};

mod cards; // cards about ids of any shape
mod events; // what a worker forges on the board
mod files; // what lies where a file of Watchbill or Hermes should
mod secrets; // keys and passwords, wherever they stand
mod sizes; // texts far beyond anything useful
mod users; // other users of the host, and their processes
mod words; // ids, titles, logs and bodies that imitate or steer

use shared::base::registry::NAMES as WATCHERS;
/// Far above what any of these passes takes, and an end where one waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

impl TestBoard {
    /// One pass of a watcher over this root.
    fn pass(&self, watcher: &str, args: &[&str]) -> Ran {
        ran(self.command(watcher).args(args))
    }

    /// One pass of a watcher over this board as it will be in `seconds`.
    fn pass_later(&self, watcher: &str, seconds: i64, args: &[&str]) -> Ran {
        let at = (now() + seconds).to_string();
        ran(self.command(watcher).arg("--db").arg(&self.db).args(["--now", &at]).args(args))
    }

    /// A crash loop that `heal` resets, and that tells whether a pass did its work.
    fn crash_loop(&self, id: &str) {
        self.give_up(id, "pid 4242 not alive", 3_600);
    }

    /// An event as any process that can write the board can write it.
    fn forge(&self, id: &str, kind: &str, payload: &serde_json::Value, at: i64) {
        let sql = "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES (?1, ?2, ?3, ?4)";
        self.open().execute(sql, rusqlite::params![id, kind, payload.to_string(), at]).unwrap();
    }
}

/// Runs a program that must not wait for ever; it is ended where it does.
#[track_caller]
fn in_time(mut command: std::process::Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it waits for ever: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap().into()
}

fn pipe(at: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, at, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
}

/// A file of the repository, or a folder in it.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The sources of a folder, each with its path below it.
fn sources(folder: &Path, under: &str, all: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{under}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            sources(&entry.path(), &format!("{name}/"), all);
        } else if let Some(module) = name.strip_suffix(".rs") {
            all.push((module.replace('/', "::"), std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

#[test]
fn the_page_names_tests_that_exist_and_every_one_of_these() {
    let page = std::fs::read_to_string(repository("docs/evidence/threat-model.md")).unwrap();
    let (mut real, mut units) = (Vec::new(), Vec::new());
    sources(&repository("tests/it"), "", &mut real);
    for entry in std::fs::read_dir(repository("shared")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().join("Cargo.toml").exists() {
            sources(&entry.path().join("src"), &format!("{name}/"), &mut units);
        }
    }
    let named: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|w| w.starts_with("it::") || w.starts_with("unit::"))
        .collect();
    let mut missing = Vec::new();
    for name in &named {
        let (path, test) = name.rsplit_once("::").unwrap();
        let (all, module) = match path.strip_prefix("it::") {
            Some(module) => (&real, module),
            None => (&units, path.strip_prefix("unit::").unwrap_or_default()),
        };
        // As cargo names it: the module of its file, and `tests` where those stand in the file itself.
        let is_test = |(at, text): &(String, String)| {
            (at == module || module.strip_suffix("::tests") == Some(at))
                && text.contains(&format!("fn {test}("))
        };
        if !all.iter().any(is_test) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "the page names tests that are not there: {missing:?}");
    assert!(named.len() >= 40, "only {} tests are named", named.len());
    for (module, text) in real.iter().filter(|(m, _)| m == "threats" || m.starts_with("threats::")) {
        for test in text.split("#[test]\nfn ").skip(1).filter_map(|t| t.split('(').next()) {
            let name = format!("it::{module}::{test}");
            assert!(named.contains(&name.as_str()), "{name} is not on the page");
        }
    }
}
