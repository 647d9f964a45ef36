//! Values in and out of JavaScript, as JSON and within a size limit.

use rquickjs::{Coerced, Ctx, FromJs, Value as JsValue};
use serde_json::Value;

use crate::error::{ErrorKind, ScriptError};

/// Hands a value that is JSON text to JavaScript; says how many bytes of the budget it took.
pub(crate) fn into_js<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    max_bytes: usize,
) -> Result<(usize, rquickjs::Result<JsValue<'js>>), ScriptError> {
    check_size(text.len(), max_bytes)?;
    Ok((text.len(), ctx.json_parse(text)))
}

/// Parses what JavaScript wrote; what JSON leaves out becomes `null`.
pub(crate) fn parse(text: Option<String>, max_bytes: usize) -> Result<Value, ScriptError> {
    let Some(text) = text else {
        return Ok(Value::Null);
    };
    check_size(text.len(), max_bytes)?;
    serde_json::from_str(&text)
        .or_else(|_| serde_json::from_str(&replace_lone_surrogates(&text)))
        .map_err(|_| ScriptError::new(ErrorKind::Limit, "the value is nested too deep"))
}

/// Refuses values over the limit.
pub(crate) fn check_size(bytes: usize, max_bytes: usize) -> Result<(), ScriptError> {
    if bytes <= max_bytes {
        return Ok(());
    }
    Err(ScriptError::new(ErrorKind::Limit, format!("a value of {bytes} bytes is larger than the {max_bytes} allowed")))
}

/// The text of any value, as `String(value)` gives it; nothing if that fails.
pub(crate) fn display<'js>(ctx: &Ctx<'js>, value: JsValue<'js>) -> Option<String> {
    match Coerced::<String>::from_js(ctx, value) {
        Ok(Coerced(text)) => Some(text),
        Err(_) => {
            ctx.catch();
            None
        }
    }
}

/// JavaScript strings may hold half of a surrogate pair, written `\ud800`; no UTF-8 text can, so each becomes U+FFFD.
fn replace_lone_surrogates(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        output.push_str(rest.get(..start).unwrap_or(""));
        rest = rest.get(start..).unwrap_or("");
        let taken = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                output.push('\u{fffd}');
                rest = rest.get(6..).unwrap_or("");
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        output.push_str(rest.get(..taken).unwrap_or(rest));
        rest = rest.get(taken..).unwrap_or("");
    }
    output.push_str(rest);
    output
}

/// The code unit that a text starts with, if it starts with `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_becomes_the_replacement_character() {
        let table = [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\udc00""#, "\u{fffd}"),
            (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
            (r#""\\ud800\ud800\\""#, "\\ud800\u{fffd}\\"),
            (r#""\ud800\ud800""#, "\u{fffd}\u{fffd}"),
            (r#""é\u0001\ud800""#, "é\u{1}\u{fffd}"),
        ];
        for (text, expected) in table {
            let value = parse(Some(text.to_owned()), 1_000).unwrap();
            assert_eq!(value, Value::String(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn size_and_depth_are_limits() {
        let long = format!("\"{}\"", "x".repeat(100));
        assert_eq!(parse(Some(long), 50).unwrap_err().kind, ErrorKind::Limit);
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(parse(Some(deep), 50_000).unwrap_err().kind, ErrorKind::Limit);
        assert_eq!(parse(None, 0).unwrap(), Value::Null);
    }
}
