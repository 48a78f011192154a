//! What a bug report needs, without the texts of tasks: `watchbill doctor --bundle`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use ::board::{Board, Event, EventKind, Rule, Status};
use base::cause::Cause;
use base::error::Result;
use base::time::Time;
use ops::doctor::Finding;
use policy::authorship::is_ours;

/// The schema of what is printed.
const SCHEMA: &str = "watchbill.bundle/1";
/// How far back steps of the watchers are told, in seconds.
const BACK: i64 = 2 * 86_400;
/// Most events of a board that are read, and most steps that are told: the newest ones.
const MAX_EVENTS: u32 = 20_000;
const MAX_STEPS: usize = 200;

/// One board: its shape, its tasks by state, and the newest steps of the watchers. No title, body, comment or reason is in it.
///
/// # Errors
/// The board cannot be read.
pub(super) fn board(name: &str, board: &mut dyn Board, now: Time) -> Result<Value> {
    let open = board.glance(&Status::OPEN)?;
    let count = |status: &Status| open.iter().filter(|t| t.status == *status).count();
    let counts: serde_json::Map<String, Value> =
        Status::OPEN.iter().map(|status| (status.to_string(), json!(count(status)))).collect();
    let events = board.events(now.plus(-BACK), MAX_EVENTS)?;
    let ours: Vec<Value> = events.iter().filter(|(_, e)| is_ours(e)).map(|(id, e)| step(id, e)).collect();
    let newest = &ours[ours.len().saturating_sub(MAX_STEPS)..];
    Ok(json!({"board": name, "shape": board.shape(), "open": counts, "steps": newest}))
}

/// What a watcher did to a task. Workers can write any row: what is not one of our own words is told as `other`.
fn step(task: &str, event: &Event) -> Value {
    let of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let trail = |key: &str| of(event.trail().and_then(|trail| trail.get(key)));
    let case = trail("case").map(|case| {
        let rule = case.split(':').next().unwrap_or_default();
        known(rule, !matches!(Rule::from(rule), Rule::Other(_))).to_owned()
    });
    let cause = trail("cause").or_else(|| of(event.payload.get("cause")));
    // A cause of an ended attempt, or why a person was asked (`no-decision`).
    let is_word =
        |cause: &str| cause.len() <= 20 && cause.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let is_cause = |cause: &str| serde_json::from_value::<Cause>(json!(cause)).is_ok() || is_word(cause);
    let cause = cause.map(|cause| known(&cause, is_cause(&cause)).to_owned());
    let is_id = task.len() <= 64 && task.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    json!({
        "task": known(task, is_id), "run": event.run, "at": event.at,
        "kind": known(event.kind.as_str(), !matches!(event.kind, EventKind::Other(_))), "by": event.by(), "case": case,
        "cause": cause,
    })
}

fn known(word: &str, is_known: bool) -> &str {
    if is_known { word } else { "other" }
}

/// A finding without the words of a person, of another program, or of a value that was refused.
fn finding(f: &Finding) -> Value {
    let what = match f.id {
        // Up to the key. Behind it stands the value, which may be a secret.
        "config-invalid" => {
            let key = f.what.split(['=', '"', '\'', '`']).next().unwrap_or_default();
            format!("{} is refused", key.trim_end())
        }
        "notify-failing" => "a message could not be delivered".to_owned(),
        "board-paused" => "paused".to_owned(),
        _ => return json!(f),
    };
    json!({"id": f.id, "severity": f.severity, "about": f.about, "what": what, "todo": null})
}

/// The whole object. `values`: the configuration, of which only what is set is told.
pub(super) fn whole(
    version: &str,
    now: Time,
    findings: &[Finding],
    values: &[Value],
    boards: &[Value],
) -> Value {
    let set: Vec<&Value> = values.iter().filter(|v| v["origin"] != "default").collect();
    let kernel = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    json!({
        "schema": SCHEMA, "version": version, "now": now,
        "machine": {
            "system": word(kernel.sysname()), "release": word(kernel.release()), "arch": word(kernel.machine()),
            "processors": std::thread::available_parallelism().map_or(0, usize::from),
        },
        "findings": findings.iter().map(finding).collect::<Vec<_>>(), "config": set, "boards": boards,
    })
}

/// The text that is printed: no secret, and the home folder as `~`.
pub(super) fn text(mut whole: Value, home: Option<&str>) -> String {
    let home = home.map(Path::new).filter(|home| home.is_absolute() && home.parent().is_some());
    let real = home.and_then(|home| home.canonicalize().ok());
    for home in home.into_iter().chain(real.as_deref()) {
        // Without a slash at its end.
        let home: PathBuf = home.components().collect();
        without_home(&mut whole, &home.display().to_string());
    }
    base::redact::json(&format!("{whole:#}\n")).into_owned()
}

/// Puts `~` in the place of the home folder in every text, where its name ends there.
fn without_home(value: &mut Value, home: &str) {
    match value {
        Value::String(text) => {
            let mut parts = text.split(home);
            let first = parts.next().unwrap_or_default().to_owned();
            *text = parts.fold(first, |all, rest| {
                let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
                format!("{all}{}{rest}", if goes_on { home } else { "~" })
            });
        }
        Value::Array(all) => all.iter_mut().for_each(|one| without_home(one, home)),
        Value::Object(all) => all.values_mut().for_each(|one| without_home(one, home)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ops::doctor::Severity;

    #[test]
    fn the_home_folder_and_secrets_are_not_told() {
        let whole =
            json!({"a": "/home/anna/.hermes/kanban.db", "b": "key sk-proj-abcdefghijklmnopqrstuvwxyz123456"});
        for home in ["/home/anna", "/home/anna/", "/home/./anna"] {
            let text = text(whole.clone(), Some(home));
            assert!(text.contains("~/.hermes/kanban.db") && !text.contains("anna"), "{text}");
            assert!(!text.contains("abcdefghijklmnop"), "{text}");
        }
        for home in ["/", "/home/ann", "/home/anna/.herm", "home", ""] {
            assert!(text(whole.clone(), Some(home)).contains("/home/anna/.hermes"), "{home}");
        }
    }

    #[test]
    fn no_word_of_a_person_or_of_a_refused_value_is_told() {
        let found = [
            ("config-invalid", "my.toml:3:7: notify.x.url = \"ftp://hooks/TOPIC\" is not a URL"),
            ("notify-failing", "tk_SECRET, which holds its token, is not set"),
            ("board-paused", "paused: customer acme is leaving"),
        ];
        let found = found.map(|(id, what)| Finding {
            id,
            severity: Severity::Error,
            about: "x".into(),
            what: what.into(),
            todo: Some(what.into()),
            mends: None,
            also: Vec::new(),
        });
        let whole = whole("1", Time(0), &found, &[], &[]);
        let text = text(whole, None);
        for word in ["TOPIC", "SECRET", "acme"] {
            assert!(!text.contains(word), "{text}");
        }
        assert!(text.contains("my.toml:3:7: notify.x.url is refused"), "{text}");
    }

    #[test]
    fn a_row_that_a_worker_forged_is_told_as_other() {
        let payload =
            json!({"by": "heal", "cause": "the password is hunter2", "watchbill": {"case": "free text"}});
        let kind = EventKind::from("the customer said no");
        let forged =
            step("acme, our customer", &Event { kind, at: Time(1), run: None, payload: payload.into() });
        for key in ["task", "kind", "case", "cause"] {
            assert_eq!(forged[key], "other", "{key}");
        }
        let payload = json!({"by": "heal", "cause": "quota", "watchbill": {"case": "dead-worker:x"}});
        let ours = step(
            "t_1",
            &Event { kind: EventKind::Reclaimed, at: Time(1), run: None, payload: payload.into() },
        );
        assert_eq!([&ours["task"], &ours["case"], &ours["cause"]], ["t_1", "dead-worker", "quota"]);
    }
}
