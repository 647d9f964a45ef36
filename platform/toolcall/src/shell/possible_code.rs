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
    "more",
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
        if TEXT_ONLY.contains(&call.program) {
            return;
        }
        let words = match call.program {
            "git" => git_code(call.arguments),
            program => without_texts(program, call.arguments),
        };
        let text = words.join(" ");
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
        let texts: Vec<String> = self
            .written
            .texts()
            .filter(|(path, _)| {
                names
                    .iter()
                    .any(|(program, name)| path.ends_with(name.as_str()) && !TEXT_ONLY.contains(&program.as_str()))
            })
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
    }
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
    const OPTIONS: &[&str] =
        &["--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager", "-x", "-u", "-O", "-c"];
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
