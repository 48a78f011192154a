//! Reads a configuration file, once it is certain that nobody else could have written it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use base::error::{Error, Kind, Result};
use base::untrusted_file::{self, Hand};

/// Far above any real configuration, far below what would hurt.
const LARGEST: u64 = 1 << 20;

/// The text of `path`, or `None` where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let fail = |what: &dyn std::fmt::Display| Error::new(Kind::Config, path.display(), what);
    let file = match untrusted_file::open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return match dangling(path) {
                Some(link) => {
                    let its = if link == path { "a link" } else { "its folder is a link" };
                    Err(fail(&format!("{its} to what is not there")).hint("mend the link, or take it away"))
                }
                None => Ok(None),
            };
        }
        Err(e) => return Err(fail(&e)),
    };
    ours_alone(path, &file)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| fail(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(fail(&"larger than 1 MiB").hint("name the configuration file"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| fail(&"not UTF-8").hint("save it as UTF-8 text"))
}

/// The file or its folder, where that is a link that leads nowhere: the operator keeps a configuration elsewhere, and it is not there.
fn dangling(path: &Path) -> Option<&Path> {
    let is_link = |p: &&Path| p.symlink_metadata().is_ok_and(|m| m.is_symlink()) && p.metadata().is_err();
    path.ancestors().take(2).find(is_link)
}

/// Judges the open file, not its name: the name may lead elsewhere a moment later.
fn ours_alone(path: &Path, file: &File) -> Result<()> {
    let fail = |what: &dyn std::fmt::Display| Error::new(Kind::Config, path.display(), what);
    let meta = file.metadata().map_err(|e| fail(&e))?;
    if !meta.is_file() {
        return Err(fail(&"not a regular file").hint("name a plain file"));
    }
    let Some(hand) = untrusted_file::others_hand(&meta) else { return Ok(()) };
    Err(fail(&hand).hint(match hand {
        Hand::Anybody { .. } => "run chmod o-w on it after checking what it says",
        Hand::Owner { .. } => "give it to the user the programs run as, or to root",
    }))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn reads_real_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        assert_eq!(read(&path), Ok(None));
        assert_eq!(read(&path.join("below")), Ok(None));
        write(&path, "x").unwrap();
        assert_eq!(read(&path.join("below")), Ok(None));
        assert_eq!(read(&path), Ok(Some("x".into())));

        set_permissions(&path, Permissions::from_mode(0o646)).unwrap();
        let told = read(&path).unwrap_err();
        assert_eq!(told.kind, Kind::Config);
        assert_eq!(
            told.to_string(),
            format!(
                "{}: every user can write it (mode 0646); run chmod o-w on it after checking what it says",
                path.display()
            )
        );

        set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write(&path, b"a = \"\xff\"").unwrap();
        assert_eq!(read(&path).unwrap_err().what, "not UTF-8");
        write(&path, " ".repeat((1 << 20) + 1)).unwrap();
        assert_eq!(read(&path).unwrap_err().what, "larger than 1 MiB");
        write(&path, " ".repeat(1 << 20)).unwrap();
        assert!(read(&path).is_ok());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_no_missing_file() {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("c.toml"), dir.path().join("watchbill"));
        for (link, read_at, what) in [
            (&file, file.clone(), "a link to what is not there"),
            (&folder, folder.join("config.toml"), "its folder is a link to what is not there"),
        ] {
            std::os::unix::fs::symlink(dir.path().join("elsewhere"), link).unwrap();
            let told = read(&read_at).unwrap_err();
            assert_eq!((told.kind, told.what.as_str()), (Kind::Config, what));
        }
    }

    #[test]
    fn refuses_what_is_no_file_and_never_hangs() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap_err().what, "not a regular file");
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert_eq!(read(&pipe).unwrap_err().what, "not a regular file");
    }
}
