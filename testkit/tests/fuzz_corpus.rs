//! The kept corpus and a few thousand mutations of it through every property, on the stable compiler.
//!
//! `WATCHBILL_FUZZ_ROUNDS` (mutations a target, 400) and `WATCHBILL_FUZZ_SEED` (1) make it longer or another. A failure names
//! target and input; the input is left in `artifacts/smoke-<target>`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::{fs, panic};

#[path = "../../tests/fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a library of its own where libFuzzer drives it")]
mod properties;

use properties::{TARGETS, Target};

/// Longest input that is made.
const MAX_INPUT: usize = 4_096;

/// Inputs that are known to be kept for each target. One that is renamed would else lose its corpus in silence.
const FEWEST: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz")
}

/// Numbers that look random and are the same each time (SplitMix64, Steele and others 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = here().join("corpus").join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|f| fs::read(f).unwrap()).collect()
}

/// One of a few changes: what a byte is, a part left out, repeated, moved, or taken from another input.
fn mutated(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut made = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(4) {
        let at = dice.below(made.len() + 1);
        let end = at + dice.below((made.len() - at).min(64) + 1);
        match dice.below(6) {
            0 if at < made.len() => made[at] = dice.next() as u8,
            1 if at < made.len() => made[at] ^= 1 << dice.below(8),
            2 => drop(made.drain(at..end)),
            3 => {
                let part = made[at..end].to_vec();
                let to = dice.below(made.len() + 1);
                made.splice(to..to, part);
            }
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len() + 1);
                let to = from + dice.below((other.len() - from).min(400) + 1);
                made.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                const TELLING: &[u8] = b"\0\n\r\t \x1b\"'\\#:[]{}`*-/=\xff\xc3";
                made.insert(at, TELLING[dice.below(TELLING.len())]);
            }
        }
    }
    made.truncate(MAX_INPUT);
    made
}

fn holds(name: &str, target: Target, input: &[u8]) {
    if panic::catch_unwind(|| target(input)).is_err() {
        let at = here().join("artifacts").join(format!("smoke-{name}"));
        fs::create_dir_all(at.parent().unwrap_or(Path::new("."))).unwrap();
        fs::write(&at, input).unwrap();
        panic!("{name} is broken by {:?}, kept in {}", String::from_utf8_lossy(input), at.display());
    }
}

#[test]
fn every_property_holds_for_the_corpus_and_near_it() {
    let (rounds, seed) = (number("WATCHBILL_FUZZ_ROUNDS", 400), number("WATCHBILL_FUZZ_SEED", 1));
    for (nth, (name, target)) in TARGETS.into_iter().enumerate() {
        let seeds = corpus(name);
        assert!(seeds.len() >= FEWEST, "{name} has {} inputs", seeds.len());
        for trivial in [&b""[..], b"\0", b"\n", b"\xff\xff\xff"] {
            holds(name, target, trivial);
        }
        seeds.iter().for_each(|input| holds(name, target, input));
        let mut dice = Dice(seed.wrapping_mul(1_000).wrapping_add(nth as u64));
        for _ in 0..rounds {
            holds(name, target, &mutated(&seeds, &mut dice));
        }
        println!("{name}: {} kept inputs, {rounds} mutations of seed {seed}", seeds.len());
    }
}

#[test]
fn every_target_has_its_program_and_corpus() {
    let names = |folder: &str| {
        let mut all: Vec<String> = fs::read_dir(here().join(folder))
            .unwrap()
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    };
    let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names("fuzz_targets"), known);
    assert_eq!(names("corpus"), known);
}
