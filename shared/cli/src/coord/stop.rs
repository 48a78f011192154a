//! Stopping a session, and looking whether it stopped: the server says yes to everything.

use std::path::Path;
use std::time::Instant;

use super::{NEWEST, PAUSE, SETTLE, millis};
use coord::opencode::rest::Server;
use coord::{Answer, Message, Role, SessionId, State};

/// How long a prompt may lie in a session before its server says that it works on it, in milliseconds. Seen of 1.18.33: 2.5 s.
const TAKEN_UP: u64 = 4_000;

/// What became of a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It worked, and does not any more.
    Stopped,
    /// Nothing was under way.
    WasIdle,
    /// Its owner does not work on it, and never finished its last answer: it was forgotten in a restart.
    Forgotten,
    /// Its owner still works on it.
    Still(State),
}

/// Asks `through` to stop a session, and its owner whether it did.
pub(super) fn stop(through: &Server, owner: &Server, session: &SessionId) -> Answer<End> {
    let directory = owner.session(session)?.directory;
    let directory = Path::new(&directory);
    let before = owner.state(session, directory)?;
    through.abort(session)?;
    // What it handed to sessions of its own goes on without it.
    for child in owner.children(session)? {
        if owner.state(&child.id, directory)?.is_under_way() {
            owner.abort(&child.id)?;
        }
    }
    let until = Instant::now() + SETTLE;
    // Between two turns its server works on nothing for a moment, and the next answer is open already.
    let mut worked = Some(before.clone()).filter(State::is_under_way);
    loop {
        let now = owner.state(session, directory)?;
        if now.is_under_way() {
            worked = Some(now.clone());
        }
        let last = owner.messages(session, NEWEST)?.pop();
        let open = last.as_ref().is_some_and(Message::is_open);
        match () {
            () if Instant::now() >= until => {
                return Ok(match worked {
                    Some(state) if open || now.is_under_way() => End::Still(state),
                    None if open => End::Forgotten,
                    _ => End::Stopped,
                });
            }
            () if now.is_under_way() || open || last.as_ref().is_some_and(is_fresh) => {}
            () if before.is_under_way() => return Ok(End::Stopped),
            () => return Ok(End::WasIdle),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether it is a prompt that the server may still be about to take up.
fn is_fresh(last: &Message) -> bool {
    let age = millis().saturating_sub(u64::try_from(last.created).unwrap_or(0));
    last.role == Role::User && age < TAKEN_UP
}
