//! `coord message`: a word to a session.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::stop::{End, stop};
use super::{Coord, Meant, message_id, millis, refused, say, silent};
use crate::error::{Kind, Result};
use crate::quote;
use crate::session::mapping::MESSAGED;
use crate::session::{MappingStatus, Operation, Prompt, Sense as _};

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// The session, or the task it works on
    target: String,
    /// What to say
    text: String,
    /// Let this agent of the runtime answer [default: the session's own]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Stop the present turn first, for a session that hangs
    #[arg(long)]
    recover: bool,
}

impl Coord<'_> {
    pub(super) fn message(&mut self, args: &Say) -> Result<u8> {
        if args.text.trim().is_empty() {
            return Err(refused("the message", "blank"));
        }
        let meant = self.meant(&args.target)?;
        if let Some(m) = &meant.mapping
            && let Some(why) = m.runtime.lacks(Operation::Message)
        {
            let hint = match m.status {
                MappingStatus::Active => {
                    "coord abort stops it; board comment leaves a word for the next attempt"
                }
                _ => "board comment leaves a word for the next attempt; coord spawn starts one",
            };
            return Err(refused(m.session.as_str(), format!("{} {why}", m.runtime.as_str())).hint(hint));
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
        let id = message_id(millis(), &[session.as_str(), &args.text, &self.hand.pass]);
        let prompt = Prompt { message: &id, text: &args.text, agent: args.agent.as_deref(), wake: true };
        say(&server, &session, &prompt)?;
        if let Some(mapping) = &mapping {
            let keys = json!({
                "session": session, "message": id, "text": quote::line(&args.text, 300), "queued": busy,
                "recovered": recovered,
            });
            self.record(mapping, MESSAGED, "message", keys)?;
        }
        let json = json!({
            "session": session, "task": mapping.map(|m| m.task), "message": id, "queued": busy,
            "recovered": recovered,
        });
        let text = match (busy, recovered) {
            (true, _) => format!(
                "{session}: queued, session busy: it is taken up after the present turn; --recover stops that turn first\n"
            ),
            (false, true) => format!("{session} was stopped and told\n"),
            (false, false) => format!("{session} was told\n"),
        };
        let code = self.hand.answer(&json, &text)?;
        Ok(if busy { Kind::Busy.code() } else { code })
    }
}
