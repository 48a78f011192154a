use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn scope(ins: &[&str], outs: &[&str]) -> Scope {
    let list = |l: &[&str]| l.iter().map(|e| (*e).to_owned()).collect();
    Scope { in_scope: list(ins), out_of_scope: list(outs), ..Scope::default() }
}

fn packages() -> BTreeMap<String, Vec<String>> {
    let all = [
        ("crates/core", "watchbill-core"),
        ("packages/ui", "@acme/ui"),
        ("srv", "github.com/x/y"),
        ("srv/inner", "inner"),
    ];
    all.into_iter().map(|(folder, name)| (folder.to_owned(), vec![name.to_owned()])).collect()
}

fn judge(ins: &[&str], outs: &[&str], path: &str) -> Side {
    Bounds::of(&scope(ins, outs), Some("/home/u/repo")).judge(path, &packages())
}

fn out(entry: &str) -> Side {
    Side::Out { entry: entry.into() }
}

fn unclear(entry: &str) -> Side {
    Side::Unclear { entry: entry.into() }
}

#[test]
fn patterns_of_names_are_exceptions() {
    for (ins, outs, path, want) in [
        (&["src/**"][..], &["*.snap"][..], "src/a.snap", out("*.snap")),
        (&["src/**"], &["**/generated/**"], "src/x/generated/a.rs", out("**/generated/**")),
        (&["src/a.snap"], &["*.snap"], "src/a.snap", Side::In),
        (&["src/*.rs"], &["**"], "src/a.rs", Side::In),
        (&["src/parse/**"], &["src/**"], "src/parse/a.rs", Side::In),
        (&["**/*.rs"], &["src/vendor/**"], "src/vendor/a.rs", out("src/vendor/**")),
        (&["src/**"], &["src/vendor/**"], "src/vendor/a.rs", out("src/vendor/**")),
    ] {
        assert_eq!(judge(ins, outs, path), want, "{ins:?} {outs:?} {path}");
    }
}

#[test]
fn one_entry_in_scope() {
    for (entry, inside, beyond) in [
        ("src/a/**", &["src/a/b", "src/a/b/c"][..], &["src/b", "src/ab", "x/src/a/b"][..]),
        ("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "a.rs", "src/a.rs.bak"]),
        ("src/**/*.rs", &["src/a.rs", "src/a/b/c.rs"], &["src/a.ts", "lib/src/a.rs"]),
        ("**/*.snap", &["a.snap", "x/y/a.snap"], &["a.snap.new"]),
        ("*.md", &["README.md", "docs/a/b.md"], &["README.mdx"]),
        ("docs/", &["docs/a", "docs/a/b", "x/docs/a"], &["docs", "docs.md"]),
        ("docs", &["docs", "docs/a", "x/docs", "x/docs/a"], &["docs2/a", "mydocs/a"]),
        ("/docs", &["docs", "docs/a"], &["x/docs/a"]),
        ("./docs/", &["docs/a"], &["docs", "x/docs/a"]),
        ("Makefile", &["Makefile", "sub/Makefile"], &["makefile", "Makefile.am", "xMakefile"]),
        ("/Makefile", &["Makefile"], &["sub/Makefile"]),
        (
            "crates/parser",
            &["crates/parser", "crates/parser/src/lib.rs"],
            &["crates/parser2/x", "x/crates/parser/y"],
        ),
        ("crates/parser/", &["crates/parser/src/lib.rs"], &["crates/parser"]),
        ("src/{a,b}/**", &["src/a/x", "src/b/y/z"], &["src/c/x"]),
        ("src/{a,b}", &["src/a", "src/a/x/y"], &["src/c", "src/ab"]),
        ("src/{a,b}.rs", &["src/a.rs", "src/b.rs"], &["src/c.rs"]),
        ("src/[ab].rs", &["src/a.rs"], &["src/c.rs"]),
        ("src/[!a].rs", &["src/c.rs"], &["src/a.rs"]),
        ("src/?.rs", &["src/a.rs"], &["src/ab.rs"]),
        ("app/[id]/page.tsx", &["app/[id]/page.tsx", "app/i/page.tsx"], &["app/x/page.tsx"]),
        // One level, unless it names folders.
        ("src/*", &["src/a"], &["src/a/b"]),
        ("crates/*/", &["crates/a/b", "crates/a/b/c"], &["crates/a"]),
        ("crates/*-core", &["crates/x-core/src/lib.rs"], &["crates/x/src/lib.rs"]),
        ("*", &["a", "a/b/c", ".x"], &[]),
        ("**", &["a", "a/b/c"], &[]),
        (".", &["a", "a/b"], &[]),
        ("./", &["a", "a/b"], &[]),
        ("/", &["a", "a/b"], &[]),
        ("everything", &["a", "a/b"], &[]),
        ("All files", &["a", "a/b"], &[]),
        // Names that begin with a dot are names.
        (".github/**", &[".github/workflows/ci.yml"], &["github/x"]),
        (".env", &[".env", "a/.env"], &["a.env", ".env.local"]),
        ("src/**", &["src/.hidden/x"], &[".src/x"]),
        (".*", &[".gitignore", "a/.x", ".github/y"], &["a", "a/b"]),
        // Packages.
        ("watchbill-core", &["crates/core/src/lib.rs", "crates/core/Cargo.toml"], &["crates/cli/x"]),
        ("@acme/ui", &["packages/ui/a/b.ts"], &["packages/api/x", "packages/uix/y"]),
        ("github.com/x/y", &["srv/main.go", "srv/inner/a.go"], &["main.go"]),
        ("inner", &["srv/inner/a.go"], &["srv/main.go"]),
        // Full paths, and ones elsewhere.
        ("/home/u/repo/src/", &["src/a"], &["x/src/a", "home/u/repo/src/a"]),
        ("/home/u/repo", &["a", "a/b"], &[]),
        ("src//a/./b", &["src/a/b"], &["src/a"]),
        ("Ordner/größe.txt", &["Ordner/größe.txt"], &["Ordner/grösse.txt"]),
        ("my docs/a b.md", &["my docs/a b.md"], &[]),
    ] {
        for path in inside {
            assert_eq!(judge(&[entry], &[], path), Side::In, "{entry} {path}");
            assert_eq!(judge(&[], &[entry], path), out(entry), "{entry} {path}");
        }
        for path in beyond {
            assert_eq!(judge(&[entry], &[], path), Side::Beyond, "{entry} {path}");
            assert_eq!(judge(&[], &[entry], path), Side::In, "{entry} {path}");
        }
    }
}

#[test]
fn the_closest_entry_decides() {
    for (ins, outs, path, want) in [
        (&["src/**"][..], &["src/vendor/**"][..], "src/vendor/x", out("src/vendor/**")),
        (&["src/vendor/ours/**"], &["src/vendor"], "src/vendor/ours/x", Side::In),
        (&["src/vendor/mod.rs"], &["src/vendor/**"], "src/vendor/mod.rs", Side::In),
        (&["src/**"], &["src/a.rs"], "src/a.rs", out("src/a.rs")),
        (&["src/a.rs"], &["./src/a.rs"], "src/a.rs", out("./src/a.rs")),
        // A full stop or a line number behind a path belongs to the path where a file is named so.
        (&["src/**"], &["src/a."], "src/a.", out("src/a.")),
        (&["src/**"], &["src/a:7"], "src/a:7", out("src/a:7")),
        (&["src/**"], &["src/a:7"], "src/a", out("src/a:7")),
        (&["src/**"], &["src/"], "src/a.rs", out("src/")),
        (&["src/"], &["src/**"], "src/a.rs", out("src/**")),
        (&["src/**"], &["**"], "src/a.rs", Side::In),
        (&["src/**"], &["everything"], "src/a.rs", Side::In),
        (&["*.md"], &["everything"], "README.md", Side::In),
        (&["src/**"], &["everything"], "lib/a.rs", out("everything")),
        (&["everything"], &["**/*.lock"], "Cargo.lock", out("**/*.lock")),
        (&["everything"], &["everything"], "a", out("everything")),
        // A name at any depth is as close as the place it names.
        (&["src/**"], &["generated"], "src/generated/x.rs", out("generated")),
        (&["src/**"], &["fixtures/"], "src/a/fixtures/b/x", out("fixtures/")),
        (&["docs/x/**"], &["docs"], "docs/x/docs/y", out("docs")),
        (&["docs"], &["*.md"], "docs/a.md", out("*.md")),
        // A package is as close as its folder.
        (&["crates/**"], &["watchbill-core"], "crates/core/x", out("watchbill-core")),
        (&["watchbill-core"], &["crates/**"], "crates/core/x", Side::In),
        (&["watchbill-core"], &["crates/core/tests/**"], "crates/core/tests/x", out("crates/core/tests/**")),
        (&["inner"], &["github.com/x/y"], "srv/inner/a.go", Side::In),
        // The first of equal ones is named.
        (&[], &["src/*", "src/**"], "src/a", out("src/*")),
    ] {
        assert_eq!(judge(ins, outs, path), want, "{ins:?} {outs:?} {path}");
    }
}

#[test]
fn what_is_not_understood() {
    for (ins, outs, path, want) in [
        (&["the parser package"][..], &[][..], "src/x", unclear("the parser package")),
        (&["src/**", "the parser package"], &[], "lib/x", unclear("the parser package")),
        (&["src/**", "the parser package"], &[], "src/x", Side::In),
        (&["the parser package"], &["src/**"], "src/x", out("src/**")),
        (&["src/[a"], &[], "src/a", unclear("src/[a")),
        (&["src/[a"], &[], "src/[a", Side::In),
        (&["src/{a,b"], &[], "src/a", unclear("src/{a,b")),
        (&["Scope::parse"], &[], "src/scope.rs", unclear("Scope::parse")),
        (&["parse()"], &[], "src/scope.rs", unclear("parse()")),
        (&["src/**"], &["the parser package"], "lib/x", Side::Beyond),
        (&["src/**"], &["the parser package"], "src/x", Side::In),
        (&["src/**"], &["everything else"], "lib/x", Side::Beyond),
        (&[], &["the parser package"], "src/x", unclear("the parser package")),
        (&[], &["docs/", "Everything else."], "src/x", Side::In),
        (&["src/**", "the rest"], &["lib/**"], "x", unclear("the rest")),
        (&[], &["The rest"], "src/x", Side::In),
        (&[], &["docs/[x"], "src/x", unclear("docs/[x")),
        (&[], &["docs/", "the rest of the parser"], "src/x", unclear("the rest of the parser")),
        (&[], &[], "src/x", Side::In),
    ] {
        assert_eq!(judge(ins, outs, path), want, "{ins:?} {outs:?} {path}");
    }
    assert!(
        Bounds::of(&scope(&[], &[]), None).is_empty() && Bounds::of(&scope(&[" "], &[""]), None).is_empty()
    );
    assert!(!Bounds::of(&scope(&[], &["the rest"]), None).is_empty());
}

#[test]
fn entries_that_ask_for_too_much() {
    let deep = "{".repeat(100_000) + &"}".repeat(100_000);
    let wide = "[a-z]*".repeat(80);
    let many: Vec<String> = (0..3_000).map(|n| format!("{n}/**/*[ab]{{c,d}}*")).collect();
    for entry in [deep.as_str(), &wide, &"*".repeat(100_000), &"{a,b}".repeat(90), &"**/".repeat(5_000)] {
        let got = judge(&[entry], &[], "a/b");
        assert!(matches!(got, Side::Unclear { .. }), "{}", entry.len());
    }
    let bounds = Bounds::of(&Scope { in_scope: many, ..Scope::default() }, None);
    assert_eq!(bounds.judge("7/x/zacz", &packages()), Side::In);
    assert_eq!(bounds.judge("2999/x/zacz", &packages()), unclear("and more entries than are read"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_entry_and_any_path_can_be_judged(
        ins in vec("[a-c/.*?{},!\\[\\]\\\\ \\PC]{0,12}", 0..4),
        outs in vec("[a-c/.*?{},!\\[\\]\\\\ \\PC]{0,12}", 0..4),
        path in "[a-c/.\\PC]{0,12}",
        root in proptest::option::of("[/a-c\\PC]{0,5}"),
    ) {
        let scope = Scope { in_scope: ins, out_of_scope: outs, ..Scope::default() };
        let bounds = Bounds::of(&scope, root.as_deref());
        let side = bounds.judge(&path, &packages());
        if bounds.is_empty() {
            prop_assert_eq!(side, Side::In);
        }
    }

    #[test]
    fn a_path_in_scope_is_in_scope_unless_it_is_out_too(
        path in "[a-c]{1,2}(/[a-c.]{0,1}[a-c]){0,3}",
        others in vec("[a-c/*]{1,6}|everything", 0..5),
    ) {
        let same = others.iter().any(|o| !o.ends_with('/') && place(o, None).0 == path);
        let scope = Scope { in_scope: vec![path.clone()], out_of_scope: others, ..Scope::default() };
        let side = Bounds::of(&scope, None).judge(&path, &BTreeMap::new());
        prop_assert_eq!(side == Side::In, !same);
    }

    #[test]
    fn order_within_a_list_changes_no_side(
        mut ins in vec("[a-c/*.]{1,6}", 0..5),
        mut outs in vec("[a-c/*.]{1,6}", 0..5),
        path in "[a-c]{1,2}(/[a-c]{1,2}){0,3}",
    ) {
        let kind = |ins: &[String], outs: &[String]| {
            let scope = Scope { in_scope: ins.to_vec(), out_of_scope: outs.to_vec(), ..Scope::default() };
            std::mem::discriminant(&Bounds::of(&scope, None).judge(&path, &BTreeMap::new()))
        };
        let before = kind(&ins, &outs);
        ins.reverse();
        outs.reverse();
        prop_assert_eq!(kind(&ins, &outs), before);
    }
}

/// In each of these `src/a.rs` is meant, or may be: nobody is accused of it.
#[test]
fn what_people_and_models_put_around_a_path() {
    let top: Vec<String> = ["src", "cli", "Cargo.toml"].map(str::to_owned).into();
    for list in [
        "\"src/a.rs\", \"src/b.rs\"",
        "\"src/**\"",
        "'src/**'",
        "[src/a.rs]",
        "[src/**]",
        "[\"src/a.rs\"]",
        "[src/a.rs, cli/c.rs]",
        "[cli/c.rs, src/a.rs]",
        "[the parser](src/a.rs)",
        "src/a.rs.",
        "src/a.rs:10-40",
        "src/a.rs:7",
        "src/a.rs#L10-L20",
        "./src/...",
        "src/...",
        "src/\u{2026}",
        "`src/\u{2026}`",
        "src\\**",
        "`src\\**`",
        "src\\*.rs",
        "src\\sub\\**",
        "src\\a.rs",
        "~/proj/src/**",
        "/home/agents/proj/src/**",
        "myproj/src/**",
        "../proj/src/**",
        "src/a.rs;cli/c.rs",
        "cli/c.rs\u{3001}src/a.rs",
        "`cli/c.rs` and everything in src",
        "`cli/c.rs`, and the a module",
        "cli/c.rs (and src/a.rs)",
        "cli/c.rs - plus src/a.rs",
        "`cli/c.rs`, etc.",
        "`cli/c.rs`, `...`",
        "`cli/c.rs`, ...",
        "`cli/c.rs`\n  and `src/**`",
        "parser",
        "parser-and-tests",
        "TBD",
        "<files>",
        "`!cli/**`",
        "`src/**` except `src/b.rs`",
    ] {
        let scope = Scope::parse(&format!("## Scope\n- In scope: {list}\n")).unwrap();
        let side = Bounds::of(&scope, Some("/home/u/repo"))
            .in_tree(&top, &packages())
            .judge("src/a.rs", &packages());
        assert!(matches!(side, Side::In | Side::Unclear { .. }), "{list}: {side:?} {:?}", scope.in_scope);
    }
    for list in [
        "`src/**` except `src/a.rs`",
        "`cli/**`, but not `src/a.rs`",
        "all of `src/**` other than `src/a.rs`",
    ] {
        let scope =
            Scope::parse(&format!("## Scope\n- In scope: `docs/**`, `src/a.rs`\n- Out of scope: {list}\n"))
                .unwrap();
        assert_eq!(Bounds::of(&scope, None).judge("src/a.rs", &packages()), Side::In, "{list}");
    }
}

#[test]
fn a_folder_below_the_top_counts_from_either() {
    let scope = scope(&["src/**"], &["**/secret/**"]);
    let bounds = Bounds::of(&scope, None);
    for (path, below, want) in [
        ("packages/foo/src/a.ts", "packages/foo", Side::In),
        ("packages/foo/src/a.ts", "", Side::Beyond),
        ("packages/foo/docs/a.md", "packages/foo", Side::Beyond),
        ("packages/foo/src/secret/a", "packages/foo", out("**/secret/**")),
    ] {
        assert_eq!(bounds.judge_below(path, below, &packages()), want, "{path} in {below}");
    }
}
