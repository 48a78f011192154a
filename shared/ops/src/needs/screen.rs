//! What `watchbill status` shows: one line on a good night, one screen on a bad one. Pure.

use std::fmt::Write as _;

use super::{Need, Now, remedy};
use crate::report::printable;
use base::count::{things, things_or};
use base::time::words;
use base::wrap::wrapped_to;
use card::shell_word;

/// Most things that need a person, in full; the others are counted. With two lines each, the head and the foot, twelve lines.
const MAX_NEEDS: usize = 5;

/// How it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Columns of the terminal; `None` where the lines go elsewhere and are not cut.
    pub width: Option<usize>,
    /// Colours are seen.
    pub colour: bool,
}

impl Look {
    /// A line, not longer than the terminal is wide.
    fn line(self, out: &mut String, text: &str) {
        let text = printable(text);
        let is_long = |width: &usize| text.chars().count() > *width;
        let shown = match self.width.filter(is_long) {
            Some(width) => text.chars().take(width.saturating_sub(1)).collect::<String>() + "…",
            None => text,
        };
        whole(out, &shown);
    }

    /// A line that goes on in a second one where the terminal is narrower: its end has the figures.
    fn lines(self, out: &mut String, text: &str) {
        let text = printable(text);
        let fits = |width: usize| text.char_indices().nth(width).map(|(at, _)| at);
        match self.width.and_then(fits).and_then(|at| text[..at].rfind(' ')) {
            Some(at) if at > 2 => {
                whole(out, &text[..at]);
                self.line(out, &format!("  {}", &text[at + 1..]));
            }
            _ => self.line(out, &text),
        }
    }

    /// What stands below a need: a sentence as many lines as the terminal needs, a command whole.
    fn remedy(self, out: &mut String, text: &str) {
        let text = printable(text);
        match self.width.filter(|_| !text.starts_with("    $ ")) {
            Some(width) => out.push_str(&wrapped_to(width, "", &text)),
            None => whole(out, &text),
        }
    }

    /// The first lines of a list, and how many there are more.
    fn some(self, out: &mut String, mut all: impl Iterator<Item = String>, now: &Now) {
        all.by_ref().take(MAX_NEEDS).for_each(|line| self.lines(out, &line));
        match all.count() {
            0 => {}
            more => self.line(out, &format!("  and {more} more of these: {}", report(now))),
        }
    }

    fn painted(self, code: &str, line: &str) -> String {
        match (self.colour, line.strip_suffix('\n')) {
            (true, Some(text)) => format!("\u{1b}[{code}m{text}\u{1b}[0m\n"),
            _ => line.to_owned(),
        }
    }
}

/// A line that is never cut: half a command is of no use.
fn whole(out: &mut String, text: &str) {
    // Writing to a text never fails.
    let _ = writeln!(out, "{text}");
}

/// What shows all of it.
fn report(now: &Now) -> String {
    match now.is_remote {
        true => format!("watchbill report --host {}", shell_word(&now.host)),
        false => "watchbill report".to_owned(),
    }
}

/// The lines of several machines, below one line about all of them.
pub fn of_hosts(all: &[Now], look: Look) -> String {
    let mut head = String::new();
    let hosts = things(all.len(), "host");
    let refs: Vec<&Now> = all.iter().collect();
    look.line(&mut head, &format!("{hosts}: {}", together(&refs)));
    let each = all.iter().map(|now| lines(now, look));
    std::iter::once(look.painted(colour(&refs), &head)).chain(each).collect()
}

/// The one of these words that a line about these machines is to look like: all is well, something is unknown, a person is needed.
pub(crate) fn look_of(all: &[&Now], [good, warn, bad]: [&'static str; 3]) -> &'static str {
    let is_good = |now: &&Now| now.needs.is_empty() && findings(now).next().is_none();
    match (all.iter().all(is_good), all.iter().any(|now| unknown(now).next().is_some())) {
        (false, _) => bad,
        (true, true) => warn,
        (true, false) => good,
    }
}

/// The colour of a line about these.
fn colour(all: &[&Now]) -> &'static str {
    look_of(all, ["32", "1;33", "1;31"])
}

/// The lines.
pub fn lines(now: &Now, look: Look) -> String {
    let mut head = String::new();
    look.line(&mut head, &format!("{} {}: {}", now.host, now.now.local_minute(), said(now)));
    let mut out = look.painted(colour(&[now]), &head);
    for need in now.needs.iter().take(MAX_NEEDS) {
        shown(&mut out, look, need, now);
    }
    let more = now.needs.len().saturating_sub(MAX_NEEDS);
    if more > 0 {
        look.line(&mut out, &format!("and {more} more: {}", report(now)));
    }
    look.some(&mut out, findings(now).map(|found| format!("! {found}")), now);
    look.some(&mut out, unknown(now).map(|unseen| format!("? {unseen}")), now);
    for (board, paused) in now.boards.iter().filter_map(|b| Some((&b.board, b.paused.as_ref()?))) {
        look.line(&mut out, &format!("  {board}: {paused}"));
    }
    out
}

/// What was found of the boards themselves.
pub(crate) fn findings(now: &Now) -> impl Iterator<Item = String> {
    now.boards.iter().flat_map(|b| b.findings.iter().map(move |f| format!("{}: {f}", b.board)))
}

/// What could not be looked at.
pub fn unknown(now: &Now) -> impl Iterator<Item = String> {
    let of_boards =
        now.boards.iter().flat_map(|b| b.unknown.iter().map(move |u| format!("{}: {u}", b.board)));
    now.unknown.iter().cloned().chain(of_boards)
}

/// How these stand, in one phrase. "Nothing needs you" is said only where everything could be looked at.
pub(crate) fn together(all: &[&Now]) -> String {
    let unseen: Vec<&str> = all.iter().filter(|now| now.is_unseen()).map(|now| now.host.as_str()).collect();
    let needs = all.iter().map(|now| now.needs.len()).sum::<usize>() - unseen.len();
    let mut said = match needs {
        0 if all.iter().any(|now| findings(now).next().is_some()) => "look at the board itself".to_owned(),
        0 if all.iter().any(|now| unknown(now).next().is_some()) => {
            "not everything could be looked at".to_owned()
        }
        0 if !unseen.is_empty() => "not everything could be looked at".to_owned(),
        0 => "nothing needs you".to_owned(),
        n => things_or(n, "thing needs you", "things need you"),
    };
    if !unseen.is_empty() {
        let _ = write!(said, "; not seen: {}", unseen.join(", "));
    }
    said
}

/// How one stands, with what is counted beside.
pub(crate) fn said(now: &Now) -> String {
    if now.is_unseen() {
        return "not seen".to_owned();
    }
    let sum = |count: fn(&super::BoardNow) -> usize| {
        now.boards.iter().map(count).fold(0_usize, usize::saturating_add)
    };
    let counted = |counts: &[(usize, &str)]| {
        let some = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
        some.collect::<Vec<_>>().join(", ")
    };
    let open = counted(&[
        (sum(|b| b.counts.running), "running"),
        (sum(|b| b.counts.ready), "ready"),
        (sum(|b| b.waiting), "waiting"),
    ]);
    let ended = counted(&[(sum(|b| b.counts.done), "done"), (sum(|b| b.healed), "healed")]);
    let mut said = together(&[now]);
    if !open.is_empty() {
        let _ = write!(said, "; {open}");
    }
    if !ended.is_empty() {
        let _ = write!(said, "; {ended} in {}", words(now.now.since(now.since)));
    }
    said
}

/// What is so, and below it the command.
fn shown(out: &mut String, look: Look, need: &Need, now: &Now) {
    let board = need.board.as_ref().filter(|_| now.boards.len() > 1 && !need.tasks.is_empty());
    let board = board.map_or_else(String::new, |b| format!("{b}: "));
    // What is said of one task says itself since when.
    let since = need.since.filter(|_| need.cause != "task");
    let since = since.map(|at| now.now.since(at)).filter(|seconds| *seconds >= 60);
    let since = since.map_or_else(String::new, |seconds| format!(", for {}", words(seconds)));
    look.lines(out, &format!("! {board}{}{since}", need.says));
    remedy(need).for_each(|line| look.remedy(out, &line));
}
