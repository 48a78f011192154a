//! What became of the tasks of an incident, by the rows of its board alone.

use serde_json::Value;

use super::world::World;

/// What became of all of them; the worst where they differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Done, or about to be started by the real dispatcher.
    Recovered,
    /// With a person, who is told this.
    Handed(String),
    /// No watcher wrote a row of it.
    Untouched,
    /// A task stands still, or is held for later, and nobody is asked.
    Waiting,
}

impl Verdict {
    /// The same, whatever the words.
    pub fn is_like(&self, other: &Verdict) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// What is to come of an incident.
#[derive(Debug, Clone, Copy)]
pub enum Expect {
    Recovered,
    /// These words stand in what the person is told.
    Handed(&'static str),
    /// These words stand in the reason our programs give.
    Left(&'static str),
}

/// The programs whose events are ours.
const OURS: &str = "('heal', 'synthesize-distress', 'route-blocked', 'budget-check')";

/// Looks at the rows.
pub fn judge(w: &mut World) -> Verdict {
    let start = if w.halted && w.tasks.iter().any(|t| w.home.task(t, "status") == "ready") {
        w.gateway.tick(true)
    } else {
        Vec::new()
    };
    w.tasks.iter().map(|t| one(w, t, &start)).max().unwrap_or(Verdict::Recovered)
}

fn one(w: &World, task: &str, start: &[String]) -> Verdict {
    let status = w.home.task(task, "status");
    if status == "done" || start.iter().any(|t| t == task) {
        return Verdict::Recovered;
    }
    if let Some(told) = with_a_person(w, task) {
        return Verdict::Handed(told);
    }
    // Ready, and a pass said, with an exit code that a timer reports, why no dispatcher can take it.
    if status == "ready"
        && let Some(told) = &w.wedged
    {
        return Verdict::Handed(told.clone());
    }
    let ours = w.home.value(&format!(
        "SELECT count(*) FROM task_events WHERE task_id = '{task}' AND json_valid(payload)
           AND json_extract(payload, '$.by') IN {OURS}"
    ));
    if ours == "0" { Verdict::Untouched } else { Verdict::Waiting }
}

/// What a person is told about a task that waits for one.
fn with_a_person(w: &World, task: &str) -> Option<String> {
    let newest = |kinds: &str| {
        let text = w.home.value(&format!(
            "SELECT (SELECT kind || ' ' || coalesce(payload, '{{}}') FROM task_events
               WHERE task_id = '{task}' AND kind IN ({kinds}) ORDER BY id DESC LIMIT 1)"
        ));
        let (kind, payload) = text.split_once(' ')?;
        Some((kind.to_owned(), serde_json::from_str::<Value>(payload).ok()?))
    };
    // The sticky block that means: a person.
    if let Some((kind, payload)) = newest("'blocked', 'unblocked', 'promoted', 'promoted_manual', 'claimed'")
        && kind == "blocked"
        && payload["watchbill"].is_object()
        && payload["cause"].is_string()
    {
        let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        return Some(format!("{}: {}", word(&payload["cause"]), word(&payload["reason"])));
    }
    // Said once on the board, and by every pass, with the command that mends it.
    if let Some((kind, payload)) = newest("'watchbill_detected', 'claimed', 'unblocked', 'assigned'")
        && kind == "watchbill_detected"
        && payload["mend"].is_string()
    {
        return Some(w.home.value(&format!(
            "SELECT body FROM task_comments WHERE task_id = '{task}' AND author IN ('heal', 'route-blocked') ORDER BY id DESC LIMIT 1"
        )));
    }
    // An open card that can be claimed or answered.
    let card = w.home.value(&format!(
        "SELECT (SELECT title || char(10) || body FROM tasks WHERE title LIKE '[BLOCKED] {task} %'
           AND status IN ('ready', 'running', 'blocked') LIMIT 1)"
    ));
    (card != "NULL")
        .then(|| format!("card {}", card.split(' ').nth(2).unwrap_or_default().to_owned() + "\n" + &card))
}
