//! Secrets out of a finished JSON text, string by string: redacted as one text, a secret that is cut off could take quotes and
//! commas with it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::{named, redact, visible};

/// The JSON text with every string in it redacted. All else stays byte for byte, and so does a string without a secret.
pub fn json(text: &str) -> Cow<'_, str> {
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    let mut key = None;
    // A report says the same keys and reasons about each task: one look at each is enough.
    let (mut harmless, mut secret_names) = (HashSet::new(), HashMap::new());
    while let Some(from) = text[at..].find('"').map(|n| at + n) {
        let Some(to) = end(text, from) else { break };
        let literal = &text[from..to];
        at = to;
        if text[to..].trim_start().starts_with(':') {
            key = Some(literal);
        } else if text[..from].trim_end().ends_with(['[', ',']) {
            key = None;
        }
        let named = key.filter(|k| *k != literal);
        let named =
            named.filter(|k| *secret_names.entry(*k).or_insert_with(|| named::is_name(k.trim_matches('"'))));
        if harmless.contains(&(named, literal)) {
            continue;
        }
        let Some(clean) = clean(literal, named) else {
            harmless.insert((named, literal));
            continue;
        };
        out.push_str(&text[copied..from]);
        out.push_str(&clean);
        copied = to;
    }
    if copied == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[copied..]) }
}

/// The byte behind the quote that closes the string opened at this byte.
fn end(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The string without its secrets, under a key that is the name of one; `None` where it has none.
fn clean(literal: &str, key: Option<&str>) -> Option<String> {
    let inner = &literal[1..literal.len() - 1];
    let plain: Cow<'_, str> = match inner.contains('\\') {
        true => serde_json::from_str::<String>(literal).ok()?.into(),
        false => inner.into(),
    };
    let found = match redact(&plain) {
        Cow::Owned(clean) if clean != visible(&plain) => Some(clean),
        _ => by_name(key?, literal).then(|| super::Kind::Secret.as_str().to_owned()),
    };
    serde_json::to_string(&found?).ok()
}

/// Whether a value is a secret by the name of its key. A plain word is a state (`"credential": "missing"`) as often.
fn by_name(key: &str, literal: &str) -> bool {
    let name = key.trim_matches('"');
    let word = |s: &str| s.len() <= 20 && s.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b' ');
    if word(literal.trim_matches('"')) && !named::is_password(name) {
        return false;
    }
    let pair = format!("{key}: {literal}");
    matches!(redact(&pair), Cow::Owned(clean) if clean != visible(&pair))
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn every_string_is_looked_through_and_the_rest_stays() {
        for (text, want) in [
            (r#"{"now":1,"a":"b c"}"#, r#"{"now":1,"a":"b c"}"#),
            (r#"{"a":"x password=hunter2horse y"}"#, r#"{"a":"x password=[redacted: password] y"}"#),
            (r#"{"password": "hunter2horse", "n": 3}"#, r#"{"password": "[redacted: secret]", "n": 3}"#),
            (r#"{"password":"horse"}"#, r#"{"password":"[redacted: secret]"}"#),
            (
                r#"{"credential":"missing","token":"unknown"}"#,
                r#"{"credential":"missing","token":"unknown"}"#,
            ),
            (r#"{"password":["hunter2horse"]}"#, r#"{"password":["hunter2horse"]}"#),
            (r#"["a\n\"token\": \"abc123def456\""]"#, r#"["a\n\"token\": \"[redacted: token]\""]"#),
            ("{\"a\":\"\\r\\nb\\u001b[0m\"}", "{\"a\":\"\\r\\nb\\u001b[0m\"}"),
            (r#"{"open": "x"#, r#"{"open": "x"#),
        ] {
            assert_eq!(json(text), want, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn json_stays_json(text in "\\PC{0,80}", key in "[a-z_]{1,12}", body in "[A-Za-z0-9]{30,50}") {
            let secret = format!("{text} API_KEY={body}1aB");
            let whole = serde_json::json!({key: [secret, text], "n": 1.5}).to_string();
            let clean = json(&whole);
            let read: serde_json::Value = serde_json::from_str(&clean).unwrap();
            proptest::prop_assert_eq!(&read["n"], 1.5);
            proptest::prop_assert!(!clean.contains(&body));
        }
    }
}
