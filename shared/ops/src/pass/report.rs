//! What a pass reports of what it saw and decided, and which of it is news.

use std::collections::{BTreeMap, BTreeSet};

use super::Tools;
use crate::report::{BoardReport, Notice, Phase};
use board::{BoardId, Outcome, Step};
use config::Config;
use policy::{Decision, Pass, Said};
use watch::Watcher;

/// Puts down everything of a decision but its steps, which are returned: the write needs nothing else of what was seen.
pub(super) fn decided<W: Watcher>(
    watcher: &W,
    seen: W::Seen,
    mut decision: Decision,
    id: &BoardId,
    tools: &mut Tools<'_>,
    report: &mut BoardReport,
) -> Vec<Step> {
    if tools.keep_seen {
        report.seen = serde_json::to_value(&seen).ok();
    }
    // Where something could not be looked at, it is not known whether a state is over.
    let is_whole = report.findings.is_empty() && decision.findings.is_empty() && !decision.unjudged;
    let prefix = format!("notice:{}:{}:", W::NAME, id.at);
    let notices = std::mem::take(&mut decision.notices);
    report.notices.extend(lasting(&prefix, notices, is_whole, tools));
    if tools.looks.is_none_or(|looks| looks.pages) {
        report.overview = watcher.overview(&seen, tools.pass, tools.config);
    }
    tell::<W>(&seen, decision, report)
}

/// Puts what was decided into the report, but for what lasts. Gives the steps, which nobody has done yet.
fn tell<W: Watcher>(seen: &W::Seen, decision: Decision, report: &mut BoardReport) -> Vec<Step> {
    report.glanced = Some(W::glanced(seen));
    report.left = decision.left;
    report.beyond = decision.beyond;
    report.findings.extend(decision.findings);
    report.notices.extend(decision.told.into_iter().map(on_board));
    decision.steps
}

/// What a dry run reports of a board that was seen already: all that lasts is told, and every step is planned. [`super::run`] does the
/// same for a board of this machine; this is for simulated ones.
pub fn dry_report<W: Watcher>(
    watcher: &W,
    seen: &W::Seen,
    pass: &Pass,
    config: &Config,
    id: &BoardId,
) -> BoardReport {
    let mut report = BoardReport::of(id);
    let mut decision = watcher.decide(seen, pass, config);
    let notices = std::mem::take(&mut decision.notices);
    report.notices.extend(notices.into_values().map(|said| Notice::new(said, Phase::Began)));
    report.overview = watcher.overview(seen, pass, config);
    let steps = tell::<W>(seen, decision, &mut report);
    report.steps = steps.into_iter().map(|s| (s, Outcome::Planned)).collect();
    report
}

/// What lasts, by what matters of it: news where no pass saw it yet, or where it is over. A dry run, or a pass over
/// one task, tells all of it.
pub(super) fn lasting(
    prefix: &str,
    all: BTreeMap<String, Said>,
    is_whole: bool,
    tools: &mut Tools<'_>,
) -> Vec<Notice> {
    if tools.pass.only.is_some() || tools.pass.dry {
        return all.into_values().map(|said| Notice::new(said, Phase::Began)).collect();
    }
    let now: BTreeSet<String> = all.keys().map(|name| format!("{prefix}{name}")).collect();
    let over = if is_whole { tools.cache.forget(prefix, &now) } else { Vec::new() };
    let over = over.iter().map(|key| format!("no longer: {}", &key[prefix.len()..]));
    let over: Vec<Notice> = over.map(|said| Notice::new(said, Phase::Ended)).collect();
    let lasting = all.into_iter().map(|(name, said)| {
        let key = format!("{prefix}{name}");
        let phase = if tools.cache.was_sighted(&key) { Phase::Lasts } else { Phase::Began };
        tools.cache.sight(&key, tools.pass.now);
        Notice::new(said, phase)
    });
    lasting.collect::<Vec<_>>().into_iter().chain(over).collect()
}

/// A notice that the board has. The step that writes it there says it.
fn on_board((said, is_due): (Said, bool)) -> Notice {
    let phase = if is_due { Phase::Began } else { Phase::Lasts };
    Notice { muted: true, ..Notice::new(said, phase) }
}
