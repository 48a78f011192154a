//! Limits that a task or the configuration sets and nothing measures: a notice while that lasts, since without a verdict it would
//! look as if they were kept.

use std::collections::BTreeMap;

use super::judge::Judged;
use super::seen::Seen;
use base::quote;
use base::time::Time;
use board::Detail;
use config::Config;
use policy::{Decision, Profiles, Said, authorship};

/// Seconds after the start of an attempt in which its log may not be there yet.
const STARTS: i64 = 120;

/// The notices, each by what matters of it: one for each task that sets such a limit itself, and one for each limit of the
/// configuration.
pub(super) fn tell(judged: &[Judged<'_>], seen: &Seen, config: &Config, decision: &mut Decision) {
    let known = Profiles::of(seen.runtime.as_ref());
    // What is said of each, and the task of that.
    let mut ours: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for one in judged.iter().filter(|j| !j.unmeasured.is_empty()) {
        let d = &one.work.detail;
        let is_open = !d.task.status.frees_children() && has_begun(d, seen.now);
        let person = config.people.assignee.as_deref();
        if !is_open || authorship::hands_off(d, known, person, seen.now).is_some() {
            continue;
        }
        let id = &d.task.id;
        // The same log tells of turns and money.
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for limit in &one.unmeasured {
            match limit.is_own {
                true => by_reason.entry(&limit.why).or_default().push(limit.what),
                false => {
                    let of = ours.entry(limit.what).or_default();
                    of.push((format!("{id} ({})", quote::inline(&limit.why, 160)), id));
                }
            }
        }
        for (why, limits) in by_reason {
            let lasts = format!("{id}: nothing measures its limit of {}", limits.join(" and "));
            let said = format!("{lasts}: {}", quote::inline(why, 200));
            decision.notices.insert(lasts, Said::from(said).about(id));
        }
    }
    for (what, tasks) in ours {
        let lasts = format!("nothing measures the configured limit of {what} of some tasks");
        let more = if tasks.len() > 1 { format!(" and {} more", tasks.len() - 1) } else { String::new() };
        let said = Said::from(format!("{lasts}: {}{more}", tasks.first().map_or("", |(said, _)| said)));
        decision.notices.insert(lasts, said.about_all(tasks.into_iter().map(|(_, task)| task)));
    }
}

/// Whether its newest attempt runs long enough to have a log, or ended.
fn has_begun(d: &Detail, now: Time) -> bool {
    d.newest_run().is_some_and(|r| r.ended_at.is_some() || now.since(r.started_at) >= STARTS)
}
