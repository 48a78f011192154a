//! Gathers what is known of sessions of opencode: one question about states for each folder of a server, the newest rows of each
//! session, and a few seconds of listening where a session looks stalled. Nothing is written, and nobody is prompted.
//!
//! States are asked for before rows are read: a turn that ends in between then looks busy and finished, which is nothing; the
//! other way round it would look abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::rest::{Address, Server};
use super::rows::listed;
use super::store::Store;
use crate::detect::{Judge, Kind, Verdict};
use crate::evidence::{Evidence, Rows, Stream};
use crate::{Answer, Gate, Mapping, SessionId, Silence, State};
use base::error::{Error, Result};
use base::time::Time;
use config::Detect;

/// Messages a server is asked for where the store does not hold a session.
const MAX_LISTED: u32 = 100;

/// The longest that a watcher asks about sessions.
const MAPPED_LIMIT: Duration = Duration::from_secs(30);
const LATE: &str = "others took all the time of this pass";

/// A session that is to be looked at.
#[derive(Debug, Clone)]
pub struct Target {
    /// Which.
    pub session: SessionId,
    /// Who is asked about it, or why nobody can be.
    pub server: std::result::Result<Address, String>,
    /// Where it works; `None` asks the server.
    pub directory: Option<PathBuf>,
    /// That server is known to run it.
    pub is_owner: bool,
    /// Its rows may lie in the store of this machine.
    pub is_here: bool,
}

/// Who is asked, and where rows lie.
pub struct Ground<'a> {
    /// The server at an address.
    pub server: &'a dyn Fn(&Address) -> Server,
    /// opencode's data folder on this machine, or its store; `None` where none is known.
    pub store: Option<&'a Path>,
    /// From when on silence is looked into, and for how long it is listened.
    pub limits: &'a Detect,
    /// The moment of the pass.
    pub now: Time,
}

/// What was found out.
pub struct Gathered {
    /// In the order of the targets.
    pub evidence: Vec<Evidence>,
    /// Why the store could not be read, where rows of a session are missing for that.
    pub store: Option<Error>,
}

/// Looks at sessions.
pub fn gather(targets: &[Target], ground: &Ground<'_>) -> Gathered {
    let mut gathered = look(targets, ground, None);
    let doubtful: Vec<usize> =
        (0..targets.len()).filter(|i| ground.is_doubtful(&gathered.evidence[*i])).collect();
    if doubtful.is_empty() || ground.limits.listen == Duration::ZERO {
        return gathered;
    }
    let heard = ground.listen(targets, &doubtful);
    // What was written while it was listened counts as well.
    let again: Vec<Target> = doubtful.iter().map(|i| targets[*i].clone()).collect();
    let newer = look(&again, ground, None);
    for (i, evidence) in doubtful.into_iter().zip(newer.evidence) {
        let stream = match targets[i].server.as_ref().ok().and_then(|at| heard.get(at)) {
            Some(heard) if heard.contains(&evidence.session) => Stream::Moves,
            Some(_) => Stream::Silent,
            None => Stream::Unheard,
        };
        gathered.evidence[i] = Evidence { stream, ..evidence };
    }
    gathered.store = gathered.store.or(newer.store);
    gathered
}

/// States by server and folder, each asked for once.
type States = BTreeMap<(Address, PathBuf), Answer<BTreeMap<SessionId, State>>>;
/// Gates by server and folder, each asked for once.
type Gates = BTreeMap<(Address, PathBuf), Option<Vec<Gate>>>;

/// What is known of sessions that are mapped on this machine, without listening. Nothing is believed of a session that its
/// server does not work on and does not itself call the one of this task and run: a mapping is an event, and every user of the
/// board can write one.
pub fn mapped(mappings: &[Mapping], ground: &Ground<'_>) -> Vec<Evidence> {
    let target = |m: &Mapping| Target {
        session: m.session.clone(),
        server: Address::parse(m.server.as_deref().unwrap_or_default()).and_then(|at| {
            match at.is_loopback() {
                true => Ok(at),
                // Nobody started this by hand, and an event is not to send questions through the network.
                false => Err("its server's address is not this machine's own".into()),
            }
        }),
        directory: Some(PathBuf::from(&m.directory)),
        is_owner: true,
        is_here: true,
    };
    let targets: Vec<Target> = mappings.iter().map(target).collect();
    let until = Instant::now() + MAPPED_LIMIT;
    let seen = look(&targets, ground, Some(until)).evidence;
    let each = mappings.iter().zip(&targets).zip(seen);
    each.map(|((mapping, target), evidence)| match (&evidence.server, &target.server) {
        (State::Absent, Ok(at)) => {
            let why = match is_over(Some(until)) {
                true => Some(LATE.to_owned()),
                false => stranger(&(ground.server)(at), mapping),
            };
            match why {
                Some(why) => Evidence { server: State::Unreachable { why }, ..evidence },
                None => evidence,
            }
        }
        _ => evidence,
    })
    .collect()
}

/// Whether nobody else may be asked: servers that do not answer would hold up a pass by as long as it takes to give each up.
fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() > until)
}

/// Why a session is not the one of this mapping, by its server's own word.
fn stranger(server: &Server, mapping: &Mapping) -> Option<String> {
    match server.session(&mapping.session) {
        Ok(s) if s.task.as_deref() == Some(&mapping.task) && s.run == mapping.run => None,
        Ok(_) => Some("its server knows it as the session of something else".into()),
        Err(silence) => Some(silence.to_string()),
    }
}

/// One look, without listening.
fn look(targets: &[Target], ground: &Ground<'_>, until: Option<Instant>) -> Gathered {
    let (mut states, mut gates) = (States::new(), Gates::new());
    let places: Vec<std::result::Result<(Address, PathBuf), String>> =
        targets.iter().map(|t| ground.place(t)).collect();
    // A server that does not answer once is not asked for every folder: each time would take as long.
    let mut silent: BTreeMap<&Address, Silence> = BTreeMap::new();
    for at in places.iter().flatten() {
        let ask = || match silent.get(&at.0) {
            Some(silence) => Err(silence.clone()),
            None if is_over(until) => Err(Silence::Unreachable(LATE.into())),
            None => (ground.server)(&at.0).states(&at.1),
        };
        if let Err(silence @ Silence::Unreachable(_)) = states.entry(at.clone()).or_insert_with(ask) {
            silent.insert(&at.0, silence.clone());
        }
    }
    let store = ground.store.filter(|_| targets.iter().any(|t| t.is_here)).map(Store::open);
    let mut is_missed = false;
    let evidence = targets
        .iter()
        .zip(places)
        .map(|(target, place)| {
            let server = match &place {
                Err(why) => State::Unreachable { why: why.clone() },
                Ok(at) => match &states[at] {
                    Ok(states) => states.get(&target.session).cloned().unwrap_or(State::Absent),
                    Err(silence) => State::Unreachable { why: silence.to_string() },
                },
            };
            let rows = ground.rows(target, &server, store.as_ref(), &mut is_missed);
            let runs = rows.as_ref().is_ok_and(|rows| rows.running().is_some());
            // Nobody is asked by a call that does not run.
            let gates = match (&place, &server) {
                (Ok(at), State::Busy) if runs => gates
                    .entry(at.clone())
                    .or_insert_with(|| (ground.server)(&at.0).gates(&at.1).ok())
                    .clone(),
                _ => None,
            };
            let (session, is_owner) = (target.session.clone(), target.is_owner);
            Evidence { session, server, is_owner, rows, gates, stream: Stream::Unheard }
        })
        .collect();
    Gathered { evidence, store: store.and_then(Result::err).filter(|_| is_missed) }
}

impl Ground<'_> {
    /// Whose states tell of a session.
    fn place(&self, target: &Target) -> std::result::Result<(Address, PathBuf), String> {
        let at = target.server.clone()?;
        if let Some(directory) = &target.directory {
            return Ok((at, directory.clone()));
        }
        match (self.server)(&at).session(&target.session) {
            Ok(session) => Ok((at, session.directory.into())),
            Err(silence) => Err(silence.to_string()),
        }
    }

    /// The newest rows of a session: from the store, else as its server lists them.
    fn rows(
        &self,
        target: &Target,
        state: &State,
        store: Option<&Result<Store>>,
        is_missed: &mut bool,
    ) -> std::result::Result<Rows, String> {
        let stored = store.filter(|_| target.is_here).map(|store| match store {
            Ok(store) => store.rows(&target.session).map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        });
        let (why, is_fault) = match stored {
            Some(Ok(Some((rows, _)))) => return Ok(rows),
            Some(Err(why)) => (why, true),
            Some(Ok(None)) | None => ("the store of this machine does not hold it".to_owned(), false),
        };
        let listed = match &target.server {
            Ok(at) if !matches!(state, State::Unreachable { .. }) => {
                (self.server)(at).raw_messages(&target.session, MAX_LISTED).map(|m| listed(&m))
            }
            _ => return Err(why).inspect_err(|_| *is_missed |= is_fault),
        };
        *is_missed |= is_fault && listed.is_err();
        listed.map_err(|silence| match silence {
            Silence::Missing => "its server knows no such session".into(),
            silence => format!("{why}; its server: {silence}"),
        })
    }

    /// Whether it would be stalled if nothing were heard of it.
    fn is_doubtful(&self, evidence: &Evidence) -> bool {
        let silent = Evidence { stream: Stream::Silent, ..evidence.clone() };
        let judge = Judge { evidence: &silent, limits: self.limits, since: None, now: self.now };
        matches!(judge.verdict(Kind::SessionStall), Verdict::Found { .. })
    }

    /// Listens to all servers of these sessions at once; of one that does not let us, nothing is said.
    fn listen(&self, targets: &[Target], of: &[usize]) -> BTreeMap<Address, BTreeSet<SessionId>> {
        let mut wanted: BTreeMap<&Address, BTreeSet<SessionId>> = BTreeMap::new();
        for target in of.iter().map(|i| &targets[*i]) {
            if let Ok(at) = &target.server {
                wanted.entry(at).or_default().insert(target.session.clone());
            }
        }
        let length = self.limits.listen;
        let servers: Vec<(Server, BTreeSet<SessionId>)> =
            wanted.into_iter().map(|(at, sessions)| ((self.server)(at), sessions)).collect();
        std::thread::scope(|scope| {
            let listening: Vec<_> = servers
                .iter()
                .map(|(server, sessions)| (server, scope.spawn(move || server.heard(sessions, length))))
                .collect();
            let heard = listening.into_iter().map(|(server, one)| (server.address(), one.join()));
            heard.filter_map(|(at, one)| Some((at.clone(), one.ok()?.ok()?))).collect()
        })
    }
}
