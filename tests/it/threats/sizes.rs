//! Texts far beyond anything useful.

use std::process::Command;

use super::{WATCHERS, in_time};
use crate::support::{TestBoard, now, program};

/// A watcher that may use this much memory and no more.
fn within(b: &TestBoard, mebibytes: u64, watcher: &str, args: &[&str]) -> crate::support::Ran {
    let mut command = Command::new("prlimit");
    command.arg(format!("--as={}", mebibytes << 20)).arg(program(watcher)).args(args);
    command.env_clear().envs(b.environment()).stdin(std::process::Stdio::null());
    in_time(command)
}

#[test]
fn texts_of_a_hundred_megabytes_are_read_at_their_front() {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    b.crash_loop("t_00000002");
    b.sql(
        "UPDATE tasks SET body = CASE id WHEN 't_00000001' THEN 'watchbill: no-heal' || char(10) ELSE '' END
           || replace(hex(zeroblob(25000000)), '00', 'abcd')",
    );
    // SQLite holds one of them at a time (a pass then takes less than 150 MiB); both, each with a copy, do not fit.
    for watcher in WATCHERS.iter().copied() {
        let told = within(&b, 220, watcher, &["-n", "-v"]);
        assert_eq!(told.code, 0, "{watcher} {}", told.err);
        assert!(told.out.len() < 100_000, "{watcher} says {} bytes", told.out.len());
    }
    let told = b.heal(&["-v"]).ok();
    assert!(told.contains("t_00000001 skipped: marked `watchbill: no-heal`"), "{told}");
    assert_eq!(b.task("t_00000002", "length(body)"), "100000000", "and it is left whole");
}

#[test]
fn ten_thousand_comments_hide_no_word_and_cost_little() {
    let b = TestBoard::new();
    b.crash_loop("t_00000001");
    b.crash_loop("t_00000002");
    let at = now();
    b.sql(&format!(
        "INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('t_00000001', 'ada', 'watchbill: no-heal', {at});
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO task_comments (task_id, author, body, created_at)
           SELECT 't_0000000' || (1 + i % 2), 'luna', 'watchbill: heal' || char(10) || hex(zeroblob(2000)), {at} FROM n"
    ));
    for watcher in WATCHERS.iter().copied() {
        let told = within(&b, 300, watcher, &["-n"]);
        assert_eq!(told.code, 0, "{watcher} {}", told.err);
    }
    let told = b.heal(&["-v"]).ok();
    assert!(told.contains("t_00000001 skipped: marked"), "{told}");
    assert!(told.contains("t_00000002 reset"), "{told}");
}
