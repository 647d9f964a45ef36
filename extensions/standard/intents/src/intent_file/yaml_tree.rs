//! Parses YAML into a tree in which every node knows its position in the text.
//!
//! Pure.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::loaded::TextPosition;

/// The most nodes with aliases expanded; 500 intents with 20 globs each have about 20,000.
const MAX_NODES: usize = 400_000;
/// The deepest nesting of lists and mappings; an intent file needs four.
const MAX_DEPTH: usize = 64;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlNode {
    pub(super) value: YamlValue,
    /// Where the value is, or where its alias is.
    pub(super) position: TextPosition,
    /// The bytes of the value; for a list or mapping in block style from its first item to somewhere after its last.
    pub(super) bytes: Range<usize>,
    /// How many nodes it is made of.
    size: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlValue {
    Scalar(String, ScalarStyle),
    List(Vec<YamlNode>, CollectionStyle),
    Mapping(Vec<(YamlNode, YamlNode)>, CollectionStyle),
}

/// How a list or mapping is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionStyle {
    /// One line per item.
    Block,
    /// `[a, b]` or `{a: b}`.
    Flow,
}

/// Why text could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) position: TextPosition,
    pub(super) message: String,
}

impl YamlNode {
    /// Whether it is null: left out, `~` or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Scalar(text, ScalarStyle::Plain) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The text, unless the YAML core schema reads the value as a number, a boolean or null.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(text, ScalarStyle::Plain) if self.is_null() || has_other_type(text) => None,
            YamlValue::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    /// What it is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "null",
            YamlValue::Scalar(text, ScalarStyle::Plain) if is_boolean(text) => "a boolean",
            YamlValue::Scalar(text, ScalarStyle::Plain) if has_other_type(text) => "a number",
            YamlValue::Scalar(..) => "text",
            YamlValue::List(..) => "a list",
            YamlValue::Mapping(..) => "a mapping",
        }
    }

    /// The pair of a mapping whose key is this.
    pub(super) fn entry(&self, key: &str) -> Option<&(YamlNode, YamlNode)> {
        let YamlValue::Mapping(entries, _) = &self.value else { return None };
        entries.iter().find(|(name, _)| matches!(&name.value, YamlValue::Scalar(text, _) if text == key))
    }

    /// Where the last byte of the value is, without the line break and comments that may follow it.
    pub(super) fn end(&self) -> usize {
        match &self.value {
            YamlValue::List(items, CollectionStyle::Block) => items.last().map_or(self.bytes.start, Self::end),
            YamlValue::Mapping(entries, CollectionStyle::Block) => {
                entries.last().map_or(self.bytes.start, |(key, value)| value.end().max(key.end()))
            }
            _ => self.bytes.end,
        }
    }
}

/// Reads the one document of a text; `None` if it holds no value at all.
pub(super) fn read(text: &str) -> Result<Option<YamlNode>, YamlError> {
    let mut builder = YamlTreeBuilder { parser: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    let mut root = None;
    while let Some((event, span)) = builder.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => return Err(error(&span, "unexpected second document")),
            event => root = Some(builder.node(event, &span, 0)?),
        }
    }
    Ok(root.filter(|root| !(root.is_null() && root.bytes.is_empty())))
}

struct YamlTreeBuilder<'a, P: Iterator<Item = Result<(Event<'a>, Span), granit_parser::ScanError>>> {
    parser: P,
    anchors: HashMap<usize, YamlNode>,
    nodes: usize,
}

impl<'a, P: Iterator<Item = Result<(Event<'a>, Span), granit_parser::ScanError>>> YamlTreeBuilder<'a, P> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlError> {
        self.parser.next().transpose().map_err(|error| {
            let marker = error.marker();
            let position = TextPosition { line: marker.line(), column: marker.col() + 1 };
            YamlError { position, message: error.info() }
        })
    }

    fn spend(&mut self, count: usize, span: &Span) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(count);
        if self.nodes > MAX_NODES {
            return Err(error(span, &format!("the file has more than {MAX_NODES} values with its aliases expanded")));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<YamlNode, YamlError> {
        if depth > MAX_DEPTH {
            return Err(error(span, &format!("lists and mappings are nested more than {MAX_DEPTH} deep")));
        }
        self.spend(1, span)?;
        let (anchor, mut node) = match event {
            Event::Scalar(text, style, anchor, _) => {
                (anchor, YamlNode::new(YamlValue::Scalar(text.into_owned(), style), span, 1))
            }
            Event::SequenceStart(style, anchor, _) => (anchor, self.list(style.into(), span, depth)?),
            Event::MappingStart(style, anchor, _) => (anchor, self.mapping(style.into(), span, depth)?),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(error(span, "missing value")),
        };
        // A collection in block style starts at its first item, which says more than where its key ended.
        if let Some(first) = node.first_child() {
            node.position = first;
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, style: CollectionStyle, span: &Span, depth: usize) -> Result<YamlNode, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some((Event::SequenceEnd, end)) => {
                    return Ok(YamlNode::collection(YamlValue::List(items, style), span, &end));
                }
                Some((event, at)) => items.push(self.node(event, &at, depth + 1)?),
                None => return Err(error(span, "unclosed list")),
            }
        }
    }

    fn mapping(&mut self, style: CollectionStyle, span: &Span, depth: usize) -> Result<YamlNode, YamlError> {
        let mut entries = Vec::new();
        loop {
            let key = match self.next()? {
                Some((Event::MappingEnd, end)) => {
                    return Ok(YamlNode::collection(YamlValue::Mapping(entries, style), span, &end));
                }
                Some((event, at)) => self.node(event, &at, depth + 1)?,
                None => return Err(error(span, "unclosed mapping")),
            };
            let (event, at) = self.next()?.ok_or_else(|| error(span, "unclosed mapping"))?;
            entries.push((key, self.node(event, &at, depth + 1)?));
        }
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<YamlNode, YamlError> {
        let size = match self.anchors.get(&anchor) {
            Some(node) => node.size,
            None => return Err(error(span, "this alias refers to a value that contains it")),
        };
        self.spend(size, span)?;
        let mut node = self.anchors.get(&anchor).cloned().ok_or_else(|| error(span, "unknown alias"))?;
        node.position = position(span);
        node.bytes = span.byte_range().unwrap_or_default();
        Ok(node)
    }
}

impl YamlNode {
    fn new(value: YamlValue, span: &Span, size: usize) -> Self {
        Self { value, position: position(span), bytes: span.byte_range().unwrap_or_default(), size }
    }

    fn collection(value: YamlValue, start: &Span, end: &Span) -> Self {
        let size = match &value {
            YamlValue::Scalar(..) => 0,
            YamlValue::List(items, _) => items.iter().map(|item| item.size).sum(),
            YamlValue::Mapping(entries, _) => entries.iter().map(|(key, item)| key.size + item.size).sum(),
        };
        let mut node = Self::new(value, start, size + 1);
        node.bytes.end = end.byte_range().map_or(node.bytes.end, |range| range.end);
        node
    }

    fn first_child(&self) -> Option<TextPosition> {
        match &self.value {
            YamlValue::List(items, CollectionStyle::Block) => items.first().map(|item| item.position),
            YamlValue::Mapping(entries, CollectionStyle::Block) => entries.first().map(|(key, _)| key.position),
            _ => None,
        }
    }
}

impl From<StructureStyle> for CollectionStyle {
    fn from(style: StructureStyle) -> Self {
        match style {
            StructureStyle::Flow => Self::Flow,
            _ => Self::Block,
        }
    }
}

fn position(span: &Span) -> TextPosition {
    TextPosition { line: span.start.line(), column: span.start.col() + 1 }
}

fn error(span: &Span, message: &str) -> YamlError {
    YamlError { position: position(span), message: message.to_owned() }
}

fn is_boolean(text: &str) -> bool {
    matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
}

/// Whether the core schema of YAML 1.2 reads this plain text as something else than text.
pub(super) fn has_other_type(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str, radix: u32| !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    let infinite = matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN");
    let based = |prefix: &str, radix| text.strip_prefix(prefix).is_some_and(|rest| digits(rest, radix));
    is_boolean(text) || infinite || based("0o", 8) || based("0x", 16) || is_decimal(unsigned)
}

/// Digits with at most one dot and an exponent.
fn is_decimal(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some = !(whole.is_empty() && part.is_empty());
    some && all(whole) && all(part) && exponent.is_none_or(|exponent| !exponent.is_empty() && all(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_typed_as_the_core_schema_says() {
        for text in
            ["true", "FALSE", "0", "12", "-1", "+1.5", "1e3", ".5", "3.", "0x1F", "0o17", ".inf", "-.INF", ".nan"]
        {
            assert!(has_other_type(text), "{text}");
        }
        for text in
            ["no", "yes", "on", "", "-", ".", "1.2.3", "12a", "e3", "1e", "0x", "2026-01-02", "INT-001", "+", "nan"]
        {
            assert!(!has_other_type(text), "{text}");
        }
    }

    #[test]
    fn nodes_know_their_position() {
        let text = "# head\nlist:\n  - ä: \"b\"\n  - [c, d] # x\n";
        let root = read(text).unwrap().unwrap();
        let (key, list) = root.entry("list").unwrap();
        assert_eq!(
            (key.position, list.position),
            (TextPosition { line: 2, column: 1 }, TextPosition { line: 3, column: 5 })
        );
        assert_eq!(&text[list.end() - 6..list.end()], "[c, d]");
        let YamlValue::List(items, CollectionStyle::Block) = &list.value else { panic!("{list:?}") };
        let (_, value) = items[0].entry("ä").unwrap();
        assert_eq!((&text[value.bytes.clone()], value.position), ("\"b\"", TextPosition { line: 3, column: 8 }));
        assert_eq!(&text[items[1].bytes.clone()], "[c, d]");
    }

    #[test]
    fn what_is_too_much_is_refused_and_not_built() {
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in "bcdefghi".chars().zip("abcdefgh".chars()) {
            let items = vec![format!("*{before}"); 10].join(", ");
            bomb.push_str(&format!("{name}: &{name} [{items}]\n"));
        }
        assert!(read(&bomb).unwrap_err().message.contains("aliases"), "{bomb}");
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(read(&deep).unwrap_err().message.contains("deep"));
        assert!(read("a: &a [*a]").is_err());
        assert!(read("a: 1\n---\nb: 1\n").unwrap_err().message.contains("second document"));
        assert!(read(": : :\n\t-").is_err());
        for nothing in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"] {
            assert_eq!(read(nothing).unwrap(), None, "{nothing:?}");
        }
    }
}
