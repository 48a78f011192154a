//! Whether another board lies in the place of one that passes looked at: made anew, or restored from an old copy. Such a board is
//! empty or old, and says that all is well. So the ends of its history are remembered, until `watchbill forget`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Tools;
use crate::report::{Notice, Phase};
use base::error::Result;
use base::hash::fnv;
use base::location::Location;
use base::time::Time;
use board::{Board, BoardId, History};
use card::shell_word;
use logs::cache::Cache;
use policy::said::{Kind, Said};

/// Under this name the state file remembers a board: by its file or address, its first event and the task of that. The time is the number of an event
/// that was seen.
const KNOWN: &str = "history:";
/// And under this one that a pass said that another board is there.
const SAID: &str = "replaced:";
/// So many of the newest events a power cut may take along.
const CUT: i64 = 100;

/// What is remembered of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    first: i64,
    task: u64,
    /// It has this event, or had it.
    last: i64,
}

/// The files of boards that passes looked at.
pub fn seen_before(cache: &Cache) -> BTreeSet<PathBuf> {
    let places = cache.names(KNOWN).filter_map(|name| read(name).map(|(place, ..)| place));
    places.filter(|place| Path::new(place).is_absolute()).map(PathBuf::from).collect()
}

/// Forgets a board and what was said of it. Gives whether there was anything to forget.
pub fn forget(id: &BoardId, cache: &mut Cache) -> bool {
    let known = known(id, cache);
    for key in known.iter().map(|known| key(id, known)).chain([said(id)]) {
        cache.forget(&key, &BTreeSet::new());
    }
    known.is_some()
}

/// The command by which a person says that a board is meant to be gone, or to be another one.
pub(crate) fn command(at: &str) -> String {
    format!("watchbill forget --db {}", shell_word(at))
}

/// What mends that a board which passes looked at is not there.
pub(super) fn mend(id: &BoardId, cache: &Cache) -> Option<String> {
    let command = command(&id.at.to_string());
    known(id, cache).map(|_| format!("put it back, or run `{command}` where that is meant"))
}

/// What is so where another board lies in the place of one that passes looked at.
///
/// # Errors
/// The board cannot be read.
pub fn replaced(board: &mut dyn Board, cache: &Cache) -> Result<Option<String>> {
    let here = board.history()?;
    Ok(here.and_then(|here| what(board.id(), &here, cache)))
}

fn what(id: &BoardId, here: &History, cache: &Cache) -> Option<String> {
    let known = known(id, cache).filter(|known| known.is_other(here))?;
    let (was, last) = (known.last, here.last);
    let how = match id.file() {
        Some(_) => format!("its newest event has the number {last}, and they saw number {was}"),
        None => "it was made anew".to_owned(),
    };
    Some(format!("another board than passes saw here: {how}"))
}

/// What a person does about it.
pub(crate) fn todo(at: &Location) -> String {
    let meant = command(&at.to_string());
    if at.file().is_none() {
        return format!(
            "if the other one was lost, rename this database or schema away and restore it from its dump; if this one is meant: `{meant}`"
        );
    }
    format!(
        "if the other one was lost, stop what writes here, move this file with its -wal and -shm away, and put a copy of the other one there; if \
         this one is meant: `{meant}`"
    )
}

/// Says that another board is there, once; else remembers this one.
pub(super) fn look(board: &mut dyn Board, tools: &mut Tools<'_>) -> Result<Option<Notice>> {
    let id = board.id().clone();
    let (key, now) = (said(&id), tools.pass.now);
    let Some(here) = board.history()? else { return Ok(None) };
    let Some(what) = what(&id, &here, tools.cache) else {
        tools.cache.forget(&key, &BTreeSet::new());
        note(&id, here, tools.cache);
        return Ok(None);
    };
    let is_told = tools.cache.was_sighted(&key) && !tools.pass.dry;
    tools.cache.sight(&key, now);
    let phase = if is_told { Phase::Lasts } else { Phase::Began };
    let said = Said::of(Kind::Replaced, format!("{what}; {}", todo(&id.at)));
    Ok(Some(Notice::new(said, phase)))
}

/// Remembers a board. Where nobody ever worked, and hardly anything was said, nothing is.
fn note(id: &BoardId, here: History, cache: &mut Cache) {
    let History { first: Some((first, task)), last } = here else { return };
    let before = known(id, cache);
    let here = Known { first, task: fnv(task.bytes()), last };
    let is_worth = before.is_some() || last > 1 || cache.knows_clock();
    // Every event is not worth a write.
    let is_new =
        before.as_ref().is_none_or(|b| (b.first, b.task) != (first, here.task) || last / 2 >= b.last);
    if is_worth && is_new {
        if let Some(before) = before {
            cache.forget(&key(id, &before), &BTreeSet::new());
        }
        cache.sight(&key(id, &here), Time(last));
    }
}

impl Known {
    /// Whether these are the ends of another history. The oldest events of a board may be deleted, and do not return.
    fn is_other(&self, here: &History) -> bool {
        let begins_anew =
            |(first, task): &(i64, String)| *first <= self.first && fnv(task.bytes()) != self.task;
        here.first.as_ref().is_some_and(begins_anew)
            || here.last < self.first
            || here.last.saturating_add(CUT) < self.last
    }
}

fn known(id: &BoardId, cache: &Cache) -> Option<Known> {
    let place = place(id);
    let prefix = format!("{KNOWN}{place}:");
    let names = cache.names(&prefix).map(|rest| format!("{prefix}{rest}"));
    names.into_iter().find_map(|key| {
        let (of, first, task) = read(key.strip_prefix(KNOWN)?)?;
        let (_, last) = cache.newest(&key).filter(|_| of == place)?;
        Some(Known { first, task, last: last.0 })
    })
}

/// Place, first event and its task of what is remembered.
fn read(name: &str) -> Option<(&str, i64, u64)> {
    let mut parts = name.rsplitn(3, ':');
    let (task, first) = (parts.next()?, parts.next()?);
    Some((parts.next()?, first.parse().ok()?, u64::from_str_radix(task, 16).ok()?))
}

fn key(id: &BoardId, known: &Known) -> String {
    format!("{KNOWN}{}:{}:{:016x}", place(id), known.first, known.task)
}

fn said(id: &BoardId) -> String {
    format!("{SAID}{}:", place(id))
}

/// Its file, from wherever it is named, or its address.
fn place(id: &BoardId) -> String {
    let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    id.file().map_or_else(|| id.at.to_string(), |file| absolute(file).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_another_one_by_its_first_event_or_by_far_fewer_of_them() {
        let of =
            |first: Option<(i64, &str)>, last| History { first: first.map(|(n, t)| (n, t.to_owned())), last };
        let known = Known { first: 1, task: fnv("t_1".bytes()), last: 400 };
        let pruned = Known { first: 90, ..known.clone() };
        for (known, first, last, is_other) in [
            (&known, Some((1, "t_1")), 400, false),
            (&known, Some((1, "t_1")), 300, false),
            (&known, Some((1, "t_1")), 299, true),
            (&known, Some((1, "t_2")), 900, true),
            (&known, None, 0, true),
            // The oldest events were taken away, or all of them.
            (&known, Some((40, "t_2")), 400, false),
            (&known, None, 400, false),
            (&pruned, Some((1, "t_2")), 500, true),
            (&pruned, Some((1, "t_1")), 500, false),
            (&pruned, Some((91, "t_7")), 500, false),
        ] {
            assert_eq!(known.is_other(&of(first, last)), is_other, "{known:?} {first:?} {last}");
        }
        let young = Known { first: 1, task: 7, last: 2 };
        assert!(young.is_other(&of(None, 0)));
    }

    #[test]
    fn what_is_remembered_is_read_by_its_file() {
        let id = |path: &str| BoardId { at: path.into(), slug: None, root: None };
        let mut cache = Cache::in_memory();
        let known_as = |first, last| Known { first, task: 255, last };
        for (path, first, last) in [("/a/b.db", 3, 40), ("/a/b.db:1", 5, 60)] {
            cache.sight(&key(&id(path), &known_as(first, last)), Time(last));
        }
        assert_eq!(known(&id("/a/b.db"), &cache), Some(known_as(3, 40)));
        assert_eq!(known(&id("/a/b.db:1"), &cache), Some(known_as(5, 60)));
        assert_eq!(known(&id("/a/b"), &cache), None);
        assert_eq!(seen_before(&cache), BTreeSet::from(["/a/b.db", "/a/b.db:1"].map(PathBuf::from)));
        assert!(forget(&id("/a/b.db"), &mut cache) && !forget(&id("/a/b.db"), &mut cache));
        assert_eq!(seen_before(&cache), BTreeSet::from([PathBuf::from("/a/b.db:1")]));
    }
}
