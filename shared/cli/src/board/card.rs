//! A worker's stop: plain, or with a card that asks for help.

use std::path::Path;

use serde_json::json;

use super::args::Block;
use super::environment::Own;
use super::{Hand, TRIES, own_business, refused, same_run, worker_of};
use crate::pass_id;
use base::error::{Error, Kind, Result};
use board::hermes;
use board::{Detail, EventKind, HandOver, Outcome, Status, discover};
use card::{self, Blocker};
use coord::mapping;
use logs::provider;
use logs::{LogEnd, Reading};
use policy::Pass;
use policy::authorship::HAND;
use policy::cards::seen::{GLANCED, Seen, SourceSeen, TreeSeen};
use policy::cards::worker_card::{self, Asked, Said};
use policy::routing::facts::Routing;
use policy::runtime;
use policy::worktree_note::{TREE_LIMIT, TreeNotes};

/// What became of a worker's stop.
pub(crate) enum Stop {
    /// It was stopped in this attempt before, with this card.
    Found { source: Box<Detail>, card: String },
    /// It is stopped.
    Made { source: Box<Detail>, asked: Asked },
}

impl Hand<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Result<u8> {
        let types = Blocker::ALL.map(Blocker::as_str).join(", ");
        match (&block.r#type, &block.kind) {
            (None, None) => Err(Error::new(Kind::Usage, "board block", "needs --type or --kind")
                .hint(format!("--type is one of {types}; --kind makes a plain block without a card"))),
            (Some(_), Some(_)) => Err(Error::new(Kind::Usage, "board block", "has both --type and --kind")
                .hint("--type writes a card, --kind makes a plain block without one")),
            (None, Some(kind)) => self.block_plainly(block, kind),
            (Some(word), None) => match Blocker::parse(word) {
                Some(blocker) => self.ask_for_help(block, blocker),
                None => Err(Error::new(Kind::Usage, format!("--type {word}"), "no such type")
                    .hint(format!("one of {types}"))),
            },
        }
    }

    fn block_plainly(&mut self, block: &Block, kind: &str) -> Result<u8> {
        let id = &block.id;
        let reason = block.reason.as_deref().unwrap_or_default().trim();
        if reason.is_empty() {
            return Err(refused(id, "a block needs a reason"));
        }
        let seen = self.look(id)?;
        may_stop(&seen, block.run)?;
        own_business(&mut *self.board, &seen, false)?;
        let changes = hermes::blocked(&seen, reason, Some(kind), &self.trail("block"));
        self.must(id, Some(&seen), changes)?;
        let now = self.look(id)?.task.status.clone();
        let text = if now == Status::Blocked { String::new() } else { format!("{id} is {now} now\n") };
        self.answer(&json!({"task": id, "status": now}), &text)
    }

    fn ask_for_help(&mut self, block: &Block, blocker: Blocker) -> Result<u8> {
        let id = &block.id;
        let seen = self.look(id)?;
        let is_mine = Own::is(id).is_some();
        let said = Said {
            blocker,
            reason: given(&block.reason),
            completed: given(&block.completed),
            cannot_touch: given(&block.cannot_touch),
            needs: given(&block.needs),
            author: worker_of(&seen),
            // A worker that `coord` spawned.
            session: mapping::active(&seen).filter(|_| is_mine).map(|m| m.session),
        };
        match self.stop_for_help(id, block.run, &said)? {
            Stop::Found { source, card } => self.found_again(&source, &card),
            Stop::Made { source, asked } => self.stopped(&source, &asked),
        }
    }

    /// Stops the work on a task and asks for help; the second time in an attempt finds what the first one made.
    pub(crate) fn stop_for_help(&mut self, id: &str, run: Option<i64>, said: &Said) -> Result<Stop> {
        let patience = self.config.board.busy_timeout;
        let mut last = String::new();
        for _ in 0..TRIES {
            let source = self.look(id)?;
            if let Some(card) = asked_before(&source, run) {
                return Ok(Stop::Found { card: card.to_owned(), source: Box::new(source) });
            }
            may_stop(&source, run)?;
            own_business(&mut *self.board, &source, false)?;
            let (seen, source) = self.all_about(source)?;
            let pass = Pass {
                id: pass_id(HAND, self.here.now),
                program: HAND,
                now: self.here.now,
                clock_given: self.here.clock_given,
                only: None,
                dry: false,
            };
            let (step, asked) = worker_card::stop(&source, &seen, said, &pass, self.config);
            match self.board.apply(self.here.now, &[step], patience)?.pop() {
                Some(Outcome::Applied { .. }) => {
                    return Ok(Stop::Made { source: Box::new(source.detail), asked });
                }
                Some(Outcome::Moved { what }) => last = what,
                Some(Outcome::Refused { why }) => last = why,
                Some(Outcome::Planned) | None => {
                    return Err(Error::new(Kind::Bug, id, "a stop without an outcome"));
                }
            }
        }
        Err(refused(id, format!("changed meanwhile ({last}); nothing was done")).hint("try again"))
    }

    /// What the card is written from.
    fn all_about(&mut self, detail: Detail) -> Result<(Seen, SourceSeen)> {
        let open = self.board.glance(&GLANCED)?;
        let cards: Vec<String> = open.iter().filter(|t| t.is_card()).map(|t| t.id.clone()).collect();
        let cards = self.board.look(&cards)?;
        let (id, own) = (self.board.id().clone(), self.board.is_own());
        let names = detail.runs.iter().filter_map(|r| r.profile.clone()).chain(detail.task.assignee.clone());
        let root = id.root.as_deref().filter(|_| !own);
        let known = names.filter_map(|name| provider::of(root, &name, self.config).map(|p| (name, p)));
        let profiles = known.collect();
        let seen = Seen {
            now: self.here.now,
            runtime: Some(runtime::of(&id, own, &self.here.host)),
            glanced: open.len(),
            own_board: own,
            slug: id.slug.clone(),
            switched: discover::is_switched_from(self.board.id()),
            db: id.address(),
            clock_fault: None,
            sources: Vec::new(),
            cards,
            others: Vec::new(),
            routing: Routing::default(),
            waiting: Vec::new(),
            profiles,
            trees: TreeNotes::new(),
        };
        let mut detail = detail;
        let path = detail.place.path.clone().or_else(|| own_workspace(&detail.task.id));
        detail.place.path = path;
        let tree = match detail.place.path.as_deref() {
            None => TreeSeen { tree: None, why_not: Some("the board names no folder".into()) },
            Some(path) => match worktree::look(Path::new(path), TREE_LIMIT) {
                Ok(tree) => TreeSeen { tree: Some(tree), why_not: None },
                Err(why) => TreeSeen { tree: None, why_not: Some(why.into()) },
            },
        };
        let reading = Reading::of(LogEnd::NoEvidence, None);
        let noted = self.board.beat_note(&detail.task.id)?;
        Ok((seen, SourceSeen { detail, reading, elsewhere: None, worker: None, tree, noted, changes: None }))
    }

    /// Says what was left behind.
    fn stopped(&self, source: &Detail, asked: &Asked) -> Result<u8> {
        let id = &source.task.id;
        let freed = match source.task.current_run {
            Some(run) => format!("{id} is blocked, run {run} is closed and its claim is free.\n"),
            None => format!("{id} is blocked.\n"),
        };
        let (card, who, text) = match asked {
            Asked::Card { id: card, orchestrator, wait: None } => (
                Some(card),
                Some(orchestrator),
                format!(
                    "{freed}Card {card} is ready for {orchestrator}, who decides. Stop working on {id}.\n"
                ),
            ),
            Asked::Card { id: card, orchestrator, wait: Some(why) } => (
                Some(card),
                Some(orchestrator),
                format!(
                    "{freed}Card {card} for {orchestrator} is scheduled ({why}). Stop working on {id}.\n"
                ),
            ),
            Asked::Joined(card) => (
                Some(card),
                None,
                format!("{freed}Card {card} was open already and decides; no second one was made.\n"),
            ),
            Asked::Person(HandOver::CardBlocked) => {
                (None, None, format!("{freed}It is a card itself, so it gets none: a person must look.\n"))
            }
            Asked::Person(_) => (
                None,
                None,
                format!("{freed}Its cards of a day are used up, so it gets none: a person must look.\n"),
            ),
        };
        let parked = matches!(asked, Asked::Card { wait: Some(_), .. });
        let json = json!({
            "task": id, "status": "blocked", "card": card, "orchestrator": who,
            "card_status": card.map(|_| if parked { "scheduled" } else { "ready" }), "added": matches!(asked, Asked::Card { .. }),
        });
        self.answer(&json, &text)
    }

    /// A worker that asks twice in one attempt gets its one card.
    fn found_again(&self, source: &Detail, card: &str) -> Result<u8> {
        let id = &source.task.id;
        if !source.cards.iter().any(|c| c == card) {
            let why = format!(
                "is blocked, and its card {card} is closed; only an orchestrator or the operator unblocks the task"
            );
            return Err(refused(id, why).hint("stop working on it"));
        }
        let text = format!("{id} is blocked already, and card {card} is open; no second one was made.\n");
        let json = json!({
            "task": id, "status": "blocked", "card": card, "orchestrator": null, "card_status": null, "added": false,
        });
        self.answer(&json, &text)
    }
}

/// A blank value does not count: what is known from elsewhere stands in its place.
fn given(value: &Option<String>) -> Option<String> {
    value.as_deref().map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned)
}

/// Only work that runs or waits can be stopped, and by a worker only while it still holds the task.
fn may_stop(seen: &Detail, run: Option<i64>) -> Result<()> {
    let t = &seen.task;
    if !matches!(t.status, Status::Running | Status::Ready) {
        let why = format!("is {}; only running or ready work can be blocked", t.status);
        return Err(refused(&t.id, why));
    }
    same_run(seen, run)
}

/// The card with which this attempt of the task was stopped before, where that still stands.
fn asked_before(seen: &Detail, run: Option<i64>) -> Option<&str> {
    if seen.task.status != Status::Blocked {
        return None;
    }
    let newest =
        seen.events.iter().rev().find(|e| matches!(e.kind, EventKind::Blocked | EventKind::Unblocked))?;
    let stopped = newest.kind == EventKind::Blocked && newest.by() == Some(HAND);
    let mine = super::told_run(&seen.task.id, run).is_none_or(|run| newest.run == Some(run));
    newest.trail()?.get("card")?.as_str().filter(|_| stopped && mine)
}

/// Where a Hermes worker was told to work, for its own task only.
pub(super) fn own_workspace(task: &str) -> Option<String> {
    Own::is(task)?.workspace
}
