//! The address of a database: which of its spellings are understood, and nothing of it that could be a secret.
//!
//! Pure.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::Neo4jError;

const DEFAULT_PORT: u16 = 7687;
const MAX_NAME_BYTES: usize = 253;

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    Plain,
    Tls,
}

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseAddress {
    pub(super) encryption: Encryption,
    pub(super) host: DatabaseHost,
    pub(super) port: u16,
}

/// The machine that the database runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DatabaseHost {
    /// Addresses that need no lookup, in the order they are tried.
    Addresses(Vec<IpAddr>),
    Name(String),
}

impl DatabaseAddress {
    /// Reads `bolt://host[:port]` and `neo4j://host[:port]`, with `+s` or `+ssc` for TLS.
    pub(super) fn parse(url: &str) -> Result<Self, Neo4jError> {
        let (scheme, rest) = url.split_once("://").ok_or(Neo4jError::Address("it needs a scheme such as `bolt://`"))?;
        let encryption = match scheme {
            "bolt" | "neo4j" => Encryption::Plain,
            "bolt+s" | "bolt+ssc" | "neo4j+s" | "neo4j+ssc" => Encryption::Tls,
            _ => {
                return Err(Neo4jError::Address(
                    "unknown scheme; expected `bolt`, `neo4j`, or one of them with `+s` or `+ssc`",
                ));
            }
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(Neo4jError::Address("it contains a login; remove everything up to the `@`"));
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { encryption, host: database_host(host)?, port })
    }
}

fn split_port(authority: &str) -> Result<(&str, u16), Neo4jError> {
    const WRONG: Neo4jError = Neo4jError::Address("the port is not a number from 1 to 65535");
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(Neo4jError::Address("`[` is not closed"))?;
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

fn database_host(host: &str) -> Result<DatabaseHost, Neo4jError> {
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(DatabaseHost::Addresses(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]));
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(DatabaseHost::Addresses(vec![address]));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > MAX_NAME_BYTES || !host.bytes().all(fits) {
        return Err(Neo4jError::Address("the host is neither a name nor an IP address"));
    }
    Ok(DatabaseHost::Name(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_address() {
        let known = |text: &str| DatabaseHost::Addresses(vec![text.parse().unwrap()]);
        let name = |text: &str| DatabaseHost::Name(text.to_owned());
        let localhost = DatabaseHost::Addresses(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]);
        let cases = [
            ("bolt://localhost", Encryption::Plain, localhost.clone(), 7687),
            ("neo4j://LOCALHOST:17687/db", Encryption::Plain, localhost, 17687),
            ("bolt://10.0.0.7:1", Encryption::Plain, known("10.0.0.7"), 1),
            ("bolt://[::1]:7688", Encryption::Plain, known("::1"), 7688),
            ("bolt://[fe80::2]", Encryption::Plain, known("fe80::2"), 7687),
            ("neo4j+s://graph.example.com", Encryption::Tls, name("graph.example.com"), 7687),
            ("bolt+ssc://graph_1:9?x=y", Encryption::Tls, name("graph_1"), 9),
        ];
        for (url, encryption, host, port) in cases {
            assert_eq!(DatabaseAddress::parse(url).unwrap(), DatabaseAddress { encryption, host, port }, "{url}");
        }
    }

    #[test]
    fn an_invalid_address_is_refused() {
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
            assert!(matches!(DatabaseAddress::parse(url), Err(Neo4jError::Address(_))), "{url:?}");
        }
    }
}
