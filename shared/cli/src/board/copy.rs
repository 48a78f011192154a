//! `board copy`: a whole board moved to another place.

use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use super::living::works_on;
use super::{Common, answered, env, refused};
use crate::{Here, exclusive, pass_id};
use ::board::copy::{self, Plan, Sum, Table};
use ::board::discover::{self, Which};
use ::board::hermes::Trail;
use ::board::pause::{self, Pause};
use ::board::{Board, BoardId, Location, Mode, Task};
use base::count::{pick, things_or};
use base::error::{Error, Kind, Result};
use card::shell_word;
use config::Config;
use logs::cache::Cache;
use ops::pass::timeline;
use ops::report::printable;
use policy::authorship::HAND;

/// Most tasks that a refusal names.
const NAMED: usize = 5;

const NOTES: &str = "\
TO must be empty, and not paused; it is made if it is not there. It must be a board of Watchbill: a board of Hermes can only \
be FROM. FROM is paused with the reason `moved to TO`, and stays paused if the copy succeeds. A board that was moved is not \
moved to another place. Both boards are compared before anything of the copy can be seen. If the copy fails, TO stays empty \
and FROM is paused or not as it was before.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Copy {
    /// The board to copy: a file, or postgres://HOST/DATABASE
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// The empty or new board: a file, or postgres://HOST/DATABASE
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Copy although workers are at work; running tasks are ready at TO
    #[arg(long)]
    leave_running: bool,
    /// Print what would be copied, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Copies a board.
pub(super) fn run(asked: &Copy, common: &Common) -> Result<u8> {
    let config = common.load()?.config;
    let patience = config.board.busy_timeout;
    let (from_id, to_id) = (named(&asked.from, "FROM")?, named(&asked.to, "TO")?);
    if is_same(&from_id, &to_id) {
        return Err(Error::new(Kind::Usage, &to_id.at, "FROM and TO are the same board"));
    }
    let here = Here::look(common, &config)?;
    let mut cache = Cache::open(Cache::place(&env));
    let mut from = sound(&from_id, &here, patience, &mut cache)?;
    let plan = copy::plan(&mut *from, &to_id.at)?;
    if !plan.running.is_empty() && !asked.leave_running {
        return Err(running(&from_id, &plan));
    }
    if !asked.leave_running {
        nobody_works(&from_id, &mut *from, &here, &config)?;
    }
    let there = existing(&to_id, patience, &cache)?;
    let has_place = there || to_id.file().is_some();
    let paused = if has_place { to_id.pause_in_force(here.now, patience)? } else { None };
    if let Some(pause) = paused {
        let why = pause.reason.as_deref().unwrap_or("its folder is");
        let what = format!("would be paused: {}", base::quote::inline(why, 300));
        let end =
            if there { unpause(&to_id) } else { format!("rm {}", shell_word(&pause::place(&to_id, &pause))) };
        let hint = format!("name a file in another folder, or end that pause first: {end}");
        return Err(Error::new(Kind::Usage, &to_id.at, what).hint(hint));
    }
    let _alone = alone(&from_id, patience)?;
    let before = from_id.pause(patience)?;
    let in_force = before.as_ref().filter(|pause| !pause.is_over(here.now));
    let place = to_id.address();
    if let Some(pause) = in_force.filter(|pause| pause.is_move() && !pause.is_move_to(&place)) {
        return Err(moved(&from_id, pause));
    }
    let by = env("USER").or_else(|| env("LOGNAME"));
    let pause = Pause::of_move(&place, by, here.now, in_force);
    from_id.may_pause(patience)?;
    let (dry, own) = (asked.dry_run, from.is_own());
    let said = Said { from: &from_id, to: &to_id, plan: &plan, pause: &pause, dry, own };
    if dry {
        return said.print(&plan.sum, common);
    }
    let pass = pass_id(HAND, here.now);
    let trail = Trail {
        by: HAND,
        pass: &pass,
        clock_given: here.clock_given,
        case: "copy".into(),
        cause: None,
        because: "board copy --leave-running",
        more: Map::new(),
    };
    from_id.set_pause(Some(&pause), patience)?;
    let mut fill = || {
        if !there {
            ::board::create(&to_id.at, patience)?;
        }
        let mut to = timeline::open(&to_id, Mode::Change, patience, &cache)?;
        copy::copy(&mut *from, &mut *to, &plan, here.now, &trail, patience)
    };
    match fill() {
        Ok(sum) => said.print(&sum, common),
        Err(e) => Err(match from_id.end_move(before.as_ref(), patience) {
            Ok(()) => e,
            Err(_) => e.hint(format!("{} is still paused: {}", from_id.at, unpause(&from_id))),
        }),
    }
}

/// Keeps every other copy of this board out until it is dropped: two would both succeed, and both copies would be worked on.
///
/// # Errors
/// `Busy` where another copy is at work.
fn alone(id: &BoardId, patience: Duration) -> Result<Option<Box<dyn Any>>> {
    let (held, what): (Option<Box<dyn Any>>, _) = match id.file() {
        None => (id.hold_for_copy(patience)?, "this board"),
        Some(file) => {
            let real = file.canonicalize();
            let Some(folder) = real.as_deref().ok().and_then(Path::parent) else { return Ok(None) };
            let folder = File::open(folder).map_err(|e| Error::io(folder.display(), &e))?;
            let held = exclusive::hold(&folder);
            (held.then(|| -> Box<dyn Any> { Box::new(folder) }), "a board of its folder")
        }
    };
    if held.is_none() {
        let what = format!("another copy of {what} is at work; nothing was copied");
        return Err(Error::new(Kind::Busy, &id.at, what).hint("try again once that has ended"));
    }
    Ok(held)
}

/// The command that ends the pause of a board.
fn unpause(id: &BoardId) -> String {
    format!("watchbill unpause --db {}", shell_word(&id.at.to_string()))
}

/// Whether two names are of one board, through links as well.
pub(super) fn is_same(one: &BoardId, other: &BoardId) -> bool {
    let real = |id: &BoardId| id.file().and_then(|file| file.canonicalize().ok());
    one.whole() == other.whole() || real(one).is_some_and(|file| real(other) == Some(file))
}

/// The board that an argument names.
pub(super) fn named(path: &Path, what: &str) -> Result<BoardId> {
    let at = Location::read(path.as_os_str()).map_err(|why| Error::new(Kind::Config, what, why))?;
    let which = Which { db: vec![at.clone()], ..Which::default() };
    let found = discover::find(&which, &env)?.into_iter().next();
    Ok(found.unwrap_or(BoardId { at, slug: None, root: None }))
}

/// Opens the board that is copied, unless a part of it would be missing.
fn sound(id: &BoardId, here: &Here, patience: Duration, cache: &mut Cache) -> Result<Box<dyn Board>> {
    if let Some(file) = id.file() {
        ops::pass::open::refuse_split(id, &here.host.of_board(file))?;
    }
    let board = timeline::open(id, Mode::Look, patience, cache)?;
    ops::pass::damage::refuse(&*board, cache, here.now)?;
    Ok(board)
}

/// Whether the board that is copied to is there already. Only an empty one of Watchbill is taken.
fn existing(id: &BoardId, patience: Duration, cache: &Cache) -> Result<bool> {
    let mut board = match timeline::open(id, Mode::Look, patience, cache) {
        Ok(board) => board,
        Err(e) if e.kind == Kind::NoInput => return Ok(false),
        Err(e) => return Err(e),
    };
    if !board.is_own() {
        let what =
            "this is a board of Hermes, and only a board of Watchbill is copied to; nothing was copied";
        return Err(Error::new(Kind::Data, &id.at, what).hint("name a new file"));
    }
    match copy::is_empty(&mut *board)? {
        true => Ok(true),
        false => Err(copy::not_empty(&id.at)),
    }
}

/// Why a board with running tasks is not copied.
fn running(id: &BoardId, plan: &Plan) -> Error {
    let count = plan.running.len();
    let mut names: Vec<&str> = plan.running.iter().take(NAMED).map(|seen| seen.task.id.as_str()).collect();
    if count > NAMED {
        names.push("...");
    }
    let what = format!(
        "{} still running ({}); nothing was copied",
        things_or(count, "task is", "tasks are"),
        names.join(", ")
    );
    let (it, one) = pick(count, ("it", "a ready one"), ("them", "ready ones"));
    refused(&id.at.to_string(), what)
        .hint(format!("wait for {it}, or copy {it} as {one} with --leave-running"))
}

/// Why a board that was moved is not moved to yet another place.
fn moved(id: &BoardId, pause: &Pause) -> Error {
    let reason = pause.reason.as_deref().unwrap_or_default();
    let what = format!("was {}; nothing was copied", base::quote::inline(reason, 300));
    refused(&id.at.to_string(), what)
        .hint(format!("copy the board there; if it is not used, first: {}", unpause(id)))
}

/// Refuses a board with a task whose attempt is over and whose worker is not: it would go on at FROM.
fn nobody_works(id: &BoardId, board: &mut dyn Board, here: &Here, config: &Config) -> Result<()> {
    let open = board.all_open()?;
    let open: Vec<&Task> = open.iter().collect();
    let host = board.id().known_as(&here.host)?;
    let Some((task, pid)) = works_on(board, &host, here.now, config, &open, None)?.pop_first() else {
        return Ok(());
    };
    let what = format!("process {pid} of an earlier attempt still works on {task}; nothing was copied");
    Err(refused(&id.at.to_string(), what)
        .hint(format!("wait for its end, or stop it: kill {pid}; --leave-running copies all the same")))
}

/// What is said of a copy.
struct Said<'a> {
    from: &'a BoardId,
    to: &'a BoardId,
    plan: &'a Plan,
    /// The one that FROM has from now on.
    pause: &'a Pause,
    dry: bool,
    /// Whether FROM is a board of Watchbill.
    own: bool,
}

impl Said<'_> {
    fn print(&self, sum: &Sum, common: &Common) -> Result<u8> {
        answered(common, &self.json(sum), &self.text(sum))
    }

    fn json(&self, sum: &Sum) -> Value {
        let mut whole = Map::new();
        whole.insert("from".into(), json!(self.from.address()));
        whole.insert("to".into(), json!(self.to.address()));
        whole.insert("dry_run".into(), json!(self.dry));
        for table in Table::ALL {
            whole.insert(table.rows().into(), json!(sum.count(table)));
        }
        let running: Vec<&str> = self.plan.running.iter().map(|seen| seen.task.id.as_str()).collect();
        whole.insert("left_running".into(), json!(running));
        let left_out: Map<String, Value> =
            self.plan.left_out.iter().map(|(what, many)| (what.clone(), json!(many))).collect();
        whole.insert("left_out".into(), Value::Object(left_out));
        Value::Object(whole)
    }

    fn text(&self, sum: &Sum) -> String {
        let (from, to) = (self.from.address(), self.to.address());
        let order = [Table::Tasks, Table::Links, Table::Comments, Table::Events, Table::Runs];
        let counts: Vec<String> = order.map(|t| format!("{} {}", sum.count(t), t.rows())).to_vec();
        let would = |would: &'static str, done: &'static str| if self.dry { would } else { done };
        let verb = would("would copy", "copied");
        let mut lines = vec![format!("{verb} {from} to {to}: {}", counts.join(", "))];
        if !self.plan.running.is_empty() {
            let ready = would("would be ready", "ready");
            let count = self.plan.running.len();
            lines.push(format!(
                "{} running at {from}, and {ready} at {to}",
                things_or(count, "task is", "tasks are")
            ));
        }
        let left_out = self.plan.left_out.iter().map(|(what, many)| format!("{many} {what}"));
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        if !left_out.is_empty() {
            lines.push(format!("not copied: {left_out}"));
        }
        let reason = self.pause.reason.as_deref().unwrap_or_default();
        lines.push(format!("{from} {} paused: {reason}", would("would be", "is")));
        if !self.own {
            lines.push(
                "Hermes does not read this pause: stop its gateway before work begins on the copy".to_owned(),
            );
        }
        lines.iter().map(|line| format!("{}\n", printable(line))).collect()
    }
}
