//! What `route-blocked` sees: plain data, so that a pass can be shown, saved and decided again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use base::cause::Cause;
use base::time::Time;
use board::{Detail, Run, Status, Task};
use logs::provider::Id;
use logs::provider::ledger::{News, Sighting};
use policy::routing::facts::Routing;
use policy::runtime::Runtime;
use policy::worktree_note::TreeNotes;

/// Everything one pass of `route-blocked` rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The one reading of the clock.
    pub now: Time,
    /// The board's runtime.
    pub runtime: Option<Runtime>,
    /// How many open rows were glanced at.
    pub glanced: usize,
    /// The board was made by `board init`.
    pub own_board: bool,
    /// Several hosts share it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Its slug, where it is one of a Hermes root's named boards.
    pub slug: Option<String>,
    /// Commands that name no board take another one: see [`board::discover::is_switched_from`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switched: bool,
    /// Its file.
    pub db: String,
    /// Why nothing may be decided by time, if so.
    pub clock_fault: Option<String>,
    /// Who runs where, and how providers stand.
    pub routing: Routing,
    /// Open distress cards.
    pub cards: Vec<CardSeen>,
    /// Finished distress cards whose decision nobody carried out yet.
    pub answered: Vec<Detail>,
    /// Tasks that have the key of a part that one of those decisions would make, by that key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// Tasks those cards are about, tasks that wait, and ready work of providers that are held.
    pub tasks: Vec<Detail>,
    /// Ready tasks that the runtime's own guard holds back, by id.
    pub guarded: BTreeMap<String, Guarded>,
    /// Cards that nobody has taken for long because other work has the places of a dispatcher that works.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub in_turn: BTreeSet<String>,
    /// Since when a card could be taken, as far as passes saw: this machine is on and awake, and a dispatcher runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takers_since: Option<Time>,
    /// Workers of ended attempts that live, by their task: of the tasks that this pass would make available to the next worker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outliving: BTreeMap<String, Outliving>,
    /// Working trees of tasks that this pass reassigns, by task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trees: TreeNotes,
}

/// A worker that lives, though its attempt has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outliving {
    /// Its pid.
    pub pid: i64,
    /// The bare name of its program.
    pub command: String,
    /// When its attempt ended, or the time since which the clock runs steadily and the machine is awake, if that is later.
    pub since: Time,
}

/// An open card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardSeen {
    /// Its whole story.
    pub detail: Detail,
    /// The other host on which its orchestrator's last attempt ran, as long as that attends: it alone knows how that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Why its orchestrator's last attempt ended, where its log says so.
    pub cause: Option<Cause>,
    /// Host and port of the endpoint that log names.
    pub host: Option<String>,
    /// When the provider answers again, as that log says.
    pub resets: Option<Time>,
    /// When it refused, where that is stated with its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Time>,
    /// The board says so already: what was seen once must not look as if it was seen again.
    #[serde(default)]
    pub is_known: bool,
}

impl CardSeen {
    /// Whether the board says already how its orchestrator's last attempt ended: `said` are the attempts it says that of, each
    /// by its task and its begin.
    pub(super) fn is_known_of(&self, said: &BTreeSet<(&str, Time)>) -> bool {
        let began = self.detail.newest_run().map(|r| r.started_at);
        began.is_some_and(|began| said.contains(&(self.detail.task.id.as_str(), began)))
    }

    /// What the end of its orchestrator's attempt shows of the provider, where the board does not say so yet.
    pub(super) fn sighting(&self, known: &Routing, now: Time) -> Option<Sighting> {
        let cause = self.cause.filter(|c| c.lies_with_provider())?;
        let (run, task) = (self.detail.newest_run()?, &self.detail.task.id);
        if self.is_known {
            return None;
        }
        let profile = run.profile.clone().or_else(|| self.detail.task.assignee.clone())?;
        let id = known.profiles.get(&profile).map(|p| p.pinned(&run.pin).id()).unwrap_or_default();
        Some(Sighting {
            id: Id { host: self.host.clone().or(id.host), ..id },
            profile: Some(profile),
            task: task.clone(),
            // Not now: what nobody writes down must not look newer with every pass.
            at: self.refused_at(run).unwrap_or(now),
            began: run.started_at,
            news: News::Bad { cause, resets: self.resets },
        })
    }

    /// When the provider refused the newest attempt, which is `run`. What is written down of it must say the same as what this pass
    /// rests on.
    pub(super) fn refused_at(&self, run: &Run) -> Option<Time> {
        self.refused.or(run.ended_at)
    }
}

/// A guard that holds a ready task back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarded {
    /// Since when, without a break.
    pub since: Time,
    /// Hermes' word for why.
    pub reason: String,
}

/// Whether a row may wait for something that routing ends, from the row alone.
pub(super) fn may_wait(t: &Task) -> bool {
    match t.status {
        Status::Scheduled | Status::Blocked => true,
        // Behind a card only where it was tried before, or stopped.
        Status::Todo => t.started_at.is_some() || t.block_kind.is_some(),
        // Sent there by a loop of blocks: its card may have been answered long ago, while no pass ran.
        Status::Triage => t.block_kind.is_some(),
        _ => false,
    }
}
