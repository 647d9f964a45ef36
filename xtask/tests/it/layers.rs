//! One planted violation per layer check, seen through `cargo metadata` and `cargo tree`.

use crate::repository::Repository;

#[test]
fn a_sound_repository_passes() {
    Repository::sound().xtask(&["layers"]).assert_passed();
}

#[test]
fn an_upward_import_is_reported() {
    let repository = Repository::sound();
    repository
        .append("kernel/contracts/Cargo.toml", "[dev-dependencies]\ndispatch-os = { path = \"../../platform/os\" }\n");
    repository.xtask(&["layers"]).assert_broken(
        "edges",
        "kernel/contracts: imports platform/os (dev-dependency): tests of the kernel layer may import only kernel and testing",
    );
}

#[test]
fn an_import_that_the_manifest_does_not_name_is_reported() {
    let repository = Repository::sound();
    repository.write("extensions/standard/broker/manifest.json", "{ \"id\": \"broker\", \"tier\": \"standard\" }\n");
    repository.xtask(&["layers"]).assert_broken("edges", "add \"store\" to dependsOn");
}

#[test]
fn a_wrong_crate_name_is_reported() {
    let repository = Repository::sound();
    repository.write_crate("platform/redact", "redact", "");
    repository.xtask(&["layers"]).assert_broken("crate-names", "expected `dispatch-redact`");
}

#[test]
fn a_wrong_manifest_is_reported() {
    let repository = Repository::sound();
    repository.write("extensions/core/store/manifest.json", "{ \"id\": \"stores\", \"tier\": \"core\" }\n");
    repository.xtask(&["layers"]).assert_broken("manifests", "has the id `stores`");
}

#[test]
fn a_use_behind_the_contract_is_reported() {
    let repository = Repository::sound();
    repository
        .append("extensions/standard/broker/src/lib.rs", "use ext_store::contract::A;\nuse ext_store::rows::B;\n");
    let run = repository.xtask(&["layers"]);
    run.assert_broken("surface", "extensions/standard/broker/src/lib.rs:8: uses `ext_store` outside its contract");
}

#[test]
fn an_app_that_reaches_past_the_contract_is_reported() {
    let repository = Repository::sound();
    repository.append("apps/dispatch-hook/src/main.rs", "use ext_store::contract::A;\nuse ext_store::rows::B;\n");
    let run = repository.xtask(&["layers"]);
    run.assert_broken("surface", "apps/dispatch-hook/src/main.rs:4: uses `ext_store` outside its contract");
}

#[test]
fn an_extension_that_makes_more_public_is_reported() {
    let repository = Repository::sound();
    repository.append("extensions/core/store/src/lib.rs", "pub mod rows;\n");
    let run = repository.xtask(&["layers"]);
    run.assert_broken("surface", "extensions/core/store/src/lib.rs:7: makes public what is neither");
}

#[test]
fn a_new_kernel_dependency_is_reported() {
    let repository = Repository::sound();
    repository.write_crate("kernel/extra", "dispatch-extra", "");
    repository.append("kernel/kernel/Cargo.toml", "dispatch-extra = { path = \"../extra\" }\n");
    repository.xtask(&["layers"]).assert_broken("kernel-closure", "is built from `dispatch-extra`, which is not in");
}

#[test]
fn an_optional_kernel_dependency_needs_its_own_line() {
    let repository = Repository::sound();
    repository.write_crate("kernel/extra", "dispatch-extra", "");
    repository.append("kernel/kernel/Cargo.toml", "dispatch-extra = { path = \"../extra\", optional = true }\n");
    repository.xtask(&["layers"]).assert_broken("kernel-closure", "`dispatch-extra` with all features on");
    repository.append("xtask/kernel-closure.txt", "[features]\ndispatch-extra  planted\n");
    repository.xtask(&["layers"]).assert_passed();
}

#[test]
fn an_unused_line_of_the_allow_list_is_reported() {
    let repository = Repository::sound();
    repository.append("xtask/kernel-closure.txt", "serde  was needed once\n");
    repository.xtask(&["layers"]).assert_broken("kernel-closure", "lists `serde`");
}

#[test]
fn native_code_in_the_kernel_is_reported() {
    let repository = Repository::sound();
    repository.write_crate("kernel/native", "dispatch-native", "");
    let manifest = repository.read("kernel/native/Cargo.toml").replace("edition", "links = \"z\"\nedition");
    repository.write("kernel/native/Cargo.toml", &manifest);
    repository.write("kernel/native/build.rs", "//! Why.\nfn main() {}\n");
    repository.append("kernel/kernel/Cargo.toml", "dispatch-native = { path = \"../native\" }\n");
    repository.append("xtask/kernel-closure.txt", "dispatch-native  planted\n");
    repository.xtask(&["layers"]).assert_broken("kernel-closure", "links the native library `z`");
}
