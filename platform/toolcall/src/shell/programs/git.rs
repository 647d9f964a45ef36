//! `git`, subcommand by subcommand.
//!
//! Pure.

mod tables;

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::Interpreter;
use super::super::recorder::EffectReach;
use super::super::state::{ShellState, WorkingDirectories};
use super::super::unbounded::UnboundedKind;
use crate::access::Access;
use tables::{READ_ONLY, REPOSITORY_ONLY, WORKING_TREE, is_harmless_setting};

struct GitCommand<'a> {
    command: &'a str,
    parsed: Arguments,
    /// The words behind `--`, which can only be files.
    files: Option<&'a [ShellField]>,
    state: ShellState,
}

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    if call.program != "git" {
        return false;
    }
    let Some((state, words)) = global_options(interpreter, call) else {
        return true;
    };
    let Some((subcommand, arguments)) = words.split_first() else {
        return true;
    };
    let Some(command) = subcommand.known() else {
        interpreter.recorder.code(UnknownReason::UnresolvedProgram, "git");
        return true;
    };
    let syntax = OptionSyntax {
        short: short_values(command),
        long: &["--output", "--message", "--author", "--date", "--source", "--branch", "--depth", "--exec", "--file"],
    };
    let parsed = Arguments::parse(arguments, syntax);
    if parsed.hides_options {
        interpreter.recorder.unknown(UnknownReason::Option, "git");
    }
    let mark = arguments.iter().position(|word| word.known() == Some("--"));
    let files = mark.and_then(|mark| arguments.get(mark + 1..));
    if matches!(command, "apply" | "am") {
        let strip = parsed.values(&["-p"]).next().and_then(|field| field.text.parse().ok()).unwrap_or(1);
        super::diff::touch_files(interpreter, &call.context.stdin, parsed.operands.first(), &state, strip);
    }
    GitCommand { command, parsed, files, state }.run(interpreter);
    true
}

fn short_values(command: &str) -> &'static str {
    match command {
        "commit" | "tag" | "merge" | "notes" => "mFCcu",
        "clone" => "bocuj",
        "checkout" | "switch" | "worktree" => "bBcC",
        "log" | "shortlog" => "nLSG",
        "restore" => "s",
        "config" => "f",
        "clean" => "e",
        _ => "",
    }
}

/// Applies the options before the subcommand; `None` if they make it impossible to go on.
fn global_options<'a>(interpreter: &mut Interpreter, call: &Invocation<'a>) -> Option<(ShellState, &'a [ShellField])> {
    let mut state = call.state.clone();
    let mut words = call.arguments;
    while let Some((first, rest)) = words.split_first() {
        match first.text.as_str() {
            "-C" => {
                let (folder, after) = rest.split_first()?;
                let paths = folder.known().and_then(|text| state.directories.resolve(text));
                state.directories = paths.map_or(WorkingDirectories::Unknown, WorkingDirectories::Known);
                words = after;
            }
            "-c" => {
                let (setting, after) = rest.split_first()?;
                if !setting.known().is_some_and(is_harmless_setting) {
                    interpreter.recorder.code(UnknownReason::Environment, "git -c");
                    run_setting(interpreter, call, setting);
                }
                words = after;
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => {
                words = rest
            }
            "--version" | "--help" | "-v" | "-h" => return None,
            text if text.starts_with('-') || !first.exact => {
                interpreter.recorder.code(UnknownReason::Option, "git");
                return None;
            }
            _ => break,
        }
    }
    Some((state, words))
}

/// A setting may be a command: an alias with `!`, an editor, a pager, a filter.
fn run_setting(interpreter: &mut Interpreter, call: &Invocation<'_>, setting: &ShellField) {
    let Some((name, value)) = setting.known().and_then(|text| text.split_once('=')) else {
        return;
    };
    let name = name.to_ascii_lowercase();
    let command = match value.strip_prefix('!') {
        Some(command) => Some(command),
        None if name.starts_with("alias.") => None,
        None => Some(value).filter(|value| value.contains(' ')),
    };
    if let Some(command) = command.map(str::to_owned) {
        let context = call.context.wrapped("git");
        interpreter.script(&command, call.state.child(), &context);
    }
}

impl GitCommand<'_> {
    fn run(self, interpreter: &mut Interpreter) {
        self.check_options(interpreter);
        match self.command {
            command if READ_ONLY.contains(&command) => {}
            "branch" | "tag" | "remote" | "stash" | "worktree" | "notes" | "reflog" | "sparse-checkout" | "bisect"
                if self.only_lists() => {}
            "config" => self.config(interpreter),
            "checkout" => self.checkout(interpreter),
            "restore" => self.restore(interpreter),
            "reset" => self.reset(interpreter),
            "clean" => self.clean(interpreter),
            "rm" => self.remove(interpreter),
            "mv" => self.rename(interpreter),
            "worktree" => self.worktree(interpreter),
            "init" => self.make(interpreter, 0),
            "clone" => {
                interpreter.recorder.network();
                self.make(interpreter, 1);
            }
            "fetch" | "push" | "ls-remote" | "remote-update" => {
                interpreter.recorder.network();
                interpreter.recorder.effects.runs_code |= self.command == "push";
                if self.command == "fetch" {
                    self.write_repository(interpreter);
                }
            }
            "pull" => {
                interpreter.recorder.network();
                self.change_tree(interpreter);
            }
            "sparse-checkout" => {
                self.change_tree(interpreter);
                self.exclude(interpreter);
            }
            command if REPOSITORY_ONLY.contains(&command) => self.change_repository(interpreter),
            command if WORKING_TREE.contains(&command) => self.change_tree(interpreter),
            other => interpreter.recorder.code(UnknownReason::UnknownProgram, &format!("git {other}")),
        }
    }

    /// Options that write a file or run a program wherever they are accepted.
    fn check_options(&self, interpreter: &mut Interpreter) {
        for file in self.parsed.values(&["--output"]) {
            interpreter.recorder.touch(&self.state, file, Access::Write, EffectReach::Itself);
        }
        let runs = [
            "--ext-diff",
            "--open-files-in-pager",
            "--exec",
            "--upload-pack",
            "--receive-pack",
            "--filter",
            "--textconv",
        ];
        let pager = self.command == "grep" && self.parsed.has(&["-O"]);
        let steps = self.command == "rebase" && self.parsed.has(&["-x", "-i", "--interactive"]);
        let script = self.command == "bisect" && self.word(0) == Some("run");
        if self.parsed.has(&runs) || pager || steps || script {
            interpreter.recorder.code(UnknownReason::Option, "git");
        }
    }

    fn word(&self, index: usize) -> Option<&str> {
        self.parsed.operands.get(index).and_then(ShellField::known)
    }

    fn only_lists(&self) -> bool {
        let first = self.word(0);
        let lists = self.parsed.has(&["-l", "--list", "--show-current", "--contains", "--merged", "--no-merged"]);
        match self.command {
            "branch" => {
                lists
                    || (self.parsed.operands.is_empty()
                        && !self.parsed.hides_options
                        && !self.parsed.has(&[
                            "-d",
                            "-D",
                            "-m",
                            "-M",
                            "-c",
                            "-C",
                            "-u",
                            "--edit-description",
                            "--unset-upstream",
                            "--set-upstream-to",
                        ]))
            }
            "tag" => lists || (self.parsed.operands.is_empty() && !self.parsed.hides_options),
            "remote" => self.parsed.operands.is_empty() || matches!(first, Some("get-url")),
            "stash" => matches!(first, Some("list" | "show")),
            "worktree" | "sparse-checkout" => first == Some("list"),
            "notes" => matches!(first, None | Some("list" | "show")),
            "reflog" => matches!(first, None | Some("show" | "exists")),
            "bisect" => matches!(first, Some("log" | "view" | "visualize")),
            _ => false,
        }
    }

    fn write_repository(&self, interpreter: &mut Interpreter) {
        interpreter.recorder.touch(&self.state, &ShellField::literal(".git"), Access::Write, EffectReach::Tree);
    }

    /// The repository's hooks run on most changes.
    fn change_repository(&self, interpreter: &mut Interpreter) {
        self.write_repository(interpreter);
        let hooks = matches!(self.command, "commit");
        interpreter.recorder.effects.runs_code |= hooks;
        if matches!(self.command, "remote") && matches!(self.word(0), Some("show" | "update")) {
            interpreter.recorder.network();
        }
        for path in self.parsed.operands.iter().filter(|_| matches!(self.command, "add" | "stage" | "commit")) {
            interpreter.recorder.touch(&self.state, path, Access::Read, EffectReach::Tree);
        }
    }

    fn change_tree(&self, interpreter: &mut Interpreter) {
        self.write_repository(interpreter);
        interpreter.recorder.effects.runs_code = true;
        interpreter.recorder.touch(&self.state, &ShellField::literal("."), Access::Write, EffectReach::Tree);
        let detail = format!("git {}", self.command);
        interpreter.recorder.unknown(UnknownReason::UnresolvedPath, &detail);
    }

    /// Git's own patterns go down into folders; of another revision they may bring any file of that name.
    fn write_patterns(&self, interpreter: &mut Interpreter, paths: &[ShellField]) {
        for path in paths.iter().filter(|path| path.exact && path.text.starts_with('*')) {
            let found = ShellField { text: format!("./**/{}", path.text), glob: true, ..path.clone() };
            interpreter.recorder.touch(&self.state, &found, Access::Write, EffectReach::Itself);
        }
    }

    fn write_paths(&self, interpreter: &mut Interpreter, paths: &[ShellField]) {
        self.write_repository(interpreter);
        for path in paths {
            if path.text.starts_with(':') {
                interpreter.recorder.unknown(UnknownReason::UnresolvedPath, &path.raw);
            } else {
                interpreter.recorder.touch(&self.state, path, Access::Write, EffectReach::Tree);
            }
        }
    }

    fn checkout(&self, interpreter: &mut Interpreter) {
        if let Some(files) = self.files.filter(|files| !files.is_empty()) {
            self.write_paths(interpreter, files);
            if self.word(0).is_some_and(|revision| revision != "HEAD" && self.parsed.operands.len() > files.len()) {
                self.write_patterns(interpreter, files);
            }
            return;
        }
        let operands = self.parsed.operands.as_slice();
        match operands {
            [_, paths @ ..] if !paths.is_empty() && !self.parsed.has(&["-b", "-B"]) => {
                // The first word may be a commit or a file.
                self.write_paths(interpreter, operands);
            }
            [only] if looks_like_path(only) => self.write_paths(interpreter, operands),
            _ => self.change_tree(interpreter),
        }
    }

    fn restore(&self, interpreter: &mut Interpreter) {
        if self.parsed.has(&["-S", "--staged"]) && !self.parsed.has(&["-W", "--worktree"]) {
            self.write_repository(interpreter);
        } else {
            self.write_paths(interpreter, &self.parsed.operands);
            if self.parsed.has(&["-s", "--source"]) {
                self.write_patterns(interpreter, &self.parsed.operands);
            }
        }
    }

    fn reset(&self, interpreter: &mut Interpreter) {
        match self.parsed.has(&["--hard", "--merge", "--keep"]) {
            true => self.change_tree(interpreter),
            false => self.write_repository(interpreter),
        }
    }

    fn clean(&self, interpreter: &mut Interpreter) {
        if self.parsed.has(&["-n", "--dry-run"]) {
            return;
        }
        let here = [ShellField::literal(".")];
        let paths = if self.parsed.operands.is_empty() { &here[..] } else { &self.parsed.operands };
        for path in paths {
            interpreter.recorder.touch(&self.state, path, Access::Delete, EffectReach::Tree);
            let target = super::files::target(interpreter, &self.state, path);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
        }
    }

    fn remove(&self, interpreter: &mut Interpreter) {
        self.write_repository(interpreter);
        if self.parsed.has(&["--cached", "-n", "--dry-run"]) {
            return;
        }
        let reach = if self.parsed.has(&["-r"]) { EffectReach::Tree } else { EffectReach::Itself };
        for path in &self.parsed.operands {
            interpreter.recorder.touch(&self.state, path, Access::Delete, reach);
        }
    }

    /// What `sparse-checkout set ... '!path'` takes out of the working tree.
    fn exclude(&self, interpreter: &mut Interpreter) {
        let excluded = |path: &ShellField| {
            let rest = path.text.strip_prefix('!')?.trim_start_matches('/').to_owned();
            Some(ShellField { text: rest, ..path.clone() })
        };
        for path in self.parsed.operands.iter().filter_map(excluded) {
            interpreter.recorder.touch(&self.state, &path, Access::Delete, EffectReach::Tree);
        }
    }

    fn rename(&self, interpreter: &mut Interpreter) {
        self.write_repository(interpreter);
        if let Some((to, sources)) = self.parsed.operands.split_last() {
            for from in sources {
                interpreter.recorder.moved(&self.state, from, to);
            }
        }
    }

    fn worktree(&self, interpreter: &mut Interpreter) {
        self.write_repository(interpreter);
        let access = match self.word(0) {
            Some("add") => Access::Create,
            Some("remove") => Access::Delete,
            Some("prune" | "lock" | "unlock" | "repair") => return,
            _ => {
                interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "git worktree");
                return;
            }
        };
        interpreter.recorder.effects.runs_code |= access == Access::Create;
        if let Some(path) = self.parsed.operands.get(1) {
            interpreter.recorder.touch(&self.state, path, access, EffectReach::Tree);
            if matches!(path.known(), Some("." | "./")) {
                let all = ShellField { glob: true, ..ShellField::literal("./**") };
                interpreter.recorder.touch(&self.state, &all, Access::Write, EffectReach::Tree);
            }
        }
    }

    /// `init` and `clone` make the folder that they name, or one that they derive.
    fn make(&self, interpreter: &mut Interpreter, index: usize) {
        let derived = self.word(0).map(|url| {
            let name = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(url);
            ShellField::literal(name.trim_end_matches(".git"))
        });
        let named = self.parsed.operands.get(index).cloned();
        let fallback = if index == 0 { Some(ShellField::literal(".git")) } else { derived };
        match named.or(fallback) {
            Some(folder) => interpreter.recorder.touch(&self.state, &folder, Access::Create, EffectReach::Tree),
            None => interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "git clone"),
        }
    }

    /// A setting can name a program to run, so writing one is not only writing a file.
    fn config(&self, interpreter: &mut Interpreter) {
        let reads = self.parsed.has(&[
            "--get",
            "--get-all",
            "--get-regexp",
            "--get-urlmatch",
            "-l",
            "--list",
            "--show-origin",
            "--get-color",
        ]);
        let asks = matches!(self.word(0), Some("get" | "list"))
            || (self.parsed.operands.len() == 1
                && self.word(0).is_some()
                && !self.parsed.has(&["--unset", "--unset-all", "--remove-section", "-e", "--edit"]));
        if !reads && !asks {
            let named = self.parsed.values(&["-f", "--file"]).next().cloned();
            let elsewhere = self.parsed.has(&["--global", "--system"]);
            if let Some(file) = named.or_else(|| (!elsewhere).then(|| ShellField::literal(".git/config"))) {
                interpreter.recorder.touch(&self.state, &file, Access::Write, EffectReach::Itself);
            }
            interpreter.recorder.unknown(UnknownReason::Environment, "git config");
        }
    }
}

fn looks_like_path(field: &ShellField) -> bool {
    field.glob || field.text == "." || field.text.starts_with("./") || field.text.starts_with('/')
}
