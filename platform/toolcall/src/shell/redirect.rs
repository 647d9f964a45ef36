//! Redirections: what a command reads from and writes to beside its arguments.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::field::ShellField;
use super::flow::is_statement;
use super::heredoc;
use super::interpreter::{CommandContext, Interpreter, Stdin};
use super::joined::JoinedStatement;
use super::recorder::EffectReach;
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellState};
use super::tree;
use crate::access::Access;

/// What a list of redirections leaves behind.
pub(super) struct AppliedRedirects<'t> {
    /// The context with its new standard input.
    pub(super) context: CommandContext,
    /// Words that belong to the command although they stand behind a redirection.
    pub(super) words: Vec<Node<'t>>,
    /// Whether the output goes elsewhere than to the next part of a pipe.
    pub(super) hides_output: bool,
    /// The files that the output goes to, and whether it is added to what they hold.
    outputs: Vec<(String, bool)>,
    /// What follows on the line of a here-document.
    tails: Vec<HeredocLineTail<'t>>,
}

enum HeredocLineTail<'t> {
    Pipe(Node<'t>),
    Then(&'static str, Node<'t>),
}

impl Interpreter {
    /// Runs one statement with these redirections around it.
    pub(super) fn redirected(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        redirects: &[Node<'_>],
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let bare = node.kind() == "redirected_statement";
        if redirects.is_empty() && !bare {
            return self.single(source, node, state, context);
        }
        let mut all = if bare { tree::redirects(node) } else { Vec::new() };
        all.extend(redirects);
        let applied = self.redirects(source, &all, &state, context);
        let mut outcome = match node.kind() {
            "redirected_statement" => self.words_alone(source, &applied, state),
            "command" => self.command(source, node, &applied.words, state, &applied.context),
            _ => {
                if !applied.words.is_empty() {
                    self.recorder.unknown(UnknownReason::Syntax, "redirection");
                }
                self.single(source, node, state, &applied.context)
            }
        };
        self.keep_output(&applied);
        for tail in applied.tails {
            outcome = self.tail(source, tail, outcome, context);
        }
        outcome
    }

    /// `> file word ...`: the grammar takes the words for targets.
    fn words_alone(
        &mut self,
        source: &ShellSource<'_>,
        applied: &AppliedRedirects<'_>,
        state: ShellState,
    ) -> CommandOutcome {
        if let (true, Stdin::Text(text)) = (applied.words.is_empty(), &applied.context.stdin) {
            // `$(< file)` is what the file holds.
            self.output = Some(text.clone());
            return CommandOutcome::same(state);
        }
        let mut fields = Vec::new();
        for word in &applied.words {
            let range = (word.start_byte(), word.end_byte());
            fields.extend(self.word(source, *word, range, &state, &applied.context));
        }
        self.invoke(&fields, state, &applied.context, super::command::CommandLookup::Functions)
    }

    fn tail(
        &mut self,
        source: &ShellSource<'_>,
        tail: HeredocLineTail<'_>,
        outcome: CommandOutcome,
        context: &CommandContext,
    ) -> CommandOutcome {
        match tail {
            HeredocLineTail::Pipe(pipe) => {
                let stdin = self.output.take().map_or(Stdin::Computed, Stdin::Text);
                let inner = context.with_stdin(stdin);
                let parts =
                    tree::children(pipe).into_iter().filter(|node| is_statement(*node)).map(JoinedStatement::of);
                self.pipeline(source, parts.collect(), outcome.settle(), &inner)
            }
            HeredocLineTail::Then(operator, right) => {
                // The grammar hangs the whole rest of the line here, so `||` inside binds wrongly.
                if right.kind() == "list" && source.slice(right).contains("||") {
                    self.recorder.unknown(UnknownReason::Syntax, "||");
                }
                self.then(source, outcome, operator, JoinedStatement::of(right), context)
            }
        }
    }

    pub(super) fn redirects<'t>(
        &mut self,
        source: &ShellSource<'_>,
        nodes: &[Node<'t>],
        state: &ShellState,
        context: &CommandContext,
    ) -> AppliedRedirects<'t> {
        let mut applied = AppliedRedirects {
            context: context.clone(),
            words: Vec::new(),
            hides_output: false,
            outputs: Vec::new(),
            tails: Vec::new(),
        };
        for node in nodes {
            match node.kind() {
                "file_redirect" => self.file_redirect(source, *node, state, &mut applied),
                "herestring_redirect" => self.here_string(source, *node, state, &mut applied),
                "heredoc_redirect" => self.here_document(source, *node, state, &mut applied),
                other => self.recorder.unknown(UnknownReason::Syntax, other),
            }
        }
        applied
    }

    /// What a command printed is what the files hold that its output went to.
    pub(super) fn keep_output(&mut self, applied: &AppliedRedirects<'_>) {
        if !applied.hides_output {
            return;
        }
        let output = self.output.take();
        if applied.outputs.iter().any(|(path, _)| path.starts_with("/dev/fd/")) {
            self.keep_possible_code(output.as_deref().unwrap_or_default());
        }
        for (path, appends) in &applied.outputs {
            if *appends {
                self.written.append(path, output.clone());
            } else {
                self.written.set(path, output.clone());
            }
        }
    }

    fn file_redirect<'t>(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'t>,
        state: &ShellState,
        applied: &mut AppliedRedirects<'t>,
    ) {
        let both_ways = source.slice(node).contains("<>");
        let children = tree::children(node);
        let operator = children.iter().find(|child| !child.is_named()).map(|child| child.kind());
        let descriptor = node.child_by_field_name("descriptor").map(|child| source.slice(child));
        let mut targets = tree::field_children(node, "destination").into_iter();
        let Some(target) = targets.next() else {
            if !matches!(operator, Some("<&-" | ">&-")) {
                self.recorder.unknown(UnknownReason::Syntax, "redirection");
            }
            return;
        };
        applied.words.extend(targets);
        let range = (target.start_byte(), target.end_byte());
        let fields = self.word(source, target, range, state, &applied.context);
        let [field] = fields.as_slice() else {
            self.recorder.unknown(UnknownReason::UnresolvedPath, source.slice(target));
            return;
        };
        let access = match operator {
            _ if both_ways => Access::Write,
            Some("<") => Access::Read,
            Some(">&" | "<&") if is_descriptor(field) => return,
            Some(">" | ">>" | ">|" | "&>" | "&>>" | ">&") => Access::Write,
            _ => {
                self.recorder.unknown(UnknownReason::Syntax, "redirection");
                return;
            }
        };
        if access == Access::Read {
            if matches!(descriptor, None | Some("0")) {
                let text = self.written_text(field, state);
                applied.context.stdin = text.map_or(Stdin::Computed, Stdin::Text);
            }
        } else if matches!(descriptor, None | Some("1")) {
            applied.hides_output = true;
            let appends = matches!(operator, Some(">>" | "&>>"));
            let paths = field.known().and_then(|text| state.directories.resolve(text)).unwrap_or_default();
            applied.outputs.extend(paths.into_iter().map(|path| (path, appends)));
        }
        if field.glob && access != Access::Read {
            self.recorder.unknown(UnknownReason::UnresolvedPath, &field.raw);
        }
        if both_ways {
            self.recorder.touch(state, field, Access::Read, EffectReach::Itself);
        }
        self.recorder.touch(state, field, access, EffectReach::Itself);
    }

    fn here_string(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'_>,
        state: &ShellState,
        applied: &mut AppliedRedirects<'_>,
    ) {
        let word = tree::children(node).into_iter().rfind(|child| child.is_named());
        let Some(word) = word else {
            self.recorder.unknown(UnknownReason::Syntax, "<<<");
            return;
        };
        let value = self.assigned_value(source, word, state, &applied.context);
        applied.context.stdin = match value {
            super::field::VariableValue::Known(text) => Stdin::Text(text + "\n"),
            _ => Stdin::Computed,
        };
    }

    fn here_document<'t>(
        &mut self,
        source: &ShellSource<'_>,
        node: Node<'t>,
        state: &ShellState,
        applied: &mut AppliedRedirects<'t>,
    ) {
        match heredoc::read(source, node) {
            Some(document) => {
                let text = self.expand_document(&document, state, &applied.context);
                applied.context.stdin = text.map_or(Stdin::Computed, Stdin::Text);
            }
            None => {
                self.recorder.unknown(UnknownReason::Syntax, "<<");
                applied.context.stdin = Stdin::Computed;
            }
        }
        for redirect in tree::field_children(node, "redirect") {
            self.file_redirect(source, redirect, state, applied);
        }
        applied.words.extend(tree::field_children(node, "argument"));
        if let Some(right) = node.child_by_field_name("right") {
            let operator = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
            applied.tails.push(HeredocLineTail::Then(if operator == "&&" { "&&" } else { "||" }, right));
        }
        for pipe in tree::children(node).into_iter().filter(|child| child.kind() == "pipeline") {
            applied.tails.push(HeredocLineTail::Pipe(pipe));
        }
    }
}

fn is_descriptor(field: &ShellField) -> bool {
    let text = field.known().unwrap_or_default();
    text == "-" || {
        let digits = text.strip_suffix('-').unwrap_or(text);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    }
}
