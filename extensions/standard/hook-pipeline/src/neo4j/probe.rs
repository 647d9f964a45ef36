//! One check from end to end: find the address, connect, speak, report. The only file here that opens a socket.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::address::{Address, Place, Security};
use super::bolt::{self, Credentials};
use super::settings::{Login, Settings};
use super::wire::{Wire, time_left};
use super::{Neo4jError, Report};

const TLS_NOTE: &str = "something listens there; TLS is not spoken, so nothing more is known";
const NO_LOGIN_NOTE: &str = "it speaks Bolt; without `user` and `passwordEnv` it was asked nothing more";

/// Asks the database that the section describes, within `patience`. `variable` reads the environment.
#[must_use]
pub fn check(section: &Value, variable: &dyn Fn(&str) -> Option<String>, patience: Duration) -> Report {
    ask(section, variable, Instant::now() + patience).unwrap_or_else(|error| Report::failed(&error))
}

fn ask(section: &Value, variable: &dyn Fn(&str) -> Option<String>, deadline: Instant) -> Result<Report, Neo4jError> {
    let settings = Settings::read(section)?;
    let credentials = settings.login.map(|login| credentials(login, variable)).transpose()?;
    let stream = connect(&settings.address, deadline)?;
    if settings.address.security == Security::Tls {
        return Ok(Report { reachable: true, version: None, note: Some(TLS_NOTE.to_owned()) });
    }
    let mut wire = Wire::new(stream, deadline);
    let version = bolt::greet(&mut wire)?;
    let protocol = format!("Bolt/{}.{}", version.major, version.minor);
    let Some(credentials) = credentials else {
        return Ok(Report { reachable: true, version: Some(protocol), note: Some(NO_LOGIN_NOTE.to_owned()) });
    };
    let server = bolt::log_in(&mut wire, version, &credentials)?;
    Ok(Report { reachable: true, version: Some(server.unwrap_or(protocol)), note: None })
}

fn credentials(login: Login, variable: &dyn Fn(&str) -> Option<String>) -> Result<Credentials, Neo4jError> {
    let password = variable(&login.password_env).ok_or(Neo4jError::NoPassword(login.password_env))?;
    Ok(Credentials { user: login.user, password })
}

/// Tries each address in turn; each gets its share of the time that is left.
fn connect(address: &Address, deadline: Instant) -> Result<TcpStream, Neo4jError> {
    let known = match &address.place {
        Place::Known(known) => known.clone(),
        Place::Name(name) => look_up(name, time_left(deadline)?)?,
    };
    let mut failure = Neo4jError::Unresolved;
    for (index, ip) in known.iter().enumerate() {
        let tries_left = u32::try_from(known.len() - index).unwrap_or(u32::MAX);
        let share = time_left(deadline)? / tries_left;
        match TcpStream::connect_timeout(&SocketAddr::new(*ip, address.port), share) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => failure = Neo4jError::TimedOut,
            Err(error) => failure = Neo4jError::Connect(error),
        }
    }
    Err(failure)
}

/// Looking a name up can take as long as the system likes, so a thread does it and is left behind.
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
fn look_up(name: &str, patience: Duration) -> Result<Vec<IpAddr>, Neo4jError> {
    use std::net::ToSocketAddrs;

    /// More addresses of one name are not tried.
    const MAX_ADDRESSES: usize = 4;

    let (sender, receiver) = std::sync::mpsc::channel();
    let name = name.to_owned();
    let thread = std::thread::Builder::new().name("neo4j lookup".to_owned()).spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        // Whoever asked may have gone on without the answer.
        let _ = sender.send(found.map(|found| found.map(|it| it.ip()).take(MAX_ADDRESSES).collect::<Vec<_>>()));
    });
    thread.map_err(|_| Neo4jError::Unresolved)?;
    match receiver.recv_timeout(patience) {
        Ok(Ok(found)) if !found.is_empty() => Ok(found),
        _ => Err(Neo4jError::Unresolved),
    }
}

/// A program that is linked statically against the GNU C library loads parts of it to look a name up, and
/// ends when they do not fit.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
fn look_up(_name: &str, _patience: Duration) -> Result<Vec<IpAddr>, Neo4jError> {
    Err(Neo4jError::NamesUnsupported)
}

#[cfg(all(test, not(all(target_env = "gnu", target_feature = "crt-static"))))]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_and_one_that_cannot_be_is_given_up() {
        let found = look_up("localhost", Duration::from_secs(20)).unwrap();
        assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
        assert!(matches!(look_up("a\0b", Duration::from_secs(20)), Err(Neo4jError::Unresolved)));
    }
}
