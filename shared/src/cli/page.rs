//! Where a page is written to: whole or not at all, for nobody else to read, and in the place of nothing but a page.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::error::{Error, Kind, Result};
use crate::whole::beside;

/// Writes the page beside its place first, so that nobody ever opens half of one. Only a page of before is replaced.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    let at = format!("--html {}", file.display());
    let wrong = |e: &std::io::Error| {
        let kind = if e.kind() == std::io::ErrorKind::PermissionDenied { Kind::Permission } else { Kind::Io };
        Error::new(kind, &at, e).hint("name a file in a folder you can write")
    };
    if let Some(why) = is_no_page(file) {
        return Err(Error::new(Kind::Usage, &at, why).hint("name a file of its own for the page"));
    }
    // A link is somebody's way to say where the page is to be.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let folder = real.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A timer's first page may come before anything else of ours. Boards are nobody else's business.
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| wrong(&e))?;
    let new = beside(folder, text, 0o600).map_err(|e| wrong(&e))?;
    new.persist(&real).map_err(|e| wrong(&e.error))?;
    Ok(())
}

/// Why a place is not one for a page, if so: whatever is there and is no page of ours would be lost.
fn is_no_page(file: &Path) -> Option<&'static str> {
    if file == Path::new("-") {
        return Some("is no file");
    }
    let meta = file.metadata().ok()?;
    if meta.is_dir() {
        return Some("is a folder");
    }
    if !meta.is_file() {
        return Some("is no plain file");
    }
    let mut begins = Vec::new();
    let read = std::fs::File::open(file).and_then(|f| f.take(64).read_to_end(&mut begins));
    let is_page = begins.is_empty() || begins.starts_with(b"<!doctype html>");
    (read.is_err() || !is_page).then_some("holds something else than a page")
}
