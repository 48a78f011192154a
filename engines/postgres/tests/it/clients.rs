//! Clients that claim, renew, end and requeue tasks, while something happens to their server; and what they were told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::error::Kind;
use board::{Answer, Begin, Board, Detail, Mode, Outcome, Status, hermes};
use postgres::Client;
use testkit::histories::{Act, Call, State, Told};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::races::{NOW, step, trail};
use crate::server::PATIENCE;

/// As many as the design asks for.
pub const CLIENTS: usize = 16;

/// How often the server is killed: `WATCHBILL_KILLS`, or 3 times.
pub fn kills() -> usize {
    std::env::var("WATCHBILL_KILLS").map_or(3, |n| n.parse().expect("WATCHBILL_KILLS is a number"))
}

/// Ready tasks for one profile.
pub fn fill(hand: &mut Client, tasks: usize) {
    let sql = "INSERT INTO tasks (id, title, status, assignee, created_at) \
               SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Task', 'ready', 'luna', 1800000000 + n FROM generate_series(1, $1::bigint) n";
    hand.execute(sql, &[&i64::try_from(tasks).unwrap()]).unwrap();
}

/// How they work.
#[derive(Clone, Copy)]
pub struct Way {
    /// How often each renews a claim before it ends the task.
    pub beats: usize,
    /// How long it works before each of these.
    pub every: Duration,
}

/// What they are told, of all of them.
pub struct Heard<'a> {
    began: Instant,
    over: AtomicBool,
    /// Answers.
    acknowledged: AtomicUsize,
    url: &'a str,
    way: Way,
}

impl Heard<'_> {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }

    /// Waits until so many more answers came.
    pub fn wait(&self, more: usize) {
        let (before, until) = (self.acknowledged.load(Ordering::Relaxed), Instant::now() + 3 * PATIENCE);
        while self.acknowledged.load(Ordering::Relaxed) < before + more {
            assert!(Instant::now() < until, "nobody is answered any more");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets [`CLIENTS`] work while something else happens.
pub fn at_work(url: &str, way: Way, meanwhile: impl FnOnce(&Heard<'_>)) -> Vec<Call> {
    let (over, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let heard = Heard { began: Instant::now(), over, acknowledged, url, way };
    std::thread::scope(|scope| {
        let heard = &heard;
        let all: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || One::new(heard, n).works())).collect();
        // Or they would work on for ever behind a check that fails.
        let over = Over(&heard.over);
        meanwhile(heard);
        drop(over);
        all.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// How each task stands in the end, as one more call on each.
pub fn last_looks(board: &mut PostgresBoard, calls: &[Call]) -> Vec<Call> {
    let last = calls.iter().map(|call| call.ended).max().unwrap_or_default();
    let ids: BTreeMap<String, ()> = calls.iter().map(|call| (call.task.clone(), ())).collect();
    let ids: Vec<String> = ids.into_keys().collect();
    let looks = ids.chunks(500).flat_map(|ids| board.titled(ids).unwrap());
    let of = |task: board::Task| Call {
        told: Told::State(state(&task)),
        task: task.id,
        lock: "the end".into(),
        act: Act::Look,
        begun: last + 1,
        ended: last + 2,
    };
    looks.map(of).collect()
}

/// What a sound board holds after all this, besides what was told of it: none of these finds a row.
pub const UNSOUND: [(&str, &str); 5] = [
    (
        "an open run on a task that does not run",
        "SELECT r.task_id FROM task_runs r JOIN tasks t ON t.id = r.task_id WHERE r.ended_at IS NULL AND t.status <> 'running'",
    ),
    (
        "a running task whose run is not open, or of another claim",
        "SELECT t.id FROM tasks t LEFT JOIN task_runs r ON r.id = t.current_run_id AND r.ended_at IS NULL \
         AND r.claim_lock = t.claim_lock WHERE t.status = 'running' AND r.id IS NULL",
    ),
    (
        "more or fewer claims than runs",
        "SELECT t.id FROM tasks t WHERE (SELECT count(*) FROM task_runs r WHERE r.task_id = t.id) \
         <> (SELECT count(*) FROM task_events e WHERE e.task_id = t.id AND e.kind = 'claimed')",
    ),
    (
        "an end that is written twice",
        "SELECT task_id FROM task_events WHERE kind = 'completed' GROUP BY task_id HAVING count(*) > 1",
    ),
    (
        "an event of a run before its claim",
        "SELECT e.task_id FROM task_events e JOIN task_events c ON c.task_id = e.task_id AND c.run_id = e.run_id \
         AND c.kind = 'claimed' WHERE e.id < c.id",
    ),
];

pub fn is_sound(hand: &mut Client) {
    for (what, sql) in UNSOUND {
        let rows = hand.query(sql, &[]).unwrap();
        assert_eq!(rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), [""; 0], "{what}");
    }
}

fn state(task: &board::Task) -> State {
    match &task.status {
        Status::Ready => State::Ready,
        Status::Done => State::Done,
        _ => State::Running(task.claim_lock.clone().unwrap_or_default()),
    }
}

/// How a word about a task was taken.
#[derive(PartialEq, Eq)]
enum Word {
    Taken,
    /// The task is another's, or nobody's.
    Lost,
    Unsure,
}

struct One<'h> {
    heard: &'h Heard<'h>,
    board: PostgresBoard,
    nth: usize,
    calls: Vec<Call>,
}

impl<'h> One<'h> {
    fn new(heard: &'h Heard<'h>, nth: usize) -> One<'h> {
        let board = PostgresBoard::open(heard.url, Mode::Change, PATIENCE, &Secrets::default()).unwrap();
        One { heard, board, nth, calls: Vec::new() }
    }

    fn notes(&mut self, task: &str, lock: &str, act: Act, told: Told, begun: u64) {
        if told != Told::Nothing {
            self.heard.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        let (task, lock) = (task.to_owned(), lock.to_owned());
        self.calls.push(Call { task, lock, act, told, begun, ended: self.heard.now() });
    }

    /// Takes one task after the other until all is over.
    fn works(mut self) -> Vec<Call> {
        for turn in 0.. {
            if self.heard.over.load(Ordering::Relaxed) {
                break;
            }
            let lock = format!("h{}:{turn}:x", self.nth);
            let Some(task) = self.takes(&lock) else { continue };
            let word = (0..self.heard.way.beats)
                .map(|_| self.says(&task, &lock, Act::Beat))
                .find(|word| *word == Word::Lost);
            if word.is_none() {
                let end = if turn % 4 == 0 { Act::Requeue } else { Act::Complete };
                self.says(&task, &lock, end);
            }
        }
        self.calls
    }

    fn takes(&mut self, lock: &str) -> Option<String> {
        let (mut offered, begun) = (Vec::new(), self.heard.now());
        let taken = self.board.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
            offered.push(seen.task.id.clone());
            let claim = hermes::claimed(seen, lock, NOW.plus(900), Some(7), None, &trail());
            Answer::Take(step(&seen.task.id, Some(seen), claim).into())
        });
        match taken {
            Ok(Some((seen, Outcome::Applied { .. }))) => {
                self.notes(&seen.task.id, lock, Act::Claim, Told::Applied, begun);
                Some(seen.task.id.clone())
            }
            Ok(Some(_)) => None,
            Ok(None) => {
                // All are held at this moment.
                std::thread::sleep(Duration::from_millis(20));
                None
            }
            Err(e) => {
                assert_eq!(e.kind, Kind::Busy, "{e}");
                // One of these, or none.
                for task in offered {
                    self.notes(&task, lock, Act::Claim, Told::Nothing, begun);
                }
                None
            }
        }
    }

    /// As a harness does: it looks, and says its word only while the task is its own.
    fn says(&mut self, task: &str, lock: &str, act: Act) -> Word {
        std::thread::sleep(self.heard.way.every);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let begun = self.heard.now();
            let Ok(mut seen) = self.board.look(&[task.to_owned()]) else { continue };
            let seen: Detail = seen.remove(0);
            self.notes(task, lock, Act::Look, Told::State(state(&seen.task)), begun);
            if seen.task.claim_lock.as_deref() != Some(lock) {
                return Word::Lost;
            }
            let changes = match act {
                Act::Beat => hermes::heartbeat(&seen, NOW.plus(900), None),
                Act::Requeue => hermes::reclaimed(&seen, &trail()),
                _ => hermes::completed(&seen, None, None, &trail()),
            };
            let begun = self.heard.now();
            match self.board.apply(NOW, &[step(task, Some(&seen), changes)], PATIENCE) {
                Ok(told) if told[0].word() == "applied" => {
                    self.notes(task, lock, act, Told::Applied, begun);
                    return Word::Taken;
                }
                // It moved between look and write, or the server changed over: it is looked at again.
                Ok(told) => assert_eq!(told[0].word(), "moved", "{told:?}"),
                Err(e) => {
                    assert_eq!(e.kind, Kind::Busy, "{e}");
                    self.notes(task, lock, act, Told::Nothing, begun);
                    return Word::Unsure;
                }
            }
        }
        Word::Unsure
    }
}
