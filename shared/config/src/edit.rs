//! Adds keys to the text of a configuration file. What stands there already stays as it is, comments and order included.

use std::path::Path;

use toml::{Table, Value};

use super::{Config, Loaded, merge, tables};
use base::error::{Error, Kind, Result};

/// A key that is to be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    /// The table it stands in, from the outside in, such as `["profiles", "luna"]`.
    pub table: Vec<String>,
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub value: Value,
}

impl Addition {
    /// A key of a table.
    pub fn new(table: &[&str], key: &'static str, value: impl Into<Value>) -> Addition {
        Addition { table: table.iter().map(|&name| name.to_owned()).collect(), key, value: value.into() }
    }

    /// `key = value`, as it stands in the file.
    fn line(&self) -> String {
        format!("{} = {}\n", self.key, self.value)
    }

    /// `[table]`, as it stands in the file.
    fn header(&self) -> String {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = |name: &String| match name.chars().all(is_bare) && !name.is_empty() {
            true => name.clone(),
            false => Value::String(name.clone()).to_string(),
        };
        format!("[{}]\n", self.table.iter().map(name).collect::<Vec<_>>().join("."))
    }
}

/// The lines that say these things in a file of their own.
pub fn lines(additions: &[Addition]) -> String {
    put_all("", additions)
}

/// The text of the file `path` with all of these in it.
///
/// # Errors
/// [`Kind::Config`]: the text is not a valid configuration, before or afterwards; or a key cannot be added to it line by line, as where
/// it is set already or its table is written as `{ ... }`.
pub fn add(path: &Path, text: &str, additions: &[Addition]) -> Result<String> {
    let mut wanted = parsed(path, text)?;
    for one in additions {
        let set = table_of(&mut wanted, &one.table).map(|t| t.insert(one.key.to_owned(), one.value.clone()));
        if !matches!(set, Some(None)) {
            return Err(by_hand(path, additions));
        }
    }
    let new = put_all(text, additions);
    // Whatever the text looks like: what it says now is what it said before, and these keys.
    if toml::from_str::<Table>(&new).ok() != Some(wanted) {
        return Err(by_hand(path, additions));
    }
    parsed(path, &new).map(|_| new)
}

/// What a text says, where it is a valid configuration. Whether it contradicts another file is seen when both are loaded.
fn parsed(path: &Path, text: &str) -> Result<Table> {
    let mut loaded = Loaded { config: Config::default(), origin: Default::default() };
    merge::toml(&mut loaded, path, text)?;
    tables::whole(&loaded)?;
    toml::from_str(text).map_err(|e| Error::new(Kind::Config, path.display(), e.message()))
}

fn by_hand(path: &Path, additions: &[Addition]) -> Error {
    let lines = lines(additions).trim_end().replace("\n\n", "\n").replace('\n', "; ");
    Error::new(Kind::Config, path.display(), "these keys cannot be added to it line by line")
        .hint(format!("write them by hand: {lines}"))
}

fn table_of<'t>(whole: &'t mut Table, names: &[String]) -> Option<&'t mut Table> {
    names.iter().try_fold(whole, |table, name| {
        table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
    })
}

fn put_all(text: &str, additions: &[Addition]) -> String {
    additions.chunk_by(|a, b| a.table == b.table).fold(text.to_owned(), |text, keys| put(&text, keys))
}

/// Writes keys of one table right behind its header, and all of it at the end where there is no such table.
fn put(text: &str, keys: &[Addition]) -> String {
    let Some(first) = keys.first() else { return text.to_owned() };
    let lines = keys.iter().map(Addition::line).collect::<String>();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if is_header(line, &first.table) {
            let gap = if line.ends_with('\n') { "" } else { "\n" };
            return [&text[..end], gap, &lines, &text[end..]].concat();
        }
        start = end;
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    [text, gap, &first.header(), &lines].concat()
}

/// Whether a line opens this table.
fn is_header(line: &str, table: &[String]) -> bool {
    let line = line.trim_start();
    if !line.starts_with('[') || line.starts_with("[[") {
        return false;
    }
    let Ok(mut rest) = toml::from_str::<Table>(line) else { return false };
    for name in table {
        rest = match rest.remove(name) {
            Some(Value::Table(inner)) if rest.is_empty() => inner,
            _ => return false,
        };
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/etc/watchbill/config.toml";

    fn added(text: &str, additions: &[Addition]) -> Result<String> {
        add(Path::new(FILE), text, additions)
    }

    fn fallbacks(of: &str, to: &[&str]) -> Addition {
        let to = to.iter().map(|&name| Value::from(name)).collect::<Vec<_>>();
        Addition::new(&["profiles", of], "fallbacks", to)
    }

    #[test]
    fn a_new_file_has_a_table_for_each() {
        let all =
            [Addition::new(&["distress"], "orchestrator", "tuesday"), fallbacks("luna", &["sol", "nova"])];
        let want =
            "[distress]\norchestrator = \"tuesday\"\n\n[profiles.luna]\nfallbacks = [\"sol\", \"nova\"]\n";
        assert_eq!(added("", &all).unwrap(), want);
        assert_eq!(lines(&all), want);
    }

    #[test]
    fn keys_of_one_table_stand_in_their_order() {
        let table = ["notify", "ntfy"];
        let all = [
            Addition::new(&table, "url", "https://ntfy.example/t"),
            Addition::new(&table, "format", "ntfy"),
            fallbacks("luna", &["sol"]),
        ];
        let keys = "url = \"https://ntfy.example/t\"\nformat = \"ntfy\"\n";
        let rest = "\n[profiles.luna]\nfallbacks = [\"sol\"]\n";
        assert_eq!(added("", &all).unwrap(), format!("[notify.ntfy]\n{keys}{rest}"));
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let sol = [fallbacks("luna", &["sol"])];
        for (text, want) in [
            ("# mine\n", "# mine\n\n[profiles.luna]\nfallbacks = [\"sol\"]\n"),
            ("[heal]\ngrace = \"5m\"", "[heal]\ngrace = \"5m\"\n\n[profiles.luna]\nfallbacks = [\"sol\"]\n"),
            (
                "[profiles.luna] # the night's\nmodel = \"m\"\n[heal]\n",
                "[profiles.luna] # the night's\nfallbacks = [\"sol\"]\nmodel = \"m\"\n[heal]\n",
            ),
            (
                " [ profiles . \"luna\" ]\n[profiles.nova]\n",
                " [ profiles . \"luna\" ]\nfallbacks = [\"sol\"]\n[profiles.nova]\n",
            ),
            ("[profiles.luna]", "[profiles.luna]\nfallbacks = [\"sol\"]\n"),
            (
                "[profiles.nova]\nmodel = \"m\"\n",
                "[profiles.nova]\nmodel = \"m\"\n\n[profiles.luna]\nfallbacks = [\"sol\"]\n",
            ),
        ] {
            assert_eq!(added(text, &sol).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_added_line_by_line_is_left_to_a_person() {
        let sol = [fallbacks("luna", &["sol"])];
        for text in [
            "[profiles.luna]\nfallbacks = [\"nova\"]\n",
            "profiles = { luna = { model = \"m\" } }\n",
            "[profiles]\nluna = { model = \"m\" }\n",
            "profiles.luna.model = \"m\"\n",
            "[notify.x]\ncommand = [\"\"\"\n[profiles.luna]\n\"\"\"]\n",
        ] {
            let e = added(text, &sol).unwrap_err();
            assert_eq!(e.kind, Kind::Config, "{text}");
            assert_eq!(
                e.hint.as_deref(),
                Some("write them by hand: [profiles.luna]; fallbacks = [\"sol\"]"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_configuration_that_is_not_valid_is_not_touched() {
        let e = added("[heal]\ngrase = \"5m\"\n", &[fallbacks("luna", &["sol"])]).unwrap_err();
        assert!(e.what.contains("unknown key `heal.grase`"), "{e}");
        let e = added("", &[Addition::new(&["distress"], "orchestrator", "No Name")]).unwrap_err();
        assert!(e.what.contains("distress.orchestrator"), "{e}");
    }
}
