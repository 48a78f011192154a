//! The tutorial: every block of `docs/first-night.md`, run in its order in one shell and one temporary home, prints what stands there.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::{place, programs, text};
use crate::support::{TestBoard, hostname, program, ran};
use crate::tools;

const PAGE: &str = "docs/first-night.md";

/// What stands between the outputs of two blocks.
const MARK: &str = "==== next block ====";

/// A block to run, and what it prints.
struct Block<'a> {
    run: &'a str,
    prints: &'a str,
}

/// The blocks of a page: each `sh`, with the `text` behind it. A block without a `text` prints nothing.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut all: Vec<Block> = Vec::new();
    for fenced in page.split("```").skip(1).step_by(2) {
        let (kind, inner) = fenced.split_once('\n').unwrap();
        match kind {
            "sh" => all.push(Block { run: inner, prints: "" }),
            "text" => all.last_mut().unwrap().prints = inner,
            other => panic!("{PAGE} has a block of {other:?}"),
        }
    }
    all
}

/// One word without what differs each time: ids, pids, times, lengths of time, the name and home of this machine.
fn masked(word: &str) -> String {
    // The folder of a board's logs is named by a hash of the board's path.
    let is_hash = |part: &str| part.len() == 16 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let word =
        word.split('/').map(|part| if is_hash(part) { "HASH" } else { part }).collect::<Vec<_>>().join("/");
    let word = word.as_str();
    let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let is_length = core.len() == digits + 1 && core.ends_with(['s', 'm', 'h', 'd']);
    let is_time =
        core.len() == digits + core.matches([':', '-', '+', 'T', 'Z']).count() && core.contains(':');
    let is_date = digits == 8 && core.len() == 10 && core.matches('-').count() == 2;
    let is_pid = digits == core.len() && digits >= 4;
    if digits > 0 && (is_length || is_time || is_date || is_pid) {
        return word.replace(core, "N").trim_start_matches('+').to_owned();
    }
    let mut parts = word.split("t_");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| match part.get(..8) {
        Some(id) if id.bytes().all(|b| b.is_ascii_hexdigit()) => format!("{all}ID{}", &part[8..]),
        _ => format!("{all}t_{part}"),
    })
}

/// Lines of masked words. Columns are as wide as what differs, so blanks count once, and several lengths of time are one (`1m 5s`).
pub(super) fn comparable(text: &str) -> Vec<String> {
    let line = |l: &str| {
        // What was done within this second, and one second ago in the next run.
        let l = l.replace("just now", "0s ago");
        let mut words: Vec<String> = l.split_whitespace().map(masked).collect();
        // The pid of a machine that started a minute ago, or whose pids began again, has few digits.
        for n in 1..words.len() {
            let names_one = ["worker", "pid", "process"].iter().any(|w| words[n - 1].ends_with(w));
            let core = words[n].trim_end_matches(|c: char| c.is_ascii_punctuation());
            if names_one && !core.is_empty() && core.bytes().all(|b| b.is_ascii_digit()) {
                words[n] = words[n].replace(core, "N");
            }
        }
        words.dedup_by(|next, before| before == "N" && next.starts_with('N'));
        words.join(" ")
    };
    // Some shells say of a process in the background that it was killed.
    text.lines().filter(|l| !l.contains(" Killed ")).map(line).collect()
}

#[test]
fn pids_are_masked_however_short_they_are() {
    let said = |pid: u32| comparable(&format!("t_0000000a note: worker {pid} gone; (pid {pid}), 2 tasks"));
    assert_eq!(said(646), said(12_061));
    assert_eq!(said(7), ["ID note: worker N gone; (pid N), 2 tasks"]);
    assert_eq!(comparable("requeued just now"), comparable("requeued 1s ago"));
}

/// What every block prints, in a home with a Hermes board, and with a systemd that does nothing.
fn run(blocks: &[Block]) -> Vec<String> {
    // Tests may run as root: there the default, and `--as system`, write into /etc.
    let installs = blocks.iter().flat_map(|b| b.run.lines()).filter(|l| l.contains("timers install"));
    assert!(installs.into_iter().all(|l| l == "watchbill timers install --as user"));
    let board = TestBoard::new();
    let home = board.path();
    fs::create_dir(home.join(".hermes")).unwrap();
    for name in ["kanban", "kanban.db", "kanban.db-wal", "kanban.db-shm"] {
        let _ = fs::rename(home.join(name), home.join(".hermes").join(name));
    }
    // Puts the stand-ins for `systemctl` and its like into a folder of the home.
    ran(&mut tools::watchbill(&board, &["--version"])).ok();
    let bin = home.join("tools");
    for name in programs() {
        symlink(program(&name), bin.join(&name)).unwrap();
    }
    let script: String = blocks.iter().map(|b| format!("{}echo '{MARK}'\n", b.run)).collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(home).env_clear();
    shell.env("HOME", home).env("TZ", "UTC").env("USER", "you").env("WATCHBILL_HOST_PID_NAMESPACE", "same");
    shell.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let ran = ran(shell.stdin(Stdio::null()).process_group(0));
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = ran.out.replace(home.to_str().unwrap(), "/home/you").replace(&hostname(), "tower");
    let mut outputs: Vec<String> = told.split(&format!("{MARK}\n")).map(str::to_owned).collect();
    assert_eq!(outputs.pop().as_deref(), Some(""), "a block ended the shell: {told}");
    outputs
}

#[test]
fn every_block_of_the_first_night_prints_what_stands_there() {
    let page = text(PAGE);
    let blocks = blocks(&page);
    assert!(blocks.len() >= 15, "only {} blocks were found", blocks.len());
    let outputs = run(&blocks);
    assert_eq!(outputs.len(), blocks.len());
    let mut mended = String::new();
    let mut rest = &*page;
    for (block, output) in blocks.iter().zip(&outputs) {
        let same = comparable(block.prints) == comparable(output);
        if std::env::var_os("WATCHBILL_BLESS").is_none() {
            assert!(same, "{PAGE}: this block\n{}prints\n{output}and not\n{}", block.run, block.prints);
            continue;
        }
        let (before, after) = rest.split_once(&format!("```sh\n{}```\n", block.run)).unwrap();
        mended.push_str(&format!("{before}```sh\n{}```\n", block.run));
        let old = format!("\n```text\n{}```\n", block.prints);
        rest = after.strip_prefix(&old).unwrap_or(after);
        match (same, output.is_empty()) {
            (true, true) | (false, true) => {}
            (true, false) => mended.push_str(&old),
            (false, false) => mended.push_str(&format!("\n```text\n{output}```\n")),
        }
    }
    if !mended.is_empty() {
        fs::write(place(PAGE), mended + rest).unwrap();
    }
}
