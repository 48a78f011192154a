//! `coord detect`: what is wrong with sessions. Without `--record` nothing is written. No session is ever prompted.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{Coord, Meant, NOT_SPAWNED, refused, warn};
use crate::{print, print_json};
use base::error::{Kind, Result};
use board::{Change, Detail, EventKind, Outcome, Status, Step, hermes};
use config::{since, span};
use coord::detect::claim::renewal;
use coord::detect::record::{News, news, recorded};
use coord::detect::{Issue, Judge, detect, worst};
use coord::opencode::gather::{Gathered, Ground, Target, gather};
use coord::opencode::rest::Address;
use coord::{Mapping, MappingStatus, Operation, SessionId, mapping};

#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Check only this session, or the session of this task (may be repeated) [default: all that work or wait for an answer]
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Ignore what happened before this time: how long ago (10m), yesterday, a date, RFC 3339 or epoch seconds [default: the last
    /// request to the session]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Record the problems on the board, and extend the claims of working sessions
    #[arg(long)]
    pub(super) record: bool,
    /// Read the sessions of opencode from this data folder or file
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
}

/// A session that is looked at, and the task it works on now.
struct Wanted {
    session: SessionId,
    mapping: Option<Mapping>,
    /// The task, where the session's run is open: only then is there something to record on.
    task: Option<Detail>,
}

impl Coord<'_> {
    pub(super) fn detect(&mut self, args: &Detect) -> Result<u8> {
        let now = self.hand.here.now;
        let since = args.since.as_deref().map(|text| since::read(text, now)).transpose()?;
        if args.record {
            self.refuse_paused()?;
        }
        let wanted = self.wanted(&args.sessions)?;
        if wanted.is_empty() {
            return self.shown(&[], &[]);
        }
        let targets: Vec<Target> = wanted.iter().map(|w| self.target(w)).collect();
        let limits = &self.hand.config.detect;
        let server = |at: &Address| self.servers.at(at);
        let place = args.store.as_deref().or(self.servers.opencode.store.as_deref());
        let Gathered { evidence, store } =
            gather(&targets, &Ground { server: &server, store: place, limits, now });
        let judges: Vec<Judge<'_>> =
            evidence.iter().map(|evidence| Judge { evidence, limits, since, now }).collect();
        let issues: Vec<Vec<Issue>> = judges.iter().map(detect).collect();
        let mut code = self.shown(&wanted, &issues)?;
        if args.record {
            code = code.max(self.recorded(&wanted, &judges)?);
        }
        // What could be told of the others was told.
        if let Some(fault) = store {
            warn(&fault.to_string());
            code = fault.kind.code();
        }
        Ok(code)
    }

    /// A board that is paused is looked at and not written.
    fn refuse_paused(&self) -> Result<()> {
        let (id, now) = (self.hand.board.id(), self.hand.here.now);
        let pause = id.pause_in_force(now, self.hand.config.board.busy_timeout)?;
        pause.map_or(Ok(()), |pause| Err(pause.refusal(id, now)))
    }

    /// The sessions that are meant: those named, else every one whose run is open.
    fn wanted(&mut self, named: &[String]) -> Result<Vec<Wanted>> {
        let mut all: Vec<Wanted> = Vec::new();
        if named.is_empty() {
            // What is blocked may be a session's that waits for an answer.
            let open = self.hand.board.glance(&[Status::Running, Status::Blocked])?;
            let ids: Vec<String> = open.into_iter().map(|task| task.id).collect();
            for task in self.hand.board.look(&ids)? {
                let looked_at = |m: &Mapping| m.runtime.lacks(Operation::Detect).is_none();
                if let Some(mapping) = mapping::open(&task).filter(looked_at) {
                    let session = mapping.session.clone();
                    all.push(Wanted { session, mapping: Some(mapping), task: Some(task) });
                }
            }
            return Ok(all);
        }
        for name in named {
            let Meant { session, mapping } = self.meant(name)?;
            let runtime = mapping.as_ref().map(|m| m.runtime);
            if let Some((runtime, why)) = runtime.and_then(|r| Some((r, r.lacks(Operation::Detect)?))) {
                return Err(refused(session.as_str(), format!("{} {why}", runtime.as_str())));
            }
            if mapping.is_none() && !session.is_opencodes() {
                return Err(refused(session.as_str(), NOT_SPAWNED));
            }
            if all.iter().any(|w| w.session == session) {
                continue;
            }
            let task = match mapping.as_ref().filter(|m| m.status == MappingStatus::Active) {
                Some(m) => self.hand.board.look(std::slice::from_ref(&m.task))?.pop(),
                None => None,
            };
            all.push(Wanted { session, mapping, task });
        }
        Ok(all)
    }

    fn target(&self, wanted: &Wanted) -> Target {
        let session = wanted.session.clone();
        let host = &self.hand.here.host.facts().hostname;
        match &wanted.mapping {
            Some(m) => Target {
                session,
                server: self.server_of(m).map_err(|e| e.to_string()),
                directory: Some(PathBuf::from(&m.directory)),
                is_owner: true,
                is_here: m.host == *host || self.hand.config.host.aliases.contains(&m.host),
            },
            None => Target {
                session,
                server: Ok(self.servers.named.clone()),
                directory: None,
                is_owner: false,
                is_here: true,
            },
        }
    }

    /// Shows what was found. A session with nothing wrong is a row without issues, and no line.
    fn shown(&self, wanted: &[Wanted], issues: &[Vec<Issue>]) -> Result<u8> {
        let each = || wanted.iter().zip(issues);
        if self.hand.common.json {
            let rows: Vec<Value> = each().map(|(w, issues)| self.row(w, issues)).collect();
            return print_json(&Value::Array(rows));
        }
        let mut text = String::new();
        for (w, issues) in each() {
            let task = w.mapping.as_ref().map_or("-", |m| m.task.as_str());
            for issue in issues {
                let severity = issue.severity.map_or_else(|| "-".to_owned(), |s| s.to_string());
                text += &format!("{}  {task}  {}  {severity}  {}\n", w.session, issue.kind, issue.said);
            }
            if issues.is_empty() && self.hand.common.verbose {
                text += &format!("{}  {task}  nothing found\n", w.session);
            }
        }
        if self.hand.common.quiet { Ok(0) } else { print(&text) }
    }

    fn row(&self, wanted: &Wanted, issues: &[Issue]) -> Value {
        let known =
            wanted.task.as_ref().map(|task| recorded(&task.events, &wanted.session)).unwrap_or_default();
        let issue = |issue: &Issue| {
            let open =
                known.iter().find(|r| r.kind == issue.kind && !r.has_ended && r.episode == issue.episode);
            json!({
                "type": issue.kind, "severity": issue.severity, "episode": issue.episode, "said": issue.said,
                "first_seen": open.map_or(self.hand.here.now, |r| r.since), "last_seen": self.hand.here.now,
            })
        };
        json!({
            "sessionId": wanted.session, "task": wanted.mapping.as_ref().map(|m| &m.task),
            "issues": issues.iter().map(issue).collect::<Vec<_>>(), "severity": worst(issues),
        })
    }

    /// Writes what is new, and renews claims. What moved meanwhile is for the next look.
    fn recorded(&mut self, wanted: &[Wanted], judges: &[Judge<'_>]) -> Result<u8> {
        let mut steps = Vec::new();
        let mut code = 0;
        for (w, judge) in wanted.iter().zip(judges) {
            let Some((task, mapping)) = w.task.as_ref().zip(w.mapping.as_ref()) else {
                warn(&format!("{}: no task is running with it, so nothing is recorded", w.session));
                code = Kind::Partial.code();
                continue;
            };
            steps.extend(self.step(task, mapping, judge));
        }
        if steps.is_empty() {
            return Ok(code);
        }
        let patience = self.hand.config.board.busy_timeout;
        let outcomes = self.hand.board.apply(self.hand.here.now, &steps, patience)?;
        for (step, outcome) in steps.iter().zip(outcomes) {
            match outcome {
                Outcome::Applied { .. } | Outcome::Planned => {}
                Outcome::Moved { what } if self.hand.common.verbose => {
                    warn(&format!("{}: changed meanwhile ({what}); the next pass tries again", step.task));
                }
                Outcome::Moved { .. } => {}
                Outcome::Refused { why } => {
                    warn(&format!("{}: {why}", step.task));
                    code = Kind::Partial.code();
                }
            }
        }
        Ok(code)
    }

    /// What is written of one session; `None` where nothing is new.
    fn step(&self, task: &Detail, mapping: &Mapping, judge: &Judge<'_>) -> Option<Step> {
        let mut changes: Vec<Change> = Vec::new();
        let ttl = span::seconds(self.hand.config.board.claim_ttl);
        if let Some(expires) = renewal(judge, task, mapping, ttl) {
            changes.extend(hermes::heartbeat(task, expires, Some("its session is at work")));
        }
        for one in news(judge, &recorded(&task.events, &mapping.session)) {
            changes.push(self.event(mapping, &one));
        }
        (!changes.is_empty()).then(|| Step::on(task, "detect".into(), "detect".into(), changes))
    }

    fn event(&self, mapping: &Mapping, news: &News) -> Change {
        let because = news.because();
        let trail = hermes::Trail { because: &because, ..self.hand.trail("detect") };
        hermes::noted_in(mapping.run, EventKind::SessionDetection, news.keys(&mapping.session), &trail)
    }
}
