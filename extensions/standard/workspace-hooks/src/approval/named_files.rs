//! Which paths of a workspace a hook's command names, read from its text alone.
//!
//! Pure.

use crate::contract::{Action, Hook, Runner};
use dispatch_os::paths::normalise_path;
use dispatch_toolcall::{EffectPath, ShellContext, ShellEffects, SimpleCommand, UnknownReason, analyze};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// More paths of one command are not looked at; such a command cannot be approved.
pub(crate) const MAX_NAMED_PATHS: usize = 4_000;
/// A longer word is no path.
const MAX_WORD_CHARS: usize = 1_000;
/// Programs that run a file which they are given.
const INTERPRETERS: [&str; 14] =
    ["sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php"];
/// Files that a program runs although nobody names them.
const IMPLIED: [(&str, &[&str]); 10] = [
    ("make", MAKEFILES),
    ("gmake", MAKEFILES),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("node", &["index.js", "index.mjs", "package.json"]),
    ("rake", &["Rakefile"]),
];
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Whether a path is a folder; what is named below it counts too.
pub(crate) type IsFolder<'a> = &'a dyn Fn(&Path) -> bool;

/// The paths that a hook's command names, absolute and below the workspace, whether they exist or not. There are more
/// than [`MAX_NAMED_PATHS`] if not all of them were looked at.
pub(crate) fn named_paths(hook: &Hook, workspace: &Path, is_folder: IsFolder<'_>) -> BTreeSet<PathBuf> {
    match (&hook.action, &hook.runner) {
        (Action::Command(command), _) => paths_of(command, workspace, is_folder),
        (Action::Prompt(_), Runner::External(template)) => paths_of(&template.command, workspace, is_folder),
        (Action::Prompt(_), Runner::Agent { .. } | Runner::Http { .. }) => BTreeSet::new(),
    }
}

fn paths_of(command: &[String], workspace: &Path, is_folder: IsFolder<'_>) -> BTreeSet<PathBuf> {
    let Some(cwd) = workspace.to_str() else { return BTreeSet::new() };
    let effects = analyze(&line(command), &ShellContext { cwd, home: None });
    let mut found = NamedPaths { workspace, paths: BTreeSet::new(), executed: BTreeSet::new() };
    let folders = folders(&effects, workspace, is_folder);
    effects.commands.iter().for_each(|simple| found.of_command(simple, &folders));
    if effects.unknown.iter().any(|part| hides_code(part.reason)) {
        found.of_text(command, &effects, is_folder);
    }
    for path in written(&effects) {
        if !found.executed.contains(&path) {
            found.paths.remove(&path);
        }
    }
    found.paths
}

/// The folders that a command mentions, the workspace among them.
fn folders(effects: &ShellEffects, workspace: &Path, is_folder: IsFolder<'_>) -> BTreeSet<PathBuf> {
    let words = effects.commands.iter().flat_map(|simple| &simple.argv);
    let named = words.map(|word| normalise_path(&workspace.join(word))).filter(|path| is_folder(path));
    let inside = named.filter(|folder| folder.starts_with(workspace));
    inside.chain([workspace.to_path_buf()]).collect()
}

/// Whether code runs that the analysis does not see, so that any word may name a part of it.
const fn hides_code(reason: UnknownReason) -> bool {
    use UnknownReason::{
        Environment, ForeignCode, ForeignShell, Recursion, Syntax, TooDeep, TooLong, TooMuchWork, UnresolvedCode,
        UnresolvedProgram,
    };
    matches!(
        reason,
        Environment
            | ForeignCode
            | ForeignShell
            | Recursion
            | Syntax
            | TooDeep
            | TooLong
            | TooMuchWork
            | UnresolvedCode
            | UnresolvedProgram
    )
}

/// Whether a program call is known to do nothing but look at the files that it names.
fn is_data(simple: &SimpleCommand) -> bool {
    let context = ShellContext { cwd: simple.cwd.as_deref().unwrap_or_default(), home: None };
    analyze(&line(&simple.argv), &context).is_read_only()
}

fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

struct NamedPaths<'a> {
    workspace: &'a Path,
    paths: BTreeSet<PathBuf>,
    /// Those that run; it does not matter that the command writes them too.
    executed: BTreeSet<PathBuf>,
}

impl NamedPaths<'_> {
    /// Adds what a program call names; `folders` are those that it may work in if that is not certain.
    fn of_command(&mut self, simple: &SimpleCommand, folders: &BTreeSet<PathBuf>) {
        match &simple.cwd {
            Some(folder) => self.of_command_in(simple, Path::new(folder)),
            None => folders.iter().for_each(|folder| self.of_command_in(simple, folder)),
        }
    }

    fn of_command_in(&mut self, simple: &SimpleCommand, folder: &Path) {
        let interprets = INTERPRETERS.contains(&simple.program.as_str());
        let named = if is_data(simple) { 1 } else { simple.argv.len() };
        for (number, word) in simple.argv.iter().take(named).enumerate() {
            let value = word.split_once('=').map(|(_, value)| value);
            for word in [word.as_str()].into_iter().chain(value) {
                let path = self.add(folder, word);
                if number == 0 || interprets {
                    self.executed.extend(path);
                }
            }
        }
        self.add_implied(simple, folder);
    }

    /// Adds whatever the words of a command could name, in every folder that it mentions.
    fn of_text(&mut self, command: &[String], effects: &ShellEffects, is_folder: IsFolder<'_>) {
        let workspace = self.workspace;
        let words: BTreeSet<&str> = command.iter().flat_map(|argument| words(argument)).collect();
        let mut folders = BTreeSet::from([workspace.to_path_buf()]);
        folders.extend(effects.commands.iter().filter_map(|simple| simple.cwd.as_ref().map(PathBuf::from)));
        folders.extend(words.iter().map(|word| normalise_path(&workspace.join(word))).filter(|path| is_folder(path)));
        for folder in folders.iter().filter(|folder| folder.starts_with(workspace)) {
            for word in &words {
                self.add(folder, word);
            }
        }
    }

    /// What a program runs although nobody names it: a Makefile, a module of Python.
    fn add_implied(&mut self, simple: &SimpleCommand, folder: &Path) {
        let implied = IMPLIED.iter().filter(|(program, _)| *program == simple.program).flat_map(|(_, names)| *names);
        for name in implied {
            self.add(folder, name);
            for word in simple.argv.iter().skip(1) {
                self.add(&folder.join(word), name);
            }
        }
        if !simple.program.starts_with("python") {
            return;
        }
        for (option, module) in simple.argv.iter().zip(simple.argv.iter().skip(1)) {
            self.add(&folder.join(option), "__main__.py");
            self.add(&folder.join(module), "__main__.py");
            if option == "-m" {
                let module = module.replace('.', "/");
                self.add(folder, &format!("{module}.py"));
                self.add(&folder.join(&module), "__main__.py");
            }
        }
    }

    /// Adds what a word names, and returns it.
    fn add(&mut self, folder: &Path, word: &str) -> Option<PathBuf> {
        if word.is_empty() || word.len() > MAX_WORD_CHARS || word.contains('\0') {
            return None;
        }
        let path = normalise_path(&folder.join(word));
        let inside = path.starts_with(self.workspace) && path != self.workspace;
        if inside && self.paths.len() <= MAX_NAMED_PATHS {
            self.paths.insert(path.clone());
        }
        inside.then_some(path)
    }
}

/// Files that the command changes itself: their content is its result, and no person has to look at it.
fn written(effects: &ShellEffects) -> impl Iterator<Item = PathBuf> {
    let plain = |path: &&EffectPath| !path.glob && !path.recursive;
    let lists = [&effects.writes, &effects.creates, &effects.deletes];
    lists.into_iter().flatten().filter(plain).map(|path| PathBuf::from(&path.path)).collect::<Vec<_>>().into_iter()
}

/// The parts of an argument that could be paths.
fn words(argument: &str) -> impl Iterator<Item = &str> {
    let divides = |letter: char| letter.is_whitespace() || "'\"`;|&<>(){}[]$=,:!*?\\".contains(letter);
    argument.split(divides).chain([argument])
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hooks::hook;

    fn named(command: &[&str]) -> Vec<String> {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let hook = Hook { action: Action::Command(command), ..hook("h") };
        let paths = named_paths(&hook, Path::new("/w"), &|_| false).into_iter();
        paths.map(|path| path.strip_prefix("/w").unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_command_names_its_scripts_however_it_starts_them() {
        for (command, file) in [
            (&["./scripts/fmt.sh"][..], "scripts/fmt.sh"),
            (&["scripts/../scripts/fmt.sh"], "scripts/fmt.sh"),
            (&["sh", "scripts/fmt.sh", "--fast"], "scripts/fmt.sh"),
            (&["sh", "-c", "cd scripts && ./fmt.sh"], "scripts/fmt.sh"),
            (&["sh", "-c", "exec \"./scripts/fmt.sh\" \"$DISPATCH_FILE\""], "scripts/fmt.sh"),
            (&["env", "A=1", "nice", "./scripts/fmt.sh"], "scripts/fmt.sh"),
            (&["bash", "-c", "source ./lib.sh; run"], "lib.sh"),
            (&["bash", "-c", ". lib.sh"], "lib.sh"),
            (&["python3", "-c", "exec(open('tools/x.py').read())"], "tools/x.py"),
            (&["python3", "-m", "tools.fmt"], "tools/fmt.py"),
            (&["python3", "tools"], "tools/__main__.py"),
            (&["make", "-C", "build", "all"], "build/Makefile"),
            (&["npm", "run", "fmt"], "package.json"),
            (&["tool", "--config=conf/tool.toml"], "conf/tool.toml"),
            (&["/w/scripts/fmt.sh"], "scripts/fmt.sh"),
            (&["sh", "-c", "$(cat scripts/fmt.sh)"], "scripts/fmt.sh"),
            (&["sh", "-c", "cat scripts/fmt.sh | sh"], "scripts/fmt.sh"),
            (&["sh", "-c", "eval \"$(cat scripts/fmt.sh)\""], "scripts/fmt.sh"),
            (&["sh", "-c", "sh < scripts/fmt.sh"], "scripts/fmt.sh"),
            (&["xargs", "-a", "list", "./scripts/fmt.sh"], "scripts/fmt.sh"),
            (&["sh", "-c", "find . -name '*.x' -exec ./scripts/fmt.sh {} +"], "scripts/fmt.sh"),
            (&["sh", "-c", "cp scripts/fmt.sh /tmp/x; /tmp/x"], "scripts/fmt.sh"),
            (&["sh", "-c", "echo x >> run.sh; sh run.sh"], "run.sh"),
        ] {
            assert!(named(command).iter().any(|path| path == file), "{command:?}: {:?}", named(command));
        }
    }

    #[test]
    fn what_a_command_writes_is_its_result() {
        for (command, file) in [
            (&["sh", "-c", "date >> out.txt"][..], "out.txt"),
            (&["sh", "-c", "wc -w \"$DISPATCH_FILE\" > counts/now.txt"], "counts/now.txt"),
            (&["touch", "stamp"], "stamp"),
            (&["sh", "-c", "sed -i s/a/b/ notes.md"], "notes.md"),
            // What is only looked at is no part of what runs.
            (&["sh", "-c", "cat notes.md; ./scripts/fmt.sh"], "notes.md"),
            (&["sh", "-c", "until [ -e release ]; do sleep 0.02; done; cat"], "release"),
            (&["wc", "-w", "notes.md"], "notes.md"),
        ] {
            assert!(!named(command).iter().any(|path| path == file), "{command:?}: {:?}", named(command));
        }
    }

    #[test]
    fn what_is_outside_is_not_of_the_repository() {
        assert_eq!(named(&["/bin/sh", "../x.sh", "/etc/passwd"]), Vec::<String>::new());
    }
}
