//! Every extension carries what its next author has to know, beside its code.

use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;

/// Rule in full: the folder of a bundled extension has the four files below, each with text beyond its title and within
/// its limit; the glossary has the table header of GLOSSARY.md; and the code embeds them with `harness!()`, so that
/// `dispatch ext info ID` shows them.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "harness",
    rule: "Every bundled extension has AGENTS.md (at most 40 lines), docs/rules.md, docs/feature.md (at most 60 lines) and docs/glossary.md, and embeds them with `harness!()`.",
    why: "What the code does not tell stands where the code is, and goes where it goes.",
    run: check,
};

struct HarnessFile {
    path: &'static str,
    max_lines: usize,
    about: &'static str,
}

const FILES: &[HarnessFile] = &[
    HarnessFile {
        path: "AGENTS.md",
        max_lines: 40,
        about: "what somebody who works here has to know and the code does not tell",
    },
    HarnessFile { path: "docs/rules.md", max_lines: 80, about: "rules learned the hard way, each with its reason" },
    HarnessFile {
        path: "docs/feature.md",
        max_lines: 60,
        about: "what it does for a user, its data flow, where its state lives",
    },
    HarnessFile { path: "docs/glossary.md", max_lines: 80, about: "its special words, in the table of GLOSSARY.md" },
];

const GLOSSARY: &str = "docs/glossary.md";
const GLOSSARY_HEADER: &str = "| word | means | do not say |";

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.extension_folders().flat_map(|folder| check_extension(tree, folder)).collect()
}

fn check_extension(tree: &SourceTree, folder: &str) -> Vec<Violation> {
    let mut found: Vec<_> = FILES.iter().filter_map(|file| check_file(tree, folder, file)).collect();
    let mut sources = tree.rust().filter(|(file, _)| file.is_below(folder));
    if !sources.any(|(_, rust)| rust.production.contains("harness!()")) {
        let hint = "write `fn harness(&self) -> Harness { dispatch_contracts::harness!() }` in its `Extension`";
        found.push(Violation::new(CHECK.name, folder, "does not embed its harness", hint));
    }
    found
}

fn check_file(tree: &SourceTree, folder: &str, file: &HarnessFile) -> Option<Violation> {
    let path = format!("{folder}/{}", file.path);
    let Some(source) = tree.get(&path) else {
        return Some(Violation::new(CHECK.name, &path, "is missing", format!("write it: {}", file.about)));
    };
    let lines = source.text.lines().count();
    let words = source.text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).count();
    let (message, hint) = if lines > file.max_lines {
        (format!("has {lines} lines, more than {}", file.max_lines), "keep what the code does not tell".to_owned())
    } else if words == 0 {
        ("has a title and nothing else".to_owned(), format!("write it: {}", file.about))
    } else if file.path == GLOSSARY && !source.text.lines().any(|line| line == GLOSSARY_HEADER) {
        ("has no table of words".to_owned(), format!("begin the table with `{GLOSSARY_HEADER}`"))
    } else {
        return None;
    };
    Some(Violation::new(CHECK.name, path, message, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = "extensions/core/store";

    fn messages(change: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let sound = [
            ("Cargo.toml", ""),
            ("src/lib.rs", "fn harness() { harness!() }"),
            ("AGENTS.md", "# Store\n\nWhy.\n"),
            ("docs/rules.md", "# Rules\n\n- Why.\n"),
            ("docs/feature.md", "# Feature\n\nWhy.\n"),
            ("docs/glossary.md", "| word | means | do not say |\n|---|---|---|\n"),
        ];
        let files: Vec<(String, String)> = sound
            .iter()
            .map(|(path, text)| (format!("{FOLDER}/{path}"), change(path).unwrap_or_else(|| (*text).to_owned())))
            .filter(|(_, text)| text != "absent")
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&SourceTree::of(&files)).into_iter().map(|it| format!("{}: {}", it.place, it.message)).collect()
    }

    #[test]
    fn a_whole_harness_passes() {
        assert_eq!(messages(|_| None), [""; 0]);
    }

    #[test]
    fn what_is_missing_empty_or_too_long_is_reported() {
        for file in FILES {
            let change = |text: &'static str| move |path: &str| (path == file.path).then(|| text.to_owned());
            let place = format!("{FOLDER}/{}", file.path);
            assert_eq!(messages(change("absent")), [format!("{place}: is missing")]);
            assert_eq!(messages(change("# Title\n\n")), [format!("{place}: has a title and nothing else")]);
            let long = move |path: &str| (path == file.path).then(|| "a\n".repeat(file.max_lines + 1));
            let expected = format!("{place}: has {} lines, more than {}", file.max_lines + 1, file.max_lines);
            assert_eq!(messages(long), [expected]);
        }
        let words = |path: &str| (path == GLOSSARY).then(|| "# Words\n\nNone.\n".to_owned());
        assert_eq!(messages(words), [format!("{FOLDER}/{GLOSSARY}: has no table of words")]);
    }

    #[test]
    fn a_harness_that_nobody_can_read_is_reported() {
        let found = messages(|path| (path == "src/lib.rs").then(|| "// harness!()".to_owned()));
        assert_eq!(found, [format!("{FOLDER}: does not embed its harness")]);
    }
}
