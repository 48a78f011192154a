use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rustix::fs::{AtFlags, statat};

use super::file::{Reader, folder};
use super::*;
use crate::tests::{LIMIT, Repo, stand_in};

/// The state of all of a tree.
fn state(path: &Path, limit: Duration) -> Result<TreeState, Reason> {
    super::state(path, &[], limit)
}

fn see(path: &Path) -> TreeState {
    let state = state(path, LIMIT).unwrap();
    let json = serde_json::to_string(&state).unwrap();
    assert!(json.len() <= MAX_BYTES, "{}", json.len());
    assert_eq!(serde_json::from_str::<TreeState>(&json).unwrap(), state);
    assert!(
        state.hash.strip_prefix(state.method.as_str()).is_some_and(|h| h.starts_with(':') && h.len() == 17)
    );
    state
}

/// Sees a tree before and after something was done to it.
fn around(path: &Path, act: impl FnOnce()) -> (TreeState, TreeState) {
    let before = see(path);
    assert_eq!(see(path), before, "twice the same");
    act();
    (before, see(path))
}

fn changed(paths: &[&str]) -> Drift {
    let paths = paths.iter().map(|p| (*p).to_owned()).collect();
    Drift::Changed { moved: Vec::new(), paths, more: false }
}

fn nobodys(before: &TreeState, after: &TreeState) -> Drift {
    drift(before, after, &BTreeSet::new())
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A repository with something of everything.
fn full() -> Repo {
    let repo = Repo::new();
    for name in ["clean", "dirty", "staged", "both", "src/deep/clean", "hidden", "skipped"] {
        write(&repo.root().join(name), "one\n");
    }
    write(&repo.root().join(".gitignore"), "*.log\nbuild/\n");
    symlink("clean", repo.root().join("link")).unwrap();
    repo.commit("first");
    repo.git(&["branch", "same"]);
    repo.write("dirty", "two\n");
    repo.write("staged", "two\n");
    repo.write("both", "two\n");
    repo.git(&["add", "staged", "both"]);
    repo.write("both", "six\n");
    repo.write("loose", "x\n");
    write(&repo.root().join("new/a"), "x\n");
    repo.git(&["update-index", "--assume-unchanged", "hidden"]);
    repo.git(&["update-index", "--skip-worktree", "skipped"]);
    repo
}

type Act = fn(&Repo);

/// What is done to the tree, and the paths that are then named.
const CHANGES: [(&str, Act, &[&str]); 21] = [
    ("clean to dirty", |r| r.write("clean", "two\n"), &["clean"]),
    ("a nested one", |r| r.write("src/deep/clean", "two\n"), &["src/deep/clean"]),
    ("dirty again, of the same length", |r| r.write("dirty", "six\n"), &["dirty"]),
    ("dirty and clean again", |r| r.write("dirty", "one\n"), &["dirty"]),
    ("staged, edited again", |r| r.write("staged", "six\n"), &["staged"]),
    ("only what is staged", |r| r.git(&["add", "both"]), &["both"]),
    ("staged without another content", |r| r.git(&["add", "loose"]), &["loose"]),
    ("unstaged", |r| r.git(&["reset", "-q", "both"]), &["both"]),
    ("new untracked", |r| r.write("more", ""), &["more"]),
    ("untracked, edited", |r| r.write("loose", "y\n"), &["loose"]),
    ("a second file in an untracked folder", |r| r.write("new/b", ""), &["new/b"]),
    ("in an untracked folder, edited", |r| r.write("new/a", "y\n"), &["new/a"]),
    ("deleted", |r| fs::remove_file(r.root().join("clean")).unwrap(), &["clean"]),
    ("deleted untracked", |r| fs::remove_file(r.root().join("new/a")).unwrap(), &["new/a"]),
    ("executable", |r| set_mode(&r.root().join("clean"), 0o755), &["clean"]),
    ("executable untracked", |r| set_mode(&r.root().join("loose"), 0o755), &["loose"]),
    (
        "a link elsewhere",
        |r| {
            fs::remove_file(r.root().join("link")).unwrap();
            symlink("dirty", r.root().join("link")).unwrap();
        },
        &["link"],
    ),
    (
        "a link in place of a file with the same words",
        |r| {
            r.write("loose", "clean");
            fs::remove_file(r.root().join("loose")).unwrap();
            symlink("x\n", r.root().join("loose")).unwrap();
        },
        &["loose"],
    ),
    ("said to be unchanged", |r| r.write("hidden", "two\n"), &["hidden"]),
    ("said to be left out", |r| r.write("skipped", "two\n"), &["skipped"]),
    ("all put away", |r| r.git(&["stash", "-q"]), &["both", "dirty", "staged"]),
];

#[test]
fn every_change_of_contents_is_seen_and_named() {
    for (what, act, paths) in CHANGES {
        let repo = full();
        let (before, after) = around(&repo.root(), || act(&repo));
        assert_ne!(before.hash, after.hash, "{what}");
        assert_eq!(nobodys(&before, &after), changed(paths), "{what}");
    }
}

#[test]
fn what_is_no_change() {
    let acts: [(&str, Act); 9] = [
        ("nothing", |_| {}),
        ("an ignored file", |r| r.write("x.log", "x")),
        ("an ignored folder", |r| write(&r.root().join("build/x"), "x")),
        ("put away and taken back", |r| {
            r.git(&["stash", "-q"]);
            r.git(&["stash", "pop", "-q", "--index"]);
        }),
        ("another stash", |r| {
            r.git(&["stash", "-q"]);
            r.git(&["stash", "apply", "-q", "--index"]);
        }),
        ("written again as it is", |r| r.write("dirty", "two\n")),
        ("touched", |r| r.touch("clean")),
        ("an index written anew", |r| {
            r.touch("clean");
            r.git(&["status"]);
        }),
        ("an empty folder", |r| fs::create_dir(r.root().join("empty")).unwrap()),
    ];
    for (what, act) in acts {
        let repo = full();
        let (before, after) = around(&repo.root(), || act(&repo));
        assert_eq!(nobodys(&before, &after), Drift::Same, "{what}");
    }
}

#[test]
fn a_file_with_a_filter_is_seen_where_it_was_touched() {
    let repo = Repo::with_filter();
    let at = |time| {
        let index = fs::File::options().write(true).open(repo.root().join(".git/index")).unwrap();
        index.set_modified(time).unwrap();
    };
    // git looks at the content of all files at first, and of none after it wrote its index again.
    at(std::time::UNIX_EPOCH + Duration::from_secs(1));
    let refreshed = around(&repo.root(), || {
        std::thread::sleep(Duration::from_millis(1_100));
        at(std::time::SystemTime::now());
    });
    assert_eq!(nobodys(&refreshed.0, &refreshed.1), Drift::Same);
    let (before, after) = around(&repo.root(), || {
        repo.write("a.bin", "CONTENT\n");
    });
    assert_eq!(nobodys(&before, &after), changed(&["a.bin"]));
    let (before, after) = around(&repo.root(), || {
        repo.git(&["update-index", "--assume-unchanged", "b.bin"]);
        repo.write("b.bin", "longer content\n");
    });
    assert_eq!(nobodys(&before, &after), changed(&["b.bin"]));
}

#[test]
fn a_head_that_moved_is_named() {
    let repo = full();
    repo.git(&["add", "-A"]);
    let (before, after) = around(&repo.root(), || repo.git(&["commit", "-q", "-m", "second"]));
    let short = |s: &TreeState| s.head.as_ref().unwrap()[..7].to_owned();
    let moved = vec![format!("commit {}..{}", short(&before), short(&after))];
    assert_eq!(nobodys(&before, &after), Drift::Changed { moved, paths: Vec::new(), more: true });

    let repo = full();
    let (before, after) = around(&repo.root(), || repo.git(&["checkout", "-q", "same"]));
    assert_eq!(before.head, after.head);
    let moved = vec!["branch main..same".to_owned()];
    assert_eq!(nobodys(&before, &after), Drift::Changed { moved, paths: Vec::new(), more: false });
    let (_, detached) = around(&repo.root(), || repo.git(&["checkout", "-q", "--detach"]));
    assert_eq!((detached.branch.as_ref(), detached.head.as_ref()), (None, after.head.as_ref()));
    assert_ne!(after.hash, detached.hash);

    // An empty commit changes no file.
    let (before, after) =
        around(&repo.root(), || repo.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]));
    assert!(matches!(nobodys(&before, &after), Drift::Changed { moved, .. } if moved.len() == 1));
}

#[test]
fn a_repository_without_a_commit() {
    let repo = Repo::new();
    repo.write("f", "x");
    let (before, after) = around(&repo.root(), || repo.write("f", "y"));
    assert_eq!(
        (before.method, before.head.as_deref(), before.branch.as_deref()),
        (Method::Git, None, Some("main"))
    );
    assert_eq!(nobodys(&before, &after), changed(&["f"]));
    let want =
        format!("branch main before its first commit, 0 files changed, 1 untracked, tree {}", after.hash);
    assert_eq!(after.to_string(), want);
    repo.commit("first");
    assert_ne!(see(&repo.root()).hash, after.hash);
}

#[test]
fn the_workers_own_edits() {
    let repo = full();
    let own = |paths: &[&str]| paths.iter().map(|p| (*p).to_owned()).collect::<BTreeSet<_>>();
    let absolute = repo.root().join("new.txt");
    let (before, after) = around(&repo.root(), || write(&absolute, "x"));
    for path in [absolute.to_str().unwrap(), "new.txt", "./new.txt", "src/../new.txt"] {
        assert_eq!(drift(&before, &after, &own(&[path, "elsewhere"])), Drift::Own, "{path}");
    }
    assert_eq!(drift(&before, &after, &own(&["clean"])), changed(&["new.txt"]));
    let (_, both) = around(&repo.root(), || repo.write("clean", "y"));
    assert_eq!(drift(&before, &both, &own(&["new.txt"])), changed(&["clean"]));
}

#[test]
fn one_line_for_a_packet() {
    let repo = full();
    let state = see(&repo.root());
    let head = state.head.clone().unwrap();
    let want = format!("branch main at {}, 3 files changed, 2 untracked, tree {}", &head[..7], state.hash);
    assert_eq!(state.to_string(), want);
    let plain = tempfile::tempdir().unwrap();
    fs::write(plain.path().join("f"), "x").unwrap();
    let state = see(plain.path());
    assert_eq!(state.to_string(), format!("1 file or folder, tree {}", state.hash));
    assert_eq!((state.method, state.head, state.branch), (Method::Files, None, None));
}

#[test]
fn submodules_count_and_other_trees_do_not() {
    let far = Repo::with_commit();
    let repo = full();
    repo.git(&["submodule", "add", "-q", far.root().to_str().unwrap(), "lib/sub"]);
    repo.git(&["commit", "-q", "-m", "sub"]);
    let sub = repo.root().join("lib/sub");
    let (before, after) = around(&repo.root(), || fs::write(sub.join("f"), "two\n").unwrap());
    assert_eq!(nobodys(&before, &after), changed(&["lib/sub/f"]));
    let (before, after) =
        around(&repo.root(), || assert!(repo.git_in(&sub, &["commit", "-q", "-a", "-m", "x"])));
    assert_eq!(nobodys(&before, &after), changed(&["lib/sub", "lib/sub/f"]));
    // Another task's linked tree, and a clone, in folders that are not ignored.
    let (before, after) = around(&repo.root(), || {
        repo.git(&["worktree", "add", "-q", ".trees/other", "same"]);
        repo.git(&["clone", "-q", far.root().to_str().unwrap(), "clone"]);
        fs::write(repo.root().join(".trees/other/clean"), "two\n").unwrap();
    });
    assert_eq!(nobodys(&before, &after), Drift::Same);
    let other = repo.root().join(".trees/other");
    let (before, after) = around(&other, || fs::write(other.join("clean"), "six\n").unwrap());
    assert_eq!((before.branch.as_deref(), nobodys(&before, &after)), (Some("same"), changed(&["clean"])));
}

#[test]
fn only_the_folder_asked_about_counts() {
    let repo = full();
    let at = repo.root().join("src");
    let (before, after) = around(&at, || repo.write("clean", "two\n"));
    assert_eq!((before.below.as_str(), nobodys(&before, &after)), ("src", Drift::Same));
    let (before, after) = around(&at, || repo.write("src/deep/clean", "two\n"));
    assert_eq!(nobodys(&before, &after), changed(&["src/deep/clean"]));
    for own in ["deep/clean", "src/deep/clean", at.join("deep/clean").to_str().unwrap()] {
        assert_eq!(drift(&before, &after, &BTreeSet::from([own.to_owned()])), Drift::Own, "{own}");
    }
    // The folder may be reached through a link, as the worker reached it.
    let link = repo.at("link");
    symlink(&at, &link).unwrap();
    let (before, after) = around(&link, || repo.write("src/deep/clean", "six\n"));
    assert_eq!(after.asked, link.to_str().unwrap());
    let own = link.join("deep/clean").to_str().unwrap().to_owned();
    assert_eq!(drift(&before, &after, &BTreeSet::from([own])), Drift::Own);
    // A folder that the repository ignores is read file by file.
    let scratch = repo.root().join("build/t_1");
    write(&scratch.join("f"), "x");
    let (before, after) = around(&scratch, || write(&scratch.join("f"), "y"));
    assert_eq!((before.method, nobodys(&before, &after)), (Method::Files, changed(&["f"])));
}

/// What is done, and the paths that are then named.
type Case<'a> = (&'a str, &'a dyn Fn(), &'a [&'a str]);

#[test]
fn a_plain_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    write(&root.join("f"), "one");
    write(&root.join("a/b/c"), "one");
    symlink("f", root.join("link")).unwrap();
    symlink("..", root.join("a/loop")).unwrap();
    mkfifo(&root.join("pipe"));
    let written = fs::metadata(root.join("f")).unwrap().modified().unwrap();
    let acts: [Case<'_>; 8] = [
        ("nested", &|| write(&root.join("a/b/c"), "two"), &["a/b/c"]),
        (
            "the same length at the same time",
            &|| {
                write(&root.join("f"), "two");
                let file = fs::File::options().write(true).open(root.join("f")).unwrap();
                file.set_modified(written).unwrap();
            },
            &["f"],
        ),
        ("new", &|| write(&root.join("a/new/x"), ""), &["a/new", "a/new/x"]),
        ("gone", &|| fs::remove_file(root.join("a/new/x")).unwrap(), &["a/new/x"]),
        ("a folder gone", &|| fs::remove_dir(root.join("a/new")).unwrap(), &["a/new"]),
        ("executable", &|| set_mode(&root.join("f"), 0o755), &["f"]),
        ("a pipe gone", &|| fs::remove_file(root.join("pipe")).unwrap(), &["pipe"]),
        ("a link gone", &|| fs::remove_file(root.join("link")).unwrap(), &["link"]),
    ];
    for (what, act, paths) in acts {
        let (before, after) = around(&root, act);
        assert_eq!((before.method, nobodys(&before, &after)), (Method::Files, changed(paths)), "{what}");
    }
    let (before, after) = around(&root, || write(&root.join("made/by/me"), ""));
    assert_eq!(drift(&before, &after, &BTreeSet::from(["made/by/me".to_owned()])), Drift::Own);
}

#[test]
fn a_repository_in_a_plain_folder() {
    let repo = full();
    let scratch = repo.0.path().canonicalize().unwrap();
    let (before, after) = around(&scratch, || {
        repo.git(&["status"]);
        repo.git(&["gc", "-q"]);
        repo.write("x.log", "ignored");
    });
    assert_eq!((before.method, nobodys(&before, &after)), (Method::Files, Drift::Same));
    let (before, after) = around(&scratch, || repo.write("dirty", "six\n"));
    assert_eq!(nobodys(&before, &after), changed(&["r/dirty"]));
    let (before, after) = around(&scratch, || repo.git(&["checkout", "-q", "same"]));
    assert_eq!(nobodys(&before, &after), changed(&["r"]));
    fs::write(repo.root().join(".git/index"), "damaged").unwrap();
    let why = state(&scratch, LIMIT).unwrap_err().to_string();
    assert!(why.starts_with("in r: git failed"), "{why}");
}

#[test]
fn what_is_left_out_changes_nothing() {
    let repo = full();
    let scratch = repo.at("scratch");
    for root in [repo.root(), scratch] {
        write(&root.join("board.db"), "one");
        write(&root.join("logs/t_1.log"), "one");
        let root = root.canonicalize().unwrap();
        let out = ["board.db", "board.db-wal", "logs"].map(|name| root.join(name));
        let before = super::state(&root, &out, LIMIT).unwrap();
        for name in ["board.db", "board.db-wal", "logs/t_1.log", "logs/t_2.log"] {
            write(&root.join(name), "two");
        }
        assert_eq!(super::state(&root, &out, LIMIT).unwrap(), before, "{}", root.display());
        write(&root.join("board.db2"), "one");
        let after = super::state(&root, &out, LIMIT).unwrap();
        assert_eq!(nobodys(&before, &after), changed(&["board.db2"]));
    }
}

#[test]
fn what_cannot_be_known() {
    let repo = full();
    let none = state_with(Err("git is not installed".into()), (&repo.root(), &[]), LIMIT, BOUNDS);
    assert_eq!(none.unwrap_err().to_string(), "git is not installed");
    let none =
        state_with(Ok("/nowhere/git".into()), (&repo.root(), &[]), LIMIT, BOUNDS).unwrap_err().to_string();
    assert!(none.starts_with("git cannot be started"), "{none}");
    assert_eq!(state(&repo.at("absent"), LIMIT).unwrap_err().to_string(), "no such folder");
    assert_eq!(state(&repo.root().join("clean"), LIMIT).unwrap_err().to_string(), "not a folder");
    let bare = repo.at("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(state(&bare, LIMIT).unwrap_err().to_string().contains("bare"));

    let git = repo.root().join(".git");
    let why = || state(&repo.root(), LIMIT).unwrap_err().to_string();
    let branch = fs::read(git.join("refs/heads/main")).unwrap();
    fs::write(git.join("refs/heads/main"), "").unwrap();
    assert!(why().contains("head cannot be read") || why().starts_with("git failed"), "{}", why());
    fs::write(git.join("refs/heads/main"), branch).unwrap();
    see(&repo.root());
    fs::write(git.join("index"), "damaged").unwrap();
    assert!(why().starts_with("git failed (exit 128)"), "{}", why());
    if !rustix::process::geteuid().is_root() {
        set_mode(&git, 0o000);
        assert!(state(&repo.root(), LIMIT).is_err());
        set_mode(&git, 0o755);
    }
    // A repository that was broken is not read as a plain folder.
    fs::remove_file(git.join("HEAD")).unwrap();
    assert_eq!(why(), "not a git repository");
    fs::remove_dir_all(&git).unwrap();
    fs::write(&git, "something else").unwrap();
    assert_eq!(why(), "its .git file cannot be understood");
    fs::remove_file(&git).unwrap();
    mkfifo(&git);
    assert!(why().contains("not a file"), "{}", why());
}

#[test]
fn another_method_is_unknown() {
    let repo = full();
    let before = see(&repo.root());
    fs::remove_dir_all(repo.root().join(".git")).unwrap();
    let after = see(&repo.root());
    let want = "the tree was read by git before and by files now";
    assert_eq!(nobodys(&before, &after), Drift::Unknown(want.into()));
}

#[test]
fn another_users_repository_is_unknown() {
    let repo = full();
    // Only root can give a folder away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(repo.root().join(".git"), Some(12345), None).unwrap();
        assert_eq!(state(&repo.root(), LIMIT).unwrap_err().to_string(), "another user's repository");
    }
}

#[test]
fn a_git_that_hangs_is_unknown() {
    let repo = full();
    let program = stand_in(&repo, "exec sleep 600");
    let why = state_with(Ok(program), (&repo.root(), &[]), Duration::from_millis(300), BOUNDS)
        .unwrap_err()
        .to_string();
    assert_eq!(why, "git takes too long");
    // The real one waits for a pipe that is named as a list of what to ignore.
    fs::remove_file(repo.root().join(".gitignore")).unwrap();
    mkfifo(&repo.root().join(".gitignore"));
    assert_eq!(
        state(&repo.root(), Duration::from_millis(600)).unwrap_err().to_string(),
        "git takes too long"
    );
}

#[test]
fn no_time_is_left() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "x").unwrap();
    assert_eq!(state(folder.path(), Duration::ZERO).unwrap_err().to_string(), file::SLOW);
}

#[test]
fn nothing_a_repository_names_is_run() {
    let repo = full();
    let (trap, mark) = repo.trap();
    repo.write(".gitattributes", "* filter=x diff=x\n");
    repo.write("clean", "changed\n");
    repo.set_traps(&trap);
    let before = see(&repo.root());
    assert!(!mark.exists());
    repo.touch("src/deep/clean");
    assert!(!mark.exists());
    assert_eq!(see(&repo.root()).head, before.head);
    assert!(!mark.exists());
    repo.git_in(&repo.root(), &["status"]);
    assert!(mark.exists(), "the trap catches nothing");
}

#[test]
fn nothing_is_written() {
    let repo = full();
    repo.touch("clean");
    let stamp = |p: &&str| {
        let meta = fs::metadata(repo.root().join(p)).unwrap();
        (meta.modified().unwrap(), meta.len())
    };
    let files = [".git", ".git/index", ".git/HEAD", ".git/config", ".git/objects", "."];
    let before: Vec<_> = files.iter().map(stamp).collect();
    see(&repo.root());
    assert_eq!(before, files.iter().map(stamp).collect::<Vec<_>>());
}

#[test]
fn pipes_and_folders_where_files_were() {
    let repo = full();
    let root = repo.root();
    mkfifo(&root.join("pipe"));
    let (before, after) = around(&root, || {
        fs::remove_file(root.join("clean")).unwrap();
        mkfifo(&root.join("clean"));
        fs::remove_file(root.join("dirty")).unwrap();
        write(&root.join("dirty/within"), "x");
    });
    assert_eq!(nobodys(&before, &after), changed(&["clean", "dirty", "dirty/within"]));
    let kind = |p: &str| after.paths.iter().find(|s| s.path == p).map(|s| s.kind);
    assert_eq!((kind("clean"), kind("dirty")), (Some(Kind::Other), Some(Kind::Folder)));
    // A folder on the way is a link to another one now: what lies there is not in the tree.
    let away = repo.at("away");
    write(&away.join("clean"), "secret");
    fs::remove_dir_all(root.join("src/deep")).unwrap();
    symlink(&away, root.join("src/deep")).unwrap();
    let (before, after) = around(&root, || write(&away.join("clean"), "other"));
    assert_eq!(nobodys(&before, &after), Drift::Same);
    let kind = |p: &str| after.paths.iter().find(|s| s.path == p).map(|s| s.kind);
    assert_eq!((kind("src/deep/clean"), kind("src/deep")), (Some(Kind::Gone), Some(Kind::Link)));
}

#[test]
fn names_that_are_no_text() {
    let repo = full();
    let odd = |n: &[u8]| repo.root().join(OsStr::from_bytes(n));
    fs::write(odd(b"a\xff"), "x").unwrap();
    fs::write(odd(b"a\xfe"), "x").unwrap();
    fs::write(odd(b"line\nend"), "x").unwrap();
    let (before, after) = around(&repo.root(), || fs::write(odd(b"a\xfe"), "y").unwrap());
    assert_eq!(nobodys(&before, &after), changed(&["a\u{fffd}"]));
    let own = BTreeSet::from(["a\u{fffd}".to_owned()]);
    assert_eq!(drift(&before, &after, &own), changed(&["a\u{fffd}"]), "it may be the other one");
    let (before, after) = around(&repo.root(), || fs::write(odd(b"line\nend"), "y").unwrap());
    assert_eq!(nobodys(&before, &after).to_string(), "changed: line end");
    let plain = tempfile::tempdir().unwrap();
    fs::write(plain.path().join(OsStr::from_bytes(b"a\xff")), "x").unwrap();
    see(plain.path());
}

#[test]
fn bounds() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let with = |bounds: Bounds| state_with(crate::git(), (root, &[]), LIMIT, bounds);
    let small = Bounds { file: 100, total: 1_000, entries: 20, depth: 3, repositories: 1 };
    // Of a large file the times tell, and it counts for nothing in the sum.
    let huge = fs::File::create(root.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let before = with(small).unwrap();
    assert_eq!(with(small).unwrap(), before);
    huge.set_len((1 << 40) + 1).unwrap();
    assert_eq!(nobodys(&before, &with(small).unwrap()), changed(&["huge"]));
    for n in 0..10 {
        fs::write(root.join(format!("f{n}")), [b'x'; 99]).unwrap();
    }
    with(small).unwrap();
    fs::write(root.join("last"), [b'x'; 99]).unwrap();
    assert_eq!(with(Bounds { total: 1 << 20, ..small }).unwrap().changed_count, 12);
    assert!(with(small).unwrap_err().to_string().ends_with("MiB of files to compare"));
    let few = Bounds { total: 1 << 20, entries: 11, ..small };
    assert_eq!(with(few).unwrap_err().to_string(), "more than 11 files to compare");
    write(&root.join("1/2/3/f"), "");
    let deep = Bounds { total: 1 << 20, ..small };
    with(deep).unwrap();
    write(&root.join("1/2/3/4/f"), "");
    assert_eq!(with(deep).unwrap_err().to_string(), "more than 3 folders within each other");
    fs::remove_dir_all(root.join("1")).unwrap();
    for name in ["one", "two"] {
        assert!(Command::new("git").args(["init", "-q"]).arg(root.join(name)).status().unwrap().success());
    }
    assert!(with(deep).unwrap_err().to_string().ends_with("more than 1 repositories within the tree"));
}

#[test]
fn more_paths_than_are_kept() {
    let repo = full();
    for n in 0..300 {
        repo.write(&format!("a file with a rather long name {n:03}"), "x");
    }
    let own = |p: &str| BTreeSet::from([p.to_owned()]);
    let (before, after) = around(&repo.root(), || repo.write("zzz", ""));
    assert!(!before.is_all && !after.is_all && before.paths.len() > 15, "{}", before.paths.len());
    assert_eq!((before.changed_count, before.untracked_count), (3, 302));
    // That it is the worker's own says nothing of the paths that were not kept.
    for (own, named) in [(own("zzz"), vec![]), (own("else"), vec!["zzz".to_owned()])] {
        assert_eq!(
            drift(&before, &after, &own),
            Drift::Changed { moved: Vec::new(), paths: named, more: true }
        );
    }
    // What is gone is kept first, whenever it went.
    let (before, after) = around(&repo.root(), || fs::remove_file(repo.root().join("clean")).unwrap());
    assert_eq!(
        nobodys(&before, &after),
        Drift::Changed { moved: Vec::new(), paths: vec!["clean".into()], more: true }
    );
}

#[test]
fn a_long_way_to_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = folder.path().to_owned();
    for _ in 0..12 {
        deep.push("n".repeat(200));
        fs::create_dir(&deep).unwrap();
    }
    assert_eq!(state(&deep, LIMIT).unwrap_err().to_string(), "its path is too long");
}

#[test]
fn files_come_and_go_while_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let top = folder(dir.path()).unwrap();
    let mut reader = Reader::new(Instant::now() + LIMIT, BOUNDS);
    fs::write(dir.path().join("f"), "x").unwrap();
    let stat = statat(&top, "f", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let seen = reader.seen(&top, b"f", &stat, b"f").unwrap();
    assert_eq!((seen.kind, seen.at / 1_000), (Kind::File, stat.st_ctime));
    fs::remove_file(dir.path().join("f")).unwrap();
    assert_eq!(reader.seen(&top, b"f", &stat, b"f").unwrap().kind, Kind::Gone);
    mkfifo(&dir.path().join("f"));
    assert_eq!(reader.seen(&top, b"f", &stat, b"f").unwrap().kind, Kind::Other);
    fs::remove_file(dir.path().join("f")).unwrap();
    symlink("/etc/passwd", dir.path().join("f")).unwrap();
    assert_eq!(reader.seen(&top, b"f", &stat, b"f").unwrap().kind, Kind::Gone);
    assert_eq!(reader.below(&top, b"no/such/path").unwrap().kind, Kind::Gone);
}

#[test]
fn a_tree_that_changes_while_it_is_read_is_still_read() {
    let (repo, plain) = (full(), tempfile::tempdir().unwrap());
    for n in 0..20 {
        fs::write(plain.path().join(format!("{n}")), "x").unwrap();
    }
    let is_done = AtomicBool::new(false);
    let come_and_go = |root: &Path| {
        while !is_done.load(Ordering::Relaxed) {
            write(&root.join("come/and/go"), "x");
            fs::write(root.join("zz"), "x").unwrap();
            fs::remove_file(root.join("zz")).unwrap();
            fs::remove_dir_all(root.join("come")).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| come_and_go(&repo.root()));
        scope.spawn(|| come_and_go(plain.path()));
        let looks = (0..300).map(|_| plain.path()).chain([repo.0.path(); 5]);
        let why: Vec<_> = looks.filter_map(|p| state(p, LIMIT).err()).collect();
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(why, Vec::<Reason>::new());
    });
}

#[test]
fn other_forms_of_repository() {
    for args in [
        &["init", "-q", "-b", "main", "--object-format=sha256"][..],
        &["init", "-q", "-b", "main", "--ref-format=reftable"],
        &["init", "-q", "-b", "main"],
    ] {
        let repo = Repo(tempfile::tempdir().unwrap());
        fs::create_dir(repo.root()).unwrap();
        // A git that knows no such form has none to be read.
        if !repo.git_in(&repo.root(), args) {
            continue;
        }
        for name in ["f", "in/f", "out/f"] {
            write(&repo.root().join(name), "one\n");
        }
        repo.commit("first");
        repo.git(&["update-index", "--split-index"]);
        repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
        let (before, after) = around(&repo.root(), || repo.write("in/f", "two\n"));
        assert_eq!((before.changed_count, before.untracked_count), (0, 0), "{args:?}");
        assert_eq!(nobodys(&before, &after), changed(&["in/f"]), "{args:?}");
        let (before, after) = around(&repo.root(), || write(&repo.root().join("out/f"), "two\n"));
        assert_eq!(nobodys(&before, &after), changed(&["out/f"]), "{args:?}");
    }
    let repo = full();
    repo.git(&["config", "core.autocrlf", "true"]);
    fs::remove_file(repo.root().join("clean")).unwrap();
    repo.git(&["checkout", "-q", "clean"]);
    assert_eq!(fs::read(repo.root().join("clean")).unwrap(), b"one\r\n");
    assert_eq!(see(&repo.root()).changed_count, 3);
    // Of the same length at the same time: no less seen for how little the repository asks to compare.
    let repo = full();
    repo.git(&["config", "core.checkStat", "minimal"]);
    repo.touch("clean");
    repo.git(&["status"]);
    let (before, after) = around(&repo.root(), || {
        // Another file in its place, for the time of an inode is compared by the second.
        repo.write("build", "two\n");
        repo.touch("build");
        fs::rename(repo.root().join("build"), repo.root().join("clean")).unwrap();
    });
    assert_eq!(nobodys(&before, &after), changed(&["clean"]));
}

/// One change of a small tree.
#[derive(Debug, Clone)]
enum Step {
    Add(u8),
    Edit(u8),
    Delete(u8),
    Execute(u8),
}

const NAMES: [&str; 8] = ["a", "b", "c/d", "c/e", "c/f/g", "h i", "ü", "c/f/.j"];

fn name(n: u8) -> &'static str {
    NAMES[usize::from(n) % NAMES.len()]
}

impl Step {
    /// Carries it out; whether that changed anything.
    fn take(&self, root: &Path, count: usize) -> bool {
        let (Step::Add(n) | Step::Edit(n) | Step::Delete(n) | Step::Execute(n)) = self;
        let path = root.join(name(*n));
        if path.exists() == matches!(self, Step::Add(_)) {
            return false;
        }
        match self {
            // Always of one length, and never the same.
            Step::Add(_) | Step::Edit(_) => write(&path, &format!("{count:04}")),
            Step::Delete(_) => fs::remove_file(&path).unwrap(),
            Step::Execute(_) => {
                let mode = path.metadata().unwrap().permissions().mode();
                set_mode(&path, mode ^ 0o100);
            }
        }
        true
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        any::<u8>().prop_map(Step::Add),
        any::<u8>().prop_map(Step::Edit),
        any::<u8>().prop_map(Step::Delete),
        any::<u8>().prop_map(Step::Execute),
    ];
    proptest::collection::vec(one, 1..8)
}

/// Every step from a tree with half of the names is seen, and named alone.
fn each_is_seen(root: &Path, steps: &[Step]) {
    for (count, step) in steps.iter().enumerate() {
        let (Step::Add(n) | Step::Edit(n) | Step::Delete(n) | Step::Execute(n)) = step;
        let before = see(root);
        let did = step.take(root, count);
        let after = see(root);
        assert_eq!(before.hash == after.hash, !did, "{step:?}");
        if did {
            let own = BTreeSet::from([name(*n).to_owned()]);
            assert_eq!(drift(&before, &after, &own), Drift::Own, "{step:?}");
            let is_named = |p: &String| p == name(*n) || name(*n).starts_with(&format!("{p}/"));
            assert!(
                matches!(nobodys(&before, &after), Drift::Changed { paths, more: false, .. } if paths.iter().all(is_named))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_change_of_a_plain_folder_is_seen(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        for n in NAMES.iter().step_by(2) {
            write(&folder.path().join(n), "at first");
        }
        each_is_seen(folder.path(), &steps);
    }
}

proptest! {
    // Each step takes two looks through git.
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_change_of_a_repository_is_seen(steps in steps()) {
        let repo = Repo::new();
        for n in NAMES.iter().step_by(2) {
            write(&repo.root().join(n), "at first");
        }
        repo.commit("first");
        each_is_seen(&repo.root(), &steps);
    }
}

/// Prints what one look takes; read by eye (`--nocapture`).
#[test]
fn one_look_is_quick() {
    let repo = full();
    for n in 0..500 {
        repo.write(&format!("t{n}"), "x");
    }
    for (what, at) in
        [("500 new files in a repository", repo.root()), ("a plain folder with that in it", repo.at(""))]
    {
        let began = Instant::now();
        for _ in 0..5 {
            see(&at);
        }
        println!("{what}: {:?}", began.elapsed() / 5);
    }
}
