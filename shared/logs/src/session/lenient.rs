//! Fields that may hold anything: what has another type than expected counts as missing. A format we do not own must
//! not cost a whole line because one field changed its shape.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

/// A whole number that is not negative.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Num(pub Option<u64>);

/// Yes or no.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flag(pub Option<bool>);

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct Obj<T>(pub Option<T>);

impl<T> Default for Obj<T> {
    fn default() -> Obj<T> {
        Obj(None)
    }
}

/// Words: a text, or a list of blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Said<'a, B> {
    /// Neither.
    #[default]
    Nothing,
    /// A text.
    Plain(Cow<'a, str>),
    /// A list; what is not an object in it is left out.
    Blocks(Vec<B>),
}

impl Text<'_> {
    /// The text, where it is one.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text, empty where there is none.
    pub fn or_empty(&self) -> &str {
        self.get().unwrap_or_default()
    }
}

impl Flag {
    /// Whether it is `true`.
    pub fn is_set(self) -> bool {
        self.0 == Some(true)
    }
}

impl Num {
    /// The number as an HTTP status.
    pub fn status(self) -> Option<u16> {
        self.0.and_then(|n| u16::try_from(n).ok()).filter(|n| (100..600).contains(n))
    }
}

impl<B> Said<'_, B> {
    pub(crate) fn blocks(&self) -> &[B] {
        match self {
            Said::Blocks(all) => all,
            _ => &[],
        }
    }
}

/// What a visitor makes of the types it does not want: its empty value.
macro_rules! otherwise_empty {
    ($($kind:ident)*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }
        $(otherwise_empty!(@ $kind);)*
    };
    (@ unit) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ bool) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ number) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ float) => {
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ text) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            while all.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@ object) => {
        fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;
            otherwise_empty!(unit bool number float list object);
            fn visit_borrowed_str<E: Error>(self, s: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(s))))
            }
            fn visit_str<E: Error>(self, s: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(s.to_owned()))))
            }
            fn visit_string<E: Error>(self, s: String) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(s))))
            }
        }
        d.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Num;
            otherwise_empty!(unit bool float text list object);
            fn visit_u64<E: Error>(self, n: u64) -> Result<Num, E> {
                Ok(Num(Some(n)))
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<Num, E> {
                Ok(Num(u64::try_from(n).ok()))
            }
        }
        d.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;
            otherwise_empty!(unit number float text list object);
            fn visit_bool<E: Error>(self, b: bool) -> Result<Flag, E> {
                Ok(Flag(Some(b)))
            }
        }
        d.deserialize_any(V)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Obj<T>;
            otherwise_empty!(unit bool number float text list);
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Obj<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|t| Obj(Some(t)))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

impl<'de: 'a, 'a, B: Deserialize<'de>> Deserialize<'de> for Said<'a, B> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<B>(PhantomData<B>);
        impl<'de, B: Deserialize<'de>> Visitor<'de> for V<B> {
            type Value = Said<'de, B>;
            otherwise_empty!(unit bool number float object);
            fn visit_borrowed_str<E: Error>(self, s: &'de str) -> Result<Self::Value, E> {
                Ok(Said::Plain(Cow::Borrowed(s)))
            }
            fn visit_str<E: Error>(self, s: &str) -> Result<Self::Value, E> {
                Ok(Said::Plain(Cow::Owned(s.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(one) = all.next_element::<Obj<B>>()? {
                    blocks.extend(one.0);
                }
                Ok(Said::Blocks(blocks))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct One<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        num: Num,
        flag: Flag,
        #[serde(borrow)]
        said: Said<'a, Two>,
        obj: Obj<Two>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Two {
        n: Num,
    }

    #[test]
    fn any_field_may_hold_anything() {
        let all = [
            "null",
            "true",
            "-1",
            "7",
            "1.5",
            "1e400",
            "\"s\"",
            "\"\\n\"",
            "[1,[2],{\"n\":3}]",
            "{\"n\":{\"m\":[]}}",
        ];
        for value in all.iter().filter(|v| **v != "1e400") {
            for key in ["text", "num", "flag", "said", "obj", "other"] {
                let line = format!("{{\"{key}\":{value},\"z\":0}}");
                let one: One<'_> = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
                let hits = [
                    one.text.get().is_some(),
                    one.num.0.is_some(),
                    one.flag.0.is_some(),
                    one.said != Said::Nothing,
                    one.obj.0.is_some(),
                ];
                assert!(hits.iter().filter(|h| **h).count() <= 1, "{line}: {one:?}");
            }
        }
        let line = r#"{"text":"a\tb","num":7,"flag":true,"said":["x",{"n":3}],"obj":{"n":-4}}"#;
        let one: One<'_> = serde_json::from_str(line).unwrap();
        assert_eq!((one.text.or_empty(), one.num.0, one.flag.is_set()), ("a\tb", Some(7), true));
        assert_eq!(one.said.blocks(), [Two { n: Num(Some(3)) }]);
        assert_eq!(one.obj, Obj(Some(Two { n: Num(None) })));
        assert_eq!(
            (Num(Some(529)).status(), Num(Some(99)).status(), Num(Some(70_000)).status()),
            (Some(529), None, None)
        );
    }
}
