//! The names of the packages that changed files may be part of, from the manifests above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;

use super::Changed;
use crate::find::beneath;
use crate::shadow::Late;
use base::reason::Reason;

/// Most folders whose manifests are read, the topmost first.
const MAX_FOLDERS: usize = 500;
/// Most names looked at in one folder.
const MAX_TOP: usize = 1_000;
/// Most folders that are searched for manifests nothing changed beside.
const MAX_LOOKS: usize = 1_000;
/// Longest name that is kept, in bytes. npm allows 214, and Go names are addresses.
const MAX_NAME: usize = 300;

/// A manifest's file name, and how its package's name is read.
type Manifest = (&'static str, fn(&str) -> Option<String>);

const MANIFESTS: [Manifest; 4] =
    [("Cargo.toml", cargo), ("package.json", npm), ("pyproject.toml", python), ("go.mod", go)];

/// The names by folder, for all folders that the files lie in or below. A manifest that is missing, broken, longer than
/// 64 KiB or a link names nothing.
pub(super) fn find(
    root: &Path,
    files: &[Changed],
    until: Instant,
) -> Result<BTreeMap<String, Vec<String>>, Reason> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let near = near(root, until);
    let mut all: Vec<&str> = folders(files).into_iter().map(|(_, f)| f).take(MAX_FOLDERS).collect();
    let more: Vec<&str> = near.iter().map(String::as_str).filter(|f| !all.contains(f)).collect();
    all.extend(more);
    for folder in all {
        if Instant::now() > until {
            return Err(Late.into());
        }
        for (file, name) in MANIFESTS {
            let path = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
            let Some(bytes) = beneath(root, &path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let Some(name) = name(text.trim_start_matches('\u{feff}')).map(|n| n.trim().to_owned()) else {
                continue;
            };
            let names = out.entry(folder.to_owned()).or_default();
            if !name.is_empty() && name.len() <= MAX_NAME && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    out.retain(|_, names| !names.is_empty());
    Ok(out)
}

/// Names at the top of a tree.
pub(super) fn top(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.take(MAX_TOP).filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Folders with a manifest down to three levels below the top, whether anything changed there or not: a scope may name a package
/// that nobody touched.
fn near(root: &Path, until: Instant) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = vec![String::new()];
    let mut seen = 0;
    for _ in 0..=3 {
        let mut next = Vec::new();
        for folder in level {
            seen += 1;
            if seen > MAX_LOOKS || found.len() >= MAX_FOLDERS || Instant::now() > until {
                return found;
            }
            let entries = std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten();
            for entry in entries.take(MAX_TOP) {
                let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                    continue;
                };
                if MANIFESTS.iter().any(|(file, _)| *file == name) && !found.contains(&folder) {
                    found.push(folder.clone());
                }
                let is_build =
                    name.starts_with('.') || matches!(name.as_str(), "node_modules" | "target" | "vendor");
                if kind.is_dir() && !is_build {
                    next.push(if folder.is_empty() { name } else { format!("{folder}/{name}") });
                }
            }
        }
        level = next;
    }
    found
}

/// All folders above the files with their depth, the top folder first.
fn folders(files: &[Changed]) -> BTreeSet<(usize, &str)> {
    let mut all = BTreeSet::new();
    for file in files {
        all.insert((0, ""));
        let ends = file.path.match_indices('/').enumerate();
        all.extend(ends.filter_map(|(n, (end, _))| Some((n + 1, file.path.get(..end)?))));
    }
    all
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

fn cargo(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Cargo {
        package: Named,
    }
    toml::from_str::<Cargo>(text).ok()?.package.name
}

fn npm(text: &str) -> Option<String> {
    serde_json::from_str::<Named>(text).ok()?.name
}

fn python(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Python {
        project: Option<Named>,
        tool: Option<Tool>,
    }
    #[derive(Deserialize)]
    struct Tool {
        poetry: Option<Named>,
    }
    let all = toml::from_str::<Python>(text).ok()?;
    let poetry = all.tool.and_then(|t| t.poetry).and_then(|p| p.name);
    all.project.and_then(|p| p.name).or(poetry)
}

fn go(text: &str) -> Option<String> {
    let line = text.lines().find_map(|l| l.trim().strip_prefix("module "))?;
    let name = line.split("//").next()?.trim();
    Some(name.trim_matches(['"', '`']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_out_of_manifests() {
        for (name, text, want) in [
            (cargo as fn(&str) -> Option<String>, "[package]\nname = \"a-b\"\n", Some("a-b")),
            (cargo, "[workspace]\nmembers = []\n", None),
            (cargo, "[package]\nname = 3\n", None),
            (cargo, "[package\n", None),
            (npm, r#"{"name": "@acme/ui", "version": "1"}"#, Some("@acme/ui")),
            (npm, r#"{"private": true}"#, None),
            (npm, "[]", None),
            (python, "[project]\nname = \"p\"\n[tool.poetry]\nname = \"q\"\n", Some("p")),
            (python, "[tool.poetry]\nname = \"q\"\n", Some("q")),
            (python, "[tool.black]\nline-length = 100\n", None),
            (go, "// x\n\nmodule github.com/x/y // moved\n\ngo 1.22\n", Some("github.com/x/y")),
            (go, "module \"x\"\n", Some("x")),
            (go, "modules x\n", None),
        ] {
            assert_eq!(name(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn folders_from_the_top_each_once() {
        let file = |p: &str| Changed { path: p.into(), how: super::super::How::Added };
        let files = [file("a/b/c"), file("a/d"), file("é/e")];
        let got: Vec<_> = folders(&files).into_iter().collect();
        assert_eq!(got, [(0, ""), (1, "a"), (1, "é"), (2, "a/b")]);
        assert!(folders(&[]).is_empty());
    }
}
