//! The words of a message, and the bodies that receivers take.

use serde::Serialize;
use serde_json::{Value, json};

use super::Episode;
use crate::needs::{Need, Now, remedy, shown};
use base::clip::clip;
use base::count::things_or;
use base::hash::Fnv;
use base::redact::redact;
use base::time::Time;
use config::NotifyFormat;

/// The schema of the object that a command and a plain webhook get.
pub const SCHEMA: &str = "watchbill.notify/1";
/// Most things of one kind that are named in the text.
const MAX_NAMED: usize = 8;
/// Most bytes of a line of the text: room for what is so, or for a command.
const MAX_LINE: usize = 240;
/// Most bytes of the text. Discord takes 2,000 characters, ntfy and Telegram about 4,000.
const MAX_TEXT: usize = 1_800;

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something began to need a person.
    Needs,
    /// Something no longer needs one, and something else still does.
    Over,
    /// Nothing needs a person any more.
    Well,
    /// Sent by hand, to see whether it arrives.
    Test,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    schema: &'static str,
    /// The same for a message and its repetition.
    id: String,
    host: String,
    at: Time,
    /// What kind it is.
    pub kind: Kind,
    /// One line.
    pub title: String,
    /// What began, what ended and what is left, for a person.
    pub text: String,
    /// What began to need a person.
    pub began: Vec<Need>,
    /// What no longer does.
    #[serde(serialize_with = "ended")]
    pub ended: Vec<Episode>,
    /// How many things that were told before still need a person.
    open: usize,
    /// An earlier try may have arrived: its answer was lost.
    pub again: bool,
}

/// Key and words of each.
fn ended<S: serde::Serializer>(all: &[Episode], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(|e| json!({"key": shown(&e.key), "says": e.says})))
}

impl Message {
    /// `last`: when the message before it was accepted.
    pub(super) fn of(
        now: &Now,
        began: Vec<Need>,
        ended: Vec<Episode>,
        open: usize,
        is_well: bool,
        again: bool,
        last: Option<Time>,
    ) -> Message {
        let kind = match began.is_empty() {
            true if is_well => Kind::Well,
            true => Kind::Over,
            false => Kind::Needs,
        };
        let mut message = Message {
            schema: SCHEMA,
            id: id(now, &began, &ended, last),
            host: now.host.clone(),
            at: now.now,
            kind,
            title: String::new(),
            text: String::new(),
            began,
            ended,
            open,
            again,
        };
        let waiting = now.boards.iter().map(|b| b.waiting).sum();
        message.title = redact(&message.titled(waiting)).into_owned();
        message.text = redact(&message.lines(now.boards.len() > 1)).into_owned();
        message
    }

    /// The one of `--test`.
    pub fn test(host: &str, at: Time) -> Message {
        Message {
            schema: SCHEMA,
            id: format!("test-{}", at.compact()),
            host: host.to_owned(),
            at,
            kind: Kind::Test,
            title: format!("{host}: test message of watchbill"),
            text: "This is a test message of watchbill. Nothing needs you because of it.\n".into(),
            began: Vec::new(),
            ended: Vec::new(),
            open: 0,
            again: false,
        }
    }

    /// `waiting`: how many tasks wait for something other than a person.
    fn titled(&self, waiting: usize) -> String {
        let need = |n: usize| things_or(n, "thing needs you", "things need you");
        let over = |n: usize| things_or(n, "thing is over", "things are over");
        let said = match (self.began.len(), self.ended.len()) {
            (0, _) if self.kind == Kind::Well => match waiting {
                0 => "all is well again".into(),
                n => format!("nothing needs you now; {}", things_or(n, "task waits", "tasks wait")),
            },
            (0, n) if self.open > 0 => format!("{}; {} still", over(n), need(self.open)),
            (0, n) => over(n),
            (n, 0) => need(n),
            (n, m) => format!("{}; {}", need(n), over(m)),
        };
        format!("{}: {said}", self.host)
    }

    fn lines(&self, several_boards: bool) -> String {
        let mut all = Vec::new();
        for need in self.began.iter().take(MAX_NAMED) {
            let board = need.board.as_ref().filter(|_| several_boards && !need.tasks.is_empty());
            all.push(format!("! {}{}", board.map_or_else(String::new, |b| format!("{b}: ")), need.says));
            // Half a command is of no use.
            let whole =
                |what: String| if what.len() > MAX_LINE { "    $ watchbill status".into() } else { what };
            all.extend(remedy(need).map(whole));
        }
        all.extend(self.ended.iter().take(MAX_NAMED).map(|over| format!("over: {}", over.says)));
        let mut foot = Vec::new();
        if self.open > 0 {
            foot.push(format!("told before and still so: {}", self.open));
        }
        if self.again {
            foot.push("The answer to an earlier message was lost; this may repeat it.".into());
        }
        let foot = foot.into_iter().map(|text| line(&text)).collect::<String>();
        let (mut out, more) = (String::new(), "there is more: watchbill status\n");
        let room = MAX_TEXT.saturating_sub(foot.len() + more.len());
        let mut is_whole = self.began.len().max(self.ended.len()) <= MAX_NAMED;
        for text in all.iter().map(|text| line(text)) {
            // A shorter line after one that is left out would stand below a line that it does not belong to.
            if out.len() + text.len() > room {
                is_whole = false;
                break;
            }
            out.push_str(&text);
        }
        format!("{out}{}{foot}", if is_whole { "" } else { more })
    }

    /// What is sent to a URL. `chat`: that of Telegram; `topic`: that of ntfy.
    pub fn body(&self, format: NotifyFormat, chat: &str, topic: &str) -> Value {
        let whole = || format!("{}\n{}", self.title, self.text);
        match format {
            NotifyFormat::Json => json!(self),
            NotifyFormat::Ntfy => json!({
                "topic": topic, "title": self.title, "message": self.text,
                "priority": if self.kind == Kind::Needs { 4 } else { 3 },
            }),
            // Links and mentions are written in <>, and begin with & where they are meant as text.
            NotifyFormat::Slack => {
                json!({"text": whole().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")})
            }
            NotifyFormat::Discord => json!({"content": whole(), "allowed_mentions": {"parse": []}}),
            NotifyFormat::Telegram => {
                json!({"chat_id": chat, "text": whole(), "link_preview_options": {"is_disabled": true}})
            }
        }
    }
}

fn line(text: &str) -> String {
    let text = crate::report::printable(text);
    let end = if text.len() > MAX_LINE { "..." } else { "" };
    format!("{}{end}\n", clip(&text, MAX_LINE))
}

/// The same for the same news after the same message.
fn id(now: &Now, began: &[Need], ended: &[Episode], last: Option<Time>) -> String {
    let mut hash = Fnv::new();
    hash.part(now.host.as_bytes());
    began.iter().for_each(|n| hash.part(n.key.as_bytes()));
    hash.part(b"ended");
    ended.iter().for_each(|e| hash.part(e.key.as_bytes()));
    hash.part(last.map_or_else(String::new, |at| at.0.to_string()).as_bytes());
    format!("{:016x}", hash.value())
}
