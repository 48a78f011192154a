//! pgbouncer in transaction mode between clients and their server: each transaction of a client may be one of another connection.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::OnceLock;
use std::time::Duration;

use postgres::{Client, NoTls, SimpleQueryMessage};
use rustix::process::{Pid, Signal, kill_process};
use testkit::histories::check;

use crate::clients::{CLIENTS, Way, at_work, fill, is_sound, last_looks};
use crate::full::dead_workers;
use crate::programs::{Machine, owner_after};
use crate::server::{Place, Server, kept, shared, started, wait_for};

/// How many connections to the server all clients share: far fewer than there are clients.
const SHARED: usize = 3;

/// How many clients it lets in.
const CLIENTS_AT_MOST: usize = 200;

/// pgbouncer in front of a server, on a port of this machine.
pub struct Pool<'s> {
    server: &'s Server,
    port: u16,
    folder: PathBuf,
    keeper: Child,
    stdin: Option<ChildStdin>,
}

/// The program, or `None` where the tests are told to do without.
fn program() -> Option<PathBuf> {
    if std::env::var_os("WATCHBILL_PGBOUNCER").is_some_and(|said| said == "skip") {
        println!("skipped: WATCHBILL_PGBOUNCER=skip");
        return None;
    }
    // Debian keeps it where only root looks for programs.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists());
    Some(found.expect(
        "pgbouncer is not installed (Debian: pgbouncer); WATCHBILL_PGBOUNCER=skip leaves its tests out",
    ))
}

/// The pool in front of the server of all tests; it ends with this process.
pub fn pool() -> Option<&'static Pool<'static>> {
    static POOL: OnceLock<Option<Pool<'static>>> = OnceLock::new();
    POOL.get_or_init(|| Pool::before(shared()?)).as_ref()
}

impl Pool<'_> {
    fn before(server: &Server) -> Option<Pool<'_>> {
        Pool::of(server, SHARED, CLIENTS_AT_MOST)
    }

    /// A pool of so many connections to the server, which lets in so many clients.
    pub fn of(server: &Server, shared: usize, clients: usize) -> Option<Pool<'_>> {
        let program = program()?.display().to_string();
        let mut said = String::new();
        // Another process may take the port before the pool does.
        for _ in 0..5 {
            let pool = Pool::start(server, &program, (shared, clients));
            if (0..100).any(|_| pool.answers()) {
                return Some(pool);
            }
            said = std::fs::read_to_string(pool.folder.join("log")).unwrap_or_default();
        }
        panic!("no pool listens: {said}");
    }

    fn start<'s>(server: &'s Server, program: &str, (shared, clients): (usize, usize)) -> Pool<'s> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::Builder::new().prefix("watchbill-pool-").tempdir().unwrap().keep();
        // It refuses to run as root.
        let owner = std::fs::metadata(&server.folder).unwrap();
        chown(&folder, Some(owner.uid()), Some(owner.gid())).unwrap();
        let (settings, users) = (folder.join("pgbouncer.ini"), folder.join("users"));
        std::fs::write(&users, "\"watchbill\" \"\"\n").unwrap();
        let said = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\nadmin_users = watchbill\n\
             default_pool_size = {shared}\nmax_client_conn = {clients}\nserver_login_retry = 1\n",
            server.folder.display(),
            server.port(),
            users.display(),
        );
        std::fs::write(&settings, said).unwrap();
        let mut line = server.as_user.clone();
        line.extend([program.to_owned(), settings.display().to_string()]);
        // At once, also where a transaction is open.
        let (keeper, stdin, _) = kept(&folder, "TERM", &line);
        Pool { server, port, folder, keeper, stdin: Some(stdin) }
    }

    fn answers(&self) -> bool {
        let is_there = Client::connect(&self.plain(), NoTls).is_ok();
        if !is_there {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_there
    }

    /// How a client that is not ours connects.
    fn plain(&self) -> String {
        format!("host=127.0.0.1 port={} user=watchbill dbname=postgres", self.port)
    }

    /// The address of a board behind it.
    pub fn url(&self, board: &str) -> String {
        format!("postgres://watchbill@127.0.0.1:{}/postgres?board={board}", self.port)
    }

    /// A new board behind it.
    pub fn board(&self) -> Place<'_> {
        let place = self.server.board();
        Place { url: self.url(&place.name), ..place }
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
    }
}

impl Pool<'_> {
    /// How long the client waits, in milliseconds, that waits longest now for one of its connections.
    pub fn longest_wait(&self) -> f64 {
        let console = format!("host=127.0.0.1 port={} user=watchbill dbname=pgbouncer", self.port);
        let Ok(told) = Client::connect(&console, NoTls).and_then(|mut c| c.simple_query("SHOW POOLS")) else {
            return 0.0;
        };
        let wait = |message: &SimpleQueryMessage| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            let number = |name| row.get(name).and_then(|n| n.parse::<f64>().ok());
            let is_of_boards = row.get("database") == Some("postgres");
            is_of_boards.then(|| Some(number("maxwait")? * 1e3 + number("maxwait_us")? / 1e3)).flatten()
        };
        told.iter().filter_map(wait).fold(0.0, f64::max)
    }
}

/// Connections of clients to the pool, and of the pool to the board's server.
fn connections(pool: &Pool<'_>) -> (usize, usize) {
    let console = format!("host=127.0.0.1 port={} user=watchbill dbname=pgbouncer", pool.port);
    let mut console = Client::connect(&console, NoTls).unwrap();
    let mut all = |what: &str| {
        let told = console.simple_query(what).unwrap();
        let of_boards = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get("database") == Some("postgres"),
            _ => false,
        };
        told.iter().filter(|message| of_boards(message)).count()
    };
    (all("SHOW CLIENTS"), all("SHOW SERVERS"))
}

#[test]
fn clients_that_share_few_connections_are_told_what_one_board_can_have_told() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let Some(pool) = Pool::before(&server) else { return };
    let place = pool.board();
    let mut hand = place.hand();
    fill(&mut hand, 120);
    let way = Way { beats: 1, every: Duration::ZERO };
    let mut calls = at_work(&place.url, way, |heard| {
        heard.wait(400);
        let (clients, servers) = connections(&pool);
        assert!(
            clients >= CLIENTS && (1..=SHARED).contains(&servers),
            "{clients} clients, {servers} servers"
        );
        heard.wait(400);
    });
    let looks = last_looks(&mut place.open(), &calls);
    calls.extend(looks);
    let tasks = check(&calls).unwrap();
    is_sound(&mut hand);
    println!("{CLIENTS} clients over {SHARED} connections: {} calls on {tasks} tasks", calls.len());
}

#[test]
fn hosts_behind_a_pool_do_each_task_once() {
    let Some(pool) = pool() else { return };
    let place = pool.board();
    let hosts = ["h1", "h2", "h3", "h4"].map(|name| Machine::new(name, &place.url));
    for n in 0..24 {
        hosts[0].said(&["board", "add", &format!("report {n}"), "--assignee", "luna"]);
    }
    std::thread::scope(|scope| {
        for host in hosts.iter().flat_map(|host| [host, host]) {
            scope.spawn(move || {
                loop {
                    let done = host.command(&["board", "run", "--assignee", "luna", "--", "true"]).output();
                    let done = done.unwrap();
                    let said = String::from_utf8_lossy(&done.stderr).into_owned();
                    match done.status.code() {
                        Some(0) if !done.stdout.is_empty() => {}
                        // Nothing is left.
                        Some(0) => break,
                        code => panic!("{code:?}: {said}"),
                    }
                }
            });
        }
        scope.spawn(|| {
            for host in &hosts {
                host.said(&["heal"]);
            }
        });
    });
    let mut hand = place.hand();
    let sql = "SELECT count(*) FILTER (WHERE status = 'done'), count(*), (SELECT count(*) FROM task_runs) FROM tasks";
    let row = hand.query_one(sql, &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (24, 24, 24));
    is_sound(&mut hand);
}

#[test]
fn an_owner_and_a_watcher_reach_their_board_through_a_pool() {
    let Some(pool) = pool() else { return };
    let url = pool.url("pooled");
    let here = Machine::new("h1", &url);
    here.said(&["board", "init", &url]);
    here.said(&["board", "upgrade"]);
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    // Workers that are gone, and the pass that requeues their tasks.
    dead_workers(&mut owner_after(pool.server, "SET search_path = pooled"), "h1", 3);
    here.said(&["heal"]);
    let list = here.said(&["board", "list"]);
    assert_eq!((list.matches("ready").count(), list.contains(&task)), (4, true), "{list}");
    here.said(&["watchbill", "pause", "--for", "1h", "--reason", "the server moves"]);
    assert_eq!(here.call(&["heal"]).status.code(), Some(75));
    here.said(&["watchbill", "unpause"]);
    here.said(&["board", "prune", "--older-than", "90d"]);
    let file = here.home().join("copy.db");
    here.said(&["board", "copy", &url, file.to_str().unwrap()]);
    assert!(file.exists());
}

#[test]
fn a_pool_whose_server_is_away_ends_a_pass_with_75() {
    let Some(server) = started(&["fsync=off", "max_connections=20"]) else { return };
    let Some(pool) = Pool::before(&server) else { return };
    let place = pool.board();
    let here = Machine::new("h1", &place.url);
    here.said(&["heal"]);
    kill_process(Pid::from_raw(server.pid).unwrap(), Signal::QUIT).unwrap();
    wait_for("the end of the server", || Client::connect(&server.plain(), NoTls).is_err());
    for line in [&["heal"][..], &["board", "list"]] {
        let done = here.call(line);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.lines().count()), (Some(75), 1), "{line:?}: {said}");
    }
}
