//! Whether the commit that git is making replaces the last one. Git does not tell its hooks, but its command line does,
//! and so does the time of the author, which an amended commit keeps.

use dispatch_os::{environment, process, time};

use crate::query::git_repository::GitRepository;

/// Options of git before the name of the command that take the next word.
const GIT_VALUES: [&str; 6] = ["-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path"];
/// Options of `git commit` that take the next word.
const COMMIT_VALUES: [&str; 8] = ["-m", "-F", "-C", "-c", "-t", "--message", "--file", "--author"];
/// The shortest spelling that git takes for `--amend`.
const SHORTEST: &str = "--am";
/// A commit made in the same seconds may have the same time without being the same commit.
const MIN_AGE_S: i64 = 3;

/// Whether the hook runs in a `git commit --amend`.
#[must_use]
pub(crate) fn replaces_head(git: &GitRepository) -> bool {
    let commands = process::ancestors();
    let stated = commands.iter().find_map(|ancestor| is_amend(&ancestor.arguments));
    stated.unwrap_or_else(|| keeps_author_time(git))
}

/// Whether a command line amends; `None` if it is not `git commit`.
fn is_amend(arguments: &[String]) -> Option<bool> {
    let (program, rest) = arguments.split_first()?;
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    if name.trim_end_matches(".exe") != "git" {
        return None;
    }
    let mut words = rest.iter().map(String::as_str);
    let command = loop {
        match words.next()? {
            option if GIT_VALUES.contains(&option) => drop(words.next()),
            option if option.starts_with('-') => {}
            command => break command,
        }
    };
    if command != "commit" {
        return None;
    }
    while let Some(word) = words.next() {
        match word {
            "--" => break,
            option if COMMIT_VALUES.contains(&option) => drop(words.next()),
            option if option.starts_with(SHORTEST) && "--amend".starts_with(option) => return Some(true),
            _ => {}
        }
    }
    Some(false)
}

fn keeps_author_time(git: &GitRepository) -> bool {
    let date = environment::variable("GIT_AUTHOR_DATE").ok().flatten().unwrap_or_default();
    let seconds = date.strip_prefix('@').and_then(|date| date.split(' ').next()?.parse::<i64>().ok());
    let last = git.ask("look at HEAD", ["show", "-s", "--format=%at", "HEAD"]).unwrap_or_default();
    let last = std::str::from_utf8(&last).ok().and_then(|text| text.trim().parse::<i64>().ok());
    let is_old = seconds.is_some_and(|seconds| time::unix_ms() / 1000 - seconds >= MIN_AGE_S);
    is_old && seconds == last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_whether_a_commit_is_amended() {
        let amends = |text: &str| is_amend(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for yes in ["git commit --amend -m x", "/usr/bin/git -c a=b commit -q --amen", "git -C d commit -m x --am"] {
            assert_eq!(amends(yes), Some(true), "{yes}");
        }
        for no in ["git commit -m --amend", "git commit -a -m x", "git commit -- --amend", "git commit --all"] {
            assert_eq!(amends(no), Some(false), "{no}");
        }
        for none in ["sh .git/hooks/commit-msg x", "git rebase -i", "git", "gitk commit --amend"] {
            assert_eq!(amends(none), None, "{none}");
        }
    }
}
