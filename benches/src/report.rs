//! The tables, and which goals were reached.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

/// Parts of `docs/evidence/performance.md` that the program writes. Each is between two lines with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// What a run measures.
    Measured,
    /// What a run with `--growth` measures.
    Growth,
}

impl Part {
    fn marks(self) -> [String; 2] {
        let name = match self {
            Part::Measured => "measured",
            Part::Growth => "growth",
        };
        ["begin", "end"].map(|word| format!("<!-- {name}: {word} -->"))
    }
}

/// What was found.
#[derive(Default)]
pub(crate) struct Report {
    text: String,
    goals: Vec<(String, String, Verdict)>,
    /// Goals that were missed, but for those that are known to be and no worse than that.
    pub(crate) broken: usize,
}

/// How a figure stands to its goal.
enum Verdict {
    Reached,
    Missed(String),
}

impl Report {
    /// A heading and the head of a table below it.
    pub(crate) fn table(&mut self, title: &str, columns: &str) {
        let line = "|---".repeat(columns.matches('|').count() + 1);
        self.say(&format!("\n### {title}\n\n| {columns} |\n{line}|"));
    }

    /// One row of the table that was begun last.
    pub(crate) fn row(&mut self, cells: &str) {
        self.say(&format!("| {cells} |"));
    }

    /// A line of text.
    pub(crate) fn note(&mut self, text: &str) {
        self.say(&format!("\n{text}"));
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
        // Shown at once: a run takes minutes.
        let _ = std::io::Write::write_all(&mut std::io::stdout(), format!("{text}\n").as_bytes());
    }

    /// A goal that wants at most this much.
    pub(crate) fn at_most(&mut self, goal: &str, most: f64, found: f64, unit: &str) {
        self.broken += usize::from(found > most);
        self.goal(goal, &format!("{}{unit}", short(found)), (found > most).then(|| over(most, found)));
    }

    /// A goal that is known to be missed, and why; `held` is what must not be passed all the same.
    pub(crate) fn known(&mut self, goal: &str, (most, held): (f64, f64), found: f64, unit: &str, why: &str) {
        self.broken += usize::from(found > held);
        let miss =
            (found > most).then(|| format!("{}: {why}; held at {}{unit}", over(most, found), short(held)));
        self.goal(goal, &format!("{}{unit}", short(found)), miss);
    }

    /// A goal that wants at least this much; why, where it is known to be missed.
    pub(crate) fn at_least(&mut self, goal: &str, least: f64, found: f64, unit: &str, why: &str) {
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        let miss = (found < least).then(|| format!("{:.0} % short{why}", (1.0 - found / least) * 100.0));
        self.goal(goal, &format!("{}{unit}", short(found)), miss);
    }

    fn goal(&mut self, goal: &str, found: &str, miss: Option<String>) {
        let verdict = miss.map_or(Verdict::Reached, Verdict::Missed);
        self.goals.push((goal.to_owned(), found.to_owned(), verdict));
    }

    /// A table of all goals.
    pub(crate) fn goals(&mut self) {
        self.table("Goals", "goal | measured | reached");
        let goals = std::mem::take(&mut self.goals);
        for (goal, found, verdict) in &goals {
            let word = match verdict {
                Verdict::Reached => "yes".to_owned(),
                Verdict::Missed(by) => format!("**no**, {by}"),
            };
            self.row(&format!("{goal} | {found} | {word}"));
        }
    }

    /// Puts everything into the page, between the two marks of a part.
    ///
    /// # Errors
    /// The page has no such marks, or cannot be written.
    pub(crate) fn write(&self, page: &Path, part: Part) -> Result<()> {
        let [begin, end] = part.marks();
        let old = fs::read_to_string(page)?;
        let (front, rest) = old.split_once(&begin).context("the page has no place for it")?;
        let (_, back) = rest.split_once(&end).context("the page has no place for it")?;
        fs::write(page, format!("{front}{begin}\n\n{}\n{end}{back}", self.text.trim()))?;
        Ok(())
    }
}

fn over(most: f64, found: f64) -> String {
    // Where nothing at all is wanted there is no share of it.
    if most > 0.0 { format!("{:.0} % over", (found / most - 1.0) * 100.0) } else { "over".into() }
}

/// A ratio or an amount with three digits that mean something.
pub(crate) fn short(n: f64) -> String {
    match n.abs() {
        a if a >= 100.0 => format!("{n:.0}"),
        a if a >= 10.0 => format!("{n:.1}"),
        _ => format!("{n:.2}"),
    }
}

/// On what, when, of which state of the source, and how busy.
pub(crate) fn circumstances(top: &Path) -> String {
    let first = |program: &str, args: &[&str]| {
        let out = Command::new(program).args(args).current_dir(top).output().ok()?;
        String::from_utf8_lossy(&out.stdout).lines().next().map(str::to_owned)
    };
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let commit = first("git", &["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let dirty =
        first("git", &["status", "--porcelain", "--", "shared", "bins", "benches", "Cargo.lock"]).is_some();
    let date = first("date", &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default();
    let info = file("/proc/cpuinfo");
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("unknown");
    let cores = info.lines().filter(|l| l.starts_with("processor")).count();
    let load = file("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    let kernel = file("/proc/sys/kernel/osrelease");
    let rust = first("rustc", &["--version"]).unwrap_or_default();
    let changed = if dirty { " with changes" } else { "" };
    format!(
        "Commit {commit}{changed}, {date}. {}, {cores} cores, Linux {}, {rust}. Load before: {load}.",
        model.trim_matches([' ', '\t', ':']),
        kernel.trim()
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn goals_say_by_how_much_and_the_page_keeps_its_own_text() {
        let mut report = Report::default();
        report.at_most("small", 2.0, 3.0, " times");
        report.at_least("big", 4.0, 3.0, "", "it is slow");
        report.at_most("fine", 2.0, 2.0, "");
        assert_eq!(report.broken, 1);
        report.known("large", (8.0, 12.0), 10.0, " MiB", "it is");
        assert_eq!(report.broken, 1);
        report.known("worse", (8.0, 12.0), 13.0, " MiB", "it is");
        assert_eq!(report.broken, 2);
        report.goals();
        for row in [
            "| small | 3.00 times | **no**, 50 % over |",
            "| big | 3.00 | **no**, 25 % short: it is slow |",
            "| fine | 2.00 | yes |",
            "| large | 10.0 MiB | **no**, 25 % over: it is; held at 12.0 MiB |",
        ] {
            assert!(report.text.contains(row), "{}", report.text);
        }
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("p.md");
        let [begin, end] = Part::Measured.marks();
        fs::write(&page, format!("above\n{begin}\nold\n{end}\nbelow\n")).unwrap();
        report.write(&page, Part::Measured).unwrap();
        report.write(&page, Part::Measured).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("above\n") && text.ends_with("\nbelow\n") && !text.contains("old"));
        assert_eq!(text.matches("fine").count(), 1);
        assert!(report.write(&page, Part::Growth).is_err(), "it has no such part");
    }
}
