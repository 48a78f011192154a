//! The commands of the README and of the pages that tell what to do, each run as it stands there, on a board in a temporary home.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{place, programs, text};
use crate::support::{TestBoard, program, ran};

/// The pages whose commands are run.
pub fn pages() -> Vec<String> {
    let how_to = std::fs::read_dir(place("docs/how-to")).unwrap();
    let how_to = how_to.map(|e| format!("docs/how-to/{}", e.unwrap().file_name().to_str().unwrap()));
    ["README.md".to_owned(), "docs/install.md".to_owned()].into_iter().chain(how_to).collect()
}

/// The `[notify]` target in the configuration of that home, for pages that need one.
const TARGET: &str = "[notify.phone]\ncommand = [\"/bin/true\"]\n";

/// The only task of that home, as the pages name it.
const TASK: &str = "t_1a2b3c4d";
/// What needs more than our programs and a board: an agent.
const MORE: [&str; 1] = ["claude"];

/// Lines of code blocks and words between backticks that begin with one of our programs and go on.
fn commands(page: &str) -> Vec<String> {
    commands_of(page, &|first| programs().iter().any(|p| p == first))
}

/// The same for programs of others.
pub fn commands_of(page: &str, is_one: &dyn Fn(&str) -> bool) -> Vec<String> {
    let ours = |line: &&str| {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        !rest.is_empty() && is_one(first)
    };
    let mut all = Vec::new();
    for (i, part) in page.split("```").enumerate() {
        let is_block = i % 2 == 1;
        match is_block {
            true if part.starts_with("sh\n") => all.extend(part.lines().filter(ours).map(str::to_owned)),
            true => {}
            false => {
                // `board run` is the name of a command, and `board show t_1a2b3c4d` one to run.
                let words = part.split('`').skip(1).step_by(2).filter(ours);
                all.extend(words.filter(|w| !is_name(w)).map(str::to_owned));
                let indented = part.lines().filter(|l| l.starts_with("    ")).map(str::trim_start);
                let typed = indented.map(|l| l.strip_prefix("$ ").unwrap_or(l));
                all.extend(typed.filter(ours).map(str::to_owned));
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
fn commands_of_the_pages_that_say_what_to_do_work_as_they_stand() {
    let all: BTreeSet<String> = pages().iter().flat_map(|page| commands(&text(page))).collect();
    assert!(all.len() >= 35, "{all:?}");
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
        for file in [".config/watchbill/config.toml", "new.toml"] {
            let file = home.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, if line.contains("notify") { TARGET } else { "" }).unwrap();
        }
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

/// Settings that a how-to tells to write: indented, each with its table.
fn settings(page: &str) -> Vec<String> {
    let is_one = |block: &&str| block.trim_start().starts_with('[') && block.starts_with("    ");
    page.split("\n\n").filter(is_one).map(str::to_owned).collect()
}

#[test]
fn settings_of_the_how_tos_are_accepted() {
    let all: Vec<String> = pages().iter().flat_map(|page| settings(&text(page))).collect();
    assert!(all.len() >= 3, "{all:?}");
    for written in all {
        let mut board = TestBoard::new();
        board.config.push_str(&written);
        board.heal(&[]).ok();
    }
}

fn shell(home: &Path, line: &str) {
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", line]).current_dir(home).env_clear();
    sh.env("HOME", home).env("PATH", home.join("bin")).env("WATCHBILL_HOST_PID_NAMESPACE", "same");
    let ran = ran(&mut sh);
    // Neither systemd nor cron is to be found there.
    let nobody =
        ["watchbill timers install", "watchbill init"].iter().any(|l| line.starts_with(l)) && ran.code == 66;
    assert!([0, 1].contains(&ran.code) || nobody, "{line}: {ran:?}");
    // What `doctor` finds it says where it was asked.
    let found = line.starts_with("watchbill doctor") && ran.out.lines().any(|l| l.starts_with("error "));
    let said = !ran.err.is_empty() || found || line == "watchbill timers status";
    assert!(ran.code == 0 || said, "{line} says not what it could not do: {ran:?}");
}
