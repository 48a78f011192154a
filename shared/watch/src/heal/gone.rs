//! The work of other hosts on a board that several share. Whether a host is gone is told by its claims and by what it said of itself, all
//! by the board's clock, and never by processes: those of another host cannot be seen.

use std::collections::{BTreeMap, BTreeSet};

use super::resume::Warnings;
use super::running::Death;
use super::seen::{HostsSeen, Seen, TaskSeen};
use super::{Rules, Verdict};
use base::cause::Cause;
use base::count::pick;
use base::time::{Time, words};
use board::several_hosts::{log_is_on, shown};
use board::{Attended, Detail, Event, EventKind, HOST_LEASE, Neighbour, Rule, Status, Task, claim_host};
use config::span::seconds;
use config::{HostGone, HostKeys};
use host::{Freed, Look};
use policy::said::{Kind, Said};
use policy::{Stuck, World};

/// The hosts of a board that several share; `None` on a board of one host.
pub(super) fn observe(world: &World<'_>, running: &[Task]) -> Option<HostsSeen> {
    let attended = world.hosts.clone()?;
    let mut holders = BTreeMap::new();
    for t in running.iter().filter(|t| t.status == Status::Running) {
        if let Some(host) = t.claim_host().filter(|host| !world.host.is_here(host)) {
            let until: &mut Option<Time> = holders.entry(host.to_owned()).or_default();
            *until = (*until).max(t.claim_expires);
        }
    }
    Some(HostsSeen { attended, holders })
}

/// The running tasks that other hosts hold: what becomes of them is decided there, so they are not looked at closely. Not those of which
/// a process of this host says that it works on them, and none where no `heal` ran here for as long as a host is thought to attend: what this
/// host left is looked for then.
pub(super) fn held_elsewhere<'t>(world: &World<'_>, rows: &'t [Task]) -> BTreeSet<&'t str> {
    let Some(now) = world.hosts.as_ref().filter(|attended| !attended.is_back()).map(|attended| attended.now)
    else {
        return BTreeSet::new();
    };
    let held: Vec<&Task> =
        rows.iter().filter(|t| is_held(t, now, &|host| world.host.is_here(host))).collect();
    let asked: Vec<Freed<'_>> = held.iter().map(|t| Freed::named(&t.id)).collect();
    let at_work = world.host.at_work(&asked);
    held.iter().zip(at_work).filter(|(_, process)| process.is_none()).map(|(t, _)| t.id.as_str()).collect()
}

/// Whether another host runs a task, under a claim that lasts.
pub(super) fn is_held(t: &Task, now: Time, is_here: &dyn Fn(&str) -> bool) -> bool {
    t.status == Status::Running
        && t.claim_host().is_some_and(|host| !is_here(host))
        && t.claim_expires.is_some_and(|until| now < until)
}

/// The worker of an earlier attempt at a task that another host has now: it was claimed here, and its process lives. Its host was called gone and
/// came back.
pub(super) fn left_here(world: &World<'_>, d: &Detail) -> Option<i64> {
    let claimed_here = |e: &Event| {
        let is_earlier = e.kind == EventKind::Claimed && e.run != d.task.current_run;
        let is_here = is_earlier && world.host.is_here(claim_host(e.payload.get("lock")?.as_str()?));
        let worker = e.recorded_worker().filter(|_| is_here)?;
        Some(((e.run?, worker.pid), worker))
    };
    let (workers, recorded): (Vec<_>, Vec<_>) = d.events.iter().filter_map(claimed_here).unzip();
    if recorded.is_empty() || d.task.status != Status::Running {
        return None;
    }
    let asked = Freed { task: &d.task.id, workers: workers.into(), recorded: recorded.as_slice().into() };
    let at_work = world.host.at_work(&[asked]).into_iter().flatten().next()?;
    recorded.iter().any(|r| r.pid == at_work.pid).then_some(at_work.pid)
}

/// What is said of it: nobody here ends it, and what it says is refused by the board.
pub(super) fn told_left(t: &TaskSeen) -> Option<String> {
    let (pid, host) = t.left_here.zip(t.abroad.as_deref())?;
    let (id, host) = (&t.detail.task.id, shown(host));
    Some(format!(
        "{id}: {host} has worked on it since this host was gone, and process {pid} of the earlier attempt still runs here: kill {pid}"
    ))
}

/// How a host stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing<'a> {
    /// It renews its lease, and `heal` runs there.
    Well,
    /// An operator said, then, that it will not come back.
    Forgotten(Time),
    /// The board never heard of it.
    Absent,
    /// It did not renew its lease since then.
    Silent(Time),
    /// It renews its lease, but no `heal` ran there since then.
    Unhealed(Time),
    /// Its machine attends under this name: its workers may live.
    Renamed(&'a str),
}

/// What the work of another host comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its claim lasts.
    Held,
    /// Its claim ran out, so many seconds ago; its host was seen lately, or attends under another name, and may go on with it.
    Left(i64),
    /// Its claim ran out, so many seconds ago, and its host does not go on with it; from then on it is gone.
    Late(i64, Time),
    /// Its host is gone, and its claim ran out so many seconds ago.
    Gone(i64),
}

/// Other hosts, judged once a pass.
pub(super) struct Hosts<'a> {
    seen: &'a HostsSeen,
    keys: &'a HostKeys,
    /// Why nobody is called gone in this pass.
    doubt: Option<Doubt>,
}

/// Why it is more likely this host that is cut off than the others.
enum Doubt {
    /// It did not look at the board for long itself: with its next pass that is over.
    Away(String),
    /// Most hosts seem gone, to each that asks.
    Most(String),
}

impl Doubt {
    fn said(&self) -> &str {
        let (Doubt::Away(said) | Doubt::Most(said)) = self;
        said
    }
}

impl<'a> Hosts<'a> {
    pub(super) fn of(seen: &'a Seen, keys: &'a HostKeys) -> Option<Hosts<'a>> {
        let mut hosts = Hosts { seen: seen.hosts.as_ref()?, keys, doubt: None };
        hosts.doubt = hosts.doubt();
        Some(hosts)
    }

    fn now(&self) -> Time {
        self.seen.attended.now
    }

    fn stands(&self, host: &str) -> Standing<'a> {
        let Some(h) = self.seen.attended.hosts.iter().find(|h| h.host == host) else {
            return Standing::Absent;
        };
        let Neighbour { since, seen_at, healed_at, .. } = *h;
        let healed = healed_at.unwrap_or(since);
        match () {
            () if h.is_forgotten() => Standing::Forgotten(h.forgotten_at.unwrap_or(seen_at)),
            () if !h.attends(self.now()) => {
                let new = self.seen.attended.new_name(h);
                new.map_or(Standing::Silent(seen_at), |new| Standing::Renamed(shown(&new.host)))
            }
            // Two rounds of the timers, whatever was chosen: between two of them a host is well.
            () if healed.plus(seconds(self.keys.gone_after).max(HOST_LEASE)) <= self.now() => {
                Standing::Unhealed(healed)
            }
            () => Standing::Well,
        }
    }

    /// Whether nobody will tell on that host any more what is known there alone.
    fn has_left(&self, host: &str) -> bool {
        let long = |at: Time| at.plus(seconds(self.keys.gone_after)) <= self.now();
        self.doubt.is_none()
            && match self.stands(host) {
                Standing::Well => false,
                Standing::Silent(at) => long(at),
                Standing::Forgotten(_) | Standing::Absent | Standing::Unhealed(_) | Standing::Renamed(_) => {
                    true
                }
            }
    }

    /// What becomes of a claim of that host.
    fn fate(&self, host: &str, claim_expires: Time) -> Fate {
        let (over, patience) = (self.now().since(claim_expires), seconds(self.keys.gone_after));
        let stands = self.stands(host);
        // A worker whose harness does not stop it works on behind a claim that ran out. Only silence as long as that ends it.
        let from = match stands {
            Standing::Silent(at) => at.max(claim_expires),
            _ => claim_expires,
        };
        let until = from.plus(patience);
        match stands {
            _ if over < 0 => Fate::Held,
            Standing::Forgotten(_) => Fate::Gone(over),
            Standing::Well | Standing::Renamed(_) => Fate::Left(over),
            _ if self.now() < until => Fate::Late(over, until),
            Standing::Absent | Standing::Silent(_) | Standing::Unhealed(_) => Fate::Gone(over),
        }
    }

    /// Why it is more likely this host that is cut off than the others. A host that was forgotten is gone by an operator's decision.
    fn doubt(&self) -> Option<Doubt> {
        let Attended { now, before, .. } = self.seen.attended;
        match before {
            None => return Some(Doubt::Away("heal runs on this host for the first time".into())),
            Some(before) if self.seen.attended.is_back() => {
                let ago = words(now.since(before));
                return Some(Doubt::Away(format!("no heal ran on this host itself for {ago}")));
            }
            Some(_) => {}
        }
        // Every host that asks counts the same: each host that is well, with claims or without, against each that has claims and seems gone. This
        // host is one of those that are well.
        let is_well = |h: &&Neighbour| self.stands(&h.host) == Standing::Well;
        let (mut there, mut gone) = (self.seen.attended.hosts.iter().filter(is_well).count(), 0);
        for (host, until) in &self.seen.holders {
            match self.stands(host) {
                // Counted above; gone by an operator's decision; and not gone, under another name.
                Standing::Well | Standing::Forgotten(_) | Standing::Renamed(_) => {}
                // A host of workers alone, or of a role that may not attend, is known by its claims.
                Standing::Absent if until.is_some_and(|until| until > now) => there += 1,
                Standing::Absent | Standing::Silent(_) | Standing::Unhealed(_) => gone += 1,
            }
        }
        let all = there + gone;
        (2 * gone > all).then(|| Doubt::Most(format!("{gone} of {all} hosts seem gone at once")))
    }

    /// What is so, of a claim that ran out so many seconds ago.
    fn because(&self, host: &str, over: i64) -> String {
        let (name, over, ago) = (shown(host), words(over), |at: Time| words(self.now().since(at)));
        let what = match self.stands(host) {
            Standing::Well => format!("host {name} attends"),
            Standing::Forgotten(at) => format!("host {name} was forgotten {} ago", ago(at)),
            Standing::Absent => format!("host {name} is not known to this board"),
            Standing::Silent(at) => format!("host {name} was last seen {} ago", ago(at)),
            Standing::Unhealed(at) => format!("no heal ran on host {name} for {}", ago(at)),
            Standing::Renamed(new) => format!("host {name} is called {new} now"),
        };
        format!("{what}, the claim ran out {over} ago")
    }

    /// Its claim ran out, and its host was seen lately. Whether its worker lives is known there alone.
    fn may_go_on(&self, host: &str, over: i64) -> Verdict {
        let known = self.seen.attended.hosts.iter().find(|h| h.host == host);
        let seen = known
            .map_or_else(String::new, |h| format!("was seen {} ago, ", words(self.now().since(h.seen_at))));
        let (name, over) = (shown(host), words(over));
        let because = format!("its claim ran out {over} ago; host {name} {seen}and judges its own workers");
        match known {
            Some(h) => Verdict::Wait(because, h.lease_until),
            None => Verdict::Leave(because),
        }
    }

    /// Whether the work of a gone host is only told. Of one that was forgotten an operator said that it will not come back.
    fn is_left_running(&self, host: &str) -> bool {
        self.keys.gone == HostGone::Report && !matches!(self.stands(host), Standing::Forgotten(_))
    }

    /// What a person does about the work of a gone host that is left running.
    fn bring_back(&self, host: &str) -> String {
        let name = shown(host);
        match self.stands(host) {
            // A board forgets only hosts that it knows.
            Standing::Absent => {
                "Bring it back, or set host.gone = \"requeue\": heal then requeues what it left".to_owned()
            }
            Standing::Unhealed(_) => format!("Let heal run on {name} again: it judges the workers there"),
            _ => format!("Bring it back; if it will not come back: board host forget {name}"),
        }
    }

    /// Nobody goes on with a task of that host before a person does that.
    fn stuck(&self, host: &str, expires: Time, over: i64, why: &str, todo: String) -> Verdict {
        let since = match self.stands(host) {
            Standing::Forgotten(at) | Standing::Silent(at) | Standing::Unhealed(at) => at,
            Standing::Well | Standing::Absent | Standing::Renamed(_) => expires,
        };
        let stuck = Stuck { host: shown(host).to_owned(), since, todo };
        Verdict::Stuck(format!("{}{why}", self.because(host, over)), stuck)
    }

    /// What is told of other hosts: one line for each, or one for all where they are not judged.
    pub(super) fn findings<'t>(
        &'t self,
        tasks: impl Iterator<Item = &'t TaskSeen>,
        of_all: bool,
    ) -> Vec<Said> {
        // Also of what is not looked at closely.
        let holders = self.seen.holders.iter().filter(|(_, until)| of_all && until.is_some());
        let mut held: BTreeMap<&str, Vec<i64>> =
            holders.map(|(host, _)| (host.as_str(), Vec::new())).collect();
        for t in tasks {
            let Some((host, expires)) = abroad(t) else { continue };
            let gone = held.entry(host).or_default();
            if let Fate::Gone(over) = self.fate(host, expires) {
                gone.push(over);
            }
        }
        let is_gone = |gone: &Vec<i64>| !gone.is_empty();
        if let Some(doubt) = &self.doubt {
            let names: Vec<&str> = held.iter().filter(|(_, g)| is_gone(g)).map(|(h, _)| shown(h)).collect();
            let said = format!("{}: nothing is done about the work of {}", doubt.said(), names.join(", "));
            let hosts = names.iter().map(|name| (*name).to_owned()).collect();
            return (!names.is_empty()).then(|| Said::of(Kind::Hosts(hosts), said)).into_iter().collect();
        }
        let told = |(host, gone): (&str, Vec<i64>)| match gone.iter().max() {
            Some(longest) => Some(self.told_gone(host, *longest, gone.len())),
            None => match self.stands(host) {
                Standing::Unhealed(_) => Some(format!("{} has workers and no heal", shown(host)).into()),
                Standing::Renamed(new) => Some(told_renamed(host, new)),
                _ => None,
            },
        };
        held.into_iter().filter_map(told).collect()
    }

    fn told_gone(&self, host: &str, longest: i64, tasks: usize) -> Said {
        let (its, is) = pick(tasks, ("its task", "is"), ("its tasks", "are"));
        // Also said by who only looks, before a pass did it.
        let done = match self.is_left_running(host) {
            false => format!("heal requeues {its}"),
            true => format!("{its} {is} left running (`host.gone`)"),
        };
        let n = if tasks == 1 { String::new() } else { format!(" ({tasks})") };
        let said = format!("{}: {done}{n}", self.because(host, longest));
        match self.stands(host) {
            // That is told beside its tasks, too.
            Standing::Unhealed(_) => said.into(),
            _ => of_host(host, said),
        }
    }
}

/// What is told of the work of one host.
fn of_host(host: &str, said: String) -> Said {
    Said::of(Kind::Hosts(vec![shown(host).to_owned()]), said)
}

/// Nobody judges what a host left under its old name: a person sees whether its workers live.
fn told_renamed(host: &str, new: &str) -> Said {
    let was = shown(host);
    of_host(host, format!("host {was} is called {new} now: its tasks are left running. {}", name_again(host)))
}

/// What lets a machine with a new name judge what it left under the old one.
fn name_again(host: &str) -> String {
    format!("Set host.name = \"{host}\" there until its workers have ended")
}

/// The other host that claims a running task, and the end of that claim.
fn abroad(t: &TaskSeen) -> Option<(&str, Time)> {
    let row = &t.detail.task;
    let lock = row.claim_lock.as_deref().filter(|_| row.status == Status::Running && !t.claim_here)?;
    Some((claim_host(lock), row.claim_expires?))
}

impl Rules<'_> {
    /// A running task that another host claims, on a board that several share; `None`: it is not one, or its claim lasts.
    pub(super) fn of_another_host(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let hosts = self.hosts.as_ref()?;
        let (host, expires) = abroad(t)?;
        let verdict = match hosts.fate(host, expires) {
            Fate::Held => return None,
            Fate::Left(over) => match hosts.stands(host) {
                Standing::Renamed(_) => hosts.stuck(host, expires, over, "", name_again(host)),
                _ => hosts.may_go_on(host, over),
            },
            Fate::Late(over, until) => {
                let because = hosts.because(host, over);
                let at = until.local_moment(self.seen.now);
                Verdict::Wait(format!("{because}; left there until {at}"), until)
            }
            Fate::Gone(over) => {
                let because = hosts.because(host, over);
                match (&hosts.doubt, hosts.is_left_running(host)) {
                    // The next pass of this host may see it otherwise.
                    (Some(Doubt::Away(why)), _) => {
                        Verdict::Unknown(format!("{because}; {why}: nothing is done"))
                    }
                    (Some(Doubt::Most(why)), _) => {
                        let (why, name) = (format!("; {why}: nothing is done"), shown(host));
                        let todo = format!(
                            "Bring those hosts back; of one that will not come back: board host forget {name}"
                        );
                        hosts.stuck(host, expires, over, &why, todo)
                    }
                    (None, true) => {
                        let todo = hosts.bring_back(host);
                        hosts.stuck(host, expires, over, "; left running (`host.gone`)", todo)
                    }
                    (None, false) => self.take_back(t, look, &because),
                }
            }
        };
        Some(verdict)
    }

    /// What ended the newest attempt stands in a log on another host. That one decides, as long as it is there.
    pub(super) fn told_elsewhere(&self, t: &TaskSeen) -> Option<Verdict> {
        let (hosts, host) = (self.hosts.as_ref()?, t.abroad.as_deref()?);
        (!hosts.has_left(host)).then(|| Verdict::Elsewhere(log_is_on(host)))
    }

    /// Requeues what a host left that is gone. By the board alone: its log and its folder are there.
    fn take_back(&self, t: &TaskSeen, look: &Look, because: &str) -> Verdict {
        let death = Death { case: Rule::HostGone, what: because.to_owned(), excused: Some(""), look };
        let stopped = self.over_cap(t, &death, because).or_else(|| self.behind_card(t, &death, because));
        stopped.unwrap_or_else(|| {
            self.requeue(t, &death, Cause::WorkerGone, because.to_owned(), &Warnings::default())
        })
    }
}
