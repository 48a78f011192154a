//! Codex on a board of our own. Its successor is given what a claim answers: the task's text and its comments.

use serde_json::Value;

use super::install::programs;
use super::model::Answer;
use super::scene::{BODY, Scene, command_line, kill, line};
use super::tongue::Agent;
use crate::support::TestBoard;

/// What a harness without Hermes would make of a claim: the text, then every comment.
fn whole(claimed: &Value) -> String {
    let comments = claimed["comments"].as_array().unwrap().iter();
    let bodies = std::iter::once(&claimed["body"]).chain(comments.map(|c| &c["body"]));
    bodies.map(|b| b.as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn killed_in_a_tool_it_is_gone_on_with() {
    let Some(bin) = programs() else { return };
    let board = TestBoard::own();
    let scene = Scene::new(&board, Agent::Codex, bin);
    let id = scene.task.as_str();
    let mut worker = scene.start(&board, whole);
    scene.await_tool();
    let alive = board.dump();
    for seconds in [60, 7_200] {
        assert_eq!(board.later(seconds, &[]).ok(), "", "a tool that takes long is no stall");
    }
    assert_eq!(board.dump(), alive);
    worker.kill();

    // What npm installs only starts the program, which lives on, still talks to its model and still has its tool.
    let is_codex = |pid: &i64| command_line(*pid).contains("\0exec\0");
    let native: Vec<i64> = scene.marked().into_iter().filter(is_codex).collect();
    assert_eq!(native.len(), 1, "{native:?}");
    board.later(60, &[]).ok();
    let noted = board.dump();
    let waits = |what: &str| {
        let said = board.later(60, &["-v"]).ok();
        // The wait is counted from the first look, which was noted.
        let is_waiting = said.contains("worker gone, waiting up to ") && said.contains(" for its child ");
        assert!(is_waiting, "{what}: {said}");
        assert_eq!(board.dump(), noted, "{what}");
    };
    waits("the program");
    native.into_iter().for_each(kill);
    waits("its tool");
    scene.sweep();
    scene.put_back(&board);
    let packet = scene.packet(&board);
    scene.is_true(&packet, "gpt-5.1-codex");
    assert!(line(&packet, "- Last calls: ").contains("Add File: one.txt"), "{packet}");
    assert_eq!(line(&packet, "- Files touched: "), "one.txt");

    let prompt = board.heal(&["--db", board.db.to_str().unwrap(), "--print-prompt", id]).ok();
    assert!(prompt.starts_with(BODY) && prompt.contains("You are resuming"), "{prompt}");
    let mut worker = scene.start(&board, whole);
    scene.is_finished(&board, &mut worker, &format!("{BODY}\n\n{packet}"));
}

/// Codex leaves no pointer. A pass that saw it alive knows its rollout by who held it open, even where others worked in the
/// folder; where none did, nobody can tell whose the sessions are, and nothing is told of them.
#[test]
fn its_open_rollout_tells_its_session_from_others_in_the_folder() {
    let Some(bin) = programs() else { return };
    for seen_alive in [true, false] {
        let board = TestBoard::own();
        let scene = Scene::new(&board, Agent::Codex, bin.clone());
        let mut worker = scene.start(&board, whole);
        scene.await_tool();
        let mut person = scene.beside(&board, "What is this?");
        assert_eq!(scene.await_end(&mut person), Some(0), "{}", scene.log());
        assert_eq!(scene.model.told().last(), Some(&Answer::Over));
        if seen_alive {
            assert_eq!(board.later(60, &[]).ok(), "");
        }
        worker.kill();
        scene.sweep();
        scene.put_back(&board);
        let packet = scene.packet(&board);
        match seen_alive {
            true => scene.is_true(&packet, "gpt-5.1-codex"),
            false => assert!(!packet.contains("Autopsy"), "{packet}"),
        }
    }
}
