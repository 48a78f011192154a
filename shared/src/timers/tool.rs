//! The host's own tools (`systemctl`, `crontab`, `loginctl`), each for a bounded time.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest any of them may take. A systemd that does not answer keeps `systemctl` for 25 seconds or more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of what one says that are read.
const MAX_OUTPUT: u64 = 1 << 20;

/// A call of one of them.
pub(crate) struct Tool {
    command: Command,
    input: Option<String>,
    name: String,
}

/// The runtime folder of this user (systemd-logind(8)), where the environment names none and it is there.
fn runtime_folder() -> Option<String> {
    let folder = format!("/run/user/{}", rustix::process::geteuid().as_raw());
    let is_unset = std::env::var_os("XDG_RUNTIME_DIR").is_none_or(|v| v.is_empty());
    (is_unset && std::path::Path::new(&folder).join("systemd").is_dir()).then_some(folder)
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) is_ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Tool {
    pub(crate) fn new(name: &str) -> Tool {
        let mut command = Command::new(name);
        // What they say is read, so it has to be in the words of their manuals.
        command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0").stdin(Stdio::null());
        // `su -`, cron and monitoring agents leave it out, and then no user's systemd answers.
        if let Some(folder) = runtime_folder() {
            command.env("XDG_RUNTIME_DIR", folder);
        }
        Tool { command, input: None, name: name.to_owned() }
    }

    pub(crate) fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: &[S]) -> Tool {
        self.command.args(args);
        self
    }

    pub(crate) fn input(mut self, text: &str) -> Tool {
        self.input = Some(text.to_owned());
        self
    }

    /// What it said, where it ended well.
    pub(crate) fn said(self) -> Option<String> {
        self.run().ok().filter(|said| said.is_ok).map(|said| said.out)
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It is not there, or did not end; in words.
    pub(crate) fn run(mut self) -> Result<Said, String> {
        let wrong = |e: std::io::Error| format!("{}: {e}", self.name);
        if self.input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(wrong)?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), self.input.take()) {
            // Whoever does not want to hear it says why by how it ends.
            let _ = pipe.write_all(text.as_bytes());
        }
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.map(|p| p.take(MAX_OUTPUT).read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = read(child.stdout.take().map(|p| Box::new(p) as _));
        let err = read(child.stderr.take().map(|p| Box::new(p) as _));
        let began = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("{}: no answer in {} s", self.name, PATIENCE.as_secs()));
                }
                Err(e) => return Err(format!("{}: {e}", self.name)),
            }
        };
        let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
        Ok(Said { is_ok: status.success(), out: text(out), err: text(err) })
    }
}
