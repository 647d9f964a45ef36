//! Decides which hosts are this machine: a key or an unencrypted request may go there and nowhere else.
//!
//! Pure.
//!
//! The rule is that of secure contexts in browsers and of RFC 6761: `localhost`, every name below it,
//! `127.0.0.0/8` and `::1`. Names count only because [`crate::client`] resolves them itself, without DNS.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a host is this machine: a name or an address, IPv6 with or without brackets.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').and_then(|bare| bare.parse::<Ipv6Addr>().ok()).is_some_and(is_loopback_v6),
        None => match host.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => address.is_loopback(),
            Ok(IpAddr::V6(address)) => is_loopback_v6(address),
            Err(_) => is_loopback_name(host),
        },
    }
}

/// An IPv4 address in the form `::ffff:127.0.0.1` reaches the same machine as the address itself.
fn is_loopback_v6(address: Ipv6Addr) -> bool {
    address.is_loopback() || address.to_ipv4_mapped().is_some_and(|mapped: Ipv4Addr| mapped.is_loopback())
}

fn is_loopback_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost")) && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_cannot_leave_this_machine_are_loopback() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST", true),
            ("localhost.", true),
            ("x.localhost", true),
            ("a.b.LocalHost", true),
            ("x.localhost.", true),
            ("my_app-1.localhost", true),
            ("127.0.0.1", true),
            ("127.255.255.254", true),
            ("::1", true),
            ("[::1]", true),
            ("0:0:0:0:0:0:0:1", true),
            ("::ffff:127.0.0.1", true),
            ("[::ffff:127.1.2.3]", true),
            ("", false),
            (".", false),
            (".localhost", false),
            ("a..localhost", false),
            ("localhost..", false),
            ("x@.localhost", false),
            ("a b.localhost", false),
            ("localhost.localdomain", false),
            ("localhost.evil.com", false),
            ("x.localhost.evil.com", false),
            ("evillocalhost", false),
            ("evil-localhost", false),
            ("127.0.0.1.evil.com", false),
            ("127.0.0.1.", false),
            ("127.1", false),
            ("2130706433", false),
            ("0x7f.0.0.1", false),
            ("0.0.0.0", false),
            ("::", false),
            ("128.0.0.1", false),
            ("10.0.0.1", false),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("::ffff:10.0.0.1", false),
            ("::127.0.0.1", false),
            ("[127.0.0.1]", false),
            ("[::1", false),
            ("::1]", false),
            ("[::1]:80", false),
            ("::1%lo", false),
            ("fe80::1", false),
            ("ip6-localhost", false),
            ("example.com", false),
        ] {
            assert_eq!(is_loopback_host(host), expected, "{host:?}");
        }
    }
}
