//! `coord message`: a word to a session.

pub(super) mod again;
mod resume;

use board::EventKind;
use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::stop::{End, stop};
use super::{Coord, Meant, message_id, millis, refused, say, silent};
use base::error::{Error, Kind, Result};
use base::quote;
use coord::{Mapping, Prompt};

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// The session, or its task
    target: String,
    /// The message
    text: String,
    /// Let this agent of the runtime answer [default: the agent of the session]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Stop the current turn first, for a session that hangs
    #[arg(long)]
    recover: bool,
    /// More arguments for the command of claude or codex, which starts again
    #[arg(last = true, value_name = "ARGUMENT")]
    more: Vec<OsString>,
}

impl Coord<'_> {
    pub(super) fn message(&mut self, args: &Say) -> Result<u8> {
        if args.text.trim().is_empty() {
            return Err(Error::new(Kind::Usage, "the message", "blank"));
        }
        let meant = self.meant(&args.target)?;
        if let Some(m) = &meant.mapping
            && let Some(headless) = m.runtime.headless()
        {
            return self.resume(headless, m, args);
        }
        if !args.more.is_empty() {
            let why = "a session of a server takes no arguments";
            return Err(Error::new(Kind::Usage, "--", why).hint("leave them out"));
        }
        let server = self.owner(&meant)?;
        let Meant { session, mapping } = meant;
        let fails = |e| silent(&server, &session, &e);
        let directory = server.session(&session).map_err(fails)?.directory;
        let state = server.state(&session, Path::new(&directory)).map_err(fails)?;
        let mut busy = state.is_under_way();
        let mut recovered = false;
        if busy && args.recover {
            match stop(&server, &server, &session).map_err(fails)? {
                End::Still(_) => {
                    return Err(refused(session.as_str(), "does not stop; nothing was said to it")
                        .hint("coord abort gives its task to another session"));
                }
                End::Stopped | End::WasIdle | End::Forgotten => (busy, recovered) = (false, true),
            }
        }
        let again = mapping.as_ref().map_or(Ok(None), |m| self.again(m, &args.text))?;
        // With the run that it has now.
        let mapping = match mapping {
            Some(m) if again.is_some() => Some(Mapping { run: again, ..m }),
            other => other,
        };
        let text = mapping.as_ref().map_or(Ok(args.text.clone()), |m| self.text_for(m, &args.text))?;
        let id = message_id(millis(), &[session.as_str(), &args.text, &self.hand.pass]);
        let prompt = Prompt { message: &id, text: &text, agent: args.agent.as_deref(), wake: true };
        say(&server, &session, &prompt)?;
        if let Some(mapping) = &mapping {
            let keys = json!({
                "session": session, "message": id, "text": quote::line(&args.text, 300), "queued": busy,
                "recovered": recovered, "run": mapping.run,
            });
            self.record(mapping, EventKind::SessionMessaged, "message", keys)?;
        }
        let task = mapping.map(|m| m.task);
        let has = again.zip(task.as_ref()).map(|(run, task)| format!(", and has {task} again as run {run}"));
        let has = has.unwrap_or_default();
        let json = json!({
            "session": session, "task": task, "message": id, "queued": busy, "recovered": recovered, "run": again,
        });
        let text = match (busy, recovered) {
            (true, _) => format!(
                "{session}: queued, session busy: it is taken up after the present turn; --recover stops that turn first{has}\n"
            ),
            (false, true) => format!("{session} was stopped and told{has}\n"),
            (false, false) => format!("{session} was told{has}\n"),
        };
        let code = self.hand.answer(&json, &text)?;
        Ok(if busy { Kind::Busy.code() } else { code })
    }

    /// What a session is told, with its run where that is another one than it was told first.
    fn text_for(&mut self, m: &Mapping, text: &str) -> Result<String> {
        let seen = self.hand.look(&m.task)?;
        Ok(again::with_run(text, &m.task, again::later_run(&seen, m), &self.hand.board_file()))
    }
}
