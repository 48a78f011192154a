//! Everything that is built in, asked of cargo itself and judged by `deny.toml`. (Building cargo-deny for the same
//! answer takes minutes.)

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::{place, text};

/// More packages of others than this in `Cargo.lock`, for all platforms and tests together, need a reason. Eight of them are the HTTP
/// client of `coord`, one is what the patterns of `[[match]]` are written in; nine are TLS for `watchbill notify`, with eleven more that
/// are only for other systems than Linux; for the tests alone, seven are assert_cmd with its matchers, one is anyhow. The lock file has one set
/// of features for all members: one (futures-sink, below futures-util for the web) is counted here because the engine for PostgreSQL asks for it.
const MAX_PACKAGES: usize = 164;

/// The same for the engine that speaks with a PostgreSQL server, and what its tests bring along. Seven of them are its TLS beside that of
/// `watchbill notify`, four of these only for other systems than Linux.
const MAX_PACKAGES_POSTGRES: usize = 207;

/// A file of rules for what may be built in.
struct Rules {
    file: &'static str,
    text: String,
}

impl Rules {
    fn of(file: &'static str) -> Rules {
        Rules { file, text: text(file) }
    }

    /// What it allows or denies under this key: the quoted words between its brackets.
    fn listed(&self, key: &str) -> Vec<String> {
        let list = self.text.split(&format!("\n{key} = [")).nth(1).unwrap().split(']').next().unwrap();
        list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// The licence that it allows for this package alone.
    fn excepted(&self, package: &str) -> Vec<String> {
        let row = self.text.lines().find(|l| l.contains(&format!("{{ crate = \"{package}\", allow = [")));
        row.map(|l| l.split('"').skip(3).step_by(2).map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Packages of which it takes a second version.
    fn skipped(&self) -> Vec<String> {
        let list = self.text.split("\nskip = [").nth(1).and_then(|l| l.split(']').next()).unwrap_or_default();
        let named = list.split("crate = \"").skip(1).filter_map(|rest| rest.split('@').next());
        named.map(str::to_owned).collect()
    }
}

/// Whether an SPDX expression can be met by the allowed licences alone.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // Parentheses only ever stand around the alternatives of one half of an AND.
    spaced.split(" AND ").all(|part| part.split(" OR ").any(|one| allowed.iter().any(|a| a == one.trim())))
}

#[test]
fn licences_are_read_as_spdx_means_them() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for (expression, want) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("Apache-2.0 OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), want, "{expression}");
    }
}

/// What cargo says of all packages of the workspace.
fn metadata(more: &[&str]) -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(place("Cargo.toml"))
        .args(more)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// The ids of these packages and of all they depend on.
fn below(all: &Value, roots: &[&str]) -> BTreeSet<String> {
    let nodes: BTreeMap<&str, &Value> =
        all["resolve"]["nodes"].as_array().unwrap().iter().map(|n| (n["id"].as_str().unwrap(), n)).collect();
    let (mut found, mut next) = (BTreeSet::new(), roots.to_vec());
    while let Some(id) = next.pop() {
        if found.insert(id.to_owned()) {
            next.extend(nodes[id]["dependencies"].as_array().unwrap().iter().filter_map(Value::as_str));
        }
    }
    found
}

/// Packages of others in `Cargo.lock` that these packages depend on, for all platforms together.
fn locked_below(roots: &[&str]) -> usize {
    let lock: toml::Value = toml::from_str(&text("Cargo.lock")).unwrap();
    let all: Vec<&toml::Value> = lock["package"].as_array().unwrap().iter().collect();
    let find = |word: &str| {
        let (name, version) = word.split_once(' ').map_or((word, None), |(n, v)| (n, Some(v)));
        let fits = |p: &&&toml::Value| {
            p["name"].as_str() == Some(name) && version.is_none_or(|v| p["version"].as_str() == Some(v))
        };
        *all.iter().find(fits).unwrap()
    };
    let (mut found, mut next) = (BTreeMap::new(), roots.iter().map(|r| find(r)).collect::<Vec<_>>());
    while let Some(p) = next.pop() {
        let known = found.insert((p["name"].as_str().unwrap(), p["version"].as_str().unwrap()), p);
        if known.is_none() {
            let on = p.get("dependencies").and_then(|d| d.as_array()).into_iter().flatten();
            next.extend(on.map(|word| find(word.as_str().unwrap())));
        }
    }
    found.values().filter(|p| p.get("source").is_some()).count()
}

/// Judges all that these members of the workspace depend on by a file of rules.
fn are_few_free_and_from_one_place(rules: &Rules, all: &Value, roots: &[&str], most: usize) {
    let wanted = below(all, roots);
    let packages: Vec<&Value> = all["packages"].as_array().unwrap().iter().collect();
    let packages: Vec<&Value> =
        packages.into_iter().filter(|p| wanted.contains(p["id"].as_str().unwrap())).collect();
    assert!(packages.len() > 20, "cargo told of {} packages only", packages.len());

    let file = rules.file;
    let (allowed, denied) = (rules.listed("allow"), rules.listed("deny"));
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sources: BTreeSet<&str> = BTreeSet::new();
    for package in &packages {
        let (name, licence) = (package["name"].as_str().unwrap(), package["license"].as_str().unwrap_or(""));
        *versions.entry(name).or_default() += 1;
        let here: Vec<String> = allowed.iter().cloned().chain(rules.excepted(name)).collect();
        assert!(is_allowed(licence, &here), "{name}: licence {licence:?} is not in {file}");
        assert!(!denied.iter().any(|d| d == name), "{name} is banned by {file}");
        let source = package["source"].as_str();
        sources.extend(source);
        let from_registry = source.is_none_or(|s| s.starts_with("registry+"));
        assert!(from_registry, "{name} comes from {source:?}");
    }
    assert!(sources.len() <= 1, "packages come from several places: {sources:?}");
    let skipped = rules.skipped();
    let may_be = |name: &str| if skipped.iter().any(|s| s == name) { 2 } else { 1 };
    let twice: Vec<_> = versions.iter().filter(|(name, n)| **n > may_be(name)).collect();
    assert!(twice.is_empty(), "more than one version of {twice:?}; {file} takes {skipped:?}");
    let names = |id: &&str| {
        let package = packages.iter().find(|p| p["id"].as_str() == Some(id)).unwrap();
        package["name"].as_str().unwrap().to_owned()
    };
    let roots: Vec<String> = roots.iter().map(names).collect();
    let locked = locked_below(&roots.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(locked <= most, "{locked} packages of others in Cargo.lock, at most {most}");
}

fn strings<'v>(all: &'v Value, key: &str) -> Vec<&'v str> {
    all[key].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

const ALL_OF_LINUX: [&str; 3] = ["--all-features", "--filter-platform", "x86_64-unknown-linux-gnu"];

#[test]
fn dependencies_are_few_free_and_from_one_place() {
    let all = metadata(&ALL_OF_LINUX);
    let roots = strings(&all, "workspace_default_members");
    are_few_free_and_from_one_place(&Rules::of("deny.toml"), &all, &roots, MAX_PACKAGES);
}

/// The engine for PostgreSQL has a runtime below it. It is judged by rules of its own, which differ from the others in what they name.
#[test]
fn dependencies_of_the_engine_for_postgresql_are_too() {
    let all = metadata(&ALL_OF_LINUX);
    let default = strings(&all, "workspace_default_members");
    let roots: Vec<&str> =
        strings(&all, "workspace_members").into_iter().filter(|m| !default.contains(m)).collect();
    assert_eq!(roots.len(), 1, "{roots:?}");
    let rules = Rules::of("deny-postgres.toml");
    are_few_free_and_from_one_place(&rules, &all, &roots, MAX_PACKAGES_POSTGRES);

    let other = Rules::of("deny.toml");
    let denied = |rules: &Rules| rules.listed("deny").into_iter().collect::<BTreeSet<_>>();
    let more: Vec<String> = denied(&other).difference(&denied(&rules)).cloned().collect();
    assert_eq!(more, ["tokio"], "the one package that deny-postgres.toml allows and deny.toml does not");
    assert_eq!(rules.listed("allow"), other.listed("allow"));
    // No program has it, whatever its features.
    let programs = below(&all, &default);
    let engine = |id: &String| id.contains("tokio") || id.contains("engines/postgres");
    assert!(!programs.iter().any(engine));
}

/// The packages that a lock file names, each with what it depends on.
fn dependencies_in(lock: &str) -> BTreeMap<String, BTreeSet<String>> {
    let lock: toml::Value = toml::from_str(&text(lock)).unwrap();
    let name = |word: &toml::Value| word.as_str().unwrap().split(' ').next().unwrap().to_owned();
    let entries = lock["package"].as_array().unwrap().iter();
    let entry = |p: &toml::Value| {
        let on = p.get("dependencies").and_then(|d| d.as_array()).into_iter().flatten().map(name).collect();
        (name(&p["name"]), on)
    };
    entries.map(entry).collect()
}

/// `tests/fuzz` is a workspace of its own with its own lock file, which cargo does not update when a package here gets a
/// new dependency. `cargo metadata --manifest-path tests/fuzz/Cargo.toml` brings it up to date.
#[test]
fn the_lock_file_of_the_fuzz_targets_knows_the_dependencies_of_today() {
    let all = metadata(&["--no-deps"]);
    let locked = dependencies_in("tests/fuzz/Cargo.lock");
    let mut compared = 0;
    for package in all["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(known) = locked.get(name) else { continue };
        let asked = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"] != "dev");
        let wanted: BTreeSet<String> = asked.map(|d| d["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(*known, wanted, "{name}: run cargo metadata --manifest-path tests/fuzz/Cargo.toml");
        compared += 1;
    }
    assert!(compared > 10, "only {compared} of our packages are in the lock file of the fuzz targets");
}

/// Debian shows a description in lines of 80 characters, and wraps none.
#[test]
fn the_package_describes_itself_in_lines_that_fit() {
    let manifest = text("Cargo.toml");
    let said =
        manifest.split("extended-description = \"\"\"\n").nth(1).unwrap().split("\"\"\"").next().unwrap();
    assert!(said.lines().count() > 1 && said.lines().all(|line| line.len() < 80), "{said}");
}
