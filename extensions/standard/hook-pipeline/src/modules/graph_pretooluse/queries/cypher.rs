//! Cypher queries without a bound on rows or on the length of paths.
//!
//! Pure.

use super::token::{QueryLanguage, QueryToken, tokens};

/// Words that begin a clause.
const CLAUSES: &[&str] = &[
    "MATCH", "OPTIONAL", "WHERE", "WITH", "RETURN", "UNWIND", "CALL", "CREATE", "MERGE", "DELETE", "DETACH", "SET",
    "REMOVE", "UNION", "ORDER", "SKIP", "LIMIT", "FOREACH", "YIELD", "USE", "FINISH", "OFFSET", "INSERT", "LET",
    "FILTER",
];
/// Functions that make one row of many. `collect` is not among them: its list has no bound.
const SUMMARIES: &[&str] =
    &["count", "sum", "avg", "min", "max", "stDev", "stDevP", "percentileCont", "percentileDisc"];
/// Words that begin a statement of another language, or one that does not run.
const NOT_RUN: &[&str] =
    &["EXPLAIN", "SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP", "TRUNCATE", "REPLACE", "SHOW"];
/// Beginnings of procedures that describe the database: their rows are few.
const SMALL_PROCEDURES: &[&str] = &["db", "dbms", "tx"];

/// What has no bound, in a few words.
pub(super) fn unbounded(text: &str) -> Option<&'static str> {
    // Cheap: most texts that come here are not graph queries.
    if !text
        .as_bytes()
        .windows(5)
        .any(|word| word.eq_ignore_ascii_case(b"match") || word.eq_ignore_ascii_case(b"merge"))
        && !text.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"call"))
    {
        return None;
    }
    let all = tokens(text, QueryLanguage::Cypher);
    all.split(|token| token.symbol() == Some(';')).find_map(statement)
}

fn statement(tokens: &[QueryToken<'_>]) -> Option<&'static str> {
    let is_graph = |at: usize| tokens.get(at).is_some_and(|token| token.is_any(&["MATCH", "MERGE", "CALL"]));
    let opens_pattern =
        (0..tokens.len()).any(|at| is_graph(at) && has_pattern(tokens.get(at + 1..).unwrap_or_default()));
    if !opens_pattern || tokens.first().is_none_or(|first| first.is_any(NOT_RUN)) {
        return None;
    }
    RowBound::default().walk(tokens)
}

/// `MATCH (`, `MATCH p = (`, `MATCH SHORTEST 1 (`, `CALL name.name(`.
fn has_pattern(rest: &[QueryToken<'_>]) -> bool {
    let clause = rest.iter().position(|token| token.is_any(CLAUSES)).unwrap_or(rest.len());
    let mut before = rest.get(..clause).unwrap_or_default().iter().take(12);
    before.any(|token| token.symbol() == Some('('))
}

/// What is known of the rows while a query is read from left to right.
#[derive(Default)]
struct RowBound {
    /// Whether their number has no bound here.
    unbounded: bool,
    /// Whether a condition or a property narrows the pattern down.
    narrowed: bool,
    in_pattern: bool,
    deletes: bool,
}

impl RowBound {
    fn walk(mut self, tokens: &[QueryToken<'_>]) -> Option<&'static str> {
        let mut at = 0;
        let mut depth = 0_usize;
        while let Some(token) = tokens.get(at) {
            match token.symbol() {
                Some('{') if self.in_pattern => self.narrowed = true,
                Some('(' | '[') => depth += 1,
                Some(')' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if self.in_pattern && (has_endless_length(tokens, at) || has_endless_quantifier(tokens, at)) {
                return Some("path without an upper bound");
            }
            let rest = tokens.get(at + 1..).unwrap_or_default();
            if depth == 0 && token.is_any(CLAUSES) && !is_property(tokens, at) {
                self.clause(token, rest);
                if token.is("RETURN") && self.returns_all(rest) {
                    return Some("RETURN without LIMIT");
                }
                if self.deletes && self.unbounded && !self.narrowed && !has_limit(rest) {
                    return Some("DELETE without a condition");
                }
            }
            at += 1;
        }
        None
    }

    fn clause(&mut self, token: &QueryToken<'_>, rest: &[QueryToken<'_>]) {
        self.in_pattern = token.is_any(&["MATCH", "MERGE", "CREATE"]);
        self.deletes = token.is("DELETE");
        if token.is("MATCH") {
            self.unbounded = true;
            self.narrowed = false;
        } else if token.is("CALL") {
            let small = rest.first().is_some_and(|name| name.is_any(SMALL_PROCEDURES)) || describes(rest);
            self.unbounded |= !small && rest.first().is_some_and(|first| matches!(first, QueryToken::Word(_)));
        } else if token.is("WHERE") {
            self.narrowed = true;
        } else if token.is("LIMIT") || (token.is("WITH") && is_summary(rest)) {
            self.unbounded = false;
        } else if token.is("UNION") {
            *self = Self::default();
        }
    }

    /// Whether this `RETURN` sets no bound on its rows.
    fn returns_all(&self, rest: &[QueryToken<'_>]) -> bool {
        let end =
            rest.iter().position(|token| token.is_any(&["UNION"]) || token.symbol() == Some('}')).unwrap_or(rest.len());
        let clause = rest.get(..end).unwrap_or_default();
        self.unbounded && !is_summary(clause) && !has_limit(clause)
    }
}

fn has_limit(tokens: &[QueryToken<'_>]) -> bool {
    (0..tokens.len()).any(|at| tokens.get(at).is_some_and(|token| token.is("LIMIT")) && !is_property(tokens, at))
}

/// `n.limit` and `:Match` are names.
fn is_property(tokens: &[QueryToken<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before)).and_then(QueryToken::symbol);
    matches!(before, Some('.' | ':' | '$' | '|'))
}

/// `apoc.meta.*` describes the database too.
fn describes(rest: &[QueryToken<'_>]) -> bool {
    rest.iter().take(3).any(|token| token.is_any(&["meta", "schema"]))
}

/// Whether every item is a function that makes one row of many.
fn is_summary(clause: &[QueryToken<'_>]) -> bool {
    let end = clause.iter().position(|token| token.is_any(CLAUSES) && !token.is("WHERE")).unwrap_or(clause.len());
    let mut depth = 0_usize;
    let mut starts_item = true;
    let mut items = 0_usize;
    for (at, token) in clause.get(..end).unwrap_or_default().iter().enumerate() {
        if starts_item {
            if token.is("DISTINCT") {
                continue;
            }
            let called = clause.get(at + 1).and_then(QueryToken::symbol) == Some('(');
            if !(token.is_any(SUMMARIES) && called) {
                return false;
            }
            items += 1;
        }
        starts_item = false;
        match token.symbol() {
            Some('(' | '[' | '{') => depth += 1,
            Some(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Some(',') if depth == 0 => starts_item = true,
            _ => {}
        }
    }
    items > 0
}

/// `-[:KNOWS*]-` and `-[*2..]->`: a star in a relationship with no number behind its dots.
fn has_endless_length(tokens: &[QueryToken<'_>], at: usize) -> bool {
    let symbol = |index: usize| tokens.get(index).and_then(QueryToken::symbol);
    let relationship = symbol(at) == Some('[') && at.checked_sub(1).and_then(symbol) == Some('-');
    if !relationship {
        return false;
    }
    let inside = tokens.get(at + 1..).unwrap_or_default();
    let end = inside.iter().position(|token| matches!(token.symbol(), Some(']' | '{'))).unwrap_or(inside.len());
    let inside = inside.get(..end).unwrap_or_default();
    let Some(star) = inside.iter().position(|token| token.symbol() == Some('*')) else {
        return false;
    };
    let bounds = inside.get(star + 1..).unwrap_or_default();
    let is_number = |index: usize| matches!(bounds.get(index), Some(QueryToken::Number(_)));
    let dots = bounds.iter().position(|token| token.symbol() == Some('.'));
    match dots {
        Some(dots) => !is_number(dots + 2),
        None => !is_number(0),
    }
}

/// `->+ (`, `)* (` and `{2,}` behind a relationship or a group in a pattern.
fn has_endless_quantifier(tokens: &[QueryToken<'_>], at: usize) -> bool {
    let symbol = |index: usize| tokens.get(index).and_then(QueryToken::symbol);
    let before = at.checked_sub(1).and_then(symbol);
    match symbol(at) {
        Some('+' | '*') => matches!(before, Some('>' | '-' | ')')) && matches!(symbol(at + 1), Some('(') | None),
        Some('{') if matches!(before, Some('>' | '-' | ')')) => {
            let close = tokens.get(at..).unwrap_or_default().iter().position(|token| token.symbol() == Some('}'));
            close.is_some_and(|close| symbol(at + close - 1) == Some(','))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::unbounded;

    #[test]
    fn only_queries_without_a_bound_are_found() {
        let rows = Some("RETURN without LIMIT");
        let path = Some("path without an upper bound");
        let delete = Some("DELETE without a condition");
        let table = [
            ("MATCH (n) RETURN n", rows),
            ("match (n) return n", rows),
            ("MATCH (n) RETURN n LIMIT 10", None),
            ("MATCH (n) RETURN n ORDER BY n.x SKIP 5 LIMIT $k", None),
            ("MATCH (n) RETURN n // LIMIT 10", rows),
            ("MATCH (n) RETURN n /* LIMIT 10 */", rows),
            ("MATCH (n) RETURN 'LIMIT 10'", rows),
            ("MATCH (n) RETURN n.limit", rows),
            ("MATCH (n) RETURN count(n)", None),
            ("MATCH (n) RETURN count(*) AS a, max(n.age)", None),
            ("MATCH (n) RETURN n.kind, count(*)", rows),
            ("MATCH (n) RETURN collect(n)", rows),
            ("MATCH (n) WITH n LIMIT 5 RETURN n", None),
            ("MATCH (n) WITH n LIMIT 5 MATCH (n)-->(m) RETURN m", rows),
            ("MATCH (n) WITH count(n) AS c RETURN c", None),
            ("MATCH (n) RETURN n LIMIT 5 UNION MATCH (m) RETURN m", rows),
            ("MATCH (n) RETURN n LIMIT 5 UNION MATCH (m) RETURN m LIMIT 5", None),
            ("RETURN 1", None),
            ("CREATE (n:X {a: 1}) RETURN n", None),
            ("UNWIND [1,2] AS x RETURN x", None),
            ("MATCH (a)-[*]->(b) RETURN a LIMIT 1", path),
            ("MATCH (a)-[:KNOWS*]->(b) RETURN a LIMIT 1", path),
            ("MATCH (a)-[r:KNOWS*2..]->(b) RETURN a LIMIT 1", path),
            ("MATCH (a)-[*..]-(b) RETURN a LIMIT 1", path),
            ("MATCH (a)<-[*0..]-(b) RETURN a LIMIT 1", path),
            ("MATCH (a)-[*..5]->(b) RETURN a LIMIT 1", None),
            ("MATCH (a)-[*1..5]->(b) RETURN a LIMIT 1", None),
            ("MATCH (a)-[:R*3]->(b) RETURN a LIMIT 1", None),
            ("MATCH p = shortestPath((a)-[*]-(b)) RETURN p LIMIT 1", path),
            ("MATCH (a)-[:R]->+(b) RETURN a LIMIT 1", path),
            ("MATCH ((a)-[:R]->(b))* (c) RETURN a LIMIT 1", path),
            ("MATCH (a)-[:R]->{2,}(b) RETURN a LIMIT 1", path),
            ("MATCH (a)-[:R]->{2,5}(b) RETURN a LIMIT 1", None),
            ("MATCH (n) RETURN n.a * 2 LIMIT 1", None),
            ("MATCH (n) RETURN [x IN n.xs | x * 2] LIMIT 1", None),
            ("MATCH (n) WHERE n.x - [1][0] * 2 > 0 RETURN n LIMIT 1", None),
            ("MATCH (n) DETACH DELETE n", delete),
            ("MATCH (n:Temp) DELETE n", delete),
            ("MATCH (n {id: 1}) DETACH DELETE n", None),
            ("MATCH (n) WHERE n.id = 1 DETACH DELETE n", None),
            ("MATCH (n) WITH n LIMIT 100 DETACH DELETE n", None),
            ("MATCH (n) SET n.x = 1", None),
            ("EXPLAIN MATCH (n) RETURN n", None),
            ("PROFILE MATCH (n) RETURN n", rows),
            ("CALL db.labels() YIELD label RETURN label", None),
            ("CALL apoc.meta.stats() YIELD labels RETURN labels", None),
            ("CALL gds.pageRank.stream('g') YIELD nodeId RETURN nodeId", rows),
            ("SELECT * FROM t WHERE a MATCH (b)", None),
            ("match my socks and return them", None),
            ("", None),
            ("MATCH", None),
            ("MATCH (", None),
        ];
        for (text, expected) in table {
            assert_eq!(unbounded(text), expected, "{text}");
        }
    }
}
