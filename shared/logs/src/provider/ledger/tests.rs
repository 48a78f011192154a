use proptest::prelude::*;

use super::*;

const POLICY: Policy = Policy { hold: 900, hold_max: 21_600, decay: 600, give_up: 259_200, max_probes: 12 };
const NOW: i64 = 1_000_000;

fn id(host: &str) -> Id {
    Id::new(None, Some(host))
}

fn profile(name: &str, host: &str) -> Profile {
    Profile { name: name.into(), endpoint: Some(host.into()), ..Profile::default() }
}

fn seen(at: i64, began: i64, news: News) -> Sighting {
    Sighting {
        id: id("a"),
        profile: Some("luna".into()),
        task: "t_1".into(),
        at: Time(NOW + at),
        began: Time(NOW + began),
        news,
    }
}

fn bad(at: i64, began: i64) -> Sighting {
    seen(at, began, News::Bad { cause: Cause::RateLimit, resets: None })
}

fn good(at: i64, began: i64) -> Sighting {
    seen(at, began, News::Good)
}

fn entry(all: &[Sighting]) -> Entry {
    Ledger::fold(all, &POLICY).entries()[0].clone()
}

fn state(e: &Entry, at: i64) -> State {
    e.state(Time(NOW + at), None, &POLICY)
}

#[test]
fn twenty_that_meet_one_limit_are_one_strike() {
    let all: Vec<Sighting> = (0..20).map(|i| bad(i, -60)).collect();
    let e = entry(&all);
    assert_eq!((e.strikes, e.since), (1, Time(NOW)));
    assert!((900..=1_080).contains(&e.until.since(Time(NOW))), "{e:?}");
    assert_eq!((state(&e, 100), state(&e, 1_100)), (State::Limited, State::HalfOpen));
}

#[test]
fn a_failed_probe_doubles_the_hold_and_a_good_one_ends_it() {
    let first = entry(&[bad(0, -60)]);
    let over = first.until.since(Time(NOW));
    let e = entry(&[bad(0, -60), bad(over + 30, over + 1)]);
    assert_eq!(e.strikes, 2);
    assert!((1_800..=2_160).contains(&e.until.since(e.bad)), "{e:?}");
    let e = entry(&[bad(0, -60), good(over + 30, over + 1)]);
    assert_eq!((state(&e, over + 40), e.good), (State::Healthy, Some(Time(NOW + over + 30))));
    // An attempt that began before the refusal says nothing, however it ends.
    assert_eq!(entry(&[bad(0, -60), good(30, -10)]).good, None);
    // Soon after health it is the same trouble, later it is a new one.
    let again = |after: i64| entry(&[bad(0, -60), good(2_000, 1_500), bad(2_000 + after, 1_990)]).strikes;
    assert_eq!((again(60), again(700)), (2, 1));
}

#[test]
fn a_stated_time_is_honoured_up_to_the_longest_hold() {
    let stated = |in_seconds: i64| {
        let resets = Some(Time(NOW + in_seconds));
        entry(&[seen(0, -60, News::Bad { cause: Cause::Quota, resets })])
    };
    assert_eq!(stated(7_000).until, Time(NOW + 7_000));
    assert_eq!(stated(400_000).until, Time(NOW + POLICY.hold_max));
    assert_eq!(state(&stated(7_000), 10), State::OutOfQuota);
    assert!(stated(-5).until > Time(NOW), "a time that is over is none");
    // It counts whichever attempt was told it: a later sighting of the same limit states it.
    let resets = Some(Time(NOW + 5_000));
    let e = entry(&[bad(0, -60), seen(5, -60, News::Bad { cause: Cause::RateLimit, resets })]);
    assert_eq!((e.until, e.strikes), (Time(NOW + 5_000), 1));
}

#[test]
fn who_is_refused_again_after_a_stated_end_waits_longer_each_time() {
    let soon = |at: i64| {
        seen(at, at - 1, News::Bad { cause: Cause::RateLimit, resets: Some(Time(NOW + at).plus(2)) })
    };
    let (mut all, mut waits) = (vec![soon(0)], Vec::new());
    for _ in 0..4 {
        let e = entry(&all);
        waits.push(e.until.since(e.bad));
        all.push(soon(e.until.since(Time(NOW)) + 1));
    }
    assert_eq!(waits[0], 2, "what is stated counts once");
    assert!(waits.windows(2).all(|two| two[0] < two[1]) && waits[1] >= 1_800, "{waits:?}");
}

#[test]
fn a_limit_that_ends_when_it_says_is_held_no_longer_and_never_given_up() {
    let mut all = Vec::new();
    for k in 0..40 {
        let at = k * 540;
        all.push(seen(at, at - 60, News::Bad { cause: Cause::RateLimit, resets: Some(Time(NOW + at + 2)) }));
        let e = entry(&all);
        assert_eq!((e.until.since(e.bad), e.strikes), (2, 1), "refusal {k}");
        all.push(seen(at + 480, at + 10, News::Good));
    }
}

#[test]
fn every_episode_ends_for_good_after_so_many_probes_or_so_long() {
    let mut all = vec![bad(0, -60)];
    for _ in 0..POLICY.max_probes {
        let over = entry(&all).until.since(Time(NOW));
        assert_ne!(state(&entry(&all), over), State::GivenUp);
        all.push(bad(over + 10, over + 1));
    }
    assert_eq!(state(&entry(&all), 0), State::GivenUp);
    assert_eq!(state(&entry(&[bad(0, -60)]), POLICY.give_up + 1), State::HalfOpen, "nobody tried it since");
    let long = refused_for(POLICY.give_up + 60);
    assert!(entry(&long).strikes <= POLICY.max_probes);
    assert_eq!(state(&entry(&long), POLICY.give_up + 60), State::GivenUp);
    // A machine that was off tried nothing meanwhile.
    let off = [bad(0, -60), bad(POLICY.give_up + 60, POLICY.give_up)];
    assert_eq!(state(&entry(&off), POLICY.give_up + 60), State::Limited);
}

/// Refusals for so many seconds, each soon enough after the one before.
fn refused_for(seconds: i64) -> Vec<Sighting> {
    let steps = seconds / FORGOTTEN + 1;
    (0..=steps).map(|k| bad(seconds * k / steps, seconds * k / steps - 1)).collect()
}

#[test]
fn what_refused_nothing_for_a_night_is_forgotten() {
    let left = |all: &[Sighting], at: i64| {
        let ledger = Ledger::fold(all, &POLICY).within(Time(NOW + at), 43_200, &POLICY);
        ledger.entries().len()
    };
    let ends = |all: &[Sighting]| entry(all).until.since(Time(NOW)) + 43_200;
    let key = [seen(0, -60, News::Bad { cause: Cause::Credential, resets: None })];
    assert_eq!(ends(&key), POLICY.hold_max + 43_200, "its hold counts too");
    let stated = [seen(0, -60, News::Bad { cause: Cause::Quota, resets: Some(Time(NOW + 18_000)) })];
    for all in [&[bad(0, -60)][..], &[bad(0, -60), bad(2_000, 1_900)], &stated, &key] {
        assert_eq!((left(all, ends(all) - 1), left(all, ends(all))), (1, 0), "{all:?}");
    }
    let given_up = refused_for(POLICY.give_up + 60);
    assert_eq!(left(&given_up, POLICY.give_up + 90_000), 1, "nothing goes there before a person says so");
}

#[test]
fn a_refused_key_is_its_profiles_own() {
    let refused = seen(0, -60, News::Bad { cause: Cause::Credential, resets: None });
    let ledger = Ledger::fold(&[refused], &POLICY);
    let of = |p: &Profile, at: i64| ledger.of(p, Time(NOW + at), &POLICY).map(|(_, s)| s);
    assert_eq!(of(&profile("luna", "a"), 1), Some(State::CredentialBroken));
    assert_eq!(of(&profile("mira", "a"), 1), None, "another key of the same provider");
    let mended = Profile { changed: Some(Time(NOW + 5)), ..profile("luna", "a") };
    assert_eq!(of(&mended, 6), Some(State::HalfOpen));
}

// Time mends no key.
#[test]
fn a_refused_key_waits_as_long_as_anything_may_and_says_what_ends_that() {
    let refused = |at: i64, began: i64| seen(at, began, News::Bad { cause: Cause::Credential, resets: None });
    let e = entry(&[refused(0, -60)]);
    let wait = e.until.since(e.bad);
    assert_eq!(wait, POLICY.hold_max, "{e:?}");
    assert_eq!((state(&e, POLICY.hold_max - 1), state(&e, wait)), (State::CredentialBroken, State::HalfOpen));
    assert_eq!(
        e.said(State::CredentialBroken),
        "the key of luna at a is refused; tried again once its configuration changes or a person unblocks a task"
    );
    // Refused once more it waits no longer and no shorter.
    let again = entry(&[refused(0, -60), refused(wait + 60, wait + 1)]);
    assert_eq!((again.strikes, again.until.since(again.bad)), (2, POLICY.hold_max));
    // A limit of the same provider is tried again soon.
    assert!(entry(&[bad(0, -60)]).until.since(Time(NOW)) <= POLICY.hold * 6 / 5);
}

#[test]
fn two_boards_know_more_than_one() {
    let here = Ledger::fold(&[bad(0, -60)], &POLICY);
    let there = Ledger::fold(&[bad(50, -20), good(3_000, 2_900)], &POLICY);
    let joined = |a: &Ledger, b: &Ledger| a.clone().joined(b.entries(), &[]).entries()[0].clone();
    assert_eq!(joined(&here, &there).good, Some(Time(NOW + 3_000)));
    assert_eq!(joined(&there, &here).good, Some(Time(NOW + 3_000)));
    let later = Ledger::fold(&[bad(4_000, 3_950)], &POLICY);
    assert_eq!((joined(&later, &there).good, joined(&there, &later).good), (None, None));
    assert_eq!(Ledger::default().joined(here.entries(), &[]), here);
}

#[test]
fn what_is_answered_here_ends_the_trouble_of_another_board() {
    let there = Ledger::fold(&[bad(0, -60)], &POLICY);
    for (seen, is_over) in [(good(900, 300), true), (good(900, -10), false), (bad(900, 300), false)] {
        let here = Ledger::fold(std::slice::from_ref(&seen), &POLICY);
        let good = here.joined(there.entries(), &[seen]).entries()[0].good;
        assert_eq!(good.is_some(), is_over, "{good:?}");
    }
}

fn any_sighting() -> impl Strategy<Value = Sighting> {
    let cause =
        prop::sample::select(vec![Cause::RateLimit, Cause::Quota, Cause::Overloaded, Cause::Credential]);
    let news = prop_oneof![
        Just(News::Good),
        (cause, prop::option::of(0_i64..500_000))
            .prop_map(|(cause, r)| News::Bad { cause, resets: r.map(|r| Time(NOW + r)) }),
    ];
    (0_i64..100_000, 0_i64..5_000, news, 0..3_usize, 0..2_usize).prop_map(|(at, ran, news, host, who)| {
        Sighting {
            id: id(["a", "b", "c"][host]),
            profile: Some(["luna", "mira"][who].into()),
            task: "t_1".into(),
            at: Time(NOW + at),
            began: Time(NOW + at - ran),
            news,
        }
    })
}

proptest! {
    #[test]
    fn every_hold_ends(all in prop::collection::vec(any_sighting(), 0..40)) {
        let ledger = Ledger::fold(&all, &POLICY);
        for e in ledger.entries() {
            prop_assert!(e.until.since(e.bad) <= POLICY.hold_max, "{:?}", e);
            prop_assert!(!e.state(e.until, None, &POLICY).is_held() || e.state(e.until, None, &POLICY) == State::GivenUp);
            prop_assert!(e.since <= e.bad && e.strikes >= 1);
        }
        // One provider has one entry.
        let hosts: Vec<_> = ledger.entries().iter().filter(|e| e.profile.is_none()).map(|e| e.id.clone()).collect();
        for (i, a) in hosts.iter().enumerate() {
            prop_assert!(hosts[i + 1..].iter().all(|b| !a.is_same(b)));
        }
        // Joining a board with itself tells nothing new, whichever of the two comes first.
        prop_assert_eq!(ledger.clone().joined(ledger.entries(), &all), ledger);
    }
}

#[test]
fn a_refused_key_is_that_of_one_profile_at_one_provider() {
    let key = |host: &str, at| Sighting {
        id: id(host),
        ..seen(at, at - 60, News::Bad { cause: Cause::Credential, resets: None })
    };
    let now = Time(NOW + 100);
    let of = |all: &[Sighting], profile: &Profile| {
        Ledger::fold(all, &POLICY).of(profile, now, &POLICY).map_or(State::Healthy, |(_, state)| state)
    };
    let (luna, pinned) = (profile("luna", "a"), profile("luna", "b"));
    assert_eq!(of(&[key("a", 0)], &luna), State::CredentialBroken);
    assert_eq!(of(&[key("a", 0)], &pinned), State::Healthy);
    assert_eq!(of(&[key("b", 0)], &luna), State::Healthy);
    let both = [key("a", 0), key("b", 10)];
    assert_eq!((of(&both, &luna), of(&both, &pinned)), (State::CredentialBroken, State::CredentialBroken));
    // An answer at the one says nothing of the other.
    let answered = [key("a", 0), key("b", 10), Sighting { id: id("b"), ..good(60, 30) }];
    assert_eq!((of(&answered, &luna), of(&answered, &pinned)), (State::CredentialBroken, State::Healthy));
    // It may name another provider since it was changed: one tries that first.
    let changed = Profile { changed: Some(Time(NOW + 5)), ..pinned };
    assert_eq!(of(&[key("a", 0)], &changed), State::HalfOpen);
}

#[test]
fn a_provider_that_is_known_by_its_profile_alone_is_held_for_that_one() {
    let of = |profile: &str, host: Option<&str>| Id { profile: Some(profile.into()), ..Id::new(None, host) };
    let blind = |name: &str| Profile { unreadable: Some("denied".into()), ..profile(name, "") };
    let told = |id: Id, profile: &str| Sighting { id, profile: Some(profile.into()), ..bad(0, -60) };
    let ledger =
        Ledger::fold(&[told(of("luna", None), "luna"), told(of("mira", Some("a")), "mira")], &POLICY);
    let state = |p: &Profile| ledger.of(p, Time(NOW + 10), &POLICY).map(|(_, state)| state);
    assert_eq!((state(&blind("luna")), state(&blind("mira"))), (Some(State::Limited), Some(State::Limited)));
    assert_eq!(state(&profile("nova", "a")), Some(State::Limited), "a log named the endpoint");
    assert_eq!((state(&blind("sol")), state(&profile("vega", "b"))), (None, None));
    let joined = Ledger::default().joined(ledger.entries(), &[]).joined(ledger.entries(), &[]);
    assert_eq!(joined.entries().len(), 2);
}
