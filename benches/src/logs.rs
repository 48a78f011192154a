//! Reading logs, beside `rg` with one thread on the same files.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use rusqlite::Connection;
use shared::logs::file::{EachLine, read_all};
use testkit::generate::{NO_PID, Sizes};

use crate::ground::Ground;
use crate::passes::Size;
use crate::report::{Report, short};
use crate::run::{Sample, in_turn, once};

/// What the reader of a worker's log looks for, as one pattern.
const PATTERN: &str = r"HTTP (4\d\d|5\d\d)|RateLimitError|API call failed|Rate limited after|API failed after|Final error|Connection error|AuthenticationError|Iteration budget|Query: work kanban task|isApiErrorMessage|turn[._](failed|completed?)|task_complete";

/// Logs of workers that died, as large as a long night makes them.
const LOGS: usize = 40;

/// Times of first looks and of whole readings.
pub(crate) fn logs(ground: &Ground, size: Size, report: &mut Report) -> Result<()> {
    let mib = if size == Size::Quick { 1 } else { 5 };
    let rounds = if size == Size::Quick { 7 } else { 31 };
    let (root, files) = root(ground, mib)?;
    let mut heal = || {
        let mut command = ground.command(ground.bin.join("heal"));
        command.args(["--dry-run", "--json", "--now", &ground.now.0.to_string()]).env("HERMES_HOME", &root);
        once(&mut command)
    };
    let has_rg = Command::new("rg").arg("--version").output().is_ok_and(|o| o.status.success());
    if !has_rg {
        report.note("`rg` is not installed here: left out.");
    }
    let mut theirs = || once(&mut rg(ground, &files));
    report.table(
        &format!("{LOGS} logs of {mib} MiB, ms of whole processes ({rounds} rounds in turn)"),
        "program | median | least | 90 % | processor | to ours",
    );
    let mut things: Vec<&mut dyn FnMut() -> Result<Sample>> = vec![&mut heal];
    if has_rg {
        things.push(&mut theirs);
    }
    let all = in_turn(rounds, &mut things)?;
    let ours = all[0].median();
    report.row(&format!("heal --dry-run, first look: at most the last MiB of each | {} | 1.00", all[0]));
    if let Some(theirs) = all.get(1) {
        let ratio = theirs.median() / ours;
        report.row(&format!("rg -j1, all of them | {theirs} | {}", short(ratio)));
        report.at_least(
            &format!("first look at {LOGS} logs of {mib} MiB: not slower than rg -j1 over all of them"),
            1.0,
            ratio,
            " times",
            "",
        );
    }

    whole(ground, size, has_rg, report)
}

/// Times of whole readings, of each kind of log.
fn whole(ground: &Ground, size: Size, has_rg: bool, report: &mut Report) -> Result<()> {
    let mib = if size == Size::Quick { 32 } else { 128 };
    report.table(
        &format!("One log of {mib} MiB from end to end (7 rounds in turn)"),
        "log | program | median, ms | MiB/s | to every line",
    );
    let fixtures = ground.top.join("tests/fixtures");
    for (name, recorded) in [
        ("worker: runs of tools, diffs, answers, one attempt of ten limited", None),
        ("worker: recordings of attempts that mostly failed", Some("hermes-logs")),
        ("Claude Code: recordings", Some("agents/claude")),
        ("Codex: recordings", Some("agents/codex")),
    ] {
        let log = ground.dir.path().join("long.log");
        match recorded {
            None => fill(&log, mib)?,
            Some(folder) => repeat(&fixtures.join(folder), &log, mib)?,
        }
        let task = recorded.is_none().then_some("t_1");
        let read = |each: Option<&mut EachLine<'_>>| {
            let begun = Instant::now();
            read_all(&log, task, ground.now, each).map_err(anyhow::Error::msg)?;
            let wall = begun.elapsed().as_secs_f64() * 1e3;
            Ok(Sample { wall, cpu: wall })
        };
        let mut every = || read(Some(&mut |_, _, _| {}));
        let mut skimmed = || read(None);
        let files = [log.clone()];
        let mut theirs = || once(&mut rg(ground, &files));
        let mut things: Vec<&mut dyn FnMut() -> Result<Sample>> = vec![&mut every, &mut skimmed];
        if has_rg {
            things.push(&mut theirs);
        }
        let all = in_turn(7, &mut things)?;
        let bytes = fs::metadata(&log)?.len() as f64;
        let programs = ["our reader, every line taken", "our reader, as in a pass", "rg -j1 -c"];
        for (program, series) in programs.iter().zip(&all) {
            let speed = bytes / 1_048_576.0 / (series.median() / 1e3);
            report.row(&format!(
                "{name} | {program} | {} | {speed:.0} | {}",
                crate::run::ms(series.median()),
                short(series.median() / all[0].median())
            ));
        }
        if let (Some(theirs), None) = (all.get(2), recorded) {
            report.at_least(
                "a worker's log from end to end: 0.35 of the speed of rg -j1",
                0.35,
                theirs.median() / all[1].median(),
                " times",
                "it says whose a line is and what it means; rg only where a word stands",
            );
        }
        fs::remove_file(&log)?;
    }
    Ok(())
}

/// `rg` with one thread over these files.
fn rg(ground: &Ground, files: &[PathBuf]) -> Command {
    let mut command = ground.command("rg");
    command.args(["-j1", "--no-config", "-c", PATTERN]).args(files);
    command
}

/// The logs of a folder, again and again.
fn repeat(folder: &Path, to: &Path, mib: usize) -> Result<()> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)?.map(|f| Ok(f?.path())).collect::<Result<_>>()?;
    names.retain(|name| name.extension().is_some_and(|e| e == "log" || e == "jsonl"));
    names.sort();
    let mut all = Vec::new();
    for name in &names {
        all.extend(fs::read(name)?);
        if !all.ends_with(b"\n") {
            all.push(b'\n');
        }
    }
    let mut out = BufWriter::new(File::create(to)?);
    for _ in 0..(mib << 20).div_ceil(all.len().max(1)) {
        out.write_all(&all)?;
    }
    Ok(out.flush()?)
}

/// A Hermes root whose dead workers left logs behind.
fn root(ground: &Ground, mib: usize) -> Result<(PathBuf, Vec<PathBuf>)> {
    let root = ground.dir.path().join("logs-root");
    let folder = root.join("kanban/logs");
    fs::create_dir_all(&folder)?;
    fs::write(root.join("config.yaml"), "{}\n")?;
    let board = ground.board("logs", Sizes::fixed(10_000))?;
    let copy = root.join("kanban.db");
    fs::copy(&board.path, &copy)?;
    let conn = Connection::open(&copy)?;
    let mut statement = conn.prepare("SELECT id FROM tasks WHERE worker_pid >= ?1 ORDER BY id LIMIT ?2")?;
    let ids: Vec<String> =
        statement.query_map((NO_PID, LOGS as i64), |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    let files: Vec<PathBuf> = ids.iter().map(|id| folder.join(format!("{id}.log"))).collect();
    let Some(first) = files.first() else { bail!("no dead workers") };
    fill(first, mib)?;
    for file in &files[1..] {
        fs::copy(first, file)?;
    }
    Ok((root, files))
}

/// Attempts of a worker as they look, one in ten of which is limited.
fn fill(path: &Path, mib: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut tools = String::new();
    for n in 0..40 {
        for i in 0..[1, 2, 3, 5, 8, 12, 20][n * 5 % 7] {
            if i % 3 == 0 {
                tools.push_str("  ┊ ⚡ preparing terminal…\n");
            }
            tools.push_str(&format!(
                "  ┊ 💻 $         cargo test --package p{i} -- --nocapture | tail -n 429  {i}.1s\n"
            ));
        }
        if n % 2 == 0 {
            tools.push_str("  ┊ review diff\n");
            for i in 0..5 {
                tools.push_str(&format!("\u{1b}[48;2;0;70;0m+    let value_{i} = compute({i});\u{1b}[0m\n"));
            }
        }
    }
    let answer = "╭─ ⚕ Hermes ───────────────╮\n    All 503 tests pass now, the author said.\n╰──────────────────────────╯\n";
    let failed = "⚠️  API call failed (attempt 2/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   🌐 Endpoint: http://127.0.0.1:1/v1\n   📝 Error: HTTP 429: slow down\n❌ Rate limited after 2 retries — HTTP 429: slow down\n   💀 Final error: HTTP 429: slow down\n";
    let mut written = 0;
    for n in 0.. {
        let end = if n % 10 == 0 { failed } else { answer };
        let text = format!(
            "Query: work kanban task t_1\nInitializing agent...\n{tools}{end}\nSession:        x\nDuration:       8s\nMessages:       400 (1 user, 200 tool calls)\n"
        );
        out.write_all(text.as_bytes())?;
        written += text.len();
        if written >= mib << 20 {
            break;
        }
    }
    out.flush()
}
