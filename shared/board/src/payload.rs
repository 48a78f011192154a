//! The details of an event: JSON, parsed when it is first read.

use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Most events are read for their kind and time alone, and a parsed text takes six times its memory. It can be used as a
/// [`Value`]: `Null` where there is none, and where the stored text is not JSON (boards hold such rows). Copies share what one of
/// them parsed: a command that looks asks four watchers about the same events.
#[derive(Clone, Default)]
pub struct Payload(Option<Arc<Stored>>);

struct Stored {
    /// As it is stored; empty where it was not read from a board.
    text: Box<str>,
    /// A backslash stands in it: a name may be spelt otherwise than in its letters.
    has_escapes: bool,
    value: OnceLock<Value>,
}

impl Payload {
    /// What is stored under a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let stored = self.0.as_deref()?;
        if stored.value.get().is_none() && !stored.has_escapes && !stored.text.contains(name) {
            return None;
        }
        (**self).get(name)
    }
}

/// A text as a board stores it.
impl From<Option<String>> for Payload {
    fn from(text: Option<String>) -> Payload {
        let of = |text: String| {
            let text: Box<str> = text.into();
            Arc::new(Stored { has_escapes: text.contains('\\'), text, value: OnceLock::new() })
        };
        Payload(text.filter(|text| !text.is_empty()).map(of))
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Payload {
        Payload(Some(Arc::new(Stored {
            text: Box::default(),
            has_escapes: false,
            value: OnceLock::from(value),
        })))
    }
}

impl Deref for Payload {
    type Target = Value;

    fn deref(&self) -> &Value {
        static NOTHING: Value = Value::Null;
        let parsed = |stored: &Stored| serde_json::from_str(&stored.text).unwrap_or(Value::Null);
        match &self.0 {
            Some(stored) => stored.value.get_or_init(|| parsed(stored)),
            None => &NOTHING,
        }
    }
}

/// For tests, which change a word of a payload here and there.
#[cfg(any(test, feature = "testing"))]
impl std::ops::DerefMut for Payload {
    fn deref_mut(&mut self) -> &mut Value {
        *self = Payload::from(Value::clone(self));
        match self.0.as_mut().and_then(Arc::get_mut).and_then(|stored| stored.value.get_mut()) {
            Some(value) => value,
            None => unreachable!("it was set just now, and is shared with nobody"),
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        **self == **other
    }
}

impl PartialEq<Value> for Payload {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl Debug for Payload {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&**self, f)
    }
}

impl Display for Payload {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&**self, f)
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
        Value::deserialize(deserializer).map(Payload::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_what_its_text_says() {
        for (text, want) in [
            (None, Value::Null),
            (Some(""), Value::Null),
            (Some("{\"by\": "), Value::Null),
            (Some("[1]"), json!([1])),
            (Some(r#"{"by": "heal"}"#), json!({"by": "heal"})),
            (Some(r#"{"\u0062y": "heal"}"#), json!({"by": "heal"})),
            (Some(r#"{"of": {"by": "heal"}}"#), json!({"of": {"by": "heal"}})),
            (Some(r#"{"of": "by"}"#), json!({"of": "by"})),
        ] {
            let payload = Payload::from(text.map(str::to_owned));
            assert_eq!(payload.get("by"), want.get("by"), "{text:?}");
            assert_eq!(payload, want, "{text:?}");
            assert_eq!(payload.get("by"), want.get("by"), "{text:?}");
            assert_eq!(serde_json::to_value(&payload).unwrap(), want, "{text:?}");
            assert_eq!(serde_json::from_value::<Payload>(want.clone()).unwrap(), payload, "{text:?}");
        }
    }

    #[test]
    fn a_copy_shares_what_was_parsed_and_is_changed_alone() {
        let mut first = Payload::from(Some(r#"{"by": "heal"}"#.to_owned()));
        let second = first.clone();
        assert!(std::ptr::eq(first.get("by").unwrap(), second.get("by").unwrap()));
        first["by"] = json!("coord");
        assert_eq!((&*first, &*second), (&json!({"by": "coord"}), &json!({"by": "heal"})));
    }
}
