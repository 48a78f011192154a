//! What `coord spawn` leaves running: the harness of `board run`, for a task that the spawn claimed. Nobody calls it by hand.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;

use super::Coord;
use crate::board::Handed;
use base::error::{Error, Result};

#[derive(Debug, Args)]
pub(crate) struct Work {
    /// The task
    #[arg(long, value_name = "ID")]
    task: String,
    /// The run of its claim
    #[arg(long, value_name = "RUN")]
    run: i64,
    /// Where it is worked on
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// The command and its arguments; its prompt comes on standard input
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Work {
    /// The arguments, as the one who starts it gives them. They are in its command line, by which it is known again.
    pub(super) fn words(task: &str, run: i64) -> [String; 5] {
        ["work".into(), "--task".into(), task.into(), "--run".into(), run.to_string()]
    }
}

impl Coord<'_> {
    pub(super) fn work(&mut self, asked: &Work) -> Result<u8> {
        let mut prompt = String::new();
        std::io::stdin().read_to_string(&mut prompt).map_err(|e| Error::io("the prompt", &e))?;
        let Work { task, run, folder, command } = asked;
        self.hand.go_on(Handed { task, run: *run, folder, prompt, command })
    }
}
