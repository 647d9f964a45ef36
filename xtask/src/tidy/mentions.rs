//! The text of the project works on every machine: no path of one, no host of one.

use crate::checks::Check;
use crate::source::{SourceFile, SourceTree};
use crate::violation::Violation;

/// Rule in full: no absolute path into a machine's work or root folder, no `/home/<name>` of a
/// person (placeholder names such as `user` are fine, and test code may use any), and no URL of a
/// package registry or mirror. Test data folders are not read.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "mentions",
    rule: "No path of one machine and no package registry host in any text file outside test data.",
    why: "A path or host of one machine works nowhere else and tells strangers about it.",
    run: check,
};

// Spelled without slashes, so that this file passes its own check.
const MACHINE_FOLDERS: &[&str] = &["work", "root"];
const PLACEHOLDER_PEOPLE: &[&str] = &["alice", "bob", "dev", "me", "name", "user", "you"];
const REGISTRY_HOSTS: &[&str] = &["index.crates.io", "static.crates.io", "pypi.org"];
const REGISTRY_LABELS: &[&str] = &["artifactory", "mirror", "nexus", "registry"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    for folder in MACHINE_FOLDERS {
        let path = format!("/{folder}/");
        found.extend(absolute(&file.text, &path).map(|at| machine_path(file, at, &path)));
    }
    for at in absolute(&file.text, "/home/") {
        let name = leading_word(&file.text[at + "/home/".len()..]);
        if !name.is_empty() && !PLACEHOLDER_PEOPLE.contains(&name) && !is_in_test(file, at) {
            found.push(machine_path(file, at, &format!("/home/{name}")));
        }
    }
    found.extend(hosts(&file.text).filter(|(_, host)| is_registry(host)).map(|(at, host)| {
        let message = format!("names the package registry host `{host}`");
        Violation::new(CHECK.name, file.place(at), message, "leave the choice of registry to the user's own settings")
    }));
    found
}

fn machine_path(file: &SourceFile, at: usize, path: &str) -> Violation {
    let message = format!("names the machine path `{path}`");
    Violation::new(CHECK.name, file.place(at), message, "use a relative path, or one made at run time")
}

// Offsets where a path starts, as opposed to being the tail of a longer one.
fn absolute<'a>(text: &'a str, path: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(path).map(|(at, _)| at).filter(|at| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~/}>)*$".contains(c))
    })
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len());
    &text[..end]
}

fn is_in_test(file: &SourceFile, at: usize) -> bool {
    let ranges = file.rust.as_ref().map(|rust| rust.test_ranges.as_slice()).unwrap_or_default();
    ranges.iter().any(|range| range.contains(&at))
}

fn hosts(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("://").map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-').unwrap_or(rest.len());
        (at, &rest[..end])
    })
}

fn is_registry(host: &str) -> bool {
    REGISTRY_HOSTS.contains(&host) || host.split(['.', '-']).any(|label| REGISTRY_LABELS.contains(&label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&SourceTree::of(&[(path, text)])).len()
    }

    #[test]
    fn machine_paths_are_reported() {
        let (work, root, home) = ("work", "root", "home");
        let table = [
            (format!("see /{work}/main/x"), 1),
            (format!("\"/{root}/.cargo\""), 1),
            (format!("/{home}/miriam/code"), 1),
            (format!("/{home}/user/code and /{home}/<name>/x"), 0),
            (format!("~/{work}/x a/{work}/x ./{work}/x ${{HOME}}/{root}/x"), 0),
            (format!("protects /{root} itself"), 0),
        ];
        for (text, expected) in table {
            assert_eq!(found("a.md", &text), expected, "{text}");
            assert_eq!(found("a.rs", &format!("// {text}")), expected, "{text}");
        }
    }

    #[test]
    fn test_code_may_have_people() {
        let text = format!("#[cfg(test)]\nmod tests {{ const P: &str = \"/{}/miriam/x\"; }}", "home");
        assert_eq!(found("a.rs", &text), 0);
        assert_eq!(found("a.rs", &text.replace("#[cfg(test)]", "")), 1);
    }

    #[test]
    fn registry_hosts_are_reported() {
        let scheme = "https:/";
        let table = [
            ("/registry.example.com/x", 1),
            ("/npm-registry.example.com", 1),
            ("/index.crates.io/se/rd", 1),
            ("/crates.io/crates/serde", 0),
            ("/github.com/x/registry", 0),
            ("/example.com", 0),
        ];
        for (rest, expected) in table {
            assert_eq!(found("a.toml", &format!("{scheme}{rest}")), expected, "{rest}");
        }
    }
}
