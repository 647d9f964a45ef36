//! The words of a statement, as far as translating and checking it needs them.
//!
//! Pure.

/// One piece of a statement. All pieces together are its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a keyword, without quotes.
    Word(&'a str),
    /// A name in double quotes, with them.
    Quoted(&'a str),
    /// `?1`.
    Parameter(usize),
    /// Spaces and comments.
    Space(&'a str),
    /// Text in single quotes, numbers, operators: one piece or one character.
    Other(&'a str),
}

impl<'a> Token<'a> {
    /// Whether this is the keyword, in whatever case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Whether this is the character.
    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Self::Other(text) if *text == sign)
    }

    /// The name that it is, in lower case unless it is quoted.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.to_ascii_lowercase()),
            Self::Quoted(text) => Some(text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        }
    }
}

/// Splits a statement into its pieces.
pub(super) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = length(rest, first);
        let (text, behind) = rest.split_at(length);
        found.push(token(text, first));
        rest = behind;
    }
    found
}

fn token(text: &str, first: char) -> Token<'_> {
    match first {
        '"' => Token::Quoted(text),
        '?' => text.get(1..).and_then(|digits| digits.parse().ok()).map_or(Token::Other(text), Token::Parameter),
        _ if starts_name(first) => Token::Word(text),
        _ if first.is_whitespace() || text.starts_with("--") || text.starts_with("/*") => Token::Space(text),
        _ => Token::Other(text),
    }
}

fn length(rest: &str, first: char) -> usize {
    let while_true = |test: fn(char) -> bool| rest.find(|shown| !test(shown)).unwrap_or(rest.len());
    match first {
        '\'' | '"' => quoted(rest, first),
        '?' => 1 + rest.get(1..).map_or(0, |digits| digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())),
        '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
        _ if first.is_whitespace() => while_true(char::is_whitespace),
        _ if starts_name(first) => while_true(|shown| starts_name(shown) || shown.is_ascii_digit() || shown == '$'),
        _ if first.is_ascii_digit() => while_true(|shown| shown.is_ascii_alphanumeric() || shown == '.'),
        _ => first.len_utf8(),
    }
}

/// Up to the closing quote; a doubled one is part of the text.
fn quoted(rest: &str, quote: char) -> usize {
    let mut signs = rest.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        if sign == quote && signs.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    rest.len()
}

fn starts_name(sign: char) -> bool {
    sign == '_' || sign.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_text() {
        let sql = "SELECT a.\"e\"\"nd\", 'it''s ?1 -- no' /* ?2 */ FROM t1 WHERE x>=?12 -- ?3\nAND y = 1.5e3";
        let found = tokens(sql);
        assert!(found.contains(&Token::Quoted("\"e\"\"nd\"")));
        assert!(found.contains(&Token::Other("'it''s ?1 -- no'")));
        assert_eq!(found.iter().filter(|token| matches!(token, Token::Parameter(_))).count(), 1, "{found:?}");
        assert!(found.contains(&Token::Parameter(12)) && found.contains(&Token::Word("t1")));
        let text: String = found
            .iter()
            .map(|token| match token {
                Token::Word(text) | Token::Quoted(text) | Token::Space(text) | Token::Other(text) => (*text).to_owned(),
                Token::Parameter(number) => format!("?{number}"),
            })
            .collect();
        assert_eq!(text, sql);
        assert_eq!(tokens("'open"), [Token::Other("'open")]);
    }
}
