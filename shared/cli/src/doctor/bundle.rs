//! What a bug report needs, without the texts of tasks: `watchbill doctor --bundle`.

use serde_json::{Value, json};

use ::board::{Board, Event, Status};
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

/// What a watcher did to a task, by the fixed words of events alone.
fn step(task: &str, event: &Event) -> Value {
    let of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let trail = |key: &str| of(event.trail().and_then(|trail| trail.get(key)));
    json!({
        "task": task, "run": event.run, "at": event.at, "kind": event.kind, "by": event.by(), "case": trail("case"),
        "cause": trail("cause").or_else(|| of(event.payload.get("cause"))),
    })
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
        "findings": findings, "config": set, "boards": boards,
    })
}

/// The text that is printed: no secret, and the home folder as `~`.
pub(super) fn text(whole: &Value, home: Option<&str>) -> String {
    let text = base::redact::json(&format!("{whole:#}\n")).into_owned();
    match home.filter(|home| home.len() > 1) {
        Some(home) => text.replace(home, "~"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_folder_and_secrets_are_not_told() {
        let whole =
            json!({"a": "/home/anna/.hermes/kanban.db", "b": "key sk-proj-abcdefghijklmnopqrstuvwxyz123456"});
        let text = text(&whole, Some("/home/anna"));
        assert!(text.contains("~/.hermes/kanban.db") && !text.contains("anna"), "{text}");
        assert!(!text.contains("abcdefghijklmnop"), "{text}");
        assert!(super::text(&whole, Some("/")).contains("/home/anna/"), "not every slash");
    }
}
