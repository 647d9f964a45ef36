//! What JavaScript threw, as an error a person can act on: its kind, its message, its places in the original source.

use std::collections::BTreeMap;

use rquickjs::{CaughtError, Ctx, Exception, Value as JsValue};

use crate::error::{ErrorKind, Frame, MAX_FRAMES, ScriptError, cut};
use crate::source::Language;
use crate::typescript::PositionMap;

use super::context::GLOBALS_NAME;
use super::json;
use super::shared::Shared;

/// Longest piece of a thrown value that is shown.
const MAX_SHOWN_BYTES: usize = 512;

/// Describes an error that came out of JavaScript, and clears it there.
pub(crate) fn describe<'js>(ctx: &Ctx<'js>, shared: &Shared, error: rquickjs::Error) -> ScriptError {
    let described = match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => of_exception(ctx, shared, &exception),
        CaughtError::Value(value) => of_value(ctx, value),
        CaughtError::Error(rquickjs::Error::Allocation) => out_of_memory(),
        CaughtError::Error(error) => ScriptError::new(ErrorKind::Engine, error.to_string()),
    };
    if shared.watch.has_fired() {
        return over_time(shared, described.stack);
    }
    described
}

/// The script used up its time.
pub(crate) fn over_time(shared: &Shared, stack: Vec<Frame>) -> ScriptError {
    let limit = shared.watch.processor_budget().map_or(shared.time.get(), |budget| budget.min(shared.time.get()));
    let mut error =
        ScriptError::new(ErrorKind::Deadline, format!("stopped after its budget of {} ms", limit.as_millis()));
    error.stack = stack;
    error
}

/// The engine itself could not start.
pub(crate) fn at_start(error: &rquickjs::Error) -> ScriptError {
    match error {
        rquickjs::Error::Allocation => out_of_memory(),
        error => ScriptError::new(ErrorKind::Engine, format!("cannot start: {error}")),
    }
}

fn out_of_memory() -> ScriptError {
    ScriptError::new(ErrorKind::Memory, "out of memory")
}

fn of_exception<'js>(ctx: &Ctx<'js>, shared: &Shared, exception: &Exception<'js>) -> ScriptError {
    let name = property(ctx, exception, "name").unwrap_or_else(|| "Error".to_owned());
    let message = property(ctx, exception, "message").unwrap_or_default();
    if let Some(known) = known_load_failure(shared, &message) {
        return known;
    }
    let stack = property(ctx, exception, "stack").unwrap_or_default();
    let kind = match (name.as_str(), message.as_str()) {
        ("InternalError", "out of memory" | "string too long") => ErrorKind::Memory,
        ("RangeError", "Maximum call stack size exceeded") => ErrorKind::Stack,
        _ => ErrorKind::Thrown,
    };
    let text = match (name.as_str(), message.as_str()) {
        (name, "") => name.to_owned(),
        ("Error", message) => message.to_owned(),
        (name, message) => format!("{name}: {message}"),
    };
    let mut error = ScriptError::new(kind, text);
    error.stack = original_frames(shared, &stack);
    error
}

fn of_value<'js>(ctx: &Ctx<'js>, value: JsValue<'js>) -> ScriptError {
    // With no room left for an error object the engine throws `null`. So may a script, but hardly one that means it.
    if value.is_null() {
        return out_of_memory();
    }
    let shown = if value.is_object() {
        let text = ctx.json_stringify(value.clone()).and_then(|text| text.map(|text| text.to_string()).transpose());
        text.unwrap_or_else(|_| {
            ctx.catch();
            None
        })
    } else {
        json::display(ctx, value.clone())
    };
    let mut shown = shown.unwrap_or_else(|| value.type_name().to_owned());
    cut(&mut shown, MAX_SHOWN_BYTES);
    ScriptError::new(ErrorKind::Thrown, format!("a value that is not an Error was thrown: {shown}"))
        .with_hint("throw new Error(...), so that the place is known")
}

/// A property as text. Reading it may run the script's own code, whose failure does not matter here.
fn property<'js>(ctx: &Ctx<'js>, exception: &Exception<'js>, name: &str) -> Option<String> {
    match exception.as_object().get::<_, JsValue<'js>>(name) {
        Ok(value) if value.is_undefined() || value.is_null() => None,
        Ok(value) => json::display(ctx, value),
        Err(_) => {
            ctx.catch();
            None
        }
    }
}

fn known_load_failure(shared: &Shared, message: &str) -> Option<ScriptError> {
    let failures = shared.load_failures.borrow();
    failures.iter().rev().find(|failure| failure.message == message).cloned()
}

/// Parses an engine stack and moves its positions to the original sources.
fn original_frames(shared: &Shared, stack: &str) -> Vec<Frame> {
    let originals = shared.originals.borrow();
    let mut maps: BTreeMap<String, Option<PositionMap>> = BTreeMap::new();
    let mut frames: Vec<Frame> = stack.lines().filter_map(parse_frame).take(MAX_FRAMES).collect();
    for frame in &mut frames {
        let Some(original) = originals.get(&frame.file) else {
            continue;
        };
        if Language::of(&frame.file) != Some(Language::TypeScript) {
            frame.column = editor_column(original, frame.line, frame.column);
            continue;
        }
        let map = maps.entry(frame.file.clone()).or_insert_with(|| PositionMap::of(&frame.file, original));
        if let Some(map) = map {
            let column = editor_column(map.code(), frame.line, frame.column);
            if let Some(place) = map.original(frame.line, column) {
                (frame.line, frame.column) = place;
            }
        }
    }
    frames
}

/// The engine counts bytes, and places a call just behind its parenthesis; editors count UTF-16 units, and a reader
/// looks for what is called.
fn editor_column(text: &str, line: u32, column: u32) -> u32 {
    let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(text) = text.lines().nth(index(line)) else {
        return column;
    };
    let before = text.get(..index(column)).unwrap_or(text);
    let before = before.strip_suffix('(').unwrap_or(before);
    u32::try_from(before.encode_utf16().count() + 1).unwrap_or(u32::MAX)
}

/// One line of a stack: `    at name (file:line:column)` or `    at file:line:column`.
fn parse_frame(line: &str) -> Option<Frame> {
    let text = line.trim().strip_prefix("at ")?;
    let (function, place) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((function, place)) => (Some(function), place),
        None => (None, text),
    };
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    if [GLOBALS_NAME, JSON_INPUT].contains(&file) {
        return None;
    }
    Some(Frame {
        function: function.filter(|name| !name.is_empty() && *name != "<anonymous>").map(str::to_owned),
        file: file.to_owned(),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

/// The name the engine gives to a text that `JSON.parse` reads.
const JSON_INPUT: &str = "<input>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_move_from_bytes_to_editor_units() {
        let table = [
            ("abc", 1, 2, 2),
            ("é𝒳x", 1, 7, 4),
            ("f(1)", 1, 3, 2),
            ("a\nbé(", 2, 5, 3),
            ("short", 1, 99, 6),
            ("short", 9, 4, 4),
        ];
        for (text, line, column, expected) in table {
            assert_eq!(editor_column(text, line, column), expected, "{text:?}");
        }
    }

    #[test]
    fn stack_lines_parse() {
        let table = [
            ("    at f (a.ts:3:7)", Some((Some("f"), "a.ts", 3, 7))),
            ("    at <anonymous> (a b.ts:3:7)", Some((None, "a b.ts", 3, 7))),
            ("    at C:/x/a.js:12:1", Some((None, "C:/x/a.js", 12, 1))),
            ("    at parse (native)", None),
            ("    at show (<globals>:1:1)", None),
            ("    at <input>:1:2", None),
            ("Error: at 1:2", None),
            ("    at f (a.ts:x:7)", None),
            ("    at ", None),
            ("", None),
        ];
        for (line, expected) in table {
            let frame = parse_frame(line);
            let got =
                frame.as_ref().map(|frame| (frame.function.as_deref(), frame.file.as_str(), frame.line, frame.column));
            assert_eq!(got, expected, "{line:?}");
        }
    }
}
