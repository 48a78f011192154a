//! `watchbill demo`: breaks a board in a temporary folder with real processes, repairs it with the real programs, and
//! shows what each of them made of it. Ends by itself and leaves nothing behind.

mod scope;
mod session;
mod shown;
mod told;

use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use serde_json::{Map, Value, json};

use super::signals::listen;
use super::{env, print};
use base::count::things;
use base::error::{Error, Kind, Result};
use base::time::Time;
use base::wrap::wrapped;
use board::hermes::{self, Trail};
use board::{
    self, Board, BoardId, Change, Detail, EventKind, Expect, Mode, NewTask, Outcome, Status, Step, Task,
};
use ops::report::printable;

/// The workers of the demo end by themselves should the demo be killed, in seconds.
const WORKER_LIFE: &str = "30";

/// Who decides about cards.
const ORCHESTRATOR: &str = "tuesday";

/// The demo's workers run where the demo runs, also inside a container. The work of luna may go to sol, who has another
/// provider; nobody may take the work of the others without being asked.
const CONFIG: &str = "\
[host]
pid_namespace = \"same\"

[profiles.luna]
provider = \"moon\"
endpoint = \"https://api.example/v1\"
fallbacks = [\"sol\"]

[profiles.sol]
provider = \"star\"
endpoint = \"https://api.star.example/v1\"

[notify.you]
command = [\"cat\"]
";

/// The exit code of a program that was asked to stop.
const INTERRUPTED: u8 = 130;

/// How one task of the demo is broken.
struct Scene {
    id: &'static str,
    title: &'static str,
    who: &'static str,
    what: &'static str,
}

const SCENES: [Scene; 10] = [
    Scene { id: "t_0000da01", title: "Port the parser", who: "vega", what: "worker killed -9" },
    Scene { id: "t_0000da02", title: "Write the migration", who: "nova", what: "worker killed -9" },
    Scene { id: "t_0000da03", title: "Fix the flaky test", who: "vega", what: "pid taken by a stranger" },
    Scene { id: "t_0000da04", title: "Update the README", who: "luna", what: "still claimed" },
    Scene { id: "t_0000da05", title: "Tidy the imports", who: "vega", what: "jammed by the number 429" },
    Scene { id: "t_0000da06", title: "Add an index", who: "nova", what: "crashed twice, given up" },
    Scene { id: "t_0000da07", title: "Translate the docs", who: "luna", what: "died of a rate limit" },
    Scene { id: "t_0000da08", title: "Choose a licence", who: "nova", what: "blocked by a person" },
    Scene { id: "t_0000da09", title: "Review the design", who: "luna", what: "healthy" },
    Scene { id: "t_0000da0a", title: "Update the licences", who: "juno", what: "key refused, given up" },
];

/// Processes of the demo, ended when it ends.
struct Crew(Vec<Child>);

impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
#[derive(Debug, Parser)]
#[command(
    name = "demo",
    about = "Show a board with failures in a temporary folder, with real processes, and the watchers that repair it"
)]
pub(super) struct DemoArgs {
    /// Show all scenes at once, also at a terminal
    #[arg(long)]
    fast: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &DemoArgs) -> Result<u8> {
    let stopped = listen()?;
    // Outside of all that may stop: it is removed however the rest ends.
    let dir = tempfile::Builder::new().prefix("watchbill-demo-").tempdir();
    let dir = dir.map_err(|e| Error::io("temporary folder", &e))?;
    match play(args, dir.path(), &stopped) {
        _ if stopped.load(Ordering::Relaxed) => Ok(INTERRUPTED),
        played if args.json => print(&played?),
        played => shown::show(&played?, args.fast, &stopped),
    }
}

/// Plays all scenes in a folder, and gives what is to be printed.
fn play(args: &DemoArgs, dir: &Path, stopped: &Arc<AtomicBool>) -> Result<String> {
    let mut stage = Stage::new(dir, Arc::clone(stopped))?;
    for scene in &SCENES {
        stage.set(scene)?;
    }
    let before = stage.tasks()?;
    let first = stage.pass("heal")?;
    let after = stage.tasks()?;
    let second = stage.pass("heal")?;
    let distress = stage.pass("synthesize-distress")?;
    let cards = stage.cards()?;
    let later = stage.pass("synthesize-distress")?;
    let asked = stage.tasks()?;
    stage.answer()?;
    let route = stage.pass("route-blocked")?;
    let routed = stage.tasks()?;
    let at_last = stage.pass("route-blocked")?;
    let budget = stage.pass("budget-check")?;
    let told = told::play(&stage)?;
    let coord = session::play(&stage)?;
    let untouched = stage.stranger_lives();
    if args.json {
        let all = json!({
            "before": before.iter().map(brief).collect::<Vec<_>>(), "heal": first,
            "after": after.iter().map(brief).collect::<Vec<_>>(), "again": second,
            "synthesize_distress": distress, "cards": cards.iter().map(whole).collect::<Vec<_>>(),
            "asked": asked.iter().map(brief).collect::<Vec<_>>(), "later": later, "route_blocked": route,
            "routed": routed.iter().map(brief).collect::<Vec<_>>(), "at_last": at_last,
            "budget_check": budget, "told": told, "coord": coord,
            "stranger_lives": untouched,
        });
        return Ok(format!("{all:#}\n"));
    }
    let mut shown = text(&before, &after, &first, &second, untouched);
    shown.push_str(&cards_text(&cards, (&after, &asked), &distress));
    shown.push_str(&routed_text((&asked, &routed), &route, steps(&later).len() + steps(&at_last).len()));
    shown.push_str(&scope::text(&budget));
    shown.push_str(&session::text(&coord));
    shown.push_str(&told::text(&told));
    shown.push_str(OWN_BOARD);
    Ok(shown)
}

const OWN_BOARD: &str = "
Now your own board:

  watchbill doctor           is everything in place? (changes nothing)
  heal --dry-run -v          what it would do now (changes nothing)
  watchbill init             have it watched every two minutes
";

fn whole(card: &Detail) -> Value {
    let mut all = brief(&card.task);
    all["body"] = json!(card.body);
    all
}

fn brief(t: &Task) -> Value {
    json!({"task": t.id, "title": t.title, "status": t.status, "assignee": t.assignee, "claim_lock": t.claim_lock,
           "failures": t.failures})
}

struct Stage {
    db: PathBuf,
    dir: PathBuf,
    host: String,
    crew: Crew,
    now: Time,
    stranger: Option<usize>,
    /// It was told to stop.
    stopped: Arc<AtomicBool>,
}

impl Stage {
    fn new(dir: &Path, stopped: Arc<AtomicBool>) -> Result<Stage> {
        let io = |e: std::io::Error| Error::io(dir.display(), &e);
        std::fs::create_dir_all(dir.join("kanban/logs")).map_err(io)?;
        std::fs::write(dir.join("watchbill.toml"), CONFIG).map_err(io)?;
        let db = dir.join("kanban.db");
        board::create(&db.clone().into(), Duration::from_secs(2))?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (crew, now) = (Crew(Vec::new()), Time::of_clock());
        Ok(Stage { db, dir: dir.into(), host, crew, now, stranger: None, stopped })
    }

    fn board(&self) -> Result<Box<dyn Board>> {
        let id = BoardId {
            at: self.db.clone().into(),
            slug: Some("default".into()),
            root: Some(self.dir.clone()),
        };
        board::open(&id, Mode::Change, Duration::from_secs(2))
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        let all = [Status::Running, Status::Ready, Status::Blocked, Status::Scheduled];
        let mut tasks = self.board()?.glance(&all)?;
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(tasks.into())
    }

    /// The open distress cards, in the order of their sources.
    fn cards(&self) -> Result<Vec<Detail>> {
        let ids: Vec<String> = self.tasks()?.into_iter().filter(Task::is_card).map(|t| t.id).collect();
        let mut cards = self.board()?.look(&ids)?;
        cards.sort_by(|a, b| a.task.title.cmp(&b.task.title));
        Ok(cards)
    }

    /// A real process that carries the marks of a worker, as Hermes starts them.
    fn worker(&mut self, scene: &Scene, run: i64) -> Result<usize> {
        let mut command = Command::new("sleep");
        command
            .arg(WORKER_LIFE)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if run > 0 {
            command.env("HERMES_KANBAN_TASK", scene.id).env("HERMES_KANBAN_RUN_ID", run.to_string());
        }
        let child = command.spawn().map_err(|e| Error::io("sleep", &e))?;
        self.crew.0.push(child);
        Ok(self.crew.0.len() - 1)
    }

    fn pid(&self, nth: usize) -> i64 {
        self.crew.0.get(nth).map_or(0, |c| i64::from(c.id()))
    }

    fn kill(&mut self, nth: usize) {
        if let Some(child) = self.crew.0.get_mut(nth) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn stranger_lives(&mut self) -> bool {
        let stranger = self.stranger.and_then(|n| self.crew.0.get_mut(n));
        stranger.is_some_and(|c| matches!(c.try_wait(), Ok(None)))
    }

    /// Changes a task as if at another time.
    fn change(
        &self,
        at: Time,
        id: &str,
        changes: impl FnOnce(&Detail) -> Vec<Change>,
    ) -> Result<Option<i64>> {
        let lost = || Error::new(Kind::Bug, id, "the demo lost a task");
        let seen = self.board()?.look(&[id.to_owned()])?.pop().ok_or_else(lost)?;
        self.write(at, id, Some(Expect::of(&seen)), changes(&seen))
    }

    fn write(&self, at: Time, id: &str, expect: Option<Expect>, changes: Vec<Change>) -> Result<Option<i64>> {
        let step = Step { expect, ..Step::unguarded(id, "demo".into(), "demo".into(), changes) };
        match self.board()?.apply(at, &[step], Duration::from_secs(2))?.pop() {
            Some(Outcome::Applied { run }) => Ok(run),
            other => Err(Error::new(Kind::Bug, id, format!("the demo could not set its scene: {other:?}"))),
        }
    }

    /// Sets one scene: everything happened some time ago, by changes the board knows.
    fn set(&mut self, scene: &Scene) -> Result<()> {
        let trail = trail();
        let (old, then, now) = (self.now.plus(-7_200), self.now.plus(-1_020), self.now);
        let mut task = NewTask {
            title: scene.title.into(),
            assignee: Some(scene.who.into()),
            created_by: Some("demo".into()),
            ..NewTask::default()
        };
        if scene.id == scope::TASK {
            scope::set(self, &mut task);
        }
        self.write(old, scene.id, None, hermes::created(Status::Ready, task, &[], &trail))?;
        match scene.id {
            "t_0000da04" => {
                let lock = format!("{}:1", self.host);
                let expires = then.plus(300);
                self.change(then, scene.id, |_| vec![Change::TakeClaim { lock, expires, pid: None }])?;
            }
            "t_0000da05" => {
                self.change(then, scene.id, |_| {
                    vec![Change::SetFailures { count: 1, error: Some("pid 429 not alive".into()) }]
                })?;
            }
            "t_0000da06" => {
                self.change(then, scene.id, |_| gave_up())?;
            }
            "t_0000da0a" => self.key_refused(scene, then)?,
            "t_0000da08" => {
                self.change(then, scene.id, |seen| {
                    hermes::blocked(seen, "needs a decision", Some("needs_input"), &trail)
                })?;
            }
            _ => self.running(scene, then, now)?,
        }
        Ok(())
    }

    fn running(&mut self, scene: &Scene, then: Time, now: Time) -> Result<()> {
        let trail = trail();
        // A claimer that is gone: the pid is above every pid this kernel gives.
        let lock = format!("{}:4194305", self.host);
        let run = self.change(then, scene.id, |seen| {
            hermes::claimed(seen, &lock, now.plus(300), None, Some(scene.who.into()), &trail)
        })?;
        let is_stranger = scene.id == "t_0000da03";
        let nth = self.worker(scene, if is_stranger { 0 } else { run.unwrap_or(0) })?;
        let pid = self.pid(nth);
        let lock = format!("{}:4194305", self.host);
        self.change(then, scene.id, |_| {
            vec![Change::TakeClaim { lock, expires: now.plus(300), pid: Some(pid) }]
        })?;
        match scene.id {
            "t_0000da03" => self.stranger = Some(nth),
            "t_0000da09" => {}
            _ => self.kill(nth),
        }
        if scene.id == "t_0000da07" {
            self.log(scene, RATE_LIMITED, then)?;
        }
        Ok(())
    }

    /// Two attempts that ended on a refused key, which the board only knows as dead workers.
    fn key_refused(&mut self, scene: &Scene, then: Time) -> Result<()> {
        let lock = format!("{}:4194305", self.host);
        let trail = trail();
        self.change(then, scene.id, |seen| {
            hermes::claimed(seen, &lock, then.plus(900), None, Some(scene.who.into()), &trail)
        })?;
        self.change(then.plus(90), scene.id, |seen| hermes::crashed(seen, Some(4_194_304), 2, &trail))?;
        self.change(then.plus(90), scene.id, |_| gave_up())?;
        self.log(scene, KEY_REFUSED, then)
    }

    /// The worker wrote its last line when it died, not when the demo was set up.
    fn log(&self, scene: &Scene, text: &str, then: Time) -> Result<()> {
        let log = self.dir.join("kanban/logs").join(format!("{}.log", scene.id));
        let io = |e: std::io::Error| Error::io(log.display(), &e);
        std::fs::write(&log, text.replace("TASK", scene.id)).map_err(io)?;
        let file = std::fs::File::options().write(true).open(&log).map_err(io)?;
        let at = std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(then.0 + 60).unwrap_or(0));
        file.set_modified(at).map_err(io)
    }

    /// Runs a real watcher, as cron would.
    fn pass(&self, watcher: &str) -> Result<Value> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Partial, "the demo", "interrupted"));
        }
        self.program(watcher, &["--json", "-v"])
    }

    /// The orchestrator takes its card, and closes it with a decision. In real life a model does that.
    fn answer(&self) -> Result<()> {
        let claimed = self.program("board", &["claim", "--worker", ORCHESTRATOR, "--json"])?;
        let card = claimed["task"].as_str().unwrap_or_default();
        let run = claimed["run"].as_i64().unwrap_or(0).to_string();
        let route = json!({"route": {"task": "t_0000da0a", "action": "reassign", "assignee": "sol",
                                     "reason": "sol has a key that works"}});
        let metadata = route.to_string();
        let complete = ["complete", card, "--run", &run, "--metadata", &metadata, "--json"];
        self.program("board", &complete).map(drop)
    }

    /// Runs one of the real programs on the board, and gives the object it prints.
    fn program(&self, name: &str, args: &[&str]) -> Result<Value> {
        told(name, &self.output(name, args)?)
    }

    /// What one of the real programs prints for people.
    fn says(&self, name: &str, args: &[&str]) -> Result<String> {
        self.output(name, args).map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// A program that runs is not stopped halfway by Ctrl-C: the next one is not begun.
    fn output(&self, name: &str, args: &[&str]) -> Result<Output> {
        let exe = std::env::current_exe().map_err(|e| Error::io("this program", &e))?;
        let mut command = Command::new(&exe);
        let path = env("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.dir.join(session::BIN).display());
        command
            .arg(name)
            .args(args)
            .arg("--db")
            .arg(&self.db)
            .arg("--config")
            .arg(self.dir.join("watchbill.toml"))
            .env_clear()
            .env("PATH", path)
            .env("XDG_STATE_HOME", self.dir.join("state"))
            .env("CLAUDE_CONFIG_DIR", self.dir.join(session::TRANSCRIPTS))
            .env("TMPDIR", &self.dir)
            .process_group(0)
            .output()
            .map_err(|e| Error::io(exe.display(), &e))
    }
}

fn told(program: &str, out: &Output) -> Result<Value> {
    serde_json::from_slice(&out.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&out.stderr);
        Error::new(Kind::Bug, program, format!("said nothing the demo understands: {}", said.trim()))
    })
}

fn trail() -> Trail<'static> {
    let more = Map::new();
    Trail {
        by: "demo",
        pass: "demo",
        clock_given: true,
        case: "demo".into(),
        cause: None,
        because: "demo",
        more,
    }
}

fn gave_up() -> Vec<Change> {
    let error = "pid 4194304 not alive";
    vec![
        Change::SetStatus(Status::Blocked),
        Change::SetFailures { count: 2, error: Some(error.into()) },
        Change::AddEvent {
            kind: EventKind::GaveUp,
            payload: json!({"failures": 2, "effective_limit": 2, "limit_source": "dispatcher", "error": error,
                            "trigger_outcome": "crashed"}),
            run: None,
        },
    ]
}

/// How a Hermes worker's log ends on a rate limit.
const RATE_LIMITED: &str = "\
Query: work kanban task TASK
Initializing agent...
⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]
⚠️  API call failed (attempt 2/2): RateLimitError [HTTP 429]
❌ Rate limited after 2 retries — HTTP 429: Rate limit reached for requests per min (RPM)
   💀 Final error: HTTP 429: Rate limit reached for requests per min (RPM)

Duration:       8s
Messages:       1 (1 user, 0 tool calls)
";

/// How it ends on a key the provider does not know.
const KEY_REFUSED: &str = "\
Query: work kanban task TASK
Initializing agent...
⚠️  API call failed (attempt 1/2): AuthenticationError [HTTP 401]
   🔌 Provider: custom  Model: m1
   🌐 Endpoint: https://api.example/v1
❌ Non-retryable error (HTTP 401): HTTP 401: Incorrect API key provided
❌ Non-retryable client error (HTTP 401). Aborting.

Duration:       2s
Messages:       1 (1 user, 0 tool calls)
";

/// What the second watcher made of what the first one could only park or leave.
fn cards_text(cards: &[Detail], states: (&[Task], &[Task]), distress: &Value) -> String {
    let mut s = String::from(
        "\nNo retry mends a rate limit or a refused key. After one pass of\nsynthesize-distress:\n\n",
    );
    s.push_str(&moves(&["t_0000da07", "t_0000da04", "t_0000da0a"], states, distress));
    if let Some(card) = cards.first() {
        s.push_str(
            "\nThe first one went to another provider, by the fallbacks of its profile; nobody\n\
             was asked. The second one is ready work of the limited provider: it waits, with\n\
             an end. About the third one the orchestrator is asked, by a card. It says, with\n\
             the exact commands that carry out a decision:\n\n",
        );
        let _ = writeln!(s, "  {}\n", printable(&card.task.title));
        let lines = card.body.lines().take_while(|l| !l.starts_with("## Scope Guard"));
        for line in lines.filter(|l| l.starts_with("- ") && !l.ends_with(": unknown")) {
            s.push_str(&wrapped("  ", &printable(line)));
        }
        s.push('\n');
    }
    s
}

/// What `route-blocked` made of the orchestrator's decision.
fn routed_text(states: (&[Task], &[Task]), route: &Value, again: usize) -> String {
    let mut s = String::from(
        "The orchestrator closed the card: reassign the task to sol. After one pass of\nroute-blocked:\n\n",
    );
    s.push_str(&moves(&["t_0000da0a"], states, route));
    let _ = write!(
        s,
        "\nA second pass of both changed {}.\n",
        if again == 0 { "nothing".to_owned() } else { things(again, "task") }
    );
    s
}

/// Who has each task now, and what the pass said of it.
fn moves(ids: &[&str], (before, after): (&[Task], &[Task]), report: &Value) -> String {
    let mut s = String::new();
    for id in ids {
        let who = |all: &[Task]| {
            let task = all.iter().find(|t| t.id == *id);
            task.and_then(|t| t.assignee.clone()).unwrap_or_else(|| "nobody".into())
        };
        let Some(task) = after.iter().find(|t| t.id == *id) else { continue };
        let (was, is) = (who(before), who(after));
        let who = if was == is { is.clone() } else { format!("{was} -> {is}") };
        let _ = writeln!(s, "  {:20} {who:12} {}", printable(&task.title), task.status);
        let said = said(report, id).unwrap_or_default();
        s.push_str(&wrapped("      ", said.strip_prefix(&format!("{was} to {is}: ")).unwrap_or(&said)));
    }
    s
}

fn text(before: &[Task], after: &[Task], first: &Value, second: &Value, untouched: bool) -> String {
    let mut s = String::from("A board at 3 am, as its workers left it and after one pass of heal:\n\n");
    let rows: Vec<[String; 4]> = SCENES
        .iter()
        .map(|scene| {
            let state = |all: &[Task]| {
                all.iter().find(|t| t.id == scene.id).map_or_else(|| "?".to_owned(), |t| t.status.to_string())
            };
            [
                scene.title.to_owned(),
                format!("{}, {}", state(before), scene.what),
                state(after),
                // A block made by hand is not even looked at closely: it is the operator's business alone.
                said(first, scene.id).map_or_else(|| "skipped: a person blocked it by hand".into(), plain),
            ]
        })
        .collect();
    let wide = |n: usize| rows.iter().map(|r| r[n].chars().count()).max().unwrap_or(0);
    let (a, b) = (wide(0), wide(1));
    for [title, was, is, why] in &rows {
        let _ = writeln!(s, "  {title:a$}  {was:b$}  {is}");
        s.push_str(&wrapped("      ", why));
    }
    let again = steps(second).len();
    let _ = write!(
        s,
        "\nA second pass right after it changed {}. The other process that has the\nrecycled pid {}.\n\
         Every change is an event on the board, with its reason and what it was before.\n",
        if again == 0 { "nothing".to_owned() } else { things(again, "task") },
        if untouched { "got no signal" } else { "is gone" },
    );
    s
}

/// Without what heal makes of the age of the scene: it is older than a machine that was started a minute ago.
fn plain(why: String) -> String {
    let known = [" (the dispatcher that started it is gone too)", " (the machine was restarted since)"];
    known.iter().fold(why, |why, known| why.replace(known, ""))
}

fn steps(report: &Value) -> &[Value] {
    report["boards"][0]["steps"].as_array().map_or(&[], Vec::as_slice)
}

/// The same, and a word where it says nothing.
fn said_of(report: &Value, id: &str) -> String {
    said(report, id).unwrap_or_else(|| "nothing is wrong with it".into())
}

/// What the report says about one task: a step, or why it was skipped.
fn said(report: &Value, id: &str) -> Option<String> {
    let about = |all: &Value| {
        let found = all.as_array()?.iter().find(|s| s["task"] == id)?;
        Some(printable(found["because"].as_str()?))
    };
    let board = &report["boards"][0];
    ["steps", "skipped", "unknown"].iter().find_map(|k| about(&board[*k]))
}
