//! The rules: code, severity, reason and safer alternative of each.
//!
//! A rule denies where a bounded form does the job; it asks where the unbounded
//! effect may be just what the user wants.
//!
//! Pure.

use serde::Deserialize;

/// Findings beyond this number change nothing: the first ones already decide.
const MAX_FINDINGS: usize = 64;
/// Characters of a subject that are shown.
const MAX_SUBJECT_CHARS: usize = 120;

/// What a rule does when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RuleSeverity {
    /// Nothing.
    Off,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// One rule of the guard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GuardRule {
    pub(super) code: &'static str,
    pub(super) severity: RuleSeverity,
    /// Why, in one sentence without its full stop.
    pub(super) reason: &'static str,
    /// What to do instead, in whole sentences.
    pub(super) safer: &'static str,
}

/// A rule that applies, and to what.
#[derive(Debug)]
pub(super) struct RuleFinding {
    pub(super) rule: &'static GuardRule,
    /// A path, a program or a keyword; not file content or a whole command.
    subject: String,
}

impl RuleFinding {
    /// The sentence for the model and the user.
    pub(super) fn reason(&self) -> String {
        let GuardRule { reason, safer, .. } = self.rule;
        match self.subject.as_str() {
            "" => format!("{reason}. {safer}"),
            subject => format!("{reason} ({subject}). {safer}"),
        }
    }
}

/// Everything found in one call.
#[derive(Debug, Default)]
pub(super) struct RuleFindings(Vec<RuleFinding>);

impl RuleFindings {
    pub(super) fn push(&mut self, rule: &'static GuardRule, subject: &str) {
        let seen = self.0.iter().any(|finding| finding.rule == rule);
        if !seen && self.0.len() < MAX_FINDINGS {
            let subject = subject.chars().filter(|c| !c.is_control()).take(MAX_SUBJECT_CHARS).collect();
            self.0.push(RuleFinding { rule, subject });
        }
    }
}

impl IntoIterator for RuleFindings {
    type Item = RuleFinding;
    type IntoIter = std::vec::IntoIter<RuleFinding>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

macro_rules! rules {
    ($($code:ident $severity:ident $reason:literal, $safer:literal;)+) => {
        $(pub(super) static $code: GuardRule =
            GuardRule { code: stringify!($code), severity: RuleSeverity::$severity, reason: $reason, safer: $safer };)+
        pub(super) static ALL: &[&GuardRule] = &[$(&$code),+];
    };
}

rules! {
    UB01 Deny "The call removes, changes or moves a whole tree outside the workspace, the workspace root, or its history",
        "Name one folder inside the workspace.";
    UB02 Deny "A recursive walk starts at the disk's root, the home folder or above the workspace",
        "Start it inside the workspace, or limit its depth.";
    UB03 Deny "The command does not end by itself",
        "Run it in the background, put `timeout 30` before it, or limit what it reads (`tail -n 100`).";
    UB04 Deny "The command starts copies of itself without end",
        "Start a fixed number of processes and wait for them.";
    UB05 Deny "The call writes to a device, a partition table or the boot folder",
        "Write to a file, such as an image, and ask the user to write it to the device.";
    UB06 Deny "The graph query has no bound on the rows it returns or removes, or on the length of its paths",
        "Add `LIMIT 100`, and an upper bound to every path, such as `[*1..5]`.";
    UB07 Ask "The SQL statement changes or removes every row, or a whole table",
        "Add a `WHERE` clause that names the rows, after a `SELECT count(*)` with the same clause.";
    UB08 Deny "The search has no file pattern, and this workspace has too many files for that",
        "Add a file pattern (`glob`, `include`, `type`), or search in a folder.";
    GT01 Ask "`git reset --hard` discards every uncommitted change",
        "Use `git stash` first, or `git reset --soft`.";
    GT02 Ask "`git clean` deletes untracked files for good",
        "List the files with `git clean -n`, then name the folder, or use `git stash -u`.";
    GT03 Ask "The command discards the uncommitted changes of the whole working tree",
        "Name the files to restore, or use `git stash`.";
    GT04 Deny "A forced push overwrites what others pushed",
        "Use `git push --force-with-lease`.";
    GT05 Ask "The command deletes a branch even if its commits are on no other branch",
        "Use `git branch -d`, which refuses to lose commits.";
    GT06 Ask "The command deletes stashed changes for good",
        "Show them with `git stash show -p`, or use `git stash apply`, which keeps them.";
    GT07 Ask "The command deletes the reflog, which is the only way back to lost commits",
        "Leave its expiry to `git gc`.";
    GT08 Ask "The command rewrites the whole history",
        "Work on a fresh clone, or revert the commit.";
    GT09 Ask "The push deletes branches or tags on the remote that others rely on",
        "Ask the user to delete them.";
    GT10 Ask "The command deletes commits that are on no branch",
        "Run `git gc` without a prune date.";
    GT11 Ask "The command removes a working tree together with its uncommitted changes",
        "Use `git worktree remove` without force.";
    EX01 Deny "The call sends a file with credentials over the network",
        "Let the program that needs the secret read it from its own configuration.";
    EX02 Deny "The call sends the whole environment, including its secrets, over the network",
        "Send only the variable that is needed, by name.";
    EX03 Deny "The command runs code from the network without anyone having read it",
        "Download it to a file, read it, and run it in a separate call.";
    EX04 Deny "The command decodes text and runs it",
        "Write the decoded command instead.";
    UB09 Ask "The command could not be understood well enough to be judged",
        "Write it plainly: name the program and its arguments, without computing or encoding them.";
    CF01 Ask "The call changes a file that runs whenever a shell starts",
        "Set the variable for this command only, or ask the user to add the line.";
    CF02 Deny "The call changes who may log in or how the user logs in elsewhere",
        "Ask the user to change their SSH folder.";
    CF03 Ask "The call changes a store of credentials",
        "Ask the user to log in with the program that owns it.";
    CF04 Ask "The call changes the configuration or the programs of the system",
        "Put it into the project or the user's own configuration, or ask the user.";
    CF05 Ask "The call changes what runs by itself, later or at every start",
        "Run the command now, or ask the user to schedule it.";
    CF06 Ask "The call reads a private key or a file of credentials",
        "Let the program that needs the key read it; the public key (`.pub`) may be read.";
    RA01 Deny "The command deletes a whole repository, database, bucket, cluster, stack or package for good",
        "Ask the user to do it, after a backup.";
    RA02 Ask "The command deletes what lies on another machine, and nothing brings it back",
        "List what it would delete, and ask the user.";
    SY01 Deny "The command stops or restarts the machine",
        "Ask the user to do it.";
    SY02 Deny "The command stops every process of the user or the machine",
        "Name the process by its id or its exact name.";
    SY03 Ask "The command switches off a protection of the machine or changes its users",
        "Ask the user to do it.";
    EX05 Deny "The command gives another machine a shell",
        "Run only the command that is needed.";
}
