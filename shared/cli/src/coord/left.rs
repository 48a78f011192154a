//! What goes on in a working tree after its session: tools of a server that was killed, and children of a command that carry no mark of
//! their run. They may still write there, so they are waited for.

use std::path::Path;
use std::time::Instant;

use super::{Coord, PAUSE, SETTLE};
use coord::{Mapping, Message, Silence};
use host::Orphan;

/// Most processes that are named.
const NAMED: usize = 5;

impl Coord<'_> {
    /// What still runs in the working tree of a session that has ended or was stopped, once what was just ending has had its time. Of a
    /// session on another host nothing is seen.
    pub(super) fn left_in_tree(&self, m: &Mapping) -> Vec<Orphan> {
        match self.hand.here.host.is_here(&m.host) {
            true => self.left_in(Path::new(&m.directory)),
            false => Vec::new(),
        }
    }

    /// The same of a working tree on this host.
    pub(super) fn left_in(&self, tree: &Path) -> Vec<Orphan> {
        let until = Instant::now() + SETTLE;
        loop {
            let left = self.hand.here.host.left_inside(tree);
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The same, where the session can have left something: a server that lives and finished the last answer has its tools itself, and
    /// what it runs besides, such as language servers, is in nobody's way.
    pub(super) fn left_by_last(&self, m: &Mapping) -> Vec<Orphan> {
        let may_have = match self.server_of(m) {
            Ok(at) => match self.servers.at(&at).messages(&m.session, 1) {
                Ok(newest) => newest.last().is_some_and(Message::is_open),
                Err(Silence::Unreachable(_) | Silence::Missing) => true,
                // It lives, and nobody here can tell.
                Err(Silence::Refused(..)) => false,
            },
            Err(_) => m.runtime.headless().is_some(),
        };
        if may_have { self.left_in_tree(m) } else { Vec::new() }
    }
}

/// They, in words: `process 7 (bash) works`.
pub(super) fn they_work(left: &[Orphan]) -> String {
    let named: Vec<_> = left.iter().take(NAMED).map(|o| format!("{} ({})", o.pid, o.command)).collect();
    let more = if left.len() > NAMED { " and more" } else { "" };
    let (noun, verb) = if left.len() == 1 { ("process", "works") } else { ("processes", "work") };
    format!("{noun} {}{more} {verb}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named() {
        let left = |n: i64| -> Vec<Orphan> {
            (1..=n).map(|pid| Orphan { pid, command: "bash".into(), run: None }).collect()
        };
        for (n, want) in [
            (1, "process 1 (bash) works"),
            (2, "processes 1 (bash), 2 (bash) work"),
            (6, "processes 1 (bash), 2 (bash), 3 (bash), 4 (bash), 5 (bash) and more work"),
        ] {
            assert_eq!(they_work(&left(n)), want);
        }
    }
}
