//! The one place that knows oxc: TypeScript to JavaScript, and positions in the result back to the original.

use crate::error::{ErrorKind, ScriptError};
use crate::limits::MAX_TYPESCRIPT_NESTING;
use crate::source::position;

#[cfg(feature = "typescript")]
mod oxc;

/// Compiles the types away.
#[cfg(feature = "typescript")]
pub(crate) fn strip(name: &str, text: &str) -> Result<String, ScriptError> {
    check_nesting(name, text)?;
    oxc::on_deep_stack(|| oxc::transform(name, text, oxc::SourceMapping::Skip).map(|output| output.code))
}

/// Positions of stripped code in the original source.
pub(crate) struct PositionMap {
    code: String,
    /// Generated line and column, original line and column, from zero and in generated order.
    tokens: Vec<[u32; 4]>,
}

impl PositionMap {
    /// Compiles once more, this time with positions: only a shown error pays for them.
    #[cfg(feature = "typescript")]
    pub(crate) fn of(name: &str, text: &str) -> Option<Self> {
        let output = oxc::on_deep_stack(|| oxc::transform(name, text, oxc::SourceMapping::Keep)).ok()?;
        Some(Self { code: output.code, tokens: output.tokens })
    }

    #[cfg(not(feature = "typescript"))]
    pub(crate) fn of(_name: &str, _text: &str) -> Option<Self> {
        None
    }

    /// The stripped code.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The original of a line and column, all counted from one.
    pub(crate) fn original(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.tokens.partition_point(|&[line, column, ..]| (line, column) <= wanted);
        let [_, _, line, column] = *self.tokens.get(after.checked_sub(1)?)?;
        Some((line + 1, column + 1))
    }
}

/// A binary without oxc still runs TypeScript that another binary stripped into a shared cache.
#[cfg(not(feature = "typescript"))]
pub(crate) fn strip(name: &str, text: &str) -> Result<String, ScriptError> {
    check_nesting(name, text)?;
    Err(ScriptError::new(
        ErrorKind::TypeScript,
        format!("{name} is TypeScript and is not in the cache of stripped sources"),
    )
    .with_hint("write it in JavaScript, or let the full program compile it once"))
}

/// Refuses sources whose brackets nest so deep that a recursive parser would exhaust the native stack.
///
/// Brackets in strings and comments count too; real code stays far below the limit either way.
fn check_nesting(name: &str, text: &str) -> Result<(), ScriptError> {
    let mut depth = 0_usize;
    let mut prefix_run = 0_usize;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        prefix_run = match byte {
            b'!' | b'~' | b'+' | b'-' => prefix_run + 1,
            b' ' | b'\t' | b'\r' | b'\n' => prefix_run,
            _ => 0,
        };
        if depth.max(prefix_run) > MAX_TYPESCRIPT_NESTING {
            let (line, column) = position(text, offset);
            return Err(ScriptError::new(
                ErrorKind::Limit,
                format!("nested deeper than {MAX_TYPESCRIPT_NESTING} levels"),
            )
            .at(name, line, column));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_maps_to_the_last_token_at_or_before_it() {
        let map = |tokens| PositionMap { code: String::new(), tokens };
        let full = map(vec![[0, 0, 4, 2], [0, 8, 4, 20], [2, 0, 9, 0]]);
        let table = [
            ((1, 1), Some((5, 3))),
            ((1, 8), Some((5, 3))),
            ((1, 9), Some((5, 21))),
            ((2, 5), Some((5, 21))),
            ((3, 1), Some((10, 1))),
        ];
        for ((line, column), expected) in table {
            assert_eq!(full.original(line, column), expected, "{line}:{column}");
        }
        assert_eq!(map(Vec::new()).original(1, 1), None);
    }

    #[cfg(not(feature = "typescript"))]
    #[test]
    fn without_the_compiler_typescript_is_refused_with_a_hint() {
        let error = strip("a.ts", "let a: number;").unwrap_err();
        assert_eq!(error.kind, ErrorKind::TypeScript);
        assert!(error.hint.is_some());
    }

    #[test]
    fn nesting_is_bounded() {
        for opener in ["(", "[", "{", "!", "- "] {
            let text = opener.repeat(MAX_TYPESCRIPT_NESTING + 1);
            let error = check_nesting("a.ts", &text).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Limit, "{opener}");
        }
        assert!(check_nesting("a.ts", &"(){}[]!a;".repeat(5_000)).is_ok());
    }
}
