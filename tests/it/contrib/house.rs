//! What ARCHITECTURE.md and CONTRIBUTING.md say of the sources: which room imports which, and why each dependency is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{place, text};

/// The line of each room, from the list of ARCHITECTURE.md.
fn lines() -> BTreeMap<String, usize> {
    let page = text("ARCHITECTURE.md");
    let list =
        page.split("<!-- rooms: begin -->").nth(1).and_then(|rest| rest.split("<!-- rooms: end -->").next());
    let rooms = list.expect("the list of rooms").lines().enumerate().flat_map(|(nth, line)| {
        line.split('`').skip(1).step_by(2).map(move |room| (room.to_owned(), nth)).collect::<Vec<_>>()
    });
    let all: Vec<(String, usize)> = rooms.collect();
    let lines: BTreeMap<String, usize> = all.iter().cloned().collect();
    assert_eq!(lines.len(), all.len(), "a room is listed twice");
    lines
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

/// The code of a file without comments and without its tests, which stand at its end.
fn code(source: &str) -> String {
    let own = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    own.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The rooms that code names behind `crate::`, alone or in a list.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()
    };
    let mut rooms = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            rooms.insert(word(rest));
            continue;
        };
        let (mut depth, mut begins) = (1, true);
        for (at, c) in list.char_indices() {
            if begins && depth == 1 {
                rooms.insert(word(&list[at..]));
            }
            begins = c == ',' || (begins && c.is_whitespace());
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    rooms
}

#[test]
fn a_room_imports_only_rooms_below_it() {
    let lines = lines();
    let top = place("shared/src");
    let modules = text("shared/src/lib.rs");
    let modules =
        modules.lines().filter_map(|l| l.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    let modules: BTreeSet<String> = modules.map(str::to_owned).collect();
    assert_eq!(
        lines.keys().cloned().collect::<BTreeSet<_>>(),
        modules,
        "ARCHITECTURE.md lists every room of lib.rs"
    );
    let mut files = Vec::new();
    sources(&top, &mut files);
    let mut arrows = Vec::new();
    for file in files {
        let path = file.strip_prefix(&top).unwrap().display().to_string();
        let room = path.split(['/', '.']).next().unwrap().to_owned();
        let Some(line) = lines.get(&room) else { continue };
        let code = code(&std::fs::read_to_string(&file).unwrap());
        let up = |other: &String| *other != room && lines.get(other).is_some_and(|below| below >= line);
        arrows.extend(named(&code).into_iter().filter(up).map(|other| format!("{path} imports {other}")));
    }
    assert_eq!(arrows, [""; 0], "see \"What may import what\" in ARCHITECTURE.md");
}

#[test]
fn imports_are_read_as_they_are_written() {
    let code = code(
        "use crate::time::Time;\nuse crate::{board::{Task, hash}, names, time::{self}};\n// crate::cli\nfn f() { crate::money::of() }\n\
         #[cfg(test)]\nmod tests {\n use crate::watch;\n}",
    );
    let want = ["board", "money", "names", "time"].map(str::to_owned);
    assert_eq!(named(&code), want.into_iter().collect());
}

#[test]
fn each_dependency_has_its_reason() {
    let page = text("CONTRIBUTING.md");
    let reasons = page.split("## Dependencies").nth(1).unwrap();
    let listed: BTreeSet<String> =
        reasons.lines().filter_map(|l| Some(l.strip_prefix("| ")?.split(' ').next()?.to_owned())).collect();
    let manifest = text("shared/Cargo.toml");
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let mut wanted: BTreeSet<String> = section
        .lines()
        .filter_map(|l| Some(l.split_once(" = ")?.0.to_owned()).filter(|n| !n.starts_with('#')))
        .collect();
    wanted.insert("package".into());
    assert_eq!(listed, wanted, "the table under \"Dependencies\" in CONTRIBUTING.md");
}
