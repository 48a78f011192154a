use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::*;

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode")
}

fn session(name: &str) -> SessionId {
    let all = fs::read_to_string(fixture().join("sessions.json")).unwrap();
    let all: Value = serde_json::from_str(&all).unwrap();
    SessionId::parse(all[name].as_str().unwrap()).unwrap()
}

/// A folder with a copy of the recorded store.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixture().join("sessions.db"), folder.path().join(DB)).unwrap();
    folder
}

fn rows(folder: &Path, name: &str) -> Rows {
    Store::open(folder).unwrap().rows(&session(name)).unwrap().unwrap().0
}

#[track_caller]
fn refused(at: &Path) -> Error {
    Store::open(at).err().expect("it was opened")
}

#[test]
fn what_is_no_store_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let said = refused(at);
    assert_eq!(said.kind, Kind::NoInput);
    let hint = "name opencode's data folder with --store";
    assert_eq!(said.to_string(), format!("{}: no store of opencode; {hint}", at.display()));
    assert_eq!(refused(&at.join("missing")).kind, Kind::NoInput);
    let db = at.join(DB);
    for (what, kind) in [("", Kind::Data), ("no database at all, and long enough", Kind::Data)] {
        fs::write(&db, what).unwrap();
        assert_eq!(refused(at).kind, kind, "{what:?}");
    }
    fs::remove_file(&db).unwrap();
    Connection::open(&db)
        .unwrap()
        .execute_batch("CREATE TABLE session (id); CREATE TABLE message (id)")
        .unwrap();
    assert_eq!(refused(at).to_string(), format!("{}: not a known store of opencode", db.display()));
    fs::remove_file(&db).unwrap();
    std::os::unix::fs::symlink("/dev/null", &db).unwrap();
    assert_eq!(refused(at).kind, Kind::Permission);
}

#[test]
fn a_store_that_somebody_holds_for_himself_is_busy() {
    let folder = recorded();
    let holder = Connection::open(folder.path().join(DB)).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM todo").unwrap();
    let said = refused(folder.path());
    assert_eq!(said.kind, Kind::Busy);
    assert!(said.to_string().ends_with("busy: another process is writing"), "{said}");
}

#[test]
fn a_session_is_there_or_not() {
    let folder = recorded();
    let store = Store::open(folder.path()).unwrap();
    assert!(store.rows(&SessionId::parse("ses_none").unwrap()).unwrap().is_none());
    let (rows, directory) = store.rows(&session("ok")).unwrap().unwrap();
    assert_eq!(directory.as_deref(), Some("/home/dev/oc/proj"));
    assert_eq!((rows.messages.len(), rows.broken), (2, 0));
    // The file itself may be named as well.
    let named = Store::open(&folder.path().join(DB)).unwrap();
    assert_eq!(named.rows(&session("ok")).unwrap().unwrap().0, rows);
}

#[test]
fn nothing_is_written() {
    let folder = recorded();
    let db = folder.path().join(DB);
    let before = fs::read(&db).unwrap();
    rows(folder.path(), "loop");
    assert_eq!(fs::read(&db).unwrap(), before);
}

#[test]
fn only_the_newest_of_a_long_session_is_read() {
    let folder = recorded();
    let db = Connection::open(folder.path().join(DB)).unwrap();
    let id = session("ok");
    for n in 0..300 {
        let (message, at) = (format!("msg_new{n:04}"), 1_795_300_000_000_i64 + n);
        let data = json!({"role": "assistant", "time": {"created": at, "completed": at}, "finish": "stop"});
        db.execute(
            "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
            params![message, id.as_str(), at, data.to_string()],
        )
        .unwrap();
    }
    let rows = rows(folder.path(), "ok");
    assert_eq!(rows.messages.len(), MAX_MESSAGES);
    assert_eq!(
        (rows.messages[0].id.as_str(), rows.newest().unwrap().id.as_str()),
        ("msg_new0200", "msg_new0299")
    );
    // Too many bytes are left out as well, the oldest first.
    let long = json!({"type": "text", "text": "x".repeat(900_000)}).to_string();
    for n in 275..300 {
        db.execute(
            "INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)",
            params![format!("prt_{n}"), format!("msg_new{n:04}"), id.as_str(), long],
        )
        .unwrap();
    }
    let rows = super::tests::rows(folder.path(), "ok");
    assert_eq!((rows.messages.len(), rows.newest().unwrap().id.as_str()), (18, "msg_new0299"));
}

#[test]
fn a_row_that_cannot_be_read_costs_itself_only() {
    let folder = recorded();
    let db = Connection::open(folder.path().join(DB)).unwrap();
    let id = session("toolerr6");
    for (n, data) in ["", "[]", "null", "{\"type\"", "7"].iter().enumerate() {
        db.execute(
            "UPDATE part SET data = ?3 WHERE id = (SELECT id FROM part WHERE session_id = ?1 ORDER BY id LIMIT 1 OFFSET ?2)",
            params![id.as_str(), n as i64, data],
        )
        .unwrap();
    }
    db.execute(
        "UPDATE message SET data = x'00ff' WHERE id = (SELECT min(id) FROM message WHERE session_id = ?1)",
        [id.as_str()],
    )
    .unwrap();
    let rows = rows(folder.path(), "toolerr6");
    assert_eq!((rows.broken, rows.messages.len()), (6, 7));
}

// The tables as 1.2.1 made them: `session` has fewer columns, and no index holds the order of messages.
#[test]
fn the_first_sqlite_store_is_read_the_same() {
    let folder = recorded();
    let now = rows(folder.path(), "loop");
    let db = Connection::open(folder.path().join(DB)).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF; DROP INDEX message_session_time_created_id_idx; DROP INDEX part_message_id_id_idx;
         CREATE TABLE s AS SELECT id, project_id, parent_id, slug, directory, title, version, time_created, time_updated
             FROM session;
         DROP TABLE session; ALTER TABLE s RENAME TO session",
    )
    .unwrap();
    drop(db);
    assert_eq!(rows(folder.path(), "loop"), now);
}

/// Writes a session of the recorded store as opencode 1.1 kept it: a file a row, with the ids in it.
fn as_files(from: &Path, to: &Path, name: &str) {
    let db = Connection::open(from.join(DB)).unwrap();
    let id = session(name);
    let mut all = Vec::new();
    for (table, owner) in [("message", "session_id"), ("part", "message_id")] {
        let sql = format!("SELECT id, {owner}, time_updated, data FROM {table} WHERE session_id = ?1");
        let mut statement = db.prepare(&sql).unwrap();
        let found = statement.query_map([id.as_str()], |r| {
            Ok((
                table,
                r.get::<_, String>(0)?,
                r.get::<_, String>(1)?,
                r.get::<_, i64>(2)?,
                r.get::<_, String>(3)?,
            ))
        });
        all.extend(found.unwrap().map(|r| r.unwrap()));
    }
    for (table, id, owner, updated, data) in all {
        let folder = to.join("storage").join(table).join(&owner);
        fs::create_dir_all(&folder).unwrap();
        let mut data: Value = serde_json::from_str(&data).unwrap();
        data["id"] = id.clone().into();
        let path = folder.join(format!("{id}.json"));
        fs::write(&path, data.to_string()).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(updated.unsigned_abs())).unwrap();
    }
}

#[test]
fn the_old_store_of_files_tells_the_same() {
    let (folder, old) = (recorded(), tempfile::tempdir().unwrap());
    for name in ["badtool", "toolerr6", "loop", "err429", "kill-sleeptool", "question"] {
        as_files(folder.path(), old.path(), name);
        let (now, then) = (rows(folder.path(), name), rows(old.path(), name));
        assert_eq!(then.broken, 0);
        let messages = |rows: &Rows| -> Vec<_> {
            rows.messages
                .iter()
                .map(|m| (m.id.clone(), m.created, m.updated, m.from.clone(), m.parts.len()))
                .collect()
        };
        assert_eq!(messages(&then), messages(&now), "{name}");
        let calls = |rows: &Rows| -> Vec<_> {
            rows.messages.iter().flat_map(Message::calls).map(|(_, call)| call.clone()).collect()
        };
        assert_eq!(calls(&then), calls(&now), "{name}");
    }
    let store = Store::open(old.path()).unwrap();
    assert!(store.rows(&session("ok")).unwrap().is_none());
    // Files that are not messages are passed over.
    let folder = old.path().join("storage/message").join(session("err429").as_str());
    fs::write(folder.join("notes.txt"), "x").unwrap();
    fs::write(folder.join("msg_0.json"), "torn").unwrap();
    let rows = store.rows(&session("err429")).unwrap().unwrap().0;
    assert_eq!((rows.messages.len(), rows.broken), (2, 1));
}

#[test]
fn its_home_is_where_opencode_puts_it() {
    let path = |s: &'static str| Some(OsStr::new(s));
    for (data, home, expected) in [
        (path("/d"), path("/h"), Some("/d/opencode")),
        (None, path("/h"), Some("/h/.local/share/opencode")),
        (path("relative"), path("/h"), Some("/h/.local/share/opencode")),
        (path(""), None, None),
        (None, None, None),
    ] {
        assert_eq!(super::home(data, home), expected.map(PathBuf::from));
    }
}

#[test]
fn an_answer_tells_calls_apart() {
    let folder = recorded();
    let prints = || {
        let rows = rows(folder.path(), "loop");
        let calls = rows.messages.iter().flat_map(|m| m.calls().map(|(_, call)| (call.mark, call.print)));
        calls.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(prints().len(), 1);
    let set = "UPDATE part SET data = json_set(data, '$.state.output', 'try ' || rowid) WHERE json_extract(data, '$.type') = 'tool'";
    Connection::open(folder.path().join(DB)).unwrap().execute(set, []).unwrap();
    assert_eq!(prints().len(), 24);
}
