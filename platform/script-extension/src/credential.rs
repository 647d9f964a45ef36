//! A source of credentials that an extension adds.

use crate::extension::{ActiveExtension, Invocation};
use crate::limits::CREDENTIAL;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::auth::{Auth, AuthScope, Credential};
use dispatch_contracts::secret::{Secret, SecretError};
use serde::Deserialize;
use serde_json::Value;

/// The source, as providers ask it.
pub(crate) struct ScriptAuth {
    active: ActiveExtension,
    name: String,
}

/// What the code answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum AnsweredCredential {
    Bearer(String),
    Header { name: String, value: String },
}

impl ScriptAuth {
    pub(crate) const fn new(active: ActiveExtension, name: String) -> Self {
        Self { active, name }
    }

    async fn ask(&self, scope: &AuthScope) -> Result<Credential, String> {
        let asked = serde_json::to_value(scope).map_err(|error| error.to_string())?;
        let call = Invocation::new("credential", self.name.clone(), asked, CREDENTIAL);
        let place = format!("credential source {}", self.name);
        let answer = self.active.invoke(&place, call).await.map_err(|failure| self.active.told(&failure))?;
        if answer.is_null() {
            return Ok(Credential::None);
        }
        let credential = read(answer)?;
        if let Credential::Bearer(secret) | Credential::Header { value: secret, .. } = &credential {
            self.active.calls.remember_secret(secret.expose());
        }
        Ok(credential)
    }
}

/// Reads the answer; what is wrong with it is said without showing it.
fn read(answer: Value) -> Result<Credential, String> {
    match serde_json::from_value(answer) {
        Ok(AnsweredCredential::Bearer(key)) => Ok(Credential::Bearer(Secret::new(key))),
        Ok(AnsweredCredential::Header { name, value }) => Ok(Credential::Header { name, value: Secret::new(value) }),
        Err(_) => Err("the credential is neither a text nor `{ header: { name, value } }`".to_owned()),
    }
}

impl Auth for ScriptAuth {
    fn credential<'a>(&'a self, scope: &'a AuthScope) -> BoxFuture<'a, Result<Credential, SecretError>> {
        Box::pin(async move { self.ask(scope).await.map_err(|cause| SecretError::Store { cause }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_credential_is_read_and_a_wrong_one_is_not_shown() {
        assert_eq!(read(json!({ "bearer": "k" })), Ok(Credential::Bearer(Secret::new("k"))));
        let header = json!({ "header": { "name": "x-key", "value": "k" } });
        assert_eq!(read(header), Ok(Credential::Header { name: "x-key".to_owned(), value: Secret::new("k") }));
        for wrong in [json!(7), json!({ "key": "canary" }), json!({ "bearer": ["canary"] })] {
            assert!(!read(wrong).unwrap_err().contains("canary"));
        }
    }
}
