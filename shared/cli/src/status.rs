//! `watchbill status`: everything on one screen, grouped by cause; with `--watch` until `q` is pressed. Looking only.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use serde::Serialize;
use serde_json::json;

use super::hosts::{self, Answer, Hosts, STATUS};
use super::standing::{Shows, Standing};
use super::summary::NIGHT;
use super::{Common, print};
use base::error::{Error, Kind, Result};
use ops::needs::Now;
use ops::needs::screen::{Look, lines, of_hosts};

const NAME: &str = "watchbill status";

#[derive(Debug, Args)]
#[command(
    after_help = "Prints one line if nothing needs you; else what needs you, grouped by cause, with the command for each. \
                  Writes nothing. Exit code 0 whatever needs you (`check` has a code for that), 1 if something could not be \
                  read. NO_COLOR turns colours off."
)]
pub(super) struct StatusArgs {
    /// Redraw every SECONDS until q is pressed
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10",
          value_parser = clap::value_parser!(u32).range(1..=3_600), conflicts_with_all = ["json", "quiet", "now"])]
    watch: Option<u32>,
    /// Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    hosts: Hosts,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The object of `--json`.
#[derive(Serialize)]
struct Whole<'a> {
    schema: &'a str,
    version: &'a str,
    #[serde(flatten)]
    now: &'a Now,
}

/// This machine, and the others that were asked.
struct Seen {
    standing: Standing,
    answers: Vec<Answer<Now>>,
    /// How these stand.
    others: Vec<Now>,
}

pub(super) fn run(args: &StatusArgs, version: &str) -> Result<u8> {
    if let Some(seconds) = args.watch {
        return watch(args, seconds);
    }
    let Some(seen) = look(args, &mut || false)? else { return Ok(0) };
    let now = seen.standing.needs();
    if args.common.json {
        let whole = json!(Whole { schema: STATUS, version, now: &now });
        print(&hosts::text(&args.hosts, &whole, &seen.answers))?;
    } else if !args.common.quiet {
        print(&seen.lines(args))?;
    }
    Ok(seen.standing.code().max(hosts::code(&seen.answers, &seen.others)))
}

/// What is there to be shown. Without any board nothing is. `None` as soon as `leaves` says that nobody waits for it.
fn look(args: &StatusArgs, leaves: &mut dyn FnMut() -> bool) -> Result<Option<Seen>> {
    let loaded = args.common.load()?;
    args.common.named_boards(&loaded.config, &args.hosts)?;
    let asked = args.hosts.ask_status(&args.common);
    let mut standing =
        Standing::look(&args.common, &loaded, args.metrics.as_deref(), NIGHT, &args.hosts, Shows::Needs)?;
    match standing.faults.pop() {
        Some(e) if standing.boards.is_empty() && args.hosts.is_empty() => return Err(e),
        fault => standing.faults.extend(fault),
    }
    let Some(answers) = asked.wait_unless(leaves) else { return Ok(None) };
    let others = hosts::standing(&answers, standing.now, standing.since);
    Ok(Some(Seen { standing, answers, others }))
}

impl Seen {
    fn lines(&self, args: &StatusArgs) -> String {
        let here = self.standing.needs();
        if args.hosts.is_empty() {
            return lines(&here, shown());
        }
        let here = (!self.standing.is_bare).then_some(here);
        of_hosts(&here.into_iter().chain(self.others.iter().cloned()).collect::<Vec<_>>(), shown())
    }
}

/// As wide as the terminal; whole and without colours elsewhere.
fn shown() -> Look {
    let out = std::io::stdout();
    let is_terminal = out.is_terminal();
    let size = if is_terminal { tcgetwinsize(&out).ok() } else { None };
    Look {
        width: size.map(|s| usize::from(s.ws_col)).filter(|width| *width >= 20),
        colour: super::has_colours(),
    }
}

/// The terminal reads single keys as long as this lives.
struct Keys(Termios);

impl Keys {
    fn read() -> std::result::Result<Keys, rustix::io::Errno> {
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut keys = before.clone();
        // Ctrl-C is a key as well: the terminal is restored before anything ends.
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(&stdin, OptionalActions::Now, &keys)?;
        Ok(Keys(before))
    }

    /// Whether the person wants to leave, asked for so long at most.
    fn leaves(&self, patience: Duration) -> std::io::Result<bool> {
        let stdin = std::io::stdin();
        let patience =
            rustix::time::Timespec { tv_sec: patience.as_secs().try_into().unwrap_or(1), tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&patience));
        if !ready.is_ok_and(|n| n > 0) {
            return Ok(false);
        }
        let mut key = [0_u8; 16];
        let n = stdin.lock().read(&mut key)?;
        // Nothing to read any more: nobody sits there.
        Ok(n == 0 || key[..n].iter().any(|k| matches!(k, b'q' | b'Q' | 3 | 4)))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

fn watch(args: &StatusArgs, seconds: u32) -> Result<u8> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let e = Error::new(Kind::Usage, format!("{NAME} --watch"), "works at a terminal only");
        return Err(e.hint("without --watch it prints once, for a file or another program"));
    }
    let fault = |e: std::io::Error| Error::new(Kind::Io, "terminal", e);
    let keys = Keys::read().map_err(|e| fault(e.into()))?;
    let draw = |text: &str| {
        let mut out = std::io::stdout().lock();
        write!(out, "\u{1b}[H\u{1b}[2J{text}\nevery {seconds} s; q leaves\n").and_then(|()| out.flush())
    };
    if !args.hosts.is_empty() {
        draw("asking the other hosts\n").map_err(fault)?;
    }
    loop {
        // What cannot be looked at now may be there with the next look.
        let mut left = Ok(false);
        let mut leaves = || {
            left = keys.leaves(Duration::ZERO);
            !matches!(left, Ok(false))
        };
        let text = match look(args, &mut leaves) {
            Ok(Some(seen)) => seen.lines(args),
            Ok(None) => return left.map(|_| 0).map_err(fault),
            Err(e) => format!("{}\n", ops::report::printable(&e.to_string())),
        };
        draw(&text).map_err(fault)?;
        if keys.leaves(Duration::from_secs(seconds.into())).map_err(fault)? {
            return Ok(0);
        }
    }
}
