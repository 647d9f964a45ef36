//! `${...}` and arithmetic: what they stand for, and the code that may hide in them.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter};
use super::lexer::Quoting;
use super::pattern_cut::{self, PatternEnd};
use super::source::ShellSource;
use super::state::{ShellState, element_key, element_name};

/// Variables and parameters that every shell has a value for.
const ALWAYS_SET: &[&str] = &[
    "0",
    "PATH",
    "PWD",
    "HOME",
    "BASH",
    "BASH_VERSION",
    "SHELL",
    "USER",
    "UID",
    "EUID",
    "PPID",
    "SHLVL",
    "RANDOM",
    "HOSTNAME",
    "LINENO",
    "$",
    "#",
    "?",
    "-",
    "!",
];

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
            // `${$:+word}` and the like.
            let sign = text.get(..1).filter(|sign| {
                ALWAYS_SET.contains(sign)
                    && text.get(1..).is_some_and(|rest| rest.trim_start_matches(':').starts_with('+'))
            });
            let word =
                sign.and_then(|sign| self.default_word(sign, &text[1..], &VariableValue::Unknown, state, context));
            return word.unwrap_or_else(|| self.special_parameter(text, state));
        }
        if let Some(index) = operator.strip_prefix('[') {
            self.arithmetic_names(operator, state);
            return element(name, index, state);
        }
        let value = match name.parse::<u8>() {
            Ok(digit @ 1..=9) => state.special(char::from(b'0' + digit), Quoting::Bare),
            Ok(_) => VariableValue::Unknown,
            Err(_) => state.scalar(name),
        };
        match self.default_word(name, operator, &value, state, context) {
            Some(word) => word,
            None => {
                let expanded = self.expanded_pattern(operator, state, context);
                self.apply_operator(name, expanded.as_deref().unwrap_or(operator), value)
            }
        }
    }

    /// The operator of `${x%"$y"}` with the value of the pattern, where that is plain text.
    fn expanded_pattern(&mut self, operator: &str, state: &ShellState, context: &CommandContext) -> Option<String> {
        let pattern = operator.trim_start_matches(['#', '%']);
        let sign = operator.get(..operator.len() - pattern.len()).filter(|sign| !sign.is_empty())?;
        if !pattern.contains('$') {
            return None;
        }
        match self.substitute(&format!("printf %s {pattern}"), state, context) {
            VariableValue::Known(text) if !text.contains(['*', '?', '[', '$', '`']) => Some(format!("{sign}{text}")),
            _ => None,
        }
    }

    /// The word of `${x:-word}` and `${x:+word}`, where it is what the expansion may stand for.
    fn default_word(
        &mut self,
        name: &str,
        operator: &str,
        value: &VariableValue,
        state: &ShellState,
        context: &CommandContext,
    ) -> Option<VariableValue> {
        let known = matches!(value, VariableValue::Known(_));
        let filled = matches!(value, VariableValue::Known(text) if !text.is_empty()) || ALWAYS_SET.contains(&name);
        let bare = operator.trim_start_matches(':');
        let word = bare.get(1..)?;
        let taken = match bare.chars().next()? {
            '-' | '=' => !filled && (operator.starts_with(':') || !known),
            '+' => filled || (known && !operator.starts_with(':')),
            _ => false,
        };
        if !taken {
            return None;
        }
        if !known {
            // The variable may be set outside; then the word is only one of two possibilities.
            self.recorder.unknown(UnknownReason::Environment, name);
        }
        if !word.contains(['$', '`', '"', '\'', '\\']) {
            let home = word.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let expanded = home.and_then(|rest| Some(state.home()? + rest));
            return Some(VariableValue::Known(expanded.unwrap_or_else(|| word.to_owned())));
        }
        Some(self.substitute(&format!("printf %s {word}"), state, context))
    }

    fn special_parameter(&mut self, text: &str, state: &ShellState) -> VariableValue {
        match text {
            "@" | "*" => state.special('@', Quoting::Quoted),
            _ if text.starts_with("@:") || text.starts_with("*:") => match state.special('@', Quoting::Quoted) {
                // The first argument has the number one.
                VariableValue::List(fields) => sliced(&fields, &text[2..], 1),
                _ => VariableValue::Unknown,
            },
            _ => match text.strip_prefix('!').map(|name| state.scalar(name)) {
                Some(VariableValue::Known(name)) => state.scalar(&name),
                _ => VariableValue::Unknown,
            },
        }
    }

    fn apply_operator(&mut self, name: &str, operator: &str, value: VariableValue) -> VariableValue {
        if operator.is_empty() {
            return value;
        }
        if operator.starts_with('@') {
            self.recorder.code(UnknownReason::UnresolvedCode, "${@}");
            match (operator, value) {
                ("@E", VariableValue::Known(held)) => {
                    return super::ansi::decode(&held).map_or(VariableValue::Unknown, VariableValue::Known);
                }
                // A prompt runs the substitutions in it.
                (_, VariableValue::Known(held)) => self.keep_possible_code(&held),
                _ => {}
            }
            return VariableValue::Unknown;
        }
        let held = match value {
            VariableValue::Known(held) => held,
            // The first letter of a path is known whatever the path is.
            _ if matches!(name, "PATH" | "SHELL" | "PWD" | "HOME") && operator == ":0:1" => "/".to_owned(),
            _ => return VariableValue::Unknown,
        };
        let assigns = operator.starts_with(":=") || operator.starts_with('=');
        if assigns && held.is_empty() {
            self.recorder.unknown(UnknownReason::Syntax, "${:=}");
        }
        edited(&held, operator).map_or(VariableValue::Unknown, VariableValue::Known)
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
                    self.keep_possible_code(&held);
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

/// The part of a list that `${@:START:LENGTH}` names; a negative start counts from the end.
fn sliced(fields: &[ShellField], range: &str, first: usize) -> VariableValue {
    let (start, length) = range.split_once(':').unwrap_or((range, ""));
    let length = if length.is_empty() { Some(usize::MAX) } else { length.trim().parse().ok() };
    let start = match start.trim().strip_prefix('-') {
        Some(back) => back.parse().ok().and_then(|back: usize| fields.len().checked_sub(back)),
        None => start.trim().parse().ok().map(|start: usize| start.saturating_sub(first)),
    };
    match (start, length) {
        (Some(start), Some(length)) => VariableValue::List(fields.iter().skip(start).take(length).cloned().collect()),
        _ => VariableValue::Unknown,
    }
}

/// `${name[index]}`: all words, some of them, or one.
fn element(name: &str, index: &str, state: &ShellState) -> VariableValue {
    if let (Some(range), VariableValue::List(fields)) =
        (index.strip_prefix("@]:").or_else(|| index.strip_prefix("*]:")), state.variable(name))
    {
        return sliced(&fields, range, 0);
    }
    let Some(index) = index.strip_suffix(']') else {
        return VariableValue::Unknown;
    };
    if let Some(key) = element_key(index) {
        return state.variable(&element_name(name, key));
    }
    let fields = match state.variable(name) {
        VariableValue::List(fields) => fields,
        VariableValue::Known(text) if matches!(index, "@" | "*" | "0") => return VariableValue::Known(text),
        _ => return VariableValue::Unknown,
    };
    match index {
        "@" | "*" => VariableValue::List(fields),
        _ => match (index.parse::<usize>(), index.strip_prefix('-').and_then(|back| back.parse::<usize>().ok())) {
            (Ok(index), _) => fields.get(index).map_or_else(|| VariableValue::Known(String::new()), VariableValue::of),
            (_, Some(back)) => sliced(&fields, &format!("-{back}:1"), 0),
            _ => VariableValue::Unknown,
        },
    }
}

/// A value after `${x:1:2}`, `${x/a/b}`, `${x#a}`, `${x%a}`, `${x^^}` and the like; `/` without patterns.
fn edited(held: &str, operator: &str) -> Option<String> {
    let plain = |text: &str| !text.contains(['*', '?', '[', '$', '`', '\\', '"', '\'']);
    let bare = operator.trim_start_matches(':');
    if ["-", "=", "?", "+"].iter().any(|known| bare.starts_with(known)) {
        return (!held.is_empty() && !bare.starts_with('+')).then(|| held.to_owned());
    }
    if let Some(range) = operator.strip_prefix(':') {
        let (start, length) = range.split_once(':').unwrap_or((range, ""));
        let start: usize = start.trim().parse().ok()?;
        let length: usize = if length.is_empty() { usize::MAX } else { length.trim().parse().ok()? };
        return Some(held.chars().skip(start).take(length).collect());
    }
    match operator {
        "^^" => return Some(held.to_uppercase()),
        ",," => return Some(held.to_lowercase()),
        _ => {}
    }
    if let Some(rest) = operator.strip_prefix("//") {
        let (from, to) = pattern_cut::replacement(rest);
        if plain(to) && from.starts_with('[') {
            return pattern_cut::with_letters_replaced(held, from, to);
        }
        return (plain(from) && plain(to) && !from.is_empty()).then(|| held.replace(from, to));
    }
    if let Some(rest) = operator.strip_prefix('/') {
        let (from, to) = rest.split_once('/').unwrap_or((rest, ""));
        return (plain(from) && plain(to) && !from.is_empty()).then(|| held.replacen(from, to, 1));
    }
    if let Some(cut) = without_parents(held, operator) {
        return Some(cut);
    }
    let (end, longest, pattern) = match operator.split_at_checked(1)? {
        ("#", rest) => (PatternEnd::Front, rest.starts_with('#'), rest.trim_start_matches('#')),
        ("%", rest) => (PatternEnd::Back, rest.starts_with('%'), rest.trim_start_matches('%')),
        _ => return None,
    };
    let followed = !pattern.contains(['$', '`', '\\', '"', '\'']);
    if followed { pattern_cut::without_match(held, end, longest, pattern) } else { None }
}

/// `${x%/*}` and `${x%/*/*}` give folders above, `${x##*/}` the name.
fn without_parents(held: &str, operator: &str) -> Option<String> {
    if operator == "##*/" {
        return Some(held.rsplit('/').next().unwrap_or(held).to_owned());
    }
    let parts = operator.strip_prefix('%')?;
    let mut rest = parts;
    let mut path = held;
    while let Some(after) = rest.strip_prefix("/*") {
        path = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        rest = after;
    }
    (rest.is_empty() && !parts.is_empty()).then(|| path.to_owned())
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
