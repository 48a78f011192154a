//! The command line of `coord`: agent sessions, one pass a call. What was done is looked at afterwards: a server that says
//! yes has said nothing.

mod abort;
mod detect;
mod events;
mod left;
mod message;
mod notify;
mod spawn;
mod status;
mod stop;
mod work;
mod worktree;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::Common;
use super::board::{Hand, refused};
use super::env;
use base::error::{Error, Kind, Result};
use base::hash::Fnv;
use board::{Detail, Duty, EventKind, Mode, hermes, is_task_id};
use coord::opencode::Opencode;
use coord::opencode::rest::{Address, Server};
use coord::{Answer, Coordinator, Mapping, MappingStatus, Operation, Prompt, SessionId, Silence, mapping};
use logs::cache::Cache;
use ops::pass;
use ops::report;
use policy::attempts::worker::{AtWork, worker};

/// The program, as events name it.
const COORD: &str = "coord";
/// How long a stop is looked for before it counts as not done.
const SETTLE: Duration = Duration::from_secs(5);
/// The same for a message. The first one in a directory waits until the server has made itself at home there: 4 s, and more
/// on a busy machine.
const ARRIVES: Duration = Duration::from_secs(30);
/// What is said of a session that only a mapping could tell of.
const NOT_SPAWNED: &str = "was not spawned for a task of this board";
/// What follows from a state that nobody knows.
const NOTHING_DONE: &str = ", so nothing was done";
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// How far back spawned sessions are looked for: seconds, and events of the board.
const BACK: (i64, u32) = (30 * 86_400, 200_000);
/// Messages read to find one of the newest.
const NEWEST: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a session for a task in its own worktree, and print the session
    Spawn(spawn::Spawn),
    /// Show the spawned sessions, and the state that their servers report
    Status(status::Status),
    /// Send a message to a session
    Message(message::Say),
    /// Send a message to the coordinator of a session
    Notify(notify::Notify),
    /// Stop a session
    Abort(abort::Abort),
    /// Find problems of sessions
    Detect(detect::Detect),
    /// Show the events of sessions from the board
    Events(events::Events),
    /// What spawn leaves running for a session that is a command
    #[command(hide = true)]
    Work(work::Work),
}

/// Which server is meant where no mapping says it.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]
    #[arg(long, value_name = "URL", value_parser = Address::parse, global = true, help_heading = "Common options")]
    server: Option<Address>,
}

/// One call: a board, and who may be asked.
struct Coord<'a> {
    hand: Hand<'a>,
    servers: Servers<'a>,
}

/// Who may be asked, and with which password.
struct Servers<'a> {
    /// By flag.
    given: Option<&'a Address>,
    /// By flag or environment, or where opencode listens by itself.
    named: Address,
    /// opencode as it is here.
    opencode: Opencode,
}

pub(super) fn run(command: &Command, target: &Target, common: &Common) -> Result<u8> {
    if let Command::Work(_) = command {
        // On its own from the start: a terminal that closes does not end it. Where it leads a session already, that will do.
        let _ = rustix::process::setsid();
    }
    let config = common.load()?.config;
    let mode = match command {
        Command::Status(_) | Command::Events(_) => Mode::Look,
        Command::Detect(detect) if !detect.record => Mode::Look,
        _ => Mode::Change,
    };
    // The harness of a command renews its claim as long as it lives. Who may not do that begins with nothing.
    let duty = match command {
        Command::Spawn(spawn) if spawn.is_a_command() => Duty::Works,
        _ => Duty::Asks,
    };
    let hand = Hand::open(common, &config, mode, COORD, duty)?;
    let given = target.server.as_ref();
    let named = match (given, env("OPENCODE_SERVER")) {
        (Some(given), _) => given.clone(),
        (None, set) => {
            let set = set.as_deref().unwrap_or("http://127.0.0.1:4096");
            Address::parse(set).map_err(|why| Error::new(Kind::Usage, "OPENCODE_SERVER", why))?
        }
    };
    let opencode = Opencode { named: Some(named.clone()), ..Opencode::of(&env) };
    let mut coord = Coord { hand, servers: Servers { given, named, opencode } };
    match command {
        Command::Spawn(spawn) => coord.spawn(spawn),
        Command::Status(status) => coord.status(status),
        Command::Message(say) => coord.message(say),
        Command::Notify(notify) => coord.notify(notify),
        Command::Abort(abort) => coord.abort(abort),
        Command::Detect(detect) => coord.detect(detect),
        Command::Events(events) => coord.events(events),
        Command::Work(work) => coord.work(work),
    }
}

/// A session that a command is about.
struct Meant {
    session: SessionId,
    /// How the board knows it, if it does.
    mapping: Option<Mapping>,
}

impl Servers<'_> {
    /// The server at an address.
    fn at(&self, at: &Address) -> Server {
        self.opencode.server(at)
    }
}

impl Coord<'_> {
    /// The server that owns a session of opencode.
    fn owner(&self, meant: &Meant) -> Result<Server> {
        let Meant { session, mapping } = meant;
        let at = match mapping {
            None if !session.is_opencodes() => return Err(refused(session.as_str(), NOT_SPAWNED)),
            None => self.servers.named.clone(),
            Some(m) => self.server_of(m)?,
        };
        Ok(self.servers.at(&at))
    }

    /// The address of the server of a mapping.
    fn server_of(&self, m: &Mapping) -> Result<Address> {
        let Some(server) = &m.server else {
            let why = m.runtime.lacks(Operation::Ask).unwrap_or("names no server");
            return Err(refused(m.session.as_str(), format!("{} {why}", m.runtime.as_str())));
        };
        Address::parse(server)
            .map_err(|why| refused(&m.task, format!("the server of its session, {server}, {why}")))
    }

    /// The worker of a session that is a command; `None`: its task is not running.
    fn worker(&mut self, task: &Detail) -> Result<Option<AtWork>> {
        let hand = &mut self.hand;
        let pass = hand.here.pass(COORD, None, true);
        let mut cache = Cache::open(Cache::place(&env));
        let mut tools = hand.here.tools(&pass, hand.config, &mut cache, false);
        let now = hand.here.now;
        pass::look::around(&mut *hand.board, &mut tools, |world, _| Ok(worker(world, task, now)))
    }

    /// Every session that was spawned lately for a task of this board, oldest first.
    fn mappings(&mut self) -> Result<Vec<Mapping>> {
        let since = self.hand.here.now.plus(-BACK.0);
        let events = self.hand.board.turns(since, BACK.1)?;
        let mut tasks: Vec<String> = events
            .into_iter()
            .filter(|(_, e)| e.kind == EventKind::SessionSpawned)
            .map(|(task, _)| task)
            .collect();
        tasks.sort();
        tasks.dedup();
        let details = self.hand.board.look(&tasks)?;
        let mut all: Vec<Mapping> = details.iter().flat_map(mapping::of).collect();
        all.sort_by(|a, b| (a.at, &a.session).cmp(&(b.at, &b.session)));
        Ok(all)
    }

    /// What a command names: a session, or a task by its newest session.
    fn meant(&mut self, named: &str) -> Result<Meant> {
        if let Some(session) = SessionId::parse(named) {
            let mapping = self.mappings()?.into_iter().rfind(|m| m.session == session);
            return Ok(Meant { session, mapping });
        }
        let is_id = is_task_id(named) || named.starts_with("t_");
        if !is_id && self.hand.board.titled(&[named.to_owned()])?.is_empty() {
            return Err(Error::new(Kind::Usage, named, "neither a session nor a task")
                .hint("sessions look like ses_3f2a... or like a UUID, tasks like t_1a2b3c4d"));
        }
        let seen = self.hand.look(named)?;
        let mapping = mapping::open(&seen).or_else(|| mapping::of(&seen).pop());
        let mapping = mapping.ok_or_else(|| {
            refused(named, "no session was spawned for it").hint("coord spawn --task starts one")
        })?;
        Ok(Meant { session: mapping.session.clone(), mapping: Some(mapping) })
    }

    /// Applies one event to the task of a mapping. It rests on nothing that was seen.
    fn record(&mut self, mapping: &Mapping, kind: EventKind, case: &str, keys: Value) -> Result<()> {
        let change = hermes::noted_in(mapping.run, kind, keys, &self.hand.trail(case));
        self.hand.must(&mapping.task, None, vec![change]).map(|_| ())
    }
}

/// The spawned session in whose working tree this command runs.
fn me(all: &[Mapping]) -> Option<&Mapping> {
    let here = std::env::current_dir().ok()?;
    let active = |m: &&Mapping| m.status == MappingStatus::Active;
    all.iter()
        .filter(active)
        .rfind(|m| std::fs::canonicalize(&m.directory).is_ok_and(|directory| here.starts_with(directory)))
}

/// Says something in a session, and sees it lie there: a server that took it may have lost it.
fn say(server: &Server, session: &SessionId, prompt: &Prompt<'_>) -> Result<()> {
    let fails = |e| silent(server, session, &e);
    server.prompt(session, prompt).map_err(fails)?;
    if arrived(server, session, prompt.message).map_err(fails)? {
        return Ok(());
    }
    Err(refused(session.as_str(), format!("{} took it and does not show it", server.address())))
}

/// Waits until a message lies in its session, with its text: a server writes the one before the other.
fn arrived(server: &Server, session: &SessionId, message: &str) -> Answer<bool> {
    let until = Instant::now() + ARRIVES;
    loop {
        let there = server
            .messages(session, NEWEST)
            .map(|all| all.iter().any(|m| m.id == message && !m.text.is_empty()));
        match there {
            Ok(false) | Err(Silence::Unreachable(_)) if Instant::now() < until => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

/// The name of a message: opencode orders by it, so it begins with the time (milliseconds * 4096 + 1, 48 bits, as opencode
/// 1.18.33 itself makes them), and ends with what is said, so that the same said again is found.
fn message_id(millis: u64, parts: &[&str]) -> String {
    let stamp = millis.wrapping_mul(4096).wrapping_add(1) & 0xffff_ffff_ffff;
    format!("msg_{stamp:012x}{}", message_tail(parts))
}

/// The end of such a name: 14 letters that stand for what is said.
fn message_tail(parts: &[&str]) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let half = |salt: &[u8]| {
        let mut hash = Fnv::new();
        hash.part(salt);
        parts.iter().for_each(|p| hash.part(p.as_bytes()));
        hash.value()
    };
    let mut bits = u128::from(half(b"a")) << 64 | u128::from(half(b"b"));
    let mut letter = || {
        let at = (bits % 62) as usize;
        bits /= 62;
        char::from(LETTERS[at])
    };
    (0..14).map(|_| letter()).collect()
}

/// Milliseconds since the epoch by the wall clock, for names of messages alone: they must be newer than what the server
/// named, whatever time was given to us.
fn millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(0)
}

/// A refusal of a server, as an error about a session.
fn silent(server: &Server, session: &SessionId, silence: &Silence) -> Error {
    match silence {
        Silence::Missing => refused(session.as_str(), format!("{} knows no such session", server.address())),
        Silence::Refused(..) => refused(session.as_str(), format!("{} {silence}", server.address())),
        Silence::Unreachable(why) => refused(
            server.address().as_str(),
            format!("{why}; the state of {session} is unknown{NOTHING_DONE}"),
        ),
    }
}

/// A word beside the answer.
fn warn(what: &str) {
    // Where even that cannot be said, the exit code still is.
    let _ = report::say(&mut std::io::stderr().lock(), '4', COORD, what);
}

/// Who coordinates, as a flag names it.
fn coordinator_named(s: &str) -> Result<Coordinator> {
    Coordinator::try_from(s.to_owned()).map_err(|why| Error::new(Kind::Usage, s, why))
}

/// A folder as text; a board and a server hold nothing else.
fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| refused(&path.display().to_string(), "its name is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_named_by_time_and_words() {
        let id = message_id(1_795_331_082_647, &["ses_1", "info", "done"]);
        // What opencode 1.18.33 named a message of that very millisecond begins with the same.
        assert!(id.starts_with("msg_202124997001"), "{id}");
        assert_eq!(id.len(), "msg_".len() + 12 + 14);
        assert!(id.ends_with(&message_tail(&["ses_1", "info", "done"])));
        assert_ne!(message_tail(&["a", "bc"]), message_tail(&["ab", "c"]));
    }
}
