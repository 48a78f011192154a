//! Sections of lines, made to fit into a number of bytes: what matters least is shortened first.
//!
//! Every line begins with a label of our own, and what stands behind it went through [`quote`]: so no text of a log, a
//! file name or another worker can begin a line, whatever is in it.

use base::quote;
use base::redact::marker_at;

/// Most characters of one quoted text before anything is fitted.
const MAX_TEXT: usize = 600;
/// Most characters of one item of a list.
const MAX_ITEM: usize = 160;
/// Most items of a list that are kept; the rest is counted.
const MAX_ITEMS: usize = 30;
/// A line of fewer bytes says too little: lines are dropped before they get so short.
pub(super) const LEAST_LINE: usize = 44;
/// Stands for what was cut off.
const CUT: &str = "…";
/// Between the two ends of a text whose middle was cut out.
const GAP: &str = " … ";
/// Rounds until cleaning a shortened text changes nothing more.
const MAX_ROUNDS: usize = 6;

/// One line: a label, and what is said behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    label: String,
    says: Says,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Says {
    /// The front is kept.
    Text(String),
    /// Front and end are kept: what a long output comes to stands at its end.
    Ends(String),
    /// As many as fit, and how many more there are.
    List(Vec<String>, usize),
}

impl Line {
    /// A text behind a label; `None` where nothing of it can be shown.
    pub(super) fn text(label: &str, text: &str) -> Option<Line> {
        let text = quote::inline(text, MAX_TEXT);
        (!text.is_empty()).then(|| Line { label: label.into(), says: Says::Text(text) })
    }

    /// A text whose end tells as much as its front.
    pub(super) fn ends(label: &str, text: &str) -> Option<Line> {
        // Shortened at its middle while it is still whole.
        let text = quote::inline(text, usize::MAX);
        let text = both_ends(&text, MAX_TEXT);
        (!text.is_empty()).then(|| Line { label: label.into(), says: Says::Ends(text) })
    }

    /// Names behind a label; `None` where there are none.
    pub(super) fn list(label: &str, items: &[String]) -> Option<Line> {
        let shown: Vec<String> = items
            .iter()
            .take(MAX_ITEMS)
            .map(|i| quote::inline(i, MAX_ITEM))
            .filter(|i| !i.is_empty())
            .collect();
        let more = items.len().saturating_sub(MAX_ITEMS);
        (!shown.is_empty()).then(|| Line { label: label.into(), says: Says::List(shown, more) })
    }

    /// All of it.
    pub(super) fn full(&self) -> String {
        self.cut(usize::MAX)
    }

    /// At most `most` bytes of it; the label is kept.
    pub(super) fn cut(&self, most: usize) -> String {
        let room = most.saturating_sub(self.label.len());
        let said = match &self.says {
            Says::Text(text) => front(text, room),
            Says::Ends(text) => both_ends(text, room),
            Says::List(items, more) => listed(items, *more, room),
        };
        format!("{}{said}", self.label)
    }
}

/// One part of the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// What it begins with: our own words, never cut.
    pub(super) head: String,
    /// What stands below it, the most important first.
    pub(super) lines: Vec<Line>,
    /// Bytes it keeps whatever the others need.
    pub(super) share: usize,
    /// Bytes of a line below which there are better fewer of them.
    pub(super) least: usize,
    /// Which is shortened first: the highest.
    pub(super) rank: u8,
}

impl Section {
    fn full(&self) -> String {
        let lines: String = self.lines.iter().map(|l| format!("\n{}", l.full())).collect();
        format!("{}{lines}", self.head)
    }

    /// At most `most` bytes: all lines a little shorter, or where that says too little, fewer of them.
    fn cut(&self, most: usize) -> String {
        let full = self.full();
        if full.len() <= most {
            return full;
        }
        let lens: Vec<usize> = self.lines.iter().map(|l| l.full().len()).collect();
        for kept in (1..=self.lines.len()).rev() {
            let rest = self.lines.len() - kept;
            let more = if rest == 0 { String::new() } else { format!("\n- and {rest} more") };
            let Some(room) = most.checked_sub(self.head.len() + kept + more.len()) else { continue };
            let each = even(&lens[..kept], room);
            if each >= self.least || lens[..kept].iter().all(|len| *len <= each) {
                let lines: String = self.lines[..kept].iter().map(|l| format!("\n{}", l.cut(each))).collect();
                return format!("{}{lines}{more}", self.head);
            }
        }
        self.head.clone()
    }
}

/// The sections as one text of at most `most` bytes, a blank line between them.
pub(super) fn fitted(sections: &[Section], most: usize) -> String {
    let mut texts: Vec<String> = sections.iter().map(Section::full).collect();
    let blanks = 2 * sections.len().saturating_sub(1);
    let mut over = (texts.iter().map(String::len).sum::<usize>() + blanks).saturating_sub(most);
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(sections[*i].rank));
    for i in order {
        if over == 0 {
            break;
        }
        let was = texts[i].len();
        let keeps = was.saturating_sub(over).max(sections[i].share.min(was));
        texts[i] = sections[i].cut(keeps);
        over = over.saturating_sub(was - texts[i].len());
    }
    texts.join("\n\n")
}

/// The longest that each of several lines may be so that together they take at most `room`: short ones leave what they
/// do not need to the long ones.
fn even(lens: &[usize], room: usize) -> usize {
    let mut sorted = lens.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (i, len) in sorted.iter().enumerate() {
        let fair = left / (sorted.len() - i);
        if *len > fair {
            return fair;
        }
        left -= len;
    }
    usize::MAX
}

/// The front of a cleaned text, at most `most` bytes, `…` included where it was cut.
fn front(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(CUT.len()) else { return String::new() };
    cleaned(|room| format!("{}{CUT}", text[..before(text, room)].trim_end()), room, most)
}

/// Front and end of a cleaned text, at most `most` bytes, with a gap where its middle was.
fn both_ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(GAP.len()) else { return front(text, most) };
    let cut = |room: usize| {
        let end = before(text, room / 3);
        let start = after(text, text.len() - (room - room / 3).min(text.len() - end));
        format!("{}{GAP}{}", text[..end].trim_end(), text[start..].trim_start())
    };
    cleaned(cut, room, most)
}

/// What `cut` leaves for a number of bytes, cleaned again: what was no secret may look like one when a part of it is gone,
/// and the words that stand for a secret are longer than some.
fn cleaned(cut: impl Fn(usize) -> String, room: usize, most: usize) -> String {
    let mut room = room;
    for _ in 0..MAX_ROUNDS {
        let text = cut(room);
        let clean = quote::inline(&text, text.chars().count());
        if clean.len() <= most {
            return clean;
        }
        room = room.saturating_sub(clean.len() - most);
    }
    CUT.to_owned()
}

/// As many items as fit into `most` bytes, and how many more there are.
fn listed(items: &[String], more: usize, most: usize) -> String {
    let all = items.len() + more;
    for kept in (1..=items.len()).rev() {
        let rest = all - kept;
        let tail = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        let text = format!("{}{tail}", items[..kept].join(", "));
        // Side by side they may look like a secret that none of them is.
        let clean = if text.len() <= most { quote::inline(&text, usize::MAX) } else { continue };
        if clean.len() <= most {
            return clean;
        }
    }
    front(items.first().map_or("", String::as_str), most)
}

/// The last place up to byte `at` where the text may be cut: between two characters, and not within one of our markers.
fn before(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    marker_around(text, at).map_or(at, |(start, _)| start)
}

/// The first place from byte `at` on where the text may be cut.
fn after(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    marker_around(text, at).map_or(at, |(_, end)| end)
}

/// The marker of a secret that a cut at this byte would split.
fn marker_around(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = text[..at].rfind('[')?;
    let end = start + marker_at(text, start)?.len();
    (end > at).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_leave_their_room_to_long_ones() {
        for (lens, room, want) in [
            (&[10, 10][..], 20, usize::MAX),
            (&[10, 100], 60, 50),
            (&[100, 100], 60, 30),
            (&[5, 100, 100], 105, 50),
            (&[], 7, usize::MAX),
        ] {
            assert_eq!(even(lens, room), want, "{lens:?} {room}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters_and_around_markers() {
        let marked = "abc [redacted: password] xyz and so on";
        for (text, most, one, both) in [
            ("0123456789", 10, "0123456789", "0123456789"),
            ("0123456789x", 10, "0123456…", "0 … 789x"),
            ("äöüäöüäöü", 10, "äöü…", "ä … üö"),
            ("0123456789", 2, "", ""),
            (marked, 20, "abc…", "abc … z and so on"),
            (marked, 30, "abc [redacted: password] xy…", "abc …  xyz and so on"),
        ] {
            let got = (front(text, most), both_ends(text, most));
            assert!(got.0.len() <= most && got.1.len() <= most, "{text} {most}: {got:?}");
            assert_eq!(got.0, one, "{text} {most}");
            if text.is_ascii() && !text.contains('[') {
                assert_eq!(got.1, both, "{text} {most}");
            }
            assert!(!got.1.contains("[redacted: p") || got.1.contains("[redacted: password]"), "{got:?}");
        }
    }

    #[test]
    fn a_list_says_how_many_more() {
        let items: Vec<String> = (0..40).map(|n| format!("src/file{n}.rs")).collect();
        let line = Line::list("- Files: ", &items).unwrap();
        assert!(line.full().ends_with("src/file29.rs and 10 more"), "{}", line.full());
        assert_eq!(line.cut(60), "- Files: src/file0.rs, src/file1.rs and 38 more");
        assert_eq!(line.cut(20), "- Files: src/file…");
        assert_eq!(Line::list("- Files: ", &[" ".into()]), None);
    }

    #[test]
    fn a_section_keeps_its_first_lines() {
        let line = |n: usize| Line::text(&format!("- {n}: "), &"word ".repeat(20)).unwrap();
        let section = Section {
            head: "Head:".into(),
            lines: (0..8).map(line).collect(),
            share: 200,
            least: LEAST_LINE,
            rank: 0,
        };
        let cut = section.cut(200);
        assert!(
            cut.len() <= 200 && cut.starts_with("Head:\n- 0: word") && cut.ends_with("\n- and 4 more"),
            "{cut}"
        );
        assert_eq!(section.cut(10_000), section.full());
        assert_eq!(section.cut(10), "Head:");
    }

    #[test]
    fn the_least_important_gives_first() {
        let section = |rank: u8| Section {
            head: format!("{rank}:"),
            lines: vec![Line::text("- ", &"x ".repeat(100)).unwrap()],
            share: 60,
            least: LEAST_LINE,
            rank,
        };
        let all = [section(0), section(2), section(1)];
        let full: usize = all.iter().map(|s| s.full().len()).sum::<usize>() + 4;
        let at = |most: usize| {
            let text = fitted(&all, most);
            assert!(text.len() <= most, "{most}: {}", text.len());
            text.split("\n\n").map(str::len).collect::<Vec<_>>()
        };
        let whole = section(0).full().len();
        assert_eq!(at(full), [whole; 3]);
        let (less, least) = (at(full - 50), at(200));
        assert!((less[0], less[2]) == (whole, whole) && less[1] < whole, "{less:?}");
        assert!(least[0] > 60 && least[1] <= 60 && least[2] <= 60, "{least:?}");
    }
}
