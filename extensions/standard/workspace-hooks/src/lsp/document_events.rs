//! From what an editor says about its documents to events of a workspace.

use crate::content::content_hash;
use crate::contract::{Change, Event, FileChange, Source, Trigger};
use crate::watch::IgnoreRules;
use crate::watch::slashed;
use dispatch_os::files;
use dispatch_os::paths::path_of_uri;
use dispatch_os::time::monotonic_ms;
use serde_json::Map;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How long ignore rules are kept before they are read again.
const IGNORE_RULES_AGE_MS: u64 = 10_000;
/// Of a folder with a new name, so many files are told.
const MAX_RENAMED: usize = 10_000;

/// What an editor said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum DocumentNotice {
    Saved(String),
    WillSave(String),
    Created(Vec<String>),
    Deleted(Vec<String>),
    /// Old and new.
    Renamed(Vec<(String, String)>),
}

impl DocumentNotice {
    /// Whether at most so many bytes have to be read to resolve it.
    pub(super) fn costs_at_most(&self, bytes: u64) -> bool {
        match self {
            Self::WillSave(_) => true,
            Self::Saved(uri) => {
                let found = path_of_uri(uri).and_then(|path| files::symlink_metadata(path).ok());
                found.is_none_or(|found| found.len() <= bytes)
            }
            Self::Created(_) | Self::Deleted(_) | Self::Renamed(_) => false,
        }
    }
}

/// Notices without those that a later one repeats: the content is read when they are resolved.
pub(super) fn without_repeats(notices: Vec<DocumentNotice>) -> Vec<DocumentNotice> {
    let mut kept: Vec<DocumentNotice> = Vec::new();
    for notice in notices {
        if matches!(notice, DocumentNotice::Saved(_) | DocumentNotice::WillSave(_)) {
            kept.retain(|known| *known != notice);
        }
        kept.push(notice);
    }
    kept
}

/// Knows the workspaces of a client.
#[derive(Default)]
pub(super) struct EventResolver {
    ignore_rules: HashMap<PathBuf, (IgnoreRules, u64)>,
}

/// A file of a workspace.
struct WorkspaceFile {
    workspace: PathBuf,
    /// Relative to it.
    path: PathBuf,
}

impl EventResolver {
    /// The events that a notice means, one for each workspace. Documents outside every workspace, without a file, or
    /// ignored by git mean none.
    pub(super) fn events(&mut self, notice: &DocumentNotice, workspaces: &[PathBuf]) -> Vec<Event> {
        let (trigger, found) = match notice {
            DocumentNotice::Saved(uri) => (Trigger::DidSave, vec![self.present(uri, Change::Changed, workspaces)]),
            DocumentNotice::Created(uris) => {
                let found = uris.iter().map(|uri| self.present(uri, Change::Created, workspaces));
                (Trigger::DidCreate, found.collect())
            }
            // What is on the disk is not what will be saved, so nothing can be said about the content: without a hash
            // no such event is taken for one that was handled before.
            DocumentNotice::WillSave(uri) => (Trigger::WillSave, vec![self.absent(uri, Change::Changed, workspaces)]),
            DocumentNotice::Deleted(uris) => {
                let found = uris.iter().map(|uri| self.absent(uri, Change::Deleted, workspaces));
                (Trigger::DidDelete, found.collect())
            }
            DocumentNotice::Renamed(names) => {
                let found = names.iter().flat_map(|(old, new)| self.renamed(old, new, workspaces));
                (Trigger::DidRename, found.map(Some).collect())
            }
        };
        grouped(&trigger, found.into_iter().flatten())
    }

    /// A file that is there.
    fn present(&mut self, uri: &str, change: Change, workspaces: &[PathBuf]) -> Option<(PathBuf, FileChange)> {
        let place = self.place(&path_of_uri(uri)?, workspaces)?;
        let file = place.workspace.join(&place.path);
        if files::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
            return None;
        }
        let content_hash = content_hash(&file);
        Some((place.workspace, FileChange { path: slashed(&place.path)?, change, content_hash }))
    }

    /// A file that is gone, or whose content is not known.
    fn absent(&mut self, uri: &str, change: Change, workspaces: &[PathBuf]) -> Option<(PathBuf, FileChange)> {
        let place = self.place(&path_of_uri(uri)?, workspaces)?;
        Some((place.workspace, FileChange { path: slashed(&place.path)?, change, content_hash: None }))
    }

    fn renamed(&mut self, old: &str, new: &str, workspaces: &[PathBuf]) -> Vec<(PathBuf, FileChange)> {
        let (Some(old), Some(new)) = (path_of_uri(old), path_of_uri(new)) else { return Vec::new() };
        let pairs = if files::is_dir(&new) { below(&old, &new) } else { vec![(old, new)] };
        pairs.iter().filter_map(|(old, new)| self.renamed_file(old, new, workspaces)).collect()
    }

    fn renamed_file(&mut self, old: &Path, new: &Path, workspaces: &[PathBuf]) -> Option<(PathBuf, FileChange)> {
        let place = self.place(new, workspaces)?;
        let content_hash = content_hash(&place.workspace.join(&place.path));
        let path = slashed(&place.path)?;
        let from = real(old).and_then(|old| slashed(old.strip_prefix(&place.workspace).ok()?));
        // What comes from outside is new here.
        let change = from.map_or(Change::Created, |from| Change::Renamed { from });
        Some((place.workspace, FileChange { path, change, content_hash }))
    }

    fn place(&mut self, path: &Path, workspaces: &[PathBuf]) -> Option<WorkspaceFile> {
        let path = real(path)?;
        let fitting = workspaces.iter().filter(|workspace| path.starts_with(workspace));
        let workspace = fitting.max_by_key(|workspace| workspace.as_os_str().len())?;
        let inside = path.strip_prefix(workspace).ok()?;
        let kept = self.ignore_rules_of(workspace, inside).keeps_file(inside);
        kept.then(|| WorkspaceFile { workspace: workspace.clone(), path: inside.to_owned() })
    }

    fn ignore_rules_of(&mut self, workspace: &Path, path: &Path) -> &mut IgnoreRules {
        let now_ms = monotonic_ms();
        let fresh = || (IgnoreRules::new(workspace), now_ms);
        let entry = self.ignore_rules.entry(workspace.to_owned()).or_insert_with(fresh);
        if now_ms.saturating_sub(entry.1) > IGNORE_RULES_AGE_MS || crate::watch::is_ignore_file(path) {
            *entry = fresh();
        }
        &mut entry.0
    }
}

/// A path without links above the file, which may be gone.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let folder = files::canonicalize(folder).unwrap_or_else(|_| dispatch_os::paths::normalise_path(folder));
    Some(folder.join(path.file_name()?))
}

/// The files of a folder with a new name, old and new.
fn below(old: &Path, new: &Path) -> Vec<(PathBuf, PathBuf)> {
    let walk = crate::watch::walk_of(new).build().flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let pairs = files.filter_map(|entry| {
        let inside = entry.path().strip_prefix(new).ok()?;
        Some((old.join(inside), entry.path().to_owned()))
    });
    pairs.take(MAX_RENAMED).collect()
}

fn grouped(trigger: &Trigger, found: impl Iterator<Item = (PathBuf, FileChange)>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for (workspace, file) in found {
        match events.iter_mut().find(|event| event.workspace == workspace) {
            Some(event) => event.files.push(file),
            None => events.push(Event {
                trigger: trigger.clone(),
                workspace,
                files: vec![file],
                source: Source::Editor,
                hook: None,
                id: None,
                metadata: Map::new(),
            }),
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_os::paths::uri_of_path;
    use std::fs;

    struct TestWorkspaces {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    fn workspaces() -> TestWorkspaces {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["one/.git", "one/src/deep", "one/out", "two"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("one/.gitignore"), "out/\n").unwrap();
        for path in ["one/src/a.rs", "one/src/deep/b.rs", "one/out/c.rs", "two/d.rs", "elsewhere.rs"] {
            fs::write(root.join(path), path).unwrap();
        }
        TestWorkspaces { _folder: folder, root }
    }

    impl TestWorkspaces {
        fn uri(&self, path: &str) -> String {
            uri_of_path(&self.root.join(path))
        }

        fn told(&self, notice: &DocumentNotice) -> Vec<String> {
            let workspaces = [self.root.join("one"), self.root.join("two"), self.root.join("one/src/deep")];
            let events = EventResolver::default().events(notice, &workspaces);
            let words = events.iter().flat_map(|event| {
                let workspace = event.workspace.strip_prefix(&self.root).unwrap().display();
                event.files.iter().map(move |file| {
                    let hash = if file.content_hash.is_some() { "read" } else { "unread" };
                    format!("{workspace}: {:?} {} {:?} {hash}", event.trigger, file.path, file.change)
                })
            });
            words.collect()
        }
    }

    #[test]
    fn documents_belong_to_the_innermost_workspace_or_to_none() {
        let workspaces = workspaces();
        let saved = |path: &str| workspaces.told(&DocumentNotice::Saved(workspaces.uri(path)));
        assert_eq!(saved("one/src/a.rs"), ["one: DidSave src/a.rs Changed read"]);
        assert_eq!(saved("one/src/deep/b.rs"), ["one/src/deep: DidSave b.rs Changed read"]);
        assert_eq!(saved("two/d.rs"), ["two: DidSave d.rs Changed read"]);
        assert_eq!(saved("two/not-yet-there.rs"), ["two: DidSave not-yet-there.rs Changed unread"]);
        for path in ["one/out/c.rs", "elsewhere.rs", "one/.git/HEAD", "one/src", "one/../elsewhere.rs"] {
            assert_eq!(saved(path), [""; 0], "{path}");
        }
        assert_eq!(workspaces.told(&DocumentNotice::Saved("untitled:Untitled-1".to_owned())), [""; 0]);
    }

    #[test]
    fn a_save_to_come_says_nothing_about_the_content() {
        let workspaces = workspaces();
        let told = workspaces.told(&DocumentNotice::WillSave(workspaces.uri("one/src/a.rs")));
        assert_eq!(told, ["one: WillSave src/a.rs Changed unread"]);
    }

    #[test]
    fn files_and_folders_come_go_and_move() {
        let workspaces = workspaces();
        let created = DocumentNotice::Created(vec![
            workspaces.uri("one/src/a.rs"),
            workspaces.uri("two/d.rs"),
            workspaces.uri("one/src"),
        ]);
        assert_eq!(
            workspaces.told(&created),
            ["one: DidCreate src/a.rs Created read", "two: DidCreate d.rs Created read"]
        );
        let deleted = DocumentNotice::Deleted(vec![workspaces.uri("one/src/gone.rs")]);
        assert_eq!(workspaces.told(&deleted), ["one: DidDelete src/gone.rs Deleted unread"]);
        let renamed = DocumentNotice::Renamed(vec![(workspaces.uri("two/old.rs"), workspaces.uri("two/d.rs"))]);
        assert_eq!(workspaces.told(&renamed), [r#"two: DidRename d.rs Renamed { from: "old.rs" } read"#]);
        let folder = DocumentNotice::Renamed(vec![(workspaces.uri("one/before"), workspaces.uri("one/src"))]);
        assert_eq!(workspaces.told(&folder).len(), 2, "{:?}", workspaces.told(&folder));
        let came = DocumentNotice::Renamed(vec![(workspaces.uri("nowhere/x"), workspaces.uri("two/d.rs"))]);
        assert_eq!(workspaces.told(&came), ["two: DidRename d.rs Created read"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_workspace_reached_by_a_link_is_the_same_workspace() {
        let workspaces = workspaces();
        std::os::unix::fs::symlink(workspaces.root.join("two"), workspaces.root.join("link")).unwrap();
        assert_eq!(
            workspaces.told(&DocumentNotice::Saved(workspaces.uri("link/d.rs"))),
            ["two: DidSave d.rs Changed read"]
        );
    }

    #[test]
    fn of_repeated_saves_the_last_counts() {
        let saved = |name: &str| DocumentNotice::Saved(name.to_owned());
        let will = DocumentNotice::WillSave("a".to_owned());
        let kept = without_repeats(vec![saved("a"), saved("b"), will.clone(), saved("a")]);
        assert_eq!(kept, [saved("b"), will, saved("a")]);
    }
}
