//! Why something is not known or was not done: one phrase for a reader, and the error that caused it.
//!
//! Unlike [`crate::error::Error`] it has no exit code: what cannot be looked at does not end a pass, and no `?` turns the one
//! into the other.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

/// A phrase that stands on boards and in reports, whole with its cause.
#[derive(Debug, Clone)]
pub struct Reason {
    what: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Reason {
    /// The phrase `what: e`.
    pub fn of(what: impl fmt::Display, e: impl Error + Send + Sync + 'static) -> Reason {
        Reason::caused(format!("{what}: {e}"), e)
    }

    /// A phrase that does not repeat its cause, or tells it otherwise.
    pub fn caused(what: impl Into<String>, e: impl Error + Send + Sync + 'static) -> Reason {
        Reason { what: what.into(), source: Some(Arc::new(e)) }
    }

    /// The phrase `place: reason`.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Reason {
        Reason { what: format!("{place}: {}", self.what), ..self }
    }

    /// Whether an error of this type caused it.
    pub fn is<E: Error + 'static>(&self) -> bool {
        self.source.as_ref().is_some_and(|e| e.is::<E>())
    }
}

/// Equal where a reader is told the same.
impl PartialEq for Reason {
    fn eq(&self, other: &Reason) -> bool {
        self.what == other.what
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|e| e.as_ref() as _)
    }
}

impl From<&str> for Reason {
    fn from(what: &str) -> Reason {
        what.to_owned().into()
    }
}

impl From<String> for Reason {
    fn from(what: String) -> Reason {
        Reason { what, source: None }
    }
}

impl From<io::Error> for Reason {
    fn from(e: io::Error) -> Reason {
        Reason::caused(e.to_string(), e)
    }
}

impl From<Errno> for Reason {
    fn from(e: Errno) -> Reason {
        io::Error::from(e).into()
    }
}

impl From<serde_json::Error> for Reason {
    fn from(e: serde_json::Error) -> Reason {
        Reason::caused(e.to_string(), e)
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> String {
        reason.what
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_its_cause_under_every_place() {
        let reason = Reason::of("/a", io::Error::from(Errno::ACCESS)).at("its log").at("t_1");
        assert_eq!(reason.to_string(), "t_1: its log: /a: Permission denied (os error 13)");
        let source = reason.source().and_then(|e| e.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::PermissionDenied));
        assert!(reason.is::<io::Error>() && !Reason::from("no such folder").is::<io::Error>());
    }
}
