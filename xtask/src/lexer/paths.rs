//! Finds the paths that a file names, so that a rule can follow them to other files.

use super::{Token, closing};

/// A path as written, with its groups spread out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsePath<'a> {
    /// The parts between `::`; `*` for everything.
    pub(crate) parts: Vec<&'a str>,
    /// The name it has here: the last part, or what stands behind `as`.
    pub(crate) name: &'a str,
    /// Byte offset of its first part.
    pub(crate) offset: usize,
    /// Whether it stands in a `use` item.
    pub(crate) imported: bool,
}

/// Every path of two parts or more, and every `use`, in masked code.
pub(crate) fn paths<'a>(tokens: &[Token<'a>]) -> Vec<UsePath<'a>> {
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        if token.text == "use" {
            let end = tokens[index..].iter().position(|token| token.text == ";").map_or(tokens.len(), |it| index + it);
            spread(&tokens[index + 1..end], &[], None, &mut found);
            index = end;
        } else if token.is_word() && text(index + 1) == "::" {
            let mut parts = vec![token.text];
            while text(index + 1) == "::" && tokens.get(index + 2).is_some_and(Token::is_word) {
                parts.push(text(index + 2));
                index += 2;
            }
            found.push(UsePath {
                name: parts.last().copied().unwrap_or(""),
                parts,
                offset: token.offset,
                imported: false,
            });
        }
        index += 1;
    }
    found
}

// One entry of a use item: `a::b`, `a::b as c`, `a::*`, `a::{b, c::d}`.
fn spread<'a>(tokens: &[Token<'a>], before: &[&'a str], start: Option<usize>, found: &mut Vec<UsePath<'a>>) {
    let mut parts = before.to_vec();
    let mut name = None;
    let mut offset = start;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token.text {
            "::" => {}
            "as" => {
                name = tokens.get(index + 1).map(|token| token.text);
                break;
            }
            "{" => {
                let end = closing(tokens, index);
                let offset = offset.or(Some(token.offset));
                for entry in entries(&tokens[index + 1..end.max(index + 1)]) {
                    spread(entry, &parts, offset, found);
                }
                return;
            }
            part => {
                offset = offset.or(Some(token.offset));
                parts.push(part);
            }
        }
        index += 1;
    }
    if parts.last() == Some(&"self") && parts.len() > 1 {
        parts.pop();
    }
    let Some(last) = parts.last().copied() else { return };
    found.push(UsePath { parts, name: name.unwrap_or(last), offset: offset.unwrap_or(0), imported: true });
}

// Splits at the commas of the outermost level.
fn entries<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token.text {
            "{" => index = closing(tokens, index),
            "," => {
                found.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
        index += 1;
    }
    found.push(tokens.get(start..).unwrap_or_default());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{mask, tokens};

    fn spelled(text: &str) -> Vec<String> {
        let code = mask(text);
        paths(&tokens(&code))
            .into_iter()
            .map(|path| {
                format!("{}{} as {}", if path.imported { "use " } else { "" }, path.parts.join("::"), path.name)
            })
            .collect()
    }

    #[test]
    fn groups_are_spread_out_and_new_names_kept() {
        let table = [
            ("use crate::a::B;", &["use crate::a::B as B"][..]),
            (
                "pub use a::{b::C, d as e, f::{self, G}};",
                &["use a::b::C as C", "use a::d as e", "use a::f as f", "use a::f::G as G"],
            ),
            ("use super::*;", &["use super::* as *"]),
            ("use ::std::fs;", &["use std::fs as fs"]),
            ("fn f() { crate::a::g(std::fs::read(x)) }", &["crate::a::g as g", "std::fs::read as read"]),
            ("let a: Vec<crate::B> = Vec::new();", &["crate::B as B", "Vec::new as new"]),
            ("use serde;", &["use serde as serde"]),
            ("// use crate::a;", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(spelled(text), expected, "{text}");
        }
    }
}
