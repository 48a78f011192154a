//! `--host`: other machines, asked over an ssh that runs `watchbill` in another home, or does what a bad one does.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::check::{stop, ticks, watched};
use crate::dry::unchanged;
use crate::support::{Ran, TestBoard, executable, is_gone, now, program, ran, until};
use crate::{terminal, tools};

/// A host is a folder in `hosts`: its home, if there is one, or the way in which it is a bad one.
const SSH: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/told-ssh"
while [ "$1" != -- ]; do shift; done
name=$2 line=$3 home="$HOME/hosts/$2"
case "$name" in
hung*) sleep 300 & echo $! > "$HOME/hung"; wait;;
refused) echo 'ssh: connect to host refused port 22: Connection refused' >&2; exit 255;;
bare) echo 'sh: 1: watchbill: not found' >&2; exit 127;;
chatty) echo 'Welcome to chatty!'; exit 0;;
mute) exit 0;;
cut) echo '{"schema": "watchbill.status/1", "boa'; exit 255;;
huge) head -c 20000000 /dev/zero; exit 0;;
endless) exec yes '{"schema":';;
old) echo "error: unrecognized subcommand 'status'" >&2; exit 2;;
newer) echo '{"schema": "watchbill.status/2", "version": "9.0.0"}'; exit 0;;
empty) echo '{"schema": "watchbill.status/1", "version": "0.1.0"}'; exit 0;;
said) cat "$HOME/answer"; exit "$(cat "$HOME/code" 2>/dev/null || echo 0)";;
esac
[ -d "$home" ] || { echo "ssh: Could not resolve hostname $name: Name or service not known" >&2; exit 255; }
cd "$home" && exec env -i PATH="$home/tools:PROGRAMS:/usr/bin:/bin" HOME="$home" HERMES_HOME="$home" \
  XDG_STATE_HOME="$home/state" WATCHBILL_CONFIG="$home/watchbill.toml" WATCHBILL_TEST_PROC="$home/tools/proc" TZ=UTC sh -c "$line"
"#;

/// `watchbill` with that ssh.
fn command(b: &TestBoard, args: &[&str]) -> std::process::Command {
    let command = tools::watchbill(b, args);
    let folder = std::path::Path::new(program("watchbill")).parent().unwrap();
    let ssh = b.path().join("tools/ssh");
    if !ssh.exists() {
        executable(&ssh, SSH.replace("PROGRAMS", folder.to_str().unwrap()));
    }
    command
}

fn run(b: &TestBoard, args: &[&str]) -> Ran {
    ran(&mut command(b, args))
}

/// A board as another machine.
fn host(b: &TestBoard, name: &str, other: &TestBoard) {
    drop(tools::watchbill(other, &[]));
    let hosts = b.path().join("hosts");
    fs::create_dir_all(&hosts).unwrap();
    std::os::unix::fs::symlink(other.path(), hosts.join(name)).unwrap();
}

/// A board that is well.
fn well() -> TestBoard {
    let b = watched();
    b.add("t_00000001", "ready");
    ticks(&b);
    b
}

/// A machine without a board and without timers, which asks two others: one is well, and a task of the other one needs a person.
fn three() -> (TestBoard, TestBoard, TestBoard) {
    let (laptop, moon, sol) = (TestBoard::new(), well(), watched());
    fs::remove_file(&laptop.db).unwrap();
    stop(&sol, "t_0000000a");
    host(&laptop, "moon", &moon);
    host(&laptop, "sol", &sol);
    (laptop, moon, sol)
}

#[test]
fn one_screen_shows_each_host_with_commands_that_run_from_here() {
    let (laptop, moon, sol) = three();
    let ask = || run(&laptop, &["status", "--host", "moon", "--host", "sol"]).ok();
    let mut said = String::new();
    unchanged(&moon, "status", || said = ask());
    unchanged(&sol, "status", || drop(ask()));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "2 hosts: 1 thing needs you", "{said}");
    assert!(lines[1].starts_with("moon ") && lines[1].contains(": nothing needs you; 1 ready"), "{said}");
    assert!(lines[2].starts_with("sol ") && lines[2].contains(": 1 thing needs you"), "{said}");
    assert!(lines[3].starts_with("! t_0000000a ") && lines[3].contains("which one?"), "{said}");
    assert_eq!(
        lines[4],
        r"    $ ssh sol 'hermes kanban comment t_0000000a '\''YOUR ANSWER'\'' && hermes kanban unblock t_0000000a'"
    );
    assert_eq!(lines.len(), 5, "this machine has no board, which is no news: {said}");
    // A board of that name may be there alone.
    let named = run(&laptop, &["status", "--host", "moon", "--board", "default"]).ok();
    assert!(named.starts_with("1 host: nothing needs you\nmoon "), "{named}");
    for args in [["status"], ["check"], ["report"]] {
        let asked = run(&laptop, &[&args[..], &["--host", "moon", "--board", "nope"]].concat());
        let all = format!("{}{}", asked.out, asked.err);
        assert!(asked.code != 0 && all.contains("no such board"), "{asked:?}");
        assert!(!all.contains("not scheduled") && !all.contains("ended with"), "{asked:?}");
    }
    fs::remove_file(laptop.path().join("told-ssh")).unwrap();
    // A minute may be over meanwhile.
    let timeless = |said: &str| {
        said.lines().map(|l| l.split_once(" +00:00: ").map_or(l, |(_, l)| l).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!([ask(), ask()].map(|said| timeless(&said)), [timeless(&said), timeless(&said)]);
    // Names with commas between, and each once.
    let again = run(&laptop, &["status", "--host", "moon,sol,moon"]).ok();
    assert_eq!(again.lines().count(), 5, "{again}");
    let told = fs::read_to_string(laptop.path().join("told-ssh")).unwrap();
    assert_eq!(told.lines().count(), 6, "{told}");
    for line in told.lines() {
        assert!(
            line.contains("-o BatchMode=yes -o ConnectTimeout=5 ")
                && line.ends_with("watchbill status --json"),
            "{line}"
        );
    }
}

#[test]
fn this_machine_is_shown_with_the_others_where_it_has_a_board_or_had_one() {
    let (here, moon) = (well(), well());
    host(&here, "moon", &moon);
    let said = run(&here, &["status", "--host", "moon"]).ok();
    assert!(said.starts_with("2 hosts: nothing needs you\n"), "{said}");
    assert_eq!(said.matches(": nothing needs you; 1 ready").count(), 2, "{said}");
    let whole = run(&here, &["status", "--host", "moon", "--json"]).json();
    let one = &whole["hosts"][0];
    assert_eq!(
        (&whole["schema"], &one["host"], &one["fault"]),
        (&"watchbill.status/1".into(), &"moon".into(), &Value::Null)
    );
    assert_eq!((&one["answer"]["schema"], &one["answer"]["needs"]), (&whole["schema"], &whole["needs"]));
    assert!(run(&here, &["status", "--json"]).json().get("hosts").is_none());
    // Flags that mean the same everywhere go with it; a path does not.
    let paths = ["--metrics", "metrics", "--config", "watchbill.toml"];
    let ran = run(
        &here,
        &[&["check", "--host", "moon", "--board", "default", "--now", &now().to_string()], &paths[..]]
            .concat(),
    );
    assert!(!ran.out.contains("unseen=1"), "{ran:?}");
    let told = fs::read_to_string(here.path().join("told-ssh")).unwrap();
    assert!(
        told.lines().last().unwrap().contains("watchbill check --json -w 1000000000 --board default --now 1"),
        "{told}"
    );
    assert!(!told.contains("--metrics") && !told.contains("--config"), "{told}");
    // Timers say that there was a board.
    fs::remove_file(&here.db).unwrap();
    for args in [["status"], ["report"]] {
        let gone = run(&here, &[&args[..], &["--host", "moon"]].concat());
        assert!(gone.code != 0 && format!("{}{}", gone.out, gone.err).contains("no board found"), "{gone:?}");
    }
    let gone = run(&here, &["check", "--host", "moon"]);
    assert_eq!(gone.code, 3, "{gone:?}");
}

#[test]
fn a_host_that_does_not_answer_is_never_well() {
    let (laptop, _moon, _sol) = three();
    let cases = [
        (
            "refused",
            "no connection over ssh: ssh: connect to host refused port 22: Connection refused",
            "try `ssh refused watchbill status`",
        ),
        (
            "nowhere",
            "no connection over ssh: ssh: Could not resolve hostname nowhere",
            "try `ssh nowhere watchbill status`",
        ),
        (
            "bare",
            "no watchbill in the PATH of a command over ssh",
            "on bare: link watchbill into /usr/local/bin",
        ),
        (
            "chatty",
            "answers something else than JSON: Welcome to chatty!",
            "try `ssh chatty watchbill status`",
        ),
        ("mute", "no answer, exit code 0", "try `ssh mute watchbill status`"),
        ("cut", "no connection over ssh", "try `ssh cut watchbill status`"),
        ("huge", "answers more than 4 MiB", "try `ssh huge watchbill status`"),
        ("endless", "answers more than 4 MiB", "try `ssh endless watchbill status`"),
        (
            "old",
            "watchbill does not take this command there: error: unrecognized subcommand 'status'",
            "install the same version of watchbill on old",
        ),
        (
            "newer",
            "watchbill 9.0.0 answers watchbill.status/2, and watchbill.status/1 is read here",
            "install the same version of watchbill on newer",
        ),
        (
            "empty",
            "the answer of watchbill 0.1.0 cannot be read: missing field",
            "install the same version of watchbill on empty",
        ),
    ];
    for (name, says, todo) in cases {
        let began = Instant::now();
        let said = run(&laptop, &["status", "--host", name, "--host", "moon"]);
        assert_eq!((said.code, said.err.as_str()), (1, ""), "{said:?}");
        let lines: Vec<&str> = said.out.lines().collect();
        assert_eq!(
            lines[0],
            format!("2 hosts: not everything could be looked at; not seen: {name}"),
            "{said:?}"
        );
        assert!(lines[1].starts_with(&format!("{name} ")) && lines[1].ends_with(": not seen"), "{said:?}");
        assert!(lines[2].starts_with(&format!("! {says}")), "{said:?}");
        assert!(lines[3].starts_with(&format!("    do: {todo}")), "{said:?}");
        assert!(lines[4].starts_with("moon ") && lines[4].contains(": nothing needs you"), "{said:?}");
        let whole = run(&laptop, &["status", "--host", name, "--json"]);
        assert_eq!(whole.code, 1, "{whole:?}");
        let whole: Value = serde_json::from_str(&whole.out).unwrap();
        let one = &whole["hosts"][0];
        assert!(
            one["answer"].is_null() && one["fault"]["says"].as_str().unwrap().starts_with(says),
            "{whole:#}"
        );
        let checked = run(&laptop, &["check", "--host", name, "--host", "moon"]);
        assert_eq!(checked.code, 3, "{checked:?}");
        assert!(checked.out.starts_with(&format!("WATCHBILL UNKNOWN - {name}: ")), "{checked:?}");
        assert!(checked.out.ends_with(" hosts=2;;;0 unseen=1;;;0\n"), "{checked:?}");
        let report = run(&laptop, &["report", "--host", name, "--host", "moon"]);
        assert!(report.code == 1 && report.out.starts_with(&format!("! {name}: ")), "{report:?}");
        let page = laptop.path().join("page.html");
        let made = run(&laptop, &["page", "--host", name, "--host", "moon", page.to_str().unwrap()]);
        assert!(made.code == 1 && made.out.contains(&format!("not seen: {name}")), "{made:?}");
        assert!(fs::read_to_string(page).unwrap().contains("<h1 class=\"bad\">"));
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
    }
    // A machine that has watchbill and no board says so itself.
    let nothing = TestBoard::new();
    fs::remove_file(&nothing.db).unwrap();
    host(&laptop, "void", &nothing);
    let said = run(&laptop, &["status", "--host", "void"]);
    assert!(said.code == 1 && said.out.contains(": no board found"), "{said:?}");
    assert_eq!(run(&laptop, &["check", "--host", "void"]).code, 2, "nothing starts its watchers");
}

#[test]
fn one_of_five_that_hangs_costs_its_own_answer_and_ten_seconds() {
    let (laptop, moon, _) = three();
    for name in ["a", "b", "c"] {
        host(&laptop, name, &moon);
    }
    let began = Instant::now();
    let said = run(&laptop, &["status", "--host", "a,hung,b,c,moon"]);
    let took = began.elapsed();
    assert!((Duration::from_secs(10)..Duration::from_secs(20)).contains(&took), "{took:?}");
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.out.matches(": nothing needs you").count(), 4, "{said:?}");
    assert!(
        said.out.contains("\n! no answer over ssh within 10 s\n    do: try `ssh hung watchbill status`\nb "),
        "{said:?}"
    );
    // What ssh had started is gone, too.
    let left: i64 = fs::read_to_string(laptop.path().join("hung")).unwrap().trim().parse().unwrap();
    until("the process behind ssh is gone", || is_gone(left));
}

#[test]
fn who_watches_can_leave_while_a_host_is_still_asked() {
    let (laptop, ..) = three();
    for key in ["q", "\u{3}"] {
        let began = Instant::now();
        let watched = command(&laptop, &["status", "--watch", "--host", "moon,hung"]);
        let seen = terminal::typed(&watched, &[key], "q leaves");
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert!(
            seen.code == 0 && seen.left == 0 && seen.text.contains("asking the other hosts"),
            "{}",
            seen.text
        );
        if let Ok(left) = fs::read_to_string(laptop.path().join("hung")) {
            let left = left.trim().parse();
            until("the process behind ssh is gone", || left.as_ref().is_ok_and(|pid| is_gone(*pid)));
        }
    }
}

#[test]
fn a_crowd_of_hosts_that_hang_ends_within_half_a_minute() {
    let laptop = TestBoard::new();
    let names: Vec<String> = (1..=60).map(|n| format!("hung{n}")).collect();
    let began = Instant::now();
    let said = run(&laptop, &["check", "--host", &names.join(","), "--json"]);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(40), "{took:?}");
    let whole: Value = serde_json::from_str(&said.out).unwrap();
    let faults: Vec<&str> =
        whole["hosts"].as_array().unwrap().iter().map(|h| h["fault"]["says"].as_str().unwrap()).collect();
    assert_eq!(faults.len(), 60);
    assert!(faults[0].starts_with("no answer over ssh within 10 s"), "{faults:?}");
    assert!(faults[59].starts_with("was not asked: the others took 30 s"), "{faults:?}");
}

#[test]
fn check_adds_all_hosts_up_and_the_worst_one_counts() {
    let (laptop, moon, sol) = three();
    let check = |args: &[&str]| run(&laptop, &[&["check", "--host", "moon,sol"], args].concat());
    let said = check(&[]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.starts_with(
            "WATCHBILL WARNING - 1 task needs a person (sol: t_0000000a) | needs_person=1;0;;0 "
        ),
        "{said:?}"
    );
    stop(&moon, "t_0000000b");
    stop(&moon, "t_0000000c");
    let said = check(&["-w", "2", "-c", "2"]);
    assert_eq!(said.code, 2, "the figures are those of all: {said:?}");
    assert!(said.out.contains("3 tasks need a person (moon: 2 tasks, sol: t_0000000a)"), "{said:?}");
    let said = check(&["-w", "3"]);
    assert_eq!(
        (said.code, said.out.starts_with("WATCHBILL OK - 2 hosts, 2 boards, ")),
        (0, true),
        "{said:?}"
    );
    let whole: Value = serde_json::from_str(&check(&["-w", "3", "--json"]).out).unwrap();
    assert_eq!(whole["needs_person"].as_array().unwrap().len(), 3);
    assert_eq!(whole["hosts"][1]["answer"]["needs_person"], serde_json::json!(["t_0000000a"]));
    // What is wrong with one of them is said with its name.
    fs::remove_file(sol.path().join("crontab")).unwrap();
    let said = check(&["-w", "3"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.out
            .starts_with("WATCHBILL CRITICAL - sol: heal, synthesize-distress, route-blocked: not scheduled"),
        "{said:?}"
    );
}

#[test]
fn the_report_has_the_lists_of_each_host() {
    let (laptop, moon, sol) = three();
    let said = run(&laptop, &["report", "--host", "moon,sol"]).ok();
    assert!(said.starts_with("sol: default since "), "what is well is no news: {said}");
    assert!(said.contains("\nneeds you\n  t_0000000a "), "{said}");
    assert!(
        said.contains("\n      $ ssh sol 'hermes kanban comment t_0000000a '\\''YOUR ANSWER'\\'' && "),
        "{said}"
    );
    let all = run(&laptop, &["report", "-v", "--host", "moon,sol"]).ok();
    assert!(all.starts_with("moon: default since ") && all.contains(" (12h): all is well; "), "{all}");
    let whole = run(&laptop, &["report", "--since", "2h", "--host", "sol", "--json"]).json();
    assert_eq!(whole["boards"], serde_json::json!([]));
    assert_eq!(whole["hosts"][0]["answer"]["since"], whole["since"]);
    // The same lists as there, but for the command.
    let there = tools::run(&sol, &["report"]).ok();
    let lists = |text: &str| {
        text.lines().skip(1).filter(|l| !l.contains("$ ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lists(&said), lists(&there));
    // Where nothing starts the watchers, no board is well.
    for lost in ["crontab", "state/watchbill/metrics/heal.prom"] {
        fs::remove_file(moon.path().join(lost)).unwrap();
    }
    let idle = run(&laptop, &["report", "-v", "--host", "moon"]).ok();
    let wanted =
        "! moon: heal: not scheduled, held tasks stay held\n    do: ssh moon 'watchbill timers install'\n";
    assert!(idle.starts_with(wanted) && !idle.contains("all is well"), "{idle}");
    // A board that cannot be read there is said here.
    fs::write(&sol.db, "no board at all, and long enough to be read as one").unwrap();
    let broken = run(&laptop, &["report", "--host", "sol"]);
    assert!(broken.code == 1 && broken.err.contains("sol: default: "), "{broken:?}");
    let both = run(&laptop, &["report", "--host", "sol", "--html", "page.html"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn the_page_has_a_part_for_each_host_and_a_place_of_its_own() {
    let (laptop, _moon, _sol) = three();
    let said = run(&laptop, &["page", "--host", "moon,sol"]).ok();
    let place = laptop.path().join("state/watchbill/hosts.html");
    assert_eq!(said, format!("{}: 1 thing needs you\n", place.display()));
    let page = fs::read_to_string(place).unwrap();
    assert!(
        page.contains("<h1 class=\"bad\">1 thing needs you</h1>")
            && page.contains("This machine has no board."),
        "{page}"
    );
    let (moon, sol) = (page.find("<h2>On moon</h2>").unwrap(), page.find("<h2>On sol</h2>").unwrap());
    assert!(moon < sol && page[moon..sol].contains("nothing needs you; 1 ready"), "{page}");
    assert!(page[sol..].contains("which one?") && page[sol..].contains("ssh sol"), "{page}");
    let whole = run(&laptop, &["page", "--host", "sol", "--json"]).json();
    assert_eq!((&whole["needs"], &whole["hosts"][0]["host"]), (&1.into(), &"sol".into()));
    // A good night is green.
    run(&laptop, &["page", "--host", "moon", "good.html"]).ok();
    let good = fs::read_to_string(laptop.path().join("good.html")).unwrap();
    assert!(good.contains("<h1 class=\"good\">Nothing needs you</h1>"), "{good}");
}

#[test]
fn a_name_is_never_an_option_nor_a_command() {
    let laptop = TestBoard::new();
    for name in [
        "-oProxyCommand=touch here",
        "-F/tmp/x",
        "",
        "moon;touch here",
        "moon\nsol",
        "a b",
        "$(touch here)",
        "\u{1b}[2J",
    ] {
        for command in ["status", "check", "report", "page"] {
            let said = run(&laptop, &[command, &format!("--host={name}")]);
            assert_eq!(said.code, if command == "check" { 3 } else { 2 }, "{name:?}: {said:?}");
            assert!(said.err.contains("host") && !said.err.contains('\u{1b}'), "{name:?}: {said:?}");
        }
    }
    assert!(!laptop.path().join("told-ssh").exists() && !laptop.path().join("here").exists());
    let said = run(&laptop, &["status", "--host", "-oProxyCommand=x"]);
    assert_eq!(said.code, 2, "{said:?}");
    for name in ["anna@moon", "moon.example.org", "10.0.0.7", "fe80::1%eth0", "ssh://anna@moon:2222"] {
        let said = run(&laptop, &["status", "--host", name]);
        assert!(said.code == 1 && said.out.contains(&format!("\n{name} ")), "{said:?}");
    }
}

#[test]
fn what_another_machine_says_is_text() {
    let (laptop, ..) = three();
    let key = format!("sk-ant-api03-{}", "abcdefghij".repeat(9));
    let nasty = format!("x\u{1b}[2J\u{202e}<b>\nWATCHBILL OK | {key}");
    let need = serde_json::json!({
        "key": nasty, "cause": "quota", "board": nasty, "says": nasty, "tasks": [{"id": nasty, "title": nasty, "new": 1}],
        "since": null, "next": null, "run": format!("'; touch here; {nasty}"), "todo": nasty, "of_a_later_version": [1],
    });
    let answer = serde_json::json!({
        "schema": "watchbill.status/1", "version": nasty, "now": "2026-11-21T03:12:05Z", "since": "2026-11-20T15:12:05Z",
        "host": nasty, "needs": [need], "boards": [], "unknown": [nasty], "of_a_later_version": {},
    });
    fs::write(laptop.path().join("answer"), answer.to_string()).unwrap();
    let page = laptop.path().join("page.html");
    for args in [
        &["status", "--host", "said"][..],
        &["status", "--json", "--host", "said"],
        &["page", "--host", "said", "page.html"],
    ] {
        let said = run(&laptop, args);
        for c in ['\u{1b}', '\u{202e}'] {
            assert!(!said.out.contains(c), "{said:?}");
        }
        assert!(!said.out.contains(&key) && said.err.is_empty(), "{said:?}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("<b>\n") && html.contains("&lt;b&gt;") && !html.contains(&key), "{html}");
    let ran = run(&laptop, &["status", "--host", "said"]);
    assert_eq!(ran.code, 1, "something is unknown there: {ran:?}");
    let said = ran.out;
    assert!(said.lines().skip(1).all(|l| !l.starts_with("WATCHBILL")), "{said}");
    let line = said.lines().find_map(|l| l.trim().strip_prefix("$ ")).unwrap_or_else(|| panic!("{said}"));
    // The command is one word for ssh: nothing of it runs here.
    let shell = command(&laptop, &[]);
    let path = shell.get_envs().find(|(k, _)| *k == "PATH").unwrap().1.unwrap().to_owned();
    let mut sh = std::process::Command::new("sh");
    drop(crate::support::ran(
        sh.args(["-c", line]).env("PATH", path).env("HOME", laptop.path()).current_dir(laptop.path()),
    ));
    assert!(!laptop.path().join("here").exists(), "{line}");
    // An answer of another command does not count.
    let checked = run(&laptop, &["check", "--host", "said"]);
    assert_eq!(checked.code, 3, "{checked:?}");
}

#[test]
fn an_answer_of_a_program_that_failed_is_not_well() {
    let (laptop, _moon, _sol) = three();
    let status = serde_json::json!({
        "schema": "watchbill.status/1", "version": "0.1.0", "now": "2026-11-21T03:12:05Z", "since": "2026-11-20T15:12:05Z",
        "host": "x", "needs": [], "boards": [], "unknown": [],
    });
    let check = serde_json::json!({
        "schema": "watchbill.check/1", "version": "0.1.0", "state": "OK", "exit": 0, "said": "fine", "boards": 1, "open": 0,
        "needs_person": [], "paused": 0, "wedged": 0, "overdue": 0,
    });
    for (code, word) in [("1", "watchbill ended with 1 there"), ("255", "no connection over ssh")] {
        fs::write(laptop.path().join("code"), code).unwrap();
        fs::write(laptop.path().join("answer"), status.to_string()).unwrap();
        let said = run(&laptop, &["status", "--host", "said"]);
        assert!(said.code == 1 && said.out.contains(word), "{said:?}");
        assert!(!said.out.contains("nothing needs you"), "{said:?}");
        fs::write(laptop.path().join("answer"), check.to_string()).unwrap();
        let said = run(&laptop, &["check", "--host", "said"]);
        assert!(said.code == 3 && said.out.contains(word), "{said:?}");
    }
    fs::write(laptop.path().join("code"), "0").unwrap();
    assert_eq!(run(&laptop, &["check", "--host", "said"]).code, 0);
}

/// What one machine says leaves room for what is said of the others, and on the screen.
#[test]
fn a_host_that_says_much_hides_no_other_one() {
    let (laptop, _moon, _sol) = three();
    let (answer, much) = (laptop.path().join("answer"), "too much ".repeat(50_000));
    let check = serde_json::json!({
        "schema": "watchbill.check/1", "version": "0.1.0", "state": "CRITICAL", "exit": 2, "said": much, "boards": 1, "open": 1,
        "needs_person": [much], "paused": 0, "wedged": 0, "overdue": 0,
    });
    fs::write(&answer, check.to_string()).unwrap();
    fs::write(laptop.path().join("code"), "2").unwrap();
    let said = run(&laptop, &["check", "--host", "said,refused,sol"]);
    assert_eq!(said.code, 2, "{}", said.out.len());
    assert!(
        said.out.starts_with("WATCHBILL CRITICAL - said: too much ") && said.out.len() < 1_200,
        "{said:?}"
    );
    assert!(said.out.contains("; refused: no connection over ssh: "), "{said:?}");
    assert!(said.out.contains("…, sol: t_0000000a) | "), "{said:?}");
    fs::remove_file(laptop.path().join("code")).unwrap();
    let need = serde_json::json!({
        "key": much, "cause": much, "board": much, "says": much, "tasks": [], "since": null, "next": null, "run": much,
        "todo": much,
    });
    let now = now();
    let status = serde_json::json!({
        "schema": "watchbill.status/1", "version": "0.1.0", "now": now, "since": now, "host": "x", "needs": [need],
        "boards": [], "unknown": [much],
    });
    fs::write(&answer, status.to_string()).unwrap();
    let said = run(&laptop, &["status", "--host", "said"]);
    assert!(said.out.contains("$ ssh said watchbill status") && said.out.len() < 3_000, "{}", said.out);
    let whole = run(&laptop, &["report", "--host", "sol", "--json"]);
    let mut report: Value = serde_json::from_str(&whole.out).unwrap();
    let mut report = report["hosts"][0]["answer"].take();
    report["boards"][0]["needs_you"][0]["task"] = much.as_str().into();
    report["unread"] = serde_json::json!([{"board": much, "path": much, "error": much}]);
    fs::write(&answer, report.to_string()).unwrap();
    let said = run(&laptop, &["report", "--host", "said"]);
    assert!(said.out.contains("too much") && said.out.len() + said.err.len() < 4_000, "{}", said.out.len());
}

/// The answer in `--json` is what that machine printed, however deep it pretends to be.
#[test]
fn an_answer_stays_as_it_was_printed_or_is_none() {
    let (laptop, moon, _) = three();
    let answer = laptop.path().join("answer");
    let printed = run(&moon, &["status", "--json"]).out;
    let later = |value: &str| printed.replacen('{', &format!("{{\n  \"later\": {value},"), 1);
    fs::write(&answer, later("[1.50, \"a\\u0062]\"]")).unwrap();
    for command in ["status", "page"] {
        let said = run(&laptop, &[command, "--host", "said", "--json"]);
        assert!(said.out.contains("\n        \"later\": [1.50, \"a\\u0062]\"],\n"), "{said:?}");
        let whole = said.json();
        assert_eq!(whole["hosts"][0]["answer"]["needs"], serde_json::json!([]));
        assert_eq!((&whole["hosts"][0]["fault"], &whole["hosts"][0]["host"]), (&Value::Null, &"said".into()));
    }
    // What a reader of JSON refuses as a text, or as a number, could hide a secret.
    for value in [r#""sk\ud800""#, "1e999"] {
        fs::write(&answer, later(value)).unwrap();
        let said = run(&laptop, &["status", "--host", "said", "--json"]);
        let whole: Value = serde_json::from_str(&said.out).unwrap();
        assert!(said.code == 1 && whole["hosts"][0]["fault"].is_object(), "{value}: {said:?}");
    }
    for depth in [60, 120, 200_000] {
        fs::write(&answer, later(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)))).unwrap();
        let said = run(&laptop, &["status", "--host", "said", "--json"]);
        let whole: Value = serde_json::from_str(&said.out).unwrap();
        let one = &whole["hosts"][0];
        assert_ne!(one["answer"].is_null(), one["fault"].is_null(), "{depth}: {one:#}");
        assert_eq!(
            (said.code, one["fault"].is_null()),
            if depth < 100 { (0, true) } else { (1, false) },
            "{one:#}"
        );
    }
}

/// An answer that contradicts itself, is of another day or tells of nothing is not well.
#[test]
fn an_answer_that_cannot_be_true_is_not_well() {
    let b = TestBoard::new();
    fs::remove_file(&b.db).unwrap();
    let moon = well();
    host(&b, "moon", &moon);
    let answer = b.path().join("answer");
    for (command, field, untrue) in [
        ("status", "now", serde_json::json!("2026-01-01T00:00:00Z")),
        ("status", "boards", serde_json::json!([])),
        ("report", "now", serde_json::json!("2026-01-01T00:00:00Z")),
        ("check", "paused", serde_json::json!(1)),
        ("check", "boards", serde_json::json!(0)),
    ] {
        let mut whole: Value =
            serde_json::from_str(&run(&moon, &[command, "--json"]).out).unwrap_or_else(|e| panic!("{e}"));
        fs::write(&answer, whole.to_string()).unwrap();
        let well = run(&b, &[command, "--host", "said"]);
        assert_eq!(well.code, 0, "{command}: {well:?}");
        whole[field] = untrue;
        fs::write(&answer, whole.to_string()).unwrap();
        let said = run(&b, &[command, "--host", "said"]);
        let is_told = !said.out.contains("nothing needs you;") && !said.out.contains(" OK ");
        assert!(is_told && said.code != 0, "{command} {field}: {said:?}");
    }
}
