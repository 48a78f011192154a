//! What an orchestrator decided on its card, checked and carried out. A decision is data from a model: it counts for the
//! card's own task only, and only from the orchestrator's own attempt.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::seen::CardSeen;
use super::{Orchestrators, Rules};
use base::cause::Cause;
use base::quote;
use base::time::{Time, words};
use board::title::SPLIT;
use board::{
    Change, Detail, Event, EventKind, FirstEvent, HandOver, NewTask, Rule, Run, Status, Step, StepAction,
    hermes,
};
use card::decision::{self, Action, Child, Decision};
use card::{self, Blocker, id_word, shown_id};
use config::span::seconds;
use policy::attempts::tally::episode;
use policy::authorship::{self, HAND, our_hold};
use policy::cards::answer::{self, finished, read_in};
use policy::cards::identity::{is_ours, named, since_card, titled};
use policy::cards::steps::card_id;
use policy::clock::is_within;
use policy::routing::moving::{Parting, Why, hold, is_ours_to_move, newest_stop};
use policy::routing::router::{Choice, Release, Target};
use policy::{Said, remedy};

/// Seconds an orchestrator has, after it closed its card, to run the card's commands itself.
const GRACE: i64 = 600;

/// Seconds after the end of a claim that was left on a task, in which some pass of `heal` ends it if any does.
const CLAIM_ENDS: i64 = 3_600;

/// Whether all a card says was carried out at this very moment. A task that still waits for it was read before another
/// pass wrote that, and the card after it: there is nothing to report.
fn is_just_done(card: &Detail, now: Time) -> bool {
    read_in(card).filter(is_whole).is_some_and(|e| is_within(e.at, now, 1))
}

/// Whether nothing of a decision was refused.
fn is_whole(e: &&Event) -> bool {
    e.payload.get("refused").and_then(Value::as_i64) == Some(0)
}

impl<'a> Rules<'a> {
    /// Deals with every card that was finished.
    pub(super) fn carry_out_decisions(&mut self, orchestrators: Orchestrators<'_>) {
        for card in &self.seen.answered {
            self.answered(card, orchestrators);
        }
    }

    fn answered(&mut self, card: &'a Detail, orchestrators: Orchestrators<'_>) {
        // One of us closed it, or its decision was refused: what still waits under it is asked about again.
        let Some((run, route)) = answer::unread(card) else { return self.unanswered(card) };
        let of_card = self.tasks_of(card);
        if of_card.iter().all(|id| self.is_left_out(id)) && !of_card.is_empty() {
            return;
        }
        let orchestrators = match orchestrators {
            Ok(orchestrators) => orchestrators,
            Err(why) => return self.leave_unknown(card, format!("{why}; its decision waits for that")),
        };
        let decisions = match decision::read_about(route, &of_card) {
            Ok(all) => all,
            Err(why) => return self.refuse(card, &format!("its decision cannot be read: {why}")),
        };
        let named = run.profile.clone().filter(|by| self.is_named(card, by));
        let orchestrators = &orchestrators.iter().cloned().chain(named).collect::<Vec<_>>();
        if let Some(why) = not_by_orchestrator(card, run, orchestrators, self.seen.own_board) {
            return self.refuse(card, &format!("{why}; what it says is a proposal for a person"));
        }
        let names = |one: &Decision| matches!(one.action, Action::Reassign(_) | Action::Split(_));
        if let Some(why) = self.router.unknown().filter(|_| decisions.iter().any(names)) {
            return self.leave_unknown(card, format!("{why}; its decision waits for that"));
        }
        // A worker still works on the very attempt the card is about: what was decided waits until that ends.
        let mine = decisions.iter().filter(|one| !self.is_left_out(&one.task));
        let live = mine.filter_map(|one| self.task(&one.task)).find(|d| is_still_at_it(d, card));
        if let Some(d) = live {
            let because = format!("decided on card {}; carried out once its worker has ended", card.task.id);
            return self.leave(d, because);
        }
        // A claim that leaked onto the stopped row may still be a worker's: heal takes it away once it ran out.
        let mine = decisions.iter().map(|one| &one.task).filter(|id| of_card.contains(*id));
        let mine = mine.filter(|id| !self.is_left_out(id)).filter_map(|id| self.task(id));
        let mut open = mine.filter(|d| !is_decided_by(d, card) && moved_on(d, card, true).is_none());
        let ends =
            |d: &Detail| d.task.claim_lock.is_some() && self.hands_off(d).is_none() && self.ends_soon(d);
        if let Some(d) = open.find(|d| ends(d)) {
            let because = format!(
                "decided on card {}; carried out once the claim that was left on it has ended",
                card.task.id
            );
            return self.leave(d, because);
        }
        let (mut done, mut refused, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        let mut steps = Vec::new();
        let mut seen = BTreeSet::new();
        let mut is_put_off = false;
        for one in &decisions {
            let what = format!("{} {}", one.action.as_str(), shown_id(&one.task));
            if !seen.insert(one.task.clone()) {
                refused.push(format!("{what}: decided twice"));
                continue;
            }
            // Carried out by a pass that could not say so.
            if self.task(&one.task).is_some_and(|d| is_decided_by(d, card)) {
                done.push(what);
                continue;
            }
            if self.is_left_out(&one.task) {
                is_put_off = true;
                continue;
            }
            match self.checked(card, one, &of_card) {
                Ok(made) if self.is_outlived(card, &made) => is_put_off = true,
                Ok(made) => {
                    done.push(what);
                    changed.push(one.task.clone());
                    steps.extend(made);
                }
                Err(why) => match self.fulfilled(one, &of_card) {
                    Some(how) => done.push(format!("{what} (nothing to do: {how})")),
                    None => refused.push(format!("{what}: {why}")),
                },
            }
        }
        steps.into_iter().for_each(|step| self.push(step));
        match is_put_off {
            // A pass over one task carries out its own decision; what becomes of all is said by the pass that deals with the rest. So it is
            // where a task waits for the end of its old worker.
            true => self.find_refused(card, &refused),
            false => self.note(card, &done, &refused, changed),
        }
    }

    /// Whether the claim that was left on a task still lasts, or ran out so lately that `heal` may yet end it. Some it never ends: those of
    /// another host, for one.
    fn ends_soon(&self, d: &Detail) -> bool {
        let touched = || d.events.last().map_or(d.task.created_at, |e| e.at);
        self.seen.now.since(d.task.claim_expires.unwrap_or_else(touched)) < CLAIM_ENDS
    }

    /// Whether a worker of an ended attempt has kept a decision from being carried out for so long that a person is told. Until then its
    /// steps are tried, and refused while it lives.
    fn is_outlived(&mut self, card: &Detail, steps: &[Step]) -> bool {
        let Some(step) = steps.iter().find(|s| s.sets_free()) else { return false };
        let Some(d) = self.task(&step.task) else { return false };
        self.tells_of_outliving(d, Some(card))
    }

    fn find_refused(&mut self, card: &Detail, refused: &[String]) {
        if !refused.is_empty() {
            let id = &card.task.id;
            let said = Said::from(format!("card {id}: its decision was refused: {}", list(refused)));
            let sources = self.sources(card);
            self.decision.find(id, said.about_all(sources.iter().map(|d| d.task.id.as_str())));
        }
    }

    /// How a decision asks for what is so already: a gateway that tries again by itself may start a task before its card is
    /// answered, an orchestrator may have run the command itself, and what only a person lifts needs no more to be theirs.
    fn fulfilled(&self, one: &Decision, own: &BTreeSet<String>) -> Option<&'static str> {
        let d = self.task(&one.task).filter(|_| own.contains(&one.task))?;
        match (&one.action, &d.task.status) {
            (Action::Unblock, Status::Running) => Some("it is running already"),
            (Action::Reassign(to), Status::Ready | Status::Running)
                if d.task.assignee.as_ref() == Some(to) =>
            {
                Some("it is theirs already")
            }
            (Action::Human, Status::Triage) => Some("only a person brings it back from triage"),
            (Action::Human, Status::Blocked) if !is_ours_to_move(d) && d.cards.is_empty() => {
                Some("only a person lifts what stopped it")
            }
            _ => None,
        }
    }

    /// Tasks a card may decide about: the one of its title, or all that were tied to an incident's.
    fn tasks_of(&self, card: &Detail) -> BTreeSet<String> {
        let incident = card::is_incident(card.task.idempotency_key.as_deref());
        if incident {
            let tied = self.index.tied(&card.task.id).iter().map(|d| d.task.id.clone());
            let left = |id: &String| self.task(id).is_some_and(|d| authorship::has_left(d, &card.task.id));
            return tied.chain(named(card)).filter(|id| !left(id)).collect();
        }
        // The title is what everybody sees; a body may name anything.
        titled(card).into_iter().collect()
    }

    /// The steps of one decision, or why it is refused.
    fn checked(
        &mut self,
        card: &Detail,
        one: &Decision,
        own: &BTreeSet<String>,
    ) -> Result<Vec<Step>, String> {
        if one.task == card.task.id {
            return Err("it names the card itself".into());
        }
        if !own.contains(&one.task) {
            return Err("it is not the task of this card".into());
        }
        let d = self.task(&one.task).ok_or("there is no such task on this board")?;
        if let Some(why) = self.hands_off(d) {
            return Err(why);
        }
        if self.touched.contains(&d.task.id) {
            return Err("another card decided about it in this pass".into());
        }
        // An orchestrator that reassigned it by the card's own command may still say that it goes on.
        let goes_on = matches!(one.action, Action::Unblock | Action::Human);
        if let Some(why) = moved_on(d, card, goes_on) {
            return Err(why);
        }
        let newer = |c: &CardSeen| c.detail.task.created_at > card.task.created_at && is_ours(&c.detail);
        if let Some(open) = self.index.first_card(&d.cards, newer) {
            return Err(format!("a newer card, {}, decides about it", open.detail.task.id));
        }
        let stopped = d.parents.iter().any(|p| p.id == card.task.id) || is_about_the_newest(d, card);
        if d.task.status == Status::Ready && !stopped {
            return Err("it was never stopped".into());
        }
        let stands =
            d.task.status == Status::Blocked && d.task.claim_lock.is_none() && d.task.current_run.is_none();
        let asked = stands && is_workers_block_of(d, card);
        // What stopped at a limit set by hand, or by its worker's block, may be left to a person, and nothing else.
        let left = one.action == Action::Human && stands && (is_given_up(d) || is_by_worker(d));
        if !is_ours_to_move(d) && !asked && !left {
            let by = match newest_stop(d).is_some_and(authorship::is_ours) {
                true => "and a watcher left it to a person",
                false => "by a decision outside Watchbill",
            };
            return Err(format!("it is {} {by}; only a person lifts that", d.task.status));
        }
        let said = one.reason.as_deref().map(|r| format!(": {}", quote::inline(r, 200))).unwrap_or_default();
        let because = format!("decided on card {}{said}", card.task.id);
        // A hold that only kept it for its card (`worker_gone`) does not say what stopped it; how its provider stands does.
        let cause = our_hold(d).and_then(|(e, _)| authorship::cause_in(e.trail()?));
        let cause = cause.filter(|c: &Cause| c.blocker_type().is_some());
        let why = Why::new(Rule::Decision, because).cause(cause).fact("decided_by", json!(card.task.id));
        match &one.action {
            Action::Human => Ok(vec![self.scribe.person(d, &HandOver::Orchestrator, why, &Parting::Free)]),
            Action::Reassign(to) => {
                let target = self.fit(card, d, to)?;
                self.router.withdraw(&d.task.id);
                Ok(vec![match self.router.is_open(to) {
                    Ok(()) => self.scribe.moved(&mut self.router, d, &target, why, &Parting::Free),
                    // It may be the one that tries first whether the provider answers again.
                    Err(_) if matches!(self.router.release(to), Release::Go { .. }) => {
                        self.scribe.moved(&mut self.router, d, &target, why, &Parting::Free)
                    }
                    // It is theirs from now on, and starts in its turn: a list of decisions must not start all its tasks at once.
                    Err((until, reason)) => {
                        let because = format!("{}; waits: {reason}", why.because);
                        self.scribe.given(d, &target, until, Why { because, ..why })
                    }
                }])
            }
            Action::Unblock => Ok(vec![self.go_on_with(d, why)]),
            Action::Split(children) => Ok(vec![self.split(card, d, children, why)?]),
        }
    }

    /// Whether work may be given to a profile: it exists, it works, and a rate limit is not met again there.
    fn fit(&self, card: &Detail, d: &Detail, to: &str) -> Result<Target, String> {
        if !base::names::is_profile(to) {
            return Err("its assignee is not a profile name".into());
        }
        if self.known.has(to) == Some(false) {
            return Err(format!("there is no profile {to}"));
        }
        if let Some((e, state)) = self.router.standing(to).filter(|(_, state)| state.is_held()) {
            return Err(format!("{to} cannot take it: {}", e.said(state)));
        }
        let id = self.router.profile(to).id();
        let blocker = card::blocker_in(&card.task.title);
        if blocker == Some(Blocker::RateLimited) {
            let question = policy::routing::moving::ask(&self.router, d, Blocker::RateLimited, None);
            if question.limiting.iter().any(|l| l.is_same(&id)) {
                return Err(format!("{to} works with the provider that limited it"));
            }
            // Where profiles are known, one whose provider is not may well be the same.
            if !self.known.names().is_empty() && !question.limiting.iter().all(|l| id.is_surely_other(l)) {
                return Err(format!("nobody knows which provider {to} works with; [profiles.{to}] says it"));
            }
        }
        Ok(Target { profile: to.to_owned(), id })
    }

    /// On with the profile it has, in its turn; at the end of the hold, where its provider is held.
    fn go_on_with(&mut self, d: &Detail, why: Why) -> Step {
        let id = self.router.worker(&d.task).id();
        // One that is on its way there already must not wait for itself.
        self.router.withdraw(&d.task.id);
        match self.router.release_for(&d.task) {
            Release::Go { .. } => self.scribe.released(&mut self.router, d, why, &Parting::Free),
            Release::Wait { until, why: reason } => {
                // What the very next pass would do by rule is done at once.
                if let Some(target) = self.elsewhere_by_rule(d, &why) {
                    let because = format!("{}; {reason}", why.because);
                    let why = Why { because, ..why };
                    return self.scribe.moved(&mut self.router, d, &target, why, &Parting::Free);
                }
                let until = until.max(self.seen.now.plus(60));
                let at = until.local_moment(self.seen.now);
                let because = format!("{}; waits until {at}: {reason}", why.because);
                // By its cause the hold is known as one that is over when the provider answers.
                let cause = why.cause.or(self.router.standing_for(&d.task).map(|(e, _)| e.cause));
                self.scribe.held(d, &id, until, Why { because, cause, ..why })
            }
            Release::GiveUp(reason) => {
                let because = format!("{}; {reason}", why.because);
                self.scribe.person(d, &HandOver::ProviderGivenUp, Why { because, ..why }, &Parting::Free)
            }
        }
    }

    /// Who takes a task over by rule, where its own provider is held.
    fn elsewhere_by_rule(&self, d: &Detail, why: &Why) -> Option<Target> {
        let (entry, state) = self.router.standing_for(&d.task)?;
        let blocker = why.cause.unwrap_or(entry.cause).blocker_type().filter(|_| state.is_held())?;
        let question = policy::routing::moving::ask(&self.router, d, blocker, Some(entry.id.clone()));
        match self.router.choose(&question) {
            Choice::Move(to) if blocker.lies_with_provider() => Some(to),
            _ => None,
        }
    }

    /// Narrower tasks first; the source waits for them. They are parents of the source, never the other way round.
    fn split(&self, card: &Detail, d: &Detail, children: &[Child], why: Why) -> Result<Step, String> {
        let mut made: Vec<(String, &Child, String)> = Vec::new();
        for (i, child) in children.iter().enumerate() {
            let to = child.assignee.clone().or_else(|| d.task.assignee.clone());
            let to = to.ok_or_else(|| format!("child {} has nobody to do it", i + 1))?;
            // What the very next pass would do by rule is done at once.
            let to = self.router.instead_of(&to).unwrap_or(to);
            if !base::names::is_profile(&to) {
                return Err(format!("the assignee of child {} is not a profile name", i + 1));
            }
            if self.known.has(&to) == Some(false) {
                return Err(format!("there is no profile {to} for child {}", i + 1));
            }
            let key = part_key(card, &d.task.id, i + 1);
            if let Some(other) = self.seen.parts.get(&key) {
                return Err(format!("{other} was made for child {} already", i + 1));
            }
            made.push((card_id(&self.pass.id, &key), child, to));
        }
        let ids: Vec<String> = made.iter().map(|(id, ..)| id.clone()).collect();
        let why = why.fact("split", json!(ids));
        let note =
            format!("Split on card {} into {}; this task waits for them.", card.task.id, ids.join(", "));
        let scribe = self.scribe;
        Ok(scribe.step(d, StepAction::Split, &why, |trail| {
            let mut changes = Vec::new();
            for (i, (id, child, to)) in made.iter().enumerate() {
                changes.push(self.child_task((d, card), id, (i, child, to), trail));
                changes.extend(hermes::linked_as_is(&d.task.id, id, trail));
            }
            changes.extend(hermes::waits(d, trail));
            changes.extend(hermes::commented(trail.by, &note));
            changes
        }))
    }

    /// One narrower task. Where its provider is held it waits for that from the start.
    fn child_task(
        &self,
        (d, card): (&Detail, &Detail),
        id: &str,
        (i, child, to): (usize, &Child, &String),
        trail: &hermes::Trail<'_>,
    ) -> Change {
        let mut body = card::scope::put(&child.body, &child.scope);
        body.push_str(&format!("\nPart of {}, split on card {}.\n", d.task.id, card.task.id));
        // A folder is shared with the source; a scratch folder or a worktree is each task's own.
        let shared = d.place.kind.as_deref() == Some("dir");
        let task = NewTask {
            title: quote::inline(&child.title, 200),
            body: Some(quote::without_pull_urls(&body)),
            assignee: Some(to.clone()),
            priority: d.task.priority,
            created_by: Some(trail.by.into()),
            workspace_kind: Some(if shared { "dir" } else { "scratch" }.into()),
            workspace_path: d.place.path.clone().filter(|_| shared),
            tenant: d.place.tenant.clone(),
            idempotency_key: Some(part_key(card, &d.task.id, i + 1)),
            ..NewTask::default()
        };
        let held = self.router.standing(to).filter(|(_, state)| state.is_held());
        let status = if held.is_some() { Status::Scheduled } else { Status::Ready };
        let keys = json!({
            "assignee": to, "status": status, "parents": [], "tenant": task.tenant,
            "branch_name": Value::Null, "skills": Value::Null, "goal_mode": Value::Null, "source_task": d.task.id,
        });
        let first = |kind: EventKind, payload: Value| FirstEvent { kind, payload };
        let mut events = vec![first(EventKind::Created, hermes::payload(trail, keys))];
        if let Some((entry, _)) = held {
            let until = entry.until.max(self.seen.now.plus(60));
            let mut trail = trail.clone();
            trail.cause = Some(entry.cause);
            trail.more.insert("hold".into(), hold(entry.cause.as_str(), &entry.id, self.seen.now, until));
            let keys = json!({"until": until.0, "cause": entry.cause, "reason": trail.because});
            events.push(first(EventKind::Scheduled, hermes::payload(&trail, keys)));
        }
        Change::AddAnother { id: id.into(), status, task: Box::new(task), events, done: None }
    }

    /// A finished card without a decision: the orchestrator may have acted by itself, has a while to do so, and is asked
    /// again; then it is a person's.
    fn unanswered(&mut self, card: &'a Detail) {
        if is_just_done(card, self.seen.now) {
            return;
        }
        let ids = self.tasks_of(card);
        let still: Vec<&'a Detail> = ids
            .iter()
            .filter_map(|id| self.task(id))
            .filter(|d| still_waits(d, card) && !self.is_left_out(&d.task.id) && self.hands_off(d).is_none())
            .collect();
        let waited = self.seen.now.since(finished(card));
        // An orchestrator that is told that its decision was refused has that long again.
        let read = read_in(card).map(|e| e.at);
        let patience = read.map_or(waited, |at| waited.min(self.seen.now.since(at)));
        let named = read_in(card).filter(is_whole).and_then(|_| named_by(card, &ids));
        for d in still {
            let id = &d.task.id;
            // All that was decided was carried out, and nobody said a word about this one.
            let omitted = named.as_ref().is_some_and(|named| !named.contains(id));
            let how = match read {
                None if answer::is_settled(card) => "by a watcher",
                None => "without a decision",
                Some(_) if omitted => "with a decision that does not name it",
                Some(_) if named.is_some() => "with a decision that left it as it is",
                Some(_) => "with a decision that was refused",
            };
            // Nobody need be asked again about what a rule settles.
            if self.goes_by_rule(d) {
                continue;
            }
            let hand = self.hand();
            // A person alone brings it back from there, and it waits for no card either.
            if d.task.status == Status::Triage {
                if waited < GRACE {
                    continue;
                }
                let what = format!(
                    "{id} is still in triage, blocked twice for one reason: its card {} was completed {how}",
                    card.task.id
                );
                let mend = remedy::out_of_triage_told(&hand, &id_word(id), self.seen.own_board);
                self.tell_once(d, "triage", &what, &mend);
                continue;
            }
            let said = format!(
                "{id} is still {}: its card {} was completed {} ago {how}",
                d.task.status,
                card.task.id,
                words(waited)
            );
            let held = our_hold(d).map_or(patience, |(event, _)| self.seen.now.since(event.at));
            // It lasts while the orchestrator may still decide: said once. Where a person has to, it is a finding below.
            let lasts = format!("{id} waits: its card {} was completed {how}", card.task.id);
            let word = id_word(id);
            let is_given = since_card(d, card).iter().any(authorship::is_assignment);
            let first =
                if is_given { String::new() } else { format!("{hand} reassign {word} PROFILE, then ") };
            let mend = format!("{said}; {first}{hand} unblock {word}");
            if omitted {
                // Nothing is refused, and nobody has to do anything: it is asked about again at once.
                self.leave(d, said);
            } else {
                self.decision.notices.insert(lasts.clone(), Said::from(mend).about(id));
            }
            if (!omitted && patience.min(held) < GRACE) || self.touched.contains(id) {
                continue;
            }
            // synthesize-distress asks again as often as that is allowed. A worker that blocked its task asked for this card alone.
            let told = |e: &&Event| e.kind == EventKind::Unanswered && authorship::is_ours(e);
            let this = |e: &&Event| e.payload.get("card").and_then(Value::as_str) == Some(&card.task.id);
            let here = d.events.iter().filter(told).filter(this).map(|e| e.at).next_back();
            // Whichever of its cards it was left to be asked again for: that takes its time.
            let newest = d.events.iter().filter(told).map(|e| e.at).next_back();
            if newest.is_some_and(|at| is_within(at, self.seen.now, GRACE - 1)) {
                continue;
            }
            let asked = episode(d, seconds(self.config.heal.decay)).filter(told).count() + 1;
            let most = usize::try_from(self.config.routing.max_asks).unwrap_or(usize::MAX);
            let by_hand = d.events.iter().rev().find(|e| e.kind == EventKind::Blocked).and_then(|e| e.by())
                == Some(HAND);
            if asked < most && !by_hand && here.is_none() {
                if self.is_due(d) {
                    continue;
                }
                let why = Why::new(Rule::NoDecision, format!("card {} was completed {how}", card.task.id));
                let keys = json!({"card": card.task.id});
                let step = self.scribe.step(d, StepAction::AskAgain, &why, |t| {
                    vec![hermes::noted(EventKind::Unanswered, keys, t)]
                });
                self.push(step);
                continue;
            }
            // Its provider's limit ends, and then a rule goes on with it.
            if self.goes_on_in_time(d) {
                continue;
            }
            self.decision.findings.extend(self.decision.notices.remove(&lasts));
            let because = format!("its card {} was completed {how}", card.task.id);
            let why = Why::new(Rule::NoDecision, because).fact("card", json!(card.task.id));
            let step = self.scribe.person(d, &HandOver::NoDecision, why, &Parting::Free);
            self.push(step);
        }
    }

    fn refuse(&mut self, card: &'a Detail, why: &str) {
        self.note(card, &[], &[why.to_owned()], Vec::new());
    }

    /// Says on the card what became of its decision, once.
    fn note(&mut self, card: &'a Detail, done: &[String], refused: &[String], changed: Vec<String>) {
        let mut said = Vec::new();
        if !done.is_empty() {
            said.push(format!("Carried out: {}.", list(done)));
        }
        if !refused.is_empty() {
            said.push(format!("Refused, and nothing changed by it: {}.", list(refused)));
        }
        self.find_refused(card, refused);
        let said = quote::inline(&said.join(" "), 1_500);
        let why = Why::new(Rule::Decision, said.clone()).fact("accepted", json!(done.len()));
        let why = why.fact("refused", json!(refused.len()));
        let mut step = self.scribe.step(card, StepAction::NoteDecision, &why, |trail| {
            let keys = json!({"accepted": done.len(), "refused": refused.len()});
            let mut changes = vec![hermes::noted(EventKind::DecisionNoted, keys, trail)];
            changes.extend(hermes::commented(trail.by, &said));
            changes
        });
        // Where one of them moved meanwhile nothing is said, and the next pass looks again.
        step.after = changed;
        self.push(step);
    }
}

/// The first of many, in one line.
fn list(all: &[String]) -> String {
    all.iter().take(20).cloned().collect::<Vec<_>>().join("; ")
}

/// The tasks that a finished card's decision names; `None` where it has none that can be read. `own`: those of the card.
fn named_by(card: &Detail, own: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let run = card.runs.iter().find(|r| r.outcome.as_deref() == Some("completed"))?;
    let all = decision::read_about(run.route.as_ref()?, own).ok()?;
    Some(all.into_iter().map(|one| one.task).collect())
}

/// Why a finished card's words are not an orchestrator's: its run must have been claimed, by one of them.
fn not_by_orchestrator(
    card: &Detail,
    run: &Run,
    orchestrators: &[String],
    own_board: bool,
) -> Option<String> {
    let began = |kind: EventKind| card.events.iter().any(|e| e.kind == kind && e.run == Some(run.id));
    let by = run.profile.as_deref().unwrap_or("nobody");
    // Any user can claim by command line, and the claim bears the assignee's name; only the dispatcher starts a worker.
    if !began(EventKind::Claimed) || !(own_board || began(EventKind::Spawned)) {
        return Some("it was completed without being dispatched".into());
    }
    (!orchestrators.iter().any(|o| o == by))
        .then(|| format!("it was completed by {by}, who is not an orchestrator"))
}

/// Why a card's decision comes too late for its task, if so.
fn moved_on(d: &Detail, card: &Detail, given_is_none: bool) -> Option<String> {
    let t = &d.task;
    if t.status.frees_children() || t.status == Status::Running || t.status == Status::Review {
        return Some(format!("it moved on: it is {}", t.status));
    }
    let says = |e: &&Event| says_on(e) && !(given_is_none && e.kind == EventKind::Assigned);
    let decided = since_card(d, card).iter().rev().find(says);
    decided.map(|e| format!("it moved on: {} since the card was made", e.kind))
}

/// The key of the nth part of a split. One card of an incident may split many tasks.
fn part_key(card: &Detail, source: &str, nth: usize) -> String {
    match card::is_incident(card.task.idempotency_key.as_deref()) {
        true => format!("{SPLIT}{}:{source}:{nth}", card.task.id),
        false => format!("{SPLIT}{}:{nth}", card.task.id),
    }
}

/// The tasks that a card's decision names, if nobody has dealt with it yet.
pub(super) fn decided_about(card: &Detail) -> Vec<String> {
    let read = answer::unread(card).and_then(|(_, route)| decision::read(route).ok());
    read.unwrap_or_default().into_iter().map(|one| one.task).collect()
}

/// The keys of all tasks that a card's decision would make, if nobody has dealt with it yet. `known`: tasks that it may name.
pub(super) fn part_keys(card: &Detail, known: &BTreeSet<String>) -> Vec<String> {
    let read = answer::unread(card).and_then(|(_, route)| decision::read_about(route, known).ok());
    let parts = |one: &Decision| match &one.action {
        Action::Split(children) => (1..=children.len()).map(|n| part_key(card, &one.task, n)).collect(),
        _ => Vec::new(),
    };
    read.unwrap_or_default().iter().flat_map(parts).collect()
}

/// The run a card was written about, where it says so.
fn run_of(card: &Detail) -> Option<i64> {
    made(card)?.payload.get("run_id")?.as_i64()
}

/// The event with which a watcher made a card.
fn made(card: &Detail) -> Option<&Event> {
    card.events.iter().find(|e| e.kind == EventKind::Created).filter(|_| is_ours(card))
}

/// Whether the attempt that a card was written about still runs: it asks about a living worker.
fn is_still_at_it(d: &Detail, card: &Detail) -> bool {
    d.task.status == Status::Running && d.task.current_run.is_some() && d.task.current_run == run_of(card)
}

/// Whether a card was written while its task ran, and nothing was tried since.
fn is_about_the_newest(d: &Detail, card: &Detail) -> bool {
    let unlinked = made(card).and_then(|e| e.trail()?.get("linked")?.as_bool()) == Some(false);
    unlinked && run_of(card).is_some() && d.newest_run().map(|r| r.id) == run_of(card)
}

/// Whether a card's decision about a task was carried out.
fn is_decided_by(d: &Detail, card: &Detail) -> bool {
    d.events.iter().any(|e| decided_by(e) == Some(&card.task.id))
}

/// The card whose decision a watcher carried out by this event.
fn decided_by(e: &Event) -> Option<&str> {
    e.trail().filter(|_| authorship::is_ours(e))?.get("decided_by")?.as_str()
}

/// Whether a task was decided about outside Watchbill by this event.
pub(super) fn says_on(e: &Event) -> bool {
    let parked = matches!(e.kind, EventKind::Scheduled | EventKind::Archived) && !authorship::is_ours(e);
    authorship::is_fresh_start(e) || parked
}

/// Whether a task still waits for the word of a card that is finished.
fn still_waits(d: &Detail, card: &Detail) -> bool {
    if moved_on(d, card, true).is_some()
        || is_decided_by(d, card)
        || !d.cards.is_empty()
        || d.task.status == Status::Ready
        || is_given_on(d, card)
    {
        return false;
    }
    let finished = finished(card);
    // What a watcher did with it in the same second or later is an answer, and so is what the runtime did later.
    let ours = |e: &&Event| {
        let turn = matches!(e.kind, EventKind::Unblocked | EventKind::Blocked | EventKind::Promoted)
            // To assign a blocked task does not unblock it.
            || (e.kind == EventKind::Assigned && d.task.status != Status::Blocked)
            // Another card's decision about it was carried out, be it that it waits for its provider now.
            || decided_by(e).is_some();
        turn && (e.at > finished || (e.at == finished && authorship::is_ours(e)))
    };
    let is_newest =
        d.cards_made.iter().map(|c| c.created_at).max().is_none_or(|at| at <= card.task.created_at);
    // In the order of the task's own history: behind a clock that was set back, what was before the card may bear a later time.
    is_newest && !since_card(d, card).iter().any(|e| ours(&e)) && is_waiting(d)
}

/// Whether a task that the failure breaker stopped was assigned outside Watchbill since the card was made: Hermes counts its
/// failures anew from there and promotes it, as soon as there is a dispatcher. That answers the card.
fn is_given_on(d: &Detail, card: &Detail) -> bool {
    d.task.status == Status::Blocked
        && !hermes::is_sticky(&d.events)
        && since_card(d, card).iter().any(authorship::is_assignment)
}

/// Whether a task is in a state in which it waits for a decision.
fn is_waiting(d: &Detail) -> bool {
    match d.task.status {
        Status::Scheduled => our_hold(d).is_some(),
        Status::Blocked => {
            policy::routing::moving::is_ours_to_unblock(d) || is_by_worker(d) || is_given_up(d)
        }
        // Only what a loop of blocks sent there has a watcher's card.
        Status::Triage => true,
        _ => false,
    }
}

/// Given up by the failure breaker, be it at a limit that no decision lifts: it must still be reported.
fn is_given_up(d: &Detail) -> bool {
    newest_stop(d).is_some_and(|e| e.kind == EventKind::GaveUp)
}

/// Whether a task stands still by its own worker's block, and the card was written for that very one.
fn is_workers_block_of(d: &Detail, card: &Detail) -> bool {
    // An undo tells the block again; the card was written for the first one.
    let is_it = |e: &Event, stop: &Event| {
        e == stop || (authorship::is_of_undo(stop) && e.kind == stop.kind && e.run == stop.run)
    };
    let stop = newest_stop(d).and_then(|stop| d.events.iter().position(|e| is_it(e, stop)));
    let Some(stop) = stop.filter(|_| is_by_worker(d)) else { return false };
    let fact = |e: &Event, key: &str, value: &str| {
        e.trail().and_then(|t| t.get(key)).and_then(Value::as_str) == Some(value)
    };
    d.events[stop..].iter().any(|e| {
        authorship::is_ours(e)
            && fact(e, "card", &card.task.id)
            && fact(e, "case", Rule::WorkerBlock.as_str())
    })
}

/// Blocked by the attempt that ran then, not by hand.
pub(super) fn is_by_worker(d: &Detail) -> bool {
    let newest = d.events.iter().rev().find(|e| e.kind == EventKind::Blocked);
    newest.and_then(|b| d.claim_of(b.run?)).is_some()
}
