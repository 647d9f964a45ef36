//! Finds the workspace among the client's roots.

use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::paths::path_of_uri;
use rmcp::RoleServer;
use rmcp::service::Peer;
use std::time::Duration;

/// A client that does not answer in this time has no roots.
const WAIT: Duration = Duration::from_secs(2);

/// The first root that is a folder on this machine.
#[allow(deprecated, reason = "clients of protocol versions before 2026-07 report their roots only this way")]
pub(super) async fn of_client(loaded: &Loaded, peer: &Peer<RoleServer>) -> Option<Workspace> {
    peer.peer_info()?.capabilities.roots.as_ref()?;
    let listed = tokio::time::timeout(WAIT, peer.list_roots()).await.ok()?.ok()?;
    let folders = listed.roots.iter().filter_map(|root| path_of_uri(&root.uri));
    let mut folders = folders.filter(|folder| dispatch_os::files::is_dir(folder));
    folders.next().map(|folder| Workspace::at(loaded, &folder))
}
