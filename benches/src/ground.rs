//! What is measured on: the programs as they are installed, boards of a given size, and an environment of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rusqlite::OpenFlags;
use shared::base::time::Time;
use shared::board::sqlite::SqliteBoard;
use shared::board::{BoardId, Mode};
use testkit::generate::{Sizes, generate};

use crate::passes::programs;

/// How long before `now` the oldest claim on a generated board was made, in seconds. A claim from before the last start of the machine
/// needs no look at processes, so that a pass would cost something else on a machine that was just started.
const OLDEST_CLAIM: i64 = 4 * 3_600;

/// Where everything lies.
pub(crate) struct Ground {
    /// The top of the source.
    pub(crate) top: PathBuf,
    /// Our programs.
    pub(crate) bin: PathBuf,
    /// A folder that is ours and goes away with us.
    pub(crate) dir: tempfile::TempDir,
    /// The time all boards are as of: the clock's, or a later one where the machine was started less than [`OLDEST_CLAIM`] ago.
    pub(crate) now: Time,
}

/// A generated board.
pub(crate) struct Board {
    /// `10k`.
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) path: PathBuf,
    /// The statements of a pass, for the floor.
    pub(crate) statements: PathBuf,
}

impl Board {
    /// A task that runs.
    pub(crate) fn running(&self) -> Result<String> {
        let board = rusqlite::Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(board.query_row("SELECT min(id) FROM tasks WHERE status = 'running'", [], |row| row.get(0))?)
    }
}

impl Ground {
    /// Builds the programs that are measured as the README says, and the floor.
    ///
    /// # Errors
    /// They cannot be built.
    pub(crate) fn new(build: bool) -> Result<Ground> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
        let itself = std::env::current_exe()?;
        let target = itself.parent().and_then(Path::parent).context("where is the target folder?")?;
        if build {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(cargo);
            command.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(target);
            // In one call and of all packages, so that the libraries are those that this program was built with.
            command.args(programs().chain(["floor"]).flat_map(|program| ["--bin", program]));
            if !command.current_dir(&top).status()?.success() {
                bail!("the programs cannot be built");
            }
        }
        // Beside the programs and not in /tmp, which may be memory.
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(target)?;
        let now = Time::of_clock().max(booted()?.plus(OLDEST_CLAIM));
        Ok(Ground { top, bin: target.join("release"), dir, now })
    }

    /// A board of this many tasks of which 600 are open, 100 of them running, or of which one in twenty is open.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn board(&self, name: &'static str, sizes: Sizes) -> Result<Board> {
        let folder = self.dir.path().join(name);
        fs::create_dir_all(&folder)?;
        let path = folder.join("kanban.db");
        if !path.exists() {
            generate(&path, sizes, 1, self.now, 0.4)?;
            // Else the first one who syncs pays for all of it.
            File::open(&path)?.sync_all()?;
        }
        let id = BoardId { at: path.clone().into(), slug: None, root: None };
        let reads = SqliteBoard::open(id, Mode::Look, Duration::from_secs(5))?.reads();
        let text = |name: &str| {
            let found = reads.iter().find(|(n, _)| *n == name).map(|(_, sql)| sql.replace('\n', " "));
            found.with_context(|| format!("a pass has no statement {name:?} any more"))
        };
        let names = ["glance", "task", "runs", "task events", "comments", "parents", "cards", "board events"];
        let lines = names.iter().map(|n| text(n)).collect::<std::result::Result<Vec<_>, _>>()?;
        let statements = folder.join("statements");
        fs::write(&statements, lines.join("\n"))?;
        Ok(Board { name, path, statements })
    }

    /// A program in an environment of its own.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let home = self.dir.path();
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
        command.env("XDG_STATE_HOME", home.join("state")).env("TZ", "UTC").current_dir(home);
        command
    }

    /// A pass that only looks: with a configuration file, and a report in JSON.
    pub(crate) fn look(&self, watcher: &str, board: &Path, now: Time) -> Command {
        let mut command = self.command(self.bin.join(watcher));
        command.args(["--dry-run", "--json", "--now", &now.0.to_string(), "--db"]).arg(board);
        command.arg("--config").arg(self.top.join("contrib/watchbill.toml"));
        command
    }

    /// The same as timers run it, with a report in words.
    pub(crate) fn plain(&self, watcher: &str, board: &Path, now: Time) -> Command {
        let mut command = self.command(self.bin.join(watcher));
        command.args(["--dry-run", "--now", &now.0.to_string(), "--db"]).arg(board);
        command.arg("--config").arg(self.top.join("contrib/watchbill.toml"));
        command
    }

    /// The floor under it.
    pub(crate) fn floor(&self, board: &Board, lean: bool) -> Command {
        let mut command = self.command(self.bin.join("floor"));
        command.arg(&board.path).arg(&board.statements).arg(self.now.0.to_string());
        command.args(lean.then_some("lean"));
        command
    }
}

/// When this machine was started.
fn booted() -> Result<Time> {
    let uptime = fs::read_to_string("/proc/uptime").context("/proc/uptime cannot be read")?;
    let seconds = uptime.split('.').next().and_then(|s| s.parse::<i64>().ok());
    Ok(Time::of_clock().plus(-seconds.context("/proc/uptime has no seconds")?))
}
