//! The commit of the past that a working tree is compared with.

use std::collections::BTreeSet;
use std::time::Instant;

use super::Base;
use crate::find::{self, Place};
use crate::shadow::Shadow;
use base::reason::Reason;
use base::time::Time;

/// Branches that tasks branch from, by custom.
const DEFAULTS: [&str; 4] = ["main", "master", "trunk", "develop"];
/// Where they are, as far as they are looked for; and the first, what a clone was told the default is.
const PLACES: [&str; 7] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
    "refs/heads/trunk",
    "refs/heads/develop",
];

/// Most commits that are merged at once.
const MAX_MERGED: usize = 16;
/// Seconds after the start of a task in which its branch is made for it.
const SPAWN: i64 = 300;

/// What to compare with.
pub(super) struct Found {
    pub(super) base: Base,
    pub(super) commit: Option<String>,
    /// Commits since.
    pub(super) commits: u64,
}

impl Found {
    pub(super) fn nothing(commits: u64) -> Found {
        Found { base: Base::Nothing, commit: None, commits }
    }
}

/// The nearest of the commits that `head` may have begun from.
pub(super) fn find(
    shadow: &Shadow<'_>,
    place: &Place,
    branch: Option<&str>,
    head: &str,
    started: Time,
    until: Instant,
) -> Result<Found, Reason> {
    // While a merge is not finished, the tree has what the other side has, and the head does not yet.
    let mut heads = vec![head.to_owned()];
    heads.extend(merging(shadow, place, until)?);
    let mut candidates = forks(shadow, place, branch, &heads, until)?;
    candidates.extend(created(shadow, place, branch, head, started, until)?.map(|c| (Base::Created, c)));
    candidates.extend(before(shadow, head, started, until)?.map(|c| (Base::Start, c)));
    let mut found: Option<Found> = None;
    for (base, commit) in candidates {
        let commits = count(shadow, &heads, Some(&commit), until)?;
        // Of equal ones the first stays.
        if found.as_ref().is_none_or(|f| commits < f.commits) {
            found = Some(Found { base, commit: Some(commit), commits });
        }
    }
    match found {
        Some(found) => Ok(found),
        None => Ok(Found::nothing(count(shadow, &heads, None, until)?)),
    }
}

/// The commits that are being merged into the head.
fn merging(shadow: &Shadow<'_>, place: &Place, until: Instant) -> Result<Vec<String>, Reason> {
    let file = find::beneath(&place.own, "MERGE_HEAD").unwrap_or_default();
    let mut all = Vec::new();
    for commit in String::from_utf8_lossy(&file).lines().filter(|l| is_commit(l)).take(MAX_MERGED) {
        all.extend(shadow.ask(&["cat-file", "-e", commit], until)?.map(|_| commit.to_owned()));
    }
    Ok(all)
}

/// How many commits the heads have that `base` has not.
fn count(shadow: &Shadow<'_>, heads: &[String], base: Option<&str>, until: Instant) -> Result<u64, Reason> {
    let not = base.map(|b| format!("^{b}"));
    let mut args = vec!["rev-list", "--count"];
    args.extend(heads.iter().map(String::as_str).chain(not.as_deref()));
    args.push("--");
    let said = shadow.run(&args, until)?;
    said.line().parse().map_err(|e| Reason::caused("git counts no commits", e))
}

/// Where the heads, taken for one, left each of the branches that the task may have begun from, unless it is on a default
/// branch.
fn forks(
    shadow: &Shadow<'_>,
    place: &Place,
    branch: Option<&str>,
    heads: &[String],
    until: Instant,
) -> Result<Vec<(Base, String)>, Reason> {
    if branch.is_some_and(|b| DEFAULTS.contains(&b)) {
        return Ok(Vec::new());
    }
    let mut args = vec!["for-each-ref", "--format=%(refname) %(objectname) %(symref)"];
    let others = [of_main_tree(place, branch), upstream(shadow, branch, until)?].concat();
    let own = own_commits(place, branch);
    let names: Vec<&str> = PLACES.into_iter().chain(others.iter().map(String::as_str)).collect();
    args.extend(&names);
    let said = shadow.run(&args, until)?;
    let text = String::from_utf8_lossy(&said.bytes);
    let (mut tips, mut guesses) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        let mut words = line.split(' ');
        let (name, tip, to) = (words.next().unwrap_or(""), words.next(), words.next().unwrap_or(""));
        // A name also stands for all below it: `refs/heads/develop/x`.
        if !names.contains(&name) {
            continue;
        }
        if branch.is_some() && to.strip_prefix("refs/remotes/origin/") == branch {
            return Ok(Vec::new());
        }
        let to = if PLACES.contains(&name) { &mut tips } else { &mut guesses };
        to.extend(tip.filter(|t| is_commit(t)).map(str::to_owned));
    }
    let mut forks = BTreeSet::new();
    for tip in tips.union(&guesses) {
        // Histories that have nothing in common have no merge base.
        let mut args = vec!["merge-base", tip.as_str()];
        args.extend(heads.iter().map(String::as_str));
        let fork = shadow.ask(&args, until)?.map(|s| s.line());
        // A branch that has commits of the task, pushed or merged there, tells nothing of where it began.
        forks.extend(fork.filter(|fork| tips.contains(tip) || !own.contains(fork)));
    }
    Ok(forks.into_iter().filter(|f| is_commit(f)).map(|f| (Base::Fork, f)).collect())
}

/// The log of a branch: each commit that it was at, the oldest first.
fn log_of(place: &Place, branch: &str) -> Option<Vec<u8>> {
    find::beneath(&place.common, &format!("logs/refs/heads/{branch}"))
}

/// The commits that were made on a branch, or in this tree without one, as far as the log of either tells.
fn own_commits(place: &Place, branch: Option<&str>) -> BTreeSet<String> {
    let of_branch = branch.and_then(|branch| log_of(place, branch));
    let of_tree = find::beneath(&place.own, "logs/HEAD");
    let made = |line: &str| {
        let (about, why) = line.split_once('\t')?;
        // Of a rebase or `pull --rebase` the commits that were picked: it starts and may end at one of the other branch.
        let picks = ["(pick)", "(reword)", "(edit)", "(squash)", "(fixup)", "(continue)"];
        let is_made = ["commit", "cherry-pick", "revert", "am"].iter().any(|word| why.starts_with(word))
            || picks.iter().any(|word| why.contains(word));
        about.split(' ').nth(1).filter(|new| is_made && is_commit(new)).map(str::to_owned)
    };
    let logs = [of_branch, of_tree].into_iter().flatten();
    logs.flat_map(|log| String::from_utf8_lossy(&log).lines().filter_map(made).collect::<Vec<_>>()).collect()
}

/// The branch that the repository's main tree is on, here and at the remote, if this is another tree: what its user works on.
fn of_main_tree(place: &Place, branch: Option<&str>) -> Vec<String> {
    let head = if place.own == place.common { None } else { find::beneath(&place.common, "HEAD") };
    let head = String::from_utf8_lossy(&head.unwrap_or_default()).trim().to_owned();
    match head.strip_prefix("ref: refs/heads/") {
        Some(name) if Some(name) != branch => {
            vec![format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")]
        }
        _ => Vec::new(),
    }
}

/// The upstream of the branch, unless its last name is the branch's: that is where the branch itself is published.
fn upstream(shadow: &Shadow<'_>, branch: Option<&str>, until: Instant) -> Result<Vec<String>, Reason> {
    let Some(branch) = branch else { return Ok(Vec::new()) };
    let of = format!("refs/heads/{branch}");
    let said = shadow.run(&["for-each-ref", "--format=%(upstream)", &of], until)?.line();
    let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
    let is_other = said.starts_with("refs/") && last(&said) != last(branch);
    Ok(if is_other { vec![said] } else { Vec::new() })
}

/// Where the branch was made, as the first line of its log says, if `head` still has that commit.
fn created(
    shadow: &Shadow<'_>,
    place: &Place,
    branch: Option<&str>,
    head: &str,
    started: Time,
    until: Instant,
) -> Result<Option<String>, Reason> {
    let log = branch.and_then(|branch| log_of(place, branch));
    let Some(commit) = log.as_deref().and_then(|log| birth(log, started)) else {
        return Ok(None);
    };
    // It may be gone since: a branch that was moved elsewhere no longer keeps it.
    let is_there = shadow.ask(&["cat-file", "-e", &commit], until)?.is_some();
    let is_old = is_there && shadow.ask(&["merge-base", "--is-ancestor", &commit, head], until)?.is_some();
    Ok(is_old.then_some(commit))
}

/// The commit that a branch began at, from its log. The first commit of all began at nothing; a branch that was made in the
/// middle of the task began at the task's own commits.
fn birth(log: &[u8], started: Time) -> Option<String> {
    let line = String::from_utf8_lossy(log.split(|b| *b == b'\n').next()?).into_owned();
    let (about, why) = line.split_once('\t').unwrap_or((&line, ""));
    let mut words = about.split(' ');
    let (old, new) = (words.next()?, words.next()?);
    let made = about.rsplit(' ').nth(1).and_then(|at| at.parse::<i64>().ok()).map(Time)?;
    if made > started.plus(SPAWN) {
        return None;
    }
    let is_first = old.bytes().all(|b| b == b'0') && old.len() == new.len();
    (is_first && is_commit(new) && !why.starts_with("commit (initial)")).then(|| new.to_owned())
}

/// The last commit on the head's first-parent line that is not younger than the task.
fn before(shadow: &Shadow<'_>, head: &str, started: Time, until: Instant) -> Result<Option<String>, Reason> {
    if started.0 <= 0 {
        return Ok(None);
    }
    // Not `--before`: it takes a small number for a date in words.
    let age = format!("--min-age={}", started.0);
    let said = shadow.run(&["rev-list", "-1", "--first-parent", &age, head, "--"], until)?.line();
    Ok(is_commit(&said).then_some(said))
}

/// Whether it is the full name of a commit, and so no option and no range.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_branch_began() {
        let (zero, a, b) = ("0".repeat(40), "a".repeat(40), "b".repeat(40));
        let who = "n <n@x> 1 +0000";
        let made = format!("{zero} {a} {who}\tbranch: Created from HEAD\n{a} {b} {who}\tcommit: x\n");
        let long = format!("{} {} {who}\tclone: from x", "0".repeat(64), "c".repeat(64));
        for (log, want) in [
            (made.as_str(), Some(a.clone())),
            (&long, Some("c".repeat(64))),
            (&format!("{zero} {a} {who}"), Some(a.clone())),
            (&format!("{a} {b} {who}\tcommit: its beginning is forgotten\n"), None),
            (&format!("{zero} {a} {who}\tcommit (initial): first\n"), None),
            (&format!("{zero} --output=x {who}\tx\n"), None),
            (&format!("{zero} {}", "c".repeat(64)), None),
            ("", None),
            ("\n", None),
        ] {
            assert_eq!(birth(log.as_bytes(), Time(i64::MAX - SPAWN)), want, "{log}");
        }
        assert_eq!(birth(b"\xff\xfe \xff", Time(0)), None);
    }
}
