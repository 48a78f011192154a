//! Files that are there whole or not at all.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use tempfile::NamedTempFile;

/// A new file in the folder of its future place, with all its text: what is left is to put it there, in the place of an
/// earlier one, so that nobody ever reads half of it.
///
/// # Errors
/// The folder cannot be written, or has no room.
pub fn beside(folder: &Path, text: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut new = tempfile::Builder::new().prefix(".watchbill-").tempfile_in(folder)?;
    new.as_file().set_permissions(Permissions::from_mode(mode))?;
    new.write_all(text.as_bytes())?;
    Ok(new)
}

/// Whether a new file could be put into a folder. Nothing is written.
///
/// # Errors
/// Why not: there is no such folder, or this user may not write it.
pub fn may_write(folder: &Path) -> io::Result<()> {
    accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
    Ok(())
}
