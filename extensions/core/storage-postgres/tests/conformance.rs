//! The storage contract's own checks, against a real server.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "names the check that fails")]

use dispatch_support::storage::CHECKS;
use dispatch_support::{PgBouncer, PostgresServer};
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend};
use std::sync::Arc;

/// Runs every check in a database of its own, reached by a URL made of its direct one and its name.
fn run(server: &PostgresServer, url: impl Fn(String, &str) -> String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (number, (name, check)) in CHECKS.iter().enumerate() {
        println!("{name}");
        let database = format!("check_{number}");
        let url = url(server.create(&database), &database);
        let backend = PostgresBackend::open(&DatabaseAddress::parse(&url).unwrap()).unwrap();
        runtime.block_on(check(Arc::new(backend)));
    }
}

#[test]
fn a_server_keeps_the_contract() {
    run(&PostgresServer::start(), |direct, _| direct);
}

#[test]
fn so_it_does_behind_a_pooler_in_transaction_mode() {
    let server = PostgresServer::start();
    let pooler = PgBouncer::start(&server);
    run(&server, |_, database| pooler.url(database));
}

#[test]
fn what_one_process_announces_another_hears() {
    use dispatch_contracts::storage::StorageBackend as _;
    let server = PostgresServer::start();
    let open = || PostgresBackend::open(&DatabaseAddress::parse(&server.url()).unwrap()).unwrap();
    let (one, other) = (open(), open());
    let (heard, hearing) = std::sync::mpsc::channel();
    other.listen(Box::new(move |topic| _ = heard.send(topic.to_owned())));
    // Who announces has a connection for it only once it listens too.
    one.listen(Box::new(|_| {}));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        one.announce("work");
        match hearing.recv_timeout(std::time::Duration::from_millis(100)) {
            Ok(topic) => return assert_eq!(topic, "work"),
            Err(_) => assert!(std::time::Instant::now() < deadline, "nothing was heard"),
        }
    }
}
