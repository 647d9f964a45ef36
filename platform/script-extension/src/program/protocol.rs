//! The messages between the host and an extension that is a separate program: JSON-RPC 2.0, one message a line.
//!
//! Pure. `docs/extension-protocol.md` describes them for whoever writes such a program.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The version of the protocol that this program speaks.
pub(crate) const PROTOCOL_VERSION: u64 = 1;
/// The code of an answer that says why the host did not do what was asked.
const REFUSED: i64 = -32000;
/// How much of a line that makes no sense is shown.
const SHOWN_CHARACTERS: usize = 80;

/// A message of the program.
#[derive(Debug, PartialEq)]
pub(crate) enum ProgramMessage {
    /// To a request of the host.
    Answer { id: u64, outcome: Result<Value, String> },
    /// The program asks the host, and expects an answer under its own id.
    Question { id: Value, method: String, params: Map<String, Value> },
    /// The program tells the host.
    Notice { method: String, params: Map<String, Value> },
}

#[derive(Deserialize)]
struct MessageWire {
    jsonrpc: String,
    id: Option<Value>,
    method: Option<String>,
    params: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<ErrorWire>,
}

#[derive(Deserialize)]
struct ErrorWire {
    message: String,
}

/// A result that is `null` is a result.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Reads one line; the error says what is wrong with it.
pub(crate) fn parse(line: &[u8]) -> Result<ProgramMessage, String> {
    let wrong = |why: &str| format!("`{}` is not a message of the extension protocol: {why}", shown(line));
    let wire: MessageWire = serde_json::from_slice(line).map_err(|error| wrong(&error.to_string()))?;
    if wire.jsonrpc != "2.0" {
        return Err(wrong("`jsonrpc` is not \"2.0\""));
    }
    let params = wire.params.unwrap_or_default();
    match (wire.method, wire.id) {
        (Some(method), None | Some(Value::Null)) => Ok(ProgramMessage::Notice { method, params }),
        (Some(method), Some(id)) => Ok(ProgramMessage::Question { id, method, params }),
        (None, id) => {
            let id = id.as_ref().and_then(Value::as_u64).ok_or_else(|| wrong("an answer needs the id of a request"))?;
            match (wire.result, wire.error) {
                (_, Some(error)) => Ok(ProgramMessage::Answer { id, outcome: Err(error.message) }),
                (Some(result), None) => Ok(ProgramMessage::Answer { id, outcome: Ok(result) }),
                (None, None) => Err(wrong("an answer needs a `result` or an `error`")),
            }
        }
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let start: String =
        text.trim_end().chars().take(SHOWN_CHARACTERS).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if start.len() < text.trim_end().len() { format!("{start}...") } else { start }
}

/// A request of the host.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Tells the program that the result of a request is no longer wanted.
pub(crate) fn cancel(id: u64) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "id": id } }))
}

/// The answer to a question of the program.
pub(crate) fn answer(id: &Value, outcome: Result<Value, String>) -> Vec<u8> {
    line(&match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(message) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": REFUSED, "message": message } }),
    })
}

/// JSON text has no line break in it.
fn line(message: &Value) -> Vec<u8> {
    let mut text = message.to_string().into_bytes();
    text.push(b'\n');
    text
}

/// What a program answers to `initialize`.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// What it adds.
    pub(crate) registrations: Value,
}

impl Handshake {
    /// Reads the answer; a program that speaks another version is refused with both versions.
    pub(crate) fn read(mut answer: Value) -> Result<Self, String> {
        let version = answer.get("protocolVersion").cloned().unwrap_or_default();
        if version.as_u64() != Some(PROTOCOL_VERSION) {
            let spoken = if version.is_null() { "none".to_owned() } else { version.to_string() };
            return Err(format!(
                "its program speaks version {spoken} of the extension protocol, and this program version \
                 {PROTOCOL_VERSION}"
            ));
        }
        let registrations = answer.get_mut("registrations").map(Value::take).unwrap_or_else(|| json!({}));
        Ok(Self { registrations })
    }
}

/// What a program registered, as the adapter of an extension in TypeScript tells it: routes have a name, and services
/// the name of their owner.
pub(crate) fn completed(mut registrations: Value, owner: &str) -> Value {
    let entries = |registrations: &mut Value, kind: &str, complete: &dyn Fn(&mut Map<String, Value>)| {
        let listed = registrations.get_mut(kind).and_then(Value::as_array_mut);
        listed.into_iter().flatten().filter_map(Value::as_object_mut).for_each(complete);
    };
    entries(&mut registrations, "routes", &|route| {
        let text = |name: &str| route.get(name).and_then(Value::as_str).unwrap_or_default();
        let (method, path) = (text("method").to_ascii_uppercase(), text("path").to_owned());
        route.insert("name".to_owned(), format!("{method} {path}").into());
        route.insert("method".to_owned(), method.into());
    });
    entries(&mut registrations, "services", &|service| {
        let name = service.get("name").and_then(Value::as_str).unwrap_or_default();
        service.insert("name".to_owned(), owned(owner, name).into());
    });
    registrations
}

/// The id of a hook or service of this extension, which may be said without its owner.
pub(crate) fn owned(owner: &str, id: &str) -> String {
    if id.contains('/') { id.to_owned() } else { format!("{owner}/{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_told_from_the_others() {
        let question = parse(br#"{"jsonrpc":"2.0","id":"a","method":"storage.get","params":{"key":"k"}}"#);
        let params = json!({ "key": "k" }).as_object().cloned().unwrap();
        let method = "storage.get".to_owned();
        assert_eq!(question, Ok(ProgramMessage::Question { id: "a".into(), method, params }));
        let notice = parse(br#"{"jsonrpc":"2.0","method":"log"}"#);
        assert_eq!(notice, Ok(ProgramMessage::Notice { method: "log".to_owned(), params: Map::new() }));
        let nothing = parse(br#"{"jsonrpc":"2.0","id":7,"result":null}"#);
        assert_eq!(nothing, Ok(ProgramMessage::Answer { id: 7, outcome: Ok(Value::Null) }));
        let failed = parse(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#);
        assert_eq!(failed, Ok(ProgramMessage::Answer { id: 7, outcome: Err("no".to_owned()) }));
    }

    #[test]
    fn other_text_is_shown_in_words() {
        for (line, expected) in [
            (&b"hello world"[..], "`hello world` is not a message"),
            (br#"{"id":1,"result":2}"#, "missing field `jsonrpc`"),
            (br#"{"jsonrpc":"1.0","id":1,"result":2}"#, "`jsonrpc` is not \"2.0\""),
            (br#"{"jsonrpc":"2.0","id":1}"#, "needs a `result` or an `error`"),
            (br#"{"jsonrpc":"2.0","id":"x","result":1}"#, "the id of a request"),
            (br#"{"jsonrpc":"2.0","method":"log","params":[1]}"#, "expected a map"),
            (b"\xff\xfe", "is not a message"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(parse(&[b'x'; 500]).unwrap_err().len() < 200);
    }

    #[test]
    fn another_version_is_refused_with_both() {
        let said = Handshake::read(json!({ "protocolVersion": 2 })).unwrap_err();
        assert_eq!(said, "its program speaks version 2 of the extension protocol, and this program version 1");
        assert!(Handshake::read(json!({})).unwrap_err().contains("version none"));
        let read = Handshake::read(json!({ "protocolVersion": 1, "registrations": { "tools": [] } })).unwrap();
        assert_eq!(read.registrations, json!({ "tools": [] }));
    }

    #[test]
    fn names_are_completed() {
        let given =
            json!({ "routes": [{ "method": "get", "path": "/x" }], "services": [{ "name": "a" }, { "name": "b/c" }] });
        let completed = completed(given, "mine");
        assert_eq!(completed["routes"][0]["name"], "GET /x");
        assert_eq!(completed["services"], json!([{ "name": "mine/a" }, { "name": "b/c" }]));
    }
}
