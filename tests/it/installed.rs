//! Real programs of others that tests run against: pinned, installed once for all tests, and left out only where a variable
//! says so.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::FlockOperation;

/// How often a step is tried that fetches something: a registry may be slow for once.
const TRIES: u32 = 3;

/// What is installed.
pub struct Package<'a> {
    /// The folder it goes into; with its version.
    pub folder: &'a str,
    /// The variable that leaves it out when it is `skip`.
    pub variable: &'a str,
    /// What must be there to install it, in words.
    pub needs: &'a str,
}

impl Package<'_> {
    /// A Python environment with these packages.
    #[track_caller]
    pub fn python(&self, packages: &[&str]) -> Option<PathBuf> {
        self.home(|home| {
            let mut venv = Command::new("python3");
            venv.args(["-m", "venv", "--clear"]).arg(home);
            let mut pip = Command::new(home.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
            vec![venv, pip]
        })
    }

    /// The folder it is in, filled by these commands on first use. `None` where it was asked to be left out.
    #[track_caller]
    pub fn home(&self, steps: impl FnOnce(&Path) -> Vec<Command>) -> Option<PathBuf> {
        if std::env::var(self.variable).is_ok_and(|v| v == "skip") {
            let test = std::thread::current().name().unwrap_or("?").to_owned();
            // Not eprintln: what a passing test prints that way is swallowed.
            let _ = writeln!(std::io::stderr(), "left out, because {}=skip: {test}", self.variable);
            return None;
        }
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let home = tmp.join(self.folder);
        std::fs::create_dir_all(&home).unwrap();
        // Tests run side by side, in several processes even; the first one installs, the rest wait for it.
        let lock = File::create(tmp.join(format!("{}.lock", self.folder))).unwrap();
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
        let ready = home.join("ready");
        if !ready.exists() {
            for mut step in steps(&home) {
                self.done(&mut step);
            }
            std::fs::write(ready, self.folder).unwrap();
        }
        Some(home)
    }

    #[track_caller]
    fn done(&self, step: &mut Command) {
        let way_out = format!("install {}, or leave these tests out with {}=skip", self.needs, self.variable);
        for left in (0..TRIES).rev() {
            match step.stdin(Stdio::null()).output() {
                Ok(out) if out.status.success() => return,
                Ok(_) if left > 0 => std::thread::sleep(Duration::from_secs(5)),
                Ok(out) => {
                    let said = String::from_utf8_lossy(&out.stderr);
                    let last = said.trim().lines().last().unwrap_or("failed").to_owned();
                    panic!("{:?}: {last}; {way_out}", step.get_program())
                }
                Err(e) => panic!("{:?}: {e}; {way_out}", step.get_program()),
            }
        }
    }
}
