//! Remembers in which form a server tells its reasoning, so that it gets it back in the same form.
//!
//! Pure.

use serde_json::{Map, Value, json};

/// How many `reasoning_details` are kept of one reply.
pub(crate) const MAX_DETAILS: usize = 4096;

/// The fields that carry reasoning as plain text, most common first.
pub(crate) const TEXT_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The field that carries reasoning in sealed parts.
pub(crate) const DETAILS: &str = "reasoning_details";

/// The reasoning of one reply so far.
#[derive(Debug, Default)]
pub(crate) struct Reasoning {
    field: Option<&'static str>,
    details: Vec<Map<String, Value>>,
    open: bool,
}

impl Reasoning {
    /// Takes the reasoning of one delta and gives the text to show.
    pub(crate) fn push(&mut self, delta: &Value) -> String {
        let details = delta.get(DETAILS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        details.iter().filter_map(Value::as_object).for_each(|detail| self.add_detail(detail));
        self.open |= !details.is_empty();
        let found = TEXT_FIELDS.iter().find_map(|field| {
            let text = delta.get(field)?.as_str().filter(|text| !text.is_empty())?;
            Some((*field, text.to_owned()))
        });
        match found {
            Some((field, text)) => {
                self.field.get_or_insert(field);
                self.open = true;
                text
            }
            // The plain fields repeat what the details say, so these count only alone.
            None => details.iter().filter_map(detail_text).collect(),
        }
    }

    /// What to keep with the reasoning, when something else follows it.
    pub(crate) fn seal(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.open) {
            return None;
        }
        let details = std::mem::take(&mut self.details);
        match self.field {
            _ if !details.is_empty() => Some(json!({ DETAILS: details }).to_string()),
            Some(field) => Some(json!({ "field": field }).to_string()),
            None => None,
        }
    }

    /// Joins the pieces of one detail, which share an index and a kind.
    fn add_detail(&mut self, detail: &Map<String, Value>) {
        let same = |known: &Map<String, Value>| {
            detail.contains_key("index")
                && known.get("index") == detail.get("index")
                && known.get("type") == detail.get("type")
        };
        if let Some(known) = self.details.last_mut().filter(|known| same(known)) {
            detail.iter().for_each(|(key, value)| join(known, key, value));
        } else if self.details.len() < MAX_DETAILS {
            self.details.push(detail.clone());
        }
    }
}

/// The fields of an assistant message that give kept reasoning back to the server it came from.
pub(crate) fn given_back(text: &str, signature: Option<&str>) -> Option<(&'static str, Value)> {
    let kept: Value = serde_json::from_str(signature?).ok()?;
    if let Some(details) = kept.get(DETAILS).filter(|details| details.is_array()) {
        return Some((DETAILS, details.clone()));
    }
    let named = kept.get("field")?.as_str()?;
    let field = TEXT_FIELDS.iter().find(|field| **field == named)?;
    Some((field, Value::from(text)))
}

fn join(known: &mut Map<String, Value>, key: &str, value: &Value) {
    let grows = ["text", "summary", "data"].contains(&key);
    match (known.get_mut(key), value) {
        (Some(Value::String(before)), Value::String(more)) if grows => before.push_str(more),
        (_, Value::Null) => {}
        _ => {
            known.insert(key.to_owned(), value.clone());
        }
    }
}

fn detail_text(detail: &Value) -> Option<String> {
    let text = detail.get("text").or_else(|| detail.get("summary"))?;
    text.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(deltas: &[Value]) -> (String, Option<String>) {
        let mut reasoning = Reasoning::default();
        let text = deltas.iter().map(|delta| reasoning.push(delta)).collect();
        let seal = reasoning.seal();
        assert_eq!(reasoning.seal(), None, "sealed once");
        (text, seal)
    }

    #[test]
    fn each_plain_field_goes_back_under_its_own_name() {
        for field in TEXT_FIELDS {
            let (text, seal) = run(&[json!({ field: "a" }), json!({ field: "b", "content": null })]);
            assert_eq!(text, "ab");
            assert_eq!(given_back(&text, seal.as_deref()), Some((field, json!("ab"))));
        }
        assert_eq!(
            run(&[json!({ "content": "a" }), json!({ "reasoning": null, "reasoning_content": "" })]),
            (String::new(), None)
        );
    }

    #[test]
    fn details_are_joined_and_not_shown_twice() {
        let piece = |text: &str| json!({ "type": "reasoning.text", "index": 0, "text": text, "signature": null });
        let (text, seal) = run(&[
            json!({ "reasoning": "a", DETAILS: [piece("a")] }),
            json!({ "reasoning": "b", DETAILS: [piece("b")] }),
            json!({ DETAILS: [{ "type": "reasoning.text", "index": 0, "signature": "s" }] }),
            json!({ DETAILS: [{ "type": "reasoning.encrypted", "index": 1, "data": "x" }] }),
        ]);
        assert_eq!(text, "ab");
        let expected = json!([
            { "type": "reasoning.text", "index": 0, "text": "ab", "signature": "s" },
            { "type": "reasoning.encrypted", "index": 1, "data": "x" },
        ]);
        assert_eq!(given_back(&text, seal.as_deref()), Some((DETAILS, expected)));
        assert_eq!(run(&[json!({ DETAILS: [piece("only here")] })]).0, "only here");
    }

    #[test]
    fn a_seal_of_somebody_else_is_not_sent() {
        for signature in
            [None, Some("abc"), Some("{}"), Some(r#"{"field":"messages"}"#), Some(r#"{"reasoning_details":1}"#)]
        {
            assert_eq!(given_back("a", signature), None);
        }
    }
}
