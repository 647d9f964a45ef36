//! Links the hook binary at a fixed address: the loader then has nothing to adjust at each start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let environment = std::env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default();
    if target == "linux" && environment == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
