//! Finds, in a text that may be run, commands that remove or change something, and what they name.
//!
//! Not a parser: the text may be code of any language, the value of an option or a here-document.
//!
//! Pure.

/// A word that a command inside a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DestroyedWord<'t> {
    /// The word as it stands there.
    pub word: &'t str,
    /// Whether the command removes or overwrites whole trees or disks, and does not only change a file.
    pub destroys: bool,
}

/// Commands that remove; `chmod` and `chown` count where they go down a tree.
const REMOVING: &[&str] = &[
    "rm",
    "rmdir",
    "shred",
    "srm",
    "unlink",
    "wipefs",
    "mkfs",
    "dd",
    "rimraf",
    "trash",
    "trash-put",
    "del-cli",
    "del",
    "erase",
    "rd",
    "Remove-Item",
    "chmod",
    "chown",
    "chattr",
    "blkdiscard",
    "wipe",
    "scrub",
];
/// Functions that remove, with or without what they belong to.
const REMOVING_CALLS: &[&str] = &[
    "rmtree",
    "RemoveAll",
    "rmSync",
    "rmdirSync",
    "removeSync",
    "unlinkSync",
    "unlink",
    "rm_rf",
    "rm_r",
    "remove_tree",
    "remove_dir_all",
    "emptyDirSync",
    "deltree",
    "deleteDirectory",
    "rimrafSync",
    "remove_all",
    "remove_dir",
    "removeItem",
    "REMOVE_RECURSE",
    "delete-tree",
    "delete-directory",
    "delete-dir",
    "rmdir_r",
    "rm_rf!",
    "deleteTree",
];
/// Ends of names that remove only with what they belong to.
const REMOVING_NAMES: &[&str] = &[
    "::Delete",
    "vim.fn.delete",
    "File.delete",
    "File.Delete",
    "Directory.Delete",
    "Files.delete",
    "Files.deleteIfExists",
    "FileUtils.forceDelete",
    "os.remove",
    "os.remove.all",
    "File.unlink",
];
/// Methods that remove what stands before them.
const REMOVING_METHODS: &[&str] =
    &[".deleteDir", ".deleteRecursively", ".rmtree", ".deleteOnExit", ".removeRecursively", ".deleteSync"];
/// Commands and functions that change a file.
const CHANGING: &[&str] = &[
    "mv",
    "cp",
    "sed",
    "tee",
    "truncate",
    "ln",
    "touch",
    "install",
    "rsync",
    "writeFileSync",
    "writeFile",
    "open",
    "write_text",
    "file_put_contents",
    "Set-Content",
    "Out-File",
    "renameSync",
    "rename",
];
/// Words before a command that only print it.
const PRINTING: &[&str] =
    &["print", "println", "puts", "echo", "printf", "console.log", "console.error", "say", "warn"];
/// Words behind a command that are looked at.
const MAX_OPERANDS: usize = 12;
/// Words that are looked at in one text.
const MAX_WORDS: usize = 4096;

struct TextWord<'t> {
    text: &'t str,
    /// Whether a new command may begin here.
    begins: bool,
    /// Whether what is written goes here.
    is_redirected: bool,
}

/// What the commands inside a text name.
#[must_use]
pub fn destroyed_words(text: &str) -> Vec<DestroyedWord<'_>> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word.is_redirected {
            found.push(DestroyedWord { word: word.text, destroys: false });
        }
        let name = command_name(word.text);
        let before = at.checked_sub(1).and_then(|before| words.get(before)).filter(|_| !word.begins);
        if before.is_some_and(|before| PRINTING.contains(&before.text)) {
            continue;
        }
        let rest = words.get(at + 1..).unwrap_or_default();
        let call = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
        if REMOVING_METHODS.contains(&name)
            && let Some(before) = before
        {
            found.push(DestroyedWord { word: before.text, destroys: true });
        }
        if REMOVING.contains(&name) || name.starts_with("mkfs.") {
            found.extend(operands(name, rest).into_iter().map(|word| DestroyedWord { word, destroys: true }));
        } else if REMOVING_CALLS.contains(&call) || REMOVING_NAMES.iter().any(|known| name.ends_with(known)) {
            // `deleteDirectory(new java.io.File("/home"))`.
            let wraps = rest.first().is_some_and(|word| word.text == "new");
            let own = rest.iter().take(if wraps { 3 } else { 2 });
            found.extend(own.map(|word| DestroyedWord { word: word.text, destroys: true }));
        } else if CHANGING.contains(&call) {
            found.extend(operands(name, rest).into_iter().map(|word| DestroyedWord { word, destroys: false }));
        } else if matches!(
            (name, rest.first().map(|word| word.text)),
            ("file", Some("delete")) | ("delete", Some("dir"))
        ) {
            let named = operands(name, rest.get(1..).unwrap_or_default());
            // What stands behind the one folder that XML names closes the element.
            let count = if name == "delete" { 1 } else { usize::MAX };
            found.extend(named.into_iter().take(count).map(|word| DestroyedWord { word, destroys: true }));
        } else if name == "find" && rest.iter().take(MAX_OPERANDS).any(|word| word.text == "-delete") {
            found.extend(rest.iter().take(1).map(|word| DestroyedWord { word: word.text, destroys: true }));
        }
    }
    found
}

/// The name of the command that a word may be: without its folder, and without an option that it is attached to.
fn command_name(word: &str) -> &str {
    let word = word.trim_start_matches(['!', '@', '+', '{', '\\', '%']);
    let attached = word.strip_prefix('-').and_then(|rest| rest.get(1..)).filter(|rest| REMOVING.contains(rest));
    let name = attached.unwrap_or(word);
    match name.rsplit_once('/') {
        Some((folder, name)) if folder.ends_with("bin") => name,
        _ => name,
    }
}

fn operands<'t>(name: &str, rest: &[TextWord<'t>]) -> Vec<&'t str> {
    let own = rest.iter().take(MAX_OPERANDS).take_while(|word| !word.begins);
    let (options, operands): (Vec<_>, Vec<_>) = own.partition(|word| word.text.starts_with('-') && word.text.len() > 1);
    let deep = options.iter().any(|word| word.text.contains('R') || word.text.contains("recursive"));
    match name {
        "chmod" | "chown" | "chattr" if !deep => Vec::new(),
        "wipefs" if !options.iter().any(|word| matches!(word.text, "-a" | "--all" | "-af" | "-fa")) => Vec::new(),
        "wipefs" if options.iter().any(|word| matches!(word.text, "-n" | "--no-act")) => Vec::new(),
        "dd" => operands.windows(2).filter(|pair| pair[0].text == "of").map(|pair| pair[1].text).collect(),
        _ => operands.iter().map(|word| word.text).collect(),
    }
}

fn words(text: &str) -> Vec<TextWord<'_>> {
    let mut found = Vec::new();
    let (mut begins, mut is_redirected) = (true, false);
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let ends =
            matches!(c, ';' | '|' | '&' | '\n' | '>' | '<' | '\'' | '"' | '`' | '(' | ')' | ',' | '[' | ']' | '=')
                || c.is_whitespace();
        if !ends {
            start.get_or_insert(at);
            continue;
        }
        if let Some(word) = start.take().and_then(|start| text.get(start..at)) {
            found.push(TextWord { text: word, begins, is_redirected });
            (begins, is_redirected) = (false, false);
        }
        begins |= matches!(c, ';' | '|' | '&' | '\n');
        is_redirected |= c == '>';
        if found.len() >= MAX_WORDS {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destroyed(text: &str) -> Vec<&str> {
        destroyed_words(text).into_iter().filter(|found| found.destroys).map(|found| found.word).collect()
    }

    #[test]
    fn commands_are_found_in_code_options_and_documents() {
        for (text, expected) in [
            ("rm -rf / --no-preserve-root", vec!["/"]),
            ("|rm -rf / %s", vec!["/", "%s"]),
            ("{{exec \"rm\" \"-rf\" \"/\"}}", vec!["/", "}}"]),
            ("-Orm -rf ~", vec!["~"]),
            ("import shutil; shutil.rmtree('/')", vec!["/"]),
            ("chown -R me /etc", vec!["me", "/etc"]),
            ("chown me /etc", vec![]),
            ("dd if=/dev/zero of=/dev/sda", vec!["/dev/sda"]),
            ("/bin/rm -r a; ls /", vec!["a"]),
            ("remove the files below /", vec![]),
            ("print('rm -rf /')", vec![]),
            ("print(1); rm -rf /", vec!["/"]),
            ("/rm -rf ~/{print}", vec![]),
            ("SHELL=rm -rf /", vec!["/"]),
            ("find / -name x -delete", vec!["/"]),
            ("file delete -force /", vec!["/"]),
            ("file /", vec![]),
            ("new File('/home').deleteDir()", vec!["/home"]),
            ("(babashka.fs/delete-tree \"/home\")", vec!["/home"]),
            ("file(REMOVE_RECURSE /)", vec!["/"]),
            ("<delete dir=\"/home\"/>", vec!["/home"]),
            ("[IO.Directory]::Delete('C:\\Users')", vec!["C:\\Users"]),
            ("cache.delete('/')", vec![]),
        ] {
            assert_eq!(destroyed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_named_too() {
        let found = destroyed_words("echo {} > .ai/hooks/config.json; cp x .claude");
        let words: Vec<&str> = found.iter().map(|found| found.word).collect();
        assert_eq!(words, [".ai/hooks/config.json", "x", ".claude"]);
        assert!(found.iter().all(|found| !found.destroys));
    }
}
