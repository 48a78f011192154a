//! The newest files of a folder in which an agent keeps its logs.

use std::path::{Path, PathBuf};

/// Most logs of each agent that are looked at.
pub(crate) const MAX_FILES: usize = 20;

/// Most entries of a folder that are looked at.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// The regular files of a folder with fitting names, the one last written first. Empty where the path is not a folder.
pub(crate) fn newest(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    if !folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).map(|all| all.take(MAX_ENTRIES).flatten().collect::<Vec<_>>());
    let named = entries.unwrap_or_default().into_iter().filter(|e| e.file_name().to_str().is_some_and(&fits));
    let mut dated: Vec<_> = named
        .filter_map(|e| {
            Some((e.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?, e.path()))
        })
        .collect();
    dated.sort_by(|a, b| b.cmp(a));
    dated.into_iter().map(|(_, path)| path).collect()
}
