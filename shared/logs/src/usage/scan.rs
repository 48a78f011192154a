//! Counting over the whole of a file, with a cursor of its own: the readers of [`crate::file`] look at a log's end, a
//! count needs its front as well.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::window::Window;
use crate::cache::Cache;
use crate::handle::{Mark, Owner, Stamp, check, glance, open};
use crate::lines::{Piece, lines};
use base::clip::lossy;
use base::reason::Reason;
use base::time::{DAY, Time};

/// Most bytes read of a file at once: of a larger one the end.
pub(crate) const MAX_READ: u64 = 256 << 20;

/// Counts of other versions are not understood: raise it whenever a state or its rules change.
const VERSION: u32 = 6;

/// What counts lines.
pub(crate) trait Count: Clone + Serialize + DeserializeOwned {
    /// Takes a line; `part` says that lines before the first one were left out.
    fn line(&mut self, line: &str, window: &Window, part: bool);

    /// Whether what was counted so far would be the same with this window, which starts where the last one did.
    fn fits(&self, window: &Window) -> bool;

    /// Whether a line was counted that no other file tells.
    fn has_begun(&self) -> bool {
        false
    }
}

/// Which file to count, and how.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'a> {
    /// What sort of count it is, for the cursor.
    pub(crate) sort: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) owner: Owner,
    pub(crate) window: Window,
    pub(crate) now: Time,
    /// Most bytes that are read: [`MAX_READ`].
    pub(crate) most: u64,
}

/// A count of a whole file.
pub(crate) struct Counted<C> {
    pub(crate) count: C,
    /// The front of the file was left out: for its size, or as it is gone.
    pub(crate) is_part: bool,
    /// The file is another one than that of an earlier pass, or was emptied since: what that pass counted is gone.
    pub(crate) is_begun_anew: bool,
}

/// A count that has counted nothing.
pub(crate) struct Begun<C> {
    pub(crate) count: C,
    /// It is the right one whatever is written next: whole lines show the format, or nobody asks for that.
    pub(crate) sure: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Cursor<C> {
    version: u32,
    mark: Mark,
    /// A later pass may go on with it.
    sure: bool,
    is_part: bool,
    is_begun_anew: bool,
    count: C,
    /// The same with the last line, where nobody has finished that yet.
    torn: Option<C>,
}

/// A file of no format we know, so that it is not opened again while it is as it was.
#[derive(Serialize, Deserialize)]
struct Foreign {
    version: u32,
    foreign: Stamp,
    /// The file was begun anew, and may be one we know again: a log is empty just after it was rotated.
    is_begun_anew: bool,
}

impl<C: Count> Cursor<C> {
    fn counted(self) -> Counted<C> {
        let Cursor { count, torn, is_part, is_begun_anew, .. } = self;
        Counted { count: torn.unwrap_or(count), is_part, is_begun_anew }
    }

    /// Whether what was counted so far would be the same with this window.
    fn fits(&self, window: &Window) -> bool {
        self.count.fits(window) && self.torn.as_ref().is_none_or(|torn| torn.fits(window))
    }

    /// Whether the file no longer holds what was counted of it.
    fn is_lost(&self, file: &File, now: &Stamp) -> io::Result<bool> {
        let is_there = now.size >= self.mark.stamp.size && self.mark.fits(file, now, u64::MAX)?;
        Ok(!is_there && self.torn.as_ref().unwrap_or(&self.count).has_begun())
    }
}

/// Counts what is new in a file. `new` makes a count for a file that is read for the first time; `None`: nobody knows its
/// format.
///
/// # Errors
/// Why it cannot be read, in words; `Ok(None)` where there is no such file or its format is not known.
pub(crate) fn scan<C: Count>(
    ask: &Scan<'_>,
    cache: &mut Cache,
    new: impl FnOnce(&File, u64) -> io::Result<Option<Begun<C>>>,
) -> Result<Option<Counted<C>>, Reason> {
    let Some(seen) = glance(ask.path, ask.owner)? else { return Ok(None) };
    let key = key(ask);
    let known = key.as_deref().and_then(|k| cache.log(k));
    let used = known.as_ref().map(|row| row.used);
    let is_lately = used.is_none_or(|used| ask.now.since(used) < DAY);
    let foreign = known.as_ref().and_then(|row| serde_json::from_str::<Foreign>(&row.body).ok());
    let foreign = foreign.filter(|f| f.version == VERSION);
    if is_lately && foreign.as_ref().is_some_and(|f| f.foreign == seen) {
        return Ok(None);
    }
    let old: Option<Cursor<C>> = known.and_then(|row| serde_json::from_str(&row.body).ok());
    let old = old.filter(|c| c.version == VERSION);
    let cursor = match old {
        Some(cursor) if cursor.mark.stamp == seen && cursor.fits(&ask.window) => {
            if is_lately {
                return Ok(Some(cursor.counted()));
            }
            cursor
        }
        old => {
            let Some(file) = open(ask.path)? else { return Ok(None) };
            let stamp = check(&file.metadata()?, ask.owner)?;
            let is_begun_anew = match (&old, foreign) {
                (Some(cursor), _) => cursor.is_begun_anew || cursor.is_lost(&file, &stamp)?,
                (None, foreign) => foreign.is_some_and(|f| f.is_begun_anew),
            };
            let Some(cursor) = advance(&file, stamp, old, is_begun_anew, ask, new)? else {
                let foreign = Foreign { version: VERSION, foreign: stamp, is_begun_anew };
                if let (Some(key), Ok(body)) = (key, serde_json::to_string(&foreign)) {
                    cache.put_log(&key, 0, body, ask.now);
                }
                return Ok(None);
            };
            cursor
        }
    };
    if let (Some(key), Ok(body)) = (key, serde_json::to_string(&cursor)) {
        cache.put_log(&key, cursor.mark.offset, body, ask.now);
    }
    Ok(Some(cursor.counted()))
}

fn key(ask: &Scan<'_>) -> Option<String> {
    // Two names that are no text could look alike.
    Some(format!("usage:{}:{}:{}", ask.sort, ask.window.from.0, ask.path.to_str()?))
}

fn advance<C: Count>(
    file: &File,
    stamp: Stamp,
    old: Option<Cursor<C>>,
    is_begun_anew: bool,
    ask: &Scan<'_>,
    new: impl FnOnce(&File, u64) -> io::Result<Option<Begun<C>>>,
) -> io::Result<Option<Cursor<C>>> {
    if let Some(cursor) = old
        && cursor.sure
        && cursor.fits(&ask.window)
        && stamp.size > cursor.mark.stamp.size
        && cursor.mark.fits(file, &stamp, ask.most)?
    {
        let begun = Begun { count: cursor.count, sure: true };
        let cursor = go_on(file, stamp, begun, (cursor.mark.offset, cursor.is_part), false, ask)?;
        return Ok(Some(Cursor { is_begun_anew, ..cursor }));
    }
    let Some(begun) = new(file, stamp.size)? else { return Ok(None) };
    let from = stamp.size.saturating_sub(ask.most);
    // One byte early: where that ends a line, the next one is whole.
    let place = (from.saturating_sub(1), from > 0 || is_begun_anew);
    let cursor = go_on(file, stamp, begun, place, from > 0, ask)?;
    Ok(Some(Cursor { is_begun_anew, ..cursor }))
}

/// Reads from an offset to the end of the file as it was at the stamp. `within`: the offset lies within a line, which is not
/// read.
fn go_on<C: Count>(
    file: &File,
    stamp: Stamp,
    Begun { mut count, sure }: Begun<C>,
    (from, is_part): (u64, bool),
    within: bool,
    ask: &Scan<'_>,
) -> io::Result<Cursor<C>> {
    let mut skip = within;
    let take = |count: &mut C, piece: &Piece<'_>| {
        let text = lossy(piece.bytes);
        count.line(text.trim_end_matches('\r'), &ask.window, is_part);
    };
    let rest = lines(file, from, stamp.size, &mut |piece: &Piece<'_>| {
        if !std::mem::take(&mut skip) {
            take(&mut count, piece);
        }
    })?;
    if skip {
        return Err(io::Error::other(format!("no line ends in its last {} MiB", ask.most >> 20)));
    }
    // A line that is half written does not count as one that could not be read.
    let is_whole = || serde_json::from_slice::<serde::de::IgnoredAny>(&rest.bytes).is_ok();
    let torn = (!rest.bytes.is_empty() && is_whole()).then(|| {
        let mut count = count.clone();
        take(&mut count, &rest.piece());
        count
    });
    let mark = Mark::at(file, stamp, rest.offset)?;
    Ok(Cursor { version: VERSION, mark, sure, is_part, is_begun_anew: false, count, torn })
}
