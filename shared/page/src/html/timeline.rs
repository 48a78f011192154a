//! Attempts over time: one row of bars for each task, and the same as a table.

use std::collections::BTreeSet;

use super::super::{AttemptView, Overview, TaskView};
use super::MAX_TASKS;
use super::axis::Axis;
use super::parts::{Look, bar, chart_section, details, escaped, key, list, more, quoted, stamp, table};
use base::count::things;
use base::time::words as span;

/// Most attempts of a task, the newest ones.
const MAX_ATTEMPTS: usize = 30;
/// Most rows of the table.
const MAX_ROWS: usize = 600;
/// Rows that are shown at once.
const AT_ONCE: usize = 20;

/// The timeline of a board.
pub(super) fn section(o: &Overview) -> String {
    let shown = |t: &&TaskView| newest(t).any(|a| is_shown(a, o));
    let tasks: Vec<&TaskView> = o.tasks.iter().filter(shown).take(MAX_TASKS).collect();
    if tasks.is_empty() {
        let none = "<p class=\"muted\">No task was worked on in this time.</p>";
        return chart_section("timeline", "Attempts over time", none);
    }
    let attempts = || tasks.iter().flat_map(|t| newest(t)).filter(|a| is_shown(a, o));
    let axis = Axis::fit(attempts().map(|a| a.from), o.since, o.now);
    let looks: BTreeSet<Look> = attempts().map(|a| Look::of_outcome(a.outcome.as_deref())).collect();
    let keys = list("keys", looks.into_iter().map(|look| key(look, word(look))));
    let row = |t: &&TaskView| self::row(&axis, t, o);
    let first: String = tasks.iter().take(AT_ONCE).map(row).collect();
    let rest: String = tasks.iter().skip(AT_ONCE).map(row).collect();
    let rest = match tasks.len().saturating_sub(AT_ONCE) {
        0 => String::new(),
        n => details(&things(n, "more task"), &format!("<div class=\"rows\">{rest}</div>")),
    };
    let note = format!("<p class=\"muted\">Attempts {}, one row for each task.</p>", axis.words());
    chart_section(
        "timeline",
        "Attempts over time",
        &format!("{note}{keys}<div class=\"rows\">{first}{}</div>{rest}{}", axis_row(&axis), all(&tasks, o)),
    )
}

/// What a look means in this picture.
fn word(look: Look) -> &'static str {
    match look {
        Look::Runs => "runs",
        Look::Good => "completed",
        Look::Waits => "limited or requeued",
        Look::Stopped => "blocked",
        Look::Failed => "crashed or gave up",
        Look::Other => "another end",
    }
}

fn is_shown(a: &AttemptView, o: &Overview) -> bool {
    a.to.unwrap_or(o.now) >= o.since && a.from <= o.now
}

fn newest(t: &TaskView) -> impl Iterator<Item = &AttemptView> {
    t.attempts.iter().skip(t.attempts.len().saturating_sub(MAX_ATTEMPTS))
}

fn row(axis: &Axis, t: &TaskView, o: &Overview) -> String {
    let bars: String = newest(t).filter(|a| is_shown(a, o)).map(|a| attempt(axis, a, o)).collect();
    format!(
        "<div class=\"row\"><p class=\"label\"><code>{}</code> {}</p>\
         <svg class=\"bars\" role=\"img\" aria-label=\"attempts, as in the table below\" width=\"100%\" height=\"18\">{}{bars}</svg></div>\n",
        escaped(&t.task, 40),
        quoted(&t.title, 120),
        axis.grid()
    )
}

fn attempt(axis: &Axis, a: &AttemptView, o: &Overview) -> String {
    let (x, width) = axis.bar(a.from, a.to.unwrap_or(o.now));
    let who = a.profile.as_deref().map_or_else(|| "unknown worker".to_owned(), |p| escaped(p, 60));
    let length = span(a.to.unwrap_or(o.now).since(a.from));
    let until = a.to.map_or_else(|| "now".to_owned(), |t| super::parts::short_stamp(t, o.now));
    let from = super::parts::short_stamp(a.from, o.now);
    let how = a.outcome.as_deref().map_or_else(|| "runs".to_owned(), |w| escaped(w, 60));
    let tip = format!("attempt {} of {who}: {how}, {from} to {until} ({length})", a.run);
    bar(Look::of_outcome(a.outcome.as_deref()), &x, &width, &tip)
}

/// The hours under the rows, in the column of the bars.
pub(super) fn axis_row(axis: &Axis) -> String {
    format!("<div class=\"row axis\"><p class=\"label\"></p>{}</div>", axis.hours())
}

fn all(tasks: &[&TaskView], o: &Overview) -> String {
    let attempts: Vec<(&TaskView, &AttemptView)> =
        tasks.iter().flat_map(|t| newest(t).map(move |a| (*t, a))).collect();
    let rows = attempts.iter().take(MAX_ROWS).map(|(t, a)| {
        vec![
            format!("<code>{}</code>", escaped(&t.task, 40)),
            a.run.to_string(),
            a.profile.as_deref().map_or_else(|| "?".to_owned(), |p| quoted(p, 60)),
            stamp(a.from, o.now),
            a.to.map_or_else(|| "runs".to_owned(), |to| stamp(to, o.now)),
            span(a.to.unwrap_or(o.now).since(a.from)),
            a.outcome.as_deref().map_or_else(|| "runs".to_owned(), |w| quoted(w, 60)),
        ]
    });
    let heads = ["task", "attempt", "worker", "from", "to", "time", "end"];
    let inside = format!("{}{}", table(&heads, rows), more(attempts.len(), MAX_ROWS));
    details("The same as a table", &inside)
}
