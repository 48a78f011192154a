//! Running rows: dead workers, recycled pids, orphaned rows, claims that ran out.

use serde_json::json;

use super::resume::{self, Ground, Warnings};
use super::seen::TaskSeen;
use super::{Rules, Verb, Verdict, count, hold};
use base::cause::{Cause, Owner};
use base::count::times;
use base::time::{Time, words};
use board::hermes;
use board::{HandOver, Rule, Status, StepAction};
use config::span::seconds;
use host::{Life, Look, Orphan, Proof};
use logs::LogEnd;
use policy::attempts::session::Standing;
use policy::attempts::tally::tally;
use policy::attempts::worker::ask;
use policy::authorship;
use policy::needs_operator::SILENT;

/// Seconds for which a log that cannot be read stops a task before a person is asked: in working hours the operator has mended a
/// disk, a mount or a mode by then, and no night is lost altogether.
pub(super) const BLIND: i64 = 6 * 3_600;

/// Why a task is held, and when its provider answers again where its log says so.
pub(super) struct Hold {
    pub(super) cause: Cause,
    pub(super) resets: Option<Time>,
}

/// What is dead about a running row.
pub(super) struct Death<'a> {
    pub(super) case: Rule,
    /// The sentence about the worker, without how long ago.
    pub(super) what: String,
    /// Proven to be no fault of the task, for this reason; empty where the sentence says it.
    pub(super) excused: Option<&'a str>,
    pub(super) look: &'a Look,
}

impl Rules<'_> {
    pub(super) fn running(&self, t: &TaskSeen) -> Verdict {
        let row = &t.detail.task;
        let Some(look) = &t.worker else {
            return Verdict::Unknown("its worker could not be looked at".into());
        };
        if let Some(verdict) = self.of_another_host(t, look) {
            return verdict;
        }
        if look.life == Life::Alive {
            return self.living(t, look);
        }
        if row.worker_pid.is_none() && row.claim_lock.is_some() {
            return self.lease_ran_out(t, look);
        }
        match look.life {
            Life::Gone => {}
            _ => return Verdict::Unknown(format!("worker unknown: {}", look.because)),
        }
        let quiet = self.unheard(t);
        if quiet < self.grace() {
            return self.heard_though_gone(t, look, quiet);
        }
        let started = self.started(t);
        let birth = ask(&t.detail).and_then(|ask| ask.birth);
        let rebooted = self.seen.host.as_ref().is_some_and(|h| h.precedes_boot(started, birth.as_ref()));
        let orphan_row = row.claim_lock.is_none();
        let excused = match () {
            () if rebooted => Some("the machine was restarted since"),
            () if orphan_row => Some("the task had lost its claim"),
            () if look.claimer == Life::Gone && self.claimer_should_live(&t.detail) => {
                Some("the dispatcher that started it is gone too")
            }
            () => None,
        };
        let case = match () {
            () if orphan_row => Rule::OrphanRow,
            () if look.proof.as_ref().is_some_and(|p| p.start_ticks.is_some()) => Rule::RecycledPid,
            () => Rule::DeadWorker,
        };
        let what = match row.worker_pid {
            Some(pid) if case == Rule::RecycledPid => {
                format!("worker {pid} gone, its pid is another process now")
            }
            Some(pid) => format!("worker {pid} gone"),
            None => "no worker".to_owned(),
        };
        self.bury(t, Death { case, what, excused, look })
    }

    /// A worker is gone, and something gave a sign of life `quiet` seconds ago: it died a moment ago, or others go on in its name.
    fn heard_though_gone(&self, t: &TaskSeen, look: &Look, quiet: i64) -> Verdict {
        if resume::may_note_early(t) {
            if let Some(wait) = self.orphans(t, look) {
                return wait;
            }
            // The sooner it is noted, the less others can have done to it; and the requeue need not wait for it.
            if let Ground::Unnoted(state) = self.ground(t) {
                return self.note_tree(t, &state, &format!("worker gone: {}", look.because));
            }
        }
        let gone = t.gone_since.map_or(0, |at| self.awake_since(at));
        if gone >= BLIND {
            let because =
                format!("its worker has been gone for {}, and heartbeats for it still come", words(gone));
            let mend = "end what sends them; heal requeues the task then";
            return self.tell(t, SILENT, because, mend);
        }
        let because = format!("worker gone, but only quiet for {}: {}", words(quiet), look.because);
        Verdict::Wait(because, self.seen.now.plus(self.grace() - quiet))
    }

    /// A claim without a known worker is a lease: it is void once it ran out. A dead claimer proves nothing, since a
    /// command line that claims is gone by nature.
    fn lease_ran_out(&self, t: &TaskSeen, look: &Look) -> Verdict {
        let row = &t.detail.task;
        if !t.claim_here {
            return Verdict::Unknown(format!("worker unknown: {}", look.because));
        }
        match t.session.as_ref().map(|s| (&s.session, &s.standing)) {
            Some((session, Standing::Orphaned(said))) => {
                return self.orphaned_session(t, look, &format!("session {session} is orphaned: {said}"));
            }
            Some((session, Standing::AtWork)) => {
                return Verdict::Leave(format!("session {session} is at work"));
            }
            Some((_, Standing::Idle | Standing::Unknown(_))) | None => {}
        }
        let (said, started) = (self.started(t), self.begun(t));
        let beat = t.detail.task.last_heartbeat_at.filter(|at| self.is_sane(*at));
        let ceiling = started.max(beat.unwrap_or(started));
        // By a clock that was ahead: it lasts as long as it was made for, until it is renewed by the right one.
        let is_ahead =
            |until: Time| !self.is_sane(said) && until >= said && beat.is_none_or(|at| at < started);
        let lasts = |until: Time| if is_ahead(until) { started.plus(until.since(said)) } else { until };
        let ends =
            row.claim_expires.map_or(started, lasts).min(ceiling.plus(seconds(self.policy.claim_ceiling)));
        // Where the clock was set since, the whole lease counts from then: the worker renews it, if there is one.
        let ends = ends.plus(self.seen.steady_since.map_or(0, |steady| steady.since(ceiling).max(0)));
        // A lease is told by the clock of the board, where it has one.
        let clock = self.seen.hosts.as_ref().map_or(self.seen.now, |hosts| hosts.attended.now);
        let over = clock.since(ends);
        if over < 60 || self.quiet(t) < self.grace() {
            let until = ends.local_moment(self.seen.now);
            // The first moment at which both are over.
            let next = ends.plus(60).max(self.seen.now.plus(self.grace() - self.quiet(t)));
            return match t.session.as_ref().map(|s| (&s.session, &s.standing)) {
                Some((session, Standing::Unknown(why))) => Verdict::Unknown(format!(
                    "session {session} unknown: {why}; the claim runs until {until}"
                )),
                Some((session, _)) => {
                    Verdict::Wait(format!("session {session} is idle; the claim runs until {until}"), next)
                }
                None => Verdict::Wait(format!("no worker known; the claim runs until {until}"), next),
            };
        }
        let what = format!("no worker known, claim ran out {} ago", words(over));
        self.bury(t, Death { case: Rule::NoPid, what, excused: Some("its worker was never recorded"), look })
    }

    /// A session whose server was started again is dead like a worker whose process is, whatever its claim says.
    /// Its server served others as well, so that its end is nobody's fault.
    fn orphaned_session(&self, t: &TaskSeen, look: &Look, what: &str) -> Verdict {
        let quiet = self.quiet(t);
        if quiet < self.grace() {
            if let Ground::Unnoted(state) = self.ground(t) {
                return self.note_tree(t, &state, what);
            }
            let because = format!("{what}; quiet for {} only", words(quiet));
            return Verdict::Wait(because, self.seen.now.plus(self.grace() - quiet));
        }
        let (case, excused) = (Rule::SessionOrphaned, Some("its server was started again since"));
        self.bury(t, Death { case, what: what.to_owned(), excused, look })
    }

    /// Decides what becomes of the work of a worker that is gone.
    fn bury(&self, t: &TaskSeen, mut death: Death<'_>) -> Verdict {
        let quiet = self.unheard(t);
        if let Some(wait) = self.orphans(t, death.look) {
            return wait;
        }
        let mut because = format!("{}, last heard from {} ago", death.what, words(quiet));
        // Before the cap: the log says which attempts died and which were refused.
        if let LogEnd::Unreadable(why) = &t.log {
            let what = format!("{}, but its log cannot be read: {why}", death.what);
            return self.unreadable(t, death.look.proof.clone(), &what, quiet);
        }
        if let Some(verdict) = self.over_cap(t, &death, &because) {
            return verdict;
        }
        let mut cause = Cause::WorkerGone;
        if let LogEnd::Ended(e) = &t.log
            && e.cause.owner() == Owner::Distress
        {
            because.push_str(&format!("; its log ends on {}", e.cause.as_str()));
            if resume::is_lasting(t, e) {
                let why = Hold { cause: e.cause, resets: e.resets };
                return self.park(t, death.case, death.look.proof.clone(), why, &because);
            }
            // Written down, so that the next one is known to be the second.
            (cause, death.excused) = (e.cause, Some("for the first time"));
        }
        if let Some(verdict) = self.behind_card(t, &death, &because) {
            return verdict;
        }
        let warnings = match self.ground(t) {
            Ground::Unnoted(state) => return self.note_tree(t, &state, &because),
            Ground::Settling(at) => {
                let ago = words(self.seen.now.since(at));
                let because =
                    format!("{because}; its working tree was noted {ago} ago, and a later pass requeues it");
                return Verdict::Wait(because, at.plus(resume::SETTLE));
            }
            Ground::Drifted(drift) => return self.drifted(t, death.look, &drift, &because),
            Ground::Fine(warnings) => warnings,
        };
        because.push_str(&warnings.told());
        if !death.look.orphans.is_empty() {
            let pids: Vec<_> = death.look.orphans.iter().map(|o| o.pid.to_string()).collect();
            because.push_str(&format!("; its children still run: {}", pids.join(", ")));
        }
        self.requeue(t, &death, cause, because, &warnings)
    }

    /// A person, where too many attempts died.
    pub(super) fn over_cap(&self, t: &TaskSeen, death: &Death<'_>, because: &str) -> Option<Verdict> {
        let died = resume::attempts(t) - i64::from(death.excused.is_some());
        (died > i64::from(self.policy.max_resumes)).then(|| self.capped(t, death.look, died, because))
    }

    /// A hold, where a card about the task is open, or what was decided on one is still to be carried out.
    pub(super) fn behind_card(&self, t: &TaskSeen, death: &Death<'_>, because: &str) -> Option<Verdict> {
        let open = t.detail.cards.first().map(|card| format!("its distress card {card} is open"));
        let because = format!("{because}; {}", open.or_else(|| self.decided(&t.detail))?);
        let why = Hold { cause: Cause::WorkerGone, resets: None };
        Some(self.park(t, death.case.clone(), death.look.proof.clone(), why, &because))
    }

    /// Puts a dead worker's task back into the queue, at the failure limit not.
    pub(super) fn requeue(
        &self,
        t: &TaskSeen,
        death: &Death<'_>,
        cause: Cause,
        because: String,
        warnings: &Warnings,
    ) -> Verdict {
        let tally = tally(&t.detail, seconds(self.policy.decay));
        // A limit set by hand means that every attempt counts.
        let by_hand = t.detail.task.max_retries.is_some();
        // A history that is too long to count in excuses nothing.
        let may_excuse = !by_hand && !t.detail.is_truncated;
        let excused =
            death.excused.filter(|_| may_excuse && tally.uncounted < i64::from(self.policy.max_uncounted));
        let verb = |because| {
            Verb::new(StepAction::Requeue, death.case.clone(), because)
                .cause(Some(cause))
                .proof(death.look.proof.clone())
        };
        match excused {
            Some(excuse) => {
                let excuse = if excuse.is_empty() { String::new() } else { format!(" ({excuse})") };
                let verb = verb(because + &excuse).fact("uncounted", json!(tally.uncounted + 1));
                let verb = verb.fact("transitions", resume::resumed(t));
                self.step(t, verb, |trail| {
                    let mut changes = hermes::reclaimed(&t.detail, trail);
                    changes.extend(resume::told(t, warnings));
                    changes
                })
            }
            None => {
                let limit = self.failure_limit(&t.detail);
                let (blocks, counted) = count(&t.detail, limit);
                let mut verb = verb(format!("{because} ({counted})"));
                if blocks {
                    verb.action = StepAction::Block;
                } else {
                    verb = verb.fact("transitions", resume::resumed(t));
                }
                let pid = t.detail.task.worker_pid;
                self.step(t, verb, |trail| {
                    let mut changes = hermes::crashed(&t.detail, pid, limit.unwrap_or(i64::MAX), trail);
                    // Where the breaker blocks, the reset tells it, by what is true then.
                    changes.extend(if blocks { Vec::new() } else { resume::told(t, warnings) });
                    changes
                })
            }
        }
    }

    /// A killed worker's tool child lives on in a session of its own and may still edit the tree. It is waited for from the
    /// worker's death, but not for ever.
    pub(super) fn orphans(&self, t: &TaskSeen, look: &Look) -> Option<Verdict> {
        let first = look.orphans.first()?;
        let most = seconds(self.policy.orphan_wait);
        let runs = t.detail.task.status == Status::Running;
        let noted = resume::death(t);
        let died = if runs { noted.or(t.gone_since).unwrap_or(self.seen.now) } else { self.left_at(t) };
        let waited = look.orphans.iter().map(|o| self.awake_since(left_behind(t, o).unwrap_or(died))).min();
        let left = most - waited.unwrap_or(0).max(0);
        if left <= 0 {
            return None;
        }
        let because = format!(
            "worker gone, waiting up to {} for its child {} ({}) to end",
            words(left),
            first.pid,
            first.command
        );
        // On the board, since what we remember may be lost in every pass.
        if runs && noted.is_none() {
            return Some(self.note_death(t, &because));
        }
        Some(Verdict::Wait(because, self.seen.now.plus(left)))
    }

    /// When the worker of an attempt that is over was last there, as far as is known; the board's own word on its end bounds
    /// what we remember.
    fn left_at(&self, t: &TaskSeen) -> Time {
        let ended = t.detail.newest_run().and_then(|r| r.ended_at).unwrap_or_else(|| self.started(t));
        let latest = ended.plus(seconds(self.policy.orphan_wait).saturating_mul(3));
        t.gone_since.unwrap_or(ended).min(latest)
    }

    /// What a log that cannot be read said is not known: it may well be a limit, and then the next attempt only adds to it. It is
    /// said in each pass; after [`BLIND`] seconds a person looks, for nobody else will.
    pub(super) fn unreadable(&self, t: &TaskSeen, proof: Option<Proof>, what: &str, waited: i64) -> Verdict {
        if let Some(verdict) = self.still_at_work(t) {
            return verdict;
        }
        // While no pass came nobody could mend it.
        let waited = t.unreadable_since.map_or(waited, |since| waited.min(self.awake_since(since)));
        if waited < BLIND {
            let left = words(BLIND - waited);
            return Verdict::Blind(format!(
                "{what}; nothing is decided about it, and in {left} a person is asked"
            ));
        }
        let because = format!("{what}, for {}: needs a person", words(waited));
        let verb = Verb::new(StepAction::HandOver, Rule::LogUnreadable, because)
            .cause(Some(Cause::WorkerGone))
            .proof(proof);
        let person = self.person_for(t);
        self.step(t, verb, |trail| {
            let mut changes = hermes::handed_to_person(
                &t.detail,
                Cause::WorkerGone,
                &HandOver::LogUnreadable,
                person,
                trail,
            );
            changes.extend(resume::told_if_any(t, &Warnings::default()));
            changes
        })
    }

    /// Requeued, the work would only end on the same cause, or get in its card's way: end the claim and hold the task, both
    /// at once. Where it was held too often already, it goes to a person.
    pub(super) fn park(
        &self,
        t: &TaskSeen,
        case: Rule,
        proof: Option<Proof>,
        Hold { cause, resets }: Hold,
        because: &str,
    ) -> Verdict {
        let held = tally(&t.detail, seconds(self.policy.decay)).holds;
        if held >= i64::from(self.policy.max_resets) {
            let because = format!("{because}; held {} already, a person must look", times(held));
            let verb = Verb::new(StepAction::HandOver, case, because).cause(Some(cause)).proof(proof);
            let verb = verb.fact("handed_over", json!(true));
            return self.step(t, verb, |trail| {
                let person = self.person_for(t);
                let mut changes =
                    hermes::handed_to_person(&t.detail, cause, &HandOver::HoldCap, person, trail);
                changes.extend(resume::told_if_any(t, &Warnings::default()));
                changes
            });
        }
        let now = self.seen.now;
        let wait = authorship::hold_for(self.policy, cause, held, &t.detail.task.id);
        let latest = now.plus(seconds(self.policy.hold_max));
        // A limit that is over by its provider's own word holds nothing any more: the next pass sets the task free, and one in this very
        // second changes nothing.
        let until = resets.map_or(now.plus(wait), |at| at.clamp(now.plus(1), latest));
        let key = format!("hold:{}:{}", t.detail.task.id, t.detail.task.current_run.unwrap_or(0));
        let because = match resets.filter(|at| *at <= now) {
            Some(over) => format!("{because}; that was over at {}", over.local_moment(now)),
            None => format!("{because}; held until {}", until.local_moment(now)),
        };
        let verb = Verb::new(StepAction::Park, case, because).cause(Some(cause)).proof(proof);
        let verb = verb.fact("hold", hold(cause, &key, now, until));
        self.step(t, verb, |trail| {
            let mut changes = hermes::parked(&t.detail, cause, until, trail);
            changes.extend(resume::told_if_any(t, &Warnings::default()));
            changes
        })
    }

    /// When the present attempt began, or the newest one where none is open.
    pub(super) fn started(&self, t: &TaskSeen) -> Time {
        let run = t.detail.current_run().or(t.detail.newest_run()).map(|r| r.started_at);
        run.or(t.detail.task.started_at).unwrap_or(t.detail.task.created_at)
    }

    /// The same where that can be. A clock that was ahead when it was noted says nothing of when: then it counts from when its worker was
    /// first seen gone.
    fn begun(&self, t: &TaskSeen) -> Time {
        let started = self.started(t);
        if self.is_sane(started) { started } else { t.gone_since.unwrap_or(self.seen.now) }
    }

    /// Seconds since the newest sign of life of the present attempt.
    pub(super) fn quiet(&self, t: &TaskSeen) -> i64 {
        self.quiet_by(t, t.log_at)
    }

    /// The same of a worker that is gone. Others may write into its log: a child that was left behind, or a worker with the same log. That is waited for
    /// as long as for a child.
    fn unheard(&self, t: &TaskSeen) -> i64 {
        let seen_gone = resume::death(t).or(t.gone_since);
        let waited = seen_gone.map_or(0, |at| self.awake_since(at));
        let is_over = seen_gone.is_some() && waited >= seconds(self.policy.orphan_wait);
        self.quiet_by(t, if is_over { None } else { t.log_at })
    }

    fn quiet_by(&self, t: &TaskSeen, log_at: Option<Time>) -> i64 {
        let started = self.begun(t);
        let run_beat = t.detail.current_run().and_then(|r| r.last_heartbeat_at);
        let session = t.session.as_ref().and_then(|s| s.active);
        let signs = [Some(started), run_beat, t.detail.task.last_heartbeat_at, log_at, session];
        let newest = signs
            .into_iter()
            .flatten()
            .filter(|s| *s >= started && self.is_sane(*s))
            .max()
            .unwrap_or(started);
        self.seen.now.since(newest)
    }

    /// Seconds since then, as far as the clock ran steadily and the machine was awake: while it was suspended nothing could happen.
    pub(super) fn awake_since(&self, at: Time) -> i64 {
        self.seen.now.since(self.seen.steady_since.map_or(at, |steady| at.max(steady)))
    }

    /// Whether a sign can be from when it says: a heartbeat in milliseconds, or a log touched by a wrong clock, would stop a
    /// dead worker's task for years, and an event from the future a held one.
    pub(super) fn is_sane(&self, sign: Time) -> bool {
        !sign.is_ahead_of(self.seen.now)
    }
}

/// When the attempt ended whose worker left this behind, where that is an earlier one.
fn left_behind(t: &TaskSeen, orphan: &Orphan) -> Option<Time> {
    let present = t.detail.task.current_run.or(t.detail.newest_run().map(|r| r.id));
    let run = t.detail.runs.iter().find(|r| Some(r.id) == orphan.run && orphan.run != present)?;
    run.ended_at
}
