//! Whether a board is damaged. A pass looks for a reason only, which is cheap; SQLite checks the file where there is one.
//!
//! A reason is a copy that Hermes left when it refused the board (`kanban.db.corrupt.*.bak`), an earlier pass that failed on the file,
//! a look of `doctor` that found it damaged, or the last words of a worker whose report Hermes refused. What a check answered is
//! remembered, so that copies of a board that was repaired since cost nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::error::Result;
use base::time::Time;
use board::sqlite::damaged;
use board::{Board, BoardId};
use logs::Reading;
use logs::cache::Cache;
use policy::runtime::{LogAsk, LogFiles, LogReader};

/// What Hermes says where it refuses a board, as far as it stands in the log of a worker: a tool's error is cut after 45 characters.
pub const REFUSED: &str = "Refusing to open corrupt kan";

/// Largest board that is checked without a reason, in bytes. A check reads the whole file: about 700 MB a second.
const MAX_BYTES: u64 = 1 << 30;

/// When a board is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Where there is a reason.
    Doubted,
    /// Also where there is none, but for a very large board.
    Always,
}

/// Refuses a damaged board: what is written there is lost with the rest, or makes the repair harder.
///
/// # Errors
/// `Damaged`, with what is wrong and how to repair it.
pub fn refuse(board: &dyn Board, cache: &mut Cache, now: Time) -> Result<()> {
    match look(board, cache, now, When::Doubted)? {
        Some(what) => Err(damaged(&board.id().at.to_string(), &what)),
        None => Ok(()),
    }
}

/// What is wrong with a board, if it is damaged and was checked.
///
/// # Errors
/// The board cannot be read, for another reason than damage.
pub fn look(board: &dyn Board, cache: &mut Cache, now: Time, when: When) -> Result<Option<String>> {
    let id = board.id();
    let (doubt, answered) = (doubt_of(id), format!("damage:answered:{}:", id.at));
    let copies: BTreeSet<String> =
        id.file().map(copies).unwrap_or_default().iter().map(|name| format!("{answered}{name}")).collect();
    let is_doubted = cache.is_known(&doubt) || copies.iter().any(|key| !cache.is_known(key));
    let is_small = || id.file().is_some_and(|file| file.metadata().is_ok_and(|m| m.len() <= MAX_BYTES));
    if !is_doubted && (when == When::Doubted || !is_small()) {
        return Ok(None);
    }
    let found = board.damage(is_doubted)?;
    if found.is_some() {
        // Asked again in every pass until it is repaired, also where the copies were removed.
        cache.sight(&doubt, now);
        return Ok(found);
    }
    cache.forget(&doubt, &BTreeSet::new());
    cache.forget(&answered, &copies);
    copies.iter().for_each(|key| _ = cache.sight(key, now));
    Ok(None)
}

/// Has the next pass check the board: this one failed on the file itself, or saw what damages it.
pub(crate) fn doubt(id: &BoardId, cache: &mut Cache, now: Time) {
    cache.sight(&doubt_of(id), now);
}

/// Has every pass check the board from now on until it is repaired: `doctor` found what they would not have looked for. What else it saw
/// is not remembered.
pub fn remember(id: &BoardId, place: Option<PathBuf>, now: Time) {
    let mut cache = Cache::open(place);
    doubt(id, &mut cache, now);
    // Where the memory cannot be written, that is a finding of its own.
    drop(cache.save());
}

/// Reads logs, and has the next pass check the board where the last words of a worker say that Hermes refused it: a copy of it is not
/// always left, for example on a full disk. Each attempt that says so is a reason once, or one of before a repair would be for ever.
pub(crate) struct Heard<'a>(pub(crate) LogFiles<'a>);

impl LogReader for Heard<'_> {
    fn read(&self, ask: &LogAsk<'_>, cache: &mut Cache) -> Reading {
        let reading = self.0.read(ask, cache);
        if reading.last_words.iter().any(|words| words.contains(REFUSED)) {
            let of_task = format!("damage:said:{}:{}:", ask.board.at, ask.task);
            let key = format!("{of_task}{}", ask.since.0);
            if !cache.is_known(&key) {
                cache.forget(&of_task, &BTreeSet::new());
                cache.sight(&key, ask.now);
                doubt(ask.board, cache, ask.now);
            }
        }
        reading
    }
}

fn doubt_of(id: &BoardId) -> String {
    format!("damage:doubt:{}", id.at)
}

/// The names of the copies that Hermes left of a board it refused.
fn copies(path: &Path) -> Vec<String> {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return Vec::new() };
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (begin, end) = (format!("{name}.corrupt."), ".bak");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    names.filter(|n| n.starts_with(&begin) && n.ends_with(end)).collect()
}
