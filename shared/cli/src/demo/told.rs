//! The scene of the morning: what `status`, `page` and `notify` say of what is left. Nothing is sent anywhere.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Stage, steps};
use base::count::things;
use base::error::Result;
use base::wrap::wrapped;

/// The folder of the page, and what it is called there.
const PAGE: &str = "watchbill.html";

/// Makes a round of all watchers, and asks what needs a person.
pub(super) fn play(stage: &Stage) -> Result<Value> {
    let page = stage.dir.join(PAGE).display().to_string();
    let round = stage.program("run", &["--all", "--json"])?;
    let status = stage.says("status", &[])?;
    let page = stage.says("page", &[&page])?;
    let message = stage.says("notify", &["--dry-run"])?;
    // Whose board is the usual one needs no path.
    let db = format!(" --db {}", stage.db.display());
    let (status, message) = (status.replace(&db, ""), message.replace(&db, ""));
    Ok(json!({"round": round, "status": status, "page": page, "message": message}))
}

pub(super) fn text(scene: &Value) -> String {
    let rounds = scene["round"]["watchers"].as_array().map_or(&[][..], Vec::as_slice);
    let changed: usize = rounds.iter().map(|report| steps(report).len()).sum();
    let mut s = format!(
        "\n`watchbill run` is one round of all four, for one line in the crontab. Here it\n\
         changes {}. What is left for a person, at a terminal, on a page\n\
         and in a message (nothing is sent here):\n",
        if changed == 0 { "nothing more".to_owned() } else { things(changed, "task") },
    );
    for (command, said) in [
        ("watchbill status", "status"),
        ("watchbill page", "page"),
        ("watchbill notify --dry-run", "message"),
    ] {
        let _ = writeln!(s, "\n  $ {command}");
        for line in scene[said].as_str().unwrap_or_default().lines() {
            // The page is in the folder of the demo.
            let line =
                line.split_once(PAGE).map_or_else(|| line.to_owned(), |(_, rest)| format!("{PAGE}{rest}"));
            s.push_str(&wrapped("  ", &line));
        }
    }
    s
}
