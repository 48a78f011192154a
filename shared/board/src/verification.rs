//! Checks that earlier attempts failed, as the board tells of them. What passed is left out.
//!
//! Hermes 0.19 has no place of its own for this: it verifies in the agent's session and keeps that in a file of the profile
//! (`verification_evidence.db`), keyed by session and not by task. What reaches the board, and is read here:
//!
//! | where | what | from |
//! |---|---|---|
//! | event `completion_blocked_hallucination` | `phantom_cards` | `kanban_db.py`, `complete_task` |
//! | event `changes_requested` | `reason` of a reviewer | Hermes 0.20 and later, its review lane |
//! | run `summary` | `Last judge verdict: ...` | `goals.py`, `run_kanban_goal_loop`, where the turns are used up |
//! | run `metadata.gate` | a word other than a pass | the verifier of a swarm, as `kanban_swarm.py` asks it to |
//! | run `metadata.tests_failed` | a number | what workers write beside the `tests_run` they are asked for (`prompt_builder.py`) |
//! | run `metadata.verification` | one check or a list | ours, for hooks: `board complete --metadata` |
//! | run `summary`, `error` | a line `verification failed: ...` | ours, for hooks: `board block` |
//! | event `verification` | one check | ours, for programs that write events |
//!
//! A check is an object with `kind`, a verdict (`verdict`, `status` or `result` in words, `passed` or `ok` as a truth value,
//! or `exit_code`) and `output`; the words are those of Hermes' own evidence (`passed`, `failed`, `output_summary`). A
//! verdict that is not understood does not count as a failure. Workers can write all of this: it is only ever quoted.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Detail, Event, EventKind, Run};
use base::clip::{clip, clip_words};
use base::redact::redact;
use base::time::Time;

/// Most failures that are told of, the newest.
pub const MAX_FAILURES: usize = 8;
/// Most bytes of an output that are kept.
const MAX_OUTPUT: usize = 4 << 10;
/// Most bytes of each end of a longer one that are looked at.
const MAX_END: usize = 32 << 10;
/// Most bytes of a run's details that are looked into.
const MAX_METADATA: usize = 256 << 10;
/// Most checks read of one run or event.
const MAX_CHECKS: usize = 100;
/// Keys of a run's details that hold checks.
const CHECKS: [&str; 3] = ["verification", "verifications", "verifier"];
/// What a failed check without a name is called.
const NAMELESS: &str = "verifier";

/// How Hermes' goal loop ends the work of a worker whose judge was never content, and what stands before its last word.
const JUDGE: (&str, &str) = ("Goal-mode worker exhausted its turn budget", "Last judge verdict:");
/// A judge that could not be asked says nothing about the work.
const NO_JUDGE: &str = "judge error";
/// The line of a summary or an error that tells of a failure.
const FAILED_LINE: &str = "verification failed:";

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What checked: `run`, `tests`, `judge`, `review`, or the name that a worker or a hook gave it. Untrusted.
    pub kind: String,
    /// What it said, at most about 4 KiB of it. Untrusted.
    pub output: String,
}

impl Failure {
    fn new(kind: &str, output: &str) -> Failure {
        Failure { kind: clip(kind.trim(), 100).to_owned(), output: kept(output) }
    }
}

/// The failures of all attempts, newest first, at most [`MAX_FAILURES`], none twice.
pub fn failures(d: &Detail) -> Vec<Failure> {
    let of_events = d.events.iter().flat_map(|e| of_event(e).into_iter().map(|f| (e.at, f)));
    let of_runs =
        d.runs.iter().flat_map(|r| of_run(r).into_iter().map(|f| (r.ended_at.unwrap_or(r.started_at), f)));
    let mut all: Vec<(Time, Failure)> = of_events.chain(of_runs).collect();
    all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut failures: Vec<Failure> = Vec::new();
    for (_, failure) in all {
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
    failures.truncate(MAX_FAILURES);
    failures
}

fn of_event(e: &Event) -> Vec<Failure> {
    match e.kind {
        EventKind::Verification => checks(&e.payload),
        EventKind::ChangesRequested => {
            text(&e.payload, &["reason"]).map(|r| Failure::new("review", r)).into_iter().collect()
        }
        EventKind::CompletionBlockedHallucination => phantoms(&e.payload).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Hermes refused a completion because it named cards that do not exist.
fn phantoms(payload: &Value) -> Option<Failure> {
    let cards = payload.get("phantom_cards")?.as_array()?;
    let named: Vec<&str> = cards.iter().filter_map(Value::as_str).take(10).collect();
    let said = format!("named cards that do not exist: {}", named.join(", "));
    (!named.is_empty()).then(|| Failure::new("completion", &said))
}

fn of_run(r: &Run) -> Vec<Failure> {
    let texts = [r.summary.as_deref(), r.error.as_deref()];
    let lines = texts.into_iter().flatten().flat_map(|t| judged(t).into_iter().chain(told(t)));
    r.failed.iter().cloned().chain(lines).collect()
}

/// What the judge of Hermes' goal loop said last.
fn judged(text: &str) -> Option<Failure> {
    let (_, said) = text.strip_prefix(JUDGE.0)?.split_once(JUDGE.1)?;
    let said = said.trim();
    (!said.is_empty() && !said.starts_with(NO_JUDGE)).then(|| Failure::new("judge", said))
}

/// The lines of a summary that tell of a failure, `verification failed: run: 1 failed`.
fn told(text: &str) -> Vec<Failure> {
    let one = |line: &str| {
        let line = line.trim();
        let is_it = line.get(..FAILED_LINE.len())?.eq_ignore_ascii_case(FAILED_LINE);
        let rest = line[FAILED_LINE.len()..].trim();
        let named = rest.split_once(':').filter(|(kind, _)| is_word(kind.trim()));
        let (kind, output) = named.unwrap_or((NAMELESS, rest));
        (is_it && !rest.is_empty()).then(|| Failure::new(kind, output))
    };
    text.lines().filter_map(one).take(MAX_CHECKS).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 24
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// The checks that a run's details, as they are stored, say failed. Models write these: the details may be a text that
/// holds the object.
pub fn in_metadata(metadata: &str) -> Vec<Failure> {
    // Most runs have none, and need not be parsed.
    let hints = ["verif", "gate", "tests_failed"];
    if metadata.len() > MAX_METADATA || !hints.iter().any(|h| metadata.contains(h)) {
        return Vec::new();
    }
    let inside = |v: Value| match v {
        Value::String(text) => serde_json::from_str(&text).ok(),
        other => Some(other),
    };
    let Some(Value::Object(details)) = serde_json::from_str(metadata).ok().and_then(inside) else {
        return Vec::new();
    };
    let mut found: Vec<Failure> =
        CHECKS.iter().filter_map(|key| details.get(*key)).flat_map(checks).collect();
    found.extend(gate(&details));
    let failed = details.get("tests_failed").and_then(Value::as_u64).filter(|n| *n > 0);
    found.extend(failed.map(|n| Failure::new("tests", &format!("{n} failed"))));
    found.truncate(MAX_FAILURES);
    found
}

/// The verifier of a swarm lets it pass with `"gate": "pass"`.
fn gate(details: &Map<String, Value>) -> Option<Failure> {
    let word = details.get("gate")?.as_str()?;
    let why = ["reason", "summary", "findings"].into_iter().find_map(|k| details.get(k)?.as_str());
    (passed_in_words(word) == Some(false)).then(|| Failure::new("gate", why.unwrap_or(word)))
}

/// The failed ones of one check, a list of them, or a verdict in words.
fn checks(value: &Value) -> Vec<Failure> {
    match value {
        Value::Array(all) => all.iter().take(MAX_CHECKS).filter_map(check).collect(),
        Value::String(words) if passed_in_words(words) == Some(false) => vec![Failure::new(NAMELESS, words)],
        one => check(one).into_iter().collect(),
    }
}

fn check(value: &Value) -> Option<Failure> {
    if has_passed(value)? {
        return None;
    }
    let kind = text(value, &["kind", "name", "verifier", "check"]).unwrap_or(NAMELESS);
    let output = text(value, &["output", "output_summary", "reason", "summary", "error", "message"]);
    Some(Failure::new(kind, output.unwrap_or_default()))
}

/// Whether a check passed, where that is understood.
fn has_passed(check: &Value) -> Option<bool> {
    let in_words = text(check, &["verdict", "status", "result"]).and_then(passed_in_words);
    let as_truth = || ["passed", "ok"].into_iter().find_map(|k| check.get(k)?.as_bool());
    let as_code = || check.get("exit_code").and_then(Value::as_i64).map(|code| code == 0);
    in_words.or_else(as_truth).or_else(as_code)
}

fn passed_in_words(words: &str) -> Option<bool> {
    let first: String = words.trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    match first.to_ascii_lowercase().as_str() {
        "pass" | "passed" | "ok" | "success" | "succeeded" | "green" | "approved" => Some(true),
        "fail" | "failed" | "failure" | "error" | "rejected" | "red" => Some(false),
        _ => None,
    }
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|k| value.get(*k)?.as_str()).filter(|t| !t.trim().is_empty())
}

/// The text, or both its ends where it is long: what a test run comes to stands at its end. Secrets go first where it is
/// cut, since half of one is not known any more.
fn kept(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_OUTPUT {
        return text.to_owned();
    }
    let (front, back) = (redact(clip_words(text, MAX_END)), redact(last_words(text, MAX_END)));
    format!("{} … {}", clip_words(&front, MAX_OUTPUT / 4), last_words(&back, MAX_OUTPUT / 2))
}

/// At most `most` bytes of the end, beginning behind a blank where it was cut.
fn last_words(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    match end.find(char::is_whitespace).filter(|_| from > 0) {
        Some(blank) => end[blank..].trim_start(),
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Status;
    use crate::testing::{ago, detail, event, run};

    fn failure(kind: &str, output: &str) -> Failure {
        Failure { kind: kind.into(), output: output.into() }
    }

    #[test]
    fn details_of_a_run() {
        let run_failed = json!({"kind": "run", "verdict": "FAIL", "output": "1 failed"});
        let double = json!(json!({"verification": run_failed}).to_string());
        for (details, want) in [
            (json!({"verification": run_failed}), vec![failure("run", "1 failed")]),
            (double, vec![failure("run", "1 failed")]),
            (
                json!({"verifications": [run_failed, {"kind": "lint", "verdict": "PASS", "output": "fine"},
                    {"name": "types", "status": "failed", "output_summary": "E1"}, {"kind": "odd", "verdict": "maybe"}, 7]}),
                vec![failure("run", "1 failed"), failure("types", "E1")],
            ),
            (
                json!({"verification": {"kind": "build", "exit_code": 2, "error": "no such file"}}),
                vec![failure("build", "no such file")],
            ),
            (json!({"verification": {"kind": "build", "exit_code": 0, "error": "x"}}), vec![]),
            (json!({"verification": {"passed": false}}), vec![failure("verifier", "")]),
            // A word counts before a code: its writer looked at the result.
            (json!({"verification": {"verdict": "pass", "exit_code": 1}}), vec![]),
            (json!({"verification": "failed: two tests"}), vec![failure("verifier", "failed: two tests")]),
            (json!({"verification": "all tests pass"}), vec![]),
            (json!({"gate": "pass"}), vec![]),
            (json!({"gate": "fail", "reason": "no evidence"}), vec![failure("gate", "no evidence")]),
            (json!({"gate": "Rejected: no evidence"}), vec![failure("gate", "Rejected: no evidence")]),
            (json!({"gate": "blocked"}), vec![]),
            (json!({"tests_run": 12, "tests_failed": 3}), vec![failure("tests", "3 failed")]),
            (json!({"tests_run": 12, "tests_failed": 0}), vec![]),
            (json!(["verification"]), vec![]),
            (json!("the gate"), vec![]),
            (json!({"changed_files": ["a"]}), vec![]),
        ] {
            assert_eq!(in_metadata(&details.to_string()), want, "{details}");
        }
        for text in ["", "verification", "{'verification': 1}", "{\"gate\": \"fail\""] {
            assert_eq!(in_metadata(text), vec![], "{text}");
        }
        let long =
            |n: usize| json!({"verification": {"verdict": "fail", "output": "x ".repeat(n)}}).to_string();
        assert_eq!((in_metadata(&long(100 << 10)).len(), in_metadata(&long(150 << 10)).len()), (1, 0));
        let many: Vec<Value> =
            (0..500).map(|n| json!({"verdict": "fail", "output": n.to_string()})).collect();
        assert_eq!(in_metadata(&json!({"verification": many}).to_string()).len(), MAX_FAILURES);
    }

    #[test]
    fn summaries_and_errors() {
        let goal = |said: &str| {
            format!("{} (20/20) without completing the task. Last judge verdict: {said}", JUDGE.0)
        };
        for (summary, want) in [
            (
                goal("the parser still fails on dates"),
                vec![failure("judge", "the parser still fails on dates")],
            ),
            (goal("judge error: RateLimitError"), vec![]),
            (goal(""), vec![]),
            // The judge was content; only the last word was missing.
            ("Goal-mode worker's output looked complete but it never called kanban_complete".into(), vec![]),
            (
                "done\n  Verification failed: run: 1 failed\nverification failed: see: the log\n".into(),
                vec![failure("run", "1 failed"), failure("see", "the log")],
            ),
            (
                "verification failed: it does not build at all: no".into(),
                vec![failure("verifier", "it does not build at all: no")],
            ),
            ("verification failed:".into(), vec![]),
            ("the verification failed: run".into(), vec![]),
            ("é".into(), vec![]),
        ] {
            let mut d = detail("t_00000001", Status::Ready);
            d.runs = vec![Run { summary: Some(summary.clone()), ..run(1, "luna", Some("blocked")) }];
            assert_eq!(failures(&d), want, "{summary}");
            d.runs = vec![Run { error: Some(summary.clone()), ..run(1, "luna", Some("crashed")) }];
            assert_eq!(failures(&d), want, "{summary}");
        }
    }

    #[test]
    fn events_of_all_attempts_newest_first_and_none_twice() {
        let mut d = detail("t_00000001", Status::Ready);
        let check =
            |verdict: &str, output: &str| json!({"kind": "run", "verdict": verdict, "output": output});
        d.events.push(event(EventKind::Verification, 3_000, check("FAIL", "1 failed")));
        d.events.push(event(EventKind::Verification, 2_000, check("PASS", "all is well")));
        d.events.push(event(EventKind::Verification, 1_500, check("FAIL", "1 failed")));
        d.events.push(event(
            EventKind::ChangesRequested,
            1_250,
            json!({"reason": "no tests", "reviewer": "vera"}),
        ));
        d.events.push(event(
            EventKind::CompletionBlockedHallucination,
            900,
            json!({"phantom_cards": ["t_0", 7]}),
        ));
        d.events.push(event(EventKind::Verification, 800, Value::Null));
        d.runs = vec![Run { failed: vec![failure("tests", "3 failed")], ..run(1, "luna", Some("crashed")) }];
        assert_eq!(d.runs[0].ended_at, Some(ago(1_200)));
        let want = [
            failure("completion", "named cards that do not exist: t_0"),
            failure("tests", "3 failed"),
            failure("review", "no tests"),
            failure("run", "1 failed"),
        ];
        assert_eq!(failures(&d), want);
        for n in 0..20 {
            d.events.push(event(EventKind::Verification, 700 - n, check("FAIL", &n.to_string())));
        }
        let newest: Vec<String> = failures(&d).into_iter().map(|f| f.output).collect();
        assert_eq!(newest, ["19", "18", "17", "16", "15", "14", "13", "12"]);
    }

    #[test]
    fn a_long_output_keeps_both_ends_and_no_half_secret() {
        let key = ["s", "k-ant-api03-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"].concat();
        let text = format!("begin {} {key} 1 failed ü", "word é ".repeat(20 << 10));
        let got = kept(&text);
        assert!(got.len() <= MAX_OUTPUT, "{}", got.len());
        assert!(
            got.starts_with("begin word") && got.ends_with("[redacted: anthropic key] 1 failed ü"),
            "{got}"
        );
        // A cut anywhere in it.
        for n in 0..key.len() + 10 {
            let text = format!("{key} {}", "x ".repeat(MAX_OUTPUT / 4 - n));
            let shifted = format!("{}{text}", "y".repeat(n));
            assert!(!kept(&shifted).contains("Ab3dEf6h") || shifted.len() <= MAX_OUTPUT, "{n}");
        }
        assert_eq!(
            (last_words("ab cd ef", 4), last_words("abcdef", 3), last_words("ab", 9)),
            ("ef", "def", "ab")
        );
    }
}
