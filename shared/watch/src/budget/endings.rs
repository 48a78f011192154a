//! How attempts ended: error texts without what differs from one time to the next.

use std::collections::{BTreeMap, BTreeSet};

use base::cause::{self, Cause};
use base::clip::clip_words;
use base::redact::redact;
use board::{Detail, Run};

/// Most bytes of a fingerprint.
const MAX_FINGERPRINT: usize = 160;

/// The form in which two error texts are the same: lower case, with every number, id and time replaced.
pub(super) fn fingerprint(text: &str) -> String {
    let mut out = String::new();
    // A word takes at least its blank.
    for word in text.split_whitespace().take(MAX_FINGERPRINT) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&plain(word));
    }
    clip_words(&out, MAX_FINGERPRINT).trim_end().to_owned()
}

/// One word of it.
fn plain(word: &str) -> String {
    let lower = word.to_lowercase();
    let digits = lower.chars().filter(char::is_ascii_digit).count();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    // Another file is another error.
    let is_file = bare.contains('/')
        || bare.rsplit_once('.').is_some_and(|(name, end)| {
            name.starts_with(char::is_alphabetic)
                && (1..=4).contains(&end.len())
                && end.starts_with(char::is_alphabetic)
        });
    if is_file {
        return lower.chars().filter(|c| !c.is_control()).collect();
    }
    let hex = bare.len() >= 7 && digits > 0 && bare.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if hex {
        return "#".into();
    }
    let mut out = String::new();
    for c in lower.chars() {
        match c {
            _ if c.is_control() => {}
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            _ => out.push(c),
        }
    }
    out
}

/// The error text of one attempt: its own, else that of an event of it.
pub(super) fn text<'a>(d: &'a Detail, run: &'a Run) -> Option<&'a str> {
    let of_event = || {
        let ours = d.events.iter().rev().filter(|e| e.run == Some(run.id));
        ours.filter_map(|e| e.payload.get("error")?.as_str()).find(|t| !t.trim().is_empty())
    };
    run.error.as_deref().filter(|t| !t.trim().is_empty()).or_else(of_event)
}

/// Whether a text is how Hermes or `board run` book the exit of a process: it is the same whatever the work failed on.
fn is_booking(text: &str) -> bool {
    let is_exit = matches!(cause::of_text(text), Some(Cause::ExitCode | Cause::WorkerGone));
    is_exit && !text.contains("Worker's last output: ")
}

/// Whether an attempt ended badly by its own doing: one that was reclaimed for outside reasons does not count.
pub(super) fn is_failure(run: &Run) -> bool {
    let word = run.outcome.as_deref().unwrap_or("reclaimed");
    run.ended_at.is_some()
        && !matches!(word, "completed" | "reclaimed" | "rate_limited" | "blocked" | "running")
}

/// Every error the attempts ended on, and how often, the most frequent first.
pub(super) fn distinct(d: &Detail) -> Vec<(String, usize)> {
    let mut texts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in d.runs.iter().filter(|r| is_failure(r)).filter_map(|run| text(d, run)) {
        *texts.entry(text).or_default() += 1;
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (text, times) in texts {
        // In lower case and without its numbers a secret is not known for one any more.
        *counts.entry(fingerprint(&redact(text))).or_default() += times;
    }
    let mut all: Vec<(String, usize)> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

/// The newest failed attempts that all ended on one error, newest first. Those that a provider refused are passed over: their error
/// is only how a dispatcher booked them. An attempt that nobody knows the error of ends the row.
pub(super) fn streak<'a>(d: &'a Detail, refused: &BTreeSet<i64>) -> Vec<&'a Run> {
    let mut same: Vec<&Run> = Vec::new();
    let mut first = None;
    for run in d.runs.iter().filter(|r| r.ended_at.is_some()) {
        if matches!(run.outcome.as_deref(), None | Some("reclaimed")) || refused.contains(&run.id) {
            continue;
        }
        let Some(mine) = text(d, run).filter(|t| is_failure(run) && !is_booking(t)) else { break };
        let first = *first.get_or_insert(mine);
        if mine != first && fingerprint(mine) != fingerprint(first) {
            break;
        }
        same.push(run);
    }
    same
}

/// Whether the first number in the error of these attempts, newest first, is lower than in any before: seven failed tests are
/// fewer than twelve. `None` where it is always the same, or there is none.
pub(super) fn is_new_low(d: &Detail, same: &[&Run]) -> Option<bool> {
    let number = |run: &&Run| {
        let text = text(d, run)?;
        let digits = text.split(|c: char| !c.is_ascii_digit()).find(|w| !w.is_empty())?;
        digits.parse::<u64>().ok()
    };
    let all: Vec<u64> = same.iter().map(number).collect::<Option<_>>()?;
    let (last, before) = (all.first()?, all.get(1..)?.iter().min()?);
    if all.iter().all(|n| n == last) { None } else { Some(last < before) }
}

/// Attempts that ended because their iterations were used up.
pub(super) fn exhausted(d: &Detail) -> Vec<&Run> {
    let is = |run: &&Run| {
        let said = [text(d, run), run.summary.as_deref()];
        let by_text = said.into_iter().flatten().any(|t| cause::of_text(t) == Some(Cause::IterationBudget));
        let by_event =
            || d.events.iter().any(|e| e.run == Some(run.id) && e.payload.get("budget_used").is_some());
        run.ended_at.is_some() && run.outcome.as_deref() != Some("completed") && (by_text || by_event())
    };
    d.runs.iter().filter(is).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::Status;
    use board::testing::{detail, run};

    #[test]
    fn what_differs_each_time_is_left_out() {
        for (a, b, same) in [
            ("pid 4711 not alive", "pid 99 not alive", true),
            ("test parse_7 failed at 12:01:02", "test parse_8 failed at 13:44:00", true),
            ("commit 1a2b3c4d5e is bad", "commit ffeedd00112233 is bad", true),
            ("Cannot find module foo", "cannot  find module\nfoo", true),
            ("cannot find module foo", "cannot find module bar", false),
            ("", "x", false),
            ("src/step1.rs: syntax error", "src/step2.rs: syntax error", false),
            ("took 0.35s", "took 1.20s", true),
        ] {
            assert_eq!(fingerprint(a) == fingerprint(b), same, "{a} / {b}");
        }
    }

    /// Every output is looked through for secrets once more, and this one is not known for one there any more.
    #[test]
    fn a_secret_is_taken_out_while_it_is_known_for_one() {
        let key = format!("AK{}", "IALANTERNHARBOURQU");
        let mut d = detail("t_00000001", Status::Ready);
        let error = Some(format!("HTTP 403: {key} may not list buckets"));
        d.runs = vec![Run { error, ..run(1, "luna", Some("crashed")) }];
        let told = distinct(&d);
        assert_eq!(redact(&key.to_lowercase()), key.to_lowercase(), "the case gives it away");
        assert_eq!(told.len(), 1);
        assert!(told[0].0.starts_with("http #:") && told[0].0.ends_with("may not list buckets"), "{told:?}");
        assert!(!told[0].0.contains("lantern"), "{told:?}");
    }

    proptest::proptest! {
        #[test]
        fn a_fingerprint_is_bounded(text in "\\PC{0,300}") {
            proptest::prop_assert!(fingerprint(&text).len() <= MAX_FINGERPRINT);
        }

        #[test]
        fn a_fingerprint_is_its_own(text in "[ -~]{0,80}") {
            let once = fingerprint(&text);
            proptest::prop_assert_eq!(fingerprint(&once), once);
        }
    }
}
