//! What the page holds, and what nothing can get into it.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::overview::sample::{every_text, night, quiet};
use crate::overview::{AttemptView, TaskView};

/// Attributes of ours, and what their values must look like.
fn is_ours(name: &str, value: &str) -> bool {
    let all = |ok: fn(char) -> bool| value.chars().all(ok);
    match name {
        "href" => value.starts_with('#'),
        "style" => value.starts_with("left:") && value.ends_with('%'),
        "fill" => value.starts_with("url(#p-") && value.ends_with(')'),
        "datetime" => all(|c| c.is_ascii_digit() || "-:TZ+".contains(c)),
        "x" | "x1" | "x2" | "y" | "y1" | "y2" | "width" | "height" | "rx" | "cx" | "cy" | "r" => {
            all(|c| c.is_ascii_digit() || "-.%".contains(c))
        }
        "id" | "class" | "aria-label" | "aria-hidden" | "role" | "scope" | "tabindex" | "lang"
        | "transform" | "d" | "patternUnits" => all(|c| c.is_ascii_alphanumeric() || " -,.()".contains(c)),
        "charset" | "http-equiv" | "content" | "name" => !value.contains("://"),
        _ => false,
    }
}

/// Reads the page tag by tag, as strictly as only we write it, and gives the text between the tags.
fn read(page: &str) -> Result<String, String> {
    let mut rest = page.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    let (mut open, mut text) = (Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let (tag, behind) = (&rest[at + 1..end], &rest[end + 1..]);
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("{last:?} is ended by {name}"));
            }
            continue;
        }
        let (tag, is_whole) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("the tag {name:?}"));
        }
        let mut left = attributes;
        while !left.is_empty() {
            let (key, more) = left.split_once("=\"").ok_or_else(|| format!("{attributes:?} in {name}"))?;
            let (value, more) = more.split_once('"').ok_or_else(|| format!("{attributes:?} in {name}"))?;
            if !is_ours(key.trim(), value) {
                return Err(format!("the attribute {key}={value:?} in {name}"));
            }
            left = more;
        }
        match name {
            "meta" | "br" => {}
            "script" | "img" | "iframe" | "object" | "embed" | "link" | "base" | "form" => {
                return Err(format!("a tag {name}"));
            }
            "style" => rest = rest.split_once("</style>").ok_or("a style without an end")?.1,
            _ if is_whole => {}
            _ => open.push(name.to_owned()),
        }
    }
    text.push_str(rest);
    if text.contains('>') {
        return Err("a bare > in the text".into());
    }
    if open.is_empty() { Ok(text) } else { Err(format!("never ended: {open:?}")) }
}

fn seen(o: &[Overview]) -> String {
    let page = page(o);
    let text = read(&page).unwrap_or_else(|e| panic!("{e}"));
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[test]
fn the_night_is_told_whole() {
    let text = seen(&[night()]);
    for part in [
        "parser-rewrite · 2026-11-21 05:30 UTC · Watchbill",
        "95m in this attempt, 60m allowed (default)",
        "Give the error types names that say whose fault it was <T: Display + 'static>",
        "\"title\": \"Port the lexer\"",
        "board add 'Port the lexer' --assignee luna --in-scope 'src/lexer/**' --max-files 4",
        "attempt 219 of luna: runs, 03:55 to now (1h 35m)",
        "5 more lines of evidence",
        "3 refusals, said to last until 06:00",
        "the list price of the model moon-3-preview is not known",
        "≥ $1.99 of $1.50 over",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert_eq!(page(&[night()]), page(&[night()]), "the same twice");
}

#[test]
fn what_is_not_known_is_shown_as_such() {
    let mut night = night();
    night.tasks.retain(|t| t.task == "t_5c2e91b7");
    let text = seen(&[night]);
    for part in ["? of 60", "? of $5.00", "what it used is not known", "no log of attempt 214 was found"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn an_empty_board_and_no_board_say_so() {
    let text = seen(&[quiet()]);
    for part in [
        "Nobody is needed",
        "No verdicts",
        "Nothing waits for a person's word.",
        "No task is open",
        "No task was worked on",
        "No attempt was made",
        "No task was reset",
        "No provider refused work",
        "Nothing but what is said of each task above.",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(seen(&[]).contains("No board was looked at"));
    let two = seen(&[night(), quiet()]);
    assert!(
        two.contains("parser-rewrite and 1 more") && two.contains("parser-rewrite: 2 need a person"),
        "{two}"
    );
}

#[test]
fn a_huge_board_makes_a_page_of_a_bounded_size() {
    let mut huge = night();
    let mut task = huge.tasks[0].clone();
    task.title = "x".repeat(10_000);
    task.verdicts[0].evidence = vec!["y".repeat(500); 100];
    let attempt = |run| AttemptView { run, outcome: None, to: None, profile: None, from: huge.since };
    task.attempts = (0..200).map(attempt).collect();
    huge.tasks = (0..300).map(|n| TaskView { task: format!("t_{n:08}"), ..task.clone() }).collect();
    let page = page(&[huge.clone()]);
    assert!(page.contains("t_00000199") && !page.contains("t_00000200"));
    assert!(page.contains("and 100 more") && page.contains("and 50 more"));
    assert!(!page.contains("attempt 169 ") && page.contains("attempt 170 "), "the newest 30 attempts");
    assert!(page.len() < 16 << 20, "{}", page.len());
}

#[test]
fn no_time_is_too_odd_to_be_drawn() {
    let odd = [i64::MIN, -1, 0, 1, 1_795_239_000, i64::MAX];
    for (now, since, at) in odd.iter().flat_map(|n| odd.iter().flat_map(move |s| odd.map(|a| (*n, *s, a)))) {
        let mut o = night();
        (o.now, o.since) = (crate::time::Time(now), crate::time::Time(since));
        o.tasks[0].attempts[0].from = crate::time::Time(at);
        o.tasks[0].attempts[1].to = Some(crate::time::Time(at));
        o.interventions[0].at = crate::time::Time(at);
        o.providers[0].refusals[0].until = crate::time::Time(at);
        o.people[0].since = Some(crate::time::Time(at));
        seen(&[o]);
    }
}

/// Pieces of what breaks pages that trust.
const NASTY: [&str; 20] = [
    "<script>alert(1)</script>",
    "</title>",
    "</style>",
    "</pre>",
    "</bdi>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!--",
    "-->",
    "]]>",
    "&lt;script&gt;",
    "&#60;script",
    "\u{202e}",
    "\u{2066}",
    "\u{0}",
    "\u{1b}]8;;https://evil.example\u{7}",
    "https://evil.example/a?b=c",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "\n\r\t",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![select(NASTY.to_vec()).prop_map(str::to_owned), any::<String>()];
    proptest::collection::vec(piece, 0..4).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nothing_hostile_gets_out_of_its_place(texts in proptest::collection::vec(hostile(), 1..7)) {
        let mut night = night();
        let mut next = texts.iter().cycle();
        every_text(&mut night, &mut || next.next().cloned().unwrap_or_default());
        let page = page(&[night]);
        let text = read(&page).map_err(TestCaseError::fail)?;
        prop_assert!(!page.to_lowercase().contains("<script"));
        let steers = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        prop_assert!(!text.contains(steers));
    }
}
