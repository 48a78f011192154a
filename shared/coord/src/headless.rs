//! Runtimes without a server: one command for one session, in the working tree, with its prompt on standard input. It lives as
//! long as its command, and leaves a transcript that others read.
//!
//! Claude Code (2.1.197) takes the session's name from its caller and writes `projects/<folder>/<session>.jsonl` in its home from
//! the first prompt on. Codex (0.169.0) names its own in the first line that `exec --json` prints, `thread.started`.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::SessionId;

/// Most bytes of a log in which the name of a session is looked for; it comes first, after warnings.
const MAX_HEAD: u64 = 256 << 10;
/// Most folders of projects that are looked into.
const MAX_PROJECTS: usize = 10_000;

/// How a session is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Its name, where the caller gives it or it is there already.
    pub session: Option<&'a SessionId>,
    /// Whether that session is there and goes on.
    pub goes_on: bool,
    /// The runtime's own agent.
    pub agent: Option<&'a str>,
    /// More arguments, as a person gave them.
    pub more: &'a [OsString],
}

/// What can be seen of a session that was started.
#[derive(Debug, Clone, Copy)]
pub struct Traces<'a> {
    /// The folder the runtime keeps its sessions in.
    pub home: Option<&'a Path>,
    /// What its command printed.
    pub log: &'a Path,
    /// Its name, where the caller gave it.
    pub given: Option<&'a SessionId>,
    /// Bytes of its transcript before it was started: what was there already shows nothing.
    pub before: u64,
}

/// A runtime that is a command.
pub trait Headless: Debug + Sync {
    /// The program.
    fn program(&self) -> &'static str;

    /// Whether the caller names the session.
    fn is_named_by_caller(&self) -> bool;

    /// The command line; the prompt comes on standard input.
    fn line(&self, wish: &Wish<'_>) -> Vec<OsString>;

    /// The session as it is seen to be there; `None`: not yet.
    fn seen(&self, traces: &Traces<'_>) -> Option<SessionId>;

    /// Bytes of the transcript by which it is seen; 0 where there is none.
    fn kept(&self, _home: Option<&Path>, _session: &SessionId) -> u64 {
        0
    }
}

/// Claude Code.
#[derive(Debug)]
pub struct Claude;

impl Headless for Claude {
    fn program(&self) -> &'static str {
        "claude"
    }

    fn is_named_by_caller(&self) -> bool {
        true
    }

    fn line(&self, wish: &Wish<'_>) -> Vec<OsString> {
        let mut line = words(&["claude", "-p"]);
        if let Some(session) = wish.session {
            // It keeps its name: a new one would need --fork-session.
            let flag = if wish.goes_on { "--resume" } else { "--session-id" };
            line.extend(words(&[flag, session.as_str()]));
        }
        if let Some(agent) = wish.agent {
            // In one word: a name that begins with a dash is then no flag.
            line.push(format!("--agent={agent}").into());
        }
        line.extend_from_slice(wish.more);
        line
    }

    fn seen(&self, traces: &Traces<'_>) -> Option<SessionId> {
        let session = traces.given?;
        let bytes = transcript(traces.home?, session)?;
        (bytes > traces.before || traces.before == 0).then(|| session.clone())
    }

    fn kept(&self, home: Option<&Path>, session: &SessionId) -> u64 {
        home.and_then(|home| transcript(home, session)).unwrap_or(0)
    }
}

/// Bytes of the transcript of a session of Claude Code.
fn transcript(home: &Path, session: &SessionId) -> Option<u64> {
    let name = format!("{session}.jsonl");
    // How it names the folder of a long path is its own secret; the session's name is like no other.
    let projects = fs::read_dir(home.join("projects")).ok()?;
    let mut folders = projects.take(MAX_PROJECTS).flatten();
    folders
        .find_map(|folder| folder.path().join(&name).metadata().ok().filter(|m| m.is_file()))
        .map(|m| m.len())
}

/// Codex.
#[derive(Debug)]
pub struct Codex;

impl Headless for Codex {
    fn program(&self) -> &'static str {
        "codex"
    }

    fn is_named_by_caller(&self) -> bool {
        false
    }

    fn line(&self, wish: &Wish<'_>) -> Vec<OsString> {
        let mut line = words(&["codex", "exec", "--json"]);
        // What may be said to `exec` is not all taken by `resume`, and counts for it all the same.
        line.extend_from_slice(wish.more);
        if let Some(session) = wish.session.filter(|_| wish.goes_on) {
            line.extend(words(&["resume", session.as_str()]));
        }
        line.push("-".into());
        line
    }

    fn seen(&self, traces: &Traces<'_>) -> Option<SessionId> {
        let log = fs::File::open(traces.log).ok()?;
        started(BufReader::new(log.take(MAX_HEAD)))
    }
}

/// The thread that `codex exec --json` says it began.
fn started(log: impl BufRead) -> Option<SessionId> {
    #[derive(Deserialize)]
    struct Started {
        r#type: String,
        thread_id: String,
    }
    let lines = log.split(b'\n').map_while(Result::ok);
    let mut said = lines.filter_map(|line| serde_json::from_slice::<Started>(&line).ok());
    SessionId::parse(&said.find(|s| s.r#type == "thread.started")?.thread_id).filter(|id| !id.is_opencodes())
}

fn words(all: &[&str]) -> Vec<OsString> {
    all.iter().map(|word| OsStr::new(word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "01a20200-bf1b-7e90-afaf-1c042f18d165";

    #[test]
    fn a_command_line_is_the_runtimes_own() {
        let session = SessionId::parse(UUID).unwrap();
        let more = words(&["--model", "sonnet"]);
        let wish = Wish { session: Some(&session), goes_on: false, agent: Some("-reviewer"), more: &more };
        let named = ["--session-id", UUID, "--agent=-reviewer"];
        assert_eq!(
            Claude.line(&wish),
            words(&[&["claude", "-p"][..], &named, &["--model", "sonnet"]].concat())
        );
        let wish = Wish { session: None, goes_on: false, agent: None, more: &more };
        assert_eq!(Codex.line(&wish), words(&["codex", "exec", "--json", "--model", "sonnet", "-"]));
        let wish = Wish { session: Some(&session), goes_on: true, agent: None, more: &more };
        assert_eq!(Claude.line(&wish), words(&["claude", "-p", "--resume", UUID, "--model", "sonnet"]));
        let exec = ["codex", "exec", "--json", "--model", "sonnet", "resume", UUID, "-"];
        assert_eq!(Codex.line(&wish), words(&exec));
    }

    #[test]
    fn codex_names_its_session_in_a_line_of_its_own() {
        let line = |kind: &str, id: &str| format!("{{\"type\":\"{kind}\",\"thread_id\":\"{id}\"}}\n");
        let first = line("thread.started", UUID);
        let warned = format!("WARNING: proceeding\n\u{fffd}{{\n{first}{}", line("thread.started", "ses_1"));
        for (log, want) in [
            (first.as_str(), Some(UUID)),
            (&warned, Some(UUID)),
            (&line("turn.started", UUID), None),
            (&line("thread.started", "ses_1"), None),
            (&line("thread.started", "../x"), None),
            // Torn: the rest of it comes later.
            (&first[..30], None),
            ("", None),
        ] {
            assert_eq!(started(log.as_bytes()).as_ref().map(SessionId::as_str), want, "{log}");
        }
    }

    #[test]
    fn claude_codes_session_is_there_with_its_transcript() {
        let home = tempfile::tempdir().unwrap();
        let session = SessionId::parse(UUID).unwrap();
        let log = home.path().join("none");
        let traces = Traces { home: Some(home.path()), log: &log, given: Some(&session), before: 0 };
        assert_eq!(Claude.seen(&traces), None);
        let folder = home.path().join("projects/-srv-w");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("other.jsonl"), "").unwrap();
        assert_eq!(Claude.seen(&traces), None);
        fs::write(folder.join(format!("{UUID}.jsonl")), "").unwrap();
        assert_eq!(Claude.seen(&traces), Some(session.clone()));
        // One that goes on is seen by what it adds.
        let again = Traces { before: 3, ..traces };
        fs::write(folder.join(format!("{UUID}.jsonl")), "one").unwrap();
        assert_eq!((Claude.seen(&again), Claude.kept(Some(home.path()), &session)), (None, 3));
        fs::write(folder.join(format!("{UUID}.jsonl")), "one two").unwrap();
        assert_eq!(Claude.seen(&again), Some(session.clone()));
        assert_eq!(Claude.seen(&Traces { home: None, ..traces }), None);
    }
}
