//! A living worker that does nothing more by itself, and of which no check says that anything is wrong: its agent asked a person, or
//! is done, or nothing tells of it. Nobody takes its work away; a person is told.

use super::running::BLIND;
use super::seen::TaskSeen;
use super::{Rules, Verdict};
use base::time::{Time, words};
use board::{Detail, Event, EventKind};
use config::Detect;
use config::span::seconds;
use host::Look;
use logs::vitals::Turn;
use policy::authorship;
use policy::dispatcher::STALLED;
use policy::needs_operator::{ASKING, SILENT};

impl Rules<'_> {
    /// Tells a person of a worker that asks one, or that gave no sign of life for [`BLIND`] seconds and past the end of its claim.
    /// `steady`: no wait began before.
    pub(super) fn silent(&self, t: &TaskSeen, look: &Look, steady: Option<Time>) -> Option<Verdict> {
        if !t.detail.cards.is_empty() {
            return None;
        }
        let waited = |since: Time| self.seen.now.since(steady.map_or(since, |steady| since.max(steady)));
        let pid = look.worker_pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        match t.vitals.as_ref().map_or(Turn::Unknown, |vitals| vitals.turn) {
            Turn::Person { since } => {
                let waited = Some(waited(since)).filter(|w| *w > seconds(self.detect.human_wait))?;
                let because =
                    format!("its worker{pid} asked a person {} ago, and waits for the answer", words(waited));
                Some(self.tell(t, ASKING, because, "answer in the session of its worker"))
            }
            Turn::Over | Turn::Unknown => {
                let (heard, patience) = self.heard(t);
                let waited = Some(waited(heard)).filter(|w| *w >= patience)?;
                let because = format!(
                    "its worker{pid} lives, and nothing was heard of it for {}: its task waits for it as long as it lives",
                    words(waited)
                );
                let mend = "look whether its worker still works; once it has ended, heal requeues the task";
                Some(self.tell(t, SILENT, because, mend))
            }
            // A build may take that long, so this only asks. Who set the limit said how long a tool may take.
            Turn::Tool { since } if self.detect.tool_limit == Detect::default().tool_limit => {
                let (heard, patience) = self.heard(t);
                let waited = Some(waited(heard.max(since))).filter(|w| *w >= patience)?;
                let because = format!(
                    "its worker{pid} lives, and nothing was heard of it or its tool for {}: check whether the tool still works",
                    words(waited)
                );
                let mend = "look at the tool; a build or a test that takes so long needs nothing";
                Some(self.tell(t, SILENT, because, mend))
            }
            // The checks of its health know how long these may take.
            Turn::Model | Turn::Stream | Turn::Tool { .. } => None,
        }
    }

    /// Until when the newest sign of life of a worker is good, and how many seconds after that a person is told.
    fn heard(&self, t: &TaskSeen) -> (Time, i64) {
        let sane = |at: Option<Time>| at.filter(|at| self.is_sane(*at));
        let written = sane(t.vitals.as_ref().and_then(|vitals| vitals.active));
        // Where an agent writes down what it does, the beats of `board run` say no more.
        if let Some(written) = written.filter(|_| t.detail.is_beaten_for()) {
            return (written.max(sane(t.output_at).unwrap_or(written)), BLIND);
        }
        // They go on whatever the command does. Of one that nothing else tells of its output does, and what it wrote to the board. Some agents
        // print only at their end, so it may be silent for as long as its attempt hides ready work.
        if let Some(printed) = sane(t.output_at).filter(|_| t.detail.is_beaten_for()) {
            let session = t.session.as_ref().and_then(|s| s.active);
            let others = [sane(session), sane(said(&t.detail)), Some(self.started(t))];
            return (others.into_iter().flatten().fold(printed, Time::max), STALLED);
        }
        let sign = self.seen.now.plus(-self.quiet(t));
        let sign = written.map_or(sign, |written| sign.max(written));
        (t.detail.good_until(sign, seconds(self.policy.claim_ceiling)), BLIND)
    }
}

/// When a worker last wrote more to the board than a bare heartbeat, or a comment came that is not of a program of Watchbill.
fn said(d: &Detail) -> Option<Time> {
    let is_word = |e: &&Event| match e.kind {
        EventKind::Heartbeat => e.payload.get("note").is_some(),
        EventKind::PacketRecorded | EventKind::Commented => !authorship::is_of_programs(e),
        _ => false,
    };
    d.events.iter().rev().find(is_word).map(|e| e.at)
}
