//! The flags of `board`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a board of our own in a new file, with the tables of Hermes
    Init {
        /// The file [default: the one given by --db]
        path: Option<PathBuf>,
    },
    /// Add a task
    Add(Add),
    /// List tasks in dispatch order
    List {
        /// Only this state (may be repeated) [default: every open one]
        #[arg(long, value_name = "STATE")]
        status: Vec<String>,
        /// Only this profile's
        #[arg(long, value_name = "PROFILE")]
        assignee: Option<String>,
    },
    /// Show one task with its attempts, history and comments
    Show {
        /// The task
        id: String,
    },
    /// Take a task: the one named, or the next ready one for this worker
    Claim(Claim),
    /// Say that the work goes on, and extend the claim
    Heartbeat {
        /// The task
        id: String,
        /// What is being done
        #[arg(long)]
        note: Option<String>,
        /// Extend the claim by this much [default: board.claim_ttl, 15m]
        #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
        ttl: Option<Duration>,
        /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
        #[arg(long, value_name = "RUN")]
        run: Option<i64>,
    },
    /// Leave a note for whoever works on it next
    Comment {
        /// The task
        id: String,
        /// The text
        text: String,
        /// Who speaks
        #[arg(long, env = "HERMES_PROFILE", value_name = "NAME")]
        author: Option<String>,
    },
    /// Stop the work and say why; only a person or an orchestrator takes it up again
    Block {
        /// The task
        id: String,
        /// Why
        reason: String,
        /// What kind of block: dependency, needs_input, capability or transient
        #[arg(long, value_parser = ["dependency", "needs_input", "capability", "transient"])]
        kind: Option<String>,
        /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
        #[arg(long, value_name = "RUN")]
        run: Option<i64>,
    },
    /// Finish a task, and let those run that waited for it
    Complete {
        /// The task
        id: String,
        /// What came of it
        #[arg(long)]
        result: Option<String>,
        /// What the next worker should know
        #[arg(long)]
        summary: Option<String>,
        /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
        #[arg(long, value_name = "RUN")]
        run: Option<i64>,
    },
    /// Make one task wait for another
    Link {
        /// The task that must be done first
        parent: String,
        /// The task that waits
        child: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// One line
    pub(super) title: String,
    /// The task's text
    #[arg(long, conflicts_with = "body_file")]
    pub(super) body: Option<String>,
    /// Read the text from a file (- is standard input)
    #[arg(long, value_name = "FILE")]
    pub(super) body_file: Option<PathBuf>,
    /// Who is to do it
    #[arg(long, value_name = "PROFILE")]
    pub(super) assignee: Option<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(super) priority: i64,
    /// It waits for this task (may be repeated)
    #[arg(long, value_name = "ID")]
    pub(super) parent: Vec<String>,
    /// Add it only once: a second call with the same key finds the first task
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Failures after which it is given up [default: the board's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(super) max_retries: Option<i64>,
    /// Scope: its one concern
    #[arg(long, value_name = "TEXT")]
    pub(super) concern: Option<String>,
    /// Scope: a glob, path or package it may touch (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(super) in_scope: Vec<String>,
    /// Scope: what it must not touch (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(super) out_of_scope: Vec<String>,
    /// Scope: most files it may change
    #[arg(long, value_name = "N")]
    pub(super) max_files: Option<u32>,
    /// Scope: expected number of agent iterations
    #[arg(long, value_name = "N")]
    pub(super) iterations: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// The task [default: the next ready one that is this worker's or nobody's]
    pub(super) id: Option<String>,
    /// The profile that works
    #[arg(long, env = "HERMES_PROFILE", value_name = "PROFILE")]
    pub(super) worker: Option<String>,
    /// The worker's process, which heal then watches; without it the claim is a lease that heartbeats keep
    #[arg(long)]
    pub(super) pid: Option<i64>,
    /// How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    pub(super) ttl: Option<Duration>,
}

fn parse_ttl(s: &str) -> std::result::Result<Duration, String> {
    let ttl = humantime::parse_duration(s).map_err(|e| e.to_string())?;
    let ok = (Duration::from_secs(10)..=Duration::from_secs(86_400)).contains(&ttl);
    if ok { Ok(ttl) } else { Err("must be between 10s and 24h".into()) }
}
