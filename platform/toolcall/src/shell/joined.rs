//! Statements joined by `&&`, `||` and `|`, with the redirections where bash puts them.
//!
//! The grammar hangs a redirection, and the pipe behind it, on everything to the
//! left: `cd a && b > c | d` becomes one pipe from a redirected list. Here such a
//! tree is taken apart from the left, so that each belongs to the last command.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::flow::is_statement;
use super::interpreter::{CommandContext, Concurrency, Interpreter, Lifetime, Stdin};
use super::source::ShellSource;
use super::state::{CommandOutcome, ShellState};
use super::tree;

/// A statement with its redirections, and what its output is piped into.
pub(super) struct JoinedStatement<'t> {
    node: Node<'t>,
    redirects: Vec<Node<'t>>,
    pipes: Vec<JoinedStatement<'t>>,
}

impl<'t> JoinedStatement<'t> {
    pub(super) fn of(node: Node<'t>) -> Self {
        Self { node, redirects: Vec::new(), pipes: Vec::new() }
    }

    /// The first statement, and the others in reverse order with the operators before them.
    fn flatten(self) -> (Self, Vec<(&'static str, Self)>) {
        let mut first = self;
        let mut rest = Vec::new();
        loop {
            match first.node.kind() {
                "redirected_statement" => {
                    let Some(body) = first.node.child_by_field_name("body") else {
                        return (first, rest);
                    };
                    let mut redirects = tree::redirects(first.node);
                    redirects.append(&mut first.redirects);
                    first = Self { node: body, redirects, ..first };
                }
                "pipeline" => {
                    let mut parts = tree::children(first.node).into_iter().filter(|node| is_statement(*node));
                    let Some(head) = parts.next() else {
                        return (first, rest);
                    };
                    let mut pipes: Vec<Self> = parts.map(Self::of).collect();
                    match pipes.last_mut() {
                        Some(last) => last.redirects = first.redirects,
                        None => return (Self { node: head, ..first }, rest),
                    }
                    pipes.append(&mut first.pipes);
                    first = Self { node: head, redirects: Vec::new(), pipes };
                }
                "list" => {
                    let [left, operator, right] = tree::children(first.node)[..] else {
                        return (first, rest);
                    };
                    let operator = if operator.kind() == "&&" { "&&" } else { "||" };
                    rest.push((operator, Self { node: right, ..first }));
                    first = Self::of(left);
                }
                _ => return (first, rest),
            }
        }
    }
}

impl Interpreter {
    /// Runs a statement with everything that is joined to it.
    pub(super) fn part(
        &mut self,
        source: &ShellSource<'_>,
        part: JoinedStatement<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        if !self.recorder.spend() {
            return CommandOutcome::same(state);
        }
        let Some(context) = &context.deeper() else {
            self.recorder.code(UnknownReason::TooDeep, "");
            return CommandOutcome::same(state);
        };
        let (first, rest) = part.flatten();
        let mut outcome = self.head(source, first, state, context);
        for (operator, right) in rest.into_iter().rev() {
            let printed = self.output.take();
            outcome = self.then(source, outcome, operator, right, context);
            // Of `a || b` the first that prints something is taken, as a test for a program does.
            self.output = match (operator, printed, self.output.take()) {
                ("||", printed, other) => printed.or(other),
                (_, Some(first), Some(second)) => Some(first + &second),
                _ => None,
            };
        }
        outcome
    }

    /// Runs the right side of `&&` or `||` after its left side.
    pub(super) fn then(
        &mut self,
        source: &ShellSource<'_>,
        left: CommandOutcome,
        operator: &str,
        right: JoinedStatement<'_>,
        context: &CommandContext,
    ) -> CommandOutcome {
        if operator == "&&" {
            let outcome = self.part(source, right, left.success, context);
            CommandOutcome { success: outcome.success, failure: left.failure.join(outcome.failure) }
        } else {
            let outcome = self.part(source, right, left.failure, context);
            CommandOutcome { success: left.success.join(outcome.success), failure: outcome.failure }
        }
    }

    fn head(
        &mut self,
        source: &ShellSource<'_>,
        part: JoinedStatement<'_>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        if part.node.kind() == "negated_command" {
            let Some(inner) = tree::children(part.node).into_iter().find(|node| is_statement(*node)) else {
                self.recorder.unknown(UnknownReason::Syntax, "!");
                return CommandOutcome::same(state);
            };
            let outcome = self.part(source, JoinedStatement { node: inner, ..part }, state, context);
            return CommandOutcome { success: outcome.failure, failure: outcome.success };
        }
        if part.pipes.is_empty() {
            return self.redirected(source, part.node, &part.redirects, state, context);
        }
        let JoinedStatement { node, redirects, pipes } = part;
        let first = JoinedStatement { node, redirects, pipes: Vec::new() };
        let parts = std::iter::once(first).chain(pipes).collect();
        self.pipeline(source, parts, state, context)
    }

    /// Every part of a pipe runs in a separate shell, except the last one in some shells.
    pub(super) fn pipeline(
        &mut self,
        source: &ShellSource<'_>,
        parts: Vec<JoinedStatement<'_>>,
        state: ShellState,
        context: &CommandContext,
    ) -> CommandOutcome {
        let mut stdin = context.stdin.clone();
        let mut last = state.clone();
        let mut printed = None;
        let last_reader = parts.iter().rposition(|part| stops_reading(source.slice(part.node)));
        let last_user = parts.iter().rposition(|part| !passes_on(source.slice(part.node)));
        for (index, part) in parts.into_iter().enumerate() {
            let answers = source.slice(part.node).split_whitespace().next() == Some("yes");
            let stops = last_reader.is_some_and(|reader| reader > index)
                || (answers && last_user.is_some_and(|user| user > index));
            let inner = CommandContext {
                stdin,
                place: Concurrency::Beside,
                lifetime: if stops { Lifetime::Bounded } else { context.lifetime },
                ..context.clone()
            };
            // In bash no part of a pipe is a list; a tree that says so is wrong about the order.
            if part.node.kind() == "list" {
                self.recorder.unknown(UnknownReason::Syntax, "|");
            }
            let plain =
                matches!(part.node.kind(), "command" | "redirected_statement" | "compound_statement" | "subshell");
            self.output = None;
            last = self.part(source, part, state.clone(), &inner).settle();
            let output = self.output.take().filter(|_| plain);
            printed.clone_from(&output);
            stdin = output.map_or(Stdin::Computed, Stdin::Text);
        }
        self.output = printed;
        CommandOutcome::same(state.join(last))
    }
}

/// Whether a program reads to the end of what it is given; others end, and with them who answers their questions.
fn passes_on(reader: &str) -> bool {
    const FILTERS: &[&str] = &[
        "cat",
        "tac",
        "tee",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "sed",
        "awk",
        "tr",
        "cut",
        "sort",
        "uniq",
        "wc",
        "nl",
        "rev",
        "less",
        "more",
        "xxd",
        "od",
        "base64",
        "gzip",
        "pv",
        "dd",
        "md5sum",
        "sha256sum",
        "while",
        "xargs",
    ];
    reader.split_whitespace().next().is_some_and(|word| FILTERS.contains(&word))
}

/// Whether a program downstream stops reading, which ends the programs upstream.
fn stops_reading(reader: &str) -> bool {
    let mut words = reader.split_whitespace();
    match words.next() {
        Some("head") => true,
        Some("sed") => words.any(|word| word.trim_matches(['\'', '"']).ends_with('q')),
        Some("grep") => words.any(|word| word.starts_with("-m") || word == "-q"),
        _ => false,
    }
}
