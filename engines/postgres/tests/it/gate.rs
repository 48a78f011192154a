//! Who gets in, and what one is told who does not.

use std::time::Duration;

use base::error::Kind;
use board::{Board, Mode, Outcome, Status, hermes};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::races::{NOW, add, look, step, trail};
use crate::server::{PATIENCE, passwords, shared};

const SHORT: Duration = Duration::from_millis(300);

fn open(url: &str, secrets: &Secrets) -> base::error::Result<PostgresBoard> {
    PostgresBoard::open(url, Mode::Change, SHORT, secrets)
}

#[test]
fn a_board_is_made_once_whoever_makes_it_at_the_same_time() {
    let Some(server) = shared() else { return };
    let url = server.url("watchbill", "once");
    let made: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| PostgresBoard::create(&url, PATIENCE, &Secrets::default())))
            .collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let refused: Vec<_> = made.iter().filter_map(|m| m.as_ref().err()).collect();
    assert_eq!(refused.len(), 5, "{made:?}");
    for error in refused {
        assert_eq!((error.kind, error.what.as_str()), (Kind::Partial, "already exists; nothing was changed"));
    }
    let board = open(&url, &Secrets::default()).unwrap();
    assert!(board.is_own());
    assert_eq!(board.id().at.to_string(), url);
}

#[test]
fn what_is_not_there_is_told_in_one_line() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let none = Secrets::default();
    let nowhere = format!("postgres://watchbill@%2Fnowhere%2Fat%2Fall/postgres?board={}", place.name);
    let database = place.url.replace("/postgres?", "/other?");
    let foreign = server.url("watchbill", "foreign");
    server
        .board()
        .hand()
        .batch_execute("CREATE SCHEMA foreign_; CREATE TABLE foreign_.meta (a int)")
        .unwrap();
    for (url, kind, word) in [
        (server.url("watchbill", "nothing_here"), Kind::NoInput, "no board there"),
        (
            database,
            Kind::NoInput,
            "does not exist; correct the address, or restore the database from its dump; for a new board: createdb -h ",
        ),
        (nowhere, Kind::Busy, "does not answer"),
        (foreign.replace("=foreign", "=foreign_"), Kind::Data, "column"),
    ] {
        let Err(error) = open(&url, &none) else { panic!("{url}") };
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(word) && !error.to_string().contains('\n'), "{error}");
    }
    // Something else lies in that schema: no board is made in it.
    let error = PostgresBoard::create(&server.url("watchbill", "foreign_"), SHORT, &none).unwrap_err();
    assert_eq!(error.kind, Kind::Partial, "{error}");
}

#[test]
fn a_board_is_neither_made_nor_opened_where_texts_are_bytes() {
    let Some(server) = shared() else { return };
    let none = Secrets::default();
    let mut hand = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    let mut new = |name: &str, encoding: &str| {
        let made = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        hand.batch_execute(&made).unwrap();
        server.url("watchbill", "watchbill").replace("/postgres?", &format!("/{name}?"))
    };
    let (plain, restored) = (new("plain", "SQL_ASCII"), new("restored", "UTF8"));
    // Who restores a dump may do so into a database of any encoding.
    PostgresBoard::create(&restored, PATIENCE, &none).unwrap();
    let of_bytes = "UPDATE pg_database SET encoding = 0 WHERE datname = 'restored'";
    hand.batch_execute(of_bytes).unwrap();
    for (done, name) in [
        (PostgresBoard::create(&plain, PATIENCE, &none), "plain"),
        (open(&plain, &none).map(drop), "plain"),
        (open(&restored, &none).map(drop), "restored"),
    ] {
        let error = done.unwrap_err();
        let what = "the database has the encoding SQL_ASCII; a board needs UTF8";
        assert_eq!((error.kind, error.what.as_str()), (Kind::Config, what), "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains(": createdb -h /") && hint.ends_with(&format!(" {name}")), "{hint}");
    }
}

#[test]
fn a_board_of_a_newer_program_is_looked_at_and_not_written() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    place.hand().batch_execute("UPDATE meta SET version = 99, min_writer = 99").unwrap();
    let mut board = place.open();
    assert_eq!(look(&mut board, "t_000000a1").task.status, Status::Ready);
    assert_eq!(board.writable().unwrap_err().kind, Kind::Data);
    let said = step("t_000000a1", None, hermes::commented("rosa", "hello"));
    assert_eq!(board.apply(NOW, &[said], SHORT).unwrap_err().kind, Kind::Data);
    place.hand().batch_execute("UPDATE meta SET min_reader = 99").unwrap();
    let Err(error) = open(&place.url, &Secrets::default()) else { panic!("opened") };
    assert_eq!(error.kind, Kind::Data);
    assert!(error.to_string().contains("upgrade Watchbill on this host first"), "{error}");
}

#[test]
fn a_worker_gets_in_with_its_password_and_may_do_its_work_and_no_more() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let none = Secrets::default();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &none).unwrap();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &none).unwrap();
    let name = &place.name;
    let login = format!("CREATE ROLE luna_{name} LOGIN PASSWORD 'ge:heim' IN ROLE {name}_work");
    place.hand().batch_execute(&login).unwrap();
    let url = server.url(&format!("luna_{name}"), name);

    // Without a password, with a wrong one, and from a file that others may read.
    let line = format!("localhost:5432:postgres:luna_{name}:PASSWORD");
    let Err(error) = open(&url, &none) else { panic!("opened") };
    let said = format!(
        "the server asks for the password of luna_{name}, and no file has it; \
         add this line to ~/.pgpass (mode 0600): {line}"
    );
    assert_eq!((error.kind, error.to_string().ends_with(&said)), (Kind::Permission, true), "{error}");
    let wrong = passwords("*:*:*:*:falsch", 0o600);
    let Err(error) = open(&url, &Secrets { file: Some(wrong.path().into()) }) else { panic!("opened") };
    let said = format!(
        "the server refuses the password for role luna_{name} in {}; correct the line for it there: {line}",
        wrong.path().display()
    );
    assert_eq!((error.kind, error.to_string().ends_with(&said)), (Kind::Permission, true), "{error}");
    assert!(!error.to_string().contains("falsch"), "{error}");
    let line = format!("localhost:*:*:luna_{name}:ge\\:heim");
    let loose = passwords(&line, 0o640);
    let Err(error) = open(&url, &Secrets { file: Some(loose.path().into()) }) else { panic!("opened") };
    assert_eq!((error.kind, error.hint.is_some()), (Kind::Permission, true), "{error}");

    let kept = passwords(&line, 0o600);
    let mut board = open(&url, &Secrets { file: Some(kept.path().into()) }).unwrap();
    board.writable().unwrap();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    add(&mut board, "t_000000b2", Status::Todo, &["t_000000a1"]);
    let seen = look(&mut board, "t_000000a1");
    let claim = hermes::claimed(&seen, "h1:7", NOW.plus(900), Some(7), None, &trail());
    let outcomes = board.apply(NOW, &[step("t_000000a1", Some(&seen), claim)], PATIENCE).unwrap();
    assert!(matches!(outcomes[0], Outcome::Applied { run: Some(_) }), "{outcomes:?}");
    let seen = look(&mut board, "t_000000a1");
    let done = hermes::completed(&seen, None, Some("read"), &trail());
    let outcomes = board.apply(NOW, &[step("t_000000a1", Some(&seen), done)], PATIENCE).unwrap();
    assert_eq!(outcomes[0].word(), "applied");
    assert_eq!(look(&mut board, "t_000000b2").task.status, Status::Ready);

    let mut hand = place.hand();
    let mut may_not = |role: &str, sql: &str| {
        hand.batch_execute(&format!("SET ROLE {name}_{role}")).unwrap();
        let error = hand.batch_execute(sql).expect_err(sql);
        assert_eq!(error.code().unwrap().code(), "42501", "{role}: {sql}: {error}");
        hand.batch_execute("RESET ROLE").unwrap();
    };
    for sql in [
        "DELETE FROM task_events",
        "UPDATE task_events SET payload = ''",
        "DELETE FROM task_runs",
        "DELETE FROM tasks",
        "UPDATE task_comments SET body = ''",
        "TRUNCATE task_events",
        "DROP TABLE tasks",
        "ALTER TABLE tasks DISABLE TRIGGER said",
        "UPDATE meta SET min_writer = 0",
        "CREATE TABLE more (a int)",
    ] {
        may_not("work", sql);
        may_not("watch", sql);
    }
    may_not("work", "INSERT INTO hosts VALUES ('h2', 'b', 'heal', 1, 1, 1)");
    may_not("work", "DELETE FROM writes");
    may_not("work", "UPDATE writes SET id = gen_random_uuid()");
    may_not("work", "UPDATE meta SET paused_why = 'x'");
}

#[test]
fn who_may_not_is_told_which_role_that_is_and_what_its_owner_calls() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let none = Secrets::default();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &none).unwrap();
    let name = &place.name;
    let mut hand = place.hand();
    for (role, more) in [
        ("stranger", ""),
        ("reader", "GRANT USAGE ON SCHEMA {} TO reader_{}; GRANT SELECT ON {}.meta TO reader_{}"),
        ("worker", "GRANT {}_work TO worker_{}"),
        // Who makes a board, and may make no role.
        ("maker", "GRANT CREATE ON DATABASE postgres TO maker_{}"),
        ("nologin", "ALTER ROLE nologin_{} NOLOGIN"),
    ] {
        hand.batch_execute(&format!("CREATE ROLE {role}_{name} LOGIN PASSWORD 'geheim'")).unwrap();
        hand.batch_execute(&more.replace("{}", name)).unwrap();
    }
    let kept = passwords("*:*:*:*:geheim", 0o600);
    let secrets = Secrets { file: Some(kept.path().into()) };
    let url = |role: &str| server.url(&format!("{role}_{name}"), name);
    let of_owner = place.url.replace("watchbill@", "");
    let grant = |role: &str| format!(": board grant --db '{of_owner}' --worker {role}_{name}");
    let own = server.url(&format!("maker_{name}"), &format!("own_{name}"));
    PostgresBoard::create(&own, SHORT, &secrets).unwrap();
    let glanced =
        |url: &str| open(url, &secrets).and_then(|mut board| board.glance(&[Status::Ready]).map(drop));
    let granted = |url: &str| PostgresBoard::grant(url, &["nobody".into()], &[], SHORT, &secrets);
    let let_in =
        |url: &str, role: &str| PostgresBoard::grant(url, &[format!("{role}_{name}")], &[], SHORT, &secrets);
    for (done, kind, what, hint) in [
        (
            glanced(&url("stranger")),
            Kind::NoInput,
            format!("the role stranger_{name} may see"),
            grant("stranger"),
        ),
        (glanced(&url("reader")), Kind::Permission, "permission denied for table".into(), grant("reader")),
        (
            glanced(&url("nologin")),
            Kind::Permission,
            "is not permitted to log in".into(),
            "pg_hba.conf of the server says who gets in".into(),
        ),
        (
            PostgresBoard::create(&url("stranger").replace(&format!("={name}"), "=more"), SHORT, &secrets),
            Kind::Permission,
            format!("the role stranger_{name} may not make a board in this database"),
            format!(": GRANT CREATE ON DATABASE postgres TO stranger_{name}"),
        ),
        (
            let_in(&url("worker"), "reader"),
            Kind::Permission,
            "only the owner of this board lets roles in".into(),
            "log in as that: postgres://watchbill@...".into(),
        ),
        (
            let_in(&own, "reader"),
            Kind::Permission,
            "permission denied to create role".into(),
            format!(": ALTER ROLE maker_{name} CREATEROLE"),
        ),
        (
            granted(&place.url),
            Kind::Partial,
            "no such role on this server".into(),
            "CREATE ROLE nobody LOGIN".into(),
        ),
    ] {
        let error = done.expect_err(&what);
        let text = error.to_string();
        assert_eq!(error.kind, kind, "{text}");
        assert!(text.contains(&what) && text.ends_with(&hint) && !text.contains('\n'), "{text}");
    }
    // What is advised mends it.
    let_in(&place.url, "reader").unwrap();
    glanced(&url("reader")).unwrap();
    hand.batch_execute(&format!("ALTER ROLE maker_{name} CREATEROLE")).unwrap();
    let_in(&own, "reader").unwrap();
}
