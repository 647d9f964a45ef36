//! The section `neo4j` of `config.json`: where the database is, and the name of the variable with its password.

use serde::Deserialize;
use serde_json::Value;

use super::Neo4jError;
use super::address::Address;

/// What the section says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) login: Option<Login>,
}

/// Whom to log in as; the password is in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password_env: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SectionWire {
    url: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    password_env: Option<String>,
}

/// Whether the section asks for a check at all.
#[must_use]
pub fn is_configured(section: &Value) -> bool {
    section.get("url").is_some_and(|url| !url.is_null())
}

impl Settings {
    pub(super) fn read(section: &Value) -> Result<Self, Neo4jError> {
        if section.get("password").is_some() {
            return Err(Neo4jError::PasswordInFile);
        }
        // The words of the parser could show a value, and the value could be a password in the wrong place.
        let wire = SectionWire::deserialize(section)
            .map_err(|_| Neo4jError::Settings("it takes the texts `url`, `user` and `passwordEnv`".to_owned()))?;
        let login = match (wire.user, wire.password_env) {
            (Some(user), Some(password_env)) => Some(Login { user, password_env }),
            (None, None) => None,
            _ => return Err(Neo4jError::Settings("`user` and `passwordEnv` belong together".to_owned())),
        };
        Ok(Self { address: Address::parse(&wire.url)?, login })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_needs_both_its_parts() {
        let read = |section: Value| Settings::read(&section).map(|settings| settings.login);
        assert!(read(json!({"url": "bolt://localhost"})).unwrap().is_none());
        let login = read(json!({"url": "bolt://localhost", "user": "neo4j", "passwordEnv": "P"})).unwrap();
        assert_eq!(login.map(|login| login.password_env).as_deref(), Some("P"));
        for half in [json!({"url": "bolt://h", "user": "neo4j"}), json!({"url": "bolt://h", "passwordEnv": "P"})] {
            assert!(matches!(read(half), Err(Neo4jError::Settings(_))));
        }
    }

    #[test]
    fn no_mistake_shows_what_was_written() {
        let mistakes = [
            json!({"url": "bolt://localhost", "password": "canary"}),
            json!({"url": "bolt://neo4j:canary@localhost"}),
            json!({"url": "canary"}),
            json!({"url": "bolt://localhost:canary"}),
            json!({"url": "bolt://localhost", "secret": "canary"}),
            json!({"url": "bolt://localhost", "user": ["canary"]}),
        ];
        for section in mistakes {
            let error = Settings::read(&section).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }
}
