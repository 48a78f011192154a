//! The runtime around a Hermes board: its dispatcher, and the few settings that change what a death means.

pub mod gateway;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use saphyr::Yaml;
use serde::{Deserialize, Serialize};

use crate::{Profiles, needs_operator};
use base::cause::Cause;
use base::names::is_of_profile;
use base::reason::Reason;
use base::time::Time;
use board::{BoardId, Status, Task, discover, hermes};
use host::{Holders, Host};
use logs::cache::Cache;
use logs::file::{self, Of};
use logs::handle::{self, Owner};
use logs::operator_patterns::Patterns;
use logs::provider::{self, PROFILES};
use logs::{Evidence, LogEnd, Reading, hermes as hermes_log};

/// A dispatcher that did something within these seconds is taken for alive.
pub const TICKED: i64 = 600;
/// Seconds between two ticks of a gateway's dispatcher unless configured.
const INTERVAL: i64 = 60;

/// The log of a profile, in its folder.
const LOG: &str = "logs/agent.log";

/// Which log to read.
#[derive(Debug, Clone, Copy)]
pub struct LogAsk<'a> {
    /// The board.
    pub board: &'a BoardId,
    /// The task.
    pub task: &'a str,
    /// Who works on it.
    pub profile: Option<&'a str>,
    /// When the attempt asked about began: a log not written since has nothing of it.
    pub since: Time,
    /// The one reading of the clock.
    pub now: Time,
    /// The file the claim names, for agents that are no Hermes workers; `None` is the board's own worker log.
    pub file: Option<&'a str>,
}

/// Who can be asked what a worker's log says; the real one reads files.
pub trait LogReader {
    /// What the newest attempt's log says. What was read is remembered in `cache`.
    fn read(&self, ask: &LogAsk<'_>, cache: &mut Cache) -> Reading;
}

/// Who dispatches on a board, as far as can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatcher {
    /// It holds its lock right now.
    Alive(i64),
    /// No process is known, but it did something lately.
    Ticked,
    /// Nothing of one can be seen.
    Absent,
    /// Cannot be told; treated as alive.
    Unknown(String),
}

/// The runtime around a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its dispatcher's process.
    pub dispatcher: Dispatcher,
    /// A long-lived dispatcher works here, rather than one-shot command lines.
    pub is_daemon: bool,
    /// Failures at which its breaker blocks; `None` where its settings cannot be read.
    pub failure_limit: Option<i64>,
    /// Seconds between two dispatcher ticks.
    pub interval: i64,
    /// Profiles that exist and that its dispatcher starts.
    pub profiles: Profiles,
    /// The profile Hermes' own configuration names as its orchestrator.
    #[serde(default)]
    pub orchestrator: Option<String>,
    /// Profiles that exist and that its dispatcher never starts: `kanban.dispatch_profiles` does not list them.
    #[serde(default)]
    pub unlisted: Vec<String>,
    /// To whom its dispatcher assigns what is ready without an assignee, before it starts it. Nobody where it would not: that profile does
    /// not exist, or is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_assignee: Option<String>,
    /// Names that are no profiles and take ready tasks all the same: terminals, as `lanes` of the dispatcher module sees them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lanes: BTreeSet<String>,
    /// Why none of its settings is known: its `config.yaml` is there and cannot be read, or is not valid YAML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Whether Hermes rewrites by itself what is in triage, as it does unless told otherwise; `None` where nobody can tell.
    #[serde(default)]
    pub auto_decompose: Option<bool>,
    /// Whether Hermes has reviewed by an agent what is in review; the same.
    #[serde(default)]
    pub review_dispatch: Option<bool>,
}

impl Profiles {
    /// Those of a runtime, where there is one.
    pub fn of(runtime: Option<&Runtime>) -> &Profiles {
        runtime.map_or(Profiles::none(), |runtime| &runtime.profiles)
    }
}

impl Runtime {
    /// Where there is no Hermes: nothing dispatches, and no profile is known.
    pub fn absent() -> Runtime {
        Runtime {
            dispatcher: Dispatcher::Absent,
            is_daemon: false,
            failure_limit: Some(hermes::FAILURE_LIMIT),
            interval: INTERVAL,
            profiles: Profiles::default(),
            orchestrator: None,
            unlisted: Vec::new(),
            default_assignee: None,
            lanes: BTreeSet::new(),
            unreadable: None,
            auto_decompose: None,
            review_dispatch: None,
        }
    }

    /// What of Hermes cannot be read that tells who works on the board and how, each with the reason.
    pub fn blind(&self) -> BTreeSet<&str> {
        self.unreadable.as_deref().into_iter().chain(self.profiles.unknown()).collect()
    }

    /// Whether its dispatcher never starts a worker of this profile, though it exists.
    pub fn is_unlisted(&self, profile: Option<&str>) -> bool {
        profile.is_some_and(|profile| self.unlisted.iter().any(|name| name == profile))
    }
}

impl Runtime {
    /// Whether nobody will ever take a ready task of this assignee: no worker of such a name is there, and no dispatcher assigns it.
    pub fn is_nobodys(&self, assignee: Option<&str>, own_board: bool) -> bool {
        let is_assigned = assignee.is_none() && self.default_assignee.is_some();
        !is_assigned
            && !self.is_lane(assignee)
            && needs_operator::is_nobodys(assignee, &self.profiles, own_board)
    }

    /// Whether there is no profile of this name, and it claims its tasks itself.
    pub fn is_lane(&self, assignee: Option<&str>) -> bool {
        assignee.is_some_and(|name| self.lanes.iter().any(|lane| is_of_profile(name, lane)))
    }

    /// Tasks as its dispatcher takes them: what is ready without an assignee is for whom it assigns that to.
    pub fn assigned<'t>(&self, rows: &'t [Task]) -> Cow<'t, [Task]> {
        let is_meant = |t: &Task| t.status == Status::Ready && t.assignee.is_none();
        let Some(name) = self.default_assignee.as_ref().filter(|_| rows.iter().any(is_meant)) else {
            return Cow::Borrowed(rows);
        };
        let of_default = |t: &Task| match is_meant(t) {
            true => Task { assignee: Some(name.clone()), ..t.clone() },
            false => t.clone(),
        };
        Cow::Owned(rows.iter().map(of_default).collect())
    }
}

/// Looks at the runtime of a board. `own` boards have none.
pub fn of(id: &BoardId, own: bool, host: &Host) -> Runtime {
    let mut runtime = Runtime::absent();
    let Some(root) = id.root.as_deref().filter(|_| !own) else { return runtime };
    // A gateway holds this lock for its whole life (Hermes >= 0.17). It is only looked at: taking it, even shared,
    // would keep a starting gateway from ever dispatching.
    let lock = gateway::lock(id).unwrap_or_default();
    runtime.is_daemon = lock.exists();
    runtime.dispatcher = match host.flock_holders(&lock) {
        Holders::Pids(pids) => pids.first().map_or(Dispatcher::Absent, |p| Dispatcher::Alive(*p)),
        Holders::Nobody => Dispatcher::Absent,
        Holders::Unknown(why) => Dispatcher::Unknown(why),
    };
    let file = root.join("config.yaml");
    let existing = provider::list(root).map_err(|why| cannot_be_read(&root.join(PROFILES), &why));
    let kanban = match provider::settings(&file, kanban) {
        Ok(kanban) => kanban,
        Err(why) => {
            let why = cannot_be_read(&file, &why);
            runtime.failure_limit = None;
            // Which of those that exist its dispatcher starts stands in the settings.
            runtime.profiles = Profiles::Unknown(existing.err().unwrap_or_else(|| why.clone()));
            runtime.unreadable = Some(why);
            return runtime;
        }
    };
    runtime.failure_limit = kanban.failure_limit.filter(|n| *n >= 1).or(runtime.failure_limit);
    let interval = kanban.interval.filter(|s| s.is_finite());
    runtime.interval = interval.map_or(INTERVAL, |s| s.clamp(1.0, 86_400.0) as i64);
    runtime.auto_decompose = Some(kanban.auto_decompose.unwrap_or(true));
    runtime.review_dispatch = Some(kanban.review_dispatch.unwrap_or(true));
    let listed = kanban.profiles;
    let is_listed = |name: &String| listed.as_ref().is_none_or(|listed| listed.contains(name));
    runtime.profiles = match existing {
        Err(why) => Profiles::Unknown(why),
        Ok(existing) => {
            let (mut started, unlisted): (Vec<String>, Vec<String>) =
                existing.into_iter().partition(is_listed);
            runtime.unlisted = unlisted;
            if started.is_empty() && listed.is_some() {
                // None at all would mean that nobody knows which there are, and work would go to any.
                started.push("default".into());
            }
            Profiles::Known(started)
        }
    };
    if !is_listed(&"default".to_owned()) && !runtime.is_unlisted(Some("default")) {
        runtime.unlisted.push("default".into());
    }
    runtime.orchestrator = kanban.orchestrator;
    let is_started = |name: &String| {
        let is_unlisted = runtime.unlisted.iter().any(|other| is_of_profile(name, other));
        !is_unlisted && !needs_operator::is_nobodys(Some(name), &runtime.profiles, false)
    };
    runtime.default_assignee = kanban.default_assignee.filter(is_started);
    runtime
}

fn cannot_be_read(place: &Path, why: &Reason) -> String {
    format!("{} cannot be read: {why}", place.display())
}

/// Files and folders of Hermes that are there and cannot be read, though what they say decides: its settings, its profiles, the settings
/// and the log of each of these, and the logs of its workers; each with the reason.
pub fn unreadable(id: &BoardId) -> Vec<String> {
    let Some(root) = id.root.as_deref() else { return Vec::new() };
    let said = |file: &Path, why: &Reason| format!("{}: {why}", file.display());
    let settings = |file: PathBuf| provider::settings(&file, |_| ()).err().map(|why| said(&file, &why));
    let log = |file: PathBuf| {
        let why = handle::glance(&file, Owner::Anybody).err().or_else(|| handle::open(&file).err());
        why.map(|why| said(&file, &why))
    };
    let listed = provider::list(root);
    let folder = listed.as_ref().err().map(|why| said(&root.join(PROFILES), why));
    // A file that is not there tells whether those beside it could be looked at.
    let no_log = |folder: &Path| handle::glance(&folder.join(".none"), Owner::Anybody).err();
    let logs = discover::logs_dir(id).and_then(|folder| Some(said(&folder, &no_log(&folder)?)));
    let homes = listed.iter().flatten().filter_map(|name| provider::home(root, name));
    // The root itself is the profile "default".
    let homes: BTreeSet<PathBuf> = homes.chain([root.to_owned()]).collect();
    let of_home = |home: &PathBuf| [settings(home.join("config.yaml")), log(home.join(LOG))];
    let mut all: Vec<String> = homes.iter().flat_map(of_home).chain([folder, logs]).flatten().collect();
    all.sort();
    all
}

/// Hermes' own settings that change what a death means.
#[derive(Debug, Default)]
struct Kanban {
    auto_decompose: Option<bool>,
    review_dispatch: Option<bool>,
    failure_limit: Option<i64>,
    interval: Option<f64>,
    orchestrator: Option<String>,
    default_assignee: Option<String>,
    /// The only profiles that its dispatcher starts; `None`: all. Where nobody is named, it starts nobody.
    profiles: Option<Vec<String>>,
}

fn kanban(top: Option<&Yaml<'_>>) -> Kanban {
    let kanban = top.and_then(|top| provider::value(top, "kanban"));
    let at = |key: &str| kanban.and_then(|k| provider::value(k, key));
    // Hermes makes a number of a text, too.
    let number = |key: &str| {
        let value = at(key)?;
        let text = || value.as_str()?.trim().parse().ok();
        value.as_floating_point().or_else(|| value.as_integer().map(|n| n as f64)).or_else(text)
    };
    let switch = |key: &str| is_on(at(key)?);
    let name = |key: &str| {
        let name = at(key)?.as_str()?.trim().to_lowercase();
        (!name.is_empty()).then_some(name)
    };
    Kanban {
        auto_decompose: switch("auto_decompose"),
        review_dispatch: switch("review_dispatch"),
        failure_limit: number("failure_limit").map(|n| n as i64),
        interval: number("dispatch_interval_seconds"),
        orchestrator: name("orchestrator_profile"),
        default_assignee: name("default_assignee"),
        profiles: at("dispatch_profiles").map(names),
    }
}

/// A switch by YAML 1.1, which PyYAML reads for Hermes: `off` and `no` are false there.
fn is_on(value: &Yaml<'_>) -> Option<bool> {
    value.as_bool().or_else(|| Some(value.as_integer()? != 0)).or_else(|| {
        match value.as_str()?.to_ascii_lowercase().as_str() {
            "on" | "yes" => Some(true),
            "off" | "no" => Some(false),
            _ => None,
        }
    })
}

/// A list of profiles, or one text with commas between, as Hermes takes them.
fn names(value: &Yaml<'_>) -> Vec<String> {
    let listed = value.as_vec().map(|all| all.iter().filter_map(|v| v.as_str()).collect::<Vec<_>>());
    let listed = listed.or_else(|| Some(value.as_str()?.split(',').collect())).unwrap_or_default();
    listed.into_iter().map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// Worker logs as files, read with the operator's patterns.
#[derive(Debug, Clone, Copy)]
pub struct LogFiles<'a>(pub &'a Patterns);

impl LogReader for LogFiles<'_> {
    fn read(&self, ask: &LogAsk<'_>, cache: &mut Cache) -> Reading {
        let rules = self.0.of_profile(ask.profile);
        let unreadable = |why: &str| Reading::of(LogEnd::Unreadable(why.to_owned()), None);
        let ask_for = |path, of| file::Ask { path, of, since: ask.since, now: ask.now };
        if let Some(named) = ask.file.map(Path::new) {
            if !named.is_absolute() {
                return unreadable("the log its claim names is not an absolute path");
            }
            if discover::is_board_file(ask.board, named) {
                return unreadable("the log its claim names is the board itself");
            }
            return file::read_taught(&ask_for(named, Of::Named), rules, cache);
        }
        let Some(folder) = discover::logs_dir(ask.board) else { return Reading::of(LogEnd::Absent, None) };
        let worker_log = discover::log_file(&folder, ask.task);
        let own = file::read_taught(&ask_for(&worker_log, Of::Task(ask.task)), rules, cache);
        if !is_asked_about(&own.end) {
            return own;
        }
        let Some(log) = profile_log(ask) else { return own };
        let profile = file::read_taught(&ask_for(&log, Of::ProfileOf(ask.task)), rules, cache);
        match &profile.end {
            LogEnd::Unreadable(why) if !is_told(&own.end) => untold(own, &log, why),
            _ => joined(own, of_this_attempt(profile, ask)),
        }
    }
}

/// Whether the log of the profile is asked about an end that the worker's own log shows. That log is never translated, names the
/// endpoint, and nothing that a model wrote stands in it. What Hermes tries again stands there at once: 0.19 keeps it back from the
/// worker's log until it gives up.
fn is_asked_about(own: &LogEnd) -> bool {
    match own {
        LogEnd::Ended(e) => e.endpoint_host.is_none() && may_be_told(e),
        LogEnd::NoEvidence | LogEnd::Absent => true,
        LogEnd::Unreadable(_) => false,
    }
}

/// Whether an end is one that the log of the profile would tell of: a refusal of the provider. Of a budget, a missing call and what
/// comes before a session, only the worker's own log tells.
fn may_be_told(e: &Evidence) -> bool {
    e.cause.lies_with_provider()
        || matches!(e.cause, Cause::ConnectionRefused | Cause::ModelMissing)
        || is_code_alone(e)
}

/// What both logs come to. Where the profile's tells of this attempt at all, its word on the end counts; an exit code is still there
/// where it has none. That log is written to by others too: when it last was says nothing about this worker.
fn joined(own: Reading, profile: Reading) -> Reading {
    let theirs = match &profile.end {
        LogEnd::Ended(e) => Some(e.clone()),
        _ => None,
    };
    if profile.heard.is_none() && theirs.is_none() && profile.signals.is_empty() {
        return own;
    }
    let end = match (own.end.clone(), theirs) {
        // It failed, and only the worker's own words say at what.
        (LogEnd::Ended(mine), Some(e)) if e.cause == Cause::Unknown && !is_code_alone(&mine) => {
            LogEnd::Ended(Evidence { endpoint_host: e.endpoint_host, ..mine })
        }
        (_, Some(e)) => LogEnd::Ended(e),
        (LogEnd::Ended(mine), None) if profile.heard.is_some() && !is_code_alone(&mine) => LogEnd::NoEvidence,
        (mine, None) => mine,
    };
    let Reading { modified, earlier, last_words, is_left, .. } = own;
    Reading { end, modified, earlier, last_words, is_left, ..profile }
}

/// Whether nothing but its exit code tells how an attempt ended. That says whether another attempt may help, and not what refused
/// this one, nor until when.
fn is_code_alone(e: &Evidence) -> bool {
    e.words.starts_with(hermes_log::EXIT)
}

/// The log of the profile that worked on a task.
fn profile_log(ask: &LogAsk<'_>) -> Option<PathBuf> {
    let (root, name) = (ask.board.root.as_deref()?, ask.profile?);
    Some(provider::home(root, name)?.join(LOG))
}

/// Whether the worker's own log tells how the attempt ended: then the profile's only says at which endpoint.
fn is_told(own: &LogEnd) -> bool {
    matches!(own, LogEnd::Ended(e) if !is_code_alone(e))
}

/// An end of which only the log of the profile may tell, where that cannot be read: a limit may stand in it.
fn untold(own: Reading, log: &Path, why: &str) -> Reading {
    let file = log.display().to_string();
    Reading { end: LogEnd::Unreadable(format!("the log of its profile: {why}")), file: Some(file), ..own }
}

/// What a profile's log says, as far as it says it of the attempt asked about: it holds those before it too.
fn of_this_attempt(mut reading: Reading, ask: &LogAsk<'_>) -> Reading {
    let within = |at: Time| at >= ask.since.plus(-2) && at <= ask.now.plus(120);
    reading.heard = reading.heard.filter(|at| within(*at));
    reading.signals.retain(|s| s.evidence.at.is_some_and(within));
    if !matches!(&reading.end, LogEnd::Ended(e) if e.at.is_some_and(within)) {
        reading.end = LogEnd::NoEvidence;
    }
    reading
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
            let kanban = provider::settings(&path, kanban).unwrap_or_default();
            assert_eq!((kanban.failure_limit, kanban.interval), (limit, interval), "{text}");
        }
        assert_eq!(provider::settings(&dir.path().join("none"), kanban).unwrap().failure_limit, None);
    }

    #[test]
    fn a_limit_that_cannot_be_read_is_not_known() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        let root = Some(dir.path().to_owned());
        let id = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        let host = Host::here(&config::Config::default().host.policy(), Time(4_000_000_000)).unwrap();
        let limit = || of(&id, false, &host).failure_limit;
        assert_eq!(limit(), Some(hermes::FAILURE_LIMIT), "nothing is set");
        std::fs::write(&file, "kanban: {failure_limit: 5}\n").unwrap();
        assert_eq!(limit(), Some(5));
        std::fs::write(&file, "kanban: {failure_limit: 5\n").unwrap();
        assert_eq!(limit(), None);
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(limit(), None);
    }

    #[test]
    fn a_packet_of_before_is_read() {
        let packet =
            r#"{"dispatcher":"ticked","is_daemon":true,"failure_limit":3,"interval":60,"profiles":["luna"]}"#;
        let runtime: Runtime = serde_json::from_str(packet).unwrap();
        assert_eq!((runtime.failure_limit, runtime.profiles.has("sol")), (Some(3), Some(false)));
        assert_eq!((runtime.auto_decompose, runtime.unreadable), (None, None));
    }

    #[test]
    fn only_profiles_that_are_listed_are_started() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["luna", "sol"] {
            std::fs::create_dir_all(dir.path().join("profiles").join(name)).unwrap();
        }
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (path, root) = (dir.path().join("kanban.db"), Some(dir.path().to_owned()));
        let id = BoardId { at: path.into(), slug: Some("default".into()), root };
        for (value, listed, unlisted) in [
            ("", vec!["luna", "sol"], vec![]),
            ("  dispatch_profiles: [Sol, default]\n", vec!["sol"], vec!["luna"]),
            ("  dispatch_profiles: \"luna, x\"\n", vec!["luna"], vec!["sol", "default"]),
            ("  dispatch_profiles:\n", vec!["default"], vec!["luna", "sol", "default"]),
            ("  dispatch_profiles: []\n", vec!["default"], vec!["luna", "sol", "default"]),
        ] {
            let text = format!("kanban:\n  failure_limit: 2\n{value}");
            std::fs::write(dir.path().join("config.yaml"), text).unwrap();
            let host = Host::here(&config::Config::default().host.policy(), Time(4_000_000_000)).unwrap();
            let runtime = of(&id, false, &host);
            let seen = (runtime.profiles, runtime.unlisted);
            assert_eq!(seen, (Profiles::Known(owned(&listed)), owned(&unlisted)), "{value}");
        }
    }

    #[test]
    fn whom_a_dispatcher_assigns_what_is_ready_for_nobody_takes_it() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["luna", "sol"] {
            std::fs::create_dir_all(dir.path().join("profiles").join(name)).unwrap();
        }
        let (path, root) = (dir.path().join("kanban.db"), Some(dir.path().to_owned()));
        let id = BoardId { at: path.into(), slug: Some("default".into()), root };
        let host = Host::here(&config::Config::default().host.policy(), Time(4_000_000_000)).unwrap();
        for (value, to) in [
            ("", None),
            ("  default_assignee: luna\n", Some("luna")),
            ("  default_assignee: \" Luna \"\n", Some("luna")),
            ("  default_assignee: default\n", Some("default")),
            ("  default_assignee: ''\n", None),
            ("  default_assignee:\n", None),
            ("  default_assignee: ghost\n", None),
            ("  default_assignee: luna\n  dispatch_profiles: [luna]\n", Some("luna")),
            ("  default_assignee: luna\n  dispatch_profiles: [sol]\n", None),
            ("  default_assignee: default\n  dispatch_profiles: [sol]\n", None),
        ] {
            std::fs::write(dir.path().join("config.yaml"), format!("kanban:\n  failure_limit: 2\n{value}"))
                .unwrap();
            let runtime = of(&id, false, &host);
            assert_eq!(runtime.default_assignee.as_deref(), to, "{value}");
            let nobodys = [None, Some("ghost"), Some("luna")].map(|who| runtime.is_nobodys(who, false));
            // A profile that is not listed exists, and is told as such.
            let is_listed = !value.contains("[sol]");
            assert_eq!(nobodys, [to.is_none(), true, !is_listed], "{value}");
            let row = |status: Status, who: Option<&str>| {
                let t = board::testing::detail("t_00000001", status).task.clone();
                Task { assignee: who.map(str::to_owned), ..t }
            };
            let rows = [row(Status::Ready, None), row(Status::Ready, Some("sol")), row(Status::Todo, None)];
            let seen = runtime.assigned(&rows);
            let seen: Vec<_> = seen.iter().map(|t| t.assignee.as_deref()).collect();
            assert_eq!(seen, [to, Some("sol"), None], "{value}");
        }
    }

    #[test]
    fn profiles_that_cannot_be_listed_are_not_known() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("profiles");
        std::fs::write(&folder, "").unwrap();
        let root = Some(dir.path().to_owned());
        let id = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        let host = Host::here(&config::Config::default().host.policy(), Time(4_000_000_000)).unwrap();
        let said = format!("{}: Not a directory (os error 20)", folder.display());
        let seen = of(&id, false, &host);
        let why = said.replacen(':', " cannot be read:", 1);
        assert_eq!((seen.profiles.unknown(), seen.failure_limit), (Some(why.as_str()), Some(2)));
        assert!(seen.unlisted.is_empty() && seen.blind() == BTreeSet::from([why.as_str()]), "{seen:?}");
        assert_eq!(unreadable(&id), [said]);
        std::fs::remove_file(&folder).unwrap();
        assert_eq!(of(&id, false, &host).profiles, Profiles::default(), "there is none");
    }

    #[test]
    fn settings_that_cannot_be_read_leave_all_they_say_open() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("profiles/luna")).unwrap();
        let (root, path) = (Some(dir.path().to_owned()), dir.path().join("kanban.db"));
        let id = BoardId { at: path.into(), slug: Some("default".into()), root };
        let host = Host::here(&config::Config::default().host.policy(), Time(4_000_000_000)).unwrap();
        let seen = || of(&id, false, &host);
        let switches = |r: Runtime| (r.auto_decompose, r.review_dispatch);
        assert_eq!(switches(seen()), (Some(true), Some(true)), "nothing is set");
        std::fs::write(dir.path().join("config.yaml"), "kanban: {review_dispatch: false\n").unwrap();
        let why = seen().unreadable.unwrap();
        assert!(why.contains("/config.yaml cannot be read: "), "{why}");
        assert_eq!(seen().profiles, Profiles::Unknown(why), "which of them are started is not known");
        assert_eq!(switches(seen()), (None, None));
    }

    #[test]
    fn settings_are_read_as_hermes_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        let of = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let k = provider::settings(&file, kanban).unwrap();
            (k.auto_decompose, k.failure_limit, k.interval)
        };
        for (text, want) in [
            ("kanban: {auto_decompose: false, failure_limit: 5}", (Some(false), Some(5), None)),
            // PyYAML reads YAML 1.1, and Hermes makes numbers of texts.
            ("kanban: {auto_decompose: off, failure_limit: '5'}", (Some(false), Some(5), None)),
            (
                "kanban: {auto_decompose: No, dispatch_interval_seconds: ' 300 '}",
                (Some(false), None, Some(300.0)),
            ),
            ("kanban: {auto_decompose: YES, dispatch_interval_seconds: 15}", (Some(true), None, Some(15.0))),
            ("kanban: {auto_decompose: 0, failure_limit: many}", (Some(false), None, None)),
            (
                "base: &b {auto_decompose: false}\nkanban: {<<: *b, failure_limit: 3}",
                (Some(false), Some(3), None),
            ),
            ("kanban: {auto_decompose: perhaps}", (None, None, None)),
        ] {
            assert_eq!(of(text), want, "{text}");
        }
    }

    #[test]
    fn the_folder_of_worker_logs_is_one_that_must_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = Some(dir.path().to_owned());
        let id = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        assert_eq!(unreadable(&id), [""; 0]);
        std::fs::create_dir_all(dir.path().join("kanban/logs")).unwrap();
        assert_eq!(unreadable(&id), [""; 0]);
        std::fs::remove_dir(dir.path().join("kanban/logs")).unwrap();
        std::fs::write(dir.path().join("kanban/logs"), "").unwrap();
        let logs = dir.path().join("kanban/logs");
        assert_eq!(unreadable(&id), [format!("{}: Not a directory (os error 20)", logs.display())]);
    }

    #[test]
    fn a_worker_killed_between_two_tries_is_told_by_its_profiles_log() {
        let dir = tempfile::tempdir().unwrap();
        let (logs, home) = (dir.path().join("kanban/logs"), dir.path().join("profiles/luna/logs"));
        std::fs::create_dir_all(&logs).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(logs.join("t_1.log"), "Query: work kanban task t_1\nInitializing agent...\n").unwrap();
        let at = chrono::Local::now();
        let line = |session: &str, level: &str, rest: &str| {
            format!("{},678 {level} [{session}] {rest}\n", at.format("%Y-%m-%d %H:%M:%S"))
        };
        let begins = |session: &str, task: &str| {
            let said = "conversation turn: session=x model=m1 provider=custom platform=cli history=0";
            line(session, "INFO", &format!("agent.turn_context: {said} msg='work kanban task {task}'"))
        };
        let refused = |session: &str| {
            let said = "API call failed (attempt 2/12) error_type=RateLimitError thread=t provider=custom \
                        base_url=http://api.example/v1 model=m1 summary=HTTP 429: Rate limit reached";
            line(session, "WARNING", &format!("agent.conversation_loop: {said}"))
        };
        let worked =
            line("a", "INFO", "agent.conversation_loop: API call #2: model=m1 provider=custom in=10");
        let board = BoardId {
            at: dir.path().join("kanban.db").into(),
            slug: Some("default".into()),
            root: Some(dir.path().into()),
        };
        let now = Time(at.timestamp());
        let read = |log: String, since: Time| {
            std::fs::write(home.join("agent.log"), log).unwrap();
            let ask = LogAsk { board: &board, task: "t_1", profile: Some("luna"), since, now, file: None };
            let reading = LogFiles(&Patterns::default()).read(&ask, &mut Cache::in_memory());
            (matches!(reading.end, LogEnd::Ended(_)), reading.signals.len())
        };
        let (mine, other) = (begins("a", "t_1"), begins("b", "t_2"));
        let many = |session: &str, n: usize| refused(session).repeat(n);
        assert_eq!(read(format!("{mine}{}", many("a", 3)), now), (true, 3));
        assert_eq!(read(format!("{mine}{}", many("a", 2)), now), (false, 2), "not repeated");
        assert!(!read(format!("{mine}{}{worked}", many("a", 3)), now).0, "it went on");
        assert_eq!(read(format!("{mine}{other}{}", many("b", 3)), now), (false, 0), "another task's");
        assert_eq!(
            read(format!("{mine}{}", many("a", 3)), now.plus(60)),
            (false, 0),
            "an attempt before this one"
        );
        assert_eq!(read(many("a", 3), now), (false, 0), "nobody says whose session it is");
    }

    #[test]
    fn a_log_of_the_profile_that_cannot_be_read_leaves_an_untold_end_open() {
        let dir = tempfile::tempdir().unwrap();
        let (logs, home) = (dir.path().join("kanban/logs"), dir.path().join("profiles/luna/logs"));
        std::fs::create_dir_all(&logs).unwrap();
        std::fs::create_dir_all(home.join("agent.log")).unwrap();
        let root = Some(dir.path().to_owned());
        let board = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        let profiles = dir.path().join("profiles");
        let begun = "Query: work kanban task t_1\nInitializing agent...\n";
        for (text, profile, end) in [
            (None, "luna", "the log of its profile: luna/logs/agent.log: not a regular file: move it away"),
            (
                Some(begun.to_owned()),
                "luna",
                "the log of its profile: luna/logs/agent.log: not a regular file: move it away",
            ),
            // What the worker's own log tells needs no other.
            (Some(format!("{begun}❌ API failed after 2 retries — HTTP 503: busy\n")), "luna", "ended"),
            // A missing log is not evidence.
            (Some(begun.to_owned()), "sol", "nothing"),
            (None, "sol", "absent"),
        ] {
            let file = logs.join("t_1.log");
            let _ = std::fs::remove_file(&file);
            if let Some(text) = &text {
                std::fs::write(&file, text).unwrap();
            }
            let (since, now) = (Time(0), Time(4_000_000_000));
            let ask = LogAsk { board: &board, task: "t_1", profile: Some(profile), since, now, file: None };
            let reading = LogFiles(&Patterns::default()).read(&ask, &mut Cache::in_memory());
            let seen = match reading.end {
                LogEnd::Ended(_) => "ended".to_owned(),
                LogEnd::Absent => "absent".to_owned(),
                LogEnd::Unreadable(why) => why.replace(&format!("{}/", profiles.display()), ""),
                LogEnd::NoEvidence => "nothing".to_owned(),
            };
            assert_eq!(seen, end, "{text:?} {profile}");
        }
    }

    #[test]
    fn a_log_is_found_by_its_task_or_by_its_name_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("kanban/logs");
        std::fs::create_dir_all(&logs).unwrap();
        let text = "Query: work kanban task t_1\n❌ API failed after 2 retries — HTTP 503: busy\n";
        std::fs::write(logs.join("t_1.log"), text).unwrap();
        std::fs::write(dir.path().join("kanban/x.log"), text).unwrap();
        std::fs::write(logs.join("a%2Fb.log"), "Error: 401 Unauthorized: invalid x-api-key\n").unwrap();
        let named = logs.join("t_1.log");
        let root = Some(dir.path().to_owned());
        let board = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        let alone = BoardId { at: dir.path().join("b.db").into(), slug: None, root: None };
        for (board, task, file, end) in [
            (&board, "t_1", None, "ended"),
            (&board, "t_2", None, "absent"),
            // Whatever a row says, the folder is not left; the id of another runtime has a log of its own there.
            (&board, "../x", None, "absent"),
            (&board, "", None, "absent"),
            (&board, ".t_1", None, "absent"),
            (&board, "a/b", None, "ended"),
            (&alone, "t_1", None, "absent"),
            (&alone, "t_9", named.to_str(), "ended"),
            (&alone, "t_9", Some("t_1.log"), "the log its claim names is not an absolute path"),
        ] {
            let ask = LogAsk { board, task, profile: None, since: Time(0), now: Time(4_000_000_000), file };
            let reading = LogFiles(&Patterns::default()).read(&ask, &mut Cache::in_memory());
            let seen = match reading.end {
                LogEnd::Ended(_) => "ended".to_owned(),
                LogEnd::Absent => "absent".to_owned(),
                LogEnd::Unreadable(why) => why,
                LogEnd::NoEvidence => "nothing".to_owned(),
            };
            assert_eq!(seen, end, "{task} {file:?}");
        }
    }

    /// What a recorded attempt of Hermes 0.22.2 ended on: cause, status, and the seconds until its limit ends.
    type End = Option<(Cause, Option<u16>, Option<i64>)>;

    /// Reads the logs of a recorded attempt: both, or one of them.
    fn recorded(name: &str, worker: bool, profile: bool) -> Option<Evidence> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hermes-0.22");
        let (_, task) = name.split_once('.').unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (logs, home) = (dir.path().join("kanban/logs"), dir.path().join("profiles/luna/logs"));
        std::fs::create_dir_all(&logs).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        if worker {
            std::fs::copy(folder.join(format!("{name}.log")), logs.join(format!("{task}.log"))).unwrap();
        }
        if profile {
            std::fs::copy(folder.join(format!("{name}.agent.log")), home.join("agent.log")).unwrap();
        }
        let root = Some(dir.path().to_owned());
        let board = BoardId { at: dir.path().join("kanban.db").into(), slug: Some("default".into()), root };
        let (since, now) = (Time(0), Time(4_000_000_000));
        let ask = LogAsk { board: &board, task, profile: Some("luna"), since, now, file: None };
        match LogFiles(&Patterns::default()).read(&ask, &mut Cache::in_memory()).end {
            LogEnd::Ended(e) => Some(e),
            LogEnd::NoEvidence | LogEnd::Absent => None,
            LogEnd::Unreadable(why) => panic!("{name}: {why}"),
        }
    }

    #[test]
    fn recorded_attempts_of_hermes_0_22_say_what_refused_them_in_any_language() {
        let rows: [(&str, End); 17] = [
            ("de-r429.t_c1c699aa", Some((Cause::RateLimit, Some(429), None))),
            ("en-r429.t_1706f551", Some((Cause::RateLimit, Some(429), None))),
            ("de-rstated.t_ae41be09", Some((Cause::RateLimit, Some(429), Some(20)))),
            ("de-quota.t_69da84f3", Some((Cause::Quota, Some(429), None))),
            ("en-quota.t_30be56cf", Some((Cause::Quota, Some(429), None))),
            ("de-r402.t_2e0e2c41", Some((Cause::Quota, Some(402), None))),
            ("de-r401.t_73e2b513", Some((Cause::Credential, Some(401), None))),
            ("en-r401.t_637642b5", Some((Cause::Credential, Some(401), None))),
            ("de-r403.t_c35bbcc2", Some((Cause::Credential, Some(403), None))),
            ("de-r404.t_186c85e4", Some((Cause::ModelMissing, Some(404), None))),
            ("de-loop.t_070c7850", Some((Cause::IterationBudget, None, None))),
            ("en-loop.t_b9e23aca", Some((Cause::IterationBudget, None, None))),
            ("de-chat.t_011fd9fa", Some((Cause::ProtocolViolation, None, None))),
            ("en-chat.t_bf2369dc", Some((Cause::ProtocolViolation, None, None))),
            ("de-reports.t_e12b5b72", Some((Cause::ProtocolViolation, None, None))),
            // It quotes failures in its answers, in words that Hermes itself uses.
            ("de-quoting.t_edb1a9ca", None),
            ("de-ok.t_719713aa", None),
        ];
        for (name, want) in rows {
            let alone = recorded(name, true, false);
            assert_eq!(alone.as_ref().map(|e| (e.cause, e.http)), want.map(|w| (w.0, w.1)), "{name}");
            let both = recorded(name, true, true);
            let left = |e: &Evidence| e.resets.map(|at| at.since(e.at.unwrap()));
            assert_eq!(both.as_ref().map(|e| (e.cause, e.http, left(e))), want, "{name}");
            let refused = want.is_some_and(|w| w.1.is_some());
            let host = refused.then_some("127.0.0.1:18471");
            assert_eq!(both.as_ref().and_then(|e| e.endpoint_host.as_deref()), host, "{name}");
            if refused {
                let profile = recorded(name, false, true).map(|e| (e.cause, e.http));
                assert_eq!(profile, want.map(|w| (w.0, w.1)), "{name}: the profile's log alone");
            }
        }
    }

    #[test]
    fn a_recorded_worker_that_still_waits_for_its_provider_is_told_by_its_profiles_log() {
        let name = "de-r503.t_b8f05792";
        let e = recorded(name, true, true).unwrap();
        let host = e.endpoint_host.as_deref();
        assert_eq!((e.cause, host), (Cause::ConnectionRefused, Some("127.0.0.1:18471")), "{}", e.words);
        assert_eq!(recorded(name, false, true).map(|e| e.cause), Some(Cause::ConnectionRefused));
    }
}
