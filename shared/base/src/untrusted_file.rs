//! Files that another user may have written: opened so that nothing put in their place can hold a pass, and told from our
//! own.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::reason::Reason;

/// Far above any setting a file of Hermes holds.
const MAX_BYTES: u64 = 1 << 20;

/// Opens a file for reading, whatever it is. A link may lead to it.
pub fn open(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a pipe that nobody writes would hang the pass for ever.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

/// The text of a small regular file; `None` where there is none, or something else is in its place. A link may lead to it:
/// people keep their settings elsewhere.
pub fn text(path: &Path) -> Option<String> {
    read(path).ok().flatten()
}

/// The same, and why what is there cannot be read; `None` where nothing is there.
///
/// # Errors
/// It may not be read, is not a regular file, is too large or not a text.
pub fn read(path: &Path) -> Result<Option<String>, Reason> {
    let file = match open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(e.into()),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err("not a regular file".into());
    }
    if meta.len() >= MAX_BYTES {
        return Err("larger than 1 MiB".into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Who besides us and root may have written a file. In words it is a reason to refuse that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// Everybody.
    Anybody {
        /// What its mode is.
        mode: u32,
    },
    /// Another user, whose file it is.
    Owner {
        /// That user.
        owner: u32,
        /// Our effective user.
        me: u32,
    },
}

impl fmt::Display for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hand::Anybody { mode } => write!(f, "every user can write it (mode {:04o})", mode & 0o7777),
            Hand::Owner { owner, me } => write!(f, "owned by user {owner}, and we run as user {me}"),
        }
    }
}

/// Who else may have written what is open here. Not its name is judged: that may lead elsewhere a moment later.
pub fn others_hand(meta: &Metadata) -> Option<Hand> {
    hand(meta.is_file(), meta.mode(), meta.uid(), rustix::process::geteuid().as_raw())
}

fn hand(regular: bool, mode: u32, owner: u32, me: u32) -> Option<Hand> {
    // Nobody but its owner has a pipe of the shell's open, whatever its mode is.
    if regular && mode & 0o002 != 0 {
        return Some(Hand::Anybody { mode });
    }
    (owner != me && owner != 0).then_some(Hand::Owner { owner, me })
}

#[cfg(test)]
mod tests {
    use rustix::fs::Mode;

    use super::*;

    #[test]
    fn trusts_only_us_and_root() {
        for (regular, mode, owner, me, said) in [
            (true, 0o100_644, 1000, 1000, None),
            (true, 0o100_664, 1000, 1000, None),
            (true, 0o100_600, 0, 1000, None),
            (true, 0o100_600, 0, 0, None),
            (true, 0o100_646, 1000, 1000, Some("every user can write it (mode 0646)")),
            (true, 0o100_602, 0, 0, Some("every user can write it (mode 0602)")),
            (true, 0o100_600, 1001, 1000, Some("owned by user 1001, and we run as user 1000")),
            (true, 0o100_600, 1000, 0, Some("owned by user 1000, and we run as user 0")),
            (false, 0o010_666, 1000, 1000, None),
            (false, 0o010_600, 1001, 1000, Some("owned by user 1001, and we run as user 1000")),
        ] {
            let told = hand(regular, mode, owner, me).map(|h| h.to_string());
            assert_eq!(told.as_deref(), said, "{mode:o} {owner} {me}");
        }
    }

    #[test]
    fn only_a_small_plain_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("f");
        assert_eq!(text(&at), None);
        std::fs::write(&at, "x").unwrap();
        let link = dir.path().join("l");
        std::os::unix::fs::symlink(&at, &link).unwrap();
        assert_eq!(text(&link).as_deref(), Some("x"));
        File::options().write(true).open(&at).unwrap().set_len(MAX_BYTES).unwrap();
        assert_eq!(text(&at), None, "no settings file is that large");
        std::fs::write(&at, b"\xff").unwrap();
        assert_eq!(text(&at), None);
        assert_eq!(text(dir.path()), None);
        let pipe = dir.path().join("p");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        assert_eq!(text(&pipe), None, "and nobody waits");
        assert_eq!(
            (read(&pipe), read(dir.path())),
            (Err("not a regular file".into()), Err("not a regular file".into()))
        );
        assert_eq!((read(&dir.path().join("none")), read(&at.join("none"))), (Ok(None), Ok(None)));
        assert!(read(&at).is_err(), "no text");
    }
}
