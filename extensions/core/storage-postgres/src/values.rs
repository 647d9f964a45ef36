//! Values on the wire: how ours are sent, and what PostgreSQL's types are to us.

use crate::sql::ParameterKind;
use dispatch_contracts::storage::{SqlValue, StorageError};
use std::error::Error;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// The kinds of parameters.
pub(crate) fn kinds(values: &[SqlValue]) -> Result<Vec<ParameterKind>, StorageError> {
    values.iter().map(kind).collect()
}

fn kind(value: &SqlValue) -> Result<ParameterKind, StorageError> {
    Ok(match value {
        SqlValue::Null => ParameterKind::Null,
        SqlValue::Integer(_) => ParameterKind::Integer,
        SqlValue::Real(_) => ParameterKind::Real,
        SqlValue::Text(text) if text.contains('\0') => {
            let said = "PostgreSQL keeps no text with a null character; keep it as bytes, or leave the character out";
            return Err(StorageError::Statement(said.to_owned()));
        }
        SqlValue::Text(_) => ParameterKind::Text,
        SqlValue::Blob(_) => ParameterKind::Blob,
    })
}

/// The type that the server is told; `UNKNOWN` leaves it to the place.
pub(crate) fn wire_type(kind: ParameterKind) -> Type {
    match kind {
        ParameterKind::Null => Type::UNKNOWN,
        ParameterKind::Integer => Type::INT8,
        ParameterKind::Real => Type::FLOAT8,
        ParameterKind::Text => Type::TEXT,
        ParameterKind::Blob => Type::BYTEA,
    }
}

/// A parameter on its way out.
#[derive(Debug)]
pub(crate) struct Sent<'a>(pub(crate) &'a SqlValue);

impl ToSql for Sent<'_> {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            SqlValue::Null => Ok(IsNull::Yes),
            SqlValue::Integer(value) => value.to_sql(wanted, out),
            SqlValue::Real(value) => value.to_sql(wanted, out),
            SqlValue::Text(value) => value.to_sql(wanted, out),
            SqlValue::Blob(value) => value.to_sql(wanted, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value on its way in. Truth values are numbers, as in SQLite.
pub(crate) struct Received(pub(crate) SqlValue);

impl<'a> FromSql<'a> for Received {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::BOOL => SqlValue::Integer(i64::from(bool::from_sql(kind, raw)?)),
            Type::INT2 => SqlValue::Integer(i64::from(i16::from_sql(kind, raw)?)),
            Type::INT4 => SqlValue::Integer(i64::from(i32::from_sql(kind, raw)?)),
            Type::INT8 => SqlValue::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => SqlValue::Real(f64::from(f32::from_sql(kind, raw)?)),
            Type::FLOAT8 => SqlValue::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => numeric(raw)?,
            Type::BYTEA => SqlValue::Blob(raw.to_vec()),
            _ => SqlValue::Text(String::from_utf8(raw.to_vec())?),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(SqlValue::Null))
    }

    fn accepts(kind: &Type) -> bool {
        let known = [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::NUMERIC,
            Type::BYTEA,
            Type::TEXT,
            Type::VARCHAR,
            Type::NAME,
            Type::BPCHAR,
            Type::UNKNOWN,
        ];
        known.contains(kind)
    }
}

/// Sums of whole numbers come as digits to the base of 10,000; a sum that is not whole becomes a `REAL`.
fn numeric(raw: &[u8]) -> Result<SqlValue, Box<dyn Error + Sync + Send>> {
    let mut words = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let mut next = || words.next().ok_or("a number is cut off");
    let (count, weight, sign, _) = (next()?, next()?, next()?, next()?);
    let digits: Vec<i16> = (0..count).map(|_| next()).collect::<Result<_, _>>()?;
    let negative = sign != 0;
    let is_whole = i32::from(count) <= i32::from(weight) + 1;
    if is_whole {
        let whole = (0..=i32::from(weight)).try_fold(0_i64, |sum, at| {
            let digit = usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
            sum.checked_mul(10_000)?.checked_add(i64::from(digit))
        });
        return whole
            .map(|sum| SqlValue::Integer(if negative { -sum } else { sum }))
            .ok_or_else(|| "a number is too large".into());
    }
    let value = digits
        .iter()
        .zip(0..)
        .fold(0.0, |sum, (digit, at)| sum + f64::from(*digit) * 10_000_f64.powi(i32::from(weight) - at));
    Ok(SqlValue::Real(if negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_whole_numbers_again() {
        let raw = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        for (words, expected) in [
            (vec![0, 0, 0, 0], SqlValue::Integer(0)),
            (vec![1, 0, 0, 0, 42], SqlValue::Integer(42)),
            (vec![1, 1, 0x4000, 0, 7], SqlValue::Integer(-70_000)),
            (vec![3, 2, 0, 0, 1, 2, 3], SqlValue::Integer(100_020_003)),
            (vec![2, 0, 0, 1, 1, 5000], SqlValue::Real(1.5)),
        ] {
            assert_eq!(numeric(&raw(&words)).unwrap(), expected);
        }
        assert!(numeric(&raw(&[5, 0, 0, 0])).is_err());
    }

    #[test]
    fn text_with_a_null_character_is_refused_without_repeating_it() {
        let said = kinds(&[SqlValue::from("secret\0")]).unwrap_err().to_string();
        assert!(said.contains("null character") && !said.contains("secret"), "{said}");
    }
}
