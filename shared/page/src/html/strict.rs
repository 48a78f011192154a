//! A reader that is as strict as only we write: for tests of every page.

/// Pieces of what breaks pages that trust.
pub const NASTY: [&str; 20] = [
    "<script>alert(1)</script>",
    "</title>",
    "</style>",
    "</pre>",
    "</bdi>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!--",
    "-->",
    "]]>",
    "&lt;script&gt;",
    "&#60;script",
    "\u{202e}",
    "\u{2066}",
    "\u{0}",
    "\u{1b}]8;;https://evil.example\u{7}",
    "https://evil.example/a?b=c",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "\n\r\t",
];

/// Attributes of the page, and what their values must look like.
fn is_ours(name: &str, value: &str) -> bool {
    let all = |ok: fn(char) -> bool| value.chars().all(ok);
    match name {
        "href" => value.starts_with('#'),
        "style" => value.starts_with("left:") && value.ends_with('%'),
        "fill" => value.starts_with("url(#p-") && value.ends_with(')'),
        "datetime" => all(|c| c.is_ascii_digit() || "-:TZ+".contains(c)),
        "x" | "x1" | "x2" | "y" | "y1" | "y2" | "width" | "height" | "rx" | "cx" | "cy" | "r" => {
            all(|c| c.is_ascii_digit() || "-.%".contains(c))
        }
        "id" | "class" | "aria-label" | "aria-hidden" | "role" | "scope" | "tabindex" | "lang"
        | "transform" | "d" | "patternUnits" => all(|c| c.is_ascii_alphanumeric() || " -,.()".contains(c)),
        "charset" | "http-equiv" | "content" | "name" => !value.contains("://"),
        _ => false,
    }
}

/// Reads the page tag by tag, as strictly as only we write it, and gives the text between the tags, entities read.
///
/// # Errors
/// What is not as we write it.
pub fn read(page: &str) -> Result<String, String> {
    let mut rest = page.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    let (mut open, mut text) = (Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let (tag, behind) = (&rest[at + 1..end], &rest[end + 1..]);
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("{last:?} is ended by {name}"));
            }
            continue;
        }
        let (tag, is_whole) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("the tag {name:?}"));
        }
        let mut left = attributes;
        while !left.is_empty() {
            let (key, more) = left.split_once("=\"").ok_or_else(|| format!("{attributes:?} in {name}"))?;
            let (value, more) = more.split_once('"').ok_or_else(|| format!("{attributes:?} in {name}"))?;
            if !is_ours(key.trim(), value) {
                return Err(format!("the attribute {key}={value:?} in {name}"));
            }
            left = more;
        }
        match name {
            "meta" | "br" => {}
            "script" | "img" | "iframe" | "object" | "embed" | "link" | "base" | "form" => {
                return Err(format!("a tag {name}"));
            }
            "style" => rest = rest.split_once("</style>").ok_or("a style without an end")?.1,
            _ if is_whole => {}
            _ => open.push(name.to_owned()),
        }
    }
    text.push_str(rest);
    if text.contains('>') {
        return Err("a bare > in the text".into());
    }
    if !open.is_empty() {
        return Err(format!("never ended: {open:?}"));
    }
    let read = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    Ok(read.iter().fold(text, |text, (entity, c)| text.replace(entity, c)))
}
