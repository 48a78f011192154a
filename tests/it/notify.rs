//! `watchbill notify` tells a receiver on this machine, which refuses, is slow, loses its answer, or is not there.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::check::{stop, ticks, watched};
use crate::dry::unchanged;
use crate::support::{Ran, TestBoard, executable, now, ran, until};
use crate::tools::{self, CRON};

#[cfg(feature = "real")]
mod examples; // apprise and `hermes send`

/// How a receiver answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Status(u16),
    /// Takes the whole message and closes the connection without a word.
    Lost,
    /// Takes the whole message and says nothing as long as the sender waits.
    Silent,
}

/// One request: its path, its headers in small letters, its body.
type Request = (String, String, String);

/// An HTTP receiver on a port of its own. It ends with the test.
struct Receiver {
    at: String,
    got: Arc<Mutex<Vec<Request>>>,
    answer: Arc<Mutex<Answer>>,
}

impl Receiver {
    fn new() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (got, answer) = (Arc::default(), Arc::new(Mutex::new(Answer::Status(200))));
        let receiver = Receiver { at, got: Arc::clone(&got), answer: Arc::clone(&answer) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (got, answer) = (Arc::clone(&got), *answer.lock().unwrap());
                std::thread::spawn(move || serve(stream, &got, answer));
            }
        });
        receiver
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn got(&self) -> Vec<Request> {
        self.got.lock().unwrap().clone()
    }

    /// The bodies, as JSON.
    fn bodies(&self) -> Vec<Value> {
        self.got().iter().map(|(.., body)| serde_json::from_str(body).unwrap()).collect()
    }
}

fn serve(stream: TcpStream, got: &Mutex<Vec<Request>>, answer: Answer) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1).and_then(|l| l.lines().next()?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    got.lock().unwrap().push((path, lower, String::from_utf8(body).unwrap()));
    let mut stream = reader.into_inner();
    match answer {
        Answer::Status(code) => {
            let _ =
                write!(stream, "HTTP/1.1 {code} Told\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        }
        Answer::Lost => {}
        // Until the sender gives up and closes its side.
        Answer::Silent => drop(stream.read(&mut [0])),
    }
}

/// A board that is watched, with this configuration beside it.
fn board(config: &str) -> TestBoard {
    let b = watched();
    ticks(&b);
    fs::write(b.path().join("crontab"), format!("{CRON}*/2 * * * * watchbill notify\n")).unwrap();
    configure(&b, config);
    b
}

/// As if the watchers had come just then.
fn came(b: &TestBoard, at: i64) {
    for record in fs::read_dir(b.path().join("state/watchbill/metrics")).unwrap().flatten() {
        let text = fs::read_to_string(record.path()).unwrap();
        let lasts = ["watchbill_last_pass_timestamp_seconds", "watchbill_board_last_pass_timestamp_seconds"];
        let then = |l: &str| match l.split_once('{').filter(|(name, _)| lasts.contains(name)) {
            Some(_) => format!("{} {at}\n", l.rsplit_once(' ').unwrap().0),
            None => format!("{l}\n"),
        };
        fs::write(record.path(), text.lines().map(then).collect::<String>()).unwrap();
    }
}

fn configure(b: &TestBoard, config: &str) {
    fs::write(b.path().join("config.toml"), config).unwrap();
}

fn command(b: &TestBoard, args: &[&str]) -> Command {
    let config = b.path().join("config.toml");
    let mut command =
        tools::watchbill(b, &[&["notify", "--config", config.to_str().unwrap()], args].concat());
    for proxy in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    command
}

fn notify(b: &TestBoard, args: &[&str]) -> Ran {
    ran(&mut command(b, args))
}

/// A pass so many seconds from now, with watchers that came until then.
fn later(b: &TestBoard, seconds: i64) -> Ran {
    at(b, now() + seconds)
}

fn at(b: &TestBoard, when: i64) -> Ran {
    came(b, when);
    notify(b, &["--now", &when.to_string()])
}

fn webhook(receiver: &Receiver) -> String {
    format!("[notify.hook]\nurl = 'http://{}/hook'\n", receiver.at)
}

/// The needs that a message tells, by cause.
fn began(message: &Value) -> Vec<&str> {
    message["began"].as_array().unwrap().iter().map(|n| n["cause"].as_str().unwrap()).collect()
}

#[test]
fn what_begins_is_told_once_and_so_is_its_end() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    let quiet = notify(&b, &[]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""), "{quiet:?}");
    stop(&b, "t_00000002");
    let title = "1 thing needs you";
    assert!(notify(&b, &[]).ok().starts_with("hook: sent: ") && receiver.got().len() == 1);
    let first = &receiver.bodies()[0];
    assert!(first["title"].as_str().unwrap().ends_with(title), "{first}");
    assert_eq!((first["schema"].as_str(), began(first)), (Some("watchbill.notify/1"), vec!["task"]));
    let text = first["text"].as_str().unwrap();
    assert!(text.starts_with("! t_00000002 ") && text.contains("which one?"), "{text}");
    assert!(text.contains("\n    $ ") && text.contains("comment t_00000002"), "{text}");
    for seconds in [120, 240, 3_000] {
        assert_eq!(later(&b, seconds).ok(), "");
    }
    b.sql("UPDATE tasks SET status = 'done' WHERE id = 't_00000002'");
    assert_eq!(later(&b, 3_120).ok(), "", "not before it has been so for five minutes");
    assert!(later(&b, 3_500).ok().ends_with(": all is well again\n"));
    assert_eq!(later(&b, 3_620).ok(), "");
    let kinds: Vec<Value> = receiver.bodies().iter().map(|m| m["kind"].clone()).collect();
    assert_eq!(kinds, ["needs", "well"]);
}

#[test]
fn a_machine_is_called_what_its_configuration_says() {
    let receiver = Receiver::new();
    let b = board(&format!("[host]\nname = 'night-2'\n{}", webhook(&receiver)));
    stop(&b, "t_00000002");
    assert!(notify(&b, &["--test"]).ok().contains("test message") && notify(&b, &[]).ok().contains("sent"));
    for message in receiver.bodies() {
        assert_eq!(message["host"], "night-2", "{message}");
    }
    let config = b.path().join("config.toml");
    let status = tools::run(&b, &["status", "--config", config.to_str().unwrap()]).ok();
    assert!(status.starts_with("night-2 "), "{status}");
}

#[test]
fn a_dry_run_sends_and_writes_nothing() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    // With its stand-ins for systemctl and the like in place.
    drop(command(&b, &["-n"]));
    unchanged(&b, "notify -n", || {
        let said = notify(&b, &["-n"]).ok();
        assert!(said.starts_with("hook: would send: ") && said.contains("\n    ! t_00000001 "), "{said}");
        let said: Value = serde_json::from_str(&notify(&b, &["-n", "--json"]).ok()).unwrap();
        assert_eq!(
            (&said["schema"], &said["targets"][0]["did"]),
            (&"watchbill.notified/1".into(), &"planned".into())
        );
    });
    assert_eq!(receiver.got().len(), 0);
    assert!(notify(&b, &[]).ok().contains("sent"), "it was not told before");
}

#[test]
fn a_receiver_that_refuses_is_tried_again_and_is_a_finding() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    receiver.answers(Answer::Status(503));
    let failed = notify(&b, &[]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    assert_eq!(failed.err, format!("watchbill notify: hook: {} answers 503\n", receiver.at));
    let waits = notify(&b, &["-v"]);
    assert!(waits.code == 0 && waits.out.contains("hook: waits until "), "{waits:?}");
    for seconds in [120, 400] {
        assert_eq!(later(&b, seconds).code, 1);
    }
    assert_eq!(receiver.got().len(), 3);
    let config = b.path().join("config.toml");
    let config = ["--config", config.to_str().unwrap()];
    let status = tools::run(&b, &[&["status"], &config[..]].concat()).ok();
    assert!(status.contains("! notify hook: the last 3 tries failed, for "), "{status}");
    assert!(status.contains("\n    do: watchbill notify --test --target hook\n"), "{status}");
    let check = tools::run(&b, &[&["check"], &config[..]].concat());
    assert!(check.code == 2 && check.out.contains("notify hook: the last 3 tries failed"), "{check:?}");
    // Once it takes a message again, all of it comes, once; a test by hand is enough to have it tried at once.
    receiver.answers(Answer::Status(204));
    assert!(notify(&b, &["--test", "--target", "hook"]).ok().contains("test message"));
    assert!(later(&b, 410).ok().contains("hook: sent: "));
    assert_eq!(later(&b, 600).ok(), "");
    let all = receiver.bodies();
    let ids: Vec<&Value> = all.iter().filter(|m| m["kind"] == "needs").map(|m| &m["id"]).collect();
    assert!(
        ids.len() == 4 && ids.iter().all(|id| *id == ids[0]),
        "a receiver can tell what it knows: {all:?}"
    );
    assert!(all.iter().all(|m| m["again"] == false), "a refusal is no lost answer");
    assert!(!tools::run(&b, &[&["status"], &config[..]].concat()).ok().contains("notify hook"));
}

#[test]
fn nobody_there_is_told_by_host_alone() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let b = board(&format!("[notify.hook]\nurl = 'http://{gone}/secret-path?key=hidden'\n"));
    stop(&b, "t_00000001");
    let failed = notify(&b, &[]);
    assert_eq!(
        (failed.code, failed.err),
        (1, format!("watchbill notify: hook: {gone} takes no connection\n"))
    );
    let book = fs::read_to_string(b.path().join("state/watchbill/notify/hook.json")).unwrap();
    assert!(!book.contains("secret-path") && !book.contains("hidden"), "{book}");
}

#[test]
fn where_the_answer_was_lost_the_repetition_says_so() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    receiver.answers(Answer::Lost);
    let lost = notify(&b, &[]);
    assert!(lost.code == 1 && lost.err.ends_with("; it may have arrived\n"), "{lost:?}");
    receiver.answers(Answer::Status(200));
    assert!(later(&b, 120).ok().contains("sent"));
    assert_eq!(later(&b, 240).ok(), "");
    let all = receiver.bodies();
    assert_eq!(all.iter().map(|m| m["again"].clone()).collect::<Vec<_>>(), [false, true]);
    assert_eq!(all[0]["id"], all[1]["id"]);
    assert!(all[1]["text"].as_str().unwrap().contains("this may repeat it"), "{all:?}");
}

/// A machine that was off: the first pass is late, and it is there.
#[test]
fn no_pass_tells_that_it_is_overdue_itself() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    let record = b.path().join("state/watchbill/metrics/notify.prom");
    notify(&b, &["--metrics", record.to_str().unwrap()]).ok();
    let (own, late) = (fs::read_to_string(&record).unwrap(), now() + 28_800);
    came(&b, late);
    fs::write(&record, own).unwrap();
    let late = late.to_string();
    assert_eq!(notify(&b, &["--now", &late]).ok(), "");
    let config = b.path().join("config.toml");
    let status = tools::run(&b, &["status", "--config", config.to_str().unwrap(), "--now", &late]).out;
    assert!(status.contains("notify: last pass 8h ago"), "who else looks is told: {status}");
    assert_eq!(receiver.got().len(), 0);
}

#[test]
fn a_configuration_that_is_refused_is_told_once_where_its_targets_are_sound() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    let refused = |targets: &str, args: &[&str]| {
        configure(&b, &format!("[heal]\ngrase = '5m'\n{targets}"));
        let ran = notify(&b, args);
        assert!(ran.code == 78 && ran.err.contains("heal.grase"), "{ran:?}");
        ran.out
    };
    let hook = webhook(&receiver);
    assert!(refused(&hook, &["-n"]).starts_with("hook: would send: "));
    assert_eq!(refused("[notify.hook]\nurl = 7\n", &[]), "", "this one is wrong, too");
    assert_eq!(receiver.got().len(), 0);
    assert!(refused(&hook, &[]).starts_with("hook: sent: "));
    let first = &receiver.bodies()[0];
    assert_eq!(began(first), ["config-invalid"]);
    let text = first["text"].as_str().unwrap();
    assert!(
        text.contains("nothing runs: the configuration is refused: ") && text.contains("grase"),
        "{text}"
    );
    // And no page stays green.
    let (page, config) = (b.path().join("page.html"), b.path().join("config.toml"));
    let made = tools::run(&b, &["page", page.to_str().unwrap(), "--config", config.to_str().unwrap()]);
    let text = fs::read_to_string(&page).unwrap();
    assert!(made.code == 78 && text.contains("<h1 class=\"bad\">1 thing needs you"), "{made:?}: {text}");
    assert!(
        text.contains("nothing runs: the configuration is refused: ") && text.contains("grase"),
        "{text}"
    );
    for seconds in [120, 4_000] {
        assert_eq!(refused(&hook, &["--now", &(now() + seconds).to_string()]), "", "{seconds}");
    }
    // That is mended, and something else is refused.
    configure(&b, &format!("[heal]\ngrace = '5x'\n{hook}"));
    for (seconds, sent) in [(4_010, ""), (4_020, "hook: sent: "), (4_030, "")] {
        let ran = notify(&b, &["--now", &(now() + seconds).to_string()]);
        assert!(
            ran.code == 78 && ran.out.starts_with(sent) && ran.out.is_empty() == sent.is_empty(),
            "{ran:?}"
        );
    }
    configure(&b, &hook);
    assert_eq!(later(&b, 4_120).ok(), "");
    assert!(later(&b, 4_500).ok().ends_with(": all is well again\n"));
    assert_eq!(receiver.got().len(), 3);
}

/// A pass is killed while its message is under way, and at each moment before and behind it.
#[test]
fn a_killed_pass_loses_no_message_and_repeats_none_unsaid() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    receiver.answers(Answer::Silent);
    let mut pass = command(&b, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the message has arrived", || receiver.got().len() == 1);
    pass.kill().unwrap();
    pass.wait().unwrap();
    receiver.answers(Answer::Status(200));
    assert!(notify(&b, &[]).ok().contains("sent"));
    assert_eq!(notify(&b, &[]).ok(), "");
    let again: Vec<Value> = receiver.bodies().iter().map(|m| m["again"].clone()).collect();
    assert_eq!(again, [false, true]);
}

/// The same at every call that changes a file or speaks to the receiver.
#[cfg(feature = "real")]
#[test]
fn a_pass_killed_at_any_call_loses_no_message_and_repeats_none_unsaid() {
    if !crate::crash::strace::may_trace() {
        return;
    }
    let receiver = Receiver::new();
    let trace = tempfile::tempdir().unwrap();
    use std::os::unix::process::ExitStatusExt as _;
    let (mut kills, mut repeated) = (0, 0);
    // Most files that are opened, and most that are read, are those of the look before: some of them are enough.
    let calls = [
        ("rename,renameat,renameat2", 1),
        ("fsync", 1),
        ("connect", 1),
        ("sendto,write,writev", 1),
        ("recvfrom,read", 40),
        ("openat", 40),
    ];
    for (call, step) in calls {
        for nth in (1..1_000).step_by(step) {
            let b = board(&webhook(&receiver));
            stop(&b, "t_00000001");
            let before = receiver.got().len();
            let pass = command(&b, &[]);
            let mut strace = Command::new("strace");
            strace.args(["-f", "-o"]).arg(trace.path().join("trace"));
            strace.args([
                "-e",
                &format!("trace={call}"),
                "-e",
                &format!("inject={call}:signal=KILL:when={nth}"),
            ]);
            strace.arg("--").arg(pass.get_program()).args(pass.get_args());
            strace.env_clear().envs(pass.get_envs().filter_map(|(k, v)| Some((k, v?))));
            let ended = strace.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            if ended.success() {
                break;
            }
            assert_eq!(ended.signal(), Some(9), "{call} {nth}");
            kills += 1;
            let next = notify(&b, &[]);
            assert_eq!(next.code, 0, "{call} {nth}: {next:?}");
            assert_eq!(notify(&b, &[]).ok(), "", "{call} {nth}");
            let told = receiver.bodies().split_off(before);
            assert!(!told.is_empty(), "lost, killed at {call} {nth}");
            assert!(
                told.len() <= 2 && told.iter().skip(1).all(|m| m["again"] == true),
                "{call} {nth}: {told:?}"
            );
            repeated += usize::from(told.len() == 2);
        }
    }
    crate::crash::say(&format!("{kills} kills, {repeated} messages came twice and said so"));
    assert!(kills > 12 && repeated > 0, "{kills} kills, {repeated} repeated");
}

#[test]
fn two_passes_at_once_tell_it_once() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    let all: Vec<_> = (0..6)
        .map(|_| command(&b, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for pass in all {
        let code = pass.wait_with_output().unwrap().status.code();
        assert!(matches!(code, Some(0 | 75)), "{code:?}");
    }
    assert_eq!(receiver.got().len(), 1);
}

#[test]
fn each_service_gets_its_own_form_and_secrets_stay_in_their_files() {
    let receiver = Receiver::new();
    let at = &receiver.at;
    let b = TestBoard::new();
    let file = |name: &str, text: &str| {
        let path = b.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let token = file("token", "\n  tg-secret-1\nsecond line\n");
    let url = file("url", &format!("http://{at}/services/T0/B0/hook-secret\n"));
    configure(
        &b,
        &format!(
            "[notify.a-ntfy]\nurl = 'http://{at}/topic'\nformat = 'ntfy'\ntoken_env = 'NTFY_TOKEN'\n\
             [notify.b-slack]\nurl_file = '{url}'\nformat = 'slack'\n\
             [notify.c-discord]\nurl_env = 'DISCORD_URL'\nformat = 'discord'\n\
             [notify.d-telegram]\nurl = 'http://{at}'\nformat = 'telegram'\ntoken_file = '{token}'\nchat = '-1001'\n"
        ),
    );
    let with_secrets = |command: &mut Command| {
        ran(command
            .env("NTFY_TOKEN", "ntfy-secret-1")
            .env("DISCORD_URL", format!("http://{at}/api/webhooks/1/dc-secret")))
    };
    let sent = with_secrets(&mut command(&b, &["--test"]));
    assert_eq!((sent.code, sent.out.lines().count()), (0, 4), "{sent:?}");
    let got = receiver.got();
    let paths: Vec<&str> = got.iter().map(|(path, ..)| path.as_str()).collect();
    let want =
        ["/", "/services/T0/B0/hook-secret", "/api/webhooks/1/dc-secret", "/bottg-secret-1/sendMessage"];
    assert_eq!(paths, want);
    assert!(
        got[0].1.contains("\r\nauthorization: bearer ntfy-secret-1\r\n")
            && !got[1].1.contains("authorization")
    );
    let bodies = receiver.bodies();
    assert_eq!((&bodies[0]["topic"], &bodies[3]["chat_id"]), (&"topic".into(), &"-1001".into()));
    for (n, key) in [(0, "message"), (1, "text"), (2, "content"), (3, "text")] {
        assert!(
            bodies[n][key].as_str().unwrap().contains("This is a test message of watchbill"),
            "{}",
            bodies[n]
        );
    }
    // What cannot be told says why, and no secret.
    receiver.answers(Answer::Status(401));
    let failed = with_secrets(&mut command(&b, &["--test", "-v", "--json"]));
    assert!(failed.code == 1 && failed.err.contains("answers 401"), "{failed:?}");
    let unset = notify(&b, &["--test"]);
    assert!(unset.err.contains("a-ntfy: NTFY_TOKEN, which holds its token, is not set"), "{unset:?}");
    assert!(unset.err.contains("c-discord: DISCORD_URL, which holds its URL, is not set"), "{unset:?}");
    fs::write(&token, "").unwrap();
    fs::remove_file(&url).unwrap();
    let missing = notify(&b, &["--test"]);
    assert!(missing.err.contains("is empty") && missing.err.contains("url, cannot be read"), "{missing:?}");
    for said in [&sent, &failed, &unset, &missing] {
        assert!(!format!("{said:?}").contains("-secret"), "{said:?}");
    }
}

#[test]
fn a_command_gets_the_message_and_what_it_says_is_told() {
    let b = board("");
    stop(&b, "t_00000001");
    let got = b.path().join("got");
    let tell = |script: &str| {
        let path = b.path().join("tell");
        executable(&path, format!("#!/bin/sh\n{script}"));
        configure(&b, &format!("[notify.own]\ncommand = ['{}', 'one word', '--flag']\n", path.display()));
    };
    tell("echo 'cannot reach a server' >&2; exit 75");
    let failed = notify(&b, &[]);
    assert_eq!(
        (failed.code, failed.err.as_str()),
        (1, "watchbill notify: own: tell ended with 75: cannot reach a server\n")
    );
    tell("kill -9 $$");
    let killed = later(&b, 120);
    assert!(killed.err.ends_with("own: tell was ended by signal 9; it may have arrived\n"), "{killed:?}");
    tell(&format!("{{ echo \"$1|$2|$WATCHBILL_TITLE|$WATCHBILL_TEXT\"; cat; }} > {}", got.display()));
    assert!(later(&b, 600).ok().contains("own: sent: "));
    let text = fs::read_to_string(&got).unwrap();
    assert!(
        text.starts_with("one word|--flag|") && text.contains("1 thing needs you|! t_00000001 "),
        "{text}"
    );
    let object = text.lines().last().unwrap();
    let object: Value = serde_json::from_str(object).unwrap();
    assert_eq!((&object["schema"], &object["again"]), (&"watchbill.notify/1".into(), &true.into()));
    configure(&b, "[notify.own]\ncommand = ['/no/such/program']\n");
    let missing = notify(&b, &["--test"]);
    assert!(missing.err.contains("own: program could not be started: No such file"), "{missing:?}");
}

#[test]
fn a_target_that_fails_keeps_no_other_waiting() {
    let b = board("");
    let tell = b.path().join("tell");
    executable(&tell, "#!/bin/sh\ncd \"$(dirname \"$0\")\"; echo $1 >> order; [ $1 != bad ] || exit 75\n");
    let target = |name: &str| format!("[notify.{name}]\ncommand = ['{}', '{name}']\n", tell.display());
    configure(&b, &[target("bad"), target("good")].concat());
    let order = || fs::read_to_string(b.path().join("order")).unwrap();
    stop(&b, "t_00000001");
    assert!(notify(&b, &[]).out.contains("good: sent"));
    assert_eq!(order(), "bad\ngood\n");
    stop(&b, "t_00000002");
    assert!(later(&b, 120).out.contains("good: sent"));
    assert_eq!(order(), "bad\ngood\ngood\nbad\n");
}

#[test]
fn what_cannot_be_written_down_is_told_all_the_same_and_not_with_every_pass() {
    let receiver = Receiver::new();
    let config = |name: &str| format!("[notify.{name}]\nurl = \"http://{}/\"\n", receiver.at);
    let b = board(&format!("{}{}", config("ada"), config("me")));
    stop(&b, "t_00000001");
    // Nothing takes its place.
    fs::create_dir_all(b.path().join("state/watchbill/notify/ada.json/in-the-way")).unwrap();
    let sent = |ran: &Ran| (ran.code, ran.out.contains("ada: sent: "));
    let first = later(&b, 0);
    assert!(sent(&first) == (1, true) && first.out.contains("me: sent: "), "{first:?}");
    assert!(first.err.contains("ada: what it was told cannot be written down"), "{first:?}");
    assert_eq!(sent(&later(&b, 1_800)), (1, false));
    assert_eq!(sent(&later(&b, 3_660)), (1, true));
}

#[test]
fn where_its_folder_cannot_be_written_messages_go_out_once_an_hour() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    // As where the disk became read-only: no lock and no book can be made.
    fs::create_dir_all(b.path().join("state/watchbill")).unwrap();
    fs::write(b.path().join("state/watchbill/notify"), "").unwrap();
    fs::create_dir(b.path().join("run")).unwrap();
    let start = now();
    let pass = |seconds: i64| {
        let when = start + seconds;
        came(&b, when);
        let run = b.path().join("run");
        let ran = ran(command(&b, &["--now", &when.to_string()]).env("XDG_RUNTIME_DIR", run));
        (ran.code, ran.out.contains("hook: sent: "))
    };
    assert_eq!([0, 120, 3_720].map(pass), [(1, true), (1, false), (1, true)]);
    assert_eq!(receiver.got().len(), 2);
}

/// A board that cannot be read at one look only wakes nobody. Where no look leaves anything to the next one, that cannot be known.
#[test]
fn a_board_that_is_lost_is_told_at_the_second_look_and_at_the_first_where_nothing_is_kept() {
    for is_kept in [true, false] {
        let receiver = Receiver::new();
        let b = board(&webhook(&receiver));
        assert_eq!(later(&b, 0).ok(), "");
        // Hermes lists it, and its file is not there.
        let lost = b.path().join("kanban/boards/night");
        fs::create_dir_all(&lost).unwrap();
        fs::write(lost.join("board.json"), r#"{"slug": "night", "name": "night"}"#).unwrap();
        let folder = b.path().join("state/watchbill/notify");
        if !is_kept {
            fs::remove_dir_all(&folder).unwrap();
            fs::write(&folder, "").unwrap();
        }
        let start = now();
        let pass = |seconds: i64| {
            let when = start + seconds;
            came(&b, when);
            let ran = ran(command(&b, &["--now", &when.to_string()]).env("XDG_RUNTIME_DIR", b.path()));
            ran.out.contains("hook: sent: ")
        };
        assert_eq!([120, 240, 360].map(pass), [!is_kept, is_kept, false], "{:?}", later(&b, 480));
        assert_eq!(began(&receiver.bodies()[0]), ["board-unreadable"]);
    }
}

/// One that hangs keeps all others from telling: no record says that these came.
#[test]
fn a_pass_that_another_one_keeps_from_telling_leaves_no_record() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    let record = b.path().join("state/watchbill/metrics/notify.prom");
    let pass = || notify(&b, &["--metrics", record.to_str().unwrap()]);
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    assert_eq!(pass().code, 0);
    let before = fs::read_to_string(&record).unwrap();
    let lock = fs::File::open(b.path().join("state/watchbill/notify/lock")).unwrap();
    lock.lock().unwrap();
    let kept = pass();
    assert!(kept.code == 75 && kept.err.contains("`fuser -v "), "{kept:?}");
    assert_eq!(fs::read_to_string(&record).unwrap(), before);
    drop(lock);
    assert_eq!(pass().code, 0);
    assert!(fs::read_to_string(&record).unwrap() != before);
}

#[test]
fn what_is_wrong_with_a_target_is_one_line() {
    let b = board("");
    let none = notify(&b, &[]);
    assert_eq!(none.code, 66);
    assert!(none.err.contains("configuration: no target to tell; write a [notify.NAME]"), "{none:?}");
    configure(&b, "[notify.one]\ncommand = ['true']\n");
    let unknown = notify(&b, &["--target", "two"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("--target: no target \"two\" in the configuration; there are: one"),
        "{unknown:?}"
    );
    // A book that is damaged is begun anew, and said.
    stop(&b, "t_00000001");
    assert!(notify(&b, &[]).ok().contains("sent"));
    let book = b.path().join("state/watchbill/notify/one.json");
    fs::write(&book, "{\"schema\": ").unwrap();
    let again = notify(&b, &[]);
    assert!(
        again.code == 0
            && again.out.contains("sent")
            && again.err.contains("what was told before is told again"),
        "{again:?}"
    );
    assert_eq!(notify(&b, &[]).ok(), "");
}

/// A mail server on a port of its own, which takes one mail after the other.
fn mail_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let got: Arc<Mutex<Vec<String>>> = Arc::default();
    let mails = Arc::clone(&got);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut out = stream.try_clone().unwrap();
            let mut mail = String::new();
            let mut is_data = false;
            let _ = out.write_all(b"220 here\r\n");
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let answer = match () {
                    () if is_data && line == "." => {
                        is_data = false;
                        mails.lock().unwrap().push(std::mem::take(&mut mail));
                        "250 taken"
                    }
                    () if is_data => {
                        mail.push_str(&format!("{line}\n"));
                        continue;
                    }
                    () if line.eq_ignore_ascii_case("data") => {
                        is_data = true;
                        "354 go on"
                    }
                    () if line.eq_ignore_ascii_case("quit") => "221 bye",
                    () => {
                        mail.push_str(&format!("{line}\n"));
                        "250 yes"
                    }
                };
                if out.write_all(format!("{answer}\r\n").as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (at, got)
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/notify").join(name)
}

#[test]
fn the_mail_example_brings_it_to_a_mail_server() {
    let (at, got) = mail_server();
    let b = board("");
    stop(&b, "t_00000001");
    let sendmail = "#!/usr/bin/env python3\nimport os, smtplib, sys\n\
        args = sys.argv[1:]\nassert args[:2] == ['-i', '--'], args\n\
        host, port = os.environ['SMTP'].split(':')\n\
        with smtplib.SMTP(host, int(port)) as server:\n    server.sendmail('watchbill@example.org', args[2:], sys.stdin.buffer.read())\n";
    executable(&b.path().join("sendmail"), sendmail);
    let mail = example("mail");
    configure(
        &b,
        &format!("[notify.mail]\ncommand = ['{}', 'anna@example.org', 'ben@example.org']\n", mail.display()),
    );
    let path = format!("{0}:{0}/tools:/usr/bin:/bin", b.path().display());
    let sent = ran(command(&b, &[]).env("PATH", path).env("SMTP", &at));
    assert_eq!((sent.code, sent.err.as_str()), (0, ""), "{sent:?}");
    let mails = got.lock().unwrap().clone();
    assert_eq!(mails.len(), 1);
    let mail = mails[0].replace("\r\n", "\n");
    for needle in [
        "\nrcpt TO:<anna@example.org>\nrcpt TO:<ben@example.org>\n",
        "To: anna@example.org,ben@example.org\nSubject: ",
        ": 1 thing needs you\nMIME-Version: 1.0\n",
        "\n\n! t_00000001 ",
    ] {
        assert!(mail.contains(needle), "{needle:?} in {mail}");
    }
    let nobody = ran(Command::new(example("mail")).env("WATCHBILL_TITLE", "x").env("WATCHBILL_TEXT", "y"));
    assert_eq!((nobody.code, nobody.err.as_str()), (64, "usage: mail ADDRESS...\n"));
}

/// An HTTPS receiver of Python, with a certificate of an authority that only these tests know.
struct Tls {
    python: Child,
    at: String,
}

impl Tls {
    fn new() -> Tls {
        let script = "import http.server, ssl, sys\n\
            class Told(http.server.BaseHTTPRequestHandler):\n\
            \x20   def do_POST(self):\n\
            \x20       body = self.rfile.read(int(self.headers['content-length']))\n\
            \x20       print(body.decode(), flush=True)\n\
            \x20       self.send_response(200)\n\
            \x20       self.end_headers()\n\
            \x20   def log_message(self, *words):\n\
            \x20       pass\n\
            server = http.server.HTTPServer(('127.0.0.1', 0), Told)\n\
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
            context.load_cert_chain(sys.argv[1], sys.argv[2])\n\
            server.socket = context.wrap_socket(server.socket, server_side=True)\n\
            print(server.server_port, flush=True)\n\
            server.serve_forever()\n";
        let mut python = Command::new("python3");
        python.args(["-c", script]).args(["server.pem", "server.key"].map(fixture)).stdout(Stdio::piped());
        let mut python = python.stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        let mut out = BufReader::new(python.stdout.take().unwrap());
        out.read_line(&mut port).unwrap();
        python.stdout = Some(out.into_inner());
        Tls { python, at: format!("127.0.0.1:{}", port.trim()) }
    }

    /// All that it was told, once it has ended.
    fn end(mut self) -> String {
        self.python.kill().unwrap();
        let mut told = String::new();
        self.python.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        self.python.wait().unwrap();
        told
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/notify").join(name)
}

#[test]
fn a_receiver_whose_certificate_nobody_knows_is_told_nothing() {
    let receiver = Tls::new();
    let b = TestBoard::new();
    configure(&b, &format!("[notify.hook]\nurl = 'https://{}/x'\n", receiver.at));
    let unknown = notify(&b, &["--test"]);
    assert!(unknown.code == 1 && unknown.err.contains("certificate"), "{unknown:?}");
    assert!(!unknown.err.contains("may have arrived"), "{unknown:?}");
    ran(command(&b, &["--test"]).env("SSL_CERT_FILE", fixture("ca.pem"))).ok();
    let told = receiver.end();
    assert_eq!(told.lines().count(), 1, "only the one with a known authority: {told}");
    assert!(told.contains("\"kind\":\"test\""), "{told}");
}

/// `hermes::told` has five hours of it.
#[test]
fn twenty_rounds_of_a_bad_night_are_one_message() {
    let receiver = Receiver::new();
    let b = board(&webhook(&receiver));
    stop(&b, "t_00000001");
    let begin = now();
    let round = |n: i64| at(&b, begin + 120 * n).ok();
    assert!(round(0).contains("sent"));
    for n in 1..20 {
        assert_eq!(round(n), "");
    }
    assert_eq!(receiver.got().len(), 1);
}
