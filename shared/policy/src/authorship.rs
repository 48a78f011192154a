//! Who decided last: a decision of the operator or an orchestrator stands, and starts what we count afresh.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Profiles;
use base::cause::Cause;
use base::registry::{HEAL, NAMES};
use base::time::Time;
use board::{Comment, Detail, Event, EventKind, Run, Status};
use config::Heal;
use config::span::seconds;

/// The program that signs the events of a worker: `board`.
pub const HAND: &str = "board";

/// What `watchbill undo` signs its events with.
pub const UNDO: &str = "undo";

/// Whether one of the watchers left an event; those of all others start the counters afresh.
pub fn is_ours(e: &Event) -> bool {
    e.by().is_some_and(|by| NAMES.contains(&by))
}

/// Whether an event is the word of a watcher or of `watchbill undo`. That of a comment names its author alone.
pub fn is_of_programs(e: &Event) -> bool {
    let author =
        || e.payload.get("author").and_then(Value::as_str).filter(|_| e.kind == EventKind::Commented);
    is_of_undo(e) || e.by().or_else(author).is_some_and(|by| by == UNDO || NAMES.contains(&by))
}

/// Whether `watchbill undo` left an event, also where it told again what another one had told, under that one's name.
pub fn is_of_undo(e: &Event) -> bool {
    e.by() == Some(UNDO) || e.trail().is_some_and(|t| t.get("undone").is_some())
}

/// The event that says who scheduled a task which is scheduled now. An `unblocked` behind it released nothing, for the row says
/// otherwise: a forged one would let the hold last for ever.
pub fn parked(d: &Detail) -> Option<&Event> {
    let newest = d.events.iter().rev().find(|e| matches!(e.kind, EventKind::Scheduled | EventKind::Status));
    newest.filter(|e| e.kind == EventKind::Scheduled)
}

/// A person, an orchestrator or the work itself said: from the top.
pub fn is_fresh_start(e: &Event) -> bool {
    let by_hand = match e.kind {
        EventKind::Unblocked | EventKind::PromotedManual | EventKind::Completed => true,
        // The dispatcher filling in its default is nobody's decision.
        EventKind::Assigned => e.payload.get("source").is_none(),
        EventKind::Reclaimed => e.payload.get("manual").and_then(Value::as_bool) == Some(true),
        // Moved on the dashboard of Hermes. What it moves along with a parent has a reason.
        EventKind::Status => {
            let is_open = matches!(e.payload.get("status").and_then(Value::as_str), Some("todo" | "ready"));
            is_open && e.payload.get("reason").is_none()
        }
        _ => false,
    };
    by_hand && !is_ours(e)
}

/// The watcher whose step an undo took back.
pub fn undid(e: &Event) -> Option<&str> {
    let is_undo = e.kind == EventKind::Undone && e.by() == Some(UNDO);
    e.trail().filter(|_| is_undo)?.get("undone")?.get("by")?.as_str()
}

/// Whether an event starts anew how often `heal` helped a task: what does so for all counts, and an undo of what it did.
pub fn starts_help_anew(d: &Detail, e: &Event) -> bool {
    starts_anew(d, e) || undid(e) == Some(HEAL)
}

/// Whether an event starts anew what is counted of a task. What an orchestrator runs while it works on the task's own card bears
/// nobody's name and is not the operator's command: the orchestrator decides, and the counts go on.
pub fn starts_anew(d: &Detail, e: &Event) -> bool {
    let during = |(from, to): &(Time, Option<Time>)| e.at >= *from && to.is_none_or(|to| e.at <= to);
    is_fresh_start(e) && (e.kind == EventKind::Completed || !d.card_work.iter().any(during))
}

/// Whether a card was assigned on purpose: after it was made, and not by a watcher.
pub fn was_given(card: &Detail) -> bool {
    card.events.iter().any(is_assignment)
}

/// Whether it was assigned by this event, and not by a watcher.
pub fn is_assignment(e: &Event) -> bool {
    e.kind == EventKind::Assigned && !is_ours(e)
}

/// Whether an author who may say so wants this task skipped: a body line `watchbill: no-heal`, or a comment that
/// begins with it, by an author that is not a worker. `watchbill: heal` in a later comment ends that. `person`:
/// whom the configuration names as `people.assignee`, who is one also where a profile has that name, but for a task that profile
/// worked on.
pub fn is_opted_out(seen: &Detail, profiles: &Profiles, person: Option<&str>) -> bool {
    let is_end = |rest: &str| rest.trim_end_matches(['`', '*', '.', '!']).is_empty();
    let marked = seen.body.lines().any(|line| after_mark(plain(line), "no-heal").is_some_and(is_end));
    let mut said = seen.comments.iter().filter_map(|c| Some((c, opts_out(c)?))).peekable();
    if said.peek().is_none() {
        return marked;
    }
    let is_person = |name: &str| person.is_some_and(|person| person.eq_ignore_ascii_case(name));
    let of_runs = |r: &&Run| r.has_worked() || !r.profile.as_deref().is_some_and(is_person);
    let named = seen.task.assignee.iter().chain(profiles.names()).map(String::as_str);
    let workers: BTreeSet<String> = seen
        .runs
        .iter()
        .filter(of_runs)
        .filter_map(|r| r.profile.as_deref())
        .chain(named.filter(|name| !is_person(name)))
        // `default` is what Hermes calls a person at the command line as well; their word must be heard.
        .filter(|name| *name != "default")
        .map(str::to_lowercase)
        .collect();
    // Where the profiles are not known, any author may be a worker, and no worker takes it back.
    let counts = |(c, out): &(&Comment, bool)| {
        !workers.contains(&c.author.to_lowercase()) && (*out || profiles.unknown().is_none())
    };
    said.filter(counts).fold(marked, |_, (_, out)| out)
}

/// What a mark begins with.
const MARK: &str = "watchbill";

/// Whether a comment asks to leave its task alone, or takes that back; `None`: it says neither. What asks for it may go on in words
/// ("watchbill: no-heal, I look at it myself"): it only holds the watchers back. What takes it back says nothing else.
fn opts_out(c: &Comment) -> Option<bool> {
    // Hardly any comment is marked, and a long one is not searched for the end of its first line.
    after(plain(&c.body), MARK)?;
    let line = c.body.lines().next()?;
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    match after_mark(plain(line), "no-heal") {
        Some(rest) => ends(rest).then_some(true),
        None => after_mark(line, "heal")?.is_empty().then_some(false),
    }
}

/// A line without what Markdown puts before its text: list marks, quotes, backticks and asterisks; nor a byte order mark.
fn plain(line: &str) -> &str {
    line.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '\u{feff}' | '>' | '-' | '*' | '+' | '`')
    })
}

/// What stands on a line after the mark `watchbill: WORD`, in letters of either case.
fn after_mark<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let rest = after(line.trim_start(), MARK)?.trim_start();
    after(after(rest, ":")?.trim_start(), word).map(str::trim_end)
}

/// What a text says after this start, in letters of either case.
fn after<'l>(text: &'l str, start: &str) -> Option<&'l str> {
    let (head, rest) = text.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

/// Whether an event says that something happened to the work itself, rather than to what is written around it.
pub fn is_turn(e: &Event) -> bool {
    !e.kind.is_aside() && !EventKind::NOISE.contains(&e.kind) && !e.kind.as_str().starts_with("watchbill_")
}

/// The event with which the operator undid a step of a watcher, as long as nothing happened to the task since and nobody said
/// `watchbill: heal`. Otherwise the next pass would do again what was undone.
pub fn undone(d: &Detail) -> Option<&Event> {
    let at = d.events.iter().rposition(|e| e.kind == EventKind::Undone && e.by() == Some(UNDO))?;
    let undone = &d.events[at];
    // Of one second, the order of the events tells which came first: that of a comment stands beside it.
    let is_behind = |c: &Comment| {
        let author = |e: &Event| e.payload.get("author").and_then(Value::as_str) == Some(c.author.as_str());
        let of_it = |e: &Event| e.kind == EventKind::Commented && e.at == c.at && author(e);
        c.at > undone.at || (c.at == undone.at && d.events[at..].iter().any(of_it))
    };
    let asked = |c: &Comment| opts_out(c) == Some(false) && is_behind(c);
    let over = d.events[at..].iter().any(is_turn) || d.comments.iter().any(asked);
    (!over).then_some(undone)
}

/// Why no watcher acts on a task whatever is wrong with it, if so: it is marked, or the step of a watcher was undone.
pub fn hands_off(seen: &Detail, profiles: &Profiles, person: Option<&str>, now: Time) -> Option<String> {
    if is_opted_out(seen, profiles, person) {
        return Some("marked `watchbill: no-heal`".into());
    }
    let undone = undone(seen)?;
    Some(format!(
        "undone by hand at {}; skipped until something else happens to it",
        undone.at.local_moment(now)
    ))
}

/// The hold we put on a task that still stands, with the event that says so.
pub fn our_hold(d: &Detail) -> Option<(&Event, &Value)> {
    if d.task.status != Status::Scheduled {
        return None;
    }
    let newest = parked(d)?;
    let ours = is_ours(newest);
    // No watcher holds a task that is scheduled by others; an event that says so is forged.
    let at = d.events.iter().rposition(|e| e == newest).map_or(0, |at| at + 1);
    let steps = d.events[..at].iter().rev();
    let steps = steps
        .take_while(|e| !matches!(e.kind, EventKind::Unblocked | EventKind::Status | EventKind::Claimed));
    if steps.into_iter().any(|e| e.kind == EventKind::Scheduled && !is_ours(e)) {
        return None;
    }
    Some((newest, newest.trail().filter(|_| ours)?.get("hold")?))
}

/// Whether the program `board` queued a card: it writes no hold, and `synthesize-distress` releases the card in its turn.
pub fn is_queued_by_board(d: &Detail) -> bool {
    d.task.is_card() && parked(d).is_some_and(|e| e.by() == Some(HAND))
}

/// When a hold that a watcher wrote ends; `None` where it names no end.
pub fn end_in(hold: &Value) -> Option<Time> {
    hold.get("until").and_then(Value::as_i64).map(Time)
}

/// The cause that a hold or a trail of a watcher names, where it is one we know.
pub fn cause_in(word: &Value) -> Option<Cause> {
    serde_json::from_value(word.get("cause")?.clone()).ok()
}

/// Whether one of us took a task off the open card of an incident: that card goes on for others, and whatever stops the task
/// from now on is another matter, also where the card's title still names it.
pub fn has_left(d: &Detail, card: &str) -> bool {
    let about =
        |e: &&Event| matches!(e.kind, EventKind::Linked | EventKind::Unlinked) && e.names_parent(card);
    let newest = d.events.iter().rev().find(about);
    newest.is_some_and(|e| e.kind == EventKind::Unlinked && is_ours(e))
        && !d.parents.iter().any(|p| p.id == card)
}

/// Seconds for which a task is held for a cause, after `n` holds before this one: time mends no refused key, so that waits as long
/// as anything may.
pub fn hold_for(policy: &Heal, cause: Cause, n: i64, task: &str) -> i64 {
    let most = seconds(policy.hold_max);
    let first = if cause == Cause::Credential { most } else { seconds(policy.hold) };
    base::time::backoff(first, n, most, task)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use board::testing::{ago, detail, event, run};

    #[test]
    fn what_was_undone_stands_until_something_happens_or_somebody_asks() {
        let said =
            |body: &str, seconds: i64| Comment { author: "anna".into(), body: body.into(), at: ago(seconds) };
        let stands = |by: &str, later: &[Event], comments: Vec<Comment>| {
            let mut d = detail("t_00000001", Status::Ready);
            d.events.push(event(EventKind::Undone, 100, json!({"by": by})));
            d.events.extend_from_slice(later);
            d.comments = comments;
            undone(&d).is_some()
        };
        assert!(stands(UNDO, &[], Vec::new()));
        assert!(!stands("anna", &[], Vec::new()), "whose word is not undo's");
        for (kind, over) in [
            ("commented", false),
            ("heartbeat", false),
            ("attached", false),
            ("attachment_removed", false),
            ("terminal_worker_reaped", false),
            ("skipped_nonspawnable", false),
            ("claimed", true),
            ("unblocked", true),
            ("reconciled", true),
            ("of-a-newer-version", true),
        ] {
            assert_eq!(stands(UNDO, &[event(kind, 50, json!({}))], Vec::new()), !over, "{kind}");
        }
        assert!(!stands(UNDO, &[], vec![said("watchbill: heal", 50)]));
        assert!(stands(UNDO, &[], vec![said("watchbill: heal", 150)]), "said before it was undone");
        let commented = |author: &str| event("commented", 100, json!({"author": author}));
        assert!(stands(UNDO, &[], vec![said("watchbill: heal", 100)]), "said in its second, and before it");
        assert!(!stands(UNDO, &[commented("anna")], vec![said("watchbill: heal", 100)]), "and behind it");
        assert!(stands(UNDO, &[commented("bert")], vec![said("watchbill: heal", 100)]), "another comment");
        assert!(stands(UNDO, &[], vec![said("please\nwatchbill: heal", 50)]));
        assert!(!stands(UNDO, &[], vec![said(" Watchbill:Heal", 50)]), "as the mark itself is lifted");
    }

    #[test]
    fn an_undo_starts_the_help_of_heal_anew_and_nothing_else() {
        let d = detail("t_00000001", Status::Ready);
        for (by, of, anew) in [(UNDO, HEAL, true), (UNDO, "route-blocked", false), (HEAL, HEAL, false)] {
            let e = event(EventKind::Undone, 100, json!({"by": by, "watchbill": {"undone": {"by": of}}}));
            assert_eq!((starts_help_anew(&d, &e), starts_anew(&d, &e)), (anew, false), "{by} {of}");
        }
        assert!(starts_help_anew(&d, &event("unblocked", 100, json!({}))));
    }

    #[test]
    fn what_was_undone_on_another_day_has_its_date() {
        let mut d = detail("t_00000001", Status::Ready);
        d.events.push(event(EventKind::Undone, 100, json!({"by": UNDO})));
        let (at, known) = (ago(100), Profiles::default());
        let day = at.local_day_and_clock().0;
        for (days, dated) in [(0, false), (1, true), (30, true)] {
            let said = hands_off(&d, &known, None, at.plus(days * 86_400)).unwrap();
            let want = if dated { format!("{day} {}", at.local_minute()) } else { at.local_minute() };
            assert!(said.starts_with(&format!("undone by hand at {want}; ")), "{said}");
        }
    }

    #[test]
    fn a_mark_counts_in_any_case_and_hands_off_may_say_why() {
        for (first_line, out) in [
            ("watchbill: no-heal", Some(true)),
            ("  Watchbill:No-Heal ", Some(true)),
            ("watchbill: no-heal, I look at it myself", Some(true)),
            ("watchbill: no-heal. Ask me", Some(true)),
            ("`watchbill: no-heal`", Some(true)),
            ("> - **watchbill: no-heal**, please", Some(true)),
            ("\u{feff}watchbill: no-heal", Some(true)),
            ("- watchbill: heal", None),
            ("watchbill: no-healing", None),
            ("watchbill: no-heal-yet", None),
            ("Say `watchbill: no-heal` to stop it", None),
            ("watchbill no-heal", None),
            ("WATCHBILL: heal", Some(false)),
            ("watchbill: heal it if you must", None),
            ("watchbill: héal", None),
            ("", None),
        ] {
            let of = |body: String| opts_out(&Comment { author: "ada".into(), body, at: ago(9) });
            assert_eq!(of(format!("{first_line}\nmore")), out, "{first_line}");
            assert_eq!(of(format!("more\n{first_line}")), None, "{first_line}");
        }
        let known = Profiles::default();
        for (body, out) in [
            ("Count.\nWatchbill: no-heal", true),
            ("Count.\n- `watchbill: no-heal`.", true),
            ("Count.\n> watchbill: no-heal", true),
            ("Count.\n- `watchbill: no-heal` is a mark that this page explains", false),
            ("Count.\nwatchbill: no-heal is a mark that this page explains", false),
        ] {
            let mut seen = detail("t_00000001", Status::Ready);
            seen.body = body.into();
            assert_eq!(is_opted_out(&seen, &known, None), out, "{body}");
        }
    }

    #[test]
    fn whom_the_configuration_names_is_a_person_but_for_what_they_worked_on() {
        let known: Profiles = ["luna", "anna"].into_iter().collect();
        let is_out = |runs: &[(&str, i64)], assignee: &str, person: Option<&str>, author: &str| {
            let mut d = detail("t_00000001", Status::Running);
            d.task.assignee = Some(assignee.into());
            let ended = |(profile, took): &(&str, i64)| Run {
                ended_at: Some(ago(1_300 - took)),
                ..run(1, profile, Some("completed"))
            };
            d.runs = runs.iter().map(ended).collect();
            d.comments =
                vec![Comment { author: author.into(), body: "watchbill: no-heal".into(), at: ago(9) }];
            is_opted_out(&d, &known, person)
        };
        for (person, runs, assignee, author, heard) in [
            (None, &[] as &[(&str, i64)], "luna", "anna", false),
            (Some("anna"), &[], "luna", "anna", true),
            (Some("anna"), &[], "luna", "Anna", true),
            (Some("anna"), &[], "anna", "anna", true),
            (Some("anna"), &[], "luna", "luna", false),
            (Some("anna"), &[("luna", 60)], "luna", "anna", true),
            // An attempt that Hermes made up, and one of a worker of that name.
            (Some("anna"), &[("anna", 0)], "luna", "anna", true),
            (Some("anna"), &[("anna", 60)], "luna", "anna", false),
            (Some("anna"), &[("Anna", 60)], "luna", "anna", false),
        ] {
            assert_eq!(
                is_out(runs, assignee, person, author),
                heard,
                "{person:?} {runs:?} {assignee} {author}"
            );
        }
    }

    #[test]
    fn what_is_run_while_somebody_works_on_its_card_starts_no_count_anew() {
        let mut d = detail("t_00000001", Status::Ready);
        d.card_work = vec![(ago(90), Some(ago(60))), (ago(30), None)];
        let at = |kind: &str, seconds: i64| starts_anew(&d, &event(kind, seconds, json!({})));
        let all = [91, 90, 75, 60, 59, 31, 30, 1].map(|seconds| at("unblocked", seconds));
        assert_eq!(all, [true, false, false, false, true, true, false, false]);
        assert!(at("completed", 75), "the work is done");
        assert!(!at("claimed", 59));
    }

    #[test]
    fn a_fresh_start_is_said_by_somebody() {
        let is = |kind: &str, payload: Value| is_fresh_start(&event(kind, 9, payload));
        for kind in ["unblocked", "promoted_manual", "completed", "assigned"] {
            assert!(is(kind, json!({})) && is(kind, json!({"by": "anna"})), "{kind}");
            assert!(!is(kind, json!({"by": "heal"})), "{kind}: one of us");
        }
        assert!(!is("assigned", json!({"source": "default_assignee"})), "the dispatcher's default");
        assert!(is("reclaimed", json!({"manual": true})));
        assert!(!is("reclaimed", json!({"manual": false})) && !is("reclaimed", json!({})));
        assert!(!is("claimed", json!({"manual": true})) && !is("promoted", json!({})));
        for status in ["todo", "ready"] {
            assert!(is("status", json!({"status": status})), "moved on the dashboard to {status}");
            assert!(!is("status", json!({"status": status, "reason": "parent_reopened"})), "moved along");
            assert!(!is("status", json!({"status": status, "by": "heal"})), "one of us");
        }
        assert!(!is("status", json!({"status": "scheduled"})) && !is("status", json!({})));
    }
}
