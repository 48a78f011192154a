//! What ARCHITECTURE.md and CONTRIBUTING.md say of the sources: which room imports which, and why each dependency is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{place, text};

/// The crates below `shared`, from the list of ARCHITECTURE.md: the lowest first.
fn crates() -> Vec<String> {
    let page = text("ARCHITECTURE.md");
    let list = page
        .split("<!-- crates: begin -->")
        .nth(1)
        .and_then(|rest| rest.split("<!-- crates: end -->").next());
    let rows = list.expect("the list of crates").lines();
    rows.filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect()
}

pub(super) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
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
pub(super) fn code(source: &str) -> String {
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

/// The modules of a crate below `shared`, and which modules each one names: without its tests, and without its parents.
fn modules(of: &str) -> BTreeMap<String, BTreeSet<String>> {
    let top = place("shared").join(of).join("src");
    let mut files = Vec::new();
    sources(&top, &mut files);
    files.retain(|file| *file != top.join("lib.rs"));
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

/// The names in a section of a manifest.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let lines =
        manifest.split(section).nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default().lines();
    let names =
        lines.filter_map(|line| Some(line.split_once(" = ")?.0.trim_end_matches(".workspace").to_owned()));
    names.filter(|name| !name.starts_with('#')).collect()
}

#[test]
fn a_crate_depends_only_on_crates_above_it_in_the_list() {
    let crates = crates();
    let mut folders = BTreeSet::new();
    for entry in std::fs::read_dir(place("shared")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        folders.extend(path.join("Cargo.toml").exists().then_some(name));
    }
    assert_eq!(crates.iter().cloned().collect::<BTreeSet<_>>(), folders, "ARCHITECTURE.md lists every crate");
    let mut arrows = Vec::new();
    for (nth, name) in crates.iter().enumerate() {
        let manifest = text(&format!("shared/{name}/Cargo.toml"));
        let all =
            ["[dependencies]", "[dev-dependencies]"].map(|section| dependencies(&manifest, section)).concat();
        let up = all.iter().filter(|other| crates[nth..].contains(other));
        // With a feature for tests a crate may ask for another one twice, never for itself.
        arrows.extend(up.map(|other| format!("{name} depends on {other}")));
    }
    assert_eq!(arrows, [""; 0], "see \"What may import what\" in ARCHITECTURE.md");
}

/// The first part of a module's path.
fn room(module: &str) -> String {
    module.split("::").next().unwrap_or_default().to_owned()
}

/// Which rooms of a crate name which others.
fn rooms(of: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, named) in modules(of) {
        let own = room(&module);
        let others: Vec<String> = named.iter().map(|n| room(n)).filter(|n| *n != own).collect();
        rooms.entry(own).or_default().extend(others);
    }
    rooms
}

#[test]
fn no_watcher_imports_another_one() {
    let rooms = rooms("watch");
    let mut arrows = Vec::new();
    for (own, named) in &rooms {
        arrows.extend(named.iter().filter(|n| *n != "watcher").map(|other| format!("{own} imports {other}")));
    }
    assert_eq!(arrows, [""; 0], "what two watchers share belongs into the crate `policy`");
    let listed = shared::base::registry::NAMES.len();
    assert!(rooms.len() > listed, "every watcher of the list is a folder of `watch`: {rooms:?}");
}

#[test]
fn no_circle_of_imports_is_in_a_crate() {
    let circles: Vec<Vec<String>> = crates().iter().filter_map(|of| circle(&rooms(of))).collect();
    assert_eq!(circles, [[""; 0]; 0], "modules of these crates import each other");
    assert_eq!(circle(&modules("policy")), None);
}

#[test]
fn imports_are_read_as_they_are_written() {
    let code = code(
        "use crate::time::Time;\nuse crate::{board::{Task, hash}, names, time::{self}};\n// crate::cli\nfn f() { crate::money::of() }\n\
         #[cfg(test)]\nmod tests {\n use crate::watch;\n}",
    );
    let all: Vec<String> = paths(&code, &[]).iter().map(|path| path.join("::")).collect();
    assert_eq!(all, ["board::Task", "board::hash", "money::of", "names", "time", "time::Time"]);
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
    let mut wanted = BTreeSet::new();
    for name in crates() {
        wanted.extend(dependencies(&text(&format!("shared/{name}/Cargo.toml")), "[dependencies]"));
    }
    wanted.extend(dependencies(&text("engines/postgres/Cargo.toml"), "[dependencies]"));
    crates().iter().for_each(|own| _ = wanted.remove(own));
    wanted.remove("shared");
    wanted.insert("package".into());
    assert_eq!(listed, wanted, "the table under \"Dependencies\" in CONTRIBUTING.md");
}
