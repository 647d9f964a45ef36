//! Walks a part of the workspace as git sees it, in the order of names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dispatch_contracts::tool::ToolError;
use dispatch_os::{Confined, OsError};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{Walk, WalkBuilder};

/// Where a search starts.
pub(crate) struct SearchStart {
    pub(crate) path: PathBuf,
}

impl SearchStart {
    /// The folder or file that the arguments name; the working folder by default.
    pub(crate) fn find(workspace: &Confined, path: Option<&str>) -> Result<Self, ToolError> {
        let asked = path.unwrap_or(".");
        let words = |error: OsError| match error {
            OsError::Outside { root, .. } => ToolError(format!(
                "{asked} is outside of the workspace {}. Only files in the workspace can be searched.",
                root.display()
            )),
            OsError::Closed { .. } => ToolError(format!("{asked} belongs to Dispatch itself. No tool may search it.")),
            error if error.is_not_found() => ToolError(format!("{asked} does not exist.")),
            error => ToolError(format!("{asked} cannot be searched: {error}.")),
        };
        let spot = workspace.locate(Path::new(asked)).map_err(words)?;
        spot.open().map_err(words)?;
        Ok(Self { path: spot.path().to_path_buf() })
    }

    /// Everything below, without what is ignored; hidden files only if the glob names such.
    pub(crate) fn walk(&self, glob: Option<&str>) -> Walk {
        WalkBuilder::new(&self.path)
            .hidden(!glob.is_some_and(names_hidden))
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(OsStr::cmp)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build()
    }
}

/// The files that a glob names, below a folder. A glob without a slash is about names in any folder. It
/// chooses among what the walk finds and brings nothing back that is ignored.
pub(crate) struct PathFilter(Override);

impl PathFilter {
    pub(crate) fn new(folder: &Path, glob: Option<&str>) -> Result<Self, ToolError> {
        let wrong = |error: ignore::Error| {
            ToolError(format!("The glob is wrong: {error}. Examples: `*.rs`, `src/**/*.ts`, `!*_test.go`."))
        };
        let mut builder = OverrideBuilder::new(folder);
        if let Some(glob) = glob {
            builder.add(glob).map_err(wrong)?;
        }
        builder.build().map(Self).map_err(wrong)
    }

    pub(crate) fn holds(&self, file: &Path) -> bool {
        !self.0.matched(file, false).is_ignore()
    }
}

/// Whether a glob asks for hidden files by name, as `.github/**` does.
fn names_hidden(glob: &str) -> bool {
    glob.trim_start_matches('!').split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_choose_by_name_or_by_path() {
        let holds =
            |glob: &str, file: &str| PathFilter::new(Path::new("/w"), Some(glob)).unwrap().holds(Path::new(file));
        assert!(holds("*.rs", "/w/src/a.rs") && !holds("*.rs", "/w/src/a.ts"));
        assert!(holds("src/**/*.rs", "/w/src/x/a.rs") && !holds("src/**/*.rs", "/w/lib/a.rs"));
        assert!(!holds("!*.rs", "/w/a.rs") && holds("!*.rs", "/w/a.ts"));
        assert!(holds("{a,b}.json", "/w/b.json"));
        assert!(PathFilter::new(Path::new("/w"), Some("[")).is_err());
        assert!(PathFilter::new(Path::new("/w"), None).unwrap().holds(Path::new("/w/x")));
    }

    #[test]
    fn only_a_glob_that_names_them_asks_for_hidden_files() {
        for (glob, expected) in
            [("*", false), ("./src/*.rs", false), (".env", true), (".github/**", true), ("a/.b", true)]
        {
            assert_eq!(names_hidden(glob), expected, "{glob}");
        }
    }
}
