//! A booted systemd and a running cron: timers that fire by themselves, seen by `doctor`, `check` and `timers status`.
//!
//! Each test boots the systemd of this machine in namespaces of its own, which takes about a second and needs root.
//! `WATCHBILL_BOOT=skip` leaves these tests out, and they say so.

mod package; // the Debian package: installed, upgraded, removed with its timers on

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::{Ran, program, ran};

/// The longest a pass may take to happen on a busy machine whose timers fire every three seconds.
const PATIENCE: Duration = Duration::from_secs(90);
const WATCHERS: &str = "heal synthesize-distress route-blocked budget-check";

/// A booted system. It is taken down when dropped.
pub struct Machine {
    boot: Child,
    said: BufReader<std::process::ChildStdout>,
    /// Its pid 1 and its root folder, as seen from here.
    leader: String,
    folder: String,
}

impl Machine {
    /// Boots; `None` where that was asked to be left out. There are the users `anna`, who has a board, and `bert`.
    #[track_caller]
    pub fn boot() -> Option<Machine> {
        if std::env::var("WATCHBILL_BOOT").is_ok_and(|v| v == "skip") {
            let test = std::thread::current().name().unwrap_or("?").to_owned();
            // Not eprintln: what a passing test prints that way is swallowed.
            let _ = writeln!(std::io::stderr(), "left out, because WATCHBILL_BOOT=skip: {test}");
            return None;
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut boot = Command::new("bash");
        boot.arg(here.join("tests/it/boot/machine.sh"))
            .arg(Path::new(&program("watchbill")).parent().unwrap());
        boot.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut boot = boot.spawn().unwrap();
        let said = BufReader::new(boot.stdout.take().unwrap());
        let mut machine = Machine { boot, said, leader: String::new(), folder: String::new() };
        machine.wait();
        machine.root(
            "useradd -m anna; useradd -m bert; systemctl start dbus systemd-logind; mkdir -p /etc/watchbill
             printf '[host]\\npid_namespace = \"same\"\\n' > /etc/watchbill/config.toml
             runuser -u anna -- sh -c 'mkdir ~/.hermes; board init ~/.hermes/kanban.db'",
        );
        Some(machine)
    }

    #[track_caller]
    fn wait(&mut self) {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        let up = line.trim().strip_prefix("up ").and_then(|up| up.split_once(' '));
        let way_out = "needs root, systemd, dbus and libpam-systemd, or WATCHBILL_BOOT=skip";
        let (leader, folder) = up.unwrap_or_else(|| panic!("no systemd could be booted: {way_out}"));
        (self.leader, self.folder) = (leader.to_owned(), folder.to_owned());
    }

    /// Boots it again, with what is on its disk.
    pub fn reboot(&mut self) {
        self.boot.stdin.as_mut().unwrap().write_all(b"again\n").unwrap();
        self.wait();
    }

    fn inside(&self, words: &[&str]) -> Ran {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.leader, "-a", "/usr/bin/env", "-i"]);
        command.arg("PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").args(words);
        ran(&mut command)
    }

    /// A shell of root, which must end well.
    #[track_caller]
    pub fn root(&self, script: &str) -> String {
        self.inside(&["HOME=/root", "bash", "-ec", script]).ok()
    }

    /// A login shell of a user, as systemd-logind has it.
    pub fn user(&self, name: &str, script: &str) -> Ran {
        let user = format!("User={name}");
        let folder = format!("WorkingDirectory=/home/{name}");
        let run =
            ["systemd-run", "-q", "--wait", "--pipe", "-p", "PAMName=login", "-p", &user, "-p", &folder];
        self.inside(&[&run[..], &["bash", "-lc", &format!("PATH=/usr/local/bin:$PATH; {script}")]].concat())
    }

    /// Anna's board, through the file system of the machine.
    fn board(&self) -> Connection {
        Connection::open(format!("{}/home/anna/.hermes/kanban.db", self.folder)).unwrap()
    }

    fn sql(&self, sql: &str) {
        self.board().execute_batch(sql).unwrap();
        self.root("chown -R anna: /home/anna/.hermes");
    }

    fn value(&self, sql: &str) -> String {
        self.board().query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap().to_string()
    }

    /// Waits until what a user's shell says is as wanted, and gives it.
    #[track_caller]
    pub fn until(&self, name: &str, script: &str, wanted: impl Fn(&Ran) -> bool) -> Ran {
        let began = Instant::now();
        loop {
            let got = self.user(name, script);
            if wanted(&got) {
                return got;
            }
            assert!(began.elapsed() < PATIENCE, "{script}: {got:?}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The end of its stdin takes it down, also where this process dies.
        drop(self.boot.stdin.take());
        let _ = self.boot.wait();
    }
}

/// Has the timers in a folder of units fire every three seconds.
fn hurry(folder: &str) -> String {
    format!(
        "for w in run {WATCHERS}; do mkdir -p {folder}/watchbill-$w.timer.d
         printf '[Timer]\\nOnCalendar=\\nOnCalendar=*:*:0/3\\nRandomizedDelaySec=0\\n' > {folder}/watchbill-$w.timer.d/test.conf; done; "
    )
}

/// What docs/install.md says to write into the drop-in of each system unit, for anna and her board.
fn drop_in() -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/install.md")).unwrap();
    let (_, block) = page.split_once(".service.d/override.conf").unwrap();
    let block = block.split("```ini\n").nth(1).unwrap().split("```").next().unwrap();
    block.replace("agents", "anna")
}

/// System units as docs/install.md has them put there by hand, for anna and her board: of a round, or of each watcher.
fn by_hand(m: &Machine, names: &str) {
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/systemd");
    let mut tar = Command::new("tar");
    let packed = tar.arg("-cC").arg(contrib).arg(".").output().unwrap().stdout;
    let mut unpack = Command::new("nsenter");
    unpack.args(["-t", &m.leader, "-a", "tar", "-xC", "/etc/systemd/system"]).stdin(Stdio::piped());
    let mut unpack = unpack.spawn().unwrap();
    unpack.stdin.take().unwrap().write_all(&packed).unwrap();
    assert!(unpack.wait().unwrap().success());
    m.root(&format!(
        "{} for w in {names}; do mkdir -p /etc/systemd/system/watchbill-$w.service.d
         printf '%s' '{}' > /etc/systemd/system/watchbill-$w.service.d/override.conf; done
         systemctl daemon-reload; for w in {names}; do systemctl enable -q --now watchbill-$w.timer; done",
        hurry("/etc/systemd/system"),
        drop_in()
    ));
}

/// Whether each watcher has a pass on record that ended well.
fn all_passed(said: &Ran) -> bool {
    said.out.matches("exit 0").count() == 4
}

#[test]
fn timers_of_a_user_run_survive_a_reboot_and_are_taken_away() {
    let Some(mut m) = Machine::boot() else { return };
    m.root("loginctl enable-linger anna");
    m.user("anna", "watchbill timers install -q").ok();
    m.user("anna", &format!("{} systemctl --user daemon-reload", hurry("~/.config/systemd/user"))).ok();
    let _ = m.until("anna", "watchbill timers status", all_passed);
    assert_eq!(m.user("anna", "watchbill doctor -q").ok(), "");
    m.user("anna", "watchbill check").ok();

    // A pause is not a failure of a unit.
    m.user("anna", "watchbill pause --reason test").ok();
    let _ = m.until("anna", "systemctl --user show watchbill-run.service -p ExecMainStatus", |r| {
        r.out.contains("=75")
    });
    assert_eq!(m.user("anna", "systemctl --user --failed --plain --no-legend").ok(), "");
    m.user("anna", "watchbill unpause").ok();

    m.reboot();
    let fresh = "stat -c %Y /proc/1 > ~/booted; watchbill timers status --json";
    let _ = m.until("anna", fresh, |r| {
        let said: serde_json::Value = serde_json::from_str(&r.out).unwrap_or_default();
        said["watchers"].as_array().is_some_and(|w| w.iter().all(|w| w["exit"] == 0 && w["overdue"] == false))
    });

    // A shell without a session, as `su -` and monitoring agents have it, reaches the same systemd.
    let bare =
        |script: &str| m.root(&format!("runuser -u anna -- env -i HOME=/home/anna PATH=$PATH {script}"));
    assert_eq!(bare("watchbill doctor -q"), "");
    bare("watchbill check");
    // Units of the machine that we wrote are root's to remove.
    m.root("watchbill timers install --as system -q --hermes-root /home/anna/.hermes || true");
    bare("watchbill timers remove -q");
    let left = m.user("anna", "systemctl --user list-units --all --plain --no-legend 'watchbill-*'").ok();
    assert_eq!(left, "", "nothing of ours is loaded any more");
    m.root("test -e /etc/systemd/system/watchbill-run.timer; watchbill timers remove -q");
    assert_eq!(m.user("anna", "watchbill timers status").code, 1);
}

#[test]
fn passes_of_units_put_there_by_hand_are_seen_and_so_is_their_failure() {
    let Some(m) = Machine::boot() else { return };
    by_hand(&m, WATCHERS);
    let _ = m.until("anna", "watchbill timers status", all_passed);
    assert_eq!(m.user("anna", "watchbill doctor -q").ok(), "");
    m.user("anna", "watchbill check").ok();
    // They are anna's. Nothing watches a board of bert's.
    m.user("bert", "mkdir .hermes; board init .hermes/kanban.db").ok();
    let status = m.user("bert", "watchbill timers status");
    assert!(status.code == 1 && status.out.contains("of another user (anna)"), "{status:?}");
    let doctor = m.user("bert", "watchbill doctor -q");
    assert!(doctor.code == 1 && doctor.out.matches("timers-missing").count() == 4, "{doctor:?}");

    // The program is gone: each pass fails, and that is said with its cause.
    m.root("mv /usr/local/bin/heal /usr/local/bin/heal.old");
    let doctor = m.until("anna", "watchbill doctor -q", |r| r.out.contains("pass-failed"));
    assert!(doctor.code == 1 && doctor.out.contains("heal: its last start"), "{doctor:?}");
    assert!(doctor.out.contains("could not be started (status 12"), "{doctor:?}");
    assert!(doctor.out.contains("journalctl -u watchbill-heal.service"), "{doctor:?}");
    let check = m.user("anna", "watchbill check");
    assert!(check.code == 2 && check.out.contains("could not be started"), "{check:?}");
    assert_eq!(m.user("anna", "watchbill timers status").code, 1);
    m.root("mv /usr/local/bin/heal.old /usr/local/bin/heal");
    let _ = m.until("anna", "watchbill doctor -q", |r| r.code == 0 && r.out.is_empty());
}

#[test]
fn a_hardened_unit_sees_working_trees_in_tmp() {
    let Some(m) = Machine::boot() else { return };
    m.user(
        "anna",
        "mkdir /tmp/proj; cd /tmp/proj; git init -q; echo one > file; git add file
         git -c user.name=a -c user.email=a@b commit -qm one; echo two > file
         board --db ~/.hermes/kanban.db add 'In a tree' --assignee luna; board --db ~/.hermes/kanban.db claim --worker luna",
    )
    .ok();
    m.sql(
        "UPDATE tasks SET workspace_kind = 'dir', workspace_path = '/tmp/proj', worker_pid = 4194300,
           started_at = started_at - 3600, claim_expires = claim_expires - 3600;
         UPDATE task_runs SET started_at = started_at - 3600, worker_pid = 4194300",
    );
    by_hand(&m, "run");
    let noted =
        "SELECT count(*) FROM task_events WHERE json_extract(payload, '$.watchbill.tree.method') = 'git'";
    let _ = m.until("anna", "watchbill timers status", |r| all_passed(r) && m.value(noted) == "1");
}

#[test]
fn cron_starts_the_watchers_of_its_user() {
    let Some(m) = Machine::boot() else { return };
    m.root("systemctl start cron 2>/dev/null || (cron -f & )");
    m.user("anna", "watchbill timers install --as cron -q").ok();
    // Every minute instead of every second one, and one pass right after the other.
    m.user("anna", r"crontab -l | sed -E 's#^(\*/2|[0-9/*,-]+) \* \* \* \*#* * * * *#; s/sleep [0-9]+/sleep 1/' | crontab -").ok();
    let _ = m.until("anna", "watchbill timers status", all_passed);
    m.user("anna", "watchbill check").ok();
    let doctor = m.user("anna", "watchbill doctor -q");
    assert_eq!((doctor.code, &*doctor.out), (0, ""), "{doctor:?}");
    m.user("anna", "watchbill timers remove -q").ok();
    assert_eq!(m.user("anna", "crontab -l").code, 1, "nothing is left in it");
}
