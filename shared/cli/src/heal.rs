//! `heal`: the pass of a watcher, its list of health checks, and what it would tell the next attempt.

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};

use super::{Here, WatcherArgs, env, print, print_json, watcher};
use base::error::Result;
use base::registry::HEAL;
use card::packet;
use config::Config;
use logs::cache::Cache;
use logs::health::{Action, Check, rule};
use ops::pass::look::handover;
use watch::heal::Heal;

#[derive(Debug, Args)]
pub(super) struct HealFlags {
    /// List every health check: its rule, its default action, and its configured action
    #[arg(long, conflicts_with_all = ["dry_run", "task", "plan", "facts", "metrics"])]
    list_checks: bool,
    /// Print the resume packet of the next attempt at a task, and write nothing
    #[arg(long, value_name = "ID", conflicts_with_all = ["dry_run", "task", "plan", "facts", "metrics", "list_checks"])]
    print_packet: Option<String>,
    /// Print the whole prompt of the next attempt: the task's text, then the resume packet
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["dry_run", "task", "plan", "facts", "metrics", "list_checks", "print_packet"]
    )]
    print_prompt: Option<String>,
    #[command(flatten)]
    pub(super) args: WatcherArgs,
}

pub(super) fn run(flags: &HealFlags, version: &str) -> Result<u8> {
    if let Some(id) = flags.print_packet.as_deref().or(flags.print_prompt.as_deref()) {
        return hand_over(id, flags, version);
    }
    if !flags.list_checks {
        return watcher::run::<Heal>(&flags.args, version);
    }
    let config = flags.args.common.load()?.config;
    print(&if flags.args.common.json { as_json(&config, version) } else { as_text(&config) })
}

/// Shows what the next attempt at a task would be told, or its whole prompt.
fn hand_over(typed: &str, flags: &HealFlags, version: &str) -> Result<u8> {
    let common = &flags.args.common;
    let config = common.load()?.config;
    let here = Here::look(common, &config)?;
    let pass = here.pass(HEAL, None, true);
    let mut cache = Cache::open(Cache::place(&env));
    let mut tools = here.tools(&pass, &config, &mut cache, false);
    let flag = if flags.print_prompt.is_some() { "--print-prompt" } else { "--print-packet" };
    let (board, id) = watcher::found(flag, typed, &common.boards(&config)?, &config)?;
    let Some((detail, packet)) = handover(&board, &id, &mut tools)? else { return Ok(0) };
    let is_prompt = flags.print_prompt.is_some();
    let text = if is_prompt { packet::prompt(&detail, &packet) } else { packet::render(&packet) };
    if !common.json {
        return print(&format!("{text}\n"));
    }
    let whole = json!({
        "schema": "watchbill.packet/1", "program": HEAL, "version": version, "task": id, "packet": packet,
        "text": text,
    });
    print_json(&whole)
}

/// What becomes of a living worker where an action says so; `None` where that is the action's own word.
fn instead(action: Action, config: &Config) -> Option<&'static str> {
    (action == Action::Resume && !config.heal.allow_stop)
        .then_some("escalate for a living worker: a resume would have to stop it, and heal.allow_stop is off")
}

fn as_text(config: &Config) -> String {
    let mut out = String::new();
    for check in Check::ALL {
        let action = config.heal.action(check);
        // Writing to a text never fails.
        let _ = writeln!(out, "{check}");
        let _ = writeln!(out, "  rule: {}", rule(check, &config.detect));
        let _ = writeln!(out, "  default: {}", check.default_action().as_str());
        let _ = match instead(action, config) {
            Some(instead) => writeln!(out, "  action: {}; {instead}", action.as_str()),
            None => writeln!(out, "  action: {}", action.as_str()),
        };
    }
    out
}

fn as_json(config: &Config, version: &str) -> String {
    let one = |check: Check| -> Value {
        let action = config.heal.action(check);
        let living = if instead(action, config).is_some() { Action::Escalate } else { action };
        json!({
            "name": check.as_str(), "cause": check.cause(), "rule": rule(check, &config.detect),
            "default_action": check.default_action(), "action": action, "action_if_alive": living,
        })
    };
    let checks: Vec<Value> = Check::ALL.into_iter().map(one).collect();
    let whole = json!({
        "schema": "watchbill.checks/1", "program": HEAL, "version": version, "allow_stop": config.heal.allow_stop,
        "checks": checks,
    });
    format!("{whole:#}\n")
}
