//! The workspace that a client has open, as it tells by its roots.

use crate::workspace::Workspace;
use dispatch_os::paths::path_of_uri;
use rmcp::RoleServer;
use rmcp::service::Peer;
use std::time::Duration;

/// A client that does not answer has no roots.
const WAIT: Duration = Duration::from_secs(2);

/// The first root that is a folder on this machine.
#[allow(deprecated, reason = "clients of all protocol versions in use before 2026-07 tell their roots only so")]
pub(super) async fn of_client(peer: &Peer<RoleServer>) -> Option<Workspace> {
    peer.peer_info()?.capabilities.roots.as_ref()?;
    let listed = tokio::time::timeout(WAIT, peer.list_roots()).await.ok()?.ok()?;
    let folders = listed.roots.iter().filter_map(|root| path_of_uri(&root.uri));
    folders.into_iter().find(|folder| folder.is_dir()).map(|folder| Workspace::at(&folder))
}
