//! A working tree of its own for a session, made by `git` as the caller would make it by hand.
//!
//! What is there already is used and never taken away: a tree in which an earlier attempt left its work is where the next
//! one goes on.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{PAUSE, refused, utf8};
use crate::exclusive;
use base::error::{Error, Kind, Result};
use base::quote;
use base::reason::Reason;
use worktree::git;

/// Most characters of git's reason: a path and a sentence.
const MAX_WHY: usize = 400;

/// Where working trees are put, below the top of the repository's first one.
const FOLDER: &str = ".worktrees";

/// What git says of a folder that is in no repository.
const NO_REPOSITORY: &str = "not a git repository";

/// Longest that another spawn may look at a folder before it takes its task, or finds it taken.
const LOOKS_LAST: Duration = Duration::from_secs(10);

/// A repository, by the top folder of its first working tree.
pub(super) struct Repo {
    git: PathBuf,
    pub(super) top: PathBuf,
    /// Where a new branch begins: the working tree, or a folder in it, that was asked for.
    from: PathBuf,
}

/// What stands at the place of a working tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is there, on this branch.
    Use,
    /// A new tree for a branch that is there.
    Attach,
    /// A new tree and a new branch.
    Make,
}

/// A working tree, as git lists it.
struct Tree {
    path: PathBuf,
    /// Empty where it is on none.
    branch: String,
}

/// What was made, so that it can be taken away again.
#[derive(Debug, Default)]
pub(super) struct Made {
    tree: bool,
    /// The commit that a branch was put on which this spawn made.
    branch_at: Option<String>,
    folder: bool,
    held: Option<Hold>,
}

/// Keeps every other spawn out of a working tree, until it is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    _folder: File,
}

impl Hold {
    /// Of the folder of a working tree; `None` where there is none.
    ///
    /// # Errors
    /// `Busy` where another spawn holds it.
    pub(super) fn of(place: &Path) -> Result<Option<Hold>> {
        if !place.is_dir() {
            return Ok(None);
        }
        let folder = File::open(place).map_err(|e| Error::io(place.display(), &e))?;
        if !exclusive::hold(&folder) {
            return Err(taken(place));
        }
        Ok(Some(Hold { _folder: folder }))
    }

    /// Of the folder of a working tree, for the spawn that has the task. Another spawn of the task holds the folder for as long
    /// as it looks, and only then sees that the task is taken: it is waited for, once for each of `pauses`.
    ///
    /// # Errors
    /// `Busy` where another spawn still holds it then.
    fn when_free(place: &Path, pauses: impl IntoIterator<Item = ()>) -> Result<Option<Hold>> {
        let mut pauses = pauses.into_iter();
        loop {
            match Hold::of(place) {
                Err(e) if e.kind == Kind::Busy && pauses.next().is_some() => {}
                held => return held,
            }
        }
    }
}

/// Passes once after each pause, until [`LOOKS_LAST`] is over.
fn pauses() -> impl Iterator<Item = ()> {
    std::iter::repeat_with(|| std::thread::sleep(PAUSE))
        .take((LOOKS_LAST.as_millis() / PAUSE.as_millis()) as usize)
}

fn taken(place: &Path) -> Error {
    Error::new(Kind::Busy, place.display(), "another spawn begins work in this tree; nothing was started")
        .hint("try again")
}

/// A folder by its real path, as git lists it, where it is there.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Whether two paths lead to one folder.
pub(super) fn is_same(folder: &Path, place: &Path) -> bool {
    folder == place || real(folder) == real(place)
}

fn is_empty(folder: &Path) -> bool {
    let is_real = std::fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir());
    is_real && std::fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_none())
}

impl Repo {
    /// The repository that a folder is in.
    pub(super) fn find(from: &Path) -> Result<Repo> {
        let at = from.display();
        let program = git().map_err(|why| Error::new(Kind::Partial, "git", why))?;
        let repo = Repo { git: program, top: from.to_owned(), from: from.to_owned() };
        let listed = repo.trees().map_err(|why| refused(&at.to_string(), why))?;
        // The first one listed is the main one, whichever this is.
        let top = listed.into_iter().next().map(|first| first.path).filter(|top| top.is_dir());
        let top = top.ok_or_else(|| refused(&at.to_string(), "is in a repository without a working tree"))?;
        let repo = Repo { top, ..repo };
        repo.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).map_err(|_| {
            refused(&at.to_string(), "has no commit yet").hint("a branch needs one to begin at")
        })?;
        Ok(repo)
    }

    /// The same; `None` where the folder is in no repository.
    pub(super) fn around(folder: &Path) -> Result<Option<Repo>> {
        match Repo::find(folder) {
            Err(e) if e.what.contains(NO_REPOSITORY) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Its working trees, the main one first.
    fn trees(&self) -> std::result::Result<Vec<Tree>, Reason> {
        let listed = self.run(&["worktree", "list", "--porcelain", "-z"])?;
        let one = |tree: &str| {
            let field = |name: &str| tree.split('\0').find_map(|line| line.strip_prefix(name));
            let branch = field("branch refs/heads/").unwrap_or_default().to_owned();
            Some(Tree { path: field("worktree ")?.into(), branch })
        };
        Ok(listed.split("\0\0").filter_map(one).collect())
    }

    /// The top folder of the repository that made a tree, by the path of the tree alone.
    pub(super) fn above_tree(place: &Path) -> Option<PathBuf> {
        let top = place.parent().filter(|folder| folder.ends_with(FOLDER))?.parent()?;
        top.is_dir().then(|| top.to_owned())
    }

    /// The same, where a new branch begins at its first working tree.
    pub(super) fn at_top(self) -> Repo {
        Repo { from: self.top.clone(), ..self }
    }

    /// Whether it made this folder for a session.
    pub(super) fn has_made(&self, folder: &Path) -> bool {
        real(folder).starts_with(real(&self.top.join(FOLDER)))
    }

    /// The place of a working tree of this name.
    pub(super) fn place(&self, name: &str) -> Result<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 100 || name.starts_with(['.', '-']) || !name.chars().all(plain) {
            return Err(Error::new(Kind::Usage, format!("--name {name}"), "no name for a folder")
                .hint("letters, digits, dots, _ and -, at most 100"));
        }
        Ok(real(&self.top.join(FOLDER)).join(name))
    }

    /// The branch of a working tree that is there, empty where it is on none; `None` where the repository has no such tree.
    pub(super) fn branch_at(&self, place: &Path) -> Option<String> {
        let listed = self.trees().ok().filter(|_| place.is_dir())?;
        listed.into_iter().find(|tree| is_same(&tree.path, place)).map(|tree| tree.branch)
    }

    /// What is to be done for a tree of this branch at this place. Changes nothing.
    pub(super) fn plan(&self, place: &Path, branch: &str) -> Result<Plan> {
        // `@` is a branch's name to git, and HEAD everywhere else.
        let is_name = self.run(&["check-ref-format", "--branch", branch]).is_ok();
        if !is_name || branch == "@" || branch.starts_with('-') {
            return Err(Error::new(Kind::Usage, format!("--branch {branch}"), "no name for a branch"));
        }
        let at = place.display().to_string();
        let mut elsewhere = None;
        for tree in self.trees().map_err(|why| refused(&at, why))? {
            match (is_same(&tree.path, place), tree.branch == branch) {
                (true, true) if place.is_dir() => return Ok(Plan::Use),
                (true, false) => {
                    return Err(refused(&at, format!("is a working tree of another branch than {branch}"))
                        .hint("give its branch with --branch, or another --name"));
                }
                (false, true) => elsewhere = Some(tree.path),
                _ => {}
            }
        }
        if let Some(other) = elsewhere {
            return Err(refused(
                &format!("--branch {branch}"),
                format!("is checked out in {}", other.display()),
            ));
        }
        // An empty folder is what a spawn leaves that was killed as it began.
        if std::fs::symlink_metadata(place).is_ok() && !is_empty(place) {
            return Err(refused(&at, "exists already, and is not a worktree of this repository")
                .hint("give another --name"));
        }
        let there = self.run(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_ok();
        Ok(if there { Plan::Attach } else { Plan::Make })
    }

    /// Makes what is planned. What was made before a failure is taken away again. `is_held`: the folder is there, and this spawn's.
    pub(super) fn make(&self, plan: &Plan, place: &Path, branch: &str, is_held: bool) -> Result<Made> {
        let mut made = Made::default();
        match self.fill(plan, place, branch, is_held, &mut made) {
            Ok(()) => Ok(made),
            Err(e) => {
                let left = self.undo(&made, place, branch);
                Err(Error { what: with_left(e.what, left), ..e })
            }
        }
    }

    /// Makes what is planned, and notes each step.
    fn fill(&self, plan: &Plan, place: &Path, branch: &str, is_held: bool, made: &mut Made) -> Result<()> {
        if *plan == Plan::Use {
            return Ok(());
        }
        let at = place.display().to_string();
        let folder = self.top.join(FOLDER);
        // So that the repository's own tree does not show it. An empty one is what a full disk left.
        let ignore = folder.join(".gitignore");
        let is_new = !folder.is_dir();
        if is_new {
            std::fs::create_dir_all(&folder).map_err(|e| Error::io(folder.display(), &e))?;
            made.folder = true;
        }
        if is_new || std::fs::metadata(&ignore).is_ok_and(|m| m.len() == 0) {
            std::fs::write(&ignore, "*\n").map_err(|e| Error::io(ignore.display(), &e))?;
        }
        let path = utf8(place)?;
        // Who makes the folder, or holds it while it is empty, makes the tree.
        if !is_held {
            match std::fs::create_dir(place) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(Error::io(place.display(), &e)),
                _ => made.held = Hold::when_free(place, pauses())?,
            }
        }
        if !is_empty(place) {
            return Err(taken(place));
        }
        let begun = if *plan == Plan::Make { self.begin(branch, made) } else { Ok(()) };
        let done = begun.and_then(|()| self.run(&["worktree", "add", "--quiet", path, branch]));
        // A hook may fail after everything is there.
        made.tree = place.is_dir();
        match done {
            Ok(_) => Ok(()),
            Err(why) => Err(refused(&at, format!("git worktree add: {why}"))),
        }
    }

    /// Makes a branch. Git refuses one that is there: only what this made is this spawn's, and not what a person or another spawn made
    /// since the plan.
    fn begin(&self, branch: &str, made: &mut Made) -> std::result::Result<(), Reason> {
        let at = self.run_in(&self.from, &["rev-parse", "--verify", "HEAD^{commit}"])?;
        self.run(&["branch", branch, at.trim()])?;
        made.branch_at = Some(at.trim().to_owned());
        Ok(())
    }

    /// Takes away what was made, and says what could not be. Only for a tree in which nobody has worked: what git calls clean may
    /// hold ignored files, and commits that no branch leads to.
    pub(super) fn undo(&self, made: &Made, place: &Path, branch: &str) -> Option<String> {
        let mut left = None;
        let path = place.display().to_string();
        let is_removed = || {
            let shows_all = "status.showUntrackedFiles=all";
            let is_trees = self.run(&["-c", shows_all, "worktree", "remove", &path]).is_ok();
            // Before it is a tree it is an empty folder.
            is_trees || std::fs::remove_dir(place).is_ok()
        };
        if made.tree && !is_removed() {
            return Some(tree_and_branch(place, branch));
        }
        if let Some(at) = &made.branch_at {
            // Only while nobody committed to it, or works on it.
            let reference = format!("refs/heads/{branch}");
            if self.is_in_use(branch) || self.run(&["update-ref", "-d", &reference, at]).is_err() {
                left = Some(format!("the branch {branch}"));
            } else {
                let _ = self.run(&["config", "--remove-section", &format!("branch.{branch}")]);
            }
        }
        if made.folder {
            let folder = self.top.join(FOLDER);
            let mut inside = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            if inside.all(|e| e.file_name() == OsStr::new(".gitignore")) {
                let _ = std::fs::remove_file(folder.join(".gitignore"));
                let _ = std::fs::remove_dir(&folder);
            }
        }
        left
    }

    /// Whether a working tree is on this branch, or nobody knows.
    fn is_in_use(&self, branch: &str) -> bool {
        self.trees().map_or(true, |trees| trees.iter().any(|tree| tree.branch == branch))
    }

    /// Runs git in the repository; its last words where it fails.
    fn run(&self, args: &[&str]) -> std::result::Result<String, Reason> {
        self.run_in(&self.top, args)
    }

    fn run_in(&self, folder: &Path, args: &[&str]) -> std::result::Result<String, Reason> {
        let mut command = Command::new(&self.git);
        command.arg("-C").arg(folder).args(args).stdin(Stdio::null());
        // A caller that is a hook of git itself has these set, to another repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        let out = command.output().map_err(|e| Reason::of("git", e))?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        Err(why(&String::from_utf8_lossy(&out.stderr)).into())
    }
}

/// Why git failed, in its own words: its reason with what it advises below, else its last line.
fn why(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let reason = lines.iter().rposition(|l| l.starts_with("fatal: ") || l.starts_with("error: "));
    let words = lines[reason.unwrap_or(lines.len().saturating_sub(1))..].join(" ");
    let words = words.trim_start_matches("fatal: ");
    quote::inline(if words.is_empty() { "failed" } else { words }, MAX_WHY)
}

/// What stays where a worker may have worked.
pub(super) fn tree_and_branch(place: &Path, branch: &str) -> String {
    let tree = format!("the working tree {}", place.display());
    if branch.is_empty() { tree } else { format!("{tree} and its branch {branch}") }
}

/// A failure, and what of its traces is still there.
pub(super) fn with_left(why: String, left: Option<String>) -> String {
    match left {
        None => why,
        Some(left) => format!("{why}; left behind: {left}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn who_has_the_task_waits_for_another_spawn_that_only_looks() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let mut looks = Hold::of(place).unwrap();
        assert_eq!(Hold::when_free(place, [(), ()]).unwrap_err().kind, Kind::Busy);
        let ends = (0..3).map(|n| drop((n == 1).then(|| looks.take())));
        assert!(Hold::when_free(place, ends).unwrap().is_some());
    }

    #[test]
    fn a_folder_that_could_not_be_filled_is_taken_away() {
        let top = tempfile::tempdir().unwrap();
        let top_of = top.path().to_owned();
        let repo = Repo { git: git().unwrap(), from: top_of.clone(), top: top_of };
        let folder = top.path().join(FOLDER);
        let place = folder.join("x".repeat(300));
        let makes = || repo.make(&Plan::Make, &place, "x", false).unwrap_err();
        assert_eq!(makes().kind, Kind::Io);
        assert!(!folder.exists());
        // What an earlier spawn left on a full disk.
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(".gitignore"), "").unwrap();
        makes();
        assert_eq!(std::fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    }

    /// A repository with one commit.
    fn repository(top: &Path) -> Repo {
        std::fs::create_dir_all(top).unwrap();
        let top = top.canonicalize().unwrap();
        let repo = Repo { git: git().unwrap(), from: top.clone(), top };
        repo.run(&["init", "--quiet"]).unwrap();
        commit(&repo, "one");
        repo
    }

    fn commit(repo: &Repo, message: &str) -> String {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        repo.run(&[&who[..], &["commit", "--quiet", "--allow-empty", "-m", message]].concat()).unwrap();
        repo.run(&["rev-parse", "HEAD"]).unwrap()
    }

    #[test]
    fn a_branch_that_others_made_or_use_is_kept() {
        let top = tempfile::tempdir().unwrap();
        let repo = repository(top.path());
        let place = repo.place("x").unwrap();
        let at_branch = || repo.run(&["rev-parse", "--verify", "refs/heads/x"]).ok();
        // A person begins it after the plan was made.
        let plan = repo.plan(&place, "x").unwrap();
        repo.run(&["checkout", "--quiet", "-b", "x"]).unwrap();
        let work = commit(&repo, "an hour of work");
        let why = repo.make(&plan, &place, "x", false).unwrap_err();
        assert!(why.what.contains("already exists") && !why.what.contains("left behind"), "{}", why.what);
        assert_eq!(at_branch().as_ref(), Some(&work));
        assert!(!place.exists());
        // Another tree is on it, at the commit where this spawn put it.
        let made = Made { branch_at: Some(work.trim().to_owned()), ..Made::default() };
        assert_eq!(repo.undo(&made, &place, "x").as_deref(), Some("the branch x"));
        assert_eq!(at_branch(), Some(work));
        // Its own one goes with its tree: a hook fails once everything is there.
        let hook = top.path().join(".git/hooks/post-checkout");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        repo.make(&Plan::Make, &place, "y", false).unwrap_err();
        assert!(!place.exists() && repo.run(&["rev-parse", "--verify", "refs/heads/y"]).is_err());
    }

    #[test]
    fn a_tree_below_a_symlink_is_used_again() {
        let top = tempfile::tempdir().unwrap();
        let repo = repository(&top.path().join("repo"));
        std::fs::create_dir(top.path().join("big")).unwrap();
        std::os::unix::fs::symlink("../big", repo.top.join(FOLDER)).unwrap();
        let place = repo.place("x").unwrap();
        repo.make(&Plan::Make, &place, "x", false).unwrap();
        for place in [place, repo.top.join(FOLDER).join("x")] {
            assert_eq!(repo.plan(&place, "x").unwrap(), Plan::Use, "{}", place.display());
        }
    }

    #[test]
    fn git_says_why_in_its_first_line_or_in_its_last() {
        let gone = "fatal: '/r/x' is a missing but already registered worktree;\nuse 'add -f' to override, or 'prune' or 'remove' to clear\n";
        for (said, want) in [
            (
                gone,
                "'/r/x' is a missing but already registered worktree; use 'add -f' to override, or 'prune' or 'remove' to clear",
            ),
            ("error: a thing\nfatal: it failed\n", "it failed"),
            ("Preparing\nhook says no\n\n", "hook says no"),
            ("fatal: one line", "one line"),
            ("", "failed"),
        ] {
            assert_eq!(why(said), want, "{said:?}");
        }
    }
}
