//! Decides which Host headers are accepted, so that DNS rebinding gets nothing.
//!
//! Pure.

use core::net::{IpAddr, SocketAddr};
use http::HeaderMap;
use http::header::HOST;
use http::uri::Authority;

/// The names that count.
#[derive(Clone, Debug)]
pub(crate) struct HostPolicy {
    /// What is listened on.
    pub(crate) bound: SocketAddr,
    /// What the user added, in lower case.
    pub(crate) allowed: Vec<String>,
}

/// The authority that the request is for, or why it is refused. A port proves nothing, because
/// tunnels change it; the name does: an address cannot be pointed elsewhere, a name can.
pub(crate) fn check_host(
    headers: &HeaderMap,
    target: Option<&Authority>,
    policy: &HostPolicy,
) -> Result<Authority, &'static str> {
    let mut named = headers.get_all(HOST).iter();
    let header = named.next().ok_or("the request has no Host header")?;
    if named.next().is_some() {
        return Err("the request has more than one Host header");
    }
    let header: Authority =
        header.to_str().ok().and_then(|text| text.parse().ok()).ok_or("the Host header cannot be read")?;
    for authority in [Some(&header), target].into_iter().flatten() {
        if !is_ours(authority, policy) {
            return Err("the server is not known by this name");
        }
    }
    Ok(header)
}

fn is_ours(authority: &Authority, policy: &HostPolicy) -> bool {
    // A user part serves no honest purpose and makes other readers see another name.
    if authority.as_str().contains('@') {
        return false;
    }
    let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
    if policy.allowed.contains(&name) || name == "localhost" {
        return true;
    }
    let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&name);
    match literal.parse::<IpAddr>() {
        Ok(address) => {
            let bound = policy.bound.ip();
            address.is_loopback() || address == bound || bound.is_unspecified()
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, allowed: &[&str], hosts: &[&str], target: Option<&str>) -> Result<Authority, &'static str> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        let policy = HostPolicy {
            bound: bound.parse().unwrap(),
            allowed: allowed.iter().map(|name| (*name).to_owned()).collect(),
        };
        let target: Option<Authority> = target.map(|text| text.parse().unwrap());
        check_host(&headers, target.as_ref(), &policy)
    }

    #[test]
    fn names_of_this_machine_pass() {
        for host in ["127.0.0.1:7070", "localhost", "LOCALHOST:9", "localhost.:80", "[::1]:7070", "127.1.2.3"] {
            assert!(check("127.0.0.1:7070", &[], &[host], None).is_ok(), "{host}");
        }
        assert!(check("192.168.1.5:80", &[], &["192.168.1.5:80"], None).is_ok());
        assert!(check("0.0.0.0:80", &[], &["10.0.0.7"], None).is_ok(), "an address cannot be rebound");
        assert!(check("0.0.0.0:80", &["box.lan"], &["box.lan:80"], None).is_ok());
    }

    #[test]
    fn names_that_could_be_pointed_here_do_not() {
        let hosts = [
            "evil.example",
            "evil.example:7070",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.localhost.example",
            "10.0.0.7",
            "x@localhost",
            "127.0.0.1@evil.example",
            "0.0.0.0",
            "",
        ];
        for host in hosts {
            assert!(check("127.0.0.1:7070", &[], &[host], None).is_err(), "{host}");
        }
        assert!(check("0.0.0.0:80", &[], &["evil.example"], None).is_err());
        assert!(check("127.0.0.1:1", &[], &[], None).is_err());
        assert!(check("127.0.0.1:1", &[], &["localhost", "evil.example"], None).is_err());
        assert!(check("127.0.0.1:1", &[], &["localhost"], Some("evil.example")).is_err());
    }
}
