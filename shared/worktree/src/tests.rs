use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::*;

pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A repository in a folder of its own.
pub(super) struct Repo(pub(super) tempfile::TempDir);

impl Repo {
    pub(super) fn new() -> Repo {
        let repo = Repo(tempfile::tempdir().unwrap());
        fs::create_dir(repo.root()).unwrap();
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// With one commit of the file `f`.
    pub(super) fn with_commit() -> Repo {
        let repo = Repo::new();
        repo.write("f", "one\n");
        repo.commit("first\n\nmore words");
        repo
    }

    /// Keeps the hash of `*.bin` in their place, and writes the same content into each tree.
    pub(super) fn with_filter() -> Repo {
        let repo = Repo::new();
        repo.git(&["config", "filter.lfs.clean", "sha256sum"]);
        repo.git(&["config", "filter.lfs.smudge", "cat > /dev/null; echo content"]);
        repo.write(".gitattributes", "*.bin filter=lfs -text\nplain.bin -filter\n");
        for name in ["a.bin", "b.bin", "c.bin", "plain.bin"] {
            repo.write(name, "content\n");
        }
        repo.commit("first");
        repo
    }

    pub(super) fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("r")
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    /// Makes git read the file to know whether it changed.
    pub(super) fn touch(&self, name: &str) {
        let file = fs::File::options().write(true).open(self.root().join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }

    pub(super) fn git_in(&self, folder: &Path, args: &[&str]) -> bool {
        let status = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap().success()
    }

    pub(super) fn git(&self, args: &[&str]) {
        assert!(self.git_in(&self.root(), args), "git {args:?}");
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn look(&self) -> Tree {
        look(&self.root(), LIMIT).unwrap()
    }

    /// The path of a program that leaves a mark when it is run, and of the mark.
    pub(super) fn trap(&self) -> (String, PathBuf) {
        let (program, mark) = (self.at("trap"), self.at("mark"));
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (program.to_str().unwrap().to_owned(), mark)
    }

    /// Names that program wherever a repository can name one that git runs.
    pub(super) fn set_traps(&self, trap: &str) {
        for hook in ["post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
            fs::copy(trap, self.root().join(".git/hooks").join(hook)).unwrap();
        }
        let keys = [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.gitProxy",
            "core.askPass",
            "core.alternateRefsCommand",
            "credential.helper",
            "pager.status",
            "pager.diff",
            "pager.log",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "gpg.program",
        ];
        for key in keys {
            self.git_in(&self.root(), &["config", key, trap]);
        }
        for name in ["status", "diff", "log", "ls-files", "merge-base"] {
            self.git_in(&self.root(), &["config", &format!("alias.{name}"), &format!("!{trap}")]);
        }
        for key in ["filter.x.required", "log.showSignature", "status.submoduleSummary"] {
            self.git_in(&self.root(), &["config", key, "true"]);
        }
    }
}

#[test]
fn a_clean_tree() {
    let repo = Repo::with_commit();
    let tree = repo.look();
    assert_eq!(tree.commit.as_deref().map(str::len), Some(40));
    let want = Tree {
        root: repo.root(),
        branch: Some("main".into()),
        commit: tree.commit.clone(),
        subject: Some("first".into()),
        committed: tree.committed.filter(|at| at.0 > 0),
        ..Tree::default()
    };
    assert_eq!(tree, want);
    fs::create_dir(repo.root().join("deep")).unwrap();
    assert_eq!(look(&repo.root().join("deep"), LIMIT), Ok(want));
}

#[test]
fn changes_are_counted_and_named() {
    let repo = Repo::with_commit();
    for n in 0..60 {
        repo.write(&format!("t{n:02}"), "x");
    }
    repo.commit("many");
    for n in 0..60 {
        repo.write(&format!("t{n:02}"), "changed");
    }
    repo.git(&["add", "t00"]);
    fs::remove_file(repo.root().join("f")).unwrap();
    repo.write("new", "");
    fs::create_dir(repo.root().join("folder")).unwrap();
    repo.write("folder/a", "");
    repo.write("folder/b", "");
    let tree = repo.look();
    assert_eq!((tree.dirty_count, tree.untracked_count, tree.dirty.len()), (61, 2, MAX_DIRTY));
    assert!(tree.dirty.contains(&"f".to_owned()) && tree.dirty.contains(&"t00".to_owned()));
}

#[test]
fn a_touched_file_is_no_change() {
    let repo = Repo::with_commit();
    repo.touch("f");
    assert_eq!(repo.look().dirty_count, 0);
}

#[test]
fn odd_paths() {
    let repo = Repo::with_commit();
    for name in [&b"a b"[..], b"line\nend", b"quo\"te\\", b"not\xffutf8", "ü".as_bytes()] {
        fs::write(repo.root().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    repo.git(&["add", "-A"]);
    let tree = repo.look();
    assert_eq!(tree.dirty, ["a b", "line\nend", "not\u{fffd}utf8", "quo\"te\\", "ü"]);
}

#[test]
fn no_commit_yet_and_no_branch() {
    let repo = Repo::new();
    repo.write("f", "x");
    let tree = repo.look();
    assert_eq!((tree.branch.as_deref(), tree.commit, tree.subject), (Some("main"), None, None));
    assert_eq!((tree.untracked_count, tree.stash_count), (1, 0));

    let repo = Repo::with_commit();
    repo.git(&["checkout", "-q", "--detach"]);
    let tree = repo.look();
    assert_eq!((tree.branch, tree.commit.is_some()), (None, true));
}

#[test]
fn stashes_newest_first() {
    let repo = Repo::with_commit();
    for n in 0..5 {
        repo.write("f", &format!("{n}"));
        repo.git(&["stash", "push", "-q", "-m", &format!("try {n}")]);
    }
    let tree = repo.look();
    assert_eq!(tree.stash_count, 5);
    assert_eq!(
        tree.stashes,
        ["stash@{0}: On main: try 4", "stash@{1}: On main: try 3", "stash@{2}: On main: try 2"]
    );
}

#[test]
fn ahead_of_its_upstream() {
    let repo = Repo::with_commit();
    assert_eq!(repo.look().ahead, None);
    let far = repo.at("far.git");
    repo.git(&["clone", "-q", "--bare", ".", far.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", far.to_str().unwrap()]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    assert_eq!(repo.look().ahead, Some(0));
    repo.write("g", "x");
    repo.commit("second");
    repo.write("g", "y");
    repo.commit("third");
    assert_eq!(repo.look().ahead, Some(2));
    assert_eq!(
        look(&far, LIMIT).unwrap_err().to_string(),
        "a bare repository or git's own folder, not a working tree"
    );
    // The trees of a bare repository are trees.
    let linked = repo.at("linked");
    assert!(repo.git_in(&far, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]));
    assert_eq!(look(&linked, LIMIT).unwrap().branch.as_deref(), Some("side"));
}

#[test]
fn a_linked_tree_has_its_own_head_and_index() {
    let repo = Repo::with_commit();
    let linked = repo.at("linked");
    repo.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    fs::write(linked.join("f"), "changed").unwrap();
    fs::write(linked.join("g"), "new").unwrap();
    assert!(repo.git_in(&linked, &["add", "g"]));
    let tree = look(&linked, LIMIT).unwrap();
    assert_eq!((tree.root.as_path(), tree.branch.as_deref()), (linked.as_path(), Some("side")));
    assert_eq!(tree.dirty, ["f", "g"]);
    assert_eq!(repo.look().dirty_count, 0);
    fs::remove_dir_all(repo.root().join(".git/worktrees")).unwrap();
    assert_eq!(look(&linked, LIMIT).unwrap_err().to_string(), "its .git file points to nothing");
}

#[test]
fn other_forms_of_repository() {
    for args in [
        &["init", "-q", "-b", "main", "--object-format=sha256"][..],
        &["init", "-q", "-b", "main", "--ref-format=reftable"],
    ] {
        let repo = Repo(tempfile::tempdir().unwrap());
        fs::create_dir(repo.root()).unwrap();
        // A git that knows no such form has none to be read.
        if !repo.git_in(&repo.root(), args) {
            continue;
        }
        repo.write("f", "x");
        repo.commit("first");
        repo.write("f", "y");
        repo.git(&["stash", "-q"]);
        repo.write("f", "z");
        let tree = repo.look();
        assert_eq!(
            (tree.subject.as_deref(), tree.dirty_count, tree.stash_count),
            (Some("first"), 1, 1),
            "{args:?}"
        );
    }
    let repo = Repo::with_commit();
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    repo.git(&["config", "extensions.someday", "true"]);
    assert!(look(&repo.root(), LIMIT).unwrap_err().to_string().contains("newer than Watchbill knows"));
    // An index in two parts, a sparse tree, and line ends that the repository asks for.
    let repo = Repo::with_commit();
    repo.git(&["update-index", "--split-index"]);
    repo.git(&["sparse-checkout", "set", "--no-cone", "/f"]);
    repo.git(&["config", "core.autocrlf", "true"]);
    fs::remove_file(repo.root().join("f")).unwrap();
    repo.git(&["checkout", "-q", "f"]);
    assert_eq!(fs::read(repo.root().join("f")).unwrap(), b"one\r\n");
    repo.touch("f");
    assert_eq!(repo.look().dirty_count, 0);
}

#[test]
fn what_is_under_way() {
    let repo = Repo::with_commit();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("f", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main\n");
    repo.commit("main");
    for (args, want) in [
        (["merge", "side"], "merge"),
        (["rebase", "side"], "rebase"),
        (["cherry-pick", "side"], "cherry-pick"),
    ] {
        assert!(!repo.git_in(&repo.root(), &args));
        let tree = repo.look();
        assert_eq!((tree.under_way.as_deref(), tree.dirty.as_slice()), (Some(want), &["f".to_owned()][..]));
        repo.git(&[want, "--abort"]);
    }
    assert_eq!(repo.look().under_way, None);
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let repo = Repo::with_commit();
    let (trap, mark) = repo.trap();
    let more = repo.at("more");
    fs::write(&more, format!("[core]\n\tfsmonitor = {trap}\n[filter \"y\"]\n\tclean = {trap}\n")).unwrap();
    repo.set_traps(&trap);
    repo.git_in(&repo.root(), &["config", "include.path", more.to_str().unwrap()]);
    let _ = fs::remove_file(&mark);
    fs::write(repo.root().join(".gitattributes"), "f filter=x diff=x\ng filter=y\n").unwrap();
    fs::write(repo.root().join(".git/info/attributes"), "f filter=x\n").unwrap();
    // Of the same length, so that git must read the file to know.
    repo.write("f", "two\n");
    repo.write("g", "x");

    // Several versions may be installed; each has its own holes.
    for git in PLACES.iter().map(|p| Path::new(p).join("git")).filter(|g| g.is_file()) {
        let tree = look_with(&git, &repo.root(), LIMIT).unwrap();
        assert!(!mark.exists(), "{} ran a program of the repository", git.display());
        assert_eq!((tree.dirty_count, tree.untracked_count), (1, 2), "{}", git.display());
    }

    // The trap works: git without care walks into it.
    repo.git_in(&repo.root(), &["status"]);
    assert!(mark.exists(), "the trap catches nothing");
}

#[test]
fn the_users_own_list_of_ignored_files_is_in_force() {
    let repo = Repo::with_commit();
    let (trap, mark) = repo.trap();
    let home = repo.at("home");
    for folder in [".config/git", "xdg/git", "lists"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for (list, name) in [(".config/git/ignore", "a"), ("xdg/git/ignore", "b"), ("lists/named", "c")] {
        fs::write(home.join(list), format!("{name}\n")).unwrap();
        repo.write(name, "");
    }
    let traps = format!(
        "[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n[filter \"x\"]\n\tclean = {trap}\n[pager]\n\tconfig = {trap}\n"
    );
    repo.write("f", "two\n");
    repo.write(".gitattributes", "f filter=x\n.gitattributes -filter\n");
    repo.git(&["add", ".gitattributes"]);
    let named = "[core]\n\texcludesFile = ~/lists/named\n";
    let git = git().unwrap();
    let seen = |variables: &[(&'static str, PathBuf)]| {
        let user = User(variables.iter().map(|(name, value)| (*name, value.clone().into())).collect());
        let place = find::find(&repo.root()).unwrap();
        let until = Instant::now() + LIMIT;
        let shadow = shadow::Shadow::make(&git, &place, &user, until).unwrap();
        let others = shadow.run(&["ls-files", "--others", "--exclude-standard"], until).unwrap();
        let status = shadow.run(&["status", "--porcelain"], until).unwrap().line();
        assert!(status.contains("M f") && !mark.exists(), "{status}");
        others.line().replace('\n', " ")
    };
    let (at_home, xdg) = (("HOME", home.clone()), ("XDG_CONFIG_HOME", home.join("xdg")));
    let global = ("GIT_CONFIG_GLOBAL", home.join("global"));
    assert_eq!(seen(&[]), "a b c");
    assert_eq!(seen(std::slice::from_ref(&at_home)), "b c");
    assert_eq!(seen(&[at_home.clone(), ("XDG_CONFIG_HOME", PathBuf::new())]), "b c");
    assert_eq!(seen(&[at_home.clone(), xdg.clone()]), "a c");
    fs::write(home.join("global"), format!("{traps}[include]\n\tpath = more\n")).unwrap();
    assert_eq!(seen(&[at_home.clone(), global.clone()]), "b c");
    fs::write(home.join("more"), named).unwrap();
    assert_eq!(seen(&[at_home.clone(), global.clone()]), "a b");
    fs::write(home.join(".gitconfig"), format!("{traps}{named}")).unwrap();
    assert_eq!(seen(&[at_home.clone(), xdg.clone()]), "a b");
    fs::write(home.join(".gitconfig"), "[core]\n\texcludesFile =\n").unwrap();
    assert_eq!(seen(&[at_home.clone(), xdg.clone()]), "a b c");
    fs::write(home.join(".gitconfig"), "damaged [").unwrap();
    assert_eq!(seen(&[at_home, xdg]), "a c");
}

#[test]
fn a_partial_clone_fetches_nothing() {
    let repo = Repo::with_commit();
    let (trap, mark) = repo.trap();
    // Talks to nobody, so that a careless git gives up at once.
    fs::write(&trap, format!("#!/bin/sh\ntouch {}\nexit 1\n", mark.display())).unwrap();
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    repo.git(&["config", "extensions.partialClone", "origin"]);
    repo.git(&["config", "remote.origin.promisor", "true"]);
    repo.git(&["config", "remote.origin.url", &format!("ext::{trap}")]);
    repo.git(&["config", "protocol.ext.allow", "always"]);
    let objects = repo.root().join(".git/objects");
    for folder in fs::read_dir(&objects).unwrap().map(|e| e.unwrap().path()) {
        if folder.file_name().unwrap().len() == 2 {
            fs::remove_dir_all(folder).unwrap();
        }
    }
    assert!(look(&repo.root(), LIMIT).is_err());
    assert!(!mark.exists());
    repo.git_in(&repo.root(), &["status"]);
    assert!(mark.exists(), "the trap catches nothing");
}

#[test]
fn nothing_is_written() {
    let repo = Repo::with_commit();
    repo.touch("f");
    let stamp = |p: &str| {
        let meta = fs::metadata(repo.root().join(p)).unwrap();
        (meta.modified().unwrap(), meta.len())
    };
    let files = [".git", ".git/index", ".git/HEAD", ".git/config", ".git/objects", "."];
    let before: Vec<_> = files.iter().map(|f| stamp(f)).collect();
    repo.look();
    assert_eq!(before, files.iter().map(|f| stamp(f)).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_looked_at() {
    let repo = Repo::with_commit();
    let plain = repo.at("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("file"), "").unwrap();
    let odd = repo.at("odd");
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join(".git"), "something else").unwrap();
    let piped = repo.at("piped");
    fs::create_dir(&piped).unwrap();
    assert!(Command::new("mkfifo").arg(piped.join(".git")).status().unwrap().success());
    for (path, want) in [
        (repo.at("absent"), "no such folder"),
        (plain.join("file"), "not a folder"),
        (plain, "not a git repository"),
        (odd, "its .git file cannot be understood"),
        (piped, "not a file"),
        (repo.root().join(".git"), "a bare repository or git's own folder"),
    ] {
        let got = look(&path, LIMIT).unwrap_err().to_string();
        assert!(got.contains(want), "{got}");
    }
    let none = look_with(Path::new("/nowhere/git"), &repo.root(), LIMIT).unwrap_err().to_string();
    assert!(none.starts_with("git cannot be started"), "{none}");
    fs::write(repo.root().join(".git/index"), "damaged").unwrap();
    assert!(look(&repo.root(), LIMIT).unwrap_err().to_string().starts_with("git failed (exit 128)"));
}

#[test]
fn another_users_repository_is_refused() {
    let repo = Repo::with_commit();
    if !rustix::process::geteuid().is_root() {
        // Only root can give a folder away; git's own shared files belong to root and do for the rest.
        return;
    }
    let linked = repo.at("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    std::os::unix::fs::chown(repo.root().join(".git"), Some(12345), None).unwrap();
    for path in [&repo.root(), &linked] {
        assert_eq!(
            look(path, LIMIT).unwrap_err().to_string(),
            "another user's repository",
            "{}",
            path.display()
        );
    }
}

/// A stand-in for git.
pub(super) fn stand_in(repo: &Repo, script: &str) -> PathBuf {
    let program = repo.at("git");
    // A process of its own writes it: what this one has open for writing, every child of another thread has too, for a moment.
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(&program).stdin(Stdio::piped());
    let mut install = install.spawn().unwrap();
    install.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
    assert!(install.wait().unwrap().success());
    program
}

#[test]
fn a_git_that_hangs_is_killed_with_its_children() {
    let repo = Repo::with_commit();
    let pids = repo.at("pids");
    let program = stand_in(&repo, &format!("sleep 600 & echo $! $$ > {}; wait", pids.display()));
    let began = Instant::now();
    let why = look_with(&program, &repo.root(), Duration::from_millis(400)).unwrap_err();
    assert_eq!((why.to_string().as_str(), why.is::<Late>()), ("git takes too long", true));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let said = fs::read_to_string(&pids).unwrap();
    for pid in said.split_whitespace() {
        let is_gone = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        // A killed process is gone when the kernel comes to it.
        let until = Instant::now() + Duration::from_secs(10);
        while !is_gone() && Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(is_gone(), "{pid} still runs");
    }
}

#[test]
fn a_git_that_never_stops_talking_is_cut() {
    let repo = Repo::with_commit();
    let program = stand_in(
        &repo,
        r##"case "$*" in
*" status "*) printf '# branch.oid (initial)\0# branch.head main\0'; while :; do printf '? xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\0'; done;;
esac"##,
    );
    let tree = look_with(&program, &repo.root(), LIMIT).unwrap();
    assert!(tree.is_cut && tree.untracked_count > 10_000, "{}", tree.untracked_count);
}

/// Prints what one look takes; read by eye (`--nocapture`).
#[test]
fn one_look_is_quick() {
    let repo = Repo::with_commit();
    for n in 0..500 {
        repo.write(&format!("t{n}"), "x");
    }
    repo.commit("many");
    repo.look();
    let began = Instant::now();
    for _ in 0..10 {
        repo.look();
    }
    println!("one look: {:?}", began.elapsed() / 10);
    assert!(began.elapsed() < LIMIT);
}

#[test]
fn folders_of_one_repository_change_together() {
    let repo = Repo::with_commit();
    fs::create_dir_all(repo.root().join("a/b")).unwrap();
    std::os::unix::fs::symlink("r", repo.at("link")).unwrap();
    for folder in ["r", "r/", "r/a", "r/a/b", "link/a", "r/a/../."] {
        assert_eq!(top_of(&repo.at(folder)), repo.root(), "{folder}");
    }
    assert_eq!(top_of(&repo.at("r/../")), repo.at(""), "in no repository");
    assert_eq!(top_of(&repo.at("gone")), repo.at("gone"));
}
