//! The whole way of a task that a worker cannot finish, with the real Hermes: its end, its card, its orchestrator, its
//! second chance.

mod alive; // a worker that lives and asks in vain
mod chosen; // what an orchestrator decides, and what it leaves undecided
mod ends; // every way a worker ends, and the card it gets
mod own; // a worker that writes its card itself
mod refused; // nobody at the endpoint: heal's resets come first

use shared::card::Distress;

use super::home::{Home, key};
use crate::support::{Ran, ran};

/// A card as it stands on the board.
pub(super) struct Card {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) assignee: String,
    pub(super) body: String,
    pub(super) blocker: String,
}

impl Home {
    /// One pass of `synthesize-distress`.
    pub(super) fn distress(&self, args: &[&str]) -> Ran {
        ran(self.command("synthesize-distress").args(args))
    }

    /// Every card about this task, whichever program made it and wherever it stands.
    pub(super) fn cards(&self, source: &str) -> Vec<Card> {
        let conn = self.open();
        let sql =
            "SELECT id, status, assignee, body, title FROM tasks WHERE title LIKE '[BLOCKED] ' || ?1 || ' %'";
        let mut statement = conn.prepare(sql).unwrap();
        let card = |r: &rusqlite::Row<'_>| {
            let title: String = r.get(4)?;
            Ok(Card {
                id: r.get(0)?,
                status: r.get(1)?,
                assignee: r.get::<_, Option<String>>(2)?.unwrap_or_default(),
                body: r.get(3)?,
                blocker: title.rsplit(' ').next().unwrap_or_default().to_owned(),
            })
        };
        statement.query_map([source], card).unwrap().map(Result::unwrap).collect()
    }

    /// The one card about this task, which is as the contract says.
    #[track_caller]
    pub(super) fn card(&self, source: &str) -> Card {
        let mut cards = self.cards(source);
        assert_eq!(cards.len(), 1, "cards about {source}: {}", self.kinds(source));
        let card = cards.remove(0);
        contract(source, &card.blocker, &card.body);
        card
    }

    /// No piece of the key of any profile stands in any row.
    #[track_caller]
    pub(super) fn keeps_the_key(&self) {
        leaks_nothing(&self.dump());
    }

    /// Hermes shows each of these tasks as it stands, in one process.
    #[track_caller]
    pub(super) fn shows(&self, tasks: &[String]) {
        let code = "
import sys
from hermes_cli.main import main
for task in sys.argv[1:]:
    sys.argv = ['hermes', 'kanban', 'show', task, '--json']
    try:
        main()
    except SystemExit as end:
        assert not end.code, task
";
        let said = ran(self.run("python").args(["-c", code]).args(tasks)).ok();
        let shown = serde_json::Deserializer::from_str(&said).into_iter::<serde_json::Value>();
        let shown: Vec<_> = shown.map(|v| v.unwrap()["task"]["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(shown, tasks);
        for task in tasks {
            self.sound(task, &self.task(task, "status"));
        }
        assert!(self.ask(&["list"]).is_array());
        assert!(self.ask(&["diagnostics"]).is_array());
        assert_eq!(self.value("PRAGMA integrity_check"), "ok");
    }
}

/// Any 12 characters of the key in a row are too many: enough to look it up, and a line break may have cut it.
#[track_caller]
pub(super) fn leaks_nothing(text: &str) {
    for piece in key().as_bytes().windows(12).skip(8) {
        let piece = std::str::from_utf8(piece).unwrap();
        if let Some(line) = text.lines().find(|line| line.contains(piece)) {
            panic!("a piece of the key: {line}");
        }
    }
}

/// The template, line by line as it was agreed upon, and readable by our own code.
#[track_caller]
fn contract(source: &str, blocker: &str, body: &str) {
    const TYPES: [&str; 6] = [
        "scope_boundary",
        "env_blocker",
        "credential_failure",
        "dependency",
        "iteration_budget",
        "rate_limited",
    ];
    assert!(TYPES.contains(&blocker), "{blocker}");
    let begins = [
        "## Distress Signal".to_owned(),
        format!("- Blocked task: {source}"),
        "- Worker: ".into(),
        "- Branch: ".into(),
        "- Workspace: ".into(),
        format!("- Blocker type: {blocker}"),
        "- Completed: ".into(),
        "- Cannot touch: ".into(),
        "- Needs: ".into(),
        "- State: ".into(),
        String::new(),
        "## Scope Guard".into(),
        "DO NOT touch: anything outside diagnosing and remediating the blocker described above".into(),
        "Only fix: assign, split, reassign, or unblock the source task".into(),
    ];
    let lines: Vec<_> = body.lines().take(begins.len()).collect();
    assert_eq!(lines.len(), begins.len(), "{body}");
    for (line, begin) in lines.iter().zip(&begins) {
        let whole = !begin.ends_with(": ");
        assert!(
            if whole { line == begin } else { line.len() > begin.len() && line.starts_with(begin) },
            "{body}"
        );
    }
    let read = Distress::parse(body).unwrap_or_else(|| panic!("unreadable: {body}"));
    assert_eq!((read.source.as_str(), read.blocker.as_str()), (source, blocker));
}
