//! `dispatch lsp`: an editor reports its saves over the Language Server Protocol and sees what became of them.

use crate::app::Status;
use crate::failure::Failure;
use crate::ports::{RuntimeSpawner, SystemClock};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::asked_to_stop;
use dispatch_contracts::extension::Extension;
use ext_workspace_hooks::contract::{ClientExit, LspPorts, Membership, RUNS, Workers, serve_lsp};
use std::io::BufReader;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Serves until the editor leaves or the program is asked to stop. Standard output carries the protocol alone.
pub(crate) fn run(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Status, Failure> {
    let running = Running::start(loaded, extensions, Threads::Two)?;
    let outcome = running.service(&RUNS).and_then(|runs| {
        let memberships: Arc<Mutex<Vec<Membership>>> = Arc::default();
        let ports = LspPorts {
            runs: Arc::clone(&runs),
            spawner: Arc::new(RuntimeSpawner),
            clock: Arc::new(SystemClock::default()),
            fallback: loaded.start.clone(),
            opened: joining(Workers::new(&loaded.dirs.state), Arc::clone(&memberships)),
        };
        running.block_on(async {
            let input = Box::new(BufReader::new(std::io::stdin()));
            let served = tokio::select! {
                served = serve_lsp(input, Box::new(std::io::stdout()), ports) => served,
                () = asked_to_stop() => Ok(ClientExit::Proper),
            };
            runs.drain().await;
            served.map_err(|error| Failure::internal(format!("the server could not start: {error}")))
        })
    });
    running.shutdown();
    outcome.map(|exit| if exit == ClientExit::Proper { Status::Done } else { Status::No })
}

/// Says of each workspace that its queue is worked on.
fn joining(workers: Workers, memberships: Arc<Mutex<Vec<Membership>>>) -> Box<dyn FnMut(&Path) + Send> {
    Box::new(move |workspace| {
        // Without the lock somebody may start a second worker, which does no harm.
        if let Ok(membership) = workers.join(workspace) {
            memberships.lock().unwrap_or_else(PoisonError::into_inner).push(membership);
        }
    })
}
