//! A PostgreSQL of its own: a folder of its own, a Unix socket in it, no network unless it is asked to listen on this machine. It ends with the process that started it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use board::Mode;
use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, kill_process};
use watchbill_postgres::{PostgresBoard, Secrets};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// Ends the server by its pid as soon as nobody holds the other end of its standard input, however that one ended, and takes the folder away.
/// A signal to all processes of a terminal is not for it.
const KEEPER: &str = r#"trap '' INT TERM HUP; folder=$1; signal=$2; shift 2; "$@" >>"$folder/log" 2>&1 & pid=$!; echo $pid
read -r _; kill -$signal $pid 2>/dev/null; wait $pid; [ -e "$folder/keep" ] || rm -rf "$folder""#;

/// The folder of PostgreSQL's programs, or `None` where the tests are told to do without.
fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("WATCHBILL_POSTGRES").map(PathBuf::from);
    if named.as_deref() == Some(Path::new("skip")) {
        return None;
    }
    let mut all: Vec<PathBuf> = named.into_iter().collect();
    // Debian keeps them out of PATH, one folder for each major version.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|v| Some((v.file_name().to_str()?.parse().ok()?, v.path().join("bin"))))
        .collect();
    found.sort();
    all.extend(found.into_iter().rev().map(|(_, path)| path));
    all.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect::<Vec<_>>());
    let found =
        all.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    let missing =
        "PostgreSQL is not installed; WATCHBILL_POSTGRES names the folder of its programs, or `skip`";
    Some(found.expect(missing))
}

/// A running server.
pub struct Server {
    pub folder: PathBuf,
    keeper: Child,
    stdin: Option<ChildStdin>,
    pub pid: i32,
    /// The command that starts programs as its user.
    pub as_user: Vec<String>,
    programs: PathBuf,
    settings: Vec<String>,
}

impl Server {
    /// A new server; `None` where the tests do without.
    pub fn start(settings: &[&str]) -> Option<Server> {
        Server::start_in(&[], settings)
    }

    /// A new server whose programs are started by this command.
    pub fn start_in(within: &[String], settings: &[&str]) -> Option<Server> {
        let Some(programs) = programs() else {
            println!("skipped: WATCHBILL_POSTGRES=skip");
            return None;
        };
        let made_in = tempfile::Builder::new().prefix("watchbill-pg-").tempdir().unwrap();
        let folder = made_in.path().to_owned();
        let mut as_user = within.to_vec();
        if rustix::process::geteuid().is_root() {
            // PostgreSQL refuses to run as root.
            let user = ["postgres", "nobody"].into_iter().find_map(ids).expect("no user to run it as");
            chown(&folder, Some(user.0), Some(user.1)).unwrap();
            as_user.extend(["setpriv".into(), format!("--reuid={}", user.0), format!("--regid={}", user.1)]);
            as_user.extend(["--clear-groups".into(), "--".into()]);
        }
        let data = folder.join("data");
        let mut init: Vec<String> = as_user.clone();
        init.push(programs.join("initdb").display().to_string());
        let flags = [
            "-U",
            "watchbill",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
            "-D",
        ];
        init.extend(flags.map(str::to_owned));
        init.push(data.display().to_string());
        let made = Command::new(&init[0]).args(&init[1..]).current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // Who is not the owner has to know a password.
        let who =
            "local all watchbill trust\nlocal replication watchbill trust\nlocal all all scram-sha-256\n";
        std::fs::write(data.join("pg_hba.conf"), who).unwrap();
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        // From here on it is the keeper's to take away.
        _ = made_in.keep();
        let (keeper, stdin, pid) = run(&as_user, &programs, &folder, &settings);
        Some(Server { folder, keeper, stdin: Some(stdin), pid, as_user, programs, settings })
    }

    /// `kill -9` of the server, and a new one over what it left.
    pub fn is_killed(&mut self) {
        std::fs::write(self.folder.join("keep"), "").unwrap();
        kill_process(Pid::from_raw(self.pid).unwrap(), Signal::KILL).unwrap();
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
        // Its children hold the shared memory for a moment: until they are gone a new one does not start.
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let (mut keeper, stdin, pid) = run(&self.as_user, &self.programs, &self.folder, &self.settings);
            if self.answers() {
                (self.keeper, self.stdin, self.pid) = (keeper, Some(stdin), pid);
                break;
            }
            drop(stdin);
            keeper.wait().unwrap();
            assert!(Instant::now() < until, "{}", self.log());
        }
        std::fs::remove_file(self.folder.join("keep")).unwrap();
    }

    /// Stops every process of the server where it stands: a client waits for an answer and is not refused.
    pub fn freeze(&self) -> Frozen {
        let frozen = Frozen(self.processes());
        frozen.0.send(Signal::STOP);
        frozen
    }

    fn processes(&self) -> Processes {
        let mut all = vec![self.pid];
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent =
                stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<i32>().ok());
            if parent == Some(self.pid) {
                all.extend(entry.file_name().to_str().and_then(|pid| pid.parse::<i32>().ok()));
            }
        }
        Processes(all)
    }

    /// Ends every process of the server at once, as a power cut of its machine does. It does not come back.
    pub fn dies(&mut self) {
        self.processes().send(Signal::KILL);
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
    }

    /// A server over a copy of this one's folder, as a backup of its machine would be.
    pub fn copied(&self) -> Server {
        self.another(|folder| {
            let frozen = self.freeze();
            let copy =
                Command::new("cp").arg("-a").arg(self.folder.join("data")).arg(folder).status().unwrap();
            drop(frozen);
            assert!(copy.success());
            std::fs::remove_file(folder.join("data/postmaster.pid")).unwrap();
        })
    }

    /// A replica, to which this server streams what it writes.
    pub fn replica(&self) -> Server {
        let replica = self.another(|folder| {
            let (here, port) = (self.folder.display().to_string(), self.port().to_string());
            let flags = ["-h", &here, "-p", &port, "-U", "watchbill", "-R", "--checkpoint=fast", "-D"];
            let made = self.program("pg_basebackup").args(flags).arg(folder.join("data")).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        });
        let mut hand = Client::connect(&self.plain(), NoTls).unwrap();
        let streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        wait_for("a replica that streams", || hand.query_one(streams, &[]).unwrap().get::<_, i64>(0) > 0);
        replica
    }

    /// From now on acknowledges only what a replica has as well.
    pub fn is_synchronous(&self) {
        let mut hand = Client::connect(&self.plain(), NoTls).unwrap();
        hand.batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
        hand.batch_execute("SELECT pg_reload_conf()").unwrap();
        let there = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait_for("a synchronous replica", || hand.query_one(there, &[]).unwrap().get::<_, i64>(0) > 0);
    }

    /// From now on this replica hears nothing more of its server.
    pub fn is_cut_off(&self) {
        let mut hand = Client::connect(&self.plain(), NoTls).unwrap();
        hand.batch_execute("ALTER SYSTEM SET primary_conninfo = ''").unwrap();
        hand.batch_execute("SELECT pg_reload_conf()").unwrap();
        let hears = "SELECT count(*) FROM pg_stat_wal_receiver";
        wait_for("the end of the stream", || hand.query_one(hears, &[]).unwrap().get::<_, i64>(0) == 0);
    }

    /// This replica takes over.
    pub fn is_promoted(&self) {
        let done =
            self.program("pg_ctl").arg("promote").arg("-w").arg("-D").arg(self.folder.join("data")).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// One of PostgreSQL's programs, as the user of the server.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name).display().to_string();
        let line: Vec<&String> = self.as_user.iter().chain([&path]).collect();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).current_dir("/");
        command
    }

    /// A server like this one in a folder of its own, whose data this makes.
    fn another(&self, makes: impl FnOnce(&Path)) -> Server {
        let made_in = tempfile::Builder::new().prefix("watchbill-pg-").tempdir().unwrap();
        let folder = made_in.path().to_owned();
        let owner = std::fs::metadata(&self.folder).unwrap();
        chown(&folder, Some(owner.uid()), Some(owner.gid())).unwrap();
        makes(&folder);
        _ = made_in.keep();
        let (as_user, programs) = (self.as_user.clone(), self.programs.clone());
        let settings = self.settings.clone();
        let (keeper, stdin, pid) = run(&as_user, &programs, &folder, &settings);
        let server = Server { folder, keeper, stdin: Some(stdin), pid, as_user, programs, settings };
        assert!((0..10).any(|_| server.answers()), "{}", server.log());
        server
    }

    /// Another server takes over what this one left: it was a replica, and is promoted.
    pub fn changes_over(&mut self) {
        std::fs::write(self.folder.join("data/standby.signal"), "").unwrap();
        self.is_killed();
        let mut client = Client::connect(&self.plain(), NoTls).unwrap();
        assert!(client.query_one("SELECT pg_promote()", &[]).unwrap().get::<_, bool>(0), "{}", self.log());
    }

    pub fn answers(&self) -> bool {
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if Client::connect(&self.plain(), NoTls).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    pub fn port(&self) -> u16 {
        let named = self.settings.iter().find_map(|setting| setting.strip_prefix("port="));
        named.map_or(5432, |port| port.parse().unwrap())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// How a client that is not ours connects.
    pub fn plain(&self) -> String {
        format!("host={} port={} user=watchbill dbname=postgres", self.folder.display(), self.port())
    }

    /// The address of a board that may be on a server with this socket, and else is on this one.
    pub fn url_after(&self, first: &Path, board: &str) -> String {
        let encoded = first.display().to_string().replace('/', "%2F");
        self.url("watchbill", board).replacen('@', &format!("@{encoded},"), 1)
    }

    /// The address of a board on it.
    pub fn url(&self, user: &str, board: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        let port = if self.port() == 5432 { String::new() } else { format!(":{}", self.port()) };
        format!("postgres://{user}@{folder}{port}/postgres?board={board}")
    }

    /// A new board.
    pub fn board(&self) -> Place<'_> {
        static BOARDS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("t{}", BOARDS.fetch_add(1, Ordering::Relaxed));
        let url = self.url("watchbill", &name);
        PostgresBoard::create(&url, PATIENCE, &Secrets::default()).unwrap();
        Place { server: self, name, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
    }
}

struct Processes(Vec<i32>);

impl Processes {
    fn send(&self, signal: Signal) {
        for pid in &self.0 {
            // One may have ended since it was found.
            _ = kill_process(Pid::from_raw(*pid).unwrap(), signal);
        }
    }
}

/// Processes that are stopped, as those of a machine that hangs.
pub struct Frozen(Processes);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.send(Signal::CONT);
    }
}

/// One board on a server.
pub struct Place<'s> {
    pub server: &'s Server,
    pub name: String,
    pub url: String,
}

impl Place<'_> {
    /// The board, over a connection of its own.
    pub fn open(&self) -> PostgresBoard {
        PostgresBoard::open(&self.url, Mode::Change, PATIENCE, &Secrets::default()).unwrap()
    }

    /// A user with `psql`, whose statements find the board's tables.
    pub fn hand(&self) -> Client {
        let mut client = Client::connect(&self.server.plain(), NoTls).unwrap();
        client.batch_execute(&format!("SET search_path = {}", self.name)).unwrap();
        client
    }
}

pub fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < until, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ids(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let row = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let field = |nth: usize| row.split(':').nth(nth)?.parse().ok();
    Some((field(2)?, field(3)?))
}

fn run(as_user: &[String], programs: &Path, folder: &Path, settings: &[String]) -> (Child, ChildStdin, i32) {
    let mut line = as_user.to_vec();
    line.extend(
        [programs.join("postgres"), "-D".into(), folder.join("data")].map(|word| word.display().to_string()),
    );
    let socket = format!("unix_socket_directories={}", folder.display());
    for setting in ["listen_addresses=", &socket].into_iter().chain(settings.iter().map(String::as_str)) {
        line.extend(["-c".into(), setting.to_owned()]);
    }
    // A fast shutdown.
    kept(folder, "INT", &line)
}

/// Starts a server by this command, which this signal ends; its output is added to `log` in the folder.
pub fn kept(folder: &Path, signal: &str, line: &[String]) -> (Child, ChildStdin, i32) {
    let mut keeper = Command::new("sh")
        .args(["-c", KEEPER, "sh"])
        .arg(folder)
        .arg(signal)
        .args(line)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (stdin, mut said) = (keeper.stdin.take().unwrap(), keeper.stdout.take().unwrap());
    let (mut pid, mut byte) = (String::new(), [0]);
    while said.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        pid.push(byte[0] as char);
    }
    (keeper, stdin, pid.trim().parse().unwrap())
}

/// The server of all tests that kill none; it ends with this process.
pub fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| started(&["fsync=off", "max_connections=60"]));
    server.as_ref()
}

/// A server that also listens on a port of this machine.
pub fn listening() -> Option<Server> {
    // Another process may take the port before the server does.
    for _ in 0..5 {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port = format!("port={port}");
        let server =
            Server::start(&["fsync=off", "max_connections=60", "listen_addresses=127.0.0.1", &port])?;
        if server.answers() {
            return Some(server);
        }
    }
    panic!("no server listens");
}

/// A new server that keeps what it acknowledged.
pub fn durable() -> Option<Server> {
    started(&["fsync=on", "max_connections=60"])
}

/// A new server that answers.
pub fn started(settings: &[&str]) -> Option<Server> {
    let server = Server::start(settings)?;
    assert!((0..10).any(|_| server.answers()), "{}", server.log());
    Some(server)
}

/// A file with passwords.
pub fn passwords(line: &str, mode: u32) -> tempfile::NamedTempFile {
    use std::os::unix::fs::PermissionsExt;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{line}").unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    file
}
