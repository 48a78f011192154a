//! `board lend`: a host borrows tasks of another board for its Hermes board. What becomes of each is decided in [`ops::lend`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::copy::{is_same, named};
use super::decide::must_be_a_name;
use super::living::Living;
use super::work::is_of;
use super::{Common, Hand, TRIES, answered, refused, step, warn};
use crate::random_hex;
use ::board::discover::{self, Which};
use ::board::hermes::{self, Decider, Trail};
use ::board::several_hosts::Duty;
use ::board::{
    Answer, Begin, BoardId, Change, Detail, HandOver, Mode, NewTask, Outcome, Status, Task, claim_host,
};
use base::error::{Error, Kind, Result};
use card::packet;
use config::{Config, span};
use ops::lend::{Clocks, Deed, Loan, decide, is_lent_from, is_to, lent, mark};
use ops::report::{printable, say};
use policy::authorship::HAND;

const NOTES: &str = "\
Run it each minute on each host, from cron or a timer: one call is one pass. The dispatcher of Hermes runs the local tasks. A claim \
lasts board.claim_ttl (15m) and is extended while the local task is open. Result, summary or reason go back to the board that lends; \
then the local task gets a comment, and if it is blocked it is archived. If a claim is lost, the local task is blocked, and its worker is not stopped. Distress cards are not \
lent. While a board is paused, nothing new is claimed.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Lend {
    /// The board that lends: postgres://HOST/DATABASE, or a file of `board init`
    #[arg(long, value_name = "BOARD")]
    from: PathBuf,
    /// Claim the ready tasks of this profile, which must exist on the Hermes board
    #[arg(long, value_name = "PROFILE")]
    assignee: String,
    /// The Hermes board that gets the tasks: its slug, such as default, or its file
    #[arg(long, value_name = "SLUG|FILE")]
    onto: PathBuf,
    /// Have at most this many tasks of the profile open at the same time; 0 claims nothing new
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=100))]
    most: u32,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// A loan with what both boards say of it.
type Lent = (Loan, Option<Detail>, Option<Detail>);

/// One pass.
struct Lending<'a> {
    /// The board that lends.
    from: Hand<'a>,
    /// The Hermes board.
    onto: Hand<'a>,
    profile: String,
    dry: bool,
    ttl: i64,
    done: Vec<Done>,
}

/// What was done about a loan.
struct Done {
    loan: Loan,
    action: &'static str,
    /// The line that says so.
    says: String,
    /// Whether it is news.
    is_news: bool,
    outcome: Outcome,
}

pub(super) fn run(asked: &Lend, common: &Common) -> Result<u8> {
    let config = common.load()?.config;
    let profile = asked.assignee.trim().to_lowercase();
    must_be_a_name(&profile)?;
    let (from, onto) = (named(&asked.from, "--from")?, onto(&asked.onto, common, &config)?);
    if is_same(&from, &onto) {
        return Err(Error::new(Kind::Usage, &onto.at, "--from and --onto are the same board"));
    }
    let mode = if asked.dry_run { Mode::Look } else { Mode::Change };
    let open = |id, duty| Hand::open_at(id, common, &config, mode, HAND, duty);
    let mut onto = open(onto, Duty::Asks)?;
    if onto.board.is_own() || onto.board.is_shared() {
        let what = "--onto is not a board of Hermes, so no dispatcher would start the tasks";
        return Err(Error::new(Kind::Data, &onto.board.id().at, what).hint("use `board run` there"));
    }
    if !asked.dry_run {
        // Nothing is claimed for a board that cannot take it.
        onto.board.writable()?;
    }
    let mut from = open(from, Duty::Works)?;
    if !from.board.is_own() {
        let what = "--from is a board of Hermes, whose own dispatcher starts its tasks";
        return Err(Error::new(Kind::Data, &from.board.id().at, what).hint("name a board of `board init`"));
    }
    if asked.dry_run {
        from.attend(Duty::Looks)?;
    }
    let ttl = span::seconds(config.board.claim_ttl);
    let mut pass = Lending { from, onto, profile, dry: asked.dry_run, ttl, done: Vec::new() };
    let code = pass.whole(usize::try_from(asked.most).unwrap_or(usize::MAX));
    // What was done before an error is said as well, but for the one object of --json.
    if code.is_ok() || !common.json {
        pass.answer(common)?;
    }
    code
}

/// The Hermes board that is meant: by its slug, or by its file.
fn onto(named_so: &std::path::Path, common: &Common, config: &Config) -> Result<BoardId> {
    let Some(slug) = named_so.to_str().filter(|text| discover::is_slug(text)) else {
        return named(named_so, "--onto");
    };
    let root = common.hermes_root.clone().or_else(|| config.board.hermes_root.clone());
    let which = Which { board: vec![slug.to_owned()], root, ..Which::default() };
    let found = discover::find(&which, &super::env)?.into_iter().next();
    found.ok_or_else(|| Error::new(Kind::NoInput, slug, "no such board of Hermes"))
}

impl Lending<'_> {
    /// First the claims that are extended, which nothing on the local board can hold up; then what ended and what is lost, local tasks that
    /// an earlier pass left out, and new claims. Gives the exit code.
    fn whole(&mut self, most: usize) -> Result<u8> {
        let clocks = Clocks { there: self.from.here.now, here: self.onto.here.now, ttl: self.ttl };
        let (mut open, mut all) = (0, Vec::new());
        for (loan, there, local) in self.loans()? {
            let deed = decide(&loan, there.as_ref(), local.as_ref(), clocks);
            let holds =
                there.as_ref().is_some_and(|seen| loan.holds(seen) && is_of(&seen.task, &self.profile));
            open += usize::from(holds && matches!(deed, Deed::Nothing | Deed::Make | Deed::Renew));
            all.push((loan, there, local, deed));
        }
        all.sort_by_key(|(.., deed)| match deed {
            Deed::Renew => 0,
            Deed::Make => 2,
            _ => 1,
        });
        for (loan, there, local, deed) in all {
            self.carry_out(loan, there, local, deed)?;
        }
        let refused = self.borrow(most.saturating_sub(open))?;
        let failed = self.done.iter().any(|done| matches!(done.outcome, Outcome::Refused { .. }));
        Ok(if refused || failed { Kind::Partial.code() } else { 0 })
    }

    /// Every loan between the two boards: by the claims there, and by the local tasks that are open.
    fn loans(&mut self) -> Result<Vec<Lent>> {
        let (lends, gets) = (self.from.board_file(), self.onto.board_file());
        let host = &self.from.here.host;
        let is_here = |lock: &str| host.is_here(claim_host(lock));
        let running = self.from.board.glance(&[Status::Running])?;
        // The claims of a dispatcher have another form: their tasks need no closer look.
        let may_be =
            |t: &Task| t.claim_lock.as_deref().is_some_and(|lock| Loan::of_lock(&t.id, lock).is_some());
        let running: Vec<String> = running.into_iter().filter(may_be).map(|t| t.id).collect();
        let mut found: BTreeMap<Loan, (Option<Detail>, Option<Detail>)> = BTreeMap::new();
        for there in self.from.board.look(&running)? {
            let Some(loan) = lent(&there) else { continue };
            // After the claim was seen: of one whose local task is not there yet it would be said that it was deleted.
            let local = self.onto.board.look(&[loan.local()])?.pop();
            let is_here = there.task.claim_lock.as_deref().is_some_and(is_here);
            if is_to(&loan, &there, local.as_ref(), &gets, is_here) {
                found.insert(loan, (Some(there), local));
            }
        }
        let borrowed = self.onto.board.all_open()?;
        let borrowed =
            borrowed.into_iter().filter_map(|t| Some((Loan::of_key(t.idempotency_key.as_deref())?, t.id)));
        for (loan, id) in borrowed.collect::<Vec<_>>() {
            // A key of this form that another program gave a task is not a loan.
            if found.contains_key(&loan) || id != loan.local() {
                continue;
            }
            let Some(local) = self.onto.board.look(&[id])?.pop() else { continue };
            let there = self.from.board.look(std::slice::from_ref(&loan.task))?.pop();
            // Another board may lend to this one too.
            if there.as_ref().is_some_and(|seen| loan.was_of(seen)) || is_lent_from(&local, &lends) {
                found.insert(loan, (there, Some(local)));
            }
        }
        Ok(found.into_iter().map(|(loan, (there, local))| (loan, there, local)).collect())
    }

    fn carry_out(
        &mut self,
        loan: Loan,
        there: Option<Detail>,
        local: Option<Detail>,
        deed: Deed,
    ) -> Result<()> {
        let (id, mine) = (loan.task.clone(), loan.local());
        match (deed, there, local) {
            (Deed::Nothing, ..) => {}
            (Deed::Make, Some(there), _) => {
                let text = if self.dry { String::new() } else { self.text(&id, there.task.current_run)? };
                self.make(loan, &there, text)?;
            }
            (Deed::Renew, Some(there), _) => {
                let outcome = self.renew(&there)?;
                self.note(
                    loan,
                    "renew",
                    format!("{id}: its claim is extended, {mine} is open"),
                    false,
                    outcome,
                );
            }
            (Deed::Complete(summary), Some(there), _) => {
                let result = self.onto.board.result(&mine)?;
                let because = format!("{mine} is done");
                let trail = Trail { because: &because, ..self.from.trail("lend") };
                let changes = hermes::completed(&there, result.as_deref(), summary.as_deref(), &trail);
                let outcome = self.there(&there, changes)?;
                self.tell(&mine, &format!("{id} is done on {}", self.from.board_file()), &outcome)?;
                self.note(loan, "complete", format!("{id} is done, by {mine}"), true, outcome);
            }
            (Deed::Wait(parent, summary), Some(there), _) => {
                let because = format!("{mine} is done, but it waits for {parent}");
                let trail = Trail { because: &because, ..self.from.trail("lend") };
                let mut changes = hermes::released_to_wait(&there, &because, &trail);
                changes.extend(summary.iter().flat_map(|summary| hermes::commented(HAND, summary)));
                let outcome = self.there(&there, changes)?;
                let says =
                    format!("{id} waits for {parent} on {}, and goes on after that", self.from.board_file());
                self.tell(&mine, &says, &outcome)?;
                self.note(loan, "release", format!("{id} is released: {because}"), true, outcome);
            }
            (Deed::Block(kind, reason), Some(there), local) => {
                let changes = hermes::blocked(&there, &reason, Some(kind), &self.from.trail("lend"));
                let outcome = self.there(&there, changes)?;
                if local.is_some_and(|local| local.task.status != Status::Archived)
                    && matches!(outcome, Outcome::Applied { .. })
                {
                    let _ = self.archive(
                        &mine,
                        &format!("{id} is blocked on {}: answer there", self.from.board_file()),
                    )?;
                }
                self.note(loan, "block", format!("{id} is blocked ({mine}): {reason}"), true, outcome);
            }
            (Deed::GiveBack(reason), Some(there), _) => self.give_back(loan, &there, &reason)?,
            (Deed::Stop(reason), _, Some(local)) => {
                let decider = Decider::Person { why: HandOver::LeaseLost, assignee: None };
                let trail = Trail { because: &reason, ..self.onto.trail("lend") };
                let changes = hermes::stopped(&local, &reason, decider, &trail);
                let outcome = match self.dry {
                    true => Outcome::Planned,
                    false => self.onto.apply(&mine, Some(&local), changes)?,
                };
                self.note(loan, "stop", format!("{mine} is blocked: {reason}"), true, outcome);
            }
            (Deed::Archive(reason), _, Some(_)) => {
                let outcome = if self.dry { Outcome::Planned } else { self.archive(&mine, &reason)? };
                self.note(loan, "archive", format!("{mine} is archived: {reason}"), true, outcome);
            }
            _ => return Err(Error::new(Kind::Bug, id, "a loan without its task")),
        }
        Ok(())
    }

    /// One step on the board that lends, under run and claim as they were seen.
    fn there(&mut self, seen: &Detail, changes: Vec<Change>) -> Result<Outcome> {
        if self.dry { Ok(Outcome::Planned) } else { self.from.apply(&seen.task.id, Some(seen), changes) }
    }

    fn renew(&mut self, there: &Detail) -> Result<Outcome> {
        let expires = self.from.here.now.plus(self.ttl);
        self.there(there, hermes::heartbeat(there, expires, None))
    }

    /// A comment on the local task, once the board that lends knows.
    fn tell(&mut self, local: &str, says: &str, outcome: &Outcome) -> Result<()> {
        if matches!(outcome, Outcome::Applied { .. }) {
            let _ = self.onto.apply(local, None, hermes::commented(HAND, says))?;
        }
        Ok(())
    }

    /// Puts a local task away that is blocked: what is asked is asked on the board that lends, and not twice.
    fn archive(&mut self, local: &str, says: &str) -> Result<Outcome> {
        let seen = self.onto.look(local)?;
        let mut changes = hermes::commented(HAND, says);
        changes.extend(hermes::archived(&seen, &self.onto.trail("lend")));
        self.onto.apply(local, Some(&seen), changes)
    }

    /// Makes the local task of a claim. It may be there already: two passes at once find the same claim.
    fn make(&mut self, loan: Loan, there: &Detail, text: String) -> Result<()> {
        let (id, mine) = (loan.task.clone(), loan.local());
        let says = format!("{id} is lent to {}: {mine}", self.onto.board.id().name());
        if self.dry {
            self.note(loan, "lend", says, true, Outcome::Planned);
            return Ok(());
        }
        let place = &there.place;
        let folder =
            place.path.clone().filter(|_| place.kind.as_deref().is_some_and(|kind| kind != "scratch"));
        let task = NewTask {
            title: there.task.title.clone(),
            body: Some(text),
            assignee: Some(self.profile_of(there)),
            priority: there.task.priority,
            created_by: Some(HAND.to_owned()),
            workspace_kind: folder.as_ref().and(place.kind.clone()),
            workspace_path: folder,
            tenant: place.tenant.clone(),
            idempotency_key: Some(loan.key()),
            max_retries: there.task.max_retries,
            ..NewTask::default()
        };
        let mut trail = self.onto.trail("lend");
        trail.more.insert("lent_from".into(), mark(&self.from.board_file(), &id));
        let changes = hermes::created(Status::Ready, task, &[], &trail);
        let made = match self.onto.apply(&mine, None, changes)? {
            Outcome::Applied { .. } => None,
            Outcome::Refused { why } | Outcome::Moved { what: why } => Some(why),
            Outcome::Planned => Some("it was only planned".to_owned()),
        };
        let is_there = |seen: &Detail| seen.task.idempotency_key.as_deref() == Some(&loan.key());
        if let Some(why) = made
            && !self.onto.board.look(std::slice::from_ref(&mine))?.iter().any(is_there)
        {
            return self.give_back(loan, there, &why);
        }
        // From now on a local task that is not there was deleted.
        let outcome = match self.renew(there)? {
            // Another pass at the same time did the same.
            Outcome::Moved { .. } => Outcome::Applied { run: None },
            other => other,
        };
        self.note(loan, "lend", says, true, outcome);
        Ok(())
    }

    fn profile_of(&self, there: &Detail) -> String {
        there.task.assignee.as_deref().map_or_else(|| self.profile.clone(), str::to_lowercase)
    }

    fn give_back(&mut self, loan: Loan, there: &Detail, why: &str) -> Result<()> {
        let because = format!("no local task could be made: {why}");
        let trail = Trail { because: &because, ..self.from.trail("lend") };
        let changes = hermes::released(there, &because, &trail);
        let outcome = self.there(there, changes)?;
        let says = format!("{} is ready again: {because}", loan.task);
        // Nobody works on it, and the operator should know.
        let outcome = match outcome {
            Outcome::Applied { .. } => Outcome::Refused { why: because },
            other => other,
        };
        self.note(loan, "release", says, true, outcome);
        Ok(())
    }

    /// What the worker is told: as by `board run`, but for the number of the task, which is another one here. `run`: the run of the loan's
    /// own claim, which is not an attempt yet.
    fn text(&mut self, id: &str, run: Option<i64>) -> Result<String> {
        let Some((mut seen, packet)) = self.from.handover(id)? else {
            return Err(refused(id, "no such task"));
        };
        seen.comments = self.from.board.comments(id)?;
        seen.runs.retain(|r| Some(r.id) != run);
        seen.task.title.clear();
        let tried = (!seen.runs.is_empty()).then_some(&packet);
        let told = packet::told(&seen, tried);
        let origin =
            format!("This is task {id} of {}; how it ends is written there.", self.from.board_file());
        Ok(format!("{}\n\n{origin}\n", told.trim_end()).trim_start().to_owned())
    }

    /// Claims up to `room` tasks, and makes the local task of each. Gives whether that was refused.
    fn borrow(&mut self, room: usize) -> Result<bool> {
        let patience = self.from.config.board.busy_timeout;
        for hand in [&self.from, &self.onto] {
            let id = hand.board.id();
            if let Some(pause) = id.pause_in_force(hand.here.now, patience)? {
                if hand.common.verbose {
                    let line =
                        format!("{}: {}; nothing new is claimed", id.name(), pause.words(hand.here.now));
                    let _ = say(&mut std::io::stderr().lock(), '5', HAND, &line);
                }
                return Ok(false);
            }
        }
        if room == 0 {
            return Ok(false);
        }
        if let Err(e) = self.onto.must_exist(&self.profile, None) {
            warn(&e.to_string());
            return Ok(true);
        }
        if self.dry {
            self.plan(room)?;
            return Ok(false);
        }
        let mut skipped = BTreeSet::new();
        for _ in 0..room {
            let Some((loan, text)) = self.claim(&mut skipped)? else { break };
            // One that is released at once is not claimed again in this pass.
            skipped.insert(loan.task.clone());
            let there = self.from.look(&loan.task)?;
            self.make(loan, &there, text)?;
        }
        Ok(false)
    }

    /// What would be claimed.
    fn plan(&mut self, room: usize) -> Result<()> {
        let free = self.from.board.glance(&[Status::Ready, Status::Todo])?;
        let free = free.into_iter().filter(|t| is_of(t, &self.profile) && !t.is_card()).map(|t| t.id);
        let seen = self.from.board.look(&free.collect::<Vec<_>>())?;
        let free = seen.iter().filter(|d| self.from.may_claim(d).is_ok() && elsewhere(d).is_none());
        for there in free.take(room).cloned().collect::<Vec<_>>() {
            let says = format!("{} is lent to {}", there.task.id, self.onto.board.id().name());
            let loan = Loan { task: there.task.id.clone(), nonce: String::new() };
            self.note(loan, "lend", says, true, Outcome::Planned);
        }
        Ok(())
    }

    /// Claims the next task. What its worker is told is found out before the board is locked, as by `board run`.
    fn claim(&mut self, skipped: &mut BTreeSet<String>) -> Result<Option<(Loan, String)>> {
        let names = self.from.names_of(&self.profile)?;
        let whose: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        let nonce = random_hex();
        let lock = format!("{}:{}:{nonce}", self.from.here.host.facts().hostname, std::process::id());
        let loan = |seen: &Detail| Loan { task: seen.task.id.clone(), nonce: nonce.clone() };
        let (pass, gets) = (self.from.pass.clone(), self.onto.board_file());
        let (expires, profile) = (self.from.here.now.plus(self.ttl), self.profile.clone());
        let clock_given = self.from.here.clock_given;
        let take = |seen: &Detail| {
            let mut more = serde_json::Map::new();
            more.insert("lent_to".into(), mark(&gets, &loan(seen).local()));
            let (case, because) = ("lend".into(), "lend");
            let trail = Trail { by: HAND, pass: &pass, clock_given, case, cause: None, because, more };
            let mut changes = Vec::new();
            if seen.task.status == Status::Todo {
                changes.extend(hermes::promoted(seen, &trail));
            }
            changes.extend(hermes::claimed(seen, &lock, expires, None, Some(profile.clone()), &trail));
            Answer::Take(Box::new(step(&seen.task.id, Some(seen), changes)))
        };
        let (mut living, mut said) = (Living::default(), BTreeSet::new());
        let mut ready: Option<(Detail, String, usize)> = None;
        loop {
            let answer = |seen: &Detail| match &ready {
                _ if seen.task.is_card() || skipped.contains(&seen.task.id) => Some(Answer::Next),
                Some((was, _, nth)) if is_for(was, *nth, seen) => Some(take(seen)),
                _ => None,
            };
            let (taken, offered) = self.from.take_next(&whose, Begin::At(0), &living, &mut said, &answer)?;
            let last = ready.take();
            match (taken, last, offered) {
                (Some((seen, _)), Some((_, text, _)), _) => return Ok(Some((loan(&seen), text))),
                (_, last, Some(seen)) => {
                    if let Some(folder) = elsewhere(&seen) {
                        if self.from.common.verbose {
                            let what = format!("its folder {folder} is not on this host");
                            let line = refused(&seen.task.id, what).to_string();
                            let _ = say(&mut std::io::stderr().lock(), '5', HAND, &line);
                        }
                        skipped.insert(seen.task.id.clone());
                        continue;
                    }
                    if !living.knows(&seen) {
                        living = self.from.living(&seen, &whose, &living, None)?;
                    }
                    let nth =
                        last.filter(|(was, ..)| was.task.id == seen.task.id).map_or(1, |(.., nth)| nth + 1);
                    let text = self.text(&seen.task.id, None)?;
                    ready = Some((seen, text, nth));
                }
                _ => return Ok(None),
            }
        }
    }

    fn note(&mut self, loan: Loan, action: &'static str, says: String, is_news: bool, outcome: Outcome) {
        self.done.push(Done { loan, action, says, is_news, outcome });
    }

    fn answer(&self, common: &Common) -> Result<u8> {
        let rows: Vec<Value> = self.done.iter().map(Done::row).collect();
        let json = json!({
            "from": self.from.board_file(), "onto": self.onto.board_file(), "dry_run": self.dry, "tasks": rows,
        });
        let said = self.done.iter().filter(|done| done.is_news || common.verbose);
        let text: String = said.map(|done| format!("{}\n", done.line())).collect();
        answered(common, &json, &text)
    }
}

/// Whether a task that is offered is the one it was got ready for. See [`super::run`].
fn is_for(was: &Detail, nth: usize, offered: &Detail) -> bool {
    was == offered || (was.task.id == offered.task.id && nth >= TRIES)
}

/// The folder of a task that is not on this host.
fn elsewhere(seen: &Detail) -> Option<&str> {
    let folder = seen.place.path.as_deref().filter(|_| seen.place.kind.as_deref() != Some("scratch"))?;
    (!std::path::Path::new(folder).is_dir()).then_some(folder)
}

impl Done {
    fn row(&self) -> Value {
        let local = (!self.loan.nonce.is_empty()).then(|| self.loan.local());
        let mut row = json!({"task": self.loan.task, "local": local, "action": self.action, "says": printable(&self.says)});
        if let (Some(row), Ok(Value::Object(outcome))) =
            (row.as_object_mut(), serde_json::to_value(&self.outcome))
        {
            row.extend(outcome.into_iter().filter(|(key, _)| key != "run"));
        }
        row
    }

    fn line(&self) -> String {
        let how = match &self.outcome {
            Outcome::Applied { .. } => String::new(),
            Outcome::Planned => " (planned)".to_owned(),
            Outcome::Moved { what } => format!(" (not done, it changed meanwhile: {what})"),
            Outcome::Refused { .. } if self.action == "release" => String::new(),
            Outcome::Refused { why } => format!(" (refused: {why})"),
        };
        printable(&format!("{}{how}", self.says))
    }
}
