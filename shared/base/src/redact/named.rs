//! Values that stand behind the name of a secret: `API_KEY=...`, `"password": "..."`, `--token ...`, `?key=...`.

mod names;

use self::names::{Name, classify};
use super::keys;
use super::text::{Mix, before, ceil, is_key_byte, run};
use super::{Hit, Kind, is_marked, marker_at};

/// Longest name in bytes, and longest value that is looked at.
const MAX_NAME: usize = 100;
const MAX_VALUE: usize = 16_384;
/// Most bytes of bullets and borders before a name.
const MAX_INDENT: usize = 60;

/// The value of an assignment whose name begins at this byte.
pub(super) fn value(text: &str, at: usize) -> Option<Hit> {
    let first = text.as_bytes().get(at).is_some_and(|b| is_name_byte(*b));
    if !first || before(text, at).is_some_and(is_name_byte) {
        return None;
    }
    let end = run(text, at, is_name_byte);
    // A literal line end in front of the name is not part of it.
    let from = if before(text, at) == Some(b'\\') && matches!(text.as_bytes()[at], b'n' | b't' | b'r') {
        at + 1
    } else {
        at
    };
    // A path of code, `Kind::Token => ...`.
    if text[..from].ends_with("::") {
        return None;
    }
    let spelt = text[from..end].trim_matches(['.', '-']);
    if spelt.is_empty() || spelt.len() > MAX_NAME {
        return None;
    }
    let place = Place::of(text, from, end)?;
    let name = classify(spelt, &earlier_words(text, from), place.query)?;
    if let Some(below) = block(text, from, &place, name) {
        return below;
    }
    // A type may stand between a name and its value: `key: str = "..."`.
    let place = match assigned(text, place.value) {
        Some(value) => Place { value, colon: false, line_start: false, ..place },
        None => place,
    };
    let (from, to) = extent(text, &place, name)?;
    judge(text, from, to, name, &place)
}

fn is_name_byte(b: u8) -> bool {
    is_key_byte(b) || b == b'.'
}

/// Whether this is itself the name of a secret.
pub(super) fn is_name(word: &str) -> bool {
    let plain =
        (1..=40).contains(&word.len()) && word.bytes().all(is_name_byte) && !Mix::of(word).is_random();
    plain && classify(word, &[], false).is_some()
}

/// Whether this is a name of passwords.
pub(super) fn is_password(word: &str) -> bool {
    classify(word, &[], false) == Some(Name::Password)
}

/// Whether the words before this byte name a secret that follows them without any sign: `access token 3f2a...`.
pub(super) fn is_spoken(text: &str, at: usize) -> bool {
    let mut words = earlier_words(text, at);
    let Some(last) = words.pop() else { return false };
    names::spoken(&words, &[&last])
}

/// How name and value are joined.
struct Place {
    /// Where the value begins, its quote included.
    value: usize,
    /// A query parameter of an address.
    query: bool,
    /// The name begins its line, so that a value without quotes may be a whole sentence.
    line_start: bool,
    /// Joined by a comma only, as the words of any list are.
    listed: bool,
    /// Joined by a colon, as sentences are too.
    colon: bool,
    /// Between tags, `<name>value</name>`.
    tag: bool,
    /// What stands right before the name is a single quote, which then ends the value too.
    apostrophe: bool,
}

impl Place {
    fn of(text: &str, from: usize, end: usize) -> Option<Place> {
        let bytes = text.as_bytes();
        let quotes = run(text, end, |b| matches!(b, b'"' | b'\'' | b'`' | b'\\' | b']' | b'*'));
        let quoted = quotes > end;
        let gap = run(text, quotes, |b| b == b' ' || b == b'\t');
        let rest = &text[gap..];
        let lead = before(text, from);
        let tag = lead == Some(b'<') && bytes.get(end) == Some(&b'>');
        let flag = text[from..end].starts_with("--");
        let listed = quoted && matches!(lead, Some(b'"' | b'\'')) && rest.starts_with(',');
        let joint = match rest.as_bytes().first() {
            Some(b':' | b'=' | b'-' | b'%') => {
                [":=", "=>", "==", "->", "%3D", "=", ":"].into_iter().find(|j| rest.starts_with(j))
            }
            _ => None,
        };
        let after = match joint {
            Some(j) => gap + j.len(),
            None if tag => end + 1,
            None if flag && !quoted && gap > end && !rest.starts_with("--") => gap,
            None if listed => gap + 1,
            None => return None,
        };
        let query = matches!(lead, Some(b'?' | b'&' | b';')) && joint == Some("=");
        let value = if query { after } else { run(text, after, |b| matches!(b, b' ' | b'\t' | b'*')) };
        Some(Place {
            value,
            query,
            listed: joint.is_none() && listed,
            line_start: begins_line(text, from),
            colon: joint == Some(":") && !quoted,
            tag,
            apostrophe: lead == Some(b'\''),
        })
    }
}

/// Whether nothing but bullets and borders stands before the name on its line. Only a little way back is looked at, so
/// that a long line costs no more than a short one.
fn begins_line(text: &str, from: usize) -> bool {
    let far = ceil(text, from.saturating_sub(MAX_INDENT));
    let near = &text[far..from];
    let (line, starts) = match near.rfind('\n') {
        Some(n) => (&near[n + 1..], true),
        None => (near, far == 0),
    };
    let ahead = line.trim_start_matches([' ', '\t', '>', '|', '│', '┃', '-', '*', '+']);
    starts && (ahead.is_empty() || ahead == "export ")
}

/// Where the value assigned behind a type begins, if a type stands here.
fn assigned(text: &str, at: usize) -> Option<usize> {
    let end = run(text, at, |b| is_key_byte(b) || matches!(b, b'[' | b']' | b'<' | b'>' | b'&'));
    let gap = run(text, end, |b| b == b' ');
    (is_type(&text[at..end]) && text[gap..].starts_with('=')).then(|| run(text, gap + 1, |b| b == b' '))
}

/// The words before the name on its line, nearest last.
fn earlier_words(text: &str, from: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut end = from;
    while words.len() < 3 && before(text, end) == Some(b' ') {
        let bytes = &text.as_bytes()[..end - 1];
        let len = bytes.iter().rev().take(20).take_while(|b| b.is_ascii_alphabetic()).count();
        if len == 0 {
            break;
        }
        words.insert(0, text[end - 1 - len..end - 1].to_ascii_lowercase());
        end -= len + 1;
    }
    words
}

/// From where to where the value stands, without its quotes.
fn extent(text: &str, place: &Place, name: Name) -> Option<(usize, usize)> {
    let rest = &text[place.value..];
    let near = &rest[..ceil(rest, MAX_VALUE)];
    let line = &near[..near.find('\n').unwrap_or(near.len())];
    if place.tag {
        return Some((place.value, place.value + line.find('<').unwrap_or(line.len())));
    }
    let opened = opening(near);
    if let Some((skip, quote)) = opened {
        let inner = &near[skip..];
        let len = closing(inner, quote).unwrap_or_else(|| inner.find('\n').unwrap_or(inner.len()));
        // `name=('|")` in a shell's pattern opens nothing.
        if near.starts_with('(') && skip + len > line.len() {
            return None;
        }
        return Some((place.value + skip, place.value + skip + len));
    }
    if line.starts_with('{') || line.starts_with('(') {
        return None;
    }
    let len = if line.starts_with('[') && marker_at(line, 0).is_none() {
        line.find(']').map_or(line.len(), |n| n + 1)
    } else if is_whole_line(name, place) && !is_stand_in(line.split([',', ';']).next().unwrap_or("")) {
        let ends = ["\"", "`", "\\n", "\\r", if place.apostrophe { "'" } else { "\"" }];
        ends.iter().filter_map(|e| line.find(e)).min().unwrap_or(line.len())
    } else {
        let len = bare_words(line, place.query)?;
        if name == Name::Password && !place.query { passphrase(line, len) } else { len }
    };
    let to = place.value + len;
    let kept = text[place.value..to].trim_end_matches([' ', '\t', '│', '┃', '║']);
    Some((place.value, place.value + kept.len()))
}

/// Headers, and passwords of several words.
fn is_whole_line(name: Name, place: &Place) -> bool {
    match name {
        Name::Header => true,
        Name::Cookie => place.colon,
        Name::Password => place.line_start,
        _ => false,
    }
}

/// A value without quotes whose first word ends here, with the words that belong to it: a passphrase is some plain words in a
/// row. What begins a sentence about the password ends it.
fn passphrase(line: &str, first: usize) -> usize {
    const ENDS: &str = "\
        is was are were has had have does did can could must should will would for on at in to from and or but not \
        with when while if as by of the that this it after before then because failed rejected invalid denied refused \
        accepted required expired wrong missing";
    let plain = |w: &str| (2..=12).contains(&w.len()) && w.bytes().all(|b| b.is_ascii_lowercase());
    let word =
        |from: usize| &line[from..run(line, from, |b| b.is_ascii_alphanumeric() || b == b'_' || b == b'=')];
    if !plain(&line[..first]) || is_stand_in(&line[..first]) {
        return first;
    }
    let (mut to, mut more) = (first, 0);
    while more < 7 && line[to..].starts_with(' ') {
        let next = word(to + 1);
        if !plain(next) || ENDS.split_ascii_whitespace().any(|w| w == next) {
            break;
        }
        (to, more) = (to + 1 + next.len(), more + 1);
    }
    if more < 2 { first } else { to }
}

/// The lines below `password: |`, which is how YAML begins a text of several lines; `None` where it begins none.
fn block(text: &str, from: usize, place: &Place, name: Name) -> Option<Option<Hit>> {
    let rest = text[place.value..].strip_prefix(['|', '>']).filter(|_| place.colon)?;
    let (mark, below) = rest.split_once('\n')?;
    let secret = !matches!(name, Name::Query | Name::Spoken | Name::Header | Name::Cookie);
    if !secret || !mark.trim().bytes().all(|b| matches!(b, b'+' | b'-' | b'1'..=b'9')) {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let line = text[..from].rfind('\n').map_or(0, |n| n + 1);
    // Where words stand before the name, as in a sentence or a command, its line may be indented further than the lines below it.
    let column = if place.line_start { from - line } else { 0 };
    let begin = text.len() - below.len();
    let (mut at, mut lines) = (begin, Vec::new());
    for line in below[..ceil(below, MAX_VALUE)].split_inclusive('\n') {
        if !line.trim().is_empty() {
            if indent(line) <= column {
                break;
            }
            lines.push((at + indent(line), at + line.trim_end().len()));
        }
        at += line.len();
    }
    let (Some((from, _)), Some((_, to))) = (lines.first(), lines.last()) else { return Some(None) };
    let (from, to) = (*from, *to);
    let taken = is_marked(&text[from..to]) || is_stand_in(&text[from..to]);
    Some((!taken).then_some(Hit { from, to, kind: name.kind() }))
}

/// The quote a value opens with, and how many bytes stand before its inside: `b'`, `\"`, `"""`, `SecretStr('`, `('`.
fn opening(rest: &str) -> Option<(usize, &str)> {
    let call = run(rest, 0, |b| b.is_ascii_alphabetic());
    let call = match rest.as_bytes().get(call) {
        Some(b'(') => call + 1,
        Some(b'"' | b'\'') if call <= 2 && rest[..call].bytes().all(|b| b"bBrRfFuU".contains(&b)) => call,
        _ => 0,
    };
    let slashes = run(rest, call, |b| b == b'\\');
    let quote = rest[slashes..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '“' | '‘'))?;
    let one = slashes + quote.len_utf8();
    let triple = quote.is_ascii() && rest[one..].starts_with(&rest[slashes..one].repeat(2));
    let all = if triple { one + 2 } else { one };
    Some((all, &rest[call..one]))
}

/// Where the inside of a quotation ends.
fn closing(inner: &str, quote: &str) -> Option<usize> {
    let close = quote.replace('“', "”").replace('‘', "’");
    let slashes = quote.len() - quote.trim_start_matches('\\').len();
    let mut from = 0;
    while let Some(n) = inner[from..].find(&close) {
        let at = from + n;
        let before = inner[..at].len() - inner[..at].trim_end_matches('\\').len();
        // A quotation inside this one is escaped once more.
        if before == 0 || slashes > 0 && before.is_multiple_of(2) {
            return Some(at);
        }
        from = at + close.len();
    }
    None
}

/// A value without quotes, its scheme included (`token: Bearer ...`). `None` where the next name stands in its place.
fn bare_words(line: &str, query: bool) -> Option<usize> {
    let len = bare(line, query);
    let word = &line[..len];
    if ["bearer", "basic", "token"].iter().any(|s| word.eq_ignore_ascii_case(s))
        && line[len..].starts_with(' ')
    {
        let more = run(line, len, |b| b == b' ');
        let next = bare(&line[more..], query);
        // The next name is not a secret, and what it names must not be cut off from it. Credentials are never in quotes.
        let quoted = line[more..].starts_with(['"', '\'', '`', '\\']);
        if !quoted && !is_name(line[more..more + next].trim_end_matches([':', '='])) {
            return Some(more + next);
        }
    }
    let flag = word.starts_with('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    (!flag && !word.strip_suffix([':', '=']).is_some_and(is_name)).then_some(len)
}

/// A word without quotes: to the next blank, or to a quote that closes what stands around the assignment.
fn bare(line: &str, query: bool) -> usize {
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        if let Some(marker) = marker_at(line, at) {
            at += marker.len();
            continue;
        }
        let next = line[at + c.len_utf8()..].chars().next();
        let closes = next
            .is_none_or(|n| n.is_whitespace() || matches!(n, ',' | ';' | '}' | ']' | ')' | ':' | '\\' | '"'));
        let ends = match c {
            c if c.is_whitespace() => true,
            '"' | '\'' | '`' => closes,
            '\\' => matches!(next, Some('"' | '\'' | 'n' | 'r' | 't')),
            '&' | '#' => query,
            ')' | ']' | '}' | ',' | ';' => next.is_none_or(|n| n.is_whitespace() || "\"')]},;".contains(n)),
            '<' | '>' => query,
            _ => false,
        };
        if ends {
            break;
        }
        at += c.len_utf8();
    }
    at
}

/// Whether this value is a secret at all, and which.
fn judge(text: &str, from: usize, to: usize, name: Name, place: &Place) -> Option<Hit> {
    let value = &text[from..to];
    if value.is_empty()
        || is_marked(value.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        || is_stand_in(value)
        || !name.accepts(value, place)
    {
        return None;
    }
    // The next name stands where the value should.
    let after = run(text, to, |b| matches!(b, b'"' | b'\'' | b'\\' | b' '));
    if after > to && text[after..].starts_with([':', '=']) && is_name(value) {
        return None;
    }
    // What the key says of itself says more than its name.
    let ends = |at: usize| text.get(at..to).is_some_and(|rest| rest.bytes().all(|b| b".,;:!?".contains(&b)));
    if let Some(told) = keys::known(text, from).filter(|h| ends(h.to)) {
        return Some(told);
    }
    let sentence = name == Name::Spoken;
    let to = if sentence { from + value.trim_end_matches(['.', ',', ';', ':', '!', '?']).len() } else { to };
    Some(Hit { from, to, kind: name.kind() })
}

/// Something that stands for a value: a variable, a mask, a word that says there is none.
pub(super) fn is_stand_in(value: &str) -> bool {
    const WORDS: &str = "\
        null none nil true false undefined unset missing invalid required incorrect wrong expired empty \
        optional redacted hidden masked must should cannot not is was no yes set inherit for the please \
        does has";
    const PHRASES: &[&str] = &[
        "not set",
        "not found",
        "not valid",
        "is required",
        "is missing",
        "is wrong",
        "is incorrect",
        "is invalid",
        "was wrong",
        "must be ",
        "must not ",
        "cannot be ",
        "does not match",
        "has expired",
        "authentication failed",
    ];
    let bare = value.trim_matches(['<', '>', '[', ']', '(', ')', ',', ';', '.', '!']);
    let lower = bare.to_ascii_lowercase();
    let word = WORDS.split_ascii_whitespace().any(|w| w == lower.trim_end_matches(':'))
        || PHRASES.iter().any(|p| lower.starts_with(p));
    let variable =
        |v: &str| v.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') && v.len() > 1;
    let braced = value.starts_with("${") && value.ends_with('}') && value.matches('}').count() == 1;
    let code = ["os.environ", "os.getenv", "process.env", "env.", "getenv(", "std::env", "secrets."];
    bare.is_empty()
        || bare.len() - keys::mask(bare) == 0
        || word
        || is_type(value)
        || value.strip_prefix('$').is_some_and(variable)
        || braced && !value.contains(":-")
        || value.starts_with("{{") && value.ends_with("}}")
        || value.starts_with("%(") && value.ends_with(")s")
        || value.starts_with('<')
            && value.ends_with('>')
            && bare.bytes().all(|b| b.is_ascii_lowercase() || b"-_ ".contains(&b))
        || code.iter().any(|c| value.starts_with(c))
}

fn is_type(value: &str) -> bool {
    let types = ["str", "string", "bool", "boolean", "int", "bytes", "number", "any", "&str"];
    let generic = ["Optional[", "Option<", "list[", "List[", "Vec<", "Secret<"];
    types.iter().any(|t| value.trim_end_matches([',', ';', '?']).eq_ignore_ascii_case(t))
        || generic.iter().any(|g| value.starts_with(g) && value.len() < 40)
}

impl Name {
    fn kind(self) -> Kind {
        match self {
            Name::Password => Kind::Password,
            Name::Key | Name::Variable | Name::Spoken | Name::Query => Kind::ApiKey,
            Name::Azure => Kind::Azure,
            Name::Secret => Kind::Secret,
            Name::Token => Kind::Token,
            Name::Credential => Kind::Credential,
            Name::Header => Kind::Authorization,
            Name::Cookie => Kind::Cookie,
        }
    }

    /// Whether a value can be what the name says, given that names are also words of sentences and of measures.
    fn accepts(self, value: &str, place: &Place) -> bool {
        let colon = place.colon;
        let number = value.len() <= 8 && value.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
        let word =
            value.len() <= 20 && value.bytes().all(|b| b.is_ascii_lowercase() || b",.;:!?".contains(&b));
        let mix = Mix::of(value);
        let masked = value.contains("**") || value.contains("...") || value.contains('…');
        if place.listed && !(mix.is_keyish() || value.len() >= 16 && !value.contains(' ')) {
            return false;
        }
        match self {
            // `PWD` is where a shell stands.
            Name::Password => !value.starts_with('/'),
            Name::Secret | Name::Key | Name::Azure | Name::Cookie | Name::Header => {
                value.len() > 1 && !(number && colon)
            }
            Name::Token | Name::Credential => {
                value.len() > 2 && !number && !(word && (colon || value.len() < 6))
            }
            Name::Query => value.len() >= 6 && !number,
            Name::Variable => {
                !value.contains(' ') && (masked || value.len() >= 6 && (mix.is_keyish() || value.len() >= 20))
            }
            Name::Spoken => masked || value.len() >= 6 && (mix.is_keyish() || value.len() >= 20),
        }
    }
}
