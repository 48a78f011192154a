use super::message::Kind;
use super::*;
use crate::explain::summary::Counts;
use crate::needs::{BoardNow, Waiting};
use config::{NotifyFormat, QuietHours};

const NOW: Time = board::testing::NOW;

fn need(key: &str, board: Option<&str>) -> Need {
    Need {
        key: key.into(),
        cause: key.split(':').next().unwrap_or_default().into(),
        board: board.map(str::to_owned),
        says: format!("{key} is so"),
        tasks: board.map(|_| Waiting { id: "t_00000001".into(), title: "Tidy".into() }).into_iter().collect(),
        since: None,
        next: None,
        run: Some(format!("mend {key}")),
        todo: None,
        asked: None,
        about: BTreeSet::new(),
    }
}

fn board(name: &str) -> BoardNow {
    BoardNow {
        board: name.into(),
        paused: None,
        waiting: 0,
        due: 0,
        healed: 0,
        counts: Counts::default(),
        findings: Vec::new(),
        unknown: Vec::new(),
    }
}

/// What is so so many seconds after [`NOW`]: the needs by their keys, on a board where the key has one behind a colon.
fn at(seconds: i64, keys: &[&str]) -> Now {
    let needs = keys.iter().map(|key| need(key, key.split(':').nth(1))).collect();
    let now = NOW.plus(seconds);
    let boards = vec![board("default"), board("other")];
    Now {
        now,
        since: now.plus(-3_600),
        host: "vm".into(),
        needs,
        boards,
        unknown: Vec::new(),
        is_remote: false,
    }
}

fn anybody() -> NotifyKeys {
    NotifyKeys { command: vec!["cat".into()], ..NotifyKeys::default() }
}

/// One pass: what was decided, and what came of it.
fn pass(book: &mut Book, now: &Now, target: &NotifyKeys, outcome: Outcome) -> Decision {
    beside(book, now, target, outcome, &BTreeSet::new())
}

/// The same beside another host that tells of these boards.
fn beside(
    book: &mut Book,
    now: &Now,
    target: &NotifyKeys,
    outcome: Outcome,
    elsewhere: &BTreeSet<String>,
) -> Decision {
    book.leave(elsewhere);
    book.observe(now, |_| true);
    let decision = book.decide(now, target, elsewhere);
    if let Decision::Send(message) = &decision {
        let before = book.clone();
        book.sending(message);
        book.sent(message, outcome, &before, now.now);
    }
    // Nothing is kept that the file does not hold.
    *book = Book::read(&serde_json::to_string(book).unwrap()).unwrap();
    decision
}

/// The keys that a message tells: those that began, and those that ended.
fn told(decision: &Decision) -> Option<(Vec<&str>, Vec<&str>)> {
    let Decision::Send(message) = decision else { return None };
    let began = message.began.iter().map(|n| n.key.as_str()).collect();
    Some((began, message.ended.iter().map(|e| e.key.as_str()).collect()))
}

fn kind(decision: &Decision) -> Option<Kind> {
    let Decision::Send(message) = decision else { return None };
    Some(message.kind)
}

#[test]
fn an_episode_is_told_once_at_its_begin_and_once_at_its_end() {
    let (mut book, target) = (Book::default(), anybody());
    let mut all = Vec::new();
    // Five hours, a pass every two minutes; a quota from the first to the second hour, a key in the third.
    for round in 0..150 {
        let keys: &[&str] = match round {
            30..60 => &["quota:default:moon"],
            75..90 => &["quota:default:moon", "credential:default:luna"],
            90..100 => &["credential:default:luna"],
            _ => &[],
        };
        let decision = pass(&mut book, &at(120 * round, keys), &target, Outcome::Accepted);
        if let Decision::Send(message) = decision {
            all.push((round, message.title));
        }
    }
    let want = [
        (30, "vm: 1 thing needs you"),
        (63, "vm: all is well again"),
        (75, "vm: 2 things need you"),
        (93, "vm: 1 thing is over; 1 thing needs you still"),
        (103, "vm: all is well again"),
    ];
    assert_eq!(all, want.map(|(round, title)| (round, title.to_owned())));
}

#[test]
fn all_is_well_only_where_nothing_waits() {
    for (waiting, title) in [
        (0, "vm: all is well again"),
        (1, "vm: nothing needs you now; 1 task waits"),
        (8, "vm: nothing needs you now; 8 tasks wait"),
    ] {
        let (mut book, target) = (Book::default(), anybody());
        let mut titles = Vec::new();
        for round in 0..10 {
            let keys: &[&str] = if round < 5 { &["quota:default:moon"] } else { &[] };
            let mut now = at(120 * round, keys);
            now.boards[1].waiting = waiting;
            if let Decision::Send(message) = pass(&mut book, &now, &target, Outcome::Accepted) {
                titles.push((message.kind, message.title));
            }
        }
        assert_eq!(titles.last(), Some(&(Kind::Well, title.to_owned())));
    }
}

#[test]
fn a_quiet_night_is_no_message_and_changes_no_book() {
    let (mut book, target) = (Book::default(), anybody());
    for round in 0..100 {
        assert_eq!(pass(&mut book, &at(120 * round, &[]), &target, Outcome::Accepted), Decision::Quiet);
    }
    assert_eq!(book, Book::default());
}

#[test]
fn why_nothing_is_told_is_said() {
    let (mut book, target) = (Book::default(), anybody());
    let none = BTreeSet::new();
    let mut quiet = |now: Now, elsewhere: &BTreeSet<String>| {
        let decision = beside(&mut book, &now, &target, Outcome::Accepted, elsewhere);
        (decision == Decision::Quiet).then(|| book.quiet(&now, elsewhere))
    };
    let mut said = |seconds: i64, keys: &[&str]| quiet(at(seconds, keys), &none);
    assert_eq!(said(0, &[]).as_deref(), Some("nothing needs you"));
    assert_eq!(said(60, &["quota:default:moon"]), None);
    assert_eq!(said(120, &["quota:default:moon"]).as_deref(), Some("1 told already"));
    let new = "1 new, and told if still so at the next look, 1 over for less than 5m";
    assert_eq!(said(180, &["board-unreadable:other"]).as_deref(), Some(new));
    let blind = Now { unknown: vec!["a board cannot be read".into()], ..at(240, &["quota:other:moon"]) };
    let mut failing = Book::default();
    pass(&mut failing, &at(0, &["a:default"]), &target, Outcome::Refused("answers 503".into()));
    assert_eq!(failing.quiet(&at(60, &["notify-failing"]), &none), "nothing needs you");
    let said = quiet(blind, &["other".to_owned()].into());
    let all = "1 told by another host, 1 over for less than 5m, 1 unread for less than 10m";
    assert_eq!(said.as_deref(), Some(all));
}

#[test]
fn what_comes_back_at_once_is_the_same_episode() {
    let (mut book, target) = (Book::default(), anybody());
    let key = &["dispatcher-absent:default"][..];
    assert!(told(&pass(&mut book, &at(0, key), &target, Outcome::Accepted)).is_some());
    for (seconds, keys) in [(120, &[][..]), (240, key), (360, &[]), (600, &[]), (650, key)] {
        let decision = pass(&mut book, &at(seconds, keys), &target, Outcome::Accepted);
        assert_eq!(decision, Decision::Quiet, "{seconds}");
    }
    assert_eq!(pass(&mut book, &at(700, &[]), &target, Outcome::Accepted), Decision::Quiet);
    let over = pass(&mut book, &at(1_000, &[]), &target, Outcome::Accepted);
    assert_eq!(kind(&over), Some(Kind::Well));
    let again = pass(&mut book, &at(1_100, key), &target, Outcome::Accepted);
    assert_eq!(told(&again), Some((vec![key[0]], vec![])), "a new episode");
}

#[test]
fn what_is_asked_again_is_told_again_also_where_its_end_was_not_told() {
    let asks = |seconds: i64, at_second: i64| {
        let mut now = at(seconds, &["task:default:t_1"]);
        now.needs[0].asked = Some(NOW.plus(at_second));
        now
    };
    let quiet = NotifyKeys { max_per_hour: 1, ..anybody() };
    let mut book = Book::default();
    assert!(told(&pass(&mut book, &asks(0, -60), &quiet, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(300, -60), &quiet, Outcome::Accepted)), None, "the same");
    // Answered, and asked again before the end was told, or was even seen.
    for (second, seen_over) in [(600, true), (4_300, false)] {
        if seen_over {
            assert_eq!(told(&pass(&mut book, &at(second, &[]), &quiet, Outcome::Accepted)), None);
        }
        let decision = pass(&mut book, &asks(second + 3_700, second + 60), &quiet, Outcome::Accepted);
        assert_eq!(told(&decision), Some((vec!["task:default:t_1"], vec![])), "{second}");
    }
    // What nobody dates is a new episode once it was over for long.
    let mut book = Book::default();
    pass(&mut book, &at(0, &["disk-low"]), &quiet, Outcome::Accepted);
    assert_eq!(told(&pass(&mut book, &at(60, &[]), &quiet, Outcome::Accepted)), None);
    assert_eq!(told(&pass(&mut book, &at(400, &[]), &quiet, Outcome::Accepted)), None, "one in an hour");
    pass(&mut book, &at(3_500, &["disk-low"]), &quiet, Outcome::Accepted);
    let later = pass(&mut book, &at(3_600, &["disk-low"]), &quiet, Outcome::Accepted);
    assert_eq!(told(&later), Some((vec!["disk-low"], vec![])));
    // A book of an earlier version has no such time, and nothing in it is told again for that.
    let mut old = serde_json::to_value(&book).unwrap();
    old["open"][0].as_object_mut().unwrap().remove("asked");
    let mut book = Book::read(&old.to_string()).unwrap();
    let mut now = at(9_000, &["disk-low"]);
    now.needs[0].asked = Some(NOW);
    assert_eq!(told(&pass(&mut book, &now, &anybody(), Outcome::Accepted)), None);
    now.needs[0].asked = Some(NOW.plus(9_000));
    assert!(told(&pass(&mut book, &now, &anybody(), Outcome::Accepted)).is_some());
}

#[test]
fn what_cannot_be_looked_at_has_not_ended_and_is_told_after_ten_minutes() {
    let (mut book, target) = (Book::default(), anybody());
    let blind = |seconds| {
        let mut now = at(seconds, &[]);
        now.boards[0].unknown.push("log of t_00000001: permission denied".into());
        now
    };
    pass(&mut book, &at(0, &["quota:default:moon"]), &target, Outcome::Accepted);
    for seconds in [120, 420, 700] {
        assert_eq!(pass(&mut book, &blind(seconds), &target, Outcome::Accepted), Decision::Quiet);
    }
    let unseen = pass(&mut book, &blind(720), &target, Outcome::Accepted);
    assert_eq!(told(&unseen), Some((vec!["unseen"], vec![])));
    let Decision::Send(message) = unseen else { unreachable!() };
    assert!(message.text.contains("for 10m: log of t_00000001: permission denied\n"), "{}", message.text);
    for seconds in [900, 3_000] {
        assert_eq!(pass(&mut book, &blind(seconds), &target, Outcome::Accepted), Decision::Quiet);
    }
    // It can be looked at again, and the quota is over as well.
    assert_eq!(pass(&mut book, &at(3_120, &[]), &target, Outcome::Accepted), Decision::Quiet);
    let well = pass(&mut book, &at(3_420, &[]), &target, Outcome::Accepted);
    assert_eq!(told(&well), Some((vec![], vec!["quota:default:moon", "unseen"])));
    assert_eq!(kind(&well), Some(Kind::Well));
}

#[test]
fn a_board_that_is_not_read_keeps_its_episodes_and_one_that_is_gone_does_not() {
    let (mut book, target) = (Book::default(), anybody());
    pass(&mut book, &at(0, &["quota:default:moon"]), &target, Outcome::Accepted);
    let unreadable = |seconds| {
        let mut now = at(seconds, &["board-unreadable:default"]);
        now.boards.remove(0);
        now
    };
    assert_eq!(pass(&mut book, &unreadable(480), &target, Outcome::Accepted), Decision::Quiet, "not yet");
    let decision = pass(&mut book, &unreadable(600), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec!["board-unreadable:default"], vec![])));
    let mut lost = at(1_200, &[]);
    lost.boards.remove(0);
    lost.unknown.push("no board found".into());
    assert_eq!(pass(&mut book, &lost, &target, Outcome::Accepted), Decision::Quiet);
    let gone = |seconds| {
        let mut now = at(seconds, &[]);
        now.boards.remove(0);
        now
    };
    assert_eq!(pass(&mut book, &gone(1_300), &target, Outcome::Accepted), Decision::Quiet);
    let over = pass(&mut book, &gone(1_600), &target, Outcome::Accepted);
    assert_eq!(told(&over), Some((vec![], vec!["quota:default:moon", "board-unreadable:default"])));
}

#[test]
fn a_refused_message_is_sent_again_and_a_lost_one_says_so() {
    let (mut book, target) = (Book::default(), anybody());
    let now = |seconds| at(seconds, &["quota:default:moon"]);
    let refused = || Outcome::Refused("ntfy.example answers 429".into());
    let first = pass(&mut book, &now(0), &target, refused());
    let Decision::Wait { until, why } = pass(&mut book, &now(30), &target, refused()) else { panic!() };
    assert_eq!((until, why.as_str()), (NOW.plus(60), "the last try failed: ntfy.example answers 429"));
    let second = pass(&mut book, &now(60), &target, Outcome::Lost("no answer".into()));
    let third = pass(&mut book, &now(1_000), &target, Outcome::Accepted);
    let of = |decision: &Decision| {
        let Decision::Send(message) = decision else { panic!("{decision:?}") };
        (message.again, serde_json::json!(message)["id"].clone(), message.text.contains("may repeat"))
    };
    let (one, two, three) = (of(&first), of(&second), of(&third));
    assert_eq!((one.0, two.0, three.0), (false, false, true));
    assert_eq!((&one.1, &one.1), (&two.1, &three.1), "a receiver can tell that it is the same");
    assert!(three.2 && !two.2);
    assert_eq!(pass(&mut book, &now(1_120), &target, Outcome::Accepted), Decision::Quiet);
    assert!(book.failing().is_none());
}

#[test]
fn what_may_have_been_told_and_is_gone_is_told_to_be_over() {
    for outcome in [Outcome::Lost("no answer".into()), Outcome::Refused("answers 404".into())] {
        let is_lost = matches!(outcome, Outcome::Lost(_));
        let (mut book, target) = (Book::default(), anybody());
        pass(&mut book, &at(0, &["quota:default:moon"]), &target, outcome);
        let then = pass(&mut book, &at(600, &[]), &target, Outcome::Accepted);
        assert_eq!(kind(&then), is_lost.then_some(Kind::Well));
        assert_eq!(pass(&mut book, &at(720, &[]), &target, Outcome::Accepted), Decision::Quiet);
    }
}

#[test]
fn an_end_that_may_have_been_told_is_told_again_or_taken_back() {
    for comes_back in [false, true] {
        let (mut book, target) = (Book::default(), anybody());
        let key = &["quota:default:moon"][..];
        pass(&mut book, &at(0, key), &target, Outcome::Accepted);
        pass(&mut book, &at(60, &[]), &target, Outcome::Accepted);
        let end = pass(&mut book, &at(400, &[]), &target, Outcome::Lost("no answer".into()));
        assert_eq!(kind(&end), Some(Kind::Well));
        let keys = if comes_back { key } else { &[] };
        let then = pass(&mut book, &at(600, keys), &target, Outcome::Accepted);
        let want = if comes_back { Kind::Needs } else { Kind::Well };
        assert_eq!(kind(&then), Some(want));
        assert_eq!(pass(&mut book, &at(720, keys), &target, Outcome::Accepted), Decision::Quiet);
    }
}

/// A pass may end after each of its writes. Nothing is lost, and what may come twice says so.
#[test]
fn no_message_is_lost_wherever_a_pass_is_killed() {
    for arrived in [false, true] {
        let (mut book, target) = (Book::default(), anybody());
        let now = at(0, &["quota:default:moon"]);
        book.observe(&now, |_| true);
        let Decision::Send(message) = book.decide(&now, &target, &BTreeSet::new()) else { panic!() };
        // Killed before the first write: the book is as it was. After it:
        book.sending(&message);
        let mut left = Book::read(&serde_json::to_string(&book).unwrap()).unwrap();
        let next = pass(&mut left, &at(120, &["quota:default:moon"]), &target, Outcome::Accepted);
        let Decision::Send(again) = next else { panic!("lost, arrived: {arrived}") };
        assert!(again.again);
        let then = pass(&mut left, &at(240, &["quota:default:moon"]), &target, Outcome::Accepted);
        assert_eq!(then, Decision::Quiet);
    }
}

#[test]
fn quiet_hours_and_the_bound_of_an_hour_put_off_and_lose_nothing() {
    let (mut book, mut target) = (Book::default(), anybody());
    target.max_per_hour = 2;
    let keys = ["a:default", "b:default", "c:default", "d:default"];
    for n in 1..=2 {
        assert!(
            told(&pass(&mut book, &at(n * 120, &keys[..n as usize]), &target, Outcome::Accepted)).is_some()
        );
    }
    for (seconds, n) in [(360, 3), (1_000, 4), (3_719, 4)] {
        let decision = pass(&mut book, &at(seconds, &keys[..n]), &target, Outcome::Accepted);
        let want = Decision::Wait {
            until: NOW.plus(120 + 3_600),
            why: "2 messages were sent within the hour".into(),
        };
        assert_eq!(decision, want);
    }
    let both = pass(&mut book, &at(3_720, &keys), &target, Outcome::Accepted);
    assert_eq!(told(&both), Some((vec!["c:default", "d:default"], vec![])));

    let clock = NOW.local_minute();
    let hour: u32 = clock[..2].parse().unwrap();
    let quiet = format!("{:02}:00-{:02}:00", hour, (hour + 2) % 24);
    target.quiet = QuietHours::parse(&quiet);
    let mut book = Book::default();
    let decision = pass(&mut book, &at(0, &keys[..1]), &target, Outcome::Accepted);
    assert!(matches!(&decision, Decision::Wait { why, .. } if why == "quiet hours"), "{decision:?}");
    assert!(book.begins(&at(60, &keys[..1]), &BTreeSet::new()));
    // What began and ended meanwhile is not told any more.
    assert_eq!(pass(&mut book, &at(8_000, &[]), &target, Outcome::Accepted), Decision::Quiet);
}

#[test]
fn tries_come_less_and_less_often() {
    let (mut book, target) = (Book::default(), anybody());
    let (mut at_second, mut waits) = (0, Vec::new());
    for _ in 0..8 {
        let decision =
            pass(&mut book, &at(at_second, &["a:default"]), &target, Outcome::Refused("answers 503".into()));
        assert!(told(&decision).is_some(), "{decision:?}");
        let next = book.failing().unwrap().next.since(NOW);
        waits.push(next - at_second);
        at_second = next;
    }
    assert_eq!(waits, [60, 120, 240, 480, 960, 1_800, 1_800, 1_800]);
    assert_eq!(book.failing().unwrap().tries, 8);
    book.reached();
    assert!(book.failing().is_none());
}

#[test]
fn a_clock_that_was_ahead_silences_nothing() {
    let year = 31_000_000;
    let (mut book, target) = (Book::default(), anybody());
    let fails = || Outcome::Refused("answers 503".into());
    pass(&mut book, &at(0, &["a:default"]), &target, fails());
    pass(&mut book, &at(year, &["a:default"]), &target, fails());
    let decision = pass(&mut book, &at(60, &["a:default"]), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec!["a:default"], vec![])));
    // What was asked by that clock, and is asked anew.
    let asks = |seconds: i64, at_second: i64| {
        let mut now = at(seconds, &["task:default:t_1"]);
        now.needs[0].asked = Some(NOW.plus(at_second));
        now
    };
    let mut book = Book::default();
    assert!(told(&pass(&mut book, &asks(0, year), &target, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(60, year), &target, Outcome::Accepted)), None);
    assert!(told(&pass(&mut book, &asks(120, 90), &target, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(180, 90), &target, Outcome::Accepted)), None);
    // It was ahead by minutes, and the next question is seen once they have passed.
    let mut book = Book::default();
    assert!(told(&pass(&mut book, &asks(180, 180), &target, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(60, 180), &target, Outcome::Accepted)), None);
    assert_eq!(pass(&mut book, &at(120, &[]), &target, Outcome::Accepted), Decision::Quiet);
    assert!(told(&pass(&mut book, &asks(240, 150), &target, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(300, 150), &target, Outcome::Accepted)), None);
    // Of a clock that goes right an older question that is left is not told again.
    let mut book = Book::default();
    assert!(told(&pass(&mut book, &asks(180, 180), &target, Outcome::Accepted)).is_some());
    assert_eq!(told(&pass(&mut book, &asks(240, 150), &target, Outcome::Accepted)), None);
}

#[test]
fn a_board_in_the_place_of_another_one_ends_nothing() {
    let (mut book, target) = (Book::default(), anybody());
    assert!(told(&pass(&mut book, &at(0, &["task:default:t_1"]), &target, Outcome::Accepted)).is_some());
    let replaced = &["board-replaced:default"][..];
    let decision = pass(&mut book, &at(120, replaced), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec![replaced[0]], vec![])));
    assert_eq!(pass(&mut book, &at(900, replaced), &target, Outcome::Accepted), Decision::Quiet);
    assert_eq!(
        pass(&mut book, &at(1_020, &["task:default:t_1"]), &target, Outcome::Accepted),
        Decision::Quiet
    );
    let decision = pass(&mut book, &at(1_400, &["task:default:t_1"]), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec![], vec![replaced[0]])));
}

#[test]
fn a_test_that_failed_is_told_until_one_arrives_and_holds_nothing_up() {
    use crate::doctor::{Severity, TargetSeen, targets};
    let said = |book: &Book| {
        let failing = Ok(book.failing().cloned());
        let found = targets(&[TargetSeen { name: "mail".into(), failing }], NOW.plus(300)).remove(0);
        (found.severity, found.what)
    };
    let (mut book, target) = (Book::default(), anybody());
    for _ in 0..5 {
        book.unreached("mail ended with 69", NOW);
    }
    assert_eq!(said(&book), (Severity::Error, "a test message failed, for 5m: mail ended with 69".into()));
    let kept = Book::read(&serde_json::to_string(&book).unwrap()).unwrap();
    assert_eq!(kept, book);
    pass(&mut book, &at(1, &["a:default"]), &target, Outcome::Refused("mail ended with 70".into()));
    assert_eq!(said(&book), (Severity::Error, "the last try failed, for 5m: mail ended with 70".into()));
    assert_eq!(book.failing().map(|f| (f.tries, f.next)), Some((1, NOW.plus(61))));
    pass(&mut book, &at(240, &["a:default"]), &target, Outcome::Accepted);
    assert_eq!(said(&book).0, Severity::Ok);
    // Its message is over before it was told, and nothing is tried any more.
    pass(&mut book, &at(-9_000, &["b:default"]), &target, Outcome::Refused("mail ended with 71".into()));
    let what = "the last try failed, for 2h 35m: mail ended with 71; not tried again for 2h 34m";
    assert_eq!(said(&book), (Severity::Warning, what.into()));
    // One of an earlier version.
    let old = r#"{"schema":"watchbill.told/1","open":[],"sent":[],"doubt":null,"failing":{"since":1,"tries":1,"next":2,"why":"x"},"unseen":null}"#;
    assert!(Book::read(old).is_ok_and(|book| book.failing().is_some_and(|f| !f.tested)));
}

#[test]
fn a_clock_that_was_put_back_holds_nothing_up() {
    let (mut book, target) = (Book::default(), anybody());
    pass(&mut book, &at(100_000, &["a:default"]), &target, Outcome::Refused("answers 503".into()));
    let decision = pass(&mut book, &at(0, &["a:default"]), &target, Outcome::Accepted);
    assert!(told(&decision).is_some(), "{decision:?}");
    pass(&mut book, &at(50_000, &[]), &target, Outcome::Accepted);
    assert_eq!(pass(&mut book, &at(0, &[]), &target, Outcome::Accepted), Decision::Quiet);
    assert_eq!(kind(&pass(&mut book, &at(300, &[]), &target, Outcome::Accepted)), Some(Kind::Well));
}

#[test]
fn that_a_target_failed_is_no_news_for_itself() {
    let (mut book, target) = (Book::default(), anybody());
    let keys = ["a:default", "notify-failing"];
    pass(&mut book, &at(0, &keys[..1]), &target, Outcome::Refused("answers 503".into()));
    let decision = pass(&mut book, &at(600, &keys), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec!["a:default"], vec![])));
    // Another one that fails is.
    let decision = pass(&mut book, &at(720, &keys), &target, Outcome::Accepted);
    assert_eq!(told(&decision), Some((vec!["notify-failing"], vec![])));
}

#[test]
fn a_text_is_bounded_and_cuts_no_command() {
    let mut now = at(0, &[]);
    now.needs =
        (0..40).map(|n| need(&format!("quota:default:{n:03}{}", "x".repeat(100)), Some("default"))).collect();
    now.needs[0].run = Some(format!("hermes {}", "y".repeat(400)));
    now.needs[1].says = "line\u{1b}[31m two\nthree sk-ant-REDACTED".into();
    let mut book = Book::default();
    let Decision::Send(message) = pass(&mut book, &now, &anybody(), Outcome::Accepted) else { panic!() };
    let text = &message.text;
    assert!(text.len() <= 1_800 && text.ends_with("there is more: watchbill status\n"), "{text}");
    assert!(text.contains("    $ watchbill status\n") && !text.contains("yyy"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("AAAAAAAA") && !text.contains("two\nthree"), "{text}");
}

#[test]
fn a_command_stands_below_what_it_mends() {
    let mut now = at(0, &[]);
    let long = |n: usize| {
        let key = format!("quota:default:{n}");
        Need { says: format!("{key} {}", "x".repeat(250)), ..need(&key, None) }
    };
    now.needs = (0..12).map(long).collect();
    let mut book = Book::default();
    let Decision::Send(message) = pass(&mut book, &now, &anybody(), Outcome::Accepted) else { panic!() };
    assert!(message.text.ends_with("there is more: watchbill status\n"), "{}", message.text);
    let lines: Vec<&str> = message.text.lines().collect();
    for two in lines.windows(2) {
        if let Some((_, key)) = two[1].split_once("$ mend ") {
            assert!(two[0].contains(&format!("{key} x")), "{}", message.text);
        }
    }
}

#[test]
fn each_receiver_gets_its_own_form() {
    let mut now = at(0, &["a:default"]);
    now.needs[0].says = "<!channel> & @everyone".into();
    let mut book = Book::default();
    let Decision::Send(message) = pass(&mut book, &now, &anybody(), Outcome::Accepted) else { panic!() };
    let body = |format| message.body(format, "-100", "my-topic");
    assert_eq!(body(NotifyFormat::Json)["schema"], "watchbill.notify/1");
    let ntfy = body(NotifyFormat::Ntfy);
    assert_eq!((&ntfy["topic"], &ntfy["title"]), (&"my-topic".into(), &"vm: 1 thing needs you".into()));
    let slack = body(NotifyFormat::Slack)["text"].as_str().unwrap().to_owned();
    assert!(slack.contains("&lt;!channel&gt; &amp; @everyone"), "{slack}");
    assert_eq!(body(NotifyFormat::Discord)["allowed_mentions"], serde_json::json!({"parse": []}));
    let telegram = body(NotifyFormat::Telegram);
    assert_eq!(telegram["chat_id"], "-100");
    assert!(telegram["text"].as_str().unwrap().starts_with("vm: 1 thing needs you\n! default: <!channel>"));
}

#[test]
fn a_book_of_something_else_is_refused() {
    assert!(Book::read("{}").is_err() && Book::read("").is_err());
    let other = serde_json::to_string(&Book::default()).unwrap().replace(BOOK, "watchbill.told/2");
    assert_eq!(
        Book::read(&other).unwrap_err().to_string(),
        "its schema is \"watchbill.told/2\", not \"watchbill.told/1\""
    );
}

#[test]
fn what_was_told_of_a_board_that_was_not_read_is_over_only_where_the_board_is_gone() {
    let (mut book, target) = (Book::default(), anybody());
    pass(&mut book, &at(0, &["task:other:t_1"]), &target, Outcome::Accepted);
    let without = |seconds: i64| {
        let mut now = at(seconds, &[]);
        now.boards.retain(|b| b.board != "other");
        now
    };
    for minute in 1..60 {
        book.observe(&without(60 * minute), |_| false);
        assert_eq!(
            book.decide(&without(60 * minute), &target, &BTreeSet::new()),
            Decision::Quiet,
            "minute {minute}"
        );
    }
    for seconds in [3_600, 3_900] {
        book.observe(&without(seconds), |board| board == "other");
    }
    let Decision::Send(message) = book.decide(&without(3_900), &target, &BTreeSet::new()) else { panic!() };
    assert_eq!(message.ended[0].says, "task:other:t_1 is so; the board is gone");
}

#[test]
fn what_another_host_tells_is_told_here_from_when_this_one_is_to_tell_it() {
    let mut book = Book::default();
    let one = |book: &mut Book, seconds: i64, keys: &[&str], elsewhere: &[&str]| {
        let elsewhere = elsewhere.iter().map(|b| (*b).to_owned()).collect();
        let decision = beside(book, &at(seconds, keys), &anybody(), Outcome::Accepted, &elsewhere);
        let said = told(&decision).map(|(began, ended)| (began.join(" "), ended.join(" ")));
        (said, kind(&decision))
    };
    let said = |began: &str, ended: &str| Some((began.to_owned(), ended.to_owned()));
    assert_eq!(one(&mut book, 0, &["quota:default"], &["default"]), (None, None));
    // What this host tells itself is not all that is so.
    let (heard, kind) = one(&mut book, 60, &["quota:default", "task:other"], &["default"]);
    assert_eq!((heard, kind), (said("task:other", ""), Some(Kind::Needs)));
    assert_eq!(one(&mut book, 120, &["quota:default"], &["default"]), (None, None));
    let (heard, kind) = one(&mut book, 900, &["quota:default"], &["default"]);
    assert_eq!((heard, kind), (said("", "task:other"), Some(Kind::Over)), "not that all is well");
    // The other host is silent, and comes back.
    assert_eq!(one(&mut book, 1_800, &["quota:default"], &[]).0, said("quota:default", ""));
    assert_eq!(one(&mut book, 1_860, &["quota:default"], &[]).0, None);
    assert_eq!(one(&mut book, 1_920, &["quota:default"], &["default"]).0, None);
    assert_eq!(one(&mut book, 9_000, &[], &["default"]).0, None, "it ended there");
    assert_eq!(one(&mut book, 9_060, &["quota:default"], &[]).0, said("quota:default", ""));
}

#[test]
fn one_more_of_what_a_need_is_about_is_told_and_one_less_is_not() {
    let (mut book, target) = (Book::default(), anybody());
    let at = |seconds: i64, about: &[&str]| {
        let mut now = at(seconds, if about.is_empty() { &[] } else { &["pass-overdue"] });
        now.needs.iter_mut().for_each(|n| n.about = about.iter().map(|a| (*a).to_owned()).collect());
        now
    };
    let budget = "budget-check";
    for (seconds, about, is_told, why) in [
        (0, &[budget][..], true, "it begins"),
        (60, &[budget], false, "it lasts"),
        (120, &[budget, "heal", "route-blocked"], true, "two more"),
        (180, &[budget, "heal", "route-blocked"], false, "they last"),
        (240, &["heal"], false, "two less"),
        (400, &["heal", budget], false, "one is back at once"),
        (460, &["heal"], false, "and away"),
        (800, &["heal", budget], false, "it was told within the hour"),
        (860, &[budget], false, "another one is over"),
        (4_500, &["heal", budget], true, "back after an hour"),
        (4_560, &[budget], false, "and away"),
        (4_620, &["disk"], false, "one for another may go on so"),
        (4_680, &["disk"], true, "it stays"),
        (4_740, &["heal"], false, "as before that"),
        (4_800, &["heal", "disk"], false, "both were told"),
        (6_000, &[], false, "nothing is left"),
        (6_300, &[], true, "that is told, too"),
    ] {
        let decision = pass(&mut book, &at(seconds, about), &target, Outcome::Accepted);
        assert_eq!(told(&decision).is_some(), is_told, "{why}: {decision:?}");
    }
    // What an earlier version told does not begin again.
    let mut book = Book::default();
    pass(&mut book, &at(0, &[budget]), &target, Outcome::Accepted);
    let kept =
        serde_json::to_string(&book).unwrap().replace(r#""about":{"budget-check":null}"#, r#""asked":null"#);
    let kept = kept.replacen(r#""asked":null,"asked":null"#, r#""asked":null"#, 1);
    let mut old = Book::read(&kept).unwrap();
    assert!(!kept.contains("about"));
    assert_eq!(pass(&mut old, &at(60, &[budget, "heal"]), &target, Outcome::Accepted), Decision::Quiet);
    assert!(told(&pass(&mut old, &at(120, &[budget, "heal", "disk"]), &target, Outcome::Accepted)).is_some());
}

#[test]
fn what_is_over_at_the_next_look_is_not_told() {
    let target = anybody();
    for key in ["pass-failed", "board-unreadable:other", "disk-low"] {
        let is_passing = key != "disk-low";
        let one = |book: &mut Book, seconds, keys: &[&str]| {
            told(&pass(book, &at(seconds, keys), &target, Outcome::Accepted)).is_some()
        };
        let mut book = Book::default();
        assert_eq!(one(&mut book, 0, &[key]), !is_passing, "{key}");
        assert!(!one(&mut book, 120, &[]), "{key}");
        assert_eq!(one(&mut book, 600, &[]), !is_passing, "{key}: only what was told is told to be over");
        assert_eq!(one(&mut book, 1_200, &[key]), !is_passing, "{key}: it counts from its begin");
        assert_eq!(one(&mut book, 1_200 + LASTED, &[key]), is_passing, "{key}");
        assert!(!one(&mut book, 1_500, &[key]), "{key}");
        // Where nothing can be kept it is told at once.
        let mut book = Book::default();
        book.observe(&at(0, &[key]), |_| true);
        book.waits_for_nothing();
        let decision = book.decide(&at(0, &[key]), &target, &BTreeSet::new());
        assert_eq!(told(&decision), Some((vec![key], vec![])), "{key}");
    }
    // Of two that make passes in turn, each second look sees none that failed.
    let mut book = Book::default();
    for (seconds, keys, is_told) in [
        (0, &["pass-failed"][..], false),
        (120, &[], false),
        (240, &["pass-failed"], true),
        (360, &[], false),
    ] {
        let decision = pass(&mut book, &at(seconds, keys), &target, Outcome::Accepted);
        assert_eq!(told(&decision).is_some(), is_told, "{seconds}");
    }
    // A timer may come as seldom as it likes, and the clock may be set back.
    for every in [LASTED, SETTLED - 1, SETTLED, 600, HOUR, -600] {
        let mut book = Book::default();
        let mut one = |look| {
            let now = at(9_000 + look * every, &["pass-failed"]);
            told(&pass(&mut book, &now, &target, Outcome::Accepted)).is_some()
        };
        let want = [false, every > 0, false];
        assert_eq!([one(0), one(1), one(2)], want, "{every}");
    }
    let mut lost = at(0, &[]);
    lost.unknown.push("the server does not answer".into());
    let mut book = Book::default();
    book.observe(&lost, |_| true);
    assert_eq!(book.decide(&lost, &target, &BTreeSet::new()), Decision::Quiet);
    book.waits_for_nothing();
    assert!(matches!(book.decide(&lost, &target, &BTreeSet::new()), Decision::Send(_)));
}

#[test]
fn one_fault_after_another_under_the_same_name_is_told() {
    let target = anybody();
    let at = |seconds: i64, what: &str| {
        let mut now = at(seconds, if what.is_empty() { &[] } else { &["board-unwritable:night"] });
        now.needs.iter_mut().for_each(|n| n.about = [what.to_owned()].into());
        now
    };
    let mut book = Book::default();
    for (seconds, what, is_told) in [
        (0, "night: lost", true),
        (120, "night: lost", false),
        (240, "night: no board", false),
        (360, "night: no board", true),
        (480, "night: no board", false),
        (600, "", false),
        (720, "night: empty", false),
        (840, "night: empty", true),
        (960, "night: lost", false),
        (1_080, "night: lost", false),
        (9_000, "night: lost", false),
        // It is back hours later.
        (9_120, "night: empty", false),
        (9_240, "night: empty", true),
    ] {
        let decision = pass(&mut book, &at(seconds, what), &target, Outcome::Accepted);
        assert_eq!(told(&decision).is_some(), is_told, "{seconds}: {decision:?}");
    }
    // What an earlier version told without it is not told again.
    let mut old = Book::default();
    pass(&mut old, &at(0, "night"), &target, Outcome::Accepted);
    for seconds in [120, 240, 360] {
        let decision = pass(&mut old, &at(seconds, "night: lost"), &target, Outcome::Accepted);
        assert_eq!(decision, Decision::Quiet, "{seconds}");
    }
    pass(&mut old, &at(480, "night: empty"), &target, Outcome::Accepted);
    assert!(told(&pass(&mut old, &at(600, "night: empty"), &target, Outcome::Accepted)).is_some());
}

#[test]
fn where_nothing_else_could_be_looked_at_one_fault_after_another_is_told_and_nothing_is_over() {
    let target = anybody();
    let mut book = Book::default();
    pass(&mut book, &at(0, &["quota:default:moon"]), &target, Outcome::Accepted);
    for (seconds, what, is_told) in [
        (60, "grase", true),
        (600, "grase", false),
        (720, "grace", false),
        (4_000, "grace", true),
        (8_000, "grace", false),
    ] {
        let mut now = at(seconds, &[REFUSED]);
        now.boards.clear();
        now.needs[0].about = [what.to_owned()].into();
        book.observe_only(&now);
        let decision = book.decide(&now, &target, &BTreeSet::new());
        if let Decision::Send(message) = &decision {
            let before = book.clone();
            book.sending(message);
            book.sent(message, Outcome::Accepted, &before, now.now);
        }
        let want = is_told.then(|| (vec![REFUSED], vec![]));
        assert_eq!(told(&decision), want, "{seconds}");
    }
}

#[test]
fn one_more_board_behind_a_gateway_is_not_told_nor_what_an_earlier_version_told_of_each() {
    let target = anybody();
    let at = |seconds: i64, key: &str, boards: &[&str]| {
        let mut now = at(seconds, &[key]);
        now.needs[0].about = boards.iter().map(|b| (*b).to_owned()).collect();
        now
    };
    for first in ["dispatcher-absent:default", "dispatcher-absent:night"] {
        let mut book = Book::default();
        assert!(told(&pass(&mut book, &at(0, first, &["night"]), &target, Outcome::Accepted)).is_some());
        for (seconds, boards) in [(120, &["night"][..]), (240, &["night", "third"]), (700, &["third"])] {
            let now = at(seconds, "dispatcher-absent:default", boards);
            assert_eq!(pass(&mut book, &now, &target, Outcome::Accepted), Decision::Quiet, "{first}");
        }
        // The first board of the root went.
        let now = at(800, "dispatcher-absent:third", &["third"]);
        assert_eq!(pass(&mut book, &now, &target, Outcome::Accepted), Decision::Quiet, "{first}");
    }
}

#[test]
fn what_else_cannot_be_looked_at_is_told_once_it_has_lasted() {
    let (mut book, target) = (Book::default(), anybody());
    let log = |board: usize, task: u32| {
        let what =
            format!("t_0000000{task}: worker {task} gone, but its log cannot be read: {}", "x".repeat(200));
        (board, what)
    };
    let settings = || (0, "config.yaml cannot be read".to_owned());
    for (seconds, unknown, is_told, why) in [
        (0, vec![log(0, 1)], false, "it begins"),
        (600, vec![log(0, 1)], true, "it lasted"),
        (700, vec![log(0, 1), log(1, 2)], false, "another board, for a moment"),
        (1_000, vec![log(0, 1), log(1, 2), log(1, 3)], false, "not for long"),
        (1_300, vec![log(0, 1), log(1, 2), log(1, 3)], true, "it lasted"),
        (1_400, vec![log(0, 4), log(1, 2)], false, "of other tasks it is the same"),
        (1_500, vec![log(1, 2)], false, "less"),
        (1_600, vec![log(1, 2), settings()], false, "the settings, for a moment"),
        (2_200, vec![log(1, 2), settings()], true, "they lasted"),
        (9_000, vec![log(1, 2), settings()], false, "told"),
    ] {
        let mut now = at(seconds, &[]);
        for (board, what) in unknown {
            now.boards[board].unknown.push(what);
        }
        let decision = pass(&mut book, &now, &target, Outcome::Accepted);
        assert_eq!(told(&decision), is_told.then(|| (vec!["unseen"], vec![])), "{why}");
        if let Decision::Send(message) = &decision {
            let is_first = seconds == 600;
            let parts = ["default: ", "; other: t_"].map(|part| message.text.contains(part));
            assert_eq!(parts, [!is_first; 2], "{}", message.text);
            assert!(message.text.contains("watchbill status"), "{}", message.text);
        }
    }
    // What an earlier version told, and how long it counted, goes on.
    let blind = |seconds| {
        let mut now = at(seconds, &[]);
        now.boards[0].unknown.push(log(0, 1).1);
        now
    };
    for (told_first, is_told) in [(false, true), (true, false)] {
        let mut book = Book::default();
        let mut seconds = vec![0];
        seconds.extend(told_first.then_some(600));
        seconds.into_iter().for_each(|at| drop(pass(&mut book, &blind(at), &target, Outcome::Accepted)));
        let mut old = serde_json::to_value(&book).unwrap();
        old.as_object_mut().unwrap().remove("unseen_each");
        old["open"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|e| drop(e.as_object_mut().unwrap().remove("about")));
        let mut book = Book::read(&old.to_string()).unwrap();
        let decision = pass(&mut book, &blind(660), &target, Outcome::Accepted);
        assert_eq!(told(&decision).is_some(), is_told);
        assert_eq!(pass(&mut book, &blind(780), &target, Outcome::Accepted), Decision::Quiet);
    }
}

#[test]
fn watchers_that_are_late_in_turn_are_told_once_each_and_their_end_is_told() {
    let (mut book, target) = (Book::default(), anybody());
    let mut titles = Vec::new();
    for round in 0..40 {
        let mut now = at(150 * round, if round < 30 { &["pass-overdue"] } else { &[] });
        let late = ["heal", "route-blocked", "synthesize-distress"][round as usize / 2 % 3];
        now.needs.iter_mut().for_each(|n| n.about = [late.to_owned()].into());
        if let Decision::Send(message) = pass(&mut book, &now, &target, Outcome::Accepted) {
            titles.push(message.title);
        }
    }
    let needs = "vm: 1 thing needs you";
    assert_eq!(titles, [needs, needs, needs, "vm: all is well again"]);
}

#[test]
fn what_was_told_and_begins_again_while_a_target_waits_is_told_to_be_over() {
    type Grows = fn(&mut Need);
    let grows: [Grows; 3] = [
        |n| n.about = ["budget-check".to_owned(), "heal".to_owned()].into(),
        |n| n.asked = Some(NOW.plus(100)),
        // It is back after it was over.
        |_| {},
    ];
    for grows in grows {
        let (mut book, target) = (Book::default(), anybody());
        let quiet = NotifyKeys { max_per_hour: 1, ..anybody() };
        let at = |seconds, key: &[&str], grows: Option<Grows>| {
            let mut now = at(seconds, key);
            for n in &mut now.needs {
                (n.about, n.asked) = (["budget-check".to_owned()].into(), Some(NOW));
                grows.iter().for_each(|grows| grows(n));
            }
            now
        };
        let key = &["pass-overdue"][..];
        assert!(told(&pass(&mut book, &at(0, key, None), &quiet, Outcome::Accepted)).is_some());
        pass(&mut book, &at(60, &[], None), &quiet, Outcome::Accepted);
        for (seconds, outcome) in [(400, None), (460, Some(Outcome::Refused("answers 503".into())))] {
            let target = if outcome.is_some() { &target } else { &quiet };
            let outcome = outcome.unwrap_or(Outcome::Accepted);
            let decision = pass(&mut book, &at(seconds, key, Some(grows)), target, outcome);
            assert_ne!(decision, Decision::Quiet, "{seconds}");
        }
        let mut grown = book.clone();
        let both = pass(&mut grown, &at(600, key, Some(grows)), &target, Outcome::Accepted);
        assert_eq!(told(&both), Some((vec!["pass-overdue"], vec![])));
        let after = pass(&mut grown, &at(660, key, Some(grows)), &target, Outcome::Accepted);
        assert_eq!(after, Decision::Quiet);
        pass(&mut book, &at(700, &[], None), &quiet, Outcome::Accepted);
        let over = pass(&mut book, &at(4_000, &[], None), &quiet, Outcome::Accepted);
        assert_eq!(told(&over), Some((vec![], vec!["pass-overdue"])));
    }
}

#[test]
fn what_an_earlier_version_told_of_all_profiles_is_told_of_each() {
    for cause in crate::needs::SPLIT {
        let (mut book, target) = (Book::default(), anybody());
        pass(&mut book, &at(0, &[&format!("{cause}:default")]), &target, Outcome::Accepted);
        let keys = [format!("{cause}:default:luna"), format!("{cause}:default:")];
        let now =
            |seconds, n: usize| at(seconds, &keys.iter().take(n).map(String::as_str).collect::<Vec<_>>());
        for seconds in [60, 400, 800] {
            assert_eq!(pass(&mut book, &now(seconds, 2), &target, Outcome::Accepted), Decision::Quiet);
        }
        pass(&mut book, &now(860, 1), &target, Outcome::Accepted);
        let one = pass(&mut book, &now(1_200, 1), &target, Outcome::Accepted);
        assert_eq!(told(&one), Some((vec![], vec![keys[1].as_str()])), "{cause}");
    }
}

#[test]
fn nothing_is_told_to_be_over_where_the_configuration_is_refused() {
    let (mut book, target) = (Book::default(), anybody());
    pass(&mut book, &at(0, &["task:default:t_1"]), &target, Outcome::Accepted);
    book.observe(&at(60, &[]), |_| false);
    // Such a pass looks at nothing else.
    let mut refused = at(400, &[crate::needs::REFUSED]);
    refused.boards.clear();
    let decision = book.decide(&refused, &target, &BTreeSet::new());
    assert_eq!(told(&decision), Some((vec![crate::needs::REFUSED], vec![])));
    assert_eq!(told(&pass(&mut book, &at(500, &[]), &target, Outcome::Accepted)).unwrap().1.len(), 1);
}

#[test]
fn a_board_on_which_work_waits_for_the_end_of_a_pause_is_not_well() {
    for (paused, due, want) in [(true, 5, Kind::Over), (true, 0, Kind::Well), (false, 5, Kind::Well)] {
        let (mut book, target) = (Book::default(), anybody());
        pass(&mut book, &at(0, &["quota:default:moon"]), &target, Outcome::Accepted);
        let on = |seconds| {
            let mut now = at(seconds, &[]);
            (now.boards[1].paused, now.boards[1].due) = (paused.then(|| "paused".to_owned()), due);
            now
        };
        pass(&mut book, &on(60), &target, Outcome::Accepted);
        book.observe(&on(400), |_| true);
        assert!(!book.begins(&on(400), &BTreeSet::new()), "only its end is to be told");
        assert_eq!(kind(&pass(&mut book, &on(400), &target, Outcome::Accepted)), Some(want));
    }
}

/// A receiver knows an episode by its key.
#[test]
fn no_two_keys_are_one_where_secrets_are_taken_out() {
    let keys = [
        "credential:/b.db:luna",
        "credential:/b.db:nova",
        "credential:/c.db:luna",
        "no-orchestrator:/b.db:credential:luna",
        "no-orchestrator:/b.db:credential:nova",
        "credential:default:luna",
        "quota:/b.db:moon",
    ];
    let (mut book, target) = (Book::default(), anybody());
    let begin = pass(&mut book, &at(0, &keys), &target, Outcome::Accepted);
    assert_eq!(pass(&mut book, &at(60, &keys), &target, Outcome::Accepted), Decision::Quiet);
    pass(&mut book, &at(120, &[]), &target, Outcome::Accepted);
    let end = pass(&mut book, &at(600, &[]), &target, Outcome::Accepted);
    let shown = |decision: &Decision, list: &str| -> Vec<String> {
        let Decision::Send(message) = decision else { panic!("{decision:?}") };
        let text = serde_json::to_string(message).unwrap();
        let read: serde_json::Value = serde_json::from_str(&base::redact::json(&text)).unwrap();
        read[list].as_array().unwrap().iter().map(|n| n["key"].as_str().unwrap().to_owned()).collect()
    };
    let began = shown(&begin, "began");
    assert_eq!(began.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{began:?}");
    assert!(!began.iter().any(|key| key.contains("redacted")), "{began:?}");
    assert_eq!(began[5..], keys[5..], "what has nothing to hide stays as it is");
    assert_eq!(shown(&end, "ended"), began);
}
