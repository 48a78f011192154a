//! The one error at the library's edge: what kind it is, where it happened, what is wrong, what to do.

use std::fmt;

use rustix::io::Errno;

/// What kind of failure this is. The kind is the exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// 1: the pass is done, but some part could not be looked at or changed; or a `board` command was refused.
    Partial,
    /// 2: wrong usage of a flag or an argument.
    Usage,
    /// 65: not a board we can read, or one we must not write.
    Data,
    /// 65: a board whose file is damaged.
    Damaged,
    /// 66: no such board or input file.
    NoInput,
    /// 70: a bug of Watchbill.
    Bug,
    /// 74: disk or output failed.
    Io,
    /// 75: the board is busy, or a pause is in force. The next pass will do.
    Busy,
    /// 77: not permitted.
    Permission,
    /// 78: bad configuration.
    Config,
}

impl Kind {
    /// The exit code, one meaning in every program (sysexits.h where it has one).
    pub fn code(self) -> u8 {
        match self {
            Kind::Partial => 1,
            Kind::Usage => 2,
            Kind::Data | Kind::Damaged => 65,
            Kind::NoInput => 66,
            Kind::Bug => 70,
            Kind::Io => 74,
            Kind::Busy => 75,
            Kind::Permission => 77,
            Kind::Config => 78,
        }
    }

    /// The kind an input/output failure has when nothing better is known of it.
    pub fn of_io(e: &std::io::Error) -> Kind {
        match e.kind() {
            std::io::ErrorKind::NotFound => Kind::NoInput,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => Kind::Permission,
            _ => Kind::Io,
        }
    }
}

/// A failure, told in one line: `at: what; hint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Which exit code it leads to.
    pub kind: Kind,
    /// The thing it is about: a path, a task, a flag. Empty where there is none.
    pub at: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do about it, where that is not plain.
    pub hint: Option<String>,
}

impl Error {
    /// A failure of `kind` about `at`.
    pub fn new(kind: Kind, at: impl fmt::Display, what: impl fmt::Display) -> Error {
        Error { kind, at: at.to_string(), what: what.to_string(), hint: None }
    }

    /// The same failure with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Error {
        self.hint = Some(hint.to_string());
        self
    }

    /// A file that somewhere else could be written, and the failure to write it here.
    pub fn unwritten(kind: Kind, at: impl fmt::Display, e: &std::io::Error) -> Error {
        let is_full = e.kind() == std::io::ErrorKind::StorageFull;
        Error::new(kind, at, e).hint(if is_full {
            "make room"
        } else {
            "name a file in a folder you can write"
        })
    }

    /// An input/output failure about `at`.
    pub fn io(at: impl fmt::Display, e: &std::io::Error) -> Error {
        let hint = match Errno::from_io_error(e) {
            Some(Errno::MFILE) => {
                Some("raise the limit of open files of this program (ulimit -n, LimitNOFILE=)")
            }
            Some(Errno::NFILE) => Some("raise the limit of open files of this machine (sysctl fs.file-max)"),
            _ => None,
        };
        Error { hint: hint.map(str::to_owned), ..Error::new(Kind::of_io(e), at, e) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_open_files_say_which_limit_it_was() {
        for (errno, want) in [
            (
                Errno::MFILE,
                "b.db: Too many open files (os error 24); raise the limit of open files of this program",
            ),
            (
                Errno::NFILE,
                "b.db: Too many open files in system (os error 23); raise the limit of open files of this machine",
            ),
            (Errno::NOENT, "b.db: No such file or directory (os error 2)"),
        ] {
            let said = Error::io("b.db", &errno.into()).to_string();
            assert!(said.starts_with(want), "{said}");
        }
    }
}
