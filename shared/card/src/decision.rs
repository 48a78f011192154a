//! What an orchestrator decides about a card's task: the words of `metadata.route`, read strictly, for a watcher acts on them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shown_id;
use crate::scope::Scope;
use base::names::may_be_task_id;

/// Most decisions on one card: an incident lists one for each source. As many as fit into the metadata that is read of an attempt
/// (64 KiB), each with a short reason.
pub(super) const MAX_DECISIONS: usize = 500;
/// Most tasks one split makes.
pub const MAX_CHILDREN: usize = 12;
/// Most characters of a child's title and text.
const MAX_TITLE: usize = 200;
const MAX_BODY: usize = 8_000;

/// One decision about one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The task it is about.
    pub task: String,
    /// What is to be done.
    pub action: Action,
    /// Why, in the orchestrator's words. Untrusted.
    pub reason: Option<String>,
}

/// What may be decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Another profile does it.
    Reassign(String),
    /// It goes on as it is.
    Unblock,
    /// Narrower tasks come first.
    Split(Vec<Child>),
    /// A person decides.
    Human,
}

impl Action {
    /// The word of the contract.
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Reassign(_) => "reassign",
            Action::Unblock => "unblock",
            Action::Split(_) => "split",
            Action::Human => "human",
        }
    }
}

/// A narrower task of a split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Child {
    /// One line.
    pub title: String,
    /// What is to be done.
    pub body: String,
    /// Who does it; `None` is the assignee of the source.
    pub assignee: Option<String>,
    /// Its boundaries.
    pub scope: Scope,
}

/// Reads one decision or a list of them.
///
/// # Errors
/// What is wrong, in a few words for the card.
pub fn read(route: &Value) -> Result<Vec<Decision>, String> {
    read_about(route, &BTreeSet::new())
}

/// The same for a card about these tasks: one of them may be named as its card shows it, whatever the shape of its id.
///
/// # Errors
/// What is wrong, in a few words for the card.
pub fn read_about(route: &Value, own: &BTreeSet<String>) -> Result<Vec<Decision>, String> {
    let all = match route {
        Value::Object(_) => std::slice::from_ref(route),
        Value::Array(all) => all.as_slice(),
        Value::String(_) => return Err("it is not valid JSON".into()),
        _ => return Err("it is neither an object nor a list of objects".into()),
    };
    if all.is_empty() || all.len() > MAX_DECISIONS {
        return Err(format!("it holds {} decisions, not 1 to {MAX_DECISIONS}", all.len()));
    }
    all.iter().map(|route| one(route, own)).collect()
}

fn one(route: &Value, own: &BTreeSet<String>) -> Result<Decision, String> {
    if !route.is_object() {
        return Err("it is not an object".into());
    }
    let text = |key: &str| route.get(key).and_then(Value::as_str).map(str::trim).filter(|s| !s.is_empty());
    let named = text("task").ok_or("it names no task")?;
    let mine = own.iter().find(|id| id.trim() == named || shown_id(id) == named);
    let task = mine.cloned().or_else(|| may_be_task_id(named).then(|| named.to_owned()));
    let task = task.ok_or("its task is not a task id")?;
    let to = text("assignee").map(str::to_lowercase);
    let action = match text("action").ok_or("it names no action")?.to_lowercase().as_str() {
        "reassign" => Action::Reassign(to.ok_or("a reassign needs an assignee")?),
        "unblock" => Action::Unblock,
        "human" => Action::Human,
        "split" => Action::Split(children(route.get("children"))?),
        _ => return Err("its action is not reassign, unblock, split or human".into()),
    };
    Ok(Decision { task, action, reason: text("reason").map(str::to_owned) })
}

fn children(list: Option<&Value>) -> Result<Vec<Child>, String> {
    let list = list.and_then(Value::as_array).ok_or("a split needs a list of children")?;
    if list.is_empty() || list.len() > MAX_CHILDREN {
        return Err(format!("a split makes 1 to {MAX_CHILDREN} tasks, not {}", list.len()));
    }
    list.iter().map(child).collect()
}

fn child(c: &Value) -> Result<Child, String> {
    let text = |key: &str| c.get(key).and_then(Value::as_str).map(str::trim).filter(|s| !s.is_empty());
    let count = |keys: &[&str]| keys.iter().find_map(|k| u32::try_from(c.get(*k)?.as_u64()?).ok());
    let title = text("title").ok_or("a child has no title")?;
    if title.contains(['\n', '\r']) || title.chars().count() > MAX_TITLE {
        return Err(format!("a child's title is longer than one line of {MAX_TITLE} characters"));
    }
    if crate::is_card_title(title) {
        return Err("a child is a distress card by its title".into());
    }
    let body = text("body").unwrap_or_default();
    if body.chars().count() > MAX_BODY {
        return Err(format!("a child's body has more than {MAX_BODY} characters"));
    }
    // A section written into the text counts where the fields of the decision say nothing.
    let written = Scope::parse(body).unwrap_or_default();
    let said = |keys: [&str; 2], or: Vec<String>| {
        let given: Vec<String> = keys.iter().find_map(|k| c.get(*k)).map(words).unwrap_or_default();
        if given.is_empty() { or } else { given }
    };
    let scope = Scope {
        concern: text("concern").map(str::to_owned).or(written.concern).or_else(|| Some(title.to_owned())),
        in_scope: said(["in_scope", "scope"], written.in_scope),
        out_of_scope: said(["out_of_scope", "cannot_touch"], written.out_of_scope),
        max_files: count(&["max_files"]).or(written.max_files),
        iterations: count(&["iterations", "iteration_budget"]).or(written.iterations),
        time_budget: written.time_budget,
        cost_budget: written.cost_budget,
    };
    let assignee = text("assignee").map(str::to_lowercase);
    Ok(Child { title: title.to_owned(), body: body.to_owned(), assignee, scope })
}

/// A list of texts, or one text with commas.
fn words(v: &Value) -> Vec<String> {
    let clean = |s: &str| s.trim().to_owned();
    let all: Vec<String> = match v {
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(clean).collect(),
        Value::String(s) => s.split(',').map(clean).collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|s| !s.is_empty()).take(50).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_decision_or_many() {
        let d = read(&json!({"task": "t_0000000a", "action": "Reassign", "assignee": " Sol "})).unwrap();
        assert_eq!((d[0].task.as_str(), &d[0].action), ("t_0000000a", &Action::Reassign("sol".into())));
        let both = json!([{"task": "t_0000000a", "action": "unblock"}, {"task": "t_0000000b", "action": "human", "reason": "money"}]);
        let words: Vec<_> = read(&both).unwrap().iter().map(|d| d.action.as_str()).collect();
        assert_eq!(words, ["unblock", "human"]);
    }

    #[test]
    fn an_incident_is_answered_with_one_list() {
        let list = |n: usize| -> Value {
            (0..n).map(|i| json!({"task": format!("t_{i:08x}"), "action": "reassign", "assignee": "sol", "reason": "its key works"})).collect()
        };
        assert_eq!(read(&list(MAX_DECISIONS)).unwrap().len(), MAX_DECISIONS);
        assert!(list(MAX_DECISIONS).to_string().len() < 60_000, "it is read whole");
        assert_eq!(read(&list(501)).unwrap_err(), "it holds 501 decisions, not 1 to 500");
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        let t = "t_0000000a";
        for (route, why) in [
            (json!("{broken"), "not valid JSON"),
            (json!(7), "neither"),
            (json!([]), "0 decisions"),
            (json!([7]), "not an object"),
            (json!({"action": "unblock"}), "names no task"),
            (json!({"task": "../x", "action": "unblock"}), "not a task id"),
            (json!({"task": t}), "names no action"),
            (json!({"task": t, "action": "delete"}), "is not reassign"),
            (json!({"task": t, "action": "reassign"}), "needs an assignee"),
            (json!({"task": t, "action": "split"}), "list of children"),
            (json!({"task": t, "action": "split", "children": []}), "1 to 12"),
            (json!({"task": t, "action": "split", "children": [{"body": "x"}]}), "no title"),
            (json!({"task": t, "action": "split", "children": [{"title": "a\nb"}]}), "one line"),
            (
                json!({"task": t, "action": "split", "children": [{"title": "[BLOCKED] t_1 x"}]}),
                "distress card",
            ),
        ] {
            let said = read(&route).unwrap_err();
            assert!(said.contains(why), "{route}: {said}");
        }
    }

    #[test]
    fn a_child_has_its_boundaries_however_they_are_written() {
        let split = |child: Value| {
            let route = json!({"task": "t_0000000a", "action": "split", "children": [child]});
            let Action::Split(mut all) = read(&route).unwrap().remove(0).action else { panic!("no split") };
            all.remove(0)
        };
        let c = split(
            json!({"title": "Parser", "in_scope": ["src/parse.rs"], "out_of_scope": "docs, tests", "max_files": 3}),
        );
        assert_eq!(c.scope.concern.as_deref(), Some("Parser"));
        assert_eq!(
            (c.scope.in_scope, c.scope.out_of_scope),
            (vec!["src/parse.rs".to_owned()], vec!["docs".into(), "tests".into()])
        );
        let c = split(
            json!({"title": "Parser", "body": "Do it.\n\n## Scope\n- Concern: parse\n- In scope: src/*.rs\n- Iteration budget: 40\n"}),
        );
        assert_eq!((c.scope.concern.as_deref(), c.scope.iterations), (Some("parse"), Some(40)));
        assert_eq!(c.scope.in_scope, ["src/*.rs"]);
    }
}
