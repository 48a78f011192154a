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
const MOST_HEAD: u64 = 256 << 10;
/// Most folders of projects that are looked into.
const MOST_PROJECTS: usize = 10_000;

/// How a session is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Its name, where the caller gives it.
    pub session: Option<&'a SessionId>,
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
            line.extend(words(&["--session-id", session.as_str()]));
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
        let name = format!("{session}.jsonl");
        // How it names the folder of a long path is its own secret; the session's name is like no other.
        let projects = fs::read_dir(traces.home?.join("projects")).ok()?;
        let mut folders = projects.take(MOST_PROJECTS).flatten();
        folders.any(|folder| folder.path().join(&name).is_file()).then(|| session.clone())
    }
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
        line.extend_from_slice(wish.more);
        line.push("-".into());
        line
    }

    fn seen(&self, traces: &Traces<'_>) -> Option<SessionId> {
        let log = fs::File::open(traces.log).ok()?;
        started(BufReader::new(log.take(MOST_HEAD)))
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
        let wish = Wish { session: Some(&session), agent: Some("-reviewer"), more: &more };
        let named = ["--session-id", UUID, "--agent=-reviewer"];
        assert_eq!(
            Claude.line(&wish),
            words(&[&["claude", "-p"][..], &named, &["--model", "sonnet"]].concat())
        );
        let wish = Wish { session: None, agent: None, more: &more };
        assert_eq!(Codex.line(&wish), words(&["codex", "exec", "--json", "--model", "sonnet", "-"]));
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
        let traces = Traces { home: Some(home.path()), log: &log, given: Some(&session) };
        assert_eq!(Claude.seen(&traces), None);
        let folder = home.path().join("projects/-srv-w");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("other.jsonl"), "").unwrap();
        assert_eq!(Claude.seen(&traces), None);
        fs::write(folder.join(format!("{UUID}.jsonl")), "").unwrap();
        assert_eq!(Claude.seen(&traces), Some(session.clone()));
        assert_eq!(Claude.seen(&Traces { home: None, ..traces }), None);
    }
}
