//! The dispatch-hook executable.

fn main() {}
