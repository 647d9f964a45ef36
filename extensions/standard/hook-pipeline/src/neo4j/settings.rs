//! The section `neo4j` of `config.json`: where the database is.
//!
//! Pure.

use serde::Deserialize;
use serde_json::Value;

use super::address::DatabaseAddress;
use super::error::Neo4jError;

/// What the section says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neo4jSettings {
    pub(super) address: DatabaseAddress,
    /// Whether it names a user or a variable with a password. Both are accepted; neither is used.
    pub(super) has_login: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Neo4jSectionWire {
    url: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    password_env: Option<String>,
}

/// Whether the section asks for a check at all.
#[must_use]
pub(super) fn is_configured(section: &Value) -> bool {
    section.get("url").is_some_and(|url| !url.is_null())
}

impl Neo4jSettings {
    pub(super) fn read(section: &Value) -> Result<Self, Neo4jError> {
        if section.get("password").is_some() {
            return Err(Neo4jError::PasswordInFile);
        }
        // The parser's own message could show a value, and the value could be a password in the wrong place.
        let wire = Neo4jSectionWire::deserialize(section).map_err(|_| Neo4jError::Settings)?;
        let has_login = wire.user.is_some() || wire.password_env.is_some();
        Ok(Self { address: DatabaseAddress::parse(&wire.url)?, has_login })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_is_accepted_whole_in_part_or_not_at_all() {
        let read = |section: Value| Neo4jSettings::read(&section).unwrap().has_login;
        assert!(!read(json!({"url": "bolt://localhost"})));
        assert!(!read(json!({"url": "bolt://localhost", "user": null, "passwordEnv": null})));
        assert!(read(json!({"url": "bolt://localhost", "user": "neo4j", "passwordEnv": "P"})));
        assert!(read(json!({"url": "bolt://localhost", "user": "neo4j"})));
        assert!(read(json!({"url": "bolt://localhost", "passwordEnv": "P"})));
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
            let error = Neo4jSettings::read(&section).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }
}
