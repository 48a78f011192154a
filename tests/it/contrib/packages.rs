//! Everything that is built in, asked of cargo itself and judged by `deny.toml`. (Building cargo-deny for the same
//! answer takes minutes.)

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::{place, text};

/// More packages than this in `Cargo.lock`, for all platforms and tests together, need a reason. Eight of them are the HTTP
/// client of `coord`, one is what the patterns of `[[match]]` are written in; for the
/// tests alone, seven are assert_cmd with its matchers, one is anyhow.
const MAX_PACKAGES: usize = 147;

/// What `deny.toml` allows or denies under this key: the quoted words between its brackets.
fn listed(key: &str) -> Vec<String> {
    let deny = text("deny.toml");
    let list = deny.split(&format!("\n{key} = [")).nth(1).unwrap().split(']').next().unwrap().to_owned();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
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
        assert!(is_allowed(licence, &allowed), "{name}: licence {licence:?} is not in deny.toml");
        assert!(!denied.iter().any(|d| d == name), "{name} is banned by deny.toml");
        let source = package["source"].as_str();
        sources.extend(source);
        let from_registry = source.is_none_or(|s| s.starts_with("registry+"));
        assert!(from_registry, "{name} comes from {source:?}");
    }
    assert!(sources.len() <= 1, "packages come from several places: {sources:?}");
    let twice: Vec<_> = versions.iter().filter(|(_, n)| **n > 1).collect();
    assert!(twice.is_empty(), "more than one version of {twice:?}");
    let locked = text("Cargo.lock").matches("\n[[package]]").count();
    assert!(locked <= MAX_PACKAGES, "{locked} packages in Cargo.lock, at most {MAX_PACKAGES}");
}

/// Debian shows a description in lines of 80 characters, and wraps none.
#[test]
fn the_package_describes_itself_in_lines_that_fit() {
    let manifest = text("Cargo.toml");
    let said =
        manifest.split("extended-description = \"\"\"\n").nth(1).unwrap().split("\"\"\"").next().unwrap();
    assert!(said.lines().count() > 1 && said.lines().all(|line| line.len() < 80), "{said}");
}
