//! Tasks in `todo` that wait for what never comes. Nothing else on a board says so: each of them looks like one that waits its turn.

use std::collections::{BTreeMap, BTreeSet};

use board::{Link, Status, Task};

/// Why a task waits for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endless {
    /// What it waits for is not on the board.
    Missing(String),
    /// What it waits for waits for it: itself, or the first of a circle of so many tasks.
    Circle(String, usize),
}

impl Endless {
    /// What it waits for.
    pub fn parent(&self) -> &str {
        match self {
            Endless::Missing(parent) | Endless::Circle(parent, _) => parent,
        }
    }
}

/// The tasks among these rows that wait for ever, by their links. A dispatcher of Hermes takes what is not on the board for done, and so does
/// any command that completes a task; on a board of `board init` nobody looks at a task all of whose parents are gone. Cards are left
/// out: `route-blocked` takes them out of a circle.
pub fn of(links: &[Link], rows: &[Task], own_board: bool) -> BTreeMap<String, Endless> {
    let waits = rows.iter().filter(|t| t.status == Status::Todo && !t.is_card());
    let waits: BTreeSet<&str> = waits.map(|t| t.id.as_str()).collect();
    let mut parents: BTreeMap<&str, Vec<&Link>> = BTreeMap::new();
    for link in links.iter().filter(|l| waits.contains(l.child.as_str())) {
        parents.entry(&link.child).or_default().push(link);
    }
    let circles = circles(&parents);
    let mut endless = BTreeMap::new();
    for (child, links) in &parents {
        let gone =
            links.iter().all(|l| l.status.is_none()).then(|| Endless::Missing(links[0].parent.clone()));
        let found = circles.get(child).cloned().or(gone.filter(|_| own_board));
        endless.extend(found.map(|found| ((*child).to_owned(), found)));
    }
    endless
}

/// The shortest circle of each task that waits for itself. Tasks are numbered in the order of their ids: to follow thousands of links by
/// number costs little.
fn circles<'a>(parents: &BTreeMap<&'a str, Vec<&'a Link>>) -> BTreeMap<&'a str, Endless> {
    let ids: Vec<&str> = parents.keys().copied().collect();
    let of = |id: &str| ids.binary_search(&id).ok();
    let mut up: Vec<Vec<usize>> =
        parents.values().map(|links| links.iter().filter_map(|l| of(&l.parent)).collect()).collect();
    up.iter_mut().for_each(|all| all.sort_unstable());
    let mut down = vec![Vec::new(); ids.len()];
    for (child, all) in up.iter().enumerate() {
        all.iter().for_each(|parent: &usize| down[*parent].push(child));
    }
    // A task that waits for nobody of these is in no circle, nor is one for which nobody waits.
    let mut left = vec![true; ids.len()];
    peel(&up, &down, &mut left);
    peel(&down, &up, &mut left);
    let (mut met_by, mut circles) = (vec![usize::MAX; ids.len()], BTreeMap::new());
    for task in (0..ids.len()).filter(|task| left[*task]) {
        let found = circle(task, &up, &left, &mut met_by);
        circles.extend(found.map(|(first, n)| (ids[task], Endless::Circle(ids[first].to_owned(), n))));
    }
    circles
}

/// Takes away each task that has no link in `to` to one that is left, until all that are left have one. `from` has the same links the other way.
fn peel(to: &[Vec<usize>], from: &[Vec<usize>], left: &mut [bool]) {
    let open = |task: usize, left: &[bool]| to[task].iter().filter(|other| left[**other]).count();
    let mut many: Vec<usize> = (0..to.len()).map(|task| open(task, left)).collect();
    let mut free: Vec<usize> = (0..to.len()).filter(|task| left[*task] && many[*task] == 0).collect();
    while let Some(task) = free.pop() {
        left[task] = false;
        for other in from[task].iter().filter(|other| left[**other]) {
            many[*other] -= 1;
            if many[*other] == 0 {
                free.push(*other);
            }
        }
    }
}

/// The shortest circle in which a task waits for itself: the parent that leads there, and how many tasks are in it.
fn circle(task: usize, up: &[Vec<usize>], left: &[bool], met_by: &mut [usize]) -> Option<(usize, usize)> {
    // Each task that was met, with the parent of the first one that led there and how far that is.
    let mut met: Vec<(usize, usize, usize)> = Vec::new();
    let mut next = 0;
    let (mut at, mut first, mut steps) = (task, None, 0);
    loop {
        for parent in up[at].iter().filter(|parent| left[**parent]) {
            if met_by[*parent] != task {
                met_by[*parent] = task;
                met.push((*parent, first.unwrap_or(*parent), steps + 1));
            }
        }
        let (id, by, n) = *met.get(next)?;
        if id == task {
            return Some((by, n));
        }
        (at, first, steps) = (id, Some(by), n);
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::testing::detail;

    #[test]
    fn what_waits_for_ever_is_told_from_what_waits_its_turn() {
        let circle = |parent: &str, n: usize| Some(Endless::Circle(parent.to_owned(), n));
        let gone = |parent: &str| Some(Endless::Missing(parent.to_owned()));
        // Parent and child of each link, all of them in todo but `r`, `d` and `x`: ready, done and not there.
        for (links, task, own, want, why) in [
            (&["ra"][..], "a", true, None, "it waits for what may be done"),
            (&["da"], "a", true, None, "heal promotes it"),
            (&["xa"], "a", true, gone("x"), "it waits for nothing that there is"),
            (&["xa"], "a", false, None, "a dispatcher promotes it"),
            (&["xa", "ra"], "a", true, None, "it goes on with the other one"),
            (&["aa"], "a", false, circle("a", 1), "it waits for itself"),
            (&["ba", "ab"], "a", false, circle("b", 2), "they wait for each other"),
            (&["ba", "cb", "ac"], "b", true, circle("c", 3), "a longer circle"),
            (&["ba", "cb", "ac", "ae"], "e", true, None, "it is behind a circle, and not in it"),
            (&["ra", "ba", "ab"], "a", true, circle("b", 2), "one of two is enough"),
            (&["ra", "ar"], "a", true, None, "what is ready may be done"),
        ] {
            let status = |id: &str| match id {
                "r" => Some(Status::Ready),
                "d" => Some(Status::Done),
                "x" => None,
                _ => Some(Status::Todo),
            };
            let rows: Vec<Task> =
                ["a", "b", "c", "e", "r"].map(|id| detail(id, status(id).unwrap()).task.clone()).into();
            let link = |l: &&str| {
                let (parent, child) = l.split_at(1);
                Link { child: child.to_owned(), parent: parent.to_owned(), status: status(parent) }
            };
            let links: Vec<Link> = links.iter().map(link).collect();
            assert_eq!(of(&links, &rows, own).get(task).cloned(), want, "{why}");
        }
    }

    #[test]
    fn a_card_in_a_circle_is_left_to_its_watcher() {
        let rows = ["a", "b"].map(|id| detail(id, Status::Todo).task.clone());
        let links: Vec<Link> = [("a", "b"), ("b", "a")]
            .map(|(child, parent)| Link {
                child: child.into(),
                parent: parent.into(),
                status: Some(Status::Todo),
            })
            .into();
        assert_eq!(of(&links, &rows, true).len(), 2);
        let [a, b] = rows;
        let card = Task { title: "[BLOCKED] t_0000000a rate_limited".into(), ..b };
        assert_eq!(of(&links, &[a, card], true).len(), 0);
    }
}
