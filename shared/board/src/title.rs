//! How a task says by its title that it is a distress card, and which task it is about.

use base::cause::Blocker;
use base::names::{is_task_id, may_be_task_id};

/// How the title of a card begins.
pub const PREFIX: &str = "[BLOCKED]";
/// How the idempotency key of a card begins.
pub const KEY: &str = "distress:";

/// How the key of a part begins that a split made. Like that of a card, it names a task.
pub const SPLIT: &str = "split:";

/// Whether a title begins as that of a distress card does. A task with such a title is a card where it also names a task: see
/// [`Task::is_card`](super::Task::is_card).
pub fn is_card_title(title: &str) -> bool {
    title.trim_start().get(..PREFIX.len()).is_some_and(|p| p.eq_ignore_ascii_case(PREFIX))
}

/// Whether a key is one that our programs give their cards.
pub fn is_card_key(key: Option<&str>) -> bool {
    key.is_some_and(|k| k.starts_with(KEY))
}

/// Whether a title begins as a card's does and names no existing task: any task may have such a title. A task with the key of a card is
/// a card whatever its title says.
///
/// # Errors
/// The board cannot be asked.
pub fn is_stray<E>(
    title: &str,
    key: Option<&str>,
    mut is_there: impl FnMut(&str) -> Result<bool, E>,
) -> Result<bool, E> {
    if !is_card_title(title) || is_card_key(key) {
        return Ok(false);
    }
    for id in named(title) {
        if is_there(&id)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The ids in a card's title that may be its task's.
pub fn named(title: &str) -> Vec<String> {
    let read = read_title(title).map(|(source, _)| source);
    read.into_iter().chain(guess_title(title).map(str::to_owned)).collect()
}

/// Reads a card's title: the source, and the blocker type where it is one of the six. Near misses count
/// (`[blocked] t_1a2b3c4d: rate limited`). An id of another shape than Hermes' counts only in front of a blocker type:
/// any word may be one.
pub fn read_title(title: &str) -> Option<(String, Option<Blocker>)> {
    let rest = behind_prefix(title)?;
    let (word, more) = first_word(rest);
    if let Some(blocker) = Blocker::parse(more).filter(|_| may_be_task_id(word)) {
        return Some((word.to_owned(), Some(blocker)));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    is_task_id(&rest[..end]).then(|| (rest[..end].to_owned(), Blocker::parse(&rest[end..])))
}

/// The blocker type in a card's title, also behind an id of several words.
pub fn blocker_in(title: &str) -> Option<Blocker> {
    match read_title(title) {
        Some((_, blocker)) => blocker,
        None => Blocker::parse(behind_prefix(title)?.rsplit_once(char::is_whitespace)?.1),
    }
}

/// The word of a card's title that may be its source's id, where [`read_title`] cannot tell. Only words with a digit among
/// other characters count, as those of a sentence have none.
pub fn guess_title(title: &str) -> Option<&str> {
    let (word, more) = first_word(behind_prefix(title)?);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_id = more.trim().is_empty() || (digits > 0 && digits < word.len());
    (is_id && may_be_task_id(word)).then_some(word)
}

fn behind_prefix(title: &str) -> Option<&str> {
    let rest = title.trim_start().get(PREFIX.len()..).filter(|_| is_card_title(title))?;
    Some(rest.trim_start_matches([' ', ':', '-']))
}

/// The first word without the marks around it, and what follows.
fn first_word(text: &str) -> (&str, &str) {
    let (word, more) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.trim_matches(['`', '*', '(', ')', ',', '.', ':', ';', '-']), more)
}
