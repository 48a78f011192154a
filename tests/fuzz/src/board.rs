//! What people and models write on a board: scope sections, distress cards, and the decisions in a completion.

use serde_json::Value;
use shared::base::names;
use shared::board::Run;
use shared::card::decision::{self, Action, Decision, MAX_CHILDREN};
use shared::card::scope::{self, Bounds, Policy, Scope, lint};
use shared::card::{Annex, Attempt, Blocker, Distress, State, is_card_title, read_title};

use super::secret::{hidden_in, is_own, planted};
use super::text::{cut, number, text};

/// Reading settles at once, writing is read back, and a body without the section is kept when the section is added.
pub fn scope(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let (body, other) = cut(&text, at % (text.len() + 1));
    for body in [body, &text, &format!("## Scope\n{text}")] {
        let Some(read) = Scope::parse(body) else { continue };
        let once = read.write();
        let again = Scope::parse(&once).expect("what was written");
        assert_eq!(again.write(), once, "what is written does not settle");
        judged(&read, other);
    }
    let wanted = Scope::parse(&format!("## Scope\n{other}")).unwrap_or_default();
    // As it is after one writing: a text of several lines is one then.
    let wanted = Scope::parse(&wanted.write()).expect("what was written");
    let put = scope::put(body, &wanted);
    assert_eq!(Scope::parse(&put).as_ref(), Some(&wanted), "what was put is not read back: {put:?}");
    assert_eq!(scope::put(&put, &wanted), put, "put twice is not put once");
    assert!(Scope::parse(body).is_some() || put.starts_with(body), "a body without a section was changed");
    let _ = lint(&text, &Policy { max_files: 5, iterations: 40, max_areas: 2 });
}

/// Every file lies somewhere, and what is named out of scope is never in it.
fn judged(scope: &Scope, paths: &str) {
    let bounds = Bounds::of(scope, Some("/srv/tree"));
    for path in paths.lines().take(4) {
        let side = bounds.judge(path, &std::collections::BTreeMap::new());
        let is_named = !path.is_empty()
            && path.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'/' || b == b'.')
            && path.contains('/')
            && !path.starts_with(['/', '.'])
            && scope.out_of_scope.iter().take(200).any(|e| e == path);
        let is_in = matches!(side, scope::Side::In);
        assert!(!(is_named && is_in), "{path:?} is out of scope by name");
    }
}

/// A card says the same after it was read and written, no value of it makes a line of its own, and no key gets onto it.
pub fn card(data: &[u8]) {
    let (at, rest) = number(data);
    let text = text(rest);
    let _ = (State::parse(&text), Blocker::parse(&text));
    if let Some((source, _)) = read_title(&text) {
        assert!(is_card_title(&text) && names::may_be_task_id(&source));
    }
    for body in [text.to_string(), format!("## Distress Signal\n- Blocked task: t_1a2b3c4d\n{text}")] {
        let Some(read) = Distress::parse(&body) else { continue };
        assert!(names::is_task_id(&read.source));
        assert_eq!(read_title(&read.title()), Some((read.source.clone(), Some(read.blocker))));
        settles(&read);
    }
    let parts: Vec<String> = text.split('\0').map(str::to_owned).collect();
    let value = |n: usize| parts.get(n).cloned();
    let with_key = |n: usize| value(n).map(|v| format!("{v} {}", planted()));
    let written = Distress {
        source: "t_1a2b3c4d".into(),
        worker: value(0),
        branch: value(1),
        workspace: value(2),
        blocker: Blocker::ALL[at % 6],
        completed: with_key(3),
        cannot_touch: value(4),
        needs: with_key(5),
        state: value(6).map_or(State::Unknown, State::Stashed),
    };
    settles(&written);
    whole(&written, &parts, is_own(&text));
}

fn settles(card: &Distress) {
    let written = card.render();
    let read = Distress::parse(&written).expect("a card that was written");
    assert_eq!((&read.source, read.blocker), (&card.source, card.blocker));
    assert_eq!(read.render(), written, "a card read and written is another");
}

/// With its annex: the template stays what it is.
fn whole(card: &Distress, parts: &[String], has_key: bool) {
    let all = || parts.iter().cloned().chain([planted()]).collect::<Vec<_>>();
    let annex = Annex {
        cause: "It was refused.".into(),
        from: parts.first().cloned(),
        evidence: all(),
        attempts: vec![Attempt { profile: parts.get(1).cloned(), ..Attempt::default() }],
        last_words: all(),
        tree: all(),
        quoted: all(),
        sources: parts.iter().skip(1).cloned().collect(),
        ..Annex::default()
    };
    let body = card.render() + &annex.render(card);
    assert_eq!(Distress::parse(&body), Distress::parse(&card.render()), "the annex changed the template");
    let count = |heading: &str| body.lines().filter(|l| l.trim() == heading).count();
    assert_eq!((count("## Distress Signal"), count("## Scope Guard"), count("## Decision")), (1, 1, 1));
    assert!(!body.contains(|c: char| c.is_control() && c != '\n'), "{body:?}");
    assert!(has_key || !hidden_in(&body), "{body}");
}

/// Whatever a completion holds, only whole decisions about real task ids come out of it, within their bounds.
pub fn decision(data: &[u8]) {
    let text = text(data);
    let route = Run::route_in(&text);
    assert!(route != Some(Value::Null));
    if serde_json::from_str::<Value>(&text).is_ok_and(|v| v.is_object()) && text.len() < 10_000 {
        // Models return the object as a text, too.
        assert_eq!(Run::route_in(&Value::String(text.to_string()).to_string()), route);
    }
    // The route alone, so that the way to it need not be found every time.
    let bare = serde_json::from_str::<Value>(&text).ok();
    for route in [route, bare].into_iter().flatten() {
        match decision::read(&route) {
            Ok(all) => all.iter().for_each(sound),
            Err(why) => assert!(!why.is_empty() && why.len() < 200 && !why.contains('\n'), "{why}"),
        }
    }
}

fn sound(d: &Decision) {
    assert!(names::may_be_task_id(&d.task), "{d:?}");
    let json = serde_json::to_string(d).expect("a decision as JSON");
    assert_eq!(serde_json::from_str::<Decision>(&json).expect("its own JSON"), *d);
    let children = match &d.action {
        Action::Reassign(to) => return assert!(!to.trim().is_empty()),
        Action::Unblock | Action::Human => return,
        Action::Split(children) => children,
    };
    assert!((1..=MAX_CHILDREN).contains(&children.len()));
    for c in children {
        assert!(!c.title.trim().is_empty() && !c.title.contains(['\n', '\r']) && !is_card_title(&c.title));
        assert!(c.title.chars().count() <= 200 && c.body.chars().count() <= 8_000);
        // Its boundaries are written into its text, and what is read there must be what was decided.
        let put = scope::put(&c.body, &c.scope);
        let read = Scope::parse(&put).expect("a scope that was put");
        assert_eq!(read.write(), c.scope.write(), "{put:?}");
    }
}
