//! `board prune`: tasks that are over for long, removed with their history.

use serde_json::json;

use super::args::Prune;
use super::environment::Own;
use super::{Hand, refused};
use ::board::prune::{self, Sum};
use ::board::several_hosts::Duty;
use base::count::{things, things_or};
use base::error::Result;
use base::time::{Time, ago};
use config::span;
use ops::report::printable;

impl Hand<'_> {
    pub(super) fn prune(&mut self, asked: &Prune) -> Result<u8> {
        if let Some(own) = Own::here() {
            let what = "a worker removes no tasks; the orchestrator or the operator does";
            return Err(refused(&own.task, what).hint("do not change the board"));
        }
        // A count is of the board's clock too.
        self.attend(Duty::Looks)?;
        let before = self.here.now.plus(-span::seconds(asked.older_than));
        let patience = self.config.board.busy_timeout;
        let sum = prune::prune(&mut *self.board, before, asked.dry_run, patience)?;
        let Sum { tasks, comments, events, runs, kept } = sum;
        let json = json!({
            "board": self.board_file(), "before": before, "dry_run": asked.dry_run, "tasks": tasks,
            "comments": comments, "events": events, "runs": runs, "kept": kept,
        });
        let text = self.told(&sum, before, asked.dry_run);
        self.answer(&json, &text)
    }

    fn told(&self, sum: &Sum, before: Time, dry: bool) -> String {
        let at = printable(&self.board_file());
        let since = ago(self.here.now.since(before));
        let stays = match sum.kept {
            0 => String::new(),
            kept => format!("; {}", things_or(kept, "task as old stays", "tasks as old stay")),
        };
        let Sum { tasks, comments, events, runs, .. } = sum;
        format!(
            "{} from {at} what was not written to since {before} ({since}): {}, {}, {}, {}{stays}\n",
            if dry { "would remove" } else { "removed" },
            things(*tasks, "task"),
            things(*comments, "comment"),
            things(*events, "event"),
            things(*runs, "attempt"),
        )
    }
}
