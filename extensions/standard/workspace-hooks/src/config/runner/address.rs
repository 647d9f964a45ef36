//! Checks the address of a server that takes prompts: this machine, or over TLS.
//!
//! Pure.

use crate::config::fields::Located;
use crate::config::findings::Findings;
use crate::config::limits::MAX_URL_BYTES;
use core::net::Ipv6Addr;
use dispatch_http::is_loopback_host;

/// The address, or a finding: a prompt must not be readable on its way.
pub(super) fn read(found: &Located<&str>, findings: &mut Findings) -> Option<String> {
    match fault(found.value) {
        None => Some(found.value.to_owned()),
        Some((message, hint)) => {
            found.wrong_hinted(findings, "url", message, hint);
            None
        }
    }
}

/// What is wrong with an address, and what to do. The address may hold a secret and is not repeated.
fn fault(url: &str) -> Option<(&'static str, &'static str)> {
    const FORM: &str = "write https://HOST/PATH, or http://127.0.0.1:PORT/PATH";
    if url.len() > MAX_URL_BYTES {
        return Some(("the address is longer than 2048 bytes", FORM));
    }
    if url.chars().any(|character| character.is_whitespace() || character.is_control() || character == '\\') {
        return Some(("an address cannot hold blanks, control characters or backslashes", FORM));
    }
    let Some((scheme, rest)) = url.split_once("://") else { return Some(("invalid address", FORM)) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some((
            "the address holds a user name or a password",
            "put it into `headers` as `${NAME}`, which is read from the environment",
        ));
    }
    let Some(host) = host(authority) else { return Some(("the address has no valid host", FORM)) };
    match scheme {
        "https" => None,
        "http" if is_loopback_host(host) => None,
        "http" => Some(("http is allowed only to this machine", "use https")),
        _ => Some(("the address must begin with http:// or https://", FORM)),
    }
}

/// The host of `host:port`, without the brackets of an IPv6 address.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    (!host.is_empty() && port_fits).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_tls_are_let_through() {
        for url in [
            "https://example.com",
            "https://example.com:8443/hook?x=1",
            "http://localhost:8080/",
            "http://127.0.0.1:1",
            "http://127.9.9.9/x",
            "http://[::1]:9000/x",
            "http://[::ffff:127.0.0.1]/",
            "http://hooks.localhost:8080/",
            "https://[2001:db8::1]/x",
        ] {
            assert_eq!(fault(url), None, "{url}");
        }
        for url in [
            "",
            "example.com",
            "ftp://example.com",
            "http://example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@example.com/",
            "https://user:word@example.com/",
            "http://2130706433/",
            "http://[::ffff:10.0.0.1]/",
            "http://[::1",
            "http://[::1]x",
            "http:///path",
            "http://:80/",
            "http://localhost:0/",
            "http://localhost:99999/",
            "https://exam ple.com/",
            "http://localhost\\@example.com/",
            "https://a\r\nb/",
        ] {
            assert!(fault(url).is_some(), "{url}");
        }
        assert!(fault(&format!("https://example.com/{}", "x".repeat(3_000))).is_some());
    }
}
