//! The incident book: what goes wrong in the field, set up with the real Hermes, lived through twice, once with Hermes
//! alone and once with our programs beside it. What became of the work is read from the rows of the board and stands in
//! `docs/evidence/incidents.md`.
//!
//! `cargo test --features real --test it incidents::table -- --nocapture` prints the table; with `WATCHBILL_BLESS=1` it
//! also writes it into the page. `WATCHBILL_INCIDENTS=E1,W-429` runs only these and compares nothing. How Hermes 0.22.2 fares alone is
//! kept in `tests/fixtures/incidents-0.22.2.json`, see [`newer`].

mod agents; // agents that are no Hermes workers
mod cases;
mod gateway; // Hermes' own code, warm
mod incident; // one incident, as data
mod newer; // the same with Hermes 0.22.2, alone
mod page; // the page and its generated part
mod sessions; // agent sessions of opencode
mod tale; // what happened, in words
mod verdict; // what became of it, by rows alone
mod why; // whether a person is told the true cause
mod world; // one home it happens in

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use incident::Incident;
use tale::Told;
use world::World;

/// Both lives of one incident, one after the other.
fn run(incident: &Incident) -> Option<Told> {
    let mut alone = World::new(false, incident)?;
    alone.live(incident);
    let mut watched = World::new(true, incident)?;
    let found = watched.live(incident);
    let mut told = tale::tell(&mut alone, &mut watched, found, incident.expect, incident.minutes);
    told.wrong = told.wrong.or_else(|| why::wrong(&watched, incident.id));
    Some(told)
}

/// Runs incidents, some at a time, and gives their rows in order. `None` where the real Hermes is to be left out.
fn all(incidents: &[Incident]) -> Option<Vec<Told>> {
    each(incidents, 3, |incident| {
        let began = Instant::now();
        let one = run(incident)?;
        println!("{}\n  in {:.1} s", page::row(incident, &one), began.elapsed().as_secs_f64());
        Some(one)
    })
}

/// The same for other lives, so many at a time.
fn each<T: Send>(
    incidents: &[Incident],
    at_once: usize,
    life: impl Fn(&Incident) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    // Two tellings at once of one incident would see each other's workers, who have the same names.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..incidents.len()).collect());
    let told: Mutex<Vec<Option<T>>> = Mutex::new(incidents.iter().map(|_| None).collect());
    std::thread::scope(|s| {
        for _ in 0..at_once {
            s.spawn(|| {
                let next = || queue.lock().unwrap().pop_front();
                while let Some(i) = next() {
                    let Some(one) = life(&incidents[i]) else { return };
                    told.lock().unwrap()[i] = Some(one);
                }
            });
        }
    });
    told.into_inner().unwrap().into_iter().collect()
}

/// Every row is as its incident says it must be.
#[track_caller]
fn as_expected(incidents: &[Incident], told: &[Told]) {
    let wrong: Vec<String> = incidents
        .iter()
        .zip(told)
        .filter_map(|(i, t)| t.wrong.as_ref().map(|why| format!("{}: {why}", i.id)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Incidents by group, without those that were not asked for.
fn chosen() -> (Vec<(&'static str, Vec<Incident>)>, bool) {
    let asked = std::env::var("WATCHBILL_INCIDENTS").unwrap_or_default();
    let wanted = |i: &Incident| asked.is_empty() || asked.split(',').any(|a| a == i.id);
    let mut groups = cases::groups();
    groups.iter_mut().for_each(|(_, all)| all.retain(wanted));
    groups.retain(|(_, all)| !all.is_empty());
    (groups, asked.is_empty())
}

#[cfg(feature = "real")]
#[test]
fn table() {
    let (groups, whole) = chosen();
    let flat: Vec<Incident> = groups.iter().flat_map(|(_, all)| all.clone()).collect();
    let Some(told) = all(&flat) else { return };
    let mut rest = told.iter();
    let mut text = String::from("\n");
    for (name, all) in &groups {
        let rows: Vec<String> = all.iter().zip(rest.by_ref()).map(|(i, t)| page::row(i, t)).collect();
        text.push_str(&page::group(name, &rows));
    }
    text.push_str(&page::remarks(&flat));
    println!("{text}");
    as_expected(&flat, &told);
    if !whole {
        return;
    }
    if std::env::var("WATCHBILL_BLESS").is_ok_and(|v| v == "1") {
        page::bless(&text);
    }
    assert!(
        page::generated() == text,
        "docs/evidence/incidents.md differs; WATCHBILL_BLESS=1 writes it anew"
    );
}

/// The cheapest of them, in every run of the tests.
#[test]
fn the_page_says_what_happens() {
    let (groups, _) = chosen();
    let short: Vec<Incident> = groups.into_iter().flat_map(|(_, all)| all).filter(|i| i.short).collect();
    let Some(told) = all(&short) else { return };
    as_expected(&short, &told);
    let page = page::generated();
    for (incident, told) in short.iter().zip(&told) {
        let row = page::row(incident, told);
        assert!(page.contains(&row), "docs/evidence/incidents.md has another row than\n{row}");
    }
}
