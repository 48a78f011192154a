//! The host's own tools (`systemctl`, `crontab`, `loginctl`), each for a bounded time.

use std::process::{Command, Stdio};
use std::time::Duration;

use base::reason::Reason;
use host::child::{Finished, finish};

/// The longest any of them may take. A systemd that does not answer keeps `systemctl` for 25 seconds or more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of what one says that are read.
const MAX_OUTPUT: u64 = 1 << 20;

/// A call of one of them.
pub struct Tool {
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
    /// Whether `out` is all that it wrote there, to the byte.
    pub(crate) is_whole: bool,
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
    pub(crate) fn run(mut self) -> Result<Said, Reason> {
        let wrong = |e: std::io::Error| Reason::of(&self.name, e);
        if self.input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(wrong)?;
        match finish(&mut child, self.input.take(), PATIENCE, MAX_OUTPUT).map_err(wrong)? {
            Some(Finished { status, out, err, is_whole }) => {
                Ok(Said { is_ok: status.success(), out, err, is_whole })
            }
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("{}: no answer in {} s", self.name, PATIENCE.as_secs()).into())
            }
        }
    }
}
