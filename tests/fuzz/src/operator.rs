//! What the operator supplies: configuration, variables, values in words, saved plans.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::{Value, json};
use shared::base::error::Kind;
use shared::base::money::Money;
use shared::base::time::Time;
use shared::config::{Config, Env, QuietHours, span};
use shared::ops::report::{PLAN_SCHEMA, Plan};

use super::log::{place, write};
use super::text::text;

/// A configuration is loaded, and then is what it says when written out; or it is refused in one line.
pub fn config(data: &[u8]) {
    values(&text(data));
    let mut parts = data.splitn(2, |b| *b == 0xff);
    let (file, variables) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let path = place("config.toml");
    write(&path, file, false);
    let variable = |line: &[u8]| {
        let at = line.iter().position(|b| *b == b'=')?;
        let name = [b"WATCHBILL_", &line[..at]].concat();
        // This one names another file.
        (name != b"WATCHBILL_CONFIG")
            .then(|| (OsString::from_vec(name), OsString::from_vec(line[at + 1..].to_vec())))
    };
    let env: Env = variables.split(|b| *b == b'\n').filter_map(variable).collect();
    match Config::load(Some(&path), &env) {
        Ok(loaded) => {
            let written = toml::to_string(&loaded.config).expect("a configuration as TOML");
            write(&path, written.as_bytes(), false);
            let again = Config::load(Some(&path), &Env::new()).expect("a configuration that was written");
            assert_eq!(again.config, loaded.config, "{written}");
        }
        Err(e) => {
            assert_eq!(e.kind, Kind::Config);
            let said = e.to_string();
            assert!(!said.contains('\n') && said.len() < 2_000, "{said:?}");
        }
    }
}

/// Values in words: what is read and written is read as the same.
fn values(text: &str) {
    if let Ok(length) = span::read(text) {
        assert_eq!(span::read(&span::words(length)), Ok(length));
    }
    if let Some(amount) = Money::parse(text) {
        assert_eq!(Money::parse(&amount.exact()), Some(amount));
    }
    if let Some(at) = Time::parse(text) {
        assert_eq!(Time::parse(&at.to_string()), Some(at));
    }
    if let Some(hours) = QuietHours::parse(text) {
        let now = Time(1_795_248_430);
        assert!(hours.until(now).is_none_or(|end| (1..=25 * 3_600).contains(&end.since(now))));
    }
}

const NOW: Time = Time(1_795_248_430);

/// A plan is refused with a reason, or it is whole and for this program, host and day.
pub fn plan(data: &[u8]) {
    let Ok(whole) = serde_json::from_slice::<Value>(data) else { return };
    checked(&whole);
    // The boards alone, so that the way to them need not be found every time.
    checked(&json!({
        "schema": PLAN_SCHEMA, "program": "heal", "host": "here", "pass": "p", "now": NOW, "boards": whole
    }));
    checked(&json!({
        "schema": PLAN_SCHEMA, "program": "heal", "host": "here", "pass": "p", "now": NOW,
        "boards": [{"path": "/b", "steps": whole}]
    }));
}

fn checked(whole: &Value) {
    match Plan::read(whole.clone(), "heal", "here", NOW) {
        Err(why) => assert!(!why.to_string().trim().is_empty()),
        Ok(plan) => {
            assert_eq!((plan.schema.as_str(), plan.program.as_str()), (PLAN_SCHEMA, "heal"));
            assert_eq!(plan.host, "here");
            assert!((-120..=86_400).contains(&NOW.since(plan.now)), "{}", plan.now);
            let json = serde_json::to_value(&plan).expect("a plan as JSON");
            let again = Plan::read(json.clone(), "heal", "here", NOW);
            assert_eq!(again.as_ref(), Ok(&plan), "a plan written and read is another");
            assert_eq!(Plan::read(json!({"plan": json}), "heal", "here", NOW), again);
            assert!(Plan::read(json.clone(), "board", "here", NOW).is_err());
            assert!(Plan::read(json, "heal", "there", NOW).is_err());
        }
    }
}
