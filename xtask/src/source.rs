//! The model of the text in the repository that the checks read.

use crate::lexer;
use std::ops::Range;

mod load;

pub(crate) use load::load;

/// Every text file a check may look at, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct SourceTree {
    /// Readable files.
    pub(crate) files: Vec<SourceFile>,
    /// Paths of text files that are not UTF-8.
    pub(crate) not_utf8: Vec<String>,
}

/// One file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path relative to the root, with `/` on every system.
    pub(crate) path: String,
    /// The content as committed.
    pub(crate) text: String,
    /// What the lexer found; `None` for a file that is not Rust.
    pub(crate) rust: Option<RustSource>,
}

/// A Rust file seen as code.
#[derive(Debug)]
pub(crate) struct RustSource {
    /// The text without comments and literals; same offsets.
    pub(crate) code: String,
    /// The code without test-only items; same offsets. Blank for a test file.
    pub(crate) production: String,
    /// Where the test-only items are.
    pub(crate) test_ranges: Vec<Range<usize>>,
}

impl SourceFile {
    /// Builds the model of one file from its path and its text.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let rust = path.ends_with(".rs").then(|| RustSource::new(&path, &text));
        Self { path, text, rust }
    }

    /// `path:line` of a byte offset.
    pub(crate) fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path, lexer::line_of(&self.text, offset))
    }

    /// Whether the file is in a folder or further below it.
    pub(crate) fn is_below(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl RustSource {
    fn new(path: &str, text: &str) -> Self {
        let code = lexer::mask(text);
        let test_ranges =
            if is_test_path(path) { std::iter::once(0..code.len()).collect() } else { lexer::test_ranges(&code) };
        let production = lexer::blank(&code, &test_ranges);
        Self { code, production, test_ranges }
    }
}

/// A file whose whole content is tests: under a `tests/` folder, or named `tests.rs`.
pub(crate) fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

impl SourceTree {
    /// The Rust files with what the lexer found.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&SourceFile, &RustSource)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }

    /// The file at exactly this path.
    pub(crate) fn get(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The folders that hold a crate.
    pub(crate) fn crate_folders(&self) -> Vec<&str> {
        self.files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml")).collect()
    }

    /// The folders of the bundled extensions, `extensions/<tier>/<id>`.
    pub(crate) fn extension_folders(&self) -> impl Iterator<Item = &str> {
        let folders = self.crate_folders().into_iter();
        folders.filter(|folder| folder.starts_with("extensions/") && folder.matches('/').count() == 2)
    }

    /// A tree from paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| SourceFile::new(*path, *text)).collect(), not_utf8: Vec::new() }
    }
}
