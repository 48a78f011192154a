//! The tables, and which goals were reached.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::Result;

/// Between these two lines of `docs/performance.md` everything is written by the program.
const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// What was found.
#[derive(Default)]
pub(crate) struct Report {
    text: String,
    goals: Vec<(String, String, Verdict)>,
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
        let miss = format!("{:.0} % over", (found / most - 1.0) * 100.0);
        self.goal(goal, &format!("{}{unit}", short(found)), found <= most, miss);
    }

    /// A goal that wants at least this much.
    pub(crate) fn at_least(&mut self, goal: &str, least: f64, found: f64, unit: &str) {
        let miss = format!("{:.0} % short", (1.0 - found / least) * 100.0);
        self.goal(goal, &format!("{}{unit}", short(found)), found >= least, miss);
    }

    fn goal(&mut self, goal: &str, found: &str, reached: bool, miss: String) {
        let verdict = if reached { Verdict::Reached } else { Verdict::Missed(miss) };
        self.goals.push((goal.to_owned(), found.to_owned(), verdict));
    }

    /// How many goals were missed, after a table of all.
    pub(crate) fn goals(&mut self) -> usize {
        self.table("Goals", "goal | measured | reached");
        let goals = std::mem::take(&mut self.goals);
        let mut missed = 0;
        for (goal, found, verdict) in &goals {
            let word = match verdict {
                Verdict::Reached => "yes".to_owned(),
                Verdict::Missed(by) => format!("**no**, {by}"),
            };
            missed += usize::from(word != "yes");
            self.row(&format!("{goal} | {found} | {word}"));
        }
        missed
    }

    /// Puts everything into the page, between its two marks.
    ///
    /// # Errors
    /// The page has no such marks, or cannot be written.
    pub(crate) fn write(&self, page: &Path) -> Result<()> {
        let old = fs::read_to_string(page)?;
        let (front, rest) = old.split_once(BEGIN).ok_or("the page has no place for it")?;
        let (_, back) = rest.split_once(END).ok_or("the page has no place for it")?;
        fs::write(page, format!("{front}{BEGIN}\n\n{}\n{END}{back}", self.text.trim()))?;
        Ok(())
    }
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
        report.at_least("big", 4.0, 3.0, "");
        report.at_most("fine", 2.0, 2.0, "");
        assert_eq!(report.goals(), 2);
        for row in [
            "| small | 3.00 times | **no**, 50 % over |",
            "| big | 3.00 | **no**, 25 % short |",
            "| fine | 2.00 | yes |",
        ] {
            assert!(report.text.contains(row), "{}", report.text);
        }
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("p.md");
        fs::write(&page, format!("above\n{BEGIN}\nold\n{END}\nbelow\n")).unwrap();
        report.write(&page).unwrap();
        report.write(&page).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("above\n") && text.ends_with("\nbelow\n") && !text.contains("old"));
        assert_eq!(text.matches("fine").count(), 1);
        fs::write(&page, "nothing").unwrap();
        assert!(report.write(&page).is_err());
    }
}
