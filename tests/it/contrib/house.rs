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

/// Every path that code names behind a prefix, alone or in a list, with the prefix.
fn behind(prefix: &str, code: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            tree(&code[at..], &[], &mut found);
        }
    }
    found
}

/// Every path that code names behind `crate::` or `super::`, from the top as it reads in `module`.
fn paths(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let from_top = behind("crate::", code).into_iter().map(|path| path[1..].to_vec());
    let from_here = behind("super::", code).into_iter().map(|path| {
        let up = path.iter().take_while(|word| *word == "super").count();
        module[..module.len().saturating_sub(up)].iter().chain(&path[up..]).cloned().collect()
    });
    from_top.chain(from_here).collect()
}

/// Reads one path with the lists it may end on, such as `a::{b, c::{self, d}}`; gives what follows it.
fn tree<'t>(text: &'t str, before: &[String], found: &mut BTreeSet<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    let Some(list) = text.strip_prefix('{') else {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let mut path = before.to_vec();
        path.extend((!word.is_empty() && word != "self").then(|| word.to_owned()));
        return match rest.strip_prefix("::") {
            Some(deeper) => tree(deeper, &path, found),
            None => {
                found.insert(path);
                rest
            }
        };
    };
    let mut rest = list;
    loop {
        rest = tree(rest, before, found).trim_start();
        // What a name is imported as.
        rest = rest.trim_start_matches(|c| c != ',' && c != '}' && c != ';');
        match rest.strip_prefix(',').map(str::trim_start) {
            Some(more) if !more.starts_with('}') => rest = more,
            Some(more) => return &more[1..],
            None => return rest.strip_prefix('}').unwrap_or(rest),
        }
    }
}

/// The rooms that code names.
fn named(code: &str) -> BTreeSet<String> {
    behind("crate::", code).into_iter().filter_map(|path| path.into_iter().nth(1)).collect()
}

/// The modules of some rooms, and which modules each one names: without its tests, and without its parents.
fn modules(rooms: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let top = place("shared/src");
    let mut files = Vec::new();
    rooms.iter().for_each(|room| sources(&top.join(room), &mut files));
    let module = |file: &Path| -> Vec<String> {
        let path = file.strip_prefix(&top).unwrap().with_extension("");
        let words = path.iter().map(|word| word.to_string_lossy().into_owned());
        words.filter(|word| word != "mod").collect()
    };
    let all: BTreeSet<String> = files.iter().map(|file| module(file).join("::")).collect();
    let mut imports = BTreeMap::new();
    for file in &files {
        let own = module(file);
        let code = code(&std::fs::read_to_string(file).unwrap());
        let mut named = BTreeSet::new();
        for path in paths(&code, &own) {
            let known = (1..=path.len()).rev().map(|n| path[..n].join("::")).find(|m| all.contains(m));
            named.extend(known.filter(|m| !own.join("::").starts_with(m.as_str())));
        }
        imports.insert(own.join("::"), named);
    }
    imports
}

/// A circle of imports, if there is one.
fn circle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn walk(
        at: &str,
        imports: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if let Some(from) = way.iter().position(|m| m == at) {
            way.drain(..from);
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        way.push(at.to_owned());
        if imports.get(at).into_iter().flatten().any(|next| walk(next, imports, way, done)) {
            return true;
        }
        way.pop();
        false
    }
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    imports.keys().any(|at| walk(at, imports, &mut way, &mut done)).then_some(way)
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
fn no_watcher_imports_another_one() {
    let imports = modules(&["watch"]);
    let watcher = |module: &str| module.split("::").nth(1).unwrap_or_default().to_owned();
    let mut arrows = Vec::new();
    for (module, named) in &imports {
        let own = watcher(module);
        let other = named.iter().filter(|n| ![own.as_str(), "watcher"].contains(&watcher(n).as_str()));
        arrows.extend(other.filter(|_| !own.is_empty()).map(|other| format!("{module} imports {other}")));
    }
    assert_eq!(arrows, [""; 0], "what two watchers share belongs into the room `policy`");
    let rooms: BTreeSet<String> = imports.keys().map(|m| watcher(m)).collect();
    let listed = shared::registry::NAMES.len();
    assert!(rooms.len() >= listed, "every watcher of the list is a folder of `watch`: {rooms:?}");
}

#[test]
fn no_circle_of_imports_is_in_the_policy_or_between_watchers() {
    assert_eq!(circle(&modules(&["policy"])), None);
    let by_watcher = |module: &str| module.split("::").take(2).collect::<Vec<_>>().join("::");
    let mut watchers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, named) in modules(&["watch"]) {
        let own = by_watcher(&module);
        let others = named.iter().map(|n| by_watcher(n)).filter(|n| *n != own).collect::<Vec<_>>();
        watchers.entry(own).or_default().extend(others);
    }
    assert_eq!(circle(&watchers), None);
}

#[test]
fn imports_are_read_as_they_are_written() {
    let code = code(
        "use crate::time::Time;\nuse crate::{board::{Task, hash}, names, time::{self}};\n// crate::cli\nfn f() { crate::money::of() }\n\
         #[cfg(test)]\nmod tests {\n use crate::watch;\n}",
    );
    let want = ["board", "money", "names", "time"].map(str::to_owned);
    assert_eq!(named(&code), want.into_iter().collect());
    let at = ["watch", "heal", "stuck"].map(str::to_owned);
    let read: Vec<String> =
        paths("use super::super::route::{self, cards as c}; use super::{seen::{A, B}, Rules};", &at)
            .iter()
            .map(|path| path.join("::"))
            .collect();
    assert_eq!(
        read,
        [
            "watch::heal::Rules",
            "watch::heal::seen::A",
            "watch::heal::seen::B",
            "watch::route",
            "watch::route::cards"
        ]
    );
    let arrows = |all: &[(&str, &str)]| {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in all {
            imports.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        circle(&imports)
    };
    assert_eq!(arrows(&[("a", "b"), ("b", "c"), ("a", "c")]), None);
    assert_eq!(arrows(&[("a", "b"), ("b", "c"), ("c", "b")]), Some(vec!["b".to_owned(), "c".to_owned()]));
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
