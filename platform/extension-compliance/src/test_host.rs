//! One host with the extension in it, for one check.

use crate::fault::InjectedFault;
use crate::scripted_turn::{TurnRecord, play};
use crate::suite::{MadeExtension, Subject};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::turn::TurnEvent;
use dispatch_kernel::host::{
    Boot, BootError, Candidate, DisabledStore, ExtensionHost, ExtensionState, ExtensionStatus, MemoryDisabledStore,
    boot,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long to wait for what the host does on its own, such as counting the fault of an event handler.
const SETTLE_MS: u64 = 20_000;
/// How often it is looked at.
const LOOK_MS: u64 = 20;

/// Why there is nothing to check.
pub(crate) enum NoTestHost {
    /// The extension cannot have this fault.
    CannotHaveFault,
    /// It could not even be made.
    NotMade(String),
    /// It belongs to the core, and the program refuses to start.
    Boot(BootError),
}

/// What is granted: what stays inside the host, so that a check changes nothing outside. Not the one that a check is about.
fn granted(fault: Option<InjectedFault>) -> BTreeSet<Capability> {
    let contained = [Capability::Db, Capability::Spawn].into_iter();
    contained.filter(|capability| fault != Some(InjectedFault::Ungranted(*capability))).collect()
}

/// A started host and the extension in it.
pub(crate) struct TestHost<'a> {
    subject: &'a Subject<'a>,
    pub(crate) host: ExtensionHost,
    pub(crate) made: MadeExtension,
    pub(crate) disabled: Arc<dyn DisabledStore>,
}

impl<'a> TestHost<'a> {
    /// Starts the extension, with this fault.
    pub(crate) async fn start(subject: &'a Subject<'a>, fault: Option<InjectedFault>) -> Result<Self, NoTestHost> {
        Self::start_with(subject, fault, Arc::new(MemoryDisabledStore::default())).await
    }

    /// The same, where it is remembered what was disabled before.
    pub(crate) async fn start_with(
        subject: &'a Subject<'a>,
        fault: Option<InjectedFault>,
        disabled: Arc<dyn DisabledStore>,
    ) -> Result<Self, NoTestHost> {
        let made = (subject.make)(fault).map_err(NoTestHost::NotMade)?.ok_or(NoTestHost::CannotHaveFault)?;
        let own = Candidate {
            extension: Arc::clone(&made.extension),
            trust: subject.trust,
            origin: "under test".to_owned(),
            fresh: None,
        };
        let others = (subject.others)().into_iter().map(Candidate::bundled);
        let allowed =
            |_: &_| PermissionDecision { verdict: Verdict::Allow, rule: None, reason: "a check runs".to_owned() };
        let host = boot(Boot {
            ports: subject.ports.clone(),
            extensions: others.chain([own]).collect(),
            settings: subject.settings.clone(),
            folders: subject.folders.clone(),
            permissions: Arc::new(allowed),
            budget: FaultBudget::default(),
            disabled: Arc::clone(&disabled),
            grants: BTreeMap::from([(subject.id.as_str().into(), granted(fault))]),
        });
        let host = host.await.map_err(NoTestHost::Boot)?;
        Ok(Self { subject, host, made, disabled })
    }

    /// How the extension is doing.
    pub(crate) fn status(&self) -> Option<ExtensionStatus> {
        self.host.status().into_iter().find(|status| status.id.as_str() == self.subject.id)
    }

    /// Its state, and why it does not run.
    pub(crate) fn state(&self) -> ExtensionState {
        let missing = ExtensionState::Failed { reason: "the host does not know it".to_owned() };
        self.status().map_or(missing, |status| status.state)
    }

    /// A turn in which the model calls this tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> TurnRecord {
        self.call_watched(tool, arguments, Arc::new(|_| {})).await
    }

    /// The same, seen by a client.
    pub(crate) async fn call_watched(
        &self,
        tool: &str,
        arguments: Value,
        watch: Arc<dyn Fn(TurnEvent) + Send + Sync>,
    ) -> TurnRecord {
        play(&self.host, &self.subject.ports, &self.subject.folders.workdir, (tool, arguments), watch).await
    }

    /// Everything that the host says of the extension's faults.
    pub(crate) fn said(&self) -> String {
        let fault = self.status().and_then(|status| status.last_fault).map(|fault| fault.to_string());
        [fault, self.host.fatal()].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Waits until something holds; `false` if it never did.
    pub(crate) async fn settles(&self, mut holds: impl FnMut(&Self) -> bool) -> bool {
        for _ in 0..SETTLE_MS / LOOK_MS {
            if holds(self) {
                return true;
            }
            self.subject.ports.clock.sleep_ms(LOOK_MS).await;
        }
        holds(self)
    }

    /// Stops everything.
    pub(crate) async fn stop(self) {
        self.host.shutdown().await;
    }
}
