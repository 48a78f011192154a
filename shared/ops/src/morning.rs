//! The page for the morning: what needs a person on any board, then each board with what waits, what it cost, what was tried and what
//! was done. Pure.

use std::fmt::Write as _;

use page::Overview;
use page::html::parts::{
    command, details, escaped, folded, full_stamp, list, more, plain_section, quoted, stamp,
};
use page::html::{MAX_LISTED, contents, figures, judged, shell};

use crate::explain::summary::{Entry, Shared, Summary, by_refusal, heading, next_try};
use crate::needs::screen::{self, findings, unknown};
use crate::needs::{BoardNow, Need, Now, Waiting};
use base::time::{Time, words};

/// Tasks of one need or one cause that are shown at once.
const AT_ONCE: usize = 10;
/// Most characters of a line that holds untrusted text.
const MAX_LINE: usize = 600;

/// One board of the page; no summary where it could not be looked at.
pub struct Part<'a> {
    /// What to call it.
    pub board: &'a str,
    /// What happened to it.
    pub summary: Option<&'a Summary>,
    /// What `budget-check` saw of it.
    pub overview: Option<&'a Overview>,
}

/// The page, ready to be written to a file: this machine's boards, and what other machines say of theirs.
pub fn page(now: &Now, boards: &[Part<'_>], others: &[Now]) -> String {
    let said = escaped(&headline(now, others), MAX_LINE);
    let title = format!("{said} · {} · {}", escaped(&now.host, 80), now.now.local_minute());
    let blind = lines("Could not be looked at", unknown(now));
    // Without any board that comes first.
    let (first, last) = if now.boards.is_empty() { (blind, String::new()) } else { (String::new(), blind) };
    let parts = [
        head(now, boards, others, &said),
        first,
        needs(now),
        lines("Found on the boards", findings(now)),
        last,
        others.iter().map(other).collect(),
        contents(boards.iter().map(|b| b.board)),
        boards.iter().enumerate().map(|(n, b)| board(n, b, now)).collect(),
    ];
    shell(&title, now.now, &parts.concat())
}

/// Its first line. "Nothing needs you" is said only where everything could be looked at, here and on the other machines.
pub fn headline(now: &Now, others: &[Now]) -> String {
    let said = screen::together(&machines(now, others));
    let first = said.chars().next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(said.chars().skip(1)).collect()
}

/// This machine and the others.
fn machines<'n>(now: &'n Now, others: &'n [Now]) -> Vec<&'n Now> {
    std::iter::once(now).chain(others).collect()
}

/// How it stands, as far as colour goes: the class of the headline.
fn look(all: &[&Now]) -> &'static str {
    screen::look_of(all, ["good", "warn", "bad"])
}

/// How another machine stands.
fn other(now: &Now) -> String {
    let seen = match now.is_unseen() {
        true => String::new(),
        false => format!(
            "<p class=\"muted\">{}</p>",
            quoted(&format!("{} {}", now.now.local_minute(), screen::said(now)), MAX_LINE)
        ),
    };
    let inside = [seen, need_list(now), listed(findings(now)), listed(unknown(now))];
    plain_section(&format!("On {}", escaped(&now.host, 80)), &inside.concat())
}

fn head(now: &Now, boards: &[Part<'_>], others: &[Now], said: &str) -> String {
    let sum = |count: fn(&BoardNow) -> usize| now.boards.iter().map(count).sum::<usize>();
    let tile = |n: usize, what: &str| format!("<li><b>{n}</b> {what}</li>");
    let tiles = [
        tile(sum(|b| b.counts.running), "running"),
        tile(sum(|b| b.counts.ready), "ready"),
        tile(sum(|b| b.waiting), "waiting"),
        tile(sum(|b| b.counts.done), "done"),
        tile(sum(|b| b.healed), "healed"),
        tile(boards.iter().filter_map(|b| b.summary).map(|s| s.helped().1.len()).sum(), "ready again"),
    ];
    let since = stamp(now.since, now.now);
    let beside = match (others.is_empty(), boards.is_empty()) {
        (true, _) => format!(
            "Done, healed and ready again since {since}. Each round of <code>watchbill run</code> writes this page again: \
             where the time above is old, ask <code>watchbill doctor</code>."
        ),
        (false, false) => {
            format!("The figures are those of this machine; done, healed and ready again since {since}.")
        }
        (false, true) => "This machine has no board.".to_owned(),
    };
    let tiles = match boards.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"headline tiles\">{}</ul>", tiles.concat()),
    };
    format!(
        "<header><p class=\"muted\">Watchbill on <b>{}</b>, {}</p><h1 class=\"{}\">{said}</h1>{tiles}<p class=\"muted\">{beside}</p></header>\n",
        escaped(&now.host, 80),
        full_stamp(now.now),
        look(&machines(now, others)),
    )
}

fn needs(now: &Now) -> String {
    if now.needs.is_empty() {
        return String::new();
    }
    plain_section("Needs you", &need_list(now))
}

fn need_list(now: &Now) -> String {
    if now.needs.is_empty() {
        return String::new();
    }
    let all = list("people", now.needs.iter().take(MAX_LISTED).map(|need| needed(need, now)));
    format!("{all}{}", more(now.needs.len(), MAX_LISTED))
}

/// What is so, since when, the tasks, and the command.
fn needed(need: &Need, now: &Now) -> String {
    let board = need.board.as_ref().filter(|_| now.boards.len() > 1);
    let board =
        board.map_or_else(String::new, |b| format!("<span class=\"pill other\">{}</span> ", quoted(b, 80)));
    // What is said of one task begins with its name.
    let alone = match need.tasks.as_slice() {
        [task] if need.cause == "task" => {
            need.says.strip_prefix(&format!("{} {}: ", task.id, task.title)).map(|says| (task, says))
        }
        _ => None,
    };
    let mut out = match alone {
        Some((task, says)) => {
            format!(
                "<p class=\"task-name\">{board}{}</p><p>{}</p>",
                name(&task.id, &task.title),
                quoted(says, MAX_LINE)
            )
        }
        None => format!("<p class=\"task-name\">{board}{}</p>", quoted(&need.says, MAX_LINE)),
    };
    let since =
        need.since.map(|at| format!("since {}, {} ago", stamp(at, now.now), words(now.now.since(at))));
    let next = need.next.map(|at| format!("tried again by itself at {}", stamp(at, now.now)));
    let times: Vec<String> = since.into_iter().chain(next).collect();
    // Writing to a text never fails.
    if !times.is_empty() {
        let _ = write!(out, "<p class=\"muted\">{}</p>", times.join("; "));
    }
    if alone.is_none() {
        out.push_str(&names(need.tasks.iter().map(|Waiting { id, title }| name(id, title))));
    }
    match &need.todo {
        // Many of these are a command, and nothing else.
        Some(todo) if ["watchbill ", "ssh "].iter().any(|begin| todo.starts_with(begin)) => {
            out.push_str(&command(todo))
        }
        Some(todo) => out.push_str(&with_code(todo)),
        None => {}
    }
    need.run.iter().for_each(|run| out.push_str(&command(run)));
    out
}

/// A sentence in which commands stand between backticks.
fn with_code(text: &str) -> String {
    let text = escaped(text, MAX_LINE);
    let (mut rest, mut out) = (text.as_str(), String::from("<p>To do: "));
    while let Some((before, (code, behind))) =
        rest.split_once('`').and_then(|(b, r)| Some((b, r.split_once('`')?)))
    {
        let _ = write!(out, "{before}<code>{code}</code>");
        rest = behind;
    }
    out + rest + "</p>"
}

fn lines(heading: &str, all: impl Iterator<Item = String>) -> String {
    match listed(all) {
        none if none.is_empty() => none,
        shown => plain_section(heading, &shown),
    }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return String::new();
    }
    let shown = list("plain", all.iter().take(MAX_LISTED).map(|l| quoted(l, MAX_LINE)));
    format!("{shown}{}", more(all.len(), MAX_LISTED))
}

fn name(id: &str, title: &str) -> String {
    format!("<code>{}</code> {}", escaped(id, 40), quoted(title, 200))
}

/// The first few at once, the others on demand. They are HTML.
fn names(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return String::new();
    }
    let first = list("names", all.iter().take(AT_ONCE).cloned());
    match all.len().saturating_sub(AT_ONCE) {
        0 => first,
        n => {
            let rest = list("names", all.iter().skip(AT_ONCE).take(MAX_LISTED).cloned());
            let rest = format!("{rest}{}", more(n, MAX_LISTED));
            format!("{first}{}", details(&format!("{n} more"), &rest))
        }
    }
}

fn board(n: usize, part: &Part<'_>, now: &Now) -> String {
    let inside = match part.summary {
        Some(summary) => seen(n, summary, part.overview, now.now),
        None => "<section><p>This board could not be looked at: what is said above is why.</p></section>\n"
            .to_owned(),
    };
    format!(
        "<div class=\"board\" id=\"b{n}\">\n<h2 class=\"name\">Board {}</h2>\n{inside}</div>\n",
        quoted(part.board, 80)
    )
}

fn seen(n: usize, s: &Summary, overview: Option<&Overview>, now: Time) -> String {
    let paused = s.paused.as_deref();
    let paused = paused.map_or_else(String::new, |p| {
        plain_section("Paused", &format!("<p>Nothing is changed on it: {}</p>", quoted(p, MAX_LINE)))
    });
    let (figures, judged) = match overview {
        Some(o) => (figures(o), judged(n, o)),
        None => Default::default(),
    };
    [paused, waiting(s, now), figures, done(s, now), left_alone(s, now), judged].concat()
}

/// What waits, those that wait for the same together.
fn waiting(s: &Summary, now: Time) -> String {
    if s.waiting.is_empty() {
        return plain_section("Waiting", "<p class=\"muted\">Nothing waits for anything but a worker.</p>");
    }
    let mut groups: Vec<(String, Vec<&Entry>)> = Vec::new();
    for (shared, entries) in by_refusal(&s.waiting) {
        let says = cause(shared, &entries, now);
        match groups.iter_mut().find(|(other, _)| shared.is_none() && *other == says) {
            Some((_, all)) => all.extend(entries),
            None => groups.push((says, entries)),
        }
    }
    let shown = groups.iter().take(MAX_LISTED).map(|(says, entries)| group(says, entries, now));
    let all = format!("{}{}", list("people", shown), more(groups.len(), MAX_LISTED));
    plain_section(&format!("Waiting: {}", s.waiting.len()), &all)
}

fn cause(shared: Option<&Shared>, entries: &[&Entry], now: Time) -> String {
    shared.map_or_else(|| entries[0].says.to_string(), |shared| heading(shared, entries, now))
}

fn group(says: &str, entries: &[&Entry], now: Time) -> String {
    let next = match next_try(entries) {
        _ if entries.iter().any(|e| e.due) => "goes on with the next pass".to_owned(),
        Some(at) => format!("next try at {}, in {}", stamp(at, now), words(at.since(now))),
        None => "until another task or the operator goes on".to_owned(),
    };
    let since = entries
        .iter()
        .map(|e| e.since)
        .min()
        .map_or_else(String::new, |at| format!("; since {}", stamp(at, now)));
    format!(
        "<p class=\"task-name\">{}</p><p class=\"muted\">{next}{since}</p>{}",
        quoted(says, MAX_LINE),
        names(entries.iter().map(|e| name(&e.task, &e.title)))
    )
}

/// What our programs did: what ran again or is done is one thing, what is only ready again another.
fn done(s: &Summary, now: Time) -> String {
    let (healed, unstarted) = s.helped();
    let part = |heading: &str, entries: Vec<&Entry>| {
        let one = |e: &&Entry| {
            format!("{}<br><span class=\"muted\">{}</span>", name(&e.task, &e.title), helped(e, now))
        };
        match entries.len() {
            0 => String::new(),
            n => format!("<h3>{heading}: {n}</h3>{}", names(entries.iter().map(one))),
        }
    };
    let parts =
        part("Healed: ran again, or is done", healed) + &part("Ready again, not started yet", unstarted);
    let nothing = || {
        format!(
            "<p class=\"muted\">No task that was helped since {} runs again, is ready or is done.</p>",
            stamp(s.since, now)
        )
    };
    plain_section("What was done", &if parts.is_empty() { nothing() } else { parts })
}

fn helped(e: &Entry, now: Time) -> String {
    let because = e.because().map_or_else(String::new, |b| format!(": {}", quoted(b, MAX_LINE)));
    let at = e.deeds.last().map_or_else(String::new, |d| format!("{} ", stamp(d.at, now)));
    format!("{at}{}{because}; now {}", escaped(&e.done(), 200), escaped(e.status.as_str(), 40))
}

fn left_alone(s: &Summary, now: Time) -> String {
    if s.left_alone.is_empty() {
        return String::new();
    }
    let one = |e: &Entry| {
        format!(
            "<p class=\"task-name\">{}</p><p>{} <span class=\"muted\">since {}</span></p>",
            name(&e.task, &e.title),
            quoted(&e.says, MAX_LINE),
            stamp(e.since, now)
        )
    };
    let n = s.left_alone.len();
    let all = list("people", s.left_alone.iter().take(MAX_LISTED).map(one));
    folded(&format!("Skipped, and why: {n}"), &format!("{all}{}", more(n, MAX_LISTED)))
}

#[cfg(test)]
mod tests;
