//! A prompt's content as text and pictures for a session.
//!
//! Pure.

use super::rpc_message::RpcError;
use dispatch_contracts::conversation::Image;
use serde::Deserialize;

/// A piece of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PromptBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    ResourceLink {
        uri: String,
        #[serde(default)]
        name: String,
    },
    Resource {
        resource: EmbeddedResource,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddedResource {
    uri: String,
    #[serde(default)]
    text: Option<String>,
}

/// The text and the pictures of a prompt. Embedded files are set apart from the user's own words;
/// a link becomes the path that the agent's tools can read.
pub(super) fn compose(blocks: Vec<PromptBlock>) -> Result<(String, Vec<Image>), RpcError> {
    let (mut text, mut images, mut attached) = (String::new(), Vec::new(), String::new());
    for block in blocks {
        match block {
            PromptBlock::Text { text: words } => text.push_str(&words),
            PromptBlock::Image { data, mime_type } => images.push(Image { media_type: mime_type, data }),
            PromptBlock::ResourceLink { uri, name } => {
                let path = uri.strip_prefix("file://").unwrap_or(&uri);
                text.push_str(if path.is_empty() { &name } else { path });
            }
            PromptBlock::Resource { resource: EmbeddedResource { uri, text: Some(content) } } => {
                let path = uri.strip_prefix("file://").unwrap_or(&uri);
                text.push_str(path);
                let end = if content.ends_with('\n') { "" } else { "\n" };
                attached.push_str(&format!("\n\n<file path=\"{path}\">\n{content}{end}</file>"));
            }
            PromptBlock::Resource { .. } | PromptBlock::Other => {
                return Err(RpcError::params("a prompt may hold text, pictures, links and embedded text files"));
            }
        }
    }
    text.push_str(&attached);
    if text.trim().is_empty() && images.is_empty() {
        return Err(RpcError::params("the prompt is empty"));
    }
    Ok((text, images))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn composed(blocks: serde_json::Value) -> Result<(String, Vec<Image>), RpcError> {
        compose(serde_json::from_value(blocks).unwrap())
    }

    #[test]
    fn a_prompt_keeps_its_words_and_names_its_files() {
        let (text, images) = composed(json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///a/b.rs", "name": "b.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///a/c.rs", "mimeType": "text/rust", "text": "fn c() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        ]))
        .unwrap();
        assert_eq!(text, "Look at /a/b.rs and /a/c.rs\n\n<file path=\"/a/c.rs\">\nfn c() {}\n</file>");
        assert_eq!(images.len(), 1);
    }

    #[test]
    fn what_a_session_cannot_take_is_refused() {
        for bad in [
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            json!([{"type": "resource", "resource": {"uri": "file:///x", "blob": "AAAA"}}]),
        ] {
            assert!(composed(bad.clone()).is_err(), "{bad}");
        }
    }
}
