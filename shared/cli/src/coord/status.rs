//! `coord status`: the sessions that were spawned, and what their servers say of them. One question about states for each
//! working tree, and one more for a session that is not under way. Of a session that is a command its process and its log tell.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use clap::Args;
use serde_json::{Value, json};

use super::{Coord, NOT_SPAWNED, Servers, coordinator_named, me, refused};
use base::error::Result;
use base::quote;
use base::time::Time;
use config::Detect;
use config::span::seconds;
use coord::opencode::rest::{Address, Server};
use coord::{Mapping, MappingStatus, Message, OtherState, Role, SessionId, Silence, State};
use host::Life;
use policy::attempts::worker::AtWork;

/// Questions under way at once.
const AT_ONCE: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Show only these sessions, or the sessions of these tasks [default: in a spawned session its siblings, else all of 30 days]
    targets: Vec<String>,
    /// Show only what this session, person:NAME or script:NAME spawned
    #[arg(long, value_name = "WHO")]
    parent: Option<String>,
    /// Show only sessions that have not ended
    #[arg(long)]
    active: bool,
}

/// How a session stands, as far as its server and its newest message tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    /// Nobody can say. Nothing may be done about it.
    Unreachable(String),
    /// Its server knows no such session.
    Missing,
    /// It works.
    Busy,
    /// Its provider refuses; it asks again.
    Retry { attempt: u32, message: String, next: i64 },
    /// Something is under way that this version does not know.
    Other(String),
    /// It has finished its turn.
    Idle,
    /// It does nothing, after it asked for help: it waits for the answer.
    Waiting,
    /// It was told something and has not begun to answer.
    Unanswered,
    /// Its server does not work on it, and its last answer never ended: the server was restarted.
    Orphaned,
    /// Its process is not there any more, and the board does not know yet.
    Gone(String),
    /// Whether its process lives cannot be told from here.
    Unknown(String),
    /// The work has ended; nobody was asked.
    Ended,
}

/// What a process and its log tell besides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Signs {
    pid: Option<i64>,
    /// When its log last told of something.
    active: Option<Time>,
}

impl Standing {
    fn word(&self) -> &str {
        match self {
            Standing::Unreachable(_) => "unreachable",
            Standing::Missing => "missing",
            Standing::Busy => "busy",
            Standing::Retry { .. } => "retry",
            Standing::Other(_) => "other",
            Standing::Idle => "idle",
            Standing::Waiting => "waiting",
            Standing::Unanswered => "unanswered",
            Standing::Orphaned => "orphaned",
            Standing::Gone(_) => "gone",
            Standing::Unknown(_) => "unknown",
            Standing::Ended => "ended",
        }
    }

    /// What more is to be said, for a person.
    fn more(&self) -> String {
        match self {
            Standing::Unreachable(why)
            | Standing::Other(why)
            | Standing::Gone(why)
            | Standing::Unknown(why) => quote::inline(why, 120),
            Standing::Retry { attempt, message, next } => {
                format!("attempt {attempt}, next {}: {}", Time(next / 1_000), quote::inline(message, 120))
            }
            Standing::Waiting => "asked for help; coord message answers".into(),
            _ => String::new(),
        }
    }
}

impl Coord<'_> {
    pub(super) fn status(&mut self, args: &Status) -> Result<u8> {
        let parent = args.parent.as_deref().map(coordinator_named).transpose()?;
        let all = self.mappings()?;
        let mine = me(&all).cloned();
        let mut wanted = Vec::new();
        for target in &args.targets {
            let meant = self.meant(target)?;
            let known = meant.mapping.ok_or_else(|| refused(meant.session.as_str(), NOT_SPAWNED))?;
            wanted.push(known.session);
        }
        let siblings = mine.as_ref().and_then(|m| m.parent.clone()).filter(|_| wanted.is_empty());
        let parent = parent.or(siblings);
        let shown: Vec<Mapping> = all
            .into_iter()
            .filter(|m| wanted.is_empty() || wanted.contains(&m.session))
            .filter(|m| parent.is_none() || m.parent == parent)
            .filter(|m| !args.active || m.status == MappingStatus::Active)
            .collect();
        let now = self.hand.here.now;
        let standings = standings(&self.servers, &shown, &self.hand.config.detect, now);
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for (m, asked) in shown.iter().zip(standings) {
            let is_me = mine.as_ref().is_some_and(|mine| mine.session == m.session);
            let (standing, signs) = match m.server {
                None if m.waits => (self.after_asking(m), Signs::default()),
                None if m.status == MappingStatus::Active => self.at_hand(m)?,
                _ if m.waits && matches!(asked, Standing::Idle | Standing::Unanswered) => {
                    (Standing::Waiting, Signs::default())
                }
                _ => (asked, Signs::default()),
            };
            let more = match signs.active {
                Some(active) => {
                    format!("pid {}, last heard of {}s ago", signs.pid.unwrap_or(0), now.since(active))
                }
                None => signs.pid.map_or_else(|| standing.more(), |pid| format!("pid {pid}")),
            };
            rows.push(as_json(m, &standing, &signs, is_me));
            lines.push([
                if is_me { format!("{} *", m.session) } else { m.session.to_string() },
                m.task.clone(),
                m.status.as_str().to_owned(),
                standing.word().to_owned(),
                quote::inline(m.branch.as_deref().unwrap_or("-"), 60),
                more,
            ]);
        }
        if lines.is_empty() {
            return self.hand.nothing(&json!({"sessions": rows}), "no sessions");
        }
        self.hand.answer(&json!({"sessions": rows}), &table(&lines))
    }

    /// How a session stands that is a command and asked for help, by whether any process of it is left.
    fn after_asking(&mut self, m: &Mapping) -> Standing {
        match self.alive(m) {
            Ok(left) if left.is_empty() => Standing::Waiting,
            Ok(_) => Standing::Busy,
            Err(why) => Standing::Unknown(why.into()),
        }
    }

    /// How a session stands that is a command, by its process and its log.
    fn at_hand(&mut self, m: &Mapping) -> Result<(Standing, Signs)> {
        let task = self.hand.look(&m.task)?;
        let Some(AtWork { look, vitals, .. }) = self.worker(&task)? else {
            return Ok((Standing::Ended, Signs::default()));
        };
        let standing = match look.life {
            Life::Alive => Standing::Busy,
            Life::Gone => Standing::Gone(look.because),
            Life::Unknown => Standing::Unknown(look.because),
        };
        Ok((standing, Signs { pid: look.worker_pid, active: vitals.and_then(|v| v.active) }))
    }
}

/// How each of them stands, in their order, as far as servers tell.
fn standings(servers: &Servers<'_>, mappings: &[Mapping], limits: &Detect, now: Time) -> Vec<Standing> {
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (i, m) in mappings.iter().enumerate().filter(|(_, m)| m.status == MappingStatus::Active) {
        if let Some(server) = &m.server {
            groups.entry((server, &m.directory)).or_default().push(i);
        }
    }
    let orphan_after = seconds(limits.orphan_after);
    let groups: Vec<_> = groups.into_iter().collect();
    let all = Mutex::new(vec![Standing::Ended; mappings.len()]);
    let put = |i: usize, standing: Standing| {
        let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all[i] = standing;
    };
    let one = |((server, directory), members): &((&str, &str), Vec<usize>)| {
        let server = match Address::parse(server) {
            Ok(at) => servers.at(&at),
            Err(why) => return members.iter().for_each(|i| put(*i, Standing::Unreachable(why.clone()))),
        };
        let states = server.states(Path::new(directory));
        for i in members {
            let state = match &states {
                Ok(states) => states.get(&mappings[*i].session).cloned().unwrap_or(State::Absent),
                Err(e) => State::Unreachable { why: e.to_string() },
            };
            let judge = |newest: Option<&Message>| judge(newest, orphan_after, now);
            put(*i, standing(&server, state, &mappings[*i].session, &judge));
        }
    };
    std::thread::scope(|scope| {
        for share in groups.chunks(groups.len().div_ceil(AT_ONCE).max(1)) {
            scope.spawn(|| share.iter().for_each(&one));
        }
    });
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn standing(
    server: &Server,
    state: State,
    session: &SessionId,
    judge: &dyn Fn(Option<&Message>) -> Standing,
) -> Standing {
    match state {
        State::Absent => match server.messages(session, 1) {
            Ok(newest) => judge(newest.last()),
            Err(Silence::Missing) => Standing::Missing,
            Err(e) => Standing::Unreachable(e.to_string()),
        },
        State::Unreachable { why } => Standing::Unreachable(why),
        State::Busy => Standing::Busy,
        State::Retry { attempt, message, next } => Standing::Retry { attempt, message, next },
        State::Other(OtherState { word }) => Standing::Other(word),
    }
}

/// How a session stands that nobody works on, by its newest message. An answer that was begun more than `orphan_after` seconds
/// ago will not be finished.
fn judge(newest: Option<&Message>, orphan_after: i64, now: Time) -> Standing {
    match newest {
        None => Standing::Unanswered,
        Some(m) if m.role == Role::User => Standing::Unanswered,
        Some(m) if !m.is_open() => Standing::Idle,
        Some(m) if now.since(Time(m.created / 1_000)) > orphan_after => Standing::Orphaned,
        // It may have ended between the two questions.
        Some(_) => Standing::Busy,
    }
}

fn as_json(m: &Mapping, standing: &Standing, signs: &Signs, is_me: bool) -> Value {
    let mut row = json!({
        "session": m.session, "runtime": m.runtime, "task": m.task, "run": m.run, "parent": m.parent, "server": m.server, "host": m.host,
        "directory": m.directory, "branch": m.branch, "at": m.at, "mapping": m.status, "state": standing.word(),
        "waits": m.waits, "me": is_me,
    });
    match standing {
        Standing::Retry { attempt, message, next } => {
            row["attempt"] = json!(attempt);
            row["message"] = json!(quote::line(message, 300));
            row["next"] = json!(Time(next / 1_000));
        }
        Standing::Unreachable(why) | Standing::Other(why) | Standing::Gone(why) | Standing::Unknown(why) => {
            row["because"] = json!(quote::line(why, 300))
        }
        _ => {}
    }
    if m.server.is_none() {
        row["pid"] = json!(signs.pid);
        row["active"] = json!(signs.active);
    }
    row
}

/// Columns side by side, blanks at the end of a line left out.
fn table(rows: &[[String; 6]]) -> String {
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:w$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_nobody_works_on_is_judged_by_its_newest_message() {
        let message = |role, completed| Message {
            id: "msg_1".into(),
            role,
            created: 1_000_000,
            completed,
            finish: None,
            error: None,
            text: String::new(),
        };
        for (newest, now, want) in [
            (None, 1_000, Standing::Unanswered),
            (Some(message(Role::User, None)), 9_000, Standing::Unanswered),
            (Some(message(Role::Assistant, Some(1_000_500))), 9_000, Standing::Idle),
            (Some(message(Role::Assistant, None)), 1_015, Standing::Busy),
            (Some(message(Role::Assistant, None)), 1_016, Standing::Orphaned),
            (Some(message(Role::Assistant, None)), 0, Standing::Busy),
        ] {
            assert_eq!(judge(newest.as_ref(), 15, Time(now)), want, "{newest:?} at {now}");
        }
    }
}
