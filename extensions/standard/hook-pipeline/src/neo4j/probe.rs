//! One check from end to end: resolve the address, connect, exchange the Bolt handshake, report.

use core::net::{IpAddr, SocketAddr};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use dispatch_os::Deadline;
use dispatch_os::network::{DeadlineStream, look_up};
use serde_json::Value;

use super::address::{DatabaseHost, Encryption};
use super::bolt::{chosen_version, handshake};
use super::error::Neo4jError;
use super::report::{ProbeReport, SECTION};
use super::settings::{Neo4jSettings, is_configured};
use crate::config::Config;

/// More addresses of one name are not tried.
const MAX_ADDRESSES: usize = 4;
const TLS_NOTE: &str = "the port is open; TLS is not supported, so the Bolt handshake was not checked";
const LOGIN_NOTE: &str = "only the Bolt handshake was checked; `user` and `passwordEnv` are not used";

/// Asks the database that the configuration names, within `limit`; nothing where it names none.
#[must_use]
pub fn probe_configured(config: &Config, limit: Duration) -> Option<ProbeReport> {
    let section = config.section(SECTION);
    is_configured(section).then(|| probe(section, limit))
}

/// Asks the database that the section describes, within `limit`.
#[must_use]
pub(crate) fn probe(section: &Value, limit: Duration) -> ProbeReport {
    shake_hands(section, limit).unwrap_or_else(|error| ProbeReport::failed(&error))
}

fn shake_hands(section: &Value, limit: Duration) -> Result<ProbeReport, Neo4jError> {
    let settings = Neo4jSettings::read(section)?;
    let deadline = Deadline::after(limit);
    let timed_out_or = |cause: fn(io::Error) -> Neo4jError| {
        move |error: io::Error| match error.kind() {
            ErrorKind::TimedOut => Neo4jError::TimedOut(limit),
            _ => cause(error),
        }
    };
    let ips = resolve(&settings.address.host, deadline).map_err(timed_out_or(lookup_failure))?;
    let addresses: Vec<_> = ips.into_iter().map(|ip| SocketAddr::new(ip, settings.address.port)).collect();
    let mut stream = DeadlineStream::connect(&addresses, deadline).map_err(timed_out_or(Neo4jError::Connect))?;
    if settings.address.encryption == Encryption::Tls {
        return Ok(ProbeReport { reachable: true, version: None, note: Some(TLS_NOTE.to_owned()) });
    }
    let answer = exchange(&mut stream).map_err(timed_out_or(exchange_failure))?;
    let version = chosen_version(answer)?;
    Ok(ProbeReport {
        reachable: true,
        version: Some(format!("Bolt/{}.{}", version.major, version.minor)),
        note: settings.has_login.then(|| LOGIN_NOTE.to_owned()),
    })
}

fn resolve(host: &DatabaseHost, deadline: Deadline) -> io::Result<Vec<IpAddr>> {
    match host {
        DatabaseHost::Addresses(addresses) => Ok(addresses.clone()),
        DatabaseHost::Name(name) => look_up(name, MAX_ADDRESSES, deadline),
    }
}

fn exchange(stream: &mut DeadlineStream) -> io::Result<[u8; 4]> {
    let mut answer = [0; 4];
    stream.write_all(&handshake())?;
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

fn lookup_failure(error: io::Error) -> Neo4jError {
    match error.kind() {
        ErrorKind::Unsupported => Neo4jError::NamesUnsupported,
        _ => Neo4jError::LookUp(error),
    }
}

fn exchange_failure(error: io::Error) -> Neo4jError {
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::WriteZero
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::ConnectionAborted => Neo4jError::Closed,
        _ => Neo4jError::Broken(error),
    }
}
