//! The store of an extension: keys and values, and statements on tables of its own.

use crate::limits::{MAX_KEY_BYTES, MAX_ROWS, MAX_STORED_BYTES};
use dispatch_contracts::storage::{Keys, Record, SqlValue, Statement, Storage, Transaction};
use serde_json::Value;
use std::sync::Arc;

/// What the keys of a namespace begin with.
pub(crate) fn namespace_prefix(namespace: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if namespace.is_empty() || namespace.len() > MAX_KEY_BYTES || !namespace.bytes().all(is_plain) {
        return Err(format!("invalid namespace `{namespace}`: use letters, digits, `-`, `_` and `.`"));
    }
    Ok(format!("{namespace}/"))
}

/// A key as it is stored.
pub(crate) fn stored_key(prefix: &str, key: &str) -> Result<String, String> {
    if key.len() > MAX_KEY_BYTES || key.contains('\0') {
        return Err(format!("invalid key: it has more than {MAX_KEY_BYTES} bytes or contains NUL"));
    }
    Ok(format!("{prefix}{key}"))
}

/// The value of a key.
pub(crate) async fn get(storage: &Arc<dyn Storage>, key: &str) -> Result<Value, String> {
    let stored = storage.get(key).await.map_err(|error| error.to_string())?;
    stored.map_or(Ok(Value::Null), |bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

/// Keeps a value.
pub(crate) async fn set(storage: &Arc<dyn Storage>, key: &str, value: Option<&Value>) -> Result<Value, String> {
    let bytes = value.unwrap_or(&Value::Null).to_string().into_bytes();
    if bytes.len() > MAX_STORED_BYTES {
        return Err(format!("the value has {} bytes; at most {MAX_STORED_BYTES} are stored", bytes.len()));
    }
    storage.put(key, Some(bytes)).await.map(|()| Value::Null).map_err(|error| error.to_string())
}

/// Runs a statement; answers its rows, each a list in the order of the columns.
pub(crate) async fn sql(storage: &Arc<dyn Storage>, sql: &str, parameters: Option<&Value>) -> Result<Value, String> {
    let given = parameters.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let parameters = given.iter().map(parameter).collect::<Result<Vec<_>, _>>()?;
    let statement = Statement::new(sql, parameters);
    let rows = match effect_of(sql) {
        StatementEffect::Reads => storage.query(statement).await,
        effect => {
            let work = move |transaction: &mut dyn Transaction| match effect {
                StatementEffect::ChangesAndAnswers => transaction.query(&statement),
                _ => transaction.execute(&statement).map(|_| Vec::new()),
            };
            storage.transact(Keys::none(), Box::new(work)).await
        }
    };
    let rows = rows.map_err(|error| error.to_string())?;
    if rows.len() > MAX_ROWS {
        return Err(format!("the statement found more than {MAX_ROWS} rows; add `LIMIT`"));
    }
    Ok(rows.into_iter().map(shown).collect())
}

/// What a statement does, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatementEffect {
    Reads,
    Changes,
    ChangesAndAnswers,
}

fn effect_of(sql: &str) -> StatementEffect {
    let mut words = sql.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    if first.eq_ignore_ascii_case("select") || first.eq_ignore_ascii_case("with") {
        return StatementEffect::Reads;
    }
    match words.any(|word| word.eq_ignore_ascii_case("returning")) {
        true => StatementEffect::ChangesAndAnswers,
        false => StatementEffect::Changes,
    }
}

fn parameter(value: &Value) -> Result<SqlValue, String> {
    Ok(match value {
        Value::Null => SqlValue::Null,
        Value::Bool(value) => SqlValue::from(*value),
        Value::String(text) => SqlValue::from(text.as_str()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => SqlValue::Integer(whole),
            (None, Some(real)) => SqlValue::Real(real),
            (None, None) => return Err(format!("the number {number} cannot be stored")),
        },
        Value::Array(_) | Value::Object(_) => {
            return Err(
                "a parameter must be a text, a number, a truth value or `null`; write others as JSON".to_owned()
            );
        }
    })
}

fn shown(record: Record) -> Value {
    let column = |value| match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(whole) => whole.into(),
        SqlValue::Real(real) => real.into(),
        SqlValue::Text(text) => text.into(),
        SqlValue::Blob(bytes) => bytes.into(),
    };
    record.into_iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn namespaces_and_keys_do_not_mix() {
        assert_eq!(namespace_prefix("counts").as_deref(), Ok("counts/"));
        for wrong in ["", "a/b", "a b", "ä"] {
            assert!(namespace_prefix(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(stored_key("a/", "b/c").as_deref(), Ok("a/b/c"));
        assert!(stored_key("a/", &"x".repeat(MAX_KEY_BYTES + 1)).is_err());
    }

    #[test]
    fn statements_are_told_apart_by_their_words() {
        for (sql, expected) in [
            ("SELECT 1", StatementEffect::Reads),
            ("\n select returning FROM t", StatementEffect::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a", StatementEffect::Reads),
            ("INSERT INTO t VALUES (1)", StatementEffect::Changes),
            ("UPDATE t SET a = 1 RETURNING a", StatementEffect::ChangesAndAnswers),
            ("delete from t returning id", StatementEffect::ChangesAndAnswers),
        ] {
            assert_eq!(effect_of(sql), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_are_what_a_column_can_hold() {
        assert_eq!(parameter(&json!(7)), Ok(SqlValue::Integer(7)));
        assert_eq!(parameter(&json!(1.5)), Ok(SqlValue::Real(1.5)));
        assert_eq!(parameter(&json!(true)), Ok(SqlValue::Integer(1)));
        assert_eq!(parameter(&json!(null)), Ok(SqlValue::Null));
        assert!(parameter(&json!([1])).is_err());
    }
}
