//! A session that is a command: its harness is started for the claim that was made, and it is looked whether the board and the
//! runtime itself tell of it. That a process started proves nothing.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::super::work::Work;
use super::super::{ARRIVES, Coord, PAUSE, refused};
use super::order::Order;
use super::{Traces, settled, words};
use base::error::{Error, Kind, Result};
use base::quote;
use base::worker_env::{ATTEMPT, HARNESS};
use board::Detail;
use coord::headless::{self, Headless, Wish};
use coord::{MappingStatus, Runtime, SessionId, mapping};

/// Variables that tell the caller of its own agent. A session that it starts does not get them.
const AGENT: [&str; 2] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

impl Coord<'_> {
    /// Tree, place, harness, mapping, in this order; and whether the session itself was seen.
    pub(super) fn start(
        &mut self,
        headless: &dyn Headless,
        order: &Order,
        seen: &Detail,
        traces: &mut Traces,
    ) -> Result<(SessionId, bool)> {
        let task = &order.task;
        let run =
            seen.task.current_run.ok_or_else(|| Error::new(Kind::Bug, task, "was claimed without a run"))?;
        traces.tree = order.repo.make(&order.plan, &order.place, &order.branch, order.held.is_some())?;
        // Of a spawn that died its worker may be there.
        if seen.task.worker_pid.is_none() {
            self.hand.must(task, Some(seen), vec![settled(&order.place)?])?;
            traces.place = Some(seen.place.clone());
            let prompt = words::prompt(order, seen, &self.hand.board_file());
            let again = order.session.as_ref().filter(|_| order.again.is_some());
            traces.before = again.map_or(0, |session| headless.kept(self.home_of(order.runtime), session));
            traces.harness = Some(self.harness(headless, order, run, &prompt)?);
            self.begun(order, run, traces)?;
        }
        let session = match &order.session {
            // It was mapped with its claim.
            Some(session) if order.again.is_some() => {
                return match self.there(headless, order, run, traces) {
                    Some(other) if other != *session => {
                        Err(refused(session.as_str(), format!("{} went on as {other}", headless.program())))
                    }
                    there => Ok((session.clone(), there.is_some())),
                };
            }
            Some(session) => {
                self.record_of(order, seen, session)?;
                return Ok((session.clone(), self.there(headless, order, run, traces).is_some()));
            }
            None => self.there(headless, order, run, traces),
        };
        let session = session.ok_or_else(|| {
            let why = match self.ended(task, run, traces) {
                Some(why) => format!("{} named no session: {why}", headless.program()),
                None => format!("{} named no session within {}s", headless.program(), ARRIVES.as_secs()),
            };
            refused(task, why).hint(self.read_log(task))
        })?;
        self.record_of(order, seen, &session)?;
        Ok((session, true))
    }

    /// Starts what the worker lives under. It outlives us.
    fn harness(&self, headless: &dyn Headless, order: &Order, run: i64, prompt: &str) -> Result<Child> {
        let exe = std::env::current_exe().map_err(|e| Error::io("this program", &e))?;
        let mut command = Command::new(exe);
        // As `watchbill` it goes by another first word, and a link by the name that it was called by.
        let called = std::env::args_os().next();
        command.args(std::env::args_os().nth(1).filter(|word| word == "coord"));
        called.map(|name| command.arg0(name));
        command.args(self.hand.common.same_boards());
        command.args(Work::words(&order.task, run)).arg("--folder").arg(&order.place).arg("--");
        let (session, agent) = (order.session.as_ref(), order.agent.as_deref());
        let goes_on = order.again.is_some();
        command.args(headless.line(&Wish { session, goes_on, agent, more: &order.more }));
        for name in ATTEMPT.into_iter().chain(AGENT) {
            command.env_remove(name);
        }
        command.env(HARNESS, "1");
        let words = self.words_of(&order.task)?;
        command.stdin(Stdio::piped()).stdout(words.try_clone().map_err(|e| Error::io("its log", &e))?);
        let mut child =
            command.stderr(words).spawn().map_err(|e| Error::io("the harness of its worker", &e))?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whether it reads it is seen by what it does.
            let _ = stdin.write_all(prompt.as_bytes());
        }
        Ok(child)
    }

    /// Where the harness says its own last words, beside what the worker prints.
    fn words_path(&self, task: &str) -> Option<PathBuf> {
        self.hand.log_of(task).map(|log| log.with_extension("spawn.log"))
    }

    fn words_of(&self, task: &str) -> Result<File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = self.words_path(task).ok_or_else(|| refused(task, "there is no folder for its log"))?;
        let at = |e: &std::io::Error| Error::io(path.display(), e);
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|e| at(&e))?;
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(|e| at(&e))
    }

    fn last_words(&self, task: &str) -> String {
        let said = self.words_path(task).and_then(|path| fs::read_to_string(path).ok());
        let last = said.as_deref().and_then(|s| s.lines().rfind(|l| !l.trim().is_empty()));
        last.map_or("it ended without a word".into(), |l| quote::inline(l, 300))
    }

    /// Waits until the board shows the worker.
    fn begun(&mut self, order: &Order, run: i64, traces: &mut Traces) -> Result<()> {
        let task = &order.task;
        let until = Instant::now() + ARRIVES;
        loop {
            // Asked first: a worker that has ended has written all it had to.
            let has_ended = traces.has_ended();
            let seen = self.hand.look(task)?;
            if seen.task.current_run != Some(run) || seen.task.worker_pid.is_some() {
                return Ok(());
            }
            if has_ended {
                let why = self.last_words(task);
                return Err(refused(task, format!("its worker did not begin: {why}")));
            }
            if Instant::now() >= until {
                let why = format!("its worker did not begin within {}s", ARRIVES.as_secs());
                return Err(refused(task, why));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Where a runtime keeps its sessions.
    fn home_of(&self, runtime: Runtime) -> Option<&Path> {
        let homes = &self.hand.here.homes;
        match runtime {
            Runtime::Claude => homes.get("claude"),
            _ => homes.get("codex"),
        }
    }

    /// Waits until the runtime tells of the session, or the attempt is over.
    fn there(
        &mut self,
        headless: &dyn Headless,
        order: &Order,
        run: i64,
        traces: &mut Traces,
    ) -> Option<SessionId> {
        let log = self.hand.log_of(&order.task).unwrap_or_default();
        let home = self.home_of(order.runtime).map(Path::to_path_buf);
        let given = order.session.as_ref();
        let told = headless::Traces { home: home.as_deref(), log: &log, given, before: traces.before };
        let until = Instant::now() + ARRIVES;
        loop {
            // A board that is busy now says it in the next look.
            let over = self.hand.look(&order.task).is_ok_and(|seen| seen.task.current_run != Some(run))
                || traces.has_ended();
            // The other way round one that began and ended in between would not be seen.
            let seen = headless.seen(&told);
            if seen.is_some() || over || Instant::now() >= until {
                return seen;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Records the mapping. A heartbeat moves the row.
    fn record_of(&mut self, order: &Order, seen: &Detail, session: &SessionId) -> Result<()> {
        let change = self.mapped(order, seen, session, None)?;
        self.hand.write(&order.task, |_, _| Ok(Some(vec![change.clone()])))?;
        Ok(())
    }

    /// Refuses a session that ended while it was looked at, unless that was its good end or it asked for help.
    pub(super) fn is_well(
        &mut self,
        order: &Order,
        session: &SessionId,
        run: Option<i64>,
        traces: &mut Traces,
    ) -> Result<()> {
        let Some(run) = run else { return Ok(()) };
        let ended = self.ended(&order.task, run, traces);
        let task = self.hand.look(&order.task)?;
        let mapping = mapping::of(&task).into_iter().rfind(|m| m.session == *session);
        let has_failed = mapping.is_none_or(|m| m.status != MappingStatus::Completed && !m.waits);
        match ended.filter(|_| has_failed) {
            None => Ok(()),
            Some(why) => {
                let why = format!("ended at once: {why}");
                Err(refused(session.as_str(), why).hint(self.read_log(&order.task)))
            }
        }
    }

    /// How an attempt ended; `None`: it did not. Where `heal` is to go on with it the board does not say yet.
    fn ended(&mut self, task: &str, run: i64, traces: &mut Traces) -> Option<String> {
        // Asked first, as above.
        let has_ended = traces.has_ended();
        let seen = self.hand.look(task).ok()?;
        match seen.runs.iter().find(|r| r.id == run && r.ended_at.is_some()) {
            Some(run) => {
                let how = run.error.as_deref().or(run.outcome.as_deref()).unwrap_or("ended");
                Some(quote::inline(how, 200))
            }
            None => has_ended.then(|| self.last_words(task)),
        }
    }

    fn read_log(&self, task: &str) -> String {
        self.hand
            .log_of(task)
            .map_or_else(String::new, |log| format!("what it printed is in {}", log.display()))
    }
}
