//! Finds the types that a file declares, for rules about their names.

use super::Token;

/// A type that a file declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeDeclaration<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Byte offset of the name.
    pub(crate) offset: usize,
}

/// Every `struct`, `enum`, `trait` and `type` alias in masked code, wherever it stands.
///
/// Associated types are left out: `Item` of an iterator has to be called that.
pub(crate) fn type_declarations<'a>(tokens: &[Token<'a>]) -> Vec<TypeDeclaration<'a>> {
    let mut found = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut opens_next = Block::Other;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "impl" if starts_item(tokens, index) => opens_next = Block::Implementation,
            "trait" => opens_next = Block::Implementation,
            ";" => opens_next = Block::Other,
            "{" => blocks.push(std::mem::replace(&mut opens_next, Block::Other)),
            "}" => {
                blocks.pop();
            }
            _ => {}
        }
        let declares = match token.text {
            "struct" | "enum" | "trait" => true,
            "type" => blocks.last() != Some(&Block::Implementation),
            _ => false,
        };
        let name = tokens.get(index + 1).filter(|name| declares && name.text.starts_with(char::is_uppercase));
        found.extend(name.map(|name| TypeDeclaration { name: name.text, offset: name.offset }));
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// The body of an `impl` or a `trait`: a `type` in it is an associated one.
    Implementation,
    Other,
}

// `impl` also stands in types (`-> impl Trait {`), where the next brace opens a function.
fn starts_item(tokens: &[Token<'_>], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_none_or(|before| matches!(before.text, ";" | "{" | "}" | "]" | "unsafe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{mask, tokens};

    #[test]
    fn declarations_are_found_and_associated_types_left_out() {
        let text = r#"
            pub struct A; enum B { C } pub(crate) trait D { type E; fn f() { struct F; } }
            type G = u8;
            impl Iterator for A { type Item = u8; fn next(&mut self) { enum H {} } }
            fn g() -> impl Iterator<Item = u8> { type I = u8; }
            // struct J;
            macro_rules! m { ($name:ident) => { struct $name; } }
            mod inner { struct A; }
        "#;
        let code = mask(text);
        let names: Vec<_> = type_declarations(&tokens(&code)).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["A", "B", "D", "F", "G", "H", "I", "A"]);
    }
}
