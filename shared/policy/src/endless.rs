//! Tasks in `todo` that wait for what never comes. Nothing else on a board says so: each of them looks like one that waits its turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use board::{Link, Status, Task};
use card::is_card;

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
    let waits = rows.iter().filter(|t| t.status == Status::Todo && !is_card(t));
    let waits: BTreeSet<&str> = waits.map(|t| t.id.as_str()).collect();
    let mut parents: BTreeMap<&str, Vec<&Link>> = BTreeMap::new();
    for link in links.iter().filter(|l| waits.contains(l.child.as_str())) {
        parents.entry(&link.child).or_default().push(link);
    }
    let round = round(&parents);
    let mut endless = BTreeMap::new();
    for (child, links) in &parents {
        let gone =
            links.iter().all(|l| l.status.is_none()).then(|| Endless::Missing(links[0].parent.clone()));
        let found = circle(child, &round).or(gone.filter(|_| own_board));
        endless.extend(found.map(|found| ((*child).to_owned(), found)));
    }
    endless
}

/// Tasks that are in a circle or behind one, with what they wait for: those that are left where who waits for nobody among them is taken away,
/// again and again. On most boards nothing is left, and no task has to be followed.
fn round<'a>(parents: &BTreeMap<&'a str, Vec<&'a Link>>) -> BTreeMap<&'a str, Vec<&'a Link>> {
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    for (child, links) in parents {
        let open = links.iter().filter(|l| parents.contains_key(l.parent.as_str()));
        waits.insert(child, open.clone().count());
        open.for_each(|l| children.entry(&l.parent).or_default().push(child));
    }
    let mut free: Vec<&str> = waits.iter().filter(|(_, open)| **open == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        waits.remove(id);
        for child in children.remove(id).into_iter().flatten() {
            let Some(open) = waits.get_mut(child) else { continue };
            *open -= 1;
            if *open == 0 {
                free.push(child);
            }
        }
    }
    parents.iter().filter(|(id, _)| waits.contains_key(*id)).map(|(id, links)| (*id, links.clone())).collect()
}

/// The shortest circle in which a task waits for itself.
fn circle(task: &str, parents: &BTreeMap<&str, Vec<&Link>>) -> Option<Endless> {
    let of = |id: &str| parents.get(id).into_iter().flatten().map(|l| l.parent.as_str());
    // By each task that was met: the parent of the first one that led there, and how far that is.
    let mut met: BTreeMap<&str, (&str, usize)> = of(task).map(|parent| (parent, (parent, 1))).collect();
    let mut next: VecDeque<&str> = met.keys().copied().collect();
    while let Some(id) = next.pop_front() {
        let (first, steps) = met[id];
        if id == task {
            return Some(Endless::Circle(first.to_owned(), steps));
        }
        for parent in of(id) {
            if !met.contains_key(parent) {
                met.insert(parent, (first, steps + 1));
                next.push_back(parent);
            }
        }
    }
    None
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
