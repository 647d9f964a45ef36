//! Where a mail server is and how the connection to it is protected, as a URL of the settings says.
//!
//! Pure.

use dispatch_http::is_loopback_host;
use url::Url;

/// What the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailProtocol {
    /// Mail is read.
    Imap,
    /// Mail is sent.
    Smtp,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// TLS from the first byte.
    Tls,
    /// TLS before anything is said that matters; a server that offers none is not used.
    StartTls,
    /// None.
    Plain,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// The name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) protection: Protection,
}

impl MailProtocol {
    /// The scheme, what it means, and its usual port.
    const fn schemes(self) -> &'static [(&'static str, Protection, u16)] {
        match self {
            Self::Imap => &[
                ("imaps", Protection::Tls, 993),
                ("imap", Protection::Plain, 143),
                ("imap+plain", Protection::Plain, 143),
            ],
            Self::Smtp => &[
                ("smtps", Protection::Tls, 465),
                ("smtp+starttls", Protection::StartTls, 587),
                ("smtp", Protection::Plain, 25),
                ("smtp+plain", Protection::Plain, 25),
            ],
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::Imap => "write imaps://HOST",
            Self::Smtp => "write smtps://HOST, or smtp+starttls://HOST for port 587",
        }
    }
}

/// Reads the URL of a server. What is said of a wrong one never shows more of it than its scheme and host.
pub(crate) fn parse_server(protocol: MailProtocol, text: &str) -> Result<ServerAddress, String> {
    let hint = protocol.hint();
    let url = Url::parse(text).map_err(|error| format!("invalid URL: {error} (hint: {hint})"))?;
    let known = protocol.schemes().iter().find(|(scheme, ..)| *scheme == url.scheme());
    let Some(&(scheme, protection, port)) = known else {
        return Err(format!("unknown scheme `{}` (hint: {hint})", url.scheme()));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a user or a password (hint: name the user as `user`, and store the password with \
                    `dispatch auth add channel:mail:ACCOUNT`)"
            .to_owned());
    }
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| format!("a URL without a host (hint: {hint})"))?;
    // `imap+plain` says that the wish is no mistake.
    if protection == Protection::Plain && !scheme.ends_with("+plain") && !is_loopback_host(host) {
        return Err(format!(
            "`{scheme}://` would send the password to `{host}` unprotected (hint: {hint}; {scheme}+plain:// if the \
             network in between is your own)"
        ));
    }
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    Ok(ServerAddress { host: bare.to_owned(), port: url.port().unwrap_or(port), protection })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_where_and_how() {
        use MailProtocol::{Imap, Smtp};
        for (protocol, text, host, port, protection) in [
            (Imap, "imaps://mail.example.org", "mail.example.org", 993, Protection::Tls),
            (Imap, "imaps://mail.example.org:1993/", "mail.example.org", 1993, Protection::Tls),
            (Imap, "imap://127.0.0.1:1143", "127.0.0.1", 1143, Protection::Plain),
            (Imap, "imap://[::1]:1143", "::1", 1143, Protection::Plain),
            (Imap, "imap+plain://mail.lan", "mail.lan", 143, Protection::Plain),
            (Smtp, "smtps://mail.example.org", "mail.example.org", 465, Protection::Tls),
            (Smtp, "smtp+starttls://mail.example.org", "mail.example.org", 587, Protection::StartTls),
            (Smtp, "smtp://localhost:2525", "localhost", 2525, Protection::Plain),
        ] {
            let address = ServerAddress { host: host.to_owned(), port, protection };
            assert_eq!(parse_server(protocol, text), Ok(address), "{text}");
        }
    }

    #[test]
    fn a_wrong_url_is_refused_with_a_hint_and_shows_no_password() {
        use MailProtocol::{Imap, Smtp};
        for (protocol, text, said) in [
            (Imap, "imap://mail.example.org", "unprotected"),
            (Smtp, "smtp://mail.example.org", "smtp+starttls"),
            (Imap, "smtps://mail.example.org", "unknown scheme `smtps`"),
            (Imap, "mail.example.org", "invalid URL"),
            (Imap, "imaps://", "host"),
            (Imap, "imaps://me:canary-4711@mail.example.org", "password"),
        ] {
            let refused = parse_server(protocol, text).unwrap_err();
            assert!(refused.contains(said) && refused.contains("hint: "), "{text}: {refused}");
            assert!(!refused.contains("canary-4711"), "{refused}");
        }
    }
}
