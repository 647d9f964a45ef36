//! Metaphors that were in use once stay out of names: the word a reader would search for stands there now.

use crate::checks::Check;
use crate::lexer::{tokens, type_declarations};
use crate::source::SourceTree;
use crate::violation::Violation;

/// Rule in full: no CamelCase part of a type name and no part of the name of a Rust file or module (between `_`) is one
/// of the retired words. Folders count as modules.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "retired-words",
    rule: "No type, file or module name contains a retired word (xtask/src/tidy/retired_words.rs lists them with what to say instead).",
    why: "A metaphor has to be learned; the word of the field can be searched for.",
    run: check,
};

/// Each retired word, in lower case, with what to say instead.
const RETIRED: &[(&str, &str)] = &[
    ("awakening", "activation"),
    ("bell", "the alarm or wake-up that it is"),
    ("book", "`...Store`"),
    ("census", "`OwnerLiveness`, or what is counted"),
    ("chores", "the work that is done"),
    ("chronicle", "`...Log` or `...History`"),
    ("conductor", "`TurnScheduler`, or what is scheduled"),
    ("court", "`...Check` or `...Gate`"),
    ("deed", "`...Action`"),
    ("deeds", "`...Actions`"),
    ("desk", "the service that it is (`SessionService`)"),
    ("diary", "`...Log`"),
    ("dice", "`SeededRandom`"),
    ("discreet", "`Redacted...`"),
    ("discretion", "`Redaction...`"),
    ("door", "`...Endpoint` or `...Listener`"),
    ("doors", "`...Endpoints` or `...Listeners`"),
    ("doubt", "what is unknown"),
    ("errand", "`...Job` or `...Request`"),
    ("farewell", "`...Shutdown`"),
    ("fate", "`...Outcome`"),
    ("gatekeeper", "`PermissionGate`"),
    ("glance", "`...Summary`, or what is looked at"),
    ("guest", "the client or caller that it is"),
    ("happening", "the event that it is"),
    ("hub", "`...Feed`"),
    ("means", "`...Ports`"),
    ("meddler", "what it does"),
    ("overseer", "`...Watcher` or `...Supervisor`"),
    ("papers", "what they hold"),
    ("performance", "`...Result`"),
    ("performer", "`...Runner`"),
    ("piece", "`...Job` or `...Part`"),
    ("play", "`...Scenario`"),
    ("played", "`...ScenarioResult`"),
    ("player", "who or what acts"),
    ("rig", "`Test...` with its subject"),
    ("scene", "`...Invocation`, or what it holds"),
    ("shelf", "`...Transaction`, `...Store` or `...Folder`"),
    ("shelter", "`SessionFolder`"),
    ("shelves", "`...Stores`"),
    ("sieve", "`IgnoreRules`, or what is filtered"),
    ("sight", "what is seen"),
    ("stage", "`...Environment`, or the step that it is"),
    ("story", "`...History` or `...Report`"),
    ("talk", "the connection or protocol that it is"),
    ("tape", "`...Transcript`"),
    ("teller", "`...Notifier`"),
    ("telling", "`...Notification`"),
    ("trail", "`...Log` or `...Path`"),
    ("trickle", "what arrives slowly"),
    ("veil", "`...Redactor`"),
    ("voice", "what speaks"),
    ("world", "`Simulation`, `TestWorkspace` or what it holds"),
];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (file, rust) in tree.rust() {
        let parts = file.path.trim_end_matches(".rs").split(['/', '_', '-']);
        found.extend(parts.filter_map(retired).map(|(word, instead)| violation(&file.path, "path", word, instead)));
        let found_tokens = tokens(&rust.code);
        for declared in type_declarations(&found_tokens) {
            let retired = words(declared.name).find_map(|word| retired(&word));
            found.extend(
                retired.map(|(word, instead)| violation(&file.place(declared.offset), "type name", word, instead)),
            );
        }
        for pair in found_tokens.windows(2).filter(|pair| pair[0].text == "mod") {
            let retired = pair[1].text.split('_').find_map(retired);
            found.extend(
                retired.map(|(word, instead)| violation(&file.place(pair[1].offset), "module name", word, instead)),
            );
        }
    }
    found
}

fn retired(word: &str) -> Option<(&'static str, &'static str)> {
    RETIRED.iter().find(|(retired, _)| *retired == word).copied()
}

fn violation(place: &str, what: &str, word: &str, instead: &str) -> Violation {
    Violation::new(
        CHECK.name,
        place,
        format!("the {what} contains the retired word `{word}`"),
        format!("say {instead}"),
    )
}

// The words of a CamelCase name, in lower case. A run of capitals is one word: `HTTPDesk` is `http` and `desk`.
fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: usize| {
        let upper = |at: usize| letters.get(at).is_some_and(|letter| letter.is_uppercase());
        let lower = |at: usize| letters.get(at).is_some_and(|letter| letter.is_lowercase());
        upper(at) && (!upper(at.wrapping_sub(1)) || lower(at + 1))
    };
    let mut starts: Vec<usize> = (0..letters.len()).filter(|at| *at == 0 || begins(*at)).collect();
    starts.push(letters.len());
    let found: Vec<String> =
        starts.windows(2).map(|pair| letters[pair[0]..pair[1]].iter().collect::<String>().to_lowercase()).collect();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&SourceTree::of(&[(path, text)])).into_iter().map(|it| format!("{}: {}", it.place, it.message)).collect()
    }

    #[test]
    fn retired_words_are_reported_in_types_files_folders_and_modules() {
        let table = [
            ("a/src/x.rs", "struct ApprovalDesk;", "a/src/x.rs:1: the type name contains the retired word `desk`"),
            ("a/src/x.rs", "\nenum HTTPStage {}", "a/src/x.rs:2: the type name contains the retired word `stage`"),
            ("a/src/x.rs", "trait SqlBookStore {}", "a/src/x.rs:1: the type name contains the retired word `book`"),
            ("a/src/x.rs", "mod run_shelf {}", "a/src/x.rs:1: the module name contains the retired word `shelf`"),
            ("a/src/memory_book.rs", "", "a/src/memory_book.rs: the path contains the retired word `book`"),
            ("a/src/stage/x.rs", "", "a/src/stage/x.rs: the path contains the retired word `stage`"),
            ("a/tests/world.rs", "", "a/tests/world.rs: the path contains the retired word `world`"),
        ];
        for (path, text, expected) in table {
            assert_eq!(messages(path, text), [expected], "{path}: {text}");
        }
    }

    #[test]
    fn words_that_only_contain_a_retired_one_pass() {
        for text in
            ["struct Bookkeeping;", "struct Trailers;", "struct Display;", "struct Outdoors;", "// struct Desk;"]
        {
            assert_eq!(messages("a/src/trailer.rs", text), [""; 0], "{text}");
        }
        assert_eq!(messages("docs/stage.md", "struct Desk;"), [""; 0]);
    }

    #[test]
    fn names_are_split_into_words() {
        let table = [
            ("HTTPDesk", "http desk"),
            ("SqlBook", "sql book"),
            ("Neo4jStage", "neo4j stage"),
            ("Place", "place"),
            ("ABC", "abc"),
        ];
        for (name, expected) in table {
            assert_eq!(words(name).collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }
}
