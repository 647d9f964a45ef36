//! The workspace that a client has open, as it tells by its roots.

use crate::workspace::Workspace;
use rmcp::RoleServer;
use rmcp::service::Peer;
use std::path::PathBuf;
use std::time::Duration;

/// A client that does not answer has no roots.
const WAIT: Duration = Duration::from_secs(2);

/// The first root that is a folder on this machine.
#[allow(deprecated, reason = "clients of all protocol versions in use before 2026-07 tell their roots only so")]
pub(super) async fn of_client(peer: &Peer<RoleServer>) -> Option<Workspace> {
    peer.peer_info()?.capabilities.roots.as_ref()?;
    let listed = tokio::time::timeout(WAIT, peer.list_roots()).await.ok()?.ok()?;
    let folders = listed.roots.iter().filter_map(|root| folder_of(&root.uri));
    folders.into_iter().find(|folder| folder.is_dir()).map(|folder| Workspace::at(&folder))
}

/// The path of a `file:` address.
fn folder_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = decoded(path)?;
    let windows = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if windows { path.trim_start_matches('/') } else { &path }))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_addresses_are_folders() {
        for (uri, expected) in [
            ("file:///home/dev/my%20shop", Some("/home/dev/my shop")),
            ("file://localhost/a", Some("/a")),
            ("file:///a%zz", None),
            ("file:///a%2", None),
            ("https://example.org/a", None),
        ] {
            assert_eq!(folder_of(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}
