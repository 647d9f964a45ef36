//! Programs that run code: interpreters, build tools, package managers, containers.
//!
//! Pure.

use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::foreign;
use super::super::interpreter::{CommandContext, Interpreter, Stdin};
use super::super::recorder::EffectReach;
use crate::access::Access;

const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ruby",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "R",
    "julia",
    "osascript",
    "tclsh",
    "wish",
    "guile",
    "java",
    "groovy",
    "scala",
    "kotlin",
    "swift",
    "dotnet",
    "mono",
    "erl",
    "elixir",
    "iex",
    "ghci",
    "runghc",
    "ocaml",
    "racket",
    "sbcl",
    "clojure",
    "ts-node",
    "tsx",
    "irb",
    "ipython",
    "jshell",
];

const BUILDERS: &[&str] = &[
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "pnpx",
    "bunx",
    "cargo",
    "make",
    "gmake",
    "cmake",
    "ninja",
    "meson",
    "go",
    "pip",
    "pip3",
    "pipx",
    "uv",
    "uvx",
    "poetry",
    "pdm",
    "hatch",
    "conda",
    "mamba",
    "pytest",
    "tox",
    "nox",
    "mypy",
    "ruff",
    "black",
    "eslint",
    "prettier",
    "tsc",
    "jest",
    "vitest",
    "mocha",
    "webpack",
    "vite",
    "rollup",
    "esbuild",
    "turbo",
    "nx",
    "lerna",
    "gulp",
    "grunt",
    "gradle",
    "gradlew",
    "mvn",
    "ant",
    "sbt",
    "bazel",
    "buck",
    "bundle",
    "gem",
    "rake",
    "rails",
    "rspec",
    "composer",
    "phpunit",
    "mix",
    "rebar3",
    "stack",
    "cabal",
    "dune",
    "opam",
    "zig",
    "rustc",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "cc",
    "c++",
    "ld",
    "as",
    "ar",
    "javac",
    "kotlinc",
    "swiftc",
    "xcodebuild",
    "pod",
    "flutter",
    "dart",
    "just",
    "task",
    "pre-commit",
    "husky",
    "lefthook",
    "nix",
    "nix-shell",
    "nix-build",
    "guix",
    "apt",
    "apt-get",
    "dpkg",
    "yum",
    "dnf",
    "rpm",
    "pacman",
    "apk",
    "brew",
    "port",
    "snap",
    "flatpak",
    "zypper",
    "rustup",
    "nvm",
    "pyenv",
    "rbenv",
    "asdf",
    "mise",
    "volta",
    "corepack",
    "docker-compose",
    "ansible",
    "ansible-playbook",
    "vagrant",
    "packer",
    "storybook",
    "playwright",
    "cypress",
    "ctest",
    "protoc",
    "buf",
    "sqlx",
    "ldd",
    "gdb",
    "lldb",
    "valgrind",
    "perf",
    "dc",
    "bc",
];

/// Words by which a build tool says that it reaches the network.
const FETCHING_WORDS: &[&str] = &[
    "install", "add", "update", "upgrade", "get", "publish", "download", "fetch", "ci", "sync", "i", "login", "search",
    "outdated", "audit",
];

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    let interpreted = INTERPRETERS.contains(&call.program) || is_versioned(call.program);
    if interpreted {
        interpret(interpreter, call);
    } else if matches!(call.program, "docker" | "podman" | "nerdctl") {
        container(interpreter, call);
    } else if BUILDERS.contains(&call.program) {
        build(interpreter, call);
    } else {
        return false;
    }
    true
}

/// Whether a program builds something, as a compiler does.
pub(super) fn builds(program: &str) -> bool {
    BUILDERS.contains(&program)
}

/// `python3.12` and the like.
fn is_versioned(program: &str) -> bool {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    stem != program && INTERPRETERS.contains(&stem)
}

fn asks_version(call: &Invocation<'_>) -> bool {
    let known = |field: &ShellField| matches!(field.known(), Some("--version" | "-V" | "-version" | "--help"));
    call.arguments.len() == 1 && call.arguments.iter().all(known)
}

fn interpret(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if asks_version(call) {
        return;
    }
    interpreter.recorder.code(UnknownReason::ForeignCode, call.program);
    let language = foreign::language_of(call.program);
    let inline = language.is_some_and(|language| inline_code(interpreter, call, language));
    let is_module = call.arguments.iter().any(|field| field.text == "-m");
    // `deno run FILE` has a verb, and `-` is the input.
    let verb = |field: &&ShellField| matches!(call.program, "deno" | "bun") && field.text == "run";
    let mut operands = call.arguments.iter().filter(|field| !verb(field));
    let script = operands.find(|field| !field.text.starts_with('-')).filter(|_| !inline && !is_module);
    if let Some(script) = script {
        interpreter.recorder.touch(call.state, script, Access::Read, EffectReach::Itself);
    }
    let text = match (script, &call.context.stdin) {
        (Some(script), _) => interpreter.written_text(script, call.state),
        (None, Stdin::Text(text)) if !inline && !is_module => Some(text.clone()),
        _ => None,
    };
    if let (Some(text), Some(language)) = (text, language) {
        foreign::judge(interpreter, language, &text, call.state, &call.context.wrapped(call.program));
    }
}

/// Follows the code that the options hold; `false` if they hold none.
pub(super) fn inline_code(interpreter: &mut Interpreter, call: &Invocation<'_>, language: foreign::Language) -> bool {
    const OPTIONS: &[&str] = &[
        "-c",
        "-e",
        "-E",
        "-r",
        "-p",
        "-n",
        "-B",
        "-R",
        "--eval",
        "--print",
        "--execute",
        "--run",
        "eval",
        "-pe",
        "-ne",
    ];
    let context = call.context.wrapped(call.program);
    let mut found = false;
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text.starts_with('-') || text == "eval" {
            let cluster = text.len() <= 6 && !text.starts_with("--") && text.ends_with(['e', 'E', 'c', 'r']);
            let attached = ["-c", "-e", "-r", "-E"].iter().find_map(|option| text.strip_prefix(option));
            if let Some(code) = attached.filter(|code| code.contains(['(', ' ', '`', '"'])) {
                foreign::judge(interpreter, language, code, call.state, &context);
                found = true;
            } else if OPTIONS.contains(&text) || cluster {
                found |= follow_word(interpreter, call, language, words.next(), &context);
            } else if let Some((_, code)) = text.split_once('=').filter(|(name, _)| OPTIONS.contains(name)) {
                foreign::judge(interpreter, language, code, call.state, &context);
                found = true;
            }
        } else {
            break;
        }
    }
    found
}

fn follow_word(
    interpreter: &mut Interpreter,
    call: &Invocation<'_>,
    language: foreign::Language,
    word: Option<&ShellField>,
    context: &CommandContext,
) -> bool {
    let Some(word) = word else {
        return false;
    };
    match word.exact {
        true => foreign::judge(interpreter, language, &word.text, call.state, context),
        false => interpreter.recorder.opaque_text(&word.raw),
    }
    true
}

fn build(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if asks_version(call) && !matches!(call.program, "bc" | "dc" | "ldd") {
        return;
    }
    let fetches = call.arguments.iter().any(|field| FETCHING_WORDS.contains(&field.text.as_str()));
    if fetches || matches!(call.program, "npx" | "pnpx" | "bunx" | "uvx" | "apt" | "apt-get" | "brew") {
        interpreter.recorder.network();
    }
    interpreter.recorder.code(UnknownReason::ProjectCode, call.program);
}

fn container(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let looks = ["ps", "images", "version", "info", "inspect", "logs", "port", "top", "stats", "history"];
    let word = call.arguments.first().and_then(ShellField::known);
    if word.is_some_and(|word| looks.contains(&word)) {
        return;
    }
    interpreter.recorder.network();
    interpreter.recorder.code(UnknownReason::Remote, call.program);
}
