//! A bus and a host for tests: virtual time, seeded scheduling, extensions from closures.
#![allow(dead_code, reason = "each test binary uses a part of this file")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::{Fault, FaultBudget};
use dispatch_contracts::folders::Folders;
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hooks::{RequestBefore, ToolBefore, TurnRef};
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Trust};
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, LogRecord, LogSink};
use dispatch_contracts::provider::ModelRequest;
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_kernel::bus::{Bus, BusPorts, FaultSink, Subscriber};
use dispatch_kernel::host::{
    Boot, BootError, Candidate, DisabledStore, ExtensionHost, ExtensionState, MemoryDisabledStore, Ports, boot,
};
use dispatch_sim::{CountingIds, Sim};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex};

/// Something that tests write into and read back.
#[derive(Clone)]
pub(crate) struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Notes<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Notes<T> {
    pub(crate) fn note(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn read(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

impl LogSink for Notes<LogRecord> {
    fn write(&self, record: LogRecord) {
        self.note(record);
    }
}

impl FaultSink for Notes<Fault> {
    fn report(&self, fault: Fault) {
        self.note(fault);
    }
}

/// A bus alone, with its faults written down.
pub(crate) struct TestBus {
    pub(crate) sim: Sim,
    pub(crate) bus: Bus,
    pub(crate) faults: Notes<Fault>,
    pub(crate) log: Notes<LogRecord>,
}

impl TestBus {
    pub(crate) fn new(seed: u64) -> Self {
        let sim = Sim::new(seed);
        let (faults, log) = (Notes::default(), Notes::default());
        let ports = BusPorts {
            clock: Arc::new(sim.clock()),
            spawner: Arc::new(sim.spawner()),
            log: Arc::new(Notes::clone(&log)),
        };
        let bus = Bus::new(ports, Arc::new(Notes::clone(&faults)));
        Self { sim, bus, faults, log }
    }

    pub(crate) fn run<F: Future>(&self, main: F) -> F::Output {
        self.sim.block_on(main).expect("nothing hangs")
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.faults.read().iter().map(ToString::to_string).collect()
    }
}

pub(crate) fn subscriber(extension: &str, rank: u32) -> Subscriber {
    Subscriber { extension: extension.into(), rank, generation: 0 }
}

type ActivateProbe = Box<dyn Fn(Host) -> BoxFuture<'static, Result<(), ExtensionError>> + Send + Sync>;
type DeactivateProbe = Box<dyn Fn() -> BoxFuture<'static, Result<(), ExtensionError>> + Send + Sync>;

/// An extension made of closures.
pub(crate) struct Probe {
    manifest: String,
    activate: ActivateProbe,
    deactivate: DeactivateProbe,
    harness: fn() -> Harness,
}

impl Extension for Probe {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.manifest)
    }

    fn harness(&self) -> Harness {
        (self.harness)()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        (self.activate)(host)
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        (self.deactivate)()
    }
}

/// A manifest of the standard tier with the given fields changed.
pub(crate) fn manifest(id: &str, changes: Value) -> String {
    let mut manifest = json!({"id": id, "name": id, "version": "1.0.0", "apiVersion": "^0.2", "tier": "standard"});
    for (key, value) in changes.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest.to_string()
}

/// An extension whose activation is one synchronous step.
pub(crate) fn probe(
    id: &str,
    changes: Value,
    activate: impl Fn(&Host) -> Result<(), ExtensionError> + Send + Sync + 'static,
) -> Probe {
    probe_async(id, changes, move |host| {
        let outcome = activate(&host);
        Box::pin(std::future::ready(outcome))
    })
}

pub(crate) fn probe_async(
    id: &str,
    changes: Value,
    activate: impl Fn(Host) -> BoxFuture<'static, Result<(), ExtensionError>> + Send + Sync + 'static,
) -> Probe {
    let deactivate: DeactivateProbe = Box::new(|| Box::pin(std::future::ready(Ok(()))));
    Probe { manifest: manifest(id, changes), activate: Box::new(activate), deactivate, harness: Harness::default }
}

/// An extension that does nothing.
pub(crate) fn idle(id: &str, changes: Value) -> Probe {
    probe(id, changes, |_| Ok(()))
}

impl Probe {
    pub(crate) fn on_deactivate(
        mut self,
        deactivate: impl Fn() -> BoxFuture<'static, Result<(), ExtensionError>> + Send + Sync + 'static,
    ) -> Self {
        self.deactivate = Box::new(deactivate);
        self
    }

    pub(crate) fn with_harness(mut self, harness: fn() -> Harness) -> Self {
        self.harness = harness;
        self
    }

    pub(crate) fn bundled(self) -> Candidate {
        Candidate::bundled(Arc::new(self))
    }

    pub(crate) fn external(self) -> Candidate {
        Candidate {
            extension: Arc::new(self),
            trust: Trust::External,
            origin: "extensions/probe".to_owned(),
            fresh: None,
        }
    }
}

/// Everything a host is started with.
pub(crate) struct TestHost {
    pub(crate) sim: Sim,
    pub(crate) log: Notes<LogRecord>,
    pub(crate) store: Arc<dyn DisabledStore>,
    pub(crate) grants: BTreeMap<ExtensionId, BTreeSet<Capability>>,
    pub(crate) settings: Settings,
}

impl TestHost {
    pub(crate) fn new() -> Self {
        Self::seeded(1)
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            sim: Sim::new(seed),
            log: Notes::default(),
            store: Arc::new(MemoryDisabledStore::default()),
            grants: BTreeMap::new(),
            settings: Settings::default(),
        }
    }

    pub(crate) fn setting(&mut self, name: &str, value: Value) {
        let setting = Setting { value, origin: Origin::BuiltIn };
        let others = self.settings.iter().map(|(name, setting)| (name.to_owned(), setting.clone()));
        self.settings = Settings::new(others.chain([(name.to_owned(), setting)]).collect());
    }

    pub(crate) async fn boot(&self, extensions: Vec<Candidate>) -> Result<ExtensionHost, BootError> {
        boot(Boot {
            ports: Ports {
                clock: Arc::new(self.sim.clock()),
                ids: Arc::new(CountingIds::default()),
                spawner: Arc::new(self.sim.spawner()),
                log: Arc::new(self.log.clone()),
            },
            extensions,
            settings: self.settings.clone(),
            folders: Folders::default(),
            permissions: Arc::new(|request| PermissionDecision {
                verdict: Verdict::Allow,
                rule: Some(0),
                reason: request.target.clone(),
            }),
            budget: FaultBudget::default(),
            disabled: Arc::clone(&self.store),
            grants: self.grants.clone(),
        })
        .await
    }

    pub(crate) fn run<F: Future>(&self, main: F) -> F::Output {
        self.sim.block_on(main).expect("nothing hangs")
    }

    pub(crate) async fn sleep(&self, ms: u64) {
        self.sim.clock().sleep_ms(ms).await;
    }
}

pub(crate) fn state(host: &ExtensionHost, id: &str) -> ExtensionState {
    let found = host.status().into_iter().find(|status| status.id.as_str() == id);
    found.unwrap_or_else(|| panic!("no extension {id}")).state
}

pub(crate) fn turn() -> TurnRef {
    TurnRef { session: "s".into(), turn: "t".into(), workdir: "/project".into() }
}

pub(crate) fn tool_before(tool: &str) -> ToolBefore {
    let call = ToolCall { id: "c".into(), name: tool.to_owned(), arguments: Map::new() };
    ToolBefore { turn: turn(), call, denied: None, questions: Vec::new() }
}

pub(crate) fn request_before() -> RequestBefore {
    let request = ModelRequest {
        model: "m".to_owned(),
        system: vec!["be kind".to_owned()],
        messages: Vec::new(),
        tools: Vec::new(),
        options: Map::new(),
    };
    RequestBefore { turn: turn(), request }
}
