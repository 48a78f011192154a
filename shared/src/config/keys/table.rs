//! The rows themselves.

use std::time::Duration;

use super::{KeyInfo, Slot};
use crate::config::{Config, MAX_RESUMES};

const MIN: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

const fn key(section: &'static str, key: &'static str, slot: Slot, meaning: &'static str) -> KeyInfo {
    KeyInfo { section, key, meaning, slot }
}

const fn time(at: fn(&mut Config) -> &mut Duration, min: u64, max: u64) -> Slot {
    Slot::Span { at, min, max }
}

const fn count(at: fn(&mut Config) -> &mut u32, min: u32, max: u32) -> Slot {
    Slot::Count { at, min, max }
}

pub(super) static KEYS: [KeyInfo; 97] = [
    key(
        "board",
        "db",
        Slot::Path(|c| &mut c.board.db),
        "A board that is not found by itself, such as one made by `board init`",
    ),
    key(
        "board",
        "hermes_root",
        Slot::Path(|c| &mut c.board.hermes_root),
        "The Hermes root to look for boards in, in the place of the one the environment names",
    ),
    key(
        "board",
        "claim_ttl",
        time(|c| &mut c.board.claim_ttl, MIN, DAY),
        "How long a claim lasts that `board claim` or `board heartbeat` takes",
    ),
    key(
        "board",
        "busy_timeout",
        time(|c| &mut c.board.busy_timeout, 1, 2 * MIN),
        "How long to wait for a board that somebody else is writing",
    ),
    key(
        "host",
        "aliases",
        Slot::Names(|c| &mut c.host.aliases),
        "Former names of this very machine; never the name of another one",
    ),
    key(
        "host",
        "pid_namespace",
        Slot::Namespace(|c| &mut c.host.pid_namespace),
        "\"same\" only if all workers of this host name live in one pid namespace with us",
    ),
    key(
        "heal",
        "grace",
        // One tick of a Hermes dispatcher is 60 s: with less we would always come first.
        time(|c| &mut c.heal.grace, MIN, 6 * HOUR),
        "Head start of a dispatcher that lives, or ticked lately, before a dead worker's task is touched",
    ),
    key(
        "heal",
        "lonely_grace",
        time(|c| &mut c.heal.lonely_grace, 10, HOUR),
        "The same where no dispatcher is",
    ),
    key(
        "heal",
        "max_resets",
        count(|c| &mut c.heal.max_resets, 0, 20),
        "Resets of one task, then it is escalated once and left alone; 0 escalates at once",
    ),
    key(
        "heal",
        "backoff",
        time(|c| &mut c.heal.backoff, MIN, 6 * HOUR),
        "Wait after the first reset of a task; it doubles with each further one",
    ),
    key("heal", "backoff_max", time(|c| &mut c.heal.backoff_max, MIN, DAY), "Where that doubling ends"),
    key(
        "heal",
        "decay",
        time(|c| &mut c.heal.decay, 10 * MIN, 7 * DAY),
        "Healthy running after which earlier resets are forgotten",
    ),
    key(
        "heal",
        "max_uncounted",
        count(|c| &mut c.heal.max_uncounted, 1, 100),
        "Requeues in a row that were proven not the task's fault, before they count after all",
    ),
    key(
        "heal",
        "storm_tasks",
        count(|c| &mut c.heal.storm_tasks, 2, 1_000),
        "So many tasks dying of one cause within storm_window are a storm, which slows resets down",
    ),
    key(
        "heal",
        "storm_window",
        time(|c| &mut c.heal.storm_window, MIN, DAY),
        "The window a storm is counted in",
    ),
    key(
        "heal",
        "storm_probe",
        time(|c| &mut c.heal.storm_probe, MIN, 6 * HOUR),
        "Time between two probes while a storm lasts; it doubles",
    ),
    key(
        "heal",
        "storm_probe_max",
        time(|c| &mut c.heal.storm_probe_max, MIN, DAY),
        "Where that doubling ends",
    ),
    key(
        "heal",
        "orphan_wait",
        time(|c| &mut c.heal.orphan_wait, MIN, 6 * HOUR),
        "How long a requeue waits for processes a dead worker left running in its tree",
    ),
    key(
        "heal",
        "hold",
        time(|c| &mut c.heal.hold, 1, DAY),
        "How long a parked task is held where nothing says when to look again",
    ),
    key(
        "heal",
        "hold_max",
        time(|c| &mut c.heal.hold_max, MIN, 7 * DAY),
        "The longest any hold may last, whatever a provider announces",
    ),
    key(
        "heal",
        "claim_ceiling",
        time(|c| &mut c.heal.claim_ceiling, HOUR, 7 * DAY),
        "The furthest a claim's expiry may lie ahead before it is cut to this",
    ),
    key(
        "heal",
        "max_resumes",
        count(|c| &mut c.heal.max_resumes, 0, MAX_RESUMES),
        "Attempts of one task that may die since its last success, then a person must look (resume-cap)",
    ),
    key(
        "heal",
        "tree_drift",
        Slot::Drift(|c| &mut c.heal.tree_drift),
        "When others changed a dead worker's tree: a person looks first, or the next attempt is warned",
    ),
    key(
        "heal",
        "allow_stop",
        Slot::Switch(|c| &mut c.heal.allow_stop),
        "Whether a living worker may be stopped, once its identity is proven",
    ),
    key(
        "distress",
        "orchestrator",
        Slot::Profile(|c| &mut c.distress.orchestrator),
        "The profile that takes the cards; without it Hermes' own kanban.orchestrator_profile, else tuesday",
    ),
    key(
        "distress",
        "repeat",
        count(|c| &mut c.distress.repeat, 2, 100),
        "So many failures of a provider within distress.window are repeated ones, while the worker lives",
    ),
    key(
        "distress",
        "window",
        time(|c| &mut c.distress.window, MIN, DAY),
        "The window repeated failures are counted in",
    ),
    key(
        "distress",
        "max_cards",
        count(|c| &mut c.distress.max_cards, 1, 20),
        "Cards for one task within a day, archived ones included; then it is left to a person",
    ),
    key(
        "distress",
        "max_open_cards",
        count(|c| &mut c.distress.max_open_cards, 1, 100),
        "Cards that may wait for the orchestrator or be worked on at once; further ones queue",
    ),
    key(
        "distress",
        "block_wait",
        time(|c| &mut c.distress.block_wait, MIN, DAY),
        "How long a worker's own block over a capability or dependency waits before it gets a card",
    ),
    key(
        "distress",
        "storm",
        Slot::Switch(|c| &mut c.distress.storm),
        "Whether three and more tasks that are stuck for one reason share one card",
    ),
    key(
        "orchestrator",
        "fallbacks",
        Slot::Profiles(|c| &mut c.orchestrator.fallbacks),
        "Profiles that take the cards where the orchestrator's own does not exist, first one first",
    ),
    key(
        "people",
        "assignee",
        Slot::Profile(|c| &mut c.people.assignee),
        "Who is assigned a task that needs a person; without it the assignee stays",
    ),
    key(
        "routing",
        "rate_limit_route",
        Slot::Route(|c| &mut c.routing.rate_limit_route),
        "Who moves a rate-limited task: \"mechanical\" asks nobody, \"orchestrator\" writes a card",
    ),
    key(
        "routing",
        "auto",
        Slot::Switch(|c| &mut c.routing.auto),
        "Whether any profile of a surely different provider may be chosen, not only a listed fallback",
    ),
    key(
        "routing",
        "max_moves",
        count(|c| &mut c.routing.max_moves, 0, 20),
        "Moves of one task in one episode; then the orchestrator is asked",
    ),
    key(
        "routing",
        "max_asks",
        count(|c| &mut c.routing.max_asks, 1, 10),
        "Cards for one attempt that were completed without a decision, before a person is asked",
    ),
    key(
        "routing",
        "at_once",
        count(|c| &mut c.routing.at_once, 1, 100),
        "Tasks sent to one provider at once at first, moved or released",
    ),
    key(
        "routing",
        "pace",
        time(|c| &mut c.routing.pace, 1, DAY),
        "Healthy time after which twice as many may be on their way",
    ),
    key(
        "routing",
        "moves_per_hour",
        count(|c| &mut c.routing.moves_per_hour, 1, 1_000),
        "Most moves onto one profile within an hour",
    ),
    key(
        "routing",
        "moves_per_night",
        count(|c| &mut c.routing.moves_per_night, 1, 10_000),
        "Most moves onto one profile within twelve hours",
    ),
    key(
        "routing",
        "max_probes",
        count(|c| &mut c.routing.max_probes, 1, 100),
        "Failed probes of a provider in a row, then its work is left to a person",
    ),
    key(
        "routing",
        "give_up",
        time(|c| &mut c.routing.give_up, HOUR, 30 * DAY),
        "The longest a provider's work is held before it is left to a person",
    ),
    key(
        "routing",
        "unclaimed",
        time(|c| &mut c.routing.unclaimed, MIN, DAY),
        "How long a card may wait unclaimed, or a guard hold a ready task, before somebody is told",
    ),
    key(
        "routing",
        "quiet_hours",
        Slot::Quiet(|c| &mut c.routing.quiet_hours),
        "Nothing resumes by itself between these two local times",
    ),
    key(
        "budget",
        "time",
        time(|c| &mut c.budget.time, MIN, 7 * DAY),
        "The longest one attempt should take, where the task itself says nothing",
    ),
    key(
        "budget",
        "iterations",
        count(|c| &mut c.budget.iterations, 1, 100_000),
        "Turns one attempt should take at most, where the task itself says nothing",
    ),
    key(
        "budget",
        "cost",
        Slot::Money(|c| &mut c.budget.cost),
        "What all attempts at one task should cost at most, where the task itself says nothing",
    ),
    key(
        "budget",
        "max_files",
        count(|c| &mut c.budget.max_files, 0, 100_000),
        "Files one task should change at most, where the task itself says nothing; 0 is no limit",
    ),
    key(
        "budget",
        "resets",
        count(|c| &mut c.budget.resets, 1, 20),
        "Resets of one task after which a person should look",
    ),
    key(
        "budget",
        "exhaustions",
        count(|c| &mut c.budget.exhaustions, 1, 20),
        "Attempts that used up their iterations, after which a person should look",
    ),
    key(
        "budget",
        "repeats",
        count(|c| &mut c.budget.repeats, 2, 1_000),
        "Equal tool calls in a row that count as churning",
    ),
    key(
        "budget",
        "compactions",
        count(|c| &mut c.budget.compactions, 1, 1_000),
        "Compactions in one attempt that count as churning",
    ),
    key(
        "budget",
        "rereads",
        count(|c| &mut c.budget.rereads, 3, 1_000),
        "Reads of one file since its last edit that count as churning",
    ),
    key(
        "budget",
        "idle_calls",
        count(|c| &mut c.budget.idle_calls, 10, 100_000),
        "Tool calls without any edit that count as churning, for a task that has files in scope",
    ),
    key(
        "budget",
        "same_errors",
        count(|c| &mut c.budget.same_errors, 2, 20),
        "Attempts in a row that ended on the same error and left no commit: no progress",
    ),
    key(
        "budget",
        "max_areas",
        count(|c| &mut c.budget.max_areas, 1, 100),
        "Top-level folders one task may be about before --lint calls it too broad",
    ),
    key(
        "budget",
        "recent",
        time(|c| &mut c.budget.recent, HOUR, 30 * DAY),
        "How far back ended attempts are looked at",
    ),
    key(
        "budget",
        "tree_limit",
        time(|c| &mut c.budget.tree_limit, 1, 5 * MIN),
        "The longest look at one working tree; what git has not said by then is unknown",
    ),
    key(
        "budget",
        "trees_limit",
        time(|c| &mut c.budget.trees_limit, 1, HOUR),
        "The longest look at all working trees of a board together",
    ),
    key(
        "detect",
        "session_stall",
        time(|c| &mut c.detect.session_stall, 10, HOUR),
        "Silence on the model's turn that is told of",
    ),
    key(
        "detect",
        "stall",
        time(|c| &mut c.detect.stall, MIN, DAY),
        "Silence on the model's turn that is a stall",
    ),
    key(
        "detect",
        "tool_limit",
        time(|c| &mut c.detect.tool_limit, 10 * MIN, 7 * DAY),
        "How long a tool may run before it counts as none",
    ),
    key(
        "detect",
        "loop_calls",
        count(|c| &mut c.detect.loop_calls, 3, 1_000),
        "Equal failing calls in a row that are a loop",
    ),
    key(
        "detect",
        "repetition",
        count(|c| &mut c.detect.repetition, 2, 1_000),
        "Times one question is asked with the same answer, and nothing else done, that are a repetition",
    ),
    key(
        "detect",
        "recent",
        time(|c| &mut c.detect.recent, 30, DAY),
        "The newest stretch that errors and costs are compared in",
    ),
    key(
        "detect",
        "errors",
        count(|c| &mut c.detect.errors, 1, 10_000),
        "Failing calls in that stretch that are many",
    ),
    key(
        "detect",
        "error_growth",
        count(|c| &mut c.detect.error_growth, 1, 100),
        "So many times the share of failing calls before is an acceleration",
    ),
    key(
        "detect",
        "malformed",
        count(|c| &mut c.detect.malformed, 1, 10_000),
        "Calls the runtime could not use that are a degradation",
    ),
    key(
        "detect",
        "cost_from",
        Slot::Money(|c| &mut c.detect.cost_from),
        "What an attempt must have cost before its costs are compared",
    ),
    key(
        "detect",
        "cost_warning",
        count(|c| &mut c.detect.cost_warning, 101, 100_000),
        "Costs now in percent of those before that are a spike",
    ),
    key(
        "detect",
        "cost_critical",
        count(|c| &mut c.detect.cost_critical, 101, 100_000),
        "The same, critical",
    ),
    key(
        "detect",
        "context_compact",
        count(|c| &mut c.detect.context_compact, 1, 100),
        "Percent of the context above which a compaction may be considered",
    ),
    key(
        "detect",
        "context_high",
        count(|c| &mut c.detect.context_high, 1, 100),
        "Percent of the context above which it is high",
    ),
    key(
        "detect",
        "context_full",
        count(|c| &mut c.detect.context_full, 1, 100),
        "Percent of the context above which it is full",
    ),
    key(
        "detect",
        "cache_from",
        count(|c| &mut c.detect.cache_from, 0, 1_000_000_000),
        "Tokens of input before the cache is looked at",
    ),
    key(
        "detect",
        "cache_warning",
        count(|c| &mut c.detect.cache_warning, 0, 100),
        "Percent of the input from the cache below which that is low",
    ),
    key("detect", "cache_critical", count(|c| &mut c.detect.cache_critical, 0, 100), "The same, critical"),
    key(
        "detect",
        "pace_edits",
        count(|c| &mut c.detect.pace_edits, 1, 10_000),
        "Edits before which their tokens are not compared",
    ),
    key(
        "detect",
        "pace_growth",
        count(|c| &mut c.detect.pace_growth, 1, 100),
        "So many times the tokens of the first edits are too many",
    ),
    key(
        "detect",
        "decay_early",
        count(|c| &mut c.detect.decay_early, 1, 100),
        "Score of decay that is early",
    ),
    key(
        "detect",
        "decay_high",
        count(|c| &mut c.detect.decay_high, 1, 100),
        "Score of decay that is significant",
    ),
    key(
        "detect",
        "decay_severe",
        count(|c| &mut c.detect.decay_severe, 1, 100),
        "Score of decay that is severe",
    ),
    key(
        "detect",
        "listen",
        time(|c| &mut c.detect.listen, 0, 15),
        "How long a session's stream is listened to before its silence is judged",
    ),
    key(
        "detect",
        "unheard_stall",
        time(|c| &mut c.detect.unheard_stall, 10, DAY),
        "Silence of a session that is a stall where nobody listened",
    ),
    key(
        "detect",
        "tool_long",
        time(|c| &mut c.detect.tool_long, 10, 7 * DAY),
        "How long a session's tool may run where the call itself allows no more",
    ),
    key(
        "detect",
        "human_wait",
        time(|c| &mut c.detect.human_wait, 10, 7 * DAY),
        "How long a person may leave a session's question unanswered",
    ),
    key(
        "detect",
        "orphan_after",
        time(|c| &mut c.detect.orphan_after, 5, DAY),
        "How long an open answer that its server knows nothing of is left alone",
    ),
    key(
        "detect",
        "unanswered",
        time(|c| &mut c.detect.unanswered, 10, DAY),
        "How long a prompt may wait for an answer to begin",
    ),
    key(
        "detect",
        "retries",
        count(|c| &mut c.detect.retries, 1, 1_000),
        "Repetitions of a refused request that are pressure of the provider",
    ),
    key(
        "detect",
        "broken_streams",
        count(|c| &mut c.detect.broken_streams, 1, 10),
        "Of a session's last 10 answers those that broke off, from which on it is a runaway",
    ),
    key(
        "detect",
        "compactions",
        count(|c| &mut c.detect.compactions, 1, 1_000),
        "Compactions by the agent itself in that window that are a runaway",
    ),
    key(
        "detect",
        "compaction_window",
        time(|c| &mut c.detect.compaction_window, MIN, DAY),
        "The window they are counted in",
    ),
    key(
        "detect",
        "same_calls",
        count(|c| &mut c.detect.same_calls, 2, 8),
        "Of a session's last 8 calls those that are one and the same, from which on it is a runaway",
    ),
    key(
        "detect",
        "schema_errors",
        count(|c| &mut c.detect.schema_errors, 0, 10_000),
        "Calls whose arguments do not fit that are a degradation, too; 0 counts none",
    ),
    key(
        "detect",
        "raw_calls",
        Slot::Switch(|c| &mut c.detect.raw_calls),
        "Whether marks of calls in a session's plain words are a degradation, too",
    ),
    key(
        "detect",
        "bash_exit",
        Slot::Switch(|c| &mut c.detect.bash_exit),
        "Whether a session's command that ends with another code than 0 is a failed call",
    ),
];
