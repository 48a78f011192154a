//! Passwords in the places where programs take them: behind a short flag, in a pair of strings, in a `.netrc`.

use super::named::is_stand_in;
use super::text::{Mix, before, ceil, is_key_byte, is_word_start, run};
use super::{Hit, Kind, is_marked};

/// How far back a command or a name is looked for, in bytes.
const FAR: usize = 300;

/// How a flag has its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `-pVALUE`.
    Glued,
    /// `-p VALUE`.
    Apart,
    Either,
}

/// Programs that take a password behind a short flag. `-p` of any other is a port, a path or a prefix.
const FLAGS: &[(&str, &[&str], Joint)] = &[
    (
        "-p",
        &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mycli"],
        Joint::Glued,
    ),
    ("-p", &["mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "7zz", "unrar", "rar"], Joint::Glued),
    ("-p", &["sshpass"], Joint::Either),
    ("-p", &["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"], Joint::Apart),
    ("-a", &["redis-cli"], Joint::Apart),
    ("-w", &["ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"], Joint::Apart),
    ("-P", &["sqlcmd", "bcp", "zip"], Joint::Either),
];

/// The value of such a flag that begins at this byte.
pub(super) fn flag(text: &str, at: usize) -> Option<Hit> {
    let begins = before(text, at).is_none_or(|b| b.is_ascii_whitespace() || b"\"'[(,`".contains(&b));
    if text.as_bytes()[at] != b'-' || !begins {
        return None;
    }
    let flag = text.get(at..at + 2).filter(|f| FLAGS.iter().any(|(known, _, _)| known == f))?;
    let words = command(text, at);
    let takes = |(known, programs, _): &&(&str, &[&str], Joint)| {
        *known == flag && words.iter().any(|w| programs.contains(&w.rsplit('/').next().unwrap_or(w)))
    };
    let (_, _, joint) = FLAGS.iter().find(takes)?;
    let behind = at + flag.len();
    let gap = run(text, behind, |b| matches!(b, b' ' | b'"' | b'\'' | b',' | b'=' | b'\\'));
    let is_apart = text[behind..gap].contains([' ', ',', '=']);
    if *joint != Joint::Either && (*joint == Joint::Apart) != is_apart {
        return None;
    }
    let (from, to) = argument(text, gap);
    let value = &text[from..to];
    let none = value.is_empty() || value.starts_with('-') || is_marked(value) || is_stand_in(value);
    (!none).then_some(Hit { from, to, kind: Kind::Password })
}

/// The words of the command before this byte, on its line.
fn command(text: &str, at: usize) -> Vec<&str> {
    let near = &text[ceil(text, at.saturating_sub(FAR))..at];
    let line = near.rsplit(['\n', '|', ';', '&']).next().unwrap_or(near);
    line.split(|c: char| c.is_whitespace() || "\"'`,[]()\\".contains(c)).filter(|w| !w.is_empty()).collect()
}

/// An argument that begins at this byte: to its closing quote, where one stands before it, else to the next blank.
fn argument(text: &str, from: usize) -> (usize, usize) {
    let quote = text[..from].chars().next_back().filter(|c| matches!(c, '"' | '\''));
    let stops = |c: char| match quote {
        Some(q) => c == q || c == '\n',
        None => c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\\' | ';' | '|' | '&'),
    };
    let len = text[from..].find(stops).unwrap_or(text.len() - from);
    (from, from + len)
}

/// `auth=('name', 'password')`, `HTTPBasicAuth("name", "password")`, from the first string to the last.
pub(super) fn pair(text: &str, at: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    if !matches!(bytes[at], b'(' | b'[') {
        return None;
    }
    let before = text[..at].trim_end_matches([' ', '=', ':', '"', '\'']);
    let len = before.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').take(40).count();
    let name = before[before.len() - len..].to_ascii_lowercase();
    if !["auth", "credentials", "creds", "login"].iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let (first, end) = string(text, run(text, at + 1, |b| b == b' '))?;
    let comma = run(text, end, |b| b == b' ');
    let (second, to) =
        string(text, run(text, comma + 1, |b| b == b' ')).filter(|_| bytes.get(comma) == Some(&b','))?;
    let closed =
        bytes.get(run(text, to, |b| matches!(b, b' ' | b','))).is_none_or(|b| matches!(b, b')' | b']'));
    let value = &text[second..to - 1];
    let none = value.is_empty() || is_marked(value) || is_stand_in(value);
    (closed && !none).then_some(Hit { from: first, to: to - 1, kind: Kind::Credential })
}

/// A string in quotes that opens at this byte: where its text begins, and where it is closed.
fn string(text: &str, at: usize) -> Option<(usize, usize)> {
    // In JSON the quotes of what is quoted are escaped.
    let open = at + usize::from(text.as_bytes().get(at) == Some(&b'\\'));
    let quote = text[open..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let near = &text[open + 1..ceil(text, open + 1 + FAR)];
    let len = near.find([quote, '\n']).filter(|n| near[*n..].starts_with(quote))?;
    Some((open + 1, open + 1 + len + 1))
}

/// `machine host login name password VALUE`.
pub(super) fn netrc(text: &str, at: usize) -> Option<Hit> {
    let behind = text[at..].strip_prefix("password").map(|_| at + "password".len())?;
    let from = run(text, behind, |b| b.is_ascii_whitespace());
    if from == behind || !is_word_start(text, at) {
        return None;
    }
    let mut words = text[ceil(text, at.saturating_sub(FAR))..at].split_whitespace().rev();
    let (_, login) = (words.next()?, words.next()?);
    let (host, machine) = (words.next(), words.next());
    let machine = machine == Some("machine") || host == Some("default");
    let to = from + text[from..].find(char::is_whitespace).unwrap_or(text.len() - from);
    let value = text[from..to].trim_end_matches(['.', ',', ':', ';']);
    let to = from + value.len();
    // "login page password reset" is a sentence.
    let keyish = Mix::of(value).is_keyish() || value.bytes().any(|b| !is_key_byte(b) && b.is_ascii_graphic());
    let holds = login == "login" && (machine || value.len() >= 6 && keyish);
    (holds && !value.is_empty() && !is_marked(value) && !is_stand_in(value)).then_some(Hit {
        from,
        to,
        kind: Kind::Password,
    })
}
