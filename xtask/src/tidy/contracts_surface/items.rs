//! Reads the public items of a file, each as one line of text.

use crate::lexer::{Token, closing, tokens};

/// The public items in masked production code: signatures, public fields, variants, trait items, implemented traits.
pub(super) fn public_items(code: &str) -> Vec<String> {
    let found = tokens(code);
    let mut items = Vec::new();
    let mut index = 0;
    while index < found.len() {
        index = read_item(&found, index, "", &mut items);
    }
    items
}

// Reads the item at `at` and returns where the next one begins. `owner` is the type whose block this is.
fn read_item(found: &[Token<'_>], at: usize, owner: &str, items: &mut Vec<String>) -> usize {
    let text = |index: usize| found.get(index).map_or("", |token| token.text);
    match text(at) {
        "#" => closing(found, if text(at + 1) == "!" { at + 2 } else { at + 1 }) + 1,
        "pub" if text(at + 1) == "(" => skip_item(found, closing(found, at + 1) + 1),
        "pub" => read_public(found, at + 1, owner, items),
        "impl" if owner.is_empty() => read_implementation(found, at, items),
        "macro_rules" => {
            items.push(format!("macro {}!", text(at + 2)));
            skip_item(found, at)
        }
        _ => skip_item(found, at),
    }
}

fn read_public(found: &[Token<'_>], at: usize, owner: &str, items: &mut Vec<String>) -> usize {
    let next = skip_item(found, at);
    let item = &found[at..next.min(found.len())];
    let body = item.iter().position(|token| token.text == "{");
    let prefix = if owner.is_empty() { String::new() } else { format!("{owner}::") };
    let keyword = item
        .iter()
        .map(|token| token.text)
        .find(|text| matches!(*text, "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "mod" | "use"));
    let name = item.iter().skip_while(|token| Some(token.text) != keyword).nth(1).map_or("", |token| token.text);
    match (keyword, body) {
        (Some("use"), _) => items.push(spell(trimmed(item))),
        (Some("const" | "static"), _) if !item.iter().any(|token| token.text == "fn") => {
            let end = item.iter().position(|token| token.text == "=").unwrap_or(item.len());
            items.push(format!("{prefix}{}", spell(trimmed(&item[..end]))));
        }
        (Some("struct"), Some(open)) => {
            items.push(spell(&item[..open]));
            items.extend(fields(&item[open + 1..item.len() - 1]).map(|field| format!("{name}.{field}")));
        }
        (Some("enum"), Some(open)) => {
            items.push(spell(&item[..open]));
            let variants = entries(&item[open + 1..item.len() - 1]);
            items.extend(variants.map(|variant| format!("{name}::{}", spell(variant))));
        }
        (Some("trait"), Some(open)) => {
            items.push(spell(&item[..open]));
            read_trait(&item[open + 1..item.len() - 1], name, items);
        }
        (_, Some(open)) => items.push(format!("{prefix}{}", spell(&item[..open]))),
        (_, None) => items.push(format!("{prefix}{}", spell(trimmed(item)))),
    }
    next
}

fn read_trait(body: &[Token<'_>], name: &str, items: &mut Vec<String>) {
    let mut at = 0;
    while at < body.len() {
        if body[at].text == "#" {
            at = closing(body, at + 1) + 1;
            continue;
        }
        let next = skip_item(body, at);
        let item = trimmed(&body[at..next]);
        let end = item.iter().position(|token| token.text == "{").unwrap_or(item.len());
        let provided = if end < item.len() { " (provided)" } else { "" };
        items.push(format!("{name}::{}{provided}", spell(&item[..end])));
        at = next;
    }
}

fn read_implementation(found: &[Token<'_>], at: usize, items: &mut Vec<String>) -> usize {
    let Some(open) = (at..found.len()).find(|index| found[*index].text == "{") else { return found.len() };
    let end = closing(found, open);
    let head = spell(&found[at..open]);
    if found[at..open].iter().any(|token| token.text == "for") {
        items.push(head);
        return end + 1;
    }
    let owner = head.trim_start_matches("impl ").to_owned();
    let body = &found[open + 1..end];
    let mut index = 0;
    while index < body.len() {
        index = read_item(body, index, &owner, items);
    }
    end + 1
}

// An item ends behind its block or its `;`. A tuple struct has its `;` behind the brackets.
fn skip_item(found: &[Token<'_>], at: usize) -> usize {
    let mut index = at;
    let mut value = false;
    while let Some(token) = found.get(index) {
        match token.text {
            ";" => return index + 1,
            "=" => value = true,
            "(" | "[" => index = closing(found, index),
            "{" if value => index = closing(found, index),
            "{" => {
                let end = closing(found, index);
                let groups_use = index > at && found[index - 1].text == "::";
                if !groups_use {
                    return end + 1;
                }
                index = end;
            }
            _ => {}
        }
        index += 1;
    }
    found.len()
}

fn trimmed<'t, 'a>(item: &'t [Token<'a>]) -> &'t [Token<'a>] {
    match item.split_last() {
        Some((last, rest)) if last.text == ";" => rest,
        _ => item,
    }
}

fn fields<'t, 'a>(body: &'t [Token<'a>]) -> impl Iterator<Item = String> + use<'t, 'a> {
    entries(body)
        .filter(|entry| entry.first().is_some_and(|token| token.text == "pub"))
        .filter(|entry| entry.get(1).is_some_and(|token| token.text != "("))
        .map(|entry| spell(&entry[1..]))
}

// The entries of a block between its commas, without their attributes.
fn entries<'t, 'a>(body: &'t [Token<'a>]) -> impl Iterator<Item = &'t [Token<'a>]> + use<'t, 'a> {
    let mut found = Vec::new();
    let (mut start, mut index, mut angles) = (0, 0, 0_usize);
    while let Some(token) = body.get(index) {
        match token.text {
            "#" if index == start => {
                index = closing(body, index + 1);
                start = index + 1;
            }
            "(" | "[" | "{" => index = closing(body, index),
            "<" => angles += 1,
            ">" if index > 0 && body[index - 1].text != "-" => angles = angles.saturating_sub(1),
            "," if angles == 0 => {
                found.push(&body[start..index]);
                start = index + 1;
            }
            _ => {}
        }
        index += 1;
    }
    found.push(body.get(start..).unwrap_or_default());
    found.into_iter().filter(|entry| !entry.is_empty())
}

// The tokens with spaces between words and after commas, so that the layout of the source does not matter. Attributes
// and commas before a closing bracket are left out.
fn spell(item: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut before = "";
    let mut index = 0;
    while let Some(token) = item.get(index) {
        let next = item.get(index + 1).map_or("", |token| token.text);
        index += 1;
        if token.text == "#" && next == "[" {
            index = closing(item, index) + 1;
            continue;
        }
        if token.text == "," && matches!(next, "}" | ")" | "]" | ">") {
            continue;
        }
        if !before.is_empty() && wants_space(before, token) {
            text.push(' ');
        }
        text.push_str(token.text);
        before = token.text;
    }
    text
}

fn wants_space(before: &str, token: &Token<'_>) -> bool {
    let after_word = before.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let arrow = token.text == ">" && before == "-";
    let spaced = matches!(token.text, "-" | "=" | "{" | "}" | "+") || matches!(before, "=" | "+" | "," | ":" | "{");
    let word_after = token.is_word() && (after_word || matches!(before, ">" | ")"));
    !arrow && before != "::" && (spaced || word_after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::mask;

    #[test]
    fn every_kind_of_public_item_is_read() {
        let table: &[(&str, &[&str])] = &[
            ("pub struct A;", &["struct A"]),
            (
                "#[derive(Debug)]\npub struct A { pub b: Vec<(u8, C)>, d: E, pub(crate) f: u8 }",
                &["struct A", "A.b: Vec<(u8, C)>"],
            ),
            ("pub struct A(pub u8, B);", &["struct A(pub u8, B)"]),
            ("pub enum A { #[x] B, C(D, E), F { #[y(z)] g: H, } }", &["enum A", "A::B", "A::C(D, E)", "A::F { g: H }"]),
            (
                "pub trait A: Send { type B; fn c(&self) -> D; fn e(&self) { 1 } }",
                &["trait A: Send", "A::type B", "A::fn c(&self) -> D", "A::fn e(&self) (provided)"],
            ),
            (
                "impl A { pub fn b(&self, c: &str) -> D { e } fn f() {} pub const G: u8 = 1; }",
                &["A::fn b(&self, c: &str) -> D", "A::const G: u8"],
            ),
            ("impl A for B { fn c() {} }", &["impl A for B"]),
            ("pub const A: B = B::new(1, 2);", &["const A: B"]),
            ("pub type A<T> = Result<T, B>;", &["type A<T> = Result<T, B>"]),
            ("pub mod a;\nmod b;\npub use b::{C, D};", &["mod a", "use b::{ C, D }"]),
            ("pub const fn a() -> B { c }", &["const fn a() -> B"]),
            ("#[macro_export]\nmacro_rules! a { () => { pub struct B; } }", &["macro a!"]),
            ("pub(crate) fn a() {}\nfn b() {}\nstatic C: u8 = 1;", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(public_items(&mask(text)), *expected, "{text}");
        }
    }
}
