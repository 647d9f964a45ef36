//! Finds the extensions of a project, of the user and of installed packages, and says what may become of each.

use crate::extension::ScriptExtension;
use crate::folder::{ExtensionFolder, MANIFEST_FILE};
use crate::limits::MAX_EXTENSIONS;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Manifest, Trust as Origin};
use dispatch_kernel::host::manifest::parse_from;
use dispatch_os::files;
use dispatch_trust::{Approval, Trust};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the names of packages begin with that are extensions.
const PACKAGE_PREFIX: &str = "dispatch-ext-";
/// The keyword of packages that are extensions under another name.
const PACKAGE_KEYWORD: &str = "dispatch-extension";
/// The largest package.json that is looked into for the keyword.
const MAX_PACKAGE_BYTES: u64 = 256 * 1024;

/// Where an extension was found, the strongest place first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `.dispatch/extensions/ID` of the project.
    Project,
    /// `extensions/ID` in the user's configuration folder.
    User,
    /// `node_modules/dispatch-ext-*` of the project.
    ProjectPackages,
    /// `extensions/node_modules/dispatch-ext-*` in the user's configuration folder.
    UserPackages,
}

impl Place {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::ProjectPackages => "project package",
            Self::UserPackages => "user package",
        }
    }

    /// How far the kernel trusts what comes from there.
    #[must_use]
    pub const fn origin(self) -> Origin {
        match self {
            Self::User => Origin::Local,
            _ => Origin::External,
        }
    }
}

/// The folders in which extensions are looked for.
#[derive(Clone, Debug, Default)]
pub struct SearchFolders {
    /// The project's root, if there is one.
    pub project: Option<PathBuf>,
    /// The user's configuration folder.
    pub config: PathBuf,
    /// Folders of extensions that somebody is working on: whatever they contain is approved.
    pub development: Vec<PathBuf>,
}

impl SearchFolders {
    /// Where extensions of a place are.
    #[must_use]
    pub fn of(&self, place: Place) -> Option<PathBuf> {
        let project = self.project.as_ref();
        match place {
            Place::Project => project.map(|root| root.join(".dispatch/extensions")),
            Place::User => Some(self.config.join("extensions")),
            Place::ProjectPackages => project.map(|root| root.join("node_modules")),
            Place::UserPackages => Some(self.config.join("extensions/node_modules")),
        }
    }
}

/// What may become of an extension.
#[derive(Clone)]
pub enum FoundState {
    /// The user approved it: it runs.
    Approved(Arc<ScriptExtension>),
    /// The user approved no content of this folder.
    NotApproved,
    /// The user approved other content of this folder.
    Changed,
    /// Another one with its id runs instead.
    Shadowed(Place),
    /// It cannot run.
    Broken(String),
}

/// An extension on disk.
#[derive(Clone)]
pub struct FoundExtension {
    /// Its id, as far as is known: the manifest's, else the folder's name.
    pub id: String,
    /// Where it was found.
    pub place: Place,
    /// Its folder.
    pub path: PathBuf,
    /// Its manifest, if that is in order.
    pub manifest: Option<Manifest>,
    /// What may become of it.
    pub state: FoundState,
}

impl FoundExtension {
    /// The extension, if it runs.
    #[must_use]
    pub fn extension(&self) -> Option<&Arc<ScriptExtension>> {
        match &self.state {
            FoundState::Approved(extension) => Some(extension),
            _ => None,
        }
    }

    /// Why it does not run, for people; `None` if it does.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let shown = self.path.display();
        match &self.state {
            FoundState::Approved(_) => None,
            FoundState::NotApproved => Some(format!("not approved; look at it, then run `dispatch trust {shown}`")),
            FoundState::Changed => {
                Some(format!("changed since it was approved; look at it, then run `dispatch trust {shown}`"))
            }
            FoundState::Shadowed(by) => Some(format!("the one of the place `{}` is used", by.word())),
            FoundState::Broken(reason) => Some(reason.clone()),
        }
    }
}

/// Everything that was found, the strongest place first.
#[derive(Clone, Default)]
pub struct Discovered {
    /// In order of place, then folder.
    pub found: Vec<FoundExtension>,
}

impl Discovered {
    /// The extension with this id that runs.
    #[must_use]
    pub fn running(&self, id: &ExtensionId) -> Option<&FoundExtension> {
        self.found.iter().find(|found| found.id == id.as_str() && found.extension().is_some())
    }

    /// Those that run.
    pub fn all_running(&self) -> impl Iterator<Item = &FoundExtension> {
        self.found.iter().filter(|found| found.extension().is_some())
    }
}

/// What decides whether an extension may run.
struct ApprovalRules<'a> {
    trust: &'a Trust,
    reserved: &'a [ExtensionId],
    is_development: bool,
}

/// Looks into all places. Nothing is run.
#[must_use]
pub fn discover(folders: &SearchFolders, trust: &Trust, reserved: &[ExtensionId]) -> Discovered {
    let mut found = Vec::new();
    for place in [Place::Project, Place::User, Place::ProjectPackages, Place::UserPackages] {
        let Some(folder) = folders.of(place) else { continue };
        for path in extension_folders(place, &folder) {
            let rules = ApprovalRules { trust, reserved, is_development: folders.development.contains(&path) };
            found.push(look_at(place, path, &rules));
        }
    }
    shadow(&mut found);
    Discovered { found }
}

/// The folders of one place that are extensions, in order.
fn extension_folders(place: Place, folder: &Path) -> Vec<PathBuf> {
    let is_package = |path: &PathBuf| file_name(path).starts_with(PACKAGE_PREFIX) || has_keyword(path);
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = files::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| files::is_dir(path)).collect()
    };
    let mut paths: Vec<PathBuf> = match place {
        Place::Project | Place::User => {
            let is_extension = |path: &PathBuf| !file_name(path).starts_with('.') && file_name(path) != "node_modules";
            below(folder).into_iter().filter(is_extension).collect()
        }
        Place::ProjectPackages | Place::UserPackages => {
            let all = below(folder);
            let scopes = all.iter().filter(|path| file_name(path).starts_with('@'));
            let scoped: Vec<PathBuf> = scopes.flat_map(|scope| below(scope)).collect();
            all.into_iter().chain(scoped).filter(is_package).collect()
        }
    };
    paths.sort();
    paths.truncate(MAX_EXTENSIONS);
    paths
}

/// Whether a package says of itself that it is an extension. Only one with a manifest is asked.
fn has_keyword(package: &Path) -> bool {
    if !files::is_file(package.join(MANIFEST_FILE)) {
        return false;
    }
    let text = files::read_text_at_most(&package.join("package.json"), MAX_PACKAGE_BYTES).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let keywords = package.get("keywords").and_then(serde_json::Value::as_array);
    keywords.is_some_and(|keywords| keywords.iter().any(|keyword| keyword == PACKAGE_KEYWORD))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn look_at(place: Place, path: PathBuf, rules: &ApprovalRules<'_>) -> FoundExtension {
    let mut found =
        FoundExtension { id: file_name(&path), place, path, manifest: None, state: FoundState::NotApproved };
    found.state = match ExtensionFolder::read(&found.path) {
        Ok(folder) => match checked_manifest(&folder, place, rules.reserved) {
            Ok(manifest) => {
                found.id = manifest.id.to_string();
                found.manifest = Some(manifest.clone());
                approved_state(folder, &manifest, rules)
            }
            Err(reason) => FoundState::Broken(reason),
        },
        Err(error) => FoundState::Broken(error.to_string()),
    };
    found
}

/// The manifest of a folder, or everything that is wrong with it, with the file's name.
fn checked_manifest(folder: &ExtensionFolder, place: Place, reserved: &[ExtensionId]) -> Result<Manifest, String> {
    let file = folder.path().join(MANIFEST_FILE);
    let said = |reason: String| format!("{}: {reason}", file.display());
    let text = folder.manifest().ok_or_else(|| said("there is no such file, or it is not text in UTF-8".to_owned()))?;
    let manifest = parse_from(text, place.origin()).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        said(problems.join("; "))
    })?;
    let name = file_name(folder.path());
    let is_named = matches!(place, Place::Project | Place::User);
    if is_named && manifest.id.as_str() != name {
        return Err(said(format!("`id` is `{}`, but the folder is called `{name}`", manifest.id)));
    }
    if reserved.contains(&manifest.id) {
        return Err(said(format!("`id` is `{}`, which is part of the core of the program", manifest.id)));
    }
    Ok(manifest)
}

fn approved_state(folder: ExtensionFolder, manifest: &Manifest, rules: &ApprovalRules<'_>) -> FoundState {
    let content = folder.content();
    let approval = rules.trust.approval(folder.path(), &content);
    if approval != Approval::Approved && !rules.trust.is_approved(&content) && !rules.is_development {
        return if approval == Approval::Changed { FoundState::Changed } else { FoundState::NotApproved };
    }
    match ScriptExtension::new(folder, manifest) {
        Ok(extension) => FoundState::Approved(Arc::new(extension)),
        Err(reason) => FoundState::Broken(reason),
    }
}

/// Of several that could run, the one of the strongest place does.
fn shadow(found: &mut [FoundExtension]) {
    let mut taken: Vec<(String, Place)> = Vec::new();
    for extension in found.iter_mut().filter(|extension| extension.extension().is_some()) {
        match taken.iter().find(|(id, _)| *id == extension.id) {
            Some((_, by)) => extension.state = FoundState::Shadowed(*by),
            None => taken.push((extension.id.clone(), extension.place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(id: &str) -> String {
        format!(r#"{{"id":"{id}","name":"X","version":"1.0.0","apiVersion":"*","tier":"external"}}"#)
    }

    fn add(folder: &Path, id: &str, text: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("manifest.json"), manifest(id)).unwrap();
        std::fs::write(folder.join("index.ts"), text).unwrap();
    }

    fn states(found: &Discovered) -> Vec<String> {
        let word = |found: &FoundExtension| match &found.state {
            FoundState::Approved(_) => "approved".to_owned(),
            FoundState::NotApproved => "not approved".to_owned(),
            FoundState::Changed => "changed".to_owned(),
            FoundState::Shadowed(by) => format!("shadowed by {}", by.word()),
            FoundState::Broken(reason) => reason.clone(),
        };
        found.found.iter().map(|found| format!("{}: {}", found.place.word(), word(found))).collect()
    }

    #[test]
    fn one_id_in_four_places_is_taken_from_the_strongest_that_is_approved() {
        let root = tempfile::tempdir().unwrap();
        let folders = SearchFolders {
            project: Some(root.path().join("p")),
            config: root.path().join("c"),
            ..SearchFolders::default()
        };
        let places = [
            (Place::Project, "hello"),
            (Place::User, "hello"),
            (Place::ProjectPackages, "dispatch-ext-hello"),
            (Place::UserPackages, "@me/dispatch-ext-hello"),
        ];
        let paths: Vec<PathBuf> = places.iter().map(|(place, name)| folders.of(*place).unwrap().join(name)).collect();
        let mut trust = Trust::default();
        for (at, path) in paths.iter().enumerate() {
            add(path, "hello", &format!("// {at}"));
        }
        assert!(states(&discover(&folders, &trust, &[])).iter().all(|state| state.ends_with(": not approved")));
        for path in &paths {
            trust.approve(path.clone(), &ExtensionFolder::read(path).unwrap().content()).unwrap();
        }
        for (at, path) in paths.iter().enumerate() {
            let found = discover(&folders, &trust, &[]);
            assert_eq!(found.running(&"hello".into()).unwrap().path, *path, "{at}");
            assert_eq!(found.all_running().count(), 1);
            assert_eq!(found.found.len(), paths.len() - at);
            std::fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn a_package_is_an_extension_by_its_name_or_its_keyword() {
        let root = tempfile::tempdir().unwrap();
        let folders = SearchFolders { project: None, config: root.path().to_path_buf(), ..SearchFolders::default() };
        let place = folders.of(Place::UserPackages).unwrap();
        for (name, package) in [
            ("clock", r#"{"keywords":["time","dispatch-extension"]}"#),
            ("other", r#"{"keywords":["time"]}"#),
            ("broken", "{"),
            ("@me/watch", r#"{"keywords":["dispatch-extension"]}"#),
        ] {
            add(&place.join(name), "x", "");
            std::fs::write(place.join(name).join("package.json"), package).unwrap();
        }
        let found = discover(&folders, &Trust::default(), &[]);
        let paths: Vec<_> = found.found.iter().map(|found| found.path.strip_prefix(&place).unwrap()).collect();
        assert_eq!(paths, [Path::new("@me/watch"), Path::new("clock")]);
    }

    #[test]
    fn a_change_after_the_approval_stops_it_and_a_copy_of_what_was_approved_runs() {
        let root = tempfile::tempdir().unwrap();
        let folders = SearchFolders {
            project: Some(root.path().to_path_buf()),
            config: root.path().join("c"),
            ..SearchFolders::default()
        };
        let path = folders.of(Place::Project).unwrap().join("hello");
        add(&path, "hello", "// a");
        let mut trust = Trust::default();
        trust.approve(path.clone(), &ExtensionFolder::read(&path).unwrap().content()).unwrap();
        let copy = folders.of(Place::User).unwrap().join("hello");
        add(&copy, "hello", "// a");
        assert_eq!(states(&discover(&folders, &trust, &[])), ["project: approved", "user: shadowed by project"]);
        std::fs::write(path.join("more.ts"), "").unwrap();
        assert_eq!(states(&discover(&folders, &trust, &[])), ["project: changed", "user: approved"]);
    }

    #[test]
    fn what_somebody_works_on_runs_with_any_content_and_nothing_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let mut folders = SearchFolders {
            project: Some(root.path().to_path_buf()),
            config: root.path().join("c"),
            ..SearchFolders::default()
        };
        let place = folders.of(Place::Project).unwrap();
        add(&place.join("mine"), "mine", "// a");
        add(&place.join("other"), "other", "// a");
        folders.development = vec![place.join("mine")];
        for text in ["// b", "// c"] {
            add(&place.join("mine"), "mine", text);
            let found = discover(&folders, &Trust::default(), &[]);
            assert_eq!(states(&found), ["project: approved", "project: not approved"]);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_file_and_field() {
        let root = tempfile::tempdir().unwrap();
        let folders = SearchFolders {
            project: Some(root.path().to_path_buf()),
            config: root.path().join("c"),
            ..SearchFolders::default()
        };
        let place = folders.of(Place::Project).unwrap();
        std::fs::create_dir_all(place.join("a-empty")).unwrap();
        add(&place.join("b-other"), "another", "");
        add(&place.join("c-core"), "c-core", "");
        add(&place.join("d-wrong"), "d-wrong", "");
        std::fs::write(place.join("d-wrong/manifest.json"), r#"{"id":"d-wrong","capabilities":["flight"]}"#).unwrap();
        let said = states(&discover(&folders, &Trust::default(), &["c-core".into()]));
        let expected =
            ["there is no such file", "the folder is called `b-other`", "core of the program", "capabilities[0]"];
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains("manifest.json: ") && said.contains(expected), "{said}");
        }
    }
}
