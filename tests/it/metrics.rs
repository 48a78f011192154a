//! `--metrics`: what a pass leaves for the textfile collector of node_exporter, in Prometheus' own format.

use shared::base::registry::NAMES as WATCHERS;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{TestBoard, dead_pid, ran};

/// The values by metric and labels, read as strictly as Prometheus' text format is written down: HELP and TYPE before the
/// values of each metric, all of them together, no value twice, one end of line each.
#[track_caller]
fn parsed(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    let is_name = |n: &str| {
        !n.starts_with(|c: char| c.is_ascii_digit())
            && n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (mut values, mut known) = (BTreeMap::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(help) = lines.next() {
        let (name, said) = help.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')).unwrap();
        assert!(is_name(name) && name.starts_with("watchbill_") && said.ends_with('.'), "{help}");
        assert!(!known.contains(&name), "{name} in two places");
        known.push(name);
        let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} {kind}");
        assert!(matches!(kind, "counter" | "gauge"));
        let mut some = false;
        while let Some(line) = lines.next_if(|l| !l.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let labels =
                series.strip_prefix(name).unwrap().strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            assert!(labels.starts_with("program=\""), "{line}");
            assert!(values.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} twice");
            some = true;
        }
        assert!(some, "{name} without a value");
    }
    values
}

/// Every metric of every file.
fn catalogue() -> impl Iterator<Item = &'static shared::ops::metrics::Metric> {
    static PASSES: [shared::ops::metrics::Metric; 13] = shared::ops::metrics::METRICS;
    static NEEDS: [shared::ops::metrics::Metric; 4] = shared::ops::needs::gauges::METRICS;
    PASSES.iter().chain(&NEEDS)
}

fn broken() -> TestBoard {
    let b = TestBoard::new();
    b.add("t_000000a1", "ready");
    b.run_it("t_000000a1", Some(dead_pid()), 900);
    b
}

#[test]
fn every_watcher_leaves_what_came_of_its_pass() {
    let b = broken();
    for name in WATCHERS.iter().copied() {
        let file = b.path().join(format!("out/{name}.prom"));
        ran(b.command(name).arg("--metrics").arg(&file)).ok();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        let values = parsed(&fs::read_to_string(&file).unwrap());
        let one =
            |metric: &str, more: &str| values[&format!("watchbill_{metric}{{program=\"{name}\"{more}}}")];
        assert_eq!(one("last_pass_exit_code", ""), 0.0);
        assert_eq!((one("passes_total", ""), one("boards", "")), (1.0, 1.0));
        assert!(one("last_pass_duration_seconds", "") > 0.0);
        assert_eq!(one("board_exit_code", ",board=\"default\""), 0.0);
        if name == "heal" {
            let step = ",board=\"default\",case=\"dead-worker\",outcome=\"applied\"";
            assert_eq!(one("steps_total", step), 1.0);
            // An idle pass says so, and what was summed up stays.
            b.heal(&["--metrics", file.to_str().unwrap()]).ok();
            let values = parsed(&fs::read_to_string(&file).unwrap());
            assert_eq!(values["watchbill_passes_total{program=\"heal\"}"], 2.0);
            assert_eq!(values[&format!("watchbill_steps_total{{program=\"heal\"{step}}}")], 1.0);
        }
    }
    let left: Vec<_> = fs::read_dir(b.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "nothing else is left: {left:?}");
}

#[test]
fn a_pass_that_fails_says_so_there_too() {
    let mut b = broken();
    let file = b.path().join("heal.prom");
    let metrics = ["--metrics", file.to_str().unwrap()];
    let exit =
        || parsed(&fs::read_to_string(&file).unwrap())["watchbill_last_pass_exit_code{program=\"heal\"}"];
    b.heal(&[&metrics[..], &["--db", "/no/such.db"]].concat()).fails(66);
    assert_eq!(exit(), 66.0);
    fs::write(b.path().join("watchbill.pause"), "").unwrap();
    b.heal(&metrics).fails(75);
    assert_eq!(exit(), 75.0);
    b.config = "[heel]\n".into();
    b.heal(&metrics).fails(78);
    assert_eq!(exit(), 78.0);
}

#[test]
fn a_place_that_is_no_good_is_refused_before_anything_is_done() {
    let b = broken();
    let before = b.dump();
    let text = b.path().join("kanban.prom");
    fs::write(&text, "something else").unwrap();
    for (file, says) in [("out.txt", ".prom"), (text.to_str().unwrap(), "something else than metrics")] {
        assert!(b.heal(&["--metrics", file]).fails(2).contains(says), "{file}");
    }
    for more in [&["-n"][..], &["--task", "t_000000a1"]] {
        assert_eq!(b.heal(&[&["--metrics", "/tmp/x.prom"], more].concat()).code, 2, "{more:?}");
    }
    assert_eq!((b.dump(), fs::read_to_string(&text).unwrap()), (before, "something else".into()));
    // Only the end shows that a folder cannot be made; the pass itself is done.
    let below = text.join("x.prom");
    assert!(b.heal(&["--metrics", below.to_str().unwrap()]).fails(74).contains("--metrics"));
    assert_eq!(b.task("t_000000a1", "status"), "ready");
}

/// What a round leaves of what needs a person is what everybody else is told of it.
#[test]
fn a_round_counts_what_needs_a_person_as_check_and_status_do() {
    let b = crate::check::watched();
    crate::check::ticks(&b);
    let folder = b.path().join("state/watchbill/metrics");
    let told = |args: &[&str]| ran(&mut crate::tools::watchbill(&b, args));
    let counted = || {
        let ran = told(&["run", "-q", "--metrics", folder.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let file = folder.join("needs.prom");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        let text = fs::read_to_string(&file).unwrap();
        let values = text.lines().filter_map(|l| l.strip_prefix("watchbill_needs_person")?.rsplit_once(' '));
        values.map(|(name, value)| (name.to_owned(), value.parse::<usize>().unwrap())).collect()
    };
    let asked = |args: &[&str], list: &str| {
        let seen: serde_json::Value = serde_json::from_str(&told(args).out).unwrap();
        seen[list].as_array().unwrap().len()
    };
    for tasks in 0..=2 {
        if tasks > 0 {
            crate::check::stop(&b, &format!("t_0000000{tasks}"));
        }
        let is: BTreeMap<String, usize> = counted();
        assert_eq!(is["{board=\"default\"}"], tasks);
        assert_eq!(is["{board=\"default\"}"], asked(&["check", "--json"], "needs_person"));
        let causes = is.iter().filter(|(name, _)| name.starts_with("_causes")).map(|(_, n)| n).sum::<usize>();
        assert_eq!(causes, asked(&["status", "--json"], "needs"));
        assert_eq!(is["_unknown"], 0);
        assert!(is["_timestamp_seconds"] > 1_700_000_000, "{is:?}");
    }
    // With nobody to start the watchers, that is one thing more, and about no board.
    fs::remove_file(b.path().join("crontab")).unwrap();
    let is = counted();
    assert_eq!((is["_causes{board=\"\"}"], is["{board=\"default\"}"]), (1, 2), "{is:?}");
    assert_eq!(asked(&["status", "--json"], "needs"), 3);
    // A file that Watchbill did not write stays.
    fs::write(folder.join("needs.prom"), "somebody else's").unwrap();
    let why = told(&["run", "-q", "--metrics", folder.to_str().unwrap()]);
    assert!(why.code == 1 && why.err.contains("needs.prom: holds something else"), "{why:?}");
    assert_eq!(fs::read_to_string(folder.join("needs.prom")).unwrap(), "somebody else's");
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/grafana/watchbill.json"));
    let dashboard: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut asked = std::collections::BTreeSet::new();
    for panel in panels {
        let queries: Vec<&str> =
            panel["targets"].as_array().unwrap().iter().map(|t| t["expr"].as_str().unwrap()).collect();
        assert!(!queries.is_empty(), "{}", panel["title"]);
        for query in queries {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let names: Vec<&str> =
                query.split(|c| !is_word(c)).filter(|w| w.starts_with("watchbill_")).collect();
            assert!(!names.is_empty(), "{query}");
            for name in names {
                let metric = catalogue().find(|m| m.name == name);
                let metric = metric.unwrap_or_else(|| panic!("{query}: no metric {name}"));
                for label in
                    query.split("by (").skip(1).flat_map(|b| b.split(')').next().unwrap().split(", "))
                {
                    assert!(metric.labels.contains(&label), "{query}: {name} has no label {label}");
                }
                asked.insert(name);
            }
        }
    }
    let all = catalogue().map(|m| m.name);
    let unasked: Vec<_> = all.filter(|n| !asked.contains(n)).collect();
    assert!(unasked.is_empty(), "nobody looks at {unasked:?}");
}

#[cfg(feature = "real")]
#[test]
fn the_parser_of_prometheus_itself_reads_it() {
    let Some(python) = client() else { return };
    let b = broken();
    b.sql("UPDATE tasks SET title = 'x'");
    let file = b.path().join("heal.prom");
    b.heal(&["--metrics", file.to_str().unwrap()]).ok();
    let program = "import sys; from prometheus_client.parser import text_string_to_metric_families as read\n\
                   for f in read(open(sys.argv[1]).read()): print(f.name, f.type, len(f.samples), bool(f.documentation))";
    let said = ran(std::process::Command::new(python).args(["-c", program]).arg(&file)).ok();
    let want: Vec<String> = shared::ops::metrics::METRICS
        .iter()
        .map(|m| format!("{} {} 1 True", m.name.trim_end_matches("_total"), m.kind))
        .collect();
    assert_eq!(said.lines().collect::<Vec<_>>(), want);
}

/// A Python with the client library of Prometheus; `WATCHBILL_PROMETHEUS=skip` leaves it out.
#[cfg(feature = "real")]
fn client() -> Option<std::path::PathBuf> {
    let package = crate::installed::Package {
        folder: "prometheus-client-0.26.0",
        variable: "WATCHBILL_PROMETHEUS",
        needs: "python3 with venv",
    };
    package.python(&["prometheus-client==0.26.0"]).map(|home| home.join("bin/python"))
}
