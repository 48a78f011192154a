//! Which tasks `board prune` removes: those that are over for long and that nothing open needs.
//!
//! Engines read, lock and remove rows; what may go is told here.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::time::Duration;

use crate::title::{self, KEY, SPLIT};
use crate::{Board, EventKind};
use base::error::{Error, Kind, Result};
use base::time::Time;

/// The least age: no watcher looks back further, but for what a task itself keeps.
pub const LEAST: Duration = Duration::from_secs(7 * 86_400);

/// How many tasks that are over are looked at in one transaction.
pub const PART: usize = 200;

/// What is asked.
#[derive(Debug)]
pub struct Asked {
    /// Nothing was written to what goes since then.
    pub before: Time,
    /// Nothing is removed.
    pub dry: bool,
    /// Tasks that open cards name by their title alone.
    named: BTreeSet<String>,
}

/// How many rows were removed, or would be. Links are not counted: two parts may have the same one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Tasks.
    pub tasks: i64,
    /// Comments on them.
    pub comments: i64,
    /// Events of them.
    pub events: i64,
    /// Attempts of them.
    pub runs: i64,
    /// Tasks as old that stay.
    pub kept: i64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, more: Sum) {
        self.tasks += more.tasks;
        self.comments += more.comments;
        self.events += more.events;
        self.runs += more.runs;
        self.kept += more.kept;
    }
}

/// A task that is over, and to which nothing was written for long.
#[derive(Debug, Clone)]
pub struct Old {
    /// The task.
    pub id: String,
    /// Its title, or the front of it.
    pub title: String,
    /// Its key.
    pub key: Option<String>,
    /// Whether it was put away: then its key may be given again.
    pub is_archived: bool,
    /// Whether no task that it waited for, no task that waited for it, and no card with its key is open.
    pub is_free: bool,
}

impl Old {
    /// The key by which a card or a part names a task.
    fn told_by_key(&self) -> Option<&str> {
        let key = self.key.as_deref()?;
        key.strip_prefix(KEY).or_else(|| key.strip_prefix(SPLIT))
    }

    /// The tasks that it may be about, as a card or as a part.
    fn about(&self) -> impl Iterator<Item = String> + '_ {
        let rest = self.told_by_key().unwrap_or_default();
        // An id of another runtime may have a colon in it.
        let by_key = rest.match_indices(':').map(|(end, _)| rest[..end].to_owned());
        by_key.chain(title::named(&self.title))
    }

    /// Whether a second `board add` with its key would be taken for a new one.
    fn keeps_a_key(&self) -> bool {
        self.key.is_some() && self.told_by_key().is_none() && !self.is_archived
    }
}

/// What an engine does for [`part`], inside one transaction.
pub trait Rows {
    /// Why it could not.
    type Fault;

    /// The next [`PART`] tasks that are over, after this one, in the order of their ids.
    ///
    /// # Errors
    /// The board cannot be read; of the others as well.
    fn over(&mut self, after: &str) -> std::result::Result<Vec<String>, Self::Fault>;

    /// Those of them that [`old`] chooses.
    ///
    /// # Errors
    /// See [`Rows::over`].
    fn old(&mut self, ids: &[String], before: Time) -> std::result::Result<Vec<Old>, Self::Fault>;

    /// Those of these tasks that are on the board and are not over.
    ///
    /// # Errors
    /// See [`Rows::over`].
    fn open(&mut self, ids: &BTreeSet<String>) -> std::result::Result<BTreeSet<String>, Self::Fault>;

    /// Keeps others from writing to these tasks until the end of the transaction; gives those of which it could.
    ///
    /// # Errors
    /// See [`Rows::over`].
    fn lock(&mut self, ids: Vec<String>) -> std::result::Result<Vec<String>, Self::Fault>;

    /// The rows of these tasks.
    ///
    /// # Errors
    /// See [`Rows::over`].
    fn count(&mut self, ids: &[String]) -> std::result::Result<Sum, Self::Fault>;

    /// Removes them.
    ///
    /// # Errors
    /// See [`Rows::over`].
    fn remove(&mut self, ids: &[String]) -> std::result::Result<(), Self::Fault>;
}

/// The next part of a board: what goes, and where the part after it begins; `None` where there is none.
///
/// # Errors
/// The engine's.
pub fn part<R: Rows>(
    rows: &mut R,
    asked: &Asked,
    after: &str,
) -> std::result::Result<Option<(String, Sum)>, R::Fault> {
    let over = rows.over(after)?;
    let Some(last) = over.last().cloned() else { return Ok(None) };
    let (old, mut going) = chosen(rows, asked, &over)?;
    if !asked.dry && !going.is_empty() {
        // Once more as they are now that nobody else writes to them.
        let locked = rows.lock(going)?;
        going = chosen(rows, asked, &locked)?.1;
    }
    let mut sum = Sum::default();
    if !going.is_empty() {
        sum = rows.count(&going)?;
        if !asked.dry {
            rows.remove(&going)?;
        }
    }
    sum.kept = i64::try_from(old.saturating_sub(going.len())).unwrap_or(i64::MAX);
    Ok(Some((last, sum)))
}

/// How many of these are old, and those of them that nothing needs.
fn chosen<R: Rows>(
    rows: &mut R,
    asked: &Asked,
    ids: &[String],
) -> std::result::Result<(usize, Vec<String>), R::Fault> {
    let old = rows.old(ids, asked.before)?;
    let about: BTreeSet<String> = old.iter().flat_map(Old::about).collect();
    let open = if about.is_empty() { BTreeSet::new() } else { rows.open(&about)? };
    let goes = |task: &Old| {
        let is_needed = asked.named.contains(&task.id) || task.about().any(|id| open.contains(&id));
        task.is_free && !task.keeps_a_key() && !is_needed
    };
    let many = old.len();
    Ok((many, old.into_iter().filter(goes).map(|task| task.id).collect()))
}

/// Removes from a board of `board init`, part by part, what is over for long and what nothing open needs, or counts it.
///
/// # Errors
/// `Partial` for a board of Hermes; the board cannot be read or written. Parts before that are removed.
pub fn prune(board: &mut dyn Board, before: Time, dry: bool, patience: Duration) -> Result<Sum> {
    if !board.is_own() {
        let what = "is a board of Hermes: Hermes alone removes its tasks";
        return Err(Error::new(Kind::Partial, &board.id().at, what));
    }
    let open = board.all_open()?;
    let cards = open.iter().filter(|task| title::is_card_title(&task.title));
    let named = cards.flat_map(|card| title::named(&card.title)).collect();
    let asked = Asked { before, dry, named };
    let (mut after, mut sum) = (String::new(), Sum::default());
    while let Some((last, more)) = board.prune(&asked, &after, patience)? {
        sum += more;
        after = last;
    }
    Ok(sum)
}

/// The states of a task that is over, as a list of SQL.
pub const OVER: &str = "('done', 'archived')";

/// The statement of [`Rows::old`]: id, title, key, whether it is archived, and whether it is free. `chosen` says which tasks `t` are asked about,
/// `before` is the moment.
///
/// No part of it may become a join: then a planner goes through a whole table for a few tasks.
pub fn old(chosen: &str, before: &str) -> String {
    let noise = EventKind::quoted(EventKind::NOISE);
    let none = |of: &str| format!("(SELECT 1 FROM {of} LIMIT 1) IS NULL");
    let linked = |this: &str, other: &str| {
        none(&format!(
            "task_links l JOIN tasks n ON n.id = l.{other} WHERE l.{this} = t.id AND n.status NOT IN {OVER}"
        ))
    };
    // `;` is the byte after `:`, so this is every key with the prefix, by index.
    let cards = none(&format!(
        "tasks c WHERE c.idempotency_key >= '{KEY}' || t.id || ':' AND c.idempotency_key < '{KEY}' || t.id || ';' \
         AND c.status NOT IN {OVER}"
    ));
    let since = [
        format!("task_runs r WHERE r.task_id = t.id AND (r.ended_at IS NULL OR r.ended_at >= {before})"),
        format!(
            "task_events e WHERE e.task_id = t.id AND e.kind NOT IN ({noise}) AND e.created_at >= {before}"
        ),
        format!("task_comments c WHERE c.task_id = t.id AND c.created_at >= {before}"),
    ];
    let since = since.map(|of| none(&of)).join(" AND ");
    format!(
        "SELECT t.id, substr(t.title, 1, 1000), t.idempotency_key, t.status = 'archived', {} AND {} AND {cards} FROM tasks t \
         WHERE {chosen} AND t.status IN {OVER} AND t.claim_lock IS NULL AND coalesce(t.current_run_id, 0) = 0 \
         AND t.created_at < {before} AND coalesce(t.completed_at, 0) < {before} AND {since}",
        linked("child_id", "parent_id"),
        linked("parent_id", "child_id"),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Three old tasks; a card about the second one is opened as they are locked, and another process has locked the third one.
    #[derive(Default)]
    struct Three {
        is_locked: bool,
        gone: Vec<String>,
    }

    impl Rows for Three {
        type Fault = ();

        fn over(&mut self, after: &str) -> std::result::Result<Vec<String>, ()> {
            Ok(["a", "b", "c"].into_iter().filter(|id| *id > after).map(str::to_owned).collect())
        }

        fn old(&mut self, ids: &[String], _: Time) -> std::result::Result<Vec<Old>, ()> {
            let old = |id: &String| Old {
                id: id.clone(),
                title: "Task".into(),
                key: None,
                is_archived: false,
                is_free: !(self.is_locked && id == "b"),
            };
            Ok(ids.iter().map(old).collect())
        }

        fn open(&mut self, _: &BTreeSet<String>) -> std::result::Result<BTreeSet<String>, ()> {
            Ok(BTreeSet::new())
        }

        fn lock(&mut self, ids: Vec<String>) -> std::result::Result<Vec<String>, ()> {
            self.is_locked = true;
            Ok(ids.into_iter().filter(|id| id != "c").collect())
        }

        fn count(&mut self, ids: &[String]) -> std::result::Result<Sum, ()> {
            Ok(Sum { tasks: i64::try_from(ids.len()).unwrap(), ..Sum::default() })
        }

        fn remove(&mut self, ids: &[String]) -> std::result::Result<(), ()> {
            self.gone.extend_from_slice(ids);
            Ok(())
        }
    }

    #[test]
    fn what_is_needed_by_the_moment_it_is_locked_stays() {
        let asked = |dry| Asked { before: Time(9), dry, named: BTreeSet::new() };
        let (mut counted, mut removed) = (Three::default(), Three::default());
        let (last, sum) = part(&mut counted, &asked(true), "").unwrap().unwrap();
        assert_eq!((last.as_str(), sum.tasks, sum.kept, counted.is_locked), ("c", 3, 0, false));
        let (last, sum) = part(&mut removed, &asked(false), "").unwrap().unwrap();
        assert_eq!((last.as_str(), sum.tasks, sum.kept), ("c", 1, 2));
        assert_eq!((counted.gone.len(), removed.gone), (0, vec!["a".to_owned()]));
        assert_eq!(part(&mut counted, &asked(true), "c"), Ok(None));
    }

    #[test]
    fn a_card_and_a_part_name_a_task_and_another_key_is_kept() {
        let of = |title: &str, key: Option<&str>| Old {
            id: "t_1".into(),
            title: title.into(),
            key: key.map(str::to_owned),
            is_archived: false,
            is_free: true,
        };
        for (title, key, about, keeps) in [
            ("Port the parser", None, &[][..], false),
            ("Port the parser", Some("nightly:7"), &[], true),
            ("Port the parser", Some("split:t_1a2b3c4d:2"), &["t_1a2b3c4d"], false),
            ("Two tasks stand still", Some("distress:t_1a2b3c4d:env_blocker:4"), &["t_1a2b3c4d"], false),
            ("[BLOCKED] t_1a2b3c4d rate limited", None, &["t_1a2b3c4d"], false),
            ("[BLOCKED] t_1a2b3c4d rate limited", Some("nightly:8"), &["t_1a2b3c4d"], true),
        ] {
            let task = of(title, key);
            let named: Vec<String> = task.about().collect();
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            assert!(about.iter().all(|id| named.contains(id)), "{title} {key:?}: {named:?}");
            assert_eq!((named.is_empty(), task.keeps_a_key()), (about.is_empty(), keeps), "{title} {key:?}");
            assert!(!Old { is_archived: true, ..task }.keeps_a_key(), "{title} {key:?}");
        }
    }
}
