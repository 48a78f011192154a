//! What the operator decided or Hermes handles itself: `heal` skips it.

use super::home::Home;
use crate::support::dead_pid;

#[test]
fn a_persons_word_stands() {
    let Some(home) = Home::new() else { return };
    let once = home.create(&["--max-retries", "1"]);
    for _ in 0..2 {
        home.ran(home.run("hermes").args(["kanban", "dispatch"]).env("HERMES_BIN", "/bin/false")).ok();
        home.age(60);
    }
    assert_eq!(home.payload(&once, "gave_up")["limit_source"], "task");

    let commented = home.claimed(&[], Some(dead_pid()));
    home.hermes(&["comment", "--author", "anna", &commented, "watchbill: no-heal\nI look at it myself."])
        .ok();
    let marked = home.claimed(&["--body", "Count them.\nwatchbill: no-heal"], Some(dead_pid()));
    let control = home.claimed(&[], Some(dead_pid()));
    // Words by a worker's profile are not a person's.
    home.hermes(&["comment", "--author", "luna", &control, "watchbill: no-heal"]).ok();
    let blocked = home.create(&[]);
    home.hermes(&["block", &blocked, "which lanterns?"]).ok();
    let scheduled = home.create(&[]);
    home.hermes(&["schedule", &scheduled, "after the feast"]).ok();
    // A failure text makes both worth a look.
    home.sql(
        "UPDATE tasks SET last_failure_error = 'pid 7 not alive' WHERE status IN ('blocked', 'scheduled')",
    );
    home.age(3_600);

    let others = || [&once, &commented, &marked, &blocked, &scheduled].map(|task| home.rows(task));
    // The first sight of a death notes its tree.
    home.heal(&[]).ok();
    home.age(60);
    let before = others();
    let said = home.pass();
    assert!(said.of(&control).starts_with("requeue dead-worker"), "{}", said.of(&control));
    assert_eq!(said.steps(), 1);
    assert_eq!(others(), before);
    for (task, why) in [
        (&once, "left: gave up at a limit set by hand"),
        (&commented, "left: marked `watchbill: no-heal`"),
        (&marked, "left: marked `watchbill: no-heal`"),
        (&blocked, "left: blocked by hand"),
        (&scheduled, "left: scheduled outside Watchbill"),
    ] {
        assert!(said.of(task).starts_with(why), "{}", said.of(task));
    }
}

#[test]
fn what_hermes_handles_itself_is_left_to_it() {
    let Some(home) = Home::new() else { return };
    // A rate-limited worker as a newer dispatcher records it, again and again.
    let limited = home.create(&[]);
    let error = "pid 7 exited rate-limited (quota wall)";
    home.sql(&format!(
        "UPDATE tasks SET last_failure_error = '{error}' WHERE id = '{limited}';
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 21)
         INSERT INTO task_runs (task_id, profile, status, outcome, error, started_at, ended_at)
           SELECT '{limited}', 'luna', 'rate_limited', 'rate_limited', '{error}',
             unixepoch() - 330 * (22 - i), unixepoch() - 330 * (22 - i) + 20 FROM n;"
    ));
    // Blocked without a word: Hermes promotes it on its next tick.
    let raw = home.create(&[]);
    home.sql(&format!("UPDATE tasks SET status = 'blocked' WHERE id = '{raw}'"));
    home.age(600);
    let before = home.dump();
    let said = home.pass();
    assert_eq!(said.steps(), 0, "{} {}", said.of(&limited), said.of(&raw));
    assert!(home.dump() == before, "rows changed");
    assert_eq!(home.ask(&["dispatch"])["promoted"], 1);
    assert_eq!(home.way(&raw), "created promoted claimed spawned");
    assert_eq!(home.way(&limited), "created claimed spawned", "its cool-down is over");
}
