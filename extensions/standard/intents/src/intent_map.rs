//! `intent_map.md`: a table of intents and the files they changed last, for people; sorted, so that it merges well.

use std::collections::BTreeMap;
use std::time::Duration;

use dispatch_os::{FileLock, LockKind, files};

use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;

const MAX_MAP_BYTES: u64 = 16 * 1024 * 1024;
const LOCK_WAIT: Duration = Duration::from_millis(200);
const HEADER: &str =
    "# Intent map\n\nGenerated from the ledger: the files that each intent changed last. Edits are overwritten.\n";
const COLUMNS: &str = "| File | Last hash | Last modified |\n| --- | --- | --- |\n";

/// One file of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedFile {
    /// The hash of its content.
    pub hash: String,
    /// The time of the change.
    pub timestamp: String,
}

/// The files of each intent, by path.
pub(crate) type IntentMap = BTreeMap<String, BTreeMap<String, MappedFile>>;

/// An update of the map; a removed file has no row.
#[derive(Debug, Clone)]
pub(crate) struct MapUpdate {
    /// The intent.
    pub intent: String,
    /// The file.
    pub path: String,
    /// Its row; `None` removes it.
    pub row: Option<MappedFile>,
}

/// Applies updates to the map of a workspace.
///
/// # Errors
/// When a file cannot be written, or the lock is busy.
pub(crate) fn update(layout: &OrchestrationLayout, touches: Vec<MapUpdate>) -> Result<(), IntentsError> {
    if touches.is_empty() {
        return Ok(());
    }
    create_local_folder(layout)?;
    let _held = FileLock::acquire(&layout.local_folder().join("map.lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let path = layout.map_file();
    let old = match files::read_text_at_most(&path, MAX_MAP_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error.into()),
    };
    let mut map = parse(&old);
    for touch in touches {
        let rows = map.entry(touch.intent).or_default();
        match touch.row {
            Some(row) => drop(rows.insert(touch.path, row)),
            None => drop(rows.remove(&touch.path)),
        }
    }
    let new = render(&map);
    if new != old {
        files::replace(&path, new.as_bytes())?;
    }
    Ok(())
}

/// Parses a map; lines that are not rows are skipped.
#[must_use]
pub(crate) fn parse(text: &str) -> IntentMap {
    let mut map = IntentMap::new();
    let mut intent = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            intent = name.to_owned();
            continue;
        }
        let cells = line.strip_prefix("| `").and_then(|rest| rest.strip_suffix(" |"));
        let Some((path, rest)) = cells.and_then(|rest| rest.split_once("` | `")) else {
            continue;
        };
        if let Some((hash, timestamp)) = rest.split_once("` | ") {
            let row = MappedFile { hash: hash.to_owned(), timestamp: timestamp.to_owned() };
            map.entry(intent.clone()).or_default().insert(unescape(path), row);
        }
    }
    map
}

/// The text of a map.
#[must_use]
pub(crate) fn render(map: &IntentMap) -> String {
    let mut text = HEADER.to_owned();
    for (intent, rows) in map.iter().filter(|(_, rows)| !rows.is_empty()) {
        text.push_str(&format!("\n## {intent}\n\n{COLUMNS}"));
        for (path, row) in rows {
            text.push_str(&format!("| `{}` | `{}` | {} |\n", escape(path), row.hash, row.timestamp));
        }
    }
    text
}

/// Characters that would end the cell or the line are written with `%`.
fn escape(path: &str) -> String {
    path.replace('%', "%25").replace('|', "%7C").replace('`', "%60").replace('\n', "%0A").replace('\r', "%0D")
}

fn unescape(path: &str) -> String {
    path.replace("%0D", "\r").replace("%0A", "\n").replace("%60", "`").replace("%7C", "|").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touch(intent: &str, path: &str, hash: Option<&str>) -> MapUpdate {
        let row =
            hash.map(|hash| MappedFile { hash: hash.to_owned(), timestamp: "2026-01-02T03:04:05.678Z".to_owned() });
        MapUpdate { intent: intent.to_owned(), path: path.to_owned(), row }
    }

    #[test]
    fn the_map_is_sorted_and_stays_as_it_is_when_nothing_changed() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        update(&layout, vec![touch("B", "z", Some("1")), touch("A", "b", Some("2")), touch("A", "a", Some("3"))])
            .unwrap();
        let text = std::fs::read_to_string(layout.map_file()).unwrap();
        let places: Vec<_> = ["## A", "| `a`", "| `b`", "## B", "| `z`"].iter().map(|part| text.find(part)).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
        update(&layout, vec![touch("A", "a", Some("3"))]).unwrap();
        assert_eq!(std::fs::read_to_string(layout.map_file()).unwrap(), text);
        update(&layout, vec![touch("B", "z", None)]).unwrap();
        assert!(!std::fs::read_to_string(layout.map_file()).unwrap().contains("## B"));
    }

    proptest! {
        #[test]
        fn any_path_survives(path in "[ -~\n%|`]{1,30}") {
            let mut map = IntentMap::new();
            let row = MappedFile { hash: "sha256:0".to_owned(), timestamp: "t".to_owned() };
            map.entry("INT-001".to_owned()).or_default().insert(path, row);
            prop_assert_eq!(parse(&render(&map)), map);
        }
    }
}
