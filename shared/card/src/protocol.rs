//! What an agent must know to work on a board, as text for an AGENTS.md, a system prompt, a SOUL.md or a skill.
//!
//! The rules are those of the coordination protocol: mission on, heartbeat always, resume from the packet, block with
//! `[BLOCKED]`, reassign, keep tasks tiny. A worker of Hermes 0.19 reads such a text from the AGENTS.md of a `dir:`
//! workspace, the SOUL.md of its profile, or a skill; a task's own text reaches it only by `kanban_show`.

use base::named_enum::named_enum;

named_enum! {
    /// Whose rules.
    pub enum Role {
        /// Who does a task.
        Worker = "worker",
        /// Who decides about stuck ones.
        Orchestrator = "orchestrator",
    }
}

impl Role {
    /// The rules, Markdown with a newline at their end.
    pub fn text(self) -> &'static str {
        match self {
            Role::Worker => include_str!("protocol/worker.md"),
            Role::Orchestrator => include_str!("protocol/orchestrator.md"),
        }
    }

    /// The rules as a SKILL.md: front matter of `name` and `description`, as Hermes and Claude Code read it.
    pub fn skill(self) -> String {
        let (name, description) = match self {
            Role::Worker => (
                "watchbill-worker",
                "How to work on a task of a shared board: read it first, give signs of life, stay inside its scope, stop \
                 at its edge with a [BLOCKED] card. Use it for every board task.",
            ),
            Role::Orchestrator => (
                "watchbill-orchestrator",
                "How to decide about a stuck task: reassign, unblock, split or ask a person. Use it for every task whose \
                 title begins with [BLOCKED].",
            ),
        };
        format!("---\nname: {name}\ndescription: \"{description}\"\n---\n\n{}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Blocker;

    #[test]
    fn short_enough_to_be_read_every_time() {
        for role in Role::ALL {
            let text = role.text();
            assert!(text.lines().count() <= 60, "{}: {} lines", role.as_str(), text.lines().count());
            assert!(text.lines().all(|l| l.chars().count() <= 120), "{}", role.as_str());
            assert!(text.ends_with('\n') && !text.contains("````"), "{}", role.as_str());
        }
    }

    #[test]
    fn the_worker_knows_all_six_types_and_the_orchestrator_all_four_decisions() {
        for blocker in Blocker::ALL {
            assert!(Role::Worker.text().contains(&format!("\n- `{blocker}`: ")), "{blocker}");
        }
        for action in ["reassign", "unblock", "split", "human"] {
            assert!(Role::Orchestrator.text().contains(&format!("\n- **{action}** ")), "{action}");
        }
    }

    #[test]
    fn a_skill_has_its_head() {
        for role in Role::ALL {
            let skill = role.skill();
            let (head, text) = skill.strip_prefix("---\n").unwrap().split_once("---\n\n").unwrap();
            assert_eq!(text, role.text());
            let keys: Vec<&str> = head.lines().filter_map(|l| l.split(": ").next()).collect();
            assert_eq!(keys, ["name", "description"]);
            assert!(head.contains(&format!("name: watchbill-{}\n", role.as_str())));
        }
    }
}
