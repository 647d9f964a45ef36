//! JSON lines over pipes: the same messages as the WebSocket.

use crate::server::TestServer;
use dispatch_support::Reply;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[test]
fn a_program_talks_over_its_pipes() {
    let server = TestServer::playing([Reply::say("Hello.")]);
    let transport = std::sync::Arc::clone(&server.transport);
    server.block_on(async move {
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let (said, hearing) = tokio::io::duplex(1 << 16);
        let served = tokio::spawn(async move { transport.stdio(Box::new(theirs), Box::new(said)).await });
        let mut lines = BufReader::new(hearing).lines();
        let mut next = async || -> Value { serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap() };
        assert_eq!(next().await["type"], "ready");
        ours.write_all(b"garbage\n\xff\n").await.unwrap();
        assert_eq!(next().await["error"]["code"], "invalid");
        assert_eq!(next().await["error"]["code"], "invalid");
        let subscribe = json!({"type": "subscribe", "session": "main", "after": 0, "ref": 1});
        let submit = json!({"type": "submit", "session": "main", "text": "hi", "ref": 2});
        ours.write_all(format!("{subscribe}\n{submit}\n").as_bytes()).await.unwrap();
        assert_eq!(next().await["ref"], 1);
        loop {
            let said = next().await;
            if said["dispatch"]["state"] == "done" {
                break;
            }
        }
        drop(ours);
        served.await.unwrap().unwrap();
    });
}
