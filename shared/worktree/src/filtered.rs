//! Files whose content git compares only through a program (Git LFS, git-crypt). No such program is run here, so git takes
//! each of them for changed whose content it looks at. What the index notes about a file when git writes it tells instead.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use super::find::Place;
use super::shadow::Shadow;
use base::reason::Reason;

/// Asks for tracked files that differ from the index and that have a filter, whatever its name.
const DIFFERENT: [&str; 7] = [
    "--no-literal-pathspecs",
    "ls-files",
    "--modified",
    "-z",
    "--",
    ":(exclude,attr:!filter)",
    ":(exclude,attr:-filter)",
];
/// Compares only the size of a file and the second in which it was written: a copied tree has both.
pub(super) const BY_SIZE_AND_TIME: [&str; 4] =
    ["-c", "core.trustctime=false", "-c", "core.checkStat=minimal"];
/// How far ahead the time of the index is put.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// The files with a filter that differ in content from the index, but not in what git noted of them when it wrote them, as far
/// as the options compare that. The index given to git is another one after this.
pub(super) fn untouched(
    shadow: &Shadow<'_>,
    place: &Place,
    options: &[&str],
    until: Instant,
) -> Result<BTreeSet<Vec<u8>>, Reason> {
    let different = names(shadow, &[], until)?;
    if different.is_empty() {
        return Ok(different);
    }
    // git looks at the content of what was written in the same second as its index, or later.
    let ahead = SystemTime::now() + AHEAD;
    shadow.copy_index(place, Some(ahead), until)?;
    // What is marked to be taken for unchanged is not, if it was touched.
    shadow.ask(&[options, &["update-index", "-q", "--really-refresh"]].concat(), until)?;
    shadow.date_index(ahead)?;
    let touched = names(shadow, options, until)?;
    Ok(different.difference(&touched).cloned().collect())
}

fn names(shadow: &Shadow<'_>, options: &[&str], until: Instant) -> Result<BTreeSet<Vec<u8>>, Reason> {
    let said = shadow.run(&[options, &DIFFERENT].concat(), until)?;
    if said.is_cut {
        return Err("more files with a filter than can be compared".into());
    }
    Ok(said.records().into_iter().map(<[u8]>::to_vec).collect())
}
