//! What an extension can do, for people who decide about it; and whether a new version can do more than the old one.
//!
//! Pure.

use dispatch_contracts::manifest::{Capability, Contributes, Manifest};
use std::collections::BTreeSet;

/// What it adds, asks for and runs, as `tool name`, `capability name` and `program name arguments`.
fn surface(manifest: &Manifest) -> BTreeSet<String> {
    let capabilities = manifest.capabilities.iter().map(|it| format!("capability {}", Capability::name(*it)));
    let program = Some(&manifest.program).filter(|words| !words.is_empty());
    let program = program.map(|words| format!("program {}", words.join(" ")));
    added(&manifest.contributes).into_iter().chain(capabilities).chain(program).collect()
}

/// What the new version adds or asks for and the old one did not.
pub(in crate::commands) fn widened(old: &Manifest, new: &Manifest) -> Vec<String> {
    surface(new).difference(&surface(old)).cloned().collect()
}

/// Everything that a manifest says it adds, with its kind.
pub(in crate::commands) fn added(contributes: &Contributes) -> Vec<String> {
    // Migrations change the extension's own tables alone, which `db` stands for.
    let Contributes { tools, providers, auth, hooks, services, routes, commands, jobs, migrations: _ } = contributes;
    let kinds = [
        ("tool", tools),
        ("provider", providers),
        ("auth", auth),
        ("hook", hooks),
        ("service", services),
        ("route", routes),
        ("command", commands),
        ("job", jobs),
    ];
    kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} {name}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(fields: &str) -> Manifest {
        let text = format!(r#"{{"id":"a","name":"A","version":"1.0.0","apiVersion":"*","tier":"external"{fields}}}"#);
        dispatch_kernel::host::manifest::parse(&text).unwrap()
    }

    #[test]
    fn only_more_widens() {
        let small = manifest(r#","contributes":{"tools":["a"]},"capabilities":["db"]"#);
        let large = manifest(r#","contributes":{"tools":["a"],"commands":["b"]},"capabilities":["db","network"]"#);
        assert_eq!(widened(&small, &large), ["capability network", "command b"]);
        let program = manifest(r#","contributes":{"tools":["a"]},"capabilities":["db","spawn"],"program":["x","y"]"#);
        assert_eq!(widened(&small, &program), ["capability spawn", "program x y"]);
        assert!(widened(&large, &small).is_empty() && widened(&small, &small).is_empty());
    }
}
