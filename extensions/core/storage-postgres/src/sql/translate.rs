//! Statements that read and change rows.
//!
//! Pure.

use super::token::{Token, tokens};

/// The types of parameters that PostgreSQL is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ParameterKind {
    /// A null: its type is what the place wants.
    Null,
    Integer,
    Real,
    Text,
    Blob,
}

/// A statement as PostgreSQL reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TranslatedStatement {
    pub(crate) sql: String,
    /// The types of `$1`, `$2`, ...
    pub(crate) kinds: Vec<ParameterKind>,
    /// Whether it changes rows.
    pub(crate) changes: bool,
}

/// Words without which a statement changes nothing.
const CHANGES: &[&str] = &["insert", "update", "delete"];
/// Functions that SQLite calls otherwise, when they have more than one argument.
const RENAMED_WITH_TWO: &[(&str, &str)] = &[("min", "LEAST"), ("max", "GREATEST")];
const RENAMED: &[(&str, &str)] = &[("ifnull", "COALESCE"), ("like", "ILIKE")];

/// Translates a statement for parameters of these kinds; says what is wrong with it.
pub(crate) fn translate(sql: &str, kinds: &[ParameterKind]) -> Result<TranslatedStatement, String> {
    let pieces = tokens(sql);
    let highest = pieces.iter().filter_map(|piece| as_parameter(piece)).max().unwrap_or(0);
    if highest != kinds.len() {
        return Err(format!("it names {highest} parameters, and {} were given", kinds.len()));
    }
    let mut made = String::with_capacity(sql.len() + 16);
    let mut used = vec![false; kinds.len()];
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        at += 1;
        match piece {
            Token::Parameter(number) => {
                let index = number.checked_sub(1).ok_or("parameters are numbered from 1")?;
                if let Some((is_null, behind)) = null_test(&pieces, at) {
                    // A parameter that is only tested has no type to PostgreSQL: the answer is known here.
                    let holds = (kinds.get(index) == Some(&ParameterKind::Null)) == is_null;
                    made.push_str(if holds { "TRUE" } else { "FALSE" });
                    at = behind;
                } else {
                    made.push_str(&format!("${number}"));
                    if let Some(used) = used.get_mut(index) {
                        *used = true;
                    }
                }
            }
            Token::Word(word) => made.push_str(renamed(word, &pieces, at)),
            Token::Quoted(text) | Token::Space(text) | Token::Other(text) => made.push_str(text),
        }
    }
    // A null that stands nowhere any more still needs a type.
    let typed = |(kind, used): (&ParameterKind, &bool)| match (kind, used) {
        (ParameterKind::Null, false) => ParameterKind::Text,
        _ => *kind,
    };
    let changes = pieces.iter().any(|piece| CHANGES.iter().any(|word| piece.is(word)));
    Ok(TranslatedStatement { sql: made, kinds: kinds.iter().zip(&used).map(typed).collect(), changes })
}

fn as_parameter(piece: &Token<'_>) -> Option<usize> {
    match piece {
        Token::Parameter(number) => Some(*number),
        _ => None,
    }
}

/// `IS NULL` or `IS NOT NULL` from here on: which of them, and where it ends.
fn null_test(pieces: &[Token<'_>], from: usize) -> Option<(bool, usize)> {
    let mut words = (from..).zip(pieces.get(from..)?).filter(|(_, piece)| !matches!(piece, Token::Space(_)));
    words.next().filter(|(_, piece)| piece.is("is"))?;
    let (at, next) = words.next()?;
    if next.is("null") {
        return Some((true, at + 1));
    }
    let (at, last) = words.next().filter(|_| next.is("not"))?;
    last.is("null").then_some((false, at + 1))
}

fn renamed<'a>(word: &'a str, pieces: &[Token<'_>], behind: usize) -> &'a str {
    let known = |table: &'static [(&str, &str)]| table.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
    if let Some((_, name)) = known(RENAMED) {
        return name;
    }
    match known(RENAMED_WITH_TWO) {
        Some((_, name)) if arguments(pieces, behind) > 1 => name,
        _ => word,
    }
}

/// How many arguments the parentheses that begin here hold.
fn arguments(pieces: &[Token<'_>], from: usize) -> usize {
    let (mut depth, mut commas) = (0_usize, 0_usize);
    for piece in pieces.iter().skip(from) {
        match piece {
            Token::Other("(") => depth += 1,
            Token::Other(")") if depth <= 1 => return commas + depth,
            Token::Other(")") => depth -= 1,
            Token::Other(",") if depth == 1 => commas += 1,
            Token::Space(_) => {}
            _ if depth == 0 => return 0,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::ParameterKind::{Integer, Null, Text};
    use super::*;

    fn check(sql: &str, kinds: &[ParameterKind], expected: &str, types: &[ParameterKind]) {
        let made = translate(sql, kinds).unwrap();
        assert_eq!((made.sql.as_str(), made.kinds.as_slice()), (expected, types));
    }

    #[test]
    fn statements_read_as_postgresql_reads_them() {
        check(
            "SELECT a FROM t WHERE b = ?1 AND c = ?2",
            &[Text, Null],
            "SELECT a FROM t WHERE b = $1 AND c = $2",
            &[Text, Null],
        );
        let either = "SELECT 1 FROM t WHERE (?1 IS NULL OR x = ?1)";
        check(either, &[Null], "SELECT 1 FROM t WHERE (TRUE OR x = $1)", &[Null]);
        check(either, &[Text], "SELECT 1 FROM t WHERE (FALSE OR x = $1)", &[Text]);
        check("SELECT ?1 IS NOT NULL", &[Null], "SELECT FALSE", &[Text]);
        check("SELECT x is null, '?1', max(a), MAX(a, b)", &[], "SELECT x is null, '?1', max(a), GREATEST(a, b)", &[]);
        check("SELECT min ((a + 1)), min(f(a, b))", &[], "SELECT min ((a + 1)), min(f(a, b))", &[]);
        check("SELECT x LIKE ?1 ESCAPE '\\'", &[Text], "SELECT x ILIKE $1 ESCAPE '\\'", &[Text]);
        check("UPDATE t SET n = ?1, m = ?1", &[Integer], "UPDATE t SET n = $1, m = $1", &[Integer]);
    }

    #[test]
    fn every_parameter_is_given_once() {
        assert!(translate("SELECT ?2", &[Text]).unwrap_err().contains("names 2 parameters, and 1 were given"));
        assert!(translate("SELECT 1", &[Text]).is_err());
        assert!(translate("SELECT ?0", &[]).is_err());
    }
}
