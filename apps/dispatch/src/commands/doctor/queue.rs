//! The doctor's lines about messages that wait and that no running process can take.

use super::{DoctorFinding, note, wrong};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_os::files;
use ext_session_orchestrator::contract::{DispatchView, SESSIONS};
use ext_storage_sqlite::contract::Location;
use std::sync::Arc;

const QUEUE: &str = "queue";
/// How many messages are named.
const NAMED: usize = 10;

/// One line per message that waits for a person or for a process; a database that is not there is not made.
pub(super) fn waiting(loaded: &Loaded, extensions: &[Arc<dyn Extension>]) -> Vec<DoctorFinding> {
    if !has_database(loaded) {
        return Vec::new();
    }
    let Ok(running) = Running::look_at_conversations(loaded, extensions.to_vec()) else { return Vec::new() };
    let queue = running.service(&SESSIONS).map(|sessions| running.block_on(async move { sessions.queue(None).await }));
    running.shutdown();
    match queue {
        Ok(Ok(queue)) => queue.iter().filter(|view| !view.reason.is_empty()).take(NAMED).map(finding).collect(),
        Ok(Err(error)) => vec![wrong(QUEUE, error.to_string(), "`dispatch queue show` shows what waits")],
        // The line about the storage says what is wrong.
        Err(_) => Vec::new(),
    }
}

/// Whether there is a database that outlives a program.
pub(super) fn has_database(loaded: &Loaded) -> bool {
    let url: Option<String> = loaded.settings.read("storage.url");
    match Location::parse(url.as_deref(), &loaded.dirs.data) {
        Ok(Location::File(path)) => files::is_file(&path),
        Ok(Location::Memory) => false,
        Err(_) => true,
    }
}

fn finding(view: &DispatchView) -> DoctorFinding {
    let (why, help) = view.reason.split_once("; ").unwrap_or((&view.reason, "`dispatch queue show` shows what waits"));
    note(QUEUE, format!("the message {} of session {} waits: {why}", view.id, view.session), help)
}
