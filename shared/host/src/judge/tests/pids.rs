//! What became of the recorded pid.

use std::collections::BTreeSet;

use super::*;
use Life::{Alive, Gone, Unknown};

#[test]
fn a_pid_that_is_free() {
    check(&[
        ("absent", |_| {}, Gone, "does not exist"),
        ("zombie", |w| w.recorded = Some(Probe::Exited), Gone, "waits to be collected"),
        ("errno", |w| w.recorded = Some(Probe::Unclear("EMFILE".into())), Unknown, "EMFILE"),
        ("not looked at", |w| w.recorded = None, Unknown, "not looked at"),
        ("other host", |w| w.here = false, Unknown, "claimed on host h"),
        (
            "other host, worker here",
            |w| (w.here, w.scan.marked) = (false, vec![by_command(600, 0)]),
            Unknown,
            "host",
        ),
        ("list not complete", |w| w.scan.gap = Some("EIO".into()), Unknown, "not complete: EIO"),
        ("worker elsewhere", |w| w.scan.marked = vec![by_command(600, 0)], Alive, "pid 600 has the worker's"),
        (
            "worker of another run",
            |w| w.scan.marked = vec![hermes(marked(600, 0, "t_1", Some("6")))],
            Alive,
            "pid 600",
        ),
        (
            "worker found though the list has a gap",
            |w| (w.scan.gap, w.scan.marked) = (Some("EIO".into()), vec![by_command(600, 0)]),
            Alive,
            "600",
        ),
        (
            "a zombie never counts",
            |w| w.scan.marked = vec![Process { zombie: true, ..by_command(600, 0) }],
            Gone,
            "does not exist",
        ),
        ("tools that live on", |w| w.scan.marked = vec![marked(600, 9, "t_1", Some("7"))], Gone, "does not"),
        (
            "a renamed worker of another run",
            |w| (w.ask.workers, w.scan.marked) = (vec![(6, 99)], vec![renamed(600, 0, Some("6"))]),
            Alive,
            "pid 600 is a Hermes process",
        ),
        (
            "the recorded worker of another run, whatever its title",
            |w| (w.ask.workers, w.scan.marked) = (vec![(6, 600)], vec![marked(600, 0, "t_1", Some("6"))]),
            Alive,
            "pid 600 is the recorded worker",
        ),
        (
            "another run of which no worker is recorded",
            |w| (w.ask.workers, w.scan.marked) = (vec![(7, PID)], vec![marked(600, 0, "t_1", Some("6"))]),
            Alive,
            "pid 600 names another attempt",
        ),
        (
            "what another run left behind",
            |w| (w.ask.workers, w.scan.marked) = (vec![(6, 99)], vec![marked(600, 0, "t_1", Some("6"))]),
            Gone,
            "does not exist",
        ),
        (
            "a search for the worker's words, by a shell that works on nothing",
            |w| {
                let grep = Some("grep kanban task t_1".into());
                let of_tasks = BTreeSet::from(["t_1"]);
                w.scan = Scan::over([Process { command: grep, ..process(600, 0) }], &of_tasks);
            },
            Gone,
            "does not exist",
        ),
        (
            "the same left running by the worker",
            |w| {
                let grep = Some("grep work kanban task t_1".into());
                w.scan.marked = vec![Process { command: grep, ..marked(600, 0, "t_1", Some("7")) }];
            },
            Gone,
            "does not exist",
        ),
        (
            "the same, of which nothing else can be read",
            |w| {
                let grep = Some("grep kanban task t_1".into());
                w.scan.marked = vec![Process { command: grep, ..veiled(600, 0) }];
            },
            Alive,
            "command line",
        ),
        (
            "another task's worker",
            |w| w.scan.marked = vec![Process { command: Some("x kanban task t_12".into()), ..veiled(9, 0) }],
            Gone,
            "",
        ),
    ]);
}

#[test]
fn a_pid_that_somebody_has() {
    check(&[
        ("marks", |w| w.present(marked(PID, 1, "t_1", Some("7"))), Alive, "is the worker"),
        ("marks, late start", |w| w.present(marked(PID, 900, "t_1", Some("7"))), Alive, "is the worker"),
        ("marks without a run", |w| w.present(marked(PID, 900, "t_1", None)), Alive, "is the worker"),
        (
            "marks with junk for a run",
            |w| w.present(marked(PID, 900, "t_1", Some("x"))),
            Alive,
            "is the worker",
        ),
        ("command line", |w| w.present(by_command(PID, 900)), Alive, "is the worker"),
        (
            "command line, and an environment that was cleared",
            |w| w.present(hermes(process(PID, 900))),
            Alive,
            "is the worker",
        ),
        (
            "no run on the board",
            |w| (w.ask.run = None, w.present(marked(PID, 900, "t_1", Some("3")))).1,
            Alive,
            "",
        ),
        ("recycled", |w| w.present(process(PID, 61)), Gone, "another process"),
        ("recycled, or the clock was stepped", |w| w.present(process(PID, 60)), Unknown, "cannot tell"),
        (
            "what wrote over its command line and environment",
            |w| w.present(Process { marks: Marks::Overwritten, ..process(PID, 900) }),
            Unknown,
            "cannot tell",
        ),
        (
            "a renamed Hermes, nothing else readable",
            |w| w.present(Process { command: Some("hermes".into()), ..veiled(PID, 900) }),
            Unknown,
            "cannot tell",
        ),
        (
            "a renamed Hermes of another run",
            |w| w.present(renamed(PID, 900, Some("6"))),
            Alive,
            "is the worker",
        ),
        (
            "start time alone",
            |w| (w.ask.hermes_spawned = false, w.present(veiled(PID, 900))).1,
            Unknown,
            "cannot",
        ),
        ("different, but old enough", |w| w.present(process(PID, -900)), Unknown, "cannot tell"),
        ("command of a Hermes worker differs", |w| w.present(veiled(PID, 900)), Gone, "another process"),
        (
            "no command line either",
            |w| w.present(Process { command: None, ..veiled(PID, 900) }),
            Unknown,
            "cannot tell",
        ),
        ("another task's worker", |w| w.present(marked(PID, 900, "t_2", Some("8"))), Gone, "another"),
        (
            "same task, other run, not Hermes",
            |w| (w.ask.hermes_spawned = false, w.present(marked(PID, 900, "t_1", Some("8")))).1,
            Unknown,
            "cannot tell",
        ),
        (
            "kernel thread",
            |w| w.present(Process { kernel: true, command: None, ..veiled(PID, 900) }),
            Gone,
            "",
        ),
        (
            "old kernel thread",
            |w| w.present(Process { kernel: true, command: None, ..veiled(PID, -9) }),
            Unknown,
            "",
        ),
        (
            "nothing readable",
            |w| w.present(Process { ticks: None, ..process(PID, 0) }),
            Unknown,
            "cannot tell",
        ),
        (
            "first thread ended, others run",
            |w| w.present(Process { zombie: true, command: None, ..veiled(PID, 0) }),
            Unknown,
            "cannot tell",
        ),
        (
            "recycled, worker under another pid",
            |w| (w.present(process(PID, 900)), w.scan.marked = vec![by_command(600, 0)]).0,
            Alive,
            "pid 600",
        ),
    ]);
}
