//! Committed text that no formatter looks after stays clean.

use crate::checks::Check;
use crate::source::{SourceFile, SourceTree};
use crate::violation::Violation;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "text",
    rule: "Text files are UTF-8; .md, .toml, .json, .yml and .sh files end in exactly one newline and have no trailing white space.",
    why: "Diffs show what changed and nothing else.",
    run: check,
};

const EXTENSIONS: &[&str] = &[".md", ".toml", ".json", ".yml", ".yaml", ".sh", ".ci/run"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let encoding = tree
        .not_utf8
        .iter()
        .map(|path| Violation::new(CHECK.name, path, "is not UTF-8", "save it as UTF-8, or move it to testdata/"));
    let files = tree.files.iter().filter(|file| EXTENSIONS.iter().any(|end| file.path.ends_with(end)));
    encoding.chain(files.flat_map(check_file)).collect()
}

fn check_file(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    let trailing = file.text.split('\n').position(|line| line.ends_with(char::is_whitespace));
    if let Some(index) = trailing {
        let place = format!("{}:{}", file.path, index + 1);
        found.push(Violation::new(CHECK.name, place, "has trailing white space", "remove it; lines end in LF"));
    }
    let ends_well = file.text.ends_with('\n') && !file.text.ends_with("\n\n");
    if !file.text.is_empty() && !ends_well {
        found.push(Violation::new(
            CHECK.name,
            &file.path,
            "does not end in exactly one newline",
            "end the file after its last line",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unclean_text_is_reported() {
        let table = [
            ("a.md", "a\n", 0),
            ("a.md", "", 0),
            ("a.md", "a", 1),
            ("a.md", "a\n\n", 1),
            ("a.toml", "a \nb\n", 1),
            ("a.json", "{}\r\n", 1),
            (".ci/run", "a\t\n", 1),
            ("a.rs", "a \n", 0),
        ];
        for (path, text, expected) in table {
            assert_eq!(check(&SourceTree::of(&[(path, text)])).len(), expected, "{path}: {text:?}");
        }
        let tree = SourceTree { files: Vec::new(), not_utf8: vec!["a.md".to_owned()] };
        assert_eq!(check(&tree).len(), 1);
    }
}
