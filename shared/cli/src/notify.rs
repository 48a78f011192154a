//! `watchbill notify`: tells people what began or stopped to need them, by the targets of `[notify.NAME]`.

mod deliver;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::hosts::Hosts;
use super::standing::{OneBoard, Shows, Standing, refused};
use super::summary::NIGHT;
use super::told::{Books, Lock};
use super::{Common, Here, env, print, print_json, watcher};
use ::board::{Board, BoardId, Location, Mode, discover};
use base::error::{Error, Kind, Result};
use base::redact::redact;
use base::time::Time;
use config::{Config, NotifyKeys};
use logs::cache::Cache;
use ops::needs::Now;
use ops::notify::{Book, Decision, Message, Outcome, message};
use ops::pass::timeline;
use ops::report::{printable, say};
use ops::timers::NOTIFY;

/// Seconds until something is told again where what was told cannot be written down.
const AGAIN: i64 = 3_600;
/// The schema of `--json`.
const SCHEMA: &str = "watchbill.notified/1";
const NAME: &str = "watchbill notify";

#[derive(Debug, Args)]
#[command(
    after_help = "Targets are in the configuration, as [notify.NAME] with a command or a URL. One message says what began and \
                  what ended since the last message. Later passes try a target again that cannot be reached.\n\n\
                  Exit codes:\n  0   done, also if there was nothing to send\n  1   a target cannot be reached, or not everything \
                  could be read\n  2   wrong usage\n  66  no target in the configuration\n  70  a bug in watchbill\n  74  disk or output \
                  failed\n  75  another pass is sending\n  77  not permitted\n  78  bad configuration"
)]
pub(super) struct NotifyArgs {
    /// Send to this target only (may be repeated) [default: all targets]
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Send a test message now, also in quiet hours
    #[arg(long)]
    test: bool,
    /// Print what would be sent, and send nothing
    #[arg(short = 'n', long, conflicts_with = "test")]
    dry_run: bool,
    /// Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "test"])]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What was done for one target.
pub(super) struct Told {
    target: String,
    did: Did,
    /// Why that could not be written down, if so.
    unwritten: Option<String>,
}

enum Did {
    Quiet { why: String },
    Waits { until: Time, why: String },
    WouldSend(Box<Message>),
    Sent(Box<Message>),
    Failed { message: Box<Message>, why: String, is_lost: bool },
}

impl Did {
    fn of(message: Box<Message>, outcome: Outcome) -> Did {
        match outcome {
            Outcome::Accepted => Did::Sent(message),
            Outcome::Refused(why) => Did::Failed { message, why, is_lost: false },
            Outcome::Lost(why) => Did::Failed { message, why, is_lost: true },
        }
    }
}

pub(super) fn run(args: &NotifyArgs, version: &str) -> Result<u8> {
    watcher::recorded(NOTIFY.program, args.metrics.as_deref(), args.common.now, version, |kept| {
        let done = pass(args, version);
        // Where another pass hangs, nobody is told anything: then this is overdue, and no record says that it came.
        if done.as_ref().is_err_and(|e| e.kind == Kind::Busy) {
            *kept = None;
        }
        done
    })
}

fn pass(args: &NotifyArgs, version: &str) -> Result<u8> {
    let loaded = match args.common.load() {
        Ok(loaded) => loaded,
        Err(why) => {
            if !args.test {
                // Why it cannot be told is nothing beside why nothing runs.
                let _ = tell_refused(args, version, &why);
            }
            return Err(why);
        }
    };
    let mut targets = targets(&loaded.config, &args.target)?;
    let books = Books::of(Cache::place(&env).as_deref())?;
    // What failed may hang again, and then delays what comes after it.
    targets.sort_by_key(|(name, _)| books.read(name).is_ok_and(|book| book.failing().is_some()));
    let mut nothing_seen = None;
    let (mut told, code) = match args.test {
        true => (tested(&args.common, &loaded.config, &books, targets)?, 0),
        false => {
            let mut standing =
                Standing::look(&args.common, &loaded, None, NIGHT, &Hosts::default(), Shows::Needs)?;
            // It makes a pass just now, however late that is.
            standing.machine.retain(|f| f.about != NOTIFY.program || !f.id.starts_with("pass-"));
            let now = standing.needs();
            let lock = if args.dry_run { None } else { Some(books.lock()?) };
            let unwritten = lock.as_ref().and_then(Lock::unwritten);
            let root = args.common.hermes_root(&loaded.config);
            // One that is lost is still looked for.
            let is_listed = |board: &str| standing.boards.iter().any(|b| b.name == board);
            let is_gone = |board: &str| !is_listed(board) && discover::is_gone(root.as_deref(), board);
            let mut shared = shared(&standing, &args.common, &loaded.config, args.dry_run)?;
            let one = |(name, keys): (&str, &NotifyKeys)| {
                let book = read(&books, name);
                let mut others = elsewhere(&mut shared, name, false);
                // What has to wait here, another host may tell now: this one gives up its right to tell.
                let waits = || waits(book.clone(), keys, &others, &now, &is_gone);
                if !args.dry_run && book.failing().is_none() && !waits() {
                    others = elsewhere(&mut shared, name, true);
                }
                let lock = lock.as_ref().map(|lock| (lock, unwritten));
                tell(&books, (name, keys), book, &others, &now, Some(&is_gone), lock)
            };
            let told = targets.into_iter().map(one).collect();
            let code = standing.code();
            nothing_seen = standing.faults.pop().filter(|_| standing.boards.is_empty());
            (told, code)
        }
    };
    told.sort_by(|a, b| a.target.cmp(&b.target));
    let exit = code.max(u8::from(told.iter().any(Told::is_failed)));
    show(args, version, &told, exit)?;
    // That no board is found is told to the targets, too, once it has lasted.
    nothing_seen.map_or(Ok(exit), Err)
}

/// The targets asked for, in the order of their names.
fn targets<'c>(config: &'c Config, only: &[String]) -> Result<Vec<(&'c str, &'c NotifyKeys)>> {
    if config.notify.is_empty() {
        return Err(Error::new(Kind::NoInput, "configuration", "no target to tell")
            .hint("write a [notify.NAME] with a command or a URL into it"));
    }
    let known = || config.notify.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    if let Some(name) = only.iter().find(|name| !config.notify.contains_key(*name)) {
        let what = format!("no target {:?} in the configuration", printable(name));
        return Err(Error::new(Kind::Usage, "--target", what).hint(format!("there are: {}", known())));
    }
    let is_asked = |name: &&String| only.is_empty() || only.contains(name);
    let asked = config.notify.iter().filter(|(name, _)| is_asked(name));
    Ok(asked.map(|(name, keys)| (name.as_str(), keys)).collect())
}

/// Sends a test message to every target of the configuration.
pub(super) fn test_all(common: &Common, config: &Config) -> Result<Vec<Told>> {
    tested(common, config, &Books::of(Cache::place(&env).as_deref())?, targets(config, &[])?)
}

fn tested(
    common: &Common,
    config: &Config,
    books: &Books,
    targets: Vec<(&str, &NotifyKeys)>,
) -> Result<Vec<Told>> {
    let _lock = books.lock()?;
    let here = Here::look(common, config)?;
    let message = Message::test(&here.host.called(), here.now);
    Ok(targets.into_iter().map(|(name, keys)| test(books, name, keys, &message, here.now)).collect())
}

fn test(books: &Books, target: &str, keys: &NotifyKeys, message: &Message, now: Time) -> Told {
    let outcome = deliver::send(keys, message, &env);
    // What waited for its next try need not wait any longer; and what did not arrive is told by `status`, too.
    if let Ok(mut book) = books.read(target) {
        let was = book.clone();
        match &outcome {
            Outcome::Accepted => book.reached(),
            Outcome::Refused(why) | Outcome::Lost(why) => book.unreached(why, now),
        }
        if book != was
            && let Err(why) = books.write(target, &book)
        {
            complain(&why.to_string());
        }
    }
    Told { target: target.to_owned(), did: Did::of(Box::new(message.clone()), outcome), unwritten: None }
}

/// What a target was told.
fn read(books: &Books, target: &str) -> Book {
    books.read(target).unwrap_or_else(|why| {
        complain(&format!("{why}; what was told before is told again"));
        Book::default()
    })
}

/// A board that several hosts share.
struct Shared {
    name: String,
    /// This host, as its claims there name it.
    host: String,
    board: Box<dyn Board>,
}

/// Those of the boards. Of one that does not answer every host tells that.
fn shared(standing: &Standing, common: &Common, config: &Config, is_dry: bool) -> Result<Vec<Shared>> {
    let all: Vec<_> = standing.boards.iter().filter(|b| matches!(b.at, Location::Server(_))).collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let (here, cache) = (Here::look(common, config)?, Cache::open(Cache::place(&env)));
    let mode = if is_dry { Mode::Look } else { Mode::Change };
    let one = |b: &OneBoard| -> Result<Shared> {
        let id = BoardId { at: b.at.clone(), slug: None, root: None };
        let host = id.known_as(&here.host)?.facts().hostname;
        let board = timeline::open(&id, mode, config.board.busy_timeout, &cache)?;
        Ok(Shared { name: b.name.clone(), host, board })
    };
    Ok(all.into_iter().filter_map(|b| one(b).ok()).collect())
}

/// Boards of which another host tells this target. A host whose own messages do not arrive, or have to wait, only asks: so after a while
/// another one tells.
fn elsewhere(shared: &mut [Shared], target: &str, renews: bool) -> BTreeSet<String> {
    let others = shared.iter_mut().filter_map(|s| {
        let tells = s.board.tells(&s.host, target, renews).unwrap_or(true);
        (!tells).then(|| s.name.clone())
    });
    others.collect()
}

/// Whether something began, and this is not the time to tell it. An end is told by the host that told the begin.
fn waits(
    mut book: Book,
    keys: &NotifyKeys,
    elsewhere: &BTreeSet<String>,
    now: &Now,
    is_gone: &dyn Fn(&str) -> bool,
) -> bool {
    book.leave(elsewhere);
    book.observe(now, is_gone);
    book.begins(now, elsewhere) && matches!(book.decide(now, keys, elsewhere), Decision::Wait { .. })
}

/// Tells, once, that the configuration is refused, and so nothing runs. The targets stand in it: their tables alone may be right.
fn tell_refused(args: &NotifyArgs, version: &str, why: &Error) -> Result<()> {
    let notify = config::targets(args.common.config.as_deref(), &std::env::vars_os().collect());
    let config = Config { notify, ..Config::default() };
    let targets = targets(&config, &args.target)?;
    let books = Books::of(Cache::place(&env).as_deref())?;
    let now = refused(&args.common, why)?;
    let lock = if args.dry_run { None } else { Some(books.lock()?) };
    let unwritten = lock.as_ref().and_then(Lock::unwritten);
    let one = |(name, keys)| {
        let lock = lock.as_ref().map(|lock| (lock, unwritten));
        tell(&books, (name, keys), read(&books, name), &BTreeSet::new(), &now, None, lock)
    };
    let told: Vec<Told> = targets.into_iter().map(one).collect();
    show(args, version, &told, why.kind.code())
}

/// `is_gone`: whether there is no board of this name any more; `None` where nothing but `now` was looked at, and so nothing is over. `lock`:
/// with when something was told before this pass that could not be written down; `None` in a dry run.
fn tell(
    books: &Books,
    (target, keys): (&str, &NotifyKeys),
    before: Book,
    elsewhere: &BTreeSet<String>,
    now: &Now,
    is_gone: Option<&dyn Fn(&str) -> bool>,
    lock: Option<(&Lock, Option<Time>)>,
) -> Told {
    let told = |did, unwritten: Option<Error>| {
        let unwritten = unwritten.map(|e| e.to_string());
        Told { target: target.to_owned(), did, unwritten }
    };
    let mut book = before.clone();
    book.leave(elsewhere);
    match is_gone {
        Some(is_gone) => book.observe(now, is_gone),
        None => book.observe_only(now),
    }
    let is_noted = lock.is_some() && book != before;
    let unwritten = is_noted.then(|| books.write(target, &book).err()).flatten();
    if unwritten.is_some() {
        book.waits_for_nothing();
    }
    let message = match book.decide(now, keys, elsewhere) {
        Decision::Send(message) => message,
        Decision::Wait { until, why } => return told(Did::Waits { until, why }, unwritten),
        Decision::Quiet => return told(Did::Quiet { why: book.quiet(now, elsewhere) }, unwritten),
    };
    let Some((lock, last)) = lock else { return told(Did::WouldSend(message), None) };
    let observed = book.clone();
    book.sending(&message);
    // A pass that is killed from here on leaves behind that the message may have arrived.
    if let Err(e) = books.write(target, &book) {
        // Nothing says later that this was told: so it is told again and again, and not with every pass.
        let until = last.map(|at| at.plus(AGAIN)).filter(|until| (1..=AGAIN).contains(&until.since(now.now)));
        let why = "what was told cannot be written down";
        if let Some(until) = until {
            return told(Did::Waits { until, why: why.into() }, Some(e));
        }
        if lock.note_unwritten(now.now).is_err() {
            return told(Did::Failed { message, why: why.into(), is_lost: false }, Some(e));
        }
    }
    let outcome = deliver::send(keys, &message, &env);
    book.sent(&message, outcome.clone(), &observed, now.now);
    let unwritten = books.write(target, &book).err();
    told(Did::of(message, outcome), unwritten)
}

fn show(args: &NotifyArgs, version: &str, told: &[Told], exit: u8) -> Result<()> {
    let common = &args.common;
    told.iter().for_each(Told::complain);
    if common.json {
        let whole = json!({
            "schema": SCHEMA, "version": version, "targets": told.iter().map(Told::json).collect::<Vec<_>>(), "exit": exit,
        });
        return print_json(&whole).map(|_| ());
    }
    if common.quiet {
        return Ok(());
    }
    let lines = told.iter().filter_map(|t| t.line(common.verbose)).collect::<String>();
    print(&redact(&lines)).map(|_| ())
}

impl Told {
    /// Whether nothing, or perhaps nothing, arrived.
    pub(super) fn is_failed(&self) -> bool {
        matches!(self.did, Did::Failed { .. }) || self.unwritten.is_some()
    }

    /// Says on stderr why nothing arrived, if so.
    pub(super) fn complain(&self) {
        if let Did::Failed { message, why, is_lost } = &self.did {
            let lost = if *is_lost { "; it may have arrived" } else { "" };
            let again = match message.kind {
                message::Kind::Test => {
                    format!("; mend that, then: watchbill notify --test --target {}", self.target)
                }
                _ => String::new(),
            };
            complain(&format!("{}: {why}{lost}{again}", self.target));
        }
        if let Some(why) = &self.unwritten {
            let again =
                if matches!(self.did, Did::Sent(_)) { ", and is told again after an hour" } else { "" };
            complain(&format!("{}: what it was told cannot be written down{again}: {why}", self.target));
        }
    }

    /// What is said of it on stdout.
    pub(super) fn line(&self, verbose: bool) -> Option<String> {
        let target = &self.target;
        match &self.did {
            Did::Quiet { why } => verbose.then(|| format!("{target}: nothing to tell: {why}\n")),
            Did::Waits { until, why } => {
                verbose.then(|| printable(&format!("{target}: waits until {until}: {why}")) + "\n")
            }
            Did::WouldSend(message) => {
                let text = message.text.lines().map(|line| format!("    {}\n", printable(line)));
                let text = text.collect::<String>();
                Some(format!("{target}: would send: {}\n{text}", printable(&message.title)))
            }
            Did::Sent(message) => Some(format!("{target}: sent: {}\n", printable(&message.title))),
            Did::Failed { .. } => None,
        }
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Value {
        let target = &self.target;
        let mut all = match &self.did {
            Did::Quiet { why } => json!({"target": target, "did": "nothing", "why": why}),
            Did::Waits { until, why } => {
                json!({"target": target, "did": "waited", "until": until, "why": why})
            }
            Did::WouldSend(message) => json!({"target": target, "did": "planned", "message": message}),
            Did::Sent(message) => json!({"target": target, "did": "sent", "message": message}),
            Did::Failed { message, why, is_lost } => json!({
                "target": target, "did": "failed", "why": why, "lost": is_lost, "message": message,
            }),
        };
        if let Some(why) = &self.unwritten {
            all["unwritten"] = json!(why);
        }
        all
    }
}

fn complain(what: &str) {
    let _ = say(&mut std::io::stderr().lock(), '3', NAME, &redact(what));
}
