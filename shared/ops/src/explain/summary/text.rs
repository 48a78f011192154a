//! The summary as lines for a terminal or a mail: who is needed first, nothing at all where there is nothing to tell. Pure.

use std::fmt::Write as _;

use super::{Entry, Summary, command_for, heading, together};
use crate::report::printable;
use base::count::things_or;
use base::time::{Time, words};

/// Most entries of one list.
const MAX_ENTRIES: usize = 40;
/// Most tasks below the line that is said of all of them.
const MAX_GROUPED: usize = 10;

/// The lines. With `verbose` also what was skipped before, what is behind each entry, and one line where all is well.
pub fn lines(s: &Summary, verbose: bool) -> String {
    if s.is_quiet() && !verbose {
        return String::new();
    }
    let mut out = String::new();
    let (span, since) = (words(s.now.since(s.since)), s.since.local_moment(s.now));
    // Writing to a text never fails.
    let _ = writeln!(out, "{} since {since} ({span}): {}", printable(&s.board), head(s));
    if let Some(paused) = &s.paused {
        let _ = writeln!(out, "Nothing is changed on it: {}", printable(paused));
    }
    for finding in &s.findings {
        let _ = writeln!(out, "! {}", printable(finding));
    }
    for unknown in &s.unknown {
        let _ = writeln!(out, "? {}", printable(unknown));
    }
    grouped(&mut out, "needs you", &s.needs_you, s.now, |all| told(all, s.now, verbose, true));
    grouped(&mut out, "waiting", &s.waiting, s.now, |all| told(all, s.now, verbose, false));
    let (healed, unstarted) = s.helped();
    list(&mut out, "healed", healed.into_iter(), helped);
    list(&mut out, "ready again, not started yet", unstarted.into_iter(), helped);
    let news = s.left_alone.iter().filter(|e| verbose || s.is_news(e));
    list(&mut out, "skipped", news, |e| told(&[e], s.now, verbose, false));
    let old = s.left_alone.iter().filter(|e| !verbose && !s.is_news(e)).count();
    if old > 0 {
        let _ = writeln!(out, "and {old} skipped as before (-v shows them)");
    }
    out
}

fn head(s: &Summary) -> String {
    let counts = &s.counts;
    let beside = format!("{} done, {} running, {} ready", counts.done, counts.running, counts.ready);
    if s.is_quiet() {
        return format!("all is well; {beside}");
    }
    let (healed, unstarted) = s.helped();
    let lists = [
        (s.needs_you.len(), "task needs you", "tasks need you"),
        (s.waiting.len(), "waits", "wait"),
        (healed.len(), "healed", "healed"),
        (unstarted.len(), "ready again", "ready again"),
        (s.left_alone.len(), "skipped", "skipped"),
    ];
    let one = |(n, one, several): &(usize, &str, &str)| things_or(*n, one, several);
    let said: Vec<String> = lists.iter().filter(|(n, _, _)| *n > 0).map(one).collect();
    let said = if said.is_empty() { String::new() } else { format!("{}; ", said.join(", ")) };
    format!("{said}{beside}")
}

/// A list in which tasks that share what they lack stand below one line.
fn grouped(out: &mut String, name: &str, all: &[Entry], now: Time, lines: impl Fn(&[&Entry]) -> Vec<String>) {
    let (groups, singles) = together(all);
    if groups.is_empty() {
        return list(out, name, singles.into_iter(), |e| lines(&[e]));
    }
    let _ = writeln!(out, "\n{name}");
    for (shared, entries) in groups {
        let _ = writeln!(out, "  {}", printable(&heading(shared, &entries, now)));
        for line in lines(&entries).iter().skip(1) {
            let _ = writeln!(out, "      {line}");
        }
        for e in entries.iter().take(MAX_GROUPED) {
            let _ = writeln!(out, "    {} {}", printable(&e.task), e.title);
        }
        rest(out, entries.len(), MAX_GROUPED);
    }
    entries(out, singles, |e| lines(&[e]));
}

fn list<'a>(
    out: &mut String,
    name: &str,
    all: impl Iterator<Item = &'a Entry>,
    lines: impl Fn(&Entry) -> Vec<String>,
) {
    let all: Vec<&Entry> = all.collect();
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{name}");
    entries(out, all, lines);
}

fn entries(out: &mut String, all: Vec<&Entry>, lines: impl Fn(&Entry) -> Vec<String>) {
    for e in all.iter().take(MAX_ENTRIES) {
        let _ = writeln!(out, "  {} {}", printable(&e.task), e.title);
        for line in lines(e) {
            let _ = writeln!(out, "      {line}");
        }
    }
    rest(out, all.len(), MAX_ENTRIES);
}

fn rest(out: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(out, "  and {} more", all - shown);
    }
}

/// What the first of these tasks is told with, and the command for all of them: lines that are fit to be shown.
fn told(all: &[&Entry], now: Time, verbose: bool, urgent: bool) -> Vec<String> {
    let Some(e) = all.first() else { return Vec::new() };
    let mut lines = vec![e.says.to_string()];
    if let Some(until) = e.until.filter(|_| !e.says.starts_with("held until")) {
        lines.push(format!("it waits until {}", until.local_moment(now)));
    }
    lines.extend(e.more.as_ref().filter(|_| verbose || urgent || e.due).map(ToString::to_string));
    let command = e.command.as_ref().zip(command_for(all)).filter(|_| verbose || urgent);
    // What it is for stands above it: behind a `#` zsh would run it, and it holds titles.
    lines.extend(command.into_iter().flat_map(|(c, (run, named))| {
        let of =
            if named == all.len() { String::new() } else { format!(" ({named} of {} tasks)", all.len()) };
        [printable(&format!("{}{of}:", c.to)), printable(&format!("$ {run}"))]
    }));
    lines
}

fn helped(e: &Entry) -> Vec<String> {
    let because = e.because().map_or_else(String::new, |b| format!(" ({b})"));
    vec![printable(&format!("{}{because}; now {}", e.done(), e.status))]
}
