use proptest::prelude::*;

use super::*;

const POLICY: Policy = Policy { max_files: 20, iterations: 60, max_areas: 3 };

const SOUND: &str = "Please fix it.\n\n## Scope\n- Concern: the parser takes empty input\n\
    - In scope: `src/parser/**`, `tests/parser.rs`, `README.md`\n- Out of scope: `src/lexer/**`, everything else\n\
    - Max files: 5\n- Iteration budget: 40\n- Time budget: 30m\n- Cost budget: $5\n";

/// Kind, line and fix of each flaw.
fn short(body: &str) -> Vec<(FlawKind, Option<usize>, String)> {
    lint(body, &POLICY).into_iter().map(|f| (f.what, f.line, f.fix)).collect()
}

#[test]
fn a_sound_section_has_no_flaw() {
    assert_eq!(lint(SOUND, &POLICY), []);
    assert_eq!(lint(&SOUND.replace('\n', "\r\n"), &POLICY), []);
    // Limits may be left out.
    assert_eq!(lint("## Scope\n- Concern: x\n- In scope: watchbill-core, @acme/ui\n", &POLICY), []);
    // A closer entry carves its place out of a wider one.
    let carved = "## Scope\n- Concern: x\n- In scope: src/a/b/**\n- Out of scope: src/a/**\n";
    assert_eq!(lint(carved, &POLICY), []);
}

#[test]
fn no_section_at_all() {
    let flaws = lint("Please fix it.\n", &POLICY);
    let want = "## Scope\n- Concern: <what is different when it is done, in one sentence>\n\
        - In scope: `<path or glob>`\n- Out of scope: `<path or glob>`\n- Max files: 20\n- Iteration budget: 60\n\
        - Time budget: 30m\n- Cost budget: $5\n";
    assert_eq!((flaws.len(), flaws[0].line, flaws[0].what), (1, None, FlawKind::Missing));
    assert_eq!(flaws[0].fix, want);
    // Nobody gets by with the template as it stands.
    let kinds: Vec<_> = short(want).into_iter().map(|(what, line, _)| (what, line)).collect();
    assert_eq!(kinds, [2, 3, 4].map(|n| (FlawKind::NotUnderstood, Some(n))));
}

#[test]
fn each_flaw_names_its_line_and_a_way_out() {
    use FlawKind::{Contradictory, Missing, NotUnderstood, TooBroad};
    let long = "x".repeat(301);
    for (line, what, fix) in [
        // The concern is line 2 of the section.
        ("- Concern:", Missing, "- Concern: <what is different when it is done, in one sentence>"),
        ("- Concern: parse it and also print it", TooBroad, "- Concern: parse it"),
        ("- Concern: parse it; print it", TooBroad, "- Concern: parse it"),
        (
            &format!("- Concern: {long}"),
            TooBroad,
            "- Concern: <what is different when it is done, in one sentence>",
        ),
        ("- Concern: <x>", NotUnderstood, "- Concern: <what is different when it is done, in one sentence>"),
        ("- In scope:", Missing, "- In scope: `<path or glob>`"),
        ("- In scope: none", Missing, "- In scope: `<path or glob>`"),
        ("- In scope: `**`", TooBroad, "- In scope: `<path or glob>`"),
        ("- In scope: `src/a/**`, `*`", TooBroad, "- In scope: `src/a/**`"),
        ("- In scope: a, .", TooBroad, "- In scope: `a`"),
        ("- In scope: a, ./", TooBroad, "- In scope: `a`"),
        ("- In scope: a, /", TooBroad, "- In scope: `a`"),
        ("- In scope: a, **/*", TooBroad, "- In scope: `a`"),
        ("- In scope: a, */**", TooBroad, "- In scope: `a`"),
        ("- In scope: a, everything", TooBroad, "- In scope: `a`"),
        ("- In scope: a, All", TooBroad, "- In scope: `a`"),
        (
            "- In scope: a/x, b/x, c/x, d/x, a/y, README.md",
            TooBroad,
            "- In scope: `a/x`, `b/x`, `c/x`, `a/y`, `README.md`",
        ),
        ("- In scope: {a,b,c,d}/**", TooBroad, "- In scope: `<path or glob>`"),
        ("- In scope: a, src/[x", NotUnderstood, "- In scope: `a`, `src/**`"),
        ("- In scope: a, {x", NotUnderstood, "- In scope: `a`"),
        ("- In scope: `a`, `the parser`", NotUnderstood, "- In scope: `a`"),
        ("- Out of scope: a, src/[x", NotUnderstood, "- Out of scope: `a`"),
        ("- Max files: many", NotUnderstood, "- Max files: 20"),
        ("- Max files: 0", Contradictory, "- Max files: 20"),
        ("- Max files: 21", TooBroad, "- Max files: 20"),
        ("- Iteration budget: 61", TooBroad, "- Iteration budget: 60"),
        ("- Iteration budget: 0 turns", Contradictory, "- Iteration budget: 60"),
        ("- Time budget: soon", NotUnderstood, "- Time budget: 30m"),
        ("- Time budget: 0s", Contradictory, "- Time budget: 30m"),
        ("- Cost budget: cheap", NotUnderstood, "- Cost budget: $5"),
        ("- Cost budget: 5 EUR", NotUnderstood, "- Cost budget: $5"),
        ("- Cost budget: $0.00", Contradictory, "- Cost budget: $5"),
    ] {
        let label = line.split(':').next().unwrap();
        let others = ["- Concern: x", "- In scope: `q/r`", "- Max files: 20 files"];
        let others: String =
            others.iter().filter(|o| !o.starts_with(label)).map(|o| format!("{o}\n")).collect();
        let body = format!("Text.\n\n## Scope\n{line}\n{others}");
        let flaws = lint(&body, &POLICY);
        let got: Vec<_> = flaws.iter().map(|f| (f.line, f.text.as_deref(), f.what, f.fix.as_str())).collect();
        assert_eq!(got, [(Some(4), Some(line), what, fix)], "{body}");
        // What is suggested for a number or an entry is sound itself.
        if !fix.contains('<') {
            assert_eq!(lint(&body.replace(line, fix), &POLICY), [], "{fix}");
        }
    }
    let got = short("## Scope\n\nText.\n");
    assert_eq!(got.iter().map(|g| (g.0, g.1)).collect::<Vec<_>>(), [(Missing, None), (Missing, None)]);
}

#[test]
fn what_is_in_and_out_at_once() {
    for (inside, outside, want) in [
        ("src/a.rs", "src/a.rs", true),
        ("src/a.rs", "./src/a.rs", true),
        ("src/a.rs", "src/**", false),
        ("src/**", "src/a.rs", false),
        ("src/**", "src/", true),
        ("src/", "src/**", true),
        ("src", "src/**", true),
        ("src/parser", "src/parser/**", true),
        ("src/*.rs", "src/**", true),
        ("src/*.rs", "src/*.rs", true),
        ("src/*.rs", "src/*.ts", false),
        ("src/*.rs", "lib/**", false),
        ("src/{a,b}/**", "src/{a,b}/**", true),
        ("src/{a,b}/**", "src/a/**", false),
        ("*.rs", "**/*.rs", true),
        ("*.rs", "/*.rs", false),
        ("Makefile", "/Makefile", true),
        ("/Makefile", "Makefile", true),
        ("docs", "docs/", true),
        ("app/[id]/x", "app/[id]/x", true),
        ("watchbill-core", "watchbill-core", true),
        ("the src/a part", "the src/a part", true),
        ("src/a", "everything else", false),
        ("src/a", "everything", false),
    ] {
        let body = format!(
            "## Scope\n- Concern: x\n- In scope:\n  - `q`\n  - `{inside}`\n- Out of scope: `{outside}`\n"
        );
        let fix = "- In scope: `q`".to_owned();
        let want = if want { vec![(FlawKind::Contradictory, Some(5), fix)] } else { vec![] };
        assert_eq!(short(&body), want, "{inside} {outside}");
    }
    let twice = "## Scope\n- Concern: x\n- In scope: a\n- Max files: 5\n- Max files: 5\n- Max files: 7\n";
    assert_eq!(short(twice), [(FlawKind::Contradictory, Some(6), "- Max files: 20".to_owned())]);
}

#[test]
fn machine_output() {
    let flaw = &lint("", &POLICY)[0];
    let json = serde_json::to_value(flaw).unwrap();
    assert_eq!(json["what"], flaw.what.as_str());
    assert_eq!(serde_json::from_value::<Flaw>(json).unwrap(), *flaw);
    for what in [FlawKind::Missing, FlawKind::Contradictory, FlawKind::TooBroad, FlawKind::NotUnderstood] {
        assert_eq!(serde_json::to_value(what).unwrap(), what.as_str());
    }
}

/// A realistic body, with a few of its characters changed for others.
fn mutated() -> impl Strategy<Value = String> {
    let places =
        proptest::collection::vec((any::<proptest::sample::Index>(), "[*`{}\\[\\]/,:;#\n 0-9-]|\\PC"), 0..8);
    places.prop_map(|places| {
        let mut all: Vec<String> = SOUND.chars().map(String::from).collect();
        for (at, text) in places {
            let at = at.index(all.len());
            all[at] = text;
        }
        all.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_can_be_linted(body in "([#`:*~\n,{}\\[/ -]|## Scope\n|In scope:|Out of scope:|\\PC){0,60}") {
        let _ = lint(&body, &POLICY);
    }

    #[test]
    fn flaws_point_to_lines_of_the_body(body in mutated()) {
        let lines: Vec<&str> = body.split('\n').collect();
        for flaw in lint(&body, &POLICY) {
            let line = flaw.line.map(|n| lines[n - 1].to_owned());
            prop_assert_eq!(line, flaw.text);
            prop_assert!(!flaw.fix.is_empty() && !flaw.because.is_empty());
        }
    }
}
