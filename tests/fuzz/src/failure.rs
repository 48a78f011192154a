//! What the words of a failure mean: its cause, and when it ends.

use shared::base::cause;
use shared::base::time::Time;
use shared::logs::reset_time::reset_time;

use super::text::{number, text};

const MINUTE: i64 = 60;
const MAX_AHEAD: i64 = 35 * 86_400;

/// A cause is one and the same for the same words, and an end lies within 35 days whatever the clock said.
pub fn failure(data: &[u8]) {
    let (status, rest) = number(data);
    let text = text(rest);
    let status = u16::try_from(status % 700).unwrap_or_default();
    assert!(cause::of_http(status, &text).is_none() || (400..600).contains(&status), "{status}");
    if let Some((_, Some(http))) = cause::of_api_error(&text) {
        assert!(text.contains(&http.to_string()), "{http} is not in {text:?}");
    }
    let _ = (cause::of_text(&text), cause::hermes_guard_matches(&text), cause::guard_misreads(&text));

    let far = [i64::MIN, -1, 0, 1_795_248_430, 253_402_300_799, i64::MAX];
    for at in far.into_iter().map(Time) {
        if let Some(end) = reset_time(&text, at) {
            assert!((-MINUTE..=MAX_AHEAD).contains(&end.since(at)), "{end} at {at}");
        }
    }
}
