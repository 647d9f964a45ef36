//! `GT01` to `GT11`: git commands that lose work which nothing brings back.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, resolve};

use super::JudgedCommand;
use super::location::{PathLocation, is_wild};
use super::options::ProgramOptions;
use super::rules::{GT01, GT02, GT03, GT04, GT05, GT06, GT07, GT08, GT09, GT10, GT11, RuleFindings};

/// Options before the subcommand that take the next word.
const GLOBAL_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];
/// An alias may stand for another one; more steps than this are a circle.
const MAX_ALIAS_STEPS: usize = 4;

/// One git call.
struct GitCall<'a> {
    shell: &'a JudgedCommand<'a>,
    /// The folder it works in, if it is known.
    folder: Option<String>,
    /// Whether every word of it is known.
    exact: bool,
}

/// Judges a call of git.
pub(super) fn judge(shell: &JudgedCommand<'_>, command: &SimpleCommand, findings: &mut RuleFindings) {
    let mut git = GitCall { shell, folder: command.cwd.clone(), exact: command.exact };
    let mut aliases: Vec<(&str, &str)> = Vec::new();
    let mut words = command.argv.get(1..).unwrap_or_default();
    while let Some((first, rest)) = words.split_first() {
        if !first.starts_with('-') {
            break;
        }
        let takes_next = GLOBAL_VALUES.contains(&first.as_str());
        let value = if takes_next { rest.first().map(String::as_str) } else { None };
        match (first.as_str(), value) {
            ("-C", Some(folder)) => git.enter(folder),
            ("-c", Some(setting)) => aliases.extend(alias(setting)),
            _ => {}
        }
        words = rest.get(usize::from(takes_next)..).unwrap_or_default();
    }
    let Some((subcommand, arguments)) = words.split_first() else {
        return;
    };
    let mut subcommand = subcommand.clone();
    let mut arguments = arguments.to_vec();
    for _ in 0..MAX_ALIAS_STEPS {
        let Some((_, meaning)) = aliases.iter().find(|(name, _)| *name == subcommand) else {
            break;
        };
        let mut meant =
            meaning.trim_start_matches('!').split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
        subcommand = meant.by_ref().find(|word| word != "git").unwrap_or_default();
        arguments.splice(0..0, meant);
    }
    git.judge(&subcommand, &arguments, findings);
}

fn alias(setting: &str) -> Option<(&str, &str)> {
    setting.get(..6).filter(|section| section.eq_ignore_ascii_case("alias."))?;
    setting.get(6..)?.split_once('=')
}

impl GitCall<'_> {
    fn enter(&mut self, folder: &str) {
        let home = self.shell.workspace.home();
        self.folder = self.folder.as_deref().map(|here| resolve(folder, here, home));
    }

    fn judge(&self, subcommand: &str, words: &[String], findings: &mut RuleFindings) {
        match subcommand {
            "reset" => {
                let options = ProgramOptions::parse(words, "", &[]);
                if options.has(&["--hard"]) {
                    findings.push(&GT01, "git reset --hard");
                }
            }
            "clean" => self.clean(words, findings),
            "checkout" | "restore" | "switch" | "checkout-index" | "read-tree"
                if self.discards_tree(subcommand, words) =>
            {
                findings.push(&GT03, &format!("git {subcommand}"));
            }
            "push" => push(words, self.exact, findings),
            "branch" => branch(words, findings),
            "stash" if matches!(words.first().map(String::as_str), Some("drop" | "clear")) => {
                findings.push(&GT06, "git stash")
            }
            "reflog" if matches!(words.first().map(String::as_str), Some("expire" | "delete")) => {
                findings.push(&GT07, "git reflog")
            }
            "update-ref" => {
                let options = ProgramOptions::parse(words, "m", &[]);
                if options.has(&["d"]) && options.operands.first().is_some_and(|name| name.starts_with("refs/heads/")) {
                    findings.push(&GT05, options.operands.first().copied().unwrap_or_default());
                }
            }
            "filter-branch" | "filter-repo" => findings.push(&GT08, &format!("git {subcommand}")),
            "gc" | "prune" => prune(subcommand, words, findings),
            "worktree" => {
                let options = ProgramOptions::parse(words, "", &[]);
                if options.operands.first() == Some(&"remove") && options.has(&["f", "--force"]) {
                    findings.push(&GT11, "git worktree remove");
                }
            }
            _ => {}
        }
    }

    fn clean(&self, words: &[String], findings: &mut RuleFindings) {
        let options = ProgramOptions::parse(words, "e", &["--exclude"]);
        let acts = options.has(&["f", "--force"]) && !options.has(&["n", "--dry-run", "i", "--interactive"]);
        let whole = match options.operands.is_empty() {
            true => self.is_whole("."),
            false => options.operands.iter().any(|path| self.is_whole(path)),
        };
        if acts && whole {
            findings.push(&GT02, "git clean");
        }
    }

    fn discards_tree(&self, subcommand: &str, words: &[String]) -> bool {
        let options = ProgramOptions::parse(
            words,
            "bBcCs",
            &["--source", "--orphan", "--conflict", "--pathspec-from-file", "--prefix"],
        );
        if options.has(&["p", "--patch"]) {
            return false;
        }
        let forced = options.has(&["f", "--force", "--discard-changes"]);
        match subcommand {
            "restore" => {
                let tree = !options.has(&["S", "--staged"]) || options.has(&["W", "--worktree"]);
                tree && options.operands.iter().any(|path| self.is_whole(path))
            }
            "switch" => forced,
            // With a prefix the files are written somewhere else.
            "checkout-index" => forced && options.has(&["a", "--all"]) && !options.has(&["--prefix"]),
            "read-tree" => options.has(&["--reset"]) && options.has(&["u"]),
            _ => {
                let paths = options.operands.get(options.before_dashes.unwrap_or(0)..).unwrap_or_default();
                let makes_branch = options.has(&["b", "B", "--orphan"]);
                (forced && options.before_dashes.is_none())
                    || (!makes_branch && paths.iter().any(|path| self.is_whole(path)))
            }
        }
    }

    /// Whether a pathspec stands for the whole working tree, or for one outside the workspace.
    fn is_whole(&self, pathspec: &str) -> bool {
        if let Some(magic) = pathspec.strip_prefix(':') {
            let path = match magic.strip_prefix('(') {
                Some(long) => long.split_once(')').map_or("", |(_, path)| path),
                None => magic.trim_start_matches('/'),
            };
            // An exclusion alone means everything else.
            let excludes = magic.starts_with(['!', '^']) || magic.starts_with("(exclude)");
            return excludes || path.split('/').all(|part| matches!(part, "" | ".") || is_wild(part));
        }
        let looks_like_path = pathspec.starts_with(['.', '/', '*']);
        match &self.folder {
            Some(folder) => {
                let location = self.shell.workspace.locate(&resolve(pathspec, folder, self.shell.workspace.home()));
                // A plain word may be a branch.
                looks_like_path && !matches!(location, PathLocation::Inside | PathLocation::Scratch)
            }
            None => looks_like_path && pathspec.split('/').all(|part| matches!(part, "" | "." | "..") || is_wild(part)),
        }
    }
}

fn push(words: &[String], exact: bool, findings: &mut RuleFindings) {
    let options = ProgramOptions::parse(words, "o", &["--repo", "--push-option", "--receive-pack", "--exec"]);
    if options.has(&["n", "--dry-run"]) {
        return;
    }
    let refspecs = options.operands.get(1..).unwrap_or_default();
    // `--force` may not be cut short: that would also mean `--force-with-lease`.
    let forced = words.iter().take_while(|word| *word != "--").any(|word| word == "--force") || options.has(&["f"]);
    let lease = options.has(&["--force-with-lease"]) && !forced;
    if forced || (!lease && refspecs.iter().any(|spec| spec.starts_with('+'))) {
        findings.push(&GT04, "git push");
    }
    let names: Vec<&str> = match options.has(&["d", "--delete"]) {
        true => refspecs.to_vec(),
        false => refspecs.iter().filter_map(|spec| spec.trim_start_matches('+').strip_prefix(':')).collect(),
    };
    let whole = options.has(&["--mirror", "--prune"]) || (names.is_empty() && options.has(&["d", "--delete"]));
    if whole || names.iter().any(|name| !exact || is_lasting(name)) {
        findings.push(&GT09, "git push");
    }
}

/// Whether others rely on a branch or tag of this name; a branch for one change goes when the change is in.
fn is_lasting(name: &str) -> bool {
    const BRANCHES: &[&str] =
        &["main", "master", "trunk", "develop", "dev", "staging", "stage", "production", "prod", "gh-pages", "HEAD"];
    const BEGINNINGS: &[&str] = &["release", "stable", "support", "refs/tags/", "deploy"];
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    let version = branch.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
    version
        || is_wild(branch)
        || branch.contains('$')
        || BRANCHES.contains(&branch)
        || BEGINNINGS.iter().any(|beginning| branch.starts_with(beginning))
}

fn branch(words: &[String], findings: &mut RuleFindings) {
    let options = ProgramOptions::parse(words, "u", &["--set-upstream-to"]);
    let deletes = options.has(&["d", "--delete"]);
    if options.has(&["D"]) || (deletes && options.has(&["f", "--force"])) {
        findings.push(&GT05, options.operands.first().copied().unwrap_or_default());
    }
}

fn prune(subcommand: &str, words: &[String], findings: &mut RuleFindings) {
    let options = ProgramOptions::parse(words, "", &["--expire"]);
    let now = match subcommand {
        "gc" => options.values(&["--prune"]).any(|date| matches!(date, "now" | "all")),
        _ => !options.has(&["n", "--dry-run"]),
    };
    if now {
        findings.push(&GT10, &format!("git {subcommand}"));
    }
}
