//! How Hermes 0.22.2 fares alone in the incidents of the book: a column of the page that is made by a command of its own.
//!
//! Living all of them once more takes minutes that nobody has in each run of the tests, so the column is kept in a file, and a few
//! incidents are compared with it. `WATCHBILL_INCIDENTS_NEWER=1 cargo test --features real --test it -- incidents::newer` lives all;
//! with `WATCHBILL_BLESS=1` it writes the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/incidents-0.22.2.json")
}

/// What became of each incident, by its id.
pub fn column() -> BTreeMap<String, String> {
    serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap()
}

#[cfg(feature = "real")]
#[test]
fn hermes_0_22_2_alone_fares_as_the_page_says() {
    use std::io::Write;

    use super::World;
    use super::incident::Incident;
    use super::tale;

    let whole = std::env::var("WATCHBILL_INCIDENTS_NEWER").is_ok_and(|v| v == "1");
    let incidents: Vec<Incident> = super::chosen().0.into_iter().flat_map(|(_, all)| all).collect();
    let all = incidents.len();
    let known = column();
    let lived = incidents.into_iter().filter(|i| whole || (i.short && known.contains_key(i.id)));
    let lived: Vec<Incident> = lived.collect();
    // Not eprintln: what a passing test prints that way is swallowed.
    let _ = writeln!(
        std::io::stderr(),
        "Hermes 0.22.2 alone: {} of {all} incidents; WATCHBILL_INCIDENTS_NEWER=1 lives through all",
        lived.len()
    );
    let life = |incident: &Incident| {
        let mut alone = World::newer(incident)?;
        alone.live(incident);
        tale::strangers(&mut alone);
        let said = format!("after {} min: {}", incident.minutes, tale::tale(&alone));
        println!("{}: {said}", incident.id);
        Some(said)
    };
    let Some(told) = super::each(&lived, 6, life) else { return };
    let mut column = known;
    let told: BTreeMap<String, String> = lived.iter().map(|i| i.id.to_owned()).zip(told).collect();
    if whole && std::env::var("WATCHBILL_BLESS").is_ok_and(|v| v == "1") {
        column.extend(told.clone());
        std::fs::write(path(), serde_json::to_string_pretty(&column).unwrap() + "\n").unwrap();
    }
    for (id, said) in told {
        assert_eq!(column.get(&id), Some(&said), "{id}");
    }
}
