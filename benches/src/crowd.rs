//! Four watchers at once on one board, beside a process that writes to it as Hermes does.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use rusqlite::{Connection, TransactionBehavior};
use testkit::generate::Sizes;

use crate::count;
use crate::ground::Ground;
use crate::passes::Size;
use crate::report::Report;
use crate::run::{ms, quantile};

/// Passes that run side by side.
const AT_ONCE: usize = 4;

/// Exit code of a pass that found the board busy.
const BUSY: i32 = 75;

/// Lock waits of watchers and times of the writer, for each way of writing.
pub(crate) fn crowd(ground: &Ground, size: Size, report: &mut Report) -> Result<()> {
    if !count::has("strace", "WATCHBILL_STRACE")? {
        return Ok(());
    }
    let rounds = if size == Size::Quick { 25 } else { 100 };
    report.table(
        &format!("Four passes of `heal` at once, each with one task to requeue ({rounds} rounds), ms"),
        "beside | passes busy | lock waits: median | 99 % | longest | writer's transactions: number | median | 99 % | longest",
    );
    let alone = writer_alone(ground)?;
    for (name, think, most) in
        [("a writer of 200 transactions a second", 5_000, 4.0), ("a writer without pause", 0, 20.0)]
    {
        let found = beside(ground, think, rounds)?;
        let of = |all: &[f64]| {
            format!("{} | {} | {}", ms(quantile(all, 0.5)), ms(quantile(all, 0.99)), ms(quantile(all, 1.0)))
        };
        report.row(&format!(
            "{name} | {} | {} | {} | {}",
            found.busy,
            of(&found.waits),
            found.writes.len(),
            of(&found.writes)
        ));
        report.at_most(&format!("{name}: passes that found the board busy"), 0.0, found.busy as f64, "");
        report.at_most(
            &format!("{name}: 99 of 100 lock waits within {most} ms"),
            most,
            quantile(&found.waits, 0.99),
            " ms",
        );
    }
    report.note(&format!(
        "The writer of 200 transactions a second without any watcher: median {}, 99 % {}, longest {} ms. A lock wait is the time \
         from the first time a process asks for the write lock until it has it, from the time stamps of `strace` around that \
         system call; a lock had at once counts as 0. strace makes the passes slower, and longer in each other's way.",
        ms(quantile(&alone, 0.5)),
        ms(quantile(&alone, 0.99)),
        ms(quantile(&alone, 1.0))
    ));
    Ok(())
}

struct Found {
    busy: usize,
    waits: Vec<f64>,
    writes: Vec<f64>,
}

/// A board of which every running task has lost its worker.
fn broken(ground: &Ground, name: &'static str) -> Result<(std::path::PathBuf, Vec<String>)> {
    let sizes = Sizes { tasks: 10_000, running: 500, blocked: 100, ready: 100, todo: 300 };
    let board = ground.board(name, sizes)?;
    let conn = Connection::open(&board.path)?;
    conn.execute(
        "UPDATE tasks SET last_heartbeat_at = ?1 - 1200, worker_pid = 5000000 WHERE status = 'running'",
        [ground.now.0],
    )?;
    let mut statement = conn.prepare("SELECT id FROM tasks WHERE status = 'running' ORDER BY id")?;
    let ids = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok((board.path, ids))
}

fn beside(ground: &Ground, think: u64, rounds: usize) -> Result<Found> {
    let (board, ids) = broken(ground, if think == 0 { "crowd-saturated" } else { "crowd" })?;
    let writer = Writer::start(&board, think)?;
    let mut found = Found { busy: 0, waits: Vec::new(), writes: Vec::new() };
    let files: Vec<_> = (0..AT_ONCE).map(|n| ground.dir.path().join(format!("calls-{n}"))).collect();
    for ids in ids.chunks_exact(AT_ONCE).take(rounds) {
        let mut passes = Vec::new();
        for (id, file) in ids.iter().zip(&files) {
            let mut pass = ground.command(ground.bin.join("heal"));
            pass.arg("--db").arg(&board).args(["--task", id]);
            let file = file.to_str().context("a path that is no text")?;
            let outer =
                ["strace", "-f", "--seccomp-bpf", "-ttt", "-T", "-qq", "-e", "trace=fcntl", "-o", file];
            passes.push(count::under(&outer, &pass).stderr(Stdio::null()).spawn()?);
        }
        for (pass, file) in passes.iter_mut().zip(&files) {
            match pass.wait()?.code() {
                Some(0) => found.waits.extend(waits(&std::fs::read_to_string(file)?)),
                Some(BUSY) => found.busy += 1,
                code => return Err(anyhow!("a pass ended with {code:?}")),
            }
        }
    }
    found.writes = writer.stop()?;
    Ok(found)
}

fn writer_alone(ground: &Ground) -> Result<Vec<f64>> {
    let (board, _) = broken(ground, "crowd-alone")?;
    let writer = Writer::start(&board, 5_000)?;
    std::thread::sleep(Duration::from_secs(5));
    writer.stop()
}

/// How long each transaction waited for the write lock of a board, in milliseconds.
fn waits(calls: &str) -> Vec<f64> {
    let (mut all, mut asked) = (Vec::new(), None);
    for line in calls.lines().filter(|l| l.contains("l_type=F_WRLCK") && l.contains("l_start=120, l_len=1}"))
    {
        let mut words = line.split_whitespace();
        let Some(at) = words.nth(1).and_then(|t| t.parse::<f64>().ok()) else { continue };
        let took = line
            .rsplit_once('<')
            .and_then(|(_, t)| t.trim_end_matches('>').parse::<f64>().ok())
            .unwrap_or(0.0);
        if line.contains(") = 0 ") {
            // The call itself is strace's time where it was the first one.
            all.push(asked.take().map_or(0.0, |first: f64| (at + took - first) * 1e3));
        } else {
            asked.get_or_insert(at);
        }
    }
    all
}

/// A process that writes as Hermes does.
struct Writer {
    child: Child,
}

impl Writer {
    fn start(board: &Path, think: u64) -> Result<Writer> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--writer").arg(board).arg("--think").arg(think.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut ready = [0];
        std::io::Read::read_exact(child.stdout.as_mut().context("no stdout")?, &mut ready)?;
        Ok(Writer { child })
    }

    /// Ends it; how long each of its transactions took.
    fn stop(mut self) -> Result<Vec<f64>> {
        drop(self.child.stdin.take());
        let out = BufReader::new(self.child.stdout.take().context("no stdout")?);
        let all = out.lines().filter_map(|l| l.ok()?.parse().ok()).collect();
        let status = self.child.wait()?;
        if status.success() { Ok(all) } else { Err(anyhow!("the writer ended with {status}")) }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes until stdin ends: heartbeats and their events, each in a transaction of its own, with the settings of Hermes 0.19
/// (kanban_db.py `connect`). Then prints what each took, in milliseconds.
pub(crate) fn write(board: &Path, think: Duration) -> Result<()> {
    let mut conn = Connection::open(board)?;
    conn.busy_timeout(Duration::from_secs(120))?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 100; PRAGMA secure_delete = ON;
         PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON",
    )?;
    let ids: Vec<String> = conn
        .prepare("SELECT id FROM tasks WHERE status = 'ready' ORDER BY id")?
        .query_map([], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let ended = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let mut out = std::io::stdout();
    out.write_all(b"\n")?;
    out.flush()?;
    let mut took = Vec::new();
    for id in ids.iter().cycle() {
        if ended.is_finished() {
            break;
        }
        let begun = Instant::now();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.prepare_cached("UPDATE tasks SET last_heartbeat_at = unixepoch() WHERE id = ?1")?.execute([id])?;
        tx.prepare_cached("INSERT INTO task_events (task_id, kind, payload, created_at) VALUES (?1, 'heartbeat', NULL, unixepoch())")?
            .execute([id])?;
        tx.commit()?;
        took.push(begun.elapsed().as_secs_f64() * 1e3);
        if !think.is_zero() {
            std::thread::sleep(think);
        }
    }
    for one in took {
        writeln!(out, "{one:.4}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_from_the_first_refusal_to_the_lock() {
        let lock = "fcntl(5, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=120, l_len=1})";
        let calls = format!(
            "7 10.000000 {lock} = 0 <0.000010>\n\
             7 11.000000 {lock} = -1 EAGAIN (Resource temporarily unavailable) <0.000010>\n\
             7 11.001000 fcntl(5, F_SETLK, {{l_type=F_RDLCK, l_whence=SEEK_SET, l_start=124, l_len=1}}) = 0 <0.000010>\n\
             7 11.002000 {lock} = -1 EAGAIN (Resource temporarily unavailable) <0.000010>\n\
             7 11.004000 {lock} = 0 <0.000500>\n"
        );
        let waits: Vec<f64> = waits(&calls).into_iter().map(|w| (w * 1e3).round() / 1e3).collect();
        assert_eq!(waits, [0.0, 4.5]);
    }
}
