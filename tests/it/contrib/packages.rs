//! Everything that is built in, asked of cargo itself and judged by `deny.toml`. (Building cargo-deny for the same
//! answer takes minutes.)

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::{place, text};

/// More packages of others than this in `Cargo.lock`, for all platforms and tests together, need a reason. Eight of them are the HTTP
/// client of `coord`, one is what the patterns of `[[match]]` are written in; nine are TLS for `watchbill notify`, with eleven more that
/// are only for other systems than Linux; for the tests alone, seven are assert_cmd with its matchers, one is anyhow.
const MAX_PACKAGES: usize = 163;

/// What `deny.toml` allows or denies under this key: the quoted words between its brackets.
fn listed(key: &str) -> Vec<String> {
    let deny = text("deny.toml");
    let list = deny.split(&format!("\n{key} = [")).nth(1).unwrap().split(']').next().unwrap().to_owned();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The licence that `deny.toml` allows for this package alone.
fn excepted(package: &str) -> Vec<String> {
    let deny = text("deny.toml");
    let row = deny.lines().find(|l| l.contains(&format!("{{ crate = \"{package}\", allow = [")));
    row.map(|l| l.split('"').skip(3).step_by(2).map(str::to_owned).collect()).unwrap_or_default()
}

/// Packages of which `deny.toml` takes a second version.
fn skipped() -> Vec<String> {
    let deny = text("deny.toml");
    let row = deny.lines().find(|l| l.starts_with("skip = ")).unwrap_or_default();
    let named = row.split("crate = \"").skip(1).filter_map(|rest| rest.split('@').next());
    named.map(str::to_owned).collect()
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

#[test]
fn dependencies_are_few_free_and_from_one_place() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--all-features"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
        .arg(place("Cargo.toml"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = all["packages"].as_array().unwrap();
    assert!(packages.len() > 20, "cargo told of {} packages only", packages.len());

    let (allowed, denied) = (listed("allow"), listed("deny"));
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sources: BTreeSet<&str> = BTreeSet::new();
    for package in packages {
        let (name, licence) = (package["name"].as_str().unwrap(), package["license"].as_str().unwrap_or(""));
        *versions.entry(name).or_default() += 1;
        let here: Vec<String> = allowed.iter().cloned().chain(excepted(name)).collect();
        assert!(is_allowed(licence, &here), "{name}: licence {licence:?} is not in deny.toml");
        assert!(!denied.iter().any(|d| d == name), "{name} is banned by deny.toml");
        let source = package["source"].as_str();
        sources.extend(source);
        let from_registry = source.is_none_or(|s| s.starts_with("registry+"));
        assert!(from_registry, "{name} comes from {source:?}");
    }
    assert!(sources.len() <= 1, "packages come from several places: {sources:?}");
    let skipped = skipped();
    let most = |name: &str| if skipped.iter().any(|s| s == name) { 2 } else { 1 };
    let twice: Vec<_> = versions.iter().filter(|(name, n)| **n > most(name)).collect();
    assert!(twice.is_empty(), "more than one version of {twice:?}");
    let locked = text("Cargo.lock").matches("\nsource = ").count();
    assert!(locked <= MAX_PACKAGES, "{locked} packages of others in Cargo.lock, at most {MAX_PACKAGES}");
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

/// `tests/fuzz` is a workspace of its own with its own lock file, which cargo leaves alone when a package here gets a new
/// dependency. `cargo metadata --manifest-path tests/fuzz/Cargo.toml` brings it up to date.
#[test]
fn the_lock_file_of_the_fuzz_targets_knows_the_dependencies_of_today() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"])
        .arg(place("Cargo.toml"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
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
