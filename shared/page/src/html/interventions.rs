//! Resets and moves: marks over time, one row for each kind, and the list of them.

use super::super::{Intervention, Overview};
use super::MAX_LISTED;
use super::axis::Axis;
use super::parts::{chart_section, details, escaped, more, quoted, short_stamp, stamp, table};
use super::timeline::axis_row;

/// Kinds in the order of how much they ask of people.
const KINDS: [&str; 5] = ["reset", "held", "moved", "reassigned", "escalated"];

/// What was done to tasks, by whom and why.
pub(super) fn section(o: &Overview) -> String {
    let heading = "Resets and moves";
    if o.interventions.is_empty() {
        let none =
            "<p class=\"muted\">No task was reset, held, moved, reassigned or escalated in this time.</p>";
        return chart_section("interventions", heading, none);
    }
    let axis = Axis::fit(o.interventions.iter().map(|t| t.at), o.since, o.now);
    let known = KINDS.iter().map(|kind| row(&axis, kind, o, |t| t.what == *kind));
    let other = row(&axis, "other", o, |t| !KINDS.contains(&t.what.as_str()));
    let rows: String = known.chain([other]).collect();
    // The newest ones are what the operator asks about in the morning.
    let newest: Vec<&Intervention> = o.interventions.iter().rev().take(MAX_LISTED).collect();
    let heads = ["when", "task", "what", "by", "because"];
    let all = table(&heads, newest.iter().map(|t| cells(t, o)));
    let all = format!("{all}{}", more(o.interventions.len(), MAX_LISTED));
    let all = details(&format!("All {}, newest first", o.interventions.len()), &all);
    chart_section(
        "interventions",
        heading,
        &format!("<div class=\"rows\">{rows}{}</div>{all}", axis_row(&axis)),
    )
}

fn row(axis: &Axis, kind: &str, o: &Overview, is_it: impl Fn(&Intervention) -> bool) -> String {
    let of_kind: Vec<&Intervention> = o.interventions.iter().filter(|t| is_it(t)).collect();
    if of_kind.is_empty() {
        return String::new();
    }
    let marks: String = of_kind
        .iter()
        .rev()
        .take(MAX_LISTED)
        .filter(|t| axis.shows(t.at, t.at))
        .map(|t| {
            let by = t.by.as_deref().map_or_else(String::new, |by| format!(" by {}", escaped(by, 60)));
            let (x, when) = (axis.at(t.at).percent(), short_stamp(t.at, o.now));
            let tip = format!("{when} {} {}{by}", escaped(&t.task, 40), escaped(&t.what, 40));
            // Of one width on every screen: a mark has no length that could be compared.
            format!(
                "<g transform=\"translate(-4 0)\"><title>{tip}</title>\
                 <rect class=\"mark {kind}\" x=\"{x}%\" y=\"2\" width=\"8\" height=\"14\" rx=\"4\"/></g>"
            )
        })
        .collect();
    format!(
        "<div class=\"row\"><p class=\"label\"><b>{}</b> {kind}</p>\
         <svg class=\"bars\" role=\"img\" aria-label=\"when, as in the table below\" width=\"100%\" height=\"18\">{}{marks}</svg></div>\n",
        of_kind.len(),
        axis.grid()
    )
}

fn cells(t: &Intervention, o: &Overview) -> Vec<String> {
    vec![
        stamp(t.at, o.now),
        format!("<code>{}</code>", escaped(&t.task, 40)),
        quoted(&t.what, 40),
        t.by.as_deref().map_or_else(String::new, |by| quoted(by, 60)),
        t.because.as_deref().map_or_else(String::new, |b| quoted(b, 300)),
    ]
}
