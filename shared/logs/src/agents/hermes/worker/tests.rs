use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::words::{BUSY, NUDGE, SETUP};
use super::*;
use crate::{Evidence, SignalKind};
use base::cause::Cause;
use base::endpoint::host;
use base::time::Time;

/// Feeds whole lines, as the file reader does, with a last one that nobody finished.
fn feed(reader: &mut Reader, log: &[u8], base: u64, out: &mut Vec<Signal>) {
    let mut at = base;
    for raw in log.split_inclusive(|b| *b == b'\n') {
        let text = String::from_utf8_lossy(raw.strip_suffix(b"\n").unwrap_or(raw));
        reader.line(&Line { text: &text, offset: at, is_cut: false, seen: Time(50) }, out);
        at += raw.len() as u64;
    }
}

fn last_attempt_end(log: &[u8], base: u64, task: &str) -> Option<Evidence> {
    let mut reader = Reader::new(task);
    feed(&mut reader, log, base, &mut Vec::new());
    match reader.end() {
        LogEnd::Ended(evidence) => Some(evidence),
        LogEnd::NoEvidence => None,
        other => panic!("{other:?}"),
    }
}

fn recording(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hermes-logs").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn task_of(name: &str) -> &str {
    name.split('.').nth(1).unwrap()
}

/// Every recording with what its name says: cause, status, endpoint, and how its evidence line begins.
type Expected = Option<(Cause, Option<u16>, Option<&'static str>, &'static str)>;
const RECORDINGS: &[(&str, Expected)] = &[
    ("quoting.t_c440972a.log", None),
    ("guided.t_956829c2.log", None),
    ("killed.t_65e86e75.log", None),
    ("stopped.t_c6a261cf.log", None),
    ("orchestrator.t_97fa32e6.log", None),
    ("goalchat.t_895df86b.log", None),
    ("goalok.t_47eba21c.log", None),
    ("goalquoting.t_6f522ec4.log", None),
    ("r403.t_31cb5a80.log", Some((Cause::Credential, Some(403), HOST, "❌ Non-retryable error (HTTP 403)"))),
    ("r401.t_edb03c05.log", Some((Cause::Credential, Some(401), HOST, "❌ Non-retryable error (HTTP 401)"))),
    ("r529.t_da3df14d.log", Some((Cause::Overloaded, Some(529), HOST, "❌ API failed after 2 retries"))),
    ("quota.t_8a4e5bed.log", Some((Cause::Quota, Some(429), HOST, "❌ Rate limited after 2 retries"))),
    ("goal429.t_21519a94.log", Some((Cause::RateLimit, Some(429), None, "API call failed after 2 retries"))),
    ("goalquota.t_ffaa5fbd.log", Some((Cause::Quota, Some(429), None, "API call failed after 2 retries"))),
    ("goal503.t_4b2a2322.log", Some((Cause::Overloaded, Some(503), None, "API call failed after 2 retries"))),
    ("goal401.t_bef0e0ce.log", Some((Cause::Credential, Some(401), None, "HTTP 401: Invalid API key"))),
    ("ok.t_87fada95.log", None),
    ("block.t_12390583.log", None),
    ("fallback-ok.t_2c0e3226.log", None),
    ("chat.t_8f3a3353.log", Some((Cause::ProtocolViolation, None, None, NUDGE))),
    ("loop.t_66b728bc.log", Some((Cause::IterationBudget, None, None, "⚠ Iteration budget reached (6/6)"))),
    ("goal402.t_ef1f5155.log", Some((Cause::Quota, Some(402), None, "HTTP 402: Insufficient"))),
    ("badcfg.t_08197f86.log", Some((Cause::Misconfigured, None, None, SETUP))),
    ("r401.t_a3ede8e0.log", Some((Cause::Credential, Some(401), HOST, "❌ Non-retryable error (HTTP 401)"))),
    ("r402.t_2c59f014.log", Some((Cause::Quota, Some(402), HOST, "❌ Non-retryable error (HTTP 402)"))),
    (
        "r404.t_f1037397.log",
        Some((Cause::ModelMissing, Some(404), HOST, "❌ Non-retryable error (HTTP 404)")),
    ),
    ("r429.t_79a491c3.log", Some((Cause::RateLimit, Some(429), HOST, "❌ Rate limited after 2 retries"))),
    ("r503.t_aadb6d47.log", Some((Cause::Overloaded, Some(503), HOST, "❌ API failed after 2 retries"))),
    (
        "refused.t_0b5c7d21.log",
        Some((Cause::ConnectionRefused, None, Some("127.0.0.1:1"), "❌ API failed after")),
    ),
    (
        "goalrefused.t_0b5c7d23.log",
        Some((Cause::ConnectionRefused, None, None, "API call failed after 2 retries")),
    ),
    ("nokey.t_0b5c7d22.log", Some((Cause::Credential, None, None, "No Anthropic credentials found"))),
];
const HOST: Option<&str> = Some("127.0.0.1:18471");

#[test]
fn every_recording_says_what_its_name_says() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hermes-logs");
    assert_eq!(fs::read_dir(dir).unwrap().count(), RECORDINGS.len(), "a recording without an expectation");
    for (name, expected) in RECORDINGS {
        let log = recording(name);
        let found = last_attempt_end(&log, 1_000, task_of(name));
        let seen = found.as_ref().map(|e| (e.cause, e.http, e.endpoint_host.as_deref()));
        assert_eq!(seen, expected.map(|(cause, http, host, _)| (cause, http, host)), "{name}");
        let (Some(found), Some((_, _, _, begins))) = (found, expected) else { continue };
        let at = usize::try_from(found.offset).unwrap() - 1_000;
        assert!(log[at..].starts_with(begins.as_bytes()), "{name}: offset {at}");
        let last = log.windows(begins.len()).rposition(|w| w == begins.as_bytes()).unwrap();
        assert_eq!(at, last, "{name}: not the last such line");
    }
}

#[test]
fn only_the_last_attempt_counts() {
    for (first, _) in RECORDINGS {
        for (second, expected) in RECORDINGS {
            let (old, new) = (recording(first), recording(second));
            let new = String::from_utf8(new).unwrap().replace(task_of(second), "t_1");
            let mut log = String::from_utf8(old).unwrap().replace(task_of(first), "t_1");
            log.push_str(&new);
            let seen = last_attempt_end(log.as_bytes(), 0, "t_1").map(|e| e.cause);
            assert_eq!(seen, expected.map(|e| e.0), "{first} then {second}");
        }
    }
}

#[test]
fn cut_at_every_byte_nothing_panics_and_nobody_else_becomes_the_owner() {
    for (name, expected) in RECORDINGS {
        // Two attempts of the many alike are enough.
        let whole = String::from_utf8(recording(name)).unwrap();
        let log = whole.rmatch_indices(QUERY).nth(1).map_or(&*whole, |(at, _)| &whole[at..]).as_bytes();
        // Up to the line with the cut it is one and the same reader, so that no byte is read ten thousand times.
        let (mut reader, mut at) = (Reader::new(task_of(name)), 0);
        for line in log.split_inclusive(|b| *b == b'\n') {
            for cut in 0..line.len() {
                let mut torn = reader.clone();
                feed(&mut torn, &line[..cut], at, &mut Vec::new());
                let seen = Some(torn.end())
                    .and_then(|end| if let LogEnd::Ended(e) = end { Some(e.cause) } else { None });
                // Within the provider's words a neighbour may be seen (404 of a model, 404 of a path), never
                // another class.
                let class = |c: Cause| (c.owner(), c.blocker_type());
                let same = seen
                    .is_none_or(|c| c == Cause::Unknown || expected.map(|e| class(e.0)) == Some(class(c)));
                assert!(same, "{name} cut at {}: {seen:?}", at + cut as u64);
            }
            feed(&mut reader, line, at, &mut Vec::new());
            at += line.len() as u64;
        }
        // The front is cut for every window of a long log; a stride of a prime meets all kinds of places.
        for cut in (0..log.len()).step_by(31) {
            let _ = last_attempt_end(&log[cut..], cut as u64, task_of(name));
        }
    }
}

#[test]
fn a_window_that_begins_within_the_attempt_finds_the_same_end() {
    for (name, expected) in RECORDINGS {
        let Some((cause, ..)) = expected.filter(|e| e.3.starts_with('❌')) else { continue };
        let log = recording(name);
        let whole = last_attempt_end(&log, 0, task_of(name)).unwrap();
        let at = usize::try_from(whole.offset).unwrap();
        let window = last_attempt_end(&log[at..], whole.offset, task_of(name)).map(|e| (e.cause, e.offset));
        assert_eq!(window, Some((cause, whole.offset)), "{name}");
    }
}

const QUERY: &str = "Query: work kanban task ";
const HEAD: &str = "Query: work kanban task t_1\nInitializing agent...\r\n";
const FOOT: &str = "\nResume this session with:\n  hermes --resume x\n\nSession:        x\nDuration:       5s\nMessages:       1 (1 user, 0 tool calls)\n";

fn boxed(text: &str) -> String {
    format!(
        " ─  ⚕ Hermes  ──────────── \r\n            \r\n     {text}     \r\n      \r\n ─────────────────────── \r\n"
    )
}

fn cause_of(log: &str) -> Option<Cause> {
    last_attempt_end(log.as_bytes(), 0, "t_1").map(|e| e.cause)
}

#[test]
fn every_terminal_line_of_an_ordinary_worker() {
    for (line, cause) in [
        ("❌ Rate limited after 3 retries — HTTP 429: You exceeded your current quota, check", Cause::Quota),
        ("❌ Rate limited after 3 retries — you are being throttled", Cause::RateLimit),
        ("❌ Rate limited after 3 retries — HTTP 400: slow down", Cause::RateLimit),
        ("❌ Billing or credits exhausted — HTTP 429: insufficient_quota", Cause::Quota),
        ("❌ API failed after 3 retries — Connection error.", Cause::ConnectionRefused),
        ("❌ API failed after 3 retries — Request timed out.", Cause::ServerError),
        ("❌ API failed after 3 retries — HTTP 502 — Bad Gateway — Ray 429", Cause::ServerError),
        ("❌ API failed after 3 retries — HTTP 529: Overloaded", Cause::Overloaded),
        ("❌ API failed after 3 retries — something odd about 429 and 503", Cause::Unknown),
        ("❌ Non-retryable error (HTTP 403): HTTP 403: Forbidden", Cause::Credential),
        ("❌ Non-retryable error (HTTP 400): HTTP 400: messages: empty", Cause::Unknown),
        ("❌ Non-retryable error (HTTP None): no such thing", Cause::Unknown),
        ("❌ Non-retryable client error (HTTP 401). Aborting.", Cause::Credential),
        ("❌ TLS certificate verification failed: certificate has expired", Cause::Misconfigured),
        ("❌ Provider safety filter blocked this request: HTTP 400: no", Cause::Unknown),
        ("❌ Max retries (3) exceeded for invalid responses. Giving up.", Cause::MalformedCall),
        ("❌ Max retries (3) for invalid tool calls exceeded. Stopping as partial.", Cause::MalformedCall),
        (
            "❌ Model returned no content after all retries. No fallback providers configured.",
            Cause::MalformedCall,
        ),
        ("❌ Ollama runtime context is too small for Hermes tool use", Cause::Misconfigured),
        ("❌ Context length exceeded and cannot compress further.", Cause::Unknown),
        ("❌ Error during OpenAI-compatible API call #3: Error code: 401 - {'error': 1}", Cause::Credential),
        (
            "⚠️  Provider resolver returned an empty API key. Set OPENROUTER_API_KEY or run: hermes setup",
            Cause::Credential,
        ),
        (
            "⚠️  Provider resolver returned an empty base URL. Check your provider config",
            Cause::Misconfigured,
        ),
        ("Failed to initialize agent: no such model family", Cause::Misconfigured),
        ("⚠️ Iteration budget exhausted (6/6) — asking model to summarise", Cause::IterationBudget),
        (
            "\u{1b}[2m⚠ Iteration budget reached (6/6) — response may be incomplete\u{1b}[0m",
            Cause::IterationBudget,
        ),
        (
            "\u{1b}]8;;http://x\u{1b}\\\u{1b}[31m❌ API failed after 2 retries — HTTP 503: x\u{1b}[0m",
            Cause::Overloaded,
        ),
    ] {
        assert_eq!(cause_of(&format!("{HEAD}{line}\r\n")), Some(cause), "{line}");
        assert_eq!(cause_of(&format!("{HEAD}{line}\r\n{FOOT}")), Some(cause), "{line} with its summary");
        let quoted = format!(
            "{HEAD}  ┊ 💻 $ {line}  0.1s\r\n  ┊ {line}\r\n+{line}\r\n {line}\r\n     {line}\r\n[subagent-1] {line}\r\n"
        );
        assert_eq!(cause_of(&quoted), None, "{line} in a tool line, a diff, an answer");
        let went_on = format!("{HEAD}{line}\r\n  ┊ 💻 $ echo  0.1s\r\n{FOOT}");
        assert_eq!(cause_of(&went_on), None, "{line} and tools after it");
    }
}

#[test]
fn the_final_box() {
    for (text, cause) in [
        (
            "API call failed after 3 retries: HTTP 429: Rate limit reached for\r\n     requests per min",
            Some(Cause::RateLimit),
        ),
        ("API call failed after 3 retries: Connection error.", Some(Cause::ConnectionRefused)),
        ("Billing or credits exhausted: HTTP 402: no money", Some(Cause::Quota)),
        ("HTTP 401: Invalid API key", Some(Cause::Credential)),
        ("Error: HTTP 503: busy", Some(Cause::Overloaded)),
        ("⏳ Nous Portal rate limit active — resets in 4m.", Some(Cause::RateLimit)),
        (
            "Invalid API response after 3 retries: rate limited by upstream provider (429)",
            Some(Cause::RateLimit),
        ),
        ("Invalid API response after 3 retries: response time 3.0s", Some(Cause::MalformedCall)),
        ("Done. The API answers HTTP 429: too many requests.", None),
        ("The log says: API call failed after 3 retries: HTTP 429: x", None),
        ("HTTP 429 is what the server should answer.", None),
        ("HTTP 200: fine", None),
        ("API call failed after many retries: HTTP 429: x", None),
        ("", None),
    ] {
        let failed = |line: &str| cause_of(&format!("{HEAD}{line}\r\n{}{FOOT}", boxed(text)));
        // Hermes writes one of these before each of its own.
        for line in [
            "⚠️  API call failed (attempt 1/2): SomeError",
            "⚠️  Attempt 2/2 failed: something",
            "⚠️  Attempt 1/2, not retryable failed: something",
            "⏳ Nous Portal rate limit active — resets in 4m. Trying fallback...",
            "⚠️  Invalid API response (attempt 3/3): no choices",
        ] {
            assert_eq!(failed(line), cause, "{line}: {text}");
        }
        // Without one it is what the model said, and so it is where the attempt went on.
        for line in [
            "",
            "⚠️  Attempt 1/2 failed: something",
            "⚠️  Attempt at a fix: failed",
            "⚠️  API call failed (attempt 2/2): SomeError\r\n  ┊ 💻 $ ls  0.1s",
            "     ❌ Rate limited after 2 retries — HTTP 429: x",
            "  ┊ ❌ Rate limited after 2 retries — HTTP 429: x",
        ] {
            assert_eq!(failed(line), None, "{line}: {text}");
        }
    }
}

// The model answered so, and left without a word to its board: with `display.streaming: false` an answer stands in the same box as
// a failure.
#[test]
fn an_answer_in_the_box_is_no_failure_whatever_it_says() {
    for text in [
        "HTTP 429: this is what the server under test answers now",
        "HTTP 402: Payment Required is what the billing endpoint answers now",
        "API call failed after 3 retries: HTTP 401: that was the report",
        "Billing or credits exhausted: so says the dialogue",
        "⏳ Nous Portal rate limit active — resets in 4m.",
    ] {
        let log = format!("{HEAD}{NUDGE} — nudging to finish\r\n{}{FOOT}", boxed(text));
        assert_eq!(cause_of(&log), Some(Cause::ProtocolViolation), "{text}");
        assert_eq!(cause_of(&format!("{HEAD}{}{FOOT}", boxed(text))), None, "{text}");
    }
}

#[test]
fn a_box_after_a_failure_is_its_own_text_or_a_new_answer() {
    let failed = "❌ Non-retryable error (HTTP 404): HTTP 404: The model `m1` does not exist\r\n";
    let with = |after: &str| cause_of(&format!("{HEAD}{failed}{after}{FOOT}"));
    assert_eq!(with(&boxed("HTTP 404: The model m1 does not exist")), Some(Cause::ModelMissing));
    assert_eq!(with(&boxed("Done, all tests pass.")), None);
    assert_eq!(with("╭─ ⚕ Hermes ───╮\r\n    Done.\r\n╰──────╯\r\n"), None);
    assert_eq!(with("🔄 Switched to fallback model: m1 via custom → m1 via prov-ok\r\n"), None);
    // The title of an error page comes back without a status.
    let page = "❌ Non-retryable error (HTTP 403): Just a moment... — Ray 1\r\n";
    let log = format!("{HEAD}{page}{}{FOOT}", boxed("Just a moment... — Ray 1"));
    assert_eq!(cause_of(&log), Some(Cause::Credential));
    // A failure that ends within an open answer is written at column 0 of it.
    let opened =
        format!("{HEAD}╭─ ⚕ Hermes ───╮\r\n    I will\r\n❌ API failed after 2 retries — HTTP 503: x\r\n");
    assert_eq!(cause_of(&opened), Some(Cause::Overloaded));
}

#[test]
fn what_is_no_end() {
    for text in [
        "⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]\r\n   📝 Error: HTTP 429: x\r\n",
        "⏱️ Rate limited. Waiting 1.0s (attempt 2/2)...\r\n",
        "❌ Connection to provider failed after 3 attempts. The provider may be experiencing issues\r\n",
        "   💀 Final error: HTTP 429: context line of a diff\r\n",
        "❌ Rate limited after lunch — HTTP 429: x\r\n",
        "❌ 429 tests failed\r\n",
        "HTTP 429: too many requests\r\n",
        "pid 429 not alive, says the author\r\n",
        "It looks like Hermes is configured\r\n",
        "⚠️ Kanban worker tried to exit without kanban_complete/kanban_block — nudging to finish\r\n",
    ] {
        assert_eq!(cause_of(&format!("{HEAD}{text}")), None, "{text}");
    }
    let nudged = format!("{HEAD}  ┊ 💻 $ ls  0.1s\r\n{NUDGE} — nudging to finish\r\n{FOOT}");
    assert_eq!(cause_of(&nudged), None, "it used tools: not sure");
}

#[test]
fn the_provider_that_failed_comes_before_the_budget_it_used_up() {
    let log = format!(
        "{HEAD}❌ API failed after 2 retries — HTTP 503: x\r\n\r\n⚠ Iteration budget reached (6/6) — r\r\n{FOOT}"
    );
    assert_eq!(cause_of(&log), Some(Cause::Overloaded));
    let on =
        format!("{HEAD}⚠️ Iteration budget exhausted (6/6) — asking\r\n╭─ ⚕ Hermes ───╮\r\n    Summary.\r\n");
    assert_eq!(cause_of(&on), Some(Cause::IterationBudget));
}

#[test]
fn a_worker_that_never_began() {
    for (words, cause) in [
        ("No API key found for provider x.", Cause::Credential),
        ("Refresh token expired. Run `hermes model` to re-authenticate.", Cause::Credential),
        ("Subscription credits are exhausted. Top up/renew credits, then retry.", Cause::Quota),
        ("Unknown provider 'x'.", Cause::Misconfigured),
    ] {
        let log = format!("Query: work kanban task t_1\n{words}\n\nGoodbye! ⚕\n");
        assert_eq!(cause_of(&log), Some(cause), "{words}");
        assert_eq!(cause_of(&log.replace("Goodbye", "Hello")), None, "{words}");
        assert_eq!(cause_of(&format!("{HEAD}{words}\n\nGoodbye! ⚕\n")), None, "{words}: it did begin");
    }
}

#[test]
fn goal_mode_counts_only_the_last_answer_among_failures() {
    let start = "  ⚠ tirith security scanner enabled but not available\r\n";
    let limited = "API call failed after 2 retries: HTTP 429: slow down\n";
    let money = "Billing or credits exhausted: HTTP 402: none\n\ncustom reported that billing, credits, or account entitlement is exhausted for m1.\nAdd credits or update billing with that provider, then retry.\nYou can switch providers temporarily with /model <model> --provider <provider>.\n";
    let sign = "\nsession_id: 20261121_081534_4311b4\n";
    for (log, cause) in [
        (format!("{start}{limited}{limited}{sign}"), Some(Cause::RateLimit)),
        (format!("{start}{limited}{limited}"), Some(Cause::RateLimit)),
        (format!("{limited}{sign}"), Some(Cause::RateLimit)),
        (format!("{start}{money}{money}{sign}"), Some(Cause::Quota)),
        (format!("Working on it.\n{limited}{limited}{sign}"), Some(Cause::RateLimit)),
        (format!("{start}The server said:\n{limited}{sign}"), None),
        (format!("{start}{limited}Done now.\n{sign}"), None),
        (format!("{start}The log:\n❌ API failed after 2 retries — HTTP 503: x\n{sign}"), None),
        (format!("{start}{HEAD}❌ API failed after 2 retries — HTTP 503: x\n{sign}"), None),
        (format!("{start}{limited}{sign}Done.\n{sign}"), None),
        (format!("{start}Done.\n{sign}{limited}{sign}"), Some(Cause::RateLimit)),
        (format!("{start}{limited}{sign}{start}"), None),
        (format!("{start}{sign}{limited}"), Some(Cause::RateLimit)),
        (format!("{start}{sign}{limited}{start}{sign}Done.\n"), None),
        (format!("{start}{sign}Done.\n{start}{sign}{limited}"), Some(Cause::RateLimit)),
        (format!("{start}{sign}{limited}Done.\n"), None),
    ] {
        assert_eq!(cause_of(&log), cause, "{log}");
    }
}

#[test]
fn the_exit_trailer_of_later_versions() {
    let answer = boxed("Done.");
    for (log, cause) in [
        // Alone a code chooses neither between waiting and paying nor which of key, model and certificate is to be mended.
        (format!("{HEAD}{FOOT}\n{EXIT}75\n"), Some(Cause::ServerError)),
        (format!("{HEAD}{FOOT}\n{EXIT}78\n"), Some(Cause::Unknown)),
        (format!("{HEAD}{answer}{FOOT}\n{EXIT}0\n"), None),
        (format!("{HEAD}{FOOT}\n{EXIT}1\n"), None),
        (
            format!("{HEAD}❌ Non-retryable error (HTTP 401): HTTP 401: no\n{FOOT}\n{EXIT}78\n"),
            Some(Cause::Credential),
        ),
        (
            format!("{HEAD}❌ API failed after 2 retries — HTTP 503: x\n{FOOT}\n{EXIT}0\n"),
            Some(Cause::Overloaded),
        ),
        (format!("{HEAD}{FOOT}\n{EXIT}75\n{HEAD}{answer}{FOOT}\n{EXIT}0\n"), None),
        (format!("{HEAD}{FOOT}\n{EXIT}75\n{HEAD}"), None),
        (format!("{HEAD}{FOOT}\n{EXIT}0\n{BUSY} reason=MAX_CONCURRENT_SESSIONS run=7\n\n{EXIT}75\n"), None),
        (format!("{HEAD}{FOOT}\n{EXIT}7 5\n"), None),
    ] {
        assert_eq!(cause_of(&log), cause, "{log}");
    }
}

#[test]
fn noise_after_the_summary_belongs_to_the_attempt_and_a_start_does_not() {
    let failed = format!("{HEAD}❌ API failed after 2 retries — HTTP 503: x\n{FOOT}");
    assert_eq!(cause_of(&format!("{failed}Exception ignored in: <x>\n")), Some(Cause::Overloaded));
    assert_eq!(cause_of(&format!("{failed}{HEAD}")), None);
    assert_eq!(cause_of(&format!("{failed}  ⚠ tirith security scanner enabled but\r\n")), None);
    assert_eq!(cause_of(&failed.replace("t_1", "t_12")), None, "another task's attempt");
}

#[test]
fn the_endpoint_is_a_host_without_secrets() {
    for (url, expected) in [
        ("http://127.0.0.1:18471/r429/v1", Some("127.0.0.1:18471")),
        ("https://user:sk-secret@API.Example.test/v1?key=sk", Some("api.example.test")),
        ("https://[::1]:8080", Some("[::1]:8080")),
        ("unknown", None),
        ("https:///v1", None),
        ("https://bad host/v1", None),
    ] {
        assert_eq!(host(url).as_deref(), expected, "{url}");
        let log = format!(
            "{HEAD}   🔌 Provider: custom  Model: m1\n   🌐 Endpoint: {url}\n   🌐 Endpoint: https://quoted.test\n❌ API failed after 2 retries — HTTP 503: x\n"
        );
        assert_eq!(
            last_attempt_end(log.as_bytes(), 0, "t_1").unwrap().endpoint_host.as_deref(),
            expected,
            "{url}"
        );
    }
}

#[test]
fn the_endpoint_of_an_earlier_failure_is_not_that_of_the_last() {
    let failed = "❌ API failed after 2 retries — HTTP 503: x\n";
    for (between, host) in [
        ("", Some("h")),
        ("  ┊ 💻 $ ls  0.1s\n", None),
        ("🔄 Switched to fallback model: m1 via custom → m1 via prov-ok\n", None),
    ] {
        let log = format!("{HEAD}   🔌 Provider: x\n   🌐 Endpoint: http://h/v1\n{failed}{between}{failed}");
        assert_eq!(
            last_attempt_end(log.as_bytes(), 0, "t_1").unwrap().endpoint_host.as_deref(),
            host,
            "{between}"
        );
    }
}

#[test]
fn long_lines_and_invalid_bytes_cost_nothing() {
    let mut log = HEAD.as_bytes().to_vec();
    log.extend(std::iter::repeat_n(0xff, 200_000));
    log.extend("\n❌ API failed after 2 retries — HTTP 503: ".as_bytes());
    log.extend(std::iter::repeat_n(0xe2, 100_000));
    assert_eq!(last_attempt_end(&log, 0, "t_1").map(|e| e.cause), Some(Cause::Overloaded));
}

/// What a reader says after all lines, and all signals on the way.
fn in_pieces(log: &[u8], cuts: &[usize]) -> (Reader, Vec<Signal>) {
    let (mut reader, mut out) = (Reader::new("t_1"), Vec::new());
    let starts =
        log.split_inclusive(|b| *b == b'\n').scan(0, |at, l| Some(std::mem::replace(at, *at + l.len())));
    let starts: Vec<usize> = starts.chain([log.len()]).collect();
    let mut places: Vec<usize> =
        cuts.iter().map(|c| starts[c % starts.len()]).chain([0, log.len()]).collect();
    places.sort_unstable();
    for part in places.windows(2) {
        feed(&mut reader, &log[part[0]..part[1]], part[0] as u64, &mut out);
        let json = serde_json::to_string(&reader).unwrap();
        assert!(json.len() < 16 * 1024, "{} bytes of state", json.len());
        let again: Reader = serde_json::from_str(&json).unwrap();
        assert_eq!(again, reader);
        reader = again;
    }
    (reader, out)
}

#[test]
fn the_state_stays_small() {
    let line = format!("❌ API failed after 2 retries — HTTP 503: {}\n", "é".repeat(4_000));
    let said = format!("  ┊ {}\n", "x".repeat(9_000));
    let words = format!("     {}\n", "\"".repeat(9_000));
    let log = format!(
        "{HEAD}{}{line}{line}{FOOT}{line} ─  ⚕ Hermes  ──── \n{}{EXIT}75\n{said}{said}{said}{said}{said}{words}",
        words.repeat(30),
        words.repeat(30)
    );
    in_pieces(log.as_bytes(), &[0, 1, 2, 30, 35, 40, 70]);
}

fn kinds(log: &str) -> Vec<(SignalKind, Cause, Option<u16>, &str)> {
    let (_, signals) = in_pieces(log.as_bytes(), &[]);
    let line = |at: u64| log[usize::try_from(at).unwrap()..].lines().next().unwrap_or_default();
    signals.iter().map(|s| (s.kind, s.evidence.cause, s.evidence.http, line(s.evidence.offset))).collect()
}

#[test]
fn an_attempt_with_its_retries() {
    let log = String::from_utf8(recording("r429.t_79a491c3.log")).unwrap().replace("t_79a491c3", "t_1");
    let newest = log.rfind(QUERY).unwrap();
    let (reader, signals) = in_pieces(log.as_bytes(), &[3, 9, 12, 14, 15, 80]);
    let newest: Vec<_> = signals.iter().filter(|s| s.evidence.offset >= newest as u64).collect();
    let kinds: Vec<_> = newest.iter().map(|s| s.kind).collect();
    assert_eq!(kinds, [SignalKind::Retry, SignalKind::Retry, SignalKind::Terminal]);
    for s in &newest {
        let e = &s.evidence;
        assert_eq!((e.cause, e.http, e.endpoint_host.as_deref()), (Cause::RateLimit, Some(429), HOST));
        assert_eq!((e.attempt, e.at), (reader.attempt(), Some(Time(50))));
    }
    let kept =
        base::redact::redact("⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]").into_owned();
    assert_eq!(newest[0].evidence.words, kept);
    assert_eq!(reader.end(), LogEnd::Ended(newest[2].evidence.clone()));
}

#[test]
fn what_is_told_on_the_way() {
    use SignalKind::{Retry, Terminal, Tool};
    let retry = "⚠️  API call failed (attempt 1/2): RateLimitError [HTTP 429]";
    let detail = "   📝 Error: HTTP 429: You exceeded your current quota";
    let limited = "API call failed after 2 retries: HTTP 429: slow down";
    for (log, told) in [
        (
            format!("{HEAD}{retry}\n   🔌 Provider: x\n   🌐 Endpoint: http://h/v1\n{detail}\n"),
            vec![(Retry, Cause::Quota, Some(429), retry)],
        ),
        (format!("{HEAD}{retry}\nx\n"), vec![(Retry, Cause::RateLimit, Some(429), retry)]),
        (format!("Working.\n{retry}\n{detail}\nsession_id: x\n"), vec![]),
        (format!("{HEAD}  ┊ {retry}\n  ┊ {detail}\n+{retry}\n    {retry}\n"), vec![]),
        (
            format!("{HEAD}⚠️  Unknown tool 'x' — sending error to model\n"),
            vec![(Tool, Cause::MalformedCall, None, "⚠️  Unknown tool 'x' — sending error to model")],
        ),
        (format!("{HEAD}{NUDGE} — nudging\n"), vec![]),
        (format!("{HEAD}     HTTP 429: x\n429\nauthor 503\n"), vec![]),
        (
            format!("{limited}\n{limited}\n\nsession_id: x\n"),
            vec![(Terminal, Cause::RateLimit, Some(429), limited); 2],
        ),
        (format!("The server said:\n{limited}\nDone.\n"), vec![]),
        (format!("{}❌ API failed after 2 retries — HTTP 503: x\n", HEAD.replace("t_1", "t_2")), vec![]),
    ] {
        assert_eq!(kinds(&log), told, "{log}");
    }
}

#[test]
fn a_wrapped_box_is_quoted_unwrapped() {
    let log = format!(
        "{HEAD}⚠️  API call failed (attempt 2/2): RateLimitError [HTTP 429]\r\n\r\n{}{FOOT}",
        boxed("API call failed after 2 retries: HTTP 429: Rate\r\n     limit reached")
    );
    let end = last_attempt_end(log.as_bytes(), 0, "t_1").unwrap();
    assert_eq!(end.words, "API call failed after 2 retries: HTTP 429: Rate limit reached");
    assert_eq!(in_pieces(log.as_bytes(), &[]).1.last().unwrap().evidence, end);
}

#[test]
fn the_last_words() {
    let words = |log: &str| in_pieces(log.as_bytes(), &[2, 4, 5]).0.last_words();
    let tools = "  ┊ 💻 preparing terminal…\n  ┊ 💻 $ ls  0.1s\n";
    let answer = "╭─ ⚕ Hermes ───╮\n    I did\n⚠️ x\n    this.\n╰──────╯\n";
    assert_eq!(words(&format!("{HEAD}{tools}{answer}{FOOT}")), ["💻 $ ls  0.1s", "I did this."]);
    assert_eq!(words(&format!("{HEAD}{}{FOOT}", boxed("Done,\r\n     all of it."))), ["Done, all of it."]);
    assert_eq!(words(&format!("{HEAD}{}{FOOT}", boxed("HTTP 401: no"))), ["HTTP 401: no"]);
    let failed = "⚠️  API call failed (attempt 1/2): AuthenticationError [HTTP 401]\n";
    assert_eq!(words(&format!("{HEAD}{failed}{}{FOOT}", boxed("HTTP 401: no"))), [""; 0]);
    assert_eq!(words("Line one.\n\nLine two.\n\nsession_id: x\n"), ["Line one.", "Line two."]);
    assert_eq!(words(&format!("{HEAD}{}", tools.repeat(9))).len(), 5);
    assert_eq!(words(&format!("{HEAD}{tools}{HEAD}")), [""; 0]);
}

#[test]
fn a_window_within_an_attempt_is_not_sure_that_no_tool_was_used() {
    let log = format!("x\n{NUDGE} — nudging\nResume this session with:\n{FOOT}");
    assert_eq!(last_attempt_end(log.as_bytes(), 0, "t_1").map(|e| e.cause), Some(Cause::ProtocolViolation));
    assert_eq!(last_attempt_end(log.as_bytes(), 9, "t_1"), None);
}

proptest! {
    #[test]
    fn any_pieces_are_the_same_as_one(
        order in proptest::collection::vec(0..FRAGMENTS.len(), 0..30),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        let log: String = order.iter().map(|i| FRAGMENTS[*i]).collect();
        prop_assert_eq!(in_pieces(log.as_bytes(), &cuts), in_pieces(log.as_bytes(), &[]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), base in any::<u32>()) {
        let _ = last_attempt_end(&bytes, u64::from(base), "t_1");
    }

    /// Fragments of the format in any order: no panic, and the evidence always lies on a line start of the
    /// input.
    #[test]
    fn any_order_of_lines_gives_a_line_of_the_input(order in proptest::collection::vec(0..FRAGMENTS.len(), 0..24)) {
        let log: String = order.iter().map(|i| FRAGMENTS[*i]).collect();
        if let Some(evidence) = last_attempt_end(log.as_bytes(), 7, "t_1") {
            let at = usize::try_from(evidence.offset).unwrap() - 7;
            prop_assert!(at == 0 || log.as_bytes()[at - 1] == b'\n');
        }
    }
}

const FRAGMENTS: &[&str] = &[
    HEAD,
    FOOT,
    "\n",
    "\u{1b}[",
    "\u{1b}]x",
    "\nsession_id: x\n",
    "[kanban-worker-exit] rc=75\n",
    " ─  ⚕ Hermes  ──── \n",
    "     HTTP 429: x\n",
    " ────── \n",
    "HTTP 402: x\n",
    "❌ Non-retryable error (HTTP 401): HTTP 401: x\n",
    "❌ Non-retryable client error (HTTP 401). Aborting.\n",
    "  ┊ x\n",
    "╭─ x\n",
    "⚠ Iteration budget reached (6/6)\n",
    "Goodbye! ⚕\n",
    "⚠️ Kanban worker tried to exit without kanban_complete/kanban_block — nudging to finish\n",
    "❌",
    "HTTP 4",
];

#[test]
fn a_worker_that_wrote_its_exit_code_is_leaving_until_another_attempt_begins() {
    let left = |log: &str| {
        let mut reader = Reader::new("t_1");
        feed(&mut reader, log.as_bytes(), 0, &mut Vec::new());
        reader.is_left()
    };
    assert!(!left(&format!("{HEAD}{FOOT}\n")));
    assert!(left(&format!("{HEAD}{FOOT}\n{EXIT}75\n\n")));
    assert!(!left(&format!("{HEAD}{FOOT}\n{EXIT}75\nAnfrage: work kanban task t_1\n")));
    assert!(!left(&format!("{HEAD}{FOOT}\n{EXIT}75\nit goes on\n")));
}
