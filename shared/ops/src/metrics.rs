//! What a pass leaves for the textfile collector of node_exporter: one file a program, in the text format of Prometheus.
//! It is the record of the last pass as well, which `watchbill doctor` and `watchbill check` read: a pass that has nothing
//! to do writes nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::report::BoardReport;
use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use base::time::Time;
use base::untrusted_file;

/// How our files begin; nothing else is ever replaced.
const BEGINS: &str = "# HELP watchbill_";

/// The smallest block of a disk, in bytes.
const BLOCK: usize = 512;

/// Most bytes that are read of a file to see whether Watchbill wrote it.
const MAX_BYTES: u64 = 1 << 20;

/// Most sums of steps carried on from the last pass. A board has a few dozen of them.
const MAX_SUMS: usize = 1_000;

/// Most boards of other passes that a file still names, and for how many seconds.
const MAX_BOARDS: usize = 100;
const NAMED: i64 = 7 * 86_400;

/// One metric: name, type and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// `watchbill_` and what it measures, with its unit.
    pub name: &'static str,
    /// `gauge` or `counter`.
    pub kind: &'static str,
    /// In one line.
    pub help: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
}

pub(crate) const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: "gauge", help, labels }
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: "counter", help, labels }
}

/// What names the file of a pass.
const FLAG: &str = "--metrics";
const PROGRAM: &[&str] = &["program"];
const BOARD: &[&str] = &["program", "board"];
const LAST: &str = "watchbill_last_pass_timestamp_seconds";
const EXIT: &str = "watchbill_last_pass_exit_code";
const BOARD_EXIT: &str = "watchbill_board_exit_code";
const BUSY_SINCE: &str = "watchbill_board_busy_since_timestamp_seconds";
const PASSES: &str = "watchbill_passes_total";
const STEPS: &str = "watchbill_steps_total";
const LOOKED: &str = "watchbill_board_last_pass_timestamp_seconds";

/// Every metric, in the order they are written in.
pub const METRICS: [Metric; 13] = [
    gauge(
        "watchbill_build_info",
        &["program", "version"],
        "Always 1; says which version made the last pass.",
    ),
    gauge(LAST, PROGRAM, "When the last pass began, in seconds since 1970."),
    gauge("watchbill_last_pass_duration_seconds", PROGRAM, "How long the last pass took."),
    gauge(EXIT, PROGRAM, "The exit code of the last pass."),
    counter(PASSES, PROGRAM, "Passes since this file was made."),
    gauge("watchbill_boards", PROGRAM, "Boards the last pass looked at."),
    gauge(BOARD_EXIT, BOARD, "The exit code of the last pass on this board."),
    gauge(
        LOOKED,
        &["program", "path"],
        "When the last pass on the board at this place began, in seconds since 1970; boards of other passes stay for a week.",
    ),
    gauge(
        BUSY_SINCE,
        BOARD,
        "Since when no pass has got through because others write there, in seconds since 1970; 0 where the last one did.",
    ),
    gauge("watchbill_open_tasks", BOARD, "Open tasks the last pass glanced at."),
    gauge("watchbill_unknown_tasks", BOARD, "Tasks skipped because something about them is not known."),
    gauge("watchbill_findings", BOARD, "Findings and notices for the operator, such as a wedged dispatcher."),
    counter(
        STEPS,
        &["program", "board", "case", "outcome"],
        "Steps since this file was made, by case and outcome.",
    ),
];

/// A pass that is over.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// Which program.
    pub program: &'a str,
    /// Its version.
    pub version: &'a str,
    /// When it began.
    pub at: Time,
    /// How long it took.
    pub took: Duration,
    /// How the whole of it ended.
    pub exit: u8,
    /// What became of each board.
    pub boards: &'a [BoardReport],
}

/// What a file says of the last pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it began.
    pub at: Time,
    /// How it ended.
    pub exit: u8,
    /// Since when no pass has got through a board that others write to; of several boards the earliest.
    pub busy_since: Option<Time>,
}

/// Where the timers of `watchbill timers` let a program leave its file, in the folder of the state file.
pub fn place(state: &Path, program: &str) -> PathBuf {
    state.join("metrics").join(format!("{program}.prom"))
}

/// What the file at `path` says of the last pass of `program`; `None` where there is no record of Watchbill.
pub fn record(path: &Path, program: &str) -> Option<Record> {
    Kept::read(path, program)?.record()
}

/// What the file of a program's passes says.
#[derive(Debug)]
pub struct Kept(Vec<Sample>);

impl Kept {
    /// Of the file at `path`, what is about `program`; `None` where there is no file of Watchbill.
    pub fn read(path: &Path, program: &str) -> Option<Kept> {
        let mut all = samples(&untrusted_file::text(path)?)?;
        all.retain(|s| s.label("program") == Some(program));
        Some(Kept(all))
    }

    fn of(&self, name: &'static str) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |s| s.name == name)
    }

    /// Its last pass.
    pub fn record(&self) -> Option<Record> {
        let first = |name| self.of(name).next().map(|s| s.value);
        let busy_since = self.of(BUSY_SINCE).filter(|s| s.value > 0.0).map(|s| Time(s.value as i64)).min();
        Some(Record { at: Time(first(LAST)? as i64), exit: first(EXIT)? as u8, busy_since })
    }

    /// The boards on which its last pass failed, each with the exit code: not those that were busy or paused, nor those of which only a part
    /// could not be looked at or changed.
    pub fn failed(&self) -> BTreeMap<String, u8> {
        let is_failure = |code: &u8| ![0, Kind::Partial.code(), Kind::Busy.code()].contains(code);
        let boards = self.of(BOARD_EXIT).filter_map(|s| Some((s.label("board")?.to_owned(), s.value as u8)));
        boards.filter(|(_, code)| is_failure(code)).collect()
    }

    /// When its passes last looked at each board, by the place of the board.
    pub fn boards(&self) -> impl Iterator<Item = (&str, Time)> {
        self.of(LOOKED).filter_map(|s| Some((s.label("path")?, Time(s.value as i64))))
    }
}

/// Writes the file anew, beside its place first, so that nobody ever reads half of it.
///
/// # Errors
/// `Usage` for a place that node_exporter passes over or that holds something else, `Io` where it cannot be written.
pub fn write(file: &Path, ended: &Ended<'_>) -> Result<()> {
    let before = before(FLAG, file)?;
    put(FLAG, file, &render(ended, &before))
}

/// Puts values in the place of those that were there. `flag`: what named the file.
///
/// # Errors
/// As [`write`].
pub(crate) fn replace(flag: &str, file: &Path, metrics: &[Metric], samples: &[Sample]) -> Result<()> {
    before(flag, file)?;
    put(flag, file, &text(metrics, samples))
}

fn put(flag: &str, file: &Path, text: &str) -> Result<()> {
    let at = named(flag, file);
    // 74 and not 77: the pass itself was permitted all it did.
    let wrong = |e: &io::Error| Error::unwritten(Kind::Io, &at, e);
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| wrong(&e))?;
    // The collector is another user.
    let new = beside(folder, text, 0o644).map_err(|e| wrong(&e))?;
    // No pass waits for a disk here: what a loss of power leaves of it is made anew, see [`is_rest_of_ours`].
    new.persist(file).map_err(|e| wrong(&e.error))?;
    Ok(())
}

/// Refuses a place before anything is done whose end could not be written there.
///
/// # Errors
/// `Usage` for a place that node_exporter passes over or that holds something else.
pub fn check(file: &Path) -> Result<()> {
    before(FLAG, file).map(|_| ())
}

fn named(flag: &str, file: &Path) -> String {
    format!("{flag} {}", file.display())
}

fn before(flag: &str, file: &Path) -> Result<Vec<Sample>> {
    let refused = |what: &str| Error::new(Kind::Usage, named(flag, file), what);
    if file.extension().is_none_or(|x| x != "prom") {
        return Err(refused("does not end in .prom").hint("node_exporter passes over every other name"));
    }
    old(file).map_err(|what| refused(what).hint("name a file of its own, one for each program"))
}

/// What the last pass left there; nothing where nothing is.
fn old(file: &Path) -> std::result::Result<Vec<Sample>, &'static str> {
    match file.symlink_metadata() {
        Err(_) => return Ok(Vec::new()),
        Ok(m) if !m.is_file() => return Err("is not a plain file"),
        Ok(m) if m.len() == 0 => return Ok(Vec::new()),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = untrusted_file::open(file).and_then(|f| f.take(MAX_BYTES).read_to_end(&mut bytes));
    if read.is_err() || !(bytes.starts_with(BEGINS.as_bytes()) || is_rest_of_ours(&bytes)) {
        return Err("holds something else than metrics of a watcher");
    }
    // A damaged one only costs its sums.
    Ok(untrusted_file::text(file).and_then(|text| samples(&text)).unwrap_or_default())
}

/// What a loss of power leaves of a file of Watchbill: blocks of NUL bytes, and lines of it of which only the first and the last may be cut.
fn is_rest_of_ours(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_ours = |line: &&str| {
        let line = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE ")).unwrap_or(line);
        line.starts_with("watchbill_")
    };
    // Beside a block of NUL bytes may be no whole line.
    let is_torn = bytes.iter().filter(|byte| **byte == 0).count() >= BLOCK;
    let is_rest = |part: &str| {
        let lines: Vec<&str> = part.lines().skip(1).collect();
        let whole = &lines[..lines.len().saturating_sub(usize::from(!part.ends_with('\n')))];
        (is_torn || !whole.is_empty()) && whole.iter().all(is_ours)
    };
    text.split('\0').filter(|part| !part.is_empty()).all(is_rest)
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    pub(crate) fn new(name: &str, labels: &[(&str, &str)], value: f64) -> Sample {
        let labels = labels.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Sample { name: name.to_owned(), labels, value }
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// The values of a text in the form [`render`] gives it; `None` for any other.
fn samples(text: &str) -> Option<Vec<Sample>> {
    text.lines().filter(|l| !l.starts_with('#')).map(sample).collect()
}

fn sample(line: &str) -> Option<Sample> {
    let (name, rest) = line.split_once('{')?;
    let (mut labels, mut rest) = (Vec::new(), rest);
    let value = loop {
        let (label, after) = rest.split_once("=\"")?;
        let (mut text, mut chars) = (String::new(), after.char_indices());
        let end = loop {
            match chars.next()? {
                (i, '"') => break i,
                (_, '\\') => text.push(match chars.next()?.1 {
                    'n' => '\n',
                    c => c,
                }),
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        let after = &after[end + 1..];
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => break after.strip_prefix("} ")?,
        }
    };
    Some(Sample { name: name.to_owned(), labels, value: value.parse().ok()? })
}

/// The text of a pass that is over, with the sums of those before it.
fn render(ended: &Ended<'_>, before: &[Sample]) -> String {
    let one = |name: &'static str, more: &[(&str, &str)], value: f64| {
        Sample::new(name, &[&[("program", ended.program)], more].concat(), value)
    };
    let mine = before.iter().filter(|s| s.label("program") == Some(ended.program));
    let passes = mine.clone().find(|s| s.name == PASSES).map_or(0.0, |s| s.value);
    let busy: Vec<&Sample> = mine.clone().filter(|s| s.name == BUSY_SINCE && s.value > 0.0).collect();
    let is_here = |s: &&Sample| ended.boards.iter().any(|b| s.label("path") == Some(b.path.as_str()));
    let is_kept = |s: &&Sample| (0..NAMED).contains(&ended.at.since(Time(s.value as i64)));
    let others = mine.clone().filter(|s| s.name == LOOKED && !is_here(s) && is_kept(s));
    let others: Vec<Sample> = others.take(MAX_BOARDS).cloned().collect();
    let mut sums: BTreeMap<Vec<(String, String)>, f64> =
        mine.filter(|s| s.name == STEPS).take(MAX_SUMS).map(|s| (s.labels.clone(), s.value)).collect();
    let mut all = vec![
        one("watchbill_build_info", &[("version", ended.version)], 1.0),
        one(LAST, &[], ended.at.0 as f64),
        one("watchbill_last_pass_duration_seconds", &[], ended.took.as_secs_f64()),
        one(EXIT, &[], f64::from(ended.exit)),
        one(PASSES, &[], passes + 1.0),
        one("watchbill_boards", &[], ended.boards.len() as f64),
    ];
    for board in ended.boards {
        // Two roots may have a board of one name each, and nobody else may have the same labels.
        let is_alone = ended.boards.iter().filter(|b| b.board == board.board).count() == 1;
        let name = if is_alone { &board.board } else { &board.path };
        let on = [("board", name.as_str())];
        all.push(one(BOARD_EXIT, &on, f64::from(board.code())));
        all.push(one(LOOKED, &[("path", board.path.as_str())], ended.at.0 as f64));
        let is_busy = board.code() == Kind::Busy.code() && !board.is_paused;
        let now = one(BUSY_SINCE, &on, if is_busy { ended.at.0 as f64 } else { 0.0 });
        let before = busy.iter().find(|s| is_busy && s.labels == now.labels && s.value <= now.value);
        all.push(before.map_or(now, |s| (*s).clone()));
        all.extend(board.glanced.map(|n| one("watchbill_open_tasks", &on, n as f64)));
        let unknown = board.left.iter().filter(|l| l.unknown).count();
        all.push(one("watchbill_unknown_tasks", &on, unknown as f64));
        all.push(one("watchbill_findings", &on, board.standing().count() as f64));
        for (step, outcome) in &board.steps {
            let more = [on[0], ("case", step.case.as_str()), ("outcome", outcome.word())];
            *sums.entry(one(STEPS, &more, 0.0).labels).or_default() += 1.0;
        }
    }
    all.extend(others);
    all.extend(sums.into_iter().map(|(labels, value)| Sample { name: STEPS.to_owned(), labels, value }));
    text(&METRICS, &all)
}

/// Values in the text format of Prometheus, by metric.
fn text(metrics: &[Metric], all: &[Sample]) -> String {
    let mut out = String::new();
    for m in metrics {
        let mut of_it = all.iter().filter(|s| s.name == m.name).peekable();
        if of_it.peek().is_none() {
            continue;
        }
        // Writing to a text never fails.
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {0} {}", m.name, m.help, m.kind);
        for s in of_it {
            let labels = s.labels.iter().map(|(n, v)| format!("{n}=\"{}\"", escaped(v)));
            let labels = labels.collect::<Vec<_>>().join(",");
            let _ = match labels.is_empty() {
                true => writeln!(out, "{} {}", s.name, s.value),
                false => writeln!(out, "{}{{{labels}}} {}", s.name, s.value),
            };
        }
    }
    out
}

/// A label's value as the format wants it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
