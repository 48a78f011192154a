//! The scene of `coord`: a coordinator starts a session for a task, looks at it, hears of it and stops it. The agent is a
//! stand-in that asks no model; `coord`, its harness, the working tree and the process are real.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Stage, WORKER_LIFE, scope};
use base::error::{Error, Result};
use base::wrap::wrapped;
use ops::report::printable;

/// The folder of the agent's program, which comes first on the path.
pub(super) const BIN: &str = "bin";
/// Where the stand-in keeps its transcripts.
pub(super) const TRANSCRIPTS: &str = "claude";
/// The session that coordinates.
const COORDINATOR: &str = "0000da0b-0000-4000-8000-000000000000";
const WARNING: &str = "Two of nine are broken";

/// Plays the scene. `Value::Null` where there is no git to make a working tree with.
pub(super) fn play(stage: &Stage) -> Result<Value> {
    let repo = stage.dir.join("lamps");
    agent(stage)?;
    std::fs::create_dir_all(&repo).map_err(|e| Error::io(repo.display(), &e))?;
    if scope::repository(&repo).is_none() {
        return Ok(Value::Null);
    }
    let repo = repo.display().to_string();
    let order = [
        "spawn",
        "--runtime",
        "claude",
        "--repo",
        &repo,
        "--parent",
        COORDINATOR,
        "--title",
        "Count the lanterns",
        "--prompt",
        "Count them.",
        "--json",
    ];
    let spawned = stage.program("coord", &order)?;
    let session = spawned["session"].as_str().unwrap_or_default();
    let status = stage.program("coord", &["status", session, "--json"])?;
    let notified =
        stage.program("coord", &["notify", WARNING, "--from", session, "--level", "warning", "--json"])?;
    let aborted = stage.program("coord", &["abort", session, "--reason", "the demo is over", "--json"])?;
    let task = stage.program("board", &["show", spawned["task"].as_str().unwrap_or_default(), "--json"])?;
    Ok(json!({"spawn": spawned, "status": status, "notify": notified, "abort": aborted, "task": task}))
}

/// As much of Claude Code as `coord` sees of it: it takes its prompt, keeps a transcript, and works.
fn agent(stage: &Stage) -> Result<()> {
    let path = stage.dir.join(BIN).join("claude");
    let text = format!(
        "#!/bin/sh\ncat > /dev/null\nmkdir -p \"$CLAUDE_CONFIG_DIR/projects/demo\"\n\
         echo \"{{\\\"type\\\":\\\"user\\\",\\\"sessionId\\\":\\\"$3\\\"}}\" > \"$CLAUDE_CONFIG_DIR/projects/demo/$3.jsonl\"\n\
         exec sleep {WORKER_LIFE}\n"
    );
    let made = std::fs::create_dir_all(stage.dir.join(BIN))
        .and_then(|()| std::fs::write(&path, text))
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)));
    made.map_err(|e| Error::io(path.display(), &e))
}

pub(super) fn text(scene: &Value) -> String {
    let mut s =
        String::from("\nA coordinator starts a session of its own, here a stand-in for Claude Code:\n\n");
    if scene.is_null() {
        s.push_str("  left out: there is no git here to make its working tree with\n");
        return s;
    }
    let text = |v: &Value| printable(v.as_str().unwrap_or("?"));
    let session = &scene["status"]["sessions"][0];
    let rows = [
        (
            "coord spawn",
            format!(
                "{}, in a working tree of its own on {}",
                text(&scene["spawn"]["task"]),
                text(&session["branch"])
            ),
        ),
        ("coord status", text(&session["state"])),
        ("coord notify", format!("{}: {WARNING}", text(&scene["notify"]["level"]))),
        (
            "coord abort",
            format!(
                "{}, with all it started; its task is {} again",
                text(&scene["abort"]["was"]),
                text(&scene["task"]["status"])
            ),
        ),
    ];
    for (command, said) in rows {
        s.push_str(&wrapped("  ", &format!("{command:12}  {said}")));
    }
    s
}
