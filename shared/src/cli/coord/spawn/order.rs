//! What a spawn is about to do, with everything that can be known before anything is changed.

use std::path::PathBuf;

use super::super::worktree::{Plan, Repo};
use super::super::{Coord, refused, session_named, silent};
use super::{Mapping, Server, Spawn};
use crate::board::{Detail, Status};
use crate::cli::random_hex;
use crate::error::{Error, Kind, Result};
use crate::session::{Sense as _, SessionId, mapping};

/// How long another spawn of the same task may take, in seconds, before it counts as dead.
const UNDER_WAY: i64 = 60;

/// Where a spawn begins.
pub(super) enum Begin {
    /// There is nothing to do.
    Found(Box<Mapping>),
    /// There is.
    Go(Box<Order>),
}

/// What is to be done.
pub(super) struct Order {
    pub(super) task: String,
    /// The task as it was seen; `None` where it is to be made.
    pub(super) seen: Option<Detail>,
    /// An earlier spawn claimed it and died.
    pub(super) resumes: bool,
    pub(super) title: String,
    /// The text of a new task.
    pub(super) prompt: String,
    /// What the session is told, where that was given or can be known before the claim: what is left of an attempt is told
    /// of the newest one, which then is this one.
    pub(super) told: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) parent: Option<SessionId>,
    pub(super) repo: Repo,
    pub(super) place: PathBuf,
    pub(super) branch: String,
    pub(super) plan: Plan,
}

impl Coord<'_> {
    pub(super) fn order(&mut self, args: &Spawn, server: &Server) -> Result<Begin> {
        let parent = args.parent.as_deref().map(session_named).transpose()?;
        let prompt = args.prompt.as_deref().unwrap_or_default().trim().to_owned();
        let (seen, resumes) = match &args.task {
            None => (None, false),
            Some(id) => {
                let seen = self.hand.look(id)?;
                if let Some(mapping) = mapping::active(&seen) {
                    return Ok(Begin::Found(Box::new(mapping)));
                }
                let resumes = self.is_unfinished(&seen)?;
                if !resumes {
                    self.may_take(&seen)?;
                }
                (Some(seen), resumes)
            }
        };
        let told = match &seen {
            _ if !prompt.is_empty() => Some(prompt.clone()),
            Some(seen) if !resumes => Some(self.hand.prompt(&seen.task.id)?),
            _ => None,
        };
        let own = |seen: &Detail| seen.task.title.clone();
        let title = args.title.clone().or_else(|| seen.as_ref().map(own)).map(|t| t.trim().to_owned());
        let title = title.filter(|t| !t.is_empty() && !t.contains('\n')).ok_or_else(|| {
            Error::new(Kind::Usage, "--title", "a new task needs one line that says what is to be done")
                .hint("give --title, or --task for one that is there")
        })?;
        let task = args.task.clone().unwrap_or_else(|| format!("t_{}", random_hex()));
        let here = match &args.repo {
            Some(dir) => dir.clone(),
            None => std::env::current_dir().map_err(|e| Error::io("this folder", &e))?,
        };
        let repo = Repo::find(&here)?;
        let place = repo.place(args.name.as_deref().unwrap_or(&task))?;
        let branch = args.branch.clone().unwrap_or_else(|| format!("wt/{task}"));
        let plan = repo.plan(&place, &branch)?;
        server.health().map_err(|why| {
            refused(server.address().as_str(), format!("{why}; nothing was done"))
                .hint("start it with opencode serve, or name another one with --server")
        })?;
        if let Some(parent) = &parent {
            server.session(parent).map_err(|e| silent(server, parent, &e))?;
        }
        let agent = args.agent.clone();
        Ok(Begin::Go(Box::new(Order {
            task,
            seen,
            resumes,
            title,
            prompt,
            told,
            agent,
            parent,
            repo,
            place,
            branch,
            plan,
        })))
    }

    /// Whether a spawn claimed this task and died before it said which session works on it.
    fn is_unfinished(&self, seen: &Detail) -> Result<bool> {
        let Some(run) = seen.current_run().filter(|_| seen.task.status == Status::Running) else {
            return Ok(false);
        };
        let ours = |e: &&crate::board::Event| e.by() == Some(super::super::COORD) && e.run == Some(run.id);
        let Some(claim) = seen.newest_claim().filter(ours) else { return Ok(false) };
        let wait = UNDER_WAY - self.hand.here.now.since(claim.at);
        if wait > 0 {
            return Err(Error::new(Kind::Busy, &seen.task.id, "another spawn of it is under way")
                .hint(format!("should that one have died, this works again in {wait}s")));
        }
        Ok(true)
    }

    fn may_take(&self, seen: &Detail) -> Result<()> {
        self.hand.may_claim(seen).map_err(|why| refused(&seen.task.id, why))
    }
}
