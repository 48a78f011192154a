//! A small file that somebody else wrote, read so that nothing put in its place can hold a pass.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Far above any setting a file of Hermes holds.
const MOST: u64 = 1 << 20;

/// The text of a small regular file; `None` where there is none, or something else is in its place. A link may lead to it:
/// people keep their settings elsewhere.
pub(crate) fn text(path: &Path) -> Option<String> {
    // Without NONBLOCK, opening a pipe that nobody writes would hang the pass for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok().filter(|m| m.is_file() && m.len() < MOST)?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_plain_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("f");
        assert_eq!(text(&at), None);
        std::fs::write(&at, "x").unwrap();
        let link = dir.path().join("l");
        std::os::unix::fs::symlink(&at, &link).unwrap();
        assert_eq!(text(&link).as_deref(), Some("x"));
        File::options().write(true).open(&at).unwrap().set_len(MOST).unwrap();
        assert_eq!(text(&at), None, "no settings file is that large");
        std::fs::write(&at, b"\xff").unwrap();
        assert_eq!(text(&at), None);
        assert_eq!(text(dir.path()), None);
        let pipe = dir.path().join("p");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        assert_eq!(text(&pipe), None, "and nobody waits");
    }
}
