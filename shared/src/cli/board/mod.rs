//! The command line of `board`: one small transaction a call, guarded by what was seen.

mod args;
mod show;

use std::time::Duration;

use serde_json::{Map, Value, json};

pub(super) use args::Command;
use args::{Add, Claim};

use super::{BoardArgs, Common, Here, env, print, random_hex};
use crate::board::hermes::{self, Trail};
use crate::board::sqlite::{Mode, SqliteBoard};
use crate::board::{Board, BoardId, Detail, Expect, Kin, NewTask, Outcome, Status, Step, Task};
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::scope::{self, Scope};

/// One call: the board, the clock, and how to answer.
struct Hand<'a> {
    board: SqliteBoard,
    here: Here,
    config: &'a Config,
    common: &'a Common,
    pass: String,
}

pub(super) fn run(args: &BoardArgs) -> Result<u8> {
    let common = &args.common;
    let config = common.load()?.config;
    if let Command::Init { path } = &args.command {
        let path = path.as_ref().or_else(|| common.db.first()).ok_or_else(|| {
            Error::new(Kind::Usage, "board init", "no file named").hint("board init PATH, or --db PATH")
        })?;
        SqliteBoard::create(path, config.board.busy_timeout)?;
        let text =
            format!("made {}; use it with --db, or set board.db in the configuration\n", path.display());
        return print(&if common.json { format!("{}\n", json!({"made": path})) } else { text });
    }
    let id = the_board(common, &config)?;
    let reads = matches!(args.command, Command::List { .. } | Command::Show { .. });
    if common.now.is_some() && !reads && common.db.is_empty() {
        return Err(Error::new(Kind::Usage, "--now", "changes a board only with an explicit --db"));
    }
    let here = Here::look(common, &config)?;
    if !reads {
        crate::pass::refuse_split(&here.host, &id)?;
    }
    let mode = if reads { Mode::Look } else { Mode::Change };
    let board = SqliteBoard::open(id, mode, config.board.busy_timeout)?;
    let pass = super::pass_id("board", here.now);
    let mut hand = Hand { board, here, config: &config, common, pass };
    match &args.command {
        Command::Init { .. } => Ok(0),
        Command::Add(add) => hand.add(add),
        Command::List { status, assignee } => hand.list(status, assignee.as_deref()),
        Command::Show { id } => hand.show(id),
        Command::Claim(claim) => hand.claim(claim),
        Command::Heartbeat { id, note, ttl, run } => hand.heartbeat(id, note.as_deref(), *ttl, *run),
        Command::Comment { id, text, author } => hand.comment(id, text, author.as_deref()),
        Command::Block { id, reason, kind, run } => hand.block(id, reason, kind.as_deref(), *run),
        Command::Complete { id, result, summary, run } => {
            hand.complete(id, result.as_deref(), summary.as_deref(), *run)
        }
        Command::Link { parent, child } => hand.link(parent, child),
    }
}

/// The one board a hand works on: named, or the one `hermes kanban boards switch` chose.
fn the_board(common: &Common, config: &Config) -> Result<BoardId> {
    let mut found = common.boards(config)?;
    // A board in the configuration is there to be worked on; Hermes' own are only watched beside it.
    let configured = found.iter().position(|b| Some(&b.path) == config.board.db.as_ref());
    if let Some(nth) = configured.filter(|_| common.db.is_empty() && common.board.is_empty()) {
        return Ok(found.swap_remove(nth));
    }
    if found.len() > 1 {
        let root = found.iter().find_map(|b| b.root.clone());
        let current = root.and_then(|r| std::fs::read_to_string(r.join("kanban").join("current")).ok());
        let slug = current.map_or_else(|| "default".to_owned(), |c| c.trim().to_lowercase());
        let named = common.db.len() > 1 || common.board.len() > 1;
        found.retain(|b| !named && b.slug.as_deref() == Some(slug.as_str()));
    }
    found.into_iter().next().ok_or_else(|| {
        Error::new(Kind::Usage, "board", "several boards").hint("name one with --board or --db")
    })
}

fn refused(at: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Partial, at, why)
}

impl Hand<'_> {
    fn look(&mut self, id: &str) -> Result<Detail> {
        if !crate::board::is_task_id(id) && !id.starts_with("t_") {
            return Err(refused(id, "not a task id").hint("they look like t_1a2b3c4d"));
        }
        self.board.look(&[id.to_owned()])?.pop().ok_or_else(|| refused(id, "no such task on this board"))
    }

    fn trail<'t>(&'t self, case: &'t str) -> Trail<'t> {
        Trail {
            by: "board",
            pass: &self.pass,
            clock_given: self.here.clock_given,
            case,
            cause: None,
            because: case,
            more: Map::new(),
        }
    }

    /// Applies one step; a lost race is a refusal here, because a hand wants to know.
    fn apply(
        &mut self,
        id: &str,
        seen: Option<&Detail>,
        changes: Vec<crate::board::Change>,
    ) -> Result<Outcome> {
        let step = Step {
            task: id.to_owned(),
            action: "hand".into(),
            case: "hand".into(),
            cause: None,
            because: String::new(),
            expect: seen.map(Expect::of),
            proof: None,
            changes,
        };
        let patience = self.config.board.busy_timeout;
        let outcome = self.board.apply(self.here.now, &[step], patience)?.pop();
        outcome.ok_or_else(|| Error::new(Kind::Bug, id, "a step without an outcome"))
    }

    fn must(
        &mut self,
        id: &str,
        seen: Option<&Detail>,
        changes: Vec<crate::board::Change>,
    ) -> Result<Option<i64>> {
        match self.apply(id, seen, changes)? {
            Outcome::Applied { run } => Ok(run),
            Outcome::Moved { what } => {
                Err(refused(id, format!("changed while we looked ({what}); nothing was done"))
                    .hint("try again"))
            }
            Outcome::Refused { why } => Err(refused(id, why)),
            Outcome::Planned => Err(Error::new(Kind::Bug, id, "planned by a hand")),
        }
    }

    fn answer(&self, json: &Value, text: &str) -> Result<u8> {
        match (self.common.json, self.common.quiet) {
            (true, _) => print(&format!("{json:#}\n")),
            (false, true) => Ok(0),
            (false, false) => print(text),
        }
    }

    fn add(&mut self, add: &Add) -> Result<u8> {
        let title = add.title.trim();
        if title.is_empty() {
            return Err(refused("title", "blank; say in one line what is to be done"));
        }
        if title.contains('\n') {
            return Err(refused("title", "has more than one line").hint("put the rest into --body"));
        }
        let body = self.body(add)?;
        let mut parents = Vec::new();
        for id in &add.parent {
            parents.push(self.look(id)?.task);
        }
        if let Some(there) = add.key.as_deref().map(|k| self.by_key(k)).transpose()?.flatten() {
            return self.answer(&json!({"task": there, "added": false}), &format!("{there}\n"));
        }
        let waits = parents.iter().any(|p| p.status != Status::Done);
        let status = if waits { Status::Todo } else { Status::Ready };
        let task = NewTask {
            title: title.into(),
            body: Some(body).filter(|b| !b.is_empty()),
            assignee: add.assignee.as_deref().map(|a| a.trim().to_lowercase()).filter(|a| !a.is_empty()),
            priority: add.priority,
            created_by: Some(speaker(None)),
            idempotency_key: add.key.clone(),
            max_retries: add.max_retries,
            ..NewTask::default()
        };
        let parents: Vec<String> = parents.into_iter().map(|p| p.id).collect();
        let changes = hermes::created(status.clone(), task, &parents, &self.trail("add"));
        for _ in 0..4 {
            let id = format!("t_{}", random_hex());
            match self.apply(&id, None, changes.clone())? {
                Outcome::Applied { .. } => {
                    let json = json!({"task": id, "added": true, "status": status});
                    return self.answer(&json, &format!("{id}\n"));
                }
                // An id that is taken by chance: another one. A key that was taken meanwhile: that task.
                _ => {
                    if let Some(there) = add.key.as_deref().map(|k| self.by_key(k)).transpose()?.flatten() {
                        return self.answer(&json!({"task": there, "added": false}), &format!("{there}\n"));
                    }
                }
            }
        }
        Err(Error::new(Kind::Bug, "board add", "found no free task id"))
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
            ..Scope::default()
        };
        Ok(if scope == Scope::default() { text } else { scope::put(&text, &scope) })
    }

    fn by_key(&mut self, key: &str) -> Result<Option<String>> {
        self.board.with_key(key)
    }

    fn list(&mut self, status: &[String], assignee: Option<&str>) -> Result<u8> {
        let open = ["triage", "todo", "scheduled", "ready", "running", "blocked", "review"];
        let known = |s: &String| -> Result<Status> {
            match Status::from(s.to_lowercase()) {
                Status::Other(s) => Err(Error::new(Kind::Usage, format!("--status {s}"), "no such state")
                    .hint(format!("one of {}, done, archived", open.join(", ")))),
                known => Ok(known),
            }
        };
        let wanted: Vec<Status> = if status.is_empty() {
            open.iter().map(|s| Status::from((*s).to_owned())).collect()
        } else {
            status.iter().map(known).collect::<Result<_>>()?
        };
        let mut tasks = self.board.glance(&wanted)?;
        tasks.retain(|t| assignee.is_none_or(|a| t.assignee.as_deref() == Some(a)));
        let rows: Vec<Value> = tasks.iter().map(|t| self.row(t)).collect();
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

    fn show(&mut self, id: &str) -> Result<u8> {
        let d = self.look(id)?;
        let mut all = self.row(&d.task);
        all["body"] = json!(d.body);
        all["runs"] = json!(d.runs);
        all["events"] = json!(d.events);
        all["comments"] = json!(d.comments);
        all["parents"] = json!(d.parents);
        all["scope"] = json!(Scope::parse(&d.body));
        let text = show::story(&d, self.here.now);
        self.answer(&all, &text)
    }

    fn claim(&mut self, claim: &Claim) -> Result<u8> {
        let worker = claim.worker.as_deref().map(|w| w.trim().to_lowercase()).filter(|w| !w.is_empty());
        let Some(id) = &claim.id else { return self.claim_next(claim, worker.as_deref()) };
        let seen = self.look(id)?;
        self.may_claim(&seen).map_err(|why| refused(id, why))?;
        let run = self.take(&seen, claim, worker.as_deref())?;
        match run {
            Ok(run) => self.claimed(&seen, run),
            Err(what) => Err(refused(id, format!("somebody else was faster ({what})"))),
        }
    }

    fn claim_next(&mut self, claim: &Claim, worker: Option<&str>) -> Result<u8> {
        let ready = self.board.glance(&[Status::Ready, Status::Todo])?;
        let mine = |t: &&Task| t.assignee.is_none() || (worker.is_some() && t.assignee.as_deref() == worker);
        for task in ready.iter().filter(mine) {
            let seen = self.look(&task.id)?;
            if self.may_claim(&seen).is_err() {
                continue;
            }
            // Lost to another worker: the next one will do.
            if let Ok(run) = self.take(&seen, claim, worker)? {
                return self.claimed(&seen, run);
            }
        }
        self.answer(&json!({"task": null}), "")
    }

    fn may_claim(&self, seen: &Detail) -> std::result::Result<(), String> {
        let t = &seen.task;
        let free = seen.parents.iter().find(|p| !p.status.frees_children());
        match &t.status {
            Status::Ready | Status::Todo if free.is_some() => {
                let waits = free.map_or("", |p| p.id.as_str());
                Err(format!("waits for {waits}"))
            }
            // On a board with a dispatcher, `todo` is the dispatcher's to promote.
            Status::Todo if !self.board.is_own() || seen.parents.is_empty() => {
                Err("is todo, not ready".to_owned())
            }
            Status::Ready | Status::Todo => match &t.claim_lock {
                Some(lock) => Err(format!("is claimed by {lock}")),
                None => Ok(()),
            },
            other => Err(format!("is {other}, not ready")),
        }
    }

    fn take(
        &mut self,
        seen: &Detail,
        claim: &Claim,
        worker: Option<&str>,
    ) -> Result<std::result::Result<Option<i64>, String>> {
        let ttl = self.seconds(claim.ttl);
        // The caller outlives this process; its pid tells people who claimed.
        let claimer =
            claim.pid.or_else(|| rustix::process::getppid().map(|p| i64::from(p.as_raw_nonzero().get())));
        let lock = format!("{}:{}", self.here.host.facts().hostname, claimer.unwrap_or(0));
        let expires = self.here.now.plus(ttl);
        let mut trail = self.trail("claim");
        if let Some(pid) = claim.pid {
            let birth = self.here.host.birth_of(pid).ok_or_else(|| {
                refused(&format!("--pid {pid}"), "no such process")
                    .hint("give the pid of the worker that starts now")
            })?;
            trail.more.insert("birth".into(), json!(birth));
            trail.more.insert("pid".into(), json!(pid));
            trail.more.insert("namespace".into(), json!(self.here.host.facts().pid_namespace));
        }
        let profile = worker.map(str::to_owned);
        let mut changes = Vec::new();
        if seen.task.status == Status::Todo {
            changes.extend(hermes::promoted(seen, &trail));
        }
        changes.extend(hermes::claimed(seen, &lock, expires, claim.pid, profile, &trail));
        match self.apply(&seen.task.id, Some(seen), changes)? {
            Outcome::Applied { run } => Ok(Ok(run)),
            Outcome::Moved { what } => Ok(Err(what)),
            other => Err(Error::new(Kind::Bug, &seen.task.id, format!("a claim was {}", other.word()))),
        }
    }

    fn claimed(&mut self, seen: &Detail, run: Option<i64>) -> Result<u8> {
        let t = &seen.task;
        let json =
            json!({"task": t.id, "title": t.title, "run": run, "body": seen.body, "comments": seen.comments});
        self.answer(&json, &format!("{}\n", t.id))
    }

    fn seconds(&self, ttl: Option<Duration>) -> i64 {
        i64::try_from(ttl.unwrap_or(self.config.board.claim_ttl).as_secs()).unwrap_or(i64::MAX)
    }

    fn heartbeat(
        &mut self,
        id: &str,
        note: Option<&str>,
        ttl: Option<Duration>,
        run: Option<i64>,
    ) -> Result<u8> {
        let seen = self.look(id)?;
        if seen.task.status != Status::Running {
            let why = format!("is {}, not running: the claim is gone", seen.task.status);
            return Err(refused(id, why).hint("stop working on it, or claim it again"));
        }
        same_run(&seen, run)?;
        let expires = self.here.now.plus(self.seconds(ttl));
        self.must(id, Some(&seen), hermes::heartbeat(&seen, expires, note))?;
        self.answer(&json!({"task": id, "claim_expires": expires}), "")
    }

    fn comment(&mut self, id: &str, text: &str, author: Option<&str>) -> Result<u8> {
        if text.trim().is_empty() {
            return Err(refused(id, "a blank comment says nothing"));
        }
        // Only that the task exists: a comment rests on nothing else that was seen.
        self.look(id)?;
        self.must(id, None, hermes::commented(&speaker(author), text))?;
        self.answer(&json!({"task": id, "commented": true}), "")
    }

    fn block(&mut self, id: &str, reason: &str, kind: Option<&str>, run: Option<i64>) -> Result<u8> {
        if reason.trim().is_empty() {
            return Err(refused(id, "a block without a reason helps nobody"));
        }
        let seen = self.look(id)?;
        if !matches!(seen.task.status, Status::Running | Status::Ready) {
            return Err(refused(
                id,
                format!("is {}; only running or ready work can be blocked", seen.task.status),
            ));
        }
        same_run(&seen, run)?;
        let changes = hermes::blocked(&seen, reason.trim(), kind, &self.trail("block"));
        self.must(id, Some(&seen), changes)?;
        let now = self.look(id)?.task.status;
        let text = if now == Status::Blocked { String::new() } else { format!("{id} is {now} now\n") };
        self.answer(&json!({"task": id, "status": now}), &text)
    }

    fn complete(
        &mut self,
        id: &str,
        result: Option<&str>,
        summary: Option<&str>,
        run: Option<i64>,
    ) -> Result<u8> {
        let seen = self.look(id)?;
        if !matches!(seen.task.status, Status::Running | Status::Ready | Status::Blocked) {
            return Err(refused(id, format!("is {}, not running, ready or blocked", seen.task.status)));
        }
        if let Some(parent) = seen.parents.iter().find(|p| !p.status.frees_children()) {
            return Err(refused(id, format!("waits for {}, which is {}", parent.id, parent.status)));
        }
        same_run(&seen, run)?;
        let changes = hermes::completed(&seen, result, summary, &self.trail("complete"));
        self.must(id, Some(&seen), changes)?;
        self.answer(&json!({"task": id, "status": "done"}), "")
    }

    fn link(&mut self, parent: &str, child: &str) -> Result<u8> {
        if parent == child {
            return Err(refused(child, "a task cannot wait for itself"));
        }
        let first = self.look(parent)?.task;
        let seen = self.look(child)?;
        if seen.parents.iter().any(|p| p.id == parent) {
            return self.answer(&json!({"parent": parent, "child": child, "linked": false}), "");
        }
        let kin = Kin { id: first.id, title: first.title, status: first.status };
        let changes = hermes::linked(&seen, &kin, &self.trail("link"));
        self.must(child, Some(&seen), changes)?;
        self.answer(&json!({"parent": parent, "child": child, "linked": true}), "")
    }
}

/// Refuses a hand whose run was taken away meanwhile. A Hermes worker is told its run in its environment, which says
/// nothing about any other task it may touch.
fn same_run(seen: &Detail, run: Option<i64>) -> Result<()> {
    let is_mine = env("HERMES_KANBAN_TASK").as_deref() == Some(&seen.task.id);
    match run.or_else(|| env("HERMES_KANBAN_RUN_ID").filter(|_| is_mine)?.parse().ok()) {
        Some(run) if seen.task.current_run != Some(run) => {
            let why = format!("run {run} is not its open run any more: somebody else has this task");
            Err(refused(&seen.task.id, why).hint("stop working on it"))
        }
        _ => Ok(()),
    }
}

fn speaker(given: Option<&str>) -> String {
    let given = given.map(str::to_owned).or_else(|| env("HERMES_PROFILE")).or_else(|| env("USER"));
    given.map(|g| g.trim().to_owned()).filter(|g| !g.is_empty()).unwrap_or_else(|| "user".into())
}
