//! Runs of lines that tell of tools, found by a search for bytes: nearly all of them say nothing that counts.

use memchr::memmem::find;
use memchr::{memchr_iter, memchr2, memrchr};

use super::section::SAYINGS;
use super::words::{REPORTED, Row, TOOL};
use base::clip::lossy;

/// What a line of a tool says; `None` where it says nothing, or that the tool is about to be used.
pub(super) fn words<'a>(row: &'a Row<'_>) -> Option<&'a str> {
    let words = row.text.strip_prefix(TOOL)?;
    Some(words.trim()).filter(|_| !words.contains(" preparing ")).filter(|words| !words.is_empty())
}

/// Whether a line tells of a tool, and reads as it stands: no terminal escapes, no advice about a failure.
pub(super) fn is_plain(line: &[u8]) -> bool {
    line.starts_with(TOOL.as_bytes()) && marks(line).is_none()
}

/// Where the first byte stands because of which a line of a tool is not passed over.
fn marks(lines: &[u8]) -> Option<usize> {
    let escape = memchr2(b'\x1b', b'\x07', lines);
    find(&lines[..escape.unwrap_or(lines.len())], REPORTED.as_bytes()).or(escape)
}

/// Lines at the beginning of a block, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Idle {
    /// Those that change nothing.
    pub(crate) passed: usize,
    /// All that were looked at for that.
    pub(crate) seen: usize,
}

/// The lines that change nothing where the reader is steady: a run of plain ones, but for the newest that say something and the last.
pub(crate) fn idle(block: &[u8]) -> Idle {
    let mut seen = 0;
    for newline in memchr_iter(b'\n', block) {
        if !block[seen..].starts_with(TOOL.as_bytes()) {
            break;
        }
        seen = newline + 1;
    }
    if let Some(at) = marks(&block[..seen]) {
        seen = behind_newline(&block[..at]);
    }
    let (mut passed, mut spoke) = (seen, 0);
    while passed > 0 && spoke < SAYINGS {
        let line = &block[..passed - 1];
        passed = behind_newline(line);
        spoke += usize::from(words(&Row::plain(0, &lossy(&line[passed..]))).is_some());
    }
    Idle { passed, seen }
}

/// Where the last line starts.
fn behind_newline(lines: &[u8]) -> usize {
    memrchr(b'\n', lines).map_or(0, |newline| newline + 1)
}
