//! Boots one extension in a real host and calls its tools as the turn loop would.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{LogRecord, LogSink};
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_contracts::tool::{Tool, ToolContext, ToolError, ToolOutput};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use dispatch_kernel::services::schema;
use dispatch_sim::{CountingIds, Sim};
use serde_json::{Map, Value};

/// A host with one extension, and the folder its tools work in.
pub struct TestToolHost {
    sim: Sim,
    host: ExtensionHost,
    folders: Folders,
    /// Which session calls.
    pub session: String,
    /// Cancels the next calls.
    pub cancel: CancelToken,
    log: RecordedLog,
    printed: Arc<Mutex<Vec<u8>>>,
}

#[derive(Clone, Default)]
struct RecordedLog(Arc<Mutex<Vec<LogRecord>>>);

impl LogSink for RecordedLog {
    fn write(&self, record: LogRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

impl TestToolHost {
    /// Boots the extension, and others that it needs, in a host whose tools work in `workdir`.
    pub fn new(extensions: Vec<Arc<dyn Extension>>, workdir: &Path, settings: &[(&str, Value)]) -> Self {
        let home = workdir.with_file_name("home");
        let folders = Folders {
            config: home.join("config"),
            data: home.join("data"),
            state: home.join("state"),
            cache: home.join("cache"),
            project: None,
            workdir: workdir.to_path_buf(),
        };
        Self::with_folders(extensions, folders, settings)
    }

    /// The same with folders of the caller's choice.
    pub fn with_folders(extensions: Vec<Arc<dyn Extension>>, folders: Folders, settings: &[(&str, Value)]) -> Self {
        let (sim, log) = (Sim::new(1), RecordedLog::default());
        let setting = |value: &Value| Setting { value: value.clone(), origin: Origin::BuiltIn };
        let values: BTreeMap<_, _> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), setting(value))).collect();
        let input = Boot {
            ports: Ports {
                clock: Arc::new(sim.clock()),
                ids: Arc::new(CountingIds::default()),
                spawner: Arc::new(sim.spawner()),
                log: Arc::new(log.clone()),
            },
            extensions: extensions.into_iter().map(Candidate::bundled).collect(),
            settings: Settings::new(values),
            folders: folders.clone(),
            permissions: Arc::new(|_| PermissionDecision {
                verdict: Verdict::Allow,
                rule: None,
                reason: String::new(),
            }),
            budget: FaultBudget::default(),
            disabled: Arc::new(MemoryDisabledStore::default()),
            grants: BTreeMap::new(),
        };
        let host = sim.block_on(boot(input)).expect("activation does not hang").expect("the host boots");
        let failed: Vec<_> =
            host.status().into_iter().filter(|status| !format!("{:?}", status.state).starts_with("Active")).collect();
        assert!(failed.is_empty(), "not active: {failed:?}");
        Self {
            sim,
            host,
            folders,
            session: "session".to_owned(),
            cancel: CancelToken::new(),
            log,
            printed: Arc::default(),
        }
    }

    /// The folders of the host.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The names of all tools.
    pub fn names(&self) -> Vec<String> {
        self.host.tools().iter().map(|owned| owned.item.spec().name.clone()).collect()
    }

    /// A tool by its name.
    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let found = self.host.tools().into_iter().find(|owned| owned.item.spec().name == name);
        found.unwrap_or_else(|| panic!("no tool {name}")).item
    }

    /// Calls a tool in the host's folder. Arguments that the tool's schema refuses are an error, as in a turn.
    pub fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call_in(name, arguments, &self.folders.workdir)
    }

    /// Calls a tool in another folder.
    pub fn call_in(&self, name: &str, arguments: Value, workdir: &Path) -> Result<ToolOutput, ToolError> {
        let tool = self.tool(name);
        let findings = schema::check(&tool.spec().parameters, &arguments);
        if !findings.is_empty() {
            return Err(ToolError(format!("schema: {findings:?}")));
        }
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        block_on(tool.call(arguments, self.context(workdir)))
    }

    /// The text that a tool answers; a failure fails the test.
    pub fn text(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}")).text
    }

    /// The words in which a tool refuses; a success fails the test.
    pub fn refusal(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments) {
            Ok(output) => panic!("{name} worked: {}", output.text),
            Err(error) => error.0,
        }
    }

    /// What a call gets to know of the world.
    pub fn context(&self, workdir: &Path) -> ToolContext {
        let printed = Arc::clone(&self.printed);
        ToolContext {
            call_id: "call".into(),
            session: self.session.as_str().into(),
            workdir: workdir.to_path_buf(),
            cancel: self.cancel.clone(),
            sink: Arc::new(move |_, bytes: &[u8]| {
                printed.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            }),
        }
    }

    /// What tools printed while they ran.
    pub fn printed(&self) -> String {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&printed).into_owned()
    }

    /// What was logged.
    pub fn logged(&self) -> Vec<String> {
        let records = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().map(|record| record.message.clone()).collect()
    }

    /// Stops the host as the program does at its end.
    pub fn shut_down(&self) {
        self.sim.block_on(self.host.shutdown()).expect("stopping does not hang");
    }
}

/// Runs a future on this thread, which sleeps until somebody wakes it.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Arguments without writing `json!` and unwrapping it.
#[must_use]
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}
