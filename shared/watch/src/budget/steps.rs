//! What is written down where the operator asked for it: a comment for each task and threshold, once; a card for running work
//! that is over its bounds. Neither changes the state of the task.

use serde_json::{Value, json};

use super::BudgetCheck;
use super::judge::Judged;
use super::seen::{Seen, Work};
use super::verdict::{Kind, Verdict};
use base::quote;
use base::registry::BUDGET_CHECK;
use board::hermes;
use board::{Change, Comment, Detail, Event, EventKind, Status, Step, StepAction};
use card::Blocker;
use config::Config;
use policy::authorship;
use policy::cards::over_budget::{Desk, Over};
use policy::cards::seen::{Seen as Distress, TreeSeen};
use policy::worktree_note::TreeNotes;
use policy::{Decision, Left, Pass, Profiles};

/// Most lines of evidence in a comment.
const MAX_EVIDENCE: usize = 8;

pub(super) fn decide(
    watcher: &BudgetCheck,
    seen: &Seen,
    judged: &[Judged<'_>],
    pass: &Pass,
    config: &Config,
    decision: &mut Decision,
) {
    let known = Profiles::of(seen.runtime.as_ref());
    let as_distress = as_distress(seen);
    let mut desk = Desk::new(&as_distress, pass, config);
    for one in judged.iter().filter(|j| !j.verdicts.is_empty()) {
        let d = &one.work.detail;
        if d.task.status.frees_children() || !(watcher.comment || watcher.distress) {
            continue;
        }
        let person = config.people.assignee.as_deref();
        if let Some(because) = authorship::hands_off(d, known, person, seen.now) {
            decision.left.push(Left::new(&d.task.id, because));
            continue;
        }
        let card = if watcher.distress && may_be_asked_about(one.work) { over(one) } else { None };
        let mut step = card.and_then(|over| desk.ask(d, tree(one.work), &over, decision));
        if watcher.comment {
            step = comments(one, step, pass);
        }
        decision.steps.extend(step);
    }
}

/// What a card is written from, as `synthesize-distress` would see it.
fn as_distress(seen: &Seen) -> Distress {
    Distress {
        now: seen.now,
        runtime: seen.runtime.clone(),
        glanced: seen.glanced,
        own_board: seen.own_board,
        slug: seen.slug.clone(),
        switched: seen.switched,
        db: seen.db.clone(),
        clock_fault: None,
        sources: Vec::new(),
        cards: seen.cards.clone(),
        others: Vec::new(),
        routing: seen.routing.clone(),
        waiting: Vec::new(),
        profiles: seen.routing.profiles.clone(),
        trees: TreeNotes::new(),
    }
}

fn tree(work: &Work) -> TreeSeen {
    TreeSeen { tree: work.tree.clone(), why_not: work.files.why_not.clone() }
}

/// What a card would say, where the work is over its bounds.
fn over<'a>(one: &'a Judged<'_>) -> Option<Over<'a>> {
    let blocker = if one.has(Kind::OutOfScope) { Blocker::ScopeBoundary } else { Blocker::IterationBudget };
    // Only what was really used or changed: more attempts are for a person.
    let counts = |f: &&Verdict| !matches!(f.kind, Kind::OverAttempts | Kind::StuckProgress);
    let found: Vec<&Verdict> = one.verdicts.iter().filter(counts).collect();
    let first = found.first()?;
    let rest: Vec<&str> = found.iter().skip(1).map(|f| f.kind.as_str()).collect();
    let more = if rest.is_empty() { String::new() } else { format!("; also {}", rest.join(", ")) };
    let what = format!("Its worker still runs. {}: {}{more}.", capital(first.kind.as_str()), first.because);
    let id = &one.work.detail.task.id;
    let spends =
        found.iter().any(|f| matches!(f.kind, Kind::OverTime | Kind::OverIterations | Kind::OverCost));
    let needs = match blocker {
        Blocker::ScopeBoundary => format!("say who does what lies outside the scope of {id}"),
        _ if spends => format!("split {id} into narrower tasks; it does not fit into its budget"),
        _ => format!(
            "look at what the worker of {id} does; split it, give it to another profile, or let it go on"
        ),
    };
    let evidence = found.iter().flat_map(|f| f.evidence.iter().cloned()).take(MAX_EVIDENCE).collect();
    Some(Over { blocker, what, needs, evidence, draft: one.draft.as_ref() })
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Adds the comments that were not made yet to the step of a task.
fn comments(one: &Judged<'_>, step: Option<Step>, pass: &Pass) -> Option<Step> {
    let d = &one.work.detail;
    let new: Vec<(String, &Verdict)> =
        one.verdicts.iter().map(|f| (key(f), f)).filter(|(key, _)| !was_told(d, key)).collect();
    if new.is_empty() {
        return step;
    }
    let kinds: Vec<&str> = new.iter().map(|(_, f)| f.kind.as_str()).collect();
    let because = format!("{}: {}", kinds.join(", "), new[0].1.because);
    let mut changes = Vec::new();
    for (key, found) in &new {
        changes.extend(comment(key, found, &because, pass));
    }
    Some(match step {
        Some(mut step) => {
            step.changes.extend(changes);
            step
        }
        None => Step { because, ..Step::on(d, StepAction::Comment, new[0].1.kind.key().into(), changes) },
    })
}

/// One comment, and the event by which a later pass knows it.
fn comment(key: &str, found: &Verdict, because: &str, pass: &Pass) -> Vec<Change> {
    let mut text = format!("{}\n{}.", first_line(key), quote::inline(&found.because, 300));
    for line in found.evidence.iter().take(MAX_EVIDENCE) {
        text.push_str(&format!("\n- {}", quote::inline(line, 200)));
    }
    let rest = found.evidence.len().saturating_sub(MAX_EVIDENCE);
    if rest > 0 {
        text.push_str(&format!("\n- and {rest} more"));
    }
    text.push_str(&format!("\n{}", advice(found.kind)));
    let trail = pass.trail(found.kind.key().into(), because);
    let (comment, len) = hermes::comment(BUDGET_CHECK, &text);
    vec![
        comment,
        hermes::noted(EventKind::Commented, json!({"author": BUDGET_CHECK, "len": len, "key": key}), &trail),
    ]
}

/// `watchbill: over time (1h)`: how the comment about a threshold begins. Comments that begin with the marker are read however
/// many come after them.
fn first_line(key: &str) -> String {
    let mut parts = key.splitn(3, ':').skip(1);
    let kind = parts.next().unwrap_or_default().replace('_', " ");
    match parts.next().filter(|t| !t.is_empty()) {
        Some(threshold) => format!("watchbill: {kind} ({threshold})"),
        None => format!("watchbill: {kind}"),
    }
}

/// `budget:over_time:1h`.
fn key(found: &Verdict) -> String {
    format!("budget:{}:{}", found.kind.key(), found.threshold)
}

/// What the worker should do now.
fn advice(kind: Kind) -> &'static str {
    match kind {
        Kind::OutOfScope | Kind::TooManyFiles => {
            "Stop where the scope ends. What lies outside it is another task: finish your own part, and ask for help with a \
             scope_boundary card for the rest."
        }
        Kind::OverTime | Kind::OverIterations | Kind::OverCost => {
            "Finish what is nearly done and complete the task. If it does not fit, stop and ask for a split with an iteration_budget \
             card; nobody raises the budget by itself."
        }
        Kind::Churning => {
            "Stop repeating this. Write down what is known, try another way once, or stop and say what blocks you."
        }
        Kind::StuckProgress => {
            "Trying the same again will end the same way. The next attempt needs a change or a person."
        }
        Kind::OverAttempts => "A person should look before anything is tried again.",
    }
}

/// Whether an event or a comment of `budget-check` says that a threshold was told already.
fn was_told(d: &Detail, key: &str) -> bool {
    let told = |e: &Event| {
        e.kind == EventKind::Commented
            && e.by() == Some(BUDGET_CHECK)
            && e.payload.get("key").and_then(Value::as_str) == Some(key)
    };
    let wrote =
        |c: &Comment| c.author == BUDGET_CHECK && c.body.lines().next() == Some(first_line(key).as_str());
    d.events.iter().any(told) || d.comments.iter().any(wrote)
}

/// Work that a card may be written about.
fn may_be_asked_about(work: &Work) -> bool {
    work.detail.task.status == Status::Running && work.detail.cards.is_empty()
}
