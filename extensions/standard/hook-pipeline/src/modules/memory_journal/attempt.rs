//! What a tool call tried, and how much one attempt is a correction of another.
//!
//! Pure.

use dispatch_toolcall::{ShellContext, ShellEffects, ToolCall, analyze};

use crate::memory::CommandSimilarity;

/// Programs that only prepare for the one that matters.
const PREPARING: [&str; 9] = ["cd", "pushd", "popd", "export", "set", "source", ".", "true", "echo"];

/// What a tool call tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandAttempt {
    /// The program of a command; for other tools the tool and its file.
    pub(super) program: String,
    /// The command; for other tools the tool and its file.
    pub(super) shown: String,
    /// What the program was given, without its options.
    words: Vec<String>,
}

impl CommandAttempt {
    /// What a call tries. `relative` gives a path as people write it.
    pub(super) fn of(call: &ToolCall, relative: &dyn Fn(&str) -> String) -> Self {
        if let Some(command) = &call.command {
            return Self::of_effects(command, call.effects.as_ref());
        }
        let file = call.paths.first().map(|path| relative(&path.path)).unwrap_or_default();
        let shown = format!("{} {file}", call.name).trim_end().to_owned();
        Self { program: shown.clone(), shown, words: Vec::new() }
    }

    /// What a command tried, from its text alone.
    pub(super) fn of_command(command: &str) -> Self {
        let effects = analyze(command, &ShellContext { cwd: "", home: None });
        Self::of_effects(command, Some(&effects))
    }

    fn of_effects(command: &str, effects: Option<&ShellEffects>) -> Self {
        let found = effects.map(|effects| effects.commands.as_slice()).unwrap_or_default();
        let named = || found.iter().filter(|call| !call.program.is_empty());
        let matters = |program: &str| !PREPARING.contains(&program) && !is_wrapper(program, found);
        let call = named().find(|call| matters(&call.program)).or_else(|| named().next());
        let (program, words) = match call {
            Some(call) => (call.program.clone(), call.argv.iter().skip(1).cloned().collect()),
            None => {
                let mut words = command.split_whitespace().map(str::to_owned);
                (words.next().unwrap_or_default(), words.collect::<Vec<_>>())
            }
        };
        let words = words.into_iter().filter(|word| !word.starts_with('-')).collect();
        Self { program, shown: command.to_owned(), words }
    }

    /// How much `later` corrects this attempt. Both have the same program.
    pub(super) fn likeness(&self, later: &Self) -> CommandSimilarity {
        if self.shown == later.shown {
            return CommandSimilarity::Same;
        }
        let same_start = self.words.first() == later.words.first();
        if same_start || self.has_typo_repaired_in(later) { CommandSimilarity::Close } else { CommandSimilarity::Loose }
    }

    fn has_typo_repaired_in(&self, later: &Self) -> bool {
        let only_here = self.words.iter().filter(|word| !later.words.contains(word));
        let only_there: Vec<&String> = later.words.iter().filter(|word| !self.words.contains(word)).collect();
        only_here.into_iter().any(|word| only_there.iter().any(|other| is_typo(word, other)))
    }
}

/// Whether another program of the command was started by this one.
fn is_wrapper(program: &str, commands: &[dispatch_toolcall::SimpleCommand]) -> bool {
    commands.iter().any(|call| call.wrapped_by.iter().any(|wrapper| wrapper == program))
}

/// One slip in a short word, two in a long one; two letters that changed places are one slip.
fn is_typo(left: &str, right: &str) -> bool {
    const MAX_CHARS: usize = 40;
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let longest = left.len().max(right.len());
    if !(2..=MAX_CHARS).contains(&longest) {
        return false;
    }
    slips(&left, &right) <= if longest > 6 { 2 } else { 1 }
}

/// The number of letters to add, drop, change or swap.
fn slips(left: &[char], right: &[char]) -> usize {
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (i, here) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, there) in right.iter().enumerate() {
            let changed = rows[i][j] + usize::from(here != there);
            let mut best = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *here == right[j - 1] && left[i - 1] == *there {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_matters_is_found() {
        let table = [
            ("npm tset", "npm"),
            ("cd web && npm tset 2>&1 | tail -5", "npm"),
            ("sudo npm i", "npm"),
            ("FOO=1 timeout 5 cargo tset", "cargo"),
            ("/usr/bin/git push", "git"),
            ("cd web", "cd"),
            ("echo hi", "echo"),
            ("", ""),
        ];
        for (command, program) in table {
            assert_eq!(CommandAttempt::of_command(command).program, program, "{command}");
        }
    }

    #[test]
    fn a_correction_is_told_from_another_command() {
        let table = [
            ("npm tset", "npm test", CommandSimilarity::Close),
            ("npm tset", "npm run test", CommandSimilarity::Close),
            ("git psuh origin", "git push origin", CommandSimilarity::Close),
            ("git push", "git push -u origin main", CommandSimilarity::Close),
            ("cargo test --al", "cargo test --all", CommandSimilarity::Close),
            ("tar xf a.tgz", "tar xzf a.tgz", CommandSimilarity::Close),
            ("npm test", "npm test", CommandSimilarity::Same),
            ("git push origin main", "git pull origin main", CommandSimilarity::Loose),
            ("git push", "git status", CommandSimilarity::Loose),
            ("ls missing", "ls src", CommandSimilarity::Loose),
            ("make a", "make b", CommandSimilarity::Loose),
        ];
        for (from, to, expected) in table {
            assert_eq!(
                CommandAttempt::of_command(from).likeness(&CommandAttempt::of_command(to)),
                expected,
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn slips_are_counted() {
        let count =
            |left: &str, right: &str| slips(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>());
        for (left, right, expected) in
            [("", "", 0), ("a", "", 1), ("tset", "test", 1), ("push", "pull", 2), ("é", "e", 1)]
        {
            assert_eq!(count(left, right), expected, "{left} {right}");
            assert_eq!(count(right, left), expected, "{right} {left}");
        }
    }
}
