//! A card that a worker wrote has the worker's own folder, and Hermes clears a finished task's folder away. Whichever
//! worker completes it, the work of the source stays.

use super::super::home::Home;
use super::super::provider::Provider;
use crate::support::ran;

#[test]
fn completing_a_workers_card_deletes_nothing_of_its_source() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.login_path();
    home.configure("[distress]\nmax_open_cards = 100\nstorm = \"off\"\n");
    home.profile("luna", &provider.mode("carded"));
    home.profile("tuesday", &provider.mode("decide"));
    let tasks: Vec<String> = (0..3).map(|_| home.create(&[])).collect();
    home.hermes(&["dispatch"]).ok();
    for task in &tasks {
        home.await_status(task, "blocked");
    }
    home.await_workers();
    let work = |task: &str| std::path::Path::new(&home.task(task, "workspace_path")).join("lanterns.txt");
    // Its title is nearly that of a card.
    let named = |task: &str| format!("SELECT id FROM tasks WHERE title = '[BLOCKED] {task}: rate limited'");
    let cards: Vec<String> = tasks.iter().map(|task| home.value(&named(task))).collect();
    for (task, card) in tasks.iter().zip(&cards) {
        assert!(work(task).exists());
        assert_eq!(
            home.task(card, "workspace_path"),
            home.task(task, "workspace_path"),
            "no danger any more"
        );
    }

    home.round();
    home.round();
    for (task, card) in tasks.iter().zip(&cards) {
        let place = (home.task(card, "workspace_kind"), home.task(card, "workspace_path"));
        assert_eq!(place, ("scratch".into(), "NULL".into()), "{}", home.way(card));
        let made = home.card(task);
        assert_eq!(
            (made.blocker.as_str(), made.status.as_str()),
            ("rate_limited", "ready"),
            "{}",
            home.way(card)
        );
        assert_eq!(home.value(&format!("SELECT count(*) FROM task_links WHERE child_id = '{card}'")), "0");
    }
    home.accepts(&[&tasks[0], &cards[0]]);

    // By the tool of a real worker, by the command line, and as the dashboard does it.
    let [by_tool, by_command, by_page] = &cards[..] else { panic!() };
    home.hermes(&["complete", by_command, "--summary", "looked at it"]).ok();
    let code = "import sys; from hermes_cli import kanban_db as kb; c = kb.connect(); \
                assert kb.complete_task(c, sys.argv[1], result=None, summary='looked at it'); c.close()";
    ran(home.run("python").args(["-c", code, by_page])).ok();
    home.hermes(&["dispatch"]).ok();
    home.await_status(by_tool, "done");
    home.await_workers();
    home.round();
    for (task, card) in tasks.iter().zip(&cards) {
        assert_eq!(home.task(card, "status"), "done");
        assert!(work(task).exists(), "{card} took the work of {task} with it");
    }
    home.accepts(&tasks.iter().chain(&cards).map(String::as_str).collect::<Vec<_>>());
}
