//! Sessions of the real Claude Code and the real Codex that `coord spawn` starts: they work, end, are killed, are stopped.

use std::fs;

use serde_json::{Value, json};

use super::install::programs;
use super::model::{Answer, FIRST, SECOND};
use super::scene::{BODY, Scene, command_line, kill, line};
use super::tongue::Agent;
use crate::support::{TestBoard, is_gone, until};

fn each(test: impl Fn(&TestBoard, &Scene, Agent)) {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(bin) = programs() else { return };
        let board = TestBoard::own();
        let scene = Scene::unplaced(&board, agent, bin);
        test(&board, &scene, agent);
    }
}

fn row(board: &TestBoard, scene: &Scene) -> Value {
    let all = scene.coord(board, &["status", &scene.task, "--json"]).json();
    all["sessions"].as_array().unwrap().last().unwrap().clone()
}

/// Worker and harness.
fn processes(board: &TestBoard, scene: &Scene) -> [i64; 2] {
    let lock = board.task(&scene.task, "claim_lock");
    [board.task(&scene.task, "worker_pid"), lock.rsplit(':').next().unwrap().to_owned()]
        .map(|p| p.parse().unwrap())
}

/// Spawned, killed with all it started, requeued by `heal`, spawned again: the second does what was left, and says that it is
/// done.
#[test]
fn killed_it_is_gone_on_with_by_the_next() {
    each(|board, scene, agent| {
        let first = scene.spawn(board);
        scene.await_tool();
        assert_eq!(scene.kept(&first), 1, "its own file, by its name");
        let seen = row(board, scene);
        let runtime = if agent == Agent::Claude { "claude" } else { "codex" };
        assert_eq!((&seen["runtime"], &seen["state"]), (&json!(runtime), &json!("busy")));
        assert!(seen["active"].is_string(), "its log tells when it last did something: {seen}");
        let alive = board.dump();
        assert_eq!(board.later(120, &[]).ok(), "", "a tool that takes long is no stall");
        assert_eq!(board.dump(), alive);

        let [worker, harness] = processes(board, scene);
        [harness, worker].into_iter().for_each(kill);
        scene.sweep();
        until("both are gone", || is_gone(worker) && is_gone(harness));
        assert_eq!(row(board, scene)["state"], "gone");
        let said = board.later(120, &[]).ok();
        assert!(said.contains("note: worker"), "{said}");
        let said = board.later(180, &[]).ok();
        assert!(said.contains("requeue: worker"), "{said}");
        let now = row(board, scene);
        assert_eq!((&now["mapping"], &now["state"]), (&json!("failed"), &json!("ended")));
        let packet = scene.packet(board);
        assert!(line(&packet, "- Files touched: ").ends_with(FIRST), "{packet}");
        assert!(line(&packet, "- Last calls: ").contains("(no answer)"), "{packet}");
        assert_eq!(line(&packet, "- Branch: "), format!("wt/{}", scene.task));

        let second = scene.spawn(board);
        assert_ne!(first, second);
        scene.wait("the task to be done", || board.task(&scene.task, "status") == "done");
        scene.wait("the agent to end", || scene.marked().is_empty());
        let all = [Answer::First, Answer::SecondSlowly, Answer::Second, Answer::Complete, Answer::Over];
        assert_eq!(scene.model.told(), all, "{}", scene.log());
        assert!(
            scene.model.asked()[2].prompt.contains(packet.trim_end()),
            "{}",
            scene.model.asked()[2].prompt
        );
        for name in [FIRST, SECOND] {
            assert_eq!(fs::read_to_string(scene.tree.join(name)).unwrap(), "lit\n");
        }
        let now = row(board, scene);
        assert_eq!((&now["session"], &now["mapping"]), (&json!(second), &json!("completed")));
        let before = board.dump();
        assert_eq!(board.later(900, &[]).ok(), "");
        assert_eq!(board.dump(), before);
    });
}

/// It asks for help, its turn ends, and it is answered by its runtime's own resume: the same session, with all it knew.
#[test]
fn answered_it_goes_on_in_its_own_session() {
    each(|board, scene, agent| {
        let session = scene.spawn(board);
        scene.await_tool();
        let task = scene.task.as_str();
        scene.coord(board, &["notify", "which lamp first?", "--from", task, "--level", "blocking"]).ok();
        assert_eq!(scene.coord(board, &["message", task, "The left one."]).code, 75, "it works still");
        // Its tool is over, and what it would say to the board is refused.
        let tools =
            || scene.marked().into_iter().filter(|pid| command_line(*pid).starts_with("sleep\x00300"));
        tools().for_each(kill);
        scene.wait("its turn to end", || scene.marked().is_empty());
        let waiting = row(board, scene);
        assert_eq!(
            (&waiting["mapping"], &waiting["state"]),
            (&json!("active"), &json!("waiting")),
            "{waiting}"
        );
        let before = board.dump();
        assert_eq!(board.later(900, &[]).ok(), "");
        assert_eq!(board.dump(), before);

        let asked = scene.model.asked().len();
        let more: &[&str] = match agent {
            Agent::Claude => {
                &["--", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash,Write,Read,Edit"]
            }
            Agent::Codex => &[],
        };
        let said = scene.coord(board, &[&["message", task, "The left one first."], more].concat()).ok();
        assert_eq!(said, format!("{session} was told, and has {task} again as run 2\n"));
        scene.wait("the task to be done", || board.task(task, "status") == "done");
        scene.wait("the agent to end", || scene.marked().is_empty());
        let told = &scene.model.asked()[asked].prompt;
        assert!(told.contains(BODY) && told.contains("The left one first."), "all it knew: {told}");
        assert!(told.contains("--run 2"), "{told}");
        assert_eq!(scene.kept(&session), 1, "one transcript");
        let now = row(board, scene);
        assert_eq!((&now["session"], &now["run"]), (&json!(session), &json!(2)), "{now}");
        assert_eq!(now["mapping"], "completed");
        assert_eq!(
            board
                .value(&format!("SELECT group_concat(outcome, ' ') FROM task_runs WHERE task_id = '{task}'")),
            "blocked completed"
        );
    });
}

#[test]
fn an_abort_leaves_nothing_of_it() {
    each(|board, scene, _| {
        let session = scene.spawn(board);
        scene.await_tool();
        let [worker, harness] = processes(board, scene);
        let said = scene.coord(board, &["abort", &session]).ok();
        let free = format!("{session} stopped; its mapping is aborted, and {} is free\n", scene.task);
        assert_eq!(said, free);
        assert!(is_gone(worker) && is_gone(harness));
        assert_eq!(scene.marked(), Vec::<i64>::new());
        let row = row(board, scene);
        assert_eq!((&row["mapping"], &row["state"]), (&json!("aborted"), &json!("ended")));
        let id = &scene.task;
        assert_eq!(board.task(id, "status || consecutive_failures"), "ready0");
        let before = board.dump();
        assert_eq!(board.later(900, &[]).ok(), "");
        assert_eq!(board.dump(), before);
    });
}

/// A worker that ends at once did not succeed, and the reason is told.
#[test]
fn one_that_cannot_work_is_not_called_started() {
    each(|board, scene, agent| {
        if agent == Agent::Claude {
            let args = ["spawn", "--task", &scene.task, "--runtime", "claude", "--", "--no-such-flag"];
            let said = scene.coord(board, &args).fails(1);
            assert!(said.contains("ended at once: worker exited with code 1 (board run)"), "{said}");
        } else {
            let args = ["spawn", "--task", &scene.task, "--runtime", "codex", "--", "--no-such-flag"];
            let said = scene.coord(board, &args).fails(1);
            assert!(said.contains("codex named no session: worker exited with code 2 (board run)"), "{said}");
            assert!(scene.tree.exists(), "nobody knows what it did there");
        }
        assert_eq!(board.task(&scene.task, "status"), "ready");
        assert_eq!(scene.marked(), Vec::<i64>::new());
    });
}
