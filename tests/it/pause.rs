//! The red switch: `watchbill pause` and `unpause`, and what the watchers make of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use shared::base::registry::NAMES as WATCHERS;

use crate::support::{Ran, TestBoard, now, ran};
use crate::wrong_inputs::as_nobody;

fn switch(b: &TestBoard, args: &[&str]) -> Ran {
    let mut watchbill = b.command("watchbill");
    let (verb, rest) = args.split_first().unwrap();
    watchbill.args([verb, "--db", b.db.to_str().unwrap()]).args(rest);
    ran(&mut watchbill)
}

fn broken() -> TestBoard {
    let b = TestBoard::new();
    b.give_up("t_00000001", "pid 4242 not alive", 3_600);
    b
}

#[test]
fn it_holds_every_watcher_until_it_ends_by_itself() {
    let b = broken();
    let before = b.dump();
    let said = switch(&b, &["pause", "--for", "2h", "--reason", "the disk is moved"]).ok();
    assert!(said.contains("paused until ") && said.contains("(2h): the disk is moved"), "{said}");
    for watcher in &WATCHERS[..3] {
        // Without -v it is said once for all of them.
        let told = ran(b.command(watcher).arg("-v")).fails(75);
        assert!(
            told.contains("the disk is moved") && told.contains("`watchbill unpause --db "),
            "{watcher}: {told}"
        );
    }
    assert!(b.heal(&["-n"]).err.contains("nothing is changed meanwhile"));
    assert_eq!(b.dump(), before);
    // Its own end, and nobody has to come back for it.
    assert!(b.later(7_100, &[]).code == 75);
    assert!(b.later(7_300, &[]).ok().contains("t_00000001 reset"));
}

#[test]
fn an_end_of_another_day_has_its_date() {
    let b = broken();
    let pause = |span: &str| {
        let mut command = b.command("watchbill");
        command.args(["pause", "--now", "2026-11-26T18:27:00Z", "--for", span]).arg("--db").arg(&b.db);
        ran(&mut command).ok()
    };
    for (span, until) in [
        ("5h", "23:27 +00:00 (5h)"),
        ("6h", "2026-11-27 00:27 +00:00 (6h)"),
        ("50h", "2026-11-28 20:27 +00:00 (2d 2h)"),
    ] {
        let said = pause(span);
        assert!(said.contains(&format!("paused until {until}")), "{said}");
    }
}

#[test]
fn what_was_moved_is_said_again() {
    let b = broken();
    switch(&b, &["pause", "--for", "2h"]).ok();
    assert!(b.heal(&[]).fails(75).contains("paused"));
    assert_eq!(b.heal(&[]).err, "", "once is enough");
    let said = switch(&b, &["pause", "--for", "3h", "--reason", "longer"]).ok();
    assert!(said.contains("(was: paused until "), "{said}");
    assert!(b.heal(&[]).fails(75).contains("longer"));
    assert!(switch(&b, &["unpause"]).ok().contains("goes on (was: paused until "));
    assert!(b.heal(&[]).ok().contains("reset"));
    assert!(switch(&b, &["unpause"]).ok().contains("was not paused"));
}

#[test]
fn it_works_where_the_board_does_not() {
    let b = broken();
    fs::write(&b.db, "no database").unwrap();
    let said: Value =
        serde_json::from_str(&switch(&b, &["pause", "--until", "06:00", "--json"]).ok()).unwrap();
    assert_eq!(said["schema"], "watchbill.pause/1");
    assert_eq!(
        (&said["boards"][0]["paused"], &said["boards"][0]["reason"]),
        (&Value::Bool(true), &Value::Null)
    );
    assert!(said["boards"][0]["until"].is_string(), "{said}");
    assert_eq!(b.heal(&[]).code, 75, "paused comes before broken");
    switch(&b, &["unpause", "-q"]).ok();
    assert_eq!(b.heal(&[]).code, 65);
}

#[test]
fn what_it_cannot_take_is_refused_and_changes_nothing() {
    let b = broken();
    let at = b.path().join("watchbill.pause");
    for (args, code, why) in [
        (["--until", "later"], 2, "not a time"),
        (["--until", "6:00"], 2, "not a time"),
        (["--until", "1000"], 2, "in the past"),
        (["--for", "15M"], 2, "counts months"),
    ] {
        let told = switch(&b, &[&["pause"][..], &args].concat()).fails(code);
        assert!(told.contains(why), "{args:?}: {told}");
        assert!(!at.exists());
    }
    // As JavaScript and Java count.
    let told = switch(&b, &["pause", "--until", &(now() + 60).saturating_mul(1_000).to_string()]).fails(2);
    assert!(told.contains("more than a year ahead") && told.contains("seconds, not milliseconds"), "{told}");
    assert!(switch(&b, &["pause", "--for", "400d"]).fails(2).contains("--for 400d: more than a year ahead"));
    assert!(!at.exists());
    let both = switch(&b, &["pause", "--until", &(now() + 60).to_string(), "--for", "1h"]);
    assert_eq!(both.code, 2);
    // Whatever has that name pauses already; what is not a plain file was not made by Watchbill, and is not replaced.
    fs::create_dir(&at).unwrap();
    assert!(switch(&b, &["pause"]).fails(74).contains("not a plain file"));
    assert!(switch(&b, &["unpause"]).fails(74).contains("by hand"));
    assert_eq!(b.heal(&[]).code, 75);
}

#[test]
fn a_board_that_is_not_there_is_66_with_the_names_of_those_that_are() {
    let b = broken();
    let call = |args: &[&str]| ran(b.command("watchbill").args(args));
    for verb in ["pause", "unpause"] {
        let said = call(&[verb, "--db", "nothere"]).fails(66);
        assert!(said.ends_with("nothere: no such board"), "{said}");
        assert!(call(&[verb, "--db", "away/nothere"]).fails(66).contains("no such board"));
        let said = call(&[verb, "--board", "nope"]).fails(66);
        assert!(
            said.contains("board nope of ") && said.ends_with("no such board; there are default"),
            "{said}"
        );
        let said = call(&[verb, "--board", "default", "--board", "nope"]).fails(66);
        assert!(said.contains("board nope of "), "{said}");
    }
    assert!(!b.path().join("watchbill.pause").exists(), "none of them is paused");
}

#[test]
fn a_pause_that_may_not_be_looked_for_is_not_called_none() {
    let b = TestBoard::own();
    switch(&b, &["pause"]).ok();
    let look = |json: &[&str]| {
        as_nobody(&b, "watchbill", &[&["unpause", "--db", b.db.to_str().unwrap()], json].concat())
    };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    fs::set_permissions(b.path(), fs::Permissions::from_mode(0o700)).unwrap();
    for json in [&[][..], &["--json"]] {
        let said = look(json);
        assert!(said.code == 77 && !said.out.contains("was not paused"), "{said:?}");
    }
    assert!(b.path().join("watchbill.pause").exists());
}

#[test]
fn the_mark_of_a_moved_board_is_not_replaced() {
    let (b, to) = (TestBoard::own(), tempfile::tempdir().unwrap());
    ran(b.command("board").arg("copy").arg(&b.db).arg(to.path().join("new.db"))).ok();
    let file = b.path().join("kanban.db.watchbill.pause");
    let before = fs::read_to_string(&file).unwrap();
    let said = switch(&b, &["pause", "--for", "1h", "--reason", "a look"]).ok();
    assert!(said.contains(": stays paused") && said.contains(": moved to "), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // All boards are meant, and this one only if it is named.
    let home = b.path().to_str().unwrap();
    let said = ran(b.command("watchbill").args(["unpause", "--hermes-root", home])).ok();
    let named = format!("`watchbill unpause --db {}` ends that", b.db.display());
    assert!(said.contains(": stays paused") && said.contains(&named), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let found = switch(&b, &["doctor"]).out;
    assert!(found.contains("only if that one is not used: `watchbill unpause --db "), "{found}");
    assert!(switch(&b, &["unpause"]).ok().contains("goes on (was: paused"));
    assert!(!file.exists());
}

#[test]
fn the_end_of_a_move_leaves_the_pause_of_the_folder() {
    let (b, to) = (TestBoard::own(), tempfile::tempdir().unwrap());
    ran(b.command("board").arg("copy").arg(&b.db).arg(to.path().join("new.db"))).ok();
    let beside = b.path().join("beside.db");
    ran(b.command("board").arg("init").arg(&beside)).ok();
    let mut paused = b.command("watchbill");
    ran(paused.args(["pause", "--for", "2h", "--reason", "the disk is moved", "--db"]).arg(&beside)).ok();
    let said = switch(&b, &["unpause"]).ok();
    let again = format!("`watchbill unpause --db {}` once more ends that", b.db.display());
    for part in [
        ": ended: paused",
        ": moved to ",
        "; its folder stays paused until ",
        ": the disk is moved; ",
        &again,
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!b.path().join("kanban.db.watchbill.pause").exists());
    let is_paused = |db| b.heal(&["--db", db]).code == 75;
    let [this, other] = [&b.db, &beside].map(|db| db.to_str().unwrap());
    assert!(is_paused(this) && is_paused(other));
    assert!(switch(&b, &["unpause"]).ok().contains("goes on (was: paused until "));
    assert!(!is_paused(this) && !is_paused(other));
}

#[test]
fn an_end_that_the_watchers_of_the_board_ignore_is_said() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let b = broken();
    fs::set_permissions(b.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for (args, is_ignored) in [(&["--for", "2h"][..], true), (&[], false)] {
        let args = [&["pause", "--db", b.db.to_str().unwrap()], args].concat();
        let said = as_nobody(&b, "watchbill", &args).ok();
        assert_eq!(said.contains("other users' watchers ignore that end"), is_ignored, "{said}");
    }
    assert!(!switch(&b, &["pause", "--for", "2h"]).ok().contains("ignore"));
}

/// The clocks of central Europe, without a file of time zones.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

#[test]
fn in_the_nights_of_a_clock_change_it_says_which_time_it_takes() {
    let b = TestBoard::new();
    let pause = |now: &str, until: &str| {
        let mut command = b.command("watchbill");
        command.env("TZ", BERLIN).arg("pause").arg("--db").arg(&b.db);
        ran(command.args(["--now", now, "--until", until]))
    };
    let twice = pause("2026-10-24T23:00:00+02:00", "02:30").ok();
    assert!(
        twice.contains("paused until 2026-10-25 02:30 +01:00 (4h 30m)")
            && twice.contains("twice: this is the later"),
        "{twice}"
    );
    let never = pause("2026-03-28T23:00:00+01:00", "02:30").fails(2);
    assert!(
        never.contains("--until 02:30: not a time on 2026-03-29: the clock is changed and skips it"),
        "{never}"
    );
    assert!(!pause("2026-03-28T23:00:00+01:00", "03:30").ok().contains("twice"));
}
