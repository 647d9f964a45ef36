//! Changes of files as events, one for each trigger that they mean.
//!
//! Pure.

use super::changes::{DetectedChange, RenamedContent};
use crate::contract::{Change, ContentHash, Event, FileChange, Source, Trigger};
use serde_json::Map;
use std::path::Path;

/// The most files of one event; more make several, so that no transaction grows without bound.
pub(super) const MAX_FILES: usize = 500;

/// A file that something happened to.
#[derive(Clone, Debug)]
pub(super) struct ChangedFile {
    /// Relative to the workspace, with `/` between the parts.
    pub(super) path: String,
    pub(super) happened: DetectedChange,
    pub(super) hash: Option<ContentHash>,
}

/// The events that a burst means. A created file is also a saved one.
pub(super) fn events(workspace: &Path, judged: &[ChangedFile]) -> Vec<Event> {
    let of = |trigger: Trigger, fits: fn(&DetectedChange) -> bool| {
        let files: Vec<FileChange> = judged.iter().filter(|one| fits(&one.happened)).filter_map(file_change).collect();
        let events = files.chunks(MAX_FILES).map(|files| Event {
            trigger: trigger.clone(),
            workspace: workspace.to_owned(),
            files: files.to_vec(),
            source: Source::Watcher,
            hook: None,
            id: None,
            metadata: Map::new(),
        });
        events.collect::<Vec<_>>()
    };
    let groups = [
        of(Trigger::DidRename, |happened| matches!(happened, DetectedChange::Renamed { .. })),
        of(Trigger::DidCreate, |happened| matches!(happened, DetectedChange::Created)),
        of(Trigger::DidSave, |happened| match happened {
            DetectedChange::Created | DetectedChange::Changed => true,
            DetectedChange::Renamed { content, .. } => *content == RenamedContent::Changed,
            DetectedChange::Deleted => false,
        }),
        of(Trigger::DidDelete, |happened| matches!(happened, DetectedChange::Deleted)),
    ];
    groups.into_iter().flatten().collect()
}

fn file_change(judged: &ChangedFile) -> Option<FileChange> {
    let change = match &judged.happened {
        DetectedChange::Created => Change::Created,
        DetectedChange::Changed => Change::Changed,
        DetectedChange::Deleted => Change::Deleted,
        DetectedChange::Renamed { from, .. } => Change::Renamed { from: slashed(from)? },
    };
    Some(FileChange { path: judged.path.clone(), change, content_hash: judged.hash.clone() })
}

/// A relative path as events spell it; `None` if it is not UTF-8.
pub(crate) fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn judged(path: &str, happened: DetectedChange) -> ChangedFile {
        ChangedFile { path: path.to_owned(), happened, hash: None }
    }

    #[test]
    fn each_change_reaches_its_triggers() {
        let renamed = |content| DetectedChange::Renamed { from: PathBuf::from("old"), content };
        let list = [
            judged("a", DetectedChange::Created),
            judged("b", DetectedChange::Changed),
            judged("c", DetectedChange::Deleted),
            judged("d", renamed(RenamedContent::Same)),
            judged("e", renamed(RenamedContent::Changed)),
        ];
        let found = events(Path::new("/w"), &list);
        let words: Vec<(Trigger, Vec<&str>)> = found
            .iter()
            .map(|event| (event.trigger.clone(), event.files.iter().map(|file| file.path.as_str()).collect()))
            .collect();
        assert_eq!(
            words,
            [
                (Trigger::DidRename, vec!["d", "e"]),
                (Trigger::DidCreate, vec!["a"]),
                (Trigger::DidSave, vec!["a", "b", "e"]),
                (Trigger::DidDelete, vec!["c"]),
            ]
        );
        assert_eq!(found[0].files[0].change, Change::Renamed { from: "old".to_owned() });
    }

    #[test]
    fn many_files_are_many_events() {
        let list: Vec<ChangedFile> =
            (0..MAX_FILES + 1).map(|n| judged(&n.to_string(), DetectedChange::Changed)).collect();
        let found = events(Path::new("/w"), &list);
        assert_eq!(found.iter().map(|event| event.files.len()).collect::<Vec<_>>(), [MAX_FILES, 1]);
        assert!(events(Path::new("/w"), &[]).is_empty());
    }
}
