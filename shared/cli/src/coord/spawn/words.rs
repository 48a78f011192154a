//! What a new session is told.

use super::order::Order;
use board::Detail;
use card::packet;
use card::{flag_of, id_word, shell_word, with_flags};

/// What was to be said, else the task as it is on the board, and how to report.
pub(super) fn prompt(order: &Order, seen: &Detail, db: &str) -> String {
    let id = &order.task;
    let mut parts = Vec::new();
    match &order.told {
        Some(told) => parts.push(told.clone()),
        None => parts.push(packet::told(seen, None)),
    }
    let run = seen.task.current_run.unwrap_or(0);
    let place = order.place.display();
    let on = match order.branch.as_str() {
        "" => String::new(),
        branch => format!(" on branch {branch}"),
    };
    let db = shell_word(db);
    let word = id_word(id);
    let of_run = format!(" --run {run}");
    // The harness of a command sends them itself.
    let beat = match order.runtime.headless() {
        Some(_) => String::new(),
        None => {
            format!(
                "- every few minutes: `{}`\n",
                with_flags(&format!("board --db {db} heartbeat"), &word, &of_run)
            )
        }
    };
    let complete = with_flags(
        &format!("board --db {db} complete"),
        &word,
        &format!("{of_run} --summary \"what changed\""),
    );
    let from = flag_of("--from", &word);
    parts.push(format!(
        "## How to work on it\n\
         You work on task {id}, in {place}{on}, and nowhere else. Nobody answers questions while you work; commit \
         what you do. In your terminal:\n\
         - rules for workers: `board protocol worker`; the whole task: `board --db {db} show {word}`\n\
         {beat}\
         - when it is done: `{complete}`\n\
         - to tell your coordinator something: `coord --db {db} notify {from} \"...\"`\n\
         - when you cannot go on: the same with `--level blocking`; say what you tried, what failed and what would help, then \
         end your turn: the answer is your next message"
    ));
    parts.retain(|p| !p.is_empty());
    parts.join("\n\n")
}
