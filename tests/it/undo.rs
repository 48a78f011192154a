//! `watchbill undo`: every kind of action of every watcher is undone to the byte where nothing moved, and refused where
//! something did; and no watcher does again what the operator undid.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use shared::watch::{self, Visit, Watcher};

use self::scenes::{A, Scene, dying, scenes, waiting, words};
use crate::route::{FLEET, LIMITED};
use crate::support::{TestBoard, dead_pid, now, ran};

mod scenes; // what every watcher finds to do, each on a board of its own

impl TestBoard {
    /// Every task's whole row.
    fn rows(&self) -> BTreeMap<String, String> {
        let dump = self.dump();
        let tasks = dump.lines().filter_map(|l| l.strip_prefix("tasks: t_")).map(|l| format!("t_{l}"));
        // A body has lines of its own; the whole dump of a row is compared by its columns.
        let ids: Vec<String> = tasks.map(|l| l.split(" | ").next().unwrap().to_owned()).collect();
        let columns = self.value(
            "SELECT group_concat('quote(' || name || ')', ' || '' | '' || ') FROM pragma_table_info('tasks')",
        );
        let row = |id: &String| self.value(&format!("SELECT {columns} FROM tasks WHERE id = '{id}'"));
        ids.iter().map(|id| (id.clone(), row(id))).collect()
    }

    fn links(&self) -> String {
        self.value("SELECT coalesce(group_concat(parent_id || '>' || child_id, ' '), '') FROM (SELECT * FROM task_links ORDER BY 1, 2)")
    }

    /// How much history there is: nothing of it may get less.
    fn history(&self) -> Vec<i64> {
        let count = |t: &str| self.value(&format!("SELECT count(*) FROM {t}")).parse().unwrap();
        ["tasks", "task_events", "task_comments", "task_runs"].map(count).to_vec()
    }
}

/// What is not played: a living worker that wrote its exit code, that a signal stopped, that asks a person or is silent, as one of an earlier attempt; a case of a board of several hosts; two cases that take a running opencode server and leave the rows of a claim that ran out and of a card
/// about living work, and the other reasons for the same comment or card of `budget-check`.
const ELSEWHERE: [(&str, &str); 16] = [
    ("heal", "asking-worker"),
    ("heal", "exited-worker"),
    ("heal", "host-gone"),
    ("heal", "older-worker"),
    ("heal", "session-orphaned"),
    ("heal", "silent-worker"),
    ("heal", "stopped-worker"),
    ("synthesize-distress", "session"),
    ("route-blocked", "older-worker"),
    ("budget-check", "churning"),
    ("budget-check", "needs_a_person"),
    ("budget-check", "out_of_scope"),
    ("budget-check", "over_cost"),
    ("budget-check", "over_iterations"),
    ("budget-check", "stuck_progress"),
    ("budget-check", "too_many_files"),
];

/// Plays scenes, and tells of all that went wrong.
fn each(scenes: Vec<Scene>, play: impl Fn(&Scene)) {
    let mut wrong = Vec::new();
    for scene in scenes {
        let what = format!("{} {}", scene.program, scene.action);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&scene)));
        wrong.extend(played.is_err().then_some(what));
    }
    assert!(wrong.is_empty(), "see above: {wrong:?}");
}

#[test]
fn every_action_is_taken_back_to_the_byte_and_nobody_does_it_again() {
    let played = RefCell::new(BTreeSet::new());
    each(scenes(), |scene| {
        let Scene { b, program, action, later, .. } = scene;
        let what = format!("{program} {action}");
        let (before, links) = (b.rows(), b.links());
        let task = scene.acts_with(&mut played.borrow_mut());
        let acted = b.rows();
        let differs = |(id, row): &(&String, &String)| before.get(*id).is_some_and(|was| was != *row);
        // What was blocked already is given to a person by a word alone.
        let did = acted.len() > before.len()
            || acted.iter().any(|r| differs(&r))
            || b.links() != links
            || *action == "hand-over";
        assert!(did, "{what}: nothing to undo");
        let history = b.history();

        // Looking says the same, and writes nothing.
        let dump = b.dump();
        let planned = scene.undo(&["p-did", "-n"]);
        assert!(
            planned.code == 0 && planned.out.contains(" undo: ") && planned.out.contains("(planned)"),
            "{what}: {planned:?}"
        );
        assert!(b.dump() == dump, "{what}: looking wrote");

        let said = scene.undo(&["p-did", "--reason", "not tonight"]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{what}: {said:?}");
        let after = b.rows();
        for (id, row) in &after {
            match before.get(id) {
                Some(was) => assert_eq!(row, was, "{what}: {id}"),
                // Nothing is deleted.
                None => assert_eq!(b.task(id, "status"), "archived", "{what}: {id}"),
            }
        }
        assert_eq!(b.links(), links, "{what}");
        assert!(
            b.history().iter().zip(&history).all(|(now, then)| now >= then),
            "{what}: history was deleted"
        );
        assert_eq!(b.value("PRAGMA integrity_check"), "ok");
        let word = b.payload(&task, "watchbill_undone");
        assert_eq!((&word["by"], &word["watchbill"]["who"]), (&json!("undo"), &json!("ada")), "{what}");
        assert_eq!(word["watchbill"]["undone"]["pass"], "p-did", "{what}");
        assert!(word["watchbill"]["because"].as_str().unwrap().ends_with("not tonight"), "{what}: {word}");

        // Once is enough.
        let again = scene.undo(&["p-did"]);
        assert!(again.code == 1 && again.out.contains("undone already"), "{what}: {again:?}");
        // And no watcher has the last word, in whatever order they come.
        for program in shared::base::registry::NAMES.iter().copied() {
            for seconds in [10, 40_000] {
                let at = (now() + later + seconds).to_string();
                let said = ran(b.command(program).arg("--db").arg(&b.db).args(["--now", &at]));
                for (id, row) in &after {
                    if said.out.contains(&format!("{id} ")) && word_of(b, id) {
                        assert_eq!(&b.rows()[id], row, "{program} did it again after {what}: {said:?}");
                    }
                }
            }
        }
    });
    // These actions change no row: there is nothing to undo, and that is said.
    each(words(), |scene| {
        let (b, rows) = (&scene.b, scene.b.rows());
        let task = scene.acts_with(&mut played.borrow_mut());
        assert_eq!(b.rows(), rows, "{}", scene.action);
        let dump = b.dump();
        assert!(scene.undo(&["p-did"]).fails(1).contains("changed nothing that could be undone"));
        // The others follow on an action that can be undone.
        if matches!(scene.action, "note" | "tell" | "comment") {
            assert!(scene.undo(&[&task]).fails(1).contains("left to be undone"));
        }
        assert!(b.dump() == dump, "{}: written all the same", scene.action);
    });
    let mut all = Reported::default();
    watch::each(&BTreeMap::new(), &mut all);
    let played = played.borrow();
    let all = all.0.iter().map(|(by, word)| (*by, word.as_str()));
    let unplayed = all.filter(|(by, word)| !played.contains(&((*by).to_owned(), (*word).to_owned())));
    assert_eq!(unplayed.collect::<Vec<_>>(), ELSEWHERE, "no scene has them");
}

/// The actions and rules of every watcher, with its program.
#[derive(Default)]
struct Reported(Vec<(&'static str, String)>);

impl Visit for Reported {
    fn one<W: Watcher>(&mut self, _watcher: &W) {
        let words =
            W::ACTIONS.iter().map(ToString::to_string).chain(W::RULES.iter().map(ToString::to_string));
        self.0.extend(words.map(|word| (W::NAME, word)));
    }
}

/// Whether a person undid something of this task and nothing happened to it since.
fn word_of(b: &TestBoard, id: &str) -> bool {
    b.kinds(id).contains("watchbill_undone")
}

/// Something done to a task by hand; whether it could be.
type Disturb = fn(&TestBoard, &str) -> bool;

/// What the operator or a worker does before the undo.
fn disturbances() -> [(&'static str, Disturb); 4] {
    fn set_free(b: &TestBoard, id: &str) {
        let _ = b.hand(&["unblock", id]);
    }
    let claimed: Disturb = |b, id| {
        set_free(b, id);
        b.hand(&["claim", id, "--worker", "zed"]).code == 0
    };
    let finished: Disturb = |b, id| b.hand(&["complete", id]).code == 0;
    let reassigned: Disturb = |b, id| b.hand(&["reassign", id, "zed"]).code == 0;
    let archived: Disturb = |b, id| {
        b.sql(&format!(
            "UPDATE tasks SET status = 'archived' WHERE id = '{id}';
             INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', 'archived', '{{}}', {})",
            now()
        ));
        true
    };
    [("claimed", claimed), ("finished", finished), ("reassigned", reassigned), ("archived", archived)]
}

impl TestBoard {
    /// The board's files, while nobody has them open.
    fn saved(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let file = |end: &str| PathBuf::from(format!("{}{end}", self.db.display()));
        ["", "-wal", "-shm"].map(file).map(|at| (at.clone(), fs::read(at).ok())).to_vec()
    }

    fn restore(saved: &[(PathBuf, Option<Vec<u8>>)]) {
        for (at, bytes) in saved {
            match bytes {
                Some(bytes) => fs::write(at, bytes).unwrap(),
                None => drop(fs::remove_file(at)),
            }
        }
    }
}

#[test]
fn what_moved_since_is_left_and_named() {
    let refused = RefCell::new(BTreeMap::<&str, (usize, usize)>::new());
    each(scenes(), |scene| {
        let b = &scene.b;
        let task = scene.acts();
        let saved = b.saved();
        for (what, disturb) in disturbances() {
            TestBoard::restore(&saved);
            // A finished card is finished: it can only be put away.
            if (b.task(&task, "status") == "done" && what != "archived") || !disturb(b, &task) {
                continue;
            }
            let dump = b.dump();
            let said = scene.undo(&[&task]);
            assert!(b.dump() == dump, "{} {what}: written all the same: {said:?}", scene.action);
            assert_eq!((said.code, said.err.as_str()), (1, ""), "{} {what}: {said:?}", scene.action);
            let line = said.out.trim_end();
            let names = line.contains(" now, and ") && line.contains(" left it ");
            let tells = line.contains(", after it; ");
            let way_out = format!("; `watchbill why --db {} {task}` names what fits now)", b.db.display());
            assert!(line.ends_with(&way_out), "{line}");
            assert!(line.lines().count() == 1 && line.contains("(refused: "), "{line}");
            assert!(names || tells, "{} {what}: {line}", scene.action);
            let mut refused = refused.borrow_mut();
            let (all, named) = refused.entry(what).or_default();
            *all += 1;
            *named += usize::from(names);
        }
    });
    // Not every action leaves what can be claimed; anything can be put away.
    let refused = refused.borrow();
    assert!(refused.values().all(|(all, named)| *all >= 24 && *named >= 8), "{refused:?}");
    assert_eq!(refused["archived"].0, scenes().len());
}

/// A task that was limited, and its card.
fn carded() -> (Scene, String) {
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    let scene = Scene::new(b.sticky_less(A), "synthesize-distress", 0, "card+park");
    scene.acts();
    let card = scene.b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    (scene, card)
}

#[test]
fn a_card_that_somebody_took_or_spoke_on_stays_and_its_task_with_it() {
    let take: fn(&TestBoard, &str) = |b, card| b.hand(&["claim", card, "--worker", "tuesday"]).ok().clear();
    let speak: fn(&TestBoard, &str) =
        |b, card| b.hand(&["comment", card, "wait", "--author", "ada"]).ok().clear();
    for (disturb, why) in
        [(take, "was taken: status is running"), (speak, "was changed since it was made: commented at")]
    {
        let (scene, card) = carded();
        let b = &scene.b;
        disturb(b, &card);
        let dump = b.dump();
        let said = scene.undo(&[A]);
        assert!(said.code == 1 && said.out.contains(&format!("its card {card} {why}")), "{said:?}");
        assert!(b.dump() == dump);
    }
}

#[test]
fn a_card_on_which_a_watcher_spoke_goes_with_its_action() {
    let (scene, card) = carded();
    let b = &scene.b;
    for author in ["route-blocked", "budget-check"] {
        b.hand(&["comment", &card, "It waits. What mends it: a look", "--author", author]).ok();
    }
    scene.undo(&[A]).ok();
    assert_eq!((b.task(&card, "status").as_str(), b.task(A, "status").as_str()), ("archived", "ready"));
}

#[test]
fn an_incidents_card_goes_with_its_last_task() {
    let ids = [A, "t_0d0000c3", "t_0d0000c4"];
    let incident = || {
        let b = TestBoard::new();
        ids.iter().for_each(|id| b.died_of(id, LIMITED));
        let scene = Scene::new(b, "synthesize-distress", 0, "card");
        scene.acts();
        let card = scene.b.value("SELECT id FROM tasks WHERE idempotency_key LIKE 'distress:incident:%'");
        (scene, card)
    };
    let (scene, card) = incident();
    for (nth, id) in ids.iter().enumerate() {
        assert_eq!(scene.b.task(&card, "status"), "ready", "before {nth}");
        scene.undo(&[id]).ok();
    }
    assert_eq!(scene.b.task(&card, "status"), "archived");
    // A whole pass.
    let (scene, card) = incident();
    let said = scene.undo(&["p-did"]).ok();
    assert_eq!(said.matches(&format!("{card} archived")).count(), 1, "{said}");
    assert_eq!(scene.b.task(&card, "status"), "archived");
    // One of its tasks changed and waits on; and who works on the card goes on.
    let (scene, card) = incident();
    scene.b.hand(&["reassign", A, "zed"]).ok();
    assert_eq!(scene.undo(&["p-did"]).code, 1);
    assert_eq!(scene.b.task(&card, "status"), "ready");
    let (scene, card) = incident();
    scene.b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    scene.undo(&["p-did"]).ok();
    assert_eq!((scene.b.task(&card, "status"), scene.b.links()), ("running".into(), String::new()));
}

#[test]
fn a_workers_own_block_is_its_own_again_and_asked_about_again() {
    for (word, decision) in [("scope_boundary", Some("reassign")), ("credential_failure", None)] {
        let mut b = TestBoard::own();
        b.config.push_str(FLEET);
        b.add(A, "ready");
        b.hand(&["claim", A, "--worker", "luna"]).ok();
        b.hand(&["block", A, "--type", word, "--completed", "half", "--needs", "more", "why"]).ok();
        let cards = "SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%'";
        let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        if let Some(action) = decision {
            b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
            let route = json!({"route": {"task": A, "action": action, "assignee": "sol"}}).to_string();
            b.hand(&["complete", &card, "--metadata", &route]).ok();
        }
        let scene = Scene::new(b, "route-blocked", 60, "move");
        scene.acts();
        scene.undo(&[A]).ok();
        let b = &scene.b;
        let told = b.payload(A, "blocked");
        assert_eq!((&told["by"], &told["watchbill"]["card"]), (&json!("board"), &json!(card)), "{told}");
        assert_eq!(told["watchbill"]["undone"]["pass"], "p-did", "{told}");
        let runs = "SELECT count(DISTINCT run_id) || count(run_id) FROM task_events WHERE kind = 'blocked'";
        assert_eq!(b.value(runs), "12", "of one attempt");
        let why = ran(b.command("watchbill").args(["why", A])).ok();
        assert!(why.contains("stopped while luna worked on it"), "{why}");
        assert_eq!(b.pass_of("synthesize-distress", 5_000, &[]).ok(), "", "it is left to who undid it");
        b.sql(&format!(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('{A}', 'ada', 'watchbill: heal', {})",
            now() + 80
        ));
        let said = b.pass_of("synthesize-distress", 5_000, &[]).ok();
        assert!(said.contains(&format!("{A} ")), "{word}: {said}");
        assert_eq!(b.value(cards), "2", "{word}: {said}");
    }
}

#[test]
fn the_same_row_with_another_history_is_another_row() {
    let scene = Scene::new(dying(None), "heal", 900, "requeue");
    scene.acts();
    let b = &scene.b;
    b.hand(&["claim", A, "--worker", "zed"]).ok();
    b.sql(
        "UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL, worker_pid = NULL,
           worker_started_at = NULL, current_run_id = NULL; UPDATE task_runs SET ended_at = 1, outcome = 'reclaimed' WHERE ended_at IS NULL",
    );
    let said = scene.undo(&[A]);
    assert!(said.code == 1 && said.out.contains("(refused: claimed by board at "), "{said:?}");
}

#[test]
fn the_newest_goes_first_and_the_one_before_it_after() {
    let scene = Scene::new(dying(Some(LIMITED)), "heal", 900, "park");
    let b = &scene.b;
    let first = b.rows();
    scene.acts();
    let parked = b.rows();
    let at = (now() + 4_000).to_string();
    ran(b.command("heal").arg("--db").arg(&b.db).args(["--now", &at]).env("WATCHBILL_PASS", "p-later")).ok();
    assert_eq!(b.task(A, "status"), "ready");
    let said = scene.undo(&["p-did"]);
    assert!(
        said.code == 1 && said.out.contains("status is ready now, and heal left it scheduled"),
        "{said:?}"
    );
    scene.undo(&[A]).ok();
    assert_eq!(b.rows(), parked);
    scene.undo(&[A]).ok();
    assert_eq!(b.rows(), first);
    let said = scene.undo(&[A]).fails(1);
    assert!(said.contains("left to be undone"), "{said}");
}

#[test]
fn a_hold_that_was_made_longer_is_taken_back_whole() {
    let scene = Scene::new(waiting(), "route-blocked", 2_000, "extend");
    let b = &scene.b;
    let held = scene.acts();
    assert_eq!(b.task(&held, "status"), "scheduled");
    scene.undo(&[&held]).ok();
    assert_eq!(b.task(&held, "status"), "ready");
}

#[test]
fn whoever_undid_something_may_say_that_the_watchers_go_on() {
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 900);
    let scene = Scene::new(b, "heal", 0, "reset");
    scene.acts();
    scene.undo(&[A]).ok();
    let b = &scene.b;
    let said = b.later(90_000, &["-v"]).ok();
    assert!(said.contains("skipped: undone by hand at"), "{said}");
    b.sql(&format!(
        "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('{A}', 'ada', 'watchbill: heal', {})",
        now() + 20
    ));
    let said = b.later(90_000, &[]).ok();
    assert!(said.contains(&format!("{A} reset")) && said.trim_end().ends_with(", reset 1"), "{said}");
    // And so does whatever happens to it: the next attempt is another matter.
    let scene = Scene::new(dying(None), "heal", 900, "requeue");
    scene.acts();
    scene.undo(&[A]).ok();
    assert_eq!(scene.b.later(9_000, &[]).ok(), "");
    // Its worker is dead, and who asks is told why nobody does anything about that.
    let why = ran(scene.b.command("watchbill").args(["why", A])).ok();
    let first = why.lines().next().unwrap();
    assert!(first.contains("is running, and skipped on purpose, since what a watcher did"), "{why}");
    assert!(why.contains("'watchbill: heal'"), "{why}");
    scene.b.sql(&format!(
        "UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL, worker_pid = NULL, current_run_id = NULL;
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{A}', 'reclaimed', '{{}}', {})",
        now() + 1_000
    ));
    let run = scene.b.run_it(A, Some(dead_pid()), -1_000);
    assert!(scene.b.later(9_000, &[]).ok().contains(&format!("{A} ")), "run {run}");
}

#[test]
fn a_task_of_another_runtime_is_named_as_everywhere() {
    let b = TestBoard::own();
    for id in ["PROJ-1", "42"] {
        b.add(id, "ready");
        b.run_it(id, Some(dead_pid()), 900);
    }
    b.sql("UPDATE tasks SET title = 'Repair the p-did pass' WHERE id = '42'");
    let scene = Scene::new(b, "heal", 900, "requeue");
    scene.acts();
    let tasks = |args: &[&str]| {
        let report: serde_json::Value = serde_json::from_str(&scene.undo(args).out).unwrap();
        let steps = report["boards"][0]["steps"].as_array().unwrap().clone();
        steps.iter().map(|s| s["task"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tasks(&["p-did", "-n", "--json"]).len(), 2, "a pass is no title");
    assert_eq!(tasks(&["proj", "-n", "--json"]), ["PROJ-1"]);
    for id in ["PROJ-1", "42"] {
        scene.undo(&[id]).ok();
        assert_eq!(scene.b.task(id, "status"), "running");
    }
    // No word of a title is enough to write.
    assert!(scene.undo(&["Repair"]).fails(1).contains("looks neither like a task nor a pass"));
}

#[test]
fn what_is_asked_for_must_be_there() {
    let b = TestBoard::new();
    b.add(A, "ready");
    let undo = |args: &[&str]| ran(b.command("watchbill").arg("undo").args(args));
    for (args, code, why) in [
        (&["t_0badbeef"][..], 1, "no such task"),
        (&[A], 1, "no watcher changed it"),
        (&["20261121T031205Z-heal-7f3a"], 1, "no watcher's pass of that name"),
        (&["two words"], 2, "neither a pass nor a task"),
        (&[A, "--now", "5"], 2, "--db"),
        (&[A, "--db", "/no/such.db"], 66, "/no/such.db"),
    ] {
        let said = undo(args);
        assert_eq!(said.code, code, "{said:?}");
        let told = said.out.clone() + &said.err;
        assert!(told.contains(why), "{told}");
    }
    assert_eq!(undo(&[]).code, 2);
    // The pass of a real name is found by the time in it, on any board of the root; a pause stops no command of the operator.
    b.run_it(A, Some(dead_pid()), 900);
    let pass = b.heal(&["--json"]).json()["pass"].as_str().unwrap().to_owned();
    std::fs::write(b.path().join("watchbill.pause"), "").unwrap();
    let report = undo(&[&pass, "--json"]).json();
    assert_eq!(report["schema"], "watchbill.report/1");
    assert_eq!(
        (&report["program"], &report["boards"][0]["steps"][0]["action"]),
        (&json!("undo"), &json!("undo"))
    );
    assert_eq!(b.task(A, "status"), "running");
}

#[test]
fn a_forged_image_is_shown_and_moves_no_work_elsewhere() {
    for (image, left, why) in [
        (
            json!({"workspace_path": "/home"}),
            json!({"workspace_path": null}),
            "which no watcher changes on a task",
        ),
        (
            json!({"title": "Pay mallory"}),
            json!({"title": format!("Task {A}")}),
            "which no watcher changes on a task",
        ),
        (json!({"secret": 1}), json!({}), "which this version does not know"),
        (json!({"assignee": ["mallory"]}), json!({"assignee": "luna"}), "cannot be read"),
        (
            json!({"assignee": "mallory"}),
            json!({"assignee": "sol"}),
            "assignee is luna now, and heal left it sol",
        ),
        (json!({"status": null}), json!({"status": "ready"}), "status cannot be empty"),
        (json!({"assignee": "mallory"}), json!({"assignee": "luna"}), "assignee luna -> mallory (planned)"),
    ] {
        let b = TestBoard::new();
        b.add(A, "ready");
        let forged =
            json!({"by": "heal", "watchbill": {"pass": "p", "before": image, "after": left}}).to_string();
        b.open()
            .execute(
                "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES (?1, 'assigned', ?2, ?3)",
                (A, forged, now()),
            )
            .unwrap();
        let rows = b.rows();
        let args: &[&str] = if why.ends_with("(planned)") { &[A, "-n"] } else { &[A] };
        let said = ran(b.command("watchbill").arg("undo").args(args));
        assert!(said.out.contains(why), "{why}: {said:?}");
        assert_eq!(b.rows(), rows, "{why}");
    }
}
