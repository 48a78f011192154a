use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

fn canonical() -> Scope {
    Scope {
        concern: Some("one sentence".into()),
        in_scope: vec!["src/a/**".into(), "README.md".into()],
        out_of_scope: vec!["src/b/**".into()],
        max_files: Some(5),
        iterations: Some(40),
        time_budget: Some(Duration::from_secs(1_800)),
        cost_budget: None,
    }
}

const CANONICAL: &str = "## Scope\n- Concern: one sentence\n- In scope: `src/a/**`, `README.md`\n\
    - Out of scope: `src/b/**`\n- Max files: 5\n- Iteration budget: 40\n- Time budget: 30m\n";

#[test]
fn the_canonical_form() {
    assert_eq!(canonical().write(), CANONICAL);
    assert_eq!(Scope::parse(CANONICAL), Some(canonical()));
    assert_eq!(Scope::default().write(), "## Scope\n");
    assert_eq!(Scope::parse("## Scope\n"), Some(Scope::default()));
    let cost =
        Scope { cost_budget: Some("$5".into()), concern: Some(" a\n b\r\n".into()), ..Scope::default() };
    assert_eq!(cost.write(), "## Scope\n- Concern: a b\n- Cost budget: $5\n");
}

#[test]
fn other_forms_of_the_same() {
    let forms = [
        CANONICAL.replace('\n', "\r\n"),
        CANONICAL.replace("## ", "# "),
        CANONICAL.replace("## ", "##"),
        CANONICAL.replace("## Scope", "#### **SCOPE:** ##"),
        CANONICAL.replace("## Scope", "## 2. Scope"),
        CANONICAL.replace("- ", "* "),
        CANONICAL.replace("- ", "1. "),
        CANONICAL.replace("- ", ""),
        CANONICAL.replace("- ", "\n"),
        CANONICAL.replace("- ", "   - [ ] "),
        CANONICAL.replace('`', ""),
        CANONICAL
            .to_uppercase()
            .replace("SRC/A", "src/a")
            .replace("SRC/B", "src/b")
            .replace("MD`", "md`")
            .replace("ONE SENTENCE", "one sentence")
            .replace("30M", "30 MINUTES"),
        CANONICAL.replace("In scope", "In-scope").replace("Max f", "max_f"),
        CANONICAL.replace("Out of scope", "out_of_scope"),
        format!("Fix it.\n\n{CANONICAL}\nPlease take care.\n\n## Next\n- Max files: 9\n"),
        format!("Fix it.\n```\n{CANONICAL}```\n- Max files: 9\n"),
        format!("Fix it.\n\n````markdown\n{CANONICAL}````\n"),
        CANONICAL.replace("Scope\n", "Scope\n```yaml\nx: 1\n```\n").replace("- Con", "\n- Con"),
        CANONICAL.replace("Scope\n", "Scope\n\n~~~\n") + "~~~\n",
        format!("# Scope Guard\n- Max files: 9\n\n{CANONICAL}# Scope guard\n- Concern: no\n"),
        format!("{CANONICAL}\n{}", CANONICAL.replace('5', "9")),
        format!("```\n{}```\n{CANONICAL}", CANONICAL.replace('5', "9")),
        "## Scope\n\n**Concern:** one\n  sentence\n**In scope:**\n- `src/a/**` - the parser\n- README.md\n\n\
         **Out of scope**:\n\n- src/b/**\n\n**Max files:** **5** (soft)\n**Iteration budget**: ~40 turns\n\
         **Time budget: 30 min**\n"
            .into(),
        "### Scope\n#### Concern\none sentence\n\n#### In scope\n* src/a/**\n\n* README.md\n\
         #### Out of scope\n- `src/b/**`\n#### Max files\n5\n\
         #### Iteration budget\n40\n#### Time budget\n0.5h\n"
            .into(),
        "## Scope\n- Concern:\n  one sentence\n- Files/packages in scope:\n  - src/a/**, README.md\n\
         - Out of scope:\n\t+ `src/b/**`\n- Maximum file count: at most 5 files.\n\
         - Expected iteration budget: `40`\n- time limit: 1800s"
            .into(),
        "## Scope\n- Concern: one sentence\n- In scope:\n- `src/a/**`\n- `README.md`\n- Note: none\n\
         - Out of scope\u{ff1a} src/b/**\n- Max files: 5\n- Iterations: 40\n\
         - Time budget: 30M\n- Max time: 30m\n"
            .into(),
    ];
    for body in forms {
        assert_eq!(Scope::parse(&body), Some(canonical()), "{body}");
    }
}

#[test]
fn no_section_is_none() {
    for body in [
        "",
        "Scope\n",
        "## Scope Guard\n- Max files: 5\n",
        "## Out of scope\n- x\n",
        "## In scope\n- x\n",
        "#Scope\n",
        "####### Scope\n",
        "    ## Scope\n- Max files: 5\n",
        "> ## Scope\n> - Max files: 5\n",
        "```sh\n## scope\n```\n",
        "```\n# scope\n```\n",
        "the scope: ## Scope\n",
    ] {
        assert_eq!(Scope::parse(body), None, "{body}");
    }
}

#[test]
fn what_is_not_plainly_a_value_is_absent() {
    for value in [
        "many",
        "",
        "-5",
        "5.5",
        "5-8",
        "1,000",
        "5k",
        "five",
        "5 per package",
        "4294967296",
        "5 10",
        "not 5",
    ] {
        let body = format!("## Scope\n- Max files: {value}\n- Iteration budget: {value}\n");
        assert_eq!(Scope::parse(&body), Some(Scope::default()), "{value}");
    }
    for value in ["90", "15M", "1 month", "soon", "-5m", "500ms", "30m or so"] {
        let body = format!("## Scope\n- Time budget: {value}\n");
        assert_eq!(Scope::parse(&body), Some(Scope::default()), "{value}");
    }
}

#[test]
fn a_section_ends_where_its_level_does() {
    let body = "### Scope\n- Max files: 5\n#### Why\n- Iteration budget: 40\n### Other\n- Time budget: 30m\n";
    let want = Scope { max_files: Some(5), iterations: Some(40), ..Scope::default() };
    assert_eq!(Scope::parse(body), Some(want.clone()));
    assert_eq!(Scope::parse(&body.replace("### O", "# O")), Some(want));
    // A comment in a script is not a heading.
    let body = "## Scope\n- Max files: 5\n```sh\n# Scope\n# - Max files: 7\n```\n- Iteration budget: 40\n";
    assert_eq!(Scope::parse(body).and_then(|s| s.iterations), Some(40));
}

#[test]
fn what_looks_like_something_else() {
    let ins = |entries: &[&str]| entries.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>();
    for (body, want) in [
        // A folder of a label's name.
        ("## Scope\n- In scope:\n  - src\n  - iterations\n", ins(&["src", "iterations"])),
        // Stars of a glob, not of bold text.
        ("## Scope\n**In scope: src/**\n", ins(&["src/**"])),
        ("## Scope\n**In scope: `src/**`**\n", ins(&["src/**"])),
        ("## Scope\n- In scope: **/a\n", ins(&["**/a"])),
        // The words behind a label that has its entries already.
        ("## Scope\nIn scope: `a`\n- the rest later\n", ins(&["a"])),
        ("## Scope\n- In scope: `a`\n  - the parser\n", ins(&["a", "the parser"])),
        // A code span on a line of its own opens no fence, and a shorter one closes none.
        ("```x```\n## Scope\n- In scope: `a`\n", ins(&["a"])),
        ("````\n```\n## Scope\n- In scope: `b`\n````\n## Scope\n- In scope: `a`\n", ins(&["a"])),
    ] {
        assert_eq!(Scope::parse(body).map(|s| s.in_scope), Some(want), "{body}");
    }
}

#[test]
fn text_after_the_fields_is_none_of_them() {
    let fields = Scope { concern: Some("a b".into()), out_of_scope: vec!["x".into()], ..Scope::default() };
    for after in [
        "\nPlease take care.\n",
        "\n- a bullet\n",
        "\n  - a bullet below\n",
        "- Depends on: t_1\n",
        "The rest is yours.\n",
        "\nx y\n- y\n",
    ] {
        let body = format!("## Scope\n- Concern: a\n  b\n- Out of scope: `x`\n{after}");
        assert_eq!(Scope::parse(&body), Some(fields.clone()), "{body}");
    }
    let folded = Scope::parse("## Scope\nConcern: a\nNote: b\nMax files: 1\n").unwrap();
    assert_eq!((folded.concern.as_deref(), folded.max_files), (Some("a"), Some(1)));
}

#[test]
fn put_appends_or_replaces() {
    let scope = Scope { max_files: Some(5), ..Scope::default() };
    let new = "## Scope\n- Max files: 5\n";
    for (body, want) in [
        ("", new.to_owned()),
        ("Fix it.", format!("Fix it.\n\n{new}")),
        ("Fix it.\n", format!("Fix it.\n\n{new}")),
        ("Fix it.\n\n", format!("Fix it.\n\n{new}")),
        ("Fix it.\r\n", format!("Fix it.\r\n\r\n{}", new.replace('\n', "\r\n"))),
        ("Fix it.\r", format!("Fix it.\r\r\n\r\n{}", new.replace('\n', "\r\n"))),
        ("~~~~ sh\nls\n", format!("~~~~ sh\nls\n~~~~\n\n{new}")),
        ("## Scope Guard\n- x\n", format!("## Scope Guard\n- x\n\n{new}")),
        ("## Scope", new.into()),
        ("a\n# SCOPE:\n- Concern: x\n  y\n# b\n", "a\n# SCOPE:\n- Max files: 5\n# b\n".into()),
        ("## Scope\n\n- Concern: x\n\nTake care.\n", "## Scope\n- Max files: 5\n\nTake care.\n".into()),
        (
            "## Scope\n- Concern: x\n- Why: y\n- Max files: 9\n## b",
            "## Scope\n- Max files: 5\n\n- Why: y\n## b".into(),
        ),
        ("```\n## Scope\n- Max files: 9\n```\nb", "```\n## Scope\n- Max files: 5\n```\nb".into()),
        ("## Scope\n```\n- Max files: 9\n```\nb\n", "## Scope\n- Max files: 5\n\nb\n".into()),
        ("## Scope\n```sh\nls\n```\n- Max files: 9\n", "## Scope\n- Max files: 5\n\n```sh\nls\n```\n".into()),
        // A fence inside a fence is content of it, and stays so.
        (
            "## Scope\n```\n- [ ] Iterations: 4\n```sh\n```\n```\n### Out of scope\n",
            "## Scope\n- Max files: 5\n\n```\n```sh\n```\n```\n### Out of scope\n".into(),
        ),
        (
            "## Scope\n```\n- Max files: 9\n~~~~\n```\n# b\n",
            "## Scope\n- Max files: 5\n\n```\n~~~~\n```\n# b\n".into(),
        ),
    ] {
        assert_eq!(put(body, &scope), want, "{body:?}");
        assert_eq!(put(&want, &scope), want, "{body:?}, written again");
    }
}

#[test]
fn a_value_is_bare_after_one_reading() {
    for (said, want) in [
        ("$5 (about) (at most)", "$5"),
        ("**$5** (about)", "$5"),
        ("$5*\u{f}*", "$5"),
        ("(all of it)", "(all of it)"),
        ("* (x)", "(x)"),
    ] {
        let scope = Scope::parse(&format!("## Scope\n- Cost budget: {said}\n")).unwrap();
        assert_eq!(scope.cost_budget.as_deref(), Some(want), "{said:?}");
        assert_eq!(Scope::parse(&scope.write()), Some(scope), "{said:?}");
    }
}

#[test]
fn machine_output_counts_seconds() {
    let json = serde_json::to_value(canonical()).unwrap();
    assert_eq!(json["time_budget"], 1_800);
    assert_eq!(serde_json::from_value::<Scope>(json).unwrap(), canonical());
    assert!(serde_json::from_str::<Scope>(r#"{"time_budget": -1}"#).is_err());
}

#[test]
fn the_cost_in_words_and_as_an_amount() {
    for (words, want) in [("$5", Some(5_000_000_000)), ("about 5", None), ("5 EUR", None)] {
        let scope = Scope { cost_budget: Some(words.into()), ..Scope::default() };
        assert_eq!(scope.cost().map(|m| m.0), want, "{words}");
    }
    assert_eq!(Scope::default().cost(), None);
}

/// A scope as `write` leaves it: every text on one line, nothing empty.
fn tidy() -> impl Strategy<Value = Scope> {
    let line = |t: String| Some(entry::one_line(&t)).filter(|t| !t.is_empty());
    let text = "[ -~\u{e4}\u{2014}]{0,30}";
    let entries = || vec("[ -~\u{e4}]{0,12}|[`*,{} ]{1,5}", 0..4);
    let tidied = move |v: Vec<String>| v.into_iter().filter_map(line).collect();
    let cost = option::of("[$\u{20ac}]?[0-9]{1,3}( USD)?");
    (
        text,
        entries(),
        entries(),
        option::of(any::<u32>()),
        option::of(any::<u32>()),
        option::of(0_u64..9_999_999),
        cost,
    )
        .prop_map(move |(concern, ins, outs, max_files, iterations, time, cost_budget)| Scope {
            concern: line(concern),
            in_scope: tidied(ins),
            out_of_scope: tidied(outs),
            max_files,
            iterations,
            time_budget: time.map(Duration::from_secs),
            cost_budget,
        })
}

/// Lines as bodies have them, in any order and with either line end.
fn body() -> impl Strategy<Value = String> {
    let lines = [
        "",
        "",
        "## Scope",
        "## Scope",
        "# Scope",
        "### Next",
        "# Top",
        "## Scope Guard",
        "- Concern: x",
        "**In scope:**",
        "- In scope: `a`",
        "- Out of scope:",
        "### Out of scope",
        "Max files: many",
        "- Time budget: 3m",
        "  - a/b",
        "- a/b",
        "  wrapped text",
        "Some text.",
        "- Why: y",
        "Note: z",
        "```",
        "```",
        "```sh",
        "~~~~",
        "  ```markdown",
        "   ",
        "a/b, c/d",
        "    ## Scope",
        "> quoted",
        "- [ ] Iterations: 4",
        "----",
    ];
    vec((proptest::sample::select(lines.to_vec()), any::<bool>()), 0..14).prop_map(|lines| {
        let text: String =
            lines.iter().map(|(l, dos)| format!("{l}{}", if *dos { "\r\n" } else { "\n" })).collect();
        if lines.len() % 2 == 0 { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn reads_what_it_writes(scope in tidy()) {
        prop_assert_eq!(Scope::parse(&scope.write()), Some(scope));
    }

    #[test]
    fn writing_any_text_settles_at_once(
        concern in "\\PC{0,9}[\r\n\t]{0,2}\\PC{0,9}",
        entry in "[`\\PC\n]{0,9}",
    ) {
        let scope = Scope { concern: Some(concern), in_scope: vec![entry], ..Scope::default() };
        let once = scope.write();
        prop_assert!(once.lines().count() <= 3);
        prop_assert_eq!(Scope::parse(&once).unwrap().write(), once);
    }

    #[test]
    fn what_is_read_is_written_and_read_as_the_same(
        body in prop_oneof![body(), "## Scope\n([#`:*~\n,{} -]|In scope:|Concern:|Cost budget:|\\PC){0,40}"],
    ) {
        let Some(first) = Scope::parse(&body) else { return Ok(()) };
        let once = first.write();
        prop_assert_eq!(Scope::parse(&once).map(|s| s.write()), Some(once));
    }

    #[test]
    fn put_is_read_back_and_idempotent(body in body(), scope in tidy()) {
        let once = put(&body, &scope);
        prop_assert_eq!(Scope::parse(&once), Some(scope.clone()), "{}", &once);
        prop_assert_eq!(&put(&once, &scope), &once);
    }

    #[test]
    fn put_keeps_everything_else(body in body(), scope in tidy()) {
        let put = put(&body, &scope);
        let lines = section::lines(&body);
        let raw = |lines: &[Line<'_>]| lines.iter().map(|l| l.raw).collect::<String>();
        let Some(at) = section::find(&lines) else {
            prop_assert!(put.starts_with(&body));
            return Ok(());
        };
        prop_assert!(put.starts_with(&raw(&lines[..=at.heading])));
        prop_assert!(put.ends_with(&raw(&lines[at.end..])));
        // Within the section, every line outside of the fields is still there, in its order.
        let section = inner(&lines, &at);
        let known = read::read(section).known;
        let mut left = put.split_inclusive('\n');
        for (line, _) in section.iter().zip(known).filter(|(l, known)| !known && !l.is_blank()) {
            prop_assert!(left.any(|l| l == line.raw), "lost {:?} in {}", line.raw, put);
        }
    }

    #[test]
    fn any_text_is_read(body in "([#`:*~\n -]|## Scope\n|In scope:|\\PC){0,60}") {
        let _ = (Scope::parse(&body), put(&body, &Scope::default()));
    }
}
