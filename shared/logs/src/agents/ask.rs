//! What the agents are asked for about an attempt.

use std::path::{Path, PathBuf};

use super::Homes;
use crate::session::Prices;
use base::time::Time;

/// Whose usage is asked for, where it may be told of, and in which time.
#[derive(Debug, Clone, Copy)]
pub struct UsageAsk<'a> {
    /// The task.
    pub task: &'a str,
    /// The profile that works on it.
    pub profile: Option<&'a str>,
    /// The Hermes root; `None` for a board of our own.
    pub root: Option<&'a Path>,
    /// The log the board keeps of the task.
    pub worker_log: Option<&'a Path>,
    /// The file in which the command that started its worker kept what that printed: read in the place of the board's own log.
    pub output: Option<&'a Path>,
    /// The file its claim names: a transcript of Claude Code, a rollout of Codex, what either prints, or a store of opencode
    /// (`/path/opencode.db`, with `#ses_...` behind it where one session of it is meant). Then nothing else is looked at.
    pub named: Option<&'a Path>,
    /// The folder the task is worked on in.
    pub workspace: Option<&'a Path>,
    /// The folders of the agents. Of one that has none no log is looked for by the workspace.
    pub homes: &'a Homes,
    /// Files below those folders which the worker holds open, where it lives.
    pub held: &'a [PathBuf],
    /// The start of the first attempt at the task.
    pub began: Time,
    /// The start of the attempt.
    pub from: Time,
    /// Its end; `None` while it runs.
    pub to: Option<Time>,
    /// When the next attempt began that may write to the same log: what is written from then on is not this one's.
    pub next: Option<Time>,
    /// The time of the pass.
    pub now: Time,
    /// What tokens cost.
    pub prices: &'a Prices,
}
