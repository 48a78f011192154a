//! A dispatcher as a gateway has it: one process that starts workers, waits for them and so knows how each ended. The
//! command `hermes kanban dispatch` never does, for nobody is its child any more at its next call.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

use super::home::Home;
use crate::support::Kept;

/// Ticks whenever it is told to, with so many workers at a time.
pub struct Dispatcher {
    _process: Kept,
    tell: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

const LOOP: &str = "
import json, sqlite3, sys
from hermes_cli import kanban_db as kb
for line in sys.stdin:
    try:
        with kb.connect_closing() as conn:
            r = kb.dispatch_once(conn, max_spawn=int(sys.argv[1]))
        said = {'spawned': [[task, profile] for task, profile, _ in r.spawned], 'promoted': r.promoted,
                'guarded': [[task, why] for task, why in r.respawn_guarded]}
    except sqlite3.DatabaseError as e:
        # Hermes 0.19 looks at the file after each commit and takes a checkpoint in its midst for damage.
        assert 'torn-extend' in str(e) or 'locked' in str(e), e
        said = {'spawned': [], 'promoted': 0, 'guarded': []}
    print(json.dumps(said), flush=True)
";

impl Dispatcher {
    #[cfg(feature = "real")]
    pub fn new(home: &Home, workers: u32) -> Dispatcher {
        Dispatcher::with(home, workers, &[])
    }

    /// The same with variables in its environment.
    pub fn with(home: &Home, workers: u32, environment: &[(&str, &Path)]) -> Dispatcher {
        let mut command = home.run("python");
        command.envs(environment.iter().copied());
        // Deaths are booked at once; everything else is as Hermes has it.
        command.env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "1");
        // Where it stumbles between claim and start (see the loop above) nobody works, and only the claim's end frees it.
        command.env("HERMES_KANBAN_CLAIM_TTL_SECONDS", "60");
        command.args(["-c", LOOP, &workers.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Kept(command.spawn().unwrap());
        let tell = process.0.stdin.take().unwrap();
        let said = BufReader::new(process.0.stdout.take().unwrap()).lines();
        Dispatcher { _process: process, tell, said }
    }

    /// One tick, and what it did.
    pub fn tick(&mut self) -> Value {
        writeln!(self.tell, "tick").unwrap();
        serde_json::from_str(&self.said.next().unwrap().unwrap()).unwrap()
    }

    /// The tasks that one tick starts, each with its profile.
    pub fn starts(&mut self) -> Vec<(String, String)> {
        let word = |v: &Value| v.as_str().unwrap().to_owned();
        let tick = self.tick();
        tick["spawned"].as_array().unwrap().iter().map(|s| (word(&s[0]), word(&s[1]))).collect()
    }
}
