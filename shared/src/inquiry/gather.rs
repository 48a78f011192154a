//! The reading part: the board, the log of the newest attempt, and every watcher, asked anew as in a dry run. Nothing is
//! written, not even to our own memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::facts::{Facts, Take, Verdict};
use super::silence;
use super::summary::{Counts, Read};
use crate::board::{self, BoardId, Detail, EventKind, Mode, Status, Task};
use crate::cache::Cache;
use crate::config::Config;
use crate::config::span::seconds;
use crate::distress;
use crate::error::Result;
use crate::host::Host;
use crate::logs::{LogEnd, Reading};
use crate::pass::{self, Tools};
use crate::pause;
use crate::policy::attempts::ended;
use crate::policy::attempts::worker::used;
use crate::policy::authorship;
use crate::policy::dispatcher::{self, MAX_TICKS, TICKED};
use crate::policy::{Pass, World};
use crate::report::BoardReport;
use crate::runtime::{Dispatcher, LogAsk, Runtime};
use crate::session::opencode::Opencode;
use crate::time::Time;
use crate::watch::{Visit, Watcher, each};

/// Most tasks it waits for that are looked at.
const MAX_KIN: usize = 5;
/// Most events of a board that are looked through for what was done.
const MAX_EVENTS: u32 = 50_000;
/// Most tasks of a board that are looked at closely.
const MAX_TASKS: usize = 1_000;

/// What it takes to look at boards.
pub(crate) struct Lens<'a> {
    /// This machine.
    pub(crate) host: &'a Host,
    /// Configuration.
    pub(crate) config: &'a Config,
    /// Who set each key of it.
    pub(crate) origin: &'a BTreeMap<String, String>,
    /// Wall clock minus boot clock, in seconds.
    pub(crate) clock_offset: i64,
    /// The folder of Claude Code.
    pub(crate) claude: Option<&'a Path>,
    /// The folder of Codex.
    pub(crate) codex: Option<&'a Path>,
    /// opencode, its server and its store.
    pub(crate) opencode: &'a Opencode,
    /// The one reading of the clock.
    pub(crate) now: Time,
    /// It came from the command line.
    pub(crate) clock_given: bool,
    /// The board was named in a way that a command must repeat.
    pub(crate) by_file: bool,
    /// Where our memory lies.
    pub(crate) memory: Option<PathBuf>,
}

/// What all watchers say of one board now.
#[derive(Default)]
pub(crate) struct Survey {
    takes: BTreeMap<String, Vec<Take>>,
    failed: Vec<(&'static str, String)>,
    told: BTreeMap<(&'static str, String), String>,
    /// What concerns more than one task, or none; each once.
    pub(crate) findings: Vec<String>,
}

impl Lens<'_> {
    fn pass(&self, program: &'static str, only: Option<&str>) -> Pass {
        Pass {
            id: format!("{}-{program}", self.now.compact()),
            program,
            now: self.now,
            clock_given: self.clock_given,
            only: only.map(str::to_owned),
            dry: true,
        }
    }

    /// Each watcher has the memory of its own pass: what one has read does not count as read for the next.
    fn with<T>(&self, pass: &Pass, f: impl FnOnce(&mut Tools<'_>) -> T) -> T {
        let mut cache = Cache::open(self.memory.clone());
        f(&mut Tools {
            pass,
            host: self.host,
            config: self.config,
            cache: &mut cache,
            clock_offset: self.clock_offset,
            claude: self.claude,
            codex: self.codex,
            opencode: self.opencode,
            keep_seen: false,
        })
    }

    fn ask<W: Watcher>(&self, watcher: &W, id: &BoardId, only: Option<&str>) -> BoardReport {
        let pass = self.pass(W::NAME, only);
        self.with(&pass, |tools| pass::run(watcher, id, tools))
    }

    /// Whether a board has a task.
    ///
    /// # Errors
    /// The board cannot be read.
    pub(crate) fn has(&self, id: &BoardId, task: &str) -> Result<bool> {
        let mut board = board::open(id, Mode::Look, self.config.board.busy_timeout)?;
        Ok(!board.titled(&[task.to_owned()])?.is_empty())
    }

    /// Asks every watcher about a board, or about one of its tasks only.
    pub(crate) fn survey(&self, id: &BoardId, only: Option<&str>) -> Survey {
        let mut asking = Asking { lens: self, id, only, survey: Survey::default() };
        each(self.origin, &mut asking);
        asking.survey
    }

    /// What happened to a board since then: every task that somebody may have to hear of.
    ///
    /// # Errors
    /// The board cannot be read.
    pub(crate) fn read(&self, id: &BoardId, since: Time) -> Result<Read> {
        let mut board = board::open(id, Mode::Look, self.config.board.busy_timeout)?;
        let survey = self.survey(id, None);
        let rows = board.glance(&Status::OPEN)?;
        let events = board.events(since, MAX_EVENTS)?;
        let mut unknown: Vec<String> = survey.failures();
        let is_cut = u32::try_from(events.len()).unwrap_or(u32::MAX) >= MAX_EVENTS;
        let cut = is_cut.then(|| {
            format!("only the newest {MAX_EVENTS} events were read: what was done before them is not told")
        });
        let mut chosen: BTreeSet<String> = survey.takes.keys().cloned().collect();
        chosen.extend(events.iter().filter(|(_, e)| authorship::is_ours(e)).map(|(task, _)| task.clone()));
        let stands = |t: &Task| matches!(t.status, Status::Blocked | Status::Scheduled | Status::Triage);
        let found = |t: &Task| survey.findings.iter().any(|f| f.contains(&t.id));
        let of_rows = rows.iter().filter(|t| !distress::is_card(t) && (stands(t) || found(t)));
        chosen.extend(of_rows.map(|t| t.id.clone()));
        if chosen.len() > MAX_TASKS {
            unknown.push(format!("{} more tasks were not looked at", chosen.len() - MAX_TASKS));
        }
        let chosen: Vec<String> = chosen.into_iter().take(MAX_TASKS).collect();
        let done: BTreeSet<&String> =
            events.iter().filter(|(_, e)| e.kind == EventKind::Completed).map(|(task, _)| task).collect();
        let done = board.titled(&done.into_iter().cloned().collect::<Vec<_>>())?;
        let (facts, runtime) = self.look(id, &chosen, &survey)?;
        let mut findings = survey.findings;
        findings.extend(idle(&rows, &runtime, board.is_own(), self.now));
        let count = |status| rows.iter().filter(|t| t.status == status && !distress::is_card(t)).count();
        Ok(Read {
            board: id.name(),
            path: id.path.display().to_string(),
            paused: self.paused(id),
            facts,
            findings,
            unknown,
            cut,
            counts: Counts {
                done: done.iter().filter(|t| t.status == Status::Done && !distress::is_card(t)).count(),
                running: count(Status::Running),
                ready: count(Status::Ready),
            },
        })
    }

    /// The red switch of a board, where it is thrown now.
    fn paused(&self, id: &BoardId) -> Option<String> {
        pause::in_force(&id.folder(), self.now).map(|p| p.words(self.now))
    }

    /// Everything about these tasks; unknown ids are left out.
    ///
    /// # Errors
    /// The board cannot be read.
    pub(crate) fn facts(&self, id: &BoardId, tasks: &[String], survey: &Survey) -> Result<Vec<Facts>> {
        self.look(id, tasks, survey).map(|(facts, _)| facts)
    }

    /// The same with the runtime around the board.
    fn look(&self, id: &BoardId, tasks: &[String], survey: &Survey) -> Result<(Vec<Facts>, Runtime)> {
        let mut board = board::open(id, Mode::Look, self.config.board.busy_timeout)?;
        let own_board = board.is_own();
        let pass = self.pass("watchbill", None);
        let paused = self.paused(id);
        let slug = id.slug.as_deref().filter(|_| !self.by_file);
        let flags = match slug {
            Some("default") => String::new(),
            Some(slug) => format!(" --board {}", distress::shell_word(slug)),
            None => format!(" --db {}", distress::shell_word(&id.file())),
        };
        self.with(&pass, |tools| {
            let wedged = pass::wedge(&id.path, tools).map(|w| w.to_string());
            pass::look(&mut *board, id, tools, |world, _| {
                let lately = world.board.events(self.now.plus(-TICKED), MAX_TICKS)?;
                let runtime = dispatcher::runtime(world, &lately, self.now);
                let details = world.board.look(tasks)?;
                let near: BTreeSet<String> = details.iter().flat_map(|d| kin(d).chain(card_of(d))).collect();
                let near = world.board.look(&near.into_iter().collect::<Vec<_>>())?;
                let found = |id: String| near.iter().find(|d| d.task.id == id).cloned();
                let mut all = Vec::new();
                for d in details {
                    let reading = read(world.logs, id, &d, self.now, world.cache);
                    all.push(Facts {
                        board: id.name(),
                        hand: distress::hand(own_board, slug, &id.file()),
                        flags: flags.clone(),
                        own_board,
                        now: self.now,
                        paused: paused.clone(),
                        reading,
                        kin: kin(&d).filter_map(found).collect(),
                        card: card_of(&d).and_then(found),
                        runtime: runtime.clone(),
                        wedged: wedged.clone(),
                        unanswered: unanswered(world, &d, self.now),
                        patience: seconds(self.config.routing.unclaimed),
                        takes: survey.of(&d, self.now),
                        detail: d,
                    });
                }
                Ok((all, runtime))
            })
        })
    }
}

/// Seconds after which an attempt without any answer is worth a word: a worker takes a minute to start on a slow machine.
const LONG: i64 = 300;

/// Ready work that nobody starts, since nobody dispatches. That is told once, and not of every task.
fn idle(rows: &[Task], runtime: &Runtime, own_board: bool, now: Time) -> Option<String> {
    let n = dispatcher::waiting(rows, now);
    let absent = !own_board && runtime.dispatcher == Dispatcher::Absent && n > 0;
    let (tasks, wait) = if n == 1 { ("task", "waits") } else { ("tasks", "wait") };
    absent.then(|| format!("no dispatcher is seen, and {n} ready {tasks} {wait} for one"))
}

fn read(
    logs: &dyn crate::runtime::LogReader,
    board: &BoardId,
    d: &Detail,
    now: Time,
    cache: &mut Cache,
) -> Reading {
    let Some(run) = d.newest_run() else { return Reading::of(LogEnd::Absent, None) };
    let profile = run.profile.as_deref().or(d.task.assignee.as_deref());
    let file = d.words_file();
    let ask = LogAsk { board, task: &d.task.id, profile, since: run.started_at, now, file };
    ended::by_board(d, logs.read(&ask, cache))
}

/// When a running attempt began that has waited for the first answer of its provider ever since, for longer than that takes.
fn unanswered(world: &mut World<'_>, d: &Detail, now: Time) -> Option<Time> {
    let run = d.current_run().filter(|run| now.since(run.started_at) >= LONG)?;
    let usage = used(world, d, run, now);
    (usage.turns == Some(0)).then_some(run.started_at)
}

/// What it waits for, or waited for.
fn kin(d: &Detail) -> impl Iterator<Item = String> + '_ {
    let open = d.parents.iter().filter(|p| !p.status.frees_children());
    let over = d.parents.iter().filter(|p| p.status.frees_children());
    let card = |p: &&crate::board::Kin| !distress::is_card_title(&p.title);
    open.chain(over).filter(card).take(MAX_KIN).map(|p| p.id.clone())
}

/// Its open distress card, else the newest one that was made for it.
fn card_of(d: &Detail) -> Option<String> {
    let tied = || d.parents.iter().rev().find(|p| distress::is_card_title(&p.title)).map(|p| p.id.clone());
    d.cards.first().cloned().or_else(|| d.cards_made.last().map(|c| c.id.clone())).or_else(tied)
}

impl Survey {
    fn take(&mut self, watcher: &'static str, report: BoardReport) {
        if let Some(e) = &report.error {
            self.failed.push((watcher, e.to_string()));
        }
        for (step, _) in report.steps {
            let verdict = Verdict::Acts { action: step.action, case: step.case };
            let take = Take { watcher, verdict, because: step.because, next: None };
            self.takes.entry(step.task).or_default().push(take);
        }
        for left in report.left {
            let verdict = if left.unknown { Verdict::Unknown } else { Verdict::Leaves };
            let take = Take { watcher, verdict, because: left.because, next: left.next };
            self.takes.entry(left.task).or_default().push(take);
        }
        for t in report.overview.iter().flat_map(|o| &o.tasks) {
            let said: Vec<String> =
                t.verdicts.iter().map(|v| format!("{}: {}", v.verdict, v.because)).collect();
            self.told.insert((watcher, t.task.clone()), said.join("; "));
        }
        for finding in report.findings.into_iter().chain(report.notices.into_iter().map(|(said, _)| said)) {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// What could not be asked, and why; each reason once.
    fn failures(&self) -> Vec<String> {
        self.failed.iter().map(|(_, why)| why.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What every watcher says of a task: its own words, else why there are none.
    fn of(&self, d: &Detail, now: Time) -> Vec<Take> {
        let mut taking = Taking { survey: self, d, now, takes: Vec::new() };
        each(&BTreeMap::new(), &mut taking);
        taking.takes
    }
}

/// Asks each watcher about a board.
struct Asking<'a, 'l> {
    lens: &'a Lens<'l>,
    id: &'a BoardId,
    only: Option<&'a str>,
    survey: Survey,
}

impl Visit for Asking<'_, '_> {
    fn one<W: Watcher>(&mut self, watcher: &W) {
        self.survey.take(W::NAME, self.lens.ask(watcher, self.id, self.only));
    }
}

/// Takes what each watcher said of one task.
struct Taking<'a> {
    survey: &'a Survey,
    d: &'a Detail,
    now: Time,
    takes: Vec<Take>,
}

impl Visit for Taking<'_> {
    fn one<W: Watcher>(&mut self, _watcher: &W) {
        let (watcher, survey, id) = (W::NAME, self.survey, &self.d.task.id);
        let failed = survey.failed.iter().find(|(w, _)| *w == watcher);
        let own = survey.takes.get(id).into_iter().flatten().find(|t| t.watcher == watcher);
        let nothing = |verdict, because: String| Take { watcher, verdict, because, next: None };
        let take = match (own, failed) {
            (Some(own), _) => own.clone(),
            (None, Some((_, why))) => nothing(Verdict::Failed, why.clone()),
            (None, None) => {
                let told = survey.told.get(&(watcher, id.clone()));
                let because = match told.map(String::as_str) {
                    Some("") => "within its bounds".into(),
                    Some(said) => format!("{said}; it only tells"),
                    None => silence::of::<W>(self.d, self.now),
                };
                nothing(Verdict::Nothing, because)
            }
        };
        self.takes.push(take);
    }
}
