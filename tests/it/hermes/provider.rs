//! A stand-in for a model provider.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use super::home::{Home, PATIENCE};
use crate::support::Kept;

/// A model provider on loopback that ends with the test.
pub struct Provider {
    _process: Kept,
    port: String,
    asked: Receiver<String>,
}

impl Provider {
    pub fn new(home: &Home) -> Provider {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake-provider.py");
        let mut command = home.run("python");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Kept(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.next().expect("a port");
        let (tell, asked) = channel();
        std::thread::spawn(move || lines.try_for_each(|l| tell.send(l)));
        Provider { _process: process, port, asked }
    }

    /// The endpoint of a mode: `ok`, `slow`, `r429` and whatever else the script knows.
    pub fn mode(&self, mode: &str) -> String {
        format!("http://127.0.0.1:{}/{mode}/v1", self.port)
    }

    /// Waits until a worker has asked in this mode.
    #[track_caller]
    pub fn await_question(&self, mode: &str) {
        while self.asked.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("nobody asked {mode}: {e}")) != mode
        {
        }
    }
}
