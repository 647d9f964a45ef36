//! `export`, `declare`, `local`, `readonly`, `typeset` and `unset`.
//!
//! Pure.

use tree_sitter::Node;

use super::builtins::{forget, is_plain_name};
use super::effects::UnknownReason;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter};
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellState};
use super::tree;

impl Interpreter {
    pub(super) fn declaration(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        mut state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let refers = tree::children(node).iter().any(|child| child.kind() == "word" && source.slice(*child) == "-n");
        for child in tree::children(node).into_iter().skip(1) {
            if refers {
                // Whatever is no plain `name=target` may be any variable.
                match source.slice(child).split_once('=') {
                    Some((name, target)) if is_plain_name(target) => state.refer(name, target),
                    _ if source.slice(child) == "-n" => {}
                    _ => state.forget_variables(),
                }
            } else if child.kind() == "variable_assignment" {
                self.assignment(source, child, &mut state, context);
            } else if child.is_named() && child.kind() != "comment" {
                let range = (child.start_byte(), child.end_byte());
                let fields = self.word(source, child, range, &state, context);
                self.declare_words(&fields, &mut state);
            }
        }
        // Arithmetic variables evaluate what is assigned to them.
        let text = source.slice(node);
        if text.contains("-i") && (text.contains("$(") || text.contains('[')) {
            self.recorder.code(UnknownReason::UnresolvedCode, "declare -i");
            self.keep_possible_code(text);
        }
        CommandOutcome::same(state)
    }

    pub(super) fn unset(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        mut state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        for child in tree::children(node).into_iter().skip(1) {
            let range = (child.start_byte(), child.end_byte());
            for field in self.word(source, child, range, &state, context) {
                if let Some(name) = field.known() {
                    state.undefine(name);
                }
                if !field.text.starts_with('-') {
                    forget(self, Some(&field), &mut state);
                }
            }
        }
        CommandOutcome::same(state)
    }

    /// Words of a declaration: options, names, and assignments that stand in quotes.
    pub(super) fn declare_words(&mut self, words: &[ShellField], state: &mut ShellState) {
        for field in words {
            if !field.exact {
                self.recorder.code(UnknownReason::Environment, &field.raw);
                state.forget_variables();
                continue;
            }
            match field.text.split_once('=') {
                Some((name, value)) => {
                    let name = name.trim_end_matches('+');
                    self.set_variable(name, VariableValue::Known(value.to_owned()), state);
                }
                None if field.text.starts_with('-') && field.text.contains('n') => state.forget_variables(),
                None => {}
            }
        }
    }
}
