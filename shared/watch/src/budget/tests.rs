//! Tables and properties of the verdicts, the drafts, and what is written where the operator asked for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::seen::{FilesSeen, Seen, Used, Work};
use super::{BudgetCheck, decide, judge, page};
use base::money::Money;
use base::registry::BUDGET_CHECK;
use board::testing::{NOW, ago, detail, event, run};
use board::{Change, Comment, Detail, Run, Status, Step};
use card::decision::{self, Action};
use config::Config;
use logs::usage::{Reread, Tokens, Usage};
use policy::routing::facts::Routing;
use policy::runtime::Runtime;
use policy::{Decision, Pass};
use worktree::changes::{Base, Changed, Changes, How};

fn pass() -> Pass {
    Pass { id: "p".into(), program: BUDGET_CHECK, now: NOW, clock_given: false, only: None, dry: false }
}

/// A task that luna has worked on for `seconds`.
fn running(seconds: i64) -> Work {
    let mut d = detail("t_0000000a", Status::Running);
    d.runs.push(Run { started_at: ago(seconds), ..run(7, "luna", None) });
    d.task.current_run = Some(7);
    d.task.started_at = Some(ago(seconds));
    work(d)
}

fn work(detail: Detail) -> Work {
    Work {
        refused: std::collections::BTreeSet::new(),
        detail,
        usage: Usage { turns: Some(3), tool_calls: Some(5), tool_errors: Some(0), ..Usage::default() },
        earlier: Vec::new(),
        files: FilesSeen::unknown("not looked at"),
        tree: None,
        slept: 0,
    }
}

fn changed(files: &[(&str, How)]) -> FilesSeen {
    let files: Vec<Changed> = files.iter().map(|(p, how)| Changed { path: (*p).into(), how: *how }).collect();
    let changes = Changes {
        root: "/w".into(),
        branch: Some("wt/x".into()),
        head: Some("b".repeat(40)),
        head_at: Some(ago(5_000)),
        base: Base::Fork,
        base_commit: Some("a".repeat(40)),
        commits: 1,
        count: files.len(),
        files,
        is_cut: false,
        below: String::new(),
        top: Vec::new(),
        packages: BTreeMap::new(),
    };
    FilesSeen { changes: Some(changes), why_not: None }
}

const SCOPE: &str = "Do it.\n\n## Scope\n- Concern: the parser\n- In scope: `src/parse/**`\n- Out of scope: `src/cli/**`\n\
                     - Max files: 3\n- Iteration budget: 20\n- Time budget: 10m\n- Cost budget: $1\n";

fn seen(work: Vec<Work>) -> Seen {
    Seen {
        now: NOW,
        since: ago(86_400),
        runtime: Some(Runtime {
            failure_limit: Some(2),
            profiles: ["luna", "tuesday"].into_iter().collect(),
            auto_decompose: Some(true),
            review_dispatch: Some(true),
            ..Runtime::absent()
        }),
        glanced: 1,
        own_board: true,
        name: "default".into(),
        slug: None,
        switched: false,
        db: "/b/board.db".into(),
        clock_fault: None,
        counts: BTreeMap::from([("running".to_owned(), 1)]),
        work,
        cards: Vec::new(),
        routing: Routing::default(),
        turns: Vec::new(),
        unknown: Vec::new(),
    }
}

/// The verdicts on one task, in their order, with the unknowns behind them.
fn verdicts(work: Work, config: &Config) -> (Vec<&'static str>, Vec<String>) {
    let seen = seen(vec![work]);
    let judged = judge::all(&seen, config, &BTreeMap::new(), None);
    (judged[0].verdicts.iter().map(|f| f.kind.as_str()).collect(), judged[0].unknown.clone())
}

fn decided(work: Work, watcher: &BudgetCheck) -> Decision {
    decide(watcher, &seen(vec![work]), &pass(), &Config::default())
}

fn commenting() -> BudgetCheck {
    BudgetCheck { comment: true, ..BudgetCheck::default() }
}

fn asking() -> BudgetCheck {
    BudgetCheck { distress: true, ..BudgetCheck::default() }
}

#[test]
fn each_verdict_has_its_own_ground() {
    let config = Config::default();
    let scoped = |mut w: Work| {
        w.detail.body = SCOPE.into();
        w
    };
    type Case = (&'static str, Work, &'static [&'static str]);
    let cases: Vec<Case> = vec![
        ("an hour is allowed", running(3_600), &[]),
        ("a second more is not", running(3_601), &["over time"]),
        ("while the machine slept it did not work", Work { slept: 21_600, ..running(25_200) }, &[]),
        ("beside that it worked too long", Work { slept: 21_600, ..running(25_201) }, &["over time"]),
        ("the task allows less", scoped(running(700)), &["over time"]),
        ("ninety turns are allowed", Work { usage: turns(90), ..running(60) }, &[]),
        ("one more is not", Work { usage: turns(91), ..running(60) }, &["over iterations"]),
        (
            "the task allows less turns",
            scoped(Work { usage: turns(21), ..running(60) }),
            &["over iterations"],
        ),
        ("money without a limit", Work { usage: cost("$90"), ..running(60) }, &[]),
        ("money of the task", scoped(Work { usage: cost("$1.01"), ..running(60) }), &["over cost"]),
        (
            "money of all attempts",
            scoped(Work {
                usage: cost("$0.60"),
                earlier: vec![Used { run: 6, usage: cost("$0.60") }],
                ..running(60)
            }),
            &["over cost"],
        ),
        (
            "files in scope",
            scoped(Work { files: changed(&[("src/parse/a.rs", How::Modified)]), ..running(60) }),
            &[],
        ),
        (
            "files outside",
            scoped(Work {
                files: changed(&[("src/parse/a.rs", How::Modified), ("docs/x.md", How::Untracked)]),
                ..running(60)
            }),
            &["out of scope"],
        ),
        (
            "four files",
            scoped(Work {
                files: changed(&[
                    ("src/parse/a.rs", How::Modified),
                    ("src/parse/b.rs", How::Added),
                    ("src/parse/c.rs", How::Deleted),
                    ("src/parse/d.rs", How::Untracked),
                ]),
                ..running(60)
            }),
            &["too many files"],
        ),
        ("no scope, no judgement", Work { files: changed(&[("x", How::Added)]), ..running(60) }, &[]),
        (
            "equal calls",
            Work { usage: Usage { identical_calls: Some(5), ..turns(9) }, ..running(60) },
            &["churning"],
        ),
        (
            "compactions",
            Work { usage: Usage { compactions: Some(3), ..turns(9) }, ..running(60) },
            &["churning"],
        ),
        ("reads of one file", Work { usage: rereads(8), ..running(60) }, &["churning"]),
        ("fewer reads of one file", Work { usage: rereads(7), ..running(60) }, &[]),
        (
            "reading only, where nothing is to be changed",
            Work { usage: Usage { tool_calls: Some(90), edits: Some(0), ..turns(9) }, ..running(60) },
            &[],
        ),
        (
            "reading only, where files are in scope",
            scoped(Work {
                usage: Usage { tool_calls: Some(60), edits: Some(0), ..turns(9) },
                files: changed(&[]),
                ..running(60)
            }),
            &["churning"],
        ),
        (
            "edits that only the files show",
            scoped(Work {
                usage: Usage { tool_calls: Some(60), edits: Some(0), ..turns(9) },
                files: changed(&[("src/parse/a.rs", How::Modified)]),
                ..running(60)
            }),
            &[],
        ),
        ("a start that cannot be true", running(900_000), &[]),
    ];
    for (name, work, want) in cases {
        assert_eq!(verdicts(work, &config).0, want, "{name}");
    }
}

#[test]
fn work_is_far_beyond_a_bound_that_was_set_once_it_is_passed_twice() {
    let scoped = |mut w: Work| {
        w.detail.body = SCOPE.into();
        w
    };
    let outside = changed(&[("src/cli/main.rs", How::Added)]);
    let many = changed(&["a", "b", "c", "d", "e", "f", "g"].map(|f| (f, How::Added)));
    let many_inside = FilesSeen {
        changes: many.changes.map(|mut c| {
            c.files.iter_mut().for_each(|f| f.path = format!("src/parse/{}", f.path));
            c
        }),
        ..many
    };
    for (w, far) in [
        (running(60), None),
        (running(3_601), Some(false)),
        // Nobody set that limit.
        (running(36_000), Some(false)),
        (scoped(running(1_199)), Some(false)),
        (scoped(running(1_200)), Some(true)),
        (scoped(Work { usage: turns(39), ..running(60) }), Some(false)),
        (scoped(Work { usage: turns(40), ..running(60) }), Some(true)),
        (scoped(Work { usage: cost("$1.99"), ..running(60) }), Some(false)),
        (scoped(Work { usage: cost("$2"), ..running(60) }), Some(true)),
        (scoped(Work { files: outside.clone(), ..running(60) }), Some(true)),
        (scoped(Work { files: many_inside, ..running(60) }), Some(false)),
    ] {
        let what = format!("{:?} {:?}", w.usage, w.files);
        let found = decided(w, &BudgetCheck::default()).beyond;
        assert_eq!(found.first().map(|b| b.is_far), far, "{found:?} {what}");
    }
    let both = scoped(Work { files: outside.clone(), ..running(700) });
    let says = decided(both, &BudgetCheck::default()).beyond.remove(0).says;
    assert!(
        says.starts_with("out of scope: 1 of 1 changed files") && says.contains("; over time: 11m"),
        "{says}"
    );
    // Nobody stops what has ended.
    let mut over = scoped(Work { files: outside, ..running(60) });
    over.detail.task.status = Status::Blocked;
    over.detail.runs[0].ended_at = Some(ago(30));
    assert_eq!(decided(over, &BudgetCheck::default()).beyond, []);
}

fn turns(n: u64) -> Usage {
    Usage { turns: Some(n), ..Usage::default() }
}

fn cost(amount: &str) -> Usage {
    Usage { cost: Money::parse(amount), turns: Some(3), tokens: Some(Tokens::default()), ..Usage::default() }
}

fn rereads(times: u64) -> Usage {
    Usage { rereads: vec![Reread { file: "a.rs".into(), times }], ..turns(9) }
}

#[test]
fn what_is_known_in_part_is_over_or_not_known() {
    let part = |amount: &str| Usage {
        cost: None,
        cost_at_least: Money::parse(amount),
        unknown: vec!["no price for glm-4.6".into()],
        ..cost(amount)
    };
    let of = |usage: Usage, earlier: Option<Usage>| {
        let earlier: Vec<Used> = earlier.map(|usage| Used { run: 6, usage }).into_iter().collect();
        let mut w = Work { usage, earlier, ..running(60) };
        w.detail.body = SCOPE.into();
        w
    };
    let limit = Config::default();
    let cost_of = |unknown: Vec<String>| unknown.into_iter().filter(|u| u.starts_with("cost:")).count();
    for (work, over, unknown) in [
        (of(part("$30"), None), 1, 0),
        (of(part("$0.60"), Some(cost("$0.60"))), 1, 0),
        (of(cost("$0.60"), Some(part("$0.60"))), 1, 0),
        (of(part("$1"), None), 0, 1),
        (of(cost("$0.10"), Some(part("$0.20"))), 0, 1),
        (of(cost("$0.10"), None), 0, 0),
    ] {
        let said = format!("{:?} {:?}", work.usage, work.earlier);
        let (found, whys) = verdicts(work, &limit);
        assert_eq!((found.len(), cost_of(whys.clone())), (over, unknown), "{said}: {found:?} {whys:?}");
        assert!(whys.iter().all(|u| !u.starts_with("cost:") || u == "cost: no price for glm-4.6"));
    }
    let seen = seen(vec![of(part("$30"), None)]);
    let judged = judge::all(&seen, &limit, &BTreeMap::new(), None);
    assert!(judged[0].verdicts[0].because.starts_with("at least $30.00 spent, $1.00 allowed"));
    let page = page::overview(&seen, &judged, &limit);
    assert_eq!((page.tasks[0].cost, page.tasks[0].cost_is_least), (Money::parse("$30"), true));
    assert_eq!((page.spent[0].cost, page.spent[0].is_least), (Money::parse("$30"), true));
}

#[test]
fn what_is_not_known_is_no_verdict_and_is_said() {
    let mut w = running(60);
    w.usage = Usage::unknown("no log tells");
    w.detail.body = SCOPE.into();
    w.files = FilesSeen::unknown("git takes too long");
    let (found, unknown) = verdicts(w, &Config::default());
    assert_eq!(found, [""; 0]);
    assert_eq!(unknown, ["iterations: no log tells", "cost: no log tells", "files: git takes too long"]);

    let mut w = running(60);
    w.detail.body = SCOPE.into();
    w.files = changed(&[]);
    let whys = ["no edits are told", "the output does not tell turns", "tokens are not told"];
    w.usage = Usage { unknown: whys.map(str::to_owned).into(), ..Usage::default() };
    let (_, unknown) = verdicts(w, &Config::default());
    assert_eq!(unknown, [format!("iterations: {}", whys[1]), format!("cost: {}", whys[2])]);

    let mut w = running(60);
    w.detail.body = "## Scope\n- In scope: the parser and its friends\n".into();
    w.files = changed(&[("src/a.rs", How::Modified)]);
    let (found, unknown) = verdicts(w, &Config::default());
    assert_eq!(found, [""; 0], "prose covers nothing and excludes nothing");
    assert!(unknown[0].contains("src/a.rs"), "{unknown:?}");
}

#[test]
fn a_limit_that_is_set_and_not_measured_is_told() {
    let told = |work: Vec<Work>, config: &Config, origin: &[&str]| {
        let origin = origin.iter().map(|key| ((*key).to_owned(), "/c.toml".to_owned())).collect();
        let watcher = BudgetCheck { origin, ..BudgetCheck::default() };
        let notices = decide(&watcher, &seen(work), &pass(), config).notices;
        notices.into_values().collect::<Vec<_>>()
    };
    let unread = |body: &str, seconds: i64| {
        let mut w = running(seconds);
        w.detail.body = body.into();
        w.usage = Usage::unknown("/l: there is no such file");
        w
    };
    let limits = "## Scope\n- Iteration budget: 20\n- Cost budget: $1\n- Max files: 3\n";
    let own = [
        "t_0000000a: nothing measures its limit of files: not looked at",
        "t_0000000a: nothing measures its limit of iterations and cost: /l: there is no such file",
    ];
    let config = Config::default();
    assert_eq!(told(vec![unread(limits, 120)], &config, &[]), own);
    let none: [&str; 0] = [];
    assert_eq!(told(vec![unread(limits, 119)], &config, &[]), none, "its agent only starts");
    assert_eq!(told(vec![unread("", 600)], &config, &[]), none, "nobody set a limit");
    let one = |w: &Work, change: &dyn Fn(&mut Work)| {
        let mut w = w.clone();
        change(&mut w);
        told(vec![w], &config, &[]).len()
    };
    let w = unread(limits, 600);
    assert_eq!(one(&w, &|w| w.detail.task.status = Status::Done), 0, "it is over");
    assert_eq!(one(&w, &|w| w.usage = cost("$0.50")), 1, "only its files are not known");
    assert_eq!(one(&w, &|w| w.detail.body.push_str("\nwatchbill: no-heal\n")), 0, "marked");

    let mut config = Config::default();
    config.budget.cost = Money::parse("$9");
    let mut other = unread("", 600);
    other.detail.task.id = "t_0000000b".into();
    let all = told(vec![unread("", 600), other], &config, &["budget.cost"]);
    let ours = "nothing measures the configured limit of cost of some tasks";
    assert_eq!(all, [format!("{ours}: t_0000000a (/l: there is no such file) and 1 more")]);
    let again = decide(&BudgetCheck::default(), &seen(vec![unread(limits, 600)]), &pass(), &config);
    assert!(again.notices.keys().all(|lasts| !lasts.contains("/l")), "{:?}", again.notices);
}

/// A task whose attempts all failed on `error`, the newest an hour ago.
fn failing(errors: &[&str]) -> Work {
    let mut d = detail("t_0000000a", Status::Blocked);
    d.task.started_at = Some(ago(9_000));
    for (i, error) in errors.iter().enumerate() {
        let n = i64::try_from(i).unwrap();
        d.runs.push(Run {
            error: Some((*error).into()),
            started_at: ago(3_600 + 600 * n),
            ended_at: Some(ago(3_300 + 600 * n)),
            ..run(20 - n, "luna", Some("crashed"))
        });
    }
    work(d)
}

#[test]
fn the_same_error_without_progress_is_stuck() {
    let config = Config::default();
    let same = ["test 12 failed", "test 13 failed", "test 9 failed"];
    assert_eq!(verdicts(failing(&same), &config).0, ["stuck progress"], "numbers differ, nothing else");
    assert_eq!(verdicts(failing(&same[..2]), &config).0, [""; 0], "twice is no habit");
    assert_eq!(verdicts(failing(&["a fails", "b fails", "a fails"]), &config).0, [""; 0]);

    let mut w = failing(&same);
    w.files = changed(&[("a", How::Added)]);
    w.files.changes.as_mut().unwrap().head_at = Some(ago(3_900));
    assert_eq!(verdicts(w, &config).0, [""; 0], "it committed something in between");

    let mut w = failing(&same);
    w.usage.tool_errors = Some(2);
    w.earlier = [(7, 0), (19, 5), (18, 9)]
        .map(|(run, n)| Used { run, usage: Usage { tool_errors: Some(n), ..Usage::default() } })
        .into();
    assert_eq!(verdicts(w, &config).0, [""; 0], "fewer tool calls failed than in any of these");

    let fewer = ["7 tests failed", "9 tests failed", "12 tests failed"];
    assert_eq!(verdicts(failing(&fewer), &config).0, [""; 0], "fewer tests fail than ever");
    let plain = ["login timed out"; 3];
    let (found, unknown) = verdicts(failing(&plain), &config);
    assert_eq!(found, [""; 0], "nothing tells whether anything was left behind");
    assert!(unknown.iter().any(|u| u.starts_with("progress: ")), "{unknown:?}");
    let mut w = failing(&plain);
    w.files = changed(&[]);
    assert_eq!(verdicts(w, &config).0, ["stuck progress"], "no commit since");

    let mut w = failing(&same);
    w.detail.runs[1].outcome = Some("reclaimed".into());
    assert_eq!(verdicts(w, &config).0, [""; 0], "what was taken back is none of its failures");
}

#[test]
fn how_an_exit_is_booked_is_no_error_of_the_work() {
    for (error, is_error) in [
        ("worker exited with code 1 (board run)", false),
        ("worker killed by signal 9 (board run)", false),
        ("pid 4711 exited with code 1", false),
        ("pid 4711 killed by signal 11", false),
        ("pid 4711 not alive", false),
        ("worker gone (heal)", false),
        ("pid 4711 exited with code 1 Worker's last output: 'test parse failed'", true),
        ("worker exited cleanly (rc=0) without calling kanban_complete", true),
        ("test parse exited with code 1", true),
    ] {
        let of = |errors: &[&str]| {
            let mut w = failing(errors);
            w.files = changed(&[]);
            verdicts(w, &Config::default()).0
        };
        assert_eq!(of(&[error; 3]).len(), usize::from(is_error), "{error}");
        assert_eq!(of(&["a fails", "a fails", error, "a fails"]), [""; 0], "{error} ends a row");
    }
}

#[test]
fn what_a_provider_refused_is_not_the_tasks_own_error() {
    let config = Config::default();
    let same = ["worker exited cleanly (rc=0) without calling kanban_complete: protocol violation 1"; 3];
    let stuck = |change: &dyn Fn(&mut Work)| {
        let mut w = failing(&same);
        w.files = changed(&[]);
        change(&mut w);
        verdicts(w, &config).0
    };
    assert_eq!(stuck(&|_| {}), ["stuck progress"]);
    assert_eq!(stuck(&|w| w.refused = [19].into()), [""; 0], "two are left");
    assert_eq!(stuck(&|w| w.refused = [17].into()), ["stuck progress"], "of another time");
    let said = |cause: &str| {
        let trail = json!({"by": "synthesize-distress", "watchbill": {"cause": cause, "run": 19}});
        let mut w = failing(&same);
        w.detail.events.push(event("watchbill_signal", 100, trail));
        policy::attempts::ended::by_provider(&w.detail).into_iter().collect::<Vec<_>>()
    };
    assert_eq!((said("rate_limit"), said("protocol_violation")), (vec![19], Vec::new()));
}

#[test]
fn two_resets_or_two_used_up_budgets_are_over_attempts() {
    let config = Config::default();
    let reset = |n: i64| event("unblocked", 900 - n, json!({"by": "heal", "watchbill": {"reset": n}}));
    let mut w = running(60);
    w.detail.events.extend([reset(1)]);
    assert_eq!(verdicts(w.clone(), &config).0, [""; 0]);
    w.detail.events.extend([reset(2)]);
    assert_eq!(verdicts(w.clone(), &config).0, ["over attempts"]);
    w.detail.events.push(event("unblocked", 100, json!({"actor": "rosa"})));
    assert_eq!(verdicts(w, &config).0, [""; 0], "somebody looked since");

    let spent = "Iteration budget exhausted (90/90)";
    assert_eq!(verdicts(failing(&[spent, spent]), &config).0, ["over attempts"]);
    assert_eq!(verdicts(failing(&[spent]), &config).0, [""; 0]);
}

#[test]
fn a_finished_task_is_measured_and_left_alone() {
    let mut w = running(7_200);
    w.detail.task.status = Status::Done;
    w.detail.runs[0].ended_at = Some(ago(60));
    w.detail.runs[0].outcome = Some("completed".into());
    w.usage.identical_calls = Some(50);
    assert_eq!(verdicts(w.clone(), &Config::default()).0, ["over time"]);
    assert!(decided(w, &commenting()).steps.is_empty());
}

/// The children of a draft, as `route-blocked` reads them.
fn children(work: Work) -> Vec<(String, Vec<String>, Vec<String>)> {
    let seen = seen(vec![work]);
    let config = Config::default();
    let judged = judge::all(&seen, &config, &BTreeMap::new(), None);
    let Some(draft) = &judged[0].draft else { return Vec::new() };
    let read = decision::read(&draft.decision()).unwrap();
    assert_eq!(read[0].task, "t_0000000a");
    let Action::Split(children) = &read[0].action else { panic!("no split") };
    assert_eq!(draft.commands().len(), children.len());
    for (command, child) in draft.commands().iter().zip(children) {
        assert!(command.starts_with("board --db /b/board.db add "), "{command}");
        assert!(child.scope.in_scope.iter().all(|e| command.contains(e.as_str())), "{command}");
    }
    children
        .iter()
        .map(|c| (c.title.clone(), c.scope.in_scope.clone(), c.scope.out_of_scope.clone()))
        .collect()
}

#[test]
fn a_draft_parts_what_lies_outside_from_the_task() {
    let mut w = running(60);
    w.detail.body = SCOPE.into();
    w.files = changed(&[
        ("src/parse/a.rs", How::Modified),
        ("src/cli/x.rs", How::Modified),
        ("src/cli/y.rs", How::Added),
        ("docs/a b.md", How::Untracked),
        ("README.md", How::Deleted),
    ]);
    let parts: Vec<_> = children(w).into_iter().map(|(_, inside, _)| inside).collect();
    assert_eq!(parts, [vec!["src/cli/**"], vec!["docs/**"], vec!["/README.md"]]);
}

#[test]
fn a_draft_divides_what_changed_else_what_was_to_be_changed() {
    let mut w = running(9_000);
    w.files = changed(&[("api/a.rs", How::Modified), ("web/b.ts", How::Modified), ("web/c.ts", How::Added)]);
    let parts = children(w);
    assert_eq!(parts.iter().map(|p| p.1.clone()).collect::<Vec<_>>(), [vec!["web/**"], vec!["api/**"]]);
    assert_eq!(parts[0].2, ["api/**"], "each leaves the others alone");

    let mut w = running(9_000);
    w.detail.body = "## Scope\n- In scope: `api/**`, `web/**`\n".into();
    assert_eq!(children(w).len(), 2);
    assert_eq!(children(running(9_000)).len(), 0, "nothing shows how to divide it");
    assert_eq!(children(running(60)).len(), 0, "nothing is wrong with it");
}

#[test]
fn nothing_is_left_out_of_a_draft_and_nothing_taken_from_the_task() {
    let mut w = running(60);
    w.detail.body = SCOPE.into();
    let names: Vec<String> =
        (0..9).map(|n| format!("area{n}/f")).chain(["-x/f".into(), "src/own.rs".into()]).collect();
    let files: Vec<(&str, How)> = names.iter().map(|n| (n.as_str(), How::Added)).collect();
    w.files = changed(&files);
    let parts = children(w);
    assert_eq!(parts.len(), 6);
    let all: Vec<String> = parts.iter().flat_map(|p| p.1.clone()).collect();
    assert_eq!(all.len(), 11, "{all:?}");
    assert!(all.contains(&"/src/own.rs".to_owned()), "src/** would take src/parse too: {all:?}");
    assert!(all.contains(&"-x/**".to_owned()));

    let mut w = running(9_000);
    let many: Vec<String> = (0..20).map(|n| format!("`m{n}/**`")).collect();
    w.detail.body = format!("## Scope\n- In scope: {}\n", many.join(", "));
    assert_eq!(children(w).len(), 6, "as many as a decision may have");
}

/// Two tasks over their time, and one place for a card.
#[test]
fn cards_queue_as_everybodys_do() {
    let (a, mut b) = (running(9_000), running(9_000));
    b.detail.task.id = "t_0000000b".into();
    let mut config = Config::default();
    config.distress.max_open_cards = 1;
    let d = decide(&asking(), &seen(vec![a, b]), &pass(), &config);
    let states: Vec<String> = d
        .steps
        .iter()
        .flat_map(|s| &s.changes)
        .filter_map(
            |c| if let Change::AddAnother { status, .. } = c { Some(status.to_string()) } else { None },
        )
        .collect();
    assert_eq!(states, ["ready", "scheduled"]);
}

#[test]
fn with_a_broken_clock_nothing_is_judged_by_time() {
    let mut s = seen(vec![running(90_000)]);
    s.clock_fault = Some("an event in the future".into());
    let config = Config::default();
    let d = decide(&commenting(), &s, &pass(), &config);
    assert_eq!((d.steps.len(), d.findings.len()), (0, 1));
    let judged = judge::all(&s, &config, &BTreeMap::new(), None);
    assert!(judged[0].verdicts.is_empty());
    let o = page::overview(&s, &judged, &config);
    assert_eq!(o.unknown[0], "an event in the future; nothing is done until that is right");
    // Beside these the page says more.
    s.unknown.push("6 more tasks were not looked at in this pass".into());
    let judged = judge::all(&s, &config, &BTreeMap::new(), None);
    let (d, o) = (decide(&commenting(), &s, &pass(), &config), page::overview(&s, &judged, &config));
    let found: BTreeSet<&str> = d.findings.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(found, o.unknown[..o.found].iter().map(String::as_str).collect());
    assert_eq!(found.len(), 2);
}

/// A hold that began long ago and lasts is shown, one that is over is not.
#[test]
fn providers_that_refuse_work_now_are_shown_however_long_they_do() {
    use base::cause::Cause;
    use logs::provider::ledger::{News, Sighting};
    use logs::provider::{Id, Profile};
    let bad = |host: &str, seconds: i64, resets: Option<i64>| Sighting {
        id: Id::new(None, Some(host)),
        profile: None,
        task: "t_1".into(),
        at: ago(seconds),
        began: ago(seconds + 60),
        news: News::Bad { cause: Cause::Quota, resets: resets.map(|s| ago(-s)) },
    };
    let mut s = seen(vec![running(60)]);
    s.routing.sightings = vec![
        bad("long.example", 100_000, Some(9_000)),
        bad("over.example", 100_000, None),
        bad("new.example", 600, None),
    ];
    let config = Config::default();
    let judged = judge::all(&s, &config, &BTreeMap::new(), None);
    let names: Vec<String> =
        page::overview(&s, &judged, &config).providers.into_iter().map(|p| p.name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // What a log and two profiles name of one provider is one line, in the state of what holds work; its refusals overlap.
    let at = |name: &str, host: &str| Profile {
        name: name.into(),
        provider: Some("moon".into()),
        endpoint: Some(host.into()),
        ..Profile::default()
    };
    for (name, host) in [("luna", "long.example"), ("mira", "new.example")] {
        s.routing.profiles.insert(name.into(), at(name, host));
    }
    let judged = judge::all(&s, &config, &BTreeMap::new(), None);
    let shown = page::overview(&s, &judged, &config).providers;
    let shown: Vec<_> = shown.iter().map(|p| (p.name.as_str(), p.state.as_str(), p.refusals.len())).collect();
    assert_eq!(shown, [("moon (long.example)", "out of quota", 1)]);
    assert!(names.iter().any(|n| n.contains("long")) && names.iter().any(|n| n.contains("new")), "{names:?}");
}

#[test]
fn a_refusal_that_falls_into_the_time_of_another_makes_that_longer() {
    use base::cause::Cause;
    use logs::provider::Id;
    use logs::provider::ledger::{News, Sighting};
    let bad = |seconds: i64, cause: Cause, until: i64| Sighting {
        id: Id::new(None, Some("a.example")),
        profile: None,
        task: "t_1".into(),
        at: ago(seconds),
        began: ago(seconds),
        news: News::Bad { cause, resets: Some(ago(until)) },
    };
    let shown = |sightings: &[Sighting]| -> Vec<(i64, i64)> {
        let mut s = seen(vec![running(60)]);
        s.routing.sightings = sightings.to_vec();
        let config = Config::default();
        let judged = judge::all(&s, &config, &BTreeMap::new(), None);
        let provider = page::overview(&s, &judged, &config).providers.remove(0);
        provider.refusals.iter().map(|r| (NOW.since(r.from), NOW.since(r.until))).collect()
    };
    let first = bad(900, Cause::RateLimit, 600);
    assert_eq!(shown(&[first.clone(), bad(700, Cause::RateLimit, 300)]), [(900, 300)]);
    assert_eq!(shown(&[first.clone(), bad(600, Cause::RateLimit, 300)]), [(900, 300)], "where it ended");
    assert_eq!(shown(&[first.clone(), bad(700, Cause::RateLimit, 650)]), [(900, 600)], "never shorter");
    assert_eq!(shown(&[first.clone(), bad(500, Cause::RateLimit, 300)]), [(900, 600), (500, 300)]);
    assert_eq!(shown(&[first, bad(700, Cause::Quota, 300)]), [(900, 600), (700, 300)], "another cause");
}

#[test]
fn amounts_that_read_the_same_are_told_exactly() {
    let mut w = running(65);
    w.detail.body = "## Scope\n- Time budget: 60s\n- Cost budget: $1\n".into();
    w.usage = cost("$1.004");
    let s = seen(vec![w]);
    let config = Config::default();
    let judged = judge::all(&s, &config, &BTreeMap::new(), None);
    let said: Vec<&str> = judged[0].verdicts.iter().map(|v| v.because.as_str()).collect();
    assert_eq!(said, ["65s in this attempt, 60s allowed (task)", "$1.004 spent, $1.00 allowed (task)"]);
    assert_eq!(judged[0].verdicts[1].threshold, "$1.00");
}

#[test]
fn packages_are_areas() {
    let mut w = running(60);
    w.detail.body = SCOPE.into();
    w.files = changed(&[
        ("services/pay/core/src/a.rs", How::Modified),
        ("services/pay/core/src/b/c.rs", How::Modified),
    ]);
    w.files.changes.as_mut().unwrap().packages.insert("services/pay/core".into(), vec!["pay-core".into()]);
    assert_eq!(children(w)[0].1, ["services/pay/core/**"]);
}

fn texts(step: &Step) -> Vec<&str> {
    step.changes
        .iter()
        .filter_map(|c| if let Change::AddComment { body, .. } = c { Some(body.as_str()) } else { None })
        .collect()
}

#[test]
fn a_threshold_is_told_once() {
    let mut w = running(4_000);
    w.usage = turns(100);
    let first = decided(w.clone(), &commenting());
    assert_eq!(first.steps.len(), 1);
    let said = texts(&first.steps[0]);
    assert_eq!(said.len(), 2, "one for each threshold: {said:?}");
    assert!(said[0].starts_with("watchbill: over time (1h)\n"), "{}", said[0]);
    assert!(
        first.steps[0]
            .changes
            .iter()
            .all(|c| matches!(c, Change::AddComment { .. } | Change::AddEvent { .. }))
    );

    // By the event, and where that is out of sight by the comment itself.
    for keep_event in [true, false] {
        let mut w = w.clone();
        for c in &first.steps[0].changes {
            match c {
                Change::AddEvent { kind, payload, .. } if keep_event => {
                    w.detail.events.push(event(kind.clone(), 10, payload.clone()));
                }
                Change::AddComment { author, body } if !keep_event => {
                    w.detail.comments.push(Comment {
                        author: author.clone(),
                        body: body.clone(),
                        at: ago(10),
                    });
                }
                _ => {}
            }
        }
        assert!(decided(w.clone(), &commenting()).steps.is_empty());
        // Another limit is another threshold.
        w.detail.body = "## Scope\n- Time budget: 20m\n".into();
        assert_eq!(texts(&decided(w, &commenting()).steps[0]).len(), 1);
    }
    assert!(decided(w.clone(), &BudgetCheck::default()).steps.is_empty(), "nobody asked for it");
    w.detail.body = "watchbill: no-heal".into();
    assert!(decided(w, &commenting()).steps.is_empty());
}

/// The card a step makes: title and body.
fn card(d: &Decision) -> Option<(String, String)> {
    let made = d.steps.first()?.changes.iter().find_map(|c| match c {
        Change::AddAnother { task, .. } => Some((task.title.clone(), task.body.clone().unwrap_or_default())),
        _ => None,
    })?;
    Some(made)
}

#[test]
fn a_card_asks_about_running_work_once_and_leaves_it_running() {
    let mut w = running(60);
    w.detail.body = SCOPE.into();
    w.files = changed(&[("src/cli/x.rs", How::Modified)]);
    let first = decided(w.clone(), &asking());
    let (title, body) = card(&first).unwrap();
    assert_eq!(title, "[BLOCKED] t_0000000a scope_boundary");
    assert!(body.contains("src/cli/x.rs (modified): out of scope by src/cli/**"), "{body}");
    assert!(body.contains("\"action\":\"split\"") && body.contains("board --db /b/board.db add"), "{body}");
    assert!(body.contains("- Cannot touch: src/cli/**"), "{body}");
    let touches = |c: &Change| {
        matches!(c, Change::SetStatus(_) | Change::Link { .. } | Change::ReleaseClaim | Change::EndRun { .. })
    };
    assert!(!first.steps[0].changes.iter().any(touches), "{:?}", first.steps[0].changes);

    let over = decided(running(9_000), &asking());
    assert_eq!(card(&over).unwrap().0, "[BLOCKED] t_0000000a iteration_budget");

    // The tie is an event of the task itself.
    for c in &first.steps[0].changes {
        if let Change::AddEvent { kind, payload, .. } = c {
            w.detail.events.push(event(kind.clone(), 10, payload.clone()));
        }
    }
    let again = decided(w.clone(), &asking());
    assert!(again.steps.is_empty(), "{:?}", again.steps);
    w.detail.cards = vec!["t_000000cc".into()];
    assert!(decided(w, &asking()).steps.is_empty());

    for status in [Status::Ready, Status::Blocked, Status::Scheduled] {
        let mut w = running(60);
        w.detail.task.status = status;
        w.detail.body = SCOPE.into();
        w.files = changed(&[("src/cli/x.rs", How::Modified)]);
        assert!(decided(w, &asking()).steps.is_empty(), "only what runs");
    }
}

#[test]
fn the_page_has_all_of_it() {
    let mut w = running(4_000);
    w.detail.events.push(event("assigned", 50, json!({"assignee": "luna", "from": "sol"})));
    w.usage = cost("$2");
    let mut blocked = detail("t_0000000b", Status::Blocked);
    blocked.events.push(event(
        "blocked",
        500,
        json!({"by": "heal", "cause": "resume-cap", "reason": "too often", "watchbill": {}}),
    ));
    // An event in a watcher's words by another author does not count.
    w.detail.events.push(event("watchbill_escalated", 40, json!({"by": "luna"})));
    let seen = seen(vec![w, work(blocked)]);
    let config = Config::default();
    let judged = judge::all(&seen, &config, &BTreeMap::new(), None);
    let o = page::overview(&seen, &judged, &config);
    assert_eq!(o.tasks[0].task, "t_0000000a");
    assert_eq!((o.tasks[0].seconds, o.tasks[0].reassigned, o.tasks[0].verdicts.len()), (4_000, 1, 1));
    assert_eq!(
        o.tasks[0].gauges.iter().map(|g| g.what.as_str()).collect::<Vec<_>>(),
        ["time", "iterations", "resets", "exhaustions"]
    );
    assert_eq!(
        (o.spent[0].profile.as_str(), o.spent[0].cost, o.spent[0].attempts),
        ("luna", Money::parse("$2"), 1)
    );
    assert_eq!(
        o.interventions.iter().map(|t| t.what.as_str()).collect::<Vec<_>>(),
        ["escalated", "reassigned"]
    );
}

#[test]
fn one_log_of_two_tasks_at_one_time_is_nobodys() {
    let of = |id: &str, source: &str, began: i64, ended: Option<i64>| {
        let mut w = running(began);
        w.detail.task.id = id.into();
        w.detail.runs[0].ended_at = ended.map(ago);
        w.usage = Usage { source: Some(source.into()), ..turns(4) };
        w
    };
    let told = |a: Work, b: Work| {
        let mut all = [a, b];
        super::observe::shared_logs(&mut all, NOW);
        all.map(|w| w.usage.turns.is_some())
    };
    let here = || of("t_0000000a", "one", 500, None);
    assert_eq!(told(here(), of("t_0000000b", "one", 300, None)), [false, false]);
    assert_eq!(told(here(), of("t_0000000b", "two", 300, None)), [true, true]);
    assert_eq!(told(here(), of("t_0000000b", "one", 900, Some(600))), [true, true], "one after the other");
    assert_eq!(told(here(), of("t_0000000b", "one", 900, Some(400))), [false, false]);
}

#[test]
fn what_attempts_ended_on_is_counted_by_its_sense() {
    let w = failing(&["test 12 failed", "disk full", "test 13 failed"]);
    let all = super::endings::distinct(&w.detail);
    assert_eq!(all.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [2, 1]);
    assert!(all[0].0.starts_with("test ") && all[1].0 == "disk full", "{all:?}");
}

#[test]
fn what_was_spent_is_the_least_where_one_attempt_is_silent() {
    let least = |newest: Usage, earlier: Option<Usage>| {
        let mut w = running(500);
        w.usage = newest;
        if let Some(usage) = earlier {
            w.detail.runs.push(Run {
                started_at: ago(900),
                ended_at: Some(ago(600)),
                ..run(6, "luna", Some("crashed"))
            });
            w.earlier.push(Used { run: 6, usage });
        }
        let seen = seen(vec![w]);
        let config = Config::default();
        let judged = judge::all(&seen, &config, &BTreeMap::new(), None);
        page::overview(&seen, &judged, &config).spent[0].is_least
    };
    assert!(!least(cost("$2"), None));
    assert!(!least(cost("$2"), Some(cost("$1"))));
    assert!(least(turns(9), None), "its price is not known");
    assert!(least(turns(9), Some(cost("$1"))));
    assert!(least(cost("$2"), Some(turns(9))));
}

#[test]
fn what_was_seen_survives_being_saved() {
    let mut w = running(4_000);
    w.files = changed(&[("a", How::Deleted)]);
    w.usage = cost("$0.102975");
    let seen = seen(vec![w]);
    let json = serde_json::to_string(&seen).unwrap();
    assert_eq!(serde_json::from_str::<Seen>(&json).unwrap(), seen);
}

proptest::proptest! {
    /// Whatever is seen: no verdict without a number that is over a limit, no step that changes a state.
    #[test]
    fn nothing_is_ever_changed_but_words(
        seconds in 0_i64..200_000, turns in proptest::option::of(0_u64..300), calls in proptest::option::of(0_u64..300),
        identical in proptest::option::of(0_u64..20), files in proptest::collection::vec("[a-c]{1,2}(/[a-c]{1,2}){0,2}", 0..6),
        body in "\\PC{0,60}", comment in proptest::bool::ANY, distress in proptest::bool::ANY,
    ) {
        let mut w = running(seconds);
        w.detail.body = format!("## Scope\n- In scope: `a/**`\n{body}");
        w.usage = Usage { turns, tool_calls: calls, identical_calls: identical, ..Usage::default() };
        let named: Vec<(&str, How)> = files.iter().map(|f| (f.as_str(), How::Modified)).collect();
        w.files = changed(&named);
        let watcher = BudgetCheck { comment, distress, ..BudgetCheck::default() };
        let decision = decided(w, &watcher);
        for step in &decision.steps {
            for c in &step.changes {
                let only_says = matches!(c, Change::AddEvent { .. } | Change::AddComment { .. } | Change::AddAnother { .. });
                proptest::prop_assert!(only_says, "{c:?}");
            }
        }
        proptest::prop_assert!(decision.steps.is_empty() || comment || distress);
        proptest::prop_assert!(decision.steps.len() <= 1);
    }
}
