//! The small pieces of the page: escaped text, times, sections, lists, and the patterns of bars.

use super::super::Verdict;
use super::super::plain::{block, plain};
use base::count::things_or;
use base::time::Time;

/// Most characters of a command.
pub(super) const MAX_COMMAND: usize = 4_000;

/// Text that can stand between two tags.
pub fn escaped(text: &str, most: usize) -> String {
    entities(&plain(text, most))
}

/// A number that may be the least there was, as a page can write it.
pub(super) fn number(text: &str) -> String {
    escaped(&text.replace(">= ", "≥ "), 60)
}

/// Text of several lines, for `<pre>`.
pub(super) fn escaped_block(text: &str, most: usize) -> String {
    entities(&block(text, most))
}

/// A command to be copied: whole or, where it is too long, not at all.
pub fn command(text: &str) -> String {
    let line = super::super::plain::command(text, MAX_COMMAND);
    format!("<pre class=\"command\"><code>{}</code></pre>", escaped(&line, MAX_COMMAND))
}

/// Text of others within a line of the page: its own direction of writing ends with it.
pub fn quoted(text: &str, most: usize) -> String {
    format!("<bdi>{}</bdi>", escaped(text, most))
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `03:12`, with the day where it is another one than the pass's.
pub(super) fn short_stamp(t: Time, now: Time) -> String {
    let (day, clock) = t.local_day_and_clock();
    let (today, _) = now.local_day_and_clock();
    if day == today || day == clock {
        return clock;
    }
    // Within a year the month and the day are enough.
    let same_year = day.split_once('-').map(|d| d.0) == today.split_once('-').map(|d| d.0);
    let day = if same_year { day.split_once('-').map_or(day.as_str(), |d| d.1) } else { &day };
    format!("{day} {clock}")
}

/// A moment, short for the eye and whole for machines.
pub fn stamp(t: Time, now: Time) -> String {
    format!("<time datetime=\"{t}\">{}</time>", short_stamp(t, now))
}

/// A moment with its day and its zone: `2026-11-21 03:12 +01:00`.
pub fn full_stamp(t: Time) -> String {
    let (day, clock) = t.local_day_and_clock();
    format!("<time datetime=\"{t}\">{day} {clock} {}</time>", t.local_zone())
}

/// A section that is linked to.
pub(super) fn section(name: &str, board: usize, heading: &str, inside: &str) -> String {
    format!("<section id=\"b{board}-{name}\" class=\"{name}\"><h2>{heading}</h2>\n{inside}</section>\n")
}

/// A section.
pub fn plain_section(heading: &str, inside: &str) -> String {
    format!("<section><h2>{heading}</h2>\n{inside}</section>\n")
}

/// A section of which only the heading is seen until it is opened.
pub fn folded(heading: &str, inside: &str) -> String {
    format!("<section><details><summary><h2>{heading}</h2></summary>\n{inside}</details></section>\n")
}

/// A section whose picture a test asks for by this name.
pub(super) fn chart_section(name: &str, heading: &str, inside: &str) -> String {
    format!("<section class=\"chart {name}\"><h2>{heading}</h2>\n{inside}</section>\n")
}

/// A list. The entries are HTML.
pub fn list(class: &str, entries: impl Iterator<Item = String>) -> String {
    let entries: String = entries.map(|e| format!("<li>{e}</li>")).collect();
    if class.is_empty() {
        format!("<ul>{entries}</ul>")
    } else {
        format!("<ul class=\"{class}\">{entries}</ul>")
    }
}

/// A part that is opened on demand.
pub fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{summary}</summary>\n{inside}</details>\n")
}

/// A table that scrolls by itself where it is too wide. Heads and cells are HTML.
pub(super) fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let heads: String = heads.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    let rows: String = rows
        .map(|row| format!("<tr>{}</tr>\n", row.iter().map(|c| format!("<td>{c}</td>")).collect::<String>()))
        .collect();
    // It can be scrolled with the keyboard only where it can have the focus.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table><thead><tr>{heads}</tr></thead>\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// `and 3 more` for what a list left out.
pub fn more(count: usize, most: usize) -> String {
    if count > most { format!("<p class=\"muted\">and {} more</p>\n", count - most) } else { String::new() }
}

/// The lines of a verdict: the first few at once, the rest on demand.
pub(super) fn evidence(v: &Verdict, at_once: usize, most: usize) -> String {
    let shown = v.evidence.len().min(most);
    let line = |l: &String| format!("<code>{}</code>", escaped(l, 300));
    // One line behind a click is worse than one line more.
    let first = if shown <= at_once + 2 { shown } else { at_once };
    let open =
        if first > 0 { list("evidence", v.evidence.iter().take(first).map(line)) } else { String::new() };
    let rest = v.evidence.iter().take(most).skip(first).map(line);
    if shown == first {
        return format!("{open}{}", more(v.evidence.len(), most));
    }
    let inside = format!("{}{}", list("evidence", rest), more(v.evidence.len(), most));
    format!(
        "{open}{}",
        details(
            &things_or(v.evidence.len() - first, "more line of evidence", "more lines of evidence"),
            &inside
        )
    )
}

/// How something ended or stands, as far as colour and pattern go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    Runs,
    Good,
    Waits,
    Stopped,
    Failed,
    Other,
}

impl Look {
    /// Of an attempt's outcome.
    pub(super) fn of_outcome(outcome: Option<&str>) -> Look {
        match outcome {
            None => Look::Runs,
            Some("completed" | "done") => Look::Good,
            Some("rate_limited" | "reclaimed" | "released") => Look::Waits,
            Some("blocked") => Look::Stopped,
            Some("crashed" | "timed_out" | "gave_up" | "spawn_failed" | "failed") => Look::Failed,
            Some(_) => Look::Other,
        }
    }

    /// Of a task's state.
    pub(super) fn of_state(state: &str) -> Look {
        match state {
            "running" | "review" => Look::Runs,
            "done" | "archived" => Look::Good,
            "scheduled" => Look::Waits,
            "blocked" => Look::Stopped,
            _ => Look::Other,
        }
    }

    /// The class of bars and labels.
    pub(super) fn class(self) -> &'static str {
        match self {
            Look::Runs => "runs",
            Look::Good => "good",
            Look::Waits => "waits",
            Look::Stopped => "stopped",
            Look::Failed => "failed",
            Look::Other => "other",
        }
    }

    /// The pattern over the colour, so that nobody has to tell colours apart.
    fn pattern(self) -> Option<&'static str> {
        match self {
            Look::Runs => Some("p-runs"),
            Look::Waits => Some("p-waits"),
            Look::Stopped => Some("p-stopped"),
            Look::Failed => Some("p-failed"),
            Look::Good | Look::Other => None,
        }
    }
}

/// A bar from `x` to `x + width`, both in percent of the picture, with a tooltip. `tip` is HTML text.
pub(super) fn bar(look: Look, x: &str, width: &str, tip: &str) -> String {
    let place = format!("x=\"{x}%\" y=\"2\" width=\"{width}%\" height=\"14\" rx=\"2\"");
    let over = look.pattern().map_or_else(String::new, |p| format!("<rect {place} fill=\"url(#{p})\"/>"));
    let tip = if tip.is_empty() { String::new() } else { format!("<title>{tip}</title>") };
    format!("<g>{tip}<rect class=\"{}\" {place}/>{over}</g>", look.class())
}

/// The same colour and pattern beside its word, which is HTML.
pub(super) fn key(look: Look, word: &str) -> String {
    let swatch = bar(look, "0", "100", "");
    format!(
        "<span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\" width=\"22\" height=\"18\">{swatch}</svg> {word}</span>"
    )
}

/// What `fill="url(#…)"` above refers to, once in the page. Not `display: none`, or nothing would be drawn with it.
pub(super) fn patterns() -> &'static str {
    "<svg class=\"defs\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\
     <pattern id=\"p-runs\" width=\"8\" height=\"16\" patternUnits=\"userSpaceOnUse\"><path class=\"over\" d=\"M2 5l3 4-3 4\"/></pattern>\
     <pattern id=\"p-waits\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"over\" d=\"M-1 7L7-1M-1 1L1-1M5 7L7 5\"/></pattern>\
     <pattern id=\"p-stopped\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><circle class=\"dot\" cx=\"2.5\" cy=\"2.5\" r=\"1.1\"/></pattern>\
     <pattern id=\"p-failed\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"><path class=\"over\" d=\"M0 0L7 7M7 0L0 7\"/></pattern>\
     </defs></svg>\n"
}
