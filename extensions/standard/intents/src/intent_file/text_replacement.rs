//! Computes the text replacements of an edit.
//!
//! Pure.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::edit::QuotePolicy;
use super::loaded::ROOT_KEY;
use super::yaml_scalar;
use super::yaml_tree::{CollectionStyle, YamlNode, YamlValue};
use crate::intent::IntentSpec;

/// A replacement of a range of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextReplacement {
    bytes: Range<usize>,
    with: String,
}

impl TextReplacement {
    fn insert(at: usize, with: String) -> Self {
        Self { bytes: at..at, with }
    }
}

/// The text with all replacements made.
pub(super) fn apply(text: &str, mut cuts: Vec<TextReplacement>) -> String {
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

/// Sets a field to a text.
pub(super) fn set(
    text: &str,
    intent: &YamlNode,
    field: &str,
    value: &str,
    quotes: QuotePolicy,
) -> Option<TextReplacement> {
    let write = |like: Option<ScalarStyle>| match quotes {
        QuotePolicy::Always if !matches!(like, Some(ScalarStyle::SingleQuoted)) => yaml_scalar::quoted(value),
        _ => yaml_scalar::write(value, like),
    };
    match intent.entry(field) {
        None => Some(insert_field(text, intent, field, &FieldValue::Text(write(None)))),
        Some((key, node)) => match &node.value {
            YamlValue::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded) => None,
            YamlValue::Scalar(_, style) if !node.bytes.is_empty() => {
                Some(TextReplacement { bytes: node.bytes.clone(), with: write(Some(*style)) })
            }
            YamlValue::Scalar(..) => {
                Some(TextReplacement::insert(after_colon(text, key)?, format!(" {}", write(None))))
            }
            _ => None,
        },
    }
}

/// Appends an item to a list.
pub(super) fn add_item(text: &str, intent: &YamlNode, field: &str, item: &str) -> Option<TextReplacement> {
    let item = yaml_scalar::write(item, None);
    let Some((key, node)) = intent.entry(field) else {
        return Some(insert_field(text, intent, field, &FieldValue::List(vec![item])));
    };
    match &node.value {
        YamlValue::List(items, CollectionStyle::Block) => {
            let last = items.last()?;
            let indent = dash_indent(text, last)?;
            Some(line_after(text, last.end(), &format!("{indent}- {item}")))
        }
        YamlValue::List(items, CollectionStyle::Flow) => match items.last() {
            Some(last) => Some(TextReplacement::insert(last.bytes.end, format!(", {item}"))),
            None => Some(TextReplacement { bytes: node.bytes.clone(), with: format!("[{item}]") }),
        },
        _ if node.is_null() && node.bytes.is_empty() => {
            let indent = " ".repeat(key.position.column - 1);
            Some(line_after(text, key.bytes.end, &format!("{indent}  - {item}")))
        }
        _ if node.is_null() => Some(TextReplacement { bytes: node.bytes.clone(), with: format!("[{item}]") }),
        _ => None,
    }
}

/// Removes the item with this number from a list.
pub(super) fn remove_item(text: &str, intent: &YamlNode, field: &str, index: usize) -> Vec<TextReplacement> {
    let Some((key, node)) = intent.entry(field) else { return Vec::new() };
    let YamlValue::List(items, style) = &node.value else { return Vec::new() };
    let Some(item) = items.get(index) else { return Vec::new() };
    match style {
        CollectionStyle::Flow => {
            let bytes = match (items.get(index + 1), index.checked_sub(1).and_then(|before| items.get(before))) {
                (Some(next), _) => item.bytes.start..next.bytes.start,
                (None, Some(before)) => before.bytes.end..item.bytes.end,
                (None, None) => item.bytes.clone(),
            };
            vec![TextReplacement { bytes, with: String::new() }]
        }
        CollectionStyle::Block => {
            let start =
                text.get(..item.bytes.start).and_then(|before| before.rfind('-')).map(|dash| line_start(text, dash));
            let mut cuts: Vec<TextReplacement> = start
                .map(|start| TextReplacement { bytes: start..next_line(text, item.end()), with: String::new() })
                .into_iter()
                .collect();
            if items.len() == 1 {
                cuts.extend(after_colon(text, key).map(|at| TextReplacement::insert(at, " []".to_owned())));
            }
            cuts
        }
    }
}

/// The ways to append an intent to the list, best first.
pub(super) fn append(text: &str, root: Option<&YamlNode>, intent: &IntentSpec) -> Vec<Vec<TextReplacement>> {
    let at_end = |content: &str| {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline(text) };
        vec![TextReplacement::insert(
            text.len(),
            format!("{gap}{}{}", content.replace('\n', newline(text)), newline(text)),
        )]
    };
    let Some((key, list)) = root.and_then(|root| root.entry(ROOT_KEY)) else {
        return vec![at_end(&format!("{ROOT_KEY}:\n{}", block(intent, "  ")))];
    };
    match &list.value {
        YamlValue::List(items, CollectionStyle::Block) => {
            let Some((last, indent)) = items.last().and_then(|last| Some((last, dash_indent(text, last)?))) else {
                return Vec::new();
            };
            let gap = if has_blank_line_before(text, last) { "\n" } else { "" };
            let content = format!("{gap}{}", block(intent, &indent));
            vec![vec![line_after(text, last.end(), &content)], at_end(&content)]
        }
        YamlValue::List(items, CollectionStyle::Flow) if items.is_empty() => {
            let start = after_colon(text, key).unwrap_or(list.bytes.start);
            let emptied = TextReplacement { bytes: start..list.bytes.end, with: String::new() };
            vec![vec![emptied, line_after(text, list.bytes.end, &block(intent, "  "))]]
        }
        _ if list.is_null() && list.bytes.is_empty() => {
            let below = line_after(text, key.bytes.end, &block(intent, "  "));
            vec![vec![below], at_end(&block(intent, "  "))]
        }
        _ => Vec::new(),
    }
}

/// The value of a new field.
enum FieldValue {
    Text(String),
    List(Vec<String>),
}

/// Appends a field to a mapping.
fn insert_field(text: &str, intent: &YamlNode, field: &str, value: &FieldValue) -> TextReplacement {
    if let YamlValue::Mapping(entries, CollectionStyle::Flow) = &intent.value {
        let at = entries.last().map_or(intent.bytes.start + 1, |(key, value)| value.bytes.end.max(key.bytes.end));
        let value = match value {
            FieldValue::Text(text) => text.clone(),
            FieldValue::List(items) => format!("[{}]", items.join(", ")),
        };
        return TextReplacement::insert(at, format!(", {field}: {value}"));
    }
    let indent = " ".repeat(intent.position.column - 1);
    let lines = match value {
        FieldValue::Text(text) => format!("{indent}{field}: {text}"),
        FieldValue::List(items) => {
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
                let item = |item: &serde_json::Value| yaml_scalar::write(item.as_str().unwrap_or_default(), None);
                items.iter().map(|one| format!("\n{indent}    - {}", item(one))).collect()
            }
            other => format!(" {}", yaml_scalar::write(other.as_str().unwrap_or_default(), None)),
        };
        text.push_str(&format!("{lead}{name}:{value}"));
    }
    text
}

/// Inserts lines below the line of this position.
fn line_after(text: &str, position: usize, lines: &str) -> TextReplacement {
    let lines = lines.replace('\n', newline(text));
    let position = position.min(text.len());
    // A block scalar ends where the next line begins.
    if position > 0 && text.as_bytes().get(position - 1) == Some(&b'\n') {
        return TextReplacement::insert(position, format!("{lines}{}", newline(text)));
    }
    let rest = text.get(position..).unwrap_or_default();
    let end = position + rest.find('\n').unwrap_or(rest.len());
    let end = if text.get(..end).is_some_and(|line| line.ends_with('\r')) { end - 1 } else { end };
    TextReplacement::insert(end, format!("{}{lines}", newline(text)))
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

/// The indentation before the dash of an item, if it is only spaces.
fn dash_indent(text: &str, item: &YamlNode) -> Option<String> {
    let dash = text.get(..item.bytes.start)?.rfind('-')?;
    let indent = text.get(line_start(text, dash)..dash)?;
    indent.chars().all(|character| character == ' ').then(|| indent.to_owned())
}

fn has_blank_line_before(text: &str, item: &YamlNode) -> bool {
    let before = text.get(..line_start(text, item.bytes.start)).unwrap_or_default();
    let before = before.trim_end_matches(['\r', '\n']).len()..before.len();
    text.get(before).is_some_and(|gap| gap.matches('\n').count() > 1)
}

/// The position after the colon of a key.
fn after_colon(text: &str, key: &YamlNode) -> Option<usize> {
    let rest = text.get(key.bytes.end..)?;
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    rest.get(blanks..)?.starts_with(':').then_some(key.bytes.end + blanks + 1)
}
