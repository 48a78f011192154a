use serde_json::json;

use super::*;
use board::testing::{NOW, ago, detail, event, run};
use board::{Kin, Run, Task};

const TTL: i64 = 900;
const LOCK: &str = "h1:77:0a0b0c0d";

fn loan() -> Loan {
    Loan::of_lock("t_00000001", LOCK).unwrap()
}

/// The task on the board that lends, claimed under the loan, with so many seconds left.
fn held(left: i64) -> Detail {
    let mut d = detail("t_00000001", Status::Running);
    let claimed = json!({"lock": LOCK, "watchbill": {"lent_to": mark("/h/kanban.db", "t_x")}});
    d.events.push(Event { run: Some(3), ..event("claimed", 600, claimed) });
    d.runs = vec![Run { last_heartbeat_at: Some(ago(300)), ..run(3, "luna", None) }];
    d.task = Task {
        claim_lock: Some(LOCK.into()),
        claim_expires: Some(NOW.plus(left)),
        current_run: Some(3),
        ..d.task.clone()
    };
    d
}

fn local(status: Status) -> Detail {
    let mut d = detail(&loan().local(), status);
    d.task.idempotency_key = Some(loan().key());
    d
}

fn deed(there: Option<&Detail>, local: Option<&Detail>) -> Deed {
    decide(&loan(), there, local, Clocks { there: NOW, here: NOW, ttl: TTL })
}

#[test]
fn a_loan_is_known_by_claim_key_and_id_of_any_shape() {
    assert_eq!(Loan::of_lock("t_00000001", "h1:77"), None, "a claim without a part of its own");
    for task in ["t_00000001", "PROJ-12", "owner/repo#12", "a:b"] {
        let loan = Loan::of_lock(task, "h1@4f:77:0a0b0c0d").unwrap();
        assert_eq!(Loan::of_key(Some(&loan.key())), Some(loan.clone()));
        assert!(board::is_task_id(&loan.local()), "{}", loan.local());
        let next = Loan { nonce: "0a0b0c0e".into(), ..loan.clone() };
        assert_ne!(next.local(), loan.local(), "a second claim has a task of its own");
    }
    for key in [None, Some("distress:t_00000001:quota:1"), Some("lent:t_00000001")] {
        assert_eq!(Loan::of_key(key), None, "{key:?}");
    }
}

#[test]
fn a_claim_is_ours_where_its_own_event_says_so() {
    let mut there = held(900);
    assert_eq!(lent(&there), Some(loan()));
    let made = local(Status::Done);
    let mut other = made.clone();
    other.task.idempotency_key = None;
    for (local, board, is_here, want) in [
        (None, "/h/kanban.db", true, true),
        (None, "/h/kanban.db", false, false),
        (None, "/link/kanban.db", true, false),
        (Some(&other), "/h/kanban.db", true, true),
        (Some(&other), "/link/kanban.db", true, false),
        // The board or the host has another name now.
        (Some(&made), "/link/kanban.db", true, true),
        (Some(&made), "/h/kanban.db", false, true),
    ] {
        assert_eq!(is_to(&loan(), &there, local, board, is_here), want, "{board} {is_here} {local:?}");
    }
    assert!(loan().holds(&there) && loan().was_of(&there));
    there.task.claim_lock = Some("h1:77:ffffffff".into());
    assert_eq!(lent(&there), None, "claimed anew");
    assert!(!loan().holds(&there) && loan().was_of(&there));
    assert!(!loan().was_of(&detail("t_00000001", Status::Ready)));
}

#[test]
fn a_claim_without_its_local_task_gets_one_and_later_it_was_deleted() {
    let mut there = held(900);
    let id = loan().local();
    let deleted = Deed::Block("needs_input", format!("its local task {id} was deleted"));
    assert_eq!(deed(Some(&there), None), deleted);
    there.runs[0].last_heartbeat_at = None;
    assert_eq!(deed(Some(&there), None), Deed::Make);
    assert_eq!(
        deed(Some(&there), Some(&local(Status::Ready))),
        Deed::Renew,
        "the first heartbeat says that it is there"
    );
    assert_eq!(deed(None, None), Deed::Nothing);
}

#[test]
fn a_claim_is_extended_while_the_local_task_is_open_and_not_in_each_pass() {
    for status in ["triage", "todo", "scheduled", "ready", "running", "review", "of a later Hermes"] {
        let local = local(Status::from(status.to_owned()));
        if local.task.status != Status::Triage {
            assert_eq!(deed(Some(&held(600)), Some(&local)), Deed::Renew, "{status}");
            assert_eq!(deed(Some(&held(-50)), Some(&local)), Deed::Renew, "{status}: it still holds");
            assert_eq!(deed(Some(&held(601)), Some(&local)), Deed::Nothing, "{status}");
        }
    }
}

#[test]
fn an_end_goes_back_with_its_words() {
    let mut done = local(Status::Done);
    let completed = Run { summary: Some("written".into()), ..run(8, "luna", Some("completed")) };
    done.runs = vec![completed];
    assert_eq!(deed(Some(&held(900)), Some(&done)), Deed::Complete(Some("written".into())));
    done.task.status = Status::Archived;
    assert_eq!(
        deed(Some(&held(900)), Some(&done)),
        Deed::Complete(Some("written".into())),
        "archived after its end"
    );
    let mut waits = held(900);
    let parent = |status| Kin { id: "t_00000002".into(), title: "first".into(), status, stray_title: false };
    waits.parents = vec![parent(Status::Done)];
    assert_eq!(deed(Some(&waits), Some(&done)), Deed::Complete(Some("written".into())));
    waits.parents.push(parent(Status::Ready));
    assert_eq!(deed(Some(&waits), Some(&done)), Deed::Wait("t_00000002".into(), Some("written".into())));
    done.runs.clear();
    assert!(
        matches!(deed(Some(&held(900)), Some(&done)), Deed::Block("needs_input", why) if why.ends_with("was archived"))
    );
}

#[test]
fn a_block_goes_back_unless_the_watchers_there_are_at_it() {
    let reason = |text: &str| json!({"reason": text});
    let gave_up = json!({"error": "pid 4 not alive"});
    let given_up = Deed::Block("needs_input", "given up after 2 failures: pid 4 not alive".into());
    let block = |kind, text: &str| Deed::Block(kind, text.into());
    for (kind, stop, ago, cards, want) in [
        (
            Some("needs_input"),
            ("blocked", reason("which licence?")),
            5,
            0,
            block("needs_input", "which licence?"),
        ),
        (Some("capability"), ("blocked", reason("no GPU")), 5, 0, block("capability", "no GPU")),
        (Some("dependency"), ("blocked", reason("t_2 first")), 5, 0, block("needs_input", "t_2 first")),
        (None, ("blocked", reason("")), 5, 0, block("needs_input", "blocked without a reason")),
        (
            None,
            ("blocked", reason("api_key=sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa")),
            5,
            0,
            block("needs_input", "api_key=[redacted: openai key]"),
        ),
        (None, ("blocked", reason("no")), 5, 1, Deed::Renew),
        (None, ("gave_up", gave_up.clone()), 5, 0, Deed::Renew),
        (None, ("gave_up", gave_up.clone()), 899, 0, Deed::Renew),
        (None, ("gave_up", gave_up.clone()), 900, 1, Deed::Renew),
        (None, ("gave_up", gave_up), 900, 0, given_up),
    ] {
        let mut local = local(Status::Blocked);
        (local.task.block_kind, local.task.failures) = (kind.map(str::to_owned), 2);
        local.cards = vec!["t_0000000c".to_owned(); cards];
        local.events.push(event(stop.0, ago, stop.1.clone()));
        assert_eq!(deed(Some(&held(300)), Some(&local)), want, "{kind:?} {stop:?} {ago} {cards}");
    }
    let mut triage = local(Status::Triage);
    triage.events.push(event("block_loop_detected", 5, reason("which licence?")));
    triage.task.block_kind = Some("needs_input".into());
    assert_eq!(deed(Some(&held(300)), Some(&triage)), block("needs_input", "which licence?"));
}

#[test]
fn a_lost_claim_stops_what_is_open_and_takes_nothing() {
    let mut other = held(900);
    other.task.claim_lock = Some("h2:9:ffffffff".into());
    for there in [
        Some(&other),
        None,
        Some(&detail("t_00000001", Status::Ready)),
        Some(&detail("t_00000001", Status::Done)),
    ] {
        for status in ["todo", "scheduled", "ready", "running", "review"] {
            let local = local(Status::from(status.to_owned()));
            assert!(
                matches!(deed(there, Some(&local)), Deed::Stop(why) if why.contains("t_00000001")),
                "{status}"
            );
        }
        for status in ["blocked", "triage"] {
            let mut local = local(Status::from(status.to_owned()));
            local.events.push(event("blocked", 60, json!({"reason": "which licence?"})));
            let said = deed(there, Some(&local));
            assert!(matches!(said, Deed::Archive(why) if why.contains("t_00000001")), "{status}");
            local.events.push(event("blocked", 50, json!({"reason": "lost", "cause": "lease-lost"})));
            assert_eq!(deed(there, Some(&local)), Deed::Nothing, "{status}: a person sees that first");
        }
        for status in ["done", "archived", "of a later Hermes"] {
            let local = local(Status::from(status.to_owned()));
            assert_eq!(deed(there, Some(&local)), Deed::Nothing, "{status}");
        }
    }
    let says = |there: &Detail| match deed(Some(there), Some(&local(Status::Ready))) {
        Deed::Stop(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(says(&other), "the claim of t_00000001 is lost: it is claimed by h2:9:ffffffff now");
    assert_eq!(
        says(&detail("t_00000001", Status::Done)),
        "the claim of t_00000001 is lost: it is done on the board that lent it"
    );
}

#[test]
fn a_task_that_is_somebody_elses_is_left_alone() {
    let mut foreign = local(Status::Running);
    foreign.task.idempotency_key = None;
    assert!(matches!(deed(Some(&held(900)), Some(&foreign)), Deed::GiveBack(_)));
    assert_eq!(deed(None, Some(&foreign)), Deed::Nothing);
}
