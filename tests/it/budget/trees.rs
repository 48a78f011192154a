//! Which files really changed, against a task's scope: real git, real edits, hostile checkouts, hung ones and huge ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SCOPE, git, verdicts, within, write};
use crate::support::TestBoard;

/// A repository with a package, and a linked working tree on a branch of its own.
fn tree(b: &TestBoard) -> PathBuf {
    let (repo, tree) = (b.path().join("repo"), b.path().join("wt"));
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    for file in ["src/parse/a.rs", "src/parse/b.rs", "src/cli/c.rs", "docs/d.md", "crates/date/src/lib.rs"] {
        write(&repo, file, "one\n");
    }
    write(&repo, "crates/date/Cargo.toml", "[package]\nname = \"date-core\"\n");
    write(&repo, ".gitignore", "target/\n");
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-qm", "base"]);
    git(&repo, &["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "wt/parser"]);
    tree
}

fn works_in(b: &TestBoard, id: &str, folder: &Path) {
    b.open()
        .execute(
            "UPDATE tasks SET workspace_kind = 'worktree', workspace_path = ?1 WHERE id = ?2",
            (folder.to_str().unwrap(), id),
        )
        .unwrap();
}

fn out_of_scope(board: &Value) -> Vec<&str> {
    let files = &board["overview"]["tasks"][0]["files"]["out_of_scope"];
    files.as_array().unwrap_or_else(|| panic!("{board}")).iter().map(|f| f.as_str().unwrap()).collect()
}

#[test]
fn exactly_the_files_outside_the_scope_are_named() {
    let b = TestBoard::new();
    let tree = tree(&b);
    b.runs("t_0000000a", SCOPE, 60);
    works_in(&b, "t_0000000a", &tree);
    assert_eq!(verdicts(&b.checked(&[])), [""; 0], "nothing changed yet");

    // Committed: one file within, one renamed out of it, one deleted outside.
    write(&tree, "src/parse/a.rs", "two\n");
    git(&tree, &["mv", "src/parse/b.rs", "docs/b.rs"]);
    git(&tree, &["rm", "-q", "docs/d.md"]);
    git(&tree, &["commit", "-qam", "work"]);
    // Staged, changed, untracked and ignored.
    write(&tree, "src/cli/c.rs", "two\n");
    git(&tree, &["add", "-A"]);
    write(&tree, "crates/date/src/lib.rs", "two\n");
    write(&tree, "notes/deep/n.txt", "n\n");
    write(&tree, "target/x", "ignored\n");
    // Done and undone.
    write(&tree, ".gitignore", "target/\nmore\n");
    git(&tree, &["commit", "-qm", "ignore", ".gitignore"]);
    write(&tree, ".gitignore", "target/\n");

    let board = b.checked(&[]);
    assert_eq!(out_of_scope(&board), ["docs/b.rs", "docs/d.md", "notes/deep/n.txt", "src/cli/c.rs"]);
    assert_eq!(board["overview"]["tasks"][0]["files"]["count"], json!(7));
    let evidence = board["overview"]["tasks"][0]["verdicts"][0]["evidence"].to_string();
    for line in [
        "docs/b.rs (added): not in scope",
        "docs/d.md (deleted): not in scope",
        "src/cli/c.rs (modified): out of scope by src/cli/**",
        "notes/deep/n.txt (untracked): not in scope",
    ] {
        assert!(evidence.contains(line), "{evidence}");
    }
    let draft = &board["overview"]["tasks"][0]["draft"];
    let parts: Vec<_> = draft["decision"]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["in_scope"][0].as_str().unwrap())
        .collect();
    assert_eq!(parts, ["docs/**", "notes/**", "src/cli/**"]);
    // The lines of the draft are run as they stand.
    for line in draft["commands"].as_array().unwrap() {
        let mut shell = Command::new("sh");
        let ours = Path::new(crate::support::program("board")).parent().unwrap();
        shell.args(["-c", line.as_str().unwrap()]).env_clear().env("HERMES_HOME", b.path());
        shell.env("HOME", b.path()).env("PATH", format!("{}:/usr/bin:/bin", ours.display()));
        crate::support::ran(&mut shell).ok();
    }
    assert_eq!(b.value("SELECT count(*) FROM tasks WHERE body LIKE '%## Scope%- In scope: `docs/**`%'"), "1");
}

#[test]
fn a_checkout_that_names_programs_runs_none_of_them() {
    let b = TestBoard::new();
    let tree = tree(&b);
    let (repo, mark) = (b.path().join("repo"), b.path().join("it-ran"));
    let script = b.path().join("script.sh");
    crate::support::executable(&script, format!("#!/bin/sh\ntouch {}\nexec cat\n", mark.display()));
    let run = script.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", run),
        ("core.hooksPath", b.path().to_str().unwrap()),
        ("diff.external", run),
        ("diff.x.textconv", run),
        ("diff.x.command", run),
        ("filter.x.clean", run),
        ("filter.x.smudge", run),
        ("filter.x.process", run),
        ("core.pager", run),
        ("core.sshCommand", run),
        ("core.editor", run),
        ("credential.helper", run),
        ("gpg.program", run),
        ("alias.diff", &format!("!{run}")),
    ] {
        git(&repo, &["config", key, value]);
    }
    for hook in ["post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"] {
        std::fs::create_dir_all(repo.join(".git/hooks")).unwrap();
        std::fs::copy(&script, repo.join(".git/hooks").join(hook)).unwrap();
    }
    write(&tree, ".gitattributes", "* filter=x diff=x\n");
    write(&tree, "src/parse/a.rs", "two\n");
    write(&tree, "src/cli/c.rs", "two\n");
    let _ = std::fs::remove_file(&mark);
    b.runs("t_0000000a", SCOPE, 60);
    works_in(&b, "t_0000000a", &tree);
    let board = b.checked(&[]);
    assert_eq!(out_of_scope(&board), [".gitattributes", "src/cli/c.rs"]);
    b.budget(&["--distress"]).ok();
    assert!(!mark.exists(), "something of the repository was run");
    // The trap works: a plain `git status` springs it.
    let _ = Command::new("git").args(["status"]).current_dir(&tree).output().unwrap();
    assert!(mark.exists(), "this test would not see it");
}

#[test]
fn a_hung_git_costs_its_own_task_alone() {
    let mut b = TestBoard::new();
    b.config.push_str("[budget]\ntree_limit = \"1s\"\n");
    let tree = tree(&b);
    write(&tree, "src/cli/c.rs", "two\n");
    let hung = b.path().join("hung");
    std::fs::create_dir(&hung).unwrap();
    git(&hung, &["init", "-q"]);
    write(&hung, "a", "a\n");
    git(&hung, &["add", "-A"]);
    git(&hung, &["commit", "-qm", "a"]);
    // A process that opens the pipe waits until another one writes.
    let ignore = hung.join(".git/info/exclude");
    std::fs::create_dir_all(ignore.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&ignore);
    assert!(Command::new("mkfifo").arg(&ignore).status().unwrap().success());
    b.runs("t_0000000a", SCOPE, 60);
    works_in(&b, "t_0000000a", &hung);
    b.runs("t_0000000b", SCOPE, 60);
    works_in(&b, "t_0000000b", &tree);
    let board = within(Duration::from_secs(20), || b.checked(&[]));
    let task = |id: &str| {
        let all = board["overview"]["tasks"].as_array().unwrap();
        all.iter().find(|t| t["task"] == id).unwrap().clone()
    };
    assert_eq!(task("t_0000000a")["files"], Value::Null);
    assert!(
        task("t_0000000a")["unknown"].to_string().contains("git takes too long"),
        "{}",
        task("t_0000000a")
    );
    assert_eq!(task("t_0000000b")["verdicts"][0]["verdict"], "out of scope");
    assert!(board["unknown"].to_string().contains("t_0000000a"), "and the report says so");
    assert_eq!(board["exit"], json!(0));
}

/// Whose changes they are cannot be told, so nobody is accused: at the same time, one after the other, or asked for alone.
#[test]
fn two_tasks_in_one_tree_are_unknown() {
    let b = TestBoard::new();
    let tree = tree(&b);
    write(&tree, "src/cli/c.rs", "two\n");
    for (id, seconds) in [("t_0000000a", 600), ("t_0000000b", 60)] {
        b.runs(id, SCOPE, seconds);
    }
    works_in(&b, "t_0000000a", &tree);
    let link = b.path().join("link");
    std::os::unix::fs::symlink(&tree, &link).unwrap();
    for folder in [&link, &tree] {
        works_in(&b, "t_0000000b", &folder.join("src"));
        for args in [&[][..], &["--task", "t_0000000a"], &["--task", "t_0000000b"]] {
            let board = b.checked(args);
            assert_eq!(verdicts(&board), [""; 0], "{args:?}");
            assert!(board["unknown"].to_string().contains("was worked on in the same tree since"), "{board}");
        }
    }
    // The first one ended before the second began: what is there now is the second one's, or was the first one's.
    let at = crate::support::now() - 300;
    b.sql(&format!("UPDATE task_runs SET status = 'completed', outcome = 'completed', ended_at = {at} WHERE task_id = 't_0000000a'"));
    b.sql("UPDATE tasks SET status = 'done', current_run_id = NULL, claim_lock = NULL, claim_expires = NULL WHERE id = 't_0000000a'");
    let board = b.checked(&[]);
    let files = |id: &str| {
        let all = board["overview"]["tasks"].as_array().unwrap();
        all.iter().find(|t| t["task"] == id).unwrap()["files"].clone()
    };
    assert_eq!(files("t_0000000a"), Value::Null);
    assert_eq!(files("t_0000000b")["out_of_scope"], json!(["src/cli/c.rs"]));
}

#[test]
fn what_no_program_can_tell_is_said_and_not_judged() {
    let b = TestBoard::new();
    let tree = tree(&b);
    write(&tree, "src/cli/c.rs", "two\n");
    b.runs("t_0000000a", "## Scope\n- In scope: the parser and what belongs to it\n", 60);
    works_in(&b, "t_0000000a", &tree);
    let board = b.checked(&[]);
    assert_eq!(verdicts(&board), [""; 0]);
    assert_eq!(board["overview"]["tasks"][0]["files"]["unclear"], json!(["src/cli/c.rs"]));
    for (folder, why) in
        [("/nowhere/at/all", "no such folder"), (b.path().to_str().unwrap(), "not a git repository")]
    {
        works_in(&b, "t_0000000a", Path::new(folder));
        let said = b.checked(&[])["unknown"].to_string();
        assert!(said.contains(why), "{said}");
    }
}

/// A hundred thousand files are looked at within the time a tree has.
#[cfg(feature = "real")]
#[test]
fn a_hundred_thousand_files_are_looked_at_in_time() {
    let b = TestBoard::new();
    let repo = b.path().join("huge");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    for folder in 0..1_000 {
        let dir = repo.join(format!("src/d{folder}"));
        std::fs::create_dir_all(&dir).unwrap();
        for file in 0..100 {
            std::fs::write(dir.join(format!("f{file}")), "x\n").unwrap();
        }
    }
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-qm", "base"]);
    git(&repo, &["checkout", "-qb", "wt/huge"]);
    write(&repo, "src/d7/f7", "two\n");
    write(&repo, "docs/new.md", "new\n");
    b.runs("t_0000000a", "## Scope\n- In scope: `src/**`\n", 60);
    works_in(&b, "t_0000000a", &repo);
    let board = within(Duration::from_secs(30), || b.checked(&[]));
    assert_eq!(out_of_scope(&board), ["docs/new.md"]);
    assert_eq!(board["overview"]["tasks"][0]["files"]["count"], json!(2));
}
