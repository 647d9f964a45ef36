//! CloudEvents 1.0 over HTTP: structured, binary and batched.
//!
//! Pure.

use super::payload::{PayloadError, ReadEvent, json_content, parse_json, utf8};
use crate::contract::{NewEvent, PeerKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dispatch_contracts::contribution::RawRequest;
use dispatch_os::paths::percent_decoded;
use dispatch_os::time::parse_rfc3339;
use serde_json::{Map, Value};

/// The most events of one batch.
pub(crate) const MAX_BATCH: usize = 1_000;
const NEEDED: [&str; 4] = ["specversion", "id", "source", "type"];

/// How a request carries CloudEvents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentMode {
    Structured,
    Binary,
    Batched,
}

/// The CloudEvents of a request; `None` if it carries none.
pub(super) fn read(request: &RawRequest) -> Option<Result<Vec<ReadEvent>, PayloadError>> {
    let events = match mode(request)? {
        ContentMode::Structured => structured(request).map(|event| vec![event]),
        ContentMode::Binary => binary(request).map(|event| vec![event]),
        ContentMode::Batched => batched(request),
    };
    Some(events)
}

fn mode(request: &RawRequest) -> Option<ContentMode> {
    let media = media_type(request.header("content-type").unwrap_or_default());
    if media.starts_with("application/cloudevents-batch") {
        return Some(ContentMode::Batched);
    }
    if media.starts_with("application/cloudevents") {
        return Some(ContentMode::Structured);
    }
    request.header("ce-specversion").map(|_| ContentMode::Binary)
}

fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn structured(request: &RawRequest) -> Result<ReadEvent, PayloadError> {
    only_json_format(request)?;
    event(parse_json(&request.body)?)
}

fn batched(request: &RawRequest) -> Result<Vec<ReadEvent>, PayloadError> {
    only_json_format(request)?;
    let Value::Array(items) = parse_json(&request.body)? else {
        return Err(PayloadError::new("a batch of CloudEvents is a JSON array"));
    };
    if items.is_empty() {
        return Err(PayloadError::new("the batch has no event"));
    }
    if items.len() > MAX_BATCH {
        return Err(PayloadError::new(format!("the batch has {} events, and {MAX_BATCH} are allowed", items.len())));
    }
    let numbered = items.into_iter().enumerate();
    numbered.map(|(at, item)| event(item).map_err(|error| error.within(&format!("event {at}")))).collect()
}

fn only_json_format(request: &RawRequest) -> Result<(), PayloadError> {
    let media = media_type(request.header("content-type").unwrap_or_default());
    if media.ends_with("+json") || !media.contains('+') {
        return Ok(());
    }
    Err(PayloadError::new(format!("CloudEvents in `{media}` are not read, only in JSON")))
}

/// An event whose attributes are headers and whose data is the body.
fn binary(request: &RawRequest) -> Result<ReadEvent, PayloadError> {
    let mut attributes = Map::new();
    for (name, value) in &request.headers {
        let Some(attribute) = name.strip_prefix("ce-") else { continue };
        let text = std::str::from_utf8(value).ok().and_then(percent_decoded);
        let text = text.ok_or_else(|| PayloadError::new(format!("the header `{name}` is not valid UTF-8")))?;
        attributes.insert(attribute.to_owned(), text.into());
    }
    let media = request.header("content-type").map(media_type);
    let is_json = media.as_deref().is_some_and(|media| media == "application/json" || media.ends_with("+json"));
    let is_text = media.as_deref().is_none_or(|media| media.starts_with("text/") || media.ends_with("xml"));
    if let Some(media) = media {
        attributes.insert("datacontenttype".to_owned(), media.into());
    }
    let data = match &request.body {
        body if body.is_empty() => None,
        body if is_json => Some(parse_json(body)?),
        body if is_text => Some(Value::String(utf8(body)?)),
        body => match std::str::from_utf8(body) {
            Ok(text) => Some(Value::String(text.to_owned())),
            Err(_) => {
                attributes.insert("data_base64".to_owned(), STANDARD.encode(body).into());
                None
            }
        },
    };
    attributes.extend(data.map(|data| ("data".to_owned(), data)));
    event(Value::Object(attributes))
}

fn event(value: Value) -> Result<ReadEvent, PayloadError> {
    let Value::Object(mut fields) = value else {
        return Err(PayloadError::new("a CloudEvent is a JSON object"));
    };
    for name in NEEDED {
        match fields.get(name) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(_) => return Err(PayloadError::new(format!("the CloudEvent's `{name}` is not a text with content"))),
            None => return Err(PayloadError::new(format!("the CloudEvent has no `{name}`"))),
        }
    }
    let text = |fields: &Map<String, Value>, name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let version = text(&fields, "specversion").unwrap_or_default();
    if version != "1.0" {
        return Err(PayloadError::new(format!("CloudEvents `{version}` are not read, only `1.0`")));
    }
    let timestamp = match fields.get("time") {
        None | Some(Value::Null) => None,
        Some(time) => Some(moment(time)?),
    };
    let (content, content_type) = content(&mut fields)?;
    let (source, id) = (text(&fields, "source").unwrap_or_default(), text(&fields, "id").unwrap_or_default());
    let subject = text(&fields, "subject").filter(|subject| !subject.is_empty());
    Ok(ReadEvent {
        is_named: true,
        event: NewEvent {
            // Only both together are unique.
            external_id: Some(format!("{source}#{id}")),
            from: source.clone(),
            peer_kind: PeerKind::Dm,
            peer_id: Some(source),
            thread_id: subject,
            content,
            content_type: Some(content_type),
            timestamp,
            metadata: Map::from_iter([("cloudEvent".to_owned(), Value::Object(fields))]),
            ..NewEvent::default()
        },
    })
}

fn moment(time: &Value) -> Result<u64, PayloadError> {
    let read = time.as_str().and_then(parse_rfc3339).and_then(|ms| u64::try_from(ms).ok());
    read.ok_or_else(|| PayloadError::new("the CloudEvent's `time` is not a time as in RFC 3339"))
}

/// Takes the data out of the attributes.
fn content(fields: &mut Map<String, Value>) -> Result<(String, String), PayloadError> {
    let data = fields.remove("data");
    let encoded = fields.remove("data_base64");
    match (data, encoded) {
        (Some(_), Some(_)) => Err(PayloadError::new("the CloudEvent has both `data` and `data_base64`")),
        (Some(Value::String(text)), None) => Ok((text, "text".to_owned())),
        (Some(value), None) => Ok((json_content(&value), "json".to_owned())),
        (None, Some(Value::String(text))) => {
            let bytes = STANDARD.decode(&text);
            let bytes = bytes.map_err(|_| PayloadError::new("the CloudEvent's `data_base64` is not base64"))?;
            Ok(String::from_utf8(bytes).map_or((text, "base64".to_owned()), |text| (text, "text".to_owned())))
        }
        (None, Some(_)) => Err(PayloadError::new("the CloudEvent's `data_base64` is not a text")),
        (None, None) => Ok((String::new(), "text".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(headers: &[(&str, &str)], body: &[u8]) -> RawRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        RawRequest { headers, body: body.to_vec(), ..RawRequest::default() }
    }

    fn read_all(headers: &[(&str, &str)], body: &str) -> Result<Vec<ReadEvent>, PayloadError> {
        read(&request(headers, body.as_bytes())).unwrap()
    }

    const STRUCTURED: (&str, &str) = ("content-type", "application/cloudevents+json; charset=utf-8");

    #[test]
    fn the_three_modes_read_the_same_event() {
        let sent = json!({"specversion": "1.0", "id": "A-1", "source": "/shop", "type": "sold", "subject": "pear",
            "time": "2026-01-29T12:00:00Z", "datacontenttype": "application/json", "data": {"n": 1}});
        let structured = read_all(&[STRUCTURED], &sent.to_string()).unwrap();
        let batch = json!([sent]).to_string();
        let batched = read_all(&[("content-type", "application/cloudevents-batch+json")], &batch).unwrap();
        let headers = [
            ("ce-specversion", "1.0"),
            ("ce-id", "A-1"),
            ("ce-source", "/shop"),
            ("ce-type", "sold"),
            ("ce-subject", "p%65ar"),
            ("ce-time", "2026-01-29T12:00:00Z"),
            ("content-type", "application/json"),
        ];
        let binary = read_all(&headers, "{\"n\": 1}").unwrap();
        assert_eq!(structured, batched);
        assert_eq!(structured, binary);
        let event = &structured[0].event;
        assert_eq!(event.external_id.as_deref(), Some("/shop#A-1"));
        assert_eq!((event.from.as_str(), event.thread_id.as_deref()), ("/shop", Some("pear")));
        assert_eq!(event.timestamp, Some(1_769_688_000_000));
        assert_eq!((event.content_type.as_deref(), event.content.contains("\"n\": 1")), (Some("json"), true));
        assert_eq!(event.metadata["cloudEvent"]["type"], "sold");
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_base64() {
        let headers = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "s"), ("ce-type", "t")];
        let mut asked = request(&headers, &[0xff, 0xfe]);
        asked.headers.push(("content-type".to_owned(), b"application/octet-stream".to_vec()));
        let event = &read(&asked).unwrap().unwrap()[0].event;
        assert_eq!((event.content.as_str(), event.content_type.as_deref()), ("//4=", Some("base64")));
    }

    #[test]
    fn what_is_no_cloud_event_is_refused_with_the_reason() {
        let one = |change: Value| {
            let mut sent = json!({"specversion": "1.0", "id": "1", "source": "s", "type": "t"});
            change.as_object().unwrap().iter().for_each(|(name, value)| sent[name] = value.clone());
            read_all(&[STRUCTURED], &sent.to_string()).unwrap_err().to_string()
        };
        for (change, said) in [
            (json!({"id": ""}), "`id`"),
            (json!({"type": 1}), "`type`"),
            (json!({"specversion": "0.3"}), "`0.3`"),
            (json!({"time": "yesterday"}), "`time`"),
            (json!({"data": 1, "data_base64": "AA=="}), "both"),
            (json!({"data_base64": "?"}), "base64"),
        ] {
            assert!(one(change.clone()).contains(said), "{change}");
        }
        let batch = ("content-type", "application/cloudevents-batch+json");
        for (headers, body) in [
            ([STRUCTURED], "[]"),
            ([STRUCTURED], "{"),
            ([batch], "{}"),
            ([batch], "[]"),
            ([batch], "[{}]"),
            ([("content-type", "application/cloudevents+avro")], "{}"),
        ] {
            assert!(read_all(&headers, body).is_err(), "{body}");
        }
        assert!(read(&request(&[("content-type", "application/json")], b"{}")).is_none());
    }
}
