//! A saved plan: what a dry run would have done, to be done later under the same guards.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::reason::Reason;
use base::time::{Time, words};
use board::Step;

/// The schema of a plan.
pub const PLAN_SCHEMA: &str = "watchbill.plan/1";

/// The oldest plan that is carried out, in seconds: the world moves on.
const MAX_AGE: i64 = 86_400;

/// How much ahead of our clock a plan may be, in seconds.
const MAX_AHEAD: i64 = 120;

/// A saved plan: exactly these steps, under the same guards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The program that made it.
    pub program: String,
    /// The machine it was made on: a plan rests on what its processes looked like.
    pub host: String,
    /// The pass that made it.
    pub pass: String,
    /// When.
    pub now: Time,
    /// Its steps, board by board.
    pub boards: Vec<PlanBoard>,
}

/// The steps for one board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanBoard {
    /// The board's file, with links resolved.
    pub path: String,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Reads a plan, or the report of a dry run that holds one, for `program` to carry out on `host` at `now`.
    ///
    /// # Errors
    /// Why it is refused, in words: it is not a plan, or is one of another program, another machine or another day.
    pub fn read(mut whole: Value, program: &str, host: &str, now: Time) -> Result<Plan, Reason> {
        let inner = whole.get_mut("plan").map(Value::take).unwrap_or(whole);
        let plan: Plan = serde_json::from_value(inner).map_err(|e| Reason::of("not a plan", e))?;
        if plan.schema != PLAN_SCHEMA || plan.program != program {
            return Err(
                format!("a {} of {}, not a {PLAN_SCHEMA} of {program}", plan.schema, plan.program).into()
            );
        }
        if plan.host != host {
            return Err(format!("made on {}, and this is {host}", plan.host).into());
        }
        let age = now.since(plan.now);
        if age > MAX_AGE {
            return Err(format!("made {} ago, which is not within a day", words(age)).into());
        }
        if age < -MAX_AHEAD {
            return Err(format!("made {} from now, by this clock", words(age.saturating_neg())).into());
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(now: &str) -> Value {
        json!({"schema": PLAN_SCHEMA, "program": "heal", "host": "h", "pass": "p", "now": now, "boards": []})
    }

    fn read(whole: Value) -> Result<Plan, Reason> {
        Plan::read(whole, "heal", "h", Time(1_000_000))
    }

    #[test]
    fn a_plan_of_this_program_host_and_day_is_taken() {
        for seconds in ["1000000", "1000120", "913600"] {
            assert_eq!(read(plan(seconds)).map(|p| p.pass), Ok("p".into()), "{seconds}");
        }
        assert!(read(json!({"schema": "watchbill.report/1", "plan": plan("1000000")})).is_ok());
    }

    #[test]
    fn any_other_is_refused_and_says_why() {
        let with = |key: &str, value: &str| {
            let mut plan = plan("1000000");
            plan[key] = value.into();
            plan
        };
        for (whole, why) in [
            (json!({}), "not a plan: missing field `schema`"),
            (json!([]), "not a plan: invalid"),
            (json!({"plan": null}), "not a plan: invalid"),
            (with("more", "x"), "not a plan: unknown field `more`"),
            (
                with("schema", "watchbill.plan/2"),
                "a watchbill.plan/2 of heal, not a watchbill.plan/1 of heal",
            ),
            (with("program", "board"), "a watchbill.plan/1 of board, not"),
            (with("host", "g"), "made on g, and this is h"),
            (with("now", "1000121"), "made 2m from now, by this clock"),
            (with("now", "913599"), "made 1d ago, which is not within a day"),
        ] {
            let said = read(whole.clone()).unwrap_err().to_string();
            assert!(said.starts_with(why), "{whole}: {said}");
        }
    }
}
