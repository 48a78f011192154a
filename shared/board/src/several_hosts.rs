//! What a board that several hosts write knows of its hosts.

use std::fmt;

use base::error::{Error, Kind, Result};
use base::quote::shell_word;
use base::registry::HEAL;
use base::time::{Time, words};
use host::{Host, HostFacts};
use serde::{Deserialize, Serialize};

use crate::{Board, Rule, Step, StepAction, claim_host};

/// For how many seconds a host counts as reachable after it attended.
pub const HOST_LEASE: i64 = 300;

/// By how many seconds the clock of a host may be off the board's. A `heal` there judges nobody while it is further off.
const MAX_SKEW: i64 = 60;

/// By how many seconds the board's clock may be off from the time since a host was started.
const SLACK: i64 = 60;

/// For how many seconds after it asked last one host alone tells a target what needs a person.
pub const HOST_TELLS: i64 = 900;

/// What moved, where another host decided for the whole board since this one attended.
pub const OVERTAKEN: &str = "what other hosts decided";

/// Whether a step of this watcher rests on how the whole board stands, such as a card, a hold, a move or a probe: of hosts that looked
/// at the same moment one alone may do it. What `heal` does with a task rests on that task, but for a reset: those it counts.
pub fn is_for_all(program: &str, step: &Step) -> bool {
    program != HEAL || step.action == StepAction::Reset
}

/// Why a step leaves its task to the host that was called gone, as the transaction that writes it finds: since the pass looked it may have been
/// suspended, and that host may be back. `looked`: what the board told as the pass attended; `now` and `hosts`: what it tells in the transaction.
/// `None`: nothing keeps the step.
pub fn is_left(step: &Step, looked: &Attended, now: Time, hosts: &[Neighbour]) -> Option<String> {
    if step.case.rule() != Rule::HostGone {
        return None;
    }
    let ago = now.since(looked.now);
    if ago > HOST_LEASE {
        return Some(format!("the lease of this host, which looked {} ago", words(ago)));
    }
    let host = claim_host(step.expect.as_ref()?.claim_lock.as_deref()?);
    let of = |hosts: &'_ [Neighbour]| hosts.iter().find(|h| h.host == host).cloned();
    let is = of(hosts).filter(|h| !h.is_forgotten())?;
    if is.healed_at.is_some_and(|at| at >= looked.now) {
        return Some(format!("host {}: heal runs there again", shown(host)));
    }
    let attended = of(&looked.hosts).is_some_and(|h| h.attends(looked.now));
    (is.attends(now) && !attended).then(|| format!("host {} attends again", shown(host)))
}

/// What a pass, or a heartbeat of `board run`, says of its host.
#[derive(Debug, Clone, Copy)]
pub struct Attendance<'a> {
    /// The host as its claims name it: the part of a lock before the first colon.
    pub host: &'a str,
    /// Which start of the host it is: see [`host::Started`].
    pub boot: &'a str,
    /// Seconds since the kernel was started, suspended time included.
    pub uptime: i64,
    /// Seconds since the machine or the container was started.
    pub age: i64,
    /// Which program attends.
    pub program: &'a str,
    /// What it does there.
    pub duty: Duty,
}

/// What a program that attends does on its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It looks at the hosts, in the name of none: another machine of its name keeps nobody from that.
    Looks,
    /// Nothing but one command: it asks for the clock, and the lease of the host stays as it is. A worker's role may do that much.
    Asks,
    /// It goes on working there, or passes there.
    Works,
    /// It is a pass of `heal`, which judges the workers of its host.
    Heals,
}

/// What a board knows of a name under which a host attends.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Which start of a host attended last.
    pub boot: &'a str,
    /// When it did.
    pub seen_at: Time,
    /// Until when it counts as reachable.
    pub lease_until: Time,
    /// When the last claim of that name ends; `None` where none lasts.
    pub claimed_until: Option<Time>,
    /// Whether an operator said that it will not come back.
    pub is_forgotten: bool,
}

impl Attendance<'_> {
    /// Refuses to go on under a name that another machine or container may still work under. Two of one name are never at work together:
    /// each would take the other's workers for dead.
    ///
    /// # Errors
    /// `Config` where both attend; `Busy` while it is waited for the lease of the earlier one, or for its claims.
    pub fn follows(&self, known: &Known<'_>, board: impl fmt::Display, now: Time) -> Result<()> {
        let kernel = |boot: &str| boot.split(':').next().map(str::to_owned);
        let is_same_kernel = kernel(known.boot) == kernel(self.boot);
        // A command of an agent may run in a pid namespace of its own.
        let only_asks = self.duty == Duty::Asks;
        if known.boot == self.boot
            || known.is_forgotten
            || self.duty == Duty::Looks
            || (only_asks && is_same_kernel)
        {
            return Ok(());
        }
        let before = |start: i64| known.seen_at <= now.plus(SLACK - start);
        // What was seen before this machine was started is over with it. So is a container of the same kernel. One on another machine may
        // be cut off, however young the machine of this one is, and its commands are stopped only as their claims end.
        let is_container = self.age < self.uptime;
        let is_over = before(self.age) && (is_same_kernel || !is_container);
        let until = known.claimed_until.filter(|_| !is_over).max(Some(known.lease_until));
        let wait = until.map_or(0, |until| until.since(now));
        if wait <= 0 || (only_asks && is_over) {
            return Ok(());
        }
        let (name, ago, wait) = (shown(self.host), words(now.since(known.seen_at)), words(wait));
        if known.lease_until > now && !before(self.age) {
            let what =
                format!("two machines call themselves {}: the other one was seen {ago} ago", self.host);
            let hint = format!(
                "set host.name on one of them; if the other one has ended, this one goes on in {wait}"
            );
            return Err(Error::new(Kind::Config, board, what).hint(hint));
        }
        let what =
            format!("host {name} was seen {ago} ago, and is another start of it: this one goes on in {wait}");
        let forget = match known.lease_until <= now {
            true => format!("or, if nothing of the earlier one works any more: board host forget {name}. "),
            false => String::new(),
        };
        let hint = format!("{forget}If two machines call themselves {name}, set host.name on one of them");
        Err(Error::new(Kind::Busy, board, what).hint(hint))
    }
}

/// A host that attended, as the board's clock tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// As its claims name it.
    pub host: String,
    /// When it attended for the first time.
    pub since: Time,
    /// When anything on it attended last.
    pub seen_at: Time,
    /// Until when it counts as reachable.
    pub lease_until: Time,
    /// When `heal` ran on it last, with a clock to judge by.
    pub healed_at: Option<Time>,
    /// Milliseconds by which its clock is ahead of the board's.
    pub skew_ms: i64,
    /// When an operator said that it will not come back.
    pub forgotten_at: Option<Time>,
}

impl Neighbour {
    /// Whether it counts as reachable then, by the board's clock.
    pub fn attends(&self, now: Time) -> bool {
        self.lease_until > now
    }

    /// Whether an operator said that it will not come back, and it did not.
    pub fn is_forgotten(&self) -> bool {
        self.forgotten_at.is_some_and(|at| at >= self.seen_at)
    }
}

/// What the board answers to an [`Attendance`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attended {
    /// The board's clock. Leases of claims and hosts are told by it alone.
    pub now: Time,
    /// When this host did the same before: to `heal`, when it ran here last; else when the host was seen last. `None`: never.
    pub before: Option<Time>,
    /// Every host of the board, this one among them, in the order of their names.
    pub hosts: Vec<Neighbour>,
}

impl Attended {
    /// Whether this host did not do the same for as long as it is thought to attend, or never did.
    pub fn is_back(&self) -> bool {
        self.before.is_none_or(|before| self.now.since(before) > HOST_LEASE)
    }

    /// The host as which the machine of another one attends now. Clones of one machine also have one machine id.
    pub fn new_name(&self, old: &Neighbour) -> Option<&Neighbour> {
        let (_, machine) = old.host.split_once('@')?;
        let is_it = |h: &&Neighbour| {
            let same = h.host.split_once('@').is_some_and(|(_, other)| other == machine);
            same && h.host != old.host && h.attends(self.now)
        };
        self.hosts.iter().find(is_it)
    }
}

/// Whether a clock is too far off to judge by, by the milliseconds that it is ahead.
pub fn is_off(skew_ms: i64) -> bool {
    skew_ms.unsigned_abs() > MAX_SKEW.unsigned_abs() * 1_000
}

/// How far off a clock is, by the milliseconds that it is ahead: `240 s behind`.
pub fn off_by(skew_ms: i64) -> String {
    let so = if skew_ms < 0 { "behind" } else { "ahead of" };
    format!("{} s {so}", skew_ms.unsigned_abs().div_ceil(1_000))
}

/// What is said of the hosts of a board that has none.
pub fn of_one_host(at: impl fmt::Display) -> Error {
    Error::new(Kind::Partial, at, "is a board of one host, which has no list of hosts")
}

/// Where a board on a server stands in the history of its server: when a replica takes over, the number grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The board and its server, with all replicas of both: one word without spaces.
    pub history: String,
    /// Which timeline it is.
    pub number: u32,
}

impl Timeline {
    /// Whether another server took over since.
    pub fn is_before(&self, other: &Timeline) -> bool {
        self.history == other.history && self.number < other.number
    }
}

/// Why a board on a server is neither read nor written from which another one took over: what it says is old, and what it is told is lost.
pub fn replaced(at: impl fmt::Display) -> Error {
    let error = Error::new(Kind::Data, &at, "this server is behind: it was replaced");
    let meant = format!("watchbill forget --db {}", shell_word(&at.to_string()));
    error.hint(format!(
        "stop it, and use the address of the server that took over; if this one is meant, as after a restore: `{meant}`"
    ))
}

/// Says to a board that several hosts share that this one is there, as [`Board::attend`] does. `None` on a board of one host.
///
/// # Errors
/// See [`Board::attend`].
pub fn attend(board: &mut dyn Board, host: &Host, program: &str, duty: Duty) -> Result<Option<Attended>> {
    if !board.is_shared() {
        return Ok(None);
    }
    let HostFacts { hostname, .. } = &host.facts();
    let (uptime, started) = (host.boot_clock(), host.started());
    let (boot, age) = (started.boot.as_str(), started.age);
    board.attend(&Attendance { host: hostname, boot, uptime, age, program, duty })
}

/// Why nothing is known of an attempt that ran on another host.
pub fn log_is_on(host: &str) -> String {
    format!("its log is on {}", shown(host))
}

/// The part of a host's name that people know it by: what stands behind `@` tells hosts of one name apart.
pub fn shown(host: &str) -> &str {
    host.split('@').next().unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::testing::{NOW, detail};

    const H2: &str = "h2@b";

    fn neighbour(seen_at: Time, healed_at: Time) -> Neighbour {
        Neighbour {
            host: H2.into(),
            since: NOW.plus(-90_000),
            seen_at,
            lease_until: seen_at.plus(HOST_LEASE),
            healed_at: Some(healed_at),
            skew_ms: 0,
            forgotten_at: None,
        }
    }

    #[test]
    fn a_step_on_the_work_of_a_gone_host_is_written_only_as_long_as_that_is_gone() {
        let mut seen = detail("t_0000000a", Status::Running);
        seen.task.claim_lock = Some(format!("{H2}:7:ab"));
        let requeue = |rule: Rule| Step::on(&seen, StepAction::Requeue, rule, Vec::new());
        let long_ago = NOW.plus(-3_600);
        let silent = neighbour(long_ago, long_ago);
        // It attends, and no heal runs there.
        let unhealed = neighbour(NOW, long_ago);
        let forgotten = Neighbour { forgotten_at: Some(NOW.plus(9)), ..neighbour(NOW.plus(9), NOW.plus(9)) };
        let left = |rule: Rule, before: &Neighbour, after: i64, is: Option<&Neighbour>| {
            let looked = Attended { now: NOW, before: None, hosts: vec![before.clone()] };
            let hosts: Vec<Neighbour> = is.into_iter().cloned().collect();
            is_left(&requeue(rule), &looked, NOW.plus(after), &hosts)
        };
        let gone = Rule::HostGone;
        let (away, heals, attends) = (
            "the lease of this host, which looked 5m ago".to_owned(),
            "host h2: heal runs there again".to_owned(),
            "host h2 attends again".to_owned(),
        );
        for (rule, before, after, is, told) in [
            (gone.clone(), &silent, 300, Some(&silent), None),
            (gone.clone(), &silent, 301, Some(&silent), Some(&away)),
            (Rule::DeadWorker, &silent, 301, Some(&silent), None),
            // Another program of that host attends, or heal itself.
            (gone.clone(), &silent, 9, Some(&neighbour(NOW.plus(5), long_ago)), Some(&attends)),
            (gone.clone(), &silent, 9, Some(&neighbour(NOW.plus(5), NOW.plus(5))), Some(&heals)),
            (gone.clone(), &unhealed, 9, Some(&neighbour(NOW.plus(5), long_ago)), None),
            (gone.clone(), &unhealed, 9, Some(&neighbour(NOW.plus(5), NOW)), Some(&heals)),
            // An operator says that it will not come back; or nobody knows it.
            (gone.clone(), &silent, 9, Some(&forgotten), None),
            (gone.clone(), &silent, 9, None, None),
        ] {
            assert_eq!(left(rule.clone(), before, after, is).as_ref(), told, "{rule:?} {after} {is:?}");
        }
    }
}
