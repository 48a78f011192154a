use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use board::{Outcome, Step};
use policy::Left;

fn board(name: &str, path: &str) -> BoardReport {
    let step = |case: &str| Step::unguarded("t_1", "requeue".into(), case.into(), Vec::new());
    let moved = Outcome::Moved { what: "status".into() };
    let mut report = BoardReport::new(name.into(), path.into());
    report.steps = ["dead-worker", "dead-worker", "crash-loop"].map(|c| (step(c), moved.clone())).into();
    report.glanced = Some(7);
    let left = |unknown| Left { unknown, ..Left::new("t_2", "") };
    report.left = vec![left(true), left(false), left(true)];
    report.findings = vec!["dispatcher-wedged".into()];
    report
}

fn ended(boards: &[BoardReport]) -> Ended<'_> {
    let took = Duration::from_millis(250);
    Ended { program: "heal", version: "0.1.0", at: Time(1_800_000_000), took, exit: 1, boards }
}

/// The values, without help and types.
fn values(text: &str) -> Vec<&str> {
    text.lines().filter(|l| !l.starts_with('#')).collect()
}

#[test]
fn a_pass_is_told_board_by_board() {
    let boards = [board("default", "/a/kanban.db")];
    let text = render(&ended(&boards), &[]);
    assert_eq!(
        values(&text),
        [
            "watchbill_build_info{program=\"heal\",version=\"0.1.0\"} 1",
            "watchbill_last_pass_timestamp_seconds{program=\"heal\"} 1800000000",
            "watchbill_last_pass_duration_seconds{program=\"heal\"} 0.25",
            "watchbill_last_pass_exit_code{program=\"heal\"} 1",
            "watchbill_passes_total{program=\"heal\"} 1",
            "watchbill_boards{program=\"heal\"} 1",
            "watchbill_board_exit_code{program=\"heal\",board=\"default\"} 1",
            "watchbill_board_last_pass_timestamp_seconds{program=\"heal\",path=\"/a/kanban.db\"} 1800000000",
            "watchbill_board_busy_since_timestamp_seconds{program=\"heal\",board=\"default\"} 0",
            "watchbill_open_tasks{program=\"heal\",board=\"default\"} 7",
            "watchbill_unknown_tasks{program=\"heal\",board=\"default\"} 2",
            "watchbill_findings{program=\"heal\",board=\"default\"} 1",
            "watchbill_steps_total{program=\"heal\",board=\"default\",case=\"crash-loop\",outcome=\"moved\"} 1",
            "watchbill_steps_total{program=\"heal\",board=\"default\",case=\"dead-worker\",outcome=\"moved\"} 2",
        ]
    );
}

#[test]
fn sums_go_on_and_those_of_others_are_left_out() {
    let boards = [board("default", "/a/kanban.db")];
    let first = render(&ended(&boards), &[]);
    let other = first.replace("\"heal\"", "\"route-blocked\"");
    let before = [samples(&first).unwrap(), samples(&other).unwrap()].concat();
    let mut next = ended(&[]);
    next.exit = 0;
    let text = render(&next, &before);
    assert!(text.contains("watchbill_passes_total{program=\"heal\"} 2\n"), "{text}");
    assert!(text.contains("case=\"dead-worker\",outcome=\"moved\"} 2\n") && !text.contains("route-blocked"));
}

#[test]
fn what_is_written_is_read_whatever_a_board_is_called() {
    let name = "a \"b\"\\c\n{d},e=\"f\"} 1";
    let boards = [board(name, "/a"), board("default", "/b"), board("default", "/c")];
    let text = render(&ended(&boards), &[]);
    let read = samples(&text).unwrap();
    assert_eq!(read.iter().filter(|s| s.label("board") == Some(name)).count(), 7);
    assert_eq!(read.iter().filter(|s| s.label("board") == Some("default")).count(), 0, "two of one name");
    // No two of one name have the same labels, and what the catalogue says of labels is so.
    for (i, s) in read.iter().enumerate() {
        assert!(!read[..i].iter().any(|t| (&t.name, &t.labels) == (&s.name, &s.labels)), "{s:?}");
        let known = METRICS.iter().find(|m| m.name == s.name).unwrap();
        assert!(s.labels.iter().map(|(n, _)| n.as_str()).eq(known.labels.iter().copied()), "{s:?}");
    }
    assert!(METRICS.iter().all(|m| read.iter().any(|s| s.name == m.name)));
    assert_eq!(samples("watchbill_x 1\n"), None);
    assert_eq!(samples("a{b=\"c} 1\n"), None);
}

#[test]
fn since_when_a_board_is_busy_lasts_until_a_pass_gets_through() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("heal.prom");
    let busy = |name: &str| BoardReport {
        error: Some(Error::new(Kind::Busy, name, "another process is writing")),
        ..board(name, "/a/kanban.db")
    };
    let paused = || BoardReport { is_paused: true, ..busy("quiet") };
    let since = |at: i64, boards: &[BoardReport]| {
        write(&file, &Ended { at: Time(at), ..ended(boards) }).unwrap();
        record(&file, "heal").unwrap().busy_since.map(|at| at.0)
    };
    assert_eq!(since(1_000, &[board("default", "/a"), paused()]), None);
    assert_eq!(since(1_120, &[busy("default"), paused()]), Some(1_120));
    assert_eq!(since(1_240, &[busy("default"), busy("night")]), Some(1_120), "the longest of two");
    assert_eq!(since(1_360, &[board("default", "/a"), busy("night")]), Some(1_240));
    assert_eq!(since(1_480, &[board("default", "/a"), board("night", "/b")]), None);
    // The clock was set back.
    assert_eq!(
        (since(1_600, &[busy("default")]), since(1_500, &[busy("default")])),
        (Some(1_600), Some(1_500))
    );
}

#[test]
fn a_board_on_which_a_pass_failed_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("heal.prom");
    let failed =
        |kind, name: &str| BoardReport { error: Some(Error::new(kind, name, "no")), ..board(name, name) };
    let boards = [
        board("default", "/a"),
        failed(Kind::Busy, "busy"),
        failed(Kind::Damaged, "night"),
        failed(Kind::Io, "full"),
    ];
    write(&file, &ended(&boards)).unwrap();
    let told = Kept::read(&file, "heal").unwrap().failed();
    assert_eq!(told, BTreeMap::from([("full".to_owned(), 74), ("night".to_owned(), 65)]));
}

#[test]
fn boards_of_other_passes_are_named_for_a_week() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("heal.prom");
    let day = 86_400;
    let pass = |path: &str, days: i64| {
        let boards = [board("default", path)];
        write(&file, &Ended { at: Time(1_800_000_000 + days * day), ..ended(&boards) }).unwrap();
        boards_of(&file, "heal")
    };
    let at = |path: &str, days: i64| (path.to_owned(), Time(1_800_000_000 + days * day));
    assert_eq!(pass("/a", 0), [at("/a", 0)]);
    assert_eq!(pass("/b", 1), [at("/b", 1), at("/a", 0)]);
    assert_eq!(pass("/b", 6), [at("/b", 6), at("/a", 0)]);
    assert_eq!(pass("/b", 7), [at("/b", 7)]);
    assert_eq!(boards_of(&file, "budget-check"), []);
}

fn boards_of(file: &Path, program: &str) -> Vec<(String, Time)> {
    let kept = Kept::read(file, program).unwrap();
    kept.boards().map(|(board, at)| (board.to_owned(), at)).collect()
}

#[test]
fn only_a_file_of_ours_is_replaced_and_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new/heal.prom");
    let boards = [board("default", "/a/kanban.db")];
    write(&file, &ended(&boards)).unwrap();
    write(&file, &ended(&boards)).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    assert!(fs::read_to_string(&file).unwrap().contains("watchbill_passes_total{program=\"heal\"} 2\n"));
    let told = Record { at: Time(1_800_000_000), exit: 1, busy_since: None };
    assert_eq!(record(&file, "heal"), Some(told));
    assert_eq!((record(&file, "budget-check"), record(dir.path(), "heal")), (None, None));

    let text = |name: &str| write(&dir.path().join(name), &ended(&boards)).unwrap_err();
    assert!(text("heal.txt").to_string().contains("does not end in .prom"));
    fs::write(dir.path().join("other.prom"), "# HELP node_x y\n").unwrap();
    assert_eq!((text("other.prom").kind, text("new/heal.prom/x.prom").kind), (Kind::Usage, Kind::Io));
    assert_eq!(fs::read_to_string(dir.path().join("other.prom")).unwrap(), "# HELP node_x y\n");
    fs::create_dir(dir.path().join("folder.prom")).unwrap();
    assert!(text("folder.prom").what.contains("not a plain file"));
    // One that was cut short, or that a loss of power left in parts, is made anew.
    let whole = fs::read(&file).unwrap();
    let (half, gap) = (whole.len() / 2, whole.len() / 4);
    for left in [
        b"# HELP watchbill_build_info Al".to_vec(),
        vec![0; whole.len()],
        whole[100..].to_vec(),
        [&vec![0; half][..], &whole[half..]].concat(),
        [&vec![0; 4_096][..], b"} 1\n"].concat(),
        [&whole[..gap], &vec![0; gap][..], &whole[half..]].concat(),
    ] {
        fs::write(&file, &left).unwrap();
        write(&file, &ended(&boards)).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&left)));
        assert!(record(&file, "heal").is_some());
    }
    // A file of another program is not.
    for other in
        ["x 1\n", "x 1", "a\nwatchbill_x 1\nnode_y 2\n", "\0\0x\0", "watchbill_x", "a\nb\nwatchbill_x 1\n"]
    {
        fs::write(&file, other).unwrap();
        assert_eq!(write(&file, &ended(&boards)).unwrap_err().kind, Kind::Usage, "{other:?}");
    }
}
