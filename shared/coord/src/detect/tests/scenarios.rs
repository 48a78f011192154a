//! The recorded sessions of a real opencode 1.18.33, one for each way its provider, its tools or its server failed.

use std::path::PathBuf;

use rusqlite::{Connection, params};
use serde_json::Value;

use super::*;
use crate::opencode::store::Store;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode").join(name)
}

/// A copy of the recorded store.
struct Recording {
    folder: tempfile::TempDir,
    index: Value,
}

impl Recording {
    fn new() -> Recording {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(fixture("sessions.db"), folder.path().join("opencode.db")).unwrap();
        let index = std::fs::read_to_string(fixture("sessions.json")).unwrap();
        Recording { folder, index: serde_json::from_str(&index).unwrap() }
    }

    fn id(&self, name: &str) -> SessionId {
        SessionId::parse(self.index[name].as_str().unwrap()).unwrap()
    }

    fn rows(&self, name: &str) -> Rows {
        let store = Store::open(self.folder.path()).unwrap();
        store.rows(&self.id(name)).unwrap().unwrap().0
    }

    /// Takes a session back to where it stood so many seconds after its first message, as the server had stored it then: later
    /// rows are gone, and what ended later is open again.
    fn rewind(&self, name: &str, seconds: i64) -> Millis {
        let db = Connection::open(self.folder.path().join("opencode.db")).unwrap();
        let id = self.id(name);
        let first: i64 = db
            .query_row("SELECT min(time_created) FROM message WHERE session_id = ?1", [id.as_str()], |r| {
                r.get(0)
            })
            .unwrap();
        let now = first + seconds * 1_000;
        for sql in [
            "DELETE FROM part WHERE session_id = ?1 AND time_created > ?2",
            "DELETE FROM message WHERE session_id = ?1 AND time_created > ?2",
            "UPDATE part SET time_updated = json_extract(data, '$.state.time.start'), data = json_set(json_remove(data,
                 '$.state.time.end', '$.state.error', '$.state.output', '$.state.metadata'), '$.state.status', 'running')
             WHERE session_id = ?1 AND json_extract(data, '$.state.time.end') > ?2",
            "UPDATE part SET time_updated = time_created, data = json_set(json_remove(data, '$.time.end'), '$.text', '')
             WHERE session_id = ?1 AND json_extract(data, '$.time.end') > ?2",
            "UPDATE message SET time_updated = time_created,
                 data = json_remove(data, '$.time.completed', '$.finish', '$.error')
             WHERE session_id = ?1 AND json_extract(data, '$.time.completed') > ?2",
            "UPDATE message SET time_updated = time_created WHERE session_id = ?1 AND time_updated > ?2",
        ] {
            db.execute(sql, params![id.as_str(), now]).unwrap();
        }
        Millis(now)
    }

    fn evidence(&self, name: &str, server: State) -> Evidence {
        Evidence { session: self.id(name), rows: Ok(self.rows(name)), ..evidence(server, vec![]) }
    }
}

fn retry(attempt: u32) -> State {
    State::Retry { attempt, message: "fake 503: overloaded".into(), next: 0 }
}

fn names(evidence: &Evidence, now: Time) -> Vec<&'static str> {
    let limits = Detect::default();
    detect(&Judge { evidence, limits: &limits, since: None, now }).iter().map(|i| i.kind.as_str()).collect()
}

#[test]
fn what_is_left_of_every_scenario_is_judged_for_what_it_is() {
    let recording = Recording::new();
    let mut left: Vec<String> = recording.index.as_object().unwrap().keys().cloned().collect();
    for (name, expected) in [
        ("ok", &[][..]),
        ("badtool", &["MODEL_DEGRADATION"]),
        ("badjson", &["MODEL_DEGRADATION"]),
        ("multibad", &["MODEL_DEGRADATION"]),
        ("badargs", &[]),
        ("toolerr6", &["HIGH_ERROR_COUNT"]),
        ("toolerr4", &[]),
        ("bashfail6", &[]),
        ("rawtoken", &[]),
        ("err401", &["CREDENTIAL"]),
        ("authbad", &["CREDENTIAL"]),
        ("err500", &[]),
        ("err429", &["PROVIDER_PRESSURE"]),
        ("err429-ra", &["PROVIDER_PRESSURE"]),
        ("err503", &["PROVIDER_PRESSURE"]),
        ("err529", &["PROVIDER_PRESSURE"]),
        ("quota", &["PROVIDER_PRESSURE"]),
        ("stallretry", &["PROVIDER_PRESSURE"]),
        ("flaky429", &[]),
        ("sleeptool", &[]),
        // Each of its equal calls failed, too.
        ("loop", &["HIGH_ERROR_COUNT", "RUNAWAY"]),
        ("doom", &["HIGH_ERROR_COUNT", "RUNAWAY"]),
        ("drop", &["RUNAWAY"]),
        // It was cut off in the middle: the agent had just told itself to go on.
        ("ctxover", &["PROMPT_UNANSWERED", "RUNAWAY"]),
        ("question", &[]),
        ("perm", &[]),
        // Their server was killed, or is no longer there.
        ("hang", &["SESSION_ORPHANED"]),
        ("hang0", &["SESSION_ORPHANED"]),
        ("kill-sleeptool", &["SESSION_ORPHANED"]),
        ("kill-err503", &["SESSION_ORPHANED"]),
        // It was prompted to go on afterwards.
        ("kill-hang", &[]),
        ("slowstream", &[]),
        ("slowargs", &[]),
        ("chattybash", &[]),
        ("empty", &[]),
        ("lenfin", &[]),
        ("probe-slowstream", &[]),
        ("probe-hang", &[]),
        ("stall", &[]),
        ("stallq", &[]),
        ("stalltool", &[]),
        ("stallslow", &[]),
    ] {
        let evidence = recording.evidence(name, State::Absent);
        let active = evidence.rows().unwrap().active().unwrap();
        assert_eq!(names(&evidence, active.time().plus(3_600)), expected, "{name}");
        left.retain(|n| n != name);
        // Its server cannot be asked: whatever hangs on its word is not found.
        let asked = ["SESSION_ORPHANED", "PROMPT_UNANSWERED"];
        let mut rest: Vec<&str> = expected.iter().copied().filter(|kind| !asked.contains(kind)).collect();
        rest.push("NO_VERDICT");
        let evidence = Evidence { server: State::Unreachable { why: "refused".into() }, ..evidence };
        assert_eq!(names(&evidence, active.time().plus(3_600)), rest, "{name}, unreachable");
    }
    assert_eq!(left, Vec::<String>::new(), "scenarios without an expectation");
}

// The five real sessions of which the naive rule called four stalled.
#[test]
fn of_sessions_silent_for_66_s_the_hung_one_alone_is_stalled() {
    let recording = Recording::new();
    let silent = |name, server| {
        let now = recording.rewind(name, 69).time();
        (Evidence { stream: Stream::Silent, ..recording.evidence(name, server) }, now)
    };
    let quiet = |e: &Evidence, now: Time| now.since(e.rows().unwrap().active().unwrap().time());

    let (hung, now) = silent("stall", State::Busy);
    assert!((65..=67).contains(&quiet(&hung, now)), "{}", quiet(&hung, now));
    assert_eq!(names(&hung, now), ["SESSION_STALL"]);
    // Nobody listened: it might be a slow stream.
    let unheard = Evidence { stream: Stream::Unheard, ..hung.clone() };
    assert_eq!(names(&unheard, now), [""; 0]);
    assert_eq!(names(&unheard, now.plus(240)), ["SESSION_STALL"]);

    let (tool, now) = silent("stalltool", State::Busy);
    assert!(quiet(&tool, now) >= 65);
    assert_eq!(names(&tool, now), [""; 0]);

    let (mut question, now) = silent("stallq", State::Busy);
    let call = question.rows().unwrap().running().unwrap().1.call.clone();
    question.gates = Some(vec![Gate { session: question.session.clone(), call }]);
    assert!(quiet(&question, now) >= 65);
    assert_eq!(names(&question, now), [""; 0]);
    assert_eq!(names(&question, now.plus(300)), ["WAITING_HUMAN"]);

    let (mut slow, now) = silent("stallslow", State::Busy);
    slow.stream = Stream::Moves;
    assert!(quiet(&slow, now) >= 65);
    assert_eq!(names(&slow, now), [""; 0]);

    let (refused, now) = silent("stallretry", retry(5));
    assert!(quiet(&refused, now) >= 65);
    assert_eq!(names(&refused, now), ["PROVIDER_PRESSURE"]);
}

#[test]
fn a_session_that_hangs_before_its_first_byte_is_stalled_too() {
    let recording = Recording::new();
    for name in ["hang", "hang0"] {
        let evidence = Evidence { stream: Stream::Silent, ..recording.evidence(name, State::Busy) };
        let active = evidence.rows().unwrap().active().unwrap().time();
        assert_eq!(names(&evidence, active.plus(66)), ["SESSION_STALL"], "{name}");
        assert_eq!(names(&evidence, active.plus(58)), [""; 0], "{name}");
    }
}

#[test]
fn what_goes_round_in_circles_is_found_while_it_does() {
    let recording = Recording::new();
    for (name, seconds, expected) in [
        ("drop", 18, &["RUNAWAY"][..]),
        ("ctxover", 12, &["RUNAWAY"]),
        ("loop", 9, &["HIGH_ERROR_COUNT", "RUNAWAY"]),
        ("bashfail6", 5, &[]),
        ("chattybash", 60, &[]),
        ("slowargs", 60, &[]),
    ] {
        let now = recording.rewind(name, seconds).time();
        assert_eq!(names(&recording.evidence(name, State::Busy), now), expected, "{name}");
    }
}

#[test]
fn a_killed_server_is_told_from_a_slow_one() {
    let recording = Recording::new();
    let now = recording.rewind("kill-hang", 17).time();
    let killed = recording.evidence("kill-hang", State::Absent);
    assert_eq!(names(&killed, now), ["SESSION_ORPHANED"]);
    // Just now its row was written: its server may be about to answer.
    assert_eq!(names(&killed, now.plus(-10)), [""; 0]);
    // Another server may run it.
    let foreign = Evidence { is_owner: false, ..killed.clone() };
    assert_eq!(names(&foreign, now), [""; 0]);
    assert_eq!(names(&foreign, now.plus(300)), ["SESSION_ORPHANED"]);
    // It was not asked, or says something new.
    for (server, expected) in [
        (State::Unreachable { why: "refused".into() }, &["NO_VERDICT"][..]),
        (State::Other(crate::OtherState { word: "image_processing".into() }), &[]),
        (State::Busy, &["SESSION_STALL"]),
    ] {
        let evidence = Evidence { server, ..killed.clone() };
        assert_eq!(names(&evidence, now.plus(3_600)), expected);
    }
}

#[test]
fn what_is_optional_is_off_until_asked_for() {
    let recording = Recording::new();
    let limits = Detect { schema_errors: 1, raw_calls: true, bash_exit: true, ..Detect::default() };
    for (name, expected) in [
        ("badargs", "MODEL_DEGRADATION"),
        ("rawtoken", "MODEL_DEGRADATION"),
        ("bashfail6", "HIGH_ERROR_COUNT"),
    ] {
        let evidence = recording.evidence(name, State::Absent);
        let now = evidence.rows().unwrap().active().unwrap().time();
        let judge = Judge { evidence: &evidence, limits: &limits, since: None, now };
        let found: Vec<&str> = detect(&judge).iter().map(|i| i.kind.as_str()).collect();
        assert_eq!(found, [expected], "{name}");
    }
}

// What a server lists (`GET /session/{id}/message`) tells the same as its store, but for when rows last changed.
#[test]
fn what_a_server_lists_tells_the_same_as_its_store() {
    let recording = Recording::new();
    let db = Connection::open(recording.folder.path().join("opencode.db")).unwrap();
    for name in ["badtool", "toolerr6", "loop", "drop", "ctxover", "err429", "kill-sleeptool", "authbad"] {
        let id = recording.id(name);
        let all = |table: &str, key: &str, of: &str| -> Vec<Value> {
            let sql = format!("SELECT id, data FROM {table} WHERE {key} = ?1 ORDER BY time_created, id");
            let mut statement = db.prepare(&sql).unwrap();
            let rows = statement.query_map([of], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)));
            let with_id = |(id, data): (String, String)| {
                let mut value: Value = serde_json::from_str(&data).unwrap();
                value["id"] = id.into();
                value
            };
            rows.unwrap().map(|r| with_id(r.unwrap())).collect()
        };
        let listed: Vec<Value> = all("message", "session_id", id.as_str())
            .into_iter()
            .map(|info| {
                let parts = all("part", "message_id", info["id"].as_str().unwrap());
                serde_json::json!({"info": info, "parts": parts})
            })
            .collect();
        let rows = crate::opencode::rows::listed(&listed);
        let stored = recording.evidence(name, State::Absent);
        let now = stored.rows().unwrap().active().unwrap().time().plus(3_600);
        let listed = Evidence { rows: Ok(rows), ..stored.clone() };
        assert_eq!(names(&listed, now), names(&stored, now), "{name}");
    }
}

/// The store that a real opencode 1.1.65 left, written out as it was.
fn old_store() -> (tempfile::TempDir, Value) {
    let all = std::fs::read_to_string(fixture("files-1.1.65.json")).unwrap();
    let all: Value = serde_json::from_str(&all).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, file) in all["files"].as_object().unwrap() {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, file["text"].to_string()).unwrap();
        let written = std::time::Duration::from_millis(file["written"].as_u64().unwrap());
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + written).unwrap();
    }
    (folder, all["sessions"].clone())
}

#[test]
fn sessions_of_the_old_store_are_judged_alike() {
    let (folder, index) = old_store();
    let store = Store::open(folder.path()).unwrap();
    let silent = |name: &str, server| {
        let session = SessionId::parse(index[name].as_str().unwrap()).unwrap();
        let rows = store.rows(&session).unwrap().unwrap().0;
        Evidence { session, rows: Ok(rows), stream: Stream::Silent, ..evidence(server, vec![]) }
    };
    for (name, server, expected) in [
        ("badtool", State::Absent, &["MODEL_DEGRADATION"][..]),
        ("toolerr5", State::Absent, &["HIGH_ERROR_COUNT"]),
        ("hang", State::Busy, &["SESSION_STALL"]),
        ("hang", State::Absent, &["SESSION_ORPHANED"]),
        ("sleeptool", State::Busy, &[]),
        ("sleeptool", State::Absent, &["SESSION_ORPHANED"]),
    ] {
        let evidence = silent(name, server);
        let active = evidence.rows().unwrap().active().unwrap().time();
        assert_eq!(names(&evidence, active.plus(66)), expected, "{name}");
    }
}
