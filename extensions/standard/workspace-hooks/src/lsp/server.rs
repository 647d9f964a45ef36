//! The server: reads messages, does what they mean, and tells the client what becomes of the runs.

use super::capabilities::WillSave;
use super::client_writer::ClientWriter;
use super::code_lens::lenses;
use super::diagnostics::diagnostic;
use super::document_events::{DocumentNotice, real};
use super::event_submission::{OpenWorkspaces, submit_all};
use super::frame::{self, Frame};
use super::hook_lines::hook_lines;
use super::person_messages::{PersonMessages, late_text};
use super::protocol::{ClientCommand, ClientExit, ClientProtocol, ProtocolEffect, answer, refusal};
use super::run_reports::RunReporter;
use super::save_support::{notes, unserved};
use super::will_save::{DocumentToSave, SaveEdits, edits, remove_old_copies};
use super::wire::MessageTypeWire;
use crate::approval::editor_approval::{self, AGENT_APPROVES, HookApprover};
use crate::content::content_hash;
use crate::contract::{
    Change, Event, ExecutionRecord, FileChange, HookSet, RunQuery, Runs, RunsError, Source, Trigger,
};
use crate::file_names::SHOWN;
use crate::root::workspace_of;
use crate::watch::slashed;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::{Clock, Spawner};
use dispatch_os::files::read_text_at_most;
use dispatch_os::paths::{path_of_uri, uri_of_path};
use dispatch_os::threads;
use futures_channel::mpsc::{self, UnboundedSender};
use futures_channel::oneshot;
use futures_util::future::{AbortHandle, Abortable, Shared, select};
use futures_util::{FutureExt, StreamExt};
use lsp_server::{ErrorCode, Message, Notification, RequestId};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

mod client_process;

/// More notices than this never wait while one is handed over.
const MAX_NOTICES: usize = 10_000;
/// The largest file of hooks that is shown.
const MAX_HOOKS_BYTES: u64 = 4 * 1024 * 1024;
/// How many runs are looked at for what stands over the hooks.
const MAX_LENS_RUNS: u32 = 500;
/// How long the saves of a client that has left may take to be handed over.
const MAX_SUBMITTING_MS: u64 = 10_000;
/// How often it is checked whether the client's process is still there.
const PARENT_CHECK: Duration = Duration::from_secs(3);

/// What a server works with.
pub struct LspPorts {
    /// Takes events in and runs them.
    pub runs: Arc<dyn Runs>,
    /// Runs tasks in the background.
    pub spawner: Arc<dyn Spawner>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where to work for a client that names no folder.
    pub fallback: PathBuf,
    /// The user's folder for data, where approvals are kept.
    pub data: PathBuf,
    /// The user's folder for state.
    pub state: PathBuf,
    /// Who is at the other end.
    pub approver: HookApprover,
    /// Called for each workspace whose queue this server takes up.
    pub opened: Box<dyn FnMut(&Path) + Send>,
    /// Called when the client is about to leave: sees to it that runs go on without this process.
    pub leaving: Box<dyn FnMut() -> BoxFuture<'static, ()> + Send>,
}

/// Serves one client until it leaves. Nothing but messages of the protocol is written to `output`.
///
/// # Errors
/// When the system has no thread to give.
pub async fn serve(
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    wiring: LspPorts,
) -> std::io::Result<ClientExit> {
    let client = ClientWriter::start(output)?;
    remove_old_copies(&wiring.state);
    let (inbound, mut received) = mpsc::unbounded();
    read_messages(input, inbound.clone())?;
    let (notices, waiting) = mpsc::channel(MAX_NOTICES);
    let workspaces: OpenWorkspaces = Arc::default();
    let (submitted, all_submitted) = oneshot::channel::<()>();
    let all_submitted = all_submitted.shared();
    let submitting = submit_all(
        waiting,
        Arc::clone(&workspaces),
        Arc::clone(&wiring.runs),
        Arc::clone(&wiring.clock),
        client.clone(),
    );
    wiring.spawner.spawn(Box::pin(async move {
        submitting.await;
        drop(submitted);
    }));
    let (clock, writer) = (Arc::clone(&wiring.clock), client.clone());
    let mut server = LspServer {
        session: ClientProtocol::new(wiring.fallback.clone()),
        reporter: RunReporter::new(super::capabilities::ClientCapabilities::default()),
        wiring,
        client,
        inbound,
        notices,
        workspaces,
        all_submitted: all_submitted.clone(),
        open: HashMap::new(),
        checks: Arc::default(),
        person: Arc::default(),
        garbage_told: false,
    };
    let mut exit = ClientExit::Abrupt;
    while let Some(inbound) = received.next().await {
        if let Some(reached) = server.take(inbound) {
            exit = reached;
            break;
        }
    }
    drop(server);
    drop(received);
    // What the client said before it left counts.
    select(all_submitted, clock.sleep_ms(MAX_SUBMITTING_MS)).await;
    threads::offload("lsp last messages", move || writer.finish())?.await;
    Ok(exit)
}

/// What reaches the server.
enum ServerInput {
    Message(Box<Message>),
    Garbage(&'static str),
    News(Box<ExecutionRecord>),
    /// The hooks of a workspace were approved.
    Approved(PathBuf),
    Gone,
}

fn read_messages(mut input: Box<dyn BufRead + Send>, inbound: UnboundedSender<ServerInput>) -> std::io::Result<()> {
    let read = move || {
        loop {
            let next = match frame::read(&mut input) {
                Ok(Frame::Message(message)) => ServerInput::Message(message),
                Ok(Frame::Garbage(why)) => ServerInput::Garbage(why),
                Ok(Frame::End) | Err(_) => ServerInput::Gone,
            };
            let over = matches!(next, ServerInput::Gone);
            if inbound.unbounded_send(next).is_err() || over {
                return;
            }
        }
    };
    threads::spawn("lsp reader", read).map(drop)
}

struct LspServer {
    session: ClientProtocol,
    reporter: RunReporter,
    wiring: LspPorts,
    client: ClientWriter,
    inbound: UnboundedSender<ServerInput>,
    notices: mpsc::Sender<DocumentNotice>,
    /// Resolves when every notice was handed over and no other can come.
    all_submitted: Shared<oneshot::Receiver<()>>,
    workspaces: OpenWorkspaces,
    open: HashMap<PathBuf, AbortHandle>,
    checks: Arc<HookChecks>,
    /// What a person was shown; none for a client that tells its person itself.
    person: Arc<Mutex<Option<PersonMessages>>>,
    garbage_told: bool,
}

/// The looks at hooks, so that a slow one does not undo what a later one said.
#[derive(Default)]
struct HookChecks {
    number: AtomicU64,
    /// The files that problems were shown in, by workspace.
    shown: Mutex<HashMap<PathBuf, Vec<PathBuf>>>,
    /// The hooks that wait for approval, by workspace.
    waiting: Mutex<HashMap<PathBuf, Vec<String>>>,
}

impl Drop for LspServer {
    fn drop(&mut self) {
        self.open.values().for_each(AbortHandle::abort);
    }
}

impl LspServer {
    fn take(&mut self, inbound: ServerInput) -> Option<ClientExit> {
        match inbound {
            ServerInput::Message(message) => {
                let effects = self.session.handle(*message);
                effects.into_iter().find_map(|effect| self.obey(effect))
            }
            ServerInput::News(record) => {
                // Of a hook that waited there is a run when somebody approved it elsewhere.
                let workspace = Path::new(&record.workspace);
                if self.checks.forget_waiting(workspace, &record.hook_id) {
                    self.check(workspace.to_owned());
                }
                let mut person = self.person.lock().unwrap_or_else(PoisonError::into_inner);
                let shown = person.as_mut().and_then(|person| person.about_run(&record));
                drop(person);
                shown.into_iter().for_each(|message| self.client.send(message));
                self.reporter.news(&record).into_iter().for_each(|message| self.client.send(message));
                None
            }
            ServerInput::Approved(workspace) => {
                self.check(workspace);
                None
            }
            ServerInput::Garbage(why) => {
                if !std::mem::replace(&mut self.garbage_told, true) {
                    self.client.log(MessageTypeWire::Warning, &format!("skipped a message: {why}"));
                }
                None
            }
            ServerInput::Gone => Some(ClientExit::Abrupt),
        }
    }

    fn obey(&mut self, effect: ProtocolEffect) -> Option<ClientExit> {
        match effect {
            ProtocolEffect::Send(message) => self.client.send(message),
            ProtocolEffect::Begin(client, process) => {
                self.reporter = RunReporter::new(client);
                let person = (!client.own_messages).then(PersonMessages::default);
                *self.person.lock().unwrap_or_else(PoisonError::into_inner) = person;
                self.follow_process(process);
            }
            ProtocolEffect::Open(workspace) => self.open(workspace),
            ProtocolEffect::Close(workspace) => self.close(&workspace),
            ProtocolEffect::DocumentNotice(notice) => {
                if self.notices.try_send(notice).is_err() {
                    self.client.log(MessageTypeWire::Error, "too many saves are waiting; skipped one");
                }
            }
            ProtocolEffect::WillSave(id, uri, content) => self.will_save(id, uri, content),
            ProtocolEffect::Check(workspace) => self.check(workspace),
            ProtocolEffect::Lenses(id, path) => self.show_lenses(id, path),
            ProtocolEffect::Command(id, command) => self.command(id, command),
            ProtocolEffect::Answer(response) => {
                self.reporter.answered(&response).into_iter().for_each(|message| self.client.send(message));
            }
            ProtocolEffect::WatchHooks => self.watch_hooks(),
            ProtocolEffect::ShutDown(id) => self.shut_down(id),
            ProtocolEffect::Exit(exit) => return Some(exit),
        }
        None
    }

    /// Answers once everything is stored and somebody else sees to it: a client may kill its server right after.
    fn shut_down(&mut self, id: RequestId) {
        self.notices.close_channel();
        let (submitted, leaving) = (self.all_submitted.clone(), (self.wiring.leaving)());
        let (clock, client) = (Arc::clone(&self.wiring.clock), self.client.clone());
        self.wiring.spawner.spawn(Box::pin(async move {
            select(submitted, clock.sleep_ms(MAX_SUBMITTING_MS)).await;
            leaving.await;
            client.send(answer(id, Value::Null));
        }));
    }

    /// Ends the server when the client's process is gone, whatever became of the pipe.
    fn follow_process(&self, process: Option<u32>) {
        let Some(process) = process else { return };
        let inbound = self.inbound.clone();
        let watch = move || {
            while client_process::is_there(process) {
                if inbound.is_closed() {
                    return;
                }
                threads::sleep(PARENT_CHECK);
            }
            let _ = inbound.unbounded_send(ServerInput::Gone);
        };
        // Without the thread, the end of the pipe still ends the server.
        let _ = threads::spawn("lsp client check", watch);
    }

    fn open(&mut self, workspace: PathBuf) {
        if self.open.contains_key(&workspace) {
            return;
        }
        (self.wiring.opened)(&workspace);
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).push(workspace.clone());
        let (handle, registration) = AbortHandle::new_pair();
        self.open.insert(workspace.clone(), handle);
        let (runs, client, inbound) = (Arc::clone(&self.wiring.runs), self.client.clone(), self.inbound.clone());
        let (place, spawner) = (workspace.clone(), Arc::clone(&self.wiring.spawner));
        let followed = async move {
            match runs.news(&place).await {
                Ok(mut news) => {
                    // Whoever takes up the queue must not be faster than whoever tells about it.
                    spawner.spawn(Box::pin(work(runs, place, client)));
                    while let Some(record) = news.next().await {
                        if inbound.unbounded_send(ServerInput::News(Box::new(record))).is_err() {
                            return;
                        }
                    }
                }
                Err(error) => client.log(MessageTypeWire::Error, &format!("cannot follow the runs: {error}")),
            }
        };
        let followed = Abortable::new(followed, registration);
        self.wiring.spawner.spawn(Box::pin(async move {
            let _ = followed.await;
        }));
        self.check(workspace);
    }

    /// Its queue is worked on until the server ends; it is only no longer listened to.
    fn close(&mut self, workspace: &Path) {
        if let Some(handle) = self.open.remove(workspace) {
            handle.abort();
        }
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).retain(|open| open != workspace);
    }

    /// Says what is wrong with the hooks of a workspace.
    fn check(&self, workspace: PathBuf) {
        let (runs, client, checks) = (Arc::clone(&self.wiring.runs), self.client.clone(), Arc::clone(&self.checks));
        let (person, status) = (Arc::clone(&self.person), self.reporter.tells_status());
        let will_save = self.reporter.will_save();
        let number = checks.number.fetch_add(1, Ordering::AcqRel) + 1;
        self.wiring.spawner.spawn(Box::pin(async move {
            let found = runs.refresh(&workspace).await;
            if checks.number.load(Ordering::Acquire) < number {
                return;
            }
            match found {
                Ok(set) => {
                    checks.note_waiting(&workspace, &set);
                    tell_about(&set, &workspace, will_save, &client);
                    let mut person = person.lock().unwrap_or_else(PoisonError::into_inner);
                    let shown = person.as_mut().map(|person| person.about_hooks(&workspace, &set));
                    drop(person);
                    shown.into_iter().flatten().for_each(|message| client.send(message));
                    if status {
                        client.send(standing(&set, &workspace));
                    }
                    checks.publish(&workspace, &set, will_save, &client);
                }
                Err(error) => client.log(MessageTypeWire::Error, &format!("cannot read the hooks: {error}")),
            }
        }));
    }

    fn show_lenses(&self, id: RequestId, path: PathBuf) {
        let (runs, client, now_ms) = (Arc::clone(&self.wiring.runs), self.client.clone(), self.wiring.clock.now_ms());
        self.wiring.spawner.spawn(Box::pin(async move {
            let text = read_text_at_most(&path, MAX_HOOKS_BYTES).unwrap_or_default();
            let workspace = workspace_of(path.parent().and_then(Path::parent).unwrap_or(&path));
            let query =
                RunQuery { workspace: Some(workspace.clone()), limit: Some(MAX_LENS_RUNS), ..RunQuery::default() };
            let records = runs.list(query).await.unwrap_or_default();
            let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
            let found = lenses(&hook_lines(&text), &records, &workspace.to_string_lossy(), now_ms);
            client.send(answer(id, json!(found)));
        }));
    }

    fn will_save(&self, id: RequestId, uri: String, content: String) {
        let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let document = DocumentToSave { uri, content, workspaces, state: self.wiring.state.clone() };
        let (runs, clock) = (Arc::clone(&self.wiring.runs), Arc::clone(&self.wiring.clock));
        let (client, person) = (self.client.clone(), Arc::clone(&self.person));
        let reply = move |SaveEdits { edits, late }: SaveEdits| {
            client.send(answer(id, edits));
            late.iter().for_each(|hook| client.log(MessageTypeWire::Warning, &late_text(hook)));
            let mut person = person.lock().unwrap_or_else(PoisonError::into_inner);
            let shown = person.as_mut().map(|person| person.about_late(&late));
            shown.into_iter().flatten().for_each(|message| client.send(message));
        };
        self.wiring.spawner.spawn(Box::pin(edits(document, runs, clock, reply)));
    }

    fn command(&self, id: RequestId, command: ClientCommand) {
        let (runs, client) = (Arc::clone(&self.wiring.runs), self.client.clone());
        let (data, inbound, approver) = (self.wiring.data.clone(), self.inbound.clone(), self.wiring.approver);
        self.wiring.spawner.spawn(Box::pin(async move {
            let done = match command {
                ClientCommand::Start { hook, file, workspace } => start(runs.as_ref(), hook, file, workspace).await,
                ClientCommand::Cancel(run) => runs.cancel(&run).await.map(|record| json!(record)),
                ClientCommand::Retry(run) => runs.retry(&run).await.map(|run| json!({ "run": run })),
                ClientCommand::Review(workspace) => editor_approval::review(&data, &workspace.join(SHOWN))
                    .map(|review| json!(review))
                    .map_err(|error| RunsError::Refused(error.to_string())),
                ClientCommand::Approve { .. } if approver == HookApprover::Agent => {
                    Err(RunsError::Refused(AGENT_APPROVES.to_owned()))
                }
                ClientCommand::Approve { workspace, token } => {
                    let approved = editor_approval::approve(&data, &workspace.join(SHOWN), &token);
                    // A server that ends has nobody to tell.
                    let _ = inbound.unbounded_send(ServerInput::Approved(workspace));
                    approved
                        .map(|()| json!({ "approved": true }))
                        .map_err(|error| RunsError::Refused(error.to_string()))
                }
            };
            client.send(match done {
                Ok(result) => answer(id, result),
                Err(error) => refusal(id, ErrorCode::RequestFailed, &error.to_string()),
            });
        }));
    }

    fn watch_hooks(&mut self) {
        let registration = json!({ "registrations": [{
            "id": "dispatch-hooks",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": [{ "globPattern": "**/.akira/hooks.json" }] },
        }] });
        let request = self.reporter.request("client/registerCapability", registration);
        self.client.send(request.into());
    }
}

async fn work(runs: Arc<dyn Runs>, workspace: PathBuf, client: ClientWriter) {
    if let Err(error) = runs.work(&workspace).await {
        client.log(MessageTypeWire::Error, &format!("hooks do not run in {}: {error}", workspace.display()));
    }
}

async fn start(runs: &dyn Runs, hook: String, file: Option<String>, workspace: PathBuf) -> Result<Value, RunsError> {
    let path = file.as_deref().and_then(path_of_uri).and_then(|path| real(&path));
    let inside = path.as_deref().and_then(|path| slashed(path.strip_prefix(&workspace).ok()?));
    let files = inside.map(|inside| {
        let content_hash = content_hash(&workspace.join(&inside));
        FileChange { path: inside, change: Change::Changed, content_hash }
    });
    let event = Event {
        trigger: Trigger::Manual,
        workspace,
        files: files.into_iter().collect(),
        source: Source::Person,
        hook: Some(hook),
        id: None,
        metadata: Map::new(),
    };
    runs.submit(event).await.map(|receipts| json!({ "receipts": receipts }))
}

/// Our own notification about how the hooks of a workspace stand.
fn standing(set: &HookSet, workspace: &Path) -> Message {
    let problem = set.problems.first();
    let params = json!({
        "workspace": workspace,
        "on": set.hooks.len(),
        "waiting": set.waiting_for_approval().collect::<Vec<_>>(),
        "dormant": set.dormant,
        "problem": problem.map(|it| format!("{}:{}:{}: {}", it.file, it.line, it.column, it.message)),
    });
    Notification { method: "dispatch/hooks".to_owned(), params }.into()
}

fn tell_about(set: &HookSet, workspace: &Path, will_save: WillSave, client: &ClientWriter) {
    let hooks = match set.hooks.len() {
        1 => "1 hook is on".to_owned(),
        count => format!("{count} hooks are on"),
    };
    client.log(MessageTypeWire::Info, &format!("{hooks} in {}", workspace.display()));
    for dormant in &set.dormant {
        client.log(MessageTypeWire::Warning, &format!("hook `{}` does not run: {}", dormant.hook_id, dormant.reason));
    }
    for (hook, why) in unserved(set, will_save) {
        client.log(MessageTypeWire::Warning, &format!("hook `{hook}`: {why}"));
    }
}

impl HookChecks {
    /// Whether this hook waited for approval at the last look; from now on the next look says which do.
    fn forget_waiting(&self, workspace: &Path, hook: &str) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = waiting.get(workspace).is_some_and(|hooks| hooks.iter().any(|waits| waits == hook));
        if waited {
            waiting.remove(workspace);
        }
        waited
    }

    fn note_waiting(&self, workspace: &Path, set: &HookSet) {
        let hooks = set.waiting_for_approval().map(str::to_owned).collect();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(workspace.to_owned(), hooks);
    }

    fn publish(&self, workspace: &Path, set: &HookSet, will_save: WillSave, client: &ClientWriter) {
        let mut by_file: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
        for problem in &set.problems {
            let file = workspace.join(&problem.file);
            let text = read_text_at_most(&file, MAX_HOOKS_BYTES).unwrap_or_default();
            by_file.entry(file).or_default().push(json!(diagnostic(problem, &text)));
        }
        let file = workspace.join(SHOWN);
        let text = read_text_at_most(&file, MAX_HOOKS_BYTES).unwrap_or_default();
        for note in notes(&hook_lines(&text), &unserved(set, will_save)) {
            by_file.entry(file.clone()).or_default().push(json!(note));
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let before = shown.insert(workspace.to_owned(), by_file.keys().cloned().collect()).unwrap_or_default();
        for file in before {
            by_file.entry(file).or_default();
        }
        for (file, diagnostics) in by_file {
            let params = json!({ "uri": uri_of_path(&file), "diagnostics": diagnostics });
            client.send(Notification { method: "textDocument/publishDiagnostics".to_owned(), params }.into());
        }
    }
}
