//! The storage contract's own checks, against a file and against memory.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "names the check that fails")]

use dispatch_support::storage::CHECKS;
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::sync::Arc;

fn run(location: impl Fn(usize) -> Location) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (number, (name, check)) in CHECKS.iter().enumerate() {
        println!("{name}");
        let backend = SqliteBackend::open(&location(number)).unwrap();
        runtime.block_on(check(Arc::new(backend)));
    }
}

#[test]
fn a_file_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    run(|number| Location::File(folder.path().join(format!("{number}/dispatch.db"))));
}

#[test]
fn memory_keeps_the_contract() {
    run(|_| Location::Memory);
}
