//! What a message asks for, found by rule.
//!
//! Pure.

/// One thing that a message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RehearsedAction {
    Read {
        path: String,
    },
    List {
        path: Option<String>,
    },
    Search {
        pattern: String,
    },
    Find {
        pattern: String,
    },
    Run {
        command: String,
    },
    Write {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
    },
    Todo {
        text: String,
    },
    /// A tool by name with arguments as JSON text.
    Call {
        tool: String,
        arguments: String,
    },
    /// What was said before.
    Recall,
    /// Something that was begun but lacks a part: how it is said.
    Incomplete {
        form: &'static str,
    },
    /// Anything else.
    Talk,
}

/// The forms, for the help.
pub(super) const FORMS: [&str; 9] = [
    "read FILE",
    "list [FOLDER]",
    "search TEXT",
    "find NAME",
    "run COMMAND",
    "write FILE: TEXT",
    "replace OLD with NEW in FILE",
    "todo TEXT",
    "call TOOL {\"argument\": ...}",
];

/// What the lines of a message ask for. Text over several lines belongs to the `write` above it.
pub(super) fn actions(text: &str) -> Vec<RehearsedAction> {
    if let written @ RehearsedAction::Write { .. } = action(text) {
        return vec![written];
    }
    let found: Vec<RehearsedAction> =
        text.lines().map(action).filter(|action| *action != RehearsedAction::Talk).collect();
    if found.is_empty() { vec![RehearsedAction::Talk] } else { found }
}

fn action(text: &str) -> RehearsedAction {
    let text = text.trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let verb = verb.trim_end_matches([':', ',', '.', '!', '?']).to_ascii_lowercase();
    let incomplete = |form| RehearsedAction::Incomplete { form };
    match verb.as_str() {
        "read" | "show" | "cat" | "open" if !rest.is_empty() => {
            RehearsedAction::Read { path: unquoted(without_article(rest)) }
        }
        "read" | "cat" => incomplete("read FILE"),
        "list" | "ls" => {
            let folder = without_article(rest);
            let path = (!folder.is_empty() && !["files", "files."].contains(&folder)).then(|| unquoted(folder));
            RehearsedAction::List { path }
        }
        "search" | "grep" if !rest.is_empty() => {
            RehearsedAction::Search { pattern: unquoted(rest.strip_prefix("for ").unwrap_or(rest)) }
        }
        "search" | "grep" => incomplete("search TEXT"),
        "find" if !rest.is_empty() => RehearsedAction::Find { pattern: unquoted(without_article(rest)) },
        "find" => incomplete("find NAME"),
        "run" | "execute" | "$" if !rest.is_empty() => {
            RehearsedAction::Run { command: rest.trim_matches('`').to_owned() }
        }
        "run" | "execute" => incomplete("run COMMAND"),
        "write" | "create" => write(rest).unwrap_or_else(|| incomplete("write FILE: TEXT")),
        "replace" | "edit" | "change" => replace(rest).unwrap_or_else(|| incomplete("replace OLD with NEW in FILE")),
        "todo" | "remember" if !rest.is_empty() => RehearsedAction::Todo { text: rest.to_owned() },
        "todo" => incomplete("todo TEXT"),
        "call" if !rest.is_empty() => {
            let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
            RehearsedAction::Call { tool: unquoted(tool), arguments: arguments.trim().to_owned() }
        }
        _ if asks_back(text) => RehearsedAction::Recall,
        _ => RehearsedAction::Talk,
    }
}

fn write(rest: &str) -> Option<RehearsedAction> {
    let (path, content) = rest.split_once(':').filter(|(path, _)| !path.trim().is_empty())?;
    let content = content.strip_prefix(' ').unwrap_or(content);
    let content = content.strip_prefix('\n').unwrap_or(content);
    Some(RehearsedAction::Write { path: unquoted(without_article(path.trim())), content: content.to_owned() })
}

fn replace(rest: &str) -> Option<RehearsedAction> {
    let (old, behind) = rest.split_once(" with ").or_else(|| rest.split_once(" to "))?;
    let (new, path) = behind.rsplit_once(" in ")?;
    let (old, new, path) = (unquoted(old), unquoted(new), unquoted(path));
    (!old.is_empty() && !path.is_empty()).then_some(RehearsedAction::Replace { path, old, new })
}

fn asks_back(text: &str) -> bool {
    let lower = text.to_lowercase();
    let asks = ["what did i", "what was my", "repeat what i"].iter().any(|start| lower.contains(start));
    asks && ["say", "said", "ask", "tell", "write", "message"].iter().any(|word| lower.contains(word))
}

fn without_article(text: &str) -> &str {
    let bare =
        ["the file ", "the folder ", "file ", "folder ", "the "].iter().find_map(|start| text.strip_prefix(start));
    bare.unwrap_or(text).trim()
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let quotes = [('"', '"'), ('\'', '\''), ('`', '`'), ('\u{201c}', '\u{201d}')];
    let inner = quotes.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    inner.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> RehearsedAction {
        let found = actions(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn what_people_write() {
        let read = |path: &str| RehearsedAction::Read { path: path.to_owned() };
        let write =
            |path: &str, content: &str| RehearsedAction::Write { path: path.to_owned(), content: content.to_owned() };
        let replace = |old: &str, new: &str, path: &str| RehearsedAction::Replace {
            path: path.into(),
            old: old.into(),
            new: new.into(),
        };
        for (text, expected) in [
            ("read notes.txt", read("notes.txt")),
            ("Read the file `a b.txt`", read("a b.txt")),
            ("read", RehearsedAction::Incomplete { form: "read FILE" }),
            ("list", RehearsedAction::List { path: None }),
            ("ls src", RehearsedAction::List { path: Some("src".into()) }),
            ("list the files", RehearsedAction::List { path: None }),
            ("search for \"fn main\"", RehearsedAction::Search { pattern: "fn main".into() }),
            ("find *.rs", RehearsedAction::Find { pattern: "*.rs".into() }),
            ("run cargo test -- --nocapture", RehearsedAction::Run { command: "cargo test -- --nocapture".into() }),
            ("run `ls -l`", RehearsedAction::Run { command: "ls -l".into() }),
            ("write a.txt: hello there", write("a.txt", "hello there")),
            ("write a.txt:\nread b\nlist", write("a.txt", "read b\nlist")),
            ("write a.txt", RehearsedAction::Incomplete { form: "write FILE: TEXT" }),
            ("replace a with b in c.txt", replace("a", "b", "c.txt")),
            ("edit \"x with y\" to 'z in w' in d.txt", replace("\"x", "y\" to 'z in w'", "d.txt")),
            ("replace a with  in c.txt", replace("a", "", "c.txt")),
            ("edit c.txt", RehearsedAction::Incomplete { form: "replace OLD with NEW in FILE" }),
            ("todo buy milk", RehearsedAction::Todo { text: "buy milk".into() }),
            ("call my_tool {\"a\":1}", RehearsedAction::Call { tool: "my_tool".into(), arguments: "{\"a\":1}".into() }),
            ("What did I say before?", RehearsedAction::Recall),
            ("hello", RehearsedAction::Talk),
            ("", RehearsedAction::Talk),
            ("ünïcödé 𝄞", RehearsedAction::Talk),
        ] {
            assert_eq!(one(text), expected, "{text}");
        }
    }

    #[test]
    fn each_line_may_ask_for_something() {
        let found = actions("please do this:\nread a\nlist\n");
        assert_eq!(found, [RehearsedAction::Read { path: "a".into() }, RehearsedAction::List { path: None }]);
    }
}
