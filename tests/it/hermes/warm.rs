//! Hermes' command line without the start of Python, which takes most of a call: forks of one process that has read the libraries it
//! needs. Hermes' own code is read anew in each fork.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Ran;

const CODE: &str = include_str!("warm.py");

/// The process for one environment of Python. It ends when its standard input does, with the tests.
struct Warm {
    folder: TempDir,
    _process: Child,
}

impl Warm {
    fn new(python: &Path) -> Warm {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(python.join("bin/python"));
        command
            .args(["-c", CODE])
            .arg(python.join("bin/hermes"))
            .arg(folder.path().join("socket"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path())
            .env("HERMES_HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "Hermes' libraries are not read");
        Warm { folder, _process: process }
    }
}

/// What a call of `bin/hermes` in this environment of Python says, and how it ends.
pub fn ran(python: &Path, command: &Command) -> Ran {
    static WARM: Mutex<BTreeMap<PathBuf, Warm>> = Mutex::new(BTreeMap::new());
    let place = {
        let mut warm = WARM.lock().unwrap_or_else(PoisonError::into_inner);
        let warm = warm.entry(python.to_owned()).or_insert_with(|| Warm::new(python));
        warm.folder.path().join("socket")
    };
    let said = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    let text = |s: &std::ffi::OsStr| s.to_str().unwrap().to_owned();
    let args: Vec<String> = command.get_args().map(text).collect();
    let env: BTreeMap<String, Value> =
        command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?).into()))).collect();
    let cwd = command.get_current_dir().map_or_else(|| std::env::current_dir().unwrap(), Path::to_owned);
    let call = json!({"args": args, "env": env, "cwd": cwd, "out": said[0].path(), "err": said[1].path()});
    let mut link = UnixStream::connect(place).unwrap();
    writeln!(link, "{call}").unwrap();
    let mut code = String::new();
    link.read_to_string(&mut code).unwrap();
    let [out, err] =
        said.map(|file| String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
    // As a program that a signal ended has no code.
    let code = code.parse().ok().filter(|code| *code >= 0).unwrap_or(-1);
    Ran { code, out, err }
}
