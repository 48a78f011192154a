//! Namespaces, claimers, orphans, and rows without a pid.

use super::*;
use Life::{Alive, Gone, Unknown};

#[test]
fn namespaces() {
    check(&[
        (
            "not the first",
            |w| w.facts.initial_pid_namespace = false,
            Unknown,
            "host.pid_namespace = \"same\"",
        ),
        ("not the first, same", |w| (w.facts.initial_pid_namespace, w.same) = (false, true), Gone, ""),
        (
            "not the first, worker seen",
            |w| (w.facts.initial_pid_namespace, w.scan.marked) = (false, vec![by_command(6, 0)]),
            Alive,
            "6",
        ),
        ("claimer dead", |w| w.claimer = Some(Probe::Absent), Gone, ""),
        (
            "claimer dead, not Hermes",
            |w| (w.claimer, w.ask.hermes_spawned) = (Some(Probe::Absent), false),
            Unknown,
            "claimer",
        ),
        ("claimer alive, not Hermes", |w| w.ask.hermes_spawned = false, Gone, ""),
        (
            "claimer dead, /proc hides",
            |w| (w.claimer, w.facts.sees_all) = (Some(Probe::Exited), false),
            Unknown,
            "claimer",
        ),
        (
            "claimer dead, one refused",
            |w| (w.claimer, w.scan.denied) = (Some(Probe::Exited), true),
            Unknown,
            "claimer",
        ),
        ("claimer alive, /proc hides", |w| w.facts.sees_all = false, Gone, ""),
        ("no claimer, /proc hides", |w| (w.claimer, w.facts.sees_all) = (None, false), Unknown, "claimer"),
        (
            "claimer recycled, not Hermes",
            |w| {
                w.ask.hermes_spawned = false;
                w.claimer = Some(Probe::Present(process(400, 61)));
            },
            Unknown,
            "claimer",
        ),
        (
            "claimer recycled, not Hermes, same",
            |w| {
                (w.ask.hermes_spawned, w.same) = (false, true);
                w.claimer = Some(Probe::Present(process(400, 61)));
            },
            Gone,
            "",
        ),
        ("no claim", World::no_claim, Gone, "no process names"),
        ("no claim, /proc hides", |w| (w.no_claim(), w.facts.sees_all = false).1, Unknown, "no claim"),
        (
            "no claim, /proc hides, same",
            |w| (w.no_claim(), w.facts.sees_all = false, w.same = true).0,
            Gone,
            "",
        ),
    ]);
}

/// A container has the name of its host, and its pid 1 is the dispatcher: the host's pid 1 is not a claimer, and what has the worker's
/// number in there may be it.
#[test]
fn a_worker_in_a_container_of_our_name_is_not_gone() {
    check(&[
        (
            "its number is in use below",
            |w| w.nested = Some((PID, 900, ticks(2))),
            Unknown,
            "pid 900 has its number",
        ),
        ("by a process that was there before", |w| w.nested = Some((PID, 900, ticks(-90))), Gone, ""),
        ("another number is in use below", |w| w.nested = Some((PID + 1, 900, ticks(2))), Gone, ""),
        ("a person says same", |w| (w.nested, w.same) = (Some((PID, 900, ticks(2))), true), Gone, ""),
        (
            "its claimer is pid 1",
            |w| {
                w.ask.hermes_spawned = false;
                w.claimer = Some(Probe::Present(process(1, -1_000)));
            },
            Unknown,
            "claimer",
        ),
        (
            "its claimer is a thread of the kernel",
            |w| {
                w.facts.sees_all = false;
                w.claimer = Some(Probe::Present(Process { kernel: true, ..process(40, -1_000) }));
            },
            Unknown,
            "claimer",
        ),
        (
            "its claimer started at a time that says nothing here",
            |w| (w.ask.hermes_spawned, w.facts.is_time_shifted) = (false, true),
            Unknown,
            "claimer",
        ),
    ]);
}

/// What `board run` claimed in a container that was started again since: each start has a pid namespace of its own.
#[test]
fn what_an_earlier_start_of_our_container_claimed() {
    fn restarted(w: &mut World) {
        (w.facts.initial_pid_namespace, w.same, w.facts.init_ticks) = (false, true, Some(500));
        (w.ask.namespace, w.ask.hermes_spawned) = (Some("pid:[2]".into()), false);
        w.born(within("b1", 9), 0);
    }
    check(&[
        ("in our own boot", restarted, Gone, "reboot"),
        ("its number is in use again", |w| (restarted(w), w.present(process(PID, 90))).1, Gone, "reboot"),
        (
            "it lives",
            |w| (restarted(w), w.present(marked(PID, 0, "t_1", Some("7")))).1,
            Alive,
            "is the worker",
        ),
        ("nobody says same", |w| (restarted(w), w.same = false).1, Unknown, "another pid namespace"),
        // A sandbox in our container, or a container beside it.
        (
            "one that began later",
            |w| (restarted(w), w.born(within("b1", 501), 0)).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "one that began with ours",
            |w| (restarted(w), w.born(within("b1", 500), 0)).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "without the start of pid 1",
            |w| (restarted(w), w.born(id("b1"), 0)).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "of another boot",
            |w| (restarted(w), w.born(within("b0", 9), 0)).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "claimed on the machine itself",
            |w| (restarted(w), w.ask.namespace = Some("pid:[4026531836]".into())).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "we run on the machine itself",
            |w| (restarted(w), w.facts.initial_pid_namespace = true).1,
            Unknown,
            "another pid namespace",
        ),
        (
            "in a time namespace of our own",
            |w| (restarted(w), w.facts.is_time_shifted = true).1,
            Unknown,
            "another pid namespace",
        ),
        // A number is given again only after every process in it is gone.
        (
            "the kernel gave our namespace the number of that one",
            |w| (restarted(w), w.same = false, w.ask.namespace = Some("pid:[1]".into())).2,
            Gone,
            "reboot",
        ),
    ]);
}

/// The number of the claimer is another process' here: a kernel thread, always alive and older than any claim.
#[test]
fn a_claim_of_another_namespace_is_never_gone() {
    fn elsewhere(w: &mut World) {
        (w.ask.namespace, w.ask.hermes_spawned) = (Some("pid:[2]".into()), false);
        w.born(id("b1"), 0);
    }
    check(&[
        ("claimer alive by its number", elsewhere, Unknown, "another pid namespace"),
        (
            "told by a command line",
            |w| (elsewhere(w), w.ask.hermes_spawned = true).0,
            Unknown,
            "another pid namespace",
        ),
        ("a person says same", |w| (elsewhere(w), w.same = true).0, Unknown, "another pid namespace"),
        (
            "its marks are seen",
            |w| (elsewhere(w), w.scan.marked = vec![marked(600, 1, "t_1", Some("7"))]).0,
            Unknown,
            "another pid namespace",
        ),
        (
            "its own command line is seen",
            |w| (elsewhere(w), w.scan.marked = vec![by_command(600, 1)]).0,
            Alive,
            "600",
        ),
        (
            "of another boot",
            |w| (elsewhere(w), w.born(id("b0"), 0), w.ask.since = w.facts.boot_time.plus(-3_600)).0,
            Gone,
            "reboot",
        ),
        // A container may have a boot id of its own, as under systemd-nspawn.
        ("with another boot id", |w| (elsewhere(w), w.born(id("b0"), 0)).0, Unknown, "another pid namespace"),
        (
            "our own namespace",
            |w| (elsewhere(w), w.ask.namespace = Some("pid:[1]".into())).0,
            Gone,
            "does not exist",
        ),
        (
            "ours cannot be read",
            |w| (elsewhere(w), w.facts.pid_namespace = String::new()).0,
            Gone,
            "does not exist",
        ),
    ]);
    let mut w = world();
    elsewhere(&mut w);
    assert_eq!(w.judge().claimer, Unknown);
    w.claimer = Some(Probe::Absent);
    assert_eq!(w.judge().claimer, Unknown, "its number says nothing here");
}

#[test]
fn nobody_recorded() {
    check(&[
        ("nobody", World::nobody_recorded, Gone, "no process names"),
        (
            "somebody with the marks",
            |w| (w.nobody_recorded(), w.scan.marked = vec![marked(600, 1, "t_1", Some("7"))]).0,
            Unknown,
            "pid 600 names",
        ),
        (
            "somebody with the marks who started us",
            |w| {
                w.nobody_recorded();
                w.scan.marked = vec![marked(600, 1, "t_1", Some("7"))];
                w.scan.own.insert(600);
            },
            Unknown,
            "pid 600 names",
        ),
        (
            "another run's tool",
            |w| {
                w.nobody_recorded();
                (w.ask.workers, w.scan.marked) = (vec![(6, 99)], vec![marked(600, 1, "t_1", Some("6"))]);
            },
            Gone,
            "",
        ),
        (
            "another run's tool, or its worker",
            |w| (w.nobody_recorded(), w.scan.marked = vec![marked(600, 1, "t_1", Some("6"))]).0,
            Alive,
            "pid 600",
        ),
        ("a veiled one", |w| (w.nobody_recorded(), w.scan.veiled = vec![(6, ticks(0))]).0, Unknown, "pid 6"),
        ("an old veiled one", |w| (w.nobody_recorded(), w.scan.veiled = vec![(6, ticks(-6))]).0, Gone, ""),
        (
            "by command line",
            |w| (w.nobody_recorded(), w.scan.marked = vec![by_command(600, 1)]).0,
            Alive,
            "600",
        ),
    ]);
}

#[test]
fn claimers() {
    type Case = (&'static str, fn(&mut World), Life);
    let cases: [Case; 11] = [
        ("alive", |_| {}, Alive),
        ("alive within slack", |w| w.claimer = Some(Probe::Present(process(400, 5))), Alive),
        ("recycled", |w| w.claimer = Some(Probe::Present(process(400, 61))), Gone),
        (
            "recycled, or the clock was stepped",
            |w| w.claimer = Some(Probe::Present(process(400, 60))),
            Unknown,
        ),
        ("absent", |w| w.claimer = Some(Probe::Absent), Gone),
        ("zombie", |w| w.claimer = Some(Probe::Exited), Gone),
        ("errno", |w| w.claimer = Some(Probe::Unclear("x".into())), Unknown),
        ("none recorded", |w| w.claimer = None, Unknown),
        (
            "no start",
            |w| w.claimer = Some(Probe::Present(Process { ticks: None, ..process(400, 0) })),
            Unknown,
        ),
        ("in a namespace", |w| w.facts.initial_pid_namespace = false, Unknown),
        ("of another host", |w| w.here = false, Unknown),
    ];
    for (name, change, life) in cases {
        let mut w = world();
        change(&mut w);
        assert_eq!(w.judge().claimer, life, "{name}");
    }
}

#[test]
fn how_a_worker_ended_is_unknown_while_its_harness_is_stopped() {
    let ended = |of_hermes: bool, harness: Option<Probe>| {
        let mut w = world();
        (w.recorded, w.claimer, w.ask.hermes_spawned) = (Some(Probe::Exited), harness, of_hermes);
        let look = w.judge();
        (look.life, look.worker_pid)
    };
    let harness = |stopped| Some(Probe::Present(Process { stopped, ..process(400, -1_000) }));
    assert_eq!(ended(false, harness(true)), (Alive, Some(400)), "it records the end once it goes on");
    assert_eq!(ended(false, harness(false)), (Gone, None));
    assert_eq!(ended(false, Some(Probe::Absent)), (Unknown, None));
    let later = Some(Probe::Present(Process { stopped: true, ..process(400, 1_000) }));
    assert_ne!(ended(false, later).0, Alive, "its number is another process now");
    assert_eq!(ended(true, harness(true)), (Gone, None), "a worker of Hermes records its end itself");
    let mut w = world();
    (w.claimer, w.ask.hermes_spawned) = (harness(true), false);
    assert_eq!(w.judge().life, Gone, "its end was collected");
    // In a container: by what the claim says of its namespace.
    (w.facts.initial_pid_namespace, w.recorded) = (false, Some(Probe::Exited));
    w.ask.namespace = Some(w.facts.pid_namespace.clone());
    w.ask.birth = Some(Birth { boot: w.facts.boot(), ticks: 1 });
    let look = w.judge();
    assert_eq!((look.life, look.worker_pid), (Alive, Some(400)), "{look:?}");
    w.ask.namespace = Some("pid:[2]".into());
    assert_ne!(w.judge().life, Alive, "its number is another process here");
    w.facts.initial_pid_namespace = true;
    assert_ne!(w.judge().life, Alive, "as it is outside of all containers");
}

#[test]
fn who_works_beside_the_worker() {
    let beside = |workers: &[(i64, i64)], other: Process| {
        let mut w = world();
        w.present(hermes(process(PID, 1)));
        w.ask.workers = [&[(7, PID)], workers].concat();
        w.scan.marked = vec![marked(601, 2, "t_1", Some("7")), other];
        let look = w.judge();
        assert_eq!((look.worker_pid, look.is_older), (Some(PID), false), "{look:?}");
        look.beside
    };
    let of = |run| marked(600, -90, "t_1", Some(run));
    assert_eq!(beside(&[(6, 600)], of("6")), Some((6, 600)), "as it is recorded");
    assert_eq!(beside(&[(6, 99)], of("6")), None, "what an older worker started");
    assert_eq!(beside(&[], of("6")), None, "of which no worker is recorded");
    assert_eq!(beside(&[], hermes(of("6"))), Some((6, 600)), "by its command line");
    assert_eq!(beside(&[], renamed(600, -90, Some("6"))), Some((6, 600)), "under the name of Hermes");
    assert_eq!(beside(&[], hermes(of("7"))), None, "of the same attempt");
    assert_eq!(beside(&[(6, 600)], Process { zombie: true, ..of("6") }), None, "ended");
}

#[test]
fn who_is_an_orphan() {
    let mut w = world();
    w.ask.workers = vec![(6, 98), (7, PID)];
    w.scan.own = [601, 602].into();
    w.scan.marked = vec![
        marked(600, 9, "t_1", Some("7")),
        marked(601, 9, "t_1", Some("7")),
        marked(603, 9, "t_1", Some("6")),
        marked(604, 9, "t_1", None),
        marked(605, 9, "t_2", Some("7")),
        marked(PID, 9, "t_1", Some("7")),
        Process { zombie: true, ..marked(606, 9, "t_1", Some("7")) },
        Process {
            command: Some(format!("/opt/a\u{1b}[31m{} --api-key=sk-secret", "é".repeat(80))),
            ..marked(607, 9, "t_1", Some("7"))
        },
        Process { command: None, ..marked(608, 9, "t_1", Some("7")) },
    ];
    let look = w.judge();
    let pids: Vec<i64> = look.orphans.iter().map(|o| o.pid).collect();
    assert_eq!((look.life, pids), (Gone, vec![600, 603, 604, 607, 608]));
    assert_eq!(look.orphans[1].run, Some(6), "of an earlier attempt");
    assert_eq!(look.orphans[3].command, format!("a[31m{}", "é".repeat(55)));
    let proof = Proof {
        task: "t_1".into(),
        run: Some(7),
        pid: Some(PID),
        start_ticks: None,
        boot_id: "b1".into(),
        namespace: None,
        workers: w.ask.workers.clone(),
    };
    assert_eq!(look.proof, Some(proof));

    // Another worker of the same run is not an orphan either.
    let mut twice = w.clone();
    twice.scan.marked.push(hermes(marked(610, 1, "t_1", Some("7"))));
    assert!(twice.judge().orphans.iter().all(|o| o.pid != 610));

    // The worker's own shell is not an orphan, and the worker above us is still the worker.
    w.scan.marked.push(hermes(marked(602, 1, "t_1", Some("7"))));
    assert_eq!((w.judge().life, w.judge().worker_pid), (Alive, Some(602)));
}

#[test]
fn a_stranger_is_part_of_the_proof() {
    let mut w = world();
    w.present(process(PID, 900));
    assert_eq!(w.judge().proof.unwrap().start_ticks, Some(ticks(900)));
}
