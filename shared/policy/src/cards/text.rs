//! What a card says, in words: the template's fields, the evidence, and what to do about it.

use crate::Profiles;
use crate::cards::seen::SourceSeen;
use crate::cards::split_draft;
use crate::cards::writer::{CardWriter, Trouble};
use crate::remedy;
use crate::routing::moving::is_ours_to_unblock;
use base::cause::Cause;
use board::{Detail, Rule, Status};
use card::packet;
use card::packet::record::Field;
use card::scope::Scope;
use card::{Annex, Attempt, Blocker, Commands, Distress, State, hand, id_word, shell_word};
use coord::mapping;
use host::Life;
use logs::LogEnd;

impl CardWriter<'_> {
    /// The card of a task in trouble.
    pub fn distress(&self, s: &SourceSeen, t: &Trouble) -> Distress {
        let d = &s.detail;
        let run = d.newest_run();
        let tree = s.tree.tree.as_ref();
        let scope = Scope::parse(&d.body);
        Distress {
            source: d.task.id.clone(),
            worker: run.and_then(|r| r.profile.clone()).or_else(|| d.task.assignee.clone()),
            branch: tree.and_then(|t| t.branch.clone()).or_else(|| d.place.branch.clone()),
            workspace: d.place.path.clone(),
            blocker: t.blocker,
            completed: completed(s),
            cannot_touch: scope.as_ref().and_then(out_of_bounds),
            needs: Some(self.needs(s, t)),
            state: match tree {
                Some(t) if t.dirty_count + t.untracked_count > 0 => State::Uncommitted,
                Some(t) => match own_stash(t) {
                    Some(name) => State::Stashed(name),
                    None if t.commit.is_some() => State::Committed,
                    None => State::Unknown,
                },
                None => State::Unknown,
            },
        }
    }

    /// What the orchestrator should do, in one sentence.
    fn needs(&self, s: &SourceSeen, t: &Trouble) -> String {
        let id = &s.detail.task.id;
        let until = t.evidence.as_ref().and_then(|e| e.resets);
        let wait = until.map_or(String::new(), |u| format!(", or leave it until {u}"));
        let at =
            self.host(s, t).or_else(|| self.provider(s)).map_or(String::new(), |h| format!(" (not {h})"));
        match t.blocker {
            // The last step of the fallback order.
            _ if t.spent => {
                format!("split {id} into narrower tasks, or leave it to a person; moving it did not help")
            }
            Blocker::RateLimited => {
                format!("reassign {id} to a profile on another provider{at}{wait}; then unblock it")
            }
            Blocker::CredentialFailure => {
                format!(
                    "reassign {id} to a profile whose key works{at}, or have the key mended; then unblock it"
                )
            }
            Blocker::IterationBudget => {
                format!("split {id} into narrower tasks; it does not fit into one attempt")
            }
            Blocker::Dependency if t.asking.is_some() => format!("answer the session of {id}, which waits"),
            Blocker::Dependency => format!("say what {id} waits for, or create it; then unblock it"),
            Blocker::ScopeBoundary => format!("decide who does what {id} must not touch; then unblock it"),
            Blocker::EnvBlocker => match t.cause {
                Some(Cause::ModelMissing) => {
                    format!(
                        "reassign {id} to a profile whose model exists{at}, or mend the model's name; then unblock it"
                    )
                }
                Some(Cause::ProtocolViolation | Cause::MalformedCall) => format!(
                    "reassign {id} to a profile whose model closes its task and calls tools properly, or make the task \
                     clearer; then unblock it"
                ),
                Some(Cause::ConnectionRefused | Cause::Misconfigured) => {
                    format!(
                        "mend the endpoint or configuration{at}, or reassign {id} elsewhere; then unblock it"
                    )
                }
                _ => format!("find out what is missing, mend it or reassign {id}; then unblock it"),
            },
        }
    }

    pub(crate) fn annex(&self, s: &SourceSeen, t: &Trouble, more: &[String]) -> Annex {
        let d = &s.detail;
        let mut evidence = t.quotes.clone();
        if let Some(e) = t.evidence.as_ref().filter(|e| !e.words.is_empty()) {
            evidence.retain(|q| *q != e.words);
            evidence.push(e.words.clone());
        }
        if evidence.is_empty() {
            let said =
                d.newest_run().and_then(|r| r.error.clone()).or_else(|| d.task.last_failure_error.clone());
            evidence.extend(said);
        }
        let many = !more.is_empty();
        let from = s.reading.file.as_deref().and_then(|file| match (&t.evidence, &s.reading.end) {
            (Some(e), _) => Some(format!("{file}, byte {}", e.offset)),
            (None, LogEnd::NoEvidence) if !s.reading.last_words.is_empty() => {
                Some(format!("{file}, its last lines"))
            }
            _ => None,
        });
        let quoted = match t.case {
            Rule::BlockLoop => {
                std::iter::once(d.task.title.clone()).chain(d.body.lines().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        Annex {
            cause: t.what.clone(),
            from,
            evidence,
            // A worker is shown 8 KB of a card; what is one source's own gives way to the list of all.
            attempts: if many { Vec::new() } else { d.runs.iter().map(|r| self.attempt(r)).collect() },
            last_words: if many { Vec::new() } else { s.reading.last_words.clone() },
            packet: if many { Vec::new() } else { packet_lines(&s.detail) },
            tree: if many { Vec::new() } else { tree_lines(s) },
            draft: if many { Vec::new() } else { t.draft.clone() },
            quoted,
            sources: more.to_vec(),
            commands: self.commands(s, t, many),
        }
    }

    /// Narrower tasks in the place of this one, as lines of the card; empty where nothing shows how to divide it.
    pub fn draft(&self, s: &SourceSeen) -> Vec<String> {
        let d = &s.detail;
        let scope = Scope::parse(&d.body);
        let stated = scope.as_ref().and_then(|s| s.iterations).filter(|n| *n > 0);
        let drafted = split_draft::draft(&split_draft::Case {
            detail: d,
            scope: scope.as_ref(),
            changes: s.changes.as_ref(),
            iterations: u64::from(stated.unwrap_or(self.config.budget.iterations)),
            hand: &split_draft::hand(self.seen.slug.as_deref(), &self.seen.db),
        });
        drafted.map(|d| d.lines()).unwrap_or_default()
    }

    fn attempt(&self, r: &board::Run) -> Attempt {
        let provider = r.profile.as_deref().and_then(|p| self.seen.profiles.get(p)?.pinned(&r.pin).provider);
        Attempt {
            run: r.id,
            profile: r.profile.clone(),
            provider,
            outcome: r.outcome.clone().or_else(|| Some(r.status.clone())),
            seconds: r.ended_at.map(|end| end.since(r.started_at)),
        }
    }

    fn commands(&self, s: &SourceSeen, t: &Trouble, many: bool) -> Commands {
        let id = if many { "SOURCE".to_owned() } else { id_word(&s.detail.task.id) };
        let hand = hand(self.seen.own_board, self.seen.slug.as_deref(), self.seen.switched, &self.seen.db);
        let orchestrators = [self.orchestrator().name, "default".to_owned()];
        let worker =
            s.detail.newest_run().and_then(|r| r.profile.as_deref()).or(s.detail.task.assignee.as_deref());
        let same_wall = |p: &String| t.blocker.lies_with_provider() && self.shares_provider(s, t, p);
        // Without folders of profiles the configuration tells who works.
        let folders = Profiles::of(self.seen.runtime.as_ref()).names();
        let known = match folders {
            [] if self.seen.own_board => self.config.profiles.keys().cloned().collect(),
            names => names.to_vec(),
        };
        let would_help = known
            .iter()
            .filter(|p| !orchestrators.contains(p) && Some(p.as_str()) != worker && !same_wall(p));
        let (held, profiles): (Vec<String>, Vec<String>) =
            would_help.take(40).cloned().partition(|p| self.held.contains(p));
        let mut more = Vec::new();
        let is_asking = || t.asking.is_some() || mapping::open(&s.detail).is_some_and(|m| m.waits);
        if !many && is_asking() {
            let (board, answer) = (shell_word(&self.seen.db), remedy::YOUR_ANSWER);
            more.push((
                "Its session waits for the answer, and unblocking the source gives it up. This card also authorises you to run".into(),
                card::with_flags(&format!("coord --db {board} message"), &format!("{id} \"{answer}\""), ""),
            ));
        }
        if t.case == Rule::Repeated {
            let pid = s.worker.as_ref().filter(|w| w.life == Life::Alive).and_then(|w| w.worker_pid);
            if let Some(pid) = pid {
                // A card is read hours later, when the process id may belong to a stranger, or another attempt may run.
                let check = format!("Check that it still does (`watchbill why {id}`), then stop it with");
                // Hermes' own command takes the worker that the task has then.
                let stop =
                    if self.seen.own_board { format!("kill {pid}") } else { format!("{hand} reclaim {id}") };
                more.push((format!("Its worker ran when this was written. {check}"), stop));
            }
        }
        if let Some(mapping) = mapping::active(&s.detail).filter(|_| t.case == Rule::Session) {
            let board = shell_word(&self.seen.db);
            more.push((
                "Its session still has the task; a person stops it with".into(),
                format!("coord --db {board} abort {}", mapping.session),
            ));
        }
        // On a board of `board init`, `unblock` is enough.
        if t.case == Rule::BlockLoop && !self.seen.own_board {
            more.push((
                format!(
                    "It is in triage, where nothing unblocks it; it comes back once {}",
                    remedy::SPECIFYING
                ),
                remedy::out_of_triage(&hand, &id, false),
            ));
        }
        Commands {
            reassign: card::with_flags(
                &format!("{hand} reassign"),
                &format!("{id} PROFILE"),
                &format!(" --reason \"{}\"", t.blocker),
            ),
            unblock: format!("{hand} unblock {id}"),
            complete: self.seen.own_board.then(|| format!("{hand} complete CARD")),
            only_human: !many && is_a_persons(&s.detail, &t.case),
            none_left: profiles.is_empty() && !folders.is_empty(),
            profiles,
            held,
            more,
        }
    }
}

/// Whether no decision on its card but `human` would be carried out for a stopped task.
fn is_a_persons(d: &Detail, case: &Rule) -> bool {
    match d.task.status {
        Status::Triage => true,
        Status::Blocked => *case != Rule::WorkerBlock && !is_ours_to_unblock(d),
        _ => false,
    }
}

/// What was done, as its worker told it: what the newest attempt handed on, else what its worker recorded in a packet,
/// said in its newest comment or with its newest heartbeat; else what git knows.
fn completed(s: &SourceSeen) -> Option<String> {
    let d = &s.detail;
    let handed = d.runs.iter().find_map(|r| r.summary.clone().filter(|s| !s.trim().is_empty()));
    // A goal-mode block writes its reason where other attempts sum up their work.
    let handed = handed.filter(|s| !s.starts_with("Goal-mode worker exhausted"));
    let recorded = || {
        let record = packet::latest(d)?;
        let said = record.said.get(Field::Verified).or(record.said.get(Field::Step))?;
        Some(said.to_owned())
    };
    let worker = d.newest_run().and_then(|r| r.profile.as_deref());
    let said = || d.comments.iter().rev().find(|c| Some(c.author.as_str()) == worker).map(|c| c.body.clone());
    handed.or_else(recorded).or_else(said).or_else(|| s.noted.clone()).or_else(|| commits(s))
}

/// What was committed since the task's first attempt, where that is known.
fn commits(s: &SourceSeen) -> Option<String> {
    let (tree, began) = (s.tree.tree.as_ref()?, s.detail.runs.iter().map(|r| r.started_at).min()?);
    let subject = tree.subject.as_deref().filter(|_| tree.committed.is_some_and(|at| at >= began))?;
    Some(format!("committed: {subject}"))
}

/// What the worker recorded about where it stands, one value a line.
fn packet_lines(d: &Detail) -> Vec<String> {
    packet::latest(d)
        .map(|record| record.to_string().lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

fn out_of_bounds(scope: &Scope) -> Option<String> {
    if !scope.out_of_scope.is_empty() {
        return Some(scope.out_of_scope.join(", "));
    }
    (!scope.in_scope.is_empty()).then(|| format!("anything outside {}", scope.in_scope.join(", ")))
}

/// A stash made on the branch the tree is on; another branch's is nobody's here.
fn own_stash(tree: &worktree::Tree) -> Option<String> {
    let branch = tree.branch.as_deref()?;
    let on = [format!("WIP on {branch}:"), format!("On {branch}:")];
    tree.stashes.iter().find(|s| on.iter().any(|o| s.contains(o.as_str()))).cloned()
}

fn tree_lines(s: &SourceSeen) -> Vec<String> {
    let Some(tree) = &s.tree.tree else {
        let why = s.tree.why_not.as_deref().unwrap_or("not looked at");
        return vec![format!("unknown: {why}")];
    };
    let mut lines = vec![
        format!("Folder: {}", tree.root.display()),
        format!("Branch: {}", tree.branch.as_deref().unwrap_or("detached")),
        format!(
            "Commit: {} {}",
            tree.commit.as_deref().map_or("none", |c| c.get(..12).unwrap_or(c)),
            tree.subject.as_deref().unwrap_or_default()
        ),
        format!("Uncommitted: {} changed, {} untracked", tree.dirty_count, tree.untracked_count),
    ];
    if !tree.dirty.is_empty() {
        lines.push(format!("Files: {}", tree.dirty.iter().take(8).cloned().collect::<Vec<_>>().join(", ")));
    }
    if let Some(stash) = tree.stashes.first() {
        lines.push(format!("Stashes: {}, newest {stash}", tree.stash_count));
    }
    lines
}
