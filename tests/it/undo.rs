//! `watchbill undo`: every kind of action of every watcher is taken back to the byte where nothing moved, and refused where
//! something did; and no watcher does again what a person undid.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::distress::BUDGET;
use crate::route::{LIMITED, REFUSED_KEY};
use crate::support::{Ran, TestBoard, dead_pid, hostname, now, ran};

const A: &str = "t_0d0000a1";
const B: &str = "t_0d0000b2";

/// What a watcher finds to do.
struct Scene {
    b: TestBoard,
    program: &'static str,
    args: &'static [&'static str],
    /// The pass is held so many seconds from now.
    later: i64,
    /// What it must do to [`A`], or to the card of it.
    action: &'static str,
}

impl Scene {
    fn new(b: TestBoard, program: &'static str, later: i64, action: &'static str) -> Scene {
        Scene { b, program, args: &[], later, action }
    }

    /// The pass; its step of the action that is meant: task, and the whole.
    fn acts(&self) -> String {
        let at = (now() + self.later).to_string();
        let mut command = self.b.command(self.program);
        command.env("WATCHBILL_PASS", "p-did").arg("--db").arg(&self.b.db);
        let said = ran(command.args(["--json", "--now", &at]).args(self.args));
        let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let steps = report["boards"][0]["steps"].as_array().unwrap();
        let is_meant = |s: &&Value| s["action"] == self.action && s["outcome"] == "applied";
        let step = steps.iter().find(is_meant).unwrap_or_else(|| panic!("no {}: {report:#}", self.action));
        step["task"].as_str().unwrap().to_owned()
    }

    fn undo(&self, args: &[&str]) -> Ran {
        let at = (now() + self.later + 5).to_string();
        let mut command = self.b.command("watchbill");
        command.env("USER", "ada").arg("undo").arg("--db").arg(&self.b.db);
        ran(command.args(["--now", &at]).args(args))
    }
}

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

    fn sticky_less(self, id: &str) -> TestBoard {
        self.sql(&format!(
            "UPDATE tasks SET status = 'ready', consecutive_failures = 1, started_at = created_at WHERE id = '{id}';
             DELETE FROM task_events WHERE kind = 'gave_up' AND task_id = '{id}'"
        ));
        self
    }
}

fn dying(log: Option<&str>) -> TestBoard {
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, Some(dead_pid()), 0);
    b.sql("ALTER TABLE tasks ADD COLUMN worker_started_at TEXT; UPDATE tasks SET worker_started_at = '1700000000|4711'");
    log.into_iter()
        .for_each(|log| b.log(A, &format!("Query: work kanban task {A}\nInitializing agent...\n{log}\n")));
    b
}

fn alone() -> TestBoard {
    let mut b = TestBoard::fleet();
    b.config = b.config.replace("fallbacks = [\"sol\"]", "");
    b
}

/// A card that is open, and who decides about its task.
fn answered(route: &Value) -> TestBoard {
    let b = TestBoard::own();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
    b.hand(&["claim", &card, "--worker", "tuesday"]).ok();
    b.hand(&["complete", &card, "--metadata", &json!({"route": route}).to_string()]).ok();
    b
}

fn decided(action: &str) -> TestBoard {
    answered(&json!({"task": A, "action": action, "assignee": "nova"}))
}

/// The card of its first end was put away, and it ended so once more.
fn died_again(b: TestBoard) -> TestBoard {
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    b.give_up("t_0d0000ff", "x", 5_000);
    b.sql(&format!(
        "UPDATE task_events SET task_id = '{A}' WHERE task_id = 't_0d0000ff' AND kind IN ('claimed', 'crashed', 'gave_up');
         UPDATE task_runs SET task_id = '{A}', started_at = started_at + 4500, ended_at = ended_at + 4500 WHERE task_id = 't_0d0000ff';
         DELETE FROM task_events WHERE task_id = 't_0d0000ff'; DELETE FROM tasks WHERE id = 't_0d0000ff'"
    ));
    b
}

/// Every kind of action, each on a board of its own.
fn scenes() -> Vec<Scene> {
    let mut all = Vec::new();
    let heal = |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "heal", later, action);
    all.push(heal(dying(None), 900, "requeue"));
    let b = dying(None);
    b.sql("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'was so before'");
    all.push(heal(b, 900, "block"));
    // A lease without a worker.
    let b = TestBoard::new();
    b.add(A, "ready");
    b.run_it(A, None, 0);
    all.push(heal(b, 9_000, "requeue"));
    all.push(heal(dying(Some(LIMITED)), 900, "park"));
    let mut b = dying(Some(LIMITED));
    b.config.push_str("[heal]\nmax_resets = 0\n[people]\nassignee = \"ada\"\n");
    all.push(heal(b, 900, "hand-over"));
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 900);
    all.push(heal(b, 0, "reset"));
    let b = TestBoard::new();
    b.add(A, "ready");
    let past = now() - 5_000;
    b.sql(&format!("UPDATE tasks SET claim_lock = '{}:1', claim_expires = {past}", hostname()));
    all.push(heal(b, 0, "release"));
    let b = TestBoard::new();
    b.add(A, "ready");
    b.sql("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'pid 429 not alive'");
    all.push(heal(b, 4_000, "clear"));
    let b = TestBoard::own();
    b.add(A, "todo");
    b.add(B, "done");
    b.sql(&format!("INSERT INTO task_links (parent_id, child_id) VALUES ('{B}', '{A}')"));
    all.push(heal(b, 4_000, "promote"));
    let b = TestBoard::new();
    b.add(A, "blocked");
    b.sql("UPDATE tasks SET consecutive_failures = 2");
    all.push(heal(b, 4_000, "hand-over"));
    let b = dying(Some(LIMITED));
    b.later(900, &[]).ok();
    all.push(heal(b, 900 + 2_000, "resume"));

    let distress =
        |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "synthesize-distress", later, action);
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    all.push(distress(b, 0, "card"));
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    all.push(distress(b.sticky_less(A), 0, "card+park"));
    let mut b = TestBoard::new();
    b.config.push_str("[people]\nassignee = \"ada\"\n[distress]\nmax_cards = 1\n");
    b.died_of(A, BUDGET);
    ran(&mut b.command("synthesize-distress")).ok();
    all.push(distress(died_again(b), 0, "hand-over"));
    let mut b = TestBoard::new();
    b.config.push_str("[distress]\nmax_cards = 1\n");
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    all.push(distress(died_again(b), 0, "park"));
    let b = TestBoard::fleet();
    b.died_of(A, LIMITED);
    b.sql("UPDATE tasks SET model_override = 'm1'");
    all.push(distress(b, 0, "move"));
    // Ready work of the provider that refused another.
    let b = alone();
    b.died_of(B, LIMITED);
    b.add(A, "ready");
    all.push(distress(b, 0, "park"));
    // Many of one cause: the single card of the first is merged into that of all.
    let b = TestBoard::new();
    b.died_of(A, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    for id in ["t_0d0000c3", "t_0d0000c4", "t_0d0000c5"] {
        b.died_of(id, LIMITED);
    }
    all.push(distress(b, 0, "join"));

    let route =
        |b: TestBoard, later: i64, action: &'static str| Scene::new(b, "route-blocked", later, action);
    let b = TestBoard::fleet();
    b.died_of(B, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    b.add(A, "ready");
    b.add("t_0d0000c3", "ready");
    all.push(route(b, 10, "move"));
    let b = alone();
    b.died_of(B, LIMITED);
    ran(&mut b.command("synthesize-distress")).ok();
    b.add(A, "ready");
    all.push(route(b, 10, "park"));
    let b = alone();
    b.died_of(B, LIMITED);
    b.add(A, "ready");
    ran(&mut b.command("synthesize-distress")).ok();
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    all.push(route(b, 2_000, "probe"));
    let b = TestBoard::new();
    b.died_of(A, REFUSED_KEY);
    ran(&mut b.command("synthesize-distress")).ok();
    b.hand(&["unblock", A]).ok();
    all.push(route(b, 10, "close-card"));
    all.push(route(decided("human"), 10, "hand-over"));
    all.push(route(decided("reassign"), 10, "move"));
    all.push(route(decided("unblock"), 10, "park"));
    let parts = json!([{"title": "Count the red lanterns"}, {"title": "The blue ones", "assignee": "nova"}]);
    all.push(route(answered(&json!({"task": A, "action": "split", "children": parts})), 10, "split"));
    // Somebody else's card, brought into form: title, text, folder, priority, assignee, state.
    let b = TestBoard::new();
    b.add(A, "blocked");
    b.sql(&format!(
        "INSERT INTO tasks (id, title, body, assignee, status, priority, created_at, workspace_kind, workspace_path)
           VALUES ('t_0d0000ca', '[BLOCKED] {A}: rate limited', ' my words ' || char(10), NULL, 'triage', 0, {at}, 'dir', '/srv/x');
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('t_0d0000ca', 'created', '{{}}', {at});",
        at = now() - 100
    ));
    all.push(route(b, 10, "normalise"));
    all
}

/// Plays every scene, and tells of all that went wrong.
fn each(play: impl Fn(&Scene)) {
    let mut wrong = Vec::new();
    for scene in scenes() {
        let what = format!("{} {}", scene.program, scene.action);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&scene)));
        wrong.extend(played.is_err().then_some(what));
    }
    assert!(wrong.is_empty(), "see above: {wrong:?}");
}

#[test]
fn every_action_is_taken_back_to_the_byte_and_nobody_does_it_again() {
    each(|scene| {
        let Scene { b, program, action, later, .. } = scene;
        let what = format!("{program} {action}");
        let (before, links) = (b.rows(), b.links());
        let task = scene.acts();
        let acted = b.rows();
        let differs = |(id, row): &(&String, &String)| before.get(*id).is_some_and(|was| was != *row);
        // What was blocked already is given to a person by a word alone.
        let did = acted.iter().any(|r| differs(&r)) || b.links() != links || *action == "hand-over";
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
                // Nothing is deleted; what waits for others too stays as it is.
                None if b.task(id, "idempotency_key").starts_with("distress:incident:") => {}
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
        for program in ["heal", "synthesize-distress", "route-blocked", "budget-check"] {
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
}

/// Whether a person undid something of this task and nothing happened to it since.
fn word_of(b: &TestBoard, id: &str) -> bool {
    b.kinds(id).contains("watchbill_undone")
}

/// Something done to a task by hand; whether it could be.
type Disturb = fn(&TestBoard, &str) -> bool;

/// What somebody does before the undo.
fn disturbances() -> [(&'static str, Disturb); 3] {
    fn set_free(b: &TestBoard, id: &str) {
        let _ = b.hand(&["unblock", id]);
    }
    let claimed: Disturb = |b, id| {
        set_free(b, id);
        b.hand(&["claim", id, "--worker", "zed"]).code == 0
    };
    let finished: Disturb = |b, id| b.hand(&["complete", id]).code == 0;
    let reassigned: Disturb = |b, id| b.hand(&["reassign", id, "zed"]).code == 0;
    [("claimed", claimed), ("finished", finished), ("reassigned", reassigned)]
}

#[test]
fn what_moved_since_is_left_and_named() {
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for (what, disturb) in disturbances() {
        let (played, named) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        each(|scene| {
            let b = &scene.b;
            let task = scene.acts();
            // A finished card is finished: there is nobody to disturb it.
            if b.task(&task, "status") == "done" || !disturb(b, &task) {
                return;
            }
            played.set(played.get() + 1);
            let dump = b.dump();
            let said = scene.undo(&[&task]);
            assert!(b.dump() == dump, "{} {what}: written all the same: {said:?}", scene.action);
            assert_eq!((said.code, said.err.as_str()), (1, ""), "{} {what}: {said:?}", scene.action);
            let line = said.out.trim_end();
            let names = line.contains(" now, and ") && line.contains(" left it ");
            let tells = line.contains(", after it)");
            assert!(line.lines().count() == 1 && line.contains("(refused: "), "{line}");
            assert!(names || tells, "{} {what}: {line}", scene.action);
            named.set(named.get() + usize::from(names));
        });
        refused.insert(what, played.get());
        assert!(named.get() >= 8, "{what}: a column is named {} times", named.get());
    }
    // Not every action leaves what can be claimed.
    assert!(refused.values().all(|n| *n >= 12), "{refused:?}");
}

#[test]
fn a_card_that_somebody_took_or_spoke_on_stays_and_its_task_with_it() {
    let take: fn(&TestBoard, &str) = |b, card| b.hand(&["claim", card, "--worker", "tuesday"]).ok().clear();
    let speak: fn(&TestBoard, &str) =
        |b, card| b.hand(&["comment", card, "wait", "--author", "ada"]).ok().clear();
    for (disturb, why) in
        [(take, "was taken: status is running"), (speak, "is not as it was made: commented at")]
    {
        let b = TestBoard::new();
        b.died_of(A, LIMITED);
        let scene = Scene::new(b.sticky_less(A), "synthesize-distress", 0, "card+park");
        scene.acts();
        let b = &scene.b;
        let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");
        disturb(b, &card);
        let dump = b.dump();
        let said = scene.undo(&[A]);
        assert!(said.code == 1 && said.out.contains(&format!("its card {card} {why}")), "{said:?}");
        assert!(b.dump() == dump);
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
           current_run_id = NULL; UPDATE task_runs SET ended_at = 1, outcome = 'reclaimed' WHERE ended_at IS NULL",
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
fn whoever_undid_something_may_say_that_the_watchers_go_on() {
    let b = TestBoard::new();
    b.give_up(A, "pid 4 not alive", 900);
    let scene = Scene::new(b, "heal", 0, "reset");
    scene.acts();
    scene.undo(&[A]).ok();
    let b = &scene.b;
    let said = b.later(90_000, &["-v"]).ok();
    assert!(said.contains("left alone: undone by hand at"), "{said}");
    b.sql(&format!(
        "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('{A}', 'ada', 'watchbill: heal', {})",
        now() + 20
    ));
    assert!(b.later(90_000, &[]).ok().contains(&format!("{A} reset")));
    // And so does whatever happens to it: the next attempt is another matter.
    let scene = Scene::new(dying(None), "heal", 900, "requeue");
    scene.acts();
    scene.undo(&[A]).ok();
    assert_eq!(scene.b.later(9_000, &[]).ok(), "");
    // Its worker is dead, and who asks is told why nobody does anything about that.
    let why = ran(scene.b.command("watchbill").args(["why", A])).ok();
    let first = why.lines().next().unwrap();
    assert!(first.contains("is running, and left alone on purpose, since what a watcher did"), "{why}");
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
    // The pass of a real name is found by the time in it, on any board of the root; a pause holds nobody's hand.
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
