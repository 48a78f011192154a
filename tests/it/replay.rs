//! `watchbill replay`: another policy on what the watchers saw, read-only and differences only.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shared::config::Config;
use shared::logs::cache::Stored;
use shared::ops::replay::Replayed;
use testkit::sim::Night;

use crate::route::LIMITED;
use crate::support::{Ran, TestBoard, dead_pid, now, ran};

mod month; // a month of live passes through the programs, decided on again

const A: &str = "t_0e0000a1";

/// A month of nights with all that goes wrong in them, every pass in them kept as the programs keep it: decided on again, the
/// policy it was decided by says the same, and another one says something else.
#[test]
fn a_month_decided_on_again_is_the_same_by_the_same_policy_and_not_by_another() {
    let (same, other) =
        (Rc::new(RefCell::new(Replayed::default())), Rc::new(RefCell::new(Replayed::default())));
    for seed in 0..31 {
        let (same, other) = (Rc::clone(&same), Rc::clone(&other));
        let listener = move |stored: Stored, policy: &Config| {
            // Kept and read back: what a file holds is all there is.
            same.borrow_mut().add(&stored, stored.at, policy, policy);
            let mut patient = policy.clone();
            patient.heal.grace = Duration::from_secs(7_200);
            patient.heal.max_resets = 0;
            other.borrow_mut().add(&stored, stored.at, policy, &patient);
        };
        let night = Night::new(seed).heard(Box::new(listener));
        night.unwrap_or_else(|broken| panic!("night {seed}: {broken}"));
    }
    let (same, other) = (same.borrow(), other.borrow());
    assert!(same.passes > 1_500, "{} passes", same.passes);
    assert_eq!((same.changed, same.unreadable, &same.differences), (0, 0, &Vec::new()));
    assert!(other.differences.len() > 50, "{} differences", other.differences.len());
    let not_heal: Vec<_> = other.differences.iter().filter(|d| d.program != "heal").collect();
    assert!(not_heal.is_empty(), "what was changed is heal's alone: {not_heal:?}");
}

impl TestBoard {
    fn replay(&self, later: i64, policy: &str, args: &[&str]) -> Ran {
        let file = self.path().join("new.toml");
        std::fs::write(&file, policy).unwrap();
        let at = (now() + later).to_string();
        let mut command = self.command("watchbill");
        command.args(["replay", "--now", &at, "--config"]).arg(&file).args(args);
        ran(command.arg("--db").arg(&self.db))
    }
}

#[test]
fn real_passes_are_replayed_and_only_what_differs_is_told() {
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 60);
    b.add("t_0e0000b2", "ready");
    b.run_it("t_0e0000b2", Some(dead_pid()), 0);
    // Too early, then too early for one of them, then both.
    assert_eq!(b.heal(&[]).ok(), "");
    let requeued = b.later(400, &[]).ok();
    assert!(requeued.contains("t_0e0000b2 requeue"), "{requeued}");
    assert!(b.later(1_500, &[]).ok().contains(&format!("{A} reset")));
    let (dump, state) = (b.dump(), std::fs::read(b.path().join("state/watchbill/state.db")).unwrap());

    let same = b.config.clone();
    let said = b.replay(1_600, &same, &[]);
    let says = format!(
        "replay: {} says the same as the configuration in force, so nothing differs\n",
        b.path().join("new.toml").display()
    );
    assert_eq!((said.code, said.out.as_str(), said.err), (0, "", says));
    let told = b.replay(1_600, &same, &["-v"]).ok();
    assert!(told.contains("Z: 3; looks: ") && told.contains("in force: 0;"), "{told}");
    assert!(told.contains("were not kept: 0"), "{told}");

    // Sooner: between two passes too, as long as the world stood still.
    let sooner = format!("{same}[heal]\nbackoff = \"3m\"\n");
    let said = b.replay(1_600, &sooner, &[]).ok();
    let line = said.lines().next().unwrap_or_default();
    assert!(line.contains(&format!("{A} heal: would reset (crash-loop): gave up")), "{said}");
    // Never.
    let never = format!("{same}[heal]\nmax_resets = 0\n");
    let said = b.replay(1_600, &never, &[]).ok();
    assert!(said.contains("would escalate (crash-loop)"), "{said}");
    let report: Value = b.replay(1_600, &never, &["--json"]).json();
    assert_eq!((&report["schema"], &report["exit"]), (&json!("watchbill.replay/1"), &json!(0)));
    let board = &report["boards"][0];
    assert_eq!((&board["passes"], &board["changed"], &board["missing"]), (&json!(3), &json!(0), &json!(0)));
    let last = board["differences"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["in_force"]["action"], &last["other"]["action"]),
        (&json!("reset"), &json!("escalate"))
    );
    assert!(b.dump() == dump, "a row changed");
    assert!(std::fs::read(b.path().join("state/watchbill/state.db")).unwrap() == state, "our memory changed");
}

#[test]
fn every_watcher_that_changes_something_is_replayed() {
    let b = TestBoard::fleet();
    b.died_of(A, LIMITED);
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        let at = (now() + 10).to_string();
        ran(b.command(program).arg("--db").arg(&b.db).args(["--now", &at])).ok();
    }
    let alone = b.config.replace("fallbacks = [\"sol\"]", "");
    let said = b.replay(60, &alone, &[]).ok();
    assert!(
        said.contains(&format!("{A} synthesize-distress: would card (gave-up) instead of move (gave-up)")),
        "{said}"
    );
    assert_eq!(b.replay(60, &b.config.clone(), &[]).ok(), "");
}

#[test]
fn an_idle_pass_and_one_that_saw_the_same_keep_nothing() {
    let b = TestBoard::new();
    b.add(A, "ready");
    assert_eq!(b.heal(&[]).ok(), "");
    assert!(!b.path().join("state").exists());
    b.give_up("t_0e0000b2", "pid 4 not alive", 60);
    b.heal(&[]).ok();
    let state = b.path().join("state/watchbill/state.db");
    let kept = std::fs::read(&state).unwrap();
    assert_eq!(b.heal(&[]).ok(), "");
    b.later(60, &["-n", "-v"]).ok();
    assert!(std::fs::read(&state).unwrap() == kept, "the same was kept twice");
    let report = b.replay(700, &b.config.clone(), &["--json"]).json();
    assert_eq!(report["boards"][0]["passes"], 1);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let said = b.replay(0, "", &[]).fails(1);
    assert!(said.starts_with("watchbill replay: nothing is kept of the passes since "), "{said}");
    let said = ran(b.command("watchbill").arg("replay")).fails(2);
    assert!(said.starts_with("watchbill replay: --config: names no configuration to try; "), "{said}");
    assert!(said.contains("--config NEW.toml"), "{said}");
    for (args, code, why) in [
        (&["--since", "soon"][..], 2, "neither a length of time nor a time"),
        (&["--since", "2099-01-01T00:00:00Z"], 2, "not in the past"),
        (&["--db", "/no/such.db"], 66, "/no/such.db"),
    ] {
        let said = b.replay(0, "", args);
        assert!(said.code == code && said.err.contains(why), "{args:?}: {said:?}");
    }
    let said = b.replay(0, "[heal]\ngrace = \"3\"\n", &[]);
    assert_eq!(said.code, 78, "{said:?}");
    // A pass that acted, and whose memory was lost: the board tells that it is missing.
    b.run_it(A, Some(dead_pid()), 900);
    b.heal(&[]).ok();
    std::fs::remove_dir_all(b.path().join("state")).unwrap();
    let report = b.replay(0, "", &["--json"]);
    assert_eq!(report.code, 1);
    let report: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(report["boards"][0]["missing"], 1);
    // One of another version is counted, and does not cost the others their replay.
    b.run_it(A, Some(dead_pid()), 900);
    b.heal(&[]).ok();
    let state = rusqlite::Connection::open(b.path().join("state/watchbill/state.db")).unwrap();
    state.execute_batch("UPDATE passes SET seen = '{\"now\":\"x\",\"strange\":1}'").unwrap();
    drop(state);
    let said = b.replay(0, "", &[]).err;
    assert!(said.starts_with("watchbill replay: 1 pass was kept by another version"), "{said}");
}
