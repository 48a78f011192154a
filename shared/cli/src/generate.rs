//! `--generate`: the manual page and the completions of a program, out of the same declarations its flags are parsed by.
//! Packagers call it, so no help shows it.

use std::ffi::OsString;

use clap::Command;
use clap_complete::aot::{Shell, generate};
use clap_mangen::Man;

use base::error::{Error, Kind, Result};

/// What can be made.
const KINDS: &str = "man, man SUBCOMMAND, complete-bash, complete-zsh or complete-fish";

/// What was asked for with these arguments; `None` where they ask for something else.
pub(super) fn asked(command: &Command, arguments: &[OsString]) -> Option<Result<Vec<u8>>> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    if words.next()? != "--generate" {
        return None;
    }
    let (kind, of) = (words.next().unwrap_or_default(), words.next());
    Some(made(command.clone(), kind, of))
}

fn made(mut command: Command, kind: &str, of: Option<&str>) -> Result<Vec<u8>> {
    let name = command.get_name().to_owned();
    let wrong =
        |at: String| Err(Error::new(Kind::Usage, at, "not a known kind").hint(format!("give {KINDS}")));
    let shell = match (kind, of) {
        ("man", of) => {
            command.build();
            let Some(of) = of else { return page(command, &name) };
            let Some(sub) = command.find_subcommand(of).cloned() else {
                return wrong(format!("--generate man {of}"));
            };
            return page(sub, &format!("{name}-{of}"));
        }
        ("complete-bash", None) => Shell::Bash,
        ("complete-zsh", None) => Shell::Zsh,
        ("complete-fish", None) => Shell::Fish,
        _ => return wrong(format!("--generate {kind}")),
    };
    let mut text = Vec::new();
    generate(shell, &mut shown(&command), name, &mut text);
    Ok(text)
}

/// A command without what its help does not show: completions would.
fn shown(command: &Command) -> Command {
    // It lives as long as the one line that is made of it.
    let mut shown = Command::new(&*command.get_name().to_owned().leak());
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(&*version.to_owned().leak());
    }
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let below: Vec<Command> = below.map(self::shown).collect();
    shown.args(command.get_arguments().cloned()).groups(command.get_groups().cloned()).subcommands(below)
}

fn page(command: Command, name: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    // The date of a page would make it another one every day.
    let man = Man::new(command).title(name).section("1").date("").manual("Watchbill");
    man.render(&mut text).map_err(|e| Error::io("the manual page", &e))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_with(arguments: &[&str]) -> Option<Result<String>> {
        let command = Command::new("lamp")
            .version("1")
            .subcommand(Command::new("light").arg(clap::arg!(--wick <MM> "how long")));
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Some(asked(&command, &arguments)?.map(|text| String::from_utf8(text).unwrap()))
    }

    #[test]
    fn pages_and_completions() {
        for (arguments, has) in [
            (&["lamp", "--generate", "man"][..], "lamp-light(1)"),
            (&["lamp", "--generate", "man", "light"], "wick"),
            (&["lamp", "--generate", "complete-bash"], "_lamp()"),
            (&["lamp", "--generate", "complete-zsh"], "#compdef lamp"),
            (&["lamp", "--generate", "complete-fish"], "complete -c lamp"),
        ] {
            let text = asked_with(arguments).unwrap().unwrap();
            assert!(text.replace("\\-", "-").contains(has), "{arguments:?}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_made_is_refused_and_nothing_else_is_meant() {
        for arguments in [
            &["lamp", "--generate"][..],
            &["lamp", "--generate", "html"],
            &["lamp", "--generate", "man", "snuff"],
            &["lamp", "--generate", "complete-bash", "light"],
        ] {
            let e = asked_with(arguments).unwrap().unwrap_err();
            assert_eq!(e.kind, Kind::Usage, "{arguments:?}");
        }
        assert!(asked_with(&["lamp"]).is_none());
        assert!(asked_with(&["lamp", "light", "--generate"]).is_none());
    }
}
