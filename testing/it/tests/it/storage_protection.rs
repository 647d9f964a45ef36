//! TLS to the database server: taken with the right certificate, refused with a wrong one, and the password in no output.

use dispatch_support::{Certificates, PostgresServer, TestContext};

const PASSWORD: &str = "correct-horse-hunter2";

/// What listing sessions says on a database behind a URL.
fn list(context: &TestContext, url: &str) -> (i32, String) {
    let output = context.dispatch(&["--set", &format!("storage.url={url}"), "session", "list"]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(!said.contains(PASSWORD), "{said}");
    (output.status, said)
}

#[test]
fn a_server_is_believed_by_its_certificate() {
    let certificates = Certificates::for_host("IP:127.0.0.1");
    let others = Certificates::for_host("IP:127.0.0.1");
    let server = PostgresServer::start_protected(&certificates, PASSWORD);
    let context = TestContext::new();
    let url = |host: &str, options: &str| {
        format!("postgres://dispatch:{PASSWORD}@{host}:{}/postgres?{options}", server.port())
    };
    let authority = |of: &Certificates| format!("sslrootcert={}", of.authority().display());
    let private = authority(&certificates);
    for options in
        ["sslmode=require".to_owned(), format!("sslmode=verify-full&{private}"), format!("sslmode=require&{private}")]
    {
        let (status, said) = list(&context, &url("127.0.0.1", &options));
        assert_eq!(status, 0, "{options}: {said}");
    }
    let missing = format!("sslmode=verify-full&sslrootcert={}", context.home().join("missing.pem").display());
    context.write_home("empty.pem", "no certificate");
    let empty = format!("sslmode=verify-full&sslrootcert={}", context.home().join("empty.pem").display());
    for (host, options, why) in [
        ("127.0.0.1", "sslmode=verify-full".to_owned(), "invalid peer certificate"),
        ("127.0.0.1", format!("sslmode=verify-full&{}", authority(&others)), "invalid peer certificate"),
        ("localhost", format!("sslmode=verify-full&{private}"), "invalid peer certificate"),
        ("127.0.0.1", "sslmode=disable".to_owned(), "no pg_hba.conf entry"),
        ("127.0.0.1", private.clone(), "`sslrootcert` needs `sslmode=verify-full`"),
        ("127.0.0.1", missing, "missing.pem"),
        ("127.0.0.1", empty, "holds no certificate"),
    ] {
        let (status, said) = list(&context, &url(host, &options));
        assert!(status != 0 && said.contains(why), "{options}: {said}");
    }
    let doctor =
        context.dispatch(&["--set", &format!("storage.url={}", url("127.0.0.1", "sslmode=verify-full")), "doctor"]);
    assert!(doctor.stdout.contains("sslrootcert=FILE") && !doctor.stdout.contains(PASSWORD), "{doctor:?}");
}
