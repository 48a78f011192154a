use page::html::strict::{NASTY, read};
use page::sample;

use super::*;
use crate::doctor::{Finding, Severity};
use crate::explain::summary::{Command, Counts, Deed, Together};
use crate::needs::of_findings;
use base::cause::Cause;
use board::Status;

const NOW: Time = Time(1_795_239_000);

fn finding(id: &'static str, about: &str, what: &str, todo: &str) -> Finding {
    let (about, what, todo) = (about.to_owned(), what.to_owned(), Some(todo.to_owned()));
    Finding { id, severity: Severity::Error, about, what, todo, mends: None, also: Vec::new() }
}

fn entry(id: &str, title: &str, says: &str) -> Entry {
    Entry {
        task: id.into(),
        title: title.into(),
        status: Status::Scheduled,
        assignee: None,
        starter: None,
        says: says.into(),
        more: None,
        since: NOW.plus(-900),
        asked: None,
        until: None,
        due: false,
        deeds: Vec::new(),
        then: None,
        command: Some(Command {
            to: "let it go on".into(),
            run: format!("hermes kanban unblock {id}"),
            together: None,
            stops: None,
        }),
        shared: None,
        retried_at: None,
        quiet_until: None,
        unattended: None,
        refused: None,
    }
}

fn limited(id: &str, at: &str, minutes: i64) -> Entry {
    let shared = Some(Shared { at: at.into(), cause: Cause::RateLimit });
    Entry { shared, until: Some(NOW.plus(60 * minutes)), ..entry(id, "Write the migration", "held") }
}

fn helped_one(id: &str, status: Status) -> Entry {
    let deed = Deed {
        at: NOW.plus(-300),
        by: "heal".into(),
        did: "requeued",
        case: "dead-worker".into(),
        pass: "p".into(),
        cause: None,
        because: "worker 7 gone".into(),
    };
    Entry { status, deeds: vec![deed], ..entry(id, "Fix the flaky test", "ready") }
}

fn night() -> Summary {
    Summary {
        board: "default".into(),
        path: "/kanban.db".into(),
        since: NOW.plus(-43_200),
        now: NOW,
        paused: None,
        needs_you: vec![entry("t_00000001", "Choose a licence", "blocked by hand: MIT or Apache?")],
        waiting: vec![
            limited("t_00000002", "moon", 50),
            entry("t_00000003", "Tidy", "backs off"),
            limited("t_00000004", "moon", 20),
        ],
        healed: vec![helped_one("t_00000005", Status::Done), helped_one("t_00000006", Status::Ready)],
        left_alone: vec![entry("t_00000007", "Later", "scheduled by maria")],
        findings: Vec::new(),
        to_mend: Vec::new(),
        beside: Vec::new(),
        refused_keys: Vec::new(),
        unknown: Vec::new(),
        counts: Counts { done: 12, running: 4, ready: 2 },
    }
}

fn now(summaries: &[&Summary]) -> Now {
    let mut needs: Vec<Need> = summaries.iter().flat_map(|s| crate::needs::of_tasks(s)).collect();
    crate::needs::sort(&mut needs);
    Now {
        now: NOW,
        since: NOW.plus(-43_200),
        host: "vm".into(),
        needs,
        boards: summaries.iter().map(|s| BoardNow::of(s)).collect(),
        unknown: Vec::new(),
        is_remote: false,
    }
}

/// The page of these boards, and its text.
fn seen(now: &Now, summaries: &[&Summary]) -> (String, String) {
    let overview = sample::night();
    let part = |s: &&'_ Summary| (s.board.clone(), (*s).clone());
    let owned: Vec<_> = summaries.iter().map(part).collect();
    let parts: Vec<Part<'_>> =
        owned.iter().map(|(board, s)| Part { board, summary: Some(s), overview: Some(&overview) }).collect();
    let page = page(now, &parts, &[]);
    assert_eq!(page, super::page(now, &parts, &[]), "the same twice");
    let text = read(&page).unwrap_or_else(|e| panic!("{e}\n{page}"));
    (page, text)
}

#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = text[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part:?} is not there, or not behind the one before: {text}"));
    }
}

#[test]
fn what_needs_a_person_comes_first_and_all_the_rest_after_it() {
    let (page, text) = seen(&now(&[&night()]), &[&night()]);
    let minute = NOW.local_minute();
    in_order(
        &text,
        &[
            &format!("1 thing needs you · vm · {minute} · Watchbill"),
            "Watchbill on vm, ",
            &minute,
            "4 running",
            "1 healed",
            "1 ready again",
            "Needs you",
            "t_00000001 Choose a licence",
            "blocked by hand: MIT or Apache?",
            "15m ago",
            "hermes kanban unblock t_00000001",
            "Board default",
            "Waiting: 3",
            "The board at a glance",
            "Money and time",
            "Attempts over time",
            "Providers",
            "What was done",
            "Skipped, and why: 1",
            "Verdicts",
        ],
    );
    assert_eq!(text.matches("MIT or Apache?").count(), 1, "it is told once");
    assert!(page.contains("<meta http-equiv=\"refresh\" content=\"60\">"), "{page}");
    assert!(page.contains("<h1 class=\"bad\">1 thing needs you</h1>"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
}

#[test]
fn what_waits_is_grouped_by_cause_and_what_was_done_by_what_came_of_it() {
    let (_, text) = seen(&now(&[&night()]), &[&night()]);
    assert_eq!(text.matches("its provider limited requests; 2 tasks").count(), 1, "{text}");
    // The zone stands once on the page.
    let next = format!("next try at {}, in 20m", &NOW.plus(1_200).local_minute()[..5]);
    in_order(&text, &["moon: ", &next, "t_00000002 ", "t_00000004 ", "backs off", "t_00000003 "]);
    in_order(
        &text,
        &[
            "Healed: ran again, or is done: 1",
            "t_00000005 ",
            "requeued: worker 7 gone; now done",
            "Ready again, not started yet: 1",
            "t_00000006 ",
            "now ready",
        ],
    );
}

#[test]
fn green_is_said_only_where_everything_could_be_looked_at() {
    let quiet = Summary { needs_you: Vec::new(), ..night() };
    let unread = finding("board-unreadable", "default", "no permission", "ask its owner");
    let found = Summary { beside: vec!["luna is odd".into()], ..quiet.clone() };
    let unseen = Summary { unknown: vec!["a log".into()], ..quiet.clone() };
    let all = [
        (now(&[&quiet]), "good", "Nothing needs you"),
        (now(&[&found]), "bad", "Look at the board itself"),
        (now(&[&unseen]), "warn", "Not everything could be looked at"),
        (
            Now { unknown: vec!["no board found".into()], ..now(&[]) },
            "warn",
            "Not everything could be looked at",
        ),
        (Now { needs: of_findings(&[unread], Some("default")), ..now(&[]) }, "bad", "1 thing needs you"),
        (now(&[&Summary { unknown: vec!["a log".into()], ..night() }]), "bad", "1 thing needs you"),
    ];
    for (now, class, said) in all {
        let (page, text) = seen(&now, &[]);
        assert!(page.contains(&format!("<h1 class=\"{class}\">{said}</h1>")), "{said}: {page}");
        assert_eq!(text.contains("Nothing needs you"), class == "good", "{text}");
        let said = [("luna is odd", "Found on the boards"), ("a log", "Could not be looked at")];
        for (line, heading) in said.iter().filter(|(line, _)| text.contains(line)) {
            in_order(&text, &[heading, line]);
        }
    }
    let blind = Part { board: "other", summary: None, overview: None };
    let page = page(&now(&[&night()]), &[blind], &[]);
    assert!(read(&page).unwrap().contains("This board could not be looked at"), "{page}");
}

#[test]
fn several_boards_are_one_page() {
    let other = Summary { board: "other".into(), paused: Some("until 06:00".into()), ..night() };
    let now = now(&[&night(), &other]);
    let (page, text) = seen(&now, &[&night(), &other]);
    assert!(page.contains("<a href=\"#b1\"><bdi>other</bdi></a>") && page.contains("id=\"b1\""), "{page}");
    in_order(
        &text,
        &["2 things need you", "8 running", "Needs you", "default t_00000001", "other t_00000001"],
    );
    in_order(&text, &["Board default", "Board other", "Nothing is changed on it: until 06:00"]);
    let one = page.matches("<h1").count();
    assert_eq!((one, page.matches("<html").count()), (1, 1));
}

#[test]
fn what_to_do_is_a_command_or_a_sentence_with_commands_in_it() {
    for (todo, want) in [
        ("watchbill timers install", "<pre class=\"command\"><code>watchbill timers install</code></pre>"),
        ("start `a <b>`, or `c`", "<p>To do: start <code>a &lt;b&gt;</code>, or <code>c</code></p>"),
        ("one ` alone", "<p>To do: one ` alone</p>"),
    ] {
        let finding = finding("timers-missing", "heal", "nothing starts it", todo);
        let now = Now { needs: of_findings(&[finding], None), ..now(&[]) };
        let (page, _) = seen(&now, &[]);
        assert!(page.contains(want), "{want}: {page}");
    }
}

#[test]
fn a_huge_board_makes_a_page_of_a_bounded_size() {
    let id = |n| format!("t_{n:08}");
    let long = "x".repeat(50_000);
    let mut s = night();
    s.needs_you = (0..1_000).map(|n| entry(&id(n), &long, &long)).collect();
    s.waiting = (0..1_000).map(|n| entry(&id(n), &long, &id(n))).collect();
    s.waiting.extend((1_000..2_000).map(|n| limited(&id(n), "moon", 5)));
    s.healed = (0..1_000)
        .map(|n| Entry { title: long.clone().into(), ..helped_one(&id(n), Status::Done) })
        .collect();
    s.left_alone = (0..1_000).map(|n| entry(&id(n), &long, &long)).collect();
    let (page, text) = seen(&now(&[&s]), &[&s]);
    assert!(page.len() < 4 << 20, "{}", page.len());
    assert!(text.contains("1000 things need you"), "{text}");
    let shown = ["hermes kanban unblock t_", "; since ", "requeued: "].map(|part| text.matches(part).count());
    assert_eq!(shown, [200, 200, 210], "entries of each list");
    assert_eq!(text.matches("and 800 more").count(), 2, "the rest is counted");
}

#[test]
fn nothing_hostile_gets_out_of_its_place() {
    for from in 0..NASTY.len() {
        let mut next = NASTY.iter().cycle().skip(from).map(|s| (*s).to_owned());
        let mut next = || next.next().unwrap_or_default();
        let mut s = night();
        s.board = next();
        (s.paused, s.beside, s.unknown) = (Some(next()), vec![next().into()], vec![next()]);
        let Summary { needs_you, waiting, healed, left_alone, .. } = &mut s;
        for e in [needs_you, waiting, healed, left_alone].into_iter().flatten() {
            (e.task, e.title, e.says) = (next(), next().into(), next().into());
            e.command = Some(Command {
                to: next(),
                run: next(),
                together: Some(Together::Loop(next())),
                stops: None,
            });
            e.shared.iter_mut().for_each(|shared| shared.at = next());
            e.deeds.iter_mut().for_each(|d| d.because = next().into());
        }
        let mut now = now(&[&s]);
        let found = finding("timers-missing", &next(), &next(), &next());
        now.needs.extend(of_findings(&[found], Some(&next())));
        (now.host, now.unknown) = (next(), vec![next()]);
        let mut overview = sample::night();
        sample::every_text(&mut overview, &mut next);
        let page = page(&now, &[Part { board: &s.board, summary: Some(&s), overview: Some(&overview) }], &[]);
        let text = read(&page).unwrap_or_else(|e| panic!("{e}"));
        assert!(!page.to_lowercase().contains("<script"));
        let steers = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(steers), "{text}");
    }
}
