//! Tasks that a session works on: there is no process of theirs to look at, so the server is asked that owns the session, and
//! what is stored of it is read. The board's events say whom to ask and nothing more; only what is seen now counts.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::World;
use base::cause;
use base::time::Time;
use board::{Detail, Status};
use config::Config;
use coord::detect::{Judge, Kind, Verdict};
use coord::evidence::Evidence;
use coord::{Mapping, SessionId, mapping};
use host::Orphan;
use logs::signal::kept;
use logs::{Evidence as Line, LogEnd};

/// Most sessions that are asked about in one pass.
const MAX_SESSIONS: usize = 200;

/// What was seen of the session that works on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSeen {
    /// The newest one of the open run.
    pub session: SessionId,
    /// How it stands.
    pub standing: Standing,
    /// When anything of it last changed.
    pub active: Option<Time>,
    /// The failure its last answer ended on, if it did.
    pub end: LogEnd,
    /// What still runs in its folder.
    #[serde(default)]
    pub left: Vec<Orphan>,
}

/// How a session stands, as its server and its rows say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its server works on it, and it is not silent for too long.
    AtWork,
    /// Its server was started again and knows nothing of it, and its answer is open for ever. In words.
    Orphaned(String),
    /// Neither: it has finished its turn, gave up, or is silent. Its claim says how long that may last.
    Idle,
    /// That cannot be told, and why.
    Unknown(String),
}

impl Standing {
    /// What several say together: one that may be at work, or of which nothing can be told, comes first.
    pub fn and(self, other: Standing) -> Standing {
        let rank = |s: &Standing| match s {
            Standing::AtWork => 0,
            Standing::Unknown(_) => 1,
            Standing::Idle => 2,
            Standing::Orphaned(_) => 3,
        };
        if rank(&self) <= rank(&other) { self } else { other }
    }
}

/// Asks about the sessions of open runs, by task. A claim with a process is that process' own, and not asked about.
pub fn observe(world: &World<'_>, details: &[Detail], now: Time) -> BTreeMap<String, SessionSeen> {
    let leased = |d: &&Detail| {
        let t = &d.task;
        t.status == Status::Running && t.worker_pid.is_none() && t.claim_lock.is_some()
    };
    let of_run = |d: &Detail| d.task.current_run.map(|run| mapping::of_run(d, run)).unwrap_or_default();
    let all: Vec<Mapping> = details.iter().filter(leased).flat_map(of_run).collect();
    if all.is_empty() {
        return BTreeMap::new();
    }
    // A server's address is that of its own machine; and whose store would be read?
    let (here, abroad): (Vec<Mapping>, Vec<Mapping>) =
        all.into_iter().partition(|m| world.host.is_here(&m.host));
    let mut seen = BTreeMap::new();
    for m in &abroad {
        add(&mut seen, m, unknown(m, format!("its session was spawned from {}", m.host)));
    }
    let (asked, rest) = here.split_at(here.len().min(MAX_SESSIONS));
    for m in rest {
        add(&mut seen, m, unknown(m, "too many sessions for one pass".into()));
    }
    for (m, evidence) in asked.iter().zip((world.sessions)(asked)) {
        add(&mut seen, m, judged(&evidence, world.config, now));
    }
    let is_orphan = |s: &SessionSeen| matches!(s.standing, Standing::Orphaned(_));
    for m in asked {
        if let Some(s) = seen.get_mut(&m.task).filter(|s| is_orphan(s)) {
            let more = world.host.inside(Path::new(&m.directory));
            s.left.extend(more.into_iter().filter(|o| !s.left.contains(o)).collect::<Vec<_>>());
        }
    }
    seen
}

/// The session that was spawned on this machine for a run, by its name.
pub fn here<'a>(world: &World<'_>, detail: &'a Detail, run: i64) -> Option<&'a str> {
    mapping::named(detail, run).filter(|(_, host)| world.host.is_here(host)).map(|(session, _)| session)
}

fn add(seen: &mut BTreeMap<String, SessionSeen>, mapping: &Mapping, new: SessionSeen) {
    let all = match seen.remove(&mapping.task) {
        Some(before) => SessionSeen {
            standing: before.standing.and(new.standing),
            active: before.active.max(new.active),
            ..new
        },
        None => new,
    };
    seen.insert(mapping.task.clone(), all);
}

fn unknown(mapping: &Mapping, why: String) -> SessionSeen {
    SessionSeen {
        session: mapping.session.clone(),
        standing: Standing::Unknown(why),
        active: None,
        end: LogEnd::Absent,
        left: Vec::new(),
    }
}

/// What follows from what is known of one session.
pub fn judged(evidence: &Evidence, config: &Config, now: Time) -> SessionSeen {
    let judge = Judge { evidence, limits: &config.detect, since: None, now };
    let standing = match (judge.verdict(Kind::NoVerdict), judge.verdict(Kind::SessionOrphaned)) {
        (Verdict::Found { said, .. }, _) => Standing::Unknown(said),
        (_, Verdict::Found { said, .. }) => Standing::Orphaned(said),
        _ if judge.is_at_work() => Standing::AtWork,
        _ if judge.verdict(Kind::SessionStall) == Verdict::Unknown => {
            Standing::Unknown("what its server says of it is not known here".into())
        }
        _ => Standing::Idle,
    };
    let rows = evidence.rows();
    SessionSeen {
        session: evidence.session.clone(),
        standing,
        active: rows.and_then(|rows| rows.active()).map(|at| at.time()),
        end: end(evidence),
        left: Vec::new(),
    }
}

/// The refusal a session gave up on, as a log's last line would say it: what was refused to it is refused to the next attempt.
fn end(evidence: &Evidence) -> LogEnd {
    let Some(rows) = evidence.rows() else { return LogEnd::Absent };
    let newest = rows.newest().and_then(|m| Some((m, m.answer()?.failure.as_ref()?)));
    let Some((message, failure)) = newest else { return LogEnd::NoEvidence };
    match failure.status.and_then(|status| cause::of_http(status, &failure.said)) {
        Some(cause) => LogEnd::Ended(Line {
            http: failure.status,
            at: Some(message.updated.time()),
            words: kept(&failure.said),
            ..Line::new(cause, 0)
        }),
        None => LogEnd::NoEvidence,
    }
}
