//! Which watcher a command line starts, whether it stands in a crontab or in a unit.

use std::path::{Path, PathBuf};

use super::{NOTIFY, RUN, SESSIONS, WATCHED};

/// What a line starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) program: &'static str,
    /// The file of `--metrics`, where it names a whole path.
    pub(super) metrics: Option<PathBuf>,
    /// Its `HERMES_HOME`, where the line sets it.
    pub(super) root: Option<String>,
    /// Whether it is one of those that `watchbill run` starts.
    pub(super) round: bool,
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

/// What a line starts; nothing for a comment, and for one that starts none of our watchers.
pub(super) fn jobs(line: &str, home: Option<&Path>) -> Vec<Job> {
    let line = line.trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let words = words(line);
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let detects = |at: usize| words[at..].iter().any(|word| word == "detect");
    let named = |at: usize, word: &String| {
        let name = name(word);
        let sessions = (name == "coord" && detects(at)).then_some(SESSIONS.program);
        let tells = name == "watchbill" && words.get(at + 1).is_some_and(|word| word == NOTIFY.program);
        let tells = tells.then_some(NOTIFY.program);
        WATCHED.iter().map(|w| w.program).find(|p| *p == name).or(sessions).or(tells)
    };
    let metrics = |at: usize| {
        let rest = &words[at..];
        let path = rest.iter().position(|w| w == "--metrics").and_then(|i| rest.get(i + 1));
        path.map(|path| whole(path, home)).filter(|p| p.is_absolute())
    };
    let root = set(&words, "HERMES_HOME").map(|path| whole(&path, home).display().to_string());
    let runs = |pair: &[String]| name(&pair[0]) == "watchbill" && pair[1] == RUN.program;
    if let Some(at) = words.windows(2).position(runs) {
        let folder = metrics(at);
        let one = |program: &'static str| {
            let metrics = folder.as_ref().map(|folder| folder.join(format!("{program}.prom")));
            Job { program, metrics, root: root.clone(), round: true }
        };
        return WATCHED.iter().map(|w| one(w.program)).collect();
    }
    let found = words.iter().enumerate().find_map(|(i, word)| Some((i, named(i, word)?)));
    let one = |(at, program)| Job { program, metrics: metrics(at), root, round: false };
    found.map(one).into_iter().collect()
}

/// The state folder of the shipped units, which is one thing for a user, whose home is known, and another for the system.
const STATE: &str = "$${STATE_DIRECTORY:-%h/";
const SYSTEM_STATE: &str = "/var/lib/watchbill";

fn whole(path: &str, home: Option<&Path>) -> PathBuf {
    if let Some((below, rest)) = path.strip_prefix(STATE).and_then(|rest| rest.split_once('}')) {
        let folder = home.map_or_else(|| PathBuf::from(SYSTEM_STATE), |home| home.join(below));
        return folder.join(rest.trim_start_matches('/'));
    }
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
            let found = jobs(line, Some(home)).into_iter().map(|j| (j.program, j.metrics));
            assert_eq!(found.collect::<Vec<_>>(), want.into_iter().collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn a_round_starts_every_watcher() {
        let home = Path::new("/home/anna");
        let unit = r#"/bin/sh -c 'export PATH=/usr/bin; exec watchbill run --metrics "$${STATE_DIRECTORY:-%h/.local/state/watchbill}/metrics"'"#;
        for (line, home, folder) in [
            ("*/2 * * * * watchbill run", Some(home), None),
            ("*/2 * * * * out=$(/opt/w/watchbill run --db /b --metrics /s/m 2>&1)", Some(home), Some("/s/m")),
            (unit, Some(home), Some("/home/anna/.local/state/watchbill/metrics")),
            (unit, None, Some("/var/lib/watchbill/metrics")),
        ] {
            let found = jobs(line, home);
            assert!(found.iter().all(|j| j.round), "{line}");
            let found: Vec<_> = found.into_iter().map(|j| (j.program, j.metrics)).collect();
            let file = |name: &str| folder.map(|f| Path::new(f).join(format!("{name}.prom")));
            let want: Vec<_> = WATCHED.iter().map(|w| (w.program, file(w.program))).collect();
            assert_eq!(found, want, "{line}");
        }
        for line in ["board run --assignee luna -- claude", "cargo run", "watchbill report", "#watchbill run"]
        {
            assert_eq!(jobs(line, Some(home)), [], "{line}");
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
            let found = jobs(line, Some(Path::new("/home/bo"))).into_iter().find_map(|j| j.root);
            assert_eq!(found.as_deref(), root, "{line}");
        }
    }
}
