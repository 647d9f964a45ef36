//! What an extension asks of the host while its code runs; each question passes the extension's own gate.

use crate::call_scope::CallScope;
use crate::fetch::FetchRequest;
use crate::limits::{MAX_ENTRIES, MAX_READ_BYTES};
use crate::stored;
use dispatch_contracts::host::{Host, HostError};
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::permission::PermissionRequest;
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::ModelEvent;
use dispatch_contracts::secret::{Secret, SecretError};
use dispatch_contracts::tool::OutputStream;
use dispatch_os::files::{self, ReplaceOptions};
use dispatch_os::paths::Confined;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Folders of a project in which rules, approvals and registrations are kept; `files` does not reach them.
const RULE_FOLDERS: [&str; 9] =
    [".dispatch", ".ai", ".akira", ".orchestration", ".git", ".github", ".claude", ".cursor", ".vscode"];
/// What stands for a secret where it must not be shown.
const HIDDEN: &str = "[secret]";

/// Answers questions in the name of one extension.
#[derive(Clone)]
pub(crate) struct HostCalls {
    host: Host,
    /// The secrets that the extension was given: they are taken out of what it writes to the log.
    given_secrets: Arc<Mutex<BTreeSet<String>>>,
}

impl HostCalls {
    pub(crate) fn new(host: Host) -> Self {
        Self { host, given_secrets: Arc::default() }
    }

    /// Whose questions these are.
    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// The time that the extension's clock shows when a call begins.
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
        let fields = fields.into_iter().map(|(name, value)| (name, self.without_secrets(value))).collect();
        self.host.log(level, &self.hide_secrets(message), fields);
    }

    /// A text without the secrets that the extension was given.
    pub(crate) fn hide_secrets(&self, text: &str) -> String {
        let given = self.given_secrets.lock().unwrap_or_else(PoisonError::into_inner);
        given.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
    }

    fn without_secrets(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.hide_secrets(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.without_secrets(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, self.without_secrets(value))).collect()
            }
            other => other,
        }
    }

    /// The answer to a question that needs no waiting for others; `None` for another question.
    pub(crate) fn answer_at_once(
        &self,
        operation: &str,
        arguments: &[Value],
        scope: &CallScope,
    ) -> Option<Result<Value, String>> {
        let text = |at: usize| text_at(arguments, at);
        Some(match operation {
            "log" => text(1).map(|message| {
                let fields = arguments.get(2).and_then(Value::as_object).cloned().unwrap_or_default();
                self.log(&text(0).unwrap_or_default(), &message, fields);
                Value::Null
            }),
            "output" => text(0).map(|text| {
                if let Some(tool) = &scope.tool {
                    tool.output(OutputStream::Stdout, text.as_bytes());
                }
                Value::Null
            }),
            "cancelled" => Ok(scope.cancel.is_cancelled().into()),
            "model.event" => model_event(arguments.first(), scope),
            "permissions.check" => self.check_permission(arguments.first()),
            "fetch.close" => {
                scope.bodies.close(handle_at(arguments));
                Ok(Value::Null)
            }
            _ => return None,
        })
    }

    /// The answer to any other question.
    pub(crate) async fn answer(
        &self,
        operation: &str,
        arguments: &[Value],
        scope: &CallScope,
    ) -> Result<Value, String> {
        let text = |at: usize| text_at(arguments, at);
        match operation {
            "files.read" => self.read_file(&text(0)?),
            "files.write" => self.write_file(&text(0)?, &text(1)?),
            "files.list" => self.list_folder(&text(0)?),
            "fetch" => {
                self.require("open connections", Capability::Network)?;
                let (url, method) = (&text(0)?, &text(1)?);
                let request = FetchRequest { url, method, headers: arguments.get(2), body: arguments.get(3) };
                match arguments.get(4).and_then(Value::as_bool) {
                    Some(true) => request.streamed(&scope.bodies).await,
                    _ => request.whole().await,
                }
            }
            "fetch.read" => scope.bodies.read(handle_at(arguments)).await,
            "events.emit" => self.emit(&text(0)?, arguments.get(1).cloned().unwrap_or_default()),
            "service.call" => self.call_service(&text(0)?, &text(1)?, arguments.get(2)).await,
            _ => match operation.split_once('.') {
                Some(("storage", operation)) => self.store(operation, arguments).await,
                Some(("secrets", operation)) => self.keep_secret(operation, &text(0)?, arguments.get(1)).await,
                _ => Err(format!("unknown operation `{operation}`")),
            },
        }
    }

    async fn store(&self, operation: &str, arguments: &[Value]) -> Result<Value, String> {
        let storage = self.host.storage().map_err(|error| refusal(&error))?;
        let prefix = stored::namespace_prefix(&text_at(arguments, 0)?)?;
        let name = text_at(arguments, 1)?;
        if operation == "sql" {
            return stored::sql(&storage, &name, arguments.get(2)).await;
        }
        let key = stored::stored_key(&prefix, &name)?;
        match operation {
            "get" => stored::get(&storage, &key).await,
            "set" => stored::set(&storage, &key, arguments.get(2)).await,
            "delete" => storage.put(&key, None).await.map(|()| Value::Null).map_err(|error| error.to_string()),
            "list" => {
                let keys = storage.keys(&key).await.map_err(|error| error.to_string())?;
                Ok(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).collect())
            }
            _ => Err(format!("unknown operation `storage.{operation}`")),
        }
    }

    async fn keep_secret(&self, operation: &str, name: &str, value: Option<&Value>) -> Result<Value, String> {
        let secrets = self.host.secrets().map_err(|error| refusal(&error))?;
        let done = match operation {
            "get" => match secrets.get(name).await {
                Ok(secret) => {
                    self.remember_secret(secret.expose());
                    return Ok(secret.expose().into());
                }
                Err(SecretError::Missing { .. }) => return Ok(Value::Null),
                Err(error) => Err(error),
            },
            "set" => {
                let secret = value.and_then(Value::as_str).ok_or("a secret must be a text")?;
                self.remember_secret(secret);
                secrets.put(name, Secret::new(secret)).await
            }
            "delete" => secrets.remove(name).await,
            _ => return Err(format!("unknown operation `secrets.{operation}`")),
        };
        done.map(|()| Value::Null).map_err(|error| error.to_string())
    }

    /// Notes what must not show up in a log.
    pub(crate) fn remember_secret(&self, secret: &str) {
        if !secret.is_empty() {
            self.given_secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(secret.to_owned());
        }
    }

    async fn call_service(&self, id: &str, method: &str, arguments: Option<&Value>) -> Result<Value, String> {
        let service = self.host.dynamic().service(id).map_err(|error| error.to_string())?;
        let arguments = arguments.and_then(Value::as_array).cloned().unwrap_or_default();
        service.call(method, arguments).await.map_err(|error| error.to_string())
    }

    /// Tells an event. A refusal is also logged, because code seldom waits for the answer.
    fn emit(&self, id: &str, payload: Value) -> Result<Value, String> {
        let emitted = self.host.dynamic().emit(id, payload).map_err(|error| error.to_string());
        emitted.map(|()| Value::Null).inspect_err(|error| self.host.log(Level::Warn, error, Map::new()))
    }

    fn check_permission(&self, request: Option<&Value>) -> Result<Value, String> {
        let field = |name: &str| request.and_then(|request| request.get(name)).and_then(Value::as_str);
        let permission = field("permission").ok_or("`permission` of the request must be a text")?.to_owned();
        let target = field("target").unwrap_or("*").to_owned();
        serde_json::to_value(self.host.permission(&PermissionRequest { permission, target }))
            .map_err(|error| error.to_string())
    }

    /// Whether the extension asked for a capability and got it; else why not.
    pub(crate) fn require(&self, action: &'static str, capability: Capability) -> Result<(), String> {
        self.host.dynamic().require(action, capability).map_err(|error| refusal(&error))
    }

    fn workspace(&self, action: &'static str) -> Result<Confined, String> {
        self.require(action, Capability::Fs)?;
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
}

/// A refusal of the host, with what the user can do about a capability that was not granted.
fn refusal(error: &HostError) -> String {
    match error {
        HostError::NotGranted { extension, capability, .. } => format!(
            "{error}; to grant it, write `[grants.{extension}]` and `capabilities = [\"{}\"]` into dispatch.toml",
            capability.name()
        ),
        _ => error.to_string(),
    }
}

/// Passes an event of a model on; answers whether more of them are wanted.
fn model_event(event: Option<&Value>, scope: &CallScope) -> Result<Value, String> {
    let Some(events) = &scope.events else { return Err("this is not the call of a model".to_owned()) };
    let event: ModelEvent = serde_json::from_value(event.cloned().unwrap_or_default())
        .map_err(|error| format!("invalid model event: {error}"))?;
    let is_wanted = !scope.cancel.is_cancelled() && events.unbounded_send(event).is_ok();
    Ok(is_wanted.into())
}

fn text_at(arguments: &[Value], at: usize) -> Result<String, String> {
    let given = arguments.get(at).and_then(Value::as_str);
    given.map(str::to_owned).ok_or_else(|| "an argument is missing or not a text".to_owned())
}

fn handle_at(arguments: &[Value]) -> u64 {
    arguments.first().and_then(Value::as_u64).unwrap_or_default()
}
