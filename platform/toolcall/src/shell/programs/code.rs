//! Programs that run code: interpreters, build tools, package managers, containers.
//!
//! Pure.

use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime};
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use crate::access::Access;

const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "node", "nodejs", "deno", "bun", "ruby", "php", "lua", "luajit", "Rscript", "R",
    "julia", "tclsh", "wish", "guile", "java", "groovy", "scala", "kotlin", "swift", "dotnet", "mono", "erl", "elixir",
    "iex", "ghci", "runghc", "ocaml", "racket", "sbcl", "clojure", "ts-node", "tsx", "irb", "ipython", "jshell",
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
    "ex",
    "ed",
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
];

/// Words by which a build tool says that it reaches the network.
const FETCHING_WORDS: &[&str] = &[
    "install", "add", "update", "upgrade", "get", "publish", "download", "fetch", "ci", "sync", "i", "login", "search",
    "outdated", "audit",
];

/// Words by which a tool starts something that serves until it is stopped.
const SERVING_WORDS: &[&str] = &["serve", "dev", "start", "watch", "runserver", "http.server", "--watch"];

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
    let inline = call.arguments.iter().any(|field| {
        matches!(field.text.as_str(), "-c" | "-e" | "-E" | "-r" | "-m" | "-p" | "--eval" | "--print" | "eval")
    });
    if let Some(script) = call.arguments.iter().find(|field| !field.text.starts_with('-')).filter(|_| !inline) {
        interpreter.recorder.touch(call.state, script, Access::Read, EffectReach::Itself);
    }
    note_server(interpreter, call);
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
    note_server(interpreter, call);
}

fn note_server(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let serves = call.arguments.iter().any(|field| SERVING_WORDS.contains(&field.text.as_str()));
    if serves && call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}

fn container(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let looks = ["ps", "images", "version", "info", "inspect", "logs", "port", "top", "stats", "history"];
    let word = call.arguments.first().and_then(ShellField::known);
    if word.is_some_and(|word| looks.contains(&word)) {
        let follows = call.arguments.iter().any(|field| matches!(field.text.as_str(), "-f" | "--follow"));
        if follows && call.context.lifetime == Lifetime::Open {
            interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
        }
        return;
    }
    interpreter.recorder.network();
    interpreter.recorder.code(UnknownReason::Remote, call.program);
}
