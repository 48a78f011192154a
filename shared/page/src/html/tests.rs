//! What the page holds, and what nothing can get into it.

use proptest::prelude::*;
use proptest::sample::select;

use super::strict::{NASTY, read};
use super::*;
use crate::sample::{every_text, night, quiet};
use crate::{AttemptView, TaskView};

fn seen(o: &[Overview]) -> String {
    read(&page(o)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_night_is_told_whole() {
    let text = seen(&[night()]);
    let clock = |minutes: i64| parts::short_stamp(night().now.plus(60 * minutes), night().now);
    for part in [
        &format!("parser-rewrite · {} · Watchbill", night().now.local_minute()),
        "95m in this attempt, 60m allowed (default)",
        "Give the error types names that say whose fault it was <T: Display + 'static>",
        "\"title\": \"Port the lexer\"",
        "board add 'Port the lexer' --assignee luna --in-scope 'src/lexer/**' --max-files 4",
        &format!("attempt 219 of luna: runs, {} to now (1h 35m)", clock(-95)),
        "5 more lines of evidence",
        &format!("3 refusals, said to last until {}", clock(30)),
        "the list price of the model moon-3-preview is not known",
        "≥ $1.99 of $1.50 over",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert_eq!(page(&[night()]), page(&[night()]), "the same twice");
}

#[test]
fn what_is_not_known_is_shown_as_such() {
    let mut night = night();
    night.tasks.retain(|t| t.task == "t_5c2e91b7");
    let text = seen(&[night]);
    for part in ["? of 60", "? of $5.00", "what it used is not known", "no log of attempt 214 was found"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn an_empty_board_and_no_board_say_so() {
    let text = seen(&[quiet()]);
    for part in [
        "No verdicts",
        "No task is open",
        "No task was worked on",
        "No attempt was made",
        "No task was reset",
        "No provider refused work",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(seen(&[]).contains("No board was looked at"));
    let two = page(&[night(), quiet()]);
    assert!(two.contains("<a href=\"#b1\"><bdi>main</bdi></a>") && two.contains("id=\"b1\""), "{two}");
}

#[test]
fn a_huge_board_makes_a_page_of_a_bounded_size() {
    let mut huge = night();
    let mut task = huge.tasks[0].clone();
    task.title = "x".repeat(10_000);
    task.verdicts[0].evidence = vec!["y".repeat(500); 100];
    let attempt = |run| AttemptView { run, outcome: None, to: None, profile: None, from: huge.since };
    task.attempts = (0..200).map(attempt).collect();
    huge.tasks = (0..300).map(|n| TaskView { task: format!("t_{n:08}"), ..task.clone() }).collect();
    let page = page(&[huge.clone()]);
    assert!(page.contains("t_00000199") && !page.contains("t_00000200"));
    assert!(page.contains("and 100 more") && page.contains("and 50 more"));
    assert!(!page.contains("attempt 169 ") && page.contains("attempt 170 "), "the newest 30 attempts");
    assert!(page.len() < 16 << 20, "{}", page.len());
}

#[test]
fn no_time_is_too_odd_to_be_drawn() {
    let odd = [i64::MIN, -1, 0, 1, 1_795_239_000, i64::MAX];
    for (now, since, at) in odd.iter().flat_map(|n| odd.iter().flat_map(move |s| odd.map(|a| (*n, *s, a)))) {
        let mut o = night();
        (o.now, o.since) = (base::time::Time(now), base::time::Time(since));
        o.tasks[0].attempts[0].from = base::time::Time(at);
        o.tasks[0].attempts[1].to = Some(base::time::Time(at));
        o.interventions[0].at = base::time::Time(at);
        o.providers[0].refusals[0].until = base::time::Time(at);
        seen(&[o]);
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![select(NASTY.to_vec()).prop_map(str::to_owned), any::<String>()];
    proptest::collection::vec(piece, 0..4).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nothing_hostile_gets_out_of_its_place(texts in proptest::collection::vec(hostile(), 1..7)) {
        let mut night = night();
        let mut next = texts.iter().cycle();
        every_text(&mut night, &mut || next.next().cloned().unwrap_or_default());
        let page = page(&[night]);
        let text = read(&page).map_err(TestCaseError::fail)?;
        prop_assert!(!page.to_lowercase().contains("<script"));
        let steers = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        prop_assert!(!text.contains(steers));
    }
}
