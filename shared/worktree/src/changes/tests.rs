use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;

/// Whatever the dates of the commits, every file was written just now.
fn changes(path: &Path, started: Time, limit: Duration) -> Result<Changes, Reason> {
    changes_with(&program()?, path, Since { commits: started, touched: Time(0) }, limit)
}
use crate::tests::{LIMIT, Repo, stand_in};
use crate::{git as program, look};

/// When the tasks of these tests begin.
const START: Time = Time(1_800_000_000);
const SINCE: Since = Since { commits: START, touched: Time(0) };

impl Repo {
    fn git_at(&self, folder: &Path, at: Time, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_COMMITTER_DATE", format!("@{} +0000", at.0))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(done.unwrap().success(), "git {args:?}");
    }

    /// Writes a file named as the message and commits everything, so many seconds after the task's start.
    fn add(&self, message: &str, after: i64) {
        self.write(message, message);
        self.git(&["add", "-A"]);
        self.git_at(&self.root(), START.plus(after), &["commit", "-q", "-m", message]);
    }

    /// With the file `f` on main from before the task.
    fn old() -> Repo {
        let repo = Repo::new();
        repo.add("f", -1_000);
        repo
    }

    fn changes(&self) -> Changes {
        changes(&self.root(), START, LIMIT).unwrap()
    }
}

/// The changes in short: `A path`.
fn short(changes: &Changes) -> Vec<String> {
    let mark = |how| match how {
        How::Added => 'A',
        How::Modified => 'M',
        How::Deleted => 'D',
        How::Untracked => '?',
    };
    assert_eq!(changes.count, changes.files.len());
    changes.files.iter().map(|c| format!("{} {}", mark(c.how), c.path)).collect()
}

#[test]
fn a_linked_tree_with_everything_in_it() {
    let repo = Repo::new();
    for name in ["kept", "edited", "staged", "gone", "old name", "undone", "untouched", "loose", "mode"] {
        repo.write(name, &format!("{name}\n"));
    }
    repo.write(".gitignore", "*.log\nbuild/\n");
    repo.add("first", -1_000);
    let tree = repo.at("linked");
    repo.git(&["worktree", "add", "-q", "-b", "task/one", tree.to_str().unwrap()]);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
        fs::write(tree.join(name), text).unwrap();
    };
    let git = |args: &[&str]| repo.git_at(&tree, START.plus(60), args);
    write("committed", "new");
    write("edited", "once\n");
    write("undone", "other\n");
    git(&["mv", "old name", "new name"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "work"]);
    write("undone", "undone\n");
    write("edited", "twice\n");
    write("staged", "staged now\n");
    write("deep/added", "");
    git(&["add", "staged", "deep"]);
    git(&["update-index", "--chmod=+x", "mode"]);
    git(&["config", "core.fileMode", "false"]);
    git(&["rm", "-q", "--cached", "loose"]);
    fs::remove_file(tree.join("gone")).unwrap();
    write("notes/a/b.md", "");
    write("notes/c.md", "");
    write("x.log", "");
    write("build/out", "");
    // Another repository in the tree is not part of it.
    fs::create_dir(tree.join("other")).unwrap();
    repo.git_in(&tree.join("other"), &["init", "-q"]);
    fs::write(tree.join("other/x"), "").unwrap();

    let got = changes(&tree, START, LIMIT).unwrap();
    let want = [
        "A committed",
        "A deep/added",
        "M edited",
        "D gone",
        "M loose",
        "M mode",
        "A new name",
        "? notes/a/b.md",
        "? notes/c.md",
        "D old name",
        "M staged",
    ];
    assert_eq!(short(&got), want);
    assert_eq!((got.base, got.commits, got.is_cut), (Base::Fork, 1, false));
    assert_eq!((got.branch.as_deref(), got.head_at), (Some("task/one"), Some(START.plus(60))));
    assert_eq!(got.root, tree.to_str().unwrap());
    assert_ne!(got.head, got.base_commit);
    // The main tree stands still, and from a folder within it is the same.
    assert_eq!(short(&repo.changes()), [""; 0]);
    let below = changes(&tree.join("notes"), START, LIMIT).unwrap();
    assert_eq!(
        (short(&below), below.below.as_str()),
        (vec!["? notes/a/b.md".to_owned(), "? notes/c.md".into()], "notes")
    );
    assert!(got.top.contains(&"notes".to_owned()) && got.below.is_empty());
}

#[test]
fn what_is_done_and_undone_is_no_change() {
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("f", "other");
    repo.add("g", 10);
    assert_eq!(short(&repo.changes()), ["M f", "A g"]);
    repo.write("f", "f");
    fs::remove_file(repo.root().join("g")).unwrap();
    let got = repo.changes();
    assert_eq!((short(&got), got.commits), (vec![], 1));
    // Touched, but the same.
    repo.touch("f");
    assert_eq!(short(&repo.changes()), [""; 0]);
}

#[test]
fn a_change_right_after_the_index_was_written_is_seen() {
    for _ in 0..20 {
        let repo = Repo::old();
        repo.write("f", "g");
        assert_eq!(short(&repo.changes()), ["M f"]);
    }
}

#[test]
fn where_the_work_began() {
    let oid = |repo: &Repo, name: &str| {
        let out = Command::new("git").args(["rev-parse", name]).current_dir(repo.root()).output().unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    let check = |repo: &Repo, base: Base, at: &str, commits: u64, files: &[&str]| {
        let got = repo.changes();
        assert_eq!(got.base_commit, Some(oid(repo, at)), "{at}");
        assert_eq!(
            (got.base, got.commits, short(&got)),
            (base, commits, files.iter().map(|f| (*f).into()).collect())
        );
    };

    // A branch with the commits of an earlier task.
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.add("earlier", -50);
    repo.add("later", 50);
    check(&repo, Base::Start, "HEAD~1", 1, &["A later"]);

    // A branch of another branch, whose commits are as young as its own.
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.add("a", 10);
    repo.git(&["checkout", "-q", "-b", "feature-2"]);
    repo.add("b", 20);
    check(&repo, Base::Created, "feature", 1, &["A b"]);
    // It was moved elsewhere: the commit it was made at is not in it.
    repo.git(&["reset", "-q", "--hard", "main"]);
    repo.add("c", 30);
    check(&repo, Base::Fork, "main", 1, &["A c"]);

    // Main is merged into the branch.
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.add("mine", 10);
    repo.git(&["checkout", "-q", "main"]);
    repo.add("theirs", 20);
    repo.git(&["checkout", "-q", "side"]);
    repo.git_at(&repo.root(), START.plus(30), &["merge", "-q", "--no-edit", "main"]);
    check(&repo, Base::Fork, "main", 2, &["A mine"]);
    // The head alone, at the same commit.
    repo.git(&["checkout", "-q", "--detach"]);
    check(&repo, Base::Fork, "main", 2, &["A mine"]);
    assert_eq!(repo.changes().branch, None);

    // On main itself, be it pushed already.
    let repo = Repo::old();
    repo.add("mine", 10);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    check(&repo, Base::Start, "HEAD~1", 1, &["A mine"]);

    // The default is what the remote says, and then the branch of that name has none.
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "next"]);
    repo.add("theirs", -20);
    repo.git(&["update-ref", "refs/remotes/origin/next", "HEAD"]);
    repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/next"]);
    repo.add("mine", 10);
    check(&repo, Base::Start, "HEAD~1", 1, &["A mine"]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.git(&["reset", "-q", "--hard", "next"]);
    repo.git(&["update-ref", "refs/remotes/origin/next", "HEAD~0"]);
    repo.add("more", 20);
    check(&repo, Base::Fork, "HEAD~1", 1, &["A more"]);
    // Commits are not counted from the branch's own upstream.
    repo.git(&["update-ref", "refs/remotes/origin/side", "HEAD"]);
    repo.git(&["config", "branch.side.remote", "origin"]);
    repo.git(&["config", "branch.side.merge", "refs/heads/side"]);
    check(&repo, Base::Fork, "HEAD~1", 1, &["A more"]);
}

#[test]
fn branches_of_other_names() {
    // As `main` in the fork of the task, but the branch is called `staging`.
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "staging"]);
    repo.git(&["branch", "-q", "-D", "main"]);
    let linked = repo.at("linked");
    repo.git(&["worktree", "add", "-q", "-b", "task/one", linked.to_str().unwrap()]);
    let there = |args: &[&str]| repo.git_at(&linked, START.plus(60), args);
    let got = || {
        let got = changes(&linked, START, LIMIT).unwrap();
        (got.base, got.commits, short(&got))
    };
    repo.add("theirs", 20);
    fs::write(linked.join("mine"), "").unwrap();
    there(&["add", "mine"]);
    there(&["commit", "-q", "-m", "mine"]);
    let mine = (Base::Fork, 1, vec!["A mine".to_owned()]);
    assert_eq!(got(), mine);
    there(&["rebase", "-q", "staging"]);
    assert_eq!(got(), mine);
    // Only the remote's is ahead.
    let before = ["update-ref", "refs/remotes/origin/staging", "HEAD"];
    repo.add("more", 30);
    repo.git(&before);
    there(&["rebase", "-q", "staging"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(got(), mine);
    // The main tree is elsewhere, but the branch says what it follows.
    repo.git(&["update-ref", "refs/remotes/origin/release/2", "refs/remotes/origin/staging"]);
    repo.git(&["update-ref", "-d", "refs/remotes/origin/staging"]);
    assert_eq!(got().1, 3);
    repo.git(&["config", "remote.origin.url", "/nowhere"]);
    repo.git(&["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    repo.git(&["config", "branch.task/one.remote", "origin"]);
    repo.git(&["config", "branch.task/one.merge", "refs/heads/release/2"]);
    assert_eq!(got(), mine);
    // It is published under its own name, or another: those commits are its own.
    for name in ["task/one", "luna/one", "fix/lamps"] {
        repo.git(&["update-ref", &format!("refs/remotes/origin/{name}"), "task/one"]);
        repo.git(&["config", "branch.task/one.merge", &format!("refs/heads/{name}")]);
        assert_eq!(got().1, 3, "{name}");
    }
    // Its user looks at them in the main tree.
    repo.git(&["checkout", "-q", "-b", "look", "task/one"]);
    assert_eq!(got().1, 3);
}

#[test]
fn a_file_with_a_filter_counts_where_it_was_touched() {
    let repo = Repo::with_filter();
    let linked = repo.at("linked");
    repo.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let got = || short(&changes(&linked, START, LIMIT).unwrap());
    let seen = || look(&linked, LIMIT).unwrap().dirty;
    assert_eq!(fs::read(linked.join("a.bin")).unwrap(), b"content\n");
    assert_eq!((got(), seen()), (vec![], vec![]));
    // git looks at the content of all of them; a time of 0 would mean that it is not known.
    let early = std::time::UNIX_EPOCH + Duration::from_secs(1);
    let index = repo.root().join(".git/worktrees/linked/index");
    fs::File::options().write(true).open(&index).unwrap().set_modified(early).unwrap();
    assert_eq!((got(), seen()), (vec![], vec![]));
    fs::write(linked.join("a.bin"), "longer content\n").unwrap();
    fs::write(linked.join("plain.bin"), "CONTENT\n").unwrap();
    fs::write(linked.join("b.bin"), "CONTENT\n").unwrap();
    fs::remove_file(linked.join("c.bin")).unwrap();
    let b = fs::File::options().write(true).open(linked.join("b.bin")).unwrap();
    b.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(got(), ["M a.bin", "M b.bin", "D c.bin", "M plain.bin"]);
    assert_eq!(seen(), ["a.bin", "b.bin", "c.bin", "plain.bin"]);

    // What is committed differs by its content in the repository.
    let repo = Repo::with_filter();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a.bin", "other\n");
    repo.git(&["add", "a.bin"]);
    assert_eq!(short(&repo.changes()), ["M a.bin"]);
    repo.git_at(&repo.root(), START.plus(10), &["commit", "-q", "-m", "a"]);
    assert_eq!(short(&repo.changes()), ["M a.bin"]);
}

#[test]
fn nothing_before() {
    // A repository that the task itself began.
    let repo = Repo::new();
    let got = repo.changes();
    assert_eq!((got.head, got.head_at, got.base, got.base_commit), (None, None, Base::Nothing, None));
    assert_eq!((got.commits, got.count, got.branch.as_deref()), (0, 0, Some("main")));
    repo.write("a", "");
    repo.write("b", "");
    repo.git(&["add", "a"]);
    assert_eq!(short(&repo.changes()), ["A a", "? b"]);
    repo.add("c", 10);
    let got = repo.changes();
    assert_eq!((got.base, got.base_commit.as_deref(), got.commits), (Base::Nothing, None, 1));
    assert_eq!(short(&got), ["A a", "A b", "A c"]);
    // A branch that has nothing in common with main.
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    repo.git(&["rm", "-q", "-f", "a", "b"]);
    repo.add("d", 20);
    let got = repo.changes();
    assert_eq!((got.base, short(&got)), (Base::Nothing, vec!["A c".to_owned(), "A d".into()]));
}

#[test]
fn a_damaged_branch_is_not_one_without_commits() {
    let repo = Repo::old();
    for text in ["garbage\n".to_owned(), String::new(), format!("{}\n", "1".repeat(40))] {
        fs::write(repo.root().join(".git/refs/heads/main"), &text).unwrap();
        let why = changes(&repo.root(), START, LIMIT).unwrap_err().to_string();
        assert!(why.starts_with("git failed") || why == "its head cannot be read", "{text:?}: {why}");
    }
}

#[test]
fn other_forms_of_repository() {
    for form in ["--object-format=sha256", "--ref-format=reftable"] {
        let repo = Repo(tempfile::tempdir().unwrap());
        fs::create_dir(repo.root()).unwrap();
        // A git that knows no such form has none to be read.
        if !repo.git_in(&repo.root(), &["init", "-q", "-b", "main", form]) {
            continue;
        }
        repo.write("a", "");
        assert_eq!(short(&repo.changes()), ["? a"], "{form}");
        repo.add("b", 10);
        assert_eq!(
            (repo.changes().base, short(&repo.changes())),
            (Base::Nothing, vec!["A a".into(), "A b".into()])
        );
        repo.git(&["checkout", "-q", "-b", "side"]);
        repo.add("c", 20);
        let got = repo.changes();
        assert_eq!((got.base, short(&got)), (Base::Fork, vec!["A c".to_owned()]), "{form}");
        let linked = repo.at("linked");
        repo.git(&["worktree", "add", "-q", "-b", "two", linked.to_str().unwrap()]);
        match changes(&linked, START, LIMIT) {
            Ok(got) => assert_eq!((form, got.branch.as_deref()), ("--object-format=sha256", Some("two"))),
            // Rather than the head of the main tree.
            Err(e) => {
                assert!(e.to_string().contains("reftable") && look(&linked, LIMIT).is_err(), "{form}: {e}")
            }
        }
    }
    // An index in two parts, and a tree of which only some is there.
    let repo = Repo::old();
    repo.add("g", -10);
    repo.git(&["update-index", "--split-index"]);
    repo.git(&["sparse-checkout", "set", "--no-cone", "/f"]);
    repo.write("f", "x");
    assert_eq!(short(&repo.changes()), ["M f"]);
}

#[test]
fn conflicts_and_odd_names() {
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("f", "side");
    repo.add("odd \"name\"\n\u{fc}", 10);
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main");
    repo.add("x", 20);
    repo.git(&["checkout", "-q", "side"]);
    assert!(!repo.git_in(&repo.root(), &["merge", "-q", "main"]));
    // What the merge brings from main is not the task's own before it is committed either.
    let got = repo.changes();
    assert_eq!(short(&got), ["M f", "A odd \"name\"\n\u{fc}"]);
    assert_eq!((got.base, got.commits), (Base::Fork, 1));
    // A damaged file names no merge.
    repo.git_at(&repo.root(), START.plus(30), &["commit", "-q", "-a", "-m", "merged"]);
    for heads in ["garbage\n".to_owned(), format!("{}\n", "1".repeat(40))] {
        fs::write(repo.root().join(".git/MERGE_HEAD"), &heads).unwrap();
        assert_eq!(short(&repo.changes()), ["M f", "A odd \"name\"\n\u{fc}"], "{heads}");
    }
    // A file becomes a link, and another a folder.
    let repo = Repo::old();
    repo.add("g", -10);
    fs::remove_file(repo.root().join("f")).unwrap();
    fs::remove_file(repo.root().join("g")).unwrap();
    symlink("elsewhere", repo.root().join("f")).unwrap();
    fs::create_dir(repo.root().join("g")).unwrap();
    repo.write("g/h", "");
    assert_eq!(short(&repo.changes()), ["M f", "D g", "? g/h"]);
}

#[test]
fn packages_above_what_changed() {
    let repo = Repo::old();
    let root = repo.root();
    for (path, text) in [
        ("Cargo.toml", "[workspace]\n"),
        ("crates/a/Cargo.toml", "[package]\nname = \"acme-a\"\n"),
        ("crates/a/src/lib.rs", ""),
        ("crates/b/Cargo.toml", "[package]\nname = \"acme-b\"\n"),
        ("ui/package.json", "{\"name\": \"@acme/ui\"}"),
        ("ui/go.mod", "module acme.org/ui\n"),
        ("ui/deep/x.ts", ""),
        ("broken/package.json", "{"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    repo.add("all", -10);
    fs::write(root.join("crates/a/src/lib.rs"), "x").unwrap();
    fs::write(root.join("ui/deep/x.ts"), "x").unwrap();
    fs::write(root.join("broken/x"), "x").unwrap();
    // Neither a way out of the tree, nor something to wait for.
    fs::write(repo.at("package.json"), "{\"name\": \"outside\"}").unwrap();
    symlink(repo.at("package.json"), root.join("crates/package.json")).unwrap();
    symlink(repo.at(""), root.join("out")).unwrap();
    for pipe in ["pyproject.toml", "ui/Cargo.toml", "crates/a/go.mod"] {
        assert!(Command::new("mkfifo").arg(root.join(pipe)).status().unwrap().success());
    }
    let got = repo.changes();
    let want =
        [("crates/a", vec!["acme-a"]), ("crates/b", vec!["acme-b"]), ("ui", vec!["@acme/ui", "acme.org/ui"])];
    let want =
        want.map(|(folder, names)| (folder.to_owned(), names.iter().map(|n| (*n).to_owned()).collect()));
    assert_eq!(got.packages, BTreeMap::from(want));
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let repo = Repo::old();
    let (trap, mark) = repo.trap();
    repo.write("g", "x");
    repo.add("g", -10);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.set_traps(&trap);
    let _ = fs::remove_file(&mark);
    fs::write(repo.root().join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    fs::write(repo.root().join(".git/info/attributes"), "f filter=x diff=x\n").unwrap();
    // Of the same length, so that git must read the files to know.
    repo.write("f", "F");
    repo.touch("g");
    assert_eq!(short(&repo.changes()), ["? .gitattributes", "M f"]);
    assert!(!mark.exists(), "a program of the repository was run");
    // The trap works: git without care walks into it.
    repo.git_in(&repo.root(), &["diff", "HEAD"]);
    assert!(mark.exists(), "the trap catches nothing");
}

#[test]
fn nothing_is_written() {
    let repo = Repo::old();
    let stamp = |p: &str| {
        let meta = fs::metadata(repo.root().join(p)).unwrap();
        (meta.modified().unwrap(), meta.len())
    };
    repo.touch("f");
    let files = [".git", ".git/index", ".git/HEAD", ".git/config", ".git/objects", "."];
    let before: Vec<_> = files.iter().map(|f| stamp(f)).collect();
    repo.changes();
    assert_eq!(before, files.iter().map(|f| stamp(f)).collect::<Vec<_>>());
}

/// What does not end is given up in time.
#[track_caller]
fn in_time<T>(run: impl FnOnce() -> Result<T, Reason>) -> String {
    let began = Instant::now();
    let Err(why) = run() else { panic!("there is an answer") };
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    why.to_string()
}

#[test]
fn a_git_that_hangs_is_given_up() {
    let limit = Duration::from_millis(400);
    let repo = Repo::old();
    // From the start, and in the middle.
    let middle = format!(
        r#"case "$*" in *" diff "*) sleep 600;; *) exec {} "$@";; esac"#,
        program().unwrap().display()
    );
    for (script, limit) in [("sleep 600 & wait", limit), (&middle, Duration::from_secs(2))] {
        let git = stand_in(&repo, script);
        assert_eq!(in_time(|| changes_with(&git, &repo.root(), SINCE, limit)), "git takes too long");
    }

    // The real one, held up by a pipe in the place of a file.
    for name in ["index", "packed-refs", "config", "info/exclude", "HEAD", "logs/refs/heads/main"] {
        let repo = Repo::old();
        repo.write("new", "");
        let pipe = repo.root().join(".git").join(name);
        let _ = fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let found = |limit| changes(&repo.root(), START, limit);
        match name {
            // We read these ourselves; the last is only one of several witnesses.
            "index" | "HEAD" => assert!(in_time(|| found(LIMIT)).ends_with("not a file"), "{name}"),
            "logs/refs/heads/main" => assert_eq!(found(LIMIT).unwrap().base, Base::Start),
            _ => assert_eq!(in_time(|| found(limit)), "git takes too long", "{name}"),
        }
        if name == "index" {
            assert_eq!(in_time(|| look(&repo.root(), limit)), "git takes too long");
        }
    }
}

#[test]
fn what_cannot_be_looked_at() {
    let repo = Repo::old();
    let absent: PathBuf = repo.at("absent");
    assert_eq!(changes(&absent, START, LIMIT).unwrap_err().to_string(), "no such folder");
    let none = changes_with(Path::new("/nowhere/git"), &repo.root(), SINCE, LIMIT).unwrap_err().to_string();
    assert!(none.starts_with("git cannot be started"), "{none}");
    fs::write(repo.root().join(".git/index"), "damaged").unwrap();
    assert!(
        changes(&repo.root(), START, LIMIT).unwrap_err().to_string().starts_with("git failed (exit 128)")
    );
}

#[test]
fn a_branch_name_leads_nowhere_else() {
    let repo = Repo::old();
    let good = find::beneath(&repo.root().join(".git"), "logs/refs/heads/main");
    assert!(good.is_some());
    for path in ["../r/f", "logs/../HEAD", "/etc/passwd", "logs//HEAD", "", ".", "logs", "no"] {
        assert_eq!(find::beneath(&repo.root().join(".git"), path), None, "{path}");
    }
    symlink("main", repo.root().join(".git/logs/refs/heads/link")).unwrap();
    symlink(".", repo.root().join(".git/logs/refs/heads/round")).unwrap();
    for path in ["logs/refs/heads/link", "logs/refs/heads/round/main"] {
        assert_eq!(find::beneath(&repo.root().join(".git"), path), None, "{path}");
    }
}

/// Prints what one look takes; read by eye (`--nocapture`).
#[test]
fn one_look_is_quick() {
    let repo = Repo::old();
    repo.git(&["checkout", "-q", "-b", "side"]);
    for n in 0..500 {
        repo.write(&format!("t{n}"), "x");
    }
    repo.add("many", 10);
    let began = Instant::now();
    assert_eq!(repo.changes().count, 501);
    println!("one look: {:?}", began.elapsed());
    assert!(began.elapsed() < LIMIT);
}

/// Renamed just now is touched just now, whatever time its content has.
#[test]
fn what_nobody_touched_since_is_nobodys_doing() {
    let repo = Repo::old();
    repo.write("f", "changed");
    repo.write("new", "x");
    let touched = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        Time(fs::metadata(repo.root().join(name)).unwrap().ctime())
    };
    let at = |touched: Time| {
        let since = Since { commits: START, touched };
        short(&changes_with(&program().unwrap(), &repo.root(), since, LIMIT).unwrap())
    };
    assert_eq!(at(touched("new").plus(-60)), ["M f", "? new"]);
    assert_eq!(at(touched("new").plus(60)), [""; 0]);
    fs::File::options()
        .write(true)
        .open(repo.root().join("new"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    fs::rename(repo.root().join("new"), repo.root().join("moved")).unwrap();
    assert_eq!(at(touched("f")), ["M f", "? moved"]);
}
