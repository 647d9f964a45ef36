//! Keeps texts that a program may run although no table says so: the net below everything else.
//!
//! Pure.

use super::command::Invocation;
use super::destruction::destroyed_words;
use super::field::ShellField;
use super::interpreter::{Interpreter, Stdin};

/// Programs whose words and input are text: they print, search, store or send it.
const TEXT_ONLY: &[&str] = &[
    "cat",
    "tee",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "gsed",
    "jq",
    "yq",
    "wc",
    "head",
    "tail",
    "sort",
    "uniq",
    "cut",
    "tr",
    "diff",
    "gh",
    "glab",
    "curl",
    "http",
    "https",
    "xh",
    "logger",
    "wall",
    "say",
    "notify-send",
    "cowsay",
    "figlet",
    "read",
    "dispatch",
    "dispatch-hook",
    "tldr",
    "cheat",
    "apropos",
    "whatis",
    "ls",
    "which",
    "whereis",
    "type",
    "pbcopy",
    "xclip",
    "wl-copy",
    "clip",
    "nl",
    "fold",
    "fmt",
    "column",
    "md5sum",
    "sha256sum",
    "claude",
    "codex",
    "gemini",
    "qwen",
    "opencode",
    "aider",
    "llm",
    "jj",
    "hg",
    "svn",
    "bd",
    "glow",
    "mdcat",
    "bat",
    "batcat",
    "rm",
    "rmdir",
    "mv",
    "cp",
    "mkdir",
    "touch",
    "ln",
    "chmod",
    "chown",
    "chgrp",
];
/// Options whose value is a text, whatever the program.
const TEXT_OPTIONS: &[&str] = &[
    "--message",
    "--title",
    "--body",
    "--description",
    "--notes",
    "--note",
    "--comment",
    "--text",
    "--subject",
    "--grep",
    "-k",
    "--reason",
    "--testNamePattern",
    "--test-name-pattern",
    "--summary",
    "--because",
];
/// Programs whose `-t` is the name of a test.
const TESTS: &[&str] = &["jest", "vitest", "mocha", "npm", "npx", "yarn", "pnpm", "bun", "cargo", "go", "ctest"];

impl Interpreter {
    /// Looks through the words and the input of a program that is not known to treat them as text.
    pub(super) fn note_possible_code(&mut self, call: &Invocation<'_>) {
        if matches!(call.program, "hg" | "jj") {
            self.note_settings(call.arguments);
        }
        let stores = matches!(call.program, "gh" | "glab")
            && call.arguments.first().is_some_and(|word| matches!(word.text.as_str(), "alias" | "config"));
        if TEXT_ONLY.contains(&call.program) && !stores {
            return;
        }
        let words = match call.program {
            "git" => git_code(call.arguments),
            program => without_texts(program, call.arguments),
        };
        // `ext::` writes its blanks this way, and `screen` its line ends the other.
        let text = words.join(" ").replace("% ", " ").replace("^M", "\n").replace("ext::", " ");
        self.keep_possible_code(&text);
        if let Stdin::Text(input) = &call.context.stdin
            && call.program != "git"
        {
            self.keep_possible_code(input);
        }
    }

    /// Keeps the values of `--config NAME=VALUE`: an alias, a hook or an editor may be one.
    fn note_settings(&mut self, arguments: &[ShellField]) {
        let separate = arguments.windows(2).filter(|pair| pair[0].text == "--config").map(|pair| pair[1].text.as_str());
        let attached = arguments.iter().filter_map(|word| word.text.strip_prefix("--config="));
        let settings: Vec<String> = separate.chain(attached).map(str::to_owned).collect();
        for setting in settings {
            self.keep_possible_code(&setting);
        }
    }

    /// Keeps what this command wrote to files that one of its programs then runs.
    pub(super) fn note_written_code(&mut self) {
        if self.written.texts().next().is_none() {
            return;
        }
        let names: Vec<(String, String)> = self
            .recorder
            .effects
            .commands
            .iter()
            .flat_map(|command| run_names(&command.program, &command.argv))
            .collect();
        let started = &self.started_files;
        let builds = self.recorder.effects.commands.iter().any(|command| {
            let module = command.program.starts_with("python") && command.argv.iter().any(|word| word == "pytest");
            module || PROJECT_RUNNERS.contains(&command.program.as_str())
        });
        let runs_by_itself = |path: &str| {
            path.contains("/.git/") || path.contains("/.husky/") || started.iter().any(|file| file == path)
        };
        let is_named = |path: &str| {
            names.iter().any(|(program, name)| path.ends_with(name.as_str()) && !TEXT_ONLY.contains(&program.as_str()))
        };
        let texts: Vec<String> = self
            .written
            .texts()
            .filter(|(path, _)| runs_by_itself(path) || (builds && !is_document(path)) || is_named(path))
            .map(|(_, text)| text.to_owned())
            .collect();
        for text in texts {
            self.keep_possible_code(&text);
        }
    }

    /// Keeps a text if a command inside it removes or changes something.
    pub(super) fn keep_possible_code(&mut self, text: &str) {
        if !destroyed_words(text).is_empty() {
            self.recorder.possible_code(text);
        }
        // A blank may be written with a backslash, which another shell takes away.
        if text.contains("\\ ") {
            let blanks = text.replace("\\ ", " ");
            if !destroyed_words(&blanks).is_empty() {
                self.recorder.possible_code(&blanks);
            }
        }
    }
}

/// Programs that run what files of the project say, whatever these are called.
const PROJECT_RUNNERS: &[&str] = &[
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "npx",
    "make",
    "gmake",
    "just",
    "task",
    "cargo",
    "go",
    "pytest",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "cmake",
    "ctest",
    "ninja",
    "rake",
    "rails",
    "bundle",
    "rspec",
    "mix",
    "sbt",
    "dotnet",
    "docker",
    "docker-compose",
    "podman",
    "direnv",
    "pre-commit",
    "lefthook",
    "vagrant",
    "ansible-playbook",
    "act",
];
/// Files in which commands are only written about.
const DOCUMENTS: &[&str] = &[".md", ".txt", ".rst", ".adoc", ".html", ".log", ".csv"];

fn is_document(path: &str) -> bool {
    DOCUMENTS.iter().any(|ending| path.ends_with(ending))
}

/// The files that a program may run: those that it names, and those that it finds by itself.
fn run_names(program: &str, words: &[String]) -> Vec<(String, String)> {
    let found: &[&str] = match program {
        "npm" | "pnpm" | "yarn" | "bun" | "npx" => &["/package.json"],
        "make" | "gmake" => &["/Makefile", "/makefile", "/GNUmakefile"],
        "just" => &["/justfile", "/Justfile"],
        "git" => &["/pre-commit", "/post-commit", "/commit-msg", "/post-checkout", "/pre-push"],
        "task" => &["/Taskfile.yml"],
        "cargo" => &["/build.rs", "/main.rs"],
        "rake" => &["/Rakefile"],
        "docker" | "podman" => &["/Dockerfile"],
        _ => &[],
    };
    // `sed -f FILE` is what makes a text of it a script.
    let program =
        if matches!(program, "sed" | "gsed") && words.iter().any(|word| word == "-f") { "sed -f" } else { program };
    let named = words.iter().skip(1).filter(|word| word.contains('.') && !word.starts_with('-'));
    let named = named.map(|word| format!("/{}", word.rsplit('/').next().unwrap_or(word)));
    let all = found.iter().map(|name| (*name).to_owned()).chain(named);
    all.map(|name| (program.to_owned(), name)).collect()
}

/// The words without those that are values of options for texts.
fn without_texts<'w>(program: &str, arguments: &'w [ShellField]) -> Vec<&'w str> {
    let is_text = |word: &str| TEXT_OPTIONS.contains(&word) || (word == "-t" && TESTS.contains(&program));
    let mut kept = Vec::new();
    let mut words = arguments.iter().map(ShellField::shown).peekable();
    while let Some(word) = words.next() {
        // A message has blanks in it; the one word behind another `-m` may be a program.
        let message = word == "-m" && words.peek().is_some_and(|next| next.contains(' '));
        if is_text(word) || message {
            words.next();
        } else if !word.split_once('=').is_some_and(|(name, _)| TEXT_OPTIONS.contains(&name)) {
            kept.push(word);
        }
    }
    kept
}

/// The words of git that are or hold a command.
fn git_code(arguments: &[ShellField]) -> Vec<&str> {
    const OPTIONS: &[&str] = &[
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--extcmd",
        "--open-files-in-pager",
        "-x",
        "-u",
        "-O",
        "-c",
        "--config",
        "--browser",
        "--sendmail-cmd",
        "--to-cmd",
        "--cc-cmd",
        "--header-cmd",
    ];
    let mut kept = Vec::new();
    let words: Vec<&str> = arguments.iter().map(ShellField::shown).collect();
    let sets = words.contains(&"config");
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        let attached = OPTIONS.iter().any(|option| word.starts_with(option) && word.len() > option.len());
        if attached || OPTIONS.contains(&before) || word.starts_with("ext::") || sets {
            kept.push(*word);
        }
    }
    kept
}
