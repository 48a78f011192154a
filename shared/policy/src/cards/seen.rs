//! What `synthesize-distress` sees: plain data, so that a pass can be shown, saved and decided again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::routing::facts::Routing;
use crate::runtime::Runtime;
use crate::worktree_note::TreeNotes;
use base::time::Time;
use board::{Detail, Status};
use host::Look;
use logs::Reading;
use logs::provider::Profile;
use worktree::Tree;
use worktree::changes::Changes;

/// Everything one pass of `synthesize-distress` rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The one reading of the clock.
    pub now: Time,
    /// The board's runtime; `None` where nothing needed it.
    pub runtime: Option<Runtime>,
    /// How many open rows were glanced at.
    pub glanced: usize,
    /// The board was made by `board init`.
    pub own_board: bool,
    /// Its slug, where it is one of a Hermes root's named boards.
    pub slug: Option<String>,
    /// Commands that name no board take another one: see [`board::discover::is_switched_from`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switched: bool,
    /// Its file.
    pub db: String,
    /// Why nothing may be decided by time, if so.
    pub clock_fault: Option<String>,
    /// Tasks that may be stuck, in dispatch order.
    pub sources: Vec<SourceSeen>,
    /// Open distress cards.
    pub cards: Vec<Detail>,
    /// Sources of those cards that are not among the stuck ones.
    pub others: Vec<Detail>,
    /// Who runs where, and how providers stand.
    #[serde(default)]
    pub routing: Routing,
    /// Ready work of profiles whose provider is held.
    #[serde(default)]
    pub waiting: Vec<Detail>,
    /// Profiles that worked on stuck tasks, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Working trees of tasks that this pass gives to another profile, by task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trees: TreeNotes,
}

/// One task that may be stuck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceSeen {
    /// Its whole story.
    pub detail: Detail,
    /// What the log of its newest attempt says.
    pub reading: Reading,
    /// The other host on which that attempt ran, as long as that host attends the board: it reads the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// What became of its worker, where it runs.
    pub worker: Option<Look>,
    /// Its working tree.
    pub tree: TreeSeen,
    /// The newest note of its worker's heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<String>,
    /// Which files it changed; only where a card may need a draft of narrower tasks.
    #[serde(default)]
    pub changes: Option<Changes>,
}

/// What is known of a working tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeSeen {
    /// What git says.
    pub tree: Option<Tree>,
    /// Why it is not known.
    pub why_not: Option<String>,
}

/// States that are glanced at.
pub const GLANCED: [Status; 6] =
    [Status::Running, Status::Ready, Status::Blocked, Status::Todo, Status::Scheduled, Status::Triage];
