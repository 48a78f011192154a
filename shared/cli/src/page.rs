//! `watchbill page`: the page for the morning, over all boards; and where any page is written to: whole or not at all, for nobody
//! else to read, and in the place of nothing but a page.

use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::hosts::{self, Hosts};
use super::standing::{NIGHT, Shows, Standing, refused};
use super::{Common, env, print};
use base::atomic_file::beside;
use base::error::{Error, Kind, Result};
use logs::cache::Cache;
use ops::morning;
use ops::needs::{Now, gauges};

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.page/1";
/// Its file in the folder of the state file.
const FILE: &str = "watchbill.html";
/// That of the page with other machines, which no round of `watchbill run` replaces.
const HOSTS_FILE: &str = "hosts.html";

#[derive(Debug, Args)]
#[command(
    after_help = "What needs you comes first, with the command for each. Writes only the page, which only you can read. \
                  A browser reloads it every minute. Exit code 1 if something could not be read; the page says what."
)]
pub(super) struct PageArgs {
    /// Write the page to this file [default: in the state folder: watchbill.html, of several hosts hosts.html]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    /// Leave how much needs a person in this file (*.prom), for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE")]
    needs: Option<PathBuf>,
    #[command(flatten)]
    hosts: Hosts,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &PageArgs, version: &str) -> Result<u8> {
    let common = &args.common;
    let nowhere = || {
        Error::new(Kind::Usage, "FILE", "there is no state folder for the page")
            .hint("name the file to write")
    };
    let usual = || if args.hosts.is_empty() { place() } else { in_state_folder(HOSTS_FILE) };
    let file = args.file.clone().or_else(usual).ok_or_else(nowhere)?;
    // What an earlier round found says nothing where none is made any more.
    let say = |why: &Error| -> Result<()> {
        let now = refused(common, why)?;
        args.needs.as_deref().map_or(Ok(()), |file| gauges::write(file, &now))?;
        write(&file, "", &morning::page(&now, &[], &[]))
    };
    let loaded = common.load().inspect_err(|why| _ = say(why))?;
    let asked = args.hosts.ask_status(common);
    let standing =
        Standing::look(common, &loaded, args.metrics.as_deref(), NIGHT, &args.hosts, Shows::Pages)?;
    let answers = asked.wait();
    let others = hosts::standing(&answers, standing.now, standing.since);
    let counted = args.needs.as_deref().map(|file| gauges::write(file, &standing.needs()));
    let now = make(&standing, &others, &file, "")?;
    let code = standing.code().max(hosts::code(&answers, &others));
    counted.transpose()?;
    let said = morning::headline(&now, &others);
    if common.json {
        let needs = now.needs.len() + others.iter().map(|other| other.needs.len()).sum::<usize>();
        let whole = json!({
            "schema": SCHEMA, "version": version, "now": now.now, "file": file, "said": said, "needs": needs, "exit": code,
        });
        print(&hosts::text(&args.hosts, &whole, &answers))?;
    } else if !common.quiet {
        print(&format!("{}: {said}\n", ops::report::printable(&file.display().to_string())))?;
    }
    Ok(code)
}

/// Where the page is, unless told otherwise.
pub(super) fn place() -> Option<PathBuf> {
    in_state_folder(FILE)
}

fn in_state_folder(name: &str) -> Option<PathBuf> {
    Cache::place(&env)?.parent().map(|state| state.join(name))
}

/// Writes the page of what was seen here and on other machines, and gives what needs a person here. `flag`: what named the file.
pub(super) fn make(standing: &Standing, others: &[Now], file: &Path, flag: &str) -> Result<Now> {
    let now = standing.needs();
    write(file, flag, &morning::page(&now, &standing.parts(), others))?;
    Ok(now)
}

/// Writes the page beside its place first, so that nobody ever opens half of one. Only a page of before is replaced.
pub(super) fn write(file: &Path, flag: &str, text: &str) -> Result<()> {
    let at = format!("{flag}{}", file.display());
    let wrong = |e: &std::io::Error| {
        let kind = if e.kind() == std::io::ErrorKind::PermissionDenied { Kind::Permission } else { Kind::Io };
        Error::unwritten(kind, &at, e)
    };
    if let Some(why) = is_no_page(file) {
        return Err(Error::new(Kind::Usage, &at, why).hint("name a file of its own for the page"));
    }
    // A link is the operator's way to say where the page is to be.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let folder = real.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A timer's first page may come before anything else of Watchbill. Boards are nobody else's business.
    let is_new = !folder.exists();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| wrong(&e))?;
    if is_new {
        let _ = writeln!(std::io::stderr(), "made the folder {}", folder.display());
    }
    let new = beside(folder, text, 0o600).map_err(|e| wrong(&e))?;
    new.persist(&real).map_err(|e| wrong(&e.error))?;
    Ok(())
}

/// In so many bytes a page has its mark.
const FRONT: u64 = 8 << 10;

/// Why a place is not one for a page, if so: what is there and is not a page of Watchbill would be lost.
fn is_no_page(file: &Path) -> Option<&'static str> {
    if file == Path::new("-") {
        return Some("is not a file");
    }
    let meta = file.metadata().ok()?;
    if meta.is_dir() {
        return Some("is a folder");
    }
    if !meta.is_file() {
        return Some("is not a plain file");
    }
    let mut begins = Vec::new();
    let read = std::fs::File::open(file).and_then(|f| f.take(FRONT).read_to_end(&mut begins));
    let is_page = begins.is_empty()
        || begins.starts_with(b"<!doctype html>")
            && String::from_utf8_lossy(&begins).contains(::page::html::MARK);
    (read.is_err() || !is_page).then_some("holds something else than a page")
}
