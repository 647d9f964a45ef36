//! Statements: sequences, conditions, loops, functions.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Concurrency, Interpreter, Lifetime};
use super::joined::JoinedStatement;
use super::limits::{MAX_LOOP_PASSES, MAX_LOOP_WORDS};
use super::output;
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellState, WorkingDirectories};
use super::tree;
use super::unbounded::UnboundedKind;

impl Interpreter {
    /// Runs statements one after the other.
    pub(super) fn statements(
        &mut self,
        source: &ShellSource<'_>,
        nodes: &[Node<'_>],
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let mut outcome = CommandOutcome::same(state);
        // What all of them print together, as long as each tells it.
        let mut printed: Option<Option<String>> = None;
        for (index, node) in nodes.iter().enumerate().filter(|(_, node)| is_statement(**node)) {
            let state = outcome.settle();
            self.output = None;
            let background = nodes.get(index + 1).is_some_and(|next| next.kind() == "&");
            outcome = if background {
                let beside =
                    CommandContext { place: Concurrency::Beside, lifetime: Lifetime::Bounded, ..context.clone() };
                self.statement(source, *node, state.clone(), &beside);
                CommandOutcome::same(state)
            } else {
                self.statement(source, *node, state, context)
            };
            let own = self.output.take();
            if own.is_some() || !prints_nothing(source, *node) {
                printed = Some(match printed {
                    None => own,
                    Some(before) => output::appended(before, own),
                });
            }
        }
        self.output = printed.flatten();
        outcome
    }

    /// Runs one statement of any kind.
    pub(super) fn statement(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        self.part(source, JoinedStatement::of(node), state, context)
    }

    /// Runs a statement that is neither joined to another one nor redirected.
    pub(super) fn single(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        match node.kind() {
            "command" => self.command(source, node, &[], state, context),
            "variable_assignment" | "variable_assignments" => self.assignments(source, node, state, context),
            "declaration_command" => self.declaration(source, node, state, context),
            "unset_command" => self.unset(source, node, state, context),
            "test_command" => self.test(source, node, state, context),
            "redirected_statement" => self.redirected(source, node, &[], state, context),
            "subshell" => {
                self.statements(source, &tree::children(node), state.clone(), context);
                CommandOutcome::same(state)
            }
            "compound_statement" => self.compound(source, node, state, context),
            "if_statement" => self.condition(source, node, state, context),
            "while_statement" => self.while_loop(source, node, state, context),
            "for_statement" => self.for_loop(source, node, state, context),
            "c_style_for_statement" => self.counting_loop(source, node, state, context),
            "case_statement" => self.case(source, node, state, context),
            "function_definition" => self.define(source, node, state),
            "ERROR" => self.statements(source, &tree::children(node), state, context),
            other => {
                self.recorder.unknown(UnknownReason::Syntax, other);
                CommandOutcome::same(state)
            }
        }
    }

    fn compound(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        mut state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        if !source.slice(node).starts_with("((") {
            return self.statements(source, &tree::children(node), state, context);
        }
        self.nested(source, node, &state, context);
        for name in tree::topmost(node, &["variable_name", "word"]) {
            let name = source.slice(name);
            self.arithmetic_names(name, &state);
            state.assign(name, VariableValue::Unknown);
        }
        CommandOutcome::same(state)
    }

    fn condition(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let children = tree::children(node);
        let after_if = children.get(1..).unwrap_or_default();
        let (success, mut pending) = self.branch(source, after_if, state, context);
        let mut joined = success;
        let mut has_else = false;
        for clause in &children {
            let parts = tree::children(*clause);
            let inner = parts.get(1..).unwrap_or_default();
            match clause.kind() {
                "elif_clause" => {
                    let (success, failure) = self.branch(source, inner, pending, context);
                    joined = joined.join(success);
                    pending = failure;
                }
                "else_clause" => {
                    has_else = true;
                    let last = self.statements(source, inner, pending.clone(), context).settle();
                    joined = joined.join(last);
                }
                _ => {}
            }
        }
        CommandOutcome::same(if has_else { joined } else { joined.join(pending) })
    }

    /// A condition up to `then`, and the body behind it: the states when it held and when not.
    fn branch(
        &mut self,
        source: &ShellSource<'_>,
        nodes: &[Node<'_>],
        state: ShellState,
        context: &CommandContext,
    ) -> (ShellState, ShellState) {
        let then = nodes.iter().position(|node| node.kind() == "then").unwrap_or(nodes.len());
        let (condition, body) = nodes.split_at(then);
        let outcome = self.statements(source, condition, state, context);
        let body: Vec<Node<'_>> =
            body.iter().copied().filter(|node| !matches!(node.kind(), "elif_clause" | "else_clause")).collect();
        (self.statements(source, &body, outcome.success, context).settle(), outcome.failure)
    }

    fn while_loop(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let condition = tree::field_children(node, "condition");
        let Some(body) = node.child_by_field_name("body") else {
            self.recorder.unknown(UnknownReason::Syntax, "while");
            return CommandOutcome::same(state);
        };
        let until = source.slice(node).starts_with("until");
        if never_ends(source, &condition, until) {
            self.note_endless_loop(source, body, context);
        }
        let body = tree::children(body);
        if let Some(outcome) = self.reading_loop(source, &condition, &body, &state, context) {
            return outcome;
        }
        let end = self.repeat(state, |this, state| {
            let outcome = this.statements(source, &condition, state, context);
            let entered = if until { outcome.failure } else { outcome.success };
            this.statements(source, &body, entered, context).settle()
        });
        CommandOutcome::same(end)
    }

    fn counting_loop(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        self.nested(source, node, &state, context);
        let Some(body) = node.child_by_field_name("body") else {
            self.recorder.unknown(UnknownReason::Syntax, "for");
            return CommandOutcome::same(state);
        };
        if node.child_by_field_name("condition").is_none() {
            self.note_endless_loop(source, body, context);
        }
        let mut entry = state;
        let header = source.range(node.start_byte(), body.start_byte());
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        self.arithmetic_names(header, &entry);
        for name in header.split(|c| !is_name(c)).filter(|name| !name.is_empty() && *name != "for") {
            entry.assign(name, VariableValue::Unknown);
        }
        let body = tree::children(body);
        let end = self.repeat(entry, |this, state| this.statements(source, &body, state, context).settle());
        CommandOutcome::same(end)
    }

    fn for_loop(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let variable = node.child_by_field_name("variable").map(|name| source.slice(name));
        let (Some(variable), Some(body)) = (variable, node.child_by_field_name("body")) else {
            self.recorder.unknown(UnknownReason::Syntax, "for");
            return CommandOutcome::same(state);
        };
        let mut words: Vec<ShellField> = Vec::new();
        let ranges = tree::field_children(node, "value");
        for value in &ranges {
            words.extend(self.word(source, *value, (value.start_byte(), value.end_byte()), &state, context));
        }
        // Without a list it goes through the arguments.
        let arguments = if ranges.is_empty() { state.positional.clone() } else { None };
        words.extend(arguments.iter().flat_map(|words| words.iter().cloned()));
        let body = tree::children(body);
        if words.len() > MAX_LOOP_WORDS {
            self.recorder.unknown(UnknownReason::TooMuchWork, "for");
        }
        let countable = (!ranges.is_empty() || arguments.is_some())
            && words.len() <= MAX_LOOP_WORDS
            && words.iter().all(|word| word.exact)
            && !source.slice(node).starts_with("select");
        if !countable {
            let end = self.repeat(state, |this, mut state| {
                state.assign(variable, VariableValue::Unknown);
                this.statements(source, &body, state, context).settle()
            });
            return CommandOutcome::same(end);
        }
        // Without a way out of it, each pass begins where the one before it ended.
        let leaves = ["break", "continue", "exit", "return"].iter().any(|way| source.slice(node).contains(way));
        let mut joined = state.clone();
        let mut current = state;
        for word in &words {
            current.assign(variable, VariableValue::of(word));
            current = self.statements(source, &body, current, context).settle();
            joined = if leaves { joined.join(current.clone()) } else { current.clone() };
        }
        CommandOutcome::same(joined)
    }

    fn case(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        if let Some(value) = node.child_by_field_name("value") {
            self.word(source, value, (value.start_byte(), value.end_byte()), &state, context);
        }
        let mut joined = state.clone();
        for item in tree::children(node).into_iter().filter(|child| child.kind() == "case_item") {
            for pattern in tree::field_children(item, "value") {
                self.nested(source, pattern, &state, context);
            }
            let children = tree::children(item);
            let body = children.iter().position(|child| child.kind() == ")").map_or(0, |at| at + 1);
            let statements = children.get(body..).unwrap_or_default();
            // An item that falls through starts from where the one before it ended.
            joined = joined.clone().join(self.statements(source, statements, joined, context).settle());
        }
        CommandOutcome::same(joined)
    }

    fn define(&mut self, source: &ShellSource<'_>, node: Node<'_>, mut state: ShellState) -> CommandOutcome {
        let name = node.child_by_field_name("name").map(|name| source.slice(name));
        let body = node.child_by_field_name("body");
        match (name, body) {
            (Some(name), Some(body)) => {
                state.define(name, source.range(body.start_byte(), node.end_byte()));
            }
            _ => self.recorder.unknown(UnknownReason::Syntax, "function"),
        }
        CommandOutcome::same(state)
    }

    /// Runs a body until another pass changes nothing, within the limit.
    fn repeat(&mut self, entry: ShellState, mut pass: impl FnMut(&mut Self, ShellState) -> ShellState) -> ShellState {
        let mut current = entry;
        for _ in 0..MAX_LOOP_PASSES {
            let end = pass(self, current.clone());
            let joined = current.clone().join(end);
            if joined == current {
                return current;
            }
            current = joined;
        }
        current.forget_variables();
        current.directories = WorkingDirectories::Unknown;
        let end = pass(self, current.clone());
        current.join(end)
    }

    fn note_endless_loop(&mut self, source: &ShellSource<'_>, body: Node<'_>, context: &CommandContext) {
        let leaves = tree::topmost(body, &["command_name"]).iter().any(|name| match source.slice(*name) {
            "break" | "exit" | "return" | "exec" => true,
            // `continue 2` goes on with the loop around this one.
            "continue" => name.parent().is_some_and(|command| {
                source.slice(command).split_whitespace().nth(1).is_some_and(|loops| loops != "1")
            }),
            _ => false,
        });
        if !leaves && context.lifetime == Lifetime::Open {
            self.recorder.unbounded(UnboundedKind::Endless, "loop");
        }
    }
}

/// Whether a statement is known to print nothing.
pub(super) fn prints_nothing(source: &ShellSource<'_>, node: Node<'_>) -> bool {
    match node.kind() {
        "variable_assignment" | "variable_assignments" | "declaration_command" | "function_definition" => true,
        "command" => {
            let mut words = source.slice(node).split_whitespace();
            match words.next() {
                Some("cd") => words.next() != Some("-"),
                Some("set" | "shopt" | ":" | "true") => words.next().is_some(),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a node is something to run, as opposed to a separator or a keyword.
pub(super) fn is_statement(node: Node<'_>) -> bool {
    node.is_named() && node.kind() != "comment"
}

fn never_ends(source: &ShellSource<'_>, condition: &[Node<'_>], until: bool) -> bool {
    let mut statements = condition.iter().filter(|node| is_statement(**node));
    let (Some(only), None) = (statements.next(), statements.next()) else {
        return false;
    };
    let text = source.slice(*only);
    let holds = matches!(text, "true" | ":" | "[ 1 ]" | "[[ 1 ]]" | "((1))" | "(( 1 ))" | "[ true ]" | "sleep 1");
    if until { text == "false" } else { holds || text.starts_with("sleep ") }
}
