//! The dispatch executable.

fn main() {}
