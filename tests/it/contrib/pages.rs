//! What the pages say is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{place, programs, text, watchers};
use crate::support::{TestBoard, dead_pid, now, program, ran};

/// The exit codes of every program.
const CODES: [u8; 10] = [0, 1, 2, 65, 66, 70, 74, 75, 77, 78];

/// What every page tells, in this order.
const HEADINGS: [&str; 8] =
    ["Purpose", "Usage", "Examples", "What it looks at", "What it changes", "Options", "Exit codes", "Notes"];

/// Pages of parts of `watchbill`.
const DESK: [&str; 7] = ["match", "doctor", "check", "metrics", "timers", "run", "page"];

pub fn help(name: &str, args: &[&str]) -> String {
    ran(Command::new(program(name)).args(args).arg("--help")).ok()
}

/// The flags a help text shows: what stands at the beginning of an indented line.
fn flags(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|l| l.starts_with('-'));
    let words = lines
        .flat_map(|l| l.split("  ").next().unwrap().split([' ', ',']).map(str::to_owned).collect::<Vec<_>>());
    words.filter(|w| w.starts_with('-') && w.len() > 1).collect()
}

/// Every flag of `name` and its subcommands.
pub fn all_flags(name: &str) -> BTreeSet<String> {
    let mut all = flags(&help(name, &[]));
    all.extend(subcommands(name).iter().flat_map(|command| flags(&help(name, &[command]))));
    all
}

/// The subcommands of `name`, but for those that are programs: `watchbill heal` and `board` have pages of their own.
pub fn subcommands(name: &str) -> Vec<String> {
    let top = help(name, &[]);
    let commands = top.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let commands = commands.filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    let names = commands.filter_map(|l| l.split_whitespace().next());
    names.filter(|c| *c != "help" && !programs().iter().any(|p| p == c)).map(str::to_owned).collect()
}

/// Whether a page shows a flag as code: `--run` is not shown by `--runs`.
fn shows(page: &str, flag: &str) -> bool {
    page.split(&format!("`{flag}")).skip(1).any(|rest| rest.starts_with(['`', ' ']))
}

/// The flags a command has alone, and those it shares with others.
fn own_and_common(name: &str, args: &[&str]) -> (BTreeSet<String>, BTreeSet<String>) {
    let all = help(name, args);
    let (own, rest) = all.split_once("Common options:").unwrap_or((&all, ""));
    let common = rest.split("\n\n").next().unwrap_or_default();
    let (mut own, mut common) = (flags(own), flags(common));
    for flag in ["-h", "--help", "-V", "--version"] {
        common.extend(own.take(flag));
    }
    (own, common)
}

/// The page of a command: a part of `watchbill` has its own, if it has one.
fn page_of(name: &str, command: Option<&str>) -> String {
    let own = command.filter(|_| name == "watchbill").map(|command| format!("docs/{command}.md"));
    own.filter(|page| place(page).exists()).unwrap_or_else(|| format!("docs/{name}.md"))
}

/// The command that is meant by a program alone, then each of its subcommands.
fn commands(name: &str) -> Vec<Option<String>> {
    std::iter::once(None).chain(subcommands(name).into_iter().map(Some)).collect()
}

#[test]
fn every_flag_is_on_its_page() {
    let shared = text("docs/options.md");
    let mut seen = 0;
    for name in programs() {
        for command in commands(&name) {
            let args: Vec<&str> = command.as_deref().into_iter().collect();
            let (own, common) = own_and_common(&name, &args);
            assert!(common.contains("--help"), "{name} {args:?}: {common:?}");
            let at = page_of(&name, command.as_deref());
            let page = text(&at);
            let missing: Vec<_> = own.iter().filter(|f| !shows(&page, f)).collect();
            assert!(missing.is_empty(), "{name} {args:?}: {at} does not show {missing:?}");
            // `--server` is common to the commands of `coord` alone.
            let missing: Vec<_> = common.iter().filter(|f| !shows(&shared, f) && !shows(&page, f)).collect();
            assert!(missing.is_empty(), "{name} {args:?}: docs/options.md does not show {missing:?}");
            assert!(page.contains("(options.md)") || common.len() <= 4, "{at} leads to the common options");
            seen += own.len();
        }
    }
    assert!(seen > 100, "the flags of subcommands were looked at: {seen}");
}

#[test]
fn every_flag_a_page_shows_exists() {
    for name in programs() {
        for command in commands(&name) {
            let at = page_of(&name, command.as_deref());
            let page = text(&at);
            let Some(options) = page.split("\n## Options").nth(1).and_then(|o| o.split("\n## ").next())
            else {
                continue;
            };
            // A page of one command shows its flags alone; that of a program those of all that have no page.
            let flags = match command.as_deref().filter(|_| at != format!("docs/{name}.md")) {
                Some(command) => flags(&help(&name, &[command])),
                None => all_flags(&name),
            };
            for word in options.split('`').skip(1).step_by(2).filter(|w| w.starts_with('-') && *w != "-") {
                let flag = word.split([' ', '[']).next().unwrap();
                assert!(flags.contains(flag), "{at} shows {flag}, and {name} {command:?} has {flags:?}");
            }
        }
    }
}

/// What every program has is told once. A page says of such a flag only what it means there beside.
#[test]
fn common_options_have_one_reference() {
    for page in pages().into_iter().filter(|page| !page.ends_with("docs/options.md")) {
        let text = fs::read_to_string(&page).unwrap();
        for flag in ["--db", "--board", "--hermes-root", "-h", "-V"] {
            let row = |line: &&str| line.starts_with(&format!("| `{flag}"));
            assert_eq!(text.lines().find(row), None, "{}: docs/options.md tells of {flag}", page.display());
        }
    }
}

#[test]
fn every_program_has_its_page_and_row() {
    let readme = text("README.md");
    for name in programs() {
        assert!(readme.contains(&format!("\n| `{name}` | ")), "no row for {name} in the README");
        let page = text(&format!("docs/{name}.md"));
        let found: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert_eq!(found, HEADINGS, "docs/{name}.md");
        assert!(page.starts_with(&format!("# {name}\n")), "docs/{name}.md");
    }
}

#[test]
fn every_exit_code_is_on_the_pages() {
    let page = text("docs/exit-codes.md");
    for code in CODES {
        assert_eq!(page.matches(&format!("\n| {code} | ")).count(), 1, "docs/exit-codes.md tells of {code}");
    }
    for name in programs() {
        let page = text(&format!("docs/{name}.md"));
        let told = page.split("\n## Exit codes\n").nth(1).and_then(|t| t.split("\n## ").next()).unwrap();
        assert!(told.contains("(exit-codes.md)"), "docs/{name}.md does not lead to docs/exit-codes.md");
    }
    let help = help("heal", &[]);
    for code in CODES {
        let told = help.split(|c: char| !c.is_ascii_digit()).any(|w| w == code.to_string());
        assert!(told, "heal --help does not tell of {code}");
    }
}

#[test]
fn readme_begins_with_two_commands() {
    let readme = text("README.md");
    let block = readme.split("```").nth(1).unwrap();
    let commands: Vec<&str> = block.lines().skip(1).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "cargo test"]);
    assert!(readme[..readme.find("```").unwrap()].lines().count() <= 8, "they are on the first screen");
}

#[test]
fn a_page_says_what_to_do_during_an_incident() {
    let section = text("docs/how-to/during-an-incident.md");
    let board = TestBoard::new();
    for name in watchers() {
        let row = section
            .lines()
            .find(|l| l.starts_with(&format!("| `{name}` | ")))
            .unwrap_or_else(|| panic!("{name}"));
        let command: Vec<&str> = row.split('`').nth(3).unwrap().split(' ').collect();
        assert_eq!(command[0], name);
        ran(board.command(&name).args(&command[1..])).ok();
    }
}

/// The keys stand in the sample alone, which `watchbill-config` compares with them; the page leads there and names each section.
#[test]
fn every_section_is_on_the_configuration_page() {
    let page = text("docs/configuration.md");
    assert!(page.contains("(../contrib/watchbill.toml)"), "it leads to the sample");
    let sample = text("contrib/watchbill.toml");
    for key in shared::config::keys() {
        assert!(page.contains(&format!("`[{}]`: ", key.section)), "{}", key.name());
        let section = sample.split(&format!("\n[{}]\n", key.section)).nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        assert!(section.contains(&format!("\n#{} = ", key.key)), "{}", key.name());
    }
}

#[test]
fn every_key_a_page_names_exists() {
    let keys: BTreeSet<String> = shared::config::keys().iter().map(|key| key.name()).collect();
    let sections: BTreeSet<&str> = shared::config::keys().iter().map(|key| key.section).collect();
    let is_key = |word: &&str| {
        word.split_once('.').is_some_and(|(section, key)| {
            let is_name = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            sections.contains(section) && is_name && !["html", "json"].contains(&key)
        })
    };
    let mut named = BTreeSet::new();
    for page in pages() {
        let page = unfenced(&fs::read_to_string(page).unwrap());
        let words = page.split('`').skip(1).step_by(2).filter_map(|code| code.split(' ').next());
        named.extend(words.filter(is_key).map(str::to_owned));
    }
    let unknown: Vec<_> = named.difference(&keys).collect();
    assert!(unknown.is_empty(), "no such keys: {unknown:?}");
    assert!(named.len() >= 40, "only {} keys are named", named.len());
}

#[test]
fn every_finding_and_every_metric_is_on_its_page() {
    let (findings, metrics) = (text("docs/doctor.md"), text("docs/metrics.md"));
    for id in crate::doctor::IDS {
        assert_eq!(findings.matches(&format!("\n| `{id}` | ")).count(), 1, "{id}");
    }
    let of_passes = shared::ops::metrics::METRICS.iter();
    for m in of_passes.chain(&shared::ops::needs::gauges::METRICS) {
        let labels: Vec<String> = m.labels.iter().map(|l| format!("`{l}`")).collect();
        let row = format!("| `{}` | {} | {} | {} |", m.name, m.kind, labels.join(", "), m.help);
        assert!(metrics.lines().any(|l| l == row), "docs/metrics.md lacks this row:\n{row}");
    }
}

/// Pages of what `watchbill` does have the headings of those of programs, and every page of that kind is there.
#[test]
fn every_page_of_the_desk_has_the_same_headings() {
    for name in DESK {
        let page = text(&format!("docs/{name}.md"));
        let found: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert_eq!(found, HEADINGS, "docs/{name}.md");
        assert!(page.starts_with(&format!("# {name}\n")), "docs/{name}.md");
    }
}

#[test]
fn every_field_is_on_the_json_page() {
    let board = TestBoard::new();
    board.add("t_1", "ready");
    board.run_it("t_1", Some(dead_pid()), 3_600);
    let report = board.heal(&["--dry-run", "--json", "-v", "--now", &now().to_string()]).json();
    let (one, plan) = (&report["boards"][0], &report["plan"]);
    let planned = &plan["boards"][0]["steps"][0];
    let objects =
        [&report, one, &one["steps"][0], &one["steps"][0]["expect"], plan, planned, &planned["proof"]];
    let page = text("docs/json.md");
    for object in objects {
        let fields = object.as_object().unwrap_or_else(|| panic!("no object: {object}"));
        let missing: Vec<_> = fields.keys().filter(|k| !page.contains(&format!("`{k}`"))).collect();
        assert!(missing.is_empty(), "docs/json.md does not tell of {missing:?}");
    }
}

#[test]
fn every_field_of_the_desk_is_on_its_page() {
    let board = TestBoard::new();
    for (name, args) in [
        ("doctor", &["doctor"][..]),
        ("check", &["check"]),
        ("page", &["page"]),
        ("timers", &["timers", "status"]),
        ("run", &["run", "-n"]),
        ("timers", &["timers", "install", "--as", "user", "-n"]),
    ] {
        let ran = crate::tools::run(&board, &[args, &["--json"]].concat());
        let object: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        let page = text(&format!("docs/{name}.md"));
        let lists = object.as_object().unwrap().values().filter_map(|v| v.as_array()?.first()?.as_object());
        for fields in lists.chain(object.as_object()) {
            let missing: Vec<_> = fields.keys().filter(|k| !page.contains(&format!("`{k}`"))).collect();
            assert!(missing.is_empty(), "docs/{name}.md does not tell of {missing:?}");
        }
    }
}

/// Each decision that the page shows is read, and carried out, as it stands there.
#[test]
fn decisions_as_the_page_shows_them_are_carried_out() {
    let page = text("docs/route-blocked.md");
    let shown: Vec<Value> = page
        .split("\n\n")
        .filter(|p| p.starts_with("    {\"route\""))
        .map(|p| serde_json::from_str(p).unwrap_or_else(|e| panic!("{e}: {p}")))
        .collect();
    let actions: Vec<_> = shown.iter().map(|d| d["route"]["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["reassign", "unblock", "split", "human"]);
    let board = TestBoard::own();
    for decision in shown {
        let task = board.hand(&["add", "Translate the docs", "--assignee", "luna"]).ok().trim().to_owned();
        board.hand(&["claim", &task, "--worker", "luna"]).ok();
        board.hand(&["block", &task, "--type", "env_blocker", "--needs", "a look"]).ok();
        let taken = board.hand(&["claim", "--worker", "tuesday", "--json"]).json();
        let (card, run) = (taken["task"].as_str().unwrap(), taken["run"].to_string());
        let metadata = decision.to_string().replace("t_1a2b3c4d", &task);
        board.hand(&["complete", card, "--run", &run, "--metadata", &metadata]).ok();
        let said = ran(&mut board.command("route-blocked")).ok();
        let action = decision["route"]["action"].as_str().unwrap();
        assert!(said.contains(&format!("Carried out: {action} {task}.")), "{said}");
    }
}

#[test]
fn the_changelog_begins_with_this_version() {
    let log = text("CHANGELOG.md");
    let first = log.lines().find_map(|l| l.strip_prefix("## ")).unwrap();
    assert_eq!(first, env!("CARGO_PKG_VERSION"));
}

#[test]
fn promises_name_tests_that_exist() {
    let pages = [text("docs/evidence/safety.md"), text("docs/evidence/resume.md")].join("\n");
    let mut named = 0;
    for name in pages.split('`').skip(1).step_by(2).filter(|w| w.contains("::") && !w.contains(' ')) {
        let (module, test) = name.rsplit_once("::").unwrap();
        let file = &*module.replace("::", "/");
        let folder = if file == "unit" { place("shared") } else { place("tests/it") };
        let mut found = false;
        files(&folder, &mut |path| {
            let here = path.strip_prefix(&folder).unwrap();
            let is_file = file == "unit" || here.with_extension("").starts_with(file);
            found |=
                is_file && std::fs::read_to_string(path).is_ok_and(|t| t.contains(&format!("fn {test}(")));
        });
        assert!(found, "a page names {name}, which is not there");
        named += 1;
    }
    assert!(named >= 20, "only {named} tests are named");
}

/// The pages a reader may come to.
fn pages() -> Vec<PathBuf> {
    let top = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"];
    let mut pages: Vec<PathBuf> = top.into_iter().map(place).collect();
    files(&place("docs"), &mut |p| pages.push(p.to_path_buf()));
    pages.retain(|p| p.extension().is_some_and(|x| x == "md"));
    pages
}

/// A page without its fenced blocks.
pub fn unfenced(page: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Relative links of a page: the file, and the anchor in it.
fn links(page: &Path) -> Vec<(PathBuf, String)> {
    let text = unfenced(&std::fs::read_to_string(page).unwrap());
    let links = text.split("](").skip(1).map(|l| l.split(')').next().unwrap());
    let ours = links.filter(|l| !l.starts_with("https://"));
    ours.map(|link| {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { page.to_path_buf() } else { page.parent().unwrap().join(file) };
        (target, anchor.to_owned())
    })
    .collect()
}

/// The anchors of a page, as GitHub makes them of its headings.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = unfenced(&std::fs::read_to_string(page).unwrap());
    let headings = text.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    headings.map(|h| h.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for page in pages() {
        for (target, anchor) in links(&page) {
            let here = page.display();
            assert!(target.exists(), "{here} leads to {}", target.display());
            let is_there = anchor.is_empty() || anchors(&target).contains(&anchor);
            assert!(is_there, "{here} leads to #{anchor} of {}, which has no such heading", target.display());
            count += 1;
        }
    }
    assert!(count >= 200, "only {count} links were found");
}

/// Each file of the Debian package's documentation, with the place it comes from: the other way round two could meet in one place.
fn packaged() -> Vec<(PathBuf, PathBuf)> {
    let manifest = text("Cargo.toml");
    let lines = manifest.lines().filter(|l| l.contains(", \"usr/share/doc/watchbill/"));
    let mut all = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let (from, to) = (place(words[0]), Path::new(words[1]));
        let Some(ending) = from.file_name().unwrap().to_str().unwrap().strip_prefix('*') else {
            all.push((to.join(from.file_name().unwrap()), from));
            continue;
        };
        for entry in std::fs::read_dir(from.parent().unwrap()).unwrap().flatten() {
            let name = entry.file_name();
            if entry.path().is_file() && name.to_str().unwrap().ends_with(ending) {
                all.push((to.join(name), entry.path()));
            }
        }
    }
    all
}

#[test]
fn links_of_the_package_lead_somewhere() {
    let all = packaged();
    let places: BTreeSet<&PathBuf> = all.iter().map(|(to, _)| to).collect();
    assert_eq!(places.len(), all.len(), "two files in one place: {all:?}");
    let from: BTreeSet<PathBuf> = all.iter().map(|(_, from)| from.canonicalize().unwrap()).collect();
    let depth = |p: &Path| p.components().count() - place("").components().count();
    for (to, page) in all.iter().filter(|(_, from)| from.extension().is_some_and(|x| x == "md")) {
        let root = Path::new("usr/share/doc/watchbill");
        assert_eq!(to.strip_prefix(root).unwrap().components().count(), depth(page), "{}", to.display());
        for (target, _) in links(page) {
            let is_there = from.contains(&target.canonicalize().unwrap());
            assert!(is_there, "{} leads to {}, which is not packed", page.display(), target.display());
        }
    }
}

#[test]
fn every_page_is_listed_once() {
    let list = place("docs/README.md");
    let canonical = |p: &PathBuf| p.canonicalize().unwrap();
    let entries: Vec<String> = unfenced(&text("docs/README.md"))
        .lines()
        .filter_map(|l| Some(l.strip_prefix("- [")?.split("](").nth(1)?.split(')').next()?.to_owned()))
        .collect();
    let listed: Vec<PathBuf> = entries.iter().map(|e| canonical(&place("docs").join(e))).collect();
    for page in pages() {
        let is_one = page.starts_with(place("docs")) && page != list;
        let times = listed.iter().filter(|l| **l == canonical(&page)).count();
        assert_eq!(times, usize::from(is_one), "docs/README.md lists {}", page.display());
    }
}

/// The table of contents of the site is made of the one list of pages.
#[test]
fn the_site_has_every_page_in_the_order_of_the_list() {
    let summary = ran(Command::new(place("contrib/site")).arg("--summary")).ok();
    let of = |page: &str, begin: &str| -> Vec<String> {
        let links = page.lines().filter_map(|l| l.strip_prefix(begin)?.split("](").nth(1)?.split(')').next());
        links.map(str::to_owned).collect()
    };
    let there = of(&summary.replace("- [", "["), "[");
    let listed = of(&text("docs/README.md"), "- [").into_iter().map(|l| format!("docs/{l}"));
    let (docs, project): (Vec<_>, Vec<_>) = there.iter().cloned().partition(|page| page.starts_with("docs/"));
    assert_eq!(docs, std::iter::once("docs/README.md".to_owned()).chain(listed).collect::<Vec<_>>());
    for page in pages() {
        let times =
            there.iter().filter(|l| place(l).canonicalize().unwrap() == page.canonicalize().unwrap()).count();
        assert_eq!(times, 1, "{} in the table of contents", page.display());
    }
    assert_eq!((project[0].as_str(), project.len()), ("README.md", 6), "{project:?}");
    let version =
        text("contrib/site").split("MDBOOK = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(
        text("CONTRIBUTING.md").contains(&format!("mdbook@{version} "))
            && text(".ci/run").contains("contrib/site")
    );
}

#[test]
fn every_term_of_the_glossary_is_on_the_page_of_concepts() {
    let glossary = text("CONTRIBUTING.md");
    let rows = glossary.split("\n| term | meaning |\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let terms =
        rows.lines().skip(1).flat_map(|row| row.split('|').nth(1).unwrap().split(", ")).map(str::trim);
    let terms: Vec<&str> = terms.collect();
    assert!(terms.len() >= 30, "{terms:?}");
    let page = text("docs/concepts.md").to_lowercase();
    let missing: Vec<_> = terms.iter().filter(|term| !page.contains(&format!("**{term}**"))).collect();
    assert!(missing.is_empty(), "docs/concepts.md does not explain {missing:?}");
    assert!(page.split_whitespace().count() <= 950, "it is longer than one reading");
}

/// A page for a symptom is one screen, and answers the same questions in the same order.
#[test]
fn every_how_to_fits_a_screen_and_answers_what_is_asked() {
    let mut count = 0;
    files(&place("docs/how-to"), &mut |path| {
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.lines().count() <= 60, "{} is longer than a screen", path.display());
        let found: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        let asked: &[&str] = match path.file_name().unwrap().to_str().unwrap() {
            "during-an-incident.md" => &[],
            _ => &["What you see", "Why", "What to do", "How you know it is over"],
        };
        assert_eq!(found, asked, "{}", path.display());
        count += 1;
    });
    assert!(count >= 9, "only {count} pages were found");
}

#[test]
fn nothing_is_left_for_later() {
    // Written apart, so that this file does not find itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
    let mut looked = 0;
    files(&place(""), &mut |path| {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        looked += 1;
        for mark in marks {
            let line = text.lines().position(|l| l.contains(mark));
            assert!(line.is_none(), "{}:{}: {mark}", path.display(), line.unwrap_or(0) + 1);
        }
    });
    assert!(looked > 40, "only {looked} files were looked at");
}

/// Walks over the files of a folder, but for what is built or git's own.
fn files(folder: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && name != "target" && name != ".git" {
            files(&path, each);
        } else if kind.is_file() {
            each(&path);
        }
    }
}
