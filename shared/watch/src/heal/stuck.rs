//! Rows that are not running and do not move: leaked claims, crash loops, the guard's jam, holds that ended.

use std::collections::BTreeMap;

use serde_json::json;

use super::history::{self, Brake, StormPolicy};
use super::resume::{self, Warnings};
use super::running::Hold;
use super::seen::TaskSeen;
use super::{Rules, Verb, Verdict};
use base::cause::{self, Cause, Owner};
use base::count::{things, times};
use base::quote;
use base::registry::HEAL;
use base::time::{Time, backoff, words};
use board::{Detail, Event, EventKind, HandOver, Rule, Status, StepAction, claimer_pid, hermes};
use config::span::seconds;
use host::Life;
use logs::LogEnd;
use logs::provider::ledger::RETRIED;
use policy::attempts::ended;
use policy::attempts::tally::tally;
use policy::cards::answer;
use policy::{Profiles, authorship};

/// How long a finished run protects its task from being started again: Hermes' `recent_success` window.
const RECENT_SUCCESS: i64 = 3_600;

/// How long a hold of route-blocked's after its end, and a task after its card was finished, are left to that watcher, in seconds.
const ROUTED: i64 = 1_800;

/// Seconds for which a block without an explanation is skipped: the program that made it may still write one.
const UNEXPLAINED: i64 = 1_800;

/// Tasks that died of one cause, and when.
type Deaths<'a> = (Cause, Vec<(&'a str, Time)>);

/// How far the resets of this pass may go, cause by cause.
pub(super) struct Resets {
    brakes: BTreeMap<&'static str, (Brake, usize)>,
}

impl Resets {
    /// Looks at every crash loop at once: whether they are a storm can only be seen together.
    pub(super) fn plan(rules: &Rules<'_>) -> Resets {
        let mut waiting: BTreeMap<&'static str, Deaths<'_>> = BTreeMap::new();
        for t in &rules.seen.tasks {
            if let Some((cause, died)) = rules.crash_loop(t) {
                waiting
                    .entry(cause.as_str())
                    .or_insert((cause, Vec::new()))
                    .1
                    .push((&t.detail.task.id, died));
            }
        }
        let policy = StormPolicy {
            tasks: usize::try_from(rules.policy.storm_tasks).unwrap_or(usize::MAX),
            window: seconds(rules.policy.storm_window),
            probe: seconds(rules.policy.storm_probe),
            probe_max: seconds(rules.policy.storm_probe_max),
        };
        let brake = |(word, (cause, deaths)): (&'static str, Deaths<'_>)| {
            (word, (history::brake(cause, &deaths, rules.seen, policy), 0))
        };
        Resets { brakes: waiting.into_iter().map(brake).collect() }
    }

    /// Takes one reset of a cause; what it may be, or why it must wait.
    fn take(&mut self, cause: Cause) -> Result<Option<usize>, Time> {
        match self.brakes.get_mut(cause.as_str()) {
            Some((Brake::Slow { allowed, next }, taken)) if *taken >= *allowed => Err(*next),
            Some((Brake::Slow { .. }, taken)) => {
                *taken += 1;
                Ok(Some(*taken))
            }
            _ => Ok(None),
        }
    }
}

impl Rules<'_> {
    /// Whether a blocked row is an infrastructure crash loop: its cause and when it gave up.
    fn crash_loop(&self, t: &TaskSeen) -> Option<(Cause, Time)> {
        let d = &t.detail;
        if d.task.status != Status::Blocked || d.task.claim_lock.is_some() || hermes::is_sticky(&d.events) {
            return None;
        }
        let event = history::gave_up(d)?;
        if matches!(t.log, LogEnd::Unreadable(_)) || !d.cards.is_empty() {
            return None;
        }
        let text =
            event.payload.get("error").and_then(|v| v.as_str()).or(d.task.last_failure_error.as_deref());
        let cause = ended::cause(d, &t.log, text)?;
        (cause.owner() == Owner::Heal).then_some((cause, event.at))
    }

    pub(super) fn gave_up(&self, t: &TaskSeen, resets: &mut Resets) -> Verdict {
        let d = &t.detail;
        if hermes::is_sticky(&d.events) {
            let block =
                d.events.iter().rev().find(|e| e.kind == EventKind::Blocked && authorship::is_ours(e));
            let why = block.and_then(|e| e.payload.get("cause")?.as_str());
            let by_hand = || "blocked by hand; only a person lifts that".to_owned();
            return Verdict::Leave(why.map_or_else(by_hand, |why| format!("needs a person: {why}")));
        }
        let Some(event) = history::gave_up(d) else {
            return self.unexplained(t);
        };
        let waited = self.seen.now.since(event.at);
        if let Some(verdict) = self.told_elsewhere(t) {
            return verdict;
        }
        // Nobody writes a card without knowing why it gave up, also where a limit was set by hand.
        if let LogEnd::Unreadable(why) = &t.log
            && d.cards.is_empty()
        {
            return self.unreadable(t, None, &format!("gave up, but its log cannot be read: {why}"), waited);
        }
        if event.payload.get("limit_source").and_then(|v| v.as_str()) == Some("task")
            || d.task.max_retries.is_some()
        {
            return Verdict::Leave("gave up at a limit set by hand for this task".into());
        }
        if let Some(card) = d.cards.first() {
            return Verdict::Leave(format!("its distress card {card} is open; route-blocked owns it"));
        }
        if let Some(why) = self.decided(d) {
            return Verdict::Leave(why);
        }
        // A pass right after the one that gave it up changes nothing.
        if authorship::is_ours(event) && self.is_sane(event.at) && waited < resume::SETTLE {
            return Verdict::Wait("given up a moment ago".into(), event.at.plus(resume::SETTLE));
        }
        let died = resume::attempts(t);
        if died > i64::from(self.policy.max_resumes) && d.cards.is_empty() {
            // The log is not read while an older attempt's worker writes on in it: what ended the others is not known then.
            return self.still_at_work(t).unwrap_or_else(|| self.capped_while_blocked(t, died));
        }
        let Some((cause, died)) = self.crash_loop(t) else {
            let owner = match &t.log {
                LogEnd::Ended(e) => format!("its log ends on {}", e.cause.as_str()),
                _ => "its failure is not one of the infrastructure".to_owned(),
            };
            return Verdict::Leave(format!("gave up: {owner}; not heal's to reset"));
        };
        if let Some(verdict) = self.still_at_work(t) {
            return verdict;
        }
        let tally = tally(d, seconds(self.policy.decay));
        if tally.escalated {
            return Verdict::Leave("escalated; a person or an orchestrator decides".into());
        }
        if let Some(why) = self.used_up(d, tally.resets) {
            return self.escalate(t, Rule::CrashLoop, Some(cause), why);
        }
        let wait = backoff(
            seconds(self.policy.backoff),
            tally.resets + tally.uncounted,
            seconds(self.policy.backoff_max),
            &d.task.id,
        );
        let died = if self.is_sane(died) { died } else { self.touched(d) };
        let waited = self.seen.now.since(died);
        if waited < wait {
            let because = format!("gave up {} ago; next reset in {}", words(waited), words(wait - waited));
            return Verdict::Wait(because, died.plus(wait));
        }
        if let Some(why) = self.refused_key(d) {
            return Verdict::Leave(why);
        }
        let storm = match resets.take(cause) {
            Ok(storm) => storm,
            Err(next) => {
                let at = next.local_moment(self.seen.now);
                let because = format!("many died of {} at once; next probe at {at}", cause.as_str());
                return Verdict::Wait(because, next);
            }
        };
        let restarted = self.dispatcher_restarted(t);
        let uncounted = restarted && tally.uncounted < i64::from(self.policy.max_uncounted);
        let case = if restarted { Rule::DispatcherRestart } else { Rule::CrashLoop };
        let count = if uncounted { String::new() } else { format!(", reset {}", tally.resets + 1) };
        let because = format!("gave up {} ago on {}{count}", words(waited), cause.as_str());
        let proof = t.worker.as_ref().and_then(|w| w.proof.clone());
        let mut verb = Verb::new(StepAction::Reset, case, because)
            .cause(Some(cause))
            .proof(proof)
            .fact("died", json!(died.0));
        verb = if uncounted {
            verb.fact("uncounted", json!(tally.uncounted + 1))
        } else {
            verb.fact("reset", json!(tally.resets + 1))
        };
        if let Some(n) = storm {
            verb = verb.fact("storm", json!(n));
        }
        let note = format!(
            "Requeued by heal: the last attempt ended on {}, which is not the task's own fault as far as \
             can be seen. Check what is already there before you start over.",
            cause.as_str()
        );
        self.step(t, verb, |trail| {
            let mut changes = hermes::unblocked(d, trail);
            changes.extend(hermes::commented(HEAL, &note));
            changes.extend(resume::told_if_any(t, &Warnings::default()));
            changes
        })
    }

    /// Blocked, and the newest event about it says the opposite: the row was written without an event, or an event without the
    /// row. Below the limit the dispatcher promotes it; above, it would stand there for ever, and nobody be told.
    fn unexplained(&self, t: &TaskSeen) -> Verdict {
        let d = &t.detail;
        let by_hand = d.events.iter().rev().find(|e| {
            matches!(
                e.kind,
                EventKind::Status
                    | EventKind::Unblocked
                    | EventKind::Promoted
                    | EventKind::PromotedManual
                    | EventKind::Claimed
            )
        });
        let leave = || Verdict::Leave("blocked, but not by the failure breaker".into());
        let is_below = self.failure_limit(d).is_none_or(|limit| d.task.failures < limit);
        // A change on the dashboard leaves an event of its own.
        if by_hand.is_some_and(|e| e.kind == EventKind::Status) || is_below || !d.cards.is_empty() {
            return leave();
        }
        let touched = self.touched(d);
        if self.seen.now.since(touched) < UNEXPLAINED {
            return leave();
        }
        let because = format!(
            "blocked with {}, and nothing on the board says why since {}: needs a person",
            things(d.task.failures, "failure"),
            touched.local_moment(self.seen.now)
        );
        let verb = Verb::new(StepAction::HandOver, Rule::UnexplainedBlock, because);
        let person = self.person_for(t);
        self.step(t, verb, |trail| hermes::needs_person(d, &HandOver::UnexplainedBlock, person, trail))
    }

    /// Whether the attempts that failed were claimed by a dispatcher that is gone: their deaths were its restart.
    fn dispatcher_restarted(&self, t: &TaskSeen) -> bool {
        let gone = t.worker.as_ref().is_some_and(|w| w.claimer == Life::Gone);
        !self.seen.own_board
            && t.detail.newest_lock().and_then(claimer_pid).is_some()
            && gone
            && self.claimer_should_live(&t.detail)
    }

    /// Whether the process that claimed the newest attempt lives as long as its worker, so that its end tells something: `board run` does.
    /// A command line that dispatches from cron is gone by nature, and so is a worker that claimed for itself.
    pub(super) fn claimer_should_live(&self, d: &Detail) -> bool {
        let dispatches = self.seen.own_board || self.seen.runtime.as_ref().is_some_and(|r| r.is_daemon);
        dispatches && !history::claimer_tells_nothing(d)
    }

    /// Why a task that is to be requeued must wait: its worker, or what it left running, still is at work.
    pub(super) fn still_at_work(&self, t: &TaskSeen) -> Option<Verdict> {
        let look = t.worker.as_ref()?;
        if look.life == Life::Alive {
            return Some(self.outlived(t, look));
        }
        self.orphans(t, look)
    }

    /// Why a task is not reset once more. A history that is too long to count in may hide any number of resets; if it were
    /// skipped silently, a worker could stop its own task for ever by writing comments.
    fn used_up(&self, d: &Detail, resets: i64) -> Option<String> {
        if d.is_truncated {
            return Some("its history is too long to count its resets".into());
        }
        (resets >= i64::from(self.policy.max_resets))
            .then(|| format!("reset {} and failed again", times(resets)))
    }

    fn escalate(&self, t: &TaskSeen, case: Rule, cause: Option<Cause>, why: String) -> Verdict {
        let verb =
            Verb::new(StepAction::Escalate, case, format!("{why}; left to a person or an orchestrator"))
                .cause(cause);
        self.step(t, verb, hermes::escalated)
    }

    /// A claim on a row that is not running: Hermes never dispatches it and never says so (#22926, #67839).
    pub(super) fn leaked_claim(&self, t: &TaskSeen) -> Verdict {
        let d = &t.detail;
        if let Some(look) = &t.worker {
            if look.life == Life::Alive {
                return Verdict::Leave(format!("a claim on a {} task, but {}", d.task.status, look.because));
            }
            if let Some(wait) = self.orphans(t, look) {
                return wait;
            }
            if d.task.worker_pid.is_some() && look.life == Life::Unknown {
                return Verdict::Unknown(format!("a claim on a {} task: {}", d.task.status, look.because));
            }
        }
        let touched = self.touched(d);
        let ends =
            d.task.claim_expires.unwrap_or(touched).min(touched.plus(seconds(self.policy.claim_ceiling)));
        let over = self.seen.now.since(ends);
        if over <= 0 || self.seen.now.since(touched) < self.grace() {
            let because = format!("a claim on a {} task, not run out for long", d.task.status);
            return Verdict::Wait(because, ends.plus(1).max(touched.plus(self.grace())));
        }
        let finished = |r: &board::Run| {
            r.outcome.as_deref() == Some("completed")
                && r.ended_at.is_some_and(|e| self.seen.now.since(e) < RECENT_SUCCESS)
        };
        if d.runs.iter().any(finished) {
            return Verdict::Leave("a leaked claim, but it was completed within the hour".into());
        }
        let because = format!("a claim on a {} task, run out {} ago", d.task.status, words(over));
        // Without its claim a ready row runs, and a todo row as soon as its parents are done; a blocked or held one stays.
        if !matches!(d.task.status, Status::Blocked | Status::Scheduled) {
            if let Some(verdict) = self.told_elsewhere(t) {
                return verdict;
            }
            match &t.log {
                LogEnd::Unreadable(why) => {
                    let what = format!("{because}, but its log cannot be read: {why}");
                    return self.unreadable(t, None, &what, over);
                }
                // The log says nothing of another profile that has it by now, or of the time since it was released.
                LogEnd::Ended(e) if resume::is_lasting(t, e) && !is_settled(d) => {
                    let because = format!("{because}; its log ends on {}", e.cause.as_str());
                    let why = Hold { cause: e.cause, resets: e.resets };
                    return self.park(t, Rule::LeakedClaim, None, why, &because);
                }
                _ => {}
            }
            if let Some(card) = d.cards.first() {
                let because = format!("{because}; its distress card {card} is open");
                let why = Hold { cause: Cause::WorkerGone, resets: None };
                return self.park(t, Rule::LeakedClaim, None, why, &because);
            }
        }
        self.step(t, Verb::new(StepAction::Release, Rule::LeakedClaim, because), |trail| {
            hermes::leak_cleared(d, trail)
        })
    }

    /// A ready row that Hermes' respawn guard holds for ever because of a word in its failure text (#73369, #117009).
    pub(super) fn jammed(&self, t: &TaskSeen) -> Verdict {
        let d = &t.detail;
        if !hermes::is_guard_jammed(d) {
            return Verdict::Fine;
        }
        if let Some(card) = d.cards.first() {
            return Verdict::Leave(format!("its distress card {card} is open; route-blocked owns it"));
        }
        if let Some(verdict) = self.told_elsewhere(t) {
            return verdict;
        }
        match &t.log {
            LogEnd::Unreadable(why) => {
                let what = format!("held by Hermes' guard, but its log cannot be read: {why}");
                let ended = d.newest_run().and_then(|r| r.ended_at).unwrap_or(d.task.created_at);
                return self.unreadable(t, None, &what, self.seen.now.since(ended));
            }
            LogEnd::Ended(e) if resume::is_lasting(t, e) => {
                let because = format!("held by Hermes' guard, and its log ends on {}", e.cause.as_str());
                return Verdict::Leave(because);
            }
            _ => {}
        }
        let text = d.task.last_failure_error.as_deref().unwrap_or_default();
        let named = cause::of_text(text);
        // Only what is proven harmless is cleared; a text that is not understood may well be a credential's.
        if !base::cause::guard_misreads(text) {
            let what = named.map_or("a text that may be a credential's or a provider's", Cause::as_str);
            return Verdict::Leave(format!("held by Hermes' guard for a reason: {what}"));
        }
        if let Some(verdict) = self.still_at_work(t) {
            return verdict;
        }
        let touched = self.touched(d);
        let ended = d.newest_run().and_then(|r| r.ended_at).filter(|at| self.is_sane(*at)).unwrap_or(touched);
        // The dispatcher goes first after our own change, too.
        let is_past = |e: &&Event| authorship::is_ours(e) && self.is_sane(e.at);
        let ours = d.events.iter().rev().find(is_past).map_or(ended, |e| e.at);
        let since = ended.max(ours);
        let jammed = self.seen.now.since(since);
        if jammed < self.grace() {
            let because = format!("held by Hermes' guard for only {}", words(jammed));
            return Verdict::Wait(because, since.plus(self.grace()));
        }
        let tally = tally(d, seconds(self.policy.decay));
        if tally.escalated {
            return Verdict::Leave("escalated; a person or an orchestrator decides".into());
        }
        if let Some(why) = self.used_up(d, tally.resets) {
            return self.escalate(t, Rule::GuardJam, named, why);
        }
        let because =
            format!("held by Hermes' guard for {} over a text that is not a credential error", words(jammed));
        let verb = Verb::new(StepAction::Clear, Rule::GuardJam, because)
            .cause(named)
            .fact("reset", json!(tally.resets + 1));
        let note = "The failure text of the last attempt was cleared by heal: it only looked like a credential error, \
                    and kept the dispatcher from starting this task.";
        self.step(t, verb, |trail| {
            let mut changes = hermes::guard_cleared(d, trail);
            changes.extend(hermes::commented(HEAL, note));
            changes
        })
    }

    /// On a board without a dispatcher a crash between completion and promotion would leave a child waiting for ever.
    pub(super) fn unpromoted(&self, t: &TaskSeen) -> Verdict {
        let d = &t.detail;
        if !self.seen.own_board || d.parents.iter().any(|p| !p.status.frees_children()) {
            return Verdict::Fine;
        }
        let touched = self.touched(d);
        if self.seen.now.since(touched) < self.grace() {
            return Verdict::Fine;
        }
        // A dependency wait without a recorded parent is a decision outside Watchbill: there is no end to see.
        if d.parents.is_empty() {
            return Verdict::Leave("waits in todo without a parent".into());
        }
        let verb = Verb::new(StepAction::Promote, Rule::Unpromoted, "everything it waits for is done".into());
        self.step(t, verb, |trail| hermes::promoted(d, trail))
    }

    /// The finished cards of a task whose hold is over.
    fn answered<'d>(&'d self, d: &'d Detail) -> impl Iterator<Item = &'d Detail> {
        let its = move |card: &&Detail| answer::finished_of(d).any(|id| *id == card.task.id);
        self.seen.answered.iter().filter(its)
    }

    /// Why a task stays where it is for a decision about it that `route-blocked` has not read yet: what was decided stands on its card,
    /// whenever that is read, and a next attempt would overtake it.
    pub(super) fn decided(&self, d: &Detail) -> Option<String> {
        let card = &self.answered(d).find(|card| answer::unread(card).is_some())?.task.id;
        Some(format!("its card {card} was completed with a decision; route-blocked carries it out"))
    }

    /// Ends a watcher's hold when it is over. Any other schedule is a decision outside Watchbill.
    pub(super) fn held(&self, t: &TaskSeen) -> Verdict {
        let d = &t.detail;
        let hold = authorship::our_hold(d);
        if authorship::is_queued_by_board(d) || (hold.is_some() && waits_its_turn(d)) {
            return Verdict::Leave("a card that waits its turn; synthesize-distress releases it".into());
        }
        let Some((event, hold)) = hold else {
            return Verdict::Leave("scheduled outside Watchbill".into());
        };
        let held_at = self.held_at(d, event);
        let until = self.hold_ends(d, event, hold);
        if self.seen.now < until {
            // No decision is carried out while a claim is left on it. The end of the hold clears one as well.
            if d.task.claim_lock.is_some()
                && let Verdict::Act(step) = self.leaked_claim(t)
            {
                return Verdict::Act(step);
            }
            return Verdict::Wait(format!("held until {}", until.local_moment(self.seen.now)), until);
        }
        if let Some(card) = d.cards.first() {
            return Verdict::Leave(format!("its distress card {card} is open; route-blocked owns it"));
        }
        if let Some(why) = self.decided(d) {
            return Verdict::Leave(why);
        }
        // route-blocked carries out what a card says, and lets the others go one by one. Where it does not run at all, they
        // must not wait for ever. While no pass came, as on a machine that was off, it could not run either.
        let routed = event.by() != Some(HEAL);
        if routed && self.awake_since(t.over_since.map_or(until, |seen| seen.max(until))) < ROUTED {
            return Verdict::Leave("its hold is over; route-blocked carries on with it".into());
        }
        if let Some(quiet) = self.seen.quiet_until {
            return Verdict::Wait(
                format!("its hold is over; quiet hours until {}", quiet.local_minute()),
                quiet,
            );
        }
        let held = words(self.seen.now.since(held_at));
        let cause = authorship::cause_in(hold);
        // The orchestrator was asked and decided nothing. What a card was written for does not get better by waiting
        // either, unless it lay with a provider.
        let by_card = hold.get("card").is_some_and(|c| !c.is_null());
        if is_undecided(d, event, hold) || (by_card && !cause.is_some_and(Cause::is_provider_pressure)) {
            // An orchestrator whose decision was refused, or who made none, is asked again first.
            let is_recent = |card: &&Detail| {
                let heard = answer::read_in(card).map_or(answer::finished(card), |e| e.at);
                let heard = t.over_since.map_or(heard, |seen| heard.max(seen));
                self.is_sane(heard) && self.seen.now.since(heard) < ROUTED
            };
            if let Some(card) = self.answered(d).find(is_recent) {
                let card = &card.task.id;
                let because =
                    format!("its card {card} was completed lately; route-blocked carries on with it");
                return Verdict::Leave(because);
            }
            let because =
                format!("held for {held}, and its card was closed without a decision: needs a person");
            let verb = Verb::new(StepAction::HandOver, Rule::NoDecision, because).cause(cause);
            return self.step(t, verb, |trail| {
                hermes::needs_person(d, &HandOver::NoDecision, self.person_for(t), trail)
            });
        }
        if let Some(why) = self.refused_key(d) {
            return Verdict::Leave(why);
        }
        let verb =
            Verb::new(StepAction::Resume, Rule::HoldOver, format!("held for {held}, the hold is over"));
        self.step(t, verb, |trail| hermes::unblocked(d, trail))
    }
}

/// A card that nobody began with is released by synthesize-distress.
fn waits_its_turn(d: &Detail) -> bool {
    d.task.is_card() && d.task.started_at.is_none()
}

impl Rules<'_> {
    /// Ends a watcher's hold on a task that the operator marked since: the hold is older, and nobody else ends it. That is all.
    pub(super) fn let_go(&self, t: &TaskSeen, profiles: &Profiles) -> Option<Verdict> {
        let d = &t.detail;
        let (event, hold) = authorship::our_hold(d)
            .filter(|_| authorship::is_opted_out(d, profiles, self.person) && !waits_its_turn(d))?;
        let until = self.hold_ends(d, event, hold);
        if self.seen.now < until {
            let at = until.local_moment(self.seen.now);
            let because = format!("marked `watchbill: no-heal`; held until {at}");
            return Some(Verdict::Wait(because, until));
        }
        if let Some(why) = self.refused_key(d) {
            return Some(Verdict::Leave(why));
        }
        let held = words(self.seen.now.since(self.held_at(d, event)));
        let because = format!(
            "held for {held}, the hold is over; marked `watchbill: no-heal`, and skipped from here on"
        );
        let verb = Verb::new(StepAction::Resume, Rule::HoldOver, because);
        Some(self.step(t, verb, |trail| hermes::unblocked(d, trail)))
    }

    /// Why time alone sends no work to a profile. A card goes to another orchestrator.
    fn refused_key(&self, d: &Detail) -> Option<String> {
        let profile = d.task.assignee.as_deref().filter(|_| !d.task.is_card())?;
        let pin = Some(&d.task.pin).filter(|pin| !pin.is_none());
        let refused = self.seen.refused_keys.contains(pin.map_or(profile, |_| d.task.id.as_str()));
        let at = pin.and_then(|pin| pin.provider.as_deref()).map(|p| format!(" at {}", quote::inline(p, 60)));
        refused.then(|| format!("the key of {profile}{} is refused; {RETRIED}", at.unwrap_or_default()))
    }

    /// When a hold ends. Whatever the row says, none lasts longer than its kind may.
    fn hold_ends(&self, d: &Detail, event: &Event, hold: &serde_json::Value) -> Time {
        let held_at = self.held_at(d, event);
        let until = authorship::end_in(hold).unwrap_or(held_at);
        until.min(held_at.plus(seconds(self.policy.hold_max) * 6 / 5))
    }

    /// When a task was held. An event that lies in the future was written by a wrong clock or by an author who means to hold
    /// the task for ever; then it counts from what came before it, so that the hold ends all the same.
    fn held_at(&self, d: &Detail, event: &Event) -> Time {
        let nth = d.events.iter().rposition(|e| e == event).unwrap_or(0);
        self.newest(d, &d.events[..=nth])
    }

    /// When something last happened to a task.
    pub(super) fn touched(&self, d: &Detail) -> Time {
        self.newest(d, &d.events)
    }

    /// The newest of these events of a task that is not one of the future; where there is none, when it was made.
    fn newest(&self, d: &Detail, events: &[Event]) -> Time {
        let past = events.iter().rev().map(|e| e.at).find(|at| self.is_sane(*at));
        past.unwrap_or(d.task.created_at.min(self.seen.now))
    }
}

/// Whether the card of a hold was completed, and the task is held as before.
fn is_undecided(d: &Detail, scheduled: &Event, hold: &serde_json::Value) -> bool {
    let named = hold.get("card").and_then(serde_json::Value::as_str);
    let since = d.events.iter().rposition(|e| e == scheduled).unwrap_or(0);
    let linked = |id: &str| {
        let later = d.events[since..].iter().filter(|e| e.kind == EventKind::Linked);
        later.filter_map(|e| e.payload.get("parent")?.as_str()).any(|parent| parent == id)
    };
    let made = d.cards_made.iter().map(|c| (c.id.as_str(), &c.status, c.created_at >= scheduled.at));
    let kin = d.parents.iter().filter(|p| p.is_card());
    let kin = kin.map(|p| (p.id.as_str(), &p.status, linked(&p.id)));
    made.chain(kin).any(|(id, status, later)| *status == Status::Done && (later || named == Some(id)))
}

/// Whether what ended the newest attempt does not count any more: another profile has the task, or it was released since.
fn is_settled(d: &Detail) -> bool {
    d.newest_run().is_some_and(|run| {
        let is_anothers = run.profile.is_some() && run.profile != d.task.assignee;
        let freed = |e: &Event| e.kind == EventKind::Unblocked && run.ended_at.is_some_and(|at| e.at >= at);
        is_anothers || d.events.iter().any(freed)
    })
}
