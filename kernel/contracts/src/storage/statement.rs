//! Short ways to write a statement and to read a record, so that callers show their SQL and little else.

use super::{SqlValue, Statement, StorageError};
use crate::ids::{CallId, ExtensionId, RowId, SessionId, TurnId};

/// A statement with its parameters: `statement!("SELECT a FROM t WHERE b = ?1 AND c = ?2", b, c)`.
#[macro_export]
macro_rules! statement {
    ($sql:expr $(, $parameter:expr)* $(,)?) => {
        $crate::storage::Statement::new($sql, [$($crate::storage::SqlValue::from($parameter)),*])
    };
}

impl Statement {
    /// A statement from its text and its parameters in order.
    pub fn new(sql: impl Into<String>, parameters: impl IntoIterator<Item = SqlValue>) -> Self {
        Self { sql: sql.into(), parameters: parameters.into_iter().collect() }
    }
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for SqlValue {
    fn from(value: u32) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<u64> for SqlValue {
    /// A column holds 63 bits of it: what is larger becomes the largest.
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for SqlValue {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_ids {
    ($($id:ty),*) => {
        $(impl From<&$id> for SqlValue {
            fn from(id: &$id) -> Self {
                Self::Text(id.as_str().to_owned())
            }
        })*
    };
}

from_ids!(CallId, ExtensionId, RowId, SessionId, TurnId);

/// Typed reading of a record, by position from 0. A column of another type is an error, never a guess.
pub trait Columns {
    /// A value as it is.
    fn value(&self, at: usize) -> Result<&SqlValue, StorageError>;

    /// Whether there is no value.
    fn is_null(&self, at: usize) -> Result<bool, StorageError> {
        Ok(*self.value(at)? == SqlValue::Null)
    }

    /// A whole number.
    fn integer(&self, at: usize) -> Result<i64, StorageError> {
        match self.value(at)? {
            SqlValue::Integer(value) => Ok(*value),
            other => Err(mismatch(at, "a whole number", other)),
        }
    }

    /// A whole number that is not negative.
    fn unsigned(&self, at: usize) -> Result<u64, StorageError> {
        let value = self.integer(at)?;
        u64::try_from(value)
            .map_err(|_| StorageError::Statement(format!("column {at} is {value}, which may not be negative")))
    }

    /// A number.
    fn real(&self, at: usize) -> Result<f64, StorageError> {
        match self.value(at)? {
            SqlValue::Real(value) => Ok(*value),
            other => Err(mismatch(at, "a number", other)),
        }
    }

    /// Text.
    fn text(&self, at: usize) -> Result<&str, StorageError> {
        match self.value(at)? {
            SqlValue::Text(value) => Ok(value),
            other => Err(mismatch(at, "text", other)),
        }
    }

    /// Bytes.
    fn blob(&self, at: usize) -> Result<&[u8], StorageError> {
        match self.value(at)? {
            SqlValue::Blob(value) => Ok(value),
            other => Err(mismatch(at, "bytes", other)),
        }
    }

    /// A whole number that is not negative, or nothing.
    fn optional_unsigned(&self, at: usize) -> Result<Option<u64>, StorageError> {
        if self.is_null(at)? { Ok(None) } else { self.unsigned(at).map(Some) }
    }

    /// Text, or nothing.
    fn optional_text(&self, at: usize) -> Result<Option<&str>, StorageError> {
        if self.is_null(at)? { Ok(None) } else { self.text(at).map(Some) }
    }
}

impl Columns for [SqlValue] {
    fn value(&self, at: usize) -> Result<&SqlValue, StorageError> {
        self.get(at)
            .ok_or_else(|| StorageError::Statement(format!("the result has {} columns and no column {at}", self.len())))
    }
}

/// Names the type only: a value may be private.
fn mismatch(at: usize, wanted: &str, found: &SqlValue) -> StorageError {
    let found = match found {
        SqlValue::Null => "nothing",
        SqlValue::Integer(_) => "a whole number",
        SqlValue::Real(_) => "a number",
        SqlValue::Text(_) => "text",
        SqlValue::Blob(_) => "bytes",
    };
    StorageError::Statement(format!("column {at} holds {found} instead of {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_every_kind_of_parameter() {
        let made = statement!("x", 1_i64, u64::MAX, "a", Option::<&str>::None, &TurnId::new("t"), vec![0_u8], true);
        let expected = [
            SqlValue::Integer(1),
            SqlValue::Integer(i64::MAX),
            SqlValue::Text("a".into()),
            SqlValue::Null,
            SqlValue::Text("t".into()),
            SqlValue::Blob(vec![0]),
            SqlValue::Integer(1),
        ];
        assert_eq!(made, Statement::new("x", expected));
        assert_eq!(statement!("y").parameters, []);
    }

    #[test]
    fn a_column_is_read_as_what_it_is_or_not_at_all() {
        let record = [SqlValue::Integer(-1), SqlValue::Text("a".into()), SqlValue::Null, SqlValue::Blob(vec![1])];
        assert_eq!(record.integer(0), Ok(-1));
        assert_eq!(record.text(1), Ok("a"));
        assert_eq!(record.optional_text(2), Ok(None));
        assert_eq!(record.blob(3), Ok(&[1][..]));
        let said = |result: Result<(), StorageError>| result.unwrap_err().to_string();
        assert_eq!(
            said(record.text(3).map(drop)),
            "the statement failed: column 3 holds bytes instead of text",
            "and not which bytes"
        );
        assert!(said(record.unsigned(0).map(drop)).contains("may not be negative"));
        assert!(said(record.text(4).map(drop)).contains("no column 4"));
    }
}
