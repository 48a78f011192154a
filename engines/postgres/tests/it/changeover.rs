//! One server takes over from another: what was seen on the one is no ground for a write on the other, and the old one is not believed.

use std::time::Duration;

use base::error::Kind;
use board::{Board, Mode, Outcome, Status, hermes};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::programs::Machine;
use crate::races::{NOW, add, look, step, trail};
use crate::server::{PATIENCE, durable};

#[test]
fn what_was_seen_before_a_change_over_is_no_ground_for_a_write_after_it() {
    let Some(mut server) = durable() else { return };
    let (url, mut board) = {
        let place = server.board();
        (place.url.clone(), place.open())
    };
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    add(&mut board, "t_000000b2", Status::Ready, &[]);
    let (one, two) = (look(&mut board, "t_000000a1"), look(&mut board, "t_000000b2"));
    let said = |seen: &board::Detail| step(&seen.task.id, Some(seen), hermes::commented("rosa", "hello"));
    // The same server anew is the same history.
    server.is_killed();
    assert_eq!(board.apply(NOW, &[said(&one)], PATIENCE).unwrap()[0].word(), "applied");
    let one = look(&mut board, "t_000000a1");
    server.changes_over();
    let free = step("t_000000b2", None, hermes::commented("rosa", "hello"));
    let moved = Outcome::Moved { what: "the server changed over".into() };
    for mut known in [board, PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap()]
    {
        let told = known.apply(NOW, &[said(&one), free.clone(), said(&two)], PATIENCE).unwrap();
        assert_eq!(told, [moved.clone(), moved.clone(), moved.clone()]);
        let anew = look(&mut known, "t_000000a1");
        assert_eq!(anew.comments.len(), 1);
        assert_eq!(known.apply(NOW, std::slice::from_ref(&free), PATIENCE).unwrap()[0].word(), "applied");
    }
    let mut board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap();
    let anew = look(&mut board, "t_000000a1");
    let claim = hermes::claimed(&anew, "h1:7", NOW.plus(900), Some(7), None, &trail());
    let told = board.apply(NOW, &[step("t_000000a1", Some(&anew), claim)], PATIENCE).unwrap();
    assert_eq!(told[0].word(), "applied");
}

#[test]
fn a_server_that_was_replaced_is_not_believed_by_who_saw_the_new_one() {
    let Some(mut server) = durable() else { return };
    let url = server.url("watchbill", "lineage");
    let (here, there) = (Machine::new("h1", &url), Machine::new("h2", &url));
    here.said(&["board", "init", &url]);
    here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let old = server.copied();
    server.changes_over();
    here.said(&["heal"]);
    let behind = old.url("watchbill", "lineage");
    for line in [&["heal"][..], &["board", "list"], &["board", "add", "another"], &["watchbill", "status"]] {
        let done = here.command_on(&behind, line).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("this server is behind: it was replaced"), "{line:?}: {said}");
        assert!(line[0] == "watchbill" || done.status.code() == Some(65), "{line:?}: {said}");
    }
    // Who never saw the new one cannot know.
    let known = there.command_on(&behind, &["board", "list"]).output().unwrap();
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
    here.said(&["board", "list"]);
}

#[test]
fn what_no_replica_has_is_not_acknowledged() {
    let Some(server) = durable() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let seen = look(&mut board, "t_000000a1");
    let mut hand = place.hand();
    hand.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'").unwrap();
    hand.batch_execute("SELECT pg_reload_conf()").unwrap();
    while hand.query_one("SHOW synchronous_standby_names", &[]).unwrap().get::<_, &str>(0) != "nobody" {
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = step("t_000000a1", Some(&seen), hermes::commented("rosa", "hello"));
    let error = board.apply(NOW, &[said], Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind, Kind::Busy, "{error}");
    assert!(error.to_string().contains("it did not say whether the last steps are written"), "{error}");
    hand.batch_execute("ALTER SYSTEM RESET synchronous_standby_names").unwrap();
    hand.batch_execute("SELECT pg_reload_conf()").unwrap();
    // The primary has it, as it could not be taken back.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while look(&mut board, "t_000000a1").comments.len() != 1 {
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}
