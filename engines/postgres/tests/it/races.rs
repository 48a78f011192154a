//! Two hosts over the same rows. Each guard here was seen to be needed: without it the test fails.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use base::error::{Kind, Result};
use base::time::Time;
use board::hermes::{self, Trail};
use board::{Answer, Begin, Board, Change, Detail, EventKind, Expect, Kin, NewTask, Outcome, Status, Step};
use serde_json::{Map, json};
use watchbill_postgres::PostgresBoard;

use crate::server::{PATIENCE, shared};

pub const NOW: Time = Time(1_800_000_000);

pub fn trail() -> Trail<'static> {
    Trail {
        by: "heal",
        pass: "20270115T080000Z-heal-0000",
        clock_given: false,
        case: "test".into(),
        cause: None,
        because: "the test says so",
        more: Map::new(),
    }
}

pub fn step(id: &str, seen: Option<&Detail>, changes: Vec<Change>) -> Step {
    Step {
        because: "the test says so".into(),
        expect: seen.map(Expect::of),
        ..Step::unguarded(id, "test".into(), "test".into(), changes)
    }
}

pub fn add(board: &mut PostgresBoard, id: &str, status: Status, parents: &[&str]) {
    let task = NewTask { title: format!("Task {id}"), assignee: Some("luna".into()), ..NewTask::default() };
    let parents: Vec<String> = parents.iter().map(|p| (*p).to_owned()).collect();
    let new = step(id, None, hermes::created(status, task, &parents, &trail()));
    assert_eq!(board.apply(NOW, &[new], PATIENCE).unwrap(), [Outcome::Applied { run: None }]);
}

pub fn look(board: &mut PostgresBoard, id: &str) -> Detail {
    board.look(&[id.to_owned()]).unwrap().remove(0)
}

fn one(board: &mut PostgresBoard, step: Step) -> Outcome {
    board.apply(NOW, &[step], PATIENCE).unwrap().remove(0)
}

fn claim(board: &mut PostgresBoard, id: &str, lock: &str) -> Outcome {
    let seen = look(board, id);
    one(board, step(id, Some(&seen), hermes::claimed(&seen, lock, NOW.plus(900), Some(7), None, &trail())))
}

#[test]
fn a_word_that_was_written_before_the_look_and_committed_after_it_is_seen() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    _ = claim(&mut board, "t_000000a1", "h1:7");
    let say = "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_000000a1', 'commented', 1)";
    let (mut slow, mut quick) = (place.hand(), place.hand());
    slow.batch_execute(&format!("BEGIN; {say}")).unwrap();
    // A second word with a higher number. It waits for the first one; else it would be seen, and hide the first one.
    let seen = std::thread::scope(|scope| {
        let second = scope.spawn(|| quick.batch_execute(say).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        let seen = look(&mut board, "t_000000a1");
        slow.batch_execute("COMMIT").unwrap();
        second.join().unwrap();
        seen
    });
    let outcome = one(&mut board, step("t_000000a1", Some(&seen), hermes::reclaimed(&seen, &trail())));
    assert_eq!(outcome, Outcome::Moved { what: "history".into() });
}

#[test]
fn two_events_at_once_are_two_in_the_mark() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let before = look(&mut board, "t_000000a1").mark.clone();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut hand = place.hand();
                for _ in 0..25 {
                    let sql = "INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_000000a1', 'edited', 1)";
                    hand.batch_execute(sql).unwrap();
                }
            });
        }
    });
    let count = |mark: &str| mark.split_once('.').unwrap().1.parse::<i64>().unwrap();
    assert_eq!(count(&look(&mut board, "t_000000a1").mark), count(&before) + 100);
}

#[test]
fn a_session_event_is_told_however_late_it_was_committed() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    // On a task each: two events of one task wait for each other anyway.
    for n in 0..8 {
        add(&mut board, &format!("t_{n:08x}"), Status::Ready, &[]);
    }
    let say = |n: i64| {
        format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) \
             VALUES ('t_{n:08x}', 'coord.messaged', '{{\"n\":{n}}}', {})",
            NOW.0
        )
    };
    let (mut first, mut second) = (place.hand(), place.hand());
    // Each order of number and transaction: number 1 in a later transaction than number 2, and the other way round.
    first.batch_execute("BEGIN; SELECT pg_current_xact_id()").unwrap();
    second.batch_execute(&format!("BEGIN; {}", say(1))).unwrap();
    first.batch_execute(&say(2)).unwrap();
    let (mut cursor, mut told) = (0, Vec::new());
    let mut read = |board: &mut PostgresBoard, most: u32| {
        let entries = board.coordinated(cursor, most).unwrap();
        assert!(entries.iter().map(|e| e.id).is_sorted() && entries.iter().all(|e| e.id > cursor));
        cursor = entries.last().map_or(cursor, |e| e.id);
        told.extend(entries.iter().map(|e| e.event.payload["n"].as_i64().unwrap()));
        told.len()
    };
    read(&mut board, 9);
    first.batch_execute("COMMIT").unwrap();
    read(&mut board, 9);
    second.batch_execute("COMMIT").unwrap();
    read(&mut board, 9);
    // And the other way round: the later transaction ends first, with the higher number.
    first.batch_execute(&format!("BEGIN; {}", say(3))).unwrap();
    second.batch_execute(&say(4)).unwrap();
    read(&mut board, 9);
    first.batch_execute("COMMIT").unwrap();
    // Three of one transaction, read one by one.
    second.batch_execute(&format!("BEGIN; {}; {}; {}; COMMIT", say(5), say(6), say(7))).unwrap();
    // Another test of this server may hold the oldest open transaction for a moment.
    let until = Instant::now() + PATIENCE;
    while read(&mut board, 1) < 7 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut sorted = told.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [1, 2, 3, 4, 5, 6, 7], "told as {told:?}");
}

/// The events of a window lie in many parts of the table, with old ones among them: none is left out before a whole part is too old.
#[test]
fn the_newest_events_are_all_that_lie_before_a_part_that_is_too_old() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let mut hand = place.hand();
    hand.batch_execute("DELETE FROM task_events").unwrap();
    let mut say = |many: i64, ago: i64, kind: &str| {
        let sql = "INSERT INTO task_events (task_id, kind, payload, created_at) \
                   SELECT 't_000000a1', $1, '{}', $2 FROM generate_series(1, $3::bigint)";
        hand.execute(sql, &[&kind, &NOW.plus(-ago).0, &many]).unwrap();
    };
    say(300, 50, "edited");
    say(2_500, 500, "edited");
    say(1_700, 50, "edited");
    // A host whose clock was behind wrote these.
    say(900, 500, "edited");
    say(40, 50, "assigned");
    say(1_200, 50, "edited");
    let mut count = |since: i64, most: u32| board.events(NOW.plus(-since), most).unwrap().len();
    assert_eq!(count(100, 20_000), 1_700 + 40 + 1_200);
    assert_eq!(count(100, 2_400), 1_200 + 40 + 260);
    assert_eq!(count(100, 700), 700);
    assert_eq!(count(49, 20_000), 0);
    assert_eq!(count(900, 20_000), 300 + 2_500 + 1_700 + 900 + 40 + 1_200);
    assert_eq!(board.turns(NOW.plus(-100), 20_000).unwrap().len(), 40);
    hand.batch_execute("DELETE FROM task_events").unwrap();
    assert_eq!(board.events(NOW.plus(-100), 20_000).unwrap(), []);
}

#[test]
fn a_child_is_freed_by_the_last_of_two_parents_that_end_at_once() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let rounds = 150;
    let mut board = place.open();
    for n in 0..rounds {
        let id = |letter: &str| format!("t_{letter}{n:07x}");
        for letter in ["a", "b", "d"] {
            add(&mut board, &id(letter), Status::Ready, &[]);
        }
        add(&mut board, &id("c"), Status::Todo, &[&id("a"), &id("b")]);
    }
    let start = Barrier::new(3);
    std::thread::scope(|scope| {
        for parent in ["a", "b"] {
            let (start, place) = (&start, &place);
            scope.spawn(move || {
                let mut board = place.open();
                for n in 0..rounds {
                    let id = format!("t_{parent}{n:07x}");
                    let seen = look(&mut board, &id);
                    let ends = step(&id, Some(&seen), hermes::completed(&seen, None, None, &trail()));
                    start.wait();
                    assert_eq!(one(&mut board, ends).word(), "applied");
                }
            });
        }
        let (start, place) = (&start, &place);
        scope.spawn(move || {
            let mut board = place.open();
            for n in 0..rounds {
                let (child, third) = (format!("t_c{n:07x}"), format!("t_d{n:07x}"));
                let (seen, kin) =
                    (look(&mut board, &child), Kin::from(look(&mut board, &third).task.clone()));
                let linked = step(&child, Some(&seen), hermes::linked(&seen, &kin, &trail()));
                start.wait();
                // In every third round a third parent comes in meanwhile.
                if n % 3 == 0 {
                    _ = one(&mut board, linked);
                }
            }
        });
    });
    let (mut freed, mut waits) = (0, 0);
    for n in 0..rounds {
        let child = look(&mut board, &format!("t_c{n:07x}"));
        let open = child.parents.iter().any(|p| !p.status.frees_children());
        // A child that was free already when it got another parent waits for it again.
        assert_eq!(child.task.status == Status::Todo, open, "round {n}: {:?}", child.parents);
        if open { waits += 1 } else { freed += 1 }
    }
    println!("freed {freed}, waiting for a third parent {waits}");
    assert!(freed >= rounds * 2 / 3);
}

/// `b` waits for `a`, and `d` for `c`. If `a` waits for `d` and `c` for `b`, it is a circle; the two links touch no common task.
#[test]
fn two_links_at_once_close_no_circle() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut board, rounds) = (place.open(), 150_usize);
    let id = |letter: &str, n: usize| format!("t_{letter}{n:07x}");
    for n in 0..rounds {
        for (first, second) in [("a", "b"), ("c", "d")] {
            add(&mut board, &id(first, n), Status::Ready, &[]);
            add(&mut board, &id(second, n), Status::Todo, &[&id(first, n)]);
        }
    }
    let start = Barrier::new(2);
    let refused: usize = std::thread::scope(|scope| {
        let link = |child: &'static str, parent: &'static str| {
            let (start, place) = (&start, &place);
            scope.spawn(move || {
                let (mut board, mut refused) = (place.open(), 0);
                for n in 0..rounds {
                    let seen = look(&mut board, &id(child, n));
                    let linked =
                        step(&id(child, n), Some(&seen), vec![Change::Link { parent: id(parent, n) }]);
                    start.wait();
                    refused += usize::from(one(&mut board, linked).word() == "refused");
                }
                refused
            })
        };
        let both = [link("a", "d"), link("c", "b")];
        both.map(|t| t.join().unwrap()).iter().sum()
    });
    let links: i64 = place.hand().query_one("SELECT count(*) FROM task_links", &[]).unwrap().get(0);
    assert_eq!((usize::try_from(links).unwrap(), refused), (3 * rounds, rounds));
}

type Happens = fn(&mut PostgresBoard, &str);

fn ends(board: &mut PostgresBoard, id: &str) {
    let d = look(board, id);
    let done = step(id, Some(&d), hermes::completed(&d, None, None, &trail()));
    assert_eq!(one(board, done).word(), "applied");
}

fn is_given_to_another(board: &mut PostgresBoard, id: &str) {
    let d = look(board, id);
    let back = step(id, Some(&d), hermes::reclaimed(&d, &trail()));
    assert_eq!(one(board, back).word(), "applied");
    assert_eq!(claim(board, id, "h2:8").word(), "applied");
}

fn beats(board: &mut PostgresBoard, id: &str) {
    let d = look(board, id);
    let beat = step(id, Some(&d), hermes::heartbeat(&d, NOW.plus(1_000), None));
    assert_eq!(one(board, beat).word(), "applied");
}

fn is_spoken_to(board: &mut PostgresBoard, id: &str) {
    assert_eq!(one(board, step(id, None, hermes::commented("rosa", "watchbill: no-heal"))).word(), "applied");
}

#[test]
fn what_happened_between_look_and_write_is_never_overwritten() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut worker, mut heal) = (place.open(), place.open());
    let id = |n: usize| format!("t_{n:08x}");
    let happens: [(Happens, &str); 4] = [
        (ends, "status"),
        (is_given_to_another, "claim"),
        (beats, "claim expiry"),
        (is_spoken_to, "history"),
    ];
    for (n, (happens, word)) in happens.iter().enumerate() {
        add(&mut worker, &id(n), Status::Ready, &[]);
        _ = claim(&mut worker, &id(n), "h1:7");
        let seen = look(&mut heal, &id(n));
        happens(&mut worker, &id(n));
        let there = look(&mut worker, &id(n));
        let outcome = one(&mut heal, step(&id(n), Some(&seen), hermes::crashed(&seen, Some(7), 2, &trail())));
        assert_eq!(outcome, Outcome::Moved { what: (*word).into() });
        assert_eq!(look(&mut heal, &id(n)), there);
    }
}

#[test]
fn of_many_that_take_a_task_one_has_it() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut board, rounds, hosts) = (place.open(), 40_usize, 6);
    for n in 0..rounds {
        add(&mut board, &format!("t_{n:08x}"), Status::Ready, &[]);
    }
    let start = Barrier::new(hosts);
    let won: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..hosts)
            .map(|host| {
                let (start, place) = (&start, &place);
                scope.spawn(move || {
                    let (mut board, mut won) = (place.open(), 0);
                    for n in 0..rounds {
                        let (id, lock) = (format!("t_{n:08x}"), format!("h{host}:7"));
                        let seen = look(&mut board, &id);
                        let claim = hermes::claimed(&seen, &lock, NOW.plus(900), Some(7), None, &trail());
                        // All have seen it ready.
                        start.wait();
                        won +=
                            usize::from(one(&mut board, step(&id, Some(&seen), claim)).word() == "applied");
                        start.wait();
                    }
                    won
                })
            })
            .collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(won, rounds);
    for n in 0..rounds {
        let d = look(&mut board, &format!("t_{n:08x}"));
        let claims = d.events.iter().filter(|e| e.kind == EventKind::Claimed).count();
        assert_eq!((d.runs.len(), claims), (1, 1), "task {n}");
    }
}

fn takes(seen: &Detail, lock: &str) -> Answer {
    let claim = hermes::claimed(seen, lock, NOW.plus(900), Some(7), None, &trail());
    Answer::Take(step(&seen.task.id, Some(seen), claim).into())
}

/// The id of the next task, taken.
fn take(board: &mut PostgresBoard, lock: &str) -> Option<String> {
    let taken =
        board.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| takes(seen, lock)).unwrap();
    taken.map(|(seen, outcome)| {
        assert_eq!(outcome.word(), "applied");
        seen.task.id.clone()
    })
}

#[test]
fn of_as_many_workers_as_tasks_each_gets_one() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut board, rounds, workers) = (place.open(), 10_usize, 16_usize);
    let start = Barrier::new(workers);
    let mut all: BTreeSet<String> = BTreeSet::new();
    for round in 0..rounds {
        for n in 0..workers {
            add(&mut board, &format!("t_{:08x}", round * workers + n), Status::Ready, &[]);
        }
        let taken: Vec<Option<String>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..workers)
                .map(|worker| {
                    let (start, place) = (&start, &place);
                    scope.spawn(move || {
                        let mut board = place.open();
                        start.wait();
                        take(&mut board, &format!("h{worker}:7"))
                    })
                })
                .collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(taken.iter().all(Option::is_some), "none goes empty: {taken:?}");
        all.extend(taken.into_iter().flatten());
        assert_eq!(all.len(), (round + 1) * workers, "none twice");
    }
    assert_eq!(take(&mut board, "h1:7"), None);
    let claims = "SELECT count(*) FROM task_events WHERE kind = 'claimed'";
    let claims: i64 = place.hand().query_one(claims, &[]).unwrap().get(0);
    assert_eq!(usize::try_from(claims).unwrap(), rounds * workers);
}

#[test]
fn a_task_that_another_is_just_taking_is_passed_over_and_one_that_was_declined_is_not() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut first, mut second) = (place.open(), place.open());
    let id = |n: usize| format!("t_{n:08x}");
    (0..3).for_each(|n| add(&mut first, &id(n), Status::Ready, &[]));
    let began = Instant::now();
    let taken = first.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
        match seen.task.id.as_str() {
            "t_00000000" => Answer::Next,
            // While this one is held, the declined one is free again, and the one behind both is, too.
            _ => {
                assert_eq!(take(&mut second, "h2:8"), Some(id(0)));
                assert_eq!(take(&mut second, "h2:8"), Some(id(2)));
                assert_eq!(take(&mut second, "h2:8"), None);
                takes(seen, "h1:7")
            }
        }
    });
    assert_eq!(taken.unwrap().map(|(seen, o)| (seen.task.id.clone(), o.word())), Some((id(1), "applied")));
    assert!(began.elapsed() < PATIENCE, "nobody waited");
    for (n, lock) in [(0, "h2:8"), (1, "h1:7"), (2, "h2:8")] {
        assert_eq!(look(&mut first, &id(n)).task.claim_lock.as_deref(), Some(lock));
    }
}

/// Others look at the head of the queue all the time; who got ready for a task gets it although another one was just offered it.
#[test]
fn a_task_that_another_is_only_offered_is_waited_for_by_who_got_ready_for_it() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let (mut first, mut second) = (place.open(), place.open());
    let id = |n: usize| format!("t_{n:08x}");
    (0..3).for_each(|n| add(&mut first, &id(n), Status::Ready, &[]));
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_locks \
                 WHERE relation = to_regclass('tasks')::oid)";
    let mut hand = place.hand();
    // The first one lets the head of the queue be, and takes it the next time.
    for (head, lets_be, got) in [(id(0), true, id(0)), (id(1), false, id(2))] {
        let told =
            |taken: Result<Option<(Detail, Outcome)>>| taken.unwrap().map(|(seen, _)| seen.task.id.clone());
        let (offered, go) = std::sync::mpsc::channel();
        let (one, other) = std::thread::scope(|scope| {
            let (second, head) = (&mut second, head.as_str());
            let other = scope.spawn(move || {
                go.recv().unwrap();
                let begin = Begin::With(head);
                second.take_next(NOW, &[Some("luna")], begin, PATIENCE, &mut |seen| takes(seen, "h2:8"))
            });
            let one = first.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
                assert_eq!(seen.task.id, head);
                offered.send(()).unwrap();
                let until = Instant::now() + PATIENCE;
                while hand.query_one(waits, &[]).unwrap().get::<_, i64>(0) == 0 {
                    assert!(Instant::now() < until, "nobody waits for {head}");
                    std::thread::sleep(Duration::from_millis(5));
                }
                if lets_be { Answer::Stop } else { takes(seen, "h1:7") }
            });
            (told(one), told(other.join().unwrap()))
        });
        assert_eq!((one, other), ((!lets_be).then_some(head), Some(got)));
    }
}

/// Where it stays locked, another one is begun with.
#[test]
fn a_task_that_is_locked_for_long_is_waited_for_as_long_as_patience_lasts() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    let id = |n: usize| format!("t_{n:08x}");
    (0..2).for_each(|n| add(&mut board, &id(n), Status::Ready, &[]));
    let mut other = place.hand();
    other.batch_execute("BEGIN; SELECT FROM tasks WHERE id = 't_00000000' FOR UPDATE").unwrap();
    let (begin, patience) = (Begin::With("t_00000000"), Duration::from_millis(200));
    let taken = board.take_next(NOW, &[Some("luna")], begin, patience, &mut |seen| takes(seen, "h1:7"));
    assert_eq!(taken.unwrap().map(|(seen, o)| (seen.task.id.clone(), o.word())), Some((id(1), "applied")));
    other.batch_execute("ROLLBACK").unwrap();
}

#[test]
fn a_worker_whose_connection_dies_while_it_takes_a_task_takes_one_task_once() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let before = look(&mut board, "t_000000a1");
    let (mut hand, mut offers) = (place.hand(), 0);
    let taken = board.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
        offers += 1;
        assert_eq!(*seen, before, "nothing of the try that died");
        if offers == 1 {
            // The one that holds the lock of the row.
            let kill = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE mode = 'RowShareLock' \
                AND relation = to_regclass('tasks')::oid";
            assert_eq!(hand.query(kill, &[]).unwrap().len(), 1);
        }
        takes(seen, "h1:7")
    });
    assert_eq!((taken.unwrap().unwrap().1.word(), offers), ("applied", 2));
    let d = look(&mut board, "t_000000a1");
    let claims = d.events.iter().filter(|e| e.kind == EventKind::Claimed).count();
    assert_eq!((d.runs.len(), claims, d.task.status.clone()), (1, 1, Status::Running));
}

#[test]
fn parts_that_touch_the_same_rows_in_another_order_all_go_through() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    let ids: Vec<String> = (0..20).map(|n| format!("t_{n:08x}")).collect();
    for id in &ids {
        add(&mut board, id, Status::Ready, &[]);
    }
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";
    let before: i64 = place.hand().query_one(deadlocks, &[]).unwrap().get(0);
    std::thread::scope(|scope| {
        for turn in 0..4 {
            let (ids, place) = (&ids, &place);
            scope.spawn(move || {
                let mut board = place.open();
                let mut ids = ids.clone();
                if turn % 2 == 1 {
                    ids.reverse();
                }
                for _ in 0..15 {
                    let steps: Vec<Step> =
                        ids.iter().map(|id| step(id, None, hermes::commented("rosa", "again"))).collect();
                    let outcomes = board.apply(NOW, &steps, PATIENCE).unwrap();
                    assert!(outcomes.iter().all(|o| o.word() == "applied"));
                }
            });
        }
    });
    std::thread::sleep(Duration::from_millis(1_200));
    let after: i64 = place.hand().query_one(deadlocks, &[]).unwrap().get(0);
    assert_eq!(after, before, "no deadlock, and so none that had to be tried again");
    for id in &ids {
        let said: i64 = place
            .hand()
            .query_one("SELECT count(*) FROM task_comments WHERE task_id = $1", &[id])
            .unwrap()
            .get(0);
        assert_eq!(said, 60);
    }
}

#[test]
fn a_board_that_somebody_holds_is_busy_and_nothing_is_written() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let mut hand = place.hand();
    hand.batch_execute("BEGIN; LOCK TABLE tasks").unwrap();
    let began = Instant::now();
    let patience = Duration::from_millis(700);
    let words = step("t_000000a1", None, hermes::commented("rosa", "hello"));
    let error = board.apply(NOW, std::slice::from_ref(&words), patience).unwrap_err();
    let took = began.elapsed();
    assert_eq!(error.kind, Kind::Busy, "{error}");
    assert!(took >= patience && took < patience * 4, "{took:?}");
    hand.batch_execute("ROLLBACK").unwrap();
    assert_eq!(look(&mut board, "t_000000a1").comments.len(), 0);
    // The same board and the same `PostgresBoard`: the next step goes through.
    assert_eq!(one(&mut board, words).word(), "applied");
    assert_eq!(look(&mut board, "t_000000a1").comments.len(), 1);
}

#[test]
fn a_step_that_the_server_does_not_take_is_refused_alone() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    for id in ["t_000000a1", "t_000000b2"] {
        add(&mut board, id, Status::Ready, &[]);
    }
    _ = claim(&mut board, "t_000000a1", "h1:7");
    // Another program cleared the pointer to a run that is still open: a second run cannot be opened.
    place.hand().batch_execute("UPDATE tasks SET current_run_id = NULL WHERE id = 't_000000a1'").unwrap();
    let seen = look(&mut board, "t_000000a1");
    let again = step(
        "t_000000a1",
        Some(&seen),
        vec![
            Change::AddEvent { kind: "edited".into(), payload: json!({}), run: None },
            Change::StartRun { profile: None },
        ],
    );
    let word = step("t_000000b2", None, hermes::commented("rosa", "hello"));
    let outcomes = board.apply(NOW, &[word.clone(), again, word], PATIENCE).unwrap();
    let Outcome::Refused { why } = &outcomes[1] else { panic!("{outcomes:?}") };
    assert!(why.contains("runs_one_open"), "{why}");
    assert_eq!((outcomes[0].word(), outcomes[2].word()), ("applied", "applied"));
    assert_eq!(look(&mut board, "t_000000a1"), seen);
    assert_eq!(look(&mut board, "t_000000b2").comments.len(), 2);
}

#[test]
fn a_nul_byte_is_written_as_what_stands_for_it() {
    let Some(server) = shared() else { return };
    let mut board = server.board().open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let said = step("t_000000a1", None, hermes::commented("ro\0sa", "a\0b"));
    assert_eq!(one(&mut board, said).word(), "applied");
    let d = look(&mut board, "t_000000a1");
    assert_eq!((d.comments[0].author.as_str(), d.comments[0].body.as_str()), ("ro\u{fffd}sa", "a\u{fffd}b"));
    assert!(board.look(&["t\0".to_owned()]).unwrap().is_empty());
    assert_eq!(board.with_key("\0").unwrap(), None);
}
