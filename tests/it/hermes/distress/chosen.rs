//! What an orchestrator decides, and what it leaves undecided.

use super::super::home::Home;
use super::super::provider::Provider;

#[test]
fn the_orchestrator_moves_one_source_and_forgets_the_other() {
    let Some(mut home) = Home::new() else { return };
    let provider = Provider::new(&home);
    home.login_path();
    home.configure("[distress]\nmax_open_cards = 1\n");
    home.profile("luna", &provider.mode("r429"));
    home.profile("mira", &provider.beside("r402", "r429"));
    home.profile("sol", &provider.mode("ok"));
    home.profile("tuesday", &provider.mode("orchestrator"));
    let moved = home.create(&["--priority", "5"]);
    let forgotten = home.create(&["--assignee", "mira"]);
    home.tick(&[]);
    home.tick(&[]);
    // Both died once and are tried again by Hermes: it has not given up yet.
    home.distress(&[]).ok();
    assert!(home.cards(&moved).is_empty() && home.cards(&forgotten).is_empty());
    home.tick(&[]);
    for task in [&moved, &forgotten] {
        assert_eq!(home.task(task, "status"), "blocked", "{}", home.kinds(task));
    }

    // One card waits for the orchestrator, the other one for its turn.
    home.distress(&[]).ok();
    let (card, queued) = (home.card(&moved), home.card(&forgotten));
    assert_eq!((card.blocker.as_str(), card.status.as_str()), ("rate_limited", "ready"));
    assert_eq!((queued.blocker.as_str(), queued.status.as_str()), ("rate_limited", "scheduled"));
    let offered = card.body.lines().find_map(|l| l.strip_prefix("PROFILE is one of: "));
    assert_eq!(offered, Some("sol."), "mira's work goes to the provider that limits luna's: {}", card.body);
    home.accepts(&[&moved, &forgotten, &card.id, &queued.id]);

    assert_eq!(home.would_start(), [card.id.as_str()]);
    home.tick(&[]);
    home.await_status(&card.id, "done");
    // Hermes promotes what waited for the card in a transaction of its own, after the one that ends it.
    home.await_status(&moved, "ready");
    home.await_workers();
    assert_eq!((home.task(&moved, "assignee"), home.task(&moved, "status")), ("sol".into(), "ready".into()));
    let way = home.way(&moved);
    assert!(way.contains("assigned unblocked promoted"), "{way}");

    // The source goes on elsewhere. The other card's turn comes, and its orchestrator says nothing.
    home.profile("tuesday", &provider.mode("ok"));
    home.distress(&[]).ok();
    assert_eq!(home.card(&forgotten).status, "ready");
    home.tick(&[]);
    home.await_status(&moved, "done");
    home.await_status(&queued.id, "done");
    home.await_workers();
    assert_eq!(home.cards(&moved).len(), 1);
    let before = home.dump();
    let said = home.round();
    assert!(said.contains(&format!("{forgotten} is still blocked")), "{said}");
    assert!(said.contains("without a decision"), "{said}");
    assert!(!home.round().contains(&forgotten), "it was said");
    assert!(home.dump() == before, "rows changed");
    assert_eq!(
        (home.task(&forgotten, "assignee"), home.task(&forgotten, "status")),
        ("mira".into(), "blocked".into())
    );
    assert!(home.would_start().is_empty());
    home.accepts(&[&moved, &forgotten, &card.id, &queued.id]);
    home.keeps_the_key();
}
