//! How the demo is shown: scene by scene at a terminal, all at once elsewhere.

use std::io::{IsTerminal, Read, Write, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::super::{has_colours, print};
use super::INTERRUPTED;
use base::error::Result;

/// A scene stays a second for so many of its lines before the next one begins, where nobody presses a key.
const LINES_A_SECOND: usize = 5;
const HINT: &str = "  Enter: the next scene";

/// Prints the scenes. Gives the exit code.
pub(super) fn show(text: &str, is_fast: bool, stopped: &AtomicBool) -> Result<u8> {
    let (is_painted, has_pauses) =
        (has_colours(), stdout().is_terminal() && stdin().is_terminal() && !is_fast);
    let mut last: Option<&str> = None;
    for scene in scenes(text) {
        if let Some(last) = last.replace(scene).filter(|_| has_pauses) {
            pause(1 + last.lines().count() / LINES_A_SECOND);
        }
        if stopped.load(Ordering::Relaxed) {
            return Ok(INTERRUPTED);
        }
        print(&if is_painted { painted(scene) } else { scene.to_owned() })?;
    }
    Ok(0)
}

/// The text cut where scenes begin: each with a sentence at the left edge that ends with a colon.
fn scenes(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut at = 0;
    for paragraph in text.split_inclusive("\n\n") {
        if at > 0 && is_head(paragraph) {
            starts.push(at);
        }
        at += paragraph.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

fn is_head(paragraph: &str) -> bool {
    !paragraph.starts_with(char::is_whitespace) && paragraph.trim_end().ends_with(':')
}

/// The sentence before a scene in bold, commands in green.
fn painted(scene: &str) -> String {
    let mut head = true;
    let paint = |line: &str| {
        head &= !line.trim().is_empty();
        let code = if head { "1" } else { "32" };
        match (head || line.trim_start().starts_with("$ "), line.strip_suffix('\n')) {
            (true, Some(words)) => format!("\u{1b}[{code}m{words}\u{1b}[0m\n"),
            _ => line.to_owned(),
        }
    };
    scene.split_inclusive('\n').map(paint).collect()
}

/// Until the operator presses Enter, or for so many seconds; a signal ends it.
fn pause(seconds: usize) {
    let mut out = stdout();
    // Where nothing can be written there is nothing to wait for.
    if out.write_all(HINT.as_bytes()).and_then(|()| out.flush()).is_err() {
        return;
    }
    let (mut keys, patience) = (stdin(), Timespec { tv_sec: seconds.try_into().unwrap_or(1), tv_nsec: 0 });
    if poll(&mut [PollFd::new(&keys, PollFlags::IN)], Some(&patience)).is_ok_and(|n| n > 0) {
        // The terminal shows the key itself: the line above has the hint then.
        let _ = keys.read(&mut [0; 64]);
        let _ = out.write_all(b"\x1b[A");
    }
    let _ = out.write_all(b"\r\x1b[K");
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "A board:\n\n  one\n\nIt is\nrepaired:\n\n  $ two\nend\n";

    #[test]
    fn a_scene_begins_with_a_sentence_that_ends_with_a_colon() {
        assert_eq!(scenes(TEXT), ["A board:\n\n  one\n\n", "It is\nrepaired:\n\n  $ two\nend\n"]);
        assert_eq!(scenes(""), [""]);
    }

    #[test]
    fn the_sentence_and_the_commands_are_painted() {
        let shown: String = scenes(TEXT).into_iter().map(painted).collect();
        let want = "\u{1b}[1mA board:\u{1b}[0m\n\n  one\n\n\u{1b}[1mIt is\u{1b}[0m\n\u{1b}[1mrepaired:\u{1b}[0m\n\n\u{1b}[32m  $ two\u{1b}[0m\nend\n";
        assert_eq!(shown, want);
    }
}
