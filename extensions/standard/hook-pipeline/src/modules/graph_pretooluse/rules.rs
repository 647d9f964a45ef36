//! The rules: code, severity, reason and the safer way of each.
//!
//! A rule denies where a bounded form does the job; it asks where the unbounded
//! effect may be just what the user wants.

use serde::Deserialize;

/// Findings beyond this number change nothing: the first ones already decide.
const MAX_FINDINGS: usize = 64;
/// Characters of a subject that are shown.
const MAX_SUBJECT_CHARS: usize = 120;

/// What a rule does when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// Nothing.
    Off,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// One rule of the guard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) code: &'static str,
    pub(super) severity: Severity,
    /// Why, in one sentence without its full stop.
    pub(super) reason: &'static str,
    /// What to do instead, in whole sentences.
    pub(super) safer: &'static str,
}

/// A rule that applies, and to what.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) rule: &'static Rule,
    /// A path, a program or a keyword; never file content or a whole command.
    subject: String,
}

impl Finding {
    /// The sentence for the model and the user.
    pub(super) fn reason(&self) -> String {
        let Rule { reason, safer, .. } = self.rule;
        match self.subject.as_str() {
            "" => format!("{reason}. {safer}"),
            subject => format!("{reason} ({subject}). {safer}"),
        }
    }
}

/// Everything found in one call.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn push(&mut self, rule: &'static Rule, subject: &str) {
        let seen = self.0.iter().any(|finding| finding.rule == rule);
        if !seen && self.0.len() < MAX_FINDINGS {
            let subject = subject.chars().filter(|c| !c.is_control()).take(MAX_SUBJECT_CHARS).collect();
            self.0.push(Finding { rule, subject });
        }
    }
}

impl IntoIterator for Findings {
    type Item = Finding;
    type IntoIter = std::vec::IntoIter<Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

macro_rules! rules {
    ($($code:ident $severity:ident $reason:literal, $safer:literal;)+) => {
        $(pub(super) static $code: Rule =
            Rule { code: stringify!($code), severity: Severity::$severity, reason: $reason, safer: $safer };)+
        #[cfg(test)]
        pub(super) static ALL: &[&Rule] = &[$(&$code),+];
    };
}

rules! {
    UB01 Deny "A whole tree outside the workspace, at its root, or its history is removed, changed or moved",
        "Name one folder inside the workspace.";
    UB02 Deny "A recursive walk starts at the disk's root, the home folder or above the workspace",
        "Start it inside the workspace, or limit its depth.";
    UB03 Deny "The command does not end by itself",
        "Run it in the background, put `timeout 30` before it, or limit what it reads (`tail -n 100`).";
    UB04 Deny "The command starts copies of itself without end",
        "Start a fixed number of processes and wait for them.";
    UB05 Deny "A device, a partition table or the boot folder is written",
        "Write to a file, such as an image, and leave the device to the user.";
    UB06 Deny "The graph query has no bound on the rows it returns or removes, or on the length of its paths",
        "Add `LIMIT 100`, and an upper bound to every path, such as `[*1..5]`.";
    UB07 Ask "The SQL statement changes or removes every row, or a whole table",
        "Add a `WHERE` clause that names the rows, after a `SELECT count(*)` with the same clause.";
    UB08 Deny "The search has no file pattern and this workspace has very many files",
        "Add a file pattern (`glob`, `include`, `type`), or search in a folder.";
    GT01 Ask "`git reset` throws away every uncommitted change",
        "Use `git stash` first, or `git reset --soft`.";
    GT02 Ask "`git clean` removes untracked files for good",
        "Look with `git clean -n`, then name the folder, or use `git stash -u`.";
    GT03 Ask "The command throws away the uncommitted changes of the whole working tree",
        "Name the files to restore, or use `git stash`.";
    GT04 Deny "A forced push overwrites what others pushed",
        "Use `git push --force-with-lease`.";
    GT05 Ask "The branch is removed even if its commits are nowhere else",
        "Use `git branch -d`, which refuses to lose commits.";
    GT06 Ask "Stashed changes are removed for good",
        "Look with `git stash show -p`, or use `git stash apply` and keep them.";
    GT07 Ask "The reflog is the only way back to lost commits, and it is removed",
        "Leave its expiry to `git gc`.";
    GT08 Ask "The whole history is rewritten",
        "Work on a fresh clone, or revert the commit.";
    GT09 Ask "Branches or tags are removed on the remote",
        "Leave that to the user, or name the branch in a pull request.";
    GT10 Ask "Commits that no branch holds are removed for good",
        "Run `git gc` without a prune date.";
    GT11 Ask "A working tree is removed together with its uncommitted changes",
        "Use `git worktree remove` without force.";
    EX01 Deny "A file that holds credentials is sent over the network",
        "Let the program that needs the secret read it from its own configuration.";
    EX02 Deny "The whole environment, secrets included, is sent over the network",
        "Send only the variable that is needed, by name.";
    EX03 Deny "Code from the network is run unseen",
        "Download it to a file, read it, and run it in a call of its own.";
    EX04 Deny "Encoded text is decoded and run unseen",
        "Write the command itself.";
    EX05 Deny "A shell is handed to another machine",
        "Run the one command that is needed.";
}
