//! Text from logs, transcripts, git and task bodies, made fit to be quoted on a card.
//!
//! Such text is untrusted: it may hold keys, terminal escapes, a heading, a fence, or words that want to be obeyed. What
//! comes out here is one plain line, or a block of lines that no reader of Markdown, and no reader that goes line by line
//! without knowing fences, can take for anything but a quotation.

use std::borrow::Cow;

use crate::clip::clip_words;
use crate::redact::{marker_at, redact, visible};

/// Most characters of a line in a fenced block.
const MAX_FENCED: usize = 200;
/// Most bytes of a text that are looked at; a quotation is a few hundred characters.
const MAX_BYTES: usize = 64 << 10;
/// Most bytes of one line of a block that are looked at.
const MAX_LINE_BYTES: usize = 16 << 10;
/// Rounds until cleaning changes nothing more.
const MAX_ROUNDS: usize = 6;
/// Stands for what was cut off.
const CUT: char = '…';

/// The text as one line of at most `most` characters, `…` included where it was cut: without secrets, terminal escapes,
/// control characters and invisible characters, blanks folded to one space, and without addresses of GitHub pull
/// requests, since one in a comment keeps Hermes from spawning the task for 24 h (Hermes 0.19).
pub fn line(text: &str, most: usize) -> String {
    let mut now = settle(clip_words(text, MAX_BYTES));
    for _ in 0..MAX_ROUNDS {
        let short = cut(&now, most);
        if short == now {
            return now;
        }
        // A word that was none of a secret's may look like one when its end is gone.
        now = settle(&short);
        if now == short {
            return now;
        }
    }
    cut(&CUT.to_string(), most)
}

/// The text as the value of a `- Label: value` line, at most `most` characters: [`line()`] that opens no code block
/// either. It has no line end, so it cannot begin a field of its own.
pub fn inline(text: &str, most: usize) -> String {
    let mut line = line(text, most);
    while line.contains("```") {
        line = line.replace("```", "'''");
    }
    line
}

/// The lines as a fenced block that ends with a line end: each as [`line()`] makes it, at most 200 characters, behind `> `,
/// so that none begins a heading, a fence or a `watchbill:` marker even for a reader that knows no fences. Secrets that
/// are spread over several of the lines are found.
pub fn fenced(lines: &[String]) -> String {
    let one = |l: &String| visible(clip_words(l, MAX_LINE_BYTES)).replace('\n', " ");
    let all = lines.iter().map(one).collect::<Vec<_>>().join("\n");
    let quoted: Vec<String> = match lines {
        [] => Vec::new(),
        _ => redact(&all).split('\n').map(|l| format!("> {}", line(l, MAX_FENCED))).collect(),
    };
    let ticks = quoted.iter().map(|l| longest_run(l, '`')).max().unwrap_or(0);
    let fence = "`".repeat(3.max(ticks + 1));
    let inside: String = quoted.iter().map(|l| format!("{}\n", l.trim_end())).collect();
    format!("{fence}text\n{inside}{fence}\n")
}

/// Cleans until nothing changes: what one step takes out can bring together what another must take out.
fn settle(text: &str) -> String {
    let mut now = text.to_owned();
    for _ in 0..MAX_ROUNDS {
        let clean = redact(&now);
        let folded = fold(&clean);
        // What nothing was taken out of need not be looked through again.
        let next = match folded == now {
            true => without_pull_urls(&now),
            false => without_pull_urls(&redact(&folded)),
        };
        if next == now {
            return now;
        }
        now = next;
    }
    String::new()
}

/// All on one line, one space between words.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `most` characters. One of our markers is taken whole or not at all.
fn cut(text: &str, most: usize) -> String {
    let Some(last) = most.checked_sub(1) else {
        return String::new();
    };
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let end = text.char_indices().nth(last).map_or(text.len(), |(n, _)| n);
    let split = text[..end].rfind('[').filter(|n| marker_at(text, *n).is_some_and(|m| n + m.len() > end));
    let kept: Cow<'_, str> = text[..split.unwrap_or(end)].trim_end().into();
    format!("{kept}{CUT}")
}

/// The most characters `of` that stand beside each other in a text.
pub fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(|run| run.chars().count()).max().unwrap_or(0)
}

/// Rewrites `https://github.com/owner/repo/pull/12` as `owner/repo#12`.
pub fn without_pull_urls(text: &str) -> String {
    let mut now = rewritten(text);
    // Taking one out may put the halves of another together. Each round makes it shorter.
    loop {
        let next = rewritten(&now);
        if next == now {
            return now;
        }
        now = next;
    }
}

fn rewritten(text: &str) -> String {
    const PLACE: &str = "://github.com/";
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut from) = (0, 0);
    while let Some(at) = lower[from..].find(PLACE).map(|n| from + n) {
        let path = at + PLACE.len();
        from = path;
        let Some(scheme) = ["https", "http"].into_iter().find(|s| lower[copied..at].ends_with(s)) else {
            continue;
        };
        let mut parts = text[path..].splitn(4, '/');
        let (owner, repo, word, number) = (parts.next(), parts.next(), parts.next(), parts.next());
        let digits = number.map_or(0, |n| n.bytes().take_while(u8::is_ascii_digit).count());
        let (Some(o), Some(r), Some(w), Some(n)) = (owner, repo, word, number) else { continue };
        if !w.eq_ignore_ascii_case("pull") || digits == 0 {
            continue;
        }
        out.push_str(&text[copied..at - scheme.len()]);
        out.push_str(&format!("{o}/{r}#{}", &n[..digits]));
        copied = text.len() - n.len() + digits;
        from = copied;
    }
    out + &text[copied..]
}

/// A text as one word of a shell line.
pub fn shell_word(s: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+".contains(&b);
    if !s.is_empty() && s.bytes().all(plain) {
        s.to_owned()
    } else {
        format!("'{}'", s.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
