//! Decides which web pages may send requests: those of this server, and those that the user named.
//!
//! Pure.

use http::HeaderMap;
use http::header::{HeaderValue, ORIGIN};
use http::uri::Authority;

const FETCH_SITE: &str = "sec-fetch-site";

/// Who calls, as far as a browser says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// No browser, or a page of this server.
    Own,
    /// A page that the user named; it needs leave to read the answer.
    Named(HeaderValue),
}

/// Refuses what a foreign page caused. `host` is the checked authority of the request.
pub(crate) fn check_origin(
    headers: &HeaderMap,
    host: &Authority,
    allowed: &[String],
) -> Result<RequestOrigin, &'static str> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next();
    if origins.next().is_some() {
        return Err("the request has more than one Origin header");
    }
    let Some(origin) = origin else { return check_site(headers).map(|()| RequestOrigin::Own) };
    let text = origin.to_str().map_err(|_| "the Origin header cannot be read")?.to_ascii_lowercase();
    if allowed.contains(&text) {
        return Ok(RequestOrigin::Named(origin.clone()));
    }
    let same = text.strip_prefix("http://").is_some_and(|rest| rest == host.as_str().to_ascii_lowercase());
    if !same {
        return Err("web pages of other origins may not use this server");
    }
    check_site(headers).map(|()| RequestOrigin::Own)
}

fn check_site(headers: &HeaderMap) -> Result<(), &'static str> {
    match headers.get(FETCH_SITE).map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err("web pages of other sites may not use this server"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&'static str, &str)]) -> Result<RequestOrigin, &'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        check_origin(&headers, &"127.0.0.1:7070".parse().unwrap(), &["https://app.example".to_owned()])
    }

    #[test]
    fn programs_and_own_pages_pass() {
        for pairs in [
            &[][..],
            &[("origin", "http://127.0.0.1:7070")],
            &[("origin", "http://127.0.0.1:7070"), (FETCH_SITE, "same-origin")],
            &[(FETCH_SITE, "none")],
        ] {
            assert_eq!(check(pairs), Ok(RequestOrigin::Own), "{pairs:?}");
        }
        let named = check(&[("origin", "https://app.example"), (FETCH_SITE, "cross-site")]);
        assert_eq!(named, Ok(RequestOrigin::Named(HeaderValue::from_static("https://app.example"))));
    }

    #[test]
    fn foreign_pages_do_not() {
        for pairs in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "null")],
            &[("origin", "http://127.0.0.1:8080")],
            &[("origin", "https://127.0.0.1:7070")],
            &[("origin", "http://127.0.0.1:7070.evil.example")],
            &[("origin", "http://127.0.0.1:7070"), ("origin", "https://evil.example")],
            &[("origin", "https://app.example.evil.example")],
            &[(FETCH_SITE, "cross-site")],
            &[(FETCH_SITE, "same-site")],
            &[("origin", "http://127.0.0.1:7070"), (FETCH_SITE, "cross-site")],
            &[("origin", "")],
        ] {
            assert!(check(pairs).is_err(), "{pairs:?}");
        }
    }
}
