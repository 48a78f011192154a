//! What agents do, told alike by every format: a line or a row becomes acts, and whoever counts need not know whose they are.

use super::claude::Used;

/// One thing that an agent's log says.
#[derive(Debug, Clone, Copy)]
pub(in crate::logs) enum Act<'a> {
    /// Which session it is, and where it works.
    Session { id: Option<&'a str>, cwd: Option<&'a str> },
    /// The model of what follows, and the size of its context where that is stated.
    Model { name: Option<&'a str>, window: Option<u64> },
    /// It is the model's turn: somebody asked for something.
    Asked,
    /// The model said a part of an answer, which belongs to this API call.
    Spoke { call: &'a str, stop: Stop },
    /// What an API call used so far. Told again as it grows; `context`: all the tokens it was asked with.
    Used { call: &'a str, model: &'a str, used: Used, context: u64 },
    /// What the whole thread used so far, and what its last call did.
    Total { total: Used, last: Option<Used> },
    /// A tool was called.
    Called(Call<'a>),
    /// A tool answered. `print` tells whether two answers are the same.
    Answered { id: &'a str, failed: bool, malformed: bool, print: u64 },
    /// A call is known to have failed, before its answer stands in the log.
    Failed { id: &'a str },
    /// The context was compacted.
    Compacted,
    /// The turn is over: somebody else's word is waited for.
    Over,
}

/// Why a model stopped, as far as it matters for whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logs) enum Stop {
    /// Nothing says so yet: it speaks on, or the stream was cut.
    Unsaid,
    /// To have tools called.
    ForTools,
    /// It is done.
    Done,
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub(in crate::logs) struct Call<'a> {
    pub(in crate::logs) id: &'a str,
    pub(in crate::logs) name: &'a str,
    /// The same for the same arguments.
    pub(in crate::logs) arguments: &'a str,
    pub(in crate::logs) does: Does,
    /// Files that it changes, or the one it reads.
    pub(in crate::logs) files: &'a [&'a str],
    /// The runtime could not read it.
    pub(in crate::logs) malformed: bool,
    /// The argument a person would look at. Untrusted.
    pub(in crate::logs) brief: &'a str,
}

/// What a tool call is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::logs) enum Does {
    /// It changes files.
    Edits,
    /// It reads one file.
    Reads,
    /// It looks for something without changing anything.
    Looks,
    /// It asks a person.
    Asks,
    /// Anything else.
    #[default]
    Other,
}

/// Most bytes of an answer by which it is told from another.
const MAX_PRINT: usize = 16 << 10;

/// Tells texts apart. Of long ones the front and the length.
pub(in crate::logs) fn print<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    let part = |text: &'t str| {
        let front = text.bytes().take(MAX_PRINT);
        front.chain(text.len().to_le_bytes())
    };
    crate::hash::fnv(texts.flat_map(part))
}

/// The argument of a call that a person would look at first: a command, a file, a pattern.
pub(in crate::logs) fn brief(input: &serde_json::Value) -> Option<&str> {
    const KEYS: [&str; 10] = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "notebook_path",
        "path",
        "pattern",
        "url",
        "query",
        "description",
    ];
    KEYS.iter().find_map(|key| input.get(key)?.as_str())
}

/// The files a patch in the form of Codex (V4A) is for.
pub(in crate::logs) fn patched(text: &str) -> Vec<&str> {
    /// Most files of one patch that are told.
    const MAX_FILES: usize = 20;
    if !text.contains("*** Begin Patch") {
        return Vec::new();
    }
    let file = |line: &'_ str| -> Option<usize> {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find(|mark| line.starts_with(**mark))
            .map(|mark| mark.len())
    };
    let named = text.lines().filter_map(|line| Some(line[file(line)?..].trim()));
    named.filter(|name| !name.is_empty()).take(MAX_FILES).collect()
}
