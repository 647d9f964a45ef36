//! Blocking sockets and name lookup, for the few places that have no async runtime.

mod deadline;

use std::io;
use std::net::ToSocketAddrs;
use std::time::Duration;

pub use deadline::{DeadlineStream, look_up};
// Addresses are plain data: `core::net` has the same types.
pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};

/// Opens a connection within a time limit.
///
/// # Errors
/// When nothing accepts it in time.
#[inline]
pub fn connect(address: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(address, limit)
}

/// Listens on a free port of this machine, which no other machine reaches.
///
/// # Errors
/// When there is no free port.
#[inline]
pub fn listen_on_loopback() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

/// The addresses of a host. The system sets the time limit of a lookup: call it on a separate thread.
///
/// # Errors
/// When the name cannot be resolved.
#[inline]
pub fn resolve(host: &str, port: u16) -> io::Result<impl Iterator<Item = SocketAddr>> {
    (host, port).to_socket_addrs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_this_machine_is_found_by_name_and_answers() {
        let listener = listen_on_loopback().unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = resolve("127.0.0.1", port).unwrap().next().unwrap();
        assert_eq!(address, listener.local_addr().unwrap());
        assert!(connect(&address, Duration::from_secs(10)).is_ok());
        drop(listener);
        assert!(connect(&address, Duration::from_secs(10)).is_err());
    }
}
