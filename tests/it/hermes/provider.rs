//! A stand-in for model providers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::home::{Home, PATIENCE};
use crate::support::Kept;

/// Model providers on loopback, one for each mode, that end with the test.
pub struct Provider {
    _process: Kept,
    ports: BTreeMap<String, u16>,
    asked: Receiver<String>,
    questions: Arc<Mutex<Vec<Question>>>,
}

/// One request of a worker.
#[derive(Debug, Clone)]
pub struct Question {
    /// The mode that was asked.
    pub mode: String,
    /// It answered with an error.
    #[cfg_attr(not(feature = "real"), expect(dead_code, reason = "only the fleet counts refusals"))]
    pub refused: bool,
    /// The task that is worked on; empty where the conversation names none.
    pub task: String,
    /// The whole conversation.
    pub prompt: String,
}

impl Provider {
    pub fn new(home: &Home) -> Provider {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake-provider.py");
        let mut command = home.run("python");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Kept(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let ports = serde_json::from_str(&lines.next().expect("ports")).unwrap();
        let (tell, asked) = channel();
        let questions = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&questions);
        std::thread::spawn(move || {
            for line in lines {
                let said: Value = serde_json::from_str(&line).unwrap();
                let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
                let (mode, refused) = (text("mode"), said["refused"] == true);
                let question = Question { mode, refused, task: text("task"), prompt: text("prompt") };
                let mode = question.mode.clone();
                record.lock().unwrap().push(question);
                if tell.send(mode).is_err() {
                    return;
                }
            }
        });
        Provider { _process: process, ports, asked, questions }
    }

    /// The endpoint of a mode, `ok`, `slow`, `r429` and whatever else the script knows: a provider of its own.
    pub fn mode(&self, mode: &str) -> String {
        self.beside(mode, mode)
    }

    /// The endpoint of a mode at the provider of another one.
    pub fn beside(&self, mode: &str, of: &str) -> String {
        format!("http://127.0.0.1:{}/{mode}/v1", self.ports[of])
    }

    /// Host and port of a mode.
    pub fn host(&self, mode: &str) -> String {
        format!("127.0.0.1:{}", self.ports[mode])
    }

    /// From now on a mode behaves as another one.
    #[cfg(feature = "real")]
    pub fn turn(&self, mode: &str, into: &str) {
        self.tell(mode, &format!("GET /control/{mode}/{into}"), "");
    }

    /// What the mode `decide` answers, by the task of its card.
    pub fn decides(&self, source: &str, route: &Value) {
        let body = serde_json::json!({source: route}).to_string();
        self.tell("decide", "POST /control/decisions", &body);
    }

    fn tell(&self, mode: &str, what: &str, body: &str) {
        let mut stream = TcpStream::connect(self.host(mode)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    }

    /// Waits until a worker has asked in this mode.
    #[track_caller]
    pub fn await_question(&self, mode: &str) {
        while self.asked.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("nobody asked {mode}: {e}")) != mode
        {
        }
    }

    /// All that was asked in one mode so far.
    pub fn questions(&self, mode: &str) -> Vec<Question> {
        self.questions.lock().unwrap().iter().filter(|q| q.mode == mode).cloned().collect()
    }
}
