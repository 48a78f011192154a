//! Lengths of time in words, whole seconds only: read strictly, written exactly.

use std::time::Duration;

use serde::Serializer;

/// Reads `3m`, `1h 30m`, `2 days`. The error says what is wrong, without the text itself.
///
/// # Errors
/// No unit, no number, a negative or broken one, parts of a second, months or years.
pub fn read(text: &str) -> Result<Duration, String> {
    // humantime 2.4 takes `15M` for fifteen months (39,450,240 s), which is never what was meant.
    if units(text).any(|u| u == "M" || u.starts_with("mon") || u.starts_with('y')) {
        return Err("counts months or years, and minutes are a small `m`".into());
    }
    let read = humantime::parse_duration(text).map_err(|e| match e {
        humantime::DurationError::UnknownUnit { unit, value, .. } if unit.is_empty() => {
            format!("has no unit: write {value}s, {value}m or {value}h")
        }
        humantime::DurationError::UnknownUnit { unit, .. } => format!("has the unknown unit {unit:?}"),
        _ => "is not a length of time like 90s, 15m, 2h or 3d".into(),
    })?;
    // The board counts whole seconds, so a rest could only be lost in silence.
    if read.subsec_nanos() != 0 { Err("counts parts of a second".into()) } else { Ok(read) }
}

/// Writes a length of time in its largest unit that loses nothing: `90s`, `15m`, `24h`, `7d`. Parts of a
/// second are cut off.
pub fn words(length: Duration) -> String {
    let s = length.as_secs();
    // A single day reads better as 24h.
    let units = [(86_400, "d", 2), (3_600, "h", 1), (60, "m", 1)];
    let fit = units.iter().find(|(n, _, least)| s.is_multiple_of(*n) && s / n >= *least);
    fit.map_or_else(|| format!("{s}s"), |(n, unit, _)| format!("{}{unit}", s / n))
}

/// A length of time in whole seconds, as the board counts.
pub fn seconds(length: Duration) -> i64 {
    i64::try_from(length.as_secs()).unwrap_or(i64::MAX)
}

/// For `#[serde(serialize_with)]`: as [`words`], so that what is printed can be loaded again.
///
/// # Errors
/// Whatever the serializer says.
pub fn serialize<S: Serializer>(length: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&words(*length))
}

fn units(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|u| !u.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_words_and_nothing_else() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("15min", Some(900)),
            ("1h 30m", Some(5_400)),
            ("1h30m", Some(5_400)),
            ("0.5m", Some(30)),
            ("2 days", Some(172_800)),
            ("1w", Some(604_800)),
            ("0s", Some(0)),
            ("15M", None),
            ("1M", None),
            ("1month", None),
            ("1y", None),
            ("2 years", None),
            ("90", None),
            ("-5m", None),
            ("5m -1s", None),
            ("1500ms", None),
            ("m", None),
            ("", None),
            (" ", None),
            ("5 minutes or so", None),
            ("99999999999999999999s", None),
        ] {
            assert_eq!(read(text).ok().map(|d| d.as_secs()), seconds, "{text:?}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, want) in [
            ("15M", "counts months or years, and minutes are a small `m`"),
            ("90", "has no unit: write 90s, 90m or 90h"),
            ("3x", "has the unknown unit \"x\""),
            ("-5m", "is not a length of time like 90s, 15m, 2h or 3d"),
            ("250ms", "counts parts of a second"),
        ] {
            assert_eq!(read(text).unwrap_err(), want, "{text:?}");
        }
    }

    #[test]
    fn writes_short() {
        for (s, w) in
            [(0, "0s"), (90, "90s"), (5_400, "90m"), (86_400, "24h"), (259_200, "3d"), (3_601, "3601s")]
        {
            assert_eq!(words(Duration::from_secs(s)), w);
        }
    }

    proptest::proptest! {
        #[test]
        fn writes_what_it_reads(s in 0_u64..400 * 86_400) {
            let d = Duration::from_secs(s);
            proptest::prop_assert_eq!(read(&words(d)), Ok(d));
        }

        #[test]
        fn never_fails_in_another_way(text in "\\PC{0,20}") {
            let _ = read(&text);
        }
    }
}
