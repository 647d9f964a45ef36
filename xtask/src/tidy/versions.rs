//! Every crate has its own version, so that a change of one contract moves one number.

use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "versions",
    rule: "Every crate states its own `version`; none takes it from the workspace.",
    why: "A version says something only when it moves with what it names.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    let manifests = tree.files.iter().filter(|file| file.name() == "Cargo.toml");
    manifests.filter_map(|file| check_manifest(&file.path, &file.text)).collect()
}

fn check_manifest(path: &str, text: &str) -> Option<Violation> {
    let table: toml::Table = text.parse().ok()?;
    let version = table.get("package")?.get("version");
    if version.is_some_and(toml::Value::is_str) {
        return None;
    }
    Some(Violation::new(CHECK.name, path, "has no version of its own", "write `version = \"0.1.0\"`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_inherited_or_missing_is_reported() {
        let table = [
            ("[package]\nname = \"a\"\nversion = \"0.1.0\"\n", 0),
            ("[package]\nname = \"a\"\nversion.workspace = true\n", 1),
            ("[package]\nname = \"a\"\n", 1),
            ("[workspace]\nmembers = []\n", 0),
        ];
        for (text, expected) in table {
            assert_eq!(check(&SourceTree::of(&[("a/Cargo.toml", text)])).len(), expected, "{text}");
        }
    }
}
