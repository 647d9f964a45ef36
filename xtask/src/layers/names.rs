//! Where a crate lives and what it is called: the folder is the id, the id is in the crate name.

use crate::checks::Check;
use crate::violation::Violation;
use crate::workspace::{Layer, Member, Workspace, id_of};

pub(crate) const CHECK: Check<Workspace> = Check {
    name: "crate-names",
    rule: "A crate in kernel/ and platform/ is called `dispatch-<folder>`, in extensions/ `ext-<folder>`; every Cargo.toml below a layer is a member of the workspace.",
    why: "A name in an error or a dependency list says where the code is.",
    run: check,
};

fn check(workspace: &Workspace) -> Vec<Violation> {
    let misnamed = workspace.members.iter().filter_map(misnamed);
    misnamed.chain(strays(workspace)).collect()
}

fn misnamed(member: &Member) -> Option<Violation> {
    let id = id_of(&member.folder);
    let expected = match Layer::of(&member.folder)? {
        Layer::Kernel | Layer::Platform => format!("dispatch-{id}"),
        Layer::Extension(_) => format!("ext-{id}"),
        Layer::Apps | Layer::Testing | Layer::Benches | Layer::Examples | Layer::Xtask => return None,
    };
    (member.name != expected).then(|| {
        Violation::new(
            CHECK.name,
            &member.folder,
            format!("is called `{}`, expected `{expected}`: the folder is the id", member.name),
            "rename the crate or the folder",
        )
    })
}

fn strays(workspace: &Workspace) -> impl Iterator<Item = Violation> {
    workspace.sources.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        let member = workspace.members.iter().any(|member| member.folder == folder);
        (!member).then(|| {
            Violation::new(
                CHECK.name,
                folder,
                "has a Cargo.toml but is not a member of the workspace, so no check sees it",
                "add the folder to `members` in the root Cargo.toml, or delete it",
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceTree;

    fn workspace(name: &str, folder: &str) -> Workspace {
        Workspace {
            members: vec![Member { name: name.to_owned(), folder: folder.to_owned(), imports: Vec::new() }],
            ..Workspace::default()
        }
    }

    #[test]
    fn the_folder_decides_the_name() {
        let table = [
            ("dispatch-kernel", "kernel/kernel", 0),
            ("dispatch-os", "platform/os", 0),
            ("ext-broker", "extensions/standard/broker", 0),
            ("dispatch-hook", "apps/dispatch-hook", 0),
            ("os", "platform/os", 1),
            ("dispatch-broker", "extensions/standard/broker", 1),
            ("ext-brokers", "extensions/standard/broker", 1),
        ];
        for (name, folder, expected) in table {
            assert_eq!(check(&workspace(name, folder)).len(), expected, "{name} in {folder}");
        }
    }

    #[test]
    fn a_crate_outside_the_workspace_is_reported() {
        let mut planted = workspace("dispatch-os", "platform/os");
        planted.sources =
            SourceTree::of(&[("Cargo.toml", ""), ("platform/os/Cargo.toml", ""), ("extensions/core/x/Cargo.toml", "")]);
        let found = check(&planted);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "extensions/core/x");
    }
}
