//! One server takes over from another: what was seen on the one does not justify a write on the other, and the old one is not believed.

use std::collections::BTreeMap;
use std::time::Duration;

use base::error::Kind;
use board::{Board, Mode, Outcome, Status, hermes};
use testkit::histories::{Act, Call, State, Told, check};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::clients::{CLIENTS, Way, at_work, fill, is_sound, last_looks};
use crate::programs::Machine;
use crate::races::{NOW, add, look, step, trail};
use crate::server::{PATIENCE, Server, durable};

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
    // Both are named, as for a failover, and the one that was replaced runs again.
    let places = behind.split_once('@').and_then(|(_, rest)| rest.split_once('/')).unwrap().0;
    let both = url.replacen('@', &format!("@{places},"), 1);
    for line in [&["board", "add", "one more"][..], &["heal"], &["watchbill", "status"]] {
        let done = here.command_on(&both, line).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.code() != Some(65) && !said.contains("is behind"), "{line:?}: {said}");
    }
    assert!(here.said(&["board", "list"]).contains("one more"));
    // Who never saw the new one cannot know.
    let known = there.command_on(&behind, &["board", "list"]).output().unwrap();
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
    here.said(&["board", "list"]);
    // A person says by the command that the refusal names that the old one is meant. Where the new one answers, that is not said.
    for (meant, line, is_refused) in [
        (&both, &["watchbill", "forget"][..], false),
        (&behind, &["heal"], true),
        (&behind, &["watchbill", "forget"], false),
        (&behind, &["heal"], false),
        (&behind, &["board", "list"], false),
        (&url, &["board", "list"], false),
    ] {
        let done = here.command_on(meant, line).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.success(), !is_refused, "{line:?}: {said}");
        let is_named = said.contains(&format!("`watchbill forget --db '{behind}'`"));
        assert_eq!(is_named, is_refused, "{line:?}: {said}");
    }
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
    // The primary has it, since it could not be undone.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while look(&mut board, "t_000000a1").comments.len() != 1 {
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// 16 clients, a server and its replica, which takes over after so many answers. What they were told, with a last look at each task.
fn through_a_failover(
    way: Way,
    answers: usize,
    before: impl FnOnce(&Server, &Server),
) -> Option<(Server, Vec<Call>)> {
    let mut primary = durable()?;
    let name = {
        let place = primary.board();
        fill(&mut place.hand(), 3_000);
        place.name.clone()
    };
    let replica = primary.replica();
    let url = replica.url_after(&primary.folder, &name);
    let mut calls = at_work(&url, way, |heard| {
        heard.wait(answers);
        before(&primary, &replica);
        heard.wait(answers / 2);
        primary.dies();
        replica.is_promoted();
        heard.wait(answers);
    });
    let url = replica.url("watchbill", &name);
    let mut board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &Secrets::default()).unwrap();
    let looks = last_looks(&mut board, &calls);
    calls.extend(looks);
    let mut hand = postgres::Client::connect(&replica.plain(), postgres::NoTls).unwrap();
    hand.batch_execute(&format!("SET search_path = {name}")).unwrap();
    is_sound(&mut hand);
    Some((replica, calls))
}

fn applied(calls: &[Call], act: Act) -> usize {
    calls.iter().filter(|call| call.act == act && call.told == Told::Applied).count()
}

#[test]
fn a_synchronous_replica_that_takes_over_goes_on_with_the_same_board() {
    let way = Way { beats: 1, every: Duration::ZERO };
    let synchronous = |primary: &Server, _: &Server| primary.is_synchronous();
    let Some((_replica, calls)) = through_a_failover(way, 400, synchronous) else { return };
    let tasks = check(&calls).unwrap();
    let unsure = calls.iter().filter(|call| call.told == Told::Nothing).count();
    println!(
        "{CLIENTS} clients, a synchronous replica takes over: {} calls on {tasks} tasks, {} claims and {} ends acknowledged, {unsure} without an answer",
        calls.len(),
        applied(&calls, Act::Claim),
        applied(&calls, Act::Complete)
    );
}

/// What a replica did not have when it took over is gone. A task then has two workers until the first one's next heartbeat, and no longer.
#[test]
fn after_a_replica_that_lost_the_last_second_nobody_keeps_a_task_that_another_has() {
    // Longer than it takes until the replica answers: else each looks before another can claim its task.
    let every = Duration::from_secs(3);
    let lose = |_: &Server, replica: &Server| replica.is_cut_off();
    let Some((_replica, calls)) = through_a_failover(Way { beats: 2, every }, 80, lose) else { return };
    assert!(check(&calls).is_err(), "nothing was lost, so this shows nothing");
    let mut tasks: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    calls.iter().for_each(|call| tasks.entry(&call.task).or_default().push(call));
    let (mut again, mut both, mut longest) = (0, 0, 0);
    for calls in tasks.values_mut() {
        calls.sort_by_key(|call| call.begun);
        let claims: Vec<&Call> =
            calls.iter().copied().filter(|c| c.act == Act::Claim && c.told == Told::Applied).collect();
        for pair in claims.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let is_its = |call: &Call| call.told == Told::State(State::Running(first.lock.clone()));
            let mut its = calls.iter().copied().filter(|call| call.lock == first.lock && *call != first);
            let gives_up = |call: &Call| {
                matches!(call.act, Act::Complete | Act::Requeue) || call.act == Act::Look && !is_its(call)
            };
            let until = its.clone().find(|call| gives_up(call) && call.begun < second.ended);
            if until.is_some_and(|call| call.act != Act::Look) {
                continue;
            }
            // The first one did not end it: its claim is lost.
            again += 1;
            let late = its.clone().find(|c| c.told == Told::Applied && c.begun > second.ended);
            assert_eq!(late, None, "a word of one who lost the task is taken");
            // It goes on as if the task were its own, until it looks.
            if until.is_none()
                && let Some(learns) = its.find(|c| c.act == Act::Look && c.begun > second.ended)
            {
                assert!(!is_its(learns), "{learns:?}");
                both += 1;
                longest = longest.max(learns.ended - second.ended);
            }
        }
    }
    let ms = longest / 1_000_000;
    println!(
        "{CLIENTS} clients, a replica without the last second takes over: {again} claims were lost and made again, \
         {both} of them while the first worker went on, for {ms} ms at most; a heartbeat is {} ms",
        every.as_millis()
    );
    // One heartbeat, and what an answer takes on a machine with much else to do.
    assert!(Duration::from_nanos(longest) < every + Duration::from_secs(5), "{ms} ms");
}
