//! Lines that fit a terminal.

/// Columns of a line where the terminal is not asked.
const WIDE: usize = 80;

/// A sentence as lines of 80 columns that are indented like this, and two columns more behind the first. Its own indentation stays.
pub fn wrapped(indent: &str, sentence: &str) -> String {
    wrapped_to(WIDE, indent, sentence)
}

/// The same for another width.
pub fn wrapped_to(wide: usize, indent: &str, sentence: &str) -> String {
    if indent.chars().count() + sentence.chars().count() <= wide {
        return format!("{}\n", format!("{indent}{sentence}").trim_end());
    }
    let own = sentence.len() - sentence.trim_start().len();
    let first = format!("{indent}{}", &sentence[..own]);
    folded(wide, &first, &format!("{first}  "), sentence)
}

/// The words of a sentence in lines of this width. The first line begins like this, and the others begin like that.
pub fn folded(wide: usize, first: &str, next: &str, sentence: &str) -> String {
    let mut line = first.to_owned();
    let (mut out, mut is_empty) = (String::new(), true);
    for word in sentence.split_whitespace() {
        let is_full = line.chars().count() + word.chars().count() + usize::from(!is_empty) > wide;
        if is_full && !is_empty {
            out.push_str(&line);
            out.push('\n');
            next.clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    format!("{out}{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_goes_over_several_lines_of_80_columns() {
        let said = wrapped("  ", &format!("    $ {}", "word ".repeat(40)));
        assert!(said.lines().count() == 3 && said.lines().all(|l| l.chars().count() <= WIDE), "{said}");
        assert!(
            said.starts_with("      $ word") && said.lines().nth(1).unwrap().starts_with("        word"),
            "{said}"
        );
        assert_eq!((wrapped("  ", "").as_str(), wrapped("", "one").as_str()), ("\n", "one\n"));
    }
}
