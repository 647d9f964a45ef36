//! The address of a database: which of its spellings are understood, and nothing of it that could be a secret.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Neo4jError;

const DEFAULT_PORT: u16 = 7687;
const LONGEST_NAME: usize = 253;

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Security {
    Plain,
    Tls,
}

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) security: Security,
    pub(super) place: Place,
    pub(super) port: u16,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Addresses that need no lookup, in the order they are tried.
    Known(Vec<IpAddr>),
    Name(String),
}

impl Address {
    /// Reads `bolt://host[:port]` and `neo4j://host[:port]`, with `+s` or `+ssc` for TLS.
    pub(super) fn parse(url: &str) -> Result<Self, Neo4jError> {
        let (scheme, rest) = url.split_once("://").ok_or(Neo4jError::Address("it has no scheme such as `bolt://`"))?;
        let security = match scheme {
            "bolt" | "neo4j" => Security::Plain,
            "bolt+s" | "bolt+ssc" | "neo4j+s" | "neo4j+ssc" => Security::Tls,
            _ => return Err(Neo4jError::Address("its scheme is none of `bolt`, `neo4j` and their `+s` forms")),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(Neo4jError::Address("it holds a login; use `user` and `passwordEnv`"));
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { security, place: place(host)?, port })
    }
}

fn split_port(authority: &str) -> Result<(&str, u16), Neo4jError> {
    const WRONG: Neo4jError = Neo4jError::Address("its port is no number from 1 to 65535");
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(Neo4jError::Address("its `[` is not closed"))?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(WRONG)?) })
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    match port {
        None => Ok((host, DEFAULT_PORT)),
        Some(port) => match port.parse() {
            Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
            _ => Err(WRONG),
        },
    }
}

fn place(host: &str) -> Result<Place, Neo4jError> {
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(Place::Known(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]));
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Place::Known(vec![address]));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > LONGEST_NAME || !host.bytes().all(fits) {
        return Err(Neo4jError::Address("its host is neither a name nor an address"));
    }
    Ok(Place::Name(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_address() {
        let known = |text: &str| Place::Known(vec![text.parse().unwrap()]);
        let name = |text: &str| Place::Name(text.to_owned());
        let localhost = Place::Known(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]);
        let cases = [
            ("bolt://localhost", Security::Plain, localhost.clone(), 7687),
            ("neo4j://LOCALHOST:17687/db", Security::Plain, localhost, 17687),
            ("bolt://10.0.0.7:1", Security::Plain, known("10.0.0.7"), 1),
            ("bolt://[::1]:7688", Security::Plain, known("::1"), 7688),
            ("bolt://[fe80::2]", Security::Plain, known("fe80::2"), 7687),
            ("neo4j+s://graph.example.com", Security::Tls, name("graph.example.com"), 7687),
            ("bolt+ssc://graph_1:9?x=y", Security::Tls, name("graph_1"), 9),
        ];
        for (url, security, place, port) in cases {
            assert_eq!(Address::parse(url).unwrap(), Address { security, place, port }, "{url}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let wrong = [
            "",
            "localhost",
            "http://localhost",
            "bolt://",
            "bolt://:7687",
            "bolt://h:0",
            "bolt://h:65536",
            "bolt://h:+1",
            "bolt://h:",
            "bolt://[::1",
            "bolt://[::1]7687",
            "bolt://u:p@h",
            "bolt://a b",
            "bolt://h\n",
        ];
        for url in wrong {
            assert!(matches!(Address::parse(url), Err(Neo4jError::Address(_))), "{url:?}");
        }
    }
}
