//! `coord notify`: a session tells its coordinator something, once.

use board::EventKind;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{Coord, Meant, NOTHING_DONE, me, message_id, message_tail, millis, refused, say, silent};
use crate::board::card::Stop;
use crate::board::speaker;
use base::error::{Error, Kind, Result};
use base::quote;
use card::Blocker;
use coord::{Coordinator, Mapping, Operation, Prompt, State};
use policy::cards::worker_card::{Asked, Said};

/// Messages of a coordinator among which the same one is looked for.
const LOOKED_AT: u32 = 500;
/// Most bytes of what is told.
const MAX_BYTES: usize = 8 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// The coordinator reads it when it checks its messages
    Info,
    /// As info, more urgent
    Warning,
    /// The session stopped: also write the [BLOCKED] card
    Blocking,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Blocking => "blocking",
        }
    }

    fn head(self) -> &'static str {
        match self {
            Level::Info => "ℹ️ INFO",
            Level::Warning => "⚠️ WARNING",
            Level::Blocking => "⚠️ BLOCKING",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Notify {
    /// The message; for a block: what was tried, what failed and what would help
    text: String,
    /// The sender: a session, or its task [default: the session of the current worktree]
    #[arg(long, value_name = "SESSION")]
    from: Option<String>,
    /// Set the urgency
    #[arg(long, value_enum, default_value_t = Level::Info)]
    level: Level,
    /// Let the coordinator answer now [default: for blocking only]
    #[arg(long, conflicts_with = "no_wake")]
    wake: bool,
    /// Send the message without waking the coordinator
    #[arg(long)]
    no_wake: bool,
    /// With --level blocking: the type of the card, as in board block
    #[arg(long, value_name = "TYPE", default_value = "dependency")]
    r#type: String,
}

impl Coord<'_> {
    pub(super) fn notify(&mut self, args: &Notify) -> Result<u8> {
        let text = args.text.trim();
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(Error::new(Kind::Usage, "the text", format!("must have 1 to {MAX_BYTES} bytes")));
        }
        let blocker = Blocker::parse(&args.r#type).ok_or_else(|| {
            Error::new(Kind::Usage, format!("--type {}", args.r#type), "no such type")
                .hint(format!("one of {}", Blocker::ALL.map(Blocker::as_str).join(", ")))
        })?;
        let mapping = self.sender(args.from.as_deref())?;
        // The card first: it is on the board whatever becomes of the server.
        let card = match args.level {
            Level::Blocking => Some(self.card(&mapping, blocker, text)?),
            _ => None,
        };
        let wake = args.wake || (args.level == Level::Blocking && !args.no_wake);
        let told = self.tell(&mapping, args.level, text, wake).map_err(|e| match &card {
            None => e,
            Some(card) => {
                let what = e.what.strip_suffix(NOTHING_DONE).unwrap_or(&e.what);
                Error { what: format!("{what}; its coordinator was not told, but {card}"), ..e }
            }
        })?;
        let wake = wake && told.deaf.is_none();
        let known = self.hand.look(&mapping.task)?.events.iter().any(|e| {
            e.kind == EventKind::SessionNotified
                && e.payload.get("message").and_then(|m| m.as_str()) == Some(&told.message)
        });
        if !known {
            let keys = json!({
                "session": mapping.session, "parent": told.parent, "level": args.level.word(),
                "message": told.message, "text": quote::line(text, 300), "wake": wake,
            });
            self.record(&mapping, EventKind::SessionNotified, "notify", keys)?;
        }
        let json = json!({
            "session": mapping.session, "task": mapping.task, "parent": told.parent, "message": told.message,
            "level": args.level.word(), "again": told.again, "woken": wake, "delivered": told.deaf.is_none(),
            "card": card,
        });
        let again = if told.again { " already" } else { "" };
        let card = card.map(|c| format!("{c}\n")).unwrap_or_default();
        let line = match (&told.parent, &told.deaf) {
            (Some(parent), None) => format!("{parent} was told{again}"),
            (Some(parent), Some(why)) => {
                format!("recorded{again} for {parent}, which {why}; coord events shows it")
            }
            (None, _) => format!(
                "recorded{again}: {} has no coordinator, so nobody was told directly; coord events shows it",
                mapping.session
            ),
        };
        self.hand.answer(&json, &format!("{line}\n{card}"))
    }

    fn sender(&mut self, from: Option<&str>) -> Result<Mapping> {
        let Some(named) = from else {
            let all = self.mappings()?;
            return me(&all).cloned().ok_or_else(|| {
                Error::new(
                    Kind::Usage,
                    "--from",
                    "not given, and the current folder is not the worktree of a spawned session",
                )
                .hint("name the session or its task with --from")
            });
        };
        let Meant { session, mapping } = self.meant(named)?;
        mapping.ok_or_else(|| refused(session.as_str(), "was not spawned for a task of this board"))
    }

    /// Writes the card and says what was done.
    fn card(&mut self, mapping: &Mapping, blocker: Blocker, text: &str) -> Result<String> {
        let said = Said {
            blocker,
            reason: Some(quote::line(text, 300)),
            completed: None,
            cannot_touch: None,
            needs: None,
            author: speaker(None),
            session: Some(mapping.session.clone()),
        };
        let task = &mapping.task;
        Ok(match self.hand.stop_for_help(task, mapping.run, &said)? {
            Stop::Found { card, .. } => format!("{task} is blocked already, with card {card}"),
            Stop::Made { asked: Asked::Card { id, .. } | Asked::Joined(id), .. } => {
                format!("{task} is blocked, with card {id}")
            }
            Stop::Made { asked: Asked::Person(_), .. } => format!("{task} is blocked: a person must look"),
        })
    }

    fn tell(&mut self, from: &Mapping, level: Level, text: &str, wake: bool) -> Result<Told> {
        let who = self.coordinator(from)?;
        let Some(parent) = who.as_ref().and_then(Coordinator::session).cloned() else {
            let deaf = if who.is_some() { "is not a session" } else { "is not recorded" };
            return self.leave(from, who, level, text, deaf.into());
        };
        let all = self.mappings()?;
        let known = all.into_iter().rfind(|m| m.session == parent);
        let deaf = match &known {
            Some(m) => {
                m.runtime.lacks(Operation::Wake).map(|why| format!("is of {} and {why}", m.runtime.as_str()))
            }
            None if !parent.is_opencodes() => Some("is not a session of a server, so nobody is woken".into()),
            None => None,
        };
        if let Some(deaf) = deaf {
            return self.leave(from, who, level, text, deaf);
        }
        // A server knows the coordinators of its own sessions.
        let at = match known.as_ref().filter(|_| from.server.is_none()) {
            Some(m) => self.server_of(m)?,
            None if from.server.is_some() => self.server_of(from)?,
            None => self.servers.named.clone(),
        };
        let server = &self.servers.at(&at);
        let fails = |e| silent(server, &parent, &e);
        let run = from.run.unwrap_or(0).to_string();
        let parts = [from.session.as_str(), &run, level.word(), text];
        let tail = message_tail(&parts);
        let messages = server.messages(&parent, LOOKED_AT).map_err(fails)?;
        let found = messages.iter().find(|m| m.id.ends_with(&tail));
        // Without its text it was cut off half way; the same name makes it whole.
        let again = found.is_some_and(|m| !m.text.is_empty());
        let message = found.map_or_else(|| message_id(millis(), &parts), |m| m.id.clone());
        // Again only for a message that lies there unanswered, where the caller wants it answered now.
        let unanswered = || -> std::result::Result<bool, _> {
            let directory = server.session(&parent)?.directory;
            let idle = server.state(&parent, Path::new(&directory))? == State::Absent;
            Ok(idle && messages.last().is_some_and(|m| m.id == message))
        };
        if !again || (wake && unanswered().map_err(fails)?) {
            let text = format!("{} [{}] {text}", level.head(), from.task);
            let prompt = Prompt { message: &message, text: &text, agent: None, wake };
            say(server, &parent, &prompt)?;
        }
        Ok(Told { parent: who, message, again, deaf: None })
    }

    /// Who coordinates this session; a server knows the session that made it.
    fn coordinator(&self, from: &Mapping) -> Result<Option<Coordinator>> {
        if from.parent.is_some() || from.server.is_none() {
            return Ok(from.parent.clone());
        }
        let server = self.servers.at(&self.server_of(from)?);
        let session = server.session(&from.session).map_err(|e| silent(&server, &from.session, &e))?;
        Ok(session.parent.map(Coordinator::Session))
    }

    /// What is told to one who takes no messages, or to nobody, lies on the board alone, once.
    fn leave(
        &mut self,
        from: &Mapping,
        parent: Option<Coordinator>,
        level: Level,
        text: &str,
        deaf: String,
    ) -> Result<Told> {
        let run = from.run.unwrap_or(0).to_string();
        let parts = [from.session.as_str(), &run, level.word(), text];
        let tail = message_tail(&parts);
        let seen = self.hand.look(&from.task)?;
        let before = seen.events.iter().filter(|e| e.kind == EventKind::SessionNotified);
        let mut before = before.filter_map(|e| e.payload.get("message")?.as_str());
        let found = before.find(|m| m.ends_with(&tail)).map(str::to_owned);
        let again = found.is_some();
        let message = found.unwrap_or_else(|| message_id(millis(), &parts));
        Ok(Told { parent, message, again, deaf: Some(deaf) })
    }
}

/// What a coordinator was told.
struct Told {
    parent: Option<Coordinator>,
    message: String,
    /// It lay there already.
    again: bool,
    /// Why it lies on the board alone.
    deaf: Option<String>,
}
