use super::screen::{Look, lines};
use super::*;
use crate::explain::summary::{Command, Shared, Together};
use base::cause::Cause;
use board::Status;
use board::pause::Pause;
use policy::said::Kind;

const NOW: Time = board::testing::NOW;

fn finding(severity: Severity, id: &'static str, about: &str, what: &str) -> Finding {
    Finding {
        id,
        severity,
        about: about.into(),
        what: what.into(),
        todo: Some("watchbill timers install".into()),
        mends: None,
        also: Vec::new(),
    }
}

fn entry(id: &str, shared: Option<(&str, Cause)>, minutes: i64) -> Entry {
    Entry {
        task: id.into(),
        title: "Tidy imports".into(),
        status: Status::Scheduled,
        assignee: Some("nova".into()),
        starter: Some("nova".into()),
        says: "blocked by hand: MIT or Apache?".into(),
        more: None,
        since: NOW.plus(-60 * minutes),
        asked: Some(NOW.plus(-30 * minutes)),
        until: None,
        retried_at: None,
        quiet_until: None,
        due: false,
        deeds: Vec::new(),
        then: None,
        command: Some(Command {
            to: "let it go on".into(),
            run: format!("hermes kanban unblock {id}"),
            together: Some(Together::Several("hermes kanban unblock".into())),
            stops: None,
        }),
        shared: shared.map(|(at, cause)| Shared { at: at.into(), cause }),
        unattended: None,
        refused: None,
    }
}

fn summary(needs_you: Vec<Entry>) -> Summary {
    Summary {
        board: "default".into(),
        path: "/kanban.db".into(),
        since: NOW.plus(-43_200),
        now: NOW,
        paused: None,
        needs_you,
        waiting: Vec::new(),
        healed: Vec::new(),
        left_alone: Vec::new(),
        findings: Vec::new(),
        to_mend: Vec::new(),
        beside: Vec::new(),
        refused_keys: Vec::new(),
        unknown: Vec::new(),
        counts: Counts { done: 12, running: 4, ready: 2 },
    }
}

fn now(needs: Vec<Need>, summary: &Summary) -> Now {
    Now {
        now: NOW,
        since: summary.since,
        host: "vm".into(),
        needs,
        boards: vec![BoardNow::of(summary)],
        unknown: Vec::new(),
        is_remote: false,
    }
}

#[test]
fn one_gateway_of_a_root_is_one_need_on_however_many_boards_work_waits() {
    let found = |id, board: &str| {
        of_findings(&[finding(Severity::Error, id, board, "1 ready task waits")], Some(board))
    };
    let first = |board: &str| if board.starts_with("far") { "far".to_owned() } else { "default".to_owned() };
    let joined = |all: &[(&'static str, &str)]| {
        let all = all.iter().flat_map(|(id, board)| found(id, board)).collect();
        let one = |n: Need| (n.key, n.board, n.says);
        join_gateways(all, first).into_iter().map(one).collect::<Vec<_>>()
    };
    let some =
        |key: &str, board: Option<&str>, says: &str| (key.into(), board.map(str::to_owned), says.into());
    let absent = "dispatcher-absent";
    assert_eq!(
        joined(&[(absent, "night"), ("dispatcher-wedged", "night"), (absent, "far-b")]),
        [
            some("dispatcher-absent:default", Some("night"), "night: 1 ready task waits"),
            some("dispatcher-wedged:night", Some("night"), "night: 1 ready task waits"),
            some("dispatcher-absent:far", Some("far-b"), "far-b: 1 ready task waits"),
        ]
    );
    let says = "a: 1 ready task waits; so it is on b, c, d, e, and 1 more";
    assert_eq!(
        joined(&["a", "b", "c", "d", "e", "f"].map(|board| (absent, board))),
        [some("dispatcher-absent:default", None, says)]
    );
}

#[test]
fn a_second_fault_under_one_name_is_another_matter_and_a_figure_is_none() {
    let about = |id, what: &str| {
        of_findings(&[finding(Severity::Error, id, "night", what)], Some("night")).remove(0).about
    };
    for (id, one, other, differs) in [
        ("board-unreadable", "no such board", "not a task board: it has no table tasks", true),
        ("board-unwritable", "not writable: /a", "not writable: /b", true),
        (
            "pass-failed",
            "its last pass, 1m ago, ended with 65",
            "its last pass, 3m ago, ended with 65",
            false,
        ),
        (
            "pass-failed",
            "its last pass, 1m ago, ended with 65",
            "its last start, 3m ago, failed: signal",
            true,
        ),
        ("disk-low", "40 MiB free", "1.2 GiB free", false),
    ] {
        assert_eq!(about(id, one) != about(id, other), differs, "{id}");
    }
}

#[test]
fn tasks_of_one_refusal_are_one_need_whose_key_no_figure_changes() {
    let quota = Some(("moon", Cause::Quota));
    let one = of_tasks(&summary(vec![entry("t_00000001", quota, 5)]));
    let three = of_tasks(&summary(vec![
        entry("t_00000001", quota, 5),
        entry("t_00000002", None, 3),
        entry("t_00000003", quota, 2),
        entry("t_00000004", Some(("luna", Cause::Credential)), 1),
    ]));
    let keys: Vec<&str> = three.iter().map(|n| n.key.as_str()).collect();
    assert_eq!(keys, ["quota:default:moon", "task:default:t_00000002", "credential:default:luna"]);
    assert_eq!(one[0].key, three[0].key, "a task more is no new episode");
    assert_eq!(three[0].tasks.len(), 2);
    assert_eq!(three[0].since, Some(NOW.plus(-300)));
    assert_eq!(three[0].says, "moon: a quota or the money at its provider was used up; 2 tasks");
    assert_eq!(one[0].says, "moon: a quota or the money at its provider was used up; 1 task");
    assert_eq!(three[1].run.as_deref(), Some("hermes kanban unblock t_00000002"));
}

#[test]
fn what_was_refused_is_unblocked_together_once_that_is_mended() {
    let refused = |id: &str, hand: &str| {
        let mut e = entry(id, Some(("juno", Cause::Credential)), 5);
        let to = Lacking::Key.again().to_owned();
        let together = match hand {
            "board" => Together::Loop("board unblock \"$id\"".into()),
            _ => Together::Several(format!("{hand} unblock")),
        };
        let run = format!("{hand} unblock {id}");
        e.command = Some(Command { to, run, together: Some(together), stops: None });
        e
    };
    let of = |all: Vec<Entry>| of_tasks(&summary(all)).remove(0);
    for hand in ["hermes kanban", "hermes kanban --board night"] {
        let need = of(vec![refused("t_00000001", hand), refused("t_00000002", hand)]);
        let want = format!(
            "    do: put a working key into the configuration of juno, then run\n    $ {hand} unblock t_00000001 t_00000002"
        );
        assert_eq!(remedy(&need).collect::<Vec<_>>().join("\n"), want);
    }
    let many = (1..=99).map(|n| refused(&format!("t_{n:08}"), "hermes kanban")).collect();
    let many = of(many);
    assert!(many.run.is_some_and(|run| run.ends_with(" t_00000016") && run.len() < 240));
    assert!(
        many.todo.is_some_and(|todo| todo.contains("then run (16 of 99 tasks are named here; `watchbill "))
    );
    let own = of(vec![refused("t_00000001", "board"), refused("t_00000002", "board")]);
    let each = "for id in t_00000001 t_00000002; do board unblock \"$id\"; done";
    assert_eq!(own.run.as_deref(), Some(each), "it takes one task");
    // Another profile takes it: nothing is to be mended first.
    let mut moved = refused("t_00000001", "hermes kanban");
    moved.command.as_mut().unwrap().to = "give it to sol".into();
    assert_eq!(of(vec![moved]).todo, None);
}

#[test]
fn what_is_tried_by_itself_says_what_a_person_does_besides() {
    let at = "127.0.0.1:9";
    let silent = |id: &str, is_tried: bool| {
        let mut e = entry(id, Some((at, Cause::ConnectionRefused)), 31);
        e.command = (!is_tried).then(|| Command {
            to: Lacking::Endpoint.again().to_owned(),
            run: format!("hermes kanban unblock {id}"),
            together: Some(Together::Several("hermes kanban unblock".into())),
            stops: None,
        });
        e
    };
    let of = |all: Vec<Entry>| of_tasks(&summary(all)).remove(0);
    let need = of(vec![silent("t_00000001", true), silent("t_00000002", false), silent("t_00000003", false)]);
    assert_eq!(need.key, "connection_refused:default:127.0.0.1:9");
    assert_eq!(need.says, "127.0.0.1:9: nobody answers at this address; 3 tasks");
    assert_eq!(need.run.as_deref(), Some("hermes kanban unblock t_00000002 t_00000003"));
    let todo = "see why nobody answers at 127.0.0.1:9; once it can be reached from here, run";
    assert!(need.todo.as_deref().is_some_and(|said| said.starts_with(todo)), "{:?}", need.todo);
    // While its only task is tried, nothing is to be run.
    let need = of(vec![silent("t_00000001", true)]);
    assert_eq!(need.run, None);
    let todo = "see why nobody answers at 127.0.0.1:9; its tasks are tried again by themselves";
    assert_eq!(need.todo.as_deref(), Some(todo));
    let error = "[Errno 13] Permission denied: '/srv/x'";
    let need = of(vec![entry("t_00000001", Some((error, Cause::SpawnError)), 1)]);
    assert_eq!(need.says, format!("no worker can be started: {error}; 1 task"));
}

#[test]
fn a_finding_with_one_command_is_a_need_with_that_command() {
    let mut f = finding(Severity::Error, "dispatcher-absent", "default", "1 ready task waits");
    f.mends = Some(policy::remedy::dispatcher(false));
    let need = of_findings(&[f], Some("default")).remove(0);
    assert_eq!(need.run.as_deref(), Some("hermes gateway run"));
    assert!(need.todo.is_some_and(|todo| todo.contains("it worked if ready tasks run")));
}

#[test]
fn a_headline_goes_on_in_a_second_line() {
    let quota = Some(("127.0.0.1:18471", Cause::Quota));
    let s = summary((1..=3).map(|n| entry(&format!("t_0000000{n}"), quota, 180)).collect());
    let text = lines(&now(of_tasks(&s), &s), Look { width: Some(80), colour: false });
    let head: Vec<&str> = text.lines().skip(1).take(2).collect();
    let want = ["! 127.0.0.1:18471: a quota or the money at its provider was used up; 3 tasks,", "  for 3h"];
    assert_eq!(head, want, "{text}");
    assert!(text.lines().all(|l| l.starts_with("    ") || l.chars().count() <= 80), "{text}");
}

#[test]
fn what_to_do_and_what_was_found_go_on_below_where_the_terminal_is_narrow() {
    let long =
        "a sentence that is longer than a terminal of eighty columns is wide, as many are, and ends here";
    let mut f = finding(Severity::Error, "disk-low", "/srv", "40 MiB free");
    f.todo = Some(long.into());
    let mut s = summary(Vec::new());
    s.beside = vec![long.into()];
    let text = |width| lines(&now(of_findings(&[f.clone()], None), &s), Look { width, colour: false });
    let narrow = text(Some(80));
    assert!(narrow.lines().all(|l| l.chars().count() <= 80) && !narrow.contains('…'), "{narrow}");
    assert_eq!(narrow.lines().filter(|l| l.ends_with(" and ends here")).count(), 2, "{narrow}");
    assert_eq!(text(None).matches(long).count(), 2, "elsewhere no line is cut");
}

#[test]
fn tasks_that_another_profile_takes_are_assigned_together() {
    let taken = |id: &str, profile: &str| {
        let line = |id: &str| format!("hermes kanban reassign {id} {profile} && hermes kanban unblock {id}");
        let command = Command {
            to: format!("assign it to {profile}"),
            run: line(id),
            together: Some(Together::Loop(line("\"$id\""))),
            stops: None,
        };
        Entry { command: Some(command), ..entry(id, Some(("juno", Cause::Credential)), 5) }
    };
    let of = |all: Vec<Entry>| of_tasks(&summary(all)).remove(0);
    let one = of(vec![taken("t_00000001", "sol")]);
    assert_eq!(
        one.run.as_deref(),
        Some("hermes kanban reassign t_00000001 sol && hermes kanban unblock t_00000001")
    );
    // An id is untrusted text; another profile is another command.
    let some = of(vec![taken("t_00000001", "sol"), taken("t_1; ls", "sol"), taken("t_00000003", "nova")]);
    let want = "for id in t_00000001 't_1; ls'; do hermes kanban reassign \"$id\" sol && hermes kanban unblock \"$id\"; done";
    assert_eq!(some.run.as_deref(), Some(want));
    assert_eq!(
        some.todo.as_deref(),
        Some("2 of 3 tasks are named here; `watchbill status` then names the others")
    );
    let many = of((1..=99).map(|n| taken(&format!("t_{n:08}"), "sol")).collect());
    assert!(many.run.is_some_and(|run| run.contains(" t_00000016; do ") && run.len() < 320));
    assert!(many.todo.is_some_and(|todo| todo.starts_with("16 of 99 tasks ")));
}

#[test]
fn one_kind_of_finding_is_one_need_and_what_stops_nothing_is_none() {
    let all = [
        finding(Severity::Error, "timers-missing", "heal", "nothing starts it"),
        finding(Severity::Error, "timers-missing", "route-blocked", "nothing starts it"),
        finding(Severity::Warning, "timers-missing", "budget-check", "nothing starts it"),
        finding(Severity::Error, "fallback-missing", "default", "no profile has one"),
        finding(Severity::Warning, "pass-failed", "heal", "exit 1"),
        finding(Severity::Error, "pass-overdue", "heal", "2h ago"),
    ];
    let needs = of_findings(&all, None);
    let said: Vec<(&str, &str)> = needs.iter().map(|n| (n.key.as_str(), n.says.as_str())).collect();
    assert_eq!(
        said,
        [("timers-missing", "heal, route-blocked: nothing starts it"), ("pass-overdue", "heal: 2h ago")]
    );
    let mut all = needs;
    all.extend(of_findings(
        &[finding(Severity::Error, "board-unreadable", "default", "no permission")],
        Some("default"),
    ));
    sort(&mut all);
    assert_eq!(all[0].cause, "board-unreadable", "what else is wrong may come of that");
    let low = |severity| of_findings(&[finding(severity, "disk-low", "/srv", "40 MiB free")], None);
    assert_eq!(low(Severity::Error)[0].says, "/srv: 40 MiB free");
    assert!(low(Severity::Warning).is_empty(), "a board can be written still");
    let board = [finding(Severity::Warning, "dispatcher-absent", "default", "none is seen")];
    assert!(of_findings(&board, Some("default")).is_empty(), "no work waits for one");
    assert!(!is_stopper(&board[0]));
}

#[test]
fn a_good_night_is_one_line_and_a_bad_one_twelve() {
    let plain = Look { width: Some(80), colour: false };
    let good = summary(Vec::new());
    let text = lines(&now(Vec::new(), &good), plain);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.ends_with(": nothing needs you; 4 running, 2 ready; 12 done in 12h\n"), "{text}");

    let mut bad =
        of_findings(&[finding(Severity::Error, "timers-missing", "heal", "nothing starts it")], None);
    let tasks = (1..=9).map(|n| entry(&format!("t_0000000{n}"), None, n)).collect();
    let bad_summary = summary(tasks);
    bad.extend(of_tasks(&bad_summary));
    sort(&mut bad);
    let text = lines(&now(bad, &bad_summary), plain);
    assert!(text.lines().count() <= 12, "{text}");
    assert!(text.lines().all(|l| l.starts_with("    $") || l.chars().count() <= 80), "{text}");
    assert!(text.lines().next().is_some_and(|l| l.contains(": 10 things need you; ")), "{text}");
    assert!(text.lines().nth(1).is_some_and(|l| l == "! heal: nothing starts it"), "{text}");
    assert!(text.ends_with("and 5 more: watchbill report\n"), "{text}");
}

#[test]
fn what_was_not_seen_is_never_called_well() {
    let mut s = summary(Vec::new());
    s.unknown.push("12 more tasks were not looked at".into());
    let text = lines(&now(Vec::new(), &s), Look { width: None, colour: true });
    assert!(text.contains(": not everything could be looked at; "), "{text}");
    assert!(text.starts_with("\u{1b}[1;33m") && text.contains("? default: 12 more tasks"), "{text}");
    assert!(!text.contains("nothing needs you"), "{text}");
}

#[test]
fn what_was_found_of_the_board_itself_is_never_called_nothing() {
    let mut s = summary(Vec::new());
    s.beside = (1..=7).map(|n| format!("finding {n}").into()).collect();
    let text = lines(&now(Vec::new(), &s), Look { width: None, colour: false });
    assert!(text.contains(": look at the board itself; "), "{text}");
    assert!(text.contains("\n! default: finding 5\n  and 2 more of these: watchbill report\n"), "{text}");
    assert!(!text.contains("nothing needs you"), "{text}");

    let mut unread = now(Vec::new(), &summary(Vec::new()));
    unread.unknown.push("/other.db: is busy".into());
    let text = lines(&unread, Look { width: None, colour: false });
    assert!(
        text.contains(": not everything could be looked at; ") && text.ends_with("\n? /other.db: is busy\n"),
        "{text}"
    );
}

#[test]
fn what_waits_in_review_or_in_triage_is_one_need_each() {
    let wait = |id: &str, unattended: Option<Unattended>, says: &str| Entry {
        unattended,
        says: says.into(),
        command: Some(Command {
            to: "read it".into(),
            run: format!("hermes kanban show {id}"),
            together: Some(Together::Loop("hermes kanban show \"$id\"".into())),
            stops: None,
        }),
        ..entry(id, None, 60)
    };
    let needs = of_tasks(&summary(vec![
        wait("t_00000001", Some(Unattended::Review), "in review for 1h, and nobody reviews it"),
        wait("t_00000002", Some(Unattended::Triage), "in triage for 1h, and nobody specifies it"),
        wait("t_00000003", Some(Unattended::Review), "in review for 1h, and nobody reviews it"),
        wait("t_00000007", Some(Unattended::NotPromoted), "in todo, for more than 2h"),
        wait("t_00000004", None, "in triage, blocked again and again for one reason"),
        wait("t_00000005", Some(Unattended::UnknownState), "in a state this version does not know (shelved)"),
        wait("t_00000006", Some(Unattended::UnknownState), "in a state this version does not know (shelved)"),
    ]));
    let said: Vec<_> = needs.iter().map(|n| (n.key.as_str(), n.says.as_str())).collect();
    let want = [
        (
            "task:default:t_00000004",
            "t_00000004 Tidy imports: in triage, blocked again and again for one reason",
        ),
        ("review:default", "2 tasks are in review, and nobody reviews them"),
        ("triage:default", "t_00000002 Tidy imports: in triage, and nobody specifies it"),
        (
            "not-promoted:default:nova",
            "t_00000007 Tidy imports: free to go on, and no dispatcher promotes it",
        ),
        (
            "unknown-state:default",
            "2 tasks are in a state that this version does not know, and nobody looks after them",
        ),
    ];
    assert_eq!(said, want);
    let todo = |n: usize| needs[n].todo.as_deref().unwrap();
    assert_eq!(todo(1), "read each, then accept it with `complete`, or send it back");
    assert_eq!(
        todo(2),
        "specify it: a model does that, which costs tokens; the dispatcher of Hermes does so if `kanban.auto_decompose` is on"
    );
    let run = "for id in t_00000001 t_00000003; do hermes kanban show \"$id\"; done";
    assert_eq!(needs[1].run.as_deref(), Some(run));
}

#[test]
fn what_waits_for_an_orchestrator_that_is_not_there_is_one_need() {
    let wait = |id: &str| Entry {
        says: "blocked; there is no profile ada, so nobody takes card t_0000caf1".into(),
        unattended: Some(Unattended::NoOrchestrator),
        ..entry(id, None, 90)
    };
    let needs = of_tasks(&summary(vec![wait("t_00000001"), wait("t_00000002")]));
    let [need] = needs.as_slice() else { panic!("{needs:?}") };
    assert_eq!((need.key.as_str(), need.tasks.len()), ("no-orchestrator:default", 2));
    assert_eq!(
        need.says,
        "2 tasks wait for their cards, and nobody takes the cards; t_00000001: blocked; there is no profile ada, so nobody takes card t_0000caf1"
    );
}

#[test]
fn what_is_to_be_done_and_its_command_are_one() {
    let wait = |to: &str| Entry {
        unattended: Some(Unattended::NoOrchestrator),
        command: Some(Command { to: to.into(), run: "a command".into(), together: None, stops: None }),
        ..entry("t_00000001", None, 90)
    };
    for (to, run, todo) in [
        (summary::MAKE_ORCHESTRATOR, Some("a command"), "make that profile, "),
        ("read the card that asks about it", None, "have that profile listed, "),
    ] {
        let need = of_tasks(&summary(vec![wait(to)])).remove(0);
        assert_eq!(need.run.as_deref(), run);
        assert!(need.todo.as_deref().unwrap().starts_with(todo), "{need:?}");
    }
}

#[test]
fn what_comes_after_a_look_is_said_before_its_command() {
    let then = "look at it; if it makes no progress, stop it: `coord abort t_1`".to_owned();
    let needs = of_tasks(&summary(vec![Entry { then: Some(then.clone()), ..entry("t_1", None, 5) }]));
    assert_eq!(needs[0].todo, Some(then));
}

#[test]
fn what_is_asked_again_is_dated_and_what_a_provider_refuses_by_the_new_tries_of_a_person() {
    let asked = |all: Vec<Entry>| of_tasks(&summary(all)).remove(0).asked.map(|at| NOW.since(at));
    assert_eq!(asked(vec![entry("t_00000001", None, 5)]), Some(150));
    let refused = |id: &str, retried: Option<i64>| Entry {
        asked: retried.map(|ago| NOW.plus(-ago)),
        ..entry(id, Some(("moon", Cause::Quota)), 5)
    };
    let never = NOW.since(Time(0));
    for (tries, newest) in [
        (&[None][..], never),
        // One that joins is the same matter.
        (&[None, None], never),
        (&[Some(60), None, Some(90)], 60),
    ] {
        let all = tries.iter().zip(1..).map(|(ago, n)| refused(&format!("t_0000000{n}"), *ago)).collect();
        assert_eq!(asked(all), Some(newest), "{tries:?}");
    }
    let waits = |why, minutes| Entry { unattended: Some(why), ..entry("t_00000001", None, minutes) };
    for (why, newest) in [(Unattended::Review, Some(300)), (Unattended::NotStarted, None)] {
        assert_eq!(asked(vec![waits(why, 90), waits(why, 5)]), newest, "{why:?}");
    }
}

#[test]
fn that_a_wait_never_ends_is_said_once_of_one_task_and_of_several() {
    let wait = |id: &str| Entry {
        unattended: Some(Unattended::Endless),
        says: "in todo: it waits for itself; that never happens".into(),
        ..entry(id, None, 60)
    };
    for (ids, says, todo) in [
        (
            &["t_00000001"][..],
            "t_00000001 Tidy imports: in todo: it waits for itself; that never happens",
            "take this wait away",
        ),
        (
            &["t_00000001", "t_00000002"],
            "2 tasks wait for something that never happens; t_00000001: in todo: it waits for itself",
            "take this wait away; `watchbill status` then names the next one",
        ),
    ] {
        let need = of_tasks(&summary(ids.iter().map(|id| wait(id)).collect())).remove(0);
        assert_eq!((need.says.as_str(), need.todo.as_deref()), (says, Some(todo)));
        // One that joins is told, however old its own state is.
        assert!(need.about.iter().eq(ids), "{need:?}");
    }
}

#[test]
fn a_task_that_runs_or_is_ready_is_not_counted_as_waiting_too() {
    let mut s = summary(Vec::new());
    let waits = |id: &str, status| Entry { status, ..entry(id, None, 5) };
    s.waiting =
        vec![waits("t_1", Status::Running), waits("t_2", Status::Ready), waits("t_3", Status::Scheduled)];
    assert_eq!(BoardNow::of(&s).waiting, 1);
}

#[test]
fn the_work_of_each_profile_that_nobody_starts_is_a_need_of_its_own() {
    let of = |id: &str, who: Option<&str>| Entry {
        starter: who.map(str::to_owned),
        unattended: Some(Unattended::Unclaimed),
        ..entry(id, None, 90)
    };
    let said = |all: Vec<Entry>| -> Vec<(String, String)> {
        of_tasks(&summary(all)).into_iter().map(|n| (n.key, n.says)).collect()
    };
    let luna = || ("unclaimed:own:luna", "t_00000001 Tidy imports: ready, and nobody claims it");
    let nova = || ("unclaimed:own:nova", "2 tasks of nova are ready, and nobody claims them");
    let any = || ("unclaimed:own:", "t_00000004 Tidy imports: ready, and nobody claims it");
    for (all, want) in [
        (&["luna"][..], vec![luna()]),
        (&["luna", "nova", "nova"], vec![luna(), nova()]),
        (&["luna", "nova", "nova", ""], vec![any(), luna(), nova()]),
    ] {
        let named = |who: &&str| Some(*who).filter(|who| !who.is_empty()).map(str::to_owned);
        let all =
            all.iter().enumerate().map(|(n, who)| of(&format!("t_0000000{}", n + 1), named(who).as_deref()));
        let want: Vec<_> =
            want.iter().map(|(key, says)| (key.replace(":own:", ":default:"), (*says).to_owned())).collect();
        assert_eq!(said(all.collect()), want);
    }
    for (why, at) in [
        (Unattended::NotStarted, "not-started:default:nova"),
        (Unattended::Unseen, "dispatcher-unseen:default:nova"),
        (Unattended::NotPromoted, "not-promoted:default:nova"),
        (Unattended::Review, "review:default"),
    ] {
        let one = Entry { unattended: Some(why), ..entry("t_00000001", None, 90) };
        assert_eq!(of_tasks(&summary(vec![one]))[0].key, at);
    }
}

#[test]
fn what_was_found_of_a_board_is_a_need_whose_key_no_figure_changes() {
    let of = |said: &str| {
        let mut s = summary(Vec::new());
        s.to_mend = vec![said.into()];
        let text = lines(&now(of_board(&s), &s), Look { width: None, colour: false });
        assert!(text.contains(": 1 thing needs you; ") && text.matches(said).count() == 1, "{text}");
        let need = of_board(&s).remove(0);
        assert_eq!((need.cause.as_str(), need.board.as_deref()), (FOUND, Some("default")));
        need.key
    };
    let (one, later) = ("luna1 is odd (2), for 7m: see 06:00", "luna1 is odd (13), for 12h: see 18:15.");
    assert_eq!(of(one), of(later));
    assert_ne!(of(one), of(&one.replace("luna1", "luna2")));
    // Not what ends by itself.
    let mut s = summary(Vec::new());
    s.beside = vec!["host moon is silent".into()];
    assert!(of_board(&s).is_empty());
    assert_eq!(BoardNow::of(&s).findings, ["host moon is silent"]);
}

#[test]
fn what_doctor_says_of_a_board_is_told_once() {
    let (warning, error) = (Severity::Warning, Severity::Error);
    for (kind, id, severity, least, is_told) in [
        (Kind::Replaced, "board-replaced", error, error, true),
        (Kind::WrongRow, "clock-behind", warning, warning, true),
        // A status lists errors alone, and an error of that name is about something else.
        (Kind::WrongRow, "clock-behind", warning, error, false),
        (Kind::WrongRow, "clock-behind", error, warning, false),
        (Kind::Other, "board-replaced", error, error, false),
        (Kind::Replaced, "board-split", error, error, false),
    ] {
        let mut s = summary(Vec::new());
        s.to_mend = vec![Said::of(kind.clone(), "the same words".into())];
        s.beside.clone_from(&s.to_mend);
        s.without(&[finding(severity, id, "default", "the same words")], least);
        let want = usize::from(!is_told);
        assert_eq!((s.to_mend.len(), s.beside.len()), (want, want), "{kind:?} {id} {severity:?} {least:?}");
    }
}

#[test]
fn cards_that_a_refused_orchestrator_cannot_take_say_what_it_lacks() {
    use crate::explain::summary::Refused;
    for (lacking, at, todo) in [
        (Lacking::Key, "tuesday", "put a working key into the configuration of tuesday, or name "),
        (Lacking::Quota, "moon", "moon needs money or a new quota, or name another orchestrator "),
    ] {
        let refused = Refused { names: vec!["tuesday".into()], why: "no".into(), at: at.into(), lacking };
        let wait = Entry {
            says: "blocked; the key of tuesday is refused, so nobody takes card t_0000caf1".into(),
            unattended: Some(Unattended::NoOrchestrator),
            refused: Some(refused),
            ..entry("t_00000001", None, 90)
        };
        let missing = Entry { unattended: wait.unattended, ..entry("t_00000002", None, 90) };
        let needs = of_tasks(&summary(vec![wait, missing]));
        let keys: Vec<&str> = needs.iter().map(|n| n.key.as_str()).collect();
        let key = format!("no-orchestrator:default:{}:{at}", lacking.cause());
        assert_eq!(keys, ["no-orchestrator:default", key.as_str()]);
        // No command on its task does anything about that.
        assert_eq!(needs[1].run, None);
        assert!(needs[1].todo.as_ref().is_some_and(|t| t.starts_with(todo)), "{needs:?}");
    }
}

#[test]
fn a_pause_is_a_need_where_nobody_ended_it_and_work_waits_for_it() {
    let hours = |n: i64| Some(NOW.plus(-3_600 * n));
    let pause = |since: Option<Time>| Pause { since, by: Some("anna".into()), ..Pause::default() };
    let until = Pause { until: Some(NOW.plus(60)), ..pause(hours(9)) };
    let of = |seconds: i64| Pause { until: hours(9).map(|at| at.plus(seconds)), ..pause(hours(9)) };
    let moved = Pause::of_move("pg", None, NOW.plus(-90_000), None);
    for (pause, waits, due, want, why) in [
        (pause(hours(9)), 120, true, true, "it was forgotten"),
        (pause(hours(2)), 120, true, true, "for two hours"),
        (pause(None), 120, true, true, "an empty file has no begin"),
        (pause(hours(1)), 600, true, false, "it is a short one"),
        (pause(hours(9)), 119, true, false, "nothing has waited for long"),
        (pause(hours(9)), 600, false, false, "nothing waits for a pass"),
        (until, 600, true, false, "it ends by itself"),
        (of(86_400), 600, true, false, "it ends within a day"),
        (of(86_401), 600, true, true, "it lasts for more than a day"),
        (moved, 600, true, false, "the board was moved"),
    ] {
        let mut s = summary(Vec::new());
        s.waiting = vec![Entry { due, ..entry("t_00000001", None, waits) }];
        let need = of_pause(&s, &pause, "/srv/a b/kanban.db");
        assert_eq!(need.is_some(), want, "{why}");
        let Some(need) = need else { continue };
        assert_eq!((need.key.as_str(), need.tasks.len()), ("board-paused:default", 1), "{why}");
        let begin = if pause.until.is_some() { "paused until " } else { "paused by anna" };
        assert!(need.says.starts_with(begin), "{}", need.says);
        assert!(need.says.ends_with("by anna; 1 task waits for a pass"), "{}", need.says);
        assert_eq!(need.run.as_deref(), Some("watchbill unpause --db '/srv/a b/kanban.db'"));
    }
}

#[test]
fn a_board_that_no_pass_can_write_is_a_need() {
    for id in ["board-too-old", "board-unwritable", "board-damaged", "board-split"] {
        let found = finding(Severity::Error, id, "old", "no table of attempts");
        let need = of_findings(&[found], Some("old")).remove(0);
        assert_eq!((need.key, need.says), (format!("{id}:old"), "old: no table of attempts".to_owned()));
    }
}
