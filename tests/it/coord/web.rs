//! Servers on loopback that answer what a test says, and remember what they were asked.

#![cfg_attr(
    not(feature = "real"),
    expect(dead_code, reason = "some answers are given to the real server alone")
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One question.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET /path?query`.
    pub line: String,
    /// Header lines, as they came.
    pub headers: Vec<String>,
    pub body: String,
}

/// What is answered.
pub enum Reply {
    /// Status, type and text.
    Text(u16, &'static str, String),
    /// A stream of these pieces with a pause after each; at its end the connection is closed, or held open.
    Pieces { pieces: Vec<String>, pause: Duration, hangs: bool },
    /// Nothing, until the client goes away.
    Hang,
}

impl Reply {
    pub fn json(text: &str) -> Reply {
        Reply::Text(200, "application/json", text.to_owned())
    }

    /// The page for browsers that opencode gives for whatever it does not know.
    pub fn page() -> Reply {
        Reply::Text(200, "text/html; charset=utf-8", "<!doctype html><title>opencode</title>".to_owned())
    }
}

/// A server; its threads end with the test's process, its port is the test's alone.
pub struct Web {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub fn new(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (record, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &record, &*answer));
            }
        });
        Web { url, asked }
    }

    /// All that was asked of it.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often a path was asked that begins so.
    pub fn count(&self, begins: &str) -> usize {
        self.asked().iter().filter(|a| a.line.starts_with(begins)).count()
    }
}

fn serve(mut stream: TcpStream, record: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Reply) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(asked) = read(&mut reader) {
        record.lock().unwrap().push(asked.clone());
        match answer(&asked) {
            Reply::Text(code, kind, text) => {
                let length = text.len();
                let head = format!(
                    "HTTP/1.1 {code} Said\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
                );
                if stream.write_all((head + &text).as_bytes()).is_err() {
                    return;
                }
            }
            Reply::Pieces { pieces, pause, hangs } => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                for piece in std::iter::once(head.to_owned()).chain(pieces) {
                    if stream.write_all(piece.as_bytes()).is_err() {
                        return;
                    }
                    std::thread::sleep(pause);
                }
                if hangs {
                    let _ = stream.read(&mut [0]);
                }
                return;
            }
            Reply::Hang => {
                let _ = stream.read(&mut [0]);
                return;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0).trim_end_matches(" HTTP/1.1").to_owned();
    let length = lines.iter().find_map(|l| l.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Asked { line, headers: lines, body })
}
