//! What a permission rule sees of a call: the files, the command or the pattern it names.

use serde_json::{Map, Value};
use std::path::{Component, Path, PathBuf};

/// Headers of the two patch forms that name a file.
const PATCH_HEADERS: &[&str] = &[
    "*** Add File:",
    "*** Update File:",
    "*** Delete File:",
    "*** Move to:",
    "--- ",
    "+++ ",
    "rename from ",
    "rename to ",
    "copy to ",
];

/// What the call is asked for on, never empty; each entry has to be allowed.
///
/// The permission is the tool's name. A `path` is cleaned by its text and shown relative to `workdir`
/// where it lies below, so that `src/../../x` is not taken for something in `src`; links are not followed
/// here. Then come the files of a `patch`, a `command` as it is, a `pattern`. A call that names none of
/// them has the one target `*`, which only a rule for everything matches.
#[must_use]
pub fn targets(arguments: &Map<String, Value>, workdir: &Path) -> Vec<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(path) = text("path") {
        return vec![shown(path, workdir)];
    }
    if let Some(patch) = text("patch") {
        let mut files: Vec<String> = patch.lines().filter_map(file_of).map(|file| shown(file, workdir)).collect();
        files.sort();
        files.dedup();
        if !files.is_empty() {
            return files;
        }
    }
    let other = text("command").or_else(|| text("pattern")).unwrap_or("*");
    vec![other.to_owned()]
}

/// The file that a patch line names. A removed or added line can look like a header; one target too many
/// asks one question too many, and none too few.
fn file_of(line: &str) -> Option<&str> {
    let rest = PATCH_HEADERS.iter().find_map(|header| line.strip_prefix(header))?;
    let name = rest.split('\t').next().unwrap_or(rest).trim();
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    (!name.is_empty() && name != "/dev/null").then_some(name)
}

fn shown(path: &str, workdir: &Path) -> String {
    let mut clean = PathBuf::new();
    for component in workdir.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    let below = clean.strip_prefix(workdir).unwrap_or(&clean);
    if below.as_os_str().is_empty() { ".".to_owned() } else { below.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: Value, expected: &[&str]) {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        assert_eq!(targets(&arguments, Path::new("/w")), expected, "{arguments:?}");
    }

    #[test]
    fn a_path_cannot_hide_where_it_leads() {
        check(json!({"path": "src/a.rs", "content": "x"}), &["src/a.rs"]);
        check(json!({"path": "/w/src/a.rs"}), &["src/a.rs"]);
        check(json!({"path": "src/../../etc/passwd"}), &["/etc/passwd"]);
        check(json!({"path": "../../../etc/passwd"}), &["/etc/passwd"]);
        check(json!({"path": "./src/./b/.."}), &["src"]);
        check(json!({"path": "/w"}), &["."]);
    }

    #[test]
    fn commands_and_patterns_stand_as_they_are() {
        check(json!({"command": "rm -rf x", "workdir": "src"}), &["rm -rf x"]);
        check(json!({"pattern": "fn main"}), &["fn main"]);
        check(json!({"pattern": "fn main", "path": "src"}), &["src"]);
        check(json!({}), &["*"]);
        check(json!({"path": 3, "command": ""}), &["*"]);
    }

    #[test]
    fn each_file_of_a_patch_is_a_target() {
        let patch = "*** Begin Patch\n*** Update File: src/a\n*** Move to: ../b\n@@\n-x\n+y\n*** End Patch\n";
        check(json!({ "patch": patch }), &["/b", "src/a"]);
        let patch = "--- a/x.c\t2026\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/n.c\n";
        check(json!({ "patch": patch }), &["n.c", "x.c"]);
        check(json!({"patch": "nothing"}), &["*"]);
    }
}
