//! Resolves the names of this machine without asking DNS, so that none of them can lead elsewhere.

use crate::loopback::is_loopback_host;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Answers every loopback name with the loopback addresses and fails for every other name.
pub(crate) struct LoopbackResolver;

impl Resolve for LoopbackResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = if is_loopback_host(name.as_str()) {
            // The port is that of the URL.
            let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            Ok(Box::new(both.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        } else {
            Err(format!("`{}` is not a name of this machine", name.as_str()).into())
        };
        Box::pin(std::future::ready(found))
    }
}
