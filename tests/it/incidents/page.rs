//! The page: the generated table between two marks of `docs/evidence/incidents.md`, and the rest of it, which people write.

use std::path::{Path, PathBuf};

use super::incident::Incident;
use super::tale::Told;

const BEGIN: &str = "<!-- incidents: begin; made by the command above -->\n";
const END: &str = "<!-- incidents: end -->\n";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/evidence/incidents.md")
}

/// One line of the table.
pub fn row(incident: &Incident, told: &Told) -> String {
    let newer = super::newer::column().remove(incident.id);
    let newer = newer.unwrap_or_else(|| "not tried".to_owned());
    format!(
        "| {} | {} ({}) | {} | {newer} | {} | {} |",
        incident.id, incident.title, incident.sources, told.alone, told.watched, told.verdict
    )
}

/// The table of one group.
#[cfg_attr(not(feature = "real"), expect(dead_code, reason = "only the whole table is written"))]
pub fn group(name: &str, rows: &[String]) -> String {
    let head = "| id | incident | Hermes alone | Hermes 0.22.2 alone | with Watchbill | verdict |\n|---|---|---|---|---|---|";
    format!("### {name}\n\n{head}\n{}\n\n", rows.join("\n"))
}

/// What is to be said of single rows, and why those are right that stay as they are.
#[cfg_attr(not(feature = "real"), expect(dead_code, reason = "only the whole table is written"))]
pub fn remarks(all: &[Incident]) -> String {
    let told = all.iter().filter(|i| !i.remark.is_empty()).map(|i| format!("- **{}**: {}\n", i.id, i.remark));
    format!("### Remarks\n\n{}\n", told.collect::<String>())
}

/// What stands between the marks.
pub fn generated() -> String {
    let page = std::fs::read_to_string(path()).unwrap();
    let (_, rest) = page.split_once(BEGIN).expect("the mark at the beginning");
    rest.split_once(END).expect("the mark at the end").0.to_owned()
}

/// Writes it anew.
#[cfg_attr(not(feature = "real"), expect(dead_code, reason = "only the whole table is written"))]
pub fn bless(text: &str) {
    let page = std::fs::read_to_string(path()).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the mark at the beginning");
    let (_, after) = rest.split_once(END).expect("the mark at the end");
    std::fs::write(path(), format!("{before}{BEGIN}{text}{END}{after}")).unwrap();
}
