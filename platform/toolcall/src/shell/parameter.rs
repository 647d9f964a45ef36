//! `${...}` and arithmetic: what they stand for, and the code that may hide in them.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::field::VariableValue;
use super::interpreter::{CommandContext, Interpreter};
use super::lexer::Quoting;
use super::source::ShellSource;
use super::state::ShellState;

impl Interpreter {
    /// The value of the `${...}` that begins at `start`.
    pub(super) fn parameter(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        start: usize,
        state: &ShellState,
        context: &CommandContext,
    ) -> VariableValue {
        if node.has_error() {
            self.recorder.unknown(UnknownReason::Syntax, "${");
        }
        self.nested(source, node, state, context);
        let text = source.range(start + 2, node.end_byte().saturating_sub(1));
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let length = text.find(|c| !is_name(c)).unwrap_or(text.len());
        let (name, operator) = text.split_at(length);
        if name.is_empty() {
            return self.special_parameter(text, state);
        }
        if operator.starts_with('[') {
            self.arithmetic_names(operator, state);
            return VariableValue::Unknown;
        }
        let value = match name.parse::<u8>() {
            Ok(digit @ 1..=9) => state.special(char::from(b'0' + digit), Quoting::Bare),
            Ok(_) => VariableValue::Unknown,
            Err(_) => state.variable(name),
        };
        self.apply_operator(operator, value)
    }

    fn special_parameter(&mut self, text: &str, state: &ShellState) -> VariableValue {
        match text {
            "@" | "*" => state.special('@', Quoting::Quoted),
            _ => VariableValue::Unknown,
        }
    }

    fn apply_operator(&mut self, operator: &str, value: VariableValue) -> VariableValue {
        let filled = matches!(&value, VariableValue::Known(text) if !text.is_empty());
        let empty = matches!(&value, VariableValue::Known(text) if text.is_empty());
        if operator.is_empty() {
            return value;
        }
        if operator.starts_with('@') {
            self.recorder.code(UnknownReason::UnresolvedCode, "${@}");
            return VariableValue::Unknown;
        }
        let assigns = operator.starts_with(":=") || operator.starts_with('=');
        if assigns && empty {
            self.recorder.unknown(UnknownReason::Syntax, "${:=}");
        }
        let keeps = [":-", ":=", ":?", "-", "=", "?"].iter().any(|known| operator.starts_with(known));
        if keeps && filled { value } else { VariableValue::Unknown }
    }

    /// Arithmetic runs the commands inside it, and evaluates what its variables hold.
    pub(super) fn arithmetic(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: &ShellState,
        context: &CommandContext,
    ) {
        if node.has_error() {
            self.recorder.unknown(UnknownReason::Syntax, "((");
        }
        self.nested(source, node, state, context);
        self.arithmetic_names(source.slice(node), state);
    }

    /// A variable that holds anything but a number can make arithmetic run code.
    pub(super) fn arithmetic_names(&mut self, text: &str, state: &ShellState) {
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let assigns = text.contains("++") || text.contains("--") || has_assignment(text);
        for name in text.split(|c| !is_name(c)).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit())) {
            if let VariableValue::Known(held) = state.variable(name) {
                let number = held.trim().trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
                if !number {
                    self.recorder.code(UnknownReason::UnresolvedCode, name);
                } else if assigns {
                    self.recorder.unknown(UnknownReason::Syntax, name);
                }
            }
        }
        if text.contains('\'') {
            self.recorder.unknown(UnknownReason::Syntax, "((");
        }
    }
}

fn has_assignment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(index, byte)| {
        let before = index.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let after = bytes.get(index + 1).copied();
        let compares = after == Some(b'=')
            || matches!(before, Some(b'=' | b'!'))
            || (matches!(before, Some(b'<' | b'>')) && !text.contains("<<=") && !text.contains(">>="));
        *byte == b'=' && !compares
    })
}
