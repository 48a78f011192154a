//! Tasks: what is wrong with them, what they used of what they may use, and how to make them narrower.

use std::cmp::Ordering;

use super::super::plain::command;
use super::super::words::{UNKNOWN, amount, at_least, count, is_over, money, short, used};
use super::super::{Draft, FilesView, Gauge, Overview, Recurring, TaskView, Verdict};
use super::MAX_TASKS;
use super::axis::Share;
use super::parts::{
    Look, MAX_COMMAND, details, escaped, escaped_block, evidence, folded, list, more, number, quoted, section,
};
use base::count::{noun, things, times};
use base::time::words as span;
use logs::usage::{Tokens, Usage};

/// Most lines of evidence, file names and commands.
const MAX_LINES: usize = 50;
/// Lines of evidence that are shown at once.
const AT_ONCE: usize = 4;
/// Most of anything a task has several of.
const MAX_PARTS: usize = 20;
/// Most characters of a decision; a longer one is not shown.
const MAX_DECISION: usize = 20_000;

/// Tasks with verdicts.
pub(super) fn wrong(board: usize, o: &Overview) -> String {
    let all: Vec<(usize, &TaskView)> = shown(o).filter(|(_, t)| !t.verdicts.is_empty()).collect();
    let inside = if all.is_empty() {
        "<p class=\"muted\">No task is over a limit, out of its scope or without progress, as far as could be seen.</p>".to_owned()
    } else {
        all.iter().map(|(n, t)| task(board, *n, t)).collect()
    };
    let left = o.tasks.iter().skip(MAX_TASKS).filter(|t| !t.verdicts.is_empty()).count();
    section("verdicts", board, "Verdicts", &format!("{inside}{}", more(all.len() + left, all.len())))
}

/// All others, opened on demand.
pub(super) fn others(board: usize, o: &Overview) -> String {
    let all: Vec<(usize, &TaskView)> = shown(o).filter(|(_, t)| t.verdicts.is_empty()).collect();
    if all.is_empty() {
        return String::new();
    }
    let left = o.tasks.iter().skip(MAX_TASKS).filter(|t| t.verdicts.is_empty()).count();
    let inside: String = all.iter().map(|(n, t)| task(board, *n, t)).collect();
    let inside = format!("{inside}{}", more(all.len() + left, all.len()));
    folded(&format!("{} without verdicts", things(all.len() + left, "task")), &inside)
}

fn shown(o: &Overview) -> impl Iterator<Item = (usize, &TaskView)> {
    o.tasks.iter().take(MAX_TASKS).enumerate()
}

fn task(board: usize, n: usize, t: &TaskView) -> String {
    let verdicts: String = t.verdicts.iter().take(MAX_PARTS).map(verdict).collect();
    let unknown = t.unknown.iter().take(MAX_PARTS).map(|u| quoted(u, 300));
    let unknown = match t.unknown.len() {
        0 => String::new(),
        _ => format!("<div class=\"unseen\"><p>Could not be judged:</p>{}</div>", list("plain", unknown)),
    };
    let draft = t.draft.as_ref().map_or_else(String::new, draft);
    let gauges: String = t.gauges.iter().take(MAX_PARTS).map(gauge).collect();
    let gauges = if gauges.is_empty() { gauges } else { format!("<div class=\"gauges\">{gauges}</div>") };
    let files = t.files.as_ref().map_or_else(String::new, files);
    let behind = [gauges, unknown, files, errors(&t.errors), usage(&t.usage)].concat();
    let behind = if behind.is_empty() { behind } else { details("Limits, files and usage", &behind) };
    format!(
        "<article id=\"b{board}-t{n}\">\n<h3><code>{}</code> {}</h3>\n<p class=\"facts\">{}</p>\n\
         {verdicts}{draft}{behind}</article>\n",
        escaped(&t.task, 40),
        quoted(&t.title, 240),
        facts(t),
    )
}

/// On what its attempts ended, and how often.
fn errors(all: &[Recurring]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let shown = all
        .iter()
        .take(MAX_PARTS)
        .map(|e| format!("{} {}", number(&format!("{}\u{d7}", e.times)), quoted(&e.error, 300)));
    let head = things(all.len(), "error");
    format!("<details><summary>{head} its attempts ended on</summary>{}</details>\n", list("plain", shown))
}

fn facts(t: &TaskView) -> String {
    let state = format!(
        "<span class=\"pill {}\">{}</span>",
        Look::of_state(&t.status).class(),
        escaped(&t.status, 40)
    );
    let who = t.assignee.as_deref().map_or_else(|| "nobody".to_owned(), |a| quoted(a, 60));
    let times = |n: u64, what: &str| (n > 0).then(|| format!("{what} {}", times(n)));
    let cost = t.cost.map(|m| at_least(t.cost_is_least, &m.to_string()));
    let all = [
        Some(who),
        Some(format!("{}, {} in all", things(t.attempt_count, "attempt"), span(t.seconds))),
        cost.map(|c| number(&c)),
        times(t.resets, "reset"),
        times(t.reassigned, "reassigned"),
    ];
    format!("{state} {}", all.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn verdict(v: &Verdict) -> String {
    let look = if v.verdict == "over attempts" { Look::Failed } else { Look::Stopped };
    format!(
        "<div class=\"verdict\"><p><span class=\"pill {}\">{}</span> {}</p>{}</div>\n",
        look.class(),
        escaped(&v.verdict, 60),
        quoted(&v.because, 600),
        evidence(v, AT_ONCE, MAX_LINES)
    )
}

/// One limit: a bar as long as what was used, with a line where the limit is.
fn gauge(g: &Gauge) -> String {
    let (limit, over) = (i128::from(g.limit), is_over(g));
    let picture = match g.used.map(i128::from) {
        None => "<rect class=\"unknown\" x=\"1\" y=\"1\" width=\"99%\" height=\"8\" rx=\"2\"/>".to_owned(),
        Some(used) => {
            let whole = used.max(limit);
            let class = match used.cmp(&limit) {
                Ordering::Less => "within",
                Ordering::Equal => "full",
                Ordering::Greater => "over-limit",
            };
            let line = Share::of(limit, whole).percent();
            let line = format!("<line class=\"limit\" x1=\"{line}%\" x2=\"{line}%\" y1=\"0\" y2=\"10\"/>");
            format!(
                "<rect class=\"track\" x=\"0\" y=\"1\" width=\"100%\" height=\"8\" rx=\"2\"/>\
                 <rect class=\"{class}\" x=\"0\" y=\"1\" width=\"{}%\" height=\"8\" rx=\"2\"/>{}",
                Share::of(used, whole).percent(),
                if over { line } else { String::new() }
            )
        }
    };
    let over = if over { " <b class=\"over-words\">over</b>" } else { "" };
    format!(
        "<div class=\"gauge\"><p><span>{}</span><span><b>{}</b> of {}{over}</span></p>\
         <svg class=\"bars\" aria-hidden=\"true\" width=\"100%\" height=\"10\">{picture}</svg>\
         <p class=\"muted\">limit: {}</p></div>\n",
        escaped(&g.what, 40),
        number(&used(g)),
        escaped(&amount(g.unit, g.limit), 40),
        escaped(&g.source, 120),
    )
}

fn draft(d: &Draft) -> String {
    let commands: String = d
        .commands
        .iter()
        .take(MAX_LINES)
        .map(|c| format!("{}\n", escaped(&command(c, MAX_COMMAND), MAX_COMMAND)))
        .collect();
    let decision = serde_json::to_string_pretty(&d.decision).unwrap_or_default();
    // A cut decision would be one that nobody made.
    let decision = if decision.chars().count() > MAX_DECISION {
        "<p class=\"muted\">The decision is too long for this page.</p>".to_owned()
    } else {
        format!("<pre>{}</pre>", escaped_block(&decision, MAX_DECISION))
    };
    let commands = format!("<pre>{commands}</pre>{}", more(d.commands.len(), MAX_LINES));
    format!(
        "<div class=\"draft\"><p><span class=\"pill runs\">split into {}</span> {}</p>{}{}</div>\n",
        d.commands.len(),
        quoted(&d.because, 600),
        details("Commands that make the narrower tasks", &commands),
        details("The same as a decision for route-blocked", &decision)
    )
}

fn files(f: &FilesView) -> String {
    let count = at_least(f.is_least, &things(f.count, "file"));
    let out = match f.out_of_scope.len() {
        0 => String::new(),
        n => format!(", {n} out of scope"),
    };
    let unclear = match f.unclear.len() {
        0 => String::new(),
        n => format!(", {n} unclear"),
    };
    let head = format!(
        "{} changed{out}{unclear} <span class=\"muted\">since {}</span>",
        number(&count),
        quoted(&f.base, 160)
    );
    if f.out_of_scope.is_empty() && f.unclear.is_empty() {
        return format!("<p class=\"line\">{head}</p>\n");
    }
    let names = |what: &str, all: &[String]| match all.len() {
        0 => String::new(),
        n => format!(
            "<p>{what}</p>{}{}",
            list("evidence", all.iter().take(MAX_LINES).map(|f| format!("<code>{}</code>", escaped(f, 300)))),
            more(n, MAX_LINES)
        ),
    };
    details(
        &head,
        &format!(
            "{}{}",
            names("Out of scope:", &f.out_of_scope),
            names("The scope does not say:", &f.unclear)
        ),
    )
}

/// What the newest attempt used, as the worker's own log tells.
fn usage(u: &Usage) -> String {
    if *u == Usage::default() {
        return String::new();
    }
    let least = |n: Option<u64>| match n {
        None => UNKNOWN.to_owned(),
        Some(n) => number(&at_least(u.is_least, &short(n))),
    };
    let is_least = u.is_least || u.cost.is_none();
    let known = |m| number(&at_least(is_least, &money(Some(m))));
    let cost = u.known_cost().map_or_else(|| UNKNOWN.to_owned(), known);
    let tokens = u.tokens.map(Tokens::total);
    let is_known =
        u.turns.is_some() || u.tool_calls.is_some() || tokens.is_some() || u.known_cost().is_some();
    let head = if is_known {
        let (turns, calls) = (least(u.turns), least(u.tool_calls));
        let (turn, call) =
            (noun(u.turns.unwrap_or_default(), "turn"), noun(u.tool_calls.unwrap_or_default(), "call"));
        format!("Newest attempt: {turns} {turn}, {calls} tool {call}, {} tokens, {cost}", least(tokens))
    } else {
        "Newest attempt: what it used is not known".to_owned()
    };
    let input = u.tokens.map_or_else(
        || UNKNOWN.to_owned(),
        |t| {
            let (read, written, new) = (short(t.cache_read), short(t.cache_write), short(t.input));
            format!("{read} read from the cache, {written} written to it, {new} not cached")
        },
    );
    let output = u.tokens.map_or_else(|| UNKNOWN.to_owned(), |t| short(t.output));
    let text = |s: &Option<String>| s.as_deref().map_or_else(|| UNKNOWN.to_owned(), |s| quoted(s, 200));
    let rereads = u
        .rereads
        .iter()
        .take(MAX_PARTS)
        .map(|r| format!("<code>{}</code> {}", escaped(&r.file, 200), times(r.times)));
    let rereads = rereads.collect::<Vec<_>>().join(", ");
    let unknown = u.unknown.iter().take(MAX_PARTS).map(|w| quoted(w, 200)).collect::<Vec<_>>().join("; ");
    let rows = [
        ("model", text(&u.model)),
        ("input", input),
        ("output", output),
        ("failed tool calls", count(u.tool_errors)),
        ("edits", count(u.edits)),
        ("same call in a row", count(u.identical_calls)),
        ("compactions", count(u.compactions)),
        ("read again and again", rereads),
        ("not known", unknown),
        ("from", text(&u.source)),
    ];
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty() && (is_known || value != UNKNOWN))
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"))
        .collect();
    details(&head, &format!("<dl>{rows}</dl>"))
}
