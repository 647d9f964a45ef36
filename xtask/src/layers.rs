//! `cargo xtask layers`: proves that every import goes in an allowed direction.

pub(crate) mod closure;
pub(crate) mod edges;
pub(crate) mod manifests;
pub(crate) mod names;
pub(crate) mod surface;

/// The committed list of crates that the kernel may be built from.
pub(crate) const KERNEL_CLOSURE_FILE: &str = "xtask/kernel-closure.txt";
