//! Crash loops, and the jam of Hermes' respawn guard.

use super::home::Home;

#[test]
fn a_crash_loop_is_reset_three_times_then_escalated_once() {
    let Some(home) = Home::new() else { return };
    let task = home.create(&[]);
    // Cool-downs of 10, 20 and 40 min, each with up to a fifth of scatter on top; a death is a minute old.
    for (n, cool) in [(1, 720), (2, 1_440), (3, 2_880)] {
        home.give_up_for_real(&task);
        let before = home.dump();
        let said = home.pass();
        assert!(said.of(&task).starts_with("left: gave up"), "{}", said.of(&task));
        assert!(said.of(&task).contains("next reset in"), "{}", said.of(&task));
        assert!(home.dump() == before, "rows changed");

        home.age(cool);
        let said = home.pass();
        assert!(said.of(&task).starts_with("reset crash-loop"), "{}", said.of(&task));
        assert_eq!(home.task(&task, "status"), "ready");
        assert_eq!(home.payload(&task, "unblocked")["watchbill"]["reset"], n);
        home.accepts(&[&task]);
        assert_eq!(home.would_start(), [task.as_str()]);
    }

    home.give_up_for_real(&task);
    home.age(6_000);
    let said = home.pass();
    assert!(said.of(&task).starts_with("escalate crash-loop"), "{}", said.of(&task));
    assert_eq!(home.task(&task, "status"), "blocked");
    home.accepts(&[&task]);
    let before = home.dump();
    for _ in 0..2 {
        let said = home.pass();
        assert!(said.of(&task).starts_with("left: escalated"), "{}", said.of(&task));
    }
    assert!(home.dump() == before, "rows changed");
    home.age(24 * 3_600);
    assert_eq!(home.pass().steps(), 0);
    assert_eq!(home.kinds(&task).matches("watchbill_escalated").count(), 1);
}

#[test]
fn what_is_run_while_somebody_works_on_the_card_starts_no_count_anew() {
    let Some(mut home) = Home::new() else { return };
    home.profile("tuesday", "http://127.0.0.1:9/nobody/v1");
    home.configure("[heal]\nmax_resets = 1\n[distress]\norchestrator = 'tuesday'\n");
    let task = home.create(&[]);
    let gives_up = || {
        home.give_up_for_real(&task);
        home.age(2_880);
        home.pass().of(&task).to_owned()
    };
    assert!(gives_up().starts_with("reset crash-loop"));
    let said = gives_up();
    assert!(said.starts_with("escalate crash-loop"), "{said}");
    home.distress(&[]).ok();
    let card = home.value("SELECT id FROM tasks WHERE title LIKE '[BLOCKED]%'");

    // The orchestrator frees it from the command line, without a word about its card.
    home.hermes(&["claim", &card]).ok();
    home.age(30);
    home.hermes(&["unblock", &task]).ok();
    let unblocked = home.payload(&task, "unblocked");
    assert!(unblocked["by"].is_null() && unblocked["author"].is_null(), "nobody's name: {unblocked}");
    home.age(30);
    home.hermes(&["complete", &card, "--summary", "it may try again"]).ok();
    assert_eq!(home.task(&task, "status"), "ready");
    let said = gives_up();
    assert!(said.starts_with("left: escalated"), "{said}");

    // A person does the same while nobody works on a card.
    home.hermes(&["unblock", &task]).ok();
    let said = gives_up();
    assert!(said.starts_with("reset crash-loop"), "{said}");
    assert_eq!(home.payload(&task, "unblocked")["watchbill"]["reset"], 1);
}

#[test]
fn a_jam_over_a_text_that_is_no_credential_error_is_cleared_once() {
    let Some(home) = Home::new() else { return };
    let (jammed, refused) = (home.create(&[]), home.create(&[]));
    for (task, error) in [
        (&jammed, "[Errno 13] Permission denied: /srv/lanterns"),
        (&refused, "HTTP 401: Invalid API key provided: sk-fake"),
    ] {
        home.sql(&format!(
            "UPDATE tasks SET consecutive_failures = 1, last_failure_error = '{error}' WHERE id = '{task}'"
        ));
    }
    home.hermes(&["dispatch"]).ok();
    assert!(home.kinds(&jammed).ends_with("respawn_guarded"), "{}", home.kinds(&jammed));
    home.age(300);
    let said = home.pass();
    assert!(said.of(&jammed).starts_with("clear guard-jam"), "{}", said.of(&jammed));
    assert!(
        said.of(&refused).starts_with("left: held by Hermes' guard for a reason"),
        "{}",
        said.of(&refused)
    );
    let before = home.dump();
    assert_eq!(home.pass().steps(), 0);
    assert!(home.dump() == before, "rows changed");
    home.accepts(&[&jammed, &refused]);
    assert_eq!(home.would_start(), [jammed.as_str()]);
}
