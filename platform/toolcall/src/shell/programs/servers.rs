//! Programs that serve, watch or follow until they are stopped: by program and by the place of its words.
//!
//! Pure.

mod scripts;
mod tables;

use super::super::command::Invocation;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime};
use super::super::unbounded::UnboundedKind;
use tables::ENDLESS;
pub(in crate::shell) use tables::EndlessProgram;

/// Words with which every program only talks about itself.
const ABOUT: &[&str] = &[
    "--help",
    "-h",
    "-help",
    "--version",
    "-version",
    "-V",
    "help",
    "version",
    "--dry-run",
    "--dry",
    "--once",
    "--single-run",
    "--no-watch",
];

/// Notes a program that does not end by itself, unless something stops it.
pub(super) fn note(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let rows = interpreter.rows(call.program);
    if call.context.lifetime == Lifetime::Open && is_endless(call.program, call.arguments, &rows.endless) {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}

/// The rows of a program, whatever number its name ends with.
pub(in crate::shell) fn endless_rows(program: &str) -> Vec<&'static EndlessProgram> {
    let program = without_version(program);
    ENDLESS.iter().filter(|row| row.names.contains(&program)).collect()
}

fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn is_endless(program: &str, arguments: &[ShellField], rows: &[&EndlessProgram]) -> bool {
    let words: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    let lists = |word: &&str| *word == "--list" || word.starts_with("--list-") || word.starts_with("--print-");
    if words.iter().any(|word| ABOUT.contains(word)) || words.iter().any(lists) {
        return false;
    }
    let program = without_version(program);
    // `dstat DELAY COUNT` ends.
    if program == "dstat" {
        return words.iter().filter(|word| word.parse::<u32>().is_ok()).count() < 2;
    }
    scripts::starts_server(program, &words) || rows.iter().any(|row| row.applies(&words))
}

impl EndlessProgram {
    fn applies(&self, words: &[&str]) -> bool {
        let operands = self.operands(words);
        let verb = self.verbs.iter().find(|verb| {
            let parts = verb.split(' ');
            parts.clone().count() <= operands.len() && parts.zip(&operands).all(|(part, word)| part == *word)
        });
        if verb.is_none() && !self.verbs.is_empty() {
            return false;
        }
        // An option of the program itself may be spelled like one of the verb.
        let last = verb.and_then(|verb| verb.rsplit(' ').next()).filter(|_| !self.values.is_empty());
        let from = last.and_then(|last| words.iter().position(|word| *word == last)).unwrap_or(0);
        let words = words.get(from..).unwrap_or_default();
        let is_off = |at: usize| matches!(words.get(at + 1), Some(&("false" | "no" | "0")));
        let gives = |options: &[&str]| {
            words.iter().enumerate().any(|(at, word)| {
                options.iter().any(|option| spells(word, option)) && !(word.starts_with("--") && is_off(at))
            })
        };
        (self.options.is_empty() || gives(self.options)) && !gives(self.unless)
    }

    /// The words that are neither options nor their values.
    fn operands<'w>(&self, words: &[&'w str]) -> Vec<&'w str> {
        let mut operands = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if self.values.contains(word) {
                words.next();
            } else if !word.starts_with('-') {
                operands.push(*word);
            }
        }
        operands
    }
}

/// Whether a word gives an option: as it is, with `=value`, with its value attached, or as a letter of a cluster.
fn spells(word: &str, option: &str) -> bool {
    if word == option {
        return true;
    }
    let long = option.starts_with("--") || !option.starts_with('-');
    match option.strip_prefix('-').filter(|letter| !long && letter.len() == 1) {
        Some(letter) => {
            word.starts_with('-')
                && !word.starts_with("--")
                && word.get(1..).is_some_and(|rest| {
                    rest.chars().take_while(char::is_ascii_alphabetic).any(|c| letter.starts_with(c))
                })
        }
        None => word
            .strip_prefix(option)
            .is_some_and(|rest| rest.starts_with('=') && !matches!(rest, "=false" | "=no" | "=0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endless(line: &str) -> bool {
        let mut words = line.split(' ');
        let program = words.next().unwrap_or_default();
        let arguments: Vec<ShellField> = words.map(ShellField::literal).collect();
        is_endless(program, &arguments, &endless_rows(program))
    }

    #[test]
    fn a_word_counts_only_in_its_place() {
        for line in [
            "npm run dev",
            "npm start",
            "npm --prefix web run dev",
            "pnpm dev",
            "pnpm --filter web dev",
            "yarn start",
            "yarn workspace web start",
            "bun run dev",
            "npm run start:dev",
            "npm run watch",
            "vite",
            "next dev",
            "ng serve",
            "python3 -m http.server 80",
            "python manage.py runserver",
            "flask run",
            "docker compose up",
            "docker logs -f web",
            "docker compose -f a.yml logs --follow",
            "kubectl logs -f web",
            "tail -f x",
            "kubectl get pods -w",
            "tsc --watch",
            "cargo watch -x test",
            "php artisan serve",
            "hugo server",
            "rails server",
            "journalctl -fu app",
            "tail -fn5 x",
            "gradle bootRun",
            "docker stats",
        ] {
            assert!(endless(line), "{line}");
        }
        for line in [
            "npm run build",
            "npm install dev",
            "npm run dev:build",
            "pnpm add dev",
            "yarn add start",
            "npm test",
            "poetry install --with dev",
            "pytest -k dev",
            "cargo build --profile dev",
            "docker ps -f name=web",
            "docker compose up -d",
            "docker compose -f a.yml up --detach",
            "docker compose logs",
            "vite build",
            "next build",
            "tsc --noEmit",
            "tsc --watch=false",
            "flask db upgrade",
            "hugo",
            "kubectl get pods",
            "kubectl apply -f x",
            "tail -n 5 x",
            "python -m pytest start",
            "python serve.py",
            "cargo test serve",
            "docker stats --no-stream",
            "ctest -R start",
            "vite --help",
            "git commit -m dev",
            "conda activate dev",
            "tsc --noEmit --watch false",
            "tcpdump --list-interfaces",
            "dstat 5 4",
            "jupyter notebook list",
            "kubectl get pods -w --request-timeout=5s",
            "mysqld --print-defaults",
        ] {
            assert!(!endless(line), "{line}");
        }
    }
}
