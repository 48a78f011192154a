//! A command of a board that several hosts share, with a server that can be cut off; and of a file that is busy or away as it ends.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::Here;
use ::board::testing::{Call, Over};
use ::board::{Attendance, Attended, Board, BoardId, Location, NewTask};
use config::Config;

/// What the server's clock says.
const SERVERS_TIME: Time = Time(5_000_000_000);

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

impl Over for Server {
    fn inner(&self) -> &dyn Board {
        &*self.board
    }

    fn reach(&mut self, call: Call<'_>) -> Result<&mut dyn Board> {
        let one_less = |left: &Cell<u32>| left.replace(left.get().saturating_sub(1)) > 0;
        if call == Call::Write && one_less(&self.line.full) {
            return Err(no_answer(Kind::Io, "no space left on the device"));
        }
        if one_less(&self.line.cut) {
            return Err(no_answer(Kind::Busy, "the server does not answer"));
        }
        Ok(&mut *self.board)
    }

    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        assert_eq!((me.duty, me.program), (Duty::Works, HAND));
        self.reach(Call::Read)?;
        self.line.attended.set(self.line.attended.get() + 1);
        Ok(Some(Attended { now: SERVERS_TIME, before: None, hosts: Vec::new() }))
    }

    fn named(&self) -> &BoardId {
        &self.id
    }
}

/// A board that several hosts share, with one task that is being claimed.
struct Desk {
    folder: tempfile::TempDir,
    /// Each board has another one: a command is stopped with all that names its task and its run, and tests run at once.
    task: String,
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
        let task = format!("t_{}", random_hex());
        Desk { folder, task, config: Config::default(), common, line: Rc::default() }
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
        let gate = hand.gate(&self.task, start).unwrap();
        let new = NewTask { title: "Light the lamps".into(), ..NewTask::default() };
        let trail = hand.trail("claim");
        let mut changes = hermes::created(Status::Running, new, &[], &trail);
        let (expires, pid) = (hand.here.now.plus(3), Some(i64::from(gate.child.id())));
        changes.extend(hermes::claim(&lock, expires, pid, Some("luna".into()), &trail));
        drop(trail);
        hand.must(&self.task, None, changes).unwrap();
        let run = hand.look(&self.task).unwrap().task.current_run;
        let since = hand.here.now;
        let (task, profile) = (self.task.clone(), Some("luna".into()));
        Work { gate, task, run, lock, profile, since, told: Arc::default() }
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
    assert_eq!(hand.look(&desk.task).unwrap().task.claim_expires, Some(SERVERS_TIME.plus(900)));
    desk.line.cut.set(NEVER);
    let Beat::Missed(why) = hand.beat(&work, 900) else { panic!("a heartbeat reached nobody") };
    assert!(why.contains("the server does not answer"), "{why}");
    desk.line.cut.set(0);
    let other = Work { lock: format!("{}0", work.lock), ..work };
    assert!(matches!(hand.beat(&other, 900), Beat::Taken), "the same run under another claim");
    other.gate.end().unwrap();
}

#[test]
fn a_completed_run_of_the_same_number_under_another_claim_is_not_its_own() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    let seen = hand.look(&desk.task).unwrap();
    let changes = hermes::completed(&seen, None, Some("done"), &hand.trail("complete"));
    hand.must(&desk.task, Some(&seen), changes).unwrap();
    assert!(matches!(hand.beat(&work, 900), Beat::Completed));
    // A server took over that lacks its claim, and gave the number to another attempt.
    let other = Work { lock: format!("{}0", work.lock), ..work };
    assert!(matches!(hand.beat(&other, 900), Beat::Over));
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
    let e = hand.harness(work, Some(Duration::from_secs(6))).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(e.kind, Kind::Partial);
    assert_eq!(
        e.to_string(),
        format!("{}: lost the board for 4s; the command was stopped; heal goes on with it", desk.task)
    );
    assert_eq!(hand.here.host.birth_of(pid), None);
    // Nothing was written of it.
    desk.line.cut.set(0);
    let seen = hand.look(&desk.task).unwrap();
    assert_eq!(
        (seen.task.status.clone(), seen.task.claim_lock.as_deref()),
        (Status::Running, Some(lock.as_str()))
    );
    let environment = desk.read("environment");
    let value = |which: &str| environment.lines().find_map(|l| l.strip_prefix(&name(which)));
    assert_eq!(value("TASK"), Some(desk.task.as_str()));
    assert_eq!(value("RUN"), Some("1"));
    assert_eq!(value("CLAIM"), Some(format!("{} {lock}", desk.task).as_str()));
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
    let code = hand.harness(work, None).unwrap();
    assert_eq!((code, desk.line.cut.get()), (0, 0));
    assert_eq!(hand.look(&desk.task).unwrap().task.status, Status::Done);
}

#[test]
fn the_end_of_a_command_waits_for_room_on_a_full_disk() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    desk.line.full.set(1);
    let code = hand.harness(work, None).unwrap();
    assert_eq!((code, desk.line.full.get()), (0, 0));
    assert_eq!(hand.look(&desk.task).unwrap().task.status, Status::Done);
}

/// Works on a file while `trouble` happens to it from the moment the command runs, and gives how the task stands after that.
#[track_caller]
fn ended_beside(command: &str, trouble: impl FnOnce(&Path) + Send) -> Detail {
    let mut desk = Desk::new();
    desk.config.board.busy_timeout = Duration::from_millis(100);
    let (mut hand, root) = (desk.hand(), desk.folder.path());
    // Another file than that of the server. Readers are kept out of one without a write-ahead log alone.
    let db = root.join("other.db");
    let id = BoardId { at: db.clone().into(), slug: None, root: Some(root.to_owned()) };
    board::create(&id.at, Duration::from_secs(1)).unwrap();
    rusqlite::Connection::open(&db).unwrap().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    hand.board = board::open(&id, Mode::Change, Duration::from_millis(100)).unwrap();
    let work = desk.work(&mut hand, &format!("touch begun; sleep 1; {command}"));
    let begun = root.join("begun");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.exists() {
                std::thread::sleep(Duration::from_millis(10));
            }
            trouble(&db);
        });
        // How the command ended is its exit code; a refusal says what became of its task.
        match hand.harness(work, None) {
            Ok(code) => assert_eq!(code, 0),
            Err(e) => assert_eq!(e.kind, Kind::Partial, "{e}"),
        }
    });
    hand.look(&desk.task).unwrap()
}

/// Another process has the whole file to itself for 2 s, for example to VACUUM it.
fn exclusive(db: &Path) {
    let other = rusqlite::Connection::open(db).unwrap();
    other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN EXCLUSIVE").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    other.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn the_end_of_a_command_waits_for_a_file_that_another_process_has_to_itself() {
    assert_eq!(ended_beside("true", exclusive).task.status, Status::Done);
    let seen = ended_beside("exit 3", exclusive);
    assert_eq!((seen.task.status.clone(), seen.task.failures), (Status::Ready, 1));
    // A refusal by its provider is for `heal`, which reads how the command itself ended.
    let seen = ended_beside("echo 'Error: HTTP 429: Rate limit reached'; exit 3", exclusive);
    let end = seen.events.iter().find(|e| e.kind == EventKind::CommandEnded);
    assert_eq!((seen.task.status.clone(), end.is_some()), (Status::Running, true), "{:?}", seen.events);
}

#[test]
fn the_end_of_a_command_waits_for_a_file_that_was_moved_away_or_replaced() {
    let aside = |db: &Path| {
        let aside = db.with_extension("aside");
        fs::rename(db, &aside).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        fs::rename(&aside, db).unwrap();
    };
    assert_eq!(ended_beside("true", aside).task.status, Status::Done);
    let copied = |db: &Path| {
        let copy = db.with_extension("copy");
        fs::copy(db, &copy).unwrap();
        fs::remove_file(db).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        fs::rename(&copy, db).unwrap();
    };
    let seen = ended_beside("true", copied);
    assert_eq!(seen.task.status, Status::Done, "it is done on the board that is there now");
}

#[test]
fn an_end_that_cannot_be_written_waits_a_while_and_no_longer_than_a_supervisor() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    let work = desk.work(&mut hand, "true");
    let busy = Error::new(Kind::Busy, "kanban.db", "is busy");
    let since = |seconds| Unwritten {
        began: Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap(),
        is_said: true,
    };
    for (seconds, is_told, waits) in
        [(0, false, true), (590, false, true), (600, false, false), (8, true, true), (9, true, false)]
    {
        work.told.store(is_told, Ordering::Relaxed);
        assert_eq!(since(seconds).waits(&work, &busy), waits, "{seconds} {is_told}");
    }
    let mut fresh = Unwritten::now();
    assert!(fresh.waits(&work, &busy) && !fresh.is_said, "a moment is nothing to speak of");
    let mut later = Unwritten { is_said: false, ..since(3) };
    assert!(later.waits(&work, &busy) && later.is_said);
    drop(work.gate.end());
}

/// util-linux and busybox alike fork where they lead a process group, and end with 0 at once.
#[test]
fn setsid_does_not_leave_its_command_in_the_background() {
    for (line, code) in [
        (&["setsid", "sh", "-c", "exit 3"][..], 3),
        (&["nice", "setsid", "nosuchagent"], 127),
        (&["sh", "-c", "exec setsid nohup sh -c 'sleep 0.5; exit 3'"], 3),
        (&["setsid", "-w", "sh", "-c", "exit 3"], 3),
        // By its number it ends what it started.
        (&["sh", "-c", "kill -0 -$$ && exit 3"], 3),
    ] {
        let words: Vec<OsString> = line.iter().map(OsString::from).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stderr(Stdio::null());
        assert_eq!(grouped(command, &words).unwrap().wait().unwrap().code(), Some(code), "{line:?}");
    }
}

#[test]
fn setsid_that_forks_always_is_refused() {
    let is_refused = |line: &str| {
        is_waited_for(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).err().map(|e| e.kind)
    };
    for line in
        ["setsid -f agent", "nice /usr/bin/setsid -wf agent", "setsid -w --fork agent", "setsid --fo agent"]
    {
        assert_eq!(is_refused(line), Some(Kind::Usage), "{line}");
    }
    for line in ["setsid agent -f", "setsid -w -- agent -f", "setsid --ctty agent", "agent -f setsid"] {
        assert_eq!(is_refused(line), None, "{line}");
    }
}
