//! Agent Trace 0.1.0 records: one record per intent and session, and one for each other kind of writer, with the line
//! numbers of the present files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use dispatch_os::files;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::hash::content_hash;
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::query::blame::{FileBlame, LineAuthor, MAX_BLAMED_BYTES};
use crate::query::history::{FileHistories, histories};
use crate::query::{inside, line_diff, present_hash, stored_content};
use crate::trace_entry::RecordedChange;

/// The version of the format.
const VERSION: &str = "0.1.0";
/// The key of our own data in a record.
const VENDOR: &str = "dev.dispatch";
/// The most files whose entries are in memory at once.
const BATCH_FILES: usize = 500;

/// The state in which the lines were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExportContext {
    /// The commit of HEAD.
    pub revision: Option<String>,
    /// Files that differ from it; a record about one of them has no revision.
    pub uncommitted: BTreeSet<String>,
    /// The version of this program.
    pub version: String,
    /// The current time, for records without entries.
    pub now: String,
}

/// Who wrote a range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LineWriter {
    by: LineAuthor,
    intent: String,
    session: String,
}

#[derive(Default)]
struct AgentTraceRecord {
    files: BTreeMap<String, Vec<Value>>,
    tools: BTreeSet<String>,
    hosts: BTreeSet<String>,
    models: BTreeSet<String>,
    conversations: BTreeSet<String>,
    entries: BTreeSet<u64>,
    last: String,
}

/// The records of every file that has entries and still exists, maybe under another name: `renames` are the old and new
/// names that git knows, newest first.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn agent_trace(
    layout: &OrchestrationLayout,
    former: &dyn Fn(&str, &[RecordedChange]) -> Vec<String>,
    renames: &[(String, String)],
    snapshot: &ExportContext,
) -> io::Result<Vec<Value>> {
    let ledger = Ledger::open(layout);
    let present = |path: &str| present_hash(layout, path);
    let mut paths = paths(&ledger)?;
    for (old, new) in renames.iter().rev() {
        if paths.contains(old) {
            paths.insert(new.clone());
        }
    }
    let paths: Vec<String> = paths.into_iter().collect();
    let mut records: BTreeMap<LineWriter, AgentTraceRecord> = BTreeMap::new();
    for batch in paths.chunks(BATCH_FILES) {
        let found = histories(&ledger, &batch.iter().cloned().collect(), former, &present)?;
        collect(layout, &found, &mut records);
    }
    Ok(records.iter().map(|(writer, record)| spell(writer, record, snapshot)).collect())
}

fn paths(ledger: &Ledger) -> io::Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for line in ledger.lines()? {
        let entry = line?.entry().ok();
        paths.extend(entry.and_then(|entry| entry.file).map(|file| file.relative_path));
    }
    Ok(paths)
}

fn collect(layout: &OrchestrationLayout, found: &FileHistories, records: &mut BTreeMap<LineWriter, AgentTraceRecord>) {
    for (path, history) in found {
        let place = inside(&layout.root, path).filter(|place| files::is_file(place));
        let Some(present) = place.and_then(|place| files::read_at_most(&place, MAX_BLAMED_BYTES).ok()) else {
            continue;
        };
        let blame = FileBlame::new(history, &|hash| stored_content(layout, hash), &present);
        let texts: Vec<&[u8]> = line_diff::lines(&present).collect();
        for (writer, start, end) in ranges(&blame) {
            let record = records.entry(writer).or_default();
            let text = texts.get(start - 1..end).unwrap_or_default().join(&b'\n');
            let range = json!({ "start_line": start, "end_line": end, "content_hash": content_hash(&text) });
            record.files.entry(path.clone()).or_default().push(range);
            for change in (start..=end).filter_map(|line| blame.change(line)) {
                record.take_in(change);
            }
        }
    }
}

impl AgentTraceRecord {
    fn take_in(&mut self, change: &RecordedChange) {
        if self.entries.insert(change.number) {
            self.tools.insert(change.entry.tool_name.clone());
            self.hosts.extend(change.entry.host.clone());
            self.models.extend(change.entry.model.clone());
            self.conversations.extend(change.entry.conversation.clone());
            if change.entry.timestamp > self.last {
                self.last.clone_from(&change.entry.timestamp);
            }
        }
    }
}

/// Consecutive lines of one writer.
fn ranges(blame: &FileBlame<'_>) -> Vec<(LineWriter, usize, usize)> {
    let mut ranges: Vec<(LineWriter, usize, usize)> = Vec::new();
    for line in blame.lines() {
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        let writer = LineWriter { by: line.by, intent: text(line.intent), session: text(line.session) };
        match ranges.last_mut() {
            Some((last, _, end)) if *last == writer => *end = line.line,
            _ => ranges.push((writer, line.line, line.line)),
        }
    }
    ranges
}

fn spell(writer: &LineWriter, record: &AgentTraceRecord, snapshot: &ExportContext) -> Value {
    let contributor = match writer.by {
        LineAuthor::Agent => "ai",
        LineAuthor::Human => "human",
        LineAuthor::Unknown => "unknown",
    };
    let files: Vec<Value> = record
        .files
        .iter()
        .map(|(path, ranges)| {
            let mut conversation = json!({ "contributor": { "type": contributor }, "ranges": ranges });
            if let [model] = record.models.iter().collect::<Vec<_>>().as_slice() {
                conversation["contributor"]["model_id"] = json!(model);
            }
            if !writer.session.is_empty() {
                conversation["url"] = json!(url(writer, record));
            }
            json!({ "path": path, "conversations": [conversation] })
        })
        .collect();
    let timestamp = if record.last.is_empty() { &snapshot.now } else { &record.last };
    let mut spelled = json!({
        "version": VERSION,
        "id": id(writer, &files),
        "timestamp": timestamp,
        "tool": { "name": "dispatch", "version": snapshot.version },
        "files": files,
        "metadata": { VENDOR: {
            "intent": (!writer.intent.is_empty()).then_some(&writer.intent),
            "session": (!writer.session.is_empty()).then_some(&writer.session),
            "hosts": record.hosts,
            "tools": record.tools,
            "ledger_lines": record.entries,
        }},
    });
    let committed = !record.files.keys().any(|path| snapshot.uncommitted.contains(path));
    if let (Some(fields), Some(revision)) = (spelled.as_object_mut(), snapshot.revision.as_ref().filter(|_| committed))
    {
        fields.insert("vcs".to_owned(), json!({ "type": "git", "revision": revision }));
    }
    spelled
}

/// The address of a conversation: a name, because hosts keep conversations where no URL reaches them.
fn url(writer: &LineWriter, record: &AgentTraceRecord) -> String {
    let host = record.hosts.first().map_or("host", String::as_str);
    let id = record.conversations.first().unwrap_or(&writer.session);
    let plain = |text: &str| -> String {
        text.chars().filter(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.')).collect()
    };
    format!("urn:dispatch:{}:session:{}", plain(host), plain(id))
}

/// A UUID computed from the record, so that the same state gives the same record.
fn id(writer: &LineWriter, files: &[Value]) -> String {
    let text = json!([writer.intent, writer.session, format!("{:?}", writer.by), files]).to_string();
    let digest = Sha256::digest(text.as_bytes());
    let mut bytes = [0_u8; 16];
    for (slot, byte) in bytes.iter_mut().zip(digest.iter()) {
        *slot = *byte;
    }
    let number = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62) | (8 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::samples;

    #[test]
    fn each_writer_has_a_record_of_the_lines_as_they_are_now() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        std::fs::create_dir_all(layout.folder()).unwrap();
        let entries = vec![
            samples::change(2, "a.rs", None, Some(b"one\ntwo\n")),
            samples::change(3, "a.rs", Some(b"one\ntwo\n"), Some(b"one\nthree\ntwo\n")),
            samples::change(4, "gone.rs", None, Some(b"x\n")),
        ];
        Ledger::open(&layout).append(entries).unwrap();
        std::fs::write(folder.path().join("a.rs"), "one\nthree\ntwo\nby hand\n").unwrap();
        let snapshot = ExportContext {
            revision: Some("c".repeat(40)),
            uncommitted: BTreeSet::new(),
            version: "1.0.0".into(),
            now: "2026-01-01T00:00:00.000Z".into(),
        };
        let records = agent_trace(&layout, &|_, _| Vec::new(), &[], &snapshot).unwrap();
        let told: Vec<_> = records
            .iter()
            .map(|record| {
                let conversation = &record["files"][0]["conversations"][0];
                let ranges: Vec<_> = conversation["ranges"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|range| (range["start_line"].as_u64().unwrap(), range["end_line"].as_u64().unwrap()))
                    .collect();
                (
                    conversation["contributor"]["type"].as_str().unwrap(),
                    record["metadata"][VENDOR]["intent"].as_str(),
                    ranges,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("ai", Some("INT-001"), vec![(1, 1), (3, 3)]),
                ("ai", Some("INT-002"), vec![(2, 2)]),
                ("human", None, vec![(4, 4)])
            ]
        );
        for record in &records {
            let id = record["id"].as_str().unwrap();
            assert_eq!((id.len(), &id[14..15]), (36, "8"), "{id}");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
            assert_eq!(record["vcs"]["revision"].as_str().unwrap().len(), 40);
            let names: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, ["version", "id", "timestamp", "tool", "files", "metadata", "vcs"]);
        }
        let again = agent_trace(&layout, &|_, _| Vec::new(), &[], &snapshot).unwrap();
        assert_eq!(records, again);
    }
}
