//! What needs a person on another machine, as it is shown here: each command begins with ssh. Pure.

use super::{Need, Now};
use crate::explain::summary::{MAX_LINE, Summary};
use base::clip::printable;
use base::quote;
use base::time::Time;
use card::shell_word;

/// The cause of a need: a machine did not say how it stands.
pub const UNSEEN: &str = "host-unseen";

/// Most lines of a list of another machine.
const MAX_LINES: usize = 100;
/// Most bytes of a command, as it is shown. A terminal takes no longer line.
const MAX_COMMAND: usize = 4_000;

/// A shell line that runs there, as one that is typed here; where it cannot be shown as it is, the command that shows it there.
pub fn command(host: &str, line: &str) -> String {
    let ssh = |word: &str| format!("ssh {} {word}", shell_word(host));
    if line.len() > MAX_COMMAND {
        return ssh("watchbill status");
    }
    // In single quotes nothing is expanded here, also of what a person writes in the place of YOUR ANSWER.
    let shown = ssh(&shell_word(&printable(line)));
    // What is masked later could be the end of a quotation, and the rest of the line would run here. fish reads a backslash before a quote.
    let is_plain = shown.len() <= MAX_COMMAND
        && printable(&shown) == shown
        && !(line.contains('\\') && line.contains('\''));
    if is_plain { shown } else { ssh("watchbill status") }
}

/// Text of another machine in one bounded line, as our own is where it is made. No line of it looks like a command.
fn folded(text: &str) -> String {
    quote::line(text, MAX_LINE).trim_start_matches(['$', ' ']).to_owned()
}

fn fold(all: &mut Vec<String>) {
    all.truncate(MAX_LINES);
    all.iter_mut().for_each(|text| *text = folded(text));
}

/// What to do there: a command begins with ssh, a sentence with the machine.
fn todo(host: &str, text: &str) -> String {
    match text.starts_with("watchbill ") {
        true => command(host, text),
        false => format!("on {host}: {}", folded(text)),
    }
}

impl Need {
    /// What a machine said that it needs, under the name by which ssh knows that.
    pub fn of_host(self, host: &str) -> Need {
        Need {
            says: folded(&self.says),
            board: self.board.as_deref().map(folded),
            run: self.run.as_deref().map(|run| command(host, run)),
            todo: self.todo.as_deref().map(|text| todo(host, text)),
            ..self
        }
    }
}

impl Now {
    /// What a machine said of itself, under the name by which ssh knows it.
    pub fn of_host(mut self, host: &str) -> Now {
        for board in &mut self.boards {
            board.board = folded(&board.board);
            board.paused = board.paused.as_deref().map(folded);
            fold(&mut board.findings);
            fold(&mut board.unknown);
        }
        fold(&mut self.unknown);
        let needs = self.needs.into_iter().map(|need| need.of_host(host)).collect();
        Now { host: host.to_owned(), is_remote: true, needs, ..self }
    }

    /// A machine that did not say how it stands, and what to do about it.
    pub fn unseen(host: &str, says: &str, todo: &str, now: Time, since: Time) -> Now {
        let need = Need {
            key: format!("{UNSEEN}:{host}"),
            cause: UNSEEN.to_owned(),
            says: says.to_owned(),
            todo: Some(todo.to_owned()),
            ..Need::default()
        };
        let (needs, host) = (vec![need], host.to_owned());
        Now { now, since, host, needs, boards: Vec::new(), unknown: Vec::new(), is_remote: true }
    }

    /// Whether this is a machine that did not say how it stands.
    pub fn is_unseen(&self) -> bool {
        self.is_remote && self.needs.iter().any(|need| need.cause == UNSEEN)
    }
}

impl Summary {
    /// What a machine said of one of its boards, under the name by which ssh knows that machine, when it was `now` there.
    pub fn of_host(mut self, host: &str, now: Time) -> Summary {
        let lists = [&mut self.needs_you, &mut self.waiting, &mut self.healed, &mut self.left_alone];
        for entry in lists.into_iter().flatten() {
            (entry.title, entry.says) = (folded(&entry.title).into(), folded(&entry.says).into());
            entry.task = folded(&entry.task);
            entry.more = entry.more.as_deref().map(|more| folded(more).into());
            if let Some(to) = &mut entry.command {
                (to.run, to.to) = (command(host, &to.run), folded(&to.to));
            }
        }
        fold(&mut self.findings);
        fold(&mut self.unknown);
        let (board, paused) =
            (format!("{host}: {}", folded(&self.board)), self.paused.as_deref().map(folded));
        Summary { board, paused, now, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_for_another_machine_is_one_word_of_ssh_and_stays_readable() {
        let cases = [
            ("hermes kanban unblock t_1", "ssh moon 'hermes kanban unblock t_1'"),
            (
                "hermes kanban comment t_1 'YOUR ANSWER' && hermes kanban unblock t_1",
                r"ssh moon 'hermes kanban comment t_1 '\''YOUR ANSWER'\'' && hermes kanban unblock t_1'",
            ),
            (
                "for id in t_1 t_2; do board unblock \"$id\"; done",
                "ssh moon 'for id in t_1 t_2; do board unblock \"$id\"; done'",
            ),
            (
                "board comment t_1 'no' --author \"$USER\"",
                r#"ssh moon 'board comment t_1 '\''no'\'' --author "$USER"'"#,
            ),
        ];
        for (line, want) in cases {
            assert_eq!(command("moon", line), want);
        }
        assert_eq!(command("a b", "x"), "ssh 'a b' x");
        assert_eq!(todo("moon", "watchbill timers install"), "ssh moon 'watchbill timers install'");
        assert_eq!(todo("moon", "start the gateway"), "on moon: start the gateway");
    }

    /// A machine cannot fill the screen here.
    #[test]
    fn a_command_that_no_terminal_takes_is_not_shown() {
        let ids = |n: usize| format!("hermes kanban unblock{}", " t_12345678".repeat(n));
        assert_eq!(command("moon", &ids(300)), format!("ssh moon '{}'", ids(300)));
        for line in [ids(400), "'".repeat(2_000), "a".repeat(4 << 20)] {
            assert_eq!(command("moon", &line), "ssh moon watchbill status");
        }
    }

    /// Nothing that another machine says runs here.
    #[test]
    fn a_hostile_line_stays_one_word() {
        let key = format!("sk-ant-api03-{}", "abcdefghij".repeat(9));
        let lines = [
            "'; touch here; '",
            "$(touch here)",
            "x'\"; touch here; \"'",
            "`touch here`",
            "a\\",
            "!\\'; touch here; echo \\'",
            "'!!'",
            "a\u{1b}\nb",
        ];
        let keys = [
            "'token=KEY\"; touch here; \"",
            "'KEY\\\"; touch here; \"'",
            "KEY'; touch here; '",
            "password='KEY; touch here",
        ];
        let keys = keys.map(|line| line.replace("KEY", &key));
        for line in lines.into_iter().chain(keys.iter().map(String::as_str)) {
            // As the screen shows it.
            let said = printable(&command("moon", line));
            let script = format!("ssh() {{ printf '%s' \"$#\"; }}\n{said}");
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            let words = if said == "ssh moon watchbill status" { "3" } else { "2" };
            assert_eq!(
                (String::from_utf8(out.stdout).unwrap().as_str(), out.stderr.len()),
                (words, 0),
                "{said}"
            );
            assert!(!said.contains(&key) && !said.contains(char::is_control), "{said}");
        }
    }
}
