//! Puts the queue together from what the host offers: storage if it is there, memory if not.

use crate::agent::Agent;
use crate::approvals::ApprovalDesk;
use crate::book::Book;
use crate::book::memory::MemoryBook;
use crate::book::sql::SqlBook;
use crate::book::tables::MIGRATIONS;
use crate::conductor::{Conductor, Means};
use crate::contract::{APPROVALS, Approvals, SESSIONS, Sessions};
use crate::desk::Desk;
use crate::hub::Hub;
use crate::redaction::redactor;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_contracts::ports::Level;
use dispatch_kernel::host::HOST;
use dispatch_os::owner::Owner;
use ext_conversation_store::contract::{CONVERSATIONS, NAMESPACE};
use serde_json::Map;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

const OWN_NAMESPACE: &str = "session-orchestrator";

/// The session orchestrator.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(Orchestrator::default())
}

#[derive(Default)]
struct Orchestrator {
    conductor: Mutex<Option<Arc<Conductor>>>,
}

impl Extension for Orchestrator {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let conductor = start(&host).await?;
            *self.conductor.lock().unwrap_or_else(PoisonError::into_inner) = Some(conductor);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let conductor = self.conductor.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(conductor) = conductor {
                conductor.drain().await;
            }
            Ok(())
        })
    }
}

async fn start(host: &Host) -> Result<Arc<Conductor>, ExtensionError> {
    let settings = host.all_settings().map_err(ExtensionError::new)?;
    let kernel = host.service(&HOST).map_err(ExtensionError::new)?;
    let redactor = Arc::new(redactor(&settings).map_err(ExtensionError::new)?);
    let book = book(host).await?;
    let hub = Arc::new(Hub::default());
    let approvals = Arc::new(ApprovalDesk::new(Arc::clone(&hub)));
    let owner = Owner::register(&host.folders().state.join("owners"), host.ids().next_id());
    let owner = Arc::new(owner.map_err(ExtensionError::new)?);
    let agent = Agent::new(host.clone(), kernel, Arc::clone(&approvals), Arc::clone(&redactor), settings);
    let means = means(host, Arc::clone(&owner));
    let conductor = Conductor::new(book, hub, owner.name().to_owned(), means, Arc::new(agent));
    let desk: Arc<dyn Sessions> = Arc::new(Desk { conductor: Arc::clone(&conductor), host: host.clone(), redactor });
    host.provide(&SESSIONS, desk).map_err(ExtensionError::new)?;
    let approvals: Arc<dyn Approvals> = approvals;
    host.provide(&APPROVALS, approvals).map_err(ExtensionError::new)?;
    // A command that only looks at the queue must not take up what another process left in it.
    if host.settings().read("conduct") == Some(false) {
        return Ok(conductor);
    }
    let conducting = Arc::clone(&conductor);
    let work = async move {
        conducting.conduct().await;
        Ok(())
    };
    host.spawn("conductor", work).map_err(ExtensionError::new)?;
    Ok(conductor)
}

/// Storage and the ledger if both are there; without them nothing outlives the process.
async fn book(host: &Host) -> Result<Arc<dyn Book>, ExtensionError> {
    let (Ok(backend), Ok(conversations)) = (host.service(&STORAGE), host.service(&CONVERSATIONS)) else {
        host.log(Level::Info, "there is no storage: sessions end with the program", Map::new());
        return Ok(Arc::new(MemoryBook::default()));
    };
    host.define_migrations(MIGRATIONS.to_vec()).await?;
    let storage = backend.open_joined(OWN_NAMESPACE, &[NAMESPACE]);
    Ok(Arc::new(SqlBook::new(storage, conversations)))
}

fn means(host: &Host, owner: Arc<Owner>) -> Means {
    let (spawning, warning) = (host.clone(), host.clone());
    Means {
        clock: host.clock(),
        ids: host.ids(),
        spawn: Arc::new(move |work| {
            let work = async move {
                work.await;
                Ok(())
            };
            // A host that is gone runs nothing any more; the lease is settled by the next process.
            let _ = spawning.spawn("session", work);
        }),
        warn: Arc::new(move |message| warning.log(Level::Warn, &message, Map::new())),
        census: owner,
    }
}
