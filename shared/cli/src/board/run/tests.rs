//! A command of a board that several hosts share, with a server that can be cut off.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::Here;
use ::board::testing::{Call, SharedOver};
use ::board::{Attendance, Attended, Board, BoardId, Location, NewTask};
use config::Config;

/// What the server's clock says.
const SERVERS_TIME: Time = Time(5_000_000_000);

const TASK: &str = "t_0000000a";

/// How a server answers.
#[derive(Default)]
struct Line {
    /// So many of the next calls are not answered.
    cut: Cell<u32>,
    /// So many of the next writes find the disk full.
    full: Cell<u32>,
    attended: Cell<u32>,
}

struct Server {
    board: Box<dyn Board>,
    id: BoardId,
    line: Rc<Line>,
}

fn no_answer(kind: Kind, what: &str) -> Error {
    Error::new(kind, "postgres://db.lan/agents", what)
}

impl SharedOver for Server {
    fn inner(&self) -> &dyn Board {
        &*self.board
    }

    fn reach(&mut self, call: Call) -> Result<&mut dyn Board> {
        let one_less = |left: &Cell<u32>| left.replace(left.get().saturating_sub(1)) > 0;
        if call == Call::Write && one_less(&self.line.full) {
            return Err(no_answer(Kind::Io, "no space left on the device"));
        }
        if one_less(&self.line.cut) {
            return Err(no_answer(Kind::Busy, "the server does not answer"));
        }
        Ok(&mut *self.board)
    }

    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Attended> {
        assert_eq!((me.duty, me.program), (Duty::Works, HAND));
        self.reach(Call::Read)?;
        self.line.attended.set(self.line.attended.get() + 1);
        Ok(Attended { now: SERVERS_TIME, before: None, hosts: Vec::new() })
    }

    fn named(&self) -> &BoardId {
        &self.id
    }
}

/// A board that several hosts share, with one task that is being claimed.
struct Desk {
    folder: tempfile::TempDir,
    config: Config,
    common: Common,
    line: Rc<Line>,
}

impl Desk {
    fn new() -> Desk {
        let common = Common {
            db: Vec::new(),
            board: Vec::new(),
            hermes_root: None,
            config: None,
            json: false,
            verbose: false,
            quiet: true,
            now: None,
        };
        let folder = tempfile::tempdir().unwrap();
        Desk { folder, config: Config::default(), common, line: Rc::default() }
    }

    fn hand(&self) -> Hand<'_> {
        let here = Here::look(&self.common, &self.config).unwrap();
        let root = self.folder.path();
        let file = BoardId { at: root.join("kanban.db").into(), slug: None, root: None };
        board::create(&file.at, Duration::from_secs(1)).unwrap();
        let board = board::open(&file, Mode::Change, Duration::from_secs(1)).unwrap();
        // No engine opens it anew. What the command prints goes below this root.
        let at = Location::Server("postgres://db.lan/agents".into());
        let id = BoardId { at, slug: Some("default".into()), root: Some(root.to_owned()) };
        let here = Here { host: id.known_as(&here.host).unwrap(), ..here };
        let opened = here.host.boot_clock();
        let board = Box::new(Server { board, id, line: Rc::clone(&self.line) });
        Hand { board, here, opened, config: &self.config, common: &self.common, by: HAND, pass: "p".into() }
    }

    /// The task, claimed for a command that waits behind its gate.
    fn work(&self, hand: &mut Hand<'_>, command: &str) -> Work {
        let lock = hand.lock(None);
        let command = ["sh", "-c", command].map(OsString::from);
        let start = Start {
            folder: self.folder.path().to_owned(),
            prompt: String::new(),
            profile: Some("luna"),
            claim: &lock,
            command: &command,
            log: None,
        };
        let gate = hand.gate(TASK, start).unwrap();
        let task = NewTask { title: "Light the lamps".into(), ..NewTask::default() };
        let trail = hand.trail("claim");
        let mut changes = hermes::created(Status::Running, task, &[], &trail);
        let (expires, pid) = (hand.here.now.plus(3), Some(i64::from(gate.child.id())));
        changes.extend(hermes::claim(&lock, expires, pid, Some("luna".into()), &trail));
        drop(trail);
        hand.must(TASK, None, changes).unwrap();
        let run = hand.look(TASK).unwrap().task.current_run;
        let since = hand.here.now;
        Work { gate, task: TASK.into(), run, lock, profile: Some("luna".into()), since }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

const NEVER: u32 = u32::MAX;

#[test]
fn a_claim_of_a_shared_board_is_its_own() {
    let desk = Desk::new();
    let hand = desk.hand();
    let (one, two) = (hand.lock(Some(4_711)), hand.lock(Some(4_711)));
    assert_ne!(one, two);
    let host = hand.here.host.facts().hostname;
    let nonce = one.strip_prefix(&format!("{host}:4711:")).unwrap();
    assert!(nonce.len() == 8 && nonce.bytes().all(|b| b.is_ascii_hexdigit()), "{one}");
    let file = BoardId { at: desk.folder.path().join("kanban.db").into(), slug: None, root: None };
    let board = board::open(&file, Mode::Change, Duration::from_secs(1)).unwrap();
    assert_eq!(Hand { board, ..hand }.lock(Some(4_711)), format!("{host}:4711"));
}

#[test]
fn a_heartbeat_lasts_by_the_clock_of_the_board() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    assert!(matches!(hand.beat(&work, 900), Beat::Holds));
    assert_eq!((desk.line.attended.get(), hand.here.now), (1, SERVERS_TIME));
    assert_eq!(hand.look(TASK).unwrap().task.claim_expires, Some(SERVERS_TIME.plus(900)));
    desk.line.cut.set(NEVER);
    let Beat::Missed(why) = hand.beat(&work, 900) else { panic!("a heartbeat reached nobody") };
    assert!(why.contains("the server does not answer"), "{why}");
    desk.line.cut.set(0);
    let other = Work { lock: format!("{}0", work.lock), ..work };
    assert!(matches!(hand.beat(&other, 900), Beat::Taken), "the same run under another claim");
    other.gate.end().unwrap();
}

#[test]
fn a_command_whose_board_is_cut_off_is_stopped_before_its_claim_ends() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "env > env; mv env environment; exec sleep 600");
    let (pid, lock) = (i64::from(work.gate.child.id()), work.lock.clone());
    let name = |which: &str| format!("WATCHBILL_{which}=");
    desk.line.cut.set(NEVER);
    let began = Instant::now();
    let e = hand.harness(work, Some(Duration::from_secs(6)), &AtomicBool::new(false)).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(e.kind, Kind::Partial);
    assert_eq!(
        e.to_string(),
        format!("{TASK}: lost the board for 4s; the command was stopped; heal goes on with it")
    );
    assert_eq!(hand.here.host.birth_of(pid), None);
    // Nothing was written of it.
    desk.line.cut.set(0);
    let seen = hand.look(TASK).unwrap();
    assert_eq!((seen.task.status, seen.task.claim_lock.as_deref()), (Status::Running, Some(lock.as_str())));
    let environment = desk.read("environment");
    let value = |which: &str| environment.lines().find_map(|l| l.strip_prefix(&name(which)));
    assert_eq!(value("TASK"), Some(TASK));
    assert_eq!(value("RUN"), Some("1"));
    assert_eq!(value("CLAIM"), Some(format!("{TASK} {lock}").as_str()));
    assert_eq!(value("PROFILE"), Some("luna"));
    assert_eq!(value("WORKSPACE").map(Path::new), Some(desk.folder.path()));
    assert_eq!(value("DB"), Some("postgres://db.lan/agents"));
    let unwanted = |l: &&str| l.starts_with("HERMES_KANBAN_") || l.starts_with("PG");
    assert_eq!(environment.lines().find(unwanted), None);
}

#[test]
fn the_end_of_a_command_waits_for_a_server_that_comes_back() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    desk.line.cut.set(1);
    let code = hand.harness(work, None, &AtomicBool::new(false)).unwrap();
    assert_eq!((code, desk.line.cut.get()), (0, 0));
    assert_eq!(hand.look(TASK).unwrap().task.status, Status::Done);
}

#[test]
fn the_end_of_a_command_waits_for_room_on_a_full_disk() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    desk.line.full.set(1);
    let code = hand.harness(work, None, &AtomicBool::new(false)).unwrap();
    assert_eq!((code, desk.line.full.get()), (0, 0));
    assert_eq!(hand.look(TASK).unwrap().task.status, Status::Done);
}
