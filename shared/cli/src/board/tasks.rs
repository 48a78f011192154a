//! Adding tasks and looking at them.

use serde_json::{Value, json};

use super::args::Add;
use super::decide::must_be_a_name;
use super::{Hand, refused, show, speaker, work};
use crate::random_hex;
use base::error::{Error, Kind, Result};
use base::money::Money;
use board::find;
use board::hermes;
use board::{NewTask, Outcome, Status, Task};
use card::packet;
use card::scope::{self, Scope};

impl Hand<'_> {
    pub(super) fn add(&mut self, add: &Add) -> Result<u8> {
        let title = add.title.trim();
        if title.is_empty() {
            return Err(refused("title", "blank; give one line"));
        }
        if title.contains('\n') {
            return Err(refused("title", "has more than one line").hint("put the rest into --body"));
        }
        let assignee = add.assignee.as_deref().map(|a| a.trim().to_lowercase()).filter(|a| !a.is_empty());
        if let Some(profile) = &assignee {
            must_be_a_name(profile)?;
            self.must_exist(profile, Some(add.force))?;
        }
        let body = self.body(add)?;
        let mut parents = Vec::new();
        for id in &add.parent {
            parents.push(self.look(id)?.task.clone());
        }
        if let Some(there) = add.key.as_deref().map(|k| self.board.with_key(k)).transpose()?.flatten() {
            return self.there(&there);
        }
        let workspace = add.workspace.as_deref().map(work::folder).transpose()?;
        let waits = parents.iter().any(|p| p.status != Status::Done);
        let status = if waits { Status::Todo } else { Status::Ready };
        let task = NewTask {
            title: title.into(),
            body: Some(body).filter(|b| !b.is_empty()),
            assignee,
            priority: add.priority,
            created_by: Some(speaker(None)),
            idempotency_key: add.key.clone(),
            max_retries: add.max_retries,
            workspace_kind: workspace.as_ref().map(|_| work::DIR.to_owned()),
            workspace_path: workspace,
            ..NewTask::default()
        };
        let parents: Vec<String> = parents.into_iter().map(|p| p.id).collect();
        let changes = hermes::created(status.clone(), task, &parents, &self.trail("add"));
        let mut outcome = Outcome::Planned;
        for _ in 0..4 {
            let id = format!("t_{}", random_hex());
            match self.apply(&id, None, changes.clone())? {
                Outcome::Applied { .. } => {
                    let json = json!({"task": id, "added": true, "status": status});
                    return self.answer(&json, &format!("{id}\n"));
                }
                // An id that is taken by chance: another one. A key that was taken meanwhile: that task.
                other => {
                    if let Some(there) =
                        add.key.as_deref().map(|k| self.board.with_key(k)).transpose()?.flatten()
                    {
                        return self.there(&there);
                    }
                    outcome = other;
                }
            }
        }
        match outcome {
            Outcome::Refused { why } => Err(refused("board add", why)),
            _ => Err(Error::new(Kind::Bug, "board add", "found no free task id")),
        }
    }

    /// The task that has the key already.
    fn there(&mut self, id: &str) -> Result<u8> {
        let status = self.look(id)?.task.status.clone();
        self.answer(&json!({"task": id, "added": false, "status": status}), &format!("{id}\n"))
    }

    fn body(&self, add: &Add) -> Result<String> {
        let text = match &add.body_file {
            Some(file) if file.as_os_str() == "-" => {
                std::io::read_to_string(std::io::stdin()).map_err(|e| Error::io("standard input", &e))?
            }
            Some(file) => std::fs::read_to_string(file).map_err(|e| Error::io(file.display(), &e))?,
            None => add.body.clone().unwrap_or_default(),
        };
        let scope = Scope {
            concern: add.concern.clone(),
            in_scope: add.in_scope.clone(),
            out_of_scope: add.out_of_scope.clone(),
            max_files: add.max_files,
            iterations: add.iterations,
            time_budget: add.time_budget,
            cost_budget: add.cost_budget.map(Money::exact),
        };
        Ok(if scope == Scope::default() { text } else { scope::put(&text, &scope) })
    }

    pub(super) fn list(&mut self, status: &[String], assignee: Option<&str>) -> Result<u8> {
        let open = Status::OPEN;
        let words = || open.iter().map(Status::as_str).collect::<Vec<_>>().join(", ");
        let known = |s: &String| -> Result<Status> {
            match Status::from(s.to_lowercase()) {
                Status::Other(s) => Err(Error::new(Kind::Usage, format!("--status {s}"), "no such state")
                    .hint(format!("one of {}, done, archived", words()))),
                known => Ok(known),
            }
        };
        let wanted: Vec<Status> = if status.is_empty() {
            open.to_vec()
        } else {
            status.iter().map(known).collect::<Result<_>>()?
        };
        let tasks = self.board.glance(&wanted)?;
        let tasks = tasks.filtered(|t| assignee.is_none_or(|profile| work::is_of(t, profile)));
        let rows: Vec<Value> = tasks.iter().map(|t| self.row(t)).collect();
        if tasks.is_empty() {
            return self.nothing(&json!(rows), "no tasks");
        }
        let text = show::table(&tasks, self.here.now);
        self.answer(&json!(rows), &text)
    }

    fn row(&self, t: &Task) -> Value {
        json!({
            "task": t.id, "title": t.title, "status": t.status, "assignee": t.assignee, "priority": t.priority,
            "created_at": t.created_at, "claim_lock": t.claim_lock, "claim_expires": t.claim_expires,
            "worker_pid": t.worker_pid, "run": t.current_run, "failures": t.failures,
            "last_failure_error": t.last_failure_error,
        })
    }

    pub(super) fn show(&mut self, typed: &str) -> Result<u8> {
        let boards = std::slice::from_ref(self.board.id());
        let found = find::find(typed, boards, self.config.board.busy_timeout);
        let (_, id) =
            found.map_err(|e| if e.kind == Kind::Usage { Error { kind: Kind::Partial, ..e } } else { e })?;
        let d = self.look(&id)?;
        let mut all = self.row(&d.task);
        all["body"] = json!(d.body);
        all["runs"] = json!(d.runs);
        all["events"] = json!(d.events);
        all["comments"] = json!(d.comments);
        all["parents"] = json!(d.parents);
        all["packet"] = json!(packet::latest(&d));
        all["scope"] = json!(Scope::parse(&d.body));
        let text = show::story(&d, self.here.now);
        self.answer(&all, &text)
    }
}
