//! A headless browser on one page file, over the DevTools protocol. The protocol goes through the browser's own pipes, so
//! that no port is open and nothing but the standard library is needed.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// Debian's name of it, which is also that of its package.
const NAME: &str = "chromium";
/// Longest wait for one answer. A first start on a busy machine takes many seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The page needs none of what these leave out, and a test must not ask the network for anything. As root there is no
/// sandbox to be had.
const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A running browser with one tab. It and everything it started end with this value.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    asked: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// One size of window and one liking.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

/// Whether the browser is wanted. It may be left out by this variable and in no other way.
pub fn wanted(test: &str) -> bool {
    let skip = std::env::var("WATCHBILL_CHROMIUM").is_ok_and(|v| v == "skip");
    if skip {
        // Not eprintln: what a passing test prints that way is swallowed.
        let _ = writeln!(std::io::stderr(), "left out, because WATCHBILL_CHROMIUM=skip: {test}");
    }
    !skip
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(NAME)).find(|p| p.is_file());
    found.unwrap_or_else(|| panic!("no {NAME} in PATH; apt-get install {NAME}, or WATCHBILL_CHROMIUM=skip"))
}

impl Browser {
    /// Starts it, with a profile of its own.
    pub fn start() -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // It reads what it is told from descriptor 3 and answers on 4; a shell can put our pipes there.
        let script = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$LOG\"";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(program())
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .arg("about:blank")
            .env("LOG", profile.path().join("log"))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (send, from) = channel();
        // It ends with the browser, whose end closes the pipe.
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let read = serde_json::from_slice(&message).unwrap_or(Value::Null);
                message.clear();
                if send.send(read).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { child, to, from, session: None, asked: 0, events: Vec::new(), _profile: profile };
        let tab = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let to_tab = json!({"targetId": tab["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", to_tab);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a file anew, as a reader with this window and colour scheme sees it.
    #[track_caller]
    pub fn open(&mut self, page: &Path, view: View) {
        let View { width, height, is_dark } = view;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", media);
        self.events.clear();
        let address = format!("file://{}", page.canonicalize().unwrap().display());
        let went = self.ask("Page.navigate", json!({"url": address}));
        assert!(went["errorText"].is_null(), "{address}: {went}");
        self.until_event("Page.loadEventFired");
        // Once drawn, everything that could ask for something has asked.
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// Lets so many seconds of the page's own time go by at once, and waits until what it loads by then is there.
    #[track_caller]
    pub fn later(&mut self, seconds: u32) {
        let end = Instant::now() + PATIENCE;
        let mut budget = seconds * 1_000;
        loop {
            self.events.clear();
            self.ask("Emulation.setVirtualTimePolicy", json!({"policy": "advance", "budget": budget}));
            self.until_event("Emulation.virtualTimeBudgetExpired");
            if self.eval("document.readyState === 'complete' && document.body !== null") == json!(true) {
                return;
            }
            assert!(Instant::now() < end, "it still loads");
            budget = 10;
        }
    }

    /// The value of an expression on the page. The page's own policy does not bind it.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let done = self.ask("Runtime.evaluate", params);
        assert!(done["exceptionDetails"].is_null(), "{expression}: {}", done["exceptionDetails"]);
        done["result"]["value"].clone()
    }

    /// What the page complained of since it was opened, and every address it asked for but its own.
    pub fn complaints(&mut self, page: &Path) -> Vec<String> {
        let own = format!("file://{}", page.canonicalize().unwrap().display());
        let mut all = Vec::new();
        for event in &self.events {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Log.entryAdded" => all.push(format!("log: {}", params["entry"])),
                "Runtime.exceptionThrown" => all.push(format!("exception: {}", params["exceptionDetails"])),
                "Runtime.consoleAPICalled" => all.push(format!("console: {}", params["args"])),
                "Network.requestWillBeSent" if params["request"]["url"] != json!(own) => {
                    all.push(format!("asked for {}", params["request"]["url"]));
                }
                _ => {}
            }
        }
        all
    }

    /// A picture of the whole page, as high as it is.
    #[track_caller]
    pub fn picture(&mut self, file: &Path) {
        let shot =
            self.ask("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": true}));
        std::fs::write(file, from_base64(shot["data"].as_str().unwrap())).unwrap();
    }

    /// Sends one command and waits for its answer; what else comes meanwhile is kept.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.to.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.to.flush());
        assert!(sent.is_ok(), "{method}: {sent:?}; the browser said: {}", self.said());
        let id = json!(self.asked);
        let answer = self.next(method, |m| m["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    #[track_caller]
    fn until_event(&mut self, method: &str) {
        if !self.events.iter().any(|e| e["method"] == json!(method)) {
            let event = self.next(method, |m| m["method"] == json!(method));
            self.events.push(event);
        }
    }

    #[track_caller]
    fn next(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if is_it(&message) => return message,
                Ok(event) => self.events.push(event),
                Err(RecvTimeoutError::Timeout) => panic!("{what}: no answer within {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("{what}: the browser ended: {}", self.said()),
            }
        }
    }

    /// The end of what it wrote on its way.
    fn said(&self) -> String {
        let mut text = String::new();
        let _ =
            std::fs::File::open(self._profile.path().join("log")).map(|mut f| f.read_to_string(&mut text));
        text.lines().rev().take(3).collect::<Vec<_>>().join(" | ")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children are in the group that was made for it, which holds nobody else's. It is not waited for before, so
        // that its id is still its own.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |b: u8| match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|b| *b != b'=').map(|b| u32::from(value(b))).collect();
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let bits = (0..4).fold(0, |all, i| all << 6 | four.get(i).copied().unwrap_or(0));
        out.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    out
}
