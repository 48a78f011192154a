//! The commands of the README, each run as it stands there, on a board in a temporary home.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{programs, text};
use crate::support::{TestBoard, program, ran};

/// The only task of that home, as the README names it.
const TASK: &str = "t_1a2b3c4d";
/// What needs more than our programs and a board: an agent.
const MORE: [&str; 1] = ["claude"];

/// Lines of code blocks and words between backticks that begin with one of our programs and go on.
fn commands(readme: &str) -> Vec<String> {
    let ours = |line: &&str| {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        !rest.is_empty() && programs().iter().any(|p| p == first)
    };
    let mut all = Vec::new();
    for (i, part) in readme.split("```").enumerate() {
        let is_block = i % 2 == 1;
        match is_block {
            true if part.starts_with("sh\n") => all.extend(part.lines().filter(ours).map(str::to_owned)),
            true => {}
            false => {
                // `board run` is the name of a command, and `board show t_1a2b3c4d` one to run.
                let words = part.split('`').skip(1).step_by(2).filter(ours);
                all.extend(words.filter(|w| !is_name(w)).map(str::to_owned));
            }
        }
    }
    all.retain(|line| !MORE.iter().any(|more| line.contains(more)));
    all
}

fn is_name(words: &str) -> bool {
    let has_commands = ["board ", "coord ", "watchbill "].iter().any(|p| words.starts_with(p));
    has_commands && words.split(' ').count() == 2
}

#[test]
fn commands_of_the_readme_work_as_they_stand() {
    let all = commands(&text("README.md"));
    assert!(all.len() >= 10, "{all:?}");
    for line in all {
        let board = TestBoard::own();
        let home = board.path();
        std::fs::create_dir(home.join(".hermes")).unwrap();
        std::fs::rename(&board.db, home.join(".hermes/kanban.db")).unwrap();
        let conn = rusqlite::Connection::open(home.join(".hermes/kanban.db")).unwrap();
        conn.execute_batch(&format!(
            "INSERT INTO tasks (id, title, assignee, status, created_at) VALUES ('{TASK}', 'x', 'luna', 'ready', unixepoch())"
        ))
        .unwrap();
        drop(conn);
        // Nothing of this machine but a shell: what it would change of the host is not to be found.
        let bin = home.join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in programs() {
            symlink(program(&name), bin.join(&name)).unwrap();
        }
        for name in ["cat", "touch"] {
            symlink(Path::new("/bin").join(name), bin.join(name)).unwrap();
        }
        if line.contains("--plan plan.json") {
            shell(home, "heal --dry-run --json > plan.json");
        }
        shell(home, &line);
    }
}

fn shell(home: &Path, line: &str) {
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", line]).current_dir(home).env_clear();
    sh.env("HOME", home).env("PATH", home.join("bin")).env("WATCHBILL_HOST_PID_NAMESPACE", "same");
    let ran = ran(&mut sh);
    // Neither systemd nor cron is to be found there.
    let nobody = line.starts_with("watchbill timers install") && ran.code == 66;
    assert!([0, 1].contains(&ran.code) || nobody, "{line}: {ran:?}");
    // What `doctor` finds it says where it was asked.
    let said = !ran.err.is_empty() || line == "watchbill doctor" && ran.out.contains("\nerror ");
    assert!(ran.code == 0 || said, "{line} says not what it could not do: {ran:?}");
}
