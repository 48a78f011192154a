//! `board lend` of a board on a server: hosts with a board of Hermes each.

use std::path::PathBuf;
use std::process::Output;

use board::sqlite::SqliteBoard;
use rusqlite::Connection;

use crate::programs::{Machine, later, made, owner_after};
use crate::server::{PATIENCE, shared};

/// A board of Hermes' shape in the home of a machine, with the profile luna.
struct Hermes<'m> {
    machine: &'m Machine,
    db: PathBuf,
}

impl Hermes<'_> {
    fn on(machine: &Machine) -> Hermes<'_> {
        let root = machine.home().join(".hermes");
        std::fs::create_dir_all(root.join("profiles/luna")).unwrap();
        std::fs::write(root.join("profiles/luna/config.yaml"), "model: {provider: x, default: m1}\n")
            .unwrap();
        let db = root.join("kanban.db");
        SqliteBoard::create(&db, PATIENCE).unwrap();
        Connection::open(&db).unwrap().execute_batch("PRAGMA application_id = 0").unwrap();
        Hermes { machine, db }
    }

    fn lend(&self, url: &str, args: &[&str]) -> Output {
        let line = ["board", "lend", "--from", url, "--assignee", "luna", "--onto", "default"];
        self.machine.call(&[&line, args].concat())
    }

    fn lent(&self, url: &str, args: &[&str]) -> String {
        let done = self.lend(url, args);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// What `board` says of the local board.
    fn said(&self, args: &[&str]) -> String {
        let line = [&["board"], args].concat();
        let done = self.machine.command_on(self.db.to_str().unwrap(), &line).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn value(&self, sql: &str) -> String {
        let conn = Connection::open(&self.db).unwrap();
        conn.query_row(sql, [], |r| r.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
    }

    fn local(&self, task: &str) -> String {
        self.value(&format!("SELECT max(id) FROM tasks WHERE idempotency_key LIKE 'lent:{task}:%'"))
    }
}

#[test]
fn a_host_borrows_a_task_and_reports_how_it_ends() {
    let Some(server) = shared() else { return };
    let url = made(server, "lending");
    let (here, there) = (Machine::new("h1", &url), Machine::new("h2", &url));
    let hermes = Hermes::on(&here);
    let mut tasks = ["one", "two"].map(|title| here.said(&["board", "add", title, "--assignee", "luna"]));
    let mut client = owner_after(server, "SET search_path = lending");
    let mut value =
        |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, Option<String>>(0).unwrap_or_default();
    // The order of the queue. They may be of two seconds.
    tasks.sort_by_key(|id| {
        (value(&format!("SELECT created_at::text FROM tasks WHERE id = '{id}'")), id.clone())
    });
    let [done, asks] = &tasks;
    assert_eq!(
        hermes.lent(&url, &["-n"]),
        format!("{done} is lent to default (planned)\n{asks} is lent to default (planned)\n")
    );
    assert_eq!(value("SELECT count(*)::text FROM task_runs"), "0");
    assert_eq!(value("SELECT count(*)::text FROM hosts"), "0", "a dry run writes nothing");
    hermes.lent(&url, &[]);
    let (first, second) = (hermes.local(done), hermes.local(asks));
    let lock = value(&format!("SELECT claim_lock FROM tasks WHERE id = '{done}'"));
    assert!(lock.starts_with("h1:") && lock.split(':').count() == 3, "{lock}");
    // No watcher of any host has anything to do with it.
    for machine in [&here, &there] {
        assert_eq!(machine.said(&["heal"]), "");
    }
    assert!(here.said(&["board", "host", "list"]).contains("2 tasks"));
    assert_eq!(hermes.lent(&url, &["-v"]), "");
    later(server, "lending", 400);
    assert!(hermes.lent(&url, &["-v"]).contains(&format!("{done}: its claim is extended")));

    hermes.said(&["claim", &first, "--worker", "luna"]);
    hermes.said(&["complete", &first, "--result", "42", "--summary", "counted"]);
    hermes.said(&["block", &second, "--kind", "needs_input", "which licence?"]);
    let said = hermes.lent(&url, &[]);
    assert!(said.contains(&format!("{done} is done, by {first}")), "{said}");
    assert!(said.contains(&format!("{asks} is blocked ({second}): which licence?")), "{said}");
    assert_eq!(value(&format!("SELECT status || ' ' || result FROM tasks WHERE id = '{done}'")), "done 42");
    assert_eq!(value(&format!("SELECT summary FROM task_runs WHERE task_id = '{done}'")), "counted");
    assert_eq!(
        value(&format!("SELECT status || ' ' || block_kind FROM tasks WHERE id = '{asks}'")),
        "blocked needs_input"
    );
    assert_eq!(hermes.lent(&url, &["-v"]), "");
}

#[test]
fn hosts_borrow_each_task_once_and_what_a_lost_one_does_is_not_taken() {
    let Some(server) = shared() else { return };
    let url = made(server, "lending_hosts");
    let (gone, here) = (Machine::new("h1", &url), Machine::new("h2", &url));
    let (one, other) = (Hermes::on(&gone), Hermes::on(&here));
    for n in 0..6 {
        here.said(&["board", "add", &format!("task {n}"), "--assignee", "luna"]);
    }
    std::thread::scope(|s| {
        for hermes in [&one, &other] {
            let url = &url;
            s.spawn(move || hermes.lent(url, &["--most", "3"]));
        }
    });
    let count = "SELECT CAST(count(*) AS TEXT) FROM tasks";
    assert_eq!((one.value(count), other.value(count)), ("3".into(), "3".into()));
    let mut client = owner_after(server, "SET search_path = lending_hosts");
    let mut value = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, String>(0);
    assert_eq!(value("SELECT count(DISTINCT task_id) || ' of ' || count(*) FROM task_runs"), "6 of 6");

    // h1 is silent for hours: heal on h2 requeues its work, and h2 borrows that.
    here.said(&["heal"]);
    gone.said(&["heal"]);
    here.said(&["heal"]);
    later(server, "lending_hosts", 9_000);
    other.lent(&url, &["--most", "0"]);
    let healed = here.call(&["heal"]);
    assert!(String::from_utf8_lossy(&healed.stdout).contains("host h1"), "{healed:?}");
    other.lent(&url, &["--most", "6"]);
    assert_eq!(other.value(count), "6");
    let before = value("SELECT string_agg(id || status || claim_lock, ' ' ORDER BY id) FROM tasks");
    let running = one.value("SELECT min(id) FROM tasks");
    one.said(&["claim", &running, "--worker", "luna"]);
    let said = one.lent(&url, &[]);
    assert_eq!(said.matches(": the claim of t_").count(), 3, "{said}");
    assert_eq!(one.value("SELECT group_concat(DISTINCT status) FROM tasks"), "blocked");
    assert_eq!(one.lent(&url, &["-v"]), "");
    assert_eq!(value("SELECT string_agg(id || status || claim_lock, ' ' ORDER BY id) FROM tasks"), before);
}

#[test]
fn a_role_for_workers_borrows_nothing() {
    let Some(server) = shared() else { return };
    let url = made(server, "lending_roles");
    let owner = Machine::new("h0", &url);
    owner_after(server, "CREATE ROLE lyra LOGIN PASSWORD 'geheim'");
    owner.said(&["board", "grant", "--worker", "lyra"]);
    let worker = Machine::of_role(server, "lyra", "lending_roles");
    let hermes = Hermes::on(&worker);
    let task = owner.said(&["board", "add", "one", "--assignee", "luna"]);
    let done = hermes.lend(&server.url("lyra", "lending_roles"), &[]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), said.lines().count()), (Some(77), 1), "{said}");
    assert!(said.contains("the role lyra may not speak for a host"), "{said}");
    assert!(owner.said(&["board", "list"]).contains("ready") && hermes.local(&task).is_empty());
    owner.said(&["board", "grant", "--watcher", "lyra"]);
    hermes.lent(&server.url("lyra", "lending_roles"), &[]);
    assert!(owner.said(&["board", "list"]).contains("running"));
}
