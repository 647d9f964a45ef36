//! Parses the output of `git diff`: the changed lines of each file.
//!
//! Pure.

/// The kind of a changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffContent {
    /// Lines.
    Text,
    /// A binary file.
    Binary,
    /// A commit of another repository.
    Submodule,
}

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    /// Its old name; `None` for a new file.
    pub old: Option<Vec<u8>>,
    /// Its new name; `None` for a removed file.
    pub new: Option<Vec<u8>>,
    /// The kind of its content.
    pub content: DiffContent,
    /// The changed lines, in order.
    pub hunks: Vec<DiffHunk>,
}

/// Changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffHunk {
    /// The first new line, from 1; where lines were only removed, the line before them, from 0.
    pub start: usize,
    /// The number of new lines.
    pub added: usize,
    /// The old lines.
    pub removed: Vec<Vec<u8>>,
}

impl FileDiff {
    /// Its new name, else its old one.
    #[must_use]
    pub(crate) fn name(&self) -> &[u8] {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }
}

/// Reads a patch without context lines, as git prints it with `core.quotePath`.
#[must_use]
pub(crate) fn parse(patch: &[u8]) -> Vec<FileDiff> {
    let mut files = Vec::new();
    let mut lines = patch.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            files.push(begin(names));
        } else if let Some(file) = files.last_mut()
            && let Some(body) = header(file, line)
        {
            // The lines of a hunk may look like headers, so they are counted and skipped.
            let mut left = body;
            while left > 0 {
                match lines.next() {
                    Some(text) if text.starts_with(b"\\") => continue,
                    Some(text) => {
                        let hunk = file.hunks.last_mut().filter(|_| text.first() == Some(&b'-'));
                        hunk.into_iter().for_each(|hunk| hunk.removed.extend(text.get(1..).map(<[u8]>::to_vec)));
                    }
                    None => return files,
                }
                left -= 1;
            }
        }
    }
    files
}

/// The file of a `diff --git` line; both names are equal unless a later line changes them.
fn begin(names: &[u8]) -> FileDiff {
    let name = match names.first() {
        Some(b'"') => unquote(names).map(|(name, _)| name),
        // `a/NAME b/NAME`: the same name twice, so the space in the middle divides them.
        _ => names.get(..names.len() / 2).map(<[u8]>::to_vec),
    };
    let name = name.and_then(|name| name.strip_prefix(b"a/").map(<[u8]>::to_vec));
    FileDiff { old: name.clone(), new: name, content: DiffContent::Text, hunks: Vec::new() }
}

/// Applies one header line; returns the number of hunk lines that follow.
fn header(file: &mut FileDiff, line: &[u8]) -> Option<usize> {
    if let Some(rest) = line.strip_prefix(b"@@ -") {
        return hunk(file, rest);
    }
    let names: [(&[u8], &[u8], DiffSide); 4] = [
        (b"--- ", b"a/", DiffSide::Old),
        (b"+++ ", b"b/", DiffSide::New),
        (b"rename from ", b"", DiffSide::Old),
        (b"rename to ", b"", DiffSide::New),
    ];
    for (start, prefix, side) in names {
        if let Some(rest) = line.strip_prefix(start) {
            let name = name(rest, prefix);
            match side {
                DiffSide::Old => file.old = name,
                DiffSide::New => file.new = name,
            }
            return None;
        }
    }
    if line.starts_with(b"new file mode") {
        file.old = None;
    } else if line.starts_with(b"deleted file mode") {
        file.new = None;
    } else if line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch") {
        file.content = DiffContent::Binary;
    }
    if line.ends_with(b" 160000") {
        file.content = DiffContent::Submodule;
    }
    None
}

#[derive(Clone, Copy)]
enum DiffSide {
    Old,
    New,
}

fn name(text: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    let name = match text.first() {
        Some(b'"') => unquote(text)?.0,
        // A tab ends a name with spaces; a tab in a name would be quoted.
        _ => text.split(|byte| *byte == b'\t').next()?.to_vec(),
    };
    if name == b"/dev/null" {
        return None;
    }
    name.strip_prefix(prefix).map(<[u8]>::to_vec)
}

/// Parses `A,B +C,D @@ ...`; returns the number of lines that follow.
fn hunk(file: &mut FileDiff, rest: &[u8]) -> Option<usize> {
    let text = rest.split(|byte| *byte == b'@').next().and_then(|text| std::str::from_utf8(text).ok())?;
    let (old, new) = text.trim().split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((_, removed), (start, added)) = (range(old)?, range(new)?);
    file.hunks.push(DiffHunk { start, added, removed: Vec::new() });
    Some(removed + added)
}

/// Undoes git's quoting; returns the name and the number of bytes read.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut name = Vec::new();
    let mut at = 1;
    loop {
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((name, at)),
            b'\\' => {
                let escaped = *text.get(at)?;
                at += 1;
                name.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'0'..=b'3' => {
                        let digits = text.get(at - 1..at + 2)?;
                        at += 2;
                        u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?
                    }
                    other => other,
                });
            }
            other => name.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(patch: &str, old: Option<&str>, new: Option<&str>, content: DiffContent, hunks: &[(usize, usize)]) {
        let mut files = parse(patch.as_bytes());
        files.iter_mut().flat_map(|file| &mut file.hunks).for_each(|hunk| hunk.removed.clear());
        let hunk = |(start, added): &(usize, usize)| DiffHunk { start: *start, added: *added, removed: Vec::new() };
        let hunks = hunks.iter().map(hunk).collect();
        let bytes = |name: Option<&str>| name.map(|name| name.as_bytes().to_vec());
        assert_eq!(files, [FileDiff { old: bytes(old), new: bytes(new), content, hunks }], "{patch}");
    }

    #[test]
    fn patches_are_read() {
        let text = DiffContent::Text;
        let body = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ fn\n-a\n+++ b/y\n+@@ -1 +1 @@\n@@ -9,2 +10,0 @@\n-b\n-c\n";
        check(body, Some("x"), Some("x"), text, &[(1, 2), (10, 0)]);
        let removed: Vec<_> = parse(body.as_bytes())[0].hunks.iter().map(|hunk| hunk.removed.clone()).collect();
        assert_eq!(removed, [vec![b"a".to_vec()], vec![b"b".to_vec(), b"c".to_vec()]]);
        let body = "diff --git a/n e.txt b/n e.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n e.txt\t\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n";
        check(body, None, Some("n e.txt"), text, &[(1, 1)]);
        let body = "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        check(body, Some("g"), None, text, &[(0, 0)]);
        let body = "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n";
        check(body, Some("o"), Some("n"), text, &[]);
        let body = "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n";
        check(body, Some("b"), Some("b"), DiffContent::Binary, &[]);
        let body =
            "diff --git \"a/\\303\\274\\n\\\"\\\\\" \"b/\\303\\274\\n\\\"\\\\\"\nnew file mode 100644\nindex 0..1\n";
        check(body, None, Some("ü\n\"\\"), text, &[]);
        let body = "diff --git a/sub b/sub\nindex 1..2 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n";
        check(body, Some("sub"), Some("sub"), DiffContent::Submodule, &[(1, 1)]);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(patch in "(diff --git |a/|b/|\"|\\\\|[0-9]|@@ -|,|\\+|\n|--- |x| ){0,80}") {
            let _ = parse(patch.as_bytes());
        }
    }
}
