//! Statements that read, and rows as the board's own types.
//!
//! All tasks of a look are read by the same few statements, whatever their number. Every part that is asked for each of them has a `LIMIT`:
//! without one the planner guesses by the whole table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use base::clip::clip;
use base::time::Time;
use board::{
    Begin, CardMade, Comment, Detail, Entry, Event, EventKind, Fronts, Kin, Link, MAX_COMMENTS, MAX_EVENTS,
    MAX_FRONT, MAX_RUNS, MAX_TEXT, MAX_TURNS, Pin, Place, Run, Status, Story, Task, its_cards, open_cards,
    title, verification,
};
use tokio_postgres::Row;

use crate::server::{Arg, Fault, Server, args};

/// Columns of a task in the order in which [`task`] reads them.
pub(crate) const TASK: &str = "id, left(title, 1048576), assignee, status, priority, created_at, started_at, claim_lock, \
     claim_expires, worker_pid, last_heartbeat_at, current_run_id, consecutive_failures, \
     left(last_failure_error, 1048576), max_retries, block_kind, block_recurrences, idempotency_key, model_override, \
     provider_override";
/// How many they are.
pub(crate) const TASK_WIDTH: usize = 20;
const PLACE: &str = "workspace_kind, workspace_path, branch_name, tenant, created_by, completed_at";
const RUN: &str = "id, profile, status, outcome, started_at, ended_at, claim_lock, worker_pid, last_heartbeat_at, \
     left(error, 1048576), left(summary, 1048576), left(metadata, 1048576)";
/// The same without texts: of the newest runs of a whole board only who, when and how counts.
const BARE_RUN: &str = "id, profile, status, outcome, started_at, ended_at, claim_lock, worker_pid, last_heartbeat_at, \
     NULL::text AS error, NULL::text AS summary, NULL::text AS metadata";
const EVENT: &str = "kind, created_at, run_id, left(payload, 1048576)";
/// Most rows of a part that has no limit of its own: parents, cards and marked comments of one task.
const MANY: i64 = 100_000;

/// The noise that has no index of its own as heartbeats have.
pub(crate) fn rest() -> Vec<EventKind> {
    EventKind::NOISE.iter().filter(|kind| **kind != EventKind::Heartbeat).cloned().collect()
}

fn text(row: &Row, i: usize) -> Option<String> {
    let text: Option<String> = row.get(i);
    text.map(|mut text| {
        text.truncate(clip(&text, MAX_TEXT).len());
        text
    })
}

/// A time that others wrote.
fn time(row: &Row, i: usize) -> Option<Time> {
    row.get::<_, Option<i64>>(i).map(Time::of_row)
}

/// The task whose columns stand from the first one on.
pub(crate) fn task(row: &Row) -> Task {
    Task {
        id: row.get(0),
        title: text(row, 1).unwrap_or_default(),
        assignee: text(row, 2),
        status: Status::from(row.get::<_, String>(3)),
        priority: row.get(4),
        created_at: time(row, 5).unwrap_or_default(),
        started_at: time(row, 6),
        claim_lock: text(row, 7),
        // As the board takes it: one far away is a claim that does not end.
        claim_expires: row.get::<_, Option<i64>>(8).map(Time),
        worker_pid: row.get(9),
        last_heartbeat_at: time(row, 10),
        current_run: row.get::<_, Option<i64>>(11).filter(|n| *n != 0),
        failures: row.get(12),
        last_failure_error: text(row, 13),
        max_retries: row.get(14),
        block_kind: text(row, 15),
        block_recurrences: row.get(16),
        // Only Hermes reads it; what is known of a worker stands in its claim.
        worker_started_at: None,
        idempotency_key: text(row, 17),
        pin: pin(row, 18),
        stray_title: false,
    }
}

/// What is set for one task alone.
fn pin(row: &Row, first: usize) -> Pin {
    let said = |i| text(row, first + i).filter(|t| !t.is_empty());
    Pin { model: said(0), provider: said(1) }
}

fn place(row: &Row, first: usize) -> Place {
    let said = |i| text(row, first + i).filter(|t| !t.is_empty());
    Place {
        kind: said(0),
        path: said(1),
        branch: said(2),
        tenant: said(3),
        made_by: said(4),
        completed_at: time(row, first + 5),
    }
}

fn run(row: &Row, first: usize) -> Run {
    let metadata = text(row, first + 11);
    Run {
        id: row.get(first),
        profile: text(row, first + 1),
        status: row.get(first + 2),
        outcome: text(row, first + 3),
        started_at: time(row, first + 4).unwrap_or_default(),
        ended_at: time(row, first + 5),
        claim_lock: text(row, first + 6),
        worker_pid: row.get(first + 7),
        last_heartbeat_at: time(row, first + 8),
        error: text(row, first + 9),
        summary: text(row, first + 10),
        pin: Pin::default(),
        route: metadata.as_deref().and_then(Run::route_in),
        failed: metadata.as_deref().map(verification::in_metadata).unwrap_or_default(),
    }
}

fn event(row: &Row, first: usize) -> Event {
    Event {
        kind: row.get::<_, String>(first).into(),
        at: Time(row.get(first + 1)),
        run: row.get(first + 2),
        payload: text(row, first + 3).into(),
    }
}

/// One part of what is read of each task: its statement, and how many rows at most.
type Part<'a> = (&'a str, i64);

/// Rows of these tasks for each of these parts, and first what a statement tells of all of them, in one round trip.
fn parts_of<const N: usize>(
    server: &mut Server,
    ids: &[&str],
    whole: Option<&str>,
    parts: [Part<'_>; N],
) -> Result<(Vec<Row>, [Vec<Row>; N]), Fault> {
    let ids = || ids.iter().copied().collect::<Arg<'_>>();
    let of = |(part, most): Part<'_>| {
        let sql = format!("SELECT t.id, part.* FROM unnest($1) t(id), LATERAL ({part} LIMIT $2) part");
        (sql, vec![ids(), most.into()])
    };
    let whole = whole.map(|sql| (sql.to_owned(), vec![ids()]));
    let is_whole = whole.is_some();
    let all: Vec<(String, Vec<Arg<'_>>)> = whole.into_iter().chain(parts.map(of)).collect();
    let asked: Vec<(&str, &[Arg<'_>])> = all.iter().map(|(sql, args)| (sql.as_str(), &args[..])).collect();
    let mut told = server.all(&asked)?.into_iter();
    let first = if is_whole { told.next().unwrap_or_default() } else { Vec::new() };
    Ok((first, std::array::from_fn(|_| told.next().unwrap_or_default())))
}

/// These rows by the id of their task.
fn by_task<T>(rows: &[Row], read: impl Fn(&Row) -> T) -> BTreeMap<String, Vec<T>> {
    let mut all: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for row in rows {
        all.entry(row.get(0)).or_default().push(read(row));
    }
    all
}

/// Rows of these tasks, by id.
fn of_each<T>(
    server: &mut Server,
    ids: &[&str],
    part: &str,
    most: i64,
    read: impl Fn(&Row) -> T,
) -> Result<BTreeMap<String, Vec<T>>, Fault> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (_, [rows]) = parts_of(server, ids, None, [(part, most)])?;
    Ok(by_task(&rows, read))
}

/// All rows in one of these states.
pub(crate) fn glance(server: &mut Server, of: &[Status]) -> Result<Vec<Task>, Fault> {
    let of: Arg<'_> = of.iter().map(Status::as_str).collect();
    let rows = server.rows(&format!("SELECT {TASK} FROM tasks WHERE status = ANY($1)"), &[of])?;
    let mut tasks: Vec<Task> = rows.iter().map(task).collect();
    name(server, tasks.iter_mut().map(titled_task))?;
    Ok(tasks)
}

/// What a row says of a card: its title, its key, and whether the title names no task.
type Titled<'r> = (&'r str, Option<&'r str>, &'r mut bool);

fn titled_task(task: &mut Task) -> Titled<'_> {
    (&task.title, task.idempotency_key.as_deref(), &mut task.stray_title)
}

/// A parent, and its key.
type Parent = (Kin, Option<String>);

fn titled_parent((kin, key): &mut Parent) -> Titled<'_> {
    (&kin.title, key.as_deref(), &mut kin.stray_title)
}

/// Looks whether the titles of what looks like a card name a task.
fn name<'r>(server: &mut Server, rows: impl Iterator<Item = Titled<'r>>) -> Result<(), Fault> {
    let is_stray = |row: &Titled<'_>, there: &BTreeSet<String>| {
        let Ok(is_stray) = title::is_stray(row.0, row.1, |id| Ok::<_, Infallible>(there.contains(id)));
        is_stray
    };
    let none = BTreeSet::new();
    let strays: Vec<_> = rows.filter(|row| is_stray(row, &none)).collect();
    let asked: BTreeSet<String> = strays.iter().flat_map(|row| title::named(row.0)).collect();
    let there: BTreeSet<String> = if asked.is_empty() {
        none
    } else {
        let asked: Arg<'_> = asked.iter().map(String::as_str).collect();
        let rows = server.rows("SELECT id FROM tasks WHERE id = ANY($1)", &[asked])?;
        rows.iter().map(|row| row.get(0)).collect()
    };
    for row in strays {
        *row.2 = is_stray(&row, &there);
    }
    Ok(())
}

/// The states that there are, from one to the next in their index.
pub(crate) fn states(server: &mut Server) -> Result<Vec<Status>, Fault> {
    let sql = "WITH RECURSIVE s(state) AS ((SELECT min(status) FROM tasks) UNION ALL \
         SELECT (SELECT min(status) FROM tasks WHERE status > state) FROM s WHERE state IS NOT NULL) \
         SELECT state FROM s WHERE state IS NOT NULL";
    let rows = server.rows(sql, &[])?;
    Ok(rows.iter().map(|row| Status::from(row.get::<_, String>(0))).collect())
}

/// What all tasks in one of these states wait for, or waited for. Its foreign keys keep every parent on the board.
pub(crate) fn links(server: &mut Server, of: &[Status]) -> Result<Vec<Link>, Fault> {
    let of: Arg<'_> = of.iter().map(Status::as_str).collect();
    let sql = "SELECT c.id, part.* FROM tasks c, LATERAL (SELECT l.parent_id, p.status FROM task_links l \
         JOIN tasks p ON p.id = l.parent_id WHERE l.child_id = c.id LIMIT $2) part WHERE c.status = ANY($1)";
    let one = |row: &Row| Link {
        child: row.get(0),
        parent: row.get(1),
        status: Some(Status::from(row.get::<_, String>(2))),
    };
    Ok(server.rows(sql, &[of, MANY.into()])?.iter().map(one).collect())
}

/// The tasks in `todo` of which a parent is open. All open tasks are read from one index, and of each that waits its links: no parent is looked up.
pub(crate) fn waiting(server: &mut Server) -> Result<BTreeSet<String>, Fault> {
    let open: Arg<'_> = Status::OPEN.iter().map(Status::as_str).collect();
    let sql = "SELECT c.id FROM tasks c, LATERAL (SELECT parent_id FROM task_links WHERE child_id = c.id LIMIT $2) l \
         WHERE c.status = 'todo' AND l.parent_id IN (SELECT id FROM tasks WHERE status = ANY($1) OFFSET 0)";
    Ok(server.rows(sql, &[open, MANY.into()])?.iter().map(|row| row.get(0)).collect())
}

/// How many free tasks are looked for at first behind the place where it begins, and then. Those that others are just taking are among them, and that are at most as many
/// as there are connections.
const FREE: [i64; 2] = [64, 4_096];

/// What makes a task free for some profiles, as SQL.
struct Free<'a> {
    /// Those that were passed over, and the profiles.
    args: Vec<Arg<'a>>,
    /// Of each profile.
    whose: Vec<String>,
    /// In each state.
    states: [String; 2],
    /// The first ones of each profile in each state; the argument behind the others is how many.
    parts: Vec<String>,
}

impl<'a> Free<'a> {
    /// `None` where no profile is named.
    fn of(of: &[Option<&'a str>], passed: &'a [String]) -> Option<Free<'a>> {
        let mut args: Vec<Arg<'_>> = vec![passed.iter().map(String::as_str).collect()];
        let mut whose = Vec::new();
        for profile in of {
            match profile {
                Some(profile) => {
                    args.push((*profile).into());
                    whose.push(format!("assignee = ${}", args.len()));
                }
                None => whose.push("assignee IS NULL".to_owned()),
            }
        }
        if whose.is_empty() {
            return None;
        }
        let parent =
            "EXISTS (SELECT FROM task_links l JOIN tasks p ON p.id = l.parent_id WHERE l.child_id = t.id";
        let open = format!("{parent} AND p.status NOT IN ('done', 'archived'))");
        let states = ["status = 'ready'".to_owned(), format!("status = 'todo' AND {parent})")];
        let states =
            states.map(|state| format!("{state} AND claim_lock IS NULL AND id <> ALL($1) AND NOT {open}"));
        let next = args.len() + 1;
        let part = |whose: &String, state: &String| {
            format!(
                "(SELECT id, priority, created_at FROM tasks t WHERE {whose} AND {state} \
                 ORDER BY priority DESC, created_at, id LIMIT ${next})"
            )
        };
        let parts = whose.iter().flat_map(|w| states.iter().map(move |s| part(w, s))).collect();
        Some(Free { args, whose, states, parts })
    }
}

/// The first tasks that are free for these profiles.
pub(crate) fn next_of(server: &mut Server, of: &[Option<&str>], most: usize) -> Result<Vec<Task>, Fault> {
    let Some(Free { mut args, parts, .. }) = Free::of(of, &[]) else { return Ok(Vec::new()) };
    args.push(i64::try_from(most).unwrap_or(i64::MAX).into());
    let sql = format!(
        "SELECT {TASK} FROM tasks WHERE id = ANY(ARRAY(SELECT id FROM ({}) free \
         ORDER BY priority DESC, created_at, id LIMIT ${}))",
        parts.join(" UNION ALL "),
        args.len()
    );
    let mut tasks: Vec<Task> = server.rows(&sql, &args)?.iter().map(task).collect();
    tasks.sort_by_cached_key(|t| (Reverse(t.priority), t.created_at, t.id.clone()));
    name(server, tasks.iter_mut().map(titled_task))?;
    Ok(tasks)
}

/// To whom free tasks are assigned: in `ready` from one name to the next in the index.
pub(crate) fn assignees(server: &mut Server) -> Result<BTreeSet<String>, Fault> {
    let sql = "WITH RECURSIVE n(name) AS \
         ((SELECT min(assignee) FROM tasks WHERE status = 'ready' AND claim_lock IS NULL) UNION ALL \
         SELECT (SELECT min(assignee) FROM tasks WHERE status = 'ready' AND claim_lock IS NULL AND assignee > name) \
         FROM n WHERE name IS NOT NULL) SELECT name FROM n WHERE name IS NOT NULL \
         UNION SELECT assignee FROM tasks WHERE status = 'todo' AND assignee IS NOT NULL";
    Ok(server.rows(sql, &[])?.iter().map(|row| row.get(0)).collect())
}

/// The next free task of these profiles that nobody else is just taking, locked until the transaction ends; none of those that were passed.
/// One that it is to begin with is waited for: most others are only offered it, and let it be.
pub(crate) fn lock_next(
    server: &mut Server,
    of: &[Option<&str>],
    begin: Begin<'_>,
    passed: &[String],
) -> Result<Option<String>, Fault> {
    let Some(Free { mut args, whose, states, parts }) = Free::of(of, passed) else { return Ok(None) };
    let next = args.len() + 1;
    if let Begin::With(id) = begin {
        args.push(id.into());
        let [ready, todo] = &states;
        let sql = format!(
            "SELECT id FROM tasks t WHERE id = ${next} AND ({}) AND ({ready} OR {todo}) FOR NO KEY UPDATE",
            whose.join(" OR ")
        );
        if let Some(row) = server.row(&sql, &args)? {
            return Ok(Some(row.get(0)));
        }
        args.pop();
    }
    // The rows are looked at again as they are once they are locked.
    let sql = format!(
        "SELECT id FROM tasks WHERE id = ANY(ARRAY(SELECT id FROM ({}) free ORDER BY priority DESC, created_at, id \
         OFFSET ${})) AND status IN ('ready', 'todo') AND claim_lock IS NULL \
         ORDER BY priority DESC, created_at, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
        parts.join(" UNION ALL "),
        next + 1
    );
    args.extend([0, 0].map(Arg::from));
    let behind = match begin {
        Begin::At(place) => i64::try_from(place).unwrap_or(i64::MAX).min(FREE[1]),
        Begin::With(_) => 0,
    };
    let behind_and_head = if behind > 0 { &[behind, 0][..] } else { &[0] };
    for (behind, most) in behind_and_head.iter().flat_map(|behind| FREE.map(|most| (*behind, most))) {
        args[next - 1] = (behind + most).into();
        args[next] = behind.into();
        if let Some(row) = server.row(&sql, &args)? {
            return Ok(Some(row.get(0)));
        }
    }
    Ok(None)
}

/// Bare rows, by id.
pub(crate) fn titled(server: &mut Server, ids: &[String]) -> Result<BTreeMap<String, Task>, Fault> {
    let ids: Arg<'_> = ids.iter().map(String::as_str).collect();
    let rows = server.rows(&format!("SELECT {TASK} FROM tasks WHERE id = ANY($1)"), &[ids])?;
    let mut tasks: Vec<Task> = rows.iter().map(task).collect();
    name(server, tasks.iter_mut().map(titled_task))?;
    Ok(tasks.into_iter().map(|t| (t.id.clone(), t)).collect())
}

/// A comment with its number.
type Said = (i64, Comment);

fn said(row: &Row) -> Said {
    let (author, body) = (row.get(2), text(row, 3).unwrap_or_default());
    (row.get(1), Comment { author, body, at: Time(row.get(4)) })
}

/// The part of the newest comments; `more` narrows it.
fn comments_of(whole: bool, more: &str) -> String {
    // One character more than is kept: then it is seen that there was more.
    let most = if whole { MAX_TEXT } else { MAX_FRONT + 1 };
    format!(
        "SELECT id, author, left(body, {most}) AS body, created_at FROM task_comments \
         WHERE task_id = t.id {more} ORDER BY created_at DESC, id DESC"
    )
}

/// The comments of these tasks, oldest first; whole, or the fronts of them.
pub(crate) fn comments(
    server: &mut Server,
    ids: &[&str],
    whole: bool,
) -> Result<BTreeMap<String, Vec<Comment>>, Fault> {
    let newest = of_each(server, ids, &comments_of(whole, ""), MAX_COMMENTS as i64, said)?;
    with_markers(server, newest, whole)
}

/// The newest comments of some tasks, and the markers that stand before them.
fn with_markers(
    server: &mut Server,
    mut all: BTreeMap<String, Vec<Said>>,
    whole: bool,
) -> Result<BTreeMap<String, Vec<Comment>>, Fault> {
    let full: Vec<String> =
        all.iter().filter(|(_, c)| c.len() >= MAX_COMMENTS).map(|(id, _)| id.clone()).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    // A marker counts however many comments came after it.
    let marked = comments_of(whole, "AND lower(left(task_comments.body, 10) COLLATE \"C\") = 'watchbill:'");
    for (id, markers) in of_each(server, &full, &marked, MANY, said)? {
        let newest = all.entry(id).or_default();
        let known: BTreeSet<i64> = newest.iter().map(|(n, _)| *n).collect();
        newest.extend(markers.into_iter().filter(|(n, _)| !known.contains(n)));
    }
    let told = |mut comments: Vec<Said>| {
        comments.sort_by_key(|(n, c)| Reverse((c.at, *n)));
        let mut fronts = Fronts::default();
        for (_, c) in comments.iter_mut().filter(|_| !whole) {
            c.body = Fronts::of(&c.body, fronts.most(&c.author)).into_owned();
        }
        comments.into_iter().rev().map(|(_, c)| c).collect()
    };
    Ok(all.into_iter().map(|(id, comments)| (id, told(comments))).collect())
}

/// The whole stories of these tasks, each once.
pub(crate) fn look(server: &mut Server, ids: &[&str]) -> Result<BTreeMap<String, Detail>, Fault> {
    let whole = format!("SELECT {TASK}, {PLACE}, left(body, 1048576), mark FROM tasks WHERE id = ANY($1)");
    let runs_of =
        format!("SELECT {RUN} FROM task_runs WHERE task_id = t.id ORDER BY started_at DESC, id DESC");
    let [noise, turns] = [EventKind::NOISE, EventKind::TURNS].map(EventKind::quoted);
    let events_of = |kinds: &str| {
        format!(
            "SELECT id, {EVENT} FROM task_events WHERE task_id = t.id AND kind {kinds} ORDER BY created_at DESC, id DESC"
        )
    };
    let kin = "SELECT p.id, p.title, p.status, p.idempotency_key FROM task_links l JOIN tasks p ON p.id = l.parent_id WHERE l.child_id = t.id";
    // `;` is the byte after `:`, so this is every key with the prefix, by index.
    let keyed = "SELECT id, idempotency_key, status, created_at FROM tasks \
         WHERE idempotency_key >= 'distress:' || t.id || ':' AND idempotency_key < 'distress:' || t.id || ';'";
    let parts = [
        (runs_of.as_str(), MAX_RUNS as i64),
        (&events_of(&format!("NOT IN ({noise})")), MAX_EVENTS as i64),
        (&comments_of(false, ""), MAX_COMMENTS as i64),
        (kin, MANY),
        (keyed, MANY),
    ];
    let (rows, [runs, events, comments, parents, cards]) = parts_of(server, ids, Some(&whole), parts)?;
    let mut runs = by_task(&runs, |row| run(row, 1));
    let numbered = |row: &Row| (row.get::<_, i64>(1), event(row, 2));
    let mut events = by_task(&events, numbered);
    // A thousand comments must not push out what holds or stops the task.
    let full: BTreeSet<String> =
        events.iter().filter(|(_, all)| all.len() >= MAX_EVENTS).map(|(id, _)| id.clone()).collect();
    let asked: Vec<&str> = full.iter().map(String::as_str).collect();
    for (id, turns) in
        of_each(server, &asked, &events_of(&format!("IN ({turns})")), MAX_TURNS as i64, numbered)?
    {
        let newest = events.entry(id).or_default();
        let known: BTreeSet<i64> = newest.iter().map(|(n, _)| *n).collect();
        newest.extend(turns.into_iter().filter(|(n, _)| !known.contains(n)));
    }
    let mut comments = with_markers(server, by_task(&comments, said), false)?;
    let mut parents = by_task(&parents, |row| -> Parent {
        let (id, title) = (row.get(1), text(row, 2).unwrap_or_default());
        let status = Status::from(row.get::<_, String>(3));
        (Kin { id, title, status, stray_title: false }, text(row, 4))
    });
    name(server, parents.values_mut().flatten().map(titled_parent))?;
    let bare = |all: Vec<Parent>| all.into_iter().map(|(kin, _)| kin).collect::<Vec<Kin>>();
    let mut parents: BTreeMap<String, Vec<Kin>> =
        parents.into_iter().map(|(id, all)| (id, bare(all))).collect();
    let mut cards = by_task(&cards, |row| CardMade {
        id: row.get(1),
        key: row.get(2),
        status: Status::from(row.get::<_, String>(3)),
        created_at: Time(row.get(4)),
    });
    for all in parents.values_mut() {
        all.sort_by(|a, b| a.id.cmp(&b.id));
    }
    for all in cards.values_mut() {
        all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    }
    let none = (Vec::new(), Vec::new());
    let of_task = |id: &str| its_cards(cards.get(id).unwrap_or(&none.0), parents.get(id).unwrap_or(&none.1));
    let worked: BTreeMap<&str, BTreeSet<String>> = ids.iter().map(|id| (*id, of_task(id))).collect();
    let asked: BTreeSet<&str> = worked.values().flatten().map(String::as_str).collect();
    let times = "SELECT id, started_at, ended_at FROM task_runs WHERE task_id = t.id ORDER BY started_at DESC, id DESC";
    let work = of_each(server, &asked.into_iter().collect::<Vec<_>>(), times, MAX_RUNS as i64, |row| {
        (Reverse((row.get::<_, i64>(2), row.get::<_, i64>(1))), time(row, 3))
    })?;
    let work_on = |card: &String| {
        let mut all = work.get(card).cloned().unwrap_or_default();
        all.sort_by_key(|(begun, _)| *begun);
        all.into_iter().map(|(Reverse((begun, _)), ended)| (Time::of_row(begun), ended))
    };

    let mut all = BTreeMap::new();
    let mut tasks: Vec<Task> = rows.iter().map(task).collect();
    name(server, tasks.iter_mut().map(titled_task))?;
    for (row, task) in rows.iter().zip(tasks) {
        let id = task.id.clone();
        let mut runs = runs.remove(&id).unwrap_or_default();
        // Chosen by time, told by number: after a clock was set back an older attempt began later.
        runs.sort_by_key(|r| Reverse(r.id));
        let mut events = events.remove(&id).unwrap_or_default();
        events.sort_by_key(|(n, _)| *n);
        let events: Vec<Event> = events.into_iter().map(|(_, e)| e).collect();
        task.pin.tell(&mut runs, &events);
        let card_work = worked.get(id.as_str()).into_iter().flatten().flat_map(work_on).collect();
        let (parents, cards_made) =
            (parents.remove(&id).unwrap_or_default(), cards.remove(&id).unwrap_or_default());
        let detail = Story {
            task,
            body: text(row, TASK_WIDTH + 6).unwrap_or_default(),
            runs,
            events,
            is_truncated: full.contains(&id),
            comments: comments.remove(&id).unwrap_or_default(),
            cards: open_cards(&cards_made, &parents),
            parents,
            cards_made,
            card_work,
            place: place(row, TASK_WIDTH),
            mark: mark_of(server.timeline, row.get(TASK_WIDTH + 7)),
        };
        all.insert(id, Detail::from(detail));
    }
    Ok(all)
}

/// What stands for all that was said about a task so far, on this timeline: on the next one the same count may stand for other words.
pub(crate) fn mark_of(timeline: u32, count: i64) -> String {
    format!("m{timeline:x}.{count}")
}

/// The timeline that a mark is of.
pub(crate) fn timeline_of(mark: &str) -> Option<u32> {
    u32::from_str_radix(mark.strip_prefix('m')?.split_once('.')?.0, 16).ok()
}

/// The payload of the newest heartbeat with a note. Of the newest ones only: there is one a minute.
pub(crate) fn beat_note(server: &mut Server, task: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT payload FROM (SELECT payload, created_at, id FROM task_events WHERE task_id = $1 \
         AND kind = 'heartbeat' ORDER BY created_at DESC, id DESC LIMIT 1000) beat WHERE payload LIKE '%\"note\"%' \
         ORDER BY created_at DESC, id DESC LIMIT 1";
    Ok(server.row(sql, args![task])?.and_then(|row| text(&row, 0)))
}

/// The task that has a key.
pub(crate) fn with_key(server: &mut Server, key: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT id FROM tasks WHERE idempotency_key = $1 AND status <> 'archived'";
    Ok(server.row(sql, args![key])?.map(|row| row.get(0)))
}

/// The newest runs of the board, oldest first. Numbers may have holes: the newest are counted, not subtracted.
pub(crate) fn recent_runs(server: &mut Server, most: u32) -> Result<Vec<(String, Run)>, Fault> {
    let sql = format!(
        "SELECT r.*, t.model_override, t.provider_override FROM \
         (SELECT task_id, {BARE_RUN} FROM task_runs ORDER BY id DESC LIMIT $1) r LEFT JOIN tasks t ON t.id = r.task_id \
         ORDER BY r.id DESC"
    );
    let rows = server.rows(&sql, args![i64::from(most)])?;
    Ok(rows.iter().rev().map(|row| (row.get(0), Run { pin: pin(row, 13), ..run(row, 1) })).collect())
}

/// The tasks of those among them that ended since.
pub(crate) fn ended(server: &mut Server, since: Time, most: u32) -> Result<Vec<String>, Fault> {
    let sql = "SELECT task_id FROM (SELECT id, task_id, ended_at FROM task_runs ORDER BY id DESC LIMIT $1) newest \
         WHERE ended_at >= $2 ORDER BY id";
    Ok(server.rows(sql, args![i64::from(most), since.0])?.iter().map(|row| row.get(0)).collect())
}

/// Of how many events in a row all must be too old for the rest to be. A clock that was set back for fewer events than this hides nothing
/// that was written before it.
const PART: i64 = 1_000;

/// The newest events of the board, oldest first; of these kinds alone, where there are some. A window of hours is most often full long before
/// `most`: it is gone back part by part, as far as one holds an event of the window.
pub(crate) fn events(
    server: &mut Server,
    kinds: Option<&[EventKind]>,
    since: Time,
    most: u32,
) -> Result<Vec<(String, Event)>, Fault> {
    let kinds =
        kinds.map_or_else(|| "true".to_owned(), |kinds| format!("kind IN ({})", EventKind::quoted(kinds)));
    let part = |before: &str| {
        format!(
            "SELECT min(id), max(created_at) FROM (SELECT id, created_at FROM task_events WHERE {kinds} {before} \
             ORDER BY id DESC LIMIT {PART}) events"
        )
    };
    let (first, next) = (part(""), part("AND id < part.lowest"));
    let sql = format!(
        "WITH RECURSIVE part(n, lowest, latest) AS (SELECT 1, first.* FROM ({first}) first UNION ALL \
         SELECT part.n + 1, next.* FROM part, LATERAL ({next}) next \
         WHERE part.latest >= $2 AND part.n * {PART} < $1) \
         SELECT task_id, {EVENT} FROM (SELECT * FROM task_events WHERE {kinds} \
         AND id >= (SELECT min(lowest) FROM part WHERE latest >= $2) ORDER BY id DESC LIMIT $1) newest \
         WHERE created_at >= $2 ORDER BY id"
    );
    let rows = server.rows(&sql, args![i64::from(most), since.0])?;
    Ok(rows.iter().map(|row| (row.get(0), event(row, 1))).collect())
}

/// Bits of a cursor that count the events of one transaction.
const WITHIN: u32 = 20;

/// Events of sessions after a cursor. Numbers of a sequence become visible out of order: a reader that went past one which was not
/// committed would never see it. So the cursor counts by transaction, and nothing is shown that an open one could still get in front of.
/// After a restore in another server, events with old transaction numbers are hidden until that server has counted that far.
pub(crate) fn coordinated(server: &mut Server, after: i64, most: u32) -> Result<Vec<Entry>, Fault> {
    let (tx, within) = (after >> WITHIN, after & ((1 << WITHIN) - 1));
    let sql = format!(
        "SELECT task_id, {EVENT}, n, tx FROM (SELECT task_id, kind, created_at, run_id, payload, tx::text AS tx, \
         row_number() OVER (PARTITION BY task_events.tx ORDER BY id) AS n FROM task_events \
         WHERE task_events.tx >= $1::xid8 AND task_events.tx < pg_snapshot_xmin(pg_current_snapshot()) \
         AND kind IN ({}) ORDER BY task_events.tx, id LIMIT $2) entry",
        EventKind::quoted(EventKind::SESSION)
    );
    let rows = server.rows(&sql, args![tx.max(0).to_string().as_str(), within + i64::from(most)])?;
    let entry = |row: &Row| {
        let tx: i64 = row.get::<_, String>(6).parse().ok()?;
        Some(Entry { id: tx << WITHIN | row.get::<_, i64>(5), task: row.get(0), event: event(row, 1) })
    };
    Ok(rows.iter().filter_map(entry).filter(|e| e.id > after).take(most as usize).collect())
}
