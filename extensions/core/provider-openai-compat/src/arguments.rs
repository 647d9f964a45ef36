//! Detects when the JSON object of streamed tool call arguments is complete.
//!
//! Pure.

/// The state of an object that arrives in pieces. A prefix of an object is never an object, so a
/// closed one is complete although the server has not said so yet.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ObjectWatch {
    depth: u32,
    in_string: bool,
    escaped: bool,
    has_content: bool,
    state: ObjectState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ObjectState {
    #[default]
    Before,
    Inside,
    Closed,
    /// The text is not a single object.
    Other,
}

impl ObjectWatch {
    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &str) {
        piece.bytes().for_each(|byte| self.step(byte));
    }

    /// Whether the object is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == ObjectState::Closed
    }

    /// Whether the object is closed and holds something: some servers send `{}` first and the real
    /// arguments behind it.
    pub(crate) fn is_closed_with_content(&self) -> bool {
        self.is_closed() && self.has_content
    }

    fn step(&mut self, byte: u8) {
        match self.state {
            ObjectState::Inside => self.inside(byte),
            ObjectState::Other => {}
            ObjectState::Before if byte == b'{' => {
                self.state = ObjectState::Inside;
                self.depth = 1;
            }
            ObjectState::Before | ObjectState::Closed if byte.is_ascii_whitespace() => {}
            ObjectState::Before | ObjectState::Closed => self.state = ObjectState::Other,
        }
    }

    fn inside(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.has_content = true;
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth == 0 {
            self.state = ObjectState::Closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    #[test]
    fn an_object_is_closed_at_its_last_brace() {
        for (text, closed, with_content) in [
            ("", false, false),
            ("{}", true, false),
            (" {\n} \n", true, false),
            (r#"{"a":1"#, false, false),
            (r#"{"a":"}"#, false, false),
            (r#"{"a":"\"}"#, false, false),
            (r#"{"a":"\\"}"#, true, true),
            (r#"{"a":{"b":[{}]}}"#, true, true),
            (r#"{"a":1}{"b":2}"#, false, false),
            ("null", false, false),
            ("\"{}\"", false, false),
        ] {
            let mut watch = ObjectWatch::default();
            watch.push(text);
            assert_eq!((watch.is_closed(), watch.is_closed_with_content()), (closed, with_content), "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[\\PC\"\\\\{}]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"}]{0,3}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn closed_exactly_at_the_end(value in proptest::collection::btree_map("[a-z]{1,2}", value(), 0..4)) {
            let text = Value::Object(value.into_iter().collect()).to_string();
            let mut watch = ObjectWatch::default();
            for (at, letter) in text.char_indices() {
                prop_assert!(!watch.is_closed(), "closed at {at} of {text}");
                watch.push(&letter.to_string());
            }
            prop_assert!(watch.is_closed(), "{}", text);
        }
    }
}
