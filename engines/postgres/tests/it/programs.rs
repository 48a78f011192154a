//! The programs on a board of a server: what a person and a worker call, beside a real server and real processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use watchbill_postgres::{PostgresBoard, Secrets};

use crate::server::{PATIENCE, Server, passwords, shared};

/// A machine with the programs on it, that calls itself by a name of its own.
pub struct Machine {
    home: tempfile::TempDir,
    name: &'static str,
    url: String,
    /// The command that starts its programs where they are to run.
    within: Vec<String>,
}

impl Machine {
    pub fn new(name: &'static str, url: &str) -> Machine {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for program in ["watchbill", "heal", "synthesize-distress", "route-blocked", "board", "coord"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_watchbill-postgres"), bin.join(program)).unwrap();
        }
        Machine { home, name, url: url.to_owned(), within: Vec::new() }
    }

    /// The same machine, whose programs are started by this command in their folder.
    pub fn within(self, within: &[&str]) -> Machine {
        let folder = format!("--wdns={}", self.home.path().display());
        let within = within.iter().map(|word| (*word).to_owned()).chain([folder, "--".into()]).collect();
        Machine { within, ..self }
    }

    /// The machine of a login role, whose password is `geheim`, on a board.
    pub fn of_role(server: &Server, role: &str, board: &str) -> Machine {
        let machine = Machine::new("h1", &server.url(role, board));
        let kept = passwords(&format!("*:*:*:{role}:geheim"), 0o600);
        std::fs::copy(kept.path(), machine.home().join(".pgpass")).unwrap();
        machine
    }

    fn bin(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A program, by its name in the first word, on the board of this machine.
    pub fn command(&self, line: &[&str]) -> Command {
        self.command_on(&self.url, line)
    }

    /// The same on another board.
    pub fn command_on(&self, url: &str, line: &[&str]) -> Command {
        let program = self.bin().join(line[0]);
        let mut command = match self.within.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.home.path());
        command.env("WATCHBILL_HOST_NAME", self.name).env("LC_ALL", "C.UTF-8");
        // The flags of `watchbill` are those of its subcommands.
        let (first, rest) = line[1..].split_at(usize::from(line[0] == "watchbill"));
        command.args(first).args(["--db", url]).args(rest).current_dir(self.home.path());
        command
    }

    pub fn call(&self, line: &[&str]) -> Output {
        self.command(line).output().unwrap()
    }

    /// What a program printed that ended well.
    pub fn said(&self, line: &[&str]) -> String {
        let done = self.call(line);
        assert!(done.status.success(), "{line:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }
}

pub fn made(server: &Server, name: &str) -> String {
    let url = server.url("watchbill", name);
    let machine = Machine::new("h0", &url);
    machine.said(&["board", "init", &url]);
    url
}

/// A connection of the owner of all boards, after these statements.
pub fn owner_after(server: &Server, sql: &str) -> postgres::Client {
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    client.batch_execute(sql).unwrap();
    client
}

#[test]
fn a_board_that_was_made_anew_in_the_place_of_another_is_told() {
    let Some(server) = shared() else { return };
    let url = made(server, "anew");
    let here = Machine::new("h1", &url);
    let heal = || {
        let done = here.call(&["heal"]);
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    assert_eq!(heal() + &heal(), "");
    owner_after(server, "DROP SCHEMA anew CASCADE");
    here.said(&["board", "init", &url]);
    let told = heal();
    assert!(told.contains("another board than passes saw here: it was made anew"), "{told}");
    assert!(told.contains("restore it from its dump") && told.contains("watchbill forget --db "), "{told}");
    let check = here.call(&["watchbill", "check"]);
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.code() == Some(2) && said.contains("another board"), "{said}");
    here.said(&["watchbill", "forget"]);
    assert_eq!(heal(), "");
}

#[test]
fn a_board_is_made_worked_on_and_looked_at() {
    let Some(server) = shared() else { return };
    let url = made(server, "programs");
    let here = Machine::new("h1", &url);
    let twice = here.call(&["board", "init", &url]);
    assert_eq!(twice.status.code(), Some(1), "{}", String::from_utf8_lossy(&twice.stderr));
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let ran = here.said(&["board", "run", "--assignee", "luna", "--", "sh", "-c", "cat >told"]);
    assert_eq!(ran, format!("{task} done"));
    assert!(std::fs::read_to_string(here.home().join("told")).unwrap().contains("write the report"));
    assert!(here.said(&["board", "list", "--status", "done"]).contains(&task));
    for looks in [&["watchbill", "status"][..], &["watchbill", "report", "-v"], &["watchbill", "why", &task]]
    {
        let done = here.call(looks);
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code().is_some_and(|code| code < 3), "{looks:?}: {err}");
    }
    here.said(&["watchbill", "run", "--metrics", "metrics"]);
}

#[test]
fn a_pause_is_on_the_board_and_every_host_keeps_to_it() {
    let Some(server) = shared() else { return };
    let url = made(server, "paused_programs");
    let (here, there) = (Machine::new("h1", &url), Machine::new("h2", &url));
    here.said(&["watchbill", "pause", "--for", "1h", "--reason", "the server moves"]);
    let held = there.call(&["heal"]);
    assert_eq!(held.status.code(), Some(75));
    assert!(String::from_utf8_lossy(&held.stderr).contains("the server moves"));
    // Or the first pass after the pause would take a host for gone whose pass comes later.
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    let known =
        client.query("SELECT name FROM paused_programs.hosts WHERE healed_at IS NOT NULL", &[]).unwrap();
    assert_eq!(known.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), ["h2"]);
    there.said(&["watchbill", "unpause"]);
    here.said(&["heal"]);
}

#[test]
fn a_role_for_workers_does_its_work_by_board_and_speaks_for_no_host() {
    let Some(server) = shared() else { return };
    let url = made(server, "roles_of_programs");
    PostgresBoard::grant(&url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let login = "CREATE ROLE luna LOGIN PASSWORD 'geheim' IN ROLE roles_of_programs_work";
    let mut client = owner_after(server, login);
    let worker = Machine::of_role(server, "luna", "roles_of_programs");
    let task = worker.said(&["board", "add", "write the report", "--assignee", "luna"]);
    worker.said(&["board", "claim", &task, "--worker", "luna"]);
    worker.said(&["board", "heartbeat", &task, "--note", "half of it"]);
    worker.said(&["board", "complete", &task, "--summary", "written"]);
    assert!(worker.said(&["board", "list", "--status", "done"]).contains(&task));
    worker.said(&["board", "add", "write another one", "--assignee", "luna"]);
    for line in [&["heal"][..], &["board", "run", "--assignee", "luna", "--", "touch", "began"]] {
        let done = worker.call(line);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(
            (done.status.code(), said.contains("roles_of_programs_watch")),
            (Some(77), true),
            "{said}"
        );
    }
    assert!(!worker.home().join("began").exists(), "who may not renew its claim begins with nothing");
    let hosts = client.query("SELECT FROM roles_of_programs.hosts", &[]).unwrap();
    assert_eq!(hosts.len(), 0, "who only asks renews no lease");
}

#[test]
fn a_server_that_lets_nobody_in_for_a_while_hears_how_a_command_ended() {
    let Some(server) = shared() else { return };
    let url = made(server, "refuses_a_while");
    PostgresBoard::grant(&url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let login = "CREATE ROLE nova LOGIN PASSWORD 'geheim' IN ROLE refuses_a_while_watch";
    let mut client = owner_after(server, login);
    let worker = Machine::of_role(server, "nova", "refuses_a_while");
    let task = worker.said(&["board", "add", "write the report", "--assignee", "nova"]);
    let script = "touch began; until [ -e ends ]; do sleep 0.1; done; touch ended";
    let mut run = worker.command(&["board", "run", "--assignee", "nova", "--", "sh", "-c", script]);
    let mut run = run.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let is_there = |name: &str| {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !worker.home().join(name).exists() {
            assert!(std::time::Instant::now() < until, "{name}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    is_there("began");
    client.batch_execute("ALTER ROLE nova NOLOGIN").unwrap();
    client
        .execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'nova'", &[])
        .unwrap();
    std::fs::write(worker.home().join("ends"), "").unwrap();
    is_there("ended");
    // It is asked again 5 seconds later.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(run.try_wait().unwrap().is_none(), "it does not give up what it knows");
    client.batch_execute("ALTER ROLE nova LOGIN").unwrap();
    let done = run.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), format!("{task} done"));
}

#[test]
fn a_password_that_systemd_gives_a_unit_comes_before_all_others() {
    let Some(server) = shared() else { return };
    let url = made(server, "given");
    owner_after(server, "CREATE ROLE gerda LOGIN PASSWORD 'geheim'");
    Machine::new("h0", &url).said(&["board", "grant", "--watcher", "gerda"]);
    let machine = Machine::new("h1", &server.url("gerda", "given"));
    let credentials = machine.home().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let wrong = passwords("*:*:*:*:falsch", 0o600);
    let heal = |given: &str| {
        // As systemd does: readable for the user of the unit by an entry that shows as the right of a group.
        let file = passwords(given, 0o440);
        std::fs::copy(file.path(), credentials.join("watchbill-postgres")).unwrap();
        let mut command = machine.command(&["heal"]);
        command.env("CREDENTIALS_DIRECTORY", &credentials).env("PGPASSFILE", wrong.path());
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
    };
    assert_eq!(heal("*:*:*:gerda:geheim"), (Some(0), String::new()));
    let (code, said) = heal("*:*:*:somebody:geheim");
    let is_told = said.contains(
        "add this line to the file that LoadCredential= of the unit names (mode 0600): localhost:5432:",
    );
    assert!(code == Some(77) && is_told, "{said}");
    // Nothing is given to a unit that others load credentials for.
    std::fs::remove_file(credentials.join("watchbill-postgres")).unwrap();
    let kept = passwords("*:*:*:gerda:geheim", 0o600);
    let mut command = machine.command(&["heal"]);
    command.env("CREDENTIALS_DIRECTORY", &credentials).env("PGPASSFILE", kept.path());
    assert!(command.output().unwrap().status.success());
}

#[test]
fn a_board_may_have_a_word_of_sql_for_a_name() {
    let Some(server) = shared() else { return };
    let url = made(server, "order");
    PostgresBoard::grant(&url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let here = Machine::new("h1", &url);
    let task = here.said(&["board", "add", "write the report"]);
    assert!(here.said(&["board", "list"]).contains(&task));
    here.said(&["heal"]);
}

#[test]
fn timers_start_the_programs_by_their_links_on_the_address_as_it_is() {
    let Some(server) = shared() else { return };
    let url = made(server, "timed");
    let here = Machine::new("h1", &url);
    let said = here.said(&["watchbill", "timers", "install", "--as", "cron", "--dry-run"]);
    assert!(said.contains("/bin/watchbill run ") && !said.contains("watchbill-postgres"), "{said}");
    assert!(said.contains(&url.replace('%', "\\%")) || said.contains(&url), "{said}");
}

/// Moves everything that leases are told by so far into the past.
pub fn later(server: &Server, board: &str, seconds: i64) {
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    let sql = format!(
        "SET search_path = {board};
         UPDATE tasks SET claim_expires = claim_expires - {seconds}, started_at = started_at - {seconds},
           last_heartbeat_at = last_heartbeat_at - {seconds};
         UPDATE task_runs SET started_at = started_at - {seconds}, last_heartbeat_at = last_heartbeat_at - {seconds};
         UPDATE task_events SET created_at = created_at - {seconds};
         UPDATE hosts SET since = since - {seconds}, seen_at = seen_at - {seconds},
           lease_until = lease_until - {seconds}, healed_at = healed_at - {seconds} WHERE name <> 'h2'"
    );
    client.batch_execute(&sql).unwrap();
}

#[test]
fn the_work_of_a_host_that_is_gone_goes_on_elsewhere_and_nothing_of_its_worker_is_taken() {
    let Some(server) = shared() else { return };
    let url = made(server, "gone_host");
    let (gone, here) = (Machine::new("h1", &url), Machine::new("h2", &url));
    let task = gone.said(&["board", "add", "write the report", "--assignee", "luna"]);
    // The worker of a host that nobody can reach lives on: here it is a process of this very machine, which h2 must not judge.
    let mut worker = Command::new("sleep").arg("600").env("WATCHBILL_TASK", &task).spawn().unwrap();
    let pid = worker.id().to_string();
    let claimed = gone.said(&["board", "--json", "claim", &task, "--worker", "luna", "--pid", &pid]);
    let claimed: serde_json::Value = serde_json::from_str(&claimed).unwrap();
    gone.said(&["heal"]);
    here.said(&["heal"]);
    assert!(here.said(&["board", "list"]).contains("running"));

    // h1 is silent for an hour, the claim long over. Less than `host.gone_after` is not enough.
    later(server, "gone_host", 1_200);
    here.said(&["heal"]);
    assert!(here.said(&["board", "list"]).contains("running"), "20 minutes are not enough");
    later(server, "gone_host", 3_600);
    // Told alone, it needs a person.
    let told = |line: &[&str]| {
        let out = here.command(line).env("WATCHBILL_HOST_GONE", "report").output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let needs = "host h1 is away, and nobody goes on with its work; 1 task";
    for look in ["status", "check", "report"] {
        let said = told(&["watchbill", look]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(if look == "report" { "nobody goes on with it" } else { needs }),
            "{look}: {said}"
        );
    }
    let json: serde_json::Value = serde_json::from_str(&told(&["watchbill", "status", "--json"])).unwrap();
    let need = json["needs"].as_array().unwrap().iter().find(|n| n["cause"] == "worker_gone").unwrap();
    assert_eq!(need["tasks"][0]["id"], task.as_str(), "{need}");
    let why = told(&["watchbill", "why", &task]);
    assert!(
        why.contains("nobody goes on with it: host h1 was last seen") && !why.contains("nothing is wrong"),
        "{why}"
    );
    let healed = here.call(&["heal", "-v"]);
    let said = String::from_utf8_lossy(&healed.stdout);
    assert!(
        said.contains("requeue") && said.contains("host h1"),
        "{said}{}",
        String::from_utf8_lossy(&healed.stderr)
    );
    assert!(here.said(&["board", "list"]).contains("ready"));
    assert!(worker.try_wait().unwrap().is_none(), "no process of another host is touched");

    // Another host has it now. The first one comes back, and says that the old worker is still there.
    let other = Machine::new("h3", &url);
    other.said(&["board", "claim", &task, "--worker", "luna", "--pid", &std::process::id().to_string()]);
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    client.batch_execute("UPDATE gone_host.tasks SET started_at = started_at - 7200").unwrap();
    let told = |machine: &Machine| {
        let done = machine.call(&["heal"]);
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
    };
    let (code, said) = told(&gone);
    let left = format!(
        "{task}: h3 has worked on it since this host was gone, and process {pid} of the earlier attempt"
    );
    assert!(said.contains(&left) && said.contains(&format!("kill {pid}")), "{said}");
    assert_eq!(code, Some(1), "{said}");
    for machine in [&here, &other] {
        let (_, said) = told(machine);
        assert!(!said.contains("of the attempt before"), "{said}");
    }

    // The old worker speaks for its attempt.
    let run = claimed["run"].as_i64().unwrap().to_string();
    for word in [&["complete", &task, "--run", &run][..], &["heartbeat", &task, "--run", &run]] {
        let refused = gone.call(&[&["board"], word].concat());
        assert_eq!(refused.status.code(), Some(1), "{word:?}: {}", String::from_utf8_lossy(&refused.stderr));
    }
    assert!(here.said(&["board", "list"]).contains("running"));
    worker.kill().unwrap();
    worker.wait().unwrap();
    let (_, said) = told(&gone);
    assert!(!said.contains("of the attempt before"), "{said}");
}

#[test]
fn a_container_in_the_place_of_another_goes_on_once_nothing_of_that_lasts() {
    let Some(server) = shared() else { return };
    let url = made(server, "containers");
    let (here, there) = (Machine::new("h1", &url), Machine::new("h2", &url));
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    here.said(&["heal"]);
    there.said(&["heal"]);
    here.said(&["board", "claim", &task, "--worker", "luna", "--ttl", "20m"]);
    // What attended as h1 was a container on another machine.
    let mut client = owner_after(server, "UPDATE containers.hosts SET boot_id = 'another' WHERE name = 'h1'");
    let refused = |line: &[&str]| {
        let done = here.call(line);
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
    };
    for line in [&["heal"][..], &["board", "run", "--assignee", "luna", "--", "touch", "began"]] {
        let (code, said) = refused(line);
        assert!(said.contains("two machines call themselves h1: the other one was seen "), "{said}");
        assert!(code == Some(78) && said.contains("set host.name on one of them"), "{said}");
    }
    let (code, said) = refused(&["watchbill", "check"]);
    assert!(code == Some(2) && said.contains("two machines call themselves h1"), "{said}");
    // Listing the hosts does not attend as h1, and is not refused.
    assert!(here.said(&["board", "host", "list"]).contains("h1  attends"));
    let (code, said) = refused(&["board", "host", "forget", "h1"]);
    assert!(code == Some(1) && said.contains("h1: attends: it was seen"), "{said}");
    // It is gone for 10 minutes; its claim lasts.
    client.batch_execute("UPDATE containers.hosts SET seen_at = seen_at - 600, lease_until = lease_until - 600, healed_at = healed_at - 600 WHERE name = 'h1'").unwrap();
    let (code, said) = refused(&["heal"]);
    assert!(code == Some(75) && said.contains("this one goes on in "), "{said}");
    assert!(said.contains("works any more: board host forget h1"), "{said}");
    client.batch_execute("UPDATE containers.tasks SET claim_expires = claim_expires - 1200").unwrap();
    here.said(&["heal"]);
    assert!(here.said(&["board", "host", "list"]).contains("h1  attends"));
    // Or a person says that nothing of it is left, on this very host.
    let again = "UPDATE containers.hosts SET boot_id = 'another', seen_at = seen_at - 600, lease_until = lease_until - 600 WHERE name = 'h1'; \
                 UPDATE containers.tasks SET claim_expires = claim_expires + 3600";
    client.batch_execute(again).unwrap();
    assert_eq!(refused(&["heal"]).0, Some(75));
    here.said(&["board", "host", "forget", "h1"]);
    here.said(&["heal"]);
    let (code, said) = refused(&["board", "host", "forget", "h1"]);
    assert!(code == Some(1) && said.contains("is this host, which is there"), "{said}");
}

#[test]
fn a_role_that_one_variable_tells_alone_is_the_workers_as_well() {
    let Some(server) = shared() else { return };
    let url = made(server, "told_by_variable");
    owner_after(server, "CREATE ROLE carina LOGIN PASSWORD 'geheim'");
    Machine::new("h0", &url).said(&["board", "grant", "--watcher", "carina"]);
    let mut worker = Machine::of_role(server, "carina", "told_by_variable");
    worker.url = worker.url.replace("carina@", "");
    assert!(!worker.url.contains('@'), "{}", worker.url);
    let named = |line: &[&str]| {
        let done = worker.command(line).env("PGUSER", "carina").output().unwrap();
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(done.status.success(), "{line:?}: {said}");
        said.trim().to_owned()
    };
    let task = named(&["board", "add", "write the report", "--assignee", "luna"]);
    let script = format!("{}/board comment {task} 'half of it' && env >told", worker.bin().display());
    let ran = named(&["board", "run", "--assignee", "luna", "--", "sh", "-c", &script]);
    assert_eq!(ran, format!("{task} done"));
    let told = std::fs::read_to_string(worker.home().join("told")).unwrap();
    assert!(told.contains("WATCHBILL_DB=postgres://carina@") && !told.contains("PGUSER"), "{told}");
    assert!(named(&["board", "show", &task]).contains("half of it"));
}

#[test]
fn a_server_that_is_away_is_waited_for_once() {
    let machine = Machine::new("h1", "postgres://luna@127.0.0.1:1/agents");
    let timed = |line: &[&str]| {
        let began = std::time::Instant::now();
        (machine.call(line), began.elapsed())
    };
    let (_, once) = timed(&["board", "list"]);
    let (done, took) = timed(&["watchbill", "check"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.code() == Some(2) && said.contains("does not answer"), "{said}");
    assert!(took < once * 2, "{took:?} where one wait takes {once:?}");
}

#[test]
fn a_host_that_will_not_come_back_is_forgotten_and_its_work_goes_on() {
    let Some(server) = shared() else { return };
    let url = made(server, "forgotten_host");
    let (gone, here) = (Machine::new("h1", &url), Machine::new("h2", &url));
    assert_eq!(here.said(&["board", "host", "list"]), "");
    let task = gone.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let mut worker = Command::new("sleep").arg("600").env("WATCHBILL_TASK", &task).spawn().unwrap();
    gone.said(&["board", "claim", &task, "--worker", "luna", "--pid", &worker.id().to_string()]);
    gone.said(&["heal"]);
    here.said(&["heal"]);
    // The claim is over, the host silent for 10 minutes: less than `host.gone_after`.
    later(server, "forgotten_host", 1_200);
    let list = here.said(&["board", "host", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("h1  silent   seen 20m ago") && lines[0].ends_with("1 task"), "{list}");
    assert!(lines[1].starts_with("h2  attends  ") && lines[1].ends_with("0 tasks"), "{list}");
    here.call(&["heal"]);
    assert!(here.said(&["board", "list"]).contains("running"));
    let looks = |here: &Machine| {
        let of = |line: &[&str]| String::from_utf8_lossy(&here.call(line).stdout).into_owned();
        (of(&["watchbill", "doctor"]), of(&["watchbill", "check"]))
    };
    let (doctor, check) = looks(&here);
    assert!(doctor.contains("warning  host-silent") && doctor.contains("board host forget h1"), "{doctor}");
    assert!(check.contains("host h1 was seen 20m ago, and is silent since"), "{check}");

    for (name, word) in [("h3", "no such host on this board"), ("h2", "is this host, which is there")] {
        let refused = here.call(&["board", "host", "forget", name]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && said.contains(word), "{said}");
    }
    let said = here.said(&["board", "host", "forget", "h1"]);
    assert_eq!(said, "h1 is forgotten: heal on another host requeues its work when the claims end");
    let (doctor, check) = looks(&here);
    assert!(!doctor.contains("host-silent") && !check.contains("silent since"), "{doctor}{check}");
    let told: serde_json::Value =
        serde_json::from_str(&here.said(&["board", "--json", "host", "list"])).unwrap();
    assert_eq!(
        (told[0]["state"].as_str(), told[0]["tasks"].as_i64()),
        (Some("forgotten"), Some(1)),
        "{told}"
    );
    assert_eq!(
        (told[1]["host"].as_str(), told[1]["state"].as_str()),
        (Some("h2"), Some("attends")),
        "{told}"
    );
    here.call(&["heal"]);
    assert!(here.said(&["board", "list"]).contains("ready"));
    // It was not gone: it says so itself.
    gone.call(&["heal"]);
    assert!(here.said(&["board", "host", "list"]).contains("h1  attends"));
    let why = String::from_utf8(here.call(&["watchbill", "why", &task]).stdout).unwrap();
    assert!(why.contains("ready for luna since") && why.contains("a worker must claim it"), "{why}");
    assert!(!why.contains("nobody takes it"), "no log keeps anybody from it: {why}");
    // Nor is it forgotten as long as it attends: it would be back with its next pass.
    let refused = here.call(&["board", "host", "forget", "h1"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && said.contains("h1: attends: it was seen "), "{said}");
    assert!(here.said(&["board", "host", "list"]).contains("h1  attends"));
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn roles_are_granted_from_the_command_line() {
    let Some(server) = shared() else { return };
    let url = made(server, "granted");
    let owner = Machine::new("h1", &url);
    let login = "CREATE ROLE \"nova-1\" LOGIN PASSWORD 'geheim'; CREATE ROLE rosa LOGIN PASSWORD 'geheim'";
    owner_after(server, login);
    let none = owner.call(&["board", "grant", "--worker", "nova-1", "--watcher", "nobody; DROP TABLE x"]);
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.code() == Some(1) && said.contains("no such role on this server"), "{said}");
    let [worker, watcher] = ["nova-1", "rosa"].map(|role| Machine::of_role(server, role, "granted"));
    let refused = worker.call(&["board", "add", "write the report"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    let advised = said.contains(": board grant --db ") && said.trim_end().ends_with(" --worker nova-1");
    assert!(refused.status.code() == Some(66) && advised, "{said}");
    let told = owner.said(&["board", "grant", "--worker", "nova-1", "--watcher", "rosa"]);
    assert_eq!(told, "nova-1 may work on this board\nrosa may work and watch on this board");
    owner.said(&["board", "grant", "--worker", "nova-1"]);
    worker.said(&["board", "add", "write the report", "--assignee", "luna"]);
    assert_eq!(worker.call(&["heal"]).status.code(), Some(77));
    watcher.said(&["heal"]);
    let refused = watcher.call(&["board", "grant", "--watcher", "nova-1"]);
    assert_eq!(refused.status.code(), Some(77), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn a_role_for_workers_spawns_no_command_and_moves_no_board() {
    let Some(server) = shared() else { return };
    let url = made(server, "not_spawned");
    let owner = Machine::new("h1", &url);
    let mut client = owner_after(server, "CREATE ROLE vega LOGIN PASSWORD 'geheim'");
    owner.said(&["board", "grant", "--worker", "vega"]);
    let worker = Machine::of_role(server, "vega", "not_spawned");
    let task = worker.said(&["board", "add", "write the report", "--assignee", "luna"]);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.example"]).args(args);
        assert!(git.current_dir(worker.home()).status().unwrap().success(), "{args:?}");
    };
    git(&["init", "-q", "repo"]);
    git(&["-C", "repo", "commit", "-q", "--allow-empty", "-m", "begin"]);
    for runtime in ["claude", "codex"] {
        let mut spawn = worker.command(&["coord", "spawn", "--task", &task, "--runtime", runtime]);
        let done = spawn.current_dir(worker.home().join("repo")).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.lines().count()), (Some(77), 1), "{said}");
        assert!(
            said.contains("the role vega may not speak for a host") && said.contains("not_spawned_watch"),
            "{said}"
        );
    }
    assert!(!worker.home().join("repo/.worktrees").exists());
    let history = client.query("SELECT kind FROM not_spawned.task_events", &[]).unwrap();
    assert_eq!(history.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), ["created"]);

    // Nor is a board moved by who may not pause it, also not for a look.
    let to = worker.home().join("away/own.db");
    for flags in [&["-n"][..], &[]] {
        let from = server.url("vega", "not_spawned");
        let done = worker.call(&[&["board", "copy", &from, to.to_str().unwrap()], flags].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.lines().count()), (Some(77), 1), "{said}");
        assert!(!to.exists() && !worker.home().join("away").exists(), "{flags:?}");
    }
}

#[test]
fn programs_that_are_older_than_their_board_only_look() {
    let Some(server) = shared() else { return };
    let url = made(server, "newer");
    let here = Machine::new("h1", &url);
    let task = here.said(&["board", "add", "write the report", "--assignee", "luna"]);
    Machine::new("h2", &url).said(&["heal"]);
    let mut client = postgres::Client::connect(&server.plain(), postgres::NoTls).unwrap();
    client.batch_execute("UPDATE newer.meta SET version = 99, min_writer = 99").unwrap();
    assert!(here.said(&["board", "list"]).contains(&task));
    here.said(&["board", "host", "list"]);
    for line in [
        &["board", "add", "another"][..],
        &["board", "claim", &task, "--worker", "luna"],
        &["board", "run", "--assignee", "luna", "--", "true"],
        &["board", "host", "forget", "h2"],
        &["board", "grant", "--worker", "watchbill"],
        &["heal"],
        &["watchbill", "pause", "--for", "1h", "--reason", "the server moves"],
    ] {
        let done = here.call(line);
        let said = String::from_utf8_lossy(&done.stderr);
        let is_told =
            said.contains("to be written by a newer Watchbill alone") && said.contains("upgrade Watchbill");
        assert!(done.status.code() == Some(65) && is_told, "{line:?}: {said}");
    }
}

#[test]
fn a_password_in_an_address_is_refused_and_not_repeated() {
    let machine = Machine::new("h1", "postgres://anna:geheim@db.example/agents");
    for line in [&["heal"][..], &["board", "list"], &["watchbill", "status"], &["watchbill", "check"]] {
        let done = machine.call(line);
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("password") && !said.contains("geheim"), "{line:?}: {said}");
        assert!(!done.status.success(), "{line:?}");
    }
}
