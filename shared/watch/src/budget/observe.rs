//! Two looks: at every open row and the newest attempts, then closely at what runs, ran lately or waits for a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use super::endings;
use super::seen::{FilesSeen, MAX_EARLIER_RUNS, Seen, Used, Work};
use base::count::things_or;
use base::error::Result;
use base::time::Time;
use board::several_hosts::{log_is_on, shown};
use board::{Board, Detail, Run, Status, Task, claim_host, discover};
use config::span::seconds;
use logs::usage::Usage;
use policy::attempts::ended;
use policy::attempts::worker::attempt;
use policy::clock;
use policy::routing::facts::{self, About, Routing};
use policy::worktree_note::time_until;
use policy::{Pass, Printed, Profiles, UseAsk, World};
use worktree::Late;

/// Most tasks looked at closely in one pass.
const MAX_TASKS: usize = 1_000;
/// Newest attempts of the board among which those that ended lately are looked for.
const MAX_RUNS: u32 = 2_000;
/// Newest events of the board that are looked at.
const MAX_TURNS: u32 = 5_000;

pub(super) fn observe(world: &mut World<'_>, pass: &Pass, for_cards: bool) -> Result<Seen> {
    let now = pass.now;
    let since = now.plus(-seconds(world.config.budget.recent));
    // Before the first row is read.
    let stamp = world.board.stamp()?;
    let rows = world.board.glance(&Status::OPEN)?;
    let id = world.board.id().clone();
    let mut seen = Seen {
        now,
        since,
        runtime: None,
        glanced: rows.len(),
        own_board: world.board.is_own(),
        name: id.name(),
        slug: id.slug.clone(),
        switched: discover::is_switched_from(&id),
        db: id.address(),
        clock_fault: None,
        counts: counts(&rows),
        work: Vec::new(),
        cards: Vec::new(),
        routing: Routing::default(),
        turns: Vec::new(),
        unknown: Vec::new(),
    };
    let ended = ended_lately(world, since)?;
    if rows.is_empty() && ended.is_empty() {
        return Ok(seen);
    }
    let mut lately = world.board.events(now.plus(-3_600), 200)?;
    // Before this pass notes how long the machine was suspended.
    let suspended = clock::suspended(world, pass);
    seen.clock_fault = clock::fault(world, pass, &mut lately)?;
    seen.runtime = Some((world.runtime)());
    let ids = chosen(&rows, &ended, now, &mut seen.unknown);
    let details = world.board.look(&ids)?;
    seen.work = works(world, details, since, now);
    slept(world, &mut seen.work, suspended);
    let until = Instant::now() + world.config.budget.trees_limit;
    files(world, &mut seen, now, until);
    let cards: Vec<String> = rows.iter().filter(|t| t.is_card()).map(|t| t.id.clone()).collect();
    seen.cards = world.board.look(&cards)?;
    if for_cards {
        trees(world, &mut seen, until);
    }
    seen.turns = world.board.turns(since, MAX_TURNS)?;
    let known = Profiles::of(seen.runtime.as_ref()).clone();
    let about = About {
        rows: &rows,
        details: seen.work.iter().map(|w| &w.detail).collect(),
        known: &known,
        clock_given: pass.clock_given,
    };
    seen.routing = facts::observe(world, &about, now)?;
    anew(world.board, &mut seen.work, stamp)?;
    Ok(seen)
}

fn counts(rows: &[Task]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for t in rows.iter().filter(|t| !t.is_card()) {
        *counts.entry(t.status.to_string()).or_default() += 1;
    }
    counts
}

/// Tasks whose attempts ended since then, newest first.
fn ended_lately(world: &mut World<'_>, since: Time) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for task in world.board.ended(since, MAX_RUNS)?.into_iter().rev() {
        if !ids.contains(&task) {
            ids.push(task);
        }
    }
    Ok(ids)
}

/// The tasks that are looked at closely: what runs first, then what is blocked, then what ended.
/// A pass over one task looks at all of them too: whose changes they are is told by who else works in its tree.
fn chosen(rows: &[Task], ended: &[String], now: Time, unknown: &mut Vec<String>) -> Vec<String> {
    let of = |status: Status| {
        rows.iter().filter(move |t| t.status == status && !t.is_card()).map(|t| t.id.clone())
    };
    let mut ids: Vec<String> = of(Status::Running).chain(of(Status::Blocked)).collect();
    let fresh: Vec<String> = ended.iter().filter(|id| !ids.contains(id)).cloned().collect();
    ids.extend(fresh);
    if ids.len() > MAX_TASKS {
        let more = things_or(ids.len() - MAX_TASKS, "more task was", "more tasks were");
        unknown.push(format!("{more} not looked at in this pass"));
        // Others each time.
        ids = order(ids.len(), now).into_iter().take(MAX_TASKS).filter_map(|i| ids.get(i).cloned()).collect();
    }
    ids
}

fn works(world: &mut World<'_>, details: Vec<Detail>, since: Time, now: Time) -> Vec<Work> {
    let mut works = Vec::new();
    let begun = begun(&details);
    for detail in details.into_iter().filter(|d| !d.task.is_card()) {
        // What ended long ago is shown for the person it waits for, without its logs.
        let newest = detail.newest_run().filter(|r| r.is_since(since));
        let usage = match newest {
            Some(run) => used(world, (&detail, run), &begun, now),
            None => Usage::default(),
        };
        let mut earlier = Vec::new();
        if newest.is_some() {
            for run in detail.runs.iter().skip(1).take(MAX_EARLIER_RUNS) {
                earlier.push(Used { run: run.id, usage: used(world, (&detail, run), &begun, now) });
            }
        }
        let refused = refused(world, &detail, now);
        works.push(Work {
            detail,
            usage,
            earlier,
            files: FilesSeen::default(),
            tree: None,
            refused,
            slept: 0,
        });
    }
    shared_logs(&mut works, now);
    works
}

/// How long the machine was suspended while an attempt ran here. Of one that is seen for the first time after the machine woke up, the
/// whole time since the last pass is left out: it may have run before.
fn slept(world: &mut World<'_>, work: &mut [Work], suspended: Option<(i64, i64)>) {
    let Some((before, until_now)) = suspended else { return };
    let (boot, board) = (world.host.facts().boot_id, world.board.id().at.clone());
    let prefix = format!("slept-run:{board}:");
    let mut still = BTreeSet::new();
    for w in work.iter_mut() {
        let Some(run) = w.detail.newest_run().filter(|_| world.abroad(&w.detail).is_none()) else { continue };
        let key = format!("{prefix}{boot}:{}:{}", w.detail.task.id, run.id);
        if run.ended_at.is_some() && !world.cache.is_known(&key) {
            continue;
        }
        let since = world.cache.sight(&key, Time(before));
        let mut until = Time(until_now);
        if run.ended_at.is_some() {
            // What comes after its end is not its time.
            let end = format!("{prefix}end:{boot}:{}:{}", w.detail.task.id, run.id);
            until = world.cache.sight(&end, until);
            still.insert(end);
        }
        w.slept = until.since(since).max(0);
        still.insert(key);
    }
    world.cache.forget(&prefix, &still);
}

/// Attempts that a provider refused: what a watcher wrote down, and where that leaves a row of equal errors, what the log says.
fn refused(world: &mut World<'_>, d: &Detail, now: Time) -> BTreeSet<i64> {
    let mut refused = ended::by_provider(d);
    if world.abroad(d).is_some() {
        return refused;
    }
    let most = usize::try_from(world.config.budget.same_errors).unwrap_or(usize::MAX);
    let is_row = || d.runs.len() >= most && endings::streak(d, &refused).len() >= most.max(1);
    let Some(newest) = d.newest_run().filter(|_| is_row()) else { return refused };
    let profile = newest.profile.as_deref().or(d.task.assignee.as_deref());
    let log = world.log(&d.task.id, profile, d.words_file(), newest.started_at, now);
    let reading = ended::by_board(d, log);
    let told = ended::told(d, &reading).into_iter().filter(|(_, e)| e.cause.lies_with_provider());
    refused.extend(told.map(|(run, _)| run.id));
    refused
}

/// The log an attempt writes to, as its claim names it; `None` is the task's own.
fn log_of<'a>(d: &'a Detail, run: &Run) -> Option<&'a str> {
    d.claim_of(run.id)?.trail()?.get("log")?.as_str()
}

/// The file in which `board run` kept what an attempt printed, as its claim names it.
fn output_of<'a>(d: &'a Detail, run: &Run) -> Option<&'a str> {
    d.claim_of(run.id)?.trail()?.get("output")?.as_str()
}

/// How many later attempts of a task printed to the same file, on the same host, and where what this one printed is kept then.
fn kept(d: &Detail, run: &Run) -> Option<(usize, String)> {
    let file = output_of(d, run)?;
    let host = |r: &Run| d.claim_of(r.id).and_then(|e| e.payload.get("lock")?.as_str()).map(claim_host);
    let newer = d.runs.iter().take_while(|r| r.id != run.id);
    let later = newer.filter(|r| output_of(d, r) == Some(file) && host(r) == host(run)).count();
    Some((later, discover::kept_log(file, later)))
}

/// Where what an attempt printed is now. `board run` begins the task's own log anew and keeps those before it, as `kept` says; to a file
/// of `--log` it adds, and then nothing tells whose lines are whose.
fn printed<'a>(
    (d, run): (&'a Detail, &Run),
    kept: Option<&'a (usize, String)>,
    begun: &BTreeMap<String, Vec<Time>>,
) -> Printed<'a> {
    let (Some(file), Some((later, kept))) = (output_of(d, run), kept) else { return Printed::OfBoard };
    let is_own = file.rsplit('/').next().and_then(|name| name.strip_suffix(".log")) == Some(&d.task.id);
    let is_added_to = || begun.get(file).into_iter().flatten().any(|at| *at > run.started_at);
    match later {
        0 if is_own || !is_added_to() => Printed::To(file),
        1..=discover::KEPT_LOGS if is_own => Printed::To(kept),
        _ => Printed::Over,
    }
}

/// When attempts began, by task and by the file their claims name: one session may go on in the next attempt, or in the next task.
fn begun(details: &[Detail]) -> BTreeMap<String, Vec<Time>> {
    let mut all: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    for d in details {
        for run in &d.runs {
            for key in [Some(d.task.id.as_str()), log_of(d, run), output_of(d, run)].into_iter().flatten() {
                all.entry(key.to_owned()).or_default().push(run.started_at);
            }
        }
    }
    all
}

/// Two tasks whose attempts ran at the same time and are told of by one session: whose turns they are, nobody knows.
pub(super) fn shared_logs(works: &mut [Work], now: Time) {
    type Told = (String, Option<String>, Option<(Time, Time)>);
    let all: Vec<Told> = works
        .iter()
        .map(|w| {
            let span = w.detail.newest_run().map(|r| (r.started_at, r.ended_at.unwrap_or(now)));
            (w.detail.task.id.clone(), w.usage.source.clone(), span)
        })
        .collect();
    for (i, w) in works.iter_mut().enumerate() {
        let (_, Some(source), Some((from, to))) = &all[i] else { continue };
        let other = all.iter().enumerate().find(|(j, (_, theirs, span))| {
            *j != i
                && theirs.as_ref() == Some(source)
                && span.is_some_and(|(begin, end)| begin < *to && *from < end)
        });
        if let Some((_, (id, ..))) = other {
            w.usage = Usage::unknown(format!("{id} is told of by the same log at the same time"));
        }
    }
}

fn used(
    world: &mut World<'_>,
    (detail, run): (&Detail, &Run),
    begun: &BTreeMap<String, Vec<Time>>,
    now: Time,
) -> Usage {
    if let Some(host) = world.abroad(detail) {
        return Usage::unknown(log_is_on(&host));
    }
    let file = log_of(detail, run);
    let others = [Some(detail.task.id.as_str()), file].into_iter().flatten().filter_map(|key| begun.get(key));
    let next = others.flatten().filter(|at| **at > run.started_at).min().copied();
    let kept = kept(detail, run);
    let printed = printed((detail, run), kept.as_ref(), begun);
    let ask = UseAsk { file, printed, next, ..attempt(world, detail, Some(run), now) };
    (world.usage)(&ask, world.cache)
}

/// Looks at the working trees, for as long as the time of this pass lasts. Another one comes first each time, so that a slow
/// one never keeps the same others from being seen.
fn files(world: &mut World<'_>, seen: &mut Seen, now: Time, until: Instant) {
    let keys = &world.config.budget;
    let since = seen.since;
    let slow = |w: &Work| w.detail.place.path.as_deref().map(|path| format!("slow-tree:{path}"));
    let mut all = worked_on(&seen.work, now);
    let mut order = order(seen.work.len(), now);
    // What took too long the last time comes last.
    order.sort_by_cached_key(|i| slow(&seen.work[*i]).is_some_and(|key| world.cache.was_sighted(&key)));
    for i in order {
        let d = &seen.work[i].detail;
        if let Some(host) = world.abroad(d) {
            seen.work[i].files = FilesSeen::unknown(format!("its folder is on {}", shown(&host)));
            continue;
        }
        let recent = d.newest_run().is_some_and(|r| r.is_since(since));
        let Some(path) = d.place.path.as_deref().filter(|_| recent) else {
            let why = if recent { "the board names no folder" } else { "it ended too long ago" };
            seen.work[i].files = FilesSeen::unknown(why);
            continue;
        };
        // Git has nothing to add.
        let own = all[i].folder.as_deref();
        if let Some(why) = worked_on_too(&all, i, began(d), |other| Some(other) == own) {
            seen.work[i].files = FilesSeen::unknown(why);
            continue;
        }
        let left = until.saturating_duration_since(Instant::now());
        let mut is_slow = false;
        seen.work[i].files = if left.is_zero() {
            FilesSeen::unknown("other trees took all the time of this pass")
        } else {
            match (world.changes)(Path::new(path), began(d), keys.tree_limit.min(left)) {
                Ok(changes) => {
                    all[i].folder = Some(changes.root.clone());
                    FilesSeen { changes: Some(changes), why_not: None }
                }
                Err(why) => {
                    is_slow = why.is::<Late>();
                    FilesSeen::unknown(why)
                }
            }
        };
        match slow(&seen.work[i]) {
            Some(key) if is_slow => {
                world.cache.sight(&key, now);
            }
            Some(key) => _ = world.cache.forget(&key, &BTreeSet::new()),
            None => {}
        }
    }
    shared_folders(&mut seen.work, &all);
}

/// The order of the looks in the pass of this moment. Timers run at even intervals, so that a step of so many minutes could come
/// to the same place for ever; a hash of the moment does not.
fn order(n: usize, now: Time) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    let hash = base::hash::fnv(now.0.to_le_bytes());
    let by = usize::try_from(hash >> 33).unwrap_or(0).checked_rem(n).unwrap_or(0);
    all.rotate_left(by);
    all
}

/// The folder of a task, by git where git was asked, and when its newest attempt ended.
struct WorkedOn {
    task: String,
    folder: Option<String>,
    ended: Option<Time>,
}

fn worked_on(work: &[Work], now: Time) -> Vec<WorkedOn> {
    // Git names a folder without symbolic links.
    let named = |path: &str| {
        let real = std::fs::canonicalize(path).ok();
        real.and_then(|real| real.to_str().map(str::to_owned)).unwrap_or_else(|| path.to_owned())
    };
    let one = |w: &Work| WorkedOn {
        task: w.detail.task.id.clone(),
        folder: w.detail.place.path.as_deref().map(named),
        ended: w.detail.newest_run().map(|r| r.ended_at.unwrap_or(now)),
    };
    work.iter().map(one).collect()
}

/// Whose changes they are cannot be told where another task was worked on in the same tree since the `i`th one began.
fn worked_on_too(all: &[WorkedOn], i: usize, from: Time, is_same: impl Fn(&str) -> bool) -> Option<String> {
    let is_other = |(j, other): &(usize, &WorkedOn)| {
        *j != i && other.folder.as_deref().is_some_and(&is_same) && other.ended.is_some_and(|end| from < end)
    };
    let (_, other) = all.iter().enumerate().find(is_other)?;
    let id = &other.task;
    Some(format!("{id} was worked on in the same tree since: whose changes they are cannot be told"))
}

fn shared_folders(work: &mut [Work], all: &[WorkedOn]) {
    for (i, w) in work.iter_mut().enumerate() {
        let Some(root) = w.files.changes.as_ref().map(|c| &c.root) else { continue };
        let is_within =
            |path: &str| path == root || path.strip_prefix(root).is_some_and(|p| p.starts_with('/'));
        if let Some(why) = worked_on_too(all, i, began(&w.detail), is_within) {
            w.files = FilesSeen::unknown(why);
        }
    }
}

/// When the first attempt at a task began.
fn began(d: &Detail) -> Time {
    let first = d.runs.iter().map(|r| r.started_at).min().unwrap_or(d.task.created_at);
    d.task.started_at.unwrap_or(first).min(first)
}

fn trees(world: &World<'_>, seen: &mut Seen, until: Instant) {
    let running = |w: &&mut Work| w.detail.task.status == Status::Running && w.files.changes.is_some();
    for w in seen.work.iter_mut().filter(running) {
        let path = w.detail.place.path.as_deref();
        w.tree = path.and_then(|path| (world.tree)(Path::new(path), time_until(until)?).ok());
    }
}

/// Logs and trees take their time, and a worker's sign of life in between would make every step a thing of the past: the rows
/// are read once more, and a task that went on to another attempt meanwhile is left out. Where nobody wrote since, nothing is.
fn anew(board: &mut dyn Board, work: &mut Vec<Work>, stamp: Option<i64>) -> Result<()> {
    if stamp.is_some() && board.stamp()? == stamp {
        return Ok(());
    }
    let ids: Vec<String> = work.iter().map(|w| w.detail.task.id.clone()).collect();
    let fresh = board.look(&ids)?;
    keep_same_attempt(work, fresh);
    Ok(())
}

fn keep_same_attempt(work: &mut Vec<Work>, fresh: Vec<Detail>) {
    let mut fresh: BTreeMap<String, Detail> = fresh.into_iter().map(|d| (d.task.id.clone(), d)).collect();
    let run = |d: &Detail| d.newest_run().map(|r| (r.id, r.ended_at));
    work.retain_mut(|w| match fresh.remove(&w.detail.task.id) {
        Some(d) if run(&d) == run(&w.detail) => {
            w.detail = d;
            true
        }
        _ => false,
    });
}

#[cfg(test)]
mod tests {
    use board::Shared;

    use std::time::Duration;

    use super::*;

    #[test]
    fn no_pass_looks_at_more_tasks_than_it_may() {
        let row = |n: usize| {
            let id = format!("t_{n:08x}");
            board::testing::detail(&id, if n == 0 { Status::Blocked } else { Status::Running }).task.clone()
        };
        let of = |running: usize, ended: &[&str]| {
            let rows: Vec<Task> = (0..running).map(row).collect();
            let ended: Vec<String> = ended.iter().map(|id| (*id).to_owned()).collect();
            let mut unknown = Vec::new();
            let ids = chosen(&rows, &ended, board::testing::NOW, &mut unknown);
            (ids, unknown)
        };
        let (ids, unknown) = of(3, &["t_0000cafe", "t_00000001"]);
        assert_eq!(ids, ["t_00000001", "t_00000002", "t_00000000", "t_0000cafe"], "what runs is the first");
        assert!(unknown.is_empty());
        let (ids, unknown) = of(MAX_TASKS, &[]);
        assert_eq!((ids.len(), unknown.len()), (MAX_TASKS, 0));
        for (more, said) in [(1, "1 more task was"), (2, "2 more tasks were")] {
            let (ids, unknown) = of(MAX_TASKS + more, &[]);
            let distinct: BTreeSet<&String> = ids.iter().collect();
            assert_eq!((ids.len(), distinct.len()), (MAX_TASKS, MAX_TASKS));
            assert_eq!(unknown, [format!("{said} not looked at in this pass")]);
        }
    }

    #[test]
    fn cards_are_no_work_to_be_counted() {
        let row = |title: &str, status: Status| {
            let mut t = board::testing::detail("t_0000000a", status).task.clone();
            t.title = title.into();
            t
        };
        let rows = [
            row("[BLOCKED] t_0000000b rate_limited", Status::Ready),
            row("Sort", Status::Ready),
            row("Count", Status::Ready),
            row("Paint", Status::Running),
        ];
        let want = BTreeMap::from([("ready".to_owned(), 2), ("running".to_owned(), 1)]);
        assert_eq!(counts(&rows), want);
    }

    #[test]
    fn an_earlier_attempt_is_not_told_of_by_what_a_later_one_printed() {
        use board::testing::{ago, detail, event, run};
        let of = |id: &str, runs: &[(i64, i64, &str)]| {
            let mut d = detail(id, Status::Running);
            for (n, began, output) in runs {
                d.runs.push(Run { started_at: ago(*began), ..run(*n, "luna", None) });
                let trail = serde_json::json!({"by": "board", "watchbill": {"output": output}});
                let claim = if output.is_empty() { serde_json::json!({}) } else { trail };
                d.events.push(board::Event { run: Some(*n), ..event("claimed", *began, claim) });
            }
            d
        };
        let (a, b) = ("t_0000000a", "t_0000000b");
        let own = "/logs/t_0000000a.log";
        let kept = [1, 2, 3, 4, 5].map(|before| format!("{own}.{before}"));
        // (runs of the first task, the newest first; runs of another one; what is read of each)
        type Runs<'a> = &'a [(i64, i64, &'a str)];
        let cases: [(Runs<'_>, Runs<'_>, &[&str]); 6] = [
            (
                &[
                    (9, 60, own),
                    (8, 70, own),
                    (7, 80, own),
                    (6, 90, own),
                    (5, 91, own),
                    (4, 92, own),
                    (3, 93, own),
                ],
                &[],
                &[own, &kept[0], &kept[1], &kept[2], &kept[3], &kept[4], "over"],
            ),
            (&[(9, 60, own), (8, 60, own)], &[], &[own, &kept[0]]),
            (&[(9, 60, ""), (8, 70, own)], &[], &["board", own]),
            (&[(9, 60, "/l"), (8, 70, "/l"), (7, 80, "/m")], &[], &["/l", "over", "/m"]),
            (&[(9, 60, "/l")], &[(5, 50, "/l")], &["over"]),
            (&[(9, 60, "/l")], &[(5, 70, "/l")], &["/l"]),
        ];
        for (mine, others, want) in cases {
            let all = [of(a, mine), of(b, others)];
            let begun = begun(&all);
            let told = all[0].runs.iter().map(|run| {
                let kept = super::kept(&all[0], run);
                match printed((&all[0], run), kept.as_ref(), &begun) {
                    Printed::OfBoard => "board".to_owned(),
                    Printed::To(file) => file.to_owned(),
                    Printed::Over => "over".to_owned(),
                }
            });
            assert_eq!(told.collect::<Vec<_>>(), want, "{mine:?} {others:?}");
        }
    }

    #[test]
    fn logs_that_another_host_kept_are_not_counted() {
        use board::testing::{ago, detail, event, run};
        let mut d = detail("t_0000000a", Status::Running);
        for (n, host) in [(9, "night"), (8, "day"), (7, "night")] {
            d.runs.push(Run { started_at: ago(100 - n), ..run(n, "luna", None) });
            let lock = format!("{host}:1");
            let claim =
                serde_json::json!({"lock": lock, "by": "board", "watchbill": {"output": "/logs/a.log"}});
            d.events.push(board::Event { run: Some(n), ..event("claimed", 100 - n, claim) });
        }
        let kept = d.runs.iter().map(|run| super::kept(&d, run).map(|(later, _)| later));
        assert_eq!(kept.collect::<Vec<_>>(), [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn only_what_is_still_in_the_same_attempt_is_told_of() {
        use board::testing::{ago, detail, run};
        let of = |id: &str, run_id: i64, ended: bool| {
            let mut d = detail(id, Status::Running);
            d.runs = vec![board::Run { ended_at: ended.then(|| ago(9)), ..run(run_id, "luna", None) }];
            d
        };
        let seen = |detail: Detail| Work {
            slept: 0,
            refused: BTreeSet::new(),
            detail,
            usage: Usage::default(),
            earlier: Vec::new(),
            files: FilesSeen::default(),
            tree: None,
        };
        let ids = ["t_0000000a", "t_0000000b", "t_0000000c", "t_0000000d"];
        let mut work: Vec<Work> = ids.iter().map(|id| seen(of(id, 1, false))).collect();
        let mut beat = of(ids[0], 1, false);
        beat.task.last_heartbeat_at = Some(ago(1));
        keep_same_attempt(&mut work, vec![beat.clone(), of(ids[1], 2, false), of(ids[2], 1, true)]);
        assert_eq!(work.iter().map(|w| &w.detail).collect::<Vec<_>>(), [&beat]);
    }

    /// Its stamp, and how often it was looked at.
    struct Quiet(Option<i64>, u32, board::BoardId);

    impl Board for Quiet {
        fn id(&self) -> &board::BoardId {
            &self.2
        }
        fn is_own(&self) -> bool {
            false
        }
        fn shape(&self) -> &'static str {
            "in a test"
        }
        fn with_key(&mut self, _: &str) -> Result<Option<String>> {
            Ok(None)
        }
        fn glance(&mut self, _: &[Status]) -> Result<Shared<Task>> {
            Ok(Shared::default())
        }
        fn states(&mut self) -> Result<Vec<Status>> {
            Ok(Vec::new())
        }
        fn links(&mut self, _: &[Status]) -> Result<Vec<board::Link>> {
            Ok(Vec::new())
        }
        fn look(&mut self, _: &[String]) -> Result<Vec<Detail>> {
            self.1 += 1;
            Ok(Vec::new())
        }
        fn comments(&mut self, _: &str) -> Result<Vec<board::Comment>> {
            Ok(Vec::new())
        }
        fn beat_note(&mut self, _: &str) -> Result<Option<String>> {
            Ok(None)
        }
        fn titled(&mut self, _: &[String]) -> Result<Vec<Task>> {
            Ok(Vec::new())
        }
        fn recent_runs(&mut self, _: u32) -> Result<Shared<(String, Run)>> {
            Ok(Shared::default())
        }
        fn events(&mut self, _: Time, _: u32) -> Result<Vec<(String, board::Event)>> {
            Ok(Vec::new())
        }
        fn turns(&mut self, _: Time, _: u32) -> Result<Vec<(String, board::Event)>> {
            Ok(Vec::new())
        }
        fn coordinated(&mut self, _: i64, _: u32) -> Result<Vec<board::Entry>> {
            Ok(Vec::new())
        }
        fn stamp(&mut self) -> Result<Option<i64>> {
            Ok(self.0)
        }
        fn writable(&mut self) -> Result<()> {
            Ok(())
        }
        fn apply(&mut self, _: Time, _: &[board::Step], _: Duration) -> Result<Vec<board::Outcome>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn stories_are_read_again_only_where_somebody_may_have_written() {
        for (before, after, again) in
            [(Some(3), Some(3), 0), (Some(3), Some(4), 1), (None, None, 1), (None, Some(3), 1)]
        {
            let id = board::BoardId { at: "quiet".into(), slug: None, root: None };
            let mut board = Quiet(after, 0, id);
            anew(&mut board, &mut Vec::new(), before).unwrap();
            assert_eq!(board.1, again, "{before:?} {after:?}");
        }
    }

    /// Passes a quarter of an hour apart begin at every place before long.
    #[test]
    fn another_one_comes_first() {
        for n in [1, 2, 3, 5, 15, 60] {
            let firsts: std::collections::BTreeSet<usize> =
                (0..400).filter_map(|k| order(n, Time(1_800_000_000 + 900 * k)).first().copied()).collect();
            assert_eq!(firsts.len(), n, "of {n}");
        }
        assert_eq!(order(0, Time(0)), [0_usize; 0]);
    }
}
