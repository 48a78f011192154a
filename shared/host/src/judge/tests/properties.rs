//! What holds in every world.

use proptest::prelude::*;

use super::*;
use Life::Gone;

fn any_process(pid: i64) -> impl Strategy<Value = Process> {
    let marks = prop_oneof![
        Just(Marks::Unreadable),
        Just(Marks::Overwritten),
        (
            prop::option::of(prop_oneof![Just("t_1"), Just("t_2")]),
            prop::option::of(prop_oneof![Just("7"), Just("8")])
        )
            .prop_map(|(t, r)| Marks::Read { task: t.map(Into::into), run: r.map(Into::into) }),
    ];
    let command = prop::option::of(prop_oneof![Just(WORKER), Just("hermes"), Just("sleep 600")]);
    (marks, command, -9_000_i64..9_000, any::<bool>(), any::<bool>()).prop_map(
        move |(marks, command, at, z, k)| {
            let asked = command.filter(|line| *line == WORKER).map(|_| "t_1".into());
            let command = command.map(Into::into);
            Process { zombie: z, kernel: k && command.is_none(), command, asked, marks, ..process(pid, at) }
        },
    )
}

fn any_world() -> impl Strategy<Value = World> {
    let recorded = prop_oneof![
        Just(Some(Probe::Absent)),
        Just(Some(Probe::Exited)),
        Just(Some(Probe::Unclear("x".into()))),
        any_process(PID).prop_map(|p| Some(Probe::Present(p))),
    ];
    let claimer = prop_oneof![Just(None), Just(Some(Probe::Absent)), Just(world().claimer)];
    let boot = prop_oneof![
        Just(id("b1")),
        Just(within("b1", 1)),
        Just(within("b1", 2)),
        Just(within("b0", 1)),
        Just(id("b0")),
        Just(epoch(BOOT)),
        Just(epoch(BOOT - 900))
    ];
    let birth = prop::option::of((boot, -9_000_i64..9_000));
    let since = prop_oneof![Just(SINCE), Just(BOOT - 900)];
    let flags = prop::array::uniform6(any::<bool>());
    (recorded, claimer, birth, since, flags, prop::option::of(any_process(600))).prop_map(
        |(recorded, claimer, birth, since, [here, same, first, all, hermes, pid], other)| {
            let mut w = World { recorded, claimer, here, same, ..world() };
            (w.facts.initial_pid_namespace, w.facts.sees_all, w.ask.hermes_spawned) = (first, all, hermes);
            w.ask.since = Time(since);
            w.scan.marked = other.into_iter().collect();
            if let Some((boot, at)) = birth {
                w.born(boot, at);
            }
            if !pid {
                w.nobody_recorded();
            }
            w
        },
    )
}

proptest! {
    /// What may never be, whatever the rules above become.
    #[test]
    fn nobody_is_gone_who_may_live(w in any_world()) {
        let look = w.judge();
        prop_assert_eq!(look.proof.is_some(), look.life == Gone);
        if look.life != Gone {
            return Ok(());
        }
        prop_assert!(w.here && (w.same || w.facts.initial_pid_namespace));
        prop_assert!(worker_in(&w.scan, attempt(&w.ask)).is_none());
        if let Some(Probe::Present(p)) = &w.recorded {
            prop_assert!(!is_recorded_worker(p, "t_1", w.ask.run));
            prop_assert!(p.ticks.is_some() && look.proof.unwrap().start_ticks == p.ticks);
            let by_id = |b: &Boot| matches!(b, Boot::Id(_) | Boot::Within { .. });
            let birth = w.ask.birth.as_ref().map(|b| &b.boot).filter(|b| by_id(b));
            let other_boot = birth.is_some_and(|b| !w.facts.is_this_boot(b));
            // A start time alone never proves anything: what it shows of itself must differ too.
            let unlike_hermes = w.ask.hermes_spawned && has_other_command(p, "t_1");
            let marks = matches!(p.marks, Marks::Read { .. });
            prop_assert!(other_boot || p.kernel || marks || unlike_hermes);
        }
        prop_assert!(!matches!(w.recorded, Some(Probe::Unclear(_))));
    }

    /// Seeing less never proves more.
    #[test]
    fn less_sight_is_less_proof(w in any_world()) {
        let life = w.judge().life;
        for dim in [
            (|w: &mut World| w.facts.sees_all = false) as fn(&mut World),
            |w| w.facts.initial_pid_namespace = false,
            |w| w.scan.denied = true,
            |w| w.scan.gap = Some("x".into()),
            |w| w.claimer = None,
            |w| w.ask.hermes_spawned = false,
        ] {
            let mut dimmed = w.clone();
            dim(&mut dimmed);
            prop_assert!(dimmed.judge().life != Gone || life == Gone);
        }
    }
}
