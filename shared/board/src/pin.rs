//! What is set for one task alone of how its worker asks, and since when.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Event, EventKind, Run};
use base::time::Time;

/// The model and the provider that are set for a task alone: they go before what its profile says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The model (Hermes 0.15 and later).
    pub model: Option<String>,
    /// The provider (Hermes 0.20 and later). Without a model the dispatcher does not pass it on.
    pub provider: Option<String>,
}

impl Pin {
    /// Whether nothing is set.
    pub fn is_none(&self) -> bool {
        self.model.is_none() && self.provider.is_none()
    }

    /// What was set when an attempt began, by what is set now and by the events of the task.
    pub fn at<'a>(&self, began: Time, events: impl Iterator<Item = &'a Event>) -> Pin {
        let (mut then, mut before) = (None, None);
        for (at, turn) in events.filter_map(|e| Some((e.at, Turn::of(e)?))) {
            match at <= began {
                true => then = Some(turn.to),
                // Who set it first found nothing there, unless it says what.
                false => before = before.or(Some(turn.from)),
            }
        }
        then.or(before).unwrap_or_else(|| self.clone())
    }

    /// Tells each attempt what was set when it began.
    pub fn tell(&self, runs: &mut [Run], events: &[Event]) {
        let turns: Vec<&Event> = events.iter().filter(|e| e.turns_pin()).collect();
        for run in runs {
            run.pin = self.at(run.started_at, turns.iter().copied());
        }
    }
}

impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.model, &self.provider) {
            (Some(model), Some(provider)) => write!(f, "{model} at {provider}"),
            (Some(one), None) | (None, Some(one)) => f.write_str(one),
            (None, None) => f.write_str("nothing"),
        }
    }
}

impl Event {
    /// Whether it says what is set for its task alone.
    pub fn turns_pin(&self) -> bool {
        Turn::of(self).is_some()
    }
}

/// One change of what is set.
struct Turn {
    from: Pin,
    to: Pin,
}

impl Turn {
    fn of(e: &Event) -> Option<Turn> {
        let text = |v: Option<&Value>| Some(v?.as_str()?.to_owned()).filter(|s| !s.is_empty());
        let pin = |of: &Value, [model, provider]: [&str; 2]| {
            let is_told = of.get(model).or(of.get(provider)).is_some();
            is_told.then(|| Pin { model: text(of.get(model)), provider: text(of.get(provider)) })
        };
        let columns = ["model_override", "provider_override"];
        if let Some(trail) = e.trail() {
            let (from, to) = (pin(trail.get("before")?, columns), pin(trail.get("after")?, columns));
            let is_turn = from.is_some() || to.is_some();
            return is_turn.then(|| Turn { from: from.unwrap_or_default(), to: to.unwrap_or_default() });
        }
        let to = match e.kind {
            // The details of few events name one of them, and only those are parsed.
            EventKind::Created if columns.iter().any(|c| e.payload.get(c).is_some()) => {
                pin(&e.payload, columns)
            }
            EventKind::ModelOverrideSet => pin(&e.payload, ["model", "provider"]),
            _ => None,
        }?;
        Some(Turn { from: Pin::default(), to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ago, event};
    use serde_json::json;

    fn pin(model: &str, provider: &str) -> Pin {
        let some = |s: &str| Some(s.to_owned()).filter(|s| !s.is_empty());
        Pin { model: some(model), provider: some(provider) }
    }

    #[test]
    fn an_attempt_has_what_was_set_when_it_began() {
        let created = |model: Option<&str>| {
            event(
                EventKind::Created,
                900,
                json!({"model_override": model, "provider_override": model.map(|_| "moon")}),
            )
        };
        let set = |seconds, model: Option<&str>| {
            let keys = json!({"model": model, "provider": model.map(|_| "sun")});
            event(EventKind::ModelOverrideSet, seconds, keys)
        };
        let ours = |seconds| {
            let images = json!({"before": {"model_override": "m2", "provider_override": "sun"},
                "after": {"model_override": null, "provider_override": null}});
            event(EventKind::Assigned, seconds, json!({"by": "route-blocked", "watchbill": images}))
        };
        let none = Pin::default();
        for (now, events, began, want, why) in [
            (pin("m2", "sun"), vec![], 600, pin("m2", "sun"), "nobody says when"),
            (
                pin("m2", "sun"),
                vec![created(Some("m1")), set(300, Some("m2"))],
                600,
                pin("m1", "moon"),
                "as it was made",
            ),
            (pin("m2", "sun"), vec![created(None), set(300, Some("m2"))], 600, none.clone(), "set after it"),
            (pin("m2", "sun"), vec![set(300, Some("m2"))], 600, none.clone(), "nobody set it before"),
            (
                pin("m2", "sun"),
                vec![created(None), set(300, Some("m2"))],
                300,
                pin("m2", "sun"),
                "set as it began",
            ),
            (none.clone(), vec![ours(300)], 600, pin("m2", "sun"), "taken off since"),
            (none.clone(), vec![set(900, Some("m2")), ours(300)], 100, none.clone(), "taken off before"),
            (none.clone(), vec![set(300, None)], 600, none.clone(), "an old board says nothing of before"),
        ] {
            assert_eq!(now.at(ago(began), events.iter()), want, "{why}");
        }
    }
}
