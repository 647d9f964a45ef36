//! SQL of the portable subset in the words of PostgreSQL, and what of it a store may do. Text in, text out.
//!
//! Pure.

mod check;
mod definition;
mod explicit_key;
mod token;
mod translate;
mod words;

pub(crate) use check::{RESERVED_PREFIX, StatementUse, TableOwner, TableOwners, check};
pub(crate) use definition::define;
pub(crate) use explicit_key::ExplicitKey;
pub(crate) use translate::{ParameterKind, TranslatedStatement, translate};
pub(crate) use words::{
    HAS_LETTER_RULES, definition as word_index_definition, functions as word_functions, question as word_question,
};
