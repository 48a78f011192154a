//! Stand-ins for tools of the host, which must not be the real ones of the user who runs the tests: `systemctl`, `loginctl`
//! and `crontab`. What they were told and what they know lies in files of the home.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Ran, TestBoard, executable, ran};

/// A systemd that runs unless there is `no-systemd`; what is in `on` is active, and `last` says when it was.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "systemctl $*" >> "$HOME/told"
[ -e "$HOME/no-systemd" ] && { echo 'Failed to connect to bus: No medium found' >&2; exit 1; }
[ -e "$HOME/broken-systemd" ] && case "$*" in *" enable "*) echo 'Failed to enable unit' >&2; exit 1;; esac
mkdir -p "$HOME/on"
for unit; do
  case "$unit" in *.timer)
    case "$*" in
    *" show "*)
      printf 'Id=%s\n' "$unit"
      if [ -e "$HOME/on/$unit" ]; then echo ActiveState=active; else echo ActiveState=inactive; fi
      # As real ones say it, whatever --timestamp= asks for.
      echo 'LastTriggerUSec=Mon 2026-11-23 03:08:05 UTC'
      echo;;
    *" enable "*) touch "$HOME/on/$unit";;
    *" disable "*) rm -f "$HOME/on/$unit";;
    esac;;
  *.service)
    case "$*" in
    *" show "*)
      printf 'Id=%s\nResult=%s\n' "$unit" "$(cat "$HOME/result" 2>/dev/null || echo success)"
      printf 'ExecMainStatus=%s\nUser=%s\n' "$(cat "$HOME/status" 2>/dev/null || echo 0)" "$(cat "$HOME/user" 2>/dev/null)"
      [ -e "$HOME/last" ] && printf 'ExecMainStartTimestamp=@%s\n' "$(cat "$HOME/last")"
      echo;;
    esac;;
  esac
done
exit 0
"#;

const LOGINCTL: &str = r#"#!/bin/sh
echo "loginctl $*" >> "$HOME/told"
[ -e "$HOME/no-systemd" ] && exit 1
case "$*" in
show-user*) cat "$HOME/linger" 2>/dev/null || echo yes;;
enable-linger*)
  [ -e "$HOME/no-polkit" ] && { echo 'Could not enable linger: Access denied' >&2; exit 1; }
  echo yes > "$HOME/linger";;
esac
"#;

const CRONTAB: &str = r#"#!/bin/sh
echo "crontab $*" >> "$HOME/told"
case "$1" in
-l) [ -e "$HOME/crontab" ] || { echo 'no crontab for anna' >&2; exit 1; }; cat "$HOME/crontab";;
-r) rm -f "$HOME/crontab";;
-) cat > "$HOME/new"; grep -q 'refuse me' "$HOME/new" && { echo 'bad minute' >&2; exit 1; }; mv "$HOME/new" "$HOME/crontab";;
esac
"#;

/// `watchbill` on this board, with those tools.
pub fn watchbill(b: &TestBoard, args: &[&str]) -> Command {
    let bin = b.path().join("tools");
    for (name, text) in [("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL), ("crontab", CRONTAB)] {
        write(bin.join(name), text);
    }
    // A machine on which cron runs.
    let proc = bin.join("proc");
    for (pid, name) in [("1", "systemd\n"), ("9", "cron\n")] {
        write(proc.join(pid).join("comm"), name);
    }
    let mut command = b.command("watchbill");
    command
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("WATCHBILL_TEST_PROC", proc)
        .args(args);
    command
}

fn write(file: PathBuf, text: &str) {
    if file.exists() {
        return;
    }
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    executable(&file, text);
}

/// The same, run to its end.
pub fn run(b: &TestBoard, args: &[&str]) -> Ran {
    ran(&mut watchbill(b, args))
}

/// A crontab that starts all four watchers.
pub const CRON: &str =
    "*/2 * * * * heal\n*/2 * * * * synthesize-distress\n*/2 * * * * route-blocked\n7 * * * * budget-check\n";
