//! A board that several hosts share, whichever engine it has: here SQLite, with hosts that only the test knows.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::pass::apply::{self, By};
use crate::report::BoardReport;
use base::cause::Cause;
use base::error::{Error, Kind};
use base::time::Time;
use board::hermes::Trail;
use board::testing::{Call, NOW, Over, ago, detail};
use board::{
    Attendance, Attended, Change, HOST_LEASE, Location, Neighbour, NewTask, Rule, Status, Step, StepAction,
    hermes,
};
use config::{Config, ProfileKeys};
use coord::opencode::Opencode;
use host::Host;
use logs::provider::Id;
use logs::provider::ledger::Entry;
use watch::Watcher;
use watch::distress::SynthesizeDistress;
use watch::heal::Heal;
use watch::route::RouteBlocked;

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
    /// The other hosts are back once a pass has looked.
    is_back: bool,
}

impl Over for Several {
    fn inner(&self) -> &dyn Board {
        &*self.inner
    }

    fn reach(&mut self, _: Call<'_>) -> Result<&mut dyn Board> {
        Ok(&mut *self.inner)
    }

    fn hosts(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        if self.is_away {
            return Err(Error::new(Kind::Busy, "board", "the server does not answer"));
        }
        self.attended.push((me.program.to_owned(), me.duty));
        let here = Neighbour { host: me.host.to_owned(), skew_ms: self.skew_ms, ..neighbour(0) };
        if self.is_back && me.duty == Duty::Looks {
            self.others = vec![neighbour(20)];
        }
        let hosts = [&[here], &self.others[..]].concat();
        Ok(Some(Attended { now: NOW, before: Some(ago(60)), hosts }))
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
    let made = Step::unguarded(
        &ids[0],
        StepAction::Give,
        Rule::ByHand,
        hermes::created(Status::Ready, task, &[], &trail),
    );
    inner.apply(ago(9_100), &[made], PATIENCE).unwrap();
    let ready = inner.look(&ids).unwrap().remove(0);
    let lock = format!("{OTHER}:4711:nonce");
    let claimed = hermes::claimed(&ready, &lock, ago(1_860), Some(4_711), Some("luna".into()), &trail);
    let claim = Step::on(&ready, StepAction::Give, Rule::ByHand, claimed);
    inner.apply(ago(9_000), &[claim], PATIENCE).unwrap();
    let others = vec![neighbour(2_820)];
    Several { inner, others, attended: Vec::new(), skew_ms: 0, is_away: false, is_back: false }
}

/// One pass of a watcher over it.
fn round<W: Watcher>(watcher: &W, board: &mut dyn Board, pass: &Pass) -> Result<(W::Seen, BoardReport)> {
    remembering(watcher, board, pass, &mut Cache::open(None))
}

/// The same of a host that remembers something.
fn remembering<W: Watcher>(
    watcher: &W,
    board: &mut dyn Board,
    pass: &Pass,
    cache: &mut Cache,
) -> Result<(W::Seen, BoardReport)> {
    let mut config = Config::default();
    let luna = ProfileKeys { provider: Some("moon".into()), ..ProfileKeys::default() };
    config.profiles.insert("luna".into(), luna);
    let host = Host::here(&config.host.policy(), NOW).unwrap();
    let opencode = Opencode::of(&|_| None);
    let mut tools = Tools {
        pass,
        host: &host,
        config: &config,
        cache,
        clock_offset: 0,
        homes: Homes::NONE,
        opencode: &opencode,
        keep_seen: false,
        looks: None,
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
    assert_eq!(report.findings, [format!("{said}: heal requeues its task")]);
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
fn the_work_of_a_host_that_is_back_meanwhile_stays_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { is_back: true, ..several(folder.path()) };
    let before = task(&mut board);
    let (_, report) = round(&Heal, &mut board, &pass("heal")).unwrap();
    let outcomes: Vec<_> = report.steps.iter().map(|(step, outcome)| (step.case.rule(), outcome)).collect();
    let what = "host h2: heal runs there again".to_owned();
    assert_eq!(outcomes, [(Rule::HostGone, &board::Outcome::Moved { what })]);
    assert_eq!(task(&mut board), before);
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
    // The last one requeues what a host left that is gone, and looks once more whether it is.
    let looks = Duty::Looks;
    assert_eq!(attended, [("synthesize-distress", works), ("heal", works), ("heal", heals), ("heal", looks)]);
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
    let said = "the clock of this host is 90 s behind the board's; nothing is done until that is right";
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

/// A ready task of luna.
fn ready(board: &mut dyn Board, id: &str) -> Detail {
    let pass = pass("board");
    let task = NewTask { title: "Print".into(), assignee: Some("luna".into()), ..NewTask::default() };
    let changes = hermes::created(Status::Ready, task, &[], &pass.trail(Rule::ByHand, ""));
    let made = Step { expect: None, task: id.into(), ..step(&detail(id, Status::Ready), changes) };
    board.apply(ago(10_000), &[made], PATIENCE).unwrap();
    board.look(&[id.to_owned()]).unwrap().remove(0)
}

fn step(d: &Detail, changes: Vec<Change>) -> Step {
    Step::on(d, StepAction::Note, Rule::ByHand, changes)
}

/// A watcher of another host did this, then.
fn there(
    board: &mut dyn Board,
    at: Time,
    (program, facts): (&'static str, serde_json::Value),
    changes: impl FnOnce(&Trail<'_>) -> (Detail, Vec<Change>),
) {
    let (pass, more) = (pass(program), facts.as_object().unwrap().clone());
    let trail = Trail { cause: Some(Cause::RateLimit), more, ..pass.trail(Rule::ProviderHold, "said moon") };
    let (d, changes) = changes(&trail);
    board.apply(at, &[step(&d, changes)], PATIENCE).unwrap();
}

/// A task of luna that a watcher of another host held then: its log there says that moon answers in an hour.
fn refused(board: &mut dyn Board, id: &str, at: Time) {
    let (d, until) = (ready(board, id), NOW.plus(3_600));
    let hold =
        json!({"owner": "synthesize-distress", "cause": "rate_limit", "since": at.0, "until": until.0});
    let facts = json!({
        "hold": hold, "provider": "moon", "source": id, "run": 7, "profile": "luna", "began": at.0 - 60, "resets": until.0,
    });
    there(board, at, ("synthesize-distress", facts), |trail| {
        let changes = hermes::held(&d, "rate_limit", until, trail);
        (d, changes)
    });
}

fn states(board: &mut dyn Board, ids: &[&str]) -> Vec<String> {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    board.look(&ids).unwrap().iter().map(|d| d.task.status.to_string()).collect()
}

// It beats as long as its command lives, and what its provider says to it stands in a log on its own host.
#[test]
fn that_a_worker_of_another_host_lives_ends_no_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { others: vec![neighbour(20)], ..several(folder.path()) };
    refused(&mut board, "t_00000002", ago(9_050));
    let running = task(&mut board);
    let beat = step(&running, vec![Change::Heartbeat { expires: NOW.plus(900) }]);
    board.apply(ago(20), &[beat], PATIENCE).unwrap();
    let (seen, report) = round(&RouteBlocked, &mut board, &pass("route-blocked")).unwrap();
    let said = (report.steps.len(), states(&mut board, &["t_00000002"]));
    assert_eq!(said, (0, vec!["scheduled".to_owned()]), "{report:?} {:?}", seen.routing);
}

#[test]
fn what_another_host_let_go_on_is_not_held_again_before_the_next_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { others: vec![neighbour(20)], ..several(folder.path()) };
    refused(&mut board, "t_00000002", ago(800));
    // h2 saw in a log of its own that moon answers before the hour is over.
    let held = board.look(&["t_00000002".to_owned()]).unwrap().remove(0);
    let facts = json!({"sent": {"profile": "luna", "provider": "moon", "move": false}});
    there(&mut board, ago(100), ("route-blocked", facts), |trail| {
        let changes = hermes::unblocked(&held, trail);
        (held, changes)
    });
    let on_its_way = ["t_00000002"];
    assert_eq!(states(&mut board, &on_its_way), ["ready"]);
    let (_, report) = round(&RouteBlocked, &mut board, &pass("route-blocked")).unwrap();
    assert_eq!(states(&mut board, &on_its_way), ["ready"], "{report:?}");
    assert!(report.left.iter().any(|l| l.because.contains("a watcher released it since")), "{report:?}");
    let (_, report) = round(&SynthesizeDistress, &mut board, &pass("synthesize-distress")).unwrap();
    assert_eq!(states(&mut board, &on_its_way), ["ready"], "{report:?}");
    // Refused once more since.
    refused(&mut board, "t_00000003", ago(50));
    let (_, report) = round(&RouteBlocked, &mut board, &pass("route-blocked")).unwrap();
    assert_eq!(states(&mut board, &on_its_way), ["scheduled"], "{report:?}");
}

// What one host alone knows it would put in force against all the others, pass after pass.
#[test]
fn what_is_known_of_a_provider_from_boards_of_one_host_holds_nothing_on_a_shared_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut board = Several { others: vec![neighbour(20)], ..several(folder.path()) };
    ready(&mut board, "t_00000002");
    let entry = Entry {
        id: Id::new(Some("moon"), None),
        profile: None,
        cause: Cause::RateLimit,
        since: ago(300),
        bad: ago(300),
        until: NOW.plus(3_600),
        strikes: 1,
        task: "t_0000000f".into(),
        good: None,
    };
    let mut cache = Cache::open(None);
    cache.put_shared("another board", Some(json!({"entries": [entry], "sent": []}).to_string()));
    let pass = pass("route-blocked");
    let (_, report) = remembering(&RouteBlocked, &mut board, &pass, &mut cache).unwrap();
    assert_eq!(states(&mut board, &["t_00000002"]), ["ready"], "{report:?}");
    let (_, report) = remembering(&RouteBlocked, &mut *board.inner, &pass, &mut cache).unwrap();
    assert_eq!(states(&mut *board.inner, &["t_00000002"]), ["scheduled"], "{report:?}");
}
