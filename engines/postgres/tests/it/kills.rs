//! `kill -9` of the server under clients that write: what was acknowledged is there, and nothing is there twice.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base::error::Kind;
use board::{Answer, Begin, Board, Change, Mode, Outcome, Status, hermes};
use serde_json::json;
use testkit::histories::{Act, State, Told, check};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::clients::{CLIENTS, Way, at_work, fill, is_sound, kills, last_looks};
use crate::races::{NOW, add, step, trail};
use crate::server::{PATIENCE, Place, Server, durable, shared};

#[test]
fn what_was_acknowledged_survives_the_server_and_is_there_once() {
    let Some(mut server) = durable() else { return };
    let (name, url) = {
        let place = server.board();
        let mut board = place.open();
        for client in 0..CLIENTS {
            add(&mut board, &format!("t_{client:08x}"), Status::Ready, &[]);
        }
        (place.name.clone(), place.url.clone())
    };
    let (over, acknowledged, busy) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    // Each client counts: what it was told is written, and what it was not told about.
    let told: Vec<(Vec<usize>, Vec<usize>)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (over, acknowledged, busy, url) = (&over, &acknowledged, &busy, &url);
                scope.spawn(move || {
                    let none = Secrets::default();
                    let patience = Duration::from_secs(20);
                    let mut board = PostgresBoard::open(url, Mode::Change, patience, &none).unwrap();
                    let id = format!("t_{client:08x}");
                    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
                    for n in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let said =
                            Change::AddEvent { kind: "edited".into(), payload: json!({"n": n}), run: None };
                        match board.apply(NOW, &[step(&id, None, vec![said])], patience) {
                            Ok(outcomes) => {
                                assert_eq!(outcomes[0].word(), "applied");
                                acknowledged.fetch_add(1, Ordering::Relaxed);
                                sure.push(n);
                            }
                            Err(e) => {
                                assert_eq!(e.kind, Kind::Busy, "{e}");
                                busy.fetch_add(1, Ordering::Relaxed);
                                unsure.push(n);
                            }
                        }
                    }
                    (sure, unsure)
                })
            })
            .collect();
        for _ in 0..kills() {
            let before = acknowledged.load(Ordering::Relaxed);
            while acknowledged.load(Ordering::Relaxed) < before + 200 {
                std::thread::sleep(Duration::from_millis(5));
            }
            server.is_killed();
        }
        let before = acknowledged.load(Ordering::Relaxed);
        while acknowledged.load(Ordering::Relaxed) < before + 50 {
            std::thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
        clients.into_iter().map(|c| c.join().unwrap()).collect()
    });
    let mut hand = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    hand.batch_execute(&format!("SET search_path = {name}")).unwrap();
    for (client, (sure, unsure)) in told.iter().enumerate() {
        let sql = "SELECT (payload::json ->> 'n')::bigint FROM task_events WHERE task_id = $1 AND kind = 'edited' ORDER BY id";
        let rows = hand.query(sql, &[&format!("t_{client:08x}")]).unwrap();
        let there: Vec<usize> = rows.iter().map(|r| usize::try_from(r.get::<_, i64>(0)).unwrap()).collect();
        let sound: Vec<usize> = there.iter().copied().filter(|n| !unsure.contains(n)).collect();
        assert_eq!(sound, *sure, "client {client}: each acknowledged write once, in order, and none besides");
    }
    println!(
        "{} acknowledged writes, {} without an answer, {} kills",
        acknowledged.load(Ordering::Relaxed),
        busy.load(Ordering::Relaxed),
        kills()
    );
}

/// Claims, heartbeats, ends and requeues of tasks that all clients may take: never two owners, and no acknowledged call is lost.
#[test]
fn what_clients_are_told_of_tasks_while_the_server_is_killed_one_board_can_have_told() {
    let Some(mut server) = durable() else { return };
    let (name, url) = {
        let place = server.board();
        fill(&mut place.hand(), 200 + 80 * kills());
        (place.name.clone(), place.url.clone())
    };
    let way = Way { beats: 1, every: Duration::ZERO };
    let mut calls = at_work(&url, way, |heard| {
        for _ in 0..kills() {
            heard.wait(200);
            server.is_killed();
        }
        heard.wait(50);
    });
    let mut board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap();
    let looks = last_looks(&mut board, &calls);
    let count = |told: fn(&Told) -> bool, act: fn(&Act) -> bool| {
        calls.iter().filter(|call| told(&call.told) && act(&call.act)).count()
    };
    let (claims, ends) = (
        count(|told| *told == Told::Applied, |act| *act == Act::Claim),
        count(|told| *told == Told::Applied, |act| *act == Act::Complete),
    );
    let unsure = count(|told| *told == Told::Nothing, |_| true);
    let all = calls.len();
    let done = looks.iter().filter(|look| look.told == Told::State(State::Done)).count();
    let unsure_ends = count(|told| *told == Told::Nothing, |act| *act == Act::Complete);
    assert!((ends..=ends + unsure_ends).contains(&done), "{done} are done, {ends} were acknowledged");
    calls.extend(looks);
    let tasks = check(&calls).unwrap();
    let mut hand = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    hand.batch_execute(&format!("SET search_path = {name}")).unwrap();
    is_sound(&mut hand);
    println!(
        "{CLIENTS} clients, {} kills: {all} calls on {tasks} tasks, {claims} claims and {ends} ends acknowledged, {unsure} calls without an answer",
        kills()
    );
}

/// Stands between client and server. The answer to the first commit of a write, and the connection, are lost.
pub fn forgetful(server: &Path, folder: &Path) -> UnixListener {
    let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    let (accepting, server) = (listener.try_clone().unwrap(), server.join(".s.PGSQL.5432"));
    let lost = Arc::new(AtomicBool::new(false));
    std::thread::spawn(move || {
        for client in accepting.incoming() {
            let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&server).unwrap());
            let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let drops = Arc::new(AtomicBool::new(false));
            let (lost, dropping) = (lost.clone(), drops.clone());
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(n @ 1..) = answers.read(&mut bytes) {
                    if dropping.load(Ordering::SeqCst) {
                        // Committed, and nobody hears of it.
                        break;
                    }
                    to_client.write_all(&bytes[..n]).unwrap();
                }
                _ = to_client.shutdown(Shutdown::Both);
            });
            std::thread::spawn(move || {
                let (mut bytes, mut writes) = ([0; 65_536], false);
                let holds =
                    |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|w| w == word.as_bytes());
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    writes |=
                        ["INSERT INTO writes", "LOCK TABLE"].iter().any(|sent| holds(&bytes[..n], sent));
                    if writes && holds(&bytes[..n], "COMMIT") && !lost.swap(true, Ordering::SeqCst) {
                        drops.store(true, Ordering::SeqCst);
                    }
                    if server.write_all(&bytes[..n]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    listener
}

/// A board with two ready tasks, behind such a listener in this folder.
fn behind_forgetful(server: &Server, place: &Place<'_>, folder: &Path) -> (PostgresBoard, UnixListener) {
    for n in 0..2 {
        add(&mut place.open(), &format!("t_{n:08x}"), Status::Ready, &[]);
    }
    let listener = forgetful(&server.folder, folder);
    let encoded = |path: &Path| path.display().to_string().replace('/', "%2F");
    let url = place.url.replace(&encoded(&server.folder), &encoded(folder));
    let board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap();
    (board, listener)
}

#[test]
fn a_write_whose_answer_was_lost_is_done_once_and_answered() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let folder = tempfile::tempdir().unwrap();
    let (mut board, _listener) = behind_forgetful(server, &place, folder.path());
    let said = |n: i64| Change::AddEvent { kind: "edited".into(), payload: json!({"n": n}), run: None };
    let run = Change::PastRun { outcome: "blocked".into(), summary: None, metadata: None };
    let d = board.look(&["t_00000000".to_owned()]).unwrap().remove(0);
    let mut steps =
        [step("t_00000000", Some(&d), vec![run, said(1)]), step("t_00000001", Some(&d), vec![said(2)])];
    steps[1].expect.as_mut().unwrap().mark = "m99".into();
    let outcomes = board.apply(NOW, &steps, PATIENCE).unwrap();
    let d = board.look(&["t_00000000".to_owned()]).unwrap().remove(0);
    // The id of its run, and what the second one was told, come from the row that the commit left.
    assert_eq!(outcomes[0], Outcome::Applied { run: Some(d.runs[0].id) });
    assert_eq!(outcomes[1].word(), "moved");
    let count = |sql: &str| place.hand().query_one(sql, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(count("SELECT count(*) FROM task_events WHERE kind = 'edited'"), 1);
    assert_eq!(count("SELECT count(*) FROM task_runs"), 1);
    assert_eq!(count("SELECT count(*) FROM writes"), 3, "two tasks were made, and this");
}

#[test]
fn a_claim_whose_answer_was_lost_is_that_of_the_task_it_took() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let folder = tempfile::tempdir().unwrap();
    let (mut board, _listener) = behind_forgetful(server, &place, folder.path());
    let mut offers = Vec::new();
    let taken = board.take_next(NOW, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
        offers.push(seen.task.id.clone());
        let claim = hermes::claimed(seen, "h1:7", NOW.plus(900), Some(7), None, &trail());
        Answer::Take(step(&seen.task.id, Some(seen), claim).into())
    });
    let (seen, outcome) = taken.unwrap().unwrap();
    assert_eq!((seen.task.id.as_str(), offers), ("t_00000000", vec!["t_00000000".to_owned()]));
    let d = board.look(&["t_00000000".to_owned()]).unwrap().remove(0);
    assert_eq!(outcome, Outcome::Applied { run: Some(d.runs[0].id) });
    let count = |sql: &str| place.hand().query_one(sql, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(count("SELECT count(*) FROM task_events WHERE kind = 'claimed'"), 1);
    assert_eq!(count("SELECT count(*) FROM task_runs"), 1);
}
