//! A program at a terminal of its own, and what is typed there.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Waits for each prompt, then types what comes next. Prints one JSON object.
const TYPIST: &str = r#"
import json, os, pty, re, select, sys, termios, time
keys, prompt, argv = json.loads(sys.argv[1]), re.compile(sys.argv[2]), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
by_line, seen, fresh, end = None, b"", b"", time.monotonic() + 30
while time.monotonic() < end:
    if not select.select([fd], [], [], 1)[0]:
        continue
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    seen, fresh = seen + part, fresh + part
    if keys and prompt.search(fresh.decode(errors="replace")):
        by_line = bool(termios.tcgetattr(fd)[3] & termios.ICANON)
        os.write(fd, keys.pop(0).encode())
        fresh = b""
if time.monotonic() >= end:
    os.kill(pid, 9)
_, code = os.waitpid(pid, 0)
text = seen.replace(b"\r\n", b"\n").decode(errors="replace")
print(json.dumps({"text": text, "code": os.waitstatus_to_exitcode(code), "left": len(keys), "by_line": by_line}))
"#;

/// What was seen there.
pub struct Seen {
    /// All that the program printed, and what was typed.
    pub text: String,
    pub code: i64,
    /// How many of the keys were never asked for.
    pub left: usize,
    /// Whether the terminal read whole lines when the last key was pressed.
    pub is_by_line: bool,
}

/// Runs a command at a terminal and types `keys`, one whenever what was printed since the last one matches `prompt`, a pattern of Python.
pub fn typed(command: &Command, keys: &[impl AsRef<str>], prompt: &str) -> Seen {
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    let mut python = Command::new("python3");
    python.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    python.args(["-c", TYPIST, &json!(keys).to_string(), prompt]);
    python.arg(command.get_program()).args(command.get_args());
    let done = python.stdin(Stdio::null()).output().unwrap();
    let said: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    Seen {
        text: said["text"].as_str().unwrap().to_owned(),
        code: said["code"].as_i64().unwrap(),
        left: usize::try_from(said["left"].as_u64().unwrap()).unwrap(),
        is_by_line: said["by_line"] == Value::Bool(true),
    }
}
