//! Manual pages and completions, as the programs themselves print them.
//!
//! `WATCHBILL_BLESS=1 cargo test --test it -- contrib::made` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::pages::{all_flags, help, subcommands};
use super::{place, programs};
use crate::support::{program, ran};

const SHELLS: [(&str, &str, &str); 3] =
    [("complete-bash", "", ".bash"), ("complete-zsh", "_", ""), ("complete-fish", "", ".fish")];

fn generated(name: &str, what: &[&str]) -> String {
    ran(Command::new(program(name)).arg("--generate").args(what)).ok()
}

/// Every file there is to be, by its place below `contrib`.
fn all() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for name in programs() {
        files.insert(format!("man/{name}.1"), generated(&name, &["man"]));
        for sub in subcommands(&name) {
            files.insert(format!("man/{name}-{sub}.1"), generated(&name, &["man", &sub]));
        }
        for (kind, before, after) in SHELLS {
            files.insert(format!("completions/{before}{name}{after}"), generated(&name, &[kind]));
        }
    }
    files
}

#[test]
fn what_is_committed_is_what_the_programs_print() {
    let (all, folder) = (all(), place("contrib"));
    if std::env::var("WATCHBILL_BLESS").is_ok_and(|v| v == "1") {
        for kind in ["man", "completions"] {
            let _ = fs::remove_dir_all(folder.join(kind));
            fs::create_dir_all(folder.join(kind)).unwrap();
        }
        all.iter().for_each(|(at, text)| fs::write(folder.join(at), text).unwrap());
    }
    for (at, text) in &all {
        let there = fs::read_to_string(folder.join(at)).unwrap_or_default();
        assert!(there == *text, "contrib/{at} is another one; WATCHBILL_BLESS=1 writes it anew");
    }
    for kind in ["man", "completions"] {
        for file in fs::read_dir(folder.join(kind)).unwrap() {
            let at = format!("{kind}/{}", file.unwrap().file_name().into_string().unwrap());
            assert!(all.contains_key(&at), "nothing prints contrib/{at}");
        }
    }
}

#[test]
fn every_flag_is_in_a_manual_page() {
    for name in programs() {
        let pages: String = std::iter::once(generated(&name, &["man"]))
            .chain(subcommands(&name).iter().map(|sub| generated(&name, &["man", sub])))
            .collect::<String>()
            .replace("\\-", "-");
        let missing: Vec<_> =
            all_flags(&name).into_iter().filter(|flag| !pages.contains(&format!("\\fB{flag}\\fR"))).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
    assert!(!help("heal", &[]).contains("--generate"), "for packagers alone");
}

#[test]
fn what_cannot_be_made_is_refused() {
    for name in ["heal", "watchbill"] {
        let said = ran(Command::new(program(name)).args(["--generate", "html"])).fails(2);
        assert!(said.contains("complete-bash"), "{said}");
    }
}

#[test]
fn help_of_a_subcommand_shows_the_common_options_it_uses() {
    for (name, sub, shown, hidden) in [
        ("board", "list", &["--db", "--now", "--quiet"][..], &["--verbose"][..]),
        ("board", "init", &["--db", "--config"], &["--board", "--verbose", "--now"]),
        ("board", "protocol", &["--json"], &["--db", "--board", "--config", "--now"]),
        ("coord", "detect", &["--server", "--verbose"], &[]),
        ("coord", "events", &["--db"], &["--server", "--verbose"]),
    ] {
        let alone = help(name, &[sub]);
        for text in [&alone, &help("watchbill", &[name, sub]), &generated(name, &["man", sub])] {
            let text = text.replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ");
            let shows = |flag: &&str| text.split_whitespace().any(|word| word.trim_end_matches(',') == *flag);
            assert!(shown.iter().all(shows) && !hidden.iter().any(shows), "{name} {sub}: {text}");
        }
        for flag in hidden {
            // What is hidden is still read.
            let value: &[&str] = match *flag {
                "--verbose" => &[],
                "--server" => &["http://127.0.0.1:1"],
                _ => &["1"],
            };
            ran(Command::new(program(name)).arg(sub).arg(flag).args(value).arg("--help")).ok();
        }
    }
    let heal = help("heal", &[]);
    assert!(heal.find("--list-checks") < heal.find("Common options"), "its own flags come first: {heal}");
}
