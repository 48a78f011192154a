//! Which task a person means: by its id, the beginning of its id, or words of its title.

use std::time::Duration;

use base::count::first_few;
use base::error::{Error, Kind, Result};
use base::names::is_task_id;
use base::quote;

use super::{Board, BoardId, Mode, Status, Task, open};

/// How the ids of Hermes begin.
const FRONT: &str = "t_";
/// Fewest characters of an id that stand for it without `t_` in front: shorter ones are likelier to be a word.
const MIN_BARE: usize = 4;
/// Most tasks that an error names.
const MAX_NAMED: usize = 4;
/// Most characters of a title in an error.
const MAX_TITLE: usize = 48;

/// The task that is meant by what a person typed, and its board: the one of this id, with or without `t_`; else the only
/// one whose id begins so; else the only one whose title has these words, in any case and order. Open tasks come before
/// those that are over, tasks before cards about them, and earlier boards before later ones with the same id.
/// `patience` is the longest wait for a writer.
///
/// # Errors
/// `Usage` where several tasks match, and where it neither looks like an id nor matches a title; `Partial` where no board
/// has a task of that id, with ids that are nearly the same. Where a board could not be read, that board's own error
/// instead: it may be the one that has the task.
pub fn find(typed: &str, boards: &[BoardId], patience: Duration) -> Result<(BoardId, String)> {
    let mut opened = Opened::default();
    for id in boards {
        match open(id, Mode::Look, patience) {
            Ok(board) => opened.boards.push(board),
            Err(e) => opened.fault = opened.fault.take().or(Some(e)),
        }
    }
    let typed = typed.trim();
    let exact = [typed.to_owned(), format!("{FRONT}{typed}")];
    let mut rows = opened.rows(|board| board.titled(&exact));
    let mut found = rows.first().map(of_board);
    for states in [&Status::OPEN[..], &[Status::Done, Status::Archived]] {
        if found.is_none() {
            let more = opened.rows(|board| board.glance(states).map(Vec::from));
            found = chosen(typed, &more)?.map(of_board);
            rows.extend(more);
        }
    }
    match (found, opened.fault) {
        (Some(found), _) => Ok(found),
        (None, Some(fault)) => Err(fault),
        (None, None) => Err(missing(typed, &rows)),
    }
}

/// The boards that could be opened, and what kept the first of the others.
#[derive(Default)]
struct Opened {
    boards: Vec<Box<dyn Board>>,
    fault: Option<Error>,
}

impl Opened {
    fn rows(&mut self, mut ask: impl FnMut(&mut dyn Board) -> Result<Vec<Task>>) -> Vec<(BoardId, Task)> {
        let mut all = Vec::new();
        for board in &mut self.boards {
            match ask(board.as_mut()) {
                Ok(tasks) => all.extend(tasks.into_iter().map(|t| (board.id().clone(), t))),
                Err(e) => self.fault = self.fault.take().or(Some(e)),
            }
        }
        all
    }
}

fn of_board((board, task): &(BoardId, Task)) -> (BoardId, String) {
    (board.clone(), task.id.clone())
}

/// The one that is meant among these; `None` where none matches.
fn chosen<'a>(typed: &str, rows: &'a [(BoardId, Task)]) -> Result<Option<&'a (BoardId, Task)>> {
    let begins = |t: &Task| begins(&t.id, typed);
    let has = |t: &Task| !is_id(typed) && has_words(&t.title, typed);
    let whole = |t: &Task| !is_id(typed) && t.title.trim().to_lowercase() == typed.to_lowercase();
    let rules: [&dyn Fn(&Task) -> bool; 4] = [&begins, &whole, &|t| has(t) && !t.is_card(), &has];
    for rule in rules {
        let mut matching: Vec<&(BoardId, Task)> = Vec::new();
        for row in rows.iter().filter(|(_, t)| rule(t)) {
            if !matching.iter().any(|(_, t)| t.id == row.1.id) {
                matching.push(row);
            }
        }
        match matching.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            several => return Err(ambiguous(typed, several)),
        }
    }
    Ok(None)
}

/// Whether it can only be an id: then no title is looked at. Cards have the ids of other tasks in theirs.
fn is_id(typed: &str) -> bool {
    typed.starts_with(FRONT) || is_task_id(&format!("{FRONT}{}", typed.to_lowercase()))
}

fn begins(id: &str, typed: &str) -> bool {
    let starts = |id: &str| id.get(..typed.len()).is_some_and(|front| front.eq_ignore_ascii_case(typed));
    let bare = || typed.len() >= MIN_BARE && id.strip_prefix(FRONT).is_some_and(starts);
    (typed.len() > FRONT.len() && starts(id)) || bare()
}

/// Whether a title has each of these words.
fn has_words(title: &str, typed: &str) -> bool {
    let title = title.to_lowercase();
    !typed.is_empty() && typed.to_lowercase().split_whitespace().all(|word| title.contains(word))
}

fn ambiguous(typed: &str, several: &[&(BoardId, Task)]) -> Error {
    let named = first_few(MAX_NAMED, several.iter().map(|(_, t)| named(t)));
    Error::new(Kind::Usage, typed, format!("{} tasks match: {named}", several.len()))
        .hint("write more of the id or of the title")
}

fn missing(typed: &str, rows: &[(BoardId, Task)]) -> Error {
    if !is_id(typed) {
        return Error::new(Kind::Usage, typed, "not a task id, and no title on these boards has these words")
            .hint("ids look like t_1a2b3c4d");
    }
    let error = Error::new(Kind::Partial, typed, "no such task on any of these boards");
    let mut near: Vec<(usize, &Task)> =
        rows.iter().filter_map(|(_, t)| Some((distance(&t.id, typed)?, t))).collect();
    near.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
    near.dedup_by(|a, b| a.1.id == b.1.id);
    match near.is_empty() {
        true => error,
        false => {
            let near: Vec<String> = near.into_iter().take(MAX_NAMED - 1).map(|(_, t)| named(t)).collect();
            let near = near.join(" or ");
            error.hint(format!("did you mean {near}?"))
        }
    }
}

fn named(t: &Task) -> String {
    format!("{} {}", quote::inline(&t.id, MAX_TITLE), quote::inline(&t.title, MAX_TITLE))
}

/// How many characters of an id were mistyped, where few enough were; of a beginning one may be.
fn distance(id: &str, typed: &str) -> Option<usize> {
    let typed = typed.to_lowercase();
    let typed = typed.strip_prefix(FRONT).unwrap_or(&typed);
    let id = id.strip_prefix(FRONT).unwrap_or(id);
    let is_whole = typed.len() + 1 >= id.len();
    let front = id.get(..typed.len()).filter(|_| !is_whole).unwrap_or(id);
    let most = if is_whole { 2 } else { 1 };
    let off = strsim::osa_distance(front, typed);
    (typed.len() >= MIN_BARE && off <= most).then_some(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::detail;

    fn rows(tasks: &[(&str, &str)]) -> Vec<(BoardId, Task)> {
        let board = BoardId { at: "/b".into(), slug: None, root: None };
        let task = |(id, title): &(&str, &str)| Task {
            title: (*title).into(),
            ..detail(id, Status::Ready).task.clone()
        };
        tasks.iter().map(|t| (board.clone(), task(t))).collect()
    }

    fn night() -> Vec<(BoardId, Task)> {
        rows(&[
            ("t_ac7aa76c", "Fix the flaky login test"),
            ("t_ac7bb001", "Port the parser to the new grammar"),
            ("t_0000caf1", "[BLOCKED] t_ac7bb001 rate_limited: Port the parser"),
            ("PROJ-12", "Parse dates"),
            ("t_fade0001", "Fade the banner"),
            ("t_99990001", "Fix the login"),
        ])
    }

    #[test]
    fn a_beginning_or_a_title_is_enough_where_it_is_the_only_one() {
        let night = night();
        for (typed, want) in [
            ("t_ac7a", Some("t_ac7aa76c")),
            ("ac7a", Some("t_ac7aa76c")),
            ("AC7AA76C", Some("t_ac7aa76c")),
            ("t_f", Some("t_fade0001")),
            ("proj-1", Some("PROJ-12")),
            ("FLAKY", Some("t_ac7aa76c")),
            ("login flaky", Some("t_ac7aa76c")),
            ("fix the login", Some("t_99990001")),
            // Of a card and its task the task is meant, but by its own words the card.
            ("port the parser", Some("t_ac7bb001")),
            ("rate_limited", Some("t_0000caf1")),
            // Fewer than four characters of an id are a word.
            ("fad", Some("t_fade0001")),
            // What is whole as an id is looked for in no title.
            ("ac7bb002", None),
            ("t_ac7bb0012", None),
            ("lanterns", None),
            ("t_", None),
            ("", None),
        ] {
            let found = chosen(typed, &night).unwrap_or_else(|e| panic!("{typed}: {e}"));
            assert_eq!(found.map(|(_, t)| t.id.as_str()), want, "{typed}");
        }
    }

    #[test]
    fn several_are_named_and_none_is_chosen() {
        let many: Vec<(String, String)> =
            (1..=6).map(|n| (format!("t_ac00000{n}"), format!("Job {n}"))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        for typed in ["t_ac", "job", "ac00"] {
            let e = chosen(typed, &rows(&many)).unwrap_err();
            let said = "6 tasks match: t_ac000001 Job 1, t_ac000002 Job 2, t_ac000003 Job 3, t_ac000004 Job 4 and 2 more";
            assert_eq!((e.kind, e.at.as_str(), e.what.as_str()), (Kind::Usage, typed, said));
        }
        // The same task on two boards is one.
        let twice = rows(&[("t_ac000001", "Job 1"), ("t_ac000001", "Job 1")]);
        assert!(chosen("t_ac", &twice).unwrap().is_some());
    }

    #[test]
    fn a_mistyped_id_names_those_near_it() {
        for (typed, hint) in [
            ("t_ac7aa76d", Some("did you mean t_ac7aa76c Fix the flaky login test?")),
            ("ca7aa76c", Some("did you mean t_ac7aa76c Fix the flaky login test?")),
            ("t_ac7aa76", Some("did you mean t_ac7aa76c Fix the flaky login test?")),
            (
                "t_ac7c",
                Some(
                    "did you mean t_ac7aa76c Fix the flaky login test or t_ac7bb001 Port the parser to the new grammar?",
                ),
            ),
            ("t_12345678", None),
            ("t_x", None),
        ] {
            let e = missing(typed, &night());
            assert_eq!((e.kind, e.hint.as_deref()), (Kind::Partial, hint), "{typed}");
        }
        assert_eq!(missing("lanterns", &night()).kind, Kind::Usage);
    }
}
