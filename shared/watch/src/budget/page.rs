//! The page for a person, from what was seen and judged. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::endings;
use super::judge::{Judged, all_seconds};
use super::seen::{Seen, Work};
use base::money::Money;
use base::registry::HEAL;
use board::{Detail, Event, EventKind, Run, Status};
use config::Config;
use config::span::seconds;
use logs::provider::ledger::{News, State};
use logs::provider::{Id, Profile};
use logs::usage::Usage;
use page::{AttemptView, Intervention, Overview, ProviderView, Recurring, Refusal, Spent, TaskView, Verdict};
use policy::attempts::tally::resets;
use policy::routing::router::Router;
use policy::{Profiles, authorship};

/// Most resets, moves and reassignments shown: the newest.
const MAX_INTERVENTIONS: usize = 500;

pub(super) fn overview(seen: &Seen, judged: &[Judged<'_>], config: &Config) -> Overview {
    let mut counts = seen.counts.clone();
    let ended = seen.work.iter().filter(|w| w.detail.task.status == Status::Done).count();
    if ended > 0 {
        counts.insert("done".into(), ended);
    }
    let mut unknown = seen.unknown.clone();
    unknown.extend(seen.clock_fault.as_deref().map(policy::decision::broken_clock));
    let found = unknown.len();
    let interventions = interventions(seen, &mut unknown);
    let mut tasks: Vec<TaskView> = judged.iter().map(|j| task(j, seen, config)).collect();
    // What is wrong comes first, then what runs; the rest as it was found.
    tasks.sort_by_key(|t| (t.verdicts.is_empty(), t.status != "running"));
    Overview {
        board: seen.name.clone(),
        now: seen.now,
        since: seen.since,
        counts,
        tasks,
        interventions,
        providers: providers(seen, config),
        spent: spent(seen),
        unknown,
        found,
    }
}

fn task(j: &Judged<'_>, seen: &Seen, config: &Config) -> TaskView {
    let d = &j.work.detail;
    let mut attempts: Vec<&Run> = d.runs.iter().filter(|r| r.is_since(seen.since)).collect();
    if attempts.is_empty() {
        attempts.extend(d.newest_run());
    }
    attempts.reverse();
    TaskView {
        task: d.task.id.clone(),
        title: d.task.title.clone(),
        status: d.task.status.to_string(),
        assignee: d.task.assignee.clone(),
        attempts: attempts.into_iter().map(attempt).collect(),
        attempt_count: d.runs.len(),
        seconds: all_seconds(j.work, seen.now),
        resets: resets(d, config),
        reassigned: reassigned(d),
        usage: j.work.usage.clone(),
        cost: j.cost.map(|(sum, _)| sum),
        cost_is_least: j.cost.is_some_and(|(_, least)| least),
        gauges: j.gauges.clone(),
        files: j.files.clone(),
        errors: endings::distinct(d).into_iter().map(|(error, times)| Recurring { error, times }).collect(),
        verdicts: j
            .verdicts
            .iter()
            .map(|f| Verdict {
                verdict: f.kind.as_str().into(),
                because: f.because.clone(),
                evidence: f.evidence.clone(),
            })
            .collect(),
        unknown: j.unknown.clone(),
        draft: j.draft.as_ref().map(policy::cards::split_draft::Drafted::shown),
    }
}

fn attempt(run: &Run) -> AttemptView {
    let ended = run.ended_at.is_some();
    AttemptView {
        run: run.id,
        profile: run.profile.clone(),
        outcome: run.outcome.clone().or_else(|| ended.then(|| run.status.clone())),
        from: run.started_at,
        to: run.ended_at,
    }
}

/// How often it was given to another profile; the dispatcher's default for a missing assignee does not count.
fn reassigned(d: &Detail) -> u64 {
    let changed = |e: &&Event| e.kind == EventKind::Assigned && e.payload.get("source").is_none();
    u64::try_from(d.events.iter().filter(changed).count()).unwrap_or(u64::MAX)
}

/// Resets, moves and reassignments of the whole board, and what only the history of a single task tells.
fn interventions(seen: &Seen, unknown: &mut Vec<String>) -> Vec<Intervention> {
    let board = seen.turns.iter().map(|(task, e)| (task.as_str(), e));
    let single =
        seen.work.iter().flat_map(|w| w.detail.events.iter().map(|e| (w.detail.task.id.as_str(), e)));
    let mut told = BTreeSet::new();
    let mut all: Vec<Intervention> = Vec::new();
    for (task, e) in board.chain(single).filter(|(_, e)| e.at >= seen.since) {
        let Some(what) = what(e) else { continue };
        if !told.insert((e.at, task.to_owned(), what)) {
            continue;
        }
        let because = e.trail().and_then(|t| t.get("because")?.as_str());
        let because = because.or_else(|| e.payload.get("reason")?.as_str());
        all.push(Intervention {
            at: e.at,
            task: task.to_owned(),
            what: what.to_owned(),
            by: e.by().map(str::to_owned),
            because: because.map(str::to_owned),
        });
    }
    all.sort_by(|a, b| (a.at, &a.task).cmp(&(b.at, &b.task)));
    let surplus = all.len().saturating_sub(MAX_INTERVENTIONS);
    if surplus > 0 {
        unknown.push(format!("{surplus} older resets, moves and reassignments are not shown"));
    }
    all.drain(..surplus);
    all
}

/// The word for an event by which work moved, started over or stopped.
fn what(e: &Event) -> Option<&'static str> {
    let says = |key: &str| e.trail().and_then(|t| t.get(key)).is_some_and(|v| !v.is_null());
    let ours = authorship::is_ours(e);
    match e.kind {
        EventKind::Escalated if ours => Some("escalated"),
        _ if e.by() == Some(HEAL) && (says("reset") || says("uncounted")) => Some("reset"),
        EventKind::Scheduled if ours => Some("held"),
        EventKind::Assigned if ours => Some("moved"),
        EventKind::Assigned if e.payload.get("source").is_none() => Some("reassigned"),
        EventKind::Blocked if ours => Some("escalated"),
        _ => None,
    }
}

/// When each provider refused work, from the signs that routing itself rests on.
fn providers(seen: &Seen, config: &Config) -> Vec<ProviderView> {
    let router = Router::new(&seen.routing, config, seen.now, Profiles::none(), Vec::new());
    let hold = seconds(config.heal.hold);
    // A log names the host alone, and two profiles may name one provider by two of its hosts.
    let ids: Vec<Id> = seen.routing.profiles.values().map(Profile::id).collect();
    let known = |id: &Id| ids.iter().find(|known| known.is_same(id)).unwrap_or(id).clone();
    let of = |id: &Id| known(&known(id)).to_string();
    let mut views: Vec<ProviderView> = Vec::new();
    for s in &seen.routing.sightings {
        let News::Bad { cause, resets } = &s.news else { continue };
        let name = of(&s.id);
        let until = resets.filter(|r| *r > s.at).unwrap_or_else(|| s.at.plus(hold));
        if s.at < seen.since && until <= seen.now {
            continue;
        }
        let refusal = Refusal { from: s.at, until, cause: cause.to_string() };
        let i = views.iter().position(|v| v.name == name).unwrap_or_else(|| {
            views.push(ProviderView { name: name.clone(), state: "healthy".into(), refusals: Vec::new() });
            views.len() - 1
        });
        let refusals = &mut views[i].refusals;
        match refusals.last_mut() {
            // One that falls into the time of another makes that longer.
            Some(last) if s.at <= last.until && last.cause == refusal.cause => {
                last.until = last.until.max(until)
            }
            _ => refusals.push(refusal),
        }
    }
    for entry in router.entries() {
        let (name, state) = (of(&entry.id), router.state_of(entry));
        let view = views.iter_mut().find(|v| v.name == name);
        // The provider and a key of it may both be in trouble: what holds work says more.
        if let Some(view) = view.filter(|v| state.is_held() || v.state == State::Healthy.as_str()) {
            view.state = state.as_str().replace('_', " ");
        }
    }
    views
}

/// Where time and money went, by profile.
fn spent(seen: &Seen) -> Vec<Spent> {
    let mut by: BTreeMap<String, Spent> = BTreeMap::new();
    for w in &seen.work {
        for (i, run) in w.detail.runs.iter().enumerate().filter(|(_, r)| r.is_since(seen.since)) {
            let profile = run.profile.clone().unwrap_or_else(|| "nobody".into());
            let provider = seen.routing.profiles.get(&profile).and_then(|p| p.provider.clone());
            let one = by.entry(profile.clone()).or_insert_with(|| Spent {
                profile,
                provider,
                attempts: 0,
                seconds: 0,
                turns: None,
                tokens: None,
                cost: None,
                is_least: false,
            });
            one.attempts += 1;
            // Only what lies within the time shown.
            let from = run.started_at.max(seen.since);
            one.seconds = one.seconds.saturating_add(run.ended_at.unwrap_or(seen.now).since(from).max(0));
            add(one, usage_of(w, i));
        }
    }
    let mut all: Vec<Spent> = by.into_values().collect();
    all.sort_by(|a, b| (b.cost, b.seconds, &a.profile).cmp(&(a.cost, a.seconds, &b.profile)));
    all
}

fn usage_of(w: &Work, i: usize) -> Option<&Usage> {
    match i.checked_sub(1) {
        None => Some(&w.usage),
        Some(earlier) => w.earlier.get(earlier).map(|u| &u.usage),
    }
}

fn add(one: &mut Spent, usage: Option<&Usage>) {
    let Some(u) = usage else {
        one.is_least = true;
        return;
    };
    one.is_least |= u.is_least || u.cost.is_none() || u.turns.is_none();
    if let Some(n) = u.turns {
        one.turns = Some(one.turns.unwrap_or(0).saturating_add(n));
    }
    if let Some(t) = u.tokens {
        one.tokens = Some(one.tokens.unwrap_or_default().plus(t));
    }
    if let Some(c) = u.known_cost() {
        one.cost = Some(one.cost.unwrap_or(Money(0)).plus(c));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use board::testing::event;

    #[test]
    fn a_watchers_word_is_told_from_anybody_elses() {
        let of = |kind: &str, by: &str, more: serde_json::Value| {
            let mut payload = json!({"by": by});
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            what(&event(kind, 60, payload))
        };
        // (kind, what it is from a watcher, and from another author)
        for (kind, ours, theirs) in [
            ("watchbill_escalated", Some("escalated"), None),
            ("scheduled", Some("held"), None),
            ("assigned", Some("moved"), Some("reassigned")),
            ("blocked", Some("escalated"), None),
            ("commented", None, None),
        ] {
            assert_eq!(of(kind, "route-blocked", json!({})), ours, "{kind}");
            assert_eq!(of(kind, "maria", json!({})), theirs, "{kind}");
        }
        // The dispatcher filling in its default is nobody's decision.
        assert_eq!(of("assigned", "dispatcher", json!({"source": "default"})), None);
        for (by, trail, want) in [
            ("heal", json!({"reset": 1}), Some("reset")),
            ("heal", json!({"uncounted": 1}), Some("reset")),
            ("heal", json!({"reset": null}), None),
            ("heal", json!({}), None),
            ("maria", json!({"reset": 1}), None),
        ] {
            assert_eq!(of("crashed", by, json!({"watchbill": trail})), want, "{by} {trail}");
        }
    }
}
