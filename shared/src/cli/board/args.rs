//! The flags of `board`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::config::span;
use crate::money::Money;
use crate::protocol;

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
    /// Claim the next ready task of a profile, run a command on it, and say how that ended
    #[command(after_help = TOLD)]
    Run(Run),
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
    /// Record where the work stands, for whoever takes it up next; without a value: show what was recorded last
    #[command(after_help = KEPT)]
    Packet(Packet),
    /// Stop the work and ask for help with a card; only an orchestrator or a person takes it up again
    #[command(after_help = TYPES)]
    Block(Block),
    /// Finish a task, and let those run that waited for it
    Complete(Complete),
    /// Give a task to another profile
    Reassign {
        /// The task
        id: String,
        /// Who is to do it
        profile: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Set a blocked or parked task free: ready, or todo while it waits for another one
    Unblock {
        /// The task
        id: String,
        /// Why; the next worker reads it
        #[arg(long)]
        reason: Option<String>,
    },
    /// Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill
    Protocol {
        /// Whose rules
        role: Role,
        /// As a SKILL.md, with name and description at its head
        #[arg(long)]
        skill: bool,
    },
    /// Make one task wait for another
    Link {
        /// The task that must be done first
        parent: String,
        /// The task that waits
        child: String,
    },
}

impl Command {
    /// Whether it changes nothing on a board.
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Command::List { .. } | Command::Show { .. } => true,
            Command::Packet(packet) => packet.only_asks(),
            _ => false,
        }
    }
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
    /// The folder it is worked on in, such as a git worktree
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
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
    /// Scope: the longest one attempt should take
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(super) time_budget: Option<Duration>,
    /// Scope: what the whole task should cost at most, in US dollars ($5)
    #[arg(long, value_name = "AMOUNT", value_parser = parse_money)]
    pub(super) cost_budget: Option<Money>,
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
    /// The file the agent writes its log or transcript to, for the watchers to read; it may come later
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// The folder it is worked on in, where the task names none [default: on a board without Hermes the current folder]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Whose task
    #[arg(long, value_name = "PROFILE")]
    pub(super) assignee: String,
    /// How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    pub(super) ttl: Option<Duration>,
    /// The file that takes what the command prints [default: the board's own log of the task]
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// What the command of `board run` is given.
const TOLD: &str = "\
The command works in the task's folder. Its prompt comes on standard input and is in the file
$WATCHBILL_PROMPT_FILE: the task's text, where the attempt before was cut off, and comments.
HERMES_KANBAN_TASK, _RUN_ID, _DB, _BOARD, _WORKSPACE and HERMES_PROFILE say what it works on. Where
it ends with 0 its task is done, unless it said something else itself; else the attempt failed.";

/// What becomes of values that are not given.
const KEPT: &str = "\
A value that is not given stays as it was recorded last; an empty one takes it back. Each is one line of at most
300 characters. Nothing is recorded twice.";

#[derive(Debug, Args)]
pub(crate) struct Packet {
    /// The task
    pub(super) id: String,
    /// What the task comes to, in one sentence
    #[arg(long, value_name = "TEXT")]
    pub(super) mission: Option<String>,
    /// The file your plan is in
    #[arg(long, value_name = "PATH")]
    pub(super) plan: Option<String>,
    /// The last step that is shown to be right, and how
    #[arg(long, value_name = "TEXT")]
    pub(super) verified: Option<String>,
    /// The step you are at
    #[arg(long, value_name = "TEXT")]
    pub(super) step: Option<String>,
    /// The step after that
    #[arg(long, value_name = "TEXT")]
    pub(super) next: Option<String>,
    /// What stands in the way
    #[arg(long, value_name = "TEXT")]
    pub(super) blockers: Option<String>,
    /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

/// What the six types mean.
const TYPES: &str = "\
Types:
  scope_boundary      the work goes on outside the task's scope
  env_blocker         something of the environment is missing or broken
  credential_failure  a key or an account is refused or missing
  dependency          another task or a person comes first
  iteration_budget    the task does not fit into the iterations it has
  rate_limited        the provider refuses more work for now";

#[derive(Debug, Args)]
pub(crate) struct Block {
    /// The task
    pub(super) id: String,
    /// Why, in one sentence
    pub(super) reason: Option<String>,
    /// Ask for help with a card of this type: one of the six below
    #[arg(long, value_name = "TYPE")]
    pub(super) r#type: Option<String>,
    /// On the card: what is done
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) completed: Option<String>,
    /// On the card: what somebody else should do
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) needs: Option<String>,
    /// On the card: what you must not touch [default: what the task's scope says]
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) cannot_touch: Option<String>,
    /// A plain block without a card: dependency, needs_input, capability or transient
    #[arg(long, value_parser = ["dependency", "needs_input", "capability", "transient"])]
    pub(super) kind: Option<String>,
    /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The task
    pub(super) id: String,
    /// What came of it
    #[arg(long)]
    pub(super) result: Option<String>,
    /// What the next worker should know
    #[arg(long)]
    pub(super) summary: Option<String>,
    /// Details as a JSON object, such as the decision of a distress card
    #[arg(long, value_name = "JSON")]
    pub(super) metadata: Option<String>,
    /// Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    Worker,
    Orchestrator,
}

impl From<Role> for protocol::Role {
    fn from(role: Role) -> protocol::Role {
        match role {
            Role::Worker => protocol::Role::Worker,
            Role::Orchestrator => protocol::Role::Orchestrator,
        }
    }
}

fn parse_span(s: &str) -> std::result::Result<Duration, String> {
    span::read(s)
}

fn parse_money(s: &str) -> std::result::Result<Money, String> {
    Money::parse(s).filter(|m| m.0 > 0).ok_or_else(|| "is no amount in US dollars like $5 or 0.75".to_owned())
}

fn parse_ttl(s: &str) -> std::result::Result<Duration, String> {
    let ttl = humantime::parse_duration(s).map_err(|e| e.to_string())?;
    let ok = (Duration::from_secs(10)..=Duration::from_secs(86_400)).contains(&ttl);
    if ok { Ok(ttl) } else { Err("must be between 10s and 24h".into()) }
}
