//! Keys and passwords of every shape, wherever a worker can leave them: nothing that we print, write or keep repeats one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use rusqlite::params;
use serde_json::{Value, json};

use self::Asked::{Each, Not, Once};
use crate::contrib::pages::subcommands;
use crate::coord::web::{Reply, Web};
use crate::support::{Ran, TestBoard, dead_pid, now, ran};
use crate::tools;

/// A text with a secret in it, and the parts nobody may see again. No real key stands here, and none that looks like one to a
/// scanner: `§` is left out, and `¤` stands for 36 random letters and digits.
const SHAPES: &[(&str, &[&str])] = &[
    ("s§k-proj-¤", &["¤"]),
    ("s§k-¤", &["¤"]),
    ("s§k-ant-api03-¤", &["¤"]),
    ("s§k-or-v1-¤", &["¤"]),
    ("AI§za¤", &["¤"]),
    ("ya§29.¤", &["¤"]),
    ("xa§i-¤", &["¤"]),
    ("gs§k_¤", &["¤"]),
    ("h§f_¤", &["¤"]),
    ("r§8_¤", &["¤"]),
    ("git§hub_pat_¤", &["¤"]),
    ("gh§p_¤", &["¤"]),
    ("glp§at-¤", &["¤"]),
    ("xox§b-123-¤", &["¤"]),
    ("AK§IA¤", &["¤"]),
    // Without its case nobody knows it for a key.
    ("AK§IALANTERNHARBOURQU", &["LANTERNHARBOURQU"]),
    ("aws_secret_access_key=¤", &["¤"]),
    ("s§k_live_¤", &["¤"]),
    ("whs§ec_¤", &["¤"]),
    ("np§m_¤", &["¤"]),
    ("py§pi-AgE¤", &["¤"]),
    ("S§G.¤", &["¤"]),
    ("hv§s.¤", &["¤"]),
    ("dck§r_pat_¤", &["¤"]),
    ("ey§JhbGciOiJIUzI1NiJ9.¤.¤", &["¤"]),
    ("-----BEGIN RSA PRIV§ATE KEY-----\nMII§E¤¤\n¤\n-----END RSA PRIV§ATE KEY-----", &["¤"]),
    ("Authorization: Bearer ¤", &["¤"]),
    ("Authorization: Basic bHVuYTpsYW50ZXJuMTIz", &["bHVuYTpsYW50ZXJuMTIz"]),
    ("Cookie: sid=lantern-cookie-1", &["lantern-cookie-1"]),
    ("x-api-key: lantern-xkey-2", &["lantern-xkey-2"]),
    ("postgres://app:lantern-pg-3@db.internal/prod", &["lantern-pg-3"]),
    ("https://¤@github.com/a/b", &["¤"]),
    ("DB_PASSWORD=lantern-db-4", &["lantern-db-4"]),
    ("{\"password\": \"lantern-json-5\"}", &["lantern-json-5"]),
    ("{\\\"api_key\\\": \\\"lantern-esc-6\\\"}", &["lantern-esc-6"]),
    ("run --token lantern-flag-7", &["lantern-flag-7"]),
    ("https://h/p?api_key=lantern-query-8&x=1", &["lantern-query-8"]),
    ("curl -u luna:lantern-curl-9 https://h", &["lantern-curl-9"]),
    ("https://hooks.sl§ack.com/services/T1/B2/lantern10hook", &["lantern10hook"]),
    ("1234567890:AA¤", &["¤"]),
    ("AccountKey=¤==", &["¤"]),
    ("client_secret=lantern-client-11", &["lantern-client-11"]),
    ("_authToken=lantern-npm-12", &["lantern-npm-12"]),
    ("password: lantern horse battery", &["lantern horse"]),
    ("passphrase = 'lantern glass 13'", &["glass 13"]),
    ("seen ¤¤ there", &["¤"]),
    ("mysql -uroot -plantern-my-14 db", &["lantern-my-14"]),
    ("sshpass -p lantern-ssh-15 ssh u@h", &["lantern-ssh-15"]),
    ("auth=('admin','lantern-tuple-16')", &["lantern-tuple-16"]),
    ("HTTPBasicAuth(\"admin\", \"lantern-basic-17\")", &["lantern-basic-17"]),
    ("password: |\n  lantern-yaml-18\n  and-line-19\nnext: 1", &["lantern-yaml-18", "and-line-19"]),
    ("it says DB_PASSWORD=lantern horse staple twenty, and ends", &["horse staple twenty"]),
    ("gh§p_q7Rk2ZxV9bTn4LwJ8m\nYc3HgP6sDf5XaQ1eKv", &["q7Rk2ZxV9bTn4LwJ8m", "Yc3HgP6sDf5XaQ1eKv"]),
    ("gh§p_x7Rk2ZxV9bTn4LwJ8m Wc3HgP6sDf5XaQ1eKv", &["x7Rk2ZxV9bTn4LwJ8m", "Wc3HgP6sDf5XaQ1eKv"]),
    ("machine h login bot password lantern-netrc-21", &["lantern-netrc-21"]),
    ("login bot password lantern22netrc", &["lantern22netrc"]),
    (
        "wallet 0xf23c9d0a4b7e6518c2d9e0f1a3b5c7d9e1f20314a5b6c7d8e9f0a1b2c3d4e5f6",
        &["f23c9d0a4b7e6518c2d9e0f1a3b5c7d9e1f20314a5b6c7d8e9f0a1b2c3d4e5f6"],
    ),
    ("the access token 9a8b7c6d5e4f30211203f4e5d6c7b8a9 expired", &["9a8b7c6d5e4f30211203f4e5d6c7b8a9"]),
    ("MISTRAL_API_KEY=0a8b7c6d5e4f30211203f4e5d6c7b8a9", &["0a8b7c6d5e4f30211203f4e5d6c7b8a9"]),
    (
        "mnemonic: lantern ocean garden velvet copper winter silver monkey ribbon castle hollow meadow",
        &["ocean garden", "hollow meadow"],
    ),
    ("redis-cli -a lantern-redis-23 ping", &["lantern-redis-23"]),
];

/// 36 letters and digits that look random, others for each number.
fn random(n: usize) -> String {
    const ALL: &[u8] = b"q7Rk2ZxV9bTn4LwJ8mYc3HgP6sDf5XaQ1eKv0UyWjNtB";
    (0..36).map(|i| char::from(ALL[(i * 17 + i / 44 * 5 + n * 13 + 3) % ALL.len()])).collect()
}

struct Planted {
    text: String,
    secrets: Vec<String>,
}

fn planted() -> Vec<Planted> {
    let filled = |(n, (text, secrets)): (usize, &(&str, &[&str]))| {
        let fill = |s: &&str| s.replace('§', "").replace('¤', &random(n));
        Planted { text: fill(text), secrets: secrets.iter().map(fill).collect() }
    };
    SHAPES.iter().enumerate().map(filled).collect()
}

/// Fails where a text holds a secret, in whatever case.
#[track_caller]
fn clean(what: &str, text: &[u8], all: &[Planted]) {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let found: Vec<String> = all
        .iter()
        .flat_map(|p| p.secrets.iter().map(move |s| (p, s)))
        .filter_map(|(p, s)| {
            let at = text.find(&s.to_lowercase())?;
            let near: String =
                text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            Some(format!("{:?}: ...{near}[here]", p.text))
        })
        .collect();
    assert!(found.is_empty(), "{what}: {} of {} shapes:\n{}", found.len(), all.len(), found.join("\n"));
}

#[track_caller]
fn said(what: &str, ran: &Ran, all: &[Planted]) {
    assert!(ran.code <= 2, "{what}: {ran:?}");
    clean(what, ran.out.as_bytes(), all);
    clean(what, ran.err.as_bytes(), all);
}

impl TestBoard {
    /// A task in one of several states, with this text wherever its worker can write.
    fn leaky(&self, n: usize, text: &str) -> String {
        let id = format!("t_000000{n:02x}");
        let (at, error) = (now() - 600, format!("HTTP 401: refused: {text}"));
        if n % 3 == 2 {
            self.add(&id, "ready");
            self.run_it(&id, Some(dead_pid()), 900);
        } else {
            self.give_up(&id, "pid 4242 not alive", 600);
        }
        let conn = self.open();
        let set = |sql: &str| {
            conn.execute(sql, params![id, text, error]).unwrap();
        };
        set(
            "UPDATE tasks SET title = 'Fix ' || ?2, body = 'Do it. ' || ?2 || '. ' || ?3, last_failure_error = ?3 WHERE id = ?1",
        );
        set(
            "UPDATE task_runs SET error = ?3, summary = 'did ' || ?2, metadata = json_object('note', ?2) WHERE task_id = ?1",
        );
        set(
            "UPDATE task_events SET payload = json_set(payload, '$.error', ?3, '$.reason', ?2) WHERE task_id = ?1 \
             AND kind IN ('gave_up', 'crashed')",
        );
        let said =
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES (?1, 'luna', ?2, ?3)";
        conn.execute(said, params![id, format!("I used {text}"), at]).unwrap();
        if n.is_multiple_of(3) {
            let blocked = "UPDATE task_events SET kind = 'blocked', payload = json_object('reason', ?2, 'kind', 'capability', \
                           'x', ?3) WHERE task_id = ?1 AND kind = 'gave_up'";
            set(blocked);
        }
        let log = format!(
            "Query: work kanban task {id}\nInitializing agent...\n  ┊ $ {text}\n╭─ Hermes ─╮\n    I use {text}\n╰──────────╯\n\
             ⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   \
             🌐 Endpoint: https://api.example/v1\n   📝 Error: HTTP 429: {text}\n\
             ❌ Rate limited after 2 retries — HTTP 429: {text}\n\nDuration:       8s\n"
        );
        self.log(&id, &log);
        id
    }

    /// As if each task's worker had recorded its text as it is, past `board packet`.
    fn packets_say(&self, all: &[Planted], ids: &[String]) {
        let conn = self.open();
        for (id, Planted { text, .. }) in ids.iter().zip(all) {
            let sql = "UPDATE task_events SET payload = json_set(payload, '$.watchbill.packet.step', ?2, \
                       '$.watchbill.packet.next', ?2) WHERE task_id = ?1 AND kind = 'watchbill_packet'";
            assert_eq!(conn.execute(sql, params![id, text]).unwrap(), 1, "{id}");
        }
    }

    /// Everything our programs wrote to the board.
    fn written(&self) -> String {
        let own = "'heal', 'synthesize-distress', 'route-blocked', 'budget-check', 'board'";
        self.value(&format!(
            "SELECT coalesce(group_concat(said, char(10)), '') FROM (
               SELECT title || body || coalesce(result, '') AS said FROM tasks WHERE created_by IN ({own})
               UNION ALL SELECT body FROM task_comments WHERE author IN ({own})
               UNION ALL SELECT payload FROM task_events WHERE json_extract(payload, '$.by') IN ({own})
               UNION ALL SELECT coalesce(summary, '') || coalesce(error, '') FROM task_runs WHERE profile IN ({own}))"
        ))
    }
}

/// How a command is asked here: `ID` and `LOG` are a task and its log, `OUT` is a folder.
enum Asked {
    Once(&'static [&'static [&'static str]]),
    /// Of every task.
    Each(&'static [&'static [&'static str]]),
    /// It repeats nothing of a board but to whom the board gives it.
    Not,
}

impl Asked {
    /// Its arguments, and the number of the task.
    fn ways(&self, ids: &[String]) -> Vec<(&'static [&'static str], usize)> {
        match self {
            Asked::Once(ways) => ways.iter().map(|args| (*args, 0)).collect(),
            Asked::Each(ways) => {
                (0..ids.len()).flat_map(|n| ways.iter().map(move |args| (*args, n))).collect()
            }
            Asked::Not => Vec::new(),
        }
    }
}

/// Every command of `watchbill` that is not a program of its own.
const WATCHBILL: &[(&str, Asked)] = &[
    ("status", Once(&[&[], &["-v"], &["--json"]])),
    ("report", Once(&[&[], &["-v"], &["--json"], &["--since", "24h", "--html", "OUT/report.html"]])),
    ("check", Once(&[&[], &["-v"], &["--json"]])),
    ("providers", Once(&[&[], &["-v"], &["--json"]])),
    ("doctor", Once(&[&[], &["-v"], &["--json"], &["--bundle"]])),
    ("page", Once(&[&["OUT/page.html", "--needs", "OUT/needs.prom"], &["OUT/page.html", "--json"]])),
    (
        "notify",
        Once(&[&["-n"], &["-n", "-v"], &["-n", "--json"], &["--metrics", "OUT/notify.prom"], &["--json"]]),
    ),
    (
        "replay",
        Once(&[
            &["--since", "24h", "-v", "--config", "OUT/other.toml"],
            &["--json", "--config", "OUT/other.toml"],
        ]),
    ),
    ("why", Each(&[&["ID", "--json"], &["ID", "-v"]])),
    ("match", Each(&[&["LOG", "--json"], &["LOG"], &["LOG", "--all"], &["LOG", "--explain"]])),
    ("undo", Each(&[&["ID", "-n", "--json"], &["ID", "-n", "-v"]])),
    ("init", Once(&[&["-n", "-y", "--no-timers"], &["-n", "-y", "--no-timers", "--json"]])),
    (
        "run",
        Once(&[&["-n", "-v"], &["-n", "--json"], &["--all", "-v", "--metrics", "OUT"], &["--all", "--json"]]),
    ),
    ("demo", Not),
    ("timers", Not),
    ("pause", Not),
    ("unpause", Not),
    ("forget", Not),
];

/// Every command of `board`.
const BOARD: &[(&str, Asked)] = &[
    ("list", Once(&[&[], &["--json"], &["--status", "blocked"], &["--status", "done", "--json"]])),
    ("show", Each(&[&["ID"], &["ID", "--json"]])),
    ("packet", Each(&[&["ID"], &["ID", "--json"]])),
    ("copy", Once(&[&["-n", "--leave-running", "OUT/../kanban.db", "OUT/copy.db"]])),
    ("prune", Once(&[&["--older-than", "7d", "-n"], &["--older-than", "7d", "-n", "--json"]])),
    ("protocol", Once(&[&["worker"], &["orchestrator", "--json"]])),
    // A worker is given its task as it stands there.
    ("claim", Not),
    ("run", Not),
    ("lend", Not),
    ("init", Not),
    ("grant", Not),
    ("upgrade", Not),
    ("host", Not),
    ("add", Not),
    ("heartbeat", Not),
    ("comment", Not),
    ("block", Not),
    ("complete", Not),
    ("reassign", Not),
    ("unblock", Not),
    ("link", Not),
    ("unlink", Not),
];

/// Every file below a folder.
fn files(folder: &Path, each: &mut dyn FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => files(&entry.path(), each),
            false => each(&entry.path(), &fs::read(entry.path()).unwrap()),
        }
    }
}

#[test]
fn no_secret_of_any_shape_leaves_any_program() {
    let all = planted();
    let mut b = TestBoard::new();
    let ids: Vec<String> = all.iter().enumerate().map(|(n, p)| b.leaky(n, &p.text)).collect();
    for (id, Planted { text, .. }) in ids.iter().zip(&all) {
        let packet = ["packet", id, &format!("--step=do {text}"), &format!("--mission={text}")];
        said("board packet", &b.hand(&packet), &all);
    }
    let (page, metrics, plan) =
        (b.path().join("page.html"), b.path().join("budget.prom"), b.path().join("plan.json"));
    let pass = |program: &str, later: i64, args: &[&str]| {
        let told = b.pass_later(program, later, args);
        said(&format!("{program} {args:?}"), &told, &all);
        told.out
    };
    let shown = page.to_str().unwrap();
    pass("budget-check", 0, &["--html", shown, "-v", "--metrics", metrics.to_str().unwrap()]);
    pass("budget-check", 0, &["--json", "-v", "-n"]);
    pass("budget-check", 0, &["--lint"]);
    pass("budget-check", 0, &["--lint", "--json"]);
    for later in [0, 400, 4_000] {
        for program in ["heal", "synthesize-distress", "route-blocked"] {
            let planned = pass(program, later, &["-n", "--json", "-v"]);
            fs::write(&plan, planned).unwrap();
            pass(program, later, &["-v"]);
            pass(program, later, &["--json", "--plan", plan.to_str().unwrap()]);
            pass(program, later, &["--json", "-v"]);
        }
    }
    pass("budget-check", 4_100, &["--comment", "--distress", "-v", "--html", shown]);
    for file in [&page, &metrics] {
        clean(&file.display().to_string(), &fs::read(file).unwrap(), &all);
    }
    clean("what was written to the board", b.written().as_bytes(), &all);
    let mut seen = 0;
    files(&b.path().join("state"), &mut |file, bytes| {
        clean(&file.display().to_string(), bytes, &all);
        seen += bytes.len();
    });
    assert!(seen > 100_000, "the memory holds only {seen} bytes");

    b.packets_say(&all, &ids);
    let out = b.path().join("out");
    fs::create_dir(&out).unwrap();
    b.config.push_str(&format!(
        "[notify.own]\ncommand = ['sh', '-c', 'cat >> {0}/told; echo \"$WATCHBILL_TITLE $WATCHBILL_TEXT\" >> {0}/told']\n",
        out.display()
    ));
    fs::write(out.join("other.toml"), format!("{}[heal]\nmax_resets = 0\n", b.config)).unwrap();
    for (program, asked) in [("watchbill", WATCHBILL), ("board", BOARD)] {
        let named: BTreeSet<&str> = asked.iter().map(|(command, _)| *command).collect();
        let there = subcommands(program);
        assert_eq!(named, there.iter().map(String::as_str).collect(), "every command of {program} is asked");
        for (command, asked) in asked {
            let is_of_all = matches!(asked, Once(_));
            for (args, n) in asked.ways(&ids) {
                let of = |word: &str| {
                    let log = || b.path().join(format!("kanban/logs/{}.log", ids[n])).display().to_string();
                    word.replace("ID", &ids[n]).replace("LOG", &log()).replace("OUT", out.to_str().unwrap())
                };
                let args: Vec<String> = std::iter::once(command).chain(args).map(|word| of(word)).collect();
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                // As it is now, or as it is after the passes. No file and no setup has a time of the board.
                let later = (now() + 4_200).to_string();
                let is_timeless = ["match", "init", "protocol"].contains(command);
                let times: &[&[&str]] = if is_timeless { &[&[]] } else { &[&[], &["--now", &later]] };
                let times = if is_of_all { times } else { &times[n % times.len()..][..1] };
                for time in times {
                    let args = [&args[..], time].concat();
                    let what = format!("{program} {args:?}");
                    let ran = match program {
                        "board" => b.hand(&args),
                        _ if is_timeless => tools::run(&b, &args),
                        _ => tools::run(&b, &[&args[..], &["--db", b.db.to_str().unwrap()]].concat()),
                    };
                    assert!(ran.code != 2 || *command == "check", "{what}: {ran:?}");
                    let is_quiet = ran.out.is_empty() && ran.err.is_empty();
                    assert!(!is_quiet || matches!(*command, "match" | "run" | "notify" | "packet"), "{what}");
                    said(&what, &ran, &all);
                }
            }
        }
    }
    let mut left = Vec::new();
    files(&out, &mut |file, bytes| {
        clean(&file.display().to_string(), bytes, &all);
        left.push(file.file_name().unwrap().to_str().unwrap().to_owned());
    });
    for file in ["heal.prom", "needs.prom", "page.html", "report.html", "told"] {
        assert!(left.iter().any(|f| f == file), "no {file}: {left:?}");
    }
}

/// A server of opencode whose provider, answers and refusals repeat the text of a session: `ses_0` the first one.
fn leaky_server(all: &[Planted]) -> Web {
    let texts: Vec<String> = all.iter().map(|p| p.text.clone()).collect();
    let said: Mutex<Vec<(usize, Value)>> = Mutex::default();
    Web::new(move |asked| {
        let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
        if path == "/session/status" {
            // It asks its provider again, is in a state nobody knows, or has ended.
            let state = |(n, text): (usize, &String)| match n % 3 {
                0 => Some((
                    format!("ses_{n}"),
                    json!({"type": "retry", "attempt": 4, "message": text, "next": 1}),
                )),
                1 => Some((format!("ses_{n}"), json!({"type": text}))),
                _ => None,
            };
            let states: serde_json::Map<String, Value> = texts.iter().enumerate().filter_map(state).collect();
            return Reply::json(&Value::Object(states).to_string());
        }
        let number = path.strip_prefix("/session/ses_").and_then(|rest| rest.split('/').next()?.parse().ok());
        let Some(n) = number.filter(|n| *n < texts.len()) else { return Reply::json("[]") };
        let text = &texts[n];
        match path.rsplit('/').next() {
            Some("prompt_async") if n % 3 == 2 => Reply::Text(
                400,
                "application/json",
                json!({"name": "BadRequest", "data": {"message": text}}).to_string(),
            ),
            Some("prompt_async") => {
                let body: Value = serde_json::from_str(&asked.body).unwrap();
                said.lock().unwrap().push((
                    n,
                    json!({
                        "info": {"id": body["messageID"], "role": "user", "time": {"created": now() * 1_000}},
                        "parts": [{"type": "text", "text": body["parts"][0]["text"]}],
                    }),
                ));
                Reply::Text(204, "application/json", String::new())
            }
            Some("message") => {
                let (begun, error) = ((now() - 30) * 1_000, format!("HTTP 429: {text}"));
                let mut messages = vec![json!({
                    "info": {"id": "msg_1", "role": "assistant", "time": {"created": begun, "completed": begun + 1},
                        "error": {"name": "APIError", "data": {"message": error, "statusCode": 429, "isRetryable": false,
                            "responseBody": text}}},
                    "parts": [{"type": "tool", "tool": "invalid", "callID": "c", "id": "prt_1",
                        "state": {"status": "completed", "input": {"tool": text, "error": text}, "output": text,
                            "time": {"start": begun, "end": begun}}}],
                })];
                messages
                    .extend(said.lock().unwrap().iter().filter(|(of, _)| *of == n).map(|(_, m)| m.clone()));
                Reply::json(&json!(messages).to_string())
            }
            Some("children") => Reply::json("[]"),
            Some("abort") => Reply::json("true"),
            _ => {
                Reply::json(&json!({"id": format!("ses_{n}"), "directory": "/w", "title": text}).to_string())
            }
        }
    })
}

#[test]
fn no_secret_of_any_shape_leaves_coord() {
    let all = planted();
    let b = TestBoard::own();
    let server = leaky_server(&all);
    for n in 0..all.len() {
        let id = format!("t_000000{n:02x}");
        b.add(&id, "ready");
        let run = b.run_it(&id, None, 60);
        let payload = json!({"runtime": "opencode", "session": format!("ses_{n}"), "parent": "person:anna",
            "server": server.url, "host": "h", "directory": "/w", "branch": "wt/x", "by": "coord"});
        b.sql(&format!(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
               VALUES ('{id}', {run}, 'coord.spawned', '{payload}', strftime('%s', 'now'))"
        ));
    }
    let coord = |args: &[&str]| {
        let done = ran(b.command("coord").arg("--db").arg(&b.db).args(args).current_dir(b.path()));
        assert!(done.code <= 2 || done.code == 75, "{args:?}: {done:?}");
        // What the caller itself wrote is left out: only what comes back.
        let what = format!(
            "coord {} {}",
            args[0],
            args[1..].iter().filter(|a| a.starts_with('-')).map(|a| format!("{a} ")).collect::<String>()
        );
        clean(&what, done.out.as_bytes(), &all);
        clean(&what, done.err.as_bytes(), &all);
        done.out
    };
    for args in [&["status"][..], &["status", "--json"], &["detect", "-v"], &["detect", "--json"]] {
        assert!(coord(args).contains("ses_2"), "{args:?}");
    }
    coord(&["detect", "--record"]);
    for (n, Planted { text, .. }) in all.iter().enumerate() {
        let (session, task) = (format!("ses_{n}"), format!("t_000000{n:02x}"));
        let json: &[&str] = if n % 2 == 0 { &["--json"] } else { &[] };
        coord(&[&["message", &session, text.trim_start_matches('-')][..], json].concat());
        let level = ["info", "warning", "blocking"][n / 3 % 3];
        coord(
            &[&["notify", text.trim_start_matches('-'), "--from", &task, "--level", level][..], json]
                .concat(),
        );
        if n % 3 == 2 && level == "blocking" {
            coord(&[&["abort", &session, &format!("--reason={text}")][..], json].concat());
        }
    }
    for args in [
        &["status", "--active"][..],
        &["status", "--json"],
        &["detect", "--record"],
        &["events"],
        &["events", "--json"],
    ] {
        assert!(coord(args).len() > 100, "{args:?}");
    }
    clean("what coord wrote to the board", format!("{:?}", b.dump()).as_bytes(), &all);
    for folder in ["state", "kanban"].map(|name| b.path().join(name)).iter().filter(|f| f.is_dir()) {
        files(folder, &mut |file, bytes| clean(&file.display().to_string(), bytes, &all));
    }
}

#[test]
fn a_memory_that_still_has_secrets_is_made_anew() {
    let b = TestBoard::new();
    let state = b.path().join("state/watchbill");
    fs::create_dir_all(&state).unwrap();
    let file = state.join("state.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(
        "CREATE TABLE logs (key TEXT PRIMARY KEY, offset INTEGER NOT NULL, used INTEGER NOT NULL, body TEXT NOT NULL);
         INSERT INTO logs VALUES ('k', 1, 1, 'DB_PASSWORD=lantern-old-1'); PRAGMA user_version = 4;",
    )
    .unwrap();
    drop(old);
    b.crash_loop("t_00000001");
    b.heal(&[]).ok();
    let bytes = fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("lantern-old-1") && bytes.len() > 4_096);
}
