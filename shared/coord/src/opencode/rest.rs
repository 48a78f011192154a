//! opencode's HTTP interface. Facts of 1.18.33: what it does not know it answers with 200 and a page for browsers, an abort
//! is always answered `true`, a session that is idle is not in the answer about states, and a request that arrives while
//! the server starts may never be answered at all.

mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use ureq::http::{Response, Uri};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::TcpConnector;
use ureq::{Agent, Body, RequestBuilder};

use crate::{
    Answer, Gate, Message, NewSession, OtherState, Prompt, Role, Session, SessionId, Silence, State,
};
use base::clip::clip;
use base::quote;

/// Most bytes read of one answer.
const MAX_ANSWER: u64 = 32 << 20;
/// Most bytes kept of a refusal's text.
const MAX_TEXT: usize = 200;

/// Where a server listens: `http://127.0.0.1:4096`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(String);

impl Address {
    /// Takes `http://HOST:PORT`.
    ///
    /// # Errors
    /// One phrase that says what is wrong.
    pub fn parse(s: &str) -> Result<Address, String> {
        let uri: Uri =
            s.trim().parse().map_err(|_| "not an address like http://127.0.0.1:4096".to_owned())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(
                    "https is not spoken here; give the http address on this side of the tunnel".into()
                );
            }
            _ => return Err("not an address like http://127.0.0.1:4096".into()),
        }
        let host = uri.host().filter(|h| !h.is_empty()).ok_or("names no host")?;
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err("holds a password; set OPENCODE_SERVER_PASSWORD instead".into());
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err("has a path; give scheme, host and port alone".into());
        }
        let port = port(&uri).ok_or("has no port from 1 to 65535 behind its colon")?;
        Ok(Address(format!("http://{}:{port}", host.to_lowercase())))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is an address of this machine that no other one reaches: `localhost`, 127.0.0.0/8 or `[::1]`.
    pub fn is_loopback(&self) -> bool {
        let named = self.0.trim_start_matches("http://").rsplit_once(':').map_or("", |(host, _)| host);
        let ip = named.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        named == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The port of an address, 80 where it names none; `None` where what it names is not a port. Then nobody may be asked: the password would go to
/// another server than the one that was meant.
fn port(uri: &Uri) -> Option<u16> {
    let named = uri.authority()?.as_str().strip_prefix(uri.host()?)?;
    if named.is_empty() {
        return Some(80);
    }
    let digits = named.strip_prefix(':').filter(|port| port.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|port| *port > 0)
}

/// Name and password for a server.
#[derive(Clone)]
pub struct Credentials {
    /// `opencode` where nothing else was set.
    pub user: String,
    /// Never shown.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({}, ...)", self.user)
    }
}

/// A server, which may be there or not.
#[derive(Debug, Clone)]
pub struct Server {
    at: Address,
    agent: Agent,
    authorization: Option<String>,
}

impl Server {
    /// A server at an address. Nothing is asked yet. `patience` is the longest one question may take.
    pub fn new(at: Address, credentials: Option<&Credentials>, patience: Duration) -> Server {
        let config = Agent::config_builder()
            .timeout_global(Some(patience))
            .timeout_connect(Some(patience.min(Duration::from_secs(2))))
            .http_status_as_error(false)
            // This server is asked, and none that it names.
            .max_redirects(0)
            .proxy(None)
            .build();
        let basic =
            |c: &Credentials| format!("Basic {}", STANDARD.encode(format!("{}:{}", c.user, c.password)));
        let authorization = credentials.map(basic);
        // Plain TCP alone: another program of Watchbill has TLS, and this one need not carry it.
        let agent = Agent::with_parts(config, TcpConnector::default(), DefaultResolver::default());
        Server { at, agent, authorization }
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.at
    }

    /// A request with who asks, where that is to be said.
    fn signed<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    fn get(&self, path: &str, query: &[(&str, &str)]) -> Answer<Value> {
        let mut request = self.signed(self.agent.get(format!("{}{path}", self.at)));
        for (key, value) in query {
            request = request.query(*key, *value);
        }
        json_of(request.header("accept", "application/json").call())
    }

    fn post(&self, path: &str, query: &[(&str, &str)], body: &Value) -> Answer<Response<Body>> {
        let mut request = self.signed(self.agent.post(format!("{}{path}", self.at)));
        for (key, value) in query {
            request = request.query(*key, *value);
        }
        let request = request.header("content-type", "application/json").header("accept", "application/json");
        request.send(body.to_string()).map_err(|e| unreachable(&e))
    }
}

/// What can be asked of it.
impl Server {
    /// The version of the runtime, if it answers and says it is well.
    ///
    /// # Errors
    /// It does not.
    pub fn health(&self) -> Answer<String> {
        let said = self.get("/global/health", &[])?;
        match (said.get("healthy").and_then(Value::as_bool), said.get("version").and_then(Value::as_str)) {
            (Some(true), Some(version)) => Ok(clip(version, 40).to_owned()),
            (Some(false), _) => Err(Silence::Unreachable("says that it is not healthy".into())),
            _ => Err(odd("its health")),
        }
    }

    /// The state of every session that is under way in this directory. One that is not named is [`State::Absent`].
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn states(&self, directory: &Path) -> Answer<BTreeMap<SessionId, State>> {
        let said = self.get("/session/status", &[("directory", utf8(directory)?)])?;
        let Value::Object(all) = said else { return Err(odd("the states of its sessions")) };
        Ok(all
            .into_iter()
            .filter_map(|(id, state)| Some((SessionId::parse(&id)?, state_of(&state))))
            .collect())
    }

    /// The state of one session of this directory.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn state(&self, id: &SessionId, directory: &Path) -> Answer<State> {
        Ok(self.states(directory)?.remove(id).unwrap_or(State::Absent))
    }

    /// One session.
    ///
    /// # Errors
    /// It cannot be asked, or knows no such session.
    pub fn session(&self, id: &SessionId) -> Answer<Session> {
        session_of(&self.get(&format!("/session/{id}"), &[])?).ok_or_else(|| odd("a session"))
    }

    /// Every session of a directory, as far as the server lists them.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn sessions(&self, directory: &Path) -> Answer<Vec<Session>> {
        let said = self.get("/session", &[("directory", utf8(directory)?)])?;
        let all = said.as_array().ok_or_else(|| odd("its sessions"))?;
        Ok(all.iter().filter_map(session_of).collect())
    }

    /// Sessions that this one made.
    ///
    /// # Errors
    /// It cannot be asked, or knows no such session.
    pub fn children(&self, id: &SessionId) -> Answer<Vec<Session>> {
        let said = self.get(&format!("/session/{id}/children"), &[])?;
        let all = said.as_array().ok_or_else(|| odd("a session's children"))?;
        Ok(all.iter().filter_map(session_of).collect())
    }

    /// The newest messages, oldest first, at most `most`.
    ///
    /// # Errors
    /// It cannot be asked, or knows no such session.
    pub fn messages(&self, id: &SessionId, most: u32) -> Answer<Vec<Message>> {
        Ok(self.raw_messages(id, most)?.iter().filter_map(message_of).collect())
    }

    /// The same, as the server wrote them.
    ///
    /// # Errors
    /// It cannot be asked, or knows no such session.
    pub fn raw_messages(&self, id: &SessionId, most: u32) -> Answer<Vec<Value>> {
        match self.get(&format!("/session/{id}/message"), &[("limit", &most.to_string())])? {
            Value::Array(all) => Ok(all),
            _ => Err(odd("a session's messages")),
        }
    }

    /// Questions and permissions of a directory that wait for a person. An entry may be stale: it counts only while its
    /// tool call still runs.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn gates(&self, directory: &Path) -> Answer<Vec<Gate>> {
        let mut gates = Vec::new();
        for path in ["/question", "/permission"] {
            let said = self.get(path, &[("directory", utf8(directory)?)])?;
            let all = said.as_array().ok_or_else(|| odd("its questions"))?;
            gates.extend(all.iter().filter_map(gate_of));
        }
        Ok(gates)
    }
}

/// What can be done to its sessions. Only `coord` does so, and no watcher. That a call succeeded says nothing; the caller looks
/// afterwards.
impl Server {
    /// Makes a session in a directory, which must exist.
    ///
    /// # Errors
    /// It cannot be asked, or refused.
    pub fn create(&self, directory: &Path, new: &NewSession<'_>) -> Answer<SessionId> {
        let mut metadata = json!({"board": new.board, "host": new.host});
        if let Some((task, run)) = new.task {
            metadata["task_id"] = json!(task);
            metadata["run"] = json!(run);
        }
        let mut body = json!({"title": new.title, "metadata": metadata});
        if let Some(parent) = new.parent {
            body["parentID"] = json!(parent);
        }
        if let Some(agent) = new.agent {
            body["agent"] = json!(agent);
        }
        let made = json_of(Ok(self.post("/session", &[("directory", utf8(directory)?)], &body)?))?;
        session_of(&made).map(|s| s.id).ok_or_else(|| odd("the session it made"))
    }

    /// Says something to a session. A busy one takes it up after its present turn.
    ///
    /// # Errors
    /// It cannot be asked, refused, or knows no such session.
    pub fn prompt(&self, id: &SessionId, prompt: &Prompt<'_>) -> Answer<()> {
        // The part carries the message's name, so that the same message said twice has one part too.
        let part = format!("prt_{}", prompt.message.trim_start_matches("msg_"));
        let mut body = json!({
            "messageID": prompt.message, "parts": [{"id": part, "type": "text", "text": prompt.text}],
        });
        if let Some(agent) = prompt.agent {
            body["agent"] = json!(agent);
        }
        if !prompt.wake {
            body["noReply"] = json!(true);
            // Nobody waits for an answer to it, and nobody is to take it for a prompt that was lost.
            body["parts"][0]["metadata"] = json!({super::rows::NOTE: true});
        }
        let mut answer = self.post(&format!("/session/{id}/prompt_async"), &[], &body)?;
        match answer.status().as_u16() {
            204 => Ok(()),
            // A page for browsers, or a proxy's: whatever it is, it is not this interface.
            200..=399 => Err(odd("a prompt")),
            code => Err(refusal(code, &mut answer)),
        }
    }

    /// Asks for the present turn to be stopped. The answer is yes whatever happened.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn abort(&self, id: &SessionId) -> Answer<()> {
        match json_of(Ok(self.post(&format!("/session/{id}/abort"), &[], &json!({}))?))? {
            Value::Bool(_) => Ok(()),
            _ => Err(odd("an abort")),
        }
    }

    /// Removes a session and its messages.
    ///
    /// # Errors
    /// It cannot be asked, refused, or knows no such session.
    pub fn delete(&self, id: &SessionId) -> Answer<()> {
        let request = self.agent.delete(format!("{}/session/{id}", self.at));
        json_of(self.signed(request).call()).map(|_| ())
    }
}

/// The JSON of an answer that is one.
fn json_of(answer: Result<Response<Body>, ureq::Error>) -> Answer<Value> {
    let mut answer = answer.map_err(|e| unreachable(&e))?;
    let code = answer.status().as_u16();
    if code != 200 {
        return Err(match code {
            300..=399 => Silence::Unreachable(format!("answers {code} and redirects to another address")),
            _ => refusal(code, &mut answer),
        });
    }
    let kind = answer.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or("no type");
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        let kind = clip(kind, 60);
        return Err(Silence::Unreachable(format!("answers {kind}, not JSON: no such interface there")));
    }
    let body = answer.body_mut().with_config().limit(MAX_ANSWER).reader();
    serde_json::from_reader(body).map_err(|e| Silence::Unreachable(format!("its answer cannot be read: {e}")))
}

fn refusal(code: u16, answer: &mut Response<Body>) -> Silence {
    match code {
        404 => return Silence::Missing,
        401 | 403 => {
            let why =
                format!("answers {code}: set OPENCODE_SERVER_PASSWORD, and name the server with --server");
            return Silence::Unreachable(why);
        }
        502..=504 => return Silence::Unreachable(format!("answers {code}")),
        _ => {}
    }
    let text = answer.body_mut().with_config().limit(64 << 10).read_to_string().unwrap_or_default();
    let said: Value = serde_json::from_str(&text).unwrap_or_default();
    let inner =
        said.pointer("/data/message").or_else(|| said.pointer("/error/0/message")).and_then(Value::as_str);
    Silence::Refused(code, quote::line(inner.unwrap_or(&text), MAX_TEXT))
}

fn unreachable(e: &ureq::Error) -> Silence {
    Silence::Unreachable(match e {
        ureq::Error::Timeout(_) => "no answer in time".into(),
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            "nothing listens there".into()
        }
        other => clip(&other.to_string(), MAX_TEXT).to_owned(),
    })
}

fn odd(what: &str) -> Silence {
    Silence::Unreachable(format!("its answer about {what} is not opencode's"))
}

fn utf8(path: &Path) -> Answer<&str> {
    path.to_str().ok_or_else(|| Silence::Refused(0, "the folder's name is not UTF-8".into()))
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// A state as it stands in the answer about a directory.
fn state_of(state: &Value) -> State {
    match text(state, "type") {
        Some("busy") => State::Busy,
        Some("idle") => State::Absent,
        Some("retry") => State::Retry {
            attempt: state
                .get("attempt")
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(0),
            message: clip(text(state, "message").unwrap_or_default(), 2_000).to_owned(),
            next: state.get("next").and_then(Value::as_i64).unwrap_or(0),
        },
        // Cleaned before it is cut: half a secret is not known for one.
        word => State::Other(OtherState { word: quote::line(word.unwrap_or("unknown"), 60) }),
    }
}

fn session_of(session: &Value) -> Option<Session> {
    let none = Value::Object(Map::new());
    let metadata = session.get("metadata").unwrap_or(&none);
    Some(Session {
        id: SessionId::parse(text(session, "id")?)?,
        directory: text(session, "directory")?.to_owned(),
        parent: text(session, "parentID").and_then(SessionId::parse),
        task: text(metadata, "task_id").map(str::to_owned),
        run: metadata.get("run").and_then(Value::as_i64),
    })
}

/// A message as the server writes it; `None` for anything else.
pub(crate) fn message_of(message: &Value) -> Option<Message> {
    let info = message.get("info")?;
    let role = match text(info, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let parts = message.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = parts.iter().filter(|p| text(p, "type") == Some("text")).filter_map(|p| text(p, "text"));
    Some(Message {
        id: text(info, "id")?.to_owned(),
        role,
        created: info.pointer("/time/created").and_then(Value::as_i64).unwrap_or(0),
        completed: info.pointer("/time/completed").and_then(Value::as_i64),
        finish: text(info, "finish").map(str::to_owned),
        error: info.pointer("/error/name").and_then(Value::as_str).map(str::to_owned),
        text: texts.collect::<Vec<_>>().join("\n"),
    })
}

fn gate_of(gate: &Value) -> Option<Gate> {
    let call = gate.pointer("/tool/callID").and_then(Value::as_str).map(str::to_owned);
    Some(Gate { session: SessionId::parse(text(gate, "sessionID")?)?, call })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_host_and_port() {
        for (given, want) in [
            ("http://127.0.0.1:4096", "http://127.0.0.1:4096"),
            (" http://Host:1/ ", "http://host:1"),
            ("http://host", "http://host:80"),
            ("http://[::1]:9", "http://[::1]:9"),
        ] {
            assert_eq!(Address::parse(given).unwrap().as_str(), want, "{given}");
        }
        for bad in [
            "",
            "127.0.0.1:4096",
            "https://h:1",
            "http://u:p@h:1",
            "http://h:1/x",
            "http://h:1/?a=b",
            "ftp://h",
            "http://",
            "http://h:",
            "http://h:0",
            "http://h:65536",
            "http://h:4096x",
            "http://h:-1",
            "http://h:+80",
            "http://[::1]:65536",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_this_machine_itself_is_loopback() {
        for (given, want) in [
            ("http://127.0.0.1:4096", true),
            ("http://127.1.2.3:1", true),
            ("http://localhost:1", true),
            ("http://[::1]:9", true),
            ("http://10.0.0.7:1", false),
            ("http://localhost.example.org:1", false),
            ("http://127.0.0.1.example.org:1", false),
            ("http://[fe80::1]:1", false),
        ] {
            assert_eq!(Address::parse(given).unwrap().is_loopback(), want, "{given}");
        }
    }

    #[test]
    fn states_as_the_server_words_them() {
        let busy = |v: Value| state_of(&v);
        assert_eq!(busy(json!({"type": "busy"})), State::Busy);
        assert_eq!(busy(json!({"type": "idle"})), State::Absent);
        let retry = State::Retry { attempt: 2, message: "fake 503".into(), next: 5 };
        assert_eq!(busy(json!({"type": "retry", "attempt": 2, "message": "fake 503", "next": 5})), retry);
        for odd in [json!({"type": "image_processing"}), json!({}), json!(null), json!("busy")] {
            assert!(matches!(state_of(&odd), State::Other(_)), "{odd}");
            assert!(state_of(&odd).is_under_way());
        }
    }

    #[test]
    fn a_message_is_read_tolerantly() {
        let whole = json!({
            "info": {"id": "msg_1", "role": "assistant", "time": {"created": 5, "completed": 9}, "finish": "stop",
                     "error": {"name": "MessageAbortedError"}},
            "parts": [{"type": "step-start"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        });
        let read = message_of(&whole).unwrap();
        assert_eq!(
            (read.text.as_str(), read.completed, read.error.as_deref()),
            ("a\nb", Some(9), Some("MessageAbortedError"))
        );
        let open = json!({"info": {"id": "msg_2", "role": "assistant", "time": {"created": 5}}});
        assert!(message_of(&open).unwrap().is_open());
        for none in [
            json!(null),
            json!({}),
            json!({"info": {"id": "msg_1"}}),
            json!({"info": {"id": 1, "role": "user"}}),
        ] {
            assert_eq!(message_of(&none), None, "{none}");
        }
    }
}
