//! YAML as a tree in which every node knows where it stands in the text.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::Place;

/// So many nodes after aliases are followed; 500 intents with 20 globs each are some 20,000.
const MAX_NODES: usize = 400_000;
/// How deep lists and mappings may be in one another; an intent file needs four.
const MAX_DEPTH: usize = 64;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Where the value stands, or where it is named if it stands elsewhere.
    pub(super) place: Place,
    /// The bytes of the value; for a list or mapping in block style from its first item to somewhere after its last.
    pub(super) bytes: Range<usize>,
    /// How many nodes it is made of.
    size: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Scalar(String, ScalarStyle),
    List(Vec<Node>, Style),
    Mapping(Vec<(Node, Node)>, Style),
}

/// How a list or mapping is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// One line per item.
    Block,
    /// `[a, b]` or `{a: b}`.
    Flow,
}

/// Why text is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Node {
    /// Whether it is nothing: left out, `~` or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, ScalarStyle::Plain) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The text, if it is one. What the YAML core schema reads as a number, truth value or nothing is none.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, ScalarStyle::Plain) if self.is_null() || has_other_type(text) => None,
            Value::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    /// What it is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "nothing",
            Value::Scalar(text, ScalarStyle::Plain) if is_boolean(text) => "a truth value",
            Value::Scalar(text, ScalarStyle::Plain) if has_other_type(text) => "a number",
            Value::Scalar(..) => "text",
            Value::List(..) => "a list",
            Value::Mapping(..) => "a mapping",
        }
    }

    /// The pair of a mapping whose key is this.
    pub(super) fn entry(&self, key: &str) -> Option<&(Node, Node)> {
        let Value::Mapping(entries, _) = &self.value else { return None };
        entries.iter().find(|(name, _)| matches!(&name.value, Value::Scalar(text, _) if text == key))
    }

    /// Where the last byte of the value is, without the line break and comments that may follow it.
    pub(super) fn end(&self) -> usize {
        match &self.value {
            Value::List(items, Style::Block) => items.last().map_or(self.bytes.start, Self::end),
            Value::Mapping(entries, Style::Block) => {
                entries.last().map_or(self.bytes.start, |(key, value)| value.end().max(key.end()))
            }
            _ => self.bytes.end,
        }
    }
}

/// Reads the one document of a text; `None` if it holds no value at all.
pub(super) fn read(text: &str) -> Result<Option<Node>, Fault> {
    let mut builder = Builder { parser: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    let mut root = None;
    while let Some((event, span)) = builder.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => return Err(fault(&span, "there is a second document; the file has only one")),
            event => root = Some(builder.node(event, &span, 0)?),
        }
    }
    Ok(root.filter(|root| !(root.is_null() && root.bytes.is_empty())))
}

struct Builder<'a, P: Iterator<Item = Result<(Event<'a>, Span), granit_parser::ScanError>>> {
    parser: P,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a, P: Iterator<Item = Result<(Event<'a>, Span), granit_parser::ScanError>>> Builder<'a, P> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Fault> {
        self.parser.next().transpose().map_err(|error| {
            let marker = error.marker();
            let place = Place { line: marker.line(), column: marker.col() + 1 };
            Fault { place, message: error.info() }
        })
    }

    fn spend(&mut self, count: usize, span: &Span) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(count);
        if self.nodes > MAX_NODES {
            return Err(fault(span, &format!("with its aliases followed the file has more than {MAX_NODES} values")));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, Fault> {
        if depth > MAX_DEPTH {
            return Err(fault(span, &format!("lists and mappings are nested more than {MAX_DEPTH} deep")));
        }
        self.spend(1, span)?;
        let (anchor, mut node) = match event {
            Event::Scalar(text, style, anchor, _) => {
                (anchor, Node::new(Value::Scalar(text.into_owned(), style), span, 1))
            }
            Event::SequenceStart(style, anchor, _) => (anchor, self.list(style.into(), span, depth)?),
            Event::MappingStart(style, anchor, _) => (anchor, self.mapping(style.into(), span, depth)?),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(fault(span, "a value is missing here")),
        };
        // A collection in block style starts at its first item, which says more than where its key ended.
        if let Some(first) = node.first_child() {
            node.place = first;
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, style: Style, span: &Span, depth: usize) -> Result<Node, Fault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some((Event::SequenceEnd, end)) => return Ok(Node::collection(Value::List(items, style), span, &end)),
                Some((event, at)) => items.push(self.node(event, &at, depth + 1)?),
                None => return Err(fault(span, "this list has no end")),
            }
        }
    }

    fn mapping(&mut self, style: Style, span: &Span, depth: usize) -> Result<Node, Fault> {
        let mut entries = Vec::new();
        loop {
            let key = match self.next()? {
                Some((Event::MappingEnd, end)) => {
                    return Ok(Node::collection(Value::Mapping(entries, style), span, &end));
                }
                Some((event, at)) => self.node(event, &at, depth + 1)?,
                None => return Err(fault(span, "this mapping has no end")),
            };
            let (event, at) = self.next()?.ok_or_else(|| fault(span, "this mapping has no end"))?;
            entries.push((key, self.node(event, &at, depth + 1)?));
        }
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<Node, Fault> {
        let size = match self.anchors.get(&anchor) {
            Some(node) => node.size,
            None => return Err(fault(span, "this alias stands for a value that it is itself a part of")),
        };
        self.spend(size, span)?;
        let mut node =
            self.anchors.get(&anchor).cloned().ok_or_else(|| fault(span, "this alias stands for nothing"))?;
        node.place = place(span);
        node.bytes = span.byte_range().unwrap_or_default();
        Ok(node)
    }
}

impl Node {
    fn new(value: Value, span: &Span, size: usize) -> Self {
        Self { value, place: place(span), bytes: span.byte_range().unwrap_or_default(), size }
    }

    fn collection(value: Value, start: &Span, end: &Span) -> Self {
        let size = match &value {
            Value::Scalar(..) => 0,
            Value::List(items, _) => items.iter().map(|item| item.size).sum(),
            Value::Mapping(entries, _) => entries.iter().map(|(key, item)| key.size + item.size).sum(),
        };
        let mut node = Self::new(value, start, size + 1);
        node.bytes.end = end.byte_range().map_or(node.bytes.end, |range| range.end);
        node
    }

    fn first_child(&self) -> Option<Place> {
        match &self.value {
            Value::List(items, Style::Block) => items.first().map(|item| item.place),
            Value::Mapping(entries, Style::Block) => entries.first().map(|(key, _)| key.place),
            _ => None,
        }
    }
}

impl From<StructureStyle> for Style {
    fn from(style: StructureStyle) -> Self {
        match style {
            StructureStyle::Flow => Self::Flow,
            _ => Self::Block,
        }
    }
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn fault(span: &Span, message: &str) -> Fault {
    Fault { place: place(span), message: message.to_owned() }
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
    fn nodes_know_where_they_stand() {
        let text = "# head\nlist:\n  - ä: \"b\"\n  - [c, d] # x\n";
        let root = read(text).unwrap().unwrap();
        let (key, list) = root.entry("list").unwrap();
        assert_eq!((key.place, list.place), (Place { line: 2, column: 1 }, Place { line: 3, column: 5 }));
        assert_eq!(&text[list.end() - 6..list.end()], "[c, d]");
        let Value::List(items, Style::Block) = &list.value else { panic!("{list:?}") };
        let (_, value) = items[0].entry("ä").unwrap();
        assert_eq!((&text[value.bytes.clone()], value.place), ("\"b\"", Place { line: 3, column: 8 }));
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
