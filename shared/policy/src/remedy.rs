//! What a person does for which cause. One list: notices on a board, `why`, `status`, messages, pages and `doctor` take their words here.

use base::cause::{self, Cause};

/// No dispatcher runs, on a board of Hermes.
pub const NO_DISPATCHER: &str = "start the gateway: `hermes gateway start` where its service is installed, else `hermes gateway run`, which stays in the foreground; or let cron run `hermes kanban dispatch`: nothing else starts a worker";

/// Stands in a command for what a person answers. `board` does not take it as it stands.
pub const YOUR_ANSWER: &str = "YOUR ANSWER";
/// The same for the profile that they name.
pub const PROFILE: &str = "PROFILE";

/// A command, and what is to be known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mends {
    /// The whole line.
    pub run: &'static str,
    /// What to do besides, and what shows that it worked.
    pub todo: &'static str,
}

/// What starts a dispatcher on this machine. `has_service`: systemd runs, and a service of the gateway is installed.
pub fn dispatcher(has_service: bool) -> Mends {
    match has_service {
        true => Mends {
            run: "hermes gateway start",
            todo: "starts the service of the gateway; it worked if ready tasks run two minutes later, and this line is gone",
        },
        false => Mends {
            run: "hermes gateway run",
            todo: "leave it running, in tmux or with nohup: no service of the gateway is installed here; it worked if ready tasks run two minutes later, and this line is gone",
        },
    }
}

/// A process sits in the lock of the dispatcher.
pub const WEDGED: &str = "look at that process; if it does nothing, kill -9 it and start it again: ending it in another way may overwrite the board";

/// No timer starts a watcher.
pub const NOT_SCHEDULED: &str = "watchbill timers install";

/// Only cron starts a watcher, and no cron daemon runs.
pub const NO_CRON: &str = "start cron: `systemctl enable --now cron`, or as this machine starts its services";

/// There is no board at all.
pub const NO_BOARD: &str = "where there is none yet: `hermes kanban init`, or `board init FILE` without Hermes; `watchbill demo` shows what this is for";

/// A card that nobody takes, where nobody starts a worker. `own_board`: it is a board of `board init`, whose workers come by themselves.
pub fn untaken(own_board: bool) -> &'static str {
    if own_board { "start a worker that takes it: `board claim --worker NAME`" } else { NO_DISPATCHER }
}

/// The command that comments on a task as a person. `hand`: the program that changes the board; `id`: the task as a `task_word`;
/// `own_board`: it is a board of `board init`, whose comments need an author.
pub fn comment(hand: &str, id: &str, text: &str, own_board: bool) -> String {
    let author = if own_board { " --author \"$USER\"" } else { "" };
    card::with_flags(&format!("{hand} comment"), &format!("{id} '{text}'"), author)
}

/// The command that answers a blocked task and lets it go on, with the arguments of [`comment`].
pub fn answer(hand: &str, id: &str, own_board: bool) -> String {
    format!("{} && {hand} unblock {id}", comment(hand, id, YOUR_ANSWER, own_board))
}

/// The command that accepts a task in review. `flags`: what names the board to our programs. Hermes 0.19 completes none of these itself.
pub fn accept(hand: &str, id: &str, own_board: bool, flags: &str) -> String {
    if own_board { format!("{hand} complete {id}") } else { card::with_flags("board complete", id, flags) }
}

/// The command that brings a task out of triage, with the arguments of [`comment`]. Hermes' own asks a model what is to be done; on a
/// board of `board init` nobody but a person goes on with it, so they answer as they would a blocked one.
pub fn out_of_triage(hand: &str, id: &str, own_board: bool) -> String {
    if own_board { answer(hand, id, true) } else { format!("{hand} specify {id}") }
}

/// What is to be known about that command of Hermes.
pub const SPECIFYING: &str = "a model specifies it, which costs tokens";

/// The command that brings a task out of triage, as it is told in a sentence.
pub fn out_of_triage_told(hand: &str, id: &str, own_board: bool) -> String {
    let run = out_of_triage(hand, id, own_board);
    if own_board { run } else { format!("{run} ({SPECIFYING})") }
}

/// The command that answers a question with which a task of Hermes is in triage, and brings it out of there.
pub fn answer_in_triage(hand: &str, id: &str) -> String {
    format!("{} && {}", comment(hand, id, YOUR_ANSWER, false), out_of_triage(hand, id, false))
}

/// The command that makes a profile that can work: an empty one has no model and no key.
fn create(name: &str) -> String {
    format!("hermes profile create {name} --clone")
}

/// A task whose assignee does not exist, or that has none. `name`: the profile it is for, where that is plainly a name; `reassign`: the
/// command that gives it to another one.
pub fn nobodys(name: Option<&str>, reassign: &str) -> String {
    match name {
        None => reassign.to_owned(),
        Some(name) => format!("{}, or {reassign}", create(name)),
    }
}

/// Why an orchestrator takes no card, and what mends it. `is_unlisted`: it exists, and its dispatcher does not start it.
pub fn no_orchestrator(name: &str, is_unlisted: bool) -> (String, String) {
    match is_unlisted {
        true => (
            format!("`kanban.dispatch_profiles` does not list {name}"),
            format!("add {name} to it in the config.yaml of Hermes"),
        ),
        false => (format!("there is no profile {name}"), create(name)),
    }
}

/// What a task waits for that only a person can give: a key, a quota and money, an address that answers, or a path or a
/// program of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    /// Its key was refused.
    Key,
    /// A quota or the money at its provider is used up.
    Quota,
    /// Nobody answers at its provider's address.
    Endpoint,
    /// Its worker cannot be started.
    Start,
}

impl Lacking {
    /// By the cause of its hold.
    pub fn of(cause: Cause) -> Option<Lacking> {
        match cause {
            Cause::Credential => Some(Lacking::Key),
            Cause::Quota => Some(Lacking::Quota),
            _ => None,
        }
    }

    /// The cause of its hold.
    pub fn cause(self) -> Cause {
        match self {
            Lacking::Key => Cause::Credential,
            Lacking::Quota => Cause::Quota,
            Lacking::Endpoint => Cause::ConnectionRefused,
            Lacking::Start => Cause::SpawnError,
        }
    }

    /// By the cause of which a person is told: also those for which no watcher holds a task.
    pub fn behind(cause: Cause) -> Option<Lacking> {
        match cause {
            Cause::ConnectionRefused => Some(Lacking::Endpoint),
            Cause::SpawnError => Some(Lacking::Start),
            _ => Lacking::of(cause),
        }
    }

    /// What to do, as a sentence. `takers`: the profiles that may take it now, where that is known.
    pub fn todo(self, profile: &str, takers: Option<&[String]>) -> String {
        let mend = match self {
            Lacking::Key => format!("Put a working key into the configuration of {profile} and unblock it"),
            Lacking::Quota => "Only money or a new quota helps: unblock it then".to_owned(),
            Lacking::Endpoint => "See why nobody answers there, and unblock it then".to_owned(),
            Lacking::Start => return "Mend that on this host, and unblock it then".to_owned(),
        };
        match takers {
            Some([]) => format!("{mend}, no other profile may take it now"),
            _ => format!("{mend}, or give it to {}", self.other()),
        }
    }

    /// What comes before its tasks are unblocked, where no other profile may take them. `at`: the profile whose key it is, else the
    /// provider.
    pub fn before(self, at: &str) -> String {
        match self {
            Lacking::Key => format!("put a working key into the configuration of {at}, then run"),
            Lacking::Quota => format!("once {at} has money or a new quota, run"),
            Lacking::Endpoint => {
                format!("see why nobody answers at {at}; once it can be reached from here, run")
            }
            Lacking::Start => unstarted(at, "run"),
        }
    }

    /// What to do while its tasks are tried by themselves.
    pub fn look(self, at: &str) -> String {
        match self {
            Lacking::Key => format!("put a working key into the configuration of {at}"),
            Lacking::Quota => format!("{at} needs money or a new quota"),
            Lacking::Endpoint => {
                format!("see why nobody answers at {at}; its tasks are tried again by themselves")
            }
            Lacking::Start => unstarted(at, "its tasks are tried again by themselves"),
        }
    }

    /// Which other profile could take it.
    pub fn other(self) -> &'static str {
        match self {
            Lacking::Key => "a profile with another key",
            Lacking::Quota | Lacking::Endpoint | Lacking::Start => "a profile at another provider",
        }
    }

    /// When it may be tried again.
    pub fn again(self) -> &'static str {
        match self {
            Lacking::Key => "try it again, once its profile has a new key",
            Lacking::Quota => "try it again, once its provider has a new quota or money",
            Lacking::Endpoint => "try it again, once its provider can be reached",
            Lacking::Start => "try it again, once its worker can be started",
        }
    }
}

/// What to do about an error with which a worker cannot be started. `then`: what comes after it.
fn unstarted(error: &str, then: &str) -> String {
    let what = match cause::path_of(error) {
        _ if error.contains("executable not found") => {
            "let what starts workers find `hermes`: install it, or put its folder into that PATH".to_owned()
        }
        Some(path) if cause::is_absent(error) => format!("{path} is not there"),
        Some(path) if error.contains("[Errno 13]") || error.contains("[Errno 1]") => {
            format!("let the user who starts workers use {path}")
        }
        Some(path) if error.contains("[Errno 17]") || error.contains("[Errno 20]") => {
            format!("a file is in the way of {path}: move it")
        }
        _ => "mend that on this host".to_owned(),
    };
    format!("{what}; then {then}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_words() {
        let takers = ["sol".to_owned()];
        for (lacking, takers, want) in [
            (Lacking::Key, None, "new key|and unblock it, or give it to a profile with another key"),
            (Lacking::Key, Some(&takers[..0]), "new key|and unblock it, no other profile may take it now"),
            (
                Lacking::Quota,
                Some(&takers[..]),
                "new quota|unblock it then, or give it to a profile at another provider",
            ),
        ] {
            let (again, todo) = want.split_once('|').unwrap();
            assert!(
                lacking.again().contains(again) && lacking.todo("luna", takers).ends_with(todo),
                "{lacking:?}"
            );
        }
        assert_eq!(Lacking::of(Cause::RateLimit), None);
        assert_eq!(
            nobodys(Some("ada"), "board reassign t_1 PROFILE"),
            "hermes profile create ada --clone, or board reassign t_1 PROFILE"
        );
        let (unlisted, add) = no_orchestrator("ada", true);
        assert!(unlisted.contains("dispatch_profiles") && !add.contains("create"), "{unlisted} {add}");
        assert_eq!(no_orchestrator("ada", false).1, "hermes profile create ada --clone");
        assert_eq!(out_of_triage("hermes kanban", "t_1", false), "hermes kanban specify t_1");
        assert_eq!(
            out_of_triage_told("hermes kanban", "t_1", false),
            "hermes kanban specify t_1 (a model specifies it, which costs tokens)"
        );
        let own = "board comment t_1 'YOUR ANSWER' --author \"$USER\" && board unblock t_1";
        assert_eq!(out_of_triage("board", "t_1", true), own);
        assert_eq!(out_of_triage_told("board", "t_1", true), own);
        assert!(!untaken(true).contains("hermes") && untaken(false).contains("hermes gateway"));
    }
}
