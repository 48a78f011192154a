//! The environment of a worker: what it says to the programs that the worker runs, and what `board run` puts into it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::env;
use base::worker_env::{ATTEMPT, CLAIM, HARNESS, HERMES, HERMES_BOARD, Names, SHARED};
use board::Detail;

/// What libpq and every client like it reads, passwords among it.
const POSTGRES: &str = "PG";

/// What we are told of the task that this program works for. It says nothing about any other task that it may touch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) task: String,
    pub(super) run: Option<i64>,
    pub(super) workspace: Option<String>,
    claim: Option<String>,
    /// How these are called.
    pub(super) names: &'static Names,
}

impl Own {
    /// By this program's environment; `None` where it works for no task.
    pub(super) fn here() -> Option<Own> {
        Own::of(&env)
    }

    /// The same for this task.
    pub(super) fn is(task: &str) -> Option<Own> {
        Own::here().filter(|own| own.task == task)
    }

    fn of(env: &dyn Fn(&str) -> Option<String>) -> Option<Own> {
        // What Hermes starts below a worker of Watchbill works for Hermes' task.
        let named = [&HERMES, &SHARED].into_iter().find_map(|names| Some((env(names.task)?, names)));
        let (task, names) = named?;
        let run = env(names.run).and_then(|run| run.parse().ok());
        // A program between us and this one may have started it for another task, and left our variable as it was.
        let claim = env(CLAIM).and_then(|told| Some(told.strip_prefix(&task)?.strip_prefix(' ')?.to_owned()));
        Some(Own { task, run, workspace: env(names.workspace), claim, names })
    }

    /// The claim that it was started under, where the task is held by another one now.
    pub(super) fn lost_claim(&self, seen: &Detail) -> Option<&str> {
        self.claim.as_deref().filter(|claim| seen.task.claim_lock.as_deref() != Some(claim))
    }
}

/// Starts this program anew where a worker started it as the harness of another task, marked as one and without what the environment
/// says of its own task: it would be stopped with that worker.
pub(super) fn leave_own_task() {
    if Own::here().is_none() {
        return;
    }
    let (Ok(program), mut words) = (std::env::current_exe(), std::env::args_os()) else { return };
    let mut command = Command::new(program);
    words.next().map(|name| command.arg0(name));
    command.args(words).env(HARNESS, "1");
    for name in ATTEMPT {
        command.env_remove(name);
    }
    // Where that fails, it works as it is.
    let _ = command.exec();
}

/// The profile we work as, whatever the task.
pub(super) fn profile() -> Option<String> {
    env(HERMES.profile).or_else(|| env(SHARED.profile))
}

/// The variable that a command behind its gate reads its run from.
pub(super) fn names(shared: bool) -> &'static Names {
    if shared { &SHARED } else { &HERMES }
}

/// What a command is told of its task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) task: &'a str,
    /// What its claim is held by.
    pub(super) claim: &'a str,
    pub(super) folder: &'a Path,
    pub(super) profile: Option<&'a str>,
    /// The board: its file, or its address.
    pub(super) db: &'a OsStr,
    /// What Hermes calls the board.
    pub(super) slug: Option<&'a str>,
    pub(super) prompt: &'a Path,
    /// Whether several hosts share the board.
    pub(super) shared: bool,
}

impl Told<'_> {
    /// Puts it into the environment of a command, in the place of what is said there of another task.
    pub(super) fn put(self, command: &mut Command) {
        for (name, value) in self.changes(std::env::vars_os().map(|(name, _)| name)) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// What the environment gets; `None`: it loses that, if it has it. Its run is known only after the claim.
    fn changes(self, inherited: impl Iterator<Item = OsString>) -> BTreeMap<OsString, Option<OsString>> {
        let begins = |name: &OsStr, with: &str| name.as_encoded_bytes().starts_with(with.as_bytes());
        let unwanted =
            |name: &OsString| self.shared && (begins(name, HERMES_BOARD) || begins(name, POSTGRES));
        let mut all: BTreeMap<OsString, Option<OsString>> =
            inherited.filter(unwanted).map(|name| (name, None)).collect();
        for Names { task, run, db, workspace, profile } in [&HERMES, &SHARED] {
            all.extend([task, run, db, workspace, profile].map(|name| (name.into(), None)));
        }
        all.insert(HARNESS.into(), None);
        let Names { task, db, workspace, profile, run: _ } = names(self.shared);
        let claim = format!("{} {}", self.task, self.claim);
        for (name, value) in [
            (*task, Some(self.task.as_ref())),
            (*db, Some(self.db)),
            (*workspace, Some(self.folder.as_os_str())),
            (*profile, self.profile.map(OsStr::new)),
            (CLAIM, Some(claim.as_ref())),
            ("WATCHBILL_PROMPT_FILE", Some(self.prompt.as_os_str())),
        ] {
            all.insert(name.into(), value.map(OsStr::to_owned));
        }
        let slug = self.slug.filter(|_| !self.shared);
        all.insert("HERMES_KANBAN_BOARD".into(), slug.map(OsString::from));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(vars: &[(&str, &str)]) -> Option<Own> {
        Own::of(&|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn a_worker_is_told_by_hermes_or_by_us() {
        let is = |task: &str, run, claim: Option<&str>, names| {
            let claim = claim.map(str::to_owned);
            Some(Own { task: task.into(), run, workspace: None, claim, names })
        };
        for (vars, want) in [
            (&[][..], None),
            (&[("HERMES_KANBAN_RUN_ID", "7"), ("WATCHBILL_CLAIM", "h:1")], None),
            (&[("HERMES_KANBAN_TASK", "t_1")], is("t_1", None, None, &HERMES)),
            (
                &[
                    ("HERMES_KANBAN_TASK", "t_1"),
                    ("HERMES_KANBAN_RUN_ID", "7"),
                    ("WATCHBILL_CLAIM", "t_1 h:1"),
                ],
                is("t_1", Some(7), Some("h:1"), &HERMES),
            ),
            // Started by Hermes below a worker of Watchbill.
            (
                &[("HERMES_KANBAN_TASK", "t_2"), ("WATCHBILL_CLAIM", "t_1 h:1")],
                is("t_2", None, None, &HERMES),
            ),
            (&[("WATCHBILL_TASK", "t_1"), ("WATCHBILL_RUN", "7")], is("t_1", Some(7), None, &SHARED)),
            (&[("WATCHBILL_TASK", "t_1"), ("HERMES_KANBAN_RUN_ID", "7")], is("t_1", None, None, &SHARED)),
            (
                &[("WATCHBILL_TASK", "t_1"), ("WATCHBILL_RUN", "7"), ("HERMES_KANBAN_TASK", "t_2")],
                is("t_2", None, None, &HERMES),
            ),
        ] {
            assert_eq!(own(vars), want, "{vars:?}");
        }
    }

    #[test]
    fn a_claim_is_lost_to_another_one_of_the_same_run() {
        let mut seen = board::testing::detail("t_1", board::Status::Running);
        for (told, held, lost) in [
            (None, None, false),
            (None, Some("h:1:a"), false),
            (Some("h:1:a"), Some("h:1:a"), false),
            (Some("h:1:a"), Some("h:1:b"), true),
            (Some("h:1:a"), Some("h:1"), true),
            (Some("h:1:a"), None, true),
        ] {
            seen.task.claim_lock = held.map(str::to_owned);
            let claim = format!("t_1 {}", told.unwrap_or_default());
            let vars = [("HERMES_KANBAN_TASK", "t_1"), ("WATCHBILL_CLAIM", claim.as_str())];
            let own = own(&vars[..1 + usize::from(told.is_some())]).unwrap();
            assert_eq!(own.lost_claim(&seen).is_some(), lost, "{told:?} {held:?}");
        }
    }

    fn told(shared: bool) -> Told<'static> {
        let db = OsStr::new(if shared { "postgres://db.lan/agents" } else { "/srv/night.db" });
        Told {
            task: "t_1",
            claim: "h:1:a",
            folder: Path::new("/srv/work"),
            profile: Some("luna"),
            db,
            slug: Some("default"),
            prompt: Path::new("/tmp/p"),
            shared,
        }
    }

    fn after(told: Told<'_>, inherited: &[&str]) -> BTreeMap<String, String> {
        let names = inherited.iter().map(OsString::from);
        let text = |s: OsString| s.into_string().unwrap();
        let mut all: BTreeMap<String, String> =
            inherited.iter().map(|n| ((*n).to_owned(), "inherited".to_owned())).collect();
        for (name, value) in told.changes(names) {
            match value {
                Some(value) => all.insert(text(name), text(value)),
                None => all.remove(&text(name)),
            };
        }
        all
    }

    const INHERITED: [&str; 16] = [
        "HOME",
        "PAGER",
        "HERMES_HOME",
        "HERMES_KANBAN_TASK",
        "HERMES_KANBAN_RUN_ID",
        "HERMES_KANBAN_DB",
        "HERMES_KANBAN_BOARD",
        "HERMES_KANBAN_HOME",
        "HERMES_KANBAN_WORKSPACE",
        "HERMES_PROFILE",
        "WATCHBILL_TASK",
        "WATCHBILL_RUN",
        "WATCHBILL_CONFIG",
        "PGPASSWORD",
        "PGPASSFILE",
        "PGSERVICE",
    ];

    #[test]
    fn a_command_of_a_shared_board_is_told_nothing_that_hermes_would_open_and_no_password() {
        let want = [
            ("HERMES_HOME", "inherited"),
            ("HOME", "inherited"),
            ("PAGER", "inherited"),
            ("WATCHBILL_CLAIM", "t_1 h:1:a"),
            ("WATCHBILL_CONFIG", "inherited"),
            ("WATCHBILL_DB", "postgres://db.lan/agents"),
            ("WATCHBILL_PROFILE", "luna"),
            ("WATCHBILL_PROMPT_FILE", "/tmp/p"),
            ("WATCHBILL_TASK", "t_1"),
            ("WATCHBILL_WORKSPACE", "/srv/work"),
        ];
        let want = want.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(after(told(true), &INHERITED), BTreeMap::from(want));
    }

    #[test]
    fn a_command_of_a_file_is_told_as_hermes_tells_it() {
        let want = [
            ("HERMES_HOME", "inherited"),
            ("HERMES_KANBAN_BOARD", "default"),
            ("HERMES_KANBAN_DB", "/srv/night.db"),
            ("HERMES_KANBAN_HOME", "inherited"),
            ("HERMES_KANBAN_TASK", "t_1"),
            ("HERMES_KANBAN_WORKSPACE", "/srv/work"),
            ("HERMES_PROFILE", "luna"),
            ("HOME", "inherited"),
            ("PAGER", "inherited"),
            ("PGPASSFILE", "inherited"),
            ("PGPASSWORD", "inherited"),
            ("PGSERVICE", "inherited"),
            ("WATCHBILL_CLAIM", "t_1 h:1:a"),
            ("WATCHBILL_CONFIG", "inherited"),
            ("WATCHBILL_PROMPT_FILE", "/tmp/p"),
        ];
        let want = want.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(after(told(false), &INHERITED), BTreeMap::from(want));
        let nobody = Told { profile: None, slug: None, ..told(false) };
        let told = after(nobody, &INHERITED);
        assert!(!told.contains_key("HERMES_PROFILE") && !told.contains_key("HERMES_KANBAN_BOARD"));
    }
}
