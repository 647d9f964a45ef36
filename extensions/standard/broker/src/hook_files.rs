//! Routing hooks on disk: the project's, which count once the user approved their content, and the user's own.

use dispatch_contracts::folders::Folders;
use dispatch_os::files::{is_file, read_at_most, read_dir};
use dispatch_os::paths::normalise_path;
use dispatch_script::{ModuleSource, Source};
use dispatch_trust::{Trust, fingerprint};
use std::path::{Component, Path, PathBuf};

/// The folder of hooks below a project's `.dispatch` and below the user's configuration folder.
const FOLDER: &str = "hooks";
/// The most hooks that are looked at in one folder.
const MAX_HOOKS: usize = 200;
/// The largest file of a hook.
const MAX_HOOK_BYTES: u64 = 1024 * 1024;

/// Where a hook came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HookOrigin {
    /// The project in this folder.
    Project(PathBuf),
    /// The user's configuration folder.
    User,
}

impl HookOrigin {
    /// The word that stands for it in storage.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Project(folder) => folder.to_string_lossy().into_owned(),
            Self::User => "user".to_owned(),
        }
    }
}

/// Whether a hook may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookTrust {
    Approved,
    /// It came with the project and nobody approved it as it is.
    Unapproved,
    /// It cannot be read.
    Unreadable(String),
}

/// One file of a hook.
#[derive(Clone, Debug)]
pub(crate) struct HookFile {
    pub(crate) path: PathBuf,
    /// The folder that its imports stay in.
    pub(crate) folder: PathBuf,
    /// The name of the file.
    pub(crate) name: String,
    pub(crate) origin: HookOrigin,
    pub(crate) text: String,
    /// The SHA-256 of the text.
    pub(crate) version: String,
    pub(crate) trust: HookTrust,
}

impl HookFile {
    /// The file that somebody names, whoever approved it.
    pub(crate) fn named(path: &Path) -> Result<Self, String> {
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let file = read_hook(path, &folder, HookOrigin::User, None);
        match &file.trust {
            HookTrust::Unreadable(why) => Err(why.clone()),
            _ => Ok(file),
        }
    }

    /// The module.
    pub(crate) fn source(&self) -> Source {
        Source::new(self.name.clone(), self.text.clone()).with_digest(self.version.clone())
    }

    /// The id of a hook that names none.
    pub(crate) fn stem(&self) -> String {
        let stem = self.name.rsplit_once('.').map_or(self.name.as_str(), |(stem, _)| stem);
        stem.to_owned()
    }
}

/// The folders that hooks are read from.
pub(crate) fn hook_folders(folders: &Folders) -> Vec<(PathBuf, HookOrigin)> {
    let project =
        folders.project.as_ref().map(|root| (root.join(".dispatch").join(FOLDER), HookOrigin::Project(root.clone())));
    project.into_iter().chain([(folders.config.join(FOLDER), HookOrigin::User)]).collect()
}

/// Every hook, in the order of folders and names.
pub(crate) fn read_hooks(folders: &Folders) -> Vec<HookFile> {
    let trust = Trust::load(&trust_file(folders));
    let mut found = Vec::new();
    for (folder, origin) in hook_folders(folders) {
        for path in script_paths(&folder) {
            let approvals = matches!(origin, HookOrigin::Project(_)).then_some(&trust);
            found.push(read_hook(&path, &folder, origin.clone(), approvals));
        }
    }
    found
}

/// The user's approvals.
pub(crate) fn trust_file(folders: &Folders) -> PathBuf {
    folders.data.join("trust.json")
}

fn script_paths(folder: &Path) -> Vec<PathBuf> {
    let is_hook = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_script = [".ts", ".mts", ".js", ".mjs"].iter().any(|ending| name.ends_with(ending));
        is_script && !name.ends_with(".d.ts") && !name.ends_with(".d.mts") && is_file(path)
    };
    let entries = read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(is_hook).take(MAX_HOOKS).collect();
    paths.sort();
    paths
}

fn read_hook(path: &Path, folder: &Path, origin: HookOrigin, approvals: Option<&Trust>) -> HookFile {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = HookFile {
        path: path.to_owned(),
        folder: folder.to_owned(),
        name,
        origin,
        text: String::new(),
        version: String::new(),
        trust: HookTrust::Approved,
    };
    let bytes = match read_at_most(path, MAX_HOOK_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return HookFile { trust: HookTrust::Unreadable(error.to_string()), ..file },
    };
    let version = fingerprint(&bytes);
    let is_approved = approvals.is_none_or(|approvals| approvals.is_approved_fingerprint(&version));
    match String::from_utf8(bytes) {
        Ok(text) if is_approved => HookFile { text, version, ..file },
        Ok(text) => HookFile { text, version, trust: HookTrust::Unapproved, ..file },
        Err(_) => HookFile { trust: HookTrust::Unreadable("the file is not valid UTF-8".to_owned()), ..file },
    }
}

/// What a hook may import: files below its own folder, approved as the hook itself is.
pub(crate) struct HookImports {
    file: HookFile,
    /// The user's approvals, where files need one.
    approvals: Option<PathBuf>,
}

impl HookImports {
    pub(crate) fn new(file: HookFile, folders: Option<&Folders>) -> Self {
        let needs_approval = matches!(file.origin, HookOrigin::Project(_));
        Self { file, approvals: folders.filter(|_| needs_approval).map(trust_file) }
    }
}

impl ModuleSource for HookImports {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let below = Path::new(referrer).parent().unwrap_or(Path::new(""));
        let wanted = normalise_path(&below.join(specifier));
        let is_below = wanted.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Err("only files in the folder of the hook can be imported".to_owned());
        }
        let name = wanted.to_string_lossy().into_owned();
        if name == self.file.name {
            return Ok(self.file.source());
        }
        let path = self.file.folder.join(&wanted);
        let real = dispatch_os::files::canonicalize(&path).map_err(|error| error.to_string())?;
        let folder = dispatch_os::files::canonicalize(&self.file.folder).map_err(|error| error.to_string())?;
        if !real.starts_with(&folder) {
            return Err("the file leads out of the folder of the hook".to_owned());
        }
        let bytes = read_at_most(&real, MAX_HOOK_BYTES).map_err(|error| error.to_string())?;
        let digest = fingerprint(&bytes);
        let is_approved = |approvals: &PathBuf| Trust::load(approvals).is_approved_fingerprint(&digest);
        if !self.approvals.as_ref().is_none_or(is_approved) {
            return Err(format!("{} is not approved; look at it, then run `dispatch trust`", path.display()));
        }
        let source = Source::from_bytes(name, bytes).map_err(|error| error.to_string())?;
        Ok(source.with_digest(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(root: &Path) -> Folders {
        Folders {
            config: root.join("config"),
            data: root.join("data"),
            project: Some(root.join("project")),
            workdir: root.join("project"),
            ..Folders::default()
        }
    }

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn what_came_with_a_project_waits_for_approval_and_the_users_own_does_not() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        let cloned = root.path().join("project/.dispatch/hooks/cloned.ts");
        write(cloned.clone(), "export default () => null");
        write(root.path().join("project/.dispatch/hooks/types.d.ts"), "");
        write(root.path().join("config/hooks/own.ts"), "export default () => null;");
        write(root.path().join("config/hooks/notes.md"), "");
        let state = || -> Vec<(String, HookTrust)> {
            read_hooks(&folders).into_iter().map(|file| (file.stem(), file.trust)).collect()
        };
        assert_eq!(state(), [("cloned".to_owned(), HookTrust::Unapproved), ("own".to_owned(), HookTrust::Approved)]);
        let mut trust = Trust::default();
        trust.approve(cloned.clone(), b"export default () => null").unwrap();
        trust.write(&trust_file(&folders)).unwrap();
        assert_eq!(state()[0].1, HookTrust::Approved);
        write(cloned, "export default () => 1");
        assert_eq!(state()[0].1, HookTrust::Unapproved, "it changed since");
    }

    #[test]
    fn imports_stay_in_the_folder_and_need_approval_too() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        let hook = root.path().join("project/.dispatch/hooks/a.ts");
        write(hook.clone(), "import './lib/b.ts'");
        write(root.path().join("project/.dispatch/hooks/lib/b.ts"), "export const b = 1");
        write(root.path().join("project/secret.ts"), "export const s = 1");
        let file = read_hooks(&folders).remove(0);
        let imports = HookImports::new(file.clone(), Some(&folders));
        assert_eq!(imports.load("./a.ts", "entry.mjs").unwrap().text, "import './lib/b.ts'");
        assert!(imports.load("./lib/b.ts", "a.ts").unwrap_err().contains("not approved"));
        assert!(imports.load("../../secret.ts", "a.ts").unwrap_err().contains("only files in the folder"));
        let own = HookImports::new(HookFile { origin: HookOrigin::User, ..file }, Some(&folders));
        assert_eq!(own.load("./lib/b.ts", "a.ts").unwrap().text, "export const b = 1");
    }
}
