//! The rows themselves.

use std::time::Duration;

use super::{KeyInfo, Slot};
use crate::config::Config;

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

pub(super) static KEYS: [KeyInfo; 57] = [
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
];
