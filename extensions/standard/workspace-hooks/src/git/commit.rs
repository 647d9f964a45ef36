//! What a commit is about, as git tells it.

use super::ask;
use crate::contract::{Change, Event, FileChange};
use serde_json::json;

/// Of a commit with more files, only the number is told.
const MAX_FILES: usize = 10_000;

/// Adds to an event what is known of a commit.
pub(super) fn describe(event: &mut Event, commit: &str) -> Option<()> {
    let said = ask(&event.workspace, &["show", "-s", "--format=%H%x00%s%x00%an", commit])?;
    let mut parts = said.trim_end_matches(['\r', '\n']).split('\0');
    let (id, subject, author) = (parts.next()?, parts.next()?, parts.next()?);
    event.id = Some(format!("commit:{id}"));
    event.metadata.insert("commit".to_owned(), json!(id));
    event.metadata.insert("subject".to_owned(), json!(subject));
    event.metadata.insert("author".to_owned(), json!(author));
    let listing = ["show", "--first-parent", "-m", "--format=", "--name-status", "-z", "-M", "--relative", commit];
    let files = ask(&event.workspace, &listing).map(|listed| changed_files(&listed)).unwrap_or_default();
    event.metadata.insert("fileCount".to_owned(), json!(files.len()));
    if files.len() <= MAX_FILES {
        event.files = files;
    }
    Some(())
}

/// The files of git's list of names and states.
fn changed_files(listed: &str) -> Vec<FileChange> {
    let mut words = listed.trim_start_matches(['\r', '\n']).split('\0').filter(|word| !word.is_empty());
    let mut files = Vec::new();
    while let Some(state) = words.next() {
        let Some(first) = words.next() else { break };
        let (path, change) = match state.chars().next() {
            Some('A') => (first, Change::Created),
            Some('D') => (first, Change::Deleted),
            Some('R') => match words.next() {
                Some(path) => (path, Change::Renamed { from: first.to_owned() }),
                None => break,
            },
            Some('C') => match words.next() {
                Some(path) => (path, Change::Created),
                None => break,
            },
            _ => (first, Change::Changed),
        };
        // What is on the disk need not be what was committed.
        files.push(FileChange { path: path.to_owned(), change, content_hash: None });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::super::git_event;
    use super::*;
    use crate::contract::Trigger;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_list_of_names_is_read() {
        let listed = "A\0new\0M\0with space\0D\0old\0R087\0from\0to\0C100\0a\0b\0T\0link\0";
        let found: Vec<(String, Change)> =
            changed_files(listed).into_iter().map(|file| (file.path, file.change)).collect();
        assert_eq!(
            found,
            [
                ("new".to_owned(), Change::Created),
                ("with space".to_owned(), Change::Changed),
                ("old".to_owned(), Change::Deleted),
                ("to".to_owned(), Change::Renamed { from: "from".to_owned() }),
                ("b".to_owned(), Change::Created),
                ("link".to_owned(), Change::Changed),
            ]
        );
        for torn in ["", "A", "A\0", "R1\0a\0"] {
            assert!(changed_files(torn).is_empty(), "{torn:?}");
        }
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").current_dir(folder).args(names).args(arguments).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn a_commit_tells_what_it_changed_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, &["init", "-q", "-b", "trunk"]);
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "some lines\nthat are\nlong enough\n").unwrap();
        std::fs::write(root.join("top"), "x").unwrap();
        git(&root, &["add", "."]);
        git(&root, &["commit", "-q", "-m", "first \"one\"\n\nbody"]);
        let first = git_event(&root, "post-commit", None, &[]).unwrap();
        assert_eq!(first.trigger, Trigger::GitCommit);
        assert_eq!(first.files.len(), 2, "{:?}", first.files);
        assert_eq!(first.metadata["subject"], "first \"one\"");
        assert_eq!(first.metadata["branch"], "trunk");
        assert_eq!(first.metadata["repoRoot"], json!(root));
        assert_eq!(first.id.as_deref().unwrap(), format!("commit:{}", first.metadata["commit"].as_str().unwrap()));
        git(&root, &["mv", "sub/a", "sub/b"]);
        std::fs::write(root.join("top"), "y").unwrap();
        git(&root, &["commit", "-q", "-am", "second"]);
        let inner = git_event(&root.join("sub"), "post-commit", None, &[]).unwrap();
        let names: Vec<&str> = inner.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["b"], "only the workspace's own files");
        assert_eq!(inner.files[0].change, Change::Renamed { from: "a".to_owned() });
        let id = first.metadata["commit"].as_str().unwrap();
        let named = git_event(&root, "post-commit", Some(id), &[]).unwrap();
        assert_eq!((&named.metadata["subject"], named.files.len()), (&json!("first \"one\""), 2), "not HEAD");
        let odd = git_event(&root, "post-commit", Some("--output=x"), &[]).unwrap();
        assert_eq!(odd.metadata["subject"], "second");
        let push = git_event(&root, "pre-push", None, &["origin".to_owned()]).unwrap();
        assert_eq!((push.trigger, &push.metadata["args"]), (Trigger::Git("pre-push".to_owned()), &json!(["origin"])));
        assert!(git_event(&root, "post-update", None, &[]).is_none());
    }

    #[test]
    fn without_a_repository_there_is_no_event() {
        let folder = tempfile::tempdir().unwrap();
        assert!(git_event(folder.path(), "post-commit", None, &[]).is_none());
    }
}
