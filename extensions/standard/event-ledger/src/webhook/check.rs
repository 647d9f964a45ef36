//! What is wrong with the settings of a webhook, before anybody sends to it.

use super::signature::SignatureScheme;
use super::webhook_settings::{CHANNEL, SecretSource, WebhookSettings};
use crate::contract::ChannelProblem;
use dispatch_http::is_loopback_url;
use reqwest::Url;

/// Whether replies may be posted there: over TLS, or on this machine.
pub(super) fn is_allowed_target(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback_url(url))
}

/// The problems of one webhook. `has_secret` also counts the one that `dispatch auth add` kept.
pub(super) fn problems_of(
    webhook: &WebhookSettings,
    is_usable: impl Fn(&SecretSource) -> bool,
    has_secret: bool,
) -> Vec<ChannelProblem> {
    let name = &webhook.name;
    let found = |problem: String, fix: String, may_be_meant: bool| ChannelProblem {
        account: name.clone(),
        problem,
        fix,
        may_be_meant,
    };
    let mut problems = Vec::new();
    if webhook.scheme == SignatureScheme::None {
        let problem = "it takes events from anybody who can reach the server (`signature = \"none\"`)".to_owned();
        let fix = "serve on 127.0.0.1 alone, or choose a signature and add a secret".to_owned();
        problems.push(found(problem, fix, true));
    } else if !has_secret {
        let problem = "it has no secret that can be read, so it refuses every request".to_owned();
        let fix = format!("`dispatch auth add channel:{CHANNEL}:{name}`, or `secrets` in the settings");
        problems.push(found(problem, fix, false));
    }
    for source in webhook.secrets.iter().filter(|source| !is_usable(source)) {
        let (problem, fix) = match source {
            SecretSource::Literal(_) => ("one of its secrets is empty".to_owned(), "take it out".to_owned()),
            SecretSource::Variable(variable) => (
                format!("the variable {variable} of its secret is not set here"),
                format!("set {variable} where `dispatch serve` is started"),
            ),
            SecretSource::File(path) => {
                (format!("the file {path} of its secret is empty or cannot be read"), format!("write it to {path}"))
            }
        };
        problems.push(found(problem, fix, has_secret));
    }
    problems.extend(webhook.reply_url.as_deref().and_then(|address| match Url::parse(address) {
        Err(error) => {
            Some(found(format!("its `reply_url` is not an address: {error}"), "correct it".to_owned(), false))
        }
        Ok(url) if !is_allowed_target(&url) => {
            let problem = "its `reply_url` does not begin with https://, so no reply is posted".to_owned();
            Some(found(problem, "use https, or an address of this machine".to_owned(), false))
        }
        Ok(_) => None,
    }));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::secret::Secret;

    fn webhook(scheme: SignatureScheme, secrets: Vec<SecretSource>, reply_url: Option<&str>) -> WebhookSettings {
        let (name, reply_url) = ("ci".to_owned(), reply_url.map(str::to_owned));
        WebhookSettings { name, scheme, secrets, header: None, tolerance_s: 300, reply_url }
    }

    #[test]
    fn each_problem_is_named_with_what_helps() {
        let literal = || SecretSource::Literal(Secret::new("canary"));
        let variable = || SecretSource::Variable("CI_SECRET".to_owned());
        let usable = |source: &SecretSource| matches!(source, SecretSource::Literal(_));
        let table = [
            (webhook(SignatureScheme::Github, vec![literal()], Some("https://a.example/x")), vec![]),
            (webhook(SignatureScheme::Github, vec![literal()], Some("http://127.0.0.1:9/x")), vec![]),
            (webhook(SignatureScheme::None, vec![], None), vec![("anybody", true)]),
            (webhook(SignatureScheme::Github, vec![], None), vec![("no secret", false)]),
            (
                webhook(SignatureScheme::Github, vec![variable()], None),
                vec![("no secret", false), ("CI_SECRET", false)],
            ),
            (webhook(SignatureScheme::Github, vec![literal(), variable()], None), vec![("CI_SECRET", true)]),
            (webhook(SignatureScheme::Github, vec![literal()], Some("http://a.example/x")), vec![("https", false)]),
            (webhook(SignatureScheme::Github, vec![literal()], Some("a.example")), vec![("not an address", false)]),
        ];
        for (webhook, wanted) in table {
            let has_secret = webhook.secrets.iter().any(usable);
            let found = problems_of(&webhook, usable, has_secret);
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            for (problem, (word, may_be_meant)) in found.iter().zip(wanted) {
                assert!(problem.problem.contains(word), "{problem:?}");
                assert_eq!(problem.may_be_meant, may_be_meant, "{problem:?}");
                assert!(!problem.problem.contains("canary") && !problem.fix.contains("canary"), "{problem:?}");
            }
        }
    }
}
