//! A file in lines, with bounded memory whatever the length of a line.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use super::signal::MAX_LINE;

/// How much is read at once, in bytes.
const BLOCK: u64 = 64 * 1024;

/// A line's bytes without the newline.
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// Where it starts in the file.
    pub(super) offset: u64,
    /// It was longer than [`MAX_LINE`].
    pub(super) is_cut: bool,
}

impl<'a> Piece<'a> {
    /// Its parts where `\r` ends a line as well: a progress bar writes one over the other. Only the last one can be cut.
    pub(super) fn overwritten(&self) -> impl Iterator<Item = Piece<'a>> {
        let (bytes, mut offset, is_cut) = (self.bytes, self.offset, self.is_cut);
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
pub(super) fn lines(file: &File, from: u64, to: u64, each: &mut dyn FnMut(&Piece<'_>)) -> io::Result<Rest> {
    let mut block = vec![0; usize::try_from(BLOCK).map_err(io::Error::other)?];
    let mut rest = Rest { offset: from, ..Rest::default() };
    let mut at = from;
    while at < to {
        let most = usize::try_from(BLOCK.min(to - at)).map_err(io::Error::other)?;
        let read = match file.read_at(&mut block[..most], at) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        at += read as u64;
        let mut chunk = &block[..read];
        while !chunk.is_empty() {
            // `std` has a fast search for a byte, and this is its public door.
            let mut after = chunk;
            let passed = after.skip_until(b'\n')?;
            let Some(line) = chunk[..passed].strip_suffix(b"\n") else {
                rest.take(chunk);
                break;
            };
            if rest.bytes.is_empty() {
                each(&Piece { bytes: line, offset: rest.offset, is_cut: false });
            } else {
                rest.take(line);
                each(&rest.piece());
            }
            chunk = after;
            rest.bytes.clear();
            rest.is_cut = false;
            rest.offset = at - chunk.len() as u64;
        }
    }
    Ok(rest)
}
