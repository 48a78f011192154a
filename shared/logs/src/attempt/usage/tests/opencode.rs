use rusqlite::Connection;

use super::*;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode").join(name)
}

/// The recorded store as a file of our own.
fn store(desk: &Desk) -> PathBuf {
    let path = desk.path("opencode.db");
    fs::copy(fixture("sessions.db"), &path).unwrap();
    path
}

fn session(name: &str) -> String {
    let all: Value = serde_json::from_str(&fs::read_to_string(fixture("sessions.json")).unwrap()).unwrap();
    all[name].as_str().unwrap().to_owned()
}

fn named(path: &Path, session: &str) -> PathBuf {
    PathBuf::from(format!("{}#{session}", path.display()))
}

#[test]
fn every_scenario_is_told() {
    let desk = Desk::new();
    let path = store(&desk);
    for (name, turns, calls, errors, identical, compactions, input) in [
        ("ok", 1, 0, 0, 0, 0, 100),
        ("badtool", 2, 1, 1, 1, 0, 200),
        ("badargs", 2, 1, 1, 1, 0, 200),
        ("multibad", 4, 3, 2, 1, 0, 400),
        ("toolerr6", 7, 6, 6, 1, 0, 700),
        ("bashfail6", 7, 6, 0, 1, 0, 700),
        ("loop", 24, 24, 24, 24, 0, 2_400),
        ("doom", 17, 17, 17, 17, 0, 1_700),
        ("ctxover", 12, 0, 0, 0, 6, 600),
        ("drop", 24, 0, 0, 0, 0, 0),
        ("err401", 0, 0, 0, 0, 0, 0),
        ("question", 0, 1, 0, 1, 0, 0),
        ("kill-hang", 1, 0, 0, 0, 0, 100),
    ] {
        let usage = of(&named(&path, &session(name)));
        let found =
            (usage.turns, usage.tool_calls, usage.tool_errors, usage.identical_calls, usage.compactions);
        let want = (Some(turns), Some(calls), Some(errors), Some(identical), Some(compactions));
        assert_eq!(found, want, "{name} {usage:?}");
        let tokens = usage.tokens.unwrap();
        assert_eq!((tokens.input, tokens.output, usage.is_least), (input, input / 10, false), "{name}");
        assert_eq!(usage.format.as_deref(), Some("opencode"));
        // The recorded provider has no prices.
        assert_eq!(usage.cost.is_some(), input == 0, "{name} {:?}", usage.unknown);
    }
    let looped = of(&named(&path, &session("loop")));
    assert_eq!(looped.rereads, [Reread { file: "/nonexistent/same.txt".into(), times: 24 }]);
    assert_eq!(looped.unknown, ["no price for loop"]);
    assert!(looped.source.unwrap().ends_with(&format!("opencode.db#{}", session("loop"))));
}

#[test]
fn an_attempts_own_part_of_a_store() {
    let desk = Desk::new();
    let path = store(&desk);
    let prices = Prices::default();
    let here = Path::new("/home/dev/oc/wt/t_9f31");
    let there = UsageAsk { workspace: Some(here), ..ask(Some(&path), &prices) };
    let by_folder = read(&there, &mut Cache::in_memory());
    let parent = of(&named(&path, "ses_e02d6f473ffeEK8420ux0OoOTZ"));
    assert_eq!(by_folder.turns, Some(1), "one of its two answers was aborted");
    assert_eq!(parent.turns, Some(1), "its child's answers are no turns of its own");
    assert_eq!(parent.tokens.unwrap().input, 100 + by_folder.tokens.unwrap().input);

    // A part of one session: the loop ran from 08:08:34 to 08:10:11.
    let looped = named(&path, &session("loop"));
    let early = within(&looped, "2026-11-21T08:08:30Z", Some("2026-11-21T08:08:40Z"));
    let late = within(&looped, "2026-11-21T08:08:44Z", None);
    assert_eq!(early.turns, Some(24), "120 s of slack");
    assert!((1..24).contains(&late.turns.unwrap()), "{late:?}");
    let none =
        |usage: Usage, why: &str| assert_eq!(usage, Usage::unknown(format!("{}: {why}", path.display())));
    let nobody = "no session in it worked in the task's folder during the attempt";
    none(read(&UsageAsk { from: Time(1_900_000_000), ..there }, &mut Cache::in_memory()), nobody);
    none(
        read(&UsageAsk { workspace: None, ..there }, &mut Cache::in_memory()),
        "it names no session, and the task has no folder",
    );
    let stranger = named(&path, "ses_nobody");
    assert_eq!(of(&stranger), Usage::unknown(format!("{}: it has no such session", stranger.display())));
}

#[test]
fn the_same_call_of_opencode_again_is_a_repetition_where_its_answer_is() {
    let desk = Desk::new();
    let path = store(&desk);
    let id = session("loop");
    let set =
        "UPDATE part SET data = json_set(data, '$.state.error', 'try ' || (rowid / 3)) WHERE session_id = ?1
        AND json_extract(data, '$.type') = 'tool'";
    Connection::open(&path).unwrap().execute(set, [&id]).unwrap();
    let usage = of(&named(&path, &id));
    assert_eq!((usage.tool_calls, usage.identical_calls), (Some(24), Some(1)));
    let none = set.replace(
        "json_set(data, '$.state.error', 'try ' || (rowid / 3))",
        "json_remove(data, '$.state.error')",
    );
    Connection::open(&path).unwrap().execute(&none, [&id]).unwrap();
    assert_eq!(of(&named(&path, &id)).identical_calls, Some(24), "no answer is told");
}

#[test]
fn looking_at_a_store_that_is_written_changes_nothing() {
    let desk = Desk::new();
    let path = store(&desk);
    let writer = Connection::open(&path).unwrap();
    let mode: String = writer.query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let id = session("ok");
    let price = "UPDATE message SET data = json_set(data, '$.cost', 0.25) WHERE session_id = ?1";
    writer.execute(price, [&id]).unwrap();
    let looped =
        "UPDATE message SET data = 'no json' WHERE id = (SELECT max(id) FROM message WHERE session_id = ?1)";
    writer.execute(looped, [session("loop")]).unwrap();
    let before = |end: &str| fs::read(format!("{}{end}", path.display())).unwrap();
    let (main, wal) = (before(""), before("-wal"));
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let usage = of(&named(&path, &id));
    assert_eq!(usage.cost, Some(Money(250_000_000)), "what stands in the WAL counts");
    let broken = of(&named(&path, &session("loop")));
    assert!(broken.is_least && says(&broken, "1 row of the store could not be read"), "{broken:?}");
    assert_eq!((before(""), before("-wal")), (main, wal));
}

#[test]
fn a_store_of_somebody_else_is_said_to_be_none() {
    let desk = Desk::new();
    let path = desk.path("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE session (id TEXT)").unwrap();
    assert_eq!(of(&path), Usage::unknown(format!("{}: no store of opencode", path.display())));
    // A view does not count as a table, whatever its name.
    let trick = "CREATE VIEW message AS WITH RECURSIVE n(session_id) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT session_id,
        1 AS time_created, 1 AS time_updated, 'x' AS data FROM n";
    Connection::open(&path).unwrap().execute_batch(trick).unwrap();
    assert_eq!(of(&path), Usage::unknown(format!("{}: no store of opencode", path.display())));
}
