//! The subcommands of `git` by what they may change.
//!
//! Pure.

/// Subcommands that only look, whatever their options are, apart from those checked for all.
pub(super) const READ_ONLY: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "shortlog",
    "describe",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "cat-file",
    "grep",
    "name-rev",
    "merge-base",
    "for-each-ref",
    "show-ref",
    "whatchanged",
    "count-objects",
    "version",
    "help",
    "check-ignore",
    "check-attr",
    "check-mailmap",
    "cherry",
    "diff-tree",
    "diff-files",
    "diff-index",
    "range-diff",
    "show-branch",
    "verify-commit",
    "verify-tag",
    "get-tar-commit-id",
    "patch-id",
    "stripspace",
    "column",
    "var",
];

/// Subcommands that change only what lies in the repository's own folder.
pub(super) const REPOSITORY_ONLY: &[&str] = &[
    "add",
    "stage",
    "commit",
    "tag",
    "branch",
    "gc",
    "prune",
    "repack",
    "pack-refs",
    "update-ref",
    "update-index",
    "write-tree",
    "commit-tree",
    "hash-object",
    "symbolic-ref",
    "notes",
    "reflog",
    "maintenance",
    "rerere",
    "fsck",
    "merge-tree",
    "replace",
    "mktag",
    "mktree",
    "read-tree",
    "remote",
    "sparse-checkout",
];

/// Subcommands that change files of the working tree that the command line does not name.
pub(super) const WORKING_TREE: &[&str] =
    &["switch", "merge", "rebase", "cherry-pick", "revert", "am", "apply", "bisect", "checkout-index", "stash"];

/// Sections of the configuration that cannot make git run anything.
const HARMLESS_SECTIONS: &[&str] = &["color.", "user.", "advice.", "column.", "log."];

/// Single settings that cannot either.
const HARMLESS_SETTINGS: &[&str] =
    &["commit.gpgsign=false", "core.pager=cat", "core.pager=", "core.quotepath=off", "core.quotepath=false"];

/// Whether a setting given on the command line leaves what git does as it is.
pub(super) fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    let section = HARMLESS_SECTIONS.iter().any(|section| setting.starts_with(section));
    section || HARMLESS_SETTINGS.contains(&setting.as_str())
}
