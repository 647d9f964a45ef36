//! What each message of a client means. Nothing is done here, so nothing here can keep the next message waiting.

use super::capabilities::{APPROVE, CANCEL, ClientCapabilities, RETRY, REVIEW, START, WillSave, offered};
use super::document_events::DocumentNotice;
use super::open_documents::OpenDocuments;
use super::wire::{
    ApproveWire, CommandWire, DocumentWire, FilesWire, FolderChangeWire, FolderWire, InitializeWire, RenamesWire,
    StartWire,
};
use crate::contract::RunId;
use crate::file_names::{FOLDER, HOOKS_FILE};
use crate::root::workspace_of;
use dispatch_os::paths::path_of_uri;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What has to be done about a message.
#[derive(Debug)]
pub(super) enum ProtocolEffect {
    Send(Message),
    /// The client is known: what it can do, and the process that it must not outlive.
    Begin(ClientCapabilities, Option<u32>),
    /// A workspace is open from now on.
    Open(PathBuf),
    Close(PathBuf),
    DocumentNotice(DocumentNotice),
    /// The hooks of a workspace may have changed.
    Check(PathBuf),
    /// The client waits for edits of a document, with this content, before it saves it.
    WillSave(RequestId, String, String),
    /// The client wants to see the hooks of this file.
    Lenses(RequestId, PathBuf),
    Command(RequestId, ClientCommand),
    Answer(Response),
    /// The client wants files watched that say which hooks there are.
    WatchHooks,
    /// The client is about to leave and waits for this answer.
    ShutDown(RequestId),
    Exit(ClientExit),
}

/// What a client asks to be done.
#[derive(Debug)]
pub(super) enum ClientCommand {
    Start { hook: String, file: Option<String>, workspace: PathBuf },
    Cancel(RunId),
    Retry(RunId),
    Review(PathBuf),
    Approve { workspace: PathBuf, token: String },
}

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientExit {
    /// As the protocol says.
    Proper,
    /// Without asking to shut down first, or because its process is gone.
    Abrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProtocolPhase {
    New,
    Open,
    ShutDown,
}

/// One client, from its first message to its last.
pub(super) struct ClientProtocol {
    phase: ProtocolPhase,
    client: ClientCapabilities,
    /// Where to work for a client that names no folder.
    fallback: PathBuf,
    /// The client's folders, as it names them.
    folders: Vec<String>,
    documents: OpenDocuments,
}

impl ClientProtocol {
    pub(super) fn new(fallback: PathBuf) -> Self {
        let (client, documents) = (ClientCapabilities::default(), OpenDocuments::default());
        Self { phase: ProtocolPhase::New, client, fallback, folders: Vec::new(), documents }
    }

    /// What a message means.
    pub(super) fn handle(&mut self, message: Message) -> Vec<ProtocolEffect> {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => self.notification(notification),
            Message::Response(response) => vec![ProtocolEffect::Answer(response)],
        }
    }

    /// The workspaces of the client's folders, each once.
    fn workspaces(&self) -> Vec<PathBuf> {
        let named = self.folders.iter().filter_map(|uri| path_of_uri(uri));
        let mut found: Vec<PathBuf> = named.map(|folder| workspace_of(&folder)).collect();
        if self.folders.is_empty() {
            found.push(workspace_of(&self.fallback));
        }
        found.sort();
        found.dedup();
        found
    }

    fn request(&mut self, request: Request) -> Vec<ProtocolEffect> {
        let Request { id, method, params } = request;
        let refused = |code: ErrorCode, why: &str| vec![ProtocolEffect::Send(refusal(id.clone(), code, why))];
        match (self.phase, method.as_str()) {
            (ProtocolPhase::New, "initialize") => self.initialize(id, params),
            (ProtocolPhase::New, _) => {
                refused(ErrorCode::ServerNotInitialized, "the first request must be `initialize`")
            }
            (ProtocolPhase::ShutDown, _) => refused(ErrorCode::InvalidRequest, "the server is shut down"),
            (ProtocolPhase::Open, "initialize") => {
                refused(ErrorCode::InvalidRequest, "the server is initialized already")
            }
            (ProtocolPhase::Open, "shutdown") => {
                self.phase = ProtocolPhase::ShutDown;
                vec![ProtocolEffect::ShutDown(id)]
            }
            (ProtocolPhase::Open, "textDocument/willSaveWaitUntil") => self.will_save_wait_until(id, params),
            (ProtocolPhase::Open, "textDocument/codeLens") => match uri_in(params).as_deref().and_then(path_of_uri) {
                Some(path) if is_hooks(&path) => vec![ProtocolEffect::Lenses(id, path)],
                _ => vec![ProtocolEffect::Send(answer(id, json!([])))],
            },
            (ProtocolPhase::Open, "workspace/executeCommand") => self.command(id, params),
            (ProtocolPhase::Open, _) => refused(ErrorCode::MethodNotFound, "unknown method"),
        }
    }

    fn initialize(&mut self, id: RequestId, params: Value) -> Vec<ProtocolEffect> {
        let Some(wire) = read::<InitializeWire>(params) else {
            return vec![ProtocolEffect::Send(refusal(id, ErrorCode::InvalidParams, "invalid parameters"))];
        };
        self.phase = ProtocolPhase::Open;
        self.client = ClientCapabilities::read(&wire.capabilities, &wire.initialization_options);
        let folders = wire.workspace_folders.unwrap_or_default();
        self.folders = folders.into_iter().map(|folder| folder.uri).collect();
        if self.folders.is_empty() {
            self.folders.extend(wire.root_uri);
        }
        let result = json!({
            "capabilities": offered(self.client),
            "serverInfo": { "name": "dispatch", "version": env!("CARGO_PKG_VERSION") },
        });
        let begin = ProtocolEffect::Begin(self.client, wire.process_id);
        vec![begin, ProtocolEffect::Send(answer(id, result))]
    }

    fn will_save_wait_until(&self, id: RequestId, params: Value) -> Vec<ProtocolEffect> {
        let uri = uri_in(params).filter(|_| self.client.will_save == WillSave::Asked);
        let content = uri.as_deref().and_then(|uri| self.documents.text(uri)).map(str::to_owned);
        match (uri, content) {
            (Some(uri), Some(content)) => vec![ProtocolEffect::WillSave(id, uri, content)],
            // Its content is not known, or too large to be kept; the hooks are told that it is saved.
            (Some(uri), None) => vec![
                ProtocolEffect::Send(answer(id, json!([]))),
                ProtocolEffect::DocumentNotice(DocumentNotice::WillSave(uri)),
            ],
            (None, _) => vec![ProtocolEffect::Send(answer(id, json!([])))],
        }
    }

    fn command(&self, id: RequestId, params: Value) -> Vec<ProtocolEffect> {
        let wrong = |why: &str| vec![ProtocolEffect::Send(refusal(id.clone(), ErrorCode::InvalidParams, why))];
        let Some(wire) = read::<CommandWire>(params) else { return wrong("invalid parameters") };
        let argument = wire.arguments.into_iter().next().unwrap_or_default();
        let command = match wire.command.as_str() {
            START => {
                let start = match argument {
                    Value::String(hook) => StartWire { hook, ..StartWire::default() },
                    other => read(other).unwrap_or_default(),
                };
                if start.hook.is_empty() {
                    return wrong("the argument must name a hook");
                }
                let named = start.workspace.map(PathBuf::from);
                let of_file = || start.uri.as_deref().and_then(path_of_uri).map(|path| workspace_of(&path));
                let workspace = named.or_else(of_file).or_else(|| self.workspaces().into_iter().next());
                let workspace = workspace.unwrap_or_else(|| self.fallback.clone());
                ClientCommand::Start { hook: start.hook, file: start.uri, workspace }
            }
            CANCEL | RETRY => {
                let Value::String(run) = argument else { return wrong("the argument must name a run") };
                if wire.command == CANCEL {
                    ClientCommand::Cancel(RunId(run))
                } else {
                    ClientCommand::Retry(RunId(run))
                }
            }
            REVIEW | APPROVE => {
                let wanted: ApproveWire = read(argument).unwrap_or_default();
                let workspace = wanted.workspace.map(PathBuf::from).or_else(|| self.workspaces().into_iter().next());
                let workspace = workspace.unwrap_or_else(|| self.fallback.clone());
                match wanted.token {
                    _ if wire.command == REVIEW => ClientCommand::Review(workspace),
                    Some(token) => ClientCommand::Approve { workspace, token },
                    None => return wrong("the argument must hold the token of a review"),
                }
            }
            _ => return wrong("unknown command"),
        };
        vec![ProtocolEffect::Command(id, command)]
    }

    fn notification(&mut self, notification: Notification) -> Vec<ProtocolEffect> {
        let Notification { method, params } = notification;
        match (self.phase, method.as_str()) {
            (phase, "exit") => {
                vec![ProtocolEffect::Exit(if phase == ProtocolPhase::ShutDown {
                    ClientExit::Proper
                } else {
                    ClientExit::Abrupt
                })]
            }
            (ProtocolPhase::Open, "initialized") => {
                let mut effects: Vec<ProtocolEffect> =
                    self.workspaces().into_iter().map(ProtocolEffect::Open).collect();
                if self.client.watched_files {
                    effects.push(ProtocolEffect::WatchHooks);
                }
                effects
            }
            (ProtocolPhase::Open, "textDocument/didSave") => uri_in(params).map_or_else(Vec::new, saved),
            (ProtocolPhase::Open, "textDocument/willSave") if self.client.will_save == WillSave::Told => uri_in(params)
                .map(|uri| ProtocolEffect::DocumentNotice(DocumentNotice::WillSave(uri)))
                .into_iter()
                .collect(),
            (ProtocolPhase::Open, "textDocument/didOpen") => {
                if self.client.will_save == WillSave::Asked {
                    self.documents.opened(&params);
                }
                uri_in(params).and_then(|uri| check(&uri)).into_iter().collect()
            }
            (ProtocolPhase::Open, "textDocument/didChange") => {
                self.documents.changed(&params);
                Vec::new()
            }
            (ProtocolPhase::Open, "textDocument/didClose") => {
                self.documents.closed(&params);
                Vec::new()
            }
            (ProtocolPhase::Open, "workspace/didChangeWatchedFiles") => {
                changed_files(&params).filter_map(check).collect()
            }
            (ProtocolPhase::Open, "workspace/didChangeWorkspaceFolders") => self.folders_changed(params),
            (ProtocolPhase::Open, method) => files_changed(method, params),
            _ => Vec::new(),
        }
    }

    fn folders_changed(&mut self, params: Value) -> Vec<ProtocolEffect> {
        let Some(FolderChangeWire { event }) = read(params) else { return Vec::new() };
        let before = self.workspaces();
        self.folders.retain(|known| !event.removed.iter().any(|folder| folder.uri == *known));
        self.folders.extend(event.added.into_iter().map(|folder| folder.uri));
        let after = self.workspaces();
        let closed = before.iter().filter(|workspace| !after.contains(workspace)).cloned().map(ProtocolEffect::Close);
        let opened = after.iter().filter(|workspace| !before.contains(workspace)).cloned().map(ProtocolEffect::Open);
        closed.chain(opened).collect()
    }
}

fn saved(uri: String) -> Vec<ProtocolEffect> {
    let check = check(&uri);
    check.into_iter().chain([ProtocolEffect::DocumentNotice(DocumentNotice::Saved(uri))]).collect()
}

fn files_changed(method: &str, params: Value) -> Vec<ProtocolEffect> {
    let names = |files: Vec<FolderWire>| files.into_iter().map(|file| file.uri).collect();
    let notice = match method {
        "workspace/didCreateFiles" => read::<FilesWire>(params).map(|wire| DocumentNotice::Created(names(wire.files))),
        "workspace/didDeleteFiles" => read::<FilesWire>(params).map(|wire| DocumentNotice::Deleted(names(wire.files))),
        "workspace/didRenameFiles" => read::<RenamesWire>(params).map(|wire| {
            DocumentNotice::Renamed(wire.files.into_iter().map(|file| (file.old_uri, file.new_uri)).collect())
        }),
        _ => None,
    };
    notice.map(ProtocolEffect::DocumentNotice).into_iter().collect()
}

/// Whether a file holds the hooks of a workspace.
pub(super) fn is_hooks(path: &Path) -> bool {
    path.ends_with(Path::new(FOLDER).join(HOOKS_FILE))
}

fn check(uri: &str) -> Option<ProtocolEffect> {
    let path = path_of_uri(uri).filter(|path| is_hooks(path))?;
    Some(ProtocolEffect::Check(workspace_of(path.parent()?.parent()?)))
}

fn changed_files(params: &Value) -> impl Iterator<Item = &str> {
    let changes = params.get("changes").and_then(Value::as_array).into_iter().flatten();
    changes.filter_map(|change| change.get("uri").and_then(Value::as_str))
}

fn uri_in(params: Value) -> Option<String> {
    read::<DocumentWire>(params).map(|wire| wire.text_document.uri)
}

fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}

pub(super) fn answer(id: RequestId, result: Value) -> Message {
    Response { id, response_result: Ok(result) }.into()
}

pub(super) fn refusal(id: RequestId, code: ErrorCode, why: &str) -> Message {
    Response::new_err(id, code as i32, why.to_owned()).into()
}
