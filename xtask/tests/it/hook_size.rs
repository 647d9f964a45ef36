//! The hot path's crate list and size, with a real build of a small binary.

use crate::repository::Repository;

#[test]
fn crate_list_and_size_are_asserted() {
    let repository = Repository::sound();
    let run = repository.xtask(&["hook-size", "--plain"]);
    run.assert_passed();
    assert!(run.stdout.contains("dispatch-hook (host): "), "{}", run.stdout);

    repository.append("apps/dispatch-hook/Cargo.toml", "ext-store = { path = \"../../extensions/core/store\" }\n");
    let run = repository.xtask(&["hook-size", "--plain"]);
    run.assert_broken("hook-size", "is built from `ext-store`, which is not in xtask/hook-crates.txt");

    repository.xtask(&["hook-size", "--write"]).assert_passed();
    assert_eq!(
        repository.read("xtask/hook-crates.txt"),
        "# Why.\nmax-bytes = 50000000\ndispatch-contracts\ndispatch-os\next-store\n"
    );

    let small = repository.read("xtask/hook-crates.txt").replace("50000000", "1000");
    repository.write("xtask/hook-crates.txt", &small);
    repository.xtask(&["hook-size", "--plain"]).assert_broken("hook-size", "the limit is 1000");
}
