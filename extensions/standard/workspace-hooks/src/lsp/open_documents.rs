//! The content of open documents as the client has it, for those who want it before it is saved.
//!
//! Pure.

use serde_json::Value;
use std::collections::HashMap;

/// A larger document is not kept.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// More documents are not kept.
const MAX_DOCUMENTS: usize = 1_000;

/// Open documents by URI.
#[derive(Debug, Default)]
pub(super) struct OpenDocuments {
    texts: HashMap<String, String>,
}

impl OpenDocuments {
    pub(super) fn text(&self, uri: &str) -> Option<&str> {
        self.texts.get(uri).map(String::as_str)
    }

    pub(super) fn opened(&mut self, params: &Value) {
        let text = params.pointer("/textDocument/text").and_then(Value::as_str);
        self.keep(params, text);
    }

    /// The whole content comes with each change, as the server asked for it; the last one counts.
    pub(super) fn changed(&mut self, params: &Value) {
        let changes = params.get("contentChanges").and_then(Value::as_array);
        let text = changes.and_then(|changes| changes.last()?.get("text")?.as_str());
        self.keep(params, text);
    }

    pub(super) fn closed(&mut self, params: &Value) {
        self.keep(params, None);
    }

    fn keep(&mut self, params: &Value, text: Option<&str>) {
        let Some(uri) = params.pointer("/textDocument/uri").and_then(Value::as_str) else { return };
        let room = self.texts.len() < MAX_DOCUMENTS || self.texts.contains_key(uri);
        match text.filter(|text| text.len() <= MAX_TEXT_BYTES && room) {
            Some(text) => self.texts.insert(uri.to_owned(), text.to_owned()),
            None => self.texts.remove(uri),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_content_counts_until_the_document_is_closed() {
        let mut documents = OpenDocuments::default();
        let document = json!({"uri": "file:///a", "text": "one"});
        documents.opened(&json!({"textDocument": document}));
        assert_eq!(documents.text("file:///a"), Some("one"));
        documents.changed(&json!({"textDocument": document, "contentChanges": [{"text": "two"}, {"text": "three"}]}));
        assert_eq!(documents.text("file:///a"), Some("three"));
        let large = "x".repeat(MAX_TEXT_BYTES + 1);
        documents.changed(&json!({"textDocument": document, "contentChanges": [{"text": large}]}));
        assert_eq!(documents.text("file:///a"), None, "an old content must not be taken for the present one");
        documents.opened(&json!({"textDocument": document}));
        documents.closed(&json!({"textDocument": document}));
        assert_eq!(documents.text("file:///a"), None);
    }
}
