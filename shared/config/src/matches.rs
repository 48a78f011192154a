//! `[[match]]`: what the operator says a line of a log means.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Loaded;
use super::headers::{MATCH, misplaced};
use super::place::{ALLOWED, Place, kind, quoted, shown};
use base::cause::Cause;
use base::error::Result;
use base::named_enum::named_enum;
use base::names::is_profile;

const KEYS: [&str; 5] = ["regex", "cause", "logs", "profiles", "place"];

/// The causes a line may be said to have: what a provider, a connection or a configuration refuses.
const CAUSES: [Cause; 8] = [
    Cause::RateLimit,
    Cause::Quota,
    Cause::Overloaded,
    Cause::ServerError,
    Cause::Credential,
    Cause::ModelMissing,
    Cause::ConnectionRefused,
    Cause::Misconfigured,
];

/// The kinds of log, as `watchbill match` names them.
const LOGS: [&str; 5] = ["plain", "hermes", "profile", "claude", "codex"];

/// The kinds a table is about that names none. A line of a transcript holds what any tool printed.
const TEXTS: [&str; 3] = ["plain", "hermes", "profile"];

/// The groups that say when a limit ends.
const GROUPS: [&str; 3] = ["seconds", "time", "epoch"];

/// Most tables.
const MAX_TABLES: usize = 64;
/// Most bytes of a pattern.
const MAX_PATTERN: usize = 1_000;
/// Most parts of a pattern, counted parts as often as they repeat.
const MAX_PARTS: u64 = 5_000;
/// How deep a pattern may nest.
const MAX_DEPTH: u32 = 50;

named_enum! {
    /// Where a line must stand to be what an attempt ended on.
    pub enum MatchPlace {
        /// Among the last lines.
        End = "end",
        /// Wherever it stands in the attempt.
        Anywhere = "anywhere",
    }
}

/// One `[[match]]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MatchKeys {
    /// What the line matches.
    pub regex: String,
    /// What it means.
    pub cause: Cause,
    /// The kinds of log it is looked for in.
    pub logs: Vec<String>,
    /// The profiles whose logs it is looked for in; all where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Where the line must stand.
    pub place: MatchPlace,
}

/// Takes the tables of one file, in the place of those of the files before it.
pub(super) fn toml(loaded: &mut Loaded, place: &Place<'_>, tables: &Spanned<DeValue<'_>>) -> Result<()> {
    let is_wrong = |span, what: String| {
        place.error(Some(span), what).hint("write [[match]] on its own line, with regex and cause beneath")
    };
    let DeValue::Array(all) = tables.get_ref() else {
        return Err(is_wrong(
            tables.span(),
            format!("match is {}, must be a list of tables", kind(tables.get_ref())),
        ));
    };
    if all.len() > MAX_TABLES {
        return Err(is_wrong(tables.span(), format!("more than {MAX_TABLES} tables [[match]]")));
    }
    let mut read = Vec::new();
    for (n, one) in all.iter().enumerate() {
        let name = format!("match {}", n + 1);
        let Some(table) = one.get_ref().as_table() else {
            return Err(is_wrong(one.span(), format!("{name} is {}, must be a table", kind(one.get_ref()))));
        };
        read.push(keys_of(place, &name, one, table)?);
    }
    loaded.config.matches = read;
    loaded.origin.insert(MATCH.to_owned(), place.path.display().to_string());
    Ok(())
}

fn keys_of(
    place: &Place<'_>,
    name: &str,
    whole: &Spanned<DeValue<'_>>,
    table: &DeTable<'_>,
) -> Result<MatchKeys> {
    let (mut regex, mut cause) = (None, None);
    let mut logs: Vec<String> = TEXTS.map(str::to_owned).to_vec();
    let (mut profiles, mut at) = (Vec::new(), MatchPlace::End);
    for (key, value) in table {
        let given = value.get_ref();
        let done = match key.get_ref().as_ref() {
            "regex" => pattern(given).map(|text| regex = Some(text)),
            "cause" => one_cause(given).map(|one| cause = Some(one)),
            "logs" => words(given, "hermes, profile, claude, codex and plain", |w| LOGS.contains(&w))
                .map(|all| logs = all),
            "profiles" => words(given, "profile names", is_profile).map(|all| profiles = all),
            "place" => one_place(given).map(|one| at = one),
            other => {
                let what = format!("unknown key `{}` of {name}", shown(other));
                let known = || format!("known keys: {}", KEYS.join(", "));
                let hint = misplaced(&format!("[{MATCH}]"), other).unwrap_or_else(known);
                return Err(place.error(Some(key.span()), what).hint(hint));
            }
        };
        done.map_err(|what| place.error(Some(value.span()), format!("{name}: {} {what}", key.get_ref())))?;
    }
    let lacks = |key: &str| place.error(Some(whole.span()), format!("{name} has no {key}"));
    Ok(MatchKeys {
        regex: regex.ok_or_else(|| lacks("regex"))?,
        cause: cause.ok_or_else(|| lacks("cause"))?,
        logs,
        profiles,
        place: at,
    })
}

type Read<T> = std::result::Result<T, String>;

fn one_cause(value: &DeValue<'_>) -> Read<Cause> {
    let names = || CAUSES.map(Cause::as_str).join(", ");
    let text = value.as_str().ok_or_else(|| format!("is {}; allowed is {}", kind(value), names()))?;
    let known = CAUSES.into_iter().find(|c| c.as_str() == text);
    known.ok_or_else(|| format!("= {} is unknown{ALLOWED}{}", quoted(text), names()))
}

fn one_place(value: &DeValue<'_>) -> Read<MatchPlace> {
    let known = value.as_str().and_then(MatchPlace::named);
    known.ok_or_else(|| "is neither \"end\" nor \"anywhere\"".to_owned())
}

fn words(value: &DeValue<'_>, must: &str, fits: impl Fn(&str) -> bool) -> Read<Vec<String>> {
    let all = match value {
        DeValue::Array(all) => all.iter().map(|v| v.get_ref().as_str().filter(|w| fits(w))).collect(),
        _ => None,
    };
    let all: Vec<&str> = all
        .filter(|all: &Vec<&str>| !all.is_empty())
        .ok_or_else(|| format!("is not a list of allowed names; allowed is a list of {must}"))?;
    Ok(all.into_iter().map(str::to_owned).collect())
}

/// A pattern that can be compiled, with the groups we know.
fn pattern(value: &DeValue<'_>) -> Read<String> {
    let text =
        value.as_str().ok_or_else(|| format!("is {}; allowed is a regular expression", kind(value)))?;
    if text.len() > MAX_PATTERN {
        return Err(format!("is longer than {MAX_PATTERN} bytes"));
    }
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).nest_limit(MAX_DEPTH).build();
    let parsed = parser.parse(text).map_err(|e| fault(text, &e))?;
    if parsed.properties().minimum_len().is_none_or(|least| least == 0) {
        return Err("would match an empty line; it must ask for a character at least".to_owned());
    }
    let mut groups = Vec::new();
    if parts(&parsed, &mut groups) > MAX_PARTS {
        return Err(format!("is too large: more than {MAX_PARTS} parts, repeated ones counted as often"));
    }
    match groups.iter().find(|g| !GROUPS.contains(&g.as_str())) {
        Some(group) => Err(format!("has a group {}; known are {}", quoted(group), GROUPS.join(", "))),
        None => Ok(text.to_owned()),
    }
}

/// What is wrong, and at which character of the pattern.
fn fault(text: &str, error: &regex_syntax::Error) -> String {
    let (at, what) = match error {
        regex_syntax::Error::Parse(e) => (e.span().start.offset, e.kind().to_string()),
        regex_syntax::Error::Translate(e) => (e.span().start.offset, e.kind().to_string()),
        _ => (0, "not understood".to_owned()),
    };
    let nth = text.get(..at).map_or(0, |before| before.chars().count()) + 1;
    format!("is not a regular expression at its character {nth}: {what}")
}

/// How large it becomes, and the names of its groups.
fn parts(hir: &Hir, groups: &mut Vec<String>) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(bytes) => bytes.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(r) => {
            let times = r.max.unwrap_or(r.min.saturating_add(1)).max(1);
            parts(&r.sub, groups).saturating_mul(u64::from(times))
        }
        HirKind::Capture(c) => {
            groups.extend(c.name.iter().map(|name| name.to_string()));
            parts(&c.sub, groups).saturating_add(1)
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().fold(0, |sum: u64, one| sum.saturating_add(parts(one, groups)))
        }
    }
}

/// Its example at the end of the sample.
pub(super) const SAMPLE: &str = "
# What a line of a log means that Watchbill does not know: a table for each pattern. The first that matches a
# line counts, and it goes before the built-in rules. The tables of a file replace those of the files before
# it. No variable sets them. `watchbill match --explain FILE` shows which line each of them decides.
# Allowed: regex: a regular expression, of which the groups seconds, time and epoch say when a limit ends;
# cause: \"rate_limit\", \"quota\", \"overloaded\", \"server_error\", \"credential\", \"model_missing\",
# \"connection_refused\" or \"misconfigured\"; logs: a list of plain, hermes, profile, claude and codex, of
# which the first three count where it is missing; profiles: a list of profile names, all where it is missing;
# place: \"end\", among the last 4 lines, or \"anywhere\".
#[[match]]
#regex = 'ACME-GW: capacity limit hit(, back in (?<seconds>[0-9]+) s)?'
#cause = \"overloaded\"
#logs = [\"plain\"]
#profiles = [\"luna\"]
#place = \"end\"
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_judged_before_they_are_compiled() {
        let read = |text: &str| pattern(&DeValue::String(text.to_owned().into()));
        for good in
            ["ACME-GW: limit", "(?i)limit in (?<seconds>\\d+)s", "at (?<epoch>[0-9]{10})", "a.*b", "·|x"]
        {
            assert_eq!(read(good).as_deref(), Ok(good));
            regex::bytes::RegexBuilder::new(good).unicode(false).build().unwrap();
        }
        for (bad, says) in [
            ("a(b", "at its character 2: unclosed group"),
            ("é[z-a]", "at its character 3: invalid character class range"),
            ("a**{", "at its character"),
            ("", "empty line"),
            ("x*", "empty line"),
            ("((a{100}){100}){100}", "too large"),
            ("(?<secs>[0-9]+)", "a group \"secs\""),
            (&"(".repeat(200), "at its character"),
            (&"a".repeat(1_001), "longer than"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(says), "{bad}: {said}");
            assert!(!said.contains('\n'), "{said}");
        }
        assert!(pattern(&DeValue::Boolean(true)).unwrap_err().contains("is true or false"));
    }

    #[test]
    fn the_largest_pattern_can_be_compiled() {
        for text in ["(a{70}){70}", "([a-z0-9 ]{70}){70}", "(.|x|yy){1,900}z"] {
            let text = pattern(&DeValue::String(text.to_owned().into())).unwrap();
            regex::bytes::RegexBuilder::new(&text).unicode(false).build().unwrap();
        }
    }
}
