//! Every key of the configuration: its name, type, default, range and help text. A new key is declared here
//! and nowhere else; a test compares `contrib/watchbill.toml` with this list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::QuietHours;
use super::checks::{Action, Check};
use super::keys::{KeyInfo, declare_sections, declare_struct};
use super::rules::{
    AbsolutePath, BoardLocation, Count, DOLLARS, HOST, HOSTS, HOURS, OneOf, PROFILE, PROFILES, Rule, Span,
    Switch,
};
use base::location::Location;
use base::money::Money;
use base::named_enum::named_enum;
use base::time::Time;
use host::{HostPolicy, PidNamespace};

const MIN: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

declare_sections! {
    /// Which boards, and how they are opened.
    [board] struct Board {
        /// A board outside the Hermes root, such as one made by `board init`.
        db: Option<Location> = None, BoardLocation;
        /// The Hermes root, instead of the one that the environment names.
        hermes_root: Option<PathBuf> = None, AbsolutePath;
        /// How long a claim by `board claim` or `board heartbeat` lasts.
        // Hermes 0.19 uses the same 15 min.
        claim_ttl: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// How long to wait for a busy board.
        busy_timeout: Duration = secs(5), Span(1..=2 * MIN);
    }

    /// What this machine is called and which processes it can see.
    [host] struct HostKeys {
        /// Former names of this machine; never those of another one.
        aliases: Vec<String> = Vec::new(), HOSTS;
        /// "same" only if all workers of this host run in the pid namespace of the watchers.
        pid_namespace: PidNamespace = PidNamespace::Auto, OneOf(PidNamespace::NAMED);
        /// What messages and shared boards call this host [default: hostname; on shared boards with machine id].
        name: Option<String> = None, HOST;
        /// What becomes of the work of another host that is gone: ready again ("requeue"), or told only ("report").
        gone: HostGone = HostGone::Requeue, OneOf(HostGone::NAMED);
        /// How long after the end of its claim, and without heal on its host, work of another host is left there.
        gone_after: Duration = secs(30 * MIN), Span(2 * MIN..=7 * DAY);
    }

    /// How long heal waits and how often it tries.
    [heal] struct Heal {
        /// How long heal leaves a dead worker's task to a living dispatcher.
        // One tick of a Hermes dispatcher is 60 s: with less we would always come first.
        grace: Duration = secs(3 * MIN), Span(MIN..=6 * HOUR);
        /// The same without a dispatcher.
        // A fresh worker may not be visible yet.
        lonely_grace: Duration = secs(30), Span(10..=HOUR);
        /// Resets of one task before it is escalated.
        max_resets: u32 = 3, Count(0..=20);
        /// Wait after the first reset of a task; each further one doubles it.
        backoff: Duration = secs(10 * MIN), Span(MIN..=6 * HOUR);
        /// The longest such wait.
        backoff_max: Duration = secs(2 * HOUR), Span(MIN..=DAY);
        /// Healthy work after which earlier resets are forgotten.
        decay: Duration = secs(6 * HOUR), Span(10 * MIN..=7 * DAY);
        /// Requeues in a row that are not counted.
        max_uncounted: u32 = 5, Count(1..=100);
        /// Deaths of one cause within storm_window that slow resets down (a storm).
        storm_tasks: u32 = 5, Count(2..=1_000);
        /// The window of a storm.
        storm_window: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Time between two probes in a storm; it doubles.
        storm_probe: Duration = secs(10 * MIN), Span(MIN..=6 * HOUR);
        /// The longest such wait.
        storm_probe_max: Duration = secs(HOUR), Span(MIN..=DAY);
        /// How long a requeue waits for the children of a dead worker.
        orphan_wait: Duration = secs(15 * MIN), Span(MIN..=6 * HOUR);
        /// How long a task is held if no end is known.
        hold: Duration = secs(15 * MIN), Span(1..=DAY);
        /// The longest hold.
        hold_max: Duration = secs(6 * HOUR), Span(MIN..=7 * DAY);
        /// The longest that a claim may last; a longer one is cut.
        claim_ceiling: Duration = secs(DAY), Span(HOUR..=7 * DAY);
        /// Attempts that may die since the last success, before the task is blocked for you.
        max_resumes: u32 = 8, Count(0..=MAX_RESUMES);
        /// After drift: ask you first, or warn the next attempt.
        tree_drift: TreeDrift = TreeDrift::Escalate, OneOf(TreeDrift::NAMED);
        /// Whether heal may stop a proven living worker.
        allow_stop: bool = false, Switch;
        // What becomes of a health check's alert, where that is not the default. See `Heal::action`.
        + health_actions: BTreeMap<Check, Action>;
    }

    /// When synthesize-distress writes a card, and how many.
    [distress] struct Distress {
        /// The profile that takes the cards; else Hermes' kanban.orchestrator_profile, else tuesday.
        orchestrator: Option<String> = None, PROFILE;
        /// Failures of a provider within distress.window, while the worker lives, that make a card.
        repeat: u32 = 3, Count(2..=100);
        /// The window of these failures.
        window: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Cards for one task within a day, before it is blocked for you.
        max_cards: u32 = 3, Count(1..=20);
        /// Cards that are ready or running at once; further ones queue.
        max_open_cards: u32 = 2, Count(1..=100);
        /// How long a worker's own block waits before it gets a card.
        block_wait: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Whether three tasks or more with one cause share one card.
        storm: bool = true, Switch;
    }

    /// Who takes the cards where the profile of distress.orchestrator cannot.
    [orchestrator] struct Orchestrator {
        /// Profiles that take the cards if the orchestrator's does not exist, first one first.
        fallbacks: Vec<String> = Vec::new(), PROFILES;
    }

    /// Who decides what no program may.
    [people] struct People {
        /// Who is assigned a task that needs you, a person also if a profile has that name; else the assignee stays.
        assignee: Option<String> = None, PROFILE;
    }

    /// How work is moved away from a provider that refuses it, and how it comes back.
    [routing] struct Routing {
        /// What moves a rate-limited task: a rule ("mechanical") or a card ("orchestrator").
        rate_limit_route: RateLimitRoute = RateLimitRoute::Mechanical, OneOf(RateLimitRoute::NAMED);
        /// Whether any profile of another provider may be chosen, not only a fallback.
        // Never `default`, never the orchestrator.
        auto: bool = false, Switch;
        /// Moves of one task, before the orchestrator is asked.
        max_moves: u32 = 2, Count(0..=20);
        /// Cards without a decision for one attempt, before you are asked.
        max_asks: u32 = 2, Count(1..=10);
        /// Tasks sent to one provider at once, at first.
        at_once: u32 = 2, Count(1..=100);
        /// Healthy time after which twice as many are sent.
        pace: Duration = secs(10 * MIN), Span(1..=DAY);
        /// Most moves onto one profile within an hour.
        moves_per_hour: u32 = 20, Count(1..=1_000);
        /// Most moves onto one profile within twelve hours.
        moves_per_night: u32 = 100, Count(1..=10_000);
        /// Failed probes of a provider in a row, before its tasks go to you.
        max_probes: u32 = 12, Count(1..=100);
        /// How long a provider's tasks are held, before they go to you.
        give_up: Duration = secs(3 * DAY), Span(HOUR..=30 * DAY);
        /// How long a card may wait unclaimed, or a guard may stop a ready task, before you are told.
        unclaimed: Duration = secs(30 * MIN), Span(MIN..=DAY);
        /// Between these local times no hold ends and no task moves by rule.
        quiet_hours: Option<QuietHours> = None, HOURS;
    }

    /// What one task may use where its scope says nothing, and how closely budget-check looks.
    [budget] struct Budget {
        /// Time of one attempt, unless the task says otherwise.
        time: Duration = secs(HOUR), Span(MIN..=7 * DAY);
        /// Turns of one attempt, unless the task says otherwise.
        // Hermes 0.19 itself stops at 90.
        iterations: u32 = 90, Count(1..=100_000);
        /// Cost of all attempts, unless the task says otherwise.
        cost: Option<Money> = None, DOLLARS;
        /// Changed files, unless the task says otherwise; 0: no limit.
        max_files: u32 = 0, Count(0..=100_000);
        /// Resets of one task that are too many.
        resets: u32 = 2, Count(1..=20);
        /// Attempts that used up their iterations that are too many.
        exhaustions: u32 = 2, Count(1..=20);
        /// Equal tool calls in a row that are churning.
        repeats: u32 = 5, Count(2..=1_000);
        /// Compactions in one attempt that are churning.
        compactions: u32 = 3, Count(1..=1_000);
        /// Reads of one file since its last edit that are churning.
        rereads: u32 = 8, Count(3..=1_000);
        /// Tool calls without an edit that are churning, for a task with files in scope.
        idle_calls: u32 = 60, Count(10..=100_000);
        /// Attempts in a row with one error and no commit: no progress.
        same_errors: u32 = 3, Count(2..=20);
        /// Top-level folders of one task, before --lint calls it too broad.
        max_areas: u32 = 3, Count(1..=100);
        /// How far back ended attempts count.
        recent: Duration = secs(DAY), Span(HOUR..=30 * DAY);
        /// The longest look at one worktree.
        tree_limit: Duration = secs(10), Span(1..=5 * MIN);
        /// The longest look at all worktrees of a board.
        trees_limit: Duration = secs(MIN), Span(1..=HOUR);
    }

    /// From when on a health check of heal, or a detector of coord detect, finds something.
    // Where nothing else is said, the defaults of checks are those of claudectl 0.64.0, and those of detectors
    // are our own, measured on opencode 1.18.33.
    [detect] struct Detect {
        /// Silence on the model's turn that is reported.
        // alkdev hub: 60 s.
        session_stall: Duration = secs(MIN), Span(10..=HOUR);
        /// Silence on the model's turn that is a stall.
        stall: Duration = secs(30 * MIN), Span(MIN..=DAY);
        /// The longest that a tool counts as running.
        // Our own choice: no tool of any agent runs for a day.
        tool_limit: Duration = secs(DAY), Span(10 * MIN..=7 * DAY);
        /// Equal failing calls in a row that are a loop.
        loop_calls: u32 = 10, Count(3..=1_000);
        /// Equal questions with equal answers that are a repetition.
        repetition: u32 = 3, Count(2..=1_000);
        /// The newest stretch in which errors and costs count.
        // Our own choice.
        recent: Duration = secs(5 * MIN), Span(30..=DAY);
        /// Failing calls in that stretch that are many.
        // alkdev hub: 5.
        errors: u32 = 5, Count(1..=10_000);
        /// Growth of the share of failing calls that is an acceleration.
        error_growth: u32 = 2, Count(1..=100);
        /// Unusable calls that are a degradation.
        // alkdev hub: 1.
        malformed: u32 = 1, Count(1..=10_000);
        /// Cost of an attempt from which on its costs are compared.
        cost_from: Option<Money> = Some(Money(1_000_000_000)), DOLLARS;
        /// Percent of the costs before that is a spike.
        cost_warning: u32 = 250, Count(101..=100_000);
        /// The same, critical.
        cost_critical: u32 = 500, Count(101..=100_000);
        /// Percent of the context that may be compacted.
        context_compact: u32 = 50, Count(1..=100);
        /// Percent of the context that is high.
        context_high: u32 = 80, Count(1..=100);
        /// Percent of the context that is full.
        context_full: u32 = 90, Count(1..=100);
        /// Tokens of input from which on the cache counts.
        cache_from: u32 = 10_000, Count(0..=1_000_000_000);
        /// Percent of the input from the cache that is low.
        cache_warning: u32 = 30, Count(0..=100);
        /// The same, critical.
        cache_critical: u32 = 10, Count(0..=100);
        /// Edits from which on their tokens are compared.
        pace_edits: u32 = 8, Count(1..=10_000);
        /// Growth of the tokens of an edit that is too much.
        pace_growth: u32 = 2, Count(1..=100);
        /// Score of decay that is early.
        decay_early: u32 = 30, Count(1..=100);
        /// Score of decay that is significant.
        decay_high: u32 = 60, Count(1..=100);
        /// Score of decay that is severe.
        decay_severe: u32 = 80, Count(1..=100);
        /// How long to listen to a session's stream.
        // 0 does not listen.
        listen: Duration = secs(4), Span(0..=15);
        /// Silence that is a stall without access to the stream.
        // A model that streams slowly writes no row for minutes.
        unheard_stall: Duration = secs(5 * MIN), Span(10..=DAY);
        /// How long a session's tool may run, unless the call allows more.
        // Not measured.
        tool_long: Duration = secs(10 * MIN), Span(10..=7 * DAY);
        /// How long a session's question may wait.
        // Not measured.
        human_wait: Duration = secs(5 * MIN), Span(10..=7 * DAY);
        /// How long an open answer may be unknown to its server.
        orphan_after: Duration = secs(15), Span(5..=DAY);
        /// How long a prompt may wait for its answer.
        unanswered: Duration = secs(MIN), Span(10..=DAY);
        /// Retries of a request that are pressure of the provider.
        retries: u32 = 3, Count(1..=1_000);
        /// Cut-off answers of the last 10 that are a runaway.
        broken_streams: u32 = 3, Count(1..=10);
        /// Compactions within compaction_window that are a runaway.
        compactions: u32 = 3, Count(1..=1_000);
        /// The window of these compactions.
        compaction_window: Duration = secs(10 * MIN), Span(MIN..=DAY);
        /// Equal calls of the last 8 that are a runaway.
        same_calls: u32 = 5, Count(2..=8);
        /// Calls with unfit arguments that are a degradation; 0: none.
        schema_errors: u32 = 0, Count(0..=10_000);
        /// Whether calls written as plain text are a degradation.
        raw_calls: bool = false, Switch;
        /// Whether a command that ends with another code than 0 is a failed call.
        bash_exit: bool = false, Switch;
    }
}

/// The largest `heal.max_resumes`.
pub const MAX_RESUMES: u32 = 25;

named_enum! {
    /// What becomes of the work of another host that is gone.
    pub enum HostGone {
        /// It is ready again.
        Requeue = "requeue",
        /// A finding tells of it, and nothing is done.
        Report = "report",
    }
}

impl HostKeys {
    /// What of it the host itself is read by.
    pub fn policy(&self) -> HostPolicy {
        HostPolicy {
            aliases: self.aliases.clone(),
            pid_namespace: self.pid_namespace,
            name: self.name.clone(),
        }
    }
}

named_enum! {
    /// What becomes of a task whose working tree others changed since its worker died.
    pub enum TreeDrift {
        /// A person looks first.
        Escalate = "escalate",
        /// It goes on, and the next attempt is warned.
        Warn = "warn",
    }
}

named_enum! {
    /// Who moves a task that its provider limits.
    pub enum RateLimitRoute {
        /// The program, by the listed fallbacks, without a card.
        Mechanical = "mechanical",
        /// The orchestrator, who gets a card.
        Orchestrator = "orchestrator",
    }
}

impl Routing {
    /// When the operator's quiet hours end; `None` outside them.
    pub fn quiet_until(&self, now: Time) -> Option<Time> {
        self.quiet_hours.as_ref()?.until(now)
    }
}
