//! A credential goes to the origin it belongs to and nowhere else.

use crate::host::{KEY, TestHostSetup, question};
use dispatch_contracts::provider::ProviderErrorKind;
use dispatch_support::{Reply, ScriptedModel};
use serde_json::json;

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    for status in [301, 302, 307, 308] {
        let thief = ScriptedModel::playing([Reply::say("gotcha")]);
        let target = format!("{}/chat/completions", thief.base_url());
        let honest = ScriptedModel::playing([Reply::json(status, &json!({})).header("Location", &target)]);
        let setup = TestHostSetup::at(&honest.base_url()).key_for(&honest.base_url());
        let error = setup.boot().await.fail().await;
        assert_eq!(error.kind, ProviderErrorKind::InvalidRequest);
        assert!(error.message.contains("model.base_url"), "{error}");
        assert_eq!(thief.requests(), [], "not even without the key");
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_the_key() {
    let model = ScriptedModel::playing([
        Reply::json(307, &json!({})).header("Location", "/v2/chat/completions"),
        Reply::say("moved"),
    ]);
    let setup = TestHostSetup::at(&model.base_url()).key_for(&model.base_url());
    assert_eq!(setup.boot().await.ask(question("hi")).await.1, None);
    let second = &model.requests()[1];
    assert_eq!(second.path, "/v2/chat/completions");
    assert!(second.header("authorization").is_some_and(|sent| sent.contains(KEY)));
    assert_eq!(second.json()["messages"][1]["content"], "hi", "the body goes along");
}

#[tokio::test]
async fn a_server_without_a_key_gets_none() {
    let (mine, other) = (ScriptedModel::playing([Reply::say("a")]), ScriptedModel::playing([Reply::say("b")]));
    let setup = TestHostSetup::at(&other.base_url()).key_for(&mine.base_url());
    assert_eq!(setup.boot().await.ask(question("hi")).await.1, None);
    assert_eq!(other.requests()[0].header("authorization"), None);
}
