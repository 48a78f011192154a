//! All incidents, by group.

mod by_hand; // what a person, or a worker, said
mod dead; // dead and lost workers
mod host; // dispatcher and host
mod iterations; // turns and time that did not suffice
mod jams; // nothing failed, and yet nobody takes the work
mod providers; // what a provider refuses
mod resume; // dead workers and the trees they leave
mod sessions; // tasks that agent sessions work on
mod unwell; // living workers that are not well

use super::incident::Incident;

/// All of them, in the order of the page.
pub fn groups() -> Vec<(&'static str, Vec<Incident>)> {
    vec![
        ("Dead and lost workers", dead::all()),
        ("Resume, not restart", resume::all()),
        ("Workers that are not well", unwell::all()),
        ("Agent sessions", sessions::all()),
        ("Jams", jams::all()),
        ("Providers", providers::all()),
        ("Iterations and time", iterations::all()),
        ("Blocked by hand", by_hand::all()),
        ("Dispatcher and host", host::all()),
        ("Concurrency", host::concurrency()),
    ]
}
