//! Chapters of tasks that are reworded, moved, freed, or born finished, and of what the newest runs say.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::board::image::{Cell, Column, Turn};
use shared::board::{
    Answer, Begin, Change, Detail, FirstEvent, Link, NewTask, Outcome, Pin, RunRef, Status, hermes,
};
use shared::policy::authorship::starts_anew;

use super::{BEGAN, Foreign, Teller, kinds, newest, on_both, step, trail};

const A: &str = "t_000000a1";
const B: &str = "t_000000b2";
const C: &str = "t_000000c3";

fn another(id: &str, done: Option<&str>) -> Change {
    let first = |kind: &str| FirstEvent { kind: kind.into(), payload: json!({"by": "heal"}) };
    let task = NewTask {
        title: "Was decided already".into(),
        assignee: Some("nova".into()),
        idempotency_key: Some(format!("key-{id}")),
        ..NewTask::default()
    };
    Change::AddAnother {
        id: id.into(),
        status: if done.is_some() { Status::Done } else { Status::Ready },
        task: Box::new(task),
        events: ["created", "completed", "edited"].map(first).into(),
        done: done.map(str::to_owned),
    }
}

#[test]
fn a_task_is_born_finished_with_a_past() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        let seen = t.look(A);
        // The run of the other task does not count as the new run of this step.
        let mine = Change::AddEvent { kind: "edited".into(), payload: Value::Null, run: Some(RunRef::New) };
        let outcome = t.step(A, Some(&seen), vec![another(B, Some("nova decides")), mine]);
        assert_eq!(outcome, Outcome::Applied { run: None });
        assert_eq!(newest(&t.look(A), "edited").run, None);

        let born = t.look(B);
        assert_eq!((born.task.status.clone(), born.task.current_run), (Status::Done, None));
        let run = &born.runs[0];
        assert_eq!((born.runs.len(), run.profile.as_deref(), run.status.as_str()), (1, Some("nova"), "done"));
        assert_eq!(
            (run.outcome.as_deref(), run.summary.as_deref(), run.started_at, run.ended_at),
            (Some("completed"), Some("nova decides"), BEGAN, Some(BEGAN))
        );
        assert_eq!(kinds(&born), ["created", "completed", "edited"]);
        let runs: Vec<_> = born.events.iter().map(|e| e.run).collect();
        assert_eq!(runs, [None, Some(run.id), None]);

        t.does(A, |_| vec![another(C, None)]);
        let open = t.look(C);
        assert_eq!((open.runs.len(), open.events[1].run), (0, None));
        // What is taken leaves no run behind.
        t.is_refused(A, |_| vec![another(C, Some("again"))]);
        assert_eq!(t.board.recent_runs(9).unwrap().len(), 1);
    });
}

#[test]
fn a_title_makes_a_card_only_of_what_names_a_task_of_the_board() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Todo, &[]);
        t.adds(C, Status::Ready, &[B]);
        for (title, want) in [
            ("[BLOCKED] t_000000a1 rate_limited", true),
            ("[blocked] t_000000a1: help", true),
            ("[BLOCKED] t_000000a1", true),
            ("[BLOCKED] t_0000dead rate_limited", false),
            ("[BLOCKED] PROJ-12: help", false),
            ("[BLOCKED] deploy", false),
            ("[BLOCKED] Legal has to choose the licence", false),
            ("About t_000000a1", false),
        ] {
            t.other(Foreign::Set(B, "title", json!(title)));
            let open = t.board.glance(&[Status::Todo]).unwrap();
            let row = t.board.titled(&[B.to_owned()]).unwrap();
            let (open, row) = (t.hear(open), t.hear(row));
            let own = t.look(B).task.clone();
            for task in [&open[0], &row[0], &own] {
                assert_eq!((task.id.as_str(), task.is_card()), (B, want), "{title}");
            }
            let child = t.look(C);
            assert_eq!(child.parents[0].is_card(), want, "{title}");
            assert_eq!(child.cards.len(), usize::from(want), "{title}");
        }
        // One of our own is a card whatever its title shows.
        t.other(Foreign::Set(B, "title", json!("[BLOCKED] my task dependency")));
        t.other(Foreign::Set(B, "idempotency_key", json!("distress:my task:dependency:1")));
        assert!(t.look(B).task.is_card() && t.look(C).parents[0].is_card());
    });
}

#[test]
fn the_attempts_at_the_cards_of_a_task_are_read_with_it() {
    on_both(|t| {
        let [other, plain] = ["d4", "e5"].map(|n| format!("t_000000{n}"));
        let keyed = |t: &mut Teller<'_>, id: &str, source: &str| {
            t.other(Foreign::Set(id, "idempotency_key", json!(format!("distress:{source}:rate_limit:1"))));
        };
        // A card of its own, one by its title that it waits for, one of another task, and a task that is not a card.
        t.adds(A, Status::Blocked, &[]);
        let began = t.running(B).runs[0].started_at;
        for id in [C, &other, &plain] {
            t.adds(id, Status::Ready, &[]);
            t.other(Foreign::Run(id, "crashed", BEGAN.plus(-90), BEGAN.plus(-80)));
        }
        assert_eq!(t.look(A).card_work, []);
        keyed(t, B, A);
        keyed(t, &other, &format!("{A}0"));
        t.other(Foreign::Set(C, "title", json!(format!("[BLOCKED] {A} dependency"))));
        t.does(A, |_| [C, &plain].map(|id| Change::Link { parent: id.into() }).into());
        t.other(Foreign::Run(B, "crashed", BEGAN.plus(-600), BEGAN.plus(-500)));
        let of_c = (BEGAN.plus(-90), Some(BEGAN.plus(-80)));
        let earlier = (BEGAN.plus(-600), Some(BEGAN.plus(-500)));
        assert_eq!(t.look(A).card_work, [(began, None), earlier, of_c], "the newest of each card first");
        assert_eq!(t.look(B).card_work, [], "a card has none of its own");

        // What is run on a command line meanwhile bears nobody's name.
        let unblocked = |at: i64| Foreign::Event(A, "unblocked", json!({}), BEGAN.plus(at));
        let anew = |t: &mut Teller<'_>| {
            let d = t.look(A);
            d.events.iter().filter(|e| starts_anew(&d, e)).map(|e| e.at.since(BEGAN)).collect::<Vec<_>>()
        };
        for at in [-601, -550, -300, -85, 40] {
            t.other(unblocked(at));
        }
        assert_eq!(anew(t), [-601, -300], "the present attempt has no end yet");
        t.now = BEGAN.plus(60);
        t.does(B, |d| hermes::reclaimed(d, &trail()));
        t.other(unblocked(61));
        assert_eq!(t.look(A).card_work[0], (began, Some(BEGAN.plus(60))));
        assert_eq!(anew(t), [-601, -300, 61]);
        // A card that is closed or put away was worked on all the same.
        for status in ["done", "archived"] {
            t.other(Foreign::Set(B, "status", json!(status)));
            assert_eq!(anew(t), [-601, -300, 61], "{status}");
        }
    });
}

#[test]
fn the_next_free_task_is_offered_in_dispatch_order_and_taken() {
    on_both(|t| {
        let [d, e, f, g, h, i, j] =
            ["d4", "e5", "f6", "07", "08", "09", "0a"].map(|n| format!("t_000000{n}"));
        for id in [A, B, C, &d, &e, &f, &g] {
            t.adds(id, Status::Ready, &[]);
        }
        t.does(C, |_| vec![Change::SetPriority(5)]);
        t.other(Foreign::Set(B, "created_at", json!(BEGAN.0 - 10)));
        t.other(Foreign::Set(&d, "assignee", json!("nova")));
        t.other(Foreign::Set(&e, "assignee", Value::Null));
        // Claimed by one who died in between; over, with what waited for it; waiting, whatever its state.
        t.other(Foreign::Set(&f, "claim_lock", json!("host:7")));
        t.adds(&h, Status::Todo, &[&g]);
        t.other(Foreign::Set(&g, "status", json!("done")));
        t.adds(&i, Status::Todo, &[A]);
        t.adds(&j, Status::Ready, &[A]);
        // Only on a board without a dispatcher does the worker that claims also promote it.
        let freed = t.board.is_own().then_some(h.as_str());

        let all = |some: &[&str]| -> Vec<String> { some.iter().map(|id| (*id).to_owned()).collect() };
        let (offers, taken) = t.takes(&[Some("luna")], |_| Answer::Next);
        assert_eq!((offers, taken), (all(&[&[C, B], freed.as_slice(), &[A]].concat()), None));
        let (offers, _) = t.takes(&[None, Some("luna")], |_| Answer::Next);
        assert_eq!(offers, all(&[&[C, B], freed.as_slice(), &[A, &e]].concat()));
        assert_eq!(t.takes(&[None], |_| Answer::Next).0, all(&[&e]));
        assert_eq!(t.takes(&[Some("rosa")], |_| Answer::Next).0, [""; 0]);
        assert_eq!(t.takes(&[], |_| Answer::Next).0, [""; 0]);
        let second = |seen: &Detail| if seen.task.id == C { Answer::Next } else { Answer::Stop };
        let (offers, taken) = t.takes(&[Some("luna")], second);
        assert_eq!((offers, taken), (all(&[C, B]), None));
        // From another place on, round to the ones before it. One that is not free changes nothing.
        let in_order: Vec<&str> = [&[C, B], freed.as_slice(), &[A]].concat();
        for place in 0..in_order.len() + 2 {
            let (offers, _) = t.takes_from(Begin::At(place), &[Some("luna")], |_| Answer::Next);
            let mut want = in_order.clone();
            want.rotate_left(if place < in_order.len() { place } else { 0 });
            assert_eq!(offers, all(&want), "{place}");
        }
        for first in [C, B, A, &d, &e, &f, &i, &j, &h, "t_deadbeef"] {
            let (offers, _) = t.takes_from(Begin::With(first), &[Some("luna")], |_| Answer::Next);
            let is_it = |id: &&str| *id == first;
            let want = in_order
                .iter()
                .copied()
                .filter(is_it)
                .chain(in_order.iter().copied().filter(|id| !is_it(id)));
            assert_eq!(offers, all(&want.collect::<Vec<_>>()), "{first}");
        }

        t.does(B, |_| hermes::commented("rosa", &"lamp".repeat(1_250)));
        let claim = |seen: &Detail| {
            let changes = hermes::claimed(seen, "host:7", BEGAN.plus(900), Some(4_711), None, &trail());
            Answer::Take(Box::new(step(&seen.task.id, Some(seen), changes)))
        };
        let before = t.look(B);
        let not_c = |seen: &Detail| if seen.task.id == C { Answer::Next } else { claim(seen) };
        let (offers, taken) = t.takes(&[Some("luna")], not_c);
        assert_eq!(offers, all(&[C, B]));
        let (mut seen, outcome) = taken.unwrap();
        assert_eq!(seen.comments[0].body.len(), 5_000, "whole, as a worker reads it");
        seen.comments.clone_from(&before.comments);
        assert_eq!(seen, before);
        let now = t.look(B);
        assert_eq!(outcome, Outcome::Applied { run: now.task.current_run });
        assert_eq!((&now.task.status, newest(&now, "claimed").run), (&Status::Running, now.task.current_run));

        // What is refused leaves nothing behind, and is free as it was.
        let before = t.look(C);
        let bad = |seen: &Detail| {
            let changes = vec![Change::SetPriority(9), Change::Link { parent: "t_deadbeef".into() }];
            Answer::Take(Box::new(step(&seen.task.id, Some(seen), changes)))
        };
        let (_, taken) = t.takes(&[Some("luna")], bad);
        assert_eq!(
            taken.map(|(seen, outcome)| (seen.task.id.clone(), outcome.word())),
            Some((C.into(), "refused"))
        );
        assert_eq!(t.look(C), before);
        let mut left: Vec<&str> = [&[C], freed.as_slice(), &[A]].concat();
        while !left.is_empty() {
            let (offers, taken) = t.takes(&[Some("luna")], claim);
            assert_eq!((offers, taken.is_some()), (all(&[left.remove(0)]), true));
        }
        assert_eq!(t.takes(&[Some("luna")], claim).1, None);
    });
}

#[test]
fn a_link_is_taken_back() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Ready, &[]);
        t.adds(C, Status::Todo, &[A, B]);
        let unlink = |parent: &str| vec![Change::Unlink { parent: parent.into() }];
        let d = t.does(C, |_| unlink(A));
        assert_eq!(d.parents.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(), [B]);
        // One that is not there, the other way round, and one nobody knows.
        assert_eq!(t.does(C, |_| unlink(A)), d);
        t.does(B, |_| unlink(C));
        assert_eq!(t.does(C, |_| unlink("t_deadbeef")), d);
        // What a refused step took back is there again.
        t.is_refused(C, |_| [unlink(B), vec![Change::Link { parent: "t_deadbeef".into() }]].concat());
    });
}

#[test]
fn the_links_of_a_board_name_what_is_not_there() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Todo, &[A]);
        t.adds(C, Status::Todo, &[A, B]);
        let link = |child: &str, parent: &str, status: Option<Status>| Link {
            child: child.into(),
            parent: parent.into(),
            status,
        };
        let (todo, ready) = (Some(Status::Todo), Some(Status::Ready));
        let want = [link(B, A, ready.clone()), link(C, A, ready), link(C, B, todo)];
        assert_eq!(t.links(&[Status::Todo]), want);
        assert_eq!(t.links(&[Status::Ready, Status::Done]), []);
    });
}

#[test]
fn a_task_is_reworded_moved_and_put_first() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Ready, &[]);
        let reword = |title: Option<&str>, body: Option<&str>| {
            vec![Change::Reword { title: title.map(str::to_owned), body: body.map(str::to_owned) }]
        };
        let d = t.does(B, |_| reword(Some("Smaller"), Some("one half")));
        assert_eq!((d.task.title.as_str(), d.body.as_str()), ("Smaller", "one half"));
        let d = t.does(B, |_| reword(None, Some("")));
        assert_eq!((d.task.title.as_str(), d.body.as_str()), ("Smaller", ""));
        let d = t.does(B, |_| reword(Some("Small"), None));
        assert_eq!((d.task.title.as_str(), d.body.as_str()), ("Small", ""));
        assert_eq!(t.does(B, |_| reword(None, None)), d);

        let place = |kind: &str, path: Option<&str>| {
            vec![Change::SetPlace { kind: kind.into(), path: path.map(str::to_owned) }]
        };
        let d = t.does(B, |_| place("worktree", Some("/srv/w")));
        assert_eq!((d.place.kind.as_deref(), d.place.path.as_deref()), (Some("worktree"), Some("/srv/w")));
        let d = t.does(B, |_| place("scratch", None));
        assert_eq!((d.place.kind.as_deref(), d.place.path.as_deref()), (Some("scratch"), None));
        assert_eq!(t.does(B, |_| place("", Some(""))).place.kind, None);

        let first = |t: &mut Teller<'_>| t.board.glance(&[Status::Ready]).unwrap()[0].id.clone();
        assert_eq!(first(t), A);
        assert_eq!(t.does(B, |_| vec![Change::SetPriority(7)]).task.priority, 7);
        assert_eq!(first(t), B);
        assert_eq!(t.look(A).task.title, format!("Task {A}"));
    });
}

#[test]
fn overrides_are_taken_back() {
    on_both(|t| {
        for id in [A, B] {
            t.adds(id, Status::Ready, &[]);
            t.other(Foreign::Set(id, "model_override", json!("moon")));
        }
        assert_eq!(t.look(A).task.pin.model.as_deref(), Some("moon"));
        assert_eq!(t.board.glance(&[Status::Ready]).unwrap()[0].pin.model.as_deref(), Some("moon"));
        // The runs of a whole board say what is set now, those of one task what was set when they began.
        t.other(Foreign::Run(A, "crashed", BEGAN.plus(-600), BEGAN.plus(-500)));
        let set = json!({"model": "moon", "provider": null});
        t.other(Foreign::Event(A, "model_override_set", set, BEGAN.plus(-550)));
        let newest = Vec::from(t.board.recent_runs(9).unwrap()).pop().unwrap();
        assert_eq!((newest.0.as_str(), newest.1.pin.model.as_deref()), (A, Some("moon")));
        assert_eq!(t.look(A).runs[0].pin, Pin::default());
        let d = t.does(A, |_| vec![Change::ClearOverrides]);
        assert_eq!((d.task.pin.model.clone(), d.place.kind.as_deref()), (None, Some("scratch")));
        assert_eq!(t.does(A, |_| vec![Change::ClearOverrides]), d);
        assert_eq!(t.look(B).task.pin.model.as_deref(), Some("moon"));
    });
}

#[test]
fn a_run_tells_what_was_decided_in_it() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        let route = json!({"task": B, "to": "nova"});
        let past = |outcome: &str, metadata: Option<Value>| Change::PastRun {
            outcome: outcome.into(),
            summary: Some("so be it".into()),
            metadata,
        };
        let tellings = [
            (Some(json!({"route": route, "more": 1})), Some(route.clone())),
            (Some(json!(json!({"route": route.to_string()}).to_string())), Some(route.clone())),
            (Some(json!({"route": "in words"})), Some(json!("in words"))),
            (Some(json!({"more": "x".repeat(70_000)})), Some(json!("too long"))),
            (Some(json!({"by": "heal"})), None),
            (None, None),
        ];
        for (metadata, told) in tellings {
            let seen = t.look(A);
            let outcome = t.step(A, Some(&seen), vec![past("reclaimed", metadata)]);
            let Outcome::Applied { run: Some(id) } = outcome else { panic!("{outcome:?}") };
            let d = t.look(A);
            assert_eq!((d.runs[0].id, d.runs[0].status.as_str()), (id, "reclaimed"));
            assert_eq!(d.runs[0].route, told);
        }
        // The end of an open run speaks as well.
        let run = t.running(B).task.current_run.unwrap();
        let end = Change::EndRun {
            run,
            status: "done".into(),
            outcome: "completed".into(),
            summary: None,
            error: None,
            metadata: Some(json!({"route": route})),
        };
        assert_eq!(t.does(B, |_| vec![end]).runs[0].route, Some(route));
    });
}

#[test]
fn the_newest_runs_of_the_board_come_from_a_window() {
    on_both(|t| {
        fn window(t: &mut Teller<'_>, most: u32) -> Vec<(String, i64)> {
            let runs = t.board.recent_runs(most).unwrap();
            t.hear(runs).into_iter().map(|(task, r)| (task, r.id)).collect()
        }
        assert_eq!(window(t, 9), []);
        for id in [A, B, C] {
            t.running(id);
        }
        // By number and not by time: what a slow clock wrote last is the newest.
        t.other(Foreign::Run(A, "crashed", BEGAN.plus(-600), BEGAN.plus(-500)));
        let all = [(A, 1), (B, 2), (C, 3), (A, 4)].map(|(task, n)| (task.to_owned(), n));
        assert_eq!((window(t, 9), window(t, 4)), (all.to_vec(), all.to_vec()));
        assert_eq!(
            (window(t, 2), window(t, 1), window(t, 0)),
            (all[2..].to_vec(), all[3..].to_vec(), vec![])
        );
        let mut ended = |since: i64, most: u32| t.board.ended(BEGAN.plus(since), most).unwrap();
        assert_eq!((ended(-500, 9), ended(-499, 9), ended(-500, 0)), (vec![A.to_owned()], vec![], vec![]));
    });
}

#[test]
fn bare_rows_come_as_they_were_asked_for() {
    on_both(|t| {
        t.adds(A, Status::Ready, &[]);
        t.adds(B, Status::Archived, &[]);
        let asked = [B, "t_deadbeef", A, B].map(str::to_owned);
        let rows = t.board.titled(&asked).unwrap();
        let rows = t.hear(rows);
        let (a, b) = (t.look(A).task.clone(), t.look(B).task.clone());
        assert_eq!(rows, [b.clone(), a, b]);
        assert!(t.board.titled(&[]).unwrap().is_empty());
    });
}

#[test]
fn a_row_is_put_back_where_it_still_is_as_it_was_left() {
    on_both(|t| {
        let ran = t.running(A);
        let text = |s: &str| Cell::Text(s.into());
        let put = |column: Column, from: Option<Cell>, to: Cell| (column, Turn { from, to });
        let row =
            |all: Vec<(Column, Turn)>| vec![Change::PutBack(all.into_iter().collect::<BTreeMap<_, _>>())];
        let run = ran.task.current_run.unwrap();
        let left = t.does(A, |d| hermes::reclaimed(d, &trail()));
        assert_eq!((&left.task.status, left.task.current_run), (&Status::Ready, None));
        let d = t.does(A, |_| {
            row(vec![
                put(Column::Status, Some(text("ready")), text("running")),
                put(Column::ClaimLock, Some(Cell::None), text("host:7")),
                put(Column::ClaimExpires, Some(Cell::None), Cell::Number(BEGAN.plus(900).0)),
                put(Column::WorkerPid, None, Cell::Number(4_711)),
                put(Column::CurrentRunId, Some(Cell::None), Cell::Number(run)),
                put(Column::CompletedAt, None, Cell::None),
            ])
        });
        // The row is as it was; the attempt is over all the same.
        assert_eq!(d.task, ran.task);
        assert!(d.runs[0].ended_at.is_some());
        let seen = t.look(A);
        let moved = |t: &mut Teller<'_>, changes: Vec<Change>| {
            let outcome = t.step(A, Some(&seen), changes);
            let Outcome::Moved { what } = outcome else { panic!("{outcome:?}") };
            assert_eq!(t.look(A), seen);
            what
        };
        let other = vec![
            put(Column::Priority, None, Cell::Number(9)),
            put(Column::Assignee, Some(text("nova")), text("sol")),
        ];
        assert_eq!(moved(t, row(other)), "assignee is luna and was nova");
        let why = t.is_refused(A, |_| row(vec![put(Column::Status, None, Cell::None)]));
        assert_eq!(why, "status cannot be empty");
        t.is_refused(A, |_| row(vec![put(Column::Priority, None, text("high"))]));

        // What a step made is put away, as long as nothing happened to it.
        t.does(A, |_| vec![another(B, None)]);
        let made = t.look(B);
        let away = |mark: &str| {
            vec![Change::ArchiveAnother { id: B.into(), mark: mark.into(), payload: json!({"by": "undo"}) }]
        };
        t.other(Foreign::Event(B, "commented", json!({}), BEGAN.plus(5)));
        let seen_now = t.look(A);
        let outcome = t.step(A, Some(&seen_now), away(&made.mark));
        assert_eq!(outcome, Outcome::Moved { what: format!("something happened to {B}") });
        let made = t.look(B);
        t.does(A, |_| away(&made.mark));
        let gone = t.look(B);
        assert_eq!(
            (&gone.task.status, newest(&gone, "archived").payload["by"].as_str()),
            (&Status::Archived, Some("undo"))
        );
    });
}
