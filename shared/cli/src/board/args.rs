//! The flags of `board`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::one_of;
use ::board::prune::LEAST;
use base::money::Money;
use card::protocol::Role;
use config::span;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a board in a new file or in a PostgreSQL database, with the tables of Hermes
    Init {
        /// The new file, or postgres://HOST/DATABASE [default: that of --db]
        path: Option<PathBuf>,
    },
    /// Let roles of a PostgreSQL server work on its board, or watch it
    Grant(Grant),
    /// Show the hosts of a board that several share, or say that one will not come back
    #[command(subcommand)]
    Host(Host),
    /// Copy a whole board to an empty one, and pause the old one: to move it
    Copy(super::copy::Copy),
    /// Remove tasks that are over for long, with their history, from a board of Watchbill
    #[command(after_help = STAYS)]
    Prune(Prune),
    /// Bring the tables of a board in PostgreSQL to the version of this program
    Upgrade {
        /// The board, postgres://HOST/DATABASE [default: that of --db]
        #[arg(value_name = "BOARD")]
        at: Option<PathBuf>,
    },
    /// Let the Hermes of this host work on tasks of another board, and report there how they end
    Lend(super::lend::Lend),
    /// Add a task
    Add(Add),
    /// List tasks in dispatch order
    List {
        /// List only tasks of this state (may be repeated) [default: every open state]
        #[arg(long, value_name = "STATE")]
        status: Vec<String>,
        /// List only tasks of this profile
        #[arg(long, value_name = "PROFILE")]
        assignee: Option<String>,
    },
    /// Show one task with its attempts, history and comments
    Show {
        /// The task: its id, with or without t_, the start of its id, or words of its title
        #[arg(value_name = "TASK")]
        id: String,
    },
    /// Claim the named task, or the next ready task of this worker
    Claim(Claim),
    /// Claim the next ready task of a profile, run a command on it, and record how it ended
    #[command(after_help = TOLD)]
    Run(Run),
    /// Record that the worker still works, and extend the claim
    Heartbeat {
        /// The task
        id: String,
        /// Record what the worker does now
        #[arg(long)]
        note: Option<String>,
        /// Extend the claim by this much [default: board.claim_ttl, 15m]
        #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
        ttl: Option<Duration>,
        /// Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
        #[arg(long, value_name = "RUN")]
        run: Option<i64>,
    },
    /// Add a comment for the next worker
    Comment {
        /// The task
        id: String,
        /// The text of the comment
        text: String,
        /// The author of the comment
        #[arg(long, env = "HERMES_PROFILE", value_name = "NAME")]
        author: Option<String>,
    },
    /// Record the state of the work for the next attempt; without a value, print the last record
    #[command(after_help = KEPT)]
    Packet(Packet),
    /// Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it
    #[command(after_help = TYPES)]
    Block(Block),
    /// Finish a task, and make the tasks ready that waited for it
    Complete(Complete),
    /// Assign a task to another profile
    Reassign {
        /// The task
        id: String,
        /// The new profile
        profile: String,
        /// Record the reason
        #[arg(long)]
        reason: Option<String>,
        /// Allow a profile that does not exist
        #[arg(long)]
        force: bool,
    },
    /// Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage
    ///
    /// It releases a claim that was left on the task, also where the task is ready or todo: nothing starts what is claimed. First look whether
    /// a worker is still at it. On a board of `board init` it makes ready what is in todo and waits for no other task.
    Unblock {
        /// The task
        id: String,
        /// Record the reason; the next worker reads it
        #[arg(long)]
        reason: Option<String>,
    },
    /// Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill
    Protocol {
        /// The role
        #[arg(value_parser = one_of(&Role::ALL, who))]
        role: Role,
        /// Print a SKILL.md, with name and description at its head
        #[arg(long)]
        skill: bool,
    },
    /// Make one task wait for another
    Link {
        /// The task that must finish first
        parent: String,
        /// The task that waits
        child: String,
    },
    /// Let one task no longer wait for another
    Unlink {
        /// The task that need not finish first
        parent: String,
        /// The task that waits
        child: String,
    },
}

impl Command {
    /// Whether it changes nothing on a board.
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Command::List { .. } | Command::Show { .. } | Command::Host(Host::List) => true,
            Command::Prune(prune) => prune.dry_run,
            Command::Packet(packet) => packet.only_asks(),
            _ => false,
        }
    }
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Grant {
    /// Let this role do what a worker does (may be repeated)
    #[arg(long, value_name = "ROLE")]
    pub(super) worker: Vec<String>,
    /// Let this role also watch, pause and speak for its host (may be repeated)
    #[arg(long, value_name = "ROLE")]
    pub(super) watcher: Vec<String>,
}

/// What `board prune` leaves.
const STAYS: &str = "\
Removed is a task that is done or archived, with its attempts, events, comments and links, if nothing was written to it for \
that time. It stays as long as a task it waited for, a task that waited for it, its card, or the task it is a card of is open; \
and as long as it has a key of `board add --key` and is not archived. Logs and folders of workers stay. On a server only the \
owner of the board removes tasks. Make a copy of the board first (`board copy`, which pauses it, or pg_dump): nothing brings a removed task back.";

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Remove what was not written to for this long, at least 7d
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    pub(super) older_than: Duration,
    /// Print how much would be removed, and change nothing
    #[arg(short = 'n', long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Host {
    /// List the hosts, with the time they were seen and heal ran there
    List,
    /// Say that a host will not come back: heal on another one requeues its work when the claims end
    Forget {
        /// The host, as the list shows it
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The title, one line
    pub(super) title: String,
    /// Set the text of the task
    #[arg(long, conflicts_with = "body_file")]
    pub(super) body: Option<String>,
    /// Read the text from this file (- is standard input)
    #[arg(long, value_name = "FILE")]
    pub(super) body_file: Option<PathBuf>,
    /// Assign the task to this profile
    #[arg(long, value_name = "PROFILE")]
    pub(super) assignee: Option<String>,
    /// Allow a profile that does not exist
    #[arg(long, requires = "assignee")]
    pub(super) force: bool,
    /// Let the worker work in this folder, such as a git worktree
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Set the priority; a higher number goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(super) priority: i64,
    /// Wait for this task (may be repeated)
    #[arg(long, value_name = "ID")]
    pub(super) parent: Vec<String>,
    /// Add the task only once: a second call with this key prints the first task
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Give up after this many failures [default: the board's limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(super) max_retries: Option<i64>,
    /// Scope: the one concern of the task
    #[arg(long, value_name = "TEXT")]
    pub(super) concern: Option<String>,
    /// Scope: a glob, path or package that the task may change (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(super) in_scope: Vec<String>,
    /// Scope: a glob, path or package that the task must not change (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(super) out_of_scope: Vec<String>,
    /// Scope: most files that the task may change
    #[arg(long, value_name = "N")]
    pub(super) max_files: Option<u32>,
    /// Scope: expected number of agent iterations
    #[arg(long, value_name = "N")]
    pub(super) iterations: Option<u32>,
    /// Scope: longest time of one attempt
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(super) time_budget: Option<Duration>,
    /// Scope: highest cost of the whole task, in US dollars ($5)
    #[arg(long, value_name = "AMOUNT", value_parser = parse_money)]
    pub(super) cost_budget: Option<Money>,
}

#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// The task [default: the next ready task that is assigned to this worker or to no profile]
    pub(super) id: Option<String>,
    /// Claim for this profile
    #[arg(long, env = "HERMES_PROFILE", value_name = "PROFILE")]
    pub(super) worker: Option<String>,
    /// Let heal watch this process; without it the claim ends without heartbeats
    #[arg(long)]
    pub(super) pid: Option<i64>,
    /// Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    pub(super) ttl: Option<Duration>,
    /// Let the watchers read the agent's log or transcript from this file, which may not exist yet
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Work in this folder if the task names none [default: the current folder, on a board without Hermes]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Claim for this profile
    #[arg(long, value_name = "PROFILE")]
    pub(super) assignee: String,
    /// Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    pub(super) ttl: Option<Duration>,
    /// Write the output of the command to this file; each worker needs its own [default: the board's log of the task]
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Wait until a task is ready, and look for one this often (1s to 1h)
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    pub(super) wait: Option<Duration>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// What the command of `board run` is given.
const TOLD: &str = "\
The command runs in the task's folder. Its prompt is on standard input and in the file $WATCHBILL_PROMPT_FILE: the \
task's text, the resume packet, and comments. HERMES_KANBAN_TASK, _RUN_ID, _DB, _BOARD, _WORKSPACE and HERMES_PROFILE \
name the task; on a board that several hosts share, WATCHBILL_TASK, _RUN, _DB, _WORKSPACE and _PROFILE do. If the \
command ends with 0 the task is done, unless the command recorded another end or its last words are a refusal of the \
provider; else the attempt failed.";

/// What becomes of values that are not given.
const KEPT: &str = "\
A value that is not given keeps its last record; an empty value deletes it. Each value is one line of at most 300 \
characters. The same value is not recorded twice.";

#[derive(Debug, Args)]
pub(crate) struct Packet {
    /// The task
    pub(super) id: String,
    /// The goal of the task, in one sentence
    #[arg(long, value_name = "TEXT")]
    pub(super) mission: Option<String>,
    /// The file with your plan
    #[arg(long, value_name = "PATH")]
    pub(super) plan: Option<String>,
    /// The last step that you verified, and how
    #[arg(long, value_name = "TEXT")]
    pub(super) verified: Option<String>,
    /// The current step
    #[arg(long, value_name = "TEXT")]
    pub(super) step: Option<String>,
    /// The next step
    #[arg(long, value_name = "TEXT")]
    pub(super) next: Option<String>,
    /// What blocks the work
    #[arg(long, value_name = "TEXT")]
    pub(super) blockers: Option<String>,
    /// Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

/// What the six types mean.
const TYPES: &str = "\
Types:
  scope_boundary      the work needs changes outside the task's scope
  env_blocker         something in the environment is missing or broken
  credential_failure  a key or an account is refused or missing
  dependency          another task or a decision must come first
  iteration_budget    the task does not fit into its iterations
  rate_limited        the provider limits requests";

#[derive(Debug, Args)]
pub(crate) struct Block {
    /// The task
    pub(super) id: String,
    /// The reason, in one sentence
    pub(super) reason: Option<String>,
    /// Write a card of this type: one of the six below
    #[arg(long, value_name = "TYPE")]
    pub(super) r#type: Option<String>,
    /// On the card: what is done
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) completed: Option<String>,
    /// On the card: what others should do
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) needs: Option<String>,
    /// On the card: what you must not change [default: from the task's scope]
    #[arg(long, value_name = "TEXT", requires = "type")]
    pub(super) cannot_touch: Option<String>,
    /// Block without a card: dependency, needs_input, capability or transient
    #[arg(long, value_parser = ["dependency", "needs_input", "capability", "transient"])]
    pub(super) kind: Option<String>,
    /// Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The task
    pub(super) id: String,
    /// Record the result
    #[arg(long)]
    pub(super) result: Option<String>,
    /// Record a summary for the next worker
    #[arg(long)]
    pub(super) summary: Option<String>,
    /// Record details as a JSON object, such as the decision of a distress card
    #[arg(long, value_name = "JSON")]
    pub(super) metadata: Option<String>,
    /// Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

fn who(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::Worker => "Who does a task",
        Role::Orchestrator => "Who decides about a stuck one",
    })
}

fn parse_budget(s: &str) -> std::result::Result<Duration, String> {
    span::read(s).and_then(|time| if time.is_zero() { Err("must be more than 0s".into()) } else { Ok(time) })
}

fn parse_age(s: &str) -> std::result::Result<Duration, String> {
    let age = span::read(s)?;
    if age < LEAST { Err(format!("must be at least {}", span::words(LEAST))) } else { Ok(age) }
}

fn parse_money(s: &str) -> std::result::Result<Money, String> {
    Money::parse(s)
        .filter(|m| m.0 > 0)
        .ok_or_else(|| "not an amount in US dollars, such as $5 or 0.75".to_owned())
}

fn parse_ttl(s: &str) -> std::result::Result<Duration, String> {
    between(s, 10, 86_400)
}

fn parse_wait(s: &str) -> std::result::Result<Duration, String> {
    between(s, 1, 3_600)
}

/// A time of at least and at most so many seconds.
fn between(s: &str, least: u64, most: u64) -> std::result::Result<Duration, String> {
    let time = humantime::parse_duration(s).map_err(|e| e.to_string())?;
    let [least, most] = [least, most].map(Duration::from_secs);
    match (least..=most).contains(&time) {
        true => Ok(time),
        false => Err(format!("must be between {} and {}", span::words(least), span::words(most))),
    }
}
