//! What people are advised to run on a board without Hermes: `board` must have each such command.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::programs::BoardArgs;

/// Commands of `hermes kanban` alone, each with the one file that advises it, for boards of Hermes only.
static OF_HERMES: [(&str, &str); 8] = [
    ("specify", "policy/src/remedy.rs"),
    ("reclaim", "policy/src/cards/text.rs"),
    ("reclaim", "ops/src/explain/still.rs"),
    ("schedule", "ops/src/explain/still.rs"),
    ("reclaim", "ops/src/explain/suggestions.rs"),
    ("dispatch", "ops/src/explain/suggestions.rs"),
    ("archive", "watch/src/route/notices.rs"),
    // Of what `board lend` blocked, which has a board of Hermes alone.
    ("archive", "ops/src/explain/suggestions.rs"),
];

/// The sources whose texts tell a person what to run.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.file_stem() == Some("tests".as_ref()) {
            continue;
        }
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
}

/// The command lines in a source, without the program: behind the `{hand}` of a board, however a format names it, and behind `board`.
fn lines(source: &str) -> Vec<String> {
    let mut all = Vec::new();
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
        let mut begins = vec!["{hand} ", "verb(&[\"", "with_flags(\"board ", "`board "];
        // What a format puts first is a `hand` on these lines alone.
        if line.contains(".hand)") || line.contains(".hand,") || line.contains("hand(),") {
            begins.extend(["\"{} ", "`{} "]);
        }
        for begin in begins {
            for rest in line.split(begin).skip(1) {
                let end = rest.find(['"', '`', ',', ';', '\\']).unwrap_or(rest.len());
                let words = rest[..end].split(" && ").next().unwrap_or_default();
                all.push(words.split(" where ").next().unwrap_or_default().to_owned());
            }
        }
    }
    all
}

/// Whether `board` would understand it, were every part that a format fills a plain word.
fn is_understood(line: &str) -> Result<(), clap::Error> {
    let words = line.split_whitespace().map(|w| if w.contains('{') { "t_00000001" } else { w });
    let all = ["board", "--db", "b.db"].into_iter().chain(words);
    match BoardArgs::command().try_get_matches_from(all) {
        // Only the beginning of a line is written here.
        Err(e) if matches!(e.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand) => {
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

#[test]
fn what_is_advised_on_a_board_without_hermes_is_a_command_of_board() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for room in ["policy", "ops", "watch", "card"] {
        sources(&shared.join(room).join("src"), &mut files);
    }
    let (mut seen, mut of_hermes) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.strip_prefix(shared).unwrap().to_str().unwrap();
        for line in lines(&fs::read_to_string(file).unwrap()) {
            let word = line.split_whitespace().next().unwrap_or_default().to_owned();
            if let Some(known) = OF_HERMES.iter().find(|known| **known == (word.as_str(), name)) {
                of_hermes.push(known);
            } else if word.starts_with(|c: char| c.is_ascii_lowercase()) {
                is_understood(&line).unwrap_or_else(|e| panic!("{name}: {line}: {e}"));
                seen.push(word);
            }
        }
    }
    for word in ["unblock", "unlink", "reassign", "comment", "show", "complete", "run", "claim"] {
        assert!(seen.iter().any(|s| s == word), "{word} was not found among {seen:?}");
    }
    assert!(OF_HERMES.iter().all(|known| of_hermes.contains(&known)), "of {OF_HERMES:?}: {of_hermes:?}");
    for known in OF_HERMES {
        assert!(is_understood(known.0).is_err(), "board has {known:?} by now");
    }
}
