//! Another board at its place, or none, right after each call of a pass on it.

use super::killed::{recovers, undisturbed};
use super::scene::{self, told};
use super::strace::{held, may_trace};
use super::{in_parallel, must};
use crate::robbed::ROBBERIES;

/// Stopped right after each call on the board's files, robbed of them, and continued.
#[test]
fn at_every_call_on_the_board() {
    if !may_trace() {
        return;
    }
    let scene = scene::heal();
    let (all, left) = undisturbed(&scene);
    let start = scene.start();
    let (first, last) = (0, all.iter().rposition(|c| c.is_on_board()).unwrap());
    // In the log's frames one call is like the next.
    let dull = |n: usize| all[n].name == "pwrite64" && !n.is_multiple_of(8) && n != last;
    let jobs: Vec<_> = (first..=last)
        .filter(|n| all[*n].is_on_board() && !dull(*n))
        .flat_map(|n| ROBBERIES.map(|(how, rob)| (n, how, rob)))
        .collect();
    let codes = in_parallel(&jobs, |&(n, how, rob)| {
        let (b, other) = (scene.copy(), scene.copy());
        let tell = |e: String| format!("{how} after {}: {e}", all[n].told());
        let ended = held(&scene.command(&b), b.path(), &all[n], || rob(&b, &other));
        let done = ended.code == Some(0);
        must(done || ended.code == Some(65) && ended.err.contains("replaced or removed"), || {
            tell(format!("{ended:?}"))
        })?;
        must(ended.err.lines().count() == usize::from(!done), || tell(format!("not one line: {ended:?}")))?;
        if b.db.exists() {
            let rows = told(&b, b.dump());
            // Said to be done only where it is. Another file that was put beside the old log in the midst of a commit may
            // show it too: SQLite takes the log for its own.
            let fits = if done { rows == left } else { rows == start || rows == left };
            must(fits, || tell(format!("said {:?}, and the board shows something else", ended.code)))?;
            recovers(&scene, &b, &left).map_err(tell)?;
        }
        Ok(ended.code)
    });
    assert!(codes.contains(&Some(65)), "{codes:?}");
}
