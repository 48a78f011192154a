//! What is wrong with the entries of a scope section.

use std::collections::BTreeMap;

use super::{FlawKind, Linter, is_placeholder};
use crate::scope::bounds::Entry;
use crate::scope::entry;
use crate::scope::read::Field;

/// What stands for an entry that only the author can know.
pub(super) const PLACE: &str = "<path or glob>";
/// Most entries of one list that are compared with each other.
const MAX_ENTRIES: usize = 100;
/// Most paths that stand for what one glob matches.
const MAX_SAMPLES: usize = 16;
/// Names that no entry has by chance.
const NAMES: [&str; 3] = ["qx7z", "zk9q", "vj3x"];

/// An entry and the line it is on.
struct Told {
    line: usize,
    entry: Entry,
}

/// An entry in scope and what is wrong with it: kind, reason, what to write in its place.
type Verdict = (FlawKind, String, Option<String>);

impl Linter<'_, '_> {
    fn told(&self, field: Field) -> Vec<Told> {
        let parts = self.parts(field).into_iter();
        let all = parts.flat_map(|(line, text)| entry::read(text).into_iter().map(move |e| (line, e)));
        all.map(|(line, e)| Told { line, entry: Entry::of(&e, None) }).take(MAX_ENTRIES).collect()
    }

    pub(super) fn entries(&mut self) {
        let (ins, outs) = (self.told(Field::In), self.told(Field::Out));
        if ins.is_empty() {
            let why = "it names nothing that may be changed";
            self.flaw(self.label(Field::In), FlawKind::Missing, why, &field("In scope", &[]));
        }
        let verdicts: Vec<Option<Verdict>> = ins.iter().map(|t| inside(&t.entry, &outs)).collect();
        let better = ins.iter().zip(&verdicts).filter_map(|(told, verdict)| match verdict {
            None => Some(told.entry.text.clone()),
            Some((_, _, instead)) => instead.clone(),
        });
        let better = field("In scope", &better.collect::<Vec<_>>());
        for (told, verdict) in ins.iter().zip(verdicts) {
            let Some((what, why, _)) = verdict else { continue };
            self.flaw(Some(told.line), what, why, &better);
        }
        self.areas(&ins);
        let broken = |t: &&Told| is_placeholder(&t.entry.text) || t.entry.broken.is_some();
        let sound = outs.iter().filter(|t| !broken(t)).map(|t| t.entry.text.clone()).collect::<Vec<_>>();
        for told in outs.iter().filter(broken) {
            let why = told.entry.broken.as_deref().unwrap_or("not filled in");
            let why = format!("{} is neither a path nor a glob: {why}", told.entry.text);
            self.flaw(Some(told.line), FlawKind::NotUnderstood, why, &field("Out of scope", &sound));
        }
    }

    /// Whether what is in scope lies too far apart.
    fn areas(&mut self, ins: &[Told]) {
        let most = self.policy.max_areas;
        // Each with the number of the first entry that names it.
        let mut areas: BTreeMap<String, usize> = BTreeMap::new();
        for (n, told) in ins.iter().enumerate() {
            for area in of_areas(&told.entry) {
                areas.entry(area).or_insert(n);
            }
        }
        if areas.len() <= most {
            return;
        }
        let mut by_entry: Vec<(usize, String)> = areas.into_iter().map(|(area, n)| (n, area)).collect();
        by_entry.sort();
        let kept: Vec<&str> = by_entry.iter().take(most).map(|(_, area)| area.as_str()).collect();
        let stays = |t: &&Told| of_areas(&t.entry).iter().all(|a| kept.contains(&a.as_str()));
        let fix: Vec<String> = ins.iter().filter(stays).map(|t| t.entry.text.clone()).collect();
        let line = by_entry.get(most).and_then(|(n, _)| ins.get(*n)).map(|t| t.line);
        let why = format!("it names {} top-level folders, more than {most}", by_entry.len());
        self.flaw(line, FlawKind::TooBroad, why, &field("In scope", &fix));
    }
}

/// What is wrong with an entry in scope.
fn inside(told: &Entry, outs: &[Told]) -> Option<Verdict> {
    let text = &told.text;
    if is_placeholder(text) {
        return Some((FlawKind::NotUnderstood, "it is not filled in".into(), None));
    }
    if let Some(why) = &told.broken {
        let folder = told.path.split(['*', '?', '[', '{', '\\']).next().and_then(|p| p.rsplit_once('/'));
        let instead = folder.map(|(folder, _)| format!("{folder}/**"));
        return Some((FlawKind::NotUnderstood, format!("{text} is not a glob: {why}"), instead));
    }
    let any = NAMES.join("/");
    if told.is_all || told.matches(&any, &BTreeMap::new()).is_some() {
        return Some((FlawKind::TooBroad, format!("{text} is everything"), None));
    }
    if told.is_prose() {
        let why = format!("{text} is not a path, a glob or the name of a package");
        return Some((FlawKind::NotUnderstood, why, None));
    }
    let samples = samples(told);
    let out = outs.iter().map(|o| &o.entry).find(|out| covers(out, told, &samples))?;
    let why = format!("{text} is in scope, and {} out of it", out.text);
    Some((FlawKind::Contradictory, why, None))
}

/// Whether an entry out of scope takes away all that an entry in scope gives, either as a file or as a folder.
fn covers(out: &Entry, told: &Entry, samples: &[Vec<String>; 2]) -> bool {
    if out.text == told.text {
        return true;
    }
    let none = BTreeMap::new();
    let is_out =
        |path: &String| out.matches(path, &none).is_some_and(|o| told.matches(path, &none) <= Some(o));
    samples.iter().any(|paths| !paths.is_empty() && paths.iter().all(is_out))
}

/// Paths that an entry matches: once if it names files, once if folders.
fn samples(told: &Entry) -> [Vec<String>; 2] {
    let mut paths = Vec::new();
    for plain in alternatives(&told.path) {
        for deep in [NAMES[0].to_owned(), format!("{}/{}", NAMES[0], NAMES[1])] {
            let filled = plain.replace("**", &deep).replace('*', NAMES[2]).replace('?', "q");
            // A plain name mostly means the one at the top, though it would match below.
            let is_anywhere = told.is_floating && filled != plain;
            paths.extend(is_anywhere.then(|| format!("{}/{filled}", NAMES[1])));
            paths.push(filled);
        }
    }
    // What it does not match after all is not a sample of it.
    let own = |paths: Vec<String>| -> Vec<String> {
        paths.into_iter().filter(|p| told.matches(p, &BTreeMap::new()).is_some()).collect()
    };
    let below = paths.iter().map(|p| format!("{p}/{}", NAMES[0])).collect();
    [own(paths), own(below)]
}

/// A glob once for each choice of its braces.
fn alternatives(glob: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(one) = open.pop() {
        let braces = one.split_once('{').and_then(|(front, rest)| Some((front, rest.split_once('}')?)));
        match braces {
            Some((front, (choices, back))) if open.len() + done.len() < MAX_SAMPLES => {
                open.extend(choices.split(',').map(|c| format!("{front}{c}{back}")).take(MAX_SAMPLES));
            }
            _ => done.push(one),
        }
    }
    done
}

/// The top-level folders that an entry names. A file at the top is in none.
fn of_areas(told: &Entry) -> Vec<String> {
    if told.path.is_empty() || told.is_prose() || told.broken.is_some() {
        return Vec::new();
    }
    let area = |path: String| {
        let (first, is_whole) =
            path.split_once('/').map_or((path.as_str(), true), |(first, _)| (first, false));
        // A lone name may be a file. Those mostly have a dot or a wildcard in them, or begin with a capital letter.
        let is_file = is_whole && (first.contains(['.', '*']) || first.starts_with(char::is_uppercase));
        let is_folder = told.text.ends_with('/') || !is_file;
        (is_folder && first != "**").then(|| first.to_owned())
    };
    alternatives(&told.path).into_iter().filter_map(area).collect()
}

/// A list field on one line.
fn field(label: &str, entries: &[String]) -> String {
    let list = entry::write(entries).or_else(|| entry::write(&[PLACE.to_owned()]));
    format!("- {label}: {}", list.unwrap_or_default())
}
