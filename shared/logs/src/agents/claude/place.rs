//! Finding the transcript of Claude Code that is an attempt's: by the pointer of its process, else by the folder it works in.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agents::newest::{MAX_ENTRIES, MAX_FILES, newest};
use crate::handle::{Owner, check, open};
use crate::vitals::Worker;
use base::reason::Reason;

/// Most bytes of a pointer.
const MAX_POINTER: u64 = 64 << 10;

/// Longest name of a project's folder that is not cut.
const MAX_SLUG: usize = 200;

/// What of a pointer of Claude Code (2.1) is read: `sessions/<pid>.json`, which an interactive session keeps while it runs.
#[derive(Debug, Deserialize)]
struct Pointer {
    #[serde(rename = "sessionId")]
    session: String,
    cwd: PathBuf,
    /// The start of the process, which tells a pid that was given again.
    #[serde(rename = "procStart", default)]
    start: serde_json::Value,
}

/// The transcript a worker's own pointer leads to.
pub(super) fn pointed(home: Option<&Path>, worker: Option<Worker>) -> Result<Option<PathBuf>, Reason> {
    let Some((home, worker)) = home.zip(worker) else { return Ok(None) };
    let path = home.join("sessions").join(format!("{}.json", worker.pid));
    let bad = |why: Reason| why.at(format_args!("the agent's session pointer {}", path.display()));
    let Some(file) = open(&path).map_err(bad)? else { return Ok(None) };
    check(&file.metadata().map_err(|e| bad(e.into()))?, Owner::Ourselves).map_err(bad)?;
    let mut text = String::new();
    file.take(MAX_POINTER).read_to_string(&mut text).map_err(|e| bad(e.into()))?;
    let pointer: Pointer = serde_json::from_str(&text).map_err(|_| bad("not what it should be".into()))?;
    let stated = match &pointer.start {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    };
    // Another process had this pid.
    if stated.zip(worker.ticks).is_some_and(|(stated, ticks): (u64, u64)| stated != ticks) {
        return Ok(None);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if pointer.session.is_empty() || !pointer.session.chars().all(is_name) {
        return Err(bad("it names no session".into()));
    }
    let real = std::fs::canonicalize(&pointer.cwd).unwrap_or(pointer.cwd);
    let name = format!("{}.jsonl", pointer.session);
    Ok(Some(home.join("projects").join(slug(&real)).join(name)))
}

/// The transcripts of the project with this slug, the newest first.
pub(super) fn transcripts(projects: &Path, slug: &str) -> Vec<PathBuf> {
    let of = |folder: &Path| newest(folder, |name| name.ends_with(".jsonl"));
    if slug.len() <= MAX_SLUG {
        return of(&projects.join(slug));
    }
    // A long one is cut, with a hash behind it that we do not know.
    let entries = std::fs::read_dir(projects).map(|all| all.take(MAX_ENTRIES).flatten().collect::<Vec<_>>());
    let cut = |name: &str| name.len() > MAX_SLUG && name.as_bytes().starts_with(&slug.as_bytes()[..MAX_SLUG]);
    let named = entries.unwrap_or_default().into_iter().filter(|e| e.file_name().to_str().is_some_and(cut));
    named.take(MAX_FILES).flat_map(|e| of(&e.path())).collect()
}

/// The transcripts of a session's subagents, `<session>/subagents/agent-*.jsonl` beside its own; the newest first.
pub(super) fn subagents(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("").join("subagents");
    let fits = |name: &str| name.starts_with("agent-") && name.ends_with(".jsonl");
    if path.extension().is_some_and(|e| e == "jsonl") { newest(&folder, fits) } else { Vec::new() }
}

/// The name Claude Code (2.1.197) gives the folder of a project: a dash for each UTF-16 unit that is not a letter or digit.
pub(crate) fn slug(real: &Path) -> String {
    let text = real.to_string_lossy();
    text.encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_letters_digits_and_dashes() {
        assert_eq!(slug(Path::new("/a.b_c d")), "-a-b-c-d");
        assert_eq!(slug(Path::new("/é/😀x1")), "-----x1");
    }
}
