//! Attempts that a provider refused and that are nobody's trouble yet: those before the newest one, and what Hermes 0.22 booked as
//! limited and tries again by itself. A gateway books an end and starts the next attempt in one tick: a pass
//! sees a task that runs, and only its log tells that the provider refuses. That is written down, and counts for other work of that
//! provider at once; the task itself is not touched.

use serde_json::{Map, Value, json};

use super::{Rules, history, trouble};
use board::hermes::{self, Trail};
use board::{EventKind, Rule, Run, Step, StepAction};
use logs::Evidence;
use logs::provider::ledger::{News, Sighting};
use logs::provider::{Id, Profile};
use policy::attempts::ended;
use policy::cards::seen::SourceSeen;
use policy::routing::{answered, facts};
use policy::{Decision, Profiles, authorship};

/// Seconds after its end for which an attempt is news.
pub(super) const RECENT: i64 = 900;

impl Rules<'_> {
    /// Refused attempts of late that nobody wrote down, the newest first.
    fn untold<'s>(&self, s: &'s SourceSeen) -> Vec<(&'s Run, &'s Evidence)> {
        self.all_untold(s).into_iter().filter(|(run, _)| self.is_recent(run)).collect()
    }

    fn is_recent(&self, run: &Run) -> bool {
        run.ended_at.is_some_and(|at| self.seen.now.since(at) <= RECENT)
    }

    /// The same, however long ago they ended.
    fn all_untold<'s>(&self, s: &'s SourceSeen) -> Vec<(&'s Run, &'s Evidence)> {
        let d = &s.detail;
        let profiles = Profiles::of(self.seen.runtime.as_ref());
        let person = self.config.people.assignee.as_deref();
        if authorship::hands_off(d, profiles, person, self.seen.now).is_some() {
            return Vec::new();
        }
        let (recorded, newest) = (ended::recorded(d), d.newest_run().map(|r| r.id));
        let news = |(run, e): &(&Run, &Evidence)| {
            let is_trouble = Some(run.id) == newest && run.outcome.as_deref() != Some("rate_limited");
            !is_trouble && ended::explains(e.cause) && !recorded.contains(&run.id)
        };
        ended::told(d, &s.reading).into_iter().filter(news).collect()
    }

    /// What those attempts show of their providers.
    pub(super) fn earlier_sightings(&self, s: &SourceSeen) -> Vec<Sighting> {
        let of = |(run, e): (&Run, &Evidence)| {
            e.cause.lies_with_provider().then(|| Sighting {
                id: self.id_of(run, e),
                profile: run.profile.clone(),
                task: s.detail.task.id.clone(),
                at: e.refused_at(run.ended_at.unwrap_or(run.started_at).min(self.seen.now)),
                began: run.started_at,
                news: News::Bad { cause: e.cause, resets: e.resets },
            })
        };
        let ended = self.untold(s).into_iter().filter_map(of);
        ended.chain(self.waiting(s)).collect()
    }

    /// The same of a living worker that waits by itself: it gets no card, and other work of its provider need not meet the same.
    fn waiting(&self, s: &SourceSeen) -> Option<Sighting> {
        let run = s.detail.current_run().filter(|r| r.ended_at.is_none())?;
        trouble::waits(s, self.seen.now)?;
        let met = answered::repeated(&s.reading.signals, run.started_at, self.seen.now, self.config)?;
        let (cause, resets) = (met.evidence.cause, met.evidence.resets);
        cause.lies_with_provider().then(|| Sighting {
            id: self.id_of(run, &met.evidence),
            profile: run.profile.clone(),
            task: s.detail.task.id.clone(),
            at: met.evidence.at.unwrap_or(self.seen.now),
            began: run.started_at,
            news: News::Bad { cause, resets },
        })
    }

    /// Writes those attempts down: in the step that is made of their task anyway, else in one of its own.
    pub(super) fn write_down(&self, decision: &mut Decision) {
        let asked = |s: &&SourceSeen| self.pass.only.as_ref().is_none_or(|only| *only == s.detail.task.id);
        for s in self.seen.sources.iter().filter(asked) {
            let step = decision.steps.iter_mut().find(|step| step.task == s.detail.task.id);
            // A step that is made of the task speaks of its newest attempt itself. It is the last one that sees those before it
            // in the log, and what nobody wrote down is taken for a death later.
            let newest = s.detail.newest_run().map(|r| r.id).filter(|_| step.is_some());
            let all = if step.is_some() { self.all_untold(s) } else { self.untold(s) };
            let untold: Vec<_> = all.into_iter().filter(|(run, _)| Some(run.id) != newest).collect();
            let Some(note) = self.note_of(s, &untold) else { continue };
            match step {
                Some(step) => drop(step.changes.splice(..0, note.changes)),
                None => decision.steps.push(note),
            }
        }
    }

    fn note_of(&self, s: &SourceSeen, untold: &[(&Run, &Evidence)]) -> Option<Step> {
        let d = &s.detail;
        let newest = untold.first()?;
        let because = format!("The attempt of run {} ended on {}.", newest.0.id, history::told(newest.1));
        let mut changes = Vec::new();
        for (run, e) in untold.iter().rev() {
            let because = format!("The attempt of run {} ended on {}.", run.id, history::told(e));
            let (cause, more) = (Some(e.cause), self.facts_of(s, run, e));
            let trail = Trail { cause, more, ..self.pass.trail(Rule::DiedOfIt, &because) };
            changes.push(hermes::noted(EventKind::Signal, json!({"reason": because}), &trail));
        }
        Some(Step {
            cause: Some(newest.1.cause),
            because,
            ..Step::on(d, StepAction::Note, Rule::DiedOfIt, changes)
        })
    }

    /// What was long ago says nothing about a provider now: only the attempt is told of.
    fn facts_of(&self, s: &SourceSeen, run: &Run, e: &Evidence) -> Map<String, Value> {
        if !self.is_recent(run) {
            let facts = [("source", json!(s.detail.task.id)), ("run", json!(run.id))];
            return facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        }
        let (host, provider) = self.place_of(run, e);
        let facts = json!({
            "source": s.detail.task.id, "run": run.id, "word": e.cause, "profile": run.profile, "provider": provider,
            "host": host, "began": run.started_at.0, "seen": run.ended_at.map(|at| e.refused_at(at).0), "http": e.http,
            "resets": e.resets.map(|at| at.0),
        });
        let Value::Object(facts) = facts else { return Map::new() };
        facts.into_iter().filter(|(_, v)| !v.is_null()).collect()
    }

    /// The provider that refused an attempt.
    fn id_of(&self, run: &Run, e: &Evidence) -> Id {
        let (host, provider) = self.place_of(run, e);
        let mut id = Id::new(provider.as_deref(), host.as_deref());
        facts::keyed(&mut id, run.profile.as_deref(), &self.seen.routing.profiles);
        id
    }

    /// The host that refused an attempt, from its log or else from its worker's profile, and the provider's name.
    fn place_of(&self, run: &Run, e: &Evidence) -> (Option<String>, Option<String>) {
        let name = run.profile.as_deref().unwrap_or_default();
        let worker: Option<Profile> = self.profile(name).map(|p| p.pinned(&run.pin));
        let host = e.endpoint_host.clone().or_else(|| worker.as_ref()?.endpoint.clone());
        (host, worker.and_then(|p| p.provider))
    }

    /// What is known of a profile.
    pub(super) fn profile(&self, name: &str) -> Option<&Profile> {
        self.seen.routing.profiles.get(name).or_else(|| self.seen.profiles.get(name))
    }
}
