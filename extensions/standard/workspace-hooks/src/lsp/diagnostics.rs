//! What is wrong with the hooks, beside the text that is wrong.
//!
//! Pure.

use super::hook_lines::HookLine;
use super::wire::{DiagnosticWire, RangeWire};
use crate::contract::Problem;

const SOURCE: &str = "dispatch";
/// The severity `Error` of the protocol.
const ERROR: u8 = 1;
/// The severity `Information`.
const INFORMATION: u8 = 3;

/// The problem as an editor shows it, in the text of its file.
pub(super) fn diagnostic(problem: &Problem, text: &str) -> DiagnosticWire {
    let row = problem.line.saturating_sub(1);
    let line = text.lines().nth(row as usize).unwrap_or_default();
    let start = utf16_column(line, problem.column.saturating_sub(1));
    let end = start + width(line, problem.column.saturating_sub(1));
    let message = match &problem.hint {
        Some(hint) => format!("{}\n{hint}", problem.message),
        None => problem.message.clone(),
    };
    DiagnosticWire {
        range: RangeWire::on_line(row, start, end),
        severity: ERROR,
        code: problem.rule.clone(),
        source: SOURCE,
        message,
    }
}

/// A remark about a hook, where its name stands.
pub(super) fn remark(line: &HookLine, code: &str, message: &str) -> DiagnosticWire {
    DiagnosticWire {
        range: RangeWire::on_line(line.line, line.start, line.end),
        severity: INFORMATION,
        code: code.to_owned(),
        source: SOURCE,
        message: message.to_owned(),
    }
}

/// A column in characters as editors count it, in UTF-16 units.
fn utf16_column(line: &str, characters: u32) -> u32 {
    let units = line.chars().take(characters as usize).map(char::len_utf16).sum::<usize>();
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// How far the value reaches that begins here.
fn width(line: &str, characters: u32) -> u32 {
    let rest: String = line.chars().skip(characters as usize).collect();
    let end = match rest.strip_prefix('"') {
        Some(inside) => inside.find('"').map(|at| at + 2),
        None => rest.find([',', '}', ']', ' ']).filter(|at| *at > 0),
    };
    let value = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    u32::try_from(value.encode_utf16().count()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: u32, column: u32) -> Problem {
        Problem {
            file: "hooks.json".to_owned(),
            line,
            column,
            pointer: "/hooks/0/id".to_owned(),
            rule: "duplicate-id".to_owned(),
            message: "two hooks are called `a`".to_owned(),
            hint: Some("give one another name".to_owned()),
        }
    }

    #[test]
    fn a_problem_is_shown_where_it_is() {
        let text = "{\n  \"😀\": \"äö\", \"timeoutMs\": 12,\n}";
        for (line, column, expected) in
            [(2, 8, (1, 8, 12)), (2, 27, (1, 27, 29)), (1, 1, (0, 0, 1)), (9, 9, (8, 0, 1)), (0, 0, (0, 0, 1))]
        {
            let found = diagnostic(&problem(line, column), text);
            let range = (found.range.start.line, found.range.start.character, found.range.end.character);
            assert_eq!(range, expected, "{line}:{column}");
        }
        let found = diagnostic(&problem(1, 1), text);
        assert_eq!(found.message, "two hooks are called `a`\ngive one another name");
        assert_eq!(found.code, "duplicate-id");
        let told = serde_json::to_value(&found).unwrap();
        assert_eq!(
            told["range"],
            serde_json::json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}})
        );
        assert_eq!((&told["severity"], &told["source"]), (&1.into(), &"dispatch".into()));
    }
}
