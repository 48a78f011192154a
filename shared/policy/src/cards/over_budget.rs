//! The card about work that is over its bounds while its worker lives, from the same code as every other.

use crate::cards::queue::Queue;
use crate::cards::seen::{Seen, SourceSeen, TreeSeen};
use crate::cards::split_draft::Drafted;
use crate::cards::writer::{CardWriter, Trouble, blind};
use crate::cards::{asked, steps};
use crate::{Decision, Left, Pass};
use base::count::things_or;
use board::{Detail, Step};
use card::Blocker;
use config::Config;
use logs::{LogEnd, Reading};

/// What is over its bounds.
pub struct Over<'a> {
    /// What kind of help is needed.
    pub blocker: Blocker,
    /// One sentence about it.
    pub what: String,
    /// What the orchestrator should do. What it decides is carried out once the attempt has ended.
    pub needs: String,
    /// What shows it, one line each; untrusted.
    pub evidence: Vec<String>,
    /// Narrower tasks, where there is a draft.
    pub draft: Option<&'a Drafted>,
}

/// Where such cards are written in one pass.
pub struct Desk<'a> {
    writer: CardWriter<'a>,
    /// Places that cards of this pass have taken.
    taken: usize,
}

impl<'a> Desk<'a> {
    /// No card is written yet.
    pub fn new(seen: &'a Seen, pass: &'a Pass, config: &'a Config) -> Desk<'a> {
        Desk { writer: CardWriter::new(seen, pass, config), taken: 0 }
    }

    /// The step that makes a card about this work; nothing where there is one, or was one about this attempt.
    pub fn ask(
        &mut self,
        d: &Detail,
        tree: TreeSeen,
        over: &Over<'_>,
        decision: &mut Decision,
    ) -> Option<Step> {
        let writer = &self.writer;
        let mut leave = |because: String| {
            decision.left.push(Left::new(&d.task.id, because));
            None
        };
        if let Some(card) = writer.open.get(&d.task.id).and_then(|cards| cards.first()) {
            return leave(format!("its distress card {card} is open"));
        }
        let run = d.newest_run().map_or(0, |r| r.id);
        if let Some(asked) = asked::asked(d).iter().find(|a| a.run == run) {
            return leave(format!("card {} asked about this attempt already", asked.card));
        }
        if let Some(made) = writer.used_up(d) {
            return leave(format!("{} enough", things_or(made, "card in a day is", "cards in a day are")));
        }
        let word = match over.blocker {
            Blocker::ScopeBoundary => "out_of_scope",
            _ => "over_budget",
        };
        let trouble = Trouble {
            quotes: over.evidence.clone(),
            draft: over.draft.map(Drafted::lines).unwrap_or_default(),
            ..Trouble::new(word.into(), over.blocker, word, run, over.what.clone())
        };
        let reading = Reading::of(LogEnd::NoEvidence, None);
        let source = SourceSeen {
            detail: d.clone(),
            reading,
            elsewhere: None,
            worker: None,
            tree,
            noted: None,
            changes: None,
        };
        let mut queue = Queue::new(writer);
        if let Some(why) = queue.unknown() {
            decision.left.push(Left::new(&d.task.id, why).unknown());
            let said = blind(writer.config, writer.seen.runtime.as_ref());
            let said = said.filter(|said| !decision.findings.contains(said));
            decision.findings.extend(said);
            return None;
        }
        queue.take_away(self.taken);
        let slot = queue.take(writer, &source, &trouble);
        if slot.wait.is_none() {
            self.taken += 1;
        }
        let mut signal = writer.distress(&source, &trouble);
        signal.needs = Some(over.needs.clone());
        let key = steps::key(&d.task.id, word, run);
        let made = writer.card_of(&source, &trouble, signal, key, &slot, &[]);
        Some(writer.tie(&source, &trouble, &made.id, Some(made.change), &slot))
    }
}
