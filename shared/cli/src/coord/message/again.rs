//! A session that asked for help, or whose run has ended, gets its task again before it is told to go on: in one transaction,
//! so that nobody else is given it meanwhile.

use serde_json::json;

use super::super::spawn::lost;
use super::super::{Coord, refused};
use crate::board::speaker;
use base::error::Result;
use base::quote;
use base::time::Time;
use board::{Change, Detail, EventKind, Kin, Outcome, RunRef, Status, Step, StepAction, hermes};
use card::{self, shell_word};
use config::span;
use coord::mapping::Spawned;
use coord::{Mapping, MappingStatus};

/// Most characters of an answer that its comment repeats.
const MAX_ANSWER: usize = 1_000;

/// The claim with which a session goes on.
pub(in super::super) struct Claim<'a> {
    pub(in super::super) lock: &'a str,
    pub(in super::super) expires: Time,
    /// What the session is told.
    pub(in super::super) text: &'a str,
}

impl Coord<'_> {
    /// Claims the task of a session for it again, where it has lost it. The new run; `None` where it has its task, or there is
    /// none to be had.
    pub(super) fn again(&mut self, m: &Mapping, text: &str) -> Result<Option<i64>> {
        if m.status == MappingStatus::Active && !m.waits {
            return Ok(None);
        }
        let seen = self.hand.look(&m.task)?;
        if seen.task.status.frees_children() {
            return Ok(None);
        }
        self.may_go_on(m, &seen)?;
        let expires = self.hand.here.now.plus(span::seconds(self.hand.config.board.claim_ttl));
        let lock = self.hand.lock(None);
        let claim = Claim { lock: &lock, expires, text };
        let changes = taken_again(m, &seen, &claim, &self.hand.trail("message"));
        match self.hand.apply(&m.task, Some(&seen), changes)? {
            Outcome::Applied { run } => {
                self.close_cards(m, &seen)?;
                Ok(run)
            }
            Outcome::Moved { what } => Err(self.outrun(&m.task, &what)),
            other => Err(refused(&m.task, format!("a claim was {}", other.word()))),
        }
    }

    /// Refuses a session whose task another worker has, or that cannot be worked on now.
    pub(in super::super) fn may_go_on(&self, m: &Mapping, seen: &Detail) -> Result<()> {
        let t = &seen.task;
        let waits = seen.parents.iter().find(|p| !p.status.frees_children() && !its_card(seen, p));
        match (&t.status, waits) {
            (Status::Running, _) => Err(lost(seen)),
            (Status::Blocked, None) if m.waits => Ok(()),
            (_, Some(parent)) => Err(refused(&t.id, format!("waits for {}", parent.id))),
            _ => self.hand.may_claim(seen).map_err(|why| refused(&t.id, why)),
        }
    }

    /// Closes the cards by which a session asked, where nobody has taken them: they have their answer. One that another
    /// source waits for, or that is at work, is left to `route-blocked`.
    pub(in super::super) fn close_cards(&mut self, m: &Mapping, was: &Detail) -> Result<()> {
        let ids: Vec<String> =
            was.parents.iter().filter(|p| its_card(was, p)).map(|p| p.id.clone()).collect();
        let is_free = |card: &&Detail| {
            let t = &card.task;
            t.claim_lock.is_none()
                && !card::is_incident(t.idempotency_key.as_deref())
                && matches!(t.status, Status::Ready | Status::Scheduled | Status::Todo | Status::Blocked)
        };
        let cards = self.hand.board.look(&ids)?;
        let why = format!("answered by coord message to {}", m.session);
        let trail = hermes::Trail { because: &why, ..self.hand.trail("answered") };
        let step = |card: &Detail| {
            let mut changes = hermes::completed(card, None, Some(&why), &trail);
            changes.extend(hermes::commented(trail.by, &format!("Closed: {why}.")));
            Step { because: why.clone(), ..Step::on(card, StepAction::CloseCard, "answered".into(), changes) }
        };
        let steps: Vec<Step> = cards.iter().filter(is_free).map(step).collect();
        let patience = self.hand.config.board.busy_timeout;
        // A worker that was faster with a card goes on with it.
        self.hand.board.apply(self.hand.here.now, &steps, patience)?;
        Ok(())
    }
}

/// A task given to the session of an earlier run: freed from the cards that asked for it, claimed, and mapped to the new run.
pub(in super::super) fn taken_again(
    m: &Mapping,
    seen: &Detail,
    claim: &Claim<'_>,
    trail: &hermes::Trail<'_>,
) -> Vec<Change> {
    let t = &seen.task;
    let cards: Vec<&str> = seen.parents.iter().filter(|p| its_card(seen, p)).map(|p| p.id.as_str()).collect();
    let mut changes: Vec<Change> =
        cards.iter().flat_map(|card| hermes::unlinked(&t.id, card, trail)).collect();
    match t.status {
        Status::Blocked => changes.extend(hermes::set_free(seen, &cards, trail)),
        Status::Todo => changes.extend(hermes::promoted(seen, trail)),
        _ => {}
    }
    changes.extend(hermes::claimed(seen, claim.lock, claim.expires, None, None, trail));
    changes.push(Change::AddEvent {
        kind: EventKind::SessionSpawned,
        payload: hermes::payload(trail, Spawned::of(m).keys()),
        run: Some(RunRef::New),
    });
    let answer = quote::line(claim.text, MAX_ANSWER);
    changes.extend(hermes::commented(&speaker(None), &format!("Told its session {}: {answer}", m.session)));
    changes
}

/// What a session is told that works under another run than the one it began with.
pub(super) fn with_run(text: &str, task: &str, run: Option<i64>, db: &str) -> String {
    let Some(run) = run else { return text.to_owned() };
    let (db, word) = (shell_word(db), card::id_word(task));
    let command = |verb: &str, flags: &str| {
        card::with_flags(&format!("board --db {db} {verb}"), &word, &format!(" --run {run}{flags}"))
    };
    let (beat, complete) = (command("heartbeat", ""), command("complete", " --summary \"what changed\""));
    format!(
        "{text}\n\n(You have task {task} again, as run {run}. Give this number from now on: \
         `{beat}` every few minutes, and when it is done `{complete}`.)"
    )
}

/// The run a session must be told: another one than that of its first prompt.
pub(super) fn later_run(seen: &Detail, m: &Mapping) -> Option<i64> {
    let of_it = |e: &&board::Event| {
        e.kind == EventKind::SessionSpawned
            && e.payload.get("session") == Some(&json!(m.session))
            && e.run != m.run
    };
    m.run.filter(|_| seen.events.iter().any(|e| of_it(&e)))
}

/// Whether a parent is an open card about this very task.
pub(super) fn its_card(seen: &Detail, parent: &Kin) -> bool {
    !parent.status.frees_children()
        && (card::read_title(&parent.title).is_some_and(|(source, _)| source == seen.task.id)
            || seen.cards.contains(&parent.id))
}
