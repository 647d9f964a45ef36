//! Where the database is, as the settings name it. The password in it is shown nowhere.

use dispatch_contracts::storage::StorageError;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// How `storage.url` begins for this backend.
const SCHEMES: &[&str] = &["postgres://", "postgresql://"];
/// Says that statements may not be prepared, because a pooler hands each transaction to another connection.
const UNPREPARED: &str = "prepared_statements=false";
const AUTHORITIES: &str = "sslrootcert=";
const UNREADABLE: &str = "`sslrootcert` is not a path";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of a database.
#[derive(Clone)]
pub struct DatabaseAddress {
    pub(crate) config: Config,
    pub(crate) tls: TlsUse,
    /// The file with the certificates of the authorities that are believed; none for those of the system.
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) prepares: bool,
}

/// How much the connection is protected, as the URL asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsUse {
    /// As the server likes; a certificate is not checked.
    Unchecked,
    /// With a certificate that is valid for the host.
    Verified,
}

impl DatabaseAddress {
    /// Whether a `storage.url` is for this backend.
    #[must_use]
    pub fn is_meant(url: &str) -> bool {
        SCHEMES.iter().any(|scheme| url.starts_with(scheme))
    }

    /// Reads a URL as libpq does, with `sslmode=verify-full` for a checked certificate, `sslrootcert=FILE` for one of a
    /// private authority, and `prepared_statements=false` for a pooler in transaction mode.
    ///
    /// # Errors
    /// When it is no such URL. The text says what is wrong with it and nothing of what is in it.
    pub fn parse(url: &str) -> Result<Self, StorageError> {
        let wrong = |said: &str| StorageError::Unwritable(format!("invalid `storage.url`: {said}"));
        if !Self::is_meant(url) {
            return Err(wrong("expected `postgres://USER@HOST/DATABASE`"));
        }
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let mut tls = TlsUse::Unchecked;
        let mut authorities = None;
        let mut prepares = true;
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option {
                UNPREPARED => prepares = false,
                "sslmode=verify-full" | "sslmode=verify-ca" => {
                    tls = TlsUse::Verified;
                    kept.push("sslmode=require");
                }
                "sslrootcert=system" => authorities = Some(None),
                other => match other.strip_prefix(AUTHORITIES) {
                    Some(file) => authorities = Some(Some(decoded(file).ok_or_else(|| wrong(UNREADABLE))?)),
                    None => kept.push(other),
                },
            }
        }
        // As in libpq: whoever names an authority wants the certificate checked.
        match (&authorities, kept.contains(&"sslmode=require")) {
            (None, _) => {}
            (Some(_), true) => tls = TlsUse::Verified,
            (Some(_), false) => return Err(wrong("`sslrootcert` needs `sslmode=verify-full`")),
        }
        let text = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        // Texts of the parser name options, not their values.
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            wrong(&std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host"));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("dispatch");
        }
        Ok(Self { config, tls, authorities: authorities.flatten(), prepares })
    }
}

/// A path with its percent signs resolved.
fn decoded(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Host, port and database; never the password.
impl fmt::Display for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().or_else(|| self.config.get_user()).unwrap_or_default();
        write!(formatter, "postgres://{host}:{port}/{database}")
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::SslMode;

    #[test]
    fn a_url_is_read_and_shown_without_its_password() {
        let url = "postgres://me:hunter2@db.example:6432/work?sslmode=verify-full&prepared_statements=false";
        let address = DatabaseAddress::parse(url).unwrap();
        let asked = (address.tls, address.prepares, address.config.get_ssl_mode());
        assert_eq!(asked, (TlsUse::Verified, false, SslMode::Require));
        for shown in [format!("{address}"), format!("{address:?}")] {
            assert_eq!(shown, "postgres://db.example:6432/work");
        }
        let private = "postgres://me@db/work?sslmode=require&sslrootcert=%2Fetc%2Fmy%20ca.pem";
        let address = DatabaseAddress::parse(private).unwrap();
        assert_eq!(address.tls, TlsUse::Verified, "an authority is named to be checked");
        assert_eq!(address.authorities, Some("/etc/my ca.pem".into()));
        let socket = DatabaseAddress::parse("postgresql://me@%2Frun%2Fpg/work").unwrap();
        assert_eq!(socket.to_string(), "postgres:///run/pg:5432/work");
    }

    #[test]
    fn a_wrong_url_is_refused_and_not_repeated() {
        for bad in [
            "mysql://me:hunter2@h/d",
            "postgres://me:hunter2@h:port/d",
            "postgres://me:hunter2@h/d?sslmode=hunter2",
            "postgres://me:hunter2@h/d?hunter2=1",
            "postgres:///d?password=hunter2",
            "postgres://me:hunter2@h/d?sslrootcert=/ca.pem",
            "postgres://me:hunter2@h/d?sslmode=verify-full&sslrootcert=%zz",
            "postgres://me:hunter2@h/d?sslmode=verify-full&sslrootcert=",
        ] {
            let said = DatabaseAddress::parse(bad).unwrap_err().to_string();
            assert!(said.contains("invalid `storage.url`"), "{bad}: {said}");
            assert!(!said.contains("hunter2") || bad.contains("hunter2=1"), "{bad}: {said}");
        }
    }
}
