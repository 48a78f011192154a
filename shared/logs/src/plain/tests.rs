use proptest::prelude::*;

use super::*;
use crate::session::testing::{SEEN, ended, pieces, read, recording};

fn end(text: &str) -> Option<(Cause, Option<u16>)> {
    ended(&read(Reader::new(), text).0)
}

#[test]
fn a_prompt_that_an_agent_prints_is_no_failure() {
    let prompt = "Mend the client. It was seen to print:\nHTTP 429 Too Many Requests\n\nTask t_1a2b3c4d: Mend the client\n";
    let packet = "\nYou are resuming an interrupted task.\n\nAutopsy of the interrupted attempt:\n- rate_limit: HTTP 429: slow down\n\n\
                  Comments:\n- sol, 2026-11-21T08:17:34Z: HTTP 429 Too Many Requests\n";
    for (log, want) in [
        (prompt.to_owned(), None),
        (format!("{prompt}{packet}"), None),
        (format!("{prompt}Segmentation fault\n"), None),
        (format!("{prompt}HTTP 503\n"), Some((Cause::Overloaded, Some(503)))),
        ("HTTP 429 Too Many Requests\nTask t_x: gave up\n".to_owned(), Some((Cause::RateLimit, Some(429)))),
    ] {
        assert_eq!(end(&log), want, "{log}");
    }
}

#[test]
fn the_last_lines_are_quoted_where_none_is_known() {
    for (log, want) in [
        ("one\ntwo\n\nthree\n  four\n", &["two", "three", "four"][..]),
        ("\u{1b}[31mno such model\u{1b}[0m\n\u{1b}[0m\n", &["no such model"]),
        ("HTTP 503: busy\nbye\n", &[]),
        ("", &[]),
    ] {
        assert_eq!(pieces(Reader::new(), log).last_words(), want, "{log}");
    }
}

#[test]
fn what_a_test_runner_sums_up_was_the_output_of_tests() {
    let failure =
        "openai.RateLimitError: Error code: 429 - {'error': {'type': 'insufficient_quota'}}\n".to_owned();
    let of = |rest: &str| end(&format!("{failure}{rest}"));
    for summary in [
        "FAILED tests/test_llm.py::test_x\n1 failed in 2.1s\n",
        "FAILED tests/test_llm.py::test_x - openai.RateLimitError: Error code: 429 - {}\n",
        "ERROR tests/test_llm.py::test_x\n",
        "=========== 1 failed, 12 passed, 2 warnings in 62.10s (0:01:02) ===========\n",
        "\u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, \u{1b}[32m3 passed\u{1b}[0m\u{1b}[31m in 2.10s\u{1b}[0m\n",
        "1 error in 0.5s\n",
        "\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s\n",
        "error: test failed, to rerun pass `-p app --lib`\n",
        "     Summary [   0.512s] 4 tests run: 3 passed, 1 failed, 0 skipped\n",
        "FAIL\nFAIL\tgithub.com/acme/llm\t0.005s\nFAIL\n",
        "--- FAIL: TestQuota (0.00s)\n",
        "ok  \tgithub.com/acme/llm\t0.005s\n",
        "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 5 passed, 6 total\nSnapshots:   0 total\n",
        " Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n   Duration  1.20s\n",
        "----------------------------------------------------------------------\nRan 3 tests in 0.002s\n\nFAILED (errors=1)\n",
    ] {
        assert_eq!(of(summary), None, "{summary}");
        // What ends the attempt after its tests is not their output.
        let later = end(&format!("{summary}HTTP 503: busy\n"));
        assert_eq!(later, Some((Cause::Overloaded, Some(503))), "{summary}");
    }
    for other in [
        "3 attempts failed in 20s\n",
        "2 failed in the first run\n",
        "1 failed\n",
        "Ran out of retries\n",
        "FAILED to reach the provider\n",
        "FAIL: no answer\n",
        "ok then\n",
        "ERROR app::client: gave up\n",
        "Tests: none were run\n",
        "test results are missing\n",
        "Summary of the session\n",
    ] {
        assert_eq!(of(other), Some((Cause::Quota, Some(429))), "{other}");
    }
}

#[test]
fn lines_that_state_a_failure() {
    let http = |cause, status| Some((cause, Some(status)));
    for (line, want) in [
        ("HTTP 429: Rate limit reached for requests per min", http(Cause::RateLimit, 429)),
        ("HTTP 429", http(Cause::RateLimit, 429)),
        ("HTTP/1.1 503 Service Unavailable", http(Cause::Overloaded, 503)),
        ("429 Too Many Requests", http(Cause::RateLimit, 429)),
        ("Error: 429 Too Many Requests", http(Cause::RateLimit, 429)),
        (r#"Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}"#, http(Cause::RateLimit, 429)),
        ("Error code: 429 - {'error': {'type': 'insufficient_quota'}}", http(Cause::Quota, 429)),
        (
            "Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}",
            http(Cause::Credential, 401),
        ),
        ("Error code: 402 - {'error': 'Insufficient credits'}", http(Cause::Quota, 402)),
        ("Error code: 404 - {'error': 'The model x does not exist'}", http(Cause::ModelMissing, 404)),
        ("2026-11-21 08:17:34,678 ERROR [api] HTTP 529: Overloaded", http(Cause::Overloaded, 529)),
        ("[2026-11-21T08:17:34Z] [ERROR] status=503", http(Cause::Overloaded, 503)),
        ("[08:17:34] error: status code: 500", http(Cause::ServerError, 500)),
        ("ERROR: exceeded retry limit, last status: 429 Too Many Requests", http(Cause::RateLimit, 429)),
        ("ERROR: You've hit your usage limit. Try again at 9:20 AM.", Some((Cause::Quota, None))),
        ("API Error: 529 Overloaded. This is a server-side issue", http(Cause::Overloaded, 529)),
        ("API Error: Request rejected (429) · This request would exceed", http(Cause::RateLimit, 429)),
        ("API Error: Unable to connect to API (ConnectionRefused)", Some((Cause::ConnectionRefused, None))),
        ("Claude usage limit reached. Your limit will reset at 3pm (UTC).", Some((Cause::Quota, None))),
        ("API Error: Repeated 529 Overloaded errors", Some((Cause::Overloaded, Some(529)))),
        ("Error: got status: 429 Too Many Requests", Some((Cause::RateLimit, Some(429)))),
        (
            "stream error: exceeded retry limit, last status: 429 Too Many Requests",
            Some((Cause::RateLimit, Some(429))),
        ),
        ("You've hit your session limit · resets 9:50pm (Europe/Berlin)", Some((Cause::Quota, None))),
        ("Claude AI usage limit reached|1795252800", Some((Cause::Quota, None))),
        ("Invalid API key · Please run /login", Some((Cause::Credential, None))),
        (
            "Your organization does not have access to Claude. Please login again or contact your administrator.",
            Some((Cause::Credential, None)),
        ),
        (
            "Your account does not have access to Claude Code. Please run /login.",
            Some((Cause::Credential, None)),
        ),
        ("Please run /login · API Error: 403 Forbidden", http(Cause::Credential, 403)),
        ("Credit balance is too low", Some((Cause::Quota, None))),
        ("You're out of extra usage · resets 9pm (Europe/Berlin)", Some((Cause::Quota, None))),
        ("You’re out of extra usage ∙ resets 9pm", Some((Cause::Quota, None))),
        (
            "ERROR: Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.",
            Some((Cause::Credential, None)),
        ),
        (
            "Your authentication session could not be refreshed automatically. Please log out and sign in again.",
            Some((Cause::Credential, None)),
        ),
        ("ERROR: Your workspace is out of credits. Add credits to continue.", Some((Cause::Quota, None))),
        ("openai.RateLimitError: Error code: 429 - {'error': {}}", http(Cause::RateLimit, 429)),
        ("openai.APIConnectionError: Connection error.", Some((Cause::ConnectionRefused, None))),
        ("anthropic.APIStatusError: Error code: 529 - {'type': 'error'}", http(Cause::Overloaded, 529)),
        ("anthropic.AuthenticationError: invalid x-api-key", Some((Cause::Credential, None))),
        ("ERROR:app.llm:Error code: 429 - {'error': {}}", http(Cause::RateLimit, 429)),
        (
            "google.genai.errors.ClientError: 403 PERMISSION_DENIED. {'error': {'message': 'API key was reported as leaked'}}",
            http(Cause::Credential, 403),
        ),
        (
            "✗ Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 2 hours.",
            Some((Cause::RateLimit, None)),
        ),
        ("Error: Rate limit exceeded. Please try again later.", Some((Cause::RateLimit, None))),
        (
            "Error: Error from provider (Console): Rate limit exceeded. Please try again later.",
            Some((Cause::RateLimit, None)),
        ),
        (
            "Error from provider (Console): Rate limit exceeded. Please try again later.",
            Some((Cause::RateLimit, None)),
        ),
        ("FreeUsageLimitError: Rate limit exceeded. Please try again later.", Some((Cause::RateLimit, None))),
        (
            "TerminalQuotaError: You have exhausted your capacity on this model. Your quota will reset after 1h53m4s.",
            Some((Cause::Quota, None)),
        ),
        (
            "Error when talking to Gemini API Full report available at: /tmp/gemini-client-error-Turn.run-x.json TerminalQuotaError: You have exhausted your daily quota on this model.",
            Some((Cause::Quota, None)),
        ),
        (
            "Ran into this error: Rate limit exceeded: Max retries exceeded for rate limit error.",
            Some((Cause::RateLimit, None)),
        ),
        (
            "Rate limit exceeded: Request failed with status: 429 Too Many Requests. Message: slow down",
            http(Cause::RateLimit, 429),
        ),
        (
            "You've reached your Fable 5 limit. Run /usage-credits to continue or switch models with /model.",
            Some((Cause::Quota, None)),
        ),
        ("You've reached your Fable 5 limit · resets 3am", Some((Cause::Quota, None))),
        ("You have reached your weekly limit · resets Nov 24, 5pm (UTC)", Some((Cause::Quota, None))),
        ("Limit reached · resets Dec 17 at 6am (Europe/Oslo)", Some((Cause::Quota, None))),
        (
            "You've reached your Opus 4.6 limit. Run /usage-credits to continue or switch models with /model.",
            Some((Cause::Quota, None)),
        ),
        ("You've reached your Opus 4.5 limit · resets 3am", Some((Cause::Quota, None))),
        (
            "You've reached your Opus 4.8 limit. Resets at 3:00pm. Run /usage-credits to continue.",
            Some((Cause::Quota, None)),
        ),
        (
            "You've hit your monthly spend limit. Run /usage-credits to manage your limit.",
            Some((Cause::Quota, None)),
        ),
        ("You've hit your monthly spend limit. /model to switch models.", Some((Cause::Quota, None))),
        ("You're out of usage credits. Run /usage-credits to continue.", Some((Cause::Quota, None))),
        ("OpenAI error: You exceeded your current quota, please check your plan", Some((Cause::Quota, None))),
        ("OpenAI error: Rate limit reached for gpt-4o", Some((Cause::RateLimit, None))),
        ("Azure OpenAI error: Rate limit reached", Some((Cause::RateLimit, None))),
        ("Anthropic error: overloaded_error", Some((Cause::Overloaded, None))),
        ("Google Gemini API error: Resource has been exhausted", Some((Cause::RateLimit, None))),
        (
            "RetryableQuotaError: You have exhausted your capacity on this model. Your quota will reset after 3s.",
            Some((Cause::RateLimit, None)),
        ),
        (
            "Error generating content via API. Full report available at: /tmp/gemini-client-error-x.json RetryableQuotaError: No capacity available for model gemini-3-pro on the server",
            Some((Cause::Overloaded, None)),
        ),
        (
            "[2026-11-21 08:17:34] Error: Rate limit exceeded. Please try again later.",
            Some((Cause::RateLimit, None)),
        ),
        (
            "error: failed to run prompt: provider.auth_error: 403 You've reached your 5-hour usage limit. It resets soon.",
            http(Cause::Quota, 403),
        ),
        ("HTTP 503: backend is draining", http(Cause::Overloaded, 503)),
        ("HTTP 429: please slow down your requests", http(Cause::RateLimit, 429)),
        ("HTTP 429: too many requests in one window", http(Cause::RateLimit, 429)),
        ("ERROR HTTP 429: the bucket is empty", http(Cause::RateLimit, 429)),
        ("OpenAI API error: Connection error.", Some((Cause::ConnectionRefused, None))),
        ("[GoogleGenerativeAI Error]: API key not valid.", Some((Cause::Credential, None))),
        ("AI_APICallError: Overloaded", Some((Cause::Overloaded, None))),
        (
            "botocore.errorfactory.ThrottlingException: An error occurred (ThrottlingException) when calling the InvokeModel operation: Too many tokens",
            Some((Cause::RateLimit, None)),
        ),
        (r#"{"level":"error","status":429,"msg":"slow down"}"#, http(Cause::RateLimit, 429)),
        (r#"{"level":"ERROR","error":{"statusCode":503,"message":"busy"}}"#, http(Cause::Overloaded, 503)),
    ] {
        assert_eq!(end(&format!("working\n{line}\n")), want, "{line}");
        assert_eq!(end(&format!("{line}\n\n  \nexit status 1")), want, "{line}");
        assert_eq!(end(&format!("\u{1b}[31m{line}\u{1b}[0m")), want, "{line}");
    }
}

#[test]
fn lines_that_state_none() {
    for line in [
        "503 lines",
        "429 tests passed",
        "429",
        "503",
        "wrote 429 Too Many Requests to the page",
        "the author left",
        "You're out of extra usage examples, so I wrote two more",
        "Your workspace is ready",
        "- Your access token could not be refreshed",
        "authored by a person",
        "    HTTP 429: quoted in an answer",
        "> HTTP 429: quoted",
        "+    return Error(\"HTTP 429\")",
        "test status 429 is retried ... ok",
        "status 429 is handled by the client",
        "HTTP 429 handling was added",
        "HTTP 404: page not found",
        "HTTP 403 Forbidden",
        "HTTP 401: login first",
        "HTTP 4290",
        "HTTP 429.5",
        "404 Not Found",
        "Error: 503 lines differ",
        "INFO HTTP 429: seen in the fixture",
        "2026-11-21 08:17:34 DEBUG status=503",
        "I fixed the RateLimitError: it is gone",
        "RateLimitError",
        "requests.exceptions.ConnectionError: refused",
        "ValueError: HTTP 429",
        "NotFoundError: no such file",
        r#"{"level":"info","status":429}"#,
        r#"{"status":429}"#,
        r#"{"level":"error","lines":503}"#,
        "You've hit your stride; the limit is near",
        "You've hit your target. There is no limit",
        "We reached the limit reached before; resets are hard",
        "API Error: none seen",
        "Rate limit reached for the day, I guess",
        "2026-11-21 08:17:34 WARN HTTP 429: trying again",
        "src/client.py:41:    raise RateLimitError(\"Error code: 429 - x\")",
        "botocore.exceptions.ClientError: An error occurred (ThrottlingException) when calling the ListStacks operation: Rate exceeded",
        "httpx.HTTPStatusError: Client error '403 Forbidden' for url 'https://pypi.example/simple'",
        "Error response from daemon: toomanyrequests: You have reached your pull rate limit.",
        "429 Too Many Requests is what the limiter answers",
        "No azure error: unauthorized users now get the login page.",
        "I fixed the bug where openai.RateLimitError: was swallowed.",
        "openai.RateLimitError: was swallowed, so I let it pass.",
        "Codex reports no error: the quota page now renders.",
        "Claude finished without an error: 3 files changed, unauthorized route removed",
        "No Azure error: unauthorized users now get the login page.",
        "Commit: handle openai.RateLimitError: retry",
        "HTTP 429: returned as the ticket asked",
        "Invalid API key · Please run /login is the message",
        "Rate limit exceeded. Please try again later.",
        "Error: Rate limit exceeded. Please try again later. is what it prints",
        "Rate limit exceeded: the banner text is now translated.",
        "Ran into this error: the rate limit is exceeded in a test",
        "You've reached your weekly limit of 30 recipes",
        "You have reached your weekly limit of examples. Run the rest",
        "Limit reached: resets are shown in the page",
        "Error from provider (Console): OpenCode's free tier can only be used in OpenCode",
        "You've reached your Opus 4.6 limit of examples. Run the rest",
        "You've hit your target. Run /usage-credits to see the limit",
        "You're out of usage credits. I wrote two more",
        "No OpenAI error: Rate limit reached is handled",
        "Every Azure error: Rate limit reached is handled",
        "HTTP 429: the client backs off.",
        "HTTP 503: tests pass with the new retry",
        "HTTP 429: retries added and tested",
        "HTTP 401: missing API key now shows the login form",
        "OpenAI API error: unauthorized users now get the login page.",
        "openai.RateLimitError: quota page now renders",
        "Limit reached · the counter now resets each night",
        "Limit reached · resets are shown in the page",
        "Error from provider (Console): Rate limit exceeded. Please try again later. is what it prints",
        "Ran into this error: Rate limit exceeded: I fixed it with a sleep.",
        "[2026-11-21 08:17:34] Error: Rate limit exceeded. Please try again later. is what it prints",
    ] {
        assert_eq!(end(line), None, "{line}");
        let (_, signals) = read(Reader::new(), line);
        assert!(signals.is_empty(), "{line}: {signals:?}");
    }
}

#[test]
fn only_the_last_lines_end_an_attempt() {
    let failure = "HTTP 429: slow down\n";
    let other = |n: usize| "work\n".repeat(n);
    let is_end = |text: &str| end(text).is_some();
    assert!(is_end(&format!("{failure}{}", other(3))));
    assert!(!is_end(&format!("{failure}{}", other(4))));
    assert!(!is_end(&format!("{failure}{failure}{}", other(4))));
    assert!(is_end(&format!("{}{}", failure.repeat(3), other(11))));
    assert!(!is_end(&format!("{}{}", failure.repeat(3), other(12))));
    let spread = |gap: usize| format!("{failure}{}{failure}{}{failure}{}", other(gap), other(gap), other(4));
    assert!(is_end(&spread(8)) && !is_end(&spread(9)));
    let mixed = format!("{failure}HTTP 503: busy\n{failure}{}", other(4));
    assert!(!is_end(&mixed));
}

#[test]
fn a_limit_says_when_it_ends() {
    let (reader, _) = read(Reader::new(), "ERROR: HTTP 429: try again in 20s\n");
    let LogEnd::Ended(e) = reader.end() else { panic!() };
    assert_eq!((e.at, e.resets), (Some(SEEN), Some(SEEN.plus(20))));
    assert_eq!(e.words, "ERROR: HTTP 429: try again in 20s");
}

#[test]
fn what_stands_beneath_a_failure_belongs_to_it() {
    let answer = "ApiError: got status: 429 . {\n  \"error\": {\n    \"message\": \"You exceeded your current quota\"\n  }\n}\n";
    let trace = "APIError: 529 {\"type\":\"overloaded_error\"}\n    at a (a.js:1:2)\n    at b (b.js:3:4)\n    at c (c.js:5:6)\n    at d (d.js:7:8)\n";
    let http = |cause, status| Some((cause, Some(status)));
    assert_eq!(end(answer), http(Cause::Quota, 429));
    assert_eq!(end(trace), http(Cause::Overloaded, 529));
    // No more than so many lines: a file that is printed beneath does not belong to it.
    assert_eq!(end(&format!("HTTP 429: x\n{}", "  y\n".repeat(59))), http(Cause::RateLimit, 429));
    assert_eq!(end(&format!("HTTP 429: x\n{}", "  y\n".repeat(70))), None);
}

#[test]
fn an_answer_somebody_asked_to_see_is_no_failure() {
    assert_eq!(end("HTTP/2 429\ncontent-type: text/html\nserver: x\n"), None);
    assert_eq!(end("HTTP/2 429\n"), Some((Cause::RateLimit, Some(429))));
}

#[test]
fn a_cut_line_is_data() {
    let mut reader = Reader::default();
    let mut out = Vec::new();
    reader.line(&Line { text: "HTTP 429: x", offset: 0, is_cut: true, seen: SEEN }, &mut out);
    assert_eq!((reader.end(), out.len()), (LogEnd::NoEvidence, 0));
}

/// Recordings of agents are full of statuses; read as plain text they say nothing.
#[test]
fn transcripts_are_no_plain_text() {
    for file in ["claude/api_429_exhausted.jsonl", "codex/429_turn_failed.jsonl"] {
        assert_eq!(end(&recording(file)), None, "{file}");
    }
}

proptest! {
    #[test]
    fn pieces_come_to_the_same(all in prop::collection::vec("(HTTP 429: x|HTTP 503|work|1 failed in 2s|| {2}|Error code: 4[0-9]{2} - x)", 0..40)) {
        pieces(Reader::new(), &all.join("\n"));
    }

    #[test]
    fn ordinary_words_are_nothing(line in "[a-z]{1,9}( [a-z0-9.,:()-]{1,9}){0,12}") {
        prop_assume!(!line.contains("limit") && !line.starts_with("status"));
        prop_assert_eq!(end(&line), None);
    }

    #[test]
    fn never_panics(line in any::<String>(), rest in "(HTTP |Error code: |status=|Error: )[0-9]{0,4}.{0,9}") {
        let _ = (end(&line), end(&rest));
    }
}
