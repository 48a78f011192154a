//! A file in lines, with bounded memory whatever the length of a line.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use super::signal::MAX_LINE;

/// How much is read at once, in bytes.
pub(super) const BLOCK: usize = 64 * 1024;

/// What takes the lines of a file.
pub(super) trait Lines {
    /// How many bytes of whole lines need not be taken, at the beginning of `block`, which stands at `offset` of the file.
    fn pass_over(&mut self, _block: &[u8], _offset: u64) -> usize {
        0
    }

    /// Takes a line.
    fn take(&mut self, line: &Piece<'_>);
}

impl<F: FnMut(&Piece<'_>)> Lines for F {
    fn take(&mut self, line: &Piece<'_>) {
        self(line);
    }
}

/// A line's bytes without the newline.
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// Where it starts in the file.
    pub(super) offset: u64,
    /// It was longer than [`MAX_LINE`].
    pub(super) is_cut: bool,
}

impl<'a> Piece<'a> {
    /// Its parts where `\r` ends a line as well: a progress bar writes one over the other. Only the last one can be cut. Where `\r\n`
    /// ends it, nothing stands behind that.
    pub(super) fn overwritten(&self) -> impl Iterator<Item = Piece<'a>> {
        let (bytes, mut offset, is_cut) = (self.bytes, self.offset, self.is_cut);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let last = bytes.iter().filter(|b| **b == b'\r').count();
        bytes.split(|b| *b == b'\r').enumerate().map(move |(n, bytes)| {
            let piece = Piece { bytes, offset, is_cut: is_cut && n == last };
            offset += bytes.len() as u64 + 1;
            piece
        })
    }
}

/// A last line without a newline; empty where the last line has one.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
    is_cut: bool,
}

impl Rest {
    /// Drops what stands before the first `\r`; `None` where there is none.
    pub(super) fn behind_return(mut self) -> Option<Rest> {
        let at = self.bytes.iter().position(|b| *b == b'\r')? + 1;
        self.offset += at as u64;
        self.bytes.drain(..at);
        Some(self)
    }

    pub(super) fn piece(&self) -> Piece<'_> {
        Piece { bytes: &self.bytes, offset: self.offset, is_cut: self.is_cut }
    }

    fn take(&mut self, more: &[u8]) {
        let room = MAX_LINE - self.bytes.len();
        self.is_cut |= more.len() > room;
        self.bytes.extend_from_slice(&more[..more.len().min(room)]);
    }
}

/// Shows every whole line that starts at `from` or later and ends before `to`. A file that grows meanwhile is read no
/// further than `to`; one cut short, as far as it goes.
pub(super) fn lines(file: &File, from: u64, to: u64, taker: &mut impl Lines) -> io::Result<Rest> {
    blocks(file, (from, to), BLOCK, taker)
}

/// The same, with so many bytes read at once.
pub(super) fn blocks(
    file: &File,
    (from, to): (u64, u64),
    block: usize,
    taker: &mut impl Lines,
) -> io::Result<Rest> {
    let mut block = vec![0; block];
    let mut rest = Rest { offset: from, ..Rest::default() };
    let mut at = from;
    while at < to {
        let most = usize::try_from(to - at).map_or(block.len(), |left| left.min(block.len()));
        let read = match file.read_at(&mut block[..most], at) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        at += read as u64;
        let mut chunk = &block[..read];
        while !chunk.is_empty() {
            if rest.bytes.is_empty() {
                let passed = taker.pass_over(chunk, rest.offset);
                chunk = &chunk[passed..];
                rest.offset += passed as u64;
            }
            // `std` has a fast search for a byte, and this is its public door.
            let mut after = chunk;
            let passed = after.skip_until(b'\n')?;
            let Some(line) = chunk[..passed].strip_suffix(b"\n") else {
                rest.take(chunk);
                break;
            };
            if rest.bytes.is_empty() {
                taker.take(&Piece { bytes: line, offset: rest.offset, is_cut: false });
            } else {
                rest.take(line);
                taker.take(&rest.piece());
            }
            chunk = after;
            rest.bytes.clear();
            rest.is_cut = false;
            rest.offset = at - chunk.len() as u64;
        }
    }
    Ok(rest)
}
