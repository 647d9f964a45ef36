//! Confined writes: the kernel refuses them elsewhere, or the confinement says that it cannot.

use dispatch_os::{ConfinementError, DescendantPolicy, WriteConfinement};

use super::process::shell;

#[test]
fn writes_outside_fail_and_inside_work() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (inside, outside) = (base.join("inside"), base.join("outside"));
    for folder in [&inside, &outside] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("kept"), "kept").unwrap();
    }
    let confinement = match WriteConfinement::below(&[&inside]) {
        Ok(confinement) => confinement,
        Err(ConfinementError::Unavailable { reason }) => {
            assert!(!reason.is_empty());
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let attacks = [
        "echo x > ../outside/new",
        "echo x >> ../outside/kept",
        "rm ../outside/kept",
        "mkdir ../outside/folder",
        "mv kept ../outside/moved",
        "ln -s x ../outside/link",
        "ln -s ../outside/kept through; echo x > through",
        "truncate -s 0 ../outside/kept",
        "setsid sh -c 'echo x > ../outside/new'",
    ];
    for family in [DescendantPolicy::Free, DescendantPolicy::Guarded] {
        let confined = |script: &str| {
            shell(script).working_folder(&inside).descendants(family).confine_writes(confinement.clone())
        };
        for attack in attacks {
            assert!(!confined(attack).run().succeeded(), "{attack} worked");
        }
        let script = "cat ../outside/kept >/dev/null && mkdir -p a/b && echo x > a/b/c && mv a/b/c d && rm -r a d";
        let outcome = confined(script).run();
        assert!(outcome.succeeded(), "{}", outcome.stderr.text());
    }
    let names: Vec<_> = std::fs::read_dir(&outside).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["kept"]);
    assert_eq!(std::fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    assert!(shell("true").run().succeeded(), "this process itself is not confined");
    std::fs::write(outside.join("ours"), "").unwrap();
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let error = WriteConfinement::below(&["/no/such/folder".as_ref()]).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("/no/such/folder") || matches!(error, ConfinementError::Unavailable { .. }), "{said}");
}
