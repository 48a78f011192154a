//! Whether everything is in place for the watchers to do their work: facts of configuration, boards, timers and this machine in,
//! findings out. Everything here is pure; who looks is the command line.

mod boards;
mod machine;
mod targets;
mod watchers;

use std::fmt;

use serde::Serialize;

use policy::remedy::Mends;

pub use self::boards::{Around, BoardRead, BoardSeen, board, damaged_tasks, none, refusals};
pub use self::machine::{
    ConfigSeen, DiskSeen, Hidden, StateSeen, UnitSettings, Versions, config, disk, hidden, state,
    unit_settings, versions,
};
pub use self::targets::{FAILING, Failing, TargetSeen, targets};
pub use self::watchers::{StartersSeen, WatcherSeen, unwatched, watchers};

use base::named_enum::named_enum;

named_enum! {
    /// How bad a finding is.
    pub enum Severity {
        /// As it should be.
        Ok = "ok",
        /// Worth knowing.
        Info = "info",
        /// Something works worse than it could.
        Warning = "warning",
        /// Work may stand still, or be lost.
        Error = "error",
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its stable name, as docs/doctor.md lists it.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The board, the watcher or the file it is about.
    pub about: String,
    /// What is so.
    pub what: String,
    /// What to do about it.
    pub todo: Option<String>,
    /// The one command that mends it, where there is one for this machine.
    #[serde(skip)]
    pub mends: Option<Mends>,
    /// What it names beside that, where one more of these is another matter.
    #[serde(skip)]
    pub also: Vec<String>,
}

impl Finding {
    fn new(
        severity: Severity,
        id: &'static str,
        about: impl fmt::Display,
        what: impl fmt::Display,
    ) -> Finding {
        let (about, what) = (about.to_string(), what.to_string());
        Finding { id, severity, about, what, todo: None, mends: None, also: Vec::new() }
    }

    fn ok(id: &'static str, about: impl fmt::Display, what: impl fmt::Display) -> Finding {
        Finding::new(Severity::Ok, id, about, what)
    }

    fn info(id: &'static str, about: impl fmt::Display, what: impl fmt::Display) -> Finding {
        Finding::new(Severity::Info, id, about, what)
    }

    fn warning(id: &'static str, about: impl fmt::Display, what: impl fmt::Display) -> Finding {
        Finding::new(Severity::Warning, id, about, what)
    }

    fn error(id: &'static str, about: impl fmt::Display, what: impl fmt::Display) -> Finding {
        Finding::new(Severity::Error, id, about, what)
    }

    fn mends(mut self, mends: Mends) -> Finding {
        self.todo = Some(format!("`{}`: {}", mends.run, mends.todo));
        self.mends = Some(mends);
        self
    }

    fn todo(mut self, what: impl fmt::Display) -> Finding {
        self.todo = Some(what.to_string());
        self
    }
}

/// The worst of them.
pub fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|f| f.severity).max().unwrap_or(Severity::Ok)
}
