//! Simulated nights with everything that goes wrong in them, and the promises held after every step.
//!
//! A night that breaks one prints the test to be pasted here. Many more of them, with the figure for `docs/reliability.md`:
//! `cargo run --release -p watchbill-testkit --example nights -- 0 100000 --write docs/reliability.md`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use testkit::sim::{Engine, Night, Tally};

/// Lets the nights of these seeds pass, on as many threads as there are processors.
fn nights(from: u64, to: u64, engine: Engine) -> Tally {
    let (next, sum) = (AtomicU64::new(from), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to {
                return;
            }
            let night = night(seed, engine);
            sum.lock().unwrap().add(&night);
        }
    };
    std::thread::scope(|s| {
        let all: Vec<_> = (0..threads).map(|_| s.spawn(one)).collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    sum.into_inner().unwrap()
}

fn night(seed: u64, engine: Engine) -> Tally {
    Night::new(seed).on(engine).run().unwrap_or_else(|broken| panic!("night {seed}: {broken}"))
}

#[test]
fn a_thousand_nights_break_no_promise() {
    let all = nights(0, 1_000, Engine::Memory);
    assert_eq!(all.nights, 1_000);
    // Nights in which nothing happens would prove nothing.
    assert!(all.applied > 3_000 && all.moved > 50 && all.killed > 1_000, "{all:?}");
    assert!(all.deaths > 1_000 && all.refusals > 1_000 && all.upheavals > 1_000, "{all:?}");
    assert!(all.hermes_killed_strangers > 0 && all.hermes_doubles > 0, "{all:?}");
    assert!(all.done > 4_000 && all.with_person > 300, "{all:?}");
}

/// The same nights on a real file say what the maps in memory would hide.
#[test]
fn the_same_nights_go_alike_on_sqlite() {
    for seed in 0..12 {
        assert_eq!(night(seed, Engine::Sqlite), night(seed, Engine::Memory), "night {seed}");
    }
}
