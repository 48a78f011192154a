//! The names that stand at the top of a file, and what a message says where one stands elsewhere.

use super::sections::{KEYS, SECTIONS};

/// The sections that hold tables by name.
pub(super) const BY_NAME: [&str; 4] = ["profiles", "providers", "prices", NOTIFY];
/// That of those who are told.
pub(super) const NOTIFY: &str = "notify";
/// The list of the operator's patterns.
pub(super) const MATCH: &str = "match";

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(s, _)| *s).chain(BY_NAME).chain([MATCH])
}

/// What to do with a section that was written below `[table]`, which makes it a key of that table.
pub(super) fn misplaced(table: &str, name: &str) -> Option<String> {
    let header = match all().find(|section| *section == name)? {
        MATCH => "[[match]]".to_owned(),
        section if BY_NAME.contains(&section) => format!("[{section}.NAME]"),
        section => format!("[{section}]"),
    };
    let what = "put this line above the first [table] of the file";
    Some(format!("all that stands below [{table}] belongs to it; {what}, or its keys below a line {header}"))
}

/// A key of this name, as a message names it.
pub(super) fn key_of_section(name: &str) -> Option<String> {
    KEYS.iter().find(|k| k.key == name).map(|k| format!("`{}` of [{}]", k.key, k.section))
}
