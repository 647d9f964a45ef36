//! Clippy reads only the nearest settings file, so a nested one repeats what the root one says.

use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;
use toml::{Table, Value};

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "clippy-settings",
    rule: "A nested clippy.toml has every setting of the root clippy.toml, and every ban in it has a reason.",
    why: "Clippy reads only the nearest file: without this the nested crates are checked by other rules.",
    run: check,
};

const ROOT: &str = "clippy.toml";
const BANS: &[&str] = &["disallowed-macros", "disallowed-methods", "disallowed-types"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let mut found = Vec::new();
    let root = tree.get(ROOT).map_or_else(|| Ok(Table::new()), |file| parse(ROOT, &file.text));
    let root = root.unwrap_or_else(|violation| {
        found.push(violation);
        Table::new()
    });
    for file in tree.files.iter().filter(|file| file.name() == ROOT) {
        match parse(&file.path, &file.text) {
            Ok(_) if file.path == ROOT => {}
            Ok(nested) => {
                found.extend(not_repeated(&file.path, &root, &nested));
                found.extend(without_reason(&file.path, &nested));
            }
            Err(_) if file.path == ROOT => {}
            Err(violation) => found.push(violation),
        }
    }
    found
}

fn parse(path: &str, text: &str) -> Result<Table, Violation> {
    text.parse::<Table>().map_err(|error| {
        let message = format!("cannot be read: {}", error.message());
        Violation::new(CHECK.name, path, message, "correct the file")
    })
}

fn not_repeated(path: &str, root: &Table, nested: &Table) -> Vec<Violation> {
    root.iter()
        .filter(|(key, value)| nested.get(*key) != Some(*value))
        .map(|(key, value)| {
            Violation::new(
                CHECK.name,
                path,
                format!("does not repeat `{key}` of the root clippy.toml"),
                format!("add `{key} = {value}`"),
            )
        })
        .collect()
}

fn without_reason(path: &str, nested: &Table) -> Vec<Violation> {
    let entries = BANS.iter().filter_map(|key| nested.get(*key)?.as_array()).flatten();
    entries
        .filter(|entry| entry.get("reason").and_then(Value::as_str).is_none_or(str::is_empty))
        .map(|entry| {
            let name = entry.get("path").or(Some(entry)).and_then(Value::as_str).unwrap_or("?");
            Violation::new(
                CHECK.name,
                path,
                format!("bans `{name}` without a reason"),
                "write `{ path = \"...\", reason = \"what to use instead\" }`",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(root: &str, nested: &str) -> Vec<String> {
        let tree = SourceTree::of(&[(ROOT, root), ("kernel/clippy.toml", nested)]);
        check(&tree).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn a_nested_file_repeats_the_root() {
        let root = "a = true\nb = 3\n";
        assert!(messages(root, "a = true\nb = 3\nc = 1\n").is_empty());
        assert_eq!(messages(root, "a = true\n"), ["does not repeat `b` of the root clippy.toml"]);
        assert_eq!(messages(root, "a = false\nb = 3"), ["does not repeat `a` of the root clippy.toml"]);
        assert!(messages(root, "a = ")[0].starts_with("cannot be read"));
        assert!(messages("a = ", "")[0].starts_with("cannot be read"));
    }

    #[test]
    fn a_ban_has_a_reason() {
        let nested = "disallowed-methods = [\"x::y\", { path = \"p::q\" }, { path = \"r::s\", reason = \"t\" }]\n";
        assert_eq!(messages("", nested), ["bans `x::y` without a reason", "bans `p::q` without a reason"]);
    }
}
