//! Hermes' own code, warm: one process for each home.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::hermes::home::Home;
use crate::support::Kept;

const CODE: &str = include_str!("gateway.py");

/// A process that does what Hermes' command line and gateway do, whenever it is told to.
pub struct Gateway {
    process: Kept,
    tell: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Gateway {
    /// `gateway` ticks as a gateway does and holds its lock; `cron` ticks in a process of its own each time. Its claims name
    /// it by its pid, or by a word.
    pub fn new(home: &Home, how: &str, names: &str, worker: &Path) -> Gateway {
        let mut command = home.run("python");
        command.env("HERMES_BIN", worker).args(["-c", CODE, how, names]);
        // 0.22 waits for a provider for up to ten minutes before a worker ends.
        command.env("HERMES_KANBAN_TURN_RECOVERY", "0");
        let mut process = Kept(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let tell = process.0.stdin.take().unwrap();
        let mut said = BufReader::new(process.0.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "\"ready\"");
        Gateway { process, tell, said }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Calls a function of `kanban_db` by its name.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: &Value) -> Value {
        writeln!(self.tell, "{}", json!([name, arguments])).unwrap();
        let line = self.said.next().unwrap_or_else(|| panic!("{name} {arguments}: Hermes is gone")).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// One tick: the tasks it started, or would start.
    #[track_caller]
    pub fn tick(&mut self, dry: bool) -> Vec<String> {
        let said = self.call("tick", &json!({"dry": dry}));
        said.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
    }
}
