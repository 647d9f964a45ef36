//! Cuts a query into words, symbols and literals, so that no rule looks inside strings or comments.
//!
//! Pure.

/// How a language spells strings and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryLanguage {
    /// Strings end at the next quote that is not doubled.
    Sql,
    /// The same, but a backslash protects the next character.
    SqlWithBackslash,
    /// Both quotes make strings, a backslash protects, and `//` starts a comment.
    Cypher,
}

/// A piece of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryToken<'t> {
    /// A keyword or a plain name.
    Word(&'t str),
    /// A quoted name or a string.
    Quoted(&'t str),
    /// Digits.
    Number(&'t str),
    /// Any other character.
    Symbol(char),
}

impl QueryToken<'_> {
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, QueryToken::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    pub(super) fn is_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    pub(super) fn symbol(&self) -> Option<char> {
        match self {
            QueryToken::Symbol(symbol) => Some(*symbol),
            _ => None,
        }
    }
}

/// The tokens of a text; total, and linear in its length.
pub(super) fn tokens(text: &str, language: QueryLanguage) -> Vec<QueryToken<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = first.len_utf8();
        if let Some(comment) = comment_length(rest, language) {
            rest = rest.get(comment..).unwrap_or_default();
            continue;
        }
        let taken = match first {
            '\'' | '"' | '`' => quoted(rest, first, language, &mut found),
            '$' if language != QueryLanguage::Cypher => dollar_quoted(rest, &mut found),
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                found.push(QueryToken::Number(rest.get(..end).unwrap_or_default()));
                end
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                found.push(QueryToken::Word(rest.get(..end).unwrap_or_default()));
                end
            }
            c => {
                if !c.is_whitespace() {
                    found.push(QueryToken::Symbol(c));
                }
                length
            }
        };
        rest = rest.get(taken.max(length)..).unwrap_or_default();
    }
    found
}

/// How long the comment at the start is. `/*! ... */` is code to one database, so only its marks are skipped.
fn comment_length(rest: &str, language: QueryLanguage) -> Option<usize> {
    let line = match language {
        QueryLanguage::Cypher => rest.starts_with("//"),
        _ => rest.starts_with("--") || rest.starts_with('#'),
    };
    if line {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if language != QueryLanguage::Cypher && rest.starts_with("/*!") {
        let version = rest.get(3..)?.chars().take_while(char::is_ascii_digit).count();
        return Some(3 + version);
    }
    if language != QueryLanguage::Cypher && rest.starts_with("*/") {
        return Some(2);
    }
    let body = rest.strip_prefix("/*")?;
    Some(body.find("*/").map_or(rest.len(), |end| end + 4))
}

fn quoted<'t>(rest: &'t str, quote: char, language: QueryLanguage, found: &mut Vec<QueryToken<'t>>) -> usize {
    let escapes = language != QueryLanguage::Sql && quote != '`';
    let mut protected = false;
    for (at, c) in rest.char_indices().skip(1) {
        if protected {
            protected = false;
        } else if escapes && c == '\\' {
            protected = true;
        } else if c == quote {
            found.push(QueryToken::Quoted(rest.get(1..at).unwrap_or_default()));
            return at + 1;
        }
    }
    found.push(QueryToken::Quoted(rest.get(1..).unwrap_or_default()));
    rest.len()
}

/// `$tag$ ... $tag$` is a string; `$1` and a lone `$` are not.
fn dollar_quoted<'t>(rest: &'t str, found: &mut Vec<QueryToken<'t>>) -> usize {
    let after = rest.get(1..).unwrap_or_default();
    let tag_end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
    let named = !after.starts_with(|c: char| c.is_ascii_digit());
    let mark = rest.get(..tag_end + 2).filter(|mark| named && mark.ends_with('$'));
    let Some(mark) = mark else {
        found.push(QueryToken::Symbol('$'));
        return 1;
    };
    let body = rest.get(mark.len()..).unwrap_or_default();
    let end = body.find(mark).unwrap_or(body.len());
    found.push(QueryToken::Quoted(body.get(..end).unwrap_or_default()));
    mark.len() + (end + mark.len()).min(body.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, language: QueryLanguage) -> String {
        let show = |token: &QueryToken<'_>| match token {
            QueryToken::Word(word) => (*word).to_owned(),
            QueryToken::Quoted(text) => format!("<{text}>"),
            QueryToken::Number(digits) => format!("#{digits}"),
            QueryToken::Symbol(symbol) => symbol.to_string(),
        };
        tokens(text, language).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strings_and_comments_are_not_looked_into() {
        assert_eq!(shown("a 'b; -- c' d -- e\nf", QueryLanguage::Sql), "a <b; -- c> d f");
        assert_eq!(shown("'it''s' x", QueryLanguage::Sql), "<it> <s> x");
        assert_eq!(shown(r"'it\'s' x", QueryLanguage::SqlWithBackslash), r"<it\'s> x");
        assert_eq!(shown(r"'\' x", QueryLanguage::Sql), r"<\> x");
        assert_eq!(shown("a /* b ; */ c", QueryLanguage::Sql), "a c");
        assert_eq!(shown("/*!40000 DROP */ x", QueryLanguage::Sql), "DROP x");
        assert_eq!(shown("$$ a; $$ b $t$ c $t$ $1", QueryLanguage::Sql), "< a; > b < c > $ #1");
        assert_eq!(shown("a // b\nc 'x' \"y\" `z`", QueryLanguage::Cypher), "a c <x> <y> <z>");
        assert_eq!(shown("[*1..5]", QueryLanguage::Cypher), "[ * #1 . . #5 ]");
        assert_eq!(shown("'open", QueryLanguage::Sql), "<open>");
        assert_eq!(shown("/* open", QueryLanguage::Sql), "");
        assert_eq!(shown("$$ open", QueryLanguage::Sql), "< open>");
    }

    proptest! {
        #[test]
        fn any_text_has_tokens(text in "\\PC{0,200}") {
            for language in [QueryLanguage::Sql, QueryLanguage::SqlWithBackslash, QueryLanguage::Cypher] {
                tokens(&text, language);
            }
        }
    }
}
