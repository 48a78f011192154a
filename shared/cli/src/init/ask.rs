//! Questions at a terminal, one line each.

use std::io::{BufRead, Write};

use base::count::first_few;
use base::error::{Error, Kind, Result};
use base::wrap::wrapped;
use ops::report::printable;

/// A terminal, or what stands for one in a test.
pub(super) struct Terminal<R, W> {
    pub(super) answers: R,
    pub(super) questions: W,
}

impl<R: BufRead, W: Write> Terminal<R, W> {
    /// Says something.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        let said = self.questions.write_all(text.as_bytes()).and_then(|()| self.questions.flush());
        said.map_err(|e| Error::io("stdout", &e))
    }

    /// Asks until the answer can be read. An empty answer is handed in as well.
    pub(super) fn ask<T>(
        &mut self,
        question: &str,
        read: impl Fn(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        loop {
            let lines = question.lines().map(|line| wrapped("", &printable(line))).collect::<String>();
            self.say(&format!("{} ", lines.trim_end()))?;
            let mut line = Vec::new();
            let got = self.answers.read_until(b'\n', &mut line).map_err(|e| Error::io("stdin", &e))?;
            if got == 0 {
                self.say("\n")?;
                return Err(Error::new(Kind::Usage, "stdin", "ended before the last answer")
                    .hint("nothing was changed; --yes asks nothing"));
            }
            let said = std::str::from_utf8(&line).map_err(|_| "write it as UTF-8".to_owned());
            match said.and_then(|line| read(line.trim())) {
                Ok(answer) => return Ok(answer),
                Err(why) => self.say(&wrapped("  ", &printable(&why)))?,
            }
        }
    }

    /// Asks for yes or no; Enter is yes.
    pub(super) fn is_yes(&mut self, question: &str) -> Result<bool> {
        self.ask(&format!("{question} [Y/n]"), |line| match line.to_lowercase().as_str() {
            "" | "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err("write y or n".into()),
        })
    }
}

/// Names with commas or spaces between them.
pub(super) fn names(line: &str) -> Vec<String> {
    line.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// So many names are listed as they are; more have numbers.
const FEW: usize = 8;
/// Most names of one question, or of one line about several.
const MANY: usize = 24;

/// The names that may be chosen, as part of a question: `sol, nova`, or where they are many `1 sol, 2 nova, ...`.
pub(super) fn choices(of: &[String]) -> String {
    let numbered = |(n, name): (usize, &String)| match of.len() {
        0..=FEW => name.clone(),
        _ => format!("{} {name}", n + 1),
    };
    first_few(MANY, of.iter().enumerate().map(numbered))
}

/// Names that are only told, the first few of them.
pub(super) fn some(names: &[String]) -> String {
    first_few(FEW, names.iter())
}

/// The names of an answer. Where they have numbers, a number stands for its name, unless a profile is called so.
pub(super) fn chosen(line: &str, of: &[String]) -> std::result::Result<Vec<String>, String> {
    let one = |word: String| match word.parse::<usize>() {
        Ok(n) if of.len() > FEW && !of.contains(&word) => {
            let named = n.checked_sub(1).and_then(|at| of.get(at)).cloned();
            named.ok_or_else(|| format!("there is no number {n}; write 1 to {}, or a name", of.len()))
        }
        _ => Ok(word),
    };
    names(line).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_have_numbers_and_do_not_fill_the_screen() {
        let all = |n: usize| (1..=n).map(|n| format!("agent-{n}")).collect::<Vec<_>>();
        assert_eq!(choices(&all(2)), "agent-1, agent-2");
        assert_eq!(chosen("2", &all(2)), Ok(vec!["2".to_owned()]), "few have no numbers");
        assert!(choices(&all(9)).starts_with("1 agent-1, 2 agent-2, "));
        assert!(choices(&all(200)).ends_with(", 24 agent-24 and 176 more"));
        assert!(some(&all(200)).ends_with("agent-8 and 192 more"));
        assert_eq!(
            chosen("3, agent-200 150", &all(200)),
            Ok(["agent-3", "agent-200", "agent-150"].map(str::to_owned).into())
        );
        for line in ["0", "201"] {
            assert!(chosen(line, &all(200)).is_err_and(|why| why.contains("write 1 to 200, or a name")));
        }
        let mut odd = all(9);
        odd[8] = "1".into();
        assert_eq!(chosen("1", &odd), Ok(vec!["1".to_owned()]), "a name comes first");
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_asked_for_again() {
        let mut said = Vec::new();
        let mut terminal = Terminal { answers: &b"perhaps\n\xff\nNo\n"[..], questions: &mut said };
        assert_eq!(terminal.is_yes("Go on?"), Ok(false));
        let why = terminal.is_yes("Go on?").unwrap_err();
        assert_eq!((why.kind, why.at.as_str()), (Kind::Usage, "stdin"));
        let said = String::from_utf8(said).unwrap();
        assert_eq!(
            said,
            "Go on? [Y/n]   write y or n\nGo on? [Y/n]   write it as UTF-8\nGo on? [Y/n] Go on? [Y/n] \n"
        );
    }

    #[test]
    fn a_long_question_breaks_between_words() {
        let mut said = Vec::new();
        let mut terminal = Terminal { answers: "\n".as_bytes(), questions: &mut said };
        let names = (1..=30).map(|n| format!("agent-moon-{n}")).collect::<Vec<_>>().join(", ");
        terminal.ask(&format!("Who?\n  one or more of {names}:"), |_| Ok(())).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.starts_with("Who?\n  one or more of agent-moon-1, ") && said.ends_with("-30: "),
            "{said}"
        );
        assert!(said.lines().all(|line| line.len() <= 81), "{said}");
        assert!(said.lines().skip(2).all(|line| line.starts_with("    agent-moon-")), "{said}");
    }

    #[test]
    fn enter_is_yes() {
        for (line, want) in [("\n", true), ("y\n", true), ("YES\n", true), ("n\n", false)] {
            let mut terminal = Terminal { answers: line.as_bytes(), questions: Vec::new() };
            assert_eq!(terminal.is_yes("Go on?"), Ok(want), "{line:?}");
        }
    }

    #[test]
    fn names_stand_between_commas_and_spaces() {
        assert_eq!(names(" sol, nova iris,"), ["sol", "nova", "iris"]);
        assert_eq!(names(""), [""; 0]);
    }
}
