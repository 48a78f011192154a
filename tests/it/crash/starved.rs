//! No space, a broken disk, or a file system that became read-only, at every call that writes: one clear line, a sound
//! board, and the next pass makes up for it.

use std::collections::BTreeMap;
use std::process::Command;

use super::killed::{recovers, undisturbed};
use super::scene::{self, Scene, copy, told};
use super::strace::{self, Call, Ended, disturbed, from_here, may_trace};
use super::{in_parallel, must, say};
use crate::support::TestBoard;

/// How often a call without a name of its own is looked for again.
const TRIES: usize = 10;

/// Calls with a file behind them; a full output is `exits::a_full_disk_and_a_closed_pipe`.
fn on_files(all: Vec<Call>) -> Vec<Call> {
    all.into_iter().filter(|c| c.file.is_some()).collect()
}

/// What a failed call may lead to.
fn judge(scene: &Scene, b: &TestBoard, call: &Call, ended: &Ended) -> Result<String, String> {
    let code = ended.code.ok_or_else(|| format!("{ended:?}"))?;
    let lines: Vec<&str> = ended.err.lines().collect();
    let named = |file: &str| lines.iter().filter(|l| l.contains(file)).count();
    // One line for each file that failed: the board's, that of our memory, or the page.
    must(named("kanban.db") <= 1 && named("state.db") <= 1 && lines.len() <= 2, || format!("{ended:?}"))?;
    must([0, 1, 74, 77].contains(&code), || format!("exit {code}: {ended:?}"))?;
    // Where only our memory failed, all is done, and the pass ends with 1.
    let forgets = named("state.db") == 1 && named("kanban.db") == 0;
    must((code == 1) == (forgets && ![74, 77].contains(&code)), || format!("exit {code}: {ended:?}"))?;
    must(code == 0 || !lines.is_empty(), || format!("exit {code} without a word"))?;
    must(code != 0 || named("kanban.db") == 0, || format!("a board that failed, and exit 0: {ended:?}"))?;
    let seen = copy(b);
    must(seen.value("PRAGMA integrity_check") == "ok", || "not sound".into())?;
    let rows = told(b, seen.dump());
    must(![0, 1].contains(&code) || rows != scene.start(), || format!("exit {code}, and nothing was done"))?;
    let word = lines.iter().map(|l| l.rsplit('/').next().unwrap_or(l)).collect::<Vec<_>>().join(" | ");
    Ok(format!("{:22} {:10} exit {code} {word}", call.on(), call.name))
}

#[track_caller]
fn starves(scene: &Scene, what: &str, lasting: bool, every: usize) {
    let (all, left) = undisturbed(scene);
    let all: Vec<Call> = on_files(all).into_iter().filter(|c| !lasting || c.name == "pwrite64").collect();
    let points: Vec<&Call> = all.iter().step_by(every).collect();
    let said = in_parallel(&points, |call| {
        let tell = |e: String| format!("{}, {what} at {}: {e}", scene.name, call.told());
        let once = || {
            let b = scene.copy();
            let command = scene.command(&b);
            let ended = match lasting {
                true => from_here(&command, call, what),
                false => disturbed(&command, b.path(), call, what),
            };
            (b, ended)
        };
        let (mut b, mut ended) = once();
        // A file of a random name is met by its place among all calls, and other files make that differ from run to run.
        for _ in 0..TRIES {
            if ended.trace.contains("(INJECTED)") || !(call.has_random_name() || lasting) {
                break;
            }
            (b, ended) = once();
        }
        must(ended.trace.contains("(INJECTED)"), || tell(format!("it did not happen: {ended:?}")))?;
        let word = judge(scene, &b, call, &ended).map_err(tell)?;
        recovers(scene, &b, &left).map_err(tell)?;
        Ok(word)
    });
    let mut table: BTreeMap<String, usize> = BTreeMap::new();
    said.into_iter().for_each(|word| *table.entry(word).or_default() += 1);
    let from = if lasting { " and from there on" } else { "" };
    let mut text = format!("{}: {what} at {} calls{from}\n", scene.name, points.len());
    table.iter().for_each(|(word, n)| text.push_str(&format!("  {n:4} x {word}\n")));
    say(&text);
}

#[test]
fn a_full_disk() {
    if may_trace() {
        starves(&scene::heal(), "error=ENOSPC", false, 1);
        starves(&scene::heal(), "error=ENOSPC", true, 1);
        starves(&scene::route(), "error=ENOSPC", true, 3);
        starves(&scene::distress(), "error=ENOSPC", true, 3);
    }
}

#[test]
fn a_broken_disk() {
    if may_trace() {
        starves(&scene::heal(), "error=EIO", false, 1);
        starves(&scene::budget(), "error=EIO", false, 3);
    }
}

/// A file system of our own, which only this test's processes see, with a copy of the board in it. A pass that is held at
/// one of its calls is under way when the script makes the file system read-only.
const REMOUNT: &str = r#"
mount -t tmpfs none "$MOUNT" && cp -a "$BOARD/." "$MOUNT" || exit 9
"$@" &
pass=$!
until grep -qs "stopped by SIGSTOP" "$TRACE"; do sleep 0.02; done
mount -o remount,ro "$MOUNT" 2>/dev/null && echo became || echo refused
kill -CONT "$(sed -n 's/ .*stopped by SIGSTOP.*//p' "$TRACE")"
wait $pass; echo $?
mount -o remount,rw "$MOUNT" 2>/dev/null; cp -a "$MOUNT/." "$AFTER"
"#;

fn may_mount() -> bool {
    let mut probe = Command::new("unshare");
    let ok =
        probe.args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).output().is_ok_and(|o| o.status.success());
    assert!(
        ok || std::env::var("WATCHBILL_UNSHARE").is_ok_and(|v| v == "skip"),
        "no right to mount anything (run as root, or set WATCHBILL_UNSHARE=skip to leave this test out)"
    );
    if !ok {
        say("left out: WATCHBILL_UNSHARE=skip");
    }
    ok
}

/// While a pass has the board open, the kernel refuses to make its file system read-only and the pass ends as ever. Before
/// that it becomes read-only, and the pass says so and changes nothing.
#[test]
fn a_read_only_remount_in_the_middle_of_a_pass() {
    if !may_trace() || !may_mount() {
        return;
    }
    let scene = scene::heal();
    let (all, left) = undisturbed(&scene);
    let config = Call { name: "openat".into(), file: Some("watchbill.toml".into()), nth: 1, of_all: 1 };
    let of_log: Vec<&Call> = all.iter().filter(|c| c.on() == "kanban.db-wal").collect();
    let (first, last) = (of_log[0], of_log[of_log.len() - 1]);
    for (call, says, code) in [(&config, "became", 77), (first, "refused", 0), (last, "refused", 0)] {
        let [mount, after, notes] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let board = scene.copy();
        // The programs see the mounted copy under the name of an empty folder.
        let there =
            TestBoard { db: mount.path().join("kanban.db"), dir: mount, config: board.config.clone() };
        let command = scene.command(&there);
        let trace = notes.path().join("trace");
        let pass = strace::holding(&command, there.path(), call, &trace);
        std::fs::rename(there.path().join("watchbill.toml"), board.path().join("watchbill.toml")).unwrap();
        let mut all = Command::new("unshare");
        all.args(["-m", "sh", "-c", REMOUNT, "sh"]).arg(pass.get_program()).args(pass.get_args());
        all.env_clear().envs(pass.get_envs().filter_map(|(k, v)| Some((k, v?))));
        all.env("MOUNT", there.path())
            .env("BOARD", board.path())
            .env("AFTER", after.path())
            .env("TRACE", &trace);
        let ran = crate::support::ran(&mut all);
        let lines: Vec<&str> = ran.out.lines().filter(|l| !l.starts_with("t_")).collect();
        assert_eq!(lines, [says, &code.to_string()], "{}: {ran:?}", call.told());
        let db = after.path().join("kanban.db");
        let after = TestBoard { dir: after, db, config: board.config.clone() };
        let rows = told(&there, after.dump());
        if code == 0 {
            assert!(rows == left, "{}: another end", call.told());
        } else {
            assert!(rows == told(&board, board.dump()), "a read-only board was changed");
            assert_eq!(ran.err.lines().filter(|l| l.contains("kanban.db")).count(), 1, "{ran:?}");
        }
    }
}

/// As a file system does that finds itself damaged (ext4's `errors=remount-ro`).
#[test]
fn a_disk_that_becomes_read_only() {
    if may_trace() {
        starves(&scene::heal(), "error=EROFS", true, 2);
    }
}
