//! The conversation of a check: agree on a version, log in, ask for the number one.

use serde_json::{Value, json};

use super::Neo4jError;
use super::packstream::Message;
use super::wire::Wire;

const MAGIC: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// Offered versions as (major, minor, how many minors below it too), best first.
const OFFERED: [(u8, u8, u8); 4] = [(5, 8, 8), (4, 4, 2), (4, 1, 0), (4, 0, 0)];
/// What an HTTP server begins its answer with.
const HTTP: [u8; 4] = *b"HTTP";
const USER_AGENT: &str = concat!("dispatch/", env!("CARGO_PKG_VERSION"));
/// The longest name of a server or of a refusal that is kept.
const NAME_LIMIT: usize = 80;

const HELLO: u8 = 0x01;
const GOODBYE: u8 = 0x02;
const RUN: u8 = 0x10;
const PULL: u8 = 0x3F;
const LOGON: u8 = 0x6A;
const SUCCESS: u8 = 0x70;
const RECORD: u8 = 0x71;
const FAILURE: u8 = 0x7F;

/// A version of Bolt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u8,
    pub(super) minor: u8,
}

/// Whom to log in as.
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: String,
}

/// The first bytes of a conversation.
pub(super) fn handshake() -> [u8; 20] {
    let mut bytes = [0; 20];
    let offers = OFFERED.iter().flat_map(|(major, minor, range)| [0, *range, *minor, *major]);
    for (slot, byte) in bytes.iter_mut().zip(MAGIC.into_iter().chain(offers)) {
        *slot = byte;
    }
    bytes
}

/// The version that the other side chose.
pub(super) fn chosen(answer: [u8; 4]) -> Result<Version, Neo4jError> {
    match answer {
        [0, 0, 0, 0] => Err(Neo4jError::NoCommonVersion),
        HTTP => Err(Neo4jError::Http),
        [0, 0, minor, major] if was_offered(major, minor) => Ok(Version { major, minor }),
        _ => Err(Neo4jError::NotBolt),
    }
}

fn was_offered(major: u8, minor: u8) -> bool {
    OFFERED
        .iter()
        .any(|(offered, top, range)| *offered == major && (top.saturating_sub(*range)..=*top).contains(&minor))
}

/// Agrees on a version.
pub(super) fn greet(wire: &mut Wire) -> Result<Version, Neo4jError> {
    wire.write(&handshake())?;
    let mut answer = [0; 4];
    wire.read(&mut answer)?;
    chosen(answer)
}

/// Logs in and lets the server answer a query. Hands back what the server says it is.
pub(super) fn log_in(
    wire: &mut Wire,
    version: Version,
    credentials: &Credentials,
) -> Result<Option<String>, Neo4jError> {
    let mut about = None;
    for message in opening(version, credentials) {
        wire.send(&message)?;
        let told = success(wire.receive()?, credentials)?;
        about = about.or_else(|| Some(safe_name(told.get("server")?.as_str()?, credentials)));
    }
    wire.send(&Message { tag: RUN, fields: vec![json!("RETURN 1"), json!({}), json!({})] })?;
    wire.send(&Message { tag: PULL, fields: vec![json!({"n": 1})] })?;
    success(wire.receive()?, credentials)?;
    let record = wire.receive()?;
    if record.tag != RECORD {
        success(record, credentials)?;
        return Err(Neo4jError::Malformed("a query has no result"));
    }
    if record.fields != [json!([1])] {
        return Err(Neo4jError::Malformed("one is not one"));
    }
    success(wire.receive()?, credentials)?;
    // A server that is gone by now has answered all the same.
    let _ = wire.send(&Message { tag: GOODBYE, fields: Vec::new() });
    Ok(about)
}

/// The messages that log in: one for a server up to 5.0, two from 5.1 on.
fn opening(version: Version, credentials: &Credentials) -> Vec<Message> {
    let login = json!({"scheme": "basic", "principal": credentials.user, "credentials": credentials.password});
    let mut hello = json!({"user_agent": USER_AGENT});
    if version >= (Version { major: 5, minor: 3 }) {
        hello["bolt_agent"] = json!({"product": USER_AGENT});
    }
    if version >= (Version { major: 5, minor: 1 }) {
        return vec![Message { tag: HELLO, fields: vec![hello] }, Message { tag: LOGON, fields: vec![login] }];
    }
    if let (Value::Object(hello), Value::Object(login)) = (&mut hello, login) {
        hello.extend(login);
    }
    vec![Message { tag: HELLO, fields: vec![hello] }]
}

/// What a success tells; a refusal as an error that keeps its code alone, never its words.
fn success(answer: Message, credentials: &Credentials) -> Result<Value, Neo4jError> {
    let told = answer.fields.into_iter().next().unwrap_or_default();
    match answer.tag {
        SUCCESS => Ok(told),
        FAILURE => {
            let code = told.get("code").and_then(Value::as_str).unwrap_or("no reason given");
            Err(Neo4jError::Refused(safe_name(code, credentials)))
        }
        _ => Err(Neo4jError::Malformed("an answer of another kind was due")),
    }
}

/// A name that a server gave, without anything that could do harm where it is shown.
fn safe_name(name: &str, credentials: &Credentials) -> String {
    if !credentials.password.is_empty() && name.contains(&credentials.password) {
        return "a name that holds the password".to_owned();
    }
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '/' | '-' | '_' | '+' | ' ');
    name.chars().filter(fits).take(NAME_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials { user: "neo4j".to_owned(), password: "pass-word".to_owned() }
    }

    #[test]
    fn the_handshake_offers_every_version_from_five_down_to_four() {
        let bytes = [0x60, 0x60, 0xB0, 0x17, 0, 8, 8, 5, 0, 2, 4, 4, 0, 0, 1, 4, 0, 0, 0, 4];
        assert_eq!(handshake(), bytes);
    }

    #[test]
    fn only_what_was_offered_can_be_chosen() {
        for (minor, major) in [(8, 5), (4, 5), (0, 5), (4, 4), (2, 4), (1, 4), (0, 4)] {
            assert_eq!(chosen([0, 0, minor, major]).unwrap(), Version { major, minor });
        }
        for answer in [[0, 0, 9, 5], [0, 0, 5, 4], [0, 0, 0, 3], [0, 0, 0, 6], [0, 1, 4, 5], [0xFF; 4], *b"SSH-"] {
            assert!(matches!(chosen(answer), Err(Neo4jError::NotBolt)), "{answer:?}");
        }
        assert!(matches!(chosen([0; 4]), Err(Neo4jError::NoCommonVersion)));
        assert!(matches!(chosen(*b"HTTP"), Err(Neo4jError::Http)));
    }

    #[test]
    fn the_login_has_the_shape_of_its_version() {
        let shape = |major, minor| -> Vec<(u8, Vec<String>)> {
            let keys = |message: &Message| message.fields[0].as_object().unwrap().keys().cloned().collect();
            let opening = opening(Version { major, minor }, &credentials());
            opening.iter().map(|message| (message.tag, keys(message))).collect()
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let together = words(&["user_agent", "scheme", "principal", "credentials"]);
        let login = words(&["scheme", "principal", "credentials"]);
        assert_eq!(shape(4, 0), [(HELLO, together.clone())]);
        assert_eq!(shape(5, 0), [(HELLO, together)]);
        assert_eq!(shape(5, 1), [(HELLO, words(&["user_agent"])), (LOGON, login.clone())]);
        assert_eq!(shape(5, 3), [(HELLO, words(&["user_agent", "bolt_agent"])), (LOGON, login)]);
    }

    #[test]
    fn a_server_cannot_make_us_show_the_password_or_control_a_terminal() {
        assert_eq!(safe_name("Neo4j/5.26.0", &credentials()), "Neo4j/5.26.0");
        assert!(!safe_name("echo pass-word", &credentials()).contains("pass-word"));
        assert_eq!(safe_name("a\u{1b}[31mb\n", &credentials()), "a31mb");
        assert_eq!(safe_name(&"x".repeat(500), &credentials()).len(), NAME_LIMIT);
    }
}
