//! Dead at every call that writes: the board is sound, and the next pass ends where an undisturbed one would have.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::scene::{Scene, copy, heal, memory, told};
use super::strace::{Call, calls, disturbed, may_trace};
use super::{in_parallel, must, say};
use crate::support::{TestBoard, ran};

/// What the dead one left on the board, before another process opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    Part,
    All,
}

/// An undisturbed pass: its calls, and the rows it leaves. Traced and untraced ones leave the same.
#[track_caller]
pub(super) fn undisturbed(scene: &Scene) -> (Vec<Call>, String) {
    let b = scene.copy();
    let (all, ended) = calls(&scene.command(&b), b.path());
    assert_eq!(ended.code, Some(0), "{}: {ended:?}", scene.name);
    let left = told(&b, b.dump());
    assert_ne!(left, scene.start(), "{}: a pass with nothing to do shows nothing", scene.name);
    let other = scene.copy();
    ran(&mut scene.command(&other)).ok();
    let again = told(&other, other.dump());
    assert!(again == left, "{}: two undisturbed passes differ:\n{}", scene.name, differs(&left, &again));
    (all, left)
}

/// The next pass ends the same, and one more changes nothing.
pub(super) fn recovers(scene: &Scene, b: &TestBoard, left: &str) -> Result<(), String> {
    let next = ran(&mut scene.command(b));
    must(next.code == 0 || next.code == scene.again, || format!("the next pass: {next:?}"))?;
    let now = told(b, b.dump());
    must(now == left, || format!("another board:\n{}", differs(left, &now)))?;
    must(b.value("PRAGMA integrity_check") == "ok", || "not sound in the end".into())?;
    memory(b)?;
    let more = ran(&mut scene.command(b));
    must(more.code == scene.again && more.err.lines().count() <= 1, || format!("one more pass: {more:?}"))?;
    must(told(b, b.dump()) == now, || "one more pass changed something".into())?;
    memory(b)
}

/// The lines that only one of two texts has.
fn differs(want: &str, got: &str) -> String {
    let only = |a: &str, b: &str, mark: &str| {
        let missing = a.lines().filter(|l| !b.lines().any(|m| m == *l)).map(|l| format!("{mark} {l}\n"));
        missing.take(8).collect::<String>()
    };
    only(want, got, "-") + &only(got, want, "+")
}

/// Kills a pass at each of these calls. Returns a board for each different state that was found.
#[track_caller]
fn dies(scene: &Scene, pick: impl Fn(&usize, &Call) -> bool) -> Vec<TestBoard> {
    let (all, left) = undisturbed(scene);
    let start = scene.start();
    // A name that is new in each run cannot be aimed at. What dies before the page's temporary file is made is what dies
    // right after the call before.
    let (all, random): (Vec<Call>, Vec<Call>) =
        all.into_iter().partition(|c| !(c.name.starts_with("open") && c.has_random_name()));
    let points: Vec<&Call> = all.iter().enumerate().filter(|(n, c)| pick(n, c)).map(|(_, c)| c).collect();
    let kept: Mutex<BTreeMap<String, TestBoard>> = Mutex::default();
    let found = in_parallel(&points, |call| {
        let tell = |e: String| format!("{}, killed at {}: {e}", scene.name, call.told());
        let judge = |b: &TestBoard| -> Result<Found, String> {
            // Looked at in a copy, so that the next pass is the first to find what the dead one left.
            let seen = copy(b);
            must(seen.value("PRAGMA integrity_check") == "ok", || tell("not sound".into()))?;
            let rows = told(b, seen.dump());
            let found = match &rows {
                rows if *rows == start => Found::Nothing,
                rows if *rows == left => Found::All,
                _ => Found::Part,
            };
            must(found != Found::Part || scene.parts > 1, || tell("half a transaction".into()))?;
            kept.lock().unwrap().entry(rows).or_insert(seen);
            recovers(scene, b, &left).map_err(tell)?;
            Ok(found)
        };
        // KILL strikes before the call is done.
        let b = scene.copy();
        let ended = disturbed(&scene.command(&b), b.path(), call, "signal=KILL");
        let at = ended.trace.lines().rfind(|l| l.contains('(')).unwrap_or_default();
        let dead = ended.signal == Some(9) && at.trim_end().ends_with("= ?");
        must(dead, || tell(format!("it did not die there: {ended:?}")))?;
        let found = judge(&b)?;
        // TERM, as systemd sends it at the end of its patience, when it is done: a traced process finishes its call first.
        let b = scene.copy();
        let ended = disturbed(&scene.command(&b), b.path(), call, "signal=TERM");
        let want = if call.name == "exit_group" { (Some(0), None) } else { (None, Some(15)) };
        must((ended.code, ended.signal) == want, || tell(format!("TERM: {ended:?}")))?;
        let after = judge(&b)?;
        must(after >= found, || tell("less after the call than before it".into()))?;
        Ok((call.on(), call.name.clone(), found))
    });
    let mut table: BTreeMap<(String, String), BTreeMap<Found, usize>> = BTreeMap::new();
    for (on, name, found) in &found {
        *table.entry((on.clone(), name.clone())).or_default().entry(*found).or_default() += 1;
    }
    let of = all.len() + random.len();
    let mut text = format!("{}: killed at {} of {of} calls that write\n", scene.name, found.len());
    for ((on, name), counts) in &table {
        let of = |f: Found| counts.get(&f).copied().unwrap_or(0);
        let (none, part, all) = (of(Found::Nothing), of(Found::Part), of(Found::All));
        text.push_str(&format!("  {on:24} {name:12} {none:4} nothing {part:4} part {all:4} all\n"));
    }
    say(&text);
    let of = |f: Found| found.iter().filter(|(_, _, got)| *got == f).count();
    assert!(of(Found::Nothing) > 0 && of(Found::All) > 0, "only one side of the commit was seen");
    assert!(scene.parts == 1 || of(Found::Part) > 0, "nobody died between two transactions");
    kept.into_inner().unwrap().into_values().collect()
}

mod every {
    use super::super::scene;
    use super::*;

    #[test]
    fn call_of_heal() {
        if may_trace() {
            dies(&heal(), |_, _| true);
        }
    }

    #[test]
    fn call_on_the_board_in_two_transactions() {
        if may_trace() {
            dies(&scene::many(), |_, call| call.is_on_board());
        }
    }

    #[test]
    fn call_of_synthesize_distress() {
        if may_trace() {
            dies(&scene::distress(), |_, _| true);
        }
    }

    #[test]
    fn call_of_route_blocked() {
        if may_trace() {
            dies(&scene::route(), |_, _| true);
        }
    }

    #[test]
    fn call_of_budget_check() {
        if may_trace() {
            dies(&scene::budget(), |_, _| true);
        }
    }

    #[test]
    fn call_of_board() {
        if may_trace() {
            dies(&scene::claim(), |_, _| true);
            dies(&scene::block(), |_, _| true);
            dies(&scene::complete(), |_, _| true);
        }
    }

    /// And Hermes takes every state that a dead pass left, and the one after the next pass.
    #[test]
    fn call_on_a_board_that_hermes_made() {
        let Some(scene) = scene::hermes().filter(|_| may_trace()) else { return };
        let mut states = dies(&scene, |_, _| true);
        assert_eq!(states.len(), 2);
        let done = scene.copy();
        ran(&mut scene.command(&done)).ok();
        states.push(done);
        for state in states {
            let home = crate::hermes::home::Home::over(state).unwrap();
            home.accepts(&[&scene.tasks[0]]);
            scene.tasks.iter().for_each(|task| home.sound(task, &home.task(task, "status")));
        }
    }
}
