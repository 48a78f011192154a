//! What the real Hermes must accept of every row we touched.

use super::home::Home;

impl Home {
    /// Hermes takes these rows as its own: every reading command and a dry dispatch go through, and every column is
    /// as Hermes would have written it.
    #[track_caller]
    pub fn accepts(&self, tasks: &[&str]) {
        let list = self.ask(&["list"]);
        assert!(self.ask(&["diagnostics"]).is_array());
        for task in tasks {
            let status = self.task(task, "status");
            let shown = self.ask(&["show", task]);
            assert_eq!(shown["task"]["status"], status.as_str());
            assert!(self.hermes(&["show", task]).ok().contains(task));
            assert!(
                list.as_array().unwrap().iter().any(|t| t["id"] == *task && t["status"] == status.as_str())
            );
            assert!(self.ask(&["runs", task]).is_array());
            self.sound(task, &status);
        }
        assert!(self.ask(&["dispatch", "--dry-run"])["spawned"].is_array());
        assert_eq!(self.value("PRAGMA integrity_check"), "ok");
    }

    /// Every column of this task is as Hermes would have written it.
    #[track_caller]
    pub fn sound(&self, task: &str, status: &str) {
        let states =
            ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done", "archived"];
        assert!(states.contains(&status), "{status}");
        let none = |why: &str, from: &str| {
            let count =
                self.value(&format!("SELECT count(*) FROM {from}").replace("{t}", &format!("'{task}'")));
            assert_eq!(count, "0", "{task}: {why}");
        };
        if status != "running" {
            none(
                "a claim on a row that does not run",
                "tasks WHERE id = {t} AND (claim_lock IS NOT NULL OR claim_expires IS NOT NULL OR worker_pid IS NOT NULL)",
            );
            none(
                "a run left open",
                "task_runs WHERE task_id = {t} AND (ended_at IS NULL OR outcome IS NULL)",
            );
            none("a run pointed to", "tasks WHERE id = {t} AND current_run_id IS NOT NULL");
        }
        none(
            "a claim on a closed run",
            "task_runs WHERE task_id = {t} AND ended_at IS NOT NULL
               AND (claim_lock IS NOT NULL OR claim_expires IS NOT NULL OR worker_pid IS NOT NULL)",
        );
        for (table, key, columns) in [
            (
                "tasks",
                "id",
                "created_at started_at completed_at claim_expires worker_pid last_heartbeat_at current_run_id consecutive_failures",
            ),
            ("task_runs", "task_id", "started_at ended_at claim_expires worker_pid last_heartbeat_at"),
            ("task_events", "task_id", "created_at run_id"),
            ("task_comments", "task_id", "created_at"),
        ] {
            for column in columns.split(' ') {
                let bad =
                    format!("{table} WHERE {key} = {{t}} AND typeof({column}) NOT IN ('integer', 'null')");
                none(&format!("{table}.{column} is not a whole number"), &bad);
            }
        }
        none(
            "a payload that is no JSON object",
            "task_events WHERE task_id = {t} AND payload IS NOT NULL
               AND (NOT json_valid(payload) OR json_type(payload) != 'object')",
        );
        let way = self.kinds(task);
        let had = |kinds: &[&str]| way.split(' ').any(|k| kinds.contains(&k));
        assert!(
            status != "ready" || had(&["created", "promoted", "reclaimed", "unblocked", "crashed"]),
            "{way}"
        );
        assert!(status != "blocked" || had(&["blocked", "gave_up"]), "{way}");
        let assignee = self.task(task, "assignee");
        assert!(self.path().join("profiles").join(&assignee).is_dir(), "no profile {assignee}");
    }
}
