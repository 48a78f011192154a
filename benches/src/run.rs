//! Whole processes, timed from outside, and what to make of many such times.

use std::fmt;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// One run, from before it was started until it was waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Milliseconds by the wall clock.
    pub(crate) wall: f64,
    /// Milliseconds on a processor, in the program and in the kernel for it.
    pub(crate) cpu: f64,
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or ends with something else than 0.
pub(crate) fn once(command: &mut Command) -> Result<Sample> {
    ended(command, &[0])
}

/// Runs a command to its end. `codes`: the exit codes with which it may end.
///
/// # Errors
/// It cannot be started, or ends with another code.
pub(crate) fn ended(command: &mut Command, codes: &[i32]) -> Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Nobody else is waited for meanwhile, so what was added to all children is this one's.
    let before = children()?;
    let begun = Instant::now();
    let status = command.spawn()?.wait()?;
    let wall = begun.elapsed().as_secs_f64() * 1e3;
    let cpu = children()? - before;
    if !status.code().is_some_and(|code| codes.contains(&code)) {
        bail!("{:?} ended with {status}", command.get_program());
    }
    Ok(Sample { wall, cpu })
}

fn children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e3)
}

/// Runs several things in turn, `rounds` times, after one round that warms caches. The order turns around every time, so
/// that none of them always comes right after a certain other one.
///
/// # Errors
/// One of them failed.
pub(crate) fn in_turn(
    rounds: usize,
    things: &mut [&mut dyn FnMut() -> Result<Sample>],
) -> Result<Vec<Series>> {
    let mut all = vec![Series::default(); things.len()];
    for round in 0..=rounds {
        for n in 0..things.len() {
            let i = if round % 2 == 0 { n } else { things.len() - 1 - n };
            let sample = things[i]()?;
            if round > 0 {
                all[i].0.push(sample);
            }
        }
    }
    Ok(all)
}

/// Runs of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(pub(crate) Vec<Sample>);

impl Series {
    /// The median by the wall clock.
    pub(crate) fn median(&self) -> f64 {
        quantile(&self.walls(), 0.5)
    }

    /// The least by the wall clock.
    pub(crate) fn min(&self) -> f64 {
        quantile(&self.walls(), 0.0)
    }

    /// The middle one on a processor.
    pub(crate) fn cpu(&self) -> f64 {
        quantile(&self.0.iter().map(|s| s.cpu).collect::<Vec<_>>(), 0.5)
    }

    fn walls(&self) -> Vec<f64> {
        self.0.iter().map(|s| s.wall).collect()
    }
}

impl fmt::Display for Series {
    /// Four cells of a table: median, least and 90th percentile by the wall clock, median on a processor.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p90 = quantile(&self.walls(), 0.9);
        write!(f, "{} | {} | {} | {}", ms(self.median()), ms(self.min()), ms(p90), ms(self.cpu()))
    }
}

/// The value below which this share of all lies.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// A number of milliseconds, with as many digits as it deserves.
pub(crate) fn ms(n: f64) -> String {
    match n {
        n if n < 10.0 => format!("{n:.2}"),
        n if n < 100.0 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|q| quantile(&values, q)), [1.0, 3.0, 5.0, 5.0]);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!([1.234, 12.34, 1234.5].map(ms), ["1.23", "12.3", "1234"]);
    }

    #[test]
    fn a_process_is_timed_and_a_failed_one_is_no_figure() {
        let sample =
            once(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]))
                .unwrap();
        assert!(sample.cpu > 0.0 && sample.wall > 0.0, "{sample:?}");
        assert!(once(&mut Command::new("false")).is_err());
    }

    #[test]
    fn the_order_turns_around_and_the_first_round_does_not_count() {
        let said = std::cell::RefCell::new(String::new());
        let tell = |c: char| {
            said.borrow_mut().push(c);
            Ok(Sample { wall: 1.0, cpu: 1.0 })
        };
        let (mut a, mut b) = (|| tell('a'), || tell('b'));
        let all = in_turn(3, &mut [&mut a, &mut b]).unwrap();
        assert_eq!((said.borrow().as_str(), all[0].0.len()), ("abbaabba", 3));
    }
}
