//! The storage contract's own checks, against a real server.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "names the check that fails")]

use dispatch_support::PostgresServer;
use dispatch_support::storage::CHECKS;
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend};
use std::sync::Arc;

fn run(options: &str) {
    let server = PostgresServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (number, (name, check)) in CHECKS.iter().enumerate() {
        println!("{name}");
        let url = format!("{}{options}", server.create(&format!("check_{number}")));
        let backend = PostgresBackend::open(&DatabaseAddress::parse(&url).unwrap()).unwrap();
        runtime.block_on(check(Arc::new(backend)));
    }
}

#[test]
fn a_server_keeps_the_contract() {
    run("");
}

#[test]
fn so_it_does_without_prepared_statements() {
    run("?prepared_statements=false");
}
