//! The runtime around a Hermes board: its dispatcher, and the few settings that change what a death means.

use std::path::Path;

use saphyr::{LoadableYamlNode, Yaml};

use crate::board::{BoardId, discover, hermes};
use crate::host::{Holders, Host};
use crate::logs::{self, LogEnd};
use crate::time::Time;
use crate::watch::{Dispatcher, LogReader, Runtime};

/// Seconds between two ticks of a gateway's dispatcher unless configured.
const INTERVAL: i64 = 60;

/// Looks at the runtime of a board. `own` boards have none.
pub fn of(id: &BoardId, own: bool, host: &Host) -> Runtime {
    let mut runtime = Runtime {
        dispatcher: Dispatcher::Absent,
        is_daemon: false,
        failure_limit: hermes::FAILURE_LIMIT,
        interval: INTERVAL,
        profiles: Vec::new(),
    };
    let Some(root) = id.root.as_deref().filter(|_| !own) else { return runtime };
    // A gateway holds this lock for its whole life (Hermes >= 0.17). It is only looked at: taking it, even shared,
    // would keep a starting gateway from ever dispatching.
    let lock = root.join("kanban").join(".dispatcher.lock");
    runtime.is_daemon = lock.exists();
    runtime.dispatcher = match host.flock_holders(&lock) {
        Holders::Pids(pids) => pids.first().map_or(Dispatcher::Absent, |p| Dispatcher::Alive(*p)),
        Holders::Nobody => Dispatcher::Absent,
        Holders::Unknown(why) => Dispatcher::Unknown(why),
    };
    let kanban = settings(&root.join("config.yaml"));
    runtime.failure_limit = kanban.failure_limit.filter(|n| *n >= 1).unwrap_or(hermes::FAILURE_LIMIT);
    runtime.interval = kanban.interval.map_or(INTERVAL, |s| s.clamp(1.0, 86_400.0) as i64);
    runtime.profiles = profiles(root);
    runtime
}

/// Hermes' own settings that change what a death means.
#[derive(Debug, Default)]
struct Kanban {
    failure_limit: Option<i64>,
    interval: Option<f64>,
}

/// Reads Hermes' configuration; its defaults count where there is none or none we can read.
fn settings(path: &Path) -> Kanban {
    let small = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() < 1 << 20);
    let text = if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let documents = Yaml::load_from_str(&text).unwrap_or_default();
    let kanban = documents.first().and_then(|d| d.as_mapping_get("kanban"));
    let number = |key: &str| {
        let value = kanban.and_then(|k| k.as_mapping_get(key))?;
        value.as_floating_point().or_else(|| value.as_integer().map(|n| n as f64))
    };
    Kanban {
        failure_limit: number("failure_limit").map(|n| n as i64),
        interval: number("dispatch_interval_seconds"),
    }
}

fn profiles(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root.join("profiles"));
    let mut names: Vec<String> = entries
        .map(|all| {
            all.flatten()
                .filter(|e| e.path().is_dir())
                .filter_map(|e| e.file_name().into_string().ok())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

/// Worker logs as files.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogFiles;

impl LogReader for LogFiles {
    fn end_of(&self, board: &BoardId, task: &str, since: Time) -> (LogEnd, Option<Time>) {
        let Some(folder) = discover::logs_dir(board) else { return (LogEnd::Absent, None) };
        // The id comes from a row that anybody may have written: it must not lead out of the folder.
        if task.is_empty() || task.contains(['/', '\0']) || task.starts_with('.') {
            return (LogEnd::Unreadable("the task id is no file name".into()), None);
        }
        logs::end_of(&folder.join(format!("{task}.log")), task, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_two_settings_and_survives_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.yaml");
        let cases = [
            ("kanban:\n  failure_limit: 3\n  dispatch_interval_seconds: 30\n", Some(3), Some(30.0)),
            ("kanban: {dispatch_interval_seconds: 7.5}\nmodel: m1\n", None, Some(7.5)),
            ("kanban: nothing\n", None, None),
            (": : :\n\t[", None, None),
            ("", None, None),
        ];
        for (text, limit, interval) in cases {
            std::fs::write(&path, text).unwrap();
            let kanban = settings(&path);
            assert_eq!((kanban.failure_limit, kanban.interval), (limit, interval), "{text}");
        }
        assert_eq!(settings(&dir.path().join("none")).failure_limit, None);
    }
}
