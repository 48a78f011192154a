//! `watchbill demo`: shows what it says, and leaves nothing behind.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, program};

/// Two demos at once would take each other's workers for their own: they give their tasks the same names.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs the demo in this temporary folder. It is killed after a time no healthy one needs.
fn demo(tmp: &Path, args: &[&str]) -> Ran {
    demo_of(tmp, args, |_| {})
}

/// The same; `meanwhile` gets its pid as soon as it runs.
fn demo_of(tmp: &Path, args: &[&str], meanwhile: impl FnOnce(u32)) -> Ran {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut command = Command::new(program("watchbill"));
    command
        .arg("demo")
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", tmp)
        .env("TZ", "UTC");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds: it must be read while it runs.
    let mut pipe = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut out = String::new();
        pipe.read_to_string(&mut out).map(|_| out)
    });
    meanwhile(child.id());
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("the demo does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ran { out: reader.join().unwrap().unwrap(), ..child.wait_with_output().unwrap().into() }
}

/// Processes that were started with this temporary folder in their environment.
fn processes_of(tmp: &Path) -> Vec<String> {
    let mark = format!("TMPDIR={}", tmp.display());
    let of = |pid: &str| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|e| e == mark.as_bytes())
    };
    let names =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
    names.filter(|n| n.parse::<u32>().is_ok() && of(n)).collect()
}

fn left_in(tmp: &Path) -> Vec<String> {
    std::fs::read_dir(tmp).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

fn one<'a>(tasks: &'a Value, id: &str) -> &'a Value {
    let task = tasks.as_array().unwrap().iter().find(|t| t["task"] == id);
    task.unwrap_or_else(|| panic!("no {id}"))
}

fn state<'a>(tasks: &'a Value, id: &str) -> &'a str {
    one(tasks, id)["status"].as_str().unwrap()
}

fn who<'a>(tasks: &'a Value, id: &str) -> &'a str {
    one(tasks, id)["assignee"].as_str().unwrap()
}

#[test]
fn shows_what_it_says_and_leaves_nothing_behind() {
    let tmp = tempfile::tempdir().unwrap();
    // The look at processes must be able to see one: this one counts, and then is gone.
    let mut seen = Command::new("sleep").arg("60").env("TMPDIR", tmp.path()).spawn().unwrap();
    crate::support::until("the process is seen", || processes_of(tmp.path()) == [seen.id().to_string()]);
    seen.kill().unwrap();
    seen.wait().unwrap();

    let ran = demo(tmp.path(), &[]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    for said in [
        "before",
        "after",
        "Port the parser",
        "running, worker killed -9         ready\n",
        "pid taken by a stranger",
        "skipped: a person blocked it by hand",
        "A second pass right after it changed nothing.",
        "Translate the docs   luna -> sol  ready\n",
        "[BLOCKED] t_0000da0a credential_failure",
        "- Blocker type: credential_failure",
        "Update the licences  juno -> sol  ready\n",
        "Update the README    luna         scheduled\n      waits until ",
        "A second pass of both changed nothing.",
        "The other process that has the\nrecycled pid got no signal.",
        "Review the design  running\n      over time: 17m in this attempt, 10m allowed (task)\n",
        "src/lex.rs (untracked): not in scope\n",
        "src/parse.rs (modified): not in scope\n",
        "it drafts a task of its own: src: a review of the parser's design\n",
        "in a working tree of its own on wt/t_",
        "  coord status  busy\n  coord notify  warning: Two of nine are broken\n  coord abort   stopped, with all it started; its task is ready again\n",
        "  $ watchbill status\n",
        "Choose a licence: blocked: ",
        "  watchbill.html: ",
        "  you: would send: ",
        "\n  watchbill doctor ",
        "\n  watchbill init ",
    ] {
        assert!(ran.out.contains(said), "{said:?} is missing:\n{}", ran.out);
    }
    // Where that line breaks depends on how long the number of its worker is.
    let flat = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("its log ends on rate_limit; held until "), "{}", ran.out);
    let wide: Vec<&str> = ran.out.lines().filter(|l| l.chars().count() > 80).collect();
    assert_eq!(wide, [""; 0], "a terminal of 80 columns shows all of it");
    assert!(!ran.out.contains("was restarted since"), "a machine that runs since a minute is shown the same");
    assert_eq!(left_in(tmp.path()), [""; 0], "the folder is removed");
    assert_eq!(processes_of(tmp.path()), [""; 0], "no process is left");
}

#[test]
fn at_a_terminal_it_goes_on_at_a_key() {
    let tmp = tempfile::tempdir().unwrap();
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let shown = |args: &[&str], keys: &[&str]| {
        let mut command = Command::new(program("watchbill"));
        command.arg("demo").args(args).env("PATH", "/usr/bin:/bin").env("TMPDIR", tmp.path());
        crate::terminal::typed(&command, keys, "Enter: the next scene")
    };
    let seen = shown(&[], &["\n"; 6]);
    assert_eq!((seen.code, seen.left), (0, 0), "{}", seen.text);
    assert!(seen.text.contains("\u{1b}[1mA board at 3 am"), "{}", seen.text);
    let fast = shown(&["--fast"], &["\n"]);
    assert_eq!((fast.code, fast.left), (0, 1), "{}", fast.text);
    let stopped = shown(&[], &["\u{3}"]);
    assert_eq!((stopped.code, stopped.left), (130, 0), "{}", stopped.text);
    assert!(!stopped.text.contains("Now your own board"), "{}", stopped.text);
    assert_eq!((left_in(tmp.path()), processes_of(tmp.path())), (vec![], vec![]));
}

#[test]
fn what_stops_it_leaves_nothing_behind() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let tmp = tempfile::tempdir().unwrap();
        let ran = demo_of(tmp.path(), &[], |pid| {
            // Its first worker runs: it is in the middle of something.
            crate::support::until("it has begun", || processes_of(tmp.path()).len() > 1);
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
        });
        assert_eq!((ran.code, &*ran.out, &*ran.err), (130, "", ""), "{ran:?}");
        assert_eq!((left_in(tmp.path()), processes_of(tmp.path())), (vec![], vec![]), "{signal:?}");
    }
}

#[test]
fn json_has_before_and_after() {
    let tmp = tempfile::tempdir().unwrap();
    let all: Value = serde_json::from_str(&demo(tmp.path(), &["--json"]).ok()).unwrap();
    let (before, after) = (&all["before"], &all["after"]);
    // (task, as its workers left it, after one pass)
    let cases = [
        ("t_0000da01", "running", "ready"),
        ("t_0000da02", "running", "ready"),
        ("t_0000da03", "running", "ready"),
        ("t_0000da04", "ready", "ready"),
        ("t_0000da05", "ready", "ready"),
        ("t_0000da06", "blocked", "ready"),
        ("t_0000da07", "running", "scheduled"),
        ("t_0000da08", "blocked", "blocked"),
        ("t_0000da09", "running", "running"),
        ("t_0000da0a", "blocked", "blocked"),
    ];
    for (id, was, is) in cases {
        assert_eq!((state(before, id), state(after, id)), (was, is), "{id}");
    }
    assert_eq!(after.as_array().unwrap().len(), cases.len());
    let claim = |tasks: &Value, n: usize| tasks[n]["claim_lock"].clone();
    assert!(claim(before, 3).is_string() && claim(after, 3).is_null(), "the leaked claim is released");
    let steps = |report: &Value| report["boards"][0]["steps"].as_array().unwrap().clone();
    assert_eq!(steps(&all["heal"]).len(), 7, "{all:#}");
    assert!(steps(&all["heal"]).iter().all(|s| s["outcome"] == "applied"), "{all:#}");
    assert_eq!(steps(&all["again"]), [Value::Null; 0], "a second pass changes nothing");
    assert_eq!(all["stranger_lives"], true);
    let cards: Vec<_> = all["cards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (&c["title"], &c["status"], &c["assignee"]))
        .collect();
    assert_eq!(
        format!("{cards:?}"),
        "[(String(\"[BLOCKED] t_0000da0a credential_failure\"), String(\"ready\"), String(\"tuesday\"))]"
    );
    assert_eq!(steps(&all["synthesize_distress"]).len(), 3, "{all:#}");
    assert_eq!(steps(&all["later"]), [Value::Null; 0], "a second pass changes nothing");
    // (task, who has it before and after the orchestrator's decision was carried out, its state then)
    for (id, was, is, status) in [
        ("t_0000da04", "luna", "luna", "scheduled"),
        ("t_0000da07", "sol", "sol", "ready"),
        ("t_0000da0a", "juno", "sol", "ready"),
    ] {
        let (asked, routed) = (&all["asked"], &all["routed"]);
        assert_eq!((who(asked, id), who(routed, id), state(routed, id)), (was, is, status), "{id}");
    }
    assert_eq!(steps(&all["route_blocked"]).len(), 2, "{all:#}");
    assert_eq!(steps(&all["at_last"]), [Value::Null; 0], "nor does one of route-blocked");
    let budget = &all["budget_check"]["boards"][0];
    assert_eq!(steps(&all["budget_check"]), [Value::Null; 0], "it only looks");
    let review = one(&budget["overview"]["tasks"], "t_0000da09");
    assert_eq!(review["files"]["out_of_scope"], serde_json::json!(["src/lex.rs", "src/parse.rs"]));
    let coord = &all["coord"];
    assert_eq!(coord["status"]["sessions"][0]["state"], "busy");
    assert_eq!((&coord["abort"]["stopped"], &coord["abort"]["mapping"]), (&true.into(), &"aborted".into()));
    assert_eq!(coord["task"]["status"], "ready", "it goes to the next one");
}

#[test]
fn without_a_temporary_folder_it_says_so() {
    let ran = demo(Path::new("/nonexistent"), &[]);
    assert!(ran.fails(66).contains("temporary folder"));
}

/// What a picture shows as text, one line for each line of it.
fn shown(svg: &str) -> String {
    let lines =
        svg.split("<text").skip(1).map(|t| t.split('>').nth(1).unwrap().split("</text").next().unwrap());
    let plain = |line: &str| line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    lines.map(|line| plain(line) + "\n").collect()
}

/// The paragraphs of the demo that begin a scene.
fn titles(out: &str) -> Vec<&str> {
    out.split("\n\n").filter(|p| !p.starts_with(' ') && p.ends_with(':')).collect()
}

#[test]
fn the_picture_of_the_demo_shows_the_scenes_of_today() {
    let tmp = tempfile::tempdir().unwrap();
    let out = demo(tmp.path(), &[]).ok();
    let titles = titles(&out);
    assert!(titles.len() >= 8, "{titles:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = tmp.path().join("demo.svg");
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let script = root.join("contrib/demo-svg");
    let mut command = Command::new(script);
    command.arg("--fast").arg("--watchbill").arg(program("watchbill")).arg("--output").arg(&drawn);
    crate::support::ran(command.env("TMPDIR", tmp.path()).env("TZ", "UTC")).ok();
    for picture in [drawn, root.join("docs/demo.svg")] {
        let at = picture.display();
        let read = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])";
        crate::support::ran(Command::new("python3").arg("-c").arg(read).arg(&picture)).ok();
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.len() < 200_000, "{at} has {} bytes", svg.len());
        let shown = shown(&svg);
        for title in &titles {
            assert!(shown.contains(title), "contrib/demo-svg draws {at} again: it lacks {title:?}");
        }
        assert_eq!(svg.matches("<g class=\"s\"").count(), titles.len(), "{at}");
    }
}
