//! `fetch` of an extension: one request, answered whole or piece by piece.

use crate::limits::{FETCH, FETCH_STREAM, MAX_OPEN_BODIES, MAX_RESPONSE_BYTES};
use dispatch_http::{ClientKind, Redirects, client, root_cause};
use reqwest::{Method, Response, Url};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The answers that are read piece by piece, by number.
#[derive(Default)]
pub(crate) struct OpenBodies(Mutex<BodyTable>);

#[derive(Default)]
struct BodyTable {
    last: u64,
    open: BTreeMap<u64, OpenBody>,
}

/// An answer, and the bytes of a character whose end has not arrived.
struct OpenBody {
    response: Response,
    partial: Vec<u8>,
}

impl OpenBodies {
    fn lock(&self) -> MutexGuard<'_, BodyTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, body: OpenBody) -> Result<u64, String> {
        let mut table = self.lock();
        if table.open.len() >= MAX_OPEN_BODIES {
            return Err(format!("more than {MAX_OPEN_BODIES} answers are being read at once"));
        }
        table.last += 1;
        let handle = table.last;
        table.open.insert(handle, body);
        Ok(handle)
    }

    /// Lets go of an answer.
    pub(crate) fn close(&self, handle: u64) {
        let closed = self.lock().open.remove(&handle);
        drop(closed);
    }

    /// The next piece as text; `null` at the end.
    pub(crate) async fn read(&self, handle: u64) -> Result<Value, String> {
        let taken = self.lock().open.remove(&handle);
        let mut body = taken.ok_or("the answer is closed, or another piece of it is being read")?;
        loop {
            let Some(chunk) = body.response.chunk().await.map_err(|error| root_cause(&error))? else {
                let rest = std::mem::take(&mut body.partial);
                return Ok(if rest.is_empty() { Value::Null } else { String::from_utf8_lossy(&rest).into() });
            };
            body.partial.extend_from_slice(&chunk);
            let text = whole_characters(&mut body.partial);
            if !text.is_empty() {
                self.lock().open.insert(handle, body);
                return Ok(text.into());
            }
        }
    }
}

/// Takes the text off the front, but for a character that is not complete.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    };
    let rest = bytes.split_off(whole);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

/// A request as the code described it.
pub(crate) struct FetchRequest<'a> {
    pub(crate) url: &'a str,
    pub(crate) method: &'a str,
    pub(crate) headers: Option<&'a Value>,
    pub(crate) body: Option<&'a Value>,
}

impl FetchRequest<'_> {
    async fn send(&self, is_streamed: Streamed) -> Result<Response, String> {
        let url = Url::parse(self.url).map_err(|error| format!("invalid URL `{}`: {error}", self.url))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("invalid URL `{url}`: only http and https are fetched"));
        }
        let method = Method::from_str(self.method).map_err(|_| format!("invalid method `{}`", self.method))?;
        let client = client(ClientKind::of(&url), Redirects::SameOrigin).map_err(|error| error.to_string())?;
        let time = if is_streamed == Streamed::Yes { FETCH_STREAM } else { FETCH };
        let mut request = client.request(method, url).timeout(time);
        for (name, value) in self.headers.and_then(Value::as_object).into_iter().flatten() {
            request = request.header(name, value.as_str().ok_or_else(|| format!("the header `{name}` is not a text"))?);
        }
        if let Some(body) = self.body.filter(|body| !body.is_null()) {
            request = request.body(body.as_str().ok_or("the body is not a text")?.to_owned());
        }
        request.send().await.map_err(|error| root_cause(&error))
    }

    /// The whole answer.
    pub(crate) async fn whole(&self) -> Result<Value, String> {
        let mut response = self.send(Streamed::No).await?;
        let head = head(&response);
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| root_cause(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_RESPONSE_BYTES {
                return Err(format!("the answer has more than {MAX_RESPONSE_BYTES} bytes"));
            }
        }
        Ok(with(head, "body", String::from_utf8_lossy(&bytes).into()))
    }

    /// The beginning of the answer; the rest is read from `bodies`.
    pub(crate) async fn streamed(&self, bodies: &OpenBodies) -> Result<Value, String> {
        let response = self.send(Streamed::Yes).await?;
        let head = head(&response);
        let handle = bodies.add(OpenBody { response, partial: Vec::new() })?;
        Ok(with(head, "handle", handle.into()))
    }
}

/// Whether the answer is read piece by piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Streamed {
    Yes,
    No,
}

fn head(response: &Response) -> Value {
    let shown = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        Some((name.to_string(), Value::from(value.to_str().ok()?)))
    };
    let headers: Map<String, Value> = response.headers().iter().filter_map(shown).collect();
    json!({ "status": response.status().as_u16(), "headers": headers })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_waits_for_its_end() {
        let whole = "aé𝒳z".as_bytes();
        for cut in 0..=whole.len() {
            let (first, second) = whole.split_at(cut);
            let mut bytes = first.to_vec();
            let mut text = whole_characters(&mut bytes);
            bytes.extend_from_slice(second);
            text.push_str(&whole_characters(&mut bytes));
            assert_eq!((text.as_str(), bytes.len()), ("aé𝒳z", 0), "cut at {cut}");
        }
        assert_eq!(whole_characters(&mut vec![b'a', 0xff, b'b']), "a\u{fffd}b", "what is no text never waits");
    }
}
