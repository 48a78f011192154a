//! Every order of a few steps of two watchers, harnesses, an operator and a partition breaks no law; without any one of the guards it does.
//!
//! Deeper, with the figure for `docs/evidence/reliability.md`:
//! `cargo run --release -p watchbill-testkit --example model -- --depth 6 --minutes 60`.

use testkit::sim::model::{Mutant, Search};

#[test]
fn every_order_of_a_few_steps_breaks_no_law() {
    let sum = Search { depth: 3, from: None, until: None, without: None, calm: 100 }.run();
    if let Some(found) = sum.found {
        panic!("{found}");
    }
    // A space in which nothing happens would prove nothing.
    let times = |what: &str| sum.did.get(what).copied().unwrap_or(0);
    assert!(sum.depth == 3 && sum.unique > 10_000 && sum.calmed > 50, "{sum:?}");
    for what in ["Heal requeue dead-worker", "Heal requeue host-gone", "Heal requeue no-pid", "Heal moved"] {
        assert!(times(what) > 0, "{what}: {:?}", sum.did);
    }
}

/// Each guard is needed: where it is left out, a short story breaks a law.
#[test]
fn without_any_one_guard_a_law_is_broken() {
    // With each the start from which it shows soonest.
    for (without, from) in [
        (Mutant::History, 3),
        (Mutant::Expiry, 4),
        (Mutant::Status, 0),
        (Mutant::Assignee, 0),
        (Mutant::Row, 0),
        (Mutant::Claimable, 1),
        (Mutant::Parents, 1),
        (Mutant::Living, 7),
        (Mutant::Fence, 7),
        (Mutant::Lease, 6),
        (Mutant::Doubt, 3),
        (Mutant::Patience, 3),
        (Mutant::Back, 5),
        (Mutant::Retry, 0),
    ] {
        let search = Search { depth: 4, from: Some(from), until: None, without: Some(without), calm: 0 };
        let sum = search.run();
        assert!(sum.found.is_some(), "{without:?} is not missed: {:?}", sum.depths);
    }
    assert_eq!(Mutant::ALL.len(), 14, "each is tried above");
}
