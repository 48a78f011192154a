//! Finding the rollout of Codex that is an attempt's: by who holds it open, else by the folder it works in.
//!
//! Codex (0.169.0, run) keeps `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` under `$CODEX_HOME`, by the local day of the
//! start. A thread's name is a UUID of version 7, which begins with its start in UTC milliseconds (RFC 9562, 5.7). There is
//! no pointer from a pid; while it runs, the process holds its rollout open.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agents::UsageAsk;
use crate::agents::newest::newest;
use crate::cache::Cache;
use crate::handle::{Owner, bytes, check, open};
use crate::session::Millis;
use crate::usage::window::{When, Window};
use base::reason::Reason;
use base::time::DAY;

/// Most bytes of a first line: it holds the model's instructions, 22 KB of it.
const MAX_HEAD: u64 = 256 << 10;
/// Most days after an attempt's start in which a session of it may begin.
const MAX_DAYS: i64 = 7;
/// Most rollouts of one attempt's time that are looked at.
const MAX_LOOKED_AT: usize = 2_000;

/// What a first line says of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    cwd: Option<PathBuf>,
    /// A thread of its own, and no subagent's, which says whose it is.
    is_main: bool,
}

/// The rollout a living worker holds open, or held open when it was last seen alive. Threads of its subagents lie beside it.
pub(super) fn held(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<PathBuf>, Reason> {
    let key = format!("held:{}:{}", ask.task, ask.from.0);
    if ask.held.is_empty() {
        let known = cache.log(&key);
        return Ok(known.map(|row| PathBuf::from(row.body)).filter(|path| path.symlink_metadata().is_ok()));
    }
    let is_rollout = |path: &&PathBuf| path.file_name().and_then(|n| n.to_str()).is_some_and(is_rollout);
    let mut main = Vec::new();
    for path in ask.held.iter().filter(is_rollout) {
        if head(ask, path, cache).is_some_and(|head| head.is_main) {
            main.push(path);
        }
    }
    match main[..] {
        [] => Ok(None),
        [path] => {
            if let Some(text) = path.to_str() {
                cache.put_log(&key, 0, text.to_owned(), ask.now);
            }
            Ok(Some(path.clone()))
        }
        _ => Err("its worker holds the rollouts of several sessions open".into()),
    }
}

/// The rollouts of sessions that began during the attempt in this folder, the one last written first.
pub(super) fn in_folder(home: &Path, ask: &UsageAsk<'_>, real: &Path, cache: &mut Cache) -> Vec<PathBuf> {
    let window = Window::new(ask.from, ask.to, ask.next, ask.now);
    let last = ask.to.unwrap_or(ask.now).min(ask.from.plus(MAX_DAYS * DAY));
    let began = |name: &str| {
        // A thread that does not tell when it began is judged by its lines.
        started(name).is_none_or(|at| window.when(at) == When::Within && at <= window.starts)
    };
    // A local day may be the one before or after ours.
    let days = (0..=MAX_DAYS + 2).map(|n| ask.from.plus((n - 1) * DAY));
    let days = days.take_while(|day| *day <= last.plus(DAY)).filter_map(|day| day.folder());
    let all =
        days.flat_map(|day| newest(&home.join("sessions").join(day), |name| is_rollout(name) && began(name)));
    let all: Vec<PathBuf> = all.take(MAX_LOOKED_AT).collect();
    let is_here = |head: Head| head.is_main && head.cwd.as_deref() == Some(real);
    all.into_iter().filter(|path| head(ask, path, cache).is_some_and(is_here)).collect()
}

fn is_rollout(name: &str) -> bool {
    name.starts_with("rollout-") && name.ends_with(".jsonl")
}

/// When the session of a rollout began, where its name tells.
fn started(name: &str) -> Option<Millis> {
    let stem = name.strip_suffix(".jsonl")?;
    let thread = stem.get(stem.len().checked_sub(36)?..)?;
    if thread.as_bytes().get(14) != Some(&b'7') {
        return None;
    }
    let digits: String = thread.get(..13)?.split('-').collect();
    i64::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 12).map(Millis)
}

/// The first line of a rollout, read once a day at most. `None`: there is none yet, or none of Codex.
fn head(ask: &UsageAsk<'_>, path: &Path, cache: &mut Cache) -> Option<Head> {
    #[derive(Deserialize)]
    struct First {
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        cwd: Option<PathBuf>,
        /// A word, or for subagents an object.
        #[serde(default)]
        source: serde_json::Value,
    }
    let key = format!("rollout:{}", path.to_str()?);
    let known = cache.log(&key).filter(|row| ask.now.since(row.used) < DAY);
    if let Some(head) = known.and_then(|row| serde_json::from_str(&row.body).ok()) {
        return Some(head);
    }
    let file = open(path).ok()??;
    check(&file.metadata().ok()?, Owner::Ourselves).ok()?;
    let text = bytes(&file, 0, MAX_HEAD).ok()?;
    let end = text.iter().position(|b| *b == b'\n')?;
    let First { payload } = serde_json::from_slice(&text[..end]).ok()?;
    let head = Head { cwd: payload.cwd, is_main: !payload.source.is_object() };
    if let Ok(body) = serde_json::to_string(&head) {
        cache.put_log(&key, 0, body, ask.now);
    }
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_when_its_session_began() {
        let of = |thread: &str| started(&format!("rollout-2026-11-22T06-45-33-{thread}.jsonl"));
        // As run: the local second in the name is the same moment.
        assert_eq!(of("01a20200-bf1b-7e90-afaf-1c042f18d165"), Some(Millis(1_795_329_933_083)));
        for odd in ["01a20200-bf1b-4e90-afaf-1c042f18d165", "x", "", "é1a20200-bf1b-7e90-afaf-1c042f18d16"] {
            assert_eq!(of(odd), None, "{odd}");
        }
        assert_eq!(started("rollout.jsonl"), None);
        assert_eq!(started("01a20200-bf1b-7e90-afaf-1c042f18d165"), None);
    }
}
