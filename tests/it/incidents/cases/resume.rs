//! Dead workers and the trees they leave: rows of the acceptance list of the resume protocol (`docs/evidence/resume.md`).
//!
//! In each the pid of the dead worker is another process by now, since else Hermes itself starts the task again within a tick.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Recovered};
use super::super::world::{Act, World};
use crate::health::{aged, recording};
use crate::support::Kept;

/// The minute in which another process changes the tree: after the first look at the dead worker, before the second.
const MEANWHILE: i64 = 1;

fn killed() -> Vec<Value> {
    aged(recording("claude/sigkill_dangling_tool.jsonl"), 5)
}

fn one(w: &mut World, lines: &[Value]) {
    let tree = w.tree("work");
    w.lost(&tree, lines);
}

pub fn all() -> Vec<Incident> {
    let all = vec![
        Incident::new("A1", "a worker was killed in the middle of a tool", "acceptance list", |w| one(w, &killed()), Recovered)
            .after(World::note_packets)
            .short()
            .remark("The next attempt has the task's own text, role and folder, and no claim, pid or session of the old one (A11)."),
        Incident::new("A1d", "a worker ended in an orderly way and never closed its task", "acceptance list", |w| {
            one(w, &aged(recording("claude/tools_errors_then_compact_resume.jsonl"), 5));
        }, Recovered)
        .after(World::note_packets),
        Incident::new("A1e", "a dead worker that nobody reaps", "acceptance list", zombie, Recovered)
            .remark("Hermes knows a zombie too, and goes first."),
        Incident::new("A7", "attempts die as often as they may", "acceptance list", |w| {
            w.home.configure("[heal]\nmax_resumes = 1\n");
            w.act("luna", Act::Dies);
            w.task(json!({}));
        }, Handed("resume-cap"))
        .remark("With `heal.max_resumes = 1`. After an operator's comment the count begins again (A7b)."),
        Incident::new("A8", "a dead worker's tree is edited before its task goes on", "acceptance list", |w| one(w, &killed()), Handed("tree-drift"))
            .each(|w| meanwhile(w, |t| fs::write(t.join("a"), "one\nx\n").unwrap())),
        Incident::new("A8-warn", "the same, where a warning is enough", "acceptance list", |w| {
            w.home.configure("[heal]\ntree_drift = \"warn\"\n");
            one(w, &killed());
        }, Recovered)
        .each(|w| meanwhile(w, |t| fs::write(t.join("a"), "one\nx\n").unwrap()))
        .after(World::note_packets),
        Incident::new("A8b", "what the dead worker had begun to write appears behind it", "acceptance list", own_edit, Recovered)
            .each(|w| meanwhile(w, |t| fs::write(t.join("new.txt"), "x").unwrap()))
            .after(World::note_packets),
        Incident::new("A8c", "four edits that `git status` shows as before, or nobody without git", "acceptance list", hidden, Handed("tree-drift"))
            .each(hidden_edits),
        Incident::new("A9", "trees that cannot be compared: git refuses, and no repository any more", "acceptance list", |w| {
            for name in ["work-1", "work-2"] {
                let tree = w.tree(name);
                w.lost(&tree, &[]);
            }
        }, Recovered)
        .each(|w| {
            if w.minute == MEANWHILE {
                let at = |name: &str| w.home.path().join(name).join(".git");
                fs::write(at("work-1").join("HEAD"), "nonsense\n").unwrap();
                fs::remove_dir_all(at("work-2")).unwrap();
            }
        })
        .after(World::note_packets)
        .remark("What is not known stops nobody; report and packet say it."),
        Incident::new("A17", "a worker was killed after its provider had refused it for good", "acceptance list", |w| {
            one(w, &aged(recording("claude/api_429_exhausted.jsonl"), 5));
        }, Recovered)
        .remark("No death: it is not counted, and its provider is left in peace."),
        Incident::new("A18", "a tool of the dead worker still runs in its tree", "acceptance list", orphan, Recovered).each(|w| {
            if w.minute == 8 {
                w.end_others();
            }
        })
        .after(World::note_packets)
        .remark("It ends in minute 8. Had it not, the task would have gone on after 15 minutes, and the packet would name the process."),
    ];
    all.into_iter().map(|i| i.minutes(30, 1)).collect()
}

/// Another process edits the tree.
fn meanwhile(w: &mut World, edit: fn(&Path)) {
    if w.minute == MEANWHILE {
        edit(&w.home.path().join("work"));
    }
}

fn own_edit(w: &mut World) {
    let mut lines = killed();
    let file = w.home.path().join("work/new.txt");
    let call = lines.iter_mut().find(|l| l["message"]["content"][0]["type"] == "tool_use").unwrap();
    call["message"]["content"][0]["name"] = json!("Write");
    call["message"]["content"][0]["input"] = json!({"file_path": file, "content": "x"});
    one(w, &lines);
}

/// A file that is dirty already, one that is not tracked, a folder that is not, and no repository at all.
fn hidden(w: &mut World) {
    for n in 1..=4 {
        let tree = w.tree(&format!("work-{n}"));
        match n {
            1 => fs::write(tree.join("a"), "x").unwrap(),
            2 => fs::write(tree.join("new"), "x").unwrap(),
            3 => {
                fs::create_dir(tree.join("d")).unwrap();
                fs::write(tree.join("d/1"), "x").unwrap();
            }
            _ => fs::remove_dir_all(tree.join(".git")).unwrap(),
        }
        w.lost(&tree, &[]);
    }
}

fn hidden_edits(w: &mut World) {
    if w.minute == MEANWHILE {
        for (n, file, text) in [(1, "a", "y"), (2, "new", "y"), (3, "d/2", "x"), (4, "src/deep", "2wo\n")] {
            fs::write(w.home.path().join(format!("work-{n}")).join(file), text).unwrap();
        }
    }
}

fn zombie(w: &mut World) {
    let child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let pid = w.keep(Kept(child));
    w.claimed(Some(pid));
    w.age(600);
}

fn orphan(w: &mut World) {
    let tree = w.tree("work");
    let task = w.lost(&tree, &[]);
    let run = w.home.task(&task, "current_run_id").parse().unwrap();
    w.keep(crate::support::worker(&task, run));
}
