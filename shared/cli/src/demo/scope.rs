//! The scene of `budget-check`: a healthy worker that does more than its task, in a real working tree where there is a git.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Stage, said_of};
use crate::env;
use base::wrap::wrapped;
use board::NewTask;
use ops::report::printable;

/// The task it is about.
pub(super) const TASK: &str = "t_0000da09";

const BODY: &str = "\
Say what is wrong with it; change nothing but the review.

## Scope
- Concern: a review of the parser's design
- In scope: `design/**`
- Iteration budget: 30
- Time budget: 10m
";

/// Gives the task its bounds and its tree.
pub(super) fn set(stage: &Stage, task: &mut NewTask) {
    task.body = Some(BODY.to_owned());
    let tree = stage.dir.join("tree");
    if work(&tree).is_some() {
        task.workspace_kind = Some("worktree".into());
        task.workspace_path = Some(tree.display().to_string());
    }
}

/// A branch on which the review was written, and the parser rewritten. `None` where there is no git.
fn work(tree: &Path) -> Option<()> {
    let write = |file: &str, text: &str| {
        let path = tree.join(file);
        std::fs::create_dir_all(path.parent()?).ok()?;
        std::fs::write(path, text).ok()
    };
    write("src/parse.rs", "fn parse() {}\n")?;
    repository(tree)?;
    git(tree, &["checkout", "-qb", "wt/review"])?;
    write("design/review.md", "It needs a lexer.\n")?;
    write("src/parse.rs", "fn parse() { lex() }\n")?;
    write("src/lex.rs", "fn lex() {}\n")
}

/// Makes a folder a repository, with all that is in it in its first commit. `None` where there is no git.
pub(super) fn repository(tree: &Path) -> Option<()> {
    git(tree, &["init", "-q"])?;
    git(tree, &["add", "-A"])?;
    git(tree, &["commit", "-q", "--allow-empty", "-m", "The first"])?;
    git(tree, &["branch", "-qM", "main"])
}

fn git(tree: &Path, args: &[&str]) -> Option<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=demo", "-c", "user.email=demo@example.org"]).args(args);
    command.current_dir(tree).env_clear().env("PATH", env("PATH")?).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null()).output().ok()?;
    done.status.success().then_some(())
}

/// What the fourth program says of it.
pub(super) fn text(report: &Value) -> String {
    let mut s =
        String::from("\nOne pass of budget-check over what still runs. It changes nothing, and says:\n\n");
    let tasks = report["boards"][0]["overview"]["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(task) = tasks.iter().find(|t| t["task"] == TASK) else {
        let _ = writeln!(s, "  {}", said_of(report, TASK));
        return s;
    };
    let text = |v: &Value| printable(v.as_str().unwrap_or_default());
    let _ = writeln!(s, "  {}  {}", text(&task["title"]), text(&task["status"]));
    for v in task["verdicts"].as_array().into_iter().flatten() {
        s.push_str(&wrapped("      ", &format!("{}: {}", text(&v["verdict"]), text(&v["because"]))));
        if v["verdict"] == "out of scope" {
            for line in v["evidence"].as_array().into_iter().flatten() {
                let _ = writeln!(s, "          {}", text(line));
            }
        }
    }
    for child in task["draft"]["decision"]["children"].as_array().into_iter().flatten() {
        let _ = writeln!(s, "      it drafts a task of its own: {}", text(&child["title"]));
    }
    s
}
