//! Whether a dispatcher works on a board, by what it wrote there of late.

use crate::board::{Event, EventKind, Status, Task};
use crate::config::span::seconds;
use crate::distress::is_card;
use crate::policy::World;
use crate::runtime::{Dispatcher, Runtime, gateway};
use crate::time::Time;

/// Most events read for that.
pub(crate) const MAX_TICKS: u32 = 4_000;
/// A dispatcher that did something within these seconds is taken for alive.
pub(crate) const TICKED: i64 = 600;

/// How many tasks of these have been ready for somebody for so long that a dispatcher would have started them. Cards do not count.
pub(crate) fn waiting(rows: &[Task], now: Time) -> usize {
    let stands =
        |t: &&Task| t.status == Status::Ready && t.assignee.is_some() && now.since(t.created_at) > TICKED;
    rows.iter().filter(|t| !is_card(t)).filter(stands).count()
}

/// Events that only a dispatcher's tick writes, or a hand that does its work.
const TICKS: [EventKind; 12] = [
    EventKind::Claimed,
    EventKind::Spawned,
    EventKind::ClaimExtended,
    EventKind::RespawnGuarded,
    EventKind::Crashed,
    EventKind::ProtocolViolation,
    EventKind::RateLimited,
    EventKind::TimedOut,
    EventKind::Stale,
    EventKind::GaveUp,
    EventKind::Promoted,
    EventKind::Reclaimed,
];

/// Whether a dispatcher left this event.
pub(crate) fn is_tick(e: &Event) -> bool {
    e.by().is_none() && TICKS.contains(&e.kind)
}

/// The runtime, with what its newest events tell of its dispatcher.
pub(crate) fn runtime(world: &World<'_>, events: &[(String, Event)], now: Time) -> Runtime {
    let mut runtime = (world.runtime)();
    if runtime.dispatcher != Dispatcher::Absent || world.board.is_own() {
        return runtime;
    }
    // A restart takes a moment: for that long a gateway that is gone is one that comes back.
    let long_enough = |since: Time| now.since(since) >= seconds(world.config.heal.lonely_grace);
    let gone = gateway::gone(world.board.id(), world.cache).filter(|g| g.since.is_some_and(long_enough));
    let tick = |e: &Event| is_tick(e) && now.since(e.at) <= TICKED && gone.is_none_or(|g| g.is_not_by(e));
    if events.iter().any(|(_, e)| tick(e)) {
        runtime.dispatcher = Dispatcher::Ticked;
    }
    runtime
}
