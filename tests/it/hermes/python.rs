//! The Python environment with the real Hermes in it, pinned and made once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::FlockOperation;

const VERSION: &str = "hermes-agent==0.19.0";
/// The Python environment with Hermes in it, made on first use. `None` where it was asked to be left out.
pub fn python_home() -> Option<PathBuf> {
    if std::env::var("WATCHBILL_HERMES").is_ok_and(|v| v == "skip") {
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        // Not eprintln: what a passing test prints that way is swallowed.
        let _ = writeln!(std::io::stderr(), "left out, because WATCHBILL_HERMES=skip: {test}");
        return None;
    }
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let home = tmp.join("hermes-0.19.0");
    std::fs::create_dir_all(tmp).unwrap();
    // Tests run side by side, in several processes even; the first one installs, the rest wait for it.
    let lock = File::create(tmp.join("hermes.lock")).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    let ready = home.join("ready");
    if !ready.exists() {
        let python = Path::new("python3");
        step(Command::new(python).args(["-m", "venv", "--clear"]).arg(&home));
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VERSION];
        step(Command::new(home.join("bin/python")).args(pip));
        std::fs::write(ready, VERSION).unwrap();
    }
    Some(home)
}

#[track_caller]
fn step(command: &mut Command) {
    let way_out = "install python3 with venv, or leave these tests out with WATCHBILL_HERMES=skip";
    match command.stdin(Stdio::null()).output() {
        Err(e) => panic!("{:?}: {e}; {way_out}", command.get_program()),
        Ok(out) if !out.status.success() => {
            let said = String::from_utf8_lossy(&out.stderr);
            panic!("{:?}: {}; {way_out}", command.get_program(), said.lines().last().unwrap_or("failed"))
        }
        Ok(_) => {}
    }
}
