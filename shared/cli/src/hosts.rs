//! `--host`: the same command on other machines, over ssh, all at once. A machine that does not answer is something to tell, and never
//! well. What it answers is not trusted.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Common;
use base::error::Kind;
use base::quote;
use base::time::Time;
use card::shell_word;
use host::child::{Finished, finish_unless};
use ops::needs::{Now, screen};
use ops::report::REPORT_SCHEMA;

/// The schema of `watchbill status --json`.
pub(super) const STATUS: &str = "watchbill.status/1";
/// The longest one machine may take, and all of them together.
const PATIENCE: Duration = Duration::from_secs(10);
const ALL: Duration = Duration::from_secs(30);
/// Most machines that are asked at the same time. An sshd that all of them are reached through drops what comes beside ten logins
/// (`MaxStartups 10:30:100`).
const AT_ONCE: usize = 8;
/// Seconds by which the time of an answer may differ from ours.
const MAX_SKEW: i64 = 300;
/// Time between two looks at whether a person wants to leave.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes of an answer.
const MAX_ANSWER: u64 = 4 << 20;
/// How deep objects and lists of an answer may lie in each other. Ours lie less than ten deep; who reads all answers as one text may give up
/// at 128.
const MAX_DEPTH: usize = 64;
/// Most characters of one thing that ssh or a machine says: it hides no other.
pub(super) const MAX_SAID: usize = 300;
/// Beside the name. No question is ever asked, and a connection whose other end is gone comes to an end.
const OPTIONS: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=5",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=2",
];
/// The exit codes of ssh where there is no connection, and of a shell that finds no such program. From the last one on they are not
/// exit codes of Watchbill.
const NO_CONNECTION: i32 = 255;
const NOT_FOUND: i32 = 127;
const NO_PROGRAM: i32 = 126;

/// Which other machines.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Hosts {
    /// Also ask this host, over ssh (may be repeated, or several names with commas between)
    #[arg(long = "host", value_name = "NAME", value_delimiter = ',', value_parser = name)]
    named: Vec<String>,
}

/// A name that ssh takes for a host and nothing else.
fn name(given: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:%+[]/".contains(c);
    match given {
        "" => Err("the name of a host is empty".into()),
        _ if given.starts_with('-') => Err("the name of a host does not begin with `-`".into()),
        _ if !given.chars().all(plain) => Err("not the name of a host, as `ssh NAME` takes it".into()),
        _ => Ok(given.to_owned()),
    }
}

/// What one machine answered.
pub(super) struct Answer<T> {
    /// Its name, as it was given.
    pub(super) host: String,
    pub(super) heard: Result<Heard<T>, Fault>,
}

/// An answer.
pub(super) struct Heard<T> {
    /// As far as this version knows it.
    pub(super) read: T,
    /// The exit code of the program there.
    pub(super) exit: i32,
    /// As it was printed. As a tree it could take a hundred times its size.
    whole: String,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    /// What is so, without the name of the machine.
    pub(super) says: String,
    /// What to do.
    pub(super) todo: String,
}

/// What is asked of every machine.
struct Question {
    /// As a person would type it.
    short: String,
    /// The line for the shell there.
    line: String,
    /// What the answer is.
    schema: &'static str,
}

/// Machines that are being asked.
pub(super) struct Asked<T> {
    hosts: Vec<String>,
    answers: Receiver<(usize, Result<Heard<T>, Fault>)>,
    /// Nobody wants to know any more.
    stopped: Arc<AtomicBool>,
}

impl Hosts {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Begins to ask all of them how they stand.
    pub(super) fn ask_status(&self, common: &Common) -> Asked<Now> {
        self.ask("status", &[], common, STATUS)
    }

    /// Begins to ask all of them for the `--json` of a command, with those flags that mean the same on every machine.
    pub(super) fn ask<T: DeserializeOwned + Send + 'static>(
        &self,
        command: &str,
        flags: &[String],
        common: &Common,
        schema: &'static str,
    ) -> Asked<T> {
        let mut hosts = self.named.clone();
        let mut seen = std::collections::BTreeSet::new();
        hosts.retain(|host| seen.insert(host.clone()));
        let mut words: Vec<String> = ["watchbill", command, "--json"].map(str::to_owned).to_vec();
        words.extend(flags.iter().cloned());
        words.extend(common.board.iter().flat_map(|slug| ["--board".to_owned(), slug.clone()]));
        words.extend(common.now.iter().flat_map(|now| ["--now".to_owned(), now.0.to_string()]));
        let line = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        let question = Arc::new(Question { short: format!("watchbill {command}"), line, schema });
        let (tell, answers) = channel();
        let (next, shared, began) = (Arc::new(AtomicUsize::new(0)), Arc::new(hosts.clone()), Instant::now());
        let stopped = Arc::new(AtomicBool::new(false));
        for _ in 0..hosts.len().min(AT_ONCE) {
            let (tell, next, hosts, question, stopped) = (
                tell.clone(),
                Arc::clone(&next),
                Arc::clone(&shared),
                Arc::clone(&question),
                Arc::clone(&stopped),
            );
            std::thread::spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(host) = hosts.get(n) else { return };
                    let left = ALL.saturating_sub(began.elapsed()).min(PATIENCE);
                    let _ = tell.send((n, question.ask(host, left, &stopped)));
                }
            });
        }
        Asked { hosts, answers, stopped }
    }
}

impl<T> Asked<T> {
    /// Waits until each of them answered or its time is over, and gives the answers in the order of the names.
    pub(super) fn wait(self) -> Vec<Answer<T>> {
        self.wait_unless(&mut || false).unwrap_or_default()
    }

    /// The same; `None` as soon as `leaves` says so, and nothing that was started here runs any more.
    pub(super) fn wait_unless(self, leaves: &mut dyn FnMut() -> bool) -> Option<Vec<Answer<T>>> {
        let mut heard: Vec<_> = self.hosts.iter().map(|_| None).collect();
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok((n, answer)) => heard[n] = Some(answer),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if leaves() => {
                    self.stopped.store(true, Ordering::Relaxed);
                    self.answers.iter().for_each(drop);
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let lost =
            || Err(Fault { says: "was not asked".into(), todo: "report this as a bug in watchbill".into() });
        let answer = |(host, heard): (String, Option<_>)| Answer { host, heard: heard.unwrap_or_else(lost) };
        Some(self.hosts.into_iter().zip(heard).map(answer).collect())
    }
}

/// An object of `--json` as text, with the list `hosts` at its end where hosts were named.
pub(super) fn text<T>(named: &Hosts, whole: &Value, answers: &[Answer<T>]) -> String {
    let whole = format!("{whole:#}");
    let text = match whole.strip_suffix("\n}").filter(|_| !named.is_empty()) {
        Some(open) => {
            let all: Vec<String> = answers.iter().map(one).collect();
            format!("{open},\n  \"hosts\": [\n{}\n  ]\n}}\n", all.join(",\n"))
        }
        None => whole + "\n",
    };
    base::redact::json(&text).into_owned()
}

/// One of that list. The answer stays the text that it is: a line end is never part of a string of JSON.
fn one<T>(a: &Answer<T>) -> String {
    let (answer, fault) = match &a.heard {
        Ok(heard) => (heard.whole.trim().replace('\n', "\n      "), Value::Null),
        Err(fault) => ("null".to_owned(), json!(fault)),
    };
    let (host, fault) = (json!(a.host), format!("{fault:#}").replace('\n', "\n      "));
    format!("    {{\n      \"answer\": {answer},\n      \"fault\": {fault},\n      \"host\": {host}\n    }}")
}

/// How they stand, each as one of the machines that are shown.
pub(super) fn standing(answers: &[Answer<Now>], now: Time, since: Time) -> Vec<Now> {
    let one = |a: &Answer<Now>| match &a.heard {
        Ok(heard) => {
            let mut seen = heard.read.clone().of_host(&a.host);
            let says_why = !seen.needs.is_empty() || screen::unknown(&seen).next().is_some();
            let ended = || format!("watchbill ended with {} there", heard.exit);
            seen.unknown.extend((heard.exit != 0 && !says_why).then(ended));
            seen.unknown.extend(skew(heard.read.now, now));
            let is_empty = seen.boards.is_empty() && seen.needs.is_empty() && seen.unknown.is_empty();
            seen.unknown.extend(is_empty.then(|| "it says nothing of any board".to_owned()));
            seen
        }
        Err(fault) => Now::unseen(&a.host, &fault.says, &fault.todo, now, since),
    };
    answers.iter().map(one).collect()
}

/// What is wrong with an answer of another moment: a clock that stands, or an old answer.
pub(super) fn skew(there: Time, here: Time) -> Option<String> {
    let apart = there.0.saturating_sub(here.0);
    let what =
        || format!("its answer is of {}, and it is {} here", there.local_minute(), here.local_minute());
    (apart.saturating_abs() > MAX_SKEW).then(what)
}

/// The exit code of a look at them: 1 where one of them, or something of one, could not be looked at.
pub(super) fn code(answers: &[Answer<Now>], others: &[Now]) -> u8 {
    let is_seen = others.iter().all(|one| screen::unknown(one).next().is_none());
    if is_seen && are_whole(answers) { 0 } else { Kind::Partial.code() }
}

/// Whether all of them could be looked at, and could look at all they have.
pub(super) fn are_whole<T>(answers: &[Answer<T>]) -> bool {
    answers.iter().all(|a| a.heard.as_ref().is_ok_and(|heard| heard.exit == 0))
}

impl Question {
    fn ask<T: DeserializeOwned>(
        &self,
        host: &str,
        patience: Duration,
        stopped: &AtomicBool,
    ) -> Result<Heard<T>, Fault> {
        let by_hand = format!("ssh {} {}", shell_word(host), self.short);
        let attempt = |says: String| Fault { says, todo: format!("try `{by_hand}`") };
        if patience.is_zero() {
            return Err(attempt(format!("was not asked: the others took {} s", ALL.as_secs())));
        }
        let mut command = Command::new("ssh");
        // What ssh starts itself ends with it.
        command.args(OPTIONS).args(["--", host, &self.line]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Fault {
            says: format!("ssh could not be started: {e}"),
            todo: "install the client of OpenSSH on this machine".into(),
        })?;
        let group = Pid::from_child(&child);
        let stops = || stopped.load(Ordering::Relaxed);
        let ended = finish_unless(&mut child, None, patience, MAX_ANSWER, stops);
        let ended = match ended {
            Ok(Some(finished)) => finished,
            other => {
                let _ = kill_process_group(group, Signal::KILL);
                // It may have left its group.
                let _ = child.kill();
                let _ = child.wait();
                return Err(attempt(match other {
                    Err(e) => format!("ssh: {e}"),
                    Ok(_) => format!("no answer over ssh within {} s", patience.as_secs().max(1)),
                }));
            }
        };
        self.read(host, ended).map_err(|wrong| match wrong {
            Wrong::Try(says) => attempt(says),
            Wrong::Do(fault) => fault,
        })
    }

    fn read<T: DeserializeOwned>(&self, host: &str, ended: Finished) -> Result<Heard<T>, Wrong> {
        let Finished { status, out, err, .. } = &ended;
        let exit = status.code().unwrap_or(128 + status.signal().unwrap_or_default());
        if out.len() as u64 >= MAX_ANSWER {
            return Err(Wrong::Try(format!("answers more than {} MiB", MAX_ANSWER >> 20)));
        }
        let head: Head = match serde_json::from_str(out) {
            Ok(head) if out.trim_start().starts_with('{') => head,
            _ => return Err(no_answer(host, exit, out, err)),
        };
        if exit >= NO_PROGRAM {
            return Err(no_answer(host, exit, "", err));
        }
        let update = |says: String| {
            Wrong::Do(Fault {
                says,
                todo: format!("install the same version of watchbill on {host} and here"),
            })
        };
        let version = quote::line(&head.version, 20);
        match head.schema.as_str() {
            schema if schema == self.schema => {}
            REPORT_SCHEMA if !head.error.is_empty() => {
                return Err(Wrong::Try(quote::line(&head.error, MAX_SAID)));
            }
            schema => {
                let schema = quote::line(schema, 40);
                return Err(update(format!(
                    "watchbill {version} answers {schema}, and {} is read here",
                    self.schema
                )));
            }
        }
        let unread = |why: &str| {
            let why = quote::line(why, MAX_SAID);
            update(format!("the answer of watchbill {version} cannot be read: {why}"))
        };
        match serde_json::from_str(out) {
            Ok(value) if depth(&value) > MAX_DEPTH => return Err(unread("too deep")),
            Ok(_) => {}
            Err(e) => return Err(unread(&e.to_string())),
        }
        match serde_json::from_str(out) {
            Ok(read) => Ok(Heard { read, exit, whole: ended.out }),
            Err(e) => Err(unread(&e.to_string())),
        }
    }
}

/// How deep objects and lists lie in each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(all) => 1 + all.iter().map(depth).max().unwrap_or(0),
        Value::Object(all) => 1 + all.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What every answer begins with.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    schema: String,
    version: String,
    error: String,
}

/// What is to be done about a fault: the same by hand, which shows more, or something else.
enum Wrong {
    Try(String),
    Do(Fault),
}

/// What a machine that gave no JSON is taken to lack.
fn no_answer(host: &str, exit: i32, out: &str, err: &str) -> Wrong {
    let told = |text: &str, last: bool| {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let line = if last { lines.next_back() } else { lines.next() };
        line.map_or_else(String::new, |line| format!(": {}", quote::line(line, MAX_SAID)))
    };
    match exit {
        NO_CONNECTION => Wrong::Try(format!("no connection over ssh{}", told(err, true))),
        NOT_FOUND => Wrong::Do(Fault {
            says: "no watchbill in the PATH of a command over ssh".into(),
            todo: format!("on {host}: link watchbill into /usr/local/bin, or install it there"),
        }),
        // As clap says it of a command or a flag that it does not know.
        2 if err.starts_with("error: ") => Wrong::Do(Fault {
            says: format!("watchbill does not take this command there{}", told(err, false)),
            todo: format!("install the same version of watchbill on {host} and here"),
        }),
        _ if out.trim().is_empty() => Wrong::Try(format!("no answer, exit code {exit}{}", told(err, true))),
        _ => Wrong::Try(format!("answers something else than JSON{}", told(out, false))),
    }
}
