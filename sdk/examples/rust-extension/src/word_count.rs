//! The extension: a command that counts the words that follow it.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Command;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::host::Host;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The extension.
pub(crate) fn extension() -> Arc<dyn Extension> {
    Arc::new(WordCount)
}

struct WordCount;

impl Extension for WordCount {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let command = Command {
            name: "count".to_owned(),
            summary: "Counts words.".to_owned(),
            respond: Arc::new(|request| Box::pin(std::future::ready(Ok(count(&request).into())))),
        };
        Box::pin(std::future::ready(host.define_command(command).map(drop).map_err(ExtensionError::new)))
    }
}

/// How many words a request has.
fn count(request: &Value) -> usize {
    let words = request.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    words.map(|text| text.split_whitespace().count()).sum()
}
