//! `watchbill doctor`: looks whether everything is in place. All it writes is that a board is damaged, into our own memory.

mod bundle;
pub(super) mod look;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use self::look::{Eyes, Origin};
use super::{Common, Here, env, one_of, print, print_json, why};
use ::board::Mode;
use base::count::things;
use base::error::{Kind, Result};
use config::{Config, Loaded, keys};
use logs::cache::Cache;
use ops::doctor::{self, Finding, Hidden, Severity};
use ops::pass::Tools;
use ops::pass::damage::{self, When};
use ops::report::printable;
use policy::clock::Awake;

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.doctor/1";

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes:\n  0   no finding of severity --fail-on or worse\n  1   at least one such finding\n  2   wrong usage\n  70  a bug in watchbill\n  74  output failed"
)]
pub(super) struct DoctorArgs {
    /// Exit with 1 for a finding of this severity or worse
    #[arg(long, value_name = "SEVERITY", default_value_t = Severity::Error, value_parser = one_of(&Severity::ALL, fails_on))]
    fail_on: Severity,
    /// Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    /// Print what a bug report needs, as one object: findings, versions, configuration and steps, without titles, texts and secrets
    #[arg(long)]
    bundle: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

fn fails_on(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Ok | Severity::Info => None,
        Severity::Warning => Some("Something works less well than it could"),
        Severity::Error => Some("Tasks may stop, or work may be lost"),
    }
}

pub(super) fn run(args: &DoctorArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let loaded = common.load();
    let mut found = doctor::config(&look::config(&loaded));
    found.extend(look::unit_settings().as_ref().and_then(doctor::unit_settings));
    let is_refused = loaded.is_err();
    let loaded = loaded.unwrap_or_else(|_| Loaded { config: Config::default(), origin: BTreeMap::new() });
    let Loaded { config, origin } = &loaded;
    let here = Here::look(common, config)?;
    let facts = here.host.facts();
    let is_same = config.host.pid_namespace == host::PidNamespace::Same;
    let hidden = match () {
        () if !facts.initial_pid_namespace && !is_same => Some(Hidden::Namespace),
        () if !facts.sees_all => Some(Hidden::Proc),
        () => None,
    };

    let place = Cache::place(&env);
    let mut cache = Cache::open(place.clone());
    let state = look::state(place.as_deref(), cache.refused(), here.now);
    let pass = here.pass("doctor", None, true);
    let mut tools = here.tools(&pass, config, &mut cache, false);
    let mut folders: Vec<PathBuf> = state.folder.iter().cloned().collect();
    let lens = why::lens(common, &here, &loaded);
    let mut spawns = false;
    let mut bundled = Vec::new();
    let mut boards = Vec::new();
    match common.boards_seen(tools.cache, config) {
        Ok(ids) => {
            for id in ids {
                folders.splice(0..0, id.folder());
                spawns |= look::spawns(&id, config, here.now);
                let seen = look::board(&id, &mut tools, When::Always);
                if seen.damage.is_some() {
                    damage::remember(&id, place.clone(), here.now);
                }
                let mut of_board = doctor::board(&seen, config, here.now);
                // Why it cannot be looked at is a finding.
                let is_read = seen.read.is_ok() && seen.damage.is_none();
                let read = match is_read.then(|| lens.read(&id, here.now)).transpose() {
                    Ok(read) => read,
                    Err(e) => {
                        let damaged = doctor::damaged_tasks(&seen.name, &e, &of_board);
                        damaged.iter().for_each(|_| damage::remember(&id, place.clone(), here.now));
                        of_board.extend(damaged);
                        None
                    }
                };
                found.extend(of_board);
                found.extend(read.iter().flat_map(|read| doctor::refusals(&seen.name, read, here.now)));
                boards.push(seen);
                // Why a board cannot be read is a finding.
                let read = |tools: &mut Tools<'_>| {
                    bundle::board(&id.name(), &mut *tools.open(&id, Mode::Look)?, here.now)
                };
                bundled.extend(args.bundle.then(|| read(&mut tools).ok()).flatten());
            }
        }
        // A slug that cannot be one is a typing error and nothing about this machine.
        Err(e) if e.kind == Kind::Usage => return Err(e),
        // The file that is refused may name it.
        Err(e) if e.kind == Kind::NoInput && is_refused => {}
        Err(e) => found.push(doctor::none(&e)),
    }
    let eyes = Eyes::new(state.folder.as_deref(), args.metrics.as_deref(), common.root(config).as_deref());
    let awake = Awake::of(tools.cache, &here.host, here.now);
    let watchers = eyes.watchers(spawns, !config.notify.is_empty(), awake);
    found.extend(boards.iter().filter_map(|seen| look::unwatched(&watchers, seen, here.now)));
    found.extend(doctor::watchers(&watchers, eyes.starters(), here.now));
    found.extend(doctor::targets(&look::targets(place.as_deref(), config), here.now));
    found.push(doctor::state(&state));
    found.extend(look::disks(&folders).iter().map(doctor::disk));
    found.extend(hidden.map(doctor::hidden));
    found.push(doctor::versions(&look::versions(version)));

    let values = values(common, config, origin);
    let exit = u8::from(doctor::worst(&found) >= args.fail_on);
    if args.bundle {
        let whole = bundle::whole(version, here.now, &found, &values, &bundled);
        print(&bundle::text(whole, env("HOME").as_deref()))?;
    } else if common.json {
        let whole = json!({
            "schema": SCHEMA, "version": version, "now": here.now, "worst": doctor::worst(&found), "exit": exit,
            "findings": found, "config": values,
        });
        print_json(&whole)?;
    } else {
        print(&text(&found, &values, common))?;
    }
    Ok(exit)
}

/// Every value that counts here and who said so, flags included.
fn values(common: &Common, config: &Config, origin: &BTreeMap<String, Origin>) -> Vec<Value> {
    let flag = |name: &str| match name {
        "board.db" if !common.db.is_empty() => {
            Some(("--db", common.db.iter().map(|p| p.display().to_string())))
        }
        _ => None,
    };
    let one =
        |name: &str, value: Option<String>, from: &str| json!({"key": name, "value": value, "origin": from});
    let mut all: Vec<Value> = keys()
        .iter()
        .map(|k| {
            let name = k.name();
            match (flag(&name), &common.hermes_root) {
                (Some((flag, paths)), _) => one(&name, Some(paths.collect::<Vec<_>>().join(", ")), flag),
                (None, Some(root)) if name == "board.hermes_root" => {
                    one(&name, Some(root.display().to_string()), "--hermes-root")
                }
                _ => one(&name, k.value(config), origin.get(&name).map_or("default", String::as_str)),
            }
        })
        .collect();
    // What is said by name, of profiles and providers, has no row in the table of keys.
    let known: Vec<String> = keys().iter().map(|k| k.name()).collect();
    let named = origin.iter().filter(|(name, _)| !known.contains(name));
    all.extend(named.map(|(name, from)| one(name, None, from)));
    all
}

fn text(found: &[Finding], values: &[Value], common: &Common) -> String {
    let shown: Vec<&Finding> =
        found.iter().filter(|f| !common.quiet || f.severity >= Severity::Warning).collect();
    let wide = shown.iter().map(|f| f.id.len()).max().unwrap_or(0);
    let mut out = String::new();
    for f in shown {
        // Writing to a text never fails.
        let _ = writeln!(
            out,
            "{:7}  {:wide$}  {}: {}",
            f.severity,
            f.id,
            printable(&f.about),
            printable(&f.what)
        );
        if let Some(todo) = f.todo.as_ref().filter(|_| f.severity >= Severity::Warning) {
            let _ = writeln!(out, "         {:wide$}  do: {}", "", printable(todo));
        }
    }
    if common.verbose {
        let _ = writeln!(out, "\nConfiguration:");
        for v in values {
            let text = |key: &str| printable(v[key].as_str().unwrap_or("-"));
            // What stands in a table may be a secret.
            let is_in_table = v["value"].is_null() && v["origin"] != "default";
            let value = if is_in_table { String::new() } else { format!(" = {}", text("value")) };
            let _ = writeln!(out, "  {}{value}  ({})", text("key"), text("origin"));
        }
    }
    if !common.quiet {
        let count = |s| found.iter().filter(|f| f.severity == s).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let _ = match (errors, warnings) {
            (0, 0) => writeln!(out, "\nAll is well."),
            _ => writeln!(out, "\n{}, {}.", things(errors, "error"), things(warnings, "warning")),
        };
    }
    out
}
