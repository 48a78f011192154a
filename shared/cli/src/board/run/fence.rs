//! The end of a command whose claim is about to run out while the board cannot be reached. When the claim is over another host may
//! begin with the task, so by then nothing of the command lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;

use host::{Host, OwnChild};

use super::LOOK;
use base::reason::Reason;

/// How long before the end of a claim its command is stopped, in seconds; a third of the claim where that is shorter.
const MARGIN: i64 = 30;

/// How a claim stands that was renewed for so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lease {
    /// It lasts.
    Holds,
    /// It is about to run out. Nothing was heard of the board for so many seconds.
    Ends(i64),
}

/// Judges a claim of `ttl` seconds. `renewed` is the boot clock just before its last renewal was sent that the board confirmed.
pub(super) fn lease(renewed: i64, ttl: i64, now: i64) -> Lease {
    let unheard = now.saturating_sub(renewed);
    if unheard < ttl - MARGIN.min(ttl / 3) { Lease::Holds } else { Lease::Ends(unheard) }
}

/// A command that is stopped when its claim is about to run out, also while the harness waits for an answer of the board.
pub(super) struct Fence {
    state: Arc<State>,
    thread: JoinHandle<Option<Stopped>>,
}

struct State {
    ttl: i64,
    renewed: AtomicI64,
    /// The harness needs it no more.
    over: AtomicBool,
    /// The command is being stopped, or was.
    stops: AtomicBool,
}

impl State {
    fn lease(&self, now: i64) -> Lease {
        lease(self.renewed.load(Ordering::SeqCst), self.ttl, now)
    }
}

/// A command that was stopped.
pub(super) struct Stopped {
    /// For how many seconds nothing was heard of the board.
    pub(super) unheard: i64,
    /// What of it still lives, in words.
    pub(super) how: Result<(), Reason>,
}

impl Fence {
    /// For a command whose claim was asked for at `renewed` by the boot clock.
    pub(super) fn new(command: OwnChild, host: Host, renewed: i64, ttl: i64) -> Fence {
        let state = Arc::new(State {
            ttl,
            renewed: AtomicI64::new(renewed),
            over: AtomicBool::new(false),
            stops: AtomicBool::new(false),
        });
        let its = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            while !its.over.load(Ordering::SeqCst) {
                if let Lease::Ends(unheard) = its.lease(host.boot_clock()) {
                    // Said first: that the command ended must not be taken for its own doing. Nor the other way round: what it did is
                    // done, though the board did not hear of it yet.
                    its.stops.store(!command.has_ended(), Ordering::SeqCst);
                    return Some(Stopped { unheard, how: command.stop(&host) });
                }
                std::thread::sleep(LOOK);
            }
            None
        });
        Fence { state, thread }
    }

    /// Whether the claim can still be renewed: after a suspend the command is stopped before the board is asked.
    pub(super) fn holds(&self, now: i64) -> bool {
        self.state.lease(now) == Lease::Holds
    }

    /// The board confirmed what was sent then.
    pub(super) fn renew(&self, sent: i64) {
        self.state.renewed.store(sent, Ordering::SeqCst);
    }

    pub(super) fn stops(&self) -> bool {
        self.state.stops.load(Ordering::SeqCst)
    }

    /// Takes it away; what became of the command, if it stopped it.
    pub(super) fn end(self) -> Option<Stopped> {
        self.state.over.store(true, Ordering::SeqCst);
        self.thread.join().ok().flatten()
    }
}

/// A length of time as people say it: `14m30s`.
pub(super) fn long(seconds: i64) -> String {
    let length = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    humantime::format_duration(length).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_before_its_claim_does() {
        for (renewed, ttl, now, want) in [
            (1_000, 900, 1_000, Lease::Holds),
            (1_000, 900, 1_869, Lease::Holds),
            (1_000, 900, 1_870, Lease::Ends(870)),
            // After a suspend.
            (1_000, 900, 9_000, Lease::Ends(8_000)),
            // A third of a short claim.
            (1_000, 60, 1_039, Lease::Holds),
            (1_000, 60, 1_040, Lease::Ends(40)),
            (1_000, 90, 1_059, Lease::Holds),
            (1_000, 90, 1_060, Lease::Ends(60)),
            (1_000, 10, 1_006, Lease::Holds),
            (1_000, 10, 1_007, Lease::Ends(7)),
            (1_000, 86_400, 87_369, Lease::Holds),
            (1_000, 86_400, 87_370, Lease::Ends(86_370)),
        ] {
            assert_eq!(lease(renewed, ttl, now), want, "{renewed} {ttl} {now}");
        }
    }

    #[test]
    fn lengths_of_time() {
        for (seconds, want) in [(870, "14m30s"), (7, "7s"), (8_000, "2h13m20s"), (3_600, "1h"), (-1, "0s")] {
            assert_eq!(long(seconds), want);
        }
    }
}
