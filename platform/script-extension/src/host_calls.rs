//! What an extension asks of the host while its code runs; each question passes the extension's own gate.

use crate::limits::{FETCH, MAX_ENTRIES, MAX_KEY_BYTES, MAX_READ_BYTES, MAX_RESPONSE_BYTES, MAX_STORED_BYTES};
use dispatch_contracts::host::{Host, HostError};
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::ports::Level;
use dispatch_contracts::storage::Storage;
use dispatch_contracts::tool::{OutputStream, ToolContext};
use dispatch_http::{ClientKind, Redirects, client, root_cause};
use dispatch_os::files::{self, ReplaceOptions};
use dispatch_os::paths::Confined;
use reqwest::{Method, Url};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;

/// Folders of a project in which rules, approvals and registrations are kept; `files` does not reach them.
const RULE_FOLDERS: [&str; 9] =
    [".dispatch", ".ai", ".akira", ".orchestration", ".git", ".github", ".claude", ".cursor", ".vscode"];

/// Answers questions in the name of one extension.
#[derive(Clone)]
pub(crate) struct HostCalls {
    host: Host,
}

impl HostCalls {
    pub(crate) const fn new(host: Host) -> Self {
        Self { host }
    }

    /// The time that the extension's clock shows during a call.
    #[expect(clippy::cast_precision_loss, reason = "a time in milliseconds fits")]
    pub(crate) fn now_ms(&self) -> f64 {
        self.host.clock().now_ms() as f64
    }

    pub(crate) fn log(&self, level: &str, message: &str, fields: Map<String, Value>) {
        let level = match level {
            "debug" => Level::Debug,
            "warn" => Level::Warn,
            "error" => Level::Error,
            _ => Level::Info,
        };
        self.host.log(level, message, fields);
    }

    /// The answer to a question that needs no waiting for others; `None` for another question.
    pub(crate) fn answer_at_once(
        &self,
        operation: &str,
        arguments: &[Value],
        tool: Option<&ToolContext>,
    ) -> Option<Result<Value, String>> {
        let text = |at: usize| text_at(arguments, at);
        Some(match operation {
            "log" => text(1).map(|message| {
                let fields = arguments.get(2).and_then(Value::as_object).cloned().unwrap_or_default();
                self.log(&text(0).unwrap_or_default(), &message, fields);
                Value::Null
            }),
            "output" => text(0).map(|text| {
                if let Some(tool) = tool {
                    tool.output(OutputStream::Stdout, text.as_bytes());
                }
                Value::Null
            }),
            "cancelled" => Ok(tool.is_some_and(ToolContext::cancelled).into()),
            "files.read" => text(0).and_then(|path| self.read_file(&path)),
            "files.write" => text(0).and_then(|path| self.write_file(&path, &text(1)?)),
            "files.list" => text(0).and_then(|path| self.list_folder(&path)),
            _ => return None,
        })
    }

    /// The answer to any other question.
    pub(crate) async fn answer(&self, operation: &str, arguments: &[Value]) -> Result<Value, String> {
        let text = |at: usize| text_at(arguments, at);
        if operation == "fetch" {
            return self.fetch(&text(0)?, &text(1)?, arguments.get(2), arguments.get(3)).await;
        }
        let Some(operation) = operation.strip_prefix("storage.") else {
            return Err(format!("unknown operation `{operation}`"));
        };
        let storage = self.host.storage().map_err(|error| self.refusal(&error))?;
        let prefix = namespace_prefix(&text(0)?)?;
        let key = stored_key(&prefix, &text(1)?)?;
        match operation {
            "get" => get(&storage, &key).await,
            "set" => set(&storage, &key, arguments.get(2)).await,
            "delete" => storage.put(&key, None).await.map(|()| Value::Null).map_err(|error| error.to_string()),
            "list" => {
                let keys = storage.keys(&key).await.map_err(|error| error.to_string())?;
                Ok(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).collect())
            }
            _ => Err(format!("unknown operation `storage.{operation}`")),
        }
    }

    /// A refusal of the host, with what the user can do about a capability that was not granted.
    fn refusal(&self, error: &HostError) -> String {
        match error {
            HostError::NotGranted { extension, capability, .. } => format!(
                "{error}; to grant it, write `[grants.{extension}]` and `capabilities = [\"{}\"]` into dispatch.toml",
                capability.name()
            ),
            _ => error.to_string(),
        }
    }

    fn workspace(&self, action: &'static str) -> Result<Confined, String> {
        self.host.dynamic().require(action, Capability::Fs).map_err(|error| self.refusal(&error))?;
        let folders = self.host.folders();
        let workspace = Confined::workspace(folders.project.as_deref(), &folders.workdir);
        let workspace = workspace.map_err(|error| error.to_string())?;
        let rules = RULE_FOLDERS.map(|name| workspace.root().join(name));
        let closed: Vec<&Path> = folders.closed_to_tools().into_iter().chain(rules.iter().map(AsRef::as_ref)).collect();
        Ok(workspace.closing(&closed))
    }

    fn read_file(&self, path: &str) -> Result<Value, String> {
        let place = self.workspace("read files")?.locate(Path::new(path)).map_err(|error| error.to_string())?;
        let file = place.open().map_err(|error| error.to_string())?;
        let bytes = files::read_file_at_most(file, place.path(), MAX_READ_BYTES).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Value::from).map_err(|_| format!("{path} is not text in UTF-8"))
    }

    fn write_file(&self, path: &str, content: &str) -> Result<Value, String> {
        let place = self.workspace("write files")?.locate(Path::new(path)).map_err(|error| error.to_string())?;
        let access = place.access().unwrap_or(files::Access::Usual);
        let options = ReplaceOptions { access, ..ReplaceOptions::default() };
        place.replace(content.as_bytes(), options).map(|()| Value::Null).map_err(|error| error.to_string())
    }

    fn list_folder(&self, path: &str) -> Result<Value, String> {
        let place = self.workspace("list files")?.locate(Path::new(path)).map_err(|error| error.to_string())?;
        let entries = files::read_dir(place.path()).map_err(|error| format!("cannot list {path}: {error}"))?;
        let mut listed: Vec<(String, &str)> = Vec::new();
        for entry in entries.flatten().take(MAX_ENTRIES) {
            let kind = entry.file_type().map_or("other", |kind| match kind {
                kind if kind.is_dir() => "folder",
                kind if kind.is_file() => "file",
                _ => "other",
            });
            listed.extend(entry.file_name().into_string().ok().map(|name| (name, kind)));
        }
        listed.sort();
        Ok(listed.into_iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect())
    }

    async fn fetch(
        &self,
        url: &str,
        method: &str,
        headers: Option<&Value>,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        self.host.dynamic().require("open connections", Capability::Network).map_err(|error| self.refusal(&error))?;
        let url = Url::parse(url).map_err(|error| format!("invalid URL `{url}`: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("invalid URL `{url}`: only http and https are fetched"));
        }
        let method = Method::from_str(method).map_err(|_| format!("invalid method `{method}`"))?;
        let client = client(ClientKind::of(&url), Redirects::SameOrigin).map_err(|error| error.to_string())?;
        let mut request = client.request(method, url).timeout(FETCH);
        for (name, value) in headers.and_then(Value::as_object).into_iter().flatten() {
            request = request.header(name, value.as_str().ok_or_else(|| format!("the header `{name}` is not a text"))?);
        }
        if let Some(body) = body.filter(|body| !body.is_null()) {
            request = request.body(body.as_str().ok_or("the body is not a text")?.to_owned());
        }
        let mut answer = request.send().await.map_err(|error| root_cause(&error))?;
        let (status, mut bytes) = (answer.status().as_u16(), Vec::new());
        let shown = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            Some((name.to_string(), Value::from(value.to_str().ok()?)))
        };
        let headers: Map<String, Value> = answer.headers().iter().filter_map(shown).collect();
        while let Some(chunk) = answer.chunk().await.map_err(|error| root_cause(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_RESPONSE_BYTES {
                return Err(format!("the answer has more than {MAX_RESPONSE_BYTES} bytes"));
            }
        }
        Ok(json!({ "status": status, "headers": headers, "body": String::from_utf8_lossy(&bytes) }))
    }
}

fn text_at(arguments: &[Value], at: usize) -> Result<String, String> {
    let given = arguments.get(at).and_then(Value::as_str);
    given.map(str::to_owned).ok_or_else(|| "an argument is missing or not a text".to_owned())
}

/// What the keys of a namespace begin with.
fn namespace_prefix(namespace: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if namespace.is_empty() || namespace.len() > MAX_KEY_BYTES || !namespace.bytes().all(is_plain) {
        return Err(format!("invalid namespace `{namespace}`: use letters, digits, `-`, `_` and `.`"));
    }
    Ok(format!("{namespace}/"))
}

fn stored_key(prefix: &str, key: &str) -> Result<String, String> {
    if key.len() > MAX_KEY_BYTES || key.contains('\0') {
        return Err(format!("invalid key: it has more than {MAX_KEY_BYTES} bytes or contains NUL"));
    }
    Ok(format!("{prefix}{key}"))
}

async fn get(storage: &Arc<dyn Storage>, key: &str) -> Result<Value, String> {
    let stored = storage.get(key).await.map_err(|error| error.to_string())?;
    stored.map_or(Ok(Value::Null), |bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

async fn set(storage: &Arc<dyn Storage>, key: &str, value: Option<&Value>) -> Result<Value, String> {
    let bytes = value.unwrap_or(&Value::Null).to_string().into_bytes();
    if bytes.len() > MAX_STORED_BYTES {
        return Err(format!("the value has {} bytes; at most {MAX_STORED_BYTES} are stored", bytes.len()));
    }
    storage.put(key, Some(bytes)).await.map(|()| Value::Null).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_and_keys_do_not_mix() {
        assert_eq!(namespace_prefix("counts").as_deref(), Ok("counts/"));
        for wrong in ["", "a/b", "a b", "ä"] {
            assert!(namespace_prefix(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(stored_key("a/", "b/c").as_deref(), Ok("a/b/c"));
        assert!(stored_key("a/", &"x".repeat(MAX_KEY_BYTES + 1)).is_err());
    }
}
