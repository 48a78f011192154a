//! What ships beside the programs: units, crontab, sample configuration, pages, and what is built in.

pub mod console; // commands of the README and the how-tos
mod house; // which room imports which
mod made; // manual pages and completions
mod night; // the tutorial prints what stands there
#[cfg(feature = "real")]
mod packages; // few, free and from one place
pub mod pages; // README, docs and changelog say what is so
#[cfg(feature = "real")]
pub mod release; // what a release consists of
mod reports; // what the reports of a few boards print
mod units; // systemd and cron start what is there
mod vocabulary; // flags, keys, codes and kinds of the first version are still there
mod words; // texts use the terms of the glossary

use std::path::{Path, PathBuf};

use crate::support::TestBoard;

/// A path of this project.
fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The text of a file of this project.
#[track_caller]
fn text(path: &str) -> String {
    std::fs::read_to_string(place(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The names of the programs, from the manifest.
fn programs() -> Vec<String> {
    let manifest = text("Cargo.toml");
    let bins = manifest.split("[[bin]]").skip(1);
    bins.map(|b| b.split('"').nth(1).unwrap().to_owned()).collect()
}

/// Those of them that are started by a timer: every watcher of the registry.
fn watchers() -> Vec<String> {
    let watchers: Vec<String> = shared::base::registry::NAMES.iter().map(ToString::to_string).collect();
    let missing: Vec<_> = watchers.iter().filter(|name| !programs().contains(name)).collect();
    assert!(missing.is_empty(), "no [[bin]] in the manifest: {missing:?}");
    watchers
}

#[test]
fn the_sample_configuration_is_accepted_and_complete() {
    let board = TestBoard::new();
    let sample = text("contrib/watchbill.toml");
    // As it ships, every line is a comment. With the marks taken off it must say the same: the defaults.
    let is_key =
        |l: &str| l.starts_with('#') && !l.starts_with("# ") && l.len() > 1 && !l.contains("/path/to/it");
    let bare: Vec<&str> = sample.lines().map(|l| if is_key(l) { &l[1..] } else { l }).collect();
    for (name, text) in [("shipped.toml", sample.clone()), ("bare.toml", bare.join("\n"))] {
        let file = board.path().join(name);
        std::fs::write(&file, text).unwrap();
        board.heal(&["--config", file.to_str().unwrap()]).ok();
    }
    for key in shared::config::keys() {
        assert!(sample.contains(&format!("\n#{} = ", key.key)), "{}", key.name());
    }
    let wrong = board.path().join("wrong.toml");
    std::fs::write(&wrong, bare.join("\n").replace("grace = \"3m\"", "grace = \"3\"")).unwrap();
    board.heal(&["--config", wrong.to_str().unwrap()]).fails(78);
}
