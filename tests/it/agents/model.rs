//! A model on 127.0.0.1. It does what the task says, step by step, and nothing that its prompt says is done.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::tongue::Tongue;

/// The first step, a file to write.
pub const FIRST: &str = "one.txt";
/// The second, a line in another file.
pub const SECOND: &str = "two.txt";

/// What the model asks its agent to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The first step: write [`FIRST`].
    First,
    /// The second step, slowly: its tool runs for five minutes.
    SecondSlowly,
    /// The second step at once.
    Second,
    /// The word to the board that the task is done.
    Complete,
    /// Nothing more.
    Over,
}

/// One request of an agent, as far as it is of the conversation.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What a person or a program told the agent.
    pub prompt: String,
    /// How many tools have answered so far.
    pub answers: usize,
    /// What it was told to do.
    pub told: Answer,
}

/// A provider that ends with the test.
pub struct Model {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    pub fn new(tongue: Tongue) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (record, tongue) = (Arc::clone(&record), tongue.clone());
                // A connection that breaks is an agent that was killed.
                std::thread::spawn(move || drop(serve(stream, &tongue, &record)));
            }
        });
        Model { port, asked }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// What was answered so far.
    pub fn told(&self) -> Vec<Answer> {
        self.asked().iter().map(|a| a.told).collect()
    }
}

/// What such a model does next. Who asks for anything else gets an answer at once. It takes a step for done where the packet in its prompt names the file among those that
/// were touched, and a tool among those that never answered; the task's own text names the files as well.
fn answer(prompt: &str, answers: usize) -> Answer {
    let packet = prompt.split_once("You are resuming an interrupted task.").map_or("", |(_, packet)| packet);
    let line = |label: &str| packet.lines().find(|l| l.contains(label)).unwrap_or_default();
    if !prompt.contains(FIRST) {
        return Answer::Over;
    }
    let is_done = line("Files touched: ").contains(FIRST) && line("Last calls: ").contains("(no answer)");
    let steps = match is_done {
        true => [Answer::Second, Answer::Complete].as_slice(),
        false => [Answer::First, Answer::SecondSlowly, Answer::Complete].as_slice(),
    };
    steps.get(answers).copied().unwrap_or(Answer::Over)
}

/// Requests of one connection, until it is closed.
fn serve(stream: TcpStream, tongue: &Tongue, record: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0_usize);
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let is_post = line.starts_with("POST ");
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        // Whatever asks without tools is about the conversation: a title, a count of tokens.
        let talk = is_post.then(|| tongue.talk(&body)).flatten();
        let (kind, said) = match talk {
            Some((prompt, answers)) => {
                let told = answer(&prompt, answers);
                record.lock().unwrap().push(Asked { prompt, answers, told });
                ("text/event-stream", tongue.say(&body, told))
            }
            None if body["stream"] == true => ("text/event-stream", tongue.say(&body, Answer::Over)),
            None => ("application/json", r#"{"data":[],"models":[],"input_tokens":10}"#.to_owned()),
        };
        write!(
            writer,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{said}",
            said.len()
        )?;
    }
}
