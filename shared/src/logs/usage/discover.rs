//! Finding the logs of Claude Code and Codex by the folder an attempt worked in.

use std::path::{Path, PathBuf};

use super::agent::Agent;
use super::agent_usage::{MAX_ENTRIES, count, newest, of_file};
use super::window::Window;
use super::{Usage, UsageAsk, rollouts};
use crate::cache::Cache;
use crate::logs::handle::Owner;

/// Most transcripts that are looked at.
pub(super) const MAX_FILES: usize = 20;

/// Longest name of a project's folder that is not cut.
const MAX_SLUG: usize = 200;

/// What the sessions of Claude Code and Codex in the task's folder used that were there during the attempt.
pub(super) fn read(ask: &UsageAsk<'_>, cache: &mut Cache) -> Result<Option<Usage>, String> {
    let Some(workspace) = ask.workspace else { return Ok(None) };
    let Ok(real) = std::fs::canonicalize(workspace) else { return Ok(None) };
    let mut found: Option<Usage> = None;
    let files = ask.home.map(|home| transcripts(&home.join("projects"), &slug(&real))).unwrap_or_default();
    let rollouts = rollouts::in_folder(ask, &real, cache);
    let is_more = files.len().max(rollouts.len()) > MAX_FILES;
    for path in files.into_iter().take(MAX_FILES).chain(rollouts.into_iter().take(MAX_FILES)) {
        let Ok(Some(counted)) = count(ask, &path, Owner::Ourselves, cache) else { continue };
        let is_here = match &counted.count.agent {
            // Different folders may have one slug; what a session itself says is right.
            Agent::Claude(reader) => {
                reader.session().cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == real)
            }
            // Only those of the folder were found.
            Agent::Codex { .. } => true,
        };
        let starts = Window::new(ask.from, ask.to, ask.next, ask.now).starts;
        if !is_here || counted.count.gate.clock.first().is_none_or(|first| first > starts) {
            continue;
        }
        let Some(usage) = of_file(ask, &path, Owner::Ourselves, cache)? else { continue };
        found = Some(match found {
            Some(newer) => both(newer, usage),
            None => usage,
        });
    }
    if let Some(usage) = found.as_mut().filter(|_| is_more) {
        usage.least(format!("only the newest {MAX_FILES} sessions of the folder are looked at"));
    }
    Ok(found)
}

/// Two sessions of one attempt.
fn both(newer: Usage, older: Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let mut usage = newer;
    usage.turns = sum(usage.turns, older.turns);
    usage.compactions = sum(usage.compactions, older.compactions);
    usage.rereads.extend(older.rereads.clone());
    usage.rereads.sort_by_key(|r| std::cmp::Reverse(r.times));
    usage.rereads.truncate(5);
    usage.add(older);
    usage
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

/// The name Claude Code (2.1.197) gives the folder of a project: a dash for each UTF-16 unit that is no letter or digit.
pub(super) fn slug(real: &Path) -> String {
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
