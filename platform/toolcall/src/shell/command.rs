//! Simple commands: assignments, words, and finding what the first word runs.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::{SimpleCommand, UnknownReason};
use super::environment;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Concurrency, Interpreter};
use super::programs;
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellFunction, ShellState, element_key, element_name};
use super::unbounded::UnboundedKind;
use super::{builtins, runners, tree, wrappers};

/// A program call with everything it can see.
pub(super) struct Invocation<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: &'a [ShellField],
    pub(super) state: &'a ShellState,
    pub(super) context: &'a CommandContext,
}

/// Whether a name may be a function, or only a builtin or a program (`command x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandLookup {
    Functions,
    Programs,
}

impl Interpreter {
    /// Runs a `command` node; `extra` are words that the grammar put behind a redirection.
    pub(super) fn command(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        extra: &[Node<'_>],
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let mut state = state;
        self.output = None;
        let mut words: Vec<CommandWord<'_>> = Vec::new();
        let mut redirects = Vec::new();
        let mut assignments = Vec::new();
        for child in tree::children(node) {
            match child.kind() {
                "variable_assignment" if words.is_empty() => assignments.push(child),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => redirects.push(child),
                "comment" => {}
                _ => push_word(&mut words, child, node),
            }
        }
        let applied = self.redirects(source, &redirects, &state, context);
        let context = &applied.context;
        for word in applied.words.iter().chain(extra) {
            push_word(&mut words, *word, *word);
        }
        let mut fields = Vec::new();
        for word in words {
            fields.extend(self.word(source, word.node, (word.start, word.end), &state, context));
        }
        let only_assigns = fields.is_empty();
        let mut inner = state.clone();
        for assignment in assignments {
            let target = if only_assigns { &mut state } else { &mut inner };
            self.assignment(source, assignment, target, context);
            if !only_assigns {
                self.note_environment(source, assignment, &inner, &fields, context);
            }
        }
        if only_assigns {
            return CommandOutcome::same(state);
        }
        let outcome = self.invoke_with(&fields, state, inner, context);
        self.keep_output(&applied);
        outcome
    }

    /// Runs the words of a command that may have variables of its own: `IFS=: read x` splits the line that it reads, and
    /// nothing after it.
    #[inline(never)]
    fn invoke_with(
        &mut self,
        fields: &[ShellField],
        state: ShellState,
        own: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let is_read = fields.first().is_some_and(|first| first.text == "read");
        if !is_read || own.splits_as_usual() || !state.splits_as_usual() {
            return self.invoke(fields, state, context, CommandLookup::Functions);
        }
        let mut outcome = self.invoke(fields, own, context, CommandLookup::Functions);
        outcome.success.split_as_usual();
        outcome.failure.split_as_usual();
        outcome
    }

    /// What a program finds in its environment it may run.
    fn note_environment(
        &mut self,
        source: &ShellSource<'_>,
        assignment: Node<'_>,
        state: &ShellState,
        fields: &[ShellField],
        context: &CommandContext,
    ) {
        let name = assignment.child_by_field_name("name").map(|name| source.slice(name)).unwrap_or_default();
        let prints = fields.first().is_some_and(|first| matches!(first.text.as_str(), "echo" | "printf" | "cat"));
        if let (false, VariableValue::Known(value)) = (prints, state.variable(name)) {
            self.keep_possible_code(&value);
            if environment::holds_command(name) && value.contains(' ') {
                let context = CommandContext { lifetime: super::interpreter::Lifetime::Bounded, ..context.clone() };
                self.speculate(|interpreter| {
                    interpreter.script(&value, state.child(), &context);
                });
            }
        }
    }

    pub(super) fn assignments(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        mut state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        if node.kind() == "variable_assignment" {
            self.assignment(source, node, &mut state, context);
        }
        for child in tree::children(node).into_iter().filter(|child| child.kind() == "variable_assignment") {
            self.assignment(source, child, &mut state, context);
        }
        CommandOutcome::same(state)
    }

    /// Applies `name=value`, `name+=value` or `name[i]=value`.
    pub(super) fn assignment(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: &mut ShellState,
        context: &CommandContext,
    ) {
        let Some(target) = node.child_by_field_name("name") else {
            self.recorder.unknown(UnknownReason::Syntax, "=");
            return;
        };
        let name = target.child_by_field_name("name").map_or_else(|| source.slice(target), |name| source.slice(name));
        if target.kind() == "subscript" {
            self.arithmetic(source, target, state, context);
        }
        let mut value = match node.child_by_field_name("value") {
            Some(array) if array.kind() == "array" => {
                let mut fields = Vec::new();
                for element in tree::children(array).into_iter().filter(Node::is_named) {
                    fields.extend(self.word(
                        source,
                        element,
                        (element.start_byte(), element.end_byte()),
                        state,
                        context,
                    ));
                }
                if assign_elements(name, &fields, state) {
                    VariableValue::Unknown
                } else {
                    VariableValue::List(fields.into_iter().map(without_subscript).collect())
                }
            }
            Some(right) => self.assigned_value(source, right, state, context),
            None => VariableValue::Known(String::new()),
        };
        let index = source.slice(target).split_once('[').map(|(_, index)| index.trim_end_matches(']').to_owned());
        let adds = source.range(target.end_byte(), node.end_byte()).starts_with("+=");
        if let Some(key) = index.as_deref().and_then(element_key).filter(|_| !adds) {
            state.assign(&element_name(name, key), value.clone());
        }
        if index.is_some() || adds {
            value = state.joined_value(name, index.as_deref(), adds, value);
        }
        self.set_variable(name, value, state);
    }

    pub(super) fn set_variable(&mut self, name: &str, value: VariableValue, state: &mut ShellState) {
        if environment::changes_programs(name, &value) {
            self.recorder.code(UnknownReason::Environment, name);
            if let VariableValue::Known(text) = &value {
                self.keep_possible_code(text);
                if matches!(name, "BASH_ENV" | "ENV" | "PYTHONSTARTUP") {
                    self.started_files.extend(state.directories.resolve(text).unwrap_or_default());
                }
            }
        }
        state.assign(name, value);
    }

    /// Runs a program, builtin or function by its words.
    pub(super) fn invoke(
        &mut self,
        fields: &[ShellField],
        state: ShellState,
        context: &CommandContext,
        lookup: CommandLookup,
    ) -> CommandOutcome {
        self.output = None;
        let Some((first, arguments)) = fields.split_first() else {
            return CommandOutcome::same(state);
        };
        let (true, Some(context)) = (self.recorder.spend(), &context.deeper()) else {
            self.recorder.code(UnknownReason::TooDeep, "");
            return CommandOutcome::same(state);
        };
        let name = first.known().and_then(programs::trusted_name);
        self.list_command(name.unwrap_or_default(), fields, &state, context);
        let Some(word) = first.known() else {
            return self.run_unresolved(fields, state, context);
        };
        let Some(program) = name else {
            self.run_by_path(word, fields, &state, context);
            return CommandOutcome::same(state);
        };
        if lookup == CommandLookup::Functions
            && let Some(function) = state.function(word).cloned()
        {
            return self.call(word, &function, arguments, state, context);
        }
        if let Some(meaning) = state.alias(word)
            && !context.calls.iter().any(|caller| caller == word)
        {
            self.run_alias(word, &meaning, arguments, &state, context);
        }
        if word == program
            && let Some(run) = builtins::find(program)
        {
            return run(self, arguments, state, context);
        }
        // A search path of this command's own may lead to what the command wrote.
        if state.is_assigned("PATH")
            && let Some(path) = self.written_program(word)
        {
            self.run_by_path(&path, fields, &state, context);
        }
        let invocation = Invocation { program, arguments, state: &state, context };
        self.note_possible_code(&invocation);
        if !wrappers::run(self, &invocation) {
            programs::run(self, &invocation);
        }
        CommandOutcome::same(state)
    }

    /// A program whose name is computed: its words may still tell what it does.
    fn run_unresolved(&mut self, fields: &[ShellField], state: ShellState, context: &CommandContext) -> CommandOutcome {
        let raw = fields.first().map_or("", |first| first.raw.as_str()).to_owned();
        if let Some(pattern) = fields.first().filter(|first| first.exact && first.glob) {
            for name in super::program_pattern::programs(&pattern.text) {
                self.run_by_path(&format!("./{name}"), fields, &state, context);
            }
        }
        let known_name = raw.trim_matches('"').rsplit_once('/').map(|(_, name)| name.to_owned());
        let plain =
            |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        // What no variable of this command is, is most likely empty: `r${x}m`.
        let without = without_variables(&raw);
        let known_name = known_name.or_else(|| Some(without.to_owned()).filter(|name| *name != raw));
        match known_name.filter(plain) {
            Some(name) => self.run_by_path(&format!("./{name}"), fields, &state, context),
            None => self.recorder.code(UnknownReason::UnresolvedProgram, &raw),
        }
        let call = Invocation { program: "", arguments: fields.get(1..).unwrap_or_default(), state: &state, context };
        runners::search(self, fields, &call);
        CommandOutcome::same(state)
    }

    /// A program of unknown origin, by its path: one of the same command, or one that its name tells of.
    fn run_by_path(&mut self, word: &str, fields: &[ShellField], state: &ShellState, context: &CommandContext) {
        let arguments = fields.get(1..).unwrap_or_default();
        let mut inner = state.child();
        inner.positional = Some(std::rc::Rc::new(arguments.to_vec()));
        if self.run_written(&ShellField::literal(word), inner, &context.wrapped(word)) {
            return;
        }
        self.recorder.code(UnknownReason::ProjectCode, word);
        let name = word.rsplit('/').next().unwrap_or(word);
        let installed = word.contains("bin/") || matches!(name, "gradlew" | "mvnw" | "manage.py");
        if name.is_empty() || name.starts_with("dispatch") || builtins::find(name).is_some() {
            return;
        }
        let context = CommandContext {
            lifetime: if installed { context.lifetime } else { super::interpreter::Lifetime::Bounded },
            ..context.clone()
        };
        let call = Invocation { program: name, arguments, state, context: &context };
        self.speculate(|interpreter| {
            let mut named = fields.to_vec();
            if let Some(first) = named.first_mut() {
                *first = ShellField::literal(name);
            }
            interpreter.list_command(name, &named, state, &context);
            interpreter.note_possible_code(&call);
            if !wrappers::run(interpreter, &call) {
                programs::run(interpreter, &call);
            }
        });
    }

    fn run_alias(
        &mut self,
        name: &str,
        meaning: &str,
        arguments: &[ShellField],
        state: &ShellState,
        context: &CommandContext,
    ) {
        let mut inner = context.clone();
        inner.calls.push(name.to_owned());
        let quoted: Vec<String> = arguments
            .iter()
            .map(|field| match field.known() {
                Some(text) => format!("'{}'", text.replace('\'', "'\\''")),
                None => field.raw.clone(),
            })
            .collect();
        self.script(&format!("{meaning} {}", quoted.join(" ")), state.clone(), &inner);
        self.recorder.code(UnknownReason::UnresolvedCode, name);
    }

    fn list_command(&mut self, program: &str, fields: &[ShellField], state: &ShellState, context: &CommandContext) {
        self.recorder.command(SimpleCommand {
            program: program.to_owned(),
            argv: fields.iter().map(|field| field.shown().to_owned()).collect(),
            cwd: state.directories.single().map(str::to_owned),
            wrapped_by: context.wrapped_by.clone(),
            exact: fields.iter().all(|field| field.exact),
        });
    }

    fn call(
        &mut self,
        name: &str,
        function: &ShellFunction,
        arguments: &[ShellField],
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let ShellFunction::Body(body) = function else {
            self.recorder.code(UnknownReason::UnresolvedCode, name);
            return CommandOutcome::same(state);
        };
        if context.calls.iter().any(|caller| caller == name) {
            self.recorder.unknown(UnknownReason::Recursion, name);
            if context.place == Concurrency::Beside {
                self.recorder.unbounded(UnboundedKind::ForkBomb, name);
            }
            return CommandOutcome::same(state);
        }
        let mut inner = context.clone();
        inner.calls.push(name.to_owned());
        inner.place = Concurrency::Foreground;
        let outer = state.positional.clone();
        let mut entry = state;
        entry.positional = Some(std::rc::Rc::new(arguments.to_vec()));
        let mut outcome = self.script(body, entry, &inner);
        for end in [&mut outcome.success, &mut outcome.failure] {
            end.positional.clone_from(&outer);
            end.ended = false;
        }
        outcome
    }

    /// `[ ... ]` and `[[ ... ]]`: only what is substituted inside runs.
    pub(super) fn test(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        self.nested(source, node, &state, context);
        let text = source.slice(node);
        // `[ a > b ]` writes a file, and a quoted `$(` can run where a number is expected.
        let redirects = !text.starts_with("[[") && text.contains(['<', '>']);
        let hides_code = text.contains('\'') && (text.contains("$(") || text.contains('`'));
        // An index is evaluated: `[[ -v $name ]]` runs what stands between the brackets of the name.
        if text.contains("-v") || text.contains("-eq") {
            for name in text.split('$').skip(1) {
                let name = name.trim_start_matches('{').split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next();
                if let Some(VariableValue::Known(held)) = name.map(|name| state.variable(name)) {
                    self.keep_possible_code(&held);
                }
            }
        }
        if redirects || hides_code {
            self.recorder.unknown(UnknownReason::Syntax, "[");
        }
        CommandOutcome::same(state)
    }
}

/// A word without its plain variables; the shell itself where it names that.
fn without_variables(raw: &str) -> String {
    let word = raw.trim_matches('"');
    if matches!(word, "$BASH" | "${BASH}" | "$SHELL" | "${SHELL}" | "$0") {
        return "bash".to_owned();
    }
    let mut parts = word.split("${");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        if !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return raw.to_owned();
        }
        text.push_str(rest);
    }
    text
}

/// A word of a command: where it stands, and the node that its expansions lie in.
struct CommandWord<'t> {
    node: Node<'t>,
    start: usize,
    end: usize,
}

/// Words that touch are one word, however the grammar cut them.
fn push_word<'t>(words: &mut Vec<CommandWord<'t>>, node: Node<'t>, command: Node<'t>) {
    match words.last_mut() {
        Some(last) if last.end == node.start_byte() => {
            last.end = node.end_byte();
            last.node = command;
        }
        _ => words.push(CommandWord { node, start: node.start_byte(), end: node.end_byte() }),
    }
}

/// Keeps the elements of `([key]=word ...)` under names of their own; `false` if the list has no keys.
fn assign_elements(name: &str, fields: &[ShellField], state: &mut ShellState) -> bool {
    let mut has_keys = false;
    for field in fields {
        let element = field.text.strip_prefix('[').and_then(|rest| rest.split_once("]="));
        if let Some((key, word)) = element.and_then(|(key, word)| Some((element_key(key)?, word))) {
            has_keys = true;
            let home = word.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let expanded = home.and_then(|rest| Some(state.home()? + rest)).unwrap_or_else(|| word.to_owned());
            let value = if field.exact { VariableValue::Known(expanded) } else { VariableValue::Unknown };
            state.assign(&element_name(name, key), value);
        }
    }
    has_keys
}

/// `[3]=word` in a list gives its third element; elements are nearly always listed in their order.
fn without_subscript(field: ShellField) -> ShellField {
    let subscript = field.text.strip_prefix('[').and_then(|rest| rest.split_once("]="));
    match subscript.filter(|(index, _)| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())) {
        Some((_, word)) => ShellField { text: word.to_owned(), glob: false, ..field.clone() },
        None => field,
    }
}
