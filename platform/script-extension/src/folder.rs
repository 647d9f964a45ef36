//! The files of one extension, read once: what is approved is what runs.

use crate::limits::{MAX_BYTES, MAX_DEPTH, MAX_FILES};
use crate::packages::{self, PackageImport};
use dispatch_os::OsError;
use dispatch_os::files;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file that says what an extension is.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The files that an extension may start with, in order.
const ENTRY_FILES: [&str; 3] = ["index.ts", "index.js", "index.mjs"];
/// Folders that are not part of an extension: nothing in them is read, so nothing in them can be imported. Packages that
/// its `package.json` names under `dependencies` are. Python leaves `__pycache__` wherever a file was imported.
const IGNORED_FOLDERS: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// What the approved content begins with, so that it is the content of nothing else.
const CONTENT_HEADER: &[u8] = b"dispatch extension 1\n";

/// Why a folder is no extension that could run.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A link could lead to content that changes after the approval.
    #[error("{} is a symbolic link; an extension consists of its own files", .0.display())]
    Link(PathBuf),
    /// Code for one machine cannot be run by the engine.
    #[error("{} is a native addon, which cannot be loaded", .0.display())]
    NativeAddon(PathBuf),
    /// A name is not Unicode or contains a line break.
    #[error("{} has a name that cannot be used", .0.display())]
    Name(PathBuf),
    /// There is too much.
    #[error("{} has more than {MAX_FILES} files", .0.display())]
    TooManyFiles(PathBuf),
    /// There is too much.
    #[error("{} has more than {} MB", .0.display(), MAX_BYTES / 1024 / 1024)]
    TooLarge(PathBuf),
    /// Folders nest too deep.
    #[error("{} is nested deeper than {MAX_DEPTH} folders", .0.display())]
    TooDeep(PathBuf),
    /// The system refused.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Which files of a folder are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    Everything,
    /// What can be imported, and native addons, which are refused.
    Modules,
}

impl Contents {
    fn include(self, name: &str) -> bool {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        self == Self::Everything
            || (matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "json" | "node") && !name.ends_with(".d.ts"))
    }
}

/// All files of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionFolder {
    path: PathBuf,
    /// By path below the folder, with `/` between names.
    files: BTreeMap<String, Vec<u8>>,
}

impl ExtensionFolder {
    /// Reads the folder. Links are refused.
    ///
    /// # Errors
    /// When something in it cannot be part of an extension.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        if files::is_symlink(path) {
            return Err(FolderError::Link(path.to_path_buf()));
        }
        let mut folder = Self { path: path.to_path_buf(), files: BTreeMap::new() };
        let left = folder.add_below(path, "", Contents::Everything, MAX_BYTES)?;
        folder.add_packages(left)?;
        Ok(folder)
    }

    /// Reads the packages that the extension and its packages depend on, from its own `node_modules`.
    fn add_packages(&mut self, mut left: u64) -> Result<(), FolderError> {
        let mut open = vec![String::new()];
        while let Some(owner) = open.pop() {
            for package in self.dependencies(&owner) {
                let places = packages::folders(&package, &format!("{owner}package.json"));
                if places.iter().any(|place| self.files.contains_key(&format!("{place}/package.json"))) {
                    continue;
                }
                let Some(place) = places.into_iter().find(|place| files::is_dir(self.path.join(place))) else {
                    continue;
                };
                let prefix = format!("{place}/");
                left = self.add_below(&self.path.join(&place), &prefix, Contents::Modules, left)?;
                open.push(prefix);
            }
        }
        Ok(())
    }

    /// The names under `dependencies` of the `package.json` in a folder of this one.
    fn dependencies(&self, owner: &str) -> Vec<String> {
        let text = self.text(&format!("{owner}package.json")).unwrap_or_default();
        let manifest: Value = serde_json::from_str(text).unwrap_or_default();
        let listed = manifest.get("dependencies").and_then(Value::as_object);
        let names = listed.into_iter().flat_map(|listed| listed.keys());
        names.filter(|name| PackageImport::read(name).is_ok_and(|read| read.subpath == ".")).cloned().collect()
    }

    /// Reads what is below a folder; answers how many bytes are left for others.
    fn add_below(&mut self, path: &Path, prefix: &str, contents: Contents, left: u64) -> Result<u64, FolderError> {
        if files::is_symlink(path) {
            return Err(FolderError::Link(path.to_path_buf()));
        }
        let mut left = left;
        let mut open = vec![(path.to_path_buf(), prefix.to_owned(), 0)];
        while let Some((below, prefix, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return Err(FolderError::TooDeep(below));
            }
            let entries = files::read_dir(&below).map_err(|error| unreadable(&below, &error))?;
            for entry in entries {
                let entry = entry.map_err(|error| unreadable(&below, &error))?;
                let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
                let name = usable_name(&entry.path())?;
                if kind.is_symlink() {
                    return Err(FolderError::Link(entry.path()));
                }
                if kind.is_dir() {
                    if !IGNORED_FOLDERS.contains(&name.as_str()) {
                        open.push((entry.path(), format!("{prefix}{name}/"), depth + 1));
                    }
                    continue;
                }
                if contents.include(&name) {
                    left = self.add(&entry.path(), format!("{prefix}{name}"), left)?;
                }
            }
        }
        Ok(left)
    }

    /// Reads one file more; answers how many bytes are left for others.
    fn add(&mut self, path: &Path, name: String, left: u64) -> Result<u64, FolderError> {
        if path.extension().is_some_and(|ending| ending == "node") {
            return Err(FolderError::NativeAddon(path.to_path_buf()));
        }
        if self.files.len() >= MAX_FILES {
            return Err(FolderError::TooManyFiles(self.path.clone()));
        }
        let bytes = files::read_at_most(path, left).map_err(|error| match error {
            OsError::TooLarge { .. } => FolderError::TooLarge(self.path.clone()),
            error => unreadable(path, &error),
        })?;
        let left = left.saturating_sub(bytes.len() as u64);
        self.files.insert(name, bytes);
        Ok(left)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The manifest, if there is one and it is text.
    #[must_use]
    pub fn manifest(&self) -> Option<&str> {
        self.text(MANIFEST_FILE)
    }

    /// The file that the extension starts with.
    #[must_use]
    pub fn entry(&self) -> Option<&'static str> {
        ENTRY_FILES.into_iter().find(|name| self.files.contains_key(*name))
    }

    /// A file as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files.get(name).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The same with another content of one file, in memory alone.
    #[must_use]
    pub fn with_file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(name.to_owned(), content.into());
        self
    }

    /// The content of a file.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// The names of all files below the folder, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Everything that the user approves: the names and contents of all files, in one order.
    #[must_use]
    pub fn content(&self) -> Vec<u8> {
        let mut content = CONTENT_HEADER.to_vec();
        for (name, bytes) in &self.files {
            content.extend_from_slice(format!("{name}\n{}\n", bytes.len()).as_bytes());
            content.extend_from_slice(bytes);
        }
        content
    }
}

fn usable_name(path: &Path) -> Result<String, FolderError> {
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.contains(['\n', '\0', '\\']));
    name.map(str::to_owned).ok_or_else(|| FolderError::Name(path.to_path_buf()))
}

fn unreadable(path: &Path, error: &impl std::fmt::Display) -> FolderError {
    FolderError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn every_change_of_a_file_changes_the_content() {
        let content = |files: &[(&str, &str)]| ExtensionFolder::read(folder(files).path()).unwrap().content();
        let base = content(&[("index.ts", "a"), ("lib/b.ts", "bc")]);
        assert_eq!(base, content(&[("lib/b.ts", "bc"), ("index.ts", "a")]));
        for other in [
            &[("index.ts", "a"), ("lib/b.ts", "b")][..],
            &[("index.ts", "a"), ("lib/c.ts", "bc")],
            &[("index.ts", "a"), ("b.ts", "bc")],
            &[("index.ts", "a")],
            &[("index.ts", "a"), ("lib/b.ts", "bc"), ("notes.md", "")],
        ] {
            assert_ne!(base, content(other), "{other:?}");
        }
    }

    #[test]
    fn what_is_ignored_cannot_be_reached() {
        let folder = folder(&[("index.ts", ""), ("node_modules/x/index.js", "x"), (".git/config", "x")]);
        let read = ExtensionFolder::read(folder.path()).unwrap();
        assert_eq!((read.entry(), read.text("node_modules/x/index.js")), (Some("index.ts"), None));
    }

    #[test]
    fn packages_that_it_depends_on_belong_to_its_content() {
        let files = [
            ("index.ts", ""),
            ("package.json", r#"{"dependencies":{"a":"1","gone":"1"},"devDependencies":{"dev":"1"}}"#),
            ("node_modules/a/package.json", r#"{"dependencies":{"b":"1","c":"1"}}"#),
            ("node_modules/a/index.js", "a"),
            ("node_modules/a/readme.md", "text"),
            ("node_modules/a/node_modules/b/package.json", "{}"),
            ("node_modules/b/package.json", r#"{"name":"another b"}"#),
            ("node_modules/c/package.json", "{}"),
            ("node_modules/dev/package.json", "{}"),
        ];
        let read = ExtensionFolder::read(folder(&files).path()).unwrap();
        let names: Vec<&str> = read.names().filter(|name| name.starts_with("node_modules")).collect();
        assert_eq!(
            names,
            [
                "node_modules/a/index.js",
                "node_modules/a/node_modules/b/package.json",
                "node_modules/a/package.json",
                "node_modules/c/package.json"
            ]
        );
        let addon = [("package.json", r#"{"dependencies":{"a":"1"}}"#), ("node_modules/a/build/x.node", "")];
        let error = ExtensionFolder::read(folder(&addon).path()).unwrap_err();
        assert!(error.to_string().contains("x.node is a native addon"), "{error}");
    }

    #[test]
    fn what_cannot_be_approved_is_refused_by_name() {
        let addon = folder(&[("build/x.node", "")]);
        assert!(ExtensionFolder::read(addon.path()).unwrap_err().to_string().contains("x.node is a native addon"));
        let large = folder(&[]);
        let file = std::fs::File::create(large.path().join("index.ts")).unwrap();
        file.set_len(50 * 1024 * 1024).unwrap();
        assert!(ExtensionFolder::read(large.path()).unwrap_err().to_string().ends_with("has more than 8 MB"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_wherever_it_leads() {
        let folder = folder(&[("index.ts", "")]);
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("more.ts")).unwrap();
        let error = ExtensionFolder::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("more.ts is a symbolic link"), "{error}");
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("linked");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(matches!(ExtensionFolder::read(&link), Err(FolderError::Link(_))));
    }
}
