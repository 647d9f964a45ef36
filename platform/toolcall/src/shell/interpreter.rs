//! Runs a command in the abstract: walks its tree with a state and records what would happen.
//!
//! Pure.

use std::rc::Rc;

use tree_sitter::Node;

use super::effects::{ShellEffects, UnknownReason};
use super::expansion;
use super::field::{ShellField, VariableValue};
use super::lexer::{Lexer, Token};
use super::limits::{MAX_COMMAND_BYTES, MAX_DEPTH, MAX_PARSED_BYTES, MAX_PARSED_TEXTS};
use super::program_rows::ProgramRows;
use super::recorder::Recorder;
use super::source::{ParseFailure, ShellSource, TreeDefect, defect_within, parse};
use super::state::{CommandOutcome, ShellState};
use super::tree;
use super::written::WrittenFiles;

/// What a command finds on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stdin {
    /// Whatever the shell itself was given.
    Inherited,
    /// This text.
    Text(String),
    /// The output of another program, or a file.
    Computed,
}

/// Whether something stops a program that would not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    Open,
    Bounded,
}

/// Whether a command runs beside others (in a pipe or in the background).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concurrency {
    Foreground,
    Beside,
}

/// How a command is run, apart from the state of its shell.
#[derive(Debug, Clone)]
pub(super) struct CommandContext {
    pub(super) stdin: Stdin,
    pub(super) lifetime: Lifetime,
    pub(super) place: Concurrency,
    pub(super) wrapped_by: Vec<String>,
    /// The functions that are being called, outermost first.
    pub(super) calls: Vec<String>,
    pub(super) depth: u32,
}

impl CommandContext {
    fn new() -> Self {
        Self {
            stdin: Stdin::Inherited,
            lifetime: Lifetime::Open,
            place: Concurrency::Foreground,
            wrapped_by: Vec::new(),
            calls: Vec::new(),
            depth: 0,
        }
    }

    /// The same one level deeper; `None` at the limit.
    pub(super) fn deeper(&self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then(|| Self { depth: self.depth + 1, ..self.clone() })
    }

    pub(super) fn with_stdin(&self, stdin: Stdin) -> Self {
        Self { stdin, ..self.clone() }
    }

    pub(super) fn wrapped(&self, program: &str) -> Self {
        let mut inner = self.clone();
        inner.wrapped_by.push(program.to_owned());
        inner
    }
}

/// The state of one analysis.
pub(super) struct Interpreter {
    pub(super) recorder: Recorder,
    /// What the command run last would print, where that is plain.
    pub(super) output: Option<String>,
    /// What decoders printed: a text that is run although nobody can read it.
    pub(super) decoded: Vec<String>,
    /// What the same command wrote to files: their text, if it is known.
    pub(super) written: WrittenFiles,
    /// Files that a shell which is started runs first (`BASH_ENV`).
    pub(super) started_files: Vec<String>,
    /// What the tables say of the programs that were met.
    pub(super) program_rows: Vec<Rc<ProgramRows>>,
    home: Option<String>,
    texts: u32,
    bytes: usize,
}

impl Interpreter {
    pub(super) fn new(home: Option<&str>) -> Self {
        Self {
            recorder: Recorder::default(),
            output: None,
            decoded: Vec::new(),
            written: WrittenFiles::default(),
            started_files: Vec::new(),
            program_rows: Vec::new(),
            home: home.map(str::to_owned),
            texts: 0,
            bytes: 0,
        }
    }

    pub(super) fn run(mut self, command: &str, cwd: &str) -> ShellEffects {
        if command.len() > MAX_COMMAND_BYTES {
            self.recorder.code(UnknownReason::TooLong, "");
            return self.recorder.effects;
        }
        let state = ShellState::new(cwd, self.home.as_deref());
        self.script(command, state, &CommandContext::new());
        self.note_written_code();
        self.recorder.effects
    }

    /// The same for PowerShell and `cmd`.
    pub(super) fn run_windows(mut self, command: &str, cwd: &str) -> ShellEffects {
        if command.len() > MAX_COMMAND_BYTES {
            self.recorder.code(UnknownReason::TooLong, "");
            return self.recorder.effects;
        }
        let state = ShellState::new(cwd, self.home.as_deref());
        super::windows::judge(&mut self, command, &state, &CommandContext::new());
        self.recorder.effects
    }

    /// Runs a text in the given state: the command itself, `sh -c`, `eval`, a function's body.
    pub(super) fn script(&mut self, text: &str, state: ShellState, context: &CommandContext) -> CommandOutcome {
        self.output = None;
        let Some(inner) = context.deeper() else {
            self.recorder.code(UnknownReason::TooDeep, "");
            return CommandOutcome::same(state);
        };
        self.note_decoded_code(text);
        let text = &*super::extended_pattern::widened(text);
        self.texts += 1;
        self.bytes = self.bytes.saturating_add(text.len());
        if self.texts > MAX_PARSED_TEXTS || self.bytes > MAX_PARSED_BYTES {
            self.recorder.code(UnknownReason::TooMuchWork, "");
            return CommandOutcome::same(state);
        }
        let parsed = match parse(text) {
            Ok((parsed, None)) => parsed,
            Ok((parsed, Some(TreeDefect::Syntax | TreeDefect::WrongDocuments))) => {
                self.recorder.unknown(UnknownReason::Syntax, "");
                parsed
            }
            Ok((_, Some(TreeDefect::TooMuchWork))) | Err(ParseFailure::TooMuchWork) => {
                self.recorder.code(UnknownReason::TooMuchWork, "");
                return CommandOutcome::same(state);
            }
            Err(ParseFailure::NoGrammar | ParseFailure::Nul) => {
                self.recorder.code(UnknownReason::Syntax, "");
                return CommandOutcome::same(state);
            }
        };
        let statements = tree::children(parsed.root_node());
        let source = ShellSource { text };
        let outcome = self.statements(&source, &statements, state, &inner);
        if !tells_output(&statements, &source) {
            self.output = None;
        }
        outcome
    }

    fn note_decoded_code(&mut self, text: &str) {
        let trimmed = text.trim();
        let is_decoded =
            |decoded: &String| decoded == trimmed || (decoded.len() > 3 && trimmed.contains(decoded.as_str()));
        if self.decoded.iter().any(is_decoded) {
            self.recorder.code(UnknownReason::DecodedCode, "");
        }
    }

    /// Runs `$(...)` where it stands in a tree, which begins at `start`; nothing if it does not close.
    pub(super) fn substitute_node(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        start: usize,
        state: &ShellState,
        context: &CommandContext,
    ) -> Option<VariableValue> {
        let end = node.end_byte();
        let text = source.range(start + 2, end.checked_sub(1)?);
        let statements = tree::children(node);
        let familiar = statements.iter().all(|node| !super::flow::is_statement(*node) || is_plain_statement(*node));
        // Here-documents are hidden from the parser by the text that they stand in.
        let readable = familiar && !text.contains("<<") && defect_within(node, source.text, start..end).is_none();
        let Some(inner) = context.deeper().filter(|_| readable) else {
            return Some(self.substitute(text, state, context));
        };
        let saved = self.output.take();
        self.note_decoded_code(text);
        self.statements(source, &statements, state.clone(), &inner);
        let printed = self.output.take().filter(|_| tells_output(&statements, source));
        self.output = saved;
        Some(substituted(printed))
    }

    /// Runs something that may not run at all: only its program calls and what has no bound are kept.
    pub(super) fn speculate(&mut self, run: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.recorder.effects);
        run(self);
        let found = std::mem::replace(&mut self.recorder.effects, before);
        for command in found.commands {
            self.recorder.command(command);
        }
        for fact in found.unbounded {
            self.recorder.unbounded(fact.what, &fact.target);
        }
        for text in found.possible_code {
            self.recorder.possible_code(&text);
        }
    }

    /// Runs `$(...)` in a subshell and says what it prints, where that is plain.
    pub(super) fn substitute(&mut self, text: &str, state: &ShellState, context: &CommandContext) -> VariableValue {
        let saved = self.output.take();
        self.script(text, state.clone(), context);
        let printed = self.output.take();
        self.output = saved;
        substituted(printed)
    }

    /// The arguments that the text from `start` to `end` becomes.
    pub(super) fn word(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        range: (usize, usize),
        state: &ShellState,
        context: &CommandContext,
    ) -> Vec<ShellField> {
        let raw = source.range(range.0, range.1);
        match self.word_tokens(source, node, range, state, context) {
            Some(tokens) => expansion::fields(tokens, raw, state),
            None => vec![ShellField::unknown(raw)],
        }
    }

    /// The value of an assignment's right side.
    pub(super) fn assigned_value(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: &ShellState,
        context: &CommandContext,
    ) -> VariableValue {
        let range = (node.start_byte(), node.end_byte());
        match self.word_tokens(source, node, range, state, context) {
            Some(tokens) => expansion::assigned(&tokens, source.slice(node), state),
            None => VariableValue::Unknown,
        }
    }

    fn word_tokens(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        range: (usize, usize),
        state: &ShellState,
        context: &CommandContext,
    ) -> Option<Vec<Token>> {
        let lexer = Lexer { source, node, end: range.1, state, context };
        let tokens = lexer.tokens(self, range.0);
        if tokens.is_none() {
            self.recorder.unknown(UnknownReason::Syntax, "word");
        }
        tokens
    }

    /// Runs every command inside a node that itself is not a command.
    pub(super) fn nested(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: &ShellState,
        context: &CommandContext,
    ) {
        for inner in tree::topmost(node, &["command_substitution", "process_substitution"]) {
            let text = source.slice(inner).trim_start();
            let body = match text.strip_prefix('`') {
                Some(rest) => super::lexer::unescape_backticks(rest.strip_suffix('`').unwrap_or(rest)),
                None => text.get(2..text.len().saturating_sub(1)).unwrap_or_default().to_owned(),
            };
            self.substitute(&body, state, context);
        }
    }
}

/// What a substitution that prints this stands for.
fn substituted(printed: Option<String>) -> VariableValue {
    match printed {
        Some(text) => VariableValue::Known(text.trim_end_matches('\n').to_owned()),
        None => VariableValue::Unknown,
    }
}

/// Whether these statements are one whose output is that of all; what stands before it prints nothing.
fn tells_output(nodes: &[Node<'_>], source: &ShellSource<'_>) -> bool {
    let mut run = nodes.iter().filter(|node| super::flow::is_statement(**node));
    let plain = |only: &Node<'_>| {
        matches!(only.kind(), "command" | "pipeline" | "redirected_statement" | "list" | "test_command")
    };
    run.all(|node| plain(node) || super::flow::prints_nothing(source, *node))
}

/// Whether a statement is read the same way inside a substitution as on its own.
fn is_plain_statement(node: Node<'_>) -> bool {
    matches!(node.kind(), "command" | "pipeline" | "list" | "redirected_statement" | "variable_assignment")
}
