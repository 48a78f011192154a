//! A board that several hosts share, whichever engine it has: here SQLite, with hosts that only the test knows.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::pass::apply::{self, By};
use crate::report::BoardReport;
use base::error::{Error, Kind};
use board::testing::{Call, NOW, SharedOver, ago};
use board::{
    Attendance, Attended, HOST_LEASE, Location, Neighbour, NewTask, Rule, Status, Step, StepAction, hermes,
};
use config::Config;
use coord::opencode::Opencode;
use host::Host;
use watch::Watcher;
use watch::distress::SynthesizeDistress;
use watch::heal::Heal;

const PATIENCE: Duration = Duration::from_secs(1);
const OTHER: &str = "h2@0123456789ab";

/// A board with hosts.
struct Several {
    inner: Box<dyn Board>,
    /// All but this one.
    others: Vec<Neighbour>,
    /// Who attended.
    attended: Vec<(String, Duty)>,
    skew_ms: i64,
    is_away: bool,
}

impl SharedOver for Several {
    fn inner(&self) -> &dyn Board {
        &*self.inner
    }

    fn reach(&mut self, _: Call) -> Result<&mut dyn Board> {
        Ok(&mut *self.inner)
    }

    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Attended> {
        if self.is_away {
            return Err(Error::new(Kind::Busy, "board", "the server does not answer"));
        }
        self.attended.push((me.program.to_owned(), me.duty));
        let here = Neighbour { host: me.host.to_owned(), skew_ms: self.skew_ms, ..neighbour(0) };
        let hosts = [&[here], &self.others[..]].concat();
        Ok(Attended { now: NOW, before: Some(ago(60)), hosts })
    }
}

fn neighbour(seen: i64) -> Neighbour {
    Neighbour {
        host: OTHER.into(),
        since: ago(90_000),
        seen_at: ago(seen),
        lease_until: ago(seen - HOST_LEASE),
        healed_at: Some(ago(seen)),
        skew_ms: 0,
        forgotten_at: None,
    }
}

fn pass(program: &'static str) -> Pass {
    Pass { id: "p".into(), program, now: NOW, clock_given: true, only: None, dry: false }
}

/// A board in this folder with one task, which a host claimed that was off for 47 minutes then.
fn several(folder: &Path) -> Several {
    let at = Location::File(folder.join("board.db"));
    board::create(&at, PATIENCE).unwrap();
    let id = BoardId { at, slug: None, root: None };
    let mut inner = board::open(&id, Mode::Change, PATIENCE).unwrap();
    let (pass, ids) = (pass("board"), ["t_00000001".to_owned()]);
    let trail = pass.trail(Rule::ByHand, "");
    let task = NewTask {
        title: "Parse".into(),
        assignee: Some("luna".into()),
        workspace_kind: Some("dir".into()),
        workspace_path: Some(folder.display().to_string()),
        ..NewTask::default()
    };
    let made = Step {
        task: ids[0].clone(),
        action: StepAction::Give,
        case: Rule::ByHand,
        cause: None,
        because: String::new(),
        expect: None,
        proof: None,
        stop: None,
        after: Vec::new(),
        changes: hermes::created(Status::Ready, task, &[], &trail),
    };
    inner.apply(ago(9_100), &[made], PATIENCE).unwrap();
    let ready = inner.look(&ids).unwrap().remove(0);
    let lock = format!("{OTHER}:4711:nonce");
    let claimed = hermes::claimed(&ready, &lock, ago(1_860), Some(4_711), Some("luna".into()), &trail);
    let claim = Step::on(&ready, StepAction::Give, Rule::ByHand, claimed);
    inner.apply(ago(9_000), &[claim], PATIENCE).unwrap();
    let others = vec![neighbour(2_820)];
    Several { inner, others, attended: Vec::new(), skew_ms: 0, is_away: false }
}

/// One pass of a watcher over it.
fn round<W: Watcher>(watcher: &W, board: &mut dyn Board, pass: &Pass) -> Result<(W::Seen, BoardReport)> {
    let config = Config::default();
    let host = Host::here(&config.host.policy(), NOW).unwrap();
    let mut cache = Cache::open(None);
    let opencode = Opencode::of(&|_| None);
    let mut tools = Tools {
        pass,
        host: &host,
        config: &config,
        cache: &mut cache,
        clock_offset: 0,
        homes: Homes::NONE,
        opencode: &opencode,
        keep_seen: false,
        kept: None,
    };
    let seen = around(board, &mut tools, |world, pass| watcher.observe(world, pass))?;
    let decision = watcher.decide(&seen, pass, &config);
    let mut report = BoardReport::of(board.id());
    report.findings = decision.findings;
    report.left = decision.left;
    apply::apply(board, decision.steps, &mut tools, &mut report, By::Watcher)?;
    Ok((seen, report))
}

fn task(board: &mut Several) -> Detail {
    board.look(&["t_00000001".to_owned()]).unwrap().remove(0)
}

#[test]
fn the_work_of_a_host_that_is_gone_is_ready_again_after_one_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = several(folder.path());
    let (seen, report) = round(&Heal, &mut board, &pass("heal")).unwrap();
    let said = "host h2 was last seen 47m ago, the claim ran out 31m ago";
    assert_eq!(report.findings, [format!("{said}: its task is requeued")]);
    let d = task(&mut board);
    assert_eq!((&d.task.status, &d.task.claim_lock, d.task.failures), (&Status::Ready, &None, 0));
    let event = d.events.iter().rfind(|e| e.by() == Some("heal")).unwrap();
    assert_eq!(
        (event.kind.to_string().as_str(), &event.payload["watchbill"]["because"]),
        ("reclaimed", &json!(said))
    );
    assert_eq!(event.payload["watchbill"]["case"], "host-gone");
    let note = &d.comments.last().unwrap().body;
    assert!(note.contains("the earlier attempt ran on host h2, and its folder is there"), "{note}");
    // What was seen names the host, and nothing of the folder that has the same name here.
    let t = &seen.tasks[0];
    assert_eq!((t.claim_here, t.abroad.as_deref(), &t.resume), (false, Some(OTHER), &None));

    let (_, again) = round(&Heal, &mut board, &pass("heal")).unwrap();
    assert_eq!((again.steps.len(), again.findings.len()), (0, 0), "{again:?}");
    assert_eq!(task(&mut board), d);
}

#[test]
fn every_pass_attends_and_only_a_whole_one_of_heal_heals() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = several(folder.path());
    round(&SynthesizeDistress, &mut board, &pass("synthesize-distress")).unwrap();
    round(&Heal, &mut board, &Pass { only: Some("t_00000002".into()), ..pass("heal") }).unwrap();
    round(&Heal, &mut board, &pass("heal")).unwrap();
    let attended: Vec<(&str, Duty)> = board.attended.iter().map(|(p, d)| (p.as_str(), *d)).collect();
    let (works, heals) = (Duty::Works, Duty::Heals);
    assert_eq!(attended, [("synthesize-distress", works), ("heal", works), ("heal", heals)]);
}

#[test]
fn a_board_of_one_host_is_not_attended_and_its_claims_of_others_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = several(folder.path()).inner;
    let (seen, report) = round(&Heal, &mut *board, &pass("heal")).unwrap();
    assert_eq!((board.is_shared(), &seen.hosts, report.steps.len()), (false, &None, 0));
    assert!(report.left[0].unknown, "{report:?}");
}

#[test]
fn a_board_that_does_not_answer_ends_the_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { is_away: true, ..several(folder.path()) };
    let e = round(&Heal, &mut board, &pass("heal")).err().unwrap();
    assert_eq!((e.kind, e.to_string().contains("does not answer")), (Kind::Busy, true));
    assert_eq!(task(&mut board).task.status, Status::Running);
}

#[test]
fn a_clock_that_is_not_the_boards_stops_every_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { skew_ms: -90_000, ..several(folder.path()) };
    let (_, report) = round(&Heal, &mut board, &pass("heal")).unwrap();
    assert_eq!(report.steps.len(), 0);
    let said =
        "clock: the clock of this host is 90 s behind the board's; nothing is done by time until it is sane";
    assert_eq!(report.findings, [said]);
    let (_, report) = round(&SynthesizeDistress, &mut board, &pass("synthesize-distress")).unwrap();
    assert_eq!(report.findings, [said]);
}

#[test]
fn what_ended_an_attempt_on_another_host_is_that_hosts_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { others: vec![neighbour(20)], ..several(folder.path()) };
    let running = task(&mut board);
    let pass = pass("synthesize-distress");
    let trail = pass.trail(Rule::DeadWorker, "");
    let step =
        Step::on(&running, StepAction::Block, Rule::DeadWorker, hermes::crashed(&running, None, 1, &trail));
    board.apply(ago(900), &[step], PATIENCE).unwrap();
    let blocked = task(&mut board);
    assert_eq!(blocked.task.status, Status::Blocked);
    let (seen, report) = round(&SynthesizeDistress, &mut board, &pass).unwrap();
    assert_eq!(seen.sources[0].elsewhere.as_deref(), Some(OTHER));
    assert_eq!((report.steps.len(), report.left[0].because.as_str()), (0, "its log is on h2"));
    let (_, report) = round(&Heal, &mut board, &self::pass("heal")).unwrap();
    assert_eq!((report.steps.len(), report.left[0].because.as_str()), (0, "its log is on h2"));
}
