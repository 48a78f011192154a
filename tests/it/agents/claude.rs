//! Claude Code on a board that the real Hermes made. Its successor is given what Hermes shows a worker.

use super::install::programs;
use super::model::{Answer, FIRST};
use super::scene::{BODY, Scene, kill, line};
use super::tongue::Agent;
use crate::hermes::home::Home;
use crate::support::TestBoard;

#[test]
fn killed_in_a_tool_it_is_gone_on_with() {
    let Some(bin) = programs() else { return };
    let Some(home) = Home::new() else { return };
    let scene = Scene::new(&home, Agent::Claude, bin);
    let id = scene.task.as_str();
    let mut worker = scene.start(&home, |claimed| claimed["body"].as_str().unwrap().to_owned());
    scene.await_tool();
    let alive = home.dump();
    for seconds in [60, 7_200] {
        assert_eq!(home.later(seconds, &[]).ok(), "", "a tool that takes long is no stall");
    }
    assert_eq!(home.dump(), alive);
    worker.kill();

    // Its tool runs on and would still do the second step, beside the next attempt.
    let said = home.later(60, &["-v"]).ok();
    assert!(said.contains("note: worker gone, waiting up to 15m for its child"), "{said}");
    let noted = home.dump();
    let said = home.later(60, &["-v"]).ok();
    assert!(said.contains("worker gone, waiting up to ") && home.dump() == noted, "{said}");
    scene.sweep();
    scene.put_back(&home);
    let packet = scene.packet(&home);
    scene.is_true(&packet, "claude-sonnet-4-5");
    let one = scene.tree.join(FIRST);
    let calls = line(&packet, "- Last calls: ");
    assert!(calls.starts_with(&format!("Write: {}, Bash: sleep 300 ", one.display())), "{calls}");
    assert_eq!(line(&packet, "- Files touched: "), one.to_str().unwrap());

    let told = home.hermes(&["context", id]).ok();
    assert!(told.contains(BODY) && told.contains("comment from worker `heal`"), "{told}");
    let mut worker = scene.start(&home, |_| told.clone());
    scene.is_finished(&home, &mut worker, told.trim_end());
}

/// The pointer of a killed session stays behind, and says whose the transcript is even where others worked in the folder.
#[test]
fn its_pointer_tells_its_session_from_others_in_the_folder() {
    let Some(bin) = programs() else { return };
    let board = TestBoard::own();
    let scene = Scene::new(&board, Agent::Claude, bin);
    let mut worker = scene.start(&board, |claimed| claimed["body"].as_str().unwrap().to_owned());
    scene.await_tool();
    // A person asks something in the same folder meanwhile.
    let mut person = scene.beside(&board, "What is this?");
    assert_eq!(scene.await_end(&mut person), Some(0), "{}", scene.log());
    assert_eq!(scene.model.told().last(), Some(&Answer::Over));
    worker.kill();
    scene.sweep();
    scene.put_back(&board);
    scene.is_true(&scene.packet(&board), "claude-sonnet-4-5");
}

/// With no more than `board run`: the harness sees the kill, leaves the task to `heal` while its tool runs on, and the next
/// one gives the next agent its prompt.
#[test]
fn under_board_run_it_is_gone_on_with_by_the_next() {
    let Some(bin) = programs() else { return };
    let board = TestBoard::own();
    let scene = Scene::new(&board, Agent::Claude, bin);
    let mut harness = scene.harness(&board);
    scene.await_tool();
    kill(board.task(&scene.task, "worker_pid").parse().unwrap());
    assert_eq!(scene.await_end(&mut harness), Some(1), "{}", scene.log());
    assert_eq!(board.payload(&scene.task, "watchbill_ended")["watchbill"]["signal"], 9);
    scene.sweep();
    scene.put_back(&board);
    let packet = scene.packet(&board);
    scene.is_true(&packet, "claude-sonnet-4-5");
    let mut harness = scene.harness(&board);
    scene.is_finished(&board, &mut harness, &packet);
}
