//! Which files of a workspace count: not what git ignores, not what is generated, not what passes.

use super::skipped_names::{is_built, is_skipped};
use dispatch_os::files::{self, read_text_at_most};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{IncrementalIgnore, WalkBuilder};
use std::path::{Path, PathBuf};

/// Git's own limit for a file of attributes.
const MAX_ATTRIBUTES_BYTES: u64 = 100 * 1024 * 1024;
const GENERATED: &str = "linguist-generated";
/// The files that decide, wherever they are.
const RULES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Tells the files that count from those that do not. The rules are those of the moment it was made.
pub(crate) struct IgnoreRules {
    git: Option<IncrementalIgnore>,
    generated: Gitignore,
    /// Whether no repository says what is built.
    is_outside_git: bool,
    /// Files that this process writes its own words to.
    own_output: Vec<PathBuf>,
}

impl IgnoreRules {
    /// The rules of a workspace as they are now.
    #[must_use]
    pub(crate) fn new(root: &Path) -> Self {
        let git = walk_of(root).build_matchers().pop();
        let is_outside_git = !root.ancestors().any(|folder| files::exists(folder.join(".git")));
        Self { git, generated: generated(root), is_outside_git, own_output: own_output(root) }
    }

    /// Whether a file, named relative to the workspace, counts.
    pub(crate) fn keeps_file(&mut self, path: &Path) -> bool {
        !self.own_output.iter().any(|own| own == path)
            && self.keeps(path, false)
            && !self.generated.matched(path, false).is_ignore()
    }

    /// Whether the files of a folder can count at all.
    pub(super) fn keeps_folder(&mut self, path: &Path) -> bool {
        self.keeps(path, true)
    }

    fn keeps(&mut self, path: &Path, is_folder: bool) -> bool {
        let outside = path.ancestors().any(is_skipped) || (self.is_outside_git && is_built(path, is_folder));
        !outside && self.git.as_mut().is_none_or(|git| !git.matched(path, is_folder).is_ignore())
    }
}

/// The files of the workspace that this process's own output goes to: a change of theirs would lead to another.
fn own_output(root: &Path) -> Vec<PathBuf> {
    let open = ["/proc/self/fd/1", "/proc/self/fd/2"].into_iter().filter_map(|link| files::read_link(link).ok());
    open.filter_map(|path| path.strip_prefix(root).ok().map(Path::to_path_buf)).collect()
}

/// A walk over what git does not ignore.
pub(crate) fn walk_of(folder: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(folder);
    walk.hidden(false).ignore(false).parents(true).git_ignore(true).git_exclude(true).git_global(true);
    walk.follow_links(false);
    walk
}

/// Whether a file says which others count.
pub(crate) fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| RULES.iter().any(|rule| name == *rule))
}

/// What the workspace's own `.gitattributes` says is generated.
fn generated(root: &Path) -> Gitignore {
    let text = read_text_at_most(&root.join(".gitattributes"), MAX_ATTRIBUTES_BYTES).unwrap_or_default();
    let mut builder = GitignoreBuilder::new(root);
    for line in generated_lines(&text) {
        // A pattern that means nothing leaves nothing out.
        let _ = builder.add_line(None, &line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The generated files, in the words of a `.gitignore`.
fn generated_lines(attributes: &str) -> Vec<String> {
    let line = |text: &str| {
        let mut words = text.split_whitespace();
        let pattern = words.next().filter(|word| !word.starts_with(['#', '!', '[', '"']))?;
        let said = words.rev().find_map(|word| match word.strip_prefix(GENERATED) {
            Some("" | "=true") => Some(""),
            Some("=false") => Some("!"),
            _ if word.strip_prefix('-') == Some(GENERATED) => Some("!"),
            _ => None,
        })?;
        Some(format!("{said}{pattern}"))
    };
    attributes.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_git_ignores_at_any_level_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::create_dir_all(root.join("web/dist")).unwrap();
        fs::write(root.join(".git/info/exclude"), "private.txt\n").unwrap();
        fs::write(root.join(".gitignore"), "*.log\n!keep.log\n/target/\n").unwrap();
        fs::write(root.join("web/.gitignore"), "dist/\n").unwrap();
        fs::write(root.join(".gitattributes"), "*.pb.rs linguist-generated\nown.pb.rs -linguist-generated\n").unwrap();
        let mut ignore_rules = IgnoreRules::new(&root);
        for (path, kept) in [
            ("src/main.rs", true),
            ("a.log", false),
            ("deep/er/a.log", false),
            ("keep.log", true),
            ("target/debug/x", false),
            ("sub/target/x", true),
            ("web/dist/app.js", false),
            ("web/app.js", true),
            ("private.txt", false),
            (".git/HEAD", false),
            ("module/.git/HEAD", false),
            (".akira/hooks.json", true),
            (".akira/logs/hooks.log", false),
            (".ai/tmp/1234/state.json", false),
            ("api.pb.rs", false),
            ("own.pb.rs", true),
            (".hidden/file", true),
        ] {
            assert_eq!(ignore_rules.keeps_file(Path::new(path)), kept, "{path}");
        }
        assert!(!ignore_rules.keeps_folder(Path::new("target")));
        assert!(ignore_rules.keeps_folder(Path::new("web")));
    }

    #[test]
    fn usual_build_folders_are_left_out_where_no_repository_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let kept = |path: &str| IgnoreRules::new(&root).keeps_file(Path::new(path));
        assert!(!kept("node_modules/a/index.js") && !kept("sub/target/debug/x") && !kept("a/__pycache__/x.pyc"));
        assert!(kept("src/a.rs") && kept("target"), "a file of that name is not a folder");
        fs::create_dir(root.join(".git")).unwrap();
        assert!(kept("node_modules/a/index.js"), "git says what is ignored");
    }

    #[test]
    fn attributes_are_read_as_git_reads_them() {
        let text = "# a comment\n*.min.js  text linguist-generated=true\nx -linguist-generated\ny linguist-generated=false\n\
                    z text\n[attr]foo linguist-generated\nq linguist-generated -linguist-generated\n\n";
        assert_eq!(generated_lines(text), ["*.min.js", "!x", "!y", "!q"]);
    }
}
