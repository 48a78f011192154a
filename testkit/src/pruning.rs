//! Tasks that are over, of which `board prune` removes some: the same rows for every engine.

/// What is to go, at 90 days. The second half of an id says what it is.
pub const GOES: [&str; 9] = [
    "t_a0000001", // done, with attempts, events of each kind and comments
    "t_a0000002", // archived, with a key
    "t_a0000003", // the parent of a task that is done, and young
    "t_a0000004", // the child of one that is archived
    "t_a0000005", // the archived one
    "t_a0000006", // had a card, which is done
    "t_a0000007", // that card
    "t_a0000008", // a part of a split whose card is gone
    "t_a0000009", // a card by its title, of a task that is done
];

/// What is over and stays, although nothing was written to it for 90 days.
pub const KEPT: [&str; 9] = [
    "t_b0000001", // done, with a key
    "t_b0000002", // its child is open
    "t_b0000003", // its parent is open
    "t_b0000004", // a card with its key is open
    "t_b0000005", // a card that names it by the title alone is open
    "t_b0000006", // a card by its key, whose task is open
    "t_b0000007", // a card by its title, whose task is open
    "t_b0000008", // a part of a split whose card is open
    "t_b0000009", // in the middle: its parent is over, its child is open
];

/// The rest: young, or open.
pub const REST: [&str; 11] = [
    "t_c0000001", // the young child
    "t_c0000002", // old, but for a comment
    "t_c0000003", // old, but for an event
    "t_c0000004", // old, but for the end of an attempt
    "t_c0000005", // old, with an attempt that has not ended
    "t_c0000006", // old, and claimed
    "t_d0000001", // open
    "t_d0000002", // the card with a key
    "t_d0000003", // the card by its title
    "t_d0000004", // the task of cards that are done
    "t_d0000005", // open for ever
];

/// Comments on what goes, its events and attempts.
pub const ROWS: [i64; 3] = [2, 8, 2];

/// Writes them to a board, where now is this moment.
pub fn rows(now: i64) -> String {
    let task = |id: &str, status: &str, title: &str, key: &str, at: i64| {
        let ended = if ["done", "archived"].contains(&status) { at + 60 } else { 0 };
        format!(
            "INSERT INTO tasks (id, title, status, idempotency_key, created_at, completed_at) \
             VALUES ('{id}', '{title}', '{status}', nullif('{key}', ''), {at}, nullif({ended}, 0));\n"
        )
    };
    let old = now - 100 * 86_400;
    let mut sql = String::new();
    for id in GOES.into_iter().chain(KEPT) {
        let (status, title, key) = match id {
            "t_a0000002" => ("archived", "Put away", "nightly:1"),
            "t_a0000005" => ("archived", "Put away", ""),
            "t_a0000007" => ("done", "[BLOCKED] t_a0000006 env_blocker", "distress:t_a0000006:env_blocker:1"),
            "t_a0000008" => ("done", "A part", "split:t_aaaaaaaa:1"),
            "t_a0000009" => ("done", "[BLOCKED] t_a0000001 env_blocker", ""),
            "t_b0000001" => ("done", "Once", "nightly:2"),
            "t_b0000006" => ("done", "[BLOCKED] two tasks", "distress:t_d0000004:env_blocker:1"),
            "t_b0000007" => ("done", "[BLOCKED] t_d0000004 env_blocker", ""),
            "t_b0000008" => ("done", "A part", "split:t_d0000002:1"),
            _ => ("done", "Port the parser", ""),
        };
        sql += &task(id, status, title, key, old);
    }
    for id in REST {
        let (status, title, key) = match id {
            "t_d0000002" => {
                ("ready", "[BLOCKED] t_b0000004 env_blocker", "distress:t_b0000004:env_blocker:1")
            }
            "t_d0000003" => ("ready", "[blocked] t_b0000005: rate limited", ""),
            id if id.starts_with("t_d") => ("ready", "Port the parser", ""),
            _ => ("done", "Port the parser", ""),
        };
        sql += &task(id, status, title, key, if id == "t_c0000001" { now - 89 * 86_400 } else { old });
    }
    for (parent, child) in [
        ("t_a0000003", "t_c0000001"),
        ("t_a0000005", "t_a0000004"),
        ("t_a0000001", "t_b0000009"),
        ("t_b0000002", "t_d0000001"),
        ("t_d0000001", "t_b0000003"),
        ("t_b0000009", "t_d0000005"),
    ] {
        sql += &format!("INSERT INTO task_links VALUES ('{parent}', '{child}');\n");
    }
    for (id, at) in [("t_a0000001", old), ("t_a0000001", old + 5), ("t_c0000002", now - 86_400)] {
        sql += &format!(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('{id}', 'rosa', 'note', {at});\n"
        );
    }
    let kinds = [
        "created",
        "claimed",
        "heartbeat",
        "claim_extended",
        "respawn_guarded",
        "reclaim_deferred",
        "coord.spawned",
        "completed",
    ];
    let events = kinds.map(|kind| ("t_a0000001", kind, old)).into_iter();
    for (id, kind, at) in events.chain([("t_c0000003", "commented", now - 86_400)]) {
        sql += &format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{id}', '{kind}', '{{}}', {at});\n"
        );
    }
    for (id, ended) in
        [("t_a0000001", old + 60), ("t_a0000007", old + 60), ("t_c0000004", now - 86_400), ("t_c0000005", 0)]
    {
        sql += &format!(
            "INSERT INTO task_runs (task_id, status, started_at, ended_at) VALUES ('{id}', 'done', {old}, nullif({ended}, 0));\n"
        );
    }
    sql + "UPDATE tasks SET claim_lock = 'h1:7' WHERE id = 't_c0000006';\n"
}
