//! Recorded births, and attempts older than the boot.

use super::*;
use Life::{Alive, Gone, Unknown};

#[test]
fn a_recorded_birth() {
    check(&[
        ("same", |w| (w.born(id("b1"), 1), w.present(process(PID, 1))).1, Alive, "recorded start"),
        ("same, late", |w| (w.born(id("b1"), 900), w.present(veiled(PID, 900))).1, Alive, "recorded start"),
        (
            "same by epoch",
            |w| (w.born(epoch(BOOT + 60), 1), w.present(process(PID, 1))).1,
            Alive,
            "recorded start",
        ),
        (
            "same, by Hermes",
            |w| (w.born(within("b1", 1), 1), w.present(veiled(PID, 1))).1,
            Alive,
            "recorded start",
        ),
        (
            "same, and every clock says otherwise",
            |w| {
                w.ask.since = Time(BOOT - 9_000);
                w.born(within("b1", 1), 900);
                w.present(process(PID, 900));
            },
            Alive,
            "recorded start",
        ),
        (
            "other ticks, by Hermes",
            |w| (w.born(within("b1", 1), 1), w.present(process(PID, 2))).1,
            Gone,
            "another",
        ),
        (
            "other ticks, by Hermes, and the clock says reboot",
            |w| {
                w.ask.since = Time(BOOT - 9_000);
                w.born(within("b1", 1), 1);
                w.present(process(PID, 2));
            },
            Gone,
            "pid 500 now belongs",
        ),
        (
            "pid 1 of another container",
            |w| (w.born(within("b1", 9), 1), w.present(process(PID, 1))).1,
            Unknown,
            "claimed in another pid namespace",
        ),
        (
            "pid 1 of another container, where workers are known to share our namespace",
            |w| {
                w.same = true;
                w.born(within("b1", 9), 1);
                w.present(process(PID, 1));
            },
            Gone,
            "pid 500 now belongs",
        ),
        (
            "a start in a time namespace of our own",
            |w| {
                w.facts.is_time_shifted = true;
                w.born(id("b1"), 1);
                w.present(process(PID, 90));
            },
            Unknown,
            "cannot tell",
        ),
        (
            "our container was started again",
            |w| {
                (w.facts.initial_pid_namespace, w.same) = (false, true);
                w.born(within("b1", 9), 1);
                w.present(process(PID, 1));
            },
            Gone,
            "reboot",
        ),
        (
            "pid 1 is not readable",
            |w| (w.born(within("b1", 9), 1), w.facts.init_ticks = None, w.present(process(PID, 1))).0,
            Alive,
            "recorded start",
        ),
        ("other ticks", |w| (w.born(id("b1"), 1), w.present(process(PID, 2))).1, Gone, "another"),
        ("other ticks, veiled", |w| (w.born(id("b1"), 1), w.present(veiled(PID, 2))).1, Gone, "another"),
        (
            "other ticks, nothing else",
            |w| (w.born(id("b1"), 1), w.present(Process { command: None, ..veiled(PID, 2) })).1,
            Unknown,
            "cannot tell",
        ),
        (
            "other ticks, but the marks",
            |w| (w.born(id("b1"), 1), w.present(marked(PID, 2, "t_1", Some("7")))).1,
            Alive,
            "",
        ),
        (
            "other boot",
            |w| (w.born(id("b0"), 1), w.present(Process { command: None, ..veiled(PID, 2) })).1,
            Gone,
            "reboot",
        ),
        // One boot under two ids, as in a unit with a /proc of its own in a container of systemd-nspawn.
        (
            "another id of one boot",
            |w| (w.born(id("b0"), 1), w.present(Process { command: None, ..veiled(PID, 1) })).1,
            Unknown,
            "cannot tell",
        ),
        (
            "another id of one boot, by Hermes",
            |w| (w.born(within("b0", 1), 1), w.present(process(PID, 1))).1,
            Unknown,
            "cannot tell",
        ),
        (
            "other boot by epoch",
            |w| (w.born(epoch(BOOT - 61), 1), w.present(process(PID, 2))).1,
            Gone,
            "another",
        ),
        (
            "other boot by epoch alone",
            |w| (w.born(epoch(BOOT - 61), 1), w.present(Process { command: None, ..veiled(PID, 2) })).1,
            Unknown,
            "cannot tell",
        ),
        (
            "a clock that was stepped",
            |w| (w.born(epoch(BOOT - 9_000), 900), w.present(process(PID, 900))).1,
            Unknown,
            "cannot tell",
        ),
        ("ended", |w| (w.born(id("b1"), 1), w.recorded = Some(Probe::Exited)).0, Gone, "collected"),
    ]);
}

#[test]
fn an_attempt_older_than_the_boot() {
    check(&[
        ("absent", |w| w.ask.since = Time(BOOT - 61), Gone, "reboot"),
        ("at the edge it is not", |w| w.ask.since = Time(BOOT - 60), Gone, "pid 500 does not exist"),
        (
            "claimer unknown",
            |w| (w.ask.since, w.claimer, w.ask.hermes_spawned) = (Time(0), None, false),
            Gone,
            "reboot",
        ),
        ("recorded as of another boot", |w| (w.ask.since = Time(0), w.born(id("b0"), 3)).1, Gone, "reboot"),
        ("recorded as of another boot, and no clock says so", |w| w.born(within("b0", 1), 3), Gone, "reboot"),
        (
            "recorded as of this boot by Hermes",
            |w| (w.ask.since = Time(0), w.born(within("b1", 1), 3)).1,
            Gone,
            "pid 500 does not",
        ),
        ("by epoch", |w| (w.ask.since = Time(0), w.born(epoch(BOOT + 60), 3)).1, Gone, "pid 500 does not"),
        ("by epoch, another", |w| (w.ask.since = Time(0), w.born(epoch(BOOT - 61), 3)).1, Gone, "reboot"),
        ("stranger", |w| (w.ask.since = Time(0), w.present(process(PID, 0))).1, Gone, "reboot"),
        (
            "somebody who might be it after all",
            |w| (w.ask.since = Time(0), w.present(Process { command: None, ..veiled(PID, 0) })).1,
            Unknown,
            "cannot tell",
        ),
        (
            "worker found all the same",
            |w| (w.ask.since, w.scan.marked) = (Time(0), vec![by_command(9, 0)]),
            Alive,
            "9",
        ),
        (
            "recorded as of this boot",
            |w| (w.ask.since = Time(0), w.born(id("b1"), 3)).1,
            Gone,
            "pid 500 does not",
        ),
        ("no claim", |w| (w.no_claim(), w.ask.since = Time(0)).0, Gone, "reboot"),
        (
            "in a namespace",
            |w| (w.ask.since, w.facts.initial_pid_namespace) = (Time(0), false),
            Unknown,
            "pid_namespace",
        ),
    ]);
}
