//! What is passed over changes nothing: a log read line by line and one that was skimmed come to the same.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::lines::{BLOCK, blocks};
use crate::operator_patterns::Patterns;
use crate::reader::sniff;

const SEEN: Time = Time(1_800_000_000);

/// Lines of a worker, and some that only look like one; a tool in the first ones.
const LINES: &[&str] = &[
    "  ┊ 💻 $         cargo test  0.1s",
    "  ┊ 📖 read      src/lib.rs  0.2s",
    "  ┊ ⚡ preparing terminal…",
    "  ┊",
    "  ┊ \r",
    "  ┊ \u{1b}[31mred\u{1b}[0m",
    "  ┊ a \u{7}bell",
    "  ┊ Key reported that billing, credits, or account entitlement is exhausted for x",
    "  ┊ re\u{1b}[mported that billing, credits",
    "  ┊ session_id: x",
    "\u{1b}[2m  ┊ dim",
    "   ┊ one blank too many",
    "Query: work kanban task t_1",
    "Query: work kanban task t_2",
    "Initializing agent...",
    "  ⚠ tirith security scanner enabled",
    "It looks like Hermes isn't configured yet",
    "Some words of a worker without an agent",
    "Goodbye!",
    "⚠️  API call failed (attempt 2/2): RateLimitError [HTTP 429]",
    "⚠️  Attempt 1/2 failed: HTTP 429: slow down",
    "   🔌 Provider: custom  Model: m1",
    "   🌐 Endpoint: http://127.0.0.1:1/v1",
    "   📝 Error: HTTP 429: slow down",
    "❌ Rate limited after 2 retries — HTTP 429: slow down",
    "❌ Non-retryable client error (HTTP 401). Aborting.",
    "Add credits or update billing with that provider",
    "HTTP 402: no money",
    "API call failed after 3 retries: HTTP 503: busy",
    "🔄 Switched to fallback model m2",
    "⚠ Iteration budget reached (6/6)",
    "⚠️ Kanban worker tried to exit without calling a tool",
    "⚠️  Unknown tool 'x'",
    "╭─ ⚕ Hermes ───╮",
    "    All 503 tests pass now.",
    "     HTTP 429: slow down",
    "╰──────────────╯",
    " ─  ⚕ Hermes  ─────",
    "",
    "session_id: 20261121",
    "Messages:       400 (1 user, 200 tool calls)",
    "[kanban-worker-exit] rc=75",
    "[kanban-worker-busy]",
    "\u{1b}[32m+ a line of a diff",
];

/// The part of [`LINES`] that is about tools.
const TOOLS: usize = 10;

fn log(parts: &[(usize, usize)], last: &str) -> Vec<u8> {
    let lines = parts.iter().flat_map(|(line, times)| std::iter::repeat_n(LINES[*line], *times));
    let mut log: String = lines.map(|line| format!("{line}\n")).collect();
    log.push_str(last);
    log.into_bytes()
}

/// What two readings of the first `to` bytes of a log come to: line by line, and skimmed in blocks of this size. With how many lines the
/// second one took.
fn both(log: &[u8], to: usize, block: usize, reader: &Reader) -> ([Tally; 2], usize) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(log).unwrap();
    let [mut every, mut skimmed] = [Tally::new(reader.clone()), Tally::new(reader.clone())];
    let read = |taker: &mut dyn FnMut(&File)| taker(&file);
    read(&mut |file| {
        let rest =
            blocks(file, (0, to as u64), block, &mut |line: &Piece<'_>| every.piece(line, SEEN)).unwrap();
        every.piece(&rest.piece(), SEEN);
    });
    let patterns = Patterns::default();
    let mut counted = Counted(Skimmer::new(&mut skimmed, SEEN, patterns.of_profile(None), false), 0);
    let rest = blocks(&file, (0, to as u64), block, &mut counted).unwrap();
    counted.take(&rest.piece());
    let taken = counted.1;
    ([every, skimmed], taken)
}

struct Counted<'a>(Skimmer<'a>, usize);

impl Lines for Counted<'_> {
    fn pass_over(&mut self, block: &[u8], offset: u64) -> usize {
        self.0.pass_over(block, offset)
    }

    fn take(&mut self, line: &Piece<'_>) {
        self.1 += 1;
        self.0.take(line);
    }
}

#[track_caller]
fn same(log: &[u8], to: usize, block: usize, reader: &Reader) {
    let ([every, skimmed], _) = both(log, to, block, reader);
    assert_eq!(every, skimmed, "the first {to} bytes in blocks of {block}");
    assert_eq!(every.reading(SEEN, None), skimmed.reading(SEEN, None));
}

#[test]
fn a_line_that_ends_in_a_return_and_a_newline_is_one() {
    for (bytes, want) in [
        ("work", vec![("work", 7)]),
        ("work\r", vec![("work", 7)]),
        ("", vec![("", 7)]),
        ("\r", vec![("", 7)]),
        ("1 %\r2 %\r", vec![("1 %", 7), ("2 %", 11)]),
        ("1 %\r2 %", vec![("1 %", 7), ("2 %", 11)]),
    ] {
        let mut seen = Vec::new();
        let piece = Piece { bytes: bytes.as_bytes(), offset: 7, is_cut: false };
        let mut tally = Tally::new(Reader::named("plain", None));
        tally.piece_told(&piece, SEEN, &mut |line, _, _| seen.push((line.text.to_owned(), line.offset)));
        let want: Vec<_> = want.into_iter().map(|(text, at)| (text.to_owned(), at)).collect();
        assert_eq!(seen, want, "{bytes:?}");
    }
}

fn parts() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let line = prop_oneof![3 => 0..TOOLS, 2 => 0..LINES.len()];
    let times = prop_oneof![3 => 1_usize..3, 1 => 3_usize..15];
    prop::collection::vec((line, times), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn skimming_changes_nothing(
        parts in parts(), last in 0..LINES.len(), to in 0.0..1.0_f64, block in 24_usize..900, task in prop_oneof![Just(""), Just("t_1")]
    ) {
        let log = log(&parts, LINES[last]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place")]
        let to = (to * log.len() as f64) as usize;
        let reader = Reader::named("hermes", Some(task));
        for to in [log.len(), to] {
            same(&log, to, block, &reader);
        }
        same(&log, log.len(), BLOCK, &reader);
    }
}

#[test]
fn skimming_changes_nothing_of_what_was_recorded() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut all = Vec::new();
    let mut seen = 0;
    for folder in
        ["fixtures/hermes-logs", "fixtures/hermes-0.22", "fuzz/corpus/hermes", "fuzz/corpus/log_file"]
    {
        for file in fs::read_dir(tests.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let log = fs::read(&path).unwrap();
            let text = lossy(&log);
            let first: Vec<&str> = text.lines().take(50).collect();
            let sniffed = sniff(&first, None, Some("t_1")).reader();
            for reader in [sniffed, Reader::named("hermes", None)] {
                for block in [100, 1_000, BLOCK] {
                    same(&log, log.len(), block, &reader);
                }
            }
            all.extend_from_slice(&log);
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} logs");
    for block in [100, 1_000, BLOCK] {
        same(&all, all.len(), block, &Reader::named("hermes", None));
    }
}

#[test]
fn of_a_run_of_tools_a_few_lines_are_taken() {
    let lines = 1_000;
    let tools = log(&[(12, 1), (14, 1), (0, lines)], "");
    let ([every, skimmed], taken) = both(&tools, tools.len(), BLOCK, &Reader::named("hermes", None));
    assert_eq!(every, skimmed);
    assert!(taken < 30, "{taken} lines of {lines} were taken");
}
