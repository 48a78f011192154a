//! Tasks as a person reads them. Everything from the board is stripped of control characters first.

use std::fmt::Write as _;

use serde_json::Value;

use base::count::things;
use base::redact::redact;
use base::time::{Time, words};
use board::{Detail, Task};
use card::packet;
use ops::report::printable;

/// Tasks as aligned columns.
pub(super) fn table(tasks: &[Task], now: Time) -> String {
    let wide = |f: &dyn Fn(&Task) -> usize| tasks.iter().map(f).max().unwrap_or(0);
    let who = |t: &Task| printable(t.assignee.as_deref().unwrap_or("-"));
    let (a, b, c) =
        (wide(&|t| t.id.len()), wide(&|t| t.status.as_str().len()), wide(&|t| who(t).chars().count()));
    let mut text = String::new();
    for t in tasks {
        let title: String = printable(&t.title).chars().take(80).collect();
        let age = words(now.since(t.created_at));
        let _ = writeln!(text, "{:a$}  {:b$}  {:c$}  {:>6}  {title}", t.id, t.status.as_str(), who(t), age);
    }
    text
}

/// One task as a person reads it.
pub(super) fn story(d: &Detail, now: Time) -> String {
    let t = &d.task;
    let mut s = String::new();
    let _ = writeln!(s, "{}  {}", t.id, printable(&t.title));
    let _ = writeln!(
        s,
        "{}, {}, priority {}, made {} ago",
        t.status,
        printable(t.assignee.as_deref().unwrap_or("unassigned")),
        t.priority,
        words(now.since(t.created_at))
    );
    if let Some(lock) = &t.claim_lock {
        let until = t.claim_expires.map_or_else(|| "no end".to_owned(), |e| e.to_string());
        let worker = t
            .worker_pid
            .map_or_else(|| "no worker process known".to_owned(), |p| format!("worker process {p}"));
        let _ = writeln!(s, "claimed by {} until {until}, {worker}", printable(lock));
    }
    if !t.pin.is_none() {
        let _ = writeln!(s, "pinned to {}", printable(&t.pin.to_string()));
    }
    if let Some(e) = &t.last_failure_error {
        let _ = writeln!(s, "{}, the last: {}", things(t.failures, "failure"), printable(e));
    }
    for p in &d.parents {
        let _ = writeln!(s, "waits for {} ({}) {}", p.id, p.status, printable(&p.title));
    }
    if !d.body.trim().is_empty() {
        // Secrets first: one of several lines is not known for one by each of them.
        let body = redact(&d.body);
        let _ = writeln!(s, "\n{}", body.lines().map(printable).collect::<Vec<_>>().join("\n"));
    }
    for r in d.runs.iter().rev() {
        let end = r
            .ended_at
            .map_or_else(|| "still open".to_owned(), |e| format!("{} long", words(e.since(r.started_at))));
        let who = printable(r.profile.as_deref().unwrap_or("-"));
        let how = r.outcome.as_deref().unwrap_or(&r.status);
        let note = r.error.as_deref().or(r.summary.as_deref()).unwrap_or("");
        let _ = writeln!(s, "run {}  {}  {who}  {how}, {end}  {}", r.id, r.started_at, printable(note));
    }
    if let Some(record) = packet::latest(d) {
        let _ = writeln!(s, "packet {record}");
    }
    for e in &d.events {
        let by = e.by().map_or_else(String::new, |b| format!(" by {}", printable(b)));
        let because = e.trail().and_then(|t| t.get("because")).and_then(Value::as_str).unwrap_or("");
        let _ = writeln!(s, "{}  {}{by}  {}", e.at, printable(e.kind.as_str()), printable(because));
    }
    for c in &d.comments {
        let _ = writeln!(s, "{}  {}: {}", c.at, printable(&c.author), printable(&c.body));
    }
    s
}
