//! Who is let in: tokens, names, origins, sizes, rates.

use crate::client::read_head;
use crate::server::TestServer;
use dispatch_support::ScriptedModel;
use ext_transport_http::contract::{Reach, TransportError};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn only_the_token_opens_and_health_needs_none() {
    let server = TestServer::playing([]);
    let client = server.client();
    assert_eq!(client.stranger().get("/healthz").expect(200).json()["status"], "ok");
    client.get("/v1/sessions").expect(200);
    let refused = client.stranger().get("/v1/sessions").expect(401);
    assert_eq!((refused.code().as_str(), refused.header("www-authenticate")), ("unauthorized", Some("Bearer")));
    for wrong in ["", "x", &server.token[1..], &format!("{}0", server.token), &server.token.to_uppercase()] {
        let headers = [("Authorization", format!("Bearer {wrong}"))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.stranger().request("GET", "/v1/sessions", &headers, b"").expect(401);
    }
    for path in [format!("/v1/sessions?token={0}&access_token={0}", server.token), "/nothing".to_owned()] {
        client.stranger().get(&path).expect(401);
    }
    client.get("/nothing").expect(404);
    assert_eq!(client.request("PUT", "/v1/sessions", &[], b"").expect(405).code(), "method_not_allowed");
    assert!(!server.log.text().contains(&server.token));
}

#[test]
fn a_name_that_was_pointed_here_gets_nothing() {
    let server = TestServer::playing([]);
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "169.254.1.1"] {
        let refused = server.client().request("GET", "/v1/sessions", &[("Host", host)], b"");
        assert_eq!(refused.expect(403).code(), "forbidden", "{host}");
        server.client().request("GET", "/healthz", &[("Host", host)], b"").expect(403);
    }
    server.client().request("GET", "/v1/sessions", &[("Host", "localhost")], b"").expect(200);
}

#[test]
fn foreign_pages_are_refused_and_named_ones_get_leave() {
    let model = ScriptedModel::playing([]);
    let origins = json!(["https://app.example"]);
    let server = TestServer::with(model, &[("extensions.transport-http.allowed_origins", origins)]);
    let client = server.client();
    let own = format!("http://{}", server.bound.addr);
    for (origin, site, status) in [
        ("https://evil.example", "cross-site", 403),
        ("null", "cross-site", 403),
        ("http://localhost:1", "same-site", 403),
        (own.as_str(), "same-origin", 200),
        ("https://app.example", "cross-site", 200),
    ] {
        let headers = [("Origin", origin), ("Sec-Fetch-Site", site)];
        let answer = client.request("GET", "/v1/sessions", &headers, b"").expect(status);
        let leave = answer.header("access-control-allow-origin");
        assert_eq!(leave, (origin == "https://app.example").then_some(origin), "{origin}");
    }
    let asks = |origin| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        client.stranger().request("OPTIONS", "/v1/sessions", &headers, b"")
    };
    assert!(asks("https://app.example").expect(204).header("access-control-allow-headers").is_some());
    assert!(asks("https://evil.example").expect(403).header("access-control-allow-headers").is_none());
}

#[test]
fn bodies_must_be_json_and_of_bounded_size() {
    let server = TestServer::playing([]);
    let client = server.client();
    let path = "/v1/sessions/main/messages";
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(client.request("POST", path, &form, b"text=hi").expect(415).code(), "unsupported_media_type");
    assert_eq!(client.request("POST", path, &[], b"{}").expect(415).code(), "unsupported_media_type");
    let json = [("Content-Type", "application/json; charset=utf-8")];
    for bad in [&b"{"[..], b"[]", b"{}", br#"{"text":1}"#, br#"{"text":"x","extra":1}"#, b"\xff"] {
        assert_eq!(client.request("POST", path, &json, bad).expect(400).code(), "invalid");
    }
    // Said to be huge: refused by the head alone.
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
        server.bound.addr, server.token
    );
    let mut stream = TcpStream::connect(server.bound.addr).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_head(&mut std::io::BufReader::new(stream)).status, 413);
    // Huge without saying so.
    let approval = "/v1/approvals/x";
    let head = format!(
        "POST {approval} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.bound.addr, server.token
    );
    let mut stream = TcpStream::connect(server.bound.addr).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = vec![b' '; 64 * 1024];
    for _ in 0..32 {
        let sent = write!(stream, "{:x}\r\n", chunk.len()).and_then(|()| stream.write_all(&chunk));
        if sent.and_then(|()| stream.write_all(b"\r\n")).is_err() {
            break;
        }
    }
    assert_eq!(read_head(&mut std::io::BufReader::new(stream)).status, 413);
}

#[test]
fn what_is_no_http_is_dropped() {
    let server = TestServer::playing([]);
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", &[b'A'; 200_000]] {
        let mut stream = TcpStream::connect(server.bound.addr).unwrap();
        stream.set_read_timeout(Some(crate::server::PATIENCE)).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{:?}", String::from_utf8_lossy(&answer));
    }
    server.client().get("/healthz").expect(200);
}

#[test]
fn strangers_are_slowed_down_and_lock_nobody_out() {
    let server = TestServer::playing([]);
    let refused = (0..200).map(|_| server.client().stranger().get("/v1/sessions")).find(|answer| answer.status == 429);
    let refused = refused.expect("a stranger that hammers is slowed down");
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("rate_limited", Some("1")));
    server.client().get("/v1/sessions").expect(200);
    server.client().stranger().get("/healthz").expect(200);
}

#[test]
fn who_has_the_token_has_a_rate_too() {
    let server =
        TestServer::with(ScriptedModel::playing([]), &[("extensions.transport-http.requests_per_second", json!(1))]);
    let statuses: Vec<u16> = (0..20).map(|_| server.client().get("/v1/sessions").status).collect();
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn more_connections_than_allowed_wait_for_those_with_the_token() {
    let server =
        TestServer::with(ScriptedModel::playing([]), &[("extensions.transport-http.max_connections", json!(2))]);
    let addr = server.bound.addr;
    let held: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(addr).unwrap();
            let token = &server.token;
            write!(stream, "GET /v1/sessions HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\r\n")
                .unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
            stream
        })
        .collect();
    let client = server.client();
    let waiting = std::thread::spawn(move || client.get("/healthz"));
    let mut probe = TcpStream::connect(addr).unwrap();
    write!(probe, "GET /healthz HTTP/1.1\r\nHost: {addr}\r\n\r\n").unwrap();
    probe.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    assert!(probe.read(&mut [0; 1]).is_err(), "nobody is served while the others hold on");
    drop(held);
    waiting.join().unwrap().expect(200);
}

#[test]
fn a_full_server_drops_the_oldest_connection_without_a_token() {
    let server =
        TestServer::with(ScriptedModel::playing([]), &[("extensions.transport-http.max_connections", json!(2))]);
    let mut held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(server.bound.addr).unwrap()).collect();
    server.client().get("/healthz").expect(200);
    let oldest = &mut held[0];
    oldest.set_read_timeout(Some(crate::server::PATIENCE)).unwrap();
    assert!(matches!(oldest.read(&mut [0; 1]), Ok(0) | Err(_)), "it made room");
}

#[test]
fn other_machines_are_let_in_only_if_somebody_asks_for_it() {
    let server = TestServer::playing([]);
    let refused = server.block_on(server.transport.listen("0.0.0.0:0".parse().unwrap(), Reach::Loopback));
    assert!(matches!(refused, Err(TransportError::NotLoopback { .. })), "{refused:?}");
    let taken = server.block_on(server.transport.listen(server.bound.addr, Reach::Loopback));
    assert!(matches!(taken, Err(TransportError::Bind { .. })), "{taken:?}");
}
