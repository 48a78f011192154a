//! Boards that grew beyond all reason: every watcher stays within half of what its unit gives it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, bail};
use shared::base::registry::NAMES as WATCHERS;
use testkit::crowd;
use testkit::generate::{Sizes, generate};

use crate::count;
use crate::ground::Ground;
use crate::report::Report;

/// Open tasks of each board.
const TASKS: usize = 5_000;
/// Bytes of one comment.
const COMMENT: usize = 64 << 10;
/// Half of `MemoryMax=` and of `TimeoutStartSec=` of the units in contrib/systemd.
const MAX_MIB: f64 = 256.0;
const MAX_SECONDS: f64 = 45.0;

/// The boards: what is put on each besides its tasks.
const BOARDS: [(&str, bool, bool); 4] = [
    ("5,000 open tasks", false, false),
    ("the same, 30,000 comments of 64 KiB", true, false),
    ("the same, 10,000 ready cards", false, true),
    ("the same, comments and cards", true, true),
];

/// Time and memory of one pass that only looks, on each.
pub(crate) fn size(ground: &Ground, report: &mut Report) -> Result<()> {
    if !count::has("strace", "WATCHBILL_STRACE")? {
        return Ok(());
    }
    report.table(
        "One pass that only looks, without `--json`, on boards that grew beyond all reason",
        "board | program | s | peak, MiB",
    );
    for (name, comments, cards) in BOARDS {
        let board = board(ground, comments, cards)?;
        for watcher in WATCHERS {
            let mut command = ground.plain(watcher, &board, ground.now);
            let mib = count::memory(&command)?.peak as f64 / 1024.0;
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let begun = Instant::now();
            // 1 is a finding: that not every task could be looked at.
            let status = command.spawn()?.wait()?;
            let seconds = begun.elapsed().as_secs_f64();
            if !matches!(status.code(), Some(0 | 1)) {
                bail!("{watcher} on {name} ended with {status}");
            }
            report.row(&format!("{name} | {watcher} | {seconds:.1} | {mib:.0}"));
            report.at_most(&format!("{watcher}, {name}: half of its unit's memory"), MAX_MIB, mib, " MiB");
            report.at_most(
                &format!("{watcher}, {name}: half of its unit's time"),
                MAX_SECONDS,
                seconds,
                " s",
            );
        }
        std::fs::remove_dir_all(board.parent().unwrap_or(Path::new("nowhere")))?;
    }
    Ok(())
}

fn board(ground: &Ground, comments: bool, cards: bool) -> Result<PathBuf> {
    let folder = ground.dir.path().join("size");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("kanban.db");
    let made = || -> Result<()> {
        generate(&path, Sizes::crowd(TASKS), 1, ground.now, 0.4)?;
        crowd::limits(&path)?;
        if comments {
            crowd::comments(&path, TASKS, 4, COMMENT, ground.now)?;
            crowd::comments(&path, 10, 1_000, COMMENT, ground.now)?;
        }
        if cards {
            crowd::cards(&path, 2 * TASKS, ground.now)?;
        }
        Ok(())
    };
    made()?;
    Ok(path)
}
