//! Asks git for the files that differ from its commit, within limits of time and output and without running programs
//! from the repository's configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dispatch_os::files::{self, Stamp, read_at_most};
use dispatch_os::{CaptureLimit, ChildSpec, Deadline};
use serde::{Deserialize, Serialize};

use super::{is_traced, relative};
use crate::layout::{FOLDER, LEDGER_FILE, OrchestrationLayout};

const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
const MAX_HIDDEN_BYTES: u64 = 4 * 1024 * 1024;
/// The most files of a nested repository.
const MAX_NESTED_FILES: usize = 2_000;

/// The status of the repository.
pub(super) struct GitStatus {
    /// The commit.
    pub(super) head: Option<String>,
    /// Files that differ from it, are not in it, or are hidden from git status.
    pub(super) paths: BTreeSet<String>,
}

pub(super) fn is_repository(root: &Path) -> bool {
    root.ancestors().any(|folder| files::exists(folder.join(".git")))
}

pub(super) fn status(layout: &OrchestrationLayout, deadline: Deadline) -> Result<GitStatus, String> {
    let arguments =
        ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=none", "--", "."];
    let output = run(&layout.root, &arguments, Vec::new(), deadline)?;
    let prefix = prefix(&layout.root);
    let mut status = parse(&output, &prefix);
    let nested: Vec<String> = status.paths.iter().filter(|path| path.ends_with('/')).cloned().collect();
    for folder in nested {
        status.paths.remove(&folder);
        add_nested(layout, &folder, &mut status.paths)?;
    }
    status.paths.extend(hidden(layout, deadline)?);
    status.paths.retain(|path| is_traced(path));
    Ok(status)
}

/// The path from the repository's root to the workspace, with a `/` at its end; empty if they are the same.
fn prefix(root: &Path) -> String {
    let top = root.ancestors().find(|folder| files::exists(folder.join(".git")));
    let below = top.and_then(|top| relative(top, root)).unwrap_or_default();
    if below.is_empty() { below } else { format!("{below}/") }
}

fn parse(output: &[u8], prefix: &str) -> GitStatus {
    let mut status = GitStatus { head: None, paths: BTreeSet::new() };
    let mut add = |path: &[u8]| {
        let path = String::from_utf8_lossy(path);
        status.paths.extend(path.strip_prefix(prefix).map(str::to_owned));
    };
    let mut records = output.split(|byte| *byte == 0);
    let mut head = None;
    while let Some(record) = records.next() {
        match record {
            [b'#', ..] => {
                if let Some(oid) = record.strip_prefix(b"# branch.oid ") {
                    head = Some(String::from_utf8_lossy(oid).into_owned()).filter(|oid| oid != "(initial)");
                }
            }
            [b'1', ..] => nth_field(record, 8).into_iter().for_each(&mut add),
            [b'2', ..] => {
                nth_field(record, 9).into_iter().for_each(&mut add);
                records.next().into_iter().for_each(&mut add);
            }
            [b'u', ..] => nth_field(record, 10).into_iter().for_each(&mut add),
            [b'?', b' ', path @ ..] => add(path),
            _ => {}
        }
    }
    status.head = head;
    status
}

/// The rest after the given number of fields; a path may contain spaces.
fn nth_field(record: &[u8], fields: usize) -> Option<&[u8]> {
    record.splitn(fields + 1, |byte| *byte == b' ').nth(fields)
}

/// A nested repository is one entry for git, so its files are listed here.
fn add_nested(layout: &OrchestrationLayout, folder: &str, paths: &mut BTreeSet<String>) -> Result<(), String> {
    let mut open = vec![layout.root.join(folder)];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_NESTED_FILES {
                return Err(format!("a nested repository has more than {MAX_NESTED_FILES} files"));
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => open.push(entry.path()),
                Ok(kind) if kind.is_dir() => {}
                _ => paths.extend(relative(&layout.root, &entry.path())),
            }
        }
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct HiddenFiles {
    size: u64,
    changed_ns: i128,
    modified_ns: i128,
    paths: Vec<String>,
}

/// The files that are hidden from git status (`assume-unchanged`, `skip-worktree`). Listed again only when the index has
/// changed.
fn hidden(layout: &OrchestrationLayout, deadline: Deadline) -> Result<Vec<String>, String> {
    let Some(stamp) = index_stamp(&layout.root) else {
        return Ok(Vec::new());
    };
    let path = layout.local_folder().join("hidden.json");
    let known = read_at_most(&path, MAX_HIDDEN_BYTES).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<HiddenFiles>(&bytes).ok());
    let same = |known: &HiddenFiles| {
        (known.size, known.changed_ns, known.modified_ns) == (stamp.size, stamp.changed_ns, stamp.modified_ns)
    };
    if let Some(known) = known.filter(same) {
        return Ok(known.paths);
    }
    let output = run(&layout.root, &["ls-files", "-v", "-z", "--", "."], Vec::new(), deadline)?;
    // `h` is "assume unchanged", `S` and `s` are "skip the worktree".
    let is_hidden = |record: &&[u8]| matches!(record, [b'a'..=b'z' | b'S', b' ', ..]);
    let name = |record: &[u8]| record.get(2..).map(|path| String::from_utf8_lossy(path).into_owned());
    let paths: Vec<String> = output.split(|byte| *byte == 0).filter(is_hidden).filter_map(name).collect();
    let Stamp { size, changed_ns, modified_ns, .. } = stamp;
    if let Ok(bytes) = serde_json::to_vec(&HiddenFiles { size, changed_ns, modified_ns, paths: paths.clone() }) {
        let _ = files::replace(&path, &bytes);
    }
    Ok(paths)
}

fn index_stamp(root: &Path) -> Option<Stamp> {
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|path| files::exists(path))?;
    let folder = if files::is_dir(&git) {
        git
    } else {
        let text = files::read_text_at_most(&git, 4096).ok()?;
        git.parent()?.join(text.trim().strip_prefix("gitdir: ")?)
    };
    files::metadata(folder.join("index")).ok().map(|metadata| Stamp::of(&metadata))
}

/// The files that differ between two commits; `None` is the state before the first commit.
pub(super) fn changed_between(
    layout: &OrchestrationLayout,
    before: Option<&str>,
    after: Option<&str>,
    deadline: Deadline,
) -> Result<Vec<String>, String> {
    let common = ["--name-only", "-z", "-r", "--no-renames"];
    let output = match (before, after) {
        (Some(before), Some(after)) => {
            let arguments = [&["diff-tree"], common.as_slice(), &["--relative", before, after, "--", "."]].concat();
            run(&layout.root, &arguments, Vec::new(), deadline)?
        }
        (None, Some(only)) | (Some(only), None) => {
            run(&layout.root, &["ls-tree", "--name-only", "-z", "-r", only, "--", "."], Vec::new(), deadline)?
        }
        (None, None) => Vec::new(),
    };
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).filter(|path| is_traced(path)).collect())
}

/// The contents of files in a commit. Files that are not in the commit are left out.
pub(super) fn contents(
    layout: &OrchestrationLayout,
    commit: Option<&str>,
    paths: &[&str],
    deadline: Deadline,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    let asked: Vec<&str> = paths.iter().copied().filter(|path| !path.contains('\n')).collect();
    let Some(commit) = commit.filter(|_| !asked.is_empty()) else {
        return Ok(found);
    };
    let request: String = asked.iter().map(|path| format!("{commit}:./{path}\n")).collect();
    let output = run(&layout.root, &["cat-file", "--batch"], request.into_bytes(), deadline)?;
    let mut rest = output.as_slice();
    for path in asked {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            break;
        };
        let header = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        rest = rest.get(end + 1..).unwrap_or_default();
        let mut words = header.rsplit(' ');
        let (size, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some(size) = size.parse::<usize>().ok() else {
            continue;
        };
        let content = rest.get(..size).unwrap_or_default();
        if kind == "blob" {
            found.insert(path.to_owned(), content.to_vec());
        }
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    Ok(found)
}

/// The paths among these that git ignores. A tracked file is never ignored.
pub(super) fn ignored(
    layout: &OrchestrationLayout,
    paths: &[&str],
    deadline: Deadline,
) -> Result<BTreeSet<String>, String> {
    // A pattern for folders matches a folder that does not exist only with its slash.
    let request: Vec<u8> = paths.iter().flat_map(|path| format!("{path}\0{path}/\0").into_bytes()).collect();
    let output = run_any(&layout.root, &["check-ignore", "-z", "--stdin"], request, deadline, &[0, 1])?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).trim_end_matches('/').to_owned()).collect())
}

/// The paths among these that git tracks, or below which it tracks a file.
pub(super) fn tracked(
    layout: &OrchestrationLayout,
    paths: &[&str],
    deadline: Deadline,
) -> Result<BTreeSet<String>, String> {
    let arguments: Vec<&str> = ["ls-files", "-z", "--"].into_iter().chain(paths.iter().copied()).collect();
    let output = run(&layout.root, &arguments, Vec::new(), deadline)?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let is_tracked = |path: &&&str| names.iter().any(|name| name == *path || name.starts_with(&format!("{path}/")));
    Ok(paths.iter().filter(is_tracked).map(|path| (*path).to_owned()).collect())
}

/// Whether the ledger on disk is the version in the commit of HEAD, so that git put it there.
pub(super) fn is_committed_ledger(layout: &OrchestrationLayout, deadline: Deadline) -> bool {
    let path = format!("{FOLDER}/{LEDGER_FILE}");
    // Our writer creates the file before it looks.
    let exists = files::metadata(layout.ledger_file()).is_ok_and(|metadata| metadata.len() > 0);
    let committed =
        run(&layout.root, &["rev-parse", "--verify", "--quiet", &format!("HEAD:./{path}")], Vec::new(), deadline);
    let on_disk = || run(&layout.root, &["hash-object", "--", &path], Vec::new(), deadline).ok();
    match committed {
        Ok(committed) => exists && on_disk().is_some_and(|on_disk| on_disk == committed),
        // A commit without a ledger: git removed the file when it checked it out.
        Err(_) => {
            !exists && run(&layout.root, &["rev-parse", "--verify", "--quiet", "HEAD"], Vec::new(), deadline).is_ok()
        }
    }
}

fn run(root: &Path, arguments: &[&str], stdin: Vec<u8>, deadline: Deadline) -> Result<Vec<u8>, String> {
    run_any(root, arguments, stdin, deadline, &[0])
}

/// Runs git; the statuses in `good` are no failures.
fn run_any(
    root: &Path,
    arguments: &[&str],
    stdin: Vec<u8>,
    deadline: Deadline,
    good: &[i32],
) -> Result<Vec<u8>, String> {
    let verb = arguments.first().copied().unwrap_or_default();
    if deadline.expired() {
        return Err(format!("no time left for git {verb}"));
    }
    let quiet = [
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.quotePath=false",
        "-c",
        "core.untrackedCache=false",
    ];
    let outcome = ChildSpec::new("git")
        .args(quiet)
        .args(arguments.iter().copied())
        .working_folder(root)
        .variable("LC_ALL", "C")
        .stdin(stdin)
        .timeout(deadline.remaining())
        .grace(std::time::Duration::ZERO)
        .capture(CaptureLimit { head_bytes: MAX_OUTPUT_BYTES, tail_bytes: 0 })
        .run();
    if !outcome.exit_code().is_some_and(|status| good.contains(&status)) {
        return Err(format!("git {verb}: {}", outcome.end));
    }
    if outcome.stdout.is_truncated() {
        return Err(format!("git {verb} printed more than {MAX_OUTPUT_BYTES} bytes"));
    }
    Ok(outcome.stdout.bytes().into_owned())
}
