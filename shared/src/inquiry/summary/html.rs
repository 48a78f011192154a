//! The summary as a page of the same make as that of `budget-check`: no script, nothing fetched. Pure.

use super::{Entry, Summary};
use crate::overview::html::parts::{escaped, full_stamp, list, more, plain_section, quoted, stamp};
use crate::overview::html::shell;
use crate::time::{Time, words};

/// Most entries of one list.
const MAX_ENTRIES: usize = 200;

/// The page, ready to be written to a file.
pub(crate) fn page(boards: &[Summary]) -> String {
    let title = match boards {
        [] => "Watchbill".to_owned(),
        [one, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{}{more} · report · Watchbill", escaped(&one.board, 80))
        }
    };
    let body: String = boards.iter().map(board).collect();
    shell(&title, "", &body)
}

fn board(s: &Summary) -> String {
    let parts = [
        head(s),
        unseen(s),
        section("Needs you", &s.needs_you, s.now, "Nothing waits for a person's word.", told),
        section("Waiting", &s.waiting, s.now, "Nothing waits.", told),
        section("Healed", &s.healed, s.now, "No task needed help.", healed),
        section("Left alone, and why", &s.left_alone, s.now, "Nothing was left alone.", told),
    ];
    format!("<div class=\"board\">\n{}</div>\n", parts.concat())
}

fn head(s: &Summary) -> String {
    let needs = match s.needs_you.len() {
        // What was found of the board itself, or could not be looked at, is no good news.
        0 if s.findings.is_empty() && s.unknown.is_empty() => {
            "<li class=\"good\"><b>Nobody</b> is needed</li>".to_owned()
        }
        0 => "<li class=\"bad\"><b>Look</b> at the board itself</li>".to_owned(),
        1 => "<li class=\"bad\"><b>1</b> needs you</li>".to_owned(),
        n => format!("<li class=\"bad\"><b>{n}</b> need you</li>"),
    };
    let count = |n: usize, what: &str| format!("<li><b>{n}</b> {what}</li>");
    let paused = s
        .paused
        .as_deref()
        .map_or_else(String::new, |p| format!("<p>Nothing is changed on it: {}</p>", quoted(p, 400)));
    format!(
        "<header><p class=\"muted\">Watchbill · report</p><h1>{}</h1><ul class=\"headline\">{needs}{}{}{}{}</ul>{paused}\
         <p class=\"muted\">Seen {} UTC, since {} ({}). All times are UTC.</p></header>\n",
        quoted(&s.board, 80),
        count(s.waiting.len(), "waiting"),
        count(s.healed.len(), "healed"),
        count(s.counts.done, "done"),
        count(s.counts.running, "running"),
        full_stamp(s.now),
        stamp(s.since, s.now),
        words(s.now.since(s.since)),
    )
}

fn section(heading: &str, all: &[Entry], now: Time, none: &str, one: fn(&Entry, Time) -> String) -> String {
    if all.is_empty() {
        return plain_section(heading, &format!("<p class=\"muted\">{none}</p>"));
    }
    let entries = list("people", all.iter().take(MAX_ENTRIES).map(|e| one(e, now)));
    plain_section(heading, &format!("{entries}{}", more(all.len(), MAX_ENTRIES)))
}

fn name(e: &Entry) -> String {
    format!("<p class=\"task-name\"><code>{}</code> {}</p>", escaped(&e.task, 40), quoted(&e.title, 200))
}

fn told(e: &Entry, now: Time) -> String {
    let more =
        e.more.as_deref().map_or_else(String::new, |m| format!("<p class=\"muted\">{}</p>", quoted(m, 400)));
    let until = e.until.map_or_else(String::new, |u| format!(", until {}", stamp(u, now)));
    let since = format!(" <span class=\"muted\">since {}{until}</span>", stamp(e.since, now));
    let command = e.command.as_ref().map_or_else(String::new, |c| {
        format!(
            "<p><code>{}</code> <span class=\"muted\">{}</span></p>",
            escaped(&c.run, 4_000),
            escaped(&c.to, 200)
        )
    });
    format!("{}<p>{}{since}</p>{more}{command}", name(e), quoted(&e.says, 400))
}

fn healed(e: &Entry, now: Time) -> String {
    let because = e.because().map_or_else(String::new, |b| format!(": {}", quoted(b, 400)));
    let at = e
        .deeds
        .last()
        .map_or_else(String::new, |d| format!(" <span class=\"muted\">{}</span>", stamp(d.at, now)));
    format!(
        "{}<p>{}{because}; now {}{at}</p>",
        name(e),
        escaped(&e.done(), 200),
        escaped(e.status.as_str(), 40)
    )
}

fn unseen(s: &Summary) -> String {
    if s.findings.is_empty() && s.unknown.is_empty() {
        return String::new();
    }
    let lines = s.findings.iter().chain(&s.unknown).take(MAX_ENTRIES).map(|l| quoted(l, 400));
    plain_section("The board itself", &list("plain", lines))
}
