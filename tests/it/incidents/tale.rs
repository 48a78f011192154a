//! What happened to a task, in a few words made from the rows of its board.

use serde_json::Value;

use super::verdict::{Expect, Verdict, judge};
use super::world::World;

/// Events that come with every task, or say nothing of its way.
const NOISE: [&str; 10] = [
    "created",
    "claimed",
    "spawned",
    "completed",
    "commented",
    "heartbeat",
    "tip_scratch_workspace",
    "linked",
    "unlinked",
    "watchbill_signal",
];

/// One row of the book: what was seen, as it stands in the page.
#[derive(Debug, Clone)]
pub struct Told {
    pub alone: String,
    pub watched: String,
    pub verdict: String,
    /// Why this is not what was to come, where it is not.
    pub wrong: Option<String>,
}

/// The state of all tasks and their way there.
pub fn tale(w: &World) -> String {
    let mut all: Vec<(String, usize)> = Vec::new();
    for task in &w.tasks {
        let one = way(w, task);
        match all.iter_mut().find(|(text, _)| *text == one) {
            Some((_, n)) => *n += 1,
            None => all.push((one, 1)),
        }
    }
    let mut told: Vec<String> =
        all.into_iter().map(|(text, n)| if n == 1 { text } else { format!("{n} tasks {text}") }).collect();
    told.extend(w.notes.iter().cloned());
    told.join("; ")
}

fn way(w: &World, task: &str) -> String {
    let conn = w.home.open();
    let mut statement = conn
        .prepare("SELECT kind, coalesce(payload, '{}') FROM task_events WHERE task_id = ? ORDER BY id")
        .unwrap();
    let events = statement.query_map([task], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    let mut steps: Vec<(String, usize)> = Vec::new();
    let mut attempts = 0;
    let mut pass = Value::Null;
    for (kind, payload) in events.map(Result::<(String, String), _>::unwrap) {
        attempts += usize::from(kind == "claimed");
        // Whether Hermes sees how a real worker ended is a matter of luck, and so is what it makes of it.
        let booked = ["crashed", "protocol_violation", "gave_up", "promoted"].contains(&kind.as_str());
        if NOISE.contains(&kind.as_str()) || (booked && w.provider.is_some()) {
            continue;
        }
        let payload: Value = serde_json::from_str(&payload).unwrap_or_default();
        let trail = &payload["watchbill"];
        let step = match trail["case"].as_str() {
            // What one pass did in several events is one step.
            Some(_) if trail["pass"] == pass => continue,
            Some(_) if kind == "watchbill_escalated" => "*heal escalates*".to_owned(),
            Some(case) => format!("*{} {case}*", payload["by"].as_str().unwrap_or_default()),
            None => kind,
        };
        pass = trail["pass"].clone();
        match steps.last_mut() {
            Some((last, n)) if *last == step => *n += 1,
            _ => steps.push((step, 1)),
        }
    }
    let steps: Vec<String> =
        steps.into_iter().map(|(s, n)| if n == 1 { s } else { format!("{s} ×{n}") }).collect();
    let mut text = format!("**{}**", w.home.task(task, "status"));
    let assignee = w.home.task(task, "assignee");
    if assignee == "sol" {
        text.push_str(" by sol");
    }
    if !steps.is_empty() {
        text.push_str(&format!(": {}", steps.join(", ")));
    }
    let count = match attempts {
        _ if w.provider.is_some() => String::new(),
        0 => " (never started)".to_owned(),
        1 => " (1 attempt)".to_owned(),
        n => format!(" ({n} attempts)"),
    };
    text.push_str(&count);
    text
}

/// Fates of those who have nothing to do with it.
pub fn strangers(w: &mut World) {
    let fates: Vec<bool> = w.strangers.iter_mut().map(super::super::support::Kept::is_running).collect();
    for lives in fates {
        w.note(if lives { "the stranger lives" } else { "**the stranger was killed**" });
    }
}

/// The text without what differs from run to run: names of tasks, processes, this host and its clock.
pub fn plain(text: &str) -> String {
    let text = text.replace(&crate::support::hostname(), "HOST").replace('|', "/");
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/');
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let span = bare.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(digits);
        let to = match bare {
            _ if bare.len() >= 10 && bare.starts_with("t_") => "TASK",
            _ if bare.starts_with('/') && bare.contains("kanban.db") => "BOARD",
            _ if bare.starts_with('/') && bare.contains("/.claude/") => "POINTER",
            _ if span => "[span]",
            _ if bare.split_once(':').is_some_and(|(h, m)| digits(h) && digits(m)) => "[time]",
            _ if digits(bare) && bare.len() >= 2 => "[n]",
            _ => bare,
        };
        let word = word.replacen(bare, to, usize::from(!bare.is_empty()));
        // 1h 2m is one span of time.
        if to == "[span]" && words.last().is_some_and(|last| last == "[span]") {
            words.pop();
        }
        words.push(word);
    }
    words.join(" ")
}

/// A few words of a longer text.
fn brief(text: &str) -> String {
    let text = plain(text);
    let short: String = text.chars().take(220).collect();
    if short.len() < text.len() { format!("{} …", short.trim_end()) } else { short }
}

/// Says what became of an incident, and whether that was to come.
pub fn tell(
    alone: &mut World,
    watched: &mut World,
    found: (Verdict, i64),
    expect: Expect,
    minutes: i64,
) -> Told {
    strangers(alone);
    strangers(watched);
    // What the report says where nothing was done.
    let reason = watched.tasks.clone().iter().find_map(|t| watched.because(t));
    let reason = reason.unwrap_or_else(|| watched.findings.join(" "));
    let (verdict, at) = found;
    let last = judge(watched);
    let (text, right) = match (&verdict, expect) {
        _ if !last.is_like(&verdict) => (format!("**changed at the end: {last:?}**"), false),
        (Verdict::Recovered, e) => ("recovered without a person".to_owned(), matches!(e, Expect::Recovered)),
        (Verdict::Handed(told), e) => {
            let right = matches!(e, Expect::Handed(words) if told.contains(words));
            let first = told.lines().next().unwrap_or_default();
            (format!("handed to a person: {}", brief(first)), right)
        }
        (Verdict::Untouched, e) => {
            let right = matches!(e, Expect::Left(words) if reason.contains(words) && !words.is_empty());
            (format!("skipped on purpose: {}", brief(&reason)), right)
        }
        (Verdict::Waiting, _) => ("**work stands still**".to_owned(), false),
    };
    let when = match &verdict {
        _ if watched.provider.is_some() => format!("within {} min: ", (at / 10 + 1) * 10),
        Verdict::Recovered | Verdict::Handed(_) => format!("after {at} min: "),
        _ => format!("after {minutes} min: "),
    };
    let told = Told {
        alone: format!("after {minutes} min: {}", tale(alone)),
        watched: format!("{when}{}", tale(watched)),
        verdict: text,
        wrong: None,
    };
    let wrong = (!right).then(|| {
        format!(
            "expected {expect:?}, not {verdict:?}; it says: {reason}; {:?}\n  {}",
            watched.findings, told.watched
        )
    });
    Told { wrong, ..told }
}
