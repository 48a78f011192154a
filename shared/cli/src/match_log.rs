//! `watchbill match`: shows line by line what is read out of a log, so that one we misread can be sent to us.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::output_code;
use base::cause::Cause;
use base::clip::clip;
use base::error::{Error, Kind, Result};
use base::redact::{redact, visible};
use base::time::Time;
use config::{Config, Loaded};
use logs::operator_patterns::{Patterns, Rules, Taught};
use logs::{Format, Line, LogEnd, Reader, Signal, SignalKind, file};
use ops::pass::damage::REFUSED;
use ops::report::printable;

mod suspect;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.match/1";

/// Most lines in the JSON object; of more, the rest is counted.
const MAX_LINES: usize = 10_000;

/// Most lines listed that look like failures and are not understood: the newest.
const MAX_MISSED: usize = 20;

/// Most lines that are remembered for what later lines say of them.
const MAX_RECENT: usize = 1_000;

/// Most bytes of a line that are shown.
const MAX_SHOWN: usize = 240;

/// Most bytes of a line that are looked through for secrets before it is cut.
const MAX_REDACTED: usize = 8 << 10;

/// So many bytes of the lines before a line are looked through with it, and at most twice as many: as long as a private key.
const MAX_BEFORE: usize = 4 << 10;

#[derive(Debug, Args)]
pub(super) struct MatchArgs {
    /// The log file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read it as this format [default: detected from its first lines]
    #[arg(long, value_parser = PossibleValuesParser::new(Reader::names()), value_name = "FORMAT")]
    format: Option<String>,
    /// Read it as a board's log of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Show every line
    #[arg(long)]
    all: bool,
    /// Show the rule that decides each line: a built-in one, or a `[[match]]` of the configuration
    #[arg(long)]
    explain: bool,
    /// Read it as the log of a worker of this profile, and ignore patterns for other profiles
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Read only this configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &MatchArgs) -> Result<u8> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let done = matched(args, &mut out).and_then(|()| out.flush().map_err(Failed::Output));
    match done {
        Ok(()) => Ok(0),
        Err(Failed::Input(e)) => Err(e),
        Err(Failed::Output(e)) => {
            // What is still buffered has nowhere to go.
            drop(out.into_parts());
            let code = output_code(&e);
            if code == 0 { Ok(0) } else { Err(Error::new(Kind::Io, "stdout", e)) }
        }
    }
}

/// Whether a file is a database: a board, or the sessions of an agent. Other bytes that no text has also stand in logs.
fn is_database(file: &Path) -> bool {
    let mut begins = Vec::new();
    let plain = base::untrusted_file::open(file).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()));
    let read = plain.and_then(|f| f.take(1_024).read_to_end(&mut begins).ok());
    read.is_some() && begins.starts_with(b"SQLite format 3\0")
}

enum Failed {
    Input(Error),
    Output(std::io::Error),
}

fn matched(args: &MatchArgs, out: &mut dyn Write) -> std::result::Result<(), Failed> {
    let at = args.file.display();
    // Which code it ends with depends on what is wrong with the file; its reader only says so in words.
    std::fs::symlink_metadata(&args.file).map_err(|e| Failed::Input(Error::io(&at, &e)))?;
    if is_database(&args.file) {
        let e = Error::new(Kind::Data, &at, "a database, not a log")
            .hint("name a text file, such as kanban/logs/t_1a2b3c4d.log");
        return Err(Failed::Input(e));
    }
    let env = std::env::vars_os().collect();
    let Loaded { config, origin } = Config::load(args.config.as_deref(), &env).map_err(Failed::Input)?;
    let patterns = Patterns::of(&config.matches);
    let rules = match &args.profile {
        Some(name) => patterns.of_profile(Some(name)),
        None => patterns.of_any_profile(),
    };
    let mut seen = Seen::new(args, rules, origin.get("match").cloned());
    let mut shown = Ok(());
    let mut each = |line: &Line<'_>, _: &[Signal], sniffed: &Reader| {
        if shown.is_ok() {
            shown = seen.line(line, sniffed, out);
        }
    };
    let read = file::read_all(&args.file, args.task.as_deref(), Time::of_clock(), Some(&mut each));
    read.map_err(|why| Failed::Input(Error::new(Kind::Data, &at, why)))?;
    shown.and_then(|()| seen.finish(&args.file, out)).map_err(Failed::Output)
}

/// A line that looks like a failure and is understood as none. It is made safe once it is shown: of many only the newest are.
struct Missed {
    line: u64,
    offset: u64,
    before: String,
    text: String,
}

impl Missed {
    fn shown(&self) -> Value {
        json!({"line": self.line, "offset": self.offset, "words": safe_line(&self.before, &self.text)})
    }
}

/// What came of the log so far.
struct Seen<'a> {
    args: &'a MatchArgs,
    rules: Rules<'a>,
    /// The file that holds them.
    rules_file: Option<String>,
    taught: Taught,
    reader: Option<Reader>,
    lines: u64,
    turn: u64,
    attempts: u64,
    attempt_line: u64,
    counts: BTreeMap<Cause, [u64; 3]>,
    /// Where the newest lines start, and which they are: some are only understood when later ones are read.
    recent: VecDeque<(u64, u64)>,
    /// The lines before this one.
    before: String,
    /// The line on which the newest failure is told that may have ended an attempt.
    failed: Option<(u64, u64)>,
    /// The line of the newest attempt on which Hermes says that it does not open the board: its file is damaged.
    refused: Option<u64>,
    missed: VecDeque<Missed>,
    missed_count: u64,
    kept: Vec<Value>,
    left_out: u64,
}

impl<'a> Seen<'a> {
    fn new(args: &'a MatchArgs, rules: Rules<'a>, rules_file: Option<String>) -> Seen<'a> {
        Seen {
            args,
            rules,
            rules_file,
            taught: Taught::default(),
            reader: None,
            lines: 0,
            turn: 0,
            attempts: 0,
            attempt_line: 1,
            counts: BTreeMap::new(),
            recent: VecDeque::new(),
            before: String::new(),
            failed: None,
            refused: None,
            missed: VecDeque::new(),
            missed_count: 0,
            kept: Vec::new(),
            left_out: 0,
        }
    }

    fn line(&mut self, line: &Line<'_>, sniffed: &Reader, out: &mut dyn Write) -> std::io::Result<()> {
        let args = self.args;
        let reader = self.reader.get_or_insert_with(|| {
            let name = args.format.as_deref().unwrap_or(sniffed.name());
            Reader::named(name, args.task.as_deref()).with_session()
        });
        let mut signals = Vec::new();
        reader.line(line, &mut signals);
        let name = reader.name();
        if !self.rules.is_empty() {
            self.taught.line(line, reader, self.rules);
            self.taught.correct(&mut signals);
            self.taught.teach(&mut signals, 0, line.offset);
        }
        self.lines += 1;
        self.recent.push_back((line.offset, self.lines));
        if self.recent.len() > MAX_RECENT {
            self.recent.pop_front();
        }
        let (turn, begun) = (reader.turn(), reader.attempt());
        if self.attempts == 0 || turn != self.turn {
            (self.attempts, self.turn, self.attempt_line) = (self.attempts + 1, turn, self.line_at(begun));
            self.refused = None;
        }
        let is_refused = line.text.contains(REFUSED);
        self.refused = if is_refused { Some(self.lines) } else { self.refused };
        if signals.is_empty() && !is_refused && suspect::looks_like_failure(name, line.text) {
            self.miss(line);
        }
        if signals.is_empty() && args.all {
            self.show(json!({"line": self.lines, "offset": line.offset, "attempt": self.attempts, "words": self.safe_line(line.text)}), out)?;
        }
        for signal in &signals {
            self.counts.entry(signal.evidence.cause).or_default()[column(signal.kind)] += 1;
            let at = signal.evidence.offset;
            if signal.kind == SignalKind::Terminal {
                self.failed = Some((at, self.line_at(at)));
            }
            let missed = self.missed.len();
            self.missed.retain(|one| one.offset != at);
            self.missed_count -= (missed - self.missed.len()) as u64;
            let shown = self.told_by(signal, line);
            self.show(shown, out)?;
        }
        self.before.push_str(clip(line.text, MAX_REDACTED));
        self.before.push('\n');
        // Cut now and then, not after each line.
        if self.before.len() > 2 * MAX_BEFORE {
            let mut rest = self.before.len() - MAX_BEFORE;
            while !self.before.is_char_boundary(rest) {
                rest += 1;
            }
            self.before.drain(..rest);
        }
        Ok(())
    }

    fn safe_line(&self, text: &str) -> String {
        safe_line(&self.before, text)
    }

    fn line_at(&self, offset: u64) -> u64 {
        self.recent.iter().rev().find(|(at, _)| *at == offset).map_or(self.lines, |(_, line)| *line)
    }

    fn told_by(&self, signal: &Signal, line: &Line<'_>) -> Value {
        let e = &signal.evidence;
        let words = if e.words.is_empty() { self.safe_line(line.text) } else { safe(&e.words) };
        let shown = json!({
            "line": self.line_at(e.offset), "offset": e.offset, "attempt": self.attempts, "kind": signal.kind, "cause": e.cause,
            "http": e.http, "endpoint": e.endpoint_host, "at": e.at, "resets": e.resets, "words": words,
        });
        self.explained(shown, self.taught.at(e.offset).map(|said| said.rule))
    }

    /// The same with the rule that decided it, where that was asked for.
    fn explained(&self, mut shown: Value, rule: Option<usize>) -> Value {
        if self.args.explain {
            shown["rule"] = match rule {
                Some(nth) => json!(format!("match {nth}")),
                None => json!(format!("built-in {}", self.reader.as_ref().map_or("plain", Reader::name))),
            };
        }
        shown
    }

    fn miss(&mut self, line: &Line<'_>) {
        self.missed_count += 1;
        let (before, text) = (self.before.clone(), clip(line.text, MAX_REDACTED).to_owned());
        self.missed.push_back(Missed { line: self.lines, offset: line.offset, before, text });
        if self.missed.len() > MAX_MISSED {
            self.missed.pop_front();
        }
    }

    /// Shows a line now, or keeps it for the one object.
    fn show(&mut self, one: Value, out: &mut dyn Write) -> std::io::Result<()> {
        if !self.args.json {
            return writeln!(out, "{}", in_words(&one));
        }
        if self.kept.len() < MAX_LINES {
            self.kept.push(one);
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn finish(self, file: &Path, out: &mut dyn Write) -> std::io::Result<()> {
        let session = self.reader.as_ref().and_then(Reader::session).unwrap_or_default();
        let ended = self.reader.as_ref().map(|r| self.taught.end(r.end(), r.attempt()));
        let end = match ended {
            Some((LogEnd::Ended(e), rule)) => {
                let shown = json!({
                    "line": self.failed.filter(|(offset, _)| *offset == e.offset).map(|(_, line)| line),
                    "offset": e.offset, "cause": e.cause, "http": e.http, "endpoint": e.endpoint_host, "at": e.at,
                    "resets": e.resets, "words": safe(&e.words),
                });
                self.explained(shown, rule)
            }
            _ => Value::Null,
        };
        let last: Vec<Value> =
            self.reader.iter().flat_map(Format::last_words).map(|w| json!(safe(&w))).collect();
        let causes: BTreeMap<&str, Value> = self
            .counts
            .iter()
            .map(|(cause, [terminal, retry, tool])| {
                (cause.as_str(), json!({"terminal": terminal, "retry": retry, "tool": tool}))
            })
            .collect();
        let mut whole = json!({
            "schema": SCHEMA, "file": file.display().to_string(), "format": self.reader.as_ref().map(Reader::name),
            "format_given": self.args.format.is_some(), "line_count": self.lines, "attempts": self.attempts,
            "last_attempt_line": self.attempt_line, "board_refused_line": self.refused, "end": end, "causes": causes, "last_words": last,
            "not_understood": self.missed.iter().map(Missed::shown).collect::<Vec<_>>(), "not_understood_count": self.missed_count, "session": redacted(session),
            "lines": self.kept, "lines_left_out": self.left_out,
        });
        if self.args.explain {
            whole["rules_file"] = json!(self.rules_file);
        }
        if self.args.json {
            return writeln!(out, "{whole:#}");
        }
        summary(&whole, out)
    }
}

fn column(kind: SignalKind) -> usize {
    match kind {
        SignalKind::Terminal => 0,
        SignalKind::Retry => 1,
        SignalKind::Tool => 2,
    }
}

/// A line of the log, made safe with the lines before it: a secret may have begun there.
fn safe_line(before: &str, text: &str) -> String {
    let text = clip(text, MAX_REDACTED);
    let whole = format!("{before}{text}");
    let clean = redact(&whole);
    let begins = clean.rmatch_indices('\n').nth(visible(text).matches('\n').count());
    safe(&clean[begins.map_or(0, |(at, _)| at + 1)..])
}

/// Untrusted text without secrets and control characters, short enough for a line.
fn safe(text: &str) -> String {
    // Secrets first: one that is cut in half is no longer known for one.
    let clean = printable(&redact(clip(text, MAX_REDACTED)));
    let short = clip(clean.trim_end(), MAX_SHOWN);
    if short.len() < clean.trim_end().len() { format!("{short}…") } else { short.to_owned() }
}

/// The same with every text in it.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(safe(&text)),
        Value::Array(all) => all.into_iter().map(redacted).collect(),
        Value::Object(all) => all.into_iter().map(|(k, v)| (safe(&k), redacted(v))).collect(),
        other => other,
    }
}

/// `12 @4711 attempt 1: terminal rate_limit, HTTP 429, api.example.com, resets ...: the words`.
fn in_words(one: &Value) -> String {
    let head = format!("{} @{} attempt {}: ", one["line"], one["offset"], one["attempt"]);
    match one["kind"].as_str() {
        None => format!("{head}- | {}", text(&one["words"])),
        Some(kind) => format!("{head}{kind} {} | {}", meaning(one), text(&one["words"])),
    }
}

fn meaning(one: &Value) -> String {
    let mut all = text(&one["cause"]).to_owned();
    let parts = [("http", ", HTTP "), ("endpoint", ", "), ("resets", ", resets "), ("rule", ", by ")];
    for (key, before) in parts.iter().filter(|(key, _)| !one[*key].is_null()) {
        let part = &one[*key];
        all += &format!("{before}{}", part.as_str().map_or_else(|| part.to_string(), printable));
    }
    all
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn summary(whole: &Value, out: &mut dyn Write) -> std::io::Result<()> {
    let given = if whole["format_given"] == true { " (as given)" } else { "" };
    let format = whole["format"].as_str().unwrap_or("none: the log is empty");
    writeln!(out, "\nformat: {format}{given}")?;
    writeln!(out, "lines: {}", whole["line_count"])?;
    writeln!(out, "attempts: {}, the last from line {}", whole["attempts"], whole["last_attempt_line"])?;
    let refused = whole["board_refused_line"].as_u64();
    match &whole["end"] {
        Value::Null if refused.is_some() => {}
        Value::Null => writeln!(out, "end: on no failure that is understood")?,
        end => {
            let line = end["line"]
                .as_u64()
                .map_or_else(|| format!("at byte {}", end["offset"]), |n| format!("on line {n}"));
            writeln!(out, "end: {line}, {}", meaning(end))?;
        }
    }
    if let Some(n) = refused {
        writeln!(out, "board: refused by Hermes on line {n}, its file is damaged; run `watchbill doctor`")?;
    }
    if let Some(file) = whole["rules_file"].as_str() {
        writeln!(out, "patterns: {}", safe(file))?;
    }
    for (cause, counts) in whole["causes"].as_object().into_iter().flatten() {
        let (terminal, retry, tool) = (&counts["terminal"], &counts["retry"], &counts["tool"]);
        writeln!(out, "cause {cause}: {terminal} terminal, {retry} retry, {tool} tool")?;
    }
    for (key, value) in whole["session"].as_object().into_iter().flatten() {
        if !value.is_null() {
            writeln!(
                out,
                "session {key}: {}",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            )?;
        }
    }
    for words in whole["last_words"].as_array().into_iter().flatten() {
        writeln!(out, "last words: {}", text(words))?;
    }
    let missed = whole["not_understood"].as_array().map(Vec::as_slice).unwrap_or_default();
    writeln!(out, "not understood, though like a failure: {}", whole["not_understood_count"])?;
    for one in missed {
        writeln!(out, "{} @{} | {}", one["line"], one["offset"], text(&one["words"]))?;
    }
    Ok(())
}
