//! The texts that a person meets, and the comments of the code, use the terms of the glossary in CONTRIBUTING.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::house::{code, sources};
use super::pages::unfenced;
use super::{place, text};

/// What a text must not say: the words, what to write instead, and the longer phrases in which they are right.
const HABITS: [(&str, &str, &[&str]); 30] = [
    ("whoever", "who it is: the operator, the next worker", &[]),
    ("somebody", "who it is: the operator, another worker, another user", &[]),
    ("anybody", "who it is, or nobody", &[]),
    ("is none", "what it is: \"not a task id\", \"unknown\"", &["there is none"]),
    ("are none", "what it is: \"not task ids\", \"unknown\"", &["there are none"]),
    ("is no", "is not a", &["there is no", "is no longer", "is no more than"]),
    ("of ours", "of Watchbill", &[]),
    ("may it be", "even if", &[]),
    ("what is not to be", "what must not be", &[]),
    ("hand", "claim, command, attempt", &["by hand"]),
    ("hands", "claim, commands", &[]),
    ("desk", "what it is", &[]),
    ("wall", "guard", &["wall clock"]),
    ("breath", "what it is", &[]),
    ("s word", "comment, event, decision", &["s word for"]),
    ("left alone", "skipped", &[]),
    ("leave alone", "skip", &[]),
    ("leaves alone", "skips", &[]),
    ("put back", "requeued, undone", &[]),
    ("puts back", "requeues", &[]),
    ("set free", "requeued, released", &[]),
    ("sets free", "requeues, releases", &[]),
    ("give back", "requeue", &[]),
    ("given back", "requeued", &[]),
    ("take back", "undo", &[]),
    ("taken back", "undone", &[]),
    ("takes back", "undoes", &[]),
    ("let go", "release", &[]),
    ("parked", "held", &[]),
    ("veiled", "unreadable", &[]),
];

/// Places that are right all the same: the file, words in front of or behind the place, and the reason.
const ALLOWED: [(&str, &str, &str); 5] = [
    ("docs/evidence/incidents.md", "E14-hand", "the id of an incident"),
    ("docs/evidence/incidents.md", "synthesize-distress parked", "the word of the event"),
    ("docs/README.md", "hands off", "the heading of heal.md that it links to"),
    ("docs/heal.md", "hands off", "a heading that other pages link to"),
    ("docs/synthesize-distress.md", "hands off", "a heading that other pages link to"),
];

/// Lower-case words of a text, without punctuation.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Where a phrase begins in a text.
fn starts(text: &[String], phrase: &str) -> BTreeSet<usize> {
    let phrase = words(phrase);
    let at = |i: &usize| text[*i..].starts_with(&phrase);
    (0..text.len()).filter(at).collect()
}

/// Each habit of a text, with the words around it.
fn habits(text: &str, allowed: &[&str]) -> Vec<String> {
    let text = words(text);
    // The words that are part of something allowed.
    let covered = |phrases: &[&str]| -> BTreeSet<usize> {
        let each = phrases.iter().flat_map(|p| {
            starts(&text, p).into_iter().flat_map(move |at| at..at + words(p).len()).collect::<Vec<_>>()
        });
        each.collect()
    };
    let allowed = covered(allowed);
    let mut found = Vec::new();
    for (habit, instead, unless) in HABITS {
        let unless = covered(unless);
        for at in starts(&text, habit) {
            if !allowed.contains(&at) && !unless.contains(&at) {
                let around = text[at.saturating_sub(4)..text.len().min(at + 7)].join(" ");
                found.push(format!("{habit:?} in \"{around}\"; say {instead}"));
            }
        }
    }
    found
}

/// The prose of a page: what programs print, code and the targets of links are not of the page.
fn prose(page: &str) -> String {
    let unfenced = unfenced(page);
    let kept: Vec<&str> = unfenced.lines().filter(|line| !line.starts_with("    ")).collect();
    let kept = kept.join("\n");
    let kept: String = kept.split('`').step_by(2).collect::<Vec<_>>().join(" . ");
    let links = kept.split("](").enumerate();
    links
        .map(|(nth, rest)| if nth == 0 { rest } else { rest.split_once(')').unwrap_or(("", "")).1 })
        .collect()
}

/// The text of a manual page without its marks.
fn manual(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with(".TH") && !line.starts_with(".ie"));
    let text = lines.collect::<Vec<_>>().join("\n");
    ["\\fB", "\\fI", "\\fR"].iter().fold(text, |text, mark| text.replace(mark, "")).replace("\\-", "-")
}

/// The string literals of Rust code, in its order.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, from) = rest.split_at(at);
        if let Some(character) = from.strip_prefix('\'') {
            // A character, or the name of a lifetime.
            let escaped = character.strip_prefix('\\').and_then(|c| c.char_indices().nth(1));
            let plain = character.char_indices().nth(1).filter(|(_, c)| *c == '\'');
            let end = escaped.map(|(end, _)| end + 1).or(plain.map(|(end, _)| end));
            rest = &character[end.map_or(0, |end| end + 1).min(character.len())..];
            continue;
        }
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before.trim_end_matches('#').ends_with('r');
        let inside = &from[1..];
        let end = if is_raw {
            inside.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(inside.len())
        } else {
            let mut is_escaped = false;
            let ends = |c: char| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            };
            inside.find(ends).unwrap_or(inside.len())
        };
        found.push(without_values(&inside[..end].replace("\\n", "\n").replace("\\\n", " ")));
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    found
}

/// A literal with `_` for each value that is put into it.
fn without_values(literal: &str) -> String {
    let mut parts = literal.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let name = part.split_once('}').filter(|(name, _)| !name.contains(' '));
        text + "_" + name.map_or(part, |(_, rest)| rest)
    })
}

/// The comments of Rust code, without the code in them.
fn comments(code: &str) -> String {
    let comment = |line: &str| Some(line.get(comment_at(line)?..)?.trim_start_matches(['/', '!']).to_owned());
    let said = code.lines().filter_map(comment);
    said.map(|said| said.split('`').step_by(2).collect::<Vec<_>>().join(" . ")).collect::<Vec<_>>().join("\n")
}

/// Where the comment of a line begins.
fn comment_at(line: &str) -> Option<usize> {
    if line.trim_start().starts_with("//") {
        return line.find("//");
    }
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            '/' if !is_text && line[at..].starts_with("//") => return Some(at),
            '"' if !is_escaped => is_text = !is_text,
            _ => {}
        }
        is_escaped = is_text && c == '\\' && !is_escaped;
    }
    None
}

/// Every file of Rust code below a folder, tests as well.
fn rust(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.file_name().is_some_and(|name| name != "target") => rust(&path, found),
            false if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            _ => {}
        }
    }
}

/// Every text there is, by its file.
fn texts() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut read = |folder: &str, ending: &str, of: fn(&str) -> String| {
        for entry in std::fs::read_dir(place(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(ending) {
                let file = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                all.insert(file.clone(), of(&text(&file)));
            }
        }
    };
    read("", ".md", prose);
    read("docs", ".md", prose);
    read("docs/dev", ".md", prose);
    read("docs/how-to", ".md", prose);
    read("docs/evidence", ".md", prose);
    read("contrib/man", ".1", manual);
    let mut files = Vec::new();
    for folder in ["shared", "bins", "engines"] {
        sources(&place(folder), &mut files);
    }
    for file in files {
        let code = code(&std::fs::read_to_string(&file).unwrap());
        // One word is a name.
        let said = literals(&code).into_iter().filter(|said| said.trim().contains(' '));
        all.insert(relative(&file), said.collect::<Vec<_>>().join(" . "));
    }
    let mut files = Vec::new();
    for folder in ["shared", "bins", "engines", "testkit", "benches", "tests"] {
        rust(&place(folder), &mut files);
    }
    for file in files {
        let said = comments(&std::fs::read_to_string(&file).unwrap());
        all.entry(relative(&file)).or_default().push_str(&format!(" . {said}"));
    }
    all
}

fn relative(file: &Path) -> String {
    file.strip_prefix(place("")).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn texts_use_the_terms_of_the_glossary() {
    let texts = texts();
    let mut wrong = Vec::new();
    for (file, text) in &texts {
        let allowed = ALLOWED.iter().filter(|(f, ..)| f == file).map(|(_, words, _)| *words);
        let found = habits(text, &allowed.collect::<Vec<_>>());
        wrong.extend(found.into_iter().map(|place| format!("{file}: {place}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(texts.len() > 150, "only {} texts were read", texts.len());
}

#[test]
fn every_allowed_place_is_there_and_has_a_reason() {
    let texts = texts();
    for (file, place, reason) in ALLOWED {
        let text = texts.get(file).unwrap_or_else(|| panic!("{file} is not read"));
        assert!(!starts(&words(text), place).is_empty(), "{file} does not say {place:?}");
        assert!(habits(place, &[]).len() == 1 && !reason.is_empty(), "{file}: {place:?}: {reason:?}");
    }
}

#[test]
fn habits_are_found_and_allowed() {
    for (text, found) in [
        ("Whoever comes", 1),
        ("is\nnone", 1),
        ("there is none", 0),
        ("ghost is no profile, and there is no card", 1),
        ("set up by hand", 0),
        ("the hand of a worker; a person's word", 2),
        ("words of its title", 0),
    ] {
        assert_eq!(habits(text, &[]).len(), found, "{text}: {:?}", habits(text, &[]));
    }
    let text = "a plan of somebody else; somebody came";
    assert_eq!(habits(text, &[]).len(), 2);
    assert_eq!(habits(text, &["plan of somebody"]).len(), 1, "only the place that is allowed");
}

#[test]
fn pages_are_read_without_code_and_code_without_values() {
    let page = "whoever `somebody` [anybody](is-none.md)\n```\nparked\n```\n    desk\nend";
    assert_eq!(words(&prose(page)), ["whoever", "anybody", "end"]);
    assert_eq!(words(&manual(".TH a\nset \\fBfree\\fR \\-\\-run")), ["set", "free", "run"]);
    let code = r##"fn f<'a>(c: char) { say("a \"b\" {c}", 'x', '"', '\'', r#"raw " one"#, "two \
        lines"); }"##;
    assert_eq!(literals(code), ["a \\\"b\\\" _", "raw \" one", "two          lines"]);
    let code = "let at = \"https://desk\"; // By `whoever` and\n/// the \"next\".\nsay(\"\\\"\", 1) //! end";
    assert_eq!(words(&comments(code)), ["by", "and", "the", "next", "end"]);
}
