//! One night on a board, made up, with a bit of everything that can happen.

use std::collections::BTreeMap;

use base::money::Money;
use base::time::Time;
use logs::usage::{Reread, Tokens, Usage};

use crate::{
    AttemptView, Draft, FilesView, Gauge, Intervention, Overview, ProviderView, Recurring, Refusal, Spent,
    TaskView, Unit, Verdict,
};

/// 2026-11-21T05:30:00Z, when the pass looked.
const NOW: Time = Time(1_795_239_000);

/// A moment of that night, by the clock: from 20:00 on it is the evening before.
fn at(hour: i64, minute: i64) -> Time {
    let midnight = NOW.0 - (5 * 60 + 30) * 60;
    let day = if hour >= 20 { 24 } else { 0 };
    Time(midnight + ((hour - day) * 60 + minute) * 60)
}

/// Nine tasks, three profiles, two providers.
pub fn night() -> Overview {
    let counts = [("running", 3), ("ready", 2), ("scheduled", 1), ("blocked", 2), ("todo", 6), ("done", 11)];
    Overview {
        board: "parser-rewrite".into(),
        now: NOW,
        since: at(20, 0),
        counts: counts.iter().map(|(s, n)| ((*s).to_owned(), *n)).collect::<BTreeMap<_, _>>(),
        tasks: vec![
            port(),
            flaky(),
            migration(),
            docs(),
            index(),
            imports(),
            licence(),
            changelog(),
            types(),
        ],
        interventions: interventions(),
        providers: providers(),
        spent: spent(),
        unknown: vec![
            "t_5c2e91b7: no log of attempt 214 was found, so its turns and its money are not known".into(),
            "the list price of the model moon-3-preview is not known".into(),
        ],
        found: 0,
    }
}

/// A board on which nobody has to do anything.
#[allow(dead_code, reason = "the test kit shows the rich one only")]
pub(crate) fn quiet() -> Overview {
    Overview {
        board: "main".into(),
        now: NOW,
        since: at(20, 0),
        counts: BTreeMap::new(),
        tasks: Vec::new(),
        interventions: Vec::new(),
        providers: Vec::new(),
        spent: Vec::new(),
        unknown: Vec::new(),
        found: 0,
    }
}

fn task(id: &str, title: &str, status: &str, who: &str, attempts: Vec<AttemptView>) -> TaskView {
    let length = |a: &AttemptView| a.to.unwrap_or(NOW).since(a.from);
    TaskView {
        task: id.into(),
        title: title.into(),
        status: status.into(),
        assignee: Some(who.into()),
        attempt_count: attempts.len(),
        seconds: attempts.iter().map(length).sum(),
        attempts,
        resets: 0,
        reassigned: 0,
        usage: Usage::default(),
        cost: None,
        cost_is_least: false,
        gauges: Vec::new(),
        files: None,
        errors: Vec::new(),
        verdicts: Vec::new(),
        unknown: Vec::new(),
        draft: None,
    }
}

fn attempt(run: i64, who: &str, outcome: &str, from: Time, to: Time) -> AttemptView {
    AttemptView { run, profile: Some(who.into()), outcome: Some(outcome.into()), from, to: Some(to) }
}

fn running(run: i64, who: &str, from: Time) -> AttemptView {
    AttemptView { run, profile: Some(who.into()), outcome: None, from, to: None }
}

fn gauge(what: &str, used: Option<u64>, limit: u64, unit: Unit, source: &str) -> Gauge {
    Gauge { what: what.into(), used, is_least: false, limit, unit, source: source.into() }
}

fn cents(n: u64) -> u64 {
    n * 10_000_000
}

fn used(model: &str, turns: u64, calls: u64, tokens: [u64; 4], cost: u64) -> Usage {
    let [input, cache_write, cache_read, output] = tokens;
    Usage {
        source: Some("/home/ops/.claude/projects/-srv-work-parser/3f0c2b1e.jsonl".into()),
        format: Some("claude".into()),
        model: Some(model.into()),
        turns: Some(turns),
        tool_calls: Some(calls),
        tool_errors: Some(calls / 9),
        tokens: Some(Tokens { input, cache_write, cache_read, output }),
        cost: Some(Money(cents(cost))),
        compactions: Some(0),
        identical_calls: Some(2),
        edits: Some(calls / 5),
        ..Usage::default()
    }
}

fn wrong(verdict: &str, because: &str, evidence: &[&str]) -> Verdict {
    let evidence = evidence.iter().map(|e| (*e).to_owned()).collect();
    Verdict { verdict: verdict.into(), because: because.into(), evidence }
}

fn port() -> TaskView {
    let attempts = vec![
        attempt(201, "luna", "crashed", at(20, 55), at(21, 40)),
        attempt(207, "luna", "rate_limited", at(21, 52), at(23, 10)),
        running(219, "luna", at(3, 55)),
    ];
    let outside = [
        "src/cli/args.rs",
        "src/cli/help.rs",
        "src/cli/mod.rs",
        "src/server/http/handlers/import_and_export_of_very_long_names_that_wrap.rs",
        "docs/cli.md",
        "docs/man/parse.1",
        "Cargo.toml",
        "Cargo.lock",
        ".github/workflows/ci.yml",
    ];
    let decision = serde_json::json!({
        "action": "split",
        "task": "t_1a2b3c4d",
        "because": "95m of 60m used in three attempts over three parts of the tree",
        "into": [
            {"title": "Port the lexer", "assignee": "luna", "in_scope": ["src/lexer/**"], "max_files": 4},
            {"title": "Port the grammar", "assignee": "luna", "in_scope": ["src/grammar/**"], "max_files": 6},
            {"title": "Move the command line over", "assignee": "sol", "in_scope": ["src/cli/**"], "max_files": 5},
        ],
    });
    TaskView {
        resets: 2,
        usage: Usage {
            compactions: Some(2),
            identical_calls: Some(6),
            rereads: vec![
                Reread { file: "src/grammar/rules.rs".into(), times: 9 },
                Reread { file: "src/cli/args.rs".into(), times: 6 },
            ],
            ..used("claude-opus-4-6", 88, 213, [81_200, 402_000, 6_410_000, 71_300], 1_184)
        },
        cost: Some(Money(cents(1_902))),
        gauges: vec![
            gauge("time", Some(5_700), 3_600, Unit::Seconds, "default"),
            gauge("iterations", Some(88), 60, Unit::Count, "task"),
            gauge("cost", Some(cents(1_902)), cents(2_500), Unit::NanoUsd, "/etc/watchbill/config.toml"),
            gauge("files", Some(17), 8, Unit::Count, "task"),
            gauge("resets", Some(2), 3, Unit::Count, "default"),
        ],
        files: Some(FilesView {
            count: 17,
            is_least: false,
            out_of_scope: outside.iter().map(|s| (*s).to_owned()).collect(),
            unclear: vec!["tests/golden/empty.txt".into()],
            base: "its branch left the default branch (4f2a91c)".into(),
        }),
        verdicts: vec![
            wrong(
                "over time",
                "95m in this attempt, 60m allowed (default)",
                &["attempt 219 began at 03:55 UTC and runs", "2 earlier attempts took 45m and 78m"],
            ),
            wrong(
                "over iterations",
                "88 turns in this attempt, 60 allowed (task)",
                &["88 answered calls in 3f0c2b1e.jsonl"],
            ),
            wrong("out of scope", "9 of 17 changed files are outside its scope", &outside),
            wrong(
                "churning",
                "the same files are read again and again, and the context was compacted twice",
                &[
                    "src/grammar/rules.rs read 9 times since its last edit",
                    "6 calls in a row with the same arguments",
                ],
            ),
        ],
        draft: Some(Draft {
            because: "three attempts worked on three parts of the tree that touch in two files".into(),
            commands: vec![
                "board add 'Port the lexer' --assignee luna --in-scope 'src/lexer/**' --max-files 4".into(),
                "board add 'Port the grammar' --assignee luna --in-scope 'src/grammar/**' --max-files 6"
                    .into(),
                "board add 'Move the command line over' --assignee sol --in-scope 'src/cli/**' --max-files 5"
                    .into(),
            ],
            decision,
        }),
        ..task("t_1a2b3c4d", "Port the parser to the new grammar", "running", "luna", attempts)
    }
}

fn flaky() -> TaskView {
    let times = [(20, 12, 20, 31), (20, 44, 21, 5), (21, 20, 21, 38), (23, 2, 23, 25), (4, 20, 4, 49)];
    let attempts = times
        .iter()
        .zip(196..)
        .map(|((h, m, to_h, to_m), run)| attempt(run, "nova", "crashed", at(*h, *m), at(*to_h, *to_m)))
        .collect();
    TaskView {
        resets: 3,
        reassigned: 1,
        usage: used("gpt-5.2-codex", 31, 64, [410_000, 0, 1_920_000, 22_000], 214),
        cost: Some(Money(cents(803))),
        gauges: vec![
            gauge("time", Some(1_740), 3_600, Unit::Seconds, "default"),
            gauge("iterations", Some(31), 90, Unit::Count, "WATCHBILL_ITERATIONS"),
            gauge("resets", Some(3), 3, Unit::Count, "default"),
        ],
        files: Some(FilesView {
            count: 0,
            is_least: false,
            out_of_scope: Vec::new(),
            unclear: Vec::new(),
            base: "its first attempt began (91bb0de)".into(),
        }),
        verdicts: vec![
            wrong(
                "stuck progress",
                "3 resets without a new commit or a changed file",
                &["HEAD is 91bb0de since 20:12 UTC"],
            ),
            wrong("over attempts", "as many resets as are allowed (3)", &[]),
        ],
        errors: vec![Recurring { error: "login timed out after #s".into(), times: 4 }],
        ..task("t_77d0c3aa", "Fix the flaky login test", "blocked", "nova", attempts)
    }
}

fn migration() -> TaskView {
    let least = Usage {
        is_least: true,
        ..used("claude-sonnet-4-6", 52, 120, [22_000, 190_000, 2_100_000, 31_000], 199)
    };
    TaskView {
        usage: least,
        cost: Some(Money(cents(199))),
        gauges: vec![
            gauge("time", Some(2_460), 3_600, Unit::Seconds, "default"),
            Gauge { is_least: true, ..gauge("cost", Some(cents(199)), cents(150), Unit::NanoUsd, "task") },
        ],
        verdicts: vec![wrong(
            "over cost",
            "at least $1.99, $1.50 allowed (task)",
            &["a part of the log is gone: its first 2 MiB"],
        )],
        ..task(
            "t_0c9d8e7f",
            "Write the migration for accounts with more than one address",
            "running",
            "sol",
            vec![running(221, "sol", at(4, 49))],
        )
    }
}

fn docs() -> TaskView {
    let attempts = vec![
        attempt(203, "luna", "rate_limited", at(21, 10), at(21, 48)),
        attempt(212, "sol", "completed", at(23, 30), at(0, 41)),
    ];
    TaskView {
        reassigned: 1,
        usage: used("claude-sonnet-4-6", 27, 55, [12_000, 88_000, 910_000, 19_000], 88),
        cost: Some(Money(cents(142))),
        gauges: vec![gauge("time", Some(4_260), 5_400, Unit::Seconds, "task")],
        ..task("t_d0c5d0c5", "Translate the docs of the command line", "done", "sol", attempts)
    }
}

fn index() -> TaskView {
    TaskView {
        usage: Usage::unknown("no log of attempt 214 was found"),
        gauges: vec![
            gauge("time", Some(1_500), 3_600, Unit::Seconds, "default"),
            gauge("iterations", None, 60, Unit::Count, "default"),
            gauge("cost", None, cents(500), Unit::NanoUsd, "default"),
        ],
        unknown: vec!["turns and money: no log of attempt 214 was found".into()],
        ..task(
            "t_5c2e91b7",
            "Add an index for the nightly report",
            "done",
            "nova",
            vec![attempt(214, "nova", "completed", at(1, 5), at(1, 30))],
        )
    }
}

fn imports() -> TaskView {
    task(
        "t_e1e2e3e4",
        "Tidy the imports",
        "scheduled",
        "luna",
        vec![attempt(215, "luna", "rate_limited", at(1, 45), at(1, 49))],
    )
}

fn licence() -> TaskView {
    task(
        "t_b41f00d2",
        "Choose a licence for the fixtures",
        "blocked",
        "nova",
        vec![attempt(205, "nova", "blocked", at(22, 30), at(22, 41))],
    )
}

fn changelog() -> TaskView {
    TaskView {
        usage: used("claude-sonnet-4-6", 9, 14, [4_000, 30_000, 120_000, 4_000], 21),
        cost: Some(Money(cents(21))),
        gauges: vec![gauge("time", Some(1_320), 3_600, Unit::Seconds, "default")],
        ..task(
            "t_c4a2c4a2",
            "Write the change log",
            "done",
            "sol",
            vec![attempt(217, "sol", "completed", at(2, 20), at(2, 42))],
        )
    }
}

fn types() -> TaskView {
    TaskView {
        usage: used("claude-opus-4-6", 18, 40, [9_000, 70_000, 640_000, 12_000], 131),
        cost: Some(Money(cents(131))),
        gauges: vec![
            gauge("time", Some(1_080), 3_600, Unit::Seconds, "default"),
            gauge("iterations", Some(18), 60, Unit::Count, "default"),
            gauge("cost", Some(cents(131)), cents(500), Unit::NanoUsd, "default"),
        ],
        ..task(
            "t_7e57ab1e",
            "Give the error types names that say whose fault it was <T: Display + 'static>",
            "running",
            "luna",
            vec![running(222, "luna", at(5, 12))],
        )
    }
}

fn turn(at: Time, task: &str, what: &str, by: &str, because: &str) -> Intervention {
    Intervention {
        at,
        task: task.into(),
        what: what.into(),
        by: Some(by.into()),
        because: Some(because.into()),
    }
}

fn interventions() -> Vec<Intervention> {
    vec![
        turn(at(20, 40), "t_77d0c3aa", "reset", "heal", "worker 31877 gone, last heard from 9m ago"),
        turn(at(21, 15), "t_77d0c3aa", "reset", "heal", "worker 32102 gone, last heard from 10m ago"),
        turn(at(21, 50), "t_1a2b3c4d", "reset", "heal", "worker 32350 gone, its pid is another process now"),
        turn(at(21, 50), "t_d0c5d0c5", "held", "heal", "its log ends on rate_limit; held until 22:50"),
        turn(
            at(22, 50),
            "t_77d0c3aa",
            "reassigned",
            "route-blocked",
            "luna -> nova: moon (api.moon.example) is limited",
        ),
        turn(at(23, 10), "t_1a2b3c4d", "held", "heal", "its log ends on rate_limit; held until 03:50"),
        turn(at(23, 26), "t_d0c5d0c5", "moved", "route-blocked", "luna -> sol, the first of its fallbacks"),
        turn(at(1, 50), "t_e1e2e3e4", "held", "heal", "its log ends on rate_limit; held until 06:00"),
        turn(
            at(3, 52),
            "t_1a2b3c4d",
            "reset",
            "route-blocked",
            "its hold ended; the probe of moon went through",
        ),
        turn(at(4, 15), "t_77d0c3aa", "reset", "heal", "worker 40012 gone, last heard from 12m ago"),
        turn(
            at(4, 52),
            "t_77d0c3aa",
            "escalated",
            "synthesize-distress",
            "reset too often: card t_4dfde19f for tuesday",
        ),
    ]
}

fn providers() -> Vec<ProviderView> {
    let refusal = |from, until, cause: &str| Refusal { from, until, cause: cause.into() };
    vec![
        ProviderView {
            name: "moon (api.moon.example)".into(),
            state: "half open".into(),
            refusals: vec![
                refusal(at(21, 48), at(22, 50), "rate_limit (HTTP 429)"),
                refusal(at(23, 10), at(3, 50), "rate_limit (HTTP 429): quota of the day is used up"),
                refusal(at(1, 49), at(6, 0), "overloaded (HTTP 529)"),
            ],
        },
        ProviderView {
            name: "star (llm.star.example)".into(),
            state: "healthy".into(),
            refusals: vec![refusal(at(0, 58), at(1, 3), "overloaded (HTTP 503)")],
        },
    ]
}

fn spent() -> Vec<Spent> {
    let tokens =
        |input, cache_write, cache_read, output| Some(Tokens { input, cache_write, cache_read, output });
    let of = |profile: &str, provider: &str, attempts, minutes: i64, turns, tokens, cost, is_least| Spent {
        profile: profile.into(),
        provider: Some(provider.into()),
        attempts,
        seconds: minutes * 60,
        turns,
        tokens,
        cost,
        is_least,
    };
    vec![
        of(
            "luna",
            "moon",
            6,
            278,
            Some(241),
            tokens(190_000, 890_000, 14_200_000, 161_000),
            Some(Money(cents(2_087))),
            false,
        ),
        of(
            "nova",
            "star",
            7,
            146,
            Some(133),
            tokens(1_400_000, 0, 6_100_000, 80_000),
            Some(Money(cents(803))),
            true,
        ),
        of(
            "sol",
            "star",
            3,
            134,
            Some(88),
            tokens(38_000, 308_000, 3_130_000, 54_000),
            Some(Money(cents(308))),
            true,
        ),
        Spent {
            profile: "tuesday".into(),
            provider: None,
            attempts: 1,
            seconds: 240,
            turns: None,
            tokens: None,
            cost: None,
            is_least: true,
        },
    ]
}

/// Puts the next text of `next` in the place of every text that a board or a log can give.
pub fn every_text(o: &mut Overview, next: &mut impl FnMut() -> String) {
    o.board = next();
    o.counts = std::mem::take(&mut o.counts).into_values().map(|n| (next(), n)).collect();
    o.unknown.iter_mut().for_each(|s| *s = next());
    for t in &mut o.interventions {
        (t.task, t.what, t.by, t.because) = (next(), next(), Some(next()), Some(next()));
    }
    for p in &mut o.providers {
        (p.name, p.state) = (next(), next());
        p.refusals.iter_mut().for_each(|r| r.cause = next());
    }
    for s in &mut o.spent {
        (s.profile, s.provider) = (next(), Some(next()));
    }
    for t in &mut o.tasks {
        every_text_of(t, next);
    }
}

fn every_text_of(t: &mut TaskView, next: &mut impl FnMut() -> String) {
    (t.task, t.title, t.status, t.assignee) = (next(), next(), next(), Some(next()));
    for a in &mut t.attempts {
        (a.profile, a.outcome) = (Some(next()), a.outcome.as_ref().map(|_| next()));
    }
    let u = &mut t.usage;
    (u.source, u.format, u.model) = (Some(next()), Some(next()), Some(next()));
    u.rereads.iter_mut().for_each(|r| r.file = next());
    u.unknown.iter_mut().for_each(|s| *s = next());
    for g in &mut t.gauges {
        (g.what, g.source) = (next(), next());
    }
    if let Some(f) = &mut t.files {
        f.base = next();
        f.out_of_scope.iter_mut().chain(&mut f.unclear).for_each(|s| *s = next());
    }
    for v in &mut t.verdicts {
        (v.verdict, v.because) = (next(), next());
        v.evidence.iter_mut().for_each(|s| *s = next());
    }
    t.unknown.iter_mut().for_each(|s| *s = next());
    if let Some(d) = &mut t.draft {
        d.because = next();
        d.commands.iter_mut().for_each(|s| *s = next());
        d.decision = serde_json::json!({ "because": next() });
    }
}
