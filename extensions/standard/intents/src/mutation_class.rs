//! Classifies a change by fixed rules.
//!
//! Pure.

use crate::intent::IntentKind;
use crate::line_changes::LineChanges;
use crate::trace_entry::MutationClass;

const DOCUMENT_ENDINGS: [&str; 8] = ["md", "mdx", "markdown", "rst", "adoc", "asciidoc", "txt", "org"];
const DOCUMENT_FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];
const DOCUMENT_NAMES: [&str; 8] =
    ["readme", "license", "licence", "changelog", "contributing", "authors", "notice", "codeowners"];
const CONFIGURATION_ENDINGS: [&str; 15] = [
    "json",
    "jsonc",
    "json5",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "config",
    "properties",
    "env",
    "lock",
    "editorconfig",
    "plist",
];
const CONFIGURATION_NAMES: [&str; 8] =
    ["dockerfile", "makefile", "justfile", "procfile", ".gitignore", ".gitattributes", ".dockerignore", ".npmrc"];

/// What is known about a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileChange<'a> {
    /// From the workspace's root.
    pub path: &'a str,
    /// Whether the file existed before.
    pub existed: bool,
    /// Whether it exists now.
    pub exists: bool,
    /// Its changed lines, if they could be compared.
    pub lines: Option<&'a LineChanges<'a>>,
    /// The class that the agent states.
    pub stated: Option<MutationClass>,
    /// The kind of the intent.
    pub kind: Option<IntentKind>,
}

/// The class of a change. The first matching rule decides: created or removed; a document or only comments;
/// configuration; the class that the agent states; the kind of the intent; new behaviour.
#[must_use]
pub(crate) fn classify(change: &FileChange<'_>) -> MutationClass {
    match (change.existed, change.exists) {
        (false, true) => return MutationClass::FileCreation,
        (true, false) => return MutationClass::FileDeletion,
        _ => {}
    }
    if is_document(change.path) || change.lines.is_some_and(|lines| only_comments(change.path, lines)) {
        return MutationClass::Documentation;
    }
    if is_configuration(change.path) {
        return MutationClass::Configuration;
    }
    change.stated.or_else(|| change.kind.map(by_kind)).unwrap_or(MutationClass::IntentEvolution)
}

fn by_kind(kind: IntentKind) -> MutationClass {
    match kind {
        IntentKind::Feature => MutationClass::IntentEvolution,
        IntentKind::Refactor => MutationClass::AstRefactor,
        IntentKind::Fix => MutationClass::BugFix,
        IntentKind::Docs => MutationClass::Documentation,
        IntentKind::Config => MutationClass::Configuration,
    }
}

fn is_document(path: &str) -> bool {
    let (folders, name) = split(path);
    let stem = name.split('.').next().unwrap_or_default();
    DOCUMENT_ENDINGS.contains(&ending(&name).as_str())
        || DOCUMENT_NAMES.contains(&stem) && !is_source(&name)
        || folders.iter().any(|folder| DOCUMENT_FOLDERS.contains(&folder.as_str())) && !is_source(&name)
}

fn is_configuration(path: &str) -> bool {
    let (_, name) = split(path);
    CONFIGURATION_ENDINGS.contains(&ending(&name).as_str())
        || CONFIGURATION_NAMES.contains(&name.as_str())
        || name.starts_with(".env")
}

/// Whether a file contains code in a language with known comments.
fn is_source(name: &str) -> bool {
    !leaders(&ending(name)).is_empty() && !CONFIGURATION_ENDINGS.contains(&ending(name).as_str())
}

fn split(path: &str) -> (Vec<String>, String) {
    let lower = path.to_ascii_lowercase();
    let mut parts: Vec<String> = lower.split('/').map(str::to_owned).collect();
    let name = parts.pop().unwrap_or_default();
    (parts, name)
}

fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

/// The start of a comment line in a language.
fn leaders(ending: &str) -> &'static [&'static str] {
    match ending {
        "rs" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "go" | "java" | "js" | "jsx" | "mjs" | "cjs" | "ts"
        | "tsx" | "kt" | "swift" | "scala" | "dart" | "php" | "css" | "scss" => &["//", "/*", "* ", "*/"],
        "py" | "rb" | "sh" | "bash" | "zsh" | "pl" | "r" | "ex" | "exs" | "nix" | "tf" => &["#"],
        "sql" | "lua" | "hs" | "elm" => &["--"],
        "html" | "xml" | "vue" | "svelte" => &["<!--", "-->"],
        "lisp" | "clj" | "el" | "scm" => &[";"],
        _ => &[],
    }
}

/// Whether every changed line is blank or a comment, and at least one is a comment. A `#!` line is not a comment.
fn only_comments(path: &str, lines: &LineChanges<'_>) -> bool {
    let leaders = leaders(&ending(path));
    let changed = lines.removed.iter().chain(lines.added.iter().flat_map(|(_, run)| run));
    let mut comments = 0;
    for line in changed {
        let text = line.trim_ascii();
        let alone = text == b"*";
        let comment = leaders.iter().any(|leader| text.starts_with(leader.as_bytes())) && !text.starts_with(b"#!");
        if comment || alone && leaders.contains(&"* ") {
            comments += 1;
        } else if !text.is_empty() {
            return false;
        }
    }
    comments > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_comparison::line_changes;

    fn class(path: &str, before: Option<&str>, after: Option<&str>, kind: Option<IntentKind>) -> MutationClass {
        let (old, new) = (before.unwrap_or_default().as_bytes(), after.unwrap_or_default().as_bytes());
        let lines = line_changes(old, new);
        let (existed, exists) = (before.is_some(), after.is_some());
        classify(&FileChange { path, existed, exists, lines: lines.as_ref(), stated: None, kind })
    }

    #[test]
    fn the_first_matching_rule_decides() {
        use MutationClass::{
            AstRefactor, BugFix, Configuration, Documentation, FileCreation, FileDeletion, IntentEvolution,
        };
        let table = [
            ("README.md", None, Some("x"), None, FileCreation),
            ("a.rs", Some("x"), None, Some(IntentKind::Fix), FileDeletion),
            ("README.md", Some("a"), Some("b"), Some(IntentKind::Fix), Documentation),
            ("LICENSE", Some("a"), Some("b"), None, Documentation),
            ("docs/guide.html", Some("<p>a"), Some("<p>b"), None, IntentEvolution),
            ("docs/picture.svg", Some("a"), Some("b"), None, Documentation),
            ("docs/build.rs", Some("a"), Some("b"), None, IntentEvolution),
            ("readme.rs", Some("a"), Some("b"), None, IntentEvolution),
            ("Cargo.toml", Some("a"), Some("b"), Some(IntentKind::Fix), Configuration),
            (".env.local", Some("a"), Some("b"), None, Configuration),
            ("Dockerfile", Some("a"), Some("b"), None, Configuration),
            (".github/workflows/ci.yml", Some("a"), Some("b"), None, Configuration),
            ("a.rs", Some("fn a() {}\n"), Some("// why\nfn a() {}\n"), Some(IntentKind::Fix), Documentation),
            ("a.rs", Some("fn a() {}\n"), Some("// why\nfn b() {}\n"), Some(IntentKind::Fix), BugFix),
            ("a.ts", Some("/**\n * a\n */\n"), Some("/**\n * a\n *\n * b\n */\n"), None, Documentation),
            ("a.py", Some("#!/bin/a\n"), Some("#!/bin/b\n"), None, IntentEvolution),
            ("a.py", Some("x = 1\n"), Some("x = 1\n\n"), None, IntentEvolution),
            ("a.c", Some("int a;\n"), Some("*p = 1;\n"), None, IntentEvolution),
            ("a.rs", Some("a"), Some("b"), Some(IntentKind::Refactor), AstRefactor),
            ("a.rs", Some("a"), Some("b"), Some(IntentKind::Docs), Documentation),
            ("a.rs", Some("a"), Some("b"), Some(IntentKind::Config), Configuration),
            ("a.rs", Some("a"), Some("b"), Some(IntentKind::Feature), IntentEvolution),
            ("a.rs", Some("a"), Some("b"), None, IntentEvolution),
        ];
        for (path, before, after, kind, expected) in table {
            assert_eq!(class(path, before, after, kind), expected, "{path} {before:?} {after:?} {kind:?}");
        }
    }

    #[test]
    fn the_stated_class_comes_before_the_intent_and_after_the_facts() {
        let change = FileChange {
            path: "a.rs",
            existed: true,
            exists: true,
            lines: None,
            stated: Some(MutationClass::BugFix),
            kind: Some(IntentKind::Refactor),
        };
        assert_eq!(classify(&change), MutationClass::BugFix);
        assert_eq!(classify(&FileChange { path: "a.md", ..change }), MutationClass::Documentation);
        assert_eq!(classify(&FileChange { existed: false, ..change }), MutationClass::FileCreation);
    }
}
