//! Drafts narrower tasks out of what a task really changed: grouped by package or folder, each with a scope of its own. A draft
//! is a proposal; nothing here makes a task.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use base::count::{first_few, things, things_or};
use base::quote;
use board::Detail;
use card::scope::{Scope, Side, sides};
use card::shell_word;
use page::Draft;
use worktree::changes::Changes;

/// Most narrower tasks of one draft: a card must still be readable, and a worker is shown 8 KB of it.
const MAX_CHILDREN: usize = 6;
/// Most files named in the text of one.
const MAX_FILES: usize = 8;
/// Most entries of one list in a scope.
const MAX_ENTRIES: usize = 20;
/// Most bytes of commands on a card.
const MAX_ON_CARD: usize = 2_000;
/// The least a narrower task gets, in turns.
const LEAST_ITERATIONS: u64 = 10;
/// Folders that hold packages or modules; what lies right below one is an area of its own.
const NESTS: [&str; 9] = ["src", "lib", "libs", "crates", "packages", "apps", "pkg", "internal", "services"];

/// What a draft is made from.
pub struct Case<'a> {
    /// The task.
    pub detail: &'a Detail,
    /// Its scope.
    pub scope: Option<&'a Scope>,
    /// What it changed.
    pub changes: Option<&'a Changes>,
    /// The turns it may take.
    pub iterations: u64,
    /// Our program for this board.
    pub hand: &'a str,
}

/// Narrower tasks in the place of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Drafted {
    because: String,
    task: String,
    assignee: Option<String>,
    hand: String,
    children: Vec<Child>,
}

#[derive(Debug, Clone, PartialEq)]
struct Child {
    title: String,
    body: String,
    scope: Scope,
}

/// One area: its name, the entries that stand for it in a scope, and the files that showed it.
struct Area {
    name: String,
    entries: Vec<String>,
    files: Vec<String>,
}

/// The draft, where the evidence shows areas that could be apart. Files outside the scope become tasks of their own, and the task
/// goes on with its own part; else what it changed, or what it was to change, is divided.
pub fn draft(case: &Case<'_>) -> Option<Drafted> {
    let out = areas(&case.outside(), case.changes);
    if !out.is_empty() {
        let because = "its worker changed what lies outside its scope; that is work of its own".to_owned();
        return Some(case.drafted(because, few(out.into_iter().map(|a| case.beside(a)).collect())));
    }
    let changed: Vec<String> =
        case.changes.map(|c| c.files.iter().map(|f| f.path.clone()).collect()).unwrap_or_default();
    let by_files = areas(&changed, case.changes);
    if by_files.len() >= 2 {
        let because = format!("what it changed lies in {}", things(by_files.len(), "area"));
        return Some(case.drafted(because, few(by_files)));
    }
    let entries: Vec<&String> = case.scope.map(|s| s.in_scope.iter().collect()).unwrap_or_default();
    if entries.len() < 2 {
        return None;
    }
    let because = format!("its scope has {}", things_or(entries.len(), "entry", "entries"));
    let area = |e: &String| Area { name: e.clone(), entries: vec![e.clone()], files: Vec::new() };
    Some(case.drafted(because, few(entries.into_iter().map(area).collect())))
}

/// As many as one draft may have; all that are more go into its last one.
fn few(mut all: Vec<Area>) -> Vec<Area> {
    let rest = if all.len() > MAX_CHILDREN { all.split_off(MAX_CHILDREN - 1) } else { Vec::new() };
    if !rest.is_empty() {
        let name = format!("{} smaller areas", rest.len());
        let mut last = Area { name, entries: Vec::new(), files: Vec::new() };
        for area in rest {
            last.entries.extend(area.entries);
            last.files.extend(area.files);
        }
        all.push(last);
    }
    all
}

/// Our program for a board, ready for a command line.
pub fn hand(slug: Option<&str>, db: &str) -> String {
    match slug {
        Some(slug) => format!("board --board {}", shell_word(slug)),
        None => format!("board --db {}", shell_word(db)),
    }
}

/// Files by the package they belong to, else by folder; the areas with most files first.
fn areas(files: &[String], changes: Option<&Changes>) -> Vec<Area> {
    let mut by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        by.entry(folder(file, changes)).or_default().push(file.clone());
    }
    let mut all: Vec<Area> = by.into_iter().map(|(folder, files)| area(&folder, files)).collect();
    // What is made inert would name something else: line breaks, blanks at an end, a key in a name.
    for area in &mut all {
        area.entries.retain(|e| quote::inline(e, 400) == *e);
    }
    all.retain(|area| !area.entries.is_empty() && quote::inline(&area.name, 400) == area.name);
    all.sort_by(|a, b| b.files.len().cmp(&a.files.len()).then_with(|| a.name.cmp(&b.name)));
    all
}

/// The folder of the deepest package that a file lies in, else the folder below one that only holds others, else the first
/// one; empty for a file at the top.
fn folder(file: &str, changes: Option<&Changes>) -> String {
    let packages = changes.map(|c| &c.packages);
    let of_package = packages.and_then(|all| {
        let above = all.keys().filter(|dir| !dir.is_empty() && file.starts_with(&format!("{dir}/")));
        above.max_by_key(|dir| dir.len())
    });
    if let Some(dir) = of_package {
        return dir.clone();
    }
    let parts: Vec<&str> = file.split('/').collect();
    let depth = match parts.len() {
        1 => return String::new(),
        2 => 1,
        _ if NESTS.contains(&parts[0]) => 2,
        _ => 1,
    };
    parts[..depth].join("/")
}

fn area(folder: &str, files: Vec<String>) -> Area {
    if folder.is_empty() {
        // A name without a slash would count at any depth.
        let entries = files.iter().map(|f| format!("/{}", globset::escape(f))).collect();
        return Area { name: "the top folder".into(), entries, files };
    }
    Area { name: folder.to_owned(), entries: vec![format!("{}/**", globset::escape(folder))], files }
}

impl Case<'_> {
    /// Changed files outside the scope.
    fn outside(&self) -> Vec<String> {
        let Some((scope, changes)) = self.scope.zip(self.changes) else { return Vec::new() };
        let all = sides(scope, changes).into_iter();
        all.filter(|(_, side)| matches!(side, Side::Out { .. } | Side::Beyond))
            .map(|(f, _)| f.path.clone())
            .collect()
    }

    /// An area that takes nothing away from the task's own: where that lies in the same folder, only the files themselves.
    fn beside(&self, area: Area) -> Area {
        let own = self.scope.map(|s| s.in_scope.as_slice()).unwrap_or_default();
        let below = format!("{}/", area.name);
        if own.iter().any(|e| e.trim_start_matches("./").trim_start_matches('/').starts_with(&below)) {
            let entries = area.files.iter().map(|f| format!("/{}", globset::escape(f))).collect();
            return Area { entries, ..area };
        }
        area
    }

    fn drafted(&self, because: String, areas: Vec<Area>) -> Drafted {
        let count = u64::try_from(areas.len()).unwrap_or(1);
        let each = (self.iterations / (count + 1)).max(LEAST_ITERATIONS);
        let entries: Vec<Vec<String>> = areas.iter().map(|a| a.entries.clone()).collect();
        let children = areas
            .iter()
            .enumerate()
            .map(|(i, area)| {
                let others = entries.iter().enumerate().filter(|(j, _)| *j != i).flat_map(|(_, e)| e.clone());
                self.child(area, others.take(MAX_ENTRIES).collect(), each)
            })
            .collect();
        Drafted {
            because,
            task: self.detail.task.id.clone(),
            assignee: self.detail.task.assignee.clone(),
            hand: self.hand.to_owned(),
            children,
        }
    }

    fn child(&self, area: &Area, others: Vec<String>, iterations: u64) -> Child {
        let t = &self.detail.task;
        let concern = self.scope.and_then(|s| s.concern.as_deref()).unwrap_or(&t.title);
        let concern = quote::inline(concern, 120);
        let name = quote::inline(&area.name, 80);
        let mut body = format!("Split off {}: its part in {name}.", t.id);
        if !area.files.is_empty() {
            let shown = first_few(MAX_FILES, area.files.iter().map(|f| quote::inline(f, 100)));
            body.push_str(&format!(" Changed there so far: {shown}."));
        }
        let room = u32::try_from(area.files.len().saturating_mul(2)).unwrap_or(u32::MAX).max(5);
        let in_scope = area.entries.iter().take(MAX_ENTRIES).cloned().collect();
        let max_files = (!area.files.is_empty()).then_some(room);
        Child {
            title: format!("{name}: {}", quote::inline(&concern, 80)),
            body,
            scope: Scope {
                concern: Some(format!("{concern}, in {name} only")),
                in_scope,
                out_of_scope: others,
                max_files,
                iterations: u32::try_from(iterations).ok(),
                ..Scope::default()
            },
        }
    }
}

impl Drafted {
    /// The commands that make these tasks, one a line.
    pub fn commands(&self) -> Vec<String> {
        self.children.iter().map(|c| self.command(c)).collect()
    }

    /// Values are tied to their flags, and the title comes last: a folder may be called `-x`.
    fn command(&self, c: &Child) -> String {
        let mut words = vec![self.hand.clone(), "add".into()];
        let mut flag = |name: &str, value: &str| words.push(format!("--{name}={}", shell_word(value)));
        flag("body", &c.body);
        if let Some(to) = &self.assignee {
            flag("assignee", to);
        }
        flag("concern", c.scope.concern.as_deref().unwrap_or(&c.title));
        c.scope.in_scope.iter().for_each(|e| flag("in-scope", e));
        c.scope.out_of_scope.iter().for_each(|e| flag("out-of-scope", e));
        if let Some(n) = c.scope.max_files {
            flag("max-files", &n.to_string());
        }
        if let Some(n) = c.scope.iterations {
            flag("iterations", &n.to_string());
        }
        words.push(format!("-- {}", shell_word(&c.title)));
        words.join(" ")
    }

    /// The decision that `route-blocked` carries out.
    pub fn decision(&self) -> Value {
        let child = |c: &Child| {
            let mut one = json!({
                "title": c.title, "body": c.body, "concern": c.scope.concern, "in_scope": c.scope.in_scope,
                "out_of_scope": c.scope.out_of_scope, "iterations": c.scope.iterations,
            });
            if let Some(n) = c.scope.max_files {
                one["max_files"] = json!(n);
            }
            one
        };
        let children: Vec<Value> = self.children.iter().map(child).collect();
        json!({"task": self.task, "action": "split", "reason": self.because, "children": children})
    }

    /// For the page.
    pub fn shown(&self) -> Draft {
        Draft { because: self.because.clone(), commands: self.commands(), decision: self.decision() }
    }

    /// For a card: the decision as the metadata of its completion, and the commands where they do not crowd it out.
    pub(crate) fn lines(&self) -> Vec<String> {
        let commands = self.commands();
        let fits = commands.iter().map(String::len).sum::<usize>() <= MAX_ON_CARD;
        let mut lines =
            vec![format!("# {}; as metadata of kanban_complete or `board complete`:", self.because)];
        lines.push(format!("{{\"route\":{}}}", self.decision()));
        if fits {
            lines.push("# or by hand, and then link each one as a parent:".into());
            lines.extend(commands);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn a_file_belongs_to_the_folder_that_tells_most() {
        for (file, want) in [
            ("a.rs", ""),
            ("src/a.rs", "src"),
            ("src/parse/a.rs", "src/parse"),
            ("src/parse/deep/a.rs", "src/parse"),
            ("docs/parse/a.md", "docs"),
        ] {
            assert_eq!(folder(file, None), want, "{file}");
        }
    }
}
