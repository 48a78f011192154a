//! Sessions of Hermes' workers, written as Hermes writes them: messages into its `state.db`, API calls into `agent.log`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shared::base::time::Time;

use crate::support::now;

/// What a session says, oldest first. Times are seconds before now.
#[derive(Debug, Clone, Default)]
pub struct Session {
    pub id: &'static str,
    /// The session that started it, or that it goes on with.
    pub parent: Option<&'static str>,
    pub rows: Vec<Value>,
    /// Lines of the profile's log, with their age.
    log: Vec<(i64, String)>,
    /// Tokens of its API calls: input that was not cached, input that was, output.
    pub used: [i64; 3],
    pub calls: i64,
    /// How many rows were put away by a compaction in place, and how many it wrote.
    pub compacted: usize,
    pub kept: usize,
    /// It was gone on with in another one after a compaction.
    pub ended: Option<&'static str>,
    ids: usize,
}

impl Session {
    /// The session of a worker that was given its task so many seconds ago.
    pub fn new(ago: i64) -> Session {
        let mut session = Session::named("s_work", None);
        session.user(ago, "work kanban task TASK");
        let begins = "agent.turn_context: conversation turn: session=s_work model=m1 provider=custom platform=cli history=0";
        session.line(ago, &format!("{begins} msg='work kanban task TASK'"));
        session
    }

    pub fn named(id: &'static str, parent: Option<&'static str>) -> Session {
        Session { id, parent, ..Session::default() }
    }

    pub fn user(&mut self, ago: i64, text: &str) -> &mut Session {
        self.rows.push(json!({"ago": ago, "role": "user", "content": text}));
        self
    }

    /// A line of the profile's log.
    pub fn line(&mut self, ago: i64, rest: &str) -> &mut Session {
        self.log.push((ago, rest.to_owned()));
        self
    }

    /// An API call that was answered: input with what was cached, what was cached, output.
    pub fn api(&mut self, ago: i64, [input, cached, output]: [i64; 3]) -> &mut Session {
        self.calls += 1;
        let total = input + output;
        let said = format!(
            "model=m1 provider=custom in={input} out={output} total={total} latency=1.5s cache={cached}/{input} (1%)"
        );
        for (sum, n) in self.used.iter_mut().zip([input - cached, cached, output]) {
            *sum += n;
        }
        self.line(ago, &format!("agent.conversation_loop: API call #{}: {said}", self.calls))
    }

    /// The model calls tools at once; each id, to be answered.
    pub fn calls(&mut self, ago: i64, calls: &[(&str, Value)]) -> Vec<String> {
        let first = self.ids;
        self.ids += calls.len();
        let ids: Vec<String> = (first..self.ids).map(|n| format!("call_{}_{n}", self.id)).collect();
        let one = |(id, (name, arguments)): (&String, &(&str, Value))| {
            json!({"id": id, "call_id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}})
        };
        let all: Vec<Value> = ids.iter().zip(calls).map(one).collect();
        let row = json!({"ago": ago, "role": "assistant", "content": "", "tool_calls": all, "finish_reason": "tool_calls"});
        self.rows.push(row);
        ids
    }

    pub fn answer(&mut self, ago: i64, id: &str, name: &str, content: &str) -> &mut Session {
        let row =
            json!({"ago": ago, "role": "tool", "content": content, "tool_call_id": id, "tool_name": name});
        self.rows.push(row);
        self
    }

    /// A call and what it answered a second later.
    pub fn did(&mut self, ago: i64, name: &str, arguments: Value, content: &str) -> &mut Session {
        let ids = self.calls(ago, &[(name, arguments)]);
        self.answer(ago - 1, &ids[0], name, content)
    }

    /// A command that ended with this exit code.
    pub fn ran(&mut self, ago: i64, command: &str, code: i64) -> &mut Session {
        let said = json!({"output": format!("{command}: said"), "exit_code": code, "error": null});
        self.did(ago, "terminal", json!({"command": command}), &said.to_string())
    }

    pub fn read(&mut self, ago: i64, path: &str, text: &str) -> &mut Session {
        let said = json!({"content": text, "total_lines": 1}).to_string();
        self.did(ago, "read_file", json!({"path": path}), &said)
    }

    pub fn wrote(&mut self, ago: i64, path: &str) -> &mut Session {
        let said = r#"{"bytes_written": 4, "dirs_created": false}"#;
        self.did(ago, "write_file", json!({"path": path, "content": format!("{path} {ago}")}), said)
    }

    pub fn says(&mut self, ago: i64, text: &str, finish: &str) -> &mut Session {
        self.rows.push(json!({"ago": ago, "role": "assistant", "content": text, "finish_reason": finish}));
        self
    }

    /// A compaction in place: all is put away, a summary is written, and of the rows the newest so many once more.
    pub fn compacts(&mut self, ago: i64, kept: usize) -> &mut Session {
        self.compacted = self.rows.len();
        self.kept = kept + 1;
        let tail: Vec<Value> = self.rows[self.rows.len() - kept..].to_vec();
        self.user(ago, "[CONTEXT COMPACTION] what was done so far");
        for mut row in tail {
            row["ago"] = json!(ago);
            self.rows.push(row);
        }
        self
    }

    /// The rows with times of this clock, for this task.
    pub fn rows(&self, task: &str) -> Vec<Value> {
        let with_time = |(n, row): (usize, &Value)| {
            let mut row = row.clone();
            #[expect(clippy::cast_precision_loss, reason = "times of today")]
            let at = (now() - row["ago"].as_i64().unwrap()) as f64 + 0.001 * n as f64;
            row["timestamp"] = json!(at);
            if row["role"] == "user" {
                row["content"] = json!(row["content"].as_str().unwrap().replace("TASK", task));
            }
            row
        };
        self.rows.iter().enumerate().map(with_time).collect()
    }

    /// All of it, for the program that writes it with Hermes' own store.
    #[cfg(feature = "real")]
    pub fn json(&self, task: &str) -> Value {
        json!({"id": self.id, "parent": self.parent, "rows": self.rows(task), "compacted": self.compacted,
            "kept": self.kept, "used": self.used, "calls": self.calls, "ended": self.ended})
    }

    /// Its lines of the profile's log, for this task, in the zone of the tests.
    pub fn log(&self, task: &str) -> String {
        let mut text = String::new();
        for (ago, rest) in &self.log {
            let at = Time(now() - ago).to_string().replace('T', " ").replace('Z', "");
            let rest = rest.replace("TASK", task);
            writeln!(text, "{at},000 INFO [{}] {rest}", self.id).unwrap();
        }
        text
    }
}
