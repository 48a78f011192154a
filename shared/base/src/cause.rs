//! Why an attempt ended, who acts on it, and which words of a board error or a provider say so.
//!
//! The words are read narrowly: a text that merely contains a number or a suspicious syllable has no cause
//! here, because a wrong cause moves a user's task.

use serde::{Deserialize, Serialize};

mod blocker;
mod provider;
mod status;
mod words;

pub use blocker::Blocker;
pub use provider::{of_api_error, of_failure, of_http};
pub use provider::{of_class, of_class_name};
pub use status::{stated, stated_at_start};
pub use words::{names_a_model_api, names_a_provider, of_words, reads_as_refusal};

use crate::named_enum::named_enum;

named_enum! {
    /// Why an attempt at a task ended.
    pub enum Cause {
        /// The provider limits requests or tokens for minutes (429).
        RateLimit = "rate_limit",
        /// A quota window or the money is used up (429 naming a quota, 402, and 403/404/400 that speak of
        /// billing).
        Quota = "quota",
        /// The provider has no capacity (503, 529).
        Overloaded = "overloaded",
        /// The provider failed in another way (other 5xx, or no answer in time).
        ServerError = "server_error",
        /// The key or the account is refused or missing (401, 403).
        Credential = "credential",
        /// The provider does not have this model (404).
        ModelMissing = "model_missing",
        /// No connection to the provider's endpoint, or it was cut.
        ConnectionRefused = "connection_refused",
        /// The runtime's own configuration does not allow a start.
        Misconfigured = "misconfigured",
        /// The attempt used up its iterations.
        IterationBudget = "iteration_budget",
        /// The worker left without the closing board call.
        ProtocolViolation = "protocol_violation",
        /// The model sent calls or answers the runtime cannot use.
        MalformedCall = "malformed_call",
        /// A tool failed. What tools do is the task's own business: it never ends an attempt, and there is no card for it.
        ToolError = "tool_error",
        /// The worker is dead and nothing says why.
        WorkerGone = "worker_gone",
        /// The worker or its workspace could not be started.
        SpawnError = "spawn_error",
        /// The worker ended itself with an error code, or by a signal nobody sends to stop it.
        ExitCode = "exit_code",
        /// The attempt ran longer than it was allowed to, or showed no progress for too long.
        TimedOut = "timed_out",
        /// The attempt surely ended on a failure line, but on none of the kinds above (a safety filter, a full
        /// context).
        Unknown = "unknown",
    }
}

/// Which watcher acts on a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// `heal` may requeue or reset.
    Heal,
    /// `synthesize-distress` and `route-blocked`; `heal` skips it.
    Distress,
}

impl Cause {
    /// Who acts. Only what lies outside the task, its model and its provider belongs to `heal`.
    pub fn owner(self) -> Owner {
        match self {
            Cause::WorkerGone | Cause::SpawnError | Cause::ConnectionRefused => Owner::Heal,
            Cause::RateLimit
            | Cause::Quota
            | Cause::Overloaded
            | Cause::ServerError
            | Cause::Credential
            | Cause::ModelMissing
            | Cause::Misconfigured
            | Cause::IterationBudget
            | Cause::ProtocolViolation
            | Cause::MalformedCall
            | Cause::ToolError
            | Cause::ExitCode
            | Cause::TimedOut
            | Cause::Unknown => Owner::Distress,
        }
    }

    /// Whether one more request would add to what the provider is already refusing.
    pub fn is_provider_pressure(self) -> bool {
        matches!(self, Cause::RateLimit | Cause::Quota | Cause::Overloaded | Cause::ServerError)
    }

    /// Whether words with this cause may state when it ends.
    pub fn can_end(self) -> bool {
        matches!(self, Cause::RateLimit | Cause::Quota | Cause::Overloaded)
    }

    /// Whether it lies with the provider and not with the task; see [`Blocker::lies_with_provider`].
    pub fn lies_with_provider(self) -> bool {
        self.is_provider_pressure() || self == Cause::Credential
    }

    /// The blocker type of a distress card; `None` where no card is made.
    pub fn blocker_type(self) -> Option<Blocker> {
        match self {
            Cause::RateLimit | Cause::Quota | Cause::Overloaded | Cause::ServerError => {
                Some(Blocker::RateLimited)
            }
            Cause::Credential => Some(Blocker::CredentialFailure),
            Cause::ModelMissing
            | Cause::ConnectionRefused
            | Cause::Misconfigured
            | Cause::ProtocolViolation
            | Cause::MalformedCall
            | Cause::SpawnError
            | Cause::ExitCode
            | Cause::Unknown => Some(Blocker::EnvBlocker),
            Cause::IterationBudget | Cause::TimedOut => Some(Blocker::IterationBudget),
            Cause::WorkerGone | Cause::ToolError => None,
        }
    }
}

/// What an error text of the board means (`task_runs.error`, `tasks.last_failure_error`, the `error` of an
/// event). `None` means the text does not say, never that nothing happened. The forms are those of Hermes
/// 0.19.
pub fn of_text(error: &str) -> Option<Cause> {
    let e = error.trim();
    if let Some(rest) = e.strip_prefix("pid ") {
        return of_pid_text(rest);
    }
    // The operator did this; it is not a failure.
    if e.starts_with("manual_reclaim") {
        return None;
    }
    if let Some((_, cause)) = OPENINGS.iter().find(|(opening, _)| e.starts_with(opening)) {
        return Some(*cause);
    }
    if e.starts_with("elapsed ") && e.contains("s > limit ") {
        return Some(Cause::TimedOut);
    }
    if let Some((_, judge)) =
        e.split_once("judge error: ").filter(|_| e.starts_with("Goal-mode worker exhausted"))
    {
        return Some(of_class_name(judge).unwrap_or(Cause::IterationBudget));
    }
    if e.starts_with("Goal-mode worker exhausted its turn budget") {
        return Some(Cause::IterationBudget);
    }
    // `[Errno 13] Permission denied: '/path'`: the operating system at a spawn, not an account.
    if e.starts_with("[Errno ") {
        let refused = e.contains("Connection refused");
        return Some(if refused { Cause::ConnectionRefused } else { Cause::SpawnError });
    }
    of_api_error(after_opening(e)).map(|(cause, _)| cause)
}

/// Errors of the operating system that another start meets again: a right, a path that is not there or is something else, a file system
/// that cannot be written, a name that is too long, links in a circle.
const STAYING: [u32; 10] = [1, 2, 13, 17, 18, 20, 21, 30, 36, 40];

/// Whether a worker whose start failed so fails to start again until a user changes this host or the task.
pub fn stays(error: &str) -> bool {
    if of_text(error) != Some(Cause::SpawnError) {
        return false;
    }
    let number = error.split_once("[Errno ").and_then(|(_, rest)| rest.split_once(']'));
    match number.and_then(|(number, _)| number.parse().ok()) {
        Some(number) => STAYING.contains(&number),
        None => !error.contains("timed out") && !error.contains("temporar"),
    }
}

/// The path that such an error names: the last one in quotes.
pub fn path_of(error: &str) -> Option<&str> {
    let (before, _) = error.rsplit_once('\'')?;
    let (_, path) = before.rsplit_once('\'')?;
    path.starts_with('/').then_some(path)
}

/// Whether such an error says that a path is not there.
pub fn is_absent(error: &str) -> bool {
    error.contains("[Errno 2]")
}

const OPENINGS: &[(&str, Cause)] = &[
    ("worker gone (heal)", Cause::WorkerGone),
    ("stale_lock=", Cause::WorkerGone),
    // Of `board run`; a signal that nobody explains is a death.
    ("worker killed by signal ", Cause::WorkerGone),
    ("worker exited with code ", Cause::ExitCode),
    // 0.19 goes on with `calling`, 0.22 with the names of the calls.
    ("worker exited cleanly (rc=0) without ", Cause::ProtocolViolation),
    ("Iteration budget exhausted (", Cause::IterationBudget),
    ("no heartbeat for ", Cause::TimedOut),
    ("no heartbeat ever ", Cause::TimedOut),
    ("workspace: ", Cause::SpawnError),
    ("`hermes` executable not found", Cause::SpawnError),
    ("git worktree add failed", Cause::SpawnError),
    ("Permission denied: '", Cause::SpawnError),
    ("Billing or credits exhausted", Cause::Quota),
    ("Model generated invalid tool call", Cause::MalformedCall),
];

/// `23669 not alive`, `7 killed by signal 9`: what Hermes' sweep of dead workers writes after `pid `.
fn of_pid_text(rest: &str) -> Option<Cause> {
    let (pid, what) = rest.split_once(' ')?;
    if pid.is_empty() || !pid.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match what {
        "not alive" | "killed by signal 9" | "killed by signal 15" => Some(Cause::WorkerGone),
        // Exit code 75. Hermes 0.22 books so whatever the provider may do better next time, a used-up quota included.
        _ if what.starts_with("exited rate-limited") => Some(Cause::ServerError),
        // Exit code 78: a key, a model, a certificate or a firewall. Which of them only the worker's words say.
        _ if what.starts_with("exited on a terminal provider error") => of_last_output(what),
        _ if what.starts_with("exited with code ") || what.starts_with("killed by signal ") => {
            Some(Cause::ExitCode)
        }
        _ => None,
    }
}

/// What a worker that ended on its provider said last, as Hermes 0.22 appends it: its newest words with a status.
fn of_last_output(what: &str) -> Option<Cause> {
    let (_, said) = what.split_once("Worker's last output: ")?;
    let starts = said.rmatch_indices("HTTP ").map(|(at, _)| &said[at..]);
    starts.filter_map(of_api_error).map(|(cause, _)| cause).next()
}

/// The provider's words behind what Hermes puts in front of them.
fn after_opening(e: &str) -> &str {
    let e = e.strip_prefix("Error: ").unwrap_or(e);
    match e.strip_prefix("API call failed after ").and_then(|r| r.split_once(" retries: ")) {
        Some((n, detail)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => detail,
        _ => e,
    }
}

/// Whether Hermes' own respawn guard takes this `last_failure_error` for an account problem and leaves the
/// task `ready` for ever: exactly `_RESPAWN_BLOCKER_RE` of Hermes 0.19, jams included (`author`, `pid 429 not
/// alive`). Written by hand because compiling the pattern costs more than a whole pass.
pub fn hermes_guard_matches(error: &str) -> bool {
    let chars: Vec<char> = error.chars().collect();
    (0..chars.len()).any(|i| {
        let starts_word = i == 0 || !is_word(chars[i - 1]);
        starts_word && GUARD.iter().any(|pattern| ends_word(&chars[i..], pattern))
    })
}

/// Whether Hermes' guard holds a task back over a text that provably is not about a provider or a credential: what was
/// recognised belongs to the infrastructure, or all that matched is a word such as `author` or an OS permission error.
/// A text that is not understood does not count as proof.
pub fn guard_misreads(error: &str) -> bool {
    if !hermes_guard_matches(error) {
        return false;
    }
    if let Some(cause) = of_text(error) {
        return cause.owner() == Owner::Heal;
    }
    let lower = error.to_lowercase();
    let mut rest: Vec<&str> = lower.split(|c: char| !is_word(c)).filter(|w| !w.is_empty()).collect();
    if rest.iter().any(|w| ACCOUNT_WORDS.contains(w)) {
        return false;
    }
    rest.retain(|w| !AUTHOR_WORDS.contains(w));
    !hermes_guard_matches(&rest.join(" ").replace("permission denied", ""))
}

/// Words the guard's `auth\w*` takes for authentication (#117009).
const AUTHOR_WORDS: [&str; 5] = ["author", "authors", "authored", "authoring", "authorship"];
/// Words that make a refused permission a matter of an account rather than of a file.
const ACCOUNT_WORDS: [&str; 9] =
    ["account", "api", "credential", "credentials", "key", "model", "organization", "provider", "token"];

/// In these, a blank stands for one of `[\s_]`, `?` for an optional one of `[\s_-]`, a closing `*` for `\w*`.
const GUARD: &[&str] = &[
    "quota",
    "rate?limit",
    "429",
    "403",
    "auth*",
    "unauthorized",
    "forbidden",
    "billing",
    "subscription",
    "access denied",
    "permission denied",
    "invalid api key",
];

fn ends_word(text: &[char], pattern: &str) -> bool {
    let mut at = 0;
    for p in pattern.chars() {
        let next = text.get(at).copied();
        match p {
            // Whatever follows a word start ends at the word's end.
            '*' => return true,
            '?' if next.is_some_and(|c| is_gap(c) || c == '-') => at += 1,
            '?' => {}
            ' ' if next.is_some_and(is_gap) => at += 1,
            _ if next.is_some_and(|c| p != ' ' && c.to_ascii_lowercase() == p) => at += 1,
            _ => return false,
        }
    }
    text.get(at).is_none_or(|c| !is_word(*c))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_gap(c: char) -> bool {
    // Python counts the four information separators as space, Rust does not.
    c == '_' || c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    use super::*;

    #[test]
    fn the_guard_misreads_only_what_is_proven_harmless() {
        for text in [
            "pid 429 not alive",
            "the author left",
            "Permission denied",
            "[Errno 13] Permission denied: '/srv/x'",
            "workspace: permission_denied on /srv/author",
        ] {
            assert!(guard_misreads(text), "{text}");
        }
        for text in [
            "boom",
            "Unauthorized",
            "invalid api key",
            "403 Forbidden",
            "429 Too Many Requests",
            "rate limit reached",
            "You have hit your quota",
            "billing: card declined",
            "OAuth token expired; run hermes auth",
            "HTTP 403: permission denied",
            "permission denied for model m1",
            "authorization failed for author",
            "access denied",
        ] {
            assert!(!guard_misreads(text), "{text}");
        }
    }

    #[test]
    fn what_no_other_start_mends_stays() {
        for (error, stays, path) in [
            ("workspace: [Errno 13] Permission denied: '/srv/x'", true, Some("/srv/x")),
            ("workspace: [Errno 20] Not a directory: '/srv/file/x'", true, Some("/srv/file/x")),
            ("[Errno 2] No such file or directory: '/opt/hermes'", true, Some("/opt/hermes")),
            ("workspace: task t_1 has non-absolute workspace_path 'x'; use an absolute path", true, None),
            ("workspace: git worktree add failed for /srv/x on branch wt/t_1: fatal: invalid", true, None),
            ("`hermes` executable not found on PATH. Install Hermes Agent", true, None),
            ("workspace: [Errno 28] No space left on device: '/srv/x'", false, Some("/srv/x")),
            ("[Errno 11] Resource temporarily unavailable", false, None),
            ("[Errno 111] Connection refused", false, None),
            ("workspace: Command '['git']' timed out after 60 seconds", false, None),
            ("pid 7 not alive", false, None),
        ] {
            assert_eq!((super::stays(error), path_of(error)), (stays, path), "{error}");
        }
        assert!(is_absent("[Errno 2] No such file or directory: '/srv/x'"));
    }

    #[test]
    fn names_agree_with_serde_and_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for c in Cause::ALL {
            assert_eq!(serde_json::to_string(&c).unwrap(), format!("\"{c}\""));
            assert!(seen.insert(c.as_str()));
        }
    }

    #[test]
    fn each_cause_has_its_owner_and_its_blocker_type() {
        let heal: Vec<_> = Cause::ALL.into_iter().filter(|c| c.owner() == Owner::Heal).collect();
        assert_eq!(heal, [Cause::ConnectionRefused, Cause::WorkerGone, Cause::SpawnError]);
        for c in Cause::ALL {
            assert_eq!(c.is_provider_pressure(), c.blocker_type() == Some(Blocker::RateLimited), "{c}");
            let blocker = c.blocker_type().is_some_and(Blocker::lies_with_provider);
            assert_eq!(c.lies_with_provider(), blocker, "{c}");
            let has_way_on = c.owner() == Owner::Heal || c.blocker_type().is_some() || c == Cause::ToolError;
            assert!(has_way_on, "{c} has no card to go on");
            assert!(!(c.is_provider_pressure() && c.owner() == Owner::Heal), "{c}");
        }
        assert_eq!(Cause::Credential.blocker_type(), Some(Blocker::CredentialFailure));
        assert_eq!(Cause::IterationBudget.blocker_type(), Some(Blocker::IterationBudget));
        assert_eq!(Cause::WorkerGone.blocker_type(), None);
    }

    #[test]
    fn http_statuses() {
        for (status, message, cause) in [
            (429, "", Some(Cause::RateLimit)),
            (429, "Rate limit reached for requests per min (RPM): Limit 3, Used 3", Some(Cause::RateLimit)),
            (429, "Quota exceeded for metric: requests per minute", Some(Cause::RateLimit)),
            (429, "You exceeded your current quota, please check your plan", Some(Cause::Quota)),
            (429, "Weekly limit reached, usage limit resets at 9pm", Some(Cause::Quota)),
            (402, "", Some(Cause::Quota)),
            (401, "Invalid API key provided: sk-bad", Some(Cause::Credential)),
            (403, "Forbidden", Some(Cause::Credential)),
            (403, "Key limit exceeded (total limit)", Some(Cause::Quota)),
            (404, "The model m1 does not exist", Some(Cause::ModelMissing)),
            (404, "", Some(Cause::ModelMissing)),
            (404, "404 page not found", Some(Cause::Misconfigured)),
            (503, "Service temporarily unavailable", Some(Cause::Overloaded)),
            (529, "Overloaded", Some(Cause::Overloaded)),
            (500, "boom", Some(Cause::ServerError)),
            (502, "server overloaded", Some(Cause::Overloaded)),
            (400, "You're out of extra usage", Some(Cause::Quota)),
            (400, "foo is not a valid model ID", Some(Cause::ModelMissing)),
            (400, "messages: at least one is required", None),
            (413, "too large", None),
            (200, "", None),
            (999, "", None),
        ] {
            assert_eq!(of_http(status, message), cause, "{status} {message}");
        }
    }

    #[test]
    fn board_errors() {
        let violation = "worker exited cleanly (rc=0) without calling kanban_complete or kanban_block — protocol \
                         violation. If the prior run already did the work, verify it";
        let judge = "Goal-mode worker exhausted its turn budget (20/20) without meeting the goal. Last judge verdict: \
                     judge error: ";
        for (text, cause) in [
            ("pid 23669 not alive", Some(Cause::WorkerGone)),
            ("pid 429 not alive", Some(Cause::WorkerGone)),
            ("pid 403 killed by signal 9", Some(Cause::WorkerGone)),
            ("pid 7 killed by signal 15", Some(Cause::WorkerGone)),
            ("pid 7 killed by signal 11", Some(Cause::ExitCode)),
            ("pid 9 exited with code 1", Some(Cause::ExitCode)),
            ("pid 9 exited with code 429", Some(Cause::ExitCode)),
            (
                "pid 9 exited rate-limited (quota wall) — requeued without counting a failure",
                Some(Cause::ServerError),
            ),
            (
                "worker exited cleanly (rc=0) without kanban_complete, kanban_block or kanban_request_review — protocol",
                Some(Cause::ProtocolViolation),
            ),
            (
                "pid 9 exited on a terminal provider error (exit 78): the provider rejected this profile's",
                None,
            ),
            (
                "pid 9 exited on a terminal provider error (exit 78): fix it. Worker's last output: \"Check: • Is the key \
                 valid? Provider said: HTTP 401: Invalid API key provided: sk-bad. Find your key at",
                Some(Cause::Credential),
            ),
            (
                "pid 9 exited on a terminal provider error (exit 78): fix it. Worker's last output: \"HTTP 404: The model \
                 `m1` does not exist. Provider s",
                Some(Cause::ModelMissing),
            ),
            ("pid 9 exited with code 1 Worker's last output: 'HTTP 429: x'", Some(Cause::ExitCode)),
            ("pid x not alive", None),
            ("pid 7 not alive, HTTP 429: x", None),
            ("worker gone (heal)", Some(Cause::WorkerGone)),
            ("stale_lock=host:429:uuid", Some(Cause::WorkerGone)),
            ("manual_reclaim: HTTP 429: seen", None),
            (violation, Some(Cause::ProtocolViolation)),
            ("Iteration budget exhausted (6/6) — task could not complete", Some(Cause::IterationBudget)),
            ("elapsed 12s > limit 10s", Some(Cause::TimedOut)),
            ("no heartbeat for 4000s after 20000s running", Some(Cause::TimedOut)),
            ("workspace: git worktree add failed for /w: fatal: HTTP 403", Some(Cause::SpawnError)),
            ("`hermes` executable not found on PATH. Install", Some(Cause::SpawnError)),
            ("[Errno 13] Permission denied: '/root/auth.json'", Some(Cause::SpawnError)),
            ("Permission denied: '/path'", Some(Cause::SpawnError)),
            ("[Errno 111] Connection refused", Some(Cause::ConnectionRefused)),
            ("HTTP 429: Rate limit reached", Some(Cause::RateLimit)),
            ("HTTP 402", Some(Cause::Quota)),
            ("HTTP 503 — Service unavailable — Ray 1", Some(Cause::Overloaded)),
            ("Error code: 401 - {'error': 'no'}", Some(Cause::Credential)),
            ("API call failed after 3 retries: HTTP 529: Overloaded", Some(Cause::Overloaded)),
            ("API call failed after 3 retries: Connection error.", Some(Cause::ConnectionRefused)),
            ("Error: HTTP 404: model gone", Some(Cause::ModelMissing)),
            ("HTTP 4290: odd", None),
            ("HTTP 429.5", None),
            ("the author wrote HTTP 429: into the docs", None),
            ("author", None),
            ("line 429 differs", None),
            ("unauthorized change of scope", None),
            ("", None),
        ] {
            assert_eq!(of_text(text), cause, "{text}");
        }
        assert_eq!(of_text(&format!("{judge}RateLimitError")), Some(Cause::RateLimit));
        assert_eq!(of_text(&format!("{judge}AuthenticationError")), Some(Cause::Credential));
        assert_eq!(of_text(&format!("{judge}NoRateLimitErrorHere")), Some(Cause::IterationBudget));
        assert_eq!(of_text("Goal-mode worker exhausted its turn budget (2/2)"), Some(Cause::IterationBudget));
    }

    /// Our own texts must never jam Hermes' guard.
    #[test]
    fn what_heal_writes_does_not_jam_the_guard() {
        assert!(!hermes_guard_matches("worker gone (heal)"));
        assert!(hermes_guard_matches("pid 429 not alive"));
        assert!(hermes_guard_matches("the author"));
    }

    #[test]
    fn the_guard_means_what_python_means() {
        let words = "quota|QUOTA|quotas|rate|limit|rate limit|rate_limit|rate-limit|ratelimit|Rate\tLimit|rate  limit|\
                     rate.limit|limits|429|4290|403|1403|auth|author|oauth|Auth_x|auth-y|unauthorized|forbidden|\
                     billing|billings|subscription|access|denied|access denied|access_denied|access-denied|\
                     Permission denied|permission_denied|invalid api key|invalid_api_key|invalid-api-key|\
                     invalid api|key|pid|é|éauth|authé|ß|日本|x\u{1f}y";
        let words: Vec<&str> = words.split('|').collect();
        let joins = ["", " ", "_", "-", ":", "\u{a0}", "\u{1c}", ".", "é", "\n", "(", "/"];
        let mut texts: Vec<String> = Vec::new();
        for a in &words {
            for b in &words {
                texts.extend(joins.iter().map(|j| format!("{a}{j}{b}")));
            }
        }
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let arbitrary =
            proptest::string::string_regex("[ a-z_429403\\-]{0,24}(rate.limit|403|auth.?)?[ -~]{0,8}")
                .unwrap();
        for _ in 0..2_000 {
            texts.push(arbitrary.new_tree(&mut runner).unwrap().current());
        }
        let theirs = ask_python(&texts);
        assert_eq!(theirs.len(), texts.len());
        assert!(theirs.iter().any(|m| *m) && theirs.iter().any(|m| !*m));
        for (text, python) in texts.iter().zip(theirs) {
            assert_eq!(hermes_guard_matches(text), python, "{text:?}");
        }
    }

    fn ask_python(texts: &[String]) -> Vec<bool> {
        let program = r#"
import json, re, sys
guard = re.compile(r"\b(quota|rate[\s_\-]?limit|429|403|auth\w*|unauthorized|forbidden|billing|subscription|"
                   r"access[\s_]denied|permission[\s_]denied|invalid[\s_]api[\s_]key)\b", re.IGNORECASE)
print(json.dumps([bool(guard.search(t)) for t in json.load(sys.stdin)]))
"#;
        let mut python = Command::new("python3")
            .args(["-I", "-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is needed to compare the guard with Hermes' own");
        let mut stdin = python.stdin.take().unwrap();
        stdin.write_all(serde_json::to_string(texts).unwrap().as_bytes()).unwrap();
        drop(stdin);
        let out = python.wait_with_output().unwrap();
        assert!(out.status.success());
        serde_json::from_slice(&out.stdout).unwrap()
    }

    proptest! {
        #[test]
        fn nothing_panics(text in any::<String>(), status in any::<u16>()) {
            let _ = (of_text(&text), of_http(status, &text), of_api_error(&text), hermes_guard_matches(&text));
            let _ = (of_text(&format!("HTTP {text}")), of_text(&format!("pid {text}")));
        }
    }
}
