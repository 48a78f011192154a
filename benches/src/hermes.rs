//! The real Hermes on the same board, as a command and as a running process.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, anyhow};
use rusqlite::Connection;
use shared::base::time::Time;

use crate::ground::{Board, Ground};
use crate::run::Sample;

/// A Hermes root with a copy of a board, for it writes even where it is asked not to.
pub(crate) struct Hermes {
    bin: PathBuf,
    root: PathBuf,
    /// The copy.
    pub(crate) board: PathBuf,
    /// When it was made, which is the time to look at it as of.
    pub(crate) now: Time,
    /// The process that is everybody's worker.
    worker: Child,
}

impl Hermes {
    /// Where the tests put it, else on the path. `None` where there is none.
    pub(crate) fn find(ground: &Ground) -> Option<PathBuf> {
        let bin = ground.bin.parent()?.join("tmp/hermes-0.19.0/bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::iter::once(bin)
            .chain(std::env::split_paths(&path))
            .find(|d| d.join("hermes").is_file() && d.join("python").exists())
    }

    /// A root of its own, with this board as it is after a tick or two: tasks of dead workers are requeued, other workers live.
    ///
    /// # Errors
    /// The board cannot be copied, or Hermes does not run.
    pub(crate) fn on(bin: PathBuf, ground: &Ground, board: &Board) -> Result<Hermes> {
        let root = ground.dir.path().join(format!("hermes-{}", board.name));
        fs::create_dir_all(&root)?;
        fs::write(root.join("config.yaml"), "{}\n")?;
        let copy = root.join("kanban.db");
        fs::copy(&board.path, &copy)?;
        let worker = Command::new("sleep").arg("86400").stdin(Stdio::null()).spawn()?;
        let conn = Connection::open(&copy)?;
        conn.execute(
            "UPDATE tasks SET worker_pid = CASE WHEN worker_pid >= ?1 THEN worker_pid ELSE ?2 END,
             claim_expires = claim_expires + 86400, last_heartbeat_at = max(last_heartbeat_at, ?3) WHERE status = 'running'",
            (testkit::generate::NO_PID, worker.id(), Time::of_clock().0),
        )?;
        drop(conn);
        let mut hermes = Hermes { bin, root, board: copy, now: ground.now, worker };
        for _ in 0..2 {
            crate::run::once(&mut hermes.dispatch())?;
        }
        fs::File::open(&hermes.board)?.sync_all()?;
        hermes.now = Time::of_clock();
        Connection::open(&hermes.board)?
            .execute("UPDATE tasks SET last_heartbeat_at = ?1 WHERE status = 'running'", [hermes.now.0])?;
        Ok(hermes)
    }

    /// One look of its dispatcher.
    pub(crate) fn dispatch(&self) -> Command {
        let mut command = self.program("hermes");
        command.args(["kanban", "dispatch", "--dry-run"]);
        command
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", self.bin.display()));
        command
            .env("HOME", &self.root)
            .env("HERMES_HOME", &self.root)
            .env("TZ", "UTC")
            .current_dir(&self.root);
        command
    }

    /// A process of it that stays, and ticks when it is told.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn gateway(&self) -> Result<Gateway> {
        let mut command = self.program("python");
        let mut child = command
            .args(["-c", TICKS])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (tell, said) =
            (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        let mut gateway = Gateway { child, tell, said: BufReader::new(said).lines() };
        gateway.hear()?;
        Ok(gateway)
    }
}

impl Drop for Hermes {
    fn drop(&mut self) {
        let _ = self.worker.kill();
        let _ = self.worker.wait();
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// One tick a line; its own clock around it, in milliseconds.
const TICKS: &str = "
import sys, time
from hermes_cli import kanban_db as kb
conn = kb.connect()
print('ready', flush=True)
for line in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    kb.dispatch_once(conn, dry_run=True)
    print((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3, flush=True)
";

/// A process of Hermes that has everything open and loaded.
pub(crate) struct Gateway {
    child: Child,
    tell: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Gateway {
    fn hear(&mut self) -> Result<String> {
        Ok(self.said.next().context("Hermes ended")??)
    }

    /// One tick, timed inside that process.
    ///
    /// # Errors
    /// It ended.
    pub(crate) fn tick(&mut self) -> Result<Sample> {
        self.tell.write_all(b"\n")?;
        let line = self.hear()?;
        let mut numbers = line.split(' ').map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(wall)), Some(Ok(cpu))) => Ok(Sample { wall, cpu }),
            _ => Err(anyhow!("Hermes said {line:?}")),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
