//! `route-blocked` and the mechanical move through the real programs: work leaves the provider that refuses it, every hold
//! ends, and what an orchestrator decides happens.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::resume::git;
use crate::support::{Ran, TestBoard, now, ran, worker};
use crate::tools;

mod answers; // what an orchestrator says on its card, and what comes of it
mod killed; // `kill -9` in the middle of a pass, and two passes at once

/// luna works with one provider, sol with another and takes luna's work.
pub(crate) const FLEET: &str = "
[profiles.luna]
provider = \"moon\"
endpoint = \"https://api.example/v1\"
fallbacks = [\"sol\"]
[profiles.sol]
provider = \"star\"
endpoint = \"https://other.example/v1\"
";

pub(crate) const LIMITED: &str =
    "❌ Rate limited after 2 retries — HTTP 429: Rate limit reached for requests per min (RPM)";
pub(crate) const REFUSED_KEY: &str =
    "❌ Non-retryable error (HTTP 401): HTTP 401: Incorrect API key provided";

impl TestBoard {
    pub(crate) fn fleet() -> TestBoard {
        let mut b = TestBoard::new();
        b.config.push_str(FLEET);
        b
    }

    /// A task of luna's that was given up ten minutes ago, and whose log ends on this line.
    pub(crate) fn died_of(&self, id: &str, line: &str) {
        self.give_up(id, "pid 4242 not alive", 600);
        self.log_ending_on(id, line);
    }

    pub(crate) fn log_ending_on(&self, id: &str, line: &str) {
        self.log(
            id,
            &format!(
                "Query: work kanban task {id}\nInitializing agent...\n\
                 ⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   \
                 🌐 Endpoint: https://api.example/v1\n{line}\n\n\
                 Duration:       8s\nMessages:       1 (1 user, 0 tool calls)\n"
            ),
        );
    }

    pub(crate) fn pass_of(&self, program: &str, later: i64, args: &[&str]) -> Ran {
        let at = (now() + later).to_string();
        ran(self.command(program).arg("--db").arg(&self.db).args(["--now", &at]).args(args))
    }

    /// One pass of `route-blocked`, as it will be in so many seconds.
    fn routed(&self, later: i64) -> Ran {
        self.pass_of("route-blocked", later, &[])
    }

    fn settled(&self, later: i64) -> Ran {
        self.pass_of("synthesize-distress", later, &[])
    }

    fn place(&self, id: &str) -> (String, String) {
        (self.task(id, "assignee"), self.task(id, "status"))
    }

    fn count(&self, what: &str) -> String {
        self.value(&format!("SELECT count(*) FROM {what}"))
    }
}

fn at(assignee: &str, status: &str) -> (String, String) {
    (assignee.into(), status.into())
}

#[test]
fn limited_work_is_moved_in_the_step_that_writes_its_card_and_nobody_is_woken() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    let said = b.settled(0).ok();
    assert_eq!(
        said,
        "t_00000001 move: luna to sol: The last attempt ended on rate_limit (HTTP 429) at api.example.\n"
    );
    assert_eq!(b.place("t_00000001"), at("sol", "ready"));
    let card = b.value("SELECT id FROM tasks WHERE title = '[BLOCKED] t_00000001 rate_limited'");
    assert_eq!((b.task(&card, "status"), b.kinds(&card)), ("done".into(), "created completed".into()));
    assert_eq!(b.count(&format!("task_runs WHERE task_id = '{card}' AND outcome = 'completed'")), "1");
    assert_eq!(b.count(&format!("task_links WHERE parent_id = '{card}' AND child_id = 't_00000001'")), "1");
    assert!(b.task(&card, "body").starts_with("## Distress Signal\n- Blocked task: t_00000001"));
    assert!(
        b.kinds("t_00000001").ends_with("linked assigned unblocked commented"),
        "{}",
        b.kinds("t_00000001")
    );
    let note = b.value("SELECT body FROM task_comments WHERE task_id = 't_00000001'");
    assert!(note.starts_with("Moved from luna to sol, at star (other.example):"), "{note}");
    assert_eq!(b.value("PRAGMA integrity_check"), "ok");
    // A second round changes nothing.
    let after = b.dump();
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        assert_eq!(b.pass_of(program, 1, &[]).ok(), "", "{program}");
    }
    assert!(b.dump() == after, "rows changed");
}

#[test]
fn a_limit_that_a_clock_that_was_ahead_booked_holds_no_work() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    b.add("t_00000002", "ready");
    let book = |later: i64| {
        b.sql("UPDATE tasks SET status = 'done' WHERE id = 't_00000001'");
        b.sql(&format!(
            "UPDATE task_runs SET outcome = 'rate_limited', started_at = {}, ended_at = {}",
            now() + later - 60,
            now() + later
        ));
    };
    book(31_000_000);
    assert_eq!(b.routed(0).ok(), "");
    assert_eq!(b.place("t_00000002"), at("luna", "ready"));
    book(-60);
    assert!(b.routed(0).ok().starts_with("t_00000002 move: luna to sol"));
}

impl TestBoard {
    /// The task works in a folder with a repository.
    pub(crate) fn works_in_a_tree(&self, id: &str) -> PathBuf {
        let tree = self.path().join(format!("work-{id}"));
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("a"), "one\n").unwrap();
        git(&tree, &["init", "-q"]);
        let place = format!("workspace_kind = 'dir', workspace_path = '{}'", tree.display());
        self.sql(&format!("UPDATE tasks SET {place} WHERE id = '{id}'"));
        tree
    }

    /// What an event says of the tree: its hash, else why that is not known.
    fn noted_tree(&self, id: &str, kind: &str) -> (Value, Value) {
        let ours = self.payload(id, kind)["watchbill"].clone();
        (ours["tree"].clone(), ours["tree_unknown"].clone())
    }

    /// The noted tree of a reassigned task is what its next attempt begins with, until a file is changed.
    fn takes_its_tree_along(&self, id: &str, tree: &Path) {
        let given = self.noted_tree(id, "assigned");
        assert!(given.0.as_str().is_some_and(|h| h.starts_with("git:")), "{given:?}");
        assert_eq!(given.1, Value::Null);
        self.hand(&["claim", id]).ok();
        assert_eq!(self.noted_tree(id, "claimed"), given);
        fs::write(tree.join("a"), "two\n").unwrap();
        self.hand(&["block", id, "--kind", "capability", "no lamp"]).ok();
        self.hand(&["reassign", id, "vega"]).ok();
        let later = self.noted_tree(id, "assigned").0;
        assert!(later.is_string() && later != given.0, "{later} {given:?}");
        // What is not known stops nobody, and is said.
        fs::remove_dir_all(tree).unwrap();
        self.hand(&["reassign", id, "nova"]).ok();
        let (hash, why) = self.noted_tree(id, "assigned");
        assert!(hash.is_null() && why.as_str().is_some_and(|w| w.contains("no such folder")), "{hash} {why}");
        self.hand(&["unblock", id]).ok();
        self.hand(&["claim", id]).ok();
        assert_eq!(self.noted_tree(id, "claimed"), (hash, why));
    }
}

#[test]
fn work_that_changes_hands_takes_the_state_of_its_tree_along() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    b.add("t_00000002", "ready");
    let trees = ["t_00000001", "t_00000002"].map(|id| b.works_in_a_tree(id));
    // Moved with its card, by the program that writes cards.
    b.settled(0).ok();
    assert_eq!(
        (b.place("t_00000001"), b.task("t_00000002", "status")),
        (at("sol", "ready"), "scheduled".into())
    );
    b.takes_its_tree_along("t_00000001", &trees[0]);
    // Moved out of a hold.
    assert!(b.routed(700).ok().contains("t_00000002 move"));
    assert_eq!(b.place("t_00000002"), at("sol", "ready"));
    b.takes_its_tree_along("t_00000002", &trees[1]);
}

#[test]
fn a_refused_key_moves_too_and_without_a_fallback_the_orchestrator_is_asked() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", REFUSED_KEY);
    b.settled(0).ok();
    assert_eq!(b.place("t_00000001"), at("sol", "ready"));
    let later = (now() + 7_200).to_string();
    let said = tools::run(&b, &["status", "--now", &later]).ok();
    assert!(said.contains("the key of luna at moon"), "{said}");
    assert!(said.contains("put a working key into the configuration of luna"), "{said}");
    let b = TestBoard::new();
    b.died_of("t_00000001", LIMITED);
    b.settled(0).ok();
    assert_eq!(b.place("t_00000001"), at("luna", "blocked"));
    assert_eq!(b.count("tasks WHERE title LIKE '[BLOCKED]%' AND status = 'ready'"), "1");
}

#[test]
fn a_card_waits_for_its_turn_while_other_work_has_the_places_and_not_for_ever() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", "❌ Non-retryable error (HTTP 404): HTTP 404: The model `m1` does not exist");
    b.pass_of("synthesize-distress", 0, &[]).ok();
    let card = b.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED] t_00000001 %'");
    assert_eq!(b.place(&card), at("tuesday", "ready"));
    let gateway = fs::File::create(b.path().join("kanban/.dispatcher.lock")).unwrap();
    flock(&gateway, FlockOperation::LockExclusive).unwrap();
    b.add("t_0000d00e", "ready");
    let run = b.run_it("t_0000d00e", None, -600);
    let busy = worker("t_0000d00e", run);
    b.sql(&format!("UPDATE tasks SET worker_pid = {} WHERE id = 't_0000d00e'", busy.pid()));
    let waits = |later: i64| {
        let said = b.pass_of("route-blocked", later, &["-v"]).ok();
        assert!(said.contains(&format!("{card} skipped: waits for a free place for ")), "{said}");
        assert_eq!(b.place(&card), at("tuesday", "ready"));
    };
    waits(1_900);
    waits(7_100);
    let why = |later: i64| {
        let at = (now() + later).to_string();
        ran(b.command("watchbill").args(["why", "t_00000001", "--now", &at])).ok()
    };
    assert!(!why(1_900).contains("nobody has taken card"), "{}", why(1_900));
    assert!(why(7_300).contains(&format!("nobody has taken card {card} for 2h")), "{}", why(7_300));
    // No task has its places any more, and it still waits: the operator must look.
    let copy = b.dump();
    let rest = |status: &str| b.sql(&format!("UPDATE tasks SET status = '{status}' WHERE id = 't_0000d00e'"));
    rest("scheduled");
    b.sql("UPDATE task_events SET created_at = created_at - 7200 WHERE task_id = 't_0000d00e'");
    let said = b.pass_of("route-blocked", 1_900, &["-n"]).ok();
    assert!(said.contains("needs a person: nobody claimed it for 31m"), "{said}");
    rest("running");
    b.sql("UPDATE task_events SET created_at = created_at + 7200 WHERE task_id = 't_0000d00e'");
    assert!(b.dump() == copy, "as it was");
    let said = b.pass_of("route-blocked", 7_300, &[]).ok();
    assert!(said.contains("needs a person: nobody claimed it for 2h"), "{said}");
    assert_eq!((b.task(&card, "status"), b.task("t_00000001", "status")), ("done".into(), "blocked".into()));
    assert_eq!(b.payload("t_00000001", "blocked")["cause"], "card-unclaimed");
}

#[test]
fn looking_writes_nothing_and_a_plan_does_what_it_said() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    b.settled(0).ok();
    for i in 2..=6 {
        b.add(&format!("t_0000000{i}"), "ready");
    }
    let before = b.dump();
    let planned = b.pass_of("route-blocked", 0, &["--dry-run", "--json"]).json();
    assert!(b.dump() == before, "rows changed");
    let steps = planned["boards"][0]["steps"].as_array().unwrap();
    let moves = steps.iter().filter(|s| s["action"] == "move").count();
    // One place at sol is taken already, the others wait.
    assert_eq!((moves, steps.len()), (1, 5), "{planned:#}");
    let file = b.path().join("plan.json");
    std::fs::write(&file, planned.to_string()).unwrap();
    let said = ran(b.command("route-blocked").arg("--plan").arg(&file)).ok();
    assert_eq!(said.lines().count(), 5, "{said}");
    assert_eq!(b.count("tasks WHERE status = 'scheduled'"), "4");
    let ends =
        b.value("SELECT min(json_extract(payload, '$.until')) FROM task_events WHERE kind = 'scheduled'");
    assert!(ends.parse::<i64>().unwrap() > now(), "every hold has an end");
    let seen = b.pass_of("route-blocked", 0, &["--dry-run", "--json", "-v"]).json();
    let facts = b.path().join("facts.json");
    std::fs::write(&facts, seen.to_string()).unwrap();
    let again = ran(b.command("route-blocked").args(["--json", "--facts"]).arg(&facts)).json();
    assert_eq!(again["boards"][0]["steps"], seen["boards"][0]["steps"]);
}

#[test]
fn the_hold_ends_with_one_probe_and_what_is_remembered_decides_nothing() {
    let mut b = TestBoard::fleet();
    b.config = b.config.replace("fallbacks = [\"sol\"]", "");
    b.died_of("t_00000001", LIMITED);
    for i in 2..=5 {
        b.add(&format!("t_0000000{i}"), "ready");
    }
    // Held together with the task that showed the limit, before a dispatcher starts them.
    b.settled(0).ok();
    b.sql("UPDATE tasks SET status = 'archived' WHERE title LIKE '[BLOCKED]%'");
    assert_eq!(b.count("tasks WHERE status = 'scheduled' AND assignee = 'luna'"), "4");
    assert_eq!(b.routed(60).ok(), "");
    let state = b.path().join("state");
    let plan = |b: &TestBoard| {
        let mut command = b.command("route-blocked");
        command.env("WATCHBILL_PASS", "p").arg("--db").arg(&b.db);
        let at = (now() + 2_000).to_string();
        let said = ran(command.args(["-n", "--json", "--now", &at])).json();
        said["boards"][0]["steps"].clone()
    };
    let with = plan(&b);
    std::fs::remove_dir_all(&state).unwrap();
    assert_eq!(plan(&b), with, "a lost cache changes no decision");

    let said = b.routed(2_000).ok();
    assert_eq!(said.matches(" probe: ").count(), 1, "{said}");
    assert_eq!(said.matches(" extend: ").count(), 3, "{said}");
    assert_eq!(b.count("tasks WHERE status = 'ready' AND title LIKE 'Task%'"), "1");
    assert_eq!(b.routed(2_100).ok(), "", "the others wait for the probe");
    let probe = b.value("SELECT id FROM tasks WHERE status = 'ready' AND title LIKE 'Task%'");
    let mut command = b.command("watchbill");
    let at = (now() + 2_100).to_string();
    let said = ran(command.args(["providers", "--now", &at]).arg("--db").arg(&b.db)).ok();
    assert!(said.contains(&format!("{probe} probes it after rate_limit")), "{said}");
    // It works: the rest follows in steps.
    let (began, end) = (now() + 2_200, now() + 2_260);
    b.sql(&format!(
        "UPDATE tasks SET status = 'done' WHERE id = '{probe}';
         INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
           VALUES ('{probe}', 'luna', 'done', 'completed', {began}, {end});"
    ));
    let said = b.routed(2_400).ok();
    assert_eq!(said.matches(" release: ").count(), 2, "{said}");
    // heal leaves route-blocked's holds alone until it is clear that it does not run.
    assert_eq!(b.later(2_800, &[]).ok(), "");
    assert!(b.later(9_000, &[]).ok().contains("resume"), "no hold lasts for ever");
}

#[test]
fn a_fallback_that_was_limited_once_takes_work_again() {
    let mut b = TestBoard::fleet();
    b.config.push_str("fallbacks = [\"luna\"]\n");
    let (first, second, third) = ("t_00000001", "t_00000002", "t_00000003");
    b.died_of(first, LIMITED);
    assert!(b.settled(0).ok().contains(&format!("{first} move: luna to sol")));
    let works_well = |id: &str, profile: &str, began: i64| {
        let (began, end) = (now() + began, now() + began + 60);
        b.sql(&format!(
            "UPDATE tasks SET status = 'done' WHERE id = '{id}';
             INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
               VALUES ('{id}', '{profile}', 'done', 'completed', {began}, {end});"
        ));
    };
    works_well(first, "sol", 100);
    // Two hours later the other provider refuses. Nobody is left to try this one but its work.
    b.give_up(second, "pid 4242 not alive", -6_400);
    b.sql(&format!(
        "UPDATE tasks SET assignee = 'sol' WHERE id = '{second}';
         UPDATE task_runs SET profile = 'sol' WHERE task_id = '{second}';"
    ));
    b.log_ending_on(second, LIMITED);
    let log = b.path().join(format!("kanban/logs/{second}.log"));
    let text = fs::read_to_string(&log).unwrap().replace("api.example", "other.example");
    fs::write(&log, text).unwrap();
    let died = std::time::SystemTime::now() + std::time::Duration::from_secs(6_400);
    fs::File::options().append(true).open(&log).unwrap().set_modified(died).unwrap();
    let said = b.settled(6_600).ok();
    assert!(said.starts_with(&format!("{second} park: ")), "{said}");
    assert!(said.contains("moon (api.example) has to be probed first"), "{said}");
    b.add(third, "ready");
    b.sql(&format!("UPDATE tasks SET assignee = 'sol' WHERE id = '{third}'"));
    let said = b.routed(6_660).ok();
    assert!(said.starts_with(&format!("{third} park: ")) && said.lines().count() == 1, "{said}");
    // One at a time, and not before it has waited for a few minutes.
    let said = b.routed(6_950).ok();
    let tries = "the hold of moon (api.example) is over, and this one tries it first";
    assert!(said.starts_with(&format!("{second} move: sol to luna: ")) && said.contains(tries), "{said}");
    assert_eq!((b.place(second), b.place(third)), (at("luna", "ready"), at("sol", "scheduled")));
    assert_eq!(b.routed(7_000).ok(), "", "the other one waits for the probe");
    works_well(second, "luna", 7_010);
    assert!(b.routed(7_090).ok().starts_with(&format!("{third} move: sol to luna: ")));
    assert_eq!(b.place(third), at("luna", "ready"));
}

/// Puts a board that nobody has open under the Hermes root of another one.
fn under(mut b: TestBoard, root: &TestBoard) -> TestBoard {
    let folder = root.path().join("kanban/boards/other");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&b.db, folder.join("kanban.db")).unwrap();
    b.db = folder.join("kanban.db");
    b
}

/// Something in the place of a profile's configuration that cannot be read.
fn blind(b: &TestBoard, profile: &str) {
    fs::create_dir_all(b.path().join("profiles").join(profile).join("config.yaml")).unwrap();
}

/// An attempt at `t_00000001` ended a minute ago, and Hermes booked it as limited.
fn limited(b: &TestBoard) {
    b.sql(&format!(
        "INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at)
           VALUES ('t_00000001', 'luna', 'rate_limited', 'rate_limited', {at} - 60, {at});
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES
           ('t_00000001', last_insert_rowid(), 'claimed', '{{\"lock\":\"h:1\"}}', {at} - 60),
           ('t_00000001', last_insert_rowid(), 'rate_limited', '{{\"pid\":1}}', {at});",
        at = now() - 60
    ));
}

#[test]
fn a_profile_whose_configuration_cannot_be_read_waits_for_what_refused_it() {
    let b = TestBoard::new();
    blind(&b, "luna");
    b.add("t_00000001", "ready");
    b.log_ending_on("t_00000001", LIMITED);
    limited(&b);
    let said = b.routed(0);
    let why = format!(
        "the provider of luna is not known: {}/profiles/luna/config.yaml cannot be read: not a regular file",
        b.path().display()
    );
    assert!(said.code == 1 && said.err.matches(&why).count() == 1, "{said:?}");
    assert_eq!(b.place("t_00000001"), at("luna", "scheduled"));
    let shown = ran(b.command("watchbill").arg("providers").arg("--db").arg(&b.db)).ok();
    // Where its log names the address, everything that tells of it does so in the same words.
    let name = "the provider of luna (api.example)";
    assert!(shown.lines().any(|l| l.starts_with(&format!("{name}  limited "))), "{shown}");
    let held = b.payload("t_00000001", "scheduled")["reason"].to_string();
    assert!(held.contains(&format!("{name} is limited")), "{held}");
}

#[test]
fn where_nobody_says_which_provider_it_is_none_is_called_healthy() {
    let b = TestBoard::own();
    let ended = |profile: &str, words: &str| {
        b.hand(&["add", "Light the lanterns", "--assignee", profile]).ok();
        let mut run = b.command("board");
        run.arg("--db").arg(&b.db).args(["run", "--assignee", profile, "--", "sh", "-c"]);
        let _ = ran(run.arg(format!("printf '{words}'; exit 1")));
    };
    ended(
        "luna",
        "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"no\"}}\\n",
    );
    ended(
        "sol",
        "Query: work kanban task\\nInitializing agent...\\n\
         ⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\\n   🔌 Provider: custom  Model: m1\\n   \
         🌐 Endpoint: https://api.example/v1\\n\
         ❌ Rate limited after 2 retries — HTTP 429: Rate limit reached for requests per min (RPM)\\n\\n\
         Duration:       8s\\nMessages:       1 (1 user, 0 tool calls)\\n",
    );
    for program in ["heal", "synthesize-distress", "route-blocked"] {
        let _ = b.pass_of(program, 300, &[]);
    }
    assert_eq!(b.count("tasks WHERE status = 'scheduled'"), "2");
    let said = {
        let at = (now() + 310).to_string();
        ran(b.command("watchbill").args(["providers", "--now", &at]).arg("--db").arg(&b.db)).ok()
    };
    assert!(!said.contains("healthy"), "{said}");
    let lines: Vec<Vec<&str>> = said.lines().map(|l| l.split_whitespace().collect()).collect();
    let row = |name: &str| lines.iter().find(|l| l[0] == name).unwrap_or_else(|| panic!("{name}: {said}"));
    assert_eq!(row("unknown")[..5], ["unknown", "unknown", "-", "1", "luna"], "{said}");
    assert!(said.contains("provider not known: set profiles.luna.provider"), "{said}");
    let limited = row("api.example");
    assert!(limited[1] == "limited" && limited.contains(&"1"), "{said}");
}

#[test]
fn a_fallback_whose_configuration_cannot_be_read_says_why_it_does_not_help() {
    let mut b = TestBoard::new();
    b.config.push_str("[profiles.luna]\nprovider = \"moon\"\nendpoint = \"https://api.example/v1\"\nfallbacks = [\"sol\"]\n");
    blind(&b, "sol");
    for profile in ["luna", "tuesday"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    b.died_of("t_00000001", LIMITED);
    b.settled(0).ok();
    let card = b.value("SELECT body FROM tasks WHERE title LIKE '[BLOCKED] t_00000001%'");
    assert!(card.contains("no fallback of luna would help; the provider of sol is not known:"), "{card}");
}

/// Neither watcher touches the board, and each names this place once, on a line with these words.
#[track_caller]
fn left_alone(b: &TestBoard, place: &str, words: &str) {
    let before = b.dump();
    let place = format!("{} cannot be read: ", b.path().join(place).display());
    for said in [b.settled(3_600), b.routed(3_600)] {
        let told: Vec<&str> = said.err.lines().filter(|l| l.contains(&place)).collect();
        assert!(said.code == 1 && told.len() == 1 && told[0].contains(words), "{said:?}");
    }
    assert_eq!(b.dump(), before, "{place}");
}

/// A task for a profile that is nowhere, and one that its provider refused.
fn stuck() -> TestBoard {
    let b = TestBoard::fleet();
    fs::write(b.path().join("config.yaml"), "kanban: {auto_decompose: false}\n").unwrap();
    b.died_of("t_00000001", LIMITED);
    b.add("t_00000002", "ready");
    b.sql("UPDATE tasks SET assignee = 'zoe' WHERE id = 't_00000002'");
    b
}

#[test]
fn profiles_that_cannot_be_listed_are_missing_to_nobody() {
    let b = stuck();
    let folder = b.path().join("profiles");
    // No right keeps root out of a folder.
    fs::write(&folder, "").unwrap();
    left_alone(&b, "profiles", "who takes cards and which profiles there are is not known");
    fs::remove_file(&folder).unwrap();
    for profile in ["luna", "sol", "tuesday"] {
        fs::create_dir_all(folder.join(profile)).unwrap();
    }
    assert!(b.settled(3_600).ok().contains("t_00000001 move"));
    assert!(b.routed(3_600).out.contains("t_00000002 tell"));
}

#[test]
fn settings_that_cannot_be_read_name_no_orchestrator() {
    let mut b = stuck();
    for profile in ["luna", "sol", "tuesday"] {
        fs::create_dir_all(b.path().join("profiles").join(profile)).unwrap();
    }
    fs::write(b.path().join("config.yaml"), "kanban: {orchestrator_profile: iris\n").unwrap();
    left_alone(&b, "config.yaml", "who takes cards");
    // What our own configuration says is known, and the card asks whom it names.
    b.config.push_str("[distress]\norchestrator = \"iris\"\n");
    let said = b.settled(3_600);
    assert!(said.code == 1 && said.err.contains("which profiles there are is not known"), "{said:?}");
    assert_eq!(b.value("SELECT assignee FROM tasks WHERE title LIKE '[BLOCKED]%'"), "iris");
    assert_ne!(b.place("t_00000001").0, "sol", "whether its dispatcher starts sol is not known");
}

#[test]
fn boards_of_one_root_know_of_each_others_providers() {
    let a = TestBoard::fleet();
    let b = under(TestBoard::fleet(), &a);
    a.died_of("t_00000001", LIMITED);
    a.settled(0).ok();
    b.add("t_00000002", "ready");
    let both = |program: &str, args: &[&str]| {
        ran(a.command(program).arg("--db").arg(&a.db).arg("--db").arg(&b.db).args(args))
    };
    let said = both("route-blocked", &[]).ok();
    assert!(said.contains("t_00000002 move"), "{said}");
    assert_eq!(b.place("t_00000002"), at("sol", "ready"));
    // And in a pass of its own, from what the other one left.
    b.add("t_00000003", "ready");
    let at_now = now().to_string();
    let alone = ran(a.command("route-blocked").arg("--db").arg(&b.db).args(["--now", &at_now])).ok();
    assert!(alone.contains("t_00000003 park"), "sol has two on their way already: {alone}");
    let c = TestBoard::fleet();
    c.add("t_00000004", "ready");
    assert_eq!(c.routed(0).ok(), "", "another host's state knows nothing of it");
}

#[test]
fn what_a_pass_sends_from_one_board_counts_on_the_next_one() {
    let a = TestBoard::fleet();
    let b = under(TestBoard::fleet(), &a);
    a.died_of("t_00000001", LIMITED);
    a.settled(0).ok();
    a.add("t_00000002", "ready");
    b.add("t_00000003", "ready");
    let said = ran(a.command("route-blocked").arg("--db").arg(&a.db).arg("--db").arg(&b.db)).ok();
    assert!(said.contains("t_00000002 move"), "{said}");
    assert!(said.contains("t_00000003 park"), "sol has two on their way: {said}");
}

#[test]
fn a_profile_of_the_same_name_under_another_root_is_another_one() {
    let (a, b) = (TestBoard::fleet(), TestBoard::fleet());
    a.died_of("t_00000001", REFUSED_KEY);
    a.died_of("t_00000002", LIMITED);
    // The second program leaves what the first one wrote for other boards.
    for program in ["synthesize-distress", "route-blocked"] {
        let _ = ran(a.command(program).arg("--db").arg(&a.db));
    }
    let known = |path: &std::path::Path| {
        let state = rusqlite::Connection::open(path.join("state/watchbill/state.db")).unwrap();
        state.query_row("SELECT count(*) FROM shared", [], |r| r.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(known(a.path()), 1, "what is known of the first root is there to be mixed up");
    b.add("t_00000003", "ready");
    // One user, and so one state.
    let with = |args: &[&str]| ran(a.command(args[0]).args(&args[1..]).arg("--db").arg(&b.db));
    assert_eq!(with(&["route-blocked"]).ok(), "");
    assert_eq!(b.place("t_00000003"), at("luna", "ready"));
    let said = with(&["watchbill", "providers"]).ok();
    assert!(said.contains("healthy") && !said.contains("refused") && !said.contains("limited"), "{said}");
    let both =
        ran(a.command("watchbill").arg("providers").arg("--db").arg(&a.db).arg("--db").arg(&b.db)).ok();
    let lines = |word: &str| both.lines().filter(|l| l.contains(word)).count();
    assert_eq!((lines("refused"), lines("healthy ")), (2, 3), "{both}");
}

#[test]
fn quiet_hours_resume_nothing() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    let at_night = |program: &str, later: i64| {
        let at = (now() + later).to_string();
        let mut command = b.command(program);
        // A minute that is over, so that now is always within.
        let minute = (now() / 60 - 2) % 1_440;
        let (from, to) = ((minute + 1) % 1_440, minute);
        let clock = |m: i64| format!("{:02}:{:02}", m / 60, m % 60);
        command.env("WATCHBILL_ROUTING_QUIET_HOURS", format!("{}-{}", clock(from), clock(to)));
        ran(command.arg("--db").arg(&b.db).args(["-v", "--now", &at]))
    };
    let said = at_night("synthesize-distress", 0).ok();
    assert!(said.contains("park") && said.contains("quiet hours until"), "{said}");
    assert_eq!(b.place("t_00000001"), at("luna", "scheduled"));
    assert!(!at_night("route-blocked", 60).ok().contains("move:"));
    assert!(!at_night("heal", 7_200).ok().contains("resume"));
    assert!(b.routed(60).ok().contains("t_00000001 move"), "in the morning it goes on");
}

#[test]
fn providers_shows_who_stands_how_and_writes_nothing() {
    let b = TestBoard::fleet();
    b.died_of("t_00000001", LIMITED);
    b.add("t_00000002", "ready");
    b.settled(0).ok();
    let before = b.dump();
    let show = |args: &[&str]| ran(b.command("watchbill").arg("providers").arg("--db").arg(&b.db).args(args));
    let said = show(&[]).ok();
    let line = |name: &str| {
        said.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    assert!(line("moon (api.example)").contains("limited"), "{said}");
    assert!(
        line("moon").contains("luna") && line("moon").contains("refused once, seen on t_00000001"),
        "{said}"
    );
    assert!(line("star (other.example)").contains("healthy"), "{said}");
    let all: Value = show(&["--json"]).json();
    assert_eq!(all["schema"], "watchbill.providers/1");
    let moon = all["providers"].as_array().unwrap().iter().find(|p| p["name"] == "moon").unwrap();
    assert_eq!((&moon["state"], &moon["refusals"], &moon["held"]), (&json!("limited"), &json!(1), &json!(1)));
    assert_eq!(moon["until"], moon["next_probe"]);
    assert!(b.dump() == before, "rows changed");
}

#[test]
fn what_a_limit_was_is_not_told_otherwise_once_its_note_is_old() {
    let b = TestBoard::fleet();
    b.add("t_00000001", "done");
    let at = now() - 600;
    let trail = json!({"by": "synthesize-distress", "watchbill": {"pass": "p", "case": "died-of-it", "because": "x",
        "cause": "rate_limit", "run": 7, "provider": "moon", "host": "api.example", "profile": "luna"}});
    b.sql(&format!(
        "INSERT INTO task_runs (id, task_id, profile, status, started_at, ended_at, outcome)
         VALUES (7, 't_00000001', 'luna', 'rate_limited', {at} - 60, {at}, 'rate_limited');
         INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
         VALUES ('t_00000001', 7, 'watchbill_signal', '{trail}', {at} + 60)"
    ));
    let moon = |later: i64| {
        let at = (now() + later).to_string();
        let mut command = b.command("watchbill");
        let all: Value =
            ran(command.args(["providers", "--json", "--now", &at]).arg("--db").arg(&b.db)).json();
        let all = all["providers"].as_array().unwrap();
        all.iter().find(|p| p["name"] == "moon").map(|p| (p["cause"].clone(), p["state"].clone())).unwrap()
    };
    assert_eq!(moon(10), (json!("rate_limit"), json!("limited")));
    assert_eq!(moon(11 * 3_600), (json!("rate_limit"), json!("half_open")));
    assert_eq!(moon(13 * 3_600), (json!(null), json!("healthy")), "as of a limit that no run is booked for");
}

// No watcher wrote it down: only its log says by what it was limited.
#[test]
fn what_a_booked_limit_was_is_told_by_its_log_as_long_as_it_counts() {
    let b = TestBoard::fleet();
    b.add("t_00000001", "ready");
    b.log_ending_on("t_00000001", "❌ Non-retryable error (HTTP 402): HTTP 402: Insufficient credits");
    limited(&b);
    for later in [10, 2 * 3_600, 11 * 3_600] {
        let at = (now() + later).to_string();
        let said = ran(b.command("watchbill").args(["providers", "--now", &at]).arg("--db").arg(&b.db)).ok();
        let moon = said.lines().find(|l| l.starts_with("moon ")).unwrap();
        assert!(moon.contains("quota") && !moon.contains("server_error"), "{later}: {said}");
    }
}

#[test]
fn what_hermes_itself_writes_into_a_configuration_is_no_change() {
    let b = TestBoard::new();
    let (home, luna) = (b.path().join("profiles/luna"), b.path().join("profiles/luna/config.yaml"));
    fs::create_dir_all(&home).unwrap();
    let says = |model: &str, more: &str| {
        let provider = "{base_url: 'https://api.example/v1', api_key: k}";
        let text =
            format!("model: {{provider: moon, default: {model}}}\nproviders: {{moon: {provider}}}\n{more}");
        fs::write(&luna, text).unwrap();
    };
    says("m1", "");
    b.add("t_00000001", "ready");
    b.run_it("t_00000001", None, 600);
    // All at the present moment: what is written now is newer than the attempt.
    let pass = || ran(&mut b.command("route-blocked"));
    assert_eq!((pass().ok(), b.kinds("t_00000001")), (String::new(), "created claimed".into()));
    says("m1", "onboarding: {seen: {tool_progress_prompt: true}}\n");
    let quiet = pass();
    assert_eq!(
        (quiet.code, quiet.out.as_str(), quiet.err.as_str()),
        (0, "", ""),
        "nothing that decides changed"
    );

    says("m2", "onboarding: {seen: {tool_progress_prompt: true}}\n");
    let told = pass();
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(told.out.contains("after this attempt began") && !told.out.contains("kill"), "{told:?}");
    assert_eq!(b.kinds("t_00000001"), "created claimed watchbill_detected");
    assert_eq!(pass().ok(), "", "once an episode");
}
