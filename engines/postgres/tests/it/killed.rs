//! The client killed at each statement that it sends, for each thing that it writes: the board is as before or as after it, and never between.
//! And the same where its connection alone is lost: it tries again, and is told what is so.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base::cause::Cause;
use base::error::{Kind, Result};
use board::copy;
use board::pause::Pause;
use board::prune::prune;
use board::{
    Answer, Attendance, Begin, Board, BoardId, Change, Detail, Duty, Location, Mode, NewTask, Outcome,
    Status, Step, hermes,
};
use postgres::Client;
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::clients::is_sound;
use crate::full::dead_workers;
use crate::programs::{Machine, owner_after};
use crate::races::{NOW, add, look, step, trail};
use crate::server::{PATIENCE, Place, Server, started, wait_for};
use crate::upgrading;

/// Stands between clients and their server, and ends a connection behind a statement: the server gets it, and its answer is lost.
struct Cutter {
    folder: tempfile::TempDir,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How many statements were sent.
    sent: AtomicUsize,
    /// After which one the connection is cut; 0: after none.
    cut_at: AtomicUsize,
    /// Whether nobody may connect any more after that.
    is_last: AtomicBool,
    /// Whether it was cut.
    is_cut: AtomicBool,
}

impl Cutter {
    fn before(server: &Server) -> Cutter {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let state = Arc::new(State::default());
        let (its, server) = (state.clone(), server.folder.join(".s.PGSQL.5432"));
        // Ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let is_over = its.is_cut.load(Ordering::SeqCst) && its.is_last.load(Ordering::SeqCst);
                if !is_over && let Ok(server) = UnixStream::connect(&server) {
                    carry(client, server, its.clone());
                }
            }
        });
        Cutter { folder, state }
    }

    /// Cuts once after the `nth` statement from here on; `is_last`: and lets nobody in after that.
    fn cuts(&self, nth: usize, is_last: bool) {
        self.state.is_cut.store(false, Ordering::SeqCst);
        self.state.is_last.store(is_last, Ordering::SeqCst);
        self.state.sent.store(0, Ordering::SeqCst);
        self.state.cut_at.store(nth, Ordering::SeqCst);
    }

    fn has_cut(&self) -> bool {
        self.state.is_cut.load(Ordering::SeqCst)
    }

    fn sent(&self) -> usize {
        self.state.sent.load(Ordering::SeqCst)
    }

    fn url(&self, place: &Place<'_>) -> String {
        let encoded = |path: &Path| path.display().to_string().replace('/', "%2F");
        place.url.replace(&encoded(&place.server.folder), &encoded(self.folder.path()))
    }
}

/// Carries one connection. A statement is one `Query` or one `Sync` of the protocol.
fn carry(mut client: UnixStream, mut server: UnixStream, state: Arc<State>) {
    let drops = Arc::new(AtomicBool::new(false));
    let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let dropping = drops.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(n @ 1..) = answers.read(&mut bytes) {
            if dropping.load(Ordering::SeqCst) || to_client.write_all(&bytes[..n]).is_err() {
                break;
            }
        }
        _ = to_client.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        // The first message has no type.
        let (mut bytes, mut held, mut head) = ([0; 65_536], Vec::new(), 0);
        'all: while let Ok(n @ 1..) = client.read(&mut bytes) {
            held.extend_from_slice(&bytes[..n]);
            while let Some(length) = held.get(head..head + 4) {
                let length = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
                if held.len() < length {
                    break;
                }
                let message: Vec<u8> = held.drain(..length).collect();
                let is_statement = head == 1 && matches!(message[0], b'Q' | b'S');
                head = 1;
                let nth = usize::from(is_statement)
                    + state.sent.fetch_add(usize::from(is_statement), Ordering::SeqCst);
                let cuts = is_statement && nth == state.cut_at.load(Ordering::SeqCst);
                drops.fetch_or(cuts, Ordering::SeqCst);
                // Before the client can notice.
                state.is_cut.fetch_or(cuts, Ordering::SeqCst);
                if server.write_all(&message).is_err() {
                    break 'all;
                }
                if cuts {
                    break 'all;
                }
            }
        }
        _ = client.shutdown(Shutdown::Both);
        _ = server.shutdown(Shutdown::Both);
    });
}

const PARENT: &str = "t_000000a1";
const CHILD: &str = "t_000000b2";
const RUNNING: &str = "t_000000c3";
const NEW: &str = "t_000000d4";

/// What a client does, how long it tries, and what it is told, without numbers of runs.
type Does = fn(&mut PostgresBoard, Duration) -> Result<String>;

fn open(url: &str) -> Result<PostgresBoard> {
    PostgresBoard::open(url, Mode::Change, PATIENCE, &Secrets::default())
}

fn seen(board: &mut PostgresBoard, id: &str) -> Result<Detail> {
    Ok(board.look(&[id.to_owned()])?.remove(0))
}

fn told(outcomes: Vec<Outcome>) -> String {
    outcomes.iter().map(Outcome::word).collect::<Vec<_>>().join(" ")
}

fn applied(board: &mut PostgresBoard, patience: Duration, steps: &[Step]) -> Result<String> {
    board.apply(NOW, steps, patience).map(told)
}

/// A step on a task as it is.
fn on(
    board: &mut PostgresBoard,
    patience: Duration,
    id: &str,
    changes: impl Fn(&Detail) -> Vec<Change>,
) -> Result<String> {
    let d = seen(board, id)?;
    applied(board, patience, &[step(id, Some(&d), changes(&d))])
}

fn attends(board: &mut PostgresBoard, _: Duration) -> Result<String> {
    let (uptime, age) = (3_600, 3_600);
    let me = Attendance { host: "h1", boot: "boot 1", uptime, age, program: "heal", duty: Duty::Heals };
    let attended = board.attend(&me)?.unwrap();
    Ok(format!("{:?} {}", attended.before, attended.hosts.len()))
}

fn new(id: &str, parents: &[String]) -> Step {
    let key = Some(format!("key of {id}"));
    let task = NewTask { title: "New".into(), idempotency_key: key, ..NewTask::default() };
    step(id, None, hermes::created(Status::Todo, task, parents, &trail()))
}

/// Each thing that a client writes with a transaction of its own.
const WRITES: &[(&str, Does)] = &[
    ("claim", |b, p| {
        on(b, p, PARENT, |d| hermes::claimed(d, "h1:8", NOW.plus(900), Some(8), None, &trail()))
    }),
    ("take the next", |b, p| {
        let taken = b.take_next(NOW, &[Some("luna")], Begin::At(0), p, &mut |d| {
            let claim = hermes::claimed(d, "h1:8", NOW.plus(900), Some(8), None, &trail());
            Answer::Take(step(&d.task.id, Some(d), claim).into())
        })?;
        Ok(taken.map_or("none".into(), |(d, outcome)| format!("{} {}", d.task.id, outcome.word())))
    }),
    ("heartbeat", |b, p| on(b, p, RUNNING, |d| hermes::heartbeat(d, NOW.plus(1_800), Some("half of it")))),
    ("complete", |b, p| on(b, p, RUNNING, |d| hermes::completed(d, None, Some("read"), &trail()))),
    ("block", |b, p| on(b, p, RUNNING, |d| hermes::blocked(d, "no key", None, &trail()))),
    ("requeue", |b, p| on(b, p, RUNNING, |d| hermes::reclaimed(d, &trail()))),
    ("crash", |b, p| on(b, p, RUNNING, |d| hermes::crashed(d, Some(7), 3, &trail()))),
    ("park", |b, p| on(b, p, RUNNING, |d| hermes::parked(d, Cause::WorkerGone, NOW.plus(60), &trail()))),
    ("new tasks", |b, p| {
        applied(b, p, &[new(NEW, &[PARENT.to_owned()]), new(NEW, &[]), new("t_000000e5", &[])])
    }),
    ("words", |b, p| {
        let said = |id: &str| step(id, None, hermes::commented("rosa", "hello"));
        let after = Step { after: vec![CHILD.to_owned()], ..said(RUNNING) };
        applied(b, p, &[said(CHILD), after, said(PARENT)])
    }),
    ("attend", attends),
    ("forget a host", |b, _| b.forget_host("h2").map(|()| "forgotten".into())),
    // What it removed is not told of a try whose answer was lost.
    ("prune", |b, p| prune(b, NOW, false, p).map(|_| "pruned".into())),
    ("pause", |b, _| {
        let pause = Pause {
            until: Some(NOW.plus(60)),
            reason: Some("move".into()),
            since: Some(NOW),
            ..Pause::default()
        };
        b.set_pause(Some(&pause)).map(|()| "paused".into())
    }),
];

/// Two tasks that are over for long, with all that belongs to them, of which one was what the other waited for.
const OVER: &str = "
INSERT INTO tasks (id, title, status, created_at) VALUES ('t_000000f6', 'Old', 'done', 1), ('t_000000f7', 'Older', 'archived', 1);
INSERT INTO task_links VALUES ('t_000000f7', 't_000000f6');
INSERT INTO task_events (task_id, kind, created_at) VALUES ('t_000000f6', 'created', 1), ('t_000000f6', 'claimed', 1), ('t_000000f6', 'heartbeat', 1), ('t_000000f7', 'created', 1);
INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('t_000000f6', 'rosa', 'hello', 1);
INSERT INTO task_runs (task_id, status, outcome, started_at, ended_at) VALUES ('t_000000f6', 'done', 'completed', 1, 2);
";

const TABLES: [&str; 8] =
    ["tasks", "task_links", "task_runs", "task_events", "task_comments", "writes", "hosts", "meta"];

/// Keeps what is on the board.
fn save(hand: &mut Client) {
    for table in TABLES {
        hand.batch_execute(&format!("CREATE TABLE saved_{table} AS TABLE {table}")).unwrap();
    }
}

/// Puts it back.
fn restore(hand: &mut Client) {
    let mut sql =
        format!("BEGIN; SET LOCAL session_replication_role = replica; TRUNCATE {};", TABLES.join(", "));
    for table in TABLES {
        sql += &format!("INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE saved_{table};");
    }
    hand.batch_execute(&(sql + "COMMIT")).unwrap();
}

/// All rows, without the numbers that a sequence gave and the server's clock.
fn rows(hand: &mut Client) -> Vec<String> {
    let sql = "SELECT 'task ' || (to_jsonb(t) - 'current_run_id')::text || (current_run_id IS NULL) FROM tasks t \
         UNION ALL SELECT 'link ' || l::text FROM task_links l \
         UNION ALL SELECT 'run ' || (to_jsonb(r) - 'id')::text FROM task_runs r \
         UNION ALL SELECT 'event ' || row_number() OVER (PARTITION BY task_id ORDER BY id) || \
           (to_jsonb(e) - '{id,run_id,tx}'::text[])::text || (run_id IS NULL) FROM task_events e \
         UNION ALL SELECT 'comment ' || row_number() OVER (PARTITION BY task_id ORDER BY id) || \
           (to_jsonb(c) - 'id')::text FROM task_comments c \
         UNION ALL SELECT 'write ' || (to_jsonb(w) - '{id,at,outcomes}'::text[])::text || (outcomes IS NULL) FROM writes w \
         UNION ALL SELECT 'host ' || name || boot_id || program || (healed_at IS NULL) || (forgotten_at IS NULL) FROM hosts \
         UNION ALL SELECT 'meta ' || m::text FROM meta m ORDER BY 1";
    hand.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// Waits until the server has done with every client of Watchbill.
fn settled(hand: &mut Client) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'watchbill'";
    wait_for("the end of the client", || hand.query_one(sql, &[]).unwrap().get::<_, i64>(0) == 0);
}

#[test]
fn a_client_that_is_killed_at_any_statement_leaves_all_of_a_write_or_none() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let place = server.board();
    let (mut hand, cutter) = (place.hand(), Cutter::before(&server));
    let url = cutter.url(&place);
    {
        let mut board = place.open();
        add(&mut board, RUNNING, Status::Ready, &[]);
        let d = look(&mut board, RUNNING);
        let claim = hermes::claimed(&d, "h1:7", NOW.plus(900), Some(7), None, &trail());
        board.apply(NOW, &[step(RUNNING, Some(&d), claim)], PATIENCE).unwrap();
        add(&mut board, PARENT, Status::Ready, &[]);
        add(&mut board, CHILD, Status::Todo, &[RUNNING]);
    }
    hand.batch_execute("INSERT INTO hosts VALUES ('h2', 'boot 2', 'heal', 1, 1, 1)").unwrap();
    hand.batch_execute(OVER).unwrap();
    save(&mut hand);
    let before = rows(&mut hand);
    for (name, does) in WRITES {
        restore(&mut hand);
        cutter.cuts(0, false);
        let answer = does(&mut open(&url).unwrap(), PATIENCE).unwrap();
        let (all, after) = (cutter.sent(), rows(&mut hand));
        assert_ne!(before, after, "{name}");
        let (mut none, mut whole) = (0, 0);
        for nth in 1..=all {
            let at = format!("{name}: {nth} of {all} statements");
            restore(&mut hand);
            cutter.cuts(nth, true);
            // What it is told is told to nobody. One that is killed asks nobody again: here it is not waited for.
            let told = PostgresBoard::open(&url, Mode::Change, Duration::ZERO, &Secrets::default())
                .and_then(|mut board| does(&mut board, Duration::ZERO));
            assert!(cutter.has_cut(), "{at}");
            settled(&mut hand);
            let found = rows(&mut hand);
            assert!(found == before || found == after, "{at}: {told:?}\n{before:#?}\n{found:#?}");
            if found == after {
                whole += 1;
            } else {
                none += 1;
                assert_eq!(does(&mut place.open(), PATIENCE).unwrap(), answer, "{at}: done anew");
                assert_eq!(rows(&mut hand), after, "{at}: done anew");
            }

            // Its connection alone: it goes on over another one, and what it did is done once.
            restore(&mut hand);
            cutter.cuts(nth, false);
            let mut told = open(&url).and_then(|mut board| does(&mut board, PATIENCE));
            if told.as_ref().is_ok_and(|told| told == "none") {
                // The try that was lost still holds the one free task for a moment, and nobody waits for it.
                settled(&mut hand);
                assert_eq!(rows(&mut hand), before, "{at}: nothing was taken");
                told = does(&mut place.open(), PATIENCE);
            }
            assert!(cutter.has_cut(), "{at}");
            assert_eq!(told.unwrap(), answer, "{at}: tried again");
            settled(&mut hand);
            assert_eq!(rows(&mut hand), after, "{at}: tried again");
        }
        is_sound(&mut hand);
        assert!(none > 0 && whole > 0, "{name}: {none} before, {whole} after its end");
        println!("{name}: {all} statements, the board as before behind {none}, as after behind {whole}");
    }
}

#[test]
fn a_board_whose_maker_lost_an_answer_is_made_once_and_whole() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let cutter = Cutter::before(&server);
    let made = |url: &str| PostgresBoard::create(url, PATIENCE, &Secrets::default());
    let (mut all, mut nth) = (0, 0);
    while nth <= all {
        let place = Place {
            server: &server,
            name: format!("m{nth}"),
            url: server.url("watchbill", &format!("m{nth}")),
        };
        cutter.cuts(nth, false);
        made(&cutter.url(&place)).unwrap_or_else(|e| panic!("{nth} of {all}: {e}"));
        if nth == 0 {
            all = cutter.sent();
        }
        assert_eq!(cutter.has_cut(), nth > 0);
        add(&mut place.open(), PARENT, Status::Ready, &[]);
        let kind = made(&place.url).unwrap_err().kind;
        assert_eq!(kind, Kind::Partial, "{nth}");
        nth += 1;
    }
}

/// What an owner does to a board: it is done as well on a board that is made anew for each try.
struct Deed {
    name: &'static str,
    /// Makes the board.
    made: fn(&Server, &str) -> Client,
    does: fn(&str, Duration) -> Result<()>,
    /// What it changes.
    shows: fn(&mut Client) -> Vec<String>,
}

const NONE: Secrets = Secrets { file: None };

fn empty(server: &Server, name: &str) -> Client {
    let url = server.url("watchbill", name);
    PostgresBoard::create(&url, PATIENCE, &NONE).unwrap();
    Place { server, name: name.to_owned(), url }.hand()
}

/// Who may do what on a board, without its name.
fn rights(hand: &mut Client) -> Vec<String> {
    let sql = "SELECT 'table ' || relname || ' ' || coalesce(relacl::text, '') FROM pg_class \
         WHERE relnamespace = current_schema()::regnamespace \
         UNION ALL SELECT 'column ' || attrelid::regclass || '.' || attname || ' ' || attacl::text FROM pg_attribute \
         WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace) AND attacl IS NOT NULL \
         UNION ALL SELECT 'schema ' || coalesce(nspacl::text, '') FROM pg_namespace WHERE oid = current_schema()::regnamespace \
         UNION ALL SELECT 'role ' || rolname || ' ' || rolcanlogin FROM pg_roles WHERE starts_with(rolname, current_schema() || '_') \
         UNION ALL SELECT 'member ' || roleid::regrole || ' ' || member::regrole FROM pg_auth_members \
         WHERE starts_with(roleid::regrole::text, current_schema() || '_') ORDER BY 1";
    let name: String = hand.query_one("SELECT current_schema()::text", &[]).unwrap().get(0);
    hand.query(sql, &[]).unwrap().iter().map(|row| row.get::<_, String>(0).replace(&name, "BOARD")).collect()
}

const DEEDS: [Deed; 3] = [
    Deed {
        name: "upgrade",
        made: |server, name| upgrading::old(server, name).1,
        does: |url, patience| PostgresBoard::upgrade(url, patience, &NONE).map(drop),
        shows: |hand| {
            let version = format!("{:?}", upgrading::version(hand));
            upgrading::shape(hand).into_iter().chain([version]).collect()
        },
    },
    Deed {
        name: "grant",
        made: empty,
        does: |url, patience| {
            PostgresBoard::grant(url, &["kestrel".to_owned()], &["merlin".to_owned()], patience, &NONE)
        },
        shows: rights,
    },
    Deed {
        name: "copy",
        made: empty,
        does: |url, patience| {
            let folder = tempfile::tempdir().unwrap();
            let at = Location::from(folder.path().join("own.db"));
            board::create(&at, PATIENCE).unwrap();
            let mut from =
                board::open(&BoardId { at, slug: None, root: None }, Mode::Change, PATIENCE).unwrap();
            let steps = [new(PARENT, &[]), new(CHILD, &[PARENT.to_owned()])];
            from.apply(NOW, &steps, PATIENCE).unwrap();
            let mut to = PostgresBoard::open(url, Mode::Change, patience, &NONE)?;
            let plan = copy::plan(&mut *from, &to.id().at)?;
            copy::copy(&mut *from, &mut to, &plan, NOW, &trail(), patience).map(drop)
        },
        shows: |hand| rows(hand).into_iter().filter(|row| !row.starts_with("meta ")).collect(),
    },
];

#[test]
fn what_an_owner_does_that_is_killed_at_any_statement_is_done_whole_or_not_at_all() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let cutter = Cutter::before(&server);
    drop(owner_after(&server, "CREATE ROLE kestrel LOGIN; CREATE ROLE merlin LOGIN"));
    for Deed { name, made, does, shows } in DEEDS {
        let board = |what: &str| {
            let board = format!("{name}_{what}");
            let place = Place { server: &server, name: board.clone(), url: server.url("watchbill", &board) };
            (made(&server, &board), cutter.url(&place), place.url)
        };
        let (mut hand, url, _) = board("whole");
        let before = shows(&mut hand);
        cutter.cuts(0, false);
        does(&url, PATIENCE).unwrap();
        let (all, after) = (cutter.sent(), shows(&mut hand));
        assert_ne!(before, after, "{name}");
        let (mut none, mut whole) = (0, 0);
        for nth in 1..=all {
            let at = format!("{name}: {nth} of {all} statements");
            let (mut hand, url, direct) = board(&format!("killed{nth}"));
            cutter.cuts(nth, true);
            let told = does(&url, Duration::ZERO);
            assert!(cutter.has_cut(), "{at}");
            settled(&mut hand);
            let found = shows(&mut hand);
            assert!(found == before || found == after, "{at}: {told:?}\n{before:#?}\n{found:#?}");
            if found == after {
                whole += 1;
            } else {
                none += 1;
                does(&direct, PATIENCE).unwrap_or_else(|e| panic!("{at}: done anew: {e}"));
                assert_eq!(shows(&mut hand), after, "{at}: done anew");
            }

            // Its connection alone. What says that it failed is not done.
            let (mut hand, url, direct) = board(&format!("lost{nth}"));
            cutter.cuts(nth, false);
            let told = does(&url, PATIENCE);
            assert!(cutter.has_cut(), "{at}");
            settled(&mut hand);
            if let Err(e) = told {
                // A copy is not begun again by itself.
                assert_eq!((name, shows(&mut hand) == before), ("copy", true), "{at}: tried again: {e}");
                does(&direct, PATIENCE).unwrap();
            }
            assert_eq!(shows(&mut hand), after, "{at}: tried again");
        }
        assert!(none > 0 && whole > 0, "{name}: {none} before, {whole} after its end");
        println!("{name}: {all} statements, the board as before behind {none}, as after behind {whole}");
    }
}

#[test]
fn a_pass_that_is_killed_at_any_statement_is_ended_by_the_next_one() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let place = server.board();
    let (mut hand, cutter) = (place.hand(), Cutter::before(&server));
    let here = Machine::new("h1", &place.url);
    dead_workers(&mut hand, "h1", 3);
    save(&mut hand);
    let now = hand.query_one("SELECT now_s()", &[]).unwrap().get::<_, i64>(0).to_string();
    let heal = |url: &str| {
        let mut heal = here.command_on(url, &["heal", "--now", &now]);
        // One id, which stands in what it writes.
        heal.env("WATCHBILL_PASS", "20270115T080000Z-heal-0000").stdout(Stdio::null()).stderr(Stdio::null());
        heal
    };
    // What a later pass adds to `writes` does not belong to the board.
    let board = |hand: &mut Client| -> Vec<String> {
        rows(hand).into_iter().filter(|row| !row.starts_with("write ")).collect()
    };
    let url = cutter.url(&place);
    cutter.cuts(0, false);
    assert!(heal(&url).status().unwrap().success());
    let (all, end) = (cutter.sent(), board(&mut hand));
    assert_eq!(end.iter().filter(|row| row.contains(r#""status": "ready""#)).count(), 3, "{end:#?}");
    let mut by = [0, 0];
    for nth in 1..=all {
        restore(&mut hand);
        let before = board(&mut hand);
        cutter.cuts(nth, true);
        let mut child = heal(&url).spawn().unwrap();
        wait_for("a cut", || cutter.has_cut() || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        settled(&mut hand);
        is_sound(&mut hand);
        let tasks = |rows: &[String]| -> Vec<String> {
            rows.iter().filter(|row| !row.starts_with("host ")).cloned().collect()
        };
        let found = tasks(&board(&mut hand));
        let is_before = found == tasks(&before);
        assert!(is_before || found == tasks(&end), "{nth} of {all}: {found:#?}");
        by[usize::from(is_before)] += 1;
        assert!(heal(&place.url).status().unwrap().success(), "{nth} of {all}");
        assert_eq!(board(&mut hand), end, "{nth} of {all}");
    }
    assert!(by[0] > 0 && by[1] > 0, "{by:?}");
    println!("a pass of {all} statements: the board as before behind {}, as after behind {}", by[1], by[0]);
}
