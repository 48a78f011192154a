//! From the log of Claude Code or Codex to how an attempt fares.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::record::{Open, Record, Tale};
use super::signs::MAX_WORDS;
use super::slices::Slices;
use super::{Repeat, Slice, Turn, Vitals, written};
use crate::cache::Cache;
use crate::clip::clip;
use crate::logs::acts::Does;
use crate::logs::handle::Owner;
use crate::logs::session::{Millis, Prices};
use crate::logs::usage::agent::{Gate, Place};
use crate::logs::usage::agent_usage::{MAX_SUBAGENTS, begun, subagents};
use crate::logs::usage::bill::no_price;
use crate::logs::usage::files::shown;
use crate::logs::usage::scan::{Count, Counted, MAX_READ, Scan, scan};
use crate::logs::usage::window::Window;
use crate::logs::usage::{Tokens, UsageAsk};
use crate::logs::{Reader, claude, codex};
use crate::money::Money;
use crate::time::Time;

/// A session as its own log tells it, as far as it is the attempt's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Story {
    format: Format,
    pub(super) gate: Gate,
    broken: u64,
    pub(super) record: Record,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Format {
    Claude,
    Codex,
}

impl Story {
    fn new(format: &Reader) -> Option<Story> {
        let format = match format {
            Reader::Claude(_) => Format::Claude,
            Reader::Codex(_) => Format::Codex,
            Reader::Hermes(_) | Reader::Profile(_) | Reader::Plain(_) => return None,
        };
        let record = Record::new(format == Format::Claude);
        Some(Story { format, gate: Gate::default(), broken: 0, record })
    }

    pub(super) fn is_claude(&self) -> bool {
        self.format == Format::Claude
    }
}

impl Count for Story {
    fn line(&mut self, text: &str, window: &Window, _: bool) {
        let (place, at) = self.gate.place(text, window);
        match place {
            Place::Blank | Place::Foreign => return,
            Place::Broken => {
                self.broken += 1;
                return;
            }
            Place::Begins => self.record = self.record.anew(),
            Place::Restarts => {
                self.record = self.record.anew();
                self.broken = 0;
            }
            // Codex states sums: what they were before is taken off them.
            Place::Before if self.format == Format::Codex => {}
            Place::Before => return,
            Place::Within => {}
        }
        let record = &mut self.record;
        record.now(at);
        match self.format {
            Format::Claude => claude::acts(text, &mut |side, act| record.act(side, act)),
            Format::Codex => codex::acts(text, &mut |side, act| record.act(side, act)),
        }
    }

    fn fits(&self, window: &Window) -> bool {
        self.gate.clock.fits(window)
    }
}

/// Reads one log; `None` where there is none, or none of an agent.
pub(super) fn story(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Counted<Story>>, String> {
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let scanned = Scan { sort: "vitals", path, owner, window, now: ask.now, most: MAX_READ };
    scan(&scanned, cache, |file, size| begun(file, size, Story::new))
}

/// How the attempt fares by one log, and by those of its subagents; `None` where there is none, or none of an agent.
pub(super) fn of_file(
    ask: &UsageAsk<'_>,
    path: &Path,
    owner: Owner,
    cache: &mut Cache,
) -> Result<Option<Vitals>, String> {
    let Some(counted) = story(ask, path, owner, cache)? else { return Ok(None) };
    let story = &counted.count;
    if story.record.lines == 0 {
        return Ok(Some(Vitals {
            unknown: vec!["no line of the log lies in this attempt".into()],
            source: Some(shown(&path.display().to_string())),
            ..Vitals::default()
        }));
    }
    let priced = Priced { prices: ask.prices, in_claude: story.is_claude() };
    let mut record = story.record.clone();
    let mut unknown = Vec::new();
    if counted.is_part {
        unknown.push(format!("of the log only the last {} MiB are read", MAX_READ >> 20));
    }
    if story.broken > 0 {
        unknown.push(format!("{} lines of the log could not be read", story.broken));
    }
    if story.is_claude() {
        let mut all = subagents(path);
        if all.len() > MAX_SUBAGENTS {
            unknown.push(format!("of {} subagents only the newest {MAX_SUBAGENTS} are read", all.len()));
            all.truncate(MAX_SUBAGENTS);
        }
        for file in all {
            match self::story(ask, &file, owner, cache) {
                Ok(Some(counted)) => record.join(&counted.count.record),
                Ok(None) => {}
                Err(why) => unknown.push(format!("a subagent's log: {why}")),
            }
        }
    }
    let mut vitals = of_record(&record, priced);
    vitals.format = Some(if story.is_claude() { "claude" } else { "codex" }.into());
    vitals.source = Some(shown(&path.display().to_string()));
    vitals.is_part |= !unknown.is_empty();
    vitals.unknown.extend(unknown);
    vitals.active = vitals.active.or_else(|| written(path));
    Ok(Some(vitals))
}

/// What tokens cost, for a log of Claude Code or of somebody else.
#[derive(Clone, Copy)]
pub(in crate::logs::usage) struct Priced<'a> {
    pub(in crate::logs::usage) prices: &'a Prices,
    pub(in crate::logs::usage) in_claude: bool,
}

impl Priced<'_> {
    fn cost(&self, model: &str, used: claude::Used) -> Option<Money> {
        if used == claude::Used::default() {
            return Some(Money::default());
        }
        self.prices.price(model, self.in_claude).map(|price| Money(used.cost(price)))
    }
}

impl Record {
    /// Adds what a subagent did, which writes a log of its own. Its turns are not the agent's.
    pub(in crate::logs::usage) fn join(&mut self, side: &Record) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.calls, side.calls);
        sum(&mut self.errors, side.errors);
        sum(&mut self.malformed, side.malformed);
        sum(&mut self.paces.edits, side.paces.edits);
        self.last = self.last.max(side.last);
        let numbers: Vec<usize> =
            side.models.iter().map(|(name, used)| self.add_model(name, *used)).collect();
        let number = |n: usize| numbers.get(n).copied().unwrap_or(0);
        self.slices.merge(&side.slices, number);
        for (n, open) in side.open.values().enumerate() {
            self.open.touch(
                &format!("side:{n}:{}", side.session.as_deref().unwrap_or_default()),
                256,
                || open.of_side(),
            );
        }
        side.edited.keys().for_each(|file| self.edit(file));
        self.is_edited_more |= side.is_edited_more;
    }
}

fn tokens(used: claude::Used) -> Tokens {
    Tokens { input: used.input, cache_write: used.write, cache_read: used.read, output: used.output }
}

fn told(call: &str) -> String {
    clip(&shown(call), MAX_WORDS).to_owned()
}

/// How a session fares.
pub(in crate::logs::usage) fn of_record(record: &Record, priced: Priced<'_>) -> Vitals {
    let mut sum = Tokens::default();
    let mut cost = Some(Money::default());
    let mut unknown = Vec::new();
    for (model, used) in &record.models {
        sum = sum.plus(tokens(*used));
        let of_model = priced.cost(model, *used);
        if of_model.is_none() {
            unknown.push(no_price(model));
        }
        cost = cost.zip(of_model).map(|(a, b)| a.plus(b));
    }
    let seconds = |at: Option<Millis>| at.map(Millis::time);
    let call = |told: &super::record::Told| {
        let end = match told.failed {
            Some(true) => " (failed)",
            Some(false) => "",
            None => " (no answer)",
        };
        format!("{}{end}", self::told(&told.call))
    };
    let window = record.window();
    Vitals {
        session: record.session.as_deref().map(shown),
        model: record.model().map(shown),
        turn: turn(record),
        began: seconds(record.first),
        active: seconds(record.last),
        context: record.context,
        window,
        tokens: Some(sum),
        cost,
        turns: Some(record.turns),
        calls: Some(record.calls),
        errors: Some(record.errors()),
        malformed: Some(record.malformed.min(record.calls)),
        edits: Some(record.paces.edits),
        compactions: Some(record.compactions),
        failing: (record.failing.times > 0)
            .then(|| Repeat { times: record.failing.times, call: told(&record.failing.call) }),
        asked_again: record
            .questions
            .most()
            .filter(|(times, _)| *times > 1)
            .map(|(times, call)| Repeat { times, call: told(call) }),
        pace: record.paces.pace(),
        slices: slices(&record.slices, &record.models, priced),
        findings: record.signs.findings(window),
        cwd: record.cwd.as_deref().map(shown),
        edited: record.edited.keys().map(shown).collect(),
        is_part: record.is_edited_more,
        last_calls: record.last_calls.iter().map(call).collect(),
        unknown,
        ..Vitals::default()
    }
}

fn slices(slices: &Slices, models: &[(String, claude::Used)], priced: Priced<'_>) -> Vec<Slice> {
    let slice = |one: &super::slices::Counted| {
        let mut sum = Tokens::default();
        let mut cost = Some(Money::default());
        for (model, used) in &one.used {
            sum = sum.plus(tokens(*used));
            let name = models.get(*model).map_or("", |(name, _)| name.as_str());
            cost = cost.zip(priced.cost(name, *used)).map(|(a, b)| a.plus(b));
        }
        let (calls, errors) = (one.calls, one.errors);
        Slice { from: Time(one.from), seconds: slices.seconds, calls, errors, tokens: sum, cost }
    };
    slices.all.iter().map(slice).collect()
}

/// Whose turn it is.
fn turn(record: &Record) -> Turn {
    let since = |open: &Open| open.since.or(record.last).map_or(Time(0), Millis::time);
    if let Some(open) = record.open.values().rev().find(|open| open.does == Does::Asks) {
        return Turn::Person { since: since(open) };
    }
    // The newest: what was called long before it may have been forgotten by the runtime.
    if let Some(open) = record.open.values().max_by_key(|open| since(open)) {
        return Turn::Tool { since: since(open) };
    }
    match record.said {
        Tale::Asked => Turn::Model,
        Tale::Speaking if record.tells_stops => Turn::Stream,
        Tale::Over => Turn::Over,
        Tale::Speaking | Tale::Nothing => Turn::Unknown,
    }
}
