//! Changes of files as events, one for each trigger that they mean.

use super::changes::{Content, Happened};
use crate::contract::{Change, ContentHash, Event, FileChange, Source, Trigger};
use serde_json::Map;
use std::path::Path;

/// The most files of one event; more make several, so that no transaction grows without bound.
pub(super) const MAX_FILES: usize = 500;

/// A file that something happened to.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// Relative to the workspace, with `/` between the parts.
    pub(super) path: String,
    pub(super) happened: Happened,
    pub(super) hash: Option<ContentHash>,
}

/// The events that a burst means. A created file is also a saved one.
pub(super) fn events(workspace: &Path, judged: &[Judged]) -> Vec<Event> {
    let of = |trigger: Trigger, fits: fn(&Happened) -> bool| {
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
        of(Trigger::DidRename, |happened| matches!(happened, Happened::Renamed { .. })),
        of(Trigger::DidCreate, |happened| matches!(happened, Happened::Created)),
        of(Trigger::DidSave, |happened| match happened {
            Happened::Created | Happened::Changed => true,
            Happened::Renamed { content, .. } => *content == Content::Changed,
            Happened::Deleted => false,
        }),
        of(Trigger::DidDelete, |happened| matches!(happened, Happened::Deleted)),
    ];
    groups.into_iter().flatten().collect()
}

fn file_change(judged: &Judged) -> Option<FileChange> {
    let change = match &judged.happened {
        Happened::Created => Change::Created,
        Happened::Changed => Change::Changed,
        Happened::Deleted => Change::Deleted,
        Happened::Renamed { from, .. } => Change::Renamed { from: slashed(from)? },
    };
    Some(FileChange { path: judged.path.clone(), change, content_hash: judged.hash.clone() })
}

/// A relative path as events spell it; `None` if it is no text.
pub(crate) fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn judged(path: &str, happened: Happened) -> Judged {
        Judged { path: path.to_owned(), happened, hash: None }
    }

    #[test]
    fn each_change_reaches_its_triggers() {
        let renamed = |content| Happened::Renamed { from: PathBuf::from("old"), content };
        let list = [
            judged("a", Happened::Created),
            judged("b", Happened::Changed),
            judged("c", Happened::Deleted),
            judged("d", renamed(Content::Same)),
            judged("e", renamed(Content::Changed)),
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
        let list: Vec<Judged> = (0..MAX_FILES + 1).map(|n| judged(&n.to_string(), Happened::Changed)).collect();
        let found = events(Path::new("/w"), &list);
        assert_eq!(found.iter().map(|event| event.files.len()).collect::<Vec<_>>(), [MAX_FILES, 1]);
        assert!(events(Path::new("/w"), &[]).is_empty());
    }
}
