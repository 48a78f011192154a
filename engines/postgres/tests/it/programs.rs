//! The programs on a board of a server: what a person and a worker call, beside a real server and real processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::server::{Server, shared};

/// A machine with the programs on it, that calls itself by a name of its own.
pub struct Machine {
    home: tempfile::TempDir,
    name: &'static str,
    url: String,
}

impl Machine {
    pub fn new(name: &'static str, url: &str) -> Machine {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for program in ["watchbill", "heal", "board"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_watchbill-postgres"), bin.join(program)).unwrap();
        }
        Machine { home, name, url: url.to_owned() }
    }

    fn bin(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A program, by its name in the first word, on the board of this machine.
    pub fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(self.bin().join(line[0]));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.home.path());
        command.env("WATCHBILL_HOST_NAME", self.name).env("LC_ALL", "C.UTF-8");
        // The flags of `watchbill` are those of its subcommands.
        let (first, rest) = line[1..].split_at(usize::from(line[0] == "watchbill"));
        command.args(first).args(["--db", &self.url]).args(rest).current_dir(self.home.path());
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

fn made(server: &Server, name: &str) -> String {
    let url = server.url("watchbill", name);
    let machine = Machine::new("h0", &url);
    machine.said(&["board", "init", &url]);
    url
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
    there.said(&["watchbill", "unpause"]);
    here.said(&["heal"]);
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
