//! The overview as lines for a terminal or a mail from cron: what is wrong and who is needed, and nothing at all where
//! nothing is and nobody is.

use std::io::{self, Write};

use super::plain::{command, plain};
use super::words::{self, amount, at_least, count, known_least, money, used};
use super::{Draft, FilesView, Intervention, Overview, ProviderView, Spent, TaskView, Verdict};
use base::count::things;
use base::time::{Time, words as span};
use base::wrap::folded;
use logs::usage::Tokens;

/// Columns of a line. Only commands may be longer: they are there to be copied.
const WIDE: usize = 100;
/// Most lines of evidence for one verdict.
const MAX_EVIDENCE: usize = 8;
/// Most lines of any other list.
const MAX_LISTED: usize = 40;
/// Most characters of a sentence, which goes over several lines.
const MAX_SENTENCE: usize = 600;
/// Most characters of a command.
const MAX_COMMAND: usize = 4_000;

/// Writes tasks with verdicts; with `verbose` the whole board before them.
///
/// # Errors
/// Whatever the output says.
pub fn write(out: &mut dyn Write, overview: &Overview, verbose: bool) -> io::Result<()> {
    if verbose {
        whole(out, overview)?;
    }
    for task in overview.tasks.iter().filter(|t| !t.verdicts.is_empty()) {
        wrong(out, task)?;
    }
    Ok(())
}

fn wrong(out: &mut dyn Write, task: &TaskView) -> io::Result<()> {
    let who = task.assignee.as_deref().map_or_else(String::new, |a| format!(", {}", plain(a, 24)));
    let tail = format!(" ({}{who})", plain(&task.status, 24));
    let head = format!("{} {}", plain(&task.task, 24), plain(&task.title, MAX_SENTENCE));
    writeln!(out, "{}{tail}", plain(&head, WIDE.saturating_sub(tail.chars().count())))?;
    for Verdict { verdict, because, evidence } in &task.verdicts {
        wrapped(out, "  ", &format!("{}: {because}", plain(verdict, 40)))?;
        let lines = evidence.iter().map(String::as_str);
        listed(out, "    ", lines, MAX_EVIDENCE)?;
    }
    match &task.draft {
        Some(draft) => split(out, draft),
        None => Ok(()),
    }
}

fn split(out: &mut dyn Write, draft: &Draft) -> io::Result<()> {
    wrapped(out, "  ", &format!("split into {}: {}", draft.commands.len(), draft.because))?;
    for line in draft.commands.iter().take(MAX_LISTED) {
        writeln!(out, "    {}", command(line, MAX_COMMAND))?;
    }
    more(out, "    ", draft.commands.len(), MAX_LISTED)
}

fn whole(out: &mut dyn Write, o: &Overview) -> io::Result<()> {
    let mut counts: Vec<_> = o.counts.iter().filter(|(_, n)| **n > 0).collect();
    counts.sort_by_key(|(state, _)| words::rank(state));
    let counts: Vec<String> = counts.iter().map(|(s, n)| format!("{n} {}", plain(s, 24))).collect();
    let counts = if counts.is_empty() { "no open task".to_owned() } else { counts.join(", ") };
    wrapped(
        out,
        "",
        &format!(
            "{}, {} back to {}: {counts}",
            plain(&o.board, 40),
            o.now.local_minute(),
            o.since.local_moment(o.now)
        ),
    )?;
    table(out, &TASKS, o.tasks.iter().take(MAX_LISTED).map(task_row).collect())?;
    more(out, "  ", o.tasks.len(), MAX_LISTED)?;
    table(out, &SPENT, o.spent.iter().take(MAX_LISTED).map(spent_row).collect())?;
    more(out, "  ", o.spent.len(), MAX_LISTED)?;
    listed(
        out,
        "  ",
        o.interventions
            .iter()
            .rev()
            .map(|t| intervention(t, o.now))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
        MAX_LISTED,
    )?;
    for provider in o.providers.iter().take(MAX_LISTED) {
        wrapped(out, "  ", &provider_line(provider, o.now))?;
    }
    let unseen = o.unknown.iter().map(String::as_str).map(|s| (None, s));
    let per_task = o.tasks.iter().flat_map(|t| t.unknown.iter().map(|s| (Some(t.task.as_str()), s.as_str())));
    let all: Vec<String> = unseen
        .chain(per_task)
        .map(|(task, s)| task.map_or_else(|| format!("unknown: {s}"), |t| format!("{t} unknown: {s}")))
        .collect();
    listed(out, "  ", all.iter().map(String::as_str), MAX_LISTED)
}

/// Names of columns. Those of numbers are written to the right.
const TASKS: [&str; 9] =
    ["task", "state", "time>", "turns>", "tools>", "tokens>", "cost>", "files>", "title"];

fn task_row(t: &TaskView) -> Vec<String> {
    let least = |n: String| narrow(&known_least(t.usage.is_least, n));
    // Of what has a limit, the number that is held against it.
    let limited = |what: &str, else_: String| match t.gauges.iter().find(|g| g.what == what) {
        Some(g) => format!("{}/{}", narrow(&used(g)), amount(g.unit, g.limit)),
        None => else_,
    };
    let files = |f: &FilesView| narrow(&at_least(f.is_least, &f.count.to_string()));
    vec![
        plain(&t.task, 16),
        plain(&t.status, 12),
        limited("time", span(t.seconds)),
        limited("iterations", least(count(t.usage.turns))),
        least(count(t.usage.tool_calls)),
        least(count(t.usage.tokens.map(Tokens::total))),
        limited("cost", narrow(&known_least(t.cost_is_least, money(t.cost)))),
        limited("files", t.files.as_ref().map_or_else(|| words::UNKNOWN.to_owned(), files)),
        plain(&t.title, MAX_SENTENCE),
    ]
}

fn narrow(number: &str) -> String {
    number.replace(">= ", ">=")
}

const SPENT: [&str; 7] = ["profile", "provider", "attempts>", "time>", "turns>", "tokens>", "cost>"];

fn spent_row(s: &Spent) -> Vec<String> {
    let least = |n: String| narrow(&known_least(s.is_least, n));
    vec![
        plain(&s.profile, 20),
        s.provider.as_deref().map_or_else(|| words::UNKNOWN.to_owned(), |p| plain(p, 24)),
        s.attempts.to_string(),
        span(s.seconds),
        least(count(s.turns)),
        least(count(s.tokens.map(Tokens::total))),
        least(money(s.cost)),
    ]
}

/// Columns as wide as their widest cell; the last one takes what is left of the line.
fn table(out: &mut dyn Write, names: &[&str], rows: Vec<Vec<String>>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut all = vec![names.iter().map(|n| n.trim_end_matches('>').to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let widths: Vec<usize> = (0..names.len())
        .map(|i| all.iter().filter_map(|row| row.get(i)).map(|c| c.chars().count()).max().unwrap_or(0))
        .collect();
    for row in &all {
        let mut line = String::from("  ");
        for ((cell, name), width) in row.iter().zip(names).zip(&widths) {
            let cell =
                if name.ends_with('>') { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
            line.push_str(&cell);
        }
        writeln!(out, "{}", plain(line.trim_end(), WIDE))?;
    }
    Ok(())
}

fn intervention(t: &Intervention, now: Time) -> String {
    let by = t.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
    let because = t.because.as_deref().map_or_else(String::new, |b| format!(": {b}"));
    format!("{} {} {}{by}{because}", t.at.local_moment(now), t.task, t.what)
}

fn provider_line(p: &ProviderView, now: Time) -> String {
    let last = p.refusals.last().map_or_else(String::new, |r| {
        format!(
            ", {}, the last at {} until {}: {}",
            things(p.refusals.len(), "refusal"),
            r.from.local_moment(now),
            r.until.local_moment(now),
            r.cause
        )
    });
    let state = if p.state == "half open" { "trying again" } else { &p.state };
    format!("{} {state}{last}", p.name)
}

fn listed<'a>(
    out: &mut dyn Write,
    indent: &str,
    lines: impl ExactSizeIterator<Item = &'a str>,
    most: usize,
) -> io::Result<()> {
    let count = lines.len();
    for line in lines.take(most) {
        writeln!(out, "{indent}{}", plain(line, WIDE.saturating_sub(indent.len())))?;
    }
    more(out, indent, count, most)
}

fn more(out: &mut dyn Write, indent: &str, count: usize, most: usize) -> io::Result<()> {
    if count > most { writeln!(out, "{indent}and {} more", count - most) } else { Ok(()) }
}

/// A sentence over as many lines as it needs, those behind the first further in.
fn wrapped(out: &mut dyn Write, indent: &str, sentence: &str) -> io::Result<()> {
    let text = plain(sentence, MAX_SENTENCE);
    out.write_all(folded(WIDE, indent, &format!("{indent}    "), &text).as_bytes())
}

#[cfg(test)]
mod tests;
