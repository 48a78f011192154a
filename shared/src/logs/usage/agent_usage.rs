//! What the log of Claude Code or Codex says an attempt used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::agent::{Agent, AgentLog, less};
use super::bill::no_price;
use super::files::{rereads, shown};
use super::scan::{Begun, Counted, MAX_READ, Scan, scan};
use super::window::Window;
use super::{Tokens, Usage, UsageAsk, opencode, store};
use crate::cache::Cache;
use crate::logs::file::{Shown, sniffed};
use crate::logs::handle::Owner;
use crate::logs::session::Prices;
use crate::logs::{Reader, claude, codex};
use crate::money::Money;

/// Most subagents of one session whose transcripts are read.
pub(super) const MAX_SUBAGENTS: usize = 50;

/// Most entries of a folder that are looked at.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The usage a claim's own file tells.
pub(super) fn of_named(ask: &UsageAsk<'_>, named: &Path, cache: &mut Cache) -> Usage {
    let at = shown(&named.display().to_string());
    if !named.is_absolute() {
        return Usage::unknown("the log its claim names is no absolute path");
    }
    let (path, session) = opencode::place(named);
    let usage = match store::is_store(&path) {
        Ok(true) => opencode::read(ask, &path, session.as_deref()).map(Some),
        Ok(false) => of_file(ask, named, Owner::Ourselves, cache),
        Err(why) => Err(why),
    };
    match usage {
        Ok(Some(usage)) => usage,
        Ok(None) if named.symlink_metadata().is_ok() => {
            Usage::unknown(format!("{at}: neither Claude Code, Codex nor opencode wrote this"))
        }
        Ok(None) => Usage::unknown(format!("{at}: there is no such file")),
        Err(why) => Usage::unknown(format!("{at}: {why}")),
    }
}

/// What the board's own log of the task tells, where an agent writes straight into it.
pub(super) fn of_worker_log(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, String> {
    let Some(path) = ask.worker_log else { return Ok(None) };
    of_file(ask, path, Owner::Anybody, cache)
        .map_err(|why| format!("{}: {why}", shown(&path.display().to_string())))
}

/// What one log tells; `None` where there is none, or none of an agent.
pub(super) fn of_file(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Usage>, String> {
    let Some(counted) = count(ask, path, owner, cache)? else { return Ok(None) };
    let mut usage = of_log(&counted, ask.prices);
    usage.source = Some(shown(&path.display().to_string()));
    if matches!(counted.count.agent, Agent::Claude(_)) {
        add_subagents(&mut usage, ask, path, owner, cache);
    }
    Ok(Some(usage))
}

/// Counts the lines of one log.
pub(super) fn count(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Counted<AgentLog>>, String> {
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let scanned = Scan { sort: "agent", path, owner, window, now: ask.now, most: MAX_READ };
    scan(&scanned, cache, |file, size| begun(file, size, AgentLog::new))
}

/// A count for a file of the format that its lines show; `None` where that is none of an agent.
pub(super) fn begun<C>(
    file: &File,
    size: u64,
    new: impl FnOnce(&Reader) -> Option<C>,
) -> io::Result<Option<Begun<C>>> {
    let (reader, sure) = match sniffed(file, size, None)? {
        Shown::Surely(reader) => (reader, true),
        Shown::SoFar(reader) => (reader, false),
        Shown::Not => return Ok(None),
    };
    Ok(new(&reader).map(|count| Begun { count, sure }))
}

fn of_log(counted: &Counted<AgentLog>, prices: &Prices) -> Usage {
    let log = &counted.count;
    let lines = match &log.agent {
        Agent::Claude(reader) => reader.session().lines,
        Agent::Codex { reader, .. } => reader.session().lines,
    };
    // Nothing was written, or its clock is another one: that is not the same as no use.
    if lines == 0 {
        return Usage::unknown("no line of the log lies in this attempt");
    }
    let mut usage = match &log.agent {
        Agent::Claude(reader) => of_claude(reader, prices),
        Agent::Codex { reader, before, .. } => of_codex(reader, before.as_ref(), prices),
    };
    if counted.is_part {
        usage.least(format!("of the log only the last {} MiB are read", MAX_READ >> 20));
    }
    if log.broken > 0 {
        usage.least(format!("{} lines of the log could not be read", log.broken));
    }
    if log.gate.starts > 1 {
        usage.least("the log states no times and several starts; only what follows the last is counted");
    }
    usage
}

impl Usage {
    /// What is told is the least there was, for this reason.
    pub(super) fn least(&mut self, why: impl Into<String>) {
        self.is_least = true;
        self.unknown.push(why.into());
    }
}

fn of_claude(reader: &claude::Reader, prices: &Prices) -> Usage {
    let session = reader.session();
    let (cost, unpriced) = cost_of(reader, prices);
    let mut usage = Usage {
        format: Some("claude".into()),
        model: session.model.as_deref().map(shown),
        turns: Some(session.api_calls.saturating_sub(reader.side_calls())),
        tool_calls: Some(session.tool_calls),
        tool_errors: Some(session.tool_errors.min(session.tool_calls)),
        tokens: Some(Tokens {
            input: session.input,
            cache_write: session.cache_write,
            cache_read: session.cache_read,
            output: session.output,
        }),
        cost,
        compactions: Some(session.compactions),
        identical_calls: Some(session.max_identical_run),
        edits: Some(session.edited.values().fold(0, |a, n| a.saturating_add(*n))),
        rereads: rereads(&session.reads_since_edit),
        unknown: unpriced,
        ..Usage::default()
    };
    if session.compactions > 0 {
        usage.least("the call behind a compaction is in no log");
    }
    usage
}

/// The money a session of Claude Code cost, and the models without a price; no sum where there is one of those.
fn cost_of(reader: &claude::Reader, prices: &Prices) -> (Option<Money>, Vec<String>) {
    let mut sum = Money::default();
    let mut unpriced = Vec::new();
    for (model, used) in reader.models().iter().filter(|(_, used)| **used != claude::Used::default()) {
        match prices.price(model, true) {
            Some(price) => sum = sum.plus(Money(used.cost(price))),
            None => unpriced.push(no_price(model)),
        }
    }
    (unpriced.is_empty().then_some(sum), unpriced)
}

/// Adds what the subagents of a session used, which write transcripts of their own: tokens, money, tool calls and edits. Their
/// API calls are no turns of the agent.
fn add_subagents(usage: &mut Usage, ask: &UsageAsk<'_>, path: &Path, owner: Owner, cache: &mut Cache) {
    let mut all = subagents(path);
    if all.len() > MAX_SUBAGENTS {
        usage.least(format!("of {} subagents only the newest {MAX_SUBAGENTS} are read", all.len()));
        all.truncate(MAX_SUBAGENTS);
    }
    for file in all {
        let other = match count(ask, &file, owner, cache) {
            Ok(Some(counted)) => of_log(&counted, ask.prices),
            Ok(None) => continue,
            Err(why) => {
                usage.least(format!("a subagent's log: {why}"));
                continue;
            }
        };
        usage.add(other);
    }
}

impl Usage {
    /// Adds what a subagent used to the agent's own.
    pub(super) fn add(&mut self, other: Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.tool_calls = sum(self.tool_calls, other.tool_calls);
        self.tool_errors = sum(self.tool_errors, other.tool_errors);
        self.edits = sum(self.edits, other.edits);
        self.identical_calls = self.identical_calls.max(other.identical_calls);
        self.tokens = self.tokens.zip(other.tokens).map(|(a, b)| a.plus(b));
        self.cost = self.cost.zip(other.cost).map(|(a, b)| a.plus(b));
        self.is_least |= other.is_least;
        self.unknown.extend(other.unknown);
    }
}

/// The transcripts of a session's subagents, `<session>/subagents/agent-*.jsonl` beside its own; the newest first.
pub(super) fn subagents(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("").join("subagents");
    let fits = |name: &str| name.starts_with("agent-") && name.ends_with(".jsonl");
    if path.extension().is_some_and(|e| e == "jsonl") { newest(&folder, fits) } else { Vec::new() }
}

/// The regular files of a folder with fitting names, the one last written first. A folder that is none has none.
pub(super) fn newest(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    if !folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).map(|all| all.take(MAX_ENTRIES).flatten().collect::<Vec<_>>());
    let named = entries.unwrap_or_default().into_iter().filter(|e| e.file_name().to_str().is_some_and(&fits));
    let mut dated: Vec<_> = named
        .filter_map(|e| {
            Some((e.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?, e.path()))
        })
        .collect();
    dated.sort_by(|a, b| b.cmp(a));
    dated.into_iter().map(|(_, path)| path).collect()
}

fn of_codex(reader: &codex::Reader, before: Option<&BTreeMap<String, u64>>, prices: &Prices) -> Usage {
    let session = reader.session();
    let total = reader.tokens().map(|all| before.map_or_else(|| all.clone(), |before| less(all, before)));
    let of = |counts: &BTreeMap<String, u64>, key: &str| counts.get(key).copied().unwrap_or_default();
    let tokens = total.map(|t| {
        let read = of(&t, "cached_input_tokens");
        Tokens {
            input: of(&t, "input_tokens").saturating_sub(read),
            cache_write: 0,
            cache_read: read,
            output: of(&t, "output_tokens"),
        }
    });
    let model = session.model.unwrap_or_default();
    let price = prices.price(&model, false);
    let mut usage = Usage {
        format: Some("codex".into()),
        model: (!model.is_empty()).then(|| shown(&model)),
        tool_calls: Some(session.tool_calls),
        // Of a call that was made before the attempt only the failure is within it.
        tool_errors: Some(session.tool_errors.min(session.tool_calls)),
        compactions: Some(session.compactions),
        identical_calls: Some(reader.identical()),
        unknown: vec!["which calls changed files is not told by Codex".into()],
        ..Usage::default()
    };
    let calls = reader.calls();
    let is_silent = calls == 0 && (tokens.is_some_and(|t| t.total() > 0) || session.tool_calls > 0);
    if is_silent {
        usage.unknown.push("turns are not told by what Codex prints".into());
    } else {
        usage.turns = Some(calls);
    }
    usage.tokens = tokens.or_else(|| (!is_silent).then(Tokens::default));
    usage.cost = match (usage.tokens, price) {
        (Some(t), _) if t.total() == 0 => Some(Money::default()),
        (Some(t), Some(price)) => Some(Money(price.of(t.input, t.cache_write, 0, t.cache_read, t.output))),
        (Some(_), None) => {
            usage.unknown.push(no_price(&model));
            None
        }
        (None, _) => {
            usage.unknown.push("tokens are not told".into());
            None
        }
    };
    usage
}
