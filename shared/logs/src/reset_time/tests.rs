use chrono_tz::{Africa, America, Europe, Tz};
use proptest::prelude::*;

use super::*;

/// 2026-11-21 08:21:21 UTC, a Saturday.
const AT: Time = Time(1_795_249_281);

fn t(rfc3339: &str) -> Time {
    Time::parse(rfc3339).unwrap()
}

fn check(cases: &[(&str, Option<&str>)], at: Time, local: &Tz) {
    for (text, want) in cases {
        let found = of(text, at, local).map(|t| t.to_string());
        assert_eq!(found.as_deref(), *want, "{text:?} at {at}");
    }
}

#[test]
fn forms_that_name_a_moment() {
    check(
        &[
            ("You've hit your session limit · resets 9:50pm (Europe/Berlin)", Some("2026-11-21T20:50:00Z")),
            ("You've hit your limit · resets 3am (Europe/Rome)", Some("2026-11-22T02:00:00Z")),
            ("5-hour limit reached ∙ resets 3am", Some("2026-11-22T03:00:00Z")),
            ("Session limit reached ∙ resets 3:30pm", Some("2026-11-21T15:30:00Z")),
            ("You've hit your limit · resets Nov 24, 11am (Europe/Berlin)", Some("2026-11-24T10:00:00Z")),
            ("resets Nov 24 at 5pm (UTC)", Some("2026-11-24T17:00:00Z")),
            ("resets Dec 1, 2026, 5pm (America/Los_Angeles)", Some("2026-12-02T01:00:00Z")),
            ("Claude AI usage limit reached|1795252800", Some("2026-11-21T09:20:00Z")),
            ("or try again at Nov 24th, 2026 3:39 AM.", Some("2026-11-24T03:39:00Z")),
            ("Try again at 9:20 AM.", Some("2026-11-21T09:20:00Z")),
            ("try again at 12:05 AM.", Some("2026-11-22T00:05:00Z")),
            ("try again at 12:05 PM", Some("2026-11-21T12:05:00Z")),
            ("Your limit will reset at 2026-11-21T10:00:00Z", Some("2026-11-21T10:00:00Z")),
            ("reset at 2026-11-21 12:00:00.123+02:00", Some("2026-11-21T10:00:00Z")),
            ("reset at: 2026-11-21 12:00 UTC", Some("2026-11-21T12:00:00Z")),
            ("Service is available again at 14:05", Some("2026-11-21T14:05:00Z")),
            ("resets 8:21am", Some("2026-11-21T08:21:00Z")),
            // Just past: refused once more after it, or read late.
            ("resets 8:20am", Some("2026-11-21T08:51:00Z")),
            ("available again at 07:52", Some("2026-11-21T08:23:00Z")),
            ("available again at 07:50", Some("2026-11-22T07:50:00Z")),
            ("resets tomorrow at 3am", Some("2026-11-22T03:00:00Z")),
            ("resets Monday 9:00 AM", Some("2026-11-23T09:00:00Z")),
            ("resets Sat 8am", Some("2026-11-21T08:31:00Z")),
            ("resets Sat 7am", Some("2026-11-28T07:00:00Z")),
            ("resets Sat 9am", Some("2026-11-21T09:00:00Z")),
            ("Weekly limit reached · resets Nov 24", Some("2026-11-25T00:00:00Z")),
            ("resets 24 Nov 17:00 GMT", Some("2026-11-24T17:00:00Z")),
            ("resets 7pm PST", Some("2026-11-22T03:00:00Z")),
            ("You will regain access on 2026-12-01 at 00:00 UTC", Some("2026-12-01T00:00:00Z")),
            ("You're out of extra usage · resets 9pm (Europe/Berlin)", Some("2026-11-21T20:00:00Z")),
            ("resets 5 p.m. (utc)", Some("2026-11-21T17:00:00Z")),
        ],
        AT,
        &Tz::UTC,
    );
}

#[test]
fn a_day_may_stand_behind_the_time() {
    check(
        &[
            ("resets 9am on Monday", Some("2026-11-23T09:00:00Z")),
            ("resets 9am next Monday", Some("2026-11-23T09:00:00Z")),
            ("resets 9am tomorrow", Some("2026-11-22T09:00:00Z")),
            ("resets 9:30 tomorrow", Some("2026-11-22T09:30:00Z")),
            ("resets 9am, Nov 24", Some("2026-11-24T09:00:00Z")),
            ("resets 9 am Nov 24 (Europe/Berlin)", Some("2026-11-24T08:00:00Z")),
            ("resets 9am (Europe/Berlin) on Nov 24, 2026", Some("2026-11-24T08:00:00Z")),
            ("resets 9am EST on Tue", Some("2026-11-24T14:00:00Z")),
            ("resets 9:00 on 2026-11-24", Some("2026-11-24T09:00:00Z")),
            ("resets on Sunday, November 22 at 10:00 AM", Some("2026-11-22T10:00:00Z")),
            ("resets Sun Nov 22 10:00:00", Some("2026-11-22T10:00:00Z")),
            ("resets at noon", Some("2026-11-21T12:00:00Z")),
            ("resets Dec 1 at noon", Some("2026-12-01T12:00:00Z")),
            ("resets at midnight UTC", Some("2026-11-22T00:00:00Z")),
            ("resets 9am (Nov 24)", Some("2026-11-24T09:00:00Z")),
            ("resets 9am (Tue, Nov 24)", Some("2026-11-24T09:00:00Z")),
            ("resets 9am (Nov 24, EST)", Some("2026-11-24T14:00:00Z")),
            ("resets 9am every Monday", Some("2026-11-23T09:00:00Z")),
            // What is not understood makes the time unknown, not early.
            ("resets 9am on the 24th", None),
            ("resets 9am the 24th", None),
            ("resets 9am 24th", None),
            ("resets 9am in 2 days", None),
            ("resets 9am in a week", None),
            ("resets 9am the next day", None),
            ("resets 9am (Nov 31)", None),
            ("resets 9am 24.11.2026", None),
            ("resets 9am, 24/11", None),
            ("resets midnight on Monday", None),
            // Another sentence.
            ("resets 9am. Nov 24 is a holiday", Some("2026-11-21T09:00:00Z")),
            ("try again at 9:20 AM or upgrade", Some("2026-11-21T09:20:00Z")),
            ("resets 9:50pm (Europe/Berlin) 5 left", Some("2026-11-21T20:50:00Z")),
            ("resets at 3pm, 5 requests left", Some("2026-11-21T15:00:00Z")),
            ("resets at 3pm (in 6h 38m)", Some("2026-11-21T15:00:00Z")),
            ("resets at 3pm on the free plan", Some("2026-11-21T15:00:00Z")),
        ],
        AT,
        &Tz::UTC,
    );
}

#[test]
fn zones_in_short() {
    check(
        &[
            ("resets at 15:00 GMT-5", Some("2026-11-21T20:00:00Z")),
            ("resets at 15:00 UTC+2", Some("2026-11-21T13:00:00Z")),
            ("resets at 15:00 UTC+02:00", Some("2026-11-21T13:00:00Z")),
            ("resets at 15:00 UTC+0530", Some("2026-11-21T09:30:00Z")),
            ("resets at 15:00 (GMT+2)", Some("2026-11-21T13:00:00Z")),
            ("resets 2026-11-24 15:00 (UTC-8)", Some("2026-11-24T23:00:00Z")),
            ("resets 9pm UTC -5", Some("2026-11-22T02:00:00Z")),
            ("resets 9pm GMT -05:00", Some("2026-11-22T02:00:00Z")),
            ("resets 9pm ET", Some("2026-11-22T02:00:00Z")),
            ("resets 9pm PT", Some("2026-11-22T05:00:00Z")),
            // They name more than one zone, or none that is known.
            ("resets 9pm CST", None),
            ("resets at 3pm IST", None),
            ("resets Nov 24 at 5pm AEST", None),
            ("resets Nov 24 at 5pm UTC+99", None),
            ("resets 9pm cst", None),
            ("resets 9pm Pacific Time", None),
            ("resets 9pm Eastern", None),
            ("resets 9pm Tokyo time", None),
            ("resets 9pm local time", Some("2026-11-21T20:00:00Z")),
        ],
        AT,
        &Europe::Berlin,
    );
}

#[test]
fn forms_that_name_a_length_of_time() {
    check(
        &[
            ("Please try again in 6m0s. Visit https://x", Some("2026-11-21T08:27:21Z")),
            ("Please try again in 1.2s", Some("2026-11-21T08:21:23Z")),
            ("Please try again in 20s.", Some("2026-11-21T08:21:41Z")),
            ("try again in 250ms", Some("2026-11-21T08:21:22Z")),
            ("Please retry after 37 seconds", Some("2026-11-21T08:21:58Z")),
            ("retry in 2 minutes", Some("2026-11-21T08:23:21Z")),
            ("Retry-After: 30", Some("2026-11-21T08:21:51Z")),
            ("\"retry-after\": \"30\"", Some("2026-11-21T08:21:51Z")),
            ("retry_after_ms=1500", Some("2026-11-21T08:21:23Z")),
            ("Retry-After: Sat, 21 Nov 2026 09:00:00 GMT", Some("2026-11-21T09:00:00Z")),
            ("resets in 3 hours", Some("2026-11-21T11:21:21Z")),
            ("Try again in 3 days 4 hours 9 minutes.", Some("2026-11-24T12:30:21Z")),
            ("try again in 1 hour, 2 minutes and 3 seconds", Some("2026-11-21T09:23:24Z")),
            ("try again in about 5 minutes", Some("2026-11-21T08:26:21Z")),
            ("try again in an hour.", Some("2026-11-21T09:21:21Z")),
            ("resets in a day and 2 hours", Some("2026-11-22T10:21:21Z")),
            ("x-ratelimit-reset-requests: 1h30m", Some("2026-11-21T09:51:21Z")),
            (
                "x-ratelimit-reset-requests: 6m0s, x-ratelimit-reset-tokens: 20ms",
                Some("2026-11-21T08:27:21Z"),
            ),
            ("X-RateLimit-Reset: 3600", Some("2026-11-21T09:21:21Z")),
            ("HTTP 429: x-ratelimit-reset-requests: 2026-11-21T20:00:00Z", Some("2026-11-21T20:00:00Z")),
            ("retry-after: 2026-11-21T20:00:00Z", Some("2026-11-21T20:00:00Z")),
            // The sentence says which limit it was, these keys do not.
            (
                "Please try again in 1h12m. x-ratelimit-reset-requests: 8.64s, x-ratelimit-reset-tokens: 6ms",
                Some("2026-11-21T09:33:21Z"),
            ),
            ("x-ratelimit-reset: 0, limit resets at 9pm UTC", Some("2026-11-21T21:00:00Z")),
            (r#""quotaResetDelay": "3h27m56s""#, Some("2026-11-21T11:49:17Z")),
            ("Your quota will reset after 1h53m4s.", Some("2026-11-21T10:14:25Z")),
            (r#"retryDelay: "37s""#, Some("2026-11-21T08:21:58Z")),
            (r#"{"retryDelay": "37s"}"#, Some("2026-11-21T08:21:58Z")),
            (r#"{\"retryDelay\": \"36.5s\"}"#, Some("2026-11-21T08:21:58Z")),
            (r#"{"resets_in_seconds":467439}"#, Some("2026-11-26T18:12:00Z")),
        ],
        AT,
        &Tz::UTC,
    );
}

#[test]
fn forms_for_programs() {
    check(
        &[
            (r#""resets_at": 1795249302"#, Some("2026-11-21T08:21:42Z")),
            (r#"{\"resets_at\":1795249302,"#, Some("2026-11-21T08:21:42Z")),
            (r#""resetsAt":1795249302123"#, Some("2026-11-21T08:21:43Z")),
            (r#""reset_at":"2026-11-21T10:00:00Z""#, Some("2026-11-21T10:00:00Z")),
            (r#""quotaResetTimeStamp": "2026-11-21T12:00:00Z""#, Some("2026-11-21T12:00:00Z")),
            ("x-ratelimit-reset: 1795252800", Some("2026-11-21T09:20:00Z")),
            ("anthropic-ratelimit-unified-reset: 1795252800", Some("2026-11-21T09:20:00Z")),
            ("try again in 20s (resets_at=1795252800)", Some("2026-11-21T09:20:00Z")),
        ],
        AT,
        &Tz::UTC,
    );
}

#[test]
fn what_states_no_end() {
    for text in [
        "",
        "Please try again later.",
        "try again in a moment",
        "Reconnecting... retrying in 5s",
        "resets 3",
        "resets",
        "reset the connection at 14:05",
        "preset at 14:05",
        "resets 25:00",
        "resets 13pm",
        "resets 9:50pm (Mars/Olympus)",
        "resets 9:50pm (Nowhere)",
        "try again in 20 attempts",
        "retry after 503 lines",
        "retry 3 of 5 at 14:05",
        // Past, and too far.
        "resets_at: 1795249000",
        "reset at 2026-11-20T10:00:00Z",
        "resets in 36 days",
        "resets Feb 16, 11am (Europe/Berlin)",
        r#""resets_at": 179524"#,
        "try again in 99999999999999999999 hours",
        "Nov 24 at 5pm",
        "resets Feb 31 at 5pm",
    ] {
        assert_eq!(of(text, AT, &Tz::UTC), None, "{text:?}");
    }
}

#[test]
fn bounds() {
    let at = |epoch: i64| of(&format!("resets_at: {epoch}"), AT, &Tz::UTC).is_some();
    assert!(at(AT.0 - 60) && at(AT.0) && at(AT.0 + MAX_AHEAD));
    assert!(!at(AT.0 - 61) && !at(AT.0 + MAX_AHEAD + 1));
}

#[test]
fn a_time_without_zone_is_this_machines() {
    let text = "resets 9:50pm";
    assert_eq!(of(text, AT, &Europe::Berlin), Some(t("2026-11-21T20:50:00Z")));
    assert_eq!(of(text, AT, &America::Los_Angeles), Some(t("2026-11-22T05:50:00Z")));
    // 08:21 in London is still the 20th in Honolulu.
    assert_eq!(of("resets 11pm", AT, &Tz::Pacific__Honolulu), Some(t("2026-11-21T09:00:00Z")));
    assert!(reset_time(text, AT).is_some(), "in whichever zone this runs");
}

#[test]
fn where_the_clock_is_moved() {
    // 2026-10-25: in Berlin 02:30 comes twice, 00:30Z and 01:30Z. The later one is meant.
    let before = t("2026-10-24T22:00:00Z");
    check(&[("resets 2:30am (Europe/Berlin)", Some("2026-10-25T01:30:00Z"))], before, &Tz::UTC);
    // Written between the two.
    let between = t("2026-10-25T00:45:00Z");
    check(&[("resets 2:30am (Europe/Berlin)", Some("2026-10-25T01:30:00Z"))], between, &Tz::UTC);
    // 2026-03-29: in Berlin 02:30 does not come at all.
    let spring = t("2026-03-28T22:00:00Z");
    check(&[("resets 2:30am (Europe/Berlin)", Some("2026-03-29T01:00:00Z"))], spring, &Tz::UTC);
    check(&[("resets 2:30am", Some("2026-03-29T01:00:00Z"))], spring, &Europe::Berlin);
    // The day after, at the new offset.
    check(&[("resets 11pm", Some("2026-03-29T21:00:00Z"))], t("2026-03-28T23:30:00Z"), &Europe::Berlin);
    // Samoa left out a whole day, 2011-12-30.
    let samoa = t("2011-12-30T09:00:00Z");
    check(&[("resets Dec 30 at 5pm (Pacific/Apia)", Some("2011-12-30T10:00:00Z"))], samoa, &Tz::UTC);
    check(&[("resets 5pm", Some("2026-11-21T17:00:00Z"))], AT, &Africa::Abidjan);
}

#[test]
fn an_offset_that_fits_no_clock_is_none() {
    let midnight = Some("2026-11-22T00:00:00Z");
    check(&[("resets 00:00+01:217952790", midnight), ("resets 00:00-14:60", midnight)], AT, &Tz::UTC);
}

#[test]
fn the_year_turns() {
    let at = t("2026-12-30T12:00:00Z");
    check(&[("resets Jan 2 at 5pm (UTC)", Some("2027-01-02T17:00:00Z"))], at, &Tz::UTC);
    let at = t("2026-12-31T23:30:00Z");
    check(&[("resets 12:30am (UTC)", Some("2027-01-01T00:30:00Z"))], at, &Tz::UTC);
}

#[test]
fn just_after_midnight_the_last_end_was_yesterday() {
    // A Friday.
    let at = t("2026-11-27T00:10:00Z");
    check(
        &[
            ("resets 11:55pm (UTC)", Some("2026-11-27T00:26:00Z")),
            ("resets Thu 11:55pm", Some("2026-11-27T00:26:00Z")),
            ("resets 11:35pm (UTC)", Some("2026-11-27T23:35:00Z")),
            ("resets tomorrow 11:55pm", Some("2026-11-28T23:55:00Z")),
            ("resets 12:09am", Some("2026-11-27T00:09:00Z")),
        ],
        at,
        &Tz::UTC,
    );
}

proptest! {
    #[test]
    fn never_panics_and_stays_in_bounds(
        text in "(resets|try again|Retry-After:|resets_at|available again)[ :\"]{0,2}(at |in |on )?[0-9a-zA-Zé:.,+ -]{0,24}( ?[(]UTC[)])?",
        at in any::<i64>(),
    ) {
        for at in [Time(at), AT] {
            if let Some(found) = of(&text, at, &Europe::Berlin) {
                prop_assert!((-SLACK..=MAX_AHEAD).contains(&found.since(at)), "{found} at {at}");
            }
        }
        let _ = of(&text.replace('a', "é"), AT, &Tz::UTC);
    }

    #[test]
    fn any_clock_time_is_within_a_day(hour in 0..24_u32, minute in 0..60_u32, at in 1_700_000_000..1_900_000_000_i64) {
        let said = format!("resets {hour}:{minute:02} (America/New_York)");
        let found = of(&said, Time(at), &Tz::UTC).unwrap();
        prop_assert!((-SLACK..=25 * 3600).contains(&found.since(Time(at))));
    }
}
