//! The answer as one screen: the answer, what is behind it, and under it what both rest on. Pure.

use std::fmt::Write as _;

use super::answer::{Answer, Attempt};
use super::deeds::Deed;
use super::facts::{Take, Verdict};
use crate::report::printable;
use base::time::{Time, ago, words};

/// Most attempts, and most deeds: the newest.
const MAX_SHOWN: usize = 5;
/// Columns of the names in front.
const WIDE: usize = 20;

/// The screen; `many`: with the board's file. `all`: also watchers that have nothing to do with the task, and how often each
/// watcher runs as shipped, which is the same for every task. Writing to a text never fails.
pub fn screen(a: &Answer, now: Time, many: bool, all: bool) -> String {
    let mut out = String::new();
    if let Some(paused) = &a.paused {
        let _ = writeln!(out, "Nothing is changed on this board: {}", printable(paused));
    }
    let _ = writeln!(out, "{}", printable(&a.says));
    if let Some(more) = &a.more {
        let _ = writeln!(out, "{}", printable(more));
    }
    let who = a.assignee.as_deref().unwrap_or("nobody");
    let board = if many { format!(" on {}", a.path) } else { String::new() };
    let made = ago(now.since(a.made));
    let _ =
        writeln!(out, "\n{}", printable(&format!("\"{}\"{board}, assigned to {who}, made {made}", a.title)));
    section(&mut out, "evidence", a.evidence.iter().chain(&a.findings).map(|e| printable(e)));
    let speaks = |t: &&Take| all || t.verdict != Verdict::Nothing;
    section(&mut out, "asked now", a.watchers.iter().filter(speaks).map(take));
    attempts(&mut out, a, now);
    deeds(&mut out, a, now);
    if let Some(hold) = &a.hold {
        let cause = hold.cause.as_deref().unwrap_or("no cause");
        let until =
            hold.until.map_or_else(|| "without an end".into(), |u| format!("until {}", u.local_moment(now)));
        let quiet = hold.quiet_until.map_or_else(String::new, |at| {
            format!(", and on until the quiet hours end at {}", at.local_moment(now))
        });
        let (by, since) = (&hold.by, hold.since.local_moment(now));
        let line = format!("{until}{quiet}, for {cause}, by {by} since {since}");
        section(&mut out, "hold", std::iter::once(printable(&line)));
    }
    if let Some(card) = &a.card {
        let who = card.assignee.as_deref().unwrap_or("nobody");
        let decided =
            card.decision.as_deref().map_or_else(|| "no decision yet".into(), |d| format!("decided: {d}"));
        let line =
            format!("{} {} with {who}, made {}, {decided}", card.id, card.status, ago(now.since(card.made)));
        section(&mut out, "card", std::iter::once(printable(&line)));
    }
    section(&mut out, "next look", next(a, now, all).into_iter());
    // A command is copied: it is shown whole, and what it is for stands above it. Behind a `#` zsh would run that.
    let commands = a
        .commands
        .iter()
        .flat_map(|c| [format!("{}:", printable(&c.to)), format!("    {}", printable(&c.run))]);
    section(&mut out, "you can", commands);
    out
}

fn section(out: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "{name}");
    for line in lines {
        let _ = writeln!(out, "  {}", line.trim_end());
    }
}

fn take(t: &Take) -> String {
    let said = match &t.verdict {
        Verdict::Acts { action, case } => format!("would {action} ({case}): {}", t.because),
        Verdict::Leaves => format!("leaves it: {}", t.because),
        Verdict::Unknown => format!("leaves it, not knowing: {}", t.because),
        Verdict::Nothing => format!("nothing to do: {}", t.because),
        Verdict::Failed => format!("could not look: {}", t.because),
    };
    format!("{:WIDE$} {}", t.watcher, printable(&said))
}

fn attempts(out: &mut String, a: &Answer, now: Time) {
    let from = a.attempts.len().saturating_sub(MAX_SHOWN);
    let one = |(n, t): (usize, &Attempt)| {
        let who = t.profile.as_deref().unwrap_or("-");
        let how = t.outcome.as_deref().unwrap_or("runs");
        let said = t.said.as_deref().map_or_else(String::new, |s| format!(": {s}"));
        let line = format!("{}  {who}  {} for {}  {how}{said}", n + 1, t.from.local_moment(now), t.span(now));
        printable(&line)
    };
    section(out, &heading("attempts", from), a.attempts.iter().enumerate().skip(from).map(one));
}

fn deeds(out: &mut String, a: &Answer, now: Time) {
    let from = a.deeds.len().saturating_sub(MAX_SHOWN);
    let one = |d: &Deed| {
        let case = if d.case.is_empty() { String::new() } else { format!(" ({})", d.case) };
        printable(&format!("{}  {} {}{case}: {}", d.at.local_moment(now), d.by, d.words(), d.because))
    };
    section(out, &heading("done by us", from), a.deeds.iter().skip(from).map(one));
}

fn heading(name: &str, left_out: usize) -> String {
    if left_out == 0 { name.to_owned() } else { format!("{name} (the newest; {left_out} before them)") }
}

/// When each watcher looks again: those that wait for a moment by name, and where all is asked for the rest together.
fn next(a: &Answer, now: Time, all: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (n, at) in a.next.iter().filter_map(|n| Some((n, n.at?))) {
        let when = if at > now {
            format!("with its first pass after {}, in {}", at.local_moment(now), words(at.since(now)))
        } else {
            "with its next pass".into()
        };
        lines.push(format!("{:WIDE$} decides anew {when}", n.watcher));
    }
    if !all {
        return lines;
    }
    // Those of one pace together.
    let mut paces: Vec<(i64, Vec<&str>)> = Vec::new();
    for n in &a.next {
        match paces.iter_mut().find(|(every, _)| *every == n.shipped_every) {
            Some((_, names)) => names.push(n.watcher),
            None => paces.push((n.shipped_every, vec![n.watcher])),
        }
    }
    let every: Vec<String> =
        paces.iter().map(|(every, names)| format!("{} every {}", names.join(", "), words(*every))).collect();
    if !every.is_empty() {
        lines
            .push(format!("{}, as shipped; whether these timers run was not looked at", every.join(" and ")));
    }
    lines
}
