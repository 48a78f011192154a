//! Carrying out steps: stop workers, look once more at every process, take the dispatch lock, write.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Tools, lock, open};
use crate::report::BoardReport;
use base::error::{Error, Result};
use base::time::Time;
use board::change::{MAX_STEPS, parts};
use board::several_hosts::{self, shown};
use board::{Attended, Board, Duty, Outcome, Status, Step, claim_host};
use config::span::seconds;
use host::{AtWork, Freed};
use policy::Witness;

/// The longest wait for the board itself while we hold the dispatch lock: a dispatcher loses one tick at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// On whose behalf steps are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A watcher's, which a pause stops, also between two transactions.
    Watcher,
    /// The operator's, by hand.
    Hand,
}

/// Carries out steps, each whole or not at all, and puts down what became of each.
///
/// # Errors
/// The board must not be written, or is busy. What an earlier transaction did stands in the report.
pub(super) fn apply(
    board: &mut dyn Board,
    steps: Vec<Step>,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
    by: By,
) -> Result<()> {
    if tools.pass.dry {
        report.steps = steps.into_iter().map(|s| (s, Outcome::Planned)).collect();
        return Ok(());
    }
    if steps.is_empty() {
        // A board on which nothing moves may be one whose dispatcher is stuck in its lock.
        lock::look(board.id(), tools, report);
        return Ok(());
    }
    board.writable()?;
    let (id, now) = (board.id().clone(), tools.pass.now);
    let is_held = |tools: &mut Tools<'_>, report: &mut BoardReport| match by {
        By::Watcher => open::paused(&id, false, tools, report),
        By::Hand => Ok(()),
    };
    is_held(tools, report)?;
    let host = board.id().known_as(tools.host)?;
    let mut steps = stop_workers(board, steps, &host, &mut report.steps)?;
    if steps.iter().any(|s| abroad(s, &host).is_some())
        && let Some(all) = several_hosts::attend(board, &host, tools.pass.program, Duty::Looks)?
    {
        steps = left_to_their_hosts(steps, &host, &all, tools.config.host.gone_after, &mut report.steps);
    }
    // Before the lock: a scan of all processes is slow.
    let checked = Checked::of(steps, &host, now, tools.config.heal.orphan_wait);
    let lock = lock::take(board.id(), tools, report)?;
    let (done, fault) = checked.apply(board, now, PATIENCE, &mut || is_held(tools, report));
    drop(lock);
    // What was done before a pause is told, even if an earlier pass told of the pause.
    report.muted &= done.is_empty();
    report.steps.extend(done);
    fault.map_or(Ok(()), Err)
}

/// The other host that claims the running task of a step, as the step's guard has it.
fn abroad<'s>(step: &'s Step, here: &dyn Witness) -> Option<&'s str> {
    let expect = step.expect.as_ref().filter(|e| e.status == Status::Running)?;
    expect.claim_lock.as_deref().map(claim_host).filter(|host| !here.is_here(host))
}

/// Leaves the work of a host to it that is back since it was found gone: `heal` ran there, and that is on no row of a task. Gives the steps
/// that go on; `moved` gets the others. `all`: the hosts as the board knows them now.
pub fn left_to_their_hosts(
    steps: Vec<Step>,
    here: &dyn Witness,
    all: &Attended,
    gone_after: Duration,
    moved: &mut Vec<(Step, Outcome)>,
) -> Vec<Step> {
    let back = |step: &Step| {
        let host = abroad(step, here)?;
        let known = all.hosts.iter().find(|h| h.host == host && !h.is_forgotten())?;
        let is_back = all.now.since(known.healed_at?) < seconds(gone_after);
        is_back.then(|| format!("host {}: heal runs there again", shown(host)))
    };
    let (mut go_on, told) = (Vec::with_capacity(steps.len()), steps.into_iter().map(|s| (back(&s), s)));
    for (what, step) in told {
        match what {
            Some(what) => moved.push((step, Outcome::Moved { what })),
            None => go_on.push(step),
        }
    }
    go_on
}

/// Stops the workers that steps name, where the board is still as it was seen: what was done with a task meanwhile says that
/// its worker is well. Gives the steps that go on, with the proof that their worker is gone; `moved` gets the others.
///
/// # Errors
/// The board cannot be read.
pub fn stop_workers(
    board: &mut dyn Board,
    steps: Vec<Step>,
    host: &dyn Witness,
    moved: &mut Vec<(Step, Outcome)>,
) -> Result<Vec<Step>> {
    let mut go_on = Vec::with_capacity(steps.len());
    for mut step in steps {
        let Some(target) = &step.stop else {
            go_on.push(step);
            continue;
        };
        let now = board.look(std::slice::from_ref(&step.task))?;
        let still = now.first().map_or(Some("task"), |d| step.expect.as_ref()?.differs(&d.task, &d.mark));
        let what = match still {
            Some(what) => what.to_owned(),
            None => match host.stop(target) {
                Ok(proof) => {
                    step.proof = Some(proof);
                    go_on.push(step);
                    continue;
                }
                Err(why) => format!("its worker was not stopped: {why}"),
            },
        };
        moved.push((step, Outcome::Moved { what }));
    }
    Ok(go_on)
}

/// Steps that were held against the processes of this machine just before the write. What comes after is only the write: a
/// pass, a plan and a simulated pass end alike.
#[derive(Debug)]
pub struct Checked {
    /// With each, why it must not be done.
    steps: Vec<(Step, Option<String>)>,
}

impl Checked {
    /// Looks once more at every process that must be gone, and whether nobody works on what is to be requeued: the board may
    /// be done with an attempt whose worker is not. What a worker left behind is waited for, `orphan_wait` from the end
    /// of its attempt.
    pub fn of(steps: Vec<Step>, host: &dyn Witness, now: Time, orphan_wait: Duration) -> Checked {
        let proofs: Vec<_> = steps.iter().map(|s| s.proof.clone()).collect();
        let freed: Vec<Freed<'_>> = steps.iter().filter_map(Step::freed).collect();
        let seen = host.recheck(&proofs, &freed);
        let at_work: BTreeMap<String, AtWork> = freed
            .iter()
            .zip(seen.at_work)
            .filter_map(|(freed, process)| Some((freed.task.to_owned(), process?)))
            .collect();
        let is_waited_for = |step: &Step| {
            let ended = step.expect.as_ref().and_then(|e| e.ended);
            ended.is_some_and(|ended| now.since(ended) < seconds(orphan_wait))
        };
        let stays = |(step, holds): (Step, bool)| {
            let back = (!holds).then(|| "its worker still runs".to_owned());
            let at_work = at_work.get(&step.task).filter(|p| p.is_worker || is_waited_for(&step));
            let at_work = at_work.map(|p| format!("process {} still works on it", p.pid));
            (step, back.or(at_work))
        };
        Checked { steps: steps.into_iter().zip(seen.still_gone).map(stays).collect() }
    }

    /// Writes them, one transaction for each of their parts: what an earlier one did is told even where a later one fails.
    /// What was never tried has no outcome; the error says why. Before each transaction `go_on` is asked.
    pub fn apply(
        self,
        board: &mut dyn Board,
        now: Time,
        patience: Duration,
        go_on: &mut dyn FnMut() -> Result<()>,
    ) -> (Vec<(Step, Outcome)>, Option<Error>) {
        // Moved and not copied: there may be thousands, each with all that it writes.
        let (mut doable, mut rest, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for (step, stays) in self.steps {
            order.push(stays.is_none());
            match stays {
                None => doable.push(step),
                Some(what) => rest.push((step, Outcome::Moved { what })),
            }
        }
        let (mut outcomes, mut fault) = (Vec::with_capacity(doable.len()), None);
        for part in parts(&doable, MAX_STEPS) {
            match go_on().and_then(|()| board.apply(now, part, patience)) {
                Ok(done) => outcomes.extend(done),
                Err(e) => {
                    fault = Some(e);
                    break;
                }
            }
        }
        let (mut done, mut rest) = (doable.into_iter().zip(outcomes), rest.into_iter());
        let became = |is_done: bool| if is_done { done.next() } else { rest.next() };
        (order.into_iter().filter_map(became).collect(), fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::NOW;
    use board::testing::detail;
    use board::{Change, Neighbour, Rule, StepAction};
    use host::{Ask, HostFacts, Look, Proof, Recheck};

    /// A machine on which one process still works on `t_0000000a`.
    struct Outliving;

    impl Witness for Outliving {
        fn facts(&self) -> HostFacts {
            unreachable!("nobody asks")
        }
        fn is_here(&self, _: &str) -> bool {
            true
        }
        fn look(&self, _: &[Ask]) -> Vec<Look> {
            Vec::new()
        }
        fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
            let process = |task: &str| match task {
                "t_0000000a" => Some(AtWork { pid: 77, command: "agent".into(), is_worker: true }),
                "t_0000000c" => Some(AtWork { pid: 78, command: "make".into(), is_worker: false }),
                _ => None,
            };
            let at_work = freed.iter().map(|f| process(f.task)).collect();
            Recheck { still_gone: vec![true; proofs.len()], at_work }
        }
    }

    #[test]
    fn work_is_not_set_free_while_a_process_still_works_on_it() {
        let step = |id: &str, was: Status, changes: Vec<Change>| {
            Step::on(&detail(id, was), StepAction::Reset, Rule::CrashLoop, changes)
        };
        let (ready, blocked) = (Change::SetStatus(Status::Ready), Change::SetStatus(Status::Blocked));
        let to = Change::Assign(Some("nova".into()));
        for (id, was, changes, stays) in [
            ("t_0000000a", Status::Blocked, vec![ready.clone()], true),
            ("t_0000000a", Status::Scheduled, vec![Change::SetStatus(Status::Todo)], true),
            ("t_0000000a", Status::Ready, vec![to.clone()], true),
            ("t_0000000b", Status::Blocked, vec![ready.clone()], false),
            // What only says something, or gives it to a person, sets nothing free.
            ("t_0000000a", Status::Blocked, vec![to, blocked], false),
            ("t_0000000a", Status::Blocked, vec![], false),
            // Of a running task the proof speaks.
            ("t_0000000a", Status::Running, vec![ready], false),
        ] {
            let checked = Checked::of(
                vec![step(id, was.clone(), changes.clone())],
                &Outliving,
                NOW,
                Duration::from_secs(900),
            );
            let why = checked.steps[0].1.as_deref();
            assert_eq!(why, stays.then_some("process 77 still works on it"), "{was} {changes:?}");
        }
    }

    #[test]
    fn the_work_of_a_host_that_is_back_is_left_to_it() {
        struct Here;
        impl Witness for Here {
            fn facts(&self) -> HostFacts {
                unreachable!("nobody asks")
            }
            fn is_here(&self, host: &str) -> bool {
                host == "harbour@1"
            }
            fn look(&self, _: &[Ask]) -> Vec<Look> {
                Vec::new()
            }
            fn recheck(&self, _: &[Option<Proof>], _: &[Freed<'_>]) -> Recheck {
                unreachable!("nobody asks")
            }
        }
        let left = |lock: &str, healed: Option<i64>, forgotten: bool| {
            let mut seen = detail("t_0000000a", Status::Running);
            seen.task.claim_lock = Some(lock.into());
            let step = Step::on(&seen, StepAction::Requeue, Rule::HostGone, Vec::new());
            let quay = Neighbour {
                host: "quay@2".into(),
                since: NOW.plus(-90_000),
                seen_at: NOW,
                lease_until: NOW.plus(300),
                healed_at: healed.map(|ago| NOW.plus(-ago)),
                skew_ms: 0,
                forgotten_at: forgotten.then_some(NOW),
            };
            let (all, mut moved) = (Attended { now: NOW, before: None, hosts: vec![quay] }, Vec::new());
            let go_on = left_to_their_hosts(vec![step], &Here, &all, Duration::from_secs(1_800), &mut moved);
            assert_eq!(go_on.len() + moved.len(), 1);
            moved.pop().map(|(_, outcome)| outcome)
        };
        let what = "host quay: heal runs there again".to_owned();
        assert_eq!(left("quay@2:7:ab", Some(1_799), false), Some(Outcome::Moved { what }));
        // Its harnesses attend, and no heal: nobody there goes on with it.
        assert_eq!(left("quay@2:7:ab", Some(1_800), false), None);
        assert_eq!(left("quay@2:7:ab", None, false), None);
        assert_eq!(left("quay@2:7:ab", Some(0), true), None, "an operator said that it will not come back");
        assert_eq!(left("harbour@1:7:ab", Some(0), false), None);
        assert_eq!(left("reef@3:7:ab", Some(0), false), None, "nothing is known of it");
    }

    #[test]
    fn what_a_worker_left_behind_is_waited_for_from_the_end_of_its_attempt() {
        let held = |ended: Option<i64>| {
            let mut step = Step::on(
                &detail("t_0000000c", Status::Scheduled),
                StepAction::Release,
                Rule::HoldOver,
                vec![Change::SetStatus(Status::Ready)],
            );
            step.expect.as_mut().unwrap().ended = ended.map(|ago| NOW.plus(-ago));
            Checked::of(vec![step], &Outliving, NOW, Duration::from_secs(900)).steps[0].1.is_some()
        };
        assert!(held(Some(0)) && held(Some(899)));
        assert!(!held(Some(900)) && !held(None), "not for ever");
    }
}
