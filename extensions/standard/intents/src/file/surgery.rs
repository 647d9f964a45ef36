//! Where in the text of the file a change has to be made.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::check::ROOT_KEY;
use super::edit::Quotes;
use super::scalar;
use super::tree::{Node, Style, Value};
use crate::intent::IntentSpec;

/// A piece of text that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    bytes: Range<usize>,
    with: String,
}

impl Cut {
    fn insert(at: usize, with: String) -> Self {
        Self { bytes: at..at, with }
    }
}

/// The text with all the pieces replaced.
pub(super) fn apply(text: &str, mut cuts: Vec<Cut>) -> String {
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.bytes.start));
    let mut changed = text.to_owned();
    for cut in cuts {
        let fits = changed.is_char_boundary(cut.bytes.start) && changed.is_char_boundary(cut.bytes.end);
        if fits && cut.bytes.start <= cut.bytes.end && cut.bytes.end <= changed.len() {
            changed.replace_range(cut.bytes, &cut.with);
        }
    }
    changed
}

/// Gives a field another text.
pub(super) fn set(text: &str, intent: &Node, field: &str, value: &str, quotes: Quotes) -> Option<Cut> {
    let write = |like: Option<ScalarStyle>| match quotes {
        Quotes::Always if !matches!(like, Some(ScalarStyle::SingleQuoted)) => scalar::quoted(value),
        _ => scalar::write(value, like),
    };
    match intent.entry(field) {
        None => Some(insert_field(text, intent, field, &Written::Text(write(None)))),
        Some((key, node)) => match &node.value {
            Value::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded) => None,
            Value::Scalar(_, style) if !node.bytes.is_empty() => {
                Some(Cut { bytes: node.bytes.clone(), with: write(Some(*style)) })
            }
            Value::Scalar(..) => Some(Cut::insert(after_colon(text, key)?, format!(" {}", write(None)))),
            _ => None,
        },
    }
}

/// Puts an item at the end of a list.
pub(super) fn add_item(text: &str, intent: &Node, field: &str, item: &str) -> Option<Cut> {
    let item = scalar::write(item, None);
    let Some((key, node)) = intent.entry(field) else {
        return Some(insert_field(text, intent, field, &Written::List(vec![item])));
    };
    match &node.value {
        Value::List(items, Style::Block) => {
            let last = items.last()?;
            let indent = dash_indent(text, last)?;
            Some(line_after(text, last.end(), &format!("{indent}- {item}")))
        }
        Value::List(items, Style::Flow) => match items.last() {
            Some(last) => Some(Cut::insert(last.bytes.end, format!(", {item}"))),
            None => Some(Cut { bytes: node.bytes.clone(), with: format!("[{item}]") }),
        },
        _ if node.is_null() && node.bytes.is_empty() => {
            let indent = " ".repeat(key.place.column - 1);
            Some(line_after(text, key.bytes.end, &format!("{indent}  - {item}")))
        }
        _ if node.is_null() => Some(Cut { bytes: node.bytes.clone(), with: format!("[{item}]") }),
        _ => None,
    }
}

/// Takes the item with this number out of a list.
pub(super) fn remove_item(text: &str, intent: &Node, field: &str, index: usize) -> Vec<Cut> {
    let Some((key, node)) = intent.entry(field) else { return Vec::new() };
    let Value::List(items, style) = &node.value else { return Vec::new() };
    let Some(item) = items.get(index) else { return Vec::new() };
    match style {
        Style::Flow => {
            let bytes = match (items.get(index + 1), index.checked_sub(1).and_then(|before| items.get(before))) {
                (Some(next), _) => item.bytes.start..next.bytes.start,
                (None, Some(before)) => before.bytes.end..item.bytes.end,
                (None, None) => item.bytes.clone(),
            };
            vec![Cut { bytes, with: String::new() }]
        }
        Style::Block => {
            let start =
                text.get(..item.bytes.start).and_then(|before| before.rfind('-')).map(|dash| line_start(text, dash));
            let mut cuts: Vec<Cut> = start
                .map(|start| Cut { bytes: start..next_line(text, item.end()), with: String::new() })
                .into_iter()
                .collect();
            if items.len() == 1 {
                cuts.extend(after_colon(text, key).map(|at| Cut::insert(at, " []".to_owned())));
            }
            cuts
        }
    }
}

/// The ways to put an intent at the end of the list, best first.
pub(super) fn append(text: &str, root: Option<&Node>, intent: &IntentSpec) -> Vec<Vec<Cut>> {
    let at_end = |content: &str| {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline(text) };
        vec![Cut::insert(text.len(), format!("{gap}{}{}", content.replace('\n', newline(text)), newline(text)))]
    };
    let Some((key, list)) = root.and_then(|root| root.entry(ROOT_KEY)) else {
        return vec![at_end(&format!("{ROOT_KEY}:\n{}", block(intent, "  ")))];
    };
    match &list.value {
        Value::List(items, Style::Block) => {
            let Some((last, indent)) = items.last().and_then(|last| Some((last, dash_indent(text, last)?))) else {
                return Vec::new();
            };
            let gap = if has_blank_line_before(text, last) { "\n" } else { "" };
            let content = format!("{gap}{}", block(intent, &indent));
            vec![vec![line_after(text, last.end(), &content)], at_end(&content)]
        }
        Value::List(items, Style::Flow) if items.is_empty() => {
            let start = after_colon(text, key).unwrap_or(list.bytes.start);
            let emptied = Cut { bytes: start..list.bytes.end, with: String::new() };
            vec![vec![emptied, line_after(text, list.bytes.end, &block(intent, "  "))]]
        }
        _ if list.is_null() && list.bytes.is_empty() => {
            let below = line_after(text, key.bytes.end, &block(intent, "  "));
            vec![vec![below], at_end(&block(intent, "  "))]
        }
        _ => Vec::new(),
    }
}

/// A value as it is written.
enum Written {
    Text(String),
    List(Vec<String>),
}

/// Puts a field at the end of a mapping.
fn insert_field(text: &str, intent: &Node, field: &str, value: &Written) -> Cut {
    if let Value::Mapping(entries, Style::Flow) = &intent.value {
        let at = entries.last().map_or(intent.bytes.start + 1, |(key, value)| value.bytes.end.max(key.bytes.end));
        let value = match value {
            Written::Text(text) => text.clone(),
            Written::List(items) => format!("[{}]", items.join(", ")),
        };
        return Cut::insert(at, format!(", {field}: {value}"));
    }
    let indent = " ".repeat(intent.place.column - 1);
    let lines = match value {
        Written::Text(text) => format!("{indent}{field}: {text}"),
        Written::List(items) => {
            let items: String = items.iter().map(|item| format!("\n{indent}  - {item}")).collect();
            format!("{indent}{field}:{items}")
        }
    };
    line_after(text, intent.end(), &lines)
}

/// An intent in block style, with its dash after this indent, without the last line break.
fn block(intent: &IntentSpec, indent: &str) -> String {
    // The same fields as serde writes, so that what is read back can be compared with it.
    let fields = serde_json::to_value(intent).unwrap_or_default();
    let mut text = String::new();
    for (index, (name, value)) in fields.as_object().into_iter().flatten().enumerate() {
        let lead = if index == 0 { format!("{indent}- ") } else { format!("\n{indent}  ") };
        let value = match value {
            serde_json::Value::Array(items) if items.is_empty() => " []".to_owned(),
            serde_json::Value::Array(items) => {
                let item = |item: &serde_json::Value| scalar::write(item.as_str().unwrap_or_default(), None);
                items.iter().map(|one| format!("\n{indent}    - {}", item(one))).collect()
            }
            other => format!(" {}", scalar::write(other.as_str().unwrap_or_default(), None)),
        };
        text.push_str(&format!("{lead}{name}:{value}"));
    }
    text
}

/// Puts lines below the line that holds this position.
fn line_after(text: &str, position: usize, lines: &str) -> Cut {
    let lines = lines.replace('\n', newline(text));
    let position = position.min(text.len());
    // A block scalar ends where the next line begins.
    if position > 0 && text.as_bytes().get(position - 1) == Some(&b'\n') {
        return Cut::insert(position, format!("{lines}{}", newline(text)));
    }
    let rest = text.get(position..).unwrap_or_default();
    let end = position + rest.find('\n').unwrap_or(rest.len());
    let end = if text.get(..end).is_some_and(|line| line.ends_with('\r')) { end - 1 } else { end };
    Cut::insert(end, format!("{}{lines}", newline(text)))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn line_start(text: &str, position: usize) -> usize {
    text.get(..position).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

fn next_line(text: &str, position: usize) -> usize {
    if position > 0 && text.as_bytes().get(position - 1) == Some(&b'\n') {
        return position;
    }
    text.get(position..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| position + at + 1)
}

/// What stands before the dash of an item, if that is blanks alone.
fn dash_indent(text: &str, item: &Node) -> Option<String> {
    let dash = text.get(..item.bytes.start)?.rfind('-')?;
    let indent = text.get(line_start(text, dash)..dash)?;
    indent.chars().all(|character| character == ' ').then(|| indent.to_owned())
}

fn has_blank_line_before(text: &str, item: &Node) -> bool {
    let before = text.get(..line_start(text, item.bytes.start)).unwrap_or_default();
    let before = before.trim_end_matches(['\r', '\n']).len()..before.len();
    text.get(before).is_some_and(|gap| gap.matches('\n').count() > 1)
}

/// Where the colon after a key ends.
fn after_colon(text: &str, key: &Node) -> Option<usize> {
    let rest = text.get(key.bytes.end..)?;
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    rest.get(blanks..)?.starts_with(':').then_some(key.bytes.end + blanks + 1)
}
