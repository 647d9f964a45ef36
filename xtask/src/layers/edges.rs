//! Which crate may import which: the layer decides, extensions also need their manifest's word.

use crate::checks::Check;
use crate::violation::Violation;
use crate::workspace::{DependencyKind, Import, Layer, Member, Tier, Workspace, id_of};

pub(crate) const CHECK: Check<Workspace> = Check {
    name: "edges",
    rule: "kernel imports kernel; platform imports kernel and platform; an extension imports kernel, platform and the extensions in its `dependsOn`, never from core up to standard; apps import all of these; testing is imported only by tests, benches and xtask; sdk/examples imports kernel and apps; nobody imports apps (but testing, benches and examples), benches, examples or xtask.",
    why: "A layer can be read, tested and replaced without what is above it.",
    run: check,
};

struct Refusal {
    rule: String,
    hint: String,
}

fn refuse(rule: impl Into<String>, hint: impl Into<String>) -> Result<(), Refusal> {
    Err(Refusal { rule: rule.into(), hint: hint.into() })
}

fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in &workspace.members {
        let Some(from) = Layer::of(&member.folder) else {
            found.push(no_layer(&member.folder));
            continue;
        };
        for import in &member.imports {
            if let Err(refusal) = judge(workspace, member, from, import) {
                let message = format!("imports {} ({}): {}", import.folder, import.kind, refusal.rule);
                found.push(Violation::new(CHECK.name, &member.folder, message, refusal.hint));
            }
        }
    }
    found
}

fn no_layer(folder: &str) -> Violation {
    Violation::new(
        CHECK.name,
        folder,
        "is a crate in no layer",
        "move it below kernel/, platform/, extensions/core/, extensions/standard/, apps/ or testing/",
    )
}

fn judge(workspace: &Workspace, member: &Member, from: Layer, import: &Import) -> Result<(), Refusal> {
    if let Some(rename) = &import.rename {
        return refuse(
            format!("a crate of this repository is imported under its own name, not as `{rename}`"),
            "remove `package = ...` from the dependency",
        );
    }
    let Some(to) = Layer::of(&import.folder) else {
        return refuse("it is in no layer", "import only crates below a layer folder");
    };
    to_closed_layer(from, to, import.kind)?;
    match (from, import.kind) {
        (Layer::Kernel, DependencyKind::Dev) => from_kernel_tests(to),
        (_, DependencyKind::Dev) => Ok(()),
        (Layer::Kernel, _) => from_kernel(to),
        (Layer::Platform, _) => from_platform(to),
        (Layer::Extension(tier), _) => from_extension(workspace, member, tier, to, import),
        (Layer::Examples, _) => from_example(to),
        (Layer::Apps | Layer::Testing | Layer::Benches | Layer::Xtask, _) => Ok(()),
    }
}

// Layers that are closed to most importers, whatever the importer's own rules are.
fn to_closed_layer(from: Layer, to: Layer, kind: DependencyKind) -> Result<(), Refusal> {
    match to {
        Layer::Benches | Layer::Xtask | Layer::Examples => refuse(
            format!("nobody imports {to}"),
            "move the shared code to testing/support or to the layer it belongs to",
        ),
        Layer::Apps if !matches!(from, Layer::Testing | Layer::Benches | Layer::Examples) => refuse(
            "only testing, benches and examples import an app",
            "move the shared code to an extension or to platform",
        ),
        Layer::Testing
            if kind != DependencyKind::Dev && !matches!(from, Layer::Testing | Layer::Benches | Layer::Xtask) =>
        {
            refuse("testing is imported only as a dev-dependency", "move it to [dev-dependencies]")
        }
        _ => Ok(()),
    }
}

fn from_kernel(to: Layer) -> Result<(), Refusal> {
    match to {
        Layer::Kernel => Ok(()),
        _ => refuse("the kernel layer may import only kernel", "take what you need as a port in contracts/ports.rs"),
    }
}

fn from_kernel_tests(to: Layer) -> Result<(), Refusal> {
    match to {
        Layer::Kernel | Layer::Testing => Ok(()),
        _ => refuse(
            "tests of the kernel layer may import only kernel and testing",
            "test with testing/sim, or move the test to the crate above",
        ),
    }
}

// What somebody outside this repository builds with.
fn from_example(to: Layer) -> Result<(), Refusal> {
    match to {
        Layer::Kernel | Layer::Apps => Ok(()),
        _ => refuse("an example imports the app and the contracts alone", "show what people outside can do"),
    }
}

fn from_platform(to: Layer) -> Result<(), Refusal> {
    match to {
        Layer::Kernel | Layer::Platform => Ok(()),
        _ => refuse(
            "the platform layer may import only kernel and platform",
            "move the shared type to kernel/contracts, or the code up to its caller",
        ),
    }
}

fn from_extension(
    workspace: &Workspace,
    member: &Member,
    tier: Tier,
    to: Layer,
    import: &Import,
) -> Result<(), Refusal> {
    match (tier, to) {
        (_, Layer::Kernel | Layer::Platform) => Ok(()),
        (Tier::Core, Layer::Extension(Tier::Standard)) => refuse(
            "a core extension never imports a standard one",
            "let the core extension own a hook or a service that the standard one fills",
        ),
        (_, Layer::Extension(_)) => {
            let id = id_of(&import.folder);
            let facts = workspace.facts(&member.folder);
            if facts.is_some_and(|facts| facts.depends_on.iter().any(|named| named == id)) {
                return Ok(());
            }
            refuse(
                "an extension imports another one only if its manifest names it in dependsOn",
                format!(
                    "add \"{id}\" to dependsOn in {}/manifest.json and use only ext_{}::contract",
                    member.folder,
                    id.replace('-', "_")
                ),
            )
        }
        _ => refuse(
            "an extension may import only kernel, platform and the extensions it depends on",
            "move the shared code to platform",
        ),
    }
}

#[cfg(test)]
mod tests;
