//! Agents that are no Hermes workers: a task in a git tree, the log its claim names, and the file with which Claude Code says
//! which session a process is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::world::World;
use crate::health::aged;
use crate::resume::git;
use crate::support::worker;

impl World {
    /// A folder with a repository and one commit.
    pub fn tree(&self, name: &str) -> PathBuf {
        let tree = self.home.path().join(name);
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join("a"), "one\n").unwrap();
        fs::write(tree.join("src/deep"), "two\n").unwrap();
        git(&tree, &["init", "-q"]);
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-qm", "begin"]);
        tree
    }

    /// A task that was claimed ten minutes ago and is worked on in this folder; its worker was killed, and its pid is
    /// another process now. Its claim names this transcript, as `board claim --log` does.
    #[track_caller]
    pub fn lost(&mut self, tree: &Path, lines: &[Value]) -> String {
        let pid = self.stranger();
        let task = self.task(json!({"workspace_kind": "dir", "workspace_path": tree}));
        self.call("claim_task", json!([task]));
        self.spawned(&task, pid);
        self.age(600);
        if !lines.is_empty() {
            let log = self.transcript(&format!("{task}.jsonl"), lines);
            self.home.sql(&format!(
                "UPDATE task_events SET payload = json_set(coalesce(payload, '{{}}'), '$.watchbill', json_object('log', '{}'))
                   WHERE task_id = '{task}' AND kind = 'claimed'",
                log.display()
            ));
        }
        task
    }

    /// A task whose worker lives, and the session pointer that Claude Code keeps for that process.
    #[track_caller]
    pub fn living(&mut self, lines: Option<&[Value]>) -> String {
        let tree = self.tree("work");
        let task = self.task(json!({"workspace_kind": "dir", "workspace_path": tree}));
        self.call("claim_task", json!([task]));
        let run = self.home.task(&task, "current_run_id").parse().unwrap();
        let pid = self.keep(worker(&task, run));
        self.call("_set_worker_pid", json!([task, pid]));
        self.age(9_000);
        let pointer = json!({"pid": pid, "sessionId": "s1", "cwd": tree}).to_string();
        self.pointer(pid, &pointer);
        if let Some(lines) = lines {
            let real = fs::canonicalize(&tree).unwrap();
            let slug = real.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            self.transcript(&format!("projects/{slug}/s1.jsonl"), lines);
        }
        task
    }

    /// What the session pointer of a process says.
    pub fn pointer(&self, pid: i64, text: &str) {
        let sessions = self.home.path().join(".claude/sessions");
        fs::create_dir_all(&sessions).unwrap();
        fs::write(sessions.join(format!("{pid}.json")), text).unwrap();
    }

    fn transcript(&mut self, name: &str, lines: &[Value]) -> PathBuf {
        let path = self.home.path().join(".claude").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        self.transcripts.push(path.clone());
        path
    }

    /// The transcripts were written so much earlier.
    pub fn age_transcripts(&self, seconds: i64) {
        for path in &self.transcripts {
            let written = fs::metadata(path).unwrap().modified().unwrap();
            let text = fs::read_to_string(path).unwrap();
            let older = |line: &str| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                if let Some(at) = line["timestamp"].as_str().and_then(shared::base::time::Time::parse) {
                    line["timestamp"] = json!(at.plus(-seconds).to_string());
                }
                format!("{line}\n")
            };
            fs::write(path, text.lines().map(older).collect::<String>()).unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(written - Duration::from_secs(seconds.unsigned_abs())).unwrap();
        }
    }

    /// The agents are at it still: the same was written half a minute ago.
    pub fn freshen_transcripts(&mut self) {
        for path in &self.transcripts {
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
            fs::write(path, aged(lines, 30).iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        }
    }

    /// Notes what `heal` told the next attempt when it requeued its task.
    pub fn note_packets(&mut self) {
        let told = self.home.value(
            "SELECT coalesce(group_concat(body, char(10)), '') FROM task_comments WHERE author = 'heal' AND body LIKE '%You are resuming%'",
        );
        let has = |text: &str| told.contains(text);
        let said = match (told.is_empty(), has("Autopsy of the interrupted attempt"), has("WARNING")) {
            (true, ..) => "the next attempt is told nothing",
            (_, _, true) => "the next attempt is told where the work stands, with a warning",
            (_, true, _) => "the next attempt is told what was done and where the work stands",
            _ => "the next attempt is told where the work stands",
        };
        self.note(said);
    }

    /// Says which of the workers that were alive still are.
    pub fn note_workers(&mut self) {
        let lives = self.workers_alive();
        self.note(if lives { "its worker lives" } else { "its worker was stopped" });
    }
}
