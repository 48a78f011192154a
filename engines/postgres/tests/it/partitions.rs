//! Hosts on a network of their own: links that are cut, slow, or carry one way alone. Each host has its namespace of processes, too.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use board::{Detail, Mode, Status};
use postgres::Client;
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::programs::{Machine, later};
use crate::races::look;
use crate::server::{PATIENCE, Server};
use crate::tls::Secure;

const SERVER: &str = "10.77.0.1";

/// Longer than anything here is waited for.
const LONG: Duration = Duration::from_secs(60);

pub fn may_unshare() -> bool {
    let ok = Command::new("unshare")
        .args(["--net", "ip", "link", "set", "lo", "up"])
        .stderr(Stdio::null())
        .status();
    let ok = ok.is_ok_and(|status| status.success()) && rustix::process::geteuid().is_root();
    assert!(
        ok || std::env::var("WATCHBILL_UNSHARE").is_ok_and(|v| v == "skip"),
        "no right to make a network, or no `ip` (run as root, or set WATCHBILL_UNSHARE=skip to leave these tests out)"
    );
    if !ok {
        println!("left out: WATCHBILL_UNSHARE=skip");
    }
    ok
}

/// Namespaces that last until this is dropped, or this process ends.
pub struct Space {
    keeper: Child,
    stdin: Option<ChildStdin>,
    /// The first process in them, by its number here.
    pid: String,
}

impl Space {
    pub fn new(flags: &[&str]) -> Space {
        let mut keeper = Command::new("unshare");
        keeper.args(flags).args(["sh", "-c", "echo; read -r _"]).current_dir("/");
        let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", keeper.id());
        let child = std::fs::read_to_string(children).unwrap();
        // With a namespace of processes the one in it is a child.
        let pid = child.split(' ').find(|pid| !pid.is_empty()).map_or(keeper.id().to_string(), str::to_owned);
        Space { stdin: keeper.stdin.take(), pid, keeper }
    }

    /// The same machine, whose programs run in its namespaces of processes and mounts.
    pub fn of(&self, machine: Machine) -> Machine {
        machine.within(&["nsenter", "-t", &self.pid, "-p", "-m"])
    }

    /// Runs lines of a shell in its network.
    #[track_caller]
    fn sh(&self, lines: &str) {
        let done =
            Command::new("nsenter").args(["-t", &self.pid, "-n", "sh", "-ec", lines]).output().unwrap();
        assert!(done.status.success(), "{lines}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
    }
}

/// A router, behind it a server and hosts.
struct Net {
    // Dropped in this order: the server before its network.
    secure: Secure,
    name: String,
    hosts: Vec<(Machine, Space)>,
    _server: Space,
    router: Space,
}

impl Net {
    fn with(hosts: &[&'static str]) -> Option<Net> {
        if !may_unshare() {
            return None;
        }
        let router = Space::new(&["--net"]);
        router.sh("ip link set lo up; echo 1 >/proc/sys/net/ipv4/ip_forward");
        let joined = |nth: usize, space: &Space| {
            router.sh(&format!(
                "ip link add l{nth} type veth peer name eth0 netns {}; ip addr add 10.77.{nth}.254/24 dev l{nth}; \
                 ip link set l{nth} up",
                space.pid
            ));
            space.sh(&format!(
                "ip link set lo up; ip addr add 10.77.{nth}.1/24 dev eth0; ip link set eth0 up; \
                 ip route add default via 10.77.{nth}.254"
            ));
        };
        let space = Space::new(&["--net"]);
        joined(0, &space);
        let within = ["nsenter", "-t", &space.pid, "-n", "--"].map(str::to_owned);
        let listens = format!("listen_addresses={SERVER}");
        let server = Server::start_in(&within, &["fsync=off", "max_connections=60", &listens])?;
        assert!((0..10).any(|_| server.answers()));
        let secure = Secure::of(server, SERVER);
        let name = secure.server.board().name;
        let url = secure.at(SERVER, 5_432, "watchbill", &name, "ca.pem");
        let hosts = hosts.iter().enumerate().map(|(nth, name)| {
            let space = Space::new(&["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]);
            joined(nth + 1, &space);
            let machine = Machine::new(name, &url);
            (machine.within(&["nsenter", "-t", &space.pid, "-n", "-p", "-m"]), space)
        });
        let hosts = hosts.collect();
        Some(Net { secure, name, hosts, _server: space, router })
    }

    fn host(&self, nth: usize) -> &Machine {
        &self.hosts[nth - 1].0
    }

    fn server(&self) -> &Server {
        &self.secure.server
    }

    fn hand(&self) -> Client {
        let mut hand = Client::connect(&self.server().plain(), postgres::NoTls).unwrap();
        hand.batch_execute(&format!("SET search_path = {}", self.name)).unwrap();
        hand
    }

    fn board(&self) -> PostgresBoard {
        let url = self.server().url("watchbill", &self.name);
        PostgresBoard::open(&url, Mode::Look, PATIENCE, &Secrets::default()).unwrap()
    }

    fn later(&self, seconds: i64) {
        later(self.server(), &self.name, seconds);
    }

    /// What becomes of the link of a host.
    fn link(&self, nth: usize, is: Link) {
        let host = format!("10.77.{nth}.1");
        self.router.sh(&match is {
            Link::Cut => format!("ip link set l{nth} down"),
            Link::Up => format!(
                "ip link set l{nth} up; ip rule flush; ip rule add pref 32766 table main; \
                 tc qdisc del dev l{nth} root 2>/dev/null || true"
            ),
            Link::HostUnheard => format!("ip rule add pref 10 from {host} to {SERVER} blackhole"),
            Link::ServerUnheard => format!("ip rule add pref 10 from {SERVER} to {host} blackhole"),
            // Answers of the server come at the speed of an old modem.
            Link::Slow => format!("tc qdisc add dev l{nth} root tbf rate 64kbit burst 2kb latency 10s"),
        });
    }
}

#[derive(Debug, Clone, Copy)]
enum Link {
    Up,
    Cut,
    /// What the host sends is lost.
    HostUnheard,
    /// What the server answers is lost.
    ServerUnheard,
    Slow,
}

/// What a worker does: it keeps its environment and the number of its harness, and says all the time that it lives.
/// `lives` is replaced whole: a worker that is killed while it writes leaves what it said before.
const WORKER: &str =
    "env >told; echo $PPID >harness; while :; do date +%s >now && mv now lives; sleep 0.1; done";

/// A worker at work, by its harness.
struct Worker(Child);

impl Worker {
    fn on(machine: &Machine, ttl: &str, command: &str) -> Worker {
        for file in ["told", "harness", "lives"] {
            _ = std::fs::remove_file(machine.home().join(file));
        }
        let mut harness =
            machine.command(&["board", "run", "--assignee", "luna", "--ttl", ttl, "--", "sh", "-c", command]);
        let harness = harness.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + LONG;
        while !machine.home().join("harness").exists() {
            assert!(Instant::now() < until, "no worker begins");
            std::thread::sleep(Duration::from_millis(20));
        }
        Worker(harness)
    }

    /// How its harness ended.
    fn ends(self) -> (Option<i32>, String) {
        let said = self.0.wait_with_output().unwrap();
        (said.status.code(), String::from_utf8([said.stdout, said.stderr].concat()).unwrap())
    }
}

/// When a worker of this machine lived last.
fn lived(machine: &Machine) -> i64 {
    let until = Instant::now() + LONG;
    loop {
        if let Ok(at) = std::fs::read_to_string(machine.home().join("lives")) {
            return at.trim().parse().unwrap();
        }
        assert!(Instant::now() < until, "nobody says that it lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `board` as the worker calls it that was started with this environment.
fn as_worker(machine: &Machine, told: &str, line: &[&str]) -> Output {
    let mut command = machine.command(line);
    let ours = told
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| name.starts_with("WATCHBILL_"));
    command.envs(ours);
    command.output().unwrap()
}

fn told(machine: &Machine) -> String {
    std::fs::read_to_string(Path::new(machine.home()).join("told")).unwrap()
}

fn events(seen: &Detail, kind: &str) -> usize {
    seen.events.iter().filter(|event| event.kind.as_str() == kind).count()
}

/// Each word of a worker that lost its task is refused, and nothing is written.
#[track_caller]
fn is_refused(net: &Net, machine: &Machine, told: &str, task: &str) {
    let before = look(&mut net.board(), task);
    for line in [
        &["board", "heartbeat", task][..],
        &["board", "packet", task, "--step", "half of it"],
        &["board", "block", task, "--kind", "needs_input", "Which name?"],
        &["board", "complete", task],
    ] {
        let done = as_worker(machine, told, line);
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert_eq!(done.status.code(), Some(1), "{line:?}: {said}");
    }
    assert_eq!(look(&mut net.board(), task), before);
}

/// `heal` finds that a host is gone.
#[track_caller]
fn requeues(machine: &Machine) {
    let done = machine.call(&["heal"]);
    let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    assert!(done.status.code() == Some(1) && said.contains("heal requeues its task"), "{said}");
}

#[test]
fn a_host_that_is_cut_off_stops_its_command_before_its_claim_ends_and_is_gone_after_that() {
    let Some(net) = Net::with(&["h1", "h2"]) else { return };
    let (here, there) = (net.host(1), net.host(2));
    for is in [Link::Cut, Link::HostUnheard, Link::ServerUnheard] {
        let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
        here.said(&["heal"]);
        there.said(&["heal"]);
        let worker = Worker::on(here, "12s", WORKER);
        let told = told(here);
        net.link(1, is);
        let cut = Instant::now();
        let (code, said) = worker.ends();
        assert!(code == Some(1) && said.contains("the command was stopped"), "{is:?}: {code:?} {said}");
        let expires = look(&mut net.board(), &task).task.claim_expires.unwrap().0;
        let left = expires - lived(here);
        assert!(
            (1..12).contains(&left),
            "{is:?}: the command lived until {left} s before the end of its claim"
        );
        println!(
            "{is:?}: the command was stopped {left} s before its claim ended, the harness ended after {:?}",
            cut.elapsed()
        );
        // Not before `host.gone_after`, which is half an hour.
        let status = |net: &Net| look(&mut net.board(), &task).task.status.clone();
        net.later(1_700);
        there.call(&["heal"]);
        assert_eq!(status(&net), Status::Running, "{is:?}");
        net.later(150);
        requeues(there);
        assert_eq!(status(&net), Status::Ready, "{is:?}");
        there.said(&["heal"]);
        assert_eq!(events(&look(&mut net.board(), &task), "reclaimed"), 1, "{is:?}");
        let ran = there.said(&["board", "run", "--assignee", "luna", "--", "true"]);
        assert_eq!(ran, format!("{task} done"));
        net.link(1, Link::Up);
        here.said(&["heal"]);
        is_refused(&net, here, &told, &task);
    }
}

#[test]
fn a_host_that_is_cut_off_for_a_moment_goes_on() {
    let Some(net) = Net::with(&["h1", "h2"]) else { return };
    let (here, there) = (net.host(1), net.host(2));
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    here.said(&["heal"]);
    let worker = Worker::on(here, "30s", &WORKER.replace("while :; do", "for n in $(seq 150); do"));
    net.link(1, Link::Cut);
    // Over the time of a heartbeat.
    std::thread::sleep(Duration::from_secs(12));
    there.said(&["heal"]);
    net.link(1, Link::Up);
    let (code, said) = worker.ends();
    assert!(code == Some(0) && said.contains(&format!("{task} done")), "{code:?} {said}");
    let seen = look(&mut net.board(), &task);
    assert_eq!((seen.runs.len(), events(&seen, "claimed"), events(&seen, "reclaimed")), (1, 1, 0));
}

#[test]
fn a_worker_without_harness_on_a_host_that_was_cut_off_is_not_heard_any_more() {
    let Some(net) = Net::with(&["h1", "h2"]) else { return };
    let (here, there) = (net.host(1), net.host(2));
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    here.said(&["heal"]);
    there.said(&["heal"]);
    let worker = Worker::on(here, "12s", WORKER);
    let told = told(here);
    let harness = std::fs::read_to_string(here.home().join("harness")).unwrap();
    let inside = &net.hosts[0].1.pid;
    let killed = ["-t", inside, "-p", "-m", "sh", "-c"];
    let kill = format!("kill -9 {}", harness.trim());
    assert!(Command::new("nsenter").args(killed).arg(kill).status().unwrap().success());
    net.link(1, Link::Cut);
    _ = worker.ends();
    net.later(2_000);
    requeues(there);
    let ran = there.said(&["board", "run", "--assignee", "luna", "--", "true"]);
    assert_eq!(ran, format!("{task} done"));
    net.link(1, Link::Up);
    let before = lived(here);
    std::thread::sleep(Duration::from_millis(2_100));
    assert!(lived(here) > before, "its worker goes on all the while");
    is_refused(&net, here, &told, &task);
}

#[test]
fn where_most_hosts_are_cut_off_none_is_called_gone() {
    let Some(net) = Net::with(&["h1", "h2", "h3"]) else { return };
    let there = net.host(2);
    let mut tasks = Vec::new();
    for nth in [1, 3] {
        let host = net.host(nth);
        tasks.push(host.said(&["board", "add", "write the report", "--assignee", "luna"]));
        host.said(&["heal"]);
        let worker = Worker::on(host, "12s", WORKER);
        net.link(nth, Link::Cut);
        let (code, said) = worker.ends();
        assert!(code == Some(1) && said.contains("the command was stopped"), "{code:?} {said}");
    }
    there.said(&["heal"]);
    net.later(2_000);
    let done = there.call(&["heal"]);
    let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    println!("{said}");
    assert_eq!(done.status.code(), Some(1), "{said}");
    let mut board = net.board();
    assert!(tasks.iter().all(|task| look(&mut board, task).task.status == Status::Running), "{said}");
    assert_eq!(net.hand().query("SELECT 1 FROM task_events WHERE kind = 'reclaimed'", &[]).unwrap().len(), 0);
}

#[test]
fn a_slow_link_costs_time_and_nothing_else() {
    let Some(net) = Net::with(&["h1"]) else { return };
    let here = net.host(1);
    net.link(1, Link::Slow);
    let began = Instant::now();
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let added = began.elapsed();
    here.said(&["heal"]);
    let healed = began.elapsed() - added;
    let ran = here.said(&["board", "run", "--assignee", "luna", "--ttl", "1m", "--", "sleep", "1"]);
    assert_eq!(ran, format!("{task} done"));
    println!("at 64 kbit/s: add {added:?}, heal {healed:?}, run {:?}", began.elapsed() - added - healed);
}
