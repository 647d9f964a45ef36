//! Programs that run another one, as a table: where in their words the other one stands.
//!
//! Pure.

mod tables;

use super::arguments::{Arguments, OptionSyntax};
use super::command::{CommandLookup, Invocation};
use super::effects::UnknownReason;
use super::field::ShellField;
use super::interpreter::{CommandContext, Interpreter, Lifetime, Stdin};
use super::recorder::EffectReach;
use super::wrappers::{assign, enter, is_assignment};
use crate::access::Access;
pub(super) use tables::RunnerProgram;
use tables::{CommandForm, RUNNERS};

/// Options whose value is a command to most programs that have them.
const COMMAND_OPTIONS: &[&str] =
    &["-c", "--command", "--cmd", "--exec", "--execute", "--eval", "--run", "--shell-command", "-x"];

/// The rows of a program.
pub(super) fn runner_rows(program: &str) -> Vec<&'static RunnerProgram> {
    RUNNERS.iter().filter(|row| row.names.contains(&program)).collect()
}

/// Runs the commands that a program is told to run; `false` if it is not told any.
pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    let mut found = false;
    for row in &interpreter.rows(call.program).runners {
        if let Some((leading, words)) = row.after_verb(call.arguments) {
            found |= row.run(interpreter, call, leading, words);
        }
    }
    found
}

impl RunnerProgram {
    /// The words before and behind the verb; `None` if the program has verbs and none of them is given.
    fn after_verb<'w>(&self, words: &'w [ShellField]) -> Option<(&'w [ShellField], &'w [ShellField])> {
        if self.verbs.is_empty() {
            return Some((&[], words));
        }
        self.verbs.iter().find_map(|verb| {
            let mut at = 0;
            for part in verb.split(' ') {
                at = self.skip_options(words, at);
                if words.get(at)?.known() != Some(part) {
                    return None;
                }
                at += 1;
            }
            words.split_at_checked(at)
        })
    }

    /// Where the options that begin at `at` end.
    fn skip_options(&self, words: &[ShellField], mut at: usize) -> usize {
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            // A computed word in front of the command is taken for an option or two.
            if !(text.starts_with('-') && text.len() > 1 || (!word.exact && text.is_empty() && words.len() > at + 1)) {
                break;
            }
            if text == "--" {
                break;
            }
            let takes_next = match text.strip_prefix("--") {
                Some(long) => !long.contains('=') && self.long.contains(&text),
                None => {
                    let letters: Vec<char> = text.chars().skip(1).collect();
                    let first = letters.iter().position(|c| self.short.contains(*c));
                    first.is_some_and(|first| first + 1 == letters.len()) || self.long.contains(&text)
                }
            };
            at += if takes_next { 2 } else { 1 };
        }
        at.min(words.len())
    }

    /// Whether anything was run.
    fn run(
        &self,
        interpreter: &mut Interpreter,
        call: &Invocation<'_>,
        leading: &[ShellField],
        words: &[ShellField],
    ) -> bool {
        let mut context = call.context.wrapped(call.program);
        if self.bounds && !self.is_unbounded(words) {
            context.lifetime = Lifetime::Bounded;
        }
        if self.fetches {
            interpreter.recorder.network();
        }
        let texts = option_texts(words, self.text);
        for text in &texts {
            run_text(interpreter, call, text, &context);
        }
        for text in attached_texts(words, self.text) {
            interpreter.script(text, call.state.child(), &context);
        }
        let at = self.skip_options(words, 0);
        let (options, rest) = words.split_at(at);
        let mut state = call.state.clone();
        let parsed = Arguments::parse(options, OptionSyntax { short: self.short, long: self.long });
        for field in parsed.values(self.folders) {
            enter(field, &mut state);
        }
        for property in parsed.values(&["-p", "--property"]).filter(|_| call.program == "systemd-run") {
            if let Some(folder) = property.text.strip_prefix("WorkingDirectory=") {
                enter(&ShellField { text: folder.to_owned(), ..property.clone() }, &mut state);
            }
        }
        for field in parsed.values(self.writes) {
            interpreter.recorder.touch(call.state, field, Access::Write, EffectReach::Itself);
        }
        let dashes = rest.first().is_some_and(|word| word.known() == Some("--"));
        let rest = match (dashes, self.form) {
            (true, _) => rest.get(1..).unwrap_or_default(),
            (false, CommandForm::BehindDashes) => {
                let at = words.iter().chain(leading).position(|word| word.known() == Some("--"));
                at.and_then(|at| words.get(at + 1..)).unwrap_or_default()
            }
            (false, _) => rest,
        };
        let rest =
            rest.get(if dashes && self.form != CommandForm::Words { 0 } else { self.operands }..).unwrap_or_default();
        let count = rest.iter().take_while(|field| self.assigns && is_assignment(field)).count();
        for field in rest.iter().take(count) {
            assign(interpreter, field, &mut state);
        }
        let rest = rest.get(count..).unwrap_or_default();
        match self.form {
            CommandForm::Nothing => {}
            _ if rest.is_empty() => {}
            CommandForm::Words | CommandForm::BehindDashes => match rest {
                [only] if only.known().is_some_and(|text| text.contains(' ')) && self.splits => {
                    run_text(interpreter, call, only, &context);
                }
                _ => {
                    interpreter.invoke(rest, state, &context, CommandLookup::Programs);
                }
            },
            CommandForm::OneText => {
                let words: Option<Vec<&str>> = rest.iter().map(ShellField::known).collect();
                match words {
                    Some(words) => run_text(interpreter, call, &ShellField::literal(&words.join(" ")), &context),
                    None => {
                        interpreter.invoke(rest, state, &context, CommandLookup::Programs);
                    }
                }
            }
            CommandForm::EachText => {
                for text in rest {
                    run_text(interpreter, call, text, &context);
                }
            }
            CommandForm::Input => {}
        }
        if self.form == CommandForm::Input
            && let Stdin::Text(text) = &call.context.stdin
        {
            run_text(interpreter, call, &ShellField::literal(&text.clone()), &context.with_stdin(Stdin::Inherited));
            return true;
        }
        if self.form == CommandForm::Input {
            for file in option_texts(words, &["-f"]) {
                interpreter.run_written(file, call.state.child(), &context);
            }
            interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
        }
        !texts.is_empty() || (!rest.is_empty() && self.form != CommandForm::Nothing)
    }

    fn is_unbounded(&self, words: &[ShellField]) -> bool {
        self.names.contains(&"timeout")
            && words.iter().find(|word| !word.text.starts_with('-')).is_some_and(|word| word.text == "0")
    }
}

/// Runs a text in a new shell.
fn run_text(interpreter: &mut Interpreter, call: &Invocation<'_>, text: &ShellField, context: &CommandContext) {
    match text.known() {
        Some(text) => {
            interpreter.script(text, call.state.child(), context);
        }
        None => {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
            interpreter.recorder.opaque_text(&text.raw);
        }
    }
}

/// The values of options, wherever they stand: `-c TEXT`, `-cTEXT`, `-lc TEXT`, `--command=TEXT`.
pub(super) fn option_texts<'w>(words: &'w [ShellField], options: &[&str]) -> Vec<&'w ShellField> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let cluster = |option: &&&str| {
            option.len() == 2 && text.starts_with('-') && !text.starts_with("--") && text.ends_with(&option[1..])
        };
        if options.contains(&text) || (text.len() < 6 && options.iter().any(|option| cluster(&option))) {
            found.extend(words.get(at + 1));
        }
    }
    found
}

/// The values that are attached to their options.
pub(super) fn attached_texts<'w>(words: &'w [ShellField], options: &[&str]) -> Vec<&'w str> {
    let attached = |word: &'w ShellField| {
        options.iter().find_map(|option| {
            let rest = word.text.strip_prefix(option)?;
            let rest = if option.starts_with("--") { rest.strip_prefix('=')? } else { rest };
            (!rest.is_empty() && word.exact).then_some(rest)
        })
    };
    words.iter().filter_map(attached).collect()
}

/// Looks for a command among the words of a program that no table knows: it may run it.
pub(super) fn search(interpreter: &mut Interpreter, fields: &[ShellField], call: &Invocation<'_>) {
    let risky = |word: &ShellField| {
        let name = word.known().map(|text| text.rsplit('/').next().unwrap_or(text));
        name.is_some_and(|name| tables::RISKY.contains(&name) || name.starts_with("mkfs."))
    };
    let start = fields.iter().skip(1).position(risky).map(|at| at + 1);
    let texts: Vec<ShellField> = option_texts(fields, COMMAND_OPTIONS).into_iter().cloned().collect();
    if start.is_none() && texts.is_empty() {
        return;
    }
    let context = call.context.wrapped(call.program);
    interpreter.speculate(|interpreter| {
        if let Some(rest) = start.and_then(|start| fields.get(start..)) {
            interpreter.invoke(rest, call.state.clone(), &context, CommandLookup::Programs);
        }
        // The text may be no command at all, so how long it would run says nothing.
        let context = CommandContext { lifetime: Lifetime::Bounded, ..context };
        for text in texts.iter().filter_map(ShellField::known).filter(|text| text.contains(' ')) {
            interpreter.script(text, call.state.child(), &context);
        }
    });
}
