//! The real opencode server, pinned and installed once, and a repository, a board and a model provider for it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::web::{Asked, Reply, Web};
use crate::installed::Package;
use crate::support::{Kept, Ran, TestBoard, ran};

const VERSION: &str = "1.18.33";
/// A server that starts, or a first answer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program, installed on first use. `None` where it was asked to be left out.
fn program() -> Option<PathBuf> {
    let folder = format!("opencode-{VERSION}");
    let opencode = Package { folder: &folder, variable: "WATCHBILL_OPENCODE", needs: "npm" };
    let home = opencode.home(|home| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(home);
        npm.arg(format!("opencode-linux-x64@{VERSION}"));
        vec![npm]
    })?;
    Some(home.join("node_modules/opencode-linux-x64/bin/opencode"))
}

/// A repository with a board, a provider, and a server that works in it.
pub struct World {
    pub board: TestBoard,
    pub repo: PathBuf,
    pub provider: Web,
    pub server: Server,
}

/// A running server.
pub struct Server {
    process: Kept,
    port: u16,
    pub url: String,
}

impl World {
    /// `None` where the real server was asked to be left out.
    pub fn new() -> Option<World> {
        World::with(&["ok", "hang", "refuse"], |asked| match asked.line.split('/').nth(1) {
            Some("ok") => Reply::Text(200, "text/event-stream", streamed("All good.")),
            Some("refuse") => {
                Reply::Text(503, "application/json", r#"{"error":{"message":"fake 503: overloaded"}}"#.into())
            }
            _ => Reply::Hang,
        })
    }

    /// The same with a provider of one's own, which knows the mode by the first part of the path; each mode is an agent. One of
    /// them must be `ok`, which names sessions.
    pub fn with(modes: &[&str], answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Option<World> {
        let program = program()?;
        let board = TestBoard::own();
        // As git itself names it, whatever links lead to a temporary folder.
        let repo = std::fs::canonicalize(board.path()).unwrap().join("repo");
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(repo.join("README.md"), "A thing.\n").unwrap();
        let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
        for args in
            [&["init", "--quiet", "-b", "main"][..], &["add", "."], &["commit", "--quiet", "-m", "Begin"]]
        {
            ran(Command::new("git").arg("-C").arg(&repo).args(identity).args(args)).ok();
        }
        let provider = Web::new(answer);
        let config = board.path().join("xdg/config/opencode");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("opencode.json"), settings(&provider.url, modes).to_string()).unwrap();
        let server = Server::start(&program, board.path(), &repo, 0);
        Some(World { board, repo, provider, server })
    }

    /// Runs `coord` in the repository.
    pub fn coord(&self, args: &[&str]) -> Ran {
        self.coord_in(&self.repo, args)
    }

    pub fn coord_in(&self, folder: &Path, args: &[&str]) -> Ran {
        ran(&mut self.command(folder, args))
    }

    pub fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.board.command("coord");
        command.env("OPENCODE_SERVER", &self.server.url).current_dir(folder);
        command.arg("--db").arg(&self.board.db).args(args);
        command
    }

    /// A ready task; its id.
    pub fn task(&self, title: &str) -> String {
        self.board.hand(&["add", title, "--body", "Make it so.", "--assignee", "luna"]).ok().trim().to_owned()
    }

    /// A session of a coordinator.
    pub fn coordinator(&self) -> String {
        let directory = self.repo.to_str().unwrap();
        let made =
            self.server.post(&format!("/session?directory={directory}"), &json!({"title": "coordinator"}));
        made["id"].as_str().unwrap().to_owned()
    }

    /// Starts a session for a new task with an agent: `ok`, `hang` or `refuse`. Task and session.
    pub fn spawned(&self, agent: &str, more: &[&str]) -> (String, String) {
        let task = self.task(&format!("Work of {agent}"));
        let args = [&["spawn", "--task", &task, "--agent", agent], more].concat();
        let session = self.coord(&args).ok().trim().to_owned();
        (task, session)
    }

    /// The row of a session in `coord status`.
    #[track_caller]
    pub fn status(&self, session: &str) -> Value {
        let said = self.coord(&["status", session, "--json"]).json();
        assert_eq!(said["sessions"].as_array().unwrap().len(), 1, "{said}");
        said["sessions"][0].clone()
    }

    /// The row once its state is this one.
    #[track_caller]
    pub fn until_state(&self, session: &str, state: &str) -> Value {
        self.server.until(&format!("{session} is {state}"), || {
            Some(self.status(session)).filter(|row| row["state"] == state)
        })
    }

    pub fn git(&self, args: &[&str]) -> String {
        ran(Command::new("git").arg("-C").arg(&self.repo).args(args)).ok()
    }

    /// Working trees and branches, as git lists them.
    pub fn trees(&self) -> (usize, String) {
        let branches = self.git(&["branch", "--format=%(refname:short)"]);
        (self.git(&["worktree", "list"]).lines().count(), branches.lines().collect::<Vec<_>>().join(" "))
    }

    /// `kill -9`, and the server starts again at the same place.
    pub fn restart(&mut self) {
        self.server.process.kill();
        let port = self.server.port;
        self.server = Server::start(&program().unwrap(), self.board.path(), &self.repo, port);
    }

    /// A second server over the same store.
    pub fn second(&self) -> Server {
        Server::start(&program().unwrap(), self.board.path(), &self.repo, 0)
    }
}

impl Server {
    fn start(program: &Path, home: &Path, repo: &Path, port: u16) -> Server {
        let port = if port == 0 {
            TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
        } else {
            port
        };
        let mut command = Command::new(program);
        command.args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()]).current_dir(repo);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
        for (name, folder) in [("DATA", "data"), ("CONFIG", "config"), ("STATE", "state"), ("CACHE", "cache")]
        {
            command.env(format!("XDG_{name}_HOME"), home.join("xdg").join(folder));
        }
        for name in ["AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"] {
            command.env(format!("OPENCODE_DISABLE_{name}"), "1");
        }
        let output = File::create(home.join(format!("serve-{port}.log"))).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let process = Kept(command.spawn().unwrap());
        let server = Server { process, port, url: format!("http://127.0.0.1:{port}") };
        // What arrives while it starts may never be answered.
        let log = home.join(format!("serve-{port}.log"));
        server.until("it listens", || {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            said.contains("listening on").then_some(())
        });
        server
    }

    /// Ends it, and waits until its port refuses: a dead process may still be listened for while the kernel takes it apart.
    pub fn kill(&mut self) {
        self.process.kill();
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => return,
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        panic!("port {} still answers", self.port);
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "")
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, &body.to_string())
    }

    /// Not by our own client: what that believes is what is tested.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        // By its length and not to its end: it does not always close what it was asked to close.
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{method} {path}: {head}");
        }
        let head = head.to_lowercase();
        assert!(head.contains("content-type: application/json"), "{method} {path}: {head}");
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap()];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        serde_json::from_str(&body).unwrap_or_else(|e| panic!("{e}: {body}"))
    }

    /// The messages of a session: role, finish or error, text.
    pub fn messages(&self, session: &str) -> Vec<(String, String, String)> {
        let said = self.get(&format!("/session/{session}/message?limit=100"));
        let one = |m: &Value| {
            let (info, parts) = (&m["info"], m["parts"].as_array().unwrap());
            let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            let texts = parts.iter().filter(|p| p["type"] == "text").map(|p| word(&p["text"]));
            let end =
                if info["error"].is_null() { word(&info["finish"]) } else { word(&info["error"]["name"]) };
            (word(&info["role"]), end, texts.collect::<Vec<_>>().join(" "))
        };
        said.as_array().unwrap().iter().map(one).collect()
    }

    /// Whether a session is at work in a directory, by the server's own word.
    pub fn is_busy(&self, session: &str, directory: &Path) -> bool {
        let states = self.get(&format!("/session/status?directory={}", directory.display()));
        states[session]["type"] == "busy"
    }

    /// Waits for something that a server brings about.
    #[track_caller]
    pub fn until<T>(&self, what: &str, so: impl Fn() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(value) = so() {
                return value;
            }
            assert!(began.elapsed() < PATIENCE, "never became so: {what}");
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

fn settings(provider: &str, modes: &[&str]) -> Value {
    let of = |mode: &str| {
        json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{provider}/{mode}/v1"), "apiKey": "none"},
            "models": {"m": {"limit": {"context": 100_000, "output": 4_000}}},
        })
    };
    let agent = |mode: &str| json!({"mode": "primary", "model": format!("{mode}/m")});
    let each = |value: &dyn Fn(&str) -> Value| -> Value {
        modes.iter().map(|mode| ((*mode).to_owned(), value(mode))).collect::<serde_json::Map<_, _>>().into()
    };
    json!({
        "autoupdate": false, "share": "disabled", "enabled_providers": modes, "model": "ok/m", "small_model": "ok/m",
        "permission": {"*": "allow"}, "agent": each(&agent), "provider": each(&of),
    })
}

/// A piece of such an answer.
pub fn chunk(delta: Value, finish: Value) -> String {
    let whole = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {whole}\n\n")
}

/// An answer as an OpenAI-compatible provider streams it.
pub fn streamed(text: &str) -> String {
    let said = chunk(json!({"role": "assistant", "content": text}), Value::Null);
    format!("{said}{}data: [DONE]\n\n", chunk(json!({}), json!("stop")))
}
