//! A worker whose provider refuses it again and again, and that goes on asking: Hermes 0.19 prints nothing of that into
//! the worker's log before it gives up, only the log of its profile tells.

use super::super::home::{Home, key};
use super::super::provider::Provider;

/// More refusals than the window asks for.
const REFUSALS: usize = 5;

#[test]
fn a_worker_that_asks_in_vain_gets_its_card_while_it_lives() {
    let Some(home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.configured(
        "luna",
        &format!(
            "model: {{provider: fake, default: m1}}\nproviders:\n  fake: {{base_url: '{}', api_key: {}, default_model: m1}}\n\
             agent: {{api_max_retries: 60, max_turns: 6}}\n",
            provider.mode("r429"),
            key()
        ),
    );
    home.profile("tuesday", &provider.mode("ok"));
    let task = home.create(&[]);
    home.tick(&[]);
    (0..REFUSALS).for_each(|_| provider.await_question("r429"));
    let before = home.rows(&task);

    home.distress(&[]).ok();
    let card = home.card(&task);
    assert_eq!((card.blocker.as_str(), card.status.as_str()), ("rate_limited", "ready"));
    assert_eq!(home.task(&task, "status"), "running", "its worker is its own");
    assert_eq!(home.value("SELECT count(*) FROM task_links"), "0", "a link would demote a running source");
    assert_eq!(home.payload(&card.id, "created")["source_task"], task.as_str());
    let after = home.rows(&task);
    assert!(after.len() > before.len() && after.contains("synthesize-distress"), "no comment");
    home.accepts(&[&task, &card.id]);

    // Once it no longer runs, the source waits for its card.
    home.kill_worker(&task);
    home.age(300);
    home.heal(&[]).ok();
    home.distress(&[]).ok();
    assert_eq!(home.value("SELECT count(*) FROM task_links"), "1");
    assert!(!home.would_start().contains(&task), "{}", home.kinds(&task));
    assert_eq!(home.cards(&task).len(), 1);
    home.accepts(&[&task, &card.id]);
}
