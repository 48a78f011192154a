//! A worker that lives and beats says nothing of its provider: only an answer does.

use super::super::dispatcher::Dispatcher;
use super::super::home::Home;
use super::super::provider::Provider;

const FREE: &str = "FROM tasks WHERE assignee = 'luna' AND status IN ('todo', 'ready')";

/// How many tasks go on beside the one that tries first after a hold, once that one has worked for longer than
/// `routing.pace`, where its provider behaves like this by then.
fn let_go_beside_the_first(mode: &str) -> Option<usize> {
    let mut home = Home::new()?;
    let provider = Provider::new(&home);
    home.configure("[profiles.luna]\nfallbacks = [\"sol\"]\n");
    home.profile("luna", &provider.mode("r429"));
    // Helps nobody, so that all wait for luna's.
    home.profile("sol", &provider.beside("r429", "r429"));
    home.profile("tuesday", &provider.mode("ok"));
    (0..4).for_each(|_| drop(home.create(&[])));
    home.ends_on("luna", "r429.t_79a491c3.log", &provider.mode("r429"));
    let free = || home.value(&format!("SELECT ifnull(group_concat(id), '') {FREE}"));
    for _ in 0..8 {
        home.round();
        if !free().is_empty() {
            break;
        }
        home.age(600);
    }
    let probe = free();
    assert_eq!(probe.split(',').count(), 1, "one tries first: {probe}");
    // A person puts their card away, and decides nothing.
    home.hermes(&["archive", &home.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'")]).ok();
    provider.turn("r429", mode);
    let mut dispatcher = Dispatcher::new(&home, 1);
    assert_eq!(dispatcher.starts(), [(probe.clone(), "luna".to_owned())]);
    provider.await_question("r429");
    if mode == "steady" {
        // What it was answered, and what it asked upon that.
        provider.await_question("r429");
    }
    home.age(700);
    home.hermes(&["heartbeat", &probe]).ok();
    home.round();
    home.value(&format!("SELECT count(*) {FREE}")).parse().ok()
}

#[test]
fn a_provider_that_never_answers_gets_no_second_task() {
    let Some(beside) = let_go_beside_the_first("deaf") else { return };
    assert_eq!(beside, 0);
}

#[test]
fn one_that_answered_gets_more() {
    let Some(beside) = let_go_beside_the_first("steady") else { return };
    assert!(beside > 0);
}
