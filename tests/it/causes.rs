//! What labelled error texts of every provider are taken for. `tests/fixtures/causes/README.md` says what the labels mean and
//! how the samples are split into two halves.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shared::base::time::Time;
use shared::logs::LogEnd;
use shared::logs::cache::Cache;
use shared::logs::file::{Ask, Of, read};

/// One labelled text.
struct Sample {
    id: String,
    form: String,
    cause: Option<String>,
    http: Option<u64>,
    text: String,
}

impl Sample {
    fn of(line: &str) -> Sample {
        let one: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| one[key].as_str().map(str::to_owned);
        Sample {
            id: text("id").unwrap(),
            form: text("form").unwrap(),
            cause: text("cause"),
            http: one["http"].as_u64(),
            text: text("text").unwrap(),
        }
    }

    /// Whether its misses may be looked at while rules are written.
    fn is_seen(&self) -> bool {
        fnv(self.id.as_bytes()).is_multiple_of(2)
    }

    /// The whole log in which such a text stands.
    fn log(&self) -> String {
        let text = &self.text;
        match self.form.as_str() {
            "plain" => format!("I will read the code first.\nRunning the checks\n{text}\n"),
            "hermes" => hermes(text, &repeated(text)),
            "hermes-answer" => hermes("  ┊ 💻 $         cargo test  1.2s", text),
            "profile" => {
                let started = "2026-11-21 08:17:30,001 INFO [20261121_081729_aa11bb] agent.turn_context: conversation turn: x\n";
                format!(
                    "{started}2026-11-21 08:17:34,678 ERROR [20261121_081729_aa11bb] agent.conversation_loop: {text}\n"
                )
            }
            "claude" => {
                let content = json!({"model": "<synthetic>", "content": [{"type": "text", "text": text}]});
                claude(&[json!({"type": "assistant", "isApiErrorMessage": true, "message": content})])
            }
            "claude-text" => claude(&[said_by_claude(text)]),
            "claude-tool" => claude(&[
                json!({"type": "assistant", "message": {"id": "m1", "model": "claude-opus-4-5", "content": [
                    {"type": "tool_use", "id": "u1", "name": "Bash", "input": {"command": "make"}}]}}),
                json!({"type": "user", "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "u1", "is_error": true, "content": text}]}}),
            ]),
            "codex" => {
                let end =
                    json!({"type": "task_complete", "error": {"message": text, "codex_error_info": null}});
                codex(&end)
            }
            "codex-text" => codex(&json!({"type": "task_complete", "last_agent_message": text})),
            "codex-tool" => {
                codex(&json!({"type": "item_completed", "item": {"type": "CommandExecution", "exit_code": 1,
                    "aggregated_output": text}}))
            }
            other => panic!("{}: {other}", self.id),
        }
    }
}

/// What Hermes 0.19 puts in the box below one of its failure lines.
fn repeated(line: &str) -> String {
    let line = line.trim_start_matches("❌ ");
    if let Some((_, detail)) = line.split_once(" retries — ") {
        return format!("API call failed after 3 retries: {detail}");
    }
    let behind = line.strip_prefix("Non-retryable error (HTTP ").and_then(|rest| rest.split_once("): "));
    behind.map_or_else(|| line.replacen(" — ", ": ", 1), |(_, detail)| detail.to_owned())
}

fn hermes(line: &str, answer: &str) -> String {
    let rule = "─".repeat(60);
    let answer: Vec<String> = answer.lines().map(|l| format!("     {l}")).collect();
    let answer = answer.join("\n");
    format!(
        "Query: work kanban task t_1\nInitializing agent...\n{line}\n ─  ⚕ Hermes  {rule}\n\n{answer}\n {rule}\n\n\
         Resume this session with:\n  hermes --resume x\n\nSession:        x\nDuration:       8s\nMessages:       1 (1 user, 0 tool calls)\n"
    )
}

fn claude(lines: &[Value]) -> String {
    let prompt = json!({"type": "user", "sessionId": "s1", "uuid": "p", "timestamp": "2026-11-21T08:07:00.000Z",
        "promptId": "p1", "message": {"role": "user", "content": "work"}});
    let mut all = prompt.to_string();
    for (n, line) in lines.iter().enumerate() {
        let mut line = line.clone();
        line["sessionId"] = json!("s1");
        line["uuid"] = json!(format!("u{n}"));
        line["timestamp"] = json!(format!("2026-11-21T08:07:0{}.000Z", n + 1));
        write!(all, "\n{line}").unwrap();
    }
    all + "\n"
}

fn said_by_claude(text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": "m1", "model": "claude-opus-4-5", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}]}})
}

fn codex(end: &Value) -> String {
    let line = |kind: &str, payload: &Value| {
        json!({"timestamp": "2026-11-21T08:21:21.746Z", "type": kind, "payload": payload}).to_string()
    };
    let meta = line("session_meta", &json!({"id": "s1", "cwd": "/src"}));
    let begun = line("event_msg", &json!({"type": "task_started"}));
    format!("{meta}\n{begun}\n{}\n", line("event_msg", end))
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// What a watcher reads out of a log, where it names a cause at all.
fn named(log: &Path) -> (Option<String>, Option<u64>) {
    let now = Time(1_795_300_000);
    let ask = Ask { path: log, of: Of::Named, since: Time(0), now };
    match read(&ask, &mut Cache::in_memory()).end {
        LogEnd::Ended(e) if e.cause.as_str() != "unknown" => {
            (Some(e.cause.to_string()), e.http.map(u64::from))
        }
        LogEnd::Unreadable(why) => panic!("{}: {why}", log.display()),
        _ => (None, None),
    }
}

/// How one half was read.
#[derive(Default)]
struct Half {
    right: u32,
    wrong: u32,
    missed: u32,
    quiet: u32,
    status: u32,
    misses: Vec<String>,
}

impl Half {
    fn take(&mut self, sample: &Sample, (cause, http): (Option<String>, Option<u64>)) {
        let is_right = cause == sample.cause;
        if !is_right {
            self.misses.push(format!("{} ({}): {cause:?}, not {:?}", sample.id, sample.form, sample.cause));
        }
        match (&cause, &sample.cause) {
            (None, None) => self.quiet += 1,
            (Some(_), Some(_)) if is_right => self.right += 1,
            (found, label) => {
                self.wrong += u32::from(found.is_some());
                self.missed += u32::from(label.is_some());
            }
        }
        if is_right && cause.is_some() && http != sample.http {
            self.status += 1;
            self.misses
                .push(format!("{} ({}): status {http:?}, not {:?}", sample.id, sample.form, sample.http));
        }
    }

    fn precision(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.wrong).max(1))
    }

    fn recall(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.missed).max(1))
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name}: precision {:.3}, recall {:.3}; right {}, wrong {}, missed {}, rightly nothing {}, right with another status {}",
            self.precision(),
            self.recall(),
            self.right,
            self.wrong,
            self.missed,
            self.quiet,
            self.status
        )
    }
}

fn halves() -> BTreeMap<bool, Half> {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/causes/samples.jsonl");
    let dir = tempfile::tempdir().unwrap();
    let mut halves: BTreeMap<bool, Half> = BTreeMap::new();
    for line in fs::read_to_string(place).unwrap().lines() {
        let sample = Sample::of(line);
        let log = dir.path().join(format!("{}.log", sample.id));
        fs::write(&log, sample.log()).unwrap();
        halves.entry(sample.is_seen()).or_default().take(&sample, named(&log));
    }
    halves
}

#[test]
fn labelled_texts_of_every_provider_are_told() {
    let halves = halves();
    let (seen, unseen) = (&halves[&true], &halves[&false]);
    println!("{}\n{}\n{}", seen.misses.join("\n"), seen.line("seen"), unseen.line("unseen"));
    // The misses of the other half are not for those who write rules.
    if std::env::var_os("WATCHBILL_UNSEEN").is_some() {
        println!("{}", unseen.misses.join("\n"));
    }
    for (name, half) in [("seen", seen), ("unseen", unseen)] {
        assert!(half.right + half.missed >= 100, "{name}: few samples");
        assert!(half.precision() >= 0.98 && half.recall() >= 0.95, "{}", half.line(name));
    }
}
