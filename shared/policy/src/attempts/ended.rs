//! How attempts really ended: what one of us wrote down of them, else what their log says. How a dispatcher booked them decides
//! nothing: one that is not the parent of its workers books every end as `pid N not alive`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::authorship;
use base::cause::{self, Cause};
use board::{Detail, Event, EventKind, Run, hermes};
use logs::{Evidence, LogEnd, MAX_EARLIER, Reading};

/// Longest pause between the end of one attempt and the start of the next, in seconds, for which the parts of a log are taken for
/// attempts in a row. A dispatcher that tries again at once takes one interval.
const PAUSE: i64 = 300;

/// Whether a cause is the whole explanation of an end: any other attempt would have ended there too.
pub fn explains(cause: Cause) -> bool {
    let besides = [
        Cause::ConnectionRefused,
        Cause::ModelMissing,
        Cause::Misconfigured,
        Cause::ProtocolViolation,
        Cause::MalformedCall,
        Cause::SpawnError,
    ];
    cause.lies_with_provider() || besides.contains(&cause)
}

/// Under this name a trail lists earlier attempts whose end the log explains.
const EXPLAINED: &str = "explained";

/// Adds to the facts of a step which attempts before the newest the log explains and nobody wrote down: after a pause between two
/// attempts the log does not tell any more which part is whose. `told`: all that the log explains.
pub fn explain(d: &Detail, told: impl IntoIterator<Item = i64>, facts: &mut Map<String, Value>) {
    let newest = d.newest_run().map(|r| r.id);
    let earlier: BTreeSet<i64> = told.into_iter().filter(|id| Some(*id) != newest).collect();
    if earlier.is_empty() {
        return;
    }
    let news: Vec<i64> = earlier.difference(&explained(d)).copied().collect();
    if !news.is_empty() {
        facts.insert(EXPLAINED.into(), json!(news));
    }
}

/// Attempts of which one of us wrote down such a cause, by their number.
pub fn recorded(d: &Detail) -> BTreeSet<i64> {
    written_down(d, explains)
}

/// The same, and those of which one of us wrote down no more than that the log explains their end.
pub fn explained(d: &Detail) -> BTreeSet<i64> {
    let ours = d.events.iter().filter(|e| authorship::is_ours(e)).filter_map(Event::trail);
    let listed =
        ours.filter_map(|trail| trail.get(EXPLAINED)?.as_array()).flatten().filter_map(Value::as_i64);
    recorded(d).into_iter().chain(listed).collect()
}

/// Attempts of which one of us wrote down that a provider refused them, by their number.
pub fn by_provider(d: &Detail) -> BTreeSet<i64> {
    written_down(d, Cause::lies_with_provider)
}

/// Attempts of which one of us wrote down that they ended on this, by their number.
pub fn ended_on(d: &Detail, cause: Cause) -> BTreeSet<i64> {
    written_down(d, |of| of == cause)
}

/// Attempts of which one of us wrote down that they left their task open, by their number.
pub fn left_open(d: &Detail) -> BTreeSet<i64> {
    written_down(d, |cause| cause == Cause::ProtocolViolation)
}

fn written_down(d: &Detail, counts: impl Fn(Cause) -> bool) -> BTreeSet<i64> {
    let of = |e: &Event| {
        let trail = e.trail().filter(|_| authorship::is_ours(e))?;
        authorship::cause_in(trail).filter(|c| counts(*c))?;
        trail.get("run").and_then(Value::as_i64).or(e.run)
    };
    d.events.iter().filter_map(of).collect()
}

/// How Hermes 0.22 books an attempt whose worker ended with exit code 0 and left its task open. In that version a worker that a
/// provider refused ends with another code; before it every worker ended with 0, and the text went on with `calling`.
const LEFT_OPEN: &str = "worker exited cleanly (rc=0) without kanban_complete, ";

/// Why the newest attempt at a task ended: the line that the log ends on, else what the runtime recorded. `said`: what it wrote where it
/// gave the task up.
pub fn cause(d: &Detail, log: &LogEnd, said: Option<&str>) -> Option<Cause> {
    if let LogEnd::Ended(e) = log {
        return Some(e.cause);
    }
    let run = d.newest_run();
    // The booking says that a provider failed, and not how: a used-up quota is booked so as well.
    if run.is_some_and(|r| r.outcome.as_deref() == Some("rate_limited")) {
        return Some(Cause::ServerError);
    }
    if hermes::is_never_started(d) {
        return Some(Cause::SpawnError);
    }
    let of_text = [said, run.and_then(|r| r.error.as_deref())].into_iter().flatten().find_map(cause::of_text);
    let left_open = || run.is_some_and(|r| r.outcome.as_deref() == Some("protocol_violation"));
    of_text.or_else(|| left_open().then_some(Cause::ProtocolViolation))
}

/// Puts the board's own word on the end of the newest attempt before the log's, where it has one that leaves no doubt: what a model
/// wrote into its log may read like any failure.
pub fn by_board(d: &Detail, mut reading: Reading) -> Reading {
    let error = d.newest_run().filter(|r| r.ended_at.is_some()).and_then(|r| r.error.as_deref());
    let is_other = !matches!(&reading.end, LogEnd::Ended(e) if e.cause == Cause::ProtocolViolation);
    if error.is_some_and(|e| e.starts_with(LEFT_OPEN)) && is_other {
        let words = "exit code 0 without a call that closes the task".to_owned();
        reading.end = LogEnd::Ended(Evidence { words, ..Evidence::new(Cause::ProtocolViolation, 0) });
    }
    reading
}

/// Whether an attempt may have a part of its own in the log.
fn wrote(run: &Run) -> bool {
    // Before its start: the clock was set back meanwhile.
    let took_time = run.ended_at != Some(run.started_at);
    took_time && run.outcome.as_deref() != Some("spawn_failed")
}

/// Attempts for which a task was claimed in Hermes and no event names a process, by their number: only a worker that Hermes starts
/// gets the log of the task.
fn bare_claims(d: &Detail) -> BTreeSet<i64> {
    let runs = |of: fn(&Event) -> bool| d.events.iter().filter(move |e| of(e)).filter_map(|e| e.run);
    let mut bare: BTreeSet<i64> = runs(|e| e.kind == EventKind::Claimed && e.by().is_none()).collect();
    for run in runs(|e| e.payload.get("pid").is_some_and(Value::is_i64)) {
        bare.remove(&run);
    }
    bare
}

/// Those of a task's attempts that had a worker, as far as that can be told; all of them, where none had one.
pub(crate) fn worked_on<'a>(d: &Detail, mut runs: Vec<&'a Run>) -> Vec<&'a Run> {
    let bare = bare_claims(d);
    let has_worker = |r: &&Run| r.worker_pid.is_some() || !bare.contains(&r.id);
    if runs.iter().any(has_worker) {
        runs.retain(has_worker);
    }
    runs
}

/// Attempts whose parts of the log are kept, if they wrote one, the newest first. What ended an older one cannot be told.
pub fn remembered(d: &Detail) -> impl Iterator<Item = &Run> {
    d.runs.iter().scan(0, |parts, run| {
        *parts += usize::from(wrote(run));
        (*parts <= 1 + MAX_EARLIER).then_some(run)
    })
}

/// Finished attempts and the lines they ended on, the newest first: the last parts of the log beside the newest attempts. Nothing in
/// the log says which part is whose. Where it has one part for each attempt, they are in the same order; else they are compared as
/// far as attempts followed one another at once, because across a pause one may have written none. A claim without a process gets
/// a part only where there is one for each attempt, or where no attempt had a process: Hermes does not start the workers then.
pub fn told<'a>(d: &'a Detail, reading: &'a Reading) -> Vec<(&'a Run, &'a Evidence)> {
    if !matches!(reading.end, LogEnd::Ended(_)) && reading.earlier.is_empty() {
        return Vec::new();
    }
    let has_part_each = |runs| reading.earlier.len() < MAX_EARLIER && reading.earlier.len() + 1 == runs;
    let mut runs: Vec<&Run> = d.runs.iter().filter(|r| wrote(r)).collect();
    if !has_part_each(runs.len()) {
        runs = worked_on(d, runs);
    }
    let Some(newest) = runs.first() else { return Vec::new() };
    // A clock that was set back makes a part of the newest attempt look older than its start: with a part for each attempt, the
    // newest has one, too.
    let is_older = reading.modified.is_some_and(|at| at < newest.started_at);
    let is_silent = newest.ended_at.is_none() && is_older && !has_part_each(runs.len());
    let at_once = |pair: &[&Run]| pair[1].ended_at.is_some_and(|end| pair[0].started_at.since(end) <= PAUSE);
    let silent = usize::from(is_silent);
    let is_one_each = has_part_each(runs.len() - silent);
    let in_a_row =
        if is_one_each { runs.len() } else { 1 + runs.windows(2).take_while(|pair| at_once(pair)).count() };
    let last = match &reading.end {
        LogEnd::Ended(e) => Some(e),
        _ => None,
    };
    let parts = std::iter::once(last).chain(reading.earlier.iter().map(Option::as_ref));
    let runs = runs.into_iter().take(in_a_row).skip(silent);
    runs.zip(parts).filter(|(run, _)| run.ended_at.is_some()).filter_map(|(run, e)| Some((run, e?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::Status;
    use board::testing::{ago, detail, event, run};

    /// Attempts by the seconds ago at which they began and ended, the newest first.
    fn ran(spans: &[(i64, Option<i64>)]) -> Detail {
        let mut d = detail("t_00000001", Status::Running);
        let runs = spans.iter().zip((1..).map(|n| 10 - n)).map(|((from, to), id)| Run {
            started_at: ago(*from),
            ended_at: to.map(ago),
            ..run(id, "luna", to.map(|_| "crashed"))
        });
        d.runs = runs.collect();
        d
    }

    fn says(parts: &[Option<Cause>], modified: i64) -> Reading {
        let parts = parts.iter().map(|c| c.map(|c| Evidence::new(c, 1)));
        let mut parts = parts.collect::<Vec<_>>().into_iter();
        let end = parts.next().flatten().map_or(LogEnd::NoEvidence, LogEnd::Ended);
        Reading { earlier: parts.collect(), ..Reading::of(end, Some(ago(modified))) }
    }

    #[test]
    fn the_parts_of_a_log_are_those_of_the_attempts_that_followed_one_another() {
        let (l, q, p) = (Some(Cause::RateLimit), Some(Cause::Quota), Some(Cause::ProtocolViolation));
        let two = [(100, Some(50)), (200, Some(150))];
        let open = [(50, None), (200, Some(60)), (300, Some(210))];
        for (spans, parts, modified, want) in [
            (&two[..], &[l, q][..], 50, &[(9, Cause::RateLimit), (8, Cause::Quota)][..]),
            (&two, &[None, q], 50, &[(8, Cause::Quota)]),
            (&two, &[l], 50, &[(9, Cause::RateLimit)]),
            // After a pause longer than five minutes: nobody knows whether the part is attempt 8's or 7's, which may have said nothing.
            (&[(100, Some(50)), (900, Some(401)), (950, Some(901))], &[l, q], 50, &[(9, Cause::RateLimit)]),
            (&[(100, Some(50)), (900, Some(401))], &[l, q], 50, &[(9, Cause::RateLimit), (8, Cause::Quota)]),
            (
                &[(50, None), (900, Some(401)), (2_000, Some(1_300))],
                &[None, q, p],
                40,
                &[(8, Cause::Quota), (7, Cause::ProtocolViolation)],
            ),
            (&[(100, Some(50)), (900, Some(400))], &[l, q], 50, &[(9, Cause::RateLimit), (8, Cause::Quota)]),
            // The clock was set back while attempt 8 ran: it ended before it began, and wrote its part all the same.
            (
                &[(100, Some(50)), (200, Some(400)), (300, Some(200))],
                &[l, q, p],
                50,
                &[(9, Cause::RateLimit), (8, Cause::Quota), (7, Cause::ProtocolViolation)],
            ),
            // The newest attempt runs. What it says so far is not an end; where it said nothing, the last part is the one before.
            (&open, &[l, q, p], 40, &[(8, Cause::Quota), (7, Cause::ProtocolViolation)]),
            (&open, &[None, q, p], 50, &[(8, Cause::Quota), (7, Cause::ProtocolViolation)]),
            (&open, &[q, p], 51, &[(8, Cause::Quota), (7, Cause::ProtocolViolation)]),
            // It has a part of its own, which looks older than its start by a clock that was set back since.
            (&open[..2], &[q, p], 51, &[(8, Cause::ProtocolViolation)]),
            (&[], &[l], 50, &[]),
        ] {
            let d = ran(spans);
            let reading = says(parts, modified);
            let told: Vec<_> = told(&d, &reading).iter().map(|(r, e)| (r.id, e.cause)).collect();
            assert_eq!(told, want, "{spans:?} {parts:?} {modified}");
        }
        // An attempt that never began, or a note without length, wrote nothing.
        let mut d = ran(&[(100, Some(100)), (110, Some(105)), (300, Some(150))]);
        d.runs[1].outcome = Some("spawn_failed".into());
        assert_eq!(told(&d, &says(&[l], 150)).iter().map(|(r, _)| r.id).collect::<Vec<_>>(), [7]);
        // Nor did one that was claimed and never had a worker, unless there is a part for each. Who claims by our program works,
        // and may write.
        for (claimed, spawned, parts, want) in [
            (json!({}), false, 1, vec![8]),
            (json!({}), false, 2, vec![9, 8]),
            (json!({}), true, 1, vec![9]),
            (json!({"by": "board", "watchbill": {"v": 1}}), false, 1, vec![9]),
        ] {
            let mut d = ran(&two);
            let of = |run, kind: &str, payload: Value| Event { run: Some(run), ..event(kind, 100, payload) };
            d.events.push(of(8, "spawned", json!({"pid": 1})));
            d.events.push(of(9, "claimed", claimed));
            d.events.extend(spawned.then(|| of(9, "spawned", json!({"pid": 2}))));
            let reading = says(&vec![l; parts], 50);
            let told = told(&d, &reading);
            assert_eq!(told.iter().map(|(r, _)| r.id).collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn the_boards_own_word_comes_before_the_logs_where_it_leaves_no_doubt() {
        let quoted = || says(&[Some(Cause::RateLimit)], 50);
        let error = "worker exited cleanly (rc=0) without kanban_complete, kanban_block or kanban_request_review — protocol";
        for (error, ended, cause) in [
            (error, Some(50), Some(Cause::ProtocolViolation)),
            // Every worker of 0.19 ends so, also one that a limit ended.
            (
                "worker exited cleanly (rc=0) without calling kanban_complete",
                Some(50),
                Some(Cause::RateLimit),
            ),
            ("pid 7 exited rate-limited (quota wall)", Some(50), Some(Cause::RateLimit)),
            (error, None, Some(Cause::RateLimit)),
        ] {
            let mut d = ran(&[(100, ended)]);
            d.runs[0].error = Some(error.into());
            let end = by_board(&d, quoted()).end;
            let seen = if let LogEnd::Ended(e) = end { Some(e.cause) } else { None };
            assert_eq!(seen, cause, "{error} {ended:?}");
        }
    }

    #[test]
    fn only_what_we_wrote_down_of_an_attempt_explains_its_end() {
        let said = |by: &str, cause: &str, run: Option<i64>, of: Option<i64>| {
            let trail = json!({"by": by, "watchbill": {"cause": cause, "run": run}});
            let mut d = ran(&[]);
            d.events.push(Event { run: of, ..event(EventKind::Scheduled, 9, trail) });
            recorded(&d).into_iter().collect::<Vec<_>>()
        };
        for cause in
            ["rate_limit", "quota", "overloaded", "credential", "connection_refused", "misconfigured"]
        {
            assert_eq!(said("heal", cause, None, Some(7)), [7], "{cause}");
        }
        assert_eq!(said("synthesize-distress", "rate_limit", Some(8), None), [8]);
        assert_eq!(said("route-blocked", "rate_limit", Some(8), Some(9)), [8], "the attempt it is about");
        for (by, cause, run) in [
            ("heal", "worker_gone", Some(7)),
            ("heal", "iteration_budget", Some(7)),
            ("board", "quota", Some(7)),
            ("heal", "quota", None),
        ] {
            assert_eq!(said(by, cause, run, None), [0_i64; 0], "{by} {cause}");
        }
        for (by, want) in [("heal", vec![7, 8]), ("board", vec![])] {
            let mut d = ran(&[]);
            d.events.push(event(
                EventKind::Unblocked,
                9,
                json!({"by": by, "watchbill": {EXPLAINED: [7, 8]}}),
            ));
            assert_eq!(explained(&d).into_iter().collect::<Vec<_>>(), want, "{by}");
            assert!(recorded(&d).is_empty(), "its cause is still to be told");
        }
    }
}
