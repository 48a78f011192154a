//! Judges whether a changed file lies within what a task's scope names.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Scope;
use worktree::changes::{Changed, Changes};

/// Most entries of one list that are looked at. The others are not understood.
const MAX_ENTRIES: usize = 200;
/// Longest entry that can be a glob, in bytes, and the most brackets in it: what a compiled one takes grows with both.
const MAX_PATH: usize = 500;
const MAX_BRACKETS: usize = 20;

/// What opens or is part of a glob.
const GLOB: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];
/// Words for the whole tree, as entries.
const ALL: [&str; 5] = ["everything", "anything", "all", "all files", "any file"];
/// Words for whatever the other list does not name, as entries out of scope.
const REST: [&str; 9] = [
    "everything else",
    "anything else",
    "all else",
    "all other files",
    "any other file",
    "any other files",
    "other files",
    "the rest",
    "everything not listed",
];

/// The entries of a scope, ready to judge paths by.
///
/// An entry is a path, a folder (with all below it; only that with a slash at its end), a glob (`*` and `?` stop at a slash,
/// `**` does not, `{a,b}` and `[ab]` are known), the name of a package in a manifest (with all below the manifest's folder),
/// or a word such as `everything`. A name with brackets in it (`app/[id]/page.tsx`) is tried as it stands and as a glob.
///
/// As in a `.gitignore`, an entry without a slash, but for one at its end, is meant at any depth, and one with a slash from
/// the top folder on. `./` or `/` at its beginning means the top folder too, and so does the full path of the tree. What a glob
/// matches may be a folder and stands for all below it then; only a last `*` of its own means one level, as in a
/// `CODEOWNERS` file. Case matters.
///
/// The most specific entry that matches decides, whichever list it is on: the path itself, then the longest literal beginning
/// (for a folder or a package its path with a slash, for a name at any depth the path it names, for a glob all before its
/// first wildcard), then words for everything. Between equals, out of scope wins; so does a pattern of names out of scope
/// (`*.snap`, `**/generated/**`), but over the path itself: such a pattern is meant wherever work is done.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    ins: Vec<Entry>,
    outs: Vec<Entry>,
}

/// Where a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// In scope, or nothing is said against it.
    In,
    /// An entry says it is out of scope.
    Out {
        /// That entry. Untrusted.
        entry: String,
    },
    /// No entry names it, and there are entries in scope.
    Beyond,
    /// No entry that is understood names it, but this one may.
    Unclear {
        /// That entry. Untrusted.
        entry: String,
    },
}

/// Every changed file that was looked at and where it lies, seen from a scope; none for a scope without an entry.
pub fn sides<'a>(scope: &Scope, changes: &'a Changes) -> Vec<(&'a Changed, Side)> {
    let bounds = Bounds::of(scope, Some(&changes.root)).in_tree(&changes.top, &changes.packages);
    if bounds.is_empty() {
        return Vec::new();
    }
    let side = |f: &'a Changed| (f, bounds.judge_below(&f.path, &changes.below, &changes.packages));
    changes.files.iter().map(side).collect()
}

impl Bounds {
    /// Of a scope, in a tree with this top folder, if it is known: entries with its full path are taken from there on.
    pub fn of(scope: &Scope, root: Option<&str>) -> Bounds {
        let list = |entries: &[String]| {
            let mut told: Vec<&String> = entries.iter().filter(|e| !e.trim().is_empty()).collect();
            let is_cut = told.len() > MAX_ENTRIES;
            told.truncate(MAX_ENTRIES);
            let mut all: Vec<Entry> = told.into_iter().map(|e| Entry::of(e, root)).collect();
            all.extend(is_cut.then(|| Entry::of("and more entries than are read", None)));
            all
        };
        Bounds { ins: list(&scope.in_scope), outs: list(&scope.out_of_scope) }
    }

    /// With what there is at the top of the tree: an entry in scope that names nothing there, and no package, may be meant in a
    /// way that only its author knows (`parser`, `myproject/src/**`).
    #[must_use]
    pub fn in_tree(mut self, top: &[String], packages: &BTreeMap<String, Vec<String>>) -> Bounds {
        for e in self.ins.iter_mut().filter(|_| !top.is_empty()) {
            let first = e.path.split('/').next().unwrap_or_default();
            let is_there = first.is_empty() || first.contains(GLOB) || top.iter().any(|t| t == first);
            let is_package = packages.values().any(|names| names.contains(&e.text));
            e.is_doubtful |= !is_there && !is_package && !e.is_all;
        }
        self
    }

    /// The same for a task whose folder lies `below` the top: its entries may count from either.
    pub fn judge_below(&self, path: &str, below: &str, packages: &BTreeMap<String, Vec<String>>) -> Side {
        let side = self.judge(path, packages);
        let Some(inner) =
            path.strip_prefix(below).and_then(|p| p.strip_prefix('/')).filter(|_| !below.is_empty())
        else {
            return side;
        };
        match (side, self.judge(inner, packages)) {
            (Side::In, _) | (_, Side::In) => Side::In,
            (Side::Out { entry }, _) | (_, Side::Out { entry }) => Side::Out { entry },
            (Side::Unclear { entry }, _) | (_, Side::Unclear { entry }) => Side::Unclear { entry },
            (Side::Beyond, Side::Beyond) => Side::Beyond,
        }
    }

    /// There is no entry at all, so nothing can be judged.
    pub fn is_empty(&self) -> bool {
        self.ins.is_empty() && self.outs.is_empty()
    }

    /// Where `path` lies, from the top folder on. `packages` names the packages by the folder of their manifest, as
    /// [`worktree::changes::Changes::packages`] does.
    ///
    /// Where no entry matches: with entries in scope it is [`Side::Beyond`], unless one of them is not understood; with only
    /// entries out of scope it is [`Side::In`], unless one of them is not understood and does not just mean the rest. Not
    /// understood are broken globs, and words and code that name no path here: `the parser package`, `parse()`.
    pub fn judge(&self, path: &str, packages: &BTreeMap<String, Vec<String>>) -> Side {
        let best = |list: &'_ [Entry]| {
            let matching = list.iter().enumerate();
            // Of equal ones the first on its list is named.
            let found = matching.filter_map(|(n, e)| Some((e.matches(path, packages)?, n)));
            found.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)))
        };
        let (inside, outside) = (best(&self.ins), best(&self.outs));
        // A pattern of names is meant wherever work is done.
        let exception = self.outs.iter().find(|e| e.is_of_names() && e.matches(path, packages).is_some());
        if let Some(e) = exception.filter(|_| inside.is_none_or(|(how, _)| how != Closeness::Itself)) {
            return Side::Out { entry: e.text.clone() };
        }
        match (inside, outside) {
            (within, Some((how, n))) if within.is_none_or(|(w, _)| w <= how) => {
                Side::Out { entry: self.outs.get(n).map(|e| e.text.clone()).unwrap_or_default() }
            }
            (Some(_), _) => Side::In,
            _ => self.unnamed(),
        }
    }

    fn unnamed(&self) -> Side {
        let (sure, doubt) = if self.ins.is_empty() {
            (Side::In, self.outs.iter().find(|e| e.is_doubtful && !e.is_rest))
        } else {
            (Side::Beyond, self.ins.iter().find(|e| e.is_doubtful))
        };
        doubt.map_or(sure, |e| Side::Unclear { entry: e.text.clone() })
    }
}

/// How closely an entry names a path; the closest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Closeness {
    /// In words for everything.
    Words,
    /// By a beginning of so many bytes.
    Beginning(usize),
    /// As itself.
    Itself,
}

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// As the author wrote it.
    pub(super) text: String,
    /// From the top folder on, without a slash at either end; empty for the top folder.
    pub(super) path: String,
    /// It is meant at any depth.
    pub(super) is_floating: bool,
    /// It can only be a folder.
    is_folder: bool,
    /// It stands for everything.
    pub(super) is_all: bool,
    glob: Option<Glob>,
    /// Why it is not a glob, though it looks like one.
    pub(super) broken: Option<String>,
    /// Where it matches nothing, it may still mean something.
    is_doubtful: bool,
    /// It stands for whatever the other list does not name.
    is_rest: bool,
}

#[derive(Debug, Clone)]
struct Glob {
    set: GlobSet,
    /// Bytes before the first wildcard.
    beginning: usize,
    /// What it matches may be a folder.
    is_deep: bool,
    /// It is about names at many places, not about one place.
    is_of_names: bool,
}

impl Entry {
    pub(super) fn of(text: &str, root: Option<&str>) -> Entry {
        let text = text.trim();
        let tidy = tidy(text);
        let (path, is_floating) = place(&tidy, root);
        let is_folder = tidy.ends_with('/');
        // Elsewhere, or taken away: neither names a place in this tree.
        let is_odd = tidy.starts_with(['!', '~', '<']) || tidy.split('/').any(|p| p == "..");
        let is_odd = is_odd || (tidy.starts_with('/') && root.is_some_and(|r| same_start(&tidy, r)));
        let words = text.to_lowercase();
        let is_all = ALL.contains(&words.as_str());
        let glob = Glob::of(&path, is_floating, is_folder);
        let is_prose = text.contains(char::is_whitespace) || text.contains("::") || text.contains("()");
        let rest = words.trim_end_matches('.');
        Entry {
            text: text.to_owned(),
            is_floating,
            is_folder,
            is_all: is_all || path.is_empty(),
            is_doubtful: (is_prose || is_odd || glob.is_err()) && !is_all,
            is_rest: REST.contains(&rest),
            broken: glob.as_ref().err().cloned(),
            glob: glob.unwrap_or_default(),
            path,
        }
    }

    /// Whether these are words or code rather than a name: nobody would give a file such a path.
    pub(super) fn is_prose(&self) -> bool {
        self.is_doubtful && self.broken.is_none() && !self.text.contains(['/', '.', '*'])
    }

    /// It is a glob about names at many places, not about one place.
    fn is_of_names(&self) -> bool {
        self.glob.as_ref().is_some_and(|g| g.is_of_names)
    }

    pub(super) fn matches(&self, path: &str, packages: &BTreeMap<String, Vec<String>>) -> Option<Closeness> {
        let ways = [
            self.literal(path),
            self.glob
                .as_ref()
                .filter(|g| g.matches(path, self.is_folder))
                .map(|g| Closeness::Beginning(g.beginning)),
            self.package(path, packages),
            self.is_all.then_some(if self.path.is_empty() {
                Closeness::Beginning(0)
            } else {
                Closeness::Words
            }),
        ];
        ways.into_iter().flatten().max()
    }

    fn literal(&self, path: &str) -> Option<Closeness> {
        if self.path.is_empty() {
            return None;
        }
        // A name may end in what is taken for a full stop behind it.
        if (path == self.path || path == self.text) && !self.is_folder {
            return Some(Closeness::Itself);
        }
        let is_above = path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let from_top = is_above.then_some(self.path.len() + 1);
        let end = if self.is_floating { self.anywhere(path).max(from_top) } else { from_top };
        end.map(Closeness::Beginning)
    }

    /// Where the deepest place of this name ends.
    fn anywhere(&self, path: &str) -> Option<usize> {
        let folder = path.rfind(&format!("/{}/", self.path)).map(|at| at + self.path.len() + 2);
        let is_file = path.strip_suffix(self.path.as_str()).is_some_and(|p| p.ends_with('/'));
        if is_file && !self.is_folder { Some(path.len()) } else { folder }
    }

    fn package(&self, path: &str, packages: &BTreeMap<String, Vec<String>>) -> Option<Closeness> {
        let named = |folder: &str| packages.get(folder).is_some_and(|names| names.contains(&self.text));
        let nearest = folders(path).filter(|f| named(f)).last();
        let nearest = nearest.or_else(|| named("").then_some(""))?;
        Some(Closeness::Beginning(if nearest.is_empty() { 0 } else { nearest.len() + 1 }))
    }
}

impl Glob {
    /// `None` where there is no wildcard in it, else what is wrong with it.
    fn of(path: &str, is_floating: bool, is_folder: bool) -> Result<Option<Glob>, String> {
        let Some(beginning) = path.find(GLOB) else {
            return Ok(None);
        };
        if path.len() > MAX_PATH || path.matches(['[', '{']).count() > MAX_BRACKETS {
            return Err("longer than a glob may be".into());
        }
        // Before a letter or a star nobody takes a meaning away.
        if path.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c == '*' || c.is_alphanumeric())) {
            return Err("a path has / between its names".into());
        }
        let full = if is_floating { format!("**/{path}") } else { path.to_owned() };
        let glob = GlobBuilder::new(&full).literal_separator(true).build();
        // Not `compile_matcher`: it panics where the glob compiles to too much.
        let set = glob.and_then(|g| GlobSetBuilder::new().add(g).build());
        let set = set.map_err(|e| e.kind().to_string())?;
        let is_deep = is_folder || is_floating || !path.ends_with("/*");
        let is_of_names = is_of_names(path);
        Ok(Some(Glob { set, beginning: if is_floating { 0 } else { beginning }, is_deep, is_of_names }))
    }

    fn matches(&self, path: &str, is_folder: bool) -> bool {
        !is_folder && self.set.is_match(path) || self.is_deep && folders(path).any(|f| self.set.is_match(f))
    }
}

/// Whether a glob has letters behind a `**` or beside the stars of its last name.
fn is_of_names(path: &str) -> bool {
    let has_letters = |name: &str| name.contains(char::is_alphanumeric);
    let behind = path.split_once("**/").is_some_and(|(_, rest)| has_letters(rest));
    let last = path.rsplit('/').next().unwrap_or(path);
    behind || (last.contains(['*', '?']) && has_letters(last))
}

/// The folders above a path, the top folder left out, the topmost first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}

/// An entry without what people and models put around a path: quotes, brackets of a list, a link, the lines meant, a full stop.
fn tidy(text: &str) -> String {
    let mut text = text.trim();
    if let Some((_, target)) =
        text.strip_prefix('[').and_then(|t| t.strip_suffix(')')).and_then(|t| t.split_once("]("))
    {
        text = target;
    }
    let quotes = ['"', '\'', '\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'];
    let is_list = text.contains(['/', '.', '"', '\'']);
    for _ in 0..3 {
        text = text.trim_matches(quotes).trim();
        // One bracket is of a list around it; two may be a class of a glob, but not around a path.
        text = if is_list && !text.contains(']') { text.trim_start_matches('[') } else { text };
        text = if is_list && !text.contains('[') { text.trim_end_matches(']') } else { text };
        if let Some(inner) = text
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .filter(|t| is_list && !t.contains(['[', ']']))
        {
            text = inner;
        }
    }
    if let Some((path, lines)) = text.rsplit_once([':', '#'])
        && lines.starts_with(|c: char| c.is_ascii_digit() || c == 'L')
        && lines.chars().all(|c| c.is_ascii_digit() || "L-:".contains(c))
    {
        text = path;
    }
    let more = text.strip_suffix("/...").or_else(|| text.strip_suffix("/\u{2026}"));
    let text = more.map_or(text, |folder| if folder.is_empty() { "." } else { folder });
    let text =
        text.strip_suffix('.').filter(|t| t.contains(['/', '.']) && !t.ends_with(['.', '/'])).unwrap_or(text);
    // Windows' way; in a glob it takes a meaning away.
    let is_windows = !text.contains(['/', '*', '?', '[']) && text.contains('\\');
    if is_windows { text.replace('\\', "/") } else { text.to_owned() }
}

/// Whether an absolute path that is not in the tree begins as one of a machine does: `/home/...`, not `/src`.
fn same_start(text: &str, root: &str) -> bool {
    let first = |t: &str| t.trim_start_matches('/').split('/').next().map(str::to_owned);
    let outside =
        !text.strip_prefix(root.trim_end_matches('/')).is_some_and(|t| t.is_empty() || t.starts_with('/'));
    let known = ["home", "root", "Users", "tmp", "var", "opt", "usr", "mnt", "srv", "workspace"];
    outside && (first(text) == first(root) || first(text).is_some_and(|f| known.contains(&f.as_str())))
}

/// An entry's path from the top folder on, and whether it is meant at any depth.
fn place(text: &str, root: Option<&str>) -> (String, bool) {
    let root = root.map(|r| r.trim_end_matches('/')).filter(|r| r.starts_with('/'));
    let inside = root.and_then(|r| text.strip_prefix(r)).filter(|t| t.is_empty() || t.starts_with('/'));
    let text = inside.unwrap_or(text);
    let is_floating = inside.is_none() && !text.trim_end_matches('/').contains('/');
    let names: Vec<&str> = text.split('/').filter(|n| !matches!(*n, "" | ".")).collect();
    (names.join("/"), is_floating)
}

#[cfg(test)]
mod tests;
