//! The overview as one page that needs nothing else: no script, no picture, no font and no address of anything. It can be
//! mailed, opened from a disk or put behind any web server.
//!
//! What stands in it is written by strangers. It is only ever put between two tags, never into one: attributes hold
//! numbers, times and words of ours.

mod axis;
mod interventions;
pub(crate) mod parts;
mod providers;
mod sums;
mod tasks;
mod timeline;

use parts::{escaped, link_to, list, quoted, section, stamp};

use super::words::{self, things};
use super::{ForPerson, Overview};
use crate::time::words as span;

const STYLE: &str = include_str!("html/page.css");
/// Nothing may be loaded and nothing may run, whatever got into the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// Most tasks of a board on the page.
const MAX_TASKS: usize = 200;
/// Most entries of any other list.
const MAX_LISTED: usize = 200;

/// The page, ready to be written to a file.
pub fn page(boards: &[Overview]) -> String {
    let many = boards.len() > 1;
    let body: String = match boards {
        [] => "<section><h2>No board was looked at</h2><p>There is nothing to show: name a board, or look why none was \
               found.</p></section>"
            .to_owned(),
        all => all.iter().enumerate().map(|(n, o)| board(n, o)).collect(),
    };
    let contents = if many { contents(boards) } else { String::new() };
    shell(&title(boards), &contents, &body)
}

/// A whole page around sections. All three are HTML.
pub(crate) fn shell(title: &str, contents: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}{contents}<main>\n{body}</main>\n\
         <footer><p>Written by Watchbill. All times are UTC. A page like this changes nothing on a board.</p></footer>\n\
         </body>\n</html>\n",
        parts::patterns(),
    )
}

fn title(boards: &[Overview]) -> String {
    let Some(first) = boards.first() else {
        return "Watchbill".to_owned();
    };
    let more = if boards.len() > 1 { format!(" and {} more", boards.len() - 1) } else { String::new() };
    let (day, clock) = parts::day_and_clock(first.now);
    format!("{}{more} · {day} {clock} UTC · Watchbill", escaped(&first.board, 80))
}

fn contents(boards: &[Overview]) -> String {
    let one = |(n, o): (usize, &Overview)| {
        let people = if o.people.is_empty() { String::new() } else { format!(": {}", need(o.people.len())) };
        format!("<a href=\"#b{n}\">{}</a>{people}", quoted(&o.board, 80))
    };
    format!("<nav aria-label=\"boards\">{}</nav>\n", list("", boards.iter().enumerate().map(one)))
}

fn board(n: usize, o: &Overview) -> String {
    let parts = [
        head(n, o),
        people(n, o),
        sums::glance(o),
        tasks::wrong(n, o),
        timeline::section(o),
        sums::spent(o),
        interventions::section(o),
        providers::section(o),
        tasks::others(n, o),
        unseen(o),
    ];
    format!("<div class=\"board\" id=\"b{n}\">\n{}</div>\n", parts.concat())
}

fn need(people: usize) -> String {
    if people == 1 { "1 needs a person".to_owned() } else { format!("{people} need a person") }
}

fn head(n: usize, o: &Overview) -> String {
    let (verdicts, on) = words::verdicts(&o.tasks);
    let needed = match o.people.len() {
        0 => "<li class=\"good\"><b>Nobody</b> is needed</li>".to_owned(),
        1 => format!("<li class=\"bad\"><a href=\"#b{n}-people\"><b>1</b> needs a person</a></li>"),
        k => format!("<li class=\"bad\"><a href=\"#b{n}-people\"><b>{k}</b> need a person</a></li>"),
    };
    let judged = match verdicts {
        0 => "<li class=\"good\"><b>No</b> verdicts</li>".to_owned(),
        v => {
            let what = if v == 1 { "verdict" } else { "verdicts" };
            format!(
                "<li class=\"warn\"><a href=\"#b{n}-verdicts\"><b>{v}</b> {what} on {}</a></li>",
                things(on, "task")
            )
        }
    };
    format!(
        "<header><p class=\"muted\">Watchbill · board</p><h1>{}</h1>\
         <ul class=\"headline\">{needed}{judged}{}</ul>\
         <p class=\"muted\">Seen {} UTC, looking back {} to {}. All times are UTC.</p></header>\n",
        quoted(&o.board, 80),
        if o.spent.is_empty() { String::new() } else { format!("<li>{}</li>", sums::total(o)) },
        parts::full_stamp(o.now),
        span(o.now.since(o.since)),
        stamp(o.since, o.now),
    )
}

fn people(n: usize, o: &Overview) -> String {
    if o.people.is_empty() {
        return section(
            "people",
            n,
            "Needs a person",
            "<p class=\"muted\">Nothing waits for a person's word.</p>",
        );
    }
    let one = |p: &ForPerson| {
        let since = p.since.map_or_else(String::new, |t| {
            format!(" <span class=\"muted\">since {}, {} ago</span>", stamp(t, o.now), span(o.now.since(t)))
        });
        format!(
            "<p class=\"task-name\">{} {}</p><p>{}{since}</p>",
            link_to(n, o, &p.task),
            quoted(&p.title, 200),
            quoted(&p.why, 600)
        )
    };
    let all = list("people", o.people.iter().take(MAX_LISTED).map(one));
    section("people", n, "Needs a person", &format!("{all}{}", parts::more(o.people.len(), MAX_LISTED)))
}

fn unseen(o: &Overview) -> String {
    let lines = o.unknown.iter().take(MAX_LISTED).map(|line| quoted(line, 400));
    let inside = match o.unknown.len() {
        0 => "<p class=\"muted\">Nothing but what is said of each task above.</p>".to_owned(),
        n => format!("{}{}", list("plain", lines), parts::more(n, MAX_LISTED)),
    };
    parts::plain_section("What could not be seen", &inside)
}

#[cfg(test)]
mod tests;
