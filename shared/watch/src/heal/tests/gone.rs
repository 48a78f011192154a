//! What becomes of the work of other hosts on a board that several share.

use std::collections::BTreeMap;

use super::*;
use crate::heal::seen::{HostsSeen, ResumeSeen};
use crate::watcher::Watcher as _;
use board::{Attended, HOST_LEASE, Neighbour};
use config::HostGone;
use policy::OtherPolicy;
use policy::said::{Kind, Said};

const H2: &str = "h2@0123456789ab";
const H3: &str = "h3@ba9876543210";

/// A host that was seen then, with a `heal` then.
fn host(name: &str, seen: i64, healed: Option<i64>) -> Neighbour {
    Neighbour {
        host: name.into(),
        since: ago(100_000),
        seen_at: ago(seen),
        lease_until: ago(seen - HOST_LEASE),
        healed_at: healed.map(ago),
        skew_ms: 0,
        forgotten_at: None,
    }
}

/// A host that is off since 47 minutes.
fn off(name: &str) -> Neighbour {
    host(name, 2_820, Some(2_900))
}

fn well(name: &str) -> Neighbour {
    host(name, 20, Some(60))
}

/// A task of that host, whose claim ran out so many seconds ago.
fn of(host: &str, id: &str, ran_out: i64) -> TaskSeen {
    with!(running(Life::Unknown, 9_000), |t| {
        t.detail.task.id = id.into();
        t.detail.task.claim_lock = Some(format!("{host}:7:x"));
        t.detail.task.claim_expires = Some(ago(ran_out));
        t.claim_here = false;
        t.abroad = Some(host.to_owned());
    })
}

/// A pass of the host `host` beside these ones, which attended 20 seconds before.
fn beside(hosts: Vec<Neighbour>, tasks: Vec<TaskSeen>) -> Seen {
    let mut holders = BTreeMap::new();
    for (t, host) in tasks.iter().filter_map(|t| Some((t, t.abroad.clone()?))) {
        let until: &mut Option<Time> = holders.entry(host).or_default();
        *until = (*until).max(t.detail.task.claim_expires);
    }
    let hosts = [vec![host("host", 0, Some(0))], hosts].concat();
    let attended = Attended { now: NOW, before: Some(ago(20)), hosts };
    Seen { hosts: Some(HostsSeen { attended, holders }), ..seen(tasks) }
}

fn judged(h2: Option<Neighbour>, ran_out: i64) -> Decision {
    let all = beside(h2.into_iter().collect(), vec![of(H2, "t_00000001", ran_out)]);
    decide(&all, &pass(), &config())
}

const NONE: [&str; 0] = [];

#[test]
fn a_running_task_is_held_elsewhere_under_a_claim_of_another_host_that_lasts() {
    use crate::heal::gone::is_held;
    let here = |host: &str| host == "host";
    for (lock, ran_out, status, want) in [
        (Some("h2@0123456789ab:7:x"), Some(-1), Status::Running, true),
        (Some("h2@0123456789ab:7:x"), Some(0), Status::Running, false),
        (Some("h2@0123456789ab:7:x"), None, Status::Running, false),
        (Some("host:7:x"), Some(-1), Status::Running, false),
        (None, Some(-1), Status::Running, false),
        (Some("h2@0123456789ab:7:x"), Some(-1), Status::Ready, false),
        (Some("h2@0123456789ab:7:x"), Some(-1), Status::Blocked, false),
    ] {
        let mut t = of(H2, "t_00000001", 0).detail.task.clone();
        (t.claim_lock, t.claim_expires, t.status) = (lock.map(str::to_owned), ran_out.map(ago), status);
        assert_eq!(is_held(&t, NOW, &here), want, "{lock:?} {ran_out:?} {:?}", t.status);
    }
}

#[test]
fn of_a_host_is_told_though_none_of_its_tasks_is_looked_at() {
    let mut all = beside(vec![host(H2, 20, Some(1_800)), well(H3)], Vec::new());
    let holders = [(H2, Some(ago(-600))), (H3, Some(ago(-600)))];
    all.hosts.as_mut().unwrap().holders = holders.map(|(h, until)| (h.to_owned(), until)).into();
    assert_eq!(decide(&all, &pass(), &config()).findings, ["h2 has workers and no heal"]);
    let only = Pass { only: Some("t_00000009".into()), ..pass() };
    assert_eq!(decide(&all, &only, &config()).findings, NONE);
}

#[test]
fn a_host_is_gone_by_its_claim_and_its_own_silence_alone() {
    let forgotten =
        |seen: i64, at: i64| Neighbour { forgotten_at: Some(ago(at)), ..host(H2, seen, Some(seen)) };
    let young = |since: i64| Neighbour { since: ago(since), ..host(H2, 20, None) };
    let off = Some(off(H2));
    for (h2, ran_out, want) in [
        (off.clone(), 1_860, "requeue host-gone: host h2 was last seen 47m ago, the claim ran out 31m ago"),
        (off.clone(), 1_800, "requeue host-gone: host h2 was last seen 47m ago, the claim ran out 30m ago"),
        (off.clone(), 1_799, "- host h2 was last seen 47m ago, the claim ran out 29m ago; left there until "),
        (off.clone(), 0, "- host h2 was last seen 47m ago, the claim ran out 0s ago; left there until "),
        (off, -1, "? worker unknown: as seen"),
        // The lease of the host.
        (
            Some(host(H2, 300, Some(310))),
            1_860,
            "- host h2 was last seen 5m ago, the claim ran out 31m ago; left there until ",
        ),
        (
            Some(host(H2, 1_799, Some(1_810))),
            1_860,
            "- host h2 was last seen 29m ago, the claim ran out 31m ago; left there until ",
        ),
        (
            Some(host(H2, 1_800, Some(1_810))),
            1_860,
            "requeue host-gone: host h2 was last seen 30m ago, the claim ",
        ),
        (
            Some(host(H2, 299, Some(310))),
            1_860,
            "- its claim ran out 31m ago; host h2 was seen 4m ago, and judges its own workers",
        ),
        // Its heal.
        (
            Some(host(H2, 20, Some(1_800))),
            1_860,
            "requeue host-gone: no heal ran on host h2 for 30m, the claim ",
        ),
        (
            Some(host(H2, 20, Some(1_799))),
            1_860,
            "- its claim ran out 31m ago; host h2 was seen 20s ago, and judges its own workers",
        ),
        (Some(young(1_800)), 1_860, "requeue host-gone: no heal ran on host h2 for 30m"),
        (
            Some(young(1_799)),
            1_860,
            "- its claim ran out 31m ago; host h2 was seen 20s ago, and judges its own workers",
        ),
        (
            Some(host(H2, 20, Some(1_800))),
            1_799,
            "- no heal ran on host h2 for 30m, the claim ran out 29m ago; left",
        ),
        // No word of it.
        (None, 1_860, "requeue host-gone: host h2 is not known to this board, the claim ran out 31m ago"),
        (None, 1_799, "- host h2 is not known to this board, the claim ran out 29m ago; left there until "),
        // Forgotten by an operator, from the end of the claim on; not if the host came back since.
        (
            Some(forgotten(90, 60)),
            0,
            "requeue host-gone: host h2 was forgotten 1m ago, the claim ran out 0s ago",
        ),
        (Some(forgotten(90, 60)), -1, "? worker unknown: as seen"),
        (
            Some(forgotten(20, 60)),
            1_860,
            "- its claim ran out 31m ago; host h2 was seen 20s ago, and judges its own workers",
        ),
    ] {
        let got = line(&judged(h2.clone(), ran_out));
        assert!(got.starts_with(want), "wanted {want:?}\n   got {got:?}\n    of {h2:?} {ran_out}");
    }
}

#[test]
fn the_reason_is_the_whole_reason_and_the_death_is_not_counted() {
    let d = judged(Some(off(H2)), 1_860);
    assert_eq!(d.steps[0].because, "host h2 was last seen 47m ago, the claim ran out 31m ago");
    assert_eq!((kinds(&d).as_str(), status_after(&d)), ("reclaimed commented", Some(Status::Ready)));
    assert!(!d.steps[0].changes.iter().any(|c| matches!(c, Change::SetFailures { .. })), "{:?}", d.steps);
    assert_eq!(d.steps[0].proof, None, "no process of this host says anything");
    assert_eq!(
        d.findings,
        ["host h2 was last seen 47m ago, the claim ran out 31m ago: heal requeues its task"]
    );
}

#[test]
fn a_board_of_one_host_leaves_the_claims_of_others() {
    says(of(H2, "t_00000001", 90_000), "? worker unknown: as seen");
}

#[test]
fn what_is_here_decides_nothing_about_what_was_there() {
    let tree = worktree::state::TreeState {
        method: worktree::state::Method::Git,
        hash: "git:1".into(),
        root: "/work".into(),
        asked: String::new(),
        below: String::new(),
        head: Some("abc".into()),
        branch: Some("of-this-host".into()),
        changed_count: 0,
        untracked_count: 0,
        paths: Vec::new(),
        is_all: true,
    };
    let t = with!(of(H2, "t_00000001", 1_860), |t| {
        t.detail.place.path = Some("/work".into());
        t.resume = Some(ResumeSeen { tree: Some(tree), ..ResumeSeen::default() });
        t.log = ended(Cause::RateLimit);
        t.log_at = Some(ago(1));
    });
    let d = decide(&beside(vec![off(H2)], vec![t]), &pass(), &config());
    assert!(line(&d).starts_with("requeue host-gone: "), "{}", line(&d));
    let note = d.steps[0].changes.iter().find_map(|c| match c {
        Change::AddComment { body, .. } => Some(body.clone()),
        _ => None,
    });
    let note = note.unwrap();
    assert!(note.contains("the earlier attempt ran on host h2, and its folder is there"), "{note}");
    assert!(!note.contains("of-this-host") && !note.contains("Commit"), "{note}");
}

#[test]
fn the_caps_of_other_deaths_hold() {
    let gone = |t: TaskSeen| line(&decide(&beside(vec![off(H2)], vec![t]), &pass(), &config()));
    let again = |n: i64| {
        with!(of(H2, "t_00000001", 1_860), |t| {
            for i in 0..n {
                t.detail.events.push(ours("reclaimed", 20_000 - i, json!({"uncounted": i + 1})));
            }
        })
    };
    assert!(!gone(again(4)).contains("failure"), "{}", gone(again(4)));
    assert!(gone(again(5)).ends_with("the claim ran out 31m ago (failure 1 of 2)"), "{}", gone(again(5)));
    let second = with!(again(5), |t| t.detail.task.failures = 1);
    assert!(gone(second.clone()).starts_with("block host-gone: "), "{}", gone(second));
    let by_hand = with!(again(0), |t| t.detail.task.max_retries = Some(1));
    assert!(gone(by_hand.clone()).ends_with("(failure 1 of 1)"), "{}", gone(by_hand));
    let card = with!(again(0), |t| t.detail.cards = vec!["t_0000000c".into()]);
    assert!(gone(card.clone()).starts_with("park host-gone: "), "{}", gone(card));
    let dying = with!(again(0), |t| {
        t.detail.runs.extend((2..11).map(|n| run(n, 20_000 * n, Some(20_000 * n - 900), Some("timed_out"))));
    });
    assert!(gone(dying.clone()).starts_with("hand-over resume-cap: "), "{}", gone(dying));
    let left = with!(again(0), |t| t.detail.body = "watchbill: no-heal\n".into());
    assert!(gone(left.clone()).starts_with("- "), "{}", gone(left));
}

#[test]
fn a_host_that_lost_sight_itself_calls_nobody_gone() {
    let at = |before: Option<i64>| {
        let mut all = beside(vec![off(H2)], vec![of(H2, "t_00000001", 1_860), of(H2, "t_00000002", 1_860)]);
        all.hosts.as_mut().unwrap().attended.before = before.map(ago);
        decide(&all, &pass(), &config())
    };
    assert_eq!(at(Some(HOST_LEASE)).steps.len(), 2);
    for (before, why) in [
        (None, "heal runs on this host for the first time"),
        (Some(HOST_LEASE + 1), "no heal ran on this host itself for 5m"),
    ] {
        let d = at(before);
        assert_eq!(d.steps, [], "{before:?}");
        assert_eq!(d.findings, [format!("{why}: nothing is done about the work of h2")]);
        assert!(d.left.iter().all(|l| l.because.ends_with(": nothing is done")), "{:?}", d.left);
    }
}

#[test]
fn a_machine_with_a_new_name_is_not_gone() {
    let old = || vec![of(H2, "t_00000001", 1_860)];
    for (new, steps) in
        [(well("new@0123456789ab"), 0), (well("new@aaaaaaaaaaaa"), 1), (off("new@0123456789ab"), 1)]
    {
        let d = decide(&beside(vec![off(H2), new.clone()], old()), &pass(), &config());
        assert_eq!((d.steps.len(), d.findings.len()), (steps, 1), "{new:?}\n{d:?}");
        if steps == 0 {
            assert!(d.findings[0].starts_with("host h2 is called new now: "), "{:?}", d.findings);
        }
    }
    // Nor does it make others seem gone with it.
    let two = || vec![of(H2, "t_00000001", 1_860), of(H3, "t_00000002", 1_860)];
    let d = decide(&beside(vec![off(H2), well("new@0123456789ab"), off(H3)], two()), &pass(), &config());
    assert_eq!((d.steps.len(), d.steps[0].task.as_str()), (1, "t_00000002"), "{d:?}");
}

#[test]
fn between_two_rounds_of_its_timers_a_host_is_well() {
    let mut config = config();
    config.host.gone_after = Duration::from_secs(120);
    for (healed, steps) in [(120, 0), (HOST_LEASE - 1, 0), (HOST_LEASE, 1)] {
        let all = beside(vec![host(H2, 20, Some(healed))], vec![of(H2, "t_00000001", 1_860)]);
        assert_eq!(decide(&all, &pass(), &config).steps.len(), steps, "{healed}");
    }
}

#[test]
fn most_hosts_are_never_gone_at_once() {
    let of_three =
        || vec![of(H2, "t_00000001", 1_860), of(H3, "t_00000002", 1_860), of("h4@x", "t_00000003", -60)];
    let two = || of_three().into_iter().take(2).collect::<Vec<_>>();
    let forgotten = Neighbour { forgotten_at: Some(ago(60)), ..off(H3) };
    for (hosts, tasks, steps, findings) in [
        (vec![off(H2), off(H3)], two(), 0, 1),
        // This host and one more are there.
        (vec![off(H2), off(H3), well("h4@x")], of_three(), 2, 2),
        (vec![off(H2), off(H3), off("h4@x")], of_three(), 0, 1),
        (vec![off(H2), well(H3)], two(), 1, 1),
        // The second is known by its claim alone.
        (vec![off(H2)], vec![of(H2, "t_00000001", 1_860), of("h5@x", "t_00000002", -60)], 1, 1),
        (vec![], vec![of(H2, "t_00000001", 1_860), of("h5@x", "t_00000002", 0)], 0, 1),
        // A host that an operator forgot is gone anyway.
        (vec![off(H2), forgotten], two(), 2, 2),
    ] {
        let d = decide(&beside(hosts.clone(), tasks), &pass(), &config());
        assert_eq!((d.steps.len(), d.findings.len()), (steps, findings), "{hosts:?}\n{d:?}");
    }
    let d = decide(&beside(vec![off(H2), off(H3)], two()), &pass(), &config());
    assert_eq!(d.findings, ["2 of 3 hosts seem gone at once: nothing is done about the work of h2, h3"]);
}

/// A pass of each host that is well, over one board: each sees the others and what they hold. Gives what they decide; the first host's name is
/// `host`.
fn asked_of_each(hosts: &[Neighbour], tasks: &[TaskSeen]) -> Vec<Decision> {
    let well = hosts.iter().filter(|h| h.attends(NOW) && h.healed_at > Some(ago(300)));
    let pass_of = |me: &Neighbour| {
        let claims = tasks.iter().filter(|t| t.abroad.as_deref() != Some(&me.host)).cloned().collect();
        let mut seen = beside(Vec::new(), claims);
        seen.hosts.as_mut().unwrap().attended.hosts = hosts.to_vec();
        decide(&seen, &pass(), &config())
    };
    well.map(pass_of).collect()
}

#[test]
fn whether_most_hosts_are_gone_is_the_same_whoever_asks() {
    let [mars, venus, jove] = ["mars@a", "venus@b", "jove@c"];
    let (moon, sol) = (|| of(H2, "t_00000001", 1_860), || of(H3, "t_00000002", 1_860));
    let held = |host: &str| of(host, "t_0000000a", -600);
    let idle = || host(jove, 20, Some(1_800));
    for (hosts, tasks, requeued) in [
        // Two of four: as many as are gone are well.
        (vec![well(mars), well(venus), off(H2), off(H3)], vec![held(mars), moon(), sol()], 2),
        (vec![well(mars), well(venus), off(H2), off(H3)], vec![moon(), sol()], 2),
        (vec![well(mars), well(venus), off(H2), off(H3)], vec![held(mars), held(venus), moon(), sol()], 2),
        // Two of three.
        (vec![well(mars), off(H2), off(H3)], vec![held(mars), moon(), sol()], 0),
        (vec![well(mars), off(H2), off(H3)], vec![moon(), sol()], 0),
        // A silent host without claims holds up nothing, and one without `heal` is not well.
        (vec![well(mars), off(jove), off(H2)], vec![moon()], 1),
        (vec![well(mars), idle(), off(H2), off(H3)], vec![moon(), sol()], 0),
        // One of two, with claims of the one that asks or without.
        (vec![well(mars), off(H2)], vec![moon()], 1),
        (vec![well(mars), off(H2)], vec![held(mars), moon()], 1),
        // The third of five.
        (vec![well(mars), well(venus), off(H2), off(H3), off(jove)], vec![moon(), sol(), held(jove)], 0),
    ] {
        for d in asked_of_each(&hosts, &tasks) {
            assert_eq!(d.steps.len(), requeued, "{hosts:?}\n{d:?}");
        }
    }
    let d =
        &asked_of_each(&[well(mars), well(venus), off(H2), off(H3), off(jove)], &[moon(), sol(), held(jove)]);
    assert_eq!(d.len(), 2);
    for d in d {
        assert_eq!(d.findings, ["3 of 5 hosts seem gone at once: nothing is done about the work of h2, h3"]);
    }
}

#[test]
fn a_host_is_told_of_once_however_many_tasks_it_had() {
    let tasks = || vec![of(H2, "t_00000001", 1_860), of(H2, "t_00000002", 2_460), of(H2, "t_00000003", 60)];
    let d = decide(&beside(vec![off(H2)], tasks()), &pass(), &config());
    assert_eq!(d.steps.len(), 2);
    let said = "host h2 was last seen 47m ago, the claim ran out 41m ago:";
    assert_eq!(d.findings, [format!("{said} heal requeues its tasks (2)")]);
    let mut only = config();
    only.host.gone = HostGone::Report;
    let d = decide(&beside(vec![off(H2)], tasks()), &pass(), &only);
    assert_eq!(d.steps, []);
    assert_eq!(d.findings, [format!("{said} its tasks are left running (`host.gone`) (2)")]);
    let left = "host h2 was last seen 47m ago, the claim ran out 31m ago; left running (`host.gone`)";
    assert_eq!(d.left[0].because, left);
    // By an operator's decision it is gone, whatever becomes of the work of others.
    let forgotten = Neighbour { forgotten_at: Some(ago(60)), ..off(H2) };
    let d = decide(&beside(vec![forgotten], vec![of(H2, "t_00000001", 60)]), &pass(), &only);
    let said = "host h2 was forgotten 1m ago, the claim ran out 1m ago";
    assert_eq!((line(&d), d.left.len()), (format!("requeue host-gone: {said}"), 0));
    assert_eq!(d.findings, [format!("{said}: heal requeues its task")]);
}

#[test]
fn what_nobody_goes_on_with_is_told_with_its_host_and_what_to_do() {
    let mut only = config();
    only.host.gone = HostGone::Report;
    let one = |hosts: Vec<Neighbour>, config: &Config| {
        let tasks = vec![of(H2, "t_00000001", 1_860), of(H3, "t_00000002", 60)];
        let mut d = decide(&beside(hosts, tasks), &pass(), config);
        d.left.swap_remove(0)
    };
    let stuck = |since: i64, todo: &str| {
        Some(policy::Stuck { host: "h2".into(), since: ago(since), todo: todo.into() })
    };
    let report = "Bring it back; if it will not come back: board host forget h2";
    let absent = "Bring it back, or set host.gone = \"requeue\": heal then requeues what it left";
    let most = "Bring those hosts back; of one that will not come back: board host forget h2";
    let unhealed = "Let heal run on h2 again: it judges the workers there";
    let renamed = "Set host.name = \"h2@0123456789ab\" there until its workers have ended";
    let new = || well("new@0123456789ab");
    for (hosts, config, want) in [
        (vec![off(H2), well(H3)], &only, stuck(2_820, report)),
        (vec![well(H3)], &only, stuck(1_860, absent)),
        (vec![host(H2, 20, Some(2_000)), well(H3)], &only, stuck(2_000, unhealed)),
        (vec![off(H2), off(H3)], &config(), stuck(2_820, most)),
        (vec![off(H2), well(H3), new()], &config(), stuck(1_860, renamed)),
        // It attends, or may: whether its worker lives is known there alone.
        (vec![well(H2), well(H3)], &only, None),
        (vec![host(H2, 1_799, Some(1_810)), well(H3)], &only, None),
    ] {
        assert_eq!(one(hosts.clone(), config).stuck, want, "{hosts:?}");
    }
    let left = one(vec![well(H2), well(H3)], &config());
    assert_eq!((left.unknown, left.next), (false, Some(NOW.plus(HOST_LEASE - 20))), "{left:?}");
    // With its next pass this host may see it otherwise.
    let mut all = beside(vec![off(H2)], vec![of(H2, "t_00000001", 1_860)]);
    all.hosts.as_mut().unwrap().attended.before = None;
    let d = decide(&all, &pass(), &only);
    assert!(d.left[0].unknown && d.left[0].stuck.is_none(), "{d:?}");
}

#[test]
fn a_finding_names_the_hosts_that_it_is_about() {
    let one = |ran_out| vec![of(H2, "t_00000001", ran_out)];
    let two = [one(1_860), vec![of(H3, "t_00000002", 1_860)]].concat();
    for (hosts, tasks, want) in [
        (vec![off(H2), well(H3)], one(1_860), &["h2"][..]),
        (vec![off(H2), off(H3)], two, &["h2", "h3"]),
        (vec![off(H2), well("new@0123456789ab")], one(1_860), &["h2"]),
        // These two are told beside the tasks.
        (vec![host(H2, 20, Some(90_000))], one(1_860), &[]),
        (vec![host(H2, 20, Some(1_800))], one(-600), &[]),
    ] {
        let d = decide(&beside(hosts, tasks), &pass(), &config());
        let named = match &d.findings[..] {
            [Said { kind: Kind::Hosts(names), .. }] => names.as_slice(),
            [_] => &[],
            other => panic!("{other:?}"),
        };
        assert_eq!(named, want, "{d:?}");
    }
}

#[test]
fn workers_without_a_heal_on_their_host_are_told_of() {
    let d = |healed: i64| judged(Some(host(H2, 20, Some(healed))), -600);
    assert_eq!(d(1_800).findings, ["h2 has workers and no heal"]);
    assert_eq!(d(1_800).steps, []);
    assert_eq!(d(1_799).findings, NONE);
    assert_eq!(judged(Some(off(H2)), -600).findings, NONE, "its lease ran out: its claims do, too");
}

#[test]
fn gone_after_is_what_is_set() {
    let mut soon = config();
    soon.host.gone_after = Duration::from_secs(120);
    let at =
        |ran_out: i64| decide(&beside(vec![off(H2)], vec![of(H2, "t_00000001", ran_out)]), &pass(), &soon);
    assert_eq!((at(119).steps.len(), at(120).steps.len()), (0, 1));
}

#[test]
fn a_claim_of_this_host_ends_by_the_clock_of_the_board() {
    let lease = || {
        with!(running(Life::Unknown, 9_000), |t| {
            t.detail.task.worker_pid = None;
            t.detail.task.claim_expires = Some(ago(70));
        })
    };
    let at = |behind: i64| {
        let mut all = beside(Vec::new(), vec![lease()]);
        all.hosts.as_mut().unwrap().attended.now = ago(behind);
        line(&decide(&all, &pass(), &config()))
    };
    assert!(at(0).starts_with("requeue no-pid: "), "{}", at(0));
    assert!(at(30).starts_with("- no worker known; the claim runs until"), "{}", at(30));
}

#[test]
fn a_log_on_another_host_is_that_hosts_to_read() {
    let gave_up = || {
        with!(given_up("worker gone (heal)", 9_000), |t| {
            t.abroad = Some(H2.into());
            t.worker = Some(look(Life::Unknown));
            t.log = LogEnd::NoEvidence;
        })
    };
    let at = |h2: Neighbour, t: TaskSeen| line(&decide(&beside(vec![h2], vec![t]), &pass(), &config()));
    assert_eq!(at(well(H2), gave_up()), "? its log is on h2");
    assert_eq!(at(host(H2, 1_799, Some(1_799)), gave_up()), "? its log is on h2");
    assert!(at(host(H2, 1_800, Some(1_800)), gave_up()).starts_with("reset crash-loop: "));
    let d = decide(&beside(vec![well(H2)], vec![gave_up()]), &pass(), &config());
    assert!(d.left[0].elsewhere && d.left[0].unknown, "{d:?}");
    let jam = || with!(jammed("pid 429 not alive"), |t| t.abroad = Some(H2.into()));
    assert_eq!(at(well(H2), jam()), "? its log is on h2");
    assert!(at(off(H2), jam()).starts_with("clear guard-jam: "));
}

#[test]
fn a_pass_that_was_stored_is_decided_again() {
    let all = beside(vec![off(H2)], vec![of(H2, "t_00000001", 1_500)]);
    let text = serde_json::to_string(&all).unwrap();
    let mut again: Seen = serde_json::from_str(&text).unwrap();
    assert_eq!(again, all);
    // What passes of earlier versions and of other boards stored says nothing of hosts.
    let one = serde_json::to_string(&seen(vec![running(Life::Gone, 900)])).unwrap();
    assert!(!one.contains("hosts") && !one.contains("abroad"), "{one}");
    assert_eq!(serde_json::from_str::<Seen>(&one).unwrap().hosts, None);

    let (at, in_force) = (NOW.plus(60), config());
    let mut sooner = config();
    sooner.host.gone_after = Duration::from_secs(1_560);
    let other = OtherPolicy { at, policy: &sooner, seen_under: &in_force };
    crate::heal::Heal::under(&mut again, &other);
    let pass = Pass { now: at, ..pass() };
    assert_eq!(decide(&again, &pass, &in_force).steps, []);
    assert_eq!(
        line(&decide(&again, &pass, &sooner)),
        "requeue host-gone: host h2 was last seen 48m ago, the claim ran out 26m ago"
    );
    // So late, other hosts may have attended again.
    let late = OtherPolicy { at: NOW.plus(HOST_LEASE), ..other };
    crate::heal::Heal::under(&mut again, &late);
    assert_eq!(decide(&again, &pass, &sooner).steps, []);
}

prop_compose! {
    fn any_host()(
        row in proptest::option::of((-10_i64..9_000, proptest::option::of(-10_i64..9_000), 0_i64..90_000)),
        forgotten in proptest::option::of(-10_i64..9_000),
        claims in proptest::collection::vec(-9_000_i64..9_000, 0..4),
    ) -> (Option<Neighbour>, Vec<i64>) {
        let row = row.map(|(seen, healed, since)| Neighbour {
            since: ago(since),
            forgotten_at: forgotten.map(ago),
            ..host("x", seen, healed)
        });
        (row, claims)
    }
}

proptest! {
    #[test]
    fn nobody_is_called_gone_too_soon_nor_while_most_seem_so(
        all in proptest::collection::vec(any_host(), 1..6),
        before in proptest::option::of(0_i64..900),
        gone_after in 120_i64..7_200,
    ) {
        let (mut hosts, mut tasks) = (Vec::new(), Vec::new());
        for (n, (row, claims)) in all.iter().enumerate() {
            let name = format!("h{n}@m{n}");
            hosts.extend(row.clone().map(|row| Neighbour { host: name.clone(), ..row }));
            for ran_out in claims {
                tasks.push(of(&name, &format!("t_{:08x}", tasks.len()), *ran_out));
            }
        }
        let mut seen = beside(hosts, tasks);
        seen.hosts.as_mut().unwrap().attended.before = before.map(ago);
        let mut config = config();
        config.host.gone_after = Duration::from_secs(u64::try_from(gone_after).unwrap());
        let d = decide(&seen, &pass(), &config);
        // Said in other words than in the rule.
        let known = &seen.hosts.as_ref().unwrap().attended.hosts;
        let row = |name: &str| known.iter().find(|h| h.host == name);
        let silent_for = |name: &str| row(name).filter(|h| h.lease_until <= NOW).map_or(i64::MAX, |h| NOW.since(h.seen_at));
        let forgotten = |name: &str| row(name).is_some_and(|h| h.forgotten_at.is_some_and(|at| at >= h.seen_at));
        let is_there = |name: &str| row(name).is_some_and(|h| {
            h.lease_until > NOW && NOW.since(h.healed_at.unwrap_or(h.since)) < gone_after.max(HOST_LEASE)
        });
        let all = &seen.hosts.as_ref().unwrap().holders;
        let holders: Vec<&String> = all.keys().filter(|name| !forgotten(name)).collect();
        let renews = |name: &String| row(name).is_none() && all[name].is_some_and(|until| until > NOW);
        let lost = holders.iter().filter(|name| !is_there(name) && !renews(name)).count();
        let there = known.iter().filter(|h| is_there(&h.host) && !forgotten(&h.host)).count();
        let there = there + holders.iter().filter(|name| renews(name)).count();
        for step in &d.steps {
            let t = seen.tasks.iter().find(|t| t.detail.task.id == step.task).unwrap();
            let name = t.abroad.as_deref().unwrap();
            let over = NOW.since(t.detail.task.claim_expires.unwrap());
            prop_assert_eq!(step.case.as_str(), "host-gone");
            prop_assert!(forgotten(name) || (over >= gone_after && !is_there(name) && silent_for(name) >= gone_after), "{:?}", step);
            prop_assert!(over >= 0);
            prop_assert!(forgotten(name) || lost <= there, "{} beside {}", lost, there);
            prop_assert!(before.is_some_and(|before| before <= HOST_LEASE));
        }
        let names: std::collections::BTreeSet<&String> = seen.tasks.iter().filter_map(|t| t.abroad.as_ref()).collect();
        prop_assert!(d.findings.len() <= names.len());
    }
}
