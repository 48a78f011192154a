//! Reading the template back, as people and models write it.

use super::{Blocker, Distress, State};

/// Reads the first distress section of a body that names a task.
pub(super) fn read(body: &str, is_id: fn(&str) -> bool) -> Option<Distress> {
    let fields = fields(body)?;
    let said = |label: &str| fields.iter().find(|(l, _)| l == label).map(|(_, v)| v.clone());
    let known = |label: &str| said(label).filter(|v| !v.is_empty() && !v.eq_ignore_ascii_case("unknown"));
    let source = said("blocked task")?;
    let source = source.split_whitespace().next()?.trim_matches(['`', '*', ',', '.']).to_owned();
    if !is_id(&source) {
        return None;
    }
    Some(Distress {
        source,
        worker: known("worker"),
        branch: known("branch"),
        workspace: known("workspace"),
        blocker: Blocker::parse(&said("blocker type")?)?,
        completed: known("completed"),
        cannot_touch: known("cannot touch"),
        needs: known("needs"),
        state: said("state").map_or(State::Unknown, |s| State::parse(&s)),
    })
}

/// Whether the first distress section of a body names a blocker type and this task.
pub(super) fn names(body: &str, shown: &str) -> bool {
    let said = fields(body).unwrap_or_default();
    let is = |label: &str, test: &dyn Fn(&str) -> bool| {
        said.iter().find(|(l, _)| l == label).is_some_and(|(_, v)| test(v))
    };
    is("blocked task", &|v| v == shown) && is("blocker type", &|v| Blocker::parse(v).is_some())
}

/// Labels and values of the first distress section.
fn fields(body: &str) -> Option<Vec<(String, String)>> {
    let mut lines = body.lines().skip_while(|l| heading(l).as_deref() != Some("distress signal"));
    lines.next()?;
    Some(lines.take_while(|l| heading(l).is_none()).filter_map(field).collect())
}

/// The text of a heading of any level, in lower case.
fn heading(line: &str) -> Option<String> {
    let line = line.trim();
    let text = line.trim_start_matches('#');
    let marks = line.len() - text.len();
    ((1..=6).contains(&marks) && text.starts_with(' '))
        .then(|| text.trim().trim_matches('*').trim_end_matches(':').trim().to_lowercase())
}

/// `- Label: value`, with any bullet or none and a bold label or not.
fn field(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix(['-', '*', '+', '•']).filter(|r| r.starts_with(' ')).unwrap_or(line).trim();
    let (label, value) = line.split_once(':')?;
    let is_bold = label.trim().starts_with("**") && !label.trim_end().ends_with("**");
    let label = label.trim().trim_matches(['*', '_', '`']).replace(['_', '-'], " ").to_lowercase();
    // What closes a bold label; any other stars are the value's own.
    let value = if is_bold { value.trim().trim_start_matches("**") } else { value }.trim();
    Some((label, value.to_owned()))
}
