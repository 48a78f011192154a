//! What the messages in Hermes' `state.db` say that an agent did. Read once, for the sums as well as for the signs, and only
//! what is new since the last pass.
//!
//! Hermes (0.19 to 0.22) writes an answer of the model before it runs the tools that are called in it, and what a tool answered
//! right after that tool. So the rows tell whose turn it is, which calls were made, what they answered and when.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{Answer, without_advice};
use super::lines::ApiCall;
use super::sums::Session;
use crate::agents::fact::{Call, Does, Fact, Stop, brief, part, patched, print};
use crate::agents::record::Record;
use crate::cache::Cache;
use crate::session::{Marks, Millis, Run, mark};
use crate::usage::files::Files;
use crate::usage::store::{MAX_ROW, Store};
use base::time::Time;

/// Most messages of one session that are read: the newest.
const MAX_MESSAGES: i64 = 20_000;
/// Most messages with calls by which those are known that a compaction writes again.
const MAX_KNOWN: usize = 128;
/// A state of another version is not understood: raise it whenever the state or its rules change.
const VERSION: u32 = 3;

/// Why a model stopped though it is asked again at once.
const GOES_ON: [&str; 5] =
    ["incomplete", "length", "verification_required", "verify_hook_continue", "kanban_terminal_required"];

/// What the sessions of one attempt said so far. Goes through JSON unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Talk {
    version: u32,
    /// By session.
    places: BTreeMap<String, Place>,
    pub(super) record: Record,
    pub(super) files: Files,
    pub(super) calls: u64,
    pub(super) compactions: u64,
    /// A session was compacted in place, so that the store counts only what is left of it.
    pub(super) is_compacted: bool,
    /// The newest messages with calls, by their hash.
    known: Marks,
    /// The store holds what tools answered.
    pub(super) tells_answers: bool,
}

/// How far one session was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Place {
    /// The newest row.
    last: i64,
    /// The newest API call that was told of by the profile's log.
    asked: Option<Millis>,
    run: Run,
    /// What stands here was written again by a compaction.
    is_echo: bool,
}

/// One row.
struct Message<'a> {
    role: &'a str,
    calls: Option<&'a str>,
    answers: &'a str,
    content: Option<&'a str>,
    finish: &'a str,
    compacted: bool,
}

/// What is known beside the messages.
pub(super) struct Heard<'a> {
    /// The sessions of the attempt; what was started by one comes after it.
    pub(super) sessions: &'a [Session],
    /// Each session's API calls, oldest first.
    pub(super) asked: BTreeMap<String, Vec<ApiCall>>,
    /// Where the agent works.
    pub(super) cwd: Option<String>,
    /// The size of a model's context.
    pub(super) window: &'a dyn Fn(&str) -> Option<u64>,
}

/// Where the state of an attempt is kept between two passes.
pub(super) struct Kept<'a> {
    pub(super) key: String,
    pub(super) now: Time,
    pub(super) cache: &'a mut Cache,
}

impl Talk {
    /// What the sessions said, with what is new put behind what was known.
    pub(super) fn read(store: &Store, heard: &Heard<'_>, kept: &mut Kept<'_>) -> rusqlite::Result<Talk> {
        let known = kept.cache.log(&kept.key).and_then(|row| serde_json::from_str::<Talk>(&row.body).ok());
        let known = known.filter(|talk| talk.version == VERSION);
        let mut talk = known.clone().unwrap_or_else(|| Talk { version: VERSION, ..Talk::default() });
        if !store.has("messages", &["id", "session_id", "role", "tool_calls", "timestamp"]) {
            return Ok(talk);
        }
        talk.tells_answers = store.has("messages", &["content", "tool_call_id"]);
        for session in heard.sessions {
            let calls = heard.asked.get(&session.id).map_or(&[][..], Vec::as_slice);
            talk.follow(store, session, calls)?;
        }
        if known.as_ref() != Some(&talk) {
            talk.record.take(false, &Fact::Session { id: None, cwd: heard.cwd.as_deref(), once: false });
            let window = talk.record.model().and_then(heard.window);
            talk.record.take(false, &Fact::Model { name: None, window });
        }
        if known.as_ref() != Some(&talk)
            && let Ok(body) = serde_json::to_string(&talk)
        {
            kept.cache.put_log(&kept.key, 0, body, kept.now);
        }
        Ok(talk)
    }

    /// The most equal calls with equal answers in a row.
    pub(super) fn identical(&self) -> u64 {
        self.places.values().map(|place| place.run.longest()).max().unwrap_or_default()
    }

    fn follow(&mut self, store: &Store, session: &Session, asked: &[ApiCall]) -> rusqlite::Result<()> {
        let new = || Place { is_echo: session.goes_on, ..Place::default() };
        let mut place = self.places.get(&session.id).cloned().unwrap_or_else(new);
        let has = |column: &'static str| if store.has("messages", &[column]) { column } else { "NULL" };
        let compacted = has("compacted");
        let was = format!("SELECT {compacted} FROM messages WHERE id = ?1");
        let was =
            store.conn.prepare_cached(&was)?.query_map([place.last], |r| r.get(0))?.next().transpose()?;
        let mut before = was.unwrap_or(Some(0)) == Some(1);
        let query = format!(
            "SELECT id, role, timestamp, {compacted}, {}, {},
             CASE WHEN length(tool_calls) <= ?3 THEN tool_calls END,
             CASE WHEN role = 'tool' AND length({content}) <= ?3 THEN {content} END
             FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ?1 AND id > ?2
             ORDER BY id DESC LIMIT ?4) ORDER BY id",
            has("finish_reason"),
            has("tool_call_id"),
            content = has("content"),
        );
        let mut statement = store.conn.prepare_cached(&query)?;
        let mut rows = statement.query(params![session.id, place.last, MAX_ROW, MAX_MESSAGES])?;
        let is_new = |call: &&ApiCall| place.asked.is_none_or(|told| call.at > told);
        let mut asked = asked.iter().filter(is_new).cloned().collect::<Vec<_>>().into_iter().peekable();
        let mut echoed = BTreeSet::new();
        while let Some(row) = rows.next()? {
            place.last = row.get(0)?;
            let at = moment(row);
            while let Some(call) = asked.next_if(|call| at.is_none_or(|at| call.at <= at)) {
                self.used(&mut place, session.is_side, &call);
            }
            let role: String = row.get(1).unwrap_or_default();
            let finish: Option<String> = row.get(4).unwrap_or_default();
            let answers: Option<String> = row.get(5).unwrap_or_default();
            let calls: Option<String> = row.get(6).unwrap_or_default();
            let content: Option<String> = row.get(7).unwrap_or_default();
            let message = Message {
                role: &role,
                calls: calls.as_deref(),
                answers: answers.as_deref().unwrap_or_default(),
                content: content.as_deref(),
                finish: finish.as_deref().unwrap_or_default(),
                compacted: row.get::<_, Option<i64>>(3).unwrap_or_default() == Some(1),
            };
            if std::mem::replace(&mut before, message.compacted) && !message.compacted {
                place.is_echo = true;
                self.is_compacted = true;
                self.compacted(session.is_side);
            }
            self.is_compacted |= message.compacted;
            if self.is_written_again(&message, &mut place, &mut echoed) {
                continue;
            }
            self.record.now(at);
            self.tell(&message, place.last, session.is_side, &mut place.run);
        }
        asked.for_each(|call| self.used(&mut place, session.is_side, &call));
        self.places.insert(session.id.clone(), place);
        Ok(())
    }

    fn compacted(&mut self, is_side: bool) {
        self.record.take(is_side, &Fact::Compacted { before: None });
        self.compactions += u64::from(!is_side);
    }

    /// A compaction in place writes a second time what it keeps; so does a session in which another one is gone on with.
    fn is_written_again(
        &mut self,
        message: &Message<'_>,
        place: &mut Place,
        echoed: &mut BTreeSet<String>,
    ) -> bool {
        let Some(calls) = message.calls else {
            return message.role == "tool" && echoed.contains(message.answers);
        };
        let is_known = !self.known.is_new(calls, MAX_KNOWN);
        place.is_echo &= is_known;
        let again = is_known && (place.is_echo || message.compacted);
        if again {
            echoed.extend(told(calls).iter().map(|call| id(call).to_owned()));
        }
        again
    }

    /// An API call, as the profile's log tells it.
    fn used(&mut self, place: &mut Place, is_side: bool, call: &ApiCall) {
        place.asked = Some(call.at);
        self.record.now(Some(call.at));
        let used = call.used();
        let context = used.context();
        let fact = Fact::Used { call: "", model: &call.model, used, context, stopped: true };
        self.record.take(is_side, &fact);
    }

    fn tell(&mut self, message: &Message<'_>, row: i64, is_side: bool, run: &mut Run) {
        match (message.role, message.calls) {
            ("assistant", Some(calls)) => {
                self.record.take(is_side, &Fact::Spoke { call: &row.to_string(), stop: Stop::ForTools });
                for call in told(calls) {
                    self.called(&call, is_side, run);
                }
            }
            ("assistant", None) if GOES_ON.contains(&message.finish) => {
                self.record.take(is_side, &Fact::Asked);
            }
            ("assistant", None) => self.record.take(is_side, &Fact::Over),
            ("user", _) => self.record.take(is_side, &Fact::Asked),
            ("tool", _) => self.answered(message, is_side, run),
            _ => {}
        }
    }

    fn answered(&mut self, message: &Message<'_>, is_side: bool, run: &mut Run) {
        let answer = Answer::of(message.content.unwrap_or_default());
        let print = || print(message.content.map(without_advice).into_iter());
        // Where Hermes itself says that it was asked the same again, the answer is the one before.
        if !answer.is_same_again {
            run.answered(message.answers, print);
        }
        let (failed, malformed) = (answer.has_failed, answer.is_malformed);
        let (id, said) = (message.answers, "");
        self.record.take(is_side, &Fact::Answered { id, failed, malformed, print: &print, said });
    }

    fn called(&mut self, call: &Value, is_side: bool, run: &mut Run) {
        let function = call.get("function").unwrap_or(call);
        let of = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, arguments) = (of("name"), of("arguments"));
        self.calls = self.calls.saturating_add(1);
        run.called(id(call), mark([name.as_bytes(), arguments.as_bytes()]));
        let given: Value = serde_json::from_str(arguments).unwrap_or_default();
        let path = given.get("path").and_then(Value::as_str);
        let mut files: Vec<&str> = path.into_iter().collect();
        let does = match name {
            "write_file" | "patch" => {
                files.extend(given.get("patch").and_then(Value::as_str).map(patched).unwrap_or_default());
                Does::Edits
            }
            "read_file" => Does::Reads,
            "search_files" | "web_search" | "session_search" => Does::Looks,
            "clarify" => Does::Asks,
            _ => Does::Other,
        };
        match does {
            Does::Edits => self.files.edit(path),
            Does::Reads if !is_side => path.into_iter().for_each(|file| self.files.read(file, part(&given))),
            _ => {}
        }
        let brief: Cow<'_, str> = match brief(&given) {
            Some(said) => said.into(),
            None => files.first().map_or(arguments, |file| file).into(),
        };
        let (id, files) = (id(call), files.as_slice());
        let call =
            Call { id, name, arguments, does, files, part: part(&given), malformed: false, brief: &brief };
        self.record.take(is_side, &Fact::Called(call));
    }
}

/// When a row was written.
fn moment(row: &Row<'_>) -> Option<Millis> {
    let seconds: f64 = row.get(2).ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a moment far beyond any date is cut to the last one"
    )]
    seconds.is_finite().then_some(Millis((seconds * 1_000.0) as i64))
}

fn told(calls: &str) -> Vec<Value> {
    serde_json::from_str(calls).unwrap_or_default()
}

fn id(call: &Value) -> &str {
    call.get("id").and_then(Value::as_str).unwrap_or_default()
}
