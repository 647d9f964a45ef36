//! The xtask executable.

fn main() {}
