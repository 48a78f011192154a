//! Servers that accept a connection and say nothing, or stop in the middle: nobody waits for them for ever.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::error::{Error, Kind};
use board::{Board, Mode, Status};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::programs::Machine;
use crate::races::add;
use crate::server::{durable, shared, started};

const SHORT: Duration = Duration::from_millis(300);

/// Longer than anything here is waited for.
const LONG: Duration = Duration::from_secs(60);

fn opened(url: String) -> JoinHandle<Result<PostgresBoard, Error>> {
    std::thread::spawn(move || PostgresBoard::open(&url, Mode::Change, SHORT, &Secrets::default()))
}

/// What a thread gave, if it did not take for ever.
#[track_caller]
fn in_time<T>(thread: JoinHandle<T>) -> T {
    let until = Instant::now() + LONG;
    while !thread.is_finished() {
        assert!(Instant::now() < until, "it waits for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
    thread.join().unwrap()
}

fn is_silent(error: &Error) {
    assert_eq!((error.kind, error.what.as_str()), (Kind::Busy, "the server of this board does not answer"));
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_one_that_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let plain = format!("postgres://watchbill@127.0.0.1:{port}/postgres");
    let with_tls = format!("{plain}?sslmode=verify-full");
    let all = [plain, with_tls].map(opened);
    for thread in all {
        is_silent(&in_time(thread).err().expect("nobody was there"));
    }
    drop(listener);
}

#[test]
fn a_server_that_stops_in_the_middle_is_one_that_does_not_answer() {
    let Some(server) = durable() else { return };
    let place = server.board();
    let mut board = PostgresBoard::open(&place.url, Mode::Change, SHORT, &Secrets::default()).unwrap();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let frozen = server.freeze();
    let new = opened(place.url.clone());
    let thread = std::thread::spawn(move || (board.glance(&[Status::Ready]).map(|all| all.len()), board));
    is_silent(&in_time(new).err().expect("it is stopped"));
    let (told, mut board) = in_time(thread);
    is_silent(&told.expect_err("it is stopped"));
    drop(frozen);
    assert_eq!(board.glance(&[Status::Ready]).unwrap().len(), 1, "the next call connects anew");
}

#[test]
fn a_command_is_stopped_in_time_where_the_server_hangs() {
    let Some(server) = durable() else { return };
    let place = server.board();
    let machine = Machine::new("h1", &place.url);
    let task = machine.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let line = [
        "board",
        "run",
        "--assignee",
        "luna",
        "--ttl",
        "10s",
        "--",
        "sh",
        "-c",
        "echo $$ >pid; exec sleep 600",
    ];
    let began = Instant::now();
    let mut harness = machine.command(&line);
    harness.stdout(Stdio::piped()).stderr(Stdio::piped());
    let harness = harness.spawn().unwrap();
    let pid = || std::fs::read_to_string(machine.home().join("pid")).ok()?.trim().parse::<i32>().ok();
    while pid().is_none() {
        assert!(began.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(20));
    }
    let frozen = server.freeze();
    let asked = Instant::now();
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid().unwrap())).unwrap_or_default();
    let lives = || stat().contains(") ") && !stat().contains(") Z ");
    while lives() {
        assert!(asked.elapsed() < Duration::from_secs(10), "its claim is over, and it lives");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = in_time(std::thread::spawn(move || harness.wait_with_output().unwrap()));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("{task}: lost the board for ")) && said.contains("the command was stopped"),
        "{said}"
    );
    drop(frozen);
}

#[test]
fn a_program_on_a_silent_server_ends_with_75() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let machine = Machine::new("h1", &format!("postgres://watchbill@127.0.0.1:{port}/postgres"));
    for line in [&["heal"][..], &["board", "list"]] {
        let mut command = machine.command(line);
        let done = in_time(std::thread::spawn(move || command.output().unwrap()));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(75), "{line:?}: {said}");
        assert!(said.contains("the server of this board does not answer"), "{line:?}: {said}");
    }
}

#[test]
fn of_several_servers_the_first_that_may_be_written_is_asked() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url_after(folder.path(), &place.name);
    let board = in_time(opened(url.clone())).unwrap();
    assert_eq!(board.id().at.to_string(), url);
    // One that says nothing costs its time, and no more.
    let _silent = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    in_time(opened(url)).unwrap();
    // One that may not be written is passed over.
    let Some(replica) = started(&["fsync=off", "default_transaction_read_only=on"]) else { return };
    in_time(opened(server.url_after(&replica.folder, &place.name))).unwrap();
    let alone = replica.url("watchbill", &place.name);
    let error = in_time(opened(alone)).err().expect("a replica");
    assert_eq!(
        (error.kind, error.what.as_str()),
        (Kind::Busy, "this server is a replica, which cannot be written")
    );
}
