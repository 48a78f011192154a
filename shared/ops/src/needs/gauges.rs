//! What needs a person, for the textfile collector of node_exporter.

use std::collections::BTreeMap;
use std::path::Path;

use super::Now;
use crate::metrics::{self, Metric, Sample, gauge};
use base::error::Result;

/// The name of the file in a folder of metrics.
pub const FILE: &str = "needs.prom";

const TASKS: &str = "watchbill_needs_person";
const CAUSES: &str = "watchbill_needs_person_causes";
const UNKNOWN: &str = "watchbill_needs_person_unknown";
const LOOKED: &str = "watchbill_needs_person_timestamp_seconds";

/// Every metric of that file, in the order they are written in.
pub const METRICS: [Metric; 4] = [
    gauge(TASKS, &["board"], "Tasks that need a person, as `watchbill check` counts them."),
    gauge(CAUSES, &["board"], "Things that need a person, as `watchbill status` counts them."),
    gauge(UNKNOWN, &[], "What could not be looked at; there may be more among it that needs a person."),
    gauge(LOOKED, &[], "When that was counted, in seconds since 1970."),
];

/// Writes the file anew, whole or not at all.
///
/// # Errors
/// `Usage` for a place that node_exporter passes over or that holds something else, `Io` where it cannot be written.
pub fn write(file: &Path, now: &Now) -> Result<()> {
    metrics::replace("--needs", file, &METRICS, &samples(now))
}

/// What is about no board alone stands under no name.
fn samples(now: &Now) -> Vec<Sample> {
    // A board of which nothing is known has no number.
    let read = now.boards.iter().map(|b| (b.board.as_str(), 0));
    let mut tasks: BTreeMap<&str, usize> = read.collect();
    let mut causes: BTreeMap<&str, usize> = tasks.clone();
    causes.insert("", 0);
    for need in &now.needs {
        let board = need.board.as_deref().unwrap_or_default();
        *causes.entry(board).or_default() += 1;
        if !need.tasks.is_empty() {
            *tasks.entry(board).or_default() += need.tasks.len();
        }
    }
    let by_board = |name: &'static str, counted: BTreeMap<&str, usize>| {
        counted.into_iter().map(|(board, n)| Sample::new(name, &[("board", board)], n as f64)).collect()
    };
    let unknown = now.unknown.len() + now.boards.iter().map(|b| b.unknown.len()).sum::<usize>();
    let whole = vec![Sample::new(UNKNOWN, &[], unknown as f64), Sample::new(LOOKED, &[], now.now.0 as f64)];
    let parts: [Vec<Sample>; 3] = [by_board(TASKS, tasks), by_board(CAUSES, causes), whole];
    parts.concat()
}
