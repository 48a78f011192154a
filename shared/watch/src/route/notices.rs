//! Nothing silent: what the runtime passes over without a word is said once on the board, with the command that mends it.

use serde_json::{Value, json};

use super::Rules;
use base::names::is_profile;
use base::quote;
use base::registry::ROUTE_BLOCKED;
use base::time::words;
use board::{Detail, Event, EventKind, Rule, Status, StepAction, hermes};
use card::{self, id_word};
use config::span::seconds;
use policy::needs_operator::{self, NO_ASSIGNEE, OLDER_WORKER, PIDS};
use policy::routing::moving::Why;
use policy::said::{Kind, Said};
use policy::{authorship, remedy};

/// Seconds a task may stand with nobody before that is worth a word: it may just be in the making.
const FRESH: i64 = 300;
/// The key of the notice that the configuration of a profile changed under its attempt.
pub(super) const PROFILE_CHANGED: &str = "profile-changed";

/// Whether this watcher told with it that the worker of an ended attempt keeps a task from going on.
pub(super) fn is_of_outliving(told: &Event) -> bool {
    told.by() == Some(ROUTE_BLOCKED) && needs_operator::outlives(told).is_some()
}

impl<'a> Rules<'a> {
    /// Tells what stands still or runs on something outdated.
    pub(super) fn tell(&mut self, orchestrators: &[String]) {
        self.tell_of_orchestrators(orchestrators);
        for profile in self.seen.routing.profiles.values() {
            if let Some(conflict) = &profile.conflict {
                self.notice(format!("{conflict}; make the two agree").into());
            }
        }
        for d in &self.seen.tasks {
            if d.task.is_card() || self.is_left_out(&d.task.id) || self.hands_off(d).is_some() {
                continue;
            }
            match d.task.status {
                Status::Ready => self.tell_of_ready(d),
                Status::Running => self.tell_of_running(d),
                _ => {}
            }
        }
    }

    fn tell_of_orchestrators(&mut self, orchestrators: &[String]) {
        let open = !self.seen.cards.is_empty();
        if !open || orchestrators.iter().any(|o| self.exists(o)) {
            return;
        }
        let Some(name) = orchestrators.first() else { return };
        let (why, mend) = remedy::no_orchestrator(name, self.is_unlisted(name));
        let said =
            format!("{why}, so nobody takes cards; {mend}, or name another one (distress.orchestrator)");
        self.notice(Said::of(Kind::CardsWait, said));
    }

    /// Whether a profile exists, and the dispatcher does not start it.
    pub(super) fn is_unlisted(&self, profile: &str) -> bool {
        self.seen.runtime.as_ref().is_some_and(|r| r.is_unlisted(Some(profile)))
    }

    /// Whether nobody will ever take what is ready for this assignee.
    fn is_nobodys(&self, assignee: Option<&str>) -> bool {
        self.seen.runtime.as_ref().is_some_and(|r| r.is_nobodys(assignee, self.seen.own_board))
    }

    /// A notice whose every word matters.
    fn notice(&mut self, said: Said) {
        self.decision.notices.insert(said.text.clone(), said);
    }

    fn tell_of_ready(&mut self, d: &'a Detail) {
        let (id, hand) = (&d.task.id, self.hand());
        let touched = d.events.last().map_or(d.task.created_at, |e| e.at);
        let waited = self.seen.now.since(touched.max(d.task.created_at));
        if self.is_nobodys(d.task.assignee.as_deref()) {
            // Once it was told its event is the newest one; its age is then no sign of being in the making.
            if waited < FRESH && !was_told(d, NO_ASSIGNEE) {
                return;
            }
            let who = d.task.assignee.as_deref();
            let is_unlisted = who.is_some_and(|who| self.is_unlisted(who));
            let what = match who {
                None => format!("{id} is ready and assigned to nobody, so nobody takes it"),
                Some(name) => {
                    let why = if is_unlisted {
                        "`kanban.dispatch_profiles` does not list it"
                    } else {
                        "there is no such profile"
                    };
                    format!("{id} is ready for {}, and {why}, so nobody takes it", quote::inline(name, 64))
                }
            };
            // A name from a row is put into a command only where it is plainly one.
            let task = id_word(id);
            let name = who.filter(|name| is_profile(name) && !is_unlisted);
            let reassign = format!("{hand} reassign {task} PROFILE");
            let mend = if is_unlisted {
                format!("name it there, or {reassign}")
            } else {
                remedy::nobodys(name, &reassign)
            };
            self.tell_once(d, NO_ASSIGNEE, &what, &mend);
            return;
        }
        let Some(guard) = self.seen.guarded.get(id) else { return };
        let held = words(self.seen.now.since(guard.since));
        let what = format!(
            "{id} is ready, and the dispatcher's guard has held it back for {held} ({})",
            quote::inline(&guard.reason, 60)
        );
        let id = id_word(id);
        let mend = match guard.reason.as_str() {
            "active_pr" => {
                format!("look at the pull request its comments name; {hand} archive {id} where it is done")
            }
            "recent_success" => format!(
                "{hand} complete {id} where it is done; else it starts an hour after its last success"
            ),
            _ => format!("{hand} reassign {id} PROFILE, which clears the failure the guard reads"),
        };
        self.tell_once(d, "guarded", &what, &mend);
    }

    fn tell_of_running(&mut self, d: &'a Detail) {
        let Some(run) = d.current_run() else { return };
        let Some(name) = run.profile.as_deref().or(d.task.assignee.as_deref()) else { return };
        let profile = self.router.profile(name);
        let Some(changed) = profile.changed.filter(|at| *at > run.started_at) else { return };
        // Nothing is wrong with the attempt, and nobody has to do anything. The time of the file is no more than that: it may have been
        // changed before, and written once more since.
        let what = format!(
            "the configuration of {name} was last written at {changed}, after this attempt began: the attempt may still use the old one; \
             the next attempt uses the new one"
        );
        self.tell_quietly(d, PROFILE_CHANGED, &what);
    }

    /// An event on the board once an episode, and no finding.
    fn tell_quietly(&mut self, d: &'a Detail, key: &'static str, what: &str) {
        if self.touched.contains(&d.task.id) || was_told(d, key) {
            return;
        }
        let why = Why::new(Rule::Notice, what).fact("key", json!(key));
        let step = self.scribe.step(d, StepAction::Tell, &why, |trail| {
            vec![hermes::noted(EventKind::Detected, json!({"key": key}), trail)]
        });
        self.push(step);
    }

    /// A notice that an event and a comment on the board say once an episode.
    pub(super) fn tell_once(&mut self, d: &'a Detail, key: &'static str, what: &str, mend: &str) {
        let is_due = !was_told(d, key);
        self.say_once(d, key, (what, mend), is_due, Why::new(Rule::Notice, format!("{what}; {mend}")));
    }

    /// Tells that the worker of an ended attempt keeps a task from going on, or the `decision` of a card from being carried out, where it
    /// has for `heal.orphan_wait`: once, as long as that stands. Whether it has.
    pub(super) fn tells_of_outliving(&mut self, d: &'a Detail, decision: Option<&Detail>) -> bool {
        let Some(worker) = self.seen.outliving.get(&d.task.id) else { return false };
        let lived = self.seen.now.since(worker.since);
        if lived < seconds(self.config.heal.orphan_wait) {
            return false;
        }
        let (waits, then) = match decision {
            Some(card) => (
                format!("the decision of card {} waits for its end", card.task.id),
                "carries out the decision",
            ),
            None => ("it goes on after that".to_owned(), "goes on with it"),
        };
        let (id, pid) = (&d.task.id, worker.pid);
        self.router.withdraw(id);
        let (command, lived) = (&worker.command, words(lived));
        let what = format!(
            "process {pid} ({command}) still works on {id}, {lived} after its attempt ended: {waits}"
        );
        let mend =
            format!("look at what process {pid} does, and end it (`kill {pid}`); route-blocked then {then}");
        let is_due = needs_operator::told(d).and_then(needs_operator::key) != Some(OLDER_WORKER);
        let why = Why::new(Rule::OlderWorker, format!("{what}; {mend}")).fact(PIDS, json!([pid]));
        self.say_once(d, OLDER_WORKER, (&what, &mend), is_due, why);
        self.touched.insert(id.clone());
        true
    }

    /// That nothing waits for such a worker any more: it ended, and something else keeps the task where it is.
    pub(super) fn end_outliving(&mut self) {
        let seen = self.seen;
        for d in seen.tasks.iter().filter(|d| needs_operator::told(d).is_some_and(is_of_outliving)) {
            if self.touched.contains(&d.task.id) || self.hands_off(d).is_some() {
                continue;
            }
            let why = Why::new(Rule::OlderWorker, format!("{OLDER_WORKER} is over: nothing waits for it"));
            let over = json!({"key": OLDER_WORKER, "over": true});
            let step =
                self.scribe.step(d, StepAction::Tell, &why.fact("key", json!(OLDER_WORKER)), |trail| {
                    vec![hermes::noted(EventKind::Detected, over.clone(), trail)]
                });
            self.push(step);
        }
    }

    fn say_once(
        &mut self,
        d: &'a Detail,
        key: &'static str,
        (what, mend): (&str, &str),
        is_due: bool,
        why: Why,
    ) {
        let is_due = is_due && !self.touched.contains(&d.task.id);
        let said = Said::from(format!("{what}; {mend}")).about(&d.task.id);
        self.decision.told.push((said, is_due));
        if !is_due {
            return;
        }
        let why = why.fact("key", json!(key));
        let step = self.scribe.step(d, StepAction::Tell, &why, |trail| {
            let mut changes =
                vec![hermes::noted(EventKind::Detected, json!({"key": key, "mend": mend}), trail)];
            changes.extend(hermes::commented(trail.by, &format!("{what}. What mends it: {mend}")));
            changes
        });
        self.push(step);
    }
}

/// Whether this was said on the board in the present episode, which a decision outside Watchbill or a new attempt ends.
pub(super) fn was_told(d: &Detail, key: &str) -> bool {
    let began = d
        .events
        .iter()
        .rposition(|e| authorship::is_fresh_start(e) || e.kind == EventKind::Claimed)
        .map_or(0, |i| i + 1);
    let says = |e: &Event| {
        e.kind == EventKind::Detected
            && authorship::is_ours(e)
            && e.payload.get("key").and_then(Value::as_str) == Some(key)
    };
    d.events[began..].iter().any(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::Status;
    use board::testing::{detail, event};

    fn said(kind: &str, by: &str, key: &str) -> Event {
        event(kind, 90, json!({"by": by, "key": key, "watchbill": {"pass": "p"}}))
    }

    #[test]
    fn only_our_own_word_of_this_key_in_this_episode_was_told() {
        let of_claim = || event(EventKind::Claimed, 60, json!({"lock": "h:1"}));
        for (events, told) in [
            (vec![said("watchbill_detected", "route-blocked", "a")], true),
            (vec![said("watchbill_detected", "route-blocked", "b")], false),
            (vec![said("watchbill_signal", "route-blocked", "a")], false),
            (vec![event(EventKind::Detected, 90, json!({"key": "a"}))], false),
            (vec![said("watchbill_detected", "route-blocked", "a"), of_claim()], false),
            (vec![of_claim(), said("watchbill_detected", "route-blocked", "a")], true),
            (vec![], false),
        ] {
            let mut d = detail("t_00000001", Status::Running);
            d.events.extend(events.clone());
            assert_eq!(was_told(&d, "a"), told, "{events:?}");
        }
    }
}
