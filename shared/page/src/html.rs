//! One page that needs nothing else: no script, no picture, no font and no address of anything. It can be mailed, opened from a
//! disk or put behind any web server, and a browser that shows it reads it again every minute.
//!
//! What stands in it is written by strangers. It is only ever put between two tags, never into one: attributes hold
//! numbers, times and fixed words.

mod axis;
mod interventions;
pub mod parts;
mod providers;
#[cfg(any(test, feature = "testing"))]
pub mod strict;
mod sums;
mod tasks;
mod timeline;

use parts::{escaped, full_stamp, list, quoted, stamp};

use super::Overview;
use super::words;
use base::count::{noun, things};
use base::time::{Time, words as span};

const STYLE: &str = include_str!("html/page.css");
/// Nothing may be loaded and nothing may run, whatever got into the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// Seconds after which a browser reads the page again.
const REFRESH: u32 = 60;
/// Most tasks of a board on the page.
const MAX_TASKS: usize = 200;
/// Most entries of any other list.
pub const MAX_LISTED: usize = 200;

/// What `budget-check` sees of its boards, ready to be written to a file.
pub fn page(boards: &[Overview]) -> String {
    let body: String = match boards {
        [] => "<section><h2>No board was looked at</h2><p>There is nothing to show: name a board, or look why none was \
               found.</p></section>"
            .to_owned(),
        all => all.iter().enumerate().map(|(n, o)| board(n, o)).collect(),
    };
    let contents = contents(boards.iter().map(|o| o.board.as_str()));
    let (name, now) = boards.first().map_or(("budget-check", Time(0)), |o| (o.board.as_str(), o.now));
    shell(&format!("{} · {}", escaped(name, 80), now.local_minute()), now, &format!("{contents}{body}"))
}

/// What every page has in its head, and no other program's page.
pub const MARK: &str = " · Watchbill</title>";

/// A whole page around sections; title and body are HTML. `now`: when all of it was seen.
pub fn shell(title: &str, now: Time, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}{MARK}\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}<main>\n{body}</main>\n\
         <footer><p>Written by Watchbill. Times are those of its host ({}). A page like this changes nothing on a \
         board.</p></footer>\n</body>\n</html>\n",
        parts::patterns(),
        now.local_zone(),
    )
}

/// Links to the boards, where there are several.
pub fn contents<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    if names.len() < 2 {
        return String::new();
    }
    let one = |(n, name): (usize, &str)| format!("<a href=\"#b{n}\">{}</a>", quoted(name, 80));
    format!("<nav aria-label=\"boards\">{}</nav>\n", list("", names.enumerate().map(one)))
}

/// Tasks by state, where time and money went, the attempts over time, and how providers did.
pub fn figures(o: &Overview) -> String {
    [sums::glance(o), sums::spent(o), timeline::section(o), providers::section(o)].concat()
}

/// Resets and moves, then each task with what it used of what it may use, and what could not be seen.
pub fn judged(n: usize, o: &Overview) -> String {
    [interventions::section(o), tasks::wrong(n, o), tasks::others(n, o), unseen(o)].concat()
}

fn board(n: usize, o: &Overview) -> String {
    let parts = [head(n, o), figures(o), judged(n, o)];
    format!("<div class=\"board\" id=\"b{n}\">\n{}</div>\n", parts.concat())
}

fn head(n: usize, o: &Overview) -> String {
    let (verdicts, on) = words::verdicts(&o.tasks);
    let judged = match verdicts {
        0 => "<li class=\"good\"><b>No</b> verdicts</li>".to_owned(),
        v => {
            let what = noun(v, "verdict");
            format!(
                "<li class=\"warn\"><a href=\"#b{n}-verdicts\"><b>{v}</b> {what} on {}</a></li>",
                things(on, "task")
            )
        }
    };
    format!(
        "<header><p class=\"muted\">Watchbill · budget-check</p><h1>{}</h1>\
         <ul class=\"headline\">{judged}{}</ul>\
         <p class=\"muted\">Seen {}, looking back {} to {}. This is what <code>budget-check</code> sees: \
         <code>watchbill page</code> shows all that needs you.</p></header>\n",
        quoted(&o.board, 80),
        if o.spent.is_empty() { String::new() } else { format!("<li>{}</li>", sums::total(o)) },
        full_stamp(o.now),
        span(o.now.since(o.since)),
        stamp(o.since, o.now),
    )
}

fn unseen(o: &Overview) -> String {
    if o.unknown.is_empty() {
        return String::new();
    }
    let lines = o.unknown.iter().take(MAX_LISTED).map(|line| quoted(line, 400));
    let lines = format!("{}{}", list("plain", lines), parts::more(o.unknown.len(), MAX_LISTED));
    parts::plain_section("What could not be seen", &lines)
}

#[cfg(test)]
mod tests;
