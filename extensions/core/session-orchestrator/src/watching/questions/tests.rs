//! Each question is told once and settled once, wherever the news comes from.

use super::*;
use crate::contract::DispatchId;
use dispatch_contracts::conversation::ToolCall;

fn request(id: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId(id.to_owned()),
        session: "main".to_owned(),
        dispatch: DispatchId::new("d"),
        turn: "t".into(),
        call: ToolCall { id: "c".into(), name: "run_shell".to_owned(), arguments: serde_json::Map::new() },
        targets: Vec::new(),
        summary: String::new(),
        folder: "/w".into(),
        workspace: "/w".into(),
        questions: Vec::new(),
        remember: Vec::new(),
        at_ms: 0,
        expires_at_ms: 1,
    }
}

fn told(known: &mut KnownQuestions, news: Vec<SessionNews>) -> Vec<String> {
    let news = news.into_iter().filter(|news| known.is_news(news)).collect::<Vec<_>>();
    let word = |news: SessionNews| match news {
        SessionNews::Asked { request } => format!("asked {}", request.id.0),
        SessionNews::Settled { id } => format!("settled {}", id.0),
        _ => "other".to_owned(),
    };
    news.into_iter().map(word).collect()
}

#[test]
fn a_question_is_heard_once_by_feed_and_storage() {
    let mut known = KnownQuestions::default();
    let fed = |id: &str| vec![SessionNews::Asked { request: request(id) }];
    assert_eq!(told(&mut known, fed("a")), ["asked a"]);
    let found = known.compare(vec![request("a"), request("b")]);
    assert_eq!(told(&mut known, found), ["asked b"], "the other was told as it was asked");
    let settled = vec![SessionNews::Settled { id: ApprovalId("a".to_owned()) }];
    assert_eq!(told(&mut known, settled.clone()), ["settled a"]);
    let found = known.compare(vec![request("a"), request("b")]);
    assert_eq!(told(&mut known, found), Vec::<String>::new(), "a row that is about to change is no question again");
    let found = known.compare(Vec::new());
    assert_eq!(told(&mut known, found), ["settled b"]);
    assert_eq!(told(&mut known, settled), Vec::<String>::new());
}
