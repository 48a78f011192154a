//! This machine: the configuration that counts here, room on the disk, our own state, what can be seen of processes, versions.

use std::path::PathBuf;

use super::Finding;
use base::count::things_or;
use base::error::Error;
use base::time::words;

/// Below this a board may stop to be writable soon.
const FEW: u64 = 1 << 30;
/// Below this it may stop in the midst of a night.
const LAST: u64 = 64 << 20;

/// The configuration as it was loaded.
pub struct ConfigSeen {
    /// How many values are set, and by which files and variables; or why it is refused.
    pub loaded: Result<(usize, Vec<String>), Error>,
    /// Files that their group may write, and files in a folder that others may write.
    pub shared: Vec<(PathBuf, String)>,
    /// Variables that are called like settings and set nothing, each with what to do about it where that is known.
    pub ignored: Vec<(String, Option<String>)>,
}

/// Judges the configuration.
pub fn config(seen: &ConfigSeen) -> Vec<Finding> {
    let first = match &seen.loaded {
        Err(e) => {
            let todo = e.hint.as_deref().unwrap_or("mend it; no watcher does anything until then");
            Finding::error("config-invalid", &e.at, &e.what).todo(todo)
        }
        Ok((0, _)) => {
            Finding::ok("config-valid", "configuration", "none is given; every value is the default")
        }
        Ok((n, from)) => {
            let values = things_or(*n, "value is", "values are");
            Finding::ok("config-valid", "configuration", format!("{values} set, by {}", from.join(", ")))
        }
    };
    let shared = seen.shared.iter().map(|(path, who)| {
        Finding::warning("config-shared", path.display(), who).todo(
            "allow only yourself or root to write there: what is written there decides what happens to tasks",
        )
    });
    let ignored = seen.ignored.iter().map(|(name, todo)| match todo {
        Some(todo) => {
            Finding::warning("config-ignored", name, "sets nothing: there is no such key").todo(todo)
        }
        None => Finding::info("config-ignored", name, "sets nothing: there is no such key"),
    });
    std::iter::once(first).chain(shared).chain(ignored).collect()
}

/// Settings of the shipped system units that a program which is started otherwise does not get.
pub struct UnitSettings {
    /// The file that the units read.
    pub file: PathBuf,
    /// The variables in it that are not set to the same here.
    pub differ: Vec<String>,
}

impl UnitSettings {
    /// What the text of such a file sets differently from the variables of this program.
    pub fn of(file: PathBuf, text: &str, variable: impl Fn(&str) -> Option<String>) -> UnitSettings {
        let one = |line: &str| {
            let (name, value) = line.trim().split_once('=')?;
            let name = name.trim();
            let is_ours = name.starts_with("WATCHBILL_") || name.starts_with("HERMES_");
            let value = value.trim().trim_matches(['"', '\'']);
            (is_ours && variable(name).as_deref() != Some(value)).then(|| name.to_owned())
        };
        UnitSettings { file, differ: text.lines().filter_map(one).collect() }
    }
}

/// Judges them; `None` where everything gets the same.
pub fn unit_settings(seen: &UnitSettings) -> Option<Finding> {
    let names = seen.differ.join(", ");
    let what = format!(
        "sets {names} for the system units alone: programs started by cron or by hand do not read it"
    );
    let todo = "set the same in /etc/watchbill/config.toml, which every program reads, and take it out there; \
                `watchbill doctor -v` names the keys";
    let warning = || Finding::warning("config-differs", seen.file.display(), what).todo(todo);
    (!seen.differ.is_empty()).then(warning)
}

/// How much room is left where files of Watchbill, or a board, lie.
pub struct DiskSeen {
    /// Where.
    pub folder: PathBuf,
    /// Bytes that this user may still write.
    pub free: u64,
}

/// Judges one place.
pub fn disk(seen: &DiskSeen) -> Finding {
    let mib = seen.free >> 20;
    let what = if mib >= 10 << 10 { format!("{} GiB free", mib >> 10) } else { format!("{mib} MiB free") };
    let todo = "make room: without it no worker can write a board, and no watcher its memory";
    match seen.free {
        n if n < LAST => Finding::error("disk-low", seen.folder.display(), what).todo(todo),
        n if n < FEW => Finding::warning("disk-low", seen.folder.display(), what).todo(todo),
        _ => Finding::ok("disk-space", seen.folder.display(), what),
    }
}

/// The folder of the state file.
pub struct StateSeen {
    /// Where; `None` where no variable says.
    pub folder: Option<PathBuf>,
    /// Why it is not used, if so.
    pub refused: Option<String>,
    /// The file that another process holds in each pass, and for how many seconds.
    pub held: Option<(PathBuf, i64)>,
}

/// Seconds after which that is a finding, as of a board that is busy in each pass.
const HELD: i64 = 15 * 60;

/// Judges it.
pub fn state(seen: &StateSeen) -> Finding {
    let about = seen.folder.as_ref().map_or_else(|| "state".to_owned(), |f| f.display().to_string());
    let todo = "make it a folder of your own (mode 0700), with files of your own: without it a pass remembers nothing, and notices no \
                stopped worker, no waiting time and no clock change";
    if let Some((file, seconds)) = seen.held.as_ref().filter(|(_, seconds)| *seconds >= HELD) {
        let what = format!("another process has held {} for {}", file.display(), words(*seconds));
        let todo = format!(
            "end that process, or what it does there: `fuser -v {}` names it; until then a pass remembers nothing, and notices no stopped \
             worker, no waiting time and no clock change",
            file.display()
        );
        return Finding::error("state-refused", about, what).todo(todo);
    }
    match (&seen.folder, &seen.refused) {
        (_, Some(why)) => Finding::error("state-refused", about, why).todo(todo),
        (None, None) => {
            Finding::error("state-refused", about, "neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set")
                .todo(todo)
        }
        (Some(_), None) => Finding::ok("state-ready", about, "can be written"),
    }
}

/// Why workers cannot be seen as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// In a pid namespace of its own.
    Namespace,
    /// `/proc` shows only some processes.
    Proc,
}

/// Says that workers are hidden.
pub fn hidden(why: Hidden) -> Finding {
    let (what, todo) = match why {
        Hidden::Namespace => (
            "in a pid namespace of its own: a worker that was not claimed in it is unknown, and never called gone",
            "run the watchers outside the container; or, where dispatcher, workers and watchers share it, set host.pid_namespace = \"same\"",
        ),
        Hidden::Proc => (
            "/proc does not show every process: workers of other users are unknown",
            "run the watchers as the user who runs the workers, or mount /proc without hidepid and subset",
        ),
    };
    Finding::warning("workers-hidden", "/proc", what).todo(todo)
}

/// Which versions meet here.
pub struct Versions {
    /// Ours.
    pub ours: String,
    /// Of the SQLite that is built in.
    pub sqlite: String,
    /// Of the Hermes on the path, where there is one.
    pub hermes: Option<String>,
}

/// Tells them.
pub fn versions(seen: &Versions) -> Finding {
    let hermes =
        seen.hermes.as_ref().map_or_else(|| "no Hermes on the path".to_owned(), |v| format!("Hermes {v}"));
    Finding::info(
        "versions",
        "this machine",
        format!("Watchbill {}, SQLite {}, {hermes}", seen.ours, seen.sqlite),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_another_process_holds_is_told_after_a_while() {
        for (held, id) in [(None, "state-ready"), (Some(899), "state-ready"), (Some(900), "state-refused")] {
            let held = held.map(|seconds| (PathBuf::from("/s/state.db"), seconds));
            let found = state(&StateSeen { folder: Some("/s".into()), refused: None, held });
            assert_eq!(found.id, id, "{found:?}");
            let todo = found.todo.unwrap_or_default();
            assert!(id == "state-ready" || todo.contains("`fuser -v /s/state.db`"), "{todo}");
        }
    }

    #[test]
    fn what_units_alone_are_given_is_told() {
        let text = "# for all units\n; old\nWATCHBILL_HOST_PID_NAMESPACE=\"same\"\n HERMES_HOME = /srv/hermes\n\
                    WATCHBILL_HEAL_GRACE=5m\nLANG=C\nnonsense\n";
        let same = |name: &str| (name == "WATCHBILL_HEAL_GRACE").then(|| "5m".to_owned());
        let seen = UnitSettings::of("/etc/default/watchbill".into(), text, same);
        assert_eq!(seen.differ, ["WATCHBILL_HOST_PID_NAMESPACE", "HERMES_HOME"]);
        let found = unit_settings(&seen).unwrap();
        assert_eq!((found.id, found.about.as_str()), ("config-differs", "/etc/default/watchbill"));
        assert!(
            found.what.starts_with("sets WATCHBILL_HOST_PID_NAMESPACE, HERMES_HOME for"),
            "{}",
            found.what
        );
        let all = |name: &str| match name {
            "HERMES_HOME" => Some("/srv/hermes".to_owned()),
            "WATCHBILL_HOST_PID_NAMESPACE" => Some("same".to_owned()),
            other => same(other),
        };
        assert_eq!(unit_settings(&UnitSettings::of("/x".into(), text, all)), None);
    }
}
