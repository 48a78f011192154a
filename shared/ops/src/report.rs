//! What a pass did, as lines for people and as one JSON object for programs. Nothing to say prints nothing.

mod plan;

use std::collections::BTreeSet;
use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::plan::{PLAN_SCHEMA, Plan, PlanBoard};
pub use base::clip::printable;
use base::error::{Error, Kind};
use base::redact;
use board::{BoardId, Outcome, Step};
use page::{Overview, text};
use policy::{Beyond, Left, Pass, Said};

/// What became of one board in one pass.
#[derive(Debug, Clone, Default)]
pub struct BoardReport {
    /// What to call it.
    pub board: String,
    /// Its file.
    pub path: String,
    /// Steps and their outcomes.
    pub steps: Vec<(Step, Outcome)>,
    /// How many open tasks were glanced at; `None` where the pass did not come so far.
    pub glanced: Option<usize>,
    /// What was skipped.
    pub left: Vec<Left>,
    /// What is said of the pass itself, such as a pause.
    pub warnings: Vec<Notice>,
    /// Findings that make the pass end with exit 1.
    pub findings: Vec<Said>,
    /// States that last.
    pub notices: Vec<Notice>,
    /// Running work that is beyond its bounds.
    pub beyond: Vec<Beyond>,
    /// Why the pass on this board ended early.
    pub error: Option<Error>,
    /// Its error was said by an earlier pass: only `-v` repeats it.
    pub muted: bool,
    /// Its error is that it is paused.
    pub is_paused: bool,
    /// The page for a person, where the watcher makes one.
    pub overview: Option<Overview>,
    /// What was seen, for `-v --json`.
    pub seen: Option<Value>,
}

/// A state that lasts: said when it begins and when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// In words, with what mends it.
    pub said: Said,
    /// How far it is.
    pub phase: Phase,
    /// Only `-v` prints it: an earlier pass did, or a step of this pass says the same.
    #[serde(skip)]
    pub muted: bool,
    /// The pass ends with exit 1 as long as it lasts.
    #[serde(skip)]
    pub fails: bool,
}

/// How far a state is that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// This pass is the first to see it.
    Began,
    /// An earlier pass said it.
    Lasts,
    /// It is over.
    Ended,
}

impl Notice {
    /// A notice as it is printed: not again while it lasts.
    pub fn new(said: impl Into<Said>, phase: Phase) -> Notice {
        Notice { said: said.into(), phase, muted: phase == Phase::Lasts, fails: false }
    }
}

impl BoardReport {
    /// An empty report on a board.
    pub fn of(id: &BoardId) -> BoardReport {
        BoardReport::new(id.name(), id.at.to_string())
    }

    /// An empty report.
    pub fn new(board: String, path: String) -> BoardReport {
        BoardReport { board, path, ..BoardReport::default() }
    }

    /// The exit code of the pass on this board.
    pub fn code(&self) -> u8 {
        match &self.error {
            Some(e) => e.kind.code(),
            None => u8::from(self.is_partial()),
        }
    }

    fn is_partial(&self) -> bool {
        let is_refused = self.steps.iter().any(|(_, o)| is_refused(o));
        !self.findings.is_empty() || self.notices.iter().any(|n| n.fails) || is_refused
    }

    /// What the operator should look at: findings, and what lasts.
    pub fn standing(&self) -> impl Iterator<Item = &Said> {
        self.findings.iter().chain(self.lasting())
    }

    /// What lasts.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = &Said> {
        self.notices.iter().filter(|n| n.phase != Phase::Ended).map(|n| &n.said)
    }
}

fn is_refused(o: &Outcome) -> bool {
    matches!(o, Outcome::Refused { .. })
}

/// One code for several boards: the common one; 0 where some passed and the rest were only busy; else 1.
pub fn common_code(codes: &[u8]) -> u8 {
    let kinds: BTreeSet<u8> = codes.iter().copied().collect();
    let busy = Kind::Busy.code();
    match kinds.len() {
        0 => 0,
        1 => codes[0],
        2 if kinds.contains(&0) && kinds.contains(&busy) => 0,
        _ => Kind::Partial.code(),
    }
}

/// How much to say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loudness {
    /// One JSON object instead of lines.
    pub json: bool,
    /// Also what was skipped, and why.
    pub verbose: bool,
    /// Errors only.
    pub quiet: bool,
    /// A person looks on: a pause is told again, also where the timer's pass told it.
    pub watched: bool,
}

/// The schema of a report.
pub const REPORT_SCHEMA: &str = "watchbill.report/1";

/// Writes the report.
///
/// # Errors
/// Whatever the output says.
pub fn write(
    out: &mut dyn Write,
    err: &mut dyn Write,
    pass: &Pass,
    version: &str,
    boards: &[BoardReport],
    plan: Option<&Plan>,
    loud: Loudness,
) -> std::io::Result<()> {
    if loud.json {
        let all = json(pass, version, boards, plan, loud);
        let whole = serde_json::to_string_pretty(&all)?;
        writeln!(out, "{}", redact::json(&whole))?;
    } else if !loud.quiet {
        for board in boards {
            lines(out, board, boards.len() > 1, loud)?;
        }
    }
    for board in boards {
        for finding in &board.findings {
            say(err, '4', pass.program, &format!("{}: {finding}", board.path))?;
        }
        let lasting = board.warnings.iter().chain(&board.notices);
        for notice in lasting.filter(|n| !n.muted || loud.verbose) {
            say(err, '4', pass.program, &format!("{}: {}", board.path, notice.said))?;
        }
        if let Some(e) = board.error.as_ref().filter(|_| !board.muted || loud.verbose || loud.watched) {
            say(err, '3', pass.program, &e.to_string())?;
        }
    }
    out.flush()?;
    err.flush()
}

fn lines(out: &mut dyn Write, board: &BoardReport, many: bool, loud: Loudness) -> std::io::Result<()> {
    let prefix = if many { format!("[{}] ", board.board) } else { String::new() };
    if let Some(overview) = &board.overview {
        // What is a finding is said with the findings.
        let mut overview = overview.clone();
        overview.unknown.drain(..overview.found);
        let mut text = Vec::new();
        text::write(&mut text, &overview, loud.verbose)?;
        if many && !text.is_empty() {
            writeln!(out, "[{}]", board.board)?;
        }
        out.write_all(&text)?;
    }
    for (step, outcome) in &board.steps {
        let tail = match outcome {
            Outcome::Applied { .. } => String::new(),
            Outcome::Planned => " (planned)".to_owned(),
            Outcome::Moved { what } => format!(" (changed meanwhile: {what})"),
            Outcome::Refused { why } => format!(" (refused: {why})"),
        };
        writeln!(
            out,
            "{prefix}{} {}: {}{tail}",
            printable(&step.task),
            step.action,
            printable(&step.because)
        )?;
    }
    if loud.verbose {
        // An overview names what is not known of each task.
        let has_unknown = board.overview.is_some();
        for left in board.left.iter().filter(|left| !(left.unknown && has_unknown)) {
            let word = if left.unknown { "unknown" } else { "skipped" };
            writeln!(out, "{prefix}{} {word}: {}", printable(&left.task), printable(&left.because))?;
        }
        if let Some(n) = board.glanced {
            writeln!(out, "{prefix}looked at {n} open tasks of {}", printable(&board.path))?;
        }
    }
    Ok(())
}

fn json(pass: &Pass, version: &str, boards: &[BoardReport], plan: Option<&Plan>, loud: Loudness) -> Value {
    let board = |b: &BoardReport| {
        let steps: Vec<Value> = b.steps.iter().map(|(s, o)| step(s, o)).collect();
        let (unknown, skipped): (Vec<_>, Vec<_>) = b.left.iter().partition(|l| l.unknown);
        let plain = |all: Vec<&Left>| -> Vec<Value> { all.iter().map(|l| left(l)).collect() };
        let mut one = json!({
            "board": b.board, "path": b.path, "exit": b.code(), "glanced": b.glanced, "steps": steps,
            "skipped": plain(skipped), "unknown": plain(unknown),
            "warnings": b.findings.iter().chain(b.warnings.iter().chain(&b.notices).map(|n| &n.said)).collect::<Vec<_>>(),
            "notices": b.notices,
            "error": b.error.as_ref().map(ToString::to_string),
        });
        if let Some(overview) = &b.overview {
            one["overview"] = json!(overview);
        }
        if let Some(seen) = b.seen.as_ref().filter(|_| loud.verbose) {
            one["seen"] = seen.clone();
        }
        one
    };
    let mut all = json!({
        "schema": REPORT_SCHEMA, "program": pass.program, "version": version, "pass": pass.id, "now": pass.now,
        "dry_run": pass.dry, "boards": boards.iter().map(board).collect::<Vec<_>>(),
    });
    if pass.clock_given {
        all["clock"] = json!("given");
    }
    if let Some(plan) = plan {
        all["plan"] = json!(plan);
    }
    all
}

fn left(l: &Left) -> Value {
    let mut one = json!({"task": l.task, "because": l.because});
    if let Some(next) = l.next {
        one["next"] = json!(next);
    }
    one
}

fn step(s: &Step, o: &Outcome) -> Value {
    let mut one = json!({
        "task": s.task, "action": s.action, "case": s.case, "cause": s.cause, "because": s.because,
        "expect": s.expect, "outcome": o.word(),
    });
    match o {
        Outcome::Moved { what } => one["moved"] = json!(what),
        Outcome::Refused { why } => one["refused"] = json!(why),
        _ => {}
    }
    one
}

/// Writes one line of warning (`4`) or error (`3`), with the level in front where the journal reads it.
///
/// # Errors
/// Whatever the output says.
pub fn say(err: &mut dyn Write, level: char, program: &str, what: &str) -> std::io::Result<()> {
    let line = printable(what);
    if journal_reads_stderr() {
        writeln!(err, "<{level}>{program}: {line}")
    } else {
        writeln!(err, "{program}: {line}")
    }
}

/// Whether stderr goes straight to the journal: `JOURNAL_STREAM` then names its device and inode (systemd.exec(5)).
fn journal_reads_stderr() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stat) = rustix::fs::fstat(std::io::stderr()) else { return false };
    stream == format!("{}:{}", stat.st_dev, stat.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_boards_have_one_code() {
        let cases: [(&[u8], u8); 8] = [
            (&[], 0),
            (&[0, 0], 0),
            (&[75], 75),
            (&[75, 75], 75),
            (&[0, 75], 0),
            (&[0, 65], 1),
            (&[66, 66], 66),
            (&[0, 75, 1], 1),
        ];
        for (codes, want) in cases {
            assert_eq!(common_code(codes), want, "{codes:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_said_once() {
        let mut board = BoardReport::new("b".into(), "/b".into());
        let mut overview = Overview::nothing("b", base::time::Time(0));
        overview.unknown = vec!["6 more tasks were not looked at".into(), "only the newest 500".into()];
        overview.found = 1;
        board.overview = Some(overview);
        board.left = vec![Left::new("t_1", "files: no log").unknown()];
        let said = |board: &BoardReport| {
            let mut out = Vec::new();
            lines(&mut out, board, false, Loudness { verbose: true, ..Loudness::default() }).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = said(&board);
        assert!(!text.contains("6 more") && !text.contains("t_1") && text.contains("newest 500"), "{text}");
        board.overview = None;
        assert!(said(&board).contains("t_1 unknown: files: no log"));
    }

    #[test]
    fn a_pause_that_was_told_is_told_again_to_a_person() {
        let mut board = BoardReport::new("b".into(), "/b".into());
        board.error = Some(Error::new(Kind::Busy, "b", "paused"));
        board.muted = true;
        let now = base::time::Time(0);
        let pass = Pass { id: "p".into(), program: "heal", now, clock_given: false, only: None, dry: false };
        let said = |loud: Loudness| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            write(&mut out, &mut err, &pass, "1", std::slice::from_ref(&board), None, loud).unwrap();
            String::from_utf8(err).unwrap()
        };
        assert_eq!(said(Loudness::default()), "");
        assert!(said(Loudness { watched: true, ..Loudness::default() }).contains("b: paused"));
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\nc"), "a [31mb c");
    }
}
