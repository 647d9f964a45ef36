//! Reads patch text: the `*** Begin Patch` form of several hosts and unified diffs.
//!
//! Pure.

use crate::access::Access;

/// A patch with more file headers than this is refused.
const MAX_PATCH_FILES: usize = 4096;

/// Why a patch text names no files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The text contains no file header of a known form.
    #[error("the text contains no patch header")]
    NoHeader,
    /// The text holds more file headers than any real patch.
    #[error("the patch names more than {MAX_PATCH_FILES} files")]
    TooManyFiles,
}

/// The files a patch touches, in the order they are named, as written in the patch.
///
/// A moved file is a delete of the old name and a create of the new one.
///
/// # Errors
/// When the text is not a patch, or names too many files.
pub fn patch_paths(text: &str) -> Result<Vec<(String, Access)>, PatchError> {
    let mut found: Vec<(String, Access)> = Vec::new();
    if text.lines().any(|line| line.trim_end().starts_with("*** ")) {
        for line in text.lines() {
            begin_patch_line(line.trim_end(), &mut found);
        }
    } else {
        unified_diff(text, &mut found);
    }
    match found.len() {
        0 => Err(PatchError::NoHeader),
        count if count > MAX_PATCH_FILES => Err(PatchError::TooManyFiles),
        _ => Ok(found),
    }
}

fn begin_patch_line(line: &str, found: &mut Vec<(String, Access)>) {
    let Some(header) = line.strip_prefix("*** ") else {
        return;
    };
    let named = [("Add File:", Access::Create), ("Update File:", Access::Write), ("Delete File:", Access::Delete)];
    for (label, access) in named {
        if let Some(path) = header.strip_prefix(label) {
            found.push((path.trim().to_owned(), access));
        }
    }
    if let Some(target) = header.strip_prefix("Move to:").or_else(|| header.strip_prefix("Rename to:")) {
        if let Some(last) = found.last_mut() {
            last.1 = Access::Delete;
        }
        found.push((target.trim().to_owned(), Access::Create));
    }
}

fn unified_diff(text: &str, found: &mut Vec<(String, Access)>) {
    let mut lines = text.lines().peekable();
    let mut rename_from: Option<String> = None;
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ ")) else {
                continue;
            };
            push_diff_pair(&side(old), &side(new), found);
        } else if let Some(old) = line.strip_prefix("rename from ") {
            rename_from = Some(old.trim().to_owned());
        } else if let (Some(new), Some(old)) = (line.strip_prefix("rename to "), rename_from.take()) {
            found.push((old, Access::Delete));
            found.push((new.trim().to_owned(), Access::Create));
        }
    }
}

fn push_diff_pair(old: &str, new: &str, found: &mut Vec<(String, Access)>) {
    let (path, access) = match (old, new) {
        ("/dev/null", new) => (new, Access::Create),
        (old, "/dev/null") => (old, Access::Delete),
        (_, new) => (new, Access::Write),
    };
    let known = found.iter().any(|(seen, _)| seen == path);
    if !known {
        found.push((path.to_owned(), access));
    }
}

/// A diff side without its timestamp and its `a/` or `b/` prefix.
fn side(text: &str) -> String {
    let name = text.split('\t').next().unwrap_or(text).trim();
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    bare.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{PatchError, patch_paths};
    use crate::access::Access::{Create, Delete, Write};

    #[test]
    fn every_header_is_one_access() {
        let text = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-x\n+y\n*** Add File: new.ts\n+z\n*** Delete File: old.ts\n*** Update File: from.ts\n*** Move to: to.ts\n*** End Patch\n";
        let expected =
            [("src/a.ts", Write), ("new.ts", Create), ("old.ts", Delete), ("from.ts", Delete), ("to.ts", Create)];
        let expected: Vec<_> = expected.iter().map(|(path, access)| ((*path).to_owned(), *access)).collect();
        assert_eq!(patch_paths(text), Ok(expected));
    }

    #[test]
    fn headers_inside_added_text_do_not_count() {
        let text = "*** Begin Patch\r\n*** Add File: a.md\r\n+*** Delete File: b\r\n*** End Patch\r\n";
        assert_eq!(patch_paths(text), Ok(vec![("a.md".to_owned(), Create)]));
    }

    #[test]
    fn unified_diffs_are_read_too() {
        let text = "--- a/x.c\t2026\n+++ b/x.c\t2026\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/n.c\n--- a/o.c\n+++ /dev/null\nrename from p\nrename to q\n";
        let expected = [("x.c", Write), ("n.c", Create), ("o.c", Delete), ("p", Delete), ("q", Create)];
        let expected: Vec<_> = expected.iter().map(|(path, access)| ((*path).to_owned(), *access)).collect();
        assert_eq!(patch_paths(text), Ok(expected));
    }

    #[test]
    fn text_without_headers_is_not_a_patch() {
        assert_eq!(patch_paths("hello"), Err(PatchError::NoHeader));
        assert_eq!(patch_paths(""), Err(PatchError::NoHeader));
    }
}
