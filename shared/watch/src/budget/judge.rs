//! From what is true of a task to what is wrong with it. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use super::endings;
use super::limits::{DEFAULT, Limit, Limits, OF_TASK};
use super::seen::{Seen, Work};
use super::verdict::{Kind, Verdict};
use base::count::{things, things_or, times};
use base::money::Money;
use base::quote;
use base::time::{DAY, Time, words};
use board::{Run, Status};
use card::scope::{Scope, Side, sides};
use config::{Config, span};
use logs::usage::Usage;
use page::{FilesView, Gauge, Unit};
use policy::Beyond;
use policy::attempts::tally::resets;
use policy::cards::split_draft::{self, Drafted};
use worktree::changes::{Base, Changes, How};

/// Everything a task comes to.
pub(super) struct Judged<'a> {
    /// The task.
    pub(super) work: &'a Work,
    /// What it may use and did.
    pub(super) gauges: Vec<Gauge>,
    /// Its files against its scope.
    pub(super) files: Option<FilesView>,
    /// What is wrong.
    pub(super) verdicts: Vec<Verdict>,
    /// What could not be judged and why.
    pub(super) unknown: Vec<String>,
    /// Of that, limits which the task or the configuration sets.
    pub(super) unmeasured: Vec<Unmeasured>,
    /// What all its attempts cost, and whether that is only the least.
    pub(super) cost: Option<(Money, bool)>,
    /// Narrower tasks, where it is too much for one.
    pub(super) draft: Option<Drafted>,
}

/// A limit that is set, and nothing tells whether it is kept.
pub(super) struct Unmeasured {
    /// `iterations`, `cost` or `files`.
    pub(super) what: &'static str,
    /// The task sets it, not the configuration.
    pub(super) is_own: bool,
    /// The reason. Untrusted.
    pub(super) why: String,
}

impl Judged<'_> {
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.verdicts.iter().any(|f| f.kind == kind)
    }

    /// What is wrong with it while it runs, as one line.
    pub(super) fn beyond(&self) -> Option<Beyond> {
        let d = &self.work.detail;
        if d.task.status != Status::Running || self.verdicts.is_empty() {
            return None;
        }
        let (far, near): (Vec<&Verdict>, Vec<&Verdict>) = self.verdicts.iter().partition(|v| v.is_far);
        let is_far = !far.is_empty();
        let all: Vec<String> =
            far.iter().chain(&near).map(|v| format!("{}: {}", v.kind.as_str(), v.because)).collect();
        Some(Beyond { task: d.task.id.clone(), says: all.join("; "), is_far })
    }
}

/// Judges every task that was looked at, or only one.
pub(super) fn all<'a>(
    seen: &'a Seen,
    config: &'a Config,
    origin: &BTreeMap<String, String>,
    only: Option<&str>,
) -> Vec<Judged<'a>> {
    let asked = |w: &&Work| only.is_none_or(|id| id == w.detail.task.id);
    seen.work.iter().filter(asked).map(|work| one(work, seen, config, origin)).collect()
}

fn one<'a>(
    work: &'a Work,
    seen: &'a Seen,
    config: &'a Config,
    origin: &BTreeMap<String, String>,
) -> Judged<'a> {
    let scope = Scope::parse(&work.detail.body);
    let limits = Limits::of(scope.as_ref(), config, origin);
    let mut case = Case {
        work,
        seen,
        config,
        scope,
        limits,
        judged: Judged {
            work,
            gauges: Vec::new(),
            files: None,
            verdicts: Vec::new(),
            unknown: Vec::new(),
            unmeasured: Vec::new(),
            cost: None,
            draft: None,
        },
    };
    if case.attempt().is_some() {
        // With a broken clock nobody knows how long.
        if seen.clock_fault.is_none() {
            case.time();
        }
        case.iterations();
        case.cost();
        case.files();
    }
    if !case.is_over() {
        case.churning();
        case.stuck();
        case.person();
    }
    case.draft();
    case.judged
}

/// So many times as much as was allowed is far beyond it.
const FAR: u64 = 2;

/// Files, each with what is to be said about it.
type Named = Vec<(String, String)>;

struct Case<'a> {
    work: &'a Work,
    seen: &'a Seen,
    config: &'a Config,
    scope: Option<Scope>,
    limits: Limits,
    judged: Judged<'a>,
}

impl<'a> Case<'a> {
    /// The newest attempt, unless it ended too long ago.
    fn attempt(&self) -> Option<&'a Run> {
        self.work.detail.newest_run().filter(|r| r.is_since(self.seen.since))
    }

    /// Nobody works on it any more.
    fn is_over(&self) -> bool {
        self.work.detail.task.status.frees_children()
    }

    fn find(&mut self, kind: Kind, threshold: impl ToString, because: String, evidence: Vec<String>) {
        let is_far = kind == Kind::OutOfScope;
        let threshold = threshold.to_string();
        self.judged.verdicts.push(Verdict { kind, threshold, is_far, because, evidence });
    }

    /// The same of what the newest gauge measures, where its limit may be set.
    fn find_used(&mut self, kind: Kind, threshold: impl ToString, because: String, evidence: Vec<String>) {
        self.find(kind, threshold, because, evidence);
        let Judged { gauges, verdicts, .. } = &mut self.judged;
        if let (Some(gauge), Some(found)) = (gauges.last(), verdicts.last_mut()) {
            let used = gauge.used.unwrap_or(0);
            found.is_far = gauge.source != DEFAULT && used >= gauge.limit.saturating_mul(FAR);
        }
    }

    fn gauge(&mut self, what: &str, used: Option<u64>, is_least: bool, limit: u64, unit: Unit, source: &str) {
        self.judged.gauges.push(Gauge {
            what: what.into(),
            used,
            is_least,
            limit,
            unit,
            source: source.into(),
        });
    }

    /// Notes that nothing measures what this limit is for.
    fn unmeasured(&mut self, what: &'static str, source: &str, why: &str) {
        self.judged.unknown.push(format!("{what}: {why}"));
        if source != DEFAULT {
            let limit = Unmeasured { what, is_own: source == OF_TASK, why: why.to_owned() };
            self.judged.unmeasured.push(limit);
        }
    }

    fn time(&mut self) {
        let Some(run) = self.attempt() else { return };
        // Rows that were written by hand or by a broken clock: nobody worked on a task before it was there.
        if run.started_at < self.work.detail.task.created_at.plus(-DAY) {
            self.judged.unknown.push("time: its start cannot be true".into());
            return;
        }
        let Limit { value, source } = self.limits.time.clone();
        // While the machine was suspended nobody worked.
        let slept = self.work.slept;
        let took = (run.seconds(self.seen.now) - slept).max(0);
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        self.gauge("time", Some(count(took)), false, count(value), Unit::Seconds, &source);
        if took > value {
            let tense = if run.ended_at.is_none() { "in this attempt" } else { "in the last attempt" };
            let all = all_seconds(self.work, self.seen.now);
            let mut evidence = vec![format!("attempt {} began {}", run.id, run.started_at)];
            if slept > 0 {
                evidence.push(format!("not counted: {} in which this machine was suspended", words(slept)));
            }
            if self.work.detail.runs.len() > 1 {
                evidence.push(format!("{} in all its {} attempts", words(all), self.work.detail.runs.len()));
            }
            let (took, allowed) = apart(words(took), words(value), (format!("{took}s"), format!("{value}s")));
            let because = format!("{took} {tense}, {allowed} allowed ({source})");
            self.find_used(Kind::OverTime, span::words(Duration::from_secs(count(value))), because, evidence);
        }
    }

    fn iterations(&mut self) {
        let usage = &self.work.usage;
        let Limit { value, source } = self.limits.iterations.clone();
        self.gauge("iterations", usage.turns, usage.is_least, value, Unit::Count, &source);
        match usage.turns {
            None => {
                self.unmeasured("iterations", &source, reason(&usage.unknown, &["turns"]));
            }
            Some(turns) if turns > value => {
                let least = if usage.is_least { "at least " } else { "" };
                let because =
                    format!("{least}{} in one attempt, {value} allowed ({source})", things(turns, "turn"));
                let mut evidence = Vec::new();
                if let Some(calls) = usage.tool_calls {
                    let errors = usage.tool_errors.map_or(String::new(), |n| format!(", {n} of them failed"));
                    evidence.push(format!("{}{errors}", things(calls, "tool call")));
                }
                let files = usage.source.iter().chain(&usage.more_sources);
                evidence.extend(files.map(|s| format!("from {}", quote::inline(s, 200))));
                self.find_used(Kind::OverIterations, value, because, evidence);
            }
            Some(_) => {}
        }
    }

    fn cost(&mut self) {
        let usages = || std::iter::once(&self.work.usage).chain(self.work.earlier.iter().map(|u| &u.usage));
        let known: Vec<Money> = usages().filter_map(Usage::known_cost).collect();
        let is_least = usages().any(|u| u.is_least || u.cost.is_none())
            || self.work.detail.runs.len() > 1 + self.work.earlier.len();
        let sum = known.iter().fold(Money(0), |a, b| a.plus(*b));
        self.judged.cost = (!known.is_empty()).then_some((sum, is_least));
        let Some(Limit { value, source }) = self.limits.cost.clone() else { return };
        let used = (!known.is_empty()).then_some(sum.0);
        self.gauge("cost", used, is_least, value.0, Unit::NanoUsd, &source);
        // A part that is within the limit tells nothing of the whole.
        let is_part = usages().any(|u| u.cost.is_none() && u.cost_at_least.is_some());
        if known.is_empty() || (is_part && sum <= value) {
            let unknown: Vec<String> =
                usages().filter(|u| u.cost.is_none()).flat_map(|u| u.unknown.clone()).collect();
            self.unmeasured("cost", &source, reason(&unknown, &["price", "tokens"]));
        } else if sum > value {
            let least = if is_least { "at least " } else { "" };
            let (spent, allowed) = apart(sum.to_string(), value.to_string(), (sum.exact(), value.exact()));
            let because = format!("{least}{spent} spent, {allowed} allowed ({source})");
            let mut evidence = Vec::new();
            if let Some(t) = self.work.usage.tokens {
                evidence.push(format!(
                    "last attempt: {} tokens in, {} from the cache, {} out",
                    t.input.saturating_add(t.cache_write),
                    t.cache_read,
                    t.output
                ));
            }
            self.find_used(Kind::OverCost, value.exact(), because, evidence);
        }
    }

    fn files(&mut self) {
        let Some(changes) = &self.work.files.changes else {
            let why = self.work.files.why_not.as_deref().unwrap_or("nobody looked");
            // Without a scope and a limit nobody asks for them.
            if self.limits.files.is_some() || self.scope.is_some() {
                let source = self.limits.files.as_ref().map_or(DEFAULT, |l| l.source.as_str()).to_owned();
                self.unmeasured("files", &source, why);
            }
            return;
        };
        if let Some(Limit { value, source }) = self.limits.files.clone() {
            let count = u64::try_from(changes.count).unwrap_or(u64::MAX);
            self.gauge("files", Some(count), changes.is_cut, value, Unit::Count, &source);
            if count > value {
                let least = if changes.is_cut { "at least " } else { "" };
                let because = format!("{least}{} changed, {value} allowed ({source})", things(count, "file"));
                let evidence = vec![format!("since {}", said_base(changes))];
                self.find(Kind::TooManyFiles, value, because, evidence);
            }
        }
        let (out, unclear) = self.against_scope(changes);
        self.judged.files = Some(FilesView {
            count: changes.count,
            is_least: changes.is_cut,
            out_of_scope: out.iter().map(|(path, _)| path.clone()).collect(),
            unclear: unclear.iter().map(|(path, _)| path.clone()).collect(),
            base: said_base(changes),
        });
        if let Some((path, entry)) = unclear.first() {
            let more =
                if unclear.len() > 1 { format!(" and {} more", unclear.len() - 1) } else { String::new() };
            let (path, entry) = (quote::inline(path, 120), quote::inline(entry, 80));
            self.judged.unknown.push(format!(
                "scope: whether {path}{more} belongs to it cannot be told: `{entry}` names nothing here"
            ));
        }
        if !out.is_empty() {
            // Only the first files were looked at one by one.
            let least = |is: bool| if is { "at least " } else { "" };
            let because = format!(
                "{}{} of {}{} changed files lie outside its scope, since {}",
                least(changes.is_cut || changes.files.len() < changes.count),
                out.len(),
                least(changes.is_cut),
                changes.count,
                said_base(changes)
            );
            let evidence = out.into_iter().map(|(_, line)| line).collect();
            self.find(Kind::OutOfScope, "", because, evidence);
        }
    }

    /// Changed files outside the scope with a line about each, and those nobody can tell of with the entry that is unclear.
    fn against_scope(&self, changes: &Changes) -> (Named, Named) {
        let (mut out, mut unclear) = (Vec::new(), Vec::new());
        let Some(scope) = &self.scope else { return (out, unclear) };
        for (file, side) in sides(scope, changes) {
            let how = match file.how {
                How::Added => "added",
                How::Modified => "modified",
                How::Deleted => "deleted",
                How::Untracked => "untracked",
            };
            let shown = quote::inline(&file.path, 200);
            match side {
                Side::In => {}
                Side::Beyond => out.push((file.path.clone(), format!("{shown} ({how}): not in scope"))),
                Side::Out { entry } => {
                    let entry = quote::inline(&entry, 80);
                    out.push((file.path.clone(), format!("{shown} ({how}): out of scope by {entry}")));
                }
                Side::Unclear { entry } => unclear.push((file.path.clone(), entry)),
            }
        }
        (out, unclear)
    }

    /// Signs that an attempt does the same again and again.
    fn churning(&mut self) {
        if self.attempt().is_none() {
            return;
        }
        let (usage, keys) = (&self.work.usage, &self.config.budget);
        let mut signs = Vec::new();
        if let Some(n) = usage.identical_calls.filter(|n| *n >= u64::from(keys.repeats)) {
            signs.push(format!("{} in a row", things(n, "equal tool call")));
        }
        if let Some(n) = usage.compactions.filter(|n| *n >= u64::from(keys.compactions)) {
            signs.push(format!("its context was compacted {}", times(n)));
        }
        for r in usage.rereads.iter().filter(|r| r.times >= u64::from(keys.rereads)) {
            signs.push(format!(
                "{} read {} since it was last edited",
                quote::inline(&r.file, 160),
                times(r.times)
            ));
        }
        // An edit by a shell command is one that only the files show.
        let unchanged = self.work.files.changes.as_ref().is_some_and(|c| c.count == 0);
        let is_to_edit = unchanged && self.scope.as_ref().is_some_and(|s| !s.in_scope.is_empty());
        if let (Some(calls), Some(0)) = (usage.tool_calls, usage.edits)
            && is_to_edit
            && calls >= u64::from(keys.idle_calls)
        {
            signs.push(format!("{} without a single edit", things(calls, "tool call")));
        }
        if let Some(first) = signs.first().cloned() {
            let because = match signs.len() {
                1 => first,
                n => format!("{first}, and {}", things(n - 1, "more sign")),
            };
            self.find(Kind::Churning, "", because, signs);
        }
    }

    /// Attempt after attempt ends on the same error, and nothing shows that they came any further.
    fn stuck(&mut self) {
        let d = &self.work.detail;
        let most = usize::try_from(self.config.budget.same_errors).unwrap_or(usize::MAX);
        if d.runs.len() < most {
            return;
        }
        let same = endings::streak(d, &self.work.refused);
        let (Some(newest), Some(first)) = (same.first(), same.last()) else { return };
        if same.len() < most || newest.ended_at.is_none() || !newest.is_since(self.seen.since) {
            return;
        }
        let changes = self.work.files.changes.as_ref();
        let committed = changes.map(|c| c.head_at.is_some_and(|at| at > first.started_at));
        let lows = [endings::is_new_low(d, &same), self.is_new_low(&same)];
        let low = lows.into_iter().flatten().reduce(|a, b| a || b);
        if committed == Some(true) || low == Some(true) {
            return;
        }
        if committed.is_none() && low.is_none() {
            let ended = things(same.len(), "attempt");
            let why =
                format!("progress: {ended} ended on the same error, and nothing tells what was left behind");
            self.judged.unknown.push(why);
            return;
        }
        let error = endings::text(d, newest).unwrap_or_default();
        let said = |fact: Option<bool>, no: &str, what: &str| match fact {
            Some(_) => no.to_owned(),
            None => format!("unknown: {what}"),
        };
        let evidence = vec![
            format!("each time: {}", quote::inline(error, 200)),
            said(committed, "no commit since the first of them", "whether anything was committed"),
            said(low, "nothing in it became less", "whether anything in it became less"),
        ];
        let because = format!("{} in a row ended on the same error", things(same.len(), "attempt"));
        self.find(Kind::StuckProgress, self.config.budget.same_errors, because, evidence);
    }

    /// Whether the newest of these attempts had fewer failed tool calls than any before it; `None` where nobody counted.
    fn is_new_low(&self, same: &[&Run]) -> Option<bool> {
        let newest = self.work.detail.newest_run().map(|r| r.id);
        let errors = |run: &Run| {
            if Some(run.id) == newest {
                return self.work.usage.tool_errors;
            }
            self.work.earlier.iter().find(|u| u.run == run.id)?.usage.tool_errors
        };
        let counts: Vec<u64> = same.iter().filter_map(|r| errors(r)).collect();
        let (last, before) = (counts.first()?, counts.get(1..)?.iter().min()?);
        (counts.len() == same.len()).then_some(last < before)
    }

    fn person(&mut self) {
        let d = &self.work.detail;
        let resets = resets(d, self.config);
        let exhausted = endings::exhausted(d);
        let used_up = u64::try_from(exhausted.len()).unwrap_or(u64::MAX);
        let (by_resets, by_budget) = (self.limits.resets.clone(), self.limits.exhaustions.clone());
        self.gauge("resets", Some(resets), false, by_resets.value, Unit::Count, &by_resets.source);
        self.gauge("exhaustions", Some(used_up), false, by_budget.value, Unit::Count, &by_budget.source);
        let enough = |n: u64| things_or(n, "is enough", "are enough");
        let mut why = Vec::new();
        if resets >= by_resets.value {
            why.push(format!("reset {}, {} ({})", times(resets), enough(by_resets.value), by_resets.source));
        }
        if used_up >= by_budget.value {
            why.push(format!(
                "{} iterations, {} ({})",
                things_or(used_up, "attempt used up its", "attempts used up their"),
                enough(by_budget.value),
                by_budget.source
            ));
        }
        if why.is_empty() {
            return;
        }
        let mut evidence: Vec<String> = exhausted
            .iter()
            .take(5)
            .map(|r| {
                format!("attempt {}: {}", r.id, quote::inline(endings::text(d, r).unwrap_or("used up"), 160))
            })
            .collect();
        for (error, n) in endings::distinct(d).into_iter().take(5) {
            evidence.push(format!("{}: {}", times(n), quote::inline(&error, 160)));
        }
        let threshold = format!("{}:{}", by_resets.value, by_budget.value);
        self.find(Kind::OverAttempts, threshold, why.join("; "), evidence);
    }

    /// Drafts narrower tasks, where the evidence says that this one is too much.
    fn draft(&mut self) {
        let too_much = |f: &Verdict| !matches!(f.kind, Kind::StuckProgress);
        if self.is_over() || !self.judged.verdicts.iter().any(too_much) {
            return;
        }
        self.judged.draft = split_draft::draft(&split_draft::Case {
            detail: &self.work.detail,
            scope: self.scope.as_ref(),
            changes: self.work.files.changes.as_ref(),
            iterations: self.limits.iterations.value,
            hand: &split_draft::hand(self.seen.slug.as_deref(), &self.seen.db),
        });
    }
}

/// Of the reasons why something is not known the first that speaks of this, else the first.
fn reason<'a>(unknown: &'a [String], of: &[&str]) -> &'a str {
    let fits = unknown.iter().find(|why| of.iter().any(|word| why.contains(word)));
    fits.or(unknown.first()).map_or("no log tells", String::as_str)
}

/// Two amounts in short, or exactly where they would read the same.
fn apart(used: String, limit: String, exact: (String, String)) -> (String, String) {
    if used == limit { exact } else { (used, limit) }
}

/// Seconds of all attempts that are known.
pub(super) fn all_seconds(work: &Work, now: Time) -> i64 {
    work.detail.runs.iter().map(|r| r.seconds(now)).fold(0, i64::saturating_add)
}

/// What changes are counted from, in words.
fn said_base(changes: &Changes) -> String {
    let commit = changes.base_commit.as_deref().map_or("", |c| c.get(..10).unwrap_or(c));
    match changes.base {
        Base::Fork => format!("its branch left the default branch ({commit})"),
        Base::Created => format!("its branch was made ({commit})"),
        Base::Start => format!("its first attempt began ({commit})"),
        Base::Nothing => "the repository was empty".into(),
    }
}
