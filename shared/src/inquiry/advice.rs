//! What a person can run, ready to be copied. Pure.

use serde::Serialize;

use super::facts::{Facts, Take, Verdict, text};
use super::stand::{Kind, Stand};
use crate::board::{EventKind, Status, StepAction};
use crate::cause::Cause;
use crate::distress::shell_word;
use crate::policy::authorship::our_hold;
use crate::policy::needs_operator;
use crate::registry::HEAL;
use crate::watch;

/// One command, and what it is for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Command {
    /// What it does.
    pub(crate) to: String,
    /// The whole line.
    pub(crate) run: String,
}

/// What a person can do about a task, the likeliest first.
pub(crate) fn of(f: &Facts, stand: &Stand) -> Vec<Command> {
    let (id, hand, flags) = (shell_word(&f.detail.task.id), &f.hand, &f.flags);
    let author = if f.own_board { " --author \"$USER\"" } else { "" };
    let mut all = Vec::new();
    let mut add = |to: &str, run: String| {
        if !all.iter().any(|c: &Command| c.run == run) {
            all.push(Command { to: to.to_owned(), run });
        }
    };
    if f.paused.is_some() {
        add("let the watchers change this board again", format!("watchbill unpause{flags}"));
    }
    if f.hands_off().is_some() && !f.is_over() {
        add("let the watchers help it again", format!("{hand} comment {id} 'watchbill: heal'{author}"));
    }
    // To say something is no act, and would help nobody.
    let acts = |t: &&Take| matches!(&t.verdict, Verdict::Acts { action, .. } if *action != StepAction::Tell);
    if let Some(take) = f.takes.iter().find(|t| acts(t) && watch::acts(t.watcher)) {
        add("do now what the next pass would do", format!("{} --task {id}{flags}", take.watcher));
    }
    // Unblocked as it is, it would meet the same refusal.
    let lacking = needs_operator::lacking(&f.detail).filter(|_| stand.kind == Kind::NeedsPerson);
    if let Some(cause) = lacking {
        let what = if cause == Cause::Credential { "with another key" } else { "at another provider" };
        let run = format!("{hand} reassign {id} PROFILE && {hand} unblock {id}");
        add(&format!("give it to a profile {what}"), run);
    }
    if let Some(card) = f.open_card() {
        let card = shell_word(&card.task.id);
        add("read the card that asks about it", format!("{hand} show {card}"));
    }
    let nobody = f.detail.task.assignee.as_deref().is_none_or(|a| {
        let known = &f.runtime.profiles;
        !known.is_empty() && a != "default" && !known.iter().any(|k| k == a)
    });
    let others = f.runtime.profiles.iter().filter(|p| Some(*p) != f.detail.task.assignee.as_ref());
    let other = others.map(String::as_str).find(|p| *p != "default").unwrap_or("PROFILE");
    let names: Vec<&str> = f.runtime.profiles.iter().map(String::as_str).take(6).collect();
    let to_whom = match names.as_slice() {
        [] => "give it to somebody".to_owned(),
        names => format!("give it to one of {}", names.join(", ")),
    };
    let reassign = format!("{hand} reassign {id} {}", shell_word(other));
    match f.detail.task.status {
        Status::Blocked | Status::Scheduled => {
            if asks(f) {
                add("answer its worker first", format!("{hand} comment {id} 'YOUR ANSWER'{author}"));
            }
            let to = match stand.kind {
                _ if lacking == Some(Cause::Credential) => "try it again, once its profile has a new key",
                _ if our_hold(&f.detail).is_some() => "not wait for the end of its hold",
                _ => "let it go on",
            };
            add(to, format!("{hand} unblock {id}"));
            if stand.kind == Kind::NeedsPerson {
                add(
                    "see what its next attempt would be told",
                    format!("{} --print-packet {id}{flags}", HEAL),
                );
            }
        }
        Status::Triage => add("put it back on its way", format!("{hand} specify {id}")),
        Status::Ready if nobody || stand.kind == Kind::NeedsPerson => add(&to_whom, reassign),
        Status::Todo => {
            for kin in f.detail.parents.iter().filter(|p| !p.status.frees_children()).take(2) {
                add("ask about what it waits for", format!("watchbill why {}{flags}", shell_word(&kin.id)));
            }
        }
        _ => {}
    }
    add("read its whole history", history(f, &id));
    all
}

/// Whether its worker stopped to ask a person something.
fn asks(f: &Facts) -> bool {
    let kind =
        f.newest(EventKind::Blocked).and_then(|e| text(e, "kind")).or(f.detail.task.block_kind.as_deref());
    f.detail.task.status == Status::Blocked && kind == Some("needs_input")
}

fn history(f: &Facts, id: &str) -> String {
    if f.own_board { format!("{} show {id}", f.hand) } else { format!("board show {id}{}", f.flags) }
}
