//! Whether time can be trusted in a pass, and since when. Nothing is decided by a clock that jumped, and no silence is measured
//! across the jump in later passes.

use std::collections::BTreeSet;

use crate::said::{Kind, Said};
use crate::{Pass, Witness, World};
use base::error::Result;
pub use base::time::FUTURE;
use base::time::{LAST_SECOND, Time};
use board::several_hosts::{is_off, off_by};
use board::{Board, Event, Status, Task};
use logs::cache::Cache;

/// Seconds from which on an event lies too far in the future for a clock that is ahead: its row is wrong, as with milliseconds.
const WRONG: i64 = 2 * 86_400;
/// So many of the newest events show whether a row is wrong, or the clock of this machine.
const SAMPLE: u32 = 200;
/// More seconds than these of a jump of the clock, or of a suspension of the machine, count.
const MOVED: i64 = 60;
/// The name under which the state file remembers when a pass saw that the clock had been set.
const SET: &str = "clock-set:";
/// The name under which it remembers since when a pass would have seen that.
const KNOWN: &str = "clock-known:";

/// The name under which it remembers, with the boot's id, when that boot began by the earliest reading.
const BEGAN: &str = "boot-began:";

/// The name under which it remembers, with the boot's id, for how many seconds of that boot the machine was suspended.
const SLEPT: &str = "slept:";

/// The name under which it remembers when a pass saw that the machine was awake again.
const WOKE: &str = "woke:";

/// Seconds that everybody has to give a sign of life after the machine was suspended.
pub const WAKING: i64 = 900;

/// The newest event of a board, and one whose row is wrong.
pub struct Newest {
    /// When the newest one was that may be right.
    pub event: Option<(String, Event)>,
    /// The one that lies too far in the future for any clock.
    pub wrong: Option<(String, Event)>,
}

/// Sorts the newest events of a board, and leaves out of them what is wrong.
///
/// # Errors
/// The board cannot be read.
pub fn newest(board: &mut dyn Board, events: &mut Vec<(String, Event)>, now: Time) -> Result<Newest> {
    let is_wrong = |(_, e): &(String, Event)| e.at.since(now) > WRONG;
    let latest = |all: &[(String, Event)]| all.iter().max_by_key(|(_, e)| e.at).cloned();
    let wrong = match events.iter().any(is_wrong) {
        true => is_few(&board.events(Time(0), SAMPLE)?, now).then(|| latest(events)).flatten(),
        false => None,
    };
    if wrong.is_some() {
        events.retain(|e| !is_wrong(e));
    }
    Ok(Newest { event: latest(events), wrong })
}

/// Whether so few of the newest events are too far in the future that it is their rows: a clock of this machine that was reset has most
/// of them there.
fn is_few(all: &[(String, Event)], now: Time) -> bool {
    all.iter().filter(|(_, e)| e.at.since(now) > WRONG).count() * 2 <= all.len()
}

/// What is said of an event whose row is wrong.
pub fn wrong_row((task, e): &(String, Event), now: Time) -> String {
    let millis = Time(e.at.0 / 1_000);
    let is_millis = e.at.0 > LAST_SECOND && millis.since(now) <= WRONG;
    let what = if is_millis { ", as if its time were in milliseconds" } else { "" };
    format!("event `{}` of {task} has the time {}{what}, so it is skipped", e.kind, e.at.0)
}

/// What mends it.
pub const CORRECT: &str =
    "correct its `created_at` in the table `task_events` of the board: seconds since 1970";

/// Why time cannot be trusted in this pass, if so: a board from the future, a wall clock that jumped, or one that is not the board's.
/// `lately`: the newest events of the board. One whose row is wrong is left out of them, and found.
///
/// # Errors
/// The board cannot be read.
pub fn fault(
    world: &mut World<'_>,
    pass: &Pass,
    lately: &mut Vec<(String, Event)>,
) -> Result<Option<String>> {
    let newest = newest(world.board, lately, pass.now)?;
    // Where this host is slow, it is not the row that is wrong.
    let wrong = newest.wrong.as_ref().filter(|_| skew(world).and_then(skewed).is_none());
    let said = wrong.map(|wrong| format!("{}: {CORRECT}", wrong_row(wrong, pass.now)));
    let said = said.map(|said| Said::of(Kind::WrongRow, said));
    world.found.extend(said);
    Ok(judge(world, pass, newest.event.as_ref()))
}

fn judge(world: &mut World<'_>, pass: &Pass, newest: Option<&(String, Event)>) -> Option<String> {
    // A given clock has nothing to do with this machine's, and must not be remembered as if it had.
    let moved = if pass.clock_given {
        None
    } else {
        let (boot, offset) = (world.host.facts().boot_id, world.clock_offset);
        let at = world.later_than(pass);
        remembered(world.cache, &boot, offset, world.host.slept(), at)
    };
    if has_moved(moved).is_some() {
        world.cache.forget(SET, &BTreeSet::new());
        world.cache.sight(SET, pass.now);
    }
    // A host that is off sees events of the others in its future: it is not they who are wrong.
    let fault = skew(world).and_then(skewed).or_else(|| judged(moved, newest, pass.now));
    if fault.is_none() && !pass.clock_given {
        world.cache.restart_future(pass.now);
    }
    fault
}

/// By how many milliseconds this host is ahead of its board, where several hosts share that.
fn skew(world: &World<'_>) -> Option<i64> {
    let (all, me) = (world.hosts.as_ref()?, world.host.facts().hostname);
    all.hosts.iter().find(|h| h.host == me).map(|h| h.skew_ms)
}

/// Whether something happened in the last `most` seconds. What is far in the future did not: it would count as new for ever.
pub fn is_within(at: Time, now: Time, most: i64) -> bool {
    (-FUTURE..=most).contains(&now.since(at))
}

/// Remembers when a boot began, by the wall clock as it stands now. Of an earlier boot nothing is kept.
fn note_boot(cache: &mut Cache, boot: &str, offset: i64) {
    let key = format!("{BEGAN}{boot}");
    cache.forget(BEGAN, &BTreeSet::from([key.clone()]));
    cache.sight(&key, Time(offset));
}

/// Brings up to `at` what passes remember of the clocks of this boot: its wall clock minus its boot clock, and the seconds in which the
/// machine was suspended. Gives the seconds by which the wall clock moved since; `None` where nothing was remembered.
fn remembered(cache: &mut Cache, boot: &str, offset: i64, slept: Option<i64>, at: Time) -> Option<i64> {
    note_boot(cache, boot, offset);
    let moved = cache.clock_moved(boot, offset);
    // While the machine was suspended nothing could give a sign of life.
    let has_slept = slept.map(|slept| {
        let has_slept = has_slept(cache, boot, slept);
        note_sleep(cache, boot, slept);
        has_slept
    });
    if has_slept == Some(Some(true)) {
        cache.forget(WOKE, &BTreeSet::new());
        cache.sight(WOKE, at);
    }
    // Where no pass remembered how long it slept, it may have.
    if moved.is_none() || has_slept == Some(None) {
        cache.forget(KNOWN, &BTreeSet::new());
        cache.sight(KNOWN, at);
    }
    moved
}

/// For how many seconds the machine was suspended in this boot when a pass last looked, and until now; `None` where the clock is given,
/// or the kernel does not say.
pub fn suspended(world: &World<'_>, pass: &Pass) -> Option<(i64, i64)> {
    let until_now = world.host.slept().filter(|_| !pass.clock_given)?;
    let before = slept_before(world.cache, &world.host.facts().boot_id);
    Some((before.map_or(until_now, |before| before.min(until_now)), until_now))
}

/// How long the machine was suspended in this boot, as a pass last remembered it.
fn slept_before(cache: &Cache, boot: &str) -> Option<i64> {
    cache.newest(&format!("{SLEPT}{boot}")).map(|(_, seconds)| seconds.0)
}

/// Whether that has grown by more than a minute since; `None` where no pass remembered it.
fn has_slept(cache: &Cache, boot: &str, slept: i64) -> Option<bool> {
    slept_before(cache, boot).map(|known| slept - known > MOVED)
}

fn note_sleep(cache: &mut Cache, boot: &str, slept: i64) {
    // In another time namespace it may be less.
    if slept_before(cache, boot).is_none_or(|known| (slept - known).abs() > MOVED) {
        cache.forget(SLEPT, &BTreeSet::new());
        cache.sight(&format!("{SLEPT}{boot}"), Time(slept));
    }
}

/// When the boot of this id began by the earliest reading of the wall clock that a pass took in it.
pub fn began(cache: &Cache, boot: &str) -> Option<Time> {
    cache.newest(&format!("{BEGAN}{boot}")).map(|(_, at)| at)
}

/// Notes how the wall clock stands in a pass that has nothing to decide, so that a later one sees that it was set in between.
/// Where nobody is at work and no pass decided anything yet, no silence will be measured, and nothing is written.
pub fn remember(world: &mut World<'_>, pass: &Pass, rows: &[Task]) {
    if world.cache.knows_clock() || rows.iter().any(|t| t.status == Status::Running) {
        judge(world, pass, None);
    }
}

/// Since when the wall clock runs steadily and the machine is awake, by that clock: what was silent before need not have been. `None`:
/// no pass saw the clock being set or the machine waking.
pub fn steady_since(world: &World<'_>, pass: &Pass) -> Option<Time> {
    if pass.clock_given {
        return None;
    }
    world.cache.newest(SET).map(|(_, at)| at.min(pass.now)).max(woke(world, pass.now))
}

/// Since when passes would have seen that the wall clock was set or the machine suspended; what happened before is lost with the state
/// file. `None`: the clock is given.
pub fn known_since(world: &World<'_>, pass: &Pass) -> Option<Time> {
    if pass.clock_given {
        return None;
    }
    world.cache.newest(KNOWN).map(|(_, at)| at.min(pass.now))
}

/// When the machine was last suspended until, as far as passes saw it: then they saw it awake again, which is now where none did yet.
/// `None`: it was not.
pub fn woke(world: &World<'_>, now: Time) -> Option<Time> {
    let boot = world.host.facts().boot_id;
    let wakes = world.host.slept().and_then(|slept| has_slept(world.cache, &boot, slept)) == Some(true);
    let woke = || world.cache.newest(WOKE).map(|(_, at)| at.min(now));
    if wakes { Some(now) } else { woke() }
}

/// Since when this machine is on and awake, as far as is known: before that nobody on it could do anything.
pub fn up_since(world: &World<'_>, now: Time) -> Option<Time> {
    Some(world.host.facts().boot_time).max(woke(world, now)).filter(|at| *at <= now)
}

/// When this machine could do something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Awake {
    /// It was started, or passes saw it awake again, then.
    pub since: Option<Time>,
    /// For so many seconds since then it was suspended, after the last pass that looked at that.
    pub slept: i64,
}

impl Awake {
    /// As passes remember it, and as it is now.
    pub fn of(cache: &Cache, host: &dyn Witness, now: Time) -> Awake {
        let facts = host.facts();
        let woke = cache.newest(WOKE).map(|(_, at)| at);
        let since = [Some(facts.boot_time), woke].into_iter().flatten().filter(|at| *at <= now).max();
        let slept = host.slept().zip(slept_before(cache, &facts.boot_id));
        Awake { since, slept: slept.map_or(0, |(slept, before)| (slept - before).max(0)) }
    }

    /// The seconds since a moment in which it was on and awake.
    pub fn seconds_since(&self, at: Time, now: Time) -> i64 {
        now.since(self.since.map_or(at, |since| since.max(at))) - self.slept
    }
}

/// The seconds by which the clock moved, where they are too many.
fn has_moved(moved: Option<i64>) -> Option<i64> {
    moved.filter(|by| by.abs() > MOVED)
}

/// Why the time of this host is not the board's, by the milliseconds that it is ahead.
fn skewed(ms: i64) -> Option<String> {
    is_off(ms).then(|| format!("the clock of this host is {} the board's", off_by(ms)))
}

/// The same, from the seconds by which the clock moved and the time of the newest event.
fn judged(moved: Option<i64>, newest: Option<&(String, Event)>, now: Time) -> Option<String> {
    if let Some((task, e)) = newest.filter(|(_, e)| e.at.is_ahead_of(now)) {
        return Some(format!("the board has an event at {}, in the future: `{}` of {task}", e.at, e.kind));
    }
    has_moved(moved).map(|by| format!("the wall clock moved by {by} s since the last pass"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::EventKind;
    use serde_json::json;

    #[test]
    fn a_minute_beside_the_clock_of_the_board_is_still_trusted() {
        for ms in [0, 60_000, -60_000] {
            assert_eq!(skewed(ms), None, "{ms}");
        }
        assert_eq!(skewed(60_001).unwrap(), "the clock of this host is 61 s ahead of the board's");
        assert_eq!(skewed(-90_000).unwrap(), "the clock of this host is 90 s behind the board's");
    }

    #[test]
    fn a_clock_that_was_set_forward_makes_no_boot_younger() {
        let mut cache = Cache::in_memory();
        assert_eq!(began(&cache, "b1"), None);
        for offset in [1_000, 4_600] {
            note_boot(&mut cache, "b1", offset);
            assert_eq!(began(&cache, "b1"), Some(Time(1_000)), "{offset}");
        }
        note_boot(&mut cache, "b2", 9_000);
        assert_eq!((began(&cache, "b1"), began(&cache, "b2")), (None, Some(Time(9_000))));
    }

    #[test]
    fn a_pass_remembers_when_the_machine_woke_up() {
        let mut memory = Cache::in_memory();
        let known_after = |memory: &mut Cache, at, boot, slept| {
            let mut cache = memory.recall();
            remembered(&mut cache, boot, 0, slept, Time(at));
            memory.remember(&cache);
            [KNOWN, WOKE].map(|name| memory.newest(name).map(|(_, since)| since.0))
        };
        // At that time, in that boot, slept for so long: since when silence is known, and when it woke up.
        for (at, boot, slept, known, woke) in [
            (100, "b1", Some(0), 100, None),
            (200, "b1", Some(40), 100, None),
            (300, "b1", Some(61), 100, Some(300)),
            (400, "b1", Some(61), 100, Some(300)),
            (500, "b1", Some(121), 100, Some(300)),
            (30_000, "b1", Some(28_861), 100, Some(30_000)),
            // In another time namespace, by a host that cannot tell, and after a boot.
            (30_100, "b1", Some(-500), 100, Some(30_000)),
            (30_200, "b1", None, 100, Some(30_000)),
            (30_300, "b1", Some(100), 100, Some(30_300)),
            (40_000, "b2", Some(9_000), 40_000, Some(30_300)),
        ] {
            assert_eq!(
                known_after(&mut memory, at, boot, slept),
                [Some(known), woke],
                "{at} {boot} {slept:?}"
            );
        }
        assert_eq!(memory.names(SLEPT).collect::<Vec<_>>(), ["b2"]);
        // What an earlier version remembered tells nothing of sleep.
        let mut cache = memory.recall();
        cache.forget(SLEPT, &BTreeSet::new());
        memory.remember(&cache);
        let known = known_after(&mut memory, 50_000, "b2", Some(9_000));
        assert_eq!(known, [Some(50_000), Some(30_300)]);
    }

    #[test]
    fn time_in_which_the_machine_was_off_or_suspended_is_not_counted() {
        let now = Time(100_000);
        for (since, slept, seconds) in [
            (None, 0, 30_000),
            (None, 28_800, 1_200),
            (Some(60_000), 0, 30_000),
            (Some(99_900), 0, 100),
            (Some(80_000), 15_000, 5_000),
        ] {
            let awake = Awake { since: since.map(Time), slept };
            assert_eq!(awake.seconds_since(Time(70_000), now), seconds, "{since:?} {slept}");
        }
    }

    fn at(at: Time) -> (String, Event) {
        ("t_00000001".into(), Event { at, ..board::testing::event(EventKind::Commented, 0, json!({})) })
    }

    #[test]
    fn few_rows_far_ahead_are_wrong_and_most_of_them_are_a_clock_that_was_reset() {
        let now = Time(1_795_000_000);
        for (ahead, few) in [
            (vec![-60], true),
            (vec![172_801, -60], true),
            (vec![172_801], false),
            (vec![172_801, 400_000, -60], false),
            (vec![172_800, 172_800, -60], true),
        ] {
            let all: Vec<_> = ahead.iter().map(|s| at(now.plus(*s))).collect();
            assert_eq!(is_few(&all, now), few, "{ahead:?}");
        }
        let said = wrong_row(&at(Time(1_795_000_000_000)), now);
        assert_eq!(
            said,
            "event `commented` of t_00000001 has the time 1795000000000, as if its time were in milliseconds, so it is skipped"
        );
        assert!(!wrong_row(&at(now.plus(400_000)), now).contains("milliseconds"));
    }

    #[test]
    fn two_minutes_ahead_or_a_minute_moved_are_still_trusted() {
        let now = Time(1_000_000);
        let says = |moved, newest: Option<i64>| {
            let newest = newest.map(|s| at(now.plus(s)));
            let said = judged(moved, newest.as_ref(), now).unwrap_or_default();
            [("moved", "wall clock moved"), ("future", "in the future")]
                .into_iter()
                .find_map(|(word, sign)| said.contains(sign).then_some(word))
        };
        for (moved, newest, want) in [
            (None, None, None),
            (Some(0), Some(-9_000), None),
            (Some(60), Some(120), None),
            (Some(-60), None, None),
            (Some(61), None, Some("moved")),
            (Some(-61), Some(0), Some("moved")),
            (None, Some(121), Some("future")),
            (Some(900), Some(121), Some("future")),
        ] {
            assert_eq!(says(moved, newest), want, "{moved:?} {newest:?}");
        }
    }
}
