//! What an orchestrator or a person decides about a task: who does it, when it goes on, and what comes first.

use serde_json::json;

use super::packet::tree_fact;
use super::{Hand, own_business, refused, speaker};
use base::error::Result;
use base::names::is_profile;
use board::hermes;
use board::{Kin, Status};
use policy::{remedy, runtime};

/// Refuses what is not the name of a profile.
pub(super) fn must_be_a_name(profile: &str) -> Result<()> {
    if is_profile(profile) {
        return Ok(());
    }
    Err(refused(profile, "not the name of a profile").hint("a-z, 0-9, - and _, such as luna"))
}

/// Refuses a placeholder of a printed command that nobody filled in.
///
/// # Errors
/// It is one.
pub(super) fn must_be_filled_in(text: &str) -> Result<()> {
    match text.trim() {
        remedy::PROFILE => Err(refused(remedy::PROFILE, "write the name of a profile in its place")),
        remedy::YOUR_ANSWER => Err(refused(remedy::YOUR_ANSWER, "write your answer in its place")),
        _ => Ok(()),
    }
}

impl Hand<'_> {
    pub(super) fn link(&mut self, parent: &str, child: &str) -> Result<u8> {
        if parent == child {
            return Err(refused(child, "a task cannot wait for itself"));
        }
        let first = self.look(parent)?.task.clone();
        let seen = self.look(child)?;
        if seen.parents.iter().any(|p| p.id == parent) {
            return self.answer(&json!({"parent": parent, "child": child, "linked": false}), "");
        }
        let changes = hermes::linked(&seen, &Kin::from(first), &self.trail("link"));
        self.must(child, Some(&seen), changes)?;
        self.answer(&json!({"parent": parent, "child": child, "linked": true}), "")
    }

    pub(super) fn unlink(&mut self, parent: &str, child: &str) -> Result<u8> {
        let seen = self.look(child)?;
        own_business(&mut *self.board, &seen, true)?;
        let t = &seen.task;
        // What is not on the board may be waited for all the same.
        let is_linked = seen.parents.iter().any(|p| p.id == parent) || {
            let links = self.board.links(std::slice::from_ref(&t.status))?;
            links.iter().any(|l| l.parent == parent && l.child == child)
        };
        let mut to = t.status.clone();
        if is_linked {
            let trail = self.trail("unlink");
            let mut changes = hermes::unlinked(child, parent, &trail);
            let mut others = seen.parents.iter().filter(|p| p.id != parent);
            // A dispatcher promotes it; without one nobody else would.
            if self.board.is_own() && t.status == Status::Todo && others.all(|p| p.status.frees_children()) {
                changes.extend(hermes::promoted(&seen, &trail));
                to = Status::Ready;
            }
            self.must(child, Some(&seen), changes)?;
        } else {
            self.look(parent)?;
        }
        let json = json!({"parent": parent, "child": child, "unlinked": is_linked, "status": to});
        self.answer(&json, "")
    }

    /// Refuses a profile that does not exist, where that can be known: Hermes 0.19 leaves such a task in ready and says so nowhere. `force`:
    /// whether `--force` was given; `None` where the command has no such flag.
    pub(super) fn must_exist(&self, profile: &str, force: Option<bool>) -> Result<()> {
        let known = runtime::of(self.board.id(), self.board.is_own(), &self.here.host).profiles;
        if force == Some(true) || known.has(profile) != Some(false) {
            return Ok(());
        }
        let or = force.map_or("", |_| "; or --force");
        let hint = format!("one of {}{or}", known.names().join(", "));
        Err(refused(profile, "no such profile, so no worker would start for the task").hint(hint))
    }

    pub(super) fn reassign(
        &mut self,
        id: &str,
        profile: &str,
        reason: Option<&str>,
        force: bool,
    ) -> Result<u8> {
        must_be_filled_in(profile)?;
        let profile = profile.trim().to_lowercase();
        must_be_a_name(&profile)?;
        let seen = self.look(id)?;
        own_business(&mut *self.board, &seen, true)?;
        self.must_exist(&profile, Some(force))?;
        let t = &seen.task;
        if let Some(lock) = t.claim_lock.as_deref().filter(|_| t.status == Status::Running) {
            return Err(refused(id, format!("is running, claimed by {lock}"))
                .hint("wait for its end, or stop its worker and let heal requeue it"));
        }
        let mut trail = self.trail("reassign");
        let reason = reason.map(str::trim).filter(|r| !r.is_empty());
        trail.because = reason.unwrap_or(trail.because);
        // What the next one to work on it begins with.
        trail.more.extend(tree_fact(self.board.id(), &seen));
        let changes = hermes::assigned(&seen, &profile, &trail);
        self.must(id, Some(&seen), changes)?;
        let json =
            json!({"task": id, "assignee": profile, "from": seen.task.assignee, "status": seen.task.status});
        self.answer(&json, "")
    }

    pub(super) fn unblock(&mut self, id: &str, reason: Option<&str>) -> Result<u8> {
        let seen = self.look(id)?;
        own_business(&mut *self.board, &seen, true)?;
        let is_in_triage = seen.task.status == Status::Triage;
        let lifts_triage = is_in_triage && self.board.is_own();
        // Nobody starts what is claimed, and nobody but the worker that claimed it would release that.
        let is_left =
            matches!(seen.task.status, Status::Ready | Status::Todo) && seen.task.claim_lock.is_some();
        let is_stopped = matches!(seen.task.status, Status::Blocked | Status::Scheduled);
        // On a board without a dispatcher nobody else promotes what waits for no other task.
        let is_free = !is_left
            && self.board.is_own()
            && seen.task.status == Status::Todo
            && seen.parents.iter().all(|p| p.status.frees_children());
        if !lifts_triage && !is_stopped && !is_left && !is_free {
            let no = refused(id, format!("is {}, not blocked or scheduled", seen.task.status));
            let hint =
                "`hermes kanban specify` brings it out of triage: a model specifies it, which costs tokens";
            return Err(if is_in_triage { no.hint(hint) } else { no });
        }
        let mut trail = self.trail("unblock");
        let reason = reason.map(str::trim).filter(|r| !r.is_empty());
        trail.because = reason.unwrap_or(trail.because);
        let mut changes = Vec::new();
        if let Some(reason) = reason {
            // In Hermes' words, so that its readers know the comment.
            changes.extend(hermes::commented(&speaker(None), &format!("UNBLOCK: {reason}")));
        }
        changes.extend(match (lifts_triage, is_left) {
            (true, _) => hermes::out_of_triage(&seen, &trail),
            (_, true) => hermes::leak_cleared(&seen, &trail),
            _ if is_free => hermes::promoted(&seen, &trail),
            _ => hermes::unblocked(&seen, &trail),
        });
        self.must(id, Some(&seen), changes)?;
        let to = match (is_left, is_free) {
            (true, _) => seen.task.status.clone(),
            (_, true) => Status::Ready,
            _ => hermes::unblocked_to(&seen),
        };
        let waits = seen.parents.iter().find(|p| p.status != Status::Done).map_or("", |p| p.id.as_str());
        let text = if to == Status::Todo && !waits.is_empty() {
            format!("{id} waits for {waits}, then it is ready\n")
        } else {
            String::new()
        };
        self.answer(&json!({"task": id, "status": to}), &text)
    }
}
