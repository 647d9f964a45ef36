//! `read` and `mapfile` where the input is known, alone and as the condition of a loop.
//!
//! Pure.

use tree_sitter::Node;

use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter, Stdin};
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellState};

/// Lines of a known input that a loop is tried with.
const MAX_LINES: usize = 64;
/// Options of `read` with a value.
const VALUES: &[&str] = &["-d", "-n", "-N", "-p", "-t", "-u", "-i"];
/// Options of `mapfile` with a value.
const LIST_VALUES: &[&str] = &["-d", "-n", "-O", "-s", "-u", "-C", "-c"];

impl Interpreter {
    /// Gives the variables of a `read` the words of a line; `false` if the words of the call are computed.
    pub(super) fn read_line(&mut self, arguments: &[ShellField], line: &str, state: &mut ShellState) -> bool {
        let mut names = Vec::new();
        let mut words = arguments.iter();
        let mut array = false;
        let whole = arguments.first().is_some_and(|word| word.text == "-t");
        while let Some(word) = words.next() {
            let Some(text) = word.known() else {
                return false;
            };
            if VALUES.contains(&text) && !whole {
                words.next();
            } else if text.starts_with('-') {
                array |= text.contains('a');
            } else {
                names.push(text.to_owned());
            }
        }
        let names = if names.is_empty() { vec!["REPLY".to_owned()] } else { names };
        let VariableValue::Known(separators) = state.variable("IFS") else {
            return false;
        };
        let separates = |c: char| separators.contains(c);
        if array {
            let words = line.split(separates).filter(|word| !word.is_empty());
            self.set_variable(&names[0], VariableValue::List(words.map(ShellField::literal).collect()), state);
            return true;
        }
        let mut rest = line.trim_matches(separates);
        for (index, name) in names.iter().enumerate() {
            let (word, after) = match rest.split_once(separates) {
                Some((word, after)) if index + 1 < names.len() => (word, after.trim_start_matches(separates)),
                _ => (rest, ""),
            };
            self.set_variable(name, VariableValue::Known(word.to_owned()), state);
            rest = after;
        }
        true
    }

    /// Gives the variable of a `mapfile` the lines of a text; `false` if the words of the call are computed.
    pub(super) fn map_lines(&mut self, arguments: &[ShellField], text: &str, state: &mut ShellState) -> bool {
        let mut name = "MAPFILE";
        let mut end = '\n';
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.known() {
                Some(option) if LIST_VALUES.contains(&option) => {
                    let value = words.next().and_then(ShellField::known);
                    if option == "-d" {
                        end = value.and_then(|value| value.chars().next()).unwrap_or('\0');
                    }
                }
                Some(option) if option.starts_with('-') => {}
                Some(text) => name = text,
                None => return false,
            }
        }
        let name = name.to_owned();
        let lines = text.trim_end_matches(['\n', end]).split(end).take(MAX_LINES);
        self.set_variable(&name, VariableValue::List(lines.map(ShellField::literal).collect()), state);
        true
    }

    /// `while read x; do ...; done` with a known input: one pass per line.
    pub(super) fn reading_loop(
        &mut self,
        source: &ShellSource<'_>,
        condition: &[Node<'_>],
        body: &[Node<'_>],
        state: &ShellState,
        context: &CommandContext,
    ) -> Option<CommandOutcome> {
        let Stdin::Text(text) = &context.stdin else {
            return None;
        };
        let mut statements = condition.iter().filter(|node| super::flow::is_statement(**node));
        let (only, None) = (statements.next()?, statements.next()) else {
            return None;
        };
        let words = super::words::split(source.slice(*only).trim_end_matches(';'));
        let at = words.iter().position(|word| word == "read")?;
        if !words.get(..at)?.iter().all(|word| word.contains('=')) {
            return None;
        }
        let arguments: Vec<ShellField> = words.get(at + 1..)?.iter().map(|word| ShellField::literal(word)).collect();
        let mut current = state.clone();
        for line in text.lines().take(MAX_LINES).map(str::to_owned).collect::<Vec<_>>() {
            if !self.read_line(&arguments, &line, &mut current) {
                return None;
            }
            current = self.statements(source, body, current, context).settle();
        }
        Some(CommandOutcome::same(state.clone().join(current)))
    }
}
