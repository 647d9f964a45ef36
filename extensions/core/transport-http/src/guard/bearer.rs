//! Where a client may show its token: the Authorization header, or the subprotocols of a WebSocket.
//!
//! Pure.

use http::HeaderMap;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};

/// The subprotocol that the WebSocket speaks.
pub(crate) const SUBPROTOCOL: &str = "dispatch.v1";

/// Browsers cannot add headers to a WebSocket; they can offer a subprotocol with the token in it.
const TOKEN_PROTOCOL: &str = "dispatch.token.";

/// The token that the request shows, if it shows one. A query string is never looked at, because
/// addresses end up in logs and histories.
pub(crate) fn shown_token(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| offered(headers))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn offered(headers: &HeaderMap) -> Option<&str> {
    let offers = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    offers.flat_map(|text| text.split(',')).find_map(|offer| offer.trim().strip_prefix(TOKEN_PROTOCOL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_where_they_belong() {
        for (name, value, expected) in [
            ("authorization", "Bearer abc", Some("abc")),
            ("authorization", "bearer  abc ", Some("abc")),
            ("authorization", "Basic abc", None),
            ("authorization", "Bearer", None),
            ("authorization", "abc", None),
            ("sec-websocket-protocol", "dispatch.v1, dispatch.token.abc", Some("abc")),
            ("sec-websocket-protocol", "dispatch.v1", None),
            ("cookie", "token=abc", None),
            ("x-token", "abc", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(shown_token(&headers), expected, "{name}: {value}");
        }
    }
}
