//! Every key of the configuration: its name, type, default, range and help text. A new key is declared here
//! and nowhere else; tests compare `contrib/watchbill.toml` and `docs/configuration.md` with this list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::QuietHours;
use super::checks::{Action, Check};
use super::keys::{KeyInfo, declare_sections, declare_struct};
use super::named_enum::named_enum;
use super::rules::{
    AbsolutePath, Count, DOLLARS, HOSTS, HOURS, OneOf, PROFILE, PROFILES, Rule, Span, Switch,
};
use base::money::Money;
use base::time::Time;
use host::PidNamespace;

const MIN: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

declare_sections! {
    /// Which boards, and how they are opened.
    [board] struct Board {
        /// A board that is not found by itself, such as one made by `board init`.
        db: Option<PathBuf> = None, AbsolutePath;
        /// The Hermes root to look for boards in, in the place of the one the environment names.
        hermes_root: Option<PathBuf> = None, AbsolutePath;
        /// How long a claim lasts that `board claim` or `board heartbeat` takes.
        // Hermes 0.19 uses the same 15 min.
        claim_ttl: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// How long to wait for a board that another process is writing.
        busy_timeout: Duration = secs(5), Span(1..=2 * MIN);
    }

    /// What this machine is called and which processes it can see.
    [host] use HostPolicy {
        /// Former names of this very machine; never the name of another one.
        aliases: Vec<String> = Vec::new(), HOSTS;
        /// "same" only if all workers of this host name live in one pid namespace with us.
        pid_namespace: PidNamespace = PidNamespace::Auto, OneOf(NAMESPACES);
    }

    /// How long heal waits and how often it tries.
    [heal] struct Heal {
        /// Head start of a dispatcher that lives, or ticked lately, before a dead worker's task is touched.
        // One tick of a Hermes dispatcher is 60 s: with less we would always come first.
        grace: Duration = secs(3 * MIN), Span(MIN..=6 * HOUR);
        /// The same where no dispatcher is.
        // A fresh worker may not be visible yet.
        lonely_grace: Duration = secs(30), Span(10..=HOUR);
        /// Resets of one task, then it is escalated once and skipped; 0 escalates at once.
        max_resets: u32 = 3, Count(0..=20);
        /// Wait after the first reset of a task; it doubles with each further one.
        backoff: Duration = secs(10 * MIN), Span(MIN..=6 * HOUR);
        /// Where that doubling ends.
        backoff_max: Duration = secs(2 * HOUR), Span(MIN..=DAY);
        /// Healthy running after which earlier resets are forgotten.
        decay: Duration = secs(6 * HOUR), Span(10 * MIN..=7 * DAY);
        /// Requeues in a row that were proven not the task's fault, before they count after all.
        max_uncounted: u32 = 5, Count(1..=100);
        /// So many tasks dying of one cause within storm_window are a storm, which slows resets down.
        storm_tasks: u32 = 5, Count(2..=1_000);
        /// The window a storm is counted in.
        storm_window: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Time between two probes while a storm lasts; it doubles.
        storm_probe: Duration = secs(10 * MIN), Span(MIN..=6 * HOUR);
        /// Where that doubling ends.
        storm_probe_max: Duration = secs(HOUR), Span(MIN..=DAY);
        /// How long a requeue waits for processes a dead worker left running in its tree.
        orphan_wait: Duration = secs(15 * MIN), Span(MIN..=6 * HOUR);
        /// How long a task is held where nothing says when to look again.
        hold: Duration = secs(15 * MIN), Span(1..=DAY);
        /// The longest any hold may last, whatever a provider announces.
        hold_max: Duration = secs(6 * HOUR), Span(MIN..=7 * DAY);
        /// The furthest a claim's expiry may lie ahead before it is cut to this.
        claim_ceiling: Duration = secs(DAY), Span(HOUR..=7 * DAY);
        /// Attempts of one task that may die since its last success, then a person must look (resume-cap).
        max_resumes: u32 = 8, Count(0..=MAX_RESUMES);
        /// When others changed a dead worker's tree: a person looks first, or the next attempt is warned.
        tree_drift: TreeDrift = TreeDrift::Escalate, OneOf(TreeDrift::NAMED);
        /// Whether a living worker may be stopped, once its identity is proven.
        allow_stop: bool = false, Switch;
        // What becomes of a health check's alert, where that is not the default. See `Heal::action`.
        + health_actions: BTreeMap<Check, Action>;
    }

    /// When synthesize-distress writes a card, and how many.
    [distress] struct Distress {
        /// The profile that takes the cards; without it Hermes' own kanban.orchestrator_profile, else
        /// tuesday.
        orchestrator: Option<String> = None, PROFILE;
        /// So many failures of a provider within distress.window are repeated ones, while the worker lives.
        repeat: u32 = 3, Count(2..=100);
        /// The window repeated failures are counted in.
        window: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Cards for one task within a day, archived ones included; then it is left to a person.
        max_cards: u32 = 3, Count(1..=20);
        /// Cards that may wait for the orchestrator or be worked on at once; further ones queue.
        max_open_cards: u32 = 2, Count(1..=100);
        /// How long a worker's own block over a capability or dependency waits before it gets a card.
        block_wait: Duration = secs(15 * MIN), Span(MIN..=DAY);
        /// Whether three and more tasks that are stuck for one reason share one card.
        storm: bool = true, Switch;
    }

    /// Who takes the cards where the profile of distress.orchestrator cannot.
    [orchestrator] struct Orchestrator {
        /// Profiles that take the cards where the orchestrator's own does not exist, first one first.
        fallbacks: Vec<String> = Vec::new(), PROFILES;
    }

    /// Who decides what no program may.
    [people] struct People {
        /// Who is assigned a task that needs a person; without it the assignee stays.
        assignee: Option<String> = None, PROFILE;
    }

    /// How work is moved away from a provider that refuses it, and how it comes back.
    [routing] struct Routing {
        /// Who moves a rate-limited task: "mechanical" asks nobody, "orchestrator" writes a card.
        rate_limit_route: RateLimitRoute = RateLimitRoute::Mechanical, OneOf(RateLimitRoute::NAMED);
        /// Whether any profile of a surely different provider may be chosen, not only a listed fallback.
        // Never `default`, never the orchestrator.
        auto: bool = false, Switch;
        /// Moves of one task in one episode; then the orchestrator is asked.
        max_moves: u32 = 2, Count(0..=20);
        /// Cards for one attempt that were completed without a decision, before a person is asked.
        max_asks: u32 = 2, Count(1..=10);
        /// Tasks sent to one provider at once at first, moved or released.
        at_once: u32 = 2, Count(1..=100);
        /// Healthy time after which twice as many may be on their way.
        pace: Duration = secs(10 * MIN), Span(1..=DAY);
        /// Most moves onto one profile within an hour.
        moves_per_hour: u32 = 20, Count(1..=1_000);
        /// Most moves onto one profile within twelve hours.
        moves_per_night: u32 = 100, Count(1..=10_000);
        /// Failed probes of a provider in a row, then its work is left to a person.
        max_probes: u32 = 12, Count(1..=100);
        /// The longest a provider's work is held before it is left to a person.
        give_up: Duration = secs(3 * DAY), Span(HOUR..=30 * DAY);
        /// How long a card may wait unclaimed, or a guard hold a ready task, before the operator is told.
        unclaimed: Duration = secs(30 * MIN), Span(MIN..=DAY);
        /// Nothing resumes by itself between these two local times.
        quiet_hours: Option<QuietHours> = None, HOURS;
    }

    /// What one task may use where its scope says nothing, and how closely budget-check looks.
    [budget] struct Budget {
        /// The longest one attempt should take, where the task itself says nothing.
        time: Duration = secs(HOUR), Span(MIN..=7 * DAY);
        /// Turns one attempt should take at most, where the task itself says nothing.
        // Hermes 0.19 itself stops at 90.
        iterations: u32 = 90, Count(1..=100_000);
        /// What all attempts at one task should cost at most, where the task itself says nothing.
        cost: Option<Money> = None, DOLLARS;
        /// Files one task should change at most, where the task itself says nothing; 0: no limit.
        max_files: u32 = 0, Count(0..=100_000);
        /// Resets of one task after which a person should look.
        resets: u32 = 2, Count(1..=20);
        /// Attempts that used up their iterations, after which a person should look.
        exhaustions: u32 = 2, Count(1..=20);
        /// Equal tool calls in a row that count as churning.
        repeats: u32 = 5, Count(2..=1_000);
        /// Compactions in one attempt that count as churning.
        compactions: u32 = 3, Count(1..=1_000);
        /// Reads of one file since its last edit that count as churning.
        rereads: u32 = 8, Count(3..=1_000);
        /// Tool calls without any edit that count as churning, for a task that has files in scope.
        idle_calls: u32 = 60, Count(10..=100_000);
        /// Attempts in a row that ended on the same error and left no commit: no progress.
        same_errors: u32 = 3, Count(2..=20);
        /// Top-level folders one task may be about before --lint calls it too broad.
        max_areas: u32 = 3, Count(1..=100);
        /// How far back ended attempts are looked at.
        recent: Duration = secs(DAY), Span(HOUR..=30 * DAY);
        /// The longest look at one working tree; what git has not said by then is unknown.
        tree_limit: Duration = secs(10), Span(1..=5 * MIN);
        /// The longest look at all working trees of a board together.
        trees_limit: Duration = secs(MIN), Span(1..=HOUR);
    }

    /// From when on a health check of heal, or a detector of coord detect, finds something.
    // Where nothing else is said, the defaults of checks are those of claudectl 0.64.0, and those of detectors
    // are our own, measured on opencode 1.18.33.
    [detect] struct Detect {
        /// Silence on the model's turn that is told of.
        // alkdev hub: 60 s.
        session_stall: Duration = secs(MIN), Span(10..=HOUR);
        /// Silence on the model's turn that is a stall.
        stall: Duration = secs(30 * MIN), Span(MIN..=DAY);
        /// How long a tool may run before it counts as not running.
        // Our own choice: no tool of any agent runs for a day.
        tool_limit: Duration = secs(DAY), Span(10 * MIN..=7 * DAY);
        /// Equal failing calls in a row that are a loop.
        loop_calls: u32 = 10, Count(3..=1_000);
        /// Times one question is asked with the same answer, and nothing else done, that are a repetition.
        repetition: u32 = 3, Count(2..=1_000);
        /// The newest stretch that errors and costs are compared in.
        // Our own choice.
        recent: Duration = secs(5 * MIN), Span(30..=DAY);
        /// Failing calls in that stretch that are many.
        // alkdev hub: 5.
        errors: u32 = 5, Count(1..=10_000);
        /// So many times the share of failing calls before is an acceleration.
        error_growth: u32 = 2, Count(1..=100);
        /// Calls the runtime could not use that are a degradation.
        // alkdev hub: 1.
        malformed: u32 = 1, Count(1..=10_000);
        /// What an attempt must have cost before its costs are compared.
        cost_from: Option<Money> = Some(Money(1_000_000_000)), DOLLARS;
        /// Costs now in percent of those before that are a spike.
        cost_warning: u32 = 250, Count(101..=100_000);
        /// The same, critical.
        cost_critical: u32 = 500, Count(101..=100_000);
        /// Percent of the context above which a compaction may be considered.
        context_compact: u32 = 50, Count(1..=100);
        /// Percent of the context above which it is high.
        context_high: u32 = 80, Count(1..=100);
        /// Percent of the context above which it is full.
        context_full: u32 = 90, Count(1..=100);
        /// Tokens of input before the cache is looked at.
        cache_from: u32 = 10_000, Count(0..=1_000_000_000);
        /// Percent of the input from the cache below which that is low.
        cache_warning: u32 = 30, Count(0..=100);
        /// The same, critical.
        cache_critical: u32 = 10, Count(0..=100);
        /// Edits before which their tokens are not compared.
        pace_edits: u32 = 8, Count(1..=10_000);
        /// So many times the tokens of the first edits are too many.
        pace_growth: u32 = 2, Count(1..=100);
        /// Score of decay that is early.
        decay_early: u32 = 30, Count(1..=100);
        /// Score of decay that is significant.
        decay_high: u32 = 60, Count(1..=100);
        /// Score of decay that is severe.
        decay_severe: u32 = 80, Count(1..=100);
        /// How long a session's stream is listened to before its silence is judged.
        // 0 does not listen.
        listen: Duration = secs(4), Span(0..=15);
        /// Silence of a session that is a stall where nobody listened.
        // A model that streams slowly writes no row for minutes.
        unheard_stall: Duration = secs(5 * MIN), Span(10..=DAY);
        /// How long a session's tool may run where the call itself allows no more.
        // Not measured.
        tool_long: Duration = secs(10 * MIN), Span(10..=7 * DAY);
        /// How long a person may leave a session's question unanswered.
        // Not measured.
        human_wait: Duration = secs(5 * MIN), Span(10..=7 * DAY);
        /// How long an open answer that its server knows nothing of is skipped.
        orphan_after: Duration = secs(15), Span(5..=DAY);
        /// How long a prompt may wait for an answer to begin.
        unanswered: Duration = secs(MIN), Span(10..=DAY);
        /// Repetitions of a refused request that are pressure of the provider.
        retries: u32 = 3, Count(1..=1_000);
        /// Of a session's last 10 answers those that broke off, from which on it is a runaway.
        broken_streams: u32 = 3, Count(1..=10);
        /// Compactions by the agent itself in that window that are a runaway.
        compactions: u32 = 3, Count(1..=1_000);
        /// The window they are counted in.
        compaction_window: Duration = secs(10 * MIN), Span(MIN..=DAY);
        /// Of a session's last 8 calls those that are one and the same, from which on it is a runaway.
        same_calls: u32 = 5, Count(2..=8);
        /// Calls whose arguments do not fit that are a degradation, too; 0 counts none.
        schema_errors: u32 = 0, Count(0..=10_000);
        /// Whether marks of calls in a session's plain words are a degradation, too.
        raw_calls: bool = false, Switch;
        /// Whether a session's command that ends with another code than 0 is a failed call.
        bash_exit: bool = false, Switch;
    }
}

/// The largest `heal.max_resumes`.
pub const MAX_RESUMES: u32 = 25;

const NAMESPACES: &[(&str, PidNamespace)] = &[("auto", PidNamespace::Auto), ("same", PidNamespace::Same)];

named_enum! {
    /// What becomes of a task whose working tree others changed since its worker died.
    enum TreeDrift {
        /// A person looks first.
        Escalate = "escalate",
        /// It goes on, and the next attempt is warned.
        Warn = "warn",
    }
}

named_enum! {
    /// Who moves a task that its provider limits.
    enum RateLimitRoute {
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
