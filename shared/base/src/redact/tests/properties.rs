use proptest::prelude::*;

use super::super::{AT, RULES, redact};
use super::{fake, hex};

/// Pieces that mean something to a rule, to be thrown together.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "s§k-",
        "s§k-ant-",
        "gh§p_",
        "AI§za",
        "ey§J",
        "://",
        "@",
        ":",
        "=",
        "\"",
        "'",
        "\\\"",
        "\\n",
        "\n",
        " ",
        "│",
        "password",
        "api_key",
        "API key",
        "provided",
        "token",
        "Authorization",
        "Bearer ",
        "Basic ",
        "Cookie: ",
        "-u ",
        "--token",
        "[redacted: ",
        "[redacted: password]",
        "]",
        "...",
        "***",
        "…",
        "?key=",
        "&",
        ",",
        "{",
        "[",
        "<",
        ">",
        "-----BEGIN RSA PRIV§ATE KEY-----",
        "-----END",
        "SecretStr(",
        "$X",
        "null",
        "is",
        "str",
        "\u{1b}[0m",
        "\u{200b}",
        "abc",
        "Zürich",
        "123456",
        "=",
        "==",
        "b'",
        "AK§IA",
        "hooks.slack.com/services/",
        "http",
        "\t",
        "/",
        ".",
        "-",
    ];
    prop_oneof![
        6 => proptest::sample::select(known.to_vec()).prop_map(|s| s.replace('§', "")),
        1 => (1_usize..60).prop_map(|n| fake(n).chars().rev().collect()),
        1 => (1_usize..60).prop_map(hex),
        1 => "[ -~]{0,12}",
        1 => any::<char>().prop_map(String::from),
    ]
}

fn jumble() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..14).prop_map(|v| v.concat())
}

/// A secret with the name or shape by which it must be known, and its part that nobody may see.
fn planted() -> impl Strategy<Value = (String, String)> {
    let begins = [
        "s§k-ant-api03-",
        "s§k-proj-",
        "s§k-or-v1-",
        "github§_pat_",
        "glp§at-",
        "xox§b-",
        "s§k_live_",
        "ey§JhbGci.",
        "API_KEY=",
        "password: ",
        "\"api_key\": \"",
        "?token=",
        "Authorization: Bearer ",
        "Cookie: sid=",
        "--token ",
        "https://bob:",
    ];
    (proptest::sample::select(begins.to_vec()), 24_usize..80, 0_usize..40).prop_map(|(begin, n, skip)| {
        let body = fake(n + skip)[skip..].to_owned();
        let end = if begin.ends_with("bob:") { "@host" } else { "" };
        (format!("{}{body}{end}", begin.replace('§', "")), body)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn twice_is_once(text in jumble()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn any_text_is_taken(text in "\\PC*") {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn a_planted_secret_never_survives((secret, body) in planted(), before in jumble(), after in jumble()) {
        // Only a text that makes the name part of another word, or a value before the name, may hide it.
        let text = format!("{before} {secret} {after}");
        let got = redact(&text);
        prop_assert!(!got.contains(&body), "{}\n{}", text, got);
        prop_assert!(!got.contains(&body[body.len() / 2..]), "{}\n{}", text, got);
    }

    #[test]
    fn nothing_grows_back((secret, body) in planted(), before in jumble(), after in jumble()) {
        let joined = format!("{}{}{}", redact(&before), redact(&format!(" {secret} ")), redact(&after));
        prop_assert!(!joined.contains(&body));
        prop_assert!(!redact(&joined).contains(&body));
    }

    #[test]
    fn no_rule_finds_something_at_a_byte_that_is_not_listed_for_it(text in jumble()) {
        for (at, _) in text.char_indices() {
            for (n, (rule, _)) in RULES.iter().enumerate() {
                let is_listed = AT[usize::from(text.as_bytes()[at])] >> n & 1 == 1;
                prop_assert!(is_listed || rule(&text, at).is_none(), "rule {} at {} of {}", n, at, text);
            }
        }
    }

    #[test]
    fn growth_is_bounded(text in jumble()) {
        prop_assert!(redact(&text).len() <= 8 * text.len() + 32);
    }

    #[test]
    fn words_numbers_and_hashes_stay(words in proptest::collection::vec(prop_oneof![
        "[a-z]{1,12}", "[A-Z]?[a-z]{1,9}[,.]?", "[0-9]{1,9}", (7_usize..64).prop_map(hex), Just("t_1a2b3c4d".to_owned()),
        "/[a-z]{2,9}/[a-z]{2,9}\\.rs:[0-9]{1,3}",
    ], 0..20)) {
        let text = words.join(" ");
        prop_assert_eq!(redact(&text), text.as_str());
    }
}
