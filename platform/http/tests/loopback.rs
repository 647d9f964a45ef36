//! Clients against a real server on this machine: names below `localhost`, and a proxy in the environment.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_http::{ClientKind, Redirects, client, root_cause};
use reqwest::Url;
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Serves one request and returns its port.
async fn serve_once() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").await.unwrap();
    });
    port
}

async fn fetch(url: &str) -> Result<String, String> {
    let url = Url::parse(url).unwrap();
    let client = client(ClientKind::of(&url), Redirects::None).map_err(|error| root_cause(&error))?;
    let response = client.get(url).send().await.map_err(|error| root_cause(&error))?;
    response.text().await.map_err(|error| root_cause(&error))
}

#[tokio::test]
async fn every_name_below_localhost_leads_to_this_machine() {
    for host in ["localhost", "x.localhost", "a.b.localhost", "localhost.", "127.0.0.1", "[::ffff:127.0.0.1]"] {
        let port = serve_once().await;
        assert_eq!(fetch(&format!("http://{host}:{port}/")).await.as_deref(), Ok("hi"), "{host}");
    }
}

/// Runs only in the child process of the next test: the environment is read once per process.
#[tokio::test]
async fn child_with_a_proxy_that_does_not_answer() {
    if std::env::var_os("DISPATCH_TEST_PROXY_CHILD").is_none() {
        return;
    }
    for host in ["localhost", "x.localhost", "127.0.0.1"] {
        let port = serve_once().await;
        assert_eq!(fetch(&format!("http://{host}:{port}/")).await.as_deref(), Ok("hi"), "{host}");
    }
    let refused = fetch("http://dispatch-test.invalid/").await.unwrap_err();
    assert!(refused.to_lowercase().contains("refused"), "other hosts go through the proxy: {refused}");
}

#[test]
fn a_proxy_of_the_environment_is_for_other_machines_alone() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = format!("http://{closed}");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_with_a_proxy_that_does_not_answer", "--nocapture"])
        .env("DISPATCH_TEST_PROXY_CHILD", "1")
        .env("HTTP_PROXY", &proxy)
        .env("http_proxy", &proxy)
        .env("ALL_PROXY", &proxy)
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env_remove("REQUEST_METHOD")
        .status()
        .unwrap();
    assert!(status.success());
}
