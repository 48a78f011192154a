//! The file with the prompt of a command. It goes with its harness; what a harness left that was killed goes with the next
//! one, for a prompt may quote what only its owner should read.

use std::fs::TryLockError;
use std::io::{Result, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

const PREFIX: &str = "watchbill-prompt-";
/// How long one stays whose harness is gone: the command may have been left behind and read it late.
const KEPT: Duration = Duration::from_secs(3_600);
/// Most names of the temporary folder that are looked at for such files.
const MAX_NAMES: usize = 10_000;

/// One that is removed when its value goes, and locked until then.
pub(super) struct File(NamedTempFile);

impl File {
    /// Writes a prompt for its owner's eyes only, and removes those that were left behind.
    pub(super) fn new(prompt: &str) -> Result<File> {
        let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile()?;
        // A folder without locks keeps no harness from its work; its files are only swept like left ones after an hour.
        let _ = file.as_file().try_lock();
        file.write_all(prompt.as_bytes())?;
        file.flush()?;
        if let Some(folder) = file.path().parent() {
            sweep(folder);
        }
        Ok(File(file))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn close(self) -> Result<()> {
        self.0.close()
    }
}

/// Removes prompts of Watchbill whose harness is gone. One that cannot be removed is not this command's business.
fn sweep(folder: &Path) {
    let names = std::fs::read_dir(folder).into_iter().flatten().take(MAX_NAMES).flatten();
    for entry in names.filter(|e| e.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        let path = entry.path();
        if is_left(&path).unwrap_or(false) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_left(path: &Path) -> Result<bool> {
    let meta = path.symlink_metadata()?;
    let ours = meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw();
    if !ours || meta.modified()?.elapsed().is_ok_and(|age| age < KEPT) {
        return Ok(false);
    }
    match std::fs::File::open(path)?.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}
