//! What a key is for: one server, by scheme, host and port.
//!
//! Pure.

use crate::error::KeyError;
use dispatch_http::is_loopback_host;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest address that is looked at.
const MAX_ADDRESS_BYTES: usize = 2048;

/// A server, written like `https://api.openai.com` or `http://127.0.0.1:8000`; the port only where it
/// is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Audience {
    is_encrypted: bool,
    host: String,
    port: u16,
}

impl Audience {
    /// Reads an address. Its path does not matter; without a scheme it is `https`, or `http` for this
    /// machine.
    pub fn parse(address: &str) -> Result<Self, KeyError> {
        let text = address.trim();
        Self::read(text).ok_or_else(|| KeyError::InvalidAddress { text: without_user(text) })
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_ADDRESS_BYTES {
            return None;
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let (host, port) = split_port(authority)?;
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host).to_owned();
        if !is_host(&host) {
            return None;
        }
        let is_encrypted = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return None,
            None => !is_loopback_host(&host),
        };
        let usual = if is_encrypted { 443 } else { 80 };
        Some(Self { is_encrypted, host, port: port.unwrap_or(usual) })
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(&self.host)
    }

    /// The host's name, lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether this is the usual encrypted server of a host.
    pub fn is_secure_server_of(&self, host: &str) -> bool {
        self.is_encrypted && self.port == 443 && self.host == host
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.is_encrypted { ("https", 443) } else { ("http", 80) };
        write!(out, "{scheme}://{}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(out, ":{}", self.port) }
    }
}

impl TryFrom<String> for Audience {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::parse(&text)
    }
}

impl From<Audience> for String {
    fn from(audience: Audience) -> Self {
        audience.to_string()
    }
}

/// Host and port of an authority; one with a user name is refused, because that is where passwords hide.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    if authority.contains('@') {
        return None;
    }
    let (host, port) = match authority.rfind(']') {
        Some(end) => authority.split_at(end + 1),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match port.strip_prefix(':') {
        Some(number) => Some((host, Some(number.parse().ok().filter(|port| *port != 0)?))),
        None => port.is_empty().then_some((host, None)),
    }
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<core::net::Ipv6Addr>().is_ok();
    }
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    !host.is_empty() && host.chars().all(is_allowed) && !host.starts_with(['.', '-']) && !host.contains("..")
}

fn without_user(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let shown = match text.rfind('@') {
        Some(at) if at >= start => {
            format!("{}...{}", text.get(..start).unwrap_or_default(), text.get(at..).unwrap_or_default())
        }
        _ => text.to_owned(),
    };
    shown.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_spelling() {
        for (address, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com"),
            ("HTTPS://API.OpenAI.com:443/", "https://api.openai.com"),
            ("api.openai.com", "https://api.openai.com"),
            ("api.openai.com.", "https://api.openai.com"),
            ("http://api.openai.com", "http://api.openai.com"),
            ("https://api.openai.com:8443?x#y", "https://api.openai.com:8443"),
            ("localhost:11434", "http://localhost:11434"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:8080/v1", "http://[::1]:8080"),
            ("http://gpu_box.lan:8000", "http://gpu_box.lan:8000"),
        ] {
            assert_eq!(Audience::parse(address).unwrap().to_string(), expected, "{address}");
        }
    }

    #[test]
    fn an_invalid_address_is_refused() {
        for address in [
            "",
            " ",
            "https://",
            "ftp://a",
            "https://a b",
            "https://user:hunter2@a",
            "a:b",
            "a:0",
            "a:99999",
            "https://[::x]",
            "https://api.openai.com@evil.example",
            "https://api.openai.com\\@evil.example",
            "ümlaut.example",
            "..",
            "-a",
        ] {
            match Audience::parse(address) {
                Err(error) => assert!(!error.to_string().contains("hunter2"), "{error}"),
                Ok(found) => {
                    assert_eq!(found.to_string(), "https://api.openai.com", "a backslash ends the host: {address}")
                }
            }
        }
    }

    #[test]
    fn look_alikes_are_other_servers() {
        let own = Audience::parse("https://api.openai.com").unwrap();
        assert!(own.is_secure_server_of("api.openai.com"));
        for other in [
            "http://api.openai.com",
            "https://api.openai.com:444",
            "https://api.openai.com.evil.example",
            "https://xapi.openai.com",
            "https://openai.com",
            "https://localhost",
        ] {
            let other = Audience::parse(other).unwrap();
            assert!(other != own && !other.is_secure_server_of("api.openai.com"), "{other}");
        }
    }
}
