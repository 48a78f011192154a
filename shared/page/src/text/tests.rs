//! What the lines say, and when there are none.

use proptest::collection;
use proptest::prelude::*;

use super::*;
use crate::sample::{every_text, night, quiet};

fn said(o: &Overview, verbose: bool) -> String {
    let mut out = Vec::new();
    write(&mut out, o, verbose).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn nothing_wrong_is_nothing_said() {
    assert_eq!(said(&quiet(), false), "");
    let mut night = night();
    night.tasks.retain(|t| t.verdicts.is_empty());
    assert_eq!(said(&night, false), "", "resets, refusals and spent money wake nobody");
}

#[test]
fn verdicts_come_with_their_evidence() {
    let mut night = night();
    night.tasks.truncate(2);
    let want = "t_1a2b3c4d Port the parser to the new grammar (running, luna)
  over time: 95m in this attempt, 60m allowed (default)
    attempt 219 began at 03:55 UTC and runs
    2 earlier attempts took 45m and 78m
  over iterations: 88 turns in this attempt, 60 allowed (task)
    88 answered calls in 3f0c2b1e.jsonl
  out of scope: 9 of 17 changed files are outside its scope
    src/cli/args.rs
    src/cli/help.rs
    src/cli/mod.rs
    src/server/http/handlers/import_and_export_of_very_long_names_that_wrap.rs
    docs/cli.md
    docs/man/parse.1
    Cargo.toml
    Cargo.lock
    and 1 more
  churning: the same files are read again and again, and the context was compacted twice
    src/grammar/rules.rs read 9 times since its last edit
    6 calls in a row with the same arguments
  split into 3: three attempts worked on three parts of the tree that touch in two files
    board add 'Port the lexer' --assignee luna --in-scope 'src/lexer/**' --max-files 4
    board add 'Port the grammar' --assignee luna --in-scope 'src/grammar/**' --max-files 6
    board add 'Move the command line over' --assignee sol --in-scope 'src/cli/**' --max-files 5
t_77d0c3aa Fix the flaky login test (blocked, nova)
  stuck progress: 3 resets without a new commit or a changed file
    HEAD is 91bb0de since 20:12 UTC
  over attempts: as many resets as are allowed (3)
";
    assert_eq!(said(&night, false), want);
}

#[test]
fn the_whole_board_is_in_columns_and_says_what_is_not_known() {
    let all = said(&night(), true);
    let wanted = [
        ": 3 running, 2 ready, 6 todo, 1\n    scheduled, 2 blocked, 11 done\n",
        "  task        state               time  turns  tools  tokens           cost  files  title\n",
        "  t_5c2e91b7  done              25m/1h   ?/60      ?       ?        ?/$5.00      ?  Add an index",
        "  t_0c9d8e7f  running           41m/1h   >=52  >=120  >=2.3M  >=$1.99/$1.50      ?  Write",
        "  nova     star             7  2h 26m  >=133  >=7.5M  >=$8.03\n",
        "  t_5c2e91b7 unknown: turns and money: no log of attempt 214 was found\n",
    ];
    for part in wanted {
        assert!(all.contains(part), "{part:?} is not in:\n{all}");
    }
    assert!(all.contains(&said(&night(), false)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_text_steers_a_terminal_or_goes_beyond_the_line(texts in collection::vec(".{0,300}|(\\PC){0,9}", 1..9)) {
        let mut night = night();
        let mut next = texts.iter().cycle();
        every_text(&mut night, &mut || next.next().cloned().unwrap_or_default());
        // The one thing that may be longer.
        night.tasks.iter_mut().for_each(|t| t.draft = None);
        for line in said(&night, true).lines() {
            prop_assert!(!line.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{line:?}");
            prop_assert!(line.chars().count() <= WIDE || !line.trim().contains(' '), "{line:?}");
        }
    }
}
