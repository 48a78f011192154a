//! Which watcher a command line starts, whether it stands in a crontab or in a unit.

use std::path::{Path, PathBuf};

use super::{SESSIONS, WATCHED};

/// What a line starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) program: &'static str,
    /// The file of `--metrics`, where it names a whole path.
    pub(super) metrics: Option<PathBuf>,
    /// Its `HERMES_HOME`, where the line sets it.
    pub(super) root: Option<String>,
}

/// The user of a line of `/etc/crontab` or `/etc/cron.d` (crontab(5)): the word behind the five of the time, or behind `@daily`
/// and the like.
pub(super) fn user(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let before = if line.trim_start().starts_with('@') { 1 } else { 5 };
    words.nth(before)
}

/// The value of a variable that a word sets.
pub(super) fn set<'a>(words: impl IntoIterator<Item = &'a String>, variable: &str) -> Option<String> {
    words.into_iter().find_map(|w| w.strip_prefix(variable)?.strip_prefix('=')).map(str::to_owned)
}

/// Reads a line; `None` for a comment, and for one that starts none of our watchers.
pub(super) fn job(line: &str, home: Option<&Path>) -> Option<Job> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let words = words(line);
    let detects = |at: usize| words[at..].iter().any(|word| word == "detect");
    let named = |at: usize, word: &String| {
        let name = word.rsplit('/').next()?;
        let sessions = (name == "coord" && detects(at)).then_some(SESSIONS.program);
        WATCHED.iter().map(|w| w.program).find(|p| *p == name).or(sessions)
    };
    let (at, program) = words.iter().enumerate().find_map(|(i, word)| Some((i, named(i, word)?)))?;
    let rest = &words[at..];
    let metrics = rest.iter().position(|w| w == "--metrics").and_then(|i| rest.get(i + 1));
    let metrics = metrics.map(|path| whole(path, home)).filter(|p| p.is_absolute());
    let root = set(&words, "HERMES_HOME").map(|path| whole(&path, home).display().to_string());
    Some(Job { program, metrics, root })
}

fn whole(path: &str, home: Option<&Path>) -> PathBuf {
    let beneath = ["$HOME/", "${HOME}/", "%h/"].iter().find_map(|p| path.strip_prefix(p));
    match (beneath, home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// The words of a line as a shell would have them, as far as that is needed here: quotes are taken off, `;`, `(`, `)`, `|`
/// and `&` end a word.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => word.extend(chars.next()),
            (c, Some(_)) => word.push(c),
            ('"' | '\'', None) => quote = Some(c),
            (c, None) if c.is_whitespace() || ";()|&".contains(c) => all.push(std::mem::take(&mut word)),
            (c, None) => word.push(c),
        }
    }
    all.push(word);
    // `sh -c '...'` has all of it in one word.
    all.into_iter().filter(|w| !w.is_empty()).flat_map(inner).collect()
}

fn inner(word: String) -> Vec<String> {
    if !word.contains(char::is_whitespace) || !word.contains(';') {
        return vec![word];
    }
    word.split([' ', ';', '\t']).map(|w| w.trim_matches('"').to_owned()).filter(|w| !w.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_programs_are_found_in_whatever_starts_them() {
        let home = Path::new("/home/anna");
        let none = || None::<&str>;
        for (line, program, metrics) in [
            ("*/2 * * * * heal", Some("heal"), none()),
            ("*/2 * * * * root /usr/local/bin/heal -q", Some("heal"), none()),
            ("ExecStart=/usr/bin/env PATH=/usr/bin heal", Some("heal"), none()),
            ("/opt/w/watchbill route-blocked --metrics /s/r.prom", Some("route-blocked"), Some("/s/r.prom")),
            ("'/opt/my w/watchbill' heal --metrics '/my s/h.prom'", Some("heal"), Some("/my s/h.prom")),
            (
                r#"out=$(PATH="$HOME/bin:$PATH" heal --metrics "$HOME/m/heal.prom" 2>&1); [ $? -eq 75 ]"#,
                Some("heal"),
                Some("/home/anna/m/heal.prom"),
            ),
            (
                r#"/bin/sh -c 'export PATH=%h/.cargo/bin; exec budget-check -q --html "$${S:-x}/b.html"'"#,
                Some("budget-check"),
                None,
            ),
            ("*/2 * * * * heal --metrics here.prom", Some("heal"), None),
            ("* * * * * coord --board b detect --record -q", Some("coord-detect"), None),
            ("/usr/bin/watchbill coord detect", Some("coord-detect"), None),
            ("* * * * * coord status", None, None),
            ("# */2 * * * * heal", None, None),
            ("@reboot healthy --heal", None, None),
            ("", None, None),
        ] {
            let want = program.map(|program| (program, metrics.map(PathBuf::from)));
            let found = job(line, Some(home)).map(|j| (j.program, j.metrics));
            assert_eq!(found, want, "{line}");
        }
    }

    #[test]
    fn who_a_line_runs_as_and_on_which_root() {
        for (line, who, root) in [
            ("*/2 * * * * agents HERMES_HOME=/srv/h heal", Some("agents"), Some("/srv/h")),
            ("@hourly root HERMES_HOME='/srv/my h' heal", Some("root"), Some("/srv/my h")),
            (
                r#"*/2 * * * * bo out=$(HERMES_HOME="$HOME/.hermes" heal)"#,
                Some("bo"),
                Some("/home/bo/.hermes"),
            ),
            ("* * * *", None, None),
        ] {
            assert_eq!(user(line), who, "{line}");
            let found = job(line, Some(Path::new("/home/bo"))).and_then(|j| j.root);
            assert_eq!(found.as_deref(), root, "{line}");
        }
    }
}
