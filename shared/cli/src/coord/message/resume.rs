//! A word to a session that is a command: its runtime takes the session up again, as a new attempt under a harness of its own.
//! Only where nothing of it runs, for two commands in one session would write over each other.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::spawn::{Again, Order, Repo, gone};
use super::super::worktree::{Hold, Plan};
use super::super::{Coord, message_id, millis, refused};
use super::Say;
use super::again::its_card;
use crate::board::runnable;
use crate::env;
use base::error::{Error, Kind, Result};
use base::quote;
use board::{Detail, EventKind, Status, discover, hermes};
use coord::headless::Headless;
use coord::{Mapping, Operation};

impl Coord<'_> {
    /// Tells a session that is a command to go on.
    pub(super) fn resume(&mut self, headless: &dyn Headless, m: &Mapping, args: &Say) -> Result<u8> {
        let seen = self.free(m)?;
        runnable(headless.program().as_ref())?;
        if !Path::new(&m.directory).is_dir() {
            return Err(refused(&m.task, format!("its working tree {} is not there", m.directory))
                .hint(format!("in its repository: {}", self.anew(m, &seen))));
        }
        let order = order_again(m, &seen, args)?;
        let (_, is_seen) = self.carry_out(None, &order)?;
        self.close_cards(m, &seen)?;
        let id = message_id(millis(), &[m.session.as_str(), &args.text, &self.hand.pass]);
        let run = self.newest_run(m)?;
        let keys = json!({
            "session": m.session, "message": id, "text": quote::line(&args.text, 300), "queued": false,
            "recovered": false, "run": run,
        });
        let change = hermes::noted_in(run, EventKind::SessionMessaged, keys, &self.hand.trail("message"));
        self.hand.must(&m.task, None, vec![change])?;
        let json = json!({
            "session": m.session, "task": m.task, "message": id, "queued": false, "recovered": false, "run": run,
            "seen": is_seen,
        });
        let number = run.map_or(String::new(), |run| format!(" as run {run}"));
        self.hand.answer(&json, &format!("{} was told, and has {} again{number}\n", m.session, m.task))
    }

    /// The task of a session of which nothing runs, and which nobody else has.
    fn free(&mut self, m: &Mapping) -> Result<Detail> {
        let at = m.session.as_str();
        let left = self.alive(m).map_err(|why| refused(at, format!("{why}; nothing was said to it")))?;
        if let Some(pid) = left.first() {
            let why = format!(
                "is busy (process {pid}): {} takes no message while it works, and none was queued",
                m.runtime.as_str()
            );
            return Err(
                Error::new(Kind::Busy, at, why).hint("say it again when that has ended, or abort it first")
            );
        }
        let seen = self.hand.look(&m.task)?;
        if seen.task.status.frees_children() {
            return Err(refused(&m.task, format!("is {}; nothing was said to {at}", seen.task.status)));
        }
        if seen.task.status == Status::Running && seen.task.current_run == m.run {
            return Err(gone(m, "nothing was said to it"));
        }
        self.may_go_on(m, &seen)?;
        Ok(seen)
    }

    /// The commands that give the task of a session without a working tree to another one.
    fn anew(&self, m: &Mapping, seen: &Detail) -> String {
        let id = self.hand.board.id();
        let by_file =
            self.hand.common.by_file() || discover::is_elsewhere(id, discover::root(None, &env).as_deref());
        let (hand, flags) = card::hand_and_flags(id, self.hand.board.is_own(), by_file);
        let task = card::task_word(&m.task);
        let mut all = Vec::new();
        if m.waits {
            all.push(card::with_flags("coord abort", &task, &flags));
            let cards = seen.parents.iter().filter(|p| its_card(seen, p));
            all.extend(cards.map(|card| format!("{hand} complete {}", card::task_word(&card.id))));
            all.push(format!("{hand} unblock {task}"));
        }
        // Git knows the tree still, and makes no other one in its place.
        all.push("git worktree prune".to_owned());
        let again = card::flag_of("--task", &task);
        all.push(format!("coord spawn --runtime {} {again}{flags}", m.runtime.as_str()));
        all.join(" && ")
    }

    /// The run a session has now.
    fn newest_run(&mut self, m: &Mapping) -> Result<Option<i64>> {
        let all = coord::mapping::of(&self.hand.look(&m.task)?);
        Ok(all.into_iter().rfind(|now| now.session == m.session).and_then(|now| now.run))
    }
}

/// The order of an attempt that goes on in its session and its working tree.
fn order_again(m: &Mapping, seen: &Detail, args: &Say) -> Result<Order> {
    if let Some(why) = m.runtime.lacks(Operation::Agent).filter(|_| args.agent.is_some()) {
        return Err(Error::new(Kind::Usage, "--agent", format!("{} {why}", m.runtime.as_str())));
    }
    let place = PathBuf::from(&m.directory);
    Ok(Order {
        runtime: m.runtime,
        session: Some(m.session.clone()),
        more: args.more.clone(),
        task: m.task.clone(),
        seen: Some(seen.clone()),
        resumes: false,
        again: Some(Again { mapping: m.clone(), text: args.text.clone() }),
        title: seen.task.title.clone(),
        prompt: String::new(),
        told: Some(args.text.trim().to_owned()),
        agent: args.agent.clone(),
        parent: m.parent.clone(),
        repo: Repo::find(&place)?,
        branch: m.branch.clone().unwrap_or_default(),
        plan: Plan::Use,
        held: Hold::of(&place)?,
        place,
    })
}
